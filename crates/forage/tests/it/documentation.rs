//! Runs the examples of the documentation and compares their output. They run in the sources of a public
//! package in the version of Cargo.lock, since cargo has already unpacked these sources to build Forage.

#[cfg(unix)]
mod first_examples;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forage_tools::limits;

use crate::Project;
use crate::plan::copy_files;

/// A page of the documentation. It has a package (a link to `PACKAGES`), files (`text file=PATH` blocks), and
/// commands with their output (`console` blocks).
struct Page {
    package: Option<String>,
    files: Vec<(String, String)>,
    examples: Vec<(String, String)>,
}

/// The beginning of a link to the sources of a package, `NAME/VERSION/source/`.
const PACKAGES: &str = "](https://docs.rs/crate/";

/// Returns the package in whose sources a page's examples run, as `NAME-VERSION`.
fn package(text: &str) -> Option<String> {
    let (name, rest) = text.split_once(PACKAGES)?.1.split_once('/')?;
    Some(format!("{name}-{}", rest.split_once("/source/")?.0))
}

fn cargo_home() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap()
}

/// Locates the directory into which cargo has unpacked a package.
fn unpacked(package: &str) -> PathBuf {
    let registries = std::fs::read_dir(cargo_home().join("registry/src")).unwrap();
    let mut places = registries.map(|registry| registry.unwrap().path().join(package));
    let place = places.find(|place| place.is_dir());
    place
        .ok_or_else(|| {
            format!(
                "{package} is not unpacked; if Cargo.lock has another version, update the pages that name it"
            )
        })
        .unwrap()
}

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Reads a file of the workspace.
fn text_of(path: &str) -> String {
    std::fs::read_to_string(workspace(path)).map_err(|error| format!("{path}: {error}")).unwrap()
}

/// Lists the names of the pages in `docs`.
fn names_of_pages() -> Vec<String> {
    let entries = std::fs::read_dir(workspace("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names
}

fn read(name: &str) -> Page {
    let text = text_of(&format!("docs/{name}"));
    let mut page = Page { package: package(&text), files: Vec::new(), examples: Vec::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(path) = kind.strip_prefix("text file=") {
            page.files.push((path.to_owned(), block.join("\n") + "\n"));
        } else if kind == "console" {
            for line in block {
                match line.strip_prefix("$ ") {
                    Some(command) => page.examples.push((command.to_owned(), String::new())),
                    None => {
                        let (_, output) = page.examples.last_mut().unwrap();
                        output.push_str(line);
                        output.push('\n');
                    }
                }
            }
        }
    }
    page
}

/// Returns true if `actual` matches `expected`, in which `[..]` matches any part of a line.
fn fits(expected: &str, actual: &str) -> bool {
    let line = |expected: &str, actual: &str| {
        let mut rest = actual;
        let mut parts = expected.split("[..]").enumerate().peekable();
        while let Some((i, part)) = parts.next() {
            let at = match (i, parts.peek()) {
                (0, _) => rest.starts_with(part).then_some(0),
                (_, None) => rest.ends_with(part).then(|| rest.len() - part.len()),
                _ => rest.find(part),
            };
            let Some(at) = at else { return false };
            rest = &rest[at + part.len()..];
        }
        expected.contains("[..]") || rest.is_empty()
    };
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    expected.len() == actual.len() && expected.iter().zip(&actual).all(|(e, a)| line(e, a))
}

/// Runs each example of a page in a shell on the page's files. Returns the number of examples.
fn run_page(name: &str) -> usize {
    let page = read(name);
    let files: Vec<(&str, &str)> =
        page.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let project = Project::new(&[]);
    if let Some(package) = &page.package {
        copy_files(&unpacked(package), &project.root);
    }
    files.iter().for_each(|(path, text)| project.write(path, text));
    let programs = Path::new(env!("CARGO_BIN_EXE_forage")).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for (command, expected) in &page.examples {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(&project.root).env_clear();
        shell.envs([("PATH", path.as_str()), ("HOME", project.home.to_str().unwrap())]).stdin(Stdio::null());
        // The page on dependencies reads packages that cargo has unpacked.
        shell.env("CARGO_HOME", cargo_home());
        let output = shell.output().unwrap();
        let status = output.status.code().unwrap_or(-1);
        let status = if status == 0 { String::new() } else { format!("? {status}\n") };
        // If there is output on stdout, stderr only contains notes. Otherwise stderr is the answer.
        let reported = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let actual = format!("{status}{}", String::from_utf8_lossy(reported));
        assert!(fits(expected, &actual), "{name}: {command}\nexpected:\n{expected}\nprinted:\n{actual}");
    }
    page.examples.len()
}

/// The page on languages must list every one of them and how it is read.
#[test]
fn every_language_has_its_row() {
    let page = text_of("docs/languages.md");
    for reading in ["parsed", "by line", "headings", "text"] {
        let languages = forage_rank::languages();
        let names = languages.iter().filter(|language| language.1 == reading).map(|language| language.0);
        let row = format!("| {reading} | {} |", names.collect::<Vec<_>>().join(", "));
        assert!(page.lines().any(|line| line == row), "{row}");
    }
}

/// Runs every `console` block of every page. `console no-run: WHY` marks and explains exceptions.
#[test]
#[cfg(unix)]
fn examples_print_what_their_page_says() {
    let names = names_of_pages();
    let counts: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), run_page(name))).collect();
    for (page, at_least) in [
        ("grep.md", 20),
        ("search.md", 5),
        ("unknown-repository.md", 7),
        ("scripts.md", 3),
        ("errors.md", 1),
        ("bug-report.md", 1),
    ] {
        assert!(counts.iter().any(|(name, count)| *name == page && *count >= at_least), "{counts:?}");
    }
}

#[test]
fn the_comparison_can_fail() {
    assert!(fits("a [..] c\nd\n", "a b c\nd\n") && fits("x[..]", "xyz"));
    for (expected, actual) in
        [("a", "b"), ("a\n", "a\nb\n"), ("a [..] c", "a b d"), ("a[..]", "ba"), ("", "x")]
    {
        assert!(!fits(expected, actual), "{expected:?} {actual:?}");
    }
}

/// Checks that docs/environment.md has a row for this directory in the cache directory.
pub(crate) fn assert_place(directory: &str) {
    let page = include_str!("../../../../docs/environment.md");
    assert!(page.contains(&format!("| `~/.cache/forage/{directory}/` |")), "{directory}");
}

/// Questions that newcomers ask. Each has the page whose title promises the answer, and a part of the answer.
const QUESTIONS: [(&str, &str, &str); 34] = [
    ("how do I set my agent up", "README.md", "forage setup claude-code"),
    ("how do I use it with Claude Code", "docs/start.md", "forage setup claude-code --write"),
    ("how do I give it my OpenAI key", "docs/models.md", "export OPENAI_API_KEY="),
    ("how do I exclude a folder", "docs/exclude.md", "exclude = ["),
    ("why is a file missing", "docs/missing-file.md", "forage why dist/bundle.js"),
    ("how do I use it in CI", "docs/scripts.md", "|| status=$?; test $status -eq 1"),
    ("which of the commands do I use", "docs/which.md", "forage grep --uses"),
    (
        "does my code leave the machine",
        "docs/privacy.md",
        "does not leave the machine unless you use a model",
    ),
    ("does it run on my Mac", "docs/packaging.md", "has not yet run on a Mac"),
    ("where is the index, and how do I delete it", "docs/instant-index.md", "forage index drop"),
    ("which languages does it know", "docs/languages.md", "| parsed |"),
    ("how do I print paths only", "docs/scripts.md", "forage rank -l"),
    ("how do I serve a team", "docs/team.md", "forage mcp --http"),
    ("why does my agent not use it", "docs/troubleshooting.md", "## My agent does not use Forage"),
    ("which workflow file do I need in CI", "docs/scripts.md", "runs-on: ubuntu-latest"),
    ("how do I search several repositories", "docs/repositories.md", "forage --root "),
    ("does it work offline", "docs/privacy.md", "To work offline"),
    ("how do I remove it", "docs/remove.md", "forage setup --detected --remove"),
    ("how does it compare with ripgrep", "docs/compare.md", "`forage grep` or ripgrep: same output"),
    ("how does it compare with embeddings", "docs/compare.md", "semble. Forage ranks by words"),
    ("where does it store files", "docs/environment.md", "`~/.cache/forage/index/`"),
    ("how do I search another branch", "docs/changes.md", "forage grep X release:"),
    ("what did this branch change", "docs/changes.md", "forage files --since main..."),
    ("who implements this trait", "docs/structure.md", "forage grep --uses NAME"),
    ("how do I get the top five paths", "docs/scripts.md", "forage rank -l -m 5"),
    ("which key does my agent need", "docs/models.md", "export FORAGE_MODEL="),
    ("how do I keep secrets out of answers", "docs/secrets.md", "`[redacted:RULE]`"),
    ("what do the definitions cost", "docs/tokens.md", "forage tools --cost"),
    ("which commit removed a line", "docs/history.md", "forage history -F TEXT"),
    ("how do I remove a plugin", "docs/remove.md", "| a plugin |"),
    ("which files are left out", "docs/missing-file.md", "| binary files:"),
    ("how large is the index", "docs/instant-index.md", "takes a tenth of the bytes of the text"),
    ("how do I install a package", "docs/packaging.md", "`pip install FILE`"),
    ("how do I serve a team under a name of its own", "docs/team.md", "--allow-host"),
];

/// Maximum number of words before a page's answer begins.
const WORDS_BEFORE_AN_ANSWER: usize = 150;

#[test]
fn pages_answer_the_question_of_their_title_at_once() {
    for (question, page, answer) in QUESTIONS {
        let text = text_of(page);
        let (before, _) = text.split_once(answer).unwrap_or_else(|| panic!("{page} does not say {question}"));
        let words = before.split_whitespace().count();
        assert!(words <= WORDS_BEFORE_AN_ANSWER, "{question}: {words} words before the answer in {page}");
    }
}

#[test]
fn front_pages_are_short() {
    for (page, max) in [("README.md", 900), ("ARCHITECTURE.md", 2_500), ("bench/README.md", 1_000)] {
        let words = text_of(page).split_whitespace().count();
        assert!(words <= max, "{page} has {words} words, at most {max} are wanted");
    }
}

/// The start page of the documentation must link every page.
#[test]
fn start_page_links_every_page() {
    let start = text_of("docs/README.md");
    let pages = names_of_pages().into_iter().filter(|name| name != "README.md" && name != "SUMMARY.md");
    let missing: Vec<String> = pages.filter(|name| !start.contains(&format!("]({name})"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Reads a file of the workspace as one line.
fn joined(path: &str) -> String {
    text_of(path).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn numbers_on_pages_are_those_of_the_program() {
    let readme = joined("README.md");
    let clients = Project::new(&[]).run(&["setup", "--json"]).json().as_array().unwrap().len();
    assert!(
        readme.contains(&format!("Claude Code, Codex, Cursor and {} other clients", clients - 3)),
        "{clients}"
    );
    let untried = joined("docs/clients.md").matches("| not tried;").count();
    assert!(readme.contains(&format!("({untried} of the {clients} are not tried)")), "{untried}");
    // `definitions_and_instructions_stay_small` enforces this limit.
    assert!(readme.contains("cost an agent under 1,900 tokens"));
    // docs/grep.md names the number of matches above which an answer has no context.
    assert!(joined("docs/grep.md").contains("more than ten matches") && limits::GREP_CONTEXT_MATCHES == 10);
    assert!(joined("docs/rank.md").contains("up to six more files") && limits::CODE_FURTHER_FILES == 6);
    let help = Project::new(&[]).run(&["help", "rank"]).stdout;
    assert!(help.contains(&format!("with --code up to {}", limits::CODE_FILES)), "{help}");
    let parsed = forage_rank::languages().iter().filter(|language| language.1 == "parsed").count();
    assert!(joined("docs/compare.md").contains("in fifty languages") && parsed >= 50, "{parsed}");
}

/// The program must accept every TOML block, except for files of clients and of tokens.
#[test]
fn configuration_examples_are_valid() {
    let project = Project::new(&[]);
    let mut count = 0;
    for name in names_of_pages() {
        let text = text_of(&format!("docs/{name}"));
        for rest in text.split("\n```toml\n").skip(1) {
            let example = rest.split("\n```").next().unwrap();
            if !example.contains("[mcp_servers.") && !example.contains("[[tokens]]") {
                project.configure(example);
                let run = project.run(&["config"]);
                assert!(run.status == 0 && run.stderr.is_empty(), "{name}: {example}\n{run:?}");
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn every_variable_of_a_setting_is_on_its_page() {
    let page = include_str!("../../../../docs/environment.md");
    let schema = Project::new(&[]).run(&["config", "--schema"]).stdout;
    let variables: Vec<&str> =
        schema.split("\"x-variable\": \"").skip(1).filter_map(|it| it.split('"').next()).collect();
    assert!(variables.len() > 5, "{variables:?}");
    for variable in variables {
        assert!(page.contains(&format!("`{variable}`")), "{variable}");
    }
}

/// With `grep "published yet"`, as CONTRIBUTING.md says, we find the sentences that the first release will
/// remove.
#[test]
fn sentences_on_publication_are_found_by_grep() {
    let docs = names_of_pages().into_iter().map(|name| format!("docs/{name}"));
    let others = ["README.md", "CHANGELOG.md", "xtask/src/pages/llms.txt"].map(str::to_owned);
    let mut found = 0;
    for path in docs.chain(others) {
        let (text, joined) = (text_of(&path), joined(&path));
        let count = |text: &str| text.matches("published yet").count();
        assert_eq!(count(&text), count(&joined), "{path}: a line ends within the sentence");
        assert_eq!(joined.matches("not published").count(), joined.matches("not published yet").count());
        found += count(&text);
    }
    assert!(found > 5, "{found}");
}

/// Returns true if a table names a file: below the workspace, below `crates`, or in the tests of a crate
/// (`tools/race.rs`).
fn is_named_file(name: &str) -> bool {
    let (of_crate, rest) = name.split_once('/').unwrap_or_default();
    let tests = match of_crate {
        "forage" => format!("crates/forage/tests/it/{rest}"),
        _ => format!("crates/forage-{of_crate}/tests/it/{rest}"),
    };
    [name, &format!("crates/{name}"), &tests].into_iter().any(|path| workspace(path).is_file())
}

#[test]
fn invariants_and_promises_name_checks_that_exist() {
    for (page, head, min) in [("ARCHITECTURE.md", "| | invariant |", 25), ("SECURITY.md", "| | promise |", 9)]
    {
        let text = text_of(page);
        let table = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
        let rows: Vec<&str> = table.take_while(|line| line.starts_with('|')).collect();
        assert!(rows.len() >= min, "{page}: {}", rows.len());
        for row in rows {
            let checks = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
            let names = checks.split('`').skip(1).step_by(2);
            let files: Vec<&str> = names.filter(|name| !name.starts_with('[')).collect();
            assert!(!files.is_empty(), "{row}");
            for file in files {
                assert!(is_named_file(file), "{page}: {file}: {row}");
            }
        }
    }
}

/// Returns true if a directory has this file or module, at any depth.
fn has_part(directory: &Path, part: &str) -> bool {
    if directory.join(part).exists() || directory.join(format!("{part}.rs")).exists() {
        return true;
    }
    let mut paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.any(|path| path.is_dir() && has_part(&path, part))
}

#[test]
fn architecture_names_every_crate_and_parts_that_exist() {
    let text = text_of("ARCHITECTURE.md");
    let table = text.lines().skip_while(|line| !line.starts_with("| crate | main parts |")).skip(2);
    let (mut count, mut crates) = (0, Vec::new());
    for row in table.take_while(|line| line.starts_with('|')) {
        let names = |cell| row.split('|').nth(cell).unwrap_or_default().split('`').skip(1).step_by(2);
        crates.extend(names(1));
        // Some rows name programs, too.
        for part in names(2).filter(|part| !["rg", "ugrep"].contains(part)) {
            let is_there = names(1).any(|name| has_part(&workspace(&format!("crates/{name}/src")), part));
            assert!(is_there, "{part}: {row}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
    for entry in std::fs::read_dir(workspace("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(crates.contains(&name.as_str()), "{name}");
    }
}

/// The pages in `tests/requirements`. Each has a table of requirements (`| id | what must hold | tests |`).
/// The number is the minimum of tests that it names.
const TABLES: [(&str, usize); 4] =
    [("keyword-search.md", 25), ("search.md", 20), ("agent.md", 15), ("lookup.md", 30)];

/// Returns the rows of a page's table of requirements.
fn requirements(page: &str) -> Vec<String> {
    let text = text_of(&format!("crates/forage/tests/requirements/{page}"));
    let table = text.lines().skip_while(|line| !line.starts_with("| id |")).skip(2);
    table.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// Lists the tests that a row names. The form is `place/file.rs: name`, and more names from the same file may
/// follow.
fn named_tests(row: &str) -> Vec<(String, String)> {
    let (mut file, mut found) = (String::new(), Vec::new());
    // Brackets name the part of the requirement that a test covers, for example a field.
    let tests: String = row
        .split('|')
        .nth(3)
        .unwrap_or_default()
        .split('(')
        .enumerate()
        .map(|(index, part)| if index == 0 { part } else { part.split_once(')').unwrap_or_default().1 })
        .collect();
    for name in tests.split('`').skip(1).step_by(2) {
        let (place, test) = name.split_once(": ").unwrap_or(("", name));
        let (directory, rest) = place.split_once('/').unwrap_or(("", ""));
        match directory {
            "crates" => file = place.to_owned(),
            "forage" => file = format!("crates/forage/tests/it/{rest}"),
            "python" => file = format!("crates/forage-python/tests/{rest}"),
            "" => {}
            directory => file = format!("crates/forage-{directory}/tests/it/{rest}"),
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if test.contains('_') && test.chars().all(is_word) {
            found.push((file.clone(), test.to_owned()));
        }
    }
    found
}

#[test]
fn the_tables_of_requirements_name_tests_that_exist() {
    for (page, at_least) in TABLES {
        let tests: Vec<_> = requirements(page).iter().flat_map(|row| named_tests(row)).collect();
        for (file, test) in &tests {
            let source = text_of(file);
            let is_python = file.ends_with(".py");
            let begins = format!("{} {test}(", if is_python { "def" } else { "fn" });
            let before = source.split(&begins).next().filter(|before| before.len() < source.len());
            let before = before.unwrap_or_else(|| panic!("{page}: {file} has no test {test}"));
            let lines = before.lines().rev().map(str::trim).skip_while(|line| line.is_empty());
            let above = lines.take_while(|line| line.starts_with(['#', '/']));
            let attributes: Vec<&str> = above.filter(|line| line.starts_with('#')).collect();
            // `cargo xtask python` runs the tests in Python.
            let is_run = is_python
                || attributes.contains(&"#[test]")
                    && !attributes.iter().any(|it| it.contains("feature") || it.contains("ignore"));
            assert!(is_run, "{page}: {file}: {test} is no test, or not one of every run: {attributes:?}");
        }
        assert!(tests.len() >= at_least, "{page}: only {} names were checked", tests.len());
    }
}

/// Every row must name a test, or the decision that changes the requirement.
#[test]
fn no_requirement_is_without_a_test_or_a_decision() {
    for (page, _) in TABLES {
        let rows = requirements(page);
        assert!(rows.len() > 5, "{page}: {} rows", rows.len());
        for row in rows {
            let is_decided = row.to_lowercase().contains("decision: ");
            assert!(is_decided || !named_tests(&row).is_empty(), "{page}: {row}");
        }
    }
}

#[test]
fn the_table_of_search_has_every_id_of_its_document() {
    let ids: Vec<String> = requirements("search.md")
        .iter()
        .map(|row| row.split('|').nth(1).unwrap().trim().to_owned())
        .collect();
    let functional = (1..=7).map(|number| format!("FR-LS-{number:02}"));
    let others = [
        "NFR-LS-SEC-01",
        "NFR-LS-SEC-02",
        "NFR-LS-PERF-01",
        "NFR-LS-PERF-02",
        "T-LS-PARSE-01",
        "T-LS-LIM-01",
        "T-LS-TMO-01",
        "IT-LS-E2E-01",
        "IT-LS-FZ-01",
        "§5",
    ];
    let expected: Vec<String> = functional.chain(others.map(str::to_owned)).collect();
    assert_eq!(ids, expected);
}

#[test]
fn what_a_row_names_is_found() {
    let row = "| X-1 | `max_results` | `tools/a.rs: one_test`, `two_test` (`exit_code`, `timed_out`), `crates/b/src/c.rs: three_test` |";
    let expected = [
        ("crates/forage-tools/tests/it/a.rs", "one_test"),
        ("crates/forage-tools/tests/it/a.rs", "two_test"),
        ("crates/b/src/c.rs", "three_test"),
    ];
    assert_eq!(named_tests(row), expected.map(|(file, test)| (file.to_owned(), test.to_owned())));
}
