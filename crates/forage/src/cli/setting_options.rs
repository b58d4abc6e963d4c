//! Options of commands that are settings, made from the table of settings.

use clap::{ArgMatches, Args, FromArgMatches};

use crate::config::{self, GivenSettings};

/// The options that a command has for settings: the command's number in [`config::SettingsCommand`].
#[derive(Clone, Debug)]
pub(crate) struct SettingOptions<const COMMAND: u8> {
    pub(crate) given: GivenSettings,
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
        Ok(Self { given: GivenSettings::read(COMMAND, matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
