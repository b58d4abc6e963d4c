//! The metadata for registries and bundles must match this program.

use std::path::{Path, PathBuf};

use serde_json::Value;

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(place(name)).unwrap()
}

fn read(name: &str) -> Value {
    serde_json::from_str(&text(&format!("packaging/{name}"))).unwrap()
}

/// The names must be those of our own packages, because `forage` belongs to others in every registry.
#[test]
fn names_and_versions_are_those_of_the_packages() {
    let (server, mcpb) = (read("server.json"), read("mcpb/manifest.json"));
    let npm: Value = serde_json::from_str(&text("crates/forage-node/package.json")).unwrap();
    let packages: Vec<(&str, &str)> = server["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["registryType"].as_str().unwrap(), package["identifier"].as_str().unwrap()))
        .collect();
    let expected = [("npm", "forage-search"), ("pypi", "forage-search"), ("cargo", env!("CARGO_PKG_NAME"))];
    assert_eq!(packages, expected);
    assert_eq!(env!("CARGO_PKG_NAME"), "forage-cli");
    assert_eq!(
        (npm["name"].as_str(), npm["mcpName"].as_str()),
        (Some("forage-search"), server["name"].as_str())
    );
    assert!(text("README.md").contains(&format!("mcp-name: {}", server["name"].as_str().unwrap())));
    // Registries compare this with the repository in which the package was built.
    let repository = "https://github.com/forage-search/forage";
    assert_eq!(npm["repository"]["url"], format!("git+{repository}.git"));
    let python: toml::Table = text("pyproject.toml").parse().unwrap();
    assert_eq!(python["project"]["name"].as_str(), Some("forage-search"));
    // `uvx NAME` and `npx NAME` start the program that has the package's name, or else npm's only program.
    assert!(python["project"]["scripts"].as_table().unwrap().contains_key("forage-search"));
    assert_eq!(npm["bin"].as_object().unwrap().len(), 1);
    assert_eq!(python["project"]["urls"]["Repository"].as_str(), Some(repository));
    let of_packages = server["packages"].as_array().unwrap().iter().map(|package| &package["version"]);
    for version in [&server["version"], &npm["version"], &mcpb["version"]].into_iter().chain(of_packages) {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
    assert!(text("CHANGELOG.md").contains(&format!("\n## {}", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn the_registrys_limits_are_kept() {
    let server = read("server.json");
    assert!(server["$schema"].as_str().unwrap().ends_with("/2025-12-11/server.schema.json"));
    assert!(server["description"].as_str().unwrap().len() <= 100);
    let (space, name) = server["name"].as_str().unwrap().split_once('/').unwrap();
    assert!(space.starts_with("io.github.") && name == "forage");
    for package in server["packages"].as_array().unwrap() {
        assert_eq!(package["packageArguments"][0]["value"], "mcp");
    }
}

#[test]
fn a_bundle_starts_the_server_beneath_the_chosen_directory() {
    let manifest = read("mcpb/manifest.json");
    let server = &manifest["server"];
    assert_eq!(server["type"], "binary");
    let command = server["mcp_config"]["command"].as_str().unwrap();
    assert_eq!(command, format!("${{__dirname}}/{}", server["entry_point"].as_str().unwrap()));
    assert_eq!(server["mcp_config"]["args"], serde_json::json!(["mcp", "--root", "${user_config.root}"]));
    assert_eq!(manifest["user_config"]["root"]["required"], true);
}

/// Lists the directories of the published crates with their manifests.
fn published() -> Vec<(PathBuf, toml::Table)> {
    let folders = std::fs::read_dir(place("crates")).unwrap().map(|entry| entry.unwrap().path());
    let manifest = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        (folder, text.parse::<toml::Table>().unwrap())
    };
    let is_published = |(_, manifest): &(PathBuf, toml::Table)| {
        manifest["package"].get("publish").and_then(toml::Value::as_bool) != Some(false)
    };
    folders.map(manifest).filter(is_published).collect()
}

/// Regression test: the list of crates in CONTRIBUTING.md lacked `redact`.
#[test]
fn crates_are_published_after_their_dependencies() {
    let page = text("CONTRIBUTING.md");
    let list = page.split("\nfor crate in ").nth(1).unwrap().split("; do\n").next().unwrap();
    let order: Vec<String> = list.split(' ').map(|name| format!("forage-{name}")).collect();
    let position =
        |name: &str| order.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name}"));
    let crates = published();
    assert_eq!(order.len(), crates.len());
    assert!(page.contains(&format!("\n{} crates therefore take", crates.len())), "{}", crates.len());
    for (_, manifest) in &crates {
        let own = position(manifest["package"]["name"].as_str().unwrap());
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        for (name, _) in dependencies.filter(|(name, _)| name.starts_with("forage-")) {
            assert!(position(name) < own, "{name}");
        }
    }
}

/// MIT and Apache-2.0 require that each copy contains their text, and a published crate is a copy.
#[test]
fn every_published_crate_has_the_licences() {
    let published = published();
    for (folder, licence) in
        published.iter().flat_map(|(folder, _)| ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| (folder, name)))
    {
        let own = std::fs::read_to_string(folder.join(licence));
        assert_eq!(own.ok().as_deref(), Some(&*text(licence)), "{}", folder.join(licence).display());
    }
}
