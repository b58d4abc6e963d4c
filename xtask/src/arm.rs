//! What runs on ARM alone: the vector searches with NEON.
//!
//! The standard library is built for it from its source, which rustup has as a component; an emulator runs the tests.

use crate::cargo::Workspace;

const LINUX: &str = "aarch64-unknown-linux-gnu";
const MACOS: &str = "aarch64-apple-darwin";

/// Building the standard library is not stable, and neither is anything else by that.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// Runs the tests of the vector searches under an emulator, and checks the types of the same for Apple's processors.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let search = ["-Zbuild-std", "--package", "forage-search", "--target"];
    let variables = [
        UNSTABLE,
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ];
    let tests = [&["test"], &search[..], &[LINUX, "--lib", "--", "prefilter"]].concat();
    workspace.cargo_with(&tests, &variables)?;
    let types = [&["check"], &search[..], &[MACOS]].concat();
    workspace.cargo_with(&types, &[UNSTABLE, ("RUSTFLAGS", "-Dwarnings")])
}
