//! `forage sparse encode`: prints the sparse vector of a text, with the tokens of its dimensions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use anyhow::{Context as _, bail};
use forage_base::count;
use forage_lookup::EncodedForm;
use forage_lookup::limits::PRINTED_TEXT_BYTES;
use serde_json::json;

use crate::cli::Status;
use crate::cli::output::Terminal;
use crate::config::{Config, Needs};

pub(super) fn run(
    config: &Config,
    text: &str,
    is_query: bool,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    config.enter_sandbox(&[], &Needs::default())?;
    let text = if text == "-" { from_stdin()? } else { text.to_owned() };
    check(text.len())?;
    let encoder = config.document_encoder();
    let (form, vector) = match is_query {
        true => (EncodedForm::Query, encoder.query(&text)?),
        false => (EncodedForm::Document, encoder.document(&text)?),
    };
    let mut tokens: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (id, word) in encoder.words(&text, form)? {
        let words = tokens.entry(id).or_default();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // Two words may share a dimension, in which case we show both.
    let token = |id: &u32| tokens.get(id).map(|words| words.join(", ")).unwrap_or_default();
    let record = json!({
        "encoding": encoder.contract().as_str(),
        "form": if is_query { "query" } else { "document" },
        "indices": vector.ids(),
        "values": vector.weights(),
        "tokens": vector.ids().iter().map(token).collect::<Vec<_>>(),
    });
    let dimensions = count(vector.ids().len() as u64, "dimension");
    let mut shown = format!("{}: {dimensions}\n", encoder.contract());
    for (id, weight) in vector.ids().iter().zip(vector.weights()) {
        writeln!(shown, "{id:>10}  {weight:<11} {}", forage_tools::sanitize_line(&token(id)))?;
    }
    output.record_or_text(&record, &shown)?;
    Ok(if vector.is_empty() { Status::NothingFound } else { Status::Found })
}

fn check(bytes: usize) -> anyhow::Result<()> {
    if bytes > PRINTED_TEXT_BYTES {
        bail!("the text has more than {PRINTED_TEXT_BYTES} bytes; split it and encode the parts");
    }
    Ok(())
}

/// Reads the text from stdin. This stops once the text exceeds the limit.
fn from_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let max = PRINTED_TEXT_BYTES as u64 + 1;
    std::io::stdin().take(max).read_to_end(&mut bytes).context("can't read the text from stdin")?;
    // Check the length first. If we have cut a text that is too long within a character, it would otherwise
    // be reported as invalid UTF-8.
    check(bytes.len())?;
    String::from_utf8(bytes).context("the text on stdin is not UTF-8")
}
