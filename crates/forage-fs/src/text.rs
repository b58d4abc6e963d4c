//! Decodes the bytes of a file to text that can be searched line by line.

use std::borrow::Cow;
use std::io::Read;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs_io::DecodeReaderBytesBuilder;

use crate::limits;

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, including ASCII. We keep invalid bytes and display them as U+FFFD.
    Utf8,
    /// UTF-8 with a byte-order mark, which is removed.
    Utf8Bom,
    /// Little-endian UTF-16, detected by its byte-order mark.
    Utf16Le,
    /// Big-endian UTF-16, detected by its byte-order mark.
    Utf16Be,
    /// Another encoding, either detected from bytes that are not UTF-8 or named by the user.
    Other(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Detects the encoding of a file from at most [`limits::DETECTION_BYTES`] bytes at its beginning. This
    /// checks for a byte-order mark, valid UTF-8 and UTF-16 by the position of NUL bytes, in this order. If
    /// there is none of these, it chooses the most similar other encoding.
    pub fn detect(head: &[u8]) -> Self {
        match Self::by_mark(head) {
            Self::Utf8 => Self::without_mark(head),
            marked => marked,
        }
    }

    /// Detects the encoding by its byte-order mark, and assumes UTF-8 if there is no mark.
    pub fn by_mark(head: &[u8]) -> Self {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Self::Utf8Bom,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Looks up the encoding with this label of the WHATWG standard, for example `gbk` or `latin1`.
    pub fn named(label: &str) -> Option<Self> {
        let encoding = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())?;
        Some(if encoding == encoding_rs::UTF_8 { Self::Utf8 } else { Self::Other(encoding) })
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte-order mark",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Other(encoding) => encoding.name(),
        }
    }

    /// Returns the name of the encoding, unless it is UTF-8 or shown by a byte-order mark.
    pub fn detected(self) -> Option<&'static str> {
        matches!(self, Self::Other(_)).then(|| self.name())
    }

    /// Decodes bytes to UTF-8 without a byte-order mark.
    pub fn decode(self, raw: &[u8]) -> Cow<'_, [u8]> {
        let (encoding, raw) = match self {
            Self::Utf8 => return Cow::Borrowed(raw),
            Self::Utf8Bom => return Cow::Borrowed(raw.get(3..).unwrap_or_default()),
            Self::Utf16Le => (encoding_rs::UTF_16LE, raw.get(2..).unwrap_or_default()),
            Self::Utf16Be => (encoding_rs::UTF_16BE, raw.get(2..).unwrap_or_default()),
            Self::Other(encoding) => (encoding, raw),
        };
        match encoding.decode_without_bom_handling(raw).0 {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }

    /// Creates a reader that decodes from this encoding, unless a byte-order mark names another one.
    pub fn reader<R: Read>(self, raw: R) -> impl Read + use<R> {
        let encoding = match self {
            Self::Other(encoding) => Some(encoding),
            _ => None,
        };
        DecodeReaderBytesBuilder::new()
            .encoding(encoding)
            .utf8_passthru(true)
            .strip_bom(true)
            .bom_override(true)
            .build(raw)
    }

    fn without_mark(file: &[u8]) -> Self {
        let raw = &file[..file.len().min(limits::DETECTION_BYTES)];
        let head = &raw[..raw.len().min(limits::BINARY_HEAD_BYTES)];
        if is_binary(head) {
            return utf16_without_mark(head).map_or(Self::Utf8, Self::Other);
        }
        let is_utf8 = match str::from_utf8(raw) {
            Ok(_) => true,
            // The limit may be within a character.
            Err(error) => raw.len() < file.len() && error.error_len().is_none(),
        };
        if is_utf8 || is_binary(raw) {
            return Self::Utf8;
        }
        let first = encoding_rs::Encoding::ascii_valid_up_to(raw);
        // The detector also uses the two letters before the first non-ASCII byte.
        let rest = &file[first.saturating_sub(2)..];
        let sample = &rest[..rest.len().min(limits::DETECTION_SAMPLE_BYTES)];
        let (mut characters, mut broken) = (0, 0);
        for chunk in sample.utf8_chunks() {
            characters += chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
            broken += usize::from(!chunk.invalid().is_empty());
        }
        if characters >= broken * limits::CHARACTERS_PER_BROKEN_BYTE {
            return Self::Utf8;
        }
        // ISO-2022-JP consists of ASCII, so such text is never passed here.
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, sample.len() == rest.len());
        Self::Other(detector.guess(None, Utf8Detection::Deny))
    }
}

/// Detects the byte order of UTF-16 without a byte-order mark. The NUL bytes of its ASCII characters are all
/// at odd or all at even offsets, except for a few, e.g. in U+4E00. Binary data has NUL bytes at both, or
/// contains control characters.
fn utf16_without_mark(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let (units, _) = head.as_chunks::<2>();
    let zeros = |place: usize| units.iter().filter(|unit| unit[place] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    if first.max(second) * 4 < units.len() || first.min(second) * 8 > first.max(second) {
        return None;
    }
    // These are two ASCII letters each, as in plain text that ends with a NUL byte.
    let pairs = units.iter().filter(|unit| unit.iter().all(|byte| matches!(byte, b' '..=b'~'))).count();
    if pairs * 4 > (units.len() - first.max(second)) * 3 {
        return None;
    }
    let encoding = if first < second { encoding_rs::UTF_16LE } else { encoding_rs::UTF_16BE };
    let (text, _) = encoding.decode_without_bom_handling(units.as_flattened());
    // The head may end within a character.
    let text = text.strip_suffix('\u{fffd}').unwrap_or(&text);
    let is_text = |c: char| c != '\u{fffd}' && (!c.is_control() || c.is_ascii_whitespace() || c == '\u{1b}');
    (units.len() >= limits::UTF16_UNITS && text.chars().all(is_text)).then_some(encoding)
}

/// The decoded text of a file.
#[derive(Debug)]
pub enum DecodedText<'a> {
    /// Text. Bytes that are not UTF-8 are kept, and must be displayed as U+FFFD.
    Text {
        /// The text without its byte-order mark.
        bytes: Cow<'a, [u8]>,
        /// The encoding from which it was decoded.
        encoding: Encoding,
    },
    /// The decoded text contains a NUL byte, so it is not text.
    Binary,
}

/// Decodes a file with the encoding of [`Encoding::detect`]. A NUL byte anywhere in the decoded text means
/// binary.
pub fn decode(raw: &[u8]) -> DecodedText<'_> {
    match decode_head(raw) {
        DecodedText::Text { bytes, .. } if is_binary(&bytes) => DecodedText::Binary,
        decoded => decoded,
    }
}

/// Returns true if decoded text contains a NUL byte.
pub fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some()
}

/// Returns true if the ASCII characters of the text appear unchanged in its bytes. Unless the bytes have a
/// UTF-16 mark or a NUL byte at the beginning, we decode them as UTF-8 or as an encoding that extends ASCII.
pub fn extends_ascii(raw: &[u8]) -> bool {
    let is_utf16 = matches!(Encoding::by_mark(raw), Encoding::Utf16Le | Encoding::Utf16Be);
    !is_utf16 && !is_binary(&raw[..raw.len().min(limits::BINARY_HEAD_BYTES)])
}

/// Like [`decode`], but checks for a NUL byte only at the beginning, where nearly all binary files have one.
/// A search with a match must call [`is_binary`] for the rest. This way, a search without a match need not
/// read the text twice.
pub fn decode_head(raw: &[u8]) -> DecodedText<'_> {
    decode_head_as(raw, Encoding::detect(raw))
}

/// Like [`decode_head`], with a known encoding.
pub fn decode_head_as(raw: &[u8], encoding: Encoding) -> DecodedText<'_> {
    let bytes = encoding.decode(raw);
    match is_binary(&bytes[..bytes.len().min(limits::BINARY_HEAD_BYTES)]) {
        true => DecodedText::Binary,
        false => DecodedText::Text { bytes, encoding },
    }
}

/// Counts the lines: one per line feed, plus one for text after the last of them.
pub fn count_lines(text: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text).count() as u64;
    feeds + u64::from(text.last().is_some_and(|&b| b != b'\n'))
}

/// Iterates over the same lines as [`str::lines`], which takes several times as long to find line feeds.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(feed) = memchr::memchr(b'\n', rest.as_bytes()) else {
            return Some(std::mem::take(&mut rest));
        };
        let line = &rest[..feed];
        rest = &rest[feed + 1..];
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &[u8], expected: Option<(&str, Encoding)>) {
        match (decode(raw), expected) {
            (DecodedText::Text { bytes, encoding }, Some((text, wanted))) => {
                assert_eq!((&*bytes, encoding), (text.as_bytes(), wanted));
            }
            (DecodedText::Binary, None) => {}
            (got, _) => panic!("{raw:?} gave {got:?}"),
        }
    }

    #[test]
    fn lines_equal_std() {
        let texts =
            ["", "\n", "a", "a\n", "a\r\n", "a\r", "\r\n\r\n", "a\n\nb", "a\r\r\nb\r", "é\n\u{2028}\nb\n"];
        let more = ["\r\n", "a\r\nb\r\r\n\nc\n", "\n\n", "é\r\n\u{2028}x\r"];
        for text in texts.into_iter().chain(more) {
            assert!(lines(text).eq(text.lines()), "{text:?}");
        }
    }

    #[test]
    fn decodes_by_mark_only() {
        check(b"plain", Some(("plain", Encoding::Utf8)));
        check(b"\xef\xbb\xbfmark", Some(("mark", Encoding::Utf8Bom)));
        check(b"\xff\xfea\0\n\0", Some(("a\n", Encoding::Utf16Le)));
        check(b"\xfe\xff\0a\0\n", Some(("a\n", Encoding::Utf16Be)));
        check(b"a\0b\0", None);
        check(b"a\0", None);
        check(b"\xff\xfea\0\0\0", None);
    }

    /// Sentences in languages and encodings that were common before UTF-8.
    const LEGACY: [(&str, &str); 18] = [
        ("GBK", "// 查询用户信息,如果用户不存在则返回空值\nint 查询 = 1; // 计算两个数的和\n"),
        ("GBK", "配置文件读取失败,请检查路径是否正确。\n"),
        ("Big5", "// 查詢使用者資料,如果使用者不存在就傳回空值\n這個函式會計算兩個數字的總和。\n"),
        (
            "Shift_JIS",
            "// ユーザーを検索します。見つからない場合は空を返します\nカタカナとひらがなの文字列\n",
        ),
        ("EUC-JP", "// ユーザーを検索します。見つからない場合は空を返します\nカタカナとひらがなの文字列\n"),
        ("EUC-KR", "// 사용자를 조회합니다. 사용자가 없으면 빈 값을 반환합니다\n두 수의 합을 계산한다.\n"),
        (
            "windows-1250",
            "// Najít uživatele podle jména, příliš žluťoučký kůň úpěl ďábelské ódy\nwięcej źródeł\n",
        ),
        ("windows-1251", "// Найти пользователя по имени, вернуть пустое значение\nСумма двух чисел\n"),
        ("KOI8-U", "// Найти пользователя по имени, вернуть пустое значение\nСумма двух чисел\n"),
        ("IBM866", "// Найти пользователя по имени, вернуть пустое значение\nСумма двух чисел\n"),
        ("windows-1252", "// Größe prüfen, naïve Lösung für café\nreturn \"déjà vu\";\n"),
        ("windows-1253", "// Αναζήτηση χρήστη με το όνομα, επιστρέφει κενή τιμή\nΤο άθροισμα δύο αριθμών\n"),
        (
            "windows-1254",
            "// Kullanıcıyı adına göre bul, değer boşsa hiçbir şey döndürme\nİki sayının toplamı şudur\n",
        ),
        ("windows-1255", "// חפש משתמש לפי שם והחזר ערך ריק אם לא נמצא\nסכום של שני מספרים\n"),
        ("windows-1256", "// البحث عن المستخدم بالاسم وإرجاع قيمة فارغة\nمجموع رقمين\n"),
        (
            "windows-1257",
            "// Rasti vartotoją pagal vardą, grąžinti tuščią reikšmę, šį žodį\nDviejų skaičių suma\n",
        ),
        ("ISO-8859-2", "// Najít uživatele podle jména, příliš žluťoučký kůň\nťažké šľapky ľahšie\n"),
        ("windows-874", "// ค้นหาผู้ใช้ตามชื่อ คืนค่าว่างถ้าไม่พบ\nผลรวมของสองจำนวน\n"),
    ];

    #[test]
    fn detects_legacy_encodings() {
        for (name, text) in LEGACY {
            let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap();
            for text in
                [text.to_owned(), text.replace('\n', "\r\n"), "int main() { return 0; }\n".repeat(900) + text]
            {
                let (raw, _, is_lossy) = encoding.encode(&text);
                assert!(!is_lossy, "{name}");
                let DecodedText::Text { bytes, encoding: detected } = decode(&raw) else { panic!("{name}") };
                assert_eq!(String::from_utf8_lossy(&bytes), text, "{name} as {}", detected.name());
            }
        }
    }

    #[test]
    fn detects_utf16_without_bom() {
        let text = "fn main() {} // größer\r\n\tx\u{1f600}\n";
        let units = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        check(&units(u16::to_le_bytes), Some((text, Encoding::Other(encoding_rs::UTF_16LE))));
        check(&units(u16::to_be_bytes), Some((text, Encoding::Other(encoding_rs::UTF_16BE))));
        // 16-bit and 32-bit numbers, and text with NUL bytes.
        for binary in [
            &b"\x01\0\x02\0\x03\0\x04\0\x05\0"[..],
            b"abcd\0\0\0\0abcd",
            b"a text with one \0 in it, and then more of it",
            b"needle\0\n",
            b"\0needle\n",
            b"one\0two\0three\0",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
            b"a\0b\0\0\0c\0d\0e\0",
        ] {
            check(binary, None);
        }
    }

    #[test]
    fn damaged_utf8_stays_utf8() {
        let text =
            [&"größere Wörter in Sätzen für Tests\n".repeat(9).into_bytes()[..], b"a stray \xe9\n"].concat();
        assert_eq!(Encoding::detect(&text), Encoding::Utf8);
        let DecodedText::Text { bytes, .. } = decode(&text) else { panic!() };
        assert_eq!(&*bytes, text);
    }

    #[test]
    fn head_cut_within_a_character_is_utf8() {
        let text = "a".repeat(limits::DETECTION_BYTES - 1) + "é and more\n";
        assert_eq!(Encoding::detect(text.as_bytes()), Encoding::Utf8);
        // The control: a text cut at the limit is not UTF-8.
        assert_ne!(Encoding::detect(&text.as_bytes()[..limits::DETECTION_BYTES]), Encoding::Utf8);
    }

    #[test]
    fn counts_a_last_line_without_feed() {
        assert_eq!([&b""[..], b"a", b"a\n", b"a\nb", b"\n\n"].map(count_lines), [0, 1, 1, 2, 2]);
    }

    #[test]
    fn fuzz_decodes_by_byte_order_mark() {
        let text = "\u{feff}one \u{1f600}\r\ntwo\n";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let seeds = vec![
            text.as_bytes().to_vec(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            b"plain\nb\xffd\n".to_vec(),
        ];
        forage_fuzz::target!(&seeds, |input| {
            let lossy = |unit: fn([u8; 2]) -> u16| {
                let (units, half) = input[2..].as_chunks();
                let units: Vec<u16> = units.iter().map(|bytes| unit(*bytes)).collect();
                // Half a unit at the end is decoded as an invalid character. Together with a preceding half
                // pair it gives only one.
                let is_half_pair = units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
                let rest = if half.is_empty() || is_half_pair { "" } else { "\u{fffd}" };
                (String::from_utf16_lossy(&units) + rest).into_bytes()
            };
            let expected = match input {
                [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
                [0xff, 0xfe, ..] => lossy(u16::from_le_bytes),
                [0xfe, 0xff, ..] => lossy(u16::from_be_bytes),
                plain => match Encoding::detect(plain) {
                    Encoding::Other(encoding) => {
                        let (text, _) = encoding.decode_without_bom_handling(plain);
                        assert!(str::from_utf8(plain).is_err() || plain.contains(&0));
                        text.into_owned().into_bytes()
                    }
                    _ => plain.to_vec(),
                },
            };
            match decode(input) {
                DecodedText::Binary => assert!(expected.contains(&0)),
                DecodedText::Text { bytes, .. } => {
                    assert_eq!(&*bytes, expected);
                    assert!(!bytes.contains(&0));
                    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
                    assert_eq!(count_lines(&bytes), lines);
                }
            }
        });
    }
}
