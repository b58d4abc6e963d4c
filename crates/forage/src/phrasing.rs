//! Wording of hints: those for agents, and those that agents and people share.

use forage_base::Hint;
use forage_tools::{OTHER_SEARCH, Phrasing, WITHOUT_MODEL};

/// Hints for agents, which call tools but do not own the configuration.
#[derive(Debug)]
pub(crate) struct AgentPhrasing;

impl Phrasing for AgentPhrasing {
    fn hint(&self, hint: Hint) -> &'static str {
        match hint {
            Hint::OtherSearch => OTHER_SEARCH,
            // Agents should not learn which providers exist, or how the command ranks files without one.
            Hint::ConfigureModel => {
                "[[: use {search_index} for a question]][[; use {grep_search} for a pattern]]. The user can configure a \
                 model: `forage doctor` says how."
            }
            Hint::OtherModel => WITHOUT_MODEL,
            other => common(other),
        }
    }
}

/// Returns the wording of a hint that agents and people share. Agents can run commands, too, and can tell
/// their user which setting to change.
pub(crate) fn common(hint: Hint) -> &'static str {
    match hint {
        Hint::ListDirectory => "[[; list it with {list_directory}]]",
        Hint::AllowBroadRoot => ", or set `allow_broad_root = true` in your own configuration",
        Hint::AllowSecret => {
            "; allow it by name in `secrets.allow` of your own configuration if it holds none"
        }
        Hint::RebuildIndex => "; `forage index drop` removes it, and the next use rebuilds it",
        Hint::FillCollection => {
            "; fill it with `forage sparse index PATH --collection NAME`, or set `retrieval.collection`"
        }
        Hint::RefillCollection => "; remove the collection with `forage sparse drop` and fill it again",
        Hint::ChooseVector => "; set `retrieval.vector`, or index the documents with that vector",
        Hint::MatchEncoding => {
            "; set `retrieval.encoder`, `retrieval.language` and `retrieval.disable_stemmer` to match the \
             collection, or index it again under another name"
        }
        Hint::NameEncoder => "; set `retrieval.encoder` to the encoder that filled it",
        Hint::SetEncoder => "; set `retrieval.encoder` to an encoder that reads it",
        Hint::ShowField => "; `retrieval.payload` in the configuration names them",
        Hint::EmbeddedEngine => {
            "; install ugrep or ripgrep, or search with the embedded engine: `--engine embedded`, or `engine = \"embedded\"` \
             under `[tools.search]` in your configuration"
        }
        Hint::OtherSearch | Hint::ConfigureModel | Hint::OtherModel => "",
    }
}
