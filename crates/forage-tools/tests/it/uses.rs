//! `grep_search` for the definitions and uses of a name, and its answers by file.

use std::collections::BTreeSet;
use std::path::Path;

use forage_tools::Workspace;
use forage_tools::tools::{GrepLine, GrepOutput, GrepRequest, GrepResponse};
use serde_json::json;

use crate::support::{Tree, answer, line_with, refusal, ripgrep, stable, transcript};

/// This repository. It has many files of one language, and some of others.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs ripgrep to find the lines with a whole word.
fn by_ripgrep(name: &str) -> BTreeSet<(String, u64)> {
    let found = ripgrep(Path::new(SOURCES), &["--no-heading", "-n", "-F", "-w", "-e", name, "crates"]);
    let line = |line: &str| {
        let (path, rest) = line.split_once(':')?;
        let (number, _) = rest.split_once(':')?;
        Some((path.to_owned(), number.parse().ok()?))
    };
    String::from_utf8_lossy(&found).lines().filter_map(line).collect()
}

/// Collects all pages of a request.
fn pages(workspace: &Workspace, request: GrepRequest) -> Vec<GrepResponse> {
    let mut pages = Vec::new();
    let mut request = request;
    loop {
        let outcome = workspace.grep(request.clone()).unwrap();
        pages.push(outcome.response);
        match outcome.next_cursor {
            Some(cursor) => request = request.cursor(cursor),
            None => return pages,
        }
    }
}

fn lines(response: &GrepResponse) -> impl Iterator<Item = (&str, &GrepLine)> {
    let of_file = |file: &forage_tools::tools::GrepFile| file.lines.len();
    assert!(response.files.iter().all(|file| of_file(file) > 0));
    response.files.iter().flat_map(|file| file.lines.iter().map(|line| (file.path.as_str(), line)))
}

#[test]
fn every_use_is_there_once_whatever_the_page() {
    let workspace = Workspace::open(SOURCES).unwrap();
    for name in ["GrepResponse", "is_relevant", "definitions", "Stop", "rg"] {
        let expected = by_ripgrep(name);
        for size in [7, 10_000] {
            let request = GrepRequest::new(name).path("crates").output(GrepOutput::Uses).max_results(size);
            let pages = pages(&workspace, request);
            let first = &pages[0];
            assert!(first.totals_exact);
            assert_eq!(first.match_count, expected.len() as u64, "{name}");
            let all: Vec<(String, u64)> = pages
                .iter()
                .flat_map(lines)
                .map(|(path, line)| (path.to_owned(), line.line_number))
                .collect();
            let found: BTreeSet<(String, u64)> = all.iter().cloned().collect();
            assert_eq!(all.len(), found.len(), "{name}: a line comes twice");
            assert_eq!(found, expected, "{name}, {size} lines a page");
            // Each definition is one of the lines.
            for definition in &first.definitions {
                assert!(found.contains(&(definition.path.clone(), definition.line.into())), "{definition:?}");
            }
        }
    }
}

/// The implementations come after more lines than the first page has. They are in files of four languages and
/// in a test.
#[test]
fn implementations_are_listed_whatever_the_page() {
    let tree = Tree::new();
    tree.write("a/Name.java", "public interface Name {\n    void run();\n}\n");
    for index in 0..30 {
        let text =
            format!("class A{index} {{\n    void a(Name name) {{}}\n    Name b() {{ return null; }}\n}}\n");
        tree.write(format!("a/A{index:02}.java"), text);
    }
    tree.write(
        "b/B.java",
        "class B extends C\n        implements D,\n        Name {\n    void run() {}\n}\n",
    );
    tree.write("b/C.java", "class C {\n    Name of() {\n        return new Name() {\n            public void run() {}\n        };\n    }\n}\n");
    tree.write("b/d.kt", "class D(val e: E) : Name by e {\n    fun f(name: Name) = name.run()\n}\n");
    tree.write("b/e.rs", "struct E;\n\nimpl Name for E {\n    fn run(&self) {}\n}\n");
    tree.write("b/f.py", "class F(Name):\n    pass\n");
    tree.write("b/g.go", "package b\n\ntype G struct {\n\tName\n\tother Name\n}\n");
    tree.write("test/T.java", "class T implements Name {\n}\n");
    let request = GrepRequest::new("Name").output(GrepOutput::Uses).max_results(10);
    let workspace = Workspace::open(tree.root()).unwrap();
    let outcome = workspace.grep(request.clone()).unwrap();
    let shown = |it: &forage_tools::tools::GrepDefinition| {
        let symbol = it.symbol.clone().unwrap_or_default();
        format!("{}:{} {symbol} {}-{}", it.path, it.line, it.start_line, it.end_line)
    };
    let response = &outcome.response;
    let found: Vec<String> = response.implementations.iter().map(shown).collect();
    let expected = [
        "b/B.java:3 B 1-5",
        "b/C.java:3 C > of 2-6",
        "b/d.kt:1 D 1-3",
        "b/e.rs:3 E 3-5",
        "b/f.py:1 F 1-2",
        "b/g.go:4 G 3-6",
        "test/T.java:1 T 1-2",
    ];
    assert_eq!(found, expected);
    assert_eq!((response.implementation_count, response.definition_count), (7, 1));
    let same = json!({"pattern": "Name", "output": "uses", "max_results": 10});
    insta::assert_snapshot!(stable(&answer(&tree.workspace(), "grep_search", same).text));
    // A continued page does not list them again.
    let further = workspace.grep(request.cursor(outcome.next_cursor.unwrap())).unwrap();
    assert!(further.response.implementations.is_empty() && further.response.implementation_count == 0);
}

/// In some languages, a separator of qualified names may be part of a name.
#[test]
fn a_name_as_it_is_written_comes_before_its_parts() {
    let tree = Tree::new();
    tree.write("a.R", "is.reactive <- function(x) x\nreactive <- function() 1\nis.reactive(2)\n");
    tree.write("b.el", "(defun my/find (a) a)\n(my/find 1)\n(defun find (b) b)\n");
    tree.write("c.sh", "a::b() {\n  echo 1\n}\na::b\nb\n");
    tree.write("d.js", "class D {\n  #field = 1;\n  get() { return this.#field; }\n}\nconst field = 2;\n");
    let workspace = Workspace::open(tree.root()).unwrap();
    for (name, lines) in [("is.reactive", 2), ("my/find", 2), ("a::b", 2), ("#field", 2), ("reactive", 3)] {
        let response = workspace.grep(GrepRequest::new(name).output(GrepOutput::Uses)).unwrap().response;
        let found = (response.match_count, response.definition_count, response.qualifier);
        assert_eq!(found, (lines, 1, None), "{name}");
    }
}

/// Names that are keywords, which have a prefix where they are written, and operators.
#[test]
fn keywords_and_operators_have_definitions() {
    let tree = Tree::new();
    tree.write("raw.rs", "pub fn r#match() {}\n\nfn go() {\n    r#match();\n}\n");
    tree.write("Raw.cs", "class Raw {\n    void @event() {}\n}\n");
    let operators = "struct Slice {\n    char operator[](int at) const;\n    bool operator<(Slice b) const;\n\
                     \u{20}   char operator()() const;\n};\nstruct Other {\n    char operator[](int at) const;\n};\n";
    tree.write("slice.hpp", operators);
    let workspace = Workspace::open(tree.root()).unwrap();
    let definitions = |name: &str| -> Vec<(String, u32)> {
        let request = GrepRequest::new(name).output(GrepOutput::Uses);
        let all = workspace.grep(request).unwrap().response.definitions;
        all.into_iter().map(|it| (it.path, it.line)).collect()
    };
    let slice = |line| vec![("slice.hpp".to_owned(), line)];
    assert_eq!(definitions("match"), [("raw.rs".to_owned(), 1)]);
    assert_eq!(definitions("r#match"), [("raw.rs".to_owned(), 1)]);
    assert_eq!(definitions("event"), [("Raw.cs".to_owned(), 2)]);
    assert_eq!(definitions("Slice::operator[]"), slice(2));
    assert_eq!(definitions("operator<"), slice(3));
    assert_eq!(definitions("operator()"), slice(4));
    assert_eq!(definitions("operator[]"), [slice(2), slice(7)].concat());
}

#[test]
fn files_and_counts_are_those_of_all_lines() {
    let workspace = Workspace::open(SOURCES).unwrap();
    let expected = by_ripgrep("GrepResponse");
    let request = GrepRequest::new("GrepResponse")
        .path("crates")
        .word_regexp(true)
        .output(GrepOutput::Counts)
        .max_results(3);
    let pages = pages(&workspace, request);
    let first = &pages[0];
    assert!(first.totals_exact && pages.len() > 2);
    assert_eq!(first.match_count, expected.len() as u64);
    let counts: Vec<(&str, u64)> = pages
        .iter()
        .flat_map(|page| page.files.iter().map(|file| (file.path.as_str(), file.match_count)))
        .collect();
    let files: BTreeSet<&str> = expected.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(first.file_count, files.len() as u64);
    assert_eq!(counts.len(), files.len());
    for (path, count) in counts {
        let lines = expected.iter().filter(|(other, _)| other == path).count() as u64;
        assert_eq!(count, lines, "{path}");
    }
}

#[test]
fn inverted_lines_are_those_that_ripgrep_prints() {
    let workspace = Workspace::open(SOURCES).unwrap();
    for pattern in ["e", "[a-z]", "fn|let", r"^\s*$"] {
        let found =
            ripgrep(Path::new(SOURCES), &["--no-heading", "-c", "-v", "-e", pattern, "crates/forage-tools"]);
        let found = String::from_utf8_lossy(&found).into_owned();
        let mut expected: Vec<&str> = found.lines().collect();
        expected.sort_unstable();
        let request = GrepRequest::new(pattern)
            .path("crates/forage-tools")
            .invert_match(true)
            .output(GrepOutput::Counts)
            .max_results(10_000);
        let response = workspace.grep(request).unwrap().response;
        let mut counts: Vec<String> =
            response.files.iter().map(|file| format!("{}:{}", file.path, file.match_count)).collect();
        counts.sort_unstable();
        assert_eq!(counts, expected, "{pattern}");
    }
    let tree = Tree::new();
    // This file is longer than a chunk that is searched at once, and has more lines than we keep of a file.
    let line = |index: usize| {
        if index.is_multiple_of(3) { format!("other {index}\n") } else { format!("match {index}\n") }
    };
    tree.write("long.txt", (0..400_000).map(line).collect::<String>());
    tree.write("matched.txt", "match\n");
    tree.write("unended.txt", "match\n\nlast");
    let workspace = Workspace::open(tree.root()).unwrap();
    let request = GrepRequest::new("match").invert_match(true).context_lines(0).max_results(10_000);
    let found = workspace.grep(request).unwrap().response;
    assert_eq!(
        (found.match_count, found.file_count, found.totals_exact),
        (400_000_u64.div_ceil(3) + 2, 2, true)
    );
    let first: Vec<u64> = found.files[0].lines.iter().take(3).map(|line| line.line_number).collect();
    assert_eq!(first, [1, 4, 7]);
}

#[test]
fn lines_beyond_the_file_limit_are_counted_and_paged() {
    let tree = Tree::new();
    tree.write("data.csv", (0..300_000).map(|index| format!("needle,{index}\n")).collect::<String>());
    tree.write("z.txt", "needle\n");
    let wide = format!("{}\n", "x".repeat(2_000)).repeat(19) + "needle\n";
    tree.write("wide.txt", wide.repeat(500));
    let workspace = Workspace::open(tree.root()).unwrap();
    let first = workspace.grep(GrepRequest::new("needle").output(GrepOutput::Uses)).unwrap().response;
    assert_eq!((first.match_count, first.totals_exact), (300_501, true));
    let request = GrepRequest::new("needle").output(GrepOutput::Uses).context_lines(50).max_results(10_000);
    let pages = pages(&workspace, request.file_pattern("*.txt"));
    let matches = pages.iter().flat_map(lines).filter(|(_, line)| line.kind == "match");
    let found: BTreeSet<(&str, u64)> = matches.map(|(path, line)| (path, line.line_number)).collect();
    assert!(found.len() == 501 && pages.len() > 1, "{} on {} pages", found.len(), pages.len());
}

#[test]
fn secret_in_a_directory_name_is_redacted() {
    let tree = Tree::new();
    tree.write("ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd/main.rs", "x\n");
    for request in [json!({"name": "main"}), json!({"name": "*.rs"})] {
        let answer = answer(&tree.workspace(), "list_directory", request);
        let said = format!("{}{}", answer.text, answer.records());
        assert!(said.contains("[redacted:") && !said.contains("ghp_"), "{said}");
    }
    insta::assert_snapshot!(refusal(&tree.workspace(), "read_file", json!({"path": "mian.rs"})));
}

#[test]
fn what_is_told_follows_an_edit() {
    let tree = Tree::new();
    tree.write(
        "src/a.c",
        "int take(int n)\n{\n\treturn n;\n}\n\nint both(void)\n{\n\treturn take(1); /* take */\n}\n",
    );
    tree.write("tests/take_test.c", "void test_take(void) {\n\tassert(take(2));\n}\n");
    tree.write("README.md", "Call take first.\n");
    let workspace = Workspace::open(tree.root()).unwrap();
    let uses = || {
        let outcome = workspace.grep(GrepRequest::new("take").output(GrepOutput::Uses)).unwrap();
        let of_line = |(path, line): (&str, &GrepLine)| {
            let within = line.within.as_ref().map_or("", |within| within.symbol.as_str());
            format!("{path}:{} {} {within}", line.line_number, line.mention.unwrap_or_default())
        };
        let definitions: Vec<String> = outcome
            .response
            .definitions
            .iter()
            .map(|definition| {
                format!("{}:{}-{}", definition.path, definition.start_line, definition.end_line)
            })
            .collect();
        (definitions, lines(&outcome.response).map(of_line).collect::<Vec<_>>())
    };
    let (defined, used) = uses();
    assert_eq!(defined, ["src/a.c:1-4"]);
    // Code comes first, then prose, and tests last.
    let expected = [
        "src/a.c:1 definition ",
        "src/a.c:8 call both",
        "README.md:1 comment ",
        "tests/take_test.c:2 call test_take",
    ];
    assert_eq!(used, expected);
    tree.write("src/a.c", "// take\nstatic int take(int n) {\n\treturn n;\n}\n");
    let (defined, used) = uses();
    assert_eq!(defined, ["src/a.c:1-4"]);
    assert_eq!(used[..2], ["src/a.c:1 comment take", "src/a.c:2 definition "]);
    tree.write("src/a.c", "int other;\n");
    assert!(uses().0.is_empty());
}

#[test]
fn names_of_other_tools_choose_the_same() {
    let tree = Tree::new();
    tree.write("a.txt", "one\ntwo\nthree\nfour\n");
    tree.write("b.txt", "two.\n");
    let workspace = tree.workspace();
    let requests = [
        json!({"pattern": "three", "-A": 1, "-B": 0}),
        json!({"pattern": "two", "output_mode": "files_with_matches"}),
        json!({"pattern": "two.", "is_regex": false, "output_mode": "count"}),
        json!({"pattern": "a|b", "output": "uses"}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "grep_search", requests));
}

#[test]
fn files_are_found_by_names_that_are_nearly_theirs() {
    let tree = Tree::new();
    for path in ["src/main.rs", "src/command_line.rs", "tests/main_test.rs", ".hidden/secret_plan.md"] {
        tree.write(path, "x\n");
    }
    let workspace = tree.workspace();
    let requests = [
        json!({"name": "mian"}),
        json!({"name": "main"}),
        json!({"pattern": "*.rs,!tests/**"}),
        json!({"name": "secret_plan"}),
    ];
    let listed = transcript(&workspace, "list_directory", requests);
    let refused = [
        ("read_file", json!({"path": "src/mian.rs"})),
        ("grep_search", json!({"pattern": "x", "path": "src/mian.rs"})),
        ("search_index", json!({"query": "x", "path": "src/mian.rs"})),
        ("list_directory", json!({"path": "source/main.rs"})),
        ("Search", json!({"pattern": "x", "path": "src/mian.rs"})),
    ]
    .map(|(tool, request)| transcript(&workspace, tool, [request]));
    insta::assert_snapshot!([listed, refused.join("\n")].join("\n"));
}

/// Files that we cache for further pages of a watched tree must be discarded with every change.
#[test]
fn pages_reflect_the_current_tree() {
    let tree = Tree::new();
    for index in 0..60 {
        tree.write(
            format!("src/{index:02}.rs"),
            format!("fn use_{index}() {{\n    needle();\n    needle();\n}}\n"),
        );
    }
    tree.write("src/needle.rs", "pub fn needle() {}\n");
    let methods =
        ["Queue", "Stack"].map(|of| format!("struct {of};\nimpl {of} {{\n    fn needle() {{}}\n}}\n"));
    tree.write("src/queue.rs", format!("{}fn call() {{\n    Queue::needle();\n}}\n", methods.concat()));
    let cache = tempfile::tempdir().unwrap();
    let place = forage_fs::PrivatePlace::below(cache.path()).join("indexes");
    let mut watched = Workspace::open(tree.root()).unwrap().keep_indexes_and_watch(place).unwrap();
    watched.gathered_uses = Some(std::sync::Arc::default());
    watched.build_index().unwrap();
    let plain = Workspace::open(tree.root()).unwrap();
    let listed_uses = |workspace: &Workspace| -> Vec<String> {
        // A qualified name can be read in two ways.
        let requests = ["needle", "Queue::needle", "Queue.needle"]
            .map(|name| GrepRequest::new(name).output(GrepOutput::Uses).max_results(17));
        let all = requests.into_iter().flat_map(|request| pages(workspace, request));
        all.map(|page| json!(page).to_string()).collect()
    };
    // We repeat this until the tree is watched.
    for _ in 0..10 {
        assert_eq!(listed_uses(&watched), listed_uses(&plain));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let steps: [&dyn Fn(); 6] = [
        &|| drop(tree.write("src/07.rs", "fn use_7() {\n    needles();\n}\n")),
        &|| drop(tree.write("tests/new.rs", "fn new() { needle(); }\n")),
        &|| std::fs::remove_file(tree.root().join("src/needle.rs")).unwrap(),
        &|| drop(tree.write("lib/other.rs", "pub fn needle() {}\n")),
        &|| drop(tree.write(".ignore", "lib\n")),
        &|| std::fs::rename(tree.root().join("src"), tree.root().join("code")).unwrap(),
    ];
    for (index, step) in steps.iter().enumerate() {
        step();
        for round in 0..3 {
            assert_eq!(listed_uses(&watched), listed_uses(&plain), "step {index}, round {round}");
        }
    }
    watched.close();
}

#[test]
fn definitions_beyond_the_limit_are_listed_as_uses() {
    let tree = Tree::new();
    for index in 0..16 {
        tree.write(
            format!("src/{index:02}.rs"),
            format!("pub fn needle(it: [u8; {index}], {}: u8) {{}}\n", "long_".repeat(20)),
        );
    }
    let mut workspace = tree.workspace();
    workspace.limits.text_bytes = 5_000;
    let answer = answer(&workspace, "grep_search", json!({"pattern": "needle", "output": "uses"}));
    insta::assert_snapshot!(line_with(&answer.text, "16 definitions"));
    for index in 0..16 {
        assert_eq!(answer.text.matches(&format!("[u8; {index}]")).count(), 1, "{index}: {}", answer.text);
        assert_eq!(
            answer.text.matches(&format!("src/{index:02}.rs:\n")).count(),
            1,
            "{index}: {}",
            answer.text
        );
    }
    let shown: Vec<_> = answer.head.shown.iter().map(|file| (file.ranges.as_slice(), file.matches)).collect();
    assert_eq!(shown, [([(1, 1)].as_slice(), 1); 16]);
}

/// Compares the lines of a file that remain for a qualified name with their marks. The marks are `+` for
/// lines of the qualifier, `?` if the receiver is unknown, and `-` for excluded lines. Returns the
/// differences.
fn narrowed_otherwise(pattern: &str, path: &str, source: &[(&str, &str)]) -> String {
    let tree = Tree::new();
    tree.write(path, source.iter().map(|(line, _)| format!("{line}\n")).collect::<String>());
    let workspace = Workspace::open(tree.root()).unwrap();
    let response = workspace.grep(GrepRequest::new(pattern).output(GrepOutput::Uses)).unwrap().response;
    let mark = |number: u64| {
        let line = lines(&response).find(|(_, line)| line.line_number == number);
        line.map(|(_, line)| if line.receiver.is_some() { "?" } else { "+" })
    };
    let left_out = source.iter().filter(|(_, mark)| *mark == "-").count() as u64;
    let mut otherwise = String::new();
    if response.left_out_count != left_out {
        otherwise += &format!("{path}: {} left out: {:?}\n", response.left_out_count, response.left_out);
    }
    let defined: Vec<u64> = response.definitions.iter().map(|definition| definition.line.into()).collect();
    let is_within = |line: &u64| source[*line as usize - 1].1 == "+";
    if defined.is_empty() || !defined.iter().all(is_within) {
        otherwise += &format!("{path}: defined in {defined:?}\n");
    }
    let lines = (1..)
        .zip(source)
        .map(|(number, (line, expected))| {
            (number, line, expected.trim_matches('-'), mark(number).unwrap_or(""))
        })
        .filter(|(_, _, expected, found)| expected != found)
        .map(|(number, line, _, found)| format!("{path}:{number}: {line}: {found:?}\n"));
    otherwise.extend(lines);
    otherwise
}

#[test]
fn overrides_in_indirect_subtypes_belong_to_the_qualified_name() {
    let tree = Tree::new();
    tree.write("a/Base.java", "public class Base {\n    void wake() {}\n    void run() { wake(); }\n}\n");
    tree.write("a/Middle.java", "class Middle extends Base {\n}\n");
    tree.write("a/Leaf.java", "class Leaf extends Middle {\n    void wake() {}\n}\n");
    tree.write("a/Other.java", "class Other {\n    void wake() {}\n}\n");
    tree.write(
        "test/LeafTest.java",
        "class LeafTest {\n    void test() {\n        new Leaf().wake();\n    }\n}\n",
    );
    let workspace = Workspace::open(tree.root()).unwrap();
    let request = GrepRequest::new("Base.wake").output(GrepOutput::Uses);
    let response = workspace.grep(request).unwrap().response;
    let definitions: Vec<(&str, Option<&str>)> =
        response.definitions.iter().map(|it| (it.path.as_str(), it.within.as_deref())).collect();
    assert_eq!(definitions, [("a/Base.java", Some("Base")), ("a/Leaf.java", Some("Leaf"))]);
    let left_out: Vec<(&str, u64)> =
        response.left_out.iter().map(|it| (it.name.as_str(), it.line_count)).collect();
    assert_eq!(left_out, [("Other", 1)]);
    let text =
        answer(&tree.workspace(), "grep_search", json!({"pattern": "Base.wake", "output": "uses"})).text;
    insta::assert_snapshot!(text);
}

#[test]
fn a_qualified_name_leaves_out_the_uses_of_other_types() {
    let mut otherwise = String::new();
    otherwise += &narrowed_otherwise(
        "Frontier.pop",
        "a.py",
        &[
            ("class Frontier:", ""),
            ("    def pop(self):", "+"),
            ("        return self.items.pop()", "?"),
            ("    def take(self):", ""),
            ("        return self.pop()", "+"),
            ("class Stack:", ""),
            ("    def pop(self):", "-"),
            ("        return None", ""),
            ("    def take(self):", ""),
            ("        return self.pop()", "-"),
            ("class Other:", ""),
            ("    def take(self):", ""),
            ("        return self.pop()", "?"),
            ("class Sub(Frontier):", ""),
            ("    def take(self):", ""),
            ("        return self.pop()", "+"),
            ("def run(f):", ""),
            ("    f.pop()", "?"),
            ("    Frontier.pop(f)", "+"),
            ("    f.pop(f)  # not Frontier.pop", "+"),
            ("    Stack.pop(f)", "-"),
            ("    Sub.pop(f)", "?"),
            ("    make().pop()", "?"),
            ("    # Stack.pop ends here.", "-"),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier::pop",
        "a.rs",
        &[
            ("struct Frontier;", ""),
            ("impl Frontier {", ""),
            ("    fn pop(&self) {}", "+"),
            ("    fn take(&self) { self.pop(); }", "+"),
            ("    fn make() { Self::pop(); }", "+"),
            ("}", ""),
            ("struct Stack;", ""),
            ("impl Stack {", ""),
            ("    fn pop(&self) {}", "-"),
            ("    fn take(&self) { self.pop(); }", "-"),
            ("}", ""),
            ("impl Store for Frontier {", ""),
            ("    fn put(&self) { self.pop(); }", "+"),
            ("}", ""),
            ("fn run<T: Store>(f: &Frontier) {", ""),
            ("    f.pop();", "?"),
            ("    Frontier::pop(f);", "+"),
            ("    Stack::pop(f);", "-"),
            ("    queue::pop(f);", "-"),
            ("    T::pop(f);", "?"),
            ("    pop(f);", "?"),
            ("}", ""),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier.Pop",
        "a.go",
        &[
            ("package a", ""),
            ("import \"a/queue\"", ""),
            ("type Frontier struct{}", ""),
            ("func (f *Frontier) Pop() {}", "+"),
            ("type Stack struct{}", ""),
            ("func (s *Stack) Pop() {}", "-"),
            ("func Run(f *Frontier) {", ""),
            ("\tf.Pop()", "?"),
            ("\tqueue.Pop()", "-"),
            ("\tFrontier.Pop(f)", "+"),
            ("\tDefault.Pop()", "?"),
            ("}", ""),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier#pop",
        "a.ts",
        &[
            ("class Frontier {", ""),
            ("  pop() {}", "+"),
            ("  take() { this.pop(); }", "+"),
            ("}", ""),
            ("class Stack {", ""),
            ("  pop() {}", "-"),
            ("  take() { this.pop(); }", "-"),
            ("}", ""),
            ("class Sub extends Frontier {", ""),
            ("  take() { super.pop(); }", "+"),
            ("}", ""),
            ("function run(f: Frontier) {", ""),
            ("  f.pop();", "?"),
            ("  Frontier.pop();", "+"),
            ("  Stack.pop();", "-"),
            ("  f?.items[0].pop();", "?"),
            ("}", ""),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier.pop",
        "A.java",
        &[
            ("class Frontier {", ""),
            ("  void pop() {}", "+"),
            ("  void take() { pop(); }", "+"),
            ("}", ""),
            ("class Stack {", ""),
            ("  void pop() {}", "-"),
            ("  void take() { this.pop(); }", "-"),
            ("  void both() { pop(); }", "?"),
            ("}", ""),
            ("class Sub extends Frontier { void take() { super.pop(); } }", "+"),
            ("class Use { void run(Frontier f) {", ""),
            ("  f.pop();", "?"),
            ("  Frontier.pop();", "+"),
            ("  Stack.pop();", "-"),
            ("  list.forEach(Stack::pop);", "-"),
            ("  list.forEach(Frontier::pop);", "+"),
            ("}}", ""),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier#pop",
        "a.rb",
        &[
            ("class Frontier", ""),
            ("  def pop; end", "+"),
            ("  def take; self.pop; end", "+"),
            ("end", ""),
            ("class Stack", ""),
            ("  def pop; end", "-"),
            ("  def take; self.pop; end", "-"),
            ("end", ""),
            ("class Sub < Frontier", ""),
            ("  def take; pop; end", "+"),
            ("end", ""),
            ("def run(f)", ""),
            ("  f.pop", "?"),
            ("  Frontier.new.pop", "?"),
            ("  Frontier.pop", "+"),
            ("  Frontier::pop", "+"),
            ("  Stack.pop", "-"),
            ("end", ""),
        ],
    );
    otherwise += &narrowed_otherwise(
        "Frontier::pop",
        "a.cpp",
        &[
            ("struct Frontier {", ""),
            ("  void pop();", "+"),
            ("  void take() { this->pop(); }", "+"),
            ("};", ""),
            ("void Frontier::pop() {}", "+"),
            ("struct Stack {", ""),
            ("  void pop() {}", "-"),
            ("  void take() { this->pop(); }", "-"),
            ("};", ""),
            ("struct Sub : Frontier { void take() { pop(); } };", "+"),
            ("void run(Frontier *f) {", ""),
            ("  f->pop();", "?"),
            ("  Stack::pop();", "-"),
            ("  Frontier::pop();", "+"),
            ("  x.pop();", "?"),
            ("}", ""),
        ],
    );
    assert!(otherwise.is_empty(), "{otherwise}");
}

#[test]
fn pages_of_a_qualified_name_have_each_line_or_count_it() {
    let tree = Tree::new();
    let calls = |of: &str, count: usize| format!("    {of}.pop(x)\n").repeat(count);
    tree.write("a.py", format!("def run(x):\n{}{}", calls("Stack", 120), calls("x", 30)));
    tree.write(
        "b.py",
        format!("class Frontier:\n    def pop(self): pass\ndef run(x):\n{}", calls("Frontier", 20)),
    );
    tree.write("c.nim", "Stack.pop(x)\n");
    let workspace = Workspace::open(tree.root()).unwrap();
    let request = GrepRequest::new("Frontier.pop").output(GrepOutput::Uses).max_results(15);
    let pages = pages(&workspace, request);
    let shown = pages.iter().flat_map(lines).count();
    let left_out: u64 = pages.iter().map(|page| page.left_out_count).sum();
    assert_eq!((pages[0].match_count, shown, left_out), (172, 52, 120));
    assert!(pages.iter().all(|page| page.qualifier.as_deref() == Some("Frontier")));
    // Files that contain the qualifier come first, and a page continues after the lines that it excludes.
    let first: Vec<(&str, bool)> =
        lines(&pages[0]).map(|(path, line)| (path, line.receiver.is_some())).collect();
    assert_eq!(first, [("b.py", false); 15]);
    let workspace = tree.workspace();
    let text = answer(&workspace, "grep_search", json!({"pattern": "Frontier.pop", "output": "uses"})).text;
    let parts = ["(showing 50", "Narrowed to", "calls (", "calls, receiver unknown"];
    insta::assert_snapshot!("qualified-name", parts.map(|part| line_with(&text, part)).join("\n"));
    let text = answer(
        &workspace,
        "grep_search",
        json!({"pattern": "Frontier.pop", "output": "uses", "file_pattern": "*.nim"}),
    )
    .text;
    insta::assert_snapshot!("qualified-name-without-a-parser", text);
}

/// A definition that may belong to the qualifier is among the lines, so it is not left out.
#[test]
fn only_definitions_of_other_types_are_left_out() {
    let tree = Tree::new();
    tree.write("a.py", "class A:\n    def f(self): pass\n\ndef f(): pass\n");
    let request = json!({"pattern": "A.f", "output": "uses"});
    let one = transcript(&tree.workspace(), "grep_search", [request.clone()]);
    tree.write("b.py", "class B:\n    def f(self): pass\n");
    let other = transcript(&tree.workspace(), "grep_search", [request]);
    insta::assert_snapshot!([one, other].join("\n"));
}

#[test]
fn a_file_without_a_parser_may_hide_a_definition() {
    let tree = Tree::new();
    // The grammar would need too much memory for this many tokens.
    tree.write("min.js", format!("{}function needle(){{}}\n", "a;".repeat(600_000)));
    let shown = answer(&tree.workspace(), "grep_search", json!({"pattern": "needle", "output": "uses"})).text;
    let warning = "[warning: 1 file read without a parser: a definition may be missing]";
    assert_eq!(line_with(&shown, "without a parser"), warning);
    tree.write("min.js", "a;function needle(){}\n");
    insta::assert_snapshot!(
        answer(&tree.workspace(), "grep_search", json!({"pattern": "needle", "output": "uses"})).text
    );
}
