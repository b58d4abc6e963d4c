#!/usr/bin/env python3
"""Writes `bm25.jsonl`: texts and their encodings by FastEmbed's own classes.

    python3 -m venv venv
    venv/bin/pip install fastembed==0.9.1 py_rust_stemmers==0.1.8 mmh3==5.3.1
    venv/bin/python make.py

A line has the text, the document as pairs of id and weight sorted by id, and the ids of the query. No model is downloaded:
`Qdrant/bm25` consists of stop word lists, and the crate has the English one. Use Python 3.11, which has Unicode 14.0. Texts
must not contain characters that a later version of Unicode added, because versions of Python treat these differently.
"""

import json
import random
import tempfile
import unicodedata
from pathlib import Path

from fastembed.sparse.bm25 import Bm25

HERE = Path(__file__).parent
STOP_WORDS = HERE.parent.parent / "src" / "stop_words" / "english.txt"

# One text each.
IDENTIFIERS = """
getUserName|get_user_name|GetUserName|GET_USER_NAME|get-user-name|user.getName()|getUserNames|getusername
XMLHttpRequest|parseHTTPResponse|HTTPSConnectionPool|IOError|IOErrors|toJSON|fromUTF8String|utf8_to_utf16le|sha256sum
x86_64-unknown-linux-gnu|wasm32-wasip2|arm64e|i18n|l10n|k8s|a11y|base64url|MD5|CRC32C|v8::internal::Isolate
std::vec::Vec<T>::into_iter|core::option::Option::is_some_and|is_some is_none is_ok is_err|Iterator::next|Box<dyn Error>
self.__class__.__name__|__init__.py|___init___|_private|__dunder__|trailing_|_|__|___|_ _ _|_1|1_000_000|0xDEAD_beef
$scope.$apply()|@Override|#define|#[cfg(test)]|%(name)s|{{ value }}|--no-default-features|-Wall -Wextra|/etc/passwd
C++ and C# and F#|Objective-C|node.js|.gitignore|Makefile.am|main.rs:42:17|C:\\Windows\\System32|https://example.com/a_b?c=d#e
EXPORT_SYMBOL_GPL(kmem_cache_alloc_node)|tcp_v4_rcv|sk_buff|__be32|u_int8_t|NSMutableAttributedString|CFRelease|pthread_mutex_t
MAX_BUFFER_SIZE|MaxBufferSize|maxBufferSize|max_buffer_sizes|buffers buffered buffering buffer|AbstractSingletonProxyFactoryBean
if for while in from with not do|import re, os, sys|for item in items: yield item|return this;|no_op|can_not|it_self|theirs
""".replace("\n", "|").strip("|").split("|")

ERRORS = """
E0308|error[E0308]: mismatched types|error[E0502]|E0502 E0308 e0308|ORA-00942|ORA-00942: table or view does not exist|0xC0000005
0xc0000005 STATUS_ACCESS_VIOLATION|TS2345|error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
ECONNREFUSED 127.0.0.1:5432|ENOENT: no such file or directory, open '/tmp/x'|errno 13 EACCES|SIGSEGV (11)|exit code 137
404 Not Found|HTTP/1.1 503 Service Unavailable|429 Too Many Requests|418 I'm a teapot|HTTP 200 OK|500|502 Bad Gateway
CVE-2021-44228|RUSTSEC-2023-0071|GHSA-jfh8-c2jp-5v3q|KB5034441|LNK2019|C4996|CS0246|SQLSTATE[42P01]|PGRST116|MSB3021|NU1605
v1.2.3|1.2.3-beta.4+build.5|2024-03-17T23:59:58Z|192.168.0.1|fe80::1%eth0|00:1B:44:11:3A:B7|3.14159|6.022e23|1,234,567.89
NullPointerException|java.lang.OutOfMemoryError: Java heap space|ModuleNotFoundError: No module named 'fastembed'|AssertionError
""".replace("\n", "|").strip("|").split("|")

HASHES = [
    "d41d8cd98f00b204e9800998ecf8427e",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 4eb161250e340c8f48f66e2b929ef4a5bed7c181 fixes d32fb3cb",
    "dGhlIHF1aWNrIGJyb3duIGZveA==",
    "V1StGXR8_Z5jdHi6B-myT",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
]

# Words with rules or exceptions in Porter2, each as a text of its own and all of them in one text.
STEMS = """
skies sky skis dying lying tying news howe atlas cosmos bias andes idly gently ugly early only singly inning innings
outing outings canning herring earring proceed proceeds proceeding exceed exceeds exceeding succeed succeeds generate
general generic generously arsenal arsenals communism communities communication emergency university universe y yes
sayings youth enjoying boyish yyy hopping hoping hoped falling filling fizzed luxuriated agreed feed bleeding plotted
relational rationally conditional feudalism decisiveness sensitivity adjustable electricity formalize vileness cease
controlling rolled happily cries ties gas gaps kiwis this's ass asses caresses ponies agreements internationalization
past paste pasted evening evenings vying
""".split()

UNICODE = [
    # The lower case of sigma depends on its neighbors.
    "ΣΊΣΥΦΟΣ", "ὈΔΥΣΣΕΎΣ ΚΑῚ ΠΗΝΕΛΌΠΕΙΑ", "Σ", "ΑΣ ΣΑ Σ.Α ΑΣ'Α", "ΑΣ_Α ΑΣ_ ΑΣ1", "AΣ\u0301 ΑΣ\u0301Α", "ΑΣ\u02b0", "ΑΣ\u00b7Α",
    # I in Turkish, sharp s, Deseret, titlecase digraphs.
    "İstanbul DİYARBAKIR ısı I i İ ı", "İ", "İİİ xİx", "STRASSE Straße STRAẞE", "ǅungla Ǆ ǆ ǈ ǋ ǲ", "𐐀𐐁 𐐨𐐩", "ÅNGSTRÖM Å K Ω",
    # Combining marks end words, so composed and decomposed forms are different words.
    "café", "cafe\u0301", "naïve nai\u0308ve", "e\u0301\u0302e", "\u0301", "a\u20ddb", "x\u0338y",
    # Scripts with marks or joiners, and scripts without spaces.
    "हिन्दी में खोज", "தமிழ் மொழி", "ภาษาไทยค้นหาคำ", "ການຄົ້ນຫາ", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "বাংলা ভাষা", "ქართული ᲥᲐᲠᲗᲣᲚᲘ", "ᏣᎳᎩ ꮳꮃꭹ",
    "全文検索エンジン", "检索增强生成 retrieval", "관련 문서 검색", "カタカナ ひらがな ー・", "中文,标点。测试!", "한국어와 English 섞인 문장",
    "بحث في الكود", "مُحَمَّد", "חיפוש קוד שָׁלוֹם", "Поиск по Коду", "ЁЛКА ёлка", "Հայերեն ԵՒ և", "አማርኛ", "ᠮᠣᠩᠭᠣᠯ",
    # Numbers of every kind are parts of words.
    "٠١٢٣٤٥٦٧٨٩", "۴۲ items", "४२", "x² y³ H₂O CO₂", "½ ¼ ¾ ⅓ 1½", "Ⅳ ⅳ Ⅻ ⅻ MCMLXXXIV", "① ⑩ ❶ ㊀ ㈱", "〇一二三", "௧௨௩", "𝟙𝟚𝟛 𝟎", "൧൦൦",
    # Compatibility forms are separate letters.
    "ﬁle ﬂow oﬃce", "file flow office", "ＦｕｌｌＷｉｄｔｈ＿ＮＡＭＥ １２３", "fullwidth_name 123", "ﾊﾝｶｸ", "𝒻𝓊𝓃𝒸𝓉𝒾𝑜𝓃 𝐁𝐎𝐋𝐃", "ªº ™ ℠ ℡ №", "ℝ ℕ ℵ ℏ",
    # Symbols are no letters.
    "🚀 launch 🧑‍💻 👩🏽‍🚀 🇩🇪 5️⃣", "€100 £5 ¥20 ₿1", "a→b ∀x∈S ≠ ±1 ∑", "α_β λx.x Δt μs µs", "box─drawing│chars", "⠓⠑⠇⠇⠕",
    # Spaces, joiners, control characters and directional marks.
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g", "zero\u200bwidth zero\u200cnon zero\u200djoin", "soft\u00adhyphen", "\ufeffbom first",
    "tab\tnew\nline\r\nfeed\x0cvertical\x0bunits\x1c\x1d\x1e\x1f", "nul\x00byte del\x7f", "\u202eright\u202c left\u2066x\u2069", "‿ undertie⁀tie ﹏ ﹍x",
    "fin\u2019s rock\u02bcn\u02bcroll d\u2032", "object\ufffcreplacement\ufffdcharacter", "\ue000private\uf8ff", "\U000e0041tags",
    "THE The tHe ＴＨＥ thé", "ÜBER über Über UBER", "Ñandú señor", "Łódź Gdańsk", "Þórður ÆÐI", "œuvre ŒUVRE", "ŉ ǰ ΐ ẖ ﬓ ŒŒ", "ſtop ſ K",
]

EMPTY = [
    "", " ", "\n\t  \r\n", "...", "!@#$%^&*()", "the", "The AND of", "i me my myself we our", "to be or not to be", "_ the _ of _",
    "don't", "wouldn't shan't mightn't", "it's its", "s t d ll m o re ve y ma",
]

# Pairs of words with the same id. The ids of the second pair are only equal without their sign. The weight is that of the word
# whose first occurrence is last.
COLLISIONS = [
    "ORA_8387 ORA_14613 ORA_14613 ORA_14613",
    "ORA_14613 ORA_14613 ORA_8387 ORA_14613",
    "ORA_8387 ORA_8387 filler ORA_14613",
    "E48619 E48619 ORA_31667",
    "ORA_31667 E48619 E48619 ORA_31667 ORA_31667",
]

# One text each: words around FastEmbed's `token_max_length` of 40 characters.
LENGTHS = [
    text
    for count in (39, 40, 41)
    for text in [
        "a" * count,
        "Z" * count + " kept",
        "_" * count,
        "9" * count,
        ("get_user_name_" * 3)[:count],
        ("ingly" * 9)[:count],
        "é" * count,
        "漢" * count,
        "𝐀" * count,
        "ß" * (count - 1) + "ẞ",
        # Lowercasing adds a combining mark, which is not part of a word.
        "x" * (count - 1) + "İ" + "y",
    ]
]


def long_texts():
    """Yields texts of many words. They are the same in every run."""
    rng = random.Random(8)
    words = [word for text in IDENTIFIERS + ERRORS + STEMS for word in text.split()] + STOP_WORDS.read_text().split()
    for length in (300, 5000):
        # As in any text, a few words are frequent and many are rare.
        yield " ".join(words[min(int(rng.paretovariate(0.6)) - 1, len(words) - 1)] for _ in range(length))
    syllables = "ba co di fu ge ha ji ko lu me ni po qua ra so tu ve wi xy zo".split()
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 6))) for _ in range(1500)]
    endings = ["", "", "s", "ed", "ing", "ly", "ation", "ational", "fulness", "ized", "ies", "ability", "'s"]
    yield " ".join(word + rng.choice(endings) for word in words)
    yield "repeat " * 5000
    yield "Repeated repeats, repeating: " * 100


def texts():
    snippets = (HERE / "snippets.txt").read_text(encoding="utf-8").split("\n%%\n")
    yield from IDENTIFIERS + ERRORS + HASHES + STEMS + [" ".join(STEMS)] + UNICODE + EMPTY + COLLISIONS + LENGTHS
    yield from snippets
    yield "\n".join(snippets)
    yield from long_texts()


def main():
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "english.txt").write_bytes(STOP_WORDS.read_bytes())
        encoder = Bm25("Qdrant/bm25", specific_model_path=directory)
    unique_texts = list(dict.fromkeys(texts()))
    for text in unique_texts:
        # A later version of Unicode could assign unassigned characters to letters. Private use characters are safe.
        assert all(unicodedata.category(character) != "Cn" for character in text), text
    with open(HERE / "bm25.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for text, document, query in zip(unique_texts, encoder.embed(unique_texts), encoder.query_embed(unique_texts)):
            pairs = zip(document.indices.tolist(), document.values.tolist())
            line = {
                "text": text,
                "document": [[id, round(weight, 9)] for id, weight in sorted(pairs)],
                "query": sorted(query.indices.tolist()),
            }
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    print(f"{len(unique_texts)} texts; Unicode {unicodedata.unidata_version}")


if __name__ == "__main__":
    main()
