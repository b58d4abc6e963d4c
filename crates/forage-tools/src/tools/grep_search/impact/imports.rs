//! Reads the statements that import names, as far as the form of each language shows the file that they name.

use super::facts::FilePlace;

/// The names that one statement imports from one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    start: Start,
    /// The parts of the module's path.
    module: Vec<String>,
    /// The imported names: as the module defines them, and as the file uses them.
    pub(super) names: Vec<(String, String)>,
    /// The name by which the file uses the module itself.
    pub(super) alias: Option<String>,
    /// True if the statement imports all names of the module.
    pub(super) is_glob: bool,
}

/// Where the path of a module begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// This many directories above that of the importing file.
    Above(usize),
    /// In the crate of the importing file.
    Crate,
    /// Anywhere in the tree.
    Anywhere,
}

impl Import {
    fn new(start: Start, module: &[&str]) -> Self {
        let module = module.iter().map(|part| (*part).to_owned()).collect();
        Self { start, module, names: Vec::new(), alias: None, is_glob: false }
    }

    /// Returns true if the path of the module is not relative to the importing file.
    pub(super) fn is_absolute(&self) -> bool {
        self.start == Start::Anywhere
    }

    /// Decides how well a file fits the module, with `inner` as the last part of its path if it is set: 2 if
    /// the file is the module, 1 if it is below it and the module may export its names, and 0 if it can't be
    /// either. `is_package` checks if a directory is itself a part of a Python package.
    pub(super) fn fit(
        &self,
        inner: Option<&str>,
        from: &FilePlace,
        target: &FilePlace,
        is_package: impl Fn(&[String]) -> bool,
    ) -> u8 {
        let mut module: Vec<&str> = self.module.iter().map(String::as_str).chain(inner).collect();
        let parts: &[String] = if target.language == "go" { &target.directory } else { &target.parts };
        let is_same = |part: &String, name: &&str| part.replace('-', "_") == name.replace('-', "_");
        let begins = |parts: &[String], module: &[&str]| {
            parts.len() >= module.len() && parts.iter().zip(module).all(|(part, name)| is_same(part, name))
        };
        let fit_of = |rest: usize| if rest == 0 { 2 } else { 1 };
        match self.start {
            Start::Above(up) => {
                let Some(kept) = from.directory.len().checked_sub(up) else { return 0 };
                let base = from.directory[..kept].iter().map(String::as_str);
                let whole: Vec<&str> = base.chain(module).collect();
                if begins(parts, &whole) { fit_of(parts.len() - whole.len()) } else { 0 }
            }
            Start::Crate => {
                let source = from
                    .directory
                    .iter()
                    .rposition(|part| matches!(part.as_str(), "src" | "tests"))
                    .map_or(0, |at| at + 1);
                let is_in_crate = parts.len() >= source && parts[..source] == from.directory[..source];
                if !is_in_crate {
                    return 0;
                }
                let parts = &parts[source..];
                let last = if module.is_empty() { 0 } else { parts.len() };
                let starts = (0..=last).filter(|at| begins(&parts[*at..], &module));
                starts.map(|at| fit_of(parts.len() - at - module.len())).max().unwrap_or(0)
            }
            // Go imports a directory by its whole path, and the tree may have only the last parts of it.
            Start::Anywhere if target.language == "go" => {
                let skipped = module.len().saturating_sub(parts.len());
                module.drain(..skipped);
                if !parts.is_empty() && parts.len() == module.len() && begins(parts, &module) { 2 } else { 0 }
            }
            Start::Anywhere if module.is_empty() => 0,
            Start::Anywhere => {
                let is_root = |at: usize| target.language != "python" || at == 0 || !is_package(&parts[..at]);
                let starts = (0..parts.len()).filter(|at| begins(&parts[*at..], &module) && is_root(*at));
                let below = target.names_directories() && !parts.is_empty();
                let fits = starts.map(|at| match parts.len() - at - module.len() {
                    1 if below => 2,
                    rest => fit_of(rest),
                });
                fits.max().unwrap_or(0)
            }
        }
    }
}

/// Reads the imports of a file from the texts of its statements. `text` is the whole file.
pub(super) fn imports(language: &str, statements: &[String], text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for statement in statements {
        match language {
            "python" | "jupyter" | "starlark" => of_python(statement, &mut found),
            "javascript" | "typescript" | "vue" | "svelte" => of_javascript(statement, &mut found),
            "rust" => of_rust(statement, &mut found),
            "go" => of_go(statement, &mut found),
            "java" | "kotlin" | "scala" | "groovy" => of_java(statement, &mut found),
            "c" | "cpp" | "objective-c" => of_c(statement, &mut found),
            _ => {}
        }
    }
    if language == "javascript" || language == "typescript" {
        let required = text.lines().filter(|line| line.contains("require("));
        required.for_each(|line| of_javascript(line, &mut found));
    }
    found
}

/// Splits `a as b`, and also `a: b`.
fn pair(text: &str) -> Option<(String, String)> {
    let text = text.trim().trim_start_matches("type ").trim();
    let (name, local) = text.split_once(" as ").or_else(|| text.split_once(':')).unwrap_or((text, text));
    let (name, local) = (name.trim(), local.trim());
    (!name.is_empty() && !local.is_empty()).then(|| (name.to_owned(), local.to_owned()))
}

fn of_python(statement: &str, found: &mut Vec<Import>) {
    let code = statement.lines().map(|line| line.split('#').next().unwrap_or_default());
    let code: Vec<&str> = code.collect();
    let code = code.join(" ").replace(['(', ')', '\\'], " ");
    if let Some((module, names)) =
        code.trim().strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
    {
        let module = module.trim();
        let path = module.trim_start_matches('.');
        let start = match module.len() - path.len() {
            0 => Start::Anywhere,
            dots => Start::Above(dots - 1),
        };
        let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
        let names_of = names.split(',').filter_map(pair).collect();
        let is_glob = names.trim() == "*";
        found.push(Import { names: names_of, is_glob, ..Import::new(start, &parts) });
    } else if let Some(modules) = code.trim().strip_prefix("import ") {
        for (module, alias) in modules.split(',').filter_map(pair) {
            let parts: Vec<&str> = module.split('.').collect();
            // `import a.b` binds `a`, and `b` is its member.
            if alias.contains('.') {
                let outer = parts.first().map(|part| (*part).to_owned());
                found.push(Import { alias: outer, ..Import::new(Start::Anywhere, &parts[..1]) });
            }
            let alias = alias.rsplit('.').next().map(str::to_owned);
            found.push(Import { alias, ..Import::new(Start::Anywhere, &parts) });
        }
    }
}

fn of_javascript(statement: &str, found: &mut Vec<Import>) {
    let quotes = ['"', '\'', '`'];
    let Some(end) = statement.rfind(quotes) else { return };
    let Some(begin) = statement[..end].rfind(quotes) else { return };
    let (head, path) = (&statement[..begin], &statement[begin + 1..end]);
    let is_relative = path.starts_with('.');
    let mut parts: Vec<&str> =
        path.split('/').filter(|part| !matches!(*part, "" | "." | "@" | "~")).collect();
    let up = parts.iter().take_while(|part| **part == "..").count();
    parts.drain(..up);
    if let Some(last) = parts.last_mut() {
        let extensions = [".js", ".ts", ".jsx", ".tsx", ".mjs", ".mts", ".cjs", ".cts"];
        *last = extensions.iter().find_map(|extension| last.strip_suffix(extension)).unwrap_or(last);
    }
    if parts.last() == Some(&"index") {
        parts.pop();
    }
    if !is_relative && path.starts_with('@') && parts.len() > 1 && parts[0].len() > 1 {
        // The scope of a package is not the name of a directory.
        parts.remove(0);
    }
    let start = if is_relative { Start::Above(up) } else { Start::Anywhere };
    let mut import = Import::new(start, &parts);
    let (outer, braces) = match head.split_once('{') {
        Some((outer, rest)) => (outer, rest.split('}').next().unwrap_or_default()),
        None => (head, ""),
    };
    import.names = braces.split(',').filter_map(pair).collect();
    let mut words = outer.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
    let keywords = ["import", "type", "from", "as", "const", "let", "var", "require", "export", "await", ""];
    if let Some(local) = words.find(|word| !keywords.contains(word)) {
        if !outer.contains('*') {
            import.names.push((local.to_owned(), local.to_owned()));
        }
        import.alias = Some(local.to_owned());
    }
    found.push(import);
}

fn of_rust(statement: &str, found: &mut Vec<Import>) {
    let Some(at) = statement.find("use ") else { return };
    let tree: String =
        statement[at + 4..].trim_end_matches([';', ' ', '\n']).split('\n').map(without_comment).collect();
    rust_tree(&[], tree.trim(), found);
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn rust_tree(before: &[&str], tree: &str, found: &mut Vec<Import>) {
    let (path, inner) = match tree.split_once('{') {
        Some((path, inner)) => (path, Some(inner.rsplit_once('}').map_or(inner, |(inner, _)| inner))),
        None => (tree, None),
    };
    let (path, local) = match path.split_once(" as ") {
        Some((path, local)) => (path, Some(local.trim())),
        None => (path, None),
    };
    let parts: Vec<&str> = path.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
    let mut all: Vec<&str> = before.iter().copied().chain(parts).collect();
    if let Some(inner) = inner {
        let (mut depth, mut start) = (0_usize, 0);
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    rust_tree(&all, inner[start..at].trim(), found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        if !inner[start..].trim().is_empty() {
            rust_tree(&all, inner[start..].trim(), found);
        }
        return;
    }
    if all.last() == Some(&"self") && all.len() > 1 {
        all.pop();
    }
    let Some(name) = all.pop() else { return };
    let is_own = matches!(all.first().unwrap_or(&name), &"crate" | &"self" | &"super");
    all.retain(|part| !matches!(*part, "crate" | "self" | "super"));
    let start = if is_own { Start::Crate } else { Start::Anywhere };
    let mut import = Import::new(start, &all);
    match name {
        "*" => import.is_glob = true,
        name => import.names.push((name.to_owned(), local.unwrap_or(name).to_owned())),
    }
    found.push(import);
}

fn of_go(statement: &str, found: &mut Vec<Import>) {
    for line in statement.lines() {
        let mut pieces = line.split('"');
        let (Some(before), Some(path)) = (pieces.next(), pieces.next()) else { continue };
        let parts: Vec<&str> = path.split('/').collect();
        let is_version =
            |part: &&str| part.len() > 1 && part.starts_with('v') && part[1..].parse::<u32>().is_ok();
        let last = parts.iter().rev().find(|part| !is_version(part)).copied().unwrap_or(path);
        let alias =
            before.split_whitespace().last().filter(|word| !matches!(*word, "import" | "(")).unwrap_or(last);
        let import = Import::new(Start::Anywhere, &parts);
        found.push(Import { alias: Some(alias.to_owned()), is_glob: alias == ".", ..import });
    }
}

fn of_java(statement: &str, found: &mut Vec<Import>) {
    let path = statement
        .trim()
        .trim_start_matches("import")
        .trim()
        .trim_start_matches("static ")
        .trim_end_matches(';');
    let (path, local) =
        path.split_once(" as ").map_or((path, None), |(path, local)| (path, Some(local.trim())));
    let mut parts: Vec<&str> = path.split('.').map(str::trim).collect();
    let Some(name) = parts.pop() else { return };
    let mut import = Import::new(Start::Anywhere, &parts);
    match name {
        "*" | "_" => import.is_glob = true,
        name => import.names.push((name.to_owned(), local.unwrap_or(name).to_owned())),
    }
    found.push(import);
}

fn of_c(statement: &str, found: &mut Vec<Import>) {
    let path = statement.trim_start_matches(['#', ' ']).trim_start_matches("include").trim();
    let path = path.trim_matches(['"', '<', '>']);
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "." | "..")).collect();
    let stem = |part: &&str| part.rsplit_once('.').map_or((*part).to_owned(), |(stem, _)| stem.to_owned());
    let last = parts.last().map(stem);
    let mut import = Import::new(Start::Anywhere, &parts[..parts.len().saturating_sub(1)]);
    import.module.extend(last);
    found.push(Import { is_glob: true, ..import });
}

#[cfg(test)]
mod tests {
    use forage_fs::RelPath;

    use super::*;

    fn place(path: &str) -> FilePlace {
        FilePlace::new(&RelPath::parse(path, &RelPath::root()).unwrap())
    }

    /// Checks the names of a statement, and how well files fit its module.
    #[track_caller]
    fn check(from: &str, statement: &str, names: &[(&str, &str)], fits: &[(&str, u8)]) {
        let from = place(from);
        let found = imports(from.language, &[statement.to_owned()], "");
        let all = found.iter().flat_map(|import| &import.names);
        let all: Vec<(&str, &str)> = all.map(|(name, local)| (name.as_str(), local.as_str())).collect();
        assert_eq!(all, names, "{statement}");
        for (path, expected) in fits {
            let fit = |import: &Import| import.fit(None, &from, &place(path), |_| false);
            assert_eq!(found.iter().map(fit).max(), Some(*expected), "{statement} {path}");
        }
    }

    #[test]
    fn imports_name_files() {
        check(
            "src/app/views.py",
            "from .models import (\n    User,  # who\n    Group as G,\n)",
            &[("User", "User"), ("Group", "G")],
            &[("src/app/models.py", 2), ("src/app/models/user.py", 1), ("src/models.py", 0)],
        );
        check(
            "a.py",
            "from app.db import run",
            &[("run", "run")],
            &[("src/app/db/__init__.py", 2), ("db.py", 0)],
        );
        check(
            "src/ui/a.ts",
            "import Base, { type Item, list as all } from '../core/items.js'",
            &[("Item", "Item"), ("list", "all"), ("Base", "Base")],
            &[("src/core/items.ts", 2), ("src/core/items/index.ts", 2), ("src/ui/items.ts", 0)],
        );
        check("a.ts", "import { a } from '@scope/core'", &[("a", "a")], &[("packages/core/src/index.ts", 1)]);
        check(
            "crates/cli/src/main.rs",
            "pub use crate::run::{self, step::{Step as S, go}};",
            &[("run", "run"), ("Step", "S"), ("go", "go")],
            &[("crates/cli/src/run/step.rs", 2), ("crates/other/src/run/step.rs", 0)],
        );
        check("a/src/b.rs", "use my_core::Path;", &[("Path", "Path")], &[("my-core/src/path.rs", 1)]);
        check("cmd/x.go", "import (\n\tu \"m.org/x/util\"\n)", &[], &[("util/a.go", 2), ("util/b/a.go", 0)]);
        check(
            "A.java",
            "import org.a.Name;",
            &[("Name", "Name")],
            &[("src/org/a/Name.java", 2), ("src/org/b/Name.java", 0)],
        );
    }
}
