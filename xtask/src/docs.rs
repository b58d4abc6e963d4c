//! Builds the site: `docs/` as a book, and the same text for agents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cargo::{Workspace, empty, files_below, succeed, write};
use crate::peers;

/// The base URL of files in the repository that are not pages of the book.
pub(crate) const REPOSITORY: &str = "https://github.com/forage-search/forage/blob/main/";

/// Builds the site in `target/book` and checks for dead links.
pub(crate) fn build(workspace: &Workspace) -> Result<(), String> {
    peers::install_named(workspace, &["mdbook", peers::SPELLING])?;
    spelling(workspace)?;
    let (source, book) = (workspace.path("target/book-source"), workspace.path("target/book"));
    for directory in [&source, &book] {
        empty(directory)?;
    }
    let pages = pages(workspace)?;
    copy(workspace, &pages, &source)?;
    let mut command = workspace.program("mdbook");
    succeed(command.arg("build").arg(&source).arg("--dest-dir").arg(&book), "mdbook")?;
    for_agents(workspace, &pages, &book)?;
    let dead = dead_links(&book)?;
    if dead.is_empty() {
        println!("    {} pages in {}", pages.len(), workspace.shown(&book));
        Ok(())
    } else {
        Err(format!("broken links:\n{}", dead.join("\n")))
    }
}

/// Checks the spelling of text for readers. `typos.toml` lists the words that examples misspell deliberately.
fn spelling(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.program(peers::spell_checker(workspace));
    command.args(["--config", "typos.toml", "--force-exclude", "docs"]);
    let entries = std::fs::read_dir(workspace.path("")).map_err(|error| error.to_string())?;
    let pages = entries.flatten().map(|entry| entry.path());
    command.args(pages.filter(|path| path.extension().is_some_and(|end| end == "md")));
    succeed(&mut command, "typos")
}

/// Lists the names of the pages in the order of the summary. It is an error if the summary lacks a page.
fn pages(workspace: &Workspace) -> Result<Vec<String>, String> {
    let summary = workspace.read(&workspace.path("docs/SUMMARY.md"))?;
    let pages: Vec<String> =
        summary.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect();
    let entries = std::fs::read_dir(workspace.path("docs")).map_err(|error| error.to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let missing: Vec<String> =
        names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md" && !pages.contains(name)).collect();
    match missing.is_empty() {
        true => Ok(pages),
        false => Err(format!("docs/SUMMARY.md does not list {}", missing.join(", "))),
    }
}

/// Copies the pages, and also the images, styles and schemas to which they refer.
fn copy(workspace: &Workspace, pages: &[String], source: &Path) -> Result<(), String> {
    for name in ["SUMMARY.md", "book.toml"].into_iter().chain(pages.iter().map(String::as_str)) {
        let text = workspace.read(&workspace.path("docs").join(name))?;
        write(&source.join(name), for_readers(&text))?;
    }
    let docs = workspace.path("docs");
    for path in files_below(&docs)? {
        if path.extension().is_some_and(|end| ["svg", "png", "css", "json"].iter().any(|shown| end == *shown))
        {
            let content = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            write(&source.join(path.strip_prefix(&docs).unwrap_or(&path)), content)?;
        }
    }
    Ok(())
}

/// Removes text that only the test of a page's examples needs. The name of a file appears above its text, and
/// wildcards become `…`.
fn for_readers(page: &str) -> String {
    let mut shown = String::new();
    let mut is_console = false;
    for line in page.lines() {
        let line = match line.strip_prefix("```text file=") {
            Some(path) => format!("`{path}`:\n\n```text"),
            None if line.starts_with("```console") => "```console".to_owned(),
            None if is_console => line.replace("[..]", "…"),
            None => line.to_owned(),
        };
        is_console = line == "```console" || is_console && line != "```";
        shown.push_str(&line);
        shown.push('\n');
    }
    // Links to files that are not pages of the book must point to the repository.
    shown.replace("](../", &format!("]({REPOSITORY}"))
}

/// Maximum size of `llms.txt` in bytes. This is 3,000 tokens of 3.2 bytes each.
const LLMS_BYTES: usize = 9_600;

/// The first lines of `llms.txt`.
const LLMS: &str = "\
# Forage

> Code search for coding agents: an MCP server, a command line and a library. It ranks files and functions for a question or a bug
> report, searches lines as ripgrep does, and reads definitions. It needs no model, no key and no network. Searches change nothing.

Forage 0.1.0 is not published yet: `cargo install --locked --path crates/forage` builds it from a clone. `forage setup CLIENT --write`
adds the server to a client. Agents get the tools `search_index` (a question), `grep_search` (a pattern or a name), `read_file`
and `list_directory`, and `keyword_search` if it has a model or `filter = \"lexical\"`. The tools `Search`, `keyword_lookup` and `search_history` are off by default.
";

/// Writes `llms.txt`, a list of the pages with a summary of each, and `llms-full.txt`, which contains all
/// pages.
fn for_agents(workspace: &Workspace, pages: &[String], book: &Path) -> Result<(), String> {
    let mut texts = BTreeMap::new();
    for page in pages {
        texts.insert(page.as_str(), workspace.read(&workspace.path("docs").join(page))?);
    }
    let summary = workspace.read(&workspace.path("docs/SUMMARY.md"))?;
    write(&book.join("llms.txt"), list_for_agents(&summary, &texts)?)?;
    let mut full = String::new();
    for page in pages {
        let text = for_readers(&texts[page.as_str()]);
        let _ = write!(full, "{}\n\n", text.trim_end());
        write(&book.join(page), text)?;
    }
    write(&book.join("llms-full.txt"), full)
}

/// Formats `llms.txt`: the pages, grouped by the parts of the summary.
fn list_for_agents(summary: &str, texts: &BTreeMap<&str, String>) -> Result<String, String> {
    let mut list = LLMS.to_owned();
    // The first line is the title of the summary itself.
    for line in summary.lines().skip(1) {
        if let Some(part) = line.strip_prefix("# ") {
            let _ = write!(list, "\n## {part}\n\n");
        } else if let Some((title, page)) = line.strip_prefix("- [").and_then(|line| line.split_once("](")) {
            let page = page.trim_end_matches(')');
            let text = texts.get(page).ok_or_else(|| format!("there is no {page}"))?;
            let _ = writeln!(list, "- [{title}]({page}): {}", first_sentence(text));
        }
    }
    match list.len() <= LLMS_BYTES {
        true => Ok(list),
        false => Err(format!("llms.txt has {} bytes; the limit is {LLMS_BYTES}", list.len())),
    }
}

/// Extracts the first sentence of a page, without its links.
fn first_sentence(page: &str) -> String {
    let mut in_code = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['#', '<', '|', '-', '!']);
    let text: Vec<&str> =
        lines.skip_while(|line| !is_text(line)).take_while(|line| !line.is_empty()).collect();
    let text = text.join(" ");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((name, after)) = link.split_once("](") else { break };
        plain.push_str(name);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let end = plain.find(". ").map_or(plain.len(), |at| at + 1);
    match plain[..end].strip_suffix(':') {
        Some(introduction) => format!("{introduction}."),
        None => plain[..end].to_owned(),
    }
}

/// Finds links in the book's pages to files or anchors that do not exist, and links named after a file instead
/// of its page.
fn dead_links(book: &Path) -> Result<Vec<String>, String> {
    let files = files_below(book)?;
    let pages: Vec<&PathBuf> =
        files.iter().filter(|path| path.extension().is_some_and(|end| end == "html")).collect();
    let mut dead = BTreeSet::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).map_err(|error| error.to_string())?;
        let mut report = |link: &str| {
            dead.insert(format!("{}: {link}", page.strip_prefix(book).unwrap_or(page).display()));
        };
        let names = text.match_indices(".md</a>").filter_map(|(at, _)| text[..at].rsplit('>').next());
        // Files of the repository have no page: they keep their names.
        for name in names.filter(|name| !name.contains(|letter: char| letter == '/' || letter.is_uppercase()))
        {
            report(&format!("[{name}.md]"));
        }
        let named = ["href=\"", "src=\"", "srcset=\""].into_iter().flat_map(|name| text.split(name).skip(1));
        for link in named.filter_map(|rest| rest.split('"').next()) {
            if link.contains("://") || link.starts_with(['/', '$']) || link.starts_with("mailto:") {
                continue;
            }
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => (*page).clone(),
                path => page.parent().unwrap_or(book).join(path),
            };
            let has_place = |place: &str| {
                std::fs::read_to_string(&target).is_ok_and(|text| text.contains(&format!("id=\"{place}\"")))
            };
            if !target.is_file() || !(place.is_empty() || has_place(place)) {
                report(link);
            }
        }
    }
    Ok(dead.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_of_a_page_is_found() {
        let page = "# A\n\n<!-- x -->\n\nThe [index](i.md) is kept. More.\nOf it.\n";
        assert_eq!(first_sentence(page), "The index is kept.");
        assert_eq!(first_sentence("# A\n\n| a |\n"), "");
        assert_eq!(
            first_sentence("# A\n\n```sh\nx\n```\n\n- y\n\n`forage z` does this:\n"),
            "`forage z` does this."
        );
    }

    #[test]
    fn a_reader_sees_the_names_of_files_and_no_marks_of_the_tests() {
        let page = "a [..]\n```text file=a/b.rs\nx\n```\n```console no-run: why\n$ y\nz [..]\n```\n[..]\n";
        let shown = "a [..]\n`a/b.rs`:\n\n```text\nx\n```\n```console\n$ y\nz …\n```\n[..]\n";
        assert_eq!(for_readers(page), shown);
    }

    #[test]
    fn agents_get_the_pages_by_part_within_the_limit() {
        let summary = "# Summary\n\n[Front](README.md)\n\n# Start\n\n- [Begin](a.md)\n";
        let list = |text: String| list_for_agents(summary, &BTreeMap::from([("a.md", text)]));
        let expected = format!("{LLMS}\n## Start\n\n- [Begin](a.md): How to begin.\n");
        assert_eq!(list("# A\n\nHow to begin. And more.\n".to_owned()), Ok(expected));
        assert!(list(format!("# A\n\n{}\n", "x".repeat(LLMS_BYTES))).is_err());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let place = std::env::temp_dir().join(format!("forage-links-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let page = r##"<a href="b.html">x</a><a href="#here" id="here">x</a><a href="#there">b.md</a><a href="https://x.y">x</a><img src="c.svg"><source srcset="d.svg">"##;
        std::fs::write(place.join("a.html"), page).unwrap();
        let dead = dead_links(&place).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        assert_eq!(
            dead,
            ["a.html: #there", "a.html: [b.md]", "a.html: b.html", "a.html: c.svg", "a.html: d.svg"]
        );
    }
}
