//! Runs `forage ask` with tools of an official MCP server on Node, as a user would configure it.
//! `cargo xtask peers` installs the server.

use std::path::PathBuf;

use serde_json::json as value;

use crate::ask::{calls, configure, project, results, say};
use crate::mcp_clients::mcp_peers;
use crate::peer::Peer;

/// The list of installed packages, both in the folder of lists and in that of the peers.
const LIST: &str = "servers/package.json";

/// Returns the folder of the server and Node, or `None` if they are missing.
fn peers() -> Option<PathBuf> {
    let folder = mcp_peers(&[LIST])?;
    Some(folder.canonicalize().unwrap())
}

#[test]
fn tools_of_the_official_filesystem_server_reach_the_model() {
    let Some(peers) = peers() else { return };
    let project = project();
    let outside = project.root.parent().unwrap();
    let notes = outside.join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(
        notes.join("todo.txt"),
        "mend the retries\ntoken ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\n",
    )
    .unwrap();
    std::fs::write(outside.join("elsewhere.txt"), "not for the server\n").unwrap();
    let read = |path: PathBuf| ("files_read_text_file", value!({ "path": path }));
    let peer = Peer::start([
        calls(&[
            read(notes.join("todo.txt")),
            read(outside.join("elsewhere.txt")),
            ("files_list_directory", value!({ "path": notes })),
            ("files_write_file", value!({ "path": notes.join("new.txt"), "content": "x" })),
            ("list_directory", value!({})),
        ]),
        say("The retries are to be mended."),
    ]);
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let node = text(peers.join("node_modules/node/bin/node"));
    let server = "servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    let arguments = [text(peers.join(server)), text(notes.clone())];
    configure(
        &project,
        &[&peer],
        &format!(
            "[ask.servers.files]\ncommand = {node:?}\nargs = {arguments:?}\ntools = [\"read_text_file\", \
             \"list_directory\"]\n"
        ),
    );
    let run = project.run(&["ask", "what is to be done?", "--json"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["warnings"], value!([]), "{run:?}");
    let results = results(&peer);
    assert!(results[0].contains("mend the retries\ntoken [redacted:"), "{}", results[0]);
    assert!(results[1].contains("Access denied") && !results[1].contains("not for"), "{}", results[1]);
    assert!(results[2].contains("[FILE] todo.txt"), "{}", results[2]);
    // A tool that was not chosen is not offered, but our own tools still are.
    assert!(!notes.join("new.txt").exists(), "{}", results[3]);
    assert!(results[4].contains("src/"), "{}", results[4]);
    let calls = run.json()["turns"][0]["calls"].clone();
    let has_run = |index: usize| calls[index]["run"] == true && calls[index]["error"].is_null();
    assert!(has_run(0) && !has_run(1) && has_run(2) && !has_run(3) && has_run(4), "{calls}");
}
