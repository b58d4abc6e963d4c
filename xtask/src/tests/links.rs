//! Finds dead links in the site.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use crate::cargo::{Workspace, files_below, has_extension};

#[test]
fn links_of_the_site_lead_somewhere() {
    if super::is_requested("links") {
        let dead = dead_links(&Workspace::from_manifest_dir().path("target/book")).unwrap();
        assert!(dead.is_empty(), "broken links:\n{}", dead.join("\n"));
    }
}

/// Finds links in the book's pages to files or anchors that do not exist, and links named after a file instead
/// of its page.
fn dead_links(book: &Path) -> Result<Vec<String>> {
    let files = files_below(book)?;
    let pages: Vec<&PathBuf> = files.iter().filter(|path| has_extension(path, &["html"])).collect();
    let mut dead = BTreeSet::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
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
                fs::read_to_string(&target).is_ok_and(|text| text.contains(&format!("id=\"{place}\"")))
            };
            if !target.is_file() || !(place.is_empty() || has_place(place)) {
                report(link);
            }
        }
    }
    Ok(dead.into_iter().collect())
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let place = tempfile::tempdir().unwrap();
    let page = r##"<a href="b.html">x</a><a href="#here" id="here">x</a><a href="#there">b.md</a><a href="https://x.y">x</a><img src="c.svg"><source srcset="d.svg">"##;
    fs::write(place.path().join("a.html"), page).unwrap();
    let dead = dead_links(place.path()).unwrap();
    assert_eq!(
        dead,
        ["a.html: #there", "a.html: [b.md]", "a.html: b.html", "a.html: c.svg", "a.html: d.svg"]
    );
}
