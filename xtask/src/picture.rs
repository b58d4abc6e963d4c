//! Renders a terminal screenshot of the program's output. It searches the sources of a public package.

use std::path::{Path, PathBuf};

use anstyle_svg::Term;
use anyhow::{Context as _, Result};
use fs_err as fs;

use crate::cargo::{Workspace, files_below, printed, write};

/// The package that we search, in the version of Cargo.lock.
const PACKAGE: &str = "ureq";

/// The commands in the screenshot.
const COMMANDS: [&[&str]; 2] = [
    &["rank", "-m", "2", "how is the NO_PROXY variable parsed"],
    &["grep", "--uses", "NoProxyEntry::try_parse"],
];

/// Colors by class: light, dark.
const COLOURS: [(&str, &str, &str); 5] = [
    ("fg", "#1f2328", "#e6edf3"),
    ("bg", "#f6f8fa", "#161b22"),
    ("fg-green", "#1a7f37", "#3fb950"),
    ("fg-magenta", "#8250df", "#bc8cff"),
    ("fg-red", "#cf222e", "#ff7b72"),
];

/// Renders the screenshot as SVG.
pub(crate) fn render(workspace: &Workspace) -> Result<String> {
    let place = tempfile::tempdir()?;
    let (sources, home) = (sources(workspace)?, place.path().join("home"));
    let project = place.path().join(sources.file_name().context("the package has no directory")?);
    for path in files_below(&sources)? {
        write(&project.join(path.strip_prefix(&sources)?), fs::read(&path)?)?;
    }
    fs::create_dir_all(&home)?;
    let mut typed = String::new();
    for arguments in COMMANDS {
        let mut command = workspace.forage("")?;
        command.current_dir(&project).env("HOME", &home).env_remove("XDG_CACHE_HOME");
        let plain = "--root . --color always --config /dev/null --quiet";
        let text = printed(command.args(arguments).args(plain.split(' ')))?;
        // We remove cursors, since they depend on where the project is.
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("more results: ")).collect();
        typed.push_str(&format!("\x1b[1m$ forage {}\x1b[0m\n{}\n\n", arguments.join(" "), lines.join("\n")));
    }
    themed(&Term::new().render_svg(typed.trim_end()))
}

/// Finds the directory of the package, which cargo has unpacked to build Forage.
fn sources(workspace: &Workspace) -> Result<PathBuf> {
    let metadata = workspace.metadata("--locked")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == PACKAGE);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    Ok(Path::new(manifest.with_context(|| format!("Cargo.lock has no {PACKAGE}"))?).with_file_name(""))
}

/// Replaces the colors of a VGA terminal with light and dark colors of a page.
fn themed(svg: &str) -> Result<String> {
    let (mut light, mut dark) = (String::new(), String::new());
    for line in svg.lines() {
        let class = line.trim().strip_prefix('.').and_then(|line| line.split_once(" { fill: "));
        match class.filter(|_| line.trim().ends_with('}')) {
            Some((name, _)) => {
                let colours = COLOURS.iter().find(|(class, ..)| *class == name);
                let (_, on_light, on_dark) = colours.with_context(|| format!("no colour for .{name}"))?;
                light.push_str(&format!("    .{name} {{ fill: {on_light} }}\n"));
                dark.push_str(&format!("      .{name} {{ fill: {on_dark} }}\n"));
            }
            None if line.trim() == "</style>" => {
                light
                    .push_str(&format!("    @media (prefers-color-scheme: dark) {{\n{dark}    }}\n{line}\n"));
            }
            None => light.push_str(&format!("{}\n", line.replace("opacity: 0.4", "opacity: 0.75"))),
        }
    }
    Ok(light)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_colours_for_light_and_dark_pages() {
        let svg =
            "<svg>\n  <style>\n    .fg { fill: #AAAAAA }\n    .dimmed { opacity: 0.4; }\n  </style>\n</svg>";
        let expected = "<svg>\n  <style>\n    .fg { fill: #1f2328 }\n    .dimmed { opacity: 0.75; }\n    \
            @media (prefers-color-scheme: dark) {\n      .fg { fill: #e6edf3 }\n    }\n  </style>\n</svg>\n";
        assert_eq!(themed(svg).unwrap(), expected);
        assert!(themed("    .fg-blue { fill: #0000AA }").is_err());
    }
}
