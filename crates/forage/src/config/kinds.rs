//! The types that settings have: how a value is described, shown, and read from a text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// A type that a setting can have.
pub(crate) trait SettingType {
    /// The value as `forage config` prints it.
    fn shown(&self) -> Value;
    /// Its JSON Schema.
    fn schema() -> Value;
    /// What is wrong with it whatever the key.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// A type of which a value can be given as text: by a variable, or as an option of the command line.
pub(crate) trait FromText: SettingType + Sized {
    /// What a text has to be.
    const EXPECTED: &str;
    fn from_text(text: &str) -> Option<Self>;
    /// How the option is read.
    fn option(option: Arg) -> Arg;
    /// What was read.
    fn given(matches: &ArgMatches, id: &str) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ident),*) => {$(
        impl SettingType for $number {
            fn shown(&self) -> Value { json!(self) }
            fn schema() -> Value { json!({ "type": "integer", "minimum": 0 }) }
        }
        impl FromText for $number {
            const EXPECTED: &str = "a whole number";
            fn from_text(text: &str) -> Option<Self> { text.trim().parse().ok() }
            fn option(option: Arg) -> Arg { option.value_parser(clap::value_parser!($number)) }
            fn given(matches: &ArgMatches, id: &str) -> Option<Self> { matches.get_one(id).copied() }
        }
    )*};
}
numbers!(u32, u64, usize);

impl SettingType for bool {
    fn shown(&self) -> Value {
        json!(self)
    }
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

impl FromText for bool {
    const EXPECTED: &str = "`true` or `false`";
    fn from_text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn option(option: Arg) -> Arg {
        option.action(ArgAction::SetTrue).num_args(0)
    }
    fn given(matches: &ArgMatches, id: &str) -> Option<Self> {
        matches.get_flag(id).then_some(true)
    }
}

impl SettingType for String {
    fn shown(&self) -> Value {
        json!(self)
    }
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl FromText for String {
    const EXPECTED: &str = "text";
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn option(option: Arg) -> Arg {
        option
    }
    fn given(matches: &ArgMatches, id: &str) -> Option<Self> {
        matches.get_one(id).cloned()
    }
}

impl SettingType for PathBuf {
    fn shown(&self) -> Value {
        json!(self)
    }
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl<T: SettingType> SettingType for Option<T> {
    fn shown(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::shown)
    }
    fn schema() -> Value {
        T::schema()
    }
    fn problem(&self) -> Option<String> {
        self.as_ref().and_then(T::problem)
    }
}

macro_rules! lists {
    ($($element:ident),*) => {$(
        impl SettingType for Vec<$element> {
            fn shown(&self) -> Value {
                json!(self)
            }
            fn schema() -> Value {
                json!({ "type": "array", "items": $element::schema() })
            }
        }
    )*};
}
lists!(String, PathBuf);

impl FromText for Vec<PathBuf> {
    const EXPECTED: &str = "a path";
    fn from_text(text: &str) -> Option<Self> {
        Some(vec![PathBuf::from(text)])
    }
    fn option(option: Arg) -> Arg {
        option.action(ArgAction::Append).value_parser(clap::value_parser!(PathBuf))
    }
    fn given(matches: &ArgMatches, id: &str) -> Option<Self> {
        Some(matches.get_many(id)?.cloned().collect())
    }
}

impl SettingType for BTreeMap<String, f64> {
    fn shown(&self) -> Value {
        json!(self)
    }
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": "number" } })
    }
}

/// What one of a few words means.
pub(crate) trait SettingWords: Copy + Default + PartialEq + 'static {
    const WORDS: &[(&str, Self)];
}

/// The words of a setting and their meanings.
macro_rules! words {
    ($($meaning:ident: $($word:literal => $variant:ident),+;)*) => {$(
        impl $crate::config::kinds::SettingWords for $meaning {
            const WORDS: &[(&str, Self)] = &[$(($word, Self::$variant)),+];
        }
    )*};
}
pub(super) use words;

/// A setting that is one of a few words; another one is kept for the error about it, as a later source may replace it.
#[derive(Clone, Debug)]
pub(crate) struct SettingWord<T>(Result<T, String>);

impl<T: SettingWords> SettingWord<T> {
    pub(super) fn new(meaning: T) -> Self {
        Self(Ok(meaning))
    }

    /// Its meaning; the default of what is no word of them, which [`SettingType::problem`] refuses.
    pub(super) fn get(&self) -> T {
        self.0.as_ref().copied().unwrap_or_default()
    }

    /// The word.
    pub(super) fn name(&self) -> &str {
        match &self.0 {
            Ok(meaning) => T::WORDS.iter().find(|(_, it)| it == meaning).map_or("", |(word, _)| word),
            Err(text) => text,
        }
    }
}

impl<T: SettingWords> From<&str> for SettingWord<T> {
    fn from(text: &str) -> Self {
        let known = T::WORDS.iter().find(|(word, _)| *word == text);
        Self(known.map(|(_, meaning)| *meaning).ok_or_else(|| text.to_owned()))
    }
}

impl<'de, T: SettingWords> Deserialize<'de> for SettingWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

impl<T: SettingWords> SettingType for SettingWord<T> {
    fn shown(&self) -> Value {
        json!(self.name())
    }
    fn schema() -> Value {
        json!({ "enum": T::WORDS.iter().map(|(word, _)| word).collect::<Vec<_>>() })
    }
    fn problem(&self) -> Option<String> {
        let Err(text) = &self.0 else { return None };
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("{word:?}")).collect();
        Some(match &words[..] {
            [one, other] => format!("{text:?} is neither {one} nor {other}"),
            words => format!("{text:?} is none of {}", words.join(", ")),
        })
    }
}

impl<T: SettingWords> FromText for SettingWord<T> {
    const EXPECTED: &str = "a word";
    fn from_text(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }
    fn option(option: Arg) -> Arg {
        let words: Vec<&'static str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        option.value_parser(words)
    }
    fn given(matches: &ArgMatches, id: &str) -> Option<Self> {
        matches.get_one::<String>(id).map(|text| Self::from(text.as_str()))
    }
}
