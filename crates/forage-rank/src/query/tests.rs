use super::*;

fn parsed(text: &str) -> RankQuery {
    RankQuery::parse(text, &QueryWeights::default())
}

fn words_of(query: &RankQuery) -> Vec<&str> {
    query
        .concepts
        .iter()
        .filter(|concept| concept.role != PieceRole::Joined)
        .map(|concept| concept.word.as_str())
        .collect()
}

#[test]
fn questions_lose_their_grammar() {
    for (text, wanted) in [
        ("how does the router match a path", "router match path"),
        ("what is HTTPServer", "httpserver http server"),
        ("how", "how"),
        ("the X monad", "x monad"),
        ("", ""),
    ] {
        assert_eq!(words_of(&parsed(text)).join(" "), wanted, "{text}");
    }
}

#[test]
fn names_are_told_from_sentences() {
    for (text, is_symbol, names) in [
        ("HTTPServer", true, "HTTPServer"),
        ("Rails::Engine", true, "Engine"),
        ("read_to_end", true, "read_to_end"),
        ("how ClientSession closes connections", false, "ClientSession"),
        ("Parsing of headers", false, ""),
        ("the Session of a user", false, "Session"),
    ] {
        let query = parsed(text);
        assert_eq!((query.is_symbol, query.names.join(" ").as_str()), (is_symbol, names), "{text}");
    }
}

#[test]
fn neighbours_are_also_one_name() {
    let query = parsed("combine reducers");
    let joined: Vec<&str> = query
        .concepts
        .iter()
        .filter(|concept| concept.role == PieceRole::Joined)
        .map(|concept| concept.word.as_str())
        .collect();
    assert_eq!(joined, ["combinereducers"]);
}

#[test]
fn syntax_is_lenient() {
    let query = parsed("path:src/net lang:Rust -mock \"exact phrase\" connect");
    assert_eq!(query.understood, ["path:src/net", "lang:Rust", "-mock", "\"exact phrase\""]);
    assert_eq!(query.excluded, ["mock"]);
    assert_eq!(query.phrases.len(), 1);
    assert_eq!(words_of(&query).join(" "), "exact phrase connect");
    for odd in [
        "\"",
        "\"open",
        "path:",
        "lang:",
        "-",
        "--flag",
        "->",
        "a\"b",
        "\"\" x",
        "-- -",
        "(:",
        "\u{0}",
        "returns -1 on error",
        "curl -X POST",
        "path::Component",
        "\" stray \" quotes",
        "a \"b\"c d\"",
    ] {
        let query = parsed(odd);
        assert!(query.understood.is_empty() && query.filters.is_empty(), "{odd}: {:?}", query.understood);
        assert!(query.phrases.is_empty() && query.excluded.is_empty(), "{odd}");
    }
    assert_eq!(parsed("read -read_to_end").excluded, ["readtoend"]);
    assert_eq!(parsed("a lang:klingon").ignored, ["lang:klingon"]);
    let query = parsed("get -path:tests -lang:py");
    assert!(query.excluded.is_empty() && !query.filters.is_empty());
    assert!(
        query.filters.allow("src/a.rs", &mut String::new())
            && !query.filters.allow("tests/a.rs", &mut String::new())
    );
    assert!(!query.filters.allow("src/a.py", &mut String::new()));
}

#[test]
fn what_is_pasted_has_no_syntax() {
    let report = "It returns -1 and prints \"no such file\" when run with -v -verbose, as in path:line of the log;\n\
                  - old line\n-removed line\n the call lang:en fails after that with another error";
    let query = parsed(report);
    assert!(query.understood.is_empty() && query.ignored.is_empty(), "{:?}", query.understood);
    assert!(query.phrases.is_empty() && query.excluded.is_empty() && query.filters.is_empty());
    assert!(words_of(&query).contains(&"removed"));
}

#[test]
fn names_have_no_grammar() {
    for (text, wanted) in [
        ("Option::Some", "option some"),
        ("Iterator::any", "iterator any"),
        ("From::from", "from"),
        ("Repo.one", "repo one"),
        ("x", "x"),
    ] {
        assert_eq!(words_of(&parsed(text)).join(" "), wanted, "{text}");
    }
    let query = parsed("src/router.rs");
    assert_eq!((query.names.join(" ").as_str(), query.is_symbol), ("router", false));
}

#[test]
fn a_phrase_keeps_its_small_words() {
    let query = parsed("\"to be or not\" router");
    assert_eq!(query.phrases[0].len(), 4);
}

#[test]
fn paths_are_parts_or_patterns() {
    for (filter, path, wanted) in [
        ("src/net", "a/src/network.rs", true),
        ("./src", "src/a.rs", true),
        ("/src", "a/src/a.rs", false),
        ("*.rs", "src/net/a.rs", true),
        ("src/*.rs", "src/net/a.rs", false),
        ("src/**/*.rs", "src/net/a.rs", true),
        ("src/**/*.rs", "src/a.rs", true),
        ("src/*", "x/src/net/a.rs", true),
        ("src/**/a.rs", "src/net/a.rs", true),
        ("src/**/a.rs", "src/ba.rs", false),
        ("**/a.rs", "ba.rs", false),
        ("s**s", "src/net/a.rs", true),
        ("?.rs", "src/ab.rs", false),
        ("*.py", "a.pyc", false),
    ] {
        let query = parsed(&format!("word path:{filter}"));
        assert_eq!(query.filters.allow(path, &mut String::new()), wanted, "{filter} {path}");
    }
    let long = format!("path:{}", "*a?".repeat(limits::PATH_FILTER_BYTES));
    assert_eq!(parsed(&long).ignored, [long]);
    for (name, path, wanted) in [
        ("ts", "a.tsx", true),
        ("js", "a.mjs", true),
        ("c++", "a.hpp", true),
        ("C#", "a.cs", true),
        ("golang", "a.go", true),
        ("sh", "a.bash", true),
        ("json", "a.json", true),
        ("json", "a.yaml", false),
        ("yaml", "a.yml", true),
        ("markdown", "README.md", true),
    ] {
        let query = parsed(&format!("word lang:{name}"));
        assert_eq!(query.filters.allow(path, &mut String::new()), wanted, "{name} {path}");
        assert!(query.ignored.is_empty());
    }
}

#[test]
fn names_are_counted_once_and_bounded() {
    let text: String = (0..10_000).map(|index| format!("someName{} ", index % 100)).collect();
    let query = parsed(&text);
    assert_eq!(query.names.len(), limits::QUERY_NAMES);
}

#[test]
fn long_queries_are_bounded() {
    let text: String = (0..10_000).map(|index| format!("word{index} ")).collect();
    assert_eq!(parsed(&text).concepts.len(), crate::limits::QUERY_WORDS);
}

#[test]
fn two_words_have_the_letters_of_their_own() {
    // Regression test: the abbreviation was added to the concept that was pushed last, unstemmed, and twice.
    let also = |text: &str, word: &str| {
        let query = parsed(text);
        let concept = query.concepts.iter().find(|concept| concept.word == word).unwrap();
        let tokens = concept.tokens.iter().filter(|(_, weight)| *weight < 1.0);
        tokens.map(|(token, _)| token.clone()).collect::<Vec<_>>().join(" ")
    };
    for (text, word, wanted) in [
        ("read file system", "file", "fs"),
        ("read file system", "system", "fs"),
        ("read file system", "read", ""),
        ("read file system", "readfile", ""),
        ("regular expression", "regular", "regex"),
        // These are stems, as in the index.
        ("cross origin", "cross", "cor"),
        ("server file path system file system", "file", "fs"),
        ("server file path system file system", "path", ""),
    ] {
        assert_eq!(also(text, word), wanted, "{text}: {word}");
    }
}

#[test]
fn a_translated_query_has_both_words() {
    let query = RankQuery::parse("wo wird die Warteschlange geleert", &QueryWeights::default());
    let words: Vec<(&str, bool)> =
        query.concepts.iter().map(|concept| (concept.word.as_str(), concept.is_translated)).collect();
    assert!(words.contains(&("queue", false)) && words.contains(&("warteschlange", true)), "{words:?}");
}

#[test]
fn a_question_without_spaces_is_no_name() {
    let query = RankQuery::parse("如何重试失败的请求", &QueryWeights::default());
    assert!(!query.is_symbol && query.names.is_empty(), "{query:?}");
    let query = RankQuery::parse("Warteschlange", &QueryWeights::default());
    assert!(query.is_symbol && query.names == ["Warteschlange"], "{query:?}");
}
