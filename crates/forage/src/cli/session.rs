//! Opens the workspace of a call from configuration and arguments, runs the call and prints its answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use forage_fs::{
    Globs, RelPath, Root, RootError, RootPolicy, Roots, SecretPolicy, SkipReason, project_around,
};
use forage_mcp::Profile;
use forage_redact::Redactor;
use forage_tools::index_manager::{self, Lifetime};
use forage_tools::registry::{self, AnyTool};
use forage_tools::{
    Answer, AskedTool, Call, CallLimits, CallProblem, ErrorCode, FilterSettings, Indexes, Tool, ToolError,
    ToolNames, Workspace, sanitize, telemetry,
};
use serde_json::Value;

use super::output::Terminal;
use super::phrasing::CliPhrasing;
use super::progress::ProgressBar;
use super::user_error::UserError;
use super::{Global, Status, signals};
use crate::call_log::CallLog;
use crate::config::{self, CommandLineSettings, Config, Needs};
use crate::phrasing::AgentPhrasing;

/// What a command opens a session for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<'a> {
    /// The tool whose needs the command has.
    tool: &'a str,
    /// See [`Needs::is_plain`].
    is_plain: bool,
}

impl<'a> From<&'a str> for Purpose<'a> {
    fn from(tool: &'a str) -> Self {
        Self { tool, is_plain: false }
    }
}

impl<'a> Purpose<'a> {
    /// Creates the purpose of a command that only prints the text of files to a person.
    pub(crate) fn plain(tool: &'a str) -> Self {
        Self { tool, is_plain: true }
    }
}

/// Loads the configuration, enters the sandbox for the purpose, and opens the roots. This is for commands
/// that answer a person, so files are not redacted. `path` is a path that the user named. If the user gave no
/// root and the path is outside of the default root, the path's own project becomes the root.
pub(crate) fn open<'a>(
    global: &Global,
    given: CommandLineSettings,
    purpose: impl Into<Purpose<'a>>,
    path: Option<&str>,
    output: &mut Terminal,
) -> anyhow::Result<Workspace> {
    open_for_paths(global, given, purpose, path.as_slice(), output)
}

/// Like [`open`], but for any number of paths.
pub(crate) fn open_for_paths<'a>(
    global: &Global,
    given: CommandLineSettings,
    purpose: impl Into<Purpose<'a>>,
    paths: &[&str],
    output: &mut Terminal,
) -> anyhow::Result<Workspace> {
    let Purpose { tool, is_plain } = purpose.into();
    let needs = |config: &Config| Needs { is_plain, ..config.needs_of_tool(tool) };
    let (mut workspace, _) = open_with_config(global, given, needs, paths, output)?;
    workspace.redactor = Arc::new(Redactor::off());
    workspace.names = Arc::new(ToolNames::clone(&workspace.names).with_phrasing(&CliPhrasing));
    Ok(workspace)
}

/// Like [`open`], but for a command that passes answers of tools on, e.g. to a model. Secrets in these are
/// redacted according to the configuration, which this also returns.
pub(crate) fn open_with_config(
    global: &Global,
    given: CommandLineSettings,
    needs: impl FnOnce(&Config) -> Needs,
    paths: &[&str],
    output: &mut Terminal,
) -> anyhow::Result<(Workspace, Config)> {
    let config = load(global, given)?;
    let working = config::working_directory()?;
    let directories = directories(&config, &working, paths);
    let filter = config.filter_settings()?;
    // The thread that writes telemetry must be started before we enter the sandbox.
    let (lookup, mut observers) = (config.lookup_settings(), config.observers("command"));
    let missing = paths.iter().find(|path| is_missing(&named(&working, path)));
    config.enter_sandbox(&directories, &needs(&config))?;
    let (mut workspace, config) = match (workspace_below(config, &directories, &working, filter), missing) {
        // A path that does not exist has no project around it, so the error would be about its parents.
        (Err(_), Some(missing)) => {
            let text = sanitize(&format!("{missing} does not exist"));
            return Err(UserError { code: ErrorCode::Path, text }.into());
        }
        (opened, _) => opened?,
    };
    workspace.indexes = indexes(&config, &workspace, Lifetime::Search);
    workspace.lookup = lookup;
    if global.verbose {
        observers.telemetry.push(Arc::new(CallLog));
    }
    workspace.observers = observers;
    workspace.stop = signals::stop()?;
    for notice in &config.notices {
        output.note(notice);
    }
    Ok((workspace, config))
}

/// Returns the indexes that a command should use.
pub(crate) fn indexes(
    config: &Config,
    workspace: &Workspace,
    lifetime: Lifetime,
) -> Option<Arc<dyn Indexes>> {
    index_manager::for_roots(&config.indexes(lifetime)?, &workspace.roots)
}

/// Determines the directories that will become the roots.
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

/// Creates the workspace of these directories. Also returns the configuration as narrowed by their
/// repositories.
pub(crate) fn workspace_below(
    mut config: Config,
    directories: &[PathBuf],
    working: &Path,
    filter: FilterSettings,
) -> anyhow::Result<(Workspace, Config)> {
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
    let mut workspace = workspace(&config, Roots::new(roots, base)?)?;
    workspace.search = search;
    workspace.filter = FilterSettings { cache, ..filter };
    Ok((workspace, config))
}

/// Opens a root, if the configuration allows this.
pub(crate) fn open_root(config: &Config, directory: &Path) -> anyhow::Result<Arc<Root>> {
    let policy = RootPolicy { home: config.home.clone(), allow_broad: config.settings.allow_broad_root };
    // The message already contains that of the error's source.
    Root::open(directory, &policy, SecretPolicy::standard(&config.settings.secrets.allow)).map_err(|error| {
        anyhow::anyhow!("{error}{}", config.names().with_phrasing(&CliPhrasing).hint(error.hint()))
    })
}

/// Loads the configuration and applies the settings of the command line.
pub(crate) fn load(global: &Global, given: CommandLineSettings) -> anyhow::Result<Config> {
    config::load(global.config.as_deref(), with_flags(global, given))
}

/// Merges the global options into the settings of the command line.
pub(crate) fn with_flags(global: &Global, given: CommandLineSettings) -> CommandLineSettings {
    let mut settings = global.settings.given.clone();
    settings.extend(given.settings);
    CommandLineSettings { roots: global.root.clone(), settings, ..given }
}

fn workspace(config: &Config, roots: Roots) -> anyhow::Result<Workspace> {
    let mut workspace = Workspace::new(roots);
    let limits = &config.settings.limits;
    workspace.limits = CallLimits {
        text_bytes: limits.text_bytes.unwrap_or(workspace.limits.text_bytes),
        max_file_bytes: limits.max_file_bytes,
        timeout: Duration::from_millis(limits.timeout_ms),
        threads: limits.threads,
        code_tokens: config.settings.tool("search_index").code_tokens,
        ..workspace.limits
    };
    workspace.excludes = excludes(config)?;
    workspace.dependencies = config.dependency_stores().map(Arc::new);
    workspace.redactor = Arc::new(config.redactor());
    workspace.names = Arc::new(config.names());
    Ok(workspace)
}

/// Compiles the globs of `search.exclude`. No command may show the files that they exclude.
pub(crate) fn excludes(config: &Config) -> anyhow::Result<Option<Globs>> {
    if config.settings.search.exclude.is_empty() {
        return Ok(None);
    }
    let globs: Vec<String> = config.settings.search.exclude.iter().map(|glob| format!("!{glob}")).collect();
    let globs = Globs::new(&globs).map_err(anyhow::Error::msg).context("`search.exclude`")?;
    Ok(Some(globs.labelled("search.exclude of the configuration")))
}

/// Determines the root for a path that the user named. This is the project around the working directory or,
/// if the path is outside of that, the project around the path.
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

/// Makes a path that the user named absolute. Links outside of the project are the user's own, so we resolve
/// them. Links inside the project belong to the repository, so we must leave these to the confined file
/// access.
fn named(working: &Path, path: &str) -> PathBuf {
    let absolute = normal(&working.join(path));
    match absolute.starts_with(project_around(working, None)) {
        true => absolute,
        false => forage_fs::canonical(&absolute).unwrap_or(absolute),
    }
}

fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// Resolves `.` and `..` lexically. This need not be exact in the presence of links, because the actual file
/// is determined when it is opened.
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

/// Returns the working directory relative to a root, or `None` if it is outside of that root or not UTF-8.
fn base_below(root: &Root, working: &Path) -> Option<RelPath> {
    let below = working.strip_prefix(root.path()).ok()?;
    RelPath::from_bytes(below.to_str()?.as_bytes(), &RelPath::root()).ok()
}

/// Makes a path that the user named absolute, for commands that do not use [`path_argument`].
pub(crate) fn absolute(path: &str) -> anyhow::Result<String> {
    Ok(named(&config::working_directory()?, path).display().to_string())
}

/// Converts a path argument to the form that tools accept. Users give paths relative to the working
/// directory. But they may also copy a path from an answer, which is relative to the root. So the path is
/// left unchanged if the working directory contains no such file, or if the file is outside of the roots.
/// Without an argument, this is the working directory if a root contains it.
pub(crate) fn path_argument(workspace: &Workspace, path: Option<&str>) -> anyhow::Result<String> {
    let Some(path) = path else {
        // If there is more than one root, all of them are searched, whatever the working directory is.
        let is_one = workspace.roots.all().len() == 1;
        return Ok(if is_one { workspace.roots.base().display().into_owned() } else { ".".to_owned() });
    };
    // Answers quote an unusual path. The tools accept this form, but it is not the name of a file.
    if path.starts_with('"') {
        return Ok(path.to_owned());
    }
    let absolute = named(&config::working_directory()?, path);
    let text = absolute.to_str().filter(|text| absolute.exists() && workspace.roots.find(text).is_ok());
    Ok(text.unwrap_or(path).to_owned())
}

/// Like [`answer`], but with `--explain`, this also prints how the indexes were used.
pub(crate) fn call<T: Tool>(
    request: T::Request,
    workspace: &Workspace,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let status = answer::<T>(request, workspace, output);
    explain(workspace, &workspace.roots, output);
    status
}

/// Like [`call`], but for a tool that the user named and a JSON request. An error describes the form that a
/// call should have.
pub(crate) fn call_tool(
    tool: &dyn AnyTool,
    request: Value,
    workspace: &Workspace,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let run = |call: &Call| tool.call(call, request.clone());
    let status = print(tool.id(), workspace, output, run, |error| match error {
        ToolError::Cancelled => error.into(),
        error => {
            let text = registry::refusal(tool, &workspace.start_call(), request.clone(), &error);
            UserError { code: error.code(), text }.into()
        }
    });
    explain(workspace, &workspace.roots, output);
    status
}

/// Turns a workspace into one for an agent's call, so that the answer is the one that a server would give to an
/// unknown client. Paths are then relative to whole roots, and tool names and the text limit are those of the
/// server.
pub(crate) fn for_agent(
    workspace: &mut Workspace,
    config: &Config,
    tool: &dyn AnyTool,
) -> anyhow::Result<()> {
    workspace.roots = about_whole_roots(&workspace.roots)?;
    let tools = registry::advertised(&config.served_tools())?;
    workspace.names = Arc::new(config.settings.mcp.profile.names(&tools, Profile::unknown(), &AgentPhrasing));
    if !config.has_text_bytes() {
        workspace.limits.text_bytes = Profile::unknown().text_bytes(tool);
    }
    Ok(())
}

/// Returns the same roots, but for a caller who asks about whole roots even if the working directory is
/// inside one.
pub(crate) fn about_whole_roots(roots: &Roots) -> Result<Roots, RootError> {
    let standing = roots.base().clone();
    Ok(Roots::new(roots.all().to_vec(), RelPath::root())?.with_working_directory(standing))
}

/// Runs a tool and prints its answer.
pub(crate) fn answer<T: Tool>(
    request: T::Request,
    workspace: &Workspace,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let run = |call: &Call| registry::answer::<T>(call, request);
    print(T::NAME, workspace, output, run, |error| for_people(T::NAME, error, &workspace.names))
}

/// Runs a call and prints its answer. `tool` is the id of the tool. `refused` converts the error of a call
/// that fails.
pub(crate) fn print(
    tool: &str,
    workspace: &Workspace,
    output: &mut Terminal,
    run: impl FnOnce(&Call) -> Result<Answer, ToolError>,
    refused: impl FnOnce(ToolError) -> anyhow::Error,
) -> anyhow::Result<Status> {
    let answer = {
        let call = workspace.start_call();
        let _progress = ProgressBar::for_call(&call.progress, "searching");
        // We must not record the arguments of a person's own calls.
        let asked =
            AskedTool { name: workspace.names.called(tool), id: tool, arguments: None, asks_models: true };
        telemetry::watched(&asked, &call, run).map_err(refused)?
    };
    if output.wants_json() {
        output.value(answer.records())?;
    } else {
        output.answer(&answer)?;
    }
    let status = ended(workspace, (answer.found, answer.partial()), answer.problem.as_ref(), output);
    let is_unread = answer.head.skipped.contains_key(SkipReason::Unreadable.name());
    // As in ripgrep, an unreadable file is an error even if there are matches.
    Ok(match status {
        Status::Found | Status::NothingFound if is_unread => Status::Failed,
        status => status,
    })
}

/// Determines the status of a completed call. If a problem prevented it from finding anything, this prints
/// the problem.
pub(super) fn ended(
    workspace: &Workspace,
    (found, partial): (bool, bool),
    problem: Option<&CallProblem>,
    output: &mut Terminal,
) -> Status {
    if let Some(problem) = problem {
        output.failure(&with_option(&problem.text), problem.code);
    }
    match (found, problem) {
        _ if partial && workspace.stop.is_cancelled() => Status::Interrupted,
        (true, _) => Status::Found,
        (false, None) => Status::NothingFound,
        (false, Some(_)) => Status::Failed,
    }
}

/// If the problem asks for more time, adds the option for that.
fn with_option(problem: &str) -> String {
    if problem.ends_with("more time") { format!("{problem} with --timeout-ms") } else { problem.to_owned() }
}

/// With `--explain`, prints how the last search used the indexes of the roots.
pub(crate) fn explain(workspace: &Workspace, roots: &Roots, output: &mut Terminal) {
    if !output.wants_explanation() {
        return;
    }
    for root in roots.all() {
        let said = match workspace.index(root) {
            Some(index) => index.explain(),
            None => Some("none, so every file is read; `forage index build` creates one".to_owned()),
        };
        for line in said.iter().flat_map(|said| said.lines()) {
            output.note(&format!("index of {}: {line}", root.path().display()));
        }
    }
}

/// Words an error of a tool for people. The message already contains those of its sources. We pass
/// `Cancelled` through, so that the caller can distinguish an interrupted call from other errors.
pub(super) fn for_people(tool: &str, error: ToolError, names: &ToolNames) -> anyhow::Error {
    let text = match &error {
        ToolError::Cancelled => return error.into(),
        ToolError::NoModel { looked_for, .. } => format!("{}\n{looked_for}", error.message(tool, names)),
        _ => error.message(tool, names),
    };
    UserError { code: error.code(), text }.into()
}
