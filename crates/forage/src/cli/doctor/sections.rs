//! The sections of the report. Each should use the same code as the real work, so that the report is true.

use std::collections::BTreeMap;
use std::time::Duration;

use forage_base::{Stop, count};
use forage_fs::find_git_root;
use forage_llm::limits::MAX_MODELS_PER_CALL;
use forage_llm::{ModelChoice, ModelRole};
use forage_sandbox::Level;
use forage_tools::registry::TOOLS;
use forage_tools::{EngineSetting, FoundModels, Program};

use super::super::check::{self, CheckContext, SettingsCheck};
use super::super::records::SettingInEffect;
use super::super::setup::{self, ClientFile};
use super::super::user_error::error_text;
use super::super::{Global, session, version};
use super::records::{
    CacheInUse, ClientInUse, ConfigurationInUse, EngineInUse, IndexFound, IndexesInUse, KeyedProvider,
    ModelsInUse, ModelsNamed, ProgramVersions, RootInUse, RootIndex, RootsInUse, SandboxInUse, ToolInUse,
};
use super::{DoctorReport, DoctorSubject};
use crate::config::{self, ClientDirectories, DEFAULT, Needs, ProviderCatalog};
use crate::setup::{ClientConfig, ClientState};

/// Timeout for an engine to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn versions(report: &mut DoctorReport) -> ProgramVersions {
    let revisions = forage_mcp::revisions();
    let lines = [
        format!("forage {} for {}", version::version(), version::TARGET),
        format!("Model Context Protocol {}", revisions.join(", ")),
    ];
    report.section("versions", &lines);
    ProgramVersions {
        forage: env!("CARGO_PKG_VERSION"),
        commit: version::COMMIT,
        target: version::TARGET,
        protocol_revisions: revisions,
    }
}

pub(super) fn roots(report: &mut DoctorReport, subject: &mut DoctorSubject) -> RootsInUse {
    let working = match config::working_directory() {
        Ok(working) => working,
        Err(error) => {
            report.problems.push(error_text(&error));
            report.section("roots", &[error_text(&error)]);
            return RootsInUse { working_directory: None, roots: Vec::new() };
        }
    };
    let source = match (subject.config.settings.roots.is_empty(), find_git_root(&working)) {
        (false, _) => format!("`roots` ({})", subject.config.source("roots")),
        (true, Some(_)) => "the git root that contains the working directory".to_owned(),
        (true, None) => "the working directory, which is not in a git repository".to_owned(),
    };
    let mut lines = vec![format!("working directory {}", working.display())];
    let mut records = Vec::new();
    for directory in session::directories(&subject.config, &working, &[]) {
        let git_root = find_git_root(&directory).map(|root| root.display().to_string());
        let opened = session::open_root(&subject.config, &directory);
        let problem = opened.as_ref().err().map(error_text);
        let git = git_root.as_ref().map_or("no git root".to_owned(), |root| format!("git root {root}"));
        lines.push(match &problem {
            None => format!("{}, from {source}; {git}", directory.display()),
            Some(problem) => format!("{}, from {source}, can't be searched: {problem}", directory.display()),
        });
        records.push(RootInUse {
            root: directory.display().to_string(),
            from: source.clone(),
            git_root,
            problem: problem.clone(),
        });
        match opened {
            Ok(root) => subject.roots.push(root),
            Err(_) => report.problems.extend(problem.map(|problem| format!("root: {problem}"))),
        }
    }
    read_repositories(subject);
    report.section("roots", &lines);
    RootsInUse { working_directory: Some(working.display().to_string()), roots: records }
}

/// Reads the repositories' own configuration in a sandbox. The rest of the report needs resources outside of
/// the sandbox, so a separate thread enters it.
fn read_repositories(subject: &mut DoctorSubject) {
    let roots: Vec<_> = subject.roots.iter().map(|root| root.path().to_owned()).collect();
    let DoctorSubject { config, roots: opened, .. } = subject;
    let access = config.access(&roots, &Needs::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Another section reports a missing sandbox that the user requires. This must not end the report.
            let _ = config.enforce_sandbox(&access, false);
            config::narrow(config, opened);
        });
    });
}

pub(super) fn configuration(
    report: &mut DoctorReport,
    subject: &DoctorSubject,
    problems: &[anyhow::Error],
) -> ConfigurationInUse {
    let config = &subject.config;
    let file = config.file().display();
    let exists = config.file().exists();
    let problems: Vec<String> = problems.iter().map(error_text).collect();
    let changed: Vec<_> = config.describe().filter(|(_, _, source)| *source != DEFAULT).collect();
    let mut lines =
        vec![format!("{file}{}", if exists { "" } else { ", which does not exist (not an error)" })];
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(|(name, ..)| *name).collect();
        lines.push(format!("changed settings: {} (`forage config` shows them)", names.join(", ")));
    }
    lines.extend(problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(config.notices.iter().map(|notice| format!("notice: {notice}")));
    report.section("configuration", &lines);
    report.problems.extend(problems.iter().cloned());
    report.warnings.extend(config.notices.iter().cloned());
    let changed = changed.into_iter().map(SettingInEffect::named);
    ConfigurationInUse {
        file: file.to_string(),
        exists,
        changed: changed.collect(),
        notices: config.notices.clone(),
        problems,
    }
}

pub(super) fn tools(report: &mut DoctorReport, subject: &DoctorSubject) -> Vec<ToolInUse> {
    let choice = subject.config.served_tools();
    if let Err(error) = choice.names() {
        report.problems.push(error.to_string());
    }
    let names = subject.config.served_names();
    let (lookup_problem, engine_problem) = (subject.config.lookup_problem(), subject.config.engine_problem());
    report.warnings.extend(lookup_problem.clone());
    let (mut lines, mut records) = (Vec::new(), Vec::new());
    for tool in TOOLS {
        let has_no_model = tool.name() == "keyword_search" && subject.config.names_no_model_for_agents();
        let is_on = choice.has(*tool) && !has_no_model;
        let (why, how) = match is_on {
            true => (None, None),
            false if choice.has(*tool) => {
                let why = "no model is named for it, so agents see it only if their client has one";
                let how = "name a model in `models` or in FORAGE_MODEL";
                (Some(why.to_owned()), Some(how.to_owned()))
            }
            false if tool.name() == "keyword_lookup" && lookup_problem.is_some() => {
                let how = "correct the settings of `[retrieval]`".to_owned();
                (Some("its store can't be used".to_owned()), Some(how))
            }
            false if tool.name() == "Search" && engine_problem.is_some() => {
                let how = "install one of them, or set `tools.search.engine = \"embedded\"`".to_owned();
                (Some("no configured engine can run, see `engines`".to_owned()), Some(how))
            }
            false => (
                Some(if tool.spec().is_on_by_default {
                    "the configuration turns it off".to_owned()
                } else {
                    "off by default; agents see it only if you enable it".to_owned()
                }),
                Some(match tool.name() {
                    "keyword_lookup" => "set `retrieval.enable_keyword_tool = true`".to_owned(),
                    name => format!("set `tools.{}.enabled = true`", name.to_ascii_lowercase()),
                }),
            ),
        };
        let off = why.iter().zip(&how).map(|(why, how)| format!(" ({why}; {how})"));
        let state = if is_on { "on" } else { "off" };
        let (name, id) = (names.called(tool.id()), tool.id());
        let own = if name == id { String::new() } else { format!(" (the tool {id})") };
        lines.push(format!("{name:<16} {state}{own}{}", off.collect::<String>()));
        records.push(ToolInUse { name: name.to_owned(), tool: id, on: is_on, why_off: why, turn_on: how });
    }
    report.section("tools", &lines);
    records
}

pub(super) fn engines(report: &mut DoctorReport, subject: &DoctorSubject) -> Vec<EngineInUse> {
    let roots = subject.paths();
    let used = subject.config.search_settings(&roots).engine;
    let mut lines = vec![format!("{:<9} built in, needs no program", "embedded")];
    let absent =
        |engine| EngineInUse { engine, found: false, used: false, path: None, version: None, problem: None };
    let mut records = vec![EngineInUse {
        found: true,
        used: matches!(used, EngineSetting::Embedded),
        ..absent("embedded")
    }];
    let is_used = |program: &Program| match &used {
        EngineSetting::External { programs, .. } => programs.iter().any(|it| it.path() == program.path()),
        EngineSetting::Embedded => false,
    };
    for (name, found) in subject.config.installed_engines(&roots) {
        match &found {
            Ok(program) => {
                let version = program.version(&Stop::after(VERSION_TIMEOUT));
                let said = version.as_deref().unwrap_or("it does not report its version");
                lines.push(format!("{name:<9} {} ({said})", program.path().display()));
                records.push(EngineInUse {
                    found: true,
                    used: is_used(program),
                    path: Some(program.path().display().to_string()),
                    version,
                    ..absent(name)
                });
            }
            Err(problem) => {
                lines.push(match &used {
                    EngineSetting::Embedded => {
                        format!("{name:<9} not found, and not needed by the embedded engine")
                    }
                    EngineSetting::External { .. } => format!("{name:<9} {problem}"),
                });
                records.push(EngineInUse { problem: Some(problem.clone()), ..absent(name) });
            }
        }
    }
    let names = subject.config.served_names();
    let search = names.called("Search");
    match &used {
        EngineSetting::Embedded => lines.push(format!("`{search}` uses the embedded engine")),
        EngineSetting::External { programs, missing } => match programs.first() {
            Some(first) => lines.push(format!("`{search}` uses {}", first.path().display())),
            None => {
                let missing = missing.join("; ");
                let problem = format!("`{search}` has no engine: {missing}");
                lines.push(problem.clone());
                report.problems.push(problem);
            }
        },
    }
    report.section("engines", &lines);
    records
}

pub(super) fn models(report: &mut DoctorReport, subject: &DoctorSubject) -> ModelsInUse {
    match try_models(report, subject) {
        Ok((lines, record, has_none)) => {
            report.section("models", &lines);
            let names = subject.config.served_names();
            // Without a named model, the tools section says why agents do not see this tool.
            let is_offered = names.has("keyword_search") && !subject.config.names_no_model_for_agents();
            if has_none && !subject.config.is_lexical() && is_offered {
                report.warnings.push(format!(
                    "`{}` has no model to ask: set the key of a provider (`forage models` lists them), or \
                     `filter = \"lexical\"`",
                    names.called("keyword_search")
                ));
            }
            record
        }
        Err(error) => {
            let problem = error_text(&error);
            report.section("models", std::slice::from_ref(&problem));
            report.problems.push(format!("models: {problem}"));
            ModelsInUse {
                providers: Vec::new(),
                named: None,
                chosen: None,
                online: None,
                problem: Some(problem),
            }
        }
    }
}

/// Returns the section's lines, its record, and whether `keyword_search` lacks a model.
fn try_models(
    report: &mut DoctorReport,
    subject: &DoctorSubject,
) -> anyhow::Result<(Vec<String>, ModelsInUse, bool)> {
    let config = &subject.config;
    let mut catalog = ProviderCatalog::open(config)?;
    let (mut lines, mut providers) = (Vec::new(), Vec::new());
    for provider in catalog.providers.iter().filter(|provider| provider.key_variable.is_some()) {
        lines.push(format!(
            "{}: key in {}",
            provider.name,
            provider.key_variable.as_deref().unwrap_or_default()
        ));
        let key_variable = provider.key_variable.clone();
        providers.push(KeyedProvider { provider: provider.name.clone(), key_variable });
    }
    if lines.is_empty() {
        lines.push("no provider has a key".to_owned());
    }
    lines.extend(config.models_of_agents());
    if config.names_models() {
        let found = config.named_models().unwrap_or_else(|error| {
            report.problems.push(format!("models: {}", error_text(&error)));
            FoundModels { models: Vec::new(), passed_over: error_text(&error) }
        });
        let names: Vec<String> = found.models.iter().map(|model| model.name()).collect();
        let source = config.source("models");
        lines.push(format!("named by {source}: {}", or_none(&names)));
        if !found.passed_over.is_empty() {
            lines.push(found.passed_over);
        }
        let has_none = names.is_empty();
        let named = Some(ModelsNamed { by: source.to_owned(), models: names });
        return Ok((
            lines,
            ModelsInUse { providers, named, chosen: None, online: None, problem: None },
            has_none,
        ));
    }
    let mut roles = BTreeMap::new();
    let mut has_none = false;
    for role in ModelRole::ALL {
        let choice =
            if subject.extent.online { catalog.choose(role) } else { catalog.choose_from_kept(role) };
        let names = picked(&choice);
        has_none |= role == ModelRole::Filter && names.is_empty();
        lines.push(format!("{}: {}", role.name(), or_none(&names)));
        roles.insert(role.name(), names);
    }
    if !subject.extent.online {
        lines
            .push("chosen from cached lists of models; `forage doctor --online` reads them again".to_owned());
    }
    let (chosen, online) = (Some(roles), Some(subject.extent.online));
    Ok((lines, ModelsInUse { providers, named: None, chosen, online, problem: None }, has_none))
}

fn picked(choice: &ModelChoice) -> Vec<String> {
    let picks = choice.picks(MAX_MODELS_PER_CALL).into_iter();
    picks.map(|candidate| format!("{}/{}", candidate.provider, candidate.model)).collect()
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", then ") }
}

pub(super) fn caches(report: &mut DoctorReport, subject: &DoctorSubject) -> Option<CacheInUse> {
    let (line, record) = match subject.config.cache() {
        Some((directory, Ok((files, bytes)))) => (
            format!("{}: {}, {}", directory.display(), count(files, "file"), count(bytes, "byte")),
            Some(CacheInUse {
                directory: directory.display().to_string(),
                files: Some(files),
                bytes: Some(bytes),
                problem: None,
            }),
        ),
        Some((directory, Err(problem))) => {
            report.warnings.push(format!("the cache is not used: {problem}"));
            (
                format!("{}: not used: {problem}", directory.display()),
                Some(CacheInUse {
                    directory: directory.display().to_string(),
                    files: None,
                    bytes: None,
                    problem: Some(problem.to_string()),
                }),
            )
        }
        None => ("can't find your cache directory".to_owned(), None),
    };
    report.warnings.extend(subject.config.telemetry_problem());
    report.warnings.extend(subject.config.journal_problem());
    report.section("caches", &[line]);
    record
}

pub(super) fn index(report: &mut DoctorReport, subject: &DoctorSubject) -> IndexesInUse {
    let (mut lines, mut records) =
        (vec![format!("`index` is {:?}", subject.config.word("index"))], Vec::new());
    for root in &subject.roots {
        let path = root.path().display();
        let (line, record) = match subject.config.index_store(root) {
            Err(problem) => (
                format!("{path}: none: {problem}"),
                IndexFound { state: "none", bytes: None, problem: Some(problem.to_string()) },
            ),
            Ok(store) => {
                let (index, problems) = store.open_checked();
                report.warnings.extend(problems.iter().map(|problem| {
                    format!("the index of {path} can't be used; `forage index build` rebuilds it: {problem}")
                }));
                match index {
                    None => (
                        format!("{path}: none; `forage index build` creates one"),
                        IndexFound { state: "none", bytes: None, problem: None },
                    ),
                    Some(_) => {
                        let (bytes, place) = (store.size(), store.directory());
                        (
                            format!("{path}: {} in {}", count(bytes, "byte"), place.display()),
                            IndexFound { state: "there", bytes: Some(bytes), problem: None },
                        )
                    }
                }
            }
        };
        lines.push(line);
        records.push(RootIndex { root: path.to_string(), index: record });
    }
    report.section("index", &lines);
    IndexesInUse { mode: subject.config.word("index").to_owned(), roots: records }
}

pub(super) fn sandbox(report: &mut DoctorReport, subject: &DoctorSubject) -> SandboxInUse {
    let level = forage_sandbox::probe();
    let mode = subject.config.word("sandbox");
    let mut lines = vec![format!("{level}; `sandbox` is {mode:?}")];
    if mode == "require" && !level.is_full() {
        report
            .problems
            .push(format!("`sandbox` is \"require\", but the sandbox is incomplete here: {level}"));
    }
    // If the sandbox is disabled, it refuses nothing.
    let used = if mode == "off" { Level::None { reason: "it is off".to_owned() } } else { level.clone() };
    let (refused, open) = (used.refuses(), used.leaves_open());
    for (what, list) in [("refused", &refused), ("left open", &open)] {
        lines.extend(list.iter().map(|entry| format!("{what}: {entry}")));
    }
    report.section("sandbox", &lines);
    SandboxInUse {
        possible: level.name(),
        detail: level.to_string(),
        mode: mode.to_owned(),
        refused,
        left_open: open,
    }
}

pub(super) fn clients(
    report: &mut DoctorReport,
    subject: &DoctorSubject,
    global: &Global,
) -> Vec<ClientInUse> {
    let (sites, project) = match setup::sites(global).and_then(|sites| Ok((sites, setup::project(global)?))) {
        Ok(found) => found,
        Err(error) => {
            report.section("clients", &[error_text(&error)]);
            return Vec::new();
        }
    };
    let directories = ClientDirectories::find();
    let look = CheckContext {
        config: &subject.config,
        directories: &directories,
        project: &project,
        is_own_command: false,
    };
    let (mut lines, mut records) = (Vec::new(), Vec::new());
    let checked = match subject.extent.starts_servers {
        true => checked(&sites, &look),
        false => sites.iter().map(|_| None).collect(),
    };
    for (site, checked) in sites.iter().zip(checked) {
        let words = setup::state_words(&site.state);
        let name = format!("{} ({})", site.client.title, site.scope.name());
        let line = format!("{} ({}, {}): {words}", site.client.title, site.scope.name(), site.path.display());
        match &site.state {
            ClientState::Absent { .. } => {}
            ClientState::SetUp { .. } => lines.push(line),
            ClientState::Foreign | ClientState::Unclear(_) => {
                lines.push(line.clone());
                report.warnings.push(line);
            }
        }
        let check = checked.and_then(|checked| {
            let failed = checked.call_error.iter().map(|error| format!("a call there fails: {error}"));
            report
                .problems
                .extend(checked.failure.iter().cloned().chain(failed).map(|it| format!("{name}: {it}")));
            report.warnings.extend(checked.warnings.iter().map(|warning| format!("{name}: {warning}")));
            lines.extend(checked.lines.iter().chain(&checked.failure).map(|line| format!("  {line}")));
            checked.into_record()
        });
        records.push(ClientInUse { file: ClientFile::from_site(site), client: site.client.name, check });
    }
    if lines.is_empty() {
        lines.push("set up in none; `forage setup` lists them".to_owned());
    } else if !subject.extent.starts_servers {
        lines.push("not tried here; `forage doctor` starts each server to check it".to_owned());
    }
    report.section("clients", &lines);
    records
}

/// Checks all entries in parallel, so that several servers that hang cost the time of only one.
fn checked(sites: &[ClientConfig], look: &CheckContext<'_>) -> Vec<Option<SettingsCheck>> {
    let failed =
        || SettingsCheck { failure: Some("it could not be tried".to_owned()), ..SettingsCheck::default() };
    std::thread::scope(|scope| {
        let is_set_up = |site: &ClientConfig| matches!(site.state, ClientState::SetUp { .. });
        let begin = |site| is_set_up(site).then(|| scope.spawn(move || check::check(site, look)));
        let begun: Vec<_> = sites.iter().map(begin).collect();
        begun.into_iter().map(|it| Some(it?.join().unwrap_or_else(|_| failed()))).collect()
    })
}
