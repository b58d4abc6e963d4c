//! How sources use a name.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use forage_base::Stop;
use forage_syntax::{Language, parsed};

/// Compares the uses of `Name` with the comments at the ends of their lines: each line of a source ends with a mark and
/// the kinds of its uses in order.
fn assert_uses(language: &str, path: &str, source: &[(&str, &str)]) {
    assert_uses_of("Name", language, path, source);
}

fn assert_uses_of(name: &str, language: &str, path: &str, source: &[(&str, &str)]) {
    let language = Language::for_name(language, path).unwrap();
    let text: String = source.iter().map(|(line, _)| format!("{line}\n")).collect();
    let uses = parsed(language, &text, Some(name), &Stop::never()).unwrap().uses;
    for (number, (line, expected)) in (1..).zip(source) {
        let found = uses.iter().filter(|used| used.line == number).map(|used| used.kind.name());
        assert_eq!(found.collect::<Vec<_>>().join(" "), *expected, "{path}:{number}: {line}");
    }
}

#[test]
fn rust() {
    assert_uses(
        "rust",
        "a.rs",
        &[
            ("use crate::a::Name;", "import"),
            ("/// About Name and Names.", "comment"),
            ("pub trait Name<T> {}", "definition"),
            ("impl Name<Other> for X {", "implementation"),
            ("    fn a(&self, b: &dyn Name) -> Vec<Name> {", "type type"),
            ("        let c = Name { a: 1 };", "type"),
            ("        let d = Name(1, \"Name\");", "call string"),
            ("        a::Name(Name::new());", "call code"),
            ("        Name!(1);", "call"),
            ("    }", ""),
            ("}", ""),
        ],
    );
}

#[test]
fn python() {
    assert_uses(
        "python",
        "a.py",
        &[
            ("from a import Name, other", "import"),
            ("class Name(Base):", "definition"),
            ("    pass", ""),
            ("class B(Name, metaclass=Name):", "implementation implementation"),
            ("    def a(self, b: Name) -> list[Name]:", "type type"),
            ("        self.Name(Name)", "call code"),
            ("        return f\"Name {Name}\"  # Name", "string code comment"),
        ],
    );
}

#[test]
fn go() {
    assert_uses(
        "go",
        "a.go",
        &[
            ("package a", ""),
            ("type Name interface { A() }", "definition"),
            ("type B struct {", ""),
            ("\tName", "implementation"),
            ("\tb Name", "type"),
            ("}", ""),
            ("func c(a Name) *Name {", "type type"),
            ("\tx := pkg.Name(Name(1), `Name`)", "call call string"),
            ("\treturn x // Name", "comment"),
            ("}", ""),
        ],
    );
}

#[test]
fn typescript() {
    assert_uses(
        "typescript",
        "a.ts",
        &[
            ("import { Name } from './a';", "import"),
            ("export class Name {}", "definition"),
            ("class B extends Name<X> implements C {", "implementation"),
            ("  a: Name = new Name(`Name ${Name}`);", "type call string code"),
            ("  b(c: Name): void { this.Name(Name); }", "type call code"),
            ("}", ""),
        ],
    );
}

#[test]
fn java() {
    assert_uses(
        "java",
        "A.java",
        &[
            ("import a.b.Name;", "import"),
            ("class B extends Name implements Other<Name> {", "implementation type"),
            ("  Name a = new Name(Name.x(), \"Name\");", "type call code string"),
            ("  void c() { this.Name(); }", "call"),
            ("}", ""),
            ("class C implements Other, Name {}", "implementation"),
            ("interface Name {}", "definition"),
        ],
    );
}

#[test]
fn csharp() {
    assert_uses(
        "csharp",
        "A.cs",
        &[
            ("using A.Name;", "import"),
            ("class B : Base, Name {", "implementation"),
            ("  Name a = new Name(Name.X());", "type call code"),
            ("}", ""),
            ("interface Name {}", "definition"),
        ],
    );
}

#[test]
fn cpp() {
    assert_uses(
        "cpp",
        "a.cpp",
        &[
            ("#include \"Name\"", "import"),
            ("class Name {};", "definition"),
            ("class B : public Name {", "implementation"),
            ("  Name a;", "type"),
            ("  void c() { Name(1); x->Name(); }", "call call"),
            ("};", ""),
        ],
    );
}

#[test]
fn ruby() {
    assert_uses(
        "ruby",
        "a.rb",
        &[
            ("class Name; end", "definition"),
            ("class B < Name", "implementation"),
            ("  x = Name.new # Name", "code comment"),
            ("  puts \"Name #{Name}\"", "string code"),
            ("end", ""),
        ],
    );
}

#[test]
fn kotlin_swift_and_php() {
    assert_uses(
        "kotlin",
        "a.kt",
        &[
            ("import a.Name", "import"),
            ("class B : Name(), C { val d: Name = Name() }", "implementation type call"),
        ],
    );
    assert_uses(
        "swift",
        "a.swift",
        &[("class B: Name, C { let d: Name = Name() }", "implementation type call")],
    );
    assert_uses(
        "php",
        "a.php",
        &[
            ("<?php", ""),
            ("use A\\Name;", "import"),
            (
                "class B extends Name { function c(Name $d) { return new Name(); } }",
                "implementation type call",
            ),
        ],
    );
}

#[test]
fn functional_languages() {
    let ocaml = [
        ("open Name", "import"),
        ("let name x = x", "definition"),
        ("let a = name 1 2", "call"),
        ("let b = Store.name (name 1)", "call call"),
        ("let c = 1 |> name", "call"),
        ("let d = List.map name []", "code"),
        ("let e = name @@ 1", "call"),
    ];
    assert_uses("ocaml", "a.ml", &ocaml[..1]);
    assert_uses_of("name", "ocaml", "a.ml", &ocaml[1..]);
    let haskell = [
        ("name :: Int -> Int", "definition"),
        ("name x = x", "definition"),
        ("a = name 1 2", "call"),
        ("b = Store.name (name 1)", "call call"),
        ("c = name $ 1", "call"),
        ("d = 1 `name` 2", "call"),
        ("e = map name []", "code"),
    ];
    assert_uses_of("name", "haskell", "a.hs", &haskell);
    assert_uses(
        "haskell",
        "a.hs",
        &[("f :: Maybe Name -> Name Int", "type type"), ("f (Just (Name x)) = Name x", "code call")],
    );
    assert_uses_of("name", "erlang", "a.erl", &[("a() -> name(1), b:name(2), [name].", "call call code")]);
    assert_uses_of("name", "clojure", "a.clj", &[("(defn a [b] (name 1 (map name b)))", "call code")]);
    assert_uses_of("name", "lisp", "a.el", &[("(defun a (b) (name 1 (mapcar name b)))", "call code")]);
    assert_uses_of("name", "nix", "a.nix", &[("{ a = name 1; b = c name; }", "call code")]);
    assert_uses_of("name", "python", "a.py", &[("a = [name, (name, b)]", "code code")]);
}
