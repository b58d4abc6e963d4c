//! House rules that no lint of the compiler covers.

use std::path::PathBuf;

use crate::cargo::{Workspace, files_below, has_extension};

/// Prefixes of model ids. Such ids become outdated, so they may only occur in `providers.toml`, and never in
/// code.
const MODEL_FAMILIES: [&str; 8] =
    ["gpt-", "claude-", "gemini-", "qwen", "deepseek-", "grok-", "llama-", "mistral-"];

/// Names of programs, and of their files, that begin like model ids.
const PROGRAMS: [&str; 10] = [
    "claude-ai",
    "claude-code",
    "claude-desktop",
    "claude-plugin",
    "gemini-cli",
    "gemini-cli-mcp-client",
    "gemini-extension",
    "qwen",
    "qwen-cli",
    "qwen-cli-mcp-client-forage",
];

/// Crates that other programs can't use without the program `forage`, and those only for tests. All others
/// are libraries.
const NO_LIBRARIES: [&str; 5] = ["ui", "bindings", "python", "node", "fuzz"];

/// Prefixes of text that refers to a command, an option or a setting of the program. A library must not know
/// these, and must use `forage_base::Hint` instead.
const OF_THE_PROGRAM: [&str; 6] =
    ["`forage ", "`--", "`retrieval.", "`secrets.allow", "`allow_broad_root", "search.exclude"];

/// Names of tools. Only the crate of the tools should know them.
const TOOLS: [&str; 6] =
    ["grep_search", "list_directory", "search_index", "search_history", "keyword_search", "keyword_lookup"];

#[test]
fn crates_follow_the_rules() {
    let workspace = Workspace::from_manifest_dir();
    let mut files = files_below(&workspace.path("crates")).unwrap();
    files.retain(|path| has_extension(path, &["rs"]));
    assert!(!files.is_empty(), "no Rust files found under crates/");
    let in_file = |file: &PathBuf| {
        let shown = workspace.shown(file);
        let found = violations(&shown, &workspace.read(file).unwrap());
        found.into_iter().map(|violation| format!("{shown}{violation}")).collect::<Vec<_>>()
    };
    let found: Vec<String> = files.iter().flat_map(in_file).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    println!("    {} files checked", files.len());
}

/// Lists the violations in a file, in words that follow the file's name.
fn violations(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
    let mut in_product = !is_test;
    let mut is_test_item = false;
    for (index, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let number = index + 1;
        if code.starts_with("//") {
            continue;
        }
        if ignores_a_test(code) {
            found.push(format!(":{number}: do not ignore tests: fix the test, or remove it"));
        }
        // The item after the attribute is test code: one line, for example `mod tests;`, or the rest of the file.
        in_product |= is_test_item && code.ends_with(';') && !is_test;
        is_test_item = code.starts_with("#[cfg(test)]") || is_test_item && code.starts_with("#[");
        in_product &= !is_test_item;
        if let Some(family) = MODEL_FAMILIES.iter().find(|family| in_product && names_model(code, family)) {
            found.push(format!(
                ":{number}: `{family}…` is a model id; model ids belong in \
                 crates/forage-llm/src/providers.toml"
            ));
        }
        if let Some(word) = banned_words(name).iter().find(|word| in_product && says(code, word)) {
            found.push(format!(":{number}: a library must not mention `{word}`; use a `forage_base::Hint`"));
        }
    }
    found
}

/// Returns the words that a file must not contain if it belongs to a library.
fn banned_words(name: &str) -> Vec<&'static str> {
    let library = name.strip_prefix("crates/forage-").and_then(|rest| rest.split_once("/src/"));
    match library {
        // These crates work with tools and may name them.
        Some(("tools" | "agent" | "mcp", _)) => OF_THE_PROGRAM.to_vec(),
        Some((name, _)) if !NO_LIBRARIES.contains(&name) => [&OF_THE_PROGRAM[..], &TOOLS].concat(),
        _ => Vec::new(),
    }
}

/// Returns true if a line contains a prefix with something after it, or a whole name.
fn says(code: &str, word: &str) -> bool {
    let is_name = word.ends_with(|last: char| last.is_ascii_alphabetic()) && !word.starts_with('`');
    code.match_indices(word).any(|(at, _)| {
        let next = code[at + word.len()..].chars().next();
        let goes_on = next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_');
        if is_name { !goes_on } else { goes_on || !word.ends_with('-') }
    })
}

/// Returns true if a string in the line contains a word with this prefix.
fn names_model(code: &str, family: &str) -> bool {
    let lower = code.to_ascii_lowercase();
    lower.match_indices(family).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let word =
            lower[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
        !PROGRAMS.contains(&word)
            && lower[..at].contains('"')
            && before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
    })
}

fn ignores_a_test(code: &str) -> bool {
    let plain = code.strip_prefix("#[ignore").is_some_and(|rest| rest.trim_start().starts_with([']', '=']));
    let conditional = code.starts_with("#[cfg_attr(")
        && code.split(',').skip(1).any(|part| {
            part.trim().trim_end_matches([')', ']']).split('=').next().map(str::trim) == Some("ignore")
        });
    plain || conditional
}

fn count(name: &str, text: &str) -> usize {
    violations(name, text).len()
}

#[test]
fn a_clean_file_passes() {
    assert_eq!(count("crates/a/src/lib.rs", "//! What it is for.\n#[test]\nfn works() {}\n"), 0);
    assert_eq!(count("crates/a/src/x.rs", "// #[ignore] in words\nfn ignored() {}\n"), 0);
    assert_eq!(count("crates/a/src/x.rs", "#[cfg_attr(windows, expect(unused))]\nfn f() {}\n"), 0);
}

#[test]
fn ignored_tests_are_named() {
    assert_eq!(count("crates/a/src/x.rs", "#[test]\n#[ignore]\nfn f() {}\n"), 1);
    assert_eq!(count("crates/a/src/x.rs", "    #[ignore = \"slow\"]\n"), 1);
    assert_eq!(count("crates/a/src/x.rs", "#[cfg_attr(windows, ignore)]\n"), 1);
    assert_eq!(count("crates/a/src/x.rs", "#[cfg_attr(windows, ignore = \"why\")]\n"), 1);
}

#[test]
fn ids_of_models_are_named() {
    for id in ["gpt-5-mini", "x/Qwen3-Coder", "claude-sonnet-5"] {
        assert_eq!(count("crates/a/src/x.rs", &format!("const M: &str = \"{id}\";\n")), 1, "{id}");
        assert_eq!(count("crates/a/src/tests.rs", &format!("const M: &str = \"{id}\";\n")), 0, "{id}");
        let test = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n    const M: &str = \"{id}\";\n}}\n");
        assert_eq!(count("crates/a/src/x.rs", &test), 0, "{id}");
        let before = format!("#[cfg(test)]\nmod tests;\nconst M: &str = \"{id}\";\n");
        assert_eq!(count("crates/a/src/x.rs", &before), 1, "{id}");
    }
    assert_eq!(count("crates/a/src/x.rs", "let client = \"claude-code\";\n"), 0);
    assert_eq!(count("crates/a/src/x.rs", "let model = \"claude-code-5\";\n"), 1);
    assert_eq!(count("crates/a/src/x.rs", "// gpt-5\nlet a = \"not-gpt\"; let b = \"gemini\";\n"), 0);
}

#[test]
fn a_library_that_knows_the_program_is_named() {
    let cases = [
        ("crates/forage-rank/src/x.rs", "\"run `forage index drop`\"", 1),
        ("crates/forage-tools/src/x.rs", "\"run `forage index drop`\"", 1),
        ("crates/forage-fs/src/x.rs", "\"use grep_search\"", 1),
        ("crates/forage-git/src/x.rs", "\"use search_history\"", 1),
        ("crates/forage-ui/src/x.rs", "\"use grep_search\"", 0),
        ("crates/forage-tools/src/x.rs", "\"use grep_search\"", 0),
        ("crates/forage/src/x.rs", "\"run `forage index drop`\"", 0),
        ("crates/forage-fs/tests/it/x.rs", "\"use grep_search\"", 0),
        ("crates/forage-fs/src/x.rs", "// As grep_search asks it.", 0),
        ("crates/forage-fs/src/x.rs", "use grep_searcher::Searcher;", 0),
        ("crates/forage-tools/src/x.rs", "\"`--` stands for lines; `--filter lexical`\"", 1),
        ("crates/forage-tools/src/x.rs", "\"`--` stands for lines\"", 0),
    ];
    for (name, text, expected) in cases {
        assert_eq!(count(name, &format!("{text}\n")), expected, "{name}: {text}");
    }
}
