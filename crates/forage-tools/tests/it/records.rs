//! The schema of a tool's records must describe every answer: those with hits, without hits, truncated or at
//! a deadline, and errors.

use forage_tools::registry::{TOOLS, find};
use serde_json::{Value, json};

use crate::lookup;
use crate::support::{Tree, answer, call};

/// Finds the places where a value violates a schema. This is stricter than JSON Schema: fields that the
/// schema does not name count as violations.
fn violations(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let mut fail = |what: String| found.push(format!("{place}: {what}: {value}"));
    let known =
        ["type", "description", "properties", "required", "items", "enum", "anyOf", "additionalProperties"];
    let annotations =
        ["title", "format", "minimum", "maximum", "default", "minItems", "maxItems", "const", "oneOf"];
    for keyword in schema.as_object().into_iter().flat_map(|schema| schema.keys()) {
        if !known.contains(&keyword.as_str()) && !annotations.contains(&keyword.as_str()) {
            fail(format!("a keyword that this test does not know, {keyword}"));
        }
    }
    let is_of = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(kind)) {
        fail(format!("no {kinds:?}"));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        fail(format!("none of {}", schema["enum"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        fail(format!("not {}", schema["const"]));
    }
    for alternatives in [&schema["anyOf"], &schema["oneOf"]].into_iter().filter_map(Value::as_array) {
        let fits = |schema: &Value| {
            let mut found = Vec::new();
            violations(schema, value, place, &mut found);
            found.is_empty()
        };
        if !alternatives.iter().any(fits) {
            fail("none of the alternatives".to_owned());
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            fail(format!("lacks {name}"));
        }
    }
    let is_structure = schema.get("properties").is_some() || schema.get("additionalProperties").is_some();
    for (name, field) in value.as_object().into_iter().flatten().filter(|_| is_structure) {
        let of_name = schema["properties"].get(name);
        match of_name.or(schema.get("additionalProperties")) {
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) | None => found.push(format!("{place}: {name} is not in the schema")),
            Some(schema) => violations(schema, field, &format!("{place}/{name}"), found),
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(schema) = schema.get("items") {
            violations(schema, item, &format!("{place}/{index}"), found);
        }
    }
}

#[test]
fn every_answer_is_as_the_schema_of_its_tool_says() {
    let tree = Tree::new();
    tree.write("a.txt", "needle one\ntwo\nthree needles ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\n");
    tree.write("sub/b.rs", "fn needle() {\n    // a needle below\n}\n");
    tree.write("sub/latin.txt", b"caf\xe9 needle\n");
    tree.write("node_modules/x.txt", format!("needle {}\n", "long ".repeat(400)));
    tree.write(".hidden", "onlyhere\n");
    tree.link("a.txt", "link");
    tree.commit("First");
    let mut workspace = tree.workspace();
    workspace.lookup = lookup::fixture(&[lookup::code("x.rs", "needle here")]).workspace.lookup;
    let no_time = {
        let mut workspace = workspace.clone();
        workspace.limits.timeout = std::time::Duration::ZERO;
        workspace
    };
    let of_pattern = [
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "max_results": 1}),
        json!({"pattern": "absent"}),
        json!({"pattern": "onlyhere"}),
        json!({"pattern": "needle", "path": "sub", "no_such_note": 1}),
        json!({"pattern": "["}),
    ];
    let of_query = [
        json!({"query": "needle"}),
        json!({"query": "needle below", "limit": 1}),
        json!({"query": "absent"}),
        json!({"query": ""}),
    ];
    let requests = |tool: &str| match tool {
        "keyword_search" => vec![
            json!({"query": "q", "search_terms": ["needle", "absent", "("]}),
            json!({"query": "q", "search_terms": ["absent"]}),
            json!({"query": "q", "search_terms": ["onlyhere"]}),
            json!({"query": "q", "search_terms": []}),
        ],
        "grep_search" => [&of_pattern[..], &[json!({"pattern": "needle", "include_ignored": true})]].concat(),
        "Search" => {
            let more = [
                json!({"pattern": "neelde", "fuzzy": 2, "best_first": true, "context": 1}),
                json!({"pattern": "needle", "no_ignore": true}),
            ];
            [&of_pattern[..], &more].concat()
        }
        "search_index" => [&of_query[..], &[json!({"query": "needle", "explain": true})]].concat(),
        "keyword_lookup" => of_query.to_vec(),
        "search_history" => {
            let of_file = json!({"symbol": "needle", "path": "sub/b.rs"});
            [&of_pattern[..], &[json!({}), json!({"path": "sub"}), of_file]].concat()
        }
        "read_file" => {
            ["a.txt", "sub/latin.txt", "node_modules/x.txt", "gone"].map(|path| json!({"path": path})).into()
        }
        "list_directory" => {
            vec![json!({}), json!({"recursive": true, "include_ignored": true}), json!({"path": "a.txt"})]
        }
        other => panic!("{other} has no request here"),
    };
    let mut seen = 0;
    for tool in TOOLS {
        let schema = find(tool.name()).unwrap().output_schema();
        assert_eq!((&schema["type"], schema.get("required")), (&json!("object"), None), "{}", tool.name());
        for request in requests(tool.name()) {
            for workspace in [&workspace, &no_time] {
                let record = match call(workspace, tool.name(), request.clone()) {
                    Ok(answer) => answer.records().clone(),
                    Err(error) => json!({"type": "error", "error": error.to_string()}),
                };
                let mut found = Vec::new();
                violations(&schema, &record, "", &mut found);
                assert!(found.is_empty(), "{} {request}: {found:#?}", tool.name());
                seen += 1;
            }
        }
        // Positive control: this does find violations.
        let mut found = Vec::new();
        violations(&schema, &json!({"truncated": 1, "nobody": 2}), "", &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
    }
    assert!(seen > 50, "{seen}");
}

/// `text_cut` in the journal means that results are hidden. Context lines that we drop don't count.
#[test]
fn dropped_context_is_not_a_cut() {
    let tree = Tree::new();
    tree.write("a.txt", "before\nneedle\nafter\nfar\nfar\n".repeat(16));
    let mut workspace = tree.workspace();
    for (tool, request) in [
        ("grep_search", json!({ "pattern": "needle", "context_lines": 1 })),
        ("Search", json!({ "pattern": "needle", "context": 1 })),
    ] {
        let mut seen = [0; 3];
        for bytes in (150..3_000).step_by(50) {
            workspace.limits.text_bytes = bytes;
            let found = answer(&workspace, tool, request.clone());
            let hides = found.text.lines().filter(|line| line.ends_with("needle")).count() < 16;
            assert_eq!(found.head.text_cut, hides, "{tool} in {bytes} bytes: {}", found.text);
            seen[usize::from(hides) + usize::from(found.records()["text_cut"] == true)] += 1;
        }
        // We have seen answers with everything, without context, and without some of the matches.
        assert!(seen.iter().all(|number| *number > 0), "{tool}: {seen:?}");
    }
}

/// The journal lists the files of a ranking from the best to the worst.
#[test]
fn shown_files_keep_the_order_of_the_answer() {
    let tree = Tree::new();
    tree.write("a.txt", "a needle among many other words that say nothing\n".repeat(9));
    tree.write("z/needle.txt", "needle\n");
    let found = answer(&tree.workspace(), "search_index", json!({ "query": "needle" }));
    let ranked = found.records()["files"].as_array().unwrap().iter().map(|file| file["path"].clone());
    let ranked: Vec<Value> = ranked.collect();
    let shown: Vec<Value> = found.head.shown.iter().map(|file| json!(file.path)).collect();
    assert_eq!(ranked, ["z/needle.txt", "a.txt"]);
    assert_eq!(shown, ranked);
}
