//! Records recovered from damaged lines are complete and in order, and nothing else changes.

use sessile_core::head::{Parsed, read};
use sessile_core::line::split;
use sessile_core::salvage::split_damaged_lines;

use crate::session;

/// The input is a file, damaged at a position selected by its first byte.
pub fn check(data: &[u8]) {
    let (mut file, choice) = session::file(data);
    damage(&mut file, choice);
    sound_pieces(&file);
    for line in split(&file) {
        sound_pieces(line.bytes.unwrap());
    }
}

/// Removes or inserts a newline, or inserts NUL bytes, so that lines are glued, broken or contain holes.
fn damage(file: &mut Vec<u8>, choice: u8) {
    let newlines: Vec<usize> = (0..file.len()).filter(|at| file[*at] == b'\n').collect();
    let Some(at) = newlines.get(usize::from(choice / 4) % newlines.len().max(1)) else { return };
    match choice % 4 {
        0 => drop(file.remove(*at)),
        1 => file.insert(at / 2, b'\n'),
        2 => drop(file.splice(at / 2..at / 2, [0; 7])),
        _ => file.truncate(at.saturating_sub(3)),
    }
}

fn sound_pieces(lines: &[u8]) {
    let damaged = split_damaged_lines(lines);
    let mut end = 0;
    for piece in &damaged {
        assert!(piece.range.start >= end && piece.range.end <= lines.len(), "damaged lines come in order");
        end = piece.range.start;
        for record in &piece.records {
            assert!(record.range.start >= end && record.range.end <= piece.range.end, "records come in order");
            end = record.range.end;
            let line = &lines[record.range.clone()];
            let Parsed::Value(head) = read(line) else { panic!("a record is a whole line") };
            assert!(!line.contains(&b'\n') && !line.contains(&0) && head.id.is_some());
            assert!(split_damaged_lines(line).is_empty(), "a salvaged record is damaged");
        }
        end = end.max(piece.range.end);
    }
    // Intact lines contain nothing to salvage.
    if split(lines).iter().all(|line| matches!(read(line.bytes.unwrap()), Parsed::Value(_) | Parsed::Blank)) {
        assert!(damaged.iter().all(|piece| piece.records.is_empty()));
    }
}
