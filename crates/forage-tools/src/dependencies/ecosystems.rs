//! The package managers whose lock files and directories we read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use forage_fs::{RelPath, Root};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Package, Project, Sources};

/// A package manager.
pub(super) struct Ecosystem {
    /// Files and directories of a project in which it was used.
    lists: &'static [&'static str],
    /// Finds the packages that the text after `dep:` may mean. Without a text, finds all packages; those of npm
    /// are only the ones on which the project itself depends.
    pub(super) find: fn(&Project<'_>, Option<&str>) -> Vec<Package>,
}

pub(super) const ECOSYSTEMS: [Ecosystem; 7] = [
    Ecosystem { lists: &["Cargo.lock"], find: cargo },
    Ecosystem { lists: &["node_modules"], find: npm },
    Ecosystem {
        lists: &[".venv", "venv", "env", "pyproject.toml", "requirements.txt", "setup.py"],
        find: python,
    },
    Ecosystem { lists: &["go.mod"], find: go },
    Ecosystem { lists: &["Gemfile.lock"], find: ruby },
    Ecosystem { lists: &["composer.lock"], find: composer },
    Ecosystem { lists: &["mix.lock"], find: hex },
];

impl Ecosystem {
    /// Returns the first of its lists that the project has, below the root.
    pub(super) fn list(&self, project: &Project<'_>) -> Option<String> {
        let mut paths = self.lists.iter().filter_map(|list| project.path(list));
        let found = paths.find(|path| project.root.locate(path).is_ok())?;
        Some(found.display().into_owned())
    }
}

/// The name and version of a package in a path.
#[derive(Clone, Copy)]
struct Spec<'a> {
    name: &'a str,
    version: Option<&'a str>,
    rest: &'a str,
}

impl<'a> Spec<'a> {
    /// Splits `NAME@VERSION/REST`. The name has this number of components.
    fn parse(named: &'a str, components: usize) -> Option<Self> {
        let mut ends = named.match_indices('/').map(|(at, _)| at).chain([named.len()]);
        let end = ends.nth(components - 1)?;
        let (package, rest) = (&named[..end], named[end..].trim_start_matches('/'));
        let (name, version) = match package.rfind('@') {
            Some(at) if at > 0 => (&package[..at], Some(&package[at + 1..])),
            _ => (package, None),
        };
        is_plain(name).then_some(Self { name, version, rest })
    }

    /// Returns the request for a package of this name, unless the text after `dep:` means another one.
    fn for_package(named: Option<&'a str>, name: &'a str) -> Option<Self> {
        match named {
            Some(named) => Self::parse(named, name.split('/').count()).filter(|spec| spec.name == name),
            None => is_plain(name).then_some(Self { name, version: None, rest: "" }),
        }
    }

    /// Returns true if the version is the requested one. `1.2` also means `1.2.3`.
    fn accepts(&self, version: Option<&str>) -> bool {
        let Some(wanted) = self.version else { return true };
        version.is_some_and(|version| {
            let rest =
                version.strip_prefix(wanted).or_else(|| version.strip_prefix('v')?.strip_prefix(wanted));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Creates a package, unless its version is not the requested one.
    fn package(&self, version: Option<&str>, listed_in: &str, sources: Sources) -> Option<Package> {
        let version = version.filter(|version| is_version(version));
        self.accepts(version).then(|| Package {
            name: self.name.to_owned(),
            version: version.map(str::to_owned),
            is_direct: false,
            rest: self.rest.to_owned(),
            listed_in: listed_in.to_owned(),
            sources,
        })
    }
}

/// Returns true for names joined by `/` that may be part of a path, and of a pattern of paths.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains(['*', '\\']))
}

/// Returns true if a text of a lock file may be part of a path and of an answer.
fn is_version(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-_~!".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain) && !text.contains("..")
}

/// Returns a key that orders versions: by their numbers, and releases after their previews.
pub(super) fn version_order(version: Option<&str>) -> (Vec<u64>, bool) {
    let version = version.unwrap_or_default().trim_start_matches('v');
    let (release, preview) = version.split_once('-').unwrap_or((version, ""));
    (release.split(['.', '+']).map(|part| part.parse().unwrap_or(0)).collect(), preview.is_empty())
}

fn cargo(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let lock = project.text("Cargo.lock").unwrap_or_default();
    let entries: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    let direct = direct_crates(&entries);
    let mut packages = Vec::new();
    for entry in entries {
        let (Some(name), Some(version)) = (lock_field(entry, "name"), lock_field(entry, "version")) else {
            continue;
        };
        let source = lock_field(entry, "source");
        let is_same = |spec: &Spec<'_>| spec.name.replace('_', "-") == name.replace('_', "-");
        let spec = match named {
            Some(named) => Spec::parse(named, 1).filter(is_same),
            // A package without a source is a part of the project.
            None => source.and_then(|_| Spec::for_package(None, name)),
        };
        let Some(spec) = spec.filter(|_| is_version(name) && is_version(version)) else { continue };
        let sources = crate_sources(project, name, version, source);
        let package = Spec { name, ..spec }.package(Some(version), "Cargo.lock", sources);
        let is_direct = direct.contains(&(name, None)) || direct.contains(&(name, Some(version)));
        packages.extend(package.map(|package| Package { is_direct, ..package }));
    }
    packages
}

/// Returns a field of an entry of `Cargo.lock`.
fn lock_field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let mut values = entry.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
    values.next()?.strip_suffix('"')
}

/// Lists the crates on which the project's own packages depend, with their versions if there are several.
fn direct_crates<'a>(entries: &[&'a str]) -> HashSet<(&'a str, Option<&'a str>)> {
    let own = entries.iter().filter(|entry| lock_field(entry, "source").is_none());
    let lists = own.filter_map(|entry| entry.split_once("dependencies = [")?.1.split(']').next());
    // `"name"`, `"name version"` or `"name version (source)"`
    let crates = lists.flat_map(|list| list.split('"').skip(1).step_by(2));
    let parts = crates.filter_map(|of_crate| {
        let mut words = of_crate.split(' ');
        Some((words.next()?, words.next()))
    });
    parts.collect()
}

/// Finds a package of Cargo in the project's `vendor` directory or in Cargo's home.
fn crate_sources(project: &Project<'_>, name: &str, version: &str, source: Option<&str>) -> Sources {
    let Some(source) = source else {
        return Sources::Missing(format!("{name} is a part of this project; search the project itself"));
    };
    let whole = format!("{name}-{version}");
    let is_it = |directory: &RelPath| {
        let manifest = project.text_in(project.root, &directory.join(b"Cargo.toml"));
        let field = |key| manifest.as_ref().and_then(|manifest| package_field(manifest, key));
        (field("name"), field("version")) == (Some(name), Some(version))
    };
    let vendored = [format!("vendor/{whole}"), format!("vendor/{name}")];
    if let Some(directory) = vendored.iter().flat_map(|path| project.matching(path)).find(is_it) {
        return Sources::Directory(Arc::clone(project.root), directory);
    }
    let found = match source.strip_prefix("git+") {
        Some(source) => crate_in_checkout(project, name, source),
        None => crate_of_registry(project, &whole, source),
    };
    found.unwrap_or_else(|| not_here(&format!("{name} {version}"), "Cargo.lock", "cargo fetch"))
}

/// Returns a field of `[package]` in a `Cargo.toml`.
fn package_field<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let lines = manifest.lines().skip_while(|line| line.trim_end() != "[package]").skip(1);
    let mut values = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
        line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')
    });
    values.next()?.split('"').next()
}

/// Finds a package in a checkout of the repository that its source names.
fn crate_in_checkout(project: &Project<'_>, name: &str, source: &str) -> Option<Sources> {
    let (address, commit) = source.rsplit_once('#')?;
    let repository = address.split('?').next()?.trim_end_matches('/').rsplit('/').next()?;
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    let commit = commit.get(..7).filter(|_| commit.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let store = project.store(project.stores.cargo_checkouts.as_ref()?)?;
    // A checkout is called after its repository and the first digits of its commit.
    let checkouts = project.matching_in(&store, &RelPath::root(), &format!("*/{commit}"));
    let checkout = checkouts.into_iter().find(|checkout| is_called_after(checkout, repository))?;
    // A repository may contain several packages.
    let parts = [name, &format!("crates/{name}"), "", "*", "*/*"].map(str::to_owned);
    let mut parts = parts.iter().flat_map(|part| project.matching_in(&store, &checkout, part));
    let part = parts.find(|part| {
        let manifest = project.text_in(&store, &part.join(b"Cargo.toml"));
        manifest.is_some_and(|manifest| package_field(&manifest, "name") == Some(name))
    });
    drop(parts);
    Some(Sources::Directory(store, part.unwrap_or(checkout)))
}

/// Finds a package among those of its registry, or else of another registry, which may be a mirror.
fn crate_of_registry(project: &Project<'_>, whole: &str, source: &str) -> Option<Sources> {
    let store = project.store(project.stores.cargo_registry.as_ref()?)?;
    let host = source.split_once("://").and_then(|(_, address)| address.split(['/', ':', '?']).next());
    let hosts: &[&str] = match source.ends_with("github.com/rust-lang/crates.io-index") {
        true => &["index.crates.io", "github.com"],
        false => host.as_slice(),
    };
    let found = project.matching_in(&store, &RelPath::root(), &format!("*/{whole}"));
    let is_own = |directory: &&RelPath| hosts.iter().any(|host| is_called_after(directory, host));
    let directory = found.iter().find(is_own).or(found.last())?.clone();
    Some(Sources::Directory(store, directory))
}

/// Returns true if the first name of a path is this name and a hash, as in `index.crates.io-1949cf8c6b5b557f`.
fn is_called_after(path: &RelPath, name: &str) -> bool {
    let first = path.names().next().unwrap_or_default();
    let before_hash = first.iter().rposition(|byte| *byte == b'-').map_or(first, |dash| &first[..dash]);
    !name.is_empty() && before_hash.eq_ignore_ascii_case(name.as_bytes())
}

fn not_here(package: &str, list: &str, command: &str) -> Sources {
    Sources::Missing(format!(
        "{package} is in {list}, but its sources are not on this disk; `{command}` downloads them"
    ))
}

/// The manifest of a package of npm.
#[derive(Deserialize)]
struct NodePackage {
    version: Option<String>,
}

/// The dependencies in the manifest of a Node project.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeProject {
    dependencies: BTreeMap<String, IgnoredAny>,
    dev_dependencies: BTreeMap<String, IgnoredAny>,
    peer_dependencies: BTreeMap<String, IgnoredAny>,
}

fn npm(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let lock = project.text("package-lock.json").unwrap_or_default();
    if let Some(named) = named {
        let spec = Spec::parse(named, if named.starts_with('@') { 2 } else { 1 });
        return spec.map(|spec| npm_versions(project, spec, &lock)).unwrap_or_default();
    }
    let manifest = project.path("package.json").and_then(|path| project.json::<NodeProject>(&path));
    let manifest = manifest.unwrap_or_default();
    let lists = [&manifest.dependencies, &manifest.dev_dependencies, &manifest.peer_dependencies];
    let names: BTreeSet<&String> = lists.into_iter().flat_map(BTreeMap::keys).collect();
    let specs = names.into_iter().filter_map(|name| Spec::for_package(None, name));
    // Once the call must end, we need not read the lock again and again.
    let specs = specs.take_while(|_| project.stop.check().is_none());
    specs.flat_map(|spec| npm_versions(project, spec, &lock)).collect()
}

/// Finds all versions of a package of npm.
fn npm_versions(project: &Project<'_>, spec: Spec<'_>, lock: &str) -> Vec<Package> {
    let own = project.matching(&format!("node_modules/{}", spec.name));
    // pnpm keeps every version in a directory of its own, and npm nests those that differ.
    let stored = format!("node_modules/.pnpm/{}@*/node_modules/{}", spec.name.replace('/', "+"), spec.name);
    let nested = lock.split('"').filter(|key| {
        let before = key.strip_suffix(spec.name).and_then(|before| before.strip_suffix("node_modules/"));
        before.is_some_and(|before| !before.is_empty()) && is_plain(key)
    });
    let nested = nested.flat_map(|key| project.matching(key));
    let others = project.matching(&stored).into_iter().chain(nested);
    let directories = own.into_iter().map(|own| (own, true)).chain(others.map(|other| (other, false)));
    let mut packages: Vec<Package> = Vec::new();
    for (directory, is_direct) in directories {
        let Some(manifest) = project.json::<NodePackage>(&directory.join(b"package.json")) else { continue };
        let version = manifest.version.as_deref();
        if !packages.iter().any(|known| known.version.as_deref() == version) {
            let sources = Sources::Directory(Arc::clone(project.root), directory);
            let package = spec.package(version, "node_modules", sources);
            packages.extend(package.map(|package| Package { is_direct, ..package }));
        }
    }
    packages
}

/// Normalizes the name of a Python distribution (PEP 503).
fn normal(name: &str) -> String {
    let words = name.split(['-', '_', '.', '/']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn python(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let spec = named.and_then(|named| Spec::parse(named, 1));
    if named.is_some() && spec.is_none() {
        return Vec::new();
    }
    let mut packages = Vec::new();
    for (root, site) in site_packages(project) {
        let all = project.matching_in(&root, &site, "*.dist-info");
        let is_of = |information: &&RelPath| {
            let name = distribution(information).map(|(name, _)| normal(&name));
            spec.is_some_and(|spec| name == Some(normal(spec.name)))
        };
        let named: Vec<&RelPath> = all.iter().filter(is_of).collect();
        for information in if named.is_empty() { all.iter().collect() } else { named } {
            let Some((name, version)) = distribution(information) else { continue };
            let Some(spec) = spec.or_else(|| Spec::for_package(None, &name)) else { continue };
            let Some(sources) = python_sources(project, (&root, &site), information, (spec.name, &name))
            else {
                continue;
            };
            let package = spec.package(Some(&version), &site.display(), sources);
            // Another environment may be active than that of the project.
            let is_direct = Arc::ptr_eq(&root, project.root);
            packages.extend(package.map(|package| Package { is_direct, ..package }));
        }
    }
    packages
}

/// Finds the module of a distribution, unless it has neither this name nor a module of this name.
fn python_sources(
    project: &Project<'_>,
    (root, site): (&Arc<Root>, &RelPath),
    information: &RelPath,
    (asked, name): (&str, &str),
) -> Option<Sources> {
    let record = project.text_in(root, &information.join(b"RECORD"))?;
    let modules = modules(&record);
    let is_asked = |module: &&&str| module.trim_end_matches(".py") == asked;
    let is_like = |module: &&&str| normal(module.trim_end_matches(".py")) == normal(name);
    let module = match modules.iter().find(is_asked) {
        // A module may have another name than its distribution.
        Some(module) => Some(module),
        None if normal(name) != normal(asked) => None,
        None => modules.iter().find(is_like).or(modules.first()),
    };
    let path = RelPath::from_bytes(module?.as_bytes(), site).ok()?;
    match root.locate(&path).ok()? {
        (_, true) => Some(Sources::Directory(Arc::clone(root), path)),
        (_, false) => Some(Sources::File(Arc::clone(root), path)),
    }
}

/// Splits the name of a `.dist-info` directory into the name and version of the distribution.
fn distribution(information: &RelPath) -> Option<(String, String)> {
    let whole = String::from_utf8_lossy(information.file_name());
    let (name, version) = whole.strip_suffix(".dist-info")?.rsplit_once('-')?;
    Some((name.to_owned(), version.to_owned()))
}

/// Finds the directories of installed Python modules: those of the project, and those of the active
/// environment.
fn site_packages(project: &Project<'_>) -> Vec<(Arc<Root>, RelPath)> {
    let mut sites = Vec::new();
    for environment in [".venv", "venv", "env"] {
        for layout in ["lib/python3*/site-packages", "Lib/site-packages"] {
            let found = project.matching(&format!("{environment}/{layout}"));
            sites.extend(found.into_iter().map(|path| (Arc::clone(project.root), path)));
        }
    }
    if let Some(library) = project.stores.python_library.as_ref().and_then(|path| project.store(path)) {
        for layout in ["python3*/site-packages", "site-packages"] {
            let found = project.matching_in(&library, &RelPath::root(), layout);
            sites.extend(found.into_iter().map(|path| (Arc::clone(&library), path)));
        }
    }
    sites
}

/// Lists the modules of a distribution from its `RECORD`, those with most files first. Directories without
/// modules of their own are namespaces, such as `google/cloud`, which other distributions share.
fn modules(record: &str) -> Vec<&str> {
    let files = record.lines().map(|line| line.split(',').next().unwrap_or_default().trim_matches('"'));
    let is_module = |file: &&str| {
        let is_code = [".py", ".pyi", ".so"].iter().any(|end| file.ends_with(end));
        is_code && is_plain(file)
    };
    let mut files: Vec<&str> = files.filter(is_module).collect();
    // The files below a directory follow it, whatever other names begin like it.
    files.sort_by(|a, b| directory_of(a).split('/').cmp(directory_of(b).split('/')));
    let mut modules: Vec<(usize, &str)> = Vec::new();
    for file in files {
        let directory = directory_of(file);
        let is_within = |module: &str| {
            directory.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match modules.last_mut().filter(|(_, module)| is_within(module)) {
            Some((count, _)) => *count += 1,
            None => modules.push((1, if directory.is_empty() { file } else { directory })),
        }
    }
    modules.sort_by_key(|(count, _)| Reverse(*count));
    modules.into_iter().map(|(_, module)| module).collect()
}

fn directory_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn go(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let list = project.text("go.mod").unwrap_or_default();
    let mut required = required_modules(&list);
    if let Some(named) = named {
        // A module's name has any number of components, and a module may be below another one.
        let is_named = |(module, _): &(&str, &str)| {
            named.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@']))
        };
        required = required
            .into_iter()
            .filter(is_named)
            .max_by_key(|(module, _)| module.len())
            .into_iter()
            .collect();
    }
    let required = required.into_iter().take_while(|_| project.stop.check().is_none());
    let packages = required.filter_map(|(module, version)| {
        let spec = Spec::for_package(named, module)?;
        let (version, sources) = module_sources(project, &list, module, version);
        spec.package(Some(&version), "go.mod", sources)
    });
    packages.collect()
}

/// Finds a module of Go, and its version unless a directory replaces it.
fn module_sources(project: &Project<'_>, list: &str, module: &str, version: &str) -> (String, Sources) {
    if let Some(directory) = project.matching(&format!("vendor/{module}")).pop() {
        let vendored = project.text("vendor/modules.txt").unwrap_or_default();
        let mut versions = vendored.lines().filter_map(|line| {
            let mut words = line.strip_prefix("# ")?.split_whitespace();
            (words.next() == Some(module)).then(|| words.next()).flatten()
        });
        let version = versions.next().unwrap_or(version).to_owned();
        return (version, Sources::Directory(Arc::clone(project.root), directory));
    }
    let (path, version) = replaced_module(list, module, version).unwrap_or((module, version));
    if version.is_empty() {
        let directory = project.path(path).filter(|_| !path.starts_with('/'));
        let outside = || format!("{module} is replaced in go.mod by a directory outside of the root");
        let sources = match directory {
            Some(directory) => Sources::Directory(Arc::clone(project.root), directory),
            None => Sources::Missing(outside()),
        };
        return (String::new(), sources);
    }
    // The cache also has directories that are no modules, but their names have no dot.
    let host = path.split('/').next().unwrap_or_default();
    let is_module = host.contains('.') && is_plain(path) && is_version(version);
    let store = project.stores.go_modules.as_ref().filter(|_| is_module).and_then(|path| project.store(path));
    let found = store.and_then(|store| {
        let name = format!("{}@{}", escaped_module(path), escaped_module(version));
        let directory = project.matching_in(&store, &RelPath::root(), &name).pop()?;
        Some(Sources::Directory(store, directory))
    });
    let sources = found.unwrap_or_else(|| not_here(module, "go.mod", "go mod download"));
    (version.to_owned(), sources)
}

/// Writes a module as the cache does: `A` as `!a`, for file systems that ignore case.
fn escaped_module(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii_uppercase() {
            escaped.push('!');
        }
        escaped.push(c.to_ascii_lowercase());
    }
    escaped
}

/// Lists the modules and versions that a `go.mod` requires.
fn required_modules(list: &str) -> Vec<(&str, &str)> {
    let mut required = Vec::new();
    let mut is_block = false;
    for line in list.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let entry = match line.strip_prefix("require") {
            Some(rest) if rest.trim() == "(" => {
                is_block = true;
                continue;
            }
            Some(rest) if rest.starts_with([' ', '\t']) => rest,
            _ if line == ")" => {
                is_block = false;
                continue;
            }
            _ if is_block => line,
            _ => continue,
        };
        let mut words = go_words(entry);
        required.extend(words.next().zip(words.next()));
    }
    required
}

/// Splits a line of a `go.mod`. Its words may be in quotes.
fn go_words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().map(|word| word.trim_matches(['"', '`']))
}

/// Returns the module and version by which a `go.mod` replaces this version of a module, or the directory with an
/// empty version.
fn replaced_module<'a>(list: &'a str, module: &str, version: &str) -> Option<(&'a str, &'a str)> {
    let replaced = list.lines().filter_map(|line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        let entry = line.strip_prefix("replace").filter(|rest| rest.starts_with([' ', '\t']));
        let (left, right) = entry.unwrap_or(line).split_once("=>")?;
        let (mut left, mut right) = (go_words(left), go_words(right));
        if left.next() != Some(module) {
            return None;
        }
        let of_version = left.next();
        let is_it = of_version.is_none_or(|of_version| of_version == version);
        is_it.then_some((of_version.is_some(), right.next()?, right.next().unwrap_or_default()))
    });
    // A replacement of this version takes precedence over one of all versions.
    let chosen = replaced.max_by_key(|(is_of_version, ..)| *is_of_version);
    chosen.map(|(_, path, version)| (path, version))
}

fn ruby(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let lock = project.text("Gemfile.lock").unwrap_or_default();
    let (mut packages, mut section) = (Vec::new(), "");
    for line in lock.lines() {
        if !line.starts_with(' ') {
            section = line.trim_end();
        }
        // The resolved gems are indented by four spaces, and their own dependencies by six.
        let entry = line.strip_prefix("    ").and_then(|entry| entry.split_once(" ("));
        let Some((name, version)) = entry.filter(|(name, _)| !name.starts_with(' ')) else { continue };
        let version = version.trim_end_matches(')');
        let spec = Spec::for_package(named, name).filter(|_| is_version(version));
        let Some(spec) = spec.filter(|_| project.stop.check().is_none()) else { continue };
        let sources = match section {
            "GEM" => gem_sources(project, &format!("{name}-{version}")),
            "PATH" => Sources::Missing(format!("{name} is a directory that Gemfile.lock names; search it")),
            _ => {
                Sources::Missing(format!("{name} is not from a server of gems, and Forage finds only those"))
            }
        };
        packages.extend(spec.package(Some(version), "Gemfile.lock", sources));
    }
    packages
}

/// Finds an installed gem by its name and version.
fn gem_sources(project: &Project<'_>, whole: &str) -> Sources {
    if let Some(directory) = project.matching(&format!("vendor/bundle/ruby/*/gems/{whole}")).pop() {
        return Sources::Directory(Arc::clone(project.root), directory);
    }
    let mut stores = project.stores.gems.iter().filter_map(|path| project.store(path));
    let found = stores.find_map(|store| {
        let layouts = [whole.to_owned(), format!("*/gems/{whole}")];
        let find = |layout: &String| project.matching_in(&store, &RelPath::root(), layout).pop();
        let directory = layouts.iter().find_map(find)?;
        Some(Sources::Directory(store, directory))
    });
    found.unwrap_or_else(|| not_here(whole, "Gemfile.lock", "bundle install"))
}

/// `composer.lock`, or the list of installed packages in `vendor/composer/installed.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ComposerPackages {
    packages: Vec<ComposerPackage>,
    #[serde(rename = "packages-dev")]
    for_development: Vec<ComposerPackage>,
}

#[derive(Deserialize)]
struct ComposerPackage {
    name: String,
    version: Option<String>,
}

impl ComposerPackages {
    fn all(&self) -> impl Iterator<Item = &ComposerPackage> {
        self.packages.iter().chain(&self.for_development)
    }
}

fn composer(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let read = |path: &str| project.json::<ComposerPackages>(&project.path(path)?);
    let lock = read("composer.lock").unwrap_or_default();
    let installed = read("vendor/composer/installed.json").unwrap_or_default();
    let packages = lock.all().take_while(|_| project.stop.check().is_none()).filter_map(|package| {
        let spec = Spec::for_package(named, &package.name)?;
        let version = |of: &ComposerPackage| (of.name == package.name).then(|| of.version.clone()).flatten();
        let (sources, is_here) = match project.matching(&format!("vendor/{}", spec.name)).pop() {
            Some(directory) => (Sources::Directory(Arc::clone(project.root), directory), true),
            None => (not_here(spec.name, "composer.lock", "composer install"), false),
        };
        // The lock may be newer than what is installed.
        let installed = installed.all().filter(|_| is_here).find_map(version);
        spec.package(installed.as_deref().or(package.version.as_deref()), "composer.lock", sources)
    });
    packages.collect()
}

fn hex(project: &Project<'_>, named: Option<&str>) -> Vec<Package> {
    let lock = project.text("mix.lock").unwrap_or_default();
    let entries = lock.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\":"));
    let packages = entries.take_while(|_| project.stop.check().is_none()).filter_map(|(name, entry)| {
        let spec = Spec::for_package(named, name)?;
        // `{:hex, :name, "1.2.3", …}`
        let mut version = entry.contains("{:hex").then(|| entry.split('"').nth(1)).flatten();
        let installed;
        let sources = match project.matching(&format!("deps/{name}")).pop() {
            Some(directory) => {
                // The lock may be newer than what is installed.
                installed = project.text_in(project.root, &directory.join(b"hex_metadata.config"));
                version = installed.as_deref().and_then(hex_version).or(version);
                Sources::Directory(Arc::clone(project.root), directory)
            }
            None => not_here(name, "mix.lock", "mix deps.get"),
        };
        spec.package(version, "mix.lock", sources)
    });
    packages.collect()
}

/// Returns the version in the metadata of an installed package of Hex.
fn hex_version(metadata: &str) -> Option<&str> {
    metadata.split_once("{<<\"version\">>,<<\"")?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_version_and_rest_are_split() {
        let split = |named, components| {
            let Spec { name, version, rest } = Spec::parse(named, components).unwrap();
            (name, version, rest)
        };
        assert_eq!(split("serde", 1), ("serde", None, ""));
        assert_eq!(split("serde@1.0.219/src/de", 1), ("serde", Some("1.0.219"), "src/de"));
        assert_eq!(split("@babel/core/lib/a.js", 2), ("@babel/core", None, "lib/a.js"));
        assert_eq!(split("@babel/core@7.1.0", 2), ("@babel/core", Some("7.1.0"), ""));
        assert_eq!(split("github.com/a/b@v1.2.3/c.go", 3), ("github.com/a/b", Some("v1.2.3"), "c.go"));
        for wrong in ["", "..", "se*", "@x/..", "../serde"] {
            assert!(Spec::parse(wrong, if wrong.starts_with('@') { 2 } else { 1 }).is_none(), "{wrong}");
        }
        assert!(Spec::parse("vendor", 2).is_none());
    }

    #[test]
    fn versions_are_ordered_by_number_and_previews_come_before_releases() {
        let mut versions = ["1.10.0", "1.10.0-rc.1", "0.9.1", "1.9.0"];
        versions.sort_by_key(|version| version_order(Some(version)));
        assert_eq!(versions, ["0.9.1", "1.9.0", "1.10.0-rc.1", "1.10.0"]);
    }

    #[test]
    fn hostile_versions_are_refused() {
        for text in ["../../etc", "1/2", "1\n[searched 9 files]", "", "1..2"] {
            assert!(!is_version(text), "{text}");
        }
        assert!(is_version("1.0.0-rc.1+build5") && is_version("v0.0.0-20240101000000-abcdef012345"));
    }

    #[test]
    fn modules_of_go_mod() {
        let list = "module m\n\nrequire a.org/x v1.0.0\nrequire (\n\tb.org/y v2.0.0 // indirect\n)\n\
                    replace b.org/y => ../y\nreplace a.org/x v1.0.0 => c.org/z v3.0.0\n";
        assert_eq!(required_modules(list), [("a.org/x", "v1.0.0"), ("b.org/y", "v2.0.0")]);
        assert_eq!(replaced_module(list, "b.org/y", "v2.0.0"), Some(("../y", "")));
        assert_eq!(replaced_module(list, "a.org/x", "v1.0.0"), Some(("c.org/z", "v3.0.0")));
        assert_eq!(replaced_module(list, "a.org/x", "v1.0.1"), None);
        assert_eq!(replaced_module(list, "d.org/w", "v1.0.0"), None);
        let quoted = "require \"a.org/x\"\tv1.0.0\nreplace a.org/x => ../x\nreplace a.org/x v1.0.0 => b.org/y v1.1.0\n";
        assert_eq!(required_modules(quoted), [("a.org/x", "v1.0.0")]);
        assert_eq!(replaced_module(quoted, "a.org/x", "v1.0.0"), Some(("b.org/y", "v1.1.0")));
        assert_eq!(escaped_module("github.com/Azure/go-SDK"), "github.com/!azure/go-!s!d!k");
    }

    #[test]
    fn modules_of_a_record_leave_out_namespaces() {
        let cloud =
            "google/cloud/storage/blob.py,,\ngoogle/cloud/storage/a/b.py,,\ngoogle/cloud/_v2/c.py,,\n";
        assert_eq!(modules(cloud), ["google/cloud/storage", "google/cloud/_v2"]);
        let yaml = "_yaml/__init__.py,,\nyaml/__init__.py,,\nyaml-tools/a.py,,\nyaml/b/c.py,,\nPyYAML-6.dist-info/RECORD,,\n";
        assert_eq!(modules(yaml), ["yaml", "_yaml", "yaml-tools"]);
        assert_eq!(modules("six.py,sha256=x,1\nother.py,,\n"), ["six.py", "other.py"]);
        for wrong in ["./x.py", "../x.py", "/etc/x.py", "a/../x.py", "*.py", "bin/tool"] {
            assert!(modules(wrong).is_empty(), "{wrong}");
        }
        // Many modules must not take quadratic time: this was 40 seconds.
        let many: String = (0..100_000).map(|at| format!("m{at}.py,,\n")).collect();
        assert_eq!(modules(&many).len(), 100_000);
    }

    #[test]
    fn fields_of_a_manifest_are_those_of_its_package() {
        let manifest = "[workspace]\n\n[package]\nname-x = \"no\"\nname = \"a\"\nversion=\"1.0.0\"\n\n[dependencies.b]\nversion = \"2.0.0\"\nedition = \"x\"\n";
        assert_eq!(package_field(manifest, "name"), Some("a"));
        assert_eq!(package_field(manifest, "version"), Some("1.0.0"));
        assert_eq!(package_field(manifest, "edition"), None);
        assert_eq!(package_field("name = \"a\"", "name"), None);
    }

    #[test]
    fn direct_crates_have_versions_if_there_are_several() {
        let member =
            "\nname = \"m\"\ndependencies = [\n \"a\",\n \"b 1.0.0\",\n \"c 2.0.0 (registry+x)\",\n]\n";
        let other = "\nname = \"a\"\nsource = \"registry+x\"\ndependencies = [\"b 2.0.0\"]\n";
        let direct = direct_crates(&[member, other]);
        assert_eq!(direct, HashSet::from([("a", None), ("b", Some("1.0.0")), ("c", Some("2.0.0"))]));
    }
}
