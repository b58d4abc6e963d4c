//! Compares walks of only the hidden files with walks of all files.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Entry, Globs, RelPath, Skipped, WalkOptions, WalkReport, WalkStep, walk};

use crate::external::random_request;
use crate::index::some_directory;
use crate::search::open;
use crate::trees::{Random, tree};

/// A file, and the rule that hides it.
type WalkedFile = (String, Option<Arc<str>>);

/// Lists the files that a walk visits.
fn walked(root: &Path, start: &RelPath, options: &WalkOptions) -> (Vec<WalkedFile>, WalkReport) {
    let mut found = Vec::new();
    let visit = |(): &mut (), entry: &Entry<'_>, _: &mut Skipped| {
        WalkStep::Item((entry.path.display().into_owned(), entry.hidden_by.clone()), 100)
    };
    let receive = |file| {
        found.push(file);
        ControlFlow::Continue(())
    };
    let report = walk(&open(root), start, options, &Stop::never(), || (), visit, receive).unwrap();
    (found, report)
}

#[test]
fn only_hidden_visits_exactly_the_hidden_files() {
    let (mut hidden, mut all) = (0, 0);
    for seed in 0..300 {
        let random = &mut Random::new(seed + 310_000);
        let (_directory, root) = tree(random, true);
        let mut options = random_request(random).walk;
        options.label_hidden = false;
        if random.one_in(3) {
            options.noise = &["build", "deep"];
        }
        if random.one_in(4) {
            options.excludes = Some(Globs::new(&[random.pick(&["!*.rs", "!src", "!a"])]).unwrap());
        }
        let start = if random.one_in(3) { some_directory(random, &root) } else { RelPath::root() };
        let (_, report) = walked(&root, &start, &options);
        let labelled = WalkOptions { label_hidden: true, ..options.clone() };
        let (mut expected, _) = walked(&root, &start, &labelled);
        all += expected.len();
        expected.retain(|(_, hidden_by)| hidden_by.is_some());
        assert!(expected.is_empty() || !report.hiding.is_empty(), "seed {seed} {start:?} {options:?}");
        let alone = WalkOptions { only_hidden: Some(Arc::new(report.hiding)), ..labelled };
        let (found, _) = walked(&root, &start, &alone);
        assert_eq!(found, expected, "seed {seed} {start:?} {options:?}");
        hidden += found.len();
    }
    assert!(hidden > 300 && all > 2 * hidden, "{hidden} of {all} files were hidden");
}
