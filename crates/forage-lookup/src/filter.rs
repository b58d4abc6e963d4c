//! Filters of points.

use std::fmt;

use crate::limits;
use crate::point_id::PointId;

/// A filter of points: a point passes if every condition holds. Without conditions, all points pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointFilter {
    /// The conditions on the payload.
    pub conditions: Vec<Condition>,
    /// If set, only points with one of these ids pass.
    pub ids: Option<Vec<PointId>>,
}

/// A condition on a field of the payload. If the field is a list, one of its items must meet the condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The name of the field. Dots lead into objects, for example `lines.start`.
    pub field: String,
    /// The test of its value.
    pub test: Test,
}

/// The tests of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The value is one of these.
    AnyOf(Vec<WantedValue>),
    /// The value is a number on this side of the bound.
    Bound(BoundSide, f64),
}

/// A value that a field may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedValue {
    /// This text.
    Text(String),
    /// A value as the user wrote it, without a type. It matches this text, and also the number or flag that
    /// it can be parsed as.
    Word(String),
}

/// The side of a bound on which a number must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundSide {
    /// Greater than the bound.
    Above,
    /// Greater than or equal to the bound.
    From,
    /// Less than the bound.
    Below,
    /// Less than or equal to the bound.
    To,
}

/// All interpretations of several values, by type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// As texts.
    pub texts: Vec<String>,
    /// As whole numbers.
    pub integers: Vec<i64>,
    /// As numbers that a payload may contain exactly. This includes whole numbers, which may be written as
    /// 3.0.
    pub floats: Vec<f64>,
    /// As true or false.
    pub flags: Vec<bool>,
}

/// The reasons why a condition is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It does not have the required form.
    #[error(
        "{0:?} is not a condition; write FIELD=VALUE, FIELD=VALUE|VALUE for any of them, or FIELD>=NUMBER \
         (>, <=, <)"
    )]
    Form(String),
    /// It uses an operator of another language. A part of the operator would become part of the value, and we
    /// would make a comparison that the user did not intend.
    #[error("{written:?} is not a condition; write {right}")]
    Sign {
        /// The whole condition.
        written: String,
        /// The condition that was probably intended.
        right: String,
    },
    /// It is a negation, for which there is no test.
    #[error(
        "{0:?}: negation is not supported; list the allowed values (FIELD=VALUE|VALUE), or give a bound \
         (FIELD>NUMBER)"
    )]
    Not(String),
    /// The name of the field is invalid.
    #[error("{0:?} is not a field name; use letters, digits, `_`, `-`, and dots for nested fields")]
    Field(String),
    /// The bound should be a number but is not.
    #[error("{condition:?}: {value:?} is not a number; `>`, `>=`, `<` and `<=` need one")]
    Number {
        /// The whole condition.
        condition: String,
        /// The part that should be a number.
        value: String,
    },
    /// There is no value, or there are too many.
    #[error("{0:?} has no value, or more than {most}; write FIELD=VALUE", most = limits::FILTER_VALUES)]
    Values(String),
    /// A quoted value is not a JSON string, or other text follows it.
    #[error("{0:?}: a quoted value must be a JSON string: FIELD=\"a|b\"")]
    Quotes(String),
}

impl PointFilter {
    /// Creates a filter for points whose field has one of these texts.
    pub fn any_of(field: &str, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let values = values.into_iter().map(|value| WantedValue::Text(value.into()));
        let condition = Condition { field: field.to_owned(), test: Test::AnyOf(values.collect()) };
        Self { conditions: vec![condition], ids: None }
    }

    /// Restricts the filter to points with one of these ids.
    #[must_use]
    pub fn among(&self, ids: Vec<PointId>) -> Self {
        Self { conditions: self.conditions.clone(), ids: Some(ids) }
    }

    /// Returns true if all points pass.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.ids.is_none()
    }

    /// Returns true if no point can pass.
    pub fn is_nothing(&self) -> bool {
        let is_nothing =
            |condition: &Condition| matches!(&condition.test, Test::AnyOf(values) if values.is_empty());
        self.conditions.iter().any(is_nothing) || self.ids.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Condition {
    /// Parses the simple form: `FIELD=VALUE`, `FIELD=VALUE|VALUE`, or `FIELD>=NUMBER`. A value in quotes is a
    /// JSON string and matches only this text. Other values also match the number or flag that they can be
    /// parsed as.
    ///
    /// # Errors
    ///
    /// Returns an error if the text does not have this form.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_lookup::Condition;
    ///
    /// let condition = Condition::parse("lines.start>=10")?;
    /// assert_eq!((condition.field.as_str(), condition.to_string().as_str()), ("lines.start", "lines.start>=10"));
    /// assert!(Condition::parse("path==src").is_err());
    /// # Ok::<(), forage_lookup::FilterError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let form = || FilterError::Form(text.to_owned());
        let at = text.find(['=', '<', '>']).ok_or_else(form)?;
        let (field, rest) = (text[..at].trim(), &text[at..]);
        let value = rest.trim_start_matches(|sign: char| "=<>".contains(sign) || sign.is_whitespace());
        let sign: String = rest[..rest.len() - value.len()].split_whitespace().collect();
        if field.ends_with('!') || matches!(sign.as_str(), "<>" | "><") {
            return Err(FilterError::Not(text.to_owned()));
        }
        if !is_field(field) {
            return Err(FilterError::Field(field.to_owned()));
        }
        let side = match sign.as_str() {
            "=" => None,
            ">=" => Some(BoundSide::From),
            "<=" => Some(BoundSide::To),
            ">" => Some(BoundSide::Above),
            "<" => Some(BoundSide::Below),
            other => {
                let right = right_form(field, other, value).ok_or_else(form)?;
                return Err(FilterError::Sign { written: text.to_owned(), right });
            }
        };
        let value = value.trim_end();
        if let Some(side) = side {
            let number = value.parse().ok().filter(|number: &f64| number.is_finite());
            let wrong = || FilterError::Number { condition: text.to_owned(), value: value.to_owned() };
            return Ok(Self { field: field.to_owned(), test: Test::Bound(side, number.ok_or_else(wrong)?) });
        }
        let values = values(value).ok_or_else(|| FilterError::Quotes(text.to_owned()))?;
        if values.is_empty() || values.len() > limits::FILTER_VALUES {
            return Err(FilterError::Values(text.to_owned()));
        }
        Ok(Self { field: field.to_owned(), test: Test::AnyOf(values) })
    }
}

/// Suggests the condition that was probably intended with an invalid operator. Returns `None` if the operator
/// points both ways, e.g. `=<>`.
fn right_form(field: &str, sign: &str, value: &str) -> Option<String> {
    let value = value.trim_end();
    let sides = match (sign.contains('>'), sign.contains('<')) {
        (true, false) => ">=",
        (false, true) => "<=",
        (false, false) => return Some(format!("{field}={value}")),
        (true, true) => return None,
    };
    let bound = match value.parse::<f64>() {
        Ok(_) => format!("{field}{sides}{value}"),
        Err(_) => format!("{field}{sides}NUMBER"),
    };
    // After `=`, the rest may also be meant as text.
    let as_text = sign.strip_prefix('=').map(|rest| serde_json::Value::from(format!("{rest}{value}")));
    Some(match as_text {
        Some(text) => format!("{bound}, or {field}={text} for that text"),
        None => bound,
    })
}

/// Returns true for a path: keys of letters, digits, `_` and `-`, with dots between them, and `[]` after the
/// key of a list of objects.
fn is_field(field: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    field.len() <= limits::FILTER_FIELD_BYTES
        && field.split('.').all(|part| {
            let part = part.strip_suffix("[]").unwrap_or(part);
            !part.is_empty() && part.chars().all(is_plain)
        })
}

/// Splits values at bars. Returns `None` if a quote is invalid, and an empty list if a value is empty. A bar
/// at the end is ignored.
fn values(text: &str) -> Option<Vec<WantedValue>> {
    let mut values = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            values.push(WantedValue::Text(stream.next()?.ok()?));
            rest = rest[stream.byte_offset()..].trim_start();
            match rest.strip_prefix('|') {
                Some(after) => rest = after.trim_start(),
                None if rest.is_empty() => {}
                None => return None,
            }
        } else {
            let (value, after) = rest.split_once('|').unwrap_or((rest, ""));
            if value.trim().is_empty() {
                return Some(Vec::new());
            }
            values.push(WantedValue::Word(value.trim().to_owned()));
            rest = after.trim_start();
        }
    }
    Some(values)
}

impl Readings {
    /// Collects the interpretations of all values, by type.
    pub fn from_values(values: &[WantedValue]) -> Self {
        // Above this, several whole numbers share the same float.
        const EXACT: u64 = 1 << 53;
        let mut readings = Self::default();
        for value in values {
            let (WantedValue::Text(text) | WantedValue::Word(text)) = value;
            readings.texts.push(text.clone());
            if matches!(value, WantedValue::Text(_)) {
                continue;
            }
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(integer), _) => {
                    readings.integers.push(integer);
                    if integer.unsigned_abs() <= EXACT {
                        readings.floats.push(integer as f64);
                    }
                }
                (Err(_), Ok(float)) if float.is_finite() => readings.floats.push(float),
                _ => readings.flags.extend(text.parse::<bool>()),
            }
        }
        readings
    }
}

impl fmt::Display for Condition {
    /// Formats the condition such that [`Condition::parse`] can read it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.field)?;
        match &self.test {
            Test::Bound(side, number) => {
                let sign = match side {
                    BoundSide::Above => ">",
                    BoundSide::From => ">=",
                    BoundSide::Below => "<",
                    BoundSide::To => "<=",
                };
                write!(formatter, "{sign}{number}")
            }
            Test::AnyOf(values) => {
                formatter.write_str("=")?;
                for (number, value) in values.iter().enumerate() {
                    if number > 0 {
                        formatter.write_str("|")?;
                    }
                    match value {
                        WantedValue::Word(word) => formatter.write_str(word)?,
                        WantedValue::Text(text) if is_bare(text) => formatter.write_str(text)?,
                        WantedValue::Text(text) => {
                            write!(formatter, "{}", serde_json::Value::from(text.as_str()))?
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns true if the text needs no quotes: [`Condition::parse`] reads it as this text and as nothing else.
fn is_bare(text: &str) -> bool {
    let is_other = text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok();
    !text.is_empty()
        && text.trim() == text
        && !is_other
        && !text.contains(['|', '"', '\n'])
        && !text.starts_with(['=', '<', '>'])
}

impl fmt::Display for PointFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, condition) in self.conditions.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(formatter, "{comma}{condition}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> WantedValue {
        WantedValue::Word(text.to_owned())
    }

    fn text(text: &str) -> WantedValue {
        WantedValue::Text(text.to_owned())
    }

    #[test]
    fn the_simple_form_is_read_and_written_the_same() {
        let cases = [
            ("repo=shop", "repo", Test::AnyOf(vec![word("shop")])),
            ("page=3|4", "page", Test::AnyOf(vec![word("3"), word("4")])),
            ("doc_id=\"a|b\"|c", "doc_id", Test::AnyOf(vec![text("a|b"), word("c")])),
            ("lines.start>=10", "lines.start", Test::Bound(BoundSide::From, 10.0)),
            ("year<2024.5", "year", Test::Bound(BoundSide::Below, 2024.5)),
            ("year>1", "year", Test::Bound(BoundSide::Above, 1.0)),
            ("tags[].name<=-1", "tags[].name", Test::Bound(BoundSide::To, -1.0)),
            ("path=a=b", "path", Test::AnyOf(vec![word("a=b")])),
            ("größe=\"1\"", "größe", Test::AnyOf(vec![text("1")])),
            ("note=\">2020\"", "note", Test::AnyOf(vec![text(">2020")])),
            ("op=a|>=", "op", Test::AnyOf(vec![word("a"), word(">=")])),
        ];
        for (written, field, test) in cases {
            let condition = Condition::parse(written).unwrap();
            assert_eq!((condition.field.as_str(), &condition.test), (field, &test), "{written}");
            assert_eq!(condition.to_string(), written);
        }
        for (spaced, plain) in [(" repo = shop | bank ", "repo=shop|bank"), ("year > = 2020", "year>=2020")] {
            assert_eq!(Condition::parse(spaced), Condition::parse(plain), "{spaced}");
        }
    }

    #[test]
    fn what_is_no_condition_is_named() {
        for (written, expected) in [
            ("repo", "is not a condition"),
            ("repo!=a", "negation is not supported; list the allowed values"),
            ("repo!==a", "negation is not supported"),
            ("year<>2020", "negation is not supported"),
            ("year=>2020", "write year>=2020, or year=\">2020\" for that text"),
            ("year=<2020", "write year<=2020, or year=\"<2020\" for that text"),
            ("year = > 2020", "write year>=2020"),
            ("year>==2020", "write year>=2020"),
            ("op=>=", "write op>=NUMBER, or op=\">=\" for that text"),
            ("repo==shop", "write repo=shop"),
            ("repo===shop|bank", "write repo=shop|bank"),
            ("year=<>2020", "write FIELD=VALUE"),
            ("=a", "is not a field name"),
            ("a b=c", "is not a field name"),
            ("a..b=c", "is not a field name"),
            ("year>now", "is not a number"),
            ("year>inf", "is not a number"),
            ("repo=", "has no value"),
            ("repo=|a", "has no value"),
            ("repo=\"a", "must be a JSON string"),
            ("repo=\"a\"b", "must be a JSON string"),
        ] {
            let message = Condition::parse(written).unwrap_err().to_string();
            assert!(message.contains(expected), "{written}: {message}");
        }
        let many = format!("a={}", vec!["x"; limits::FILTER_VALUES + 1].join("|"));
        assert!(Condition::parse(&many).is_err());
    }

    #[test]
    fn a_word_is_what_it_reads_as_and_a_text_is_a_text() {
        let readings = Readings::from_values(&[word("3"), word("2.5"), word("true"), word("x"), text("4")]);
        assert_eq!(readings.texts, ["3", "2.5", "true", "x", "4"]);
        assert_eq!(
            (readings.integers, readings.floats, readings.flags),
            (vec![3], vec![3.0, 2.5], vec![true])
        );
        // Two large numbers that are the same float.
        let large = Readings::from_values(&[word("9007199254740993")]);
        assert_eq!((large.integers, large.floats), (vec![9_007_199_254_740_993], vec![]));
    }

    #[test]
    fn fuzz_any_text_is_a_condition_that_is_read_again_or_an_error() {
        let seeds = ["repo=shop", "a.b>=1|2", "x=\"a|\\\"b\"|c", "y<-1e9", "z=true|4"];
        forage_fuzz::target!(&forage_fuzz::seeds(seeds), |input| {
            let text = String::from_utf8_lossy(input);
            let Ok(condition) = Condition::parse(&text) else { return };
            let again = Condition::parse(&condition.to_string()).unwrap();
            assert_eq!(again.field, condition.field);
            match (&again.test, &condition.test) {
                (Test::AnyOf(one), Test::AnyOf(other)) => {
                    assert_eq!(Readings::from_values(one), Readings::from_values(other))
                }
                (one, other) => assert_eq!(one, other),
            }
        });
    }
}
