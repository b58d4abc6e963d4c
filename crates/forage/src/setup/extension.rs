//! Extras that are fields of the entry.

use serde_json::{Value, json};

use super::Client;
use super::addition::ExtraParts;
use super::extras::{Extra, ExtraField, ExtraTarget};
use super::pieces::known_tools;

/// A field of the entry and its content.
#[derive(Debug)]
pub(crate) struct Extension {
    field: ExtraField,
    names: Vec<String>,
    /// All names in the field that Forage may have written.
    known: Vec<String>,
}

impl Extension {
    fn key(&self) -> &'static str {
        match self.field {
            ExtraField::True(key)
            | ExtraField::Tools(key)
            | ExtraField::Variables(key)
            | ExtraField::References(key, _) => key,
        }
    }

    /// Adds the field to an entry.
    pub(super) fn put(&self, entry: &mut Value) {
        let key = self.key();
        let Some(fields) = entry.as_object_mut() else { return };
        match self.field {
            ExtraField::True(_) => drop(fields.insert(key.to_owned(), Value::from(true))),
            _ if self.names.is_empty() => {}
            ExtraField::Tools(_) | ExtraField::Variables(_) => {
                let list = fields.entry(key).or_insert_with(|| json!([]));
                let Some(list) = list.as_array_mut() else { return };
                // New names go first, as in all our edits of files.
                for name in self.names.iter().rev() {
                    if !list.iter().any(|item| item == name) {
                        list.insert(0, Value::from(name.as_str()));
                    }
                }
            }
            ExtraField::References(_, form) => {
                let object = fields.entry(key).or_insert_with(|| json!({}));
                let Some(object) = object.as_object_mut() else { return };
                for name in &self.names {
                    object.entry(name.as_str()).or_insert_with(|| form.replace("NAME", name).into());
                }
            }
        }
    }

    /// Removes the field from an entry, but keeps the user's own values in it.
    pub(super) fn take(&self, entry: &mut Value) {
        let key = self.key();
        let Some(fields) = entry.as_object_mut() else { return };
        let is_empty = match (self.field, fields.get_mut(key)) {
            (ExtraField::True(_), value) => value.is_some_and(|value| *value == true),
            (ExtraField::Tools(_) | ExtraField::Variables(_), Some(Value::Array(list))) => {
                let all = list.len();
                list.retain(|item| !item.as_str().is_some_and(|item| self.is_known(item)));
                list.is_empty() && all > 0
            }
            (ExtraField::References(_, form), Some(Value::Object(object))) => {
                let all = object.len();
                object.retain(|name, value| !self.is_known(name) || *value != form.replace("NAME", name));
                object.is_empty() && all > 0
            }
            _ => false,
        };
        if is_empty {
            fields.shift_remove(key);
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.iter().any(|known| known == name)
    }
}

/// Builds the field of the entry for an extra. Returns `None` if the extra is no field.
pub(crate) fn extension(
    extra: &Extra,
    client: &Client,
    words: &ExtraParts,
    all_variables: &[String],
) -> Option<Extension> {
    let ExtraTarget::Entry(field) = extra.how else { return None };
    let (names, known) = match field {
        ExtraField::True(_) => (Vec::new(), Vec::new()),
        ExtraField::Tools(_) => (words.tool_names(client), known_tools()),
        ExtraField::Variables(_) | ExtraField::References(..) => {
            (words.variables.clone(), all_variables.to_vec())
        }
    };
    Some(Extension { field, names, known })
}
