//! Calls that apply to several roots.
//!
//! A call that names no root applies to all of them. We search the roots in parallel, so that a slow or
//! failing root does not affect the others. The number of results and the bytes of the text are divided among
//! the roots, and a root that needs less leaves the rest to the others.

use std::sync::Arc;
use std::time::Instant;

use forage_fs::{RelPath, Root};

use crate::call::Call;
use crate::error::ToolError;
use crate::finish::{RunningCall, internal};
use crate::limits;
use crate::notes::with_notes;
use crate::outcome::{Limit, Render, ToolOutcome};
use crate::registry::run;
use crate::sanitize::sanitize_line;
use crate::shown::Rendered;
use crate::text::{absolute, clip};
use crate::tool::Tool;

/// Roots to which a call without a root applies, if there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootScope {
    /// None, because the tool is not about files below roots.
    None,
    /// The root that contains the call's path.
    Single,
    /// Each root separately. The answers are concatenated.
    PerRoot,
    /// All roots together, handled by the tool itself.
    Merged,
}

/// The answer of another root to the same call.
#[derive(Debug)]
pub struct OtherRoot<R> {
    /// The absolute path of the root.
    pub root: String,
    /// The outcome of the root, or why it has none.
    pub outcome: Result<ToolOutcome<R>, String>,
}

/// The requests for several roots.
#[derive(Debug)]
pub struct RootShares<R> {
    /// A request for each of the first roots, at least one. The other roots are not asked.
    pub(crate) requests: Vec<R>,
    /// Notes for the answer, which name the roots that are not asked.
    pub(crate) notes: Vec<String>,
}

/// Chooses the only root that a call applies to, or the first one if the tool handles all roots itself.
/// Returns `None` if we must call each root separately.
pub(crate) fn chosen<T: Tool>(call: &Call, path: Option<&str>) -> Result<Option<Arc<Root>>, ToolError> {
    if call.roots.all().len() == 1 {
        return Ok(Some(Arc::clone(call.roots.main())));
    }
    match (path.filter(|path| !is_anywhere(path)), T::ABOUT) {
        (Some(path), _) => call.place(Some(path)).map(|place| Some(place.root)),
        (None, RootScope::PerRoot) => Ok(None),
        (None, _) => Ok(Some(Arc::clone(call.roots.main()))),
    }
}

/// Returns true if a path does not name a specific place.
pub(crate) fn is_anywhere(path: &str) -> bool {
    matches!(path.trim(), "" | "." | "./")
}

impl Call {
    /// Restricts the call to one of the roots.
    pub(crate) fn only(&self, root: &Arc<Root>) -> Self {
        let mut call = self.clone();
        call.apart = self.roots.below(root);
        call.roots = self.roots.only(root);
        // One root may have most of the work, so each should get more than its share of the threads.
        let threads = self.walk_options().thread_count();
        call.limits.threads = (2 * threads).div_ceil(self.roots.all().len()).clamp(1, threads);
        if !self.is_first(root) {
            // Notices should appear only once.
            call.notices.clear();
        }
        call
    }

    /// Returns true if relative paths are below this root.
    pub(crate) fn is_first(&self, root: &Arc<Root>) -> bool {
        Arc::ptr_eq(root, self.roots.main())
    }
}

/// Calls each root and merges the outcomes. The result is the outcome of the first successful root, with the
/// others in [`ToolOutcome::others`].
///
/// # Errors
///
/// Fails with the error of the first root if no root succeeds, or with the first error that is about the
/// request itself.
pub(crate) fn each<T: Tool>(
    call: &Call,
    request: &T::Request,
    notes: Vec<String>,
) -> Result<ToolOutcome<T::Response>, ToolError> {
    let roots = call.roots.all();
    if let Some(shares) = T::shares(call, request) {
        let is_alone = shares.requests.len() == 1;
        let outcomes = ask::<T>(call, roots.iter().zip(shares.requests).collect());
        let mut outcome = joined(call, roots.iter().zip(outcomes))?;
        // The answer of a single root has no head with its name.
        outcome.root.iter_mut().for_each(|(_, is_named)| *is_named |= is_alone);
        outcome.warnings.splice(..0, notes.into_iter().chain(shares.notes));
        return Ok(outcome);
    }
    let mut wanted = request.clone();
    let max =
        T::max_results(&mut wanted, call).map(|(max, default)| max.map_or(default, |max| max.max(1) as u64));
    let share = max.map(|max| max.div_ceil(roots.len() as u64));
    let began = Instant::now();
    let limited = |share: Option<u64>| {
        let mut request = request.clone();
        if let (Some(share), Some((max, _))) = (share, T::max_results(&mut request, call)) {
            *max = i64::try_from(share).ok();
        }
        request
    };
    let mut outcomes = ask::<T>(call, roots.iter().map(|root| (root, limited(share))).collect());
    let is_cut = |outcome: &Result<ToolOutcome<T::Response>, ToolError>| {
        outcome.as_ref().is_ok_and(|outcome| outcome.truncated_by == Some(Limit::MaxResults))
    };
    let cut: Vec<usize> = (0..outcomes.len()).filter(|&index| is_cut(&outcomes[index])).collect();
    let taken: u64 = outcomes.iter().flatten().map(|outcome| outcome.response.results()).sum();
    // Roots with more results get what the others do not need. Note that a further page is about only one
    // root.
    let more = max.unwrap_or_default().saturating_sub(taken) / cut.len().max(1) as u64;
    // A second call may take as long as the first one.
    if !cut.is_empty() && more > 0 && began.elapsed() < call.limits.timeout / 2 && call.stop.check().is_none()
    {
        let share = share.unwrap_or_default() + more;
        let again = cut.iter().map(|&index| (&roots[index], limited(Some(share)))).collect();
        for (index, new) in cut.into_iter().zip(ask::<T>(call, again)) {
            // We keep the earlier outcome if the second call failed or returned fewer results.
            let results = |it: &Result<ToolOutcome<T::Response>, ToolError>| {
                it.as_ref().map_or(0, |outcome| outcome.response.results())
            };
            if results(&new) >= results(&outcomes[index]) {
                outcomes[index] = new;
            }
        }
    }
    let mut outcome = joined(call, roots.iter().zip(outcomes))?;
    outcome.warnings.splice(..0, notes);
    Ok(outcome)
}

/// Merges the outcomes of several roots: that of the first successful root, with the others attached.
fn joined<'a, R>(
    call: &Call,
    outcomes: impl Iterator<Item = (&'a Arc<Root>, Result<ToolOutcome<R>, ToolError>)>,
) -> Result<ToolOutcome<R>, ToolError> {
    let mut outcomes: Vec<_> = outcomes.collect();
    // A page continues in the root that its cursor belongs to, and the other roots have no page.
    let is_page = outcomes.iter().any(|(_, it)| it.as_ref().is_err_and(is_of_cursor));
    if is_page && outcomes.iter().any(|(_, it)| it.is_ok()) {
        outcomes.retain(|(_, it)| !it.as_ref().is_err_and(is_of_cursor));
    }
    let of_request = outcomes.iter().position(|(_, it)| it.as_ref().is_err_and(is_of_request));
    let Some(first) = of_request.or_else(|| outcomes.iter().position(|(_, it)| it.is_ok())) else {
        // If no root succeeded, the error of the first one is as good as any.
        let error = outcomes.into_iter().find_map(|(_, outcome)| outcome.err());
        return Err(error.unwrap_or(ToolError::Cancelled));
    };
    let mut outcome = outcomes.remove(first).1?;
    if is_page {
        outcome.root.iter_mut().for_each(|(_, is_named)| *is_named = true);
    }
    let other = |(root, outcome): (&Arc<Root>, Result<ToolOutcome<R>, ToolError>)| OtherRoot {
        root: absolute(root, &RelPath::root()),
        outcome: outcome.map_err(|error| call.workspace.without_secrets(&error.to_string())),
    };
    outcome.others = outcomes.into_iter().map(other).collect();
    let is_partial = outcome.truncated_by.is_some_and(Limit::ends_early);
    if !is_partial && outcome.others.iter().any(|other| other.outcome.is_err()) {
        outcome.truncated_by = Some(Limit::Root);
    }
    Ok(outcome)
}

/// One root of a sequential call.
pub(crate) struct RootTurn<'a> {
    /// The call, about this root only.
    pub(crate) call: &'a Call,
    /// The root, unless relative paths are below it.
    pub(crate) other: Option<&'a Root>,
}

/// Calls one root after another, for streamed results, until `run` returns that it needs no more.
///
/// # Errors
///
/// Fails if no root succeeds, or if the request is invalid.
pub(crate) fn in_turn<T: Tool>(
    call: &Call,
    request: &T::Request,
    mut run: impl FnMut(RootTurn<'_>, T::Request) -> Result<(ToolOutcome<T::Response>, bool), ToolError>,
) -> Result<ToolOutcome<T::Response>, ToolError> {
    let with_dependency = call.with_dependency(T::path(request))?;
    let call = with_dependency.as_ref().unwrap_or(call);
    let chosen = chosen::<T>(call, T::path(request))?;
    let roots = chosen.as_ref().map_or(call.roots.all(), std::slice::from_ref);
    let (mut outcomes, mut is_wanted) = (Vec::new(), true);
    for root in roots {
        if !is_wanted {
            break;
        }
        let is_other = !call.is_first(root);
        let running = RunningCall::start(Some(root), is_other);
        let only = chosen.is_none().then(|| call.only(root));
        let call = only.as_ref().unwrap_or(call);
        let turn = RootTurn { call, other: is_other.then_some(&**root) };
        let outcome = run(turn, request.clone()).map(|(mut outcome, more)| {
            running.finish::<T>(&mut outcome, call, Vec::new());
            is_wanted = more;
            outcome
        });
        outcomes.push(outcome);
    }
    joined(call, roots.iter().zip(outcomes))
}

/// Calls these roots in parallel, each with its own request.
fn ask<T: Tool>(
    call: &Call,
    calls: Vec<(&Arc<Root>, T::Request)>,
) -> Vec<Result<ToolOutcome<T::Response>, ToolError>> {
    let ask = |(root, request): (&Arc<Root>, T::Request)| {
        let running = RunningCall::start(Some(root), !call.is_first(root));
        let call = call.only(root);
        let mut outcome = run::<T>(&call, request)?;
        running.finish::<T>(&mut outcome, &call, Vec::new());
        // We display the root's name above its answer.
        outcome.root.iter_mut().for_each(|(_, is_named)| *is_named = false);
        Ok(outcome)
    };
    let (ask, mut calls) = (&ask, calls.into_iter());
    let Some(first) = calls.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = calls.map(|call| scope.spawn(move || ask(call))).collect();
        let first = ask(first);
        let end = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(internal::<T>(call, "a panic".to_owned())))
        };
        std::iter::once(first).chain(others.into_iter().map(end)).collect()
    })
}

fn is_of_cursor(error: &ToolError) -> bool {
    matches!(error, ToolError::Argument { argument: "cursor", .. })
}

/// Returns true if the error would be the same for any root.
fn is_of_request(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Request(_) | ToolError::Argument { .. } | ToolError::Pattern { .. } | ToolError::Cancelled
    )
}

/// Bytes around notes.
const NOTES_BYTES: usize = 16;

/// Advice for answers that do not fit into one text.
pub(crate) const ONE_ALONE: &str = "path=\"root:NAME\" selects a single root";

/// Formats the line above the answer of a root.
pub(crate) fn head(root: &str) -> String {
    format!("root: {}\n", sanitize_line(root))
}

/// Renders the answers of several roots within a budget, each below the name of its root.
pub(crate) fn render<R: Render>(outcome: &ToolOutcome<R>, budget: usize) -> Rendered {
    let own = outcome.root.as_ref().map_or("", |(root, _)| root.as_str());
    let others = outcome.others.iter().map(|other| (other.root.as_str(), other.outcome.as_ref()));
    let mut parts: Vec<(&str, Result<&ToolOutcome<R>, &String>)> =
        std::iter::once((own, Ok(outcome))).chain(others).collect();
    let max = (budget / limits::ROOT_BYTES_MIN).max(1);
    let mut left_out = Vec::new();
    if parts.len() > max {
        // Errors must come first, then roots with results.
        parts.sort_by_key(|(_, outcome)| outcome.map_or(0, |outcome| if outcome.found { 1 } else { 2 }));
        left_out = parts.split_off(max).into_iter().map(|(root, _)| root).collect();
    }
    let rest = match left_out.is_empty() {
        true => String::new(),
        false => clip(
            &format!("the answer has no room for {} more roots: {}", left_out.len(), left_out.join(", ")),
            limits::NOTE_BYTES,
        ),
    };
    let heads: usize = parts.iter().map(|(root, _)| head(root).len() + 1).sum();
    let mut room = budget.saturating_sub(heads + rest.len() + ONE_ALONE.len() + NOTES_BYTES);
    let mut texts: Vec<Rendered> =
        parts.iter().map(|_| Rendered::without_files(String::new(), true)).collect();
    let mut open: Vec<usize> = (0..parts.len()).collect();
    // In each round, roots that need less than their share leave the rest to the others.
    for _ in 0..limits::ROOT_ROUNDS {
        let Some(share) = room.checked_div(open.len()) else { break };
        for &index in &open {
            texts[index] = match parts[index].1 {
                Ok(outcome) => R::render(outcome, share),
                Err(error) => {
                    let text = with_notes(String::new(), &[format!("error: {error}")]);
                    Rendered::without_files(text.trim_start().to_owned(), false)
                }
            };
        }
        let before = open.len();
        open.retain(|&index| {
            let Rendered { text, is_cut, .. } = &texts[index];
            if !is_cut {
                room = room.saturating_sub(text.len());
            }
            *is_cut
        });
        if open.len() == before {
            break;
        }
    }
    let mut text = String::new();
    for ((root, _), part) in parts.iter().zip(&texts) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&head(root));
        text.push_str(&part.text);
    }
    let is_cut = !left_out.is_empty() || texts.iter().any(|part| part.is_cut);
    let hides_results = !left_out.is_empty() || texts.iter().any(|part| part.hides_results);
    let rest = Some(rest).filter(|rest| !rest.is_empty());
    let notes: Vec<String> = rest.into_iter().chain(is_cut.then(|| ONE_ALONE.to_owned())).collect();
    let shown = texts.into_iter().flat_map(|part| part.shown).collect();
    Rendered { text: with_notes(text, &notes), is_cut, hides_results, shown }
}

/// Converts a path that is displayed relative to its own root to an absolute one. This is for answers in
/// which another root is the first.
pub(crate) fn whole_path(root: &Root, shown: &mut String) {
    if let Ok(path) = RelPath::parse(shown, &RelPath::root()) {
        *shown = absolute(root, &path);
    }
}
