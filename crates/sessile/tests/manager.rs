//! The manager on real files: its guarantees beyond pi's.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sessile::branch::{BranchSummary, ForkPosition};
use sessile::compaction::Compaction;
use sessile::date::Timestamp;
use sessile::json::{Json, ObjectWriter};
use sessile::list::ListOptions;
use sessile::write::{StoreError, WriteOptions};
use sessile::{Cancel, EntryId, NewSession, SessionError, SessionManager, Sessions, draft};
use sessile_testkit::Replay;
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

struct Fixture {
    dir: TempDir,
    environment: Replay,
    sessions: Sessions,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home(dir.path());
        environment.set_current_dir(dir.path());
        Self { sessions: Sessions::new(environment.clone()), environment, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn create(&self) -> SessionManager {
        self.sessions.clone().with_session_dir(self.path("sessions")).create("/proj").unwrap()
    }

    /// A file with a header and these lines.
    fn file(&self, name: &str, lines: &[&str]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, format!("{HEADER}\n{}\n", lines.join("\n"))).unwrap();
        path
    }

    fn open(&self, path: &Path) -> SessionManager {
        self.sessions.open(path).unwrap()
    }
}

fn entry(id: &str, parent: Option<&str>) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
    )
}

fn user(text: &str) -> draft::UserMessage {
    draft::UserMessage::new(text, Timestamp::from_ms(1))
}

fn read(path: &Path) -> String {
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_session_has_no_file_until_the_first_message() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    let file = session.session_file().unwrap().to_path_buf();
    session.append_model_change("acme", "acme-1").unwrap();
    session.append_session_info("named").unwrap();
    assert!(!file.exists());
    session.append_message(user("hello")).unwrap();
    assert_eq!(read(&file).lines().count(), 4);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(fixture.path("sessions")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_session_with_only_a_name_can_be_saved() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    session.append_session_info("only a name").unwrap();
    session.persist_now().unwrap();
    let file = session.session_file().unwrap().to_path_buf();
    assert_eq!(fixture.open(&file).session_name().unwrap().unwrap(), "only a name");
    session.persist_now().unwrap();
    session.append_session_info("another").unwrap();
    assert_eq!(read(&file).lines().count(), 3);
}

#[test]
fn a_failed_first_write_can_be_retried() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    let label = session.append_model_change("acme", "acme-1").unwrap();
    fs::remove_dir(fixture.path("sessions")).unwrap();
    assert!(matches!(session.append_message(user("lost?")), Err(SessionError::Store(StoreError::Io { .. }))));
    assert_eq!((session.leaf_id(), session.entry_count()), (Some(label), 1));
    fs::create_dir(fixture.path("sessions")).unwrap();
    session.append_message(user("kept")).unwrap();
    assert_eq!(read(session.session_file().unwrap()).lines().count(), 3);
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    let file = session.session_file().unwrap().to_path_buf();
    fs::write(&file, "precious\n").unwrap();
    // We generated the name, so another one will do.
    session.append_message(user("x")).unwrap();
    assert_eq!(read(&file), "precious\n");
    let saved = session.session_file().unwrap().to_path_buf();
    assert_eq!(
        saved.file_stem().unwrap().to_string_lossy(),
        format!("{}-1", file.file_stem().unwrap().to_string_lossy())
    );
    assert_eq!(fixture.open(&saved).entry_count(), 1);

    // A name given by the caller must be used.
    let given = fixture.path("given.jsonl");
    let mut session = fixture.sessions.open_or_create(&given).unwrap();
    fs::write(&given, "precious\n").unwrap();
    assert!(matches!(session.append_message(user("x")), Err(SessionError::Store(StoreError::Exists { .. }))));
    assert_eq!(read(&given), "precious\n");
    assert_eq!(session.entry_count(), 0);
}

#[test]
fn a_deleted_file_is_reported_and_nothing_changes() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None)]);
    let mut session = fixture.open(&path);
    fs::remove_file(&path).unwrap();
    let error = session.append_message(user("x")).unwrap_err();
    assert!(error.to_string().contains("no longer exists"), "{error}");
    assert_eq!(session.leaf_id().unwrap(), "a");
    assert!(!path.exists());
}

#[test]
fn a_summary_that_cannot_be_written_does_not_move_the_leaf() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None), &entry("b", Some("a"))]);
    let mut session = fixture.open(&path);
    fs::remove_file(&path).unwrap();
    let summary = BranchSummary { summary: "s".into(), ..BranchSummary::default() };
    assert!(session.branch_with_summary(Some(&"a".into()), &summary).is_err());
    assert_eq!(session.leaf_id().unwrap(), "b");
}

#[test]
fn a_file_that_is_not_a_session_does_not_become_one() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None)]);
    let notes = fixture.path("notes.txt");
    fs::write(&notes, "precious notes\n").unwrap();
    let mut session = fixture.open(&path);
    let error = session.set_session_file(&notes).unwrap_err();
    assert!(matches!(&error, SessionError::NotASession { path } if *path == notes), "{error}");
    session.append_message(user("goes to the old one")).unwrap();
    assert_eq!(read(&notes), "precious notes\n");
    assert_eq!(read(&path).lines().count(), 3);
    assert!(matches!(
        session.set_session_file(fixture.dir.path()),
        Err(SessionError::Store(StoreError::NotRegular { .. }))
    ));
}

#[test]
fn a_newer_file_is_read_but_not_written() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    let text = format!("{}\n{}\n", HEADER.replace("\"version\":3", "\"version\":4"), entry("a", None));
    fs::write(&path, &text).unwrap();
    let mut session = fixture.open(&path);
    assert_eq!(session.build_session_context().unwrap().messages.len(), 1);
    let error = session.append_message(user("x")).unwrap_err();
    assert!(matches!(&error, SessionError::NewerVersion { version, .. } if version == "4"), "{error}");
    assert_eq!(read(&path), text);
    // A branch of it is a session of our version, and is writable.
    session.create_branched_session("a").unwrap();
    session.append_message(user("x")).unwrap();
}

#[test]
fn an_old_file_is_upgraded_by_the_first_write() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    let old = "{\"type\":\"session\",\"id\":\"s1\",\"cwd\":\"/proj\",\"extra\":1.0}\r\nbroken\n\n{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"hookMessage\",\"content\":\"h\",\"n\":1.50}}";
    fs::write(&path, old).unwrap();
    fixture.environment.script_ids(["11111111-x", "22222222-x"]);
    let mut session = fixture.open(&path);
    assert_eq!(session.leaf_id().unwrap(), "11111111");
    assert_eq!(read(&path), old, "opening writes nothing");
    session.append_message(user("new")).unwrap();
    let lines: Vec<String> = read(&path).lines().map(str::to_owned).collect();
    assert_eq!(lines[0], r#"{"type":"session","id":"s1","cwd":"/proj","extra":1.0,"version":3}"#);
    assert_eq!(lines[1..3], ["broken".to_owned(), String::new()]);
    assert_eq!(
        lines[3],
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"custom","content":"h","n":1.50},"id":"11111111","parentId":null}"#
    );
    assert!(lines[4].contains(r#""parentId":"11111111""#));
    let original = fixture.path("f.jsonl.orig-2025-01-01T00-00-00-000Z");
    assert_eq!(read(&original), old);
    assert_eq!(fixture.open(&path).entry_count(), 2);
}

#[test]
fn ids_of_an_old_file_are_the_same_each_time() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f.jsonl");
    fs::write(&path, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"custom\"}\n{\"type\":\"custom\"}\n").unwrap();
    let leaf = || SessionManager::open(&path).unwrap().leaf_id().unwrap();
    assert_eq!(leaf(), leaf());
}

#[test]
fn a_taken_id_is_drawn_again() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("aaaaaaaa", None)]);
    let mut session = fixture.open(&path);
    fixture.environment.script_ids(["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-3"]);
    assert_eq!(session.append_message(user("x")).unwrap(), "bbbbbbbb");
    fixture.environment.script_ids(std::iter::repeat_n("aaaaaaaa-1", 100).chain(["cccccccc-long"]));
    assert_eq!(session.append_message(user("x")).unwrap(), "cccccccc-long");
}

#[test]
fn entries_of_other_writers_are_read_and_the_leaf_stays() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None)]);
    let mut one = fixture.open(&path);
    let mut other = fixture.open(&path);
    let theirs = other.append_message(user("theirs")).unwrap();
    let ours = one.append_message(user("ours")).unwrap();
    assert_eq!(one.entry_count(), 3);
    assert_eq!(one.entry(&ours).unwrap().unwrap().parent_id().unwrap(), "a");
    assert_eq!(one.children(&"a".into()).unwrap().len(), 2);
    other.refresh().unwrap();
    assert_eq!(other.leaf_id(), Some(theirs));
    other.follow_leaf().unwrap();
    assert_eq!(other.leaf_id(), Some(ours));
}

#[test]
fn an_unfinished_line_is_sealed_unless_another_writer_completes_it() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None)]);
    let mut session = fixture.open(&path);
    let append =
        |text: &str| fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    append(r#"{"type":"message","id":"torn"#);
    session.append_message(user("kept")).unwrap();
    assert_eq!(fixture.open(&path).entry_count(), 2);
    // Half a line is ignored; once complete it is an entry.
    append(r#"{"type":"custom","id":"half","#);
    session.refresh().unwrap();
    assert_eq!(session.entry_count(), 2);
    append("\"parentId\":null}\n");
    session.refresh().unwrap();
    assert!(session.entry("half").unwrap().is_some());
}

#[test]
fn an_empty_file_gets_its_header_with_the_first_entry() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    fs::write(&path, "").unwrap();
    let mut session = fixture.open(&path);
    assert_eq!(read(&path), "", "opening writes nothing");
    session.append_thinking_level_change("high").unwrap();
    assert_eq!(read(&path).lines().count(), 2);
}

#[test]
fn forks_are_cut_before_or_at_an_entry() {
    let fixture = Fixture::new();
    let lines = [entry("a", None), entry("b", Some("a")), entry("c", Some("b"))];
    let path = fixture.file("f.jsonl", &[&lines[0], &lines[1], &lines[2]]);

    let mut session = fixture.open(&path);
    let forked = session.fork("b", ForkPosition::Before).unwrap();
    assert_eq!(forked.text.as_deref(), Some("b"));
    let copy = read(forked.session_file.as_ref().unwrap());
    assert_eq!(copy.lines().skip(1).collect::<Vec<_>>(), [lines[0].as_str()]);
    assert_eq!(session.header().parent_session().unwrap(), path.to_string_lossy());

    let mut session = fixture.open(&path);
    assert_eq!(session.fork("b", ForkPosition::At).unwrap().text, None);
    assert_eq!(session.leaf_id().unwrap(), "b");

    let mut session = fixture.open(&path);
    session.fork("a", ForkPosition::Before).unwrap();
    assert_eq!((session.entry_count(), session.leaf_id()), (0, None));
    assert!(!session.session_file().unwrap().exists());
    assert!(matches!(session.fork("a", ForkPosition::At), Err(SessionError::EntryNotFound { .. })));

    let mut session = fixture.open(&path);
    session.branch("b").unwrap();
    session.clone_session().unwrap();
    assert_eq!(session.entry_count(), 2);

    let mut unsaved = fixture.create();
    let entry = unsaved.append_session_info("x").unwrap();
    assert!(matches!(unsaved.fork(entry, ForkPosition::At), Err(SessionError::Unsaved)));
}

#[test]
fn a_fork_of_an_old_file_is_of_the_current_version() {
    let fixture = Fixture::new();
    let path = fixture.path("old.jsonl");
    let old = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}\n";
    fs::write(&path, old).unwrap();
    let forked = fixture.sessions.clone().with_session_dir(fixture.path("forks")).fork_from(&path, "/other").unwrap();
    assert_eq!(forked.build_session_context().unwrap().messages.len(), 2);
    assert_eq!(read(&path), old);
    let error = fixture
        .sessions
        .clone()
        .with_session_dir(fixture.path("forks"))
        .fork_from(fixture.path("none"), "/other")
        .unwrap_err();
    assert!(matches!(error, SessionError::CannotFork { .. }), "{error}");
    let error = fixture
        .sessions
        .clone()
        .with_session_dir(fixture.path("new"))
        .fork_from_with(&path, "/other", &NewSession { id: Some("-bad".into()), ..NewSession::default() })
        .unwrap_err();
    assert!(matches!(error, SessionError::BadSessionId { .. }), "{error}");
    assert!(!fixture.path("new").exists(), "a refused fork creates no files");
}

#[test]
fn compactions_branches_and_fork_links_are_listed() {
    let fixture = Fixture::new();
    let mut session = fixture.sessions.in_memory("/proj", NewSession::default()).unwrap();
    let first = session.append_message(user("one")).unwrap();
    session.append_message(draft::AssistantMessage::new("acme", "acme-1", "answer", Timestamp::from_ms(2))).unwrap();
    let compaction = Compaction { summary: "s".into(), tokens_before: 1234.0, ..Compaction::default() };
    let compacted = session.append_compaction(&compaction).unwrap();
    let left = BranchSummary { summary: "went nowhere".into(), ..BranchSummary::default() };
    let summary = session.branch_with_summary(Some(&first), &left).unwrap();
    let records = session.compactions().unwrap();
    assert_eq!((records[0].tokens_before, records[0].on_path), (Some(1234.0), false));
    assert_eq!(records[0].first_kept_entry_id, Some(compacted.clone()));
    assert_eq!(session.branch_points().len(), 1);
    assert_eq!(session.branch_statistics().leaves, 2);
    let links = session.fork_links().unwrap();
    assert_eq!(links.left_branches[0].summary_id, summary);
    assert_eq!(links.left_branches[0].from, Some(compacted));
    assert_eq!(links.left_branches[0].onto, Some(first));
}

#[test]
fn a_list_can_be_watched_and_stopped() {
    let fixture = Fixture::new();
    for index in 0..25 {
        fixture.file(&format!("f{index:02}.jsonl"), &[&entry("a", None)]);
    }
    fs::write(
        fixture.path("odd.jsonl"),
        format!("{HEADER}\n{{\"type\":\"message\",\"id\":\"x\"}}\n{{\"type\":\"session_info\",\"name\":5}}\n"),
    )
    .unwrap();
    let mut partials = Vec::new();
    let mut progress = |progress: sessile::list::Progress<'_>| {
        partials.extend(progress.partial.map(|partial| (progress.loaded, partial.len())));
    };
    let mut options = ListOptions { progress: Some(&mut progress), ..ListOptions::default() };
    let listed =
        fixture.sessions.clone().with_session_dir(fixture.dir.path()).list_with("/proj", &mut options).unwrap();
    assert_eq!(listed.len(), 26, "an invalid entry does not hide other sessions");
    assert_eq!(partials, [(1, 1), (10, 10), (20, 20), (26, 26)]);
    let cancel = Cancel::default();
    cancel.cancel();
    let mut options = ListOptions { cancel, ..ListOptions::default() };
    assert!(matches!(
        fixture.sessions.clone().with_session_dir(fixture.dir.path()).list_all_with(&mut options),
        Err(SessionError::Cancelled)
    ));
}

#[test]
fn a_name_that_is_not_a_string_does_not_count() {
    let fixture = Fixture::new();
    let named = |name: &str| {
        format!(
            r#"{{"type":"session_info","id":"n","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","name":{name}}}"#
        )
    };
    for (name, shown) in [("5", None), ("null", None), ("\"  \"", None), ("\" a \"", Some("a"))] {
        let path = fixture.file("f.jsonl", &[&named("\"older\""), &named(name)]);
        assert_eq!(fixture.open(&path).session_name().unwrap().as_deref(), shown, "{name}");
    }
}

#[test]
fn reading_creates_no_directories() {
    let fixture = Fixture::new();
    fixture.environment.set_variable("PI_CODING_AGENT_DIR", &fixture.path("agent").to_string_lossy());
    assert_eq!(fixture.sessions.list("/proj").unwrap(), []);
    assert_eq!(fixture.sessions.list_all().unwrap(), []);
    assert_eq!(fixture.sessions.find_by_id("/proj", "x"), None);
    assert!(!fixture.path("agent").exists());
}

#[test]
fn a_truncated_conversation_is_reported() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None), "{broken", &entry("c", Some("b")), &entry("d", Some("c"))]);
    let mut session = fixture.open(&path);
    let cut = session.cut_off().unwrap();
    assert_eq!(cut.to_string(), format!("line 4 (byte {}): parent b is not in the file", cut.offset));
    session.branch("a").unwrap();
    assert_eq!(session.cut_off(), None);
}

#[test]
fn directories_with_the_same_encoded_name_are_kept_apart() {
    let fixture = Fixture::new();
    fixture.environment.set_variable("PI_CODING_AGENT_DIR", &fixture.path("agent").to_string_lossy());
    let mut session = fixture.sessions.create("/a/b-c").unwrap();
    session.append_message(user("mine")).unwrap();
    assert!(session.uses_default_session_dir());
    let list = |cwd: &str| fixture.sessions.list(cwd).unwrap().len();
    assert_eq!((list("/a/b-c"), list("/a-b/c")), (1, 0));
    assert_eq!(fixture.sessions.continue_recent("/a-b/c").unwrap().entry_count(), 0);
    assert_eq!(fixture.sessions.continue_recent("/a/b-c").unwrap().entry_count(), 1);
    let id = session.session_id();
    assert!(fixture.sessions.find_by_id("/a/b-c", &id).is_some());
    assert_eq!(fixture.sessions.find_by_id("/a-b/c", &id), None);
}

#[test]
fn context_edits_are_checked_before_anything_is_written() {
    let fixture = Fixture::new();
    let mut session = fixture.sessions.in_memory("/proj", NewSession::default()).unwrap();
    let first = session.append_message(user("one")).unwrap();
    let settings = session.append_thinking_level_change("low").unwrap();
    session.reset_leaf();
    let alone = session.append_message(user("two")).unwrap();
    let mut edit = |target: &EntryId, text: &str| session.append_context_edit(target, &Json::parse(text).unwrap());
    assert!(matches!(edit(&"no".into(), "5"), Err(SessionError::BadReplacement)));
    assert!(matches!(edit(&"no".into(), "null"), Err(SessionError::EntryNotFound { .. })));
    assert!(matches!(edit(&first, "null"), Err(SessionError::NotOnBranch { .. })));
    assert!(edit(&alone, "null").is_ok());
    session.branch(&settings).unwrap();
    let error = session.append_context_edit(&settings, &Json::null()).unwrap_err();
    assert!(matches!(error, SessionError::NotEditable { .. }), "{error}");
    assert_eq!(session.entry_count(), 4);
}

/// A version 2 file with these entries.
fn old_file(fixture: &Fixture, name: &str, lines: &[&str]) -> PathBuf {
    let path = fixture.path(name);
    fs::write(&path, format!("{}\n{}\n", HEADER.replace("\"version\":3", "\"version\":2"), lines.join("\n"))).unwrap();
    path
}

#[test]
fn an_upgrade_reads_entries_of_other_writers_once() {
    let fixture = Fixture::new();
    let path = old_file(&fixture, "f.jsonl", &[&entry("a", None)]);
    let mut session = fixture.open(&path);
    let theirs = entry("theirs", Some("a")).replace("\"user\"", "\"hookMessage\"");
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(format!("{theirs}\n").as_bytes()).unwrap();
    let ours = session.append_message(user("ours")).unwrap();
    let text = read(&path);
    assert_eq!(text.matches("\"theirs\"").count(), 2, "the entry is there once, with its id and its content: {text}");
    assert!(!text.contains("hookMessage"), "{text}");
    assert_eq!(fixture.open(&path).entry(&ours).unwrap().unwrap().parent_id().unwrap(), "a");
}

#[test]
fn a_file_that_another_program_upgraded_is_not_upgraded_again() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    fs::write(
        &path,
        format!("{}\n{{\"type\":\"custom\",\"customType\":\"x\"}}\n", HEADER.replace("\"version\":3,", "")),
    )
    .unwrap();
    let mut session = fixture.open(&path);
    // pi writes the upgraded lines to the same file, with its own ids.
    let upgraded =
        format!("{HEADER}\n{{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"11111111\",\"parentId\":null}}\n");
    fs::write(&path, &upgraded).unwrap();
    session.append_message(user("ours")).unwrap();
    let text = read(&path);
    assert!(text.starts_with(&upgraded), "{text}");
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().last().unwrap().contains(r#""parentId":"11111111""#), "{text}");
}

#[test]
fn an_upgrade_does_not_overwrite_another_session() {
    let fixture = Fixture::new();
    let path = old_file(&fixture, "f.jsonl", &[&entry("a", None)]);
    let mut session = fixture.open(&path);
    let other = fixture.path("other");
    let text = format!("{}\n{}\n", HEADER.replace("s1", "s2"), entry("b", None));
    fs::write(&other, &text).unwrap();
    fs::rename(&other, &path).unwrap();
    let error = session.append_message(user("x")).unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::Replaced { .. })), "{error}");
    assert_eq!(read(&path), text);
    assert_eq!(session.leaf_id().unwrap(), "a");
}

#[test]
fn racing_writers_see_every_entry_in_the_end() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None)]);
    let n_appends = 1500;
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = SessionManager::open(&path).unwrap();
                    for _ in 0..n_appends {
                        session.append_thinking_level_change("high").unwrap();
                    }
                    session
                })
            })
            .collect();
        let mut sessions: Vec<SessionManager> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        for session in &mut sessions {
            session.refresh().unwrap();
        }
        sessions.iter().map(SessionManager::entry_count).collect()
    });
    assert_eq!(counts, [2 * n_appends + 1; 2]);
    assert_eq!(fixture.open(&path).entry_count(), 2 * n_appends + 1);
}

#[test]
fn a_header_that_was_half_written_does_not_block_an_empty_file() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    fs::write(&path, "").unwrap();
    let mut session = fixture.open(&path);
    // What a full disk leaves of the first attempt.
    let header = session.header().json().to_text().into_owned();
    fs::write(&path, header.get(..40).unwrap()).unwrap();
    session.append_message(user("kept")).unwrap();
    assert_eq!(fixture.open(&path).entry_count(), 1);
    assert_eq!(fixture.open(&path).session_id(), session.session_id());

    let path = fixture.path("g.jsonl");
    fs::write(&path, "").unwrap();
    let mut session = fixture.open(&path);
    fs::write(&path, "other notes\n").unwrap();
    assert!(matches!(session.append_message(user("x")), Err(SessionError::NotASession { .. })));
    assert_eq!(read(&path), "other notes\n");
}

#[test]
fn an_entry_is_not_appended_to_a_missing_leaf() {
    let fixture = Fixture::new();
    let path = fixture.path("f.jsonl");
    fs::write(&path, format!("{HEADER}\n{}\n{}", entry("a", None), entry("b", Some("a")))).unwrap();
    let mut session = fixture.open(&path);
    // Another program appends its line to the unfinished one, and both are lost.
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"glued\":1}\n").unwrap();
    let error = session.append_message(user("x")).unwrap_err();
    assert!(matches!(&error, SessionError::LeafGone { id, .. } if *id == "b"), "{error}");
    assert_eq!(session.leaf_id().unwrap(), "b", "an error changes nothing");
    session.branch("a").unwrap();
    session.append_message(user("x")).unwrap();
    assert_eq!(fixture.open(&path).build_session_context().unwrap().messages.len(), 2);
}

#[test]
fn entries_in_memory_may_be_spread_over_lines() {
    let fixture = Fixture::new();
    let header = Json::parse("{\n  \"type\": \"session\",\n  \"version\": 3,\n  \"id\": \"s\"\n}").unwrap();
    let one = Json::parse("{\n  \"type\": \"custom\",\n  \"id\": \"a\",\n  \"parentId\": null\n}").unwrap();
    let session = fixture.sessions.in_memory_with("/proj", NewSession::default(), &[one, header]).unwrap();
    assert_eq!((session.session_id().as_str(), session.leaf_id().unwrap()), ("s", "a".into()));
    assert_eq!(session.diagnostics().len(), 1, "the only diagnostic is the missing time: {:?}", session.diagnostics());
}

#[test]
fn forks_return_the_text_of_user_messages_only() {
    let fixture = Fixture::new();
    let mut session = fixture.sessions.in_memory("/proj", NewSession::default()).unwrap();
    let blocks = Json::parse(
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#,
    );
    let question = session.append_message(blocks.unwrap()).unwrap();
    let setting = session.append_thinking_level_change("low").unwrap();
    assert!(matches!(session.fork(&setting, ForkPosition::Before), Err(SessionError::NotForkable { .. })));
    assert_eq!(session.fork(&question, ForkPosition::Before).unwrap().text.as_deref(), Some("ab"));
    assert!(matches!(session.clone_session(), Err(SessionError::NoLeaf)));

    // Forking before the first message needs nothing of an unsaved session.
    let mut unsaved = fixture.create();
    fs::remove_dir(fixture.path("sessions")).unwrap();
    assert!(unsaved.append_message(user("x")).is_err());
    fs::create_dir(fixture.path("sessions")).unwrap();
    assert!(matches!(unsaved.clone_session(), Err(SessionError::NoLeaf)));
}

#[test]
fn rows_of_another_session_are_refused() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None), &entry("b", Some("a"))]);
    let mut session = fixture.open(&path);
    let rows = session.path();
    session.new_session(NewSession::default()).unwrap();
    assert!(matches!(session.entry_at(rows[1]), Err(SessionError::StaleRow { .. })));
}

#[test]
fn a_truncated_file_is_detected() {
    let fixture = Fixture::new();
    let path = fixture.file("f.jsonl", &[&entry("a", None), &entry("b", Some("a"))]);
    let mut session = fixture.open(&path);
    fs::write(&path, format!("{HEADER}\n")).unwrap();
    let refused = session.refresh().unwrap_err();
    assert!(matches!(&refused, SessionError::LeafGone { id, .. } if *id == "b"), "{refused}");
    // The caller can continue from what is left.
    session.follow_leaf().unwrap();
    assert_eq!(session.leaf_id(), None);
    let id = session.append_message(user("on")).unwrap();
    assert_eq!(fixture.open(&path).leaf_id(), Some(id));
}

#[test]
fn a_line_too_long_to_read_is_not_written() {
    let fixture = Fixture::new();
    let limit = 2000;
    let sessions = fixture.sessions.clone().writing(WriteOptions { longest_line: limit, ..WriteOptions::default() });
    let path = fixture.file("s.jsonl", &[&entry("a", None)]);
    let mut session = sessions.open(&path).unwrap();
    // Control characters take six bytes each in a line.
    for text in ["x".repeat(limit), "\u{1}".repeat(limit / 6)] {
        let before = (fs::read(&path).unwrap(), session.leaf_id(), session.outline().n_entries());
        let message = || {
            let mut message = ObjectWriter::new();
            message.string("role", "user").string("content", &text).integer("timestamp", 1).finish()
        };
        let value = Json::string(&text);
        let compaction = Compaction { summary: text.clone(), ..Compaction::default() };
        let summary = BranchSummary { summary: text.clone(), ..BranchSummary::default() };
        let small = Json::parse(r#"{"role":"user","content":"small","timestamp":1}"#).unwrap();
        let refusals: Vec<Result<(), SessionError>> = vec![
            session.append_message(message()).map(drop),
            session.append_messages(vec![small, message()]).map(drop),
            session.append_compaction(&compaction).map(drop),
            session.append_session_info(&text).map(drop),
            session.append_label_change("a", Some(&text)).map(drop),
            session.append_custom_entry("c", Some(&value)).map(drop),
            session.append_custom_message_entry("c", value.clone(), true, None).map(drop),
            session.branch_with_summary(Some(&EntryId::from("a")), &summary).map(drop),
        ];
        for (index, refused) in refusals.into_iter().enumerate() {
            let error = refused.unwrap_err();
            let SessionError::EntryTooLarge { size, limit: reported } = error else { panic!("{index}: {error}") };
            assert!(size > limit && reported == limit, "{index}: {size}");
            assert!(error_words(size, limit).contains(&size.to_string()));
        }
        let after = (fs::read(&path).unwrap(), session.leaf_id(), session.outline().n_entries());
        assert_eq!(before, after, "neither the file nor the session has changed");
    }
    session.append_message(Json::parse(r#"{"role":"user","content":"fits","timestamp":1}"#).unwrap()).unwrap();
    // A session without a file refuses too.
    let mut awaited = sessions.in_memory("/proj", NewSession::default()).unwrap();
    assert!(matches!(awaited.append_session_info(&"x".repeat(limit)), Err(SessionError::EntryTooLarge { .. })));
    assert_eq!(WriteOptions::default().longest_line, sessile::format::line::LINE_CAP);
}

fn error_words(size: usize, limit: usize) -> String {
    SessionError::EntryTooLarge { size, limit }.to_string()
}

#[test]
fn messages_without_a_time_take_the_clock_of_the_environment() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    let question = session.append_user_message("Why?").unwrap();
    let answer = session.append_assistant_message("acme", "acme-1", "Because.").unwrap();
    let entry_of = |id: &EntryId| session.entry(id).unwrap().unwrap();
    let (question, answer) = (entry_of(&question), entry_of(&answer));
    let (question, answer) = (question.message().unwrap(), answer.message().unwrap());
    assert_eq!((question.role().to_string(), question.text()), ("user".to_owned(), "Why?".to_owned()));
    assert_eq!((answer.model().as_deref(), answer.text()), (Some("acme-1"), "Because.".to_owned()));
    for message in [question, answer] {
        let hour = 1_735_689_600_000.0..1_735_693_200_000.0;
        assert!(message.timestamp().is_some_and(|time| hour.contains(&time)), "{message:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn values_of_serde_json_go_in_and_come_out() {
    let fixture = Fixture::new();
    let mut session = fixture.create();
    session.append_message(serde_json::json!({"role": "user", "content": "Hello\nyou", "timestamp": 1.0})).unwrap();
    let id = session.append_message(Json::parse(r#"{"role":"user","content":"\ud800"}"#).unwrap()).unwrap();
    let written = read(session.session_file().unwrap());
    let (_, first) = written.lines().nth(1).unwrap().split_once(r#""message":"#).unwrap();
    assert_eq!(first, r#"{"content":"Hello\nyou","role":"user","timestamp":1}}"#);
    // The line is copied, with values that `serde_json` itself could not represent.
    let entry = session.entry(&id).unwrap().unwrap();
    assert_eq!(Some(serde_json::to_string(&entry).unwrap().as_str()), written.lines().last());
    assert!(serde_json::to_value(&entry).is_err());
    let ids: Vec<EntryId> = session.entries().map(|entry| entry.unwrap().id().unwrap()).collect();
    let text = serde_json::to_string(&ids).unwrap();
    assert_eq!(serde_json::from_str::<Vec<EntryId>>(&text).unwrap(), ids);
}
