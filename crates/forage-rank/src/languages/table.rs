//! What is known of each language.

use super::DefinitionKind::{Constant, Declaration, Extension, Function, Module, Type};
use super::Habit::{
    Attributes, MembersTo, NameBeforeBracket, NamelessFunctions, OfAnObject, QuotedNames, ReceiverInBrackets,
    ReceiverWithDot, SignedMethods, SingleQuotedStrings, TypeParametersFirst,
};
use super::{CommentStyle, DefinitionKind, LanguageRow};

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];

/// What most languages have not.
const PLAIN: LanguageRow = LanguageRow {
    name: "",
    aliases: &[],
    names: &[],
    extensions: &[],
    line_comments: &[],
    block_comments: &[],
    keywords: &[],
    style: CommentStyle::Keywords,
    habits: &[],
    is_data: false,
};

const SLASHED: LanguageRow = LanguageRow { line_comments: SLASHES, block_comments: STARS, ..PLAIN };

const HASHED: LanguageRow = LanguageRow { line_comments: HASH, ..PLAIN };

const DATA: LanguageRow = LanguageRow { is_data: true, ..HASHED };

const PROSE: LanguageRow = LanguageRow { style: CommentStyle::Prose, ..PLAIN };

/// Scripts within a page.
const MARKED_UP: LanguageRow = LanguageRow {
    block_comments: &[("/*", "*/"), ("<!--", "-->")],
    keywords: JAVASCRIPT,
    style: CommentStyle::JavaScript,
    habits: &[SingleQuotedStrings],
    ..SLASHED
};

/// Data of kinds that nobody asks for by a name.
pub(super) const DATA_NAME: &str = "data";

/// What is known of a file whose language isn't: words that begin definitions in many.
pub(super) const OTHER: LanguageRow =
    LanguageRow { keywords: &[("function", Function), ("def", Function), ("class", Type)], ..HASHED };

/// All languages. An extension, a name and an alias belong to one of them.
pub(crate) const LANGUAGES: &[LanguageRow] = &[
    LanguageRow {
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
    LanguageRow {
        name: "python",
        aliases: &["python3"],
        extensions: &["py", "pyi", "pyx"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: &[("def", Function), ("class", Type)],
        style: CommentStyle::Python,
        habits: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "javascript",
        aliases: &["node"],
        extensions: &["js", "jsx", "mjs", "cjs"],
        keywords: JAVASCRIPT,
        style: CommentStyle::JavaScript,
        habits: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "typescript",
        extensions: &["ts", "tsx", "mts", "cts"],
        keywords: JAVASCRIPT,
        style: CommentStyle::JavaScript,
        habits: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "go",
        aliases: &["golang"],
        extensions: &["go"],
        keywords: &[("func", Function), ("type", Type), ("var", Constant), ("const", Constant)],
        habits: &[ReceiverInBrackets, MembersTo(0)],
        ..SLASHED
    },
    LanguageRow {
        name: "java",
        extensions: &["java"],
        keywords: &[
            ("class", Type),
            ("interface", Type),
            ("enum", Type),
            ("record", Type),
            ("@interface", Type),
        ],
        style: CommentStyle::Java,
        ..SLASHED
    },
    LanguageRow {
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
        style: CommentStyle::Java,
        habits: &[NameBeforeBracket],
        ..SLASHED
    },
    LanguageRow {
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
    LanguageRow {
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
    LanguageRow {
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
    LanguageRow { name: "c", extensions: &["c", "h"], keywords: C, style: CommentStyle::C, ..SLASHED },
    LanguageRow {
        name: "cpp",
        aliases: &["c++", "cplusplus"],
        extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "inc", "ipp", "tpp", "cu", "cuh"],
        keywords: C,
        style: CommentStyle::C,
        ..SLASHED
    },
    LanguageRow {
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
        habits: &[SingleQuotedStrings, NamelessFunctions, Attributes],
        ..PLAIN
    },
    LanguageRow {
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
        style: CommentStyle::Ruby,
        habits: &[SingleQuotedStrings, OfAnObject],
        ..PLAIN
    },
    LanguageRow {
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
    LanguageRow {
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
        style: CommentStyle::Haskell,
        ..PLAIN
    },
    LanguageRow {
        name: "lua",
        extensions: &["lua"],
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        keywords: &[("function", Function), ("---@class", Type), ("---@alias", Type)],
        style: CommentStyle::Lua,
        habits: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "bash",
        aliases: &["shell"],
        extensions: &["sh", "bash", "zsh", "fish", "bats", "ksh"],
        keywords: &[("function", Function)],
        style: CommentStyle::Shell,
        habits: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "zig",
        extensions: &["zig"],
        line_comments: SLASHES,
        keywords: &[("fn", Function), ("const", Constant), ("var", Constant)],
        style: CommentStyle::Zig,
        ..PLAIN
    },
    LanguageRow {
        name: "dart",
        extensions: &["dart"],
        keywords: &[
            ("class", Type),
            ("mixin", Type),
            ("enum", Type),
            ("extension", Extension),
            ("typedef", Type),
        ],
        style: CommentStyle::Java,
        habits: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "ocaml",
        extensions: &["ml", "mli"],
        block_comments: &[("(*", "*)")],
        keywords: ML,
        ..PLAIN
    },
    LanguageRow {
        name: "erlang",
        extensions: &["erl", "hrl"],
        line_comments: &["%"],
        keywords: &[("-spec", Function), ("-record(", Type), ("-module(", Module), ("-define(", Constant)],
        ..PLAIN
    },
    LanguageRow {
        name: "perl",
        extensions: &["pl", "pm"],
        keywords: &[("sub", Function), ("package", Module)],
        habits: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "r",
        extensions: &["r"],
        style: CommentStyle::Lua,
        habits: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
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
    LanguageRow {
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
    LanguageRow { name: "vue", extensions: &["vue"], ..MARKED_UP },
    LanguageRow { name: "svelte", extensions: &["svelte", "astro"], ..MARKED_UP },
    LanguageRow {
        name: "objective-c",
        aliases: &["objc", "objectivec", "obj-c", "objective-c++"],
        extensions: &["m", "mm"],
        keywords: C,
        style: CommentStyle::C,
        habits: &[SignedMethods],
        ..SLASHED
    },
    LanguageRow {
        name: "groovy",
        names: &["Jenkinsfile"],
        extensions: &["groovy", "gvy"],
        keywords: &[("class", Type), ("interface", Type), ("enum", Type), ("trait", Type), ("def", Function)],
        style: CommentStyle::Java,
        habits: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "fsharp",
        aliases: &["f#"],
        extensions: &["fs", "fsi", "fsx"],
        line_comments: SLASHES,
        block_comments: &[("(*", "*)")],
        keywords: ML,
        ..PLAIN
    },
    LanguageRow {
        name: "clojure",
        extensions: &["clj", "cljs", "cljc", "edn"],
        line_comments: &[";"],
        keywords: LISP,
        ..PLAIN
    },
    LanguageRow {
        name: "lisp",
        aliases: &["elisp", "emacs-lisp", "scheme", "racket"],
        extensions: &["el", "lisp", "scm", "rkt"],
        line_comments: &[";"],
        keywords: LISP,
        ..PLAIN
    },
    LanguageRow {
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
        habits: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
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
    LanguageRow {
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
    LanguageRow { name: "nix", extensions: &["nix"], block_comments: STARS, ..HASHED },
    LanguageRow {
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
    LanguageRow {
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
    LanguageRow {
        name: "sql",
        extensions: &["sql"],
        line_comments: &["--"],
        block_comments: STARS,
        style: CommentStyle::Sql,
        habits: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "protobuf",
        extensions: &["proto"],
        keywords: &[("message", Type), ("service", Type), ("enum", Type), ("rpc", Function)],
        ..SLASHED
    },
    LanguageRow {
        name: "thrift",
        extensions: &["thrift"],
        keywords: &[("struct", Type), ("service", Type), ("enum", Type), ("exception", Type)],
        ..SLASHED
    },
    LanguageRow {
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
    LanguageRow {
        name: "starlark",
        names: &["BUILD", "WORKSPACE", "BUCK", "Tiltfile"],
        extensions: &["bzl", "bazel", "star"],
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[("def", Function)],
        style: CommentStyle::Python,
        habits: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "dockerfile",
        aliases: &["docker"],
        names: &["Dockerfile", "Containerfile"],
        extensions: &["dockerfile"],
        ..HASHED
    },
    LanguageRow {
        name: "make",
        aliases: &["makefile"],
        names: &["Makefile", "makefile", "GNUmakefile"],
        extensions: &["mk", "mak"],
        keywords: &[("define", Function)],
        ..HASHED
    },
    LanguageRow {
        name: "cmake",
        names: &["CMakeLists.txt"],
        extensions: &["cmake"],
        keywords: &[("function(", Function), ("macro(", Function)],
        is_data: true,
        ..HASHED
    },
    LanguageRow { name: "gradle", extensions: &["gradle"], is_data: true, ..SLASHED },
    LanguageRow { name: "json", extensions: &["json", "jsonc", "json5", "jsonl", "map"], ..DATA },
    LanguageRow { name: "yaml", extensions: &["yaml", "yml"], ..DATA },
    LanguageRow { name: "toml", extensions: &["toml"], ..DATA },
    LanguageRow { name: "xml", extensions: &["xml", "xsd", "xsl", "svg", "plist"], ..DATA },
    LanguageRow { name: "csv", extensions: &["csv", "tsv"], ..DATA },
    LanguageRow { name: "ini", extensions: &["ini", "cfg", "conf", "properties"], ..DATA },
    LanguageRow { name: "html", extensions: &["html", "htm"], ..DATA },
    LanguageRow { name: "css", extensions: &["css"], ..DATA },
    LanguageRow { name: "scss", aliases: &["sass"], extensions: &["scss", "sass"], ..DATA },
    LanguageRow { name: "less", extensions: &["less"], ..DATA },
    LanguageRow {
        name: DATA_NAME,
        names: &["go.sum", "pylintrc"],
        extensions: &["lock", "lockb", "snap", "po", "pot", "cabal", "podspec", "pc"],
        ..DATA
    },
    LanguageRow { name: "markdown", extensions: &["md", "markdown", "mdx"], ..PROSE },
    LanguageRow { name: "restructuredtext", extensions: &["rst"], ..PROSE },
    LanguageRow { name: "asciidoc", extensions: &["adoc", "asciidoc"], ..PROSE },
    LanguageRow { name: "org", extensions: &["org"], ..PROSE },
    LanguageRow { name: "tex", aliases: &["latex"], extensions: &["tex"], ..PROSE },
    LanguageRow {
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
            "HISTORY",
            "TODO",
            "THANKS",
            "NOTICE",
            "CONTRIBUTORS",
            "MAINTAINERS",
            "CODEOWNERS",
        ],
        extensions: &["txt"],
        ..PROSE
    },
];

const JAVASCRIPT: &[(&str, DefinitionKind)] = &[
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

const C: &[(&str, DefinitionKind)] = &[
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

const ML: &[(&str, DefinitionKind)] = &[
    ("let", Function),
    ("val", Function),
    ("type", Type),
    ("module", Module),
    ("class", Type),
    ("exception", Type),
];

const LISP: &[(&str, DefinitionKind)] = &[
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
