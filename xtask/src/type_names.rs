//! One name, one type: what is called the same in two rooms is taken for the same.

use std::collections::BTreeMap;

use crate::cargo::Workspace;
use crate::house;

/// Names that many rooms have, and mean the same by: an error, bounds, what an operation may be told, a command's
/// arguments and subcommands as clap derives them, and what a lock guards.
const AGREED: [&str; 6] = ["Error", "Limits", "Options", "Arguments", "Command", "State"];

/// Checks every type that is declared below `crates/`, those of tests excepted.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let mut declared = BTreeMap::<String, Vec<String>>::new();
    for file in house::sources(workspace)? {
        let shown = workspace.shown(&file);
        if is_product(&shown) {
            for (line, name) in declarations(&workspace.read(&file)?) {
                declared.entry(name).or_default().push(format!("{shown}:{line}"));
            }
        }
    }
    let names = declared.len();
    let twice: Vec<String> = declared
        .into_iter()
        .filter(|(name, places)| !AGREED.contains(&name.as_str()) && !are_alternatives(places))
        .map(|(name, places)| format!("`{name}` names several types: {}", places.join(", ")))
        .collect();
    if twice.is_empty() {
        println!("    {names} names of types, each of one");
        return Ok(());
    }
    Err(twice.join("\n"))
}

fn is_product(file: &str) -> bool {
    file.contains("/src/") && !file.contains("/tests/") && !file.ends_with("/tests.rs")
}

/// Whether this is one type, or one per system or processor: those of a directory `sys` or `vector` stand for each other.
fn are_alternatives(places: &[String]) -> bool {
    let all_in = |directory: &str| places.iter().all(|place| place.contains(directory));
    places.len() < 2 || all_in("/sys/") || all_in("/vector/")
}

/// The types of a file with their lines, without those within another item and those of its tests.
fn declarations(text: &str) -> Vec<(usize, String)> {
    let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = product.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, declared(line)?.to_owned()))).collect()
}

/// The name of the type that a line declares at the top of its file.
fn declared(line: &str) -> Option<&str> {
    let item = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|kind| item.strip_prefix(kind))?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_product_are_found() {
        let text = "pub struct A;\npub(crate) enum B<T> {\n    C,\n}\nimpl A {\n    type D = ();\n}\n\
                    trait E {}\npub type F<'a> = &'a str;\n// struct G;\nfn struct_h() {}\n\
                    #[cfg(test)]\nmod tests {\n}\nstruct I;\n";
        let names: Vec<String> = declarations(text).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["A", "B", "E", "F"]);
    }

    #[test]
    fn only_systems_and_processors_have_alternatives() {
        let places = |files: &[&str]| files.iter().map(|file| format!("{file}:1")).collect::<Vec<_>>();
        assert!(are_alternatives(&places(&["crates/a/src/x.rs"])));
        assert!(are_alternatives(&places(&["crates/a/src/sys/unix.rs", "crates/a/src/sys/other.rs"])));
        assert!(are_alternatives(&places(&["crates/a/src/vector/avx2.rs", "crates/a/src/vector/neon.rs"])));
        assert!(!are_alternatives(&places(&["crates/a/src/x.rs", "crates/b/src/y.rs"])));
        assert!(!is_product("crates/a/src/tests.rs") && !is_product("crates/a/examples/x.rs"));
    }
}
