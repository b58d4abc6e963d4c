//! The options of `forage grep`. They have the same letters and meanings as in ripgrep.

use std::path::PathBuf;

use forage_fs::Encoding;
use forage_search::Decoding;

use crate::cli::changed::ChangedArguments;
use crate::cli::setting_options::SettingOptions;
use crate::config::SettingsCommand;

const EXAMPLES: &str = "\
Examples:
  forage grep 'fn \\w+_stamp' src               lines that match, as ripgrep prints them
  forage grep -w -t rust -g '!tests/**' retry   whole words, in files of a type, without a directory
  forage grep -F -e 'a[0]' -e 'b[0]' src lib    plain texts, in two directories
  forage grep -l TODO | xargs wc -l             paths of files with matches
  git diff | forage grep '^\\+.*unwrap'          in the output of another command
  forage grep -P 'foo(?=bar)'                   look-around and backreferences (slower)
  forage grep --since main... TODO              in files that this branch changes
  forage grep --uses parse_header               where it is defined, then who uses it, by function
  forage grep --impact parse_header             who is affected if it changes, and which tests
  forage grep -Z 2 --best-first recieve_mesage  up to two edits away, the nearest first
  forage grep -Z 2 --json recieve_mesage        records, with the distance of each match
  forage grep --engine ugrep 'foo(?=bar)'       with ugrep, where it is installed";

/// Options that only make sense in a search for lines.
const OF_LINES: [&str; 21] = [
    "encoding",
    "invert_match",
    "files_with_matches",
    "files_without_match",
    "count",
    "count_matches",
    "only_matching",
    "replace",
    "multiline",
    "pcre2",
    "passthru",
    "files",
    "stats",
    "column",
    "vimgrep",
    "line_regexp",
    "max_count",
    "text",
    "byte_offset",
    "null",
    "iglob",
];

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Arguments {
    /// Regular expression to search for in every line; with -e, -f or --files, the first path
    #[arg(required_unless_present_any = ["patterns", "pattern_files", "files"])]
    pub(super) pattern: Option<String>,
    /// Directories or files to search, `-` for standard input [default: standard input if it is a pipe or a file, else the
    /// working directory]
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<String>,

    /// Pattern to search for (repeatable): a line must match one of them
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "PATTERN",
        allow_hyphen_values = true,
        help_heading = "Pattern"
    )]
    pub(super) patterns: Vec<String>,
    /// File with a pattern in each line, `-` for standard input (repeatable)
    #[arg(short = 'f', long = "file", value_name = "FILE", help_heading = "Pattern")]
    pub(super) pattern_files: Vec<PathBuf>,
    /// Ignore case
    #[arg(short, long, overrides_with_all = ["case_sensitive", "smart_case"], help_heading = "Pattern")]
    pub(super) ignore_case: bool,
    /// Match case (the default)
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"], help_heading = "Pattern")]
    pub(super) case_sensitive: bool,
    /// Ignore case, unless the pattern has an upper-case letter
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"], help_heading = "Pattern")]
    pub(super) smart_case: bool,
    /// Treat patterns as plain text
    #[arg(short = 'F', long, help_heading = "Pattern")]
    pub(super) fixed_strings: bool,
    /// Match whole words only
    #[arg(short, long, overrides_with_all = ["line_regexp", "word_regexp"], help_heading = "Pattern")]
    pub(super) word_regexp: bool,
    /// Match whole lines only
    #[arg(short = 'x', long, overrides_with_all = ["word_regexp", "line_regexp"], help_heading = "Pattern")]
    pub(super) line_regexp: bool,
    /// Find the lines that do not match
    #[arg(short = 'v', long, help_heading = "Pattern")]
    pub(super) invert_match: bool,
    /// Let matches span lines
    #[arg(short = 'U', long, help_heading = "Pattern")]
    pub(super) multiline: bool,
    /// With -U: let `.` match line feeds
    #[arg(long, help_heading = "Pattern")]
    pub(super) multiline_dotall: bool,
    /// Allow look-around and backreferences (slower); on by default for patterns that need it
    #[arg(short = 'P', long, help_heading = "Pattern")]
    pub(super) pcre2: bool,
    /// Let `$` match before CR LF
    #[arg(long, help_heading = "Pattern")]
    pub(super) crlf: bool,

    /// Files to search: by name ('*.py'), or by path if it has a slash ('src/**/*.rs'); '!' excludes, and later globs win
    /// (repeatable)
    #[arg(short = 'g', long, value_name = "GLOB", allow_hyphen_values = true, help_heading = "Files")]
    pub(super) glob: Vec<String>,
    /// Like -g, but ignore case
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(super) iglob: Vec<String>,
    #[command(flatten)]
    pub(super) types: ChosenTypes,
    /// Search hidden files, too
    #[arg(short = '.', long, help_heading = "Files")]
    pub(super) hidden: bool,
    /// Search files that ignore rules exclude, too
    #[arg(long, help_heading = "Files")]
    pub(super) no_ignore: bool,
    /// Search more: -u for --no-ignore, -uu also for --hidden, -uuu also for --binary
    #[arg(short = 'u', long, action = clap::ArgAction::Count, help_heading = "Files")]
    pub(super) unrestricted: u8,
    /// Follow symbolic links within the root
    #[arg(short = 'L', long, help_heading = "Files")]
    pub(super) follow: bool,
    /// Levels of directories to enter; 1 searches the files of the directory itself
    #[arg(short = 'd', long, value_name = "N", visible_alias = "maxdepth", help_heading = "Files")]
    pub(super) max_depth: Option<usize>,
    /// Skip larger files; K, M and G multiply by 1,024
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Files")]
    pub(super) max_filesize: Option<u64>,
    /// Search binary files as if they were text
    #[arg(short = 'a', long, overrides_with_all = ["binary", "text"], help_heading = "Files")]
    pub(super) text: bool,
    /// Search binary files, and say only that they match
    #[arg(long, overrides_with_all = ["text", "binary"], help_heading = "Files")]
    pub(super) binary: bool,
    /// Encoding of the files: `auto` detects it, `none` searches the bytes as they are, or a name such as gbk or utf-16le
    #[arg(short = 'E', long, value_name = "ENCODING", value_parser = parse_encoding, help_heading = "Files")]
    pub(super) encoding: Option<Decoding>,
    /// Print the paths of the files that would be searched
    #[arg(long, help_heading = "Files")]
    pub(super) files: bool,

    /// Lines of context after each match
    #[arg(short = 'A', long, value_name = "N", overrides_with = "passthru", help_heading = "Output")]
    pub(super) after_context: Option<usize>,
    /// Lines of context before each match
    #[arg(short = 'B', long, value_name = "N", overrides_with = "passthru", help_heading = "Output")]
    pub(super) before_context: Option<usize>,
    /// Lines of context around each match
    #[arg(short = 'C', long, value_name = "N", overrides_with = "passthru", help_heading = "Output")]
    pub(super) context: Option<usize>,
    /// Print the other lines, too
    #[arg(long, visible_alias = "passthrough", help_heading = "Output")]
    #[arg(overrides_with_all = ["after_context", "before_context", "context", "passthru"])]
    pub(super) passthru: bool,
    /// Print only the paths of files with matches
    #[arg(short = 'l', long, help_heading = "Output")]
    #[arg(overrides_with_all = ["files_without_match", "count", "count_matches", "files_with_matches"])]
    pub(super) files_with_matches: bool,
    /// Print only the paths of files without matches
    #[arg(long, help_heading = "Output")]
    #[arg(overrides_with_all = ["files_with_matches", "count", "count_matches", "files_without_match"])]
    pub(super) files_without_match: bool,
    /// Print only how many lines of each file match
    #[arg(short, long, help_heading = "Output")]
    #[arg(overrides_with_all = ["files_with_matches", "files_without_match", "count_matches", "count"])]
    pub(super) count: bool,
    /// Print only how many matches each file has
    #[arg(long, help_heading = "Output")]
    #[arg(overrides_with_all = ["files_with_matches", "files_without_match", "count", "count_matches"])]
    pub(super) count_matches: bool,
    /// With -c: print files without matches, too
    #[arg(long, help_heading = "Output")]
    pub(super) include_zero: bool,
    /// Print only the matching parts, each on its own line
    #[arg(short, long, help_heading = "Output")]
    pub(super) only_matching: bool,
    /// Print this text instead of each match; $1 and $name are its groups
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Output")]
    pub(super) replace: Option<String>,
    /// Stop after N matching lines of each file
    #[arg(short, long, value_name = "N", help_heading = "Output")]
    pub(super) max_count: Option<u64>,
    /// Number lines (the default on a terminal)
    #[arg(short = 'n', long, overrides_with_all = ["no_line_number", "line_number"], help_heading = "Output")]
    pub(super) line_number: bool,
    /// Don't number lines
    #[arg(short = 'N', long, overrides_with_all = ["line_number", "no_line_number"], help_heading = "Output")]
    pub(super) no_line_number: bool,
    /// Print the path with each line (the default with several files)
    #[arg(short = 'H', long, overrides_with_all = ["no_filename", "with_filename"], help_heading = "Output")]
    pub(super) with_filename: bool,
    /// Don't print paths
    #[arg(short = 'I', long, overrides_with_all = ["with_filename", "no_filename"], help_heading = "Output")]
    pub(super) no_filename: bool,
    /// Print the path above the lines of each file (the default on a terminal)
    #[arg(long, overrides_with_all = ["no_heading", "heading"], help_heading = "Output")]
    pub(super) heading: bool,
    /// Print the path at the start of each line
    #[arg(long, overrides_with_all = ["heading", "no_heading"], help_heading = "Output")]
    pub(super) no_heading: bool,
    /// Print the column of the first match, with line numbers
    #[arg(long, help_heading = "Output")]
    pub(super) column: bool,
    /// Print each match on a line with its path, line and column
    #[arg(long, help_heading = "Output")]
    pub(super) vimgrep: bool,
    /// Print the byte offset of each line in its file
    #[arg(short = 'b', long, help_heading = "Output")]
    pub(super) byte_offset: bool,
    /// Print nothing; the exit status says whether there is a match
    #[arg(short = 'q', help_heading = "Output")]
    pub(in super::super) silent: bool,
    /// End paths with a NUL byte, for `xargs -0`
    #[arg(short = '0', long, help_heading = "Output")]
    pub(super) null: bool,
    /// Skip lines with more bytes
    #[arg(short = 'M', long, value_name = "BYTES", help_heading = "Output")]
    pub(super) max_columns: Option<u64>,
    /// Remove blanks at the start of lines
    #[arg(long, help_heading = "Output")]
    pub(super) trim: bool,
    /// Order of files: `path` (the default), `none`, which is the same, or `modified`, the oldest first
    #[arg(long, value_name = "ORDER", value_parser = parse_sort, overrides_with = "sortr", help_heading = "Output")]
    pub(super) sort: Option<SortKey>,
    /// Like --sort, in reverse
    #[arg(long, value_name = "ORDER", value_parser = parse_sort, overrides_with = "sort", help_heading = "Output")]
    pub(super) sortr: Option<SortKey>,
    /// Print totals at the end; this reads every file
    #[arg(long, help_heading = "Output")]
    pub(super) stats: bool,
    /// Worker threads; like --threads
    #[arg(short = 'j', value_name = "N", hide_short_help = true, help_heading = "Output")]
    pub(super) jobs: Option<usize>,

    #[command(flatten, next_help_heading = "Forage's own")]
    pub(super) changed: ChangedArguments,
    /// Treat the pattern as a name: print its definitions, then the lines that use it, by enclosing definition
    #[arg(long, conflicts_with_all = OF_LINES, conflicts_with_all = ["fuzzy", "best_first"], help_heading = "Forage's own")]
    pub(super) uses: bool,
    /// Treat the pattern as a name: print the definitions that use it, those that use these, and the tests among them
    #[arg(long, conflicts_with_all = OF_LINES, conflicts_with_all = ["fuzzy", "best_first", "ast"], help_heading = "Forage's own")]
    pub(super) impact: bool,
    /// Treat the pattern as code with ast-grep's metavariables: `spawn($A)`, `if $A { $$$ }`
    #[arg(long, conflicts_with_all = OF_LINES, conflicts_with_all = ["uses", "fuzzy", "best_first", "word_regexp", "fixed_strings", "ignore_case", "smart_case"], help_heading = "Forage's own")]
    pub(super) ast: bool,
    /// Allow up to this many edits (characters inserted, deleted or replaced)
    #[arg(short = 'Z', long, value_name = "EDITS", value_parser = clap::value_parser!(u8).range(1..=4))]
    #[arg(conflicts_with_all = OF_LINES, help_heading = "Forage's own")]
    pub(super) fuzzy: Option<u8>,
    /// With --fuzzy: print results with the fewest edits first
    #[arg(long, requires = "fuzzy", help_heading = "Forage's own")]
    pub(super) best_first: bool,
    /// With --uses, --ast or --fuzzy: lines to show, 1 to 10,000 [default: 50; with --fuzzy 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=10_000), help_heading = "Forage's own")]
    pub(super) max_results: Option<i64>,
    /// With --uses, --ast or --fuzzy: continue a previous answer
    #[arg(long, value_name = "CURSOR", help_heading = "Forage's own")]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) settings: SettingOptions<{ SettingsCommand::Search as u8 }>,
}

/// Returns what users should use instead of a ripgrep option that we do not support.
pub(crate) fn in_place_of(option: &str) -> Option<&'static str> {
    Some(match option {
        "-z" | "--search-zip" => "zcat FILE | forage grep PATTERN",
        "--pre" | "--pre-glob" => "COMMAND FILE | forage grep PATTERN",
        "--null-data" => "tr '\\0' '\\n' < FILE | forage grep PATTERN",
        "--type-add" | "--type-clear" => "-g GLOB",
        "--type-list" => "-t NAME, with ripgrep's names of types",
        "--ignore-file" => "an .ignore file in the directory, or `search.exclude` in the configuration",
        "--debug" | "--trace" => "--explain",
        "--pretty" | "-p" => "--color always --heading --line-number",
        "--no-messages" => "2>/dev/null",
        "--no-config" | "--mmap" | "--no-mmap" | "--line-buffered" | "--no-unicode" => {
            "nothing; leave it out"
        }
        _ => return None,
    })
}

fn parse_encoding(text: &str) -> Result<Decoding, String> {
    match text {
        "auto" => Ok(Decoding::Detected),
        "none" => Ok(Decoding::Stored),
        name => Encoding::named(name).map(Decoding::As).ok_or_else(|| {
            "it is not a known encoding; use one such as gbk, shift_jis, windows-1252 or utf-16le".to_owned()
        }),
    }
}

/// The key to sort files by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortKey {
    Path,
    Modified,
}

fn parse_sort(text: &str) -> Result<SortKey, String> {
    match text {
        "path" | "none" => Ok(SortKey::Path),
        "modified" => Ok(SortKey::Modified),
        "accessed" | "created" => {
            Err("this order is not supported; `forage grep -l PATTERN | xargs ls -tu` has the last accessed \
                 first, and `ls -t --time=birth` the last created"
                .to_owned())
        }
        _ => Err("the orders are `path`, `modified` and `none`".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    grep_cli::parse_human_readable_size(text).map_err(|error| error.to_string())
}

impl Arguments {
    /// Returns the key to sort files by, and true if the order is reversed. Returns `None` for path order,
    /// which a walk already has.
    pub(super) fn order(&self) -> Option<(SortKey, bool)> {
        let order = self.sortr.map(|key| (key, true)).or(self.sort.map(|key| (key, false)));
        order.filter(|order| *order != (SortKey::Path, false))
    }

    /// Returns the patterns of the options and the pattern files, without duplicates. The flag is true if
    /// standard input was read for them.
    pub(super) fn patterns(&self) -> anyhow::Result<(Vec<String>, bool)> {
        if self.files {
            return Ok((Vec::new(), false));
        }
        let mut patterns = self.patterns.clone();
        let mut read_stdin = false;
        for file in &self.pattern_files {
            let is_stdin = file.as_os_str() == "-";
            read_stdin |= is_stdin;
            patterns.extend(match is_stdin {
                true => grep_cli::patterns_from_stdin()?,
                false => grep_cli::patterns_from_path(file)?,
            });
        }
        if self.patterns.is_empty() && self.pattern_files.is_empty() {
            patterns.extend(self.pattern.clone());
        }
        let mut seen = std::collections::HashSet::new();
        patterns.retain(|pattern| seen.insert(pattern.clone()));
        Ok((patterns, read_stdin))
    }

    /// Returns the paths that the user named. With `-e`, `-f` or `--files`, the first operand is a path, too.
    pub(super) fn paths(&self) -> Vec<&str> {
        let has_patterns = !self.patterns.is_empty() || !self.pattern_files.is_empty() || self.files;
        let first = self.pattern.as_deref().filter(|_| has_patterns);
        first.into_iter().chain(self.paths.iter().map(String::as_str)).collect()
    }

    /// Returns false if the options rule out every result.
    pub(super) fn can_match(&self, patterns: &[String]) -> bool {
        self.files || self.max_count != Some(0) && (!patterns.is_empty() || self.invert_match)
    }

    /// Returns true if hidden files are searched.
    pub(super) fn includes_hidden(&self) -> bool {
        self.hidden || self.unrestricted > 1
    }

    /// Returns true if files that rules ignore are searched.
    pub(super) fn includes_ignored(&self) -> bool {
        self.no_ignore || self.unrestricted > 0
    }

    /// Returns true if binary files are searched, too.
    pub(super) fn reads_bytes(&self) -> bool {
        self.text || self.binary || self.unrestricted > 2
    }

    /// Returns the options for compiling the pattern.
    pub(super) fn pattern_options(&self) -> forage_search::PatternOptions {
        forage_search::PatternOptions {
            case: self.case(),
            literal: self.fixed_strings,
            word: self.word_regexp,
            multiline: self.multiline,
            ..forage_search::PatternOptions::default()
        }
    }

    pub(super) fn case(&self) -> forage_search::Case {
        match (self.ignore_case, self.smart_case) {
            (true, _) => forage_search::Case::Insensitive,
            (_, true) => forage_search::Case::Smart,
            _ => forage_search::Case::Sensitive,
        }
    }
}

/// The file types of `-t` and `-T`. Their order matters: later ones win.
#[derive(Debug, Default)]
pub(super) struct ChosenTypes(pub(super) Vec<TypeChoice>);

/// A file type of `-t`, or of `-T` if `is_left_out`.
#[derive(Clone, Debug)]
pub(super) struct TypeChoice {
    pub(super) name: String,
    pub(super) is_left_out: bool,
}

impl ChosenTypes {
    const SELECT: &str = "type";
    const NEGATE: &str = "type-not";

    /// Returns the names of the types of `-t`.
    pub(super) fn selected(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|choice| !choice.is_left_out).map(|choice| choice.name.as_str())
    }
}

impl clap::Args for ChosenTypes {
    fn augment_args(command: clap::Command) -> clap::Command {
        let option = |id: &'static str, short: char| {
            let option = clap::Arg::new(id).short(short).long(id).value_name("TYPE");
            option.action(clap::ArgAction::Append).help_heading("Files")
        };
        let select = "Search only files of a type, such as rust or py (repeatable)";
        command
            .arg(option(Self::SELECT, 't').help(select))
            .arg(option(Self::NEGATE, 'T').help("Exclude files of a type; of -t and -T the later one wins"))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for ChosenTypes {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let chosen = |id: &str, is_left_out: bool| -> Vec<(usize, TypeChoice)> {
            let places = matches.indices_of(id).into_iter().flatten();
            let names = matches.get_many::<String>(id).into_iter().flatten();
            places.zip(names.map(|name| TypeChoice { name: name.clone(), is_left_out })).collect()
        };
        let mut all = chosen(Self::SELECT, false);
        all.extend(chosen(Self::NEGATE, true));
        all.sort_by_key(|(place, _)| *place);
        Ok(Self(all.into_iter().map(|(_, choice)| choice).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
