use super::*;

fn shown(text: &str) -> String {
    let shown = tokens(text).into_iter().map(|TextToken { text, position, whole }| {
        format!("{text}{}{position}", if whole { '*' } else { '@' })
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn identifiers_are_parts_and_a_whole() {
    for (text, wanted) in [
        ("parseHTTPHeader", "parsehttpheader*0 pars@0 http@1 head@2"),
        ("snake_case", "snakecase*0 snak@0 cas@1"),
        ("kebab-case", "kebab@0 cas@1"),
        ("SCREAMING_CASE", "screamingcase*0 scream@0 cas@1"),
        ("utf8", "utf8*0 utf@0 8@1"),
        ("__init__", "init@0"),
        ("URLs", "url@0"),
        ("IOError", "ioerror*0 io@0 error@1"),
        ("a.b::c", "a@0 b@1 c@2"),
        ("0x1F8aUL 0xg 1f8a", "1f8a@0 0xg*1 0@1 xg@2 1f8a*3 1@3 f@4 8@5 a@6"),
        ("größe", "größe@0"),
        ("“quoted”—dash…", "quot@0 dash@1"),
        ("don’t", "don@0 t@1"),
        ("读取文件（配置）", "读@0 取@1 文@2 件@3 配@4 置@5"),
        ("ค้นหาไฟล์ค่า", "ค้@0 น@1 หา@2 ไฟ@3 ล์@4 ค่า@5"),
        ("ຊອກຫາ ໄຟລ໌", "ຊ@0 ອ@1 ກ@2 ຫາ@3 ໄຟ@4 ລ໌@5"),
        ("ស្វែងរក", "ស្វែ@0 ង@1 រ@2 ក@3"),
        ("ファイルを開く", "ファイル@0 を@1 開@2 く@3"),
        // Decomposed Unicode.
        ("gro\u{308}ße \u{1112}\u{1161}\u{11a8}", "größe@0 \u{d559}@1"),
        ("カ\u{3099}ラスは\u{3099}", "ガラス@0 ば@1"),
        ("", ""),
        ("--- !!", ""),
    ] {
        assert_eq!(shown(text), wanted, "{text}");
    }
}

#[test]
fn long_words_are_data() {
    assert_eq!(tokens(&"a".repeat(limits::LONGEST_TOKEN + 1)), []);
    assert_eq!(tokens(&"a".repeat(limits::LONGEST_TOKEN)).len(), 1);
}

#[test]
fn a_long_text_without_spaces_is_not_data() {
    assert_eq!(tokens(&"读取文件".repeat(100)).len(), 400);
}

#[test]
fn families_have_one_stem() {
    for family in [
        &["serialize", "serializer", "serialization", "serializes", "serialized"][..],
        &["connect", "connection", "connections", "connecting", "connected"],
        &["validate", "validation", "validator", "validators", "validating"],
        &["parse", "parser", "parsing", "parsed"],
        &["dependency", "dependencies"],
        &["route", "router", "routing", "routes"],
        &["run", "runner", "running"],
        &["class", "classes"],
        &["box", "boxes"],
        &["compress", "compression"],
        &["cookie", "cookies"],
        &["movie", "movies"],
        &["query", "queries"],
        &["alias", "aliases"],
        &["canvas", "canvases"],
        &["lens", "lenses"],
        &["database", "databases"],
    ] {
        for word in family {
            assert_eq!(stem(word), stem(family[0]), "{word}");
        }
    }
}

#[test]
fn strangers_have_stems_of_their_own() {
    for (one, other) in [("string", "strong"), ("status", "state"), ("process", "procedure"), ("ring", "r")] {
        assert_ne!(stem(one), stem(other));
    }
    assert_eq!(stem("as"), "as");
    assert_eq!(stem("größen"), "größen");
}

#[test]
fn synonyms_are_found_by_stem() {
    assert!(synonyms("configurations").any(|word| word == "config"));
    assert!(synonyms("requests").any(|word| word == "req"));
    assert_eq!(synonyms("frobnicate").count(), 0);
}
