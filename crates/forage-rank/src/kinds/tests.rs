use super::*;

/// Classifies a file among the paths of a project in which git tracks some directories.
fn kinds_in(paths: &[&str], tracked: Option<&[&str]>, path: &str) -> FileKinds {
    let signs: Vec<(&str, PathSigns)> = paths.iter().map(|path| (*path, path_signs(path))).collect();
    let doubtful = signs.iter().filter(|(_, signs)| signs.is_doubtful()).map(|(path, _)| *path);
    let count = |group| {
        let counts = |signs: &PathSigns| !signs.sure.is_secondary() && signs.has_group(group);
        signs.iter().filter(|(_, signs)| counts(signs)).count()
    };
    let counts = ShareGroup::ALL.map(|(group, _)| count(group));
    let tracks = |directory: &str| tracked.map(|tracked| tracked.contains(&directory));
    kinds(path, &ProjectEvidence::new(doubtful, counts, paths.len(), tracks))
}

#[test]
fn tracked_build_directory_holds_sources() {
    let paths = ["src/Build/Evaluator.cs", "dist/index.js", "deps/queue.c", "gen/main.go", "external/a.c"];
    let tracked = ["src/Build", "dist", "deps", "gen", "external"];
    for path in paths {
        assert!(!kinds_in(&paths, Some(&tracked), path).is_secondary(), "{path}");
        let untracked = kinds_in(&paths, Some(&[]), path);
        assert!(untracked.has(FileKind::Generated) || untracked.has(FileKind::Vendored), "{path}");
    }
    // Without a repository, we only know where a directory is.
    assert!(!kinds_in(&paths, None, "src/Build/Evaluator.cs").is_secondary());
    assert!(kinds_in(&paths, None, "dist/index.js").has(FileKind::Generated));
    assert!(kinds_in(&["src/gen/visit.rs"], None, "src/gen/visit.rs").has(FileKind::Generated));
}

#[test]
fn license_below_tracked_directory_says_whose_it_is() {
    let paths = [
        "deps/lua/COPYRIGHT",
        "deps/lua/src/lvm.c",
        "deps/queue.c",
        "dist/axios.js",
        "dist/axios.min.js",
        "LICENSE",
    ];
    let kinds = |path| kinds_in(&paths, Some(&["deps", "dist"]), path);
    assert!(kinds("deps/lua/src/lvm.c").has(FileKind::Vendored));
    assert!(!kinds("deps/queue.c").is_secondary());
    assert!(kinds("dist/axios.js").has(FileKind::Generated));
}

#[test]
fn directory_needs_every_doubtful_name_cleared() {
    let paths = ["src/build/gen/out.c"];
    assert!(kinds_in(&paths, Some(&["src/build"]), paths[0]).has(FileKind::Generated));
    assert!(!kinds_in(&paths, Some(&["src/build", "src/build/gen"]), paths[0]).is_secondary());
}

#[test]
fn fair_share_of_files_is_source() {
    let code: Vec<String> = (0..12).map(|index| format!("src/{index}.go")).collect();
    for (extension, other) in [("yaml", "yml"), ("less", "css"), ("html", "htm")] {
        let data = ["charts/a", "charts/b", "charts/c"].map(|name| format!("{name}.{extension}"));
        let own = format!("charts/own.{other}");
        let few: Vec<&str> = code.iter().chain(&data[..2]).map(String::as_str).collect();
        assert!(kinds_in(&few, None, &own).has(FileKind::Data), "{extension}");
        let many: Vec<&str> = code.iter().chain(&data).map(String::as_str).collect();
        assert!(!kinds_in(&many, None, &own).is_secondary(), "{extension}");
        // Files of tests don't count towards the share.
        let tests = ["tests/a", "tests/b", "tests/c"].map(|name| format!("{name}.{extension}"));
        let tested: Vec<&str> = code.iter().chain(&tests).map(String::as_str).collect();
        assert!(kinds_in(&tested, None, &own).has(FileKind::Data), "{extension}");
    }
    for path in ["db/schema.sql", "analysis.ipynb", "app/view.erb"] {
        assert!(!kinds_in(&["a.go"], None, path).is_secondary(), "{path}");
    }
}

#[test]
fn library_for_testing_has_tests_of_its_own() {
    let library = ["tokio-test/src/io.rs", "tokio-test/tests/io.rs"];
    assert!(!kinds_in(&library, None, library[0]).has(FileKind::Test));
    let tests = ["dts-test/ref.ts", "dts-test/watch.ts"];
    assert!(kinds_in(&tests, None, tests[0]).has(FileKind::Test));
}

#[test]
fn module_of_tests_is_known_by_its_name() {
    for path in ["src/tests.rs", "src/queue/tests.rs", "src/queue_tests.rs", "shop/tests.py", "src/Tests.rs"]
    {
        assert!(kinds_in(&[path], None, path).has(FileKind::Test), "{path}");
    }
    for path in ["src/attests.rs", "src/contests.py", "src/test.rs"] {
        assert!(!kinds_in(&[path], None, path).has(FileKind::Test), "{path}");
    }
}

#[test]
fn testing_directory_is_known_by_its_names() {
    for package in ["celery/contrib/testing", "testing"] {
        let paths = ["worker.py", "app.py"].map(|name| format!("{package}/{name}"));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(!kinds_in(&paths, None, paths[0]).has(FileKind::Test), "{package}");
    }
    let tests = ["testing/conftest.py", "testing/test_runner.py", "testing/helper.py"];
    assert!(kinds_in(&tests, None, "testing/helper.py").has(FileKind::Test));
    let numbered = ["t/t0001-init.sh", "t/lib-log.sh"];
    assert!(kinds_in(&numbered, None, "t/lib-log.sh").has(FileKind::Test));
    assert!(!kinds_in(&["t/shape.go"], None, "t/shape.go").has(FileKind::Test));
}

#[test]
fn completions_of_a_shell_may_be_what_it_is_about() {
    let of = |many: usize| -> Vec<String> {
        let completions = (0..many).map(|index| format!("share/completions/{index}.bash"));
        completions.chain((0..10).map(|index| format!("src/{index}.rs"))).collect()
    };
    let is_completion = |many| {
        let paths = of(many);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        kinds_in(&paths, None, paths[0]).has(FileKind::Completion)
    };
    assert!(is_completion(2) && !is_completion(10));
}

#[test]
fn rules_have_names_and_signs_in_lower_case() {
    for (index, rule) in PATH_RULES.iter().chain(EXTENSION_RULES).enumerate() {
        assert!(
            PATH_RULES.iter().chain(EXTENSION_RULES).skip(index + 1).all(|other| other.name != rule.name)
        );
    }
    let depends = |path: &str| path_signs(path).is_doubtful();
    assert!(depends("Build/a.c") && depends("BUILD/a.c") && !depends("builds/a.c"));
}
