//! The tree as the user sees it, and compared with pi's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::compaction::BranchSummarySettings;
use sessile::date::Timestamp;
use sessile::tree::Filter;
use sessile::{Cancel, Sessions, draft};

use super::backend::{BranchSummarizer, TreeBackend};
use super::job::{TreeEvent, TreeJob};
use super::{Mode, Tree};
use crate::driver::Driver;
use crate::keymap::Keymap;
use crate::screen::{Event, Job, Mouse, MouseAction, Screen};
use crate::testing::{FixedEnvironment, golden, shared};

fn tree_of(sessions: &Sessions, path: &Path, shows_content: bool) -> Driver<Tree> {
    let tree = Tree::new(Arc::new(Keymap::default()), Filter::Default, shows_content, 0);
    let mut driver = Driver::new(tree, TreeBackend::new(sessions.clone(), path.to_path_buf(), None), |_| false);
    driver.send(Event::Clock(sessions.environment().now()));
    driver
}

/// The richest session of the made-up store.
struct Store {
    _dir: tempfile::TempDir,
    sessions: Sessions,
    path: PathBuf,
}

impl Store {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sample = sessile::sample::write_sample(dir.path()).unwrap();
        let state = dir.path().join("leaves");
        Self { sessions: sample.sessions().remembering_leaves(state), path: sample.richest.clone(), _dir: dir }
    }

    fn tree(&self) -> Driver<Tree> {
        tree_of(&self.sessions, &self.path, true)
    }
}

/// Returns the entry rows of a screen of ours or pi's: those between the rule and the count.
fn rows(screen: &[String]) -> Vec<String> {
    let is_rule = |row: &String| row.starts_with("───");
    let first = screen.iter().rposition(|row| is_rule(row) && !row.is_empty());
    // pi also has a rule below its list.
    let rules: Vec<usize> = screen.iter().enumerate().filter(|(_, row)| is_rule(row)).map(|(at, _)| at).collect();
    let from = if rules.len() > 1 { rules[rules.len() - 2] } else { first.unwrap_or_default() };
    let body = screen.iter().skip(from + 1).take_while(|row| !is_rule(row));
    body.filter(|row| !row.trim().is_empty()).map(|row| sessile_display::clean(row.trim_end())).collect()
}

#[expect(clippy::disallowed_methods, reason = "a copy of a shared test file")]
fn handmade() -> Option<(tempfile::TempDir, Sessions, PathBuf)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("handmade.jsonl");
    std::fs::write(&path, std::fs::read(shared("handmade-session.jsonl")?).unwrap()).unwrap();
    let sessions = Sessions::new(FixedEnvironment { home: dir.path().to_path_buf() });
    Some((dir, sessions, path))
}

#[test]
fn rows_equal_those_of_pi() {
    let Some((_dir, sessions, path)) = handmade() else { return };
    let mut n_rows = 0;
    for (heading, keys) in [
        ("filter default", ""),
        ("filter no-tools", "ctrl+t"),
        ("filter user-only", "ctrl+u"),
        ("filter labeled-only", "ctrl+l"),
        ("filter all", "ctrl+a"),
        ("search 'branch'", "b r a n c h"),
        ("search 'model mock' in all", "ctrl+a model_mock"),
        ("fold at 00000007 (ctrl+left)", "down ctrl+left"),
        ("unfold", "down ctrl+left ctrl+right"),
        ("toggle label time (shift+t)", "alt+t"),
    ] {
        let mut driver = tree_of(&sessions, &path, false);
        driver.resize(100, 40);
        if !keys.is_empty() {
            driver.press(keys);
        }
        let expected = rows(&golden("ui-golden-tree.txt", heading).unwrap());
        assert_eq!(rows(&driver.lines()), expected, "{heading}");
        n_rows += expected.len();
    }
    // Guards against comparing empty screens.
    assert_eq!(n_rows, 102);
}

#[test]
fn several_roots_are_drawn_as_in_pi() {
    let Some((_dir, sessions, path)) = handmade() else { return };
    let mut session = sessions.open(&path).unwrap();
    session.reset_leaf();
    session.append_message(draft::UserMessage::new("second root", Timestamp::from_ms(1_773_050_400_000))).unwrap();
    drop(session);
    let mut driver = tree_of(&sessions, &path, false);
    driver.resize(100, 40);
    let expected = rows(&golden("ui-golden-tree.txt", "two roots, leaf on new root").unwrap());
    assert_eq!(rows(&driver.lines()), expected);
    assert_eq!(expected.len(), 16);
}

#[test]
fn rows_have_the_expected_layout_without_pi() {
    let store = Store::new();
    let mut driver = tree_of(&store.sessions, &store.path, false);
    driver.resize(100, 40).press("ctrl+u");
    let seen = rows(&driver.lines());
    let expected = [
        "  • user: `tidepool day` prints high water an hour early, but only for dates after the clocks went b",
        "  ├⊟ • user: Different idea: keep everything in UTC and convert once, when a line is printed.  ✂",
        "  │     • user: Thanks. Which other places would have had the same mistake?",
        "  │     • user: Write the line for the changelog.",
        "› │     • user: Perfect, that one.",
        "  └─ user: Makes sense. Convert inside `predict`, then, so that callers need not care.",
        "  (5/6) [user]",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn screens_equal_the_stored_screens() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.assert_stored_screens("tree");
    driver.press("ctrl+a").assert_stored_screens("tree-all");
    driver.press("ctrl+a tests").assert_stored_screens("tree-search");
    driver.press("escape nothing_like_it").assert_stored_screens("tree-nothing");
    driver.press("escape alt+home enter").assert_stored_screens("tree-menu");
    driver.press("escape alt+e").assert_stored_screens("tree-label");
    driver.press("escape f1").assert_stored_screens("tree-help");
    driver.press("escape alt+j alt+v alt+end alt+v").assert_stored_screens("tree-compared");
}

#[test]
fn labels_are_set_jumped_to_and_undone() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.resize(100, 40).press("alt+home alt+e start_here enter");
    assert!(driver.lines().iter().any(|row| row.contains("[start here]")), "{:#?}", driver.lines());
    driver.press("alt+u");
    assert!(!driver.lines().iter().any(|row| row.contains("[start here]")));
    driver.press("alt+home alt+l");
    let chosen = |driver: &Driver<Tree>| driver.lines().into_iter().find(|row| row.starts_with('›')).unwrap();
    assert!(chosen(&driver).contains("[cause found]"), "{}", chosen(&driver));
    driver.press("alt+l");
    assert!(chosen(&driver).contains("[changelog]"), "{}", chosen(&driver));
    driver.press("shift+alt+l");
    assert!(chosen(&driver).contains("[cause found]"), "{}", chosen(&driver));
    driver.press("alt+home alt+b");
    assert!(chosen(&driver).contains("[cause found]"), "the branch point: {}", chosen(&driver));
}

#[test]
fn a_branch_is_archived_shown_and_unarchived() {
    let store = Store::new();
    let mut driver = tree_of(&store.sessions, &store.path, false);
    driver.resize(100, 40).press("ctrl+u alt+end");
    let seen = |driver: &Driver<Tree>| rows(&driver.lines()).join("\n");
    let whole = seen(&driver);
    assert!(whole.contains("› └─ user: Makes sense."), "{whole}");
    driver.press("alt+z");
    assert!(seen(&driver).contains("› └─ [archived, 1 entry] user: Makes sense."), "{}", seen(&driver));
    driver.press("ctrl+u");
    let folded = seen(&driver);
    let row = folded.lines().find(|row| row.contains("[archived, ")).unwrap().to_owned();
    assert!(row.starts_with('›') && row.contains("entries] user: Makes sense."), "{folded}");
    // A key, or unfolding, shows it without unarchiving it.
    for key in ["shift+alt+z", "ctrl+right"] {
        driver.press(key);
        assert!(seen(&driver).lines().count() > folded.lines().count(), "{key}: {}", seen(&driver));
        assert!(seen(&driver).contains("[archived] user: Makes sense.") && seen(&driver).contains("[+archived]"));
        driver.press("shift+alt+z");
        assert_eq!(seen(&driver), folded);
    }
    // Undo unarchives it, and so does the key.
    driver.press("alt+u");
    assert!(!seen(&driver).contains("archived"), "{}", seen(&driver));
    driver.press("ctrl+u alt+end alt+z alt+z");
    assert_eq!(seen(&driver), whole);
    let archive = store.sessions.open(&store.path).unwrap();
    assert!(archive.archive().unwrap().branches().is_empty());
}

#[test]
fn the_current_branch_cannot_be_archived() {
    let store = Store::new();
    let mut driver = tree_of(&store.sessions, &store.path, false);
    driver.resize(120, 40).press("alt+z");
    let screen = driver.lines().join("\n");
    assert!(screen.contains("is on the path to the current leaf"), "{screen}");
    // The key does not archive while the user types a query.
    driver.press("alt+end tests alt+z");
    assert!(driver.lines()[1].contains("Editing the query"), "{:#?}", driver.lines());
}

#[test]
fn the_leaf_moves_and_undo_moves_it_back() {
    let store = Store::new();
    let mut driver = store.tree();
    let leaf = driver.screen.model.as_ref().unwrap().leaf;
    driver.press("enter");
    assert!(matches!(driver.screen.mode, Mode::Tree), "the leaf stays");
    driver.press("alt+home down enter enter");
    assert_ne!(driver.screen.model.as_ref().unwrap().leaf, leaf);
    assert!(driver.screen.outcome.editor_text.as_ref().unwrap().contains("tidepool"), "the message can be edited");
    driver.press("alt+u");
    assert_eq!(driver.screen.model.as_ref().unwrap().leaf, leaf);
}

#[test]
fn the_branch_that_is_left_can_be_summarised() {
    let store = Store::new();
    let n_entries = store.sessions.open(&store.path).unwrap().outline().n_entries();
    let mut driver = store.tree();
    driver.press("alt+end enter down down enter look_at_the_tests enter");
    assert!(matches!(driver.screen.mode, Mode::Tree));
    let session = store.sessions.open(&store.path).unwrap();
    assert_eq!(session.outline().n_entries(), n_entries + 1, "{:#?}", driver.lines());
    let text = session.leaf_entry().unwrap().unwrap().json().to_text().into_owned();
    assert!(text.contains("branch_summary"), "{text}");
}

#[test]
fn sessions_are_forked_from_here() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("up alt+c");
    let path = driver.screen.outcome.forked.clone().unwrap();
    assert!(path.exists());
    driver.press("ctrl+u alt+f escape");
    let outcome = driver.outcome.unwrap();
    assert!(outcome.forked.is_some_and(|other| other != path && other.exists()));
}

/// The last operation is not one of this screen: it created the session that is shown.
#[test]
fn undo_is_limited_to_the_changes_of_this_tree() {
    let store = Store::new();
    let leaf = store.sessions.open(&store.path).unwrap().leaf_id().unwrap();
    let cloning = store.sessions.clone().recording_new_files_as(sessile::operations::OperationKind::Clone);
    let session = cloning.open_when_idle(&store.path).unwrap();
    let mut host = sessile::SessionHost::new(cloning, session);
    let sessile::event::Outcome::Done(cloned) = host.fork(&leaf, sessile::branch::ForkPosition::At).unwrap() else {
        panic!()
    };
    let path = cloned.session_file.unwrap();
    drop(host);
    let mut driver = tree_of(&store.sessions, &path, false);
    driver.press("alt+u");
    let message = "Nothing to undo on this screen; `sessile undo --list` shows earlier operations";
    assert!(driver.lines()[1].contains(message), "{:#?}", driver.lines());
    // Two labels are undone one after the other, and then nothing more.
    driver.press("alt+home alt+e one enter alt+e ctrl+u two enter alt+u");
    let label = |driver: &Driver<Tree>| driver.lines().into_iter().find(|row| row.starts_with('›')).unwrap();
    assert!(label(&driver).contains("[one]"), "{:#?}", driver.lines());
    assert!(driver.lines()[1].starts_with("Undone: label “"), "{:#?}", driver.lines());
    assert!(driver.lines()[1..3].concat().contains("`sessile undo "), "{:#?}", driver.lines());
    driver.press("alt+u alt+u alt+u");
    assert!(!label(&driver).contains("[one]") && path.exists(), "{:#?}", driver.lines());
    assert!(driver.lines()[1].contains("Nothing to undo on this screen"), "{:#?}", driver.lines());
    // An operation that can no longer be undone does not block the one before it.
    driver.press("alt+e one enter alt+e ctrl+u two enter");
    store.sessions.undo(None, false).unwrap();
    driver.press("alt+u");
    assert!(driver.lines()[1].contains("undone"), "{:#?}", driver.lines());
    driver.press("alt+u");
    assert!(!label(&driver).contains("[one]"), "{:#?}", driver.lines());
}

#[test]
fn forks_and_clones_are_operations_that_can_be_undone() {
    let store = Store::new();
    let mut driver = store.tree();
    let last = || store.sessions.operations().unwrap().pop().unwrap();
    for (keys, kind, message) in [
        ("up alt+c", sessile::operations::OperationKind::Clone, "Cloned to"),
        ("alt+home down alt+f", sessile::operations::OperationKind::Fork, "Forked to"),
        // These two contain no answer.
        ("alt+home down alt+c", sessile::operations::OperationKind::Clone, "Cloned to"),
        ("alt+home alt+c", sessile::operations::OperationKind::Clone, "Cloned to"),
    ] {
        driver.press(keys);
        let path = driver.screen.outcome.forked.clone().unwrap();
        assert!(path.exists() && last().kind == kind, "{keys}");
        let head = driver.lines()[1..4].concat();
        assert!(head.starts_with(message) && head.contains("alt+u undo"), "{keys}: {head}");
        driver.press("alt+u");
        let head = driver.lines()[1..4].concat();
        assert!(head.starts_with(&format!("Undone: {} “", kind.word())), "{keys}: {head}");
        assert!(!path.exists() && driver.screen.outcome.forked.is_none(), "{keys}");
    }
    assert!(store.path.exists());
}

#[test]
fn a_comparison_has_hints() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("alt+v alt+end alt+v");
    for (width, height) in [(40, 10), (80, 24), (160, 48)] {
        driver.resize(width, height);
        let hints = driver.lines()[1].clone();
        assert!(hints.starts_with("↑ ↓ scroll · ") && hints.ends_with("escape back"), "{:#?}", driver.lines());
    }
}

#[test]
fn an_entry_is_copied_and_its_cost_shown() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("ctrl+x alt+s");
    assert_eq!(driver.copied, ["It is in CHANGELOG.md under 0.7.1."]);
    let foot = driver.lines().pop().unwrap();
    assert!(foot.contains("answers") && foot.contains('$'), "{foot}");
}

#[test]
fn up_and_down_wrap_around_and_pages_do_not() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("alt+home up");
    let last = driver.screen.folds.len() - 1;
    assert_eq!(driver.screen.position(), last);
    driver.press("down");
    assert_eq!(driver.screen.position(), 0);
    driver.press("pageUp left");
    assert_eq!(driver.screen.position(), 0);
    driver.press("pageDown pageDown pageDown pageDown right");
    assert_eq!(driver.screen.position(), last);
}

#[test]
fn the_mouse_selects() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("alt+home");
    let list = driver.screen.layout().list;
    driver.send(Event::Mouse(Mouse { action: MouseAction::Click, x: 3, y: list.y + 2 }));
    assert_eq!(driver.screen.position(), 2);
    driver.send(Event::Mouse(Mouse { action: MouseAction::WheelDown, x: 3, y: list.y + 2 }));
    assert_eq!(driver.screen.position(), 5);
}

#[test]
fn a_session_that_cannot_be_opened_is_reported() {
    let sessions = Sessions::new(FixedEnvironment { home: PathBuf::from("/nowhere") });
    let driver = tree_of(&sessions, Path::new("/nowhere/x.jsonl"), false);
    assert!(driver.outcome.unwrap().failure.is_some());
}

/// Creates a session with long chains and deep forks, too deep for recursion and too wide for a screen.
fn deep(n_levels: usize) -> (tempfile::TempDir, Sessions, PathBuf) {
    use std::fmt::Write;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep.jsonl");
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"deep\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n",
    );
    let mut parent = "null".to_owned();
    for level in 0..n_levels {
        for side in 0..2 {
            let id = format!("{:08x}", level * 2 + side);
            writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.{side:03}Z\",\"message\":{{\"role\":\"user\",\"content\":\"level {level} side {side}\",\"timestamp\":1}}}}"
            )
            .unwrap();
        }
        parent = format!("\"{:08x}\"", level * 2 + 1);
    }
    #[expect(clippy::disallowed_methods, reason = "a test file")]
    std::fs::write(&path, text).unwrap();
    let sessions = Sessions::new(FixedEnvironment { home: dir.path().to_path_buf() });
    (dir, sessions, path)
}

#[test]
fn deep_trees_scroll_to_the_selected_text() {
    let (_dir, sessions, path) = deep(20_000);
    let mut driver = tree_of(&sessions, &path, false);
    let chosen = |driver: &Driver<Tree>| driver.lines().into_iter().find(|row| row.starts_with('›')).unwrap();
    assert!(chosen(&driver).contains("level 19999 side 1"), "{:#?}", driver.lines());
    driver.press("pageUp pageUp");
    assert!(chosen(&driver).contains("level 199"), "{:#?}", driver.lines());
    driver.press("alt+home");
    assert!(chosen(&driver).contains("level 0 side"), "{:#?}", driver.lines());
    driver.press("ctrl+left");
    assert!(driver.screen.folds.len() <= 2, "all rows are below the first level");
}

#[test]
fn stale_events_change_nothing() {
    let store = Store::new();
    let mut driver = store.tree();
    let before = driver.lines();
    driver.send(Event::Job(TreeEvent::Headlines { headlines: Vec::new(), generation: 99 }));
    driver.send(Event::Job(TreeEvent::LaidOut {
        drawing: Arc::default(),
        archived: std::collections::HashMap::new(),
        version: 0,
    }));
    assert_eq!(driver.lines(), before);
}

fn selected_row(driver: &Driver<Tree>) -> String {
    rows(&driver.lines()).into_iter().find(|row| row.starts_with('›')).unwrap_or_default()
}

/// Between reading the session again and drawing it, keys still refer to the rows on the screen.
#[test]
fn keys_refer_to_the_visible_rows_while_the_tree_is_redrawn() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.resize(100, 60).press("alt+home down down");
    let chosen = driver.screen.selected_entry().unwrap();
    let text = selected_row(&driver);
    // A second child of the first message moves every row after it.
    let mut session = store.sessions.open(&store.path).unwrap();
    let first = session.entries().nth(1).unwrap().unwrap().id().unwrap();
    session.branch(&first).unwrap();
    session.append_message(draft::UserMessage::new("another way", Timestamp::from_ms(1_773_050_400_000))).unwrap();
    drop(session);
    let mut events = Vec::new();
    TreeJob::Load.run(&driver.backend, &Cancel::default(), &mut |event| events.push(event));
    let effects = driver.screen.update(Event::Job(events.remove(0)));
    assert_eq!((driver.screen.selected_entry(), selected_row(&driver)), (Some(chosen), text));
    driver.press("down");
    let (chosen, text) = (driver.screen.selected_entry(), selected_row(&driver));
    driver.press("alt+e").perform(effects);
    assert_eq!(driver.screen.selected_entry(), chosen, "the selection moved");
    driver.press("here enter");
    // The other branch is the current one now, so the row has lost its dot.
    let text = text.trim_start_matches(['›', ' ', '•']);
    assert!(selected_row(&driver).ends_with(&format!("[here] {text}")), "{text}: {:#?}", driver.lines());
    assert_eq!(driver.screen.selected_entry(), chosen);
}

#[test]
fn a_new_label_keeps_the_folds() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.resize(100, 40).press("alt+home alt+b ctrl+right ctrl+left");
    let n_folded = driver.lines().iter().filter(|row| row.contains('⊞')).count();
    assert_eq!(n_folded, 1);
    driver.press("alt+home alt+e mark enter");
    let screen = driver.lines();
    assert!(screen.iter().any(|row| row.contains('⊞')) && screen.iter().any(|row| row.contains("[mark]")));
    driver.press("ctrl+u ctrl+u");
    assert!(!driver.lines().iter().any(|row| row.contains('⊞')), "another filter unfolds, as in pi");
}

#[test]
fn the_last_search_continues_in_all_rows() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("harmonic");
    let n_rows = driver.screen.drawing.len();
    driver.press("escape alt+home");
    assert!(n_rows < driver.screen.drawing.len());
    let mut found = Vec::new();
    for _ in 0..=n_rows {
        driver.press("alt+n");
        found.push(driver.screen.selected);
    }
    assert_eq!(found.first(), found.last(), "the search does not wrap around: {found:?}");
    driver.press("shift+alt+n");
    assert_eq!(driver.screen.selected, found[n_rows - 1]);
}

#[test]
fn skip_prompt_skips_the_summary_question() {
    let store = Store::new();
    let how = || {
        Ok(BranchSummarizer {
            summarizer: Box::new(sessile_summarize::Extractive::default()),
            settings: BranchSummarySettings { skip_prompt: true, ..BranchSummarySettings::default() },
        })
    };
    let tree = Tree::new(Arc::new(Keymap::default()), Filter::Default, false, 0);
    let backend = TreeBackend::new(store.sessions.clone(), store.path.clone(), Some(Arc::new(how)));
    let mut driver = Driver::new(tree, backend, |_| false);
    driver.press("alt+home enter");
    assert!(driver.lines()[1].contains("The session continues from here"), "{:#?}", driver.lines());
}

#[test]
fn a_summary_is_undone_like_any_other_move() {
    let store = Store::new();
    let mut driver = store.tree();
    let before = driver.screen.model.as_ref().unwrap().leaf;
    driver.press("alt+home enter down enter");
    assert!(driver.lines()[1].contains("with a summary"), "{:#?}", driver.lines());
    assert_ne!(driver.screen.model.as_ref().unwrap().leaf, before);
    driver.press("alt+u");
    assert_eq!(driver.screen.model.as_ref().unwrap().leaf, before);
}

/// Another program changed a line of a large session after its outline was saved; the tree is read again.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test acts as another program")]
fn a_session_edited_after_its_outline_was_saved_is_read_again() {
    use std::fmt::Write;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let padding = "x".repeat(1800);
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned();
    for number in 0..4000 {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"{:08x}\"", number - 1) };
        write!(
            text,
            "\n{{\"type\":\"message\",\"id\":\"{number:08x}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:00.000Z\",\
             \"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"answer {number} {padding}\"}}],\"timestamp\":1}}}}"
        )
        .unwrap();
    }
    text += "\n";
    std::fs::write(&path, &text).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    let sessions =
        Sessions::new(FixedEnvironment { home: dir.path().to_path_buf() }).caching(Some(dir.path().join("cache")));
    drop(sessions.clone().read_only().open(&path).unwrap());
    let offset = text.find("\"0000015e\",\"parentId\"").unwrap();
    file.write_all_at(b"\"9999915e", offset as u64).unwrap();
    let added = "{\"type\":\"message\",\"id\":\"a0000000\",\"parentId\":\"9999915e\",\"message\":{\"role\":\"user\",\"content\":\"added\"}}\n";
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(added.as_bytes()).unwrap();

    let backend = TreeBackend::new(sessions, path, None);
    let mut loaded = 0;
    TreeJob::Load.run(&backend, &Cancel::default(), &mut |event| match event {
        TreeEvent::Loaded { model, .. } => loaded = model.len(),
        TreeEvent::Broken(why) => panic!("{why}"),
        _ => {}
    });
    assert_eq!(loaded, 4001);
}

#[test]
fn every_letter_is_searched_for() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("shift+l");
    assert!(driver.lines()[1].contains("alt+e edits the label"), "{:#?}", driver.lines());
    driver.press("e t space m e shift+t");
    assert_eq!(driver.screen.query.text(), "Let meT");
    assert!(!driver.lines()[1].contains("edits the label"), "{:#?}", driver.lines());
    assert!(matches!(driver.screen.mode, Mode::Tree) && !driver.screen.shows_label_time);
    for letter in 'a'..='z' {
        driver.press("escape").press(&format!("shift+{letter}"));
        assert_eq!(driver.screen.query.text(), letter.to_ascii_uppercase().to_string());
        assert!(matches!(driver.screen.mode, Mode::Tree) && driver.outcome.is_none(), "{letter}");
    }
    driver.press("escape one_two ctrl+w");
    assert_eq!(driver.screen.query.text(), "one ", "editing keys edit the query");
}

#[test]
fn nothing_is_written_while_a_query_is_edited() {
    let store = Store::new();
    let n_files = || store.path.parent().unwrap().read_dir().unwrap().count();
    let n_before = n_files();
    let mut driver = store.tree();
    driver.press("alt+home alt+e mark enter");
    for key in ["alt+f", "alt+c", "alt+u"] {
        driver.press("tests").press(key);
        assert!(driver.lines()[1].contains("Editing the query"), "{key}: {:#?}", driver.lines());
        driver.press("escape");
    }
    assert_eq!((n_files(), &driver.screen.outcome.forked), (n_before, &None));
    assert_eq!(driver.backend.history.len(), 1, "the label was not undone");
    driver.press("tests down alt+f");
    assert_eq!(n_files(), n_before + 1, "after moving in the tree, keys apply to the tree");
}

#[test]
fn the_compare_hint_stays_until_the_comparison_ends() {
    let store = Store::new();
    let hint = |driver: &Driver<Tree>| driver.lines().join(" ").contains("Select the end of the other branch");
    let mut driver = store.tree();
    driver.press("alt+v");
    let now = driver.screen.now;
    driver.send(Event::Clock(now.saturating_add_ms(60_000))).press("alt+end");
    assert!(hint(&driver), "a minute later");
    driver.press("alt+v");
    assert!(matches!(driver.screen.mode, Mode::Compared { .. }));
    driver.press("escape");
    assert!(matches!(driver.screen.mode, Mode::Tree) && !hint(&driver), "{:#?}", driver.lines());
    driver.press("alt+v tests escape");
    assert!(!hint(&driver) && driver.screen.query.text() == "tests", "first the question");
    driver.press("escape");
    assert!(driver.screen.query.is_empty() && driver.outcome.is_none(), "then the query");
    driver.press("escape");
    assert!(driver.outcome.is_some(), "then the screen");
}

#[test]
fn common_picker_keys_move_and_answer() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.press("alt+home ctrl+n ctrl+n ctrl+p");
    assert_eq!(driver.screen.position(), 1);
    let before = driver.screen.model.as_ref().unwrap().leaf;
    driver.press("enter n");
    assert!(matches!(driver.screen.mode, Mode::Tree));
    assert_eq!(driver.screen.model.as_ref().unwrap().leaf, before, "n cancels");
    driver.press("enter y");
    assert_ne!(driver.screen.model.as_ref().unwrap().leaf, before, "y confirms the choice");
    assert!(!driver.lines()[1].contains("summary"), "{:#?}", driver.lines());
    driver.press("alt+u alt+home enter down y");
    assert!(driver.lines()[1].contains("with a summary"), "{:#?}", driver.lines());
}

#[test]
fn hints_are_never_cut() {
    let store = Store::new();
    for (width, height) in [(40, 10), (40, 12), (60, 24), (80, 24), (100, 24), (120, 40), (200, 50)] {
        let mut driver = store.tree();
        driver.resize(width, height);
        let screen = driver.lines();
        let hints = if height < 16 { screen[screen.len() - 1].clone() } else { screen[1].clone() };
        assert!(hints.ends_with("f1 keys") && !hints.contains('…'), "{width}: {screen:#?}");
        driver.press("alt+home enter");
        let screen = driver.lines().join(" ");
        assert!(
            screen.contains("you leave?") && screen.contains("enter/y confirm · escape/n cancel"),
            "{width}: {screen}"
        );
    }
}

/// A failed layout must not look like a search in progress.
#[test]
fn a_failed_layout_is_not_shown_as_a_search() {
    let store = Store::new();
    let mut driver = store.tree();
    driver.screen.is_laying_out = true;
    let version = driver.screen.version;
    driver.send(Event::Job(TreeEvent::LayoutFailed { message: "the disk is gone".to_owned(), version }));
    let screen = driver.lines().join("\n");
    assert!(screen.contains("the disk is gone") && !screen.contains("reading …"), "{screen}");
    driver.press("down up enter alt+f ctrl+u");
    assert!(!driver.screen.drawing.is_empty(), "another filter is laid out");
}
