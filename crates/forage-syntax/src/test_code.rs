//! Finds the definitions that are tests among other code.

use crate::definitions::Definition;
use crate::language::Category;

/// Last names of attributes, annotations and decorators that mark a test or its set-up.
const MARKS: &[&str] = &[
    "AfterAll",
    "AfterClass",
    "AfterEach",
    "BeforeAll",
    "BeforeClass",
    "BeforeEach",
    "DataTestMethod",
    "Fact",
    "FactoryTest",
    "Nested",
    "OneTimeSetUp",
    "ParameterizedTest",
    "RepeatedTest",
    "SetUp",
    "SpringBootTest",
    "TearDown",
    "Test",
    "TestCase",
    "TestCaseSource",
    "TestClass",
    "TestFactory",
    "TestFixture",
    "TestMethod",
    "TestTemplate",
    "Theory",
    "bench",
    "rstest",
    "test",
    "test_case",
    "test_log",
    "wasm_bindgen_test",
];

/// Macros that define a test. The grammars of C and C++ read them as functions.
const MACROS: &[&str] = &[
    "BENCHMARK",
    "BOOST_AUTO_TEST_CASE",
    "BOOST_FIXTURE_TEST_CASE",
    "SCENARIO",
    "TEST",
    "TEST_CASE",
    "TEST_CASE_METHOD",
    "TEST_F",
    "TEST_P",
    "TEST_SUITE",
    "TYPED_TEST",
    "TYPED_TEST_P",
];

/// Marks tests and the definitions within them.
pub(crate) fn mark_tests(text: &str, definitions: &mut [Definition]) {
    let lines: Vec<&str> = text.split('\n').collect();
    for at in 0..definitions.len() {
        let (before, [definition, ..]) = definitions.split_at_mut(at) else { continue };
        let is_in_test = definition.parent.and_then(|parent| before.get(parent)).is_some_and(|it| it.is_test);
        definition.is_test = is_in_test || is_test(&lines, definition);
    }
}

fn is_test(lines: &[&str], definition: &Definition) -> bool {
    let Definition { name, kind, category, start_line, line, .. } = definition;
    let (first, own) = (*start_line as usize - 1, *line as usize - 1);
    let head = lines.get(own).copied().unwrap_or_default();
    let of_function = *category == Category::Function
        && (MACROS.contains(&name.as_str()) || name.ends_with("_test_") || *kind == "test");
    // For example `class A(TestCase)`, `class A: XCTestCase` and `class A extends TestCase`. A class whose
    // own name ends like this is a base class of tests, not a test.
    let of_class = *category == Category::Type && head.contains("TestCase") && !name.ends_with("TestCase");
    of_function || of_class || lines.get(first..=own).is_some_and(|lead| lead.iter().any(|it| is_mark(it)))
}

/// Checks whether a line begins with an attribute of a test, e.g. `#[cfg(test)]`, `#[tokio::test]`, `@Test`
/// and `[Fact]`.
fn is_mark(line: &str) -> bool {
    let line = line.trim_start();
    let Some(attribute) = ["#[", "@", "["].iter().find_map(|opening| line.strip_prefix(opening)) else {
        return false;
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let end = attribute.find(|c| !is_part(c)).unwrap_or(attribute.len());
    let (path, rest) = attribute.split_at(end);
    let last = path.rsplit(['.', ':']).next().unwrap_or_default();
    if path == "cfg" {
        let mut words = rest.split(|c: char| !is_part(c));
        return words.any(|word| word == "test") && !rest.contains("not(") && !rest.contains('"');
    }
    MARKS.contains(&last)
}

#[cfg(test)]
mod tests {
    use forage_base::Stop;

    use crate::{Language, definitions};

    #[track_caller]
    fn tests_of(language: &str, text: &str) -> Vec<String> {
        let language = Language::for_name(language, "").unwrap();
        let found = definitions(language, text, &Stop::never()).unwrap();
        found.into_iter().filter(|it| it.is_test).map(|it| it.name).collect()
    }

    #[test]
    fn tests_among_other_code_are_known_by_their_marks() {
        let rust = "#[cfg(not(test))]\nfn a() {}\n#[cfg(feature = \"test\")]\nfn b() {}\nfn test_connection() {}\n\
                    #[cfg(test)]\nmod tests {\n    use super::*;\n    fn helper() {}\n    #[test]\n    fn c() {}\n}\n\
                    #[cfg(all(test, unix))]\nfn d() {}\n#[tokio::test]\nasync fn e() {}\n";
        assert_eq!(tests_of("rust", rust), ["tests", "helper", "c", "d", "e"]);
        let java = "class A {\n    @VisibleForTesting\n    void a() {}\n\n    @Test\n    void b() {}\n}\n";
        assert_eq!(tests_of("java", java), ["b"]);
        let csharp = "class A\n{\n    [Obsolete]\n    void B() { }\n    [Fact]\n    void C() { }\n}\n";
        assert_eq!(tests_of("csharp", csharp), ["C"]);
        let python = "class TestCase:\n    def run(self): pass\n\nclass A(unittest.TestCase):\n    def test_b(self): pass\n\n\
                      def test_connection(): pass\n";
        assert_eq!(tests_of("python", python), ["A", "test_b"]);
        assert_eq!(tests_of("erlang", "-module(a).\na() -> ok.\na_test_() -> ok.\n"), ["a_test_"]);
        assert_eq!(tests_of("zig", "fn a() void {}\ntest \"b\" {}\n"), ["b"]);
    }
}
