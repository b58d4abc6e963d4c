use forage_base::Hint;
use tantivy::DocAddress;
use tantivy::schema::{Field, Value as _};

use super::record::StoredFile;
use super::*;
use crate::chunk::{ChunkSymbol, FileChunk};
use crate::languages::DefinitionKind;
use crate::search::{RankedSearch, Ranking};

const FILES: &[(&str, &str)] = &[
    (
        "src/router.rs",
        "/// Matches paths.\npub struct Router;\n\nimpl Router {\n    pub fn match_path(&self) {}\n}\n",
    ),
    (
        "src/session.rs",
        "use crate::router::Router;\n\npub struct Session {\n    router: Router,\n}\n\nfn open_session() {}\n",
    ),
    ("tests/router.rs", "#[test]\nfn router_matches_path() { Router.match_path() }\n"),
    ("app/view.py", "class View:\n    def render(self):\n        return self.template\n"),
    ("README.md", "# Router\n\nThe router matches a path to a session.\n"),
];

fn filled(files: &[(&str, &str)]) -> RankIndex {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    for (path, text) in files {
        writer.add(path, text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    index
}

fn open_in(directory: &Path) -> Result<RankIndex, IndexError> {
    RankIndex::in_directory(directory, &Stop::never())
}

fn search(index: &RankIndex, query: &str, limit: usize) -> Result<Ranking, IndexError> {
    crate::search::search(index, &RankedSearch::new(query, limit))
}

fn paths(ranking: &Ranking) -> Vec<&str> {
    ranking.files.iter().map(|file| file.path.as_str()).collect()
}

/// Formats the whole content of an answer.
fn dump(index: &RankIndex, query: &str) -> String {
    format!("{:?}", search(index, query, 50).unwrap())
}

#[test]
fn a_name_leads_to_its_definition() {
    let index = filled(FILES);
    let ranking = search(&index, "Router", 10).unwrap();
    assert_eq!(paths(&ranking)[0], "src/router.rs");
    let chunk = &ranking.files[0].chunks[0];
    assert_eq!(chunk.start_line, 1);
    assert!(!ranking.is_weak());
    assert_eq!(paths(&search(&index, "how are sessions opened", 10).unwrap())[0], "src/session.rs");
}

/// A large update saves its segments while it goes on. A segment that it has emptied must not shift those after
/// it.
#[test]
fn addresses_stay_valid_while_an_update_saves() {
    let index = RankIndex::in_memory().unwrap();
    for files in [&FILES[..1], &FILES[1..]] {
        let writer = index.writer(1).unwrap();
        for (path, text) in files {
            writer.add(path, text, Stamp::default()).unwrap();
        }
        writer.finish(false).unwrap();
    }
    assert_eq!(index.state().segments.len(), 2);
    let writer = index.writer(1).unwrap();
    writer.remove_at(DocAddress::new(0, 0)).unwrap();
    writer.add("src/new.rs", "pub struct New;\n", Stamp::default()).unwrap();
    writer.write_gathered().unwrap();
    writer.remove_at(DocAddress::new(1, 0)).unwrap();
    writer.commit().unwrap();
    let state = index.state();
    let living = state.segments.iter().flat_map(|segment| segment.living());
    let mut living: Vec<String> = living.map(|(_, path, _)| path.to_owned()).collect();
    living.sort();
    assert_eq!(living, ["README.md", "app/view.py", "src/new.rs", "tests/router.rs"]);
}

#[test]
fn file_name_finds_that_file_first() {
    let service = "class UserService:\n    user_service = user_service_py(user, service)\n";
    let files = [
        ("app/user_service.py", "import os\n"),
        ("app/user_service.ts", service),
        ("app/service.py", service),
        ("tests/test_users.py", service),
        ("web/Router.ts", "x\n"),
        ("web/router.tsx", "export const router = where(is, Router.ts, used)\n"),
        ("docs/user_service.md", service),
        ("app/requirements.py", "def parse_user_service_ts(): return extract(requirements, statically)\n"),
        ("lib/net/user_service.py", service),
        ("Dockerfile", "FROM scratch\n"),
        ("deploy/dockerfile.py", "dockerfile = Dockerfile()\n"),
    ];
    let index = filled(&files);
    for (query, wanted) in [
        ("user_service.ts", "app/user_service.ts"),
        ("app/user_service.py", "app/user_service.py"),
        ("./lib/net/user_service.py:12", "lib/net/user_service.py"),
        ("test_users.py", "tests/test_users.py"),
        ("where is Router.ts used", "web/Router.ts"),
        ("where is `Router.ts` used?", "web/Router.ts"),
        ("what does user_service.md say", "docs/user_service.md"),
        ("Dockerfile", "Dockerfile"),
    ] {
        assert_eq!(paths(&search(&index, query, 10).unwrap())[0], wanted, "{query}");
    }
    // Among other words, the file is only part of the subject.
    let about = "parsing user_service.ts statically to extract requirements";
    assert_ne!(paths(&search(&index, about, 10).unwrap())[0], "app/user_service.ts");
}

#[test]
fn name_that_is_defined_once_finds_its_definition_first() {
    let index = filled(&[
        ("src/handler.rs", "pub trait Handler {\n    type Future;\n}\n"),
        (
            "src/serve.rs",
            "impl Service for Serve {\n    type Handler = Boxed;\n}\nimpl Handler for Serve {}\n",
        ),
        ("src/handler/boxed.rs", "struct Boxed;\nimpl Handler for Boxed {}\n// Handler Handler Handler\n"),
        ("tests/handler.rs", "struct Handler;\nfn handler(handler: Handler) {}\n"),
        ("docs/handler.md", "# Handler\n\nThe Handler of a Handler.\n"),
        ("tests/fixture.rs", "pub struct OnlyHere;\n"),
        ("src/other.rs", "fn other() { OnlyHere; OnlyHere; OnlyHere }\nfn only_here() {}\n"),
    ]);
    assert_eq!(paths(&search(&index, "Handler", 10).unwrap())[0], "src/handler.rs");
    assert_eq!(paths(&search(&index, "OnlyHere", 10).unwrap())[0], "tests/fixture.rs");
}

#[test]
fn plural_finds_what_the_word_finds() {
    let index = filled(&[
        ("a.rs", "fn set_cookie() {}\n"),
        ("b.rs", "// All cookies.\n"),
        ("c.rs", "fn cook() {}\n"),
    ]);
    let found = |query: &str| {
        let ranking = search(&index, query, 10).unwrap();
        let mut found: Vec<String> = paths(&ranking).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(found("cookies"), ["a.rs", "b.rs"]);
    assert_eq!(found("cookie"), found("cookies"));
}

#[test]
fn nonsense_finds_nothing() {
    let index = filled(FILES);
    for nonsense in ["xyzzy", "frobnicate the quux", "", "   ", "?!", "\"", "the", "größe"] {
        let ranking = search(&index, nonsense, 10).unwrap();
        // One text here contains `the`, and a query without any other word must find it.
        let wanted: &[&str] = if nonsense == "the" { &["README.md"] } else { &[] };
        assert_eq!(paths(&ranking), wanted, "{nonsense}");
    }
    assert_eq!(search(&index, "xyzzy router", 10).unwrap().unknown, ["xyzzy"]);
    assert!(search(&index, "quantum flux capacitor calibration router", 10).unwrap().is_weak());
    assert!(search(&RankIndex::in_memory().unwrap(), "router", 10).unwrap().files.is_empty());
}

#[test]
fn filters_leave_files_out() {
    let index = filled(FILES);
    for (query, wanted) in [
        ("router path:tests", "tests/router.rs"),
        ("self lang:python", "app/view.py"),
        ("\"matches a path\"", "README.md"),
        ("session -router", ""),
        ("router path:nowhere", ""),
    ] {
        assert_eq!(paths(&search(&index, query, 10).unwrap()).join(" "), wanted, "{query}");
    }
}

#[test]
fn changed_index_equals_a_fresh_one() {
    let changed = filled(&[
        ("src/router.rs", "struct Old { session: Session, router: Router, path: Path }\n"),
        ("src/gone.rs", "pub struct Router; pub struct Session; fn path() {}\n"),
        FILES[3],
    ]);
    for (path, text) in FILES.iter().filter(|(path, _)| *path != "app/view.py") {
        // We commit each file separately to get many segments with deletions.
        let writer = changed.writer(1).unwrap();
        writer.add(path, "something else about router and session\n", Stamp::default()).unwrap();
        writer.commit().unwrap();
        let writer = changed.writer(1).unwrap();
        writer.remove("src/gone.rs").unwrap();
        writer.add(path, text, Stamp::default()).unwrap();
        writer.commit().unwrap();
    }
    let fresh = filled(FILES);
    assert_eq!(changed.files(), fresh.files());
    for query in [
        "Router",
        "how does the router match a path",
        "session",
        "render view template",
        "\"a path\"",
        "gone",
    ] {
        assert_eq!(dump(&changed, query), dump(&fresh, query), "{query}");
    }
}

#[test]
fn an_index_in_a_directory_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let index = open_in(directory.path()).unwrap();
    let writer = index.writer(1).unwrap();
    for (path, text) in FILES {
        writer.add(path, text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let again = open_in(directory.path()).unwrap();
    assert_eq!(dump(&again, "Router"), dump(&filled(FILES), "Router"));
    let writer = again.writer(1).unwrap();
    writer.remove("src/router.rs").unwrap();
    writer.commit().unwrap();
    // A reader must reload before it sees the change.
    assert_eq!(index.files(), FILES.len() as u64);
    index.reload().unwrap();
    assert_eq!(index.files(), FILES.len() as u64 - 1);
}

#[test]
fn what_is_no_index_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    std::fs::write(directory.path().join("manifest"), "{}").unwrap();
    let error = open_in(directory.path()).map(|_| ()).unwrap_err();
    assert!(error.is_damage() && error.hint() == Some(Hint::RebuildIndex), "{error}");
}

#[test]
fn a_large_file_is_cut_between_characters() {
    let text = "ä".repeat(limits::FILE_BYTES);
    let index = filled(&[("a.rs", &text), ("b.rs", &"fn wanted() {}\n".repeat(100_000))]);
    assert_eq!(paths(&search(&index, "wanted", 10).unwrap()), ["b.rs"]);
}

#[test]
fn records_come_back_as_they_were() {
    let mut record = StoredFile { path: "src/ä.rs".to_owned(), ..StoredFile::default() };
    record.push_chunk(&FileChunk { start_line: 1, end_line: 70_000, symbols: 0..1 }, 0);
    record.push_chunk(&FileChunk { start_line: 70_001, end_line: 70_002, symbols: 1..2 }, 0xD801);
    record.push_symbol(
        &ChunkSymbol { name: "größe".to_owned(), kind: DefinitionKind::Extension, line: 3, indent: 4 },
        0xD7FF,
        1,
    );
    record.push_symbol(
        &ChunkSymbol { name: "x".to_owned(), kind: DefinitionKind::Type, line: 60_000, indent: 0 },
        0x1_0000,
        2,
    );
    record.end_position = 900_000;
    let text = record.to_text();
    assert_eq!(StoredFile::from_text(&text), Some(record));
    for (cut, _) in text.char_indices() {
        assert_eq!(StoredFile::from_text(&text[..cut]), None);
    }
}

proptest::proptest! {
    #[test]
    fn any_text_of_any_language_is_a_document(text in crate::chunk::any_text()) {
        let (_, fields) = Fields::schema();
        for language in crate::languages::LANGUAGES {
            let path = format!("a.{}", language.extensions.first().unwrap_or(&"m"));
            let document = document(&fields, &path, &text);
            let stored = |field| tantivy::schema::Value::as_str(&document.get_first(field).unwrap()).unwrap();
            let record = StoredFile::from_text(stored(fields.record)).expect("what was written is read");
            assert_eq!(record.to_text(), stored(fields.record));
            let last = record.symbols.iter().map(|symbol| symbol.position + symbol.parts).max();
            assert!(last.unwrap_or(0) <= record.end_position);
            let mut tokenizer = encoded::tokenizers().get(encoded::TOKENIZER).unwrap();
            let mut decoded = Vec::new();
            for field in [fields.body, fields.comments] {
                tokenizer.token_stream(stored(field)).process(&mut |token| {
                    decoded.push((token.position, token.text.clone()));
                });
            }
            decoded.sort();
            let mut indexed: Vec<_> = Vec::new();
            let outline = crate::chunk::outline(&text, language);
            let mut position = 0;
            for (line, kind) in text.lines().zip(&outline.lines) {
                let end = match *kind {
                    LineKind::Blank => continue,
                    LineKind::Comment => 0,
                    LineKind::Code(end) => end,
                };
                for part in [&line[..end], &line[end..]] {
                    let tokens = crate::tokens::tokens(part);
                    let length = tokens.iter().filter(|token| !token.whole).count();
                    indexed.extend(tokens.into_iter().map(|token| (position + token.position as usize, token.text)));
                    position += length;
                }
            }
            indexed.sort();
            proptest::prop_assert_eq!(&decoded, &indexed);
            // A step is one character, so thousands of bytes would mean an overflow.
            let definitions: usize = stored(fields.definitions).len();
            assert!(definitions <= 8 * text.len() + 64, "{definitions} bytes");
        }
    }
}

#[test]
fn a_name_with_more_parts_than_its_line_displaces_nothing() {
    // Regression test: a typographic quote was part of the line's word but not of any name.
    let index = filled(&[("a.rs", "fn one\u{2019}two\u{2019}three\u{2019}four() {}\nfn wanted() {}\n")]);
    assert_eq!(paths(&search(&index, "wanted", 10).unwrap()), ["a.rs"]);
    let (mut vocabulary, mut words) = (encoded::Vocabulary::default(), encoded::Occurrences::default());
    words.push_words(&mut vocabulary, "b", 5);
    words.push_words(&mut vocabulary, "a", 3);
    assert_eq!(words.to_text(&vocabulary), "b\n%\na\n%\n");
}

#[test]
fn the_format_is_what_its_number_says() {
    // If you change this, you must increment the version in `encoded::TOKENIZER`.
    let (_, fields) = Fields::schema();
    let text = "// Reads URLs.\npub struct HttpServer { größe: u8 }\n\nfn run() { 配置 } // “end”\n";
    let document = document(&fields, "src/http_server.rs", text);
    let stored = [fields.path, fields.definitions, fields.body, fields.comments, fields.record]
        .map(|field| document.get_first(field).unwrap().as_str().unwrap().to_owned());
    let column = |field: Field| document.get_first(field).unwrap().as_u64().unwrap();
    let place = fields.latent.map(column);
    assert_eq!(
        format!("{} {stored:?} {place:x?}", encoded::TOKENIZER),
        include_str!("format.txt").trim_end()
    );
}

#[test]
fn an_index_of_another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    open_in(directory.path()).unwrap().writer(1).unwrap().add("a.rs", "fn a() {}", Stamp::default()).unwrap();
    let manifest = directory.path().join("manifest");
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    {
        let text = format!("forage_encoded_0 1\nsum {:016x}\n", 0);
        std::fs::write(&manifest, text).unwrap();
    }
    let error = open_in(directory.path()).map(|_| ()).unwrap_err();
    assert!(matches!(error, IndexError::Format), "{error}");
}

#[test]
fn single_name_neighbours_have_finite_scores() {
    let index = filled(&[("a.rs", "fn open_websocket() {}\n"), ("b.rs", "fn other() {}\n")]);
    let ranking = search(&index, "web socket", 10).unwrap();
    assert_eq!(paths(&ranking), ["a.rs"]);
    for file in &ranking.files {
        assert!(file.score.is_finite() && file.values.iter().all(|value| (0.0..=1.0).contains(value)));
        assert!(file.score > 0.5 && file.chunks.iter().all(|chunk| chunk.score <= 1.5), "{file:?}");
    }
}

#[test]
fn of_many_equal_files_the_first_by_path_are_looked_at() {
    let names: Vec<String> = (0..200).map(|index| format!("{index:03}.rs")).collect();
    let ordered: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "fn router() {}\n")).collect();
    let mut reversed = ordered.clone();
    reversed.reverse();
    let split = filled(&reversed[..70]);
    let writer = split.writer(1).unwrap();
    for (path, text) in &reversed[70..] {
        writer.add(path, text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let answer = dump(&filled(&ordered), "router");
    assert_eq!(dump(&filled(&reversed), "router"), answer);
    assert_eq!(dump(&split, "router"), answer);
}

#[test]
fn a_filter_finds_what_is_beyond_the_candidates() {
    let names: Vec<String> = (0..300).map(|position| format!("src/router{position}.rs")).collect();
    let mut files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "fn router() { path(to); }\n")).collect();
    files
        .push(("zone/last.py", "# long text about other things, one router of a path, and more than that\n"));
    let index = filled(&files);
    for query in ["router path:zone", "router lang:py", "router \"of a path\"", "router path:./zone/*.py"] {
        assert_eq!(paths(&search(&index, query, 10).unwrap()), ["zone/last.py"], "{query}");
    }
    let ranking = search(&index, "router lang:klingon", usize::MAX).unwrap();
    assert_eq!((ranking.files.len(), &ranking.ignored[..]), (301, &["lang:klingon".to_owned()][..]));
}

#[test]
fn writers_of_one_file_leave_few_segments() {
    let directory = tempfile::tempdir().unwrap();
    let index = open_in(directory.path()).unwrap();
    let text: String = (0..4_000).map(|position| format!("word{position}\n")).collect();
    for position in 0..30 {
        let writer = index.writer(1).unwrap();
        writer.add(&format!("{position}.rs"), &text, Stamp::default()).unwrap();
        writer.commit().unwrap();
    }
    assert_eq!(index.files(), 30);
    let segments = index.state().segments.len();
    assert!(segments < 16, "{segments} segments");
}

#[test]
fn a_long_query_is_bounded_and_found() {
    let index = filled(FILES);
    let words: String = (0..300).map(|position| format!("word{position} ")).collect();
    let ranking = search(&index, &format!("match_path {words}"), 10).unwrap();
    assert_eq!(paths(&ranking)[0], "src/router.rs");
    let many = "router ".repeat(100_000);
    assert!(!search(&index, &many, 10).unwrap().files.is_empty());
}

#[test]
fn damaged_records_are_told() {
    let sound = || {
        let mut record = StoredFile { path: "a.rs".to_owned(), ..StoredFile::default() };
        record.push_chunk(&FileChunk { start_line: 1, end_line: 9, symbols: 0..1 }, 0);
        record.push_chunk(&FileChunk { start_line: 10, end_line: 20, symbols: 0..0 }, 30);
        let symbol =
            ChunkSymbol { name: "größe".to_owned(), kind: DefinitionKind::Type, line: 3, indent: 0 };
        record.push_symbol(&symbol, 5, 1);
        record.end_position = 50;
        record
    };
    type Damage = fn(&mut StoredFile);
    let damages: &[Damage] = &[
        |record| record.end_position = 20,
        |record| record.chunks[0].start_line = 0,
        |record| record.chunks[0].end_line = 15,
        |record| record.symbols[0].line = 20,
        |record| record.symbols[0].parts = 46,
        |record| record.names.truncate(2),
        |record| record.chunks.clear(),
    ];
    assert!(StoredFile::from_text(&sound().to_text()).is_some());
    assert!(StoredFile::from_text(&format!("{}x", sound().to_text())).is_none());
    for (index, damage) in damages.iter().enumerate() {
        let mut record = sound();
        damage(&mut record);
        assert_eq!(StoredFile::from_text(&record.to_text()), None, "damage {index}");
    }
}

#[test]
fn second_writer_is_busy() {
    let index = filled(FILES);
    let writer = index.writer(1).unwrap();
    let error = index.writer(1).map(|_| ()).unwrap_err();
    assert!(matches!(error, IndexError::Busy), "{error}");
    assert!(!error.to_string().contains("remove"), "{error}");
    writer.commit().unwrap();
    index.writer(1).unwrap();
}

#[test]
fn files_without_words_are_known_and_count_for_nothing() {
    let index = filled(FILES);
    let before = dump(&index, "router path");
    let writer = index.writer(1).unwrap();
    let stamp = Stamp { content: 7, state: 8 };
    writer.add_wordless("src/router.png", stamp).unwrap();
    writer.commit().unwrap();
    assert_eq!((index.files(), index.wordless_files()), (FILES.len() as u64, 1));
    assert_eq!(dump(&index, "router path"), before);
    let state = index.state();
    let stamps: Vec<(&str, Stamp)> = state.living().collect();
    assert!(stamps.contains(&("src/router.png", stamp)), "{stamps:?}");
    assert_eq!(stamps.len(), FILES.len() + 1);
}

#[test]
fn commits_of_another_process_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let open = || open_in(directory.path()).unwrap();
    for (count, path) in (1..).zip(["a.rs", "b.rs", "a.rs"]) {
        let (mine, others) = (open(), open());
        assert!(!mine.is_outdated().unwrap());
        let writer = others.writer(1).unwrap();
        match count {
            3 => writer.remove(path).unwrap(),
            _ => writer.add(path, "fn router() {}\n", Stamp::default()).unwrap(),
        }
        writer.commit().unwrap();
        assert!(mine.is_outdated().unwrap() && !others.is_outdated().unwrap());
        assert_eq!(open().files(), others.files());
    }
}

#[test]
fn what_decoding_makes_longer_is_known_in_part() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    writer.add("a.txt", &"größe ".repeat(limits::FILE_BYTES / 7), Stamp::default()).unwrap();
    writer.commit().unwrap();
    assert_eq!(index.files_in_part(), 1);
}

#[test]
fn what_is_shown_first_is_not_what_a_file_is_worth() {
    let body = "    router router router router route path;\n".repeat(13);
    let text = format!("struct Router;\n{}fn user() {{\n{body}}}\n", "    a: b,\n".repeat(13));
    let index = filled(&[("a.rs", &text), ("b.rs", "fn other() {}\n")]);
    let ranking = search(&index, "the Router path", 10).unwrap();
    let file = &ranking.files[0];
    assert_eq!(file.chunks[0].start_line, 1);
    let best = file.chunks.iter().map(|chunk| chunk.score).fold(0.0, f32::max);
    assert!(best > file.chunks[0].score);
    let chunk = crate::rules::RULES.iter().position(|rule| rule.name == "chunk").unwrap();
    assert_eq!(file.values[chunk], best.min(1.0));
}

#[test]
fn a_name_is_found_where_code_writes_it_as_one_word() {
    let index = filled(&[("a.rs", "fn httpserver() {}\n"), ("b.rs", "fn other() {}\n")]);
    for query in ["HTTPServer", "http server"] {
        assert_eq!(paths(&search(&index, query, 10).unwrap()), ["a.rs"], "{query}");
    }
}

#[test]
fn a_full_disk_is_no_damage() {
    let io = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let internal = tantivy::TantivyError::InternalError(io.to_string());
    for error in [io.into(), internal] {
        let error = writer::failure(error);
        assert!(matches!(error, IndexError::Write(_)) && !error.is_damage(), "{error}");
    }
}
