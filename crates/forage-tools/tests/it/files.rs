//! T6, T26, T30, T31, T33: files that are not text, or are special, unreadable, too deep or changing.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, makedev, mkdirat, mknodat, openat, renameat, unlinkat,
};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::json;

use crate::support::{
    NEEDLE, Tree, answer, call, in_child, line_with, probes, refusal, ripgrep, skipped, stable, within,
};

const PROMPT: Duration = Duration::from_secs(6);

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

/// T6: pipes, sockets, devices and a file of a terabyte.
#[test]
fn special_files_are_counted_without_blocking() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    fifo(&tree.root().join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(tree.root().join("socket")).unwrap();
    tree.link("pipe", "link_to_pipe");
    let mut special = 2;
    // Only root may create a device, so for other users this tree has none.
    if rustix::process::geteuid().is_root() {
        let mode = Mode::from_raw_mode(0o666);
        mknodat(CWD, tree.root().join("zero"), FileType::CharacterDevice, mode, makedev(1, 5)).unwrap();
        special += 1;
    }
    fs::File::create(tree.root().join("huge.txt")).unwrap().set_len(1 << 40).unwrap();
    // Positive control: if we open a pipe like a plain file, this waits for a writer.
    let pipe = tree.root().join("pipe");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(fs::read(pipe).map(|bytes| bytes.len())));
    assert!(
        receiver.recv_timeout(Duration::from_millis(200)).is_err(),
        "a plain open of a pipe does not wait"
    );

    for path in ["pipe", "link_to_pipe", "socket", "zero", "huge.txt", "."] {
        if path == "zero" && special == 2 {
            continue;
        }
        for (tool, request) in probes(path) {
            let workspace = tree.workspace();
            let what = format!("{tool} on {path}");
            // Only the ranking resolves the path first.
            let named = if tool == "search_index" { path.trim_start_matches("link_to_") } else { path };
            // If links are followed, the link to the pipe is special, too.
            let special = special + u64::from(request["follow"] == true);
            let result = within(PROMPT, &what, move || call(&workspace, tool, request));
            match (path, tool) {
                ("huge.txt" | ".", "read_file") | ("huge.txt", "list_directory") => {
                    assert!(result.is_err(), "{what}")
                }
                ("huge.txt", "grep_search" | "Search" | "search_index") => {
                    assert_eq!(skipped(&result.unwrap(), "binary"), 1, "{what}")
                }
                (".", "list_directory") => {
                    let found = result.unwrap();
                    assert_eq!(skipped(&found, "special"), special, "{}", found.text);
                    let line = line_with(&found.text, "huge.txt");
                    assert_eq!(
                        line.trim_start_matches(['├', '└', '─', ' ']),
                        "huge.txt (1,099,511,627,776 bytes)"
                    );
                }
                (_, "keyword_search") | (".", _) => {
                    let found = result.unwrap();
                    assert_eq!(
                        (skipped(&found, "special"), skipped(&found, "binary")),
                        (special, 1),
                        "{what}"
                    );
                    assert!(found.text.contains("a.txt"), "{what}");
                }
                (_, "list_directory") => assert!(result.is_err(), "{what}"),
                _ => assert_eq!(
                    result.unwrap_err().to_string(),
                    format!(
                        "`path`: {named} is not a regular file (it is a pipe, a socket or a device) and is never \
                         opened for reading"
                    ),
                    "{what}"
                ),
            }
        }
    }
    // This lets the thread of the control end.
    drop(fs::OpenOptions::new().write(true).open(tree.root().join("pipe")).unwrap());
}

/// T6: a pipe that replaces an ignore file.
#[test]
fn fifo_ignore_file_is_reported_without_blocking() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    fifo(&tree.root().join(".ignore"));
    tree.link("/dev/zero", ".rgignore");
    let workspace = tree.workspace();
    let found =
        within(PROMPT, "grep_search", move || answer(&workspace, "grep_search", json!({"pattern": NEEDLE})));
    assert_eq!(found.records()["match_count"], 1);
    insta::assert_snapshot!(stable(&found.text));
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// T26: decides which encodings are text. The needle is on the second line of every file.
#[test]
fn every_encoding_is_searched_or_counted() {
    forage_fuzz::needs!("rg");
    let text = "first ä\nneedle ö\nlast ü\n";
    let late = [text.as_bytes(), &b"x\n".repeat(20_000), b"\0"].concat();
    let files: [(&str, Vec<u8>, bool); 13] = [
        ("ascii.txt", b"first\nneedle\nlast\n".to_vec(), true),
        ("bom.txt", [b"\xef\xbb\xbf", text.as_bytes()].concat(), true),
        ("crlf.txt", text.replace('\n', "\r\n").into_bytes(), true),
        ("latin1.txt", b"first \xe4\nneedle \xf6\nlast \xfc\n".to_vec(), true),
        ("no_feed.txt", b"first\nneedle".to_vec(), true),
        ("utf16be.txt", [&b"\xfe\xff"[..], &utf16(text, u16::to_be_bytes)].concat(), true),
        ("utf16le.txt", [&b"\xff\xfe"[..], &utf16(text, u16::to_le_bytes)].concat(), true),
        ("utf16le_without_mark.txt", utf16(text, u16::to_le_bytes), true),
        ("utf8.txt", text.as_bytes().to_vec(), true),
        ("binary_late.dat", late, false),
        ("binary_nul.dat", b"first\nneedle \0\nlast\n".to_vec(), false),
        ("binary_utf16.dat", utf16("first\nneedle\0\n", u16::to_le_bytes), false),
        ("binary_utf16_nul.dat", [&b"\xff\xfe"[..], &utf16("a\nneedle\0", u16::to_le_bytes)].concat(), false),
    ];
    let tree = Tree::new();
    files.iter().for_each(|(name, bytes, _)| {
        tree.write(name, bytes);
    });
    let workspace = tree.workspace();
    let found = answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "context_lines": 1}));
    let listed = answer(&workspace, "list_directory", json!({}));
    let keyword = answer(&workspace, "keyword_search", json!({"query": "q", "search_terms": [NEEDLE]}));
    let record = |name: &str| {
        let files = found.records()["files"].as_array().unwrap().clone();
        files.into_iter().find(|file| file["path"] == *name)
    };
    let mut read_texts = Vec::new();
    for (name, _, is_text) in &files {
        assert_eq!(record(name).is_some(), *is_text, "grep_search, {name}");
        assert_eq!(keyword.text.contains(&format!("\n{name}:")), *is_text, "keyword_search, {name}");
        assert_eq!(listed.text.contains(&format!("{name} (binary)")), !is_text, "list_directory, {name}");
        let read = call(&workspace, "read_file", json!({"path": name}));
        if *is_text {
            let (line, first) = (&record(name).unwrap()["lines"][1], read.unwrap());
            assert_eq!((&line["line_number"], &line["type"]), (&json!(2), &json!("match")), "{name}");
            assert!(!first.text.contains(['\r', '\u{feff}']), "{name}: {}", first.text);
            read_texts.push(format!("{name}\n{}", first.text));
        } else {
            read_texts.push(read.unwrap_err().to_string());
        }
    }
    assert_eq!((skipped(&found, "binary"), skipped(&keyword, "binary")), (4, 4));
    insta::assert_snapshot!("every-encoding-read", read_texts.join("\n"));
    insta::assert_snapshot!("every-encoding-searched", found.text);
    // Positive control: ripgrep skips the files with NUL without reporting them.
    let printed =
        String::from_utf8_lossy(&ripgrep(&tree.root(), &["--json", "-e", NEEDLE, "."])).into_owned();
    assert!(printed.contains("latin1.txt") && !printed.contains("binary_nul.dat\"},\"lines"), "{printed}");
    // A search without hits reports that there are files that it could not read.
    let absent = answer(&workspace, "grep_search", json!({"pattern": "absent"}));
    insta::assert_snapshot!("every-encoding-without-hits", absent.text);
}

/// Encodings, with lines in each. We search for a word of the second line.
const ENCODED: [(&str, &str, &str); 15] = [
    ("GBK", "// 查询用户信息\nneedle 如果不存在\n则返回空值 配置文件读取失败\n", "如果不存在"),
    ("Big5", "// 查詢使用者資料\nneedle 如果不存在\n就傳回空值 設定檔讀取失敗\n", "如果不存在"),
    (
        "Shift_JIS",
        "// ユーザーを検索します\nneedle 見つからない場合\n設定ファイルの読み込み\n",
        "見つからない",
    ),
    ("EUC-JP", "// ユーザーを検索します\nneedle 見つからない場合\n設定ファイルの読み込み\n", "見つからない"),
    ("EUC-KR", "// 사용자를 조회합니다\nneedle 값을 반환합니다\n두 수의 합을 계산한다\n", "반환합니다"),
    ("windows-1250", "// Najít uživatele\nneedle žluťoučký kůň\npříliš ďábelské ódy\n", "žluťoučký"),
    ("windows-1251", "// Найти пользователя\nneedle пустое значение\nСумма двух чисел\n", "значение"),
    ("windows-1252", "// Größe prüfen\nneedle naïve Lösung\ndéjà vu\n", "naïve"),
    ("windows-1253", "// Αναζήτηση χρήστη\nneedle επιστρέφει κενή\nτιμή αριθμών\n", "επιστρέφει"),
    ("windows-1255", "// חפש משתמש לפי שם\nneedle ערך ריק\nסכום של שני מספרים\n", "ריק"),
    ("windows-1256", "// البحث عن المستخدم\nneedle قيمة فارغة\nمجموع رقمين\n", "فارغة"),
    ("ISO-8859-2", "// Najít uživatele\nneedle žluťoučký kůň\nťažké šľapky ľahšie\n", "žluťoučký"),
    ("KOI8-U", "// Найти пользователя\nneedle пустое значение\nСумма двух чисел\n", "значение"),
    ("UTF-16LE", "// größer\r\nneedle naïve Lösung\r\nx\r\n", "naïve"),
    ("UTF-16BE", "// größer\nneedle naïve Lösung\nx\n", "naïve"),
];

#[test]
fn every_tool_shows_the_text_that_is_stored() {
    forage_fuzz::needs!("rg");
    for (name, text, word) in ENCODED {
        let bytes = match name {
            "UTF-16LE" => utf16(text, u16::to_le_bytes),
            "UTF-16BE" => utf16(text, u16::to_be_bytes),
            name => encoding_rs::Encoding::for_label(name.as_bytes()).unwrap().encode(text).0.into_owned(),
        };
        let tree = Tree::new();
        tree.write("stored.c", bytes);
        tree.write("other.c", "int main() { return 0; }\n");
        let workspace = tree.workspace();
        let line = text.lines().nth(1).unwrap();
        let grep = answer(&workspace, "grep_search", json!({"pattern": format!("^needle .*{word}.*$")}));
        let lines = grep.records()["files"][0]["lines"].as_array().unwrap();
        let found = lines.iter().find(|line| line["type"] == "match").unwrap();
        assert_eq!((&found["line_number"], found["text"].as_str().unwrap().trim_end()), (&json!(2), line));
        let note = format!("[warning: stored.c is not UTF-8 and was searched as {name}]");
        assert_eq!(line_with(&grep.text, "not UTF-8"), note);
        let search = answer(&workspace, "Search", json!({"pattern": word})).records().clone();
        let found = &search["matches"][0]["data"];
        assert_eq!(found["lines"]["text"].as_str().unwrap().trim_end(), line);
        assert_eq!((&found["line_number"], &found["lines"]["bytes"]), (&json!(2), &json!(null)), "{name}");
        let read = answer(&workspace, "read_file", json!({"path": "stored.c"})).records().clone();
        assert_eq!((&read["lines"][1], &read["encoding"]), (&json!(line), &json!(name)));
        let ranked = answer(&workspace, "search_index", json!({"query": word})).records().clone();
        assert_eq!(ranked["files"][0]["path"], "stored.c", "{name}: {ranked}");
        // Positive control: ripgrep sees only bytes.
        assert_eq!(ripgrep(&tree.root(), &["-l", "-e", word, "."]), b"", "{name}");
    }
}

const LEVELS: usize = 4_000;

fn open_directory(at: impl std::os::fd::AsFd, name: &str) -> OwnedFd {
    openat(at, name, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Creates `levels` nested directories with the same name, and a file in the last one.
fn dig(root: &Path, name: &str, levels: usize) {
    let mut at = open_directory(CWD, root.to_str().unwrap());
    for _ in 0..levels {
        mkdirat(&at, name, Mode::RWXU).unwrap();
        at = open_directory(&at, name);
    }
    let file = openat(&at, "bottom.txt", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::io::write(&file, b"needle\n").unwrap();
}

/// Removes these directories from the top. We move up the rest each time, so that neither paths nor recursion
/// get long.
fn fill_in(root: &Path, name: &str) {
    let at = open_directory(CWD, root.to_str().unwrap());
    while renameat(&at, format!("{name}/{name}"), &at, "rest").is_ok() {
        unlinkat(&at, name, AtFlags::REMOVEDIR).unwrap();
        renameat(&at, "rest", &at, name).unwrap();
    }
}

/// Calls every tool on the whole of a deep tree, and one tool on the bottom of the tree by name.
fn deep_tree(name: &str, reason: &str) {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    dig(&tree.root(), name, LEVELS);
    let bottom = vec![name; LEVELS].join("/") + "/bottom.txt";
    // Positive control: no path can reach the bottom.
    let control = fs::read(tree.root().join(&bottom)).unwrap_err();
    let mut counted = 0;
    for (tool, request) in probes(".").into_iter().chain(probes(&bottom).into_iter().take(1)) {
        let workspace = tree.workspace();
        match within(PROMPT * 2, tool, move || call(&workspace, tool, request)) {
            Ok(answer) => {
                counted += u64::from(skipped(&answer, reason) > 0);
                assert!(tool == "read_file" || answer.text.contains("a.txt"), "{tool}: {}", answer.text);
            }
            Err(error) => assert!(!error.to_string().contains("internal error"), "{tool}: {error}"),
        }
    }
    fill_in(&tree.root(), name);
    assert_eq!(control.kind(), std::io::ErrorKind::InvalidFilename);
    assert_eq!(counted, 6, "{reason} is counted by {counted} calls");
}

/// T30: a tree that is deeper than our own limit.
#[test]
fn a_deep_tree_is_counted_and_breaks_nothing() {
    deep_tree("d", "too_deep");
}

/// T30: a path that is longer than the kernel's limit, but within our own limit on levels.
#[test]
fn too_long_path_is_counted_as_skipped() {
    deep_tree(&"n".repeat(200), "unreadable");
}

/// Links whose targets go down and up again a thousand times, each ending in the next link. It is expensive
/// to resolve one of these, and a walk finds all of them.
#[test]
fn long_symlink_chains_do_not_stall_a_walk() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    dig(&tree.root(), "d", 700);
    for i in 0..40 {
        let (down, up) = ("d/".repeat(700), "../".repeat(700));
        tree.link(format!("{down}{up}l{}", i + 1), format!("l{i}"));
    }
    tree.link("a.txt", "l40");
    let workspace = tree.workspace();
    let found = within(PROMPT * 5, "grep_search", move || {
        let started = std::time::Instant::now();
        (answer(&workspace, "grep_search", json!({"pattern": NEEDLE})), started.elapsed())
    });
    fill_in(&tree.root(), "d");
    assert_eq!((found.0.records()["match_count"].as_u64(), skipped(&found.0, "symlink")), (Some(1), 41));
    assert!(found.1 < PROMPT, "forty links took {:?}", found.1);
}

/// Runs `work` as a user without rights. Threads that it starts belong to this user, too.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            work()
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// T31: unreadable entries are counted and named, and the rest is found.
#[test]
fn unreadable_files_and_directories_are_counted() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE} open\n"));
    let closed =
        [tree.write("closed.txt", format!("{NEEDLE} closed\n")), tree.write("shut/b.txt", "needle shut\n")];
    tree.write("z.txt", format!("{NEEDLE} after\n"));
    let shut = tree.root().join("shut");
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(tree.root().parent().unwrap(), 0o755);
    mode(&closed[0], 0o000);
    mode(&shut, 0o000);
    let workspace = tree.workspace();
    let texts = as_nobody(|| {
        // Positive control: these modes apply to this thread.
        assert!(fs::read(&closed[0]).is_err() && fs::read_dir(&shut).is_err());
        let found = answer(&workspace, "grep_search", json!({"pattern": NEEDLE}));
        assert_eq!((found.records()["match_count"].as_u64(), skipped(&found, "unreadable")), (Some(2), 2));
        let searched = found.text.lines().find(|line| line.starts_with("[searched "));
        assert_eq!(searched, Some("[searched 2 files; not searched: 2 unreadable]"), "{}", found.text);
        let keyword = answer(&workspace, "keyword_search", json!({"query": "q", "search_terms": [NEEDLE]}));
        assert_eq!(
            (keyword.records()["candidate_files"].as_u64(), skipped(&keyword, "unreadable")),
            (Some(2), 2)
        );
        let listed = answer(&workspace, "list_directory", json!({"max_depth": 3}));
        assert_eq!(skipped(&listed, "unreadable"), 2);
        // A search without hits must not pass for a proof of absence.
        let absent = answer(&workspace, "grep_search", json!({"pattern": "absent"}));
        let refused = [("list_directory", "shut"), ("read_file", "closed.txt"), ("read_file", "shut/b.txt")]
            .map(|(tool, path)| refusal(&workspace, tool, json!({"path": path})));
        [found.text, listed.text, absent.text, refused.join("\n")]
    });
    mode(&shut, 0o755);
    insta::assert_snapshot!(stable(&texts.join("\n")));
}

/// T33: a file that shrinks while we read it. If it were mapped into memory, a signal would kill the process.
#[test]
fn a_file_that_is_cut_while_it_is_searched_ends_nothing() {
    in_child("files::a_file_that_is_cut_while_it_is_searched_ends_nothing", || {
        let tree = Tree::new();
        let line = format!("{NEEDLE} and then some more text to fill the line\n");
        let text = line.repeat((12 << 20) / line.len());
        let path = tree.write("big.txt", &text);
        let stop = Arc::new(AtomicBool::new(false));
        let cutter = std::thread::spawn({
            let (stop, path, text) = (Arc::clone(&stop), path.clone(), text.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
                    std::thread::yield_now();
                    fs::write(&path, &text).unwrap();
                }
            }
        });
        let workspace = tree.workspace();
        let mut lengths = std::collections::BTreeSet::new();
        // If the reader never sees the file change, this test proves nothing. On a busy machine, one round
        // may take a second.
        let begin = std::time::Instant::now();
        let goes_on = |seen: usize| {
            let passed = begin.elapsed();
            passed < Duration::from_millis(2_500) || (seen < 2 && passed < Duration::from_secs(120))
        };
        while goes_on(lengths.len()) {
            for (tool, request) in probes("big.txt").into_iter().filter(|(tool, _)| *tool != "list_directory")
            {
                let result = call(&workspace, tool, request);
                if let ("read_file", Ok(answer)) = (tool, &result) {
                    lengths.insert(answer.records()["total_lines"].as_u64());
                }
                let error = result.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(!error.contains("internal error"), "{tool}: {error}");
            }
            answer(&workspace, "list_directory", json!({}));
        }
        stop.store(true, Ordering::Relaxed);
        cutter.join().unwrap();
        assert!(lengths.len() > 1, "the file never changed under a reader: {lengths:?}");
    });
}
