//! `forage schema`: prints the schemas of the `--json` output, for scripts and validators.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use forage_agent::Transcript;
use forage_tools::PathExplanation;
use forage_tools::records::{self, ErrorRecord, answer_schema, any_of, schema_of};
use forage_tools::schema::definitions_schema;
use forage_tools::tools::{
    GrepSearch, KeywordLookup, KeywordSearch, ListDirectory, ReadFile, Search, SearchHistory, SearchIndex,
};
use forage_ui::{CallRecord, ProcessRecord};
use serde_json::{Value, json};

use super::Status;
use super::doctor::{Diagnosis, StartReport};
use super::eval::Evaluation;
use super::mcp::audit::AuditLine;
use super::output::Terminal;
use super::records::{
    CollectionFilled, CollectionRemoved, CollectionStatus, IndexBuilt, IndexRemoved, IndexStatus,
    IndexVerified, ModelsStatus, RankedIndexBuilt, SettingInEffect, TelemetrySums, ToolCosts,
};
use super::setup::{ClientSetup, KnownClient, OtherClient, PluginFiles};

const EXAMPLES: &str = "\
Examples:
  forage schema                    the names of the schemas
  forage schema grep-uses          the output of `forage grep --uses --json`
  forage schema --json             all of them, by name";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The schema to print [default: list their names]
    name: Option<String>,
}

/// The `--json` output of a command.
struct PrintedDocument {
    /// Name of the schema. This consists of the words of the command.
    name: &'static str,
    command: &'static str,
    answers: Answers,
    schema: fn() -> Value,
}

/// How many documents a command prints.
#[derive(Clone, Copy)]
enum Answers {
    /// One document.
    Once,
    /// One document, or a list of them if the command is about more than one thing.
    Each,
    /// No document: the command writes lines to a file.
    Written,
    /// No document: this is the schema of an error.
    Never,
}

const DOCUMENTS: &[PrintedDocument] = &[
    document("keyword", "forage keyword", Answers::Once, answer_schema::<KeywordSearch>),
    document("grep-uses", "forage grep --uses", Answers::Once, answer_schema::<GrepSearch>),
    document("grep-fuzzy", "forage grep --fuzzy", Answers::Once, answer_schema::<Search>),
    document("call-search", "forage call Search", Answers::Once, answer_schema::<Search>),
    document("rank", "forage rank", Answers::Once, answer_schema::<SearchIndex>),
    document("lookup", "forage lookup", Answers::Once, answer_schema::<KeywordLookup>),
    document("list", "forage list", Answers::Once, answer_schema::<ListDirectory>),
    document("files", "forage files", Answers::Once, answer_schema::<ListDirectory>),
    document("history", "forage history", Answers::Once, answer_schema::<SearchHistory>),
    document("why", "forage why", Answers::Once, schema_of::<PathExplanation>),
    document("read", "forage read", Answers::Once, answer_schema::<ReadFile>),
    document("ask", "forage ask", Answers::Once, schema_of::<Transcript>),
    document("models", "forage models", Answers::Once, schema_of::<ModelsStatus<'_>>),
    document("config", "forage config", Answers::Once, schema_of::<BTreeMap<String, SettingInEffect>>),
    document("index-status", "forage index status", Answers::Each, schema_of::<IndexStatus<'_>>),
    document("index-build", "forage index build", Answers::Each, schema_of::<IndexBuilt>),
    document(
        "index-build-ranked",
        "forage index build --ranked",
        Answers::Each,
        schema_of::<RankedIndexBuilt>,
    ),
    document("index-drop", "forage index drop", Answers::Each, schema_of::<IndexRemoved>),
    document("index-verify", "forage index verify", Answers::Each, schema_of::<IndexVerified<'_>>),
    document("sparse-index", "forage sparse index", Answers::Each, schema_of::<CollectionFilled<'_>>),
    document("sparse-status", "forage sparse status", Answers::Once, schema_of::<CollectionStatus>),
    document("sparse-drop", "forage sparse drop", Answers::Once, schema_of::<CollectionRemoved>),
    document("telemetry", "forage telemetry", Answers::Once, schema_of::<TelemetrySums<'_>>),
    document("start", "forage", Answers::Once, schema_of::<StartReport>),
    document("doctor", "forage doctor", Answers::Once, schema_of::<Diagnosis>),
    document("setup", "forage setup", Answers::Once, schema_of::<Vec<KnownClient>>),
    document("setup-client", "forage setup CLIENT", Answers::Each, schema_of::<ClientSetup>),
    document("setup-other", "forage setup other", Answers::Once, schema_of::<OtherClient<'_>>),
    document("setup-plugin-files", "forage setup --plugin-files", Answers::Once, schema_of::<PluginFiles>),
    document("tools", "forage tools", Answers::Once, definitions_schema),
    document("tools-cost", "forage tools --cost", Answers::Once, schema_of::<ToolCosts>),
    document("eval", "forage eval", Answers::Once, schema_of::<Evaluation<'_>>),
    document("audit-line", "forage mcp --audit FILE", Answers::Written, schema_of::<AuditLine<'_>>),
    document("ui-process", "[journal] path", Answers::Written, schema_of::<ProcessRecord>),
    document("ui-call", "[journal] path", Answers::Written, schema_of::<CallRecord>),
    document("error", "any command that fails", Answers::Never, schema_of::<ErrorRecord>),
];

const fn document(
    name: &'static str,
    command: &'static str,
    answers: Answers,
    schema: fn() -> Value,
) -> PrintedDocument {
    PrintedDocument { name, command, answers, schema }
}

impl PrintedDocument {
    /// Builds the schema of everything that a program may have to read: an answer, a list of answers, or an
    /// error.
    fn whole(&self) -> Value {
        let mut schema = self.any();
        let mut whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("urn:forage:records:{}:{}", records::VERSION, self.name),
            "title": match self.answers {
                Answers::Never => "Output of a command with --json that fails".to_owned(),
                Answers::Written => format!("A line that `{}` writes", self.command),
                Answers::Once | Answers::Each => format!("Output of `{} --json`", self.command),
            },
        });
        if let (Some(whole), Some(parts)) = (whole.as_object_mut(), schema.as_object_mut()) {
            whole.append(parts);
        }
        whole
    }

    fn any(&self) -> Value {
        let error = ("ErrorRecord", schema_of::<ErrorRecord>());
        let answer = || ("Answer", with_error((self.schema)()));
        match self.answers {
            Answers::Never => any_of([error]),
            Answers::Written => any_of([("Line", (self.schema)())]),
            Answers::Once => any_of([answer(), error]),
            Answers::Each => {
                let list = with_error(json!({
                    "type": "object",
                    "description": "The answers to several paths, in their order.",
                    "properties": { "answers": { "type": "array", "items": { "$ref": "#/$defs/Answer" } } },
                    "required": ["answers"],
                }));
                any_of([answer(), ("Answers", list), error])
            }
        }
    }
}

/// Adds the fields of an error to the schema of an answer, because a command can print an answer and still
/// fail.
fn with_error(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let error = json!({ "type": "string", "description": "The error that the command ended with." });
        let code = json!({ "$ref": "#/$defs/ErrorCode", "description": "The error code for programs." });
        properties.entry("error").or_insert(error);
        properties.entry("code").or_insert(code);
    }
    schema
}

/// Looks up the schema with this name.
pub(crate) fn find_document(name: &str) -> Option<Value> {
    DOCUMENTS.iter().find(|document| document.name == name).map(PrintedDocument::whole)
}

pub(crate) fn run(arguments: &Arguments, output: &mut Terminal) -> anyhow::Result<Status> {
    match &arguments.name {
        Some(name) => {
            let known = || DOCUMENTS.iter().map(|document| document.name).collect::<Vec<_>>().join(", ");
            let document = DOCUMENTS.iter().find(|document| document.name == name);
            let document = document
                .with_context(|| format!("there is no schema {name:?}; the schemas are {}", known()))?;
            output.value(&document.whole())?;
        }
        None if output.wants_json() => {
            let all = DOCUMENTS.iter().map(|document| (document.name.to_owned(), document.whole()));
            output.value(&Value::Object(all.collect()))?;
        }
        None => {
            let mut text = String::new();
            for document in DOCUMENTS {
                writeln!(text, "{:<20} {}", document.name, document.command)?;
            }
            output.text(&text)?;
            output.flush()?;
        }
    }
    Ok(Status::Found)
}
