//! `forage grep`.

use anyhow::bail;
use forage_fs::RelPath;
use forage_tools::tools::{GrepOutput, GrepRequest, GrepSearch, grep_stream};
use forage_tools::{Context, Tool as _};

use super::output::Terminal;
use super::session::{self, path_argument};
use super::{Global, Status};
use crate::config::CommandLineSettings;

/// Stands for standard input among paths.
const STREAM: &str = "-";

const EXAMPLES: &str = "\
Examples:
  forage grep 'fn \\w+_stamp' src               matching lines by file, with exact totals
  forage grep -w -t rust -g '!tests/**' retry   whole words, in files of a kind, without a directory
  forage grep -F -e 'a[0]' -e 'b[0]' src lib    plain texts, in two directories
  forage grep -c TODO                           how many lines of each file
  git diff | forage grep '^\\+.*unwrap' -        in what another command prints
  forage grep --uses parse_header               where it is defined, then who uses it, by function";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Regular expression to search for, matched line by line; with -e, the first path
    #[arg(required_unless_present = "patterns")]
    pattern: Option<String>,
    /// Directories or files to search; each has an answer of its own; `-` is standard input [default: the working directory]
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Pattern to search for; may be given several times: a line with any of them matches
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Match without regard to case
    #[arg(short, long)]
    ignore_case: bool,
    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,
    /// The patterns are plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Find the lines that do not match
    #[arg(short = 'v', long, conflicts_with = "uses")]
    invert_match: bool,
    /// Lines of context around each match [default: 2]
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<i64>,
    /// Lines of context after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<i64>,
    /// Lines of context before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<i64>,
    /// Print only the paths of files with matches
    #[arg(short = 'l', long, conflicts_with_all = ["count", "uses"])]
    files_with_matches: bool,
    /// Print only how many lines of each file match
    #[arg(short, long, conflicts_with = "uses")]
    count: bool,
    /// The pattern is a name: print where it is defined, then the lines that use it, by the definitions that they stand in
    #[arg(long)]
    uses: bool,
    /// Files to search: by name ('*.py'), or by path if it has a slash ('src/**/*.rs'); '!' excludes; may be given several
    /// times
    #[arg(short = 'g', long, value_name = "GLOB", visible_alias = "file-pattern")]
    glob: Vec<String>,
    /// Search only files of a type that ripgrep knows, such as rust or py; may be given several times
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Leave out files of a type
    #[arg(short = 'T', long = "type-not", value_name = "TYPE")]
    types_not: Vec<String>,
    /// Matching lines, or files, to show [default: 50; files 200]
    #[arg(short, long, value_name = "N", visible_alias = "max-count")]
    max_results: Option<i64>,
    /// Search ignored and hidden files too
    #[arg(short = 'u', long)]
    include_ignored: bool,
    /// Lines are numbered in any case
    #[arg(short = 'n', long, hide = true)]
    line_number: bool,
    /// Go on where a previous answer ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Arguments {
    /// Whether each of several paths has an answer of its own.
    pub(super) fn is_about_several(&self) -> bool {
        self.question().1.len() > 1
    }

    /// What is searched for, and where.
    fn question(&self) -> (String, Vec<&str>) {
        let paths = self.paths.iter().map(String::as_str);
        match (self.patterns.as_slice(), &self.pattern) {
            ([], pattern) => (pattern.clone().unwrap_or_default(), paths.collect()),
            ([only], path) => (only.clone(), path.as_deref().into_iter().chain(paths).collect()),
            (several, path) => {
                let part = |pattern: &String| match self.fixed_strings {
                    true => format!("(?:{})", forage_search::escape(pattern)),
                    false => format!("(?:{pattern})"),
                };
                let all: Vec<String> = several.iter().map(part).collect();
                (all.join("|"), path.as_deref().into_iter().chain(paths).collect())
            }
        }
    }

    /// The globs of the options that choose files, between commas.
    fn globs(&self) -> anyhow::Result<Option<String>> {
        let mut globs = self.glob.clone();
        if !self.types.is_empty() && globs.iter().any(|glob| !glob.starts_with('!')) {
            bail!("-t and -g both choose files; give one glob for both, such as -g 'src/**/*.rs'");
        }
        for (names, mark) in [(&self.types, ""), (&self.types_not, "!")] {
            for name in names {
                let Some(of_type) = forage_fs::globs_of_type(name) else {
                    bail!("{name} is not a type of files that is known; give -g GLOB");
                };
                globs.extend(of_type.into_iter().map(|glob| format!("{mark}{glob}")));
            }
        }
        Ok((!globs.is_empty()).then(|| globs.join(",")))
    }

    fn output(&self) -> Option<GrepOutput> {
        let modes = [
            (self.files_with_matches, GrepOutput::Files),
            (self.count, GrepOutput::Counts),
            (self.uses, GrepOutput::Uses),
        ];
        modes.into_iter().find_map(|(is_on, output)| is_on.then_some(output))
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let (pattern, paths) = arguments.question();
    let is_stream = paths.contains(&STREAM);
    if is_stream && paths.len() > 1 {
        bail!("{STREAM} is standard input, which is searched alone; a file of that name is ./{STREAM}");
    }
    let first = paths.first().copied().filter(|_| !is_stream);
    let context = session::open(global, CommandLineSettings::default(), GrepSearch::NAME, first, output)?;
    let mut request = GrepRequest::new(pattern);
    request.file_pattern = arguments.globs()?;
    request.output = arguments.output();
    request.context_lines = arguments.context;
    request.after_context = arguments.after_context;
    request.before_context = arguments.before_context;
    request.max_results = arguments.max_results;
    request.ignore_case = Some(arguments.ignore_case);
    request.word_regexp = Some(arguments.word_regexp);
    // Several have become one regular expression.
    request.fixed_strings = Some(arguments.fixed_strings && arguments.patterns.len() < 2);
    request.invert_match = Some(arguments.invert_match);
    request.include_ignored = Some(arguments.include_ignored);
    request.cursor.clone_from(&arguments.cursor);
    if is_stream {
        let name = RelPath::parse("<stdin>", &RelPath::root())?;
        let call = |context: &Context| grep_stream(context, request, &name, &mut std::io::stdin().lock());
        let refused = |error| session::for_people(error, &context.names);
        return session::print(GrepSearch::NAME, &context, output, call, refused);
    }
    if paths.len() < 2 {
        request.path = Some(path_argument(&context, first)?);
        return session::call::<GrepSearch>(request, &context, output);
    }
    if request.cursor.is_some() {
        bail!("a cursor belongs to one path; give the path that it came from alone");
    }
    output.answer_several();
    let mut status = Status::NothingFound;
    for path in paths {
        let mut request = request.clone();
        request.path = Some(path_argument(&context, Some(path))?);
        match session::answer::<GrepSearch>(request, &context, output)? {
            Status::NothingFound => {}
            Status::Found if status != Status::NothingFound => {}
            other => status = other,
        }
    }
    session::explain(&context, output);
    Ok(status)
}
