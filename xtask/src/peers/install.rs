//! Installs peers, and checks whether they are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Peer, Source, folder, system};
use crate::cargo::{Workspace, remove, write};

/// The pinned versions of the lists, or the newest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Versions {
    Pinned,
    Newest,
}

impl Versions {
    /// Returns the folder for these versions. The first component of `folder` names the peer's group. The
    /// members of a group must stay together, so the newest versions get a folder for the whole group.
    fn place(self, peers: &Path, folder: &str) -> PathBuf {
        match self {
            Self::Pinned => peers.join(folder),
            Self::Newest => {
                let (group, rest) = folder.split_once('/').unwrap_or((folder, ""));
                peers.join(format!("{group}-newest")).join(rest)
            }
        }
    }

    /// Formats the `package.json` to install. Node itself is not a peer, so it keeps its version.
    fn package_json(self, list: &str) -> Result<String, String> {
        if self == Self::Pinned {
            return Ok(list.to_owned());
        }
        let mut list: Value = serde_json::from_str(list).map_err(|error| error.to_string())?;
        for (name, version) in list["dependencies"].as_object_mut().into_iter().flatten() {
            if name != "node" {
                *version = Value::from("latest");
            }
        }
        Ok(list.to_string())
    }

    /// Formats the `requirements.txt` to install.
    fn requirements_txt(self, list: &str) -> String {
        let newest = |line: &str| line.split("==").next().unwrap_or_default().to_owned();
        match self {
            Self::Pinned => list.to_owned(),
            Self::Newest => list.lines().map(newest).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Peer {
    /// Returns true if the peer is installed in these versions. The newest packages always count as missing,
    /// because we must look them up each time.
    pub(super) fn is_installed(&self, workspace: &Workspace, versions: Versions) -> bool {
        match &self.source {
            Source::System { program, .. } => system::has(program, workspace),
            Source::Cargo { program, shown, .. } => {
                let printed = workspace.program(program).arg("--version").stderr(Stdio::null()).output();
                printed.is_ok_and(|printed| String::from_utf8_lossy(&printed.stdout).starts_with(shown))
            }
            Source::Npm { folder: below, .. } | Source::Python { folder: below, .. } => {
                let place = versions.place(&folder(workspace), below);
                versions == Versions::Pinned
                    && self.stamp(workspace).is_ok_and(|stamp| {
                        std::fs::read_to_string(self.stamped(&place)).is_ok_and(|found| found == stamp)
                    })
            }
        }
    }

    /// Returns the text that marks a complete installation, so that we repeat an interrupted one. This is the
    /// list itself.
    fn stamp(&self, workspace: &Workspace) -> Result<String, String> {
        let (Source::Npm { list, .. } | Source::Python { list, .. }) = self.source else {
            return Ok(String::new());
        };
        workspace.read(&workspace.path("crates").join(list))
    }

    /// Returns the path of the mark, which the tests also compare with the list. For an environment, it must
    /// be outside of the environment's folder, because that folder is replaced as a whole.
    fn stamped(&self, place: &Path) -> PathBuf {
        let list = match self.source {
            Source::Npm { list, .. } | Source::Python { list, .. } => list.rsplit('/').next().unwrap_or(list),
            Source::System { .. } | Source::Cargo { .. } => "",
        };
        match self.source {
            Source::Python { .. } => place.parent().unwrap_or(place).join(list),
            _ => place.join(list),
        }
    }

    pub(super) fn install(&self, workspace: &Workspace, versions: Versions) -> Result<(), String> {
        let peers = folder(workspace);
        match &self.source {
            // We have already installed this, together with the other system packages.
            Source::System { .. } => Ok(()),
            Source::Cargo { package, version, .. } => {
                let root = peers.display().to_string();
                let arguments = [
                    "install",
                    package,
                    "--version",
                    version,
                    "--locked",
                    "--quiet",
                    "--root",
                    root.as_str(),
                ];
                run(workspace.program("cargo").args(arguments))
            }
            Source::Npm { folder: below, .. } => {
                let place = versions.place(&peers, below);
                self.npm(workspace, versions, &place)
            }
            Source::Python { folder: below, least, .. } => {
                let place = versions.place(&peers, below);
                let python = system::python(workspace, *least).ok_or("there is no Python for it")?;
                self.environment(workspace, versions, &place, &python)
            }
        }
    }

    fn npm(&self, workspace: &Workspace, versions: Versions, place: &Path) -> Result<(), String> {
        let list = self.stamp(workspace)?;
        // We install into another folder and write the list last. If we are interrupted, the next run repeats
        // the installation.
        let making = place.join("npm");
        for old in [&making, &place.join("node_modules")] {
            remove(old)?;
        }
        write(&making.join("package.json"), &versions.package_json(&list)?)?;
        let quiet =
            ["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--prefix"];
        run(workspace.program("npm").args(quiet).arg(&making))?;
        std::fs::rename(making.join("node_modules"), place.join("node_modules"))
            .map_err(|error| error.to_string())?;
        remove(&making)?;
        write(&self.stamped(place), &list)
    }

    fn environment(
        &self,
        workspace: &Workspace,
        versions: Versions,
        place: &Path,
        python: &Path,
    ) -> Result<(), String> {
        let list = self.stamp(workspace)?;
        remove(place)?;
        run(workspace.program(python).args(["-m", "venv"]).arg(place))?;
        let pip = place.join(if cfg!(windows) { "Scripts/pip" } else { "bin/pip" });
        let quiet = ["install", "--quiet", "--disable-pip-version-check"];
        let wanted = place.join("wanted.txt");
        write(&wanted, versions.requirements_txt(&list))?;
        run(workspace.program(&pip).args(quiet).arg("-r").arg(&wanted))?;
        write(&self.stamped(place), &list)
    }
}

/// Runs a command silently. An error contains its output.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("`{}`", command.get_program().to_string_lossy());
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{shown} did not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{shown} failed ({}):\n{}{}", output.status, stdout, stderr.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_have_a_folder_and_versions_of_their_own() {
        let peers = Path::new("p");
        assert_eq!(Versions::Pinned.place(peers, "mcp/python-1"), Path::new("p/mcp/python-1"));
        assert_eq!(Versions::Newest.place(peers, "mcp/python-1"), Path::new("p/mcp-newest/python-1"));
        assert_eq!(Versions::Newest.place(peers, "clients"), Path::new("p/clients-newest"));
        let list = r#"{"dependencies": {"a": "1.2.3", "node": "22.1.0"}}"#;
        let newest: Value = serde_json::from_str(&Versions::Newest.package_json(list).unwrap()).unwrap();
        assert_eq!(newest["dependencies"], serde_json::json!({"a": "latest", "node": "22.1.0"}));
        assert_eq!(Versions::Pinned.package_json(list).as_deref(), Ok(list));
        assert_eq!(Versions::Newest.requirements_txt("a[x]==1.0\nb==2\n"), "a[x]\nb");
    }
}
