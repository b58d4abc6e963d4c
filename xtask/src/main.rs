//! Development tasks.
//!
//! - `cargo xtask check`: everything that CI runs, step by step, up to the first failure; with `--all`, what takes
//!   gigabytes or many minutes, too.
//! - `cargo xtask clients`: the step of `--all` that runs real agents; with `--newest`, a report on their newest versions.
//! - `cargo xtask advisories PATH`: compares the dependencies with a checkout of RustSec's database.
//! - `cargo xtask generate`: writes the files that are made from the program; with `--check`, only compares them.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a development tool: it reads the sources, runs cargo and prints; no user's file is near"
)]

mod advisories;
mod cargo;
mod check;
mod clients;
mod configuration;
mod direction;
mod frameworks;
mod generate;
mod house;
mod parsers;

use std::process::ExitCode;

use cargo::Workspace;

const USAGE: &str = "usage: cargo xtask check [--all]
       cargo xtask clients [--newest]
       cargo xtask generate [--check]
       cargo xtask advisories PATH-OF-ADVISORY-DB";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let workspace = Workspace::of_this_source();
    let result = match arguments.as_slice() {
        ["check"] => check::run(&workspace, false),
        ["check", "--all"] => check::run(&workspace, true),
        ["clients"] => clients::check(&workspace),
        ["clients", "--newest"] => clients::report(&workspace),
        ["advisories", database] => advisories::check(&workspace, database),
        ["generate"] => generate::write(&workspace),
        ["generate", "--check"] => generate::compare(&workspace),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
