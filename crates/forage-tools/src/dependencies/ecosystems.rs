//! The package managers whose lock files and directories we read.

use std::cmp::Reverse;
use std::sync::Arc;

use forage_fs::{RelPath, Root};
use serde_json::Value;

use super::{Package, Project, Sources, matching, text};

/// A package manager.
pub(super) struct Ecosystem {
    /// Files and directories of a project in which it was used.
    lists: &'static [&'static str],
    /// Finds the packages that the text after `dep:` may mean.
    pub(super) find: fn(&Project<'_>, &str) -> Vec<Package>,
    /// Lists the names of the packages.
    pub(super) names: fn(&Project<'_>) -> Vec<String>,
}

pub(super) const ECOSYSTEMS: [Ecosystem; 7] = [
    Ecosystem { lists: &["Cargo.lock"], find: cargo, names: crate_names },
    Ecosystem { lists: &["node_modules"], find: npm, names: npm_names },
    Ecosystem {
        lists: &[".venv", "venv", "env", "pyproject.toml", "requirements.txt", "setup.py"],
        find: python,
        names: distribution_names,
    },
    Ecosystem { lists: &["go.mod"], find: go, names: module_names },
    Ecosystem { lists: &["Gemfile.lock"], find: ruby, names: gem_names },
    Ecosystem { lists: &["composer.lock"], find: composer, names: composer_names },
    Ecosystem { lists: &["mix.lock"], find: hex, names: hex_names },
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
        // The name becomes a part of a path.
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['*', '\\']);
        name.split('/').all(is_plain).then_some(Self { name, version, rest })
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
            rest: self.rest.to_owned(),
            listed_in: listed_in.to_owned(),
            sources,
        })
    }
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

fn cargo(project: &Project<'_>, named: &str) -> Vec<Package> {
    let (Some(spec), Some(lock)) = (Spec::parse(named, 1), project.text("Cargo.lock")) else {
        return Vec::new();
    };
    let mut packages = Vec::new();
    for entry in lock.split("[[package]]").skip(1) {
        let (Some(name), Some(version)) = (lock_field(entry, "name"), lock_field(entry, "version")) else {
            continue;
        };
        if name.replace('_', "-") != spec.name.replace('_', "-") || !is_version(name) || !is_version(version)
        {
            continue;
        }
        let sources = crate_sources(project, name, version, lock_field(entry, "source"));
        packages.extend(Spec { name, ..spec }.package(Some(version), "Cargo.lock", sources));
    }
    packages
}

/// Returns a field of an entry of `Cargo.lock`.
fn lock_field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let mut values = entry.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
    values.next()?.strip_suffix('"')
}

fn crate_names(project: &Project<'_>) -> Vec<String> {
    let lock = project.text("Cargo.lock").unwrap_or_default();
    let entries = lock.split("[[package]]").skip(1);
    // A package without a source is a part of the project.
    let packages = entries.filter(|entry| lock_field(entry, "source").is_some());
    packages.filter_map(|entry| lock_field(entry, "name").map(str::to_owned)).collect()
}

/// Finds a package of Cargo in the project's `vendor` directory or in Cargo's home.
fn crate_sources(project: &Project<'_>, name: &str, version: &str, source: Option<&str>) -> Sources {
    let Some(source) = source else {
        return Sources::Missing(format!("{name} is a part of this project; search the project itself"));
    };
    let whole = format!("{name}-{version}");
    for directory in [format!("vendor/{whole}"), format!("vendor/{name}")] {
        let found = project.matching(&directory).pop();
        let has_version = |directory: &RelPath| {
            let manifest = text(project.root, &directory.join(b"Cargo.toml"));
            manifest.is_some_and(|manifest| manifest.contains(&format!("version = \"{version}\"")))
        };
        if let Some(found) = found.filter(has_version) {
            return Sources::Directory(Arc::clone(project.root), found);
        }
    }
    let git = source.strip_prefix("git+").and_then(|source| source.rsplit_once('#'));
    let (store, pattern) = match git {
        // A checkout is called after the first digits of its commit.
        Some((_, commit)) => {
            (&project.stores.cargo_checkouts, format!("*/{}", commit.get(..7).unwrap_or(commit)))
        }
        None => (&project.stores.cargo_registry, format!("*/{whole}")),
    };
    let found = store.as_ref().and_then(|store| project.store(store)).and_then(|store| {
        let directory = matching(&store, &RelPath::root(), &pattern).pop()?;
        // A repository may contain several packages.
        let parts = [name.to_owned(), format!("crates/{name}")];
        let mut parts = parts.iter().flat_map(|part| matching(&store, &directory, part));
        let part = parts.find(|part| git.is_some() && text(&store, &part.join(b"Cargo.toml")).is_some());
        Some(Sources::Directory(store, part.unwrap_or(directory)))
    });
    found.unwrap_or_else(|| not_here(&format!("{name} {version}"), "Cargo.lock", "cargo fetch"))
}

fn not_here(package: &str, list: &str, command: &str) -> Sources {
    Sources::Missing(format!(
        "{package} is in {list}, but its sources are not on this disk; `{command}` downloads them"
    ))
}

fn npm(project: &Project<'_>, named: &str) -> Vec<Package> {
    let Some(spec) = Spec::parse(named, if named.starts_with('@') { 2 } else { 1 }) else {
        return Vec::new();
    };
    // pnpm keeps every version in a directory of its own, and npm nests those that differ.
    let stored = format!("node_modules/.pnpm/{}@*/node_modules/{}", spec.name.replace('/', "+"), spec.name);
    let mut directories = project.matching(&format!("node_modules/{}", spec.name));
    directories.extend(project.matching(&stored));
    let lock = project.text("package-lock.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    for key in
        lock.iter().filter_map(|lock| lock["packages"].as_object()).flat_map(|packages| packages.keys())
    {
        let before = key.strip_suffix(spec.name).and_then(|before| before.strip_suffix("node_modules/"));
        if before.is_some_and(|before| !before.is_empty()) && !key.contains('*') {
            directories.extend(project.matching(key));
        }
    }
    let mut packages: Vec<Package> = Vec::new();
    for directory in directories {
        let manifest = text(project.root, &directory.join(b"package.json"));
        let Some(manifest) = manifest.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
            continue;
        };
        let version = manifest["version"].as_str();
        if !packages.iter().any(|known| known.version.as_deref() == version) {
            let sources = Sources::Directory(Arc::clone(project.root), directory);
            packages.extend(spec.package(version, "node_modules", sources));
        }
    }
    packages
}

/// Lists the direct dependencies. There can be thousands of others.
fn npm_names(project: &Project<'_>) -> Vec<String> {
    let manifest = project.text("package.json").unwrap_or_default();
    let manifest: Value = serde_json::from_str(&manifest).unwrap_or_default();
    let lists = ["dependencies", "devDependencies", "peerDependencies"].into_iter();
    lists.filter_map(|key| manifest[key].as_object()).flat_map(|list| list.keys().cloned()).collect()
}

/// Normalizes the name of a Python distribution (PEP 503).
fn normal(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn python(project: &Project<'_>, named: &str) -> Vec<Package> {
    let Some(spec) = Spec::parse(named, 1) else { return Vec::new() };
    let mut packages = Vec::new();
    for (root, site) in site_packages(project) {
        let all = matching(&root, &site, "*.dist-info");
        let is_of = |information: &&RelPath| {
            distribution(information).is_some_and(|(name, _)| normal(&name) == normal(spec.name))
        };
        let named: Vec<&RelPath> = all.iter().filter(is_of).collect();
        for information in if named.is_empty() { all.iter().collect() } else { named } {
            let Some((name, version)) = distribution(information) else { continue };
            let Some(record) = text(&root, &information.join(b"RECORD")) else { continue };
            let modules = modules(&record);
            let is_asked = |module: &&&str| module.trim_end_matches(".py") == spec.name;
            let is_like = |module: &&&str| normal(module.trim_end_matches(".py")) == normal(&name);
            let module = match modules.iter().find(is_asked) {
                // A module may have another name than its distribution.
                Some(module) => Some(module),
                None if normal(&name) != normal(spec.name) => None,
                None => modules.iter().find(is_like).or(modules.first()),
            };
            let Some(path) = module.map(|module| site.join(module.as_bytes())) else { continue };
            let sources = match root.locate(&path) {
                Ok((_, true)) => Sources::Directory(Arc::clone(&root), path),
                Ok((_, false)) => Sources::File(Arc::clone(&root), path),
                Err(_) => continue,
            };
            packages.extend(spec.package(Some(&version), &site.display(), sources));
        }
    }
    packages
}

/// Splits the name of a `.dist-info` directory into the name and version of the distribution.
fn distribution(information: &RelPath) -> Option<(String, String)> {
    let whole = String::from_utf8_lossy(information.file_name());
    let (name, version) = whole.strip_suffix(".dist-info")?.rsplit_once('-')?;
    Some((name.to_owned(), version.to_owned()))
}

fn distribution_names(project: &Project<'_>) -> Vec<String> {
    let sites = site_packages(project);
    let all = sites.iter().flat_map(|(root, site)| matching(root, site, "*.dist-info"));
    all.filter_map(|information| Some(distribution(&information)?.0)).collect()
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
            let found = matching(&library, &RelPath::root(), layout);
            sites.extend(found.into_iter().map(|path| (Arc::clone(&library), path)));
        }
    }
    sites
}

/// Lists the top-level modules of a distribution from its `RECORD`, those with most files first.
fn modules(record: &str) -> Vec<&str> {
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for line in record.lines() {
        let path = line.split(',').next().unwrap_or_default().trim_matches('"');
        let first = path.split('/').next().unwrap_or_default();
        let is_module = path.ends_with(".py") || path.ends_with(".pyi") || path.ends_with(".so");
        if first.is_empty() || first == ".." || !is_module {
            continue;
        }
        match counts.iter_mut().find(|(_, module)| *module == first) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, first)),
        }
    }
    counts.sort_by_key(|(count, _)| Reverse(*count));
    counts.into_iter().map(|(_, module)| module).collect()
}

fn go(project: &Project<'_>, named: &str) -> Vec<Package> {
    let Some(list) = project.text("go.mod") else { return Vec::new() };
    // A module's name has any number of components.
    let is_named = |(module, _): &(&str, &str)| {
        named.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@']))
    };
    let required = required_modules(&list).into_iter().filter(is_named);
    let Some((module, version)) = required.max_by_key(|(module, _)| module.len()) else {
        return Vec::new();
    };
    let Some(spec) = Spec::parse(named, module.split('/').count()) else { return Vec::new() };
    let (path, version) = replaced_module(&list, module).unwrap_or((module, version));
    let vendored = project.matching(&format!("vendor/{module}")).pop();
    let local = || path.starts_with('.').then(|| project.path(path)).flatten();
    let sources = match vendored.or_else(local) {
        Some(directory) => Sources::Directory(Arc::clone(project.root), directory),
        None => {
            let store = project.stores.go_modules.as_ref().and_then(|path| project.store(path));
            let pattern = format!("{}@{}", escaped_module(path), escaped_module(version));
            let found = store.filter(|_| !pattern.contains('*')).and_then(|store| {
                let directory = matching(&store, &RelPath::root(), &pattern).pop()?;
                Some(Sources::Directory(store, directory))
            });
            found.unwrap_or_else(|| not_here(module, "go.mod", "go mod download"))
        }
    };
    spec.package(Some(version), "go.mod", sources).into_iter().collect()
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
            Some(rest) if rest.starts_with([' ', '\t']) => rest.trim(),
            _ if line == ")" => {
                is_block = false;
                continue;
            }
            _ if is_block => line,
            _ => continue,
        };
        required.extend(entry.split_once(' ').map(|(module, version)| (module, version.trim())));
    }
    required
}

fn module_names(project: &Project<'_>) -> Vec<String> {
    let list = project.text("go.mod").unwrap_or_default();
    required_modules(&list).into_iter().map(|(module, _)| module.to_owned()).collect()
}

/// Returns the module and version, or the directory, by which a `go.mod` replaces a module.
fn replaced_module<'a>(list: &'a str, module: &str) -> Option<(&'a str, &'a str)> {
    list.lines().find_map(|line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (left, right) = line.strip_prefix("replace ").unwrap_or(line).split_once("=>")?;
        let right = right.trim();
        let is_it = left.split_whitespace().next() == Some(module);
        is_it.then(|| right.split_once(' ').map_or((right, ""), |(path, version)| (path, version.trim())))
    })
}

fn ruby(project: &Project<'_>, named: &str) -> Vec<Package> {
    let (Some(spec), Some(lock)) = (Spec::parse(named, 1), project.text("Gemfile.lock")) else {
        return Vec::new();
    };
    let mut packages = Vec::new();
    for line in lock.lines() {
        // The resolved gems are indented by four spaces, and their own dependencies by six.
        let entry = line.strip_prefix("    ").and_then(|entry| entry.split_once(" ("));
        let version =
            entry.filter(|(name, _)| *name == spec.name).map(|(_, rest)| rest.trim_end_matches(')'));
        let Some(version) = version.filter(|version| is_version(version)) else { continue };
        let whole = format!("{}-{version}", spec.name);
        let own = project.matching(&format!("vendor/bundle/ruby/*/gems/{whole}")).pop();
        let own = own.map(|directory| Sources::Directory(Arc::clone(project.root), directory));
        let installed = || {
            let mut stores = project.stores.gems.iter().filter_map(|path| project.store(path));
            stores.find_map(|store| {
                let layouts = [whole.clone(), format!("*/gems/{whole}")];
                let find = |layout: &String| matching(&store, &RelPath::root(), layout).pop();
                let directory = layouts.iter().find_map(find)?;
                Some(Sources::Directory(store, directory))
            })
        };
        let sources = own.or_else(installed);
        let sources = sources.unwrap_or_else(|| not_here(&whole, "Gemfile.lock", "bundle install"));
        packages.extend(spec.package(Some(version), "Gemfile.lock", sources));
    }
    packages
}

fn gem_names(project: &Project<'_>) -> Vec<String> {
    let lock = project.text("Gemfile.lock").unwrap_or_default();
    let entries = lock.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(" ("));
    entries.filter(|(name, _)| !name.starts_with(' ')).map(|(name, _)| name.to_owned()).collect()
}

fn composer(project: &Project<'_>, named: &str) -> Vec<Package> {
    let (Some(spec), Some(lock)) = (Spec::parse(named, 2), project.text("composer.lock")) else {
        return Vec::new();
    };
    let lock: Value = serde_json::from_str(&lock).unwrap_or_default();
    let mut packages = composer_packages(&lock);
    let Some(package) = packages.find(|package| package["name"].as_str() == Some(spec.name)) else {
        return Vec::new();
    };
    let sources = match project.matching(&format!("vendor/{}", spec.name)).pop() {
        Some(directory) => Sources::Directory(Arc::clone(project.root), directory),
        None => not_here(spec.name, "composer.lock", "composer install"),
    };
    spec.package(package["version"].as_str(), "composer.lock", sources).into_iter().collect()
}

fn composer_packages(lock: &Value) -> impl Iterator<Item = &Value> {
    ["packages", "packages-dev"].into_iter().filter_map(|key| lock[key].as_array()).flatten()
}

fn composer_names(project: &Project<'_>) -> Vec<String> {
    let lock = project.text("composer.lock").unwrap_or_default();
    let lock: Value = serde_json::from_str(&lock).unwrap_or_default();
    composer_packages(&lock).filter_map(|package| package["name"].as_str().map(str::to_owned)).collect()
}

fn hex(project: &Project<'_>, named: &str) -> Vec<Package> {
    let (Some(spec), Some(lock)) = (Spec::parse(named, 1), project.text("mix.lock")) else {
        return Vec::new();
    };
    let start = format!("\"{}\":", spec.name);
    let Some(entry) = lock.lines().find_map(|line| line.trim().strip_prefix(&start)) else {
        return Vec::new();
    };
    // `{:hex, :name, "1.2.3", …}`
    let version = entry.contains("{:hex").then(|| entry.split('"').nth(1)).flatten();
    let sources = match project.matching(&format!("deps/{}", spec.name)).pop() {
        Some(directory) => Sources::Directory(Arc::clone(project.root), directory),
        None => not_here(spec.name, "mix.lock", "mix deps.get"),
    };
    spec.package(version, "mix.lock", sources).into_iter().collect()
}

fn hex_names(project: &Project<'_>) -> Vec<String> {
    let lock = project.text("mix.lock").unwrap_or_default();
    let entries = lock.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\":"));
    entries.map(|(name, _)| name.to_owned()).collect()
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
        assert_eq!(replaced_module(list, "b.org/y"), Some(("../y", "")));
        assert_eq!(replaced_module(list, "a.org/x"), Some(("c.org/z", "v3.0.0")));
        assert_eq!(replaced_module(list, "d.org/w"), None);
        assert_eq!(escaped_module("github.com/Azure/go-SDK"), "github.com/!azure/go-!s!d!k");
    }
}
