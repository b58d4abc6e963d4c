//! Forage as a library: what a program can use without the command line.
//!
//! The tools themselves are `forage_tools`; here is what is built from them. It reads no environment, prints nothing
//! and knows no command line: roots, models and limits are handed in.

pub mod agent;
pub mod manner;
pub mod mcp;
pub mod sandbox;
