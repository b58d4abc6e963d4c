//! Command-line options for settings, generated from the table of settings.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches};

use crate::config::{self, GivenSettings};

/// The options for settings that a command has. `COMMAND` is the command's number in
/// [`config::SettingsCommand`].
#[derive(Clone, Debug)]
pub(crate) struct SettingOptions<const COMMAND: u8> {
    pub(crate) given: GivenSettings,
    /// True if the user gave any of these options.
    pub(crate) has_any: bool,
}

impl<const COMMAND: u8> Args for SettingOptions<COMMAND> {
    fn augment_args(options: clap::Command) -> clap::Command {
        config::add_options(COMMAND, options)
    }

    fn augment_args_for_update(options: clap::Command) -> clap::Command {
        Self::augment_args(options)
    }
}

impl<const COMMAND: u8> FromArgMatches for SettingOptions<COMMAND> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options = config::add_options(COMMAND, clap::Command::new("options"));
        let is_given = |option: &clap::Arg| {
            matches.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        let has_any = options.get_arguments().any(is_given);
        Ok(Self { given: GivenSettings::read(COMMAND, matches), has_any })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
