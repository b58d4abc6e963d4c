//! `forage eval --lines`: how many of the relevant lines an answer shows.

use serde_json::{Value, json};

use crate::Project;
use crate::eval::{forage, records};
use crate::support::stable;

#[test]
fn eval_compares_line_shares_with_other_programs() {
    let long = |name: &str| {
        let body: String = (0..30).map(|index| format!("    step_{index}(retry);\n")).collect();
        format!("fn {name}() {{\n{body}}}\n\n")
    };
    let retry = format!("{}{}", long("retry_request"), long("parse_header"));
    let project = Project::new(&[("src/retry.rs", &retry), ("src/other.rs", &long("add_numbers"))]);
    let query = |text: &str, more: Value| {
        let mut query = json!({ "query": text, "relevant": ["src/retry.rs"] });
        more.as_object().unwrap().iter().for_each(|(key, value)| query[key] = value.clone());
        query
    };
    let lines = json!({ "lines": { "src/retry.rs": [[1, 32]] }, "edits": { "src/retry.rs": [5, 30] }, "commit": "c1" });
    let queries = json!([query("retry_request", lines), query("parse_header", json!({}))]);
    let set = json!([{ "name": "shop", "language": "rust", "queries": queries }]);
    project.write("sets.json", &set.to_string());
    let found = records(&project, &["eval", "sets.json", "--lines", "1000"]);
    let of = &found["lines"];
    assert_eq!(
        (&of["queries"], &of["queries_without_lines"], &of["failed"]),
        (&json!(1), &json!(1), &json!(0))
    );
    let way = &of["ways"][0];
    assert_eq!(
        (&way["name"], &way["recall"], &way["edits_seen"]),
        (&json!("forage"), &json!(1.0), &json!(1.0))
    );
    assert_eq!(of["answers"][0]["commit"], "c1");
    assert!(of["answers"][0]["shown"]["src/retry.rs"].is_array(), "{of}");
    // Fewer tokens show fewer lines.
    let less = records(&project, &["eval", "sets.json", "--lines", "100"]);
    assert!(less["lines"]["ways"][0]["tokens"].as_f64().unwrap() < way["tokens"].as_f64().unwrap(), "{less}");
    // Compare with the saved answers, and with another program that shows half of the lines and names another
    // file.
    project.write("saved.json", &found.to_string());
    let other = json!([{ "set": "shop", "commit": "c1", "files": ["src/other.rs"], "shown": { "src/retry.rs": [[1, 16]] }, "tokens": 500 }]);
    project.write("other.json", &other.to_string());
    let arguments = [
        "eval",
        "sets.json",
        "--lines",
        "1000",
        "--beside",
        "before=saved.json",
        "--beside",
        "other=other.json",
    ];
    let compared = records(&project, &arguments);
    let ways = compared["lines"]["ways"].as_array().unwrap();
    assert_eq!(
        ways[1]["forage_less_this"]["recall"],
        json!({ "mean": 0.0, "low": 0.0, "high": 0.0, "better": 0, "worse": 0 })
    );
    assert_eq!(
        ways[2]["forage_less_this"]["recall"],
        json!({ "mean": 0.5, "low": 0.5, "high": 0.5, "better": 1, "worse": 0 })
    );
    assert_eq!(
        (&ways[2]["files_named"], &ways[2]["precision"], &ways[2]["tokens"]),
        (&json!(0.0), &json!(1.0), &json!(500.0))
    );
    let reported = forage(&project, &arguments).stdout;
    let lines = reported.lines().skip_while(|line| !line.starts_with("lines ")).collect::<Vec<_>>();
    insta::assert_snapshot!(stable(&lines.join("\n")));
    // Input that can't be measured is an error.
    let mut all = String::new();
    for arguments in [
        &["eval", "sets.json", "--lines", "0"][..],
        &["eval", "sets.json", "--beside", "a=saved.json"],
        &["eval", "sets.json", "--lines", "--beside", "saved.json"],
        &["eval", "sets.json", "--lines", "--beside", "a=gone.json"],
        &["eval", "sets.json", "--lines", "--beside", "a=sets.json"],
        &["eval", "sets.json", "--lines", "--at-revision"],
    ] {
        all += &forage(&project, arguments).shown();
    }
    let set = json!([{ "name": "shop", "queries": [query("retry_request", json!({}))] }]);
    project.write("none.json", &set.to_string());
    all += &forage(&project, &["eval", "none.json", "--lines"]).shown();
    insta::assert_snapshot!("eval_lines_errors", all);
}
