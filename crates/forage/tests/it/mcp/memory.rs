//! Measures the memory of the whole server during calls: at most 250 MiB for any call, and 500 MiB for eight
//! at a time. The inputs are the worst that we know for each tool.

use std::io::Write as _;

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{call, text};
use crate::Project;

const REVISION: &str = "2025-11-25";
const MEGABYTE: u64 = 1 << 20;
/// Maximum bytes of a server that answers one call.
const ONE_CALL: u64 = 250 * MEGABYTE;
/// Maximum bytes of a server that answers eight calls at a time.
const EIGHT_CALLS: u64 = 500 * MEGABYTE;

/// A call of a tool in the project that [`project`] creates.
struct WorstCall {
    tool: &'static str,
    arguments: Value,
    directory: &'static str,
}

/// Generates lines of the letters `a` and `b`. They are random but the same each time.
fn noise(lines: usize) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    let mut text = String::new();
    for _ in 0..lines {
        (0..200).for_each(|_| text.push(letter()));
        text.push('\n');
    }
    text
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Writes the files of a directory. `place` is its prefix, which is empty if the directory is the root
/// itself.
fn write(project: &Project, directory: &str, place: &str) {
    let write = |name: &str, text: &str| project.write(&format!("{place}{name}"), text);
    match directory {
        "words" => write("a.txt", &format!("{}\n", "abcdefghé ".repeat(40)).repeat(200)),
        "noise" => ["a.txt", "b.txt"].into_iter().for_each(|name| write(name, &noise(10_000))),
        "long" => {
            write("letters.txt", &"a".repeat(7 << 20));
            write("words.js", &"let é = abc_1; ".repeat(500_000));
            write("tens.txt", &format!("{}\n", "a".repeat(10_000)).repeat(700));
        }
        "many" => {
            (0..30).for_each(|file| write(&format!("d{file}.rs"), &"fn g(){alpha(1);}\n".repeat(30_000)))
        }
        // These statements have few bytes. Some files are as large as a parsed file may be, and others are
        // larger.
        _ => {
            write("dense.rs", &"fn g(){alpha(1);}\n".repeat(100_000));
            write("dense.c", &"a;".repeat(1_000_000));
            write("functions.py", &numbered(40_000, |n| format!("def f{n}(a): return alpha(a, {n})\n")));
            write("types.ts", &numbered(25_000, |n| format!("class C{n} {{ m(a: T) {{ alpha({n}) }} }}\n")));
            write("short.rs", &"fn alpha(){}\n".repeat(900_000));
            write("blank.txt", &"\n".repeat(16 << 20));
        }
    }
}

/// Creates a project with these directories. A single one becomes the root.
fn project(directories: &[&str]) -> Project {
    let project = Project::new(&[]);
    for directory in directories {
        let place = if directories.len() == 1 { String::new() } else { format!("{directory}/") };
        write(&project, directory, &place);
    }
    project.configure(
        "[filter]\nmode = \"lexical\"\n[limits]\ntimeout_ms = 3000\n[tools.search]\nenabled = true\n",
    );
    project
}

fn terms(term: impl Fn(usize) -> String) -> Value {
    json!({ "query": "q", "search_terms": (0..64).map(term).collect::<Vec<_>>() })
}

fn groups(count: usize, group: impl Fn(usize) -> String) -> Value {
    json!({ "pattern": (0..count).map(group).collect::<String>() + "a" })
}

/// Lists searches for 64 terms.
fn worst_terms() -> Vec<WorstCall> {
    let states = |n: usize| format!("(?-i:[ab]*a[ab]{{{}}}[ab]b[ab]{{{n}}}$)", n % 4 + 12);
    let call = |arguments, directory| WorstCall { tool: "keyword_search", arguments, directory };
    vec![
        // Some patterns are large together, and others fill the caches of their lazy automata.
        call(terms(|n| format!(r"\pL{{{}}}x", 200 + n)), "words"),
        call(terms(|n| format!(r"[\pL\pN]{{{}}}z", 60 + n)), "words"),
        call(terms(|n| format!(r"\w{{{}}}q", 20 + n)), "long"),
        call(terms(|n| format!("{}x", "abc_1; ".repeat(100 + n))), "long"),
        call(terms(states), "noise"),
    ]
}

/// Lists searches for one pattern.
fn worst_patterns() -> Vec<WorstCall> {
    let grep = |arguments, directory| WorstCall { tool: "grep_search", arguments, directory };
    let search = |arguments, directory| WorstCall { tool: "Search", arguments, directory };
    let pattern = |pattern: &str| json!({ "pattern": pattern });
    let multiline = |pattern: &str| json!({ "pattern": pattern, "multiline": true });
    let fuzzy = |pattern: &str| json!({ "pattern": pattern, "fuzzy": 4 });
    vec![
        grep(pattern(r"\pL{250}x"), "words"),
        grep(pattern(r"\w{180}x"), "long"),
        grep(pattern("((a{100}){100}){100}"), "words"),
        grep(pattern(&r"\pL".repeat(4_000)), "words"),
        grep(pattern("[ab]*a[ab]{16}b$"), "noise"),
        grep(multiline(r"\pL{200}(?s:.){0,300}x"), "long"),
        grep(multiline(r"[ab\n]*a[ab\n]{16}x"), "noise"),
        // Each part of a look-around is a regex of its own.
        grep(groups(300, |n| format!(r"(?=\pL{{{}}}x)", 100 + n)), "words"),
        grep(groups(300, |n| format!(r"(?<!\pL{{{}}})", 10 + n)), "words"),
        grep(groups(150, |n| format!("(?![ab]*a[ab]{{{}}}x)", 10 + n)), "noise"),
        grep(pattern(r"(\w{100})\1(?!x)"), "long"),
        search(fuzzy(r"\b\pL{150}x"), "words"),
        search(fuzzy(&"abcdefghij".repeat(300)), "long"),
        search(fuzzy(r"\b\w{40}x\w{20}\b"), "noise"),
        // These have many matches.
        search(json!({ "pattern": "a", "max_matches": 1_000_000 }), "long"),
        grep(json!({ "pattern": "[a-zé]", "context_lines": 5 }), "."),
        grep(json!({ "pattern": "a", "include": vec!["*.rs"; 100_000] }), "."),
    ]
}

/// Lists calls that read whole files or their syntax trees.
fn worst_files() -> Vec<WorstCall> {
    let grep = |arguments, directory| WorstCall { tool: "grep_search", arguments, directory };
    let read = |arguments| WorstCall { tool: "read_file", arguments, directory: "." };
    let list =
        |directory| WorstCall { tool: "list_directory", arguments: json!({ "symbols": true }), directory };
    let uses = json!({ "pattern": "alpha", "output": "uses" });
    let outline = |file: &str| json!({ "path": format!("code/{file}"), "outline": true });
    vec![
        grep(json!({ "pattern": "alpha($$$A)", "syntax": "rust" }), "many"),
        grep(json!({ "pattern": "$A;", "syntax": "c" }), "code"),
        grep(uses.clone(), "code"),
        grep(uses, "many"),
        grep(json!({ "pattern": "C1::alpha", "output": "uses" }), "many"),
        list("code"),
        list("many"),
        read(outline("dense.rs")),
        read(outline("dense.c")),
        read(outline("functions.py")),
        read(outline("short.rs")),
        read(outline("blank.txt")),
        read(json!({ "path": "code/short.rs", "symbol": "beta" })),
        read(json!({ "path": "long/words.js" })),
        read(json!({ "path": "code/blank.txt", "start_line": 16_000_000 })),
        WorstCall {
            tool: "search_index",
            arguments: json!({ "query": "alpha abc functions" }),
            directory: ".",
        },
    ]
}

/// Sends these calls to one server at the same time. Returns its peak memory and the last answer.
fn peak(project: &Project, calls: &[&WorstCall]) -> (u64, String) {
    let mut pipes = Pipes::connect(project, &[], REVISION);
    for (id, WorstCall { tool, arguments, directory }) in calls.iter().enumerate() {
        let mut arguments = arguments.clone();
        if *directory != "." && *tool != "keyword_search" {
            arguments["path"] = (*directory).into();
        }
        pipes.send(&call(REVISION, id as u64 + 1, tool, arguments));
    }
    let answers: Vec<Value> = calls.iter().map(|_| pipes.receive()).collect();
    let status = std::fs::read_to_string(format!("/proc/{}/status", pipes.server.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
    (peak, text(&answers[answers.len() - 1]).0.chars().take(80).collect())
}

/// Measures groups of calls and asserts that none takes more than `max` bytes.
fn assert_peaks<'a>(max: u64, groups: impl Iterator<Item = (&'a Project, Vec<&'a WorstCall>)>) {
    let mut above = Vec::new();
    for (project, calls) in groups {
        let (peak, answer) = peak(project, &calls);
        let shown: String = format!("{} {}", calls[0].tool, calls[0].arguments).chars().take(90).collect();
        let line = format!("{:4} MiB  {} × {shown}  {answer:?}", peak / MEGABYTE, calls.len());
        let _ = writeln!(std::io::stderr(), "{line}");
        if peak > max {
            above.push(line);
        }
    }
    assert!(above.is_empty(), "{above:#?}");
}

/// Returns true if we measure all calls, and not only the heaviest. This takes minutes
/// (`cargo xtask check --all`).
fn measures_all() -> bool {
    std::env::var_os("FORAGE_TEST_ALL_CALLS").is_some()
}

/// Returns the calls for terms, whose directory is their root, and then all other calls. Unless all are
/// measured, these are the calls of each kind that took most before there were limits.
fn calls() -> (Vec<WorstCall>, Vec<WorstCall>) {
    let mut terms = worst_terms();
    let mut others: Vec<WorstCall> = worst_patterns().into_iter().chain(worst_files()).collect();
    if !measures_all() {
        terms.truncate(1);
        others.retain(|call| {
            let arguments = call.arguments.to_string();
            let heavy =
                ["(?=", "\"uses\"", "alpha abc", "{0,300}"].iter().any(|part| arguments.contains(part));
            heavy && !arguments.contains("::")
        });
        assert_eq!(others.len(), 5);
    }
    (terms, others)
}

#[test]
fn any_call_takes_at_most_250_mib() {
    let all = project(&["words", "noise", "long", "many", "code"]);
    let (terms, others) = calls();
    let projects = terms.iter().map(|call| project(&[call.directory])).collect::<Vec<_>>();
    let of_terms = projects.iter().zip(&terms).map(|(project, call)| (project, vec![call]));
    assert_peaks(ONE_CALL, of_terms.chain(others.iter().map(|call| (&all, vec![call]))));
}

#[test]
fn eight_calls_at_a_time_take_at_most_500_mib() {
    let all = project(&["words", "noise", "long", "many", "code"]);
    let (terms, others) = calls();
    if !measures_all() {
        let mix = others.iter().cycle().take(8).collect();
        return assert_peaks(EIGHT_CALLS, [(&all, mix)].into_iter());
    }
    let projects = terms.iter().map(|call| project(&[call.directory])).collect::<Vec<_>>();
    let of_terms = projects.iter().zip(&terms).map(|(project, call)| (project, vec![call; 8]));
    // Each mix has calls of every kind.
    let mixes = (0..4).map(|mix| others.iter().skip(mix).step_by(4).collect());
    let same = others.iter().step_by(5).map(|call| vec![call; 8]);
    assert_peaks(EIGHT_CALLS, of_terms.chain(mixes.chain(same).map(|calls| (&all, calls))));
}
