//! Generates random trees with every kind of name, ignore file and encoding that affects a search.

use std::fs;
use std::path::{Path, PathBuf};

/// A small generator (xorshift64*); its seed identifies a failing case.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % n
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const NAMES: &[&str] = &[
    "a",
    "b",
    "src",
    "lib.rs",
    "main.c",
    "a.c",
    "a-b.txt",
    "target",
    "x.log",
    ".hidden",
    ".cfg.toml",
    "Makefile",
    "ö.txt",
    "2026-01-08-notes.md",
    "a:1:b.txt",
    "sp ace.py",
    "build",
    "note.txt",
    "deep",
];
const WORDS: &[&str] = &[
    "foo",
    "bar",
    "Foo",
    "needle",
    "retry",
    "backoff",
    "error_code",
    "x",
    "if",
    "naïve",
    "ſtraße",
    "K",
    "é",
    "fo",
    "FOO",
    "foobar",
    "a.b",
    "(",
    "",
];
const RULES: &[&str] = &[
    "*.log",
    "target/",
    "/a",
    "!x.log",
    "src/*.rs",
    "**/deep",
    "build",
    "#c",
    "*.txt",
    "!note.txt",
    "a*/",
    "/src/",
    "b/**",
    "",
    "\\!x",
    "[ab].c",
    "!.hidden",
    "deep/*.md",
    "*.rs\r",
    "  ",
];

fn line(random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    for i in 0..random.below(6) {
        if i > 0 {
            line.extend_from_slice(random.pick(&[" ", "_", "", "-"]).as_bytes());
        }
        line.extend_from_slice(random.pick(WORDS).as_bytes());
    }
    if random.one_in(40) {
        // These are enough letters for the line to be damaged UTF-8 rather than another encoding.
        line.extend_from_slice(b"\xff\xfe foo");
        line.extend_from_slice("éèêëìíîï".as_bytes());
    }
    line
}

/// Generates lines of words with one of the common line endings.
pub(crate) fn text(random: &mut Random, lines: usize) -> Vec<u8> {
    let crlf = random.one_in(8);
    let mut text = Vec::new();
    for _ in 0..lines {
        text.extend(line(random));
        text.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
    }
    if random.one_in(4) {
        text.extend(line(random));
    }
    text
}

pub(crate) fn contents(random: &mut Random, binary: bool) -> Vec<u8> {
    let lines = random.below(40);
    let text = text(random, lines);
    match random.below(24) {
        0 => [b"\xef\xbb\xbf".to_vec(), text].concat(),
        1 => {
            let text = String::from_utf8_lossy(&text).into_owned();
            [vec![0xff, 0xfe], text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat()
        }
        2 => {
            let text = String::from_utf8_lossy(&text).into_owned();
            [vec![0xfe, 0xff], text.encode_utf16().flat_map(u16::to_be_bytes).collect()].concat()
        }
        3 if binary => [text.clone(), b"\0".to_vec(), text].concat(),
        4 => Vec::new(),
        _ => text,
    }
}

/// Generates the text of an ignore file.
pub(crate) fn rules(random: &mut Random) -> String {
    let mut rules = if random.one_in(6) { "\u{feff}".to_owned() } else { String::new() };
    for _ in 0..1 + random.below(4) {
        rules.push_str(random.pick(RULES));
        rules.push('\n');
    }
    rules
}

fn fill(random: &mut Random, directory: &Path, depth: usize, binary: bool) {
    for _ in 0..2 + random.below(6) {
        let path = directory.join(random.pick(NAMES));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        if depth < 4 && random.one_in(3) {
            fs::create_dir(&path).unwrap();
            fill(random, &path, depth + 1, binary);
        } else if random.one_in(12) {
            // On other systems, creating a link needs a privilege.
            #[cfg(unix)]
            std::os::unix::fs::symlink(random.pick(NAMES), &path).unwrap();
        } else {
            fs::write(&path, contents(random, binary)).unwrap();
        }
    }
    for name in [".gitignore", ".ignore", ".rgignore"] {
        if random.one_in(5) {
            fs::write(directory.join(name), rules(random)).unwrap();
        }
    }
    if random.one_in(if depth == 0 { 2 } else { 20 }) {
        fs::create_dir_all(directory.join(".git/info")).unwrap();
        if random.one_in(2) {
            fs::write(directory.join(".git/info/exclude"), format!("{}\n", random.pick(RULES))).unwrap();
        }
    }
}

/// Generates a tree from a seed; `binary` includes files with NUL bytes.
pub(crate) fn tree(random: &mut Random, binary: bool) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fill(random, &root, 0, binary);
    (directory, root)
}
