//! Indexes checkouts and answers queries on them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy};
use forage_rank::evaluation::{self, AnsweredQuery, EvaluationPaths, QuerySet};
use forage_rank::{RankIndex, RankWeights, RankedSearch, RuleWeights, search};

/// Number of threads that read, and of threads that write.
const THREADS: usize = 2;

/// An indexed checkout.
pub(crate) struct Loaded {
    pub(crate) set: QuerySet,
    pub(crate) index: RankIndex,
    pub(crate) files: u64,
    pub(crate) seconds: f64,
    pub(crate) paths: Vec<(String, u32)>,
    places: EvaluationPaths,
}

pub(crate) fn load(sets: &Path, checkouts: &Path, only: &[String]) -> Vec<Loaded> {
    let sets: Vec<QuerySet> = serde_json::from_slice(&std::fs::read(sets).unwrap()).unwrap();
    let sets = sets.into_iter().filter(|set| only.is_empty() || only.contains(&set.name));
    sets.map(|set| {
        let root = checkouts.join(&set.name);
        let start = set.benchmark_root.as_ref().map_or(root.clone(), |below| root.join(below));
        let mut files = Vec::new();
        list(&start, &mut files);
        files.sort();
        let began = Instant::now();
        let index = RankIndex::in_memory().unwrap();
        let writer = index.writer(THREADS).unwrap();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut paths = Vec::new();
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let bytes = std::fs::read(file).unwrap();
                if bytes.len() > forage_rank::limits::FILE_BYTES || bytes.contains(&0) {
                    continue;
                }
                let path = file.strip_prefix(&start).unwrap().to_str().unwrap().to_owned();
                let text = String::from_utf8_lossy(&bytes);
                writer.add(&path, &text, forage_rank::Stamp::default()).unwrap();
                paths.push((path, text.lines().count() as u32));
            }
            paths
        };
        let paths: Vec<(String, u32)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        writer.commit().unwrap();
        let top = Root::open(&root, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
        let below = RelPath::parse(set.benchmark_root.as_deref().unwrap_or("."), &RelPath::root()).unwrap();
        index.read_project(&top, &below, &Stop::never());
        let seconds = began.elapsed().as_secs_f64();
        Loaded {
            set,
            files: index.files(),
            index,
            seconds,
            places: EvaluationPaths::from_benchmark(paths.clone()),
            paths,
        }
    })
    .collect()
}

pub(crate) fn list(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            list(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

pub(crate) fn answer(loaded: &[Loaded], weights: &RankWeights) -> Vec<AnsweredQuery> {
    let mut answered = Vec::new();
    for repository in loaded {
        for query in &repository.set.queries {
            let Loaded { index, places, set, .. } = repository;
            answered.push(evaluation::answer(index, places, set, query, weights).unwrap());
        }
    }
    answered
}

/// Describes the ranks of a query's targets, and returns the first files.
pub(crate) fn shown(query: &AnsweredQuery, rules: &RuleWeights) -> (String, Vec<String>) {
    let order = query.order(rules);
    let rank = |target| query.rank(&order, target).map_or("-".to_owned(), |rank| rank.to_string());
    let ranks = query.targets.iter().enumerate().map(|(target, path)| format!("{path} {}", rank(target)));
    let top = order.iter().take(6).map(|&index| query.candidates[index].path.clone()).collect();
    (ranks.collect::<Vec<_>>().join("  "), top)
}

/// Returns the ranks of each query's targets as JSON. A target that isn't among the candidates has rank null.
pub(crate) fn ranks(queries: &[AnsweredQuery], rules: &RuleWeights) -> serde_json::Value {
    let of_query = |query: &AnsweredQuery| {
        let order = query.order(rules);
        let ranks: Vec<_> = (0..query.targets.len()).map(|target| query.rank(&order, target)).collect();
        serde_json::json!({ "repository": query.repository, "language": query.language, "ranks": ranks })
    };
    queries.iter().map(of_query).collect()
}

/// Shortens each query to a likely search for it: its first line, and the words with the greatest weights in
/// the ranking. Returns these as cases for `bench/reports.py`.
pub(crate) fn terms(loaded: &[Loaded], max: usize) -> serde_json::Value {
    let mut cases = Vec::new();
    for Loaded { set, index, .. } in loaded {
        for known in &set.queries {
            let query = &known.query;
            let found =
                search(index, &RankedSearch { history: false, ..RankedSearch::new(query, 1) }).unwrap();
            let mut words: Vec<(f32, &str)> = Vec::new();
            for word in query.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2)
            {
                if !words.iter().any(|(_, known)| known.eq_ignore_ascii_case(word)) {
                    words.push((found.words.score(word), word));
                }
            }
            words.sort_by(|left, right| right.0.total_cmp(&left.0));
            let terms: Vec<&str> = words.iter().take(max).map(|(_, word)| *word).collect();
            cases.push(serde_json::json!({
                "tree": set.name,
                "query": query.lines().next(),
                "text": query,
                "terms": terms,
                "relevant": known.relevant,
            }));
        }
    }
    cases.into()
}
