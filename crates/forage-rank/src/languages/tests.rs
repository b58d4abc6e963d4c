use super::*;

#[test]
fn nothing_belongs_to_two_languages() {
    let mut seen = std::collections::HashSet::new();
    for language in LANGUAGES {
        // The text of a `.m` file decides whether it is MATLAB.
        let has_extension = !language.extensions.is_empty() || language.name == "matlab";
        assert!(!language.name.is_empty() && has_extension);
        // A name of a language may be its own extension too (`go`, `less`), but not that of another language.
        let mut own: Vec<&str> = [&[language.name], language.aliases, language.extensions].concat();
        own.sort_unstable();
        own.dedup();
        let names = language.names.iter().map(|name| (true, *name));
        for word in own.into_iter().map(|word| (false, word)).chain(names) {
            assert!(seen.insert(word), "{word:?} of {}", language.name);
        }
        let lower = |word: &&str| word.to_lowercase() == **word;
        assert!(language.extensions.iter().chain(language.aliases).all(lower));
    }
}

#[test]
fn files_have_languages_by_their_names() {
    for (path, wanted) in [
        ("a/b.rs", Some("rust")),
        ("a.TS", Some("typescript")),
        ("a.R", Some("r")),
        ("App.vue", Some("vue")),
        ("a.m", Some("objective-c")),
        ("a.hpp", Some("cpp")),
        ("main.tf", Some("terraform")),
        ("x/Dockerfile", Some("dockerfile")),
        ("Dockerfile.dev", Some("dockerfile")),
        ("CMakeLists.txt", Some("cmake")),
        ("notes.txt", Some("text")),
        ("config.h.in", Some("c")),
        (".in.in", None),
        ("Makefile", Some("make")),
        ("README", Some("text")),
        ("README.md", Some("markdown")),
        ("a.json", Some("json")),
        ("Cargo.lock", None),
        ("a.unheard", None),
        ("unheard", None),
        ("", None),
    ] {
        assert_eq!(language_of(path), wanted, "{path}");
    }
}

#[test]
fn languages_are_known_by_many_names() {
    for (name, wanted) in [
        ("ts", Some("typescript")),
        ("TSX", Some("typescript")),
        ("js", Some("javascript")),
        ("py", Some("python")),
        ("c++", Some("cpp")),
        ("C#", Some("csharp")),
        ("golang", Some("go")),
        ("rs", Some("rust")),
        ("rb", Some("ruby")),
        ("sh", Some("bash")),
        ("shell", Some("bash")),
        ("md", Some("markdown")),
        ("yml", Some("yaml")),
        (".kt", Some("kotlin")),
        ("objc", Some("objective-c")),
        ("hcl", Some("terraform")),
        ("gql", Some("graphql")),
        ("klingon", None),
        ("data", None),
        ("lock", None),
        ("", None),
    ] {
        assert_eq!(known_language(name), wanted, "{name}");
    }
}
