//! Compares the data read from repositories with the output of git itself.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests make their own repositories, with git, and fail where that does"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy};
use forage_fuzz::peers;
use forage_git::{HistoryError, ObjectError, ObjectId, Repository, RevisionError, StoredEntry, limits};
use tempfile::TempDir;

#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod history;

fn git(directory: &Path, arguments: &[&str]) -> String {
    try_git(directory, arguments).unwrap_or_else(|| panic!("git {arguments:?} failed"))
}

/// Runs git, and returns its output if it succeeds.
fn try_git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = peers::git(directory).args(arguments).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn root(directory: &Path) -> Arc<Root> {
    Root::open(directory, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
}

/// Creates a repository without commits.
fn empty_repository() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "-q", "-b", "main"]);
    directory
}

fn write(directory: &Path, path: &str, text: &str) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(directory: &Path, message: &str) {
    git(directory, &["add", "-A"]);
    git(directory, &["commit", "-q", "--allow-empty", "-m", message]);
}

/// Creates a history with files that change in part, so that packs contain delta chains. It also has
/// directories that become files, and a merge.
fn repository(format: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    git(at, &["init", "-q", "-b", "main", "--object-format", format]);
    for index in 0..60 {
        for file in 0..12 {
            let is_there = file % 3 != 1 || !(21..=30).contains(&index);
            if is_there && (index == 0 || (index * 7 + file) % 5 == 0) {
                let lines =
                    (0..40).map(|line| format!("{file} {line} {}\n", if line == index { index } else { 0 }));
                write(at, &format!("src/d{}/f{file}.rs", file % 3), &lines.collect::<String>());
            }
        }
        match index {
            20 => fs::remove_dir_all(at.join("src/d1")).unwrap(),
            21 => write(at, "src/d1", "a file now"),
            30 => fs::remove_file(at.join("src/d1")).unwrap(),
            40 => {
                git(at, &["checkout", "-q", "-b", "side"]);
                write(at, "side/ä b.txt", "x");
                commit(at, "On the side");
                git(at, &["checkout", "-q", "main"]);
                git(at, &["merge", "-q", "--no-ff", "-m", "Merge side", "side"]);
            }
            _ => {}
        }
        commit(at, &format!("Change {index}\n\nBecause of ü{index}.\n\nSigned-off-by: A B <a@b>"));
    }
    directory
}

/// Compares commits, parents, messages and files with the output of git.
fn assert_same_log(directory: &Path) {
    let mut repository = Repository::open(&root(directory), &Stop::never()).unwrap();
    let ids = git(directory, &["rev-list", "--all"]);
    assert_eq!(repository.head().to_string(), git(directory, &["rev-parse", "HEAD"]).trim());
    let mut count = 0;
    for id in ids.lines() {
        let commit = repository.commit(&ObjectId::from_hex(id.as_bytes()).unwrap()).unwrap();
        let shown = git(directory, &["show", "-s", "--format=%T%n%P%n%ct%n%B", id]);
        let mut lines = shown.splitn(4, '\n');
        assert_eq!(commit.tree.to_string(), lines.next().unwrap());
        let parents: Vec<String> = commit.parents.iter().map(ObjectId::to_string).collect();
        assert_eq!(parents.join(" "), lines.next().unwrap());
        assert_eq!(commit.time.to_string(), lines.next().unwrap());
        assert_eq!(commit.message.trim_end(), lines.next().unwrap().trim_end());
        let failure_of = match commit.parents.first() {
            Some(parent) => {
                git(directory, &["diff", "-z", "--no-renames", "--name-only", &parent.to_string(), id])
            }
            None => git(directory, &["ls-tree", "-z", "-r", "--name-only", id]),
        };
        let failure_of: BTreeSet<&str> = failure_of.split_terminator('\0').collect();
        let files = repository.changed_files(&commit, 1000).unwrap().unwrap();
        assert_eq!(files.len(), failure_of.len(), "{id}");
        assert!(files.iter().all(|path| failure_of.contains(std::str::from_utf8(path).unwrap())), "{id}");
        let all = git(directory, &["ls-tree", "-z", "-r", "--name-only", id]).split_terminator('\0').count();
        assert_eq!(repository.count_files(&commit, 1000), Ok(all), "{id}");
        assert_eq!(repository.count_files(&commit, all - 1), Ok(all - 1), "{id}");
        let directories = git(directory, &["ls-tree", "-z", "-r", "-d", "--name-only", id]);
        for path in directories.split_terminator('\0').chain(["src/none", "src/d2/none"]) {
            let parsed = RelPath::parse(path, &RelPath::root()).unwrap();
            let is_there = directories.split_terminator('\0').any(|directory| directory == path);
            assert_eq!(repository.has_directory(&commit, &parsed), Ok(is_there), "{id} {path}");
        }
        for path in failure_of.iter().filter(|_| commit.parents.is_empty()) {
            let parsed = RelPath::parse(path, &RelPath::root()).unwrap();
            assert_eq!(repository.has_directory(&commit, &parsed), Ok(false), "{id} {path}");
        }
        count += 1;
    }
    assert_eq!(count, 62);
}

#[test]
fn loose_packed_and_mixed_objects_are_read_as_git_reads_them() {
    let directory = repository("sha1");
    let at = directory.path();
    assert_same_log(at);
    git(at, &["repack", "-q", "-a", "-d", "-f", "--depth=40", "--window=50"]);
    git(at, &["pack-refs", "--all"]);
    assert_same_log(at);
    write(at, "src/new.rs", "new");
    commit(at, "Loose again");
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    let newest = repository.commit(&repository.head()).unwrap();
    assert_eq!(newest.message, "Loose again\n");
    assert_eq!(repository.changed_files(&newest, 9).unwrap(), Some(vec![b"src/new.rs".to_vec()]));
}

#[test]
fn names_of_another_hash_are_read() {
    let directory = repository("sha256");
    git(directory.path(), &["gc", "-q"]);
    assert_same_log(directory.path());
}

#[test]
fn more_files_than_asked_for_are_none() {
    let directory = repository("sha1");
    let mut repository = Repository::open(&root(directory.path()), &Stop::never()).unwrap();
    let first = git(directory.path(), &["rev-list", "--max-parents=0", "HEAD"]);
    let first = repository.commit(&ObjectId::from_hex(first.trim().as_bytes()).unwrap()).unwrap();
    assert_eq!(repository.changed_files(&first, 11).unwrap(), None);
    assert_eq!(repository.changed_files(&first, 12).unwrap().map(|files| files.len()), Some(12));
}

#[test]
fn a_shallow_clone_ends_where_it_is_cut_off() {
    let directory = repository("sha1");
    let clone = tempfile::tempdir().unwrap();
    let url = format!("file://{}", directory.path().display());
    git(clone.path(), &["clone", "-q", "--depth=3", &url, "."]);
    let mut repository = Repository::open(&root(clone.path()), &Stop::never()).unwrap();
    let mut id = repository.head();
    for _ in 0..2 {
        let commit = repository.commit(&id).unwrap();
        assert!(repository.changed_files(&commit, 100).unwrap().is_some());
        id = commit.parents[0];
    }
    let last = repository.commit(&id).unwrap();
    // We don't know which few files it changed, but it must not report all of its files.
    assert!(last.is_cut_off && last.parents.is_empty());
    assert_eq!(repository.changed_files(&last, 100).unwrap(), None);
    assert_eq!(repository.resolve("HEAD~2"), Ok(id));
    for revision in ["HEAD~3", "HEAD~2^", "HEAD~9"] {
        assert_eq!(repository.resolve(revision), Err(RevisionError::Shallow(revision.to_owned())));
    }
    assert_eq!(repository.resolve("HEAD^9"), Err(RevisionError::Unknown("HEAD^9".to_owned())));
}

/// Regression test: replacements were ignored without a warning.
#[test]
fn replaced_objects_are_read_as_git_reads_them() {
    let directory = empty_repository();
    let at = directory.path();
    for number in 0..5 {
        write(at, "a.txt", &format!("text {number}\n"));
        commit(at, &format!("Change {number}"));
    }
    let state = || Repository::state_of(&root(at)).unwrap();
    let seen = || {
        let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
        assert_eq!(repository.state(), state());
        let (mut next, mut subjects) = (Some(repository.head()), Vec::new());
        while let Some(id) = next {
            let commit = repository.commit(&id).unwrap();
            subjects.push(commit.message.trim_end().to_owned());
            next = commit.parents.first().copied();
        }
        let found = repository.entry(&repository.head(), b"a.txt").unwrap();
        let Some(StoredEntry::File(_, id)) = found else { panic!("{found:?}") };
        (subjects, String::from_utf8(repository.blob(&id).unwrap().to_vec()).unwrap())
    };
    let expected = || {
        let log = git(at, &["log", "--first-parent", "--format=%s"]);
        (log.lines().map(str::to_owned).collect::<Vec<_>>(), git(at, &["show", "HEAD:a.txt"]))
    };
    let (plain, old_state) = (expected(), state());
    assert_eq!((seen(), plain.0.len()), (plain.clone(), 5));
    git(at, &["replace", "--graft", "HEAD~2"]);
    assert_eq!((seen(), expected().0.len()), (expected(), 3));
    assert_ne!(state(), old_state);
    write(at, "other.txt", "replaced\n");
    let other = git(at, &["hash-object", "-w", "other.txt"]);
    git(at, &["pack-refs", "--all"]);
    git(at, &["replace", "HEAD:a.txt", other.trim()]);
    assert_eq!(seen(), expected());
    assert_eq!((expected().0.len(), expected().1.as_str()), (3, "replaced\n"));
    git(at, &["config", "core.useReplaceRefs", "false"]);
    assert_eq!(seen(), plain);
    let head = git(at, &["rev-parse", "HEAD", "HEAD~3"]);
    fs::create_dir_all(at.join(".git/info")).unwrap();
    fs::write(at.join(".git/info/grafts"), head.trim().replace('\n', " ") + "\n").unwrap();
    assert_eq!((seen(), expected().0.len()), (expected(), 3));
}

/// The objects of a shared clone are outside of the root. The error must say so.
#[test]
fn shared_clone_names_its_missing_objects() {
    let directory = repository("sha1");
    let clone = tempfile::tempdir().unwrap();
    git(clone.path(), &["clone", "-q", "--shared", directory.path().to_str().unwrap(), "."]);
    let open = || Repository::open(&root(clone.path()), &Stop::never()).unwrap();
    let head = open().head();
    assert_eq!(open().commit(&head), Err(ObjectError::Shared(head)));
    // The advice of the message.
    git(clone.path(), &["repack", "-q", "-a", "-d"]);
    assert!(open().commit(&head).is_ok());
}

/// Regression test: an object of a pack over the limit was said to be missing.
#[test]
fn objects_of_further_packs_are_not_called_missing() {
    let directory = repository("sha1");
    let at = directory.path();
    git(at, &["repack", "-q", "-a", "-d"]);
    let open = || Repository::open(&root(at), &Stop::never()).unwrap();
    let head = open().head();
    assert!(open().commit(&head).is_ok());
    for number in 0..limits::PACKS {
        fs::write(at.join(".git/objects/pack").join(format!("a{number:02}.idx")), "").unwrap();
    }
    assert_eq!(open().commit(&head), Err(ObjectError::Unopened(head)));
}

#[test]
fn what_lies_elsewhere_or_is_not_there_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (at, worktree) = (&directory.path().join("main"), directory.path().join("other"));
    fs::create_dir(at).unwrap();
    let failure_of = |at: &Path| {
        Repository::open(&root(at), &Stop::never()).map(|repository| repository.head()).unwrap_err()
    };
    assert_eq!(failure_of(at), HistoryError::NoRepository);
    git(at, &["init", "-q", "-b", "main", "."]);
    assert_eq!(failure_of(at), HistoryError::Unborn);
    write(at, "a", "a");
    commit(at, "First");
    git(at, &["worktree", "add", "-q", "../other", "-b", "other"]);
    assert_eq!(failure_of(&worktree), HistoryError::Elsewhere);
    fs::write(at.join(".git/HEAD"), "ref: ../../outside\n").unwrap();
    assert!(matches!(failure_of(at), HistoryError::Unreadable(_)));
    fs::write(at.join(".git/HEAD"), "ref: refs/heads/.invalid\n").unwrap();
    assert_eq!(failure_of(at), HistoryError::RefFormat);
}

#[test]
fn objects_that_are_missing_or_damaged_are_told_and_end_nothing() {
    let directory = repository("sha1");
    let at = directory.path();
    let missing = ObjectId::from_hex(b"0123456789012345678901234567890123456789").unwrap();
    let mut repository = Repository::open(&root(at), &Stop::never()).unwrap();
    assert_eq!(repository.commit(&missing), Err(ObjectError::Missing(missing)));
    let commit = repository.commit(&repository.head()).unwrap();
    assert_eq!(repository.commit(&commit.tree), Err(ObjectError::Damaged(commit.tree)));
    git(at, &["repack", "-q", "-a", "-d", "-f", "--depth=40", "--window=50"]);
    let ids = git(at, &["rev-list", "--all"]);
    let packs = at.join(".git/objects/pack");
    let files: Vec<_> = fs::read_dir(packs).unwrap().map(|file| file.unwrap().path()).collect();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "pack" || end == "idx"))
    {
        let whole = fs::read(file).unwrap();
        let mut permissions = fs::metadata(file).unwrap().permissions();
        #[expect(clippy::permissions_set_readonly_false, reason = "git makes packs that nobody writes")]
        permissions.set_readonly(false);
        fs::set_permissions(file, permissions).unwrap();
        for index in 0..40 {
            let mut bytes = whole.clone();
            let at_byte = index * bytes.len() / 40;
            match index % 2 {
                0 => bytes[at_byte] ^= 0xff,
                _ => bytes.truncate(at_byte),
            }
            fs::write(file, &bytes).unwrap();
            // Each object must be unchanged or reported: nothing may panic or loop forever.
            let Ok(mut repository) = Repository::open(&root(at), &Stop::never()) else { continue };
            for id in ids.lines().step_by(7) {
                let id = ObjectId::from_hex(id.as_bytes()).unwrap();
                if let Ok(commit) = repository.commit(&id) {
                    let _ = repository.changed_files(&commit, 100);
                }
            }
        }
        fs::write(file, whole).unwrap();
    }
    assert_same_log(at);
}
