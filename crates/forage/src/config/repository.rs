//! A repository's own `.forage.toml`. It may lower limits and exclude files, since this can only make answers
//! smaller. Any other key would let a stranger change the user's machine, so we report and ignore it.

use std::sync::Arc;

use forage_fs::{Contents, Globs, ReadBuffer, RelPath, Root};
use forage_tools::limits::TEXT_BYTES;
use toml::Value;

use super::Config;
use super::settings::{keys, row, unreadable};

const NAME: &str = ".forage.toml";
const MAX_BYTES: usize = 64 << 10;

/// Applies the file of each root.
pub(crate) fn narrow(config: &mut Config, roots: &[Arc<Root>]) {
    for root in roots {
        if let Some(text) = read(root, &mut config.notices) {
            apply(config, &text, &root.path().join(NAME).display().to_string());
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
                "{} is over {} or unreadable and is ignored",
                root.path().join(NAME).display(),
                forage_base::count(MAX_BYTES as u64, "byte")
            ));
            None
        }
    }
}

fn apply(config: &mut Config, text: &str, file: &str) {
    let found = match keys(text) {
        Ok(found) => found,
        Err(error) => {
            let problem = unreadable(text, file, &error);
            config.notices.push(format!("{problem}; the file is not valid and is ignored"));
            return;
        }
    };
    for found in found {
        let source = format!("{file}:{}", found.line(text));
        let value = found.value().ok();
        if let Some(glob) = value.as_ref().filter(|_| found.key == "search.exclude").and_then(invalid_glob) {
            config.notices.push(format!("{source}: `{}` is ignored: {glob}", found.key));
            continue;
        }
        let narrowed = value.and_then(|value| narrowed(config, &found.key, &value));
        if narrowed.is_none_or(|value| config.set(&found.key, value, &source).is_err()) {
            config.notices.push(format!(
                "{source}: `{}` is ignored: a repository may only lower limits.text_bytes, limits.timeout_ms and \
                 limits.max_file_bytes, and add to search.exclude; set it in your own configuration if you want it",
                found.key
            ));
        }
    }
}

/// Combines the value of `key` with the one that a repository requests. Returns `None` if this would not make
/// answers smaller.
fn narrowed(config: &Config, key: &str, wanted: &Value) -> Option<Value> {
    let limits = &config.settings.limits;
    let present = match key {
        "search.exclude" => return excluded(config, wanted),
        "limits.text_bytes" => Some(limits.text_bytes.unwrap_or(TEXT_BYTES) as u64),
        "limits.timeout_ms" => Some(limits.timeout_ms),
        "limits.max_file_bytes" => limits.max_file_bytes,
        _ => return None,
    };
    let wanted = wanted.as_integer().filter(|wanted| *wanted >= 0)?;
    let wanted = wanted.max(row(key)?.schema["minimum"].as_i64()?);
    present.is_none_or(|present| wanted.unsigned_abs() < present).then_some(Value::Integer(wanted))
}

/// Returns the error of the first invalid glob.
fn invalid_glob(wanted: &Value) -> Option<String> {
    let mut globs = wanted.as_array()?.iter().filter_map(Value::as_str);
    globs.find_map(|glob| Globs::new(&[glob.trim_start_matches('!')]).err())
}

fn excluded(config: &Config, wanted: &Value) -> Option<Value> {
    // A negated exclusion would bring files back.
    let valid = |glob: &Value| {
        let glob = glob.as_str().filter(|glob| !glob.starts_with('!'))?;
        Globs::new(&[format!("!{glob}")]).is_ok().then(|| glob.to_owned())
    };
    let globs = wanted.as_array()?.iter().map(valid).collect::<Option<Vec<_>>>()?;
    let mut all = config.settings.search.exclude.clone();
    all.extend(globs.into_iter().filter(|glob| !config.settings.search.exclude.contains(glob)));
    Some(all.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a repository's file contains, no limit should grow and no hidden file should become visible.
    #[test]
    fn fuzz_a_repository_only_narrows() {
        let seeds = forage_fuzz::seeds([
            "[limits]\ntext_bytes = 5000\ntimeout_ms = 900\nmax_file_bytes = 100000\n[search]\nexclude = [\"*.log\", \"dist/**\"]\n",
            "[limits]\ntimeout_ms = 99999999\nthreads = 64\n[search]\nexclude = [\"!secret\"]\nengine = \"rg\"\n[secrets]\nallow = [\"**\"]\n",
            "[tools.grep_search]\nname = \"x\"\ndescription = \"y\"\n[ask]\nprompt_file = \"/p\"\n[ask.servers.x]\ncommand = \"sh\"\n",
            "roots = [\"/\"]\nsandbox = \"off\"\n[[models]]\nprovider = \"x\"\n",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            let mut config = super::super::defaults(std::path::Path::new("/nowhere/config.toml"));
            config.set("search.exclude", vec!["own"], "the user's").unwrap();
            let before = config.clone();
            apply(&mut config, &String::from_utf8_lossy(input), ".forage.toml");
            let text_bytes = config.settings.limits.text_bytes.unwrap_or(TEXT_BYTES);
            assert!((forage_tools::limits::TEXT_BYTES_MIN..=TEXT_BYTES).contains(&text_bytes));
            assert!((100..=before.settings.limits.timeout_ms).contains(&config.settings.limits.timeout_ms));
            assert!(config.settings.search.exclude.starts_with(&before.settings.search.exclude));
            assert!(config.settings.search.exclude.iter().all(|glob| !glob.starts_with('!')));
            // All other settings must be unchanged.
            let (mut now, before) = (config.settings, before.settings);
            now.limits.text_bytes = before.limits.text_bytes;
            now.limits.timeout_ms = before.limits.timeout_ms;
            now.limits.max_file_bytes = before.limits.max_file_bytes;
            now.search.exclude = before.search.exclude.clone();
            assert_eq!(format!("{now:?}"), format!("{before:?}"));
        });
    }
}
