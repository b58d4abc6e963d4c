//! A cache of model answers, so that a repeated request costs no model call. The answers are files in the
//! user's cache directory.
//!
//! An entry holds the model's answer and its creation time. An answer consists of file names and the model's
//! own words; it contains a line of a file only if the model quoted it. Nothing is ever written to another
//! directory. Any problem with an entry or the directory counts as a cache miss, because we can always ask
//! the model again.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forage_fs::{PrivateDirectory, PrivateError, PrivatePlace};
use forage_tools::{AnswerCache, CacheKey, CachedAnswer};
use serde::{Deserialize, Serialize};

/// Maximum number of entries, which take about 2 MB in total. The oldest are evicted first.
const MAX_ENTRIES: usize = 500;

/// Maximum age of an entry. The evidence is part of the key, so an old answer is not stale. But a provider
/// may change the model that a name refers to, and users do not expect traces of a search to stay forever.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum size in bytes of an entry. An answer has a few hundred bytes. This limit rejects, for example, the
/// output of a model that repeats its prompt.
const MAX_BYTES: usize = 64 << 10;

/// Age at which a temporary file counts as abandoned, e.g. by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

const VERSION: u32 = 1;
const ENTRY: &str = "json";

/// A cache of model answers in one directory.
#[derive(Debug)]
pub(crate) struct FileCache {
    place: PrivatePlace,
    /// Hash of the models' settings. The key alone identifies a model only by its name.
    models: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct CacheEntry {
    version: u32,
    /// Creation time in seconds since the Unix epoch.
    created: u64,
    models: String,
    text: String,
}

impl FileCache {
    /// Creates a cache in the directory `place`. The directory need not exist yet.
    pub(crate) fn new(place: impl Into<PrivatePlace>, models: String) -> Self {
        Self { place: place.into(), models }
    }

    fn read(&self, key: &CacheKey) -> Option<CacheEntry> {
        let bytes = self.place.open().ok()??.read(name(key), MAX_BYTES as u64).ok()??;
        let entry: CacheEntry = serde_json::from_slice(&bytes).ok()?;
        (entry.version == VERSION && entry.models == self.models).then_some(entry)
    }

    fn write(&self, key: &CacheKey, entry: &CacheEntry) -> Result<(), PrivateError> {
        let Some(bytes) = serde_json::to_vec(entry).ok().filter(|bytes| bytes.len() <= MAX_BYTES) else {
            return Ok(());
        };
        let directory = self.place.create()?;
        directory.replace(name(key), |file| file.write_all(&bytes))?;
        prune(&directory)
    }
}

fn name(key: &CacheKey) -> String {
    format!("{}.{ENTRY}", key.as_str())
}

/// Removes expired entries and abandoned temporary files, then the oldest entries beyond the limit.
fn prune(directory: &PrivateDirectory) -> Result<(), PrivateError> {
    let now = SystemTime::now();
    let mut entries = Vec::new();
    for file in directory.entries()? {
        // A modification time in the future says nothing about the age, so we treat the file as new.
        let age = now.duration_since(file.modified).unwrap_or_default();
        let is_entry = Path::new(&file.name).extension().is_some_and(|extension| extension == ENTRY);
        match is_entry {
            true if age <= MAX_AGE => entries.push((age, file.name)),
            true => drop(directory.remove(file.name)?),
            false if file.is_temporary() && age > ABANDONED => drop(directory.remove(file.name)?),
            false => {}
        }
    }
    entries.sort();
    entries.iter().skip(MAX_ENTRIES).try_for_each(|(_, name)| directory.remove(name).map(drop))
}

impl AnswerCache for FileCache {
    fn get(&self, key: &CacheKey) -> Option<CachedAnswer> {
        let entry = self.read(key)?;
        // A creation time in the future means that a clock was wrong. The entry may be of any age, so we must
        // not use it.
        let age = Duration::from_secs(seconds_now().checked_sub(entry.created)?);
        (age <= MAX_AGE).then_some(CachedAnswer { text: entry.text, age })
    }

    fn put(&self, key: &CacheKey, text: &str) {
        let entry = CacheEntry {
            version: VERSION,
            created: seconds_now(),
            models: self.models.clone(),
            text: text.to_owned(),
        };
        // The caller already has the answer. If we can't store it, the only cost is another model call.
        let _ = self.write(key, &entry);
    }
}

pub(crate) use forage_fs::resolved;

/// The number of files and their total bytes, or why the directory can't be used.
pub(crate) type Size = Result<(u64, u64), PrivateError>;

/// Counts the files in one of our directories and their bytes. This does not follow links.
pub(crate) fn size(place: &PrivatePlace) -> Size {
    place.open()?.map_or(Ok((0, 0)), |directory| size_of(&directory))
}

fn size_of(directory: &PrivateDirectory) -> Size {
    let (mut files, mut bytes) = (0, 0);
    for entry in directory.entries()? {
        let (more_files, more_bytes) = match entry.is_directory {
            true => directory.directory(entry.name)?.map_or(Ok((0, 0)), |below| size_of(&below))?,
            false => (1, entry.size),
        };
        (files, bytes) = (files + more_files, bytes + more_bytes);
    }
    Ok((files, bytes))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make and damage files of their own")]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
    use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest};
    use forage_tools::{Workspace, registry};
    use serde_json::json;

    use std::path::PathBuf;

    use super::*;

    struct Same;

    impl ChatModel for Same {
        fn name(&self) -> String {
            "test/same".to_owned()
        }

        fn complete(&self, _: &ChatRequest, _: &CallBudget) -> Result<ChatAnswer, ChatError> {
            Ok(ChatAnswer::from_text("test", "same", "a.txt: why"))
        }
    }

    /// A cache with one entry from a real search. The tests repeat that search to see whether the cache
    /// answers it.
    struct Fixture {
        directory: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let tree = directory.path().join("tree");
            fs::create_dir(&tree).unwrap();
            fs::write(tree.join("a.txt"), "needle\n").unwrap();
            let root = Root::open(&tree, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
            let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
            workspace.filter.models = vec![Arc::new(Same) as Arc<dyn ChatModel>].into();
            let mut fixture = Self { directory, workspace };
            fixture.use_cache("models");
            assert!(!fixture.is_hit(), "the first search has nothing to find");
            fixture
        }

        fn use_cache(&mut self, models: &str) {
            self.workspace.filter.cache = Some(Arc::new(FileCache::new(self.cache(), models.to_owned())));
        }

        fn cache(&self) -> PathBuf {
            self.directory.path().join("cache").join("answers")
        }

        fn entries(&self) -> Vec<PathBuf> {
            fs::read_dir(self.cache()).unwrap().map(|file| file.unwrap().path()).collect()
        }

        fn is_hit(&self) -> bool {
            let request = json!({"query": "q", "search_terms": ["needle"]});
            let answer = registry::find("keyword_search")
                .unwrap()
                .call(&self.workspace.start_call(), request)
                .unwrap();
            assert_eq!(answer.records()["files"][0]["explanation"], "why");
            answer.records()["model"]["from_cache"]["answers"] == 1
        }

        fn change(&self, change: impl FnOnce(&mut CacheEntry)) {
            let [path] = &self.entries()[..] else { panic!("one entry") };
            let mut entry: CacheEntry = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            change(&mut entry);
            fs::write(path, serde_json::to_vec(&entry).unwrap()).unwrap();
        }
    }

    #[test]
    fn an_entry_is_found_until_it_is_too_old() {
        let fixture = Fixture::new();
        assert!(fixture.is_hit());
        fixture.change(|entry| entry.created -= MAX_AGE.as_secs() - 60);
        assert!(fixture.is_hit());
        fixture.change(|entry| entry.created -= 120);
        assert!(!fixture.is_hit(), "too old");
        assert!(fixture.is_hit(), "and written anew");
        fixture.change(|entry| entry.created += 1_000);
        assert!(!fixture.is_hit(), "from the future");
    }

    #[test]
    fn a_corrupt_foreign_or_large_entry_is_a_miss_and_replaced() {
        for text in ["", "{", "null", "{\"version\":1}", &"x".repeat(MAX_BYTES + 1), "\u{0}"] {
            let fixture = Fixture::new();
            let [path] = &fixture.entries()[..] else { panic!("one entry") };
            fs::write(path, text).unwrap();
            assert!(!fixture.is_hit(), "{}", &text[..text.len().min(20)]);
            assert!(fixture.is_hit());
        }
        let fixture = Fixture::new();
        fixture.change(|entry| entry.version += 1);
        assert!(!fixture.is_hit());
        // An invalid answer must not be accepted just because it comes from the cache.
        fixture.change(|entry| entry.text = "I would rather not say".to_owned());
        assert!(!fixture.is_hit());
        fixture.change(|entry| entry.text = "/etc/passwd: outside".to_owned());
        assert!(!fixture.is_hit(), "an answer of nothing but other paths is none");
        fixture.change(|entry| entry.text = "/etc/passwd: outside\nNo relevant files found".to_owned());
        let answer = registry::find("keyword_search").unwrap();
        let request = json!({"query": "q", "search_terms": ["needle"]});
        let answer = answer.call(&fixture.workspace.start_call(), request).unwrap();
        assert_eq!(
            (answer.records()["files"].as_array().unwrap().len(), answer.text.contains("passwd")),
            (0, false)
        );
    }

    #[test]
    fn models_with_other_settings_have_other_answers() {
        let mut fixture = Fixture::new();
        fixture.use_cache("the same model at another address");
        assert!(!fixture.is_hit());
    }

    #[cfg(unix)]
    #[test]
    fn entries_are_private_and_leave_nothing_half_written() {
        use std::os::unix::fs::PermissionsExt as _;
        let fixture = Fixture::new();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let entries = fixture.entries();
        assert_eq!((entries.len(), mode(&entries[0]), mode(&fixture.cache())), (1, 0o600, 0o700));
        let text = fs::read_to_string(&entries[0]).unwrap();
        assert!(text.contains("a.txt: why") && !text.contains("needle"), "{text}");
    }

    #[test]
    fn the_number_of_entries_is_bounded_and_the_oldest_go_first() {
        let fixture = Fixture::new();
        let [kept] = &fixture.entries()[..] else { panic!("one entry") };
        let old = SystemTime::now() - Duration::from_secs(60);
        for number in 0..MAX_ENTRIES + 20 {
            let path = fixture.cache().join(format!("{number}.{ENTRY}"));
            fs::write(&path, "{}").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        }
        let ancient = fixture.cache().join(format!("ancient.{ENTRY}"));
        fs::write(&ancient, "{}").unwrap();
        let before = SystemTime::now() - MAX_AGE - Duration::from_secs(60);
        File::options().write(true).open(&ancient).unwrap().set_modified(before).unwrap();
        let other = json!({"query": "another", "search_terms": ["needle"]});
        registry::find("keyword_search").unwrap().call(&fixture.workspace.start_call(), other).unwrap();
        assert_eq!(fixture.entries().len(), MAX_ENTRIES);
        assert!(kept.exists() && !ancient.exists());
    }

    #[test]
    fn unwritable_directory_only_disables_the_cache() {
        let fixture = Fixture::new();
        fs::remove_dir_all(fixture.directory.path().join("cache")).unwrap();
        fs::write(fixture.directory.path().join("cache"), "a file").unwrap();
        assert!(!fixture.is_hit());
        assert!(!fixture.is_hit());
    }

    /// Whatever an entry contains, the answer must be sanitized, and must only name the file that was
    /// searched.
    #[test]
    fn fuzz_an_entry_is_a_miss_or_speaks_of_what_was_asked() {
        let fixture = Fixture::new();
        let [path] = &fixture.entries()[..] else { panic!("one entry") };
        let right = fs::read(path).unwrap();
        let lies = String::from_utf8(right.clone()).unwrap();
        let lies =
            lies.replace("a.txt: why", "/etc/passwd: all\\n../b.txt: b\\na.txt: \\u001b[31m\\u202e red");
        forage_fuzz::target!(&[right, lies.into_bytes()], |input| {
            fs::write(path, input).unwrap();
            let request = json!({"query": "q", "search_terms": ["needle"]});
            let answer = registry::find("keyword_search")
                .unwrap()
                .call(&fixture.workspace.start_call(), request)
                .unwrap();
            for file in answer.records()["files"].as_array().unwrap() {
                let name = file["path"].as_str().unwrap();
                assert!(name.ends_with("a.txt"), "{name}");
            }
            assert!(!answer.text.contains(['\u{1b}', '\u{202e}']) && !answer.text.contains("passwd"));
        });
    }
}
