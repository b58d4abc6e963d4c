//! What is known of each language.

use super::Habit::{
    Attributes, MembersTo, NameBeforeBracket, NamelessFunctions, OfAnObject, QuotedNames, ReceiverInBrackets,
    ReceiverWithDot, SignedMethods, TypeParametersFirst,
};
use super::Kind::{Constant, Declaration, Extension, Function, Module, Type};
use super::{Kind, Language, Style};

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];

/// What most languages have not.
const PLAIN: Language = Language {
    name: "",
    aliases: &[],
    names: &[],
    extensions: &[],
    line_comments: &[],
    block_comments: &[],
    keywords: &[],
    style: Style::Keywords,
    habits: &[],
    is_data: false,
};

const SLASHED: Language = Language { line_comments: SLASHES, block_comments: STARS, ..PLAIN };

const HASHED: Language = Language { line_comments: HASH, ..PLAIN };

const DATA: Language = Language { is_data: true, ..HASHED };

const PROSE: Language = Language { style: Style::Prose, ..PLAIN };

/// Scripts within a page.
const MARKED_UP: Language = Language {
    block_comments: &[("/*", "*/"), ("<!--", "-->")],
    keywords: JAVASCRIPT,
    style: Style::JavaScript,
    ..SLASHED
};

/// Data of kinds that nobody asks for by a name.
pub(super) const DATA_NAME: &str = "data";

/// What is known of a file whose language isn't: words that begin definitions in many.
pub(super) const OTHER: Language =
    Language { keywords: &[("function", Function), ("def", Function), ("class", Type)], ..HASHED };

/// All languages. An extension, a name and an alias belong to one of them.
pub(crate) const LANGUAGES: &[Language] = &[
    Language {
        name: "rust",
        extensions: &["rs"],
        keywords: &[
            ("fn", Function),
            ("struct", Type),
            ("enum", Type),
            ("union", Type),
            ("trait", Type),
            ("type", Type),
            ("impl", Extension),
            ("mod", Module),
            ("const", Constant),
            ("static", Constant),
            ("macro_rules!", Function),
        ],
        ..SLASHED
    },
    Language {
        name: "python",
        aliases: &["python3"],
        extensions: &["py", "pyi", "pyx"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: &[("def", Function), ("class", Type)],
        style: Style::Python,
        ..PLAIN
    },
    Language {
        name: "javascript",
        aliases: &["node"],
        extensions: &["js", "jsx", "mjs", "cjs"],
        keywords: JAVASCRIPT,
        style: Style::JavaScript,
        ..SLASHED
    },
    Language {
        name: "typescript",
        extensions: &["ts", "tsx", "mts", "cts"],
        keywords: JAVASCRIPT,
        style: Style::JavaScript,
        ..SLASHED
    },
    Language {
        name: "go",
        aliases: &["golang"],
        extensions: &["go"],
        keywords: &[("func", Function), ("type", Type), ("var", Constant), ("const", Constant)],
        habits: &[ReceiverInBrackets, MembersTo(0)],
        ..SLASHED
    },
    Language {
        name: "java",
        extensions: &["java"],
        keywords: &[
            ("class", Type),
            ("interface", Type),
            ("enum", Type),
            ("record", Type),
            ("@interface", Type),
        ],
        style: Style::Java,
        ..SLASHED
    },
    Language {
        name: "csharp",
        aliases: &["c#"],
        extensions: &["cs"],
        keywords: &[
            ("class", Type),
            ("interface", Type),
            ("enum", Type),
            ("record", Type),
            ("struct", Type),
            ("delegate", Type),
        ],
        style: Style::Java,
        habits: &[NameBeforeBracket],
        ..SLASHED
    },
    Language {
        name: "kotlin",
        extensions: &["kt", "kts"],
        keywords: &[
            ("fun", Function),
            ("class", Type),
            ("interface", Type),
            ("object", Type),
            ("typealias", Type),
            ("val", Constant),
            ("var", Constant),
        ],
        habits: &[TypeParametersFirst, ReceiverWithDot, MembersTo(4)],
        ..SLASHED
    },
    Language {
        name: "scala",
        extensions: &["scala", "sc"],
        keywords: &[
            ("def", Function),
            ("class", Type),
            ("object", Type),
            ("trait", Type),
            ("enum", Type),
            ("type", Type),
            ("val", Constant),
            ("var", Constant),
            ("given", Constant),
        ],
        habits: &[MembersTo(4)],
        ..SLASHED
    },
    Language {
        name: "swift",
        extensions: &["swift"],
        keywords: &[
            ("func", Function),
            ("class", Type),
            ("struct", Type),
            ("enum", Type),
            ("protocol", Type),
            ("actor", Type),
            ("typealias", Type),
            ("extension", Extension),
            ("let", Constant),
            ("var", Constant),
        ],
        habits: &[MembersTo(4)],
        ..SLASHED
    },
    Language { name: "c", extensions: &["c", "h"], keywords: C, style: Style::C, ..SLASHED },
    Language {
        name: "cpp",
        aliases: &["c++", "cplusplus"],
        extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "inc", "ipp", "tpp", "cu", "cuh"],
        keywords: C,
        style: Style::C,
        ..SLASHED
    },
    Language {
        name: "php",
        extensions: &["php"],
        line_comments: &["//", "#"],
        block_comments: STARS,
        keywords: &[
            ("function", Function),
            ("class", Type),
            ("interface", Type),
            ("trait", Type),
            ("enum", Type),
            ("const", Constant),
        ],
        habits: &[NamelessFunctions, Attributes],
        ..PLAIN
    },
    Language {
        name: "ruby",
        names: &["Rakefile", "Gemfile", "Podfile", "Vagrantfile"],
        extensions: &["rb", "rake", "gemspec", "erb"],
        line_comments: HASH,
        block_comments: &[("=begin", "=end")],
        keywords: &[
            ("def", Function),
            ("class", Type),
            ("module", Module),
            ("attr_reader", Constant),
            ("attr_writer", Constant),
            ("attr_accessor", Constant),
            ("alias_method", Function),
            ("define_method", Function),
        ],
        style: Style::Ruby,
        habits: &[OfAnObject],
        ..PLAIN
    },
    Language {
        name: "elixir",
        extensions: &["ex", "exs"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[
            ("defmodule", Type),
            ("defprotocol", Type),
            ("defimpl", Extension),
            ("defexception", Type),
            ("def", Function),
            ("defp", Function),
            ("defmacro", Function),
            ("defmacrop", Function),
            ("defguard", Function),
            ("defdelegate", Function),
            ("@callback", Function),
            ("@macrocallback", Function),
            ("@type", Type),
            ("@opaque", Type),
        ],
        ..PLAIN
    },
    Language {
        name: "haskell",
        extensions: &["hs", "lhs"],
        line_comments: &["--"],
        block_comments: &[("{-", "-}")],
        keywords: &[
            ("data", Type),
            ("newtype", Type),
            ("type", Type),
            ("class", Type),
            ("instance", Extension),
            ("module", Module),
        ],
        style: Style::Haskell,
        ..PLAIN
    },
    Language {
        name: "lua",
        extensions: &["lua"],
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        keywords: &[("function", Function), ("---@class", Type), ("---@alias", Type)],
        style: Style::Lua,
        ..PLAIN
    },
    Language {
        name: "bash",
        aliases: &["shell"],
        extensions: &["sh", "bash", "zsh", "fish", "bats", "ksh"],
        keywords: &[("function", Function)],
        style: Style::Shell,
        ..HASHED
    },
    Language {
        name: "zig",
        extensions: &["zig"],
        line_comments: SLASHES,
        keywords: &[("fn", Function), ("const", Constant), ("var", Constant)],
        style: Style::Zig,
        ..PLAIN
    },
    Language {
        name: "dart",
        extensions: &["dart"],
        keywords: &[
            ("class", Type),
            ("mixin", Type),
            ("enum", Type),
            ("extension", Extension),
            ("typedef", Type),
        ],
        style: Style::Java,
        ..SLASHED
    },
    Language {
        name: "ocaml",
        extensions: &["ml", "mli"],
        block_comments: &[("(*", "*)")],
        keywords: ML,
        ..PLAIN
    },
    Language {
        name: "erlang",
        extensions: &["erl", "hrl"],
        line_comments: &["%"],
        keywords: &[("-spec", Function), ("-record(", Type), ("-module(", Module), ("-define(", Constant)],
        ..PLAIN
    },
    Language {
        name: "perl",
        extensions: &["pl", "pm"],
        keywords: &[("sub", Function), ("package", Module)],
        ..HASHED
    },
    Language { name: "r", extensions: &["r"], style: Style::Lua, ..HASHED },
    Language {
        name: "julia",
        extensions: &["jl"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\""), ("#=", "=#")],
        keywords: &[
            ("function", Function),
            ("macro", Function),
            ("struct", Type),
            ("module", Module),
            ("const", Constant),
        ],
        ..PLAIN
    },
    Language {
        name: "nim",
        extensions: &["nim"],
        keywords: &[
            ("proc", Function),
            ("func", Function),
            ("template", Function),
            ("macro", Function),
            ("iterator", Function),
            ("type", Type),
        ],
        ..HASHED
    },
    Language { name: "vue", extensions: &["vue"], ..MARKED_UP },
    Language { name: "svelte", extensions: &["svelte", "astro"], ..MARKED_UP },
    Language {
        name: "objective-c",
        aliases: &["objc", "objectivec", "obj-c", "objective-c++"],
        extensions: &["m", "mm"],
        keywords: C,
        style: Style::C,
        habits: &[SignedMethods],
        ..SLASHED
    },
    Language {
        name: "groovy",
        names: &["Jenkinsfile"],
        extensions: &["groovy", "gvy"],
        keywords: &[("class", Type), ("interface", Type), ("enum", Type), ("trait", Type), ("def", Function)],
        style: Style::Java,
        ..SLASHED
    },
    Language {
        name: "fsharp",
        aliases: &["f#"],
        extensions: &["fs", "fsi", "fsx"],
        line_comments: SLASHES,
        block_comments: &[("(*", "*)")],
        keywords: ML,
        ..PLAIN
    },
    Language {
        name: "clojure",
        extensions: &["clj", "cljs", "cljc", "edn"],
        line_comments: &[";"],
        keywords: LISP,
        ..PLAIN
    },
    Language {
        name: "lisp",
        aliases: &["elisp", "emacs-lisp", "scheme", "racket"],
        extensions: &["el", "lisp", "scm", "rkt"],
        line_comments: &[";"],
        keywords: LISP,
        ..PLAIN
    },
    Language {
        name: "powershell",
        aliases: &["pwsh"],
        extensions: &["ps1", "psm1", "psd1"],
        block_comments: &[("<#", "#>")],
        keywords: &[
            ("function", Function),
            ("Function", Function),
            ("filter", Function),
            ("class", Type),
            ("enum", Type),
        ],
        ..HASHED
    },
    Language {
        name: "solidity",
        extensions: &["sol"],
        keywords: &[
            ("contract", Type),
            ("library", Type),
            ("interface", Type),
            ("struct", Type),
            ("enum", Type),
            ("event", Type),
            ("error", Type),
            ("function", Function),
            ("modifier", Function),
        ],
        ..SLASHED
    },
    Language {
        name: "terraform",
        aliases: &["opentofu"],
        extensions: &["tf", "tfvars", "hcl"],
        line_comments: &["#", "//"],
        block_comments: STARS,
        keywords: &[
            ("resource", Type),
            ("data", Type),
            ("module", Module),
            ("provider", Module),
            ("variable", Constant),
            ("output", Constant),
        ],
        habits: &[QuotedNames],
        ..PLAIN
    },
    Language { name: "nix", extensions: &["nix"], block_comments: STARS, ..HASHED },
    Language {
        name: "verilog",
        aliases: &["systemverilog"],
        extensions: &["v", "vh", "sv", "svh"],
        keywords: &[
            ("module", Module),
            ("package", Module),
            ("interface", Type),
            ("class", Type),
            ("function", Function),
            ("task", Function),
            ("`define", Constant),
        ],
        ..SLASHED
    },
    Language {
        name: "vhdl",
        extensions: &["vhd", "vhdl"],
        line_comments: &["--"],
        keywords: &[
            ("entity", Type),
            ("architecture", Extension),
            ("package", Module),
            ("function", Function),
            ("procedure", Function),
            ("component", Declaration),
        ],
        ..PLAIN
    },
    Language {
        name: "sql",
        extensions: &["sql"],
        line_comments: &["--"],
        block_comments: STARS,
        style: Style::Sql,
        ..PLAIN
    },
    Language {
        name: "protobuf",
        extensions: &["proto"],
        keywords: &[("message", Type), ("service", Type), ("enum", Type), ("rpc", Function)],
        ..SLASHED
    },
    Language {
        name: "thrift",
        extensions: &["thrift"],
        keywords: &[("struct", Type), ("service", Type), ("enum", Type), ("exception", Type)],
        ..SLASHED
    },
    Language {
        name: "graphql",
        extensions: &["graphql", "gql", "graphqls"],
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[
            ("type", Type),
            ("interface", Type),
            ("input", Type),
            ("enum", Type),
            ("union", Type),
            ("scalar", Type),
            ("query", Function),
            ("mutation", Function),
            ("subscription", Function),
            ("fragment", Function),
        ],
        ..HASHED
    },
    Language {
        name: "starlark",
        names: &["BUILD", "WORKSPACE", "BUCK", "Tiltfile"],
        extensions: &["bzl", "bazel", "star"],
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[("def", Function)],
        style: Style::Python,
        ..HASHED
    },
    Language {
        name: "dockerfile",
        aliases: &["docker"],
        names: &["Dockerfile", "Containerfile"],
        extensions: &["dockerfile"],
        ..HASHED
    },
    Language {
        name: "make",
        aliases: &["makefile"],
        names: &["Makefile", "makefile", "GNUmakefile"],
        extensions: &["mk", "mak"],
        keywords: &[("define", Function)],
        ..HASHED
    },
    Language {
        name: "cmake",
        names: &["CMakeLists.txt"],
        extensions: &["cmake"],
        keywords: &[("function(", Function), ("macro(", Function)],
        is_data: true,
        ..HASHED
    },
    Language { name: "gradle", extensions: &["gradle"], is_data: true, ..SLASHED },
    Language { name: "json", extensions: &["json", "jsonc", "json5", "jsonl", "map"], ..DATA },
    Language { name: "yaml", extensions: &["yaml", "yml"], ..DATA },
    Language { name: "toml", extensions: &["toml"], ..DATA },
    Language { name: "xml", extensions: &["xml", "xsd", "xsl", "svg", "plist"], ..DATA },
    Language { name: "csv", extensions: &["csv", "tsv"], ..DATA },
    Language { name: "ini", extensions: &["ini", "cfg", "conf", "properties"], ..DATA },
    Language { name: "html", extensions: &["html", "htm"], ..DATA },
    Language { name: "css", extensions: &["css"], ..DATA },
    Language { name: "scss", aliases: &["sass"], extensions: &["scss", "sass"], ..DATA },
    Language { name: "less", extensions: &["less"], ..DATA },
    Language { name: DATA_NAME, extensions: &["lock", "snap", "po", "cabal", "podspec", "pc"], ..DATA },
    Language { name: "markdown", extensions: &["md", "markdown", "mdx"], ..PROSE },
    Language { name: "restructuredtext", extensions: &["rst"], ..PROSE },
    Language { name: "asciidoc", extensions: &["adoc", "asciidoc"], ..PROSE },
    Language { name: "org", extensions: &["org"], ..PROSE },
    Language { name: "tex", aliases: &["latex"], extensions: &["tex"], ..PROSE },
    Language {
        name: "text",
        aliases: &["plaintext"],
        names: &[
            "README",
            "LICENSE",
            "CHANGELOG",
            "ChangeLog",
            "CHANGES",
            "NEWS",
            "COPYING",
            "AUTHORS",
            "INSTALL",
        ],
        extensions: &["txt"],
        ..PROSE
    },
];

const JAVASCRIPT: &[(&str, Kind)] = &[
    ("function", Function),
    ("function*", Function),
    ("class", Type),
    ("interface", Type),
    ("enum", Type),
    ("type", Type),
    ("namespace", Module),
    ("const", Constant),
    ("let", Constant),
    ("var", Constant),
];

const C: &[(&str, Kind)] = &[
    ("struct", Type),
    ("class", Type),
    ("union", Type),
    ("enum", Type),
    ("namespace", Module),
    ("using", Type),
    ("typedef", Type),
    ("concept", Type),
    ("#define", Constant),
    ("@interface", Type),
    ("@implementation", Type),
    ("@protocol", Type),
];

const ML: &[(&str, Kind)] = &[
    ("let", Function),
    ("val", Function),
    ("type", Type),
    ("module", Module),
    ("class", Type),
    ("exception", Type),
];

const LISP: &[(&str, Kind)] = &[
    ("(defn", Function),
    ("(defn-", Function),
    ("(defun", Function),
    ("(defmacro", Function),
    ("(define", Function),
    ("(defmulti", Function),
    ("(defmethod", Function),
    ("(def", Constant),
    ("(defvar", Constant),
    ("(defcustom", Constant),
    ("(defprotocol", Type),
    ("(defrecord", Type),
    ("(deftype", Type),
    ("(ns", Module),
];
