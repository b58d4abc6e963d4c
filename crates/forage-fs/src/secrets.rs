//! Denies access to files that contain secrets, by their names. Such files are never opened for any tool.

use std::path::Path;

use crate::quoting::needs_escape;
use crate::rel_path::RelPath;

/// Names of files that contain credentials. We compare them in lower case, so that a case-insensitive file
/// system is no loophole.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // Environments, and histories of shells and similar tools.
    ".env", ".envrc", ".bash_history", ".zsh_history", ".sh_history", ".psql_history", ".mysql_history", ".python_history",
    ".irb_history", ".node_repl_history", ".rediscli_history", ".sqlite_history", "fish_history", ".ksh_history", ".ash_history",
    // Credentials of client programs.
    ".git-credentials", ".gitcookies", ".htpasswd", "htpasswd", ".netrc", "_netrc", ".authinfo", ".npmrc", ".pypirc", ".pgpass",
    "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".terraformrc", "terraform.rc",
    ".smbcredentials", ".ftpconfig", "sftp-config.json", ".remote-sync.json", ".msmtprc", ".esmtprc", ".fetchmailrc", "rclone.conf",
    "filezilla.xml", "recentservers.xml", "sitemanager.xml", ".tugboat", "accesstokens.json", "access_tokens.db", ".credentials",
    "credentials", "kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "kube.config", ".databrickscfg", ".sentryclirc", ".claude.json",
    "kaggle.json", "logins.json", "key3.db", "key4.db", "passwords.txt", "passwords.csv", "password.txt",
    // Keys and passwords that unlock other secrets.
    ".vault-token", ".vault_pass", ".vault_pass.txt", ".vault-pass", ".vault-password", "vault_pass.txt", "vault-password.txt",
    "master.key", "wallet.dat", "secring.gpg", "secring.pgp", "secring.asc", "private.asc", "private.pgp", "service-account.json",
    "serviceaccount.json", "service_account.json", "gcloud-service-key.json", "serviceaccountkey.json", "service-account-key.json",
    "service_account_key.json", "terraform.tfvars", "deploy_key", "deploy-key", "keystore.properties", "key.properties",
];

/// Ends of the names of files that contain keys, or state with secrets.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    ".pem", ".key", ".p8", ".p12", ".pkcs12", ".pfx", ".jks", ".keystore", ".kdb", ".kdbx", ".ppk", ".agekey", ".ovpn", ".bek",
    ".tfstate", ".tfstate.backup", ".tfplan", ".tfvars", ".tfvars.json", ".env", ".kubeconfig",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ed25519_sk", "id_ecdsa_sk", "_rsa", "_ed25519", ".jceks", ".bks", ".keytab",
    ".publishsettings",
];

/// Prefixes of private key names: `id_rsa_work`, `id_ed25519.deploy`.
const KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// Extensions of files that begin like [`KEYS`] but are not keys: the public half, and text about keys.
const NO_KEYS: &[&str] = &[
    ".pub", ".rs", ".go", ".py", ".js", ".ts", ".c", ".h", ".cc", ".cpp", ".java", ".rb", ".php", ".sh",
    ".md", ".rst", ".adoc", ".html",
];

/// Words in the names of data files with secrets: `secrets.yml`, `prod-secrets.json`, `credentials.prod.ini`,
/// `client_secret_1.json`.
const PURPOSES: &[&str] = &["secrets", "credentials", "creds", "client_secret", "client-secret", "adminsdk"];

/// Extensions of data files. A source file with such a name handles secrets but does not contain them. The
/// manifest of a single secret (`secret.yaml`) is usually a template, so we detect secrets in it by its
/// content.
const DATA: &[&str] = &[
    ".yml",
    ".yaml",
    ".json",
    ".toml",
    ".ini",
    ".properties",
    ".xml",
    ".conf",
    ".cfg",
    ".csv",
    ".txt",
    ".plist",
    ".db",
];

/// Suffixes of `app.env`: `app.env.local`.
const ENVIRONMENTS: &[&str] =
    &[".local", ".prod", ".production", ".dev", ".development", ".staging", ".test"];

/// Suffixes that editors, people and programs append to the name of a copy.
const COPIES: &[&str] = &[
    "~",
    ".bak",
    ".old",
    ".orig",
    ".save",
    ".swp",
    ".swo",
    ".tmp",
    ".backup",
    ".copy",
    "_backup",
    "-backup",
    "_old",
    "-old",
    "_bak",
    ".rpmsave",
    ".dpkg-old",
    ".1",
    ".2",
];

/// Names of directories, each with the name of the file that is denied below it. An empty name means all
/// files.
const BELOW: &[(&str, &str)] = &[
    (".ssh", ""),
    (".gnupg", ""),
    (".password-store", ""),
    (".aws", "credentials"),
    (".aws", "config"),
    (".azure", "msal_token_cache.json"),
    (".codex", "auth.json"),
    (".composer", "auth.json"),
    (".dbt", "profiles.yml"),
    (".gemini", "oauth_creds.json"),
    (".huggingface", "token"),
    (".mc", "config.json"),
    (".ngrok2", "ngrok.yml"),
    (".oci", "config"),
    (".subversion", ""),
    (".vnc", "passwd"),
    ("glab-cli", "config.yml"),
    ("huggingface", "token"),
    ("opencode", "auth.json"),
    (".docker", "config.json"),
    (".kube", "config"),
    (".m2", "settings.xml"),
    (".m2", "settings-security.xml"),
    (".config", "hub"),
    ("gh", "hosts.yml"),
    ("gcloud", "application_default_credentials.json"),
    ("gcloud", "credentials.db"),
];

/// Words in the names of samples without secrets.
const SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];

/// Decides by name which files must never be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPolicy {
    allowed: Vec<String>,
    off: bool,
    /// The entries of [`BELOW`] whose directory is or contains the root.
    around: Vec<(&'static str, &'static str)>,
}

impl SecretPolicy {
    /// Creates the built-in rules, except for the file names and paths in `allowed`. We compare these with
    /// the whole name and the whole path, ignoring case.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_fs::{RelPath, SecretPolicy};
    ///
    /// let path = RelPath::parse("deploy/.env", &RelPath::root())?;
    /// assert!(SecretPolicy::standard(&[]).denies(&path).is_some());
    /// assert!(SecretPolicy::standard(&["deploy/.env".to_owned()]).denies(&path).is_none());
    /// # Ok::<(), forage_fs::RelPathError>(())
    /// ```
    pub fn standard(allowed: &[String]) -> Self {
        Self { allowed: allowed.iter().map(|name| name.to_lowercase()).collect(), ..Self::default() }
    }

    /// Creates a policy without rules, for tests that show the effect of the rules.
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// Adapts the rules to paths below `root`, which do not include the root's own path.
    pub(crate) fn relative_to(mut self, root: &Path) -> Self {
        let in_directory = |(directory, _): &&(&str, &str)| {
            root.iter().any(|name| name.to_string_lossy().eq_ignore_ascii_case(directory))
        };
        self.around = BELOW.iter().filter(in_directory).copied().collect();
        self
    }

    /// Returns the rule that denies access to `path`, if there is one. `path` must be the resolved path of
    /// the file. We call this for every file of a walk, so it allocates only if a file is about to be denied.
    pub fn denies(&self, path: &RelPath) -> Option<&'static str> {
        self.denies_bytes(path.as_bytes())
    }

    /// Like [`SecretPolicy::denies`], for the bytes of a path.
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
        // Few names pass the fast check, but the directories matter for every name.
        let rule = if may_be_secret(name) { closing_rule(parents, name) } else { below(parents, name) };
        let rule = rule.or_else(|| self.below_root(name))?;
        let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase();
        let allowed = [lower(name), lower(path)];
        (!self.allowed.iter().any(|entry| allowed.contains(entry))).then_some(rule)
    }
}

impl SecretPolicy {
    /// Returns true if the names alone decide about the files in a directory: we can then allow all for which
    /// [`may_be_secret`] returns false.
    pub(crate) fn names_decide_in(&self, directory: &[u8]) -> bool {
        let closes = |parent: &[u8]| BELOW.iter().any(|entry| is_below(entry, parent));
        directory.is_ascii() && self.around.is_empty() && !directory.split(|&b| b == b'/').any(closes)
    }

    fn below_root(&self, name: &[u8]) -> Option<&'static str> {
        let rule = |(_, file): &&(&str, &str)| file.is_empty() || name.eq_ignore_ascii_case(file.as_bytes());
        self.around.iter().find(rule).map(|(directory, _)| *directory)
    }
}

/// Folds a path like file systems that compare names with Unicode folding. For example, `ſ` becomes an s and
/// the Kelvin sign a k, and invisible characters are removed.
fn folded(path: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(path);
    let shown: String = text.chars().filter(|&c| !needs_escape(c)).collect();
    let folded = shown.to_uppercase().to_lowercase();
    RelPath::from_bytes(folded.as_bytes(), &RelPath::root())
        .map_or_else(|_| path.to_vec(), |folded| folded.as_bytes().to_vec())
}

/// Removes trailing dots and spaces, as some file systems do.
fn trimmed(name: &[u8]) -> &[u8] {
    let kept = name.iter().rposition(|b| !matches!(b, b'.' | b' ')).map_or(0, |last| last + 1);
    &name[..kept]
}

fn ends_with(name: &[u8], ending: &str) -> bool {
    // We compare backwards, because the last letter rules out nearly all names.
    name.len() >= ending.len()
        && name.iter().rev().zip(ending.bytes().rev()).all(|(a, b)| a.eq_ignore_ascii_case(&b))
}

/// Finds the rule that denies a file with this name below these directories.
fn closing_rule(parents: &[u8], name: &[u8]) -> Option<&'static str> {
    name_rule(name)
        .or_else(|| name_rule(original(name)))
        .or_else(|| below(parents, name))
        .or_else(|| below(parents, original(name)))
}

/// Finds the rule that denies files with this name in any directory.
fn name_rule(name: &[u8]) -> Option<&'static str> {
    let is_named = NAMES.iter().find(|secret| name.eq_ignore_ascii_case(secret.as_bytes()));
    let ends = || ENDINGS.iter().find(|ending| ends_with(name, ending)).filter(|_| !is_sample(name));
    is_named
        .or_else(ends)
        .copied()
        .or_else(|| key_rule(name))
        .or_else(|| env_rule(name))
        .or_else(|| purpose_rule(name))
}

/// Derives the name of the original if this is the name of a copy. Otherwise returns the name itself.
fn original(name: &[u8]) -> &[u8] {
    let mut name = name;
    // This handles `#name#` of Emacs, `.name.swp` of Vim, and copies of copies.
    if let [b'#', inner @ .., b'#'] = name {
        name = inner;
    }
    while let Some(copy) = COPIES.iter().find(|copy| ends_with(name, copy) && copy.len() < name.len()) {
        name = &name[..name.len() - copy.len()];
        // For example `terraform.tfstate.1234567.backup` of Terraform.
        let numbered = name.iter().rposition(|byte| !byte.is_ascii_digit()).filter(|&dot| name[dot] == b'.');
        name = numbered.filter(|&dot| 0 < dot && dot + 1 < name.len()).map_or(name, |dot| &name[..dot]);
        if let (".swp" | ".swo", [b'.', hidden @ ..]) = (*copy, name)
            && name_rule(hidden).is_some()
        {
            name = hidden;
        }
    }
    name
}

fn key_rule(name: &[u8]) -> Option<&'static str> {
    let begins =
        |key: &&&str| name.get(..key.len()).is_some_and(|head| head.eq_ignore_ascii_case(key.as_bytes()));
    let key = KEYS.iter().find(begins)?;
    (!NO_KEYS.iter().any(|ending| ends_with(name, ending)) && !is_sample(name)).then_some(key)
}

/// Matches `.env.production`, `.env-local`, `app.env.local`.
fn env_rule(name: &[u8]) -> Option<&'static str> {
    let is_env = |at: usize| name.get(at..at + 4).is_some_and(|env| env.eq_ignore_ascii_case(b".env"));
    let parted = |at: usize| matches!(name.get(at + 4), Some(b'.' | b'-' | b'_'));
    let at = memchr::memchr_iter(b'.', name).find(|at| is_env(*at) && parted(*at))?;
    // After another name, only the usual suffixes count: `parser.env.rs` is source code.
    (!is_sample(name) && (at == 0 || ENVIRONMENTS.iter().any(|end| ends_with(name, end)))).then_some(".env.*")
}

fn purpose_rule(name: &[u8]) -> Option<&'static str> {
    if !DATA.iter().any(|ending| ends_with(name, ending)) || is_sample(name) {
        return None;
    }
    PURPOSES.iter().copied().find(|purpose| has_word(name, purpose))
}

/// Returns true if the name says that the file is a sample.
fn is_sample(name: &[u8]) -> bool {
    SAMPLES.iter().any(|word| has_word(name, word))
}

/// Returns true if the name contains the word without adjacent letters.
fn has_word(name: &[u8], word: &str) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    name.windows(word.len()).enumerate().any(|(at, window)| {
        window.eq_ignore_ascii_case(word.as_bytes())
            && !is_letter(at.checked_sub(1).and_then(|before| name.get(before)))
            && !is_letter(name.get(at + word.len()))
    })
}

fn below(parents: &[u8], name: &[u8]) -> Option<&'static str> {
    let parents = parents.split(|&b| b == b'/').filter(|name| !name.is_empty());
    // All directories of the table begin with one of these.
    parents.filter(|parent| matches!(parent[0], b'.' | b'g' | b'G' | b'h' | b'H' | b'o' | b'O')).find_map(
        |parent| {
            let (directory, _) = BELOW.iter().find(|entry @ (_, file)| {
                is_below(entry, parent) && (file.is_empty() || name.eq_ignore_ascii_case(file.as_bytes()))
            })?;
            Some(*directory)
        },
    )
}

/// Returns true if an entry of [`BELOW`] refers to a directory with this name.
fn is_below((directory, _): &(&str, &str), parent: &[u8]) -> bool {
    trimmed(parent).eq_ignore_ascii_case(directory.as_bytes())
}

/// Returns true if a file's name may be denied. This is a fast check without false negatives and with few
/// false positives.
pub(crate) fn may_be_secret(name: &[u8]) -> bool {
    match name {
        // `.env.*`, `id_rsa_work`, and names that `trimmed` and `original` change.
        [b'.' | b'#', ..] | [.., b'.' | b' ' | b'~' | b'1' | b'2'] | [b'i' | b'I', b'd' | b'D', b'_', ..] => {
            true
        }
        [.., a, b, c] => is_last(bucket([*a, *b, *c])) || !name.is_ascii(),
        _ => true,
    }
}

/// The buckets of the last three bytes of all names and suffixes that deny a file or a copy of one, or may do
/// so.
const LAST_BYTES: [u64; BUCKETS / 64] = {
    let mut buckets = [0; BUCKETS / 64];
    let tables = [NAMES, ENDINGS, DATA, COPIES, ENVIRONMENTS];
    let mut table = 0;
    // A constant can't use `for` or iterators.
    while table < tables.len() {
        let mut at = 0;
        while at < tables[table].len() {
            let name = tables[table][at];
            // `~`, `.1` and `.2` are recognized by their last byte.
            if name.len() > 2
                && let Some(last) = name.as_bytes().last_chunk()
            {
                let bucket = bucket(*last);
                buckets[bucket / 64] |= 1 << (bucket % 64);
            }
            at += 1;
        }
        table += 1;
    }
    buckets
};

fn is_last(bucket: usize) -> bool {
    LAST_BYTES[bucket / 64] >> (bucket % 64) & 1 == 1
}

/// Five bits for each of three bytes.
const BUCKETS: usize = 1 << 15;

/// Maps upper-case and lower-case letters to the same bucket, and different triples of letters to different
/// buckets.
const fn bucket([a, b, c]: [u8; 3]) -> usize {
    ((a & 31) as usize) << 10 | ((b & 31) as usize) << 5 | (c & 31) as usize
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
    fn denies_secrets_and_allows_samples() {
        #[rustfmt::skip]
        let closed = [
            ".env", ".env~", ".env.local", ".env-prod", ".env_prod", ".env.bak", ".env.production.old", "prod.env",
            "app.env", "app.env.local", ".envrc", ".envrc.bak", "id_rsa", "id_rsa.bak", "id_rsa~", "id_rsa_work",
            "id_rsa.old", "deploy_id_rsa", "id_ed25519", "id_ed25519_github", "id_ecdsa.orig", "id_dsa.1", "#id_rsa#",
            ".id_rsa.swp", "server.pem", "server.pem.bak", "my-key.pem", "key.p8", "AuthKey_AB12CD34EF.p8",
            "cert.p12", "cert.pfx", "store.jks", "release.keystore", "vault.kdbx", "vault.kdb", "putty.ppk",
            "putty.ppk.bak", "tls.key", "tls.key.old", "client.ovpn", "prod.tfvars", "terraform.tfvars",
            "prod.auto.tfvars", "prod.tfvars.json", "infra.tfstate", "infra.tfstate.backup", "infra.tfstate.1",
            "plan.tfplan", ".netrc", ".netrc~", "_netrc", ".npmrc", ".npmrc.bak", ".pypirc", ".pgpass", "pgpass.conf",
            ".my.cnf", ".mylogin.cnf", ".git-credentials", ".git-credentials~", ".gitcookies", ".htpasswd",
            "htpasswd", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".terraformrc", ".smbcredentials",
            ".authinfo", ".msmtprc", "rclone.conf", "rclone.conf.bak", "filezilla.xml", "sitemanager.xml",
            "sftp-config.json", ".vault-token", ".vault_pass", ".vault_pass.txt", "vault-password.txt", "master.key",
            "master.key.bak", "wallet.dat", "secring.gpg", "private.asc", "service-account.json",
            "service_account.json", "serviceaccount.json", "gcloud-service-key.json", "kubeconfig", "prod.kubeconfig",
            "kubeconfig.bak", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.ini",
            "secrets.properties", "secrets.xml", "secrets.prod.yml", "secrets-prod.yaml", "prod-secrets.json",
            "db_secrets.yml", "secrets.yml~", "secrets.yml.bak", "credentials", "credentials.json", "credentials.yml",
            "credentials.ini", "credentials.csv", "credentials.xml", "credentials.toml", "aws_credentials.json",
            "aws-credentials.txt", "google-credentials.json", "credentials.json.old", "creds.json", "prod-creds.yml",
            "client_secret.json", "client_secret_12345.apps.json", "client-secret.json",
            "app-firebase-adminsdk-x1y2.json", ".credentials", ".bash_history", ".zsh_history", ".psql_history",
            ".mysql_history", ".python_history", ".node_repl_history", ".aws/credentials", ".aws/credentials.bak",
            ".docker/config.json", ".docker/config.json.bak", ".kube/config", ".kube/config~", ".m2/settings.xml",
            ".config/hub", "gh/hosts.yml", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
            "gcloud/application_default_credentials.json", "gcloud/credentials.db", ".ssh/known_hosts", ".ssh/config",
            ".gnupg/ring", ".password-store/x.gpg", "accessTokens.json", "access_tokens.db", ".tugboat",
            ".remote-sync.json", ".ftpconfig", ".fetchmailrc", "backup.key", "server.key_old", "server.pem-old",
            ".codex/auth.json", ".config/opencode/auth.json", ".claude.json", ".aws/config", ".databrickscfg",
            ".huggingface/token", ".cache/huggingface/token", "kaggle.json", "kubeconfig.yaml", "kubeconfig.yml",
            "deploy_key", "github_rsa", "github_ed25519", "serviceAccountKey.json", "service-account-key.json",
            ".composer/auth.json", ".dbt/profiles.yml", ".sentryclirc", "terraform.tfstate.1234.backup",
            ".azure/msal_token_cache.json", ".gemini/oauth_creds.json", ".mc/config.json", ".ngrok2/ngrok.yml",
            ".oci/config", ".subversion/auth/svn.simple/ab12", ".vnc/passwd", ".config/glab-cli/config.yml",
            "fish_history", ".ksh_history", "logins.json", "key4.db", "passwords.txt", "passwords.csv", "password.txt",
            "keystore.properties", "key.properties", "app.jceks", "app.bks", "http.keytab", "shop.publishsettings",
            "deploy.key.save", ".pgpass.save", ".netrc.orig", "prod.env.bak", "terraform.tfvars.old", "a/.ENV",
            ".Env.Prod", "deploy/id_rsa", "x/server.pem", "tls.KEY", "infra/prod.tfstate", "a/.SSH/b", ".env.",
        ];
        let open: Vec<_> = closed.into_iter().filter(|path| !denied(path)).collect();
        assert!(open.is_empty(), "{} of {} are open: {open:?}", open.len(), closed.len());
        #[rustfmt::skip]
        let open = [
            ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.production.example", "example.env",
            "sample.env", "env.example", ".envrc.example", "secrets.rs", "secrets.py", "secrets.go", "secrets.ts",
            "Secrets.java", "credentials.rs", "credentials.go", "credentials.py", "credential.md", "creds.go",
            "password.c", "passwords.rb", "tokens.rs", "token.json", "keys.rs", "key", "monkey", "keyboard.json",
            "id_rsa.pub", "id_ed25519.pub", "id_rsa_test.go", "id_rsa.md", "id_generator.rs", "id_map.c",
            "secrets.example.yml", "secrets.sample.json", "credentials.template.toml", "secrets.yml.example",
            "terraform.tfvars.example", "example.tfvars", "secret.yaml", "secret.md", "secretary.yml", "config.json",
            "config.yml", "settings.json", "settings.xml", "package.json", "hosts.yml", "hub", "main.rs", "main.rs~",
            "notes.txt.bak", "environment.py", "env.rs", "parser.env.rs", "env_logger.toml", "pem.c",
            "README.md.orig", "docs.1", "lib.so.2", "a.tmp", "tfvars.md", "shadow.css", "known_hosts.md",
            "history.md", "accredentials.json", "discreds.yml", "src/credentials.rs", ".ssh_config_docs.md", "config",
            "docker/config.json", "locales/en/auth.json", "config/credentials.yml.enc", "lib.rs.1234.backup", "src/_rsa.c",
            "opencode/main.go", "huggingface/tokenizer.json", "password_reset.txt", "gradle.properties",
            ".aws/task-definition.json", "google-services.json", "tokens.json", ".yarnrc.yml", "pip.conf",
        ];
        let closed: Vec<_> = open.into_iter().filter(|path| denied(path)).collect();
        assert!(closed.is_empty(), "closed: {closed:?}");
    }

    #[test]
    fn user_can_allow_by_name_or_path() {
        let policy = SecretPolicy::standard(&["tests/ca.pem".to_owned(), ".npmrc".to_owned()]);
        let open = |path: &str| policy.denies(&RelPath::parse(path, &RelPath::root()).unwrap()).is_none();
        assert!(open("tests/CA.pem") && open("web/.npmrc") && !open("other/ca.pem"));
    }

    proptest! {
        /// The fast check never misses a file that the rules deny.
        #[test]
        fn fast_check_misses_no_secret(
            directory in prop::sample::select(vec!["", "src/", "src/.ssh/", "a/.GnuPG/", "src/.\u{17f}sh/"]),
            words in prop::collection::vec(
                prop::sample::select([
                    NAMES, ENDINGS, KEYS, NO_KEYS, PURPOSES, DATA, COPIES, SAMPLES, ENVIRONMENTS,
                    &[".env.", ".local", "a", "K", "ſ", "\u{200b}", ".", " ", "config", "#", "-", "_", ".1"],
                ].concat()),
                1..4,
            ),
            upper in any::<u64>(),
        ) {
            let flip = |(at, c): (usize, char)| if upper >> (at % 64) & 1 == 1 { c.to_ascii_uppercase() } else { c };
            let name: String = words.concat().chars().enumerate().map(flip).collect();
            for policy in [SecretPolicy::standard(&[]), SecretPolicy::standard(&[]).relative_to(Path::new("/home/.ssh"))] {
                let is_passed = policy.names_decide_in(directory.trim_end_matches('/').as_bytes())
                    && !may_be_secret(name.as_bytes());
                let path = [directory, &name].concat();
                let (parents, name) = (directory.as_bytes(), trimmed(name.as_bytes()));
                prop_assert!(may_be_secret(name) || closing_rule(parents, name) == below(parents, name), "{}", path);
                prop_assert!(!is_passed || policy.denies_bytes(path.as_bytes()).is_none(), "{}", path);
            }
        }
    }

    #[test]
    fn fast_check_passes_most_names() {
        let names = ["main.rs", "Makefile", "core.c", "page.h", "index.js", "README.md", "lib.py", "Kbuild"];
        assert!(names.iter().all(|name| !may_be_secret(name.as_bytes())));
    }
}
