//! Options of commands that are settings, made from the table of settings.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, FromArgMatches};

use crate::config::{self, GivenSettings, SettingsCommand};

/// The options that a command has for settings.
#[derive(Debug)]
pub(crate) struct SettingOptions<C> {
    pub(crate) given: GivenSettings,
    command: PhantomData<C>,
}

impl<C> Clone for SettingOptions<C> {
    fn clone(&self) -> Self {
        Self { given: self.given.clone(), command: PhantomData }
    }
}

/// Names a command.
pub(crate) trait OfCommand {
    const COMMAND: SettingsCommand;
}

macro_rules! commands {
    ($($name:ident),*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name;
        impl OfCommand for $name {
            const COMMAND: SettingsCommand = SettingsCommand::$name;
        }
    )*};
}
commands!(Every, Keyword, Search, Lookup, Collection, Encode, Ask, Mcp);

impl<C: OfCommand> Args for SettingOptions<C> {
    fn augment_args(options: clap::Command) -> clap::Command {
        config::add_options(C::COMMAND, options)
    }

    fn augment_args_for_update(options: clap::Command) -> clap::Command {
        Self::augment_args(options)
    }
}

impl<C: OfCommand> FromArgMatches for SettingOptions<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { given: GivenSettings::read(C::COMMAND, matches), command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
