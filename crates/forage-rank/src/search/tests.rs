use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::index::Stamp;

/// Creates many files that only differ in a few words, and a test file with more to say.
fn filled(count: usize) -> RankIndex {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    for position in 0..count {
        let text = format!("fn router() {{ path(); }}\n// word{position} word{} other\n", position % 200);
        writer.add(&format!("src/{position:05}.rs"), &text, Stamp::default()).unwrap();
    }
    writer
        .add("tests/last.rs", "fn last() { let longer = text(); more(router) }\n", Stamp::default())
        .unwrap();
    writer.commit().unwrap();
    index
}

fn paths(ranking: &Ranking) -> Vec<&str> {
    ranking.files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn what_is_not_allowed_takes_no_place() {
    let index = filled(2 * limits::CANDIDATES);
    let request = RankedSearch::new("router", 10);
    assert!(!paths(&search(&index, &request).unwrap()).contains(&"tests/last.rs"));
    let allow = |_: usize, path: &str| path.starts_with("tests/");
    let request = RankedSearch { allow: Some(&allow), ..request };
    let ranking = search(&index, &request).unwrap();
    assert_eq!((paths(&ranking), ranking.matching), (vec!["tests/last.rs"], 1));
    // The query's own filters must apply as well.
    let ranking = search(&index, &RankedSearch { query: "router path:src", ..request }).unwrap();
    assert!(ranking.files.is_empty() && ranking.matching == 0 && !ranking.stopped);
}

/// Creates the most expensive query possible: as long as we read, and full of words that files contain.
fn hostile() -> String {
    let mut text: String = (0..400).map(|index| format!("word{index} ")).collect();
    text.push_str(&"router path other ".repeat(limits::QUERY_BYTES / 18));
    text.truncate(limits::QUERY_BYTES);
    text
}

#[test]
fn a_search_stops_when_it_is_told() {
    let index = filled(2_000);
    for query in [&hostile()[..], "router -path:*x*y*z", "\"router path\" other"] {
        let asked = AtomicUsize::new(0);
        let never = || {
            asked.fetch_add(1, Ordering::Relaxed);
            false
        };
        let whole = search(&index, &RankedSearch { stop: &never, ..RankedSearch::new(query, 10) }).unwrap();
        assert!(!whole.stopped && whole.files.len() == 10, "{query}");
        let often = asked.load(Ordering::Relaxed);
        assert!(often > limits::CANDIDATES, "asked {often} times of {query}");
        for position in (0..often).step_by(often / 50) {
            let asked = AtomicUsize::new(0);
            let stop = || asked.fetch_add(1, Ordering::Relaxed) >= position;
            let ranking =
                search(&index, &RankedSearch { stop: &stop, ..RankedSearch::new(query, 10) }).unwrap();
            assert!(ranking.stopped && ranking.files.is_empty(), "{query} stopped at {position}");
            assert_eq!(asked.load(Ordering::Relaxed), position + 1, "it went on");
        }
    }
}

#[test]
fn a_longer_answer_begins_as_a_shorter_one() {
    let index = filled(3 * limits::CANDIDATES);
    let telling =
        "how is the path of word7 routed where other files have a router and more of the text than last";
    for query in ["router word7 last", "\"router\" path", "how is the path of word7 routed", telling] {
        let longest = search(&index, &RankedSearch::new(query, limits::RESULTS)).unwrap();
        assert!(longest.files.len() > 2 * limits::CANDIDATES, "{query}");
        assert_eq!(longest.files.len(), longest.matching);
        assert!(longest.files.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for limit in [1, 10, limits::CANDIDATES, limits::CANDIDATES + 1, 2 * limits::CANDIDATES] {
            let shorter = search(&index, &RankedSearch::new(query, limit)).unwrap();
            let dump = |ranking: &Ranking| {
                let files = ranking.files.iter().take(limit);
                files.map(|file| (file.path.clone(), file.score.to_bits())).collect::<Vec<_>>()
            };
            assert_eq!(dump(&shorter), dump(&longest), "{query} {limit}");
            assert_eq!(shorter.matching, longest.matching);
        }
    }
}

#[test]
fn phrase_beyond_the_indexed_text_is_reported() {
    // Regression test: such files were left out without a note.
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    let many = "router x\n".repeat(limits::PHRASE_HITS);
    writer.add("late.rs", &format!("{many}router path\n"), Stamp::default()).unwrap();
    writer.add("early.rs", &format!("router path\n{many}"), Stamp::default()).unwrap();
    writer.add("none.rs", "path router", Stamp::default()).unwrap();
    writer.commit().unwrap();
    let ranking = search(&index, &RankedSearch::new("\"router path\"", 10)).unwrap();
    assert_eq!((paths(&ranking), ranking.not_looked_at, ranking.matching), (vec!["early.rs"], 1, 1));
    let ranking = search(&index, &RankedSearch::new("router \"->\"", 10)).unwrap();
    assert_eq!((ranking.files.len(), &ranking.ignored[..]), (3, &["\"->\"".to_owned()][..]));
}

/// Regression test: files that were not read, because the answer had enough, counted as if they had the phrase.
#[test]
fn every_file_with_a_phrase_is_counted_once() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    for position in 0..1_000 {
        let text = if position % 2 == 0 { "router path\n" } else { "path router\n" };
        writer.add(&format!("{position:04}.txt"), text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    for limit in [1, 10, limits::RESULTS] {
        let ranking = search(&index, &RankedSearch::new("\"router path\"", limit)).unwrap();
        let counts = (ranking.files.len(), ranking.matching, ranking.not_looked_at);
        assert_eq!(counts, (limit.min(500), 500, 0));
    }
}

/// Two indexes must rank their files like a single one with all files, score by score.
#[test]
fn several_indexes_rank_as_one() {
    let files = [
        ("src/router.rs", "fn route() { dispatch(request) }\n// the router\n"),
        ("src/request.rs", "struct Request;\nfn parse_request() {}\n"),
        ("src/a.rs", "// requests are routed\nfn a() { route(); route(); }\n"),
        ("src/b.rs", "fn b() { request.route() }\n"),
        ("docs/routes.md", "# Routes\n\nHow a request is routed.\n"),
        ("README.md", "# About\n\nrequest\n"),
    ];
    let made = |chosen: &dyn Fn(usize) -> bool| {
        let index = RankIndex::in_memory().unwrap();
        let writer = index.writer(1).unwrap();
        for (_, (path, text)) in files.iter().enumerate().filter(|(position, _)| chosen(*position)) {
            writer.add(path, text, Stamp::default()).unwrap();
        }
        writer.commit().unwrap();
        index
    };
    let (whole, even, odd) =
        (made(&|_| true), made(&|position| position % 2 == 0), made(&|position| position % 2 == 1));
    for query in ["route a request", "\"request is routed\"", "router -docs", "path:src", "lang:rust route"] {
        let request = RankedSearch::new(query, 10);
        let one = search(&whole, &request).unwrap();
        let several = search_all(&[&even, &odd], &request).unwrap();
        let scores = |ranking: &Ranking| {
            ranking.files.iter().map(|it| (it.path.clone(), it.score)).collect::<Vec<_>>()
        };
        assert!(!one.files.is_empty(), "{query}");
        assert_eq!(scores(&one), scores(&several), "{query}");
        assert_eq!((one.matching, one.strength), (several.matching, several.strength), "{query}");
        for hit in &several.files {
            let position = files.iter().position(|(path, _)| *path == hit.path).unwrap();
            assert_eq!(hit.index, position % 2, "{}", hit.path);
        }
        // If one index is excluded, all results must come from the other one.
        let allow = |index: usize, _: &str| index == 1;
        let ranking = search_all(&[&even, &odd], &RankedSearch { allow: Some(&allow), ..request }).unwrap();
        assert!(ranking.files.iter().all(|hit| hit.index == 1), "{query}");
    }
    // A file in both indexes must appear twice, first from the first index.
    let ranking = search_all(&[&whole, &whole], &RankedSearch::new("parse_request", 2)).unwrap();
    let places: Vec<_> = ranking.files.iter().map(|hit| (hit.path.as_str(), hit.index)).collect();
    assert_eq!(places, [("src/request.rs", 0), ("src/request.rs", 1)]);
    assert!(search_all(&[], &RankedSearch::new("request", 2)).unwrap().files.is_empty());
}

#[test]
fn the_files_of_a_stack_trace_come_first() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    let paths_of = [
        "src/app/loader.py",
        "src/app/reader.py",
        "src/json/decoder.py",
        "src/app/main.py",
        "src/app/cache.py",
    ];
    for path in paths_of {
        // `decoder.py` is also part of the standard library.
        let text = format!(
            "def {}():\n    loader_reader_decoder_main_cache(value)\n",
            &path[path.len() - 6..path.len() - 3]
        );
        writer.add(path, &text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let report = "Values of loader and cache are lost\n\nThe value of the decoder is read by the main reader, and so it is with any other value:\n\n\
        Traceback (most recent call last):\n  File \"/srv/app/main.py\", line 3, in run\n    main(value)\n  \
        File \"/srv/venv/site-packages/app/reader.py\", line 3, in value\n    value(cache)\n  \
        File \"/usr/lib/python3/email/decoder.py\", line 3, in value\nKeyError: value\n";
    let ranking = search(&index, &RankedSearch::new(report, 10)).unwrap();
    let named = crate::rules::RULES.iter().position(|rule| rule.name == "named").unwrap();
    let worth = |path: &str| ranking.files.iter().find(|file| file.path == path).unwrap().values[named];
    assert_eq!(paths_of.map(worth), [0.0, 1.0, 0.0, 0.5, 0.0]);
    assert_eq!(paths(&ranking)[0], "src/app/reader.py");
}

#[test]
fn sibling_of_the_named_platform_is_first() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    let unix = "/* Accept a connection. */\nint accept_connection(void) { return accept(connection); }\n";
    let win = "int accept_ex(void) { return accept(connection); }\n";
    for (path, text) in [
        ("src/unix/tcp.c", unix),
        ("src/win/tcp.c", win),
        ("src/os400/tcp.c", "int none(void) { return connection; }\n"),
        ("src/timer.c", "int timer(void) { return 0; }\n"),
        ("tests/win/tcp.c", "int test_accept(void) { return accept(connection); }\n"),
    ] {
        writer.add(path, text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let request = RankedSearch::new("accept a connection on Windows", 10);
    let mut weights = RankWeights::default();
    *weights.rules.get_mut("sibling").unwrap() = 0.0;
    let without = search(&index, &RankedSearch { weights: Some(&weights), ..request }).unwrap();
    assert_eq!(paths(&without)[..2], ["src/unix/tcp.c", "src/win/tcp.c"]);
    let ranking = search(&index, &request).unwrap();
    assert_eq!(paths(&ranking)[..2], ["src/win/tcp.c", "src/unix/tcp.c"]);
    let siblings: Vec<&[String]> = ranking.files.iter().map(|file| file.siblings.as_slice()).collect();
    assert_eq!(siblings[0], ["src/unix/tcp.c", "src/os400/tcp.c"]);
    assert!(siblings[1..].iter().all(|siblings| siblings.is_empty()));
}
