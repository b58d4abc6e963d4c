//! Tests of this repository and of the products that tasks have built.
//!
//! `house` and `direction` always run. A task requests the others when their files are ready.

mod direction;
mod fronts;
mod house;
mod installed;
mod links;
mod site;

use crate::cargo::OWN_TESTS;

/// Returns true if a task has requested a module of tests.
fn is_requested(module: &str) -> bool {
    let is_requested = std::env::var_os(OWN_TESTS).is_some_and(|requested| requested == module);
    if !is_requested {
        println!("skipped {module}: only a task of `cargo xtask` prepares its files");
    }
    is_requested
}
