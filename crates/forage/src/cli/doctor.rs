//! `forage doctor`: reports what works, what does not, and how to fix it. It must go on after every problem,
//! and must not reveal secrets. So it shows only the names of the variables that hold keys, and only the
//! state of Forage's own entry in a client's file.

mod records;
mod sections;

use std::fmt::Write as _;

use forage_fs::Root;
use forage_tools::{ErrorCode, sanitize};

use super::output::Terminal;
use super::user_error::error_text;
use super::{Global, Status, session, version};
use crate::config::{self, CommandLineSettings, Config};
pub(super) use records::{Diagnosis, StartReport};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if Forage works, 2 if something is broken.",
    after_long_help = "Examples:\n  forage doctor              the state of each part, and remedies\n  forage doctor --online     also the providers' lists of models\n\nExit status: 0 if Forage works, 2 if something is broken."
)]
pub(crate) struct Arguments {
    /// Read the providers' lists of models instead of using cached ones
    #[arg(long)]
    online: bool,
}

/// The findings of `forage doctor`.
#[derive(Default)]
struct DoctorReport {
    text: String,
    /// Problems that prevent Forage from working.
    problems: Vec<String>,
    /// Problems that affect only a part of Forage.
    warnings: Vec<String>,
}

impl DoctorReport {
    /// Adds a section to the text.
    fn section(&mut self, name: &str, lines: &[String]) {
        let _ = writeln!(self.text, "{name}:");
        for line in lines {
            let _ = writeln!(self.text, "  {line}");
        }
    }
}

/// The installation to examine.
struct DoctorSubject {
    config: Config,
    roots: Vec<std::sync::Arc<Root>>,
    extent: Extent,
}

/// The checks that the user has asked for. Only `forage doctor` runs more than the fewest.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// Read the providers' lists of models.
    online: bool,
    /// Start the servers of the clients' entries, which are programs of the user's choice.
    starts_servers: bool,
}

impl DoctorSubject {
    /// Loads the valid parts of the configuration, and returns the errors of the other parts.
    fn new(global: &Global, extent: Extent) -> (Self, Vec<anyhow::Error>) {
        let flags = session::with_flags(global, CommandLineSettings::default());
        let (config, problems) = config::load_what_is_valid(global.config.as_deref(), &flags);
        (Self { config, roots: Vec::new(), extent }, problems)
    }

    fn paths(&self) -> Vec<&std::path::Path> {
        self.roots.iter().map(|root| root.path()).collect()
    }
}

/// Runs `forage` without a command. This shows the roots, the index, the models and the clients, and suggests
/// commands to try. Unlike `forage doctor`, it starts no server of the clients' entries.
pub(crate) fn start(global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let mut report = DoctorReport::default();
    let (mut subject, invalid) = DoctorSubject::new(global, Extent::default());
    report.problems.extend(invalid.iter().map(error_text));
    let roots = sections::roots(&mut report, &mut subject);
    let index = sections::index(&mut report, &subject);
    let models = sections::models(&mut report, &subject);
    let clients = sections::clients(&mut report, &subject, global);
    let DoctorReport { text, problems, .. } = report;
    if output.wants_json() {
        output.record(&StartReport { roots, index, models, clients, problems })?;
        return Ok(Status::Found);
    }
    let broken = match problems.len() {
        0 => String::new(),
        _ => format!("\nSomething is broken; `forage doctor` says more:\n  {}\n", problems.join("\n  ")),
    };
    output.text(&sanitize(&format!(
        "forage {}: code search for coding agents and the people who run them\n\n{text}{broken}\n{TO_TRY}",
        version::version()
    )))?;
    output.flush()?;
    Ok(Status::Found)
}

const TO_TRY: &str = "\
Try:
  forage rank how are failed requests retried     the best files for a question, without a model
  forage grep 'TODO|FIXME'                        matching lines, with ripgrep's flags and output
  forage setup --detected                         set up your agents; add --write to do it
`forage help` lists all commands, `forage help COMMAND` has examples.
";

/// Runs the checks that neither start a client's server nor send a request.
pub(crate) fn quiet_diagnosis(global: &Global) -> Diagnosis {
    diagnosis(global, Extent::default()).1
}

/// Runs all checks, and returns the diagnosis as text and as a record.
fn diagnosis(global: &Global, extent: Extent) -> (String, Diagnosis) {
    let mut report = DoctorReport::default();
    let (mut subject, problems) = DoctorSubject::new(global, extent);
    let diagnosis = Diagnosis {
        versions: sections::versions(&mut report),
        roots: sections::roots(&mut report, &mut subject),
        configuration: sections::configuration(&mut report, &subject, &problems),
        tools: sections::tools(&mut report, &subject),
        engines: sections::engines(&mut report, &subject),
        models: sections::models(&mut report, &subject),
        caches: sections::caches(&mut report, &subject),
        index: sections::index(&mut report, &subject),
        sandbox: sections::sandbox(&mut report, &subject),
        clients: sections::clients(&mut report, &subject, global),
        warnings: Vec::new(),
        problems: Vec::new(),
        usable: false,
    };
    let DoctorReport { mut text, problems, warnings } = report;
    for (title, list) in [("warnings", &warnings), ("problems", &problems)] {
        if !list.is_empty() {
            let _ = writeln!(text, "\n{title}:");
            for entry in list {
                let _ = writeln!(text, "  {entry}");
            }
        }
    }
    let is_usable = problems.is_empty();
    let _ = writeln!(
        text,
        "\n{}",
        if is_usable { "Forage is usable." } else { "Something is broken; see above." }
    );
    (text, Diagnosis { warnings, problems, usable: is_usable, ..diagnosis })
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let extent = Extent { online: arguments.online, starts_servers: true };
    let (text, diagnosis) = diagnosis(global, extent);
    let is_usable = diagnosis.usable;
    if output.wants_json() {
        output.record(&diagnosis)?;
    } else {
        output.text(&sanitize(&text))?;
        output.flush()?;
    }
    if !is_usable {
        output
            .failure("something is broken; the problems say what it is and how to fix it", ErrorCode::Failed);
    }
    Ok(if is_usable { Status::Found } else { Status::Failed })
}
