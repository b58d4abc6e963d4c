//! `forage config`: prints the effective settings and their sources, as TOML.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use forage_fs::{Root, RootPolicy, SecretPolicy, find_git_root};
use forage_tools::sanitize_line;
use toml::Value;

use super::output::Terminal;
use super::records::SettingInEffect;
use super::session::load;
use super::{Global, Status};
use crate::config::{self, CommandLineSettings, DEFAULT, Needs};

const EXAMPLES: &str = "\
Examples:
  forage config                    changed values, with their sources
  forage config --all              all values, in the format of the file
  forage config --schema           the JSON Schema of the file, for editors";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Print the defaults, too
    #[arg(long)]
    all: bool,
    /// Print the JSON Schema of the configuration file, for editors
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    if arguments.schema {
        output.value(&config::schema())?;
        return Ok(Status::Found);
    }
    let mut config = load(global, CommandLineSettings::default())?;
    let working = config::working_directory()?;
    let directories = match config.settings.roots.is_empty() {
        true => vec![find_git_root(&working).unwrap_or(working)],
        false => config.own_directories(&working),
    };
    let policy = RootPolicy { home: config.home.clone(), allow_broad: config.settings.allow_broad_root };
    config.enter_sandbox(&directories, &Needs::default())?;
    let open = |root: &PathBuf| Root::open(root, &policy, SecretPolicy::standard(&[])).ok();
    let roots: Vec<_> = directories.iter().filter_map(open).collect();
    config::narrow(&mut config, &roots);
    if output.wants_json() {
        output.record(&config.describe().map(SettingInEffect::named).collect::<BTreeMap<_, _>>())?;
    } else {
        let shown = config.describe().filter(|(.., source)| arguments.all || *source != DEFAULT);
        let text = text(shown)?;
        if text.is_empty() {
            output.note("nothing differs from the defaults; `forage config --all` shows them");
        }
        output.text(&text)?;
        output.flush()?;
        if config.has_secrets() {
            output.note("secrets are left out, so these lines are not the whole configuration");
        }
    }
    config.notices.iter().for_each(|notice| output.note(notice));
    Ok(Status::Found)
}

/// Formats settings like a configuration file, with their sources in comments.
fn text<'a>(
    settings: impl Iterator<Item = (&'static str, Option<Value>, &'a str)>,
) -> Result<String, std::fmt::Error> {
    let (mut text, mut section) = (String::new(), "");
    for (key, value, source) in settings {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        if table != section {
            let space = if text.is_empty() { "" } else { "\n" };
            writeln!(text, "{space}[{table}]")?;
            section = table;
        }
        match value {
            None => writeln!(text, "# {name} is not set")?,
            Some(value) if source == DEFAULT => writeln!(text, "{name} = {value}")?,
            Some(value) => writeln!(text, "{name} = {value}  # {}", sanitize_line(source))?,
        }
    }
    Ok(text)
}
