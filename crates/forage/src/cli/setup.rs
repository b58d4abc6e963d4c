//! `forage setup`: adds Forage to the configuration of a client, or shows what it would change.

mod others;
mod records;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use forage_fs::find_git_root;
use forage_tools::registry::{ToolSelection, advertised};
use forage_tools::sanitize;

use super::output::Terminal;
use super::phrasing::quoted_word;
use super::{Global, Status, check, session};
use crate::config::{self, ClientDirectories, CommandLineSettings};
use crate::setup::{
    Addition, CLIENTS, Client, ClientConfig, ClientState, Extension, Extra, ExtraKind, ExtraParts,
    FileChange, FileFormat, NAME, SetupRefusal, SetupScope, detect, entry_with, extension, extras_of,
    is_forage, plugin, snippet,
};
use records::SetupAddition;
pub(super) use records::{ClientFile, ClientSetup, KnownClient, OtherClient, PluginFiles};
use report::{refused, report};

#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help())]
pub(crate) struct Arguments {
    /// Client to set up; `other` shows the entries for other clients
    client: Option<String>,
    /// Set up all clients that are found on this machine
    #[arg(long, conflicts_with = "client")]
    detected: bool,
    /// Write the files; without it, only show the changes
    #[arg(long)]
    write: bool,
    /// Remove Forage's entry and all additions; with --with, only the named additions
    #[arg(long, conflicts_with = "write")]
    remove: bool,
    /// Only show what --remove would do
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,
    /// Additions to the entry, comma-separated
    #[arg(long, value_name = "WHAT", value_parser = with_parser(), value_delimiter = ',')]
    with: Vec<Vec<ExtraKind>>,
    /// File to change [default: user]
    #[arg(long, value_name = "SCOPE", value_enum)]
    scope: Option<SetupScope>,
    /// Command that the client runs [default: `forage`, or the absolute path if that is another program]
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Do not test the new entry; by default its command is started and called as the client does
    #[arg(long)]
    no_check: bool,
    /// Print the files that make this repository a plugin, as JSON
    #[arg(long, hide = true)]
    plugin_files: bool,
}

/// The value of `--with` that selects all extras.
const ALL: &str = "all";

/// Creates the parser for `--with`, which accepts the name of an extra or [`ALL`].
fn with_parser() -> impl clap::builder::TypedValueParser<Value = Vec<ExtraKind>> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let one = |with: ExtraKind| PossibleValue::new(with.name()).help(with.help());
    let all = PossibleValue::new(ALL).help("All additions that the client supports");
    let values: Vec<PossibleValue> = ExtraKind::ALL.into_iter().map(one).chain([all]).collect();
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        ALL => ExtraKind::ALL.to_vec(),
        name => ExtraKind::ALL.into_iter().filter(|with| with.name() == name).collect(),
    })
}

fn after_help() -> String {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    format!(
        "Examples:\n  forage setup                               all clients with their files\n  forage setup claude-code                   the \
         changes that --write makes\n  forage setup claude-code --write --with all   with all additions that the client supports\n  forage setup --detected --write            \
         all clients on this machine\n\nClients: {}. Without a client, all of them are listed with their files. In any other client, the \
         command is `forage mcp`.\nForage only changes its own lines, and `--remove` restores the files byte by byte, unless a \
         client has rewritten them.",
        names.join(", ")
    )
}

/// The data that all clients share in their setup.
struct Setup {
    words: ExtraParts,
    /// Names of all environment variables that Forage may need.
    variables: Vec<String>,
    directories: ClientDirectories,
    project: PathBuf,
    scope: SetupScope,
    with: Vec<ExtraKind>,
    /// True for `--with all`. We then skip the extras that the client does not support, instead of refusing
    /// them.
    names_all: bool,
    /// The given options that a command must repeat to make the same changes.
    repeated: String,
    is_removal: bool,
    is_written: bool,
    /// True if the entry should be tested after it is written.
    is_tried: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let scope = arguments.scope.unwrap_or(SetupScope::User);
    let command = match &arguments.command {
        Some(command) => command.clone(),
        None => default_command(scope)?,
    };
    if arguments.plugin_files {
        output.record(&PluginFiles(plugin::files()))?;
        return Ok(Status::Found);
    }
    let mut with = arguments.with.concat();
    with.sort_unstable();
    with.dedup();
    let (words, variables) = words(command, global);
    let setup = Setup {
        words,
        variables,
        directories: ClientDirectories::find(),
        project: project(global)?,
        scope,
        names_all: arguments.with.iter().any(|wanted| wanted.len() > 1),
        repeated: repeated(arguments, global, scope),
        with,
        is_removal: arguments.remove,
        is_written: (arguments.write || arguments.remove) && !arguments.dry_run,
        is_tried: arguments.write && !arguments.no_check,
    };
    let acts = arguments.write || arguments.remove;
    match &arguments.client {
        Some(name) => match Client::find(name) {
            Some(client) => setup.one(client, global, output),
            None => others::show(name, &setup.words.command, acts, output),
        },
        None if arguments.detected => setup.detected(global, output),
        None if acts => {
            bail!("which client? Name one of those that `forage setup` lists, or give --detected")
        }
        None => others::overview(&setup, output),
    }
}

/// Formats the options that decide which changes are made, except the client, its scope and its additions.
fn repeated(arguments: &Arguments, global: &Global, scope: SetupScope) -> String {
    let roots = global.root.iter().filter(|_| scope == SetupScope::Project);
    let roots = roots.map(|root| ("--root", root.display().to_string()));
    let config = global.config.iter().map(|file| ("--config", file.display().to_string()));
    let command = arguments.command.iter().filter(|_| !arguments.remove);
    let command = command.map(|command| ("--command", command.clone()));
    let words = roots.chain(config).chain(command);
    words.map(|(option, value)| format!(" {option} {}", quoted_word(&value))).collect()
}

/// The changes that were made for a client, or would be made.
struct SetupOutcome {
    entry: FileChange,
    /// The optional fields of the entry that the user requested.
    extensions: Vec<Extension>,
    additions: Vec<(Addition, Result<FileChange, SetupRefusal>)>,
    /// The requested extras that the client does not support.
    lacking: Vec<ExtraKind>,
}

/// The result of testing an entry that was just written.
#[derive(Default)]
struct EntryTest {
    state: &'static str,
    /// Steps that the user must still take.
    needs: Vec<String>,
    failure: Option<String>,
}

impl Setup {
    fn one(&self, client: &'static Client, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
        let (site, done) = self.carry_out(client)?;
        let (mut record, mut text) = (self.record(&site, &done), report(self, &site, &done)?);
        let failure = self.test_entry(client, global, &mut record, &mut text).failure;
        if self.is_tried && client.format != FileFormat::Skill {
            text.extend(models(global));
        }
        if output.wants_json() {
            output.record(&record)?;
        } else {
            output.text(&sanitize(&text))?;
            output.flush()?;
        }
        self.check(&done)?;
        failure.map_or(Ok(Status::Found), |failure| Err(anyhow::anyhow!(failure)))
    }

    /// Tests the written entry and reports the result. To do so, we start its command like the client would,
    /// and ask the client whether it lists the server.
    fn test_entry(
        &self,
        client: &'static Client,
        global: &Global,
        record: &mut ClientSetup,
        text: &mut String,
    ) -> EntryTest {
        let checked = self.is_tried.then(|| check::after_writing(client, self.scope, global, &self.project));
        let Some((mut checked, report)) = checked.flatten() else {
            return EntryTest { state: self.untried(record), ..EntryTest::default() };
        };
        text.push_str(&format!("\n{report}"));
        let state = checked.state();
        let failure = checked.failure.take();
        let needs = checked.needs.clone();
        record.check = checked.into_record();
        let failure = failure.map(|failure| format!("it is written, but does not work yet: {failure}"));
        EntryTest { state, needs, failure }
    }

    /// Describes the state of an entry that was not tested.
    fn untried(&self, record: &ClientSetup) -> &'static str {
        match record.change {
            "none" if self.is_removal => "not set up",
            "none" => "set up, not tried",
            _ if !self.is_written => "nothing written",
            _ if self.is_removal => "removed",
            _ => "written, not tried",
        }
    }

    /// Sets up all clients that are installed on this machine. If one client's file can't be changed, this
    /// goes on with the others.
    fn detected(&self, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
        let (mut text, mut problems, mut failures) = (String::new(), Vec::new(), Vec::new());
        let mut rows: Vec<(&str, EntryTest)> = Vec::new();
        output.answer_several();
        let is_there = |client: &&Client| !detect::found(client, &self.directories).is_empty();
        for client in CLIENTS.iter().filter(is_there) {
            if client.place(self.scope).is_none() {
                let problem = format!("{} has no configuration file for a project", client.title);
                text.push_str(&format!("{problem}\n\n"));
                put(&self.passed_over(client, "none", &problem), output)?;
                rows.push((
                    client.title,
                    EntryTest { state: "no file for a project", ..EntryTest::default() },
                ));
                continue;
            }
            match self.carry_out(client) {
                Ok((site, done)) => {
                    let mut record = self.record(&site, &done);
                    text.push_str(&report(self, &site, &done)?);
                    let mut tried = self.test_entry(client, global, &mut record, &mut text);
                    let failure = tried.failure.take();
                    failures.extend(failure.map(|failure| format!("{}: {failure}", client.title)));
                    rows.push((client.title, tried));
                    put(&record, output)?;
                    text.push('\n');
                    problems.extend(self.check(&done).err().map(|error| error.to_string()));
                }
                Err(error) => {
                    put(&self.passed_over(client, "refused", &error.to_string()), output)?;
                    rows.push((
                        client.title,
                        EntryTest { state: "refused, see below", ..EntryTest::default() },
                    ));
                    problems.push(error.to_string());
                }
            }
        }
        if problems.is_empty() && text.is_empty() {
            text = "No client was found on this machine; `forage setup` lists the known ones.\n".to_owned();
        }
        text.push_str(&report::table(&rows));
        text.extend(models(global).filter(|_| self.is_tried));
        if !output.wants_json() {
            output.text(&sanitize(&text))?;
            output.flush()?;
        }
        problems.append(&mut failures);
        if problems.is_empty() { Ok(Status::Found) } else { bail!("{}", problems.join("\n")) }
    }

    /// Creates the record of a client that is skipped.
    fn passed_over(&self, client: &Client, change: &'static str, problem: &str) -> ClientSetup {
        ClientSetup {
            client: client.name,
            title: client.title,
            scope: self.scope.name(),
            change,
            problem: Some(problem.to_owned()),
            ..ClientSetup::default()
        }
    }

    fn carry_out(&self, client: &'static Client) -> anyhow::Result<(ClientConfig, SetupOutcome)> {
        if !self.is_removal && !is_forage(&self.words.command) {
            bail!(
                "{} is not called `{NAME}`: Forage would not recognize its entry later; give --command with \
                 a program of that name",
                self.words.command
            );
        }
        if client.place(self.scope).is_none() {
            bail!("{} has no configuration file for a project; leave --scope out", client.title);
        }
        let site =
            ClientConfig::find(client, self.scope, &self.directories, &self.project).with_context(|| {
                format!("can't find the configuration file of {}: HOME is not set", client.title)
            })?;
        let (is_all, extras) = (self.with.is_empty() && self.is_removal, extras_of(client.name));
        let wanted: Vec<&'static Extra> =
            extras.iter().filter(|extra| is_all || self.with.contains(&extra.with)).collect();
        let takes = |with: &ExtraKind| {
            let is_it = |extra: &&&Extra| extra.with == *with;
            wanted.iter().find(is_it).is_some_and(|extra| self.has_place(client, extra))
        };
        let lacking: Vec<ExtraKind> = self.with.iter().copied().filter(|with| !takes(with)).collect();
        if let (Some(with), false) = (lacking.first(), self.names_all) {
            bail!("{}; leave `{}` out", self.unsupported(client, *with), with.name());
        }
        let extensions: Vec<Extension> =
            wanted.iter().filter_map(|extra| self.extension(extra, client)).collect();
        let mut done = SetupOutcome { entry: FileChange::None, extensions, additions: Vec::new(), lacking };
        let (site, change) = if self.is_removal {
            self.take_out(site, &wanted, &mut done)?
        } else {
            let change = self.refused(&site, &done, site.add(&self.words.command, &done.extensions))?;
            (site, change)
        };
        if self.is_written {
            self.refused(&site, &done, site.apply(&change))?;
        }
        done.entry = change;
        if !self.is_removal {
            wanted.iter().for_each(|extra| self.act(client, extra, &mut done));
        }
        Ok((site, done))
    }

    /// Removes the requested extras, and determines the change that removes the entry or the requested parts
    /// of it. The last addition to a file must be the first to go, so extras are removed before the entry.
    fn take_out(
        &self,
        site: ClientConfig,
        wanted: &[&'static Extra],
        done: &mut SetupOutcome,
    ) -> anyhow::Result<(ClientConfig, FileChange)> {
        let removal = |site: &ClientConfig, done: &SetupOutcome| {
            let change = if self.with.is_empty() { site.remove() } else { site.retract(&done.extensions) };
            self.refused(site, done, change)
        };
        // If we can't remove the entry, we must not remove any extra either, so check this first.
        let change = removal(&site, done)?;
        wanted.iter().rev().for_each(|extra| self.act(site.client, extra, done));
        let shares = |(addition, change): &(Addition, Result<FileChange, SetupRefusal>)| {
            addition.path == site.path && change.as_ref().is_ok_and(|change| *change != FileChange::None)
        };
        if !self.is_written || !done.additions.iter().any(shares) {
            return Ok((site, change));
        }
        // Removing the extras has changed the file, so read it again.
        let again = ClientConfig::find(site.client, self.scope, &self.directories, &self.project);
        let site = again.unwrap_or(site);
        let change = removal(&site, done)?;
        Ok((site, change))
    }

    /// Converts a refusal to an error that shows how to make the change by hand.
    fn refused<T>(
        &self,
        site: &ClientConfig,
        done: &SetupOutcome,
        result: Result<T, SetupRefusal>,
    ) -> anyhow::Result<T> {
        result.map_err(|refusal| {
            let all: Vec<&Extension> = done.extensions.iter().collect();
            refused(site, self.is_removal, &refusal, &snippet(site.client, &self.words.command, &all))
        })
    }

    /// Returns true if this extra should be added.
    fn puts_in(&self, with: ExtraKind) -> bool {
        !self.is_removal && self.with.contains(&with)
    }

    /// Says that a client does not support an extra in this scope, and the scope in which it does.
    fn unsupported(&self, client: &Client, with: ExtraKind) -> String {
        let (other, words) = match self.scope {
            SetupScope::User => (SetupScope::Project, " for a user, only in a project (--scope project)"),
            SetupScope::Project => (SetupScope::User, " in a project, only for a user (--scope user)"),
        };
        let has_place = |extra: &Extra| extra.with == with && extra.place(other).is_some();
        let scope = if extras_of(client.name).iter().any(has_place) { words } else { "" };
        format!("{} does not support {}{scope}", client.title, with.about())
    }

    fn has_place(&self, client: &Client, extra: &Extra) -> bool {
        self.extension(extra, client).is_some() || extra.place(self.scope).is_some()
    }

    fn extension(&self, extra: &Extra, client: &Client) -> Option<Extension> {
        extension(extra, client, &self.words, &self.variables)
    }

    fn act(&self, client: &'static Client, extra: &'static Extra, done: &mut SetupOutcome) {
        let found = Addition::find(client, extra, self.scope, &self.directories, &self.project);
        let Some(addition) = found else { return };
        let change = if self.is_removal { addition.remove(&self.words) } else { addition.add(&self.words) };
        let change = change.and_then(|change| {
            if self.is_written {
                addition.apply(&change)?;
            }
            Ok(change)
        });
        done.additions.push((addition, change));
    }

    /// Returns an error if any extra was refused.
    fn check(&self, done: &SetupOutcome) -> anyhow::Result<()> {
        let refusals = done.additions.iter().filter_map(|(addition, change)| {
            let refusal = change.as_ref().err()?;
            let with = addition.extra.with.name();
            Some(format!("{} is left unchanged ({with}): {refusal}", addition.path.display()))
        });
        let refusals: Vec<String> = refusals.collect();
        if refusals.is_empty() { Ok(()) } else { bail!("{}", refusals.join("\n")) }
    }

    fn record(&self, site: &ClientConfig, done: &SetupOutcome) -> ClientSetup {
        let (client, change) = (site.client, &done.entry);
        let addition = |(addition, change): &(Addition, Result<FileChange, SetupRefusal>)| {
            let change = change.as_ref();
            SetupAddition {
                name: addition.extra.with.name(),
                file: addition.path.display().to_string(),
                change: change.map_or("refused", FileChange::name),
                written: self.is_written && change.is_ok_and(|change| *change != FileChange::None),
                problem: change.err().map(ToString::to_string),
            }
        };
        let extensions: Vec<&Extension> = done.extensions.iter().collect();
        ClientSetup {
            client: client.name,
            title: client.title,
            scope: site.scope.name(),
            file: Some(site.path.display().to_string()),
            section: Some(client.section()),
            state_before: Some(state_name(&site.state)),
            change: change.name(),
            written: self.is_written && *change != FileChange::None,
            entry: Some(entry_with(client, &self.words.command, &extensions)),
            other_servers: site.neighbours.clone(),
            with: done.additions.iter().map(addition).collect(),
            not_taken: done.lacking.iter().map(|with| with.name()).collect(),
            ..ClientSetup::default()
        }
    }
}

/// Adds a record to the output if the user asked for JSON.
fn put(record: &ClientSetup, output: &mut Terminal) -> anyhow::Result<()> {
    if output.wants_json() { output.record(record) } else { Ok(()) }
}

/// Returns the data about Forage that clients' files contain, e.g. the advertised tools, and the variables
/// that Forage may need. Note that a broken configuration must not prevent the setup of a client.
fn words(command: String, global: &Global) -> (ExtraParts, Vec<String>) {
    let config = session::load(global, CommandLineSettings::default()).ok();
    let choice = config.as_ref().map_or_else(ToolSelection::default, |config| config.served_tools());
    let variables =
        |is_set| config.as_ref().map(|config| config.variables_of_the_server(is_set)).unwrap_or_default();
    let tools = advertised(&choice).unwrap_or_default();
    (ExtraParts { command, tools, variables: variables(true) }, variables(false))
}

/// Returns a line about the models that agents will use.
fn models(global: &Global) -> Option<String> {
    let config = session::load(global, CommandLineSettings::default()).ok()?;
    config.models_of_agents().map(|models| format!("{models}\n"))
}

/// Returns the files of all clients, to report where Forage is set up.
pub(crate) fn sites(global: &Global) -> anyhow::Result<Vec<ClientConfig>> {
    let (directories, project) = (ClientDirectories::find(), project(global)?);
    Ok(all_sites(&directories, &project))
}

fn all_sites(directories: &ClientDirectories, project: &Path) -> Vec<ClientConfig> {
    let scopes = |client| SetupScope::ALL.into_iter().map(move |scope| (client, scope));
    let pairs = CLIENTS.iter().flat_map(scopes);
    pairs.filter_map(|(client, scope)| ClientConfig::find(client, scope, directories, project)).collect()
}

/// Returns `forage` if that name resolves to this program, and its absolute path otherwise. A project's file
/// must always contain `forage`, because the path would be wrong on other people's machines.
fn default_command(scope: SetupScope) -> anyhow::Result<String> {
    let (program, is_found) = config::this_program()?;
    if is_found || scope == SetupScope::Project {
        return Ok(NAME.to_owned());
    }
    let text = program.to_str().map(str::to_owned);
    text.with_context(|| format!("{} is not UTF-8; give the command with --command", program.display()))
}

/// Returns the directory that should contain a project's file.
pub(crate) fn project(global: &Global) -> anyhow::Result<PathBuf> {
    let working = config::working_directory()?;
    Ok(match global.root.first() {
        Some(root) => working.join(root),
        None => find_git_root(&working).unwrap_or(working),
    })
}

/// Describes a state in a few words.
pub(crate) fn state_words(state: &ClientState) -> String {
    match state {
        ClientState::Absent { exists: true } => "not set up".to_owned(),
        ClientState::Absent { exists: false } => "not set up, no file yet".to_owned(),
        ClientState::SetUp { command } => format!("set up, runs {command}"),
        ClientState::Foreign => format!("has an entry `{NAME}` that Forage did not write"),
        ClientState::Unclear(refusal) => format!("not understood: {refusal}"),
    }
}

/// Returns the name that records use for a state.
fn state_name(state: &ClientState) -> &'static str {
    match state {
        ClientState::Absent { .. } => "absent",
        ClientState::SetUp { .. } => "set_up",
        ClientState::Foreign => "foreign",
        ClientState::Unclear(_) => "not_understood",
    }
}
