//! `dep:NAME` reads the sources of a package that the project depends on, and nothing else outside of the root.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forage_tools::{DependencyStores, Workspace};
use serde_json::json;

use crate::support::{CANARY, Tree, answer, call, line_with, refusal};

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
    let manifest = "[package]\nname = \"tower\"\n";
    write(&tree.outside().join("cargo/git/checkouts/tower-9f/0123456/tower/Cargo.toml"), manifest);
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
    insta::assert_snapshot!("other-version", line_with(&grep.text, "also has"));
    let read = answer(&workspace, "read_file", json!({"path": shown, "symbol": "HeaderMap"}));
    assert_eq!(read.records()["lines"][0], "pub struct HeaderMap<T> {");
    let range = answer(&workspace, "read_file", json!({"path": format!("{shown}:3")}));
    assert_eq!(range.records()["start_line"], 3);
    let older = answer(&workspace, "read_file", json!({"path": "dep:http@0.2/src/header/map.rs"}));
    assert_eq!(older.records()["lines"][0], "//! Version 0.2.12.");
    let list = answer(&workspace, "list_directory", json!({"path": "dep:http/src", "recursive": true}));
    insta::assert_snapshot!("listed-dependency", list.text);
    let ranked =
        answer(&workspace, "search_index", json!({"query": "HeaderMap entries", "path": "dep:http"}));
    assert_eq!(ranked.records()["files"][0]["path"], shown);
    let search = answer(&workspace, "Search", json!({"pattern": "HeaderMap", "path": "dep:http@1.3.1"}));
    assert_eq!(search.records()["matches"][0]["data"]["path"]["text"], shown);
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

/// Returns the path of the first file with a match.
fn first(workspace: &Workspace, pattern: &str, path: &str) -> String {
    let grep = answer(workspace, "grep_search", json!({"pattern": pattern, "path": path}));
    grep.records()["files"][0]["path"].as_str().unwrap_or_else(|| panic!("{path}: {}", grep.text)).to_owned()
}

/// Formats an entry of `Cargo.lock`.
fn locked(name: &str, version: &str, source: &str) -> String {
    format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n\n")
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn the_version_that_the_project_uses_is_chosen() {
    let tree = cargo();
    let own = "[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"http 0.2.12\",\n \"gone 1.0.0\",\n]\n\n";
    let locked = [("http", "0.2.12"), ("http", "1.3.1"), ("gone", "1.0.0"), ("gone", "2.0.0")]
        .map(|(name, version)| locked(name, version, CRATES_IO));
    tree.write("Cargo.lock", own.to_owned() + &locked.concat());
    write(&tree.outside().join("cargo/registry/src/index-1/gone-2.0.0/src/lib.rs"), "fn gone() {}\n");
    tree.write("node_modules/left/package.json", r#"{"version": "1.0.0"}"#);
    tree.write("node_modules/left/index.js", "function pad() {}\n");
    tree.write("node_modules/other/node_modules/left/package.json", r#"{"version": "2.0.0"}"#);
    tree.write("package-lock.json", r#"{"packages": {"node_modules/other/node_modules/left": {}}}"#);
    for (site, version) in [
        (tree.root().join(".venv/lib/python3.12/site-packages"), "1.0.0"),
        (tree.outside().join("python/lib/python3.12/site-packages"), "2.0.0"),
    ] {
        write(&site.join(format!("six-{version}.dist-info/RECORD")), "six.py,,\n");
        write(&site.join("six.py"), "def b(text): pass\n");
    }
    let workspace = workspace(&tree);
    assert_eq!(first(&workspace, "struct", "dep:http"), "dep:http@0.2.12/src/header/map.rs");
    assert_eq!(first(&workspace, "struct", "dep:http@1"), "dep:http@1.3.1/src/header/map.rs");
    assert_eq!(first(&workspace, "function", "dep:left"), "dep:left@1.0.0/index.js");
    assert_eq!(first(&workspace, "def", "dep:six"), "dep:six@1.0.0/six.py");
    // If it is missing, another version is not taken instead.
    let refused = refusal(&workspace, "read_file", json!({"path": "dep:gone/src/lib.rs"}));
    insta::assert_snapshot!(refused, @"`path`: gone 1.0.0 is in Cargo.lock, but its sources are not on this disk; `cargo fetch` downloads them; `Cargo.lock` also has 2.0.0; dep:gone@VERSION chooses one");
    assert_eq!(first(&workspace, "fn", "dep:gone@2"), "dep:gone@2.0.0/src/lib.rs");
}

/// Two registries may have different packages of the same name and version.
#[test]
fn a_crate_is_taken_from_its_own_registry() {
    let tree = Tree::new();
    let company = "sparse+https://crates.example.org/index/";
    tree.write("Cargo.lock", locked("util", "1.0.0", CRATES_IO) + &locked("inner", "1.0.0", company));
    let registries = tree.outside().join("cargo/registry/src");
    for registry in ["crates.example.org-0a", "index.crates.io-1949cf8c6b5b557f", "zzz.example.org-0b"] {
        for name in ["util", "inner"] {
            let text = format!("fn of_{}() {{}}\n", &registry[..3]);
            write(&registries.join(registry).join(format!("{name}-1.0.0/lib.rs")), &text);
        }
    }
    let workspace = workspace(&tree);
    first(&workspace, "of_ind", "dep:util");
    first(&workspace, "of_cra", "dep:inner");
}

/// The directory of a vendored package need not have the version that the lock names.
#[test]
fn a_vendored_crate_has_the_name_and_version_of_the_lock() {
    let tree = Tree::new();
    tree.write("Cargo.lock", locked("http", "0.2.12", CRATES_IO) + &locked("http", "1.3.1", CRATES_IO));
    let manifest =
        "[package]\nname = \"http\"\nversion = \"1.3.1\"\n\n[dependencies.old]\nversion = \"0.2.12\"\n";
    tree.write("vendor/http/Cargo.toml", manifest);
    tree.write("vendor/http/src/lib.rs", "fn newer() {}\n");
    let workspace = workspace(&tree);
    assert_eq!(first(&workspace, "newer", "dep:http@1"), "dep:http@1.3.1/src/lib.rs");
    let refused = refusal(&workspace, "read_file", json!({"path": "dep:http@0.2/src/lib.rs"}));
    insta::assert_snapshot!(refused);
}

/// A lock file of a hostile repository must not open what it can't name.
#[test]
fn hostile_sources_open_no_other_directory_of_a_store() {
    let tree = cargo();
    let sources = [
        "git+https://example.org/tower#",
        "git+https://example.org/tower#*",
        "git+https://example.org/tower#0*",
        "git+https://example.org/tower#012345*/tower",
        "git+https://example.org/other#0123456789abcdef0123456789abcdef01234567",
        "git+https://example.org/*#0123456789abcdef0123456789abcdef01234567",
        "git+#0123456789abcdef0123456789abcdef01234567",
    ];
    let names: Vec<String> = (0..sources.len()).map(|at| format!("evil{at}")).collect();
    let lock: String =
        names.iter().zip(sources).map(|(name, source)| locked(name, "1.0.0", source)).collect();
    tree.write("Cargo.lock", lock);
    let modules = tree.outside().join("go/pkg/mod");
    write(&modules.join("cache/download/a.org/private/@v/list"), CANARY);
    write(&modules.join("a.org/private@v1.0.0/a.go"), &format!("func A() {{}} // {CANARY}\n"));
    write(&tree.outside().join("sibling/a.go"), CANARY);
    tree.write("lib/a.go", "func Own() {}\n");
    let outside = tree.outside().display().to_string();
    let replaced = [
        ("cache.org/a", "cache/download/a.org/private/ v".to_owned()),
        ("wild.org/a", "a.org/* v1.0.0".to_owned()),
        ("up.org/a", "../outside/sibling".to_owned()),
        ("absolute.org/a", format!("{outside}/sibling")),
    ];
    let mut list =
        String::from("module m\nrequire other.org/a v1.2.0\nreplace other.org/a v1.0.0 => ./lib\n");
    for (module, target) in &replaced {
        list += &format!("require {module} v1.0.0\nreplace {module} => {target}\n");
    }
    tree.write("go.mod", list);
    let workspace = workspace(&tree);
    let modules = replaced.iter().map(|(module, _)| (*module).to_owned());
    // A replacement of another version does not apply.
    for name in names.into_iter().chain(modules).chain(["other.org/a".to_owned()]) {
        let text = refusal(&workspace, "grep_search", json!({"path": format!("dep:{name}"), "pattern": "."}));
        assert!(!text.contains(CANARY), "{name}: {text}");
        let is_explained = text.contains("not on this disk") || text.contains("outside of the root");
        assert!(is_explained && !text.contains(&outside), "{name}: {text}");
    }
}

/// Several distributions share a namespace, and a single module shares its directory with all others.
#[test]
fn a_python_distribution_does_not_open_others() {
    let tree = Tree::new();
    tree.write("pyproject.toml", "[project]\n");
    let site = tree.outside().join("python/lib/python3.12/site-packages");
    let storage = "google/cloud/storage/__init__.py,,\ngoogle/cloud/storage/blob.py,,\n";
    write(&site.join("google_cloud_storage-2.0.0.dist-info/RECORD"), storage);
    write(&site.join("google/cloud/storage/blob.py"), "class Blob: pass\n");
    write(&site.join("google_auth-1.0.0.dist-info/RECORD"), "google/auth/__init__.py,,\n");
    write(&site.join("google/auth/__init__.py"), "class Auth: pass\n");
    write(&site.join("dotty-1.0.0.dist-info/RECORD"), "./dotty.py,,\n");
    write(&site.join("six-1.16.0.dist-info/RECORD"), "six.py,,\n");
    let code = "def b(text):\n    return [text, text + text, len(text), text.encode('latin-1')]\n";
    write(&site.join("six.py"), code);
    write(&site.join("other.py"), code);
    let workspace = workspace(&tree);
    let classes = |path: &str| first(&workspace, "class", path);
    assert_eq!(classes("dep:google-cloud-storage"), "dep:google-cloud-storage@2.0.0/blob.py");
    assert_eq!(classes("dep:google_auth"), "dep:google_auth@1.0.0/__init__.py");
    for path in ["dep:google", "dep:dotty", "dep:."] {
        refusal(&workspace, "grep_search", json!({"path": path, "pattern": "class"}));
    }
    let like = |place: &str| json!({"path": "dep:six", "like": format!("{place}:1-2")});
    assert!(call(&workspace, "search_index", like("dep:six/six.py")).is_ok());
    for place in [site.join("other.py").display().to_string(), "dep:six/other.py".to_owned()] {
        let refused = refusal(&workspace, "search_index", like(&place));
        assert!(refused.starts_with("`like`: "), "{refused}");
    }
}

/// An installation may be older than the lock file.
#[test]
fn the_installed_version_is_named() {
    let tree = Tree::new();
    tree.write("composer.lock", r#"{"packages": [{"name": "monolog/monolog", "version": "3.5.0"}]}"#);
    let installed = r#"{"packages": [{"name": "monolog/monolog", "version": "3.4.0"}]}"#;
    tree.write("vendor/composer/installed.json", installed);
    tree.write("vendor/monolog/monolog/src/Logger.php", "<?php\nfunction log() {}\n");
    tree.write("mix.lock", "%{\n  \"plug\": {:hex, :plug, \"1.16.0\", \"abc\"},\n}\n");
    tree.write(
        "deps/plug/hex_metadata.config",
        "{<<\"name\">>,<<\"plug\">>}.\n{<<\"version\">>,<<\"1.15.0\">>}.\n",
    );
    tree.write("deps/plug/lib/plug.ex", "def init, do: nil\n");
    tree.write("go.mod", "module m\nrequire a.org/x v1.2.0\n");
    tree.write("vendor/modules.txt", "# a.org/x v1.1.0\n## explicit\na.org/x\n");
    tree.write("vendor/a.org/x/x.go", "func X() {}\n");
    let workspace = workspace(&tree);
    for (path, shown) in [
        ("dep:monolog/monolog", "dep:monolog/monolog@3.4.0/src/Logger.php"),
        ("dep:plug", "dep:plug@1.15.0/lib/plug.ex"),
        ("dep:a.org/x", "dep:a.org/x@v1.1.0/x.go"),
    ] {
        assert_eq!(first(&workspace, "func|def", path), shown);
    }
}

/// A gem of the same name and version on a server is another one.
#[test]
fn gems_of_repositories_and_directories_are_not_taken_from_a_store() {
    let tree = Tree::new();
    tree.write(
        "Gemfile.lock",
        "GIT\n  remote: https://example.org/rack\n  specs:\n    rack (3.1.0)\n\nPATH\n  remote: own\n  specs:\n    own (1.0.0)\n\n\
         GEM\n  specs:\n    puma (6.0.0)\n",
    );
    for whole in ["rack-3.1.0", "own-1.0.0", "puma-6.0.0"] {
        write(&tree.outside().join(format!("gems/3.2.0/gems/{whole}/lib/a.rb")), "def call\nend\n");
    }
    let workspace = workspace(&tree);
    assert_eq!(first(&workspace, "def", "dep:puma"), "dep:puma@6.0.0/lib/a.rb");
    let refused = |path: &str| refusal(&workspace, "list_directory", json!({"path": path}));
    insta::assert_snapshot!(refused("dep:rack"), @"`path`: rack is not from a server of gems, and Forage finds only those");
    insta::assert_snapshot!(refused("dep:own"), @"`path`: own is a directory that Gemfile.lock names; search it");
}

#[test]
fn a_definition_of_a_dependency_is_named_like_others() {
    let tree = cargo();
    tree.write("src/own.rs", "pub struct OwnMap<T> {\n    entries: Vec<T>,\n}\n");
    let workspace = workspace(&tree);
    let place = "dep:http/src/header/map.rs#HeaderMap";
    let read = answer(&workspace, "read_file", json!({"path": place}));
    assert_eq!(read.records()["lines"][0], "pub struct HeaderMap<T> {");
    let similar = answer(&workspace, "search_index", json!({"like": place}));
    assert_eq!(similar.records()["similar"][0]["path"], "src/own.rs", "{}", similar.text);
}

#[test]
fn lists_of_packages_are_read_within_the_time_limit() {
    let tree = cargo();
    let mut workspace = workspace(&tree);
    workspace.limits.timeout = Duration::ZERO;
    let request = json!({"path": "dep:http/src/header/map.rs"});
    insta::assert_snapshot!(refusal(&workspace, "read_file", request.clone()), @"`path`: the time was over before all lists of packages were read");
    workspace.stop.cancel();
    assert_eq!(
        call(&workspace, "read_file", request).unwrap_err().to_string(),
        forage_tools::ToolError::Cancelled.to_string()
    );
}

#[test]
fn directories_without_a_look_are_mentioned() {
    let tree = Tree::new();
    for at in 0..510 {
        fs::create_dir(tree.root().join(format!("part{at}"))).unwrap();
    }
    tree.write("go.mod", "module m\n");
    let refused = refusal(&workspace(&tree), "read_file", json!({"path": "dep:a.org/x"}));
    insta::assert_snapshot!(refused, @"`path`: no dependency is called a.org/x in go.mod; Forage did not look for lists of packages in all of the many directories");
}

/// An error names a dependency by its name, and not by the user's directories.
#[test]
fn errors_about_a_dependency_do_not_name_its_store() {
    let tree = cargo();
    let refused =
        refusal(&workspace(&tree), "list_directory", json!({"path": "dep:http", "changed": "HEAD"}));
    insta::assert_snapshot!(refused);
}

/// A published package contains the lock file of its own development.
#[test]
fn the_lock_file_of_a_dependency_does_not_count() {
    let tree = Tree::new();
    tree.write("Cargo.lock", locked("first", "1.0.0", CRATES_IO) + &locked("second", "1.0.0", CRATES_IO));
    let registry = tree.outside().join("cargo/registry/src/index.crates.io-1949cf8c6b5b557f");
    let lock = locked("second", "2.0.0", CRATES_IO) + &locked("third", "1.0.0", CRATES_IO);
    write(&registry.join("first-1.0.0/Cargo.lock"), &lock);
    for whole in ["second-1.0.0", "second-2.0.0", "third-1.0.0"] {
        write(&registry.join(whole).join("src/lib.rs"), "fn here() {}\n");
    }
    let call = workspace(&tree).start_call().with_dependency(Some("dep:first")).unwrap().unwrap();
    let request = json!({"pattern": "here", "path": "dep:second"});
    let found = forage_tools::registry::find("grep_search").unwrap().call(&call, request).unwrap();
    assert_eq!(found.records()["files"][0]["path"], "dep:second@1.0.0/src/lib.rs");
    assert!(call.with_dependency(Some("dep:third")).is_err());
}
