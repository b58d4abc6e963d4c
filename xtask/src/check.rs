//! Runs everything that CI runs, or a quick part of it.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::cargo::{UNPUBLISHED, Workspace, printed, run};
use crate::{bench, clients, docs, generate, node, package, peers, python, systems};

type Step = (&'static str, fn(&Workspace) -> Result<()>);

/// The steps in order: quick ones first, and those that take minutes last.
const STEPS: &[Step] = &[
    ("format", |workspace| workspace.cargo("fmt --all --check")),
    ("house rules", |workspace| {
        workspace.own_tests("house")?;
        bench::render(workspace, true)
    }),
    ("clippy", |workspace| workspace.cargo("clippy --workspace --all-targets --quiet -- -D warnings")),
    ("documentation", |workspace| {
        let mut doc = workspace.command("cargo doc --workspace --no-deps --document-private-items --quiet");
        run(doc.env("RUSTDOCFLAGS", "-Dwarnings"))
    }),
    ("dependencies", |workspace| {
        workspace.own_tests("direction")?;
        cargo_deny(workspace)
    }),
    ("tests", |workspace| {
        let all = workspace.tests("--workspace");
        // This builds and tests the code for other systems as far as possible.
        let mut portable = workspace.command("cargo test --package forage-fs --no-fail-fast");
        all.and(run(portable.env("RUSTFLAGS", "--cfg portable_disk")))
    }),
    ("generated files", generate::compare),
];

/// The number of steps that `--quick` also runs.
const QUICK: usize = 3;

/// Further steps of `--all`, which take gigabytes or many minutes.
const FURTHER: &[Step] = &[
    ("memory of the worst calls", |workspace| {
        let mut memory = workspace.command("cargo test --package forage-cli --test it -- mcp::memory");
        run(memory.env("FORAGE_TEST_ALL_CALLS", "1"))
    }),
    ("real clients", |workspace| clients::AGENTS.check(workspace)),
    ("frameworks", |workspace| clients::FRAMEWORKS.check(workspace)),
    ("other systems", systems::check),
    ("site", docs::look),
    ("page", clients::check_page),
    ("Python package", python::check),
    ("Node package", node::check),
    ("all fronts", package::check_fronts),
    ("installation", package::check),
    // Builds each crate as we would publish it, from its own package and those of its dependencies.
    ("packages", |workspace| {
        workspace.cargo(&format!("package --workspace --allow-dirty --quiet {UNPUBLISHED}"))
    }),
];

/// Installs the peers of the tests, and then runs each step. With `all`, goes on after a failure: a run of hours
/// should report everything that it finds.
pub(crate) fn check(workspace: &Workspace, all: bool) -> Result<()> {
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
pub(crate) fn quick(workspace: &Workspace) -> Result<()> {
    let started = Instant::now();
    let steps: Vec<_> = STEPS.iter().take(QUICK).chain([&UNIT_TESTS]).collect();
    perform(workspace, &steps, false)?;
    println!("==> quick check passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Tests the libraries and programs of crates that differ from the branch `main`, without their integration
/// tests.
const UNIT_TESTS: Step = ("unit tests of changed crates", |workspace| {
    let changed = printed(&mut workspace.command("git diff --name-only main -- crates xtask"))?;
    let crates = changed.lines().filter_map(|path| match path.strip_prefix("crates/") {
        Some(path) => path.split('/').next().map(|name| if name == "forage" { "forage-cli" } else { name }),
        None => Some("xtask"),
    });
    crates.collect::<BTreeSet<_>>().into_iter().try_for_each(|name| {
        let kind = if matches!(name, "forage-cli" | "xtask") { "bins" } else { "lib" };
        workspace.tests(&format!("--package {name} --{kind}"))
    })
});

/// Runs and announces the steps. Stops at the first one that fails, unless `all` is set.
fn perform(workspace: &Workspace, steps: &[&Step], all: bool) -> Result<()> {
    let mut failures = Vec::new();
    for (number, (name, step)) in steps.iter().enumerate() {
        println!("==> {}/{} {name}", number + 1, steps.len());
        let began = Instant::now();
        let result = step(workspace).context(*name);
        let seconds = began.elapsed().as_secs_f64();
        match result {
            Ok(()) => println!("    {name} passed in {seconds:.1} s"),
            Err(error) if !all => return Err(error),
            Err(error) => {
                println!("    {name} FAILED in {seconds:.1} s: {error:#}");
                failures.push(format!("{error:#}"));
            }
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => bail!("{} of {} steps failed:\n{}", failures.len(), steps.len(), failures.join("\n")),
    }
}

/// Checks licenses, sources and duplicates. We leave out advisories, since they change independently of our
/// code and need a network.
fn cargo_deny(workspace: &Workspace) -> Result<()> {
    if workspace.has_subcommand("deny") {
        return workspace.cargo("deny --log-level error check bans licenses sources");
    }
    println!("    cargo-deny is not installed: licences and sources are not checked");
    Ok(())
}
