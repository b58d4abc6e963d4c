//! Renders a terminal screenshot from the program's output.

use std::path::Path;

use anstyle_svg::Term;

use crate::cargo::{Workspace, printed, write};

/// The page whose files are searched.
const FILES: &str = "docs/unknown-repository.md";

/// The commands in the screenshot.
const COMMANDS: [&[&str]; 2] =
    [&["rank", "charge", "an", "order", "again", "after", "a", "pause"], &["grep", "--uses", "GatewayDown"]];

/// Returns the screenshot as SVG.
pub(crate) fn render(workspace: &Workspace) -> Result<String, String> {
    let place = std::env::temp_dir().join(format!("forage-picture-{}", std::process::id()));
    let made = picture(workspace, &place);
    let _ = std::fs::remove_dir_all(&place);
    made
}

fn picture(workspace: &Workspace, place: &Path) -> Result<String, String> {
    let (project, home) = (place.join("shop"), place.join("home"));
    for (path, text) in files(&workspace.read(&workspace.path(FILES))?) {
        write(&project.join(path), text)?;
    }
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let mut typed = String::new();
    for arguments in COMMANDS {
        let mut command = workspace.program(workspace.forage()?);
        command.current_dir(&project).env("HOME", &home).env_remove("XDG_CACHE_HOME");
        command.args(arguments).args(["--root", ".", "--color", "always", "--config", "/dev/null"]);
        let text = printed(&mut command, &format!("`forage {}`", arguments.join(" ")))?;
        typed.push_str(&format!("\x1b[1m$ forage {}\x1b[0m\n{}\n\n", arguments.join(" "), text));
    }
    Ok(Term::new().render_svg(typed.trim_end()))
}

/// Returns the files of a page: blocks that begin with `text file=PATH`.
fn files(page: &str) -> Vec<(&str, String)> {
    let blocks = page.split("```text file=").skip(1);
    let parts = blocks.filter_map(|block| block.split_once("```")?.0.split_once('\n'));
    parts.map(|(path, text)| (path, text.to_owned())).collect()
}
