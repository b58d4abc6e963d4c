//! Installs peers, and checks whether they are installed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;

use super::{FOLDER, Peer, Source, system};
use crate::cargo::{Workspace, printed, remove, write};

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
    fn package_json(self, list: &str) -> Result<String> {
        if self == Self::Pinned {
            return Ok(list.to_owned());
        }
        let mut list: Value = serde_json::from_str(list)?;
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
                printed(workspace.program(program).arg("--version")).is_ok_and(|line| line.starts_with(shown))
            }
            Source::Npm { folder, list } | Source::Python { folder, list, .. } => {
                // The list marks a complete installation, so that we repeat an interrupted one.
                let found = fs::read_to_string(self.stamp(&workspace.path(FOLDER).join(folder), list));
                let expected = workspace.read(Path::new("crates").join(list));
                versions == Versions::Pinned && found.is_ok_and(|found| expected.is_ok_and(|it| it == found))
            }
        }
    }

    /// Returns the path of the mark, which the tests also compare with the list. For an environment, it must
    /// be outside of the environment's folder, because that folder is replaced as a whole.
    fn stamp(&self, place: &Path, list: &str) -> PathBuf {
        let name = list.rsplit('/').next().unwrap_or(list);
        match self.source {
            Source::Python { .. } => place.with_file_name(name),
            _ => place.join(name),
        }
    }

    pub(super) fn install(&self, workspace: &Workspace, versions: Versions) -> Result<()> {
        let peers = workspace.path(FOLDER);
        let (folder, list) = match &self.source {
            // We have already installed this, together with the other system packages.
            Source::System { .. } => return Ok(()),
            Source::Cargo { package, version, .. } => {
                let install = format!("cargo install {package} --version {version} --locked --quiet --root");
                return printed(workspace.command(&install).arg(peers)).map(drop);
            }
            Source::Npm { folder, list } | Source::Python { folder, list, .. } => (folder, list),
        };
        let place = versions.place(&peers, folder);
        let wanted = workspace.read(Path::new("crates").join(list))?;
        if let Source::Python { least, .. } = self.source {
            let python = system::python(workspace, least).context("there is no Python for it")?;
            remove(&place)?;
            printed(workspace.program(python).args(["-m", "venv"]).arg(&place))?;
            write(&place.join("wanted.txt"), versions.requirements_txt(&wanted))?;
            let pip = place.join(if cfg!(windows) { "Scripts/pip" } else { "bin/pip" });
            let quiet = ["install", "--quiet", "--disable-pip-version-check", "-r"];
            printed(workspace.program(pip).args(quiet).arg(place.join("wanted.txt")))?;
        } else {
            // We install into another folder and write the list last. If we are interrupted, the next run
            // repeats the installation.
            let making = place.join("npm");
            remove(&making)?;
            remove(&place.join("node_modules"))?;
            write(&making.join("package.json"), versions.package_json(&wanted)?)?;
            let npm = "npm install --no-audit --no-fund --no-package-lock --loglevel=error --prefix";
            printed(workspace.command(npm).arg(&making))?;
            fs::rename(making.join("node_modules"), place.join("node_modules"))?;
            remove(&making)?;
        }
        write(&self.stamp(&place, list), &wanted)
    }
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
        assert_eq!(Versions::Pinned.package_json(list).unwrap(), list);
        assert_eq!(Versions::Newest.requirements_txt("a[x]==1.0\nb==2\n"), "a[x]\nb");
    }
}
