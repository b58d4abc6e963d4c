//! Checks the system requirements of installations, and installs system packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::install::run;
use super::{Peer, Source};
use crate::cargo::Workspace;

/// A requirement of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Need {
    /// The name for messages.
    what: String,
    /// The Debian packages that contain it.
    packages: Vec<String>,
}

/// Provides the system requirements of the peers. Installs packages if possible.
///
/// # Errors
///
/// Returns an error that lists all missing requirements, with the packages that contain each of them.
pub(super) fn provide(workspace: &Workspace, peers: &[&Peer]) -> Result<(), String> {
    components(workspace)?;
    let missing = needs(workspace, peers);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|need| need.packages.iter().map(String::as_str)).collect();
    let installed = if has("apt-get", workspace) {
        println!("    installing {}", packages.join(", "));
        install_packages(workspace, &packages)
    } else {
        Err("there is no `apt-get` here".to_owned())
    };
    let still = needs(workspace, peers);
    match installed {
        _ if still.is_empty() => Ok(()),
        installed => {
            let missing: Vec<String> = still.iter().map(Need::description).collect();
            let why = installed.err().map(|why| format!("\n({why})")).unwrap_or_default();
            Err(format!(
                "the tests need programs that are missing here; install them:\n{}{why}",
                missing.join("\n")
            ))
        }
    }
}

impl Need {
    fn description(&self) -> String {
        format!("  {} (on Debian: apt install {})", self.what, self.packages.join(" "))
    }
}

fn needs(workspace: &Workspace, peers: &[&Peer]) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for peer in peers {
        let need = match peer.source {
            Source::System { program, packages } if !has(program, workspace) => Need {
                what: program.to_owned(),
                packages: packages.iter().copied().map(str::to_owned).collect(),
            },
            Source::Npm { .. } if !has("npm", workspace) => {
                Need { what: "npm".to_owned(), packages: vec!["nodejs".to_owned(), "npm".to_owned()] }
            }
            Source::Python { least, .. } if python(workspace, least).is_none() => Need {
                what: format!("Python 3.{least} or later with venv, for {}", peer.name),
                packages: vec!["python3".to_owned(), "python3-venv".to_owned()],
            },
            _ => continue,
        };
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// Installs missing rustup components.
fn components(workspace: &Workspace) -> Result<(), String> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !workspace.has_subcommand(subcommand) {
            println!("    installing {component}");
            run(workspace.program("rustup").args(["component", "add", component]))
                .map_err(|error| format!("`cargo {subcommand}` is missing: {error}"))?;
        }
    }
    Ok(())
}

/// Runs a command silently. Returns whether it succeeds, or `None` if it can't be started.
fn started(command: &mut Command) -> Option<bool> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.ok().map(|status| status.success())
}

/// Returns true if a program is on the `PATH`.
pub(super) fn has(program: &str, workspace: &Workspace) -> bool {
    started(workspace.program(program).arg("--version")).is_some()
}

/// Finds Python 3.`least` or later that can create environments. Note that Debian has this feature in a
/// separate package.
pub(super) fn python(workspace: &Workspace, least: u32) -> Option<PathBuf> {
    let named = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"].map(PathBuf::from);
    let of_pyenv = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions"));
    let of_pyenv = of_pyenv.and_then(|versions| std::fs::read_dir(versions).ok()).into_iter().flatten();
    let of_pyenv = of_pyenv.flatten().map(|version| version.path().join("bin/python3"));
    let asked = format!("import sys, venv, ensurepip; sys.exit(sys.version_info < (3, {least}))");
    let can = |python: &PathBuf| started(workspace.program(python).args(["-c", &asked])) == Some(true);
    named.into_iter().chain(of_pyenv).find(can)
}

/// Returns the words before a command that run it as root, or `None` if this is not possible.
fn root(workspace: &Workspace) -> Option<&'static [&'static str]> {
    let id = workspace.program("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    let can = started(workspace.program("sudo").args(["-n", "true"])) == Some(true);
    can.then_some(&["sudo", "-n"])
}

/// Runs `apt-get` as root.
pub(super) fn apt_as_root(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let root = root(workspace).ok_or("packages can't be installed without root or `sudo`")?;
    let words = [root, &["apt-get"], arguments].concat();
    let (program, rest) = words.split_first().ok_or("no command")?;
    let mut command: Command = workspace.program(program);
    run(command.args(rest).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn install_packages(workspace: &Workspace, packages: &[&str]) -> Result<(), String> {
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    let apt = |arguments| apt_as_root(workspace, arguments);
    // The package lists of an image are often outdated, so we try again after an update.
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}
