//! The tool definitions that models read. We keep snapshots of them, and check that they stay in the schema
//! subset that every provider accepts.

use serde_json::Value;

use crate::Project;

fn definitions(format: &str) -> Vec<Value> {
    let run = Project::new(&[]).run(&["tools", "--format", format]);
    run.json().as_array().unwrap().clone()
}

/// Returns all definitions, including those of tools that are off by default.
fn all_definitions(format: &str) -> Vec<Value> {
    let run = Project::new(&[]).run(&["tools", "--all", "--format", format]);
    run.json().as_array().unwrap().clone()
}

#[test]
fn definitions_are_as_published() {
    for format in ["mcp", "openai", "openai-strict", "anthropic", "gemini"] {
        insta::assert_json_snapshot!(format!("tools-{format}"), definitions(format));
    }
}

#[test]
fn definitions_that_are_off_by_default_are_as_published() {
    let on = definitions("mcp").len();
    for format in ["mcp", "openai-strict"] {
        insta::assert_json_snapshot!(format!("tools-off-{format}"), all_definitions(format)[on..]);
    }
}

#[test]
fn help_is_as_published() {
    let project = Project::new(&[]);
    for command in [
        "",
        "keyword",
        "grep",
        "rank",
        "list",
        "read",
        "ask",
        "mcp",
        "call",
        "tools",
        "models",
        "config",
        "doctor",
        "eval",
        "setup",
        "hook",
        "lookup",
        "sparse",
        "telemetry",
    ] {
        let arguments: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        // clap wraps to the terminal's width. Without a terminal this width is fixed.
        insta::assert_snapshot!(format!("help-{command}"), project.run(&arguments).stdout);
    }
}

/// Limits what the definitions cost an agent that has not called a tool yet.
#[test]
fn definitions_and_instructions_stay_small() {
    let costs = Project::new(&[]).run(&["tools", "--cost", "--json"]).json();
    let tokens = |key: &str| costs[key].as_u64().unwrap();
    assert!(tokens("all_definitions") + tokens("instructions") <= 1_900, "{costs}");
    assert!(costs["tools"]["grep_search"].as_u64().unwrap() > 300, "{costs}");
}

/// Every provider accepts these schemas: one plain object, one type per property, string enums only, and no
/// references or combinators.
#[test]
fn schemas_stay_in_the_portable_subset() {
    for tool in all_definitions("mcp") {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        // The requirements of `Search` define its name and arguments, so other rules do not apply to it.
        let required = name == "Search";
        assert!(
            required
                || name.len() >= 3
                    && name.len() <= 40
                    && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert!(tool["description"].as_str().unwrap().len() <= 1_600, "{name}");
        let keys: Vec<&String> = schema.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "properties", "required"], "{name}");
        assert_eq!(schema["type"], "object", "{name}");
        let properties = schema["properties"].as_object().unwrap();
        assert!(required || properties.len() <= 9, "{name}");
        for (property, value) in properties {
            let place = format!("{name}.{property}");
            let fields = value.as_object().unwrap();
            let allowed = ["type", "description", "items", "enum", "minimum", "maximum"];
            assert!(fields.keys().all(|key| allowed.contains(&key.as_str())), "{place}: {value}");
            let kind = value["type"].as_str().unwrap_or_else(|| panic!("{place} has one type: {value}"));
            assert!(["string", "integer", "boolean", "number", "array"].contains(&kind), "{place}");
            assert!(!value["description"].as_str().unwrap().is_empty(), "{place}");
            assert_eq!(kind == "array", value["items"]["type"].is_string(), "{place}");
        }
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{name}");
        }
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
    }
    for tool in all_definitions("openai-strict") {
        let parameters = &tool["function"]["parameters"];
        let names: Vec<&String> = parameters["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            names.len(),
            parameters["required"].as_array().unwrap().len(),
            "strict: everything is required"
        );
        assert_eq!(parameters["additionalProperties"], false, "strict: OpenAI asks for it");
    }
    // Other formats must not have it. With it, a client that validates calls would withhold arguments that
    // Forage understands or explains.
    for format in ["mcp", "openai", "anthropic", "gemini"] {
        let definitions = all_definitions(format);
        let text = serde_json::to_string(&definitions).unwrap();
        assert!(definitions.len() > 5 && !text.contains("additionalProperties"), "{format}: {text}");
    }
}
