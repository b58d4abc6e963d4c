//! To come.

/// To come.
pub struct CodeSuperset;
