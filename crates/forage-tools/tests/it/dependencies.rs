//! `dep:NAME` reads the sources of a package that the project depends on, and nothing else outside of the root.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use forage_tools::{DependencyStores, Workspace};
use serde_json::json;

use crate::support::{CANARY, Tree, answer, refusal};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn workspace(tree: &Tree) -> Workspace {
    let below = |path: &str| Some(tree.outside().join(path));
    let stores = DependencyStores {
        cargo_registry: below("cargo/registry/src"),
        cargo_checkouts: below("cargo/git/checkouts"),
        go_modules: below("go/pkg/mod"),
        python_library: below("python/lib"),
        gems: vec![tree.outside().join("gems")],
    };
    let mut workspace = tree.workspace();
    workspace.dependencies = Some(Arc::new(stores));
    workspace
}

const CARGO_LOCK: &str = r#"version = 4

[[package]]
name = "app"
version = "0.1.0"
dependencies = ["http"]

[[package]]
name = "http"
version = "0.2.12"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "http"
version = "1.3.1"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "tower"
version = "0.5.0"
source = "git+https://example.org/tower#0123456789abcdef0123456789abcdef01234567"

[[package]]
name = "absent"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "evil"
version = "../../../../root"
source = "registry+https://github.com/rust-lang/crates.io-index"
"#;

fn cargo() -> Tree {
    let tree = Tree::new();
    tree.write("Cargo.lock", CARGO_LOCK);
    tree.write("src/main.rs", "use http::HeaderMap;\n");
    let registry = tree.outside().join("cargo/registry/src/index-1");
    for version in ["0.2.12", "1.3.1"] {
        let text = format!("//! Version {version}.\npub struct HeaderMap<T> {{\n    entries: Vec<T>,\n}}\n");
        write(&registry.join(format!("http-{version}/src/header/map.rs")), &text);
    }
    write(&registry.join("unrelated-1.0.0/src/lib.rs"), &format!("pub struct Unrelated; // {CANARY}\n"));
    write(&tree.outside().join("cargo/git/checkouts/tower-9f/0123456/tower/Cargo.toml"), "[package]\n");
    write(
        &tree.outside().join("cargo/git/checkouts/tower-9f/0123456/tower/src/lib.rs"),
        "pub trait Service {}\n",
    );
    write(&tree.outside().join("cargo/credentials.toml"), CANARY);
    tree
}

#[test]
fn each_tool_reads_a_dependency_and_its_paths_can_be_used_again() {
    let tree = cargo();
    let workspace = workspace(&tree);
    let shown = "dep:http@1.3.1/src/header/map.rs";
    let grep = answer(&workspace, "grep_search", json!({"pattern": "struct HeaderMap", "path": "dep:http"}));
    assert_eq!(grep.records()["files"][0]["path"], shown);
    assert!(
        grep.text.contains("`Cargo.lock` also has 0.2.12; dep:http@VERSION chooses one"),
        "{}",
        grep.text
    );
    let read = answer(&workspace, "read_file", json!({"path": shown, "symbol": "HeaderMap"}));
    assert_eq!(read.records()["lines"][1], "pub struct HeaderMap<T> {");
    let range = answer(&workspace, "read_file", json!({"path": format!("{shown}:3")}));
    assert_eq!(range.records()["start_line"], 3);
    let older = answer(&workspace, "read_file", json!({"path": "dep:http@0.2/src/header/map.rs"}));
    assert_eq!(older.records()["lines"][0], "//! Version 0.2.12.");
    let list = answer(&workspace, "list_directory", json!({"path": "dep:http/src", "recursive": true}));
    assert!(list.text.contains("map.rs"), "{}", list.text);
    let ranked =
        answer(&workspace, "search_index", json!({"query": "HeaderMap entries", "path": "dep:http"}));
    assert_eq!(ranked.records()["files"][0]["path"], shown);
    let search = answer(&workspace, "Search", json!({"pattern": "HeaderMap", "path": "dep:http@1.3.1"}));
    assert!(search.text.contains(shown), "{}", search.text);
    let globs =
        answer(&workspace, "grep_search", json!({"pattern": "HeaderMap", "path": "dep:http/**/map.rs"}));
    assert!(globs.found);
    let git = answer(&workspace, "grep_search", json!({"pattern": "trait", "path": "dep:tower"}));
    assert_eq!(git.records()["files"][0]["path"], "dep:tower@0.5.0/src/lib.rs");
}

#[test]
fn errors_say_what_is_missing() {
    let tree = cargo();
    let mut workspace = workspace(&tree);
    let refused = |workspace: &Workspace, path: &str| refusal(workspace, "read_file", json!({"path": path}));
    insta::assert_snapshot!(refused(&workspace, "dep:nothing"), @"`path`: no dependency is called nothing in Cargo.lock");
    insta::assert_snapshot!(refused(&workspace, "dep:absent"), @"`path`: absent 1.0.0 is in Cargo.lock, but its sources are not on this disk; `cargo fetch` downloads them");
    insta::assert_snapshot!(refused(&workspace, "dep:app"), @"`path`: app is a part of this project; search the project itself");
    insta::assert_snapshot!(refused(&workspace, "dep:"), @"`path`: give the name of a dependency, such as dep:serde");
    workspace.dependencies = None;
    insta::assert_snapshot!(refused(&workspace, "dep:http"), @"`path`: reading the sources of dependencies is turned off (`search.dependencies`)");
}

#[test]
fn a_dependency_opens_nothing_else_outside_of_the_root() {
    let tree = cargo();
    let workspace = workspace(&tree);
    let root = tree.root();
    fs::create_dir(root.join("node_modules")).unwrap();
    write(&tree.outside().join("package.json"), r#"{"version": "1.0.0"}"#);
    write(&tree.outside().join("index.js"), CANARY);
    tree.link(tree.outside(), "node_modules/linked");
    for path in [
        "dep:evil",
        "dep:linked",
        "dep:linked/index.js",
        "dep:http/../unrelated-1.0.0/src/lib.rs",
        "dep:http/../../../../credentials.toml",
        "dep:unrelated",
        "dep:unrelated-1.0.0",
        "dep:..",
        "dep:*",
        "dep:http@../unrelated-1.0.0",
        "dep:.bin",
    ] {
        for tool in ["read_file", "list_directory", "grep_search"] {
            let mut request = json!({"path": path});
            if tool == "grep_search" {
                request["pattern"] = json!(CANARY);
            }
            let text = refusal(&workspace, tool, request);
            assert!(!text.contains(CANARY), "{path}: {text}");
        }
    }
    // A file of the root with such a name is that file.
    #[cfg(unix)]
    {
        tree.write("dep:http", "a file of the root\n");
        let read = answer(&workspace, "read_file", json!({"path": "dep:http"}));
        assert_eq!(read.records()["lines"][0], "a file of the root");
    }
}

#[test]
fn packages_of_npm_are_found_in_every_layout() {
    let tree = Tree::new();
    tree.write("web/package.json", r#"{"dependencies": {"left": "1"}}"#);
    tree.write("web/node_modules/left/package.json", r#"{"version": "2.0.0"}"#);
    tree.write("web/node_modules/left/index.js", "function pad() {}\n");
    tree.write("web/node_modules/@scope/core/package.json", r#"{"version": "7.1.0"}"#);
    tree.write("web/node_modules/@scope/core/lib/a.js", "class Core {}\n");
    let nested = "web/node_modules/other/node_modules/left";
    tree.write(format!("{nested}/package.json"), r#"{"version": "1.0.0"}"#);
    tree.write(format!("{nested}/index.js"), "function oldPad() {}\n");
    tree.write("web/package-lock.json", r#"{"packages": {"node_modules/other/node_modules/left": {}}}"#);
    let pnpm = "web/node_modules/.pnpm/right@3.0.0/node_modules/right";
    tree.write(format!("{pnpm}/package.json"), r#"{"version": "3.0.0"}"#);
    tree.write(format!("{pnpm}/index.js"), "function right() {}\n");
    let workspace = workspace(&tree);
    let first = |path: &str| {
        let grep = answer(&workspace, "grep_search", json!({"pattern": "function|class", "path": path}));
        grep.records()["files"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(first("dep:left"), "dep:left@2.0.0/index.js");
    assert_eq!(first("dep:left@1"), "dep:left@1.0.0/index.js");
    assert_eq!(first("dep:@scope/core/lib"), "dep:@scope/core@7.1.0/lib/a.js");
    assert_eq!(first("dep:right"), "dep:right@3.0.0/index.js");
}

#[test]
fn packages_of_python_are_found_by_distribution_and_by_module() {
    let tree = Tree::new();
    tree.write("pyproject.toml", "[project]\n");
    let site = tree.outside().join("python/lib/python3.12/site-packages");
    let record = "yaml/__init__.py,sha256=x,1\nyaml/loader.py,,\n_yaml/__init__.py,,\nPyYAML-6.0.2.dist-info/RECORD,,\n";
    write(&site.join("PyYAML-6.0.2.dist-info/RECORD"), record);
    write(&site.join("yaml/__init__.py"), "def load(): pass\n");
    write(&site.join("six-1.16.0.dist-info/RECORD"), "six.py,sha256=x,1\n");
    write(&site.join("six.py"), "def b(text): pass\n");
    write(&site.join("secret.py"), CANARY);
    let workspace = workspace(&tree);
    for (path, shown) in [
        ("dep:pyyaml", "dep:pyyaml@6.0.2/__init__.py"),
        ("dep:yaml", "dep:yaml@6.0.2/__init__.py"),
        ("dep:six", "dep:six@1.16.0/six.py"),
        ("dep:six@1.16.0/six.py", "dep:six@1.16.0/six.py"),
    ] {
        let grep = answer(&workspace, "grep_search", json!({"pattern": "^def", "path": path}));
        assert_eq!(grep.records()["files"][0]["path"], shown);
    }
    let read = answer(&workspace, "read_file", json!({"path": "dep:six@1.16.0/six.py"}));
    assert_eq!(read.records()["lines"][0], "def b(text): pass");
    for path in ["secret.py", "six.py/../secret.py", "./secret.py", "*.py", "six.py/../yaml/__init__.py"] {
        for tool in ["read_file", "list_directory"] {
            let text = refusal(&workspace, tool, json!({"path": format!("dep:six/{path}")}));
            assert!(!text.contains(CANARY), "{path}: {text}");
        }
        refusal(&workspace, "grep_search", json!({"path": format!("dep:six/{path}"), "pattern": "."}));
    }
}

#[test]
fn packages_of_go_ruby_php_and_elixir_are_found() {
    let tree = Tree::new();
    tree.write("go.mod", "module m\nrequire (\n\tgithub.com/Azure/sdk v1.2.3\n\tlocal.org/x v0.0.0\n)\nreplace local.org/x => ./x\n");
    tree.write("x/x.go", "func X() {}\n");
    write(&tree.outside().join("go/pkg/mod/github.com/!azure/sdk@v1.2.3/a/a.go"), "func A() {}\n");
    tree.write("Gemfile.lock", "GEM\n  specs:\n    rack (3.1.0)\n      other (>= 1)\n");
    write(&tree.outside().join("gems/3.2.0/gems/rack-3.1.0/lib/rack.rb"), "def call\nend\n");
    tree.write("composer.lock", r#"{"packages": [{"name": "monolog/monolog", "version": "3.5.0"}]}"#);
    tree.write("vendor/monolog/monolog/src/Logger.php", "<?php\nfunction log() {}\n");
    tree.write("mix.lock", "%{\n  \"plug\": {:hex, :plug, \"1.16.0\", \"abc\"},\n}\n");
    tree.write("deps/plug/lib/plug.ex", "def init, do: nil\n");
    let workspace = workspace(&tree);
    for (path, shown) in [
        ("dep:github.com/Azure/sdk/a", "dep:github.com/Azure/sdk@v1.2.3/a/a.go"),
        ("dep:local.org/x", "dep:local.org/x/x.go"),
        ("dep:rack", "dep:rack@3.1.0/lib/rack.rb"),
        ("dep:monolog/monolog", "dep:monolog/monolog@3.5.0/src/Logger.php"),
        ("dep:plug", "dep:plug@1.16.0/lib/plug.ex"),
    ] {
        let grep = answer(&workspace, "grep_search", json!({"pattern": "func|def", "path": path}));
        assert_eq!(grep.records()["files"][0]["path"], shown);
    }
}

#[test]
fn a_search_without_matches_names_the_dependency_that_defines_the_name() {
    let tree = cargo();
    let mut workspace = workspace(&tree);
    fs::remove_file(tree.root().join("src/main.rs")).unwrap();
    for (pattern, output) in
        [("struct HeaderMap", "lines"), ("HeaderMap", "uses"), (r"\bHeaderMap\b", "files")]
    {
        let found = answer(&workspace, "grep_search", json!({"pattern": pattern, "output": output}));
        let places = ["dep:http@0.2.12/src/header/map.rs:2", "dep:http@1.3.1/src/header/map.rs:2"];
        assert_eq!(found.records()["not_searched"]["in_dependencies"], json!(places), "{pattern}");
    }
    let other = answer(&workspace, "grep_search", json!({"pattern": "Unrelated"}));
    assert!(other.records()["not_searched"].get("in_dependencies").is_none());
    workspace.dependencies = None;
    let off = answer(&workspace, "grep_search", json!({"pattern": "HeaderMap"}));
    assert!(off.records()["not_searched"].get("in_dependencies").is_none());
}
