//! Files that hold secrets by their name are never opened, whatever asks for them.

use std::path::Path;

use crate::rel_path::{RelPath, needs_escape};

/// Names of files that hold credentials. Compared in lower case, so that a file system that ignores case
/// gives no way around them.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    ".vault_pass",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "kubeconfig",
    "master.key",
    "service-account.json",
    "terraform.tfvars",
];

/// Endings of files that hold keys or state with secrets in it.
const ENDINGS: &[&str] =
    &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfstate", ".tfstate.backup"];

/// Directories whose files are all closed, and single files below a directory of a given name.
const BELOW: &[(&str, &str)] = &[
    (".ssh", ""),
    (".gnupg", ""),
    (".aws", "credentials"),
    (".docker", "config.json"),
    (".kube", "config"),
    ("gcloud", "application_default_credentials.json"),
];

/// Endings of `.env.*` that are samples without secrets.
const ENV_SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];

/// Decides by name which files are never opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPolicy {
    allowed: Vec<String>,
    off: bool,
    /// The entries of [`BELOW`] whose directory the root lies in, or is.
    around: Vec<(&'static str, &'static str)>,
}

impl SecretPolicy {
    /// The built-in rules, less the file names and paths in `allowed` (exact, compared in lower case).
    pub fn standard(allowed: &[String]) -> Self {
        Self { allowed: allowed.iter().map(|name| name.to_lowercase()).collect(), ..Self::default() }
    }

    /// No rule at all: for tests that show what the rules keep closed.
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// The same rules for paths below `root`, whose own path they do not hold.
    pub(crate) fn beneath(mut self, root: &Path) -> Self {
        let in_directory = |(directory, _): &&(&str, &str)| {
            root.iter().any(|name| name.to_string_lossy().eq_ignore_ascii_case(directory))
        };
        self.around = BELOW.iter().filter(in_directory).copied().collect();
        self
    }

    /// The rule that keeps `path` closed, if one does. `path` must be the file's own, with links resolved.
    /// Asked for every file of a walk: it allocates only for a file that is about to be refused.
    pub fn denies(&self, path: &RelPath) -> Option<&'static str> {
        self.denies_bytes(path.as_bytes())
    }

    /// As [`SecretPolicy::denies`], for the bytes of a path.
    pub(crate) fn denies_bytes(&self, path: &[u8]) -> Option<&'static str> {
        if self.off {
            return None;
        }
        if !path.is_ascii() {
            let folded = folded(path);
            if folded != *path
                && let Some(rule) = self.denies_bytes(&folded)
            {
                return Some(rule);
            }
        }
        let (parents, name) = path.split_at(memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1));
        let name = trimmed(name);
        let rule = NAMES
            .iter()
            .find(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
            .or_else(|| ENDINGS.iter().find(|ending| ends_with(name, ending)))
            .copied()
            .or_else(|| env_rule(name))
            .or_else(|| below(parents, name))
            .or_else(|| self.below_root(name))?;
        let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase();
        let allowed = [lower(name), lower(path)];
        (!self.allowed.iter().any(|entry| allowed.contains(entry))).then_some(rule)
    }
}

impl SecretPolicy {
    /// Whether the names of the files in a directory say all about most of them: those that [`may_be_secret`] does not
    /// stop at are open.
    pub(crate) fn names_decide_in(&self, directory: &[u8]) -> bool {
        let closes = |parent: &[u8]| BELOW.iter().any(|entry| is_below(entry, parent));
        directory.is_ascii() && self.around.is_empty() && !directory.split(|&b| b == b'/').any(closes)
    }

    fn below_root(&self, name: &[u8]) -> Option<&'static str> {
        let rule = |(_, file): &&(&str, &str)| file.is_empty() || name.eq_ignore_ascii_case(file.as_bytes());
        self.around.iter().find(rule).map(|(directory, _)| *directory)
    }
}

/// The path as file systems that compare names by Unicode folding see it: `ſ` is an s, the Kelvin sign a k, and
/// characters that show nothing are not there.
fn folded(path: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(path);
    let shown: String = text.chars().filter(|&c| !needs_escape(c)).collect();
    let folded = shown.to_uppercase().to_lowercase();
    RelPath::from_bytes(folded.as_bytes(), &RelPath::root())
        .map_or_else(|_| path.to_vec(), |folded| folded.as_bytes().to_vec())
}

/// Without the trailing dots and spaces that some file systems drop.
fn trimmed(name: &[u8]) -> &[u8] {
    let kept = name.iter().rposition(|b| !matches!(b, b'.' | b' ')).map_or(0, |last| last + 1);
    &name[..kept]
}

fn ends_with(name: &[u8], ending: &str) -> bool {
    // From behind: the last letter tells nearly all names apart.
    name.len() >= ending.len()
        && name.iter().rev().zip(ending.bytes().rev()).all(|(a, b)| a.eq_ignore_ascii_case(&b))
}

fn env_rule(name: &[u8]) -> Option<&'static str> {
    let kind = name.get(5..)?;
    let env = name[..4].eq_ignore_ascii_case(b".env") && matches!(name[4], b'.' | b'-');
    let last = kind.rsplit(|b| matches!(b, b'.' | b'-')).next().unwrap_or_default();
    let sample = ENV_SAMPLES.iter().any(|word| last.eq_ignore_ascii_case(word.as_bytes()));
    (env && !sample).then_some(".env.*")
}

fn below(parents: &[u8], name: &[u8]) -> Option<&'static str> {
    let parents = parents.split(|&b| b == b'/').filter(|name| !name.is_empty());
    // All directories of the table begin with one of these two letters.
    parents.filter(|parent| matches!(parent[0], b'.' | b'g' | b'G')).find_map(|parent| {
        let (directory, _) = BELOW.iter().find(|entry @ (_, file)| {
            is_below(entry, parent) && (file.is_empty() || name.eq_ignore_ascii_case(file.as_bytes()))
        })?;
        Some(*directory)
    })
}

/// Whether an entry of [`BELOW`] is about a directory of this name.
fn is_below((directory, _): &(&str, &str), parent: &[u8]) -> bool {
    trimmed(parent).eq_ignore_ascii_case(directory.as_bytes())
}

/// Whether a file's name may be one that closes it: cheap, never wrong about one that does, seldom about others.
pub(crate) fn may_be_secret(name: &[u8]) -> bool {
    match name {
        // `.env.*`, and what `trimmed` changes.
        [b'.', ..] | [.., b'.' | b' '] => true,
        [.., a, b, c] => LAST_BYTES[bucket([*a, *b, *c])] || !name.is_ascii(),
        _ => true,
    }
}

/// In which buckets the last three bytes of [`NAMES`] and [`ENDINGS`] are.
const LAST_BYTES: [bool; 256] = {
    let mut buckets = [false; 256];
    let mut at = 0;
    while at < NAMES.len() + ENDINGS.len() {
        let name = if at < NAMES.len() { NAMES[at] } else { ENDINGS[at - NAMES.len()] };
        assert!(name.len() > 2);
        if let Some(last) = name.as_bytes().last_chunk() {
            buckets[bucket(*last)] = true;
        }
        at += 1;
    }
    buckets
};

/// The same for capital letters as for small ones. With this factor four of a hundred names of source trees share a bucket
/// with a secret's.
const fn bucket([a, b, c]: [u8; 3]) -> usize {
    const FACTOR: u8 = 143;
    let head = (a | 0x20).wrapping_mul(FACTOR) ^ (b | 0x20);
    (head.wrapping_mul(FACTOR) ^ (c | 0x20)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn denied(path: &str) -> bool {
        let path = RelPath::parse(path, &RelPath::root()).unwrap();
        SecretPolicy::standard(&[]).denies(&path).is_some()
    }

    #[test]
    fn closes_secrets_and_leaves_samples_open() {
        for path in [
            ".env",
            "a/.ENV",
            ".env.local",
            ".env.production",
            ".Env.Prod",
            "deploy/id_rsa",
            "x/server.pem",
            "tls.KEY",
            ".npmrc",
            "infra/prod.tfstate",
            "home/.aws/credentials",
            ".kube/config",
            ".ssh/known",
            "a/.SSH/b",
            ".env.",
            "terraform.tfvars",
            "app/.gnupg/ring",
            "service-account.json",
            "gcloud/application_default_credentials.json",
        ] {
            assert!(denied(path), "{path} is open");
        }
        for path in [
            ".env.example",
            ".env.local.sample",
            "env.rs",
            "environment.py",
            "keys.rs",
            "monkey",
            "src/credentials.rs",
            ".ssh_config_docs.md",
            "config",
            "docker/config.json",
            "pem.c",
            "id_rsa.pub",
            "key",
            "src/tokens.rs",
        ] {
            assert!(!denied(path), "{path} is closed");
        }
    }

    #[test]
    fn the_user_can_open_a_file_by_name_or_path() {
        let policy = SecretPolicy::standard(&["tests/ca.pem".to_owned(), ".npmrc".to_owned()]);
        let open = |path: &str| policy.denies(&RelPath::parse(path, &RelPath::root()).unwrap()).is_none();
        assert!(open("tests/CA.pem") && open("web/.npmrc") && !open("other/ca.pem"));
    }

    proptest! {
        /// What is asked for most files says no less than the rules.
        #[test]
        fn the_short_question_stops_at_every_secret(
            directory in prop::sample::select(vec!["", "src/", "src/.ssh/", "a/.GnuPG/", "src/.\u{17f}sh/"]),
            words in prop::collection::vec(
                prop::sample::select([NAMES, ENDINGS, &[".env.", "a", "K", "ſ", "\u{200b}", ".", " ", "config"]].concat()),
                1..4,
            ),
            upper in any::<u64>(),
        ) {
            let flip = |(at, c): (usize, char)| if upper >> (at % 64) & 1 == 1 { c.to_ascii_uppercase() } else { c };
            let name: String = words.concat().chars().enumerate().map(flip).collect();
            for policy in [SecretPolicy::standard(&[]), SecretPolicy::standard(&[]).beneath(Path::new("/home/.ssh"))] {
                let is_passed = policy.names_decide_in(directory.trim_end_matches('/').as_bytes())
                    && !may_be_secret(name.as_bytes());
                let path = [directory, &name].concat();
                prop_assert!(!is_passed || policy.denies_bytes(path.as_bytes()).is_none(), "{}", path);
            }
        }
    }

    #[test]
    fn the_short_question_passes_most_names() {
        let names = ["main.rs", "Makefile", "core.c", "page.h", "index.js", "README.md", "lib.py", "Kbuild"];
        assert!(names.iter().all(|name| !may_be_secret(name.as_bytes())));
    }
}
