//! Documentation of the methods for people. We can't use the descriptions of the tools here, which are
//! written for models. This also defines where methods and tools differ.

use serde_json::Value;

/// Maximum number of columns in a paragraph of a docstring.
const COLUMNS: usize = 96;

/// Documentation of a method.
pub(crate) struct Guide {
    /// Original name of the tool.
    pub(crate) tool: &'static str,
    /// Purpose in one line.
    pub(crate) summary: &'static str,
    /// Further details that a caller should know.
    pub(crate) details: &'static str,
    /// The answer's field that is iterated over.
    pub(crate) items: &'static str,
    /// Pairs of a tool's argument and the method's parameter, where their names differ. Tools may use
    /// different names for the same thing, but methods should agree on one.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// Example in Python. It must pass as a doctest in the directory tree of the package's tests.
    pub(crate) python: &'static str,
    /// Example in TypeScript.
    pub(crate) typescript: &'static str,
}

/// Looks up the guide of a tool.
pub(crate) fn guide(tool: &str) -> Option<&'static Guide> {
    GUIDES.iter().find(|guide| guide.tool == tool)
}

/// Formats a Python docstring in Google style, with the summary, the details and all parameters. Positional
/// parameters come first: the required ones, then `query` and `path`.
pub(crate) fn docstring(summary: &str, details: &str, parameters: &Value) -> String {
    let mut text = summary.to_owned();
    if !details.is_empty() {
        text += &format!("\n\n{}", wrapped(details, ""));
    }
    text += "\n\nArgs:";
    let required = parameters["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let mut fields: Vec<_> = parameters["properties"].as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| (!is_required(name), *name != "query", *name != "path"));
    for (name, field) in fields {
        let description = field["description"].as_str().unwrap_or_default();
        text += &format!("\n    {}", wrapped(&format!("{name}: {description}"), "        "));
    }
    text
}

/// Wraps a text at [`COLUMNS`], and indents all lines but the first.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        if column > 0 && column + word.len() >= COLUMNS {
            lines += &format!("\n{indent}");
            column = indent.len();
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += word.len();
    }
    lines
}

/// Parameters whose descriptions for people should differ from those for models.
pub(crate) const PARAMETERS: &[(&str, &str)] = &[
    ("cursor", "`next_cursor` of the previous answer to the same call, to continue after it."),
    ("languages", "Languages of the files, such as \"rust\" (default: all)."),
    (
        "output",
        "What to return: matching \"lines\" (the default), \"files\", \"counts\", or the definitions and \"uses\" of a name.",
    ),
];

/// Parameters that accept a string or a list of strings.
pub(crate) const TEXT_OR_LIST: &[&str] = &["file_pattern"];

const GUIDES: &[Guide] = &[
    Guide {
        tool: "keyword_search",
        summary: "Finds the files that are relevant to a question, as judged by a model.",
        details: "One pass searches for all terms. Then a fast model keeps the relevant files and says why. The workspace \
                  needs `models`, or `without_model` to rank the files without one.",
        items: "files",
        renamed: &[],
        python: "\
>>> workspace = forage.Workspace(\".\", index=False, without_model=True)
>>> answer = workspace.keyword_search(\"Where are failed requests retried?\", [\"again\", \"retr(y|ies)\"])
>>> sorted(file.path.rpartition(\"/\")[2] for file in answer)
['README.md', 'main.py', 'retry.py']",
        typescript: "\
const relevant = await workspace.keywordSearch({
  query: \"Where are failed requests retried?\",
  searchTerms: [\"again\", \"retr(y|ies)\"],
});
for (const file of relevant) console.log(file.path, file.explanation);",
    },
    Guide {
        tool: "grep_search",
        summary: "Finds the lines that match a regular expression, grouped by file.",
        details: "The syntax is that of Rust's `regex` crate, as in ripgrep. Ignored, hidden and binary files are not \
                  searched; an answer without matches says whether they have some. With `output` \"uses\" and a name \
                  as pattern, the answer has the definitions of the name and its uses.",
        items: "files",
        renamed: &[],
        python: "\
>>> answer = workspace.grep(\"^def \", file_pattern=\"*.py\")
>>> for file in answer:
...     print(file.path, [line.text for line in file.lines or [] if line.type == \"match\"])
src/main.py ['def main():']
src/retry.py ['def again(times):']",
        typescript: "\
const matching = await workspace.grep({ pattern: \"^export \", filePattern: \"*.ts\" });
for (const file of matching) console.log(file.path, file.lines?.map((line) => line.lineNumber));",
    },
    Guide {
        tool: "search_index",
        summary: "Ranks the files that answer a question, with the code that helps most.",
        details: "Takes a question, names or the text of a bug report, and needs no model. In the query, \"quoted words\" must \
                  be adjacent, `path:src` and `lang:rust` restrict the files, and `-word` excludes a word.",
        items: "files",
        renamed: &[("limit", "max_results")],
        python: "\
>>> answer = workspace.rank(\"where is it tried again\")
>>> next(iter(answer)).path
'src/retry.py'",
        typescript: "\
const ranked = await workspace.rank({ query: \"where are requests retried\", maxResults: 5 });
for (const file of ranked) console.log(file.path, file.score);",
    },
    Guide {
        tool: "list_directory",
        summary: "Lists a directory as a tree, or finds files by name.",
        details: "Hidden and ignored names are omitted and counted, and so are directories of dependencies and caches.",
        items: "entries",
        renamed: &[],
        python: "\
>>> [entry.path for entry in workspace.list(\"src\")]
['src/main.py', 'src/retry.py']",
        typescript: "\
const listed = await workspace.list({ path: \"src\", recursive: true });
for (const entry of listed) console.log(entry.path, entry.lines);",
    },
    Guide {
        tool: "read_file",
        summary: "Reads a text file: whole, a range of its lines, definitions by name, or an outline.",
        details: "Binary files and files whose names show that they hold secrets are refused.",
        items: "lines",
        renamed: &[],
        python: "\
>>> list(workspace.read(\"src/retry.py\", symbol=\"again\"))
['def again(times):', '    return times']",
        typescript: "\
const read = await workspace.read({ path: \"src/retry.ts\", symbol: \"again\" });
console.log(read.startLine, read.lines.join(\"\\n\"));",
    },
    Guide {
        tool: "Search",
        summary: "Searches lines with several globs, smart case and up to four edits.",
        details: "Returns single matches and lines of context, in path order. Set `fuzzy` for a name that you can't spell \
                  exactly; start with 1.",
        items: "matches",
        renamed: &[("context", "context_lines"), ("glob", "file_pattern")],
        python: "\
>>> [match.data.line_number for match in workspace.search(\"agian\", fuzzy=2, file_pattern=[\"*.py\", \"!main.py\"])]
[1, 4]",
        typescript: "\
const similar = await workspace.search({ pattern: \"agian\", fuzzy: 2, filePattern: [\"*.ts\", \"!*.d.ts\"] });
for (const match of similar) console.log(match.data.path.text, match.data.lineNumber);",
    },
    Guide {
        tool: "keyword_lookup",
        summary: "Looks up exact words in a collection of sparse vectors.",
        details: "For error codes, identifiers and other rare words. The workspace needs a `collection`. If its server or its \
                  encoder is unavailable, the answer has no hits, and its `status` and `reason` say so.",
        items: "hits",
        renamed: &[("limit", "max_results")],
        python: "\
>>> workspace = forage.Workspace(collection={\"url\": \"http://127.0.0.1:1\", \"name\": \"code\"})
>>> answer = workspace.lookup(\"ORA-00942\")
>>> answer.status, len(answer)
('store_unavailable', 0)",
        typescript: "\
const found = await workspace.lookup({ query: \"ORA-00942\", maxResults: 3 });
for (const hit of found) console.log(hit.id, hit.score, hit.payload);",
    },
    Guide {
        tool: "search_history",
        summary: "Finds the commits that changed a text, a definition or a path, newest first.",
        details: "With a pattern, these added or removed a matching line, as for `git log -G`; with `fixed_strings` they changed \
                  how often the text occurs (`-S`). With `symbol` they changed this definition of the file `path` (`-L`). \
                  Merges are left out. The top of the repository must be the root.",
        items: "commits",
        renamed: &[],
        python: "\
>>> try:
...     workspace.history(pattern=\"retries\")
... except forage.ForageError as error:
...     print(\"git repository\" in str(error))
True",
        typescript: "\
const changes = await workspace.history({ symbol: \"again\", path: \"src/retry.ts\" });
for (const commit of changes) console.log(commit.date, commit.subject);",
    },
];
