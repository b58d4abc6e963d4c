//! `grep_search` for the impact of a definition or of a change.

use serde_json::{Value, json};

use super::support::{Tree, answer, refusal};

/// Returns the edges of an impact: step, line of the use, user, used definition, reason.
fn edges(tree: &Tree, request: &Value) -> Vec<String> {
    let mut request = request.clone();
    request["output"] = json!("impact");
    let records = answer(&tree.workspace(), "grep_search", request).records().clone();
    let edge = |edge: &Value| {
        let user = edge["within"]["symbol"].as_str().unwrap_or("-");
        let (path, line) = (edge["path"].as_str().unwrap(), &edge["lines"][0]);
        format!(
            "{} {path}:{line} {user} -> {} ({})",
            edge["step"],
            edge["used"].as_str().unwrap(),
            edge["reason"].as_str().unwrap()
        )
    };
    records["impact"]["edges"].as_array().unwrap().iter().map(edge).collect()
}

fn python() -> Tree {
    let tree = Tree::new();
    tree.write("app/__init__.py", "");
    tree.write("app/core.py", "def purge(n):\n    return purge(n - 1)\n\n\ndef local():\n    purge(1)\n");
    tree.write(
        "app/run.py",
        "from app.core import purge\n\n\nclass Runner:\n    def go_on(self):\n        purge(2)\n",
    );
    tree.write("app/main.py", "from .run import Runner\n\n\ndef start():\n    Runner().go_on()\n");
    tree.write("app/other.py", "import os\nfrom .core import purge\n\n\ndef shadow(purge):\n    purge(3)\n\n\ndef member(pool):\n    pool.purge()\n");
    tree.write("app/both.py", "from .core import purge\n");
    tree.write(
        "tests/test_run.py",
        "from app.run import Runner\n\n\nclass TestRunner:\n    def test_go(self):\n        Runner().go_on()\n",
    );
    tree
}

#[test]
fn impact_has_two_steps_with_reasons_and_tests() {
    let tree = python();
    let text =
        answer(&tree.workspace(), "grep_search", json!({ "pattern": "purge", "output": "impact" })).text;
    let expected = "\
Impact of `purge`: 2 definitions use it, 2 in a second step. Names are compared, not resolved; each line ends with the reason to believe it.

1 definition:
app/core.py:1-2 def purge

used by (2):
app/core.py:6 def local (same file)
app/run.py:6 def Runner > go_on (import seen)

these are used by (2):
app/main.py:5 def start -> Runner > go_on (only definition)
tests/test_run.py:6 def TestRunner > test_go -> Runner > go_on (only definition)

only imported: app/both.py

name only, may mean another definition (2 lines):
app/other.py: 6, 10

tests that reach it (1):
tests/test_run.py::TestRunner::test_go

[searched 7 files]";
    assert_eq!(text.trim_end(), expected);
}

/// Each of these looks like a use of the name, but is not or may not be one.
#[test]
fn impact_claims_no_edge_by_the_name_alone() {
    let tree = Tree::new();
    tree.write("src/core.ts", "export function label(a: string) {\n  return a;\n}\n");
    tree.write(
        "src/user.ts",
        "import { label } from './core';\n\nfunction direct() {\n  return label('a');\n}\n\nfunction key() {\n  return { label: 1 };\n}\n\n\
         function parameter(label: () => void) {\n  label();\n}\n\nfunction local() {\n  const label = () => 1;\n  return label();\n}\n",
    );
    tree.write(
        "src/other.ts",
        "import { label } from 'library';\n\nfunction foreign() {\n  return label('a');\n}\n",
    );
    tree.write("src/none.ts", "function missing() {\n  return label('a');\n}\n");
    tree.write(
        "src/member.ts",
        "import { api } from './api';\n\nfunction member() {\n  return api.label('a');\n}\n",
    );
    tree.write(
        "src/module.ts",
        "import * as core from './core';\n\nfunction whole() {\n  return core.label('a');\n}\n",
    );
    let found = edges(&tree, &json!({ "pattern": "label", "path": "src/core.ts" }));
    let expected =
        ["1 src/module.ts:4 whole -> label (import seen)", "1 src/user.ts:4 direct -> label (import seen)"];
    assert_eq!(found, expected);
}

#[test]
fn impact_tells_definitions_of_one_name_apart() {
    let tree = Tree::new();
    tree.write(
        "src/pool.rs",
        "pub struct Pool;\n\nimpl Pool {\n    pub fn make() -> Self {\n        Pool\n    }\n\n    fn refill(&self) {\n        Self::make();\n    }\n}\n\n\
         #[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn makes_pools() {\n        Pool::make();\n    }\n}\n",
    );
    tree.write("src/lib.rs", "mod pool;\nmod queue;\n\npub fn pools() {\n    pool::Pool::make();\n}\n");
    tree.write(
        "src/queue.rs",
        "use crate::pool::Pool;\n\nstruct Queue;\n\nimpl Queue {\n    fn make() {}\n}\n\nfn both(x: X) {\n    Pool::make();\n    Queue::make();\n    x.make();\n}\n",
    );
    let found = edges(&tree, &json!({ "pattern": "Pool::make" }));
    let expected = [
        "1 src/lib.rs:5 pools -> Pool > make (only definition)",
        "1 src/pool.rs:9 Pool > refill -> Pool > make (same file)",
        "1 src/queue.rs:10 both -> Pool > make (import seen)",
        "1 src/pool.rs:19 tests > makes_pools -> Pool > make (same file)",
    ];
    assert_eq!(found, expected);
    // The path chooses the definition, and the uses are those of all files.
    let queue = edges(&tree, &json!({ "pattern": "make", "path": "src/queue.rs" }));
    assert_eq!(queue, ["1 src/queue.rs:11 both -> Queue > make (same file)"]);
    let text =
        answer(&tree.workspace(), "grep_search", json!({ "pattern": "Pool::make", "output": "impact" })).text;
    assert!(text.contains("\ntests that reach it (1):\nsrc/pool.rs: pool::tests::makes_pools\n"), "{text}");
}

/// The type of a receiver is that of its annotation or of the call that constructs it.
#[test]
fn impact_reads_the_types_of_receivers() {
    let tree = Tree::new();
    tree.write("a/__init__.py", "");
    let class = |name: &str| format!("class {name}:\n    def take(self):\n        pass\n\n\n");
    tree.write("a/pool.py", class("Pool") + &class("Other"));
    tree.write(
        "a/user.py",
        "from .pool import Other, Pool\n\n\ndef annotated(pool: Pool):\n    pool.take()\n\n\n\
         def made():\n    with Pool(\n        1,\n    ) as pool:\n        pool.take()\n\n\n\
         def either(pool):\n    pool.take()\n\n\n\
         class Holder:\n    def __init__(self):\n        self.pool = Pool()\n\n    def use(self):\n        self.pool.take()\n\n\n\
         def other():\n    pool = Other()\n    pool.take()\n",
    );
    let expected = [
        "1 a/user.py:5 annotated -> Pool > take (type seen)",
        "1 a/user.py:12 made -> Pool > take (type seen)",
        "1 a/user.py:24 Holder > use -> Pool > take (type seen)",
    ];
    assert_eq!(edges(&tree, &json!({ "pattern": "Pool.take" })), expected);
}

/// A module may pass on a name that it imports, and an object may have a field with the name of a method.
#[test]
fn impact_of_names_that_are_passed_on_or_assigned() {
    let tree = Tree::new();
    tree.write("src/core.ts", "export function label(a: string) {\n  return a;\n}\n");
    tree.write("src/internal.ts", "export * from './core';\n");
    tree.write(
        "src/user.ts",
        "import { label } from './internal';\n\nfunction through() {\n  return label('a');\n}\n",
    );
    let found = edges(&tree, &json!({ "pattern": "label", "path": "src/core.ts" }));
    assert_eq!(found, ["1 src/user.ts:4 through -> label (import seen)"]);
    tree.write("a.py", "class Shape:\n    def edges_of(self):\n        pass\n");
    tree.write("b.py", "def count(shape):\n    return shape.edges_of()\n");
    assert_eq!(
        edges(&tree, &json!({ "pattern": "edges_of" })),
        ["1 b.py:2 count -> Shape > edges_of (only definition)"]
    );
    tree.write("c.py", "class Graph:\n    def __init__(self):\n        self.edges_of = {}\n");
    assert_eq!(edges(&tree, &json!({ "pattern": "edges_of" })), [""; 0]);
}

#[test]
fn impact_in_packages_of_go() {
    let tree = Tree::new();
    tree.write("go.mod", "module example.org/x\n");
    tree.write("util/a.go", "package util\n\nfunc Trim() {}\n");
    tree.write("util/b.go", "package util\n\nfunc near() {\n\tTrim()\n}\n");
    tree.write("util/a_test.go", "package util\n\nfunc TestTrim(t *testing.T) {\n\tTrim()\n}\n");
    tree.write(
        "cmd/c.go",
        "package main\n\nimport \"example.org/x/util\"\n\nfunc far() {\n\tutil.Trim()\n}\n",
    );
    tree.write("cmd/d.go", "package main\n\nimport \"strings\"\n\nfunc other() {\n\tstrings.Trim()\n}\n");
    let found = edges(&tree, &json!({ "pattern": "Trim" }));
    let expected = [
        "1 cmd/c.go:6 far -> Trim (import seen)",
        "1 util/b.go:4 near -> Trim (same package)",
        "1 util/a_test.go:4 TestTrim -> Trim (same package)",
    ];
    assert_eq!(found, expected);
    let text =
        answer(&tree.workspace(), "grep_search", json!({ "pattern": "Trim", "output": "impact" })).text;
    assert!(text.contains("\nutil/a_test.go: TestTrim\n"), "{text}");
}

/// A removed definition still has users.
#[cfg(unix)]
#[test]
fn impact_of_a_change() {
    let tree = Tree::new();
    tree.write("a/__init__.py", "");
    tree.write(
        "a/core.py",
        "def kept():\n    return 1\n\n\ndef edited():\n    return 2\n\n\ndef removed():\n    return 3\n",
    );
    tree.write(
        "a/user.py",
        "from a.core import edited, kept, removed\n\n\ndef one():\n    kept()\n\n\ndef two():\n    edited()\n\n\ndef three():\n    removed()\n",
    );
    tree.write("tests/test_a.py", "def test_old():\n    assert 1\n");
    tree.commit("Start");
    tree.write("a/core.py", "def kept():\n    return 1\n\n\ndef edited():\n    return 4\n");
    tree.write("tests/test_a.py", "def test_old():\n    assert 2\n");
    let request = json!({ "pattern": "", "changed": "HEAD" });
    let expected =
        ["1 a/user.py:9 two -> edited (import seen)", "1 a/user.py:13 three -> removed (import seen)"];
    assert_eq!(edges(&tree, &request), expected);
    let text = answer(
        &tree.workspace(),
        "grep_search",
        json!({ "pattern": "", "changed": "HEAD", "output": "impact" }),
    )
    .text;
    assert!(text.starts_with("Impact of the change: 2 definitions use it."), "{text}");
    assert!(
        text.contains("a/core.py:5-6 def edited (changed)\na/core.py:9-10 def removed (removed)\n"),
        "{text}"
    );
    assert!(text.contains("\ntests that reach it (1):\ntests/test_a.py::test_old\n"), "{text}");
}

/// Nothing that is left out goes without its name or its number.
#[test]
fn impact_names_what_it_leaves_out() {
    let tree = Tree::new();
    let users: String = (0..50).map(|index| format!("def user_{index:02}():\n    base()\n\n\n")).collect();
    tree.write(
        "a.py",
        format!("def base():\n    pass\n\n\n{users}def last():\n    user_00()\n    user_49()\n"),
    );
    let request = json!({ "pattern": "base", "output": "impact", "max_results": 3 });
    let text = answer(&tree.workspace(), "grep_search", request).text;
    assert!(text.contains("\nused by (3 of 50):\na.py:6 def user_00 (same file)\n"), "{text}");
    assert!(text.contains("\nnot followed (10 definitions): user_40, user_41,"), "{text}");
    assert!(
        text.contains("[48 edges more; set max_results, or name the file of the definition in path"),
        "{text}"
    );
    let all = edges(&tree, &json!({ "pattern": "base", "max_results": 100 }));
    assert_eq!(all.len(), 51);
    assert_eq!(all[50], "2 a.py:206 last -> user_00 (same file)");
}

#[test]
fn impact_of_nothing_and_refusals() {
    let tree = python();
    let nothing =
        answer(&tree.workspace(), "grep_search", json!({ "pattern": "absent", "output": "impact" }));
    assert!(!nothing.found);
    let expected = "Impact of `absent`: no definition was found in the searched files.\n";
    assert!(nothing.text.starts_with(expected), "{}", nothing.text);
    for argument in ["file_pattern", "cursor"] {
        let request = json!({ "pattern": "purge", "output": "impact", argument: "x" });
        let text = refusal(&tree.workspace(), "grep_search", request);
        assert!(text.contains("an impact searches all files"), "{text}");
    }
}
