//! The Python package: built as a wheel, installed where nothing else is, and used.

use std::path::PathBuf;

use crate::cargo::{Workspace, remove, succeed};
use crate::peers;

/// Where the package is, below the workspace.
const PACKAGE: &str = "crates/forage-python";

/// Builds the package for this platform, tests it as a program uses it, and holds its types against what it is.
///
/// # Errors
/// It can't be built, or a test fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    peers::install_for_packages(workspace)?;
    peers::install_for_python(workspace)?;
    let installed = install(workspace)?;
    let python = workspace.path("target/peers/bindings/python/bin/python");
    let run = |arguments: &[&str], shown: &str| {
        let mut command = workspace.program(&python);
        command.args(arguments).current_dir(workspace.path(PACKAGE));
        command.env("PYTHONPATH", &installed).env("MYPYPATH", &installed);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("FORAGE", workspace.forage()?);
        command.env("MYPY_CACHE_DIR", workspace.path("target/bindings/mypy"));
        command.env("MODEL_SCRIPT", workspace.path("crates/forage/tests/clients/model.py"));
        succeed(&mut command, shown)
    };
    run(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], "pytest")?;
    run(&["-m", "mypy", "--strict", "examples"], "mypy on the examples")?;
    let own = installed.join("forage").display().to_string();
    run(&["-m", "mypy", "--strict", &own], "mypy on the package")?;
    run(&["-m", "mypy.stubtest", "forage", "--allowlist", "tests/stubtest.txt"], "stubtest")
}

/// Builds a wheel and unpacks it as `pip` does; returns where it is.
fn install(workspace: &Workspace) -> Result<PathBuf, String> {
    let place = workspace.path("target/bindings/python");
    let (wheels, site) = (place.join("wheels"), place.join("site"));
    remove(&place)?;
    let tools = workspace.path("target/peers/packaging/python/bin");
    let mut build = workspace.program(tools.join("maturin"));
    build.args(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(workspace.path(PACKAGE).join("Cargo.toml")).arg("--out").arg(&wheels);
    succeed(&mut build, "maturin build")?;
    let wheels = std::fs::read_dir(&wheels).map_err(|error| error.to_string())?;
    let wheel = wheels.flatten().map(|file| file.path()).next().ok_or("maturin has made no wheel")?;
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
