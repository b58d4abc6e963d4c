//! `forage`: code search for LLM agents and the people who run them.
//!
//! The binary is glue: it reads arguments, environment and configuration, builds the context of a call, runs the one
//! registry of tools and prints the answer. It holds no search logic.

mod answer_cache;
mod call_log;
mod child;
mod cli;
mod config;
mod conversations;
mod journal;
mod limits;
mod manner;
mod private_file;
mod retrieval;
mod rotated_file;
mod setup;
mod telemetry;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
