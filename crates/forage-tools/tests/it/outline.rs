//! `read_file` by structure: the outline of a file, or a single definition.

use forage_tools::Workspace;
use forage_tools::tools::{ReadRequest, ReadResponse};
use serde_json::json;

use crate::support::{Tree, answer, line_with, notes, refusal, transcript};

const SOURCE: &str = "\
//! A queue.

use std::collections::VecDeque;

/// Bytes at most.
pub const MOST: usize = 10;

/// Takes turns.
#[derive(Debug)]
pub struct Queue<T> {
    items: VecDeque<T>,
}

impl<T> Queue<T> {
    /// Adds to the end.
    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

pub struct Stack<T>(Vec<T>);

impl<T> Stack<T> {
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }
}
";

fn tree() -> (Tree, Workspace) {
    let tree = Tree::new();
    tree.write("src/queue.rs", SOURCE);
    tree.write("notes.txt", "nothing\n");
    tree.write("a#b.txt", "a file with a sign in its name\n");
    tree.write("binary", b"\0\x01\x02");
    let workspace = Workspace::open(tree.root()).unwrap();
    (tree, workspace)
}

fn read(workspace: &Workspace, request: ReadRequest) -> ReadResponse {
    workspace.read(request).unwrap().response
}

fn text(workspace: &Workspace, request: serde_json::Value) -> String {
    answer(workspace, "read_file", request).text
}

#[test]
fn an_outline_has_the_definitions_with_their_lines() {
    let (_tree, workspace) = tree();
    assert_eq!(
        text(&workspace, json!({"path": "src/queue.rs", "outline": true})),
        "5-6\tpub const MOST: usize = 10;\n8-12\tpub struct Queue<T>\n14-23\timpl<T> Queue<T>\n15-18\t  pub fn push(&mut \
         self, item: T)\n20-22\t  fn len(&self) -> usize\n25\tpub struct Stack<T>(Vec<T>);\n27-31\timpl<T> Stack<T>\n28-30\t  \
         pub fn push(&mut self, item: T)\n\n[src/queue.rs of 31 lines]\n"
    );
    let none = text(&workspace, json!({"path": "notes.txt", "outline": true}));
    assert_eq!(none.trim(), "[notes.txt of 1 line]\n[no definitions were found in it]");
}

#[test]
fn outline_is_small_and_counts_omitted_lines() {
    let (tree, workspace) = tree();
    let methods = |class: usize| {
        (0..20)
            .map(|method| format!("    def method_{class}_{method}(self):\n        pass\n"))
            .collect::<String>()
    };
    let classes = (0..50).map(|class| format!("class Class{class}:\n{}\n", methods(class)));
    tree.write("many.py", classes.collect::<String>());
    let response = read(&workspace, ReadRequest::new("many.py").outline(true));
    let left_out = |response: &ReadResponse| response.outline_left_out.values().sum::<usize>();
    assert_eq!((response.outline.len(), left_out(&response)), (50, 1_000));
    let shown = text(&workspace, json!({"path": "many.py", "outline": true}));
    assert!(shown.len() * 6 <= response.size as usize, "{} of {}", shown.len(), response.size);
    insta::assert_snapshot!("outline-of-a-large-file", notes(&shown));
    // This is one class with many methods, whose outline would be useless without them.
    let argument = "argument: Optional[Dictionary] = None, ".repeat(5);
    let methods = |index: usize| format!("    def method_{index}(self, {argument}):\n        pass\n\n");
    tree.write("class.py", format!("class Only:\n{}", (0..60).map(methods).collect::<String>()));
    let response = read(&workspace, ReadRequest::new("class.py").outline(true));
    assert_eq!((response.outline.len(), left_out(&response)), (61, 0));
    assert!(response.outline[1].text.ends_with('…'), "{:?}", response.outline[1]);
    // Names are complete, however much text precedes them.
    let method = |index: usize| {
        let body = "        statement(one, two, three);\n".repeat(4);
        format!(
            "    public static synchronized void aNameOfSomeLength{index}(int a, int b) {{\n{body}    }}\n"
        )
    };
    tree.write("A.java", format!("class A {{\n{}}}\n", (0..60).map(method).collect::<String>()));
    let response = read(&workspace, ReadRequest::new("A.java").outline(true));
    let is_whole = |entry: &forage_tools::tools::OutlineEntry| entry.text.contains(&entry.name);
    assert_eq!(response.outline.len(), 61);
    assert!(response.outline.iter().all(is_whole), "{:?}", response.outline[1]);
    assert!(response.outline[1].text.ends_with('…'), "{:?}", response.outline[1]);
}

#[test]
fn names_are_read_as_their_languages_write_them() {
    let (tree, workspace) = tree();
    tree.write("J.java", "class Foo {\n    Foo() {}\n    Foo(int a) {}\n    void bar() {}\n}\n");
    tree.write("a.ex", "defmodule A.B do\n  def foo(x) do\n    x\n  end\nend\n\ndefmodule C do\n  def foo(x) do\n    x\n  end\nend\n");
    tree.write("a.cpp", "namespace n::m {\nstruct Box {\n  int get();\n};\n}\nstruct V {\n  V();\n  bool operator==(const V& a) {\n    return true;\n  }\n};\n");
    tree.write("a.scala", "class A {\n  def `a b`(): Int = {\n    1\n  }\n}\n");
    tree.write("a.hs", "module A where\n\n(<+>) :: Int -> Int -> Int\na <+> b = a + b\n");
    for (path, symbol, start) in [
        ("J.java", "Foo", 1),
        ("a.ex", "A.B.foo", 2),
        ("a.ex", "B.foo", 2),
        ("a.cpp", "n::m::Box", 2),
        ("a.cpp", "V", 6),
        ("a.cpp", "operator ==", 8),
        ("a.cpp", "V::operator==", 8),
        ("a.scala", "`a b`", 2),
    ] {
        let outcome = workspace.read(ReadRequest::new(path).symbol(symbol));
        let response = outcome.unwrap_or_else(|error| panic!("{path} {symbol}: {error}")).response;
        assert_eq!(response.start_line, start, "{path} {symbol}");
    }
    // The answer shows the definition that exists, and says that the other one is missing.
    insta::assert_snapshot!(text(&workspace, json!({"path": "J.java", "symbol": "bar, nothing"})));
}

#[test]
fn members_outside_their_type_name_it() {
    let (tree, workspace) = tree();
    tree.write(
        "a.go",
        "package a\n\ntype Queue struct {\n\tn int\n}\n\nfunc (q *Queue) Push() {\n}\n\nfunc Other() {\n}\n",
    );
    let requests = ["a.go", "src/queue.rs"].map(|path| json!({"path": path, "symbol": "Queue"}));
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests));
}

#[test]
fn one_definition_is_read_by_its_name() {
    let (_tree, workspace) = tree();
    let lines = |symbol: &str| {
        let response = read(&workspace, ReadRequest::new("src/queue.rs").symbol(symbol));
        (response.start_line, response.end_line, response.lines[0].clone())
    };
    assert_eq!(lines("MOST"), (5, 6, "/// Bytes at most.".to_owned()));
    assert_eq!(lines("Queue"), (8, 12, "/// Takes turns.".to_owned()), "the type, not what extends it");
    for symbol in ["Queue::push", "Queue.push", "Queue#push", "Queue::push(item)", "Queue<T>::push"] {
        assert_eq!(lines(symbol), (15, 18, "    /// Adds to the end.".to_owned()), "{symbol}");
    }
    let by_path = read(&workspace, ReadRequest::new("src/queue.rs#len"));
    assert_eq!((by_path.start_line, by_path.end_line), (20, 22));
    let file = read(&workspace, ReadRequest::new("a#b.txt"));
    assert_eq!(file.lines, ["a file with a sign in its name"]);
}

#[test]
fn several_definitions_are_read_with_lines_around_them() {
    let (_tree, workspace) = tree();
    let request = json!({"path": "src/queue.rs", "symbol": "Queue::len, Stack::push", "context_lines": 1});
    assert_eq!(
        text(&workspace, request.clone()),
        "    19\t\n    20\t    fn len(&self) -> usize {\n    21\t        self.items.len()\n    22\t    }\n    23\t}\n    \
         27\timpl<T> Stack<T> {\n    28\t    pub fn push(&mut self, item: T) {\n    29\t        self.0.push(item);\n    \
         30\t    }\n    31\t}\n\n[lines 19 to 23, 27 to 31 of 31 lines]\n"
    );
    let records = answer(&workspace, "read_file", request).records().clone();
    assert_eq!(
        (&records["further"][0]["start_line"], &records["further"][0]["end_line"]),
        (&json!(27), &json!(31))
    );
    let none = json!({"path": "src/queue.rs", "symbol": "NONE, LEAST"});
    insta::assert_snapshot!(refusal(&workspace, "read_file", none));
}

/// An answer has room for some of the requested definitions. It must name the lines of the others.
#[test]
fn definitions_without_room_are_named() {
    let (tree, workspace) = tree();
    let body = "    statement(one, two, three)\n".repeat(3_000);
    tree.write("long.py", format!("def small():\n    pass\n\ndef long():\n{body}\ndef last(): return 1\n"));
    let notes = ["small, long", "small, long, last", "long, last", "small, last"].map(|symbol| {
        let shown = text(&workspace, json!({"path": "long.py", "symbol": symbol}));
        // The last line that is shown is the one before the first line without room.
        let (code, _) = shown.split_once("\n\n[").unwrap();
        let last = code.lines().last().unwrap().split('\t').next().unwrap().trim().to_owned();
        format!("{symbol}: until line {last}\n{}", notes(&shown))
    });
    insta::assert_snapshot!(notes.join("\n\n"));
}

#[test]
fn outline_prefers_types_and_public_functions() {
    let (tree, workspace) = tree();
    let many = |line: &str| (0..60).map(|index| line.replace('#', &index.to_string())).collect::<String>();
    tree.write(
        "many.py",
        many("LIMIT_#: int = 10\n")
            + &many("def _hidden_#():\n    pass\n")
            + "def run():\n"
            + &many("    def helper_#(): pass\n")
            + "class Queue:\n    def push(self): pass\n    def _grow(self): pass\n",
    );
    let response = read(&workspace, ReadRequest::new("many.py").outline(true));
    let names: Vec<&str> = response.outline.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["run", "Queue", "push"]);
    insta::assert_snapshot!(text(&workspace, json!({"path": "many.py", "outline": true})));
    // You can get the rest by line range.
    let part = text(&workspace, json!({"path": "many.py:1-3", "outline": true}));
    let expected = "1\tLIMIT_0: int = 10\n2\tLIMIT_1: int = 10\n3\tLIMIT_2: int = 10\n\n[definitions in lines 1 to 3 of \
                    many.py of 244 lines]\n";
    assert_eq!(part, expected);
}

#[test]
fn definitions_of_one_name_in_one_scope_are_all_shown() {
    let (tree, workspace) = tree();
    tree.write(
        "os.c",
        "#ifdef A\nint wait_for(int a)\n{\n\treturn a;\n}\n#else\nint wait_for(int a)\n{\n\treturn 1;\n}\n#endif\n",
    );
    insta::assert_snapshot!(text(&workspace, json!({"path": "os.c", "symbol": "wait_for"})));
}

#[test]
fn ranges_that_overlap_show_each_line_once() {
    let (_tree, workspace) = tree();
    for symbol in ["Queue::push, Queue::len", "Queue::len, Queue::push, Queue::len"] {
        let request = json!({"path": "src/queue.rs", "symbol": symbol, "context_lines": 2});
        let shown = text(&workspace, request);
        assert_eq!(shown.matches("fn len").count(), 1, "{shown}");
        assert_eq!(notes(&shown), "[lines 13 to 24 of 31 lines]");
    }
}

#[test]
fn comments_in_the_code_of_a_document_are_no_headings() {
    let (tree, workspace) = tree();
    tree.write("a.md", "# Use\n\n```sh\n# Install\nmake\n```\n\n## Next\n\ntext\n");
    let response = read(&workspace, ReadRequest::new("a.md").outline(true));
    let names: Vec<&str> = response.outline.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["Use", "Next"]);
    let section = read(&workspace, ReadRequest::new("a.md").symbol("Use"));
    assert_eq!((section.start_line, section.end_line), (1, 10));
}

#[test]
fn a_file_without_a_parser_is_read_by_line_and_says_so() {
    let (tree, workspace) = tree();
    tree.write("legacy.nim", "proc greet(name: string) =\n  echo name\n");
    let requests = [
        json!({"path": "legacy.nim", "outline": true}),
        json!({"path": "legacy.nim", "symbol": "greet"}),
        json!({"path": "src/queue.rs", "symbol": "MOST"}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests));
}

#[test]
fn ambiguous_symbol_is_refused_with_candidates() {
    let (tree, workspace) = tree();
    let method =
        |of: &str| format!("impl {of} {{\n    fn push() {{\n{}    }}\n}}\n", "        a();\n".repeat(50));
    tree.write("src/long.rs", format!("{}{}", method("Queue"), method("Stack")));
    let requests = [
        json!({"path": "src/long.rs", "symbol": "push"}),
        // If the definitions are short, all of them are shown.
        json!({"path": "src/queue.rs", "symbol": "push"}),
        json!({"path": "src/queue.rs", "symbol": "Queue::pusj"}),
        json!({"path": "notes.txt", "symbol": "x"}),
        json!({"path": "src/queue.rs", "symbol": "len", "start_line": 3}),
        json!({"path": "src/queue.rs", "outline": true, "symbol": "len"}),
        json!({"path": "src/queue.rs", "outline": true, "end_line": 3}),
        json!({"path": "binary", "outline": true}),
        json!({"path": "binary", "symbol": "x"}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests));
}

/// The container that a symbol names must be the nearest one, where there is a choice.
#[test]
fn a_qualified_symbol_means_the_nearest_definition() {
    let (tree, workspace) = tree();
    tree.write("a.py", "class A:\n    class B:\n        def f(self): pass\n    def f(self): pass\n");
    tree.write(
        "a.go",
        "package a\n\nfunc (q *Queue) Push() {}\nfunc (s Stack[K]) Push() {}\nfunc Push() {}\n",
    );
    tree.write("a.rs", "impl Sink for Queue {\n    fn push() {}\n}\nimpl Stack {\n    fn push() {}\n}\n");
    let lines = |path: &str, symbol: &str| {
        let response = read(&workspace, ReadRequest::new(path).symbol(symbol));
        (response.start_line, response.end_line, response.further.len())
    };
    assert_eq!(lines("a.py", "A.f"), (4, 4, 0));
    assert_eq!(lines("a.py", "A.B.f"), (3, 3, 0));
    let shown = text(&workspace, json!({"path": "a.py", "symbol": "A.f"}));
    assert_eq!(line_with(&shown, "may also mean"), "[`A.f` may also mean def in B (3-3)]");
    for (symbol, line) in
        [("(*Queue).Push", 3), ("(*Queue).Push()", 3), ("(Stack).Push", 4), ("Stack[K].Push", 4)]
    {
        assert_eq!(lines("a.go", symbol), (line, line, 0), "{symbol}");
    }
    for (symbol, line) in [("<Queue as Sink>::push", 2), ("<Stack>::push", 5), ("Stack::push", 5)] {
        assert_eq!(lines("a.rs", symbol), (line, line, 0), "{symbol}");
    }
}

#[test]
fn a_field_is_read_by_its_name() {
    let (tree, workspace) = tree();
    tree.write(
        "A.java",
        "class A {\n    int size;\n\n    int size() { return size; }\n    String name;\n}\n",
    );
    let lines = |symbol: &str| {
        let response = read(&workspace, ReadRequest::new("A.java").symbol(symbol));
        (response.start_line, response.end_line, response.further.len())
    };
    assert_eq!(lines("name"), (5, 5, 0));
    assert_eq!(lines("A.name"), (5, 5, 0));
    // A method comes before a field of the same name.
    assert_eq!(lines("size"), (4, 4, 0));
    insta::assert_snapshot!(refusal(&workspace, "read_file", json!({"path": "A.java", "symbol": "B.name"})));
}

/// A definition that was not found may exist nevertheless.
#[test]
fn a_missing_definition_says_how_the_file_was_read() {
    let (tree, workspace) = tree();
    tree.write("legacy.nim", "proc greet(name: string) =\n  echo name\n");
    tree.write("damaged.rs", "fn first() {\n    let x = ;;; )) (\n}\n");
    let requests =
        ["legacy.nim", "damaged.rs", "src/queue.rs"].map(|path| json!({"path": path, "symbol": "absent"}));
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests));
}

/// All definitions of a file may have the same name, or the requested name may be unlike any other.
#[test]
fn a_file_of_very_many_definitions_is_answered_soon() {
    let (tree, workspace) = tree();
    tree.write("many.h", "#define A 1\n".repeat(300_000));
    tree.write("many.py", format!("class A:\n{}", "    def b(self): pass\n".repeat(200_000)));
    let began = std::time::Instant::now();
    let header = read(&workspace, ReadRequest::new("many.h").outline(true));
    assert_eq!((header.outline.len(), header.outline[7].end_line), (100_000, 8));
    // The file is only read once for all names, and there is a limit on these.
    let names = |count| (0..count).map(|index| format!("s{index}")).collect::<Vec<_>>().join(",");
    let requests = [
        json!({"path": "many.py", "symbol": "A.b"}),
        json!({"path": "many.h", "symbol": "x".repeat(20_000)}),
        json!({"path": "src/queue.rs", "symbol": names(100)}),
        json!({"path": "many.h", "symbol": names(5_000)}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests));
    // This would take minutes if we compared each definition with all others.
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn an_outline_hides_the_secrets_of_the_lines_that_it_shows() {
    let (tree, workspace) = tree();
    tree.write("keys.py", "TOKEN = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n");
    let response = workspace.read(ReadRequest::new("keys.py").outline(true)).unwrap();
    assert_eq!(response.response.outline[0].text, "TOKEN = \"[redacted:github-token]\"");
}
