//! Fuzzes bodies of unauthenticated requests.

use forage_fuzz::target;
use serde_json::Value;

use super::{ShortAnswer, method_of};

#[test]
fn the_method_of_a_body_is_read_from_json_alone() {
    let seeds = forage_fuzz::seeds([
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        r#"{"method":"init\u0069alize","method2":"initialize"}"#,
        r#"[{"method":"initialize"}]"#,
    ]);
    // Found by fuzzing: a body that was not UTF-8 opened a session and counted as JSON.
    let seeds =
        [seeds, vec![b"{\"jsonrpc\":\"2\xff\xfe.0\",\"id\":1,\"method\":\"initialize\"}".to_vec()]].concat();
    target!(&seeds, |body| {
        let value = serde_json::from_slice::<Value>(body).ok();
        let method = method_of(body);
        assert!(method.is_none() || std::str::from_utf8(body).is_ok());
        if let (Some(value), Some(method)) = (&value, &method) {
            assert_eq!(value["method"], method.as_str());
        }
        let refusal = String::from_utf8(ShortAnswer::no_message(body).to_bytes(false)).unwrap();
        let (_, answer) = refusal.split_once("\r\n\r\n").unwrap();
        let code = &serde_json::from_str::<Value>(answer).unwrap()["error"]["code"];
        // A number that does not fit an `f64` is JSON by its grammar alone.
        assert!(value.is_none() || *code == -32600, "{refusal}");
        assert!(std::str::from_utf8(body).is_ok() || *code == -32700, "{refusal}");
    });
}
