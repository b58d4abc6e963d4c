//! `forage eval`: query sets, and queries from the history of a repository.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{line_with, stable};
use crate::{Project, Run};

/// Runs git as the author of the test history. It uses only the repository's configuration.
pub(crate) fn git(project: &Project, arguments: &[&str]) -> String {
    let output =
        forage_fuzz::peers::git(&project.root).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn forage(project: &Project, arguments: &[&str]) -> Run {
    let path = std::env::var("PATH").unwrap_or_default();
    let environment =
        [("PATH", path.as_str()), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
    project.run_in(&project.root, arguments, &environment)
}

pub(crate) fn records(project: &Project, arguments: &[&str]) -> Value {
    let run = forage(project, &[arguments, &["--json"]].concat());
    assert_eq!(run.status, 0, "{run:?}");
    run.json()
}

/// Writes a file and commits it.
fn commit(project: &Project, path: &str, text: &str, message: &str) {
    project.write(path, text);
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", message]);
}

const ALPHA: &str = "//! Requests.\nfn retry_backoff(request: Request) {}\n";
const BETA: &str = "//! Headers.\nfn parse_header(line: &str) {}\n";
const GAMMA: &str = "//! Numbers.\nfn add(one: u32, two: u32) {}\n";

/// Creates a repository with a base commit and eight later commits. Three of these become queries.
pub(crate) fn repository() -> Project {
    let project = Project::new(&[
        ("src/alpha.rs", ALPHA),
        ("src/beta.rs", BETA),
        ("src/gamma.rs", GAMMA),
        ("Cargo.lock", "one\n"),
        ("CHANGELOG.md", "one\n"),
        (".hidden/a.rs", "fn retry_backoff() {}\n"),
        ("picture.png", "a\0b"),
    ]);
    git(&project, &["init", "-q", "-b", "main", "."]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "Begin with all of it"]);
    git(&project, &["checkout", "-q", "-b", "side"]);
    commit(&project, "src/gamma.rs", &format!("{GAMMA}// one\n"), "wip");
    git(&project, &["checkout", "-q", "main"]);
    commit(&project, "src/alpha.rs", &format!("{ALPHA}// one\n"), "Retry with a longer backoff (#12)");
    git(&project, &["merge", "-q", "--no-ff", "-m", "Merge what was at the side", "side"]);
    project.write("CHANGELOG.md", "two\n");
    let message = "beta: parse header lines that are folded\n\nSigned-off-by: A <a@example.com>";
    commit(&project, "src/beta.rs", &format!("{BETA}// one\n"), message);
    commit(
        &project,
        "src/beta.rs",
        &format!("{BETA}// two\n"),
        "Revert \"parse header lines that are folded\"",
    );
    commit(&project, "Cargo.lock", "two\n", "Take newer versions of everything");
    commit(&project, "src/alpha.rs", &format!("{ALPHA}// two\n"), "Retry with a longer backoff");
    let quokka = format!("{GAMMA}fn quokka_jumps() {{}}\n");
    commit(&project, "src/gamma.rs", &quokka, "Quokka jumps everywhere in gamma.rs");
    project
}

#[test]
fn a_history_asks_what_its_base_can_not_know() {
    let project = repository();
    let report = records(&project, &["eval", "--from-git", "7", "--save", "set.json"]);
    let base = git(&project, &["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(
        report["history"],
        json!({
            "base": base,
            "commits": 8,
            "is_cut": false,
            "queries": 3,
            "others": {
                "are merges": 1,
                "have too little text": 1,
                "repeat the message of another": 1,
                "revert or amend another": 1,
                "touch no file of the base": 1,
            },
        })
    );
    let queries: Vec<(&str, &Value, &Value)> = report["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|query| (query["query"].as_str().unwrap(), &query["targets"], &query["ranks"]))
        .collect();
    assert_eq!(
        queries,
        [
            ("Retry with a longer backoff", &json!(["src/alpha.rs"]), &json!([1])),
            ("parse header lines that are folded", &json!(["src/beta.rs"]), &json!([1])),
            // The file contains these words only since the commit that mentions them.
            ("Quokka jumps everywhere in", &json!(["src/gamma.rs"]), &json!([])),
        ]
    );
    let two_thirds = 2.0 / 3.0;
    assert_eq!(
        report["all"],
        json!({
            "queries": 3,
            "ndcg@10": two_thirds,
            "recall@1": two_thirds,
            "recall@5": two_thirds,
            "recall@10": two_thirds,
            "mrr": two_thirds,
        })
    );
    // The hidden file is not indexed, and the image has no text.
    assert_eq!(
        (&report["sets"][0]["files"], &report["sets"][0]["files_without_text"]),
        (&json!(5), &json!(1))
    );
    assert_eq!(report["sets"][0]["at_revision"], true);
    assert_eq!((&report["tokens"]["answers"], &report["tokens"]["failed"]), (&json!(3), &json!(0)));
    assert!(report["tokens"]["mean"].as_f64().unwrap() > 10.0, "{report}");
    assert_eq!(report["missing_targets"], json!([]));

    // The saved set gives the same result on the same files. On today's files it does not, because the index
    // then contains the answers.
    let again = records(&project, &["eval", "set.json", "--at-revision"]);
    assert_eq!(again["all"], report["all"]);
    let run = forage(&project, &["eval", "set.json", "--json"]);
    insta::assert_snapshot!("eval_without_revision", stable(&run.stderr));
    assert_eq!((run.json()["all"]["ndcg@10"].as_f64(), run.status), (Some(1.0), 0));

    let overwriting = forage(&project, &["eval", "--from-git", "7", "--save", "set.json"]);
    insta::assert_snapshot!("eval_overwriting", overwriting.shown());

    // Without a number, the base is half of the history back. The report says so in a table.
    let text = forage(&project, &["eval", "--from-git"]).stdout;
    let lines = ["queries from", "revert or amend"].map(|word| line_with(&text, word));
    insta::assert_snapshot!("eval_from_git", lines.map(|line| line.split(';').next().unwrap()).join("\n"));
}

/// The repository configures a script in place of every program that git can run. The script would leave a
/// file.
#[cfg(unix)]
#[test]
fn a_hostile_repository_runs_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = repository();
    // The sandbox would hide which programs are run.
    project.configure("sandbox = \"off\"\n");
    let (script, mark) = (project.home.join("script"), project.home.join("was-run"));
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", mark.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = project.home.join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
        std::fs::copy(&script, hooks.join(hook)).unwrap();
    }
    project.write(".gitattributes", "* diff=bad filter=bad\n");
    let (script, hooks) = (script.to_str().unwrap(), hooks.to_str().unwrap());
    let (alias, remote) = (format!("!{script}"), format!("ext::{script}"));
    for (key, value) in [
        ("core.fsmonitor", script),
        ("core.pager", script),
        ("pager.log", "true"),
        ("pager.rev-list", script),
        ("core.hooksPath", hooks),
        ("core.sshCommand", script),
        ("core.askPass", script),
        ("core.editor", script),
        ("core.alternateRefsCommand", script),
        ("diff.external", script),
        ("diff.bad.command", script),
        ("diff.bad.textconv", script),
        ("filter.bad.clean", script),
        ("filter.bad.smudge", script),
        ("filter.bad.process", script),
        ("log.showSignature", "true"),
        ("gpg.program", script),
        ("credential.helper", &alias),
        ("alias.log", &alias),
        ("alias.rev-list", &alias),
        ("alias.ls-tree", &alias),
        ("alias.cat-file", &alias),
        ("uploadpack.packObjectsHook", script),
        ("protocol.ext.allow", "always"),
        ("remote.origin.url", &remote),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
    ] {
        git(&project, &["config", key, value]);
    }
    // This object exists only on the remote, from which git would fetch it automatically.
    let lacking = git(&project, &["rev-parse", "HEAD~6:src/gamma.rs"]);
    let object = project.root.join(".git/objects").join(&lacking[..2]).join(&lacking[2..]);
    std::fs::remove_file(object).unwrap();
    let _ = std::fs::remove_file(&mark);

    let report = records(&project, &["eval", "--from-git", "7", "--ablate"]);
    assert_eq!(report["history"]["queries"], 2, "{report}");
    assert_eq!(report["sets"][0]["files_without_text"], 2, "{report}");
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap());

    // Positive control: git's usual commands run the script.
    for arguments in [&["status"][..], &["diff", "HEAD~1"], &["cat-file", "-p", &lacking]] {
        let _ = std::fs::remove_file(&mark);
        let _ = Command::new("git")
            .args(arguments)
            .current_dir(&project.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("HOME", &project.home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(mark.exists(), "{arguments:?} is no attack");
    }
}

/// Any git before May 2024 lacks `GIT_NO_LAZY_FETCH`. It fetches missing objects from the address that the
/// repository names. Note that a repository's `protocol.ext.allow` overrides our `protocol.allow`.
#[cfg(unix)]
#[test]
fn a_hostile_repository_runs_nothing_with_an_older_git() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = repository();
    // The sandbox would hide which programs are run.
    project.configure("sandbox = \"off\"\n");
    let executable = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (script, mark) = (project.home.join("script"), project.home.join("was-run"));
    executable(&script, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", mark.display()));
    let (older, newer) = (project.home.join("older/git"), own_git());
    executable(&older, &format!("#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec '{}' \"$@\"\n", newer.display()));
    let elsewhere = project.home.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    git(&project, &["init", "-q", "--bare", elsewhere.to_str().unwrap()]);
    let lacking = git(&project, &["rev-parse", "HEAD~6:src/gamma.rs"]);
    for key in ["ext", "file", "ssh"] {
        git(&project, &["config", &format!("protocol.{key}.allow"), "always"]);
    }
    let script = script.to_str().unwrap();
    for (key, value) in
        [("promisor", "true"), ("partialclonefilter", "blob:none"), ("uploadpack", script), ("url", "none")]
    {
        git(&project, &["config", &format!("remote.origin.{key}"), value]);
    }
    git(&project, &["config", "core.sshCommand", script]);
    // If `PATH` contains a relative directory, the repository could supply a helper for the protocol that we
    // allow.
    executable(&project.root.join("git-remote-none"), &std::fs::read_to_string(script).unwrap());
    let system = std::env::var("PATH").unwrap();
    let path = format!("{}:{}:{system}:.", older.parent().unwrap().display(), project.root.display());
    let environment = [
        ("PATH", path.as_str()),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        // The caller's own settings, for example in a git hook's environment.
        ("GIT_SSH_COMMAND", script),
        ("GIT_ALLOW_PROTOCOL", "ext:file:ssh:none"),
        ("GIT_PROTOCOL_FROM_USER", "1"),
    ];
    let remotes = [
        format!("ext::{script}"),
        elsewhere.display().to_string(),
        "ssh://example.invalid/x".to_owned(),
        "none::x".to_owned(),
    ];
    let set = project.home.join("set.json");
    let set = set.to_str().unwrap();
    let saved = project.run_in(&project.root, &["eval", "--from-git", "7", "--save", set], &environment);
    assert_eq!(saved.status, 0, "{saved:?}");
    let object = project.root.join(".git/objects").join(&lacking[..2]).join(&lacking[2..]);
    std::fs::remove_file(object).unwrap();
    for remote in &remotes {
        git(&project, &["config", "remote.origin.url", remote]);
        // Positive control: this is how Forage used to run git, and a repository can exploit it.
        let _ = std::fs::remove_file(&mark);
        Command::new(&older)
            .args(["-c", "protocol.allow=never", "cat-file", "-p", &lacking])
            .current_dir(&project.root)
            .env_clear()
            .envs(environment)
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(mark.exists(), "{remote} is no attack");

        let _ = std::fs::remove_file(&mark);
        for arguments in [["eval", "--from-git", "7"], ["eval", set, "--at-revision"]] {
            let run = project.run_in(&project.root, &arguments, &environment);
            // The order of commits within one second decides if we reach the missing object. There is no
            // helper for the allowed protocol where programs are looked up.
            let refusals = ["not allowed", "'remote-none' is not a git command"];
            let is_refused = refusals.iter().any(|refusal| run.stderr.contains(refusal));
            assert!(run.status == 0 || is_refused, "{remote}: {run:?}");
            assert!(!mark.exists(), "{remote}: {}", std::fs::read_to_string(&mark).unwrap());
        }
    }
}

/// The sandbox must not deny access to the files of the user's configuration, nor to the files that they
/// include.
#[cfg(unix)]
#[test]
fn git_config_includes_and_safe_directories_are_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = repository();
    let included = beside(&project, "included", "[core]\n\tquotePath = false\n");
    let conditional = project.home.join("conditional");
    let configuration = |safe: &str| {
        let is_here = format!("[includeIf \"gitdir:{}/\"]", project.root.canonicalize().unwrap().display());
        std::fs::write(&conditional, format!("[safe]\n\tdirectory = {safe}\n")).unwrap();
        let include = format!("[include]\n\tpath = {included}\n[include]\n\tpath = ~/conditional\n");
        beside(&project, ".gitconfig", &format!("{include}{is_here}\n\tpath = {included}\n"))
    };
    configuration("/nowhere");
    // Make git treat the repository as another user's.
    let foreign = project.home.join("foreign/git");
    std::fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    let script =
        format!("#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec '{}' \"$@\"\n", own_git().display());
    std::fs::write(&foreign, script).unwrap();
    std::fs::set_permissions(&foreign, std::fs::Permissions::from_mode(0o755)).unwrap();
    let set = beside(&project, "set.json", "");
    std::fs::remove_file(&set).unwrap();
    let own = std::env::var("PATH").unwrap();
    let foreign = format!("{}:{own}", foreign.parent().unwrap().display());
    let environment = |path| [("PATH", path), ("GIT_CONFIG_NOSYSTEM", "1")];
    for mode in ["off", "auto"] {
        project.configure(&format!("sandbox = \"{mode}\"\n"));
        let from_git = ["eval", "--from-git", "7", "--save", &set];
        let run = project.run_in(&project.root, &from_git, &environment(&own));
        assert_eq!(run.status, 0, "{mode}: {run:?}");
        let run = project.run_in(&project.root, &["eval", &set, "--at-revision"], &environment(&own));
        assert_eq!(run.status, 0, "{mode}: {run:?}");
        std::fs::remove_file(&set).unwrap();
        // Git must still check which repositories it may read.
        for (safe, status) in [("/nowhere", 2), ("*", 0), ("~/elsewhere", 2)] {
            configuration(safe);
            let run = project.run_in(&project.root, &from_git[..3], &environment(&foreign));
            assert_eq!(run.status, status, "{mode}, {safe}: {run:?}");
            assert_eq!(run.stderr.contains("dubious ownership"), status != 0, "{mode}, {safe}: {run:?}");
        }
        configuration("/nowhere");
    }
}

/// Locates the git that the tests use.
fn own_git() -> std::path::PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join("git"))
        .find(|path| path.is_file())
        .unwrap()
}

#[test]
fn eval_reports_a_missing_history() {
    let project = Project::new(&[("a.rs", ALPHA)]);
    let run = forage(&project, &["eval", "--from-git"]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("git rev-list failed"), "{run:?}");
    git(&project, &["init", "-q", "-b", "main", "."]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "Begin with all of it"]);
    insta::assert_snapshot!(forage(&project, &["eval", "--from-git"]).shown());
}

#[test]
fn a_program_that_the_repository_brings_is_not_run() {
    let project = repository();
    std::fs::create_dir_all(project.root.join("bin")).unwrap();
    std::fs::copy(own_git(), project.root.join("bin/git")).unwrap();
    let path = project.root.join("bin");
    let run = project.run_in(&project.root, &["eval", "--from-git"], &[("PATH", path.to_str().unwrap())]);
    insta::assert_snapshot!(run.shown());
}

/// Writes a file for the tests outside of the project.
fn beside(project: &Project, name: &str, text: &str) -> String {
    let path = project.home.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_set_is_put_to_the_tree() {
    let project = Project::new(&[("src/alpha.rs", ALPHA), ("src/beta.rs", BETA), ("src/gamma.rs", GAMMA)]);
    let set = json!([{
        "name": "here",
        "language": "rust",
        "benchmark_root": "src",
        "queries": [
            { "query": "retry backoff", "relevant": ["src/alpha.rs"], "category": "names" },
            { "query": "parse header", "relevant": ["beta.rs"], "secondary": ["src/gone.rs"], "category": "words" },
        ],
    }]);
    let file = beside(&project, "set.json", &set.to_string());
    let report = records(&project, &["eval", &file, "--ablate"]);
    // One of two targets is at rank 1: 1 / (1 + 1 / log2(3)).
    let half = 1.0 / (1.0 + 1.0 / 3_f64.log2());
    let close = |value: &Value, wanted: f64| {
        assert!((value.as_f64().unwrap() - wanted).abs() < 1e-9, "{value} {wanted}");
    };
    close(&report["all"]["ndcg@10"], (1.0 + half) / 2.0);
    close(&report["by_category"]["words"]["recall@10"], 0.5);
    close(&report["by_category"]["names"]["ndcg@10"], 1.0);
    close(&report["by_language"]["rust"]["mrr"], 1.0);
    assert_eq!(report["missing_targets"], json!([{ "set": "here", "path": "src/gone.rs" }]));
    let ablation = report["ablation"].as_array().unwrap();
    assert_eq!(ablation.len(), forage_rank::RULES.len());
    let without = |index: usize| ablation[index]["ndcg_without"].as_f64().unwrap();
    assert!((1..ablation.len()).all(|index| without(index - 1) <= without(index)), "the worst first");

    let text = forage(&project, &["eval", &file, "--ablate"]).stdout;
    for part in [
        "category names",
        "all",
        "NDCG@10",
        "latency   p50",
        "tokens ",
        "here: src/gone.rs",
        "stem-precision",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // This must leave nothing on disk.
    assert!(!project.home.join(".cache").exists());
}

#[test]
fn a_directory_is_measured_with_the_history_around_it() {
    let project = repository();
    let set = |root: &str| {
        json!([{
            "name": "here",
            "benchmark_root": root,
            "queries": [{ "query": "retry backoff", "relevant": ["alpha.rs"] }],
        }])
    };
    let file = beside(&project, "set.json", &set("src").to_string());
    let report = records(&project, &["eval", &file]);
    let note = report["sets"][0]["commits"].as_str().unwrap();
    assert!(note.starts_with("messages of ") && !note.starts_with("messages of 0 "), "{note}");
    let text = forage(&project, &["eval", &file]).stdout;
    assert_eq!(line_with(&text, "commits   ").trim_start(), format!("commits   {note}"));

    let bare = Project::new(&[("src/alpha.rs", ALPHA)]);
    let file = beside(&bare, "set.json", &set("src").to_string());
    let report = records(&bare, &["eval", &file]);
    let note = report["sets"][0]["commits"].as_str().unwrap();
    assert!(note.starts_with("commit messages are not used: "), "{note}");
}

#[test]
fn sets_are_run_on_checkouts_by_name() {
    let project = Project::new(&[("one/alpha.rs", ALPHA), ("two/beta.rs", BETA)]);
    let set = |name: &str, query: &str, target: &str| json!({ "name": name, "language": name, "queries": [{ "query": query, "relevant": [target] }] });
    let sets = json!([set("one", "retry backoff", "alpha.rs"), set("two", "parse header", "beta.rs")]);
    let file = beside(&project, "sets.json", &sets.to_string());
    let report = records(&project, &["eval", &file, "--checkouts", "."]);
    assert_eq!((&report["all"]["queries"], &report["all"]["ndcg@10"]), (&json!(2), &json!(1.0)));
    assert_eq!(report["by_set"].as_object().unwrap().len(), 2);
    let report = records(&project, &["eval", &file, "--checkouts", ".", "--name", "two"]);
    assert_eq!(report["all"]["queries"], 1);

    let cases =
        [&["eval", &file][..], &["eval", &file, "--name", "three"], &["eval", &file, "--checkouts", "one"]];
    insta::assert_snapshot!(cases.map(|arguments| forage(&project, arguments).shown()).join("\n"));
}

#[test]
fn shown_lines_are_compared_with_other_answers() {
    let project = Project::new(&[("one/alpha.rs", ALPHA), ("two/beta.rs", BETA)]);
    let lines = |path: &str, last: u32| json!({ path: [[1, last]] });
    let all = |text: &str| u32::try_from(text.lines().count()).unwrap();
    let query = |query: &str, path: &str, last| json!({ "query": query, "relevant": [path], "lines": lines(path, last) });
    let sets = json!([
        { "name": "one", "language": "rust", "queries": [query("retry backoff", "alpha.rs", all(ALPHA))] },
        { "name": "two", "language": "go", "queries": [
            query("parse header", "beta.rs", all(BETA)), { "query": "header", "relevant": ["beta.rs"] },
        ] },
    ]);
    let other = json!([{ "set": "two", "query": "parse header", "files": [], "shown": lines("beta.rs", all(BETA)), "tokens": 7 }]);
    let sets = beside(&project, "sets.json", &sets.to_string());
    let other = format!("other={}", beside(&project, "other.json", &other.to_string()));
    let arguments = ["eval", &sets, "--checkouts", ".", "--lines", "1000", "--beside", &other];
    let report = &records(&project, &arguments)["lines"];
    assert_eq!((&report["queries"], &report["queries_without_lines"]), (&json!(2), &json!(1)));
    let [own, other] = &report["ways"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!(
        (&own["name"], &own["recall"], &own["forage_less_this"]),
        (&json!("forage"), &json!(1.0), &Value::Null)
    );
    assert_eq!(
        (&other["name"], &other["recall"], &other["answers"]),
        (&json!("other"), &json!(0.5), &json!(1))
    );
    assert_eq!((&other["tokens"], &other["files_named"]), (&json!(7.0), &json!(0.0)));
    let recall = &other["forage_less_this"]["recall"];
    assert_eq!((&recall["mean"], &recall["better"], &recall["worse"]), (&json!(0.5), &json!(1), &json!(0)));
    assert_eq!(report["by_language"]["go"]["queries"], 1);

    let text = forage(&project, &arguments).stdout;
    for part in [
        "of 2 queries, 1000 tokens of code requested; 1 more have no lines",
        "language rust (1)           1.000",
        "compared with other: it has answers to 1 of 2",
        "compared with other, recall: +0.500, 95 % of samples +0.000 to +1.000; 1 better, 0 worse",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn numbers_out_of_range_are_refused_once() {
    let project = Project::new(&[("a.rs", ALPHA)]);
    for (option, range) in [("--from-git", "1..=5000"), ("--lines", "1..=32000")] {
        let run = forage(&project, &["eval", option, "0"]);
        assert_eq!(run.status, 2, "{run:?}");
        assert_eq!(run.stderr.matches(&format!("0 is not in {range}")).count(), 1, "{run:?}");
        assert!(run.stderr.ends_with("try '--help'.\n"), "{run:?}");
    }
}

#[test]
fn malformed_sets_are_refused_with_what_is_wrong() {
    let project = Project::new(&[("a.rs", ALPHA)]);
    let query = r#"{"query": "q", "relevant": ["a.rs"]}"#;
    let set = |queries: &str, more: &str| format!(r#"[{{"name": "a", "queries": [{queries}]{more}}}]"#);
    let mut all = String::new();
    for text in [
        "{",
        "3",
        r#"[{"queries": []}]"#,
        r#"[{"name": "a"}]"#,
        &set(&format!("{query}, {{\"query\": \"q\"}}"), ""),
        &set(r#"{"query": "q", "relevant": [1]}"#, ""),
        &set(r#"{"query": " ", "relevant": ["a"]}"#, ""),
        &set(r#"{"query": "q", "relevant": []}"#, ""),
        &set(query, r#", "benchmark_root": "../.."#),
        &set(query, r#", "benchmark_root": "../..""#),
        &set(query, r#", "benchmark_root": "/etc""#),
        &set(query, r#", "benchmark_root": "a.rs""#),
    ] {
        let file = beside(&project, "set.json", text);
        all += &format!("{text}\n{}\n", forage(&project, &["eval", &file]).shown());
    }
    let file = beside(&project, "set.json", &set(query, r#", "revision": "--output=a""#));
    all += &forage(&project, &["eval", &file, "--at-revision"]).shown();
    all += &forage(&project, &["eval", "no-such-file.json"]).shown();
    assert_eq!(forage(&project, &["eval"]).status, 2);
    let file = beside(&project, "set.json", &set("", ""));
    all += &forage(&project, &["eval", &file]).shown();
    insta::assert_snapshot!(all);
}
