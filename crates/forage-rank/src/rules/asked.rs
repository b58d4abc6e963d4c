//! Puts first the files that a short query asks for by name, and a file that alone defines the name in the
//! query.

use crate::kinds::FileKind;
use crate::languages::DefinitionKind;
use crate::query::RankQuery;
use crate::retrieve::FileCandidate;

use super::{Effect, Evidence, Id, RULES};

/// The value of a file whose name only differs in case from the named one.
const OTHER_CASE: f32 = 0.5;

/// Sets the values of files that are asked for by name, and clears the rules that would lower them.
pub(super) fn put_asked_first(query: &RankQuery, candidates: &[FileCandidate], evidence: &mut [Evidence]) {
    for (candidate, evidence) in candidates.iter().zip(&mut *evidence) {
        let values = query.asked_files.iter().filter_map(|file| {
            let is_same_case = file.is_end_of(&candidate.record.path)?;
            Some(if is_same_case { 1.0 } else { OTHER_CASE })
        });
        let value = values.fold(0.0, f32::max);
        if value > 0.0 {
            raise(evidence, Id::FileAsked, value);
        }
    }
    if let Some(index) = sole_definition(query, candidates) {
        raise(&mut evidence[index], Id::DefinesAlone, 1.0);
    }
}

fn raise(evidence: &mut Evidence, id: Id, value: f32) {
    for (value, rule) in evidence.values.iter_mut().zip(RULES) {
        if rule.effect == Effect::Lowers {
            *value = 0.0;
        }
    }
    evidence.values[id as usize] = value;
}

/// Finds the only candidate that defines the name, if the whole query is one. If there are several, the best
/// must be unique. A type is better than a function of the same name, and an outer definition is better than
/// an inner one. For example, a trait is better than the associated types in its implementations. Code is
/// better than tests and declarations.
fn sole_definition(query: &RankQuery, candidates: &[FileCandidate]) -> Option<usize> {
    let [name] = query.names.as_slice() else { return None };
    if !query.is_symbol {
        return None;
    }
    let definition = |candidate: &FileCandidate| {
        let record = &candidate.record;
        let own = record.symbols.iter().filter(|symbol| record.name(symbol) == name);
        let places = own.filter_map(|symbol| Some((precedence(symbol.kind)?, symbol.indent)));
        let is_later = candidate.kinds.is_secondary() || candidate.kinds.has(FileKind::Declarations);
        places.min().map(|place| (is_later, place))
    };
    let definitions = candidates.iter().map(definition).enumerate();
    let mut definitions: Vec<_> = definitions.filter_map(|(index, place)| Some((place?, index))).collect();
    definitions.sort_unstable();
    match definitions.as_slice() {
        [(_, only)] => Some(*only),
        [(first, only), (second, _), ..] if first < second => Some(*only),
        _ => None,
    }
}

/// Returns the precedence of a kind that defines a name, or `None` if the kind only mentions a name.
fn precedence(kind: DefinitionKind) -> Option<u8> {
    match kind {
        DefinitionKind::Type | DefinitionKind::Module => Some(0),
        DefinitionKind::Function => Some(1),
        DefinitionKind::Constant => Some(2),
        DefinitionKind::Declaration => Some(3),
        DefinitionKind::Extension | DefinitionKind::Heading => None,
    }
}
