//! `keyword_search`, without a model and with scripted models.

use std::sync::Arc;
use std::time::Duration;

use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish, Usage};
use forage_tools::{
    AnswerCache, AnswerForm, CacheKey, CachedAnswer, EvidenceForm, FilterBreadth, FilterCandidates,
    FilterMode, OnModelFailure, Workspace,
};
use serde_json::{Value, json};

use super::tree::shop;
use super::{Page, cancelled, with};
use crate::support::Tree;

type Reply = dyn Fn(&str) -> Result<ChatAnswer, ChatError> + Send + Sync;

/// A model whose answer depends on the evidence that it is shown.
struct Model(&'static str, Box<Reply>);

impl ChatModel for Model {
    fn name(&self) -> String {
        self.0.to_owned()
    }

    fn provider(&self) -> String {
        // A failure that rules out one provider leaves the other.
        self.0.to_owned()
    }

    fn complete(&self, request: &ChatRequest, _: &CallBudget) -> Result<ChatAnswer, ChatError> {
        self.1(request.texts().nth(1).unwrap())
    }
}

fn model(
    name: &'static str,
    reply: impl Fn(&str) -> Result<ChatAnswer, ChatError> + Send + Sync + 'static,
) -> Arc<dyn ChatModel> {
    Arc::new(Model(name, Box::new(reply)))
}

fn saying(text: &'static str) -> Arc<dyn ChatModel> {
    model("test/small", move |_| Ok(ChatAnswer::from_text("test", "small", text)))
}

fn refused() -> Arc<dyn ChatModel> {
    model("test/first", |_| Err(ChatError::Unauthorized { model: "test/first".to_owned(), status: 401 }))
}

fn asking(workspace: &Workspace, models: Vec<Arc<dyn ChatModel>>) -> Workspace {
    with(workspace, |workspace| {
        workspace.filter.mode = FilterMode::Model;
        workspace.filter.models = models.into();
    })
}

/// Builds an answer by ids for these files, with the ids from the evidence.
fn by_ids(evidence: &str, files: &[(&str, u8, &str)]) -> String {
    let entry = |(path, grade, why): &(&str, u8, &str)| {
        let id = evidence.lines().find_map(|line| {
            let (id, rest) = line.strip_prefix("FILE ").unwrap_or(line).split_once(' ')?;
            (id.starts_with('F') && rest.contains(path)).then_some(id)
        })?;
        Some(json!({"id": id, "grade": grade, "why": why, "ranges": [[5, 6], [900, 901]]}))
    };
    let entries: Vec<Value> = files.iter().filter_map(entry).collect();
    json!({ "files": entries }).to_string()
}

struct Cache;

impl AnswerCache for Cache {
    fn get(&self, _: &CacheKey) -> Option<CachedAnswer> {
        let text = "src/retry.rs: said before".to_owned();
        Some(CachedAnswer { text, age: Duration::from_secs(7_300) })
    }

    fn put(&self, _: &CacheKey, _: &str) {}
}

fn ask(terms: &[&str]) -> Value {
    json!({"query": "how are requests retried", "search_terms": terms})
}

pub(super) fn page() -> Page {
    let tree = shop();
    let workspace = tree.workspace();
    let mut page = Page::new("keyword_search");
    without_model(&mut page, &workspace);
    with_model(&mut page, &workspace);
    breadth(&mut page);
    ranked(&mut page);

    page.chapter("Limits");
    // The root's path occurs twice: in the heading, and before the name that is not UTF-8.
    let root_bytes = workspace.roots.main().path().as_os_str().len();
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 660 + 2 * root_bytes);
    page.state("no room for lines", &few, ask(&["retr"]));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time", &no_time, ask(&["retry"]));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("an empty query", json!({"query": "", "search_terms": ["retry"]})),
            ("a query that is too long", json!({"query": "a".repeat(10_000), "search_terms": ["retry"]})),
            ("no terms", ask(&[])),
            ("too many terms", ask(&["retry"; 65])),
            ("no valid term", ask(&["retry(", "[a"])),
            ("terms left out", json!({"query": "how are requests retried"})),
            (
                "an argument that would narrow the question",
                json!({"query": "a", "search_terms": ["retry"], "path": "src"}),
            ),
        ],
    );
    page.state("cancelled", &cancelled(&workspace), ask(&["retry"]));
    page
}

fn without_model(page: &mut Page, workspace: &Workspace) {
    page.chapter("Without a model");
    page.states(
        workspace,
        [
            ("found", ask(&["backoff", "with_retries"])),
            ("terms without matches and one that is not valid", ask(&["twice", "absent", "retry("])),
            ("terms as one text", json!({"query": "waiting", "search_terms": "backoff, twice"})),
            ("a secret is hidden", ask(&["token"])),
            ("a name that is not UTF-8", ask(&["caf"])),
            ("nothing", ask(&["absent", "missing"])),
            ("nothing but in files that are not searched", ask(&["only_in_build", "only_in_hidden"])),
            ("names of other tools", json!({"question": "waiting", "keywords": ["twice"]})),
        ],
    );
    page.records("with its records", workspace, ask(&["twice", "absent"]));
}

fn with_model(page: &mut Page, workspace: &Workspace) {
    page.chapter("With a model");
    let terms = ask(&["with_retries", "twice"]);
    let two = "src/retry.rs: sends a request again\ndocs/retries.md: says how often";
    page.state("it keeps two files", &asking(workspace, vec![saying(two)]), terms.clone());
    page.records("with its records", &asking(workspace, vec![saying(two)]), terms.clone());
    let costs = model("test/small", move |_| {
        let mut answer = ChatAnswer::from_text("test", "small", two);
        answer.usage = Some(Usage { input_tokens: 1_200, cached_input_tokens: 1_000, output_tokens: 40 });
        answer.cost_usd = Some(0.0012);
        Ok(answer)
    });
    page.state("with its cost", &asking(workspace, vec![costs]), terms.clone());
    let invents = saying("src/retry.rs: sends again\nsrc/other.rs: is not there");
    page.state("it names a file that was not found", &asking(workspace, vec![invents]), terms.clone());
    page.state("no reason", &asking(workspace, vec![saying("src/retry.rs")]), terms.clone());
    let none = || saying("No relevant files found");
    page.state("it keeps none", &asking(workspace, vec![none()]), terms.clone());
    page.state("nothing to ask it of", &asking(workspace, vec![none()]), ask(&["absent"]));
    page.state("a secret is sent to no model", &asking(workspace, vec![none()]), ask(&["token"]));
    let cut = model("test/small", |_| {
        let mut answer = ChatAnswer::from_text("test", "small", "src/retry.rs: sends a request ag");
        answer.finish = Finish::Length;
        Ok(answer)
    });
    page.state("it was cut", &asking(workspace, vec![cut]), terms.clone());
    page.state("the second model was asked", &asking(workspace, vec![refused(), saying(two)]), terms.clone());
    let cached = with(&asking(workspace, vec![saying("")]), |workspace| {
        workspace.filter.cache = Some(Arc::new(Cache))
    });
    page.state("from the cache", &cached, terms.clone());
    let graded = model("test/small", |evidence| {
        let files = [("src/retry.rs", 3, "sends again"), ("docs/retries.md", 1, "tells of it")];
        Ok(ChatAnswer::from_text("test", "small", by_ids(evidence, &files)))
    });
    let graded = with(&asking(workspace, vec![graded]), |workspace| {
        workspace.filter.answer = AnswerForm::Ids { shards: 1 };
        workspace.filter.evidence = EvidenceForm::Compact;
    });
    page.state("by ids, with lines that it was not shown", &graded, terms.clone());
    page.records("with its records", &graded, ask(&["twice"]));
    page.chapter("Without an answer of a model");
    let fails = asking(workspace, vec![refused()]);
    page.state("all models failed", &fails, terms.clone());
    let lexical = with(&fails, |workspace| workspace.filter.on_model_failure = OnModelFailure::Lexical);
    page.state("files in lexical order instead", &lexical, terms.clone());
    page.state("it says nothing of files", &asking(workspace, vec![saying("Let me think.")]), terms.clone());
    page.state("it says nothing", &asking(workspace, vec![saying("")]), terms.clone());
    let no_model = with(&asking(workspace, Vec::new()), |workspace| {
        workspace.filter.looked_for = "Looked for a key in TEST_API_KEY.".to_owned();
    });
    page.state("there is no model", &no_model, terms);
    in_part(page);
}

/// Only one of two requests is answered.
fn in_part(page: &mut Page) {
    let tree = Tree::new();
    for index in 0..8 {
        tree.write(
            format!("{index}.txt"),
            format!("retry {index}\n{}", "some more text of a line\n".repeat(80)),
        );
    }
    let half = model("test/small", |evidence| match evidence.contains("0.txt") {
        true => Ok(ChatAnswer::from_text("test", "small", by_ids(evidence, &[("0.txt", 3, "is the first")]))),
        false => Err(ChatError::Server { model: "test/small".to_owned(), status: 500, retry_after: None }),
    });
    let workspace = with(&asking(&tree.workspace(), vec![half]), |workspace| {
        workspace.filter.answer = AnswerForm::Ids { shards: 2 };
        workspace.filter.evidence_tokens = 1_000;
        workspace.filter.context_lines = 50;
    });
    page.state("one of two requests failed", &workspace, ask(&["retry"]));
    let lexical = with(&workspace, |workspace| workspace.filter.on_model_failure = OnModelFailure::Lexical);
    page.state("files that could not be judged follow", &lexical, ask(&["retry"]));
}

/// Terms that match too much.
fn breadth(page: &mut Page) {
    page.chapter("Broad terms");
    let tree = Tree::new();
    for index in 0..4 {
        tree.write(format!("{index}.txt"), format!("common and wide\n{}", "common\n".repeat(4)).repeat(200));
    }
    tree.write("rare.txt", "rare\n");
    let of = |breadth: FilterBreadth, bytes: u64| {
        with(&asking(&tree.workspace(), vec![saying("rare.txt: has it")]), |workspace| {
            workspace.filter.breadth = breadth;
            (workspace.filter.term_bytes, workspace.filter.evidence_bytes) = (bytes, bytes);
        })
    };
    let ours = of(FilterBreadth::Adaptive, 20_000);
    page.state("on nearly every line", &ours, ask(&["common", "rare"]));
    page.state("all on nearly every line", &ours, ask(&["common", "common|wide"]));
    page.state("the others match nothing", &ours, ask(&["common", "absent"]));
    page.state("a part of the lines is shown", &of(FilterBreadth::Adaptive, 20_000), ask(&["wide", "rare"]));
    let required = of(FilterBreadth::Requirement, 20_000);
    page.state("too broad by the requirement's rule", &required, ask(&["common", "rare"]));
    page.state("all too broad by it", &required, ask(&["common", "common|wide", "rare("]));
    let dropped = with(&required, |workspace| workspace.filter.term_bytes = 10 << 20);
    page.state("dropped by it", &dropped, ask(&["rare", "common"]));
    page.state("all dropped by it", &dropped, ask(&["common", "rare"]));
    page.state("broad, without a model", &tree.workspace(), ask(&["common", "rare"]));
}

/// Files that a ranking adds to those that a term matches.
fn ranked(page: &mut Page) {
    page.chapter("Candidates of a ranking");
    let tree = Tree::new();
    for index in 0..4 {
        tree.write(format!("{index}.txt"), format!("common {index}\n").repeat(300));
    }
    tree.write("notes.txt", "what is retried\n");
    tree.write(
        "src/retry.rs",
        "// common\nfn pause_before_retry(attempt: u32) -> u64 {\n    1 << attempt\n}\n",
    );
    let of = |reply: &'static str, evidence: EvidenceForm, breadth: FilterBreadth| {
        with(&asking(&tree.workspace(), vec![saying(reply)]), |workspace| {
            workspace.filter.candidates = FilterCandidates::Union;
            (workspace.filter.evidence, workspace.filter.breadth) = (evidence, breadth);
            (workspace.filter.term_bytes, workspace.filter.evidence_bytes) = (4_096, 8_192);
        })
    };
    let ask = |terms: &[&str]| json!({"query": "the pause before a failed attempt is retried", "search_terms": terms});
    let found = "src/retry.rs: decides how long";
    for evidence in [EvidenceForm::Requirement, EvidenceForm::Compact] {
        let workspace = of(found, evidence, FilterBreadth::Adaptive);
        page.state(&format!("no term matches it, {evidence:?}"), &workspace, ask(&["what is"]));
    }
    let required = of(found, EvidenceForm::Requirement, FilterBreadth::Requirement);
    page.state("the term that names it is too broad", &required, ask(&["common", "what is"]));
    page.state("all terms are too broad", &required, ask(&["common"]));
    page.state("no term matches anything", &required, ask(&["absent"]));
    let nothing = of("No relevant files found", EvidenceForm::Compact, FilterBreadth::Adaptive);
    page.state("nothing is relevant", &nothing, ask(&["what is"]));
    let lexical = with(&required, |workspace| workspace.filter.mode = FilterMode::Lexical);
    page.state("ranked, without a model", &lexical, ask(&["what is"]));
    let late = with(&lexical, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time for a ranking", &late, ask(&["what is"]));
}
