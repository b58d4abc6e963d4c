//! Builds all release artifacts from a single build, in `target/package`.

mod check;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Workspace, empty, printed, remove, succeed, write};
use crate::docs::REPOSITORY;
use crate::peers;

pub(crate) use check::check;

/// The output directory, relative to the target directory.
const OUT: &str = "package";

/// The folder with additional files of the wheel. maturin finds it by the name of the module.
const WHEEL_DATA: &str = "forage._forage.data";

/// The newest glibc that a program for Linux may require. Distributions with glibc have had it since 2014.
const GLIBC: &str = "2.17";

/// A build, and where its files are.
pub(crate) struct Release {
    version: String,
    target: String,
    /// The directory that contains all files.
    out: PathBuf,
    program: PathBuf,
    node_module: PathBuf,
}

/// Builds the program and all packages of it.
pub(crate) fn make(workspace: &Workspace) -> Result<Release, String> {
    peers::install_named(workspace, &[peers::PACKAGING])?;
    let release = build(workspace)?;
    release.describe(workspace)?;
    release.assemble(workspace)?;
    for file in release.files()? {
        println!("    {}", workspace.shown(&file));
    }
    Ok(release)
}

/// Builds the program, the wheel and the Node module.
fn build(workspace: &Workspace) -> Result<Release, String> {
    let metadata = workspace.cargo_json(&["metadata", "--no-deps", "--format-version", "1"])?;
    let text = |name: &str| {
        metadata[name].as_str().map(PathBuf::from).ok_or(format!("`cargo metadata` has no {name}"))
    };
    let (target_directory, root) = (text("target_directory")?, text("workspace_root")?);
    let target = host(workspace)?;
    let out = target_directory.join(OUT);
    empty(&out)?;
    let built = target_directory.join(&target).join("dist");
    let release = Release {
        version: version(&metadata)?,
        program: built.join("forage").with_extension(std::env::consts::EXE_EXTENSION),
        node_module: module(&built, NODE_MODULE),
        target,
        out,
    };
    let variables = reproducible(workspace, &root)?;
    let run = |command: &mut Command, shown: &str| {
        succeed(command.envs(variables.iter().cloned()).env("PATH", path()?), shown)
    };
    let maturin = |folder: &str, out: &Path| {
        let mut command = workspace.program(tool("maturin"));
        command.args(["build", "--locked", "--profile", "dist", "--target", &release.target, "--out"]);
        // zig links against this old glibc, no matter which one the machine has.
        if release.is_linux() {
            command.arg(out).args([
                "--zig",
                "--compatibility",
                &format!("manylinux_{}", GLIBC.replace('.', "_")),
            ]);
        } else {
            command.arg(out);
        }
        run(command.current_dir(workspace.path(folder)), "maturin build")
    };
    let program = release.out.join("program");
    maturin("packaging/program", &program)?;
    release.unpack(workspace, &program)?;
    // maturin adds the files in this folder to the wheel.
    let data = workspace.path(WHEEL_DATA);
    let added = copied(&release.program, &data.join("scripts")).and_then(|()| maturin("", &release.out));
    // The folder is in the source directory, so we must remove it even if the build failed.
    remove(&data)?;
    added?;
    let mut command = workspace.program("cargo");
    let (build, built_for) = match release.is_linux() {
        true => ("zigbuild", format!("{}.{GLIBC}", release.target)),
        false => ("build", release.target.clone()),
    };
    command.args([build, "--locked", "--quiet", "--profile", "dist", "--package", "forage-node"]);
    run(command.args(["--target", &built_for]), "cargo zigbuild")?;
    Ok(release)
}

/// Copies a program into a new folder.
fn copied(program: &Path, folder: &Path) -> Result<(), String> {
    let to = folder.join(program.file_name().unwrap_or_default());
    let copy = std::fs::create_dir_all(folder).and_then(|()| std::fs::copy(program, &to).map(drop));
    copy.map_err(|error| format!("{}: {error}", to.display()))
}

/// Returns the environment variables that make a build reproducible at any time and place.
fn reproducible(workspace: &Workspace, root: &Path) -> Result<Vec<(&'static str, OsString)>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("there is no home directory")?;
    let flag = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    // The order matters, since rustc uses the last prefix that matches.
    let flags = [flag(&home, "/cargo"), flag(root, "/forage")].join("\u{1f}");
    let commit = git(workspace, &["log", "-1", "--abbrev=10", "--format=%h %cs"])?;
    let changed = if git(workspace, &["status", "--porcelain"])?.is_empty() { "" } else { ", changed" };
    Ok(vec![
        ("CARGO_ENCODED_RUSTFLAGS", flags.into()),
        ("CARGO_INCREMENTAL", "0".into()),
        ("FORAGE_COMMIT", format!("{commit}{changed}").into()),
        ("SOURCE_DATE_EPOCH", epoch(workspace)?.into()),
    ])
}

/// Returns the time of the commit in seconds. All files in archives get this time.
fn epoch(workspace: &Workspace) -> Result<String, String> {
    git(workspace, &["log", "-1", "--format=%ct"])
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String, String> {
    printed(workspace.program("git").args(arguments), "git")
}

/// Returns the target triple of this machine, for which we build.
fn host(workspace: &Workspace) -> Result<String, String> {
    let output = printed(workspace.program("rustc").arg("-vV"), "rustc")?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or("`rustc -vV` names no host".to_owned())
}

/// Returns a `PATH` that begins with the packaging environment, which contains zig.
fn path() -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = tool("").as_path().to_owned();
    std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path)))
        .map_err(|error| error.to_string())
}

/// Returns the path of a program in the packaging environment.
fn tool(name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    Workspace::from_manifest_dir().path("target/peers/packaging/python").join(folder).join(name)
}

/// Returns the path of a module for another language in cargo's output directory.
pub(crate) fn module(directory: &Path, name: &str) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    directory.join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
}

/// The name of the Node module.
pub(crate) const NODE_MODULE: &str = "forage_node";

/// Builds the npm packages of a program and a Node module.
pub(crate) fn node_packages(
    workspace: &Workspace,
    program: &Path,
    module: &Path,
    out: &Path,
) -> Result<(), String> {
    let metadata = workspace.cargo_json(&["metadata", "--no-deps", "--format-version", "1"])?;
    let mut command = workspace.program("python3");
    command.arg("-B").arg(workspace.path("packaging/node.py")).args([program, module, out]);
    command.args([&version(&metadata)?, &host(workspace)?, &epoch(workspace)?]);
    succeed(&mut command, "packaging/node.py")
}

impl Release {
    /// Writes the completions and manual pages of the program for the archives.
    fn describe(&self, workspace: &Workspace) -> Result<(), String> {
        let say = |arguments: &[&str]| printed(workspace.program(&self.program).args(arguments), "forage");
        let write = |below: &str, text: String| write(&self.out.join(below), text);
        for (shell, name) in [
            ("bash", "forage.bash"),
            ("zsh", "_forage"),
            ("fish", "forage.fish"),
            ("powershell", "forage.ps1"),
            ("elvish", "forage.elv"),
        ] {
            write(&format!("completions/{name}"), say(&["completions", shell])?)?;
        }
        write("man/forage.1", say(&["man"])?)?;
        let commands = say(&["man", "--list"])?;
        for command in commands.lines() {
            write(&format!("man/forage-{command}.1"), say(&["man", command])?)?;
        }
        Ok(())
    }

    fn is_linux(&self) -> bool {
        self.target.contains("linux")
    }

    /// Extracts the program and its bill of materials from the wheel in `folder`, into which maturin has
    /// moved them.
    fn unpack(&self, workspace: &Workspace, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("the wheel of the program: {error}");
        let wheel = std::fs::read_dir(folder).map_err(failed)?.next().ok_or("maturin built no wheel")?;
        let wheel = wheel.map_err(failed)?.path();
        let unzip = ["-m", "zipfile", "-e"];
        succeed(workspace.program("python3").args(unzip).args([&wheel, folder]), "python3")?;
        let name = self.program.file_name().unwrap_or_default();
        let scripts = folder.join(format!("forage_program-{}.data/scripts", self.version));
        std::fs::rename(scripts.join(name), &self.program).map_err(failed)?;
        // Python does not restore permissions, so we set them.
        #[cfg(unix)]
        std::fs::set_permissions(&self.program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .map_err(failed)?;
        let bills = folder.join(format!("forage_program-{}.dist-info/sboms", self.version));
        let bill = std::fs::read_dir(bills).map_err(failed)?.next().ok_or("there is no bill of materials")?;
        let bill = bill.map_err(failed)?.path();
        std::fs::rename(bill, self.out.join("forage.cdx.json")).map_err(failed)?;
        std::fs::remove_dir_all(folder).map_err(failed)
    }

    /// Builds the archives and the checksums.
    fn assemble(&self, workspace: &Workspace) -> Result<(), String> {
        let mut command = workspace.program("python3");
        command.arg("-B").arg(workspace.path("packaging/assemble.py"));
        command.args([&self.program, &self.node_module, &self.out]);
        command.args([&self.version, &self.target, &epoch(workspace)?]);
        succeed(&mut command, "packaging/assemble.py")
    }

    /// Lists all artifacts, sorted.
    fn files(&self) -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(&self.out).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|error| format!("{} can't be listed: {error}", self.out.display()))?;
        let mut files: Vec<PathBuf> =
            entries.iter().map(std::fs::DirEntry::path).filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Finds the file whose name has this suffix.
    fn file(&self, end: &str) -> Result<PathBuf, String> {
        let mut files = self.files()?.into_iter().filter(|path| path.to_string_lossy().ends_with(end));
        files.next().ok_or(format!("there is no file …{end} in {}", self.out.display()))
    }
}

/// Checks that a tag matches this version.
pub(crate) fn compare_tag(workspace: &Workspace, tag: &str) -> Result<(), String> {
    let metadata = workspace.cargo_json(&["metadata", "--no-deps", "--format-version", "1"])?;
    let version = version(&metadata)?;
    match tag == format!("v{version}") {
        true => Ok(()),
        false => Err(format!("the tag is {tag}, but the version is {version}")),
    }
}

/// Reads the version of the product.
fn version(metadata: &serde_json::Value) -> Result<String, String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut versions =
        packages.filter(|package| package["name"] == "forage-cli").map(|package| &package["version"]);
    let version = versions.next().and_then(serde_json::Value::as_str);
    version.map(str::to_owned).ok_or("`cargo metadata` has no forage-cli".to_owned())
}

/// Extracts the changelog section of the newest version, which comes first.
pub(crate) fn notes(workspace: &Workspace) -> Result<String, String> {
    let log = workspace.read(&workspace.path("CHANGELOG.md"))?;
    let section = log.split("\n## ").nth(1).and_then(|section| section.split_once('\n'));
    let (_, notes) = section.ok_or("CHANGELOG.md has no version")?;
    // The release notes are not next to the files that they link to, so links must be absolute.
    Ok(format!("{}\n", notes.trim().replace("](docs/", &format!("]({REPOSITORY}docs/"))))
}
