//! Searches a directory for a pattern with the command line's indexes: `grep DIRECTORY PATTERN`.
#![expect(clippy::disallowed_macros, reason = "a program of its own")]

use std::env::args;

use forage_tools::tools::GrepRequest;
use forage_tools::{Workspace, index_manager};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [directory, pattern] = [1, 2].map(|index| args().nth(index).unwrap_or_else(|| ".".to_owned()));
    let indexes = index_manager::shared_place().ok_or("there is no cache directory")?;
    let workspace = Workspace::open(directory)?.keep_indexes(indexes)?;
    let found = workspace.grep(GrepRequest::new(pattern).context_lines(0))?.response;
    for file in &found.files {
        for line in &file.lines {
            println!("{}:{}:{}", file.path, line.line_number, line.text);
        }
    }
    println!("{} matches in {} files", found.match_count, found.file_count);
    Ok(())
}
