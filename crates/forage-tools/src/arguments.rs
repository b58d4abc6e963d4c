//! Converts a caller's JSON to the JSON that a request type accepts.
//!
//! Models send `"5"` for 5, a plain string for a list of one, and `null` or `""` for "not given". They also
//! send a list or the whole object as text, and use the argument names of other tools. Clients add arguments
//! of their own. We accept everything that has only one possible meaning. We drop arguments that do not
//! affect the results, and note this in the answer. An unknown argument that narrows the search must be an
//! error: without it we would answer another question.

pub(crate) mod aliases;
mod text;

use forage_fs::{Globs, RelPath, Root};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::aliases::{ArgumentAlias, ArgumentAliases};
pub(crate) use self::aliases::{flag, has_value, take_flag, take_number};
pub use self::text::read_arguments;
use crate::error::ToolError;
use crate::limits;
use crate::names::ToolNames;
use crate::text::{count, grouped, other_forms};
use crate::tool::Tool;

/// Hook that converts arguments without a direct equivalent to a tool's own arguments, before we resolve
/// their names.
pub(crate) type Adapt = fn(&mut Map<String, Value>) -> Result<(), ToolError>;

/// Definition of a tool's arguments.
pub(crate) struct ArgumentDefinition<'a> {
    pub(crate) tool: &'a str,
    /// The configured names of all tools.
    pub(crate) names: &'a ToolNames,
    pub(crate) schema: &'a Value,
    pub(crate) foreign: &'a [ArgumentAliases],
    pub(crate) adapt: Adapt,
}

impl<'a> ArgumentDefinition<'a> {
    /// Creates the definition of the tool `T` with this schema.
    pub(crate) fn for_tool<T: Tool>(schema: &'a Value, names: &'a ToolNames) -> Self {
        Self { tool: names.called(T::NAME), names, schema, foreign: T::FOREIGN, adapt: T::adapt }
    }

    fn has(&self, name: &str) -> bool {
        self.schema["properties"].as_object().is_some_and(|properties| properties.contains_key(name))
    }

    /// Lists the arguments that have no default.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    fn is_required(&self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// Lists the arguments with their types, e.g. `pattern` (string, required), `path` (string).
    fn arguments(&self) -> String {
        let describe = |(name, property): (&String, &Value)| {
            let kind = property["type"].as_str().unwrap_or("value");
            let required = if self.is_required(name) { ", required" } else { "" };
            format!("`{name}` ({kind}{required})")
        };
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties.map(describe).collect::<Vec<_>>().join(", ")
    }
}

/// Parses a tool's request, and collects notes on dropped arguments. This does not check the values yet.
pub(crate) fn parse<R: DeserializeOwned>(
    definition: &ArgumentDefinition<'_>,
    request: Value,
) -> Result<(R, Vec<String>), ToolError> {
    let (fields, notes) = coerce(definition, request)?;
    let request = serde_json::from_value(fields).map_err(|error| {
        ToolError::Request(format!("{} can't use these arguments: {error}", definition.tool))
    })?;
    Ok((request, notes))
}

/// Renames the arguments of a request to the tool's own names, and collects notes on those that we dropped.
pub(crate) fn named(
    definition: &ArgumentDefinition<'_>,
    request: Value,
) -> Result<(Map<String, Value>, Vec<String>), ToolError> {
    let request = match request {
        // Some clients send the whole object as text.
        Value::String(text) => read_arguments(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let mut fields = match request {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        // Some languages encode an empty object as an empty list.
        Value::Array(items) if items.is_empty() => Map::new(),
        _ => {
            return Err(ToolError::Request(format!(
                "{} takes a JSON object of arguments: {}",
                definition.tool,
                definition.arguments()
            )));
        }
    };
    let mut notes = Vec::new();
    (definition.adapt)(&mut fields)?;
    aliases::translate(definition, &mut fields, &mut notes)?;
    // An empty value means "not given" for an argument that has a default.
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty() || definition.is_required(name),
        Value::Array(items) => !items.is_empty() || definition.is_required(name),
        _ => true,
    });
    Ok((fields, notes))
}

/// Converts a request to the tool's schema.
fn coerce(definition: &ArgumentDefinition<'_>, request: Value) -> Result<(Value, Vec<String>), ToolError> {
    let (fields, notes) = named(definition, request)?;
    let mut out = Map::new();
    for (name, value) in fields {
        let value = convert(definition.tool, &name, &definition.schema["properties"][&name], value)?;
        out.insert(name, value);
    }
    for required in definition.required() {
        if !out.contains_key(required) {
            return Err(ToolError::Request(format!(
                "{} needs the argument `{required}`. Its arguments: {}",
                definition.tool,
                definition.arguments()
            )));
        }
    }
    Ok((Value::Object(out), notes))
}

/// Converts a value to the property's type if this is unambiguous. For example, `"5"` becomes 5.
pub(crate) fn convert(tool: &str, name: &str, property: &Value, value: Value) -> Result<Value, ToolError> {
    let wanted = property["type"].as_str().unwrap_or_default();
    let wrong = |value: &Value| {
        let article = if wanted.starts_with(['a', 'i']) { "an" } else { "a" };
        ToolError::Request(format!("{tool}: `{name}` must be {article} {wanted}, not {}", shown(value)))
    };
    let converted = match (wanted, &value) {
        ("integer", value) => integer_of(value).map(Value::from),
        ("boolean", value) => flag(value).map(Value::Bool),
        ("string", Value::String(text)) => match property["enum"].as_array() {
            Some(choices) => return choice(tool, name, choices, text),
            None => Some(value.clone()),
        },
        ("string", Value::Number(number)) => Some(Value::String(number.to_string())),
        ("string", Value::Array(items)) => match items.as_slice() {
            [item @ Value::String(_)] => return convert(tool, name, property, item.clone()),
            // This argument takes several globs separated by commas, so we can join a list.
            items if name == "file_pattern" => {
                let globs: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                globs.map(|globs| Value::String(globs.join(",")))
            }
            _ => None,
        },
        ("array", Value::Array(items)) => Some(Value::Array(
            items
                .iter()
                .map(|item| convert(tool, name, &property["items"], item.clone()))
                .collect::<Result<_, _>>()?,
        )),
        ("array", Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(list @ Value::Array(_)) => return convert(tool, name, property, list),
            _ => Some(Value::Array(split(text).into_iter().map(Value::from).collect())),
        },
        _ => None,
    };
    converted.ok_or_else(|| wrong(&value))
}

/// Finds the value that a text names, in any case.
fn choice(tool: &str, name: &str, choices: &[Value], text: &str) -> Result<Value, ToolError> {
    let words = || choices.iter().filter_map(Value::as_str);
    let named = words().find(|word| word.eq_ignore_ascii_case(text.trim()));
    named.map(Value::from).ok_or_else(|| {
        let words: Vec<String> = words().map(|word| format!("`{word}`")).collect();
        let (words, text) = (words.join(", "), shown(&Value::from(text)));
        ToolError::Request(format!("{tool}: `{name}` must be one of {words}, not {text}"))
    })
}

/// Parses a whole number, which may be quoted or have the form `5.0`.
pub(crate) fn integer_of(value: &Value) -> Option<i64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    // A number too large for `i64` is outside every range anyway, so we can saturate.
    number.filter(|n| n.fract() == 0.0 && n.is_finite()).map(|number| number as i64)
}

/// Splits a list that was passed as one text, at commas and line feeds outside of brackets. A text with
/// unbalanced brackets becomes one part.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut is_escaped) = (Vec::new(), 0, 0_i32, false);
    for (at, c) in text.char_indices() {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped;
        match c {
            // An escaped bracket opens or closes nothing.
            _ if was_escaped => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' | '\n' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return vec![text];
    }
    parts.push(&text[begin..]);
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { vec![text] } else { parts }
}

/// Rejects paging arguments in a call that streams all results.
pub(crate) fn refuse_pages(max_results: Option<i64>, cursor: Option<&str>) -> Result<(), ToolError> {
    let refused = [("max_results", max_results.is_some()), ("cursor", cursor.is_some())];
    match refused.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => {
            Err(ToolError::argument(name, "this call returns all results without pages; omit it"))
        }
        None => Ok(()),
    }
}

/// Clamps numeric arguments to their ranges and collects a warning for each change.
pub(crate) struct Clamp<'a> {
    names: &'a ToolNames,
    tool: &'static str,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Clamp<'a> {
    pub(crate) fn new(names: &'a ToolNames, tool: &'static str) -> Self {
        Self { names, tool, warnings: Vec::new() }
    }

    pub(crate) fn number(
        &mut self,
        argument: &str,
        value: Option<i64>,
        default: u64,
        least: u64,
        max: u64,
    ) -> u64 {
        let Some(value) = value else { return default };
        let clamped = u64::try_from(value).unwrap_or(0).clamp(least, max);
        if i64::try_from(clamped) != Ok(value) {
            self.note(argument, value, least, max);
        }
        clamped
    }

    /// Clamps a number that has only a lower limit.
    pub(crate) fn at_least(&mut self, argument: &str, value: Option<i64>, least: u64) -> Option<u64> {
        let value = value?;
        let clamped = u64::try_from(value).unwrap_or(0).max(least);
        if i64::try_from(clamped) != Ok(value) {
            let argument = self.names.argument(self.tool, argument);
            self.warnings.push(format!("`{argument}`: {value} is less than {least}; {least} was used"));
        }
        Some(clamped)
    }

    /// Warns that a number was clamped to the nearer limit.
    pub(crate) fn note(&mut self, argument: &str, value: impl Into<i128>, least: u64, max: u64) {
        let value: i128 = value.into();
        let used = value.clamp(least.into(), max.into());
        let argument = self.names.argument(self.tool, argument);
        self.warnings
            .push(format!("`{argument}`: {value} is not between {least} and {max}; {used} was used"));
    }
}

/// Compiles globs. A glob with a slash is matched both from the root and from the start of the search,
/// because callers mean either.
pub(crate) fn globs_at(
    argument: &'static str,
    globs: &[String],
    (root, start): (&Root, &RelPath),
) -> Result<Globs, ToolError> {
    let mut all = Vec::new();
    for glob in globs.iter().flat_map(|glob| words(glob)) {
        let (not, bare) = glob.strip_prefix('!').map_or(("", glob), |bare| ("!", bare));
        for bare in readings(bare, root, start) {
            if bare.contains('/') && !start.is_root() && !bare.starts_with('/') {
                all.push(format!("{not}{}/{bare}", escaped(start)));
            }
            all.push(format!("{not}{bare}"));
        }
    }
    let bytes: usize = all.iter().map(String::len).sum();
    if all.len() > limits::GLOBS || bytes > limits::GLOBS_BYTES {
        let (max, most_bytes) = (grouped(limits::GLOBS as u64), grouped(limits::GLOBS_BYTES as u64));
        let found = count(all.len() as u64, "glob");
        let problem = format!(
            "it has {found} of {} bytes, over the limit of {max} globs and {most_bytes} bytes; use fewer, broader \
             globs",
            grouped(bytes as u64)
        );
        return Err(ToolError::argument(argument, problem));
    }
    Globs::new(&all).map_err(|error| {
        ToolError::argument(
            argument,
            format!("it is not a valid glob ({error}); write for example \"*.py\" or \"src/**/*.rs\""),
        )
    })
}

/// Splits globs at white space, but only if every part looks like a glob, because names can contain spaces.
fn words(globs: &str) -> Vec<&str> {
    let words: Vec<&str> = globs.split_whitespace().collect();
    let is_glob = |word: &&str| word.contains('*') || word.starts_with('!') || word.ends_with('/');
    if words.len() > 1 && words.iter().all(is_glob) { words } else { vec![globs] }
}

/// Lists every glob that a caller may mean by this one:
///
/// - `./x` is relative to the start.
/// - `a|b` are two globs, as are `*.a *.b` ([`words`]).
/// - `dir/` means all files in it, and `.ext` means all files with this extension.
/// - Brackets can be part of a name such as `[slug]`.
/// - A backslash can mean a slash.
/// - A glob that begins with the path of the root is relative to the root.
/// - Names may have composed or decomposed letters.
fn readings(glob: &str, root: &Root, start: &RelPath) -> Vec<String> {
    let below = root.path().to_str().and_then(|root| glob.trim().strip_prefix(root));
    let glob = below.filter(|rest| rest.starts_with('/')).unwrap_or(glob).trim();
    let parts: Vec<&str> = match glob.contains('|') && !glob.contains(['{', '(']) {
        true => glob.split('|').map(str::trim).filter(|part| !part.is_empty()).collect(),
        false => vec![glob],
    };
    let mut all = Vec::new();
    for part in parts {
        let part = match (part.strip_prefix("./"), start.is_root()) {
            (None, _) => part.to_owned(),
            (Some(rest), true) => format!("/{rest}"),
            (Some(rest), false) => format!("/{}/{rest}", escaped(start)),
        };
        if part.ends_with('/') {
            all.push(format!("{part}**"));
        }
        let extension = part.strip_prefix('.').unwrap_or_default();
        if !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            all.push(format!("*{part}"));
        }
        if part.contains('\\') {
            all.push(part.replace('\\', "/"));
        }
        if part.contains('[') {
            all.push(part.replace('[', "\\[").replace(']', "\\]"));
        }
        all.extend(other_forms(&part));
        all.push(part);
    }
    all
}

/// Compiles the comma-separated globs of `file_pattern`. Those that begin with `!` exclude files.
pub(crate) fn file_globs(
    globs: Option<&str>,
    (root, start): (&Root, &RelPath),
) -> Result<Option<Globs>, ToolError> {
    let mut globs: Vec<String> = globs.map(split).into_iter().flatten().map(str::to_owned).collect();
    globs.retain(|glob| !glob.trim().is_empty());
    // The last matching glob decides, so exclusions must come last, wherever the caller wrote them.
    globs.sort_by_key(|glob| glob.starts_with('!'));
    if globs.iter().all(|glob| glob == "*" || glob == "**" || glob == "**/*") {
        return Ok(None);
    }
    // Exclusions alone would select no file.
    if globs.iter().all(|glob| glob.starts_with('!')) {
        globs.insert(0, "*".to_owned());
    }
    globs_at("file_pattern", &globs, (root, start)).map(Some)
}

/// Escapes a path to a glob that matches only this path.
pub(crate) fn escaped(path: &RelPath) -> String {
    let mut glob = String::new();
    for c in String::from_utf8_lossy(path.as_bytes()).chars() {
        if matches!(c, '[' | ']' | '*' | '?' | '{' | '}' | '!' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

fn shown(value: &Value) -> String {
    crate::text::clip(&value.to_string(), 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(request: Value) -> Result<(Value, Vec<String>), String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"}, "context": {"type": "integer"}, "hidden": {"type": "boolean"},
                "terms": {"type": "array", "items": {"type": "string"}}, "path": {"type": "string"},
                "file_pattern": {"type": "string"}, "ignore_case": {"type": "boolean"},
            },
            "required": ["pattern"],
        });
        let foreign = [
            (&["query"][..], ArgumentAlias::Rename("pattern")),
            (&["include"][..], ArgumentAlias::Rename("file_pattern")),
            (&["case_sensitive"][..], ArgumentAlias::Negate("ignore_case")),
            (&["multiline"][..], ArgumentAlias::Unsupported("search for one of the lines")),
        ];
        let definition = ArgumentDefinition {
            tool: "tool",
            names: &ToolNames::own(),
            schema: &schema,
            foreign: &foreign,
            adapt: |_| Ok(()),
        };
        coerce(&definition, request).map_err(|error| error.to_string())
    }

    #[test]
    fn takes_what_can_be_meant_one_way_only() {
        let x = json!({"pattern": "x"});
        let cases = [
            (json!({"pattern": "x", "context": "5"}), json!({"pattern": "x", "context": 5})),
            (json!({"pattern": "x", "context": 5.0}), json!({"pattern": "x", "context": 5})),
            (json!({"pattern": "x", "context": null}), x.clone()),
            (json!({"pattern": "x", "context": "", "path": " ", "hidden": "", "terms": []}), x.clone()),
            (json!({"pattern": "x", "hidden": "True"}), json!({"pattern": "x", "hidden": true})),
            (json!({"pattern": "x", "hidden": 1}), json!({"pattern": "x", "hidden": true})),
            (json!({"pattern": "x", "terms": "a"}), json!({"pattern": "x", "terms": ["a"]})),
            (
                json!({"pattern": "x", "terms": "a, b{1,2}"}),
                json!({"pattern": "x", "terms": ["a", "b{1,2}"]}),
            ),
            (
                json!({"pattern": "x", "terms": "[\"a\", \"b\"]"}),
                json!({"pattern": "x", "terms": ["a", "b"]}),
            ),
            (json!({"pattern": 404}), json!({"pattern": "404"})),
            (json!({"pattern": ["x"]}), x.clone()),
            (json!("{\"pattern\": \"x\"}"), x.clone()),
            (json!({"query": "x"}), x.clone()),
            (json!({"pattern": "x", "query": "x"}), x.clone()),
            (
                json!({"pattern": "x", "include": ["*.a", "*.b"]}),
                json!({"pattern": "x", "file_pattern": "*.a,*.b"}),
            ),
            (json!({"pattern": "x", "case_sensitive": false}), json!({"pattern": "x", "ignore_case": true})),
            (
                json!({"pattern": "x", "case_sensitive": "true"}),
                json!({"pattern": "x", "ignore_case": false}),
            ),
            (json!({"pattern": "x", "multiline": false, "exclude": "", "glob": null}), x.clone()),
        ];
        for (request, expected) in cases {
            let (fields, notes) = run(request.clone()).unwrap();
            assert_eq!(fields, expected, "{request}");
            // An argument under another name must be accepted with a note.
            let other =
                ["query", "include", "case_sensitive"].iter().find(|name| request.get(**name).is_some());
            let taken = other.filter(|_| request.get("query").is_none() || request.get("pattern").is_none());
            assert_eq!(notes.len(), usize::from(taken.is_some()), "{request}: {notes:?}");
        }
    }

    #[test]
    fn arguments_added_by_clients_are_dropped_with_a_note() {
        let cases = [
            (json!({"pattern": "x", "wait_for_previous": true}), "ignored: `wait_for_previous`"),
            (json!({"pattern": "x", "reason": "y", "depth": 2}), "ignored: `reason`, `depth`"),
            // If there is also a pattern, `query` describes its purpose.
            (json!({"pattern": "x", "query": "where is x?"}), "ignored: `query`"),
        ];
        for (request, expected) in cases {
            let (fields, notes) = run(request.clone()).unwrap();
            assert_eq!(fields, json!({"pattern": "x"}), "{request}");
            assert!(matches!(notes.as_slice(), [note] if note.contains(expected)), "{notes:?}");
        }
        let many: Map<String, Value> = (0..100).map(|n| (format!("a{n:03}"), json!(n))).collect();
        let mut request = json!(many);
        request["pattern"] = json!("x");
        let (_, notes) = run(request).unwrap();
        assert!(notes[0].contains("`a004` and 95 more"), "{notes:?}");
    }

    #[test]
    fn refuses_the_rest_with_the_correction() {
        let cases = [
            (
                json!({"pattern": "x", "exclude": "vendor"}),
                "no argument `exclude`. Its arguments: `pattern` (string, required)",
            ),
            (json!({"pattern": "x", "Files": 1}), "no argument `Files`"),
            (json!({"pattern": "x", "multiline": true}), "`multiline`: search for one of the lines"),
            (json!({"pattern": "x", "include": "*.a", "file_pattern": "*.b"}), "`include` is another name"),
            (json!({"pattern": "x", "case_sensitive": 7}), "`case_sensitive` must be a boolean"),
            (json!({}), "needs the argument `pattern`"),
            (json!({"pattern": "x", "context": "many"}), "`context` must be an integer, not \"many\""),
            (json!({"pattern": "x", "context": 1.5}), "must be an integer, not 1.5"),
            (json!({"pattern": ["x", "y"]}), "`pattern` must be a string"),
            (json!([1]), "takes a JSON object"),
        ];
        for (request, expected) in cases {
            let error = run(request.clone()).unwrap_err();
            assert!(error.contains(expected), "{request}: {error}");
        }
    }

    #[test]
    fn a_list_is_split_where_it_can_be_one() {
        let cases: [(&str, &[&str]); 8] = [
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            (" a , ,b\n c", &["a", "b", "c"]),
            ("*.{ts,tsx},*.js", &["*.{ts,tsx}", "*.js"]),
            ("f(a, b)", &["f(a, b)"]),
            ("f\\(a, b", &["f\\(a", "b"]),
            ("f(a, b", &["f(a, b"]),
            (",", &[","]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
