//! Checks the direction of dependencies. The rules are in `bans.deny` of `deny.toml`, and we compare them
//! with cargo's own graph.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cargo::Workspace;

/// The prefix of this workspace's library crates. Each of them must have a rule.
const HOUSE: &str = "forage-";

/// The products. No crate depends on them, so they have no rule.
const PRODUCTS: [&str; 3] = ["forage-cli", "forage-python", "forage-node"];

/// The crates that may directly depend on each crate.
type Rules = BTreeMap<String, BTreeSet<String>>;

/// All direct dependencies in the graph, as (dependent, dependency).
type Edges = BTreeSet<(String, String)>;

#[test]
fn dependencies_follow_the_rules() {
    let workspace = Workspace::from_manifest_dir();
    let rules = rules(&workspace.read("deny.toml").unwrap()).unwrap();
    let (members, edges) = graph(&workspace.metadata("--locked").unwrap()).unwrap();
    let violations = violations(&rules, &members, &edges);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    println!("    {} rules hold for {} dependencies", rules.len(), edges.len());
}

fn rules(text: &str) -> Result<Rules> {
    let file: toml::Table = text.parse()?;
    let banned = file.get("bans").and_then(|bans| bans.get("deny")).and_then(toml::Value::as_array);
    let banned = banned.context("deny.toml has no bans.deny")?;
    let rule = |entry: &toml::Value| {
        let name = entry.get("crate")?.as_str()?;
        let wrappers = entry.get("wrappers")?.as_array()?;
        Some((name.to_owned(), wrappers.iter().filter_map(|w| w.as_str().map(str::to_owned)).collect()))
    };
    banned
        .iter()
        .map(|entry| rule(entry).with_context(|| format!("deny.toml: no `crate` or `wrappers` in {entry:?}")))
        .collect()
}

/// Extracts the names of the workspace's members, and the resolved dependencies of all packages.
fn graph(metadata: &Value) -> Option<(BTreeSet<String>, Edges)> {
    let packages = metadata["packages"].as_array()?;
    let names: BTreeMap<&str, &str> = packages
        .iter()
        .map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect::<Option<_>>()?;
    let name = |id: &Value| Some((*names.get(id.as_str()?)?).to_owned());
    let members = metadata["workspace_members"].as_array()?.iter().map(name).collect::<Option<_>>()?;
    let mut edges = Edges::new();
    for node in metadata["resolve"]["nodes"].as_array()? {
        for dependency in node["deps"].as_array()? {
            edges.insert((name(&node["id"])?, name(&dependency["pkg"])?));
        }
    }
    Some((members, edges))
}

fn violations(rules: &Rules, members: &BTreeSet<String>, edges: &Edges) -> Vec<String> {
    let mut found = Vec::new();
    for member in
        members.iter().filter(|member| member.starts_with(HOUSE) && !PRODUCTS.contains(&member.as_str()))
    {
        if !rules.contains_key(member) {
            found.push(format!(
                "{member} has no rule in deny.toml; add one that lists the crates that may depend on it"
            ));
        }
    }
    for (who, product) in edges.iter().filter(|(_, on)| PRODUCTS.contains(&on.as_str())) {
        found.push(format!("{who} depends on {product}, which is a product"));
    }
    for (name, wrappers) in rules {
        let dependents = || edges.iter().filter(|(_, on)| on == name).map(|(who, _)| who);
        if dependents().next().is_none() {
            found.push(format!("deny.toml has a rule for {name}, which nothing depends on"));
        }
        for who in dependents().filter(|who| !wrappers.contains(*who)) {
            let allowed: Vec<&str> = wrappers.iter().map(String::as_str).collect();
            found.push(format!(
                "{who} depends on {name}; deny.toml allows this only for {}",
                allowed.join(", ")
            ));
        }
    }
    found
}

const RULES: &str = r#"
    [bans]
    deny = [
      { crate = "forage-fs", wrappers = ["forage-search"] },
      { crate = "clap", wrappers = ["forage-cli"], reason = "why" },
    ]
"#;

fn found(rules_text: &str, nodes: &[(&str, &[&str])]) -> Vec<String> {
    let package = |(name, _): &(&str, &[&str])| json!({ "id": format!("id-{name}"), "name": name });
    let node = |(name, on): &(&str, &[&str])| {
        let deps: Vec<_> = on.iter().map(|on| json!({ "pkg": format!("id-{on}") })).collect();
        json!({ "id": format!("id-{name}"), "deps": deps })
    };
    let members: Vec<_> =
        nodes.iter().filter(|n| n.0.starts_with("forage")).map(|n| format!("id-{}", n.0)).collect();
    let metadata = json!({
        "packages": nodes.iter().map(package).collect::<Vec<_>>(),
        "workspace_members": members,
        "resolve": { "nodes": nodes.iter().map(node).collect::<Vec<_>>() },
    });
    let (members, edges) = graph(&metadata).unwrap();
    violations(&rules(rules_text).unwrap(), &members, &edges)
}

#[test]
fn allowed_dependencies_pass() {
    let nodes: &[(&str, &[&str])] = &[
        ("forage-cli", &["clap", "bstr"]),
        ("forage-search", &["forage-fs"]),
        ("forage-fs", &["bstr"]),
        ("clap", &[]),
        ("bstr", &[]),
    ];
    let rules = RULES
        .replace("{ crate = \"clap\"", "{ crate = \"forage-search\", wrappers = [] }, { crate = \"clap\"");
    let unused = "deny.toml has a rule for forage-search, which nothing depends on";
    assert_eq!(found(&rules, nodes), [unused]);
}

#[test]
fn a_dependency_that_points_back_is_named() {
    let nodes: &[(&str, &[&str])] =
        &[("forage-fs", &["clap"]), ("forage-cli", &["forage-fs", "clap"]), ("clap", &[])];
    let expected = [
        "forage-fs depends on clap; deny.toml allows this only for forage-cli",
        "forage-cli depends on forage-fs; deny.toml allows this only for forage-search",
    ];
    assert_eq!(found(RULES, nodes), expected);
}

#[test]
fn a_crate_of_the_house_without_a_rule_is_named() {
    let nodes: &[(&str, &[&str])] = &[
        ("forage-new", &[]),
        ("forage-search", &["forage-fs"]),
        ("forage-fs", &[]),
        ("forage-cli", &["clap"]),
        ("clap", &[]),
    ];
    let expected = ["forage-new", "forage-search"].map(|name| {
        format!("{name} has no rule in deny.toml; add one that lists the crates that may depend on it")
    });
    assert_eq!(found(RULES, nodes), expected);
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error() {
    assert!(rules("[bans]\ndeny = [{ name = \"x\" }]").is_err());
    assert!(rules("[licenses]").is_err());
}
