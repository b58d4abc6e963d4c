//! Runs query sets. Each tree is indexed in memory, so that this touches none of the user's stored indexes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail};
use forage_base::Stop;
use forage_fs::{RelPath, Root, WalkOptions, WalkReport};
use forage_rank::evaluation::{AnsweredQuery, EvaluationPaths, QuerySet, answer};
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress, Updated, update};
use forage_rank::{RankIndex, RankWeights, model_tokens};
use forage_sandbox::UnsandboxedWorker;
use forage_search::index::Index;
use forage_tools::{CallProgress, FilterSettings, Indexes, Ranked, Workspace, registry};
use serde_json::json;

use super::databases::databases;
use super::git::{Git, SafeDirectories};
use super::history;
use super::lines::MeasuredLines;
use super::records::{HistoryOfSet, SetRecord};
use super::{Arguments, set};
use crate::cli::output::Terminal;
use crate::cli::progress::ProgressBar;
use crate::cli::{Global, session};
use crate::config::{self, CommandLineSettings, Config, Needs};

/// The query sets to run, and their trees.
pub(super) struct MeasurePlan {
    config: Config,
    working: PathBuf,
    runs: Vec<MeasureRun>,
    from_git: Option<FromGit>,
    at_revision: bool,
    lines: Option<MeasuredLines>,
}

struct MeasureRun {
    set: QuerySet,
    directory: PathBuf,
}

struct FromGit {
    directory: PathBuf,
    commits: Option<usize>,
    save: Option<Save>,
}

/// The file of `--save`. Its directory is not accessible from inside the sandbox, so a thread outside of the
/// sandbox must write it.
struct Save {
    path: PathBuf,
    writer: UnsandboxedWorker<QuerySet, anyhow::Result<()>>,
}

impl Save {
    fn to(path: PathBuf) -> anyhow::Result<Self> {
        let file = path.clone();
        let writer = UnsandboxedWorker::start("set", move |set| set::save(&file, &set));
        Ok(Self { path, writer: writer.context("no thread can be started")? })
    }
}

/// The results of all sets.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) sets: Vec<SetRecord>,
    pub(super) queries: Vec<AnsweredQuery>,
    /// The tokens of each answer's text, or `None` for a failed call.
    pub(super) answer_tokens: Vec<Option<usize>>,
    pub(super) lines: Option<MeasuredLines>,
    pub(super) history: Option<HistoryOfSet>,
    pub(super) saved: Option<PathBuf>,
}

/// An index, and facts about its files.
struct MeasureSubject {
    index: Arc<RankIndex>,
    wordless: u64,
    report: WalkReport,
}

impl MeasurePlan {
    /// Checks the arguments before we run anything.
    pub(super) fn new(arguments: &Arguments, global: &Global, output: &mut Terminal) -> anyhow::Result<Self> {
        let config = session::load(global, CommandLineSettings::default())?;
        let working = config::working_directory()?;
        let directories = session::directories(&config, &working, &[]);
        let directory = || match &directories[..] {
            [directory] => Ok(directory.clone()),
            _ => bail!("queries run on one tree: name one root with --root"),
        };
        let mut plan = Self {
            working,
            runs: Vec::new(),
            from_git: None,
            at_revision: arguments.at_revision,
            lines: None,
            config,
        };
        if let Some(tokens) = arguments.lines {
            if arguments.at_revision || arguments.from_git.is_some() {
                bail!("--lines reads the files on disk; check out the revision, and give its directory");
            }
            plan.lines = Some(MeasuredLines::new(tokens, &arguments.beside, &plan.working)?);
        }
        if let Some(commits) = arguments.from_git {
            let save = arguments.save.as_ref().map(|path| plan.working.join(path));
            if let Some(save) = save.as_ref().filter(|save| save.exists()) {
                bail!(
                    "{} exists already and is not overwritten; save the set under another name",
                    save.display()
                );
            }
            let save = save.map(Save::to).transpose()?;
            plan.from_git = Some(FromGit { directory: directory()?, commits, save });
            return Ok(plan);
        }
        let file = arguments.set.as_ref().context("name a file with a set of queries, or give --from-git")?;
        let sets = set::choose(set::read(&plan.working.join(file))?, &arguments.name)?;
        let checkouts = arguments.checkouts.as_ref().map(|checkouts| plan.working.join(checkouts));
        if let ([_, _, ..], None) = (&sets[..], &checkouts) {
            let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
            bail!(
                "{} has several sets ({}): choose one with --name, or give the directory of their checkouts with \
                 --checkouts",
                file.display(),
                names.join(", ")
            );
        }
        for set in sets {
            let directory = match &checkouts {
                Some(checkouts) => set::checkout(checkouts, &set)?,
                None => directory()?,
            };
            let is_of_history = !set.queries.is_empty()
                && set.queries.iter().all(|query| query.category == history::CATEGORY);
            if is_of_history && !arguments.at_revision {
                output.note(&format!(
                    "the set `{}` was made from commits after {}, which the working tree contains; \
                     --at-revision uses the files before them",
                    set.name, set.revision
                ));
            }
            plan.runs.push(MeasureRun { set, directory });
        }
        Ok(plan)
    }

    /// Enters a sandbox that contains the trees and, if the history is read, git. Inside it, git can't read
    /// the user's configuration, so this returns the safe directories that must be passed to git.
    fn enter_sandbox(&self) -> anyhow::Result<Option<SafeDirectories>> {
        let of_git = self.from_git.iter().map(|from_git| &from_git.directory);
        let directories: Vec<PathBuf> =
            self.runs.iter().map(|run| &run.directory).chain(of_git).cloned().collect();
        let (mut needs, mut safe) = (Needs::default(), None);
        if self.from_git.is_some() || self.at_revision {
            let roots: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
            needs.programs.push(config::git_program(&roots)?.0);
            needs.read.extend(directories.iter().flat_map(|directory| databases(directory)));
            if self.config.word("sandbox") != "off" {
                safe = Some(SafeDirectories::from_user_config(&roots)?);
            }
        }
        self.config.enter_sandbox(&directories, &needs)?;
        Ok(safe)
    }

    /// Enters the sandbox, then runs one set after another. Each query is a call of the tool.
    pub(super) fn run(mut self) -> anyhow::Result<Measured> {
        let lines = self.lines.take();
        let safe = self.enter_sandbox()?;
        let progress = CallProgress::default();
        let _shown = ProgressBar::for_call(&progress, "measuring");
        let mut running = RunningSets {
            plan: &self,
            safe,
            progress: progress.ranked,
            measured: Measured { lines, ..Measured::default() },
        };
        if let Some(from_git) = &self.from_git {
            running.history(from_git)?;
        }
        for run in &self.runs {
            running.set(run).with_context(|| format!("the set `{}`", run.set.name))?;
        }
        Ok(running.measured)
    }

    fn threads(&self) -> usize {
        WalkOptions { threads: self.config.settings.limits.threads, ..WalkOptions::default() }.thread_count()
    }

    fn open(&self, directory: &Path) -> anyhow::Result<Arc<Root>> {
        session::open_root(&self.config, directory)
    }

    /// Opens a directory inside another root. The query set is untrusted, so the path must not lead out of
    /// that root.
    fn open_below(&self, whole: &Arc<Root>, below: &str) -> anyhow::Result<Arc<Root>> {
        if below.is_empty() {
            return Ok(Arc::clone(whole));
        }
        let path = RelPath::parse(below, &RelPath::root())
            .with_context(|| format!("`benchmark_root` {below:?} can't be used"))?;
        match whole.locate(&path) {
            Ok((path, true)) => {
                let name = path.to_os_string().context("`benchmark_root` is not a name on this system")?;
                self.open(&whole.path().join(name))
            }
            Ok((_, false)) => bail!("`benchmark_root` {below:?} is not a directory"),
            Err(error) => bail!("`benchmark_root`: {error}"),
        }
    }

    /// Indexes the files that a walk of the root finds, in memory.
    fn indexed(
        &self,
        root: &Arc<Root>,
        progress: &Arc<UpdateProgress>,
    ) -> Result<MeasureSubject, UpdateError> {
        let index = Arc::new(RankIndex::in_memory()?);
        let effort = UpdateEffort {
            threads: self.threads(),
            progress: Arc::clone(progress),
            ..UpdateEffort::default()
        };
        let Updated { report, .. } = update(&index, root, None, &effort, || Ok(()))?;
        Ok(MeasureSubject { wordless: index.wordless_files(), index, report })
    }

    /// Creates a workspace in which the tool uses this index.
    fn workspace(
        &self,
        root: &Arc<Root>,
        index: Arc<RankIndex>,
        report: WalkReport,
    ) -> anyhow::Result<Workspace> {
        let directories = [root.path().to_owned()];
        let filter = FilterSettings::default();
        let (mut workspace, _) =
            session::workspace_below(self.config.clone(), &directories, &self.working, filter)?;
        workspace.indexes = Some(Arc::new(OneIndex { index, report: Arc::new(report) }));
        Ok(workspace)
    }
}

/// The state while we run the sets.
struct RunningSets<'a> {
    plan: &'a MeasurePlan,
    safe: Option<SafeDirectories>,
    progress: Arc<UpdateProgress>,
    measured: Measured,
}

impl RunningSets<'_> {
    fn history(&mut self, from_git: &FromGit) -> anyhow::Result<()> {
        let began = Instant::now();
        let root = self.plan.open(&from_git.directory)?;
        let git = Git::new(root.path(), self.safe.as_ref())?;
        let base = history::base(&git, from_git.commits)?;
        let tree = history::tree(&git, &root, &base, self.plan.threads(), &self.progress.read)?;
        let seconds = began.elapsed().as_secs_f64();
        let name =
            root.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (set, history) = history::queries(&git, base, &name, &tree)?;
        if let Some(Save { path, writer }) = &from_git.save {
            writer.ask(set.clone()).context("the set could not be saved")??;
            self.measured.saved = Some(path.clone());
        }
        self.measured.history = Some(history);
        self.measure(&set, &root, MeasureSubject::from_tree(tree), seconds)
    }

    fn set(&mut self, MeasureRun { set, directory }: &MeasureRun) -> anyhow::Result<()> {
        let began = Instant::now();
        let whole = self.plan.open(directory)?;
        let root = self.plan.open_below(&whole, set.benchmark_root.as_deref().unwrap_or_default())?;
        let subject = if self.plan.at_revision {
            let revision = history::revision(&set.revision).context("it has no revision")?;
            let git = Git::new(root.path(), self.safe.as_ref())?;
            MeasureSubject::from_tree(history::tree(
                &git,
                &root,
                revision,
                self.plan.threads(),
                &self.progress.read,
            )?)
        } else {
            let subject = self.plan.indexed(&root, &self.progress)?;
            if let Some(below) = &set.benchmark_root {
                // We have indexed only a directory, but the project's names and its commits are those of the
                // whole repository.
                let below = RelPath::parse(below, &RelPath::root())?;
                subject.index.read_project(&whole, &below, &Stop::never());
            }
            subject
        };
        self.measure(set, &root, subject, began.elapsed().as_secs_f64())
    }

    fn measure(
        &mut self,
        set: &QuerySet,
        root: &Arc<Root>,
        subject: MeasureSubject,
        seconds: f64,
    ) -> anyhow::Result<()> {
        let MeasureSubject { index, wordless, report } = subject;
        let at_revision = self.plan.at_revision || self.plan.from_git.is_some();
        let commits = match at_revision {
            true => "commit messages are not used: the tree is that of a revision".to_owned(),
            false => index.history_note(),
        };
        self.measured.sets.push(SetRecord {
            name: set.name.clone(),
            language: set.language.clone(),
            revision: set.revision.clone(),
            directory: root.path().display().to_string(),
            at_revision,
            commits,
            files: index.files(),
            files_without_text: wordless,
            seconds,
        });
        let places = EvaluationPaths::from_index(&index, set.benchmark_root.as_deref().unwrap_or_default());
        let weights = RankWeights::default();
        for query in &set.queries {
            self.measured.queries.push(answer(&index, &places, set, query, &weights)?);
        }
        let workspace = self.plan.workspace(root, index, report)?;
        let tokens = set.queries.iter().map(|query| answer_tokens(&workspace, &query.query));
        self.measured.answer_tokens.extend(tokens);
        if let Some(lines) = &mut self.measured.lines {
            set.queries.iter().for_each(|query| lines.ask(&workspace, set, query));
        }
        Ok(())
    }
}

impl MeasureSubject {
    fn from_tree(tree: history::HistoryTree) -> Self {
        Self { index: Arc::new(tree.index), wordless: tree.left_out, report: WalkReport::default() }
    }
}

/// Calls the tool and counts the tokens of its answer.
fn answer_tokens(workspace: &Workspace, query: &str) -> Option<usize> {
    let tool = registry::find("search_index").ok()?;
    tool.call(&workspace.start_call(), json!({ "query": query }))
        .ok()
        .map(|answer| model_tokens(&answer.text))
}

/// Offers the index of this run to the tool.
struct OneIndex {
    index: Arc<RankIndex>,
    report: Arc<WalkReport>,
}

impl Indexes for OneIndex {
    fn open(&self, _: &Arc<Root>) -> Option<Arc<Index>> {
        None
    }

    fn ranked(&self, _: &Arc<Root>, _: &UpdateEffort) -> Option<Result<Ranked, UpdateError>> {
        let (index, report) = (Arc::clone(&self.index), Arc::clone(&self.report));
        Some(Ok(Ranked { index, report, warning: None, is_provisional: false }))
    }
}
