//! `forage mcp`: the tools as a server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use forage::mcp::{HttpSettings, Server, Settings, Token, Workspace, serve_http, serve_stdio};
use forage_tools::{Context, FilterSettings, registry, sanitize};

use super::output::Output;
use super::session::{self, load};
use super::{Global, Status};
use crate::config::{self, Config, McpOverrides, Overrides};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Listen on this address (127.0.0.1:8080) at /mcp instead of serving stdin and stdout. With FORAGE_MCP_TOKEN set,
    /// clients must send it as bearer token; an address that other machines reach needs one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Another name by which HTTP clients may call this machine; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Origin (https://host:port) of web pages that may call; may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Keep up to N sessions for HTTP clients of older protocol revisions, so that the server can ask for their roots
    /// and their model
    #[arg(long, value_name = "N", requires = "http", default_value_t = 0)]
    sessions: usize,
    /// Form of the answers: text, or records beside it [default: text]
    #[arg(long, value_name = "FORM", value_parser = ["text", "structured"])]
    output: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> anyhow::Result<Status> {
    let mcp = McpOverrides { output: arguments.output.clone(), client_roots: None };
    let config = load(global, Overrides { mcp, ..Overrides::default() })?;
    let workspace = Directories::choose(config, output)?;
    let tools = registry::advertised(workspace.config.enabled_tools()).collect();
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
                origins: arguments.allow_origin.clone(),
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
    working: PathBuf,
    own: Vec<PathBuf>,
    /// Directories beneath which a client may choose the roots; none where the user has chosen them.
    for_clients: Vec<PathBuf>,
}

impl Directories {
    fn choose(config: Config, output: &mut Output) -> anyhow::Result<Self> {
        let working = config::working_directory()?;
        let filter = config.filter_settings()?;
        let named: Vec<PathBuf> = config.roots.value.iter().map(|root| working.join(root)).collect();
        let (own, source, for_clients) = match (named.is_empty(), config::client_project()) {
            (false, _) => (named, "--root or the configuration", Vec::new()),
            (true, Some(project)) => (vec![project], "CLAUDE_PROJECT_DIR", config.client_roots(&working)),
            (true, None) => {
                (vec![session::project(&working)], "the working directory", config.client_roots(&working))
            }
        };
        let for_clients = for_clients.iter().filter_map(|directory| real(directory)).collect();
        let chosen = Self { config, filter, working, own, for_clients };
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
        Ok(chosen)
    }
}

impl Workspace for Directories {
    fn asks_clients(&self) -> bool {
        !self.for_clients.is_empty()
    }

    fn open(&self, client_roots: &[PathBuf]) -> Result<Context, String> {
        let directories = if client_roots.is_empty() { &self.own } else { &self.allowed(client_roots)? };
        session::beneath(self.config.clone(), directories, &self.working, self.filter.clone())
            .map(|(context, _)| context)
            .map_err(|error| format!("{}; start the server with --root DIR", sanitize(&format!("{error:#}"))))
    }
}

impl Directories {
    /// Those of the client's roots that lie where it may choose them.
    fn allowed(&self, client_roots: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let may = |root: &&PathBuf| {
            real(root)
                .is_some_and(|root| self.for_clients.iter().any(|directory| root.starts_with(directory)))
        };
        let allowed: Vec<PathBuf> = client_roots.iter().filter(may).cloned().collect();
        if allowed.is_empty() {
            let list = |paths: &[PathBuf]| {
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            };
            return Err(sanitize(&format!(
                "the client's roots ({}) are missing, or not beneath a directory from which clients may choose ({}); \
                 start the server with --root DIR, or set `mcp.client_roots` in its configuration",
                list(client_roots),
                list(&self.for_clients)
            )));
        }
        Ok(allowed)
    }
}

/// The directory with all links followed. It is opened by [`forage_fs::Root`], which says what it really opened.
#[expect(
    clippy::disallowed_methods,
    reason = "directories that the user or the client names, not a repository's"
)]
fn real(directory: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(directory).ok()
}
