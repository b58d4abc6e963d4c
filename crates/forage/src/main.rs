//! `forage`: code search for coding agents and the people who run them.
//!
//! This binary is glue. It reads arguments, environment and configuration, builds the context of a call, runs
//! the tool from the registry and prints the answer. Search logic must live in the libraries, never here.

mod answer_cache;
mod call_log;
mod child;
mod cli;
mod config;
mod conversations;
mod journal;
mod limits;
mod phrasing;
mod private_file;
mod retrieval;
mod rotated_file;
mod setup;
mod telemetry;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
