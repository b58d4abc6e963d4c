//! Hints for resolving errors, as data.

/// An action that may resolve an error. Only the program knows how to perform it: by a command, a setting or
/// a tool. The program should therefore choose the words for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A directory was given instead of a file: list it.
    ListDirectory,
    /// A directory is too broad to be searched: allow it explicitly.
    AllowBroadRoot,
    /// A file is named like one with secrets: allow it if it contains none.
    AllowSecret,
    /// An index can't be used: remove it, and the next use rebuilds it.
    RebuildIndex,
    /// The collection does not exist: fill it, or name another.
    FillCollection,
    /// A collection can't be used: remove it and fill it again.
    RefillCollection,
    /// A collection does not have this vector: name one that it has.
    ChooseVector,
    /// A collection was encoded with another encoder: encode the queries with that one, or fill another
    /// collection.
    MatchEncoding,
    /// A collection does not record its encoder: name it.
    NameEncoder,
    /// A collection was encoded with an encoder that must be configured first.
    SetEncoder,
    /// Filtering by this field is not possible: add it to the fields that answers show.
    ShowField,
    /// No model is available: configure one, or choose a ranking without a model.
    ConfigureModel,
    /// All models failed: try again, choose another, or use a ranking without a model.
    OtherModel,
    /// Every term is too broad: use a tool that does not need terms.
    OtherSearch,
    /// No external engine is available: install one, or use the embedded one.
    EmbeddedEngine,
}
