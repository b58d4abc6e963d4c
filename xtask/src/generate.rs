//! Generates files from the program, so that they always match it.

use anyhow::{Context as _, Result, bail};
use fs_err as fs;

use crate::cargo::{self, Workspace, json};
use crate::{bindings, pages, picture};

/// Writes all generated files that are not up to date.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    for (name, text) in generated(workspace)? {
        let path = workspace.path(&name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            println!("{name} is up to date");
            continue;
        }
        cargo::write(&path, text)?;
        println!("{name} was written");
    }
    Ok(())
}

/// Checks that every generated file is up to date.
pub(crate) fn compare(workspace: &Workspace) -> Result<()> {
    for (name, text) in generated(workspace)? {
        // Note that a missing file is not up to date either.
        if fs::read_to_string(workspace.path(&name)).unwrap_or_default() != text {
            bail!("{name} is not up to date; run `cargo xtask generate`");
        }
    }
    Ok(())
}

/// Generates all files. Returns their paths and texts.
fn generated(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    let mut files = pages::files(workspace)?;
    files.push(("docs/terminal.svg".to_owned(), picture::render(workspace)?));
    files.extend(bindings::files(workspace)?);
    let setup = "setup --command forage --config /dev/null --plugin-files";
    let plugin = json(&mut workspace.forage(setup)?)?;
    for (path, text) in plugin.as_object().context("`forage setup --plugin-files` prints no object")? {
        let text = text.as_str().with_context(|| format!("the text of {path} is not a string"))?;
        files.push((path.clone(), text.to_owned()));
    }
    Ok(files)
}
