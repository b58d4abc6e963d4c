//! Tests that files in encodings other than UTF-8 are found as if they were UTF-8, with and without an index.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use encoding_rs::{Encoding as Codec, UTF_16BE, UTF_16LE};
use forage_base::Stop;
use forage_fs::{RelPath, WalkOptions};
use forage_search::index::{Content, Index, Segment};
use forage_search::keyword::{KeywordOptions, gather};
use forage_search::{FileEvents, Pattern, PatternOptions, ScanOptions, limits, search};

use crate::external::Wanted;
use crate::index::{SETTLED, answer, index, segment};
use crate::trees::Random;

/// Encodings, each with words of a language that uses it.
const ENCODINGS: &[(&str, &[&str])] = &[
    ("GBK", &["查询用户信息", "如果不存在则返回空值", "计算两个数的和", "配置文件读取失败", "请检查路径"]),
    ("Big5", &["查詢使用者資料", "如果不存在就傳回空值", "計算兩個數字的總和", "設定檔讀取失敗"]),
    (
        "Shift_JIS",
        &["ユーザーを検索します", "見つからない場合は空を返す", "設定ファイルの読み込み", "カタカナ"],
    ),
    ("EUC-JP", &["ユーザーを検索します", "見つからない場合は空を返す", "設定ファイルの読み込み", "カタカナ"]),
    ("EUC-KR", &["사용자를 조회합니다", "없으면 빈 값을 반환합니다", "두 수의 합을 계산한다", "설정 파일"]),
    ("windows-1250", &["Najít uživatele podle jména", "příliš žluťoučký kůň úpěl", "ďábelské ódy", "řešení"]),
    (
        "windows-1251",
        &["Найти пользователя по имени", "вернуть пустое значение", "Сумма двух чисел", "ошибка"],
    ),
    ("KOI8-U", &["Найти пользователя по имени", "вернуть пустое значение", "Сумма двух чисел", "ошибка"]),
    ("windows-1252", &["Größe prüfen", "naïve Lösung für café", "déjà vu", "über Straße"]),
    ("windows-1253", &["Αναζήτηση χρήστη με το όνομα", "επιστρέφει κενή τιμή", "άθροισμα δύο αριθμών"]),
    ("windows-1254", &["Kullanıcıyı adına göre bul", "değer boşsa hiçbir şey döndürme", "toplamı şudur"]),
    ("windows-1255", &["חפש משתמש לפי שם", "והחזר ערך ריק אם לא נמצא", "סכום של שני מספרים"]),
    ("windows-1256", &["البحث عن المستخدم بالاسم", "وإرجاع قيمة فارغة", "مجموع رقمين"]),
    ("ISO-8859-2", &["Najít uživatele podle jména", "příliš žluťoučký kůň", "ťažké šľapky ľahšie", "řešení"]),
    ("windows-874", &["ค้นหาผู้ใช้ตามชื่อ", "คืนค่าว่างถ้าไม่พบ", "ผลรวมของสองจำนวน"]),
    ("UTF-16LE", &["größere Wörter", "查询", "naïve Lösung", "ошибка"]),
    ("UTF-16BE", &["größere Wörter", "查询", "naïve Lösung", "ошибка"]),
];

const CODE: &[&str] = &[
    "int main(void) {",
    "    return needle;",
    "}",
    "",
    "// TODO: retry",
    "x = \"a\" + b;",
    "if (error_code) {",
];

fn encoded(name: &str, text: &str) -> Vec<u8> {
    let codec = Codec::for_label(name.as_bytes()).unwrap();
    match codec {
        _ if codec == UTF_16LE => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ if codec == UTF_16BE => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        codec => {
            let (bytes, _, is_lossy) = codec.encode(text);
            assert!(!is_lossy, "{name}: {text}");
            bytes.into_owned()
        }
    }
}

/// Generates lines of code with comments in the language.
fn text(random: &mut Random, words: &[&str]) -> String {
    let feed = if random.one_in(3) { "\r\n" } else { "\n" };
    let mut text = format!("// {} {}{feed}", words[0], words[1]);
    for _ in 0..random.below(30) {
        text += random.pick(CODE);
        if random.one_in(2) {
            text += &format!(" // {}", random.pick(words));
        }
        text += feed;
    }
    text
}

/// Generates a pattern from words of the language, or from parts of them and of the code.
fn pattern(random: &mut Random, words: &[&str]) -> String {
    let word = random.pick(words);
    let characters: Vec<char> = word.chars().collect();
    let start = random.below(characters.len() - 1);
    let part: String = characters[start..characters.len().min(start + 3 + random.below(4))].iter().collect();
    match random.below(8) {
        0 => word.to_owned(),
        1 => part,
        2 => format!("{part}$"),
        3 => format!("needle.*{part}"),
        4 => r"\{ // \w".to_owned(),
        5 => "(?i)TODO".to_owned(),
        6 => format!("^// .{{3}}|{part}|retry$"),
        _ => format!("error.code|{}", word.to_uppercase()),
    }
}

fn found(files: &[FileEvents]) -> Vec<FileEvents> {
    files.iter().map(|file| FileEvents { detected: None, ..file.clone() }).collect()
}

#[test]
fn other_encodings_match_like_utf8() {
    let (mut matches, mut detected) = (0, 0);
    let mut random = Random::new(59);
    let trees: Vec<_> = ENCODINGS
        .iter()
        .map(|(name, words)| {
            let directory = tempfile::tempdir().unwrap();
            let [stored, plain] = ["stored", "plain"].map(|name| directory.path().join(name));
            [&stored, &plain].iter().for_each(|root| fs::create_dir(root).unwrap());
            for number in 0..12 {
                let text = text(&mut random, words);
                fs::write(stored.join(format!("{number}.c")), encoded(name, &text)).unwrap();
                fs::write(plain.join(format!("{number}.c")), text).unwrap();
            }
            fs::write(stored.join("ascii.c"), CODE.join("\n")).unwrap();
            fs::write(plain.join("ascii.c"), CODE.join("\n")).unwrap();
            (name, words, directory, stored, plain)
        })
        .collect();
    std::thread::sleep(SETTLED);
    for (name, words, _directory, stored, plain) in &trees {
        let layers = Arc::new(index(&[&segment(stored, None)]));
        for round in 0..40 {
            let text = pattern(&mut random, words);
            let options = PatternOptions { fuzzy: u8::from(round % 9 == 8), ..PatternOptions::default() };
            let Ok(pattern) = Pattern::new(&text, &options) else { continue };
            let context = random.below(3);
            let wanted = Wanted {
                text: "",
                options,
                walk: WalkOptions::default(),
                scan: ScanOptions {
                    before_context: context,
                    after_context: context,
                    ..ScanOptions::default()
                },
                shown: String::new(),
            };
            let answer = |root: &Path, index: Option<&Arc<Index>>| {
                answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, index)
            };
            let expected = answer(plain, None);
            let scanned = answer(stored, None);
            assert_eq!(found(&scanned.0), found(&expected.0), "{name}: {text}");
            assert_eq!(answer(stored, Some(&layers)), scanned, "{name}: {text}, with an index");
            matches += expected.0.len();
            detected += scanned.0.iter().filter(|file| file.detected.is_some()).count();
        }
        let terms: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let evidence = |root: &Path, index: Option<&Arc<Index>>| {
            let (root, options) = (crate::search::open(root), WalkOptions::default());
            let bounds = KeywordOptions { index: index.cloned(), ..KeywordOptions::default() };
            let found = gather(&root, &RelPath::root(), &options, &terms, &bounds, &Stop::never()).unwrap();
            format!("{:?} {:?}", found.terms, found.files)
        };
        let expected = evidence(plain, None);
        assert_eq!(evidence(stored, None), expected, "{name}");
        assert_eq!(evidence(stored, Some(&layers)), expected, "{name}, with an index");
    }
    assert!(matches > 2_000 && detected > 1_500, "{matches} {detected}");
}

#[test]
fn byte_pattern_searches_stored_bytes() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), b"caf\xe9 one\n").unwrap();
    std::thread::sleep(SETTLED);
    let layers = Arc::new(index(&[&segment(directory.path(), None)]));
    for (text, index) in
        [r"(?-u:\xe9) one", "café one"].into_iter().flat_map(|text| [(text, None), (text, Some(&layers))])
    {
        let pattern = Pattern::new(text, &PatternOptions::default()).unwrap();
        let scan = ScanOptions { index: index.cloned(), ..ScanOptions::default() };
        let mut lines = Vec::new();
        let root = crate::search::open(directory.path());
        search(&root, &RelPath::root(), &WalkOptions::default(), &pattern, &scan, &Stop::never(), |file| {
            lines.extend(file.events.into_iter().map(|event| event.bytes));
            ControlFlow::Continue(())
        })
        .unwrap();
        let expected = if text.contains("xe9") { b"caf\xe9 one\n".to_vec() } else { "café one\n".into() };
        assert_eq!(lines, [expected], "{text}");
    }
}

#[test]
fn large_file_is_decoded_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let [stored, plain] = ["stored", "plain"].map(|name| directory.path().join(name));
    let line = "int 用户 = 0; // 查询用户信息\n";
    for (name, ending) in [("a.c", "最后一行 needle\n"), ("b.c", "最后一行")] {
        let text = line.repeat(limits::WHOLE_FILE_BYTES / 24) + ending;
        for (root, bytes) in [(&stored, encoded("GBK", &text)), (&plain, text.into_bytes())] {
            fs::create_dir_all(root).unwrap();
            assert!(bytes.len() > limits::WHOLE_FILE_BYTES);
            fs::write(root.join(name), bytes).unwrap();
        }
    }
    std::thread::sleep(SETTLED);
    let bytes = segment(&stored, None);
    let known = Segment::open(bytes.clone()).unwrap();
    assert_eq!(known.state(known.find(b"a.c", 0).unwrap()).unwrap().1, Content::Large);
    let layers = Arc::new(index(&[&bytes]));
    for text in ["最后一行", "一行 needle$", "nothing"] {
        let pattern = Pattern::new(text, &PatternOptions::default()).unwrap();
        let wanted = crate::external::random_request(&mut Random::new(1));
        let wanted = Wanted { walk: WalkOptions::default(), scan: ScanOptions::default(), ..wanted };
        let answer = |root: &Path, index: Option<&Arc<Index>>| {
            found(&answer(root, &RelPath::root(), &pattern, &wanted, usize::MAX, index).0)
        };
        let expected = answer(&plain, None);
        assert_eq!(answer(&stored, None), expected, "{text}");
        assert_eq!(answer(&stored, Some(&layers)), expected, "{text}");
    }
}
