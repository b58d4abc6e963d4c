//! Builds the site: `docs/` as a book, and the same text for agents.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;

use crate::cargo::{Workspace, empty, files_below, has_extension, run, write};
use crate::peers::{self, SPELLING, python_tool};

/// The base URL of files in the repository that are not pages of the book.
pub(crate) const REPOSITORY: &str = "https://github.com/forage-search/forage/blob/main/";

/// Builds the site in `target/book` and checks for dead links.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    peers::install_named(workspace, &["mdbook", SPELLING])?;
    spelling(workspace)?;
    let (source, book) = (workspace.path("target/book-source"), workspace.path("target/book"));
    empty(&source)?;
    empty(&book)?;
    let pages = pages(workspace)?;
    copy(workspace, &pages, &source)?;
    run(workspace.command("mdbook build").arg(&source).arg("--dest-dir").arg(&book))?;
    for_agents(workspace, &pages, &book)?;
    workspace.own_tests("links")?;
    println!("    {} pages in {}", pages.len(), workspace.shown(&book));
    Ok(())
}

/// Builds the site and checks it in a real browser.
pub(crate) fn look(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    peers::install_named(workspace, &[peers::BROWSER])?;
    workspace.own_tests("site")
}

/// Checks the spelling of text for readers. `typos.toml` lists the words that examples misspell deliberately.
fn spelling(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.program(python_tool(workspace, SPELLING, "typos"));
    command.args(["--config", "typos.toml", "--force-exclude", "docs"]);
    let pages = fs::read_dir(workspace.path(""))?.flatten().map(|entry| entry.path());
    run(command.args(pages.filter(|path| has_extension(path, &["md"]))))
}

/// Lists the names of the pages in the order of the summary. It is an error if the summary lacks a page.
fn pages(workspace: &Workspace) -> Result<Vec<String>> {
    let summary = workspace.read("docs/SUMMARY.md")?;
    let pages = summary.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    let pages: Vec<String> = pages.collect();
    let entries = fs::read_dir(workspace.path("docs"))?;
    let mut missing: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    missing.retain(|name| name.ends_with(".md") && name != "SUMMARY.md" && !pages.contains(name));
    ensure!(missing.is_empty(), "docs/SUMMARY.md does not list {}", missing.join(", "));
    Ok(pages)
}

/// Copies the pages, and also the images, styles and schemas to which they refer.
fn copy(workspace: &Workspace, pages: &[String], source: &Path) -> Result<()> {
    let docs = workspace.path("docs");
    for name in ["SUMMARY.md", "book.toml"].into_iter().chain(pages.iter().map(String::as_str)) {
        write(&source.join(name), for_readers(&workspace.read(docs.join(name))?))?;
    }
    for path in files_below(&docs)?.iter().filter(|path| has_extension(path, &["svg", "png", "css", "json"]))
    {
        write(&source.join(path.strip_prefix(&docs)?), fs::read(path)?)?;
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
const LLMS: &str = include_str!("pages/llms.txt");

/// Writes `llms.txt`, a list of the pages with a summary of each, and `llms-full.txt`, which contains all
/// pages.
fn for_agents(workspace: &Workspace, pages: &[String], book: &Path) -> Result<()> {
    let mut texts = BTreeMap::new();
    for page in pages {
        texts.insert(page.as_str(), workspace.read(Path::new("docs").join(page))?);
    }
    let summary = workspace.read("docs/SUMMARY.md")?;
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
fn list_for_agents(summary: &str, texts: &BTreeMap<&str, String>) -> Result<String> {
    let mut list = LLMS.to_owned();
    // The first line is the title of the summary itself.
    for line in summary.lines().skip(1) {
        if let Some(part) = line.strip_prefix("# ") {
            let _ = write!(list, "\n## {part}\n\n");
        } else if let Some((title, page)) = line.strip_prefix("- [").and_then(|line| line.split_once("](")) {
            let page = page.trim_end_matches(')');
            let text = texts.get(page).with_context(|| format!("there is no {page}"))?;
            let _ = writeln!(list, "- [{title}]({page}): {}", first_sentence(text));
        }
    }
    match list.len() <= LLMS_BYTES {
        true => Ok(list),
        false => bail!("llms.txt has {} bytes; the limit is {LLMS_BYTES}", list.len()),
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
        assert_eq!(list("# A\n\nHow to begin. And more.\n".to_owned()).unwrap(), expected);
        assert!(list(format!("# A\n\n{}\n", "x".repeat(LLMS_BYTES))).is_err());
    }
}
