//! Everything that CI runs.

use std::time::Instant;

use crate::cargo::{UNPUBLISHED, Workspace};
use crate::{
    bench, browser, clients, direction, docs, frameworks, fronts, generate, house, node, package, page,
    peers, python, systems,
};

type Step = fn(&Workspace) -> Result<(), String>;

/// The steps in their order: what takes a second before what takes minutes.
const STEPS: &[(&str, Step)] = &[
    ("format", |workspace| workspace.cargo(&["fmt", "--all", "--check"])),
    ("house rules", |workspace| {
        house::check(workspace)?;
        bench::render(workspace, true)
    }),
    ("clippy", |workspace| {
        workspace.cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    }),
    ("documentation", |workspace| {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
        workspace.cargo_with(&arguments, &[("RUSTDOCFLAGS", "-Dwarnings")])
    }),
    ("dependencies", |workspace| {
        direction::check(workspace)?;
        cargo_deny(workspace)
    }),
    ("tests", |workspace| {
        let all = workspace.tests(&["--workspace"]);
        // What other systems use, built and tested where it can be.
        let portable = [("RUSTFLAGS", "--cfg portable_disk")];
        all.and(workspace.cargo_with(&["test", "--package", "forage-fs", "--no-fail-fast"], &portable))
    }),
    ("generated files", generate::compare),
];

/// What `--all` adds: what takes gigabytes, or many minutes.
const FURTHER: &[(&str, Step)] = &[
    ("real clients", clients::check),
    ("frameworks", frameworks::check),
    ("other systems", systems::check),
    ("site", |workspace| docs::build(workspace).and_then(|()| browser::check(workspace))),
    ("page", page::check),
    ("Python package", python::check),
    ("Node package", node::check),
    ("all fronts", fronts::check),
    ("installation", package::check),
    // Each as it would be published, built from its own package and those that it depends on.
    ("packages", |workspace| {
        workspace.cargo(&[&["package", "--workspace", "--allow-dirty", "--quiet"], &UNPUBLISHED[..]].concat())
    }),
];

/// Installs what the tests compare with, then runs the steps, each announced, up to the first that fails.
pub(crate) fn run(workspace: &Workspace, all: bool) -> Result<(), String> {
    let started = Instant::now();
    // What can't be installed is told before anything is compiled.
    println!("==> what the tests compare with");
    peers::install(workspace, all)?;
    let steps: Vec<_> = STEPS.iter().chain(if all { FURTHER } else { &[] }).collect();
    for (number, (name, step)) in steps.iter().enumerate() {
        println!("==> {}/{} {name}", number + 1, steps.len());
        let began = Instant::now();
        step(workspace).map_err(|message| format!("{name}: {message}"))?;
        println!("    {name} passed in {:.1} s", began.elapsed().as_secs_f64());
    }
    println!("==> all {} steps passed in {:.0} s", steps.len(), started.elapsed().as_secs_f64());
    Ok(())
}

/// Licences, sources and duplicates. Advisories are left out: they change without a change here, and need a network.
fn cargo_deny(workspace: &Workspace) -> Result<(), String> {
    if !workspace.has_subcommand("deny") {
        println!("    cargo-deny is not installed: licences and sources are not checked");
        return Ok(());
    }
    workspace.cargo(&["deny", "--log-level", "error", "check", "bans", "licenses", "sources"])
}
