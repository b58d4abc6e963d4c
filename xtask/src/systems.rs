//! Checks other systems and processors, as far as this is possible on x86-64 Linux.
//!
//! Only rustup has precompiled standard libraries for them, so we build the library from source. The current
//! compiler may include the source. If it does not, Debian's security archive has a compiler that does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use crate::cargo::{UNPUBLISHED, Workspace, empty, files_below, printed, remove, run, write};
use crate::peers::{self, PACKAGING, python_tool};

const ARM: &str = "aarch64-unknown-linux-gnu";
const MACOS: &str = "aarch64-apple-darwin";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The Debian packages of a compiler and of its library's source. Note that the names of their dependencies
/// contain a version.
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];
/// Prefixes of the names of these dependencies.
const DEPENDENCIES: [&str; 2] = ["libstd-rust-web", "libllvm"];

/// Parts of the names of tests that can't pass under Wine. The reasons are in lines that begin with `#`.
const NOT_UNDER_WINE: &str = include_str!("systems/not_under_wine.txt");

/// The products whose types we check: the program, and the modules for Python and Node.
const TYPES: &str = "check --package forage-cli --package forage-python --package forage-node";

/// Checks all systems.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let systems = OtherSystems { workspace, compiler: compiler(workspace)? };
    systems.types_for_windows()?;
    systems.types_for_macos()?;
    systems.searches_on_arm()?;
    systems.tests_on_windows()
}

/// Finds a directory with a compiler that has the source of its library, if the current one has no source.
fn compiler(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let sysroot = printed(&mut workspace.command("rustc --print sysroot"))?;
    Ok(if has_source(&Path::new(&sysroot).join("lib")) { None } else { Some(of_debian(workspace)?) })
}

/// The workspace, and the compiler that builds it for other systems.
struct OtherSystems<'a> {
    workspace: &'a Workspace,
    compiler: Option<PathBuf>,
}

impl OtherSystems<'_> {
    /// Prepares a program, usually cargo, that uses the compiler which can build the standard library.
    fn command(&self, line: &str) -> Command {
        let mut command = self.workspace.command(line);
        // Two features are unstable: building the standard library, and denying warnings only in our own
        // packages.
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_BUILD_WARNINGS", "deny");
        command.env("CARGO_TARGET_DIR", self.workspace.path("target/systems"));
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        if let Some(compiler) = &self.compiler {
            command.env("RUSTC", compiler.join("usr/bin/rustc"));
            command.env("LD_LIBRARY_PATH", compiler.join("usr/lib/x86_64-linux-gnu"));
        }
        command
    }

    fn types_for_windows(&self) -> Result<()> {
        // Node modules are linked with this library. A check does not link, but still requires that the file
        // exists.
        let node = self.workspace.path("target/systems/libnode");
        write(&node.join("libnode.dll"), "")?;
        let types = format!("cargo {TYPES} --target {WINDOWS} -Zbuild-std -Zwarnings");
        run(self.command(&types).env("LIBNODE_PATH", node))
    }

    /// Checks the types for macOS. Zig compiles the C parts, because it includes the headers of that system.
    fn types_for_macos(&self) -> Result<()> {
        let tools = python_tool(self.workspace, PACKAGING, "");
        let types = format!("cargo-zigbuild {TYPES} --target {MACOS} -Zbuild-std -Zwarnings");
        run(self.command(&types).envs(peers::path_with(&tools).map(|path| ("PATH", path))))
    }

    /// Runs the program's tests under Wine.
    fn tests_on_windows(&self) -> Result<()> {
        let prefix = self.workspace.path("target/systems/wine");
        let wine = |line: &str| {
            let mut command = self.command(line);
            command.env("WINEPREFIX", &prefix).env("WINEDEBUG", "-all").env("DISPLAY", "");
            command.env("RUST_BACKTRACE", "0").env("CARGO_BUILD_WARNINGS", "allow");
            command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
            // Wine has no peers, so their tests are skipped. The configuration of cargo names one for Linux.
            command.env(peers::REQUIRED, "0").env("FORAGE_TEST_RG", "");
            command
        };
        run(&mut wine("wine wineboot --init"))?;
        let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        let source = "xtask/src/systems/bcryptprimitives.c";
        let compile = format!("x86_64-w64-mingw32-gcc -shared -O1 {source} -ladvapi32 -o");
        run(self.workspace.command(&compile).arg(library))?;
        let skipped = NOT_UNDER_WINE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let tests = format!("cargo test --no-fail-fast --target {WINDOWS} -Zbuild-std --workspace");
        let tests = format!("{tests} --lib --bins --test it {UNPUBLISHED} --");
        run(wine(&tests).args(skipped.flat_map(|name| ["--skip", name])))
    }

    /// Runs the tests of vectorized (NEON) searches in an emulator.
    fn searches_on_arm(&self) -> Result<()> {
        let tests = format!("cargo test --package forage-search --target {ARM} -Zbuild-std --lib prefilter");
        let mut command = self.command(&tests);
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
        let emulator = "qemu-aarch64 -L /usr/aarch64-linux-gnu";
        run(command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", emulator))
    }
}

/// Returns true if a compiler's library directory contains the source of the standard library.
fn has_source(libraries: &Path) -> bool {
    libraries.join("rustlib/src/rust/library/Cargo.lock").is_file()
}

/// Downloads and unpacks Debian's compiler. We do not install it, because it conflicts with other compilers.
fn of_debian(workspace: &Workspace) -> Result<PathBuf> {
    let place = workspace.path("target/peers/systems/rust");
    if has_source(&place.join("usr/lib")) {
        return Ok(place);
    }
    println!("    unpacking Debian's compiler with the source of its library");
    let making = place.with_extension("new");
    empty(&making)?;
    // The package lists of an image are often outdated. They may also lack the security archive, which has
    // the newer compiler.
    peers::apt_as_root(workspace, "update")?;
    let mut packages = PACKAGES.map(str::to_owned).to_vec();
    let mut next = 0;
    while let Some(package) = packages.get(next) {
        let depends = format!("apt-cache depends --no-recommends --no-suggests {package}");
        let depends = printed(&mut workspace.command(&depends))?;
        for name in depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")) {
            let is_wanted = DEPENDENCIES.iter().any(|start| name.starts_with(start));
            if is_wanted && !packages.iter().any(|package| package == name) {
                packages.push(name.to_owned());
            }
        }
        next += 1;
    }
    run(workspace.command("apt-get download --quiet").args(&packages).current_dir(&making))?;
    for file in files_below(&making)? {
        run(workspace.command("dpkg -x").arg(&file).arg(&making))?;
        fs::remove_file(&file)?;
    }
    remove(&place)?;
    fs::rename(&making, &place)?;
    Ok(place)
}
