//! The golden files of docs/format, from which others implement readers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::SessionManager;
use sessile_testkit::Stage;
use sessile_testkit::observe::observe;

/// The members of a golden file, with the name of each view.
const VIEWS: [(&str, &str); 10] = [
    ("header", "header"),
    ("entries", "entries"),
    ("leaf", "leaf"),
    ("path", "branch"),
    ("tree", "treeFlat"),
    ("labels", "labels"),
    ("name", "name"),
    ("contextEntries", "contextEntries"),
    ("context", "context"),
    ("llm", "llm"),
];

/// A session file and its expected views.
struct Golden {
    path: PathBuf,
    expected: Value,
}

impl Golden {
    /// Returns all golden files, by name.
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut paths: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        paths.sort();
        assert!(paths.len() >= 25, "only {} golden files", paths.len());
        let read =
            |path: PathBuf| Self { expected: parse(&fs::read_to_string(path.with_extension("json")).unwrap()), path };
        paths.into_iter().map(read).collect()
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap().to_string_lossy().into_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    /// Whether the ids of its entries are made up.
    fn is_version_1(&self) -> bool {
        self.name().contains("-v1")
    }

    /// Returns the view with the golden file's ids in place of those that the entries got when they were read.
    fn with_own_ids(&self, view: &str, entries: &str) -> Value {
        if !self.is_version_1() {
            return parse(view);
        }
        let mut view = view.to_owned();
        let (theirs, own) = (parse(entries), &self.expected["entries"]);
        for (their, own) in theirs.as_array().unwrap().iter().zip(own.as_array().unwrap()) {
            if let (Some(their), Some(own)) = (their["id"].as_str(), own["id"].as_str()) {
                view = view.replace(&format!("\"{their}\""), &format!("\"{own}\""));
            }
        }
        parse(&view)
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn pi_and_we_show_what_the_golden_files_say() {
    for golden in Golden::all() {
        let (name, expected) = (golden.name(), &golden.expected);
        let mut stage = Stage::new();
        stage.write("s/f.jsonl", golden.bytes());
        let opened = stage.try_open("s/f.jsonl");
        if expected.get("error").is_some() {
            opened.refused();
            continue;
        }
        let pi_refuses = expected["pi"].get("error").is_some();
        if pi_refuses {
            opened.only_pi_refused();
        } else {
            opened.done();
        }
        let our_entries = stage.we_see("entries");
        for (member, view) in VIEWS {
            let ours = golden.with_own_ids(&stage.we_see(view), &our_entries);
            assert_eq!(ours, expected[member], "{name}: what we show as {member}");
        }
        if pi_refuses {
            continue;
        }
        let pi_entries = stage.pi_sees("entries").unwrap();
        for (member, view) in VIEWS {
            let expected = expected["pi"].get(member).unwrap_or(&expected[member]);
            match stage.pi_sees(view) {
                Ok(pi) => assert_eq!(golden.with_own_ids(&pi, &pi_entries), *expected, "{name}: pi's {member}"),
                Err(error) => assert_eq!(error.split(':').next(), expected["throws"].as_str(), "{name}: pi's {member}"),
            }
        }
    }
}

#[test]
fn ids_of_old_golden_files_are_those_of_the_formula() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.jsonl");
    for golden in Golden::all().into_iter().filter(Golden::is_version_1) {
        fs::write(&path, golden.bytes()).unwrap();
        let seen = observe(&SessionManager::open(&path, None, None).unwrap());
        for (member, view) in VIEWS {
            let shown = parse(seen[view].as_deref().unwrap());
            assert_eq!(shown, golden.expected[member], "{}: {member}", golden.name());
        }
    }
}
