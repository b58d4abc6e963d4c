//! Which engine `Search` uses, and the reports if no engine can run.

use serde_json::json;

use super::wire::Pipes;
use super::{call, initialize, request, shown};
use crate::Project;
use crate::support::stable;

/// §5 of the requirements of `Search` as written, with the tool enabled. We use `binary`, or else
/// `fallback_binary`. If neither is installed, the tool is not offered, and each interface reports which
/// programs were searched.
#[test]
fn the_documents_toml_selects_the_external_engines() {
    forage_fuzz::needs!("rg", "ugrep");
    const BLOCK: &str = "[tools.search]\nenabled = false\nbinary = \"ugrep\"\nfallback_binary = \"rg\"\n\
                         default_timeout_ms = 20000\ndefault_max_results = 200\n";
    let project = Project::new(&[("a.txt", "needle\n")]);
    let search = |block: &str, names: &[&str]| {
        project.configure(block);
        let path = project.home.join(format!("bin-{}", names.concat()));
        std::fs::create_dir_all(&path).unwrap();
        for name in names {
            // Ignore the error, since the links exist already for the second block.
            let _ = std::os::unix::fs::symlink(forage_fuzz::peers::program(name), path.join(name));
        }
        let path = path.to_str().unwrap().to_owned();
        let run = |arguments: &[&str]| project.run_in(&project.root, arguments, &[("PATH", &path)]);
        let offered = run(&["tools"]).stdout.lines().any(|line| line.starts_with("Search "));
        let mut agent = Pipes::start_with(&project, &[], &[("PATH", &path)]);
        agent.handshake(initialize("2025-11-25", 0));
        let listed = agent.ask(&request("2025-11-25", 1, "tools/list", json!({})));
        let listed = listed["result"]["tools"].as_array().unwrap().iter().any(|it| it["name"] == "Search");
        assert_eq!(offered, listed, "{block} {names:?}");
        let called = shown(&agent.ask(&call("2025-11-25", 2, "Search", json!({"pattern": "needle"}))));
        agent.close();
        let doctor = run(&["doctor"]).stdout;
        (
            offered,
            called,
            run(&["call", "Search", "--json", r#"{"pattern": "needle"}"#]),
            stable(doctor.lines().find(|line| line.starts_with("  `Search` ")).unwrap()),
        )
    };
    // With the document's settings the tool is not offered to agents, but a person's search uses ugrep.
    let (offered, called, run, _) = search(BLOCK, &["ugrep", "rg"]);
    assert!(!offered);
    assert_eq!(run.json()["engine"], "ugrep", "{run:?}");
    let mut all = vec![called];

    let on = BLOCK.replace("false", "true");
    let (offered, called, run, doctor) = search(&on, &["ugrep", "rg"]);
    assert!(offered, "{called}");
    assert_eq!(run.json()["engine"], "ugrep", "{run:?}");
    all.extend([called, doctor]);
    let setting = &project.run(&["config", "--json"]).json()["tools.search.engine"];
    assert_eq!(setting["value"], "external");
    assert_ne!(setting["source"], "default");

    let (offered, called, run, _) = search(&on, &["rg"]);
    assert!(offered, "{called}");
    assert_eq!(run.json()["engine"], "rg", "{run:?}");
    all.push(called);

    let (offered, called, run, doctor) = search(&on, &[]);
    assert!(!offered && run.status == 2 && run.json()["code"] == "no_engine", "{run:?}");
    all.extend([called, stable(&run.stderr), doctor]);
    insta::assert_snapshot!(all.join("\n---\n"));

    // An explicitly named engine is used, whatever the program settings are.
    let (offered, _, run, _) = search(&format!("{on}engine = \"embedded\"\n"), &[]);
    assert!(offered && run.json()["engine"] == "embedded", "{run:?}");
    for program in ["binary", "fallback_binary"] {
        let (.., run, _) = search(&format!("[tools.search]\n{program} = \"rg\"\n"), &["rg"]);
        assert_eq!(run.json()["engine"], "rg", "{program}: {run:?}");
    }
}
