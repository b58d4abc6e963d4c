//! Generates the declarations of the Node package, and its ES module, which must list its names explicitly.

use serde_json::Value;

use super::{Surface, SurfaceMethod, TypeNames, fields, pascal, type_of};

/// The exported names, except for the subclasses of `ForageError`.
const NAMES: [&str; 5] = ["Workspace", "Answer", "Asked", "Each", "ForageError"];

pub(super) fn module(surface: &Surface) -> String {
    let errors = surface.errors.iter().map(|error| format!("  {},\n", error.name));
    let names = NAMES.iter().map(|name| format!("  {name},\n")).chain(errors).collect::<String>();
    format!("import forage from \"./index.js\";\n\nexport const {{\n{names}}} = forage;\n")
}

pub(super) fn declarations(surface: &Surface) -> String {
    let mut text = HEAD.to_owned();
    for error in &surface.errors {
        text += &format!(
            "\n{}export declare class {} extends ForageError {{\n  readonly code: {:?};\n}}\n",
            documentation(&error.description, ""),
            error.name,
            error.code,
        );
    }
    for (name, part) in surface.words() {
        text += &format!("\nexport type {name} = {};\n", type_of(&TypeScript::RECORDS, part, name));
    }
    for (name, part) in surface.records() {
        text += &interface(name, part, &TypeScript::RECORDS);
    }
    for method in &surface.methods {
        let own = pascal(&method.name);
        text += &interface(&format!("{own}Arguments"), &method.arguments, &TypeScript::ARGUMENTS);
        text += &interface(&format!("{own}Records"), &method.answer, &TypeScript::RECORDS);
        let items = method.item().map_or_else(String::new, |item| {
            format!(" & Iterable<{}>", type_of(&TypeScript::RECORDS, item, &own))
        });
        text += &format!(
            "\nexport type {own}Answer = Answer<{own}Records> & Readonly<Omit<{own}Records, keyof Answer>>{items};\n"
        );
    }
    text += WORKSPACE;
    for method in &surface.methods {
        text += &workspace_comment(method);
    }
    text + "}\n"
}

fn workspace_comment(method: &SurfaceMethod) -> String {
    let own = pascal(&method.name);
    let name = camel(&method.name);
    let has_required = fields(&method.arguments).any(|(_, _, is_required)| is_required);
    let given = format!("given{}: {own}Arguments", if has_required { "" } else { "?" });
    let mut text = method_comment(method);
    text += &format!("  {name}({given}, options?: CallOptions): Promise<{own}Answer>;\n");
    if let Some(each) = &method.each {
        let takes = |name: &str| fields(&each.arguments).any(|(taken, ..)| taken == name);
        let without = fields(&method.arguments).filter(|(name, ..)| !takes(name));
        let without: Vec<String> = without.map(|(name, ..)| format!("{:?}", camel(name))).collect();
        let given = match without.is_empty() {
            true => given,
            false => given.replace(
                &format!("{own}Arguments"),
                &format!("Omit<{own}Arguments, {}>", without.join(" | ")),
            ),
        };
        let summary = format!("Like `{name}`, but iterates over all results as they are found.");
        text += &documentation(&summary, "  ");
        text +=
            &format!("  {name}Each({given}, options?: CallOptions): Each<{}, {own}Answer>;\n", each.item());
    }
    text
}

/// Formats the comment of a method: its purpose, further details, and an example.
fn method_comment(method: &SurfaceMethod) -> String {
    let mut lines = vec![in_camel(&method.summary)];
    if !method.details.is_empty() {
        lines.extend([String::new(), in_camel(&method.details)]);
    }
    if !method.typescript.is_empty() {
        lines.extend(["@example".to_owned(), "```ts".to_owned()]);
        lines.extend(method.typescript.lines().map(str::to_owned));
        lines.push("```".to_owned());
    }
    let lines =
        lines.iter().map(|line| format!("   * {}", line.replace("*/", "*\\/")).trim_end().to_owned() + "\n");
    format!("  /**\n{}   */\n", lines.collect::<String>())
}

fn interface(name: &str, schema: &Value, types: &TypeScript) -> String {
    let mut text = "\n".to_owned();
    text += &documentation(schema["description"].as_str().unwrap_or_default(), "");
    text += &format!("export interface {name} {{\n");
    for (field, of, is_required) in fields(schema) {
        text += &documentation(of["description"].as_str().unwrap_or_default(), "  ");
        let optional = if is_required { "" } else { "?" };
        text += &format!("  {}{optional}: {};\n", camel(field), type_of(types, of, name));
    }
    text + "}\n"
}

fn documentation(text: &str, indent: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "*\\/");
    if text.is_empty() { text } else { format!("{indent}/** {} */\n", in_camel(&text)) }
}

/// Converts a name such as `file_pattern` to lower camel case.
fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let (initial, rest) = pascal.split_at(pascal.len().min(1));
    initial.to_lowercase() + rest
}

/// Converts the names in backquotes to camel case, except for those of tools.
fn in_camel(text: &str) -> String {
    let tools = [
        "keyword_search",
        "grep_search",
        "search_index",
        "list_directory",
        "read_file",
        "keyword_lookup",
        "search_history",
    ];
    let is_name = |part: &str| {
        part.contains('_')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !tools.contains(&part)
    };
    let parts = text.split('`').enumerate();
    let parts =
        parts.map(|(at, part)| if at % 2 == 1 && is_name(part) { camel(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

struct TypeScript {
    /// The name of the type of lists.
    list: &'static str,
}

impl TypeScript {
    const RECORDS: Self = Self { list: "Array" };
    const ARGUMENTS: Self = Self { list: "ReadonlyArray" };
}

impl TypeNames for TypeScript {
    fn plain(&self, name: &str) -> String {
        match name {
            "integer" => "number",
            "object" => "Record<string, unknown>",
            "any" => "unknown",
            same => same,
        }
        .to_owned()
    }

    fn list(&self, of: String) -> String {
        format!("{}<{of}>", self.list)
    }

    fn map(&self, of: String) -> String {
        format!("Record<string, {of}>")
    }

    fn union(&self, all: Vec<String>) -> String {
        all.join(" | ")
    }

    fn word(&self, word: &str) -> String {
        format!("{word:?}")
    }

    fn other_root(&self, own: &str) -> String {
        format!("Omit<{own}, \"otherRoots\">")
    }
}

const HEAD: &str = include_str!("head.d.ts.txt");

const WORKSPACE: &str = include_str!("workspace.d.ts.txt");
