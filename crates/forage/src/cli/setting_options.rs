//! Options of commands that are settings, made from the table of settings.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, FromArgMatches};

use crate::config::{Overrides, SettingsCommand, SourceSettings as _};

/// The options that a command has for settings.
#[derive(Debug)]
pub(crate) struct SettingOptions<C> {
    /// What they say.
    pub(crate) said: Overrides,
    command: PhantomData<C>,
}

impl<C> Clone for SettingOptions<C> {
    fn clone(&self) -> Self {
        Self { said: self.said.clone(), command: PhantomData }
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
        Overrides::add_options(C::COMMAND, options)
    }

    fn augment_args_for_update(options: clap::Command) -> clap::Command {
        Self::augment_args(options)
    }
}

impl<C: OfCommand> FromArgMatches for SettingOptions<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut said = Overrides::default();
        said.read_options(C::COMMAND, matches);
        Ok(Self { said, command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.said.read_options(C::COMMAND, matches);
        Ok(())
    }
}
