//! Ignore rules with ripgrep's precedence: `.rgignore`, `.ignore`, `.gitignore`, `.git/info/exclude`.
//!
//! Within a kind, the deepest directory decides. Git's two kinds apply only inside a work tree and not above
//! its root. We read rules from the root down to the file and nowhere else. With files above the root or the
//! user's global git configuration, the answer would depend on something that the caller can't see.
//!
//! The `ignore` crate compiles and matches the globs, and we limit the cost of compiling. Git's two kinds are
//! translated first, because that crate interprets some lines differently than git ([`git_rule`]).

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::git_rule;
use crate::limits;
use crate::quoting::display_text;
use crate::read_buffer::ReadBuffer;
use crate::rel_path::{RelPath, os_str};
use crate::sys::{self, Directory, FileNode};
use crate::walk::git_info;
use forage_base::Stop;

/// The names of ignore files in order of precedence.
const IGNORE_FILES: [&[u8]; 3] = [b".rgignore", b".ignore", b".gitignore"];
const GIT_FILE: usize = 2;
const GIT_EXCLUDE: usize = 3;

/// The names of entries that affect the rules of their directory.
pub(crate) const DECIDING: [&[u8]; 5] = [b".rgignore", b".ignore", b".gitignore", b".git", b".jj"];

/// Returns true if an entry with this name affects the rules of its directory.
pub(crate) fn decides(name: &[u8]) -> bool {
    DECIDING.contains(&name)
}

/// The rules of one directory and, through `parent`, of the directories above it.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    parent: Option<Arc<IgnoreRules>>,
    directory: RelPath,
    /// In order of precedence: `IGNORE_FILES`, then `.git/info/exclude`.
    matchers: [Option<Gitignore>; 4],
    has_git: bool,
    /// True if git's kinds apply, because this directory or one above it is a work tree.
    inside_git: bool,
    /// True if only git's kinds are read.
    only_git: bool,
}

/// The verdict of the rules on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreVerdict {
    Nothing,
    Ignored,
    /// Kept by a `!` rule, even if its name is hidden.
    Kept,
}

/// The running cost of compiling the rules of a walk.
#[derive(Debug)]
pub(crate) struct RuleBudget {
    rules: AtomicUsize,
    bytes: AtomicUsize,
    wildcards: AtomicUsize,
    /// The limit that applies.
    bound: Bound,
    stop: Stop,
}

#[derive(Debug)]
enum Bound {
    OfWalk,
    Above(Arc<RuleBudget>),
    None,
}

/// The cost of compiling the rules of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCost {
    pub(crate) rules: usize,
    pub(crate) bytes: usize,
    pub(crate) wildcards: usize,
}

impl RuleBudget {
    pub(crate) fn new(stop: &Stop) -> Self {
        Self::bounded(Bound::OfWalk, stop)
    }

    /// Creates a budget that is charged to `whole`.
    pub(crate) fn part_of(whole: &Arc<Self>) -> Self {
        Self::bounded(Bound::Above(Arc::clone(whole)), &whole.stop)
    }

    /// Creates a budget without limits, for rules that were already charged.
    pub(crate) fn unbounded(&self) -> Self {
        Self::bounded(Bound::None, &self.stop)
    }

    fn bounded(bound: Bound, stop: &Stop) -> Self {
        Self {
            rules: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            wildcards: AtomicUsize::new(0),
            bound,
            stop: stop.clone(),
        }
    }

    /// Returns the cost so far.
    pub(crate) fn taken(&self) -> RuleCost {
        let taken = |taken: &AtomicUsize| taken.load(Ordering::Relaxed);
        RuleCost { rules: taken(&self.rules), bytes: taken(&self.bytes), wildcards: taken(&self.wildcards) }
    }

    /// Returns true if more than half of any limit is used.
    pub(crate) fn is_half_used(&self) -> bool {
        let half = |used: &AtomicUsize, max: usize| used.load(Ordering::Relaxed) > max / 2;
        half(&self.rules, limits::IGNORE_WALK_RULES)
            || half(&self.bytes, limits::IGNORE_WALK_BYTES)
            || half(&self.wildcards, limits::IGNORE_WALK_WILDCARDS)
    }

    /// Charges the cost of a file. Returns false, without charging anything, if it exceeds a limit.
    pub(crate) fn take(&self, cost: RuleCost) -> bool {
        if let Bound::Above(whole) = &self.bound
            && !whole.take(cost)
        {
            return false;
        }
        let RuleCost { rules, bytes, wildcards } = cost;
        let wanted = [
            (&self.rules, rules, limits::IGNORE_WALK_RULES),
            (&self.bytes, bytes, limits::IGNORE_WALK_BYTES),
            (&self.wildcards, wildcards, limits::IGNORE_WALK_WILDCARDS),
        ];
        let fits = wanted.map(|(used, more, max)| used.fetch_add(more, Ordering::Relaxed) + more <= max);
        // Only the budget of a whole walk has limits. The others merely count.
        let all = fits.into_iter().all(|fits| fits) || !matches!(self.bound, Bound::OfWalk);
        if !all {
            for (used, more, _) in wanted {
                used.fetch_sub(more, Ordering::Relaxed);
            }
        }
        all
    }
}

impl IgnoreRules {
    /// Creates empty rules. `inside_git` must be true if a directory above the root is a work tree. With
    /// `only_git`, the directories below add only the rules that git knows.
    pub(crate) fn none(inside_git: bool, only_git: bool) -> Arc<Self> {
        Arc::new(Self {
            parent: None,
            directory: RelPath::root(),
            matchers: [const { None }; 4],
            has_git: false,
            inside_git,
            only_git,
        })
    }

    /// Derives the rules for `directory`, whose entries are `nodes`. We share unchanged rules, so a directory
    /// without ignore files costs nothing. Problems are reported to `warn`.
    pub(crate) fn descend(
        self: &Arc<Self>,
        path: &RelPath,
        directory: &Directory,
        nodes: &[FileNode],
        budget: &RuleBudget,
        warn: &mut dyn FnMut(String),
    ) -> Arc<Self> {
        let has = |name: &[u8]| nodes.iter().any(|node| &*node.name == name);
        // All names that matter here begin with a dot.
        let dotted = nodes.iter().any(|node| node.name.first() == Some(&b'.'));
        if !dotted {
            return Arc::clone(self);
        }
        let has_git = has(b".git") || has(b".jj");
        let mut matchers = [const { None }; 4];
        let first = if self.only_git { GIT_FILE } else { 0 };
        for (matcher, name) in matchers.iter_mut().zip(IGNORE_FILES).skip(first) {
            if has(name) {
                *matcher = compile(path, directory, name, budget, warn);
            }
        }
        if has(b".git") {
            matchers[GIT_EXCLUDE] = git_exclude(path, directory, budget, warn);
        }
        if !has_git && matchers.iter().all(Option::is_none) {
            return Arc::clone(self);
        }
        let inside_git = self.inside_git || has_git;
        Arc::new(Self {
            parent: Some(Arc::clone(self)),
            directory: path.clone(),
            matchers,
            has_git,
            inside_git,
            only_git: self.only_git,
        })
    }

    /// Decides about `path`, which must be below this directory.
    pub(crate) fn verdict(&self, path: &RelPath, is_directory: bool) -> IgnoreVerdict {
        self.deciding(path, is_directory).0
    }

    /// Like [`IgnoreRules::verdict`], but also returns the text of the rule that decided, with its file and
    /// line.
    pub(crate) fn deciding(&self, path: &RelPath, is_directory: bool) -> (IgnoreVerdict, Option<String>) {
        let mut found: [Option<(&IgnoreRules, Match<&ignore::gitignore::Glob>)>; 4] = [const { None }; 4];
        let mut past_git_root = false;
        let mut next = Some(self);
        while let Some(rules) = next {
            for (kind, matcher) in rules.matchers.iter().enumerate() {
                let git_kind = kind >= GIT_FILE;
                if found[kind].is_some() || (git_kind && (past_git_root || !self.inside_git)) {
                    continue;
                }
                if let Some(matcher) = matcher
                    && let Some(below) = os_str(path.below(&rules.directory))
                {
                    let matched = matcher.matched(Path::new(&*below), is_directory);
                    if !matched.is_none() {
                        found[kind] = Some((rules, matched));
                    }
                }
            }
            past_git_root |= rules.has_git;
            next = rules.parent.as_deref();
        }
        let Some((kind, (rules, matched))) =
            found.into_iter().enumerate().find_map(|(kind, hit)| Some((kind, hit?)))
        else {
            return (IgnoreVerdict::Nothing, None);
        };
        match matched {
            Match::Ignore(glob) => {
                let file = IGNORE_FILES
                    .get(kind)
                    .map_or(".git/info/exclude".into(), |name| String::from_utf8_lossy(name));
                let place = rules.directory.join(file.as_bytes());
                let from = glob.from().map_or(Cow::Borrowed(""), Path::to_string_lossy);
                let (line, rule) = from.split_once(':').unwrap_or(("", &from));
                let rule = match display_text(rule) {
                    Cow::Borrowed(rule) => format!("`{rule}`"),
                    Cow::Owned(quoted) => quoted,
                };
                (IgnoreVerdict::Ignored, Some(format!("{rule} in {}:{line}", place.display())))
            }
            _ => (IgnoreVerdict::Kept, None),
        }
    }
}

fn git_exclude(
    path: &RelPath,
    directory: &Directory,
    budget: &RuleBudget,
    warn: &mut dyn FnMut(String),
) -> Option<Gitignore> {
    let info = match git_info(directory) {
        Ok(info) => info,
        Err(error) if sys::is_missing(&error) => return None,
        Err(error) => {
            let place = path.join(b".git").join(b"info");
            warn(format!("{} can't be read, so its rules are not applied: {error}", place.display()));
            return None;
        }
    };
    compile(path, &info, b"exclude", budget, warn)
}

fn compile(
    path: &RelPath,
    directory: &Directory,
    name: &[u8],
    budget: &RuleBudget,
    warn: &mut dyn FnMut(String),
) -> Option<Gitignore> {
    let shown = || path.join(name).display().into_owned();
    let text = match read_bounded(directory, name) {
        Ok(text) => text,
        // The file was removed a moment ago, or is optional.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            warn(format!("{} can't be read, so its rules are not applied: {error}", shown()));
            return None;
        }
    };
    let Some(text) = text else {
        let max = limits::IGNORE_FILE_BYTES;
        warn(format!("{} is over {max} bytes, so its rules are not applied", shown()));
        return None;
    };
    let mut builder = GitignoreBuilder::new(".");
    let (mut rules, mut wildcards) = (0, 0);
    // Like git, we skip a byte-order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    for (number, line) in text.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.first() == Some(&b'#') {
            continue;
        }
        let place = || format!("{}:{}", shown(), number + 1);
        if line.len() > limits::IGNORE_LINE_BYTES {
            let max = limits::IGNORE_LINE_BYTES;
            warn(format!("{}: the rule is over {max} bytes and is not applied", place()));
            continue;
        }
        let Ok(line) = std::str::from_utf8(line) else {
            warn(format!("{}: the rule is not UTF-8 and is not applied", place()));
            continue;
        };
        rules += 1;
        wildcards += line.bytes().filter(|byte| matches!(byte, b'*' | b'?' | b'[')).count();
        if rules > limits::IGNORE_FILE_RULES {
            warn(format!("{} has over {} rules, so none is applied", shown(), limits::IGNORE_FILE_RULES));
            return None;
        }
        // An exclusion names the rule by its line number and text.
        let from = Some(format!("{}:{line}", number + 1).into());
        let added = match name {
            b".gitignore" | b"exclude" => {
                let Some(rewritten) = git_rule::rewrite(line) else { continue };
                builder.add_line(from, &rewritten)
            }
            _ => builder.add_line(from, line),
        };
        if let Err(error) = added {
            warn(format!("{}: {error}", place()));
        }
    }
    if !budget.take(RuleCost { rules, bytes: text.len(), wildcards }) {
        warn(format!("{} exceeds the rule limits of one search and is not applied", shown()));
        return None;
    }
    // A call that must stop will report this itself, and compiling may take long.
    if budget.stop.check().is_some() {
        return None;
    }
    match builder.build() {
        Ok(matcher) if matcher.is_empty() => None,
        Ok(matcher) => Some(matcher),
        Err(error) => {
            warn(format!("{}: its rules can't be compiled and are not applied: {error}", shown()));
            None
        }
    }
}

/// Reads a file in a directory. Returns `None` if it exceeds [`limits::IGNORE_FILE_BYTES`]. As in git, a link
/// is not followed.
pub(crate) fn read_bounded(directory: &Directory, name: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    let Some(mut file) = crate::file::OpenedFile::new(sys::open_leaf(directory, name)?)? else {
        return Err(std::io::Error::other("it is not a regular file"));
    };
    let mut text = ReadBuffer::default();
    let limit = usize::try_from(limits::IGNORE_FILE_BYTES).unwrap_or(usize::MAX);
    Ok(match file.read_into(&mut text, limit)? {
        crate::file::Contents::Whole => Some(text.to_vec()),
        crate::file::Contents::TooLarge => None,
    })
}
