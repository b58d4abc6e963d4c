//! Shows an overview of all clients, and snippets for clients that we do not know.

use std::fmt::Write as _;

use anyhow::bail;
use forage_tools::sanitize;

use super::records::{ClientFile, KnownClient, OtherClient, SetupExtra};
use super::{Setup, all_sites, state_words};
use crate::cli::Status;
use crate::cli::output::Terminal;
use crate::setup::{
    Addition, CLIENTS, Client, ClientConfig, ClientState, Extra, SetupScope, detect, extra_snippet,
    extras_of, general_snippets, hooks_remark, http_snippet, snippet,
};

/// Prints all clients. For those that are installed, this lists their files.
pub(super) fn overview(setup: &Setup, output: &mut Terminal) -> anyhow::Result<Status> {
    let sites = all_sites(&setup.directories, &setup.project);
    let sites_of = |client: &'static Client| sites.iter().filter(|site| site.client.name == client.name);
    if output.wants_json() {
        let client = |client: &'static Client| {
            let extras = extras_of(client.name).iter();
            KnownClient {
                client: client.name,
                title: client.title,
                format: client.format.name(),
                user_file: client.place(SetupScope::User),
                project_file: client.place(SetupScope::Project),
                snippet: snippet(client, &setup.words.command, &[]),
                remark: remark(client),
                tried: client.tried,
                traces: detect::shown(client),
                found: detect::found(client, &setup.directories),
                files: sites_of(client).map(ClientFile::from_site).collect(),
                with: extras.map(|extra| extra_record(setup, client, extra)).collect(),
            }
        };
        output.record(&CLIENTS.iter().map(client).collect::<Vec<_>>())?;
        return Ok(Status::Found);
    }
    let (mut text, mut absent) = (String::new(), Vec::new());
    for client in CLIENTS {
        let found = detect::found(client, &setup.directories);
        if found.is_empty() && sites_of(client).all(|site| matches!(site.state, ClientState::Absent { .. })) {
            absent.push(client.name);
            continue;
        }
        let found = if found.is_empty() { "not found here".to_owned() } else { found.join(", ") };
        writeln!(text, "{:<14} {} ({found})", client.name, client.title)?;
        for site in sites_of(client) {
            let beside = beside(setup, client, site);
            writeln!(
                text,
                "  {:<8} {}: {}{beside}",
                site.scope.name(),
                site.path.display(),
                state_words(&site.state)
            )?;
        }
    }
    if text.is_empty() {
        writeln!(text, "No client was found on this machine.")?;
    }
    writeln!(text, "\nKnown and not found here: {}.", absent.join(", "))?;
    writeln!(
        text,
        "`forage setup CLIENT` shows what it would write; --write writes it. --detected sets up all clients \
         that were found, --with all adds everything that they support, and `forage setup other` shows the \
         entry for any other client."
    )?;
    output.text(&sanitize(&text))?;
    output.flush()?;
    Ok(Status::Found)
}

/// Joins all notes for a user who sets this client up.
fn remark(client: &Client) -> Option<String> {
    let remarks: Vec<&str> = client.remark.into_iter().chain(hooks_remark(client.name)).collect();
    (!remarks.is_empty()).then(|| remarks.join(" "))
}

/// Describes the extras that are present.
fn beside(setup: &Setup, client: &'static Client, site: &ClientConfig) -> String {
    let is_there = |extra: &&'static Extra| match setup.extension(extra, client) {
        Some(extension) => site.has(&extension),
        None => Addition::find(client, extra, site.scope, &setup.directories, &setup.project)
            .is_some_and(|addition| addition.is_present()),
    };
    let names: Vec<&str> = extras_of(client.name).iter().filter(is_there).map(|it| it.with.name()).collect();
    if names.is_empty() { String::new() } else { format!("; with {}", names.join(", ")) }
}

fn extra_record(setup: &Setup, client: &'static Client, extra: &Extra) -> SetupExtra {
    SetupExtra {
        name: extra.with.name(),
        about: extra.about(),
        user_file: extra.place(SetupScope::User),
        project_file: extra.place(SetupScope::Project),
        snippet: extra_snippet(extra, client, &setup.words),
    }
}

/// Shows the snippets for a client that we do not know.
pub(super) fn show(name: &str, command: &str, acts: bool, output: &mut Terminal) -> anyhow::Result<Status> {
    let snippets = general_snippets(command);
    let unknown = (name != "other").then(|| {
        let similar = similar(name);
        let meant = match similar.is_empty() {
            true => ".".to_owned(),
            false => format!("; did you mean {}?", similar.join(" or ")),
        };
        sanitize(&format!("`{name}` is not a client that Forage knows{meant}"))
    });
    if output.wants_json() && !acts {
        output.record(&OtherClient {
            client: name,
            known: false,
            similar: similar(name),
            command,
            args: ["mcp"],
            snippets: snippets.into(),
            http: http_snippet(),
        })?;
        return unknown.map_or(Ok(Status::Found), |text| bail!(text));
    }
    let mut text = unknown.as_ref().map_or_else(String::new, |text| format!("{text}\n"));
    writeln!(
        text,
        "A client runs `{command} mcp` and talks to it over standard input and output. Usually, one of these goes into"
    )?;
    writeln!(
        text,
        "its configuration; if it asks for the parts one by one: command `{command}`, argument `mcp`."
    )?;
    for (_, snippet) in &snippets {
        write!(text, "\n{snippet}")?;
    }
    writeln!(
        text,
        "\nA client can also connect to a server, such as `{command} mcp --http 127.0.0.1:8930` or that of a team. For a"
    )?;
    writeln!(text, "server without tokens, leave `headers` out.\n\n{}", http_snippet().trim_end())?;
    if acts || unknown.is_some() {
        bail!("{}", sanitize(&text).trim_end());
    }
    output.text(&sanitize(&text))?;
    output.flush()?;
    Ok(Status::Found)
}

/// Returns the clients that the user may have meant.
fn similar(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let is_similar = |client: &&Client| {
        let title = client.title.to_lowercase();
        name.len() >= 3
            && (client.name.contains(&name) || name.contains(client.name) || title.contains(&name))
    };
    CLIENTS.iter().filter(is_similar).map(|client| client.name).collect()
}
