//! Compares siblings: copies of one topic for several platforms or backends, such as `unix/tcp.c` and
//! `win/tcp.c`, or `MySqlGrammar.php` and `PostgresGrammar.php`.
//!
//! Siblings share most of their words, so the few words that distinguish them hardly affect their scores. We
//! compare them by these words alone.

use crate::limits;
use crate::query::{Concept, RankQuery};
use crate::retrieve::FileCandidate;
use crate::tokens::TokenParts;

use super::paths::{PathWord, PathWords, is_nameless, push};
use super::{Evidence, Id, RuleWeights};

/// Names of the same platform or backend, in paths and in questions. A name may belong to several families.
/// The name of a file may differ from its sibling's only by such names.
const FAMILIES: &[&[&str]] = &[
    &["windows", "win", "win32", "win64", "winapi", "winnt", "mingw", "msvc", "iocp"],
    &["macos", "mac", "macosx", "osx", "darwin", "apple", "cocoa", "appkit", "kqueue", "fsevents"],
    &["ios", "iphone", "ipad", "uikit", "apple", "darwin"],
    &["linux", "epoll", "inotify"],
    &["bsd", "freebsd", "openbsd", "netbsd", "dragonfly", "kqueue"],
    &["solaris", "illumos", "sunos"],
    &["aix"],
    &["android"],
    &["browser", "web", "wasm", "wasm32", "js", "javascript", "emscripten"],
    &["wasi"],
    &["unix", "posix"],
    &["jvm", "java"],
    &["native"],
    &["node", "nodejs"],
    &["deno"],
    &["bun"],
    &["aws", "amazon", "lambda"],
    &["azure"],
    &["gcp", "google"],
    &["cloudflare"],
    &["x86", "i386", "i686"],
    &["x64", "amd64"],
    &["arm"],
    &["arm64", "aarch64"],
    &["riscv", "riscv64"],
    &["cuda", "nvidia"],
    &["rocm", "hip", "amd"],
    &["metal"],
    &["vulkan"],
    &["opengl", "gl"],
    &["wayland"],
    &["x11", "xlib"],
    &["gtk"],
    &["qt"],
    &["postgres", "postgresql", "pgsql", "pg"],
    &["mysql"],
    &["mariadb"],
    &["sqlite", "sqlite3"],
    &["sqlserver", "mssql", "sqlsrv"],
    &["oracle"],
    &["redis"],
    &["memcached"],
    &["mongodb", "mongo"],
    &["dynamodb"],
    &["sqs"],
    &["rabbitmq", "amqp"],
    &["kafka"],
    &["bash"],
    &["zsh"],
    &["fish"],
    &["powershell"],
    &["iouring", "uring"],
    &["plan9"],
    &["abstract"],
    &["common"],
    &["default"],
    &["generic"],
];

/// Names of systems that are kinds of Unix, which a sibling for Unix covers.
const KINDS_OF_UNIX: &[&str] = &[
    "linux", "macos", "mac", "osx", "darwin", "bsd", "freebsd", "openbsd", "netbsd", "solaris", "illumos",
    "aix",
];

/// How well another name of the same platform matches, relative to the name itself.
const SAME_FAMILY: f32 = 0.9;
/// Minimum similarity of a word of a path to a word of the query. A word that merely contains the other
/// (`shell` and `powershell`) doesn't name the same thing.
const SIMILAR: f32 = 0.9;
/// How well `unix` matches the name of such a system.
const COVERED_BY_UNIX: f32 = 0.5;

/// The share of its value that counts for a file that names no platform (`manager.go` next to
/// `manager_linux.go`). It often has the part that all platforms share.
const GENERAL: f32 = 0.5;

/// Maximum number of directories in which the paths of siblings differ.
const DIRECTORIES: usize = 2;

/// Sets the value of the rule that lowers a file if a sibling's path fits the query better. Only the first
/// files are compared, so that a sibling far down does not change the first places.
///
/// Words of the texts don't help: lowering a file that lacks words of the query which its sibling has gained
/// nothing on 93 questions about siblings (weights .2, .5 and 1: NDCG@10 .709, .704 and .689 instead of .705).
pub(crate) fn compare_siblings(
    query: &RankQuery,
    candidates: &[FileCandidate],
    evidence: &mut [Evidence],
    rules: &RuleWeights,
) {
    if query.is_symbol || query.concepts.is_empty() {
        return;
    }
    // We only use the first candidates, so that a longer answer doesn't begin differently.
    let count = candidates.len().min(limits::CANDIDATES);
    let mut first: Vec<(f32, usize)> =
        (0..count).map(|index| (rules.score(&evidence[index].values), index)).collect();
    first.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let is_asked = |index: usize| {
        evidence[index].values[Id::FileAsked as usize] > 0.0
            || evidence[index].values[Id::DefinesAlone as usize] > 0.0
    };
    let first: Vec<usize> = first.into_iter().map(|(_, index)| index).take(limits::SIBLINGS).collect();
    let first: Vec<usize> = first
        .into_iter()
        .filter(|&index| !candidates[index].kinds.is_secondary() && !is_asked(index))
        .collect();
    let shapes: Vec<PathShape<'_>> =
        first.iter().map(|&index| PathShape::new(&candidates[index].record.path)).collect();
    for (position, left) in shapes.iter().enumerate() {
        for (other, right) in shapes.iter().enumerate().skip(position + 1) {
            let Some(words) = left.differences(right) else { continue };
            let values = compare_paths(query, &words);
            for (index, value) in [first[position], first[other]].into_iter().zip(values) {
                let known = &mut evidence[index].values[Id::Sibling as usize];
                *known = known.max(value);
            }
        }
    }
}

/// Finds the siblings of each of the first files, given the candidates in their order. A file is the sibling of
/// only one other file, the first that it belongs to.
pub(crate) fn group_siblings(candidates: &[&FileCandidate]) -> Vec<Vec<usize>> {
    let shapes: Vec<PathShape<'_>> =
        candidates.iter().map(|candidate| PathShape::new(&candidate.record.path)).collect();
    let mut is_free: Vec<bool> = candidates.iter().map(|candidate| !candidate.kinds.is_secondary()).collect();
    let mut groups = Vec::new();
    for first in 0..candidates.len().min(limits::SIBLINGS) {
        let mut group = Vec::new();
        for other in first + 1..candidates.len() {
            if is_free[first]
                && is_free[other]
                && candidates[first].index == candidates[other].index
                && shapes[first].differences(&shapes[other]).is_some()
            {
                group.push(other);
            }
        }
        group.iter().for_each(|&other| is_free[other] = false);
        groups.push(group);
    }
    groups
}

/// Compares how well the words in which two paths differ match the query. Returns how far each of the two is
/// behind the other, as a share of what distinguishes them.
fn compare_paths(query: &RankQuery, words: &[Vec<PathWord>; 2]) -> [f32; 2] {
    let mut ahead = [0.0_f32; 2];
    for concept in &query.concepts {
        let matches = words.each_ref().map(|words| match_words(words, concept));
        for (side, ahead) in ahead.iter_mut().enumerate() {
            *ahead += concept.weight * (matches[side] - matches[1 - side]).max(0.0);
        }
    }
    let total = (ahead[0] + ahead[1]).max(f32::MIN_POSITIVE);
    [0, 1].map(|side| {
        let share = if words[side].is_empty() { GENERAL } else { 1.0 };
        share * (ahead[1 - side] - ahead[side]).max(0.0) / total
    })
}

fn match_words(words: &[PathWord], concept: &Concept) -> f32 {
    let platform = words.iter().map(|word| match_platform(word.text(), &concept.word)).fold(0.0, f32::max);
    let similarity = PathWords::matches(words, concept).0;
    platform.max(if similarity >= SIMILAR { similarity } else { 0.0 })
}

/// Scores a word of a path as a name of the platform that a word of the query names.
fn match_platform(word: &str, asked: &str) -> f32 {
    if word == asked {
        return 1.0;
    }
    if FAMILIES.iter().any(|family| family.contains(&word) && family.contains(&asked)) {
        return SAME_FAMILY;
    }
    let is_covered = matches!(word, "unix" | "posix") && KINDS_OF_UNIX.contains(&asked);
    if is_covered { COVERED_BY_UNIX } else { 0.0 }
}

fn is_platform(word: &str) -> bool {
    FAMILIES.iter().any(|family| family.contains(&word))
}

/// The parts of a path that decide whether two files are siblings.
#[derive(Debug)]
struct PathShape<'a> {
    directories: Vec<&'a str>,
    bare: &'a str,
    extension: &'a str,
    /// The words of `bare` in lower case.
    words: Vec<String>,
}

impl<'a> PathShape<'a> {
    fn new(path: &'a str) -> Self {
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (bare, extension) = name.split_once('.').unwrap_or((name, ""));
        let mut words = Vec::new();
        let mut parts = TokenParts::default();
        for part in bare.split(|c: char| !c.is_alphanumeric()) {
            parts.split(part);
            words.extend(parts.iter().map(str::to_owned));
        }
        Self { directories: directories.split('/').collect(), bare, extension, words }
    }

    /// Returns the words in which the paths of two siblings differ, or `None` if they aren't siblings.
    fn differences(&self, other: &Self) -> Option<[Vec<PathWord>; 2]> {
        if self.extension != other.extension || self.directories.len() != other.directories.len() {
            return None;
        }
        let directories: Vec<(&str, &str)> = self
            .directories
            .iter()
            .zip(&other.directories)
            .filter(|(one, other)| one != other)
            .map(|(one, other)| (*one, *other))
            .collect();
        if directories.len() > DIRECTORIES {
            return None;
        }
        let mut found = [Vec::new(), Vec::new()];
        let mut parts = TokenParts::default();
        let mut add = |one: &str, other: &str| {
            push(&mut found[0], &mut parts, one, 1.0);
            push(&mut found[1], &mut parts, other, 1.0);
        };
        if self.bare != other.bare {
            let (one, other) = differing_platforms(&self.words, &other.words)?;
            add(&one, &other);
        }
        let are_platforms =
            directories.iter().all(|(one, other)| names_platform(one) && names_platform(other));
        if self.bare == other.bare && is_nameless(self.bare) && !are_platforms {
            return None;
        }
        for (one, other) in directories {
            add(one, other);
        }
        found.iter().flatten().any(|word| is_platform(word.text())).then_some(found)
    }
}

fn names_platform(directory: &str) -> bool {
    directory.split(['-', '_']).any(|word| is_platform(&word.to_lowercase()))
}

/// Finds the part in which two names differ, if the rest is the same and each part is empty or the name of a
/// platform.
fn differing_platforms(one: &[String], other: &[String]) -> Option<(String, String)> {
    let same = |(one, other): &(&String, &String)| one == other;
    let before = one.iter().zip(other).take_while(same).count();
    let (one, other) = (&one[before..], &other[before..]);
    let after = one.iter().rev().zip(other.iter().rev()).take_while(same).count();
    if before + after == 0 {
        return None;
    }
    let [one, other] = [one, other].map(|words| words[..words.len() - after].concat());
    let is_part = |part: &String| part.is_empty() || is_platform(part);
    (is_part(&one) && is_part(&other)).then_some((one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::QueryWeights;

    fn differences(one: &str, other: &str) -> Option<[String; 2]> {
        let found = PathShape::new(one).differences(&PathShape::new(other))?;
        Some(found.map(|words| words.iter().map(PathWord::text).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn siblings_by_path() {
        let cases = [
            ("src/unix/tcp.c", "src/win/tcp.c", Some(["unix", "win"])),
            ("dns/manager_linux.go", "dns/manager_windows.go", Some(["linux", "windows"])),
            ("dns/manager.go", "dns/manager_darwin.go", Some(["", "darwin"])),
            ("Query/MySqlGrammar.php", "Query/SQLiteGrammar.php", Some(["mysql", "sqlite"])),
            ("tasks/sqlite_database_tasks.rb", "tasks/mysql_database_tasks.rb", Some(["sqlite", "mysql"])),
            (
                "epoll/src/EpollChannel.java",
                "kqueue/src/KQueueChannel.java",
                Some(["epoll epoll", "kqueue kqueue"]),
            ),
            ("epoll/src/Channel.java", "kqueue/src/Channel.java", Some(["epoll", "kqueue"])),
            ("sys/unix/mod.rs", "sys/windows/mod.rs", Some(["unix", "windows"])),
            ("http/mod.rs", "ftp/mod.rs", None),
            ("users/models.py", "orders/models.py", None),
            ("adapter/bun/server.ts", "adapter/vercel/server.ts", Some(["bun", "vercel"])),
            ("dns/manager_linux.go", "dns/manager_default.go", Some(["linux", "default"])),
            ("dns/manager_linux.go", "dns/manager_test.go", None),
            ("src/user_service.py", "src/order_service.py", None),
            ("src/unix/tcp.c", "src/win/tcp.h", None),
            ("src/unix/tcp.c", "src/win/deep/tcp.c", None),
            ("a/b/c/tcp.c", "x/y/z/tcp.c", None),
            ("src/linux.c", "src/darwin.c", None),
        ];
        for (one, other, expected) in cases {
            let expected = expected.map(|words| words.map(str::to_owned));
            assert_eq!(differences(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn other_names_of_a_platform_match() {
        for (word, asked, expected) in [
            ("windows", "windows", 1.0),
            ("win", "windows", 0.9),
            ("darwin", "macos", 0.9),
            ("unix", "linux", 0.5),
            ("unix", "windows", 0.0),
            ("linux", "macos", 0.0),
            ("postgresql", "pg", 0.9),
        ] {
            assert_eq!(match_platform(word, asked), expected, "{word} {asked}");
        }
    }

    #[test]
    fn siblings_are_behind_by_what_differs() {
        let values = |query: &str, one: &str, other: &str| {
            let words = PathShape::new(one).differences(&PathShape::new(other)).unwrap();
            compare_paths(&RankQuery::parse(query, &QueryWeights::default()), &words)
        };
        let (unix, win) = ("src/unix/tcp.c", "src/win/tcp.c");
        assert_eq!(values("accept a connection on Windows", unix, win), [1.0, 0.0]);
        assert_eq!(values("accept a connection on Linux", unix, win), [0.0, 1.0]);
        assert_eq!(values("accept a connection", unix, win), [0.0, 0.0]);
        assert_eq!(values("DNS settings on macOS", "dns/manager.go", "dns/manager_darwin.go"), [0.5, 0.0]);
        let (general, powershell) = ("completions.go", "powershell_completions.go");
        assert_eq!(values("shell completion requests", general, powershell), [0.0, 0.0]);
    }
}
