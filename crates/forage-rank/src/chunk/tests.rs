use super::*;
use crate::languages::language;

fn symbols(path: &str, text: &str) -> Vec<String> {
    let outline = outline(text, language(path));
    outline.symbols.iter().map(|symbol| format!("{:?} {}", symbol.kind, symbol.name)).collect()
}

#[test]
fn documentation_above_a_blank_line_is_of_the_definition_below() {
    let body = "  x;\n".repeat(14);
    let text =
        |between: &str| format!("function one() {{\n{body}}}\n\n{between}\nfunction two() {{\n{body}}}\n");
    let starts = |between: &str| {
        outline(&text(between), language("a.js"))
            .chunks
            .iter()
            .map(|chunk| chunk.start_line)
            .collect::<Vec<_>>()
    };
    let documentation = "/**\n * Counts.\n */\n";
    assert_eq!(starts(documentation), [1, 18]);
    // Here the comment is about something else, or two blank lines follow.
    assert_eq!(starts("// Section\n"), [1, 20]);
    assert_eq!(starts(&format!("{documentation}\n")), [1, 23]);
}

/// Lines that look like a definition of another kind than they are.
#[test]
fn odd_shapes() {
    for (path, text, wanted) in [
        (
            "a.scala",
            "private[circe] final class Tail\nprotected[this] def go = 1\nprivate[this] val x = 1",
            "Type Tail, Function go, Constant x",
        ),
        ("a.py", "try:\nexcept:\nelse:\nfinally:\nlimit: int = 1", "Constant limit"),
        ("a.sh", "flags=()\nrun() {\n}\nstop () {", "Constant flags, Function run, Function stop"),
        (
            "a.cs",
            "public ref struct Writer\n{\n    public delegate void Done(int x);\n    public delegate T Make<in A>(A a);\n    public Writer()\n        : this(1)\n    {\n        data[i].Run(x);\n    }\n}\npublic record Point(int X) : Base(X);",
            "Type Writer, Type Done, Type Make, Function Writer, Type Point",
        ),
        (
            "a.java",
            "class A {\n    B read() {\n        return x\n            ? new B(\n            : new C(\n",
            "Type A, Function read",
        ),
        (
            "a.rs",
            "impl<'a, T> Read for &'a mut Buffer<T> {\nimpl Read for &mut File {\nimpl fmt::Debug for dyn Any {",
            "Extension Buffer, Extension File, Extension Any",
        ),
        (
            "a.hs",
            "instance (Show a, Eq a) => Show (Tree a) where\nclass Monad m => Named m where",
            "Extension Show, Type Named",
        ),
        ("a.php", "function ($a) use ($b) {\nfunction named($a) {", "Function named"),
        ("a.js", "export default function (url) {\nfunction named(url) {", "Function named"),
    ] {
        assert_eq!(symbols(path, text).join(", "), wanted, "{path}");
    }
}

#[test]
fn definitions_of_each_language() {
    for (path, text, wanted) in [
        (
            "a.rs",
            "pub(crate) async fn run() {}\nimpl<T> Read for Buffer<T> {\n    const X: u8 = 1;\n}\npub struct Buffer<T>;",
            "Function run, Extension Buffer, Constant X, Type Buffer",
        ),
        (
            "a.py",
            "LIMIT = 3\n@cached\nasync def run(self):\n    x = 1\nclass Session(Base):\n    pass",
            "Constant LIMIT, Function run, Type Session",
        ),
        (
            "a.js",
            "export default class Axios {\n  async request(url) {\n    if (x) {\n    }\n  }\n}\nconst merge = (a, b) => a\nexports.run = function () {}\nlet x = 1",
            "Type Axios, Function request, Function merge, Function run, Constant x",
        ),
        (
            "a.ts",
            "export interface Store<T> {\n  dispatch(action: T): void\n}\nexport type Reducer = () => void\nexport abstract class Base {\n  private get name(): string {\n  }\n}",
            "Type Store, Type Reducer, Type Base, Function name",
        ),
        (
            "a.go",
            "func (c *Command) Execute() error {\n\tvar x int\n}\ntype Command struct {\n}\nvar limit = 1",
            "Function Execute, Type Command, Constant limit",
        ),
        (
            "a.java",
            "public final class Gson {\n  public Gson() {\n    return foo(x);\n  }\n  private static <T> T read(Reader in) {\n  }\n}",
            "Type Gson, Function Gson, Function read",
        ),
        (
            "a.cs",
            "public sealed class Reader : IDisposable\n{\n    public int ReadInt32()\n    {\n        if (x)\n        {\n        }\n    }\n}\npublic record struct Point(int X);",
            "Type Reader, Function ReadInt32, Type Point",
        ),
        (
            "a.kt",
            "public suspend fun <T> Flow<T>.collect(block: () -> T) {\n}\ndata class Point(val x: Int)\ncompanion object Key\nval limit = 1",
            "Function collect, Type Point, Type Key, Constant limit",
        ),
        (
            "a.scala",
            "final case class Json(a: Int) extends Base {\n  def as[A]: A = x\n}\nobject Json\nsealed trait Decoder[A]",
            "Type Json, Function as, Type Json, Type Decoder",
        ),
        (
            "a.swift",
            "public struct Session: Sendable {\n    func start() {}\n}\nextension Session: Equatable {}\npublic protocol Adapter {}",
            "Type Session, Function start, Extension Session, Type Adapter",
        ),
        (
            "a.c",
            "#define LIMIT 3\nstruct heap {\n};\nstatic int uv__run(uv_loop_t* loop) {\n  if (x) {\n  }\n}\nint uv_run(uv_loop_t* loop, int mode);\ntypedef struct node node_t;",
            "Constant LIMIT, Type heap, Function uv__run, Declaration uv_run, Declaration node_t",
        ),
        (
            "a.c",
            "static union node *left(struct tree *t,\n\t\tstruct node *n)\n{\n\tstruct node *a = t->a;\n\tstruct node b, c;\n\tunion x \
             y;\n}\nstruct ops fops = {\n};\nstruct ops *table[] = {\n};\nstruct ops *get(void);\nstruct __attribute__((packed)) \
             head {\n};\nstruct ALIGNED(8) tail {\nvoid *next(struct iter *i)\nstruct late;\nenum kind { A, B };",
            "Function left, Constant fops, Constant table, Declaration get, Type head, Type tail, Function next, Type kind",
        ),
        (
            "a.cc",
            "class Foo : public Base<int (*)(A *)>,\n            public Other {\n  struct Bar *bar() {\n  }\n  struct Bar *bar_;\n};\nusing \
             Name = std::vector<int>;\nFoo::~Foo() {\n}\nFoo &Foo::operator=(Foo *o) {",
            "Type Foo, Function bar, Type Name, Function Foo",
        ),
        (
            "a.m",
            "@interface Session : NSObject\n- (void)start:(int)count;\n@end\nstatic int run(void) {\n}\n- (BOOL)isOpen {\n}",
            "Type Session, Declaration start, Function run, Function isOpen",
        ),
        (
            "a.tf",
            "resource \"aws_vpc\" \"main\" {\n  cidr = \"x\"\n}\nvariable \"region\" {}\nlocals {\n}",
            "Type main, Constant region",
        ),
        (
            "a.sql",
            "CREATE TABLE IF NOT EXISTS app.users (\n);\ncreate or replace function \"add_user\"(name text)\nselect 1;\ncreate unique index by_name on users (name);",
            "Type users, Function add_user, Constant by_name",
        ),
        (
            "a.sol",
            "abstract contract Token is Base {\n  function mint(address to) external {\n",
            "Type Token, Function mint",
        ),
        ("a.ps1", "function Get-Thing {\n}", "Function Get-Thing"),
        ("a.cmake", "function(add_thing NAME)\nendfunction()", "Function add_thing"),
        ("a.v", "module counter (input clk);\nendmodule", "Module counter"),
        (
            "a.proto",
            "message User {\n}\nservice Users {\n  rpc Get(User) returns (User);",
            "Type User, Type Users, Function Get",
        ),
        (
            "a.hpp",
            "namespace absl {\ntemplate <class T>\nclass EXPORT Mutex final : public Base {\n  void Lock() {\n  }\n};\n}",
            "Module absl, Type Mutex, Function Lock",
        ),
        (
            "a.php",
            "final class Router implements Registrar\n{\n    const LIMIT = 1;\n    protected static function match(array $a)\n    {\n    }\n}",
            "Type Router, Constant LIMIT, Function match",
        ),
        (
            "a.rb",
            "module Rails\n  class Engine < Railtie\n    attr_reader :name\n    def self.find(path)\n    end\n    LIMIT = 1\n  end\nend",
            "Module Rails, Type Engine, Constant name, Function find, Constant LIMIT",
        ),
        (
            "a.ex",
            "defmodule Plug.Router do\n  @callback call(conn) :: term\n  defmacro match(path) do\n  end\n  defp run(conn), do: conn\nend",
            "Type Router, Function call, Function match, Function run",
        ),
        (
            "a.hs",
            "module Data.Aeson where\ndata Value = Null\nnewtype Parser a = Parser a\nclass (Monad m) => FromJSON a where\ndecode :: Text -> Value\ninstance Show Value where",
            "Module Aeson, Type Value, Type Parser, Type FromJSON, Function decode, Extension Show",
        ),
        (
            "a.lua",
            "---@class LazyView\nlocal M = {}\nfunction M.setup(opts)\nend\nlocal function run()\nend\nM.show = function()\nend",
            "Type LazyView, Function setup, Function run, Function show",
        ),
        (
            "a.sh",
            "function search() {\n}\nnvm_ls() {\n  if (x); then\n  fi\n}",
            "Function search, Function nvm_ls",
        ),
        (
            "a.zig",
            "pub const Parser = struct {\n    pub fn parse(self: *Parser) void {\n        const x = 1;\n    }\n};\nconst limit = 3;",
            "Type Parser, Function parse, Constant limit",
        ),
        ("a.md", "# Guide\ntext\n## First steps", "Heading Guide, Heading First steps"),
    ] {
        assert_eq!(symbols(path, text).join(", "), wanted, "{path}");
    }
}

#[test]
fn calls_and_control_are_no_definitions() {
    assert_eq!(symbols("a.c", "  foo(x);\n  if (a) {\n  }\n  return bar(x);\n"), [""; 0]);
    assert_eq!(symbols("a.js", "  run(x)\n  if (a) {\n  }\n  for (const a of b) {\n  }\n"), [""; 0]);
    assert_eq!(symbols("a.java", "    foo(x);\n    return new Foo(x);\n    } else if (x) {\n"), [""; 0]);
}

#[test]
fn comments_are_told_from_code() {
    let text = "// a\nlet x = 1; // b\n/* c\n   d */\n\nlet url = \"http://e\";\n";
    let kinds = outline(text, language("a.rs")).lines;
    let comment = LineKind::Comment;
    assert_eq!(kinds, [comment, LineKind::Code(11), comment, comment, LineKind::Blank, LineKind::Code(21)]);
    let text = "def f():\n    \"\"\"One.\n\n    Two.\n    \"\"\"\n    return 1\n";
    let kinds = outline(text, language("a.py")).lines;
    assert_eq!(kinds[1], comment);
    assert_eq!(kinds[3..5], [comment, comment]);
    assert_eq!(kinds[5], LineKind::Code(12));
}

#[test]
fn chunks_cover_every_line_once() {
    let body = "    let x = 1;\n".repeat(20);
    let long = "    let y = 2;\n".repeat(300);
    let text =
        format!("use a;\n\n/// One.\nfn one() {{\n{body}}}\n\n/// Two.\n#[test]\nfn two() {{\n{long}}}\n");
    let chunks = outline(&text, language("a.rs")).chunks;
    let mut next = 1;
    for chunk in &chunks {
        assert_eq!(chunk.start_line, next);
        assert!(chunk.end_line - chunk.start_line < limits::LONG_CHUNK);
        next = chunk.end_line + 1;
    }
    assert_eq!(next, text.lines().count() as u32 + 1);
    // Documentation belongs to the definition after it.
    assert!(chunks.iter().any(|chunk| chunk.start_line == 27), "{chunks:?}");
}

#[test]
fn an_empty_file_has_no_chunk() {
    assert_eq!(outline("", language("a.rs")).chunks, []);
}

/// Random text built from parts of definitions in any order, with any characters between them.
pub(crate) fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let pieces = prop::sample::select(vec![
        " ",
        "  ",
        "    ",
        "\t",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        "?",
        "!",
        "=",
        ":",
        ".",
        ",",
        ";",
        "\"",
        "\"\"\"",
        "'''",
        "#",
        "//",
        "--",
        "/*",
        "*/",
        "[",
        "@",
        "->",
        "=>",
        "é",
        "é?",
        "x?(",
        "name",
        "aB9c",
        "pub",
        "public",
        "private",
        "static",
        "fn",
        "def",
        "class",
        "struct",
        "impl",
        "for",
        "function",
        "const",
        "let",
        "type",
        "data",
        "instance",
        "template",
        "extern",
        "extension",
        "typedef",
        "local",
        "M.",
        "func",
        "#define",
        "---@class",
        "@doc",
        "operator",
        "namespace",
        "var",
        "val",
        "你好",
        "カ",
        "\u{2019}",
        "_",
    ]);
    let piece = prop_oneof![9 => pieces.prop_map(str::to_owned), 1 => ".{0,4}"];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest::proptest! {
    #[test]
    fn any_text_of_any_language_is_cut(text in any_text()) {
        for language in crate::languages::LANGUAGES {
            let outline = outline(&text, language);
            assert_eq!(outline.lines.len(), text.lines().count());
            for symbol in &outline.symbols {
                assert!(text.contains(&symbol.name), "{}: {symbol:?}", language.name);
            }
        }
    }
}

#[test]
fn a_name_with_a_mark_behind_it_is_cut_at_a_character() {
    // Regression test: the length of the name does not give its offset.
    for path in ["a.java", "a.cs", "a.dart"] {
        assert_eq!(symbols(path, "  x é?(y) {\n"), ["Function é"], "{path}");
    }
}

#[test]
fn a_line_without_end_is_read_once() {
    // Without a bound, each of these modifiers scans the rest of the line, which takes minutes.
    let line = "pub()".repeat(limits::FILE_BYTES / 5);
    let began = std::time::Instant::now();
    assert_eq!(symbols("a.rs", &line), [""; 0]);
    let heading = format!("# {}", "a".repeat(limits::FILE_BYTES));
    assert!(outline(&heading, language("a.md")).symbols[0].name.len() <= limits::DEFINITION_BYTES);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn a_string_of_several_lines_turns_nothing_round() {
    // Regression test: the end of the string began a comment, and the code after it was not recognised.
    let text = "SQL = \"\"\"\nclass Quoted:\n\"\"\"\n\nclass Real:\n    \"\"\"One.\"\"\"\n";
    assert_eq!(symbols("a.py", text), ["Constant SQL", "Type Real"]);
    let kinds = outline(text, language("a.py")).lines;
    assert!(kinds[..3].iter().chain(&kinds[4..5]).all(|kind| matches!(kind, LineKind::Code(_))), "{kinds:?}");
    assert_eq!(kinds[5], LineKind::Comment);
    for (path, text) in [
        ("a.py", "x = \"\"\"a\"\"\"\ndef f():\n"),
        ("a.py", "x = \"\"\"a # \"\"\"\ndef f():\n"),
        ("a.py", "if a == '\"\"\"':\n    pass\ndef f():\n"),
        ("a.py", "x = 1 # \"\"\"\ndef f():\n"),
        ("a.py", "g(\"\"\"a\n\"\"\", \"\"\"b\n\"\"\")\ndef f():\n"),
        ("a.py", "x = \"\"\"a\n'''\n\"\"\"\ndef f():\n"),
        ("a.ex", "  x = \"\"\"\n  def quoted do\n  \"\"\"\n  def f do\n"),
        ("a.jl", "x = \"\"\"\nfunction quoted()\n\"\"\"\nfunction f()\n"),
    ] {
        let found = symbols(path, text);
        let functions: Vec<_> = found.iter().filter(|symbol| symbol.starts_with("Function")).collect();
        assert_eq!(functions, ["Function f"], "{text}");
    }
}
