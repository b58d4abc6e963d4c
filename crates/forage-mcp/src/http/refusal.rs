//! What is told to those whose request is not let in, or is none.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::limits;
use super::Body;

/// An answer to what is not even looked at: a JSON-RPC error without id, which clients of the protocol can show.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    status: StatusCode,
    /// As JSON-RPC has it.
    code: i32,
    message: &'static str,
}

impl HttpRefusal {
    pub(super) fn new(status: StatusCode, message: &'static str) -> Self {
        Self { status, code: -32600, message }
    }

    /// For a body that is no message.
    pub(super) fn no_message(body: &[u8]) -> Self {
        let status = StatusCode::BAD_REQUEST;
        match std::str::from_utf8(body).map(serde_json::from_str::<IgnoredAny>) {
            Ok(Ok(_)) => Self::new(
                status,
                "the body is not a JSON-RPC message, or one with parameters that do not fit",
            ),
            _ => Self { status, code: -32700, message: "the body is not JSON" },
        }
    }

    fn body(&self) -> String {
        let error: Value =
            json!({ "jsonrpc": "2.0", "error": { "code": self.code, "message": self.message } });
        error.to_string()
    }

    /// Headers beside those that every refusal has.
    fn header(&self) -> Option<(HeaderName, &'static str)> {
        match self.status {
            StatusCode::UNAUTHORIZED => {
                Some((WWW_AUTHENTICATE, "Bearer realm=\"forage\", error=\"invalid_token\""))
            }
            StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, limits::RETRY_AFTER_SECONDS)),
            _ => None,
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Full::new(Bytes::from(self.body())).boxed());
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The whole answer, for a connection that ends with it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (body, status) = (self.body(), self.status);
        let reason = status.canonical_reason().unwrap_or_default();
        let more = self.header().map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let length = body.len();
        format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\nconnection: \
             close\r\n\r\n{body}",
            status.as_u16()
        )
        .into_bytes()
    }
}
