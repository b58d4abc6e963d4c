//! Accesses values in a payload: those that a condition tests, and those that a caller requests.

use serde_json::{Map, Value};

use crate::filter::{BoundSide, Condition, Readings, Test};
use crate::store::ALL_FIELDS;

/// A step of a path into a payload: the key of an object, and whether `[]` continues with each item of a
/// list.
#[derive(Debug, PartialEq, Eq)]
struct Step<'a> {
    key: &'a str,
    is_list: bool,
}

/// Splits a path at its dots. As in Qdrant's paths, a key in double quotes may contain dots.
fn steps(mut path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    loop {
        let (key, rest) = match path.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
            Some(quoted) => quoted,
            None => path.split_at(path.find(['.', '[']).unwrap_or(path.len())),
        };
        let inner = rest.strip_prefix("[]");
        steps.push(Step { key, is_list: inner.is_some() });
        match inner.unwrap_or(rest).strip_prefix('.') {
            Some(next) => path = next,
            None => return steps,
        }
    }
}

/// Looks up the values at a path. If the path ends at a list, these are its items.
pub(crate) fn values<'a>(payload: &'a Map<String, Value>, path: &str) -> Vec<&'a Value> {
    let steps = steps(path);
    let Some((first, rest)) = steps.split_first() else { return Vec::new() };
    let items = |value: &'a Value| value.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let enter = |step: &Step<'_>, value: &'a Value| -> Vec<&'a Value> {
        if step.is_list { items(value).collect() } else { vec![value] }
    };
    let mut found: Vec<&Value> = payload.get(first.key).map(|value| enter(first, value)).unwrap_or_default();
    for step in rest {
        let next = found.iter().filter_map(|value| value.get(step.key));
        found = next.flat_map(|value| enter(step, value)).collect();
    }
    found
        .into_iter()
        .flat_map(|value| if value.is_array() { items(value).collect() } else { vec![value] })
        .collect()
}

/// Copies the parts of a payload that any of the paths selects, with their enclosing objects.
pub(crate) fn select(payload: &Map<String, Value>, paths: &[String]) -> Map<String, Value> {
    if paths.iter().any(|path| path == ALL_FIELDS) {
        return payload.clone();
    }
    let paths: Vec<Vec<Step<'_>>> = paths.iter().map(|path| steps(path)).collect();
    select_in(payload, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn select_in(object: &Map<String, Value>, paths: &[&[Step<'_>]]) -> Map<String, Value> {
    let mut selected = Map::new();
    for (key, value) in object {
        let inner: Vec<_> =
            paths.iter().filter(|path| path.first().is_some_and(|step| step.key == key)).collect();
        let part = if inner.iter().any(|path| path.len() == 1) {
            Some(value.clone())
        } else {
            // A path with `[]` selects nothing in an object, and a path without it selects nothing in a list.
            let of_list = |wanted: bool| -> Vec<&[Step<'_>]> {
                inner.iter().filter(|path| path[0].is_list == wanted).map(|path| &path[1..]).collect()
            };
            match value {
                Value::Object(object) => Some(select_in(object, &of_list(false)))
                    .filter(|part| !part.is_empty())
                    .map(Value::Object),
                Value::Array(items) => {
                    let paths = of_list(true);
                    let items = items.iter().filter_map(Value::as_object).map(|item| select_in(item, &paths));
                    let items: Vec<Value> =
                        items.filter(|item| !item.is_empty()).map(Value::Object).collect();
                    Some(items).filter(|items| !items.is_empty()).map(Value::Array)
                }
                _ => None,
            }
        };
        selected.extend(part.map(|part| (key.clone(), part)));
    }
    selected
}

impl Condition {
    /// Returns true if one of the values of the field passes.
    pub(crate) fn matches(&self, payload: &Map<String, Value>) -> bool {
        let values = values(payload, &self.field);
        match &self.test {
            Test::Bound(side, bound) => {
                values.iter().filter_map(|value| value.as_f64()).any(|number| match side {
                    BoundSide::Above => number > *bound,
                    BoundSide::From => number >= *bound,
                    BoundSide::Below => number < *bound,
                    BoundSide::To => number <= *bound,
                })
            }
            Test::AnyOf(wanted) => {
                let wanted = Readings::from_values(wanted);
                values.iter().any(|value| match value {
                    Value::String(text) => wanted.texts.contains(text),
                    Value::Bool(flag) => wanted.flags.contains(flag),
                    Value::Number(number) => {
                        number.as_i64().is_some_and(|integer| wanted.integers.contains(&integer))
                            || number.as_f64().is_some_and(|float| wanted.floats.contains(&float))
                    }
                    _ => false,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn selected_fields_keep_their_place() {
        let payload = object(json!({
            "path": "a.rs", "lines": {"start": 3, "end": 9}, "a.b": 1,
            "tags": [{"name": "x", "rank": 1}, {"rank": 2}, {"name": "y"}],
        }));
        for (paths, expected) in [
            (&["path"][..], json!({"path": "a.rs"})),
            (&["lines.start"], json!({"lines": {"start": 3}})),
            (&["lines.start", "lines.end", "absent"], json!({"lines": {"start": 3, "end": 9}})),
            (&["lines"], json!({"lines": {"start": 3, "end": 9}})),
            (&["\"a.b\""], json!({"a.b": 1})),
            (&["tags[].name"], json!({"tags": [{"name": "x"}, {"name": "y"}]})),
            (&["path.x", "lines[].start", "tags.name"], json!({})),
            (&[], json!({})),
            (&["absent", "*"], Value::Object(payload.clone())),
        ] {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            assert_eq!(Value::Object(select(&payload, &paths)), expected, "{paths:?}");
        }
    }

    #[test]
    fn conditions_are_tested_on_values_of_their_type() {
        let payload = object(json!({
            "repo": "shop", "page": 3, "ratio": 3.0, "draft": true, "lines": {"start": 12},
            "tags": ["a", "b"], "authors": [{"name": "x"}, {"name": "y"}], "big": 9_007_199_254_740_995_i64,
        }));
        for (condition, expected) in [
            ("repo=shop", true),
            ("repo=shop|bank", true),
            ("repo=bank", false),
            ("page=3", true),
            ("page=\"3\"", false),
            ("ratio=3", true),
            ("page=3.0", true),
            ("big=9007199254740995", true),
            ("big=9007199254740993", false),
            ("draft=true", true),
            ("draft=false", false),
            ("lines.start>=12", true),
            ("lines.start>12", false),
            ("lines.start<=12", true),
            ("lines.start<12", false),
            ("tags=b", true),
            ("tags=c", false),
            ("authors[].name=y", true),
            ("authors.name=y", false),
            ("absent=x", false),
            ("repo>1", false),
        ] {
            assert_eq!(Condition::parse(condition).unwrap().matches(&payload), expected, "{condition}");
        }
    }
}
