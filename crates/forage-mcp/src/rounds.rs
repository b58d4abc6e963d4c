//! The rounds of a call in revisions without a handshake. There, the server asks questions in its answer, and
//! the client repeats the call.

use rmcp::model::{CallToolResponse, ErrorData, InputRequests, InputRequiredResult, InputResponses};
use serde::{Deserialize, Serialize};

use super::limits;

/// A client's answers in all rounds of a call so far.
///
/// A client sends its answers to the latest questions only. Those of earlier rounds come back in the state,
/// which the client returns unchanged. We don't sign the state because everything in it could also come from
/// the client directly.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rounds {
    /// Rounds in which the client was asked.
    asked: usize,
    said: InputResponses,
}

impl Rounds {
    /// Reads the state and the new answers of a call.
    ///
    /// # Errors
    ///
    /// Fails if the state does not come from this server.
    pub(super) fn from_request(
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<Self, ErrorData> {
        let mut rounds: Self = match state.map(serde_json::from_str) {
            None => Self::default(),
            Some(Ok(rounds)) => rounds,
            Some(Err(_)) => {
                return Err(ErrorData::invalid_params(
                    "the requestState was not issued by this server",
                    None,
                ));
            }
        };
        rounds.said.extend(responses.unwrap_or_default());
        Ok(rounds)
    }

    pub(super) fn responses(&self) -> &InputResponses {
        &self.said
    }

    /// Returns true if the client may be asked once more.
    pub(super) fn may_ask(&self) -> bool {
        self.asked < limits::SAMPLING_ROUNDS
    }

    /// Builds the answer that asks the client for more.
    ///
    /// # Errors
    ///
    /// Fails with a message for the caller if there were too many rounds.
    pub(super) fn ask(mut self, questions: InputRequests) -> Result<CallToolResponse, String> {
        if !self.may_ask() {
            return Err("the files change faster than the client's model answers; try again, or configure a model for \
                        Forage itself"
                .to_owned());
        }
        self.asked += 1;
        let state = serde_json::to_string(&self).map_err(|error| error.to_string())?;
        Ok(InputRequiredResult::new(Some(questions), Some(state)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::InputRequest;
    use serde_json::json;

    fn answers(key: &str) -> Option<InputResponses> {
        Some(InputResponses::from([(key.to_owned(), json!({ "key": key }))]))
    }

    #[expect(deprecated, reason = "roots are deprecated and still asked for")]
    fn state_after(rounds: Rounds) -> Result<String, String> {
        let question = InputRequest::ListRoots(rmcp::model::ListRootsRequest::default());
        let asked = rounds.ask(InputRequests::from([("roots".to_owned(), question)]))?;
        let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
        Ok(asked.request_state.unwrap())
    }

    #[test]
    fn answers_of_earlier_rounds_are_preserved() {
        let first = state_after(Rounds::from_request(None, None).unwrap()).unwrap();
        let second = state_after(Rounds::from_request(Some(&first), answers("roots")).unwrap()).unwrap();
        let third = Rounds::from_request(Some(&second), answers("model")).unwrap();
        assert_eq!(third.responses().keys().collect::<Vec<_>>(), ["model", "roots"]);
    }

    #[test]
    fn a_state_that_was_changed_is_refused_and_rounds_end() {
        let mut state = state_after(Rounds::default()).unwrap();
        assert!(Rounds::from_request(Some(&format!("{state}-changed")), None).is_err());
        assert!(Rounds::from_request(Some("3"), None).is_err());
        for _ in 1..limits::SAMPLING_ROUNDS {
            state = state_after(Rounds::from_request(Some(&state), None).unwrap()).unwrap();
        }
        assert!(state_after(Rounds::from_request(Some(&state), None).unwrap()).is_err());
    }

    #[test]
    fn fuzz_a_state_is_one_that_could_have_been_given_or_refused() {
        let first = state_after(Rounds::from_request(None, None).unwrap()).unwrap();
        let second = state_after(Rounds::from_request(Some(&first), answers("roots")).unwrap()).unwrap();
        forage_fuzz::target!(&forage_fuzz::seeds([first, second]), |input| {
            let Ok(rounds) = Rounds::from_request(Some(&String::from_utf8_lossy(input)), None) else {
                return;
            };
            let (asked, said) = (rounds.asked, rounds.said.clone());
            match state_after(rounds) {
                Ok(state) => {
                    let next = Rounds::from_request(Some(&state), None).unwrap();
                    assert_eq!((next.asked, &next.said), (asked + 1, &said));
                    assert!(next.asked <= limits::SAMPLING_ROUNDS);
                }
                Err(_) => assert!(asked >= limits::SAMPLING_ROUNDS, "{asked}"),
            }
        });
    }
}
