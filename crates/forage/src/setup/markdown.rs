//! Lines between marks at the end of a Markdown file that people write for agents. The marks are HTML
//! comments, which are not rendered.
//!
//! Several clients may read the same file, e.g. `AGENTS.md`. The first mark therefore names the clients for
//! which the block was added, and the block is removed with the last of them. This mark ends with a checksum
//! of the lines between the marks, so that we notice lines that a user has added there and never delete them.

use super::{SetupRefusal, marked, newline, owned};

const BEGIN: &str = "<!-- forage: begin";
const END: &str = "<!-- forage: end -->";

/// Parses a mark into its clients and its checksum. Returns `None` if the line is no mark.
fn mark(line: &str) -> Option<(Vec<&str>, &str)> {
    let inner = line.trim().strip_prefix(BEGIN)?.strip_suffix("-->")?;
    let (clients, check) = inner.split_once(';').unwrap_or((inner, ""));
    Some((clients.split_whitespace().collect(), check.trim()))
}

fn find(text: &str) -> Result<Option<(marked::MarkedBlock, Vec<&str>)>, SetupRefusal> {
    let block = marked::find_between(text, (BEGIN, |line| mark(line).is_some()), END)?;
    Ok(block.map(|block| {
        let first = text[block.range.start..].lines().next().unwrap_or_default();
        (block, mark(first).unwrap_or_default().0)
    }))
}

/// Returns the lines between the marks that the user has added. `own` are the lines that Forage would write
/// now.
///
/// # Errors
///
/// Returns an error if a user changed lines that another version of Forage wrote, since we can't distinguish
/// the two.
fn lines_of_user(
    text: &str,
    found: &marked::MarkedBlock,
    own: &[String],
) -> Result<Vec<String>, SetupRefusal> {
    let first = text[found.range.start..].lines().next().unwrap_or_default();
    let is_as_written = |lines: &[String]| mark(first).is_some_and(|(_, check)| check == check_of(lines));
    if is_as_written(&found.lines) {
        return Ok(Vec::new());
    }
    let others = marked::others(&found.lines, own).filter(|_| is_as_written(own));
    // If only empty lines were added, it was a formatter.
    let is_blank = |lines: &Vec<String>| lines.iter().all(|line| line.trim().is_empty());
    others.map(|others| if is_blank(&others) { Vec::new() } else { others }).ok_or_else(|| {
        SetupRefusal::new(
            "the lines between its marks were changed after Forage wrote them; move your lines out of the marks and \
             remove the rest"
                .to_owned(),
        )
    })
}

fn check_of(lines: &[String]) -> String {
    format!("{:016x}", owned::check_value(&lines.join("\n")))
}

/// Returns true if this client has the block.
pub(super) fn has(text: &str, client: &str) -> Result<bool, SetupRefusal> {
    Ok(find(text)?.is_some_and(|(_, clients)| clients.contains(&client)))
}

/// Formats the block with its marks. The result has no final newline.
pub(super) fn block(lines: &[String], clients: &[&str], newline: &str) -> String {
    block_with(lines, &check_of(lines), clients, newline)
}

fn block_with(lines: &[String], check: &str, clients: &[&str], newline: &str) -> String {
    let begin = format!("{BEGIN} {}; {check} -->", clients.join(" "));
    let lines = [begin.as_str()].into_iter().chain(lines.iter().map(String::as_str)).chain([END]);
    lines.collect::<Vec<_>>().join(newline)
}

/// Adds the block to the text for this client.
pub(super) fn add(text: &str, lines: &[String], client: &str) -> Result<String, SetupRefusal> {
    let newline = newline(text);
    let Some((found, mut clients)) = find(text)? else {
        return marked::append_block(text, &block(lines, &[client], newline));
    };
    let is_users = !lines_of_user(text, &found, lines)?.is_empty();
    if !clients.contains(&client) {
        clients.push(client);
    }
    let shown = if is_users { &found.lines } else { lines };
    Ok(marked::replace(text, &found, &block_with(shown, &check_of(lines), &clients, newline)))
}

/// Removes the block, or keeps it for the remaining clients. `lines` are the lines that Forage would write
/// now. Returns `None` if the text equals the output of [`created`].
pub(super) fn remove(text: &str, lines: &[String], client: &str) -> Result<Option<String>, SetupRefusal> {
    let Some((found, clients)) = find(text)? else { return Ok(Some(text.to_owned())) };
    let others: Vec<&str> = clients.iter().copied().filter(|other| *other != client).collect();
    if others.len() == clients.len() {
        return Ok(Some(text.to_owned()));
    }
    let of_user = lines_of_user(text, &found, lines)?;
    let newline = newline(text);
    Ok(match (others.is_empty(), of_user.is_empty()) {
        (true, true) => marked::take_out(text, &found.range),
        (true, false) => Some(marked::replace(text, &found, &of_user.join(newline))),
        (false, is_whole) => {
            let check = check_of(if is_whole { &found.lines } else { lines });
            Some(marked::replace(text, &found, &block_with(&found.lines, &check, &others, newline)))
        }
    })
}

/// Formats a new file that contains only the block.
pub(super) fn created(lines: &[String], client: &str) -> String {
    block(lines, &[client], "\n") + "\n"
}
