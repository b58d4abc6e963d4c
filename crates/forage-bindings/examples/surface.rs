//! Prints the packages' methods and errors, for their type definitions.
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
