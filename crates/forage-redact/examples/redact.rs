//! Redacts each line of JSON (`{"text": …}`), or the text of a file. The benchmark `bench/redaction.py` uses
//! this.

use std::io::{BufRead, Read, Write};

use forage_redact::Redactor;

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--text") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
        let mut redacted = Redactor::standard().redact(&text);
        for _ in 1..rounds {
            redacted = Redactor::standard().redact(&text);
        }
        return output.write_all(redacted.as_str().as_bytes());
    }
    for line in std::io::stdin().lock().lines() {
        let case: serde_json::Value = serde_json::from_str(&line?)?;
        let redacted = Redactor::standard().redact(case["text"].as_str().unwrap_or_default());
        let rules: Vec<_> = redacted.counts().by_rule().keys().collect();
        writeln!(output, "{}", serde_json::json!({ "text": redacted.as_str(), "rules": rules }))?;
    }
    Ok(())
}
