//! Shows a person the agent's progress. On a terminal this is a single line that we redraw; elsewhere it is
//! one line per step.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forage_agent::AgentEvent;
use forage_base::{Background, count};
use forage_tools::{sanitize, sanitize_line};

use super::super::output::Terminal;
use crate::limits::{PROGRESS_ARGUMENTS, PROGRESS_WIDTH};

/// Interval at which the progress line is redrawn.
const BETWEEN: Duration = Duration::from_millis(200);

/// Printed after a text that a model did not finish.
const BROKEN_OFF: &str = " …\n\n[interrupted]\n\n";

/// Shows progress until it is dropped. The current activity goes to stderr. If stdout is a terminal, the
/// answer appears there while the model writes it.
pub(super) struct View<'a> {
    mode: ViewMode,
    state: Arc<Mutex<State>>,
    answer: Option<Mutex<StreamedText<'a>>>,
    _redrawn: Option<Background>,
}

/// Writes the text that models stream.
struct StreamedText<'a> {
    output: &'a mut Terminal,
    shown: Shown,
}

/// The model text that the user has already seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// The texts in order, one for each time that a model started to write.
    pub(super) texts: Vec<String>,
    /// True if the last text may go on. Any other output must then start on a new line.
    pub(super) is_open: bool,
}

impl Shown {
    /// Returns the last text, trimmed.
    pub(super) fn last(&self) -> &str {
        self.texts.last().map(|text| text.trim()).unwrap_or_default()
    }
}

impl StreamedText<'_> {
    /// Returns the text to print for an event.
    fn follow(&mut self, event: &AgentEvent<'_>) -> Option<String> {
        match event {
            AgentEvent::Text(piece) => {
                let shown = &mut self.shown;
                match shown.texts.last_mut().filter(|_| shown.is_open) {
                    Some(text) => text.push_str(piece),
                    None => shown.texts.push((*piece).to_owned()),
                }
                shown.is_open = true;
                Some(sanitize(piece))
            }
            // The model will start a new text. The current one stays on the screen.
            AgentEvent::Asking { .. } | AgentEvent::Said { calls: 1.., .. } if self.shown.is_open => {
                self.shown.is_open = false;
                Some("\n\n".to_owned())
            }
            // The next model may write the same text again, so mark this one as unfinished.
            AgentEvent::Failed { .. } if self.shown.is_open => {
                self.shown.is_open = false;
                Some(BROKEN_OFF.to_owned())
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ViewMode {
    Quiet,
    Log,
    Terminal,
}

impl<'a> View<'a> {
    /// Starts the view. If `output` is given and stdout is a terminal, it receives the answer while the model
    /// writes it.
    pub(super) fn start(quiet: bool, output: Option<&'a mut Terminal>) -> Self {
        let mode = match (quiet, io::stderr().is_terminal()) {
            (true, _) => ViewMode::Quiet,
            (false, true) => ViewMode::Terminal,
            (false, false) => ViewMode::Log,
        };
        let state = Arc::new(Mutex::new(State::default()));
        let redrawn = (mode == ViewMode::Terminal).then(|| redraw(Arc::clone(&state)));
        let output = output.filter(|_| io::stdout().is_terminal());
        let answer = output.map(|output| Mutex::new(StreamedText { output, shown: Shown::default() }));
        Self { mode, state, answer, _redrawn: redrawn }
    }

    /// Returns true if text is shown while a model writes it. Otherwise, the agent need not stream.
    pub(super) fn shows_text(&self) -> bool {
        self.mode == ViewMode::Terminal || self.answer.is_some()
    }

    /// Returns the model text that the user has seen.
    pub(super) fn shown(self) -> Shown {
        let Some(answer) = &self.answer else { return Shown::default() };
        answer.lock().unwrap_or_else(PoisonError::into_inner).shown.clone()
    }

    pub(super) fn show(&self, event: &AgentEvent<'_>) {
        self.write(event);
        match self.mode {
            ViewMode::Quiet => {}
            ViewMode::Log => {
                if let Some(line) = log_line(event) {
                    let _ = writeln!(io::stderr(), "forage: {}", sanitize_line(&line));
                }
            }
            // We write this text to stdout, so it must not also appear in the progress line.
            ViewMode::Terminal if self.answer.is_some() && matches!(event, AgentEvent::Text(_)) => {}
            ViewMode::Terminal => self.state.lock().unwrap_or_else(PoisonError::into_inner).update(event),
        }
    }
}

impl View<'_> {
    /// Writes the part of the answer that this event carries, if any. We must clear the progress line first.
    fn write(&self, event: &AgentEvent<'_>) {
        let Some(answer) = &self.answer else { return };
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = answer.follow(event) else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mode == ViewMode::Terminal && !state.is_written_beside {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        state.is_written_beside = matches!(event, AgentEvent::Text(_));
        // A closed terminal should not end the agent's work.
        let _ = answer.output.text_now(&text);
    }
}

fn redraw(state: Arc<Mutex<State>>) -> Background {
    Background::start("progress", move |work| {
        let started = Instant::now();
        while work.goes_on_after(BETWEEN) {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.is_written_beside {
                let _ = write!(io::stderr(), "\r\x1b[K{}", state.line(started.elapsed()));
            }
        }
        if !state.lock().unwrap_or_else(PoisonError::into_inner).is_written_beside {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    })
}

/// The state of the progress line.
#[derive(Debug, Default)]
struct State {
    turn: usize,
    turns: usize,
    running: BTreeMap<usize, String>,
    bytes: usize,
    tokens_in: u64,
    tokens_out: u64,
    cost_usd: Option<f64>,
    /// The text that the model is writing.
    text: String,
    trouble: String,
    /// True while the answer occupies the terminal. The progress line must not be drawn then.
    is_written_beside: bool,
}

impl State {
    fn update(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::Asking { turn, turns, .. } => {
                (self.turn, self.turns) = (*turn, *turns);
                self.text.clear();
            }
            AgentEvent::Text(piece) => self.text.push_str(piece),
            AgentEvent::Said { usage, cost_usd, .. } => {
                self.trouble.clear();
                if let Some(usage) = usage {
                    self.tokens_in += usage.input_tokens;
                    self.tokens_out += usage.output_tokens;
                }
                self.cost_usd =
                    cost_usd.map(|cost| self.cost_usd.unwrap_or_default() + cost).or(self.cost_usd);
            }
            AgentEvent::Failed { error, then } => self.trouble = format!("{error} ({then})"),
            AgentEvent::CallStarted { number, tool, .. } => {
                self.running.insert(*number, (*tool).to_owned());
            }
            AgentEvent::CallEnded { number, bytes, .. } => {
                self.running.remove(number);
                self.bytes += bytes;
            }
            AgentEvent::MadeRoom { .. } => {}
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let mut line = format!("{:.0} s  turn {}/{}", elapsed.as_secs_f64(), self.turn, self.turns);
        if self.bytes > 0 {
            let _ = write!(line, "  {} KB", self.bytes.div_ceil(1_000));
        }
        if self.tokens_in > 0 {
            let _ = write!(line, "  {}+{} tokens", self.tokens_in, self.tokens_out);
        }
        if let Some(cost) = self.cost_usd {
            let _ = write!(line, "  ${cost:.4}");
        }
        line.push_str("  ");
        let room = PROGRESS_WIDTH.saturating_sub(line.chars().count());
        let rest = match (self.running.is_empty(), self.trouble.is_empty(), self.text.trim()) {
            (false, ..) => self.running.values().map(String::as_str).collect::<Vec<_>>().join(", "),
            (_, false, _) => self.trouble.clone(),
            (_, _, "") => "thinking …".to_owned(),
            // Show the end of the line: its beginning was visible before.
            (_, _, text) => {
                let last = text.lines().last().unwrap_or_default();
                let skipped = last.chars().count().saturating_sub(room);
                last.chars().skip(skipped).collect()
            }
        };
        // A tab is wider than one character, so it would break the width limit.
        let rest = sanitize_line(&rest).replace('\t', " ");
        line.extend(rest.chars().take(room));
        line
    }
}

/// Formats an event for the log, or returns `None` if such events are too frequent to log.
fn log_line(event: &AgentEvent<'_>) -> Option<String> {
    Some(match event {
        AgentEvent::Asking { turn, turns, model, last } => {
            let last = if *last { ", asked to answer now" } else { "" };
            format!("turn {turn} of {turns}: {model}{last}")
        }
        AgentEvent::Text(_) => return None,
        AgentEvent::Said { calls, usage, cost_usd, elapsed } => {
            let mut line = match calls {
                0 => "an answer".to_owned(),
                calls => count(*calls as u64, "call"),
            };
            if let Some(usage) = usage {
                let _ = write!(line, ", {} tokens in, {} out", usage.input_tokens, usage.output_tokens);
            }
            if let Some(cost) = cost_usd {
                let _ = write!(line, ", ${cost:.4}");
            }
            let _ = write!(line, ", {:.1} s", elapsed.as_secs_f64());
            line
        }
        AgentEvent::Failed { error, then } => format!("{}: {then}", sanitize(error).replace('\n', " ")),
        AgentEvent::CallStarted { number, tool, arguments } => {
            let shown: String = arguments.chars().take(PROGRESS_ARGUMENTS).collect();
            let more = if shown.len() < arguments.len() { "…" } else { "" };
            format!("call {number}: {tool} {shown}{more}")
        }
        AgentEvent::CallEnded { number, bytes, elapsed, error, .. } => match error {
            Some(error) => format!("call {number} failed: {}", sanitize(error).replace('\n', " ")),
            None => {
                format!("call {number}: {} in {:.2} s", count(*bytes as u64, "byte"), elapsed.as_secs_f64())
            }
        },
        AgentEvent::MadeRoom { results } => format!("old results removed from the conversation: {results}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forage_llm::Usage;

    fn after(events: &[AgentEvent<'_>]) -> String {
        let mut state = State::default();
        events.iter().for_each(|event| state.update(event));
        state.line(Duration::from_secs(7))
    }

    const ASKING: AgentEvent<'_> = AgentEvent::Asking { turn: 2, turns: 8, model: "p/m", last: false };

    #[test]
    fn the_line_says_what_is_going_on() {
        let usage = Some(Usage { input_tokens: 900, cached_input_tokens: 0, output_tokens: 30 });
        let said = || AgentEvent::Said { calls: 2, usage, cost_usd: Some(0.0012), elapsed: Duration::ZERO };
        let started = |number, tool| AgentEvent::CallStarted { number, tool, arguments: "{}" };
        let ended = |number, bytes| AgentEvent::CallEnded {
            number,
            tool: "read_file",
            bytes,
            elapsed: Duration::ZERO,
            error: None,
        };
        assert_eq!(after(&[ASKING]), "7 s  turn 2/8  thinking …");
        assert_eq!(
            after(&[ASKING, said(), started(1, "grep_search"), started(2, "read_file"), ended(2, 1_500)]),
            "7 s  turn 2/8  2 KB  900+30 tokens  $0.0012  grep_search"
        );
        assert_eq!(
            after(&[ASKING, AgentEvent::Text("One.\nTwo"), AgentEvent::Text(" more")]),
            "7 s  turn 2/8  Two more"
        );
    }

    #[test]
    fn answer_is_streamed_to_the_terminal() {
        let mut output = Terminal::new(false, false);
        let mut written = StreamedText { output: &mut output, shown: Shown::default() };
        let said = |calls| AgentEvent::Said { calls, usage: None, cost_usd: None, elapsed: Duration::ZERO };
        let mut printed = String::new();
        let events = [
            ASKING,
            AgentEvent::Text("I look \u{1b}[2J"),
            AgentEvent::Text("first."),
            said(1),
            AgentEvent::CallStarted { number: 1, tool: "grep_search", arguments: "{}" },
            ASKING,
            AgentEvent::Text("It i"),
            AgentEvent::Failed { error: "gone", then: "retrying" },
            AgentEvent::Text("It is "),
            AgentEvent::Text("there."),
            said(0),
        ];
        for event in &events {
            printed.extend(written.follow(event));
        }
        assert_eq!(printed, "I look \\x1B[2Jfirst.\n\nIt i …\n\n[interrupted]\n\nIt is there.");
        let texts = ["I look \u{1b}[2Jfirst.", "It i", "It is there."].map(str::to_owned).to_vec();
        assert_eq!(written.shown, Shown { texts, is_open: true });
    }

    #[test]
    fn no_text_of_a_model_steers_the_terminal_or_wraps_the_line() {
        let line = after(&[ASKING, AgentEvent::Text("\u{1b}[2Jx\r\u{202e}y\tz")]);
        assert_eq!(line, "7 s  turn 2/8  \\x1B[2Jx\\x0D\\u{202E}y z");
        let long = after(&[ASKING, AgentEvent::Text(&"wörter ".repeat(100)), AgentEvent::Text("end")]);
        assert!(long.ends_with(" end") && long.chars().count() == PROGRESS_WIDTH, "{long}");
        let trouble = "x".repeat(500);
        let line = after(&[ASKING, AgentEvent::Failed { error: &trouble, then: "p/n takes over" }]);
        assert_eq!(line.chars().count(), PROGRESS_WIDTH);
    }
}
