//! Builds the Node package as we publish it, installs it with npm into an empty directory, and uses it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use crate::cargo::{Workspace, empty, has_extension, run};
use crate::package;

/// The path of the package in the workspace.
const PACKAGE: &str = "crates/forage-node";

/// Builds the packages for this platform and installs them. Checks their types with test programs, and runs
/// the tests, with the machine's Node and with the newest one in the tests' list.
///
/// # Errors
///
/// Returns an error if a build or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let site = install(workspace)?;
    let tsc = || workspace.program(site.join("node_modules/.bin/tsc"));
    run(tsc().args(["--outDir", "compiled"]).current_dir(&site))?;
    // We do not check the declarations of other packages, but ours must be checked.
    run(tsc().args(["--project", "tests/strict"]).current_dir(&site))?;
    for node in [Path::new("node"), &site.join("node_modules/node/bin/node")] {
        let mut command = workspace.program("sh");
        command.args(["-c", "exec \"$0\" --test tests/*.test.mjs"]).arg(node).current_dir(&site);
        command.env("FORAGE", workspace.forage_path()?).env("EXAMPLES", site.join("compiled/examples"));
        run(command.env("MODEL_SCRIPT", workspace.path("crates/forage/tests/clients/model.py")))?;
    }
    Ok(())
}

/// Returns the text between each pair of these marks.
fn blocks<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
}

/// Builds a program from the examples in the comments of the declarations.
fn documented(workspace: &Workspace) -> Result<String> {
    let declarations = workspace.read(format!("{PACKAGE}/lib/index.d.ts"))?;
    let lines = blocks(&declarations, "* ```ts\n", "* ```").flat_map(str::lines);
    let body: Vec<&str> = lines.map(|line| line.trim_start().trim_start_matches("* ")).collect();
    let import = "import { Workspace } from \"forage-search\";\n";
    let body = body.join("\n");
    Ok(format!(
        "{import}export async function documented(workspace: Workspace): Promise<void> {{\n{body}\n}}\n"
    ))
}

/// Builds the module, and installs both packages together with the dependencies of the tests. Returns the
/// directory.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let site = workspace.path("target/bindings/node");
    empty(&site)?;
    workspace.cargo("build --quiet --package forage-node")?;
    let module = package::module(&workspace.target()?.join("debug"), package::NODE_MODULE);
    package::node_packages(workspace, workspace.forage_path()?, &module, &site)?;
    for folder in ["tests", "examples"] {
        run(workspace.command("cp -R").arg(workspace.path(PACKAGE).join(folder)).arg(&site))?;
    }
    let page = workspace.read("docs/typescript.md")?;
    let page = blocks(&page, "```ts\n", "```").collect::<String>();
    let import = "import { model, prompt } from \"./scripted.js\";\n";
    fs::write(site.join("tests/page.ts"), import.to_owned() + &page)?;
    fs::write(site.join("tests/strict/documented.ts"), documented(workspace)?)?;
    for name in ["package.json", "tsconfig.json"] {
        fs::rename(site.join("tests").join(name), site.join(name))?;
    }
    // We compile the same program as an ES module and as CommonJS.
    fs::copy(site.join("tests/types.ts"), site.join("tests/types.cts"))?;
    let files = fs::read_dir(&site)?.flatten().map(|file| file.path());
    let archives = files.filter(|path| has_extension(path, &["tgz"]));
    let npm = "npm install --no-audit --no-fund --no-package-lock --prefer-offline --loglevel=error --prefix";
    run(workspace.command(npm).arg(&site).args(archives))?;
    Ok(site)
}
