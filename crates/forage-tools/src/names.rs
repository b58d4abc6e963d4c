//! Names of tools in texts that mention several of them.

use std::fmt::Debug;

use forage_base::Hint;

use crate::tool::Tool as _;
use crate::tools::GrepSearch;

/// The names of the available tools. Texts are templates: `{grep_search}` is replaced by the name of that
/// tool, and `{grep_search.path}` by the name of its argument. A part between `[[` and `]]` is removed if it
/// names a tool that is not available.
#[derive(Clone, Debug)]
pub struct ToolNames {
    /// Pairs of a tool's original name and its current one.
    called: Vec<(String, String)>,
    phrasing: &'static dyn Phrasing,
}

/// Phrasing of tools, calls and hints for a kind of reader. For example, a person has commands where an agent
/// has tools.
pub trait Phrasing: Debug + Send + Sync {
    /// Formats the name of a tool for a sentence. `id` is its original name, and `name` the current one.
    fn tool(&self, _id: &str, name: &str) -> String {
        name.to_owned()
    }

    /// Formats the name of an argument for a sentence. `id` is the original name of its tool.
    fn argument(&self, _id: &str, argument: &str) -> String {
        argument.to_owned()
    }

    /// Formats a call that the reader can make, with the arguments in the given order.
    fn call(&self, _id: &str, name: &str, arguments: &[(&str, String)]) -> String {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|(argument, value)| match value.parse::<u64>() {
                Ok(_) => format!("{argument}={value}"),
                Err(_) => format!("{argument}={value:?}"),
            })
            .collect();
        format!("{name}({})", arguments.join(", "))
    }

    /// Describes how to continue where the last call ended.
    fn continuation(&self, cursor: &str) -> String {
        format!("repeat the call with cursor=\"{cursor}\"")
    }

    /// Names the search that also reads ignored and hidden files. This is a template for
    /// [`ToolNames::fill`].
    fn search_of_all(&self) -> &'static str {
        "{grep_search} with {grep_search.include_ignored}"
    }

    /// Names the search that enters directories of dependencies and caches, which other searches skip. This
    /// is a template for [`ToolNames::fill`].
    fn search_of_noise(&self) -> &'static str {
        self.search_of_all()
    }

    /// Returns the hint that follows an error message, including the separator. This is a template for
    /// [`ToolNames::fill`].
    fn hint(&self, hint: Hint) -> &'static str;
}

/// Phrasing for a program without a front end: it refers to tools, but not to commands and settings.
#[derive(Debug)]
pub struct Plain;

impl Phrasing for Plain {
    fn hint(&self, hint: Hint) -> &'static str {
        match hint {
            Hint::ListDirectory => "[[; list it with {list_directory}]]",
            Hint::OtherSearch => OTHER_SEARCH,
            Hint::ConfigureModel | Hint::OtherModel => WITHOUT_MODEL,
            _ => "",
        }
    }
}

/// The text of [`Hint::OtherModel`] for agents.
pub const WITHOUT_MODEL: &str =
    "[[; use {search_index} for a question]][[; use {grep_search} for a pattern]]";

/// The text of [`Hint::OtherSearch`] for agents.
pub const OTHER_SEARCH: &str = "[[ {search_index} ranks files for a question as it stands.]][[ {grep_search} finds a \
                                pattern in one directory or kind of file.]]";

impl ToolNames {
    /// Creates the names from pairs of a tool's original name and its current one.
    pub fn new(named: Vec<(String, String)>) -> Self {
        Self { called: named, phrasing: &Plain }
    }

    /// Sets the phrasing.
    #[must_use]
    pub fn with_phrasing(self, phrasing: &'static dyn Phrasing) -> Self {
        Self { phrasing, ..self }
    }

    /// Returns the current name of a tool, or its original name if it is not available.
    pub fn called<'a>(&'a self, id: &'a str) -> &'a str {
        self.called.iter().find(|(own, _)| own == id).map_or(id, |(_, name)| name)
    }

    /// Formats the name of the tool with this original name for a sentence.
    pub fn tool(&self, id: &str) -> String {
        self.phrasing.tool(id, self.called(id))
    }

    /// Formats the name of an argument for a sentence. `id` is the original name of its tool.
    pub fn argument(&self, id: &str, argument: &str) -> String {
        self.phrasing.argument(id, argument)
    }

    /// Formats a call that the reader can make, of the tool with this original name.
    pub fn call(&self, id: &str, arguments: &[(&str, String)]) -> String {
        self.phrasing.call(id, self.called(id), arguments)
    }

    /// Describes how to continue where the last call ended.
    pub(crate) fn continuation(&self, cursor: &str) -> String {
        self.phrasing.continuation(cursor)
    }

    /// Formats the hint that follows an error message, with a separator in front. `None` becomes an empty
    /// text.
    pub fn hint(&self, hint: Option<Hint>) -> String {
        hint.map(|hint| self.fill(self.phrasing.hint(hint))).unwrap_or_default()
    }

    /// Names the search that also reads ignored and hidden files. Returns `None` if it is not available.
    pub(crate) fn search_of_all(&self) -> Option<String> {
        self.has(GrepSearch::NAME).then(|| self.fill(self.phrasing.search_of_all()))
    }

    /// Names the search that enters directories of dependencies and caches. Returns `None` if it is not
    /// available.
    pub(crate) fn search_of_noise(&self) -> Option<String> {
        self.has(GrepSearch::NAME).then(|| self.fill(self.phrasing.search_of_noise()))
    }

    /// Returns true if the tool with this original name is available.
    pub fn has(&self, id: &str) -> bool {
        self.called.iter().any(|(own, _)| own == id)
    }

    /// Makes `{records}` count as available, for a reader that gets records in addition to the text.
    pub fn with_records(mut self) -> Self {
        self.called.push(("records".to_owned(), "records".to_owned()));
        self
    }

    /// Fills in a template.
    pub fn fill(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("[[") {
            let (part, after) = after.split_once("]]").unwrap_or((after, ""));
            self.put(before, &mut text);
            let mut optional = String::new();
            if self.put(part, &mut optional) {
                text.push_str(&optional);
            }
            rest = after;
        }
        self.put(rest, &mut text);
        text
    }

    /// Appends a part without optional parts. Returns true if all tools that it names are available.
    fn put(&self, part: &str, text: &mut String) -> bool {
        let (mut rest, mut are_offered) = (part, true);
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let named = after.split('}').next().unwrap_or_default();
            let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.');
            // This brace does not begin a name, e.g. in `x{1,3}`.
            if named.is_empty() || !named.bytes().all(is_letter) || named.len() == after.len() {
                text.push('{');
                rest = after;
                continue;
            }
            let (id, argument) = named.split_once('.').map_or((named, None), |(id, it)| (id, Some(it)));
            let offered = self.called.iter().find(|(own, _)| *own == id);
            are_offered &= offered.is_some();
            match (argument, offered) {
                (Some(argument), _) => text.push_str(&self.phrasing.argument(id, argument)),
                (None, Some((_, name))) => text.push_str(&self.phrasing.tool(id, name)),
                (None, None) => text.push_str(id),
            }
            rest = &after[named.len() + 1..];
        }
        text.push_str(rest);
        are_offered
    }
}

#[cfg(test)]
mod tests {
    use super::ToolNames;

    #[test]
    fn text_about_unavailable_tools_is_omitted() {
        let names = ToolNames::new(vec![
            ("grep_search".to_owned(), "mcp__x__grep_search".to_owned()),
            ("read_file".to_owned(), "read_file".to_owned()),
        ]);
        let cases = [
            ("Use {grep_search}.", "Use mcp__x__grep_search."),
            ("A.[[ Then {read_file}.]] B.", "A. Then read_file. B."),
            ("A.[[ Then {list_directory}.]] B.", "A. B."),
            ("A.[[ {read_file} or {search_index}.]]", "A."),
            ("A[[: {read_file.start_line}]][[, {search_index.limit}]].", "A: start_line."),
            ("x{1,3} {} {", "x{1,3} {} {"),
        ];
        for (template, expected) in cases {
            assert_eq!(names.fill(template), expected, "{template}");
        }
    }
}
