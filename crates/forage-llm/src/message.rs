//! Prepares third-party text for error messages.

use forage_base::ApiKey;
use forage_redact::Redactor;
use serde_json::Value;

use crate::chat::ChatRequest;
use crate::limits::{MAX_SERVER_MESSAGE_CHARS, QUOTED_KEY_CHARS, QUOTED_REQUEST_CHARS};

/// Converts a text to one line of at most [`MAX_SERVER_MESSAGE_CHARS`], without control, direction or
/// invisible characters.
pub(crate) fn sanitise(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || is_unfit(character));
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SERVER_MESSAGE_CHARS) {
        None => line,
        // The ellipsis counts too, so we take one character less than the limit.
        Some(_) => line.chars().take(MAX_SERVER_MESSAGE_CHARS - 1).chain(['…']).collect(),
    }
}

fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Extracts the reason from the body of an error, unchanged.
pub(crate) fn reason_of(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => reason(&value).unwrap_or_default().to_owned(),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

/// Sanitizes a server's reason. Returns a placeholder if the reason repeats the request or the key, as the
/// validation errors of some servers do.
pub(crate) fn server_message(text: &str, request: Option<&ChatRequest>, key: Option<&ApiKey>) -> String {
    let line = sanitise(text);
    if line.is_empty() {
        return "no reason given".to_owned();
    }
    let mut texts = request.into_iter().flat_map(ChatRequest::texts);
    let quotes_request = texts.any(|part| quotes(&line, part, QUOTED_REQUEST_CHARS));
    if quotes_request || key.is_some_and(|key| quotes(&line, key.expose(), QUOTED_KEY_CHARS)) {
        return "(reason withheld: it repeats the request or the key)".to_owned();
    }
    sanitise(Redactor::standard().redact(&line).as_str())
}

/// Looks up the reason in the fields that servers of this protocol use.
fn reason(value: &Value) -> Option<&str> {
    // Gemini wraps the error of a stream in an array.
    let value = if value.is_array() { &value[0] } else { value };
    let error = &value["error"];
    [&error["message"], error, &value["message"], &value["detail"]].into_iter().find_map(Value::as_str)
}

/// Returns true if `line` contains `length` successive characters of `text`, or all of `text` if it is
/// shorter. We ignore white space, because sanitizing changes it.
fn quotes(line: &str, text: &str, length: usize) -> bool {
    let squeeze = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (line, text) = (squeeze(line), squeeze(text));
    let length = length.min(text.chars().count());
    if length == 0 {
        return false;
    }
    let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]).skip(length);
    line.char_indices().map(|(at, _)| at).zip(ends).any(|(start, end)| text.contains(&line[start..end]))
}

#[cfg(test)]
mod tests {
    use forage_redact::Redacted;

    use super::*;

    fn message(body: &str) -> String {
        let user = Redactor::off().redact("fn main() {\n    let answer = compute_the_answer();\n}");
        let system = Redacted::trusted("You are a strict filter of search results.");
        let request = ChatRequest::question(system, user, 1);
        server_message(
            &reason_of(body.as_bytes()),
            Some(&request),
            Some(&ApiKey::new("key-1234567890").unwrap()),
        )
    }

    #[test]
    fn the_reason_is_found_where_servers_put_it() {
        for body in [
            r#"{"error":{"message":"no such model"}}"#,
            r#"{"error":"no such model"}"#,
            r#"{"message":"no such model"}"#,
            r#"{"detail":"no such model"}"#,
            r#"[{"error":{"message":"no such model"}}]"#,
            "no\r\nsuch\tmodel\u{1b}\u{202e}",
        ] {
            assert_eq!(message(body), "no such model", "{body}");
        }
        assert_eq!(message(""), "no reason given");
        assert_eq!(message("[1]"), "no reason given");
    }

    #[test]
    fn a_long_reason_is_cut() {
        let cut = message(&"ä".repeat(5000));
        assert_eq!(cut.chars().count(), MAX_SERVER_MESSAGE_CHARS);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn a_reason_that_repeats_request_or_key_is_withheld() {
        for body in [
            r#"{"error":{"message":"cannot read: fn main() {\n    let answer = compute_the_answer();"}}"#,
            r#"{"error":"bad text 'answer = compute_the_answer()'"}"#,
            r#"{"error":"strict filter of search results"}"#,
            "your key key-1234567890 is wrong",
            "your key key-1234*** is wrong",
        ] {
            let shown = message(body);
            assert!(shown.contains("withheld"), "{shown}");
        }
        // If the provider has masked the key, we may show it.
        assert!(message("your key key-1***90 is wrong").contains("is wrong"));
    }

    #[test]
    fn a_secret_of_someone_else_is_redacted() {
        let shown = message("upstream used AKIAIOSFODNN7EXAMPLE");
        assert_eq!(shown, "upstream used [redacted:aws-access-key-id]");
    }
}
