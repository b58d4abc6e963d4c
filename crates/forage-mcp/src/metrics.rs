//! Metrics for Prometheus, and the report of each request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::{Duration, Instant};

use forage_tools::{CallSink, EndedCall};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::server::Shared;

/// Label names and values.
type Labels<const N: usize> = [(&'static str, String); N];

/// The metrics of a server. Clones share the same values.
#[derive(Clone)]
pub struct ServerMetrics(Arc<MetricFamilies>);

struct MetricFamilies {
    registry: Registry,
    calls: Family<Labels<3>, Counter<u64, AtomicU64>>,
    seconds: Family<Labels<1>, Histogram>,
    running: Gauge<i64, AtomicI64>,
    refused: Family<Labels<1>, Counter<u64, AtomicU64>>,
}

/// Bucket bounds in seconds, from the time of a file read to the time of a model's answer.
const SECONDS: [f64; 12] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

impl ServerMetrics {
    /// Creates metrics with all values at 0.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("forage");
        let (calls, running, refused) = (Family::default(), Gauge::default(), Family::default());
        let seconds: Family<Labels<1>, Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register("calls", "Tool calls that have ended", calls.clone());
        registry.register("call_seconds", "Time from a call to its answer", seconds.clone());
        registry.register("calls_running", "Tool calls running or queued", running.clone());
        let help = "HTTP requests rejected, for example for a wrong token";
        registry.register("requests_refused", help, refused.clone());
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Build information", version);
        Self(Arc::new(MetricFamilies { registry, calls, seconds, running, refused }))
    }

    /// Formats the metrics as OpenMetrics, which Prometheus reads.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` can't fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    pub(super) fn refuses(&self, reason: &str) {
        self.0.refused.get_or_create(&[("reason", reason.to_owned())]).inc();
    }
}

impl CallSink<EndedCall<'_>> for ServerMetrics {
    fn begun(&self) {
        self.0.running.inc();
    }

    fn ended(&self, call: EndedCall<'_>) {
        self.0.running.dec();
        let tool = [("tool", call.tool.to_owned())];
        let token = ("token", call.token.unwrap_or_default().to_owned());
        self.0.seconds.get_or_create(&tool).observe(call.elapsed.as_secs_f64());
        let [tool] = tool;
        self.0.calls.get_or_create(&[tool, ("outcome", call.outcome.to_owned()), token]).inc();
    }
}

impl Default for ServerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ServerMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerMetrics")
    }
}

/// A running call. It is reported when this is dropped, even if its caller has disconnected.
pub(super) struct WatchedCall<'a> {
    shared: &'a Shared,
    began: Instant,
    call: EndedCall<'a>,
}

impl<'a> WatchedCall<'a> {
    pub(super) fn begin(shared: &'a Shared, tool: &'a str, token: Option<&'a str>, client: &'a str) -> Self {
        shared.observers.requests.iter().for_each(|sink| sink.begun());
        // This outcome remains if the call is dropped before its end.
        let (outcome, bytes, elapsed) = ("cancelled", 0, Duration::ZERO);
        let call = EndedCall { tool, token, client, outcome, bytes, elapsed };
        Self { shared, began: Instant::now(), call }
    }

    pub(super) fn end(mut self, outcome: &'a str, bytes: usize) {
        (self.call.outcome, self.call.bytes) = (outcome, bytes);
    }
}

impl Drop for WatchedCall<'_> {
    fn drop(&mut self) {
        self.call.elapsed = self.began.elapsed();
        self.shared.observers.requests.iter().for_each(|sink| sink.ended(self.call));
    }
}
