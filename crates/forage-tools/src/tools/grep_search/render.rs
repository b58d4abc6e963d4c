//! Text rendering of `grep_search`.

use crate::head::Counts;
use crate::multi_root::whole_path;
use forage_fs::Root;
use std::fmt::Write as _;

use super::super::line_search::NoMatches;
use super::impact;
use super::request::GrepOutput;
use super::uses::{self, ListedFirst, UseGroup};
use super::{GrepFile, GrepResponse, remaining};
use crate::limits;
use crate::lines::{ContextDetail, shown_line};
use crate::notes::{MORE, max_that_fits, notes, notes_bytes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped};

impl Render for GrepResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        self.not_searched.redact(redactor);
        for directory in &mut self.elsewhere {
            redactor.name(&mut directory.path);
        }
        self.left_out.iter_mut().for_each(|receiver| redactor.text(&mut receiver.name));
        self.implementations
            .iter_mut()
            .flat_map(|it| &mut it.symbol)
            .for_each(|symbol| redactor.text(symbol));
        for line in self.files.iter_mut().flat_map(|file| &mut file.lines) {
            line.within.iter_mut().for_each(|within| redactor.text(&mut within.symbol));
        }
        if let Some(impact) = &mut self.impact {
            impact.names().for_each(|name| redactor.text(name));
        }
    }

    fn name_whole_paths(&mut self, root: &Root) {
        let files = self.files.iter_mut().map(|file| &mut file.path);
        let listed = self.definitions.iter_mut().chain(&mut self.implementations);
        let definitions = listed.map(|it| &mut it.path);
        let elsewhere = self.elsewhere.iter_mut().map(|it| &mut it.path);
        let all = files.chain(definitions).chain(elsewhere).chain([&mut self.path]);
        all.for_each(|path| whole_path(root, path));
        if let Some(impact) = &mut self.impact {
            impact.paths().for_each(|path| whole_path(root, path));
        }
    }

    fn counts(&self) -> Counts<'_> {
        Counts {
            at_least: !self.totals_exact,
            searched: Some(self.files_searched),
            verdict: Some(&self.not_searched),
            ..Counts::plain(self.match_count, "matches", self.file_count)
        }
    }

    fn results(&self) -> u64 {
        match self.output {
            GrepOutput::Files | GrepOutput::Counts => self.files.len() as u64,
            GrepOutput::Impact => self.impact.iter().map(|impact| impact.edges.len() as u64).sum(),
            GrepOutput::Lines | GrepOutput::Uses => self.files.iter().map(|file| file.match_count).sum(),
        }
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        let searched = Some(response.files_searched);
        if let Some(impact) = &response.impact {
            return impact::render::render(outcome, impact, budget);
        }
        if response.match_count == 0 {
            let text = with_notes(no_matches(outcome), &notes(outcome, searched));
            return Rendered::without_files(text, false);
        }
        if matches!(response.output, GrepOutput::Files | GrepOutput::Counts) {
            return by_file(outcome, budget);
        }
        let shown: u64 = response.files.iter().map(|file| file.match_count).sum();
        let has_context = response.files.iter().any(|file| file.lines.len() as u64 > file.match_count);
        let is_too_much = !response.context_is_asked_for && shown > limits::GREP_CONTEXT_MATCHES;
        let texts = |shown: u64, detail: ContextDetail, note: Option<String>| {
            let mut all: Vec<String> = note.into_iter().chain(remaining::note(response, shown)).collect();
            all.extend(notes(outcome, searched));
            (body(response, (detail, budget), shown), all)
        };
        let fits = |(text, notes): &(String, Vec<String>)| text.len() + notes_bytes(notes) <= budget;
        let all = shown;
        let rendered = |(text, notes): (String, Vec<String>), is_cut: bool, detail, matches: u64| {
            let shown = shown_lines(response, (detail, budget), matches).into_files();
            let hides_results = matches < all;
            Rendered { text: with_notes(text, &notes), is_cut, hides_results, shown }
        };
        if !is_too_much || !has_context {
            let whole = texts(shown, ContextDetail::Context, None);
            if fits(&whole) {
                return rendered(whole, false, ContextDetail::Context, shown);
            }
        }
        let note = match (has_context, is_too_much) {
            (false, _) => None,
            (true, true) => Some(
                outcome.names.fill("context lines are left out; set {grep_search.context_lines} to get them"),
            ),
            (true, false) => Some("context lines are left out because the answer was too long".to_owned()),
        };
        let matches = texts(shown, ContextDetail::Matches, note.clone());
        if fits(&matches) {
            return rendered(matches, has_context, ContextDetail::Matches, shown);
        }
        // We show as many matches as fit, and a cursor that continues after them.
        let note = outcome.names.fill(
            "no more fits into the answer; narrow `{grep_search.path}`, `{grep_search.file_pattern}` or \
             `{grep_search.pattern}`, or continue with the cursor",
        );
        let cut = |shown: u64| {
            let (text, mut notes) = texts(shown, ContextDetail::Matches, Some(note.clone()));
            // The cursor of the outcome continues after the whole page, and would skip the matches that do
            // not fit.
            notes.retain(|note| !note.starts_with(MORE));
            notes.extend(
                remaining::cursor(response, shown)
                    .map(|cursor| format!("{MORE}{}", outcome.names.continuation(&cursor))),
            );
            (text, notes)
        };
        let max =
            max_that_fits(1..=usize::try_from(shown).unwrap_or(usize::MAX), |shown| fits(&cut(shown as u64)));
        rendered(cut(max as u64), true, ContextDetail::Matches, max as u64)
    }
}

fn no_matches(outcome: &ToolOutcome<GrepResponse>) -> String {
    let response = &outcome.response;
    let is_cut = outcome.truncated_by.is_some();
    NoMatches {
        pattern: &response.pattern,
        path: &response.path,
        continued: response.continued,
        globs: response.no_file_chosen.then_some("{grep_search.file_pattern}"),
        // The totals of a further page are never exact.
        is_cut: if response.continued { is_cut } else { !response.totals_exact },
        nothing_searched: response.files_searched == 0 && !response.no_file_chosen && !is_cut,
        not_searched: &response.not_searched,
        include: "{grep_search.include_ignored}",
    }
    .text(&outcome.names)
}

fn headline(response: &GrepResponse, shown: u64) -> String {
    // "at least" applies to matches and files. "further" applies to matches only, because an earlier page may
    // have counted some of these files already.
    let (at_least, further) = match (response.totals_exact, response.continued) {
        (true, _) => ("", ""),
        (false, false) => ("at least ", ""),
        (false, true) => ("", "further "),
    };
    let matches = count(response.match_count, &format!("{further}match"));
    let files = count(response.file_count, "file");
    // A stream has already passed on its files, so we don't repeat them here.
    let end = match response.files.is_empty() {
        true => ".".to_owned(),
        false if shown < response.match_count => format!(" (showing {}):\n", grouped(shown)),
        false => ":\n".to_owned(),
    };
    format!("Found {at_least}{matches} in {at_least}{files}{end}")
}

/// Renders files, with counts if requested. This shows as many files as fit, and a cursor that continues
/// after them.
fn by_file(outcome: &ToolOutcome<GrepResponse>, budget: usize) -> Rendered {
    let response = &outcome.response;
    let text = |files: &[GrepFile]| {
        let mut text = headline_of_files(response, files.len() as u64);
        for file in files {
            let _ = match response.output {
                GrepOutput::Counts => writeln!(text, "{}: {}", file.path, file.match_count),
                _ => writeln!(text, "{}", file.path),
            };
        }
        let shown = files.iter().map(|file| file.match_count).sum();
        let mut all: Vec<String> = remaining::note(response, shown).into_iter().collect();
        all.extend(notes(outcome, Some(response.files_searched)));
        if let Some(last) = files.last().filter(|_| files.len() < response.files.len()) {
            // The cursor of the outcome would skip the files that do not fit.
            all.retain(|note| !note.starts_with(MORE));
            all.push(format!(
                "{MORE}{}",
                outcome.names.continuation(&remaining::cursor_after(response, last))
            ));
        }
        (text, all)
    };
    let fits = |files: &[GrepFile]| {
        let (text, notes) = text(files);
        text.len() + notes_bytes(&notes) <= budget
    };
    let files = &response.files[..];
    let shown = max_that_fits(1..=files.len(), |shown| fits(&files[..shown]));
    let (text, notes) = text(&files[..shown]);
    let mut named = ShownFiles::default();
    files[..shown].iter().for_each(|file| named.named(&file.path, file.match_count));
    let (text, is_cut) = (with_notes(text, &notes), shown < files.len());
    Rendered { text, is_cut, hides_results: is_cut, shown: named.into_files() }
}

fn headline_of_files(response: &GrepResponse, shown: u64) -> String {
    let at_least = if response.totals_exact || response.continued { "" } else { "at least " };
    let further = if response.continued { "further " } else { "" };
    let files = count(response.file_count, &format!("{further}file"));
    let matches = count(response.match_count, "matching line");
    let showing =
        if shown < response.file_count { format!(" (showing {})", grouped(shown)) } else { String::new() };
    format!("{at_least}{files} with {at_least}{matches}{showing}:\n")
}

/// The lists of definitions and of implementations each get at most one third of an answer.
const LISTED_PART: usize = 3;

/// Records the lines that [`body`] displays.
fn shown_lines(
    response: &GrepResponse,
    (detail, budget): (ContextDetail, usize),
    matches: u64,
) -> ShownFiles {
    let (mut shown, mut left) = (ShownFiles::default(), matches);
    if response.output == GrepOutput::Uses {
        let listed = ListedFirst::new(response, budget / LISTED_PART);
        listed.iter().for_each(|it| shown.line(&it.path, it.line.into(), true));
        for group in UseGroup::all(response, matches, &listed, detail) {
            group.record(&mut shown);
        }
        return shown;
    }
    for file in &response.files {
        if left == 0 {
            break;
        }
        for line in &file.lines {
            let is_match = line.kind == "match";
            if is_match && left == 0 {
                break;
            }
            left -= u64::from(is_match);
            let is_wanted = is_match || detail == ContextDetail::Context;
            if is_wanted {
                shown.line(&file.path, line.line_number, is_match);
            }
        }
    }
    shown
}

/// Renders the first `shown` matches.
fn body(response: &GrepResponse, (detail, budget): (ContextDetail, usize), shown: u64) -> String {
    if response.output == GrepOutput::Uses {
        let listed = ListedFirst::new(response, budget / LISTED_PART);
        let mut text = uses::headline(response, shown) + &listed.text;
        let groups = UseGroup::all(response, shown, &listed, detail);
        groups.iter().for_each(|group| group.write(&mut text));
        return text;
    }
    let mut text = headline(response, shown);
    let has_context = response.files.iter().any(|file| file.lines.len() as u64 > file.match_count);
    let mut left = shown;
    for file in response.files.iter() {
        if left == 0 {
            break;
        }
        let _ = write!(text, "\n{}:\n", file.path);
        let mut previous: Option<u64> = None;
        for line in file.lines.iter().filter(|line| detail == ContextDetail::Context || line.kind == "match")
        {
            if line.kind == "match" {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            if detail == ContextDetail::Context
                && has_context
                && previous.is_some_and(|previous| previous + 1 != line.line_number)
            {
                text.push_str("  ---\n");
            }
            previous = Some(line.line_number);
            let mark = if line.kind == "match" { ':' } else { '-' };
            let shown = shown_line(&line.text, line.cut_before, line.cut_after);
            let _ = writeln!(text, "  {}{mark} {shown}", line.line_number);
        }
    }
    text
}
