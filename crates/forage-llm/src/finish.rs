//! Finish reasons of a model.

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The answer is complete.
    Complete,
    /// The model reached the output limit, so the text may have been cut.
    Length,
    /// The model is waiting for the results of its calls.
    ToolCalls,
    /// The model, or a guard in front of it, has refused to answer.
    Refused,
    /// Any other reason, including a missing or unknown one.
    Other,
}
