//! Builds the Node package as we publish it, installs it with npm into an empty directory, and uses it.

use std::path::{Path, PathBuf};

use crate::cargo::{Workspace, empty, succeed};
use crate::package;

/// The path of the package in the workspace.
const PACKAGE: &str = "crates/forage-node";

/// Builds the packages for this platform and installs them. Checks their types with test programs, and runs
/// the tests, with the machine's Node and with the newest one in the tests' list.
///
/// # Errors
///
/// Returns an error if a build or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let site = install(workspace)?;
    let mut tsc = workspace.program(site.join("node_modules/.bin/tsc"));
    succeed(tsc.args(["--outDir", "compiled"]).current_dir(&site), "tsc")?;
    // We do not check the declarations of other packages, but ours must be checked.
    let mut tsc = workspace.program(site.join("node_modules/.bin/tsc"));
    succeed(tsc.args(["--project", "tests/strict"]).current_dir(&site), "tsc on the declarations")?;
    for node in [PathBuf::from("node"), site.join("node_modules/node/bin/node")] {
        run_tests(workspace, &site, &node)?;
    }
    Ok(())
}

/// Runs the tests as a user's program would.
fn run_tests(workspace: &Workspace, site: &Path, node: &Path) -> Result<(), String> {
    let mut command = workspace.program("sh");
    command.args(["-c", "exec \"$0\" --test tests/*.test.mjs"]).arg(node).current_dir(site);
    command.env("FORAGE", workspace.forage()?).env("EXAMPLES", site.join("compiled/examples"));
    command.env("MODEL_SCRIPT", workspace.path("crates/forage/tests/clients/model.py"));
    succeed(&mut command, "node --test")
}

/// Builds a program from the examples in the comments of the declarations.
fn documented(workspace: &Workspace) -> Result<String, String> {
    let declarations = workspace.read(&workspace.path(PACKAGE).join("lib/index.d.ts"))?;
    let blocks = declarations.split("* ```ts\n").skip(1).filter_map(|rest| rest.split("* ```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.trim_start().trim_start_matches("* "));
    let body: Vec<&str> = lines.collect();
    let import = "import { Workspace } from \"forage-search\";\n";
    let body = body.join("\n");
    Ok(format!(
        "{import}export async function documented(workspace: Workspace): Promise<void> {{\n{body}\n}}\n"
    ))
}

/// Builds the module, and installs both packages together with the dependencies of the tests. Returns the
/// directory.
fn install(workspace: &Workspace) -> Result<PathBuf, String> {
    let site = workspace.path("target/bindings/node");
    empty(&site)?;
    workspace.cargo(&["build", "--quiet", "--package", "forage-node"])?;
    let metadata = workspace.cargo_json(&["metadata", "--no-deps", "--format-version", "1"])?;
    let built = metadata["target_directory"].as_str().ok_or("`cargo metadata` has no target_directory")?;
    let module = package::module(&Path::new(built).join("debug"), package::NODE_MODULE);
    package::node_packages(workspace, workspace.forage()?, &module, &site)?;
    for folder in ["tests", "examples"] {
        let from = workspace.path(PACKAGE).join(folder);
        succeed(workspace.program("cp").arg("-R").arg(from).arg(&site), "cp")?;
    }
    let page = workspace.read(&workspace.path("docs/typescript.md"))?;
    let blocks = page.split("```ts\n").skip(1).filter_map(|rest| rest.split("```").next());
    let page = "import { model, prompt } from \"./scripted.js\";\n".to_owned() + &blocks.collect::<String>();
    std::fs::write(site.join("tests/page.ts"), page).map_err(|error| error.to_string())?;
    std::fs::write(site.join("tests/strict/documented.ts"), documented(workspace)?)
        .map_err(|error| error.to_string())?;
    let moved = [("tests/package.json", "package.json"), ("tests/tsconfig.json", "tsconfig.json")];
    for (from, to) in moved {
        std::fs::rename(site.join(from), site.join(to)).map_err(|error| format!("{from}: {error}"))?;
    }
    // We compile the same program as an ES module and as CommonJS.
    std::fs::copy(site.join("tests/types.ts"), site.join("tests/types.cts"))
        .map_err(|error| error.to_string())?;
    let archives = std::fs::read_dir(&site).map_err(|error| error.to_string())?.flatten();
    let archives =
        archives.map(|file| file.path()).filter(|path| path.extension().is_some_and(|it| it == "tgz"));
    let mut npm = workspace.program("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline"]);
    npm.args(["--loglevel=error", "--prefix"]).arg(&site).args(archives);
    succeed(&mut npm, "npm install")?;
    Ok(site)
}
