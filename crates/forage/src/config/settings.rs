//! Declares settings, reads them from each source and merges them. We track where each value comes from, so
//! that an error can name the file and line.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::anyhow;
use clap::{Arg, ArgAction, ArgMatches};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};
use toml::{Spanned, Table, Value};

use super::table::{self, Settings};

/// The name of the source of a value that the user has not set.
pub(crate) const DEFAULT: &str = "default";

/// The commands that have options for settings. All commands accept the options of `Every`.
#[derive(Clone, Copy, Debug)]
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

/// A row of the table of settings.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The key in the file, for example `limits.timeout_ms`.
    pub(crate) path: String,
    /// The description, line by line.
    pub(crate) about: &'static [&'static str],
    /// The JSON Schema of the value, including its range.
    pub(crate) schema: Json,
    /// The default, or `None` if the key is unset by default.
    pub(crate) default: Option<Value>,
    /// The environment variable.
    pub(crate) variable: Option<&'static str>,
    /// The command-line option: its name, the name of its value, and the commands that have it.
    pub(crate) option: Option<(&'static str, &'static str, &'static [SettingsCommand])>,
    /// Parses a value and returns its problem, if it has one.
    pub(super) check: fn(ValueDeserializer<'_>) -> Result<Option<InvalidValue>, Error>,
}

/// A problem with a value.
pub(super) struct InvalidValue {
    /// The position within a value that is a table, for example `.name`. Otherwise empty.
    below: String,
    problem: String,
}

impl InvalidValue {
    /// Creates a problem at `key` within the value.
    pub(super) fn at(key: &str, problem: String) -> Self {
        Self { below: format!(".{key}"), problem }
    }
}

impl From<String> for InvalidValue {
    fn from(problem: String) -> Self {
        Self { below: String::new(), problem }
    }
}

/// Declares the sections of the settings and their rows.
///
/// A row is `name: Type`, or `name: Type as Type` if the schema is that of another type. These may follow, in
/// this order: `= DEFAULT`; `in RANGE`; `check FUNCTION`, which returns the problem of a value;
/// `from "VARIABLE"`; and `option "name" "VALUE" for COMMANDS`.
macro_rules! settings {
    ($(
        $(#[doc = $section_about:literal])*
        $section:ident {
            $(at $prefix:literal {
                $(
                    $(#[doc = $about:literal])+
                    $field:ident: $type:ty $(as $shown:ty)? $(= $default:expr)? $(, in $range:expr)?
                    $(, check $check:expr)? $(, from $variable:literal)?
                    $(, option $option:literal $value:literal for $($command:ident)+)?;
                )*
            })+
            $(tables { $($table:ident: $of:ty),+ $(,)? })?
        }
    )*) => {
        $(
            $(#[doc = $section_about])*
            #[derive(Clone, Debug, Default, Deserialize)]
            #[serde(default)]
            pub(crate) struct $section {
                $($($(#[doc = $about])+ pub(crate) $field: $type,)*)+
                $($(pub(crate) $table: $of,)+)?
            }
        )*

        fn declared() -> Vec<Row> {
            vec![$($($(Row {
                path: concat!($prefix, stringify!($field)).to_owned(),
                about: &[$($about),+],
                schema: schema_of::<settings!(@last $type $(, $shown)?)>(
                    None::<Json>$(.or({ let range = $range; Some(json!([range.start(), range.end()])) }))?,
                ),
                default: None::<Value>$(.or(Value::try_from($default).ok()))?,
                variable: None$(.or(Some($variable)))?,
                option: None$(.or(Some(($option, $value, &[$(SettingsCommand::$command),+][..]))))?,
                check: |value| <$type>::deserialize(value).map(|value| {
                    let _ = &value;
                    None::<InvalidValue>$(.or($check(&value).map(InvalidValue::from)))?
                }),
            },)*)+)*]
        }
    };
    (@last $type:ty, $shown:ty) => { $shown };
    (@last $type:ty) => { $type };
}
pub(super) use settings;

/// Generates the JSON Schema of a setting from its type. `range` is a pair of its minimum and maximum.
pub(super) fn schema_of<T: JsonSchema>(range: Option<Json>) -> Json {
    let mut settings = SchemaSettings::draft2020_12();
    (settings.inline_subschemas, settings.meta_schema) = (true, None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    // An optional key is omitted and never null.
    if let Some(word) = schema["type"].get(0).cloned() {
        schema["type"] = word;
    }
    // schemars generates a `oneOf` for an enum whose variants have doc comments. We make it a plain `enum`.
    if let Some(forms) = schema["oneOf"].as_array() {
        let words: Vec<&Json> = forms.iter().map(|form| &form["const"]).collect();
        schema = json!({ "type": "string", "enum": words });
    }
    if let Some(range) = range {
        (schema["minimum"], schema["maximum"]) = (range[0].clone(), range[1].clone());
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| !["title", "description", "format"].contains(&name.as_str()));
    }
    schema
}

/// Returns the rows of all settings.
pub(crate) fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(table::rows);
    &ROWS
}

pub(super) fn row(key: &str) -> Option<&'static Row> {
    rows().iter().find(|row| row.path == key)
}

/// Returns true if `key` is a table that contains keys.
fn is_table(key: &str) -> bool {
    rows().iter().any(|row| row.path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

impl Row {
    /// Returns the accepted words if the setting takes one of a few.
    fn words(&self) -> Option<Vec<&str>> {
        Some(self.schema["enum"].as_array()?.iter().filter_map(Json::as_str).collect())
    }

    /// Parses the text of a variable.
    fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match (self.schema["type"].as_str(), self.words()) {
            (_, Some(words)) if !words.contains(&text) => Err(format!("one of {}", words.join(", "))),
            (Some("integer"), _) => text.parse().map(Value::Integer).map_err(|_| "a whole number".to_owned()),
            (Some("boolean"), _) => {
                text.parse().map(Value::Boolean).map_err(|_| "`true` or `false`".to_owned())
            }
            _ => Ok(Value::String(text.to_owned())),
        }
    }

    fn out_of_range(&self, value: &Value) -> Option<String> {
        let bound = |name: &str| self.schema[name].as_i64();
        let (least, max) = (bound("minimum")?, bound("maximum")?);
        let value = value.as_integer().filter(|value| !(least..=max).contains(value))?;
        Some(format!("{value} is out of range; give {least} to {max}"))
    }

    /// Returns true if a command has an option for this setting.
    fn is_of(&self, command: u8) -> bool {
        self.option.is_some_and(|(.., commands)| commands.iter().any(|it| *it as u8 == command))
    }

    fn option_of(&'static self, command: u8) -> Option<Arg> {
        let (name, value, _) = self.option.filter(|_| self.is_of(command))?;
        let paragraph: Vec<&str> =
            self.about.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
        let mut help = paragraph.join(" ").trim_end_matches('.').to_owned();
        match &self.default {
            Some(Value::String(text)) if !text.is_empty() => help.push_str(&format!(" [default: {text}]")),
            Some(Value::Integer(number)) => help.push_str(&format!(" [default: {number}]")),
            _ => {}
        }
        let is_everywhere = command == SettingsCommand::Every as u8;
        // Global options would crowd out a command's own options in its short help.
        let option =
            Arg::new(&*self.path).long(name).help(help).global(is_everywhere).hide_short_help(is_everywhere);
        Some(match (self.schema["type"].as_str(), self.words()) {
            (Some("boolean"), _) => option.action(ArgAction::SetTrue),
            (Some("integer"), _) => option.value_name(value).value_parser(clap::value_parser!(u64)),
            (_, Some(words)) => option.value_name(value).value_parser(words),
            _ => option.value_name(value),
        })
    }

    fn given(&self, matches: &ArgMatches) -> Option<Value> {
        match self.schema["type"].as_str() {
            Some("boolean") => matches.get_flag(&self.path).then_some(Value::Boolean(true)),
            Some("integer") => {
                let number = matches.get_one::<u64>(&self.path)?;
                Some(Value::Integer(i64::try_from(*number).unwrap_or(i64::MAX)))
            }
            _ => matches.get_one::<String>(&self.path).map(|text| Value::String(text.clone())),
        }
    }
}

/// Adds a command's options for settings.
pub(crate) fn add_options(command: u8, options: clap::Command) -> clap::Command {
    options.args(rows().iter().filter_map(|row| row.option_of(command)))
}

/// The values that the command line gives, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenSettings(BTreeMap<&'static str, Value>);

impl GivenSettings {
    /// Reads a command's options for settings.
    pub(crate) fn read(command: u8, matches: &ArgMatches) -> Self {
        let of_command = rows().iter().filter(|row| row.is_of(command));
        let given = of_command.filter_map(|row| Some((&*row.path, row.given(matches)?)));
        Self(given.collect())
    }

    /// Returns the value of a key.
    pub(crate) fn get<'de, T: serde::Deserialize<'de>>(&self, key: &str) -> Option<T> {
        self.0.get(key)?.clone().try_into().ok()
    }

    /// Adds the values from another part of the command line.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}

/// A key of a file.
pub(super) struct FileKey<'t> {
    pub(super) key: String,
    /// The byte offset at which the key begins.
    at: usize,
    value: Spanned<DeValue<'t>>,
}

impl FileKey<'_> {
    pub(super) fn value(&self) -> Result<Value, Error> {
        Value::deserialize(ValueDeserializer::from(self.value.clone()))
    }

    pub(super) fn line(&self, text: &str) -> usize {
        line(text, self.at)
    }
}

/// Lists the keys of a file in their order. Keys of tables have their full paths.
pub(super) fn keys(text: &str) -> Result<Vec<FileKey<'_>>, Error> {
    let mut found = Vec::new();
    gather(DeTable::parse(text)?.into_inner(), "", &mut found);
    found.sort_by_key(|key| key.at);
    Ok(found)
}

fn gather<'t>(table: DeTable<'t>, above: &str, found: &mut Vec<FileKey<'t>>) {
    for (name, value) in table {
        let (at, span) = (name.span().start, value.span());
        let mut key = format!("{above}{}", name.get_ref());
        match value.into_inner() {
            DeValue::Table(inner) if is_table(&key) => gather(inner, &(key + "."), found),
            value => {
                // The mode alone may be given in place of the table.
                if key == "filter" && value.is_str() {
                    "filter.mode".clone_into(&mut key);
                }
                found.push(FileKey { key, at, value: Spanned::new(span, value) });
            }
        }
    }
}

/// Returns the number of the line that contains the byte `at`.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Formats the message for invalid TOML, with the line number.
pub(super) fn unreadable(text: &str, file: &str, error: &Error) -> String {
    let at = error.span().map_or(text.len(), |span| span.start);
    format!("{file}:{}: {}", line(text, at), message(error))
}

/// Formats the message of an error. If it is about an unknown name, this adds the name that was probably
/// meant.
fn message(error: &Error) -> String {
    let worded = error.message();
    let unknown =
        ["unknown field `", "unknown variant `"].iter().find_map(|start| worded.strip_prefix(start));
    let closest = unknown.and_then(|rest| rest.split_once('`')).and_then(|(name, rest)| {
        // The parser quotes the known names in the same way.
        nearest(name, rest.split('`').skip(1).step_by(2))
    });
    let meant = closest.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    let words = [
        ("usize", "a whole number"),
        ("u64", "a whole number"),
        ("f64", "a number"),
        ("a sequence", "a list"),
    ];
    let worded = words.iter().fold(without_value(worded), |worded, (theirs, ours)| {
        worded.replace(&format!("expected {theirs}"), &format!("expected {ours}"))
    });
    worded + &meant
}

/// Finds the known name that is closest to `name`, if it is close enough.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let edits = |known: &&str| strsim::damerau_levenshtein(name, known);
    known.min_by_key(edits).filter(|known| edits(known) <= 2.min(name.chars().count() / 2))
}

/// Removes the rejected value from a parser's message. The value could be a secret in the wrong place.
pub(crate) fn without_value(message: &str) -> String {
    for (before, after) in
        [("invalid type: string ", ", expected "), ("invalid value: string ", ", expected ")]
    {
        // The value may itself contain `after`, so look for the last one.
        if let Some(rest) = message.strip_prefix(before)
            && let Some(at) = rest.rfind(after)
        {
            return format!("{before}…{}", &rest[at..]);
        }
    }
    if message.starts_with("unknown variant ")
        && let Some(at) = message.find("`, expected ")
    {
        return format!("unknown value{}", &message[at + 1..]);
    }
    message.to_owned()
}

/// Formats the message for an unknown key.
fn unknown_key(key: &str) -> String {
    if is_table(key) {
        return format!("`{key}` is a table: write `[{key}]`, and its keys below it");
    }
    let name = |key: &'static str| key.rsplit('.').next().unwrap_or(key);
    let paths = || rows().iter().map(|row| &*row.path);
    let tables = paths().filter_map(|path| Some(path.rsplit_once('.')?.0));
    let elsewhere = || paths().find(|path| key.rsplit('.').next() == Some(name(path)));
    match nearest(key, paths().chain(tables)).or_else(elsewhere) {
        Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
        None => format!("unknown key `{key}`; `forage config --all` shows all keys"),
    }
}

/// The values that the sources set, each with its source. All other keys have their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers(BTreeMap<&'static str, (Value, String)>);

impl Layers {
    /// Adds the keys of a file, which override earlier values.
    pub(super) fn read_file(&mut self, text: &str, file: &str) -> anyhow::Result<()> {
        let unreadable = |error: &Error| anyhow!("{}", unreadable(text, file, error));
        for FileKey { key, at, value } in keys(text).map_err(|error| unreadable(&error))? {
            let source = |at: usize| format!("{file}:{}", line(text, at));
            let row = row(&key).ok_or_else(|| anyhow!("{}: {}", source(at), unknown_key(&key)))?;
            self.put(row, value, |within| source(within.unwrap_or(at)))?;
        }
        Ok(())
    }

    /// Adds the values from the environment, which override earlier values.
    pub(super) fn read_environment(
        &mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<()> {
        for row in rows() {
            if let Some(name) = row.variable
                && let Some(text) = variable(name)
            {
                let value = row.parse(&text);
                let value = value
                    .map_err(|expected| anyhow!("the environment variable {name} must be {expected}"))?;
                self.set(&row.path, value, "environment")?;
            }
        }
        Ok(())
    }

    /// Adds the values from the command line, which override earlier values.
    pub(super) fn add(&mut self, given: GivenSettings) -> anyhow::Result<()> {
        given.0.into_iter().try_for_each(|(key, value)| self.set(key, value, "command line"))
    }

    /// Sets the value of a key.
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>, source: &str) -> anyhow::Result<()> {
        let text = value.into().to_string();
        let row = row(key).ok_or_else(|| anyhow!("{source}: {}", unknown_key(key)))?;
        self.put(row, DeValue::parse(&text)?, |_| source.to_owned())
    }

    fn put(
        &mut self,
        row: &'static Row,
        value: Spanned<DeValue<'_>>,
        source: impl Fn(Option<usize>) -> String,
    ) -> anyhow::Result<()> {
        let refused = |at: Option<usize>, below: &str, problem: &str| {
            anyhow!("`{}{below}` ({}): {problem}", row.path, source(at))
        };
        let misread = |error: Error| refused(error.span().map(|span| span.start), "", &message(&error));
        if let Some(InvalidValue { below, problem }) = (row.check)(value.clone().into()).map_err(misread)? {
            return Err(refused(None, &below, &problem));
        }
        let value = Value::deserialize(ValueDeserializer::from(value)).map_err(misread)?;
        if let Some(problem) = row.out_of_range(&value) {
            return Err(refused(None, "", &problem));
        }
        self.0.insert(&row.path, (value, source(None)));
        Ok(())
    }

    /// Sets keys whose values follow from other keys, unless they are set explicitly.
    pub(super) fn settle(&mut self) -> anyhow::Result<()> {
        for (from, key, value) in [
            ("tools.search.binary", "tools.search.engine", Some("external")),
            ("tools.search.fallback_binary", "tools.search.engine", Some("external")),
            ("retrieval.enable_keyword_tool", "tools.keyword_lookup.enabled", None),
        ] {
            if let Some((said, source)) = self.0.get(from).cloned()
                && !self.0.contains_key(key)
            {
                self.set(key, value.map_or(said, Value::from), &source)?;
            }
        }
        Ok(())
    }

    /// Returns the effective value of a key, or `None` if it is unset.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let given = self.0.get(key).map(|(value, _)| value);
        given.or_else(|| row(key)?.default.as_ref())
    }

    /// Returns the source of a key's value.
    pub(crate) fn source(&self, key: &str) -> &str {
        debug_assert!(row(key).is_some(), "{key}");
        self.0.get(key).map_or(DEFAULT, |(_, source)| source)
    }

    /// Builds the settings in typed form.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let mut root = Table::new();
        for row in rows() {
            let Some(value) = self.get(&row.path) else { continue };
            let (tables, name) = row.path.rsplit_once('.').unwrap_or(("", &row.path));
            let mut place = &mut root;
            for table in tables.split('.').filter(|table| !table.is_empty()) {
                let table = place.entry(table).or_insert_with(|| Table::new().into());
                place = table.as_table_mut().ok_or_else(|| anyhow!("`{tables}` is not a table"))?;
            }
            place.insert(name.to_owned(), value.clone());
        }
        Ok(Settings::deserialize(root)?)
    }
}
