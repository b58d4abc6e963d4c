//! Builds the Python package as a wheel, installs it into an empty directory, and uses it.

use std::path::{Path, PathBuf};

use crate::cargo::{Workspace, remove, succeed};
use crate::peers;

/// The path of the package in the workspace.
const PACKAGE: &str = "crates/forage-python";

/// The environment variable with a list of additional Python programs to test with.
const OTHERS: &str = "FORAGE_TEST_PYTHONS";

/// Builds the package for this platform, and tests it as a user's program would. Checks that its types match
/// its behavior.
///
/// # Errors
///
/// Returns an error if the build or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    peers::install_named(workspace, &[peers::PACKAGING, peers::BINDINGS])?;
    let installed = install(workspace)?;
    let python = workspace.path("target/peers/bindings/python/bin/python");
    let run = |python: &Path, arguments: &[&str], shown: &str| {
        let mut command = workspace.program(python);
        command.args(arguments).current_dir(workspace.path(PACKAGE));
        command.env("PYTHONPATH", &installed).env("MYPYPATH", &installed);
        let forage = workspace.forage()?;
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("FORAGE", forage);
        command.env("REST_PEER", forage.with_file_name("examples").join("rest_peer"));
        command.env("MYPY_CACHE_DIR", workspace.path("target/bindings/mypy"));
        command.env("MODEL_SCRIPT", workspace.path("crates/forage/tests/clients/model.py"));
        succeed(&mut command, shown)
    };
    let own = installed.join("forage").display().to_string();
    let checks: [(&[&str], &str); 6] = [
        (&["pytest", "-q", "-p", "no:cacheprovider", "tests"], "pytest"),
        (&["mypy", "--strict", "examples"], "mypy on the examples"),
        (&["mypy", "--strict", "tests/typed.py"], "mypy on every type"),
        (&["pyright", "--project", "tests/pyright.json"], "pyright"),
        (&["mypy", "--strict", &own], "mypy on the package"),
        (&["mypy.stubtest", "forage", "--allowlist", "tests/stubtest.txt"], "stubtest"),
    ];
    for (arguments, shown) in checks {
        run(&python, &[&["-m"], arguments].concat(), shown)?;
    }
    let others = std::env::var_os(OTHERS).unwrap_or_default();
    for other in std::env::split_paths(&others).filter(|other| !other.as_os_str().is_empty()) {
        // We run only the tests of the package, which need nothing except for `pytest`.
        let other = environment(workspace, &other)?;
        let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_package.py"];
        run(&other, &tests, "pytest with another Python")?;
    }
    Ok(())
}

/// Creates an environment of another Python. Returns the path of its program.
fn environment(workspace: &Workspace, other: &Path) -> Result<PathBuf, String> {
    let place = workspace.path("target/bindings/other-python");
    remove(&place)?;
    succeed(workspace.program(other).args(["-m", "venv"]).arg(&place), "python -m venv")?;
    let python = place.join("bin/python");
    succeed(workspace.program(&python).arg("--version"), "python --version")?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"];
    succeed(workspace.program(&python).args(pip), "pip install")?;
    Ok(python)
}

/// Builds a wheel and unpacks it as `pip` would. Returns the directory.
fn install(workspace: &Workspace) -> Result<PathBuf, String> {
    let place = workspace.path("target/bindings/python");
    let (wheels, site) = (place.join("wheels"), place.join("site"));
    remove(&place)?;
    let tools = workspace.path("target/peers/packaging/python/bin");
    let mut build = workspace.program(tools.join("maturin"));
    // This wheel has only the module. `cargo xtask package` adds the program.
    build.args(["build", "--quiet", "--locked", "--profile", "dev", "--out"]).arg(&wheels);
    succeed(build.current_dir(workspace.path("")), "maturin build")?;
    let wheels = std::fs::read_dir(&wheels).map_err(|error| error.to_string())?;
    let wheel = wheels.flatten().map(|file| file.path()).next().ok_or("maturin built no wheel")?;
    let mut pip = workspace.program(workspace.path("target/peers/bindings/python/bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        "--target",
    ]);
    succeed(pip.arg(&site).arg(&wheel), "pip install")?;
    Ok(site)
}
