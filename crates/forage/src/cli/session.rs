//! From configuration and arguments to the context of a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use forage_fs::{
    Globs, RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy, SkipReason, project_around,
};
use forage_llm::Redactor;
use forage_mcp::Profile;
use forage_tools::kept::{self, Lifetime};
use forage_tools::registry::{self, AnyTool};
use forage_tools::{
    Answer, AskedTool, CallProblem, Context, FilterSettings, Indexes, Tool, ToolError, ToolNames, telemetry,
};
use serde_json::Value;

use super::manner::ForPeople;
use super::output::Terminal;
use super::progress::ProgressBar;
use super::told::ToldError;
use super::{Global, Status, signals};
use crate::call_log::logged;
use crate::config::{self, CommandLineSettings, Config, Needs};
use crate::manner::ForAgents;

/// Reads the configuration, puts up the kernel's wall for calls of `tool`, and opens the roots, for a command whose answer a
/// person gets, who sees files as they are. `path` is a path that they named: when no root was given and it lies outside of
/// the default one, its own project becomes the root.
pub(crate) fn open(
    global: &Global,
    given: CommandLineSettings,
    tool: &str,
    path: Option<&str>,
    output: &mut Terminal,
) -> anyhow::Result<Context> {
    open_for_paths(global, given, tool, path.as_slice(), output)
}

/// As [`open`], for several paths.
pub(crate) fn open_for_paths(
    global: &Global,
    given: CommandLineSettings,
    tool: &str,
    paths: &[&str],
    output: &mut Terminal,
) -> anyhow::Result<Context> {
    let needs = |config: &Config| config.needs_of_tool(tool);
    let (mut context, _) = open_with_config(global, given, needs, paths, output)?;
    context.redactor = Arc::new(Redactor::off());
    context.names = Arc::new(ToolNames::clone(&context.names).told(&ForPeople));
    Ok(context)
}

/// As [`open`], with the configuration, for a command that hands answers of tools on: their secrets are taken out as the
/// configuration says.
pub(crate) fn open_with_config(
    global: &Global,
    given: CommandLineSettings,
    needs: impl FnOnce(&Config) -> Needs,
    paths: &[&str],
    output: &mut Terminal,
) -> anyhow::Result<(Context, Config)> {
    let config = load(global, given)?;
    let working = config::working_directory()?;
    let directories = directories(&config, &working, paths);
    let filter = config.filter_settings()?;
    let (lookup, observers) = (config.lookup_settings(), config.observers("command"));
    config.wall_in(&directories, &needs(&config))?;
    let (mut context, config) = beneath(config, &directories, &working, filter)?;
    context.indexes = indexes(&config, &context, Lifetime::Search);
    context.lookup = lookup;
    context.observers = if global.verbose { logged(observers) } else { observers };
    context.stop = signals::stop()?;
    for notice in &config.notices {
        output.note(notice);
    }
    Ok((context, config))
}

/// The indexes that a command uses.
pub(crate) fn indexes(config: &Config, context: &Context, lifetime: Lifetime) -> Option<Arc<dyn Indexes>> {
    kept::for_roots(&config.indexes(lifetime)?, &context.roots)
}

/// The directories that become the roots.
pub(crate) fn directories(config: &Config, working: &Path, paths: &[&str]) -> Vec<PathBuf> {
    if paths.is_empty() || !config.settings.roots.is_empty() {
        return config.own_directories(working);
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    for path in paths {
        let directory = root_of_path(working, path, config.home.as_deref());
        if !directories.iter().any(|other| directory.starts_with(other)) {
            directories.retain(|other| !other.starts_with(&directory));
            directories.push(directory);
        }
    }
    directories
}

/// The context of calls beneath these directories, and the configuration that their repositories have narrowed.
pub(crate) fn beneath(
    mut config: Config,
    directories: &[PathBuf],
    working: &Path,
    filter: FilterSettings,
) -> anyhow::Result<(Context, Config)> {
    let roots: Vec<_> = directories.iter().map(|it| open_root(&config, it)).collect::<Result<_, _>>()?;
    config::narrow(&mut config, &roots);
    let base = roots.first().and_then(|root| base_below(root, working)).unwrap_or_else(RelPath::root);
    let paths: Vec<&Path> = roots.iter().map(|root| root.path()).collect();
    let search = config.search_settings(&paths);
    let cache = config.answer_cache(&paths).unwrap_or_else(|problem| {
        config.notices.push(problem);
        None
    });
    config.notices.extend(config.telemetry_problem());
    config.notices.extend(config.journal_problem());
    let mut context = context(&config, Roots::new(roots, base)?)?;
    context.search = search;
    context.filter = FilterSettings { cache, ..filter };
    Ok((context, config))
}

/// Opens a root as the configuration allows.
pub(crate) fn open_root(config: &Config, directory: &Path) -> anyhow::Result<Arc<Root>> {
    let policy = RootPolicy { home: config.home.clone(), allow_broad: config.settings.allow_broad_root };
    // The message says what its source says.
    Root::open(directory, &policy, SecretPolicy::standard(&config.settings.secrets.allow))
        .map_err(|error| anyhow::anyhow!("{error}{}", config.names().told(&ForPeople).hint(error.hint())))
}

/// Reads the configuration with what the command line says.
pub(crate) fn load(global: &Global, given: CommandLineSettings) -> anyhow::Result<Config> {
    config::load(global.config.as_deref(), with_flags(global, given))
}

/// What the command line says.
pub(crate) fn with_flags(global: &Global, given: CommandLineSettings) -> CommandLineSettings {
    let mut settings = global.settings.given.clone();
    settings.extend(given.settings);
    CommandLineSettings { roots: global.root.clone(), settings, ..given }
}

fn context(config: &Config, roots: Roots) -> anyhow::Result<Context> {
    let mut context = Context::new(roots);
    context.text_bytes = config.settings.limits.text_bytes.unwrap_or(forage_tools::limits::TEXT_BYTES);
    context.timeout = std::time::Duration::from_millis(config.settings.limits.timeout_ms);
    context.max_file_bytes = config.settings.limits.max_file_bytes;
    context.threads = config.settings.limits.threads;
    context.code_tokens = config.settings.tool("search_index").code_tokens;
    context.excludes = excludes(config)?;
    context.redactor = Arc::new(config.redactor());
    context.names = Arc::new(config.names());
    Ok(context)
}

/// Files that are left out of everything.
pub(crate) fn excludes(config: &Config) -> anyhow::Result<Option<Globs>> {
    if config.settings.search.exclude.is_empty() {
        return Ok(None);
    }
    let globs: Vec<String> = config.settings.search.exclude.iter().map(|glob| format!("!{glob}")).collect();
    let globs = Globs::new(&globs).map_err(anyhow::Error::msg).context("`search.exclude`")?;
    Ok(Some(globs.labelled("search.exclude of the configuration")))
}

/// The root for a person's command that names a path: the project around the working directory, or, when the path lies
/// elsewhere, the project around that.
fn root_of_path(working: &Path, path: &str, home: Option<&Path>) -> PathBuf {
    let here = project_around(working, home);
    let too_broad = here.parent().is_none() || home.is_some_and(|home| home.starts_with(&here));
    let named = named(working, path);
    if named.starts_with(&here) && !too_broad {
        return here;
    }
    let directory = if named.is_dir() { named.as_path() } else { named.parent().unwrap_or(&named) };
    project_around(directory, home)
}

/// The absolute path that a person named. A link on the way is followed when it lies outside of the project, where
/// it is the person's own; a link within it is the repository's, and left to the confined disk.
fn named(working: &Path, path: &str) -> PathBuf {
    let absolute = normal(&working.join(path));
    match absolute.starts_with(project_around(working, None)) {
        true => absolute,
        false => forage_fs::canonical(&absolute).unwrap_or(absolute),
    }
}

/// Folds `.` and `..` by name; what is really there is found out when it is opened.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut folded = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                folded.pop();
            }
            Component::CurDir => {}
            other => folded.push(other),
        }
    }
    folded
}

/// The working directory below a root; the root itself when it lies elsewhere.
fn base_below(root: &Root, working: &Path) -> Option<RelPath> {
    let below = working.strip_prefix(root.path()).ok()?;
    RelPath::from_bytes(below.to_str()?.as_bytes(), &RelPath::root()).ok()
}

/// The absolute path that a person named, for a command that takes no other path for it.
pub(crate) fn absolute(path: &str) -> anyhow::Result<String> {
    Ok(named(&config::working_directory()?, path).display().to_string())
}

/// A path argument as the tools take it. A person means it from the working directory; a path copied from an answer
/// begins at the root, and is left as it is when the working directory has nothing of that name in a root. Without
/// one, the working directory, if a root holds it.
pub(crate) fn path_argument(context: &Context, path: Option<&str>) -> anyhow::Result<String> {
    let Some(path) = path else {
        // Of several roots all are meant, wherever somebody stands.
        let is_one = context.roots.all().len() == 1;
        return Ok(if is_one { context.roots.base().display().into_owned() } else { ".".to_owned() });
    };
    if path.starts_with('"') {
        return Ok(path.to_owned());
    }
    let absolute = named(&config::working_directory()?, path);
    let text = absolute.to_str().filter(|text| absolute.exists() && context.roots.find(text).is_ok());
    Ok(text.unwrap_or(path).to_owned())
}

/// Runs a tool that searches lines, prints its answer, and what the indexes could tell if that was asked for.
pub(crate) fn call<T: Tool>(
    request: T::Request,
    context: &Context,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let status = answer::<T>(request, context, output);
    explain(context, output);
    status
}

/// The same for a tool that a caller named, with its request as JSON. An error says what the call would have to look like.
pub(crate) fn call_tool(
    tool: &dyn AnyTool,
    request: Value,
    context: &Context,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let call = |context: &Context| tool.call(context, request.clone());
    let status = print(tool.id(), context, output, call, |error| match error {
        ToolError::Cancelled => error.into(),
        error => {
            let text = registry::refusal(tool, context, request.clone(), &error);
            ToldError { code: error.code(), text }.into()
        }
    });
    explain(context, output);
    status
}

/// Makes a context that of an agent's calls, which a server answers to a client that is not known: they are about whole roots,
/// and have its names of tools and its bytes.
pub(crate) fn for_agent(context: &mut Context, config: &Config, tool: &dyn AnyTool) -> anyhow::Result<()> {
    context.roots = about_whole_roots(&context.roots)?;
    let tools = registry::advertised(&config.served_tools())?;
    context.names = Arc::new(config.settings.mcp.profile.names(&tools, Profile::unknown(), &ForAgents));
    if !config.has_text_bytes() {
        context.text_bytes = Profile::unknown().text_bytes(tool);
    }
    Ok(())
}

/// The same roots for a caller who stands in a part of a project and asks about all of it.
pub(crate) fn about_whole_roots(roots: &Roots) -> Result<Roots, RootError> {
    let standing = roots.base().clone();
    Ok(Roots::new(roots.all().to_vec(), RelPath::root())?.standing_in(standing))
}

/// Runs a tool and prints its answer.
pub(crate) fn answer<T: Tool>(
    request: T::Request,
    context: &Context,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let call = |context: &Context| registry::answer::<T>(context, request);
    print(T::NAME, context, output, call, |error| for_people(T::NAME, error, &context.names))
}

/// Prints the answer of a call of the tool with this name of its own, or returns its error as `refused` has it.
pub(crate) fn print(
    tool: &str,
    context: &Context,
    output: &mut Terminal,
    call: impl FnOnce(&Context) -> Result<Answer, ToolError>,
    refused: impl FnOnce(ToolError) -> anyhow::Error,
) -> anyhow::Result<Status> {
    let answer = {
        let _progress = ProgressBar::of(&context.progress, "searching");
        // What a person asks for themselves is nothing to be kept.
        let asked =
            AskedTool { name: context.names.called(tool), id: tool, arguments: None, asks_models: true };
        telemetry::watched(&asked, context, call).map_err(refused)?
    };
    if output.wants_json() {
        output.value(answer.records())?;
    } else {
        output.answer(&answer)?;
    }
    let status = ended(context, (answer.found, answer.partial()), answer.problem.as_ref(), output);
    let is_unread = answer.head.skipped.contains_key(SkipReason::Unreadable.name());
    // As ripgrep has it: what could not be read is an error, whatever was found.
    Ok(match status {
        Status::Found | Status::NothingFound if is_unread => Status::Failed,
        status => status,
    })
}

/// The status of a call that came to its answer, whether it found anything and whether that is a part; says what kept it from
/// finding anything.
pub(super) fn ended(
    context: &Context,
    (found, partial): (bool, bool),
    problem: Option<&CallProblem>,
    output: &mut Terminal,
) -> Status {
    if let Some(problem) = problem {
        output.failure(&with_option(&problem.text), problem.code);
    }
    match (found, problem) {
        _ if partial && context.stop.is_cancelled() => Status::Interrupted,
        (true, _) => Status::Found,
        (false, None) => Status::NothingFound,
        (false, Some(_)) => Status::Failed,
    }
}

/// What kept a call from finding anything, and how a person gives it more time.
fn with_option(problem: &str) -> String {
    if problem.ends_with("more time") { format!("{problem} with --timeout-ms") } else { problem.to_owned() }
}

/// Says what the indexes of the roots could tell of the last search, if that was asked for.
pub(crate) fn explain(context: &Context, output: &mut Terminal) {
    if !output.wants_explanation() {
        return;
    }
    for root in context.roots.all() {
        let index = context.indexes.as_ref().and_then(|indexes| indexes.of(root));
        let said = match index {
            Some(index) => index.explain(),
            None => Some("there is none, every file is read; `forage index build` makes it".to_owned()),
        };
        for line in said.iter().flat_map(|said| said.lines()) {
            output.note(&format!("index of {}: {line}", root.path().display()));
        }
    }
}

/// The message with what can be done about it: it says what its sources say. That the call was interrupted is left to be told
/// from other errors.
pub(super) fn for_people(tool: &str, error: ToolError, names: &ToolNames) -> anyhow::Error {
    let text = match &error {
        ToolError::Cancelled => return error.into(),
        ToolError::NoModel { looked_for, .. } => format!("{}\n{looked_for}", error.told(tool, names)),
        _ => error.told(tool, names),
    };
    ToldError { code: error.code(), text }.into()
}
