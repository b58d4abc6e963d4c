//! Generates the types of the packages for other languages, from the schemas of the tools.

mod python;
mod typescript;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use crate::cargo::{Workspace, json};
use crate::pages::capitalized;

/// The directory with the JavaScript and types of the Node package.
const NODE: &str = "crates/forage-node/lib";

/// The header of each generated file.
const WRITTEN: &str = "Written by `cargo xtask generate`; don't edit.";

/// Generates all files. Returns their paths and texts.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let surface = "cargo run --quiet --package forage-bindings --example surface";
    let surface: Surface = serde_json::from_value(json(&mut workspace.command(surface))?)?;
    let file = |name: &str, text: String| (format!("{NODE}/{name}"), format!("// {WRITTEN}\n{text}"));
    let stub = format!("# {WRITTEN}\n{}", python::stub(&surface));
    // The text is the same. The extension decides to which kind of module its imports resolve.
    let declared = |name: &str| workspace.read(format!("{NODE}/{name}.d.ts"));
    Ok(vec![
        file("ai.d.mts", declared("ai")?),
        file("mcp.d.mts", declared("mcp")?),
        ("crates/forage-python/python/forage/__init__.pyi".to_owned(), stub),
        file("index.d.ts", typescript::declarations(&surface)),
        file("index.mjs", typescript::module(&surface)),
    ])
}

/// The interface from which the packages are generated.
#[derive(Deserialize)]
struct Surface {
    methods: Vec<SurfaceMethod>,
    errors: Vec<SurfaceError>,
}

/// See `forage_bindings::ErrorClass`.
#[derive(Deserialize)]
struct SurfaceError {
    code: String,
    name: String,
    description: String,
}

/// See `forage_bindings::Method`.
#[derive(Deserialize)]
struct SurfaceMethod {
    name: String,
    summary: String,
    details: String,
    docstring: String,
    python: String,
    typescript: String,
    arguments: Value,
    answer: Value,
    /// The field of the answer over which we iterate.
    items: Option<String>,
    each: Option<SurfaceEach>,
}

/// A second method that streams items.
#[derive(Deserialize)]
struct SurfaceEach {
    docstring: String,
    arguments: Value,
    /// The schema of an item. Its title is the name of the item.
    piece: Value,
}

impl Surface {
    /// Lists the named parts of the schemas: records and string enums.
    fn parts(&self) -> BTreeMap<&str, &Value> {
        let mut parts = BTreeMap::new();
        for method in &self.methods {
            let piece = method.each.as_ref().map(|each| &each.piece);
            for schema in [&method.answer].into_iter().chain(piece) {
                let definitions = schema["$defs"].as_object().into_iter().flatten();
                parts.extend(definitions.map(|(name, part)| (name.as_str(), part)));
            }
            parts.extend(piece.and_then(|piece| Some((piece["title"].as_str()?, piece))));
        }
        parts
    }

    /// Lists the name and schema of each record.
    fn records(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts().into_iter().filter(|(_, part)| part["properties"].is_object())
    }

    /// Lists the name and schema of each string enum.
    fn words(&self) -> impl Iterator<Item = (&str, &Value)> {
        let is_words =
            |part: &Value| !part["properties"].is_object() && part["oneOf"][0]["const"].is_string();
        self.parts().into_iter().filter(move |(_, part)| is_words(part))
    }
}

impl SurfaceMethod {
    /// Returns the schema of the items.
    fn item(&self) -> Option<&Value> {
        Some(&self.answer["properties"][self.items.as_deref()?]["items"])
    }
}

impl SurfaceEach {
    /// Returns the name of an item.
    fn item(&self) -> &str {
        self.piece["title"].as_str().unwrap_or_default()
    }
}

/// Converts a name such as `keyword_search` to upper camel case.
fn pascal(name: &str) -> String {
    name.split('_').map(capitalized).collect()
}

/// Lists the name and schema of each field, and whether the field is required.
fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema["required"].as_array();
    let is_required = move |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(move |(name, field)| (name, field, is_required(name)))
}

/// The names of JSON types in a language.
trait TypeNames {
    fn plain(&self, name: &str) -> String;
    fn list(&self, of: String) -> String;
    fn map(&self, of: String) -> String;
    /// The union of several types.
    fn union(&self, all: Vec<String>) -> String;
    fn word(&self, word: &str) -> String;
    /// The type of the records of another root, which are those of this answer.
    fn other_root(&self, own: &str) -> String;
}

/// Names the type of a schema. `own` is the class to which `Answer` refers.
fn type_of(names: &impl TypeNames, schema: &Value, own: &str) -> String {
    let union = |all: &mut dyn Iterator<Item = String>| {
        let mut distinct: Vec<String> = Vec::new();
        for one in all {
            if !distinct.contains(&one) {
                distinct.push(one);
            }
        }
        let null = names.plain("null");
        distinct.sort_by_key(|one| *one == null);
        names.union(distinct)
    };
    if let Some(reference) = schema["$ref"].as_str() {
        return match reference.rsplit('/').next().unwrap_or_default() {
            "Answer" => names.other_root(own),
            // This record contains whatever a model was shown, in any of its forms.
            "ShownRecord" => names.plain("object"),
            name => name.to_owned(),
        };
    }
    if let Some(alternatives) = ["anyOf", "oneOf"].iter().find_map(|any| schema[*any].as_array()) {
        return union(&mut alternatives.iter().map(|one| type_of(names, one, own)));
    }
    if let Some(word) = schema["const"].as_str() {
        return names.word(word);
    }
    if let Some(words) = schema["enum"].as_array() {
        let of_word =
            |word: &Value| word.as_str().map_or_else(|| names.plain("null"), |word| names.word(word));
        return union(&mut words.iter().map(of_word));
    }
    let of = |name: &str| match name {
        "array" => names.list(type_of(names, &schema["items"], own)),
        "object" if schema["additionalProperties"].is_object() => {
            names.map(type_of(names, &schema["additionalProperties"], own))
        }
        plain => names.plain(plain),
    };
    match &schema["type"] {
        Value::String(name) => of(name),
        Value::Array(all) => union(&mut all.iter().filter_map(Value::as_str).map(of)),
        _ => names.plain("any"),
    }
}
