//! Short answers to requests that are refused, malformed, or about the server itself.

use std::borrow::Cow;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Response, StatusCode};
use serde::de::IgnoredAny;
use serde_json::json;

use super::super::caller::CallerLimit;
use super::super::limits;
use super::Body;

/// The page for a person who opens the server's address in a browser.
const FRONT_PAGE: &str = "\
This is Forage: code search for coding agents, over the Model Context Protocol.

  /mcp       the MCP endpoint (POST)
  /healthz   \"ok\" while the server runs
  /readyz    \"ready\" while calls can be answered

See https://github.com/forage-search/forage for documentation and client setup.
";

/// A short answer to a request that does not reach the protocol layer: a refusal, or a page that anyone may
/// read.
#[derive(Debug)]
pub(super) struct ShortAnswer {
    status: StatusCode,
    content: ShortContent,
    /// Seconds after which the request may be retried.
    retry_after: Option<u64>,
}

#[derive(Debug)]
enum ShortContent {
    /// A JSON-RPC error without id, which protocol clients can display.
    Error {
        /// The JSON-RPC error code.
        code: i32,
        message: &'static str,
    },
    /// Text for a person, or for a program that needs only the status.
    Text(Cow<'static, str>),
    /// Metrics for Prometheus.
    Metrics(String),
}

impl ShortAnswer {
    pub(super) fn new(status: StatusCode, message: &'static str) -> Self {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(limits::RETRY_AFTER_SECONDS);
        Self { status, content: ShortContent::Error { code: -32600, message }, retry_after }
    }

    /// Answers a token that has reached its rate limit.
    pub(super) fn limited(limit: &CallerLimit) -> Self {
        let message = match limit {
            CallerLimit::AtOnce(_) => "this token has reached its limit on concurrent requests",
            CallerLimit::PerMinute { .. } => "this token has reached its limit on requests per minute",
        };
        Self { retry_after: Some(limit.seconds()), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// Answers a body that is not a message.
    pub(super) fn no_message(body: &[u8]) -> Self {
        let status = StatusCode::BAD_REQUEST;
        match std::str::from_utf8(body).map(serde_json::from_str::<IgnoredAny>) {
            Ok(Ok(_)) => {
                Self::new(status, "the body is not a JSON-RPC message, or its parameters are invalid")
            }
            _ => Self {
                content: ShortContent::Error { code: -32700, message: "the body is not JSON" },
                ..Self::new(status, "")
            },
        }
    }

    /// Answers a request for a path outside the protocol: the front page, or the health check.
    pub(super) fn beside(method: &Method, path: &str) -> Self {
        let text = match path {
            "/" => FRONT_PAGE,
            "/healthz" => "ok\n",
            _ => return Self::new(StatusCode::NOT_FOUND, "the MCP endpoint is /mcp"),
        };
        Self::page(method, StatusCode::OK, ShortContent::Text(text.into()))
    }

    /// Answers the readiness check of a load balancer or orchestrator.
    pub(super) fn readiness(method: &Method, state: Result<(), String>) -> Self {
        match state {
            Ok(()) => Self::page(method, StatusCode::OK, ShortContent::Text("ready\n".into())),
            Err(why) => {
                let text = format!("not ready: {why}\n").into();
                Self::page(method, StatusCode::SERVICE_UNAVAILABLE, ShortContent::Text(text))
            }
        }
    }

    /// Answers a request for metrics.
    pub(super) fn metrics(method: &Method, text: String) -> Self {
        Self::page(method, StatusCode::OK, ShortContent::Metrics(text))
    }

    fn page(method: &Method, status: StatusCode, content: ShortContent) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self { content, ..Self::new(status, "") },
            _ => Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "the MCP endpoint is /mcp; this page only supports GET",
            ),
        }
    }

    /// Describes a refusal in one word for the metrics. Returns `None` if the request was answered.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match (self.status, &self.content) {
            (_, ShortContent::Text(_) | ShortContent::Metrics(_)) => None,
            (StatusCode::UNAUTHORIZED, _) => Some("token"),
            (StatusCode::FORBIDDEN, _) => Some("forbidden"),
            (StatusCode::NOT_FOUND, _) => Some("path"),
            (StatusCode::METHOD_NOT_ALLOWED, _) => Some("method"),
            (StatusCode::SERVICE_UNAVAILABLE, _) => Some("busy"),
            (StatusCode::TOO_MANY_REQUESTS, _) => Some("limit"),
            (StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, _) => {
                Some("too_large")
            }
            (StatusCode::REQUEST_TIMEOUT, _) => Some("too_slow"),
            _ => Some("malformed"),
        }
    }

    fn body(&self) -> String {
        match self.content {
            ShortContent::Error { code, message } => {
                json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } }).to_string()
            }
            ShortContent::Text(ref text) => text.clone().into_owned(),
            ShortContent::Metrics(ref text) => text.clone(),
        }
    }

    fn content_type(&self) -> &'static str {
        match self.content {
            ShortContent::Error { .. } => "application/json",
            ShortContent::Text(_) => "text/plain; charset=utf-8",
            ShortContent::Metrics(_) => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The header that this answer has in addition to the common ones.
    fn header(&self) -> Option<(HeaderName, Cow<'static, str>)> {
        if let Some(seconds) = self.retry_after {
            return Some((RETRY_AFTER, seconds.to_string().into()));
        }
        match self.status {
            StatusCode::UNAUTHORIZED => {
                Some((WWW_AUTHENTICATE, "Bearer realm=\"forage\", error=\"invalid_token\"".into()))
            }
            StatusCode::METHOD_NOT_ALLOWED => Some((ALLOW, "GET, HEAD".into())),
            _ => None,
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        // For `HEAD`, hyper sends only the length.
        let mut response = Response::new(Full::new(Bytes::from(self.body())).boxed());
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        if let Some((name, value)) = self.header() {
            // All values are ASCII, so this can't fail.
            response.headers_mut().extend(HeaderValue::from_str(&value).map(|value| (name, value)).ok());
        }
        response
    }

    /// Formats the complete answer for a connection that ends with it. An answer to `HEAD` has no content.
    pub(super) fn to_bytes(&self, is_to_head: bool) -> Vec<u8> {
        let (body, status) = (self.body(), self.status);
        let reason = status.canonical_reason().unwrap_or_default();
        let more = self.header().map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let (length, kind) = (body.len(), self.content_type());
        let body = if is_to_head { "" } else { body.as_str() };
        format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\nconnection: \
             close\r\n\r\n{body}",
            status.as_u16()
        )
        .into_bytes()
    }
}
