//! Copies of the golden files of the format: every odd line stays what it is.

use crate::rewriting::{copied_bytes, outline};
use sessile_core::line::split;
use sessile_redact::{Level, Names, Refusal};

/// The golden files, as lines, with their names.
fn golden_files() -> Vec<(String, Vec<Vec<u8>>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sessions = paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let lines = |bytes: Vec<u8>| split(&bytes).into_iter().map(|line| line.bytes.unwrap().to_vec()).collect();
    sessions.map(|path| (path.display().to_string(), lines(std::fs::read(&path).unwrap()))).collect()
}

#[test]
fn copies_of_golden_files_have_the_same_tree() {
    let files = golden_files();
    assert!(files.len() > 100);
    for (name, lines) in &files {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let source = outline(&lines);
        for level in Level::ALL {
            let copy = match copied_bytes(level, &lines, &mut Names::new()) {
                Ok((copy, _)) => copy,
                Err(refusal) => {
                    assert!(refusal == Refusal::NotASession && !source.is_session(), "{name}: {refusal}");
                    continue;
                }
            };
            assert!(source.is_session(), "{name}");
            let copied = outline(&copy);
            assert_eq!(copied.n_entries(), source.n_entries() + 1, "{name} {level}");
            for (row, copied_row) in source.rows().zip(copied.rows()).skip(1) {
                let facts =
                    (source.id(row), source.parent_id(row), source.kind(row), source.time(row), source.role(row));
                let copied = (
                    copied.id(copied_row),
                    copied.parent_id(copied_row),
                    copied.kind(copied_row),
                    copied.time(copied_row),
                    copied.role(copied_row),
                );
                assert_eq!(copied, facts, "{name} {level}");
            }
            // An empty id names no parent, but no other way to append to such an entry exists.
            let parent = copied.leaf().and_then(|mark| copied.parent_id(mark));
            assert_eq!(parent, source.leaf().and_then(|row| source.id(row)), "{name} {level}");
            if level == Level::Secrets {
                let changed = lines.iter().zip(&copy).filter(|(line, copy)| **line != copy.as_slice()).count();
                assert!(changed <= 2, "{name}: only the header and a name change");
            }
        }
    }
}
