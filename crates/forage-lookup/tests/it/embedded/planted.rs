//! Tests that files planted by other users are neither trusted nor written to.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{EmbeddedStore, PointFilter, PointReader, PointStore, StoreError};

use crate::support::{created, creation, some_points, upsert};

const VICTIM: &str = "a file of the user's\n";

/// Longer than any call should take, by far.
const DEADLINE: Duration = Duration::from_secs(60);

const PLANTS: [&str; 6] = ["link", "hard link", "pipe", "zero", "directory", "writable"];

fn plant(what: &str, path: &Path, victim: &Path) {
    fs::write(victim, VICTIM).unwrap();
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    match what {
        "link" => symlink(victim, path).unwrap(),
        "hard link" => fs::hard_link(victim, path).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "zero" => symlink("/dev/zero", path).unwrap(),
        "directory" => fs::create_dir(path).unwrap(),
        _ => {
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        }
    }
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Counts the points. This must never block.
fn count(home: &Path) -> Result<u64, StoreError> {
    let (sender, receiver) = channel();
    let home = home.to_owned();
    std::thread::spawn(move || {
        let count = EmbeddedStore::new(&home, "code")
            .and_then(|store| store.count(&PointFilter::default(), &Stop::never()));
        let _ = sender.send(count);
    });
    receiver.recv_timeout(DEADLINE).unwrap()
}

fn filled() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = created(home.path());
    upsert(&store, some_points(7));
    store.finish(&Stop::never()).unwrap();
    drop(store);
    // The control: without a planted file, the collection can be used.
    assert_eq!(count(home.path()), Ok(7));
    home
}

#[test]
fn a_planted_file_is_an_error_and_leads_nowhere() {
    let other = tempfile::tempdir().unwrap();
    let victim = other.path().join("victim.txt");
    for what in PLANTS {
        let home = filled();
        let collection = home.path().join("code");
        let segment = fs::read_dir(&collection).unwrap().map(|entry| entry.unwrap().path());
        let segment = segment.into_iter().find(|path| path.extension().is_some_and(|ext| ext == "store"));
        for path in [collection.join("manifest"), segment.unwrap()] {
            let bytes = fs::read(&path).unwrap();
            plant(what, &path, &victim);
            if what == "writable" {
                // Since no other user may enter this directory, this should be accepted.
                assert_eq!(count(home.path()), Ok(7), "{what} at {}", path.display());
                continue;
            }
            let error = count(home.path()).unwrap_err().to_string();
            let is_noticed =
                ["can't be trusted", "is damaged", "another version"].iter().any(|word| error.contains(word));
            assert!(is_noticed, "{what} at {}: {error}", path.display());
            assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what} at {}", path.display());
            remove(&path);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert_eq!(count(home.path()), Ok(7), "{what} at {}", path.display());
        }
        // Only a writer uses the lock file, so we must write to notice it.
        let lock = home.path().join(".code.lock");
        plant(what, &lock, &victim);
        let store = EmbeddedStore::new(home.path(), "code").unwrap();
        let error = store.remove(&[], &Stop::never()).unwrap_err().to_string();
        assert!(error.contains("can't be trusted"), "{what}: {error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what}");
        // Removing the collection should remove a planted file, but not the target of a link.
        remove(&lock);
        plant(what, &collection.join("manifest"), &victim);
        assert!(store.drop_collection(&Stop::never()).unwrap());
        store.create(&creation(), &Stop::never()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what}");
    }
}

#[test]
fn world_writable_or_linked_directory_is_refused() {
    let home = filled();
    for name in ["", "code"] {
        let path = home.path().join(name);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let error = count(home.path()).unwrap_err().to_string();
        assert!(error.contains("can't be trusted"), "{name}: {error}");
        fs::set_permissions(&path, before).unwrap();
        assert_eq!(count(home.path()), Ok(7), "{name}");
    }
    let other = tempfile::tempdir().unwrap();
    let (linked, collection) = (other.path().join("code"), home.path().join("code"));
    fs::rename(&collection, &linked).unwrap();
    symlink(&linked, &collection).unwrap();
    let error = count(home.path()).unwrap_err().to_string();
    assert!(error.contains("it is a symbolic link"), "{error}");
    let store = EmbeddedStore::new(home.path(), "code").unwrap();
    assert!(store.drop_collection(&Stop::never()).is_err());
    assert!(linked.join("manifest").exists());
}
