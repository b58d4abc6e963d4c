//! Runs all benchmarks with one command, and compares two commits.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use fs_err as fs;

use crate::cargo::{Workspace, printed, run};
use crate::peers;

/// The names of the benchmarks, in the default order.
const BENCHMARKS: &[&str] = &["scan", "index", "indexes", "keywords", "library", "watched", "fuzzy", "build"];

/// The examples that a benchmark needs: its name, the package, the example, and the option that names it.
const EXAMPLES: [(&str, &str, &str, &str); 2] = [
    ("library", "forage-tools", "grep", "--example"),
    ("watched", "forage-search", "watched_search", "--searcher"),
];

/// Builds the programs with the release profile and runs the benchmarks. Writes the results as data, and the
/// tables of bench/results.md from them.
pub(crate) fn bench(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let (mut names, mut tree, mut runs) = (Vec::new(), None, None);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || rest.next().copied().with_context(|| format!("{argument} needs a value"));
        match argument {
            "--tree" => tree = Some(value()?),
            "--runs" => runs = Some(value()?),
            name if BENCHMARKS.contains(&name) => names.push(name),
            other => bail!("unknown benchmark {other}; known: {BENCHMARKS:?}"),
        }
    }
    if names.is_empty() {
        names = BENCHMARKS.to_vec();
    }
    // The programs run in another directory, so they need an absolute path.
    let tree = Path::new(tree.unwrap_or("")).canonicalize().context("can't open the directory of --tree")?;
    peers::install(workspace, false)?;
    let build = |package: &str| {
        // The benchmarks look for the programs here, even if the caller has set another target directory.
        let mut build = workspace.command(&format!("cargo build --profile dist --quiet --package {package}"));
        run(build.arg("--target-dir").arg(workspace.path("target")))
    };
    build("forage-cli")?;
    let built = workspace.path("target/dist");
    for name in names {
        println!("==> {name}");
        let mut command = python(workspace, &format!("{name}.py"));
        command.arg("--data").arg(workspace.path("bench/results"));
        command.args(runs.iter().flat_map(|runs| ["--runs", runs]));
        if name != "build" {
            command.arg("--tree").arg(&tree).arg("--forage").arg(built.join("forage"));
        }
        // These benchmarks use an existing index.
        if matches!(name, "index" | "library") {
            let mut index = workspace.program(built.join("forage"));
            run(index.args(["index", "build", "--root"]).arg(&tree))?;
        }
        for (_, package, example, option) in EXAMPLES.iter().filter(|(of, ..)| *of == name) {
            build(&format!("{package} --example {example}"))?;
            command.arg(option).arg(built.join("examples").join(example));
        }
        run(&mut command)?;
    }
    render(workspace, false)
}

/// Builds two commits, or uses two programs, and measures them pairwise.
pub(crate) fn compare(workspace: &Workspace, first: &str, second: &str, arguments: &[&str]) -> Result<()> {
    let sides = [program_of(workspace, first)?, program_of(workspace, second)?];
    run(python(workspace, "compare.py").args(sides).args(arguments))
}

/// Writes the tables of all results to bench/results.md. With `check`, this only compares them.
pub(crate) fn render(workspace: &Workspace, check: bool) -> Result<()> {
    run(python(workspace, "measure.py").args(check.then_some("--check")))
}

/// Returns the program of one side. For a commit, we build it unless this was already done.
fn program_of(workspace: &Workspace, side: &str) -> Result<PathBuf> {
    if let Ok(program) = Path::new(side).canonicalize()
        && program.is_file()
    {
        return Ok(program);
    }
    let mut git = workspace.command("git rev-parse --verify --quiet");
    let commit = printed(git.arg(format!("{side}^{{commit}}")))
        .with_context(|| format!("{side} is neither a program nor a commit"))?;
    let place = workspace.path("target/bench").join(&commit);
    let program = place.join("forage").with_extension(std::env::consts::EXE_EXTENSION);
    if program.is_file() {
        return Ok(program);
    }
    println!("==> building {side} ({commit})");
    let (source, built) = (place.join("source"), workspace.path("target/bench/build"));
    if !source.is_dir() {
        run(workspace.command("git worktree add --detach").arg(&source).arg(&commit))?;
    }
    // In older commits the package has another name, so we select the program by its own.
    let mut build =
        workspace.command("cargo build --profile dist --quiet --locked --bin forage --target-dir");
    let result = run(build.arg(&built).current_dir(&source));
    run(workspace.command("git worktree remove --force").arg(&source))?;
    result?;
    fs::create_dir_all(&place)?;
    fs::copy(built.join("dist").join(program.file_name().unwrap_or_default()), &program)?;
    Ok(program)
}

fn python(workspace: &Workspace, script: &str) -> Command {
    let mut command = workspace.command("python3 -B");
    command.arg(workspace.path("bench").join(script));
    command
}
