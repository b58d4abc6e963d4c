//! Finish reasons of a model.

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The answer is complete.
    Complete,
    /// The model reached the output limit, so the text may be cut.
    Length,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The model, or a guard in front of it, refused to answer.
    Refused,
    /// Any other reason, including a missing or unknown one.
    Other,
}
