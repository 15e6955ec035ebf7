//! The modules at the root of a crate form layers: no module imports itself through others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Problem, Workspace};
use crate::rust_source::{code_only, paths_below};

/// For each module, the modules that it imports, each with the first place that does.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Place<'a>>>;

/// A line of a source file.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a str,
    line: usize,
}

/// A source file of one crate.
struct Source<'a> {
    path: &'a str,
    /// The names of the modules from the root of the crate to this file.
    modules: Vec<&'a str>,
    /// The code without comments and tests.
    code: String,
}

pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Vec<Source<'_>>> = BTreeMap::new();
    for (path, text) in workspace.sources() {
        let Some((name, file)) = path.split_once("/src/") else { continue };
        let Some(stem) = file.strip_suffix(".rs") else { continue };
        let modules: Vec<&str> = stem.split('/').collect();
        if !modules.contains(&"tests") && !modules.contains(&"bin") {
            crates.entry(name).or_default().push(Source { path, modules, code: without_tests(&code_only(text)) });
        }
    }
    crates.values().flat_map(|sources| circles(&imports(sources))).collect()
}

/// Cuts off the module of unit tests, which is the last item of a file.
fn without_tests(code: &str) -> String {
    let is_inline_module =
        |item: &str| item.starts_with("mod ") && item.split(';').next().is_some_and(|head| head.contains('{'));
    let mut attributes = code.match_indices("#[cfg(test)]");
    let tests = attributes.find(|(at, attribute)| {
        let item = code.split_at(at + attribute.len()).1.trim_start();
        is_inline_module(item)
    });
    tests.map_or(code, |(at, _)| code.split_at(at).0).to_owned()
}

fn imports<'a>(sources: &'a [Source<'a>]) -> Imports<'a> {
    let is_root = |source: &&Source<'_>| matches!(source.modules.as_slice(), ["lib" | "main"]);
    let modules: BTreeSet<&str> =
        sources.iter().filter(|source| !is_root(source)).filter_map(|source| source.modules.first().copied()).collect();
    let reexports = reexports(sources.iter().filter(is_root), &modules);
    let mut imports = Imports::new();
    for source in sources.iter().filter(|source| !is_root(source)) {
        let Some(own) = source.modules.first().copied() else { continue };
        let from_root = paths_below(&source.code, "crate");
        let from_parents = paths_below(&source.code, "super").into_iter().filter_map(|(line, path)| {
            let below_root = "super::".repeat(source.modules.len());
            Some((line, format!("crate::{}", path.strip_prefix(&below_root)?)))
        });
        for (line, path) in from_root.into_iter().chain(from_parents) {
            let Some(first) = path.split("::").nth(1) else { continue };
            let module = modules.get(first).copied().or_else(|| reexports.get(first).copied());
            if let Some(module) = module.filter(|module| *module != own) {
                imports.entry(own).or_default().entry(module).or_insert(Place { path: source.path, line });
            }
        }
    }
    imports
}

/// The names that the root of a crate re-exports, each with its module.
fn reexports<'a>(
    roots: impl Iterator<Item = &'a Source<'a>>,
    modules: &BTreeSet<&'a str>,
) -> BTreeMap<String, &'a str> {
    let mut names = BTreeMap::new();
    for root in roots {
        for module in modules {
            for (_, path) in paths_below(&root.code, module) {
                if let Some((_, name)) = path.rsplit_once("::") {
                    names.insert(name.to_owned(), *module);
                }
            }
        }
    }
    names
}

/// Reports the shortest circle of each group of modules that import each other.
fn circles(imports: &Imports<'_>) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for module in imports.keys() {
        let Some(circle) = shortest_circle(imports, module) else { continue };
        if circle.iter().any(|module| seen.contains(module)) {
            continue;
        }
        seen.extend(circle.iter().copied());
        let place = circle.get(1).and_then(|next| imports.get(module)?.get(next));
        if let Some(place) = place {
            let what = format!("modules import each other: {}", circle.join(" → "));
            problems.push(Problem::new(place.path, what).at(place.line));
        }
    }
    problems
}

/// The shortest way from a module back to itself, with the module at both ends.
fn shortest_circle<'a>(imports: &Imports<'a>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut queue = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = queue.pop_front() {
        let Some(next) = way.last().and_then(|last| imports.get(last)) else { continue };
        for module in next.keys() {
            let longer: Vec<&str> = way.iter().copied().chain([*module]).collect();
            if *module == start {
                return Some(longer);
            }
            if seen.insert(*module) {
                queue.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_files;
    use super::check;

    #[test]
    fn layers_pass() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use b::B;"),
            ("crates/x/src/a.rs", "use crate::B;\n// crate::c::D\nfn f() -> crate::b::C {}"),
            ("crates/x/src/b.rs", "fn g() {}\n#[cfg(test)]\nmod tests {\n    use crate::a::f;\n}"),
            ("crates/x/src/b/tests.rs", "use crate::a::f;"),
            ("crates/y/src/b.rs", "use crate::a::f;"),
        ];
        check_files(check, &files, &[]);
    }

    #[test]
    fn circles_are_found_however_they_are_written() {
        let circle = "crates/x/src/a.rs:2: modules import each other: a → b → a";
        let a = ("crates/x/src/a.rs", "\nuse crate::{b::C, std};");
        check_files(check, &[a, ("crates/x/src/b.rs", "use super::a;")], &[circle]);
        check_files(check, &[a, ("crates/x/src/b.rs", ""), ("crates/x/src/b/c.rs", "super::super::a::f()")], &[circle]);
        let root = ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::inner::A;");
        check_files(check, &[root, a, ("crates/x/src/b.rs", "fn f() -> crate::A {}")], &[circle]);
    }

    #[test]
    fn a_longer_circle_is_reported_once() {
        let files = [
            ("crates/x/src/a.rs", "use crate::b;"),
            ("crates/x/src/b.rs", "use crate::c;"),
            ("crates/x/src/c.rs", "use crate::a;"),
        ];
        check_files(check, &files, &["crates/x/src/a.rs:1: modules import each other: a → b → c → a"]);
    }
}
