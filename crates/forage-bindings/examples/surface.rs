//! Prints what the packages are made of, for the types that are written beside them.
#![expect(clippy::disallowed_macros, reason = "it prints what it is asked for")]

use forage_bindings::{error_codes, methods};
use serde_json::json;

fn main() {
    let surface = json!({
        "methods": methods(),
        "errors": error_codes(),
    });
    println!("{surface}");
}
