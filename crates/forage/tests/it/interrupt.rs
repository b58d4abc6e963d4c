//! Calls and `forage ask` that are interrupted or run out of time.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Project;
use crate::peer::{Peer, Reply};
use crate::support::stable;

/// Starts a model that calls a tool and then hangs.
fn hanging() -> Peer {
    let arguments = "{\\\"pattern\\\": \\\"needle\\\"}";
    let call =
        format!("{{\"id\":\"1\",\"function\":{{\"name\":\"grep_search\",\"arguments\":\"{arguments}\"}}}}");
    let body =
        format!("{{\"choices\":[{{\"message\":{{\"content\":\"Looking.\",\"tool_calls\":[{call}]}}}}]}}");
    Peer::start([crate::peer::json(200, "", &body), Reply::Hang(Vec::new())])
}

fn start(project: &Project, peer: &Peer, flags: &[&str]) -> Child {
    project.configure(&format!("[[models]]\nmodel = \"m\"\nbase_url = \"{}\"\n", peer.url()));
    Command::new(env!("CARGO_BIN_EXE_forage"))
        .args([&["ask", "where is the needle?"], flags].concat())
        .current_dir(&project.root)
        .env_clear()
        .env("HOME", &project.home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the peer has received `requests` requests.
fn until_asked(peer: &Peer, requests: usize) {
    let started = Instant::now();
    while peer.requests().len() < requests {
        assert!(started.elapsed() < Duration::from_secs(20), "the model was not asked");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_ends_a_call_to_the_model_with_what_is_known() {
    let project = Project::new(&[("a.txt", "a needle\n")]);
    for (name, flags) in [("INT", &[][..]), ("TERM", &["--json"])] {
        let peer = hanging();
        let child = start(&project, &peer, flags);
        until_asked(&peer, 2);
        let sent = Instant::now();
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let took = sent.elapsed();
        // The product needs 200 ms. The rest is for starting `kill` and for reaping on a busy machine.
        assert!(took < Duration::from_secs(4), "{took:?}");
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        if flags.is_empty() {
            insta::assert_snapshot!(stable(&stdout));
        } else {
            let records: serde_json::Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(records["stop_reason"], "interrupted");
            assert_eq!(records["turns"][0]["calls"][0]["tool"], "grep_search");
        }
    }
}

#[test]
fn a_second_ctrl_c_ends_the_process_at_once() {
    // The answer is larger than a pipe's buffer, and this test reads none of it. So the first signal can't
    // end the command.
    let project = Project::new(&[]);
    let peer = Peer::start([crate::peer::good(&"x".repeat(500_000))]);
    let mut child = start(&project, &peer, &[]);
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("an answer")));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "the control: one signal is not enough");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn the_deadline_ends_a_model_that_hangs() {
    let project = Project::new(&[("a.txt", "a needle\n")]);
    let peer = hanging();
    let started = Instant::now();
    let output = start(&project, &peer, &["--total-ms", "2500", "--json"]).wait_with_output().unwrap();
    let took = started.elapsed();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let records: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(records["stop_reason"], "time");
    let elapsed = records["elapsed_ms"].as_u64().unwrap();
    // The start of the command counts towards the total time, but not towards the conversation's.
    assert!((500..20_000).contains(&elapsed), "{elapsed} ms, {took:?}");
    assert!((2_500..30_000).contains(&took.as_millis()), "{elapsed} ms, {took:?}");
}

/// Waits until the process handles the request to terminate. This is the last handler that it installs.
#[cfg(target_os = "linux")]
fn until_it_listens(child: &Child) {
    let started = Instant::now();
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
    };
    while !listens() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
}

/// A program that requested JSON must get its document in any case.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_search_with_what_it_has() {
    let project = Project::new(&[("slow/a.txt", &"a".repeat(4 << 20))]);
    project.configure("[tools.search]\nenabled = true\n");
    // A candidate begins at every position, but fails only 16,000 letters later.
    let slow = &format!("(?i){}b?c", "a".repeat(16_000));
    let request = &format!("{{\"pattern\": \"{slow}\"}}");
    let cases: &[(&str, &[&str])] = &[
        ("INT", &["grep", slow]),
        ("TERM", &["grep", slow]),
        ("INT", &["grep", "-c", slow]),
        ("INT", &["keyword", "--filter", "lexical", "q", slow]),
        ("INT", &["call", "grep_search", request]),
    ];
    for (name, arguments) in cases {
        for flags in [&["--timeout-ms", "100000", "--json"][..], &["--timeout-ms", "100000"]] {
            let child = Command::new(env!("CARGO_BIN_EXE_forage"))
                .args(arguments.iter().chain(flags))
                .current_dir(&project.root)
                .env_clear()
                .env("HOME", &project.home)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            until_it_listens(&child);
            let sent = Instant::now();
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            let (command, took) = (arguments[0], sent.elapsed());
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(took < Duration::from_secs(8), "{command}: {took:?}");
            assert_eq!(output.status.code(), Some(130), "{command}: {stderr}");
            assert!(stderr.contains("forage: error: "), "{command}: {stderr}");
            if flags.contains(&"--json") {
                let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert!(document["error"].as_str().unwrap().contains("cancelled"), "{command}: {document}");
            }
        }
    }
}
