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

/// MIT and Apache-2.0 require that each copy contains their text, and a published crate is a copy.
#[test]
fn every_published_crate_has_the_licences() {
    let crates = std::fs::read_dir(place("crates")).unwrap().map(|entry| entry.unwrap().path());
    let is_published = |folder: &PathBuf| {
        let manifest: toml::Table =
            std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        manifest["package"].get("publish").and_then(toml::Value::as_bool) != Some(false)
    };
    let published: Vec<PathBuf> = crates.filter(is_published).collect();
    assert_eq!(published.len(), 17, "CONTRIBUTING.md names the number of crates");
    for (folder, licence) in
        published.iter().flat_map(|folder| ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| (folder, name)))
    {
        let own = std::fs::read_to_string(folder.join(licence));
        assert_eq!(own.ok().as_deref(), Some(&*text(licence)), "{}", folder.join(licence).display());
    }
}
