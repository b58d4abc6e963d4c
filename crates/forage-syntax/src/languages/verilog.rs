//! Verilog and its superset SystemVerilog.
//!
//! Text macros that are used as statements may contain or expand to anything. The grammar fails at many of
//! them, and an error may hide a whole module. So we replace them by spaces before parsing. Of 652 files of a
//! project with verification code, 128 had errors, and 39 still do with this.

use tree_sitter::Node;

use crate::language::Category::{Constant, Declaration, Function, Module, Type};
use crate::language::{BASE, Name, Named, Row, Rule, Site, Source, child, children};
use crate::limits;

const NAME: Name = Name::Field("name");
const HEADER: Name = Name::With(header);
const IDENTIFIER: Name = Name::Child(IDENTIFIERS);
const SUBROUTINE: Name = Name::With(subroutine);
const PARAMETERS: Name = Name::With(parameters);
const IDENTIFIERS: &[&str] = &["simple_identifier", "escaped_identifier"];

pub(crate) static VERILOG: Row = Row {
    name: "verilog",
    load: || tree_sitter_systemverilog::LANGUAGE.into(),
    rules: &[
        Rule::new("text_macro_definition", "define", Constant, Name::With(text_macro)),
        Rule::new("module_declaration", "module", Module, HEADER),
        Rule::new("interface_declaration", "interface", Module, HEADER),
        Rule::new("program_declaration", "program", Module, HEADER),
        Rule::new("udp_declaration", "primitive", Module, HEADER),
        Rule::new("package_declaration", "package", Module, NAME),
        Rule::new("checker_declaration", "checker", Module, NAME),
        Rule::new("config_declaration", "config", Module, NAME),
        Rule::new("class_declaration", "class", Type, NAME),
        Rule::new("interface_class_declaration", "interface class", Type, NAME),
        Rule::new("covergroup_declaration", "covergroup", Type, NAME),
        Rule::new("type_declaration", "typedef", Type, Name::With(typedef)),
        Rule::new("function_declaration", "function", Function, SUBROUTINE),
        Rule::new("task_declaration", "task", Function, SUBROUTINE),
        Rule::new("class_constructor_declaration", "function", Function, Name::With(constructor)),
        Rule::new("function_prototype", "function", Declaration, NAME),
        Rule::new("task_prototype", "task", Declaration, NAME),
        Rule::new("class_constructor_prototype", "function", Declaration, Name::Child(&["new"])),
        Rule::new("property_declaration", "property", Function, NAME),
        Rule::new("sequence_declaration", "sequence", Function, NAME),
        Rule::new("let_declaration", "let", Function, NAME),
        Rule::new("constraint_declaration", "constraint", Constant, IDENTIFIER),
        Rule::new("constraint_prototype", "constraint", Declaration, IDENTIFIER),
        Rule::new("extern_constraint_declaration", "constraint", Constant, Name::With(outside)),
        Rule::new("clocking_declaration", "clocking", Constant, NAME),
        Rule::new("modport_item", "modport", Constant, IDENTIFIER),
        Rule::new("parameter_declaration", "parameter", Constant, PARAMETERS),
        Rule::new("local_parameter_declaration", "localparam", Constant, PARAMETERS),
        Rule::new("net_declaration", "net", Constant, Name::With(nets)),
        Rule::new("data_declaration", "variable", Constant, Name::With(variables)),
    ],
    leading: &["attribute_instance"],
    wrappers: &[
        "package_item",
        "module_item",
        "interface_item",
        "program_item",
        "checker_item",
        "class_item",
        "class_method",
        "interface_class_item",
        "interface_class_method",
        "class_property",
        "data_declaration",
        "modport_declaration",
        "block_item_declaration",
        "dpi_import_export",
        "dpi_function_proto",
        "dpi_task_proto",
        "extern_tf_declaration",
        "anonymous_program_item",
        "clocking_item",
    ],
    source: Source::Masked(masked),
    local_scopes: &["always_construct", "initial_construct", "final_construct", "statement"],
    ..BASE
};

/// Adds the name in the header of a module, interface, program or primitive.
fn header<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let is_header = |node: &Node<'tree>| node.kind().ends_with("_header") || node.kind().starts_with("udp_");
    let header = children(site.node).find(is_header).unwrap_or(site.node);
    let name = header.child_by_field_name("name").or_else(|| child(header, IDENTIFIERS));
    names.extend(name.map(Named::new));
}

fn text_macro<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(macro_name) = child(site.node, &["text_macro_name"]) else { return };
    let named = child(macro_name, IDENTIFIERS).map(Named::new);
    names.extend(named.map(|named| match child(macro_name, &["list_of_formal_arguments"]) {
        Some(_) => named.with_kind("define", Function),
        None => named,
    }));
}

/// Matches types. Note that `typedef class Name;` is only a forward declaration.
fn typedef<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(name) = site.node.child_by_field_name("type_name") else { return };
    names.push(match child(site.node, &["data_type", "class_type", "simple_identifier"]) {
        Some(first) if first != name => Named::new(name),
        _ => Named::new(name).with_kind("typedef", Declaration),
    });
}

/// Returns the class in a name such as `function Class::name`.
fn scope(node: Node<'_>) -> Option<Node<'_>> {
    let class = child(node, &["class_scope"])?;
    child(child(class, &["class_type"])?, IDENTIFIERS)
}

fn subroutine<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let Some(body) = child(site.node, &["function_body_declaration", "task_body_declaration"]) else {
        return;
    };
    let name = body.child_by_field_name("name").map(Named::new);
    names.extend(name.map(|name| name.with_scope(scope(body))));
}

fn constructor<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, &["new"]).map(Named::new);
    names.extend(name.map(|name| name.with_scope(scope(site.node))));
}

fn outside<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let name = child(site.node, IDENTIFIERS).map(Named::new);
    names.extend(name.map(|name| name.with_scope(scope(site.node))));
}

/// Matches parameters in the body of a module or package. We skip those in its header, which are arguments.
fn parameters<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    if matches!(site.parent_kind(0), "parameter_port_declaration" | "parameter_port_list") {
        return;
    }
    let values = children(site.node).filter(|node| node.kind() == "list_of_param_assignments");
    names.extend(values.flat_map(children).filter_map(|node| child(node, IDENTIFIERS)).map(Named::new));
    let types = children(site.node).filter(|node| node.kind() == "type_parameter_declaration");
    let lists = types.flat_map(children).filter(|node| node.kind() == "list_of_type_assignments");
    names
        .extend(lists.flat_map(children).filter_map(|node| node.child_by_field_name("name")).map(Named::new));
}

fn nets<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let lists = children(site.node).filter(|node| node.kind() == "list_of_net_decl_assignments");
    // The grammar reads a user-defined type as that of a net.
    let kind = if child(site.node, &["net_type"]).is_some() { "net" } else { "variable" };
    let declared = lists.flat_map(children).filter_map(|node| child(node, IDENTIFIERS));
    names.extend(declared.map(|name| Named::new(name).with_kind(kind, Constant)));
}

fn variables<'tree>(site: Site<'_, 'tree>, names: &mut Vec<Named<'tree>>) {
    let kind = match site.parent_kind(0) {
        "class_property" => "property",
        // This is in a body, which may be that of a function that the grammar could not read.
        "block_item_declaration" => return,
        _ => "variable",
    };
    let lists = children(site.node).filter(|node| node.kind() == "list_of_variable_decl_assignments");
    let declared = lists.flat_map(children).filter_map(|node| node.child_by_field_name("name"));
    names.extend(declared.map(|name| Named::new(name).with_kind(kind, Constant)));
}

/// Compiler directives that the grammar supports.
const DIRECTIVES: &[&str] = &[
    "begin_keywords",
    "celldefine",
    "default_nettype",
    "define",
    "else",
    "elsif",
    "end_keywords",
    "endcelldefine",
    "endif",
    "ifdef",
    "ifndef",
    "include",
    "line",
    "nounconnected_drive",
    "pragma",
    "resetall",
    "timescale",
    "unconnected_drive",
    "undef",
    "undefineall",
];

/// Masks macros that fill their lines. Macro definitions must stay intact; their lines continue with `\`.
fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let (mut at, mut is_continued) = (0, false);
    // Closed arguments are read about once. Without a bound, hostile unclosed ones would be read many times.
    let mut budget = 2 * text.len() + limits::MACRO_BYTES;
    while at < text.len() {
        let rest = &text[at..];
        let length = (!is_continued).then(|| macro_statement(rest, &mut budget)).flatten();
        let (blank, plain) = rest.split_at(length.unwrap_or(0));
        masked.extend(
            blank
                .chars()
                .flat_map(|sign| std::iter::repeat_n(if sign == '\n' { '\n' } else { ' ' }, sign.len_utf8())),
        );
        let line = plain.split_inclusive('\n').next().unwrap_or_default();
        masked.push_str(line);
        is_continued = line.trim_end_matches(['\r', '\n']).ends_with('\\');
        at += blank.len() + line.len();
    }
    masked
}

/// Computes the length of a macro with its arguments. The macro must begin the text, and only a comment may
/// follow on its line.
fn macro_statement(text: &str, budget: &mut usize) -> Option<usize> {
    let trimmed = text.trim_start_matches([' ', '\t']);
    let name = trimmed.strip_prefix('`')?;
    let name_length =
        name.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(name.len());
    if name_length == 0 || DIRECTIVES.contains(&&name[..name_length]) {
        return None;
    }
    let mut end = text.len() - name.len() + name_length;
    let arguments = text[end..].trim_start_matches([' ', '\t']);
    if arguments.starts_with('(') {
        let start = text.len() - arguments.len();
        let searched = &arguments.as_bytes()[..arguments.len().min(limits::MACRO_BYTES).min(*budget)];
        let length = parenthesized(searched);
        *budget -= length.unwrap_or(searched.len());
        end = start + length?;
    }
    let after = text.get(end..)?;
    let line = after.trim_start_matches([' ', '\t', ';']);
    let is_statement = line.is_empty() || line.starts_with(['\r', '\n']) || line.starts_with("//");
    is_statement.then_some(end + (after.len() - line.len()))
}

/// Computes the length of a text up to the bracket that closes its first one.
fn parenthesized(text: &[u8]) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
