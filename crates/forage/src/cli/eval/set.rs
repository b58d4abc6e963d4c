//! Reads, checks and writes files of query sets.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use forage_rank::evaluation::{KnownQuery, QuerySet};
use serde_json::Value;

use super::limits;
use crate::private_file;

/// Reads the sets of a file. The file contains either a list of sets or a single one.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<QuerySet>> {
    let shown = path.display();
    let bytes = bytes(path).with_context(|| format!("can't read {shown}"))?;
    let value: Value =
        serde_json::from_slice(&bytes).with_context(|| format!("{shown} is not valid JSON"))?;
    let values = match value {
        Value::Array(values) => values,
        value @ Value::Object(_) => vec![value],
        _ => bail!("{shown} contains no set of queries: it is neither an object nor a list of objects"),
    };
    let set = |(index, value): (usize, Value)| {
        let set = parse(value).with_context(|| format!("{shown}: set {} is not valid", index + 1))?;
        set.check().with_context(|| format!("{shown} can't be run"))?;
        Ok(set)
    };
    values.into_iter().enumerate().map(set).collect()
}

#[expect(clippy::disallowed_methods, reason = "a file that the person who runs the command names")]
pub(super) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limits::SET_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::SET_BYTES {
        bail!("it is over {}", forage_base::count(limits::SET_BYTES, "byte"));
    }
    Ok(bytes)
}

/// Parses a set. If a query is invalid, the error names it.
fn parse(value: Value) -> anyhow::Result<QuerySet> {
    let queries = value.get("queries").and_then(Value::as_array).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| {
        for (index, query) in queries.into_iter().enumerate() {
            if let Err(error) = serde_json::from_value::<KnownQuery>(query) {
                return anyhow::anyhow!("query {}: {error}", index + 1);
            }
        }
        error.into()
    })
}

/// Selects the sets with these names, or all sets if `names` is empty.
pub(super) fn choose(sets: Vec<QuerySet>, names: &[String]) -> anyhow::Result<Vec<QuerySet>> {
    let known = || sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = names.iter().find(|name| !sets.iter().any(|set| set.name == **name)) {
        bail!("there is no set {unknown:?} in the file; it has {}", known());
    }
    Ok(sets.into_iter().filter(|set| names.is_empty() || names.contains(&set.name)).collect())
}

/// Returns the directory of a set's checkout. The set's name must be a single path component, or it could
/// lead out of `checkouts`.
pub(super) fn checkout(checkouts: &Path, set: &QuerySet) -> anyhow::Result<PathBuf> {
    let name = Path::new(&set.name);
    let is_name = name.file_name() == Some(name.as_os_str());
    if !is_name {
        bail!(
            "can't look for the set {:?} below --checkouts: its name is not a valid directory name",
            set.name
        );
    }
    let directory = checkouts.join(name);
    if directory.is_dir() {
        Ok(directory)
    } else {
        bail!("there is no checkout of the set `{}`: {} is not a directory", set.name, directory.display())
    }
}

/// Writes a set to a new file. Commit messages may be private, so only the owner may read the file.
pub(super) fn save(path: &Path, set: &QuerySet) -> anyhow::Result<()> {
    let shown = path.display();
    let mut text = serde_json::to_string_pretty(&[set])?;
    text.push('\n');
    let written = private_file::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{shown} exists already and is not overwritten; save the set under another name")
        }
        _ => anyhow::anyhow!("can't write {shown}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn fuzz_a_set_is_refused_or_can_be_run_and_leads_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let (path, checkouts) = (directory.path().join("sets.json"), directory.path().join("checkouts"));
        std::fs::create_dir_all(checkouts.join("a")).unwrap();
        let seeds = forage_fuzz::seeds([
            r#"[{"name":"a","language":"rust","queries":[{"query":"q","relevant":["src/a.rs",{"path":"b.rs","start_line":1,"end_line":9}],"secondary":[],"category":"c"}]}]"#,
            r#"{"name":"../a","url":"u","revision":"5768e77","benchmark_root":"src","queries":[{"query":"é","relevant":["x"]}]}"#,
        ]);
        forage_fuzz::target!(&seeds, |input| {
            std::fs::write(&path, input).unwrap();
            for set in read(&path).unwrap_or_default() {
                assert!(set.check().is_ok());
                if let Ok(checkout) = checkout(&checkouts, &set) {
                    assert_eq!(checkout.parent(), Some(checkouts.as_path()), "{}", set.name);
                }
            }
        });
    }
}
