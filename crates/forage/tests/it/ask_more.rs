//! `forage ask`: follow-up questions, the user's own prompt, and tools of other programs.

use serde_json::json as value;

use crate::Project;
use crate::ask::{calls, configure, messages, project, results, say};
use crate::peer::Peer;
#[cfg(target_os = "linux")]
use crate::peer::Reply;
use crate::support::{line_with, stable};

const SECRET: &str = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";

/// Returns the first user message of the last request.
fn opening(peer: &Peer) -> String {
    let messages = messages(peer);
    let user = messages.last().unwrap().iter().find(|message| message["role"] == "user").unwrap();
    user["content"].as_str().unwrap().to_owned()
}

/// Returns the questions in the first user message of the last request.
fn questions(peer: &Peer) -> Vec<String> {
    let opening = opening(peer);
    let questions = opening.lines().filter_map(|line| line.strip_prefix("Question: "));
    questions.map(str::to_owned).collect()
}

#[test]
fn a_second_question_goes_on_from_the_first() {
    let project = project();
    let peer = Peer::start([
        calls(&[("grep_search", value!({"pattern": "class Agent"}))]),
        say(&format!("The agent is at src/agent.py:3 and src/main.py:1. Token {SECRET}")),
        say("Its tools are in src/tools/base.py:1."),
        say("Nothing new."),
    ]);
    configure(&project, &[&peer], "");
    let none = project.run(&["ask", "--continue", "and its tools?"]);
    insta::assert_snapshot!("no_conversation", none.shown());
    assert_eq!(peer.requests().len(), 0, "nobody was asked");

    let first = project.run(&["ask", "where is the agent?"]);
    assert_eq!(first.status, 0, "{first:?}");
    std::fs::write(project.root.join("src/main.py"), "print('another file')\n").unwrap();
    let second = project.run(&["ask", "--continue", "and its tools?"]);
    assert_eq!(second.status, 0, "{second:?}");
    insta::assert_snapshot!("second_question", stable(&opening(&peer)));
    // The third question continues both earlier ones. Without the flag, a question starts a new conversation.
    project.run(&["ask", "--continue", "what else?"]);
    let opening = opening(&peer);
    insta::assert_snapshot!("third_question", stable(opening.split_once("Earlier question 2").unwrap().1));
}

#[test]
fn ask_without_continue_starts_a_new_conversation() {
    let project = project();
    let peer = Peer::start([say("one"), say("two"), say("three"), say("four")]);
    configure(&project, &[&peer], "");
    project.run(&["ask", "first?"]);
    project.run(&["ask", "second?"]);
    assert_eq!(questions(&peer), ["second?"]);
    project.run(&["ask", "--continue", "third?"]);
    assert_eq!(questions(&peer), ["second?", "third?"]);
    configure(&project, &[&peer], "[ask]\nkeep = false\n");
    let run = project.run(&["ask", "--continue", "fourth?"]);
    insta::assert_snapshot!(run.shown());
}

/// A user may let a model read secrets. This does not mean that copies may go to disk, where they outlive the
/// question.
#[test]
fn stored_conversations_contain_no_secrets() {
    let project = project();
    project.write("src/token.txt", &format!("token {SECRET}\n"));
    let peer = Peer::start([
        calls(&[("read_file", value!({"path": "src/token.txt"}))]),
        say(&format!("It is {SECRET}, at src/token.txt:1.")),
        say("The same."),
    ]);
    configure(&project, &[&peer], "[secrets]\nredact = false\n");
    let question = format!("where is {SECRET}?");
    let run = project.run(&["ask", &question]);
    let answer = format!("It is {SECRET}, at src/token.txt:1.");
    assert_eq!((run.status, run.stdout.lines().next()), (0, Some(answer.as_str())));
    // Positive control: the model has seen the secret.
    assert_eq!(line_with(&results(&peer)[0], "token "), format!("     1\ttoken {SECRET}"));
    let directory = project.home.join(".cache/forage/conversations");
    crate::documentation::assert_place("conversations");
    let kept: String = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(!kept.contains(SECRET), "{kept}");
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let exchange = &kept["exchanges"][0];
    assert_eq!(exchange["question"], "where is [redacted:github-token]?");
    assert_eq!(exchange["answer"], "It is [redacted:github-token], at src/token.txt:1.");
    // Only the first line of a tool result is stored.
    let reported = {
        project.run(&["ask", "--continue", "again?"]);
        opening(&peer)
    };
    assert!(!reported.contains(SECRET), "{reported}");
    let call = "- read_file {\"path\":\"src/token.txt\"}: 1\ttoken [redacted:github-token]";
    assert_eq!(line_with(&reported, "- read_file"), call);
}

#[test]
fn a_prompt_file_is_the_system_prompt() {
    let project = project();
    let peer = Peer::start((0..4).map(|_| say("Bonjour.")));
    let file = project.root.parent().unwrap().join("prompt.md");
    std::fs::write(&file, "Answer in French, with {grep_search}.\n").unwrap();
    let with = |path: &str| configure(&project, &[&peer], &format!("[ask]\nprompt_file = {path:?}\n"));
    let own = project.home.join(".config/forage");
    std::fs::create_dir_all(&own).unwrap();
    for place in [&own, &project.home] {
        std::fs::copy(&file, place.join("prompt.md")).unwrap();
    }
    for path in [file.to_str().unwrap(), "prompt.md", "~/prompt.md"] {
        with(path);
        let run = project.run(&["ask", "q"]);
        assert_eq!(run.status, 0, "{run:?}");
        let system = messages(&peer)[0][0]["content"].as_str().unwrap().to_owned();
        assert!(
            system.starts_with("Answer in French, with grep_search.\n\nData and instructions:"),
            "{system}"
        );
    }
    // A repository must not influence this.
    project.write(".forage.toml", "[ask]\nprompt_file = \"planted.md\"\n");
    let run = project.run(&["ask", "q"]);
    let ignored = stable(line_with(&run.stderr, " is ignored: ").split_once(" is ignored: ").unwrap().0);
    assert_eq!(ignored, "forage: TMP/project/.forage.toml:2: `ask.prompt_file`");
    std::fs::write(own.join("prompt.md"), " \n").unwrap();
    std::fs::write(project.home.join("prompt.md"), [0xff, 0xfe]).unwrap();
    std::fs::write(&file, "x".repeat(40_000)).unwrap();
    let pipe = file.with_file_name("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // A pipe must not block the command.
    let bad =
        ["/no/such/prompt.md", file.to_str().unwrap(), "prompt.md", "~/prompt.md", pipe.to_str().unwrap()];
    let errors = bad.map(|path| {
        with(path);
        let run = project.run(&["ask", "q"]);
        assert_eq!(run.status, 2, "{run:?}");
        stable(line_with(&run.stderr, "error: "))
    });
    insta::assert_snapshot!(errors.join("\n"));
}

/// A server that behaves as the tests need it.
const SERVER: &str = r#"
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "300"])
open(os.path.join(os.environ["STATE"], "pids"), "w").write("%d %d" % (os.getpid(), child.pid))
print("starting up", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message: continue
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": 99, "method": "roots/list"}), flush=True)
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        result = {"tools": [{"name": n, "description": "Says \u001b[31mthings.", "inputSchema": schema} for n in ("search", "hang", "bad name")]}
    elif params["name"] == "hang":
        time.sleep(300)
    else:
        text = "found for %s\n" % params["arguments"]["query"] + " ".join(sorted(os.environ)) + "\n\u001b[2Jtoken ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\n" + "long " * 30000
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

fn serve(project: &Project, peer: &Peer, extra: &str) -> std::path::PathBuf {
    serve_by(project, peer, SERVER, extra)
}

/// Configures a server that has this source.
fn serve_by(project: &Project, peer: &Peer, server: &str, extra: &str) -> std::path::PathBuf {
    let outside = project.root.parent().unwrap();
    let script = outside.join("server.py");
    std::fs::write(&script, server).unwrap();
    let script = script.to_str().unwrap();
    configure(
        project,
        &[peer],
        &format!("[ask.servers.web]\ncommand = \"python3\"\nargs = [{script:?}]\nenv = [\"STATE\"]\n{extra}"),
    );
    outside.join("pids")
}

#[cfg(target_os = "linux")]
fn assert_ended(pids: &std::path::Path) {
    let text = std::fs::read_to_string(pids).unwrap();
    for pid in text.split(' ') {
        // An ended process is a zombie until its new parent reaps it.
        let has_ended = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            matches!(state.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z'))
        };
        // A signal takes effect some time after it was sent.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !has_ended() {
            assert!(std::time::Instant::now() < until, "{pid} still runs");
            std::thread::yield_now();
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn mcp_server_tools_are_redacted_and_end_with_the_question() {
    let project = project();
    let peer = Peer::start([
        calls(&[("web_search", value!({"query": "agents"})), ("list_directory", value!({}))]),
        say("Found."),
    ]);
    let pids = serve(&project, &peer, "");
    let state = project.root.parent().unwrap().to_str().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let variables = [("PATH", path.as_str()), ("STATE", &state), ("ACME_API_KEY", "canary")];
    let run = project.run_in(&project.root, &["ask", "q"], &variables);
    assert_eq!(run.status, 0, "{run:?}");
    let results = results(&peer);
    assert!(results[0].len() < 50_000, "{}", results[0].len());
    let found: Vec<&str> = results[0].lines().collect();
    assert_eq!((found[0], found[2]), ("call 1, web_search:", "found for agents"));
    // Some versions of Python set `LC_CTYPE` themselves, and the scripts of pyenv and shells set others.
    let of_others = |name: &str| name.contains("PYENV") || ["LC_CTYPE", "PWD", "SHLVL", "_"].contains(&name);
    let variables: Vec<&str> = found[3].split(' ').filter(|name| !of_others(name)).collect();
    assert_eq!(variables, ["HOME", "PATH", "STATE"]);
    assert_eq!(found[4], "\\x1B[2Jtoken [redacted:github-token]");
    assert_eq!(found[6], "[the answer was too long; the rest is cut]");
    assert_eq!(line_with(&results[1], "src/"), "└── src/ …");
    assert_eq!(
        line_with(&run.stderr, "left out"),
        "forage: a tool of `ask.servers.web` is left out: \"bad name\" is not a valid tool name"
    );
    assert_ended(&pids);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_hangs_or_is_not_there_ends_nothing_else() {
    let project = project();
    let peer = Peer::start([calls(&[("web_hang", value!({}))]), say("Without it.")]);
    let pids = serve(
        &project,
        &peer,
        "[ask.servers.gone]\ncommand = \"no-such-program-here\"\n[ask.servers.quiet]\ncommand = \"false\"\n",
    );
    let state = project.root.parent().unwrap().to_str().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let flags = ["ask", "q", "--total-ms", "6000", "--json"];
    let run = project.run_in(&project.root, &flags, &[("PATH", &path), ("STATE", &state)]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(line_with(&results(&peer)[0], "error"), "error: web_hang: it did not answer in time");
    let warnings = [
        "the tools of `ask.servers.gone` are not available: there is no program `no-such-program-here` on its PATH",
        "the tools of `ask.servers.quiet` are not available: it has ended",
        "a tool of `ask.servers.web` is left out: \"bad name\" is not a valid tool name",
    ];
    assert_eq!(run.json()["warnings"], value!(warnings));
    for warning in warnings {
        assert_eq!(line_with(&run.stderr, warning), format!("forage: {warning}"));
    }
    assert_ended(&pids);
}

/// We don't record answers of servers, and say so while recording. A replay must match the recording.
#[test]
#[cfg(target_os = "linux")]
fn mcp_servers_are_disabled_while_recording() {
    let project = project();
    let peer = Peer::start([say("Without it.")]);
    let pids = serve(&project, &peer, "");
    let outside = project.root.parent().unwrap().to_str().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap();
    let tape = format!("{outside}/tape.jsonl");
    let variables = [("PATH", path.as_str()), ("STATE", outside.as_str())];
    let run = |flag: &str| project.run_in(&project.root, &["ask", "q", flag, &tape, "--json"], &variables);
    let recorded = run("--record");
    assert_eq!(recorded.status, 0, "{recorded:?}");
    let reported = "the tools of `ask.servers` (web) are not available: their answers are not recorded, so a \
                    replay could not use them; ask without --record to use these tools";
    assert_eq!(recorded.json()["warnings"], value!([reported]));
    assert_eq!(line_with(&recorded.stderr, "ask.servers"), format!("forage: {reported}"));
    assert!(!messages(&peer)[0].is_empty() && !peer.requests()[0].contains("web_search"));
    let replayed = run("--replay");
    assert_eq!((replayed.status, &replayed.json()["answer"]), (0, &value!("Without it.")), "{replayed:?}");
    assert!(!pids.exists(), "a server was started");
}

/// Waiting for a silent server counts towards the total time.
#[test]
#[cfg(target_os = "linux")]
fn the_start_of_servers_is_within_the_time_for_everything() {
    let project = project();
    let peer = Peer::start([Reply::Hang(Vec::new())]);
    let path = std::env::var("PATH").unwrap();
    configure(&project, &[&peer], "[ask.servers.mute]\ncommand = \"sleep\"\nargs = [\"300\"]\n");
    let flags = ["ask", "q", "--total-ms", "8000", "--json"];
    let began = std::time::Instant::now();
    let run = project.run_in(&project.root, &flags, &[("PATH", &path)]);
    let took = began.elapsed();
    let transcript = run.json();
    assert_eq!((run.status, &transcript["stop_reason"]), (2, &value!("time")), "{run:?}");
    assert_eq!(
        line_with(&run.stderr, "error"),
        "forage: error: no answer: the time limit was reached; raise it with --total-ms"
    );
    let warning = "the tools of `ask.servers.mute` are not available: it did not answer in time";
    assert_eq!(transcript["warnings"], value!([warning]));
    // Two seconds for the server and the rest for the model. Waiting separately would take ten.
    assert!(took.as_millis() < 9_500, "{took:?}");
    let asked = transcript["elapsed_ms"].as_u64().unwrap();
    assert!(asked < 7_000, "{asked}");
}

#[test]
#[cfg(target_os = "linux")]
fn no_program_of_the_repository_serves() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project();
    let peer = Peer::start([say("fine")]);
    let program = project.root.join("serve");
    std::fs::write(&program, "#!/bin/sh\ntouch ran\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    configure(&project, &[&peer], &format!("[ask.servers.x]\ncommand = {:?}\n", program.to_str().unwrap()));
    let run = project.run(&["ask", "q"]);
    assert_eq!(
        stable(line_with(&run.stderr, "ask.servers")),
        "forage: the tools of `ask.servers.x` are not available: TMP/project/serve is inside a searched root: \
         programs of a repository are not run"
    );
    assert!(!project.root.join("ran").exists());
}

/// A repository's directory in `PATH` must not supply the server or any program that it starts.
#[test]
#[cfg(target_os = "linux")]
fn a_server_finds_no_program_of_the_repository_in_its_path() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let project = project();
    let outside = project.root.parent().unwrap().to_owned();
    let program = |directory: &std::path::Path, name: &str| {
        std::fs::create_dir_all(directory).unwrap();
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}/ran\n", outside.display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (below, own) = (project.root.join("node_modules/.bin"), outside.join("own"));
    ["python3", "node", "touchy"].iter().for_each(|name| program(&below, name));
    program(&project.root, "python3");
    program(&own, "own-program");
    symlink(&below, outside.join("link")).unwrap();
    let path = format!(
        "{}::.:node_modules/.bin:{}:{}:{}",
        below.display(),
        outside.join("link").display(),
        own.display(),
        std::env::var("PATH").unwrap()
    );
    let peer = Peer::start([calls(&[("web_search", value!({"query": "agents"}))]), say("Found.")]);
    let server = SERVER.replace(
        "\" \".join(sorted(os.environ))",
        "os.environ[\"PATH\"] + \" which: %s %s\" % (shutil.which(\"touchy\"), shutil.which(\"own-program\"))",
    );
    assert_ne!(server, SERVER);
    serve_by(&project, &peer, &server.replace("import json,", "import shutil, json,"), "");
    let run = project.run_in(
        &project.root,
        &["ask", "q"],
        &[("PATH", &path), ("STATE", outside.to_str().unwrap())],
    );
    assert_eq!(run.status, 0, "{run:?}");
    let result = results(&peer).remove(0);
    assert!(
        !result.contains("node_modules") && !result.contains("/link:") && !result.contains("::"),
        "{result}"
    );
    // Positive control: programs in other directories are found.
    let found = line_with(&result, " which: ").split_once(" which: ").unwrap().1;
    assert_eq!(found, format!("None {}", own.join("own-program").display()));
    assert!(!outside.join("ran").exists());
}
