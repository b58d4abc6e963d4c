//! The definitions in the files of a listing.

use std::collections::HashSet;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{Root, display_text};
use forage_rank::{Definition, DefinitionKind};
use forage_redact::RedactionReport;

use super::ListEntry;
use crate::call::Call;
use crate::file_text::whole_text;
use crate::limits;
use crate::output_redactor::OutputRedactor;
use crate::text::{clip, count, grouped};

/// Adds the names that files define to their entries. Returns a note if some files have no names because
/// there are too many of them, or because time ran out.
pub(super) fn add_names(
    call: &Call,
    root: &Arc<Root>,
    entries: &mut [ListEntry],
    stop: &Stop,
    hidden: &mut RedactionReport,
) -> Option<String> {
    let mut redactor = OutputRedactor::new(&call.workspace.redactor, hidden);
    let files: Vec<&mut ListEntry> = entries.iter_mut().filter(|entry| entry.lines.is_some()).collect();
    let all = files.len();
    for (looked_at, entry) in files.into_iter().enumerate() {
        let left = || count((all - looked_at) as u64, "file");
        if stop.check().is_some() {
            return Some(format!("there was no time to read the symbols of {}", left()));
        }
        if looked_at == limits::LIST_SYMBOL_FILES {
            let left = left();
            let max = grouped(limits::LIST_SYMBOL_FILES as u64);
            return Some(format!(
                "the symbols of {left} are left out; list a directory of at most {max} files"
            ));
        }
        // If we can't read a file, the reason was reported when we counted its lines.
        let Ok((text, ..)) = whole_text(root, &entry.place, stop) else { continue };
        // Extensions and headings only mention a name, and declarations have a definition elsewhere.
        let is_told = |definition: &Definition| {
            let kind = definition.kind;
            definition.depth == 0
                && !matches!(
                    kind,
                    DefinitionKind::Extension | DefinitionKind::Declaration | DefinitionKind::Heading
                )
        };
        let outline = call.workspace.outlines.outline(&entry.path, &text, stop);
        let mut seen: HashSet<&str> = HashSet::new();
        for definition in outline.definitions.iter().filter(|definition| is_told(definition)) {
            if !seen.insert(&definition.name) {
                continue;
            }
            if entry.symbols.len() == limits::LIST_SYMBOLS {
                entry.symbols_more += 1;
                continue;
            }
            let mut name = display_text(&definition.name).into_owned();
            redactor.text(&mut name);
            entry.symbols.push(clip(&name, limits::LIST_SYMBOL_BYTES));
        }
    }
    None
}

/// Formats the names of a file. This follows the file's line count.
pub(super) fn shown(entry: &ListEntry) -> String {
    if entry.symbols.is_empty() {
        return String::new();
    }
    let more = match entry.symbols_more {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    format!(": {}{more}", entry.symbols.join(", "))
}
