//! Runs all benchmarks with one command, and compares two commits.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Workspace, printed, succeed};
use crate::peers;

/// The names of the benchmarks, in the default order.
const BENCHMARKS: &[&str] = &["scan", "index", "indexes", "keywords", "library", "watched", "fuzzy", "build"];

/// The benchmarks of a run, and the tree to search.
struct BenchRun<'a> {
    names: Vec<&'a str>,
    tree: PathBuf,
    runs: Option<&'a str>,
}

/// Builds the programs with the release profile and runs the benchmarks. Writes the results as data, and the
/// tables of bench/results.md from them.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let BenchRun { names, tree, runs } = BenchRun::parse(arguments)?;
    peers::install(workspace, false)?;
    // The benchmarks look for the programs here, even if the caller has set another target directory.
    let target = workspace.path("target").display().to_string();
    let profile = ["build", "--profile", "dist", "--quiet", "--target-dir", &target];
    workspace.cargo(&[&profile[..], &["--package", "forage-cli"]].concat())?;
    for (name, package, example) in
        [("library", "forage-tools", "grep"), ("watched", "forage-search", "watched_search")]
    {
        if names.contains(&name) {
            workspace.cargo(&[&profile[..], &["--package", package, "--example", example]].concat())?;
        }
    }
    let built = |name: &str| workspace.path("target/dist").join(name);
    let data = workspace.path("bench/results");
    for name in &names {
        println!("==> {name}");
        let mut command = python(workspace, &format!("{name}.py"));
        command.arg("--data").arg(&data).args(runs.iter().flat_map(|runs| ["--runs", runs]));
        if *name != "build" {
            command.arg("--tree").arg(&tree).arg("--forage").arg(built("forage"));
        }
        // These benchmarks use an existing index.
        if matches!(*name, "index" | "library") {
            let mut build = workspace.program(built("forage"));
            succeed(build.args(["index", "build", "--root"]).arg(&tree), "forage index build")?;
        }
        match *name {
            "library" => command.arg("--example").arg(built("examples/grep")),
            "watched" => command.arg("--searcher").arg(built("examples/watched_search")),
            _ => &mut command,
        };
        succeed(&mut command, name)?;
    }
    render(workspace, false)
}

/// Builds two commits, or uses two programs, and measures them pairwise.
pub(crate) fn compare(
    workspace: &Workspace,
    first: &str,
    second: &str,
    arguments: &[&str],
) -> Result<(), String> {
    let sides = [program_of(workspace, first)?, program_of(workspace, second)?];
    let mut command = python(workspace, "compare.py");
    succeed(command.args(sides).args(arguments), "compare.py")
}

/// Writes the tables of all results to bench/results.md. With `check`, this only compares them.
pub(crate) fn render(workspace: &Workspace, check: bool) -> Result<(), String> {
    let mut command = python(workspace, "measure.py");
    succeed(command.args(check.then_some("--check")), "measure.py")
}

impl<'a> BenchRun<'a> {
    fn parse(arguments: &[&'a str]) -> Result<Self, String> {
        let mut run = Self { names: Vec::new(), tree: PathBuf::new(), runs: None };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut value = || rest.next().copied().ok_or(format!("{argument} needs a value"));
            match argument {
                "--tree" => run.tree = PathBuf::from(value()?),
                "--runs" => run.runs = Some(value()?),
                name if BENCHMARKS.contains(&name) => run.names.push(name),
                other => return Err(format!("unknown benchmark {other}; known: {BENCHMARKS:?}")),
            }
        }
        if run.names.is_empty() {
            run.names = BENCHMARKS.to_vec();
        }
        // The programs run in another directory, so they need an absolute path.
        run.tree = run
            .tree
            .canonicalize()
            .map_err(|error| format!("can't open the directory of --tree ({error})"))?;
        Ok(run)
    }
}

/// Returns the program of one side. For a commit, we build it unless this was already done.
fn program_of(workspace: &Workspace, side: &str) -> Result<PathBuf, String> {
    if let Ok(program) = Path::new(side).canonicalize()
        && program.is_file()
    {
        return Ok(program);
    }
    let named = format!("{side}^{{commit}}");
    let mut git = workspace.program("git");
    let commit = printed(git.args(["rev-parse", "--verify", "--quiet", &named]), "git rev-parse")
        .map_err(|_| format!("{side} is neither a program nor a commit"))?;
    let place = workspace.path("target/bench").join(&commit);
    let program = place.join("forage").with_extension(std::env::consts::EXE_EXTENSION);
    if program.is_file() {
        return Ok(program);
    }
    println!("==> building {side} ({commit})");
    let (source, built) = (place.join("source"), workspace.path("target/bench/build"));
    if !source.is_dir() {
        let mut checkout = workspace.program("git");
        succeed(checkout.args(["worktree", "add", "--detach"]).arg(&source).arg(&commit), "git worktree")?;
    }
    let mut build = workspace.program("cargo");
    build.current_dir(&source).args([
        "build",
        "--profile",
        "dist",
        "--quiet",
        "--locked",
        // In older commits the package has another name, so we select the program by its own.
        "--bin",
        "forage",
    ]);
    let result = succeed(build.arg("--target-dir").arg(&built), "cargo build");
    let mut remove = workspace.program("git");
    succeed(remove.args(["worktree", "remove", "--force"]).arg(&source), "git worktree")?;
    result?;
    let from = built.join("dist/forage").with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::create_dir_all(&place)
        .and_then(|()| std::fs::copy(&from, &program))
        .map_err(|error| format!("can't save {}: {error}", workspace.shown(&program)))?;
    Ok(program)
}

fn python(workspace: &Workspace, script: &str) -> Command {
    let mut command = workspace.program("python3");
    command.arg("-B").arg(workspace.path("bench").join(script));
    command
}
