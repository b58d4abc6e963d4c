//! The macro that makes all places of a key from its one row in the table of settings, and what the places share.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use anyhow::bail;
use clap::{Arg, ArgMatches};
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde_json::Value;

use super::kinds::FromText;

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(super) source: String,
}

impl<T> Setting<T> {
    pub(super) fn default(value: T) -> Self {
        Self { value, source: "default".to_owned() }
    }

    /// Where it comes from.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether some source has it.
    pub(super) fn is_set(&self) -> bool {
        self.source != "default"
    }

    pub(super) fn set(&mut self, value: Option<T>, source: &str) {
        if let Some(value) = value {
            *self = Self { value, source: source.to_owned() };
        }
    }

    /// An error about the value of `key`, if something is wrong with it.
    pub(super) fn refuse(&self, key: &str, wrong: Option<impl Into<Wrong>>) -> anyhow::Result<()> {
        match wrong.map(Into::into) {
            Some(Wrong { below, problem }) => bail!("`{key}{below}` ({}): {problem}", self.source),
            None => Ok(()),
        }
    }
}

/// What is wrong with a value.
pub(super) struct Wrong {
    /// Where in a value that is a table: `.name`, or nothing.
    below: String,
    problem: String,
}

impl Wrong {
    /// With what stands at `key` in the value.
    pub(super) fn at(key: &str, problem: String) -> Self {
        Self { below: format!(".{key}"), problem }
    }
}

impl From<String> for Wrong {
    fn from(problem: String) -> Self {
        Self { below: String::new(), problem }
    }
}

/// The commands that have options for settings; an option of `Every` is taken by all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsCommand {
    Every,
    Keyword,
    Search,
    Lookup,
    Collection,
    Encode,
    Ask,
    Mcp,
}

/// A row of the table of settings, as its page and its schema have it.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its place in the file: `limits.timeout_ms`.
    pub(crate) path: String,
    /// What it is called; its place, unless the table may be left out.
    pub(crate) key: String,
    /// What it is, line by line.
    pub(crate) about: &'static [&'static str],
    /// Its JSON Schema.
    pub(crate) schema: Value,
    /// Its default.
    pub(crate) default: Value,
    /// The environment variable.
    pub(crate) variable: Option<&'static str>,
    /// The option of the command line.
    pub(crate) flag: Option<&'static str>,
}

/// The settings of a section in effect.
pub(crate) trait Section: Default {
    /// What one source says of them.
    type Said: SourceSettings;
    fn apply(&mut self, said: Self::Said, source: &str);
    /// Whether each value is one that its key can have.
    fn check(&self) -> anyhow::Result<()>;
    /// Each as its key, its value and its source.
    fn shown(&self) -> Vec<(String, Value, String)>;
    fn rows() -> Vec<Row>;
}

/// What one source says of the settings of a section.
pub(crate) trait SourceSettings: Default {
    /// The names of the section's keys.
    fn keys() -> Vec<String>;
    /// Reads the value of one of these keys.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error>;
    /// What a text in place of the table says.
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    /// Reads the section's variables.
    fn read_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()>;
    /// Adds the options that a command has for the section.
    fn add_options(command: SettingsCommand, options: clap::Command) -> clap::Command;
    /// Reads these options.
    fn read_options(&mut self, command: SettingsCommand, matches: &ArgMatches);
}

/// Two sections that share a table; only the first may have variables and options.
impl<A: SourceSettings, B: SourceSettings> SourceSettings for (A, B) {
    fn keys() -> Vec<String> {
        [A::keys(), B::keys()].concat()
    }
    fn read<'de, M: MapAccess<'de>>(&mut self, key: &str, table: &mut M) -> Result<(), M::Error> {
        if A::keys().iter().any(|it| it == key) { self.0.read(key, table) } else { self.1.read(key, table) }
    }
    fn read_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
        self.0.read_environment(variable)?;
        self.1.read_environment(variable)
    }
    fn add_options(command: SettingsCommand, options: clap::Command) -> clap::Command {
        B::add_options(command, A::add_options(command, options))
    }
    fn read_options(&mut self, command: SettingsCommand, matches: &ArgMatches) {
        self.0.read_options(command, matches);
        self.1.read_options(command, matches);
    }
}

/// Reads the table of a section.
pub(super) struct TableOf<S>(PhantomData<S>);

impl<S> TableOf<S> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, S: SourceSettings> DeserializeSeed<'de> for TableOf<S> {
    type Value = S;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: SourceSettings> Visitor<'de> for TableOf<S> {
    type Value = S;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<S, E> {
        S::from_text(text).ok_or_else(|| E::invalid_type(serde::de::Unexpected::Str(text), &self))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<S, A::Error> {
        let (keys, mut said) = (S::keys(), S::default());
        while let Some(key) = table.next_key_seed(OneOf(&keys))? {
            said.read(key, &mut table)?;
        }
        Ok(said)
    }
}

/// A key that is one of these: an error about another one is then at its place in the file.
struct OneOf<'k>(&'k [String]);

impl<'de, 'k> DeserializeSeed<'de> for OneOf<'k> {
    type Value = &'k str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'k str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'k> Visitor<'_> for OneOf<'k> {
    type Value = &'k str;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }
    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<&'k str, E> {
        self.0.iter().find(|it| *it == key).map(String::as_str).ok_or_else(|| {
            let known: Vec<String> = self.0.iter().map(|key| format!("`{key}`")).collect();
            E::custom(format!("unknown field `{key}`, expected one of {}", known.join(", ")))
        })
    }
}

/// What is wrong with a value out of its range.
pub(super) fn out_of_range<T: PartialOrd + fmt::Display>(
    value: &T,
    range: &RangeInclusive<T>,
) -> Option<String> {
    let (least, most) = (range.start(), range.end());
    (!range.contains(value)).then(|| format!("{value} is out of range; give {least} to {most}"))
}

/// An option for a setting.
pub(super) fn option<T: FromText, S: Section>(
    command: SettingsCommand,
    path: &'static str,
    (flag, value): (&'static str, &'static str),
) -> Arg {
    let rows = S::rows();
    let row = rows.iter().find(|row| row.path == path);
    let about = row.map_or(&[][..], |row| row.about);
    let default = match row.map(|row| &row.default) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ Value::Number(_)) => value.to_string(),
        _ => String::new(),
    };
    let paragraph: Vec<&str> =
        about.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
    let mut help = paragraph.join(" ").trim_end_matches('.').to_owned();
    if !default.is_empty() {
        help.push_str(&format!(" [default: {default}]"));
    }
    let is_everywhere = command == SettingsCommand::Every;
    let option = Arg::new(path).long(flag).help(help).global(is_everywhere);
    // What is on every page is in the way of what a command has of its own.
    let option = option.hide_short_help(is_everywhere && path != "roots");
    T::option(if value.is_empty() { option } else { option.value_name(value) })
}

/// Makes the settings of the sections, and what one source says of them.
///
/// A row is `name: Type`, for what has no default, or `name: Type = default`, and then, in this order: `as "key"` where it
/// is called otherwise than its place in the file; `in RANGE`; `check FUNCTION`, which says what is wrong with a value;
/// `from ("VARIABLE")`, or `from ()` for none, with the option `"name" "VALUE" for COMMANDS`. `or NAME` behind a section
/// is the key that a text in place of its table gives.
macro_rules! settings {
    ($(
        $(#[doc = $section_about:literal])*
        $section:ident $said:ident at $prefix:literal $(or $short:ident)? {
            $(
                $(#[doc = $about:literal])+
                $field:ident: $type:ty $(= $default:expr)? $(, as $key:literal)? $(, in $range:expr)?
                $(, check $check:expr)?
                $(, from ($($variable:literal)?) $(, $flag:literal $value:literal for $($command:ident)+)?)?;
            )*
        }
    )*) => {$(
        $(#[doc = $section_about])*
        #[derive(Clone, Debug)]
        pub(crate) struct $section {
            $($(#[doc = $about])+ pub(crate) $field: Setting<settings!(@type $type $(, $default)?)>,)*
        }

        /// What one source says of them.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $said {
            $(pub(crate) $field: Option<$type>,)*
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($field: Setting::default(settings!(@default $($default)?)),)* }
            }
        }

        impl Section for $section {
            type Said = $said;

            fn apply(&mut self, said: $said, source: &str) {
                $(self.$field.set(said.$field.map(Into::into), source);)*
            }

            fn check(&self) -> anyhow::Result<()> {
                $({
                    let (key, setting) = (settings!(@key $prefix, $field $(, $key)?), &self.$field);
                    setting.refuse(key, setting.value.problem())?;
                    $(setting.refuse(key, out_of_range(&setting.value, &$range))?;)?
                    $(setting.refuse(key, $check(&setting.value))?;)?
                })*
                Ok(())
            }

            fn shown(&self) -> Vec<(String, Value, String)> {
                vec![$((
                    settings!(@key $prefix, $field $(, $key)?).to_owned(),
                    self.$field.value.shown(),
                    self.$field.source.clone(),
                ),)*]
            }

            fn rows() -> Vec<Row> {
                let default = Self::default();
                vec![$({
                    #[allow(unused_mut, reason = "not every row has a range")]
                    let mut schema = <$type as SettingType>::schema();
                    $(
                        let range = $range;
                        (schema["minimum"], schema["maximum"]) = (json!(range.start()), json!(range.end()));
                    )?
                    Row {
                        path: concat!($prefix, stringify!($field)).to_owned(),
                        key: settings!(@key $prefix, $field $(, $key)?).to_owned(),
                        about: &[$($about),+],
                        schema,
                        default: default.$field.value.shown(),
                        variable: settings!(@or_none $($($variable)?)?),
                        flag: settings!(@or_none $($($flag)?)?),
                    }
                },)*]
            }
        }

        impl SourceSettings for $said {
            fn keys() -> Vec<String> {
                vec![$(stringify!($field).to_owned(),)*]
            }

            fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, table: &mut A) -> Result<(), A::Error> {
                match key {
                    $(stringify!($field) => self.$field = Some(table.next_value()?),)*
                    other => return Err(A::Error::custom(format!("there is no key `{other}`"))),
                }
                Ok(())
            }

            $(
                fn from_text(text: &str) -> Option<Self> {
                    Some(Self { $short: Some(text.into()), ..Self::default() })
                }
            )?

            fn read_environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<()> {
                let _ = variable;
                $($($(
                    if let Some(text) = variable($variable) {
                        self.$field = Some(<$type>::from_text(&text).with_context(|| {
                            format!("the environment variable {} must be {}", $variable, <$type>::EXPECTED)
                        })?);
                    }
                )?)?)*
                Ok(())
            }

            fn add_options(command: SettingsCommand, options: clap::Command) -> clap::Command {
                let _ = command;
                $($($(
                    let options = if [$(SettingsCommand::$command),+].contains(&command) {
                        let path = concat!($prefix, stringify!($field));
                        options.arg(option::<$type, $section>(command, path, ($flag, $value)))
                    } else {
                        options
                    };
                )?)?)*
                options
            }

            fn read_options(&mut self, command: SettingsCommand, matches: &ArgMatches) {
                let _ = (command, matches);
                $($($(
                    if [$(SettingsCommand::$command),+].contains(&command) {
                        self.$field = <$type>::given(matches, concat!($prefix, stringify!($field)));
                    }
                )?)?)*
            }
        }
    )*};
    (@type $type:ty, $default:expr) => { $type };
    (@type $type:ty) => { Option<$type> };
    (@default $default:expr) => { $default };
    (@default) => { None };
    (@key $prefix:literal, $field:ident, $key:literal) => { $key };
    (@key $prefix:literal, $field:ident) => { concat!($prefix, stringify!($field)) };
    (@or_none $some:literal) => { Some($some) };
    (@or_none) => { None };
}
pub(super) use settings;
