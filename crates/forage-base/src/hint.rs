//! What can be done about an error, as data.

/// An action that may resolve an error. How it is done, by a command, a setting or a tool, is known to the program
/// alone, which says it in the words of whoever reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A directory was named where a file was wanted: list it.
    ListDirectory,
    /// A directory is too broad to be searched: allow it all the same.
    AllowBroadRoot,
    /// A file has the name of one with secrets: allow it, if it holds none.
    AllowSecret,
    /// An index can't be used: remove it, and the next use builds it anew.
    RebuildIndex,
    /// There is no such collection: fill it, or name another.
    FillCollection,
    /// A collection can't be used: remove it and fill it again.
    RefillCollection,
    /// A collection has no such vector: name one that it has.
    ChooseVector,
    /// A collection was encoded with something else: encode the questions with that, or fill another.
    MatchEncoding,
    /// A collection doesn't say what it was encoded with: say it.
    NameEncoder,
    /// A collection was encoded with something that has to be set up.
    SetEncoder,
    /// A field can't be filtered by: name it among those that answers show.
    ShowField,
    /// No model can be asked: configure one, or choose a ranking without a model.
    ConfigureModel,
    /// All models failed: try again, choose another, or a ranking without a model.
    OtherModel,
    /// Every term is too broad: other tools can do without terms.
    OtherSearch,
    /// No external engine can be used: install one, or use the one built in.
    EmbeddedEngine,
}
