//! The tokens of a team's server, with their names, their limits and the repositories that each may see.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use forage_lookup::Retriever;
use forage_mcp::{AccessToken, Caller, CallerLimits, TokenDigest};
use forage_tools::LookupSettings;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::limits::{TOKEN_NAME_BYTES, TOKENS_FILE_BYTES};
use crate::retrieval::VisibleStore;

/// The contents of the file that `--tokens` names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    #[serde(default)]
    tokens: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    name: String,
    sha256: String,
    repositories: Option<Vec<String>>,
    calls_at_once: Option<usize>,
    calls_per_minute: Option<usize>,
    #[serde(default)]
    metrics: bool,
}

/// The tokens of a server and their rights.
#[derive(Default)]
pub(super) struct TokenRegistry {
    pub(super) tokens: Vec<AccessToken>,
    rights: BTreeMap<String, TokenRights>,
    /// True if there is also a token without a name that may see everything.
    has_token_of_all: bool,
}

/// The rights of a token's holder.
#[derive(Clone)]
pub(super) struct TokenRights {
    /// The repositories that the holder may see, or `None` for all.
    repositories: Option<RepositoryGlobs>,
    pub(super) lookup: LookupSettings,
}

impl TokenRights {
    /// Returns true if there is anything that the holder may not see.
    pub(super) fn are_restricted(&self) -> bool {
        self.repositories.is_some()
    }

    /// Returns true if the holder may search this root.
    pub(super) fn sees_root(&self, root: &Path) -> bool {
        self.repositories.as_ref().is_none_or(|globs| globs.match_path(root))
    }
}

impl TokenRegistry {
    /// Reads the file. For a holder with restricted rights, we wrap the store of `lookup` so that it shows
    /// only the visible repositories.
    pub(super) fn read(path: &Path, lookup: &LookupSettings) -> anyhow::Result<Self> {
        let shown = path.display();
        let file = forage_fs::open_named(path, TOKENS_FILE_BYTES);
        let text = file.map_err(io::Error::other).and_then(io::read_to_string);
        let text = text.with_context(|| format!("the tokens can't be read from {shown}"))?;
        Self::parse(&text, lookup).with_context(|| format!("{shown} can't be used"))
    }

    fn parse(text: &str, lookup: &LookupSettings) -> anyhow::Result<Self> {
        let file: TokensFile = toml::from_str(text)?;
        ensure!(!file.tokens.is_empty(), "it has no [[tokens]], so no client could connect");
        let (mut team, mut digests) = (Self::default(), BTreeSet::new());
        for entry in file.tokens {
            let name = entry.name.clone();
            let (token, rights) = entry.read(lookup).with_context(|| format!("the token {name:?}"))?;
            ensure!(digests.insert(*token.digest()), "the token {name:?} has the same secret as another one");
            ensure!(team.rights.insert(name.clone(), rights).is_none(), "two tokens are called {name:?}");
            team.tokens.push(token);
        }
        Ok(team)
    }

    pub(super) fn with_token_of_all(self, has_token_of_all: bool) -> Self {
        Self { has_token_of_all, ..self }
    }

    /// Returns the rights of a caller, or `None` if they are unrestricted.
    pub(super) fn rights(&self, caller: Option<&Caller>) -> Result<Option<&TokenRights>, String> {
        match caller {
            None if self.rights.is_empty() || self.has_token_of_all => Ok(None),
            None => Err("this call has no token of this server".to_owned()),
            Some(caller) => match self.rights.get(caller.name()) {
                Some(rights) => Ok(Some(rights)),
                None => Err("this server does not know the token of this call".to_owned()),
            },
        }
    }
}

impl TokenEntry {
    fn read(self, lookup: &LookupSettings) -> anyhow::Result<(AccessToken, TokenRights)> {
        let is_name =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte));
        ensure!(
            !self.name.is_empty() && self.name.len() <= TOKEN_NAME_BYTES && is_name(&self.name),
            "its name is not 1 to {TOKEN_NAME_BYTES} of the characters a-z, A-Z, 0-9, `.`, `_`, `@` and `-`"
        );
        let digest = digest(&self.sha256).context(
            "`sha256` is not the hash of a token in 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` prints it",
        )?;
        for (key, number) in
            [("calls_at_once", self.calls_at_once), ("calls_per_minute", self.calls_per_minute)]
        {
            ensure!(
                number != Some(0),
                "`{key}` is 0, so the token could do nothing; leave it out for no limit"
            );
        }
        let repositories = self.repositories.map(|globs| RepositoryGlobs::new(&globs)).transpose()?;
        let limits = CallerLimits { at_once: self.calls_at_once, per_minute: self.calls_per_minute };
        let token = AccessToken::new(Caller::new(&self.name, limits), digest, self.metrics);
        let mut lookup = lookup.clone();
        if let Some(globs) = &repositories {
            lookup.retriever = lookup.retriever.map(|retriever| Arc::new(visible(&retriever, globs.clone())));
        }
        Ok((token, TokenRights { repositories, lookup }))
    }
}

fn visible(retriever: &Retriever, globs: RepositoryGlobs) -> Retriever {
    let store = VisibleStore::new(Arc::clone(&retriever.store), move |name| globs.match_name(name));
    // The rarity of a term depends on the visible repositories, so each holder must have a separate cache of
    // it.
    Retriever { store: Arc::new(store), rarity: Arc::default(), ..retriever.clone() }
}

fn digest(hexadecimal: &str) -> Option<TokenDigest> {
    let mut digest = TokenDigest::default();
    let digits = hexadecimal.trim().as_bytes();
    if digits.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(*pair.get(at)?).to_digit(16);
        *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
    }
    Some(digest)
}

/// Globs of repository names, e.g. `acme/billing` or `acme/*`.
#[derive(Clone)]
struct RepositoryGlobs {
    names: GlobSet,
    /// The same globs, which match the end of a path.
    paths: GlobSet,
}

impl RepositoryGlobs {
    fn new(globs: &[String]) -> anyhow::Result<Self> {
        ensure!(!globs.is_empty(), "`repositories` names none; leave it out for all of them");
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for glob in globs {
            if glob.is_empty() || glob.starts_with(['/', '!']) || glob.ends_with('/') || glob.contains("**") {
                bail!(
                    "`repositories`: {glob:?} is neither a repository name nor a glob of names such as \
                     \"acme/*\""
                );
            }
            let build =
                |glob: &str| GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
            names.add(build(glob)?);
            paths.add(build(&format!("**/{glob}"))?);
        }
        Ok(Self { names: names.build()?, paths: paths.build()? })
    }

    fn match_name(&self, name: &str) -> bool {
        self.names.is_match(name)
    }

    fn match_path(&self, path: &Path) -> bool {
        self.paths.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn parsed(text: &str) -> Result<TokenRegistry, String> {
        TokenRegistry::parse(text, &LookupSettings::default()).map_err(|error| format!("{error:#}"))
    }

    fn entry(more: &str) -> String {
        format!("[[tokens]]\nname = \"ci\"\nsha256 = \"{HASH}\"\n{more}\n")
    }

    #[test]
    fn a_token_sees_what_its_globs_name() {
        let team = parsed(&entry("repositories = [\"acme/*\", \"tools\"]\ncalls_at_once = 2")).unwrap();
        let ci = Caller::new("ci", CallerLimits::default());
        let rights = team.rights(Some(&ci)).unwrap().unwrap();
        for (path, sees) in [
            ("/srv/acme/billing", true),
            ("/srv/acme", false),
            ("/srv/acme/billing/src", false),
            ("/srv/other/billing", false),
            ("/home/me/tools", true),
            ("/home/me/mytools", false),
            ("/srv", false),
        ] {
            assert_eq!(rights.sees_root(Path::new(path)), sees, "{path}");
        }
        let globs = rights.repositories.as_ref().unwrap();
        for (name, sees) in [
            ("acme/billing", true),
            ("tools", true),
            ("x/acme/billing", false),
            ("other/tools", false),
            ("acme", false),
        ] {
            assert_eq!(globs.match_name(name), sees, "{name}");
        }
        let stranger = Caller::new("other", CallerLimits::default());
        assert!(team.rights(None).is_err() && team.rights(Some(&stranger)).is_err());
        assert!(team.with_token_of_all(true).rights(None).is_ok_and(|rights| rights.is_none()));
        let all = parsed(&entry("")).unwrap();
        let rights = all.rights(Some(&ci)).unwrap().unwrap();
        assert!(!rights.are_restricted() && rights.sees_root(Path::new("/x")));
        assert!(TokenRegistry::default().rights(None).is_ok_and(|rights| rights.is_none()));
    }

    #[test]
    fn invalid_token_file_error_names_the_position() {
        for (text, reported) in [
            (String::new(), "no [[tokens]]"),
            ("[[tokens]]\nname = \"x\"".to_owned(), "sha256"),
            (entry("").replace("ba78", "zz78"), "sha256sum"),
            (entry("").replace("ba78", ""), "sha256sum"),
            (entry("").replace("\"ci\"", "\"a b\""), "characters"),
            (entry("").replace("\"ci\"", "\"\""), "characters"),
            (entry("repositories = []"), "names none"),
            (entry("repositories = [\"/srv\"]"), "neither a repository name"),
            (entry("repositories = [\"acme/**\"]"), "neither a repository name"),
            (entry("repositories = [\"a[\"]"), "the token \"ci\""),
            (entry("calls_at_once = 0"), "calls_at_once"),
            (entry("calls_per_minute = 0"), "calls_per_minute"),
            (entry("calls_per_minute = -1"), "calls_per_minute"),
            (entry("repository = [\"a\"]"), "repository"),
            (entry("") + &entry(""), "same secret as another"),
            (entry("") + &entry("").replace("ba78", "ba79"), "two tokens"),
        ] {
            let error = parsed(&text).err().unwrap_or_default();
            assert!(error.contains(reported), "{text}: {error}");
        }
    }

    #[test]
    fn fuzz_any_file_of_tokens_is_refused_or_lets_in_whom_it_names() {
        let seeds = forage_fuzz::seeds([
            entry("repositories = [\"acme/*\"]\ncalls_at_once = 2"),
            entry("metrics = true\ncalls_per_minute = 9"),
            String::new(),
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let Ok(team) = parsed(&String::from_utf8_lossy(input)) else { return };
            assert!(!team.tokens.is_empty() && team.tokens.len() == team.rights.len());
            assert!(team.rights(None).is_err());
            for rights in team.rights.values() {
                assert!(!rights.are_restricted() || !rights.sees_root(Path::new("/")));
            }
        });
    }
}
