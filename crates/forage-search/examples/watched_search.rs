//! A long-running process that answers many searches, as a server does. Used by `bench/index.py`.
//!
//! `watched_search ROOT` builds an index in memory, lists the tree, and then answers lines of standard input.
//! A line has four tab-separated fields: the file to write to; `search` or `keywords`; `scan`, `index` or
//! `watched`; options as letters (`i` ignores case, `w` matches words, a digit allows that many edits, `m`
//! stops after 200 lines). The pattern or the terms follow, also tab-separated. The output has the form of
//! `rg -n` or `rg -n -C 10`. For each line the program prints the seconds that the search took.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    reason = "a benchmark that runs on the user's own trees and files"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{Mounts, RelPath, Root, RootPolicy, SecretPolicy, WalkOptions, WatchedTree};
use forage_search::index::{Index, Segment, build};
use forage_search::keyword::{KeywordOptions, gather};
use forage_search::{Case, FileEvents, Pattern, PatternOptions, ScanOptions, search};

/// Maximum number of lines of a limited search.
const LIMIT: usize = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().unwrap();
    let root = Root::open(Path::new(&root), &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
    let options = WalkOptions::default();
    let mut bytes = Vec::new();
    build(&root, None, &options, &Stop::never()).unwrap().builder.write(&mut bytes).unwrap();
    let layers = || vec![Segment::open(bytes.clone()).unwrap()];
    let watched = WatchedTree::new(&root, &Mounts::open().unwrap());
    watched.prepare(&options).unwrap().unwrap();
    let plain = Arc::new(Index::new(layers()));
    let watching = Arc::new(Index::new(layers()).watching(watched));
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        let mut output = BufWriter::new(File::create(next()).unwrap());
        let (kind, index) = (next(), next());
        let index = match index {
            "scan" => None,
            "index" => Some(Arc::clone(&plain)),
            _ => Some(Arc::clone(&watching)),
        };
        let flags = next();
        let started = Instant::now();
        match kind {
            "search" => lines(&root, flags, fields.next().unwrap(), index, &mut output),
            _ => {
                let terms: Vec<String> = fields.map(str::to_owned).collect();
                let options = KeywordOptions { index, ..KeywordOptions::default() };
                let found = gather(
                    &root,
                    &RelPath::root(),
                    &WalkOptions::default(),
                    &terms,
                    &options,
                    &Stop::never(),
                );
                output.write_all(found.unwrap().to_ripgrep_output().as_bytes()).unwrap();
            }
        }
        output.flush().unwrap();
        println!("{}", started.elapsed().as_secs_f64());
    }
}

fn lines(
    root: &Arc<Root>,
    flags: &str,
    pattern: &str,
    index: Option<Arc<Index>>,
    output: &mut BufWriter<File>,
) {
    let options = PatternOptions {
        case: if flags.contains('i') { Case::Insensitive } else { Case::Sensitive },
        word: flags.contains('w'),
        fuzzy: flags.chars().find_map(|flag| flag.to_digit(10)).unwrap_or(0) as u8,
        ..PatternOptions::default()
    };
    let limit = if flags.contains('m') { LIMIT } else { usize::MAX };
    let pattern = Pattern::new(pattern, &options).unwrap();
    let scan = ScanOptions { index, max_file_matches: limit, ..ScanOptions::default() };
    let mut left = limit;
    let receive = |file: FileEvents| {
        for event in file.events.iter().take(left) {
            output.write_all(file.path.as_bytes()).unwrap();
            write!(output, ":{}:", event.line_number).unwrap();
            output.write_all(&event.bytes).unwrap();
            if event.bytes.last() != Some(&b'\n') {
                output.write_all(b"\n").unwrap();
            }
        }
        left = left.saturating_sub(file.events.len());
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    search(root, &RelPath::root(), &WalkOptions::default(), &pattern, &scan, &Stop::never(), receive)
        .unwrap();
}
