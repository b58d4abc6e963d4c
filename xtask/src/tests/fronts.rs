//! Sends the same requests in five ways: through the library, the packages for Python and Node, the command
//! line, and the server. All of them must answer with the same bytes. A tool that is added to the registry
//! must be available in all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::{Value, json};

use crate::cargo::{Workspace, files_below, printed, remove, run, write};
use crate::package;
use crate::peers::{BINDINGS, python_tool};

/// The files to search.
const TREE: [(&str, &str); 3] = [
    ("src/main.py", "import retry\n\n\ndef main():\n    retry.again(3)\n"),
    ("src/retry.py", "\"\"\"Tries again.\"\"\"\n\n\ndef again(times):\n    return times\n"),
    ("notes.txt", "needle\nneedle\n"),
];

/// Makes the server use the same names of tools as the other interfaces.
const CONFIGURATION: &str = "tools.search.enabled = true
tools.read_file.name = \"read_file\"
tools.list_directory.name = \"list_directory\"
";

/// The tool to add, and the places that must name it: a file, the text before or after which we insert, and
/// the text to insert.
const TOOL: &str = "crates/forage-tools/src/tools/count_words";
const NAMED: [(&str, &str, &str); 3] = [
    ("crates/forage-tools/src/tools.rs", "mod adapted;\n", "pub(crate) mod count_words;\n"),
    (
        "crates/forage-tools/src/registry.rs",
        "use crate::tools::{",
        "use crate::tools::count_words::CountWords;\n",
    ),
    ("crates/forage-tools/src/registry.rs", "tools![", "CountWords, "),
];

#[test]
fn all_fronts_answer_alike() {
    if !super::is_requested("fronts") {
        return;
    }
    let workspace = &Workspace::from_manifest_dir();
    let place = workspace.path("target/bindings/fronts");
    let fronts = Fronts { workspace, source: place.join("source"), place };
    fronts.copy().unwrap();
    fronts.build().unwrap();
    let requests = workspace.read("xtask/fronts/requests.json").unwrap();
    let requests: Vec<(String, Value)> = serde_json::from_str(&requests).unwrap();
    let all = fronts.answers(&requests).unwrap();
    let (_, expected) = &all[0];
    for (name, answers) in &all[1..] {
        for (at, (request, expected)) in requests.iter().zip(expected).enumerate() {
            let answer = answers.get(at).unwrap_or(&Value::Null);
            // The command line gives advice in its own words, so we compare only the code.
            let is_same = match (*name, expected["code"].as_str()) {
                ("command line", Some(code)) => answer["code"] == code,
                _ => answer == expected,
            };
            assert!(is_same, "{name}, {request:?}: {answer:#}\nand not {expected:#}");
        }
    }
    let answered = expected.iter().filter(|answer| answer["code"].is_null()).count();
    println!("    {} requests by {} ways, {answered} with answers: the same", requests.len(), all.len());
}

struct Fronts<'a> {
    workspace: &'a Workspace,
    place: PathBuf,
    source: PathBuf,
}

type Answers = Vec<Value>;

impl Fronts<'_> {
    /// Updates the copy. We do not write unchanged files again, so that cargo does not rebuild them.
    fn copy(&self) -> Result<()> {
        let list = "git ls-files -z --cached --others --exclude-standard";
        let listed = printed(&mut self.workspace.command(list))?;
        let mut files = BTreeMap::new();
        for file in listed.split('\0').filter(|file| !file.is_empty()) {
            // Git lists a deleted file until the deletion is committed.
            if let Ok(content) = fs::read(self.workspace.path(file)) {
                files.insert(file.to_owned(), content);
            }
        }
        let own = |file: &str| self.workspace.read(format!("xtask/fronts/{file}"));
        for end in ["rs", "md"] {
            files.insert(format!("{TOOL}.{end}"), own(&format!("count_words.{end}"))?.into_bytes());
        }
        files.insert("crates/forage-tools/examples/fronts.rs".to_owned(), own("rust.rs")?.into_bytes());
        for (file, before, line) in NAMED {
            let content = files.get_mut(file).with_context(|| format!("there is no {file}"))?;
            let text = String::from_utf8_lossy(content).into_owned();
            let at = text.rfind(before).with_context(|| format!("{file} has no {before:?}"))?;
            let at = if line.ends_with('\n') { at } else { at + before.len() };
            *content = format!("{}{line}{}", &text[..at], &text[at..]).into_bytes();
        }
        for file in files_below(&self.source).unwrap_or_default() {
            let below = file.strip_prefix(&self.source).unwrap_or(&file);
            if !files.contains_key(&*below.to_string_lossy()) {
                fs::remove_file(&file)?;
            }
        }
        for (file, content) in &files {
            update(&self.source.join(file), content)?;
        }
        for (name, text) in TREE {
            update(&self.place.join("tree").join(name), text.as_bytes())?;
        }
        update(&self.place.join("config/forage/config.toml"), CONFIGURATION.as_bytes())
    }

    fn build(&self) -> Result<()> {
        let build = |packages: &str| {
            let mut command = self.workspace.command(&format!("cargo build --quiet {packages}"));
            run(command.current_dir(&self.source).env("CARGO_TARGET_DIR", self.built()))
        };
        build("--package forage-cli --package forage-python --package forage-node")?;
        build("--package forage-tools --example fronts")?;
        let module = |name: &str| package::module(&self.built().join("debug"), name);
        let python = self.place.join("python/forage");
        remove(&python)?;
        copy_folder(&self.workspace.path("crates/forage-python/python/forage"), &python)?;
        copy(&module("_forage"), &python.join("_forage.abi3.so"))?;
        let modules = self.place.join("node_modules");
        let node = modules.join("forage-search");
        remove(&node)?;
        copy_folder(&self.workspace.path("crates/forage-node/lib"), &node.join("lib"))?;
        copy(&self.workspace.path("crates/forage-node/package.json"), &node.join("package.json"))?;
        copy(&module(package::NODE_MODULE), &node.join("lib/forage.node"))?;
        // We reuse the official client from the tests of the server.
        let peers = self.workspace.path("target/peers/mcp/node_modules");
        let client = modules.join("@modelcontextprotocol");
        let _ = fs::remove_file(&client);
        std::os::unix::fs::symlink(peers.join("@modelcontextprotocol"), &client)?;
        ["node.mjs", "mcp.mjs"].iter().try_for_each(|script| {
            copy(&self.workspace.path(format!("xtask/fronts/{script}")), &self.place.join(script))
        })
    }

    fn built(&self) -> PathBuf {
        self.place.join("target")
    }

    /// Returns the answers to the requests for each interface.
    fn answers(&self, requests: &[(String, Value)]) -> Result<[(&'static str, Answers); 5]> {
        let tree = self.place.join("tree");
        let forage = self.built().join("debug/forage");
        let (json, config) = (json!(requests).to_string(), self.place.join("config"));
        let ask = |command: &mut Command| {
            let reported = printed(command.env("HOME", &self.place).env("XDG_CONFIG_HOME", &config))?;
            let answers: Answers = serde_json::from_str(&reported)?;
            Ok::<_, anyhow::Error>(answers.into_iter().map(comparable).collect::<Answers>())
        };
        let example = self.built().join("debug/examples/fronts");
        let python = python_tool(self.workspace, BINDINGS, "python");
        let (node, mcp) = (self.place.join("node.mjs"), self.place.join("mcp.mjs"));
        let own_python = self.workspace.path("xtask/fronts/python.py");
        let program = |program: &Path| self.workspace.program(program);
        let of_command = requests.iter().map(|(tool, request)| {
            let request = request.to_string();
            let call = |arguments: &[&str]| {
                let mut command = program(&forage);
                command.args(["call", tool, &request]).args(arguments).current_dir(&tree);
                let command = command.env("HOME", &self.place).env("XDG_CONFIG_HOME", &config);
                let output = command.output()?;
                Ok::<_, anyhow::Error>(String::from_utf8_lossy(&output.stdout).into_owned())
            };
            let records: Value = serde_json::from_str(&call(&["--json"])?).with_context(|| tool.clone())?;
            Ok(comparable(match records["code"].as_str() {
                Some(code) => json!({ "code": code }),
                None => json!({ "text": call(&[])?, "records": records }),
            }))
        });
        Ok([
            ("library", ask(program(&example).arg(&tree).arg(&json))?),
            (
                "Python",
                ask(program(&python)
                    .arg(own_python)
                    .args([tree.as_os_str(), json.as_ref()])
                    .env("PYTHONPATH", self.place.join("python"))
                    .env("PYTHONDONTWRITEBYTECODE", "1"))?,
            ),
            ("Node", ask(program(Path::new("node")).arg(node).args([tree.as_os_str(), json.as_ref()]))?),
            (
                "server",
                ask(program(Path::new("node")).arg(mcp).args([
                    forage.as_os_str(),
                    tree.as_os_str(),
                    json.as_ref(),
                ]))?,
            ),
            ("command line", of_command.collect::<Result<Answers>>()?),
        ])
    }
}

/// Removes the time of an answer, which differs between calls, and the final line end.
fn comparable(mut answer: Value) -> Value {
    fn plain(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("elapsed_ms");
                fields.values_mut().for_each(plain);
            }
            Value::Array(values) => values.iter_mut().for_each(plain),
            // JavaScript writes 1.0 as 1, so we convert all numbers.
            Value::Number(number) => *value = json!(number.as_f64()),
            _ => {}
        }
    }
    plain(&mut answer);
    if let Some(text) = answer["text"].as_str() {
        answer["text"] = text.trim_end_matches('\n').into();
    }
    answer
}

/// Writes a file, unless it already has this content.
fn update(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) { Ok(()) } else { write(path, content) }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    update(to, &fs::read(from)?)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    files_below(from)?
        .iter()
        .try_for_each(|file| copy(file, &to.join(file.strip_prefix(from).unwrap_or(file))))
}
