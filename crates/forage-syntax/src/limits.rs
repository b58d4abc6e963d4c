//! Limits of parsing. Each one bounds the time or the memory that a single file may take.

use std::time::Duration;

/// Maximum size of a file that we parse, in bytes. A syntax tree takes ten to twenty times the size of its
/// text, and we parse several files at once. Few files that people write are larger.
pub const PARSE_BYTES: usize = 2 << 20;

/// Maximum number of tokens in a file that we parse, i.e. words and the characters between them. A syntax
/// tree with all that we read from it takes some 200 bytes per token in any language. Code that people write
/// has a token per four or five bytes, but 2 MiB of `a;` have two million.
pub const PARSE_TOKENS: u64 = 500_000;

/// Tokens up to which we parse a file without waiting for others. This includes 99 of 100 files that people
/// write, and takes 8 MB of memory.
pub const SMALL_TREE_TOKENS: u64 = 40_000;

/// Number of tokens from which we return the memory of a file's tree to the system. This takes a hundredth of
/// the time for parsing.
pub const RELEASING_TREE_TOKENS: u64 = 200_000;

/// Maximum number of back quotes in a file that we parse. The scanners of some grammars, e.g. Dart's, search
/// for the end of each string up to the end of the file, and we can't stop them. 30,000 unclosed quotes take
/// 2.5 s, and twice as many take four times as long.
pub const PARSE_BACK_QUOTES: usize = 10_000;

/// Maximum nesting of brackets in a file that we parse. Kotlin's scanner ends the process at 513 nested
/// templates. C++ and C# take quadratic time for unclosed brackets: 30 KB of them take 16 s, and we can't
/// stop this. Code that people write stays under 100.
pub const PARSE_NESTING: usize = 400;

/// Maximum time for parsing a file and finding its definitions. Grammars read 5 to 20 MB per second, but
/// recover slowly from some errors.
pub const PARSE_TIME: Duration = Duration::from_secs(2);

/// Number of nodes that we visit between two deadline checks.
pub const NODES_PER_CHECK: u32 = 64;

/// Depth below which we don't visit nodes. Code that people write stays under 200. For generated and hostile
/// files, this must bound the memory of the walk.
pub const DEPTH: usize = 2_000;

/// Maximum length, in bytes, of a script's start tag in a page, and of the tag of a dollar-quoted string in
/// SQL. Otherwise each start tag with an unclosed quote would be searched to the end of the page.
pub const TAG_BYTES: usize = 1 << 10;

/// Maximum length, in bytes, of a text macro's arguments in Verilog. Otherwise each macro with an unclosed
/// bracket would be searched to the end of the file.
pub const MACRO_BYTES: usize = 4 << 10;
