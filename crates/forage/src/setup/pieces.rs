//! Extras in JSON files: list elements and object members, each recognized by its content.

use forage_mcp::Profile;
use forage_tools::registry::{AnyTool, TOOLS};
use serde_json::{Value, json};

use super::addition::ExtraParts;
use super::extras::{Extra, ExtraPiece, ExtraTarget, Hook, HookEvent, HookForm};
use super::jsonc::{self, JsonTarget, Leaf};
use super::{Client, NAME, SetupRefusal};

/// One value of a piece, and where it belongs in the file.
pub(super) struct PieceSlot {
    piece: ExtraPiece,
    pub(super) path: &'static [&'static str],
    /// The text of a list element. Empty for all other values.
    text: String,
}

/// Lists the names of all tools in each form that clients use.
pub(super) fn known_tools() -> Vec<String> {
    let names = |tool: &&'static dyn AnyTool| [tool.name().to_owned(), Profile::unknown().listed(*tool)];
    let mut known: Vec<String> = TOOLS.iter().flat_map(names).collect();
    known.dedup();
    known
}

/// Lists the tools for which a piece has one element each. Empty for pieces that don't depend on tools.
pub(super) fn tool_slots(piece: ExtraPiece, client: &Client, words: &ExtraParts) -> Vec<String> {
    match piece {
        ExtraPiece::Tools(..) => words.tool_names(client),
        _ => Vec::new(),
    }
}

pub(super) fn slots(piece: ExtraPiece, tools: &[String]) -> Vec<PieceSlot> {
    let slot = |path, text: String| PieceSlot { piece, path, text };
    match piece {
        ExtraPiece::Text(path, text) => vec![slot(path, text.to_owned())],
        ExtraPiece::Tools(path, prefix) => {
            tools.iter().map(|tool| slot(path, format!("{prefix}{tool}"))).collect()
        }
        ExtraPiece::Fields(path, _) | ExtraPiece::Member(path, ..) => vec![slot(path, String::new())],
        ExtraPiece::Version(..) => vec![slot(&[], String::new())],
        ExtraPiece::Hook(hook) => vec![slot(hook.path, String::new())],
    }
}

impl PieceSlot {
    /// Returns true if this list element is Forage's.
    fn is_own(&self, value: &Value) -> bool {
        match self.piece {
            ExtraPiece::Text(..) | ExtraPiece::Tools(..) => value == self.text.as_str(),
            ExtraPiece::Fields(_, fields) => fields.iter().all(|(key, text)| value[*key] == *text),
            ExtraPiece::Hook(hook) => calls_hook(value, hook.event),
            ExtraPiece::Member(..) | ExtraPiece::Version(..) => false,
        }
    }

    fn at<T>(&self, work: impl FnOnce(JsonTarget<'_>) -> T) -> T {
        let is_own = |value: &Value| self.is_own(value);
        let leaf = match self.piece {
            ExtraPiece::Member(_, name, _) | ExtraPiece::Version(name, _) => Leaf::Member(name),
            _ => Leaf::Element(&is_own),
        };
        work(JsonTarget { path: self.path, leaf })
    }

    pub(super) fn find(&self, text: &str) -> Result<Option<Value>, SetupRefusal> {
        self.at(|target| jsonc::find(text, target))
    }

    pub(super) fn created(&self, value: &Value) -> String {
        self.at(|target| jsonc::created(target, value))
    }

    pub(super) fn value(&self, client: &Client, words: &ExtraParts) -> Value {
        match self.piece {
            ExtraPiece::Text(..) | ExtraPiece::Tools(..) => Value::from(self.text.as_str()),
            ExtraPiece::Fields(_, fields) => Value::Object(
                fields.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect(),
            ),
            ExtraPiece::Member(_, _, text) => Value::from(text),
            ExtraPiece::Version(_, number) => Value::from(number),
            ExtraPiece::Hook(hook) => hook_value(hook, &words.command, client.name),
        }
    }

    /// Adds this value to the text.
    fn add(&self, text: &str, client: &Client, words: &ExtraParts) -> Result<String, SetupRefusal> {
        let value = self.value(client, words);
        match (self.piece, self.find(text)?) {
            (ExtraPiece::Version(..), Some(_)) => Ok(text.to_owned()),
            (ExtraPiece::Version(name, _), None) => Err(SetupRefusal::new(format!("it has no `{name}`"))),
            (ExtraPiece::Member(_, name, _), Some(present)) if present != value => {
                Err(SetupRefusal::new(format!("it already sets `{name}` to another value")))
            }
            // Keep the fields that the user has added.
            (ExtraPiece::Hook(_), Some(present)) if contains(&present, &value) => Ok(text.to_owned()),
            (ExtraPiece::Hook(_), Some(present)) => {
                alone(&present)?;
                self.at(|target| jsonc::add(text, target, &merged(&present, &value)))
            }
            (_, Some(_)) => Ok(text.to_owned()),
            (_, None) => self.at(|target| jsonc::add(text, target, &value)),
        }
    }

    /// Removes this value from the text. Returns `None` if we created the file for it.
    fn remove(&self, text: &str) -> Result<Option<String>, SetupRefusal> {
        let Some(present) = self.find(text)? else { return Ok(Some(text.to_owned())) };
        match self.piece {
            ExtraPiece::Version(..) => return Ok(Some(text.to_owned())),
            ExtraPiece::Member(_, _, own) if present != own => return Ok(Some(text.to_owned())),
            ExtraPiece::Hook(_) => alone(&present)?,
            _ => {}
        }
        self.at(|target| jsonc::remove(text, target))
    }
}

pub(super) fn add(
    pieces: &[ExtraPiece],
    text: Option<&str>,
    client: &Client,
    words: &ExtraParts,
) -> Result<String, SetupRefusal> {
    let slots = pieces.iter().flat_map(|piece| slots(*piece, &tool_slots(*piece, client, words)));
    match text {
        // Insert in reverse order, so that each new value goes in front of the existing ones.
        Some(text) => slots.rev().try_fold(text.to_owned(), |text, slot| slot.add(&text, client, words)),
        None => made(slots.map(|slot| {
            let value = slot.value(client, words);
            (slot, value)
        })),
    }
}

/// Formats a new file with these values.
fn made(slots: impl DoubleEndedIterator<Item = (PieceSlot, Value)>) -> Result<String, SetupRefusal> {
    let mut text: Option<String> = None;
    for (slot, value) in slots.rev() {
        text = Some(match text {
            None => slot.created(&value),
            Some(text) => slot.at(|target| jsonc::add(&text, target, &value))?,
        });
    }
    Ok(text.unwrap_or_default())
}

/// Removes the values of these pieces from the text. Returns `None` if we created the file for them.
pub(super) fn remove(pieces: &[ExtraPiece], text: &str) -> Result<Option<String>, SetupRefusal> {
    let tools = known_tools();
    let all = || pieces.iter().flat_map(|piece| slots(*piece, &tools));
    let mut present = Vec::new();
    for slot in all() {
        let value = slot.find(text)?;
        present.extend(value.map(|value| (slot, value)));
    }
    let is_own = present.iter().any(|(slot, _)| !matches!(slot.piece, ExtraPiece::Version(..)));
    if is_own && made(present.into_iter()).is_ok_and(|made| made == text) {
        return Ok(None);
    }
    let mut rest = Some(text.to_owned());
    for slot in all() {
        rest = match rest {
            None => None,
            Some(text) => slot.remove(&text)?,
        };
    }
    Ok(rest)
}

/// The shell in which a client runs the command of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shell {
    /// A POSIX shell, or cmd on systems without one.
    Usual,
    /// A POSIX shell, or any version of PowerShell.
    PowerShell,
}

/// Formats the command line of a hook in the syntax of a shell.
///
/// The command must always exit with 0. An older `forage` does not know the hook and exits with 2, which
/// clients would take as a refusal of the call. We need two forms because each shell rejects one of them: cmd
/// does not understand `;`, and PowerShell before 7 does not understand `||`.
fn hook_command(command: &str, event: HookEvent, client: &str, shell: Shell) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ':' | '\\');
    let quoted = match command.chars().all(|c| is_plain(c) && (cfg!(windows) || c != '\\')) {
        true => command.to_owned(),
        // Without `&`, PowerShell would treat a quoted command as a string.
        false if cfg!(windows) && shell == Shell::PowerShell => format!("& \"{command}\""),
        false if cfg!(windows) => format!("\"{command}\""),
        false => format!("'{}'", command.replace('\'', "'\\''")),
    };
    let well = match shell {
        Shell::Usual => " || exit 0",
        Shell::PowerShell => "; exit 0",
    };
    format!("{quoted} hook {} --client {client}{well}", event.name())
}

fn hook_value(hook: Hook, command: &str, client: &str) -> Value {
    let line = |shell| hook_command(command, hook.event, client, shell);
    let group = |shell, timeout: u64| json!({ "hooks": [{ "type": "command", "command": line(shell), "timeout": timeout }] });
    let call = match hook.form {
        HookForm::Claude(timeout) => group(Shell::Usual, timeout),
        HookForm::Gemini(timeout) => group(Shell::PowerShell, timeout),
        HookForm::Copilot => json!({
            "type": "command",
            "bash": line(Shell::Usual),
            "powershell": line(Shell::PowerShell),
            "timeoutSec": 5,
        }),
        HookForm::Cursor => json!({ "command": line(Shell::PowerShell), "timeout": 5 }),
    };
    // Put the matcher first, where people look for it.
    let matcher = hook.matcher.map(|matcher| ("matcher".to_owned(), Value::from(matcher)));
    let fields = call.as_object().into_iter().flatten();
    Value::Object(
        matcher.into_iter().chain(fields.map(|(key, field)| (key.clone(), field.clone()))).collect(),
    )
}

/// Returns true if this element runs `forage hook EVENT`.
fn calls_hook(value: &Value, event: HookEvent) -> bool {
    match value {
        Value::String(text) => {
            let (program, rest) = text.split_once(" hook ").unwrap_or_default();
            let program = program.strip_prefix("& ").unwrap_or(program);
            let name = program.trim_matches(['"', '\'']).rsplit(['/', '\\']).next().unwrap_or_default();
            name.strip_suffix(".exe").unwrap_or(name) == NAME && rest.split(' ').next() == Some(event.name())
        }
        Value::Array(items) => items.iter().any(|item| calls_hook(item, event)),
        Value::Object(fields) => fields.values().any(|field| calls_hook(field, event)),
        _ => false,
    }
}

/// Returns true if `value` contains everything in `other`. It may contain more.
fn contains(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(fields), Value::Object(others)) => {
            others.iter().all(|(key, other)| fields.get(key).is_some_and(|field| contains(field, other)))
        }
        (Value::Array(items), Value::Array(others)) => {
            others.iter().all(|other| items.iter().any(|item| contains(item, other)))
        }
        (value, other) => value == other,
    }
}

/// Sets the fields of `own` in `present`, and keeps all others.
fn merged(present: &Value, own: &Value) -> Value {
    match (present, own) {
        (Value::Object(present), Value::Object(own)) => {
            let mut fields = present.clone();
            for (key, value) in own {
                let value = present.get(key).map_or_else(|| value.clone(), |field| merged(field, value));
                fields.insert(key.clone(), value);
            }
            Value::Object(fields)
        }
        // A group contains only Forage's hook, see `alone`.
        (Value::Array(present), Value::Array(own)) if present.len() == 1 && own.len() == 1 => {
            Value::Array(vec![merged(&present[0], &own[0])])
        }
        _ => own.clone(),
    }
}

/// Checks that a group of hooks contains none except Forage's.
fn alone(element: &Value) -> Result<(), SetupRefusal> {
    if element["hooks"].as_array().is_none_or(|hooks| hooks.len() <= 1) {
        Ok(())
    } else {
        Err(SetupRefusal::new(
            "its group contains another hook besides Forage's; move that hook out".to_owned(),
        ))
    }
}

/// Formats a JSON file that contains only this extra, so that users can paste it.
pub(crate) fn snippet(extra: &Extra, client: &Client, words: &ExtraParts) -> Option<String> {
    let ExtraTarget::Json(pieces) = &extra.how else { return None };
    add(pieces, None, client, words).ok()
}
