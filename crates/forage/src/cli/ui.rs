//! `forage ui`: serves a page that shows what agents have searched, what they saw, and what they never looked
//! at.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use forage_base::{Stop, count};
use forage_fs::{PrivateDirectory, RelPath, Roots};
use forage_mcp::Profile;
use forage_tools::index_manager::{self, IndexManager, Lifetime};
use forage_tools::{
    Call, CallHead, FilterMode, FilterSettings, LookupSettings, ToolNames, Workspace, registry,
};
use forage_ui::{CallRecord, JournalPart, PageCalls, PageHost, otlp};
use serde_json::{Value, json};

use super::output::Terminal;
use super::session::{self, load};
use super::{Global, Status, doctor, schema, signals, version};
use crate::config::{self, CommandLineSettings, Config};
use crate::phrasing::AgentPhrasing;
use crate::{child, private_file, rotated_file};

const EXAMPLES: &str = "\
Examples:
  forage ui                            the calls of your running servers and agents
  forage ui --open                     also open the browser
  forage ui transcript.json            output of `forage ask --json`, a recording, or a journal
  forage ui --export spans.json        write the calls as OpenTelemetry spans";

/// How long to collect the calls of running processes for an export.
const EXPORT_TIME: Duration = Duration::from_millis(700);

/// Interval between checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A transcript of `forage ask --json`, a recording or a journal [default: running processes and the journal]
    file: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Write the calls as OpenTelemetry spans (OTLP JSON) into this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["open", "port"])]
    export: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let stop = signals::stop()?;
    let config = load(global, CommandLineSettings::default())?;
    let shown = PageCalls::default();
    match &arguments.file {
        Some(path) => {
            let name = path.display().to_string();
            let file = opened(path).with_context(|| format!("can't read {name}"))?;
            shown.file(file, &name).map_err(anyhow::Error::msg)?;
        }
        None => gather(&shown, &config),
    }
    if let Some(path) = &arguments.export {
        return export(&shown, path, arguments.file.is_none(), output);
    }
    let look = Arc::new(PageWorkspace::new(config, global.clone())?);
    let mut redirect = None;
    let listening = |address: &str| {
        // If stdout is closed, no one can read the address anyway, so we ignore the error.
        let _ = output.text(&format!("{address}\n")).and_then(|_| output.flush());
        output.note("only programs on this machine that know this address are answered; Ctrl-C ends it");
        if arguments.open {
            match Redirect::open(address) {
                Ok(opened) => redirect = Some(opened),
                Err(error) => output.note(&format!("can't open a browser: {error:#}")),
            }
        }
    };
    let served = forage_ui::serve(&shown, look, arguments.port, listening, ended(stop));
    drop(redirect);
    served?;
    Ok(Status::Found)
}

/// A file that redirects the browser to the page. Dropping this removes the file. Only this user can read it,
/// whereas every user of the machine can read the arguments of the browser.
struct Redirect {
    directory: PrivateDirectory,
    name: String,
}

impl Redirect {
    /// Creates the file and opens it in the browser.
    fn open(address: &str) -> anyhow::Result<Self> {
        let places = config::call_sockets();
        let place = places.first().context("can't find your cache directory")?;
        let redirect = Self { directory: place.create()?, name: format!("page-{}.html", std::process::id()) };
        redirect.directory.replace(&redirect.name, |file| {
            // The address contains a token of letters, digits, `-` and `_`, so we need not escape anything.
            writeln!(
                file,
                "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
                 <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>forage ui</title>\
                 <a href=\"{address}\">forage ui</a>"
            )
        })?;
        child::open_in_browser(&redirect.directory.path().join(&redirect.name))?;
        Ok(redirect)
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        // Ignore errors: the address in the file is no longer valid.
        let _ = self.directory.remove(&self.name);
    }
}

async fn ended(stop: Stop) {
    while stop.check().is_none() {
        tokio::time::sleep(TICK).await;
    }
}

/// Starts to collect the calls of running processes and of the configured journal.
fn gather(shown: &PageCalls, config: &Config) {
    let places = config::call_sockets();
    if places.is_empty() {
        shown.note("can't find running servers: HOME is not set".to_owned());
    }
    places.into_iter().for_each(|place| shown.processes(place));
    if let Some(path) = config.settings.journal.path.as_deref() {
        let path = path.to_owned();
        let before = rotated_file::before(&path);
        shown.journal(move |part| {
            let path = if part == JournalPart::Before { &before } else { &path };
            opened(path).ok()
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "a file that the user names")]
fn opened(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

fn export(shown: &PageCalls, path: &Path, waits: bool, output: &mut Terminal) -> anyhow::Result<Status> {
    let until = Instant::now() + EXPORT_TIME;
    while waits && Instant::now() < until {
        std::thread::sleep(TICK);
    }
    let mut calls = shown.calls();
    calls.sort_by_key(|call| call.head.began_us);
    let all: Vec<&CallRecord> = calls.iter().map(|call| &**call).collect();
    if all.is_empty() {
        bail!("there are no calls: none of your servers or agents is running, and no journal is configured");
    }
    let mut file = private_file::create_new(path).with_context(|| {
        format!("{} can't be created (an existing file is left unchanged)", path.display())
    })?;
    let text = otlp::traces(&all, &version::version()).to_string();
    file.write_all(text.as_bytes()).with_context(|| format!("{} can't be written", path.display()))?;
    output.note(&format!("{} as spans in {}", count(all.len() as u64, "call"), path.display()));
    Ok(Status::Found)
}

/// Gives the page access to the configuration, the indexes and the tools.
struct PageWorkspace {
    config: Config,
    global: Global,
    filter: FilterSettings,
    lookup: LookupSettings,
    working: PathBuf,
    indexes: Option<Arc<IndexManager>>,
    own: Option<String>,
}

impl PageWorkspace {
    fn new(config: Config, global: Global) -> anyhow::Result<Self> {
        let working = config::working_directory()?;
        // The page must not call models, so it can't repeat calls that used one.
        let filter = FilterSettings { mode: FilterMode::Lexical, ..FilterSettings::default() };
        let lookup = config.lookup_settings();
        let indexes = config.indexes(Lifetime::Server);
        let own = session::directories(&config, &working, &[]);
        let own = own.first().and_then(|directory| session::open_root(&config, directory).ok());
        let own = own.map(|root| root.path().display().to_string());
        Ok(Self { config, global, filter, lookup, working, indexes, own })
    }

    fn workspace(&self, roots: &[PathBuf], working: &Path) -> Result<Workspace, String> {
        let opened = session::workspace_below(self.config.clone(), roots, working, self.filter.clone());
        let (mut workspace, _) = opened.map_err(|error| format!("{error:#}"))?;
        workspace.lookup = self.lookup.clone();
        workspace.indexes =
            self.indexes.as_ref().and_then(|kept| index_manager::for_roots(kept, &workspace.roots));
        Ok(workspace)
    }
}

impl PageHost for PageWorkspace {
    fn call_again(&self, head: &CallHead) -> Result<Call, String> {
        let roots: Vec<PathBuf> = head.head.roots.iter().map(PathBuf::from).collect();
        let Some(first) = roots.first() else { return Err("its root is not known".to_owned()) };
        let mut workspace = self.workspace(&roots, first)?;
        let base = RelPath::parse(&head.base, &RelPath::root()).unwrap_or_else(|_| RelPath::root());
        workspace.roots =
            Roots::new(workspace.roots.all().to_vec(), base).map_err(|error| error.to_string())?;
        workspace.names = Arc::new(self.names(head).map_err(|error| format!("{error:#}"))?);
        if let Ok(bytes @ 1..) = usize::try_from(head.text_bytes) {
            workspace.limits.text_bytes = bytes;
        }
        let mut call = Call::new(Arc::new(workspace));
        call.names_root = head.names_root;
        Ok(call)
    }

    fn call_below(&self, root: &str) -> Result<Call, String> {
        Ok(Call::new(Arc::new(self.workspace(&[PathBuf::from(root)], &self.working)?)))
    }

    fn own_root(&self) -> Option<String> {
        self.own.clone()
    }

    fn health(&self) -> Value {
        json!(doctor::quiet_diagnosis(&self.global))
    }

    fn schema(&self, name: &str) -> Option<Value> {
        schema::find_document(name)
    }
}

impl PageWorkspace {
    /// Returns the tool names that the caller of this call knew.
    fn names(&self, call: &CallHead) -> anyhow::Result<ToolNames> {
        if call.surface != "mcp" {
            return Ok(self.config.names());
        }
        let tools = registry::advertised(&self.config.served_tools())?;
        let profile = call.client.as_deref().map_or_else(Profile::unknown, Profile::for_client);
        Ok(self.config.settings.mcp.profile.names(&tools, profile, &AgentPhrasing))
    }
}
