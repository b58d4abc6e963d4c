//! The messages of a conversation, and the eviction of old results.
//!
//! On every wire, messages alternate (user, model, results, model, …). A remark of the program must therefore
//! never be a separate message, so we append it to the previous one. The history only grows at its end, so
//! that providers can cache it by prefix. Only when we need space do we replace the oldest results by a
//! placeholder.

use forage_llm::{ChatMessage, ChatRequest, ModelTurn, ToolChoice, ToolDefinition, ToolResult};
use forage_redact::Redacted;

use super::limits::ANSWER_TOKENS;

/// The placeholder for an evicted result.
const TAKEN_OUT: &str = "[this result was removed to save space; repeat the call if you still need it]\n";

/// The conversation about one question.
pub(super) struct Conversation {
    system: Redacted,
    messages: Vec<ChatMessage>,
    /// Results that are still complete, oldest first.
    results: Vec<ResultLocation>,
}

/// The location of a call's result in the messages.
struct ResultLocation {
    message: usize,
    slot: usize,
    call: usize,
}

impl Conversation {
    pub(super) fn new(system: Redacted, opening: Redacted) -> Self {
        Self { system, messages: vec![ChatMessage::User(opening)], results: Vec::new() }
    }

    /// Builds the request for the next turn. Tools must stay declared in the last turn, because Anthropic's
    /// protocol rejects results of undeclared tools and all providers cache the part before the messages.
    pub(super) fn request(&self, tools: &[ToolDefinition], last: bool) -> ChatRequest {
        ChatRequest {
            system: self.system.clone(),
            messages: self.messages.clone(),
            tools: tools.to_vec(),
            tool_choice: if last { ToolChoice::None } else { ToolChoice::Free },
            answer_schema: None,
            max_output_tokens: ANSWER_TOKENS,
        }
    }

    /// Adds a turn of the model and the results of its calls, each with its call number.
    pub(super) fn add(&mut self, turn: ModelTurn, results: Vec<(usize, ToolResult)>) {
        self.messages.push(ChatMessage::Model(turn));
        let message = self.messages.len();
        let place =
            |(slot, (call, _)): (usize, &(usize, ToolResult))| ResultLocation { message, slot, call: *call };
        self.results.extend(results.iter().enumerate().map(place));
        self.messages.push(ChatMessage::ToolResults(results.into_iter().map(|(_, result)| result).collect()));
    }

    /// Appends a remark to the last message before the model's next turn.
    pub(super) fn remark(&mut self, remark: &Redacted) {
        match self.messages.last_mut() {
            Some(ChatMessage::User(text)) => text.push(remark),
            Some(ChatMessage::ToolResults(results)) => {
                if let Some(last) = results.last_mut() {
                    last.text.push(remark);
                }
            }
            Some(ChatMessage::Model(_)) | None => {}
        }
    }

    /// The total size of the results in bytes.
    pub(super) fn bytes(&self) -> usize {
        let results = self.messages.iter().filter_map(|message| match message {
            ChatMessage::ToolResults(results) => Some(results),
            _ => None,
        });
        results.flatten().map(|result| result.text.as_str().len()).sum()
    }

    /// Evicts the oldest results until all results together have at most `max` bytes. Results of the newest
    /// turn must stay, as the model has not seen them. Returns the call numbers of the evicted results.
    pub(super) fn make_room(&mut self, max: usize) -> Vec<usize> {
        let newest = self.messages.len() - 1;
        let mut bytes = self.bytes();
        let mut taken = Vec::new();
        let messages = &mut self.messages;
        self.results.retain(|place| {
            if bytes <= max || place.message == newest {
                return true;
            }
            let Some(ChatMessage::ToolResults(results)) = messages.get_mut(place.message) else {
                return false;
            };
            let Some(result) = results.get_mut(place.slot) else { return false };
            // The placeholder would not be shorter than this result.
            if result.text.as_str().len() <= TAKEN_OUT.len() {
                return true;
            }
            bytes -= result.text.as_str().len() - TAKEN_OUT.len();
            result.text = Redacted::trusted(TAKEN_OUT);
            taken.push(place.call);
            false
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forage_llm::ChatAnswer;
    use forage_redact::Redactor;

    fn result(call: usize, text: &str) -> (usize, ToolResult) {
        let text = Redactor::off().redact(text);
        (call, ToolResult { call_id: call.to_string(), name: "t".to_owned(), text, is_error: false })
    }

    fn conversation(turns: &[&[&str]]) -> Conversation {
        let mut conversation =
            Conversation::new(Redacted::trusted("system"), Redacted::trusted("the question"));
        let mut call = 0;
        for turn in turns {
            let results = turn.iter().map(|text| {
                call += 1;
                result(call, text)
            });
            conversation.add(ChatAnswer::from_text("p", "m", "x").into_turn(), results.collect());
        }
        conversation
    }

    fn texts(conversation: &Conversation) -> Vec<String> {
        conversation.request(&[], false).texts().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn oldest_results_are_dropped_first() {
        let long = "r".repeat(1_000);
        let mut conversation = conversation(&[&[&long, "short"], &[&long], &[&long, &long]]);
        assert_eq!(conversation.make_room(5_000), [0; 0]);
        assert_eq!(conversation.bytes(), 4_005);
        assert_eq!(conversation.make_room(4_000), [1]);
        assert_eq!(conversation.make_room(10), [3], "only what helps, and nothing of the newest turn");
        assert_eq!(texts(&conversation), ["the question", TAKEN_OUT, "short", TAKEN_OUT, &long, &long]);
        assert_eq!(conversation.make_room(10), [0; 0]);
    }

    #[test]
    fn a_remark_ends_what_is_read_next() {
        let mut conversation = conversation(&[]);
        conversation.remark(&Redacted::trusted(" [1]"));
        conversation
            .add(ChatAnswer::from_text("p", "m", "x").into_turn(), vec![result(1, "one"), result(2, "two")]);
        conversation.remark(&Redacted::trusted(" [2]"));
        assert_eq!(texts(&conversation), ["the question [1]", "one", "two [2]"]);
    }
}
