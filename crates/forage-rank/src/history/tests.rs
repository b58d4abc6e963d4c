#![expect(clippy::disallowed_methods, reason = "tests make their own repositories, with git")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, RootPolicy, SecretPolicy};
use tempfile::TempDir;

use super::*;
use crate::tree::{UpdateEffort, update};
use crate::{RankIndex, RankedSearch, search};

/// A repository with a working tree.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.git("init -q -b main");
        project
    }

    fn at(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        self.git_with(&arguments)
    }

    fn git_with(&self, arguments: &[&str]) -> String {
        let output = forage_fuzz::peers::git(self.at()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git("add -A");
        self.git_with(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn root(&self) -> Arc<Root> {
        Root::open(self.at(), &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
    }

    fn history(&self, known: &History) -> Option<History> {
        read(&self.root(), &RelPath::root(), known, &Stop::never()).unwrap()
    }

    fn fresh(&self) -> History {
        self.history(&History::default()).unwrap()
    }
}

/// Returns the values of the rule `generated` for the files of a question, ordered by path.
fn generated(index: &RankIndex, query: &str) -> Vec<(String, f32)> {
    let at = crate::RULES.iter().position(|rule| rule.name == "generated").unwrap();
    let ranking = search(index, &RankedSearch::new(query, 50)).unwrap();
    let mut files: Vec<_> = ranking.files.iter().map(|file| (file.path.clone(), file.values[at])).collect();
    files.sort_by(|left, right| left.0.cmp(&right.0));
    files
}

#[test]
fn build_directory_is_source_once_git_tracks_it() {
    let project = Project::new();
    project.write("src/main.c", "int evaluate(void);\n");
    project.commit("First");
    project.write("build/evaluate.c", "int evaluate(void) { return 1; }\n");
    project.write("dist/evaluate.js", "function evaluate() { return 1 }\n");
    project.write(".gitignore", "dist\n");
    let index = RankIndex::in_memory().unwrap();
    let update = |index: &RankIndex| update(index, &project.root(), None, &effort(), || Ok(())).unwrap();
    update(&index);
    let values = |build: f32| vec![("build/evaluate.c".to_owned(), build), ("src/main.c".to_owned(), 0.0)];
    assert_eq!(generated(&index, "evaluate"), values(1.0));
    // The files stay the same, but the commit changes.
    project.git("add build");
    project.git("commit -q -m Sources");
    update(&index);
    assert_eq!(generated(&index, "evaluate"), values(0.0));
    let anew = RankIndex::in_memory().unwrap();
    update(&anew);
    assert_eq!(generated(&anew, "evaluate"), values(0.0));
    // A repository that we can't read, like that of a linked worktree. Ignored files still aren't in the
    // index.
    std::fs::rename(project.at().join(".git"), project.at().join("elsewhere.git")).unwrap();
    project.write(".git", "gitdir: elsewhere.git\n");
    std::fs::remove_dir_all(project.at().join("elsewhere.git")).unwrap();
    update(&index);
    assert_eq!(generated(&index, "evaluate"), values(0.0));
    std::fs::remove_file(project.at().join(".git")).unwrap();
    update(&index);
    assert_eq!(generated(&index, "evaluate")[0], ("build/evaluate.c".to_owned(), 1.0));
}

fn effort() -> UpdateEffort {
    UpdateEffort { threads: 2, ..UpdateEffort::default() }
}

#[test]
fn files_are_found_by_the_words_of_those_who_changed_them() {
    let project = Project::new();
    for name in ["alpha", "beta", "gamma", "delta"] {
        project.write(&format!("src/{name}.rs"), &format!("pub fn {name}_loop() {{ retry(); }}\n"));
    }
    project.commit("First");
    for position in 0..4 {
        project.write("src/delta.rs", &format!("pub fn delta_loop() {{ retry({position}); }}\n"));
        project.commit("Do not hang when the modem retry is unplugged\n\nReported-by: Zeppelin <z@z>");
        // A file that is changed as often, but for another reason.
        project.write("src/alpha.rs", &format!("pub fn alpha_loop() {{ retry({position}); }}\n"));
        project.commit("Count from one");
    }
    let index = RankIndex::in_memory().unwrap();
    update(&index, &project.root(), None, &effort(), || Ok(())).unwrap();
    let found = |query: &str, history: bool| {
        let request = RankedSearch { history, ..RankedSearch::new(query, 4) };
        search(&index, &request).unwrap().files.into_iter().map(|hit| hit.path).collect::<Vec<_>>()
    };
    let query = "retry hangs when a modem is unplugged";
    assert_eq!(found(query, true)[0], "src/delta.rs");
    assert_ne!(found(query, false)[0], "src/delta.rs");
    // The name of the reporter must not count as a word of the message.
    assert_eq!(found("loop Zeppelin", true), found("loop Zeppelin", false));
    assert!(index.history_note().starts_with("messages of 9 commits"), "{}", index.history_note());
}

#[test]
fn incremental_history_equals_a_fresh_one() {
    let project = Project::new();
    let mut history = History::default();
    let steps: [(&str, &dyn Fn()); 11] = [
        ("first", &|| {
            for index in 0..30 {
                project.write(&format!("f{}.txt", index % 7), &format!("{index}"));
                project.commit(&format!("Change number {index} of file {}", index % 7));
            }
        }),
        ("commit", &|| {
            project.write("new.txt", "x");
            project.commit("One more");
        }),
        ("amend", &|| drop(project.git("commit -q --amend --allow-empty -m Another"))),
        ("checkout", &|| drop(project.git("checkout -q -b older HEAD~12"))),
        ("branch", &|| {
            project.write("older.txt", "x");
            project.commit("On another branch");
        }),
        ("merge", &|| drop(project.git("merge -q --no-edit main"))),
        ("rebase", &|| {
            project.git("checkout -q main");
            project.git("rebase -q --force-rebase HEAD~5");
        }),
        ("gc", &|| {
            project.git("gc -q --prune=now");
            project.git("pack-refs --all");
        }),
        ("reset", &|| drop(project.git("reset -q --hard HEAD~3"))),
        ("shallow", &|| project.write(".git/shallow", &project.git("rev-parse HEAD~9"))),
        ("unshallow", &|| std::fs::remove_file(project.at().join(".git/shallow")).unwrap()),
    ];
    for (name, step) in steps {
        step();
        let now = project.history(&history);
        let kept = now.is_none();
        history = now.unwrap_or(history);
        assert_eq!(history, project.fresh(), "{name}");
        assert_eq!(kept, name == "gc", "{name}");
        assert_eq!(History::from_bytes(&history.to_bytes()).as_ref(), Some(&history), "{name}");
    }
}

#[test]
fn commit_limit_depends_on_the_checked_out_tree() {
    let project = Project::new();
    let mut commits = String::new();
    for index in 0..1_300 {
        let text = format!("{index}");
        let message = format!("Change {index}");
        commits
            .push_str(&format!("commit refs/heads/main\ncommitter A B <a@b> {} +0000\n", 1_000_000 + index));
        commits.push_str(&format!("data {}\n{message}\n", message.len()));
        commits.push_str(&format!("M 100644 inline a.txt\ndata {}\n{text}\n", text.len()));
    }
    std::fs::write(project.at().join("commits"), commits).unwrap();
    let import = "git fast-import --quiet < commits && rm commits";
    let output = Command::new("sh").args(["-c", import]).current_dir(project.at()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    project.git("reset -q --hard");
    let few = project.fresh();
    assert_eq!(few.used(), 1_000);

    // This commit has too many files for its message to be useful, so it must not be used.
    for index in 0..399 {
        project.write(&format!("d{}/f{index}.txt", index % 5), "x");
    }
    project.commit("Many");
    let more = project.history(&few).unwrap();
    assert_eq!(more.used(), 400 * limits::COMMITS_PER_FILE);
    assert_eq!(more, project.fresh());
    project.git("checkout -q HEAD~1");
    assert_eq!(project.history(&more).unwrap(), few);
}

#[test]
fn timed_out_history_read_resumes_in_the_next_call() {
    let project = Project::new();
    for index in 0..20 {
        project.write("a.txt", &format!("{index}"));
        project.commit(&format!("Change {index}"));
    }
    let stop = Stop::never();
    stop.cancel();
    let none = read(&project.root(), &RelPath::root(), &History::default(), &stop).unwrap().unwrap();
    assert!(!none.is_whole && none.commits.is_empty());
    let whole = project.history(&none).unwrap();
    assert_eq!(whole, project.fresh());
    assert!(none.note().contains("not read yet"));
    project.write("a.txt", "more");
    project.commit("One more");
    let late = read(&project.root(), &RelPath::root(), &whole, &stop).unwrap().unwrap();
    assert_eq!((late.is_whole, late.used()), (false, whole.used()));
    assert_eq!(History::from_bytes(&late.to_bytes()).as_ref(), Some(&late));
    assert_eq!(project.history(&late).unwrap(), project.fresh());
}

#[test]
fn missing_commits_are_retried_after_new_packs() {
    let project = Project::new();
    for index in 0..6 {
        project.write("a.txt", &format!("{index}"));
        project.commit(&format!("Change {index}"));
    }
    project.git("gc -q --prune=now");
    let packs = project.at().join(".git/objects/pack");
    let elsewhere = project.at().join("elsewhere");
    std::fs::rename(&packs, &elsewhere).unwrap();
    std::fs::create_dir(&packs).unwrap();
    let missing = project.fresh();
    assert_eq!((missing.used(), missing.unread), (0, 1));
    assert_eq!(project.history(&missing), None);
    std::fs::remove_dir(&packs).unwrap();
    std::fs::rename(&elsewhere, &packs).unwrap();
    let found = project.history(&missing).unwrap();
    assert_eq!((found.used(), found.unread), (6, 0));
    assert_eq!(found, project.fresh());
}

#[test]
fn trailers_are_no_words_and_names_are_words_and_parts() {
    let words = message_words(
        "fix(css): parseHeader loses a frame\n\nWhy: the frames are late.\nSigned-off-by: Zoe <z@z>\nChange-Id: I1f\n",
    );
    let has = |word: &str| words.contains_key(&*stem(word));
    assert!(words.contains_key("parseheader"));
    assert!(["parse", "header", "css", "late"].into_iter().all(has));
    assert!(!["zoe", "change", "the"].into_iter().any(has));
    assert_eq!(words.get(&*stem("frames")), Some(&2));
}

#[test]
fn fuzz_any_bytes_in_the_place_of_a_history_are_sound_or_none() {
    let project = Project::new();
    for index in 0..6 {
        project.write(&format!("d{index}/ä.txt"), &format!("{index}"));
        project.commit(&format!("Change number {index}"));
    }
    let bytes = project.fresh().to_bytes();
    let query = crate::query::RankQuery::parse("change number", &crate::QueryWeights::default());
    let content = bytes[..bytes.len() - 8].to_vec();
    forage_fuzz::target!(&forage_fuzz::seeds([content]), |content| {
        let Some(history) = History::from_content(content) else { return };
        let never = || false;
        let Ok(commit_scores) = history.commit_scores(&query, &crate::stop_checker::StopChecker::new(&never))
        else {
            return;
        };
        assert!((0.0..=1.0).contains(&commit_scores.score("d1/ä.txt")));
        assert_eq!(History::from_bytes(&history.to_bytes()), Some(history));
    });
}
