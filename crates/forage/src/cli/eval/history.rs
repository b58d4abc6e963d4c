//! Builds a query set from a repository's own history: each commit message is a query for the files that the
//! commit touched.
//!
//! The index must not know the answers. So it contains the files of a base commit, and only later commits
//! become queries. For the same reason, mentions of the touched files are removed from the messages
//! ([`super::message`]).

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, anyhow, bail};
use forage_fs::{DecodedText, RelPath, Root, decode};
use forage_rank::evaluation::{EvaluationTarget, KnownQuery, QuerySet};
use forage_rank::{IndexError, RankIndex, Stamp, Writer, language_of};

use super::git::Git;
use super::records::HistoryOfSet;
use super::{limits, message};

/// The category of queries from the history.
pub(super) const CATEGORY: &str = "history";

/// Lock files whose extension is not `lock`, in lower case. Many changes touch them, but no change is about
/// them.
const LOCK_FILES: [&str; 8] = [
    "bun.lockb",
    "go.sum",
    "gradle.lockfile",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "package.resolved",
];

/// Names of changelog files, in lower case and without their extension.
const CHANGELOGS: [&str; 8] =
    ["changelog", "changes", "history", "news", "release-notes", "release_notes", "releasenotes", "releases"];

/// Extensions that a changelog file may have.
const PROSE: [&str; 7] = ["", "adoc", "markdown", "md", "org", "rst", "txt"];

/// Directories that hold one changelog fragment per change.
const CHANGE_DIRECTORIES: [&str; 6] =
    [".changeset", "changelog", "changelogs", "changelog.d", "changes.d", "newsfragments"];

/// The index of a commit's files.
pub(super) struct HistoryTree {
    pub(super) index: RankIndex,
    /// The paths of the indexed files.
    pub(super) files: HashSet<String>,
    /// Number of files that are not indexed: they are not text, too large, or missing in a partial clone.
    pub(super) left_out: u64,
}

/// A commit from `git log`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Commit {
    is_merge: bool,
    message: String,
    /// The touched paths in their displayed form.
    touched: Vec<String>,
}

/// Returns the base commit, which is `commits` back on the first-parent line. The default is
/// [`limits::COMMITS`], but at most half of the history, because a search can't find files that were added
/// after the base.
pub(super) fn base(git: &Git, commits: Option<usize>) -> anyhow::Result<String> {
    let max = commits.unwrap_or(limits::COMMITS * 2) + 1;
    let count = format!("--max-count={max}");
    let listed = git.output(&["rev-list", "--first-parent", &count, "HEAD"]).map_err(|error| {
        // Git reports this for a branch without commits. We pass all other errors on, e.g. one about the
        // repository's owner.
        match error.to_string().contains("ambiguous argument 'HEAD'") {
            true => anyhow!("there are no commits yet to make queries from"),
            false => error,
        }
    })?;
    let listed = String::from_utf8_lossy(&listed);
    let line: Vec<&str> = listed.lines().collect();
    let back = commits.unwrap_or(line.len() / 2).min(line.len().saturating_sub(1));
    match line.get(back) {
        Some(base) if back > 0 => revision(base).map(str::to_owned),
        _ => bail!(
            "the history is too short for queries: it has {}",
            forage_base::count(line.len() as u64, "commit")
        ),
    }
}

/// Checks that `text` is a commit id. Otherwise, git might take it for an option.
pub(super) fn revision(text: &str) -> anyhow::Result<&str> {
    let is_name = (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_name {
        Ok(text)
    } else {
        bail!("{text:?} is not the id of a commit: give 7 to 64 hexadecimal digits")
    }
}

/// Builds the query set from the commits after `base`, and counts the skipped ones. `tree` must be the index
/// of the base's files.
pub(super) fn queries(
    git: &Git,
    base: String,
    name: &str,
    tree: &HistoryTree,
) -> anyhow::Result<(QuerySet, HistoryOfSet)> {
    let (count, range) = (format!("--max-count={}", limits::LOG_COMMITS), format!("{base}..HEAD"));
    let log = git.output(&[
        "log",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-color",
        "--no-notes",
        "--no-ext-diff",
        "--no-textconv",
        // This overrides the file that `diff.orderFile` may name.
        "-O/dev/null",
        "--no-show-signature",
        "--ignore-submodules=all",
        "--encoding=UTF-8",
        "--relative",
        "--format=tformat:%H%x00%P%x00%B%x00",
        &count,
        &range,
        "--",
    ])?;
    let commits = commits(&log)?;
    let mut others = BTreeMap::new();
    let (mut queries, mut asked) = (Vec::new(), HashSet::new());
    // Oldest first: of two equal messages, we keep the one whose files should be more like those of the base.
    for commit in commits.iter().rev() {
        match query(commit, &tree.files) {
            Ok(query) if asked.insert(query.query.to_lowercase()) => queries.push(query),
            Ok(_) => *others.entry("repeat the message of another").or_default() += 1,
            Err(reason) => *others.entry(reason).or_default() += 1,
        }
    }
    let history = HistoryOfSet {
        base: base.clone(),
        commits: commits.len() as u64,
        is_cut: commits.len() >= limits::LOG_COMMITS,
        queries: queries.len(),
        others,
    };
    let set = QuerySet {
        name: name.to_owned(),
        language: language(&tree.files),
        url: String::new(),
        revision: base,
        benchmark_root: None,
        queries,
    };
    Ok((set, history))
}

/// Returns the query of a commit, or why the commit is skipped, worded to follow «N commits».
fn query(commit: &Commit, files: &HashSet<String>) -> Result<KnownQuery, &'static str> {
    if commit.is_merge {
        return Err("are merges");
    }
    if message::is_revert(&commit.message) {
        return Err("revert or amend another");
    }
    let targets: Vec<&String> =
        commit.touched.iter().filter(|path| files.contains(*path) && !is_incidental(path)).collect();
    match targets.len() {
        0 => return Err("touch no file of the base"),
        1..=limits::TOUCHED_FILES => {}
        _ => return Err("touch too many files"),
    }
    let query = message::question(&commit.message, &commit.touched).ok_or("have too little text")?;
    let relevant = targets.into_iter().map(|path| EvaluationTarget::File(path.clone())).collect();
    Ok(KnownQuery { query, relevant, category: CATEGORY.to_owned(), ..KnownQuery::default() })
}

/// Returns true for files that changes touch but are not about, e.g. a changelog.
fn is_incidental(path: &str) -> bool {
    let path = path.to_lowercase();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    LOCK_FILES.contains(&name)
        || extension == "lock"
        || (PROSE.contains(&extension) && CHANGELOGS.contains(&stem))
        || directory.split('/').any(|name| CHANGE_DIRECTORIES.contains(&name))
}

/// Determines the most frequent language. If several are equally frequent, this returns the alphabetically
/// first one.
fn language(files: &HashSet<String>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for language in files.iter().filter_map(|path| language_of(path)) {
        *counts.entry(language).or_default() += 1;
    }
    let max = counts.iter().max_by(|left, right| left.1.cmp(right.1).then_with(|| right.0.cmp(left.0)));
    max.map(|(language, _)| (*language).to_owned()).unwrap_or_default()
}

/// Parses the output of `git log -z --raw` with our format. The NUL-terminated fields of a commit are its id,
/// its parents, its message and an empty field. Then each touched file has two fields: a line of numbers that
/// begins with a colon, and its path. None of these can contain a NUL.
fn commits(log: &[u8]) -> anyhow::Result<Vec<Commit>> {
    let mut fields = log.split(|byte| *byte == 0).peekable();
    let mut commits = Vec::new();
    let odd = "git log printed unexpected output";
    while let Some(id) = fields.next() {
        if id.is_empty() && fields.peek().is_none() {
            break;
        }
        revision(std::str::from_utf8(id).context(odd)?).context(odd)?;
        let (parents, message) = (fields.next().context(odd)?, fields.next().context(odd)?);
        let mut commit = Commit {
            is_merge: parents.contains(&b' '),
            message: String::from_utf8_lossy(message).into_owned(),
            touched: Vec::new(),
        };
        if !fields.next().context(odd)?.is_empty() {
            bail!(odd);
        }
        while fields.next_if(|field| field.trim_ascii_start().starts_with(b":")).is_some() {
            let path = RelPath::from_bytes(fields.next().context(odd)?, &RelPath::root())?;
            commit.touched.push(path.display().into_owned());
        }
        commits.push(commit);
    }
    Ok(commits)
}

/// A file in a git tree.
struct Blob<'a> {
    id: &'a str,
    path: String,
}

/// Indexes the files of a commit that are inside the directory of `git`. Like a walk, this skips hidden
/// files, secrets and links.
pub(super) fn tree(
    git: &Git,
    root: &Root,
    revision: &str,
    threads: usize,
    progress: &AtomicU64,
) -> anyhow::Result<HistoryTree> {
    let listed = git.output(&["ls-tree", "-r", "-z", "-l", revision])?;
    let (blobs, too_large) = blobs(&listed, root);
    let ids = blobs.iter().fold(String::new(), |ids, blob| ids + blob.id + "\n");
    let index = RankIndex::in_memory()?;
    let writer = index.writer(threads)?;
    let (give, take) = sync_channel(limits::FILES_AHEAD);
    let take = Arc::new(Mutex::new(take));
    let files = std::thread::scope(|scope| {
        let work = |take: Arc<_>| scope.spawn(|| index_files(&writer, take, progress));
        let workers: Vec<_> = (0..threads.max(1)).map(|_| work(Arc::clone(&take))).collect();
        // Only the workers may hold the receiver: once all of them have ended, sending must fail.
        drop(take);
        let read = git.run(
            &["cat-file", "--batch", "--buffer"],
            Some(ids.as_bytes()),
            limits::GIT_FILES_BYTES,
            |stdout| {
                for blob in &blobs {
                    let Some(bytes) = contents(stdout, blob.id)? else { continue };
                    // All workers have ended, and they will return the reason below.
                    if give.send((blob.path.clone(), bytes)).is_err() {
                        break;
                    }
                }
                Ok(())
            },
        );
        // The workers end once the channel is closed.
        drop(give);
        let mut files = HashSet::new();
        for worker in workers {
            match worker.join() {
                Ok(indexed) => files.extend(indexed?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        read.map(|()| files)
    })?;
    let left_out = too_large + (blobs.len() - files.len()) as u64;
    writer.commit()?;
    index.read_tracked_paths();
    Ok(HistoryTree { index, files, left_out })
}

type CommitFiles = Receiver<(String, Vec<u8>)>;

/// Indexes those of the received files that are text, and returns their paths.
fn index_files(
    writer: &Writer<'_>,
    take: Arc<Mutex<CommitFiles>>,
    progress: &AtomicU64,
) -> Result<Vec<String>, IndexError> {
    let mut files = Vec::new();
    loop {
        let given = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((path, bytes)) = given else { return Ok(files) };
        progress.fetch_add(1, Ordering::Relaxed);
        if let DecodedText::Text { bytes, .. } = decode(&bytes) {
            writer.add(&path, &String::from_utf8_lossy(&bytes), Stamp::default())?;
            files.push(path);
        }
    }
}

/// Parses the output of `git ls-tree -l -z`, whose entries have the form `MODE blob ID SIZE<tab>PATH`.
/// Returns the files that we may read, and the number of those that are too large or missing.
fn blobs<'a>(listed: &'a [u8], root: &Root) -> (Vec<Blob<'a>>, u64) {
    let (mut blobs, mut left_out) = (Vec::new(), 0);
    for entry in listed.split(|byte| *byte == 0) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let Ok(head) = std::str::from_utf8(&entry[..tab]) else { continue };
        let fields: Vec<&str> = head.split_ascii_whitespace().collect();
        let ["100644" | "100755", "blob", id, size] = fields[..] else { continue };
        let Ok(path) = RelPath::from_bytes(&entry[tab + 1..], &RelPath::root()) else { continue };
        if path.is_root()
            || path.names().any(|name| name.starts_with(b"."))
            || root.secrets().denies(&path).is_some()
        {
            continue;
        }
        // Note that a file that is missing in a partial clone has no size.
        match size.parse::<usize>() {
            Ok(size) if size <= forage_rank::limits::FILE_BYTES => {
                blobs.push(Blob { id, path: path.display().into_owned() });
            }
            _ => left_out += 1,
        }
    }
    (blobs, left_out)
}

/// Reads the next file from `git cat-file --batch`. Returns `None` if the file is missing.
fn contents(stdout: &mut dyn BufRead, id: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let mut head = String::new();
    stdout.read_line(&mut head)?;
    let fields: Vec<&str> = head.split_ascii_whitespace().collect();
    match fields[..] {
        [name, "missing"] if name == id => Ok(None),
        [name, "blob", size] if name == id => {
            let size: usize = size.parse()?;
            if size > forage_rank::limits::FILE_BYTES {
                bail!("git returned {size} bytes for the file {id}, more than it reported before");
            }
            // Git prints a line feed after the contents.
            let mut bytes = vec![0; size + 1];
            stdout.read_exact(&mut bytes)?;
            bytes.pop();
            Ok(Some(bytes))
        }
        _ => bail!("git cat-file did not return the file {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "5768e774e92798bc461924846f13389feacedcf0";

    #[test]
    fn a_log_is_read_field_by_field() {
        let log = format!(
            "{ID}\0p q\0A merge\n\0\0{ID}\0p\0\0\0{ID}\0p\0:not a file\nline\n\0\0\n\
             :100644 100644 a b M\0:odd\0:000000 100644 a b A\0src/a b.rs\0{ID}\0p\0empty\n\0\0"
        );
        let commits = commits(log.as_bytes()).unwrap();
        let commit = |is_merge, message: &str, touched: &[&str]| Commit {
            is_merge,
            message: message.to_owned(),
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
        };
        assert_eq!(
            commits,
            [
                commit(true, "A merge\n", &[]),
                commit(false, "", &[]),
                commit(false, ":not a file\nline\n", &[":odd", "src/a b.rs"]),
                commit(false, "empty\n", &[]),
            ]
        );
        assert_eq!(super::commits(b"").unwrap(), []);
        for odd in [&b"x"[..], b"not an id\0p\0m\0\0", format!("{ID}\0p").as_bytes()] {
            assert!(super::commits(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn commits_that_are_about_nothing_make_no_query() {
        let files: HashSet<String> = (0..7)
            .map(|n| format!("src/f{n}.rs"))
            .chain(["Cargo.lock".into(), "CHANGELOG.md".into()])
            .collect();
        let commit = |message: &str, touched: &[&str]| Commit {
            is_merge: false,
            message: message.to_owned(),
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
        };
        let reason = |message, touched: &[&str]| query(&commit(message, touched), &files).err();
        assert_eq!(reason("Wait for the end", &["src/f0.rs", "Cargo.lock", "new.rs"]), None);
        assert_eq!(reason("Wait", &["src/f0.rs"]), Some("have too little text"));
        assert_eq!(
            reason("Wait for the end", &["new.rs", "CHANGELOG.md"]),
            Some("touch no file of the base")
        );
        let many: Vec<&String> = files.iter().collect();
        let many: Vec<&str> = many.iter().map(|path| path.as_str()).collect();
        assert_eq!(reason("Wait for the end", &many), Some("touch too many files"));
        assert_eq!(reason("Revert \"Wait for the end\"", &["src/f0.rs"]), Some("revert or amend another"));
        let merge = Commit { is_merge: true, ..commit("Wait for the end", &["src/f0.rs"]) };
        assert_eq!(query(&merge, &files).err(), Some("are merges"));
        let found =
            query(&commit("Wait for the end", &["src/f0.rs", "Cargo.lock", "new.rs"]), &files).unwrap();
        assert_eq!(found.relevant.iter().map(EvaluationTarget::path).collect::<Vec<_>>(), ["src/f0.rs"]);
    }

    #[test]
    fn files_that_all_changes_touch_are_known() {
        for path in
            ["yarn.lock", "a/go.sum", "CHANGES", "docs/HISTORY.rst", ".changeset/a.md", "a/newsfragments/1.x"]
        {
            assert!(is_incidental(path), "{path}");
        }
        for path in ["src/history.rs", "lock.rs", "changes/a.rs", "news/index.html", "sum.go"] {
            assert!(!is_incidental(path), "{path}");
        }
    }

    #[test]
    fn ids_of_commits_are_no_options() {
        assert!(revision(ID).is_ok() && revision("5768e77").is_ok());
        for text in ["", "HEAD", "--output=/x", "5768e7", "5768e77..HEAD"] {
            assert!(revision(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fuzz_what_git_prints_makes_paths_below_the_root_or_an_error() {
        let log = format!(
            "{ID}\0p q\0A merge\n\0\0{ID}\0p\0Wait for the end\n\nbody\nFixes: #12\n\0\0\n\
             :100644 100644 a b M\0src/a.rs\0:000000 100644 a b A\0src/a b.rs\0"
        );
        let listed = format!(
            "100644 blob {ID}     12\tsrc/a.rs\0120000 blob {ID} 3\tlink\0100755 blob {ID} -\tsrc/b.rs\0100644 blob {ID} 99\t.env\0"
        );
        let file = format!("{ID} blob 12\nhello world!\n");
        let missing = format!("{ID} missing\n");
        let directory = tempfile::tempdir().unwrap();
        let policy = forage_fs::SecretPolicy::standard(&[]);
        let root = Root::open(directory.path(), &forage_fs::RootPolicy::default(), policy).unwrap();
        forage_fuzz::target!(&forage_fuzz::seeds([&log, &listed, &file, &missing]), |input| {
            let is_below = |path: &str| {
                RelPath::parse(path, &RelPath::root())
                    .is_ok_and(|path| path.names().all(|name| name != b".."))
            };
            for commit in commits(input).unwrap_or_default() {
                assert!(commit.touched.iter().all(|path| is_below(path)), "{commit:?}");
                let question = message::question(&commit.message, &commit.touched).unwrap_or_default();
                assert!(
                    question.len() <= commit.message.len() + commit.message.lines().count(),
                    "{question:?}"
                );
            }
            for blob in blobs(input, &root).0 {
                assert!(is_below(&blob.path) && !blob.path.starts_with('.'), "{}", blob.path);
            }
            let mut stdout = input;
            if let Ok(Some(bytes)) = contents(&mut stdout, ID) {
                assert!(bytes.len() < input.len());
            }
        });
    }
}
