//! Directories that somebody has changed, and names that lead elsewhere.

use std::fs;

use forage_base::{Hint, Stop};
use forage_lookup::{PointFilter, PointStore, StoreError};
use forage_qdrant_edge::EmbeddedStore;

use crate::support::{created, creation, open, some_points, upsert};

fn with_description(text: &str) -> (StoreError, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    drop(created(home.path()));
    fs::write(home.path().join("code/collection.json"), text).unwrap();
    let store = open(home.path());
    let error = store.count(&PointFilter::default(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid");
    assert_eq!(store.create(&creation(), &Stop::never()).unwrap_err(), error);
    assert!(store.drop_collection(&Stop::never()).unwrap());
    store.create(&creation(), &Stop::never()).unwrap();
    (error, home)
}

#[test]
fn a_damaged_description_says_how_to_mend_it_and_can_be_dropped() {
    for text in ["", "{", "[]", "{\"format\":1}", "{\"format\":\"x\"}", "{\"format\":1,\"vector\":3}"] {
        let (error, home) = with_description(text);
        let path = home.path().join("code/collection.json");
        assert!(error.to_string().starts_with(&format!("{} is damaged (", path.display())), "{error}");
        assert_eq!(error.hint(), Some(Hint::RefillCollection));
    }
}

#[test]
fn a_newer_description_says_so() {
    let (error, _home) = with_description("{\"format\":2,\"shards\":[]}");
    assert!(error.to_string().contains("is of format 2, and this version knows 1 alone"), "{error}");
}

#[test]
fn a_shard_that_the_engine_can_not_read_is_an_error_that_names_it_and_can_be_dropped() {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(40));
    store.finish(&Stop::never()).unwrap();
    drop(store);
    let mut files = Vec::new();
    let mut directories = vec![home.path().join("code/shard")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() > 10, "{files:?}");
    for path in files {
        fs::write(path, "damaged").unwrap();
    }
    // As a process that is killed while it writes leaves it: the engine meets the damage.
    fs::remove_file(home.path().join("code/seal")).unwrap();
    let store = open(home.path());
    let error = store.count(&PointFilter::default(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "invalid");
    let message = error.to_string();
    let start = format!("collection `code` in {} can't be opened (the engine ", home.path().display());
    assert!(message.starts_with(&start), "{message}");
    assert_eq!(error.hint(), Some(Hint::RefillCollection));
    assert_eq!(message.lines().count(), 1);
    assert!(store.drop_collection(&Stop::never()).unwrap());
    store.create(&creation(), &Stop::never()).unwrap();
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let long = "a".repeat(101);
    let names =
        ["", ".", "..", "../code", "a/b", "/tmp", "a\\b", "c:", "a b", "ü", "a\0", ".code", "code.", &long];
    for name in names {
        let error = EmbeddedStore::open(home.path(), name).err().unwrap();
        assert_eq!(error.kind(), "invalid");
        assert!(error.to_string().starts_with("the name of a collection "), "{error}");
    }
    for name in ["a", "Code_2.x-y", &long[..100]] {
        assert_eq!(EmbeddedStore::open(home.path(), name).unwrap().collection(&Stop::never()), Ok(None));
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn what_is_not_ours_is_neither_used_nor_removed() {
    let home = tempfile::tempdir().unwrap();
    let stop = Stop::never();
    let store = created(home.path());
    let letter = home.path().join("code/letter.txt");
    fs::write(&letter, "dear").unwrap();
    let error = store.drop_collection(&stop).unwrap_err();
    assert!(error.to_string().contains("letter.txt was not made by it"), "{error}");
    assert_eq!(store.count(&PointFilter::default(), &stop), Ok(0));
    fs::remove_file(letter).unwrap();
    assert!(store.drop_collection(&stop).unwrap());

    let other = EmbeddedStore::open(home.path(), "other").unwrap();
    let shard = home.path().join("other/shard");
    fs::create_dir_all(&shard).unwrap();
    fs::write(home.path().join("other/mine"), "").unwrap();
    assert_eq!(other.create(&creation(), &stop).unwrap_err().kind(), "invalid");
    assert_eq!(other.drop_collection(&stop).unwrap_err().kind(), "invalid");
    assert!(shard.exists());
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    use std::os::unix::fs::symlink;

    let home = tempfile::tempdir().unwrap();
    let stop = Stop::never();
    let elsewhere = tempfile::tempdir().unwrap();
    drop(created(elsewhere.path()));
    let target = elsewhere.path().join("code");
    symlink(&target, home.path().join("code")).unwrap();
    let store = open(home.path());
    for result in [
        store.collection(&stop).map(drop),
        store.create(&creation(), &stop),
        store.drop_collection(&stop).map(drop),
    ] {
        assert!(result.unwrap_err().to_string().contains("is no collection of forage's"));
    }
    // A link in the place of the shard, and links below it, of which the links alone go.
    let store = EmbeddedStore::open(home.path(), "linked").unwrap();
    store.create(&creation(), &stop).unwrap();
    symlink(&target, home.path().join("linked/shard/link")).unwrap();
    assert!(store.drop_collection(&stop).unwrap());
    fs::create_dir(home.path().join("linked")).unwrap();
    symlink(&target, home.path().join("linked/shard")).unwrap();
    assert_eq!(store.drop_collection(&stop).unwrap_err().kind(), "invalid");
    assert!(target.join("collection.json").exists() && target.join("shard/segments").exists());
}

#[cfg(unix)]
#[test]
fn what_is_made_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("a/b");
    let store = created(&directory);
    upsert(&store, some_points(3));
    let mode = |path: &str| fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
    for path in ["a", "a/b", "a/b/code", "a/b/code/shard"] {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    for path in ["a/b/.code.lock", "a/b/code/collection.json", "a/b/code/journal"] {
        assert_eq!(mode(path), 0o600, "{path}");
    }
}
