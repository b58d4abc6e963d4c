//! T11: no answer may contain a secret from a file, whichever tool is called and whichever line it shows. The
//! answer says that something is hidden. Files without secrets are answered as without redaction.

use std::sync::Arc;

use forage_redact::Redactor;
use forage_tools::Workspace;
use serde_json::{Value, json};

use crate::lookup::{code, fixture};
use crate::support::{NEEDLE, Seen, Tree, answer, ask_model, attack, call, line_with};

/// Length from which a part of a secret reveals something. The patterns of a caller are shorter.
const PART: usize = 12;

/// Tools that display lines of files.
const READERS: [&str; 5] = ["Search", "grep_search", "keyword_search", "read_file", "search_index"];

/// Pseudorandom numbers that are the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn characters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(ALPHABET[self.below(ALPHABET.len())])).collect()
    }
}

/// Creates a token in its real format. We compute it, so that no file of the project contains one.
fn token() -> String {
    format!("ghp_{}", Numbers(7).characters(36))
}

/// Creates the lines of a key. The middle one contains a word that we can search for.
fn body() -> Vec<String> {
    let mut numbers = Numbers(11);
    let mut lines: Vec<String> = (0..50).map(|_| numbers.characters(64)).collect();
    lines[25] = format!("{}+{NEEDLE}/{}", numbers.characters(28), numbers.characters(28));
    lines
}

/// Copies a workspace, and turns off all redaction in the copy.
fn open(workspace: &Workspace) -> Workspace {
    let mut workspace = workspace.clone();
    workspace.redactor = Arc::new(Redactor::off());
    workspace.filter.redactor = Arc::new(Redactor::off());
    workspace
}

/// Finds a visible part of a secret, if there is one.
fn shown<'s>(everything: &str, secrets: &'s [String]) -> Option<&'s str> {
    let parts = |secret: &'s String| (0..=secret.len() - PART).map(move |at| &secret[at..at + PART]);
    secrets.iter().flat_map(parts).find(|part| everything.contains(part))
}

fn assert_hidden(what: &str, seen: &[Seen], secrets: &[String]) {
    for one in seen {
        let everything = one.everything();
        let found = shown(&everything, secrets);
        assert!(found.is_none(), "{what}: {} shows {found:?}: {everything}", one.tool);
    }
}

/// Positive control: lists the tools that display a part of a secret without redaction.
fn leaking(seen: &[Seen], secrets: &[String]) -> Vec<&'static str> {
    let leaks = seen.iter().filter(|one| shown(&one.everything(), secrets).is_some());
    let mut tools: Vec<&str> = leaks.map(|one| one.tool).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

/// Creates files that contain the key in the usual formats.
fn key_files(body: &[String]) -> Vec<(&'static str, String)> {
    let (begin, end) =
        (|kind: &str| format!("-----BEGIN {kind}-----"), |kind: &str| format!("-----END {kind}-----"));
    let pem = |kind: &str, separator: &str| {
        let lines = [vec![begin(kind)], body.to_vec(), vec![end(kind)]].concat();
        lines.join(separator)
    };
    let rsa = "RSA PRIVATE KEY";
    let each = |before: &str, after: &str| {
        let lines = pem(rsa, "\n").lines().map(|line| format!("{before}{line}{after}\n")).collect::<String>();
        format!("# What this is needs no {NEEDLE}.\n{lines}\n")
    };
    let pgp = "PGP PRIVATE KEY BLOCK";
    let putty =
        format!("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 50\n{}\nPrivate-MAC: 0a\n", body.join("\n"));
    vec![
        ("pem.txt", format!("{}\n", pem(rsa, "\n"))),
        ("crlf.txt", format!("{}\r\n", pem("PRIVATE KEY", "\r\n"))),
        (
            "headers.txt",
            pem(rsa, "\n").replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1),
        ),
        ("pgp.txt", pem(pgp, "\n").replacen('\n', "\nVersion: 2\n\n", 1)),
        ("putty.txt", putty),
        ("values.yaml", each("      ", "")),
        ("deploy.rs", each("    \"", "\\n\\")),
        ("deploy.js", each("  '", "\\n' +")),
        ("comment.py", each("# ", "")),
        ("listing.md", each("> ", "")),
        ("one-line.json", format!("{{\"key\": \"{}\\n\", \"a\": 1}}\n", pem("PRIVATE KEY", "\\n"))),
    ]
}

#[test]
fn no_line_of_a_key_is_shown_whichever_tool_is_asked_for_it() {
    let body = body();
    for (name, text) in key_files(&body) {
        let tree = Tree::new();
        tree.write(name, &text);
        let workspace = tree.workspace();
        assert_hidden(name, &attack(&workspace, name), &body);
        assert_eq!(leaking(&attack(&open(&workspace), name), &body), READERS, "{name}: the control");

        // We read each line separately, so that neither end of the block is visible.
        for line in 1..=text.lines().count() {
            let request = json!({"path": name, "start_line": line, "end_line": line});
            let read = answer(&workspace, "read_file", request.clone());
            let everything = format!("{}{}", read.text, read.records().clone());
            assert_eq!(shown(&everything, &body), None, "line {line} of {name}: {everything}");
            let raw = answer(&open(&workspace), "read_file", request);
            let is_of_key = shown(&raw.text, &body).is_some();
            let is_told = read.records()["redacted_lines"] == json!([line]);
            assert!(is_told || !is_of_key, "line {line} of {name}: {everything}");
        }
    }
}

/// If a file is searched in chunks, the start of a key may be in another chunk.
#[test]
fn no_line_of_a_key_in_a_large_file_is_shown() {
    let (tree, body) = (Tree::new(), body());
    let (_, pem) = key_files(&body).swap_remove(0);
    // The first chunk ends within the key.
    let filler = "a line of a log that says nothing\n";
    let before = ((8 << 20) - pem.len() / 2) / filler.len();
    tree.write("all.log", format!("{}{pem}{}", filler.repeat(before), filler.repeat(50_000)));
    let workspace = tree.workspace();
    for (tool, request) in [
        ("grep_search", json!({"pattern": NEEDLE})),
        ("grep_search", json!({"pattern": NEEDLE, "context_lines": 10})),
        ("Search", json!({"pattern": NEEDLE})),
        ("Search", json!({"pattern": "neddle", "fuzzy": 1, "best_first": true})),
        ("keyword_search", json!({"query": "q", "search_terms": [NEEDLE]})),
    ] {
        let everything = |workspace: &Workspace| {
            let found = answer(workspace, tool, request.clone());
            assert!(found.found, "{tool} {request}: {}", found.text);
            format!("{}{}", found.text, found.records().clone())
        };
        assert_eq!(shown(&everything(&workspace), &body), None, "{tool} {request}");
        assert!(shown(&everything(&open(&workspace)), &body).is_some(), "{tool} {request}: the control");
    }
}

/// Creates trees that have a token in every place from which a tool takes text.
fn places(token: &str) -> Vec<(&'static str, Tree, Vec<&'static str>)> {
    let place = |fill: &dyn Fn(&Tree)| {
        let tree = Tree::new();
        tree.write("other.txt", "nothing\n");
        fill(&tree);
        tree
    };
    let names = ["Search", "grep_search", "keyword_search", "list_directory", "search_index"];
    let shows_lines = || vec!["Search", "grep_search", "keyword_search", "search_index"];
    vec![
        ("a line", place(&|tree| drop(tree.write("a.txt", format!("{NEEDLE} {token}\n")))), shows_lines()),
        (
            "a line that is cut, at every place in it",
            place(&|tree| {
                let rest = "w ".repeat(300);
                for near in 0..40 {
                    let words = "w".repeat(5 * near);
                    tree.write(
                        format!("{near}.txt"),
                        format!("{rest}{token} {words}{NEEDLE} {words}{token} {rest}\n"),
                    );
                }
            }),
            vec!["Search", "grep_search", "keyword_search"],
        ),
        (
            "the line behind its name",
            place(&|tree| {
                drop(tree.write("a.yaml", format!("password =\n  \"{}-{NEEDLE}\"\n", &token[4..])))
            }),
            shows_lines(),
        ),
        (
            "a file's name",
            place(&|tree| drop(tree.write(format!("{token}.txt"), format!("{NEEDLE}\n")))),
            names.to_vec(),
        ),
        (
            "a directory's name",
            place(&|tree| drop(tree.write(format!("d/{token}/e/a.txt"), format!("{NEEDLE}\n")))),
            names.to_vec(),
        ),
        ("a link's target", place(&|tree| tree.link(format!("to/{token}"), "link")), vec!["list_directory"]),
        (
            "a symbol",
            place(&|tree| {
                drop(tree.write("a.rs", format!("/// {NEEDLE}\npub fn {token}() {{\n    {NEEDLE}();\n}}\n")))
            }),
            vec!["search_index"],
        ),
        (
            "a rule that hides",
            place(&|tree| {
                tree.write(format!("hid-{token}.txt"), format!("{NEEDLE}\n"));
                drop(tree.write(".ignore", format!("hid-{token}*\n")));
            }),
            vec!["grep_search", "keyword_search"],
        ),
        (
            "a rule that is none",
            place(&|tree| drop(tree.write(".ignore", format!("{{{token}\n")))),
            vec!["Search", "grep_search", "keyword_search", "search_index"],
        ),
    ]
}

#[test]
fn tokens_are_redacted_everywhere() {
    let token = token();
    let secrets = [token.clone()];
    for (what, tree, expected) in places(&token) {
        let workspace = tree.workspace();
        let mut paths = vec!["."];
        paths.extend(["a.txt", "a.yaml", "a.rs"].into_iter().filter(|name| tree.root().join(name).is_file()));
        let mut leaks = Vec::new();
        for path in &paths {
            assert_hidden(what, &attack(&workspace, path), &secrets);
            leaks.extend(leaking(&attack(&open(&workspace), path), &secrets));
        }
        for tool in &expected {
            let control = attack(&open(&workspace), ".");
            let answers: Vec<String> =
                control.iter().filter(|one| one.tool == *tool).map(Seen::everything).collect();
            assert!(
                leaks.contains(tool),
                "{what}: the control shows it in {leaks:?}, not in {tool}: {answers:?}"
            );
        }
        assert!(
            paths.len() == 1 || leaks.contains(&"read_file"),
            "{what}: the control shows it in {leaks:?}"
        );
    }
}

#[test]
fn a_lookup_shows_no_secret_of_a_collection() {
    let (token, body) = (token(), body());
    let (_, pem) = key_files(&body).swap_remove(0);
    let text = format!("{NEEDLE} {token}\n{pem}");
    let mut payload = code(&format!("src/{token}.rs"), &text);
    payload["notes"] = json!({"by": ["me", token]});
    let fixture = fixture(&[payload]);
    let ask = |workspace: &Workspace| {
        let found = answer(workspace, "keyword_lookup", json!({"query": NEEDLE}));
        assert_eq!(found.records()["status"], "found");
        format!("{}{}", found.text, found.records().clone())
    };
    let secrets = [vec![token], body].concat();
    let closed = ask(&fixture.workspace);
    assert_eq!(shown(&closed, &secrets), None, "{closed}");
    assert!(shown(&ask(&open(&fixture.workspace)), &secrets).is_some(), "the control");
}

/// A model's explanation of a file is displayed, too, and the model may know a secret from elsewhere.
#[test]
fn an_explanation_shows_no_secret() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE} {}\n", token()));
    let request = json!({"query": "q", "search_terms": [NEEDLE]});
    let (found, sent) = ask_model(&tree.workspace(), request);
    let found = found.unwrap();
    let everything = format!("{}{}{sent}", found.text, found.records().clone());
    assert_eq!(shown(&everything, &[token()]), None, "{everything}");
    assert_eq!(found.records()["model"]["redacted"], 1, "{everything}");
}

#[test]
fn answer_counts_redacted_secrets() {
    let (tree, token) = (Tree::new(), token());
    tree.write(
        "a.txt",
        format!("one\n{NEEDLE} {token} and {token}\nthree\n{NEEDLE} {token} {NEEDLE}\nfive\n"),
    );
    let workspace = tree.workspace();
    let read = answer(&workspace, "read_file", json!({"path": "a.txt"}));
    assert_eq!(read.records()["redacted"], json!({"github-token": 3}));
    assert_eq!(read.records()["redacted_lines"], json!([2, 4]));
    let note = "[3 secrets are hidden as [redacted:RULE] (github-token 3): the file has other text there, so never write a mark back into it]";
    assert_eq!(line_with(&read.text, "hidden as"), note);
    insta::assert_snapshot!(read.text);
    assert_eq!(read.hidden.total(), 3);
    for tool in ["grep_search", "Search"] {
        let found = answer(&workspace, tool, json!({"pattern": NEEDLE}));
        assert_eq!(found.records()["redacted"], json!({"github-token": 3}), "{tool}");
        assert_eq!(line_with(&found.text, "hidden as"), note, "{tool}");
    }
    // Line numbers stay the same, and spans refer to the displayed text.
    let found =
        answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "context_lines": 0})).records().clone();
    let lines = found["files"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["line_number"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 4]);
    let text = lines[1]["text"].as_str().unwrap();
    assert_eq!(text, "needle [redacted:github-token] needle");
    assert_eq!(lines[1]["spans"], json!([[0, 6], [text.len() - 6, text.len()]]));
    // For the positive control and for a file without secrets, nothing should be reported as hidden.
    for plain in [answer(&open(&workspace), "read_file", json!({"path": "a.txt"})), {
        tree.write("b.txt", "[redacted:github-token] stands in this file\n");
        answer(&workspace, "read_file", json!({"path": "b.txt"}))
    }] {
        assert!(plain.records()["redacted"].is_null() && plain.records()["redacted_lines"].is_null());
        assert!(!plain.text.contains("hidden as"), "{}", plain.text);
    }
}

/// Collects all pages of an answer by following its cursors. A page is its text and its records, without the
/// values that differ between runs.
fn pages(workspace: &Workspace, tool: &str, request: &Value) -> Vec<(String, Value)> {
    let (mut request, mut pages) = (request.clone(), Vec::new());
    loop {
        let answer = match call(workspace, tool, request.clone()) {
            Ok(answer) => answer,
            Err(error) => panic!("{tool} {request}: {error}"),
        };
        let mut records = answer.records().clone();
        records.as_object_mut().unwrap().remove("elapsed_ms");
        let cursor = records["next_cursor"].clone();
        pages.push((answer.text, records));
        assert!(pages.len() < 300, "{tool} {request} does not end");
        if cursor.is_null() {
            return pages;
        }
        request["cursor"] = cursor;
    }
}

/// Small trees without secrets, and many requests. With redaction, every line is still in the same place, and
/// every page ends at the same position.
#[test]
fn redaction_keeps_answers_without_secrets() {
    let mut numbers = Numbers(3);
    for round in 0..40 {
        let tree = Tree::new();
        for file in 0..3 {
            let mut text = Vec::new();
            for _ in 0..numbers.below(40) {
                let words: [&[u8]; 9] = [
                    b"needle",
                    b"nedle",
                    b"",
                    b"let x = 1;",
                    b"caf\xe9 needle",
                    b"z\xe2\x80\x8bw",
                    b"needle\r",
                    b"-",
                    b"needle needle",
                ];
                text.extend_from_slice(words[numbers.below(words.len())]);
                if numbers.below(12) == 0 {
                    text.extend_from_slice(format!(" {}needle ", "long words ".repeat(100)).as_bytes());
                }
                text.push(b'\n');
            }
            tree.write(format!("{file}.txt"), text);
        }
        let (context, max) = (numbers.below(5), 1 + numbers.below(6));
        let requests = [
            ("grep_search", json!({"pattern": NEEDLE, "context_lines": context, "max_results": max})),
            ("Search", json!({"pattern": NEEDLE, "context": context, "max_results": max})),
            (
                "Search",
                json!({"pattern": NEEDLE, "context": context, "max_results": max, "fuzzy": 1, "best_first": true}),
            ),
            ("Search", json!({"pattern": NEEDLE, "context": context, "max_results": max, "fuzzy": 1})),
            ("read_file", json!({"path": "0.txt", "start_line": 1 + numbers.below(3)})),
            ("keyword_search", json!({"query": "q", "search_terms": [NEEDLE]})),
            ("search_index", json!({"query": NEEDLE})),
            ("list_directory", json!({})),
        ];
        let closed = tree.workspace();
        for (tool, request) in &requests {
            // An empty file has no such start line, so the request is rejected.
            if *tool == "read_file" && call(&closed, tool, request.clone()).is_err() {
                continue;
            }
            let (with, without) = (pages(&closed, tool, request), pages(&open(&closed), tool, request));
            assert_eq!(with, without, "round {round}: {tool} {request}");
        }
    }
}

/// Pages are cut at the same lines as without redaction, and the context around the cut stays hidden on the
/// next page.
#[test]
fn pages_of_lines_with_secrets_are_those_of_the_file() {
    let (tree, token, body) = (Tree::new(), token(), body());
    let (_, pem) = key_files(&body).swap_remove(0);
    tree.write(
        "a.txt",
        format!("{NEEDLE} {token}\n{pem}{NEEDLE}\npassword =\n  \"{}-{NEEDLE}\"\n", &token[4..]),
    );
    let secrets = [vec![token[4..].to_owned()], body].concat();
    let workspace = tree.workspace();
    for (tool, pattern) in [("grep_search", "[a-zA-Z]"), ("Search", "[a-zA-Z]"), ("Search", NEEDLE)] {
        for max_results in 1..4 {
            let request = json!({"pattern": pattern, "max_results": max_results});
            let (with, without) =
                (pages(&workspace, tool, &request), pages(&open(&workspace), tool, &request));
            let cursors = |pages: &[(String, Value)]| -> Vec<Value> {
                pages.iter().map(|(_, records)| records["next_cursor"].clone()).collect()
            };
            assert_eq!(cursors(&with), cursors(&without), "{tool} {request}");
            let (with, without) = (format!("{with:?}"), format!("{without:?}"));
            assert_eq!(shown(&with, &secrets), None, "{tool} {request}: {with}");
            assert!(shown(&without, &secrets).is_some(), "{tool} {request}: the control");
        }
    }
}

/// We can't display a path that contains a secret, so we tell the reader why it can't be opened.
#[test]
fn a_name_that_is_hidden_is_told_to_open_nothing() {
    let (tree, token) = (Tree::new(), token());
    tree.write(format!("{token}/a.txt"), format!("{NEEDLE}\n"));
    let found = answer(&tree.workspace(), "grep_search", json!({"pattern": NEEDLE}));
    assert_eq!(found.records()["files"][0]["path"], "[redacted:github-token]/a.txt");
    insta::assert_snapshot!(found.text);
}

/// The caller's own words may appear in an error. The code that displays this error has to redact them.
#[test]
fn error_messages_are_redacted() {
    let tree = Tree::new();
    let workspace = tree.workspace();
    let message = format!("{} is not there", token());
    assert_eq!(workspace.without_secrets(&message), "[redacted:github-token] is not there");
    assert_eq!(open(&workspace).without_secrets(&message), message);
}
