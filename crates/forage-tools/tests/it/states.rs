//! Every answer of every tool, as an agent gets it. `snapshots/` has one page per tool, which you can read as
//! text. Most answers are about the same tree.
//!
//! A new state must be on a page. If no page shows a variant of an error, a limit or a verdict, the last test
//! fails, unless that variant is listed with a reason.

mod coverage;
mod grep_search;
mod keyword_lookup;
mod keyword_search;
mod list_directory;
mod read_file;
mod registry;
mod search;
mod search_history;
mod search_index;
mod tree;

use std::fmt::Write as _;
use std::sync::Arc;

use forage_base::Hint;
use forage_tools::registry::{TOOLS, find};
use forage_tools::{Phrasing, Plain, ToolError, ToolNames, Workspace};
use regex::Regex;
use serde_json::{Value, json};

use self::coverage::Seen;
use crate::support::{call, shortened, stable};

/// The answers of a tool, one after another.
struct Page {
    tool: &'static str,
    text: String,
    seen: Seen,
}

impl Page {
    fn new(tool: &'static str) -> Self {
        Self { tool, text: String::new(), seen: Seen::default() }
    }

    /// Begins a chapter.
    fn chapter(&mut self, title: &str) {
        let _ = writeln!(self.text, "# {title}\n");
    }

    /// Adds answers to requests, each with a heading.
    fn states<const N: usize>(&mut self, workspace: &Workspace, states: [(&str, Value); N]) {
        for (what, request) in states {
            self.state(what, workspace, request);
        }
    }

    /// Adds one answer. Returns its cursor if it can be continued.
    fn state(&mut self, what: &str, workspace: &Workspace, request: Value) -> Value {
        self.take(what, workspace, request, |_| true, false)
    }

    /// Adds one answer with its records.
    fn records(&mut self, what: &str, workspace: &Workspace, request: Value) {
        self.take(what, workspace, request, |_| true, true);
    }

    /// Adds one answer that has its own time limit, which a busy machine may exceed. We repeat the request
    /// until `is_it` accepts the answer.
    fn in_time(&mut self, what: &str, workspace: &Workspace, request: Value, is_it: impl Fn(&str) -> bool) {
        self.take(what, workspace, request, is_it, false);
    }

    fn take(
        &mut self,
        what: &str,
        workspace: &Workspace,
        request: Value,
        is_it: impl Fn(&str) -> bool,
        with_records: bool,
    ) -> Value {
        let _ = writeln!(self.text, "## {what}\n{}\n", shortened(&request));
        let mut result = call(workspace, self.tool, request.clone());
        for _ in 0..50 {
            if is_it(&reported(&result)) {
                break;
            }
            result = call(workspace, self.tool, request.clone());
        }
        self.seen.add(self.tool, &result);
        if !is_of_json(&result) {
            let marked = with(workspace, |workspace| {
                workspace.names = Arc::new(ToolNames::clone(&workspace.names).with_phrasing(&Marked))
            });
            let text = told_to_reader(self.tool, &marked, &call(&marked, self.tool, request.clone()));
            assert_eq!(bare_names(&text), [""; 0], "{what} {request}: {text}");
        }
        let root = workspace.roots.main().path();
        let mut text = told_to_reader(self.tool, workspace, &result);
        if let Err(error) = &result
            && let Ok(tool) = find(self.tool)
            && let Some(corrected) = tool.corrected(&workspace.start_call(), request, error)
        {
            let _ = write!(text, "\ncorrected: {corrected}");
        }
        let mut cursor = Value::Null;
        if let Ok(answer) = result {
            cursor = answer.records()["next_cursor"].clone();
            if let Some(problem) = &answer.problem {
                let _ = write!(text, "\nproblem: {}", problem.text);
            }
            if with_records {
                let _ = write!(
                    text,
                    "\n{}",
                    serde_json::to_string_pretty(&steady(answer.records().clone())).unwrap()
                );
            }
        }
        let parent = root.parent().unwrap().to_str().unwrap();
        let text = text.replace(root.to_str().unwrap(), "/shop").replace(parent, "");
        let _ = writeln!(self.text, "{}\n", text.trim_end());
        cursor
    }

    /// Adds an error that no call has returned.
    fn refused(&mut self, what: &str, error: &ToolError) {
        self.seen.add_error(error);
        let _ = writeln!(self.text, "## {what}\n\nERROR ({}): {error}\n", code(error));
    }

    /// Formats the page without the values that differ between runs.
    fn finished(&self) -> String {
        let mut text = self.text.clone();
        for (varies, instead) in [
            // This is the path of another root.
            (r"[^\s`]*/\.tmp[A-Za-z0-9]{6}/root", "/other"),
            // Absolute paths are a part of the evidence, so the number of lines that fit depends on the
            // root's path.
            (r"\(\d+ of 800 lines, in \d of 4 files\)", "(N of 800 lines, in N of 4 files)"),
        ] {
            text = Regex::new(varies).unwrap().replace_all(&text, instead).into_owned();
        }
        stable(&text)
    }
}

/// Formats the error code for programs.
fn code(error: &ToolError) -> String {
    json!(error.code()).as_str().unwrap().to_owned()
}

fn reported(result: &Result<forage_tools::Answer, ToolError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |answer| answer.text.clone())
}

fn told_to_reader(
    tool: &str,
    workspace: &Workspace,
    result: &Result<forage_tools::Answer, ToolError>,
) -> String {
    match result {
        Ok(answer) => answer.text.clone(),
        Err(error) => format!("ERROR ({}): {}", code(error), error.message(tool, &workspace.names)),
    }
}

/// A front end with other names for all tools and arguments.
#[derive(Debug)]
struct Marked;

impl Phrasing for Marked {
    fn tool(&self, id: &str, _: &str) -> String {
        id.to_uppercase()
    }

    fn argument(&self, _: &str, argument: &str) -> String {
        argument.to_uppercase()
    }

    fn call(&self, id: &str, _: &str, arguments: &[(&str, String)]) -> String {
        let arguments =
            arguments.iter().map(|(argument, value)| format!("{} {value}", argument.to_uppercase()));
        [vec![id.to_uppercase()], arguments.collect()].concat().join(" ")
    }

    fn continuation(&self, cursor: &str) -> String {
        format!("go on at {cursor}")
    }

    fn hint(&self, hint: Hint) -> &'static str {
        Plain.hint(hint)
    }
}

/// Returns true if the message is about JSON, because only callers that write JSON will read it.
fn is_of_json(result: &Result<forage_tools::Answer, ToolError>) -> bool {
    match result {
        Ok(answer) => {
            answer.text.contains("[warning: argument") || answer.text.contains("[warning: not an argument")
        }
        Err(error) => matches!(error, ToolError::Request(_) | ToolError::UnknownTool { .. }),
    }
}

/// Finds the built-in names of tools and arguments in a text, all of which this front end should have
/// replaced.
fn bare_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = TOOLS.iter().map(|tool| tool.id().to_owned()).collect();
    for tool in TOOLS {
        let schema = tool.whole_schema();
        let arguments = schema["properties"].as_object().into_iter().flatten();
        names.extend(arguments.map(|(name, _)| name.clone()));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_word = |name: &String| match name.contains('_') {
        true => text.split(|c| !is_part(c)).any(|word| word == name),
        // The other names are also ordinary words.
        false => text.contains(&format!("`{name}`")),
    };
    names.retain(is_word);
    names
}

/// Removes times from records, and byte counts that depend on the root's path.
fn steady(mut records: Value) -> Value {
    match &mut records {
        Value::Object(fields) => {
            for name in ["elapsed_ms", "evidence_bytes", "bytes"] {
                if let Some(value) = fields.get_mut(name).filter(|value| value.is_number()) {
                    *value = json!("varies");
                }
            }
            fields.values_mut().for_each(|value| *value = steady(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = steady(item.take())),
        _ => {}
    }
    records
}

/// Creates a workspace whose calls are cancelled before they begin.
fn cancelled(workspace: &Workspace) -> Workspace {
    let mut workspace = workspace.clone();
    workspace.stop = forage_base::Stop::never();
    workspace.stop.cancel();
    workspace
}

/// Indexes that cancel the call when it asks for the index of a root, and have none.
struct CancelsWhenAsked(forage_base::Stop);

impl forage_tools::Indexes for CancelsWhenAsked {
    fn open(&self, _: &Arc<forage_fs::Root>) -> Option<Arc<forage_search::index::Index>> {
        self.0.cancel();
        None
    }

    fn ranked(
        &self,
        _: &Arc<forage_fs::Root>,
        _: &forage_rank::tree::UpdateEffort,
    ) -> Option<Result<forage_tools::Ranked, forage_rank::tree::UpdateError>> {
        None
    }
}

/// Creates a workspace whose calls are cancelled after they have begun.
fn cancelled_later(workspace: &Workspace) -> Workspace {
    with(workspace, |workspace| {
        workspace.stop = forage_base::Stop::never();
        workspace.indexes = Some(Arc::new(CancelsWhenAsked(workspace.stop.clone())));
    })
}

/// Creates a tree and a pattern. On any machine, this search should take longer than the workspace's time
/// limit.
fn slow() -> (crate::support::Tree, Workspace, String) {
    let tree = crate::support::Tree::new();
    tree.write("a.txt", vec![b'a'; 7 << 20]);
    let workspace = with(&tree.workspace(), |workspace| {
        workspace.limits.timeout = std::time::Duration::from_millis(1_000)
    });
    (tree, workspace, format!("(?i){}b?c", "a".repeat(16_000)))
}

/// Copies a workspace and changes the copy.
fn with(workspace: &Workspace, change: impl FnOnce(&mut Workspace)) -> Workspace {
    let mut workspace = workspace.clone();
    change(&mut workspace);
    workspace
}

/// Creates a workspace that excludes a glob, as a configuration would do.
fn excluding(workspace: &Workspace, glob: &str) -> Workspace {
    let globs = forage_fs::Globs::new(&[glob]).unwrap().labelled("search.exclude of the configuration");
    with(workspace, |workspace| workspace.excludes = Some(globs))
}

/// Creates a workspace with a second root.
fn with_another_root(workspace: &Workspace, other: &crate::support::Tree) -> Workspace {
    with(workspace, |workspace| {
        let all = [&*workspace, &other.workspace()].map(|workspace| Arc::clone(workspace.roots.main()));
        workspace.roots = forage_fs::Roots::new(all.to_vec(), forage_fs::RelPath::root()).unwrap();
    })
}

fn is_as_it_was(name: &str, page: &Page) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, page.finished()));
}

macro_rules! pages {
    ($($page:ident),*) => {
        fn pages() -> Vec<Page> {
            vec![$($page::page()),*]
        }
        mod pages {
            $(#[test]
            fn $page() {
                super::is_as_it_was(concat!("states-", stringify!($page)), &super::$page::page());
            })*
        }
    };
}

pages!(
    grep_search,
    keyword_lookup,
    keyword_search,
    list_directory,
    read_file,
    registry,
    search,
    search_history,
    search_index
);
