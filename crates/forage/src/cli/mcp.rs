//! `forage mcp`: serves the tools over MCP.

pub(super) mod audit;
mod tokens;
mod unusable;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use forage_base::Stop;
use forage_fs::{find_git_root, project_around};
use forage_mcp::{
    AccessToken, CallOrigin, HttpSettings, McpServer, McpSettings, McpWorkspace, ReadyCheck, ServerMetrics,
    serve_http, serve_stdio,
};
use forage_sandbox::{Level, Starter};
use forage_tools::index_manager::{self, IndexManager, Lifetime};
use forage_tools::registry;
use forage_tools::tools::lookup_fallback;
use forage_tools::{
    CallObservers, FilterMode, FilterSettings, LookupSettings, OutlineCache, Workspace, sanitize,
};

use self::audit::AuditFile;
use self::tokens::TokenRegistry;
use super::output::Terminal;
use super::session::{self, load};
use super::setting_options::SettingOptions;
use super::{Global, Status};
use crate::call_log::CallLog;
use crate::config::{self, CommandLineSettings, Config, Needs, SettingsCommand};
use crate::journal::LiveCalls;
use crate::limits::READINESS_TIME;
use crate::phrasing::AgentPhrasing;
use crate::retrieval::Home;

const EXAMPLES: &str = "\
Examples:
  forage mcp                               for a client on stdio; `forage setup` writes this command into clients
  forage mcp --http 127.0.0.1:8080         for clients over HTTP, at /mcp
  forage mcp --http 127.0.0.1:8080 --tokens tokens.toml --audit calls.jsonl --metrics
                                           for a team, behind a proxy: docs/team.md
  forage mcp --root ~/src/shop --verbose   for one directory, with a log line for each call";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Serve HTTP on this address (127.0.0.1:8080) at /mcp. Clients must send FORAGE_MCP_TOKEN if it is set; an address
    /// that other machines can reach requires it or --tokens
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// File of tokens with names and rights; HTTP clients must send one of them (docs/team.md)
    #[arg(long, value_name = "FILE", requires = "http")]
    tokens: Option<PathBuf>,
    /// Append a line for each call to this file: time, token, tool and outcome
    #[arg(long, value_name = "FILE", requires = "http")]
    audit: Option<PathBuf>,
    /// Serve metrics for Prometheus at /metrics
    #[arg(long, requires = "http")]
    metrics: bool,
    /// Another host name that HTTP clients may use (repeatable)
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Sessions for HTTP clients of older protocol revisions, which can then offer roots and a model
    #[arg(long, value_name = "N", requires = "http", default_value_t = 0)]
    sessions: usize,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Mcp as u8 }>,
    /// Serve only inside the kernel's sandbox (Linux with Landlock)
    #[arg(long)]
    require_sandbox: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let ReadyServer { server, indexes, team, readiness, metrics, calls: _calls } =
        match served(arguments, global, output) {
            Ok(served) => served,
            // The person who starts an HTTP server will read the error, so we can just fail.
            Err(error) if arguments.http.is_some() => return Err(error),
            Err(error) => {
                let form = arguments.settings.given.get("mcp.output").unwrap_or_default();
                return unusable::serve(error, form, arguments.require_sandbox, output);
            }
        };
    let shutdown = server.shutdown().clone();
    match arguments.http {
        None => {
            // Even if the session fails, `end` must save what has been read for an index.
            let served = serve_stdio(server, &shutdown);
            indexes.inspect(|indexes| indexes.end());
            served.context("the session ended with an error")?;
        }
        Some(address) => {
            let of_all = config::mcp_token().map(|text| {
                AccessToken::shared(&text)
                    .context("FORAGE_MCP_TOKEN contains characters that HTTP headers do not allow")
            });
            let settings = HttpSettings {
                tokens: of_all.transpose()?.into_iter().chain(team).collect(),
                hosts: arguments.allow_host.clone(),
                sessions: arguments.sessions,
                ready: Some(readiness),
                metrics,
                shows_metrics: arguments.metrics,
                ..HttpSettings::at(address)
            };
            let served = serve_http(server, &settings, &shutdown, |address| {
                output.note(&format!("listening on http://{address}/mcp"));
            });
            indexes.inspect(|indexes| indexes.end());
            served?;
        }
    }
    Ok(Status::Found)
}

/// A server that is ready to run, and the state that it needs.
struct ReadyServer {
    server: McpServer,
    indexes: Option<Arc<IndexManager>>,
    team: Vec<AccessToken>,
    readiness: ReadyCheck,
    metrics: ServerMetrics,
    /// Publishes calls until it is dropped.
    calls: Option<LiveCalls>,
}

/// Creates the server from the configuration and the arguments.
fn served(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<ReadyServer> {
    let given =
        CommandLineSettings { settings: arguments.settings.given.clone(), ..CommandLineSettings::default() };
    let config = load(global, given)?;
    let tools = registry::advertised(&config.served_tools())?;
    let mut workspace = Directories::choose(config, arguments, output)?;
    let mut observers = std::mem::take(&mut workspace.observers);
    if global.verbose {
        observers.telemetry.push(Arc::new(CallLog));
    }
    let (tool_set, form) = (workspace.config.settings.mcp.profile, workspace.config.settings.mcp.output);
    let (indexes, metrics) = (workspace.indexes.clone(), ServerMetrics::new());
    let (team, readiness) = (workspace.team.tokens.clone(), workspace.readiness());
    let calls = workspace.calls.take();
    calls.iter().filter_map(|calls| calls.problem.as_ref()).for_each(|problem| output.note(problem));
    observers.requests.push(Arc::new(metrics.clone()));
    observers.journal = calls.as_ref().map(LiveCalls::journal);
    let left_out = workspace.config.left_out();
    let server = McpServer::new(McpSettings {
        tools,
        left_out,
        workspace: Box::new(workspace),
        tool_set,
        output: form,
        phrasing: &AgentPhrasing,
        observers,
    })
    .map_err(anyhow::Error::msg)?;
    Ok(ReadyServer { server, indexes, team, readiness, metrics, calls })
}

/// Reports on stderr which enabled tools we can't offer. If the store of `keyword_lookup` is missing, we also
/// report this to telemetry.
fn report_left_out(
    config: &Config,
    lookup: &LookupSettings,
    observers: &CallObservers,
    output: &mut Terminal,
) {
    config.engine_problem().iter().for_each(|problem| output.note(problem));
    if let Some(problem) = config.lookup_problem() {
        output.note(&problem);
        observers.record(&lookup_fallback(&config.lookup_name(), lookup.limit));
    }
}

/// The directories that calls may search, and the state that all calls share.
struct Directories {
    config: Config,
    filter: FilterSettings,
    /// All calls share this, so that a store stays open between them.
    lookup: LookupSettings,
    team: TokenRegistry,
    calls: Option<LiveCalls>,
    observers: CallObservers,
    /// The working directory. This is the client's directory if the server was started in another project.
    standing: PathBuf,
    /// The server's own roots. These are empty if the client's project is unknown.
    own: Vec<PathBuf>,
    /// The roots that a client may choose, or `None` if clients may not choose any.
    for_clients: Option<ClientRootPolicy>,
    /// What calls need in addition to the directories.
    needs: Needs,
    /// Starts the threads of calls. Each thread then enters a sandbox for its own directories. This is `None`
    /// if there is no sandbox.
    threads: Option<Starter>,
    indexes: Option<Arc<IndexManager>>,
    /// All calls share this, so that each file is parsed only once.
    outlines: Arc<OutlineCache>,
    /// True if results can be filtered, e.g. by a model. This is empty until we know.
    can_filter: Arc<OnceLock<bool>>,
}

impl Directories {
    fn choose(config: Config, arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Self> {
        let working = config::working_directory()?;
        let filter = config.filter_settings_of_agents()?;
        let named: Vec<PathBuf> = config.settings.roots.iter().map(|root| working.join(root)).collect();
        let around = |directory: &Path| project_around(directory, config.home.as_deref());
        let may_choose =
            |standing| ClientRootPolicy::from_config(&config, standing, arguments.http.is_some());
        let (own, source, standing, for_clients) = match (named.is_empty(), config::client_project(&working))
        {
            (false, _) => (named, "--root or the configuration", working.clone(), None),
            (true, Some((directory, source))) => {
                let project = around(&directory);
                let standing = if working.starts_with(&project) { working.clone() } else { directory };
                let for_clients = may_choose(Some(&standing));
                (vec![project], source, standing, for_clients)
            }
            (true, None) => (Vec::new(), "", working.clone(), may_choose(None)),
        };
        let indexes = config.indexes(Lifetime::Server);
        let (lookup, mut observers) = (config.lookup_settings(), config.observers("mcp"));
        report_left_out(&config, &lookup, &observers, output);
        // The files must be opened, and the threads of the journal started, before we enter the sandbox.
        let team = arguments
            .tokens
            .as_ref()
            .map(|path| TokenRegistry::read(&working.join(path), &lookup))
            .transpose()?;
        if let Some(path) = &arguments.audit {
            observers.requests.push(Arc::new(AuditFile::open(&working.join(path))?));
        }
        // The members of a team should not see each other's calls, so these are recorded only in the audit
        // log.
        let calls = if arguments.tokens.is_none() { config.live_calls("mcp") } else { None };
        let needs = Needs { listen: arguments.http.map(|address| address.port()), ..config.needs_of_tools() };
        let mut chosen = Self {
            config,
            filter,
            lookup,
            team: team.unwrap_or_default().with_token_of_all(config::mcp_token().is_some()),
            calls,
            observers,
            standing,
            own,
            for_clients,
            needs,
            threads: None,
            indexes,
            outlines: Arc::default(),
            can_filter: Arc::default(),
        };
        let level = chosen.enter_sandbox(arguments.require_sandbox)?;
        chosen.report_roots(source, output)?;
        output.note(&format!("sandbox: {level}"));
        chosen.look_for_models();
        chosen.rank_own_roots();
        Ok(chosen)
    }

    /// Reports the server's own roots on stderr.
    fn report_roots(&self, source: &str, output: &mut Terminal) -> anyhow::Result<()> {
        if self.own.is_empty() {
            output.note(NO_PROJECT);
            return Ok(());
        }
        match session::workspace_below(self.config.clone(), &self.own, &self.standing, self.filter.clone()) {
            Ok((workspace, config)) => {
                let roots: Vec<_> =
                    workspace.roots.all().iter().map(|root| root.path().display().to_string()).collect();
                let but = if self.for_clients.is_none() { "" } else { ", unless a client names others" };
                output.note(&format!("root: {} (from {source}{but})", roots.join(", ")));
                config.notices.iter().for_each(|notice| output.note(notice));
            }
            // Roots that the user named must exist. A detected one may be unusable, since a client can still
            // name another.
            Err(error) if self.for_clients.is_none() => return Err(error),
            Err(error) => {
                output.note(&format!("no root from {source}: {error:#}; calls need roots from the client"))
            }
        }
        Ok(())
    }

    /// Builds the ranked indexes of the server's own roots in the background, so that the first call need not
    /// wait. This starts once recent writes have settled.
    fn rank_own_roots(&self) {
        let is_on =
            |tool: &&dyn registry::AnyTool| tool.id() == "search_index" && self.config.tools().has(*tool);
        let Some(kept) = self.indexes.as_ref().filter(|_| registry::TOOLS.iter().any(is_on)) else {
            return;
        };
        for directory in &self.own {
            if let Ok(root) = session::open_root(&self.config, directory)
                && kept.may_keep(&root)
            {
                kept.rank_in_background(&root, (0, 0), forage_fs::limits::SETTLING);
            }
        }
    }

    /// Creates the readiness check. The server's own roots must exist, and so must the collection if lookups
    /// use one.
    fn readiness(&self) -> ReadyCheck {
        let own = self.own.clone();
        let is_looked_up =
            |tool: &&dyn registry::AnyTool| tool.id() == "keyword_lookup" && self.config.tools().has(*tool);
        let retriever =
            self.lookup.retriever.clone().ok().filter(|_| registry::TOOLS.iter().any(is_looked_up));
        // Skip an embedded store: only one process at a time can open it.
        let retriever = retriever.filter(|retriever| retriever.backend != Home::EMBEDDED);
        ReadyCheck::new(move || {
            if config::existing(&own).len() < own.len() {
                return Err("a root does not exist".to_owned());
            }
            let Some(retriever) = &retriever else { return Ok(()) };
            match retriever.store.collection(&Stop::after(READINESS_TIME)) {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err("the collection for lookups does not exist".to_owned()),
                // Only the operator should learn the details, but anyone may query this.
                Err(error) => Err(format!("the store of the collection does not answer ({})", error.kind())),
            }
        })
    }

    /// Checks in the background whether a model is available. This may have to request the providers' lists
    /// of models.
    fn look_for_models(&self) {
        let (filter, can_filter) = (self.filter.clone(), Arc::clone(&self.can_filter));
        let look = move || {
            // No other code sets the value, so this can't fail.
            let _ = can_filter.set(filter.mode == FilterMode::Lexical || !filter.models.is_empty());
        };
        if std::thread::Builder::new().name("models".to_owned()).spawn(look).is_err() {
            let _ = self.can_filter.set(true);
        }
    }

    /// Enters the sandbox. The kernel restricts a thread and those that it starts later, so this must happen
    /// before any thread that runs calls. A rule of the sandbox is about a directory and not about its path.
    /// It would not cover a directory that replaces a root, nor a root that a client chooses later.
    ///
    /// Hence there are three levels. The thread that starts the threads of calls may read all directories
    /// that may become roots, but it opens no files. The thread of a call may only read the directories of
    /// that call. All other threads may only read the directories that the server has at its start. The
    /// threads of the journal and of telemetry stay outside of the sandbox.
    fn enter_sandbox(&mut self, is_required: bool) -> anyhow::Result<Level> {
        let own = config::existing(&self.own);
        let access = self.config.access(&own, &self.needs);
        let mut widest = access.clone();
        widest.read.extend(self.for_clients.iter().flat_map(ClientRootPolicy::directories));
        // The parents cover a new directory with the path of a root, and new files that git creates for a
        // worktree.
        let files_of_worktrees = own.iter().flat_map(|root| forage_fs::files_of_worktree(root));
        widest.read.extend(own.iter().cloned().chain(files_of_worktrees).filter_map(|path| parent(&path)));
        let level = self.config.enforce_sandbox(&widest, is_required)?;
        if !level.is_enforced() {
            return Ok(level);
        }
        self.threads = Some(Starter::for_threads().context("no thread can be started")?);
        self.config.enforce_sandbox(&access, is_required)
    }

    /// Restricts the current thread, which runs a single call, to the directories of that call.
    fn enter_call_sandbox(&self, directories: &[PathBuf]) -> Result<(), String> {
        if self.threads.is_none() {
            return Ok(());
        }
        let access = self.config.access(&config::existing(directories), &self.needs);
        let level = forage_sandbox::restrict(&access);
        match level.is_enforced() {
            true => Ok(()),
            // This thread inherits the access of the thread that started it. That is more than the call
            // should have, so it must not continue.
            false => Err(format!(
                "the sandbox can't be applied to this call ({level}); start the server with --root DIR"
            )),
        }
    }
}

fn parent(path: &Path) -> Option<PathBuf> {
    path.parent().map(Path::to_owned)
}

impl McpWorkspace for Directories {
    fn asks_clients(&self) -> bool {
        self.for_clients.is_some()
    }

    fn has_text_bytes(&self) -> bool {
        self.config.has_text_bytes()
    }

    fn can_filter(&self) -> Option<bool> {
        self.can_filter.get().copied()
    }

    fn threads(&self) -> Option<&Starter> {
        self.threads.as_ref()
    }

    fn open(&self, origin: &CallOrigin<'_>) -> Result<Workspace, String> {
        let rights = self.team.rights(origin.caller)?;
        let restricted = rights.filter(|rights| rights.are_restricted());
        let CallRoots { roots: mut allowed, standing, remark: refused } = match origin.client_roots {
            // A caller with restricted rights must not choose roots, because our messages about the choice
            // would reveal which directories exist.
            roots if !roots.is_empty() && restricted.is_none() => self.allowed(roots)?,
            _ if self.own.is_empty() => return Err(NO_PROJECT.to_owned()),
            _ => CallRoots { roots: self.own.clone(), standing: self.standing.clone(), remark: None },
        };
        // A tool that is not about roots searches a collection, and `rights.lookup` restricts that.
        if let Some(rights) = restricted.filter(|_| origin.tool.spec().is_about_roots) {
            allowed.retain(|root| {
                config::existing(std::slice::from_ref(root)).iter().any(|real| rights.sees_root(real))
            });
            if allowed.is_empty() {
                return Err(
                    "the token of this call gives access to none of the repositories on this server; ask its \
                     operator"
                        .to_owned(),
                );
            }
        }
        self.enter_call_sandbox(&allowed)?;
        let (mut workspace, _) =
            session::workspace_below(self.config.clone(), &allowed, &standing, self.filter.clone()).map_err(
                |error| {
                    if restricted.is_some() {
                        return "the server can't open its roots; ask its operator".to_owned();
                    }
                    let error = sanitize(&format!("{error:#}"));
                    format!(
                        "{error}; if this directory exists, restart the server, or start it with --root DIR"
                    )
                },
            )?;
        workspace.roots = session::about_whole_roots(&workspace.roots).map_err(|error| error.to_string())?;
        // Some packages are private, and a caller with restricted rights must not read these.
        workspace.dependencies = workspace.dependencies.filter(|_| restricted.is_none());
        workspace.lookup = rights.map_or(&self.lookup, |rights| &rights.lookup).clone();
        workspace.outlines = Arc::clone(&self.outlines);
        workspace.notices.extend(refused);
        workspace.indexes =
            self.indexes.as_ref().and_then(|kept| index_manager::for_roots(kept, &workspace.roots));
        Ok(workspace)
    }
}

/// The answer to every call if the client's project is unknown.
const NO_PROJECT: &str = "Forage doesn't know the project: the client started this server in the directory of a plugin \
                          and named no project. Ask the user to start the client in the project's directory, or to \
                          give the server `--root DIR`";

/// The roots that clients may choose.
#[derive(Debug)]
struct ClientRootPolicy {
    /// The client may choose any directory inside these.
    beneath: Vec<PathBuf>,
    /// True if the client may choose any project. This is safe over stdio: the client itself starts the
    /// server, and could start it in any project.
    any_project: bool,
}

impl ClientRootPolicy {
    /// Returns `None` if the clients of this server may not choose roots.
    fn from_config(config: &Config, standing: Option<&Path>, is_http: bool) -> Option<Self> {
        let are_set = config.settings.mcp.client_roots.is_some();
        // Any program on this machine may be an HTTP client, so there must be an explicit setting.
        if is_http && !are_set {
            return None;
        }
        let beneath = config::existing(&config.client_roots(standing));
        let any_project = !are_set;
        (any_project || !beneath.is_empty()).then_some(Self { beneath, any_project })
    }

    /// Returns the directories in which a client may choose roots.
    fn directories(&self) -> Vec<PathBuf> {
        if self.any_project { vec![PathBuf::from("/")] } else { self.beneath.clone() }
    }

    fn are_above(&self, directory: &Path) -> bool {
        self.beneath.iter().any(|above| directory.starts_with(above))
    }
}

/// The roots of a call.
struct CallRoots {
    roots: Vec<PathBuf>,
    /// The working directory of the call.
    standing: PathBuf,
    /// A note for the answer about rejected directories.
    remark: Option<String>,
}

impl Directories {
    /// Checks the directories that a client names, and returns the roots for those that it may choose. The
    /// first accepted directory becomes the working directory.
    fn allowed(&self, client_roots: &[PathBuf]) -> Result<CallRoots, String> {
        let list = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let (mut roots, mut standing, mut refused) = (Vec::new(), None, Vec::new());
        for directory in client_roots {
            let Some(real) = config::existing(std::slice::from_ref(directory)).pop() else {
                refused.push(directory.clone());
                continue;
            };
            match self.project_of(&real) {
                Some(project) => {
                    standing.get_or_insert(real);
                    if !roots.contains(&project) {
                        roots.push(project);
                    }
                }
                None => refused.push(directory.clone()),
            }
        }
        let remark = (!refused.is_empty()).then(|| {
            let beneath = self.for_clients.as_ref().map(|may| list(&may.beneath)).unwrap_or_default();
            sanitize(&format!(
                "roots of the client that are missing, or neither in a git repository nor beneath a directory from which \
                 clients may choose ({beneath}): {}",
                list(&refused)
            ))
        });
        match (standing, remark) {
            (Some(standing), remark) => Ok(CallRoots { roots, standing, remark }),
            (None, why) => Err(format!(
                "{}; start the server with --root DIR, or set `mcp.client_roots` in its configuration",
                why.unwrap_or_default()
            )),
        }
    }

    /// Returns the root for a directory that a client names. This is the project around it or, if the client
    /// may not choose the project, the directory itself. Returns `None` if the client may choose neither.
    fn project_of(&self, directory: &Path) -> Option<PathBuf> {
        let may = self.for_clients.as_ref()?;
        let project = project_around(directory, self.config.home.as_deref());
        let own = config::existing(&self.own);
        let is_own = own.iter().any(|own| directory.starts_with(own) && *own == project);
        match () {
            () if is_own || may.are_above(&project) => Some(project),
            () if may.any_project && (may.are_above(directory) || find_git_root(&project).is_some()) => {
                Some(project)
            }
            () => may.are_above(directory).then(|| directory.to_owned()),
        }
    }
}
