//! How models are chosen: provider table, model lists and their cache, `forage models`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::peer::{Peer, Reply, content, json};
use crate::support::{line_with, stable};
use crate::{Project, Run};

const KEY: &str = "key-of-this-test-77f";
const VARIABLES: &[(&str, &str)] = &[("ACME_KEY", KEY), ("OTHER_KEY", KEY)];

fn project() -> Project {
    Project::new(&[("src/retry.rs", "fn retry_with_backoff() {}\n")])
}

fn list(ids: &[(&str, u64)]) -> Reply {
    let data: Vec<Value> = ids.iter().map(|(id, created)| json!({ "id": id, "created": created })).collect();
    json(200, "", &json!({ "object": "list", "data": data }).to_string())
}

fn answer() -> Reply {
    content("\"src/retry.rs: it is\"")
}

/// Configures providers at the peers, in order of preference. With `local = false` they count as hosted,
/// although they are on the loopback interface.
fn configure(project: &Project, peers: &[(&str, &Peer)], extra: &str) {
    let providers: String = peers
        .iter()
        .map(|(name, peer)| {
            let variable = format!("{}_KEY", name.to_uppercase());
            format!(
                "[providers.{name}]\nbase_url = \"{}\"\nkey_env = [\"{variable}\"]\nlocal = false\n",
                peer.url()
            )
        })
        .collect();
    let prefer: String = peers
        .iter()
        .map(|(name, _)| format!("{{ provider = \"{name}\", match = [\"*coder*\"] }},"))
        .collect();
    project.configure(&format!(
        "{extra}\n{providers}[roles.filter]\nprefer = [{prefer}]\n[roles.agent]\nprefer = [{prefer}]\n"
    ));
}

fn search(project: &Project) -> Run {
    project.run_in(&project.root, &["keyword", "how are requests retried", "retry"], VARIABLES)
}

fn lines(peer: &Peer) -> Vec<String> {
    let first = |request: &String| request.lines().next().unwrap_or_default().to_owned();
    peer.requests().iter().map(first).collect()
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn model_of(request: &str) -> String {
    body(request)["model"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_key(request: &str, key: &str) {
    assert_eq!(line_with(request, "authorization: "), format!("authorization: Bearer {key}"));
}

#[track_caller]
fn assert_filtered_by(run: &Run, model: &str) {
    let note = format!("[filtered by {model}, 11 tokens in (5 cached), 7 out, N s]");
    assert_eq!((run.status, stable(line_with(&run.stdout, "[filtered by "))), (0, note), "{run:?}");
}

fn cached(project: &Project) -> Vec<PathBuf> {
    let directory = project.home.join(".cache/forage/model-lists");
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_newest_listed_match_is_asked_with_its_providers_key() {
    let project = project();
    let acme = Peer::start([list(&[("old-coder", 5), ("new-coder", 9), ("newest-else", 99)]), answer()]);
    configure(&project, &[("acme", &acme)], "");
    insta::assert_snapshot!(search(&project).shown());
    assert_eq!(lines(&acme), ["GET /v1/models HTTP/1.1", "POST /v1/chat/completions HTTP/1.1"]);
    let requests = acme.requests();
    assert_eq!(model_of(&requests[1]), "new-coder");
    for request in requests {
        assert_key(&request, KEY);
    }
}

#[test]
fn a_later_preference_is_not_asked_while_the_first_is_there() {
    let project = project();
    let acme = Peer::start([list(&[("a-coder", 1)]), answer()]);
    let other = Peer::start([list(&[("b-coder", 1)])]);
    configure(&project, &[("acme", &acme), ("other", &other)], "");
    assert_eq!(search(&project).status, 0);
    assert_eq!(lines(&other), Vec::<String>::new());
}

#[test]
fn a_model_that_is_gone_is_followed_by_the_next_candidate() {
    let project = project();
    let gone = json(404, "", r#"{"error":{"message":"The model does not exist"}}"#);
    let acme = Peer::start([list(&[("a-coder", 2), ("b-coder", 1)]), gone, answer()]);
    configure(&project, &[("acme", &acme)], "");
    insta::assert_snapshot!(search(&project).shown());
}

/// Acts as if Fireworks and OpenAI were down and Anthropic up.
#[test]
fn a_third_provider_is_asked_when_two_fail() {
    let project = project();
    let down = || json(503, "", "{}");
    let acme = Peer::start([list(&[("a-coder", 1)]), down(), down()]);
    let other = Peer::start([down(), down()]);
    let third = Peer::start([answer()]);
    // While the first provider works, we must not request the lists of the others.
    let pinned = "[[model_facts]]\nprovider = \"other\"\nmatch = [\"b-coder\"]\n\
                  [[model_facts]]\nprovider = \"third\"\nmatch = [\"c-coder\"]\n";
    configure(&project, &[("acme", &acme), ("other", &other), ("third", &third)], pinned);
    let variables = [VARIABLES, &[("THIRD_KEY", KEY)]].concat();
    let run = project.run_in(&project.root, &["keyword", "how are requests retried", "retry"], &variables);
    insta::assert_snapshot!(run.shown());
}

/// The requirement sets the preferences, and they apply to any host. Note that the newest model is also the
/// most expensive.
#[test]
fn a_gateways_models_are_chosen_in_the_order_of_the_requirement() {
    for (listed, asked, cost) in [
        (
            &[("gpt-5-thinking-mini", 1), ("gpt5-mini", 2), ("claude-sonnet-4.5", 3), ("claude-opus-4.5", 4)]
                [..],
            "gpt5-mini",
            "$0.0000",
        ),
        (
            &[
                ("claude-opus-4-5", 9),
                ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 1),
                ("gpt-4o-mini", 8),
            ],
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "$0.0001",
        ),
        (&[("claude-opus-4-1", 1)], "claude-opus-4-1", "$0.0006"),
    ] {
        let project = project();
        let gateway = Peer::start([list(listed), answer()]);
        let variables = [("FORAGE_BASE_URL", gateway.url())];
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, &value[..])).collect();
        let run = project.run_in(&project.root, &["keyword", "q", "retry"], &variables);
        assert_eq!(run.status, 0, "{run:?}");
        assert_eq!(model_of(&gateway.requests()[1]), asked);
        let note = format!("[filtered by custom/{asked}, 11 tokens in (5 cached), 7 out, {cost}, N s]");
        assert_eq!(stable(line_with(&run.stdout, "[filtered by ")), note);
    }
}

#[test]
fn other_tools_never_ask_for_a_list() {
    let project = project();
    let acme = Peer::start([list(&[("a-coder", 1)])]);
    configure(&project, &[("acme", &acme)], "");
    for arguments in [
        &["grep", "retry"][..],
        &["list", "."],
        &["read", "src/retry.rs"],
        &["search", "retry"],
        &["config"],
        &["tools"],
        &["keyword", "--filter", "lexical", "q", "retry"],
    ] {
        let run = project.run_in(&project.root, arguments, VARIABLES);
        assert_eq!(run.status, 0, "{run:?}");
    }
    assert_eq!(lines(&acme), Vec::<String>::new());
}

/// Configures a provider whose list may fail, so that the table's id is used.
fn with_pinned(project: &Project, peer: &Peer) {
    let pinned = "[[model_facts]]\nprovider = \"acme\"\nmatch = [\"pinned-coder\"]\n";
    configure(project, &[("acme", peer)], "");
    let path = project.home.join(".config/forage/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + pinned).unwrap();
}

#[test]
fn a_list_is_asked_for_once_a_day() {
    let project = project();
    let acme = Peer::start([
        list(&[("a-coder", 1)]),
        answer(),
        answer(),
        list(&[("b-coder", 2), ("a-coder", 1)]),
        answer(),
        json(500, "", "{}"),
        answer(),
    ]);
    with_pinned(&project, &acme);
    assert_filtered_by(&search(&project), "acme/a-coder");
    assert_filtered_by(&search(&project), "acme/a-coder");
    assert_eq!(lines(&acme).iter().filter(|line| line.starts_with("GET")).count(), 1);
    let [file] = &cached(&project)[..] else { panic!("one file: {:?}", cached(&project)) };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains(KEY), "{text}");
    #[cfg(unix)]
    {
        let mode = |path: &std::path::Path| {
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions()) & 0o777
        };
        assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    // One day later.
    let age = |text: &str, seconds: u64| {
        let mut stored: Value = serde_json::from_str(text).unwrap();
        stored["read_at"] = (stored["read_at"].as_u64().unwrap() - seconds).into();
        std::fs::write(file, stored.to_string()).unwrap();
    };
    age(&text, 25 * 3600);
    assert_filtered_by(&search(&project), "acme/b-coder");
    assert_eq!(lines(&acme).iter().filter(|line| line.starts_with("GET")).count(), 2);
    // Two days later the provider is down. Its old list is still better than none.
    age(&std::fs::read_to_string(file).unwrap(), 48 * 3600);
    assert_filtered_by(&search(&project), "acme/b-coder");
    assert_eq!(lines(&acme).len(), 7);
}

#[test]
fn a_corrupt_cache_is_no_cache() {
    let project = project();
    let times = 7;
    let acme = Peer::start((0..times).flat_map(|_| [list(&[("a-coder", 1)]), answer()]));
    with_pinned(&project, &acme);
    assert_eq!(search(&project).status, 0);
    let [file] = &cached(&project)[..] else { panic!("one file") };
    let text = std::fs::read_to_string(file).unwrap();
    let broken = [&text[..text.len() / 2], "", "[]", "null", "\0\0", &text.replace("acme", "evil")];
    assert_eq!(broken.len() + 1, times);
    for broken in broken {
        std::fs::write(file, broken).unwrap();
        assert_filtered_by(&search(&project), "acme/a-coder");
    }
    assert_eq!(lines(&acme).iter().filter(|line| line.starts_with("GET")).count(), times);
}

#[test]
fn missing_model_list_falls_back_to_the_table() {
    for (name, reply) in [
        ("hangs", Reply::Hang(Vec::new())),
        ("hangs in the body", Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec())),
        ("has no such page", json(404, "", "{}")),
        ("may not be read", json(403, "", "{}")),
        ("is down", json(503, "", "{}")),
        ("sends prose", json(200, "", "\"hello\"")),
        ("sends 9 MB", json(200, "", &" ".repeat(9 << 20))),
    ] {
        let project = project();
        let acme = Peer::start([reply, answer()]);
        with_pinned(&project, &acme);
        let started = Instant::now();
        let run = search(&project);
        assert!(started.elapsed() < Duration::from_secs(20), "{name}: {:?}", started.elapsed());
        assert_filtered_by(&run, "acme/pinned-coder");
        assert!(!format!("{run:?}").contains(KEY), "{name}");
        // A failure is remembered for a minute, so that successive searches do not all wait.
        let asked = lines(&acme).len();
        let run = project.run_in(&project.root, &["models", "--json"], &[]);
        assert_eq!(run.status, 1, "no key, no model: {run:?}");
        search(&project);
        let after = lines(&acme);
        assert!(after[asked..].iter().all(|line| line.starts_with("POST")), "{name}: {after:?}");
    }
}

#[test]
fn refused_key_is_reported_and_its_provider_skipped() {
    let project = project();
    let acme = Peer::start([json(401, "", &json!({ "error": format!("bad key {KEY}") }).to_string())]);
    configure(&project, &[("acme", &acme)], "");
    let run = search(&project);
    assert_eq!(run.status, 2, "{run:?}");
    assert_eq!(line_with(&run.stderr, "acme"), "- acme: the provider refused the key (HTTP 401)");
    assert!(!format!("{run:?}").contains(KEY), "{run:?}");
    assert_eq!(lines(&acme).len(), 1);
}

#[test]
fn a_list_of_5_mb_is_read() {
    let project = project();
    let many: Vec<Value> = (0..4_000)
        .map(|i| json!({ "id": format!("model-{i}"), "created": 5, "description": "x".repeat(1_300) }))
        .chain([json!({ "id": "a-coder", "created": 1 })])
        .collect();
    let body = json!({ "data": many }).to_string();
    assert!(body.len() > 5 << 20);
    let acme = Peer::start([json(200, "", &body), answer()]);
    configure(&project, &[("acme", &acme)], "");
    assert_filtered_by(&search(&project), "acme/a-coder");
}

#[test]
fn table_models_are_named_by_provider_and_id() {
    let project = project();
    let acme = Peer::start([answer(), answer(), answer()]);
    let openai = Peer::start([answer()]);
    configure(&project, &[("acme", &acme)], "");
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["keyword", "q", "retry"], arguments].concat();
        project.run_in(&project.root, &arguments, &[VARIABLES, variables].concat())
    };
    // Since the user named the model, no list is requested.
    assert_filtered_by(&run(&["--model", "acme/some/model"], &[]), "acme/some/model");
    assert_filtered_by(&run(&[], &[("FORAGE_MODEL", "acme/x")]), "acme/x");
    let models: Vec<String> = acme.requests().iter().map(|request| model_of(request)).collect();
    assert_eq!(models, ["some/model", "x"]);
    assert_key(&acme.requests()[0], KEY);
    // With an explicit address the whole name is an id.
    let named = run(&["--model", "acme/x"], &[("FORAGE_BASE_URL", &acme.url()), ("FORAGE_API_KEY", "own")]);
    assert_eq!(named.status, 0, "{named:?}");
    assert_eq!(model_of(&acme.requests()[2]), "acme/x");
    assert_key(&acme.requests()[2], "own");
    // A bare id goes to OpenAI or to the address in its variable, even if it has a slash.
    let named = run(&["--model", "qwen/q"], &[("OPENAI_BASE_URL", &openai.url())]);
    assert_eq!(named.status, 0, "{named:?}");
    assert_eq!(model_of(&openai.requests()[0]), "qwen/q");
    // If a provider's key is missing, the error should name the variable.
    let named = run(&["--model", "groq/x"], &[]);
    assert_eq!(named.status, 2);
    assert_eq!(
        line_with(&named.stderr, "groq"),
        "Configured but not usable: x at groq, because no key: GROQ_API_KEY is not set."
    );
}

#[test]
fn an_address_alone_is_asked_for_its_models() {
    let project = project();
    let server = Peer::start([list(&[("whatever-it-serves", 1)]), answer()]);
    let run = project.run_in(
        &project.root,
        &["keyword", "q", "retry", "--base-url", &server.url()],
        &[("OPENAI_API_KEY", KEY)],
    );
    assert_filtered_by(&run, "custom/whatever-it-serves");
    // OpenAI's key must not be sent to that address.
    assert!(!server.requests().concat().contains(KEY));
}

/// `FORAGE_BASE_URL` is not OpenAI's address, so OpenAI's key must not be sent there.
#[test]
fn the_key_of_openai_stays_with_openai() {
    let project = project();
    for (address, key, sent) in [
        ("FORAGE_BASE_URL", "OPENAI_API_KEY", false),
        ("FORAGE_BASE_URL", "FORAGE_API_KEY", true),
        ("OPENAI_BASE_URL", "OPENAI_API_KEY", true),
    ] {
        let server = Peer::start([answer()]);
        let variables = [(address, server.url()), (key, KEY.to_owned()), ("FORAGE_MODEL", "m".to_owned())];
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let run = project.run_in(&project.root, &["keyword", "q", "retry"], &variables);
        assert_eq!(run.status, 0, "{run:?}");
        assert_eq!(server.requests().concat().contains(KEY), sent, "{address} {key}");
    }
}

/// A configured entry does not apply to another address.
#[test]
fn a_key_stays_with_its_address_and_an_explicit_variable_wins() {
    let project = project();
    let (own, other) = (Peer::start([answer()]), Peer::start([answer(), answer()]));
    let entry = format!("model = \"m\"\nbase_url = \"{}\"\nkey_env = \"ACME_KEY\"\n", own.url());
    project.configure(&format!("[[models]]\nprovider = \"acme\"\n{entry}"));
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["keyword", "q", "retry"], arguments].concat();
        let run = project.run_in(&project.root, &arguments, &[&[("ACME_KEY", KEY)], variables].concat());
        assert_eq!(run.status, 0, "{run:?}");
    };
    run(&["--model", "m", "--base-url", &other.url()], &[]);
    run(&["--base-url", &other.url()], &[("FORAGE_MODEL", "x"), ("OPENAI_API_KEY", KEY)]);
    assert!(!other.requests().concat().contains(KEY));
    run(&["--model", "m", "--key-env", "WORK_KEY"], &[("WORK_KEY", "key-of-work")]);
    assert_key(&own.requests()[0], "key-of-work");
}

#[test]
fn an_id_alone_goes_where_the_user_has_openai() {
    let project = project();
    let gateway = Peer::start([answer()]);
    let entry = format!("base_url = \"{}\"\nkey_env = [\"GATEWAY_KEY\"]\n", gateway.url());
    project.configure(&format!("[providers.openai]\n{entry}"));
    let variables = [("GATEWAY_KEY", "key-of-the-gateway"), ("OPENAI_API_KEY", KEY), ("FORAGE_API_KEY", KEY)];
    let run = project.run_in(&project.root, &["keyword", "q", "retry", "--model", "m"], &variables);
    assert_eq!(run.status, 0, "{run:?}");
    assert_key(&gateway.requests()[0], "key-of-the-gateway");
    project.configure(&format!("[providers.openai]\nenabled = false\n{entry}"));
    let run = project.run_in(&project.root, &["keyword", "q", "retry", "--model", "m"], &variables);
    assert_eq!(run.status, 2, "{run:?}");
    assert_eq!(
        line_with(&run.stderr, "openai"),
        "Configured but not usable: m at openai, because switched off by `enabled = false`."
    );
}

#[test]
fn a_model_of_the_table_may_speak_another_protocol() {
    let project = project();
    let server = Peer::start([answer()]);
    let provider = format!("[providers.acme]\nbase_url = \"{}\"\n", server.url());
    project.configure(&format!(
        "{provider}\n[[models]]\nprovider = \"acme\"\nmodel = \"m\"\nwire = \"anthropic\"\n"
    ));
    project.run(&["keyword", "q", "retry"]);
    assert!(server.requests()[0].starts_with("POST /v1/messages "), "{:?}", server.requests());
}

#[test]
fn the_page_on_models_names_every_provider_and_variable() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let page = std::fs::read_to_string(page).unwrap();
    let records = project().run(&["models", "--json"]).json();
    assert!(page.contains(records["facts_as_of"].as_str().unwrap()), "the date of the facts");
    let providers = records["providers"].as_array().unwrap();
    assert!(providers.len() > 10);
    for provider in providers {
        let name = provider["name"].as_str().unwrap();
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("{name}"));
        for variable in provider["key_variables"].as_array().unwrap() {
            assert!(row.contains(&format!("`{}`", variable.as_str().unwrap())), "{row}");
        }
        if let Some(url) = provider["base_url"].as_str() {
            assert!(row.contains(url), "{row}");
        }
    }
}

/// Any program could listen on a well-known port.
#[test]
fn local_model_servers_are_asked_only_on_request() {
    let project = project();
    let servers = [(); 2].map(|()| Peer::start([list(&[("small:7b", 3)]), answer()]));
    let variables = [
        ("OLLAMA_HOST", servers[0].url().split('/').nth(2).unwrap().to_owned()),
        ("LM_STUDIO_API_BASE", servers[1].url()),
    ];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, &value[..])).collect();
    let listed = "  ollama      http://127.0.0.1:PORT/v1 (from OLLAMA_HOST); needs no key; ";
    for (arguments, status, line) in [
        (&["keyword", "q", "retry"][..], 2, "- ollama: "),
        (&["ask", "q"], 2, "- ollama: "),
        (&["models"], 1, listed),
        (&["models", "--refresh", "--check"], 1, listed),
    ] {
        let run = project.run_in(&project.root, arguments, &variables);
        let expected = format!(
            "{line}not used unless the configuration has `[providers.ollama] enabled = true`, or \
             `FORAGE_MODEL=ollama/ID` names one of its models"
        );
        let shown = run.shown();
        assert_eq!((run.status, line_with(&shown, "ollama")), (status, expected.as_str()), "{arguments:?}");
    }
    assert_eq!(project.run_in(&project.root, &["doctor", "--online"], &variables).status, 0);
    assert!(servers.iter().all(|server| server.requests().is_empty()));
    let named =
        project.run_in(&project.root, &["keyword", "q", "retry", "--model", "lmstudio/x"], &variables);
    assert_eq!(lines(&servers[1]), ["POST /v1/chat/completions HTTP/1.1"], "{named:?}");
    assert!(servers[0].requests().is_empty());
}

#[test]
fn a_server_of_this_machine_is_used_when_it_is_enabled() {
    let project = project();
    project.configure("[providers.ollama]\nenabled = true\n");
    let ollama = Peer::start([list(&[("nomic-embed-text", 9), ("small:7b", 3)]), answer()]);
    let host = ollama.url().split('/').nth(2).unwrap().replace("127.0.0.1", "0.0.0.0");
    let run = project.run_in(
        &project.root,
        &["keyword", "q", "retry"],
        &[("OLLAMA_HOST", &host), ("OPENAI_API_KEY", " ")],
    );
    assert_filtered_by(&run, "ollama/small:7b");
    assert!(cached(&project).is_empty(), "servers of this machine come and go");
    assert!(!ollama.requests().concat().to_lowercase().contains("authorization"));
}

#[test]
fn hanging_local_server_blocks_no_search() {
    let project = project();
    project.configure("[providers.ollama]\nenabled = true\n");
    let ollama = Peer::start([Reply::Hang(Vec::new())]);
    let started = Instant::now();
    let host = ollama.url().split('/').nth(2).unwrap().to_owned();
    let run = project.run_in(&project.root, &["keyword", "q", "retry"], &[("OLLAMA_HOST", &host)]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(run.status, 2);
    assert_eq!(line_with(&run.stderr, "ollama"), "- ollama: its list can't be read (no answer in time)");
}

#[test]
fn without_any_provider_the_error_names_all_of_them() {
    insta::assert_snapshot!(project().run(&["keyword", "q", "retry"]).shown());
}

#[test]
fn models_shows_what_would_be_asked_and_why() {
    let project = project();
    let lists = || [list(&[("old-coder", 1), ("new-coder", 2)])];
    let (acme, other) = (Peer::start(lists()), Peer::start(lists()));
    configure(&project, &[("acme", &acme), ("other", &other)], "");
    insta::assert_snapshot!(project.run_in(&project.root, &["models"], VARIABLES).shown());
    assert!([&acme, &other].iter().all(|peer| lines(peer).len() == 1), "each list once, for both roles");
}

#[test]
fn models_gives_records() {
    let project = project();
    let acme = Peer::start([list(&[("a-coder", 2)])]);
    configure(&project, &[("acme", &acme)], "");
    let run = project.run_in(&project.root, &["models", "--json"], VARIABLES);
    let records = run.json();
    let first = &records["roles"]["filter"]["candidates"][0];
    assert_eq!(
        (&first["provider"], &first["model"], &first["asked"]),
        (&"acme".into(), &"a-coder".into(), &1.into())
    );
    let acme_record =
        records["providers"].as_array().unwrap().iter().find(|it| it["name"] == "acme").unwrap();
    assert_eq!(acme_record["key_variable"], "ACME_KEY");
    assert_eq!(
        (&acme_record["listed_models"], &acme_record["configured_by"]),
        (&1.into(), &"your configuration".into())
    );
    assert!(!format!("{run:?}").contains(KEY));
}

#[test]
fn models_checks_by_a_tiny_call_and_says_what_it_cost() {
    let project = project();
    let acme = Peer::start([list(&[("a-coder", 2)]), content("\"ok\""), content("\"ok\"")]);
    let other =
        Peer::start([list(&[("b-coder", 2)]), json(401, "", &format!("{{\"error\":\"bad {KEY}\"}}"))]);
    configure(&project, &[("acme", &acme), ("other", &other)], "");
    let path = project.home.join(".config/forage/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let price =
        "[[model_facts]]\nprovider = \"acme\"\nmatch = [\"*\"]\nprice = { input = 1.0, output = 2.0 }\n";
    std::fs::write(&path, text + price).unwrap();
    let run = project.run_in(&project.root, &["models", "--check"], VARIABLES);
    assert_eq!(run.status, 1, "one of the two fails: {run:?}");
    let refused =
        "\n  other/b-coder: the provider refused the key (HTTP 401); check the key set for this provider\n";
    assert!(run.stdout.contains(refused), "{run:?}");
    insta::assert_snapshot!(stable(run.stdout.split_once("\n\nchecked:\n").unwrap().1));
    assert!(!format!("{run:?}").contains(KEY), "{run:?}");
    let asked = acme.requests()[1].clone();
    assert_eq!(body(&asked)["messages"][1]["content"], "Answer with the word ok.");
    assert!(asked.len() < 1_000, "{asked}");
    // Everything works without the second provider.
    configure(&project, &[("acme", &acme)], "");
    let run = project.run_in(&project.root, &["models", "--check", "--json"], VARIABLES);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["checks"][0]["works"], true);
}

#[test]
fn mistakes_in_the_table_are_named_whatever_the_command() {
    let project = project();
    let errors = [
        "[providers.x]\nbase_url = \"https://h\"\nkey = \"k\"\n",
        "[providers.x]\n",
        "[roles.filter]\nprefer = [{ provider = \"nobody\", match = [\"*\"] }]\n",
        "[roles.cook]\n",
    ]
    .map(|text| {
        project.configure(text);
        let run = project.run(&["grep", "retry"]);
        assert_eq!(run.status, 2, "{run:?}");
        run.stderr
    });
    insta::assert_snapshot!(stable(&errors.concat()));
}

#[test]
fn a_repository_can_say_nothing_of_providers_roles_and_models() {
    let project = project();
    let evil = Peer::start([list(&[("evil-coder", 1)]), answer()]);
    let url = evil.url();
    project.write(
        ".forage.toml",
        &format!(
            "[providers.openai]\nbase_url = \"{url}\"\n[providers.evil]\nbase_url = \"{url}\"\n\
             [roles.filter]\nprefer = [{{ provider = \"evil\", match = [\"*\"] }}]\n\
             [[model_facts]]\nmatch = [\"*\"]\ntemperature = true\n"
        ),
    );
    let run = project.run_in(&project.root, &["keyword", "q", "retry"], &[("GROQ_API_KEY", "")]);
    assert_eq!(run.status, 2, "{run:?}");
    insta::assert_snapshot!(stable(run.stderr.split_once("forage: error: ").unwrap().0));
    assert_eq!(lines(&evil), Vec::<String>::new());
    // In the user's own file the same lines take effect.
    let text = std::fs::read_to_string(project.root.join(".forage.toml")).unwrap();
    project.configure(&text);
    let run = project.run(&["keyword", "q", "retry"]);
    assert_filtered_by(&run, "evil/evil-coder");
}
