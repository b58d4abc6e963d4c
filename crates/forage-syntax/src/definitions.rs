//! Finds the definitions in a text by one walk over its syntax tree.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use forage_base::Stop;
use tree_sitter::{Node, Tree};

use crate::language::{Category, Language, Name, Named, NodeKind, Rule, Site, Source, child};
use crate::limits;
use crate::parse::{AdmittedTree, ParseError, parse};
use crate::test_code::mark_tests;
use crate::uses::{Use, uses};

/// A definition in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name without its qualifier.
    pub name: String,
    /// The type or module that it belongs to, if its own text names it, e.g. `Queue` for
    /// `func (q *Queue) Push` and `Matrix` for `Matrix::at`.
    pub scope: Option<String>,
    /// The language's own word for its kind, e.g. `struct`.
    pub kind: &'static str,
    /// The kind in terms common to all languages.
    pub category: Category,
    /// The 1-based first line of its documentation and attributes, or `line` if it has none.
    pub start_line: u32,
    /// The line of its name.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
    /// The byte range of its name in the text.
    pub name_range: Range<usize>,
    /// The index of the innermost enclosing definition.
    pub parent: Option<usize>,
    /// The number of enclosing definitions.
    pub depth: u32,
    /// True if the grammar could not read all of it. In this case, `end_line` may be wrong.
    pub has_error: bool,
    /// True if it is a test or within one. We recognise tests by attributes, macros and classes of test
    /// frameworks.
    pub is_test: bool,
}

/// The definitions in a text, and its uses of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Definitions, ordered by line.
    pub definitions: Vec<Definition>,
    /// Uses of the requested name.
    pub uses: Vec<Use>,
    /// Ranges of adjacent lines that only contain comments or documentation strings.
    pub comments: Vec<RangeInclusive<u32>>,
    /// The texts of statements that import names.
    pub imports: Vec<String>,
    /// Ranges of lines that the grammar could not read. We may have missed definitions in them.
    pub errors: Vec<RangeInclusive<u32>>,
}

/// Finds the definitions in a text, ordered by line.
///
/// # Errors
///
/// Returns an error if the text exceeds one of the [`limits`], if parsing was stopped, or if the grammar was
/// built for another version of tree-sitter.
pub fn definitions(
    language: &'static Language,
    text: &str,
    stop: &Stop,
) -> Result<Vec<Definition>, ParseError> {
    Ok(parsed(language, text, None, stop)?.definitions)
}

/// Finds the definitions in a text, its uses of a name, and the lines that the grammar could not read.
///
/// # Errors
///
/// Returns the errors of [`definitions()`].
pub fn parsed(
    language: &'static Language,
    text: &str,
    name: Option<&str>,
    stop: &Stop,
) -> Result<Parsed, ParseError> {
    let read = readable(language, text);
    // Waiting for other trees must not use up the time for this one, or the result would depend on them.
    // The permit must be declared first, so that it is dropped after the tree.
    let AdmittedTree { permit: _permit, tree } = parse(language, &read, stop)?;
    let stop = &stop.within(limits::PARSE_TIME);
    let mut walk = Walk {
        language,
        text: &read,
        found: Vec::new(),
        comments: Vec::new(),
        imports: Vec::new(),
        errors: Vec::new(),
        braces: Braces::default(),
    };
    walk.tree(&tree, stop)?;
    let (comments, errors) = (std::mem::take(&mut walk.comments), std::mem::take(&mut walk.errors));
    let imports = walk.imports.drain(..).filter_map(|range| Some(read.get(range)?.to_owned())).collect();
    let mut definitions = walk.into_definitions();
    mark_tests(&read, &mut definitions);
    let uses = name.map(|name| uses(language, &tree, &read, name, &definitions)).unwrap_or_default();
    if let Cow::Owned(_) = read {
        locate_names(text, &mut definitions);
    }
    Ok(Parsed { definitions, uses, comments, imports, errors })
}

/// Returns the text to parse. This is the file, or a text with the same lines.
fn readable<'t>(language: &Language, text: &'t str) -> Cow<'t, str> {
    match language.row.source {
        Source::Lines(lines) => Cow::Owned(lines(text)),
        Source::Whole | Source::Parts(_) | Source::Masked(_) => Cow::Borrowed(text),
    }
}

/// Maps the ranges of names to the file, whose lines are encoded. If a name doesn't occur literally on its
/// line, it gets an empty range at the start of this line.
fn locate_names(text: &str, definitions: &mut [Definition]) {
    let mut starts = vec![0];
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    for definition in definitions {
        let start = starts.get(definition.line as usize - 1).copied().unwrap_or(text.len());
        let line = text.get(start..).unwrap_or_default().split('\n').next().unwrap_or_default();
        definition.name_range = match line.find(&definition.name) {
            Some(at) => start + at..start + at + definition.name.len(),
            None => start..start,
        };
    }
}

/// A definition and its position in the text.
struct LocatedDefinition<'tree> {
    named: Named<'tree>,
    node: Node<'tree>,
    kind: &'static str,
    category: Category,
    bytes: Range<usize>,
    start_row: usize,
    end_row: usize,
    has_error: bool,
    /// True if the node is within a function, but not within a type that this function defines.
    is_local: bool,
}

struct Walk<'tree> {
    language: &'static Language,
    text: &'tree str,
    found: Vec<LocatedDefinition<'tree>>,
    comments: Vec<RangeInclusive<u32>>,
    /// The outermost nodes that import names.
    imports: Vec<Range<usize>>,
    /// Lines of the outermost error nodes.
    errors: Vec<RangeInclusive<u32>>,
    braces: Braces,
}

/// Pairs of braces. We only need them for languages with
/// [`Row::mends_by_braces`](crate::language::Row::mends_by_braces).
#[derive(Default)]
struct Braces {
    open: Vec<(usize, usize)>,
    /// Keyed by the start of the opening brace: its row, and the end and row of the closing brace.
    pairs: BTreeMap<usize, (usize, usize, usize)>,
}

impl Braces {
    fn add(&mut self, node: Node<'_>) {
        match node.kind() {
            "{" | "${" => self.open.push((node.start_byte(), node.start_position().row)),
            "}" => {
                if let Some((start, row)) = self.open.pop() {
                    self.pairs.insert(start, (row, node.end_byte(), node.end_position().row));
                }
            }
            _ => {}
        }
    }

    /// Finds the end of a definition's body and its row. If the grammar could not read a type, there is no
    /// body node, so we take the brace on the line of its name.
    fn end_of(&self, found: &LocatedDefinition<'_>) -> Option<(usize, usize)> {
        let body = found.node.child_by_field_name("body");
        let (_, (row, end, end_row)) = match body {
            Some(body) => self.pairs.get_key_value(&body.start_byte()),
            None => self.pairs.range(found.named.name.end_byte()..).next(),
        }?;
        let is_its_own =
            body.is_some() || found.category == Category::Type && *row == found.named.name.end_position().row;
        is_its_own.then_some((*end, *end_row))
    }
}

/// Adjacent comments and attributes before a definition.
#[derive(Clone, Copy)]
struct LeadingTrivia {
    first_row: usize,
    last_row: usize,
    column: usize,
    /// True if the last one is a comment. These may occur anywhere.
    is_extra: bool,
}

/// The state of the walk for the children of one node.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The comments and attributes directly before the next child.
    lead: Option<LeadingTrivia>,
    /// The first row of the lead of the wrapper that has these children. This lead belongs to the definition
    /// in the wrapper.
    wrapper: Option<usize>,
    is_local: bool,
}

impl<'tree> Walk<'tree> {
    fn tree(&mut self, tree: &'tree Tree, stop: &Stop) -> Result<(), ParseError> {
        let mut cursor = tree.walk();
        let mut visited = 0_u32;
        let mut parents: Vec<Node<'tree>> = Vec::new();
        let mut levels = vec![Level::default()];
        loop {
            visited = visited.wrapping_add(1);
            // Some rules visit siblings, and some files have very many of them. So we must check for a stop.
            if visited.is_multiple_of(limits::NODES_PER_CHECK) && stop.check().is_some() {
                return Err(ParseError::Stopped);
            }
            let node = cursor.node();
            let level = self.visit(node, &parents, levels.last_mut());
            if parents.len() < limits::DEPTH && cursor.goto_first_child() {
                parents.push(node);
                levels.push(level);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Ok(());
                }
                // Some grammars don't end a node until after the comments of its next sibling.
                let column = parents.pop().map_or(0, |node| node.start_position().column);
                let lead = levels.pop().and_then(|level| level.lead);
                let lead = lead.filter(|lead| lead.is_extra && lead.column <= column);
                if let Some(level) = levels.last_mut().filter(|_| lead.is_some()) {
                    level.lead = lead;
                }
            }
        }
    }

    /// Visits one node, and returns the state for its children.
    fn visit(&mut self, node: Node<'tree>, parents: &[Node<'tree>], level: Option<&mut Level>) -> Level {
        let Some(level) = level else { return Level::default() };
        let (first, last) = rows(node);
        if node.is_error() && self.errors.last().is_none_or(|error| *error.end() <= first as u32) {
            self.errors.push(first as u32 + 1..=last as u32 + 1);
        }
        let kind = self.language.kind(node.kind_id());
        let site = Site { node, parents, text: self.text };
        if kind.is_comment || kind.is_documentation && (self.language.row.is_documentation)(site) {
            self.comment(node, first as u32 + 1..=last as u32 + 1);
        }
        if kind.is_import && self.imports.last().is_none_or(|last| last.end <= node.start_byte()) {
            self.imports.push(node.byte_range());
        }
        let joined = level.lead.filter(|lead| first <= lead.last_row + 1);
        // In a wrapper, modifiers and template parameters may come before the definition.
        let wrapper = level.wrapper.filter(|_| kind.rule.is_some() || kind.is_wrapper);
        let start_row = joined.map_or(first, |lead| lead.first_row).min(wrapper.unwrap_or(first));
        let before = self.found.len();
        if let Some(rule) = kind.rule.and_then(|rule| self.language.row.rules.get(usize::from(rule))) {
            self.define(rule, site, start_row, level.is_local);
        }
        let is_definition = self.found.len() > before;
        if kind.is_leading && !is_definition {
            if kind.is_comment && is_about_the_file(self.language, site) {
                level.lead = None;
            } else if is_first_in_line(self.text, node) {
                let (column, is_extra) = (node.start_position().column, node.is_extra());
                let new = LeadingTrivia { first_row: first, last_row: last, column, is_extra };
                level.lead =
                    Some(joined.map_or(new, |lead| LeadingTrivia { last_row: last, is_extra, ..lead }));
            }
            return Level { is_local: level.is_local, ..Level::default() };
        }
        // Punctuation and keywords must not end the lead. They may be between an attribute and its
        // definition, or between two definitions.
        if !node.is_named() && node.child_count() == 0 {
            if self.language.row.mends_by_braces && !node.is_missing() {
                self.braces.add(node);
            }
            return Level::default();
        }
        level.lead = None;
        if is_definition || kind.is_wrapper {
            level.wrapper = None;
        }
        // If a node continues after its definition, it isn't a scope, because the rest of it isn't part of
        // the definition.
        let is_scope = |found: &&LocatedDefinition<'_>| found.bytes.end >= node.end_byte();
        let scope = self.found.get(before).filter(is_scope).map(|found| found.category);
        Level {
            // Comments before a node lead the first definition in it, unless the node is itself a definition.
            lead: joined.filter(|_| !is_definition),
            wrapper: kind.is_wrapper.then_some(start_row),
            is_local: is_local(kind, scope, level.is_local),
        }
    }

    /// Adds the lines of a comment if they contain nothing else.
    fn comment(&mut self, node: Node<'tree>, lines: RangeInclusive<u32>) {
        let after = self.text.get(node.end_byte()..).and_then(|text| text.split('\n').next());
        let ends_line = node.end_position().column == 0 || after.is_none_or(|rest| rest.trim().is_empty());
        if !(ends_line && is_first_in_line(self.text, node)) {
            return;
        }
        match self.comments.last_mut() {
            // A grammar may split one comment into several nodes.
            Some(last) if *lines.start() <= last.end() + 1 => {
                *last = *last.start()..=*last.end().max(lines.end());
            }
            _ => self.comments.push(lines),
        }
    }

    fn define(&mut self, rule: &'static Rule, site: Site<'_, 'tree>, start_row: usize, is_local: bool) {
        let node = site.node;
        let mut names: Vec<Named<'tree>> = Vec::new();
        match rule.name {
            Name::Field(field) => names.extend(node.child_by_field_name(field).map(Named::new)),
            Name::Child(kinds) => names.extend(child(node, kinds).map(Named::new)),
            Name::WithBody(field) => {
                let has_body = node.child_by_field_name("body").is_some();
                let category = if has_body { rule.category } else { Category::Declaration };
                let name = node.child_by_field_name(field).map(Named::new);
                names.extend(name.map(|name| name.with_kind(rule.kind, category)));
            }
            Name::With(find) => find(site, &mut names),
        }
        for named in names {
            let (kind, category) = match named.kind.unwrap_or((rule.kind, rule.category)) {
                (kind @ ("field" | "component"), Category::Constant) => (kind, Category::Field),
                kind => kind,
            };
            let first = named.first.unwrap_or(node);
            let last = named.last.unwrap_or(first);
            let start_row = if first == node { start_row } else { first.start_position().row };
            self.found.push(LocatedDefinition {
                bytes: first.start_byte()..last.end_byte(),
                has_error: first.has_error() || last.has_error(),
                end_row: self.last_row(last),
                named,
                node: first,
                kind,
                category,
                start_row,
                is_local,
            });
        }
    }

    /// Finds the last row of a definition. Its node may include trailing comments, which we leave out.
    fn last_row(&self, node: Node<'tree>) -> usize {
        let column = node.start_position().column;
        let (mut last, mut row) = (node, rows(node).1);
        loop {
            let end = last.end_byte();
            let child = last.child_count().checked_sub(1).and_then(|at| last.child(at));
            let Some(child) = child.filter(|child| child.end_byte() == end) else { return row };
            let mut kept = Some(child);
            while let Some(comment) = kept.filter(|comment| {
                let is_outer =
                    comment.start_position().column <= column && is_first_in_line(self.text, *comment);
                is_outer && comment.is_extra() && self.language.kind(comment.kind_id()).is_leading
            }) {
                kept = comment.prev_sibling();
            }
            let Some(kept) = kept else { return row };
            if kept != child {
                row = rows(kept).1;
            }
            last = kept;
        }
    }

    fn into_definitions(mut self) -> Vec<Definition> {
        let language = self.language;
        self.found.retain(|found| {
            !(found.is_local && matches!(found.category, Category::Constant | Category::Field))
        });
        for found in &mut self.found {
            if let Some((end, row)) = self.braces.end_of(found) {
                (found.bytes.end, found.end_row) = (end, row);
            }
        }
        // Outer definitions must come before inner ones, and several names of one node must keep their order.
        self.found.sort_by_key(|found| {
            (found.bytes.start, Reverse(found.bytes.end), found.named.name.start_byte())
        });
        let mut definitions: Vec<Definition> = Vec::with_capacity(self.found.len());
        let mut arities: Vec<Option<usize>> = Vec::with_capacity(self.found.len());
        // The definitions around the next one, by index, with their byte ranges.
        let mut open: Vec<(usize, Range<usize>)> = Vec::new();
        for found in self.found {
            let bytes = found.bytes.clone();
            // Definitions with the same bytes are names of one node, e.g. `int a, b;`, and not inside each
            // other.
            while open.pop_if(|(_, outer)| outer.end <= bytes.start || *outer == bytes).is_some() {}
            let parent = open.last().map(|(at, _)| *at);
            let name_range = found.named.name_range();
            let text = self.text.get(name_range.clone()).unwrap_or_default();
            let (qualifier, name) = match found.named.spelling {
                Some(spelling) => (spelling.scope, spelling.name),
                None if found.named.is_unqualified => (None, text.to_owned()),
                None => unqualified(language, text),
            };
            let scope = found.named.scope.and_then(|bytes| self.text.get(bytes)).map(str::to_owned);
            let definition = Definition {
                name,
                scope: scope.or(qualifier),
                kind: found.kind,
                category: found.category,
                start_line: found.start_row as u32 + 1,
                line: found.named.name.start_position().row as u32 + 1,
                end_line: found.end_row as u32 + 1,
                name_range,
                parent,
                depth: open.len() as u32,
                has_error: found.has_error,
                is_test: false,
            };
            let clause_of = language.row.has_clauses.then(|| {
                let sibling = definitions.iter().rposition(|before| before.parent == parent)?;
                let is_same = is_clause(&definitions[sibling], &definition);
                (is_same && arities[sibling] == found.named.arity).then_some(sibling)
            });
            match clause_of.flatten() {
                Some(sibling) => {
                    let before = &mut definitions[sibling];
                    before.end_line = definition.end_line;
                    before.has_error |= definition.has_error;
                    open.push((sibling, bytes));
                }
                None => {
                    open.push((definitions.len(), bytes));
                    definitions.push(definition);
                    arities.push(found.named.arity);
                }
            }
        }
        trim_blank_ends(self.text, &mut definitions);
        definitions
    }
}

/// Returns true if a definition is another clause of the previous one.
fn is_clause(before: &Definition, next: &Definition) -> bool {
    next.category == Category::Function && (&before.name, before.category) == (&next.name, next.category)
}

/// Returns true if variables in a node are local: in a function, but not in a type that the function defines.
fn is_local(kind: NodeKind, scope: Option<Category>, is_outer_local: bool) -> bool {
    match scope {
        Some(Category::Function) => true,
        Some(Category::Type | Category::Module | Category::Extension) => false,
        _ => (is_outer_local || kind.is_local_scope) && !kind.is_member_scope,
    }
}

/// Computes the first and the last row of a node. A line end at the end of the node belongs to its last row.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (start.row, last)
}

fn is_first_in_line(text: &str, node: Node<'_>) -> bool {
    let start = node.start_byte();
    let line = text.get(start - node.start_position().column.min(start)..start).unwrap_or_default();
    line.trim().is_empty()
}

/// Returns true if a comment is about the file or module that contains it, and not about the next definition:
/// an interpreter line, an inner documentation comment, or one with a tag such as `@file`.
fn is_about_the_file(language: &Language, site: Site<'_, '_>) -> bool {
    let text = site.text_of(site.node);
    if site.node.start_byte() == 0 && text.starts_with("#!") {
        return true;
    }
    if language.row.inner_comments.iter().any(|start| text.starts_with(start)) {
        return true;
    }
    let is_tag = |line: &str| {
        let word = line.trim_start_matches([' ', '\t', '/', '*', '!']).split_whitespace().next();
        word.is_some_and(|word| FILE_TAGS.contains(&word))
    };
    ["/**", "/*!"].iter().any(|start| text.starts_with(start)) && text.lines().any(is_tag)
}

/// Tags of JSDoc, TSDoc, PHPDoc and Doxygen that make a comment document its file.
const FILE_TAGS: [&str; 5] = ["@file", "\\file", "@fileoverview", "@overview", "@packageDocumentation"];

/// Ends each definition at its last line with text, because some nodes extend to the next token.
fn trim_blank_ends(text: &str, definitions: &mut [Definition]) {
    let is_blank: Vec<bool> = text.split('\n').map(|line| line.trim().is_empty()).collect();
    for definition in definitions {
        while definition.end_line > definition.line
            && is_blank.get(definition.end_line as usize - 1).copied().unwrap_or(true)
        {
            definition.end_line -= 1;
        }
    }
}

/// Splits a name into its qualifier and its last part, without quotes.
fn unqualified(language: &Language, name: &str) -> (Option<String>, String) {
    let unquoted = |quote: char| name.strip_prefix(quote)?.strip_suffix(quote);
    let name = ['"', '\'', '`'].into_iter().find_map(unquoted).unwrap_or(name).trim();
    let split = |separator: &&str| {
        let (qualifier, last) = name.rsplit_once(separator)?;
        // The operator `<.>` has no qualifier.
        (qualifier.contains(char::is_alphanumeric) && !last.is_empty()).then_some((qualifier, last))
    };
    let splits = language.row.separators.iter().filter_map(split);
    match splits.min_by_key(|(_, last)| last.len()) {
        Some((qualifier, last)) => (Some(qualifier.to_owned()), last.to_owned()),
        None => (None, name.to_owned()),
    }
}
