//! Resolves revisions as people write them (`gitrevisions`). A revision begins with the name of a branch, a
//! tag or a remote branch, an id or its first digits, or `@{upstream}`. The steps `^`, `~` and `^{…}` follow.

use crate::config::GitConfig;
use crate::error::{HistoryError, ObjectError, RevisionError};
use crate::id::{IdPrefix, ObjectId};
use crate::limits;
use crate::pack::ObjectKind;
use crate::refs;
use crate::repository::Repository;

/// The prefixes and suffixes with which to look up a name, in git's order.
const RULES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// A step from an object to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RevisionStep<'a> {
    /// `^N`: the parent with this number; 0 is the commit itself.
    Parent(usize),
    /// `~N`: this many first parents up.
    Up(usize),
    /// `^{KIND}`.
    Peel(&'a str),
    /// `@{…}`.
    At(&'a str),
}

/// Splits a revision into its name and its steps.
fn parse(revision: &str) -> Option<(&str, Vec<RevisionStep<'_>>)> {
    let end = revision.find(['^', '~']).unwrap_or(revision.len());
    let end = revision.find("@{").map_or(end, |at| at.min(end));
    let (name, mut rest) = revision.split_at(end);
    let mut steps = Vec::new();
    let braced = |rest: &str| rest.find('}').filter(|_| rest.starts_with('{'));
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        if matches!(sign, '^' | '@')
            && let Some(close) = braced(rest)
        {
            let inner = &rest[1..close];
            steps.push(if sign == '^' { RevisionStep::Peel(inner) } else { RevisionStep::At(inner) });
            rest = &rest[close + 1..];
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = if digits == 0 { Some(1) } else { rest[..digits].parse().ok() }?;
        rest = &rest[digits..];
        steps.push(match sign {
            '^' => RevisionStep::Parent(number),
            '~' => RevisionStep::Up(number),
            _ => return None,
        });
    }
    (steps.len() <= limits::REVISION_STEPS).then_some((name, steps))
}

impl Repository {
    /// Resolves a revision to a commit.
    ///
    /// # Errors
    ///
    /// Fails if the revision is malformed, unknown or ambiguous, or an object can't be read.
    pub fn resolve(&mut self, revision: &str) -> Result<ObjectId, RevisionError> {
        let revision = revision.trim();
        let (name, steps) = parse(revision).ok_or_else(|| RevisionError::Malformed(revision.to_owned()))?;
        let mut steps = steps.as_slice();
        let mut at = match steps.first() {
            Some(RevisionStep::At(inner)) => {
                steps = &steps[1..];
                self.upstream(name, inner, revision)?
            }
            _ => self.named(if name == "@" { "HEAD" } else { name }, revision)?,
        };
        for step in steps {
            at = self.step(at, *step, revision)?;
        }
        self.peeled(at)?.ok_or_else(|| RevisionError::NoCommit(revision.to_owned()))
    }

    fn step(&mut self, at: ObjectId, step: RevisionStep<'_>, shown: &str) -> Result<ObjectId, RevisionError> {
        let commit = self.peeled(at)?.ok_or_else(|| RevisionError::NoCommit(shown.to_owned()))?;
        match step {
            RevisionStep::Parent(0) | RevisionStep::Peel("" | "commit" | "object") => Ok(commit),
            RevisionStep::Parent(number) => self.parent(commit, number, shown),
            RevisionStep::Up(number) => (0..number).try_fold(commit, |at, _| self.parent(at, 1, shown)),
            RevisionStep::Peel(_) | RevisionStep::At(_) => Err(RevisionError::Unsupported(shown.to_owned())),
        }
    }

    /// Returns the parent of a commit with this number, from 1.
    fn parent(&mut self, commit: ObjectId, number: usize, shown: &str) -> Result<ObjectId, RevisionError> {
        let commit = self.commit(&commit)?;
        commit.parents.get(number - 1).copied().ok_or_else(|| match commit.is_cut_off {
            true => RevisionError::Shallow(shown.to_owned()),
            false => RevisionError::Unknown(shown.to_owned()),
        })
    }

    /// Resolves `BRANCH@{upstream}`. An empty name means the branch that is checked out.
    fn upstream(&mut self, name: &str, inner: &str, shown: &str) -> Result<ObjectId, RevisionError> {
        if !matches!(inner.to_ascii_lowercase().as_str(), "u" | "upstream") {
            return Err(RevisionError::Unsupported(shown.to_owned()));
        }
        let branch = match name {
            "" | "@" | "HEAD" => {
                let head = refs::branch(self.root(), self.git())?.unwrap_or_default();
                let head = String::from_utf8(head).unwrap_or_default();
                head.strip_prefix("refs/heads/").unwrap_or_default().to_owned()
            }
            name => name.to_owned(),
        };
        let upstream = GitConfig::read(self.root(), self.git()).upstream(&branch);
        let upstream = upstream.filter(|name| refs::is_safe(name.as_bytes()));
        let found =
            upstream.and_then(|name| refs::read(self.root(), self.git(), name.as_bytes()).transpose());
        // Without a branch, a commit is checked out.
        let shown = if branch.is_empty() { "HEAD".to_owned() } else { branch };
        found.transpose()?.ok_or(RevisionError::NoUpstream(shown))
    }

    /// Resolves a name: a whole id, a reference, the result of `git describe`, or the first digits of an id.
    fn named(&mut self, name: &str, shown: &str) -> Result<ObjectId, RevisionError> {
        // 40 digits of a SHA-256 id are only its beginning.
        let id = ObjectId::from_hex(name.as_bytes());
        if let Some(id) = id.filter(|id| id.as_bytes().len() == self.id_bytes()) {
            return Ok(id);
        }
        if !name.is_empty() && refs::is_safe(name.as_bytes()) {
            for (before, after) in RULES {
                let full = format!("{before}{name}{after}");
                // At the top of `.git`, only files such as `HEAD` are references, with names in capitals.
                let is_ref = before.is_empty() && !name.starts_with("refs/");
                if is_ref && !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') {
                    continue;
                }
                match refs::read(self.root(), self.git(), full.as_bytes()) {
                    Ok(None) => {}
                    Ok(Some(id)) => return Ok(id),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let digits = name.rsplit_once("-g").map_or(name, |(_, digits)| digits);
        match IdPrefix::parse(digits) {
            Some(prefix) => self.abbreviated(&prefix, shown),
            None => Err(RevisionError::Unknown(shown.to_owned())),
        }
    }

    /// Finds the object whose id begins with these digits. If there are several, it must be the only commit.
    fn abbreviated(&mut self, prefix: &IdPrefix, shown: &str) -> Result<ObjectId, RevisionError> {
        let mut found = self.with_prefix(prefix)?;
        // An object may be in several packs.
        found.sort_unstable();
        found.dedup();
        if found.len() > 1 {
            let mut commits = Vec::new();
            for id in &found {
                if matches!(self.peeled(*id), Ok(Some(_))) {
                    commits.push(*id);
                }
            }
            found = commits;
        }
        match found.as_slice() {
            [] => Err(RevisionError::Unknown(shown.to_owned())),
            [id] => Ok(*id),
            _ => Err(RevisionError::Ambiguous(shown.to_owned())),
        }
    }

    /// Follows annotated tags to a commit. Returns `None` for a tree or a file.
    fn peeled(&mut self, mut id: ObjectId) -> Result<Option<ObjectId>, RevisionError> {
        for _ in 0..limits::TAGS {
            match self.any_object(&id)? {
                (ObjectKind::Commit, _) => return Ok(Some(id)),
                (ObjectKind::Tag, bytes) => {
                    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
                    let target = line.strip_prefix(b"object ").and_then(ObjectId::from_hex);
                    id = target.ok_or(ObjectError::Damaged(id))?;
                }
                _ => return Ok(None),
            }
        }
        Err(ObjectError::Damaged(id).into())
    }
}

impl From<HistoryError> for RevisionError {
    fn from(error: HistoryError) -> Self {
        Self::Unreadable(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_names_with_steps() {
        use RevisionStep::{At, Parent, Peel, Up};
        for (text, name, steps) in [
            ("HEAD", "HEAD", vec![]),
            ("HEAD~3", "HEAD", vec![Up(3)]),
            ("a^^2~", "a", vec![Parent(1), Parent(2), Up(1)]),
            ("v1^{}", "v1", vec![Peel("")]),
            ("main@{upstream}~2", "main", vec![At("upstream"), Up(2)]),
            ("@{u}", "", vec![At("u")]),
            ("@~1", "@", vec![Up(1)]),
        ] {
            assert_eq!(parse(text), Some((name, steps)), "{text}");
        }
        assert_eq!(parse("a^x"), None);
        assert_eq!(parse("a~99999999999999999999"), None);
    }

    #[test]
    fn fuzz_any_text_is_a_revision_or_not() {
        forage_fuzz::target!(&forage_fuzz::seeds(["main@{u}^2~3^{commit}"]), |bytes| {
            let _ = parse(&String::from_utf8_lossy(bytes));
        });
    }
}
