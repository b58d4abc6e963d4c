//! Conversations of `forage ask`, stored so that `--continue` can go on from the last one. Each root has one
//! file in the user's cache directory.
//!
//! A file holds the questions, the model's answers, its calls, and the first line of each result. Secrets are
//! always redacted, whatever the value of `secrets.redact`.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use forage_agent::EarlierExchange;
use forage_base::Hash64;
use forage_fs::{PrivateDirectory, PrivateError, PrivatePlace};
use serde::{Deserialize, Serialize};

use crate::limits::{CONVERSATION_AGE, CONVERSATION_BYTES, CONVERSATION_EXCHANGES, CONVERSATION_ROOTS};

const VERSION: u32 = 1;

/// The stored conversation about one root.
#[derive(Clone, Debug)]
pub(crate) struct Conversations {
    place: PrivatePlace,
    root: String,
}

#[derive(Serialize, Deserialize)]
struct StoredConversation {
    version: u32,
    /// The name of the file is a hash of the root, and two roots may have the same hash.
    root: String,
    exchanges: Vec<EarlierExchange>,
}

impl Conversations {
    pub(crate) fn new(place: PrivatePlace, root: &Path) -> Self {
        Self { place, root: root.display().to_string() }
    }

    fn name(&self) -> String {
        format!("{:016x}.json", Hash64::hash_parts(&[self.root.as_bytes()]))
    }

    /// Returns the last exchange and those that it continued, oldest first. The list is empty if no exchange
    /// is stored, or if the conversation has expired.
    pub(crate) fn last(&self) -> Result<Vec<EarlierExchange>, PrivateError> {
        let Some(directory) = self.place.open()? else { return Ok(Vec::new()) };
        let is_old = |entry: &forage_fs::PrivateEntry| age(entry.modified) > CONVERSATION_AGE;
        if directory.entry(self.name()).is_none_or(|entry| is_old(&entry)) {
            return Ok(Vec::new());
        }
        let bytes = directory.read(self.name(), CONVERSATION_BYTES as u64)?.unwrap_or_default();
        // A file that can't be parsed is truncated or from another version. We then start a new conversation.
        let kept = serde_json::from_slice::<StoredConversation>(&bytes).ok();
        let kept = kept.filter(|kept| kept.version == VERSION && kept.root == self.root);
        Ok(kept.map(|kept| kept.exchanges).unwrap_or_default())
    }

    /// Replaces the stored conversation. This drops the oldest exchanges if there are too many or the file
    /// would be too large.
    pub(crate) fn keep(&self, mut exchanges: Vec<EarlierExchange>) -> Result<(), PrivateError> {
        exchanges.drain(..exchanges.len().saturating_sub(CONVERSATION_EXCHANGES));
        let directory = self.place.create()?;
        loop {
            let kept = StoredConversation { version: VERSION, root: self.root.clone(), exchanges };
            let bytes = serde_json::to_vec(&kept).unwrap_or_default();
            if bytes.len() <= CONVERSATION_BYTES {
                directory.replace(self.name(), |file| file.write_all(&bytes))?;
                return prune(&directory);
            }
            exchanges = kept.exchanges;
            if exchanges.is_empty() {
                return Ok(());
            }
            exchanges.remove(0);
        }
    }
}

/// Computes the age of a file. A file with a modification time in the future counts as new.
fn age(modified: SystemTime) -> Duration {
    SystemTime::now().duration_since(modified).unwrap_or_default()
}

/// Removes expired files, then the oldest files beyond the limit.
fn prune(directory: &PrivateDirectory) -> Result<(), PrivateError> {
    let mut files: Vec<_> = directory.entries()?.into_iter().map(|file| (age(file.modified), file)).collect();
    files.sort_by_key(|(age, _)| *age);
    // Another process may be writing a temporary file, so only its age counts.
    let is_over = |(index, (age, file)): &(usize, (Duration, forage_fs::PrivateEntry))| {
        *age > CONVERSATION_AGE || (*index >= CONVERSATION_ROOTS && !file.is_temporary())
    };
    let over = files.into_iter().enumerate().filter(is_over);
    over.into_iter().try_for_each(|(_, (_, file))| directory.remove(file.name).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(question: &str, bytes: usize) -> EarlierExchange {
        EarlierExchange {
            question: question.to_owned(),
            answer: "a".repeat(bytes),
            models: Vec::new(),
            calls: Vec::new(),
            files: Vec::new(),
        }
    }

    #[test]
    fn stored_conversations_are_bounded_and_per_root() {
        let directory = tempfile::tempdir().unwrap();
        let place = PrivatePlace::below(directory.path()).join("conversations");
        let here = Conversations::new(place.clone(), Path::new("/here"));
        assert_eq!(here.last().unwrap(), []);
        let questions =
            |kept: Vec<EarlierExchange>| kept.into_iter().map(|it| it.question).collect::<Vec<_>>();
        here.keep((0..12).map(|index| exchange(&index.to_string(), 10)).collect()).unwrap();
        assert_eq!(
            questions(here.last().unwrap()),
            (2..12).map(|index| index.to_string()).collect::<Vec<_>>()
        );
        assert_eq!(Conversations::new(place.clone(), Path::new("/there")).last().unwrap(), []);
        here.keep((0..3).map(|index| exchange(&index.to_string(), 100_000)).collect()).unwrap();
        assert_eq!(questions(here.last().unwrap()), ["1", "2"]);
        let file = place.path().join(here.name());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let old = SystemTime::now() - CONVERSATION_AGE - Duration::from_secs(60);
        set_modified(&file, old);
        assert_eq!(here.last().unwrap(), []);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn fuzz_what_is_kept_is_of_this_root_or_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let place = PrivatePlace::below(directory.path()).join("conversations");
        let here = Conversations::new(place.clone(), Path::new("/here"));
        here.keep(vec![exchange("q", 10)]).unwrap();
        let path = place.path().join(here.name());
        let right = std::fs::read(&path).unwrap();
        let other = String::from_utf8_lossy(&right).replace("/here", "/there").into_bytes();
        forage_fuzz::target!(&[right, other], |input| {
            std::fs::write(&path, input).unwrap();
            let is_here = String::from_utf8_lossy(input).contains("/here");
            assert!(here.last().is_ok_and(|kept| kept.is_empty() || is_here));
        });
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn set_modified(file: &Path, time: SystemTime) {
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_modified(time).unwrap();
    }
}
