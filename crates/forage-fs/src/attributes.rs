//! Rules of `.gitattributes` files (`gitattributes`).

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::git_rule;
use crate::limits;
use crate::rel_path::os_str;

/// The lines of a `.gitattributes` file that set one attribute.
#[derive(Debug)]
pub struct AttributeRules(Gitignore);

impl AttributeRules {
    /// Parses the text of such a file. `binary` stands for `-text`, as in git; other macros are not known.
    /// Lines with a quoted pattern are skipped. Returns `None` if no line sets the attribute, or if the text is
    /// larger than an ignore file may be.
    #[must_use]
    pub fn parse(text: &[u8], attribute: &str) -> Option<Self> {
        if text.len() as u64 > limits::IGNORE_FILE_BYTES {
            return None;
        }
        let mut builder = GitignoreBuilder::new(".");
        let lines = text.split(|&byte| byte == b'\n').take(limits::IGNORE_FILE_RULES);
        for line in lines.filter(|line| line.len() <= limits::IGNORE_LINE_BYTES) {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            let mut words = line.split_ascii_whitespace();
            let Some(pattern) = words.next().filter(|pattern| !is_skipped(pattern)) else { continue };
            let mut words = words.map(|word| if word == "binary" { "-text" } else { word });
            let is_set = |word: &&str| {
                let name = word.trim_start_matches(['-', '!']);
                name.split('=').next() == Some(attribute)
            };
            if let Some(setting) = words.rfind(is_set)
                && let Some(pattern) = git_rule::rewrite(pattern)
            {
                // A pattern that can't be compiled matches nothing.
                let _ = builder.add_line(Some(setting.into()), &pattern);
            }
        }
        builder.build().ok().filter(|rules| !rules.is_empty()).map(Self)
    }

    /// Returns the setting of the last line that matches a file, as it is written, e.g. `-text` or `eol=lf`.
    /// The path must be relative to the directory of the rules.
    #[must_use]
    pub fn setting(&self, path: &[u8]) -> Option<&str> {
        match self.0.matched(Path::new(&*os_str(path)?), false) {
            Match::Ignore(glob) => glob.from()?.to_str(),
            Match::None | Match::Whitelist(_) => None,
        }
    }
}

/// Returns true for a comment, a macro, and a pattern that is negated, which git ignores, or quoted.
fn is_skipped(pattern: &str) -> bool {
    pattern.starts_with(['#', '!', '"']) || pattern.starts_with("[attr]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "# comment\n* text=auto\n*.bat text eol=crlf\r\n/top.txt -text\n*.png binary\n\
        docs/** !text\n[b-c].rs -text\n[attr]b.rs text\n\"quoted name\" -text\n";

    #[test]
    fn attributes_are_those_of_the_last_line() {
        let setting = |attribute: &str, path: &str| {
            let rules = AttributeRules::parse(RULES.as_bytes(), attribute).unwrap();
            rules.setting(path.as_bytes()).map(str::to_owned)
        };
        for (path, expected) in [
            ("a.rs", "text=auto"),
            ("sub/run.bat", "text"),
            ("top.txt", "-text"),
            ("sub/top.txt", "text=auto"),
            ("a.png", "-text"),
            ("docs/a.md", "!text"),
            ("b.rs", "-text"),
        ] {
            assert_eq!(setting("text", path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(setting("eol", "sub/run.bat").as_deref(), Some("eol=crlf"));
        assert_eq!(setting("eol", "a.rs"), None);
        assert!(AttributeRules::parse(RULES.as_bytes(), "filter").is_none());
        let filter = AttributeRules::parse(b"*.bin filter=lfs diff=lfs -text\n", "filter").unwrap();
        assert_eq!(filter.setting(b"sub/a.bin"), Some("filter=lfs"));
    }

    #[test]
    fn fuzz_any_attributes_have_a_setting_or_none() {
        forage_fuzz::target!(&forage_fuzz::seeds([RULES]), |bytes| {
            if let Some(rules) = AttributeRules::parse(bytes, "text") {
                let _ = rules.setting(b"a/b.txt");
            }
        });
    }
}
