//! Three logs under the log kit: files, memory, and the example of a custom log.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sessile::date::Timestamp;
use sessile::log::{
    Appended, Durable, Expect, FileState, Files, Line, Log, LogName, Memory, MemoryLog, Place, Span, StoreError,
    WriteOptions,
};
use sessile::os::{Os, RealOs};
use sessile_testkit::log_kit::{LogSubject, check};
use sessile_testkit::sim::{SimOs, Tear};

#[path = "../../crates/sessile/examples/custom_log.rs"]
#[expect(dead_code, unreachable_pub, reason = "the example is also a standalone program")]
mod custom_log;

use custom_log::Parts;

/// Files on a simulated machine.
struct SimulatedFiles(Tear);

impl LogSubject for SimulatedFiles {
    fn fresh(&self) -> [Arc<dyn Place>; 2] {
        let machine = SimOs::new();
        machine.make_directories("/kit");
        [1, 2].map(|pid| Below::place("/kit", Arc::new(machine.process(pid))))
    }

    fn crash(&self, n_step: u64, act: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)> {
        let machine = SimOs::new();
        machine.make_directories("/kit");
        machine.settle();
        let process = machine.process(1);
        process.crash_at(n_step, self.0);
        act(&Files::new(Arc::new(process.clone())));
        let has_died = process.crashed();
        process.kill();
        // The acknowledged lines survive the process and a loss of power.
        let next = machine.power_loss(n_step);
        Some((has_died, Arc::new(Files::new(Arc::new(next)))))
    }
}

/// Files on this machine.
struct RealFiles(tempfile::TempDir);

impl LogSubject for RealFiles {
    fn fresh(&self) -> [Arc<dyn Place>; 2] {
        let root = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        [(); 2].map(|()| Below::place(&root, Arc::new(RealOs)))
    }

    fn crash(&self, _: u64, _: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)> {
        None
    }
}

/// Files below a directory, whatever their directory in the kit is.
#[derive(Debug)]
struct Below {
    root: PathBuf,
    files: Files,
}

impl Below {
    fn place(root: impl Into<PathBuf>, os: Arc<dyn Os>) -> Arc<dyn Place> {
        Arc::new(Self { root: root.into(), files: Files::new(os) })
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.file_name().unwrap())
    }
}

impl Place for Below {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        self.files.state(&self.path(path))
    }

    fn open(&self, path: &Path, options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        self.files.open(&self.path(path), options)
    }

    fn create(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        self.files.create(&self.path(path), bytes, options)
    }
}

struct InMemory;

impl LogSubject for InMemory {
    fn fresh(&self) -> [Arc<dyn Place>; 2] {
        let place = Arc::new(Memory::default());
        [Arc::clone(&place) as Arc<dyn Place>, place]
    }

    fn crash(&self, _: u64, _: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)> {
        None
    }
}

/// The log of the example.
struct Custom(tempfile::TempDir);

impl Custom {
    fn place(&self, hook: custom_log::Hook) -> Parts {
        Parts { root: tempfile::tempdir_in(self.0.path()).unwrap().keep(), hook }
    }
}

impl LogSubject for Custom {
    fn fresh(&self) -> [Arc<dyn Place>; 2] {
        let place = self.place(Arc::new(|_| ()));
        [Arc::new(place.clone()), Arc::new(place)]
    }

    fn crash(&self, n_step: u64, act: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)> {
        let n_steps = AtomicU64::new(0);
        let place = self.place(Arc::new(move |step| {
            // A panic ends the writer where it is, as death does: what it wrote stays.
            assert!(n_steps.fetch_add(1, Ordering::SeqCst) + 1 != n_step, "died before {step}");
        }));
        let has_died = catch_unwind(AssertUnwindSafe(|| act(&place))).is_err();
        let next = Parts { hook: Arc::new(|_| ()), ..place };
        Some((has_died, Arc::new(next)))
    }
}

#[test]
fn files_pass_the_kit() {
    check(&RealFiles(tempfile::tempdir().unwrap()));
}

#[test]
fn files_on_a_simulated_machine_pass_the_kit() {
    for tear in Tear::EVERY {
        check(&SimulatedFiles(tear));
    }
}

#[test]
fn memory_passes_the_kit() {
    check(&InMemory);
}

#[test]
fn a_custom_log_passes_the_kit() {
    check(&Custom(tempfile::tempdir().unwrap()));
}

/// A defect that a log may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    IgnoresExpectations,
    GluesLines,
    ReportsWrongOffsets,
    LosesLines,
    DoublesLines,
    ReplacesLogs,
    ScansWholeLinesOnly,
    ReadsTooLittle,
    PromisesTooMuch,
}

const DEFECTS: [Defect; 9] = [
    Defect::IgnoresExpectations,
    Defect::GluesLines,
    Defect::ReportsWrongOffsets,
    Defect::LosesLines,
    Defect::DoublesLines,
    Defect::ReplacesLogs,
    Defect::ScansWholeLinesOnly,
    Defect::ReadsTooLittle,
    Defect::PromisesTooMuch,
];

/// A log in memory with a defect.
#[derive(Clone, Debug)]
struct Broken {
    defect: Defect,
    bytes: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Broken {
    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone().unwrap_or_default()
    }
}

impl Place for Broken {
    fn state(&self, _: &Path) -> Result<FileState, StoreError> {
        Ok(if self.bytes.lock().unwrap().is_some() { FileState::File } else { FileState::Missing })
    }

    fn open(&self, path: &Path, _: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        match self.state(path)? {
            FileState::Missing => Err(StoreError::Gone { log: self.name() }),
            _ => Ok(Box::new(self.clone())),
        }
    }

    fn create(&self, path: &Path, bytes: &[u8], _: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        let mut there = self.bytes.lock().unwrap();
        if there.is_some() && self.defect != Defect::ReplacesLogs {
            return Err(StoreError::Exists { path: path.to_path_buf() });
        }
        *there = Some(bytes.to_vec());
        Ok(Box::new(self.clone()))
    }
}

impl Log for Broken {
    fn name(&self) -> LogName {
        LogName::other("broken")
    }

    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let mut bytes = MemoryLog::new(self.bytes()).read(span)?;
        if self.defect == Defect::ReadsTooLittle && bytes.len() > 3 {
            bytes.pop();
        }
        Ok(bytes)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        MemoryLog::new(self.bytes()).scan(from, &mut |line| {
            if line.terminated || self.defect != Defect::ScansWholeLinesOnly {
                on_line(line);
            }
        })
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        let mut there = self.bytes.lock().unwrap();
        let bytes = there.get_or_insert_default();
        if self.defect != Defect::IgnoresExpectations {
            expect.check(bytes.len() as u64, || self.name())?;
        }
        if bytes.last().is_some_and(|byte| *byte != b'\n') && self.defect != Defect::GluesLines {
            bytes.push(b'\n');
        }
        let offset = bytes.len() as u64;
        let n_times = match self.defect {
            Defect::LosesLines if lines.starts_with(b"line 7") => 0,
            Defect::DoublesLines if lines.starts_with(b"2 ") => 2,
            _ => 1,
        };
        bytes.extend_from_slice(&lines.repeat(n_times));
        let off = u64::from(self.defect == Defect::ReportsWrongOffsets && lines.starts_with(b"3 "));
        Ok(Appended { offset: offset + off, end: offset + lines.len() as u64 })
    }

    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        Ok(if self.defect == Defect::PromisesTooMuch { Durable::Disk } else { Durable::Memory })
    }
}

impl LogSubject for Defect {
    fn fresh(&self) -> [Arc<dyn Place>; 2] {
        let place = Broken { defect: *self, bytes: Arc::default() };
        [Arc::new(place.clone()), Arc::new(place)]
    }

    fn crash(&self, _: u64, _: &mut dyn FnMut(&dyn Place)) -> Option<(bool, Arc<dyn Place>)> {
        None
    }
}

#[test]
fn the_kit_notices_every_defect() {
    check(&Defect::None);
    for defect in DEFECTS {
        assert!(catch_unwind(|| check(&defect)).is_err(), "{defect:?} was not noticed");
    }
}

/// A log to which another writer appends right before each of our appends.
#[derive(Debug)]
struct Contested {
    memory: Memory,
    is_contested: Arc<AtomicBool>,
}

struct ContestedLog {
    below: Box<dyn Log>,
    is_contested: Arc<AtomicBool>,
    n_foreign: u32,
}

impl Place for Contested {
    fn state(&self, path: &Path) -> Result<FileState, StoreError> {
        self.memory.state(path)
    }

    fn open(&self, path: &Path, options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        let below = self.memory.open(path, options)?;
        Ok(Box::new(ContestedLog { below, is_contested: Arc::clone(&self.is_contested), n_foreign: 0 }))
    }

    fn create(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<Box<dyn Log>, StoreError> {
        self.memory.create(path, bytes, options)?;
        self.open(path, options)
    }
}

impl Log for ContestedLog {
    fn name(&self) -> LogName {
        LogName::other("contested")
    }

    fn length(&self) -> Result<u64, StoreError> {
        self.below.length()
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        self.below.read(span)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        self.below.scan(from, on_line)
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        assert_ne!(expect, Expect::Anything, "a blind append to a log that does not allow it");
        if self.is_contested.load(Ordering::SeqCst) {
            self.n_foreign += 1;
            let foreign = format!("{{\"type\":\"custom\",\"id\":\"f{}\",\"parentId\":null}}\n", self.n_foreign);
            self.below.append(foreign.as_bytes(), Expect::Anything)?;
        }
        self.below.append(lines, expect)
    }
}

/// Files are written to at their end, whatever it is. Another log is busy.
#[test]
fn a_log_with_a_faster_writer_is_busy_and_nothing_is_lost() {
    let is_contested = Arc::new(AtomicBool::new(false));
    let place = Contested { memory: Memory::default(), is_contested: Arc::clone(&is_contested) };
    let directory = tempfile::tempdir().unwrap();
    let sessions = sessile::Sessions::new(sessile::System).caching(None).in_place(Arc::new(place));
    let mut session = sessions.open_or_create(directory.path().join("s.jsonl")).unwrap();
    let answer = |text: &str| sessile::draft::AssistantMessage::new("p", "m", text, Timestamp::from_ms(0));
    let first = session.append_message(answer("first")).unwrap();
    is_contested.store(true, Ordering::SeqCst);
    let refused = session.append_message(answer("refused")).unwrap_err();
    assert!(matches!(refused, sessile::SessionError::Store(StoreError::Busy { .. })), "{refused}");
    assert_eq!(session.leaf_id(), Some(first.clone()));
    is_contested.store(false, Ordering::SeqCst);
    let second = session.append_message(answer("second")).unwrap();
    assert_eq!(session.entry(&second).unwrap().unwrap().parent_id(), Some(first));
    assert_eq!(session.entry_count(), 2 + 9, "nine foreign entries, and none of the refused one");
}
