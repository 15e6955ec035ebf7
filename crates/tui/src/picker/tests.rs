//! The picker as the user sees it, and compared with pi's.

use std::path::PathBuf;
use std::sync::Arc;

use sessile::Sessions;
use sessile::date::Timestamp;
use sessile::list::SessionInfo;
use sessile::users::SessionUser;

use super::job::{PickerBackend, PickerEvent, PickerJob};
use super::{Picked, Picker, Scope};
use crate::driver::{Driver, NOW};
use crate::keymap::Keymap;
use crate::screen::{Event, Mouse, MouseAction, Screen};
use crate::testing::{FixedEnvironment, golden, shared};

/// A made-up store in its own directory.
struct Store {
    dir: tempfile::TempDir,
    sessions: Sessions,
}

impl Store {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sample = sessile::sample::write_sample(dir.path()).unwrap();
        Self { sessions: sample.sessions(), dir }
    }

    fn picker(&self) -> Driver<Picker> {
        let environment = self.sessions.environment();
        let home = environment.home().to_string_lossy().into_owned();
        let cwd = environment.current_dir();
        let picker = Picker::new(Arc::new(Keymap::default()), home, None, true);
        let (user_cwd, user_home) = (self.dir.path().join("own"), self.dir.path().join("own/home"));
        let (sessions, history) = (self.sessions.clone(), picker.history());
        let backend = PickerBackend { sessions, cwd, user_cwd, user_home, history };
        let mut driver = Driver::new(picker, backend, |job| matches!(job, PickerJob::Watch));
        driver.send(Event::Clock(environment.now()));
        driver
    }
}

/// Path, first message, name, age, parent and working directory of a session.
type MadeUp<'m> = (&'m str, &'m str, Option<&'m str>, i64, Option<&'m str>, &'m str);

/// Returns sessions as list rows, without files.
fn made_up(rows: &[MadeUp<'_>]) -> Vec<SessionInfo> {
    rows.iter()
        .map(|(path, first, name, age_ms, parent, cwd)| SessionInfo {
            path: PathBuf::from(path),
            id: path.replace('/', "").into(),
            cwd: (*cwd).to_owned(),
            name: name.map(|name| sessile::json::JsText::from(name).into_owned()),
            is_archived: false,
            is_redacted: false,
            imported_from: None,
            member: None,
            project: None,
            repository: None,
            parent_session_path: parent.map(str::to_owned),
            created: None,
            modified: NOW.saturating_sub_ms(*age_ms),
            message_count: 3,
            first_message: sessile::json::JsText::from(*first).into_owned(),
            all_messages_text: sessile::json::JsText::from(*first).into_owned(),
            size: 1000,
            written: Timestamp::EPOCH,
            facts: sessile::format::info::SessionFacts::default(),
        })
        .collect()
}

/// Creates a picker over the given lists.
fn picker_with(here: Vec<SessionInfo>, all: Vec<SessionInfo>, current: Option<&str>) -> Driver<Picker> {
    let sessions = Sessions::new(FixedEnvironment { home: PathBuf::from("/home/u") });
    let own = PathBuf::from("/w/own");
    let picker = Picker::new(Arc::new(Keymap::default()), "/home/u".to_owned(), current.map(PathBuf::from), false);
    let (cwd, history) = (PathBuf::from("/w/proj"), picker.history());
    let backend = PickerBackend { sessions, cwd, user_cwd: own.clone(), user_home: own, history };
    let is_reading = |job: &PickerJob| {
        matches!(job, PickerJob::Load(_) | PickerJob::Watch | PickerJob::Search { .. } | PickerJob::Texts(_))
    };
    let mut driver = Driver::new(picker, backend, is_reading);
    for (scope, list) in [(Scope::All, all), (Scope::Here, here)] {
        driver.send(Event::Job(PickerEvent::Loaded { scope, list, with_texts: true }));
    }
    driver.screen.is_searching = false;
    driver
}

/// Returns the sessions that pi's golden screens show.
#[expect(clippy::disallowed_methods, reason = "reads a shared test file")]
fn golden_sessions() -> Option<[Vec<SessionInfo>; 2]> {
    let text = std::fs::read_to_string(shared("ui-golden-picker-sessions.json")?).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let read = |key: &str| -> Vec<SessionInfo> {
        let rows = json[key].as_array().unwrap().iter().map(|row| {
            let text = |key: &str| row[key].as_str().map(str::to_owned);
            let own =
                |text: Option<String>| sessile::json::JsText::from(text.unwrap_or_default().as_str()).into_owned();
            SessionInfo {
                path: text("path").unwrap().into(),
                id: text("id").unwrap().into(),
                cwd: text("cwd").unwrap(),
                name: text("name").map(|name| own(Some(name))),
                is_archived: false,
                is_redacted: false,
                imported_from: None,
                member: None,
                project: None,
                repository: None,
                parent_session_path: text("parentSessionPath"),
                created: None,
                modified: NOW.saturating_sub_ms(row["ageMs"].as_i64().unwrap()),
                message_count: usize::try_from(row["messageCount"].as_u64().unwrap()).unwrap(),
                first_message: own(text("firstMessage")),
                all_messages_text: own(text("allMessagesText").or_else(|| text("firstMessage"))),
                size: 0,
                written: Timestamp::EPOCH,
                facts: sessile::format::info::SessionFacts::default(),
            }
        });
        rows.collect()
    };
    let here = read("current");
    let mut all = here.clone();
    all.extend(read("elsewhere"));
    all.sort_by_key(|session| std::cmp::Reverse(session.modified));
    Some([here, all])
}

/// Returns the session rows of a screen: those that end in an age.
fn rows(screen: &[String]) -> Vec<String> {
    let is_row = |row: &&String| {
        let mut text = row.rsplit(' ');
        let is_age = text.next().is_some_and(|word| word == "now" || word.ends_with(['m', 'h', 'd', 'w', 'o', 'y']));
        is_age && text.next().is_some_and(|word| word.parse::<u32>().is_ok()) && row.len() > 40
    };
    screen.iter().filter(is_row).map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn rows_equal_those_of_pi() {
    let Some([here, all]) = golden_sessions() else { return };
    let open = || picker_with(here.clone(), all.clone(), Some("/s/c.jsonl"));
    let (mut n_screens, mut n_rows) = (0, 0);
    let mut compare = |driver: &Driver<Picker>, heading: &str| {
        let expected = rows(&golden("ui-golden-picker.txt", heading).unwrap());
        assert_eq!(rows(&driver.lines()), expected, "{heading}");
        (n_screens, n_rows) = (n_screens + 1, n_rows + expected.len());
    };
    for (heading, keys) in [
        ("initial (threaded, current; current session = c)", ""),
        ("sort: recent", "ctrl+s"),
        ("sort: fuzzy, no query", "ctrl+s ctrl+s"),
        ("named only", "alt+n"),
        ("path on", "alt+w"),
        ("scope all", "tab"),
        ("ctrl+d on first -> confirm", "ctrl+d"),
        ("ctrl+d on current session c", "down down down ctrl+d"),
    ] {
        let mut driver = open();
        if !keys.is_empty() {
            driver.press(keys);
        }
        compare(&driver, heading);
    }
    for query in [
        "parser",
        "prsr",
        "\"node cve\"",
        "node \"cve-2024\"",
        "re:^fix",
        "re:(",
        "re:",
        "\"unclosed phrase",
        "work parser",
        "bbbb",
        "wproj",
    ] {
        for (sort, keys) in [("threaded", ""), ("recent", "ctrl+s "), ("fuzzy", "ctrl+s ctrl+s ")] {
            let heading = format!("query {query:?} sort={sort}");
            let mut driver = open();
            driver.press(format!("{keys}{}", query.replace(' ', "_")).trim());
            compare(&driver, &heading);
        }
    }
    // Guards against comparing empty screens.
    assert_eq!((n_screens, n_rows), (41, 97));
}

#[test]
fn rows_have_the_expected_layout_without_pi() {
    let minute = 60_000;
    let list = made_up(&[
        ("/s/a", "fix\nthe bug", None, 0, None, "/home/u/p"),
        ("/s/b", "x", Some("Work"), 5 * minute, Some("/s/a"), "/home/u/p"),
        ("/s/c", &"long ".repeat(30), None, 3 * 60 * minute, None, "/q"),
        ("/s/d", "x", Some("潮汐 😀"), 48 * 60 * minute, Some("/s/b"), "/q"),
    ]);
    let mut driver = picker_with(list.clone(), list, None);
    driver.resize(60, 20);
    let expected = [
        "› fix the bug                                          3 now",
        "     └─ Work                                            3 5m",
        "        └─ 潮汐 😀                                      3 2d",
        "  long long long long long long long long long long lo…  3 3h",
    ];
    let seen = rows(&driver.lines());
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(seen[..3], expected[..3]);
    assert!(seen[3].contains('…') && seen[3].ends_with("  3 3h"), "{}", seen[3]);
}

#[test]
fn screens_equal_the_stored_screens() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.assert_stored_screens("picker");
    driver.press("tab").assert_stored_screens("picker-all");
    driver.press("harmonic").assert_stored_screens("picker-found");
    driver.press("nothing_like_it").assert_stored_screens("picker-nothing");
    let mut driver = store.picker();
    driver.press("alt+m ctrl+d").assert_stored_screens("picker-delete");
    driver.press("escape ctrl+r").assert_stored_screens("picker-rename");
    driver.press("escape f1").assert_stored_screens("picker-help");
    drop(store.dir);
}

#[test]
fn the_picker_returns_the_choice() {
    let store = Store::new();
    let mut driver = store.picker();
    let first = driver.screen.selected_session().unwrap().path.clone();
    driver.press("enter");
    assert_eq!(driver.outcome, Some(Picked::Chosen(first)));
    assert_eq!(store.picker().press("escape").outcome, Some(Picked::Nothing));
    assert!(matches!(store.picker().press("down ctrl+t").outcome, Some(Picked::Tree(_))));
    assert!(matches!(store.picker().press("ctrl+o").outcome, Some(Picked::Read(_))));
}

#[test]
fn sessions_are_renamed_deleted_and_restored() {
    let store = Store::new();
    let mut driver = store.picker();
    let n_rows = driver.screen.rows.len();
    driver.press("down ctrl+r ctrl+u A_new_name enter");
    assert!(driver.lines().iter().any(|row| row.contains("A new name")), "{:#?}", driver.lines());
    driver.press("alt+u");
    assert!(!rows(&driver.lines()).iter().any(|row| row.contains("A new name")));
    let path = driver.screen.selected_session().unwrap().path.clone();
    for keys in ["ctrl+d x z space tab", "n", "ctrl+d escape", "ctrl+d shift+n"] {
        driver.press(keys);
        assert!(path.exists(), "{keys}");
    }
    driver.press("ctrl+d y");
    assert!(!path.exists());
    assert_eq!(driver.screen.rows.len(), n_rows - 1);
    driver.press("alt+u");
    assert!(path.exists());
    assert_eq!(driver.screen.rows.len(), n_rows);
    driver.press("alt+home alt+a ctrl+d enter");
    assert_eq!(driver.screen.rows.len(), 0);
    driver.press("alt+u");
    assert_eq!(driver.screen.rows.len(), n_rows);
}

#[test]
fn undo_is_limited_to_the_changes_of_this_picker() {
    let store = Store::new();
    let mut driver = store.picker();
    let paths: Vec<PathBuf> = driver.screen.arranged.iter().map(|session| session.path.clone()).collect();
    // Another process deletes and renames.
    store.sessions.delete(&paths[..1], sessile::operations::Deletion::ToTrash, false).unwrap();
    store.sessions.rename(&paths[1], Some("Theirs"), false).unwrap();
    let n_operations = || store.sessions.operations().unwrap().len();
    let n_before = n_operations();
    driver.press("alt+u");
    let text = "Nothing to undo on this screen; `sessile undo --list` shows earlier operations";
    assert!(driver.lines()[1].contains(text), "{:#?}", driver.lines());
    assert_eq!(n_operations(), n_before);
    // Operations of this picker are undone one by one, newest first, and named.
    let mut driver = store.picker();
    driver.press("down ctrl+r ctrl+u Ours enter ctrl+d");
    let path = driver.screen.selected_session().unwrap().path.clone();
    assert!(driver.lines()[1].contains("Move “Ours” to the trash?"), "{:#?}", driver.lines());
    driver.press("y");
    driver.press("alt+u");
    let head = driver.lines()[1..3].concat();
    assert!(head.starts_with("Undone: delete “Ours”; redo with `sessile undo "), "{head}");
    assert!(path.exists());
    driver.press("alt+u");
    assert!(driver.lines()[1].starts_with("Undone: name “Ours”"), "{:#?}", driver.lines());
    driver.press("alt+u");
    assert!(driver.lines()[1].contains("Nothing to undo on this screen"), "{:#?}", driver.lines());
    assert!(path.exists() && !paths[0].exists());
}

#[test]
fn undo_skips_a_deletion_that_was_restored_in_the_trash() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("down ctrl+d y");
    assert!(driver.lines()[1].contains("alt+u undo"), "{:#?}", driver.lines());
    let trash = crate::trash::Trash::new(Arc::new(Keymap::default()), String::new());
    let backend = crate::trash::TrashBackend { sessions: store.sessions.clone(), history: driver.screen.history() };
    let mut trash = Driver::new(trash, backend, |_| false);
    let path =
        trash.press("enter").backend.sessions.operations().unwrap().pop().unwrap().steps[0].session().path.clone();
    assert!(path.exists() && trash.screen.has_restored());
    driver.screen.clear_message();
    driver.screen.on_return(None);
    assert!(!driver.lines()[1].contains("undo"), "{:#?}", driver.lines());
    driver.press("alt+u");
    assert!(driver.lines()[1].contains("Undone: restore “"), "{:#?}", driver.lines());
    assert!(!path.exists());
    driver.press("alt+u");
    assert!(driver.lines()[1].contains("Nothing to undo on this screen"), "{:#?}", driver.lines());
}

#[test]
fn the_deletion_question_names_the_session() {
    let list = made_up(&[
        ("/s/a", "x", Some("The tide tables of the whole coast, by harbour"), 0, None, "/p"),
        ("/s/b", "two", None, 60_000, None, "/p"),
    ]);
    let mut driver = picker_with(list.clone(), list, None);
    for (width, text) in [
        (80, "Move “The tide tables of the whole coast, by harbour” to the trash? y yes · n no"),
        (70, "Move “The tide tables of the whole coast,…” to the trash? y yes · n no"),
        (40, "Trash “The tide tables o…”? y yes · n no"),
        (30, "Trash the session? y yes · n no"),
    ] {
        driver.resize(width, 24).press("ctrl+d");
        assert!(text.starts_with(driver.lines()[1].trim_end_matches('…')), "{width}: {:#?}", driver.lines());
        driver.press("n");
    }
    driver.resize(80, 24).press("alt+a ctrl+d");
    assert!(driver.lines()[1].starts_with("Move 2 sessions to the trash?"), "{:#?}", driver.lines());
}

#[test]
fn archiving_names_the_session_and_the_preview_skips_the_mark() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.resize(160, 48);
    let preview = |driver: &Driver<Picker>| driver.lines().join("\n");
    let path = driver.screen.selected_session().unwrap().path.clone();
    driver.press("alt+z");
    assert!(driver.lines()[1].starts_with("“High water an hour early” archived"), "{:#?}", driver.lines());
    driver.send(Event::Clock(driver.screen.now.saturating_add_ms(60_000))).press("shift+alt+z");
    assert_eq!(driver.screen.selected_session().unwrap().path, path);
    assert!(driver.lines()[2].contains("alt+z unarchive"), "{:#?}", driver.lines());
    assert!(
        preview(&driver).contains("at assistant: ") && !preview(&driver).contains("sessile.archive"),
        "{}",
        preview(&driver)
    );
    driver.press("alt+z");
    assert!(driver.lines()[1].starts_with("“High water an hour early” unarchived"), "{:#?}", driver.lines());
}

#[test]
fn the_message_about_an_edited_query_is_correct() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.resize(80, 24).press("tab harmonic ctrl+d");
    assert_eq!(driver.lines()[1].trim_end(), "Editing the query: press ↑ or ↓ first, then ctrl+d");
    driver.press("up ctrl+d");
    assert!(matches!(driver.screen.mode, super::Mode::Confirm(_)) && driver.screen.selected == 0);
}

#[test]
fn pins_stay_at_the_top_and_are_saved() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(FixedEnvironment { home: dir.path().to_path_buf() });
    sessions.pin(&"/s/b".replace('/', "").as_str().into(), true).unwrap();
    assert!(sessions.pins().contains("sb"));
    let list = made_up(&[("/s/a", "one", None, 0, None, "/p"), ("/s/b", "two", None, 60_000, None, "/p")]);
    let mut driver = picker_with(list.clone(), list, None);
    driver.press("down alt+i");
    assert!(rows(&driver.lines())[0].contains("★ two"));
    driver.press("alt+i");
    assert!(rows(&driver.lines())[0].contains("one"));
}

#[test]
fn files_with_the_same_session_are_marked_as_copies() {
    let mut list = made_up(&[("/s/a", "one", None, 0, None, "/p"), ("/s/b", "one", None, 60_000, None, "/p")]);
    let marked = |list: &[SessionInfo]| {
        let driver = picker_with(list.to_vec(), Vec::new(), None);
        rows(&driver.lines()).iter().filter(|row| row.contains("copy · 3 ")).count()
    };
    assert_eq!(marked(&list), 0);
    list[1].id = list[0].id.clone();
    assert_eq!(marked(&list), 1);
}

#[test]
fn sessions_are_marked_while_they_are_in_use() {
    let list = made_up(&[("/s/a", "one", None, 0, None, "/w"), ("/s/b", "two", None, 60_000, None, "/w")]);
    let mut driver = picker_with(list.clone(), Vec::new(), None);
    let list = Arc::new(list);
    let theirs = SessionUser::Sessile { pid: 7, host: "here".to_owned(), since_ms: NOW.as_ms() };
    let used = [(PathBuf::from("/s/b"), vec![theirs])].into();
    driver.send(Event::Job(PickerEvent::Users { list: Arc::clone(&list), used }));
    let marked: Vec<bool> = rows(&driver.lines()).iter().map(|row| row.contains('●')).collect();
    assert_eq!(marked, [false, true]);
    assert!(rows(&driver.lines())[1].contains("in use · 3 1m"), "{:?}", driver.lines());
    driver.send(Event::Job(PickerEvent::Users { list, used: std::collections::HashMap::new() }));
    assert!(!rows(&driver.lines()).iter().any(|row| row.contains('●')));
}

#[test]
fn sessions_can_be_grouped_and_forks_hidden() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("tab");
    let n_rows = driver.screen.rows.len();
    driver.press("alt+h");
    assert!(driver.screen.rows.len() < n_rows);
    driver.press("alt+h alt+g");
    assert!(driver.screen.rows.len() > n_rows, "headings are rows too");
    let screen = driver.lines().join("\n");
    assert_eq!(screen.matches("~/src/harbour-site").count(), 1, "rows do not repeat the heading:\n{screen}");
    assert!(driver.screen.selected_session().is_some(), "a heading is never selected");
    driver.press("up up up");
    assert!(driver.screen.selected_session().is_some());
}

#[test]
fn message_text_is_searched() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("tab harmonic");
    let screen = driver.lines().join("\n");
    assert!(screen.contains("harmonic sums") || screen.contains("harmonic"), "{screen}");
    assert!(!driver.screen.rows.is_empty());
}

#[test]
fn the_mouse_selects_and_opens() {
    let store = Store::new();
    let mut driver = store.picker();
    let list = driver.screen.layout().list;
    let at = |y| Event::Mouse(Mouse { action: MouseAction::Click, x: 5, y });
    driver.send(at(list.y + 1));
    assert_eq!(driver.screen.selected, 1);
    driver.send(at(list.y + 1));
    assert!(matches!(driver.outcome, Some(Picked::Chosen(_))));
}

/// Returns a session with only its path known.
fn changed_row(path: &std::path::Path) -> SessionInfo {
    let mut row = made_up(&[("/s/a", "x", None, 0, None, "/p")]).remove(0);
    row.path = path.to_path_buf();
    row
}

#[test]
fn changes_by_other_programs_are_shown() {
    let list = made_up(&[("/s/a", "one", None, 60_000, None, "/p")]);
    let mut driver = picker_with(list.clone(), list, None);
    let changed = made_up(&[("/s/a", "one", Some("from elsewhere"), 0, None, "/p")]).remove(0);
    driver.send(Event::Job(PickerEvent::Store(sessile::watch::StoreEvent::Changed(Box::new(changed.clone())))));
    assert!(rows(&driver.lines())[0].contains("from elsewhere"));
    driver.send(Event::Job(PickerEvent::Store(sessile::watch::StoreEvent::Removed(changed.path))));
    assert!(rows(&driver.lines()).is_empty());
    // For a new session the store is listed again, because only a listing shows which folder it belongs to.
    let store = Store::new();
    let mut driver = store.picker();
    let n_rows = driver.screen.rows.len();
    let cwd = store.sessions.environment().current_dir();
    let mut session = store.sessions.create(&cwd).unwrap();
    session
        .append_message(sessile::draft::UserMessage::new(
            "written by another program",
            Timestamp::from_ms(1_763_000_000_000),
        ))
        .unwrap();
    let new = changed_row(session.session_file().unwrap());
    driver.send(Event::Job(PickerEvent::Store(sessile::watch::StoreEvent::Added(Box::new(new)))));
    assert_eq!(driver.screen.rows.len(), n_rows + 1);
}

#[test]
fn the_first_rows_are_shown_before_the_last_are_read() {
    let list = made_up(&[("/s/a", "one", None, 0, None, "/p"), ("/s/b", "two", None, 60_000, None, "/p")]);
    let mut driver = picker_with(Vec::new(), Vec::new(), None);
    let partial = PickerEvent::Loading { scope: Scope::Here, loaded: 1, total: 2, list: Some(list[1..].to_vec()) };
    driver.send(Event::Job(partial));
    assert_eq!(rows(&driver.lines()).len(), 1);
    assert!(driver.lines()[0].contains("reading 1/2"));
    driver.press("down");
    driver.send(Event::Job(PickerEvent::Loaded { scope: Scope::Here, list, with_texts: false }));
    let chosen = driver.screen.selected_session().unwrap().path.clone();
    assert_eq!(chosen, PathBuf::from("/s/b"), "the selection of the user is kept");
}

/// The user returns from another screen, and the list is read again.
#[test]
fn the_selection_stays_while_the_list_is_read_again() {
    let list = made_up(&[("/s/a", "one", None, 0, None, "/p"), ("/s/b", "two", None, 60_000, None, "/p")]);
    let mut driver = picker_with(list.clone(), Vec::new(), None);
    driver.press("down");
    driver.screen.on_return(None);
    let partial = PickerEvent::Loading { scope: Scope::Here, loaded: 1, total: 2, list: Some(list[..1].to_vec()) };
    driver.send(Event::Job(partial));
    driver.send(Event::Job(PickerEvent::Loaded { scope: Scope::Here, list, with_texts: false }));
    assert_eq!(driver.screen.selected_session().unwrap().path, PathBuf::from("/s/b"));
    // Search results stay as well while the list is read again.
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("tab harmonic down");
    let (chosen, n_hits) = (driver.screen.selected_session().unwrap().path.clone(), driver.screen.hits.len());
    assert!(driver.screen.selected == 1 && n_hits > 0);
    let list = driver.screen.listed(Scope::All).list.to_vec();
    let effects = driver.screen.update(Event::Job(PickerEvent::Loaded { scope: Scope::All, list, with_texts: false }));
    assert_eq!((driver.screen.selected, driver.screen.hits.len()), (1, n_hits));
    assert_eq!(driver.screen.selected_session().unwrap().path, chosen);
    assert!(!effects.is_empty(), "the search is repeated");
}

#[test]
fn an_incomplete_regular_expression_ends_the_search_and_is_explained() {
    let store = Store::new();
    for keys in ["re:[", "alt+t re:["] {
        let mut driver = store.picker();
        driver.press(keys);
        for (width, height) in [(120, 40), (80, 24), (40, 12), (40, 10)] {
            driver.resize(width, height);
            let screen = driver.lines();
            let head = screen[1..3].join("\n");
            assert!(head.contains("unclosed character class") && !head.contains('…'), "{keys}: {screen:#?}");
            assert!(!screen.join("\n").to_lowercase().contains("searching"), "{keys}: {screen:#?}");
        }
        assert!(!driver.screen.is_searching);
        driver.press("a-z] T I D E");
        assert_eq!(driver.screen.problem, None);
        assert!(!driver.lines().join("\n").contains("unclosed"), "{:#?}", driver.lines());
    }
}

#[test]
fn archived_sessions_are_hidden_and_can_be_unarchived() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("tab");
    let (n_rows, first) = (driver.screen.rows.len(), driver.screen.selected_session().unwrap().path.clone());
    driver.press("alt+z");
    assert!(driver.lines()[1].contains(" archived · alt+u undo"), "{:#?}", driver.lines());
    assert_eq!(driver.screen.rows.len(), n_rows - 1);
    assert_ne!(driver.screen.selected_session().unwrap().path, first);
    let foot = |driver: &Driver<Picker>| driver.lines().last().unwrap().clone();
    assert!(foot(&driver).contains("1 archived: shift+alt+z"), "{}", foot(&driver));
    driver.press("shift+alt+z");
    assert_eq!((driver.screen.rows.len(), &driver.screen.selected_session().unwrap().path), (1, &first));
    assert!(driver.lines()[0].contains("archived") && !foot(&driver).contains("archived"), "{:#?}", driver.lines());
    // In this list the key unarchives.
    driver.press("alt+z");
    assert!(driver.lines().join("\n").contains("No archived sessions. shift+alt+z shows the others."));
    driver.press("alt+u shift+alt+z");
    assert_eq!(driver.screen.rows.len(), n_rows - 1, "undoing that archives it again");
    // Searches leave archived sessions out, and archiving several is one operation.
    driver.press("shift+alt+z alt+z shift+alt+z");
    assert_eq!(driver.screen.rows.len(), n_rows);
    driver.press("alt+a alt+z");
    assert!(driver.lines()[1].contains(&format!("{n_rows} sessions archived")), "{:#?}", driver.lines());
    assert!(driver.lines().join("\n").contains("All sessions are archived. shift+alt+z shows them."));
    driver.press("harmonic");
    assert!(driver.screen.rows.is_empty());
    driver.press("escape shift+alt+z harmonic");
    assert!(!driver.screen.rows.is_empty());
    driver.press("escape shift+alt+z alt+u");
    assert_eq!(driver.screen.rows.len(), n_rows, "one undo unarchives all of them");
}

#[test]
fn keys_that_change_sessions_do_nothing_while_a_query_is_edited() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("down ctrl+r ctrl+u another_name enter alt+home");
    for key in ["ctrl+d", "alt+u", "alt+i", "alt+z", "ctrl+backspace"] {
        driver.press("escape tide");
        assert!(driver.screen.is_editing);
        driver.press(key);
        assert!(matches!(driver.screen.mode, super::Mode::List), "{key}");
        assert!(driver.screen.pins.is_empty() && driver.screen.history.len() == 1, "{key}");
        let is_explained = driver.lines()[1].contains("Editing the query");
        assert_eq!(is_explained, key != "ctrl+backspace", "{key}: {:?}", driver.lines());
        driver.send(Event::Clock(driver.screen.now.saturating_add_ms(60_000))).press("escape escape");
        driver.outcome = None;
    }
    // Editing keys edit the query.
    driver.press("tide home ctrl+d");
    assert_eq!(driver.screen.query.text(), "ide");
    // After moving in the list, keys apply to the list.
    driver.press("down ctrl+d");
    assert!(matches!(driver.screen.mode, super::Mode::Confirm(_)));
    driver.press("n alt+i");
    assert_eq!(driver.screen.pins.len(), 1);
    driver.press("x");
    assert!(driver.screen.is_editing, "typing edits the query again");
}

#[test]
fn escape_closes_the_topmost_item() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("harmonic ctrl+r escape");
    assert!(matches!(driver.screen.mode, super::Mode::List), "first the question");
    assert_eq!((driver.screen.query.text(), driver.outcome.as_ref()), ("harmonic", None));
    driver.press("f1 escape");
    assert_eq!((driver.screen.query.text(), driver.outcome.as_ref()), ("harmonic", None));
    let n_rows = driver.screen.rows.len();
    driver.press("escape");
    assert_eq!((driver.screen.query.text(), driver.outcome.as_ref()), ("", None), "then the query");
    assert!(driver.screen.rows.len() > n_rows);
    driver.press("escape");
    assert_eq!(driver.outcome, Some(Picked::Nothing), "then the screen");
}

#[test]
fn common_picker_keys_move() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.press("ctrl+n ctrl+n ctrl+p");
    assert_eq!((driver.screen.selected, driver.screen.named, driver.screen.shows_path), (1, false, false));
    driver.press("alt+n alt+w");
    assert!(driver.screen.named && driver.screen.shows_path);
}

#[test]
fn hints_are_never_cut() {
    let store = Store::new();
    for (width, height) in [(40, 10), (40, 12), (60, 24), (80, 24), (100, 24), (120, 40), (200, 50)] {
        let mut driver = store.picker();
        driver.resize(width, height);
        let screen = driver.lines();
        assert!(screen[1].ends_with("f1 keys") && !screen[1..3].concat().contains('…'), "{width}: {screen:#?}");
        let path = driver.screen.selected_session().unwrap().path.clone();
        let theirs =
            SessionUser::Sessile { pid: 4_194_304, host: "a-host-with-a-name".to_owned(), since_ms: NOW.as_ms() };
        for is_used in [false, true] {
            if is_used {
                driver.screen.users.insert(path.clone(), vec![theirs.clone()]);
            }
            driver.press("ctrl+d");
            let screen = driver.lines();
            assert!(screen[1].ends_with("y yes · n no"), "{width}: {screen:#?}");
            assert_eq!(screen[1..3].concat().contains("In use"), is_used, "{width}: {screen:#?}");
            driver.press("escape");
        }
    }
}

#[test]
fn active_filters_are_shown_at_every_width() {
    let store = Store::new();
    let mut driver = store.picker();
    driver.resize(40, 12).press("alt+n alt+h alt+t");
    assert_eq!(driver.lines()[0], "here  threaded  named  no forks  names …");
    driver.press("alt+t alt+h nothing_like_it");
    let text = driver.lines()[3..6].concat().replace("  ", " ");
    assert!(
        text.contains("alt+n includes unnamed sessions,") && text.contains("tab all folders."),
        "{:#?}",
        driver.lines()
    );
}

#[test]
fn an_empty_store_shows_what_to_do_next() {
    let mut driver = picker_with(Vec::new(), Vec::new(), None);
    driver.screen.root = PathBuf::from("/home/u/.pi/agent/sessions");
    assert!(driver.lines().join(" ").contains("tab shows all folders"), "{:#?}", driver.lines());
    for (width, height) in [(120, 40), (80, 24), (40, 12)] {
        driver.resize(width, height);
        driver.screen.scope = Scope::All;
        let text = driver.lines()[3..].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["no sessions in ~/.pi/agent/sessions yet", "`sessile new`", "`sessile --sample resume`"] {
            assert!(text.contains(part), "{width}: {text}");
        }
    }
}

#[test]
fn titles_come_first_and_ages_are_never_cut() {
    let folder = format!("/home/u/work/{}", "a-rather-long-name/".repeat(4));
    let title = "Move the tide tables to the store";
    let rows_at = |list: Vec<SessionInfo>, width, height, keys: &str| {
        let mut driver = picker_with(Vec::new(), list, None);
        driver.screen.shows_preview = true;
        driver.resize(width, height).press(keys);
        driver.lines().into_iter().filter(|row| row.starts_with('›')).collect::<Vec<_>>()
    };
    for keys in ["tab", "tab alt+w"] {
        for (width, height) in [(120, 40), (80, 24)] {
            let list = made_up(&[("/s/a", "x", Some(title), 400 * 86_400_000, None, &folder)]);
            let seen = rows_at(list, width, height, keys);
            let row = seen[0].split('│').next().unwrap().trim_end();
            assert!(row.ends_with("3 1y"), "{width} {keys}: {row}");
            let least = if keys == "tab" { title } else { "Move the tide tables" };
            assert!(row.contains(least) && row.contains("…"), "{width} {keys}: {row}");
        }
    }
    let list = made_up(&[("/s/a", "x", Some("The tide tables"), 400 * 86_400_000, None, &folder)]);
    let seen = rows_at(list, 40, 12, "tab");
    assert!(seen[0].contains("The tide tables") && seen[0].ends_with("3 1y"), "{seen:?}");
}

#[test]
fn an_export_creates_its_directory_or_shows_the_whole_reason() {
    let store = Store::new();
    let own = store.dir.path().join("own");
    let mut driver = store.picker();
    driver.press("alt+e enter");
    let n_files = |path: PathBuf| path.read_dir().map_or(0, Iterator::count);
    let text = driver.lines()[1..4].concat().split_whitespace().collect::<String>();
    assert!(text.starts_with(&format!("1sessionexportedto{}", own.display())) && !text.contains("own/."), "{text}");
    assert_eq!(n_files(own.clone()), 1, "not in the user's directory: {:#?}", driver.lines());
    driver.press("alt+a alt+e ctrl+u new/deeper enter");
    assert_eq!(n_files(own.join("new/deeper")), 4, "{:#?}", driver.lines());
    driver.press("alt+e ctrl+u ~/there enter");
    assert_eq!(n_files(own.join("home/there")), 1, "{:#?}", driver.lines());
    // The second export fails: the file already exists, or a file is where a directory should be.
    let file = own.join("new/file");
    #[expect(clippy::disallowed_methods, reason = "creates an obstacle for the export")]
    std::fs::write(&file, "").unwrap();
    for (to, why) in [("new/deeper", "exists"), ("new/file/below", "directory")] {
        for (width, height) in [(40, 12), (80, 24)] {
            driver.resize(width, height).press("alt+a alt+e ctrl+u").press(to).press("enter");
            let text = driver.lines().concat().split_whitespace().collect::<String>();
            let failed = driver.lines();
            assert!(text.contains(to) && text.contains(why), "{failed:#?}");
            driver.press("alt+a");
        }
    }
}

#[test]
fn the_trash_is_reached_from_the_list() {
    let store = Store::new();
    assert_eq!(store.picker().press("alt+r").outcome, Some(Picked::Trash));
    let mut driver = store.picker();
    driver.resize(80, 60).press("f1");
    assert!(driver.lines().iter().any(|row| row.starts_with("alt+r") && row.contains("trash")));
}

#[test]
fn the_picker_shows_its_purpose() {
    let store = Store::new();
    for (purpose, title, hint) in [
        (super::Purpose::Resume, "Sessions in this folder", "enter resume"),
        (super::Purpose::Tree, "Open a session tree in this folder", "enter tree"),
        (super::Purpose::Read, "Read a session in this folder", "enter read"),
        (super::Purpose::Fork, "Fork a session in this folder", "enter fork"),
    ] {
        let mut driver = store.picker();
        driver.screen.purpose = purpose;
        driver.resize(80, 24);
        let screen = driver.lines();
        assert!(screen[0].starts_with(title) && screen[1].starts_with(hint), "{screen:#?}");
    }
}

#[test]
fn redacted_copies_and_imported_sessions_have_a_note() {
    let mut list = made_up(&[
        ("/s/a.jsonl", "the original", None, 60_000, None, "/w/proj"),
        ("/s/b.jsonl", "without secrets", None, 120_000, None, "/w/proj"),
    ]);
    list[0].imported_from = Some("claude".to_owned());
    list[1].is_redacted = true;
    let driver = picker_with(list.clone(), list, None);
    let shown = rows(&driver.lines());
    assert!(shown[1].contains("without secrets") && shown[1].contains("redacted · 3 "), "{shown:#?}");
    assert!(shown[0].contains("the original") && shown[0].contains("claude · 3 "), "{shown:#?}");
    assert!(!shown[0].contains("redacted"), "{shown:#?}");
}
