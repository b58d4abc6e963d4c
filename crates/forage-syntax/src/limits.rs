//! Limits of parsing. Each bounds the time or the memory that one file can take.

use std::time::Duration;

/// Largest file that is parsed, in bytes. A syntax tree takes ten to twenty times the size of its text, several files are
/// parsed at once, and few files that people write are larger.
pub const PARSE_BYTES: usize = 2 << 20;

/// Most tokens of a file that is parsed: words, and characters between them. A syntax tree takes some 200 bytes per token
/// with what is read from it, whatever the language. Code that people write has a token per four or five bytes, and
/// 2 MiB of `a;` have two million.
pub const PARSE_TOKENS: u64 = 500_000;

/// Tokens up to which a file is parsed without waiting for others: all but one in a hundred files that people write, and
/// 8 MB of memory.
pub const SMALL_TREE_TOKENS: u64 = 40_000;

/// Tokens of a file from which on the memory of its tree is returned to the system, which takes a hundredth of the time for
/// parsing it.
pub const RELEASING_TREE_TOKENS: u64 = 200_000;

/// Most back quotes of a file that is parsed. Scanners of some grammars, Dart's for one, look for the end of every string
/// to the end of the file, and nothing can stop them: 30,000 quotes without an end take 2.5 s, twice as many four times as
/// long.
pub const PARSE_BACK_QUOTES: usize = 10_000;

/// Deepest nesting of brackets in a file that is parsed. The scanner of Kotlin ends the process at 513 templates in each
/// other, and C++ and C# take quadratic time for brackets that are not closed: 30 KB of them take 16 s, which nothing can stop.
/// Code that people write stays under 100.
pub const PARSE_NESTING: usize = 400;

/// Longest time for parsing one file and finding its definitions. Grammars read 5 to 20 MB a second, but recover slowly
/// from some errors.
pub const PARSE_TIME: Duration = Duration::from_secs(2);

/// Nodes that are visited between two looks at the deadline.
pub const NODES_PER_CHECK: u32 = 64;

/// Depth below which nodes are not visited. Code that people write stays under 200; the limit bounds the memory of the
/// walk on generated and hostile files.
pub const DEPTH: usize = 2_000;

/// Longest start tag of a script in a page. Quotes that are not closed would have each tag searched to the file's end.
pub const TAG_BYTES: usize = 1 << 10;

/// Longest arguments of a text macro in Verilog. Brackets that are not closed would have each macro searched to the
/// file's end.
pub const MACRO_BYTES: usize = 4 << 10;
