//! Builds all release artifacts from a single build, in `target/package`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use fs_err as fs;

use crate::cargo::{Workspace, empty, printed, remove, run, write};
use crate::docs::REPOSITORY;
use crate::peers::{self, PACKAGING, python_tool};

/// The output directory, relative to the target directory.
const OUT: &str = "package";

/// The folder with additional files of the wheel. maturin finds it by the name of the module.
const WHEEL_DATA: &str = "forage._forage.data";

/// The newest glibc that a program for Linux may require. Distributions with glibc have had it since 2014.
pub(crate) const GLIBC: &str = "2.17";

/// The name of the Node module.
pub(crate) const NODE_MODULE: &str = "forage_node";

/// A build for this machine, and where its files are.
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) target: String,
    /// The directory that contains all files.
    pub(crate) out: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) node_module: PathBuf,
}

/// Builds the program and all packages of it.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &[PACKAGING])?;
    let release = Release::locate(workspace)?;
    empty(&release.out)?;
    release.build(workspace)?;
    release.describe(workspace)?;
    let mut assemble = workspace.command("python3 -B packaging/assemble.py");
    assemble.args([&release.program, &release.node_module, &release.out]);
    run(assemble.args([&release.version, &release.target, &git(workspace, EPOCH)?]))?;
    for file in release.files()? {
        println!("    {}", workspace.shown(&file));
    }
    Ok(())
}

/// Builds all packages, installs and uses them.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &[peers::PACKAGE_CHECKS])?;
    make(workspace)?;
    workspace.own_tests("installed")
}

/// Compares the answers of all interfaces to the same requests.
pub(crate) fn check_fronts(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &[peers::BINDINGS, peers::CLIENTS])?;
    workspace.own_tests("fronts")
}

/// The arguments of git for the time of the commit in seconds. All files in archives get this time.
const EPOCH: &str = "log -1 --format=%ct";

fn git(workspace: &Workspace, arguments: &str) -> Result<String> {
    printed(&mut workspace.command(&format!("git {arguments}")))
}

/// Returns the environment variables that make a build reproducible at any time and place.
fn reproducible(workspace: &Workspace) -> Result<Vec<(&'static str, OsString)>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home directory")?;
    let metadata = workspace.metadata("--no-deps")?;
    let root = metadata["workspace_root"].as_str().context("`cargo metadata` has no workspace_root")?;
    // The order matters, since rustc uses the last prefix that matches. An invisible separator lets paths
    // contain blanks.
    let home = home.display();
    let flags = format!("--remap-path-prefix={home}=/cargo\u{1f}--remap-path-prefix={root}=/forage");
    let commit = printed(workspace.command("git log -1 --abbrev=10").arg("--format=%h %cs"))?;
    let changed = if git(workspace, "status --porcelain")?.is_empty() { "" } else { ", changed" };
    let path = peers::path_with(&python_tool(workspace, PACKAGING, "")).context("PATH has a bad name")?;
    Ok(vec![
        ("CARGO_ENCODED_RUSTFLAGS", flags.into()),
        ("CARGO_INCREMENTAL", "0".into()),
        ("FORAGE_COMMIT", format!("{commit}{changed}").into()),
        ("SOURCE_DATE_EPOCH", git(workspace, EPOCH)?.into()),
        // The packaging environment contains zig.
        ("PATH", path),
    ])
}

/// Returns the target triple of this machine, for which we build.
fn host(workspace: &Workspace) -> Result<String> {
    let output = printed(&mut workspace.command("rustc -vV"))?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Returns the path of a module for another language in cargo's output directory.
pub(crate) fn module(directory: &Path, name: &str) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    directory.join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
}

/// Builds the npm packages of a program and a Node module.
pub(crate) fn node_packages(workspace: &Workspace, program: &Path, module: &Path, out: &Path) -> Result<()> {
    let mut command = workspace.command("python3 -B packaging/node.py");
    command.args([program, module, out]);
    run(command.args([version(workspace)?, host(workspace)?, git(workspace, EPOCH)?]))
}

impl Release {
    /// Returns the paths of a build without building it.
    pub(crate) fn locate(workspace: &Workspace) -> Result<Self> {
        let (target, directory) = (host(workspace)?, workspace.target()?);
        let built = directory.join(&target).join("dist");
        Ok(Self {
            version: version(workspace)?,
            program: built.join("forage").with_extension(std::env::consts::EXE_EXTENSION),
            node_module: module(&built, NODE_MODULE),
            target,
            out: directory.join(OUT),
        })
    }

    /// Builds the program, the wheel and the Node module.
    fn build(&self, workspace: &Workspace) -> Result<()> {
        let variables = reproducible(workspace)?;
        let run = |command: &mut Command| run(command.envs(variables.iter().cloned()));
        let maturin = |folder: &str, out: &Path| {
            let mut command = workspace.program(python_tool(workspace, PACKAGING, "maturin"));
            command.args(["build", "--locked", "--profile", "dist", "--target", &self.target, "--out"]);
            command.arg(out).current_dir(workspace.path(folder));
            // zig links against this old glibc, no matter which one the machine has.
            if self.is_linux() {
                let oldest = format!("manylinux_{}", GLIBC.replace('.', "_"));
                command.args(["--zig", "--compatibility", &oldest]);
            }
            run(&mut command)
        };
        let program = self.out.join("program");
        maturin("packaging/program", &program)?;
        self.unpack(workspace, &program)?;
        // maturin adds the files in this folder to the wheel.
        let data = workspace.path(WHEEL_DATA);
        let scripts = data.join("scripts");
        let added = fs::create_dir_all(&scripts)
            .and_then(|()| {
                fs::copy(&self.program, scripts.join(self.program.file_name().unwrap_or_default()))
            })
            .map_err(anyhow::Error::from)
            .and_then(|_| maturin("", &self.out));
        // The folder is in the source directory, so we must remove it even if the build failed.
        remove(&data)?;
        added?;
        let (build, built_for) = match self.is_linux() {
            true => ("zigbuild", format!("{}.{GLIBC}", self.target)),
            false => ("build", self.target.clone()),
        };
        let build = format!("cargo {build} --locked --quiet --profile dist --package forage-node");
        run(workspace.command(&build).args(["--target", &built_for]))
    }

    /// Writes the completions and manual pages of the program for the archives.
    fn describe(&self, workspace: &Workspace) -> Result<()> {
        let say = |below: &str, arguments: &str| {
            let text = printed(workspace.program(&self.program).args(arguments.split(' ')))?;
            write(&self.out.join(below), text)
        };
        for (shell, name) in [
            ("bash", "forage.bash"),
            ("zsh", "_forage"),
            ("fish", "forage.fish"),
            ("powershell", "forage.ps1"),
            ("elvish", "forage.elv"),
        ] {
            say(&format!("completions/{name}"), &format!("completions {shell}"))?;
        }
        say("man/forage.1", "man")?;
        let commands = printed(workspace.program(&self.program).args(["man", "--list"]))?;
        let mut commands = commands.lines();
        commands.try_for_each(|name| say(&format!("man/forage-{name}.1"), &format!("man {name}")))
    }

    pub(crate) fn is_linux(&self) -> bool {
        self.target.contains("linux")
    }

    /// Extracts the program and its bill of materials from the wheel in `folder`, into which maturin has
    /// moved them.
    fn unpack(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        let only_file = |folder: &Path| {
            let file = fs::read_dir(folder)?.next();
            anyhow::Ok(file.with_context(|| format!("{} is empty", folder.display()))??.path())
        };
        run(workspace.command("python3 -m zipfile -e").arg(only_file(folder)?).arg(folder))?;
        let name = self.program.file_name().unwrap_or_default();
        let below = |kind: &str| folder.join(format!("forage_program-{}.{kind}", self.version));
        fs::rename(below("data/scripts").join(name), &self.program)?;
        // Python does not restore permissions, so we set them.
        #[cfg(unix)]
        fs::set_permissions(&self.program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        fs::rename(only_file(&below("dist-info/sboms"))?, self.out.join("forage.cdx.json"))?;
        Ok(fs::remove_dir_all(folder)?)
    }

    /// Lists all artifacts, sorted.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let files = fs::read_dir(&self.out)?.map(|file| file.map(|file| file.path()));
        let mut files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
        files.retain(|path| path.is_file());
        files.sort();
        Ok(files)
    }
}

/// Checks that a tag matches this version.
pub(crate) fn compare_tag(workspace: &Workspace, tag: &str) -> Result<()> {
    let version = version(workspace)?;
    match tag == format!("v{version}") {
        true => Ok(()),
        false => bail!("the tag is {tag}, but the version is {version}"),
    }
}

/// Reads the version of the product.
fn version(workspace: &Workspace) -> Result<String> {
    let metadata = workspace.metadata("--no-deps")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let program = packages.find(|package| package["name"] == "forage-cli");
    let version = program.and_then(|package| package["version"].as_str());
    Ok(version.context("`cargo metadata` has no forage-cli")?.to_owned())
}

/// Extracts the changelog section of the newest version, which comes first.
pub(crate) fn notes(workspace: &Workspace) -> Result<String> {
    let log = workspace.read("CHANGELOG.md")?;
    let section = log.split("\n## ").nth(1).and_then(|section| section.split_once('\n'));
    let (_, notes) = section.context("CHANGELOG.md has no version")?;
    // The release notes are not next to the files that they link to, so links must be absolute.
    Ok(format!("{}\n", notes.trim().replace("](docs/", &format!("]({REPOSITORY}docs/"))))
}
