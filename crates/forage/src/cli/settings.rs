//! `forage config`: what is in effect, and where it comes from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use forage_fs::{Root, RootPolicy, SecretPolicy, find_git_root};

use super::output::Terminal;
use super::records::SettingInEffect;
use super::session::load;
use super::{Global, Status};
use crate::config::{self, CommandLineSettings, Needs};

const EXAMPLES: &str = "\
Examples:
  forage config                    what is in effect, and where it comes from
  forage config --schema           the JSON Schema of the file, for editors";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
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
    let root = find_git_root(&working).unwrap_or(working);
    let policy =
        RootPolicy { home: config.home.clone(), allow_broad: config.settings.general.allow_broad_root.value };
    config.wall_in(std::slice::from_ref(&root), &Needs::default())?;
    if let Ok(root) = Root::open(&root, &policy, SecretPolicy::standard(&[])) {
        config::narrow(&mut config, &[root]);
    }
    let settings = config.describe();
    if output.wants_json() {
        let settings =
            settings.into_iter().map(|(name, value, source)| (name, SettingInEffect { value, source }));
        output.record(&settings.collect::<BTreeMap<_, _>>())?;
    } else {
        let mut text = String::new();
        let width =
            settings.iter().map(|(name, value, _)| name.len() + value.to_string().len()).max().unwrap_or(0);
        for (name, value, source) in &settings {
            let value = value.to_string();
            let pad = width - name.len() - value.len();
            writeln!(text, "{name} = {value}{:pad$}  # {source}", "")?;
        }
        output.text(&text)?;
        output.flush()?;
    }
    config.notices.iter().for_each(|notice| output.note(notice));
    Ok(Status::Found)
}
