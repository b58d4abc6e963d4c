//! The worst known input for each tool. In any case, the call must end by its deadline, return its results
//! and say so. After cancellation, it must stop.
//!
//! We measure processor time, because wall time is unreliable on a busy machine. The margins are wide.
//! `bench/worst.py` prints the figures.

use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use forage_tools::registry::TOOLS;
use forage_tools::{Answer, ToolError, Workspace};
use serde_json::{Value, json};

use crate::lookup;
use crate::support::{Tree, call, in_child};

/// The deadline of each call.
const DEADLINE: Duration = Duration::from_millis(300);
/// Processor time of one thread that a call may take beyond its deadline. The promise is 0.3 s. Without it,
/// some of these would take from five seconds to minutes.
const MARGIN: Duration = Duration::from_millis(1_500);
/// Time after which a call is cancelled.
const CANCELLED_AFTER: Duration = Duration::from_millis(50);
/// Processor time that a call may take after it was cancelled. The promise is 0.1 s.
const CANCEL_MARGIN: Duration = Duration::from_millis(500);

/// How a call with a deadline ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// The work is too much for any machine, so it is truncated, and the answer says so.
    Cut,
    /// The call may finish in time.
    Any,
}

struct Worst {
    tool: &'static str,
    what: &'static str,
    tree: fn(&Tree),
    request: fn() -> Value,
    ends: Ends,
}

/// Writes 2 MB that are a single line of one letter.
fn one_letter(tree: &Tree) {
    tree.write("a.txt", vec![b'a'; 2 << 20]);
}

/// Writes a similar line with letters beyond ASCII, for which automata can't detect words.
fn one_letter_and_others(tree: &Tree) {
    tree.write("a.txt", "aé".repeat(700_000));
}

fn long_literal(last: &str) -> String {
    format!("{}{last}", "a".repeat(16_000))
}

/// Creates patterns that compile to a few megabytes each.
fn large_patterns() -> Vec<String> {
    (0..64).map(|number| format!(r"\w{{{}}}", 150 + number)).collect()
}

const WORST: &[Worst] = &[
    Worst {
        tool: "grep_search",
        what: "a literal of 16,000 letters in a line that is full of its beginnings",
        tree: one_letter,
        request: || json!({"pattern": long_literal("b?c"), "ignore_case": true}),
        ends: Ends::Cut,
    },
    Worst {
        tool: "grep_search",
        what: "the places of a literal that is at every place",
        tree: one_letter,
        request: || json!({"pattern": long_literal(""), "ignore_case": true}),
        ends: Ends::Any,
    },
    Worst {
        tool: "grep_search",
        what: "thousands of states at every place",
        tree: one_letter,
        request: || json!({"pattern": "(a?){3000}a{3000}[bc]?[de]"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "grep_search",
        what: "word boundaries beside letters beyond ASCII",
        tree: one_letter_and_others,
        request: || json!({"pattern": r"\B(é?a){2000}\B[^aé]"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "grep_search",
        what: "uses of a name that one long line has at every place",
        tree: |tree| {
            tree.write("a.c", "b(Name, c); ".repeat(160_000));
        },
        request: || json!({"pattern": "Name", "output": "uses"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "grep_search",
        what: "short lines and a pattern that is slow on each",
        tree: |tree| {
            tree.write("a.txt", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(150_000));
        },
        request: || json!({"pattern": "(a?){3000}a{3000}[bc]?[de]"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "Search",
        what: "every match looks at all of the line",
        tree: one_letter,
        request: || json!({"pattern": "a.*b|a", "timeout_ms": 300}),
        ends: Ends::Cut,
    },
    Worst {
        tool: "Search",
        what: "a long literal with four edits",
        tree: one_letter,
        request: || json!({"pattern": "abcd".repeat(750), "fuzzy": 4, "timeout_ms": 300}),
        ends: Ends::Any,
    },
    Worst {
        tool: "Search",
        what: "edits of anything in a long line",
        tree: one_letter_and_others,
        request: || json!({"pattern": r"(\w\d|a\wé)\w{60}\d\d\d\b", "fuzzy": 3, "timeout_ms": 300}),
        ends: Ends::Any,
    },
    Worst {
        tool: "Search",
        what: "plain text of 16,000 letters, without regard to case",
        tree: one_letter,
        request: || {
            let text = format!("{}.é", "a".repeat(16_000));
            json!({"pattern": text, "fixed_strings": true, "case": "insensitive", "timeout_ms": 300})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "Search",
        what: "whole words in a long line",
        tree: one_letter_and_others,
        request: || json!({"pattern": "(é?a){2000}[^aé]", "word_regexp": true, "timeout_ms": 300}),
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_search",
        what: "four literals of 16,000 letters, in a line of 50 KB",
        tree: |tree| {
            tree.write("a.txt", vec![b'a'; 50 << 10]);
        },
        request: || {
            let terms: Vec<String> = (0..4).map(|fewer| "a".repeat(16_000 - fewer)).collect();
            json!({"query": "which letters", "search_terms": terms})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_search",
        what: "four literals of 16,000 letters, in a line of 2 MB",
        tree: one_letter,
        request: || {
            let terms = ["b?c", "d?e", "[fg]h", "i?j"].map(long_literal);
            json!({"query": "which letters", "search_terms": terms})
        },
        ends: Ends::Cut,
    },
    Worst {
        tool: "keyword_search",
        what: "64 terms of thousands of parts",
        tree: |tree| {
            tree.write("a.txt", "text\n");
        },
        request: || {
            let terms: Vec<String> =
                (0..64).map(|number| format!("{}{number}", "[abcd]".repeat(2_500))).collect();
            json!({"query": "which letters", "search_terms": terms})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_search",
        what: "64 terms of thousands of classes that are folded",
        tree: |tree| {
            tree.write("a.txt", "text\n");
        },
        request: || {
            let terms: Vec<String> =
                (0..64).map(|number| format!("{}{number}", r"\pL".repeat(5_000))).collect();
            json!({"query": "which letters", "search_terms": terms})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_search",
        what: "58 terms that are too large",
        tree: |tree| {
            tree.write("a.txt", "text\n");
        },
        request: || {
            let terms: Vec<String> =
                (0..58).map(|number| format!(r"(\w{{50}}){{{}}}", 20 + number)).collect();
            json!({"query": "which words", "search_terms": terms})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_search",
        what: "64 terms that are nearly too large",
        tree: |tree| {
            tree.write("a.txt", "text\n");
        },
        request: || json!({"query": "which words", "search_terms": large_patterns()}),
        ends: Ends::Cut,
    },
    Worst {
        tool: "list_directory",
        what: "a directory of 20,000 files",
        tree: |tree| {
            for number in 0..20_000 {
                fs::write(tree.root().join(format!("{number}.txt")), "x\n").unwrap();
            }
        },
        request: || json!({"path": "."}),
        ends: Ends::Any,
    },
    Worst {
        tool: "read_file",
        what: "the end of a file of a hundred million lines",
        tree: |tree| {
            tree.write("a.txt", "\n".repeat(100 << 20));
        },
        request: || json!({"path": "a.txt", "start_line": 4_000_000_000_u64}),
        ends: Ends::Any,
    },
    Worst {
        tool: "search_index",
        what: "the first look at 10,000 files",
        tree: |tree| {
            for number in 0..10_000 {
                fs::write(tree.root().join(format!("{number}.txt")), "x\n").unwrap();
            }
        },
        request: || json!({"query": "x"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "search_index",
        what: "a question of thousands of words over a thousand files",
        tree: |tree| {
            for number in 0..1_000 {
                tree.write(
                    format!("{number}.rs"),
                    format!("fn word{number}() {{ word{} }}\n", number / 2).repeat(50),
                );
            }
        },
        request: || {
            let words: Vec<String> = (0..3_000).map(|number| format!("word{number}")).collect();
            json!({"query": words.join(" ")})
        },
        ends: Ends::Any,
    },
    Worst {
        tool: "search_history",
        what: "a slow pattern over versions of a long line",
        tree: |tree| {
            for number in 0..8 {
                tree.write("a.txt", format!("{}{number}\n", "a".repeat(3 << 20)));
                tree.commit("Change");
            }
        },
        request: || json!({"pattern": format!("(?i){}b?c", "a".repeat(16_000))}),
        ends: Ends::Cut,
    },
    Worst {
        tool: "search_history",
        what: "a file whose 190,000 lines all change",
        tree: |tree| {
            for number in 0..4 {
                let line = |line: usize| format!("line {number} {}\n", line * 7_919 % 190_001);
                tree.write("a.txt", (0..190_000).map(line).collect::<String>());
                tree.commit("Change");
            }
        },
        request: || json!({"pattern": "line"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "search_history",
        what: "renames of 400 files that were edited",
        tree: |tree| {
            for directory in ["one", "two"] {
                let _ = fs::remove_dir_all(tree.root().join("one"));
                for number in 0..400 {
                    let line = |line: usize| format!("line {} of {number}\n", line * number % 977);
                    let text = (0..500).map(line).collect::<String>() + directory;
                    tree.write(format!("{directory}/{number}.txt"), text);
                }
                tree.commit("Change");
            }
        },
        request: || json!({"pattern": "line"}),
        ends: Ends::Any,
    },
    Worst {
        tool: "keyword_lookup",
        what: "a question of two thousand words, of texts of megabytes",
        tree: |_| {},
        request: || {
            let words: Vec<String> = (0..1_400).map(|number| format!("w{number}")).collect();
            json!({"query": format!("word {}", words.join(" "))})
        },
        ends: Ends::Any,
    },
];

/// Reads the processor time of this process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Runs a row with a context for its tree.
fn with_row<T>(row: &Worst, run: impl FnOnce(Workspace, Value) -> T) -> T {
    let tree = Tree::new();
    (row.tree)(&tree);
    let lookup = (row.tool == "keyword_lookup").then(|| {
        let text = "a line of the word that is asked for, and of others\n".repeat(40_000);
        lookup::fixture(&[json!({"text": text.clone()}), json!({"text": text})])
    });
    let mut workspace = lookup.as_ref().map_or_else(|| tree.workspace(), |lookup| lookup.workspace.clone());
    workspace.limits.threads = 1;
    run(workspace, (row.request)())
}

fn is_cut(result: &Result<Answer, ToolError>) -> bool {
    match result {
        Ok(answer) => answer.records()["truncated_by"] == "timeout",
        Err(error) => error.to_string().contains("call ended before"),
    }
}

#[test]
fn every_tool_has_a_worst_input() {
    let rows: BTreeSet<&str> = WORST.iter().map(|row| row.tool).collect();
    let tools: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name()).collect();
    assert_eq!(rows, tools);
}

/// P4: the call must end by the deadline, with its results, and marked as partial.
#[test]
fn the_worst_ends_by_its_deadline() {
    in_child("worst::the_worst_ends_by_its_deadline", || {
        for row in WORST {
            with_row(row, |mut workspace, request| {
                workspace.limits.timeout = DEADLINE;
                // A ranking may get more time than a call. We don't measure this here.
                workspace.limits.indexing_time = DEADLINE;
                let (started, before) = (Instant::now(), processor_time());
                let result = call(&workspace, row.tool, request);
                let (wall, took) = (started.elapsed(), processor_time() - before);
                println!("{}: {}: {took:?} of processors, {wall:?}", row.tool, row.what);
                assert!(took < DEADLINE + MARGIN, "{}: {} took {took:?}", row.tool, row.what);
                let shown = result.as_ref().map(|answer| answer.text.clone());
                if row.ends == Ends::Cut {
                    assert!(
                        is_cut(&result),
                        "{}: {} does not say that it was cut: {shown:?}",
                        row.tool,
                        row.what
                    );
                }
                if let Ok(answer) = &result
                    && is_cut(&result)
                {
                    assert!(
                        answer.text.contains("time limit"),
                        "{}: {}: {}",
                        row.tool,
                        row.what,
                        answer.text
                    );
                }
            });
        }
    });
}

/// P4: a cancelled call must not use the processor.
#[test]
fn the_worst_is_over_once_it_is_cancelled() {
    in_child("worst::the_worst_is_over_once_it_is_cancelled", || {
        for row in WORST {
            with_row(row, |mut workspace, mut request| {
                // Here only cancellation should end the call.
                if request["timeout_ms"].is_number() {
                    request["timeout_ms"] = json!(60_000);
                }
                workspace.limits.timeout = Duration::from_secs(60);
                let stop = workspace.stop.clone();
                let (sender, ended) = mpsc::channel();
                let worker =
                    std::thread::spawn(move || sender.send(call(&workspace, row.tool, request).is_ok()));
                if ended.recv_timeout(CANCELLED_AFTER).is_err() {
                    stop.cancel();
                    let (started, before) = (Instant::now(), processor_time());
                    let done = ended.recv_timeout(Duration::from_secs(60));
                    let took = processor_time() - before;
                    println!("{}: {}: {took:?} of processors, {:?}", row.tool, row.what, started.elapsed());
                    assert!(done.is_ok(), "{}: {} goes on when it is cancelled", row.tool, row.what);
                    assert!(
                        took < CANCEL_MARGIN,
                        "{}: {} took {took:?} after it was cancelled",
                        row.tool,
                        row.what
                    );
                }
                worker.join().unwrap().unwrap();
            });
        }
    });
}
