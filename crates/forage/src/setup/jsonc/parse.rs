//! Where everything stands in a JSON text with comments and trailing commas.

use serde_json::{Map, Value};

/// Levels of nesting that are followed.
const MOST_LEVELS: usize = 128;

/// A value and its place, in bytes.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Member>),
    Scalar,
}

/// A member of an object, or an element of a list, which has no key.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// Where it begins.
    pub(super) key_start: usize,
    pub(super) value: Node,
    /// The place of the comma after it.
    pub(super) comma: Option<usize>,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn elements(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// What it says. A key that stands twice counts once, as for every reader.
    pub(super) fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let members = members.iter().map(|member| (member.key.clone(), member.value.to_value(text)));
                Value::Object(Map::from_iter(members))
            }
            Kind::Array(items) => items.iter().map(|item| item.value.to_value(text)).collect(),
            Kind::Scalar => scalar(&text[self.start..self.end]),
        }
    }
}

/// A token that serde_json has no value for (half of a surrogate pair, a number out of range) stands for itself.
fn scalar(token: &str) -> Value {
    serde_json::from_str(token).unwrap_or_else(|_| Value::from(token))
}

/// Parses a text; an error is a place and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Node, (usize, &'static str)> {
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0 };
    let parsed = parser.space().and_then(|()| parser.value(0)).and_then(|node| {
        parser.space()?;
        match parser.peek() {
            None => Ok(node),
            Some(_) => Err("there is something behind its end"),
        }
    });
    parsed.map_err(|problem| (parser.at.min(text.len()), problem))
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

type Parsed<T> = Result<T, &'static str>;

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Goes over whitespace and comments.
    fn space(&mut self) -> Parsed<()> {
        loop {
            let rest = &self.bytes[self.at..];
            match rest {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    self.at +=
                        rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
                }
                [b'/', b'*', inner @ ..] => {
                    let end =
                        inner.windows(2).position(|pair| pair == b"*/").ok_or("a comment has no end")?;
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, level: usize) -> Parsed<Node> {
        if level > MOST_LEVELS {
            return Err("it is nested too deeply");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(level)?,
            Some(b'[') => self.array(level)?,
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            _ => {
                self.word()?;
                Kind::Scalar
            }
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn object(&mut self, level: usize) -> Parsed<Kind> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.space()?;
            if self.eat(b'}') {
                return Ok(Kind::Object(members));
            }
            if members.last().is_some_and(|member| member.comma.is_none()) {
                return Err("a comma or a closing brace is missing");
            }
            let key_start = self.at;
            if self.peek() != Some(b'"') {
                return Err("the name of a member is missing");
            }
            self.string()?;
            let token = &self.text[key_start..self.at];
            let key = serde_json::from_str(token).unwrap_or_else(|_| token.to_owned());
            self.space()?;
            if !self.eat(b':') {
                return Err("a colon is missing");
            }
            self.space()?;
            let value = self.value(level + 1)?;
            self.space()?;
            let comma = self.eat(b',').then(|| self.at - 1);
            members.push(Member { key, key_start, value, comma });
        }
    }

    fn array(&mut self, level: usize) -> Parsed<Kind> {
        let mut items: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.space()?;
            if self.eat(b']') {
                return Ok(Kind::Array(items));
            }
            if items.last().is_some_and(|item| item.comma.is_none()) {
                return Err("a comma or a closing bracket is missing");
            }
            let key_start = self.at;
            let value = self.value(level + 1)?;
            self.space()?;
            let comma = self.eat(b',').then(|| self.at - 1);
            items.push(Member { key: String::new(), key_start, value, comma });
        }
    }

    fn string(&mut self) -> Parsed<()> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') if self.bytes.len() > self.at + 1 => {
                    self.at += 1;
                    // The whole character, or what follows would begin within it.
                    self.at += self.text[self.at..].chars().next().map_or(1, char::len_utf8);
                }
                None | Some(b'\\' | b'\n' | b'\r') => return Err("a text has no end"),
                Some(_) => self.at += 1,
            }
        }
    }

    fn word(&mut self) -> Parsed<()> {
        let rest = &self.bytes[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let word = &self.text[self.at..self.at + length];
        let is_number =
            || word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && word.parse::<f64>().is_ok();
        if !matches!(word, "true" | "false" | "null") && !is_number() {
            return Err("there is no value where one should be");
        }
        self.at += length;
        Ok(())
    }
}
