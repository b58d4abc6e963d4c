//! `forage mcp`: the tools as a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use forage::mcp::{HttpSettings, Server, Settings, Token, Workspace, serve_http, serve_stdio};
use forage::sandbox::{self, Level, Starter};
use forage_tools::{Context, FilterSettings, LookupSettings, registry, sanitize};

use super::output::Output;
use super::session::{self, load};
use super::{Global, Status};
use crate::config::{self, Config, McpOverrides, Needs, Overrides};
use crate::indexes::{self, KeptIndexes, Lifetime};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Listen on this address (127.0.0.1:8080) at /mcp instead of serving stdin and stdout. With FORAGE_MCP_TOKEN set,
    /// clients must send it as bearer token; an address that other machines reach needs one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Another name by which HTTP clients may call this machine; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Keep up to N sessions for HTTP clients of older protocol revisions, so that the server can ask for their roots
    /// and their model
    #[arg(long, value_name = "N", requires = "http", default_value_t = 0)]
    sessions: usize,
    /// Form of the answers: text, or records beside it [default: text]
    #[arg(long, value_name = "FORM", value_parser = ["text", "structured"])]
    output: Option<String>,
    /// Serve only behind the kernel's wall (Linux with Landlock), whatever `sandbox` of the configuration says
    #[arg(long)]
    require_sandbox: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let mcp = McpOverrides { output: arguments.output.clone(), client_roots: None };
    let config = load(global, Overrides { mcp, ..Overrides::default() })?;
    let workspace = Directories::choose(config, arguments, output)?;
    let tools = registry::advertised(&workspace.config.tools())?;
    let form = workspace.config.mcp_output();
    let server = Server::new(Settings { tools, workspace: Box::new(workspace), output: form })
        .map_err(anyhow::Error::msg)?;
    let shutdown = server.shutdown().clone();
    match arguments.http {
        None => serve_stdio(server, &shutdown).context("the session ended with an error")?,
        Some(address) => {
            let token = config::mcp_token().map(|text| {
                Token::new(&text).context("FORAGE_MCP_TOKEN holds characters that no HTTP header can carry")
            });
            let settings = HttpSettings {
                address,
                token: token.transpose()?,
                hosts: arguments.allow_host.clone(),
                sessions: arguments.sessions,
            };
            serve_http(server, &settings, &shutdown, |address| {
                output.note(&format!("listening on http://{address}/mcp"));
            })?;
        }
    }
    Ok(Status::Found)
}

/// The directories beneath which calls run.
struct Directories {
    config: Config,
    filter: FilterSettings,
    /// One for all calls: a store stays open between them.
    lookup: LookupSettings,
    working: PathBuf,
    own: Vec<PathBuf>,
    /// Directories beneath which a client may choose the roots; none where the user has chosen them.
    for_clients: Vec<PathBuf>,
    /// What calls need beside the directories.
    needs: Needs,
    /// Starts the threads of calls, of which each is then walled in with its own directories; none where all calls have
    /// the same.
    threads: Option<Starter>,
    /// The kernel's wall stands around the directories that there were at the start.
    is_walled: bool,
    indexes: Option<Arc<KeptIndexes>>,
}

impl Directories {
    fn choose(config: Config, arguments: &Arguments, output: &mut Output) -> anyhow::Result<Self> {
        let working = config::working_directory()?;
        let filter = config.filter_settings()?;
        let named: Vec<PathBuf> = config.roots.value.iter().map(|root| working.join(root)).collect();
        let may_choose = || match arguments.http {
            // Any program of this machine may be a client.
            Some(_) => config.client_roots_that_are_set(&working),
            None => config.client_roots(&working),
        };
        let (own, source, for_clients) = match (named.is_empty(), config::client_project()) {
            (false, _) => (named, "--root or the configuration", Vec::new()),
            (true, Some(project)) => (vec![project], "CLAUDE_PROJECT_DIR", may_choose()),
            (true, None) => (vec![session::project(&working)], "the working directory", may_choose()),
        };
        let for_clients = config::existing(&for_clients);
        let indexes = config.indexes(Lifetime::Server);
        let lookup = config.lookup_settings();
        let needs = Needs { listen: arguments.http.map(|address| address.port()), ..config.needs_of_tools() };
        let mut chosen = Self {
            config,
            filter,
            lookup,
            working,
            own,
            for_clients,
            needs,
            threads: None,
            is_walled: false,
            indexes,
        };
        let level = chosen.wall_in(arguments.require_sandbox)?;
        match session::beneath(chosen.config.clone(), &chosen.own, &chosen.working, chosen.filter.clone()) {
            Ok((context, config)) => {
                let roots: Vec<_> =
                    context.roots.all().iter().map(|root| root.path().display().to_string()).collect();
                let but = if chosen.for_clients.is_empty() { "" } else { ", unless a client names others" };
                output.note(&format!("root: {} (from {source}{but})", roots.join(", ")));
                config.notices.iter().for_each(|notice| output.note(notice));
            }
            // What the user has named must be there; what was only found may be none, and a client may name another.
            Err(error) if chosen.for_clients.is_empty() => return Err(error),
            Err(error) => {
                output.note(&format!("no root from {source}: {error:#}; calls need roots of the client's"))
            }
        }
        output.note(&format!("sandbox: {level}"));
        Ok(chosen)
    }

    /// Puts up the kernel's wall around what calls may read, before there is a thread to escape it. Where clients may
    /// choose directories, no thread that opens a file may read all of those: the thread that starts those of calls
    /// could and opens none, each call's has its own directories, and all others have the server's.
    fn wall_in(&mut self, is_required: bool) -> anyhow::Result<Level> {
        let own = config::existing(&self.own);
        let access = self.config.access(&own, &self.needs);
        let mut widest = access.clone();
        widest.read.extend_from_slice(&self.for_clients);
        let level = self.config.enforce_sandbox(&widest, is_required)?;
        self.is_walled = level.stands();
        if self.is_walled && !self.for_clients.is_empty() {
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
        let level = sandbox::restrict(&access);
        match level.stands() {
            true => Ok(()),
            // The thread that started this one may read more than the call: so it may not go on.
            false => Err(format!(
                "the sandbox can't be put around this call ({level}); start the server with --root DIR"
            )),
        }
    }
}

impl Workspace for Directories {
    fn asks_clients(&self) -> bool {
        !self.for_clients.is_empty()
    }

    fn threads(&self) -> Option<&Starter> {
        self.threads.as_ref()
    }

    fn open(&self, client_roots: &[PathBuf]) -> Result<Context, String> {
        let (allowed, refused) = match client_roots {
            [] => (self.own.clone(), None),
            _ => self.allowed(client_roots)?,
        };
        self.wall_in_call(&allowed)?;
        let (mut context, _) =
            session::beneath(self.config.clone(), &allowed, &self.working, self.filter.clone()).map_err(
                |error| {
                    let advice = match self.is_walled {
                        true => "restart the server: its sandbox stands around the directories that there were when it began",
                        false => "start the server with --root DIR",
                    };
                    format!("{}; {advice}", sanitize(&format!("{error:#}")))
                },
            )?;
        context.lookup = self.lookup.clone();
        context.notices.extend(refused);
        context.indexes = self.indexes.as_ref().and_then(|kept| indexes::for_roots(kept, &context.roots));
        Ok(context)
    }
}

impl Directories {
    /// Those of the client's roots that lie where it may choose them, and a remark on the others.
    fn allowed(&self, client_roots: &[PathBuf]) -> Result<(Vec<PathBuf>, Option<String>), String> {
        let list = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let (mut allowed, mut refused) = (Vec::new(), Vec::new());
        for root in client_roots {
            match config::existing(std::slice::from_ref(root)).pop() {
                Some(real) if self.for_clients.iter().any(|directory| real.starts_with(directory)) => {
                    allowed.push(real);
                }
                _ => refused.push(root.clone()),
            }
        }
        if refused.is_empty() {
            return Ok((allowed, None));
        }
        let why = sanitize(&format!(
            "roots of the client that are missing, or not beneath a directory from which clients may choose ({}): {}",
            list(&self.for_clients),
            list(&refused)
        ));
        match allowed.is_empty() {
            false => Ok((allowed, Some(why))),
            true => Err(format!(
                "{why}; start the server with --root DIR, or set `mcp.client_roots` in its configuration"
            )),
        }
    }
}
