//! Text rendering of an impact.

use std::fmt::Write as _;

use super::{GrepImpact, ImpactEdge};
use crate::limits;
use crate::notes::{max_that_fits, notes, notes_bytes, with_notes};
use crate::outcome::ToolOutcome;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{clip, count, grouped, quoted};
use crate::tools::grep_search::GrepResponse;

/// Renders as many edges as fit, the first step before the second one.
pub(in super::super) fn render(
    outcome: &ToolOutcome<GrepResponse>,
    impact: &GrepImpact,
    budget: usize,
) -> Rendered {
    let response = &outcome.response;
    let all = impact.edges.len();
    let total: u64 = impact.edge_counts.iter().sum();
    let parts = |shown: usize| {
        let mut notes = notes(outcome, Some(response.files_searched));
        if (shown as u64) < total {
            let left = count(total - shown as u64, "edge");
            let how = outcome.names.fill(
                "set {grep_search.max_results}, or name the file of the definition in {grep_search.path}",
            );
            notes.insert(0, format!("{left} more; {how}"));
        }
        (text(response, impact, shown), notes)
    };
    let fits = |shown: usize| {
        let (text, notes) = parts(shown);
        text.len() + notes_bytes(&notes) <= budget
    };
    let shown = max_that_fits(0..=all, fits);
    let mut files = ShownFiles::default();
    impact.edges[..shown].iter().for_each(|edge| files.named(&edge.path, edge.lines.len() as u64));
    let (text, notes) = parts(shown);
    let is_cut = shown < all;
    Rendered { text: with_notes(text, &notes), is_cut, hides_results: is_cut, shown: files.into_files() }
}

fn text(response: &GrepResponse, impact: &GrepImpact, shown: usize) -> String {
    let mut text = headline(response, impact);
    if !impact.definitions.is_empty() {
        let _ = writeln!(text, "\n{}:", count(impact.definitions.len() as u64, "definition"));
        let max = limits::GREP_DEFINITIONS;
        for it in impact.definitions.iter().take(max) {
            let change = it.change.map_or(String::new(), |change| format!(" ({change})"));
            let symbol = clip(&it.symbol, limits::QUOTED_BYTES);
            let lines = match it.start_line == it.end_line {
                true => it.end_line.to_string(),
                false => format!("{}-{}", it.start_line, it.end_line),
            };
            let _ = writeln!(text, "{}:{lines} {} {symbol}{change}", it.path, it.kind);
        }
        if impact.definitions.len() > max {
            let _ = writeln!(text, "{} more", grouped((impact.definitions.len() - max) as u64));
        }
    }
    for (step, heading) in [(1, "used by"), (2, "these are used by")] {
        let edges: Vec<&ImpactEdge> = impact.edges[..shown].iter().filter(|edge| edge.step == step).collect();
        if edges.is_empty() {
            continue;
        }
        let all = impact.edge_counts[usize::from(step) - 1];
        let of = if edges.len() as u64 == all {
            grouped(all)
        } else {
            format!("{} of {}", edges.len(), grouped(all))
        };
        let _ = writeln!(text, "\n{heading} ({of}):");
        let names_used = step == 2 || impact.definitions.len() > 1;
        edges.into_iter().for_each(|edge| write_edge(edge, names_used, &mut text));
    }
    write_rest(impact, &mut text);
    text
}

fn write_edge(edge: &ImpactEdge, names_used: bool, text: &mut String) {
    let line = edge.lines.first().copied().unwrap_or_default();
    let user = match (&edge.within, edge.kind) {
        (Some(within), Some(kind)) => format!("{kind} {}", clip(&within.symbol, limits::QUOTED_BYTES)),
        _ => "outside definitions".to_owned(),
    };
    let used = match names_used {
        true => format!(" -> {}", clip(&edge.used, limits::QUOTED_BYTES)),
        false => String::new(),
    };
    let _ = writeln!(text, "{}:{line} {user}{used} ({})", edge.path, edge.reason);
}

fn headline(response: &GrepResponse, impact: &GrepImpact) -> String {
    let start = match impact.definitions.iter().any(|it| it.change.is_some()) || response.pattern.is_empty() {
        true => "the change".to_owned(),
        false => quoted(&response.pattern),
    };
    if impact.definitions.is_empty() && impact.tests.is_empty() {
        let why = match response.pattern.is_empty() {
            true => "no definition has changed",
            false => "no definition was found in the searched files",
        };
        return format!("Impact of {start}: {why}.\n");
    }
    let at_least = if response.totals_exact { "" } else { "at least " };
    let [first, second] = impact.edge_counts;
    let users = match first {
        1 => "1 definition uses it".to_owned(),
        first => format!("{} definitions use it", grouped(first)),
    };
    let further = if second > 0 { format!(", {} in a second step", grouped(second)) } else { String::new() };
    format!(
        "Impact of {start}: {at_least}{users}{further}. Names are compared, not resolved; each line ends with the \
         reason to believe it.\n"
    )
}

/// Writes the lines that may mean another definition, and the tests.
fn write_rest(impact: &GrepImpact, text: &mut String) {
    if !impact.only_imported.is_empty() {
        let _ = writeln!(text, "\nonly imported: {}", impact.only_imported.join(", "));
    }
    let [first, second] = impact.name_only_counts;
    if first > 0 {
        let _ = writeln!(text, "\nname only, may mean another definition ({}):", count(first, "line"));
        for file in &impact.name_only {
            let lines: Vec<String> = file.lines.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{}: {}", file.path, lines.join(", "));
        }
        let listed: u64 = impact.name_only.iter().map(|file| file.lines.len() as u64).sum();
        if listed < first {
            let _ = writeln!(text, "{} more", count(first - listed, "line"));
        }
    }
    if second > 0 {
        let _ = writeln!(text, "\nname only in the second step: {}, not listed", count(second, "line"));
    }
    if !impact.not_followed.is_empty() {
        let names = impact.not_followed.join(", ");
        let _ = writeln!(
            text,
            "\nnot followed ({}): {names}",
            count(impact.not_followed.len() as u64, "definition")
        );
    }
    if impact.tests.is_empty() && !impact.definitions.is_empty() {
        text.push_str("\nNo test was found that reaches it.\n");
    }
    if impact.tests.is_empty() {
        return;
    }
    let tests: usize = impact.tests.iter().map(|file| file.names.len().max(1)).sum();
    let _ = writeln!(text, "\ntests that reach it ({}):", grouped(tests as u64));
    for file in &impact.tests {
        let is_whole = |name: &String| name.starts_with(file.path.as_str());
        let _ = match file.names.as_slice() {
            [] => writeln!(text, "{}", file.path),
            names if names.iter().all(is_whole) => writeln!(text, "{}", names.join("\n")),
            names => writeln!(text, "{}: {}", file.path, names.join(", ")),
        };
    }
}
