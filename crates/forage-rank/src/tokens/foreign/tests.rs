use super::*;

/// Translates a text. Returns the words that aren't stop words, and the originals.
fn read(text: &str) -> (String, String) {
    let found = translate(text).unwrap_or_else(|| panic!("{text:?} is not translated"));
    let is_told = |word: &&str| !is_question_word(word);
    let text: Vec<&str> = found.text.split_whitespace().filter(is_told).collect();
    (text.join(" "), found.originals.trim_end().to_owned())
}

#[test]
fn each_language_in_english() {
    let cases = [
        ("wo werden abgelaufene Sitzungen gelöscht", "expire session delete"),
        ("Fehlerbehandlung im Datenbankverbindungspool", "error handle database connection pool"),
        ("où sont supprimées les sessions expirées", "delete session expire"),
        ("dónde se eliminan las sesiones caducadas", "delete session expire"),
        ("onde as sessões expiradas são removidas", "session expire delete"),
        ("dove vengono eliminate le sessioni scadute", "delete session expire"),
        ("gdzie usuwane są wygasłe sesje", "delete expire session"),
        ("где удаляются истекшие сессии", "delete expire session"),
        ("过期的会话在哪里删除", "expire session delete"),
        ("期限切れのセッションはどこで削除されるか", "expire session delete"),
        ("만료된 세션은 어디에서 삭제되나요", "expire session delete"),
        ("เซสชันที่หมดอายุถูกลบที่ไหน", "session expire delete"),
        ("សម័យផុតកំណត់ត្រូវបានលុបនៅកន្លែងណា", "session expire delete"),
        ("ເຊສຊັນທີ່ໝົດອາຍຸຖືກລຶບຢູ່ໃສ", "session expire delete"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).0, expected, "{text}");
    }
}

#[test]
fn function_words_become_stop_words() {
    let stop_words_only =
        ["hoe werkt het", "bu nasıl çalışır", "wie wird das gemacht", "как это работает", "如何"];
    for text in stop_words_only {
        let translated = translate(text).map_or_else(String::new, |found| found.text);
        let rest: Vec<&str> =
            words(&translated).map(|(_, word)| word).filter(|word| !is_question_word(word)).collect();
        assert!(!translated.is_empty() && rest.len() <= 1, "{text}: {translated}");
    }
}

#[test]
fn english_is_left_alone() {
    let texts = [
        "how are failed requests retried",
        "expensive lookup just once",
        "jupyter notebook cell magics masking",
        "io: AioSource now employs IO Safety",
        "ci: fix macOS runners",
        "test taskdump docs",
        "do no harm: es import in a man page",
        "die when the parent process exits",
        "configs",
        "Router",
        "RetryPolicy::default",
        "src/config/datei.rs",
        "autoupdate",
        "",
    ];
    for text in texts {
        assert_eq!(translate(text), None, "{text}");
    }
}

#[test]
fn names_and_paths_stay() {
    let text = translate("wo wird `RetryPolicy` in src/datei/netz.rs verwendet").unwrap().text;
    assert!(text.contains("`RetryPolicy`") && text.contains("src/datei/netz.rs"), "{text}");
    let text = translate("Routerのキャッシュはuser_service.pyのどこ").unwrap().text;
    assert!(text.contains("Router") && text.contains("user_service.py") && text.contains("cache"), "{text}");
}

#[test]
fn a_word_that_means_another_in_english_is_no_original() {
    assert_eq!(read("taille de la file d'attente"), ("size queue".to_owned(), "taille attente".to_owned()));
}

#[test]
fn unknown_words_are_not_cut() {
    // 行星 (planet) isn't in the table, but 行 (line) is.
    assert_eq!(read("行星和缓存").0, "行星和 cache");
    assert_eq!(read("가독성과 캐시").0, "가독성과 cache");
}

#[test]
fn accents_may_be_missing() {
    assert_eq!(read("como se valida la configuracion de la sesion").0, "valid config session");
}

#[test]
fn every_row_has_all_languages() {
    let rows = include_str!("senses.txt").lines().filter(|line| !line.starts_with('#'));
    for row in rows {
        assert_eq!(row.split('|').count(), 11, "{row}");
        assert!(row.split('|').all(|column| !column.is_empty()), "{row}");
    }
}

#[test]
fn southeast_asian_rows_belong_to_senses() {
    let rows = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
    let senses: Vec<&str> =
        rows(include_str!("senses.txt")).filter_map(|row| row.split(['|', '/']).next()).collect();
    let mut known = Vec::new();
    for row in rows(include_str!("senses_southeast_asia.txt")) {
        assert_eq!(row.split('|').count(), 4, "{row}");
        let word = row.split('|').next().unwrap();
        assert!(senses.contains(&word) && !known.contains(&word), "{row}");
        known.push(word);
    }
    assert_eq!(known.len(), 516);
}

#[test]
fn words_without_spaces_begin_at_syllables() {
    // รองเท้า (shoe) begins with the letters of รอ (wait).
    assert_eq!(read("รองเท้าและแคช").0, "รองเท้า cache");
    // Zero-width spaces, and another spelling of ្ដ.
    assert_eq!(read("ចាប់\u{200B}ផ្តើម\u{200B}សម័យ").0, "begin session");
    assert_eq!(read("ផ្តាច់").0, "disconnect");
    // The tone belongs to the last letter, so ค (without it) is no word here.
    assert_eq!(read("ค่าของคิว").0, "value queue");
}

/// The results of English questions must not change.
#[test]
fn english_questions_of_the_benchmarks_are_left_alone() {
    let sets = [
        include_str!("../../../../../bench/questions.json"),
        include_str!("../../../../../bench/unseen_short.json"),
    ];
    for set in sets {
        let repositories: Vec<serde_json::Value> = serde_json::from_str(set).unwrap();
        let queries = repositories.iter().flat_map(|repository| repository["queries"].as_array().unwrap());
        for query in queries {
            let text = query["query"].as_str().unwrap();
            assert_eq!(translate(text), None, "{text}");
        }
    }
}
