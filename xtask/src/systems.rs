//! Checks other systems and processors, as far as this is possible on x86-64 Linux.
//!
//! Only rustup has precompiled standard libraries for them, so we build the library from source. The current
//! compiler may include the source. If it does not, Debian's security archive has a compiler that does.

use std::path::{Path, PathBuf};

use crate::cargo::{UNPUBLISHED, Workspace, empty, printed, remove, succeed, write};
use crate::peers;

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

/// The workspace, and the compiler that builds it for other systems.
struct OtherSystems<'a> {
    workspace: &'a Workspace,
    /// The environment variables for every command.
    variables: Vec<(&'static str, String)>,
}

/// Checks all systems.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let systems = OtherSystems::new(workspace)?;
    systems.types_for_windows()?;
    systems.types_for_macos()?;
    systems.searches_on_arm()?;
    systems.tests_on_windows()
}

/// Returns the command that checks the types of all products for a system: the program, and the modules for
/// Python and Node.
fn types_for(target: &str) -> Vec<&str> {
    let packages = ["forage-cli", "forage-python", "forage-node"].into_iter();
    let packages = packages.flat_map(|package| ["--package", package]);
    ["check"].into_iter().chain(packages).chain(["--target", target, "-Zbuild-std", "-Zwarnings"]).collect()
}

impl<'a> OtherSystems<'a> {
    fn new(workspace: &'a Workspace) -> Result<Self, String> {
        let mut variables = vec![
            // Two features are unstable: building the standard library, and denying warnings only in our own
            // packages.
            ("RUSTC_BOOTSTRAP", "1".to_owned()),
            ("CARGO_BUILD_WARNINGS", "deny".to_owned()),
            ("CARGO_TARGET_DIR", workspace.path("target/systems").display().to_string()),
            ("CARGO_PROFILE_DEV_DEBUG", "false".to_owned()),
        ];
        let sysroot = printed(workspace.program("rustc").args(["--print", "sysroot"]), "`rustc`")?;
        if !has_source(&Path::new(&sysroot).join("lib")) {
            let compiler = of_debian(workspace)?;
            let below = |path: &str| compiler.join(path).display().to_string();
            variables.push(("RUSTC", below("usr/bin/rustc")));
            variables.push(("LD_LIBRARY_PATH", below("usr/lib/x86_64-linux-gnu")));
        }
        Ok(Self { workspace, variables })
    }

    /// Runs a program, usually cargo, with the compiler that can build the standard library.
    fn run(&self, program: &str, arguments: &[&str], variables: &[(&str, String)]) -> Result<(), String> {
        let mut command = self.workspace.program(program);
        command.args(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        succeed(&mut command, &format!("`{program} {}`", arguments.join(" ")))
    }

    fn types_for_windows(&self) -> Result<(), String> {
        // Node modules are linked with this library. A check does not link, but still requires that the file
        // exists.
        let node = self.workspace.path("target/systems/libnode");
        write(&node.join("libnode.dll"), "")?;
        self.run("cargo", &types_for(WINDOWS), &[("LIBNODE_PATH", node.display().to_string())])
    }

    /// Checks the types for macOS. Zig compiles the C parts, because it includes the headers of that system.
    fn types_for_macos(&self) -> Result<(), String> {
        let zigbuild = self.workspace.path("target/peers/packaging/python/bin/cargo-zigbuild");
        let python = zigbuild.with_file_name("").display().to_string();
        let path = std::env::var("PATH").map_err(|error| error.to_string())?;
        let path = ("PATH", format!("{python}:{path}"));
        self.run(&zigbuild.display().to_string(), &types_for(MACOS), &[path])
    }

    /// Runs the program's tests under Wine.
    fn tests_on_windows(&self) -> Result<(), String> {
        let prefix = self.workspace.path("target/systems/wine");
        let variables = [
            ("WINEPREFIX", prefix.display().to_string()),
            ("WINEDEBUG", "-all".to_owned()),
            ("DISPLAY", String::new()),
            ("RUST_BACKTRACE", "0".to_owned()),
            ("CARGO_BUILD_WARNINGS", "allow".to_owned()),
            ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine".to_owned()),
            // Wine has no peers, so their tests are skipped. The configuration of cargo names one for Linux.
            (peers::REQUIRED, "0".to_owned()),
            ("FORAGE_TEST_RG", String::new()),
        ];
        self.run("wine", &["wineboot", "--init"], &variables)?;
        let source = self.workspace.path("xtask/src/systems/bcryptprimitives.c");
        let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        let mut compile = self.workspace.program("x86_64-w64-mingw32-gcc");
        compile.args(["-shared", "-O1", "-o"]).arg(&library).arg(&source).arg("-ladvapi32");
        succeed(&mut compile, "`x86_64-w64-mingw32-gcc`")?;

        let skipped = NOT_UNDER_WINE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let skipped = skipped.flat_map(|name| ["--skip", name]);
        let mut arguments = vec![
            "test",
            "--no-fail-fast",
            "--target",
            WINDOWS,
            "-Zbuild-std",
            "--workspace",
            "--lib",
            "--bins",
            "--test",
            "it",
        ];
        arguments.extend(UNPUBLISHED);
        arguments.push("--");
        arguments.extend(skipped);
        self.run("cargo", &arguments, &variables)
    }

    /// Runs the tests of vectorized (NEON) searches in an emulator.
    fn searches_on_arm(&self) -> Result<(), String> {
        let variables = [
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc".to_owned()),
            (
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                "qemu-aarch64 -L /usr/aarch64-linux-gnu".to_owned(),
            ),
        ];
        let arguments =
            ["test", "--package", "forage-search", "--target", ARM, "-Zbuild-std", "--lib", "prefilter"];
        self.run("cargo", &arguments, &variables)
    }
}

/// Returns true if a compiler's library directory contains the source of the standard library.
fn has_source(libraries: &Path) -> bool {
    libraries.join("rustlib/src/rust/library/Cargo.lock").is_file()
}

/// Downloads and unpacks Debian's compiler. We do not install it, because it conflicts with other compilers.
fn of_debian(workspace: &Workspace) -> Result<PathBuf, String> {
    let place = workspace.path("target/peers/systems/rust");
    if has_source(&place.join("usr/lib")) {
        return Ok(place);
    }
    println!("    unpacking Debian's compiler with the source of its library");
    let making = place.with_extension("new");
    empty(&making)?;
    // The package lists of an image are often outdated. They may also lack the security archive, which has
    // the newer compiler.
    peers::update_package_lists(workspace)?;
    let mut packages = PACKAGES.map(str::to_owned).to_vec();
    let mut at = 0;
    while let Some(package) = packages.get(at) {
        let depends = ["depends", "--no-recommends", "--no-suggests", package];
        let depends = printed(workspace.program("apt-cache").args(depends), "`apt-cache depends`")?;
        for name in depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")) {
            let is_wanted = DEPENDENCIES.iter().any(|start| name.starts_with(start));
            if is_wanted && !packages.iter().any(|package| package == name) {
                packages.push(name.to_owned());
            }
        }
        at += 1;
    }
    let mut download = workspace.program("apt-get");
    download.args(["download", "--quiet"]).args(&packages).current_dir(&making);
    succeed(&mut download, "`apt-get download`")?;
    let files = std::fs::read_dir(&making).map_err(|error| error.to_string())?;
    for file in files.flatten().map(|file| file.path()) {
        succeed(workspace.program("dpkg").arg("-x").arg(&file).arg(&making), "`dpkg -x`")?;
        std::fs::remove_file(&file).map_err(|error| error.to_string())?;
    }
    remove(&place)?;
    std::fs::rename(&making, &place).map_err(|error| error.to_string())?;
    Ok(place)
}
