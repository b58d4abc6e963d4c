//! Hides preprocessor constructs from the grammars of C, C++ and Objective-C.
//!
//! The grammars parse a file as if it had no macros. So `class EXPORT Name {`, `void f() LOCKED(mutex);`, or
//! a function with one head per branch of an `#if` may confuse them for many lines. We replace such
//! constructs by spaces, so that all positions stay the same.

use std::collections::HashSet;
use std::ops::Range;

/// Attributes of Apple's frameworks, by prefix of their names.
const ATTRIBUTES: &[&str] = &[
    "API_AVAILABLE",
    "API_DEPRECATED",
    "API_UNAVAILABLE",
    "CF_AVAILABLE",
    "CF_DEPRECATED",
    "CF_EXPORT",
    "CF_RETURNS",
    "CF_SWIFT",
    "DEPRECATED_ATTRIBUTE",
    "DEPRECATED_MSG",
    "FOUNDATION_EX",
    "NS_AVAILABLE",
    "NS_CLASS_",
    "NS_DEPRECATED",
    "NS_DESIGNATED",
    "NS_EXTENSI",
    "NS_FORMAT",
    "NS_HEADER",
    "NS_INLINE",
    "NS_NOESCAPE",
    "NS_REFINED",
    "NS_REQUIRES",
    "NS_RETURNS",
    "NS_ROOT_CLASS",
    "NS_STRING_ENUM",
    "NS_SWIFT",
    "NS_TYPED",
    "NS_UNAVAILABLE",
    "UIKIT_EX",
    "UI_APPEARANCE",
];

/// Macros that expand to `enum`. Their second argument is the name of the type.
const ENUMS: &[&str] = &["CF_ENUM", "CF_OPTIONS", "NS_CLOSED_ENUM", "NS_ENUM", "NS_ERROR_ENUM", "NS_OPTIONS"];

/// Maximum number of tokens that we look ahead after a macro. This keeps the time linear.
const LOOKAHEAD: usize = 256;

/// Words that are not names of types or variables.
const KEYWORDS: &[&str] = &[
    "auto",
    "break",
    "case",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "explicit",
    "extern",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "namespace",
    "new",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "return",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "throw",
    "typedef",
    "typename",
    "union",
    "using",
    "virtual",
    "volatile",
    "while",
];

const TYPES: &[&str] =
    &["bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    /// A string or a number.
    Literal,
    Sign(u8),
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    bytes: Range<usize>,
    /// True if it is the first token on its line.
    is_first: bool,
    /// True if it is within the body of a function or an initializer. There, we only look for statements.
    is_body: bool,
    /// The index of the previous token that isn't masked.
    before: Option<usize>,
}

/// Returns a text of the same length in which macros are replaced by spaces.
pub(super) fn mask(text: &str) -> String {
    let mut masked = Mask::new(text);
    masked.scan();
    masked.find_classes();
    masked.find_bodies();
    masked.mask_all();
    masked.into_text()
}

/// Returns a text of the same length, in which every `#if` whose branches split a declaration has only one
/// branch.
pub(super) fn resolve_conditionals(text: &str) -> String {
    let mut masked = Mask::new(text);
    masked.scan();
    masked.into_text()
}

struct Mask<'t> {
    text: &'t str,
    bytes: Vec<u8>,
    tokens: Vec<Token>,
    /// Names of classes. Constructors have these names as well.
    classes: HashSet<&'t str>,
}

/// An `#if` whose `#endif` hasn't been reached yet.
struct Conditional {
    branches: Vec<Branch>,
    directives: Vec<Range<usize>>,
}

struct Branch {
    /// The byte offset after the line of its directive.
    start: usize,
    end: usize,
    /// The index of its first token.
    first: usize,
    /// The number of open braces and parentheses minus the number of closed ones.
    depth: i32,
    least_depth: i32,
    is_dead: bool,
}

impl<'t> Mask<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, bytes: text.as_bytes().to_vec(), tokens: Vec::new(), classes: HashSet::new() }
    }

    fn into_text(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_else(|_| self.text.to_owned())
    }

    fn word(&self, at: usize) -> &'t str {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word);
        token.and_then(|token| self.text.get(token.bytes.clone())).unwrap_or_default()
    }

    fn is_sign(&self, at: usize, signs: &[u8]) -> bool {
        matches!(self.tokens.get(at), Some(Token { kind: Kind::Sign(sign), .. }) if signs.contains(sign))
    }

    fn blank(&mut self, range: Range<usize>) {
        for byte in self.bytes.get_mut(range).into_iter().flatten() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }

    fn blank_tokens(&mut self, from: usize, to: usize) {
        let (Some(first), Some(last)) = (self.tokens.get(from), self.tokens.get(to.saturating_sub(1))) else {
            return;
        };
        self.blank(first.bytes.start..last.bytes.end);
    }

    fn find_classes(&mut self) {
        for at in 1..self.tokens.len() {
            if matches!(self.word(at - 1), "class" | "struct" | "union") {
                // All words before the name are attributes.
                let mut name = at;
                while is_macro(self.word(name)) {
                    name = self.after_arguments(name + 1);
                }
                self.classes.insert(self.word(name));
            }
        }
    }

    /// Marks bodies. After `class`, `namespace` and similar words, braces contain declarations; otherwise
    /// they contain statements.
    fn find_bodies(&mut self) {
        let mut open: Vec<bool> = Vec::new();
        let (mut is_head, mut is_enum) = (false, false);
        for at in 0..self.tokens.len() {
            let is_body = open.last().copied().unwrap_or_default();
            if let Some(token) = self.tokens.get_mut(at) {
                token.is_body = is_body;
            }
            let word = self.word(at);
            if self.is_sign(at, b"{") {
                let is_function = at.checked_sub(1).is_some_and(|before| self.is_sign(before, b")="));
                open.push(is_body || is_function && !is_enum || !is_head);
                (is_head, is_enum) = (false, false);
            } else if self.is_sign(at, b"}") {
                open.pop();
                (is_head, is_enum) = (false, false);
            } else if self.is_sign(at, b";") {
                is_head = false;
            } else if matches!(
                word,
                "class" | "struct" | "union" | "enum" | "namespace" | "extern" | "interface"
            ) || word == "implementation"
                || ENUMS.contains(&word)
            {
                is_head = true;
                is_enum |= ENUMS.contains(&word);
            }
        }
    }

    /// Masks the comments in a directive. Otherwise the grammars would end a macro at a comment.
    fn blank_comments(&mut self, line: Range<usize>) {
        let mut start = line.start;
        while let Some(comment) = self.text.get(start..line.end).and_then(|rest| rest.find("/*")) {
            let open = start + comment;
            let close = self.text.get(open + 2..line.end).and_then(|rest| rest.find("*/"));
            start = close.map_or(line.end, |close| open + 2 + close + 2);
            self.blank(open..start);
        }
    }

    /// Tokenizes the text. If the grammar could not read an `#if` with all of its branches, we only keep one.
    fn scan(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut is_first) = (0, true);
        let mut open: Vec<Conditional> = Vec::new();
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            match byte {
                b'\n' => {
                    is_first = true;
                    at += 1;
                    continue;
                }
                b' ' | b'\t' | b'\r' | b'\\' => {
                    at += 1;
                    continue;
                }
                b'/' if bytes.get(at + 1) == Some(&b'/') => {
                    at = line_end(bytes, at);
                    continue;
                }
                b'/' if bytes.get(at + 1) == Some(&b'*') => {
                    at = self
                        .text
                        .get(at + 2..)
                        .and_then(|rest| rest.find("*/"))
                        .map_or(bytes.len(), |end| at + end + 4);
                    continue;
                }
                b'#' if is_first => {
                    at = line_end(bytes, at);
                    self.blank_comments(start..at);
                    self.directive(start..at, &mut open);
                    continue;
                }
                b'"' | b'\'' => at = self.string_end(at),
                b'0'..=b'9' => {
                    while bytes.get(at).is_some_and(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'\'' | b'_')
                    }) {
                        at += 1;
                    }
                }
                _ if is_word(byte) => {
                    while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
                        at += 1;
                    }
                }
                _ => at += 1,
            }
            let kind = match byte {
                b'"' | b'\'' | b'0'..=b'9' => Kind::Literal,
                _ if is_word(byte) => Kind::Word,
                _ => Kind::Sign(byte),
            };
            if let Some(branch) = open.last_mut().and_then(|open| open.branches.last_mut()) {
                branch.depth += match byte {
                    b'{' | b'(' => 1,
                    b'}' | b')' => -1,
                    _ => 0,
                };
                branch.least_depth = branch.least_depth.min(branch.depth);
            }
            self.tokens.push(Token { kind, bytes: start..at, is_first, is_body: false, before: None });
            is_first = false;
        }
    }

    /// Finds the end of a string, including raw strings.
    fn string_end(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let quote = bytes.get(start).copied().unwrap_or_default();
        let prefix = self
            .tokens
            .last()
            .filter(|token| token.bytes.end == start)
            .and_then(|token| self.text.get(token.bytes.clone()));
        if quote == b'"' && prefix.is_some_and(|prefix| prefix.ends_with('R')) {
            let rest = self.text.get(start + 1..).unwrap_or_default();
            let delimiter = rest.split('(').next().unwrap_or_default();
            let end = format!("){delimiter}\"");
            return rest.find(&end).map_or(bytes.len(), |at| start + 1 + at + end.len());
        }
        let mut at = start + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 1,
                b'\n' => return at,
                _ if byte == quote => return at + 1,
                _ => {}
            }
            at += 1;
        }
        bytes.len()
    }

    fn directive(&mut self, line: Range<usize>, open: &mut Vec<Conditional>) {
        let text = self.text.get(line.clone()).unwrap_or_default().trim_start_matches(['#', ' ', '\t']);
        let word: &str = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let condition = text.get(word.len()..).unwrap_or_default().trim();
        let next = self.tokens.len();
        // If we can keep only one branch, it must not be the one for C++. C can't use that, and it mostly
        // contains just `extern "C" {`.
        let is_for_others = word == "ifndef" || condition.contains('!');
        let is_dead = condition == "0" || condition.contains("__cplusplus") && !is_for_others;
        let branch =
            Branch { start: line.end, end: line.end, first: next, depth: 0, least_depth: 0, is_dead };
        match word {
            "if" | "ifdef" | "ifndef" => {
                open.push(Conditional { branches: vec![branch], directives: vec![line] });
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                if let Some(open) = open.last_mut() {
                    if let Some(before) = open.branches.last_mut() {
                        before.end = line.start;
                    }
                    open.directives.push(line);
                    open.branches.push(branch);
                }
            }
            "endif" => {
                if let Some(mut closed) = open.pop() {
                    if let Some(before) = closed.branches.last_mut() {
                        before.end = line.start;
                    }
                    closed.directives.push(line);
                    let depth = self.resolve(closed);
                    if let Some(around) = open.last_mut().and_then(|open| open.branches.last_mut()) {
                        around.depth += depth;
                        around.least_depth = around.least_depth.min(around.depth);
                    }
                }
            }
            _ => {}
        }
    }

    /// Keeps all branches if each of them consists of whole declarations, and otherwise at most one. Returns
    /// the depth after the conditional.
    fn resolve(&mut self, conditional: Conditional) -> i32 {
        let Conditional { branches, directives } = conditional;
        let ends = branches.iter().skip(1).map(|branch| branch.first).chain([self.tokens.len()]);
        let is_whole = |(branch, end): (&Branch, usize)| {
            let is_empty = end <= branch.first;
            let is_balanced = branch.depth == 0 && branch.least_depth == 0;
            is_balanced && (is_empty || self.word(branch.first) != "else" && self.is_boundary(end))
        };
        let is_boundary = branches.first().is_some_and(|branch| self.is_boundary(branch.first));
        if is_boundary && branches.iter().zip(ends).all(is_whole) {
            return 0;
        }
        let is_single = branches.len() == 1;
        let kept = branches.iter().position(|branch| !branch.is_dead);
        let kept = kept.or((!is_single).then_some(0));
        for line in directives {
            self.blank(line);
        }
        for (number, branch) in branches.iter().enumerate() {
            if Some(number) != kept {
                self.blank(branch.start..branch.end);
                // The conditional ends here, so its tokens are the last ones. We need not search the others.
                let first = branches.first().map_or(0, |first| first.first).min(self.tokens.len());
                let gone = branch.start..branch.end;
                let rest = self.tokens.split_off(first);
                self.tokens.extend(rest.into_iter().filter(|token| !gone.contains(&token.bytes.start)));
            }
        }
        kept.and_then(|kept| branches.get(kept)).map_or(0, |branch| branch.depth)
    }

    /// Returns true if a declaration or a statement may begin with the token at `at`.
    fn is_boundary(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| self.ends_statement(before) || self.is_directive_line(before))
    }

    /// Matches `@implementation Name (Category)`.
    fn is_directive_line(&self, last: usize) -> bool {
        let is_first = |at: &usize| self.tokens.get(*at).is_some_and(|token| token.is_first);
        let first = (last.saturating_sub(LOOKAHEAD)..=last).rev().find(is_first);
        first.is_some_and(|first| {
            let words = ["implementation", "interface", "protocol", "end", "optional", "required"];
            self.is_sign(first, b"@") && words.contains(&self.word(first + 1))
        })
    }

    fn ends_statement(&self, at: usize) -> bool {
        self.is_sign(at, b";{}:") || self.is_own_line(at)
    }

    /// Skips the arguments that begin at `at`, and returns the index of the next token. Without arguments,
    /// this is `at`.
    fn after_arguments(&self, at: usize) -> usize {
        if !self.is_sign(at, b"(") {
            return at;
        }
        let mut depth = 0;
        for next in at..self.tokens.len().min(at + LOOKAHEAD) {
            if self.is_sign(next, b"(") {
                depth += 1;
            } else if self.is_sign(next, b")") {
                depth -= 1;
                if depth == 0 {
                    return next + 1;
                }
            }
        }
        at
    }

    fn mask_all(&mut self) {
        let (mut at, mut before) = (0, None);
        while at < self.tokens.len() {
            if let Some(token) = self.tokens.get_mut(at) {
                token.before = before;
            }
            let next = self.mask_at(at).max(at + 1);
            if !self.is_blank(at) {
                before = Some(at);
                // These are the arguments of a macro that expands to `enum`.
                for kept in at + 1..next {
                    if let Some(token) = self.tokens.get_mut(kept) {
                        token.before = before;
                        before = Some(kept);
                    }
                }
            }
            at = next;
        }
    }

    fn is_blank(&self, at: usize) -> bool {
        let start = self.tokens.get(at).map(|token| token.bytes.start);
        start.is_some_and(|start| self.bytes.get(start) != self.text.as_bytes().get(start))
    }

    /// Returns the index of the unmasked token before one that `mask_all` has reached.
    fn before(&self, at: usize) -> Option<usize> {
        self.tokens.get(at).and_then(|token| token.before)
    }

    /// Processes the word at `at`, and returns the index of the next token to process.
    fn mask_at(&mut self, at: usize) -> usize {
        let next = at + 1;
        let word = self.word(at);
        if !is_macro(word) {
            if self.is_plain_attribute(at) {
                self.blank_tokens(at, next);
                self.comment_out(at, next);
            }
            return next;
        }
        if ENUMS.contains(&word) {
            return self.mask_enum(at);
        }
        let mut end = self.after_arguments(next);
        // For example `if CONSTEXPR (…)`.
        let is_condition = self.before(at).is_some_and(|before| self.word(before) == "if") && end > next;
        if is_condition {
            end = next;
        }
        let is_body = self.tokens.get(at).is_some_and(|token| token.is_body);
        let is_call = !is_body && self.is_call(at, end);
        let is_statement = is_condition || is_call || self.is_statement(at, end);
        if is_body && !is_statement {
            return next;
        }
        if is_call {
            end += 1;
        }
        let is_attribute = !is_statement && self.is_before_declaration(at, end)
            || ATTRIBUTES.iter().any(|attribute| word.starts_with(attribute))
                && !word.starts_with("NS_ASSUME");
        let is_masked = is_statement
            || is_attribute
            || word.starts_with("NS_ASSUME")
            || self.is_before_type(at, end)
            || self.is_after_declaration(at, end);
        if !is_masked {
            return next;
        }
        self.blank_tokens(at, end);
        if is_attribute {
            self.comment_out(at, end);
        }
        end
    }

    /// Turns the line of an attribute into a comment, so that it belongs to the definition after it.
    fn comment_out(&mut self, at: usize, end: usize) {
        let (Some(first), Some(last)) = (self.tokens.get(at), self.tokens.get(end.saturating_sub(1))) else {
            return;
        };
        let bytes = first.bytes.start..last.bytes.end;
        if first.is_first && bytes.len() >= 4 {
            for (place, sign) in [(bytes.start, b"/*"), (bytes.end - 2, b"*/")] {
                if let Some(place) = self.bytes.get_mut(place..place + 2) {
                    place.copy_from_slice(sign);
                }
            }
        }
    }

    /// Turns `typedef NS_ENUM(NSInteger, Name) {` into `enum Name {`.
    fn mask_enum(&mut self, at: usize) -> usize {
        let end = self.after_arguments(at + 1);
        let Some(name) = end.checked_sub(2).filter(|name| *name > at + 1) else { return at + 1 };
        if self.word(name).is_empty() || !self.is_sign(end, b"{") {
            return at + 1;
        }
        let before = self.before(at).filter(|before| self.word(*before) == "typedef");
        let first = before.unwrap_or(at);
        let Some(start) = self.tokens.get(first).map(|token| token.bytes.start) else { return end };
        self.blank_tokens(first, name);
        self.blank_tokens(end - 1, end);
        if let Some(place) = self.bytes.get_mut(start..start + 4) {
            place.copy_from_slice(b"enum");
        }
        end
    }

    /// Matches the macro in `class EXPORT Name` and `struct PACKED(4) name`.
    fn is_before_type(&self, at: usize, end: usize) -> bool {
        let before = self.before(at).map_or("", |before| self.word(before));
        matches!(before, "class" | "struct" | "union") && !self.word(end).is_empty()
    }

    /// Matches the macro in `EXPORT type name`, i.e. a word of capitals before another word and a name, and
    /// the one in `int DEPRECATED(1) name`.
    fn is_before_declaration(&self, at: usize, end: usize) -> bool {
        let before = self.before(at);
        if before.is_some_and(|before| self.is_inside(before)) {
            return false;
        }
        let mut next = end;
        // For example `CONSTEXPR ~Name()`.
        if self.is_sign(at + 1, b"~") {
            return true;
        }
        while matches!(self.word(next), "const" | "volatile") {
            next += 1;
        }
        let first = self.word(next);
        if first.is_empty() || self.is_own_line(next) {
            return false;
        }
        let before = before.map_or("", |before| self.word(before));
        // For example `int CALLBACK name(…)`.
        if !before.is_empty() && !KEYWORDS.contains(&before) {
            return true;
        }
        if first == "operator" {
            return !self.word(next + 1).is_empty();
        }
        if KEYWORDS.contains(&first) || TYPES.contains(&first) {
            return !matches!(first, "new" | "delete");
        }
        next += 1;
        if self.classes.contains(first) && self.is_sign(next, b"(") {
            return true;
        }
        // For example `std::vector<int>`.
        for _ in 0..LOOKAHEAD {
            let is_qualified = self.is_sign(next, b":") && self.is_sign(next + 1, b":");
            if !is_qualified || self.word(next + 2).is_empty() {
                break;
            }
            next += 3;
        }
        if self.is_sign(next, b"<") {
            let (mut depth, mut close) = (0, next);
            while close < self.tokens.len().min(next + LOOKAHEAD) {
                depth += i32::from(self.is_sign(close, b"<")) - i32::from(self.is_sign(close, b">"));
                close += 1;
                if depth == 0 {
                    break;
                }
            }
            next = close;
        }
        while self.is_sign(next, b"*&") || self.word(next) == "const" {
            next += 1;
        }
        !self.word(next).is_empty() && !self.is_own_line(next)
    }

    /// Matches `attribute int name` and `attribute type *name`, i.e. a declaration with one extra word.
    fn is_plain_attribute(&self, at: usize) -> bool {
        let is_name = |word: &str| !word.is_empty() && !KEYWORDS.contains(&word) && !TYPES.contains(&word);
        let is_first = self.before(at).is_none_or(|before| {
            self.ends_statement(before) || matches!(self.word(before), "static" | "extern" | "inline")
        });
        let is_body = self.tokens.get(at).is_some_and(|token| token.is_body);
        if is_body || !is_first || !is_name(self.word(at)) {
            return false;
        }
        let mut next = at + 1;
        while matches!(self.word(next), "const" | "volatile") {
            next += 1;
        }
        let word = self.word(next);
        if TYPES.contains(&word) || matches!(word, "struct" | "union" | "enum") {
            return true;
        }
        // For example `attribute STACK_OF(type) *name`.
        let mut last = next + 1;
        let end = self.after_arguments(last);
        if is_macro(word) && self.is_sign(end, b"*") {
            last = end;
        }
        while self.is_sign(last, b"*") && last < at + LOOKAHEAD {
            last += 1;
        }
        let word = self.word(last);
        // For example `CGImageRef _Nullable name(…)`.
        let is_qualifier = ["null", "Null"].iter().any(|part| self.word(next).contains(part));
        let is_attribute = is_macro(word) || word.starts_with("__") || word == "asm";
        is_name(self.word(next)) && !is_qualifier && is_name(word) && !is_attribute
    }

    /// Matches a macro that begins a line.
    fn is_own_line(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_first) && is_macro(self.word(at))
    }

    /// Returns true if the token is within parentheses or an expression.
    fn is_inside(&self, at: usize) -> bool {
        self.is_sign(at, b"(,=+-*/<&|?.!")
    }

    /// Matches the macro in `void f() LOCKED(mutex);`, `int value GUARDED;` and `T *name UNUSED;`.
    fn is_after_declaration(&self, at: usize, end: usize) -> bool {
        let Some(before) = self.before(at) else { return false };
        let is_last = self.is_sign(end, b";{=,}") || is_macro(self.word(end)) || self.word(end) == "override";
        if !is_last {
            return false;
        }
        let word = self.word(before);
        if self.is_sign(end, b",}") && end == at + 1 {
            return false;
        }
        if self.is_after_type(before) {
            return false;
        }
        if self.is_sign(before, b")")
            || matches!(word, "const" | "override" | "noexcept" | "final") && self.is_closed(before)
        {
            return !self.is_sign(end, b"=") || self.is_sign(before, b")");
        }
        // For example `ENUMERATOR DEPRECATED(1) = 2`.
        let is_enumerator = end > at + 1 && !word.is_empty();
        if is_enumerator && self.before(before).is_some_and(|before| self.is_sign(before, b",{")) {
            return true;
        }
        let is_name = !word.is_empty() && !KEYWORDS.contains(&word) && !TYPES.contains(&word);
        let Some(type_) = self.before(before).filter(|_| is_name) else { return false };
        let type_word = self.word(type_);
        self.is_sign(type_, b"*&>)")
            || TYPES.contains(&type_word)
            || !type_word.is_empty() && !KEYWORDS.contains(&type_word) && !is_macro(type_word)
    }

    /// Matches `STACK_OF(type) name;`.
    fn is_after_type(&self, close: usize) -> bool {
        let (mut depth, mut open) = (0, close);
        for _ in 0..LOOKAHEAD {
            depth += i32::from(self.is_sign(open, b")")) - i32::from(self.is_sign(open, b"("));
            let Some(before) = self.before(open) else { return false };
            if depth == 0 {
                let is_type = self
                    .before(before)
                    .is_none_or(|start| self.ends_statement(start) || KEYWORDS.contains(&self.word(start)));
                return is_type && open < close && is_macro(self.word(before));
            }
            open = before;
        }
        false
    }

    fn is_closed(&self, at: usize) -> bool {
        self.before(at).is_some_and(|before| self.is_sign(before, b")"))
    }

    /// Matches `DECLARE(name);`, unless it is a constructor.
    fn is_call(&self, at: usize, end: usize) -> bool {
        let is_constructor = self.classes.contains(self.word(at));
        end > at + 1
            && self.is_sign(end, b";")
            && !is_constructor
            && self.before(at).is_none_or(|before| self.ends_statement(before))
    }

    /// Matches a macro that is alone on its line and has neither a semicolon nor a body.
    fn is_statement(&self, at: usize, end: usize) -> bool {
        let is_line = self.tokens.get(at).is_some_and(|token| token.is_first)
            && self.tokens.get(end).is_none_or(|token| token.is_first);
        let is_after = self.before(at).is_none_or(|before| self.is_sign(before, b";{}:>"));
        is_line && is_after && !self.is_sign(end, b"{;,=:")
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Returns true if a word looks like a macro. By convention, macro names only have capitals.
fn is_macro(word: &str) -> bool {
    word.len() > 2
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Finds the end of a line, without its line end. Note that a backslash continues the line.
fn line_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' if at > start && bytes.get(at - 1) == Some(&b'\\') => {}
            b'\n' if at > start + 1 && bytes.get(at - 2..at) == Some(b"\\\r") => {}
            b'\n' => return at,
            // A comment may continue on the next lines.
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let rest = bytes.get(at + 2..).unwrap_or_default();
                at += 2 + rest.windows(2).position(|pair| pair == b"*/").unwrap_or(rest.len());
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
