//! Checks the system requirements of installations, and installs system packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::{Peer, Source};
use crate::cargo::{Workspace, printed};

/// Provides the system requirements of the peers. Installs packages if possible.
///
/// # Errors
///
/// Returns an error that lists all missing requirements, with the packages that contain each of them.
pub(super) fn provide(workspace: &Workspace, peers: &[Peer]) -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !workspace.has_subcommand(subcommand) {
            println!("    installing {component}");
            printed(&mut workspace.command(&format!("rustup component add {component}")))
                .with_context(|| format!("`cargo {subcommand}` is missing"))?;
        }
    }
    let missing = needs(workspace, peers);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.iter().map(|(_, packages)| packages.as_str()).collect::<Vec<_>>().join(" ");
    println!("    installing {packages}");
    let installed = install_packages(workspace, &packages);
    let missing = needs(workspace, peers);
    if missing.is_empty() {
        return Ok(());
    }
    let line = |(what, packages): &(String, String)| format!("  {what} (on Debian: apt install {packages})");
    let lines = missing.iter().map(line).collect::<Vec<_>>().join("\n");
    let why = installed.err().map(|why| format!("\n({why:#})")).unwrap_or_default();
    bail!("the tests need programs that are missing here; install them:\n{lines}{why}")
}

/// Lists the missing requirements for messages, each with the Debian packages that contain it.
fn needs(workspace: &Workspace, peers: &[Peer]) -> Vec<(String, String)> {
    let mut needs = Vec::new();
    for peer in peers {
        let need = match &peer.source {
            Source::System { program, packages } if !has(program, workspace) => {
                (program.clone(), packages.join(" "))
            }
            Source::Npm { .. } if !has("npm", workspace) => ("npm".to_owned(), "nodejs npm".to_owned()),
            Source::Python { least, .. } if python(workspace, *least).is_none() => (
                format!("Python 3.{least} or later with venv, for {}", peer.name),
                "python3 python3-venv".to_owned(),
            ),
            _ => continue,
        };
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
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
    let of_pyenv =
        std::env::home_dir().and_then(|home| Path::new(&home).join(".pyenv/versions").read_dir().ok());
    let of_pyenv = of_pyenv.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3"));
    let asked = format!("import sys, venv, ensurepip; sys.exit(sys.version_info < (3, {least}))");
    let can = |python: &PathBuf| started(workspace.program(python).args(["-c", &asked])) == Some(true);
    named.into_iter().chain(of_pyenv).find(can)
}

/// Runs `apt-get` as root, or with `sudo` if it needs no password.
pub(crate) fn apt_as_root(workspace: &Workspace, arguments: &str) -> Result<()> {
    let is_root = printed(&mut workspace.command("id -u"))? == "0";
    if !is_root && started(&mut workspace.command("sudo -n true")) != Some(true) {
        bail!("packages can't be installed without root or `sudo`");
    }
    let sudo = if is_root { "" } else { "sudo -n " };
    let mut command = workspace.command(&format!("{sudo}apt-get {arguments}"));
    printed(command.env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}

fn install_packages(workspace: &Workspace, packages: &str) -> Result<()> {
    if !has("apt-get", workspace) {
        bail!("there is no `apt-get` here");
    }
    let install = format!("install -y --no-install-recommends {packages}");
    // The package lists of an image are often outdated, so we try again after an update.
    apt_as_root(workspace, &install).or_else(|_| {
        apt_as_root(workspace, "update")?;
        apt_as_root(workspace, &install)
    })
}
