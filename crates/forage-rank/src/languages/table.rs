//! The table of languages.

use super::DefinitionKind::{Constant, Declaration, Extension, Function, Module, Type};
use super::SyntaxQuirk::{
    Attributes, MembersTo, NameBeforeBracket, NamelessFunctions, OfAnObject, QuotedNames, ReceiverInBrackets,
    ReceiverWithDot, SignedMethods, SingleQuotedStrings, TypeParametersFirst,
};
use super::{CommentStyle, Keywords, LanguageRow};

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: &[(&str, &str)] = &[("/*", "*/")];

/// A language without any of these features, as the base of all rows.
const PLAIN: LanguageRow = LanguageRow {
    name: "",
    aliases: &[],
    names: &[],
    extensions: &[],
    line_comments: &[],
    block_comments: &[],
    keywords: &[],
    style: CommentStyle::Keywords,
    quirks: &[],
    is_data: false,
};

const SLASHED: LanguageRow = LanguageRow { line_comments: SLASHES, block_comments: STARS, ..PLAIN };

const HASHED: LanguageRow = LanguageRow { line_comments: HASH, ..PLAIN };

const DATA: LanguageRow = LanguageRow { is_data: true, ..HASHED };

const PROSE: LanguageRow = LanguageRow { style: CommentStyle::Prose, ..PLAIN };

/// The base of languages that embed scripts in a page.
const MARKED_UP: LanguageRow = LanguageRow {
    block_comments: &[("/*", "*/"), ("<!--", "-->")],
    keywords: JAVASCRIPT,
    style: CommentStyle::JavaScript,
    quirks: &[SingleQuotedStrings],
    ..SLASHED
};

/// The name of data files in formats that queries don't ask for by name.
pub(super) const DATA_NAME: &str = "data";

/// The row of files in an unknown language, with keywords that many languages use for definitions.
pub(super) const OTHER: LanguageRow =
    LanguageRow { keywords: &[(Function, &["function", "def"]), (Type, &["class"])], ..HASHED };

/// The row of pasted code in an unknown language: the comments of most languages. `#` alone begins a directive
/// in C and an attribute in Rust.
pub(crate) static PASTED: LanguageRow = LanguageRow {
    line_comments: &["//", "# "],
    block_comments: &[("/*", "*/"), ("\"\"\"", "\"\"\"")],
    quirks: &[SingleQuotedStrings],
    ..PLAIN
};

/// All languages. An extension, a file name or an alias must belong to only one of them.
pub(crate) const LANGUAGES: &[LanguageRow] = &[
    LanguageRow {
        name: "rust",
        extensions: &["rs"],
        keywords: &[
            (Function, &["fn", "macro_rules!"]),
            (Type, &["struct", "enum", "union", "trait", "type"]),
            (Extension, &["impl"]),
            (Module, &["mod"]),
            (Constant, &["const", "static"]),
        ],
        ..SLASHED
    },
    LanguageRow {
        name: "python",
        aliases: &["python3"],
        extensions: &["py", "pyi", "pyx"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: &[(Function, &["def"]), (Type, &["class"])],
        style: CommentStyle::Python,
        quirks: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "javascript",
        aliases: &["node"],
        extensions: &["js", "jsx", "mjs", "cjs"],
        keywords: JAVASCRIPT,
        style: CommentStyle::JavaScript,
        quirks: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "typescript",
        extensions: &["ts", "tsx", "mts", "cts"],
        keywords: JAVASCRIPT,
        style: CommentStyle::JavaScript,
        quirks: &[SingleQuotedStrings],
        ..SLASHED
    },
    LanguageRow {
        name: "go",
        aliases: &["golang"],
        extensions: &["go"],
        keywords: &[(Function, &["func"]), (Type, &["type"]), (Constant, &["var", "const"])],
        quirks: &[ReceiverInBrackets, MembersTo(0)],
        ..SLASHED
    },
    LanguageRow {
        name: "java",
        extensions: &["java"],
        keywords: &[(Type, &["class", "interface", "enum", "record", "@interface"])],
        style: CommentStyle::Java,
        ..SLASHED
    },
    LanguageRow {
        name: "csharp",
        aliases: &["c#"],
        extensions: &["cs"],
        keywords: &[(Type, &["class", "interface", "enum", "record", "struct", "delegate"])],
        style: CommentStyle::Java,
        quirks: &[NameBeforeBracket],
        ..SLASHED
    },
    LanguageRow {
        name: "kotlin",
        extensions: &["kt", "kts"],
        keywords: &[
            (Function, &["fun"]),
            (Type, &["class", "interface", "object", "typealias"]),
            (Constant, &["val", "var"]),
        ],
        quirks: &[TypeParametersFirst, ReceiverWithDot, MembersTo(4)],
        ..SLASHED
    },
    LanguageRow {
        name: "scala",
        extensions: &["scala", "sc"],
        keywords: &[
            (Function, &["def"]),
            (Type, &["class", "object", "trait", "enum", "type"]),
            (Constant, &["val", "var", "given"]),
        ],
        quirks: &[MembersTo(4)],
        ..SLASHED
    },
    LanguageRow {
        name: "swift",
        extensions: &["swift"],
        keywords: &[
            (Function, &["func"]),
            (Type, &["class", "struct", "enum", "protocol", "actor", "typealias"]),
            (Extension, &["extension"]),
            (Constant, &["let", "var"]),
        ],
        quirks: &[MembersTo(4)],
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
            (Function, &["function"]),
            (Type, &["class", "interface", "trait", "enum"]),
            (Constant, &["const"]),
        ],
        quirks: &[SingleQuotedStrings, NamelessFunctions, Attributes],
        ..PLAIN
    },
    LanguageRow {
        name: "ruby",
        names: &["Rakefile", "Gemfile", "Podfile", "Vagrantfile"],
        extensions: &["rb", "rake", "gemspec", "erb"],
        line_comments: HASH,
        block_comments: &[("=begin", "=end")],
        keywords: &[
            (Function, &["def", "alias_method", "define_method"]),
            (Type, &["class"]),
            (Module, &["module"]),
            (Constant, &["attr_reader", "attr_writer", "attr_accessor"]),
        ],
        style: CommentStyle::Ruby,
        quirks: &[SingleQuotedStrings, OfAnObject],
        ..PLAIN
    },
    LanguageRow {
        name: "elixir",
        extensions: &["ex", "exs"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[
            (Type, &["defmodule", "defprotocol", "defexception", "@type", "@opaque"]),
            (Extension, &["defimpl"]),
            (
                Function,
                &[
                    "def",
                    "defp",
                    "defmacro",
                    "defmacrop",
                    "defguard",
                    "defdelegate",
                    "@callback",
                    "@macrocallback",
                ],
            ),
        ],
        ..PLAIN
    },
    LanguageRow {
        name: "haskell",
        extensions: &["hs", "lhs"],
        line_comments: &["--"],
        block_comments: &[("{-", "-}")],
        keywords: &[
            (Type, &["data", "newtype", "type", "class"]),
            (Extension, &["instance"]),
            (Module, &["module"]),
        ],
        style: CommentStyle::Haskell,
        ..PLAIN
    },
    LanguageRow {
        name: "lua",
        extensions: &["lua"],
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        keywords: &[(Function, &["function"]), (Type, &["---@class", "---@alias"])],
        style: CommentStyle::Lua,
        quirks: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "bash",
        aliases: &["shell"],
        extensions: &["sh", "bash", "zsh", "fish", "bats", "ksh"],
        keywords: &[(Function, &["function"])],
        style: CommentStyle::Shell,
        quirks: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "zig",
        extensions: &["zig"],
        line_comments: SLASHES,
        keywords: &[(Function, &["fn"]), (Constant, &["const", "var"])],
        style: CommentStyle::Zig,
        ..PLAIN
    },
    LanguageRow {
        name: "dart",
        extensions: &["dart"],
        keywords: &[(Type, &["class", "mixin", "enum", "typedef"]), (Extension, &["extension"])],
        style: CommentStyle::Java,
        quirks: &[SingleQuotedStrings],
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
        keywords: &[
            (Function, &["-spec"]),
            (Type, &["-record("]),
            (Module, &["-module("]),
            (Constant, &["-define("]),
        ],
        ..PLAIN
    },
    LanguageRow {
        name: "perl",
        extensions: &["pl", "pm"],
        keywords: &[(Function, &["sub"]), (Module, &["package"])],
        quirks: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "r",
        extensions: &["r"],
        style: CommentStyle::Lua,
        quirks: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "julia",
        extensions: &["jl"],
        line_comments: HASH,
        block_comments: &[("\"\"\"", "\"\"\""), ("#=", "=#")],
        keywords: &[
            (Function, &["function", "macro"]),
            (Type, &["struct"]),
            (Module, &["module"]),
            (Constant, &["const"]),
        ],
        ..PLAIN
    },
    LanguageRow {
        name: "nim",
        extensions: &["nim"],
        keywords: &[(Function, &["proc", "func", "template", "macro", "iterator"]), (Type, &["type"])],
        ..HASHED
    },
    // We can only find definitions in these with syntax trees.
    LanguageRow { name: "ada", extensions: &["adb", "ads"], ..OTHER },
    LanguageRow { name: "fortran", extensions: &["f77", "f90", "f95", "f03", "f08"], ..OTHER },
    LanguageRow { name: "jupyter", aliases: &["notebook"], extensions: &["ipynb"], ..OTHER },
    LanguageRow { name: "matlab", ..OTHER },
    LanguageRow { name: "pascal", aliases: &["delphi"], extensions: &["pas", "dpr", "lpr"], ..OTHER },
    LanguageRow { name: "vue", extensions: &["vue"], ..MARKED_UP },
    LanguageRow { name: "svelte", extensions: &["svelte", "astro"], ..MARKED_UP },
    LanguageRow {
        name: "objective-c",
        aliases: &["objc", "objectivec", "obj-c", "objective-c++"],
        extensions: &["m", "mm"],
        keywords: C,
        style: CommentStyle::C,
        quirks: &[SignedMethods],
        ..SLASHED
    },
    LanguageRow {
        name: "groovy",
        names: &["Jenkinsfile"],
        extensions: &["groovy", "gvy"],
        keywords: &[(Type, &["class", "interface", "enum", "trait"]), (Function, &["def"])],
        style: CommentStyle::Java,
        quirks: &[SingleQuotedStrings],
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
        keywords: &[(Function, &["function", "Function", "filter"]), (Type, &["class", "enum"])],
        quirks: &[SingleQuotedStrings],
        ..HASHED
    },
    LanguageRow {
        name: "solidity",
        extensions: &["sol"],
        keywords: &[
            (Type, &["contract", "library", "interface", "struct", "enum", "event", "error"]),
            (Function, &["function", "modifier"]),
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
            (Type, &["resource", "data"]),
            (Module, &["module", "provider"]),
            (Constant, &["variable", "output"]),
        ],
        quirks: &[QuotedNames],
        ..PLAIN
    },
    LanguageRow { name: "nix", extensions: &["nix"], block_comments: STARS, ..HASHED },
    LanguageRow {
        name: "verilog",
        aliases: &["systemverilog"],
        extensions: &["v", "vh", "sv", "svh"],
        keywords: &[
            (Module, &["module", "package"]),
            (Type, &["interface", "class"]),
            (Function, &["function", "task"]),
            (Constant, &["`define"]),
        ],
        ..SLASHED
    },
    LanguageRow {
        name: "vhdl",
        extensions: &["vhd", "vhdl"],
        line_comments: &["--"],
        keywords: &[
            (Type, &["entity"]),
            (Extension, &["architecture"]),
            (Module, &["package"]),
            (Function, &["function", "procedure"]),
            (Declaration, &["component"]),
        ],
        ..PLAIN
    },
    LanguageRow {
        name: "sql",
        extensions: &["sql"],
        line_comments: &["--"],
        block_comments: STARS,
        style: CommentStyle::Sql,
        quirks: &[SingleQuotedStrings],
        ..PLAIN
    },
    LanguageRow {
        name: "protobuf",
        extensions: &["proto"],
        keywords: &[(Type, &["message", "service", "enum"]), (Function, &["rpc"])],
        ..SLASHED
    },
    LanguageRow {
        name: "thrift",
        extensions: &["thrift"],
        keywords: &[(Type, &["struct", "service", "enum", "exception"])],
        ..SLASHED
    },
    LanguageRow {
        name: "graphql",
        extensions: &["graphql", "gql", "graphqls"],
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[
            (Type, &["type", "interface", "input", "enum", "union", "scalar"]),
            (Function, &["query", "mutation", "subscription", "fragment"]),
        ],
        ..HASHED
    },
    LanguageRow {
        name: "starlark",
        names: &["BUILD", "WORKSPACE", "BUCK", "Tiltfile"],
        extensions: &["bzl", "bazel", "star"],
        block_comments: &[("\"\"\"", "\"\"\"")],
        keywords: &[(Function, &["def"])],
        style: CommentStyle::Python,
        quirks: &[SingleQuotedStrings],
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
        keywords: &[(Function, &["define"])],
        ..HASHED
    },
    LanguageRow {
        name: "cmake",
        names: &["CMakeLists.txt"],
        extensions: &["cmake"],
        keywords: &[(Function, &["function(", "macro("])],
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
    LanguageRow { name: "asciidoc", extensions: &["adoc", "asciidoc", "asc"], ..PROSE },
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
        extensions: &["txt", "info", "rdoc", "topic"],
        ..PROSE
    },
];

const JAVASCRIPT: &[Keywords] = &[
    (Function, &["function", "function*"]),
    (Type, &["class", "interface", "enum", "type"]),
    (Module, &["namespace"]),
    (Constant, &["const", "let", "var"]),
];

const C: &[Keywords] = &[
    (
        Type,
        &[
            "struct",
            "class",
            "union",
            "enum",
            "using",
            "typedef",
            "concept",
            "@interface",
            "@implementation",
            "@protocol",
        ],
    ),
    (Module, &["namespace"]),
    (Constant, &["#define"]),
];

const ML: &[Keywords] =
    &[(Function, &["let", "val"]), (Type, &["type", "class", "exception"]), (Module, &["module"])];

const LISP: &[Keywords] = &[
    (Function, &["(defn", "(defn-", "(defun", "(defmacro", "(define", "(defmulti", "(defmethod"]),
    (Constant, &["(def", "(defvar", "(defcustom"]),
    (Type, &["(defprotocol", "(defrecord", "(deftype"]),
    (Module, &["(ns"]),
];
