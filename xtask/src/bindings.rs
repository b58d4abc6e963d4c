//! Generates the types of the packages for other languages, from the schemas of the tools.

mod python;
mod typescript;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cargo::{Workspace, printed};
use crate::records::capitalized;

/// The directory with the JavaScript and types of the Node package.
const NODE: &str = "crates/forage-node/lib";

/// The header of each generated file.
const WRITTEN: &str = "Written by `cargo xtask generate`; don't edit.";

/// Generates all files. Returns their paths and texts.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<(String, String)>, String> {
    let mut surface = workspace.program("cargo");
    surface.args(["run", "--quiet", "--package", "forage-bindings", "--example", "surface"]);
    let surface = printed(&mut surface, "the surface of the bindings")?;
    let surface: Value = serde_json::from_str(&surface).map_err(|error| error.to_string())?;
    let surface = Surface::read(&surface)?;
    // The text is the same. The extension decides to which kind of module its imports resolve.
    let declared = ["ai", "mcp"].map(|name| {
        let path = format!("{NODE}/{name}.d.ts");
        let text = workspace.read(&workspace.path(&path))?;
        Ok((format!("{NODE}/{name}.d.mts"), format!("// {WRITTEN}\n{text}")))
    });
    let mut files = declared.into_iter().collect::<Result<Vec<_>, String>>()?;
    files.extend([
        (
            "crates/forage-python/python/forage/__init__.pyi".to_owned(),
            format!("# {WRITTEN}\n{}", python::stub(&surface)),
        ),
        (format!("{NODE}/index.d.ts"), format!("// {WRITTEN}\n{}", typescript::declarations(&surface))),
        (format!("{NODE}/index.mjs"), format!("// {WRITTEN}\n{}", typescript::module(&surface))),
    ]);
    Ok(files)
}

/// The interface from which the packages are generated.
struct Surface<'a> {
    methods: Vec<SurfaceMethod<'a>>,
    errors: Vec<SurfaceError<'a>>,
    /// Named parts of the schemas: records and string enums.
    parts: BTreeMap<&'a str, &'a Value>,
}

/// See `forage_bindings::ErrorClass`.
struct SurfaceError<'a> {
    code: &'a str,
    name: &'a str,
    description: &'a str,
}

/// See `forage_bindings::Method`.
struct SurfaceMethod<'a> {
    name: &'a str,
    summary: &'a str,
    details: &'a str,
    docstring: &'a str,
    python: &'a str,
    typescript: &'a str,
    arguments: &'a Value,
    answer: &'a Value,
    /// The field of the answer over which we iterate, and its schema.
    items: Option<(&'a str, &'a Value)>,
    each: Option<SurfaceEach<'a>>,
}

/// A second method that streams items.
struct SurfaceEach<'a> {
    docstring: &'a str,
    arguments: &'a Value,
    /// The name of an item.
    piece: &'a str,
}

impl<'a> Surface<'a> {
    fn read(surface: &'a Value) -> Result<Self, String> {
        let listed = surface["methods"].as_array().ok_or("there are no methods")?;
        let mut parts = BTreeMap::new();
        let mut methods = Vec::new();
        for method in listed {
            let (answer, piece) = (&method["answer"], &method["each"]["piece"]);
            for schema in [answer, piece] {
                let definitions = schema["$defs"].as_object().into_iter().flatten();
                parts.extend(definitions.map(|(name, part)| (name.as_str(), part)));
            }
            parts.extend(piece["title"].as_str().map(|name| (name, piece)));
            let text = |of: &'a Value, name: &str| of[name].as_str().unwrap_or_default();
            let items = text(method, "items");
            methods.push(SurfaceMethod {
                name: method["name"].as_str().ok_or("a method has no name")?,
                summary: text(method, "summary"),
                details: text(method, "details"),
                docstring: text(method, "docstring"),
                python: text(method, "python"),
                typescript: text(method, "typescript"),
                arguments: &method["arguments"],
                answer,
                items: (!items.is_empty()).then(|| (items, &answer["properties"][items])),
                each: piece["title"].as_str().map(|piece| SurfaceEach {
                    docstring: text(&method["each"], "docstring"),
                    arguments: &method["each"]["arguments"],
                    piece,
                }),
            });
        }
        let errors = surface["errors"].as_array().into_iter().flatten();
        let text = |error: &'a Value, name: &str| error[name].as_str().unwrap_or_default();
        let errors = errors.map(|error| SurfaceError {
            code: text(error, "code"),
            name: text(error, "name"),
            description: text(error, "description"),
        });
        let errors = errors.collect();
        Ok(Self { methods, errors, parts })
    }

    /// Lists the name and schema of each record.
    fn records(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts
            .iter()
            .filter(|(_, part)| part["properties"].is_object())
            .map(|(name, part)| (*name, *part))
    }

    /// Lists the name and schema of each string enum.
    fn words(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts
            .iter()
            .filter(|(_, part)| !part["properties"].is_object() && part["oneOf"][0]["const"].is_string())
            .map(|(name, part)| (*name, *part))
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
