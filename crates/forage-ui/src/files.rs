//! Reads calls from journals, transcripts and recordings.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;
use std::thread;

use forage_base::count;
use forage_tools::{AnswerHead, CallHead, CallStatus};
use same_file::Handle;
use serde_json::{Value, json};

use super::call_history::{CallHistory, CallSource};
use super::limits;
use super::record::{CallRecord, ProcessRecord, timestamp};

/// Reads a file that the user named, and detects its format.
///
/// # Errors
///
/// Fails with a sentence for the user if the file has no known format or can't be read.
pub(crate) fn read(gathered: &CallHistory, mut file: File, name: &str) -> Result<(), String> {
    let reported = |error: io::Error| format!("{name} can't be read: {error}");
    let mut text = String::new();
    let read = (&mut file).take(limits::FILE_BYTES).read_to_string(&mut text).map_err(reported)?;
    if read as u64 == limits::FILE_BYTES {
        return Err(format!("{name} is larger than {}", count(limits::FILE_BYTES, "byte")));
    }
    add_text(gathered, &text, name)
}

/// Adds the calls in the text of a file.
pub(crate) fn add_text(gathered: &CallHistory, text: &str, name: &str) -> Result<(), String> {
    let first: Option<Value> =
        serde_json::Deserializer::from_str(text).into_iter().next().and_then(Result::ok);
    let Some(first) = first else { return Err(format!("{name} contains no JSON")) };
    if first["turns"].is_array() && first["question"].is_string() {
        add_transcript(gathered, &first, name);
        return Ok(());
    }
    if first["resourceSpans"].is_array() {
        return Err(format!("{name} contains OpenTelemetry spans; view them with a collector"));
    }
    if first["type"] == ProcessRecord::KIND || first["type"] == CallRecord::KIND {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(limits::FILE_CALLS);
        let unread =
            lines[from..].iter().filter(|line| gathered.take_line(line, CallSource::Journal).is_none());
        let unread = unread.count();
        if from > 0 {
            gathered.note(format!("{name}: skipped the first {}", count(from as u64, "line")));
        }
        if unread > 0 {
            let unread = count(unread as u64, "line");
            gathered.note(format!("{name}: skipped {unread}, not calls or from another version"));
        }
        return Ok(());
    }
    if first["request"].is_object() && first["format"].is_number() {
        return add_recording(gathered, text, name);
    }
    Err(format!("{name} is not a transcript of `ask --json`, a recording or a journal"))
}

/// A part of a journal: the current file or the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalPart {
    /// The previous file, which was moved away when it was full.
    Before,
    /// The file that is being written now.
    Now,
}

/// Reads a journal while other processes write it.
pub(crate) fn follow(
    gathered: &Arc<CallHistory>,
    mut open: impl FnMut(JournalPart) -> Option<File> + Send + 'static,
) {
    let inner = Arc::clone(gathered);
    let follow = move || {
        let mut followed = FollowedJournal::default();
        loop {
            followed.look(&inner, &mut open);
            thread::sleep(limits::LOOK_INTERVAL);
        }
    };
    if let Err(error) = thread::Builder::new().name("journal".to_owned()).spawn(follow) {
        gathered.note(format!("the journal can't be read: {error}"));
    }
}

/// The file that we are reading, and the offset that we have reached. We keep the file open because it may
/// still get lines after it was moved away.
#[derive(Default)]
struct FollowedJournal(Option<(Handle, u64)>);

impl FollowedJournal {
    /// Adds the lines that have been written since the last look.
    fn look(&mut self, gathered: &CallHistory, open: &mut impl FnMut(JournalPart) -> Option<File>) {
        let Some(mut now) = open(JournalPart::Now).and_then(|file| Handle::from_file(file).ok()) else {
            return;
        };
        let size = now.as_file().metadata().map_or(0, |facts| facts.len());
        let at = match &mut self.0 {
            Some((last, at)) if *last == now && *at <= size => *at,
            // Another file has replaced ours. Ours may have got more lines before that, and the previous file
            // may be a different one.
            last => {
                if let Some((last, at)) = last {
                    read_from(gathered, last.as_file_mut(), *at);
                }
                // Calls that we already have are ignored.
                if let Some(mut before) = open(JournalPart::Before) {
                    read_from(gathered, &mut before, 0);
                }
                0
            }
        };
        let at = read_from(gathered, now.as_file_mut(), at);
        self.0 = Some((now, at));
    }
}

/// Adds the complete lines from offset `at` on. Returns the offset after the last one.
fn read_from(gathered: &CallHistory, file: &mut File, mut at: u64) -> u64 {
    if file.seek(SeekFrom::Start(at)).is_err() {
        return at;
    }
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            // We will read an incomplete line later, when it is complete.
            Ok(read) if line.last() == Some(&b'\n') => {
                at += read as u64;
                gathered.take_line(String::from_utf8_lossy(&line).trim(), CallSource::Journal);
            }
            _ => return at,
        }
    }
}

/// Adds a call from a file. We derive its status from its error and its size.
fn add(gathered: &CallHistory, process: &str, sequence: u64, mut head: CallHead) {
    head.status = match (&head.error, head.bytes) {
        (Some(_), _) => CallStatus::Error,
        (None, 0) => CallStatus::Nothing,
        (None, _) => CallStatus::Found,
    };
    gathered.add_call(CallRecord::new(process, sequence, head), CallSource::File);
}

fn process_of(gathered: &CallHistory, name: &str) -> String {
    let process = format!("file:{name}");
    gathered.add_process(ProcessRecord::new(&process, "ask", timestamp(0)), CallSource::File);
    process
}

/// Adds the calls of a transcript. It has the durations of turns but no times, so we place the turns one
/// after another from 1970 on.
fn add_transcript(gathered: &CallHistory, transcript: &Value, name: &str) {
    let process = process_of(gathered, name);
    if let Some(question) = transcript["question"].as_str() {
        gathered.set_task(&process, question);
    }
    let root: Vec<String> = transcript["root"].as_str().map(str::to_owned).into_iter().collect();
    let (mut at, mut sequence) = (0, 0);
    for turn in transcript["turns"].as_array().into_iter().flatten() {
        let us = |name: &str| turn[name].as_u64().unwrap_or_default().saturating_mul(1000);
        at = us("model_ms").saturating_add(at);
        for call in turn["calls"].as_array().into_iter().flatten() {
            sequence += 1;
            let answer = serde_json::from_value(call["answer"].clone());
            let only_root = || AnswerHead { roots: root.clone(), ..AnswerHead::default() };
            let head = CallHead {
                began_us: at,
                elapsed_us: call["elapsed_ms"].as_u64().unwrap_or_default().saturating_mul(1000),
                arguments: call["arguments"].clone(),
                bytes: call["bytes"].as_u64().unwrap_or_default(),
                error: call["error"].as_str().map(str::to_owned),
                head: Arc::new(answer.unwrap_or_else(|_| only_root())),
                ..CallHead::new("ask", call["tool"].as_str().unwrap_or_default(), CallStatus::Found)
            };
            add(gathered, &process, sequence, head);
        }
        at = us("tools_ms").saturating_add(at);
    }
    if sequence == 0 {
        gathered.note(format!("{name}: the model did not call any tool"));
    }
}

/// Adds the calls of a recording. We find them in its requests. The longest request contains the whole
/// conversation.
fn add_recording(gathered: &CallHistory, text: &str, name: &str) -> Result<(), String> {
    let process = process_of(gathered, name);
    let mut sequence = 0;
    let mut seen = std::collections::HashSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let exchange: Value =
            serde_json::from_str(line).map_err(|error| format!("{name} is not a recording: {error}"))?;
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        called(&exchange["request"]["body"], &mut calls, &mut results);
        for (id, tool, arguments) in calls {
            // Each request repeats the calls of the conversation so far.
            if !seen.insert((id.clone(), tool.clone(), arguments.to_string())) {
                continue;
            }
            sequence += 1;
            let bytes = results.iter().find(|(of, _)| *of == id).map_or(0, |(_, bytes)| *bytes);
            let of_tool = CallHead::new("ask", &tool, CallStatus::Found);
            let head = CallHead { began_us: sequence * 1000, arguments, bytes, ..of_tool };
            add(gathered, &process, sequence, head);
        }
    }
    if sequence == 0 {
        gathered.note(format!("{name}: no request in the recording contains a tool call"));
    }
    Ok(())
}

type Called = (String, String, Value);

/// Collects calls and the sizes of their results anywhere in a request, in the formats of all wire protocols.
fn called(value: &Value, calls: &mut Vec<Called>, results: &mut Vec<(String, u64)>) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let read = |value: &Value| match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        other => other.clone(),
    };
    if let Value::Object(fields) = value {
        let of = |name: &str| fields.get(name).unwrap_or(&Value::Null);
        let id = ["id", "call_id", "tool_call_id", "tool_use_id"].iter().find_map(|name| text(of(name)));
        let id = id.unwrap_or_default();
        let name = text(of("name"));
        match (of("type").as_str(), name) {
            (Some("tool_use"), Some(name)) => calls.push((id, name, of("input").clone())),
            (Some("function_call"), Some(name)) => {
                calls.push((text(of("call_id")).unwrap_or(id), name, read(of("arguments"))));
            }
            (Some("tool_result" | "function_call_output"), _) => {
                let result = if of("output").is_null() { of("content") } else { of("output") };
                results.push((id, length(result)));
            }
            _ if of("role") == "tool" => results.push((id, length(of("content")))),
            _ if of("function")["arguments"].is_string() => {
                let name = text(&of("function")["name"]).unwrap_or_default();
                calls.push((id, name, read(&of("function")["arguments"])));
            }
            // Gemini's calls may have no id. Then we can only find a result of the same tool.
            _ if of("functionCall").is_object() => {
                let call = of("functionCall");
                let name = text(&call["name"]).unwrap_or_default();
                calls.push((text(&call["id"]).unwrap_or(name.clone()), name, call["args"].clone()));
            }
            _ if of("functionResponse").is_object() => {
                let result = of("functionResponse");
                let id = text(&result["id"]).or(text(&result["name"]));
                results.push((id.unwrap_or_default(), length(&result["response"])));
            }
            _ => {}
        }
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| called(value, calls, results)),
        Value::Object(fields) => fields.values().for_each(|value| called(value, calls, results)),
        _ => {}
    }
}

/// Sums up the bytes of all texts in a result.
fn length(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(length).sum(),
        Value::Object(fields) => {
            ["text", "output", "error"].iter().find_map(|name| fields.get(*name)).map_or(0, length)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends a call to the journal file at `path`.
    fn write(path: &std::path::Path, sequence: u64) {
        let mut line = json!({
            "type": "call", "id": format!("p-{sequence}"), "process": "p", "sequence": sequence, "began": "",
        });
        let head = json!(CallHead::new("mcp", "grep_search", CallStatus::Found));
        line.as_object_mut().unwrap().extend(head.as_object().unwrap().clone());
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        io::Write::write_all(&mut file, format!("{line}\n").as_bytes()).unwrap();
    }

    /// Regression test: calls in Gemini's format had no result.
    #[test]
    fn recorded_calls_of_each_wire_have_results() {
        for messages in [
            json!([
                {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "found"},
            ]),
            json!([
                {"type": "tool_use", "id": "a", "name": "t", "input": {}},
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "found"}]},
            ]),
            json!([
                {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "found"},
            ]),
            json!([
                {"functionCall": {"name": "t", "args": {}}},
                {"functionResponse": {"name": "t", "response": {"output": "found"}}},
            ]),
        ] {
            let gathered = CallHistory::new();
            let recording = json!({"format": 1, "request": {"body": {"messages": messages}}});
            add_text(&gathered, &recording.to_string(), "recording").unwrap();
            let calls = gathered.calls();
            assert_eq!((calls.len(), calls[0].head.bytes), (1, 5), "{recording}");
            assert_eq!(calls[0].head.status, CallStatus::Found, "{recording}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the test")]
    fn journal_rotation_loses_no_call() {
        let directory = tempfile::tempdir().unwrap();
        let (now, before) = (directory.path().join("now"), directory.path().join("before"));
        let gathered = CallHistory::new();
        let mut open = |part| File::open(if part == JournalPart::Now { &now } else { &before }).ok();
        let mut reader = FollowedJournal::default();
        let mut seen = |wanted: &[u64]| {
            reader.look(&gathered, &mut open);
            let mut seen: Vec<u64> = gathered.calls().iter().map(|call| call.sequence).collect();
            seen.sort_unstable();
            assert_eq!(seen, wanted);
        };
        seen(&[]);
        write(&before, 1);
        write(&now, 2);
        seen(&[1, 2]);
        write(&now, 3);
        std::fs::rename(&now, &before).unwrap();
        for call in 4..9 {
            write(&now, call);
        }
        seen(&[1, 2, 3, 4, 5, 6, 7, 8]);
        // Two rotations at once: the file that we have read is neither of the two that exist.
        write(&now, 9);
        for call in 10..12 {
            std::fs::rename(&now, &before).unwrap();
            write(&now, call);
        }
        seen(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        std::fs::remove_file(&now).unwrap();
        seen(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        write(&now, 12);
        seen(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
