//! Fuzz tests with arbitrary text in ignore files.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Entry, RelPath, Root, Skipped, WalkOptions, WalkStep, walk};
use forage_fuzz::target;
use ignore::WalkBuilder;

use crate::open;

const FILES: [&str; 14] = [
    "a.rs",
    "b.log",
    "Makefile",
    ".hidden",
    "src/a.rs",
    "src/b.log",
    "src/!x",
    "src/#y",
    "src/sp ace ",
    "src/deep/c.md",
    "src/deep/a/b/d.rs",
    "target/x.o",
    "ö.txt",
    "[ab].c",
];

/// Ignore files of ripgrep's own kinds. Those of git are compared in `git_rules`.
const PLACES: [&str; 3] = [".ignore", "src/.ignore", "src/deep/.rgignore"];

/// Lists the files that a walk visits, or returns `None` if the walk warns that it has ignored a rule.
fn walked(root: &Arc<Root>) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let visit =
        |(): &mut (), entry: &Entry<'_>, _: &mut Skipped| WalkStep::Item(entry.path.as_bytes().to_vec(), 1);
    let receive = |path| {
        found.push(path);
        ControlFlow::Continue(())
    };
    let options = WalkOptions::default();
    let report = walk(root, &RelPath::root(), &options, &Stop::never(), || (), visit, receive).unwrap();
    assert_eq!(report.stopped, None);
    found.sort();
    report.warnings.is_empty().then_some(found)
}

/// Lists the same files with the crate that implements ripgrep's rules.
fn expected(root: &Root) -> Vec<Vec<u8>> {
    let mut builder = WalkBuilder::new(root.path());
    builder.parents(false).git_global(false).add_custom_ignore_filename(".rgignore");
    let files =
        builder.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let path = |entry: ignore::DirEntry| {
        let path = entry.path().strip_prefix(root.path()).unwrap().as_os_str().as_encoded_bytes().to_vec();
        // Our paths use `/` on all systems.
        if cfg!(windows) {
            path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect()
        } else {
            path
        }
    };
    let mut found: Vec<Vec<u8>> = files.map(path).collect();
    found.sort();
    found
}

#[test]
fn ripgrep_rules_decide_like_ripgrep() {
    let directory = tempfile::tempdir().unwrap();
    for name in FILES.iter().chain(&PLACES) {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let root = open(directory.path());
    let seeds = forage_fuzz::seeds([
        "*.log\n!b.log\n/target/\nsrc/**/d.rs\n# a comment\n\\#y\n\\!x\nsp ace\\ \n",
        "[ab].rs\r\n[!a-c]*\r\n**/deep/**\n?.md\n",
        "{a,b}.*\n[[:alpha:]].rs\n*\n!*/\n!*.rs\n",
        "\u{feff}a.rs\nMAKEFILE\nö.txt\n/src/deep\n!.hidden\n",
    ]);
    let (mut compared, mut before) = (0_u64, PLACES[0]);
    target!(&seeds, |input| {
        // We use one place at a time, so that rules in one do not hide those in another.
        let place = PLACES[input.len() % PLACES.len()];
        fs::write(directory.path().join(before), "").unwrap();
        fs::write(directory.path().join(place), input).unwrap();
        before = place;
        let found = walked(&root);
        // For the other walk, a line that is not UTF-8 ends the file, so we can't compare such input.
        if let Some(found) = found.filter(|_| std::str::from_utf8(input).is_ok()) {
            let shown = |paths: Vec<Vec<u8>>| String::from_utf8(paths.join(&b'\n')).unwrap();
            assert_eq!(shown(found), shown(expected(&root)), "{place}");
            compared += 1;
        }
    });
    assert!(compared > 4, "{compared} were compared");
}
