//! Development tasks.
//!
//! - `cargo xtask check`: runs everything that CI runs, step by step, up to the first failure. With `--all`,
//!   also runs the steps that take gigabytes or many minutes, and does not stop at a failure. With `--quick`,
//!   runs the daily check: format, house rules, clippy, and the unit tests of crates that differ from `main`.
//! - `cargo xtask peers`: installs the programs that the tests compare with into `target/peers`, as `check`
//!   does first. With `--all`, also installs the real agents and frameworks.
//! - `cargo xtask clients --newest`, `cargo xtask frameworks --newest`: reports on the newest versions of
//!   these.
//! - `cargo xtask advisories PATH`: compares the dependencies with a checkout of RustSec's database.
//! - `cargo xtask bench --tree DIR`: runs all benchmarks, or those that you name. Writes the results as data,
//!   and the tables of `bench/results.md` from them.
//! - `cargo xtask bench compare A B --tree DIR`: compares two commits or programs pairwise.
//! - `cargo xtask package`: builds the wheel, the npm packages, the archive, the bundle and the container's
//!   context from one build, in `target/package`. With `--check`, also installs and uses each of them, and
//!   builds twice.
//! - `cargo xtask docs`: builds the site in `target/book`, with `llms.txt`. Dead links and spelling mistakes
//!   are errors. With `--look`, checks the site in a browser, on a phone and on a screen, in light and dark
//!   colors.
//! - `cargo xtask ui`: checks the page of `forage ui` in a real browser, with screenshots in
//!   `target/screenshots/page`.
//! - `cargo xtask python`, `cargo xtask node`: builds, installs and uses the package for that language.
//! - `cargo xtask fronts`: sends the same requests through every interface, and checks that a tool which is
//!   added is available in all of them.
//! - `cargo xtask systems`: checks on Linux as much as possible for Windows, macOS and ARM: types, and tests
//!   under Wine and in an emulator.
//! - `cargo xtask release notes`: prints the changelog of this version. `release check TAG` checks that a tag
//!   matches this version.
//! - `cargo xtask generate`: writes the files that are generated from the program. With `--check`, only
//!   compares them.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a development tool that reads the sources, runs cargo and prints; it touches no user files"
)]

mod advisories;
mod bench;
mod bindings;
mod cargo;
mod check;
mod clients;
mod docs;
mod generate;
mod node;
mod package;
mod pages;
mod peers;
mod picture;
mod python;
mod systems;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use cargo::Workspace;

const USAGE: &str = "usage: cargo xtask check [--all|--quick]
       cargo xtask peers [--all]
       cargo xtask clients --newest
       cargo xtask frameworks --newest
       cargo xtask bench --tree DIR [--runs N] [NAME]...
       cargo xtask bench compare A B --tree DIR [--runs N]
       cargo xtask generate [--check]
       cargo xtask package [--check]
       cargo xtask release notes
       cargo xtask release check TAG
       cargo xtask docs [--look]
       cargo xtask ui
       cargo xtask python
       cargo xtask node
       cargo xtask fronts
       cargo xtask systems
       cargo xtask advisories PATH-OF-ADVISORY-DB";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let workspace = Workspace::from_manifest_dir();
    let result = match arguments.as_slice() {
        ["check"] => check::check(&workspace, false),
        ["check", "--all"] => check::check(&workspace, true),
        ["check", "--quick"] => check::quick(&workspace),
        ["peers"] => peers::install(&workspace, false),
        ["peers", "--all"] => peers::install(&workspace, true),
        ["clients", "--newest"] => clients::report_agents(&workspace),
        ["frameworks", "--newest"] => clients::report_frameworks(&workspace),
        ["bench", "compare", first, second, rest @ ..] => bench::compare(&workspace, first, second, rest),
        ["bench", arguments @ ..] => bench::bench(&workspace, arguments),
        ["package"] => package::make(&workspace),
        ["package", "--check"] => package::check(&workspace),
        ["docs"] => docs::build(&workspace),
        ["docs", "--look"] => docs::look(&workspace),
        ["ui"] => clients::check_page(&workspace),
        ["python"] => python::check(&workspace),
        ["fronts"] => package::check_fronts(&workspace),
        ["node"] => node::check(&workspace),
        ["systems"] => {
            peers::install_named(&workspace, &peers::SYSTEMS).and_then(|()| systems::check(&workspace))
        }
        ["release", "check", tag] => package::compare_tag(&workspace, tag),
        ["release", "notes"] => package::notes(&workspace).map(|notes| print!("{notes}")),
        ["advisories", database] => advisories::check(&workspace, database),
        ["generate"] => generate::write(&workspace).and_then(|()| bench::render(&workspace, false)),
        ["generate", "--check"] => {
            generate::compare(&workspace).and_then(|()| bench::render(&workspace, true))
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
