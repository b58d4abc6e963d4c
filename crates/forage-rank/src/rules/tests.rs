use super::*;
use crate::kinds::{ProjectEvidence, kinds};

#[test]
fn rules_have_names_of_their_own_and_say_what_they_do() {
    for (index, rule) in RULES.iter().enumerate() {
        assert!(RULES[..index].iter().all(|other| other.name != rule.name), "{}", rule.name);
        assert!(!rule.about.is_empty() && rule.weight >= 0.0, "{}", rule.name);
        assert!(rule.effect == Effect::Adds || rule.weight <= 1.0, "{}", rule.name);
    }
    assert!(RuleWeights::default().get_mut("no such rule").is_none());
}

#[test]
fn eval_page_has_all_rules() {
    let page = include_str!("../../../../docs/eval.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split(" | ").collect())
        .filter(|row: &Vec<&str>| row.len() == 4 && row[0] != "rule")
        .collect();
    for rule in RULES {
        let lowers = if rule.effect == Effect::Lowers { "lowers by " } else { "" };
        let weight = format!("{lowers}{:?}", rule.weight);
        let row = rows.iter().find(|row| row[0].trim_matches('`') == rule.name);
        let row = row.unwrap_or_else(|| panic!("{}", rule.name));
        assert_eq!((row[1], row[3]), (weight.as_str(), rule.about), "{}", rule.name);
    }
    assert_eq!(rows.len(), RULES.len());
}

#[test]
fn what_lowers_takes_off_a_share() {
    let mut weights = RuleWeights([0.0; RULES.len()]);
    *weights.get_mut("file").unwrap() = 2.0;
    *weights.get_mut("test").unwrap() = 0.25;
    let mut values: Values = [0.0; RULES.len()];
    values[Id::File as usize] = 0.5;
    assert_eq!(weights.score(&values), 1.0);
    values[Id::Test as usize] = 1.0;
    assert_eq!(weights.score(&values), 0.75);
}

fn lowered(path: &str, asked: &[&str]) -> String {
    let mut values: Values = [0.0; RULES.len()];
    kind_values(kinds(path, &ProjectEvidence::default()), asked, &mut values);
    let named = RULES.iter().zip(values).filter(|(_, value)| *value > 0.0).map(|(rule, _)| rule.name);
    named.collect::<Vec<_>>().join(" ")
}

#[test]
fn paths_tell_what_a_file_is_for() {
    for (path, wanted) in [
        ("src/router.rs", ""),
        ("tests/router.rs", "test"),
        ("pkg/router_test.go", "test"),
        ("src/RouterTest.php", "test"),
        ("src/router.spec.ts", "test"),
        ("src/latest.rs", ""),
        ("examples/hello/main.go", "example"),
        ("README.md", "prose"),
        ("docs/guide.py", "prose"),
        ("package.json", "data"),
        ("vendor/zlib/inflate.c", "generated"),
        ("api/user.pb.go", "generated"),
        ("src/compat/old.py", "legacy"),
        ("src/LegacyClient.java", "legacy"),
        ("src/compatibility_check.rs", ""),
        ("src/internal/fields.py", "internal"),
        ("src/window.c", ""),
        ("types/index.d.ts", "declaration-only"),
        ("man/tool.1", "prose"),
        ("docs_src/router.py", "prose"),
        ("single_include/json.hpp", "generated"),
        ("include/json.hpp", ""),
        // The project may be written in a language that we don't know.
        ("modules/network.tf", ""),
        ("src/v1/client.rs", ""),
        ("topics/start.topic", "prose"),
        ("guide/intro.asc", "prose"),
        ("README.rdoc", "prose"),
        ("tool.8.in", "prose"),
        ("LGPL-2.1", ""),
        ("lua/manifest-5.3", ""),
        ("core/api/core.api", "generated"),
        ("lib/user.g.dart", "generated"),
        ("lib/User.g.swift", "generated"),
        ("schema.gen.go", "generated"),
        ("lib/mix/tasks/phx.gen.auth.ex", ""),
        ("lib/mix/tasks/phx.gen.ex", ""),
        ("src/Build.UnitTests/Parser.cs", "test"),
        ("src/UnitTests/Parser.cs", "test"),
        ("runtime-tests/node/index.ts", "test"),
        ("resolver-tests/src/lib.rs", "test"),
        ("src/jvmTest/kotlin/Buffer.kt", "test"),
        ("android-test/src/Activity.kt", "test"),
        ("src/_pytest/runner.py", ""),
        ("chainlint/and.expect", "test"),
        ("po/de.po", "data"),
        ("Strings.de.xlf", "data"),
        ("lib/l10n/app_de.arb", "data"),
        ("en.lproj/Main.strings", "data"),
        ("build/main.c", "generated"),
        ("src/build/main.c", ""),
    ] {
        assert_eq!(lowered(path, &[]), wanted, "{path}");
    }
    let of_test = |asked: &[&str]| {
        let mut values: Values = [0.0; RULES.len()];
        kind_values(kinds("tests/router.rs", &ProjectEvidence::default()), asked, &mut values);
        values[Id::Test as usize]
    };
    assert!(of_test(&["tests"]) < of_test(&["router"]) && of_test(&["tests"]) > 0.0);
}

#[test]
fn a_name_that_says_nothing_gives_way_to_its_directory() {
    for (path, whole) in [
        ("a/response/mod.rs", "response"),
        ("a/json_pointer.hpp", "jsonpointer"),
        ("pkg/web-socket/index.ts", "websocket"),
        ("http/__init__.py", "http"),
        ("Session.swift", "session"),
    ] {
        assert_eq!(PathWords::new(path).whole, whole);
    }
}
