//! Decides which definition a use means, and why we believe it.
//!
//! We know neither types nor what modules export. So we claim an edge only if the file defines or imports the
//! name, or if no other definition could be meant.

use std::collections::HashSet;
use std::sync::LazyLock;

use forage_fs::{RelPath, Root};
use forage_rank::{DefinitionKind, Receiver};

use super::super::uses::qualifier::IMPLICIT_MEMBERS;
use super::facts::{Container, FilePlace, NameFacts, Site, UseFact};
use super::imports::Import;

/// Why we believe that a use means a definition, the best reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    SameFile,
    SamePackage,
    ImportSeen,
    TypeSeen,
    OnlyDefinition,
}

impl Reason {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::SameFile => "same file",
            Self::SamePackage => "same package",
            Self::ImportSeen => "import seen",
            Self::TypeSeen => "type seen",
            Self::OnlyDefinition => "only definition",
        }
    }
}

/// Names that standard libraries give to members, by the family of their language. The family `general` is for
/// all languages.
static COMMON: LazyLock<HashSet<(&str, &str)>> = LazyLock::new(|| {
    let (mut names, mut family) = (HashSet::new(), "");
    let lines = include_str!("common_members.txt").lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(next) => family = next,
            None => names.extend(line.split_whitespace().map(|name| (family, name))),
        }
    }
    names
});

/// Minimum length of a name that we take for a project's own.
const OWN_NAME_LENGTH: usize = 4;

/// All definitions and uses of one name.
pub(super) struct Known<'a> {
    pub(super) name: &'a str,
    pub(super) root: &'a Root,
    pub(super) files: Vec<(&'a FilePlace, &'a NameFacts)>,
    /// Definitions that a change has removed, each with the index of its file.
    pub(super) removed: Vec<(usize, Site)>,
    /// True if we know all files that contain the name.
    pub(super) is_complete: bool,
}

/// A definition: the index of its file, and its own index there. Removed ones come after those of the file.
pub(super) type SiteIndex = (usize, usize);

impl Known<'_> {
    pub(super) fn sites(&self) -> impl Iterator<Item = (SiteIndex, &Site)> {
        let of_file = self.files.iter().enumerate().flat_map(|(file, (_, facts))| {
            facts.sites.iter().enumerate().map(move |(at, site)| ((file, at), site))
        });
        let removed = self.removed.iter().enumerate();
        of_file.chain(removed.map(|(at, (file, site))| ((*file, self.files[*file].1.sites.len() + at), site)))
    }

    /// Returns a definition.
    pub(super) fn site(&self, at: SiteIndex) -> Option<&Site> {
        self.sites().find(|(index, _)| *index == at).map(|(_, site)| site)
    }

    fn place(&self, at: SiteIndex) -> &FilePlace {
        self.files[at.0].0
    }

    /// Decides which definition a use in a file means. `None` if the name alone does not show it.
    pub(super) fn resolve(&self, file: usize, used: &UseFact) -> Option<(SiteIndex, Reason)> {
        let resolver = Resolver { known: self, file, from: self.files[file].0 };
        match &used.receiver {
            None => resolver.bare(used),
            Some(Receiver::Own) => resolver.own(used),
            Some(Receiver::Type(name)) => resolver.qualified(name, true),
            Some(Receiver::Variable(name)) => {
                let of_type = used.receiver_type.as_ref().and_then(|name| resolver.qualified(name, true));
                let of_type = of_type.map(|(at, _)| (at, Reason::TypeSeen));
                of_type.or_else(|| resolver.qualified(name, false))
            }
            Some(Receiver::Super) => {
                // The class around the use overrides it, so another one is meant.
                let class = Container::Class(used.class.clone()?);
                resolver.member().filter(|(at, _)| self.site(*at).is_some_and(|site| site.container != class))
            }
            Some(Receiver::Expression) => resolver.member(),
        }
    }
}

/// Resolves the uses of one file.
struct Resolver<'a> {
    known: &'a Known<'a>,
    file: usize,
    from: &'a FilePlace,
}

impl Resolver<'_> {
    /// Returns the definitions that this file's language can use.
    fn sites(&self) -> impl Iterator<Item = (SiteIndex, &Site)> {
        self.known.sites().filter(|(at, _)| self.known.place(*at).family == self.from.family)
    }

    /// Returns the definition if all of these are parts of one. If there are bodies, prototypes don't count.
    fn only<'s>(&self, sites: impl Iterator<Item = (SiteIndex, &'s Site)>) -> Option<SiteIndex> {
        let all: Vec<(SiteIndex, &Site)> = sites.collect();
        let has_body = |(_, site): &(SiteIndex, &Site)| site.kind != DefinitionKind::Declaration;
        let any_body = all.iter().any(has_body);
        let mut chosen = all.iter().filter(|site| !any_body || has_body(site));
        let (first, site) = chosen.next()?;
        let is_same = |(at, other): &(SiteIndex, &Site)| at.0 == first.0 && other.container == site.container;
        chosen.all(is_same).then_some(*first)
    }

    /// Finds the definition that an import names.
    fn fitting(&self, import: &Import, is_wanted: impl Fn(&Site) -> bool + Copy) -> Option<SiteIndex> {
        // A module of this project that does not define the name must have imported it itself.
        let is_passed_on = !import.is_absolute() && self.known.is_complete;
        let passed_on = || self.only(self.sites().filter(|(_, site)| is_passed_on && is_wanted(site)));
        self.defined_in(import, None, is_wanted).or_else(passed_on)
    }

    /// Finds the definition that best fits the module of an import, or the module `inner` of that.
    fn defined_in(
        &self,
        import: &Import,
        inner: Option<&str>,
        is_wanted: impl Fn(&Site) -> bool,
    ) -> Option<SiteIndex> {
        let is_package = |parts: &[String]| {
            let path = format!("{}/__init__.py", parts.join("/"));
            RelPath::parse(&path, &RelPath::root()).is_ok_and(|path| self.known.root.locate(&path).is_ok())
        };
        let fit = |at: SiteIndex| import.fit(inner, self.from, self.known.place(at), is_package);
        let wanted = self.sites().filter(|(_, site)| is_wanted(site));
        let fits: Vec<_> =
            wanted.map(|(at, site)| (fit(at), at, site)).filter(|(fit, ..)| *fit > 0).collect();
        let best = fits.iter().map(|(fit, ..)| *fit).max()?;
        self.only(fits.into_iter().filter(|(fit, ..)| *fit == best).map(|(_, at, site)| (at, site)))
    }

    fn is_distinct(&self) -> bool {
        let name = self.known.name;
        let is_common = |family| COMMON.contains(&(family, name));
        let is_own =
            name.chars().count() >= OWN_NAME_LENGTH && !is_common("general") && !is_common(self.from.family);
        self.known.is_complete && is_own
    }

    /// Resolves a name without a receiver.
    fn bare(&self, used: &UseFact) -> Option<(SiteIndex, Reason)> {
        if used.is_shadowed {
            return None;
        }
        if let Some(at) = used.visible {
            return Some(((self.file, at), Reason::SameFile));
        }
        let is_outer = |site: &Site| site.container == Container::File;
        if self.from.names_directories() {
            let is_near = |at: SiteIndex| self.known.place(at).directory == self.from.directory;
            let near = self.sites().filter(|(at, site)| is_outer(site) && is_near(*at));
            if let Some(at) = self.only(near) {
                return Some((at, Reason::SamePackage));
            }
        }
        let name = self.known.name;
        let of_name = |import: &&Import| import.names.iter().any(|(_, local)| local == name);
        if let Some(import) = self.from.imports.iter().find(of_name) {
            let is_original = import.names.iter().any(|(original, local)| local == name && original == name);
            let found = is_original.then(|| self.fitting(import, is_outer)).flatten();
            return found.map(|at| (at, Reason::ImportSeen));
        }
        // A module may import all names of another one, so only a project's own name shows anything.
        let mut globs = self.from.imports.iter().filter(|import| import.is_glob && self.from.family != "cpp");
        let found = globs.find_map(|import| self.defined_in(import, None, is_outer));
        if let Some(at) = found.filter(|_| self.is_distinct()) {
            return Some((at, Reason::ImportSeen));
        }
        // In these languages, a name without a receiver must be defined or imported in its file.
        if matches!(self.from.family, "python" | "javascript" | "go") || !self.is_distinct() {
            return None;
        }
        let is_implicit = IMPLICIT_MEMBERS.contains(&self.from.language);
        let all = self.sites().filter(|(_, site)| is_outer(site) || is_implicit);
        self.only(all).map(|at| (at, Reason::OnlyDefinition))
    }

    /// Resolves a member of the class around the use.
    fn own(&self, used: &UseFact) -> Option<(SiteIndex, Reason)> {
        let class = Container::Class(used.class.clone()?);
        let own = self.sites().filter(|(at, site)| at.0 == self.file && site.container == class);
        match self.only(own) {
            Some(at) => Some((at, Reason::SameFile)),
            None => self.member(),
        }
    }

    /// Resolves a name after the name of a type, a module or a variable.
    fn qualified(&self, receiver: &str, is_type: bool) -> Option<(SiteIndex, Reason)> {
        let is_here = |at: SiteIndex| at.0 == self.file;
        let import = self.from.imports.iter().find(|import| {
            import.alias.as_deref() == Some(receiver)
                || import.names.iter().any(|(_, local)| local == receiver)
        });
        // The receiver may have another name where it is defined.
        let original = import.and_then(|import| {
            let (original, _) = import.names.iter().find(|(_, local)| local == receiver)?;
            Some(original.as_str())
        });
        let class = Container::Class(original.unwrap_or(receiver).to_owned());
        let of_class = |site: &Site| site.container == class;
        let inside = self
            .sites()
            .filter(|(at, site)| is_here(*at) && (of_class(site) || site.module_name() == Some(receiver)));
        if let Some(at) = self.only(inside) {
            return Some((at, Reason::SameFile));
        }
        let is_outer = |site: &Site| site.container == Container::File;
        if let Some(import) = import {
            let of_module = || match original {
                // An imported name may be that of a module, and a default import that of its main object.
                Some(name) => self.defined_in(import, Some(name), is_outer),
                None => self.fitting(import, is_outer),
            };
            let of_default = || import.alias.as_ref().and_then(|_| self.defined_in(import, None, is_outer));
            let found = self.fitting(import, of_class).or_else(of_module).or_else(of_default);
            match found {
                Some(at) => return Some((at, Reason::ImportSeen)),
                // It comes from elsewhere.
                None if import.is_absolute() || original.is_none() => return None,
                None => {}
            }
        }
        if is_type {
            let named = self.sites().filter(|(at, site)| {
                let is_module =
                    is_outer(site) && self.known.place(*at).parts.last().is_some_and(|it| it == receiver);
                of_class(site) || is_module
            });
            return self
                .only(named)
                .filter(|_| self.known.is_complete)
                .map(|at| (at, Reason::OnlyDefinition));
        }
        self.member()
    }

    /// Resolves a member of an object whose type we don't know.
    fn member(&self) -> Option<(SiteIndex, Reason)> {
        if !self.is_distinct() {
            return None;
        }
        let is_member = |(_, site): &(SiteIndex, &Site)| matches!(site.container, Container::Class(_));
        let mut related = self.known.files.iter().filter(|(place, _)| place.family == self.from.family);
        if related.any(|(_, facts)| facts.is_assigned) || !self.sites().all(|site| is_member(&site)) {
            return None;
        }
        self.only(self.sites()).map(|at| (at, Reason::OnlyDefinition))
    }
}
