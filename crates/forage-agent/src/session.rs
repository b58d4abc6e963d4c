//! The agent's loop: asks the model and makes its calls until it answers or must stop.

use std::sync::Arc;
use std::time::Instant;

use forage_base::Stop;
use forage_llm::{ChatAnswer, Finish, ToolDefinition, Usage};
use forage_redact::Redacted;
use forage_tools::registry::AnyTool;
use forage_tools::{ToolNames, sanitize};

use super::Agent;
use super::budget::{Budget, LastTurn};
use super::citation;
use super::conversation::Conversation;
use super::earlier::EarlierExchange;
use super::event::{AgentEvent, EventListener};
use super::limits::SHRINKS;
use super::memory::Memory;
use super::model_client::{ModelClient, ModelFailure};
use super::prompt;
use super::result_redactor::ResultRedactor;
use super::transcript::{Transcript, Turn, TurnEnd};

/// The state of one question.
pub(super) struct AgentSession<'a> {
    pub(super) agent: &'a Agent,
    /// The names of the tools.
    pub(super) names: Arc<ToolNames>,
    pub(super) watch: EventListener<'a>,
    pub(super) stop: &'a Stop,
    pub(super) budget: Budget,
    pub(super) redactor: ResultRedactor,
    pub(super) conversation: Conversation,
    pub(super) memory: Memory,
    /// Number of the most recent call.
    pub(super) calls: usize,
    pub(super) transcript: Transcript,
    model_client: ModelClient<'a>,
    definitions: Vec<ToolDefinition>,
}

/// Asks a question and returns the transcript.
pub(super) fn run(
    agent: &Agent,
    earlier: &[EarlierExchange],
    question: &str,
    watch: EventListener<'_>,
) -> Transcript {
    let started = Instant::now();
    let stop = agent.workspace.stop.within(agent.limits.total);
    let mut session = AgentSession::open(agent, earlier, question, watch, &stop, started);
    let ended = session.converse();
    session.close(ended, started)
}

impl<'a> AgentSession<'a> {
    fn open(
        agent: &'a Agent,
        earlier: &[EarlierExchange],
        question: &str,
        watch: EventListener<'a>,
        stop: &'a Stop,
        started: Instant,
    ) -> Self {
        let mut workspace = agent.workspace.clone();
        workspace.stop = stop.clone();
        let names = Arc::new(ToolNames::from_tools(&agent.tools).with_phrasing(agent.phrasing));
        workspace.names = Arc::clone(&names);
        let mut redactor = match agent.repeatable {
            true => ResultRedactor::repeatable(*workspace.redactor, question),
            false => ResultRedactor::new(*workspace.redactor, question),
        };
        let list = agent.tools.iter().find(|tool| tool.id() == "list_directory");
        let opening = prompt::opening(question, earlier, &workspace, list.map(AsRef::as_ref), &mut redactor);
        let definition = |tool: &Arc<dyn AnyTool>| ToolDefinition {
            name: tool.name().to_owned(),
            description: match tool.spec().is_template {
                true => names.fill(&tool.spec().description),
                false => tool.spec().description.to_string(),
            },
            parameters: tool.input_schema(),
        };
        let system = match &agent.prompt {
            None => Redacted::trusted(prompt::SYSTEM),
            Some(own) => redactor.plain(&prompt::system(own, &names)),
        };
        Self {
            agent,
            names: Arc::clone(&names),
            watch,
            stop,
            budget: Budget::new(agent.limits, started),
            redactor,
            conversation: Conversation::new(system, opening),
            memory: Memory::default(),
            calls: 0,
            transcript: Transcript::new(question, &workspace),
            model_client: ModelClient::new(&agent.models, stop, watch, agent.streams),
            definitions: agent.tools.iter().map(definition).collect(),
        }
    }

    fn converse(&mut self) -> TurnEnd {
        let (mut nudged, mut told_to_answer) = (false, false);
        loop {
            let last = self.budget.last_turn(self.memory.is_circling());
            self.say_what_is_left(last);
            let answer = match self.listen(last.is_some()) {
                Ok(answer) => answer,
                Err(ModelFailure::Empty) if !nudged && self.budget.turns_left() > 1 => {
                    nudged = true;
                    self.remark(prompt::NUDGE);
                    self.budget.turn += 1;
                    continue;
                }
                Err(failure) => return failure.into(),
            };
            // A model that calls a tool although it must answer gets one more reminder, if a turn is left.
            let is_over = self.budget.turns_left() <= 1 || told_to_answer;
            if answer.calls.is_empty() || (last.is_some() && is_over) {
                return self.take_answer(answer);
            }
            self.make_calls(answer, last.is_some());
            if self.stop.is_cancelled() {
                return TurnEnd::Interrupted;
            }
            if last.is_some() {
                told_to_answer = true;
                self.remark(prompt::NUDGE_TO_ANSWER);
            }
            self.budget.turn += 1;
        }
    }

    /// Appends the remaining budget to the last message. If this turn is the last one, this also orders the
    /// model to answer.
    fn say_what_is_left(&mut self, last: Option<LastTurn>) {
        self.make_room(self.agent.limits.bytes);
        let mut text = self.budget.describe(self.conversation.bytes(), !self.agent.repeatable);
        if let Some(why) = last {
            self.transcript.last_turn.get_or_insert(why);
            text.push_str("; ");
            text.push_str(&prompt::last_turn(why.reason()));
        }
        self.remark(&text);
    }

    fn remark(&mut self, text: &str) {
        let remark = self.redactor.remark(text);
        self.conversation.remark(&remark);
    }

    /// Evicts old results until all together have at most `bytes` bytes. Returns true if any was evicted.
    fn make_room(&mut self, bytes: usize) -> bool {
        let taken = self.conversation.make_room(bytes);
        taken.iter().for_each(|call| self.memory.forget(*call));
        self.transcript.results_taken_out += taken.len();
        if !taken.is_empty() {
            (self.watch)(&AgentEvent::MadeRoom { results: taken.len() });
        }
        !taken.is_empty()
    }

    /// Returns the model's next answer. If the conversation is too long for the model, we first make it
    /// shorter. If that does not help, another model may be able to read it.
    fn listen(&mut self, last: bool) -> Result<ChatAnswer, ModelFailure> {
        let mut shrinks = 0;
        loop {
            let model = self.model_client.name();
            let turn = self.budget.turn;
            (self.watch)(&AgentEvent::Asking { turn, turns: self.agent.limits.turns, model: &model, last });
            let request = self.conversation.request(&self.definitions, last);
            match self.model_client.ask(&request, self.agent.limits.model_call, self.budget.deadline) {
                Ok(answer) => {
                    self.heard(&answer);
                    return Ok(answer);
                }
                Err(ModelFailure::TooLong(error)) => {
                    shrinks += 1;
                    if shrinks <= SHRINKS && self.make_room(self.conversation.bytes() / 2) {
                        self.model_client.made_room(&error);
                    } else if !self.model_client.change(&error) {
                        return Err(ModelFailure::Failed);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn heard(&mut self, answer: &ChatAnswer) {
        let name = format!("{}/{}", answer.provider, answer.model);
        if self.transcript.models.last() != Some(&name) {
            self.transcript.models.push(name.clone());
        }
        (self.watch)(&AgentEvent::Said {
            calls: answer.calls.len(),
            usage: answer.usage,
            cost_usd: answer.cost_usd,
            elapsed: answer.elapsed,
        });
        self.transcript.turns.push(Turn {
            model: name,
            text: sanitize(&answer.text),
            calls: Vec::new(),
            usage: answer.usage,
            cost_usd: answer.cost_usd,
            model_ms: u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX),
            tools_ms: 0,
        });
    }

    /// Takes the text of the last turn as the answer. Calls in the same turn are not made.
    fn take_answer(&mut self, answer: ChatAnswer) -> TurnEnd {
        let (finish, text) = (answer.finish, sanitize(answer.text.trim()));
        // This runs no call, but records each with the reason why it was not run.
        if !answer.calls.is_empty() {
            self.make_calls(answer, true);
        }
        if finish == Finish::Refused {
            return TurnEnd::Refused;
        }
        if text.is_empty() {
            return TurnEnd::NoAnswer;
        }
        if finish == Finish::Length {
            let cut = "the answer was cut off at the model's length limit";
            self.transcript.warnings.push(cut.to_owned());
        }
        let checked = citation::check(&text, &self.agent.workspace);
        let wrong = checked.citations.iter().filter(|citation| citation.wrong.is_some()).count();
        self.transcript.answer = Some(checked.text);
        self.transcript.citations = checked.citations;
        self.transcript.wrong_citations = wrong;
        self.transcript.unchecked_citations = checked.unchecked;
        TurnEnd::Answered
    }

    fn close(mut self, ended: TurnEnd, started: Instant) -> Transcript {
        let transcript = &mut self.transcript;
        transcript.stop_reason = ended;
        // The models failed before there was an answer to warn about.
        let failures = std::mem::take(&mut self.model_client.failures);
        transcript.warnings.splice(0..0, failures);
        if ended != TurnEnd::Answered {
            let unfinished = sanitize(self.model_client.unfinished.trim());
            transcript.unfinished = (!unfinished.is_empty()).then_some(unfinished);
        }
        transcript.redacted = self.redactor.hidden().by_rule().clone();
        let mut answers: Vec<_> = transcript.turns.iter().map(|turn| (turn.usage, turn.cost_usd)).collect();
        answers.append(&mut self.model_client.discarded);
        let mut usage = Usage::default();
        for answer in answers.iter().filter_map(|(usage, _)| *usage) {
            usage.input_tokens += answer.input_tokens;
            usage.cached_input_tokens += answer.cached_input_tokens;
            usage.output_tokens += answer.output_tokens;
        }
        transcript.usage = usage;
        // If the cost of one answer is unknown, the sum would be too low, so it must be unknown too.
        transcript.cost_usd = answers.iter().map(|(_, cost_usd)| *cost_usd).sum();
        transcript.cost_usd = transcript.cost_usd.filter(|_| !answers.is_empty());
        transcript.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.transcript
    }
}

impl From<ModelFailure> for TurnEnd {
    fn from(failure: ModelFailure) -> Self {
        match failure {
            ModelFailure::Interrupted => Self::Interrupted,
            ModelFailure::Time => Self::Time,
            ModelFailure::Empty => Self::NoAnswer,
            ModelFailure::Refused => Self::Refused,
            ModelFailure::TooLong(_) | ModelFailure::Failed => Self::ModelsFailed,
        }
    }
}
