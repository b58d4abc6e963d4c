//! Compares change sets and revisions with the output of git itself, on random histories.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use forage_base::{Stop, map_in_threads};
use forage_fuzz::peers;
use forage_git::{ChangeKind, Comparison, FileChange, Repository, RevisionError, limits};
use tempfile::TempDir;

use super::{commit, empty_repository, git, root, write};

/// Number of random histories.
const HISTORIES: u64 = 300;

/// Paths that histories use: unique and repeated names, names that sort between directories, hidden ones.
const PATHS: [&str; 16] = [
    "a.rs",
    "b.rs",
    "src/a.rs",
    "src/b.rs",
    "src/deep/a.rs",
    "src/deep/c.rs",
    "src.rs",
    "src-x/d.rs",
    "docs/ä b.md",
    "docs/e.md",
    ".hidden/f.txt",
    "g",
    "g2/h",
    "tool.sh",
    "link",
    "docs/long name.txt",
];

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn path(&mut self) -> &'static str {
        PATHS[self.below(PATHS.len())]
    }

    fn text(&mut self) -> String {
        let (kind, lines) = (self.below(4), self.below(30));
        let end = ["\n", "\n", "\r\n", " "][self.below(4)];
        let line = |number| format!("{kind} line {number} of a text{end}");
        let text: String = (0..lines).map(line).collect();
        if self.one_in(12) { text + "\0binary" } else { text }
    }
}

/// Removes whatever is at a path, and files that are in its way.
fn clear(at: &Path, path: &str) {
    let mut above = Path::new(path).parent();
    while let Some(directory) = above.filter(|directory| *directory != Path::new("")) {
        let place = at.join(directory);
        if fs::symlink_metadata(&place).is_ok_and(|it| !it.is_dir()) {
            fs::remove_file(&place).unwrap();
        }
        above = directory.parent();
    }
    let place = at.join(path);
    match fs::symlink_metadata(&place) {
        Ok(it) if it.is_dir() => fs::remove_dir_all(&place).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => {}
    }
}

/// Changes the tree in one random way.
fn edit(random: &mut Random, at: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let (path, other) = (random.path(), random.path());
    let is_file = |path: &str| fs::symlink_metadata(at.join(path)).is_ok_and(|it| it.is_file());
    match random.below(9) {
        0 | 1 => {
            let text = random.text();
            clear(at, path);
            write(at, path, &text);
        }
        2 if is_file(path) => {
            // This replaces or adds one line.
            let text = fs::read(at.join(path)).unwrap();
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
            let number = random.below(lines.len() + 1);
            lines.splice(number..(number + random.below(2)).min(lines.len()), ["another\n".to_owned()]);
            write(at, path, &lines.concat());
        }
        3 => clear(at, path),
        4 | 5 if is_file(path) && path != other => {
            let mut text = fs::read(at.join(path)).unwrap();
            clear(at, path);
            clear(at, other);
            if random.one_in(2) {
                let cut = text.len() / (2 + random.below(4));
                text.truncate(text.len() - cut);
                text.extend(b"moved\n");
            }
            write(at, other, "");
            fs::write(at.join(other), text).unwrap();
        }
        6 if is_file(path) => {
            let mode = if random.one_in(2) { 0o755 } else { 0o644 };
            fs::set_permissions(at.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        7 => {
            clear(at, path);
            write(at, path, "");
            fs::remove_file(at.join(path)).unwrap();
            std::os::unix::fs::symlink(["target", "other"][random.below(2)], at.join(path)).unwrap();
        }
        _ if is_file(path) => {
            // This writes the same content, with another time.
            let text = fs::read(at.join(path)).unwrap();
            fs::write(at.join(path), text).unwrap();
        }
        _ => {}
    }
}

/// Creates a random history with branches, merges and tags, and a changed working tree.
fn history(seed: u64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (at, random) = (directory.path(), &mut Random(seed * 77 + 5));
    let format = if random.one_in(8) { "sha256" } else { "sha1" };
    git(at, &["init", "-q", "-b", "main", "--object-format", format]);
    git(at, &["config", "index.version", ["2", "3", "4"][random.below(3)]]);
    write(at, ".gitignore", "*.tmp\n/out/\n");
    for number in 0..3 + random.below(4) {
        for _ in 0..1 + random.below(6) {
            edit(random, at);
        }
        commit(at, &format!("Change {number}"));
        match random.below(6) {
            0 => drop(git(at, &["tag", &format!("t{number}")])),
            1 => drop(git(at, &["tag", "-a", "-m", "tagged", &format!("v{number}")])),
            2 => {
                git(at, &["checkout", "-q", "-b", &format!("side{number}"), "HEAD"]);
                edit(random, at);
                commit(at, "On the side");
                git(at, &["checkout", "-q", "main"]);
                edit(random, at);
                commit(at, "On main");
                if random.one_in(2) {
                    git(at, &["merge", "-q", "-s", "ours", "-m", "Merge", &format!("side{number}")]);
                }
            }
            3 => drop(git(at, &["repack", "-q", "-a", "-d"])),
            _ => {}
        }
    }
    if random.one_in(3) {
        git(at, &["pack-refs", "--all"]);
    }
    for _ in 0..random.below(8) {
        edit(random, at);
        if random.one_in(3) {
            git(at, &["add", "-A", "--", "."]);
        }
    }
    if random.one_in(4) {
        write(at, "new/untracked.rs", "untracked");
        write(at, "out/ignored.rs", "ignored");
        write(at, "ignored.tmp", "ignored");
    }
    if random.one_in(5) {
        write(at, "intended.rs", "intended\n");
        git(at, &["add", "-N", "intended.rs"]);
    }
    if random.one_in(4) {
        let files = git(at, &["ls-files", "-z"]);
        let files: Vec<&str> = files.split_terminator('\0').collect();
        if let Some(path) = files.get(random.below(files.len().max(1))) {
            git(at, &["rm", "-q", "--cached", "--", path]);
        }
    }
    directory
}

/// A change as git prints it: a letter, the similarity, the old and the new path.
type Line = (char, Option<u8>, Option<String>, String);

/// Parses the output of `git diff --name-status -z`.
fn printed(text: &str) -> BTreeSet<Line> {
    let mut fields = text.split_terminator('\0');
    let mut lines = BTreeSet::new();
    while let Some(status) = fields.next() {
        let letter = status.chars().next().unwrap();
        let mut path = || fields.next().unwrap().to_owned();
        let old = (letter == 'R').then(&mut path);
        lines.insert((letter, status[1..].parse().ok(), old, path()));
    }
    lines
}

fn line(file: &FileChange) -> Line {
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    (file.kind.letter(), file.similarity, file.old_path.as_deref().map(text), text(&file.path))
}

fn of_kind(files: &[FileChange], is_untracked: bool) -> BTreeSet<Line> {
    files.iter().filter(|file| (file.kind == ChangeKind::Untracked) == is_untracked).map(line).collect()
}

/// Asks git for the commits that have these names, all in one process.
fn commits(at: &Path, names: &[String]) -> Vec<Option<String>> {
    let mut batch = peers::git(at);
    batch.args(["cat-file", "--batch-check=%(objectname)"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut batch = batch.spawn().unwrap();
    let lines: String = names.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
    batch.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = batch.wait_with_output().unwrap();
    // The line of a name that is no commit's repeats the name.
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| (!line.contains(' ')).then(|| line.to_owned())).collect()
}

/// Compares the changes of a history with git, and returns the changes that were seen.
fn assert_same_changes(at: &Path, seed: u64) -> BTreeSet<Line> {
    let mut seen = BTreeSet::new();
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let refs = git(at, &["for-each-ref", "--format=%(refname:short)"]);
    let mut names: Vec<String> = refs.lines().map(str::to_owned).collect();
    let ids = git(at, &["rev-list", "--all"]);
    names.extend(ids.lines().flat_map(|id| [id.to_owned(), id[..9].to_owned()]));
    names.extend(
        ["HEAD~1", "HEAD^", "@", "HEAD^2", "HEAD^2~1", "heads/main", "refs/heads/main"].map(str::to_owned),
    );
    names.extend(["none", "HEAD~99", "main^3"].map(str::to_owned));
    let expected = commits(at, &names);
    assert_eq!(expected.len(), names.len(), "{seed}");
    let mut known = Vec::new();
    for (name, expected) in names.into_iter().zip(expected) {
        let found = repository.resolve(&name).ok().map(|id| id.to_string());
        assert_eq!(found, expected, "{seed} {name}");
        known.extend(found.is_some().then_some(name));
    }
    let random = &mut Random(seed + 1);
    let diff = ["diff", "--name-status", "-M", "-z"];
    for _ in 0..6 {
        let (one, other) = (&known[random.below(known.len())], &known[random.below(known.len())]);
        let range = format!("{one}{}{other}", if random.one_in(2) { ".." } else { "..." });
        let expected = super::try_git(at, &[&diff[..], &[&range]].concat());
        match repository.changes(&Comparison::parse(&range)) {
            Ok(found) => {
                assert_eq!(of_kind(&found.files, false), printed(&expected.unwrap()), "{seed} {range}");
                seen.extend(of_kind(&found.files, false));
                assert!(of_kind(&found.files, true).is_empty() && found.has_all_renames);
            }
            Err(error) => panic!("{seed} {range}: {error}"),
        }
    }
    let untracked = git(at, &["ls-files", "-o", "--exclude-standard", "-z"]);
    let untracked: BTreeSet<Line> =
        untracked.split_terminator('\0').map(|path| ('?', None, None, path.to_owned())).collect();
    for revision in ["HEAD", &known[random.below(known.len())]] {
        let expected = printed(&git(at, &[&diff[..], &[revision]].concat()));
        let found = repository.changes(&Comparison::parse(revision)).unwrap();
        assert_eq!(of_kind(&found.files, false), expected, "{seed} {revision}");
        assert_eq!(of_kind(&found.files, true), untracked, "{seed}");
        seen.extend(found.files.iter().map(line));
    }
    seen
}

#[test]
fn changes_equal_those_of_git() {
    let seen = map_in_threads(0..HISTORIES, 4, |seed| {
        let directory = history(seed);
        assert_same_changes(directory.path(), seed)
    });
    // All kinds of changes must have occurred.
    let seen: Vec<Line> = seen.into_iter().flatten().collect();
    for letter in "AMDTR?".chars() {
        assert!(seen.iter().filter(|line| line.0 == letter).count() > 50, "{letter}");
    }
}

/// Regression test: an untracked file was missing if a rule for searches, which git does not know, excludes
/// it.
#[test]
fn untracked_files_follow_only_the_rules_of_git() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, ".gitignore", "*.log\n");
    write(at, ".ignore", "a.txt\n!a.log\n");
    write(at, "below/.rgignore", "*\n");
    commit(at, "First");
    for path in ["a.txt", "a.log", "below/b.txt"] {
        write(at, path, "new\n");
    }
    let untracked = git(at, &["ls-files", "-o", "--exclude-standard"]);
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let found = repository.changes(&Comparison::parse("HEAD")).unwrap().files;
    let found: Vec<String> = found.iter().map(|file| String::from_utf8(file.path.clone()).unwrap()).collect();
    assert_eq!(found, untracked.lines().collect::<Vec<_>>());
    assert_eq!(found, ["a.txt", "below/b.txt"]);
}

#[test]
fn changes_of_files_with_conflicts() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a", "one\n");
    commit(at, "First");
    git(at, &["checkout", "-q", "-b", "side"]);
    write(at, "a", "two\n");
    commit(at, "Side");
    git(at, &["checkout", "-q", "main"]);
    write(at, "a", "three\n");
    commit(at, "Main");
    assert!(super::try_git(at, &["merge", "-q", "side"]).is_none());
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let found = repository.changes(&Comparison::parse("working tree")).unwrap();
    assert_eq!(of_kind(&found.files, false), BTreeSet::from([('U', None, None, "a".to_owned())]));
}

/// Regression test: a branch of this name was compared as if it were `HEAD`.
#[test]
fn branch_called_worktree_is_a_revision() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a", "one\n");
    commit(at, "First");
    let files = |range: &str| {
        let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
        of_kind(&repository.changes(&Comparison::parse(range)).unwrap().files, false)
    };
    git(at, &["branch", "worktree"]);
    write(at, "a", "two\n");
    commit(at, "Second");
    assert_eq!(files("worktree"), BTreeSet::from([('M', None, None, "a".to_owned())]));
    assert_eq!(files("working tree"), BTreeSet::new());
}

#[test]
fn changes_leave_nested_repositories_and_submodules_out() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a", "one\n");
    commit(at, "First");
    let nested = at.join("nested/below");
    fs::create_dir_all(&nested).unwrap();
    git(&nested, &["init", "-q", "-b", "main"]);
    write(&nested, "src/b", "two\n");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    assert_eq!(repository.changes(&Comparison::parse("HEAD")).unwrap().files, []);
}

/// Compares the changes since the last commit with git, and returns their letters.
fn letters_of_changes(at: &Path) -> String {
    let expected = printed(&git(at, &["diff", "--name-status", "-M", "-z", "HEAD"]));
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let found = repository.changes(&Comparison::parse("HEAD")).unwrap();
    assert_eq!(of_kind(&found.files, false), expected);
    expected.iter().map(|line| line.0).collect()
}

/// Regression test: another commit of a submodule was no change, nor was a missing submodule.
#[test]
fn changes_name_submodules_at_another_commit() {
    let directory = empty_repository();
    let at = directory.path();
    let module = at.join("module");
    fs::create_dir(&module).unwrap();
    git(&module, &["init", "-q", "-b", "main"]);
    for text in ["one\n", "two\n"] {
        write(&module, "b", text);
        commit(&module, "Below");
    }
    write(at, "a", "one\n");
    commit(at, "First");
    assert_eq!(letters_of_changes(at), "");
    git(&module, &["checkout", "-q", "HEAD~1"]);
    assert_eq!(letters_of_changes(at), "M");
    // This is where `git submodule` keeps the repository.
    fs::create_dir_all(at.join(".git/modules")).unwrap();
    fs::rename(module.join(".git"), at.join(".git/modules/module")).unwrap();
    fs::write(module.join(".git"), "gitdir: ../.git/modules/module\n").unwrap();
    assert_eq!(letters_of_changes(at), "M");
    fs::remove_dir_all(&module).unwrap();
    assert_eq!(letters_of_changes(at), "D");
    // A submodule that is not checked out has an empty directory.
    fs::create_dir(&module).unwrap();
    assert_eq!(letters_of_changes(at), "");
}

/// Regression test: a file that git checks out with other line ends was changed as soon as it was written
/// again.
#[test]
fn conversions_of_line_ends_are_no_changes() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, ".gitattributes", "*.bat text eol=crlf\n*.txt text=auto\n*.bin -text\n");
    write(at, "sub/.gitattributes", "*.txt -text\n");
    let paths = ["a.bat", "b.txt", "c.bin", "d.rs", "sub/e.txt", "sub/f.bat"];
    paths.iter().for_each(|path| write(at, path, "one\ntwo\n"));
    commit(at, "First");
    let write_all = |text: &str| paths.iter().for_each(|path| write(at, path, text));
    // As an editor on Windows writes them.
    write_all("one\r\ntwo\r\n");
    assert_eq!(letters_of_changes(at), "MMM");
    git(at, &["config", "core.autocrlf", "input"]);
    assert_eq!(letters_of_changes(at), "MM");
    write(at, ".git/info/attributes", "a.bat -text\n");
    assert_eq!(letters_of_changes(at), "MMM");
    write_all("one\r\nthree\r\n");
    assert_eq!(letters_of_changes(at), "MMMMMM");
}

/// Git LFS keeps the content elsewhere, and stores its hash and its size.
#[test]
fn large_files_are_those_of_their_pointers() {
    let directory = empty_repository();
    let at = directory.path();
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 6\n");
    write(at, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    write(at, "large.bin", &pointer);
    write(at, "other.txt", &pointer);
    commit(at, "First");
    let changed = || {
        let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
        repository.changes(&Comparison::parse("HEAD")).unwrap().files.len()
    };
    write(at, "large.bin", "hello\n");
    assert_eq!(changed(), 0);
    write(at, "other.txt", "hello\n");
    assert_eq!(changed(), 1);
    write(at, "large.bin", "other\n");
    assert_eq!(changed(), 2);
}

/// Regression test: in a sparse checkout, a file that is there in spite of its patterns was not compared.
#[test]
fn skipped_files_count_in_a_sparse_checkout() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a/x", "one\n");
    write(at, "b/x", "one\n");
    commit(at, "First");
    git(at, &["update-index", "--skip-worktree", "b/x"]);
    write(at, "b/x", "other\n");
    assert_eq!(letters_of_changes(at), "");
    git(at, &["update-index", "--no-skip-worktree", "b/x"]);
    git(at, &["checkout", "-q", "b/x"]);
    for index in ["--no-sparse-index", "--sparse-index"] {
        git(at, &["sparse-checkout", "set", index, "a"]);
        assert!(!at.join("b/x").exists());
        assert_eq!(letters_of_changes(at), "", "{index}");
        write(at, "b/x", "other\n");
        assert_eq!(letters_of_changes(at), "M", "{index}");
        fs::remove_dir_all(at.join("b")).unwrap();
    }
}

#[test]
fn revisions_follow_upstreams_and_refuse_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let (at, clone) = (&directory.path().join("origin"), &directory.path().join("clone"));
    fs::create_dir(at).unwrap();
    git(at, &["init", "-q", "-b", "main"]);
    write(at, "a", "one\n");
    commit(at, "First");
    git(directory.path(), &["clone", "-q", "origin", "clone"]);
    write(clone, "a", "two\n");
    commit(clone, "Second");
    let mut repository = Repository::open(&root(clone), &Stop::never()).unwrap();
    let first = git(at, &["rev-parse", "HEAD"]);
    for name in ["@{u}", "main@{upstream}", "HEAD@{u}", "origin", "origin/main", "HEAD^", "main@{u}^{commit}"]
    {
        assert_eq!(repository.resolve(name).map(|id| id.to_string()), Ok(first.trim().to_owned()), "{name}");
    }
    let changes = repository.changes(&Comparison::parse("@{u}...")).unwrap();
    assert_eq!(of_kind(&changes.files, false), BTreeSet::from([('M', None, None, "a".to_owned())]));
    let refused = |name: &str| repository.resolve(name).unwrap_err();
    let mut refused = refused;
    assert_eq!(refused("../x"), RevisionError::Unknown("../x".to_owned()));
    assert_eq!(refused("HEAD@{1}"), RevisionError::Unsupported("HEAD@{1}".to_owned()));
    assert_eq!(refused("none@{u}"), RevisionError::NoUpstream("none".to_owned()));
    assert_eq!(refused("HEAD^{tree}"), RevisionError::Unsupported("HEAD^{tree}".to_owned()));
    assert_eq!(refused("config"), RevisionError::Unknown("config".to_owned()));
    assert_eq!(refused("abcd"), RevisionError::Unknown("abcd".to_owned()));
    git(clone, &["checkout", "-q", "--detach"]);
    assert_eq!(refused("@{u}"), RevisionError::NoUpstream("HEAD".to_owned()));
}

/// 40 digits of a SHA-256 id are its beginning, and a tag may name a tag that names a tag, and so on.
#[test]
fn revisions_of_many_digits_and_tags_are_resolved() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    git(at, &["init", "-q", "-b", "main", "--object-format", "sha256"]);
    commit(at, "First");
    let id = git(at, &["rev-parse", "HEAD"]);
    let id = id.trim();
    git(at, &["tag", "-a", "-m", "tag", "v0", "HEAD"]);
    for number in 1..12 {
        git(at, &["tag", "-a", "-m", "tag", &format!("v{number}"), &format!("v{}", number - 1)]);
    }
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    for name in [id, &id[..40], &id[..39], &id[..63], "v0", "v11"] {
        assert_eq!(repository.resolve(name).map(|id| id.to_string()), Ok(id.to_owned()), "{name}");
    }
}

/// Regression test: a renamed file that is too large to be compared was added and deleted, without a note.
#[test]
fn renames_of_large_edited_files_are_unknown() {
    let directory = empty_repository();
    let at = directory.path();
    let text = "a line of a large file\n".repeat(limits::OBJECT_BYTES / 20);
    write(at, "large.txt", &text);
    commit(at, "First");
    git(at, &["mv", "large.txt", "same.txt"]);
    commit(at, "Same content");
    git(at, &["mv", "same.txt", "edited.txt"]);
    write(at, "edited.txt", &format!("{text}edited\n"));
    commit(at, "Edited content");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let mut changes = |range: &str| {
        let found = repository.changes(&Comparison::parse(range)).unwrap();
        (found.files.iter().map(|file| file.kind.letter()).collect::<String>(), found.has_all_renames)
    };
    assert_eq!(changes("HEAD~2..HEAD~1"), ("R".to_owned(), true));
    assert_eq!(changes("HEAD~1..HEAD"), ("AD".to_owned(), false));
}

/// Regression test: a split index was called damaged if it replaces an entry of the shared one.
#[test]
fn split_index_is_named() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a", "one\n");
    write(at, "b", "one\n");
    commit(at, "First");
    git(at, &["config", "splitIndex.maxPercentChange", "100"]);
    git(at, &["update-index", "--split-index"]);
    for text in ["one\n", "two\n"] {
        write(at, "a", text);
        git(at, &["add", "a"]);
        let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
        let error = repository.changes(&Comparison::parse("HEAD")).unwrap_err().to_string();
        assert!(error.contains("it is a split index"), "{error}");
    }
}

/// A partial clone may lack the older version of a file.
#[test]
fn file_never_replaces_a_missing_version() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, "a.txt", "old\n");
    commit(at, "First");
    write(at, "a.txt", "new\n");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let found = repository.changes(&Comparison::parse("HEAD")).unwrap();
    let (before, after) = (found.files[0].before.unwrap().id, found.files[0].after.unwrap().id);
    let id = before.unwrap().to_string();
    std::fs::remove_file(at.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    assert!(repository.read_version(b"a.txt", before).is_none());
    assert_eq!(&*repository.read_version(b"a.txt", after).unwrap(), b"new\n");
}

/// Secret files must not be read, not even to find out whether they have changed.
#[test]
fn changes_of_secret_files_are_not_read() {
    let directory = empty_repository();
    let at = directory.path();
    write(at, ".env", "KEY=1\n");
    commit(at, "First");
    write(at, ".env", "KEY=2\n");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let found = repository.changes(&Comparison::parse("HEAD")).unwrap();
    let [file] = found.files.as_slice() else { panic!("{found:?}") };
    assert_eq!((file.kind, file.after.unwrap().id), (ChangeKind::Modified, None));
    assert!(repository.read_version(b".env", file.before.unwrap().id).is_none());
    assert!(repository.read_version(b".env", None).is_none());
}
