//! Prints the methods and errors of the packages as JSON. `cargo xtask generate` creates their types from it.
#![expect(clippy::disallowed_macros, reason = "it prints what it is asked for")]

use forage_bindings::{error_classes, methods};
use serde_json::json;

fn main() {
    let surface = json!({
        "methods": methods(),
        "errors": error_classes(),
    });
    println!("{surface}");
}
