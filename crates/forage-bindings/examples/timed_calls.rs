//! Prints the median time of a call through the toolbox in microseconds, for `bench/python.py`.
//!
//! The arguments are TREE TOOL ARGUMENTS ROUNDS.
#![expect(clippy::disallowed_macros, reason = "it prints what it is asked for")]

use std::time::Instant;

use forage_bindings::{Toolbox, ToolboxSettings};
use forage_tools::Stop;
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tree, tool, request, rounds] = arguments.as_slice() else {
        return Err("TREE TOOL ARGUMENTS ROUNDS".into());
    };
    let request: Value = serde_json::from_str(request)?;
    let settings = ToolboxSettings { index: false.into(), ..ToolboxSettings::default() };
    let toolbox = Toolbox::open(&[tree.into()], settings)?;
    let mut times = Vec::new();
    for _ in 0..rounds.parse()? {
        let began = Instant::now();
        let answer = toolbox.call(tool, request.clone(), &Stop::never())?;
        std::hint::black_box(answer.text.len() + answer.records().to_string().len());
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!("{}", times[times.len() / 2].as_nanos() as f64 / 1000.0);
    Ok(())
}
