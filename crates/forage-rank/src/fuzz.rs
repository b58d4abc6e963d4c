//! Fuzzes the parsing of untrusted text: sources that are split into chunks, and queries.

use forage_fuzz::target;

use crate::chunk::outline;
use crate::languages::LANGUAGES;
use crate::query::{QueryWeights, RankQuery};
use crate::search::{RankedSearch, search};
use crate::{RankIndex, Stamp};

pub(crate) const SOURCES: [&str; 6] = [
    "/// Doc.\n#[derive(Debug)]\npub struct Router<T> {\n    a: r#\"x\"#,\n}\n\nimpl<T> Router<T> {\n    pub async fn go(&self) -> u8 { 1 }\n}\n",
    "class View(Base):\n    \"\"\"Doc.\n    more\"\"\"\n    @cached\n    async def render(self):\n        return '''x'''\n\nLIMIT: int = 3\n",
    "export default class A extends B {\n  static #x = `t${1}`;\n  get é() { return /re/ }\n}\nconst f = async (a) => {};\n/* c\n*/\n",
    "func (r *Router) Match(p string) (int, error) {\n\treturn 0, nil\n}\ntype T struct{}\nvar (\n\tx = `raw\n`\n)\n",
    "#include <a.h>\n#define X(a) \\\n  a\nstatic inline int f(void)\n{\n  return 'x';\n}\ntemplate <class T> struct S { ~S(); };\n",
    "# Title\n\nText.\n\n## Second\n\n```rust\nfn x() {}\n```\n<h1>x</h1>\n\\section{a}\n",
];

#[test]
fn any_text_is_cut_into_all_of_its_lines() {
    target!(&forage_fuzz::seeds(SOURCES), |input| {
        let text = String::from_utf8_lossy(input);
        let count = text.lines().count();
        for language in LANGUAGES {
            let (name, outline) = (&language.name, outline(&text, language));
            assert_eq!(outline.lines.len(), count, "{name}");
            let mut next = 1;
            for chunk in &outline.chunks {
                assert!(chunk.start_line >= next && chunk.end_line >= chunk.start_line, "{name}: {chunk:?}");
                assert!(outline.symbols.get(chunk.symbols.clone()).is_some(), "{name}: {chunk:?}");
                next = chunk.end_line + 1;
            }
            assert!(next as usize <= count + 1, "{name}: {next} {count}");
            for symbol in &outline.symbols {
                assert!((symbol.line as usize) < count && text.contains(&symbol.name), "{name}: {symbol:?}");
            }
        }
    });
}

#[test]
fn any_query_is_read_and_answered() {
    let index = RankIndex::in_memory().unwrap();
    let writer = index.writer(1).unwrap();
    for (number, text) in SOURCES.iter().enumerate() {
        writer.add(&format!("src/f{number}.rs"), text, Stamp::default()).unwrap();
    }
    writer.commit().unwrap();
    let seeds = forage_fuzz::seeds([
        "how is a \"Router match\" opened -view path:src lang:rust",
        "path:\"a b\" ext:rs -path:tests NOT OR AND (x) ^2 ~1 [a TO b] field:*",
        "parseHTTPHeader get_user_name E0308 über",
    ]);
    target!(&seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let query = RankQuery::parse(&text, &QueryWeights::default());
        assert!(query.concepts.iter().all(|concept| concept.weight.is_finite()));
        let ranking = search(&index, &RankedSearch::new(&text, 20)).unwrap();
        assert!(ranking.files.len() <= 20);
    });
}
