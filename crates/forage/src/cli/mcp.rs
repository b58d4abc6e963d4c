//! `forage mcp`: the tools as a server.

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
    AccessToken, CallObserver, CallOrigin, HttpSettings, McpServer, McpSettings, McpWorkspace, ReadyCheck,
    ServerMetrics, serve_http, serve_stdio,
};
use forage_sandbox::{Level, Starter};
use forage_tools::kept::{self, KeptIndexes, Lifetime};
use forage_tools::registry;
use forage_tools::tools::lookup_fallback;
use forage_tools::{CallObservers, Context, FilterMode, FilterSettings, LookupSettings, sanitize};

use self::audit::AuditFile;
use self::tokens::Team;
use super::output::Terminal;
use super::session::{self, load};
use super::setting_options::SettingOptions;
use super::{Global, Status};
use crate::call_log::logged;
use crate::config::{self, CommandLineSettings, Config, Needs, SettingsCommand};
use crate::journal::LiveCalls;
use crate::limits::READINESS_TIME;
use crate::manner::ForAgents;
use crate::retrieval::Home;

const EXAMPLES: &str = "\
Examples:
  forage mcp                               as clients start it; `forage setup` writes that into them
  forage mcp --http 127.0.0.1:8080         for clients that come over HTTP, at /mcp
  forage mcp --http 127.0.0.1:8080 --tokens tokens.toml --audit calls.jsonl --metrics
                                           for a team, behind a proxy: docs/team.md
  forage mcp --root ~/src/shop --verbose   beneath one directory, with a line for each call";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Listen on this address (127.0.0.1:8080) at /mcp instead of serving stdin and stdout. With FORAGE_MCP_TOKEN set,
    /// clients must send it as bearer token; an address that other machines reach needs one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// A file of tokens with names and rights, of which HTTP clients must send one (docs/team.md)
    #[arg(long, value_name = "FILE", requires = "http")]
    tokens: Option<PathBuf>,
    /// Add a line for each call to this file: time, token, tool, outcome; nothing of what was asked or answered
    #[arg(long, value_name = "FILE", requires = "http")]
    audit: Option<PathBuf>,
    /// Show numbers of calls at /metrics, for Prometheus
    #[arg(long, requires = "http")]
    metrics: bool,
    /// Another name by which HTTP clients may call this machine; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Keep up to N sessions for HTTP clients of older protocol revisions, so that the server can ask for their roots
    /// and their model
    #[arg(long, value_name = "N", requires = "http", default_value_t = 0)]
    sessions: usize,
    #[command(flatten)]
    settings: SettingOptions<{ SettingsCommand::Mcp as u8 }>,
    /// Serve only behind the kernel's wall (Linux with Landlock), whatever `sandbox` of the configuration says
    #[arg(long)]
    require_sandbox: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let ReadyServer { server, indexes, team, readiness, metrics, calls: _calls } =
        match served(arguments, global, output) {
            Ok(served) => served,
            // A person starts such a server, and reads why it ends.
            Err(error) if arguments.http.is_some() => return Err(error),
            Err(error) => {
                let form = arguments.settings.given.get("mcp.output").unwrap_or_default();
                return unusable::serve(error, form, arguments.require_sandbox, output);
            }
        };
    let shutdown = server.shutdown().clone();
    match arguments.http {
        None => {
            let served = serve_stdio(server, &shutdown);
            indexes.inspect(|indexes| indexes.end());
            served.context("the session ended with an error")?;
        }
        Some(address) => {
            let of_all = config::mcp_token().map(|text| {
                AccessToken::of_all(&text)
                    .context("FORAGE_MCP_TOKEN holds characters that no HTTP header can carry")
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

/// A server, and what is needed beside it to serve.
struct ReadyServer {
    server: McpServer,
    indexes: Option<Arc<KeptIndexes>>,
    team: Vec<AccessToken>,
    readiness: ReadyCheck,
    metrics: ServerMetrics,
    /// Hands calls on as long as it is held.
    calls: Option<LiveCalls>,
}

/// The server of the settings as they are.
fn served(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<ReadyServer> {
    let given =
        CommandLineSettings { settings: arguments.settings.given.clone(), ..CommandLineSettings::default() };
    let config = load(global, given)?;
    let tools = registry::advertised(&config.served_tools())?;
    let mut workspace = Directories::choose(config, arguments, output)?;
    if global.verbose {
        workspace.observers = logged(workspace.observers);
    }
    let (tool_set, form) = (workspace.config.settings.mcp.profile, workspace.config.settings.mcp.output);
    let (indexes, metrics) = (workspace.indexes.clone(), ServerMetrics::new());
    let (team, readiness) = (workspace.team.tokens.clone(), workspace.readiness());
    let calls = workspace.calls.take();
    calls.iter().filter_map(|calls| calls.problem.as_ref()).for_each(|problem| output.note(problem));
    let observer = workspace.audit.take().map(|file| Box::new(file) as Box<dyn CallObserver>);
    let left_out = workspace.config.left_out();
    let server = McpServer::new(McpSettings {
        tools,
        left_out,
        workspace: Box::new(workspace),
        tool_set,
        output: form,
        manner: &ForAgents,
        metrics: metrics.clone(),
        observer,
        journal: calls.as_ref().map(LiveCalls::journal),
    })
    .map_err(anyhow::Error::msg)?;
    Ok(ReadyServer { server, indexes, team, readiness, metrics, calls })
}

/// Reports the tools that are on and can't be offered: on stderr, and a missing store as telemetry.
fn report_left_out(
    config: &Config,
    lookup: &LookupSettings,
    observers: &CallObservers,
    output: &mut Terminal,
) {
    config.engine_problem().iter().for_each(|problem| output.note(problem));
    if let Some(problem) = config.lookup_problem() {
        output.note(&problem);
        if let Some(telemetry) = &observers.telemetry {
            telemetry.record(lookup_fallback(&config.lookup_name(), lookup.limit));
        }
    }
}

/// The directories beneath which calls run.
struct Directories {
    config: Config,
    filter: FilterSettings,
    /// One for all calls: a store stays open between them.
    lookup: LookupSettings,
    team: Team,
    audit: Option<AuditFile>,
    calls: Option<LiveCalls>,
    observers: CallObservers,
    working: PathBuf,
    own: Vec<PathBuf>,
    /// What a client may choose; `None` where the user has chosen.
    for_clients: Option<ForClients>,
    /// What calls need beside the directories.
    needs: Needs,
    /// Starts the threads of calls, of which each is then walled in with its own directories; none where all calls have
    /// the same.
    threads: Option<Starter>,
    /// The kernel's wall stands around the directories that there were at the start.
    is_walled: bool,
    indexes: Option<Arc<KeptIndexes>>,
    /// Whether results can be filtered, when that is known.
    can_filter: Arc<OnceLock<bool>>,
}

impl Directories {
    fn choose(config: Config, arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Self> {
        let working = config::working_directory()?;
        let filter = config.filter_settings()?;
        let named: Vec<PathBuf> = config.settings.roots.iter().map(|root| working.join(root)).collect();
        let project = |directory: &Path| project_around(directory, config.home.as_deref());
        let may_choose = || ForClients::of(&config, &working, arguments.http.is_some());
        let (own, source, for_clients) = match (named.is_empty(), config::client_project()) {
            (false, _) => (named, "--root or the configuration", None),
            (true, Some(directory)) => (vec![project(&directory)], "CLAUDE_PROJECT_DIR", may_choose()),
            (true, None) => (vec![project(&working)], "the working directory", may_choose()),
        };
        let indexes = config.indexes(Lifetime::Server);
        let (lookup, observers) = (config.lookup_settings(), config.observers("mcp"));
        report_left_out(&config, &lookup, &observers, output);
        // Before the wall, behind which neither file could be opened.
        let team =
            arguments.tokens.as_ref().map(|path| Team::read(&working.join(path), &lookup)).transpose()?;
        let audit = arguments.audit.as_ref().map(|path| AuditFile::open(&working.join(path))).transpose()?;
        // What a team asks is nobody else's business, and its record is the audit.
        let calls = if arguments.tokens.is_none() { config.live_calls("mcp") } else { None };
        let needs = Needs { listen: arguments.http.map(|address| address.port()), ..config.needs_of_tools() };
        let mut chosen = Self {
            config,
            filter,
            lookup,
            team: team.unwrap_or_default().with_token_of_all(config::mcp_token().is_some()),
            audit,
            calls,
            observers,
            working,
            own,
            for_clients,
            needs,
            threads: None,
            is_walled: false,
            indexes,
            can_filter: Arc::default(),
        };
        let level = chosen.wall_in(arguments.require_sandbox)?;
        match session::beneath(chosen.config.clone(), &chosen.own, &chosen.working, chosen.filter.clone()) {
            Ok((context, config)) => {
                let roots: Vec<_> =
                    context.roots.all().iter().map(|root| root.path().display().to_string()).collect();
                let but = if chosen.for_clients.is_none() { "" } else { ", unless a client names others" };
                output.note(&format!("root: {} (from {source}{but})", roots.join(", ")));
                config.notices.iter().for_each(|notice| output.note(notice));
            }
            // What the user has named must be there; what was only found may be none, and a client may name another.
            Err(error) if chosen.for_clients.is_none() => return Err(error),
            Err(error) => {
                output.note(&format!("no root from {source}: {error:#}; calls need roots of the client's"))
            }
        }
        output.note(&format!("sandbox: {level}"));
        chosen.look_for_models();
        chosen.rank_own_roots();
        Ok(chosen)
    }

    /// Begins to rank the server's own roots before anybody asks, when what was just written has settled.
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

    /// Tells whether calls can be answered: the server's own roots are there, and so is the collection where words are looked
    /// up.
    fn readiness(&self) -> ReadyCheck {
        let own = self.own.clone();
        let is_looked_up =
            |tool: &&dyn registry::AnyTool| tool.id() == "keyword_lookup" && self.config.tools().has(*tool);
        let retriever =
            self.lookup.retriever.clone().ok().filter(|_| registry::TOOLS.iter().any(is_looked_up));
        // An embedded one is one process's while it is open.
        let retriever = retriever.filter(|retriever| retriever.backend != Home::EMBEDDED);
        ReadyCheck::new(move || {
            if config::existing(&own).len() < own.len() {
                return Err("a root is not there".to_owned());
            }
            let Some(retriever) = &retriever else { return Ok(()) };
            match retriever.store.collection(&Stop::after(READINESS_TIME)) {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err("there is no collection to look words up in".to_owned()),
                // What it says more is for whoever runs the server: anybody may ask this.
                Err(error) => Err(format!("the store of the collection does not answer ({})", error.kind())),
            }
        })
    }

    /// Finds out in the background whether there is a model: providers may have to be asked for their lists.
    fn look_for_models(&self) {
        let (filter, can_filter) = (self.filter.clone(), Arc::clone(&self.can_filter));
        let look = move || {
            // Nobody else sets it.
            let _ = can_filter.set(filter.mode == FilterMode::Lexical || !filter.models.is_empty());
        };
        if std::thread::Builder::new().name("models".to_owned()).spawn(look).is_err() {
            let _ = self.can_filter.set(true);
        }
    }

    /// Puts up the kernel's wall around what calls may read, before there is a thread to escape it. Where clients may
    /// choose directories, no thread that opens a file may read all of those: the thread that starts those of calls
    /// could and opens none, each call's has its own directories, and all others have the server's.
    fn wall_in(&mut self, is_required: bool) -> anyhow::Result<Level> {
        let own = config::existing(&self.own);
        let access = self.config.access(&own, &self.needs);
        let mut widest = access.clone();
        widest.read.extend(self.for_clients.iter().flat_map(ForClients::directories));
        let level = self.config.enforce_sandbox(&widest, is_required)?;
        self.is_walled = level.stands();
        if self.is_walled && self.for_clients.is_some() {
            self.threads = Some(Starter::of_threads().context("no thread can be started")?);
            return self.config.enforce_sandbox(&access, is_required);
        }
        Ok(level)
    }

    /// Puts this thread, which is one call's, behind a wall around the directories of the call.
    fn wall_in_call(&self, directories: &[PathBuf]) -> Result<(), String> {
        if self.threads.is_none() {
            return Ok(());
        }
        let access = self.config.access(&config::existing(directories), &self.needs);
        let level = forage_sandbox::restrict(&access);
        match level.stands() {
            true => Ok(()),
            // The thread that started this one may read more than the call: so it may not go on.
            false => Err(format!(
                "the sandbox can't be put around this call ({level}); start the server with --root DIR"
            )),
        }
    }
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

    fn open(&self, origin: &CallOrigin<'_>) -> Result<Context, String> {
        let rights = self.team.rights(origin.caller)?;
        let restricted = rights.filter(|rights| rights.are_restricted());
        let CallRoots { roots: mut allowed, standing, remark: refused } = match origin.client_roots {
            // Who may not see everything chooses nothing: what is said of a choice tells what there is.
            roots if !roots.is_empty() && restricted.is_none() => self.allowed(roots)?,
            _ => CallRoots { roots: self.own.clone(), standing: self.working.clone(), remark: None },
        };
        if let Some(rights) = restricted.filter(|_| origin.tool.is_about_roots()) {
            allowed.retain(|root| {
                config::existing(std::slice::from_ref(root)).iter().any(|real| rights.sees_root(real))
            });
            if allowed.is_empty() {
                return Err("the token of this call may see none of the repositories that are checked out here; ask who \
                            runs the server"
                    .to_owned());
            }
        }
        self.wall_in_call(&allowed)?;
        let (mut context, _) =
            session::beneath(self.config.clone(), &allowed, &standing, self.filter.clone()).map_err(
                |error| {
                    if restricted.is_some() {
                        return "the server can't open its roots; ask who runs it".to_owned();
                    }
                    let advice = match self.is_walled {
                        true => "restart the server: its sandbox stands around the directories that there were when it began",
                        false => "start the server with --root DIR",
                    };
                    format!("{}; {advice}", sanitize(&format!("{error:#}")))
                },
            )?;
        context.roots = session::about_whole_roots(&context.roots).map_err(|error| error.to_string())?;
        context.lookup = rights.map_or(&self.lookup, |rights| &rights.lookup).clone();
        context.observers = self.observers.clone();
        context.notices.extend(refused);
        context.indexes = self.indexes.as_ref().and_then(|kept| kept::for_roots(kept, &context.roots));
        Ok(context)
    }
}

/// What a client may choose as roots.
#[derive(Debug)]
struct ForClients {
    /// Directories beneath which it may choose.
    beneath: Vec<PathBuf>,
    /// It is what the user has started this server with, and may choose any project, as this server would if it was
    /// started there.
    any_project: bool,
}

impl ForClients {
    /// `None` for a server that clients can't choose for.
    fn of(config: &Config, working: &Path, is_http: bool) -> Option<Self> {
        let are_set = config.settings.mcp.client_roots.is_some();
        // Any program of this machine may be a client on HTTP.
        if is_http && !are_set {
            return None;
        }
        let beneath = config::existing(&config.client_roots(working));
        let any_project = !are_set;
        (any_project || !beneath.is_empty()).then_some(Self { beneath, any_project })
    }

    /// The directories in which roots may be.
    fn directories(&self) -> Vec<PathBuf> {
        if self.any_project { vec![PathBuf::from("/")] } else { self.beneath.clone() }
    }

    fn are_above(&self, directory: &Path) -> bool {
        self.beneath.iter().any(|above| directory.starts_with(above))
    }
}

/// The roots of a call whose client has named directories.
struct CallRoots {
    roots: Vec<PathBuf>,
    /// The directory of the client.
    standing: PathBuf,
    /// What the answer says of directories that were not taken.
    remark: Option<String>,
}

impl Directories {
    /// The projects of those directories that the client may choose. It stands in the first.
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

    /// The root for a directory that a client stands in: its project. Wider than what the user's configuration lets
    /// clients choose, the directory itself.
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
