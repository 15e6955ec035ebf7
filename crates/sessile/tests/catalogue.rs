//! Whatever happens to a store and its catalogue, a list matches a scan.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use sessile::Sessions;
use sessile::directory::default_session_dir;
use sessile::list::{ListOptions, Progress, SessionInfo};
use sessile::os::{Identity, Layer, Layered, Stat};
use sessile_testkit::Replay;
use tempfile::TempDir;

/// Makes every changed file look changed, however fast the test is, and yet old, so that its time is trusted. Counts
/// how often a file is read.
#[derive(Debug, Default)]
struct Logical {
    changes: Mutex<HashMap<Identity, i64>>,
    n_reads: Mutex<usize>,
}

impl Layer for Logical {
    fn before_read(&self) {
        *self.n_reads.lock().unwrap() += 1;
    }

    fn map_stat(&self, stat: Stat) -> Stat {
        let n_changes = self.changes.lock().unwrap().get(&stat.identity).copied().unwrap_or_default();
        Stat { changed_ns: 1_000_000_000_000_000_000 + n_changes, ..stat }
    }
}

impl Logical {
    fn note_change(&self, path: &Path) {
        use std::os::unix::fs::MetadataExt;
        if let Ok(metadata) = fs::metadata(path) {
            let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
            *self.changes.lock().unwrap().entry(identity).or_default() += 1;
        }
    }
}

struct Fixture {
    dir: TempDir,
    layer: Arc<Logical>,
    environment: Replay,
    /// Answers from the catalogue.
    cached: Sessions,
    /// Reads every file every time.
    scanning: Sessions,
}

const CWDS: [&str; 2] = ["/proj", "/other"];

impl Fixture {
    /// With `is_logical`, files look old; without, they have their real times.
    fn new(is_logical: bool) -> Self {
        let dir = TempDir::new().unwrap();
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home(dir.path());
        environment.set_current_dir(dir.path());
        let layer = Arc::new(Logical::default());
        let cached = Sessions::new(environment.clone()).caching(Some(dir.path().join("cache")));
        let cached = if is_logical { cached.on(Arc::new(Layered::new(Arc::clone(&layer)))) } else { cached };
        let scanning = Sessions::new(environment.clone()).caching(None);
        let fixture = Self { dir, layer, environment, cached, scanning };
        for cwd in CWDS {
            fs::create_dir_all(fixture.directory(cwd)).unwrap();
        }
        fixture
    }

    fn directory(&self, cwd: &str) -> PathBuf {
        default_session_dir(&self.environment, Path::new(cwd))
    }

    /// One of a few files.
    fn file(&self, slot: usize) -> PathBuf {
        self.directory(CWDS[slot % 2]).join(format!("2025_{}.jsonl", slot / 2))
    }

    fn write(&self, path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        self.layer.note_change(path);
    }

    fn cache_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.dir.path().join("cache/catalogue")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    fn answers(&self, sessions: &Sessions) -> Answers {
        let some_dir = self.directory(CWDS[0]);
        let listed = CWDS.map(|cwd| sessions.list(cwd).unwrap());
        let given = sessions.clone().with_session_dir(&some_dir).list_all().unwrap();
        let recent = CWDS.map(|cwd| sessions.continue_recent(cwd).unwrap());
        let recent = recent
            .map(|session| session.session_file().unwrap().to_path_buf())
            .map(|path| path.exists().then_some(path));
        let ids = ["s0", "s1", "nobody"];
        let found = ids.into_iter().flat_map(|id| CWDS.map(|cwd| sessions.find_by_id(cwd, id))).collect();
        Answers { all: all(sessions), listed, given, recent, found }
    }
}

fn all(sessions: &Sessions) -> Vec<SessionInfo> {
    sessions.list_all().unwrap()
}

/// The answers to all queries.
#[derive(Debug, PartialEq)]
struct Answers {
    all: Vec<SessionInfo>,
    listed: [Vec<SessionInfo>; 2],
    given: Vec<SessionInfo>,
    recent: [Option<PathBuf>; 2],
    found: Vec<Option<PathBuf>>,
}

/// What may happen to a store.
#[derive(Clone, Debug)]
enum Op {
    Create(usize, Vec<String>),
    Append(usize, String),
    /// Changes one byte in place.
    Edit(usize, Index, u8),
    Truncate(usize, Index),
    Delete(usize),
    Rename(usize, usize),
    /// Replaces it with another file.
    Replace(usize, Vec<String>),
    Touch(usize, u64),
    Forbid(usize),
    DropCache(Index),
    CutCache(Index, Index),
    FlipCache(Index, Index),
    /// Swaps the catalogues of two directories.
    SwapCaches,
    /// Changes the time zone, on which unusual dates depend.
    Travel(i64),
    Nothing,
}

/// Lines, complete and broken, and bytes between lines.
fn piece() -> impl Strategy<Value = String> {
    let text = |time: u64, role: &str| {
        format!(
            r#"{{"type":"message","id":"m{time}","parentId":"m{}","timestamp":"2025-01-01T00:00:0{}.000Z","message":{{"role":"{role}","content":"says {time}","timestamp":{time},"provider":"p","model":"m","usage":{{"input":{time},"output":1,"cost":{{"total":0.5}}}}}}}}"#,
            time - 1,
            time % 10
        )
    };
    let fixed = [
        r#"{"type":"session_info","id":"n","name":" a name "}"#,
        r#"{"type":"session_info","id":"n","name":""}"#,
        r#"{"type":"session","id":"s1","cwd":"/proj","timestamp":"2025-02-02T00:00:00.000Z"}"#,
        r#"{"type":"message","timestamp":"2025-03-03 10:00","message":{"role":"user","content":"local time"}}"#,
        r#"{"type":"compaction","id":"c","usage":{"input":7}}"#,
        r#"{"type":"custom","customType":"sessile.archive","data":{"archived":true,"sessionId":"s1"},"id":"m"}"#,
        r#"{"type":"custom","customType":"sessile.archive","data":{"archived":false},"id":"m"}"#,
        r#"{"type":"mess"#,
        "\u{feff}",
        "5",
        "0",
        "",
        "not json",
        "\\",
        "\"",
    ];
    let line = prop_oneof![
        4 => (1u64..40, select(vec!["user", "assistant", "toolResult"])).prop_map(move |(time, role)| text(time, role)),
        3 => select(fixed.to_vec()).prop_map(str::to_owned),
    ];
    (line, prop::bool::weighted(0.8)).prop_map(|(line, is_whole)| if is_whole { line + "\n" } else { line })
}

/// Longer than the part of a file that is compared completely.
fn large() -> String {
    format!(r#"{{"type":"message","id":"big","message":{{"role":"user","content":"{}"}}}}"#, "x".repeat(90_000)) + "\n"
}

fn header() -> impl Strategy<Value = String> {
    let header = (0..2usize, select(vec!["/proj", "/other", "/third", ""]), 0..3u8).prop_map(|(id, cwd, time)| {
        let time = ["\"2025-01-01T00:00:00.000Z\"", "\"2025-01-01 12:00\"", "5"][usize::from(time)];
        format!(r#"{{"type":"session","version":3,"id":"s{id}","timestamp":{time},"cwd":"{cwd}"}}"#) + "\n"
    });
    prop_oneof![8 => header, 1 => Just(String::new())]
}

fn content() -> impl Strategy<Value = Vec<String>> {
    (header(), proptest::collection::vec(piece(), 0..5))
        .prop_map(|(header, pieces)| std::iter::once(header).chain(pieces).collect())
}

fn op(with_large: bool) -> impl Strategy<Value = Op> {
    let slot = || 0..6usize;
    let index = || any::<Index>();
    let piece = if with_large { prop_oneof![9 => piece(), 1 => Just(large())].boxed() } else { piece().boxed() };
    prop_oneof![
        3 => (slot(), content()).prop_map(|(slot, content)| Op::Create(slot, content)),
        6 => (slot(), piece).prop_map(|(slot, piece)| Op::Append(slot, piece)),
        2 => (slot(), index(), b'0'..=b'9').prop_map(|(slot, at, byte)| Op::Edit(slot, at, byte)),
        1 => (slot(), index()).prop_map(|(slot, at)| Op::Truncate(slot, at)),
        1 => slot().prop_map(Op::Delete),
        1 => (slot(), slot()).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => (slot(), content()).prop_map(|(slot, content)| Op::Replace(slot, content)),
        1 => (slot(), 0..4u64).prop_map(|(slot, time)| Op::Touch(slot, time)),
        1 => slot().prop_map(Op::Forbid),
        1 => index().prop_map(Op::DropCache),
        1 => (index(), index()).prop_map(|(file, at)| Op::CutCache(file, at)),
        1 => (index(), index()).prop_map(|(file, at)| Op::FlipCache(file, at)),
        1 => Just(Op::SwapCaches),
        1 => (-3..3i64).prop_map(Op::Travel),
        1 => Just(Op::Nothing),
    ]
}

impl Fixture {
    fn play(&self, op: &Op) {
        match op {
            Op::Create(slot, content) => self.write(&self.file(*slot), content.concat().as_bytes()),
            Op::Append(slot, piece) => {
                let path = self.file(*slot);
                let file = File::options().append(true).create(true).open(&path);
                if let Ok(mut file) = file {
                    file.write_all(piece.as_bytes()).unwrap();
                }
                self.layer.note_change(&path);
            }
            Op::Edit(slot, at, byte) => self.rewrite(*slot, |bytes| {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
            }),
            Op::Truncate(slot, at) => self.rewrite(*slot, |bytes| bytes.truncate(at.index(bytes.len() + 1))),
            Op::Delete(slot) => drop(fs::remove_file(self.file(*slot))),
            Op::Rename(from, to) => {
                drop(fs::rename(self.file(*from), self.file(*to)));
                self.layer.note_change(&self.file(*to));
            }
            Op::Replace(slot, content) => {
                let temporary = self.dir.path().join("new");
                self.write(&temporary, content.concat().as_bytes());
                fs::rename(temporary, self.file(*slot)).unwrap();
                self.layer.note_change(&self.file(*slot));
            }
            Op::Touch(slot, time) => {
                if let Ok(file) = File::options().append(true).open(self.file(*slot)) {
                    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000 + time)).unwrap();
                    self.layer.note_change(&self.file(*slot));
                }
            }
            Op::Forbid(slot) => {
                drop(fs::set_permissions(self.file(*slot), fs::Permissions::from_mode(0o000)));
                self.layer.note_change(&self.file(*slot));
            }
            Op::DropCache(file) => drop(self.cache_file(*file).map(fs::remove_file)),
            Op::CutCache(file, at) => self.rewrite_cache(*file, |bytes| bytes.truncate(at.index(bytes.len() + 1))),
            Op::FlipCache(file, at) => self.rewrite_cache(*file, |bytes| {
                if !bytes.is_empty() {
                    let bit = at.index(bytes.len() * 8);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }),
            Op::SwapCaches => {
                if let [one, other] = self.cache_files().as_slice() {
                    drop(fs::copy(one, other));
                }
            }
            Op::Travel(hours) => self.environment.set_offset_ms(hours * 3_600_000),
            Op::Nothing => {}
        }
    }

    fn rewrite(&self, slot: usize, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.file(slot);
        if let Ok(mut bytes) = fs::read(&path) {
            change(&mut bytes);
            self.write(&path, &bytes);
        }
    }

    fn cache_file(&self, file: Index) -> Option<PathBuf> {
        let files = self.cache_files();
        (!files.is_empty()).then(|| file.get(&files).clone())
    }

    fn rewrite_cache(&self, file: Index, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(path) = self.cache_file(file) {
            let mut bytes = fs::read(&path).unwrap();
            change(&mut bytes);
            fs::write(path, bytes).unwrap();
        }
    }
}

fn agree_after_each(fixture: &Fixture, ops: &[Op]) {
    for (n_before, op) in ops.iter().enumerate() {
        fixture.play(op);
        let expected = fixture.answers(&fixture.scanning);
        assert_eq!(fixture.answers(&fixture.cached), expected, "after {n_before} and {op:?}");
        // The newly cached rows give the same answers.
        assert_eq!(fixture.answers(&fixture.cached), expected, "again after {n_before} and {op:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_catalogue_equals_a_scan(ops in proptest::collection::vec(op(true), 1..20)) {
        agree_after_each(&Fixture::new(true), &ops);
    }

    /// Files this young are compared with their cached rows, whatever their times say.
    #[test]
    fn recently_changed_files_are_no_exception(ops in proptest::collection::vec(op(false), 1..12)) {
        agree_after_each(&Fixture::new(false), &ops);
    }
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

fn message(id: usize) -> String {
    format!(r#"{{"type":"message","id":"m{id}","message":{{"role":"user","content":"{id}","timestamp":{id}}}}}"#) + "\n"
}

#[test]
fn unchanged_files_are_not_opened_and_grown_files_are_read_from_their_old_end() {
    let fixture = Fixture::new(true);
    for slot in 0..6 {
        fixture.write(&fixture.file(slot), format!("{HEADER}\n{}", message(slot)).as_bytes());
    }
    // Not a session, and cached as such.
    fixture.write(&fixture.directory(CWDS[0]).join("junk.jsonl"), "junk\n5\n".repeat(100_000).as_bytes());
    let n_reads = || std::mem::take(&mut *fixture.layer.n_reads.lock().unwrap());
    let listed = all(&fixture.cached);
    n_reads();
    assert_eq!(all(&fixture.cached), listed);
    assert_eq!(n_reads(), CWDS.len(), "each catalogue is read once, and nothing else");
    let big = fixture.file(3);
    fixture.write(&big, format!("{HEADER}\n{}", message(7).repeat(100_000)).as_bytes());
    all(&fixture.cached);
    let whole = n_reads();
    fixture.play(&Op::Append(3, message(8)));
    let grown = all(&fixture.cached);
    assert!(n_reads() < whole, "only the tail is read");
    assert_eq!(grown, all(&fixture.scanning));
    assert_eq!(grown.iter().find(|row| row.path == big).unwrap().message_count, 100_001);
}

#[test]
fn catalogues_are_private_and_not_written_without_need() {
    let fixture = Fixture::new(true);
    all(&fixture.cached);
    assert!(fixture.cache_files().is_empty());
    fixture.write(&fixture.file(0), HEADER.as_bytes());
    all(&fixture.cached);
    let [file] = fixture.cache_files().try_into().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    // Nothing has changed, so nothing is written: the cache file keeps its modification time.
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    all(&fixture.cached);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
}

#[test]
fn a_cache_that_cannot_be_written_is_not_a_failure() {
    let fixture = Fixture::new(true);
    fixture.write(&fixture.file(0), format!("{HEADER}\n").as_bytes());
    fs::write(fixture.dir.path().join("cache"), "in the way").unwrap();
    assert_eq!(fixture.answers(&fixture.cached), fixture.answers(&fixture.scanning));
}

#[test]
fn progress_reports_cached_sessions_at_once_and_then_each_file() {
    let fixture = Fixture::new(true);
    let reported = |sessions: &Sessions| {
        let mut reported = Vec::new();
        let mut progress =
            |at: Progress<'_>| reported.push((at.loaded, at.total, at.partial.map(<[SessionInfo]>::len)));
        let mut options = ListOptions { progress: Some(&mut progress), ..ListOptions::default() };
        sessions.list_all_with(&mut options).unwrap();
        reported
    };
    for slot in 0..3 {
        fixture.write(&fixture.file(slot), format!("{HEADER}\n").as_bytes());
    }
    assert_eq!(reported(&fixture.cached), [(1, 3, Some(1)), (2, 3, None), (3, 3, Some(3))]);
    assert_eq!(reported(&fixture.cached), [(3, 3, Some(3))]);
    fixture.write(&fixture.file(4), format!("{HEADER}\n").as_bytes());
    fixture.write(&fixture.file(5), format!("{HEADER}\n").as_bytes());
    assert_eq!(reported(&fixture.cached), [(3, 5, Some(3)), (4, 5, Some(4)), (5, 5, Some(5))]);
}

#[test]
fn a_cancelled_list_keeps_the_sessions_it_has_read() {
    let fixture = Fixture::new(true);
    for slot in 0..6 {
        fixture.write(&fixture.file(slot), format!("{HEADER}\n").as_bytes());
    }
    let cancel = sessile::Cancel::default();
    let stop = cancel.clone();
    let mut progress = move |_: Progress<'_>| stop.cancel();
    let mut options = ListOptions { progress: Some(&mut progress), cancel, ..ListOptions::default() };
    assert!(matches!(fixture.cached.list_all_with(&mut options), Err(sessile::SessionError::Cancelled)));
    assert_eq!(fixture.cache_files().len(), 1);
    assert_eq!(fixture.answers(&fixture.cached), fixture.answers(&fixture.scanning));
}
