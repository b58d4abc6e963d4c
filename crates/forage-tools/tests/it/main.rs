//! The adversarial suite: hostile trees, names, bytes and requests against every tool of the registry. Each
//! attack should come with a positive control, which shows that it works without the defence.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make their own trees, and controls read them the way that is banned"
)]
#![expect(clippy::disallowed_macros, reason = "a test says how much of it was permitted here")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod arguments;
#[cfg(unix)]
mod changes;
mod code_patterns;
mod confinement;
mod dependencies;
#[cfg(unix)]
mod engines;
#[cfg(unix)]
mod files;
mod filter;
mod filter_attacks;
mod fuzz;
#[cfg(unix)]
mod history;
mod ignore_files;
mod impact;
mod kernel;
mod limits;
mod lookup;
mod map;
#[path = "../../../forage-lookup/tests/it/memory.rs"]
mod memory;
mod multi_root;
mod multiline;
mod names;
mod no_hits;
mod one_rule;
mod outline;
#[cfg(unix)]
mod output;
mod output_redactor;
mod paging;
#[cfg(unix)]
mod race;
mod ranked;
mod records;
mod search;
mod secrets;
mod similar;
#[cfg(unix)]
mod states;
mod support;
mod uses;
mod why;
mod workspace;
#[cfg(unix)]
mod worst;
