//! Cached answers of models for repeated requests.

use forage_tools::{AnswerCache, CacheKey, CachedAnswer};

use super::*;

#[derive(Default)]
struct MemoryCache {
    answers: Mutex<HashMap<CacheKey, String>>,
}

impl AnswerCache for MemoryCache {
    fn get(&self, key: &CacheKey) -> Option<CachedAnswer> {
        let text = self.answers.lock().unwrap().get(key)?.clone();
        Some(CachedAnswer { text, age: Duration::from_secs(7_300) })
    }

    fn put(&self, key: &CacheKey, text: &str) {
        self.answers.lock().unwrap().insert(key.clone(), text.to_owned());
    }
}

#[test]
fn only_equal_requests_hit_the_cache() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(30, &[2]));
    for form in [AnswerForm::Paths, IDS] {
        let text = match form {
            AnswerForm::Paths => "a.txt: it is".to_owned(),
            AnswerForm::Ids { .. } => json!({"files": [entry("F1", 3)]}).to_string(),
        };
        let model = Scripted::saying(text);
        let mut workspace = workspace(&tree, EvidenceForm::Compact, form, &[&model]);
        workspace.filter.cache = Some(Arc::new(MemoryCache::default()));
        let asked = |workspace: &Workspace, query: &str, terms: &[&str]| {
            let before = model.requests.lock().unwrap().len();
            let answer =
                call(workspace, "keyword_search", json!({"query": query, "search_terms": terms})).unwrap();
            assert_eq!(answer.records()["files"].as_array().unwrap().len(), 1);
            let asked = model.requests.lock().unwrap().len() - before;
            assert_eq!(
                answer.text.contains("[answer from the cache, 2 h old]"),
                asked == 0,
                "{}",
                answer.text
            );
            asked
        };
        assert_eq!(asked(&workspace, "q", &["needle"]), 1);
        assert_eq!(asked(&workspace, "q", &["needle"]), 0);
        assert_eq!(asked(&workspace, "another q", &["needle"]), 1);
        assert_eq!(asked(&workspace, "q", &["needle", "line 5$"]), 1);
        workspace.filter.evidence = EvidenceForm::Requirement;
        assert_eq!(asked(&workspace, "q", &["needle"]), 1);
        workspace.filter.evidence = EvidenceForm::Compact;
        // A line changes that the model sees. The cache needs no invalidation for this.
        tree.write("a.txt", numbered(30, &[2]).replace("line 3\n", "line three\n"));
        assert_eq!(asked(&workspace, "q", &["needle"]), 1);
        // Now a line changes that the model does not see.
        tree.write(
            "a.txt",
            numbered(30, &[2]).replace("line 3\n", "line three\n").replace("line 29", "line xxix"),
        );
        assert_eq!(asked(&workspace, "q", &["needle"]), 0);
        tree.write("a.txt", numbered(30, &[2]));
    }
}

#[test]
fn failures_and_halves_are_not_kept() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    let good = json!({"files": [entry("F1", 3)]}).to_string();
    let cut = format!("{},{{\"id\":", &good[..good.len() - 2]);
    let replies: Vec<(String, Finish)> =
        vec![("{}".to_owned(), Finish::Complete), (cut, Finish::Complete), (good.clone(), Finish::Length)];
    for (text, finish) in replies {
        let cache = Arc::new(MemoryCache::default());
        let model = Scripted::new("small", move |_, _| Ok(ends(says(&text), finish)));
        let mut workspace = workspace(&tree, EvidenceForm::Compact, IDS, &[&model]);
        workspace.filter.cache = Some(Arc::clone(&cache) as Arc<dyn AnswerCache>);
        let _ = search(&workspace, &["needle"]);
        assert!(cache.answers.lock().unwrap().is_empty());
    }
}

#[test]
fn only_the_shards_that_are_not_in_the_cache_are_asked() {
    let tree = wide_tree();
    let model = failing_for_the_first();
    let mut workspace = sharded(&tree, 4, &[&model]);
    workspace.filter.cache = Some(Arc::new(MemoryCache::default()));
    search(&workspace, &["needle"]).unwrap_err();
    let healed = Scripted::saying("[]");
    workspace.filter.models = vec![Arc::clone(&healed) as Arc<dyn ChatModel>].into();
    let answer = search(&workspace, &["needle"]).unwrap();
    assert_eq!(healed.sent().len(), 1);
    assert_eq!(line_with(&answer.text, "from the cache"), "[3 answers from the cache, up to 2 h old]");
}
