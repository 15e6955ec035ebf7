//! The reader as the user sees it.

use super::job::{ReaderBackend, render_entry};
use super::*;
use crate::driver::Driver;

fn reader() -> (tempfile::TempDir, Driver<Reader>) {
    let dir = tempfile::tempdir().unwrap();
    let sample = sessile::sample::write_sample(dir.path()).unwrap();
    let backend = ReaderBackend::new(sample.sessions(), sample.richest.clone());
    let reader = Reader::new(Arc::new(Keymap::default()));
    (dir, Driver::new(reader, backend, |job| matches!(job, ReaderJob::Follow)))
}

#[test]
fn screens_equal_the_stored_screens() {
    let (_dir, mut driver) = reader();
    driver.assert_stored_screens("reader");
    driver.press("g").assert_stored_screens("reader-top");
    driver.press("o t").assert_stored_screens("reader-all");
    driver.press("f1").assert_stored_screens("reader-help");
}

#[test]
fn keys_move_by_lines_pages_and_prompts() {
    let (_dir, mut driver) = reader();
    let end = driver.screen.top;
    assert!(driver.screen.sticks_to_end);
    driver.press("g");
    assert_eq!(driver.screen.top, (0, 0));
    driver.press("]");
    let first = driver.screen.top;
    assert!(driver.screen.prompts.contains(&first.0));
    driver.press("]");
    assert!(driver.screen.top > first);
    driver.press("[");
    assert_eq!(driver.screen.top, first);
    driver.press("j k");
    assert_eq!(driver.screen.top, first);
    for _ in 0..50 {
        driver.press("space");
    }
    assert_eq!(driver.screen.top, end);
    for _ in 0..200 {
        driver.press("b");
    }
    assert_eq!(driver.screen.top, (0, 0));
    driver.press("shift+g");
    assert_eq!(driver.screen.top, end);
}

#[test]
fn a_search_finds_and_highlights_text() {
    let (_dir, mut driver) = reader();
    driver.press("g / changelog enter");
    assert!(driver.lines().join("\n").to_lowercase().contains("changelog"));
    let first_hit = driver.screen.current_hit;
    driver.press("n");
    assert_ne!(driver.screen.current_hit, first_hit);
    driver.press("shift+n");
    assert_eq!(driver.screen.current_hit, first_hit);
    driver.press("/ nowhere_to_be_found enter");
    assert!(driver.lines().last().unwrap().contains("No match"), "{:?}", driver.lines().last());
}

#[test]
fn the_text_goes_to_the_clipboard_and_to_the_editor() {
    let (_dir, mut driver) = reader();
    driver.press("g ] ctrl+x e");
    assert!(driver.copied[0].contains("tidepool"));
    assert!(driver.copied[1].contains("tidepool") && driver.copied[1].len() > driver.copied[0].len());
}

#[test]
fn new_entries_are_followed() {
    let (dir, mut driver) = reader();
    let sample = sessile::sample::open_sample(dir.path()).unwrap().unwrap();
    driver.press("f");
    let mut session = sample.sessions().open(&sample.richest).unwrap();
    session
        .append_message(sessile::draft::UserMessage::new("and one more thing", Timestamp::from_ms(1_763_000_000_000)))
        .unwrap();
    driver.send(Event::Job(ReaderEvent::Grown));
    assert!(driver.lines().join("\n").contains("and one more thing"), "{:#?}", driver.lines());
}

#[test]
fn matches_are_counted() {
    let (dir, mut driver) = reader();
    let foot = |driver: &Driver<Reader>| driver.lines().pop().unwrap();
    driver.press("g / changelog enter");
    let n_hits = driver.screen.hits.as_ref().unwrap().len();
    assert!(n_hits > 2);
    assert!(foot(&driver).contains(&format!("  match 1/{n_hits}  ")), "{}", foot(&driver));
    driver.press("n");
    assert!(foot(&driver).contains(&format!("  match 2/{n_hits}  ")), "{}", foot(&driver));
    driver.press("shift+n shift+n");
    assert!(foot(&driver).contains(&format!("  match {n_hits}/{n_hits}  ")), "around: {}", foot(&driver));
    driver.press("n");
    assert!(foot(&driver).contains(&format!("  match 1/{n_hits}  ")), "and back: {}", foot(&driver));
    driver.press("g");
    assert!(foot(&driver).contains(&format!("  {n_hits} matches  ")), "{}", foot(&driver));
    // Entries written in the meantime are counted.
    let sample = sessile::sample::open_sample(dir.path()).unwrap().unwrap();
    let mut session = sample.sessions().open(&sample.richest).unwrap();
    session
        .append_message(sessile::draft::UserMessage::new("the changelog again", Timestamp::from_ms(1_763_000_000_000)))
        .unwrap();
    driver.send(Event::Job(ReaderEvent::Grown));
    assert!(foot(&driver).contains(&format!("  {} matches  ", n_hits + 1)), "{}", foot(&driver));
    // The session may grow again before that count arrives.
    driver.screen.hits.as_mut().unwrap().pop();
    driver.screen.n_counted -= 1;
    session.append_message(sessile::draft::UserMessage::new("nothing", Timestamp::from_ms(1_763_000_000_001))).unwrap();
    driver.send(Event::Job(ReaderEvent::Grown));
    assert!(foot(&driver).contains(&format!("  {} matches  ", n_hits + 1)), "{}", foot(&driver));
    // A count for another query, or for fewer entries, is ignored.
    let stale = ReaderEvent::Counted { hits: vec![1], query: "changelog".to_owned(), n_rows: 2 };
    driver.send(Event::Job(stale));
    assert_eq!(driver.screen.hits.as_ref().unwrap().len(), n_hits + 1);
    driver.press("/ nowhere_to_be_found enter");
    driver.send(Event::Clock(driver.screen.now.saturating_add_ms(60_000)));
    assert!(foot(&driver).contains("  0 matches  "), "{}", foot(&driver));
}

#[test]
fn escape_closes_the_topmost_item() {
    let (_dir, mut driver) = reader();
    for close in ["escape", "ctrl+c"] {
        driver.press("/ changelog").press(close);
        assert!(driver.screen.search.is_none() && driver.outcome.is_none(), "first the question: {close}");
        driver.press("/ changelog enter").press(close);
        assert!(driver.screen.query.is_empty() && driver.outcome.is_none(), "then the search: {close}");
        assert!(!driver.lines().pop().unwrap().contains("match"));
        driver.press(close);
        assert!(driver.outcome.take().is_some(), "then the screen: {close}");
    }
    driver.press("/ changelog enter q");
    assert!(driver.outcome.is_some(), "this key leaves the screen at once");
}

#[test]
fn hints_are_never_cut() {
    for (width, height) in [(40, 10), (40, 12), (60, 24), (80, 24), (120, 40), (200, 50)] {
        let (_dir, mut driver) = reader();
        for keys in ["g", "/ changelog enter"] {
            driver.resize(width, height).press(keys);
            let foot = driver.lines().pop().unwrap();
            assert!(foot.ends_with("f1 keys") && !foot.contains('…'), "{width}: {foot}");
        }
    }
}

/// Resizing back and forth does not move the text.
#[test]
fn the_line_at_the_top_stays_through_all_sizes() {
    let (_dir, mut driver) = reader();
    driver.resize(130, 30).press("g ] ] down");
    let top = |driver: &Driver<Reader>| driver.lines()[1].chars().take(20).collect::<String>();
    let before = top(&driver);
    assert!(before.starts_with("Different idea"), "{before}");
    for (width, height) in [(60, 12), (90, 20), (40, 10), (61, 12), (130, 30)] {
        driver.resize(width, height);
        assert_eq!(top(&driver), before, "{width}×{height}");
    }
    driver.press("up");
    let moved = top(&driver);
    driver.resize(60, 12).resize(130, 30);
    assert_eq!(top(&driver), moved);
}

#[test]
fn an_entry_of_another_member_has_the_name() {
    let dir = tempfile::tempdir().unwrap();
    let sample = sessile::sample::write_sample(dir.path()).unwrap();
    let session = sample.sessions().read_only().open(&sample.richest).unwrap();
    let detail = Detail { tools: false, thinking: false, max_lines: 50 };
    let mut n_named = 0;
    for row in session.path() {
        let lines = |author| render_entry(&session, row, 60, detail, author).unwrap();
        let (own, named) = (lines(None), lines(Some("bob")));
        assert_eq!(own.len(), named.len());
        assert!(!own[0].to_text().starts_with("by bob"));
        if own[0].columns() > 0 {
            assert!(named[0].to_text().starts_with("by bob  ") && named[0].columns() <= 60, "{:?}", named[0]);
            n_named += 1;
        }
    }
    assert!(n_named > 5);
}
