//! T3, T4: swaps a directory and a file with links that lead out, while every tool is running.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forage_fuzz::peers::program;
use forage_tools::Workspace;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::support::{CANARY, NEEDLE, OUTSIDE_NAME, Tree, ask_model, call, with_engine};

/// Swaps pairs of names until it is dropped.
struct Attacker {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Attacker {
    fn on(root: &Path) -> Self {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let pairs: Vec<(PathBuf, PathBuf)> =
            [("d", "l"), ("f.txt", "g.txt")].iter().map(|(a, b)| (root.join(a), root.join(b))).collect();
        let thread = std::thread::spawn({
            let (stop, swaps) = (Arc::clone(&stop), Arc::clone(&swaps));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    for (a, b) in &pairs {
                        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                    }
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { stop, swaps, thread: Some(thread) }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the attacker failed");
        }
    }
}

/// `d` is a directory and `l` leads out; `f.txt` is a file and `g.txt` leads out.
fn tree() -> Tree {
    let tree = Tree::with_outside_secrets();
    tree.write("d/data.txt", format!("{NEEDLE} inside-directory\n"));
    tree.write("f.txt", format!("{NEEDLE} inside-file\n"));
    tree.link("../outside", "l");
    tree.link("../outside/data.txt", "g.txt");
    tree
}

/// Duration of an attack, and the maximum for a machine that is so busy that the attack takes effect only
/// later.
const RACE: Duration = Duration::from_millis(1_500);
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls a tool in a loop during the attack. The attack must take effect: some calls see the directory and
/// the file, and others see the links.
fn attack(requests: &[Value], tool: &str, with_model: bool) {
    let tree = tree();
    attack_in(&tree, &tree.workspace(), requests, tool, with_model);
}

fn attack_in(tree: &Tree, workspace: &Workspace, requests: &[Value], tool: &str, with_model: bool) {
    let attacker = Attacker::on(&tree.root());
    let (mut calls, mut inside, mut turned_away) = (0u64, 0u64, 0u64);
    let swaps = || attacker.swaps.load(Ordering::Relaxed);
    let started = Instant::now();
    let mut seen_at_work = false;
    while started.elapsed() < RACE || !seen_at_work && started.elapsed() < PATIENCE {
        for request in requests {
            let (result, sent) = match with_model {
                true => ask_model(workspace, request.clone()),
                false => (call(workspace, tool, request.clone()), String::new()),
            };
            let everything = match &result {
                Ok(answer) => format!("{}\n{}\n{sent}", answer.text, answer.records().clone()),
                Err(error) => error.to_string(),
            };
            for forbidden in [CANARY, OUTSIDE_NAME] {
                assert!(!everything.contains(forbidden), "{tool} {request} shows {forbidden}: {everything}");
            }
            calls += 1;
            let seen = ["inside-directory", "inside-file", "d/data.txt", "data.txt (1 line)"];
            inside += u64::from(result.is_ok() && seen.iter().any(|mark| everything.contains(mark)));
            // The two names are swapped, so a call finds the link, or else the directory under the link's
            // name.
            let away = ["outside of the root", "l/data.txt", "g.txt: why", "g.txt: matches"];
            turned_away += u64::from(away.iter().any(|mark| everything.contains(mark)));
        }
        seen_at_work = swaps() > 100 && calls > 20 && inside > 0 && turned_away > 0;
    }
    let swaps = swaps();
    drop(attacker);
    assert!(
        seen_at_work,
        "{tool}: {swaps} swaps; of {calls} calls {inside} got in, {turned_away} were turned away"
    );
}

/// Positive control: the sequence "canonicalize, compare, open" is led out of the root.
#[test]
fn the_race_is_real() {
    let tree = tree();
    let root = tree.root().canonicalize().unwrap();
    let _attacker = Attacker::on(&root);
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        for path in ["d/data.txt", "f.txt"] {
            let path = root.join(path);
            if path.canonicalize().is_ok_and(|real| real.starts_with(&root))
                && std::fs::read_to_string(&path).is_ok_and(|text| text.contains(CANARY))
            {
                return;
            }
        }
    }
    panic!("the naive check never leaked: the races of this file prove nothing here");
}

#[test]
fn grep_search_under_the_race() {
    let request = |path: &str| json!({"pattern": NEEDLE, "path": path});
    attack(&["d", ".", "d/data.txt", "f.txt"].map(request), "grep_search", false);
}

/// Links are followed here, so the race is about them.
#[test]
fn search_under_the_race() {
    let request = |path: &str| json!({"pattern": NEEDLE, "path": path, "follow": true});
    attack(&["d", ".", "d/data.txt", "f.txt"].map(request), "Search", false);
}

/// An external program receives the text that we read, but no name under which it could find something else.
#[test]
fn search_with_external_engines_under_the_race() {
    forage_fuzz::needs!("rg", "ugrep");
    let request = |path: &str| json!({"pattern": NEEDLE, "path": path, "follow": true});
    for engine in ["ugrep", "rg"] {
        let tree = tree();
        let workspace = with_engine(tree.workspace(), &[&program(engine)]);
        attack_in(&tree, &workspace, &["d", ".", "d/data.txt", "f.txt"].map(request), "Search", false);
    }
}

#[test]
fn list_directory_under_the_race() {
    let request = |path: &str| json!({"path": path, "max_depth": 3});
    attack(&["d", ".", "l"].map(request), "list_directory", false);
}

#[test]
fn read_file_under_the_race() {
    attack(&["d/data.txt", "f.txt"].map(|path| json!({"path": path})), "read_file", false);
}

#[test]
fn keyword_search_under_the_race() {
    attack(&[json!({"query": "q", "search_terms": [NEEDLE]})], "keyword_search", false);
}

#[test]
fn what_a_model_is_sent_under_the_race() {
    attack(&[json!({"query": "q", "search_terms": [NEEDLE]})], "keyword_search", true);
}
