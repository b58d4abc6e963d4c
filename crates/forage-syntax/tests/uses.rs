//! Tests how sources use a name.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read their fixtures, print what differs, and fail by panicking"
)]

use forage_base::Stop;
use forage_syntax::{Language, UseKind, parsed};

/// Compares the uses of `Name` in each line with the expected kinds, in order.
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
            ("class B(Name, metaclass=Name):", "implementation type"),
            ("    def a(self, b: Name) -> list[Name]:", "type type"),
            ("        self.Name(Name)", "call code"),
            ("        return f\"Name {Name}\"  # Name", "string code comment"),
            (r#"        return "a Name\n", 'Name' "#, "string string"),
            (r#"        return f"a Name\n {Name()}""#, "string call"),
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
            (r#"val s = "Name ${Name()}""#, "string call"),
        ],
    );
    assert_uses(
        "swift",
        "a.swift",
        &[
            ("class B: Name, C { let d: Name = Name() }", "implementation type call"),
            (r#"let s = "Name \(Name())""#, "string call"),
        ],
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

/// Asserts for each line whether it extends or implements `Name`.
fn assert_heritage(language: &str, path: &str, expected: &[&str], others: &[&str]) {
    let language = Language::for_name(language, path).unwrap();
    let is_implementation = |source: &str| {
        let uses = parsed(language, source, Some("Name"), &Stop::never()).unwrap().uses;
        assert!(!uses.is_empty(), "{path}: {source}");
        uses.iter().any(|used| used.kind == UseKind::Implementation)
    };
    let wrong = |sources: &[&str], is_expected: bool| -> Vec<String> {
        let wrong = sources.iter().filter(|source| is_implementation(source) != is_expected);
        wrong.map(|source| format!("{path}, expected {is_expected}: {source}")).collect()
    };
    let wrong = [wrong(expected, true), wrong(others, false)].concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn heritage_of_java() {
    let expected = [
        "class A { Object o = new Name<String>() { void x() {} }; }",
        "class A { Object o = new b.Name(1) { }; }",
        "class A extends a.b.Name<Other> {}",
        "record A(int a) implements Name {}",
        "enum A implements Name { X }",
        "class A extends @Ann Name {}",
        "class A extends Outer<Name>.Name {}",
        "class A implements Foo<Bar<Name>>, Name {}",
        "interface A extends Foo, Name<X> {}",
        "class Name extends b.Name {}",
    ];
    let others = [
        "class A extends Base<Name> {}",
        "class A extends Name.Inner {}",
        "class A extends Name<X>.Inner {}",
        "sealed interface A permits Name {}",
        "class A<T extends Name> {}",
        "class A extends @Name Foo {}",
        "class A { Object o = new Name(); }",
        "class A { Object o = new Foo<Name>(Name.x) { }; }",
        "class A { Object o = new Name.Inner() { }; }",
    ];
    assert_heritage("java", "A.java", &expected, &others);
}

#[test]
fn heritage_of_python() {
    let expected = [
        "class A(Name[T]): pass",
        "class A(a.b.Name): pass",
        "class A(Base[Name], Name): pass",
        "class A(*Name): pass",
        "class Name(b.Name): pass",
        "class A(\n    Base,\n    Name,\n): pass",
    ];
    let others = [
        "class A(Generic[Name]): pass",
        "class A(Dict[str, Name]): pass",
        "class A(f(Name)): pass",
        "class A(Name(1)): pass",
        "class A(metaclass=Name): pass",
        "class A(Base, x=Name): pass",
        "class A(Name.Inner): pass",
        "class A[T: Name](Base): pass",
        "class A(a[Name].b): pass",
    ];
    assert_heritage("python", "a.py", &expected, &others);
}

#[test]
fn heritage_of_rust() {
    let expected = [
        "#[derive(Debug, Name)]\nstruct A;",
        "#[derive(a::Name)]\nstruct A;",
        "#[cfg_attr(feature = \"x\", derive(Name))]\nstruct A;",
        "trait A: Send + a::Name<X> + 'static {}",
        "trait A: for<'a> Name<'a> {}",
        "impl a::Name for X {}",
        "unsafe impl<T> Name<T> for X where T: B {}",
        "macro_rules! m { ($t:ty) => { impl Name for $t {} } }",
        "cfg_rt! { impl<T: Fn() -> U> $crate::Name<X> for Z {} }",
        "pin_project! { #[derive(Debug, Name)] struct A { a: u8 } }",
        "cfg_io! { #[doc = \"a\"] pub trait A: Send + b::Name {} }",
    ];
    let others = [
        "trait A<T: Name>: Sized where T: Name {}",
        "impl !Name for X {}",
        "impl Foo<Name> for X {}",
        "impl Foo for Name {}",
        "impl Name {}",
        "impl Name::Foo for X {}",
        "impl<Name> Foo for X {}",
        "trait A: ?Name {}",
        "trait A: Fn(Name) -> Name {}",
        "trait A: Foo<Item = Name> {}",
        "trait A { type T: Name; }",
        "#[allow(Name)]\nstruct A;",
        "m! { for x in Name for impl }",
        "m! { impl Foo for Name {} }",
        "m! { derive(Name) }",
        "m! { trait A: B { fn a(b: Name); } }",
    ];
    assert_heritage("rust", "a.rs", &expected, &others);
}

#[test]
fn heritage_of_typescript() {
    let expected = [
        "class A extends Name<X> {}",
        "class A extends a.Name {}",
        "interface A extends Name, Foo<Name> {}",
        "class A implements Foo, a.Name<X> {}",
        "const x = class extends Name {};",
        "interface Name extends b.Name {}",
        "class A extends mixin(class extends Name {}) {}",
    ];
    let others = [
        "class A extends Foo<Name> {}",
        "class A extends Name.Foo {}",
        "class A extends f(Name) {}",
        "class A extends Name(Foo) {}",
        "interface A<T extends Name> extends Foo {}",
        "type A = Name & { a: 1 };",
        "type A<T> = T extends Name ? 1 : 2;",
        "class A extends Foo<(a: Name) => void> {}",
    ];
    assert_heritage("typescript", "a.ts", &expected, &others);
}

#[test]
fn heritage_of_go() {
    let package = |source: &&str| format!("package a\n{source}\n");
    let expected = [
        "type A struct { Name }",
        "type A struct { *b.Name `json:\"x\"` }",
        "type A struct { Name[T] }",
        "type A interface { b.Name; X() B }",
    ];
    let others = [
        "type A struct { Foo[Name] }",
        "type A struct { x Name }",
        "type A interface { ~Name | int }",
        "type A interface { ~Name }",
        "type A interface { Name | Foo }",
        "type A interface { Foo(Name) Name }",
        "type A Name",
    ];
    let (expected, others) = (expected.each_ref().map(package), others.each_ref().map(package));
    let (expected, others) = (expected.each_ref().map(String::as_str), others.each_ref().map(String::as_str));
    assert_heritage("go", "a.go", &expected, &others);
}

#[test]
fn heritage_of_ruby() {
    let expected = [
        "class A < B::Name; end",
        "class A < ::Name; end",
        "class A < Name[1]; end",
        "class A; include Name; end",
        "module A\n  prepend Foo, B::Name\nend",
        "class A\n  self.extend Name if x\nend",
        "A = Class.new(Name)",
        "A = Class.new { include Name }",
        "class Name < B::Name; end",
    ];
    let others = [
        "class A < Name::Foo; end",
        "class A < f(Name); end",
        "class A < Name.new(1); end",
        "class A; include Name::Foo; end",
        "class A; include f(Name); end",
        "foo.include?(Name)",
        "expect(x).to include(Name)",
    ];
    assert_heritage("ruby", "a.rb", &expected, &others);
}

#[test]
fn heritage_of_php() {
    let expected = [
        "<?php class A extends \\B\\Name implements Foo {}",
        "<?php class A { use Foo, B\\Name; }",
        "<?php trait A { use Name { Foo::a as b; } }",
        "<?php $x = new class(1) implements Name {};",
        "<?php enum A: string implements Name {}",
    ];
    let others = [
        "<?php use B\\Name;",
        "<?php class A extends Name\\Foo {}",
        "<?php class A { use Foo { Name::a as b; } }",
        "<?php $x = new class(Name::X) extends Foo {};",
    ];
    assert_heritage("php", "a.php", &expected, &others);
}

#[test]
fn heritage_of_cpp_and_csharp() {
    let expected = [
        "struct A : Foo, private b::Name<T> {};",
        "struct A : virtual public Name {};",
        "struct A : Name<Ts>... {};",
    ];
    let others = [
        "class A : public Foo<Name> {};",
        "class A : public Name::Foo {};",
        "template <class T> class A : public Name<T>::type {};",
        "enum A : Name {};",
    ];
    assert_heritage("cpp", "a.cpp", &expected, &others);
    let expected = [
        "class A : Foo, B.Name<T> {}",
        "record A(int X) : Name(X);",
        "class A : Foo<Bar<Name>>, Name { Name x; }",
        "class A : global::B.Name {}",
    ];
    let others = [
        "class A : Foo<Name> {}",
        "class A<T> : Foo where T : Name {}",
        "class A : Name.Foo {}",
        "class A : Foo(Name.x) {}",
    ];
    assert_heritage("csharp", "A.cs", &expected, &others);
}

#[test]
fn heritage_of_kotlin_swift_scala_and_dart() {
    let expected = [
        "class A : Foo(Name.x), b.Name<T>",
        "class A(n: Foo) : Name by n",
        "val x = object : Name { val y = 1 }",
        "class A { companion object : Name<X>() }",
    ];
    let others = [
        "class A : Foo<Name>()",
        "class A : Name.Foo()",
        "class A(n: Foo) : Foo by Name",
        "class A : Foo({ Name() })",
        "class A<T : Name> : Foo",
    ];
    assert_heritage("kotlin", "a.kt", &expected, &others);
    let expected = [
        "extension A: B.Name {}",
        "class A: Name<X> {}",
        "struct A: @unchecked Name {}",
        "protocol A: Name {}",
    ];
    let others = ["class A: Foo<Name> {}", "class A: Name.Foo {}", "struct A: ~Name {}", "extension Name {}"];
    assert_heritage("swift", "a.swift", &expected, &others);
    let expected = [
        "trait A extends Foo with b.Name[X]",
        "val x = new Name { val y = 1 }",
        "val x = new Foo with Name",
        "class A derives Name",
    ];
    let others = [
        "class A extends Foo[Name]",
        "class A extends Foo(Name.x)",
        "val x = new Name",
        "val x = new Foo(Name) { }",
    ];
    assert_heritage("scala", "a.scala", &expected, &others);
    let expected = ["class A extends Foo with Name {}", "mixin A on Name {}", "class A = Name with Foo;"];
    let others = ["class A extends Foo<Name> {}", "class A<T extends Name> {}", "extension A on Name {}"];
    assert_heritage("dart", "a.dart", &expected, &others);
}

#[test]
fn heritage_of_further_languages() {
    let expected = [
        "@interface A : NSObject <Foo, Name>\n@end",
        "@interface A () <Name>\n@end",
        "@interface A (Cat) <Name>\n@end",
        "@protocol A <Name>\n@end",
    ];
    let others = ["@interface A : B\n@property id<Name> y;\n@end", "@interface A<Name> : Foo\n@end"];
    assert_heritage("objective-c", "a.m", &expected, &others);
    let expected = ["type A implements Foo & Name { a: Int }", "interface A implements Name { a: Int }"];
    assert_heritage("graphql", "a.graphql", &expected, &["type A { a: Name }", "union A = Name | Foo"]);
    let expected = [
        "class A extends Name;\nendclass",
        "class A extends Name #(int) implements Foo;\nendclass",
        "class A extends Foo implements Bar, Name;\nendclass",
    ];
    assert_heritage("verilog", "a.sv", &expected, &["class A extends Foo #(Name);\nendclass"]);
    let expected = [
        "defmodule A do\n  @behaviour B.Name\nend",
        "defimpl Name, for: A do\nend",
        "defmodule A do\n  @derive [Name]\n  defstruct [:a]\nend",
    ];
    let others = ["defimpl Foo, for: Name do\nend", "defmodule A do\n  alias B.Name\nend"];
    assert_heritage("elixir", "a.ex", &expected, &others);
    let expected = [
        "module M\ntype A() =\n    inherit Name()\n    member x.Y = 1\n",
        "module M\ntype A() =\n    interface B.Name<int> with\n        member x.Y = 1\n",
    ];
    assert_heritage("fsharp", "a.fs", &expected, &["module M\ntype A() =\n    inherit Foo<Name>()\n"]);
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
