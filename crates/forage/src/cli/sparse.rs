//! `forage sparse`: maintains the collections that `forage lookup` searches.

mod encode;
mod repositories;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use forage_base::{Stop, count};
use forage_fs::WalkOptions;
use forage_lookup::{Encoder, FillOutcome, Filling, PointFilter, PointStore, Sharding, count_chunks};
use forage_rank::language_of;
use forage_redact::Redactor;
use forage_tools::ToolError;

use self::repositories::NamedRepository;
use super::output::Terminal;
use super::progress::ProgressBar;
use super::records::{CollectionFilled, CollectionRemoved, CollectionStatus, SparseVectorStatus};
use super::setting_options::SettingOptions;
use super::user_error::{code, error_text};
use super::{Global, Status, session, signals};
use crate::config::{self, CommandLineSettings, Config, SettingsCommand};

const EXAMPLES: &str = "\
Examples:
  forage sparse index ~/src/billing ~/src/shop --collection work
  forage sparse index --repositories ~/clones --prune
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
    /// Fill or update a collection with the files of directories; repeat the command to continue after an interruption
    Index {
        /// Directories; each becomes a repository in the collection
        #[arg(required_unless_present = "repositories", value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Many repositories: a directory of clones, or a file with a path, or a name, a tab and a path, on each line
        #[arg(long, value_name = "LIST", conflicts_with_all = ["paths", "repo"])]
        repositories: Option<PathBuf>,
        /// Remove all other repositories from the collection
        #[arg(long, requires = "repositories")]
        prune: bool,
        /// Name of the repository [default: the name of the directory]
        #[arg(long, value_name = "NAME")]
        repo: Option<String>,
        #[command(flatten)]
        layout: Layout,
        #[command(flatten)]
        collection: SettingOptions<{ SettingsCommand::Collection as u8 }>,
    },
    /// Show the size and the encoding of a collection
    Status {
        #[command(flatten)]
        collection: SettingOptions<{ SettingsCommand::Collection as u8 }>,
    },
    /// Print the sparse vector of a text, to compare it with your own pipeline
    Encode {
        /// The text; `-` reads it from stdin
        #[arg(value_name = "TEXT")]
        text: String,
        /// Encode a document or a query
        #[arg(long = "as", value_name = "FORM", value_parser = ["document", "query"], default_value = "document")]
        form: String,
        #[command(flatten)]
        settings: SettingOptions<{ SettingsCommand::Encode as u8 }>,
    },
    /// Remove a collection, or one repository from it
    Drop {
        /// Remove only this repository
        #[arg(long, value_name = "NAME")]
        repo: Option<String>,
        #[command(flatten)]
        collection: SettingOptions<{ SettingsCommand::Collection as u8 }>,
    },
}

/// The layout of a collection that a server has to make.
#[derive(Clone, Debug, clap::Args)]
struct Layout {
    /// Shards of a new collection on a server
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
    /// Copies of each shard of a new collection on a server
    #[arg(long, value_name = "N")]
    replicas: Option<u32>,
    /// Copies that must accept a write of a new collection on a server
    #[arg(long, value_name = "N")]
    write_consistency: Option<u32>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let collection = match &arguments.command {
        Command::Index { collection, .. }
        | Command::Status { collection }
        | Command::Drop { collection, .. } => collection,
        Command::Encode { text, form, settings } => {
            let given =
                CommandLineSettings { settings: settings.given.clone(), ..CommandLineSettings::default() };
            let config = session::load(global, given)?;
            return encode::run(&config, text, form == "query", output);
        }
    };
    let given = CommandLineSettings { settings: collection.given.clone(), ..CommandLineSettings::default() };
    let config = session::load(global, given)?;
    let store = &*config.collection_place()?.open()?;
    let wanted = wanted(&arguments.command)?;
    let directories: Vec<PathBuf> = wanted
        .iter()
        .flat_map(|wanted| &wanted.repositories)
        .map(|repository| repository.path.clone())
        .collect();
    config.enter_sandbox(&directories, &config.needs_of_collections())?;
    match (&arguments.command, &wanted) {
        (_, Some(wanted)) => index(&config, store, wanted, output),
        (Command::Drop { repo: Some(repo), .. }, None) => remove_repository(store, repo, output),
        (Command::Drop { .. }, None) => remove(store, output),
        _ => show(&config, store, output),
    }
}

/// The repositories to index.
struct Wanted {
    repositories: Vec<NamedRepository>,
    /// True for `--repositories`. Several repositories are then indexed in parallel, and an error in one of
    /// them does not stop the others.
    are_listed: bool,
    /// True if all other repositories should be removed from the collection.
    prunes: bool,
    /// The layout of the collection, if it does not exist yet.
    sharding: Sharding,
}

fn wanted(command: &Command) -> anyhow::Result<Option<Wanted>> {
    let Command::Index { paths, repo, repositories, prune, layout, .. } = command else { return Ok(None) };
    let working = config::working_directory()?;
    let Layout { shards, replicas, write_consistency } = *layout;
    let sharding = Sharding { shards, replicas, write_consistency, ..Sharding::default() };
    if let Some(place) = repositories {
        let repositories = repositories::listed(&working.join(place))?;
        return Ok(Some(Wanted { repositories, are_listed: true, prunes: *prune, sharding }));
    }
    if repo.is_some() && paths.len() > 1 {
        bail!(
            "--repo names one repository, but there are {} paths; run the command once for each",
            paths.len()
        );
    }
    let mut names = BTreeSet::new();
    let mut named = Vec::new();
    for path in paths {
        let path = working.join(path);
        let name = match repo {
            Some(name) => name.clone(),
            None => repository_name(&path)?,
        };
        // With the same name, the second one would delete the points of the first.
        if !names.insert(name.clone()) {
            bail!("two of the paths are called {name}; index one of them separately with --repo NAME");
        }
        named.push(NamedRepository { name, path });
    }
    Ok(Some(Wanted { repositories: named, are_listed: false, prunes: false, sharding }))
}

fn index(
    config: &Config,
    store: &dyn PointStore,
    wanted: &Wanted,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let (encoder, stop) = (config.document_encoder(), signals::stop()?);
    // Text for a server may leave the machine, so it must be redacted.
    let redactor = config.redactor_for_collections()?;
    let written = Arc::new(AtomicU64::new(0));
    let Wanted { repositories, are_listed, prunes, sharding } = wanted;
    let threads = match config.settings.limits.threads {
        // Split the processors among the repositories that are indexed at the same time.
        0 if *are_listed => {
            let at_a_time = REPOSITORIES_AT_A_TIME.min(repositories.len()).max(1);
            std::thread::available_parallelism().map_or(1, |count| count.get().div_ceil(at_a_time))
        }
        threads => threads,
    };
    let indexing = Indexing {
        config,
        store,
        sharding,
        encoder: &*encoder,
        redactor: redactor.as_ref(),
        written: &written,
        threads,
        stop: &stop,
    };
    if repositories.len() > 1 || *are_listed {
        output.answer_several();
    }
    if !are_listed {
        for repository in repositories {
            let indexed = {
                let _progress = ProgressBar::counting("filling the collection", &written, "chunks");
                indexing.run(repository)
            };
            print_outcome(store, &repository.name, &indexed?, output)?;
        }
        return Ok(Status::Found);
    }
    let failed = indexing.run_all(repositories, output)?;
    if *prunes {
        let kept: BTreeSet<&str> = repositories.iter().map(|repository| repository.name.as_str()).collect();
        for name in forage_lookup::repositories(store, &stop)? {
            if !kept.contains(name.as_str()) {
                let points = forage_lookup::remove_repository(store, &name, &stop)?;
                output.note(&format!("{name} is not listed: {} removed", count(points, "chunk")));
            }
        }
    }
    match failed {
        0 => Ok(Status::Found),
        failed => {
            let verb = if failed == 1 { "is" } else { "are" };
            let next = if stop.is_cancelled() { "; run the command again to continue" } else { "" };
            bail!("{failed} of {} repositories {verb} not fully indexed{next}", repositories.len())
        }
    }
}

/// The data that all indexing tasks of a command share.
struct Indexing<'a> {
    config: &'a Config,
    store: &'a dyn PointStore,
    sharding: &'a Sharding,
    encoder: &'a dyn Encoder,
    redactor: Option<&'a Redactor>,
    written: &'a Arc<AtomicU64>,
    /// Number of threads that read the files of a repository, or 0 for one per processor.
    threads: usize,
    stop: &'a Stop,
}

/// The result of indexing a repository.
struct Indexed {
    filled: FillOutcome,
    elapsed: Duration,
    notices: Vec<String>,
}

impl Indexing<'_> {
    fn run(&self, repository: &NamedRepository) -> anyhow::Result<Indexed> {
        let NamedRepository { name, path } = repository;
        let root = session::open_root(self.config, path)?;
        let mut narrowed = self.config.clone();
        config::narrow(&mut narrowed, std::slice::from_ref(&root));
        let redact = |text: &str| {
            let redacted = self.redactor.map(|redactor| redactor.redact(text));
            redacted.map_or_else(
                || (text.to_owned(), 0),
                |it| (it.as_str().to_owned(), it.counts().total() as u64),
            )
        };
        let filling = Filling {
            store: self.store,
            encoder: self.encoder,
            using: &self.config.settings.retrieval.vector,
            repository: name,
            sharding: self.sharding.clone(),
            language: language_of,
            max_file_bytes: narrowed.settings.limits.max_file_bytes,
            redact: self.redactor.is_some().then_some(&redact as _),
            written: Arc::clone(self.written),
        };
        let (began, before) = (Instant::now(), self.written.load(Ordering::Relaxed));
        let walk = WalkOptions {
            excludes: session::excludes(&narrowed)?,
            threads: self.threads,
            noise: forage_fs::NOISE,
            ..WalkOptions::default()
        };
        let filled = filling.run(&root, &walk, self.stop).map_err(|error| {
            let written = count(self.written.load(Ordering::Relaxed) - before, "chunk");
            let next = if error.is_temporary() { "; run the command again to continue" } else { "" };
            anyhow::Error::new(error)
                .context(format!("{name} is not fully indexed ({written} written{next})"))
        })?;
        Ok(Indexed { filled, elapsed: began.elapsed(), notices: narrowed.notices })
    }

    /// Indexes all repositories, several in parallel, and reports each as soon as it is done. Returns the
    /// number of repositories that failed or, after an interruption, were not started.
    fn run_all(&self, repositories: &[NamedRepository], output: &mut Terminal) -> anyhow::Result<usize> {
        let (next, mut failed) = (AtomicUsize::new(0), 0);
        let (sender, receiver) = mpsc::sync_channel(REPOSITORIES_AT_A_TIME);
        let _progress = ProgressBar::counting("filling the collection", self.written, "chunks");
        std::thread::scope(|scope| {
            for _ in 0..REPOSITORIES_AT_A_TIME.min(repositories.len()) {
                let sender = sender.clone();
                let next = &next;
                scope.spawn(move || {
                    while let Some(repository) = repositories.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if self.stop.check().is_some() {
                            return;
                        }
                        let indexed = catch_unwind(AssertUnwindSafe(|| self.run(repository)));
                        let panicked = |_| {
                            Err(ToolError::Internal {
                                tool: "sparse index".to_owned(),
                                message: format!("it panicked in {}", repository.name),
                            }
                            .into())
                        };
                        if sender.send((repository, indexed.unwrap_or_else(panicked))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut done = 0;
            for (repository, indexed) in receiver {
                done += 1;
                match indexed {
                    Ok(indexed) => print_outcome(self.store, &repository.name, &indexed, output)?,
                    Err(error) => {
                        failed += 1;
                        let nothing = Indexed {
                            filled: FillOutcome::default(),
                            elapsed: Duration::ZERO,
                            notices: Vec::new(),
                        };
                        output.record_or_text(&filled_record(self.store, &repository.name, &nothing), "")?;
                        output.failure(&format!("{}: {}", repository.name, error_text(&error)), code(&error));
                    }
                }
            }
            // Also count the repositories that were not started.
            failed += repositories.len() - done;
            Ok(failed)
        })
    }
}

/// Number of repositories to index in parallel. Each of them waits for the disk, the encoder and the store in
/// turn.
const REPOSITORIES_AT_A_TIME: usize = 4;

/// Returns the default name of a repository, which is the name of its directory.
fn repository_name(root: &Path) -> anyhow::Result<String> {
    let name = root.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).with_context(|| format!("{} has no name; give --repo NAME", root.display()))
}

fn filled_record<'a>(store: &dyn PointStore, name: &'a str, indexed: &'a Indexed) -> CollectionFilled<'a> {
    let Indexed { filled, elapsed, .. } = indexed;
    let FillOutcome { files, unchanged, removed, points, redacted, is_unchanged, report } = filled;
    let skipped = report.skipped.iter().map(|(reason, count)| (reason.name(), count));
    CollectionFilled {
        collection: store.place(),
        repo: name,
        files_written: *files,
        files_unchanged: *unchanged,
        files_removed: *removed,
        chunks_written: *points,
        secrets_redacted: *redacted,
        skipped: skipped.collect(),
        warnings: &report.warnings,
        elapsed_ms: elapsed.as_millis() as u64,
        as_before: *is_unchanged,
    }
}

fn print_outcome(
    store: &dyn PointStore,
    name: &str,
    indexed: &Indexed,
    output: &mut Terminal,
) -> anyhow::Result<()> {
    let Indexed { filled, elapsed, notices } = indexed;
    let FillOutcome { files, unchanged, removed, points, redacted, report, .. } = filled;
    let record = filled_record(store, name, indexed);
    let mut text = format!(
        "{name}: {} written ({}), {unchanged} unchanged, {removed} removed, in {:.1} s\n",
        count(*files, "file"),
        count(*points, "chunk"),
        elapsed.as_secs_f64()
    );
    if *redacted > 0 {
        text.push_str(&format!("  secrets removed from the sent text: {redacted}\n"));
    }
    for (reason, count) in report.skipped.iter() {
        text.push_str(&format!("  left out: {count} {}\n", reason.name()));
    }
    notices.iter().chain(&report.warnings).for_each(|warning| output.note(warning));
    output.record_or_text(&record, &text)
}

fn show(config: &Config, store: &dyn PointStore, output: &mut Terminal) -> anyhow::Result<Status> {
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
        output.record_or_text(
            &record,
            &format!("there is no {place}; `forage sparse index PATH` creates one\n"),
        )?;
        return Ok(Status::NothingFound);
    };
    let points = count_chunks(store, &PointFilter::default(), &stop)?;
    let vectors: Vec<_> = collection.sparse_vectors.iter().collect();
    let shown =
        vectors.iter().map(|(name, facts)| SparseVectorStatus { name: (*name).clone(), idf: facts.has_idf });
    let record = CollectionStatus {
        collection: place.clone(),
        exists: true,
        points: Some(points),
        encoding: collection.contract.as_ref().map(ToString::to_string),
        sparse_vectors: Some(shown.collect()),
    };
    let encoding = collection.contract.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let mut text = format!("{place}: {}, encoded with {encoding}\n", count(points, "chunk"));
    for (name, facts) in vectors {
        let idf = if facts.has_idf { "" } else { ", without the IDF modifier (see `retrieval.idf`)" };
        let used = if *name == config.settings.retrieval.vector { " (used)" } else { "" };
        text.push_str(&format!("  sparse vector {name}{used}{idf}\n"));
    }
    output.record_or_text(&record, &text)?;
    Ok(Status::Found)
}

fn remove_repository(store: &dyn PointStore, name: &str, output: &mut Terminal) -> anyhow::Result<Status> {
    let (place, stop) = (store.place(), signals::stop()?);
    let chunks = forage_lookup::remove_repository(store, name, &stop)?;
    let text = match chunks {
        0 => format!("{place} has no chunks of {name}\n"),
        chunks => format!("{place}: {} of {name} removed\n", count(chunks, "chunk")),
    };
    output.record_or_text(&CollectionRemoved { collection: place, removed: chunks > 0 }, &text)?;
    Ok(if chunks > 0 { Status::Found } else { Status::NothingFound })
}

fn remove(store: &dyn PointStore, output: &mut Terminal) -> anyhow::Result<Status> {
    let (place, stop) = (store.place(), signals::stop()?);
    let was_there = store.drop_collection(&stop)?;
    let text = if was_there { format!("{place}: removed\n") } else { format!("there is no {place}\n") };
    output.record_or_text(&CollectionRemoved { collection: place, removed: was_there }, &text)?;
    Ok(if was_there { Status::Found } else { Status::NothingFound })
}
