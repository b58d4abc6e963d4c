//! What tools are called where a text names several of them.

use std::fmt::Debug;

use forage_base::Hint;

/// The names by which the tools that are offered are called. A text is a template: `{grep_search}` stands for the name of that
/// tool, `{grep_search.path}` for that of its argument, and what is between `[[` and `]]` is left out if it names a tool that is
/// not offered.
#[derive(Clone, Debug)]
pub struct ToolNames {
    /// Of tools by their own names, with what they are called.
    called: Vec<(String, String)>,
    manner: &'static dyn Manner,
}

/// The words in which a reader is told of a tool, a call, and of what can be done: a person has commands, an agent has
/// tools.
pub trait Manner: Debug + Send + Sync {
    /// What a sentence calls the tool with this name of its own, which is called `name`.
    fn tool(&self, _id: &str, name: &str) -> String {
        name.to_owned()
    }

    /// Returns what a sentence calls an argument of the tool with this name of its own.
    fn argument(&self, _id: &str, argument: &str) -> String {
        argument.to_owned()
    }

    /// A call as whoever reads can make it. The arguments are in the order in which they are written.
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

    /// How a call goes on where the last one ended.
    fn go_on(&self, cursor: &str) -> String {
        format!("repeat the call with cursor=\"{cursor}\"")
    }

    /// What is added to the sentence of an error, with what parts them: a template for [`ToolNames::fill`].
    fn hint(&self, hint: Hint) -> &'static str;
}

/// The manner of a program that has no front: it tells of the tools, and nothing of commands and settings.
#[derive(Debug)]
pub struct Plain;

impl Manner for Plain {
    fn hint(&self, hint: Hint) -> &'static str {
        match hint {
            Hint::ListDirectory => "[[; list it with {list_directory}]]",
            Hint::OtherSearch => OTHER_SEARCH,
            Hint::ConfigureModel | Hint::OtherModel => WITHOUT_MODEL,
            _ => "",
        }
    }
}

/// The words of [`Hint::OtherModel`] for agents.
pub const WITHOUT_MODEL: &str =
    "[[; use {search_index} for a question]][[; use {grep_search} for a pattern]]";

/// The words of [`Hint::OtherSearch`] for agents.
pub const OTHER_SEARCH: &str = "[[ {search_index} ranks files for a question as it stands.]][[ {grep_search} finds a \
                                pattern in one directory or kind of file.]]";

impl ToolNames {
    /// Of tools by their own names, with what they are called.
    pub fn new(named: Vec<(String, String)>) -> Self {
        Self { called: named, manner: &Plain }
    }

    /// The same, told in this manner.
    #[must_use]
    pub fn told(self, manner: &'static dyn Manner) -> Self {
        Self { manner, ..self }
    }

    /// Returns what the tool with this name of its own is called; that name, where it is not offered.
    pub fn called<'a>(&'a self, id: &'a str) -> &'a str {
        self.called.iter().find(|(own, _)| own == id).map_or(id, |(_, name)| name)
    }

    /// Returns what a sentence calls the tool with this name of its own.
    pub fn tool(&self, id: &str) -> String {
        self.manner.tool(id, self.called(id))
    }

    /// Returns what a sentence calls an argument of the tool with this name of its own.
    pub fn argument(&self, id: &str, argument: &str) -> String {
        self.manner.argument(id, argument)
    }

    /// A call of the tool with this name of its own, as whoever reads can make it.
    pub fn call(&self, id: &str, arguments: &[(&str, String)]) -> String {
        self.manner.call(id, self.called(id), arguments)
    }

    /// How a call goes on where the last one ended.
    pub(crate) fn go_on(&self, cursor: &str) -> String {
        self.manner.go_on(cursor)
    }

    /// Returns what is added to the sentence of an error about which this can be done; it begins with what parts them,
    /// and is empty for `None`.
    pub fn hint(&self, hint: Option<Hint>) -> String {
        hint.map(|hint| self.fill(self.manner.hint(hint))).unwrap_or_default()
    }

    /// Returns whether the tool with this name of its own is offered.
    pub fn has(&self, id: &str) -> bool {
        self.called.iter().any(|(own, _)| own == id)
    }

    /// The same for a reader who gets records beside the text: `{records}` is offered, too.
    pub fn with_records(mut self) -> Self {
        self.called.push(("records".to_owned(), "records".to_owned()));
        self
    }

    /// The text of a template.
    pub fn fill(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once("[[") {
            let (part, behind) = behind.split_once("]]").unwrap_or((behind, ""));
            self.put(before, &mut text);
            let mut optional = String::new();
            if self.put(part, &mut optional) {
                text.push_str(&optional);
            }
            rest = behind;
        }
        self.put(rest, &mut text);
        text
    }

    /// Adds a part without optional ones; whether all tools that it names are offered.
    fn put(&self, part: &str, text: &mut String) -> bool {
        let (mut rest, mut are_offered) = (part, true);
        while let Some((before, behind)) = rest.split_once('{') {
            text.push_str(before);
            let named = behind.split('}').next().unwrap_or_default();
            let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.');
            if named.is_empty() || !named.bytes().all(is_letter) || named.len() == behind.len() {
                text.push('{');
                rest = behind;
                continue;
            }
            let (id, argument) = named.split_once('.').map_or((named, None), |(id, it)| (id, Some(it)));
            let offered = self.called.iter().find(|(own, _)| *own == id);
            are_offered &= offered.is_some();
            match (argument, offered) {
                (Some(argument), _) => text.push_str(&self.manner.argument(id, argument)),
                (None, Some((_, name))) => text.push_str(&self.manner.tool(id, name)),
                (None, None) => text.push_str(id),
            }
            rest = &behind[named.len() + 1..];
        }
        text.push_str(rest);
        are_offered
    }
}

#[cfg(test)]
mod tests {
    use super::ToolNames;

    #[test]
    fn what_names_a_tool_that_is_not_offered_is_left_out() {
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
