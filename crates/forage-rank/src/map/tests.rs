use super::*;
use crate::index::Stamp;

fn index(files: &[(&str, &str)]) -> RankIndex {
    let index = RankIndex::in_memory().unwrap();
    write(&index, files);
    index
}

fn write(index: &RankIndex, files: &[(&str, &str)]) {
    let writer = index.writer(1).unwrap();
    files.iter().for_each(|(path, text)| writer.add(path, text, Stamp::default()).unwrap());
    writer.commit().unwrap();
}

fn map(index: &RankIndex, below: &str) -> ProjectMap {
    let below = RelPath::parse(below, &RelPath::root()).unwrap();
    let request =
        MapRequest { below: &below, allow: &|_| true, tokens: 10_000, definitions: true, stop: &|| false };
    index.map(&request).unwrap().unwrap()
}

fn shown(piece: &MapPiece) -> String {
    match piece {
        MapPiece::Directory(it) => format!("{}/ {} of {}", it.path.display(), it.own_files, it.files),
        MapPiece::Definition(it) => {
            let name = it.name.as_deref().unwrap_or("-");
            format!("{}:{} {name} {}", it.path.display(), it.line, it.used_by)
        }
    }
}

const PROJECT: &[(&str, &str)] = &[
    ("src/main.rs", "mod net;\nfn main() {\n    serve(Connection::open());\n}\n"),
    ("src/net/connection.rs", "use super::x;\n\npub struct Connection;\n\nfn hidden_helper() {}\n"),
    ("src/net/serve.rs", "pub fn serve(connection: Connection) {\n    retry_later();\n}\n"),
    ("src/net/deep/retry.rs", "pub fn retry_later() {}\npub struct Unused;\n"),
    ("tests/serve.rs", "fn check_serve() { serve(Connection) }\n"),
    ("docs/guide.md", "# Connection\n\nserve\n"),
];

/// Definitions are those that other files use. Tests and documents are left out and counted, but they count
/// as users.
#[test]
fn map_orders_directories_and_used_definitions() {
    let map = map(&index(PROJECT), ".");
    assert_eq!((map.files, map.own_files, map.directories, map.other_files), (4, 0, 3, 2));
    let mut pieces: Vec<String> = map.pieces.iter().map(shown).collect();
    assert!(pieces[0].ends_with("of 3") || pieces[0].ends_with("of 4"), "{pieces:?}");
    pieces.sort();
    assert_eq!(
        pieces,
        [
            "src/ 1 of 4",
            "src/main.rs:2 main 0",
            "src/net/ 2 of 3",
            "src/net/connection.rs:3 Connection 3",
            "src/net/deep/ 1 of 1",
            "src/net/deep/retry.rs:1 retry_later 1",
            "src/net/serve.rs:1 serve 2",
        ]
    );
}

#[test]
fn map_of_a_subtree() {
    let index = index(PROJECT);
    let net = map(&index, "src/net");
    assert_eq!((net.files, net.own_files, net.directories, net.other_files), (3, 2, 1, 0));
    // If there is nothing else, tests are mapped.
    let tests = map(&index, "tests");
    assert_eq!((tests.files, tests.other_files), (1, 0));
    assert_eq!(map(&index, "absent"), ProjectMap::default());
}

#[test]
fn map_leaves_out_files_and_definitions_on_request() {
    let index = index(PROJECT);
    let request = MapRequest {
        below: &RelPath::root(),
        allow: &|path| !path.as_bytes().starts_with(b"src/net"),
        tokens: 10_000,
        definitions: false,
        stop: &|| false,
    };
    let map = index.map(&request).unwrap().unwrap();
    assert_eq!(map.pieces.iter().map(shown).collect::<Vec<_>>(), ["src/ 1 of 1"]);
    assert_eq!(index.map(&MapRequest { stop: &|| true, ..request }).unwrap(), None);
}

/// An updated index has deleted documents and several segments, but the same map.
#[test]
fn map_of_an_updated_index_is_the_same() {
    let whole = map(&index(PROJECT), ".");
    let updated = index(&[("src/old.rs", "pub fn serve() {}\n"), PROJECT[0], ("src/net/serve.rs", "x\n")]);
    PROJECT.iter().rev().for_each(|file| write(&updated, &[*file]));
    let writer = updated.writer(1).unwrap();
    writer.remove("src/old.rs").unwrap();
    writer.commit().unwrap();
    assert_eq!(map(&updated, "."), whole);
}

/// A larger map begins with the parts of a smaller one.
#[test]
fn map_grows_by_appending() {
    let files: Vec<(String, String)> = (0..300)
        .map(|position| {
            let text = format!("pub struct Type{position};\nfn call(it: Type{}) {{}}\n", position * 7 % 300);
            (format!("part{}/sub{}/file{position}.rs", position % 5, position % 13), text)
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let index = index(&files);
    let of = |tokens: usize| {
        let below = RelPath::root();
        let request =
            MapRequest { below: &below, allow: &|_| true, tokens, definitions: true, stop: &|| false };
        index.map(&request).unwrap().unwrap().pieces
    };
    let large = of(2_000);
    for tokens in [50, 200, 700] {
        let small = of(tokens);
        assert!(large.starts_with(&small) && small.len() > tokens / 40, "{tokens}: {}", small.len());
    }
}
