//! The answers of the registry if it has no tool.

use forage_tools::registry::{ToolSelection, advertised};
use serde_json::json;

use super::Page;
use super::tree::shop;

pub(super) fn page() -> Page {
    let workspace = shop().workspace();
    let mut page = Page::new("search_files");
    page.chapter("Errors");
    page.state("no tool has this name", &workspace, json!({"pattern": "retry"}));
    let choices = [
        ("no name that clients take", ToolSelection::default().call("grep_search", "find it")),
        ("two tools of one name", ToolSelection::default().call("grep_search", "read_file")),
        (
            "a prefix that makes names too long",
            ToolSelection { prefix: "x".repeat(60), ..ToolSelection::default() },
        ),
    ];
    for (what, choice) in choices {
        page.refused(what, &advertised(&choice).err().unwrap());
    }
    page
}
