//! T5: pseudo file systems of the kernel that are mounted inside a project. Examples are the `rootfs/proc` of
//! a system image, a container's `sys`, or a single file of these.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forage_base::Stop;
use forage_fs::{RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy, Snapshot, WalkOptions};
use forage_tools::{FilterMode, Workspace};
use serde_json::json;

use crate::support::{Tree, answer, refusal, skipped, workspace_at};

/// Environment variable with the directory in which the child process has mounted them.
const MOUNTED: &str = "FORAGE_TEST_MOUNTED";

/// Creates a private mount namespace. Other processes can't see its mounts, and these end with this process.
const IN_PRIVATE: &str = r#"
    mount --make-rprivate / &&
    mount --rbind /proc "$1/rootfs/proc" && mount --rbind /sys "$1/rootfs/sys" &&
    mount --bind /proc/version "$1/version.txt" &&
    mount -t tmpfs none "$1/files" && echo "needle: Linux version in tmpfs" > "$1/files/b.txt" && echo mounted &&
    exec "$2" --exact kernel::kernel_file_systems_mounted_below_a_root_are_not_entered --nocapture"#;

/// Reads a procfs file whose text is the same for all processes.
fn version() -> String {
    fs::read_to_string("/proc/version").unwrap().trim().to_owned()
}

fn broad(path: &Path) -> Workspace {
    let policy = RootPolicy { home: None, allow_broad: true };
    let root = Root::open(path, &policy, SecretPolicy::standard(&[])).unwrap();
    let mut workspace = Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap());
    workspace.filter.mode = FilterMode::Lexical;
    workspace
}

#[test]
fn kernel_file_systems_mounted_below_a_root_are_not_entered() {
    if let Some(directory) = std::env::var_os(MOUNTED) {
        return attack(&PathBuf::from(directory));
    }
    let tree = Tree::new();
    tree.write("a.txt", "needle: Linux version in a file\n");
    tree.write("version.txt", "");
    for directory in ["rootfs/proc", "rootfs/sys", "files"] {
        fs::create_dir_all(tree.root().join(directory)).unwrap();
    }
    tree.link("rootfs/proc/version", "link");
    let run = |flags: &str| {
        Command::new("unshare")
            .args([flags, "sh", "-c", IN_PRIVATE, "sh"])
            .args([tree.root(), std::env::current_exe().unwrap()])
            .env(MOUNTED, tree.root())
            .output()
    };
    // We try root's own rights first, then a user namespace. If neither is permitted, only the mounts that
    // exist in any system are left.
    let mut mounted = false;
    for flags in ["-m", "-Urm"] {
        let Ok(output) = run(flags) else { continue };
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if stdout.contains("mounted") {
            assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
            mounted = true;
            break;
        }
    }
    eprintln!("in a private table of mounts: {}", if mounted { "attacked" } else { "not permitted here" });
    below_the_whole_system();
}

/// Checks `/`. A user can allow it as a root, and in every system it contains these file systems.
fn below_the_whole_system() {
    let workspace = broad(Path::new("/"));
    let listing = answer(&workspace, "list_directory", json!({"path": "/", "include_ignored": true}));
    assert!(skipped(&listing, "kernel_file_system") >= 1, "{}", listing.records()["skipped"]);
    assert!(listing.text.contains("proc is a kernel pseudo file system"), "{}", listing.text);
    for path in ["/proc/version", "proc/version", "/proc/self/status", "/sys/kernel/notes"] {
        let refused = refusal(&workspace, "read_file", json!({"path": path}));
        assert!(refused.contains("kernel pseudo file system"), "{path}: {refused}");
    }
}

fn attack(root: &Path) {
    let version = version();
    // The files exist, and we can read them by a plain path.
    for name in ["rootfs/proc/version", "version.txt", "link"] {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap().trim(), version, "{name}");
    }
    let workspace = workspace_at(root, SecretPolicy::standard(&[]));

    for (tool, request) in [
        ("grep_search", json!({"pattern": "Linux version", "include_ignored": true})),
        ("Search", json!({"pattern": "Linux version", "hidden": true, "no_ignore": true, "follow": true})),
        ("keyword_search", json!({"query": "which version", "search_terms": ["Linux version"]})),
        ("search_index", json!({"query": "Linux version needle"})),
        ("list_directory", json!({"path": ".", "max_depth": 8, "include_ignored": true})),
    ] {
        let found = answer(&workspace, tool, request);
        let everything = format!("{}{}", found.text, found.records().clone());
        assert!(!everything.contains(&version), "{tool} shows what the kernel says: {everything}");
        assert!(!everything.contains("kallsyms"), "{tool} lists what is in them: {everything}");
        if tool != "list_directory" {
            // We do search other file systems below a root.
            assert!(everything.contains("a.txt") && everything.contains("b.txt"), "{tool}: {everything}");
        }
        assert!(
            skipped(&found, "kernel_file_system") >= 3,
            "{tool} counts them: {}",
            found.records().clone()
        );
        for name in ["rootfs/proc", "rootfs/sys"] {
            assert!(
                everything.contains(&format!("{name} is a kernel pseudo file system")),
                "{tool} names {name}: {everything}"
            );
        }
    }

    for path in
        ["rootfs/proc/version", "rootfs/proc/self/environ", "rootfs/sys/kernel/notes", "version.txt", "link"]
    {
        for (tool, request) in [
            ("read_file", json!({"path": path})),
            ("grep_search", json!({"pattern": "Linux", "path": path, "include_ignored": true})),
            ("Search", json!({"pattern": "Linux", "path": path})),
            ("list_directory", json!({"path": path})),
        ] {
            let shown = match crate::support::call(&workspace, tool, request) {
                Ok(answer) => format!("{}{}", answer.text, answer.records().clone()),
                Err(error) => error.to_string(),
            };
            assert!(!shown.contains(&version), "{tool} on {path}: {shown}");
            assert!(
                shown.contains("kernel pseudo file system")
                    || shown.contains("kernel_file_system")
                    || tool == "list_directory",
                "{tool} on {path} says why: {shown}"
            );
        }
    }
    for path in ["rootfs/proc", "rootfs/proc/self/fd", "rootfs/sys"] {
        for (tool, request) in [
            ("grep_search", json!({"pattern": "Linux", "path": path})),
            ("list_directory", json!({"path": path})),
            ("Search", json!({"pattern": "Linux", "path": path})),
        ] {
            let refused = refusal(&workspace, tool, request);
            assert!(refused.contains("kernel pseudo file system"), "{tool} on {path}: {refused}");
        }
    }

    // The snapshot for an index has none of this text.
    let plain = Root::open(root, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
    let taken = Snapshot::take(&plain, &WalkOptions::default(), &Stop::never()).unwrap().unwrap_or_default();
    assert!(!taken.windows(8).any(|bytes| bytes == b"kallsyms"));

    // As roots, these are rejected wherever they are mounted, unless the user allows them. Only then do we
    // read them. This also shows that it is the check that keeps the searches above out of them.
    let mounted = root.join("rootfs/proc/sys/kernel");
    let refused = Root::open(&mounted, &RootPolicy::default(), SecretPolicy::standard(&[]));
    assert!(matches!(refused, Err(RootError::KernelFileSystem { .. })), "{refused:?}");
    let read = answer(&broad(&mounted), "grep_search", json!({"pattern": "^Linux$", "path": "."}));
    assert!(read.text.contains("ostype"), "{}", read.text);
}
