//! `forage sparse`: what is looked up by `forage lookup`.

mod encode;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, bail};
use forage_fs::WalkOptions;
use forage_rank::language_of;
use forage_sparse::{Filled, Filling, PointFilter, PointStore};
use serde::Serialize;

use super::output::Terminal;
use super::progress::ProgressBar;
use super::records::{CollectionFilled, CollectionRemoved, CollectionStatus, SparseVectorStatus};
use super::setting_options::{self, SettingOptions};
use super::{Global, Status, session, signals};
use crate::config::{self, CommandLineSettings, Config};
use crate::retrieval::OnDemand;

const EXAMPLES: &str = "\
Examples:
  forage sparse index ~/src/billing ~/src/shop --collection work
  forage sparse status --collection work
  forage sparse drop --collection work";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Fill a collection with the files of directories, or bring it up to date: only what has changed is written, and what
    /// has gone is removed. What was interrupted goes on when it is called again
    Index {
        /// Directories, each a repository of its own in the collection
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Name of the repository in the collection [default: the name of the directory]
        #[arg(long, value_name = "NAME")]
        repo: Option<String>,
        #[command(flatten)]
        collection: SettingOptions<setting_options::Collection>,
    },
    /// Show what the collection says of itself
    Status {
        #[command(flatten)]
        collection: SettingOptions<setting_options::Collection>,
    },
    /// Print the vector that a text becomes: what a pipeline of your own has to give for the same collection
    Encode {
        /// The text; `-` reads it from stdin
        #[arg(value_name = "TEXT")]
        text: String,
        /// As a document is stored, or as a query asks
        #[arg(long = "as", value_name = "FORM", value_parser = ["document", "query"], default_value = "document")]
        form: String,
        #[command(flatten)]
        settings: SettingOptions<setting_options::Encode>,
    },
    /// Remove the whole collection
    Drop {
        #[command(flatten)]
        collection: SettingOptions<setting_options::Collection>,
    },
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let collection = match &arguments.command {
        Command::Index { collection, .. } | Command::Status { collection } | Command::Drop { collection } => {
            collection
        }
        Command::Encode { text, form, settings } => {
            let given =
                CommandLineSettings { settings: settings.said.clone(), ..CommandLineSettings::default() };
            let config = session::load(global, given)?;
            return encode::run(&config, text, form == "query", output);
        }
    };
    let given = CommandLineSettings { settings: collection.said.clone(), ..CommandLineSettings::default() };
    let config = session::load(global, given)?;
    let store = OnDemand::new(config.collection_place()?).map_err(anyhow::Error::msg)?;
    let working = config::working_directory()?;
    let directories: Vec<PathBuf> = match &arguments.command {
        Command::Index { paths, .. } => paths.iter().map(|path| working.join(path)).collect(),
        Command::Status { .. } | Command::Drop { .. } | Command::Encode { .. } => Vec::new(),
    };
    config.wall_in(&directories, &config.needs_of_collections())?;
    match &arguments.command {
        Command::Index { paths, repo, .. } => index(&config, &store, paths, repo.as_deref(), output),
        Command::Drop { .. } => remove(&store, output),
        Command::Status { .. } | Command::Encode { .. } => show(&config, &store, output),
    }
}

fn index(
    config: &Config,
    store: &OnDemand,
    paths: &[PathBuf],
    repo: Option<&str>,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    if repo.is_some() && paths.len() > 1 {
        bail!("--repo names one repository, and there are {} paths; call it once for each", paths.len());
    }
    let (encoder, (using, sharding)) = (config.document_encoder()?, config.collection_shape());
    let working = config::working_directory()?;
    let mut repositories = Vec::new();
    let mut names = BTreeSet::new();
    for path in paths {
        let root = session::open_root(config, &working.join(path))?;
        let name = match repo {
            Some(name) => name.to_owned(),
            None => repository_name(root.path())?,
        };
        // The second would remove what the first has written.
        if !names.insert(name.clone()) {
            bail!("two of the paths are called {name}; index one of them by itself with --repo NAME");
        }
        repositories.push((root, name));
    }
    let stop = signals::stop()?;
    // What goes to a server leaves the machine, or may.
    let redactor = config.redactor_for_collections()?;
    let redact = |text: &str| {
        let redacted = redactor.as_ref().map(|redactor| redactor.redact(text));
        redacted
            .map_or_else(|| (text.to_owned(), 0), |it| (it.as_str().to_owned(), it.counts().total() as u64))
    };
    if repositories.len() > 1 {
        output.answer_several();
    }
    for (root, name) in &repositories {
        let mut narrowed = config.clone();
        config::narrow(&mut narrowed, std::slice::from_ref(root));
        narrowed.notices.iter().for_each(|notice| output.note(notice));
        let written = Arc::new(AtomicU64::new(0));
        let filling = Filling {
            store,
            encoder: &*encoder,
            using: &using,
            repository: name,
            sharding: sharding.clone(),
            language: language_of,
            max_file_bytes: narrowed.settings.limits.max_file_bytes.value,
            redact: redactor.is_some().then_some(&redact as _),
            written: Arc::clone(&written),
        };
        let began = Instant::now();
        let filled = {
            let _progress = ProgressBar::counting("filling the collection", &written, "chunks");
            let excludes = session::excludes(&narrowed)?;
            let walk = WalkOptions {
                excludes,
                threads: config.settings.limits.threads.value,
                noise: forage_fs::NOISE,
                ..WalkOptions::default()
            };
            filling.run(root, &walk, &stop)
        };
        let filled = filled.with_context(|| {
            let written = written.load(Ordering::Relaxed);
            format!("{name} is not indexed whole ({written} chunks were written; call again to go on)")
        })?;
        tell(store, name, &filled, began, output)?;
    }
    Ok(Status::Found)
}

/// What a directory is called.
fn repository_name(root: &Path) -> anyhow::Result<String> {
    let name = root.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned)
        .with_context(|| format!("{} has no name to call it by; give --repo NAME", root.display()))
}

fn tell(
    store: &dyn PointStore,
    name: &str,
    filled: &Filled,
    began: Instant,
    output: &mut Terminal,
) -> anyhow::Result<()> {
    let Filled { files, unchanged, removed, points, redacted, report } = filled;
    let skipped = report.skipped.iter().map(|(reason, count)| (reason.name(), count));
    let record = CollectionFilled {
        collection: store.place(),
        repo: name,
        files_written: *files,
        files_unchanged: *unchanged,
        files_removed: *removed,
        chunks_written: *points,
        secrets_redacted: *redacted,
        skipped: skipped.collect(),
        warnings: &report.warnings,
        elapsed_ms: began.elapsed().as_millis() as u64,
    };
    let mut text = format!(
        "{name}: {files} files written ({points} chunks), {unchanged} as they were, {removed} removed, in {:.1} s\n",
        began.elapsed().as_secs_f64()
    );
    if *redacted > 0 {
        text.push_str(&format!("  secrets taken out of what was sent: {redacted}\n"));
    }
    for (reason, count) in report.skipped.iter() {
        text.push_str(&format!("  left out: {count} {}\n", reason.name()));
    }
    report.warnings.iter().for_each(|warning| output.note(warning));
    print(output, &record, &text)
}

fn show(config: &Config, store: &OnDemand, output: &mut Terminal) -> anyhow::Result<Status> {
    let stop = signals::stop()?;
    let place = store.place();
    let Some(collection) = store.collection(&stop)? else {
        let record = CollectionStatus {
            collection: place.clone(),
            exists: false,
            points: None,
            encoding: None,
            sparse_vectors: None,
        };
        print(output, &record, &format!("there is no {place}; `forage sparse index PATH` makes one\n"))?;
        return Ok(Status::NothingFound);
    };
    let points = store.count(&PointFilter::default(), &stop)?;
    let vectors: Vec<_> = collection.sparse_vectors.iter().collect();
    let shown =
        vectors.iter().map(|(name, facts)| SparseVectorStatus { name: (*name).clone(), idf: facts.has_idf });
    let record = CollectionStatus {
        collection: place.clone(),
        exists: true,
        points: Some(points),
        encoding: Some(collection.contract.as_ref().map(ToString::to_string)),
        sparse_vectors: Some(shown.collect()),
    };
    let encoding = collection.contract.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let mut text = format!("{place}: {points} chunks, encoded with {encoding}\n");
    for (name, facts) in vectors {
        let idf = if facts.has_idf { "" } else { ", WITHOUT the IDF modifier, so that lookups are refused" };
        let used = if *name == config.collection_shape().0 { " (used)" } else { "" };
        text.push_str(&format!("  sparse vector {name}{used}{idf}\n"));
    }
    print(output, &record, &text)?;
    Ok(Status::Found)
}

fn remove(store: &OnDemand, output: &mut Terminal) -> anyhow::Result<Status> {
    let (place, stop) = (store.place(), signals::stop()?);
    let was_there = store.drop_collection(&stop)?;
    let text = if was_there { format!("{place}: removed\n") } else { format!("there is no {place}\n") };
    print(output, &CollectionRemoved { collection: place, removed: was_there }, &text)?;
    Ok(if was_there { Status::Found } else { Status::NothingFound })
}

fn print(output: &mut Terminal, record: &impl Serialize, text: &str) -> anyhow::Result<()> {
    if output.wants_json() {
        output.record(record)?;
    } else {
        output.text(text)?;
    }
    output.flush()
}
