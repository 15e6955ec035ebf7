//! Which crate may use which, read from the manifests.

use super::{Problem, Workspace};

const TESTKIT: &str = "sessile-testkit";

/// Every crate of the workspace with the workspace crates it may use. An arrow points one way only.
const MAY_USE: &[(&str, &[&str])] = &[
    ("sessile-core", &[]),
    ("sessile-store", &["sessile-core"]),
    ("sessile-index", &["sessile-core", "sessile-store"]),
    ("sessile-text", &["sessile-core", "sessile-store", "sessile-index"]),
    ("sessile-program", &["sessile-core"]),
    ("sessile-agents", &["sessile-core"]),
    ("sessile-redact", &["sessile-core"]),
    ("sessile-merge", &["sessile-core"]),
    ("sessile-remote", &["sessile-core"]),
    (
        "sessile",
        &[
            "sessile-agents",
            "sessile-core",
            "sessile-merge",
            "sessile-program",
            "sessile-redact",
            "sessile-remote",
            "sessile-store",
            "sessile-index",
            "sessile-text",
        ],
    ),
    ("sessile-summarize", &["sessile-core", "sessile-program"]),
    ("sessile-display", &["sessile-core"]),
    ("sessile-rpc", &["sessile", "sessile-summarize", "sessile-web"]),
    ("sessile-tui", &["sessile", "sessile-display", "sessile-summarize"]),
    ("sessile-web", &["sessile", "sessile-display"]),
    ("sessile-mcp", &["sessile", "sessile-display", "sessile-rpc"]),
    ("sessile-client", &["sessile", "sessile-rpc"]),
    ("sessile-node", &["sessile", "sessile-rpc"]),
    (
        "sessile-cli",
        &[
            "sessile-core",
            "sessile-store",
            "sessile",
            "sessile-summarize",
            "sessile-display",
            "sessile-mcp",
            "sessile-rpc",
            "sessile-tui",
            "sessile-web",
        ],
    ),
    (
        TESTKIT,
        &["sessile-core", "sessile-store", "sessile-index", "sessile", "sessile-rpc", "sessile-cli", "sessile-client"],
    ),
    ("sessile-bench", &["sessile", "sessile-rpc"]),
    ("sessile-python", &["sessile"]),
    ("xtask", &[]),
];

/// What a crate may use in its tests and examples besides. [`TESTKIT`] is always allowed there.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[("sessile", &["sessile-summarize"]), ("sessile-rpc", &["sessile-store"])];

/// The relevant parts of a crate's manifest.
struct Manifest<'a> {
    path: String,
    name: &'a str,
    dependencies: Vec<Dependency<'a>>,
    shares_lints: bool,
}

struct Dependency<'a> {
    line: usize,
    name: &'a str,
    for_tests: bool,
}

/// Checks that every crate is in the table, and uses only what the table allows.
pub(super) fn direction(workspace: &Workspace) -> Vec<Problem> {
    manifests(workspace).iter().flat_map(crate_direction).collect()
}

fn crate_direction(manifest: &Manifest<'_>) -> Vec<Problem> {
    let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == manifest.name) else {
        let what = format!("{} has no place in the dependency table of xtask/src/tidy/dependencies.rs", manifest.name);
        return vec![Problem::new(&manifest.path, what)];
    };
    let is_ours = |name: &str| MAY_USE.iter().any(|(known, _)| *known == name);
    let tests_may_use = TESTS_MAY_USE.iter().filter(|(name, _)| *name == manifest.name).flat_map(|(_, used)| *used);
    let tests_may_use: Vec<&str> = tests_may_use.copied().chain([TESTKIT]).collect();
    let allowed = |dependency: &Dependency<'_>| {
        may_use.contains(&dependency.name) || (dependency.for_tests && tests_may_use.contains(&dependency.name))
    };
    let wrong = manifest.dependencies.iter().filter(|dependency| is_ours(dependency.name) && !allowed(dependency));
    wrong
        .map(|dependency| {
            let what = if dependency.name == TESTKIT {
                format!("{} may use {TESTKIT} in its tests only", manifest.name)
            } else {
                format!("{} must not depend on {}", manifest.name, dependency.name)
            };
            Problem::new(&manifest.path, what).at(dependency.line)
        })
        .collect()
}

/// Checks that every crate uses the workspace lints.
pub(super) fn shared_lints(workspace: &Workspace) -> Vec<Problem> {
    let manifests = manifests(workspace);
    let without = manifests.iter().filter(|manifest| !manifest.shares_lints);
    without.map(|manifest| Problem::new(&manifest.path, "lacks `[lints]` with `workspace = true`")).collect()
}

fn manifests(workspace: &Workspace) -> Vec<Manifest<'_>> {
    let root = workspace.get("Cargo.toml").unwrap_or_default();
    let members = members(root);
    let is_member = |path: &str| members.iter().any(|member| is_manifest_of(path, member));
    let manifests = workspace.iter().filter(|(path, _)| is_member(path));
    manifests.map(|(path, text)| manifest(path.to_owned(), text)).collect()
}

/// Whether this is the manifest of a member. A member that ends in `/*` means every folder there.
fn is_manifest_of(path: &str, member: &str) -> bool {
    let Some(folder) = path.strip_suffix("/Cargo.toml") else { return false };
    match member.strip_suffix("/*") {
        Some(parent) => folder.rsplit_once('/').is_some_and(|(found, _)| found == parent),
        None => folder == member,
    }
}

/// Returns the strings of the `members` list, which may span lines.
fn members(root: &str) -> Vec<&str> {
    let list = root.split_once("\nmembers").and_then(|(_, rest)| rest.split_once('['));
    let list = list.and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).collect()
}

/// Reads a manifest line by line. It does not parse all of TOML, only our way of writing it.
fn manifest(path: String, text: &str) -> Manifest<'_> {
    let mut manifest = Manifest { path, name: "", dependencies: Vec::new(), shares_lints: false };
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            manifest.dependencies.extend(table_dependency(section, index + 1));
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let value = value.trim();
            match (section, key.trim()) {
                ("package", "name") => manifest.name = value.trim_matches('"'),
                ("lints", "workspace") => manifest.shares_lints = value == "true",
                _ => manifest.dependencies.extend(key_dependency(section, key, value, index + 1)),
            }
        }
    }
    manifest
}

/// Parses `[dependencies.name]`.
fn table_dependency(section: &str, line: usize) -> Option<Dependency<'_>> {
    let (kind, name) = section.rsplit_once('.')?;
    dependency_kind(kind).map(|for_tests| Dependency { line, name, for_tests })
}

/// Parses `name = …`, `name.workspace = true` or `other = { package = "name" }` in a table of dependencies.
fn key_dependency<'a>(section: &str, key: &'a str, value: &'a str, line: usize) -> Option<Dependency<'a>> {
    let for_tests = dependency_kind(section)?;
    let renamed = value.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
    let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
    Some(Dependency { line, name: renamed.unwrap_or(name), for_tests })
}

/// Returns whether a section's dependencies are for tests only; `None` if it lists no dependencies.
fn dependency_kind(section: &str) -> Option<bool> {
    match section.rsplit('.').next()? {
        "dependencies" | "build-dependencies" => Some(false),
        "dev-dependencies" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const ROOT: &str = "[workspace]\nresolver = \"3\"\nmembers = [\n  \"crates/core\",\n  \"crates/store\",\n]\n";

    #[track_caller]
    fn check_direction(core: &str, store: &str, expected: &[&str]) {
        let core = format!("[package]\nname = \"sessile-core\"\n{core}");
        let store = format!("[package]\nname = \"sessile-store\"\n{store}");
        let files = [("Cargo.toml", ROOT), ("crates/core/Cargo.toml", &core), ("crates/store/Cargo.toml", &store)];
        check(direction, &files, expected);
    }

    #[test]
    fn lower_crates_may_be_used() {
        check_direction("", "[dependencies]\nsessile-core.workspace = true\nserde = \"1\"\n", &[]);
        check_direction("[dev-dependencies]\nsessile-testkit = { path = \"x\" }\n", "", &[]);
        check_direction("[dependencies]\n# sessile-store = \"1\"\n", "", &[]);
    }

    #[test]
    fn higher_crates_may_not_however_they_are_written() {
        let problem = "crates/core/Cargo.toml:4: sessile-core must not depend on sessile-store";
        check_direction("[dependencies]\nsessile-store.workspace = true\n", "", &[problem]);
        check_direction("[dependencies]\nsessile-store = { path = \"../store\" }\n", "", &[problem]);
        check_direction("[dev-dependencies]\nsessile-store = \"1\"\n", "", &[problem]);
        check_direction("[dependencies]\nother = { version = \"1\", package = \"sessile-store\" }\n", "", &[problem]);
        check_direction("[target.'cfg(unix)'.dependencies]\nsessile-store = \"1\"\n", "", &[problem]);
        check_direction("\n[dependencies.sessile-store]\npath = \"../store\"\n", "", &[problem]);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        let problem = "crates/store/Cargo.toml:4: sessile-store may use sessile-testkit in its tests only";
        check_direction("", "[dependencies]\nsessile-testkit.workspace = true\n", &[problem]);
    }

    #[test]
    fn a_new_crate_must_be_listed() {
        let files =
            [("Cargo.toml", "\nmembers = [\"crates/new\"]"), ("crates/new/Cargo.toml", "[package]\nname = \"new\"")];
        let problem =
            "crates/new/Cargo.toml: new has no place in the dependency table of xtask/src/tidy/dependencies.rs";
        check(direction, &files, &[problem]);
    }

    #[test]
    fn a_folder_of_members_is_looked_through() {
        let root = "[workspace]\nmembers = [\"crates/*\", \"xtask\"]\n";
        let core = "[package]\nname = \"sessile-core\"\n[dependencies]\nsessile.workspace = true\n";
        let other = "[package]\nname = \"other\"\n";
        let files = [
            ("Cargo.toml", root),
            ("crates/core/Cargo.toml", core),
            ("crates/core/fuzz/Cargo.toml", other),
            ("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n"),
        ];
        check(direction, &files, &["crates/core/Cargo.toml:4: sessile-core must not depend on sessile"]);
    }

    #[test]
    fn tests_may_use_more() {
        let rpc = |section: &str| format!("[package]\nname = \"sessile-rpc\"\n[{section}]\nsessile-store = \"1\"\n");
        let check_rpc = |section: &str, expected: &[&str]| {
            let files = [("Cargo.toml", "\nmembers = [\"crates/rpc\"]"), ("crates/rpc/Cargo.toml", &rpc(section))];
            check(direction, &files, expected);
        };
        check_rpc("dev-dependencies", &[]);
        check_rpc("dependencies", &["crates/rpc/Cargo.toml:4: sessile-rpc must not depend on sessile-store"]);
    }

    #[test]
    fn every_crate_shares_the_lints() {
        let core = "[package]\nname = \"sessile-core\"\n[lints]\nworkspace = true\n";
        let store = "[package]\nname = \"sessile-store\"\n";
        let files = [("Cargo.toml", ROOT), ("crates/core/Cargo.toml", core), ("crates/store/Cargo.toml", store)];
        check(shared_lints, &files, &["crates/store/Cargo.toml: lacks `[lints]` with `workspace = true`"]);
    }
}
