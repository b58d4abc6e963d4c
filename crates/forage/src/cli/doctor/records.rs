//! The records that `forage doctor --json` and `forage --json` print.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::check::EntryCheck;
use crate::cli::records::SettingInEffect;
use crate::cli::setup::ClientFile;

/// Of `forage doctor`.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct Diagnosis {
    /// The program.
    pub(super) versions: ProgramVersions,
    /// What would be searched.
    pub(super) roots: RootsInUse,
    /// The configuration file.
    pub(super) configuration: ConfigurationInUse,
    /// All tools, with whether agents are offered them.
    pub(super) tools: Vec<ToolInUse>,
    /// The engines of `Search`, the embedded one first.
    pub(super) engines: Vec<EngineInUse>,
    /// The models that would be asked.
    pub(super) models: ModelsInUse,
    /// The directory of caches; null when there is no telling where it is.
    pub(super) caches: Option<CacheInUse>,
    /// The indexes of the roots.
    pub(super) index: IndexesInUse,
    /// What the kernel keeps Forage from.
    pub(super) sandbox: SandboxInUse,
    /// The files of all clients that are known; empty when there is no telling where the project is.
    pub(super) clients: Vec<ClientInUse>,
    /// Sentences about what keeps a part of Forage from working.
    pub(super) warnings: Vec<String>,
    /// Sentences about what keeps Forage from working.
    pub(super) problems: Vec<String>,
    /// Whether there are no problems.
    pub(super) usable: bool,
}

/// Of `forage` without a command.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct StartReport {
    /// What would be searched.
    pub(super) roots: RootsInUse,
    /// The indexes of the roots.
    pub(super) index: IndexesInUse,
    /// The models that would be asked.
    pub(super) models: ModelsInUse,
    /// The files of all clients that are known; empty when there is no telling where the project is.
    pub(super) clients: Vec<ClientInUse>,
    /// Sentences about what keeps Forage from working.
    pub(super) problems: Vec<String>,
}

/// The program, and what it speaks.
#[derive(JsonSchema, Serialize)]
pub(super) struct ProgramVersions {
    /// The version of Forage.
    pub(super) forage: &'static str,
    /// The commit that it was built of; null when the build did not say.
    pub(super) commit: Option<&'static str>,
    /// The platform that it was built for, as Rust calls it.
    pub(super) target: &'static str,
    /// Revisions of the Model Context Protocol that it speaks.
    pub(super) protocol_revisions: Vec<&'static str>,
}

/// What would be searched from here.
#[derive(JsonSchema, Serialize)]
pub(super) struct RootsInUse {
    /// The working directory; null when it can't be told, which is among the problems.
    pub(super) working_directory: Option<String>,
    /// The roots; empty without a working directory.
    pub(super) roots: Vec<RootInUse>,
}

/// A directory that would be searched.
#[derive(JsonSchema, Serialize)]
pub(super) struct RootInUse {
    /// The directory.
    pub(super) root: String,
    /// In words, what names it.
    pub(super) from: String,
    /// The root of the git repository that holds it; null when none does.
    pub(super) git_root: Option<String>,
    /// Why it can't be searched; null when it can.
    pub(super) problem: Option<String>,
}

/// The configuration file, and what it changes.
#[derive(JsonSchema, Serialize)]
pub(super) struct ConfigurationInUse {
    /// The path of the file.
    pub(super) file: String,
    /// Whether there is such a file.
    pub(super) exists: bool,
    /// Settings that are not as by default, by name.
    pub(super) changed: BTreeMap<String, SettingInEffect>,
    /// Sentences about settings that are not taken as they were given.
    pub(super) notices: Vec<String>,
    /// Sentences about what is not valid.
    pub(super) problems: Vec<String>,
}

/// A tool, and whether agents are offered it.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolInUse {
    /// What agents know it by.
    pub(super) name: String,
    /// What it is called where no other name is configured.
    pub(super) tool: &'static str,
    /// Whether agents are offered it.
    pub(super) on: bool,
    /// In words, why not; null when they are.
    pub(super) why_off: Option<String>,
    /// In words, how to offer it; null when it is offered.
    pub(super) turn_on: Option<String>,
}

/// An engine of `Search`.
#[derive(JsonSchema, Serialize)]
pub(super) struct EngineInUse {
    /// Its name.
    pub(super) engine: &'static str,
    /// Whether it is there.
    pub(super) found: bool,
    /// Whether `Search` uses it.
    pub(super) used: bool,
    /// The path of its program; null for the embedded engine and for one that was not found.
    pub(super) path: Option<String>,
    /// The version that the program tells; null when it tells none.
    pub(super) version: Option<String>,
    /// Why it is not found; null when it is.
    pub(super) problem: Option<String>,
}

/// The models that would be asked.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsInUse {
    /// Providers that have a key.
    pub(super) providers: Vec<KeyedProvider>,
    /// The models that are asked because they are named; null where models are chosen.
    pub(super) named: Option<ModelsNamed>,
    /// The models that would be asked for `filter` and for `agent`, `provider/model`, the first one first; null where models
    /// are named.
    pub(super) chosen: Option<BTreeMap<&'static str, Vec<String>>>,
    /// Whether providers were asked for their lists of models; null where models are named.
    pub(super) online: Option<bool>,
    /// Why nothing of this can be told; null when it can.
    pub(super) problem: Option<String>,
}

/// A provider that has a key.
#[derive(JsonSchema, Serialize)]
pub(super) struct KeyedProvider {
    /// Its name.
    pub(super) provider: String,
    /// The variable that holds the key.
    pub(super) key_variable: Option<String>,
}

/// Models that the configuration names.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsNamed {
    /// What names them.
    pub(super) by: String,
    /// Their names, `provider/model`, those alone that can be asked.
    pub(super) models: Vec<String>,
}

/// The directory of caches.
#[derive(JsonSchema, Serialize)]
pub(super) struct CacheInUse {
    /// Its path.
    pub(super) directory: String,
    /// Files that it has; null when it is not used.
    pub(super) files: Option<u64>,
    /// Bytes of these files; null when it is not used.
    pub(super) bytes: Option<u64>,
    /// Why it is not used; null when it is.
    pub(super) problem: Option<String>,
}

/// The indexes of the roots.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexesInUse {
    /// The value of the setting `index`.
    pub(super) mode: String,
    /// The roots that can be searched.
    pub(super) roots: Vec<RootIndex>,
}

/// The index of a root.
#[derive(JsonSchema, Serialize)]
pub(super) struct RootIndex {
    /// The root.
    pub(super) root: String,
    /// Its index.
    pub(super) index: IndexFound,
}

/// Whether a root has an index.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexFound {
    /// `there`, or `none` when there is no index or it can't be used.
    pub(super) state: &'static str,
    /// Its size in bytes; null when there is none.
    pub(super) bytes: Option<u64>,
    /// Why there can be no index; null when there can.
    pub(super) problem: Option<String>,
}

/// What the kernel keeps Forage from.
#[derive(JsonSchema, Serialize)]
pub(super) struct SandboxInUse {
    /// What this kernel can enforce: `none`, `partial` or `full`.
    pub(super) possible: &'static str,
    /// The same in words.
    pub(super) detail: String,
    /// The value of the setting `sandbox`.
    pub(super) mode: String,
    /// In words, what is refused.
    pub(super) refused: Vec<&'static str>,
    /// In words, what is not refused.
    pub(super) left_open: Vec<&'static str>,
}

/// A client's file, with what comes of the entry that it has.
#[derive(JsonSchema, Serialize)]
pub(super) struct ClientInUse {
    #[serde(flatten)]
    pub(super) file: ClientFile,
    /// The client.
    pub(super) client: &'static str,
    /// What came of trying the entry; null when there is none, or it could not be tried.
    pub(super) check: Option<EntryCheck>,
}
