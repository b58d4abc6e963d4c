//! `forage index`: shows and maintains the instant index and the ranked index.

mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};
use forage_base::{Stop, count};
use forage_fs::{Root, WalkOptions};
use forage_rank::tree::UpdateEffort;
use forage_search::index::{self, Index, Verification};
use forage_tools::index_manager::{IndexStore, Lifetime, ScrubProgress, Update};
use forage_tools::{CallProgress, ErrorCode, Indexes as _};

use self::verify::Verified;
use super::output::Terminal;
use super::progress::ProgressBar;
use super::records::{
    BeingBuilt, IndexBuilt, IndexRemoved, IndexStatus, IndexVerified, IndexedFiles, RankedIndexBuilt,
    RereadFiles,
};
use super::session;
use super::{Global, Status};
use crate::config::{self, CommandLineSettings, Config, Needs};

const EXAMPLES: &str = "\
Examples:
  forage index build               searches then read only files that can match
  forage index build --ranked      the index of `forage rank`, which its first use would build
  forage index status
  forage index drop";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
enum Command {
    /// Show the size of the index, and how much of it is up to date
    Status,
    /// Create or update the index; with --ranked, that of `forage rank`
    Build {
        /// Build the ranked index of `forage rank`; otherwise its first use does
        #[arg(long)]
        ranked: bool,
    },
    /// Remove the index and the ranked index
    Drop,
    /// Rebuild the index from every file, and compare searches with it and without it
    Verify,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Status> {
    let config = session::load(global, CommandLineSettings::default())?;
    let working = config::working_directory()?;
    let directories = session::directories(&config, &working, &[]);
    let keeps = matches!(arguments.command, Command::Build { .. });
    config.enter_sandbox(&directories, &Needs { keeps, ..Needs::default() })?;
    if directories.len() > 1 {
        output.answer_several();
    }
    let mut status = Status::Found;
    for directory in &directories {
        let root = session::open_root(&config, directory)?;
        let store = config.index_store(&root)?;
        let walk = WalkOptions { threads: config.settings.limits.threads, ..WalkOptions::default() };
        let done = match arguments.command {
            Command::Status => show(&root, &store, &walk, output),
            Command::Build { ranked: false } => build(&root, &store, walk, output),
            Command::Build { ranked: true } => build_ranked(&config, &root, &store, &walk, output),
            Command::Drop => remove(&root, &store, output),
            Command::Verify => check(&root, &store, &walk, output),
        }?;
        if done != Status::Found {
            status = done;
        }
    }
    Ok(status)
}

fn show(
    root: &Arc<Root>,
    store: &IndexStore,
    walk: &WalkOptions,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let path = root.path().display();
    let building = store.building();
    let (index, problems) = store.open_checked();
    let usable = index.as_ref().map(|index| usable(root, index, walk)).transpose()?;
    let reread = store.scrub_progress();
    let ScrubProgress { done, began, ended, different } = reread;
    let record = IndexStatus {
        root: path.to_string(),
        directory: store.directory().display().to_string(),
        exists: index.is_some(),
        being_built: building.map(|files| BeingBuilt { files }),
        bytes: store.size(),
        files: usable.map(|(as_indexed, all)| IndexedFiles { as_indexed, all }),
        problems: &problems,
        reread: RereadFiles { files: done, began, ended, different },
        ranked_bytes: store.ranked_size(),
    };
    let mut text = match usable {
        None => format!("{path}: no index; `forage index build` creates one\n"),
        Some((usable, all)) => format!(
            "{path}: {usable} of {all} files are up to date in the index, searches read the others; {} \
             in {}\n",
            count(store.size(), "byte"),
            store.directory().display()
        ),
    };
    if let Some((_, all)) = usable {
        text.push_str(&format!(
            "{path}: a server reads all of them again within a day, at most {} MiB in a minute; {} of {all} in this round, \
             {} so far differed from the index\n",
            forage_search::limits::SCRUB_BYTES_PER_STEP >> 20,
            reread.done.min(all),
            reread.different
        ));
    }
    problems.iter().for_each(|problem| text.push_str(&format!("  can't be used: {problem}\n")));
    if let Some(files) = building {
        text.push_str(&format!("{path}: another process is building it, {} so far\n", count(files, "file")));
    }
    if let Some(bytes) = store.ranked_size() {
        text.push_str(&format!(
            "{path}: the ranked index has {}; every use brings it up to date\n",
            count(bytes, "byte")
        ));
    }
    output.record_or_text(&record, &text)?;
    Ok(if index.is_some() { Status::Found } else { Status::NothingFound })
}

/// Counts the files that have not changed since they were indexed, and all files.
fn usable(root: &Arc<Root>, index: &Index, walk: &WalkOptions) -> anyhow::Result<(u64, u64)> {
    let report = verify::visit(root, index, walk)?;
    Ok((report.visited.saturating_sub(index.strangers()), report.visited))
}

fn build(
    root: &Arc<Root>,
    store: &IndexStore,
    walk: WalkOptions,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let files = Arc::default();
    let walk = WalkOptions { progress: Some(Arc::clone(&files)), ..walk };
    let update = {
        let _progress = ProgressBar::counting("building the index", &files, "files");
        store.update(root, &walk, &Stop::never())?
    };
    let (what, files) = match update {
        Update::Built(files) => ("built", files),
        Update::Updated(files) => ("updated", files),
        Update::Busy => bail!("another process is building the index of {}", root.path().display()),
    };
    let (path, bytes) = (root.path().display(), store.size());
    // The index is built even if we can't count the files in it.
    let counts = store.open_checked().0.and_then(|index| usable(root, &index, &walk).ok());
    let others = counts.map_or(0, |(usable, all)| all.saturating_sub(usable));
    let record = IndexBuilt {
        root: path.to_string(),
        done: what,
        files_read: files,
        files_not_as_indexed: others,
        bytes,
    };
    let mut text = format!("{path}: {what}, {} read, {}\n", count(files, "file"), count(bytes, "byte"));
    if others > 0 {
        text.push_str(&format!(
            "{path}: not up to date in the index: {}, unreadable or changed less than two seconds before; \
             searches read the files, and the next build tries again\n",
            count(others, "file")
        ));
    }
    output.record_or_text(&record, &text)?;
    Ok(Status::Found)
}

fn build_ranked(
    config: &Config,
    root: &Arc<Root>,
    store: &IndexStore,
    walk: &WalkOptions,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let kept = config.indexes(Lifetime::Search);
    let indexes = kept.context("`index` is \"off\" in your configuration, so no index is kept")?.shared();
    let progress = CallProgress::default();
    let effort = UpdateEffort {
        threads: walk.thread_count(),
        progress: Arc::clone(&progress.ranked),
        ..UpdateEffort::default()
    };
    let ranked = {
        let _progress = ProgressBar::for_call(&progress, "comparing files with the ranked index");
        indexes.ranked(root, &effort).transpose()?.context("no ranked index is stored for this root")?
    };
    if let Some(problem) = ranked.warning {
        bail!("{problem}");
    }
    let (path, read, bytes) = (
        root.path().display(),
        effort.progress.read.load(Ordering::Relaxed),
        store.ranked_size().unwrap_or(0),
    );
    let files = ranked.index.files();
    let record = RankedIndexBuilt { root: path.to_string(), files, files_read: read, bytes };
    output.record_or_text(
        &record,
        &format!("{path}: {}, {read} of them read now, {}\n", count(files, "file"), count(bytes, "byte")),
    )?;
    Ok(Status::Found)
}

fn remove(root: &Arc<Root>, store: &IndexStore, output: &mut Terminal) -> anyhow::Result<Status> {
    let was_there = store.remove()?;
    let path = root.path().display();
    let what = if was_there { "the index is removed" } else { "there was no index" };
    let record = IndexRemoved { root: path.to_string(), removed: was_there };
    output.record_or_text(&record, &format!("{path}: {what}\n"))?;
    Ok(if was_there { Status::Found } else { Status::NothingFound })
}

fn check(
    root: &Arc<Root>,
    store: &IndexStore,
    walk: &WalkOptions,
    output: &mut Terminal,
) -> anyhow::Result<Status> {
    let Some(index) = store.open() else {
        bail!("{} has no index; `forage index build` creates one", root.path().display());
    };
    let mut texts = Verification::default();
    for layer in index.layers() {
        texts.add(index::verify(root, layer, &Stop::never())?);
    }
    let Verified { queries, matches, different } = verify::compare(root, &Arc::new(index), walk)?;
    let is_equal = different.is_empty() && texts.different == 0;
    let path = root.path().display();
    let record = IndexVerified {
        root: path.to_string(),
        files: texts.compared,
        bytes: texts.bytes,
        different_files: texts.different,
        first_different_files: texts.named.iter().map(|path| path.display().into_owned()).collect(),
        queries,
        matching_lines: matches,
        equal: is_equal,
        different: &different,
    };
    let (files, bytes) = (count(texts.compared, "file"), count(texts.bytes, "byte"));
    let mut text = format!("{path}: {files}, {bytes}, ");
    match texts.different {
        0 => text.push_str("all match the index\n"),
        count => {
            text.push_str(&format!("{count} DIFFER from the index:\n"));
            texts.named.iter().for_each(|path| text.push_str(&format!("  {}\n", path.display())));
            let more = count - texts.named.len() as u64;
            if more > 0 {
                text.push_str(&format!("  and {more} more\n"));
            }
        }
    }
    text.push_str(&format!("{path}: {queries} queries, {}, ", count(matches, "matching line")));
    text.push_str(match different.is_empty() {
        true => "all the same without the index\n",
        false => "NOT the same without the index:\n",
    });
    different.iter().for_each(|pattern| text.push_str(&format!("  {pattern}\n")));
    if !is_equal {
        text.push_str("`forage index drop` removes it, and `forage index build` builds a new one\n");
    }
    output.record_or_text(&record, &forage_tools::sanitize(&text))?;
    if !is_equal {
        output
            .failure("the index does not match the files; `forage index drop` removes it", ErrorCode::Failed);
    }
    Ok(if is_equal { Status::Found } else { Status::Failed })
}
