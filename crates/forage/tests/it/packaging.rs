//! What registries and bundles are told is true of this program.

use std::path::Path;

use serde_json::Value;

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn versions_are_those_of_the_program() {
    let (server, manifest) = (read("server.json"), read("mcpb/manifest.json"));
    let package = &server["packages"][0];
    for version in [&server["version"], &package["version"], &manifest["version"]] {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
    assert_eq!(package["identifier"], env!("CARGO_PKG_NAME"));
}

#[test]
fn the_registrys_limits_are_kept() {
    let server = read("server.json");
    assert!(server["$schema"].as_str().unwrap().ends_with("/2025-12-11/server.schema.json"));
    assert!(server["description"].as_str().unwrap().len() <= 100);
    let (space, name) = server["name"].as_str().unwrap().split_once('/').unwrap();
    assert!(space.starts_with("io.github.") && name == "forage");
    assert_eq!(server["packages"][0]["packageArguments"][0]["value"], "mcp");
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
