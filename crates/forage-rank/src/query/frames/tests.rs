use super::*;

/// Returns the files of a text as `name<directory<… function`, in order.
fn read(text: &str) -> Vec<String> {
    let mut reader = TraceReader::default();
    for line in text.lines() {
        reader.read(line, true);
    }
    let tell = |file: ReportedFile| {
        let trace = file.trace.map_or("-".to_owned(), |index| index.to_string());
        format!("{trace} {} {}", file.names.join("<"), file.function.unwrap_or_default())
    };
    reader.finish().into_iter().map(tell).collect()
}

#[test]
fn frames_of_many_languages() {
    let frames = [
        (
            r#"  File "/usr/lib/site-packages/Requests/models.py", line 371, in prepare_url"#,
            "models.py<requests<site-packages<lib<usr ",
        ),
        (
            "    at Object.resolve (/app/node_modules/vue/dist/runtime.js:9240:11)",
            "runtime.js<dist<vue<node_modules<app resolve",
        ),
        ("    at async Loader.run (loader.mjs:12)", "loader.mjs run"),
        ("    at file:///srv/a/index.js:3:1", "index.js<a<srv "),
        (
            "\tat io.netty.handler.ssl.SslHandler.unwrap(SslHandler.java:1314)",
            "sslhandler.java<ssl<handler<netty<io unwrap",
        ),
        ("\tat kotlinx.coroutines.JobKt.cancel(Job.kt:12)", "job.kt<coroutines<kotlinx cancel"),
        ("   at Foo.Bar`1.Baz(Int32 count) in /_/src/Foo/Bar.cs:line 12", "bar.cs<foo<src<_ Baz"),
        ("   at Micro.Query.SelectExpression.<Visit>g__Local|1(Expression e)", ""),
        ("   at Micro.Query.SelectExpression.Visit(Expression e)", "selectexpression<query<micro Visit"),
        (
            "/gems/rubocop-1.25.1/lib/rubocop/cop/base.rb:342:in `block in correct'",
            "base.rb<cop<rubocop<lib<rubocop-1.25.1<gems ",
        ),
        ("\tfrom lib/a.rb:3:in 'Mod::Class#run!'", "a.rb<lib "),
        ("        /go/src/net/http/server.go:1825 +0xbf", "server.go<http<net<src<go "),
        ("   3: at ./src/lexer.rs:14:9", "lexer.rs<src "),
        ("thread 'main' panicked at src/parse/mod.rs:12:5:", "mod.rs<parse<src "),
        ("#0 /var/www/vendor/laravel/Foo.php(123): Foo->bar()", "foo.php<laravel<vendor<www<var "),
        ("PHP Fatal error:  Uncaught Error in C:\\www\\src\\Foo.php on line 7", "foo.php<src<www "),
        (
            "    (elixir 1.14.0) lib/code/normalizer.ex:251: Code.Normalizer.do_normalize/2",
            "normalizer.ex<code<lib ",
        ),
        ("#4  0x0000 in serverCron (fd=3) at src/server.c:1208", "server.c<src "),
        ("util/arena.cc:40:10: error: no member named 'x'", "arena.cc<util "),
        ("  error, called at src/Distribution/Simple.hs:12:3 in Cabal:Simple", "simple.hs<distribution<src "),
    ];
    for (line, expected) in frames {
        let found = read(line);
        let expected = if expected.is_empty() { Vec::new() } else { vec![format!("0 {expected}")] };
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn what_failed_says_so_in_full() {
    let mut reader = TraceReader::default();
    assert!(!reader.read(
        "util/arena.cc:40:10: error: no member named 'x' in 'leveldb::Arena', did you mean 'y'?",
        true
    ));
    assert!(reader.read("\tfrom lib/a.rb:3:in 'Mod::Class#run!'", true));
}

#[test]
fn what_is_no_frame() {
    let none = [
        "a.in.in.in.in.in: 12 of them",
        "at 12:30 it stopped",
        "it takes 3.5 s, see section 2.1: it grows",
        "e.g. (see the docs)",
        "<script src=\"x\">",
        "at the end (of the line)",
        "README.md:12 says so",
    ];
    for line in none {
        assert_eq!(read(line), Vec::<String>::new(), "{line}");
    }
    let sentence =
        "It goes wrong in `src/parse.rs:120`, where the loop does not end if a word is read twice.";
    assert_eq!(read(sentence), ["- parse.rs<src "]);
    assert_eq!(read("the loop in `src/Read.py` and in main.rs."), ["- read.py<src ", "- main.rs "]);
}

#[test]
fn what_failed_comes_first() {
    let python = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import b.py\n  \
                  File \"b.py\", line 2, in f\n    g()\n    ^^^\nKeyError: 'c.py'\n\nDuring handling of the above exception:\n\n\
                  Traceback (most recent call last):\n  File \"d.py\", line 1, in h\nValueError";
    // A line of code belongs to the trace, but the raised error does not.
    assert_eq!(read(python), ["0 b.py ", "0 a.py ", "1 d.py ", "- c.py "]);
    let expression =
        "  File \"a.py\", line 1, in f\n    g(\n    ~^\n        x)\n  File \"b.py\", line 2, in g\n    y\n";
    assert_eq!(read(expression), ["0 b.py ", "0 a.py "]);
    let cause = "E: x\n\tat a.b.C.f(C.java:1)\n\tat a.b.D.g(D.java:2)\nCaused by: F: y\n\tat a.b.E.h(E.java:3)\n\t... 2 more";
    assert_eq!(read(cause), ["0 c.java<b<a ", "0 d.java<b<a ", "1 e.java<b<a "]);
    let quoted =
        "It says (most recent call last) and no more.\n\n\n\n\tat a.b.C.f(C.java:1)\n\tat a.b.D.g(D.java:2)";
    assert_eq!(read(quoted), ["0 c.java<b<a ", "0 d.java<b<a "]);
    let first = "Current thread (most recent call first):\n  File \"b.py\", line 2 in f\n  File \"a.py\", line 1 in g";
    assert_eq!(read(first), ["0 b.py ", "0 a.py "]);
    let go = "main.f(0x1)\n\t/x/b.go:2 +0x1\nmain.main()\n\t/x/a.go:1 +0x2\n";
    assert_eq!(read(go), ["0 b.go<x ", "0 a.go<x "]);
}

#[test]
fn no_text_names_more_than_is_looked_at() {
    let long = "  File \"a.py\", line 1, in f\n".repeat(5000) + &"x/y.rs z.go ".repeat(5000);
    let wide = format!("at {}f(", "a.".repeat(5000));
    for text in [
        long,
        wide,
        format!("{}.rs:1", "a/".repeat(5000)),
        "File \"\", line ".to_owned(),
        "at (:1".to_owned(),
    ] {
        let mut reader = TraceReader::default();
        for line in text.lines() {
            reader.read(line, true);
        }
        let files = reader.finish();
        assert!(files.len() <= limits::NAMED_FILES);
        assert!(files.iter().all(|file| file.names.len() <= limits::NAMED_FILE_NAMES));
    }
}
