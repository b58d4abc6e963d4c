//! Builds the site: `docs/` as a book, and the same text for agents.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cargo::{Workspace, empty, files_below, succeed, write};
use crate::peers;

/// The address of repository files that are not pages of the book.
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
        Err(format!("links that lead nowhere:\n{}", dead.join("\n")))
    }
}

/// Checks the spelling of text for readers. `typos.toml` lists the words that examples misspell on purpose.
fn spelling(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.program(peers::spell_checker(workspace));
    command.args(["--config", "typos.toml", "--force-exclude", "docs"]);
    let entries = std::fs::read_dir(workspace.path("")).map_err(|error| error.to_string())?;
    let pages = entries.flatten().map(|entry| entry.path());
    command.args(pages.filter(|path| path.extension().is_some_and(|end| end == "md")));
    succeed(&mut command, "typos")
}

/// Returns the names of the pages in order, each once.
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
        false => Err(format!("docs/SUMMARY.md does not name {}", missing.join(", "))),
    }
}

/// Copies the pages, and the images and schemas that they show unchanged.
fn copy(workspace: &Workspace, pages: &[String], source: &Path) -> Result<(), String> {
    for name in ["SUMMARY.md", "book.toml"].into_iter().chain(pages.iter().map(String::as_str)) {
        let text = workspace.read(&workspace.path("docs").join(name))?;
        write(&source.join(name), for_readers(&text))?;
    }
    let docs = workspace.path("docs");
    for path in files_below(&docs)? {
        if path.extension().is_some_and(|end| ["svg", "png", "json"].iter().any(|shown| end == *shown)) {
            let content = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            write(&source.join(path.strip_prefix(&docs).unwrap_or(&path)), content)?;
        }
    }
    Ok(())
}

/// Removes text that only the test of a page's examples needs: a file's name is shown above its text, and
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
    // Files that are not pages of the book are linked in the repository.
    shown.replace("](../", &format!("]({REPOSITORY}"))
}

/// Writes `llms.txt`, a list of the pages with a summary of each, and `llms-full.txt`, which contains all
/// pages.
fn for_agents(workspace: &Workspace, pages: &[String], book: &Path) -> Result<(), String> {
    let mut list = String::from(
        "# Forage\n\n> Code search for LLM agents and the people who run them: a command line, an MCP server and a library over one \
         registry of tools.\n\n## Pages\n\n",
    );
    let mut full = String::new();
    for page in pages {
        let text = workspace.read(&workspace.path("docs").join(page))?;
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let about = first_sentence(&text);
        let _ = writeln!(list, "- [{title}]({page}): {about}");
        let text = for_readers(&text);
        let _ = write!(full, "{}\n\n", text.trim_end());
        write(&book.join(page), text)?;
    }
    write(&book.join("llms.txt"), list)?;
    write(&book.join("llms-full.txt"), full)
}

/// Returns the first sentence of a page without its links.
fn first_sentence(page: &str) -> String {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['#', '<', '|', '`', '-']);
    let text = page.lines().skip_while(|line| !is_text(line)).take_while(|line| !line.is_empty());
    let text = text.collect::<Vec<_>>().join(" ");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((name, behind)) = link.split_once("](") else { break };
        plain.push_str(name);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    let end = plain.find(". ").map_or(plain.len(), |at| at + 1);
    plain[..end].to_owned()
}

/// Returns links of the book's pages to missing files or anchors.
fn dead_links(book: &Path) -> Result<Vec<String>, String> {
    let files = files_below(book)?;
    let pages: Vec<&PathBuf> =
        files.iter().filter(|path| path.extension().is_some_and(|end| end == "html")).collect();
    let mut dead = BTreeSet::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).map_err(|error| error.to_string())?;
        let named = ["href=\"", "src=\""].into_iter().flat_map(|name| text.split(name).skip(1));
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
                let page = page.strip_prefix(book).unwrap_or(page);
                dead.insert(format!("{}: {link}", page.display()));
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
    }

    #[test]
    fn a_reader_sees_the_names_of_files_and_no_marks_of_the_tests() {
        let page = "a [..]\n```text file=a/b.rs\nx\n```\n```console no-run: why\n$ y\nz [..]\n```\n[..]\n";
        let shown = "a [..]\n`a/b.rs`:\n\n```text\nx\n```\n```console\n$ y\nz …\n```\n[..]\n";
        assert_eq!(for_readers(page), shown);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let place = std::env::temp_dir().join(format!("forage-links-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let page = r##"<a href="b.html">x</a><a href="#here" id="here">x</a><a href="#there">x</a><a href="https://x.y">x</a><img src="c.svg">"##;
        std::fs::write(place.join("a.html"), page).unwrap();
        let dead = dead_links(&place).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        assert_eq!(dead, ["a.html: #there", "a.html: b.html", "a.html: c.svg"]);
    }
}
