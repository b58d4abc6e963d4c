//! The names of tests, as test runners take them.

use forage_rank::{DefinitionKind, FileOutline};

use super::facts::FilePlace;

/// Returns the name of the test that a definition is or belongs to. `None` if it is not a test, or if the
/// runner of its language takes files.
pub(super) fn test_name(
    place: &FilePlace,
    outline: &FileOutline,
    lines: &[&str],
    at: usize,
) -> Option<String> {
    let mut around: Vec<_> = outline.around(at).collect();
    around.reverse();
    let function = around.iter().position(|it| it.kind == DefinitionKind::Function)?;
    let (outer, test) = (&around[..function], around[function]);
    let name = test.name.as_str();
    let lead = lines.get(test.start_line as usize - 1..test.line as usize).unwrap_or_default();
    let is_marked = |mark: char| {
        lead.iter().any(|line| line.trim_start().starts_with(mark) && line.to_lowercase().contains("test"))
    };
    match place.family {
        "python" if place.is_test && name.starts_with("test") => {
            let names = outer.iter().map(|it| it.name.as_str()).chain([name]);
            Some(format!("{}::{}", place.path.display(), names.collect::<Vec<_>>().join("::")))
        }
        "go" if place.is_test => {
            let is_run = ["Test", "Benchmark", "Fuzz", "Example"].iter().any(|word| name.starts_with(word));
            is_run.then(|| name.to_owned())
        }
        "rust" if is_marked('#') => {
            let modules = outer.iter().filter(|it| it.kind == DefinitionKind::Module);
            let inner = modules.map(|it| it.name.as_str()).chain([name]);
            Some(rust_modules(place).into_iter().chain(inner).collect::<Vec<_>>().join("::"))
        }
        "java" if is_marked('@') => {
            let names = outer.iter().map(|it| it.name.as_str()).chain([name]);
            Some(names.collect::<Vec<_>>().join("."))
        }
        _ => None,
    }
}

/// Returns the modules that a file of Rust stands for within its crate.
fn rust_modules(place: &FilePlace) -> Vec<&str> {
    let parts: Vec<&str> = place.parts.iter().map(String::as_str).collect();
    let of_tests = |part: &&str| matches!(*part, "tests" | "benches" | "examples");
    match place.directory.iter().rposition(|part| part == "src") {
        Some(at) => parts[at + 1..].to_vec(),
        // The first name below `tests` is that of the program.
        None => parts
            .iter()
            .rposition(of_tests)
            .map_or(Vec::new(), |at| parts.get(at + 2..).unwrap_or_default().to_vec()),
    }
}
