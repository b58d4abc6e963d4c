//! Files that a program keeps mapped into memory and changes there. The kernel updates their times only when
//! it writes the pages back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use memmap2::MmapMut;
use serde_json::json;

use crate::Project;

/// Time after which files are old enough to be indexed.
const SETTLED: Duration = Duration::from_millis(2_300);

/// Attempts to observe a change that updates no time. We need several because the system may write pages back
/// at any moment.
const ATTEMPTS: usize = 10;

const SPACE: &[u8; 120] = &[b' '; 120];

/// A mapped file of three lines.
pub(crate) struct MappedFile {
    path: PathBuf,
    map: MmapMut,
}

impl MappedFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, [b"first\n", &SPACE[..], b"\nlast\n"].concat()).unwrap();
        let file = fs::File::options().read(true).write(true).open(&path).unwrap();
        // SAFETY: No process truncates the file while it is mapped, and other processes only see bytes.
        #[expect(unsafe_code, reason = "only a mapping changes a file in this way")]
        let map = unsafe { MmapMut::map_mut(&file) }.unwrap();
        Self { path, map }
    }

    /// Writes into the second line without a system call.
    pub(crate) fn store(&mut self, text: &str) {
        self.map[6..6 + text.len()].copy_from_slice(text.as_bytes());
    }

    fn modified(&self) -> SystemTime {
        fs::metadata(&self.path).unwrap().modified().unwrap()
    }

    /// Shows that the second of two stores to a page changes the file but none of its times. So a state that
    /// is recorded between the two would not reveal the change.
    fn assert_hides_a_change(&mut self) {
        let hides = (0..ATTEMPTS).any(|attempt| {
            self.store("before the state is taken");
            let modified = self.modified();
            std::thread::sleep(Duration::from_millis(50));
            let text = format!("hidden {attempt}");
            self.store(&text);
            assert!(fs::read_to_string(&self.path).unwrap().contains(&text));
            self.modified() == modified
        });
        assert!(hides, "every change through the mapping of {} sets its time", self.path.display());
    }
}

/// Names the directory in which the child has mounted an in-memory file system.
const MEMORY: &str = "FORAGE_TEST_MEMORY";

/// Runs in a private mount namespace. Its mounts are invisible to others and disappear with the process.
const IN_PRIVATE: &str = r#"
    mount --make-rprivate / && mount -t tmpfs none "$1" && echo mounted &&
    exec "$2" --exact mapped::mmap_writes_on_tmpfs_are_found --nocapture"#;

fn project(place: &Path) -> Project {
    let project = Project::new_in(place, &[]);
    for number in 0..50 {
        project.write(&format!("d{}/f{number}.txt", number % 5), &format!("some text {number}\n"));
    }
    project
}

/// The index must be correct about a file for as long as it is mapped.
#[test]
fn mmap_writes_after_the_build_are_found() {
    let project = project(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let mut mapped = MappedFile::new(project.root.join("d1/mapped.txt"));
    MappedFile::new(project.home.join("control.txt")).assert_hides_a_change();
    for round in 0..3 {
        mapped.store(&format!("stored in round {round}"));
        std::thread::sleep(SETTLED);
        let build = project.run(&["index", "build"]);
        assert_eq!(build.status, 0, "{build:?}");
        let status = project.run(&["index", "status", "--json"]).json();
        assert_eq!(status["files"], json!({ "as_indexed": 51, "all": 51 }), "{status}");
        let text = format!("needle {round}");
        mapped.store(&text);
        assert_found(&project, &text);
        assert_eq!(project.run(&["index", "verify"]).status, 0);
    }
}

/// We can't trust any file state on an in-memory file system.
#[test]
fn mmap_writes_on_tmpfs_are_found() {
    if let Some(directory) = std::env::var_os(MEMORY) {
        return store_in_memory(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let run = |flags: &str| {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", IN_PRIVATE, "sh"]);
        command.args([directory.path(), &std::env::current_exe().unwrap()]).env(MEMORY, directory.path());
        command.output()
    };
    // This needs root or a user namespace. If both are denied, the unit test of `settle` must suffice.
    for flags in ["-m", "-rm"] {
        if let Ok(output) = run(flags)
            && output.stdout.starts_with(b"mounted")
        {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            return;
        }
    }
}

fn store_in_memory(place: &Path) {
    let project = project(place);
    let mut mapped = MappedFile::new(project.root.join("d1/mapped.txt"));
    mapped.assert_hides_a_change();
    std::thread::sleep(SETTLED);
    for command in ["build", "status", "verify"] {
        let run = project.run(&["index", command]);
        assert!(run.status == 2 && run.stderr.contains("it is on tmpfs"), "{run:?}");
    }
    mapped.store("needle");
    assert_found(&project, "needle");
}

/// Runs searches that list all matches, and others that don't.
fn assert_found(project: &Project, text: &str) {
    for search in [&["grep", text][..], &["call", "grep_search", &json!({ "pattern": text }).to_string()]] {
        for mode in ["auto", "always"] {
            let run = project.run_in(&project.root, search, &[("FORAGE_INDEX", mode)]);
            let is_found = |line: &str| line.split(':').next() == Some("d1/mapped.txt");
            assert!(run.status == 0 && run.stdout.lines().any(is_found), "{search:?}: {run:?}");
        }
    }
}
