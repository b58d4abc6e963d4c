//! Runs everything that CI runs, or a quick part of it.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::cargo::{UNPUBLISHED, Workspace, printed};
use crate::{
    bench, browser, clients, direction, docs, frameworks, fronts, generate, house, node, package, page,
    peers, python, systems,
};

type Step = fn(&Workspace) -> Result<(), String>;

/// The steps in order: quick ones first, and those that take minutes last.
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
        // This builds and tests the code for other systems as far as possible.
        let portable = [("RUSTFLAGS", "--cfg portable_disk")];
        all.and(workspace.cargo_with(&["test", "--package", "forage-fs", "--no-fail-fast"], &portable))
    }),
    ("generated files", generate::compare),
];

/// The number of steps that `--quick` also runs.
const QUICK: usize = 3;

/// Further steps of `--all`, which take gigabytes or many minutes.
const FURTHER: &[(&str, Step)] = &[
    ("memory of the worst calls", |workspace| {
        let arguments = ["test", "--package", "forage-cli", "--test", "it", "--", "mcp::memory"];
        workspace.cargo_with(&arguments, &[("FORAGE_TEST_ALL_CALLS", "1")])
    }),
    ("real clients", clients::check),
    ("frameworks", frameworks::check),
    ("other systems", systems::check),
    ("site", |workspace| docs::build(workspace).and_then(|()| browser::check(workspace))),
    ("page", page::check),
    ("Python package", python::check),
    ("Node package", node::check),
    ("all fronts", fronts::check),
    ("installation", package::check),
    // Builds each crate as we would publish it, from its own package and those of its dependencies.
    ("packages", |workspace| {
        workspace.cargo(&[&["package", "--workspace", "--allow-dirty", "--quiet"], &UNPUBLISHED[..]].concat())
    }),
];

/// Installs the peers of the tests, and then runs each step. With `all`, goes on after a failure: a run of hours
/// should report everything that it finds.
pub(crate) fn run(workspace: &Workspace, all: bool) -> Result<(), String> {
    let started = Instant::now();
    // We should report peers that can't be installed before we compile anything.
    println!("==> programs that the tests compare with");
    peers::install(workspace, all)?;
    let steps: Vec<_> = STEPS.iter().chain(if all { FURTHER } else { &[] }).collect();
    perform(workspace, &steps, all)?;
    println!("==> all {} steps passed in {:.0} s", steps.len(), started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the daily check: formatting, house rules, clippy, and the unit tests of changed crates. Needs no peers.
pub(crate) fn quick(workspace: &Workspace) -> Result<(), String> {
    let started = Instant::now();
    let steps: Vec<_> = STEPS.iter().take(QUICK).chain([&UNIT_TESTS]).collect();
    perform(workspace, &steps, false)?;
    println!("==> quick check passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Tests the libraries and programs of crates that differ from the branch `main`, without their integration
/// tests.
const UNIT_TESTS: (&str, Step) = ("unit tests of changed crates", |workspace| {
    let changed = ["diff", "--name-only", "main", "--", "crates", "xtask"];
    let changed = printed(workspace.program("git").args(changed), "`git diff main`")?;
    let crates = changed.lines().filter_map(|path| match path.strip_prefix("crates/") {
        Some(path) => path.split('/').next().map(|name| if name == "forage" { "forage-cli" } else { name }),
        None => Some("xtask"),
    });
    crates.collect::<BTreeSet<_>>().into_iter().try_for_each(|name| {
        let is_program = matches!(name, "forage-cli" | "xtask");
        workspace.tests(&["--package", name, if is_program { "--bins" } else { "--lib" }])
    })
});

/// Runs and announces the steps. Stops at the first one that fails, unless `all` is set.
fn perform(workspace: &Workspace, steps: &[&(&str, Step)], all: bool) -> Result<(), String> {
    let mut failures = Vec::new();
    for (number, (name, step)) in steps.iter().enumerate() {
        println!("==> {}/{} {name}", number + 1, steps.len());
        let began = Instant::now();
        let result = step(workspace).map_err(|message| format!("{name}: {message}"));
        let seconds = began.elapsed().as_secs_f64();
        match result {
            Ok(()) => println!("    {name} passed in {seconds:.1} s"),
            Err(message) if !all => return Err(message),
            Err(message) => {
                println!("    {name} FAILED in {seconds:.1} s: {message}");
                failures.push(message);
            }
        }
    }
    if !failures.is_empty() {
        let (failed, of) = (failures.len(), steps.len());
        return Err(format!("{failed} of {of} steps failed:\n{}", failures.join("\n")));
    }
    Ok(())
}

/// Checks licenses, sources and duplicates. We leave out advisories, since they change independently of our
/// code and need a network.
fn cargo_deny(workspace: &Workspace) -> Result<(), String> {
    if !workspace.has_subcommand("deny") {
        println!("    cargo-deny is not installed: licences and sources are not checked");
        return Ok(());
    }
    workspace.cargo(&["deny", "--log-level", "error", "check", "bans", "licenses", "sources"])
}
