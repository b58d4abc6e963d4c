//! Why a model stopped.

/// The reasons for which a model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It had said everything.
    Complete,
    /// It ran into the output limit; the text may end in the middle.
    Length,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It, or a guard in front of it, refused to answer.
    Refused,
    /// Anything else, also when the provider gives no reason or an unknown one.
    Other,
}
