//! Makes the calls of a test through the library. Arguments: TREE REQUESTS.
#![expect(clippy::disallowed_macros, reason = "its output is its purpose")]

use forage_tools::Workspace;
use forage_tools::registry::{self, refusal};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let workspace = Workspace::open(&arguments[0])?;
    let requests: Vec<(String, Value)> = serde_json::from_str(&arguments[1])?;
    let answers = requests.into_iter().map(|(name, request)| {
        let tool = registry::find(&name)?;
        let call = workspace.start_call();
        Ok(match tool.call(&call, request.clone()) {
            Ok(answer) => json!({ "text": answer.text, "records": answer.records() }),
            Err(error) => json!({ "code": error.code(), "text": refusal(tool, &call, request, &error) }),
        })
    });
    let answers = answers.collect::<Result<Vec<_>, forage_tools::ToolError>>()?;
    println!("{}", json!(answers));
    Ok(())
}
