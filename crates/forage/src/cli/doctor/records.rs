//! The records that `forage doctor --json` and `forage --json` print.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::check::EntryCheck;
use crate::cli::records::SettingInEffect;
use crate::cli::setup::ClientFile;

/// Findings of the installation check.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct Diagnosis {
    /// The program.
    pub(super) versions: ProgramVersions,
    /// The roots in effect.
    pub(super) roots: RootsInUse,
    /// The configuration file.
    pub(super) configuration: ConfigurationInUse,
    /// All tools, on and off.
    pub(super) tools: Vec<ToolInUse>,
    /// The engines of `Search`, the embedded one first.
    pub(super) engines: Vec<EngineInUse>,
    /// The models in effect.
    pub(super) models: ModelsInUse,
    /// The cache directory; null if it is unknown.
    pub(super) caches: Option<CacheInUse>,
    /// The indexes of the roots.
    pub(super) index: IndexesInUse,
    /// The sandbox of the kernel.
    pub(super) sandbox: SandboxInUse,
    /// The files of all known clients; empty if the project is unknown.
    pub(super) clients: Vec<ClientInUse>,
    /// Problems that affect a part of Forage.
    pub(super) warnings: Vec<String>,
    /// Problems that prevent Forage from working.
    pub(super) problems: Vec<String>,
    /// True if there are no problems.
    pub(super) usable: bool,
}

/// Overview of the working directory.
#[derive(JsonSchema, Serialize)]
pub(in crate::cli) struct StartReport {
    /// The roots in effect.
    pub(super) roots: RootsInUse,
    /// The indexes of the roots.
    pub(super) index: IndexesInUse,
    /// The models in effect.
    pub(super) models: ModelsInUse,
    /// The files of all known clients; empty if the project is unknown.
    pub(super) clients: Vec<ClientInUse>,
    /// Problems that prevent Forage from working.
    pub(super) problems: Vec<String>,
}

/// The program and its protocols.
#[derive(JsonSchema, Serialize)]
pub(super) struct ProgramVersions {
    /// The version of Forage.
    pub(super) forage: &'static str,
    /// The commit of the build; null if unknown.
    pub(super) commit: Option<&'static str>,
    /// The target triple of the build.
    pub(super) target: &'static str,
    /// Supported revisions of the Model Context Protocol.
    pub(super) protocol_revisions: Vec<&'static str>,
}

/// The directories to search from here.
#[derive(JsonSchema, Serialize)]
pub(super) struct RootsInUse {
    /// The working directory; null if it is unknown, which is a problem.
    pub(super) working_directory: Option<String>,
    /// The roots; empty without a working directory.
    pub(super) roots: Vec<RootInUse>,
}

/// A directory to search.
#[derive(JsonSchema, Serialize)]
pub(super) struct RootInUse {
    /// The directory.
    pub(super) root: String,
    /// The source of this root, in words.
    pub(super) from: String,
    /// The root of the git repository around it, or null.
    pub(super) git_root: Option<String>,
    /// The reason why it can't be searched, or null.
    pub(super) problem: Option<String>,
}

/// The configuration file and its changes.
#[derive(JsonSchema, Serialize)]
pub(super) struct ConfigurationInUse {
    /// The path of the file.
    pub(super) file: String,
    /// True if the file exists.
    pub(super) exists: bool,
    /// Changed settings, by name.
    pub(super) changed: BTreeMap<String, SettingInEffect>,
    /// Settings that are used with another value than the given one.
    pub(super) notices: Vec<String>,
    /// Errors in the file.
    pub(super) problems: Vec<String>,
}

/// A tool and its state.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolInUse {
    /// Its name for agents.
    pub(super) name: String,
    /// Its built-in name.
    pub(super) tool: &'static str,
    /// True if agents see it.
    pub(super) on: bool,
    /// The reason if they don't, or null.
    pub(super) why_off: Option<String>,
    /// How to turn it on, or null.
    pub(super) turn_on: Option<String>,
}

/// An engine of `Search`.
#[derive(JsonSchema, Serialize)]
pub(super) struct EngineInUse {
    /// Its name.
    pub(super) engine: &'static str,
    /// True if it is available.
    pub(super) found: bool,
    /// True if `Search` uses it.
    pub(super) used: bool,
    /// The path of its program; null for the embedded engine, or if it was not found.
    pub(super) path: Option<String>,
    /// The version of the program, or null.
    pub(super) version: Option<String>,
    /// The reason why it was not found, or null.
    pub(super) problem: Option<String>,
}

/// The models in effect.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsInUse {
    /// Providers with a key.
    pub(super) providers: Vec<KeyedProvider>,
    /// The models that you named; null if models are chosen.
    pub(super) named: Option<ModelsNamed>,
    /// The models for `filter` and `agent`, as `provider/model`, in order; null if you named models.
    pub(super) chosen: Option<BTreeMap<&'static str, Vec<String>>>,
    /// True if the providers' lists of models were read; null if you named models.
    pub(super) online: Option<bool>,
    /// The reason why the models are unknown, or null.
    pub(super) problem: Option<String>,
}

/// A provider with a key.
#[derive(JsonSchema, Serialize)]
pub(super) struct KeyedProvider {
    /// Its name.
    pub(super) provider: String,
    /// The variable with the key.
    pub(super) key_variable: Option<String>,
}

/// Models in the configuration.
#[derive(JsonSchema, Serialize)]
pub(super) struct ModelsNamed {
    /// The setting, option or variable that names them.
    pub(super) by: String,
    /// Their names, as `provider/model`; only those that can be asked.
    pub(super) models: Vec<String>,
}

/// The cache directory.
#[derive(JsonSchema, Serialize)]
pub(super) struct CacheInUse {
    /// Its path.
    pub(super) directory: String,
    /// Number of files; null if it is not used.
    pub(super) files: Option<u64>,
    /// Bytes of these files; null if it is not used.
    pub(super) bytes: Option<u64>,
    /// The reason why it is not used, or null.
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

/// The state of an index.
#[derive(JsonSchema, Serialize)]
pub(super) struct IndexFound {
    /// `there`, or `none` if there is no usable index.
    pub(super) state: &'static str,
    /// Its size in bytes, or null.
    pub(super) bytes: Option<u64>,
    /// The reason why an index is not possible, or null.
    pub(super) problem: Option<String>,
}

/// The sandbox of the kernel.
#[derive(JsonSchema, Serialize)]
pub(super) struct SandboxInUse {
    /// The level that this kernel can enforce: `none`, `partial` or `full`.
    pub(super) possible: &'static str,
    /// The result in words.
    pub(super) detail: String,
    /// The value of the setting `sandbox`.
    pub(super) mode: String,
    /// The blocked operations, in words.
    pub(super) refused: Vec<&'static str>,
    /// The operations that are not blocked, in words.
    pub(super) left_open: Vec<&'static str>,
}

/// A client's file, with the test of its entry.
#[derive(JsonSchema, Serialize)]
pub(super) struct ClientInUse {
    #[serde(flatten)]
    pub(super) file: ClientFile,
    /// The client.
    pub(super) client: &'static str,
    /// The result of the test; null if there is no entry, or it could not be tested.
    pub(super) check: Option<EntryCheck>,
}
