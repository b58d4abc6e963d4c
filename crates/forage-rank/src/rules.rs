//! The rules that order what retrieval found.
//!
//! Each rule is one entry of [`RULES`] and gives a file a value between 0 and 1. Values are multiplied by
//! their weights and added. For a rule that lowers the score, the product is the share of the sum to
//! subtract. Values are relative to the total idf of the query, so a rare word counts for more than a common
//! one, and a weight means the same in every repository.

mod asked;
mod evidence;
mod named;
mod paths;
mod siblings;
mod twins;

pub(crate) use evidence::{Evidence, gather};
pub use paths::SecondaryKind;
pub(crate) use paths::{PathWords, asks_for_tests, kind_values, secondary_kind};
pub(crate) use siblings::{compare_siblings, group_siblings};
pub(crate) use twins::implementations_first;

/// The effect of a rule's value on the score of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Its value times its weight is added.
    Adds,
    /// Its value times its weight is the share of the sum that is subtracted.
    Lowers,
}

/// A ranking rule.
#[derive(Clone, Copy, Debug)]
pub struct RankingRule {
    /// The name used in explanations and ablations.
    pub name: &'static str,
    /// Its weight, which was fitted on the evaluation set over several languages.
    pub weight: f32,
    /// The share of its value that counts for a query of more than
    /// [`NAMING_QUERY`](crate::limits::NAMING_QUERY) words. It is 1 for rules that depend on the values of
    /// others, and for those that only apply to such a query.
    pub text_share: f32,
    /// The effect of its value.
    pub effect: Effect,
    /// A description of its value.
    pub about: &'static str,
}

macro_rules! rules {
    ($($variant:ident $name:literal $weight:literal $text_share:literal $effect:ident $about:literal;)*) => {
        /// The index of each rule in [`RULES`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Id { $($variant),* }

        /// All rules.
        pub const RULES: &[RankingRule] = &[
            $(RankingRule {
                name: $name,
                weight: $weight,
                text_share: $text_share,
                effect: Effect::$effect,
                about: $about,
            }),*
        ];
    };
}

rules! {
    File "file" 0.65 1.0 Adds "BM25F of the whole file";
    Chunk "chunk" 0.65 1.0 Adds "BM25 of its best chunk";
    Coverage "coverage" 0.25 0.4 Adds "share of the query that occurs in the file";
    Stem "stem" 0.9 0.4 Adds "share of the query that is in the file's name";
    StemPrecision "stem-precision" 2.35 0.1 Adds "share of the file's name that is in the query";
    StemExact "stem-exact" 1.0 0.1 Adds "the file's name is a name in the query, or the whole query";
    StemFirst "stem-first" 0.45 0.4 Adds "the file's name contains the first name in the query";
    DefinesFirst "defines-first" 1.0 0.0 Adds "defines the first name in the query";
    Directory "directory" 0.95 0.4 Adds "share of the query that is in the names of directories";
    DefinitionRare "definition-rare" 0.7 0.4 Adds "share of the query in names of definitions, weighted by rarity";
    FileBeside "file-beside" 0.35 1.0 Adds "BM25F of the file relative to the best file";
    ChunkBeside "chunk-beside" 0.4 1.0 Adds "BM25 of its best chunk relative to the best chunk of all files";
    PathCoverage "path-coverage" 0.45 0.4 Adds "share of the query's words that are in the path, rare or not";
    Definition "definition" 0.7 0.2 Adds "the definition whose name contains most of the query, and little else";
    DefinitionCoverage "definition-coverage" 0.3 0.4 Adds "share of the query that is in names of definitions";
    Defines "defines" 0.8 0.4 Adds "defines a name in the query";
    DefinesAsked "defines-asked" 1.55 1.0 Adds "defines the name that is the whole query";
    SeveralChunks "several-chunks" 0.8 0.4 Adds "mean of its second to fourth chunk";
    Proximity "proximity" 1.8 0.4 Adds "share of neighbouring words of the query that are neighbours in the file";
    Head "head" 0.55 0.4 Adds "share of the query in the text before the first definition";
    Comments "comments" 0.65 0.0 Adds "share of the query in comments";
    MainComment "main-comment" 0.3 0.0 Adds "share of the query in the chunk of the file's first type, or of the definition with the file's name";
    Size "size" 0.5 0.0 Adds "logarithm of its word count";
    History "history" 1.5 0.4 Adds "changed by commits whose messages contain words of the query";
    Latent "latent" 0.8 0.4 Adds "its words are close in meaning to those of the query";
    Named "named" 1.2 1.0 Adds "named by a long query, in a stack trace or in prose";
    FileAsked "file-asked" 8.0 1.0 Adds "is a file that a short query names";
    DefinesAlone "defines-alone" 8.0 1.0 Adds "the only file that defines the name that is the whole query";
    Test "test" 0.7 1.0 Lowers "a test, unless the query asks for tests";
    Example "example" 0.45 1.0 Lowers "an example or a benchmark";
    Prose "prose" 0.7 1.0 Lowers "documentation, not code";
    Data "data" 0.6 1.0 Lowers "data and configuration";
    Generated "generated" 0.6 1.0 Lowers "generated or vendored";
    Legacy "legacy" 0.35 1.0 Lowers "kept for compatibility, or deprecated";
    Reexport "reexport" 0.3 1.0 Lowers "a file that re-exports names";
    Internal "internal" 0.15 0.0 Lowers "below a directory whose name is internal or private";
    DeclarationOnly "declaration-only" 0.3 1.0 Lowers "declarations of names that are defined elsewhere";
    Twin "twin" 1.0 1.0 Lowers "declares what another file with about the same score implements";
    Sibling "sibling" 0.4 1.0 Lowers "its path names another platform or backend than the query, unlike a file of the same name";
}

/// The values of all rules for a file.
pub(crate) type Values = [f32; RULES.len()];

/// The weights of all rules, in the order of [`RULES`].
#[derive(Clone, Debug, PartialEq)]
pub struct RuleWeights([f32; RULES.len()]);

impl Default for RuleWeights {
    fn default() -> Self {
        let mut weights = [0.0; RULES.len()];
        for (weight, rule) in weights.iter_mut().zip(RULES) {
            *weight = rule.weight;
        }
        Self(weights)
    }
}

impl RuleWeights {
    /// Returns all rules with their weights.
    pub fn iter(&self) -> impl Iterator<Item = (&'static RankingRule, f32)> {
        RULES.iter().zip(self.0)
    }

    /// Looks up the weight of a rule by name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut f32> {
        let at = RULES.iter().position(|rule| rule.name == name)?;
        self.0.get_mut(at)
    }

    /// Computes the score of a file with these values.
    #[must_use]
    pub fn score(&self, values: &[f32; RULES.len()]) -> f32 {
        let (mut sum, mut share) = (0.0, 1.0);
        for ((rule, weight), value) in RULES.iter().zip(&self.0).zip(values) {
            match rule.effect {
                Effect::Adds => sum += weight * value,
                Effect::Lowers => share *= 1.0 - (weight * value).clamp(0.0, 1.0),
            }
        }
        sum * share
    }
}

#[cfg(test)]
mod tests;
