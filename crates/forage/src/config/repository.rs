//! A repository's own `.forage.toml`: it may lower limits and exclude files, because that can only make an answer
//! smaller. Everything else in it is somebody else's wish about the user's machine: reported and ignored.

// fuzz: fuzz_a_repository_only_narrows

use std::sync::Arc;

use forage_fs::{Contents, Globs, ReadBuffer, RelPath, Root};
use toml::{Table, Value};

use super::Config;
use super::settings::Setting;

const NAME: &str = ".forage.toml";
const MAX_BYTES: usize = 64 << 10;

/// Applies the file of each root.
pub(crate) fn narrow(config: &mut Config, roots: &[Arc<Root>]) {
    for root in roots {
        let Some(text) = read(root, &mut config.notices) else { continue };
        let source = root.path().join(NAME).display().to_string();
        match text.parse::<Table>() {
            Ok(table) => apply(config, &table, &source),
            Err(error) => {
                config.notices.push(format!("{source} is not valid and is ignored: {}", error.message()))
            }
        }
    }
}

fn read(root: &Root, notices: &mut Vec<String>) -> Option<String> {
    let path = RelPath::from_bytes(NAME.as_bytes(), &RelPath::root()).ok()?;
    let mut file = root.open_file(&path).ok()?;
    let mut text = ReadBuffer::default();
    match file.read_into(&mut text, MAX_BYTES) {
        Ok(Contents::Whole) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => {
            notices.push(format!(
                "{} is over {MAX_BYTES} bytes or unreadable and is ignored",
                root.path().join(NAME).display()
            ));
            None
        }
    }
}

fn apply(config: &mut Config, table: &Table, source: &str) {
    for (section, value) in table {
        let Some(fields) = value.as_table() else {
            ignore(config, source, section);
            continue;
        };
        for (name, value) in fields {
            let key = format!("{section}.{name}");
            let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
            let lowered = match (key.as_str(), number) {
                ("limits.text_bytes", Some(wanted)) => {
                    let least = forage_tools::limits::TEXT_BYTES_MIN;
                    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).max(least);
                    lower(&mut config.settings.limits.text_bytes, wanted, source)
                }
                ("limits.timeout_ms", Some(wanted)) => {
                    lower(&mut config.settings.limits.timeout_ms, wanted.max(100), source)
                }
                ("limits.max_file_bytes", Some(wanted)) => {
                    let lower =
                        config.settings.limits.max_file_bytes.value.is_none_or(|present| wanted < present);
                    config.settings.limits.max_file_bytes.set(lower.then_some(Some(wanted)), source);
                    lower
                }
                ("search.exclude", None) => exclude(config, value, source),
                _ => false,
            };
            if !lowered {
                ignore(config, source, &key);
            }
        }
    }
}

fn lower<T: PartialOrd + Copy>(setting: &mut Setting<T>, wanted: T, source: &str) -> bool {
    let lower = wanted < setting.value;
    setting.set(lower.then_some(wanted), source);
    lower
}

fn exclude(config: &mut Config, value: &Value, source: &str) -> bool {
    let Some(globs) = value.as_array() else { return false };
    // An exclusion of an exclusion would bring files back.
    let valid = |glob: &Value| {
        let glob = glob.as_str().filter(|glob| !glob.starts_with('!'))?;
        Globs::new(&[format!("!{glob}")]).is_ok().then(|| glob.to_owned())
    };
    let Some(globs) = globs.iter().map(valid).collect::<Option<Vec<_>>>() else { return false };
    let all = config.settings.search.exclude.value.iter().cloned().chain(globs).collect();
    config.settings.search.exclude.set(Some(all), source);
    true
}

fn ignore(config: &mut Config, source: &str, key: &str) {
    config.notices.push(format!(
        "{source}: `{key}` is ignored: a repository may only lower limits.text_bytes, limits.timeout_ms and \
         limits.max_file_bytes, and add to search.exclude; set it in your own configuration if you want it"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a repository says, nothing becomes larger, and nothing that was hidden is seen.
    #[test]
    fn fuzz_a_repository_only_narrows() {
        let seeds = forage_fuzz::seeds([
            "[limits]\ntext_bytes = 5000\ntimeout_ms = 900\nmax_file_bytes = 100000\n[search]\nexclude = [\"*.log\", \"dist/**\"]\n",
            "[limits]\ntimeout_ms = 99999999\nthreads = 64\n[search]\nexclude = [\"!secret\"]\nengine = \"rg\"\n[secrets]\nallow = [\"**\"]\n",
            "[tools.grep_search]\nname = \"x\"\ndescription = \"y\"\n[ask]\nprompt_file = \"/p\"\n[ask.servers.x]\ncommand = \"sh\"\n",
            "roots = [\"/\"]\nsandbox = \"off\"\n[[models]]\nprovider = \"x\"\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let Ok(table) = String::from_utf8_lossy(input).parse::<Table>() else { return };
            let mut config = super::super::defaults(std::path::Path::new("/nowhere/config.toml"));
            config.settings.search.exclude.set(Some(vec!["own".to_owned()]), "the user's");
            let before = config.clone();
            apply(&mut config, &table, ".forage.toml");
            assert!(config.settings.limits.text_bytes.value <= before.settings.limits.text_bytes.value);
            assert!(config.settings.limits.text_bytes.value >= forage_tools::limits::TEXT_BYTES_MIN);
            assert!(
                (100..=before.settings.limits.timeout_ms.value)
                    .contains(&config.settings.limits.timeout_ms.value)
            );
            assert!(config.settings.search.exclude.value.starts_with(&before.settings.search.exclude.value));
            assert!(config.settings.search.exclude.value.iter().all(|glob| !glob.starts_with('!')));
            // All else is as it was.
            let (mut now, before) = (config.settings, before.settings);
            now.limits.text_bytes = before.limits.text_bytes.clone();
            now.limits.timeout_ms = before.limits.timeout_ms.clone();
            now.limits.max_file_bytes = before.limits.max_file_bytes.clone();
            now.search.exclude = before.search.exclude.clone();
            assert_eq!(format!("{now:?}"), format!("{before:?}"));
        });
    }
}
