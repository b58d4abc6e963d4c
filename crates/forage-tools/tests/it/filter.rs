//! The forms in which `keyword_search` asks its models: what do we show them, how do we parse their answers,
//! and how could hostile files interfere?

mod cache;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forage_llm::{AnswerShape, CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest, Finish, Usage};
use forage_tools::{Answer, AnswerForm, EvidenceForm, FilterMode, OnModelFailure, ToolError, Workspace};
use serde_json::{Value, json};

use crate::support::{Tree, call, line_with, stable, within};

/// A model that answers by a function of the request and records its requests.
struct Scripted {
    name: &'static str,
    answer: Box<Reply>,
    requests: Mutex<Vec<ChatRequest>>,
}

type Reply = dyn Fn(&ChatRequest, &CallBudget) -> Result<ChatAnswer, ChatError> + Send + Sync;

impl Scripted {
    fn new(
        name: &'static str,
        answer: impl Fn(&ChatRequest, &CallBudget) -> Result<ChatAnswer, ChatError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { name, answer: Box::new(answer), requests: Mutex::default() })
    }

    /// Creates a model that gives the same answer to everything.
    fn saying(text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        Self::new("small", move |_, _| Ok(says(&text)))
    }

    /// Returns the user's message of each request, in a stable order.
    fn sent(&self) -> Vec<String> {
        let mut sent: Vec<String> =
            self.requests.lock().unwrap().iter().map(|request| user(request).to_owned()).collect();
        sent.sort();
        sent
    }
}

impl ChatModel for Scripted {
    fn name(&self) -> String {
        format!("test/{}", self.name)
    }

    fn provider(&self) -> String {
        // Each model has its own provider, so that a failure of one does not rule out the other.
        self.name.to_owned()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        self.requests.lock().unwrap().push(request.clone());
        (self.answer)(request, budget)
    }
}

fn says(text: &str) -> ChatAnswer {
    ChatAnswer::from_text("test", "small", text)
}

/// Sets the tokens that an answer used: input, cached, output.
fn costs(mut answer: ChatAnswer, [input_tokens, cached_input_tokens, output_tokens]: [u64; 3]) -> ChatAnswer {
    answer.usage = Some(Usage { input_tokens, cached_input_tokens, output_tokens });
    answer.cost_usd = Some(input_tokens as f64 * 1e-6);
    answer
}

fn ends(mut answer: ChatAnswer, finish: Finish) -> ChatAnswer {
    answer.finish = finish;
    answer
}

fn unauthorized() -> ChatError {
    ChatError::Unauthorized { model: "test/small".to_owned(), status: 401 }
}

fn user(request: &ChatRequest) -> &str {
    request.texts().nth(1).unwrap()
}

const IDS: AnswerForm = AnswerForm::Ids { shards: 1 };

fn workspace(
    tree: &Tree,
    evidence: EvidenceForm,
    answer: AnswerForm,
    models: &[&Arc<Scripted>],
) -> Workspace {
    let mut workspace = tree.workspace();
    workspace.filter.mode = FilterMode::Model;
    workspace.filter.models =
        models.iter().map(|model| Arc::clone(model) as Arc<dyn ChatModel>).collect::<Vec<_>>().into();
    (workspace.filter.evidence, workspace.filter.answer) = (evidence, answer);
    workspace
}

fn search(workspace: &Workspace, terms: &[&str]) -> Result<Answer, ToolError> {
    call(workspace, "keyword_search", json!({"query": "how does it work", "search_terms": terms}))
}

/// Runs a search for these terms. Returns the text sent to the model, and the answer.
fn sent(tree: &Tree, evidence: EvidenceForm, answer: AnswerForm, terms: &[&str]) -> (String, Answer) {
    let model = Scripted::saying(if answer == AnswerForm::Paths { "No relevant files found" } else { "[]" });
    let answer = search(&workspace(tree, evidence, answer, &[&model]), terms).unwrap();
    let [sent] = &model.sent()[..] else { panic!("one request") };
    (sent.clone(), answer)
}

/// Cuts out the lines between the fences.
fn evidence(sent: &str) -> &str {
    let begin = sent.find("===== BEGIN ").unwrap();
    let begin = begin + sent[begin..].find('\n').unwrap() + 1;
    &sent[begin..sent.rfind("===== END ").unwrap()]
}

/// Formats the files of an answer as `name grade`. The name is the last component of a path.
fn graded(answer: &Answer) -> Vec<String> {
    let files = answer.records()["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            let name = file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            format!("{name} {}", file["grade"])
        })
        .collect()
}

fn warnings(answer: &Answer) -> String {
    answer.records()["warnings"].to_string()
}

/// Parses the ids in a request, with the path that each heading names.
fn headings(sent: &str) -> HashMap<String, String> {
    let lines = evidence(sent).lines().filter(|line| line.starts_with('F'));
    lines
        .map(|line| {
            let mut words = line.strip_prefix("FILE ").unwrap_or(line).split(' ');
            (words.next().unwrap().to_owned(), words.next().unwrap().to_owned())
        })
        .collect()
}

fn entry(id: &str, grade: u8) -> Value {
    json!({"id": id, "grade": grade, "ranges": [], "why": "as graded"})
}

/// Writes numbered lines, with `needle` in the given ones.
fn numbered(lines: u64, needles: &[u64]) -> String {
    let line = |number| format!("line {number}{}\n", if needles.contains(&number) { " needle" } else { "" });
    (1..=lines).map(line).collect()
}

#[test]
fn the_requirements_form_is_what_it_was() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    let (sent, _) = sent(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &["needle"]);
    let root = forage_fs::canonical(&tree.root()).unwrap();
    let root = root.display();
    assert_eq!(
        evidence(&sent),
        format!("\nFILE {root}/a.txt\n  1: line 1\n> 2: line 2 needle\n  3: line 3\n")
    );
}

#[test]
fn compact_evidence_shows_the_best_windows_of_each_file() {
    let tree = Tree::new();
    tree.write("near.txt", numbered(40, &[5, 9, 30]));
    let many: Vec<u64> = (0..9).map(|index| 10 + 20 * index).collect();
    tree.write("many.txt", numbered(200, &many).replace("line 90 ", "line 90 thread and "));
    let (sent, answer) = sent(&tree, EvidenceForm::Compact, IDS, &["needle", "thread"]);
    let expected = "
F1 many.txt (needle ×9, thread ×1)
7- line 7
8- line 8
9- line 9
10: line 10 needle
11- line 11
12- line 12
13- line 13
--
27- line 27
28- line 28
29- line 29
30: line 30 needle
31- line 31
32- line 32
33- line 33
--
47- line 47
48- line 48
49- line 49
50: line 50 needle
51- line 51
52- line 52
53- line 53
--
87- line 87
88- line 88
89- line 89
90: line 90 thread and needle
91- line 91
92- line 92
93- line 93
(+5 matching lines more)

F2 near.txt (needle ×3)
2- line 2
3- line 3
4- line 4
5: line 5 needle
6- line 6
7- line 7
8- line 8
9: line 9 needle
10- line 10
11- line 11
12- line 12
--
27- line 27
28- line 28
29- line 29
30: line 30 needle
31- line 31
32- line 32
33- line 33
";
    assert_eq!(evidence(&sent), expected);
    insta::assert_snapshot!(warnings(&answer));
}

#[test]
fn a_long_run_of_matches_is_several_windows() {
    let tree = Tree::new();
    let all: Vec<u64> = (1..=200).collect();
    tree.write("run.txt", numbered(200, &all));
    let (sent, answer) = sent(&tree, EvidenceForm::Compact, IDS, &["needle"]);
    assert_eq!(evidence(&sent).lines().filter(|line| line.contains(": line")).count(), 80);
    assert!(!evidence(&sent).contains("--"), "they stand next to each other");
    assert!(evidence(&sent).ends_with("(+120 matching lines more)\n"), "{sent}");
    insta::assert_snapshot!(warnings(&answer));
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let tree = Tree::new();
    tree.write("long.txt", format!("{} needle {}\n", "ä".repeat(5_000), "ö".repeat(5_000)));
    let (sent, _) = sent(&tree, EvidenceForm::Compact, IDS, &["needle"]);
    let line = evidence(&sent).lines().last().unwrap();
    assert!(line.starts_with("1: …ä") && line.ends_with("ö…") && line.contains(" needle "), "{line}");
    assert!(line.len() <= 210, "{} bytes", line.len());
}

#[test]
fn windows_that_are_equal_are_shown_once() {
    let tree = Tree::new();
    let body = "/// Copies the words of the needle into the haystack, one by one.\nfn copy_the_needle(needle: &str) {\n    haystack.push_str(needle);\n}\n";
    tree.write("src/copy.rs", body);
    tree.write("vendor/copy.rs", format!("\n\n{body}"));
    tree.write("short/a.rs", "needle\n");
    tree.write("short/b.rs", "needle\n");
    for (form, original) in [(IDS, "F1"), (AnswerForm::Paths, "src/copy.rs")] {
        let (sent, _) = sent(&tree, EvidenceForm::Compact, form, &["copy_the_needle", "needle"]);
        assert_eq!(
            sent.matches("haystack.push_str").count(),
            2,
            "the two blank lines make another window: {sent}"
        );
        tree.write("vendor/copy.rs", body);
        let (sent, _) =
            super::filter::sent(&tree, EvidenceForm::Compact, form, &["copy_the_needle", "needle"]);
        assert_eq!(sent.matches("haystack.push_str").count(), 1, "{sent}");
        assert!(sent.contains(&format!("\n= lines 1-4 equal {original} lines 1-4\n")), "{sent}");
        assert_eq!(sent.matches("1: needle").count(), 2, "a reference would be longer: {sent}");
        tree.write("vendor/copy.rs", format!("\n\n{body}"));
    }
    // Lines that a reference stands for count as shown.
    tree.write("vendor/copy.rs", body);
    let (sent, _) = sent(&tree, EvidenceForm::Compact, IDS, &["copy_the_needle"]);
    let copy = headings(&sent).into_iter().find(|(_, path)| path == "vendor/copy.rs").unwrap().0;
    let text = json!({"files": [{"id": copy, "grade": 2, "ranges": [[1, 99]], "why": "w"}]}).to_string();
    let answer = search(
        &workspace(&tree, EvidenceForm::Compact, IDS, &[&Scripted::saying(text)]),
        &["copy_the_needle"],
    );
    assert_eq!(line_with(&answer.unwrap().text, "read lines"), "  read lines 1-4");
}

/// A file that matched but did not fit was not sent, so the model can't know it.
#[test]
fn files_that_were_not_sent_are_not_believed_in_any_form() {
    let tree = Tree::new();
    for file in 0..400 {
        tree.write(format!("f{file:03}.txt"), format!("line {file} needle\n"));
    }
    let all: String = (0..400).map(|file| format!("f{file:03}.txt: grade 2, what it is about\n")).collect();
    for form in [AnswerForm::Paths, AnswerForm::Ids { shards: 1 }] {
        let model = Scripted::saying(all.clone());
        let mut workspace = workspace(&tree, EvidenceForm::Compact, form, &[&model]);
        workspace.filter.evidence_tokens = 1_000;
        let answer = search(&workspace, &["needle"]).unwrap();
        let sent = &model.sent()[0];
        let shown = evidence(sent).lines().filter(|line| line.starts_with('F')).count();
        let kept = answer.records()["files"].as_array().unwrap().len();
        assert!(shown < 400 && kept == shown, "{kept} of {shown}");
        assert_eq!(answer.records()["model"]["dropped_paths"], 400 - shown, "{form:?}");
    }
}

/// If there are too many files to fit, every one of them must be accounted for.
#[test]
fn the_budget_is_kept_and_what_it_leaves_out_is_counted() {
    let tree = Tree::new();
    // This is as much as the requirement's 128 KiB allow. Later files match more, so that path order differs
    // from rank order.
    let mut matches = 0;
    for file in 0..400 {
        let (lines, needles) = if file < 320 { (7, vec![4]) } else { (34, vec![4, 14, 24, 30]) };
        matches += needles.len();
        let text = numbered(lines, &needles)
            .replace("line", &format!("line {file}."))
            .replace("needle", &format!("needle{}", file % 4));
        tree.write(format!("f{file:03}"), text);
    }
    for tokens in [1_000, 2_000, 12_000, 32_000] {
        let model = Scripted::saying("[]");
        let mut workspace = workspace(&tree, EvidenceForm::Compact, IDS, &[&model]);
        workspace.filter.evidence_tokens = tokens;
        let answer = search(&workspace, &["needle0", "needle1", "needle2", "needle3"]).unwrap();
        let sent = &model.sent()[0];
        let budget = tokens * 16 / 5;
        assert!(evidence(sent).len() <= budget, "{} of {budget}", evidence(sent).len());
        let headings: Vec<&str> = evidence(sent).lines().filter(|line| line.starts_with('F')).collect();
        let in_one_line = headings.iter().filter(|line| !line.ends_with(')')).count();
        let warning = warnings(&answer);
        let left_out = 400 - headings.len();
        for (count, verb) in [(left_out, "not at all"), (in_one_line, "as one line")] {
            let said = warning.contains(&format!("{count} files {verb}"));
            assert_eq!(said, count > 0, "{count} {verb}, {tokens} tokens: {warning}");
        }
        let shown = evidence(sent).matches(" needle").count();
        let reported = warning.contains(&format!("{shown} of {matches} matching lines"));
        assert_eq!(reported, shown < matches, "{shown} of {matches}: {warning}");
        // The best file should be shown in most detail, and the budget should be used.
        assert!(headings[0].starts_with("F1 ") && headings[0].ends_with(')'), "{}", headings[0]);
        assert!(
            left_out == 0 || evidence(sent).len() > budget * 9 / 10,
            "{} of {budget}",
            evidence(sent).len()
        );
    }
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let tree = Tree::new();
    for file in 0..60 {
        let text = numbered(20, &[file % 5 + 1, 15]).replace("1", &format!("1{file}"));
        tree.write(format!("d{}/f{file}.rs", file % 7), text);
    }
    for (form, answer) in [
        (EvidenceForm::Compact, AnswerForm::Ids { shards: 4 }),
        (EvidenceForm::Compact, AnswerForm::Paths),
        (EvidenceForm::Requirement, AnswerForm::Ids { shards: 4 }),
    ] {
        let runs: Vec<Vec<String>> = [1, 2, 8, 1]
            .into_iter()
            .map(|threads| {
                let model = Scripted::saying(if answer == AnswerForm::Paths {
                    "No relevant files found"
                } else {
                    "[]"
                });
                let mut workspace = workspace(&tree, form, answer, &[&model]);
                (workspace.limits.threads, workspace.filter.evidence_tokens) = (threads, 1_000);
                search(&workspace, &["needle", "line 4"]).unwrap();
                model.sent()
            })
            .collect();
        assert!(runs.iter().all(|run| run == &runs[0]), "{form:?} {answer:?}");
        assert_eq!(runs[0].len(), if answer == AnswerForm::Paths { 1 } else { 4 });
    }
}

#[test]
fn files_come_by_grade_and_then_in_lexical_order() {
    let tree = Tree::new();
    tree.write("most.txt", numbered(40, &[1, 10, 20, 30]));
    tree.write("some.txt", numbered(40, &[1, 20]));
    tree.write("one.txt", numbered(40, &[20]));
    tree.write("other.txt", numbered(40, &[20]));
    let model = Scripted::new("small", |request, _| {
        let files: HashMap<String, String> =
            headings(user(request)).into_iter().map(|(id, path)| (path, id)).collect();
        let entry = |path: &str, grade: u8| json!({"id": files[path], "grade": grade, "ranges": [[20, 20], [38, 39]], "why": "as graded"});
        let entries =
            [entry("other.txt", 1), entry("most.txt", 0), entry("one.txt", 2), entry("some.txt", 2)];
        Ok(costs(says(&json!({"files": entries}).to_string()), [1_200, 1_000, 50]))
    });
    let workspace = workspace(&tree, EvidenceForm::Compact, IDS, &[&model]);
    let answer = search(&workspace, &["needle"]).unwrap();
    assert_eq!(graded(&answer), ["some.txt 2", "one.txt 2", "other.txt 1"]);
    insta::assert_snapshot!(stable(&answer.text));

    let requests = model.requests.lock().unwrap();
    let schema = requests[0].answer_schema.as_ref().unwrap();
    let file = &schema.schema["properties"]["files"]["items"];
    assert_eq!(file["properties"]["id"]["enum"], json!(["F1", "F2", "F3", "F4"]));
    assert_eq!(file["required"], json!(["id", "grade", "ranges", "why"]));
    assert!(requests[0].texts().next().unwrap().contains("{\"files\":["));
}

#[test]
fn lists_of_paths_have_a_schema_too() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    tree.write("b.txt", numbered(3, &[2]));
    let files = json!([{"path": "b.txt", "why": "it is"}, {"path": "c.txt", "why": "invented"}]);
    let model = Scripted::saying(json!({"files": files}).to_string());
    let workspace = workspace(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &[&model]);
    let answer = search(&workspace, &["needle"]).unwrap();
    insta::assert_snapshot!(stable(&answer.text));
    assert_eq!(answer.records()["model"]["dropped_paths"], 1);

    let requests = model.requests.lock().unwrap();
    let schema = requests[0].answer_schema.as_ref().unwrap();
    assert_eq!(
        schema.schema["properties"]["files"]["items"],
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "why": {"type": "string"}},
            "required": ["path", "why"],
            "additionalProperties": false,
        })
    );
    // The prompt is that of the requirement. The wire protocol adds the rest if it sends the schema.
    assert!(schema.ask.contains("{\"files\":[{\"path\":") && !requests[0].system.as_str().contains("JSON"));
}

#[test]
fn an_answer_by_ids_that_is_none_goes_to_the_next_model() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    let good = Scripted::saying(json!({"files": [entry("F1", 3)]}).to_string());
    let mut warned = BTreeSet::new();
    for bad in ["I think a.txt", "{\"files\":[{\"id\":\"F7\",\"grade\":3}]}", "{\"files\":[{\"id\"", "{}"] {
        for form in [EvidenceForm::Compact, EvidenceForm::Requirement] {
            let workspace = workspace(&tree, form, IDS, &[&Scripted::saying(bad), &good]);
            let answer = search(&workspace, &["needle"]).unwrap();
            assert_eq!(graded(&answer), ["a.txt 3"], "{bad}");
            warned.insert(warnings(&answer));
        }
    }
    insta::assert_snapshot!(warned.into_iter().collect::<Vec<_>>().join("\n"));
    let workspace = workspace(&tree, EvidenceForm::Compact, IDS, &[&Scripted::saying("{}")]);
    assert!(matches!(search(&workspace, &["needle"]), Err(ToolError::ModelsFailed { .. })));
}

#[test]
fn a_cut_answer_says_so_and_invented_ids_are_counted() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    tree.write("b.txt", numbered(3, &[2]));
    let text = json!({"files": [entry("F1", 3), entry("F9", 3), entry("F2", 2)]}).to_string();
    for (name, end, finish, files) in [
        ("whole", text.len(), Finish::Complete, 2),
        ("ended", text.len() - 9, Finish::Complete, 1),
        ("cut", text.len() - 9, Finish::Length, 1),
    ] {
        let text = text[..end].to_owned();
        let model = Scripted::new("small", move |_, _| Ok(ends(says(&text), finish)));
        let answer = search(&workspace(&tree, EvidenceForm::Compact, IDS, &[&model]), &["needle"]).unwrap();
        assert_eq!(graded(&answer).len(), files);
        assert_eq!(answer.records()["model"]["dropped_paths"], 1);
        insta::assert_snapshot!(format!("answer-of-a-model-{name}"), stable(&answer.text));
    }
}

#[test]
fn unreadable_answer_leaves_candidates_unfiltered() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    tree.write("b.txt", numbered(3, &[2]));
    let model = Scripted::saying("Relevant:\n- a.txt: it\n\nNot relevant:\n- b.txt: a test");
    let mut workspace = workspace(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &[&model]);
    insta::assert_snapshot!("unreadable-answer", search(&workspace, &["needle"]).unwrap_err().to_string());
    workspace.filter.on_model_failure = OnModelFailure::Lexical;
    let answer = search(&workspace, &["needle"]).unwrap();
    assert_eq!(answer.records()["filter"], "lexical_after_model_failure");
    assert_eq!(answer.records()["files"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!("unreadable-answer-unfiltered", warnings(&answer));
}

#[test]
fn model_without_schema_and_tool_is_named_as_such() {
    let tree = Tree::new();
    tree.write("a.txt", numbered(3, &[2]));
    for (shape, advice) in [
        (AnswerShape::Schema, ""),
        (AnswerShape::Tool, ""),
        (
            AnswerShape::Text,
            ", and it takes neither an answer schema nor a tool call; choose another model, or set \
             `answer_schema` or `answer_tool` if it does take one",
        ),
    ] {
        let model = Scripted::new("small", move |_, _| {
            let mut answer = costs(says("I think a.txt"), [1_200, 0, 50]);
            answer.shape = shape;
            Ok(answer)
        });
        let workspace = workspace(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &[&model]);
        match search(&workspace, &["needle"]) {
            Err(ToolError::ModelsFailed { errors }) => assert_eq!(
                errors,
                format!(
                    "test/small gave an answer that is not a list of files (1,200 tokens in, 50 out){advice}"
                ),
                "{shape:?}"
            ),
            other => panic!("{shape:?}: {}", other.map(|answer| answer.text).unwrap_or_default()),
        }
    }
}

#[test]
fn files_that_only_the_text_around_a_list_names_are_reported() {
    let tree = Tree::new();
    for file in 0..12 {
        tree.write(format!("f{file:02}.txt"), numbered(3, &[2]));
    }
    let warning = |others: usize| {
        let others: Vec<String> = (1..=others).map(|file| format!("f{file:02}.txt")).collect();
        let model = Scripted::saying(format!("f00.txt: it\n\nSee also {} for tests.", others.join(" and ")));
        let workspace = workspace(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &[&model]);
        let answer = search(&workspace, &["needle"]).unwrap();
        assert_eq!(answer.records()["files"].as_array().unwrap().len(), 1);
        warnings(&answer)
    };
    insta::assert_snapshot!([0, 1, 11].map(warning).join("\n"));
}

/// Creates a tree of 40 files, each with about 1,000 bytes of compact evidence.
fn wide_tree() -> Tree {
    let tree = Tree::new();
    for file in 0..40 {
        let text = numbered(25, &[5, 13, 21]).replace("line", &format!("a line of {file:02} made longer"));
        tree.write(format!("file_{file:02}.txt"), text);
    }
    tree
}

fn sharded(tree: &Tree, shards: usize, models: &[&Arc<Scripted>]) -> Workspace {
    let mut workspace = workspace(tree, EvidenceForm::Compact, AnswerForm::Ids { shards }, models);
    workspace.filter.evidence_tokens = 3_000;
    workspace
}

#[test]
fn shards_hold_every_file_once_and_are_merged_by_grade() {
    let tree = wide_tree();
    for form in [EvidenceForm::Compact, EvidenceForm::Requirement] {
        // Every tenth file has grade 3. All others have grade 1.
        let model = Scripted::new("small", |request, _| {
            let grade = |path: &str| if path.ends_with("0.txt") { 3 } else { 1 };
            let entries: Vec<Value> =
                headings(user(request)).iter().map(|(id, path)| entry(id, grade(path))).collect();
            Ok(costs(says(&json!({ "files": entries }).to_string()), [100, 0, 10]))
        });
        let mut workspace = sharded(&tree, 4, &[&model]);
        workspace.filter.evidence = form;
        let answer = search(&workspace, &["needle"]).unwrap();
        let sent = model.sent();
        assert_eq!(sent.len(), 4);
        let mut ids: Vec<(String, String)> = sent.iter().flat_map(|sent| headings(sent)).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 40, "every file stands in one request under its own id");
        let largest = sent.iter().map(|sent| evidence(sent).len()).max().unwrap();
        assert!(form == EvidenceForm::Requirement || largest <= 9_600, "{largest}");
        let mut expected: Vec<String> = (0..40)
            .map(|file| format!("file_{file:02}.txt {}", if file % 10 == 0 { 3 } else { 1 }))
            .collect();
        expected.sort_by_key(|file| !file.ends_with('3'));
        assert_eq!(graded(&answer), expected, "files of one rank stand in path order");
        let note = stable(line_with(&answer.text, "[filtered by"));
        assert_eq!(note, "[filtered by test/small in 4 requests, 400 tokens in, 40 out, $0.0004, 0.0 s]");
    }
}

#[test]
fn a_shard_that_names_a_file_of_another_does_not_reach_it() {
    let tree = wide_tree();
    // The model answers every request with the first file of all, but only the request that shows this file
    // may name it.
    let model = Scripted::new("small", |request, _| {
        let own = headings(user(request)).into_keys().next().unwrap();
        Ok(says(&json!({"files": [entry("F1", 3), entry(&own, 1)]}).to_string()))
    });
    let answer = search(&sharded(&tree, 4, &[&model]), &["needle"]).unwrap();
    assert_eq!(graded(&answer).iter().filter(|file| file.ends_with(" 3")).count(), 1);
    assert_eq!(answer.records()["model"]["dropped_paths"], 3);
}

#[test]
fn shards_wait_for_each_other_and_not_in_turn() {
    let tree = wide_tree();
    // The model answers only once all requests were sent, so sequential requests would never be answered.
    let asked = Arc::new(std::sync::Barrier::new(4));
    let model = Scripted::new("small", move |_, _| {
        asked.wait();
        Ok(says("[]"))
    });
    let workspace = sharded(&tree, 4, &[&model]);
    let answer =
        within(Duration::from_secs(30), "the search", move || search(&workspace, &["needle"])).unwrap();
    assert_eq!((model.sent().len(), answer.found), (4, false));
}

/// Creates a model that fails for the request that shows `F1`.
fn failing_for_the_first() -> Arc<Scripted> {
    Scripted::new("small", |request, _| {
        if headings(user(request)).contains_key("F1") {
            Err(unauthorized())
        } else {
            let first = headings(user(request)).into_keys().next().unwrap();
            Ok(says(&json!({"files": [entry(&first, 3)]}).to_string()))
        }
    })
}

#[test]
fn failing_shard_fails_the_call_without_lexical_fallback() {
    let tree = wide_tree();
    let model = failing_for_the_first();
    let mut workspace = sharded(&tree, 4, &[&model]);
    insta::assert_snapshot!("failed-shard", search(&workspace, &["needle"]).unwrap_err().to_string());

    workspace.filter.on_model_failure = OnModelFailure::Lexical;
    let answer = search(&workspace, &["needle"]).unwrap();
    assert_eq!(answer.records()["filter"], "model_in_part");
    let files = answer.records()["files"].as_array().unwrap();
    let filtered = files.iter().take_while(|file| file["not_filtered"].is_null()).count();
    assert_eq!(filtered, 3, "one of each request that was answered");
    assert!(files.len() > 3 && files[3..].iter().all(|file| file["not_filtered"] == true));
    assert_eq!(answer.text.matches(": [not filtered] matches `needle` ×3\n").count(), files.len() - 3);
    insta::assert_snapshot!("failed-shard-unfiltered", warnings(&answer));

    // If a second model answers, we don't lose the shard.
    let second = Scripted::new("other", |_, _| Ok(says("[]")));
    let both = [workspace.filter.models[0].clone(), second as Arc<dyn ChatModel>];
    workspace.filter.models = both.to_vec().into();
    let answer = search(&workspace, &["needle"]).unwrap();
    assert_eq!(answer.records()["filter"], "model");
    assert!(warnings(&answer).contains("another model was used: test/small"), "{}", answer.text);
}

#[test]
fn a_shard_that_panics_is_a_failed_shard() {
    let tree = wide_tree();
    let model = Scripted::new("small", |request, _| match headings(user(request)).contains_key("F40") {
        true => panic!("a fault in a model"),
        false => Ok(says("[]")),
    });
    insta::assert_snapshot!(search(&sharded(&tree, 4, &[&model]), &["needle"]).unwrap_err().to_string());
}

/// If a line is shown alone, we redact it as if its surrounding lines were shown, too.
#[test]
fn what_shows_that_a_line_has_a_secret_need_not_be_shown() {
    let tree = Tree::new();
    let plain =
        |at: usize| format!("{at} {}\n", if at % 5 == 2 { "a needle with much text beside it" } else { "x" });
    (0..300).for_each(|file| {
        tree.write(format!("f{file}.txt"), (0..60).map(plain).collect::<String>());
    });
    let key = "needleMIIEowIBAAKCAQEA1c7Vn0Zq8Jx5kX2mB9Lr4Yt6Wu3Hs7Dp0Gf8Ea2Qv5".to_owned();
    let body = format!("{key}\n").repeat(80);
    tree.write(
        "zz/key.txt",
        format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"),
    );
    let sent_with = |is_redacted: bool| {
        let model = Scripted::saying("No relevant files found");
        let mut workspace = workspace(&tree, EvidenceForm::Requirement, AnswerForm::Paths, &[&model]);
        if !is_redacted {
            workspace.filter.redactor = Arc::new(forage_redact::Redactor::off());
        }
        let answer = search(&workspace, &["needle"]).unwrap();
        assert!(answer.text.contains("shown to the model only in part"), "{}", answer.text);
        model.sent().concat()
    };
    let sent = sent_with(true);
    assert!(sent.contains("zz/key.txt") && !sent.contains(&key[..24]), "the file is there, its key is not");
    // Positive control: without redaction, the key would be sent, but not the whole file.
    let sent = sent_with(false);
    assert!(sent.contains(&key), "the line is chosen");
    assert!(sent.matches(&key).count() < 80, "not all lines are shown");
}
