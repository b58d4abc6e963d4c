//! Extracts the words that an agent searches for from its client's description of a call. We know the
//! clients' own search tools, and `grep`, `rg`, `find` and similar programs in a shell. Note that we parse
//! command lines but never run them, and ignore complex ones.

use std::io::Read;

use serde_json::Value;

/// Maximum number of words in a query.
const WORDS: usize = 12;

/// Minimum characters of a word. Shorter ones say too little.
const WORD_CHARACTERS: usize = 3;

/// Maximum length in bytes of a command that we parse.
const COMMAND_BYTES: usize = 16 << 10;

/// Names of tools that run a command, in lower case and without punctuation.
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "runshellcommand",
    "execcommand",
    "localshell",
    "powershell",
    "executebash",
    "runterminalcmd",
];

/// Names of tools that search for a pattern, in the same form.
const SEARCHES: &[&str] =
    &["grep", "glob", "grepsearch", "searchfilecontent", "filesearch", "codebasesearch", "find", "search"];

/// Parses a client's input. Some clients keep the pipe open, so this stops at the end of the JSON value.
pub(super) fn read(input: impl Read) -> Option<Value> {
    serde_json::Deserializer::from_reader(input).into_iter().next()?.ok()
}

/// Extracts the words that a client's call searches for. Returns `None` if the call is not a search.
pub(super) fn search_words(input: &Value) -> Option<String> {
    let tool = ["tool_name", "toolName"].iter().find_map(|key| input[*key].as_str())?;
    let tool: String = tool.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    // One of the clients sends the arguments as a JSON string.
    let arguments = ["tool_input", "toolArgs"].iter().map(|key| &input[*key]).find(|it| !it.is_null())?;
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let arguments = parsed.as_ref().unwrap_or(arguments);
    if SHELLS.contains(&tool.as_str()) {
        let command = match &arguments["command"] {
            Value::String(command) => command.clone(),
            // A program and its arguments, e.g. `["bash", "-lc", "grep …"]`.
            Value::Array(words) => words.last()?.as_str()?.to_owned(),
            _ => return None,
        };
        return command_words(&command);
    }
    if SEARCHES.contains(&tool.as_str()) {
        return words(["pattern", "query", "regex"].iter().find_map(|key| arguments[*key].as_str())?);
    }
    None
}

/// Extracts the words that the first search in a command line looks for.
fn command_words(command: &str) -> Option<String> {
    if command.len() > COMMAND_BYTES {
        return None;
    }
    let mut is_behind_pipe = false;
    for (simple, separator) in split(command)? {
        if !is_behind_pipe && let Some(pattern) = simple_command_pattern(&simple) {
            return words(&pattern);
        }
        // A command after a pipe filters another command's output, so it does not search the project.
        is_behind_pipe = separator == Separator::Pipe;
    }
    None
}

/// The operator that ends a simple command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Pipe,
    Other,
}

/// Splits a command line into simple commands, each as a list of unquoted words. Returns `None` if only a
/// shell could interpret the line.
fn split(command: &str) -> Option<Vec<(Vec<String>, Separator)>> {
    let (mut commands, mut words, mut word): (Vec<_>, Vec<String>, Option<String>) = Default::default();
    let mut characters = command.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '`' => return None,
                        '$' if characters.peek() == Some(&'(') => return None,
                        '\\' => match characters.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => match characters.next()? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            '`' => return None,
            '$' if matches!(characters.peek(), Some('(' | '\'')) => return None,
            '<' if characters.peek() == Some(&'<') => return None,
            '#' if word.is_none() => while characters.next_if(|c| *c != '\n').is_some() {},
            c if c == '\n' || matches!(c, ';' | '|' | '&' | '(' | ')') => {
                words.extend(word.take());
                let is_doubled = characters.next_if_eq(&c).is_some();
                // Note that the `&` of `2>&1` and `&>` does not end a command.
                if c == '&' && !is_doubled && (characters.peek() == Some(&'>') || ends_in_redirection(&words))
                {
                    continue;
                }
                let separator = if c == '|' && !is_doubled { Separator::Pipe } else { Separator::Other };
                if !words.is_empty() {
                    commands.push((std::mem::take(&mut words), separator));
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        commands.push((words, Separator::Other));
    }
    Some(commands)
}

fn ends_in_redirection(words: &[String]) -> bool {
    words.last().is_some_and(|word| word.ends_with(['>', '<']))
}

/// Programs that run the command in their arguments.
const WRAPPERS: &[&str] = &["command", "sudo", "time", "nice", "env", "exec", "xargs", "timeout", "nohup"];

/// Extracts the pattern that a simple command searches for.
fn simple_command_pattern(all: &[String]) -> Option<String> {
    let mut words = all.iter().map(String::as_str).peekable();
    let is_assignment = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let program = loop {
        let word = words.find(|word| !is_assignment(word))?;
        let program = word.rsplit(['/', '\\']).next()?;
        if !WRAPPERS.contains(&program) {
            break program;
        }
        while words
            // Options and their numbers, for example `-n 5` of `nice` and `5s` of `timeout`.
            .next_if(|word| word.starts_with('-') || word.starts_with(|first: char| first.is_ascii_digit()))
            .is_some()
        {}
    };
    let words: Vec<&str> = words.collect();
    match program.strip_suffix(".exe").unwrap_or(program) {
        "grep" | "egrep" | "fgrep" => grep_pattern(&words, "ABCDdefm", true),
        "git" => {
            let (first, rest) = words.split_first()?;
            (*first == "grep").then(|| grep_pattern(rest, "ABCOefm", false)).flatten()
        }
        "rg" | "ripgrep" => grep_pattern(&words, "ABCEMTdefgjmrt", false),
        "ug" | "ugrep" => grep_pattern(&words, "ABCDEJKNOdefgmt", false),
        "ag" => grep_pattern(&words, "ABCGgmp", false),
        "ack" => grep_pattern(&words, "ABCm", false),
        // In `fd`, `-e` is a file extension.
        "fd" | "fdfind" => fd_pattern(&words),
        "find" => find_names(&words),
        _ => None,
    }
}

/// Long options whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "after-context",
    "before-context",
    "context",
    "engine",
    "exclude",
    "exclude-dir",
    "extension",
    "file",
    "glob",
    "iglob",
    "include",
    "max-columns",
    "max-count",
    "max-depth",
    "max-filesize",
    "replace",
    "sort",
    "threads",
    "type",
    "type-not",
];

/// Extracts the pattern from the arguments of a program with grep's options. `valued` lists the letters of
/// options that take a value. `needs_tree` should be true for a program that does not search directories by
/// default.
fn grep_pattern(words: &[&str], valued: &str, needs_tree: bool) -> Option<String> {
    let (mut pattern, mut operands, mut is_recursive): (Option<String>, Vec<&str>, _) =
        (None, Vec::new(), !needs_tree);
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            operands.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match name {
                "files" | "type-list" | "help" | "version" => return None,
                "regexp" => pattern = Some(value.or_else(|| words.next())?.to_owned()),
                "recursive" | "dereference-recursive" => is_recursive = true,
                // The next word is a value for ripgrep, but a pattern for grep.
                "color" | "colour" if value.is_none() => {
                    words.next_if(|word| ["never", "auto", "always", "ansi"].contains(word));
                }
                name if value.is_none() && WITH_VALUE.contains(&name) => drop(words.next()),
                _ => {}
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            is_recursive |= letters.contains(['r', 'R']);
            let Some(at) = letters.find(|c| valued.contains(c)) else { continue };
            let value = match &letters[at + 1..] {
                "" => words.next(),
                value => Some(value),
            };
            if letters[at..].starts_with('e') {
                pattern = Some(value?.to_owned());
            }
        } else if is_redirection(word) {
            if word.ends_with(['>', '<']) {
                words.next();
            }
        } else {
            operands.push(word);
        }
    }
    let files = match &pattern {
        Some(_) => &operands[..],
        None => {
            pattern = operands.first().map(|word| (*word).to_owned());
            operands.get(1..)?
        }
    };
    // If an agent greps in one file, it already knows that file and needs no advice.
    let is_wide = is_recursive || files.len() > 1 || files.iter().any(|file| file.contains('*'));
    pattern.filter(|_| is_wide)
}

/// Extracts the pattern from the arguments of `fd`, which has its own options.
fn fd_pattern(words: &[&str]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let letter = word.strip_prefix('-').and_then(|letters| letters.chars().last());
        match letter {
            None => return Some((*word).to_owned()),
            Some(letter) if word.len() == 2 && "EScdejtxX".contains(letter) => drop(words.next()),
            Some(_) => {}
        }
    }
    None
}

fn is_redirection(word: &str) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with(['>', '<'])
}

/// Extracts the names that `find` looks for.
fn find_names(words: &[&str]) -> Option<String> {
    let names = ["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"];
    let is_excluded = |at: usize| at > 0 && ["!", "-not"].contains(&words[at - 1]);
    let pairs = words.windows(2).enumerate();
    let patterns: Vec<&str> = pairs
        .filter(|(at, pair)| names.contains(&pair[0]) && !is_excluded(*at))
        .map(|(_, pair)| pair[1])
        .collect();
    (!patterns.is_empty()).then(|| patterns.join(" "))
}

/// Extracts the words of a pattern, without the operators of regular expressions and globs. File extensions
/// are dropped, too, because all files of a language share them.
fn words(pattern: &str) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // Skip the escaped character: in `\b`, `\w` and the like it is not a letter of a word.
            '\\' => {
                characters.next();
                text.push(' ');
            }
            // Character classes and repetition counts contain no words.
            '[' | '{' => {
                let close = if c == '[' { ']' } else { '}' };
                let rest: String = characters.clone().take_while(|c| *c != close).collect();
                let is_choice = c == '{'
                    && rest.contains(',')
                    && !rest.starts_with(|c: char| c.is_ascii_digit() || c == ',');
                if !is_choice {
                    while characters.next_if(|c| *c != close).is_some() {}
                }
                text.push(' ');
            }
            c if c.is_alphanumeric() || c == '_' => text.push(c),
            // The dot begins an extension in `*.rs`, but not in `foo.*bar`.
            '.' if text.ends_with('*') => {
                while characters.next_if(|c| c.is_alphanumeric()).is_some() {}
                text.push(' ');
            }
            '*' => text.push('*'),
            _ => text.push(' '),
        }
    }
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let is_word = word.chars().count() >= WORD_CHARACTERS && word.chars().any(char::is_alphabetic);
        if is_word && !words.contains(&word) && words.len() < WORDS {
            words.push(word);
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_searches_are_found() {
        let cases = [
            ("grep -rn 'retry_backoff' src", Some("retry_backoff")),
            ("grep --color -rn retry_backoff src", Some("retry_backoff")),
            ("timeout 5s rg --color never retry_backoff", Some("retry_backoff")),
            (
                "cd crates && rg -n --type rust -g '*.rs' 'fn\\s+open_(file|root)\\b' .",
                Some("open_ file root"),
            ),
            ("rg -A3 -e 'impl Display' -C 2 | head -20", Some("impl Display")),
            (
                "RUST_LOG=x timeout 5 /usr/bin/grep -r --include=*.py \"class .*Handler\" . 2>/dev/null",
                Some("class Handler"),
            ),
            ("git grep -n needle -- '*.c'", Some("needle")),
            ("find . -type f -iname '*retry*.rs' -not -path './target/*'", Some("retry")),
            ("fd -e rs parser", Some("parser")),
            ("ag --python token_bucket", Some("token_bucket")),
            ("grep -n foobar src/*.rs", Some("foobar")),
            ("grep needle a.rs b.rs 2>&1", Some("needle")),
            ("rg '\\bTODO\\b[a-z]{2,3}x{1,2}'", Some("TODO")),
            // These do not search the project.
            ("cat notes.txt | grep needle", None),
            ("cargo test 2>&1 | grep -E 'error|warning'", None),
            ("grep needle src/main.rs", None),
            ("grep -e needle", None),
            ("rg --files src", None),
            ("ls -la && echo grep -r needle", None),
            ("rg ab", None),
            ("git log --grep needle", None),
            // Only a shell could interpret these.
            ("grep -r \"$(cat secret)\" .", None),
            ("grep -r `id` .", None),
            ("cat <<EOF\ngrep -r needle .\nEOF", None),
            ("grep -r 'no end", None),
            ("grep -r needle\\", None),
        ];
        for (command, expected) in cases {
            assert_eq!(command_words(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn calls_are_read_in_the_forms_of_their_clients() {
        let cases = [
            (json!({ "tool_name": "Bash", "tool_input": { "command": "rg needle" } }), Some("needle")),
            (
                json!({ "tool_name": "Grep", "tool_input": { "pattern": "fn needle", "path": "/x" } }),
                Some("needle"),
            ),
            (
                json!({ "tool_name": "Glob", "tool_input": { "pattern": "src/**/*needle*.ts" } }),
                Some("src needle"),
            ),
            (
                json!({ "tool_name": "run_shell_command", "tool_input": { "command": "rg needle" } }),
                Some("needle"),
            ),
            (json!({ "toolName": "bash", "toolArgs": "{\"command\": \"rg needle\"}" }), Some("needle")),
            (
                json!({ "tool_name": "shell", "tool_input": { "command": ["bash", "-lc", "rg needle"] } }),
                Some("needle"),
            ),
            (json!({ "tool_name": "mcp__forage__grep_search", "tool_input": { "pattern": "needle" } }), None),
            (json!({ "tool_name": "Write", "tool_input": { "content": "rg needle" } }), None),
            (json!({ "tool_name": "Bash", "tool_input": { "command": 3 } }), None),
            (json!([1, 2]), None),
            (json!("rg needle"), None),
        ];
        for (input, expected) in cases {
            assert_eq!(search_words(&input).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn fuzz_a_call_is_words_or_none() {
        let seeds = forage_fuzz::seeds([
            r#"{"cwd": "/x", "tool_name": "Bash", "tool_input": {"command": "rg 'a\\'b' src"}}"#,
            r#"{"toolName": "bash", "toolArgs": "{\"command\": \"grep -rn needle .\"}"}"#,
            r#"{"tool_name": "Glob", "tool_input": {"pattern": "**/*.{ts,tsx}"}}"#,
        ]);
        forage_fuzz::target!(&seeds, |input| {
            if let Some(words) = read(input).as_ref().and_then(search_words) {
                assert!(!words.is_empty() && words.split(' ').count() <= WORDS, "{words}");
            }
        });
    }

    #[test]
    fn fuzz_a_command_line_is_words_or_none() {
        let seeds = forage_fuzz::seeds([
            "cd x && rg -n 'a\\'b' \"c $D\" | head 2>&1; find . -name '*.{rs,toml}' &",
            "grep -r -- '-e' . # note\n\\\n(ag [[:alpha:]]{3,} || git grep x)",
            "A=1 sudo -n xargs rg --regexp=é{,2} <in >out &>all",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let command = String::from_utf8_lossy(input);
            if let Some(words) = command_words(&command) {
                assert!(words.split(' ').count() <= WORDS, "{words}");
                assert!(words.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ')), "{words}");
            }
        });
    }
}
