//! Paths below a root.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use crate::quoting::{display_path, path_bytes};
use crate::root::is_separator;

/// Reasons why a text can't be a path below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// `..` leads above the root.
    #[error("the path leads above the root with `..`")]
    AboveRoot,
    /// The path is absolute.
    #[error("the path is absolute")]
    Absolute,
    /// The path contains a NUL byte.
    #[error("the path contains a NUL character")]
    Nul,
    /// The quotes or escapes of a quoted path are invalid.
    #[error("the quoted path is malformed: {0}")]
    Quoting(&'static str),
}

/// A path below a root: names joined by `/`, without `.`, `..`, empty names or a leading `/`. The empty path
/// is the root itself. Names are the file system's bytes and need not be UTF-8.
///
/// Paths are ordered name by name, as a sorted walk visits them: `a/b` before `a.c`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RelPath(Arc<[u8]>);

impl RelPath {
    /// Returns the path of the root itself.
    pub fn root() -> Self {
        Self(Arc::from(&[][..]))
    }

    /// Parses a path that a person or a model wrote, relative to `base`. `.` and `..` are resolved lexically.
    /// A path in double quotes may contain the escapes that [`RelPath::display`] writes.
    ///
    /// # Errors
    ///
    /// Fails if the path leads above the root or is not valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_fs::{RelPath, RelPathError};
    ///
    /// let base = RelPath::parse("src/cli", &RelPath::root())?;
    /// assert_eq!(RelPath::parse("../lib.rs", &base)?.display(), "src/lib.rs");
    /// assert_eq!(RelPath::parse("../../..", &base), Err(RelPathError::AboveRoot));
    /// # Ok::<(), RelPathError>(())
    /// ```
    pub fn parse(text: &str, base: &RelPath) -> Result<Self, RelPathError> {
        Self::from_bytes(&path_bytes(text)?, base)
    }

    /// Like [`RelPath::parse`], for unquoted bytes, for example the target of a link or a command-line
    /// argument.
    pub fn from_bytes(bytes: &[u8], base: &RelPath) -> Result<Self, RelPathError> {
        if bytes.contains(&0) {
            return Err(RelPathError::Nul);
        }
        // On Windows, `C:name` is on another drive, and `name:stream` is a stream of a file.
        if bytes.first() == Some(&b'/') || (cfg!(windows) && bytes.contains(&b':')) {
            return Err(RelPathError::Absolute);
        }
        let mut names: Vec<&[u8]> = base.names().collect();
        for name in bytes.split(|&b| is_separator(b)) {
            match name {
                b"" | b"." => {}
                b".." => {
                    if names.pop().is_none() {
                        return Err(RelPathError::AboveRoot);
                    }
                }
                name => names.push(name),
            }
        }
        Ok(Self(Arc::from(names.join(&b'/'))))
    }

    /// Appends a name, which must be a plain name as a directory lists it.
    pub fn join(&self, name: &[u8]) -> Self {
        if self.0.is_empty() {
            return Self(Arc::from(name));
        }
        let head = self.0.len();
        // We build the path in place: a walk joins every name, and a `Vec` would be copied once more.
        let mut joined: Arc<[u8]> = std::iter::repeat_n(b'/', head + 1 + name.len()).collect();
        if let Some(bytes) = Arc::get_mut(&mut joined) {
            bytes[..head].copy_from_slice(&self.0);
            bytes[head + 1..].copy_from_slice(name);
        }
        Self(joined)
    }

    /// Returns the bytes of the path, as names joined by `/`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns true for the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names from the root down.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/').filter(|name| !name.is_empty())
    }

    /// Counts the names.
    pub fn depth(&self) -> usize {
        self.names().count()
    }

    /// Returns the last name, which is empty for the root.
    pub fn file_name(&self) -> &[u8] {
        &self.0[memchr::memrchr(b'/', &self.0).map_or(0, |slash| slash + 1)..]
    }

    /// Returns the parent directory, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = memchr::memrchr(b'/', &self.0).unwrap_or(0);
        Some(Self(Arc::from(&self.0[..end])))
    }

    /// Returns true if `self` is `ancestor` or is below it.
    pub fn starts_with(&self, ancestor: &RelPath) -> bool {
        ancestor.is_root()
            || (self.0.starts_with(&ancestor.0)
                && (self.0.len() == ancestor.0.len() || self.0.get(ancestor.0.len()) == Some(&b'/')))
    }

    /// Returns the part of `self` below `ancestor`, or all of `self` if it is not below it.
    pub fn below<'a>(&'a self, ancestor: &RelPath) -> &'a [u8] {
        if ancestor.is_root() || !self.starts_with(ancestor) {
            return &self.0;
        }
        self.0.get(ancestor.0.len() + 1..).unwrap_or_default()
    }

    /// Converts the path to a string of the operating system. Returns `None` if this can't represent it.
    pub fn to_os_string(&self) -> Option<Cow<'_, OsStr>> {
        os_str(&self.0)
    }

    /// Formats the path as answers show it; see [`display_path`]. [`RelPath::parse`] converts it back to the
    /// same bytes. The root is `.`.
    pub fn display(&self) -> Cow<'_, str> {
        if self.is_root() {
            return Cow::Borrowed(".");
        }
        display_path(&self.0)
    }
}

#[cfg(unix)]
pub(crate) fn os_str(bytes: &[u8]) -> Option<Cow<'_, OsStr>> {
    use std::os::unix::ffi::OsStrExt;
    Some(Cow::Borrowed(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
pub(crate) fn os_str(bytes: &[u8]) -> Option<Cow<'_, OsStr>> {
    std::str::from_utf8(bytes).ok().map(|text| Cow::Borrowed(OsStr::new(text)))
}

/// Converts an operating-system string to bytes with `/` between names. Returns `None` for unsupported names.
#[cfg(unix)]
pub(crate) fn os_bytes(text: &OsStr) -> Option<Cow<'_, [u8]>> {
    use std::os::unix::ffi::OsStrExt;
    Some(Cow::Borrowed(text.as_bytes()))
}

#[cfg(not(unix))]
pub(crate) fn os_bytes(text: &OsStr) -> Option<Cow<'_, [u8]>> {
    text.to_str().map(|text| Cow::Owned(text.replace('\\', "/").into_bytes()))
}

/// Compares paths name by name, by their bytes.
pub fn compare_paths(a: &[u8], b: &[u8]) -> Ordering {
    // `/` ends a name and no name contains NUL, so treating it as NUL compares name by name.
    let key = |bytes: &[u8], i: usize| bytes.get(i).map(|&b| if b == b'/' { 0 } else { b });
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    key(a, common).cmp(&key(b, common))
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_paths(&self.0, &other.0)
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelPath({})", self.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs_escape;
    use proptest::prelude::*;

    fn path(text: &str) -> Result<RelPath, RelPathError> {
        RelPath::parse(text, &RelPath::root())
    }

    #[test]
    fn resolves_dots_and_rejects_escapes() {
        assert_eq!(path("./a//b/../c/").unwrap().as_bytes(), b"a/c");
        assert_eq!(path("a/../../b"), Err(RelPathError::AboveRoot));
        assert_eq!(path("/etc/passwd"), Err(RelPathError::Absolute));
        assert_eq!(path("a\0b"), Err(RelPathError::Nul));
        assert!(path(".").unwrap().is_root());
        let base = path("x/y").unwrap();
        assert_eq!(RelPath::parse("../z", &base).unwrap().as_bytes(), b"x/z");
    }

    #[test]
    fn orders_by_name_and_not_by_byte() {
        let mut paths = ["a.c", "a/b", "a", "a-b", "b"].map(|text| path(text).unwrap());
        paths.sort();
        let sorted: Vec<_> = paths.iter().map(|p| p.display().into_owned()).collect();
        assert_eq!(sorted, ["a", "a/b", "a-b", "a.c", "b"]);
    }

    #[test]
    fn sibling_with_a_common_prefix_is_not_below() {
        assert!(!path("repo-private/x").unwrap().starts_with(&path("repo").unwrap()));
        assert!(path("repo/x").unwrap().starts_with(&path("repo").unwrap()));
    }

    proptest! {
        #[test]
        fn display_round_trips(names in prop::collection::vec(prop::collection::vec(1u8..=255, 1..8), 1..4)) {
            let bytes = names.join(&b'/');
            if let Ok(original) = RelPath::from_bytes(&bytes, &RelPath::root()) {
                let shown = original.display().into_owned();
                prop_assert!(!shown.chars().any(needs_escape));
                prop_assert_eq!(RelPath::parse(&shown, &RelPath::root()).unwrap(), original);
            }
        }

        #[test]
        fn order_equals_std(a in "[a-c./-]{0,8}", b in "[a-c./-]{0,8}") {
            if let (Ok(x), Ok(y)) = (path(&a), path(&b)) {
                let std_order = std::path::Path::new(std::str::from_utf8(x.as_bytes()).unwrap())
                    .cmp(std::path::Path::new(std::str::from_utf8(y.as_bytes()).unwrap()));
                prop_assert_eq!(x.cmp(&y), std_order);
            }
        }
    }

    #[test]
    fn fuzz_parsed_path_stays_below_and_round_trips() {
        let seeds = forage_fuzz::seeds([
            "./a//b/../c/",
            "src/main.rs",
            r#""a\n\t\"\\ b\xc3\xa9\xff/c""#,
            "../x/../../etc/passwd",
            "\u{202e}x/\u{1f600}\u{200b}",
        ]);
        let base = path("x/y").unwrap();
        forage_fuzz::target!(&seeds, |input| {
            let text = String::from_utf8_lossy(input);
            for parsed in [RelPath::parse(&text, &base), RelPath::from_bytes(input, &base)] {
                let Ok(path) = parsed else { continue };
                let mut names = path.as_bytes().split(|byte| *byte == b'/');
                let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
                assert!(path.is_root() || names.all(is_plain), "{path:?}");
                let shown = path.display();
                assert!(!shown.chars().any(needs_escape), "{shown:?}");
                assert_eq!(RelPath::parse(&shown, &RelPath::root()).as_ref(), Ok(&path), "{shown}");
            }
        });
    }
}
