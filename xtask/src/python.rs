//! Builds the Python package as a wheel, installs it into an empty directory, and uses it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;

use crate::cargo::{Workspace, remove, run};
use crate::peers::{self, BINDINGS, PACKAGING, python_tool};

/// The environment variable with a list of additional Python programs to test with.
const OTHERS: &str = "FORAGE_TEST_PYTHONS";

/// The checks of the package, in its directory. `PACKAGE` is the installed one.
const CHECKS: [&str; 6] = [
    "pytest -q -p no:cacheprovider tests",
    "mypy --strict examples",
    "mypy --strict tests/typed.py",
    "pyright --project tests/pyright.json",
    "mypy --strict PACKAGE",
    "mypy.stubtest forage --allowlist tests/stubtest.txt",
];

/// Builds the package for this platform, and tests it as a user's program would. Checks that its types match
/// its behavior.
///
/// # Errors
///
/// Returns an error if the build or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &[PACKAGING, BINDINGS])?;
    let installed = install(workspace)?;
    let package = installed.join("forage").display().to_string();
    let check = |python: &Path, check: &str| {
        let mut command = workspace.program(python);
        command
            .arg("-m")
            .args(check.split(' ').map(|word| if word == "PACKAGE" { package.as_str() } else { word }));
        command.current_dir(workspace.path("crates/forage-python"));
        command.env("PYTHONPATH", &installed).env("MYPYPATH", &installed);
        let forage = workspace.forage_path()?;
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("FORAGE", forage);
        command.env("REST_PEER", forage.with_file_name("examples").join("rest_peer"));
        command.env("MYPY_CACHE_DIR", workspace.path("target/bindings/mypy"));
        run(command.env("MODEL_SCRIPT", workspace.path("crates/forage/tests/clients/model.py")))
    };
    CHECKS.into_iter().try_for_each(|line| check(&python_tool(workspace, BINDINGS, "python"), line))?;
    let others = std::env::var_os(OTHERS).unwrap_or_default();
    for other in std::env::split_paths(&others).filter(|other| !other.as_os_str().is_empty()) {
        // We run only the tests of the package, which need nothing except for `pytest`.
        let other = environment(workspace, &other)?;
        check(&other, "pytest -q -p no:cacheprovider tests/test_package.py")?;
    }
    Ok(())
}

/// Creates an environment of another Python. Returns the path of its program.
fn environment(workspace: &Workspace, other: &Path) -> Result<PathBuf> {
    let place = workspace.path("target/bindings/other-python");
    remove(&place)?;
    run(workspace.program(other).args(["-m", "venv"]).arg(&place))?;
    let python = place.join("bin/python");
    run(workspace.program(&python).arg("--version"))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"];
    run(workspace.program(&python).args(pip))?;
    Ok(python)
}

/// Builds a wheel and unpacks it as `pip` would. Returns the directory.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let place = workspace.path("target/bindings/python");
    let (wheels, site) = (place.join("wheels"), place.join("site"));
    remove(&place)?;
    // This wheel has only the module. `cargo xtask package` adds the program.
    let mut build = workspace.program(python_tool(workspace, PACKAGING, "maturin"));
    run(build.args(["build", "--quiet", "--locked", "--profile", "dev", "--out"]).arg(&wheels))?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin built no wheel")??.path();
    let mut pip = workspace.program(python_tool(workspace, BINDINGS, "python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(["--no-deps", "--no-index", "--target"]).arg(&site).arg(&wheel))?;
    Ok(site)
}
