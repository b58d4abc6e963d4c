//! Finds declarations and their implementations.

use crate::limits;
use crate::query::RankQuery;
use crate::retrieve::FileCandidate;

use super::paths::is_nameless;
use super::{Evidence, Id, RuleWeights};

/// The maximum ratio of a declaration's score to its implementation's at which we move the declaration after
/// it, for a question. If the declaration is further ahead, it is probably what the query asks for.
const AHEAD: f32 = 1.2;
/// The same for a bug report, where a fix is more likely in the implementation.
const AHEAD_OF_REPORT: f32 = 1.5;
/// The score that such a declaration gets, relative to its implementation's.
const BEHIND: f32 = 0.999;

/// Minimum number of letters of a type that we recognise by the name of its interface.
const SHORTEST_TYPE: usize = 3;

/// Words of a question that asks for declarations.
const ASKED: &[&str] = &[
    "abstract",
    "api",
    "base",
    "declaration",
    "declarations",
    "declared",
    "header",
    "headers",
    "interface",
    "interfaces",
    "protocol",
    "protocols",
    "trait",
    "traits",
];

/// Extensions of headers, with those of their implementations.
const HEADERS: &[(&[&str], &[&str])] = &[
    (&["h", "hpp", "hh", "hxx"], &["c", "cc", "cpp", "cxx", "m", "mm", "cu"]),
    (&["pyi"], &["py", "pyx"]),
    (&["d.ts", "d.mts", "d.cts"], &["js", "mjs", "cjs", "jsx", "ts", "tsx"]),
];

/// Moves declarations after their implementations if both have similar scores and the query asks for neither.
/// The rule `twin` takes away their lead. For example, `name.c` implements `name.h`. `Name` and `OtherName`
/// implement `IName.cs`, `NameInterface.php` and `AbstractName.java`.
pub(crate) fn implementations_first(
    query: &RankQuery,
    candidates: &[FileCandidate],
    evidence: &mut [Evidence],
    rules: &RuleWeights,
) {
    if query.is_symbol || query.asked_words().any(|word| ASKED.contains(&word)) {
        return;
    }
    // We only use the first candidates, so that a longer answer doesn't begin differently.
    let count = candidates.len().min(limits::CANDIDATES);
    let max = if query.is_long { AHEAD_OF_REPORT } else { AHEAD };
    let names: Vec<TwinName<'_>> =
        candidates[..count].iter().map(|candidate| TwinName::from_path(&candidate.record.path)).collect();
    let scores: Vec<f32> = evidence[..count].iter().map(|evidence| rules.score(&evidence.values)).collect();
    for (index, name) in names.iter().enumerate() {
        if !name.declares() || query.names.iter().any(|asked| asked == name.bare) {
            continue;
        }
        let implementing = (0..count).filter(|&other| name.is_implemented_by(&names[other]));
        let implementing = implementing.filter(|&other| !candidates[other].kinds.is_secondary());
        let best = implementing.map(|other| scores[other]).fold(0.0, f32::max);
        if best < scores[index] && scores[index] <= best * max {
            evidence[index].values[Id::Twin as usize] = 1.0 - BEHIND * best / scores[index];
        }
    }
}

/// A file's name, split at its first dot.
#[derive(Clone, Copy, Debug)]
struct TwinName<'a> {
    directory: &'a str,
    bare: &'a str,
    extension: &'a str,
}

impl<'a> TwinName<'a> {
    fn from_path(path: &'a str) -> Self {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (bare, extension) = name.split_once('.').unwrap_or((name, ""));
        Self { directory, bare, extension }
    }

    fn implementing_extensions(&self) -> Option<&'static [&'static str]> {
        HEADERS
            .iter()
            .find(|(headers, _)| headers.contains(&self.extension))
            .map(|(_, extensions)| *extensions)
    }

    /// Returns the name of the type that a file declares for others to implement, if its own name shows this.
    fn declared_type(&self) -> Option<&'a str> {
        // This rules out names that merely begin in the same way, e.g. `Item.cs` and `Database.java`.
        let begins_name = |name: &&str| name.starts_with(char::is_uppercase) && name.len() >= SHORTEST_TYPE;
        let interface = self.bare.strip_prefix('I').filter(|_| self.extension == "cs");
        let after = ["Interface", "Protocol"].iter().find_map(|after| self.bare.strip_suffix(after));
        let before = ["Abstract", "Base"].iter().find_map(|before| self.bare.strip_prefix(before));
        [interface, after, before].into_iter().flatten().find(begins_name)
    }

    fn declares(&self) -> bool {
        self.implementing_extensions().is_some() || self.declared_type().is_some()
    }

    fn is_implemented_by(&self, other: &Self) -> bool {
        if other.declares() {
            return false;
        }
        match self.implementing_extensions() {
            Some(extensions) => {
                let may_be_another = is_nameless(self.bare) && self.directory != other.directory;
                self.bare == other.bare && extensions.contains(&other.extension) && !may_be_another
            }
            None => {
                self.extension == other.extension
                    && self.declared_type().is_some_and(|name| other.bare.ends_with(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_implements_what() {
        let pairs = [
            ("src/server.h", "src/server.c", true),
            ("include/a/str_cat.h", "lib/str_cat.cc", true),
            ("a/types.pyi", "a/types.py", true),
            ("a/client.d.ts", "lib/client.js", true),
            ("IFormatterResolver.cs", "Resolvers/CompositeFormatterResolver.cs", true),
            ("ClientInterface.php", "Client.php", true),
            ("AbstractChannel.java", "nio/NioChannel.java", true),
            ("server.h", "server.py", false),
            ("server.h", "server.hpp", false),
            ("server.h", "server_impl.c", false),
            ("a/__init__.pyi", "b/__init__.py", false),
            ("ContractsInterface.php", "Contracts.py", false),
            ("BaseInterface.php", "MyBase.php", true),
            ("DataBase.java", "MyData.java", false),
            ("fooInterface.ts", "barfoo.ts", false),
            ("Item.cs", "tem.cs", false),
            ("IO.cs", "O.cs", false),
            ("AbstractChannel.java", "ChannelInterface.java", false),
            ("Database.java", "Data.java", false),
            ("IChannel.java", "NioChannel.java", false),
        ];
        for (declared, other, expected) in pairs {
            assert_eq!(
                TwinName::from_path(declared).is_implemented_by(&TwinName::from_path(other)),
                expected,
                "{declared}"
            );
        }
    }
}
