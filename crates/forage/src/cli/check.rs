//! Checks whether a client's model can reach Forage's tools. To do so, we start the command of the client's
//! entry like the client would, and talk to the server. Only `forage doctor` does this, and `forage setup`
//! after it has written an entry.

mod records;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use forage_fs::find_git_root;
use forage_mcp::Profile;

use super::{Global, session, signals};
use crate::config::{self, ClientDirectories, CommandLineSettings, Config};
use crate::setup::{
    Client, ClientConfig, Consent, EntrySettings, Environment, FileFormat, Launch, Listed, NAME,
    OfferedTools, Permission, ProbeCall, ProbeFailure, ProbeReport, ProbeStart, ServerEntry, SetupScope,
    expanded, listed, program, talk,
};

pub(super) use records::EntryCheck;
use records::TriedCall;

/// The environment of a check.
pub(super) struct CheckContext<'a> {
    pub(super) config: &'a Config,
    pub(super) directories: &'a ClientDirectories,
    pub(super) project: &'a Path,
    /// True if the user has just chosen the command that the entry runs.
    pub(super) is_own_command: bool,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct SettingsCheck {
    /// Lines for the report, the most important one first.
    pub(super) lines: Vec<String>,
    /// Problems that affect only some of the tools.
    pub(super) warnings: Vec<String>,
    /// Why the client can't use the server at all, if so.
    pub(super) failure: Option<String>,
    /// The error that the test call returned, if any.
    pub(super) call_error: Option<String>,
    /// The client's answer to whether it lists the server, if we asked it.
    pub(super) listed: Option<Listed>,
    /// Steps that the user must still take, each in a few words.
    pub(super) needs: Vec<String>,
    /// The same result as a record, or `None` if there was nothing to check.
    pub(super) record: Option<EntryCheck>,
}

/// Checks an entry by starting its command like the client would.
pub(super) fn check(site: &ClientConfig, look: &CheckContext<'_>) -> SettingsCheck {
    if site.client.format == FileFormat::Skill {
        return SettingsCheck::default();
    }
    let Some(entry) = site.entry() else { return SettingsCheck::default() };
    let variables = variables(site.client, &entry, look);
    let found = program(&entry.command, &variables);
    // The `PATH` may include a directory of the project, e.g. in npm scripts or with direnv. So we must not
    // run what we find there, unless the user's own file names it by an absolute path.
    let is_chosen = site.scope == SetupScope::User && Path::new(&entry.command).is_absolute();
    let of_project = found.as_ref().ok().filter(|found| !is_chosen && is_of_project(found, look));
    let of_project = of_project.map(|found| {
        format!(
            "{} is inside the project or another root, which may come from a stranger; remove its directory \
             from PATH, or give --command with a program outside",
            found.display()
        )
    });
    if let Some(reason) = of_project.or_else(|| distrust(site, &entry, look)) {
        let line = format!("not tried: {reason}");
        return SettingsCheck {
            lines: vec![line],
            record: Some(EntryCheck { why: Some(reason), ..EntryCheck::default() }),
            ..SettingsCheck::default()
        };
    }
    let missing = missing(&variables, look.config);
    let directory =
        entry.directory.as_ref().map_or_else(|| look.project.to_owned(), |it| look.project.join(it));
    // Without this, Ctrl-C would end this process but leave its children running.
    let _ = signals::end_children_first();
    let started = found.and_then(|program| {
        let start = ProbeStart { program, arguments: entry.arguments.clone(), variables, directory };
        talk(&start, &site.client.launch)
    });
    let mut checked = match started {
        Ok(talk) => works(site, &talk, &missing, &look.config.keys_of_models()),
        Err(failure) => fails(site, &failure),
    };
    if entry.is_off {
        checked.warnings.push("the entry is turned off (`disabled`, or `enabled = false`)".to_owned());
    }
    checked.warnings.extend(entry.typos.iter().cloned());
    if let Some(record) = &mut checked.record {
        record.missing_variables = missing;
        record.entry_problems.clone_from(&entry.typos);
    }
    if checked.failure.is_none() {
        consent(site, &entry, look, &mut checked);
    }
    checked
}

/// Returns why the command of an entry must not be run. A project's file may come from a stranger. So we run
/// the program that it names only if that is this very program, and the entry is exactly what Forage would
/// write.
fn distrust(site: &ClientConfig, entry: &ServerEntry, look: &CheckContext<'_>) -> Option<String> {
    if site.scope == SetupScope::User {
        return None;
    }
    if !site.is_as_written() {
        return Some(
            "the project's file contains more than Forage writes, and may come from a stranger".to_owned(),
        );
    }
    if look.is_own_command {
        return None;
    }
    let own = config::variables();
    let program = match program(&entry.command, &own) {
        Ok(program) => program,
        Err(failure) => return Some(format!("{failure}, which the project's file names")),
    };
    let is_this = config::this_program().is_ok_and(|(this, _)| same(&this) == same(&program));
    (!is_this).then(|| {
        "the project's file, which may come from a stranger, names a program other than this one".to_owned()
    })
}

/// Returns true if a program, or the link to it, is inside the project, its repository or another root. The
/// running program itself does not count.
fn is_of_project(found: &Path, look: &CheckContext<'_>) -> bool {
    let project = look.project;
    let is_this = config::this_program().is_ok_and(|(this, _)| same(&this) == same(found));
    // If the project contains the home directory, everything in it belongs to the user.
    if is_this || look.directories.home.as_ref().is_some_and(|home| home.starts_with(project)) {
        return false;
    }
    let roots = roots(look);
    let link = found.parent().map(same).zip(found.file_name()).map(|(directory, name)| directory.join(name));
    let places = [Some(same(found)), link];
    roots.iter().any(|root| places.iter().flatten().any(|place| place.starts_with(same(root))))
}

/// Returns the directories from which nothing must be run: the project, its repository and the roots.
fn roots(look: &CheckContext<'_>) -> Vec<PathBuf> {
    let repository = find_git_root(look.project);
    let roots = look.config.own_directories(look.project);
    [look.project.to_owned()].into_iter().chain(repository).chain(roots).collect()
}

fn same(path: &Path) -> PathBuf {
    crate::answer_cache::resolved(path)
}

/// Computes the environment that the client would give to the server.
fn variables(client: &Client, entry: &ServerEntry, look: &CheckContext<'_>) -> Vec<(OsString, OsString)> {
    let launch = &client.launch;
    let allowed = allowed(launch, look);
    let arrives = |name: &OsStr| {
        let name = name.to_string_lossy();
        let is_named = |names: &[String]| names.iter().any(|own| own.eq_ignore_ascii_case(&name));
        launch.environment.passes_variable(&name) || is_named(&entry.handed_on) || is_named(&allowed)
    };
    let own = config::variables();
    let mut variables: Vec<_> = own.iter().filter(|(name, _)| arrives(name)).cloned().collect();
    // Note that a client that filters the environment also expands only the variables that are left.
    let source =
        if matches!(launch.environment, Environment::WithoutParts(_)) { variables.clone() } else { own };
    let value = |name: &str| {
        let (_, value) = source.iter().find(|(own, _)| own == name)?;
        value.to_str().map(str::to_owned)
    };
    let mut set = |name: OsString, value: OsString| {
        variables.retain(|(present, _)| *present != name);
        variables.push((name, value));
    };
    if let Some(name) = launch.project_variable {
        set(name.into(), look.project.into());
    }
    for (name, text) in &entry.variables {
        let text = if launch.expands { expanded(text, &value) } else { text.clone() };
        set(name.into(), text.into());
    }
    variables
}

/// Returns the variables that the client's own settings allow it to pass on, in addition to those of the
/// entry.
fn allowed(launch: &Launch, look: &CheckContext<'_>) -> Vec<String> {
    if launch.consent != Consent::TrustAndFolder {
        return Vec::new();
    }
    let settings = EntrySettings::for_gemini_cli(look.directories, look.project);
    settings
        .own_texts("/security/environmentVariableRedaction/allowed")
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Returns the variables that Forage uses in this environment but that do not reach the server.
fn missing(variables: &[(OsString, OsString)], config: &Config) -> Vec<String> {
    let is_there = |name: &str| variables.iter().any(|(own, value)| own == name && !value.is_empty());
    let used: BTreeSet<String> = config.variables_in_use().into_iter().collect();
    used.into_iter().filter(|name| !is_there(name)).collect()
}

fn works(site: &ClientConfig, talk: &ProbeReport, missing: &[String], keys: &[String]) -> SettingsCheck {
    let launch = &site.client.launch;
    let profile = Profile::for_client(launch.name);
    let tools: Vec<String> = talk.tools.iter().map(|tool| profile.prefixed(&tool.name)).collect();
    let milliseconds = talk.elapsed.as_millis();
    let call = match &talk.call {
        Some(ProbeCall { tool, error: None }) => format!("a call to {tool} succeeds"),
        Some(ProbeCall { tool, error: Some(error) }) => {
            format!("a call to {tool} returns an error: {error}")
        }
        None => "there is no tool to call".to_owned(),
    };
    let title = site.client.title;
    let mut checked = SettingsCheck {
        lines: vec![
            format!("started as {title} starts it: answers in {milliseconds} ms, {call}"),
            format!("tools: {}", tools.join(", ")),
        ],
        call_error: talk.call.as_ref().and_then(|call| call.error.clone()),
        record: Some(EntryCheck {
            tried: true,
            serves: Some(true),
            milliseconds: Some(u64::try_from(milliseconds).unwrap_or(u64::MAX)),
            tools: tools.clone(),
            call: talk
                .call
                .as_ref()
                .map(|ProbeCall { tool, error }| TriedCall { tool: tool.clone(), error: error.clone() }),
            deferred: deferred(launch.front, talk),
            ..EntryCheck::default()
        }),
        ..SettingsCheck::default()
    };
    if talk.tools.is_empty() {
        checked.warnings.push("it lists no tools: the configuration turns all of them off".to_owned());
    }
    if let Some(noise) = &talk.noise {
        checked.warnings.push(format!(
            "it prints a line that is not a protocol message, which ends the session in some clients: {noise}"
        ));
    }
    if !missing.is_empty() {
        let names = missing.join(", ");
        checked.warnings.push(format!("set here, but not passed on by {title}: {names}; {}", launch.remedy));
        checked.needs.push("variables".to_owned());
    }
    let keys: Vec<&str> = missing.iter().filter(|name| keys.contains(name)).map(String::as_str).collect();
    if !keys.is_empty() && !tools.iter().any(|tool| tool.ends_with("keyword_search")) {
        let keys = keys.join(", ");
        checked.warnings.push(format!(
            "`keyword_search` is not offered there: the key of its model ({keys}) does not arrive"
        ));
    }
    match deferred(launch.front, talk) {
        Some(true) => checked.lines.push(format!(
            "{title} shows its model most tools only after the model searches for them, and a server can't \
             change that: say in the project's instructions when to use Forage's"
        )),
        Some(false) => {
            checked.lines.push("its search tools are visible to the model from the start".to_owned())
        }
        None => {}
    }
    checked
}

/// Returns true if the client hides the tools until the model searches for them, or `None` if it never hides
/// tools.
fn deferred(front: OfferedTools, talk: &ProbeReport) -> Option<bool> {
    match front {
        OfferedTools::All => None,
        OfferedTools::Marked => Some(!talk.tools.iter().any(|tool| tool.is_marked)),
        OfferedTools::Searched => Some(true),
    }
}

fn fails(site: &ClientConfig, failure: &ProbeFailure) -> SettingsCheck {
    let Client { name, title, .. } = site.client;
    let scope = if site.scope == SetupScope::Project { " --scope project" } else { "" };
    let advice = match failure {
        ProbeFailure::Missing(_) if site.scope == SetupScope::Project => {
            format!("put `{NAME}` into a directory of the PATH, as everyone who opens the project must")
        }
        ProbeFailure::Missing(_)
        | ProbeFailure::Relative(_)
        | ProbeFailure::NotStarted(..)
        | ProbeFailure::Stranger(_) => {
            format!("`forage setup {name}{scope} --write` replaces it with this program")
        }
        ProbeFailure::Unusable(_) => "fix that, then restart the client".to_owned(),
        ProbeFailure::Ended { .. }
        | ProbeFailure::Silent { .. }
        | ProbeFailure::Noise(_)
        | ProbeFailure::Refused(..) => format!(
            "run the command of the entry by hand to see why, or let `forage setup {name}{scope} --write` \
             replace it with this program"
        ),
    };
    SettingsCheck {
        failure: Some(format!("started as {title} starts it, {failure}; {advice}")),
        record: Some(EntryCheck {
            tried: true,
            serves: Some(false),
            works: Some(false),
            problem: Some(failure.to_string()),
            advice: Some(advice),
            ..EntryCheck::default()
        }),
        ..SettingsCheck::default()
    }
}

/// Adds the permissions that the user must give before the client calls a tool.
fn consent(site: &ClientConfig, entry: &ServerEntry, look: &CheckContext<'_>, checked: &mut SettingsCheck) {
    let title = site.client.title;
    let tools = checked.record.as_ref().map(|record| record.tools.clone()).unwrap_or_default();
    let mut asked = Vec::new();
    match site.client.launch.consent {
        Consent::None => {}
        Consent::Permissions => {
            let settings = EntrySettings::for_claude_code(look.directories, look.project);
            match settings.permission(&tools) {
                Permission::Given => {}
                Permission::Asked => asked.push(
                    "it asks before it calls a tool, and with `-p` refuses: `permissions.allow` of its settings lacks \
                     \"mcp__forage\""
                        .to_owned(),
                ),
                Permission::Claimed => asked.push(claimed("permits its tools", title)),
                Permission::Denied => checked
                    .warnings
                    .push("`permissions.deny` of its settings blocks the tools".to_owned()),
            }
            match settings.project_server(site.scope) {
                Permission::Given => {}
                Permission::Asked => asked
                    .push("it asks once whether it may start the servers in this project's file".to_owned()),
                Permission::Claimed => asked.push(claimed("permits the project's servers", title)),
                Permission::Denied => checked
                    .warnings
                    .push("`disabledMcpjsonServers` of its settings prevents it from being started".to_owned()),
            }
        }
        Consent::Trust | Consent::TrustAndFolder if !entry.is_trusted => asked.push(
            "it asks before it calls a tool, and runs without a user (`-p`) have none of the tools: the entry lacks \
             `\"trust\": true`"
                .to_owned(),
        ),
        Consent::Trust | Consent::TrustAndFolder => {}
    }
    if !asked.is_empty() {
        checked.needs.push("permission".to_owned());
    }
    if site.client.launch.consent == Consent::TrustAndFolder {
        let settings = EntrySettings::for_gemini_cli(look.directories, look.project);
        let trust = settings.folder(look.directories, look.project);
        if trust != Permission::Given {
            checked.needs.push(format!("trust in {}", look.project.display()));
        }
        match trust {
            Permission::Given => {}
            Permission::Asked | Permission::Claimed => checked.warnings.push(format!(
                "{title} does not start servers in {}, which is not a trusted folder",
                look.project.display()
            )),
            Permission::Denied => checked.warnings.push(format!(
                "{title} does not start servers in {}, which is marked as untrusted",
                look.project.display()
            )),
        }
    }
    if let Some(record) = &mut checked.record {
        record.asks.clone_from(&asked);
    }
    checked.lines.extend(asked);
}

/// Words the note on a permission that only the project's own files grant.
fn claimed(what: &str, title: &str) -> String {
    format!(
        "a file of the project, which may come from a stranger, {what}; {title} uses it only in trusted folders"
    )
}

impl SettingsCheck {
    /// Converts the result to a record.
    pub(super) fn into_record(self) -> Option<EntryCheck> {
        Some(EntryCheck { warnings: self.warnings, needs: self.needs, ..self.record? })
    }

    /// Describes the state of an entry that was just written, in two or three words.
    pub(super) fn state(&self) -> &'static str {
        match (&self.failure, &self.listed) {
            (Some(_), _) => "does not work",
            (None, Some(Listed::Yes(_))) => "works",
            (None, _) => "written, not tried",
        }
    }

    /// Asks the client for its list of servers, unless the check has already failed.
    fn ask(&mut self, site: &ClientConfig, look: &CheckContext<'_>) {
        let why = self.record.as_ref().and_then(|record| record.why.clone());
        if self.failure.is_some() {
            return;
        }
        let roots = roots(look);
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let answer = why.map_or_else(|| listed(site, &roots), Listed::NotAsked);
        let title = site.client.title;
        let record = self.record.get_or_insert_default();
        match &answer {
            Listed::Yes(line) => (record.works, record.listed_by) = (Some(true), Some(line.clone())),
            Listed::No(line, said) => {
                record.works = Some(false);
                let said = match said.trim_end_matches('.') {
                    "" => "nothing".to_owned(),
                    said => format!("\"{said}\""),
                };
                self.failure = Some(format!("{title} does not list it: `{line}` prints {said}"));
            }
            Listed::NotAsked(_) => {}
        }
        self.listed = Some(answer);
    }

    /// Formats a short report on an entry that the user has just written.
    fn after_writing(&self, site: &ClientConfig) -> String {
        let scope = if site.scope == SetupScope::Project { " --scope project" } else { "" };
        let mut lines = Vec::new();
        match (&self.failure, &self.listed) {
            (Some(failure), _) => lines.push(format!(
                "It does not work yet: {failure}.\nThe entry stays; `forage setup {}{scope} --remove` removes it.",
                site.client.name
            )),
            (None, Some(Listed::Yes(line))) => lines.push(format!("it works: `{line}` lists it")),
            (None, Some(Listed::NotAsked(reason))) => lines.push(format!("written, not tried: {reason}")),
            (None, _) => lines.push("written, not tried".to_owned()),
        }
        if self.failure.is_none() {
            // The list of tools should only appear in a full report.
            let is_shown = |line: &&String| !line.starts_with("tools: ") && !line.starts_with("not tried: ");
            lines.extend(self.lines.iter().filter(is_shown).cloned());
        }
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.iter().map(|line| capitalized(line) + "\n").collect()
    }
}

fn capitalized(line: &str) -> String {
    let mut letters = line.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Checks an entry that was just written, and asks the client whether it lists the server. Returns the result
/// and its report. This runs the entry's command, so it must be the user's choice.
pub(super) fn after_writing(
    client: &'static Client,
    scope: SetupScope,
    global: &Global,
    project: &Path,
) -> Option<(SettingsCheck, String)> {
    let directories = ClientDirectories::find();
    let site = ClientConfig::find(client, scope, &directories, project)?;
    let flags = session::with_flags(global, CommandLineSettings::default());
    let (config, _) = config::load_what_is_valid(global.config.as_deref(), &flags);
    let look = CheckContext { config: &config, directories: &directories, project, is_own_command: true };
    let mut checked = check(&site, &look);
    checked.ask(&site, &look);
    let report = checked.after_writing(&site);
    Some((checked, report))
}
