//! `forage telemetry`: summarizes the telemetry of calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use forage_fs::open_named;
use forage_tools::sanitize_line;
use serde_json::Value;

use super::output::Terminal;
use super::records::{CallSums, DaySums, ModelSums, TelemetrySums, ToolSums};
use super::session::load;
use super::{Global, Status};
use crate::config::CommandLineSettings;
use crate::telemetry::timestamp;

/// Maximum size in bytes of a file. This is a hundred times the default rotation size.
const FILE_BYTES: u64 = 1 << 30;
/// Maximum length in bytes of a line. Our own lines have a few hundred bytes.
const LINE_BYTES: u64 = 64 << 10;
/// Maximum characters of a name in the tables.
const NAME_BYTES: usize = 60;

#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  forage telemetry --since 7d\n  forage telemetry --json --since 2026-11-01 old.jsonl\n\nSet `telemetry.path` in the configuration to write these lines (docs/telemetry.md)."
)]
pub(crate) struct Arguments {
    /// Files to read [default: `telemetry.path` and its predecessor]
    files: Vec<PathBuf>,
    /// Only calls since a date (2026-11-24), a time (2026-11-24T08:00), or for a period (36h, 7d)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let since = arguments.since.as_deref().map(|when| since(when, SystemTime::now())).transpose()?;
    let mut sums = Sums { since, ..Sums::default() };
    if arguments.files.is_empty() {
        let config = load(global, CommandLineSettings::default())?;
        let Some(path) = config.settings.telemetry.path.as_deref() else {
            bail!(
                "telemetry is off: set `telemetry.path` in {}, or name a telemetry file",
                config.file().display()
            );
        };
        let mut before = path.as_os_str().to_owned();
        before.push(".1");
        for path in [Path::new(&before), path] {
            // Either file may be missing, e.g. if there have been few calls or none.
            if path.exists() {
                sums.read(path)?;
            }
        }
    }
    for path in &arguments.files {
        sums.read(path)?;
    }
    if output.wants_json() {
        output.record(&sums.records())?
    } else {
        output.text(&sums.text())?;
        output.flush()?;
    }
    Ok(if sums.total.calls > 0 { Status::Found } else { Status::NothingFound })
}

/// Parses the value of `--since`. Returns the earliest time to include, in the format of the lines.
fn since(when: &str, now: SystemTime) -> anyhow::Result<String> {
    let hours = |number: &str, hours: u64| {
        let number: u64 = number.parse().ok()?;
        let ago = Duration::from_secs(number.checked_mul(hours)?.checked_mul(3_600)?);
        now.checked_sub(ago).map(timestamp)
    };
    let ago = when
        .strip_suffix('h')
        .and_then(|number| hours(number, 1))
        .or_else(|| when.strip_suffix('d').and_then(|number| hours(number, 24)));
    let is_time = |when: &str| {
        let shape: String = when.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        shape.len() >= 10 && "0000-00-00T00:00:00.000Z".starts_with(&shape)
    };
    match ago {
        Some(time) => Ok(time),
        None if is_time(when) => Ok(when.to_owned()),
        None => bail!(
            "--since {when:?} is not a time; give a date (2026-11-24), a time, or a period such as 36h or 7d"
        ),
    }
}

/// The sums of all events.
#[derive(Debug, Default)]
struct Sums {
    since: Option<String>,
    total: CallSums,
    tools: BTreeMap<String, CallSums>,
    models: BTreeMap<String, CallSums>,
    days: BTreeMap<String, CallSums>,
    lines: u64,
    /// Number of lines that are not events.
    unreadable: u64,
}

impl Sums {
    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        // The error already contains the path and the message of its source.
        let file = open_named(path, FILE_BYTES).map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LINE_BYTES).read_until(b'\n', &mut line);
            let read = read.with_context(|| format!("can't read {}", path.display()))?;
            if read == 0 {
                break;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            self.lines += 1;
            let is_whole = line.ends_with(b"\n") || (read as u64) < LINE_BYTES;
            if !is_whole {
                // This line is too long to be ours, so skip the rest of it.
                reader.skip_until(b'\n').with_context(|| format!("can't read {}", path.display()))?;
            }
            let event = is_whole.then(|| serde_json::from_slice::<Value>(&line).ok()).flatten();
            if !event.is_some_and(|event| self.add(&event)) {
                self.unreadable += 1;
            }
        }
        let rows = [&mut self.tools, &mut self.models, &mut self.days];
        let rows = rows.into_iter().flat_map(BTreeMap::values_mut);
        rows.chain([&mut self.total]).for_each(CallSums::set_percentiles);
        Ok(())
    }

    /// Adds an event to the sums. Returns false if the value is not an event.
    fn add(&mut self, event: &Value) -> bool {
        let text = |name: &str| event[name].as_str();
        // Older versions wrote lines only for lookups, and with other field names.
        let tool = text("tool").or_else(|| text("retrieval.tool"));
        let (Some(time), Some(tool)) = (text("ts"), tool) else { return false };
        if self.since.as_deref().is_some_and(|since| time < since) {
            return true;
        }
        let status = text("status").or_else(|| text("retrieval.status")).unwrap_or_default();
        let is_error = matches!(status, "error" | "refused" | "encoder_unavailable" | "store_unavailable")
            || event["retrieval.error_type"].is_string();
        let latency = event["latency_ms"].as_u64().or_else(|| event["retrieval.latency_ms"].as_u64());
        let none = Vec::new();
        let models = event["models"].as_array().unwrap_or(&none);
        let day: String = time.chars().take(10).collect();
        for sum in [
            &mut self.total,
            self.tools.entry(tool.to_owned()).or_default(),
            self.days.entry(day).or_default(),
        ] {
            sum.calls += 1;
            sum.errors += u64::from(is_error);
            sum.latencies.extend(latency);
            models.iter().for_each(|model| sum.add_usage(model));
        }
        for model in models {
            let part = |name: &str| model[name].as_str().unwrap_or("?");
            let sum = self.models.entry(format!("{}/{}", part("provider"), part("model"))).or_default();
            // We can't trust the numbers in the file, so the sum could overflow.
            sum.calls = sum.calls.saturating_add(model["attempts"].as_u64().unwrap_or(1));
            sum.errors += u64::from(!matches!(part("status"), "answered" | "from_cache"));
            // Skip answers from the cache, which take no time.
            sum.latencies.extend(model["latency_ms"].as_u64().filter(|_| part("status") != "from_cache"));
            sum.add_usage(model);
        }
        true
    }

    fn records(&self) -> TelemetrySums<'_> {
        TelemetrySums {
            since: self.since.as_deref(),
            lines: self.lines,
            unreadable_lines: self.unreadable,
            total: &self.total,
            tools: self.tools.iter().map(|(tool, sums)| ToolSums { sums, tool }).collect(),
            models: self.models.iter().map(|(model, sums)| ModelSums { sums, model }).collect(),
            days: self.days.iter().map(|(day, sums)| DaySums { sums, day }).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, sums) in [("tool", &self.tools), ("model", &self.models), ("day", &self.days)] {
            if sums.is_empty() {
                continue;
            }
            let shown: Vec<(String, &CallSums)> = sums
                .iter()
                .map(|(key, sum)| (sanitize_line(key).chars().take(NAME_BYTES).collect(), sum))
                .collect();
            let width = shown.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0).max(name.len());
            let _ = writeln!(
                text,
                "{name:width$}  {:>7}  {:>6}  {:>9}  {:>9}  {:>11}  {:>11}  {:>10}  {:>10}",
                "calls", "errors", "p50 ms", "p95 ms", "tokens in", "cached", "tokens out", "cost $"
            );
            for (key, sum) in shown {
                let _ = writeln!(text, "{key:width$}  {}", sum.row());
            }
            text.push('\n');
        }
        if self.total.calls == 0 {
            text.push_str("No calls were recorded");
            text.push_str(&self.since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default());
            text.push_str(".\n");
        }
        if self.total.requests_without_cost > 0 {
            let _ = writeln!(
                text,
                "[the cost of {} requests to models is unknown: the sums are lower bounds]",
                self.total.requests_without_cost
            );
        }
        if self.unreadable > 0 {
            let _ = writeln!(text, "[{} of {} lines could not be read]", self.unreadable, self.lines);
        }
        text
    }
}

impl CallSums {
    fn add_usage(&mut self, model: &Value) {
        let tokens = |name: &str| model[name].as_u64().unwrap_or(0);
        self.input_tokens = self.input_tokens.saturating_add(tokens("input_tokens"));
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(tokens("cached_input_tokens"));
        self.output_tokens = self.output_tokens.saturating_add(tokens("output_tokens"));
        match model["cost_usd"].as_f64() {
            Some(cost) => self.cost_usd += cost,
            None if model["status"] == "from_cache" => {}
            None => self.requests_without_cost += 1,
        }
    }

    /// Computes the percentiles with the nearest-rank method.
    fn set_percentiles(&mut self) {
        self.latencies.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (self.latencies.len() * percent).div_ceil(100);
            self.latencies.get(rank.checked_sub(1)?).copied()
        };
        (self.p50_ms, self.p95_ms) = (percentile(50), percentile(95));
    }

    fn row(&self) -> String {
        let latency = |ms: Option<u64>| ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
        format!(
            "{:>7}  {:>6}  {:>9}  {:>9}  {:>11}  {:>11}  {:>10}  {:>10.4}",
            self.calls,
            self.errors,
            latency(self.p50_ms),
            latency(self.p95_ms),
            self.input_tokens,
            self.cached_input_tokens,
            self.output_tokens,
            self.cost_usd
        )
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read files of their own")]
mod tests {
    use serde_json::json;

    use super::*;

    fn sums(lines: &[u8], since: Option<&str>) -> Sums {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        std::fs::write(&path, lines).unwrap();
        let mut sums = Sums { since: since.map(str::to_owned), ..Sums::default() };
        sums.read(&path).unwrap();
        sums
    }

    const LINES: &str = concat!(
        r#"{"ts":"2026-11-23T23:59:59.999Z","tool":"grep_search","status":"found","latency_ms":10}"#,
        "\n",
        r#"{"ts":"2026-11-24T00:00:00.000Z","tool":"find","status":"error","error_type":"models_failed","latency_ms":30,"models":[{"provider":"acme","model":"small","status":"failed","attempts":2,"latency_ms":25}]}"#,
        "\n",
        r#"{"ts":"2026-11-24T01:00:00.000Z","tool":"find","status":"found","latency_ms":50,"models":[{"provider":"acme","model":"small","status":"answered","attempts":1,"latency_ms":45,"input_tokens":100,"cached_input_tokens":40,"output_tokens":9,"cost_usd":0.25}]}"#,
        "\n",
        r#"{"ts":"2026-11-24T02:00:00.000Z","retrieval.tool":"keyword_lookup","retrieval.status":"no_match","retrieval.latency_ms":7}"#,
        "\n\nno JSON\n[1]\n{\"ts\":1}\n{\"ts\":\"2026-11-24T03:00\"",
    );

    #[test]
    fn lines_are_summed_by_tool_by_model_and_by_day() {
        let sums = sums(LINES.as_bytes(), None);
        assert_eq!((sums.lines, sums.unreadable), (8, 4));
        let records = json!(sums.records());
        assert_eq!(
            records["total"],
            json!({"calls": 4, "errors": 1, "p50_ms": 10, "p95_ms": 50, "input_tokens": 100, "cached_input_tokens": 40,
                "output_tokens": 9, "cost_usd": 0.25, "requests_without_cost": 1})
        );
        let names = |rows: &str, name: &str| -> Vec<String> {
            let row =
                |row: &Value| format!("{} {}/{}", row[name].as_str().unwrap(), row["calls"], row["errors"]);
            records[rows].as_array().unwrap().iter().map(row).collect()
        };
        assert_eq!(names("tools", "tool"), ["find 2/1", "grep_search 1/0", "keyword_lookup 1/0"]);
        assert_eq!(names("models", "model"), ["acme/small 3/1"]);
        assert_eq!(names("days", "day"), ["2026-11-23 1/0", "2026-11-24 3/1"]);
        let text = sums.text();
        assert!(text.contains("[4 of 8 lines could not be read]") && text.contains("lower bounds"), "{text}");
    }

    #[test]
    fn only_what_had_ended_since_then_counts() {
        for (since, calls) in
            [("2026-11-24", 3), ("2026-11-24T01:00", 2), ("2026-11-23", 4), ("2027-01-01", 0)]
        {
            assert_eq!(sums(LINES.as_bytes(), Some(since)).total.calls, calls, "{since}");
        }
        let now = std::time::UNIX_EPOCH + Duration::from_secs(1_798_761_599);
        assert_eq!(since("36h", now).unwrap(), "2026-12-30T11:59:59.000Z");
        assert_eq!(since("7d", now).unwrap(), "2026-12-24T23:59:59.000Z");
        assert_eq!(since("2026-11-24T08:00", now).unwrap(), "2026-11-24T08:00");
        for wrong in ["yesterday", "", "7", "2026", "d", "99999999999999999999d", "2026-11-24x"] {
            assert!(since(wrong, now).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fuzz_any_file_is_summed_or_counted() {
        let seeds = forage_fuzz::seeds([LINES.as_bytes(), b"{}\n", &[b'x'; 70_000]]);
        forage_fuzz::target!(&seeds, |input| {
            let sums = sums(input, None);
            assert!(sums.unreadable <= sums.lines && sums.total.calls + sums.unreadable <= sums.lines);
            let text = sums.text();
            assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
        });
    }
}
