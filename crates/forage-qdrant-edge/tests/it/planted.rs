//! What others could have put into the directory of collections is neither believed nor written to.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use forage_base::Stop;
use forage_lookup::{PointFilter, PointStore, StoreError};
use forage_qdrant_edge::EmbeddedStore;

use crate::support::{created, creation, some_points, upsert};

const VICTIM: &str = "a file of the user's\n";

/// Far more than any call takes.
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

/// Counts the points, which must end.
fn count(home: &Path) -> Result<u64, StoreError> {
    let (sender, receiver) = channel();
    let home = home.to_owned();
    std::thread::spawn(move || {
        let count = EmbeddedStore::open(&home, "code")
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
    // The control: it is used.
    assert_eq!(count(home.path()), Ok(7));
    home
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn a_file_that_others_could_have_put_there_is_an_error_and_leads_nowhere() {
    let other = tempfile::tempdir().unwrap();
    let victim = other.path().join("victim.txt");
    let home = filled();
    let names: Vec<_> =
        files(home.path()).iter().map(|path| path.strip_prefix(home.path()).unwrap().to_owned()).collect();
    let own = [".code.lock", "code/collection.json", "code/journal"];
    assert!(own.iter().all(|own| names.iter().any(|name| name == Path::new(own))), "{names:?}");
    for what in PLANTS {
        let home = filled();
        for name in own {
            let path = home.path().join(name);
            let bytes = fs::read(&path).unwrap();
            plant(what, &path, &victim);
            let error = count(home.path()).unwrap_err().to_string();
            assert!(error.contains("can't be trusted"), "{what} at {name}: {error}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what} at {name}");
            remove(&path);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert_eq!(count(home.path()), Ok(7), "{what} at {name}");
        }
        // Nobody else may enter the shard; the engine makes files as the system's defaults say.
        if ["directory", "writable"].contains(&what) {
            continue;
        }
        let path = files(&home.path().join("code/shard")).into_iter().next().unwrap();
        plant(what, &path, &victim);
        let error = count(home.path()).unwrap_err().to_string();
        assert!(error.contains("can't be trusted"), "{what} at {}: {error}", path.display());
        assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what} in the shard");
        // It can be removed and made again, and what was planted leads nowhere then.
        let store = EmbeddedStore::open(home.path(), "code").unwrap();
        assert!(store.drop_collection(&Stop::never()).unwrap());
        store.create(&creation(), &Stop::never()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), VICTIM, "{what} in the shard");
    }
}

#[test]
fn a_directory_that_others_may_write_or_that_is_a_link_is_not_used() {
    let home = filled();
    for name in ["", "code", "code/shard"] {
        let path = home.path().join(name);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let error = count(home.path()).unwrap_err().to_string();
        assert!(error.contains("can't be trusted"), "{name}: {error}");
        fs::set_permissions(&path, before).unwrap();
        assert_eq!(count(home.path()), Ok(7), "{name}");
    }
    let other = tempfile::tempdir().unwrap();
    let (linked, shard) = (other.path().join("shard"), home.path().join("code/shard"));
    fs::rename(&shard, &linked).unwrap();
    symlink(&linked, &shard).unwrap();
    let error = count(home.path()).unwrap_err().to_string();
    assert!(error.contains("it is a symbolic link"), "{error}");
}
