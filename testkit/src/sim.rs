//! An operating system in memory. A test can make each of its calls fail, tear or crash.
//!
//! [`SimOs`] is a process on a simulated machine. It is a cheap handle: clones are the same process, and
//! [`SimOs::process`] starts another one on the same disk. Everything is deterministic; [`SimOs::power_loss`] depends
//! on a seed.
//!
//! **Disk.** Writes go to the page cache: all processes see them, and they outlive the process. The disk has them only
//! after a sync: bytes and length after `sync_data` or `sync_all`, names after `sync_directory` of their directory.
//! Modes and times are always durable. The disk counts bytes, not blocks.
//!
//! **Faults.** Every call of [`Os`] and [`OsFile`] counts, except `now_ms`, `boot_ms`, `boot_id`, `wait`, `whoami`,
//! `processes` and `has_threads`. Calls are counted per process; call 1 is the next one. A call with an injected error
//! has no effect, except that a file sync failing with EIO behaves as on Linux: earlier writes count as clean and never
//! reach the disk. They can still be read, and later writes can be synced (as NUL bytes followed by the new bytes).
//! Real pages are coarser, and real systems report the error to every handle open at that time; here only the failing
//! one gets it. A failed `sync_directory` leaves the names pending.
//!
//! **Permissions** are checked by the owner's bits, or by the others' bits for files of other users. No process is
//! root.

mod content;
mod names;
mod process;
mod schedule;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use rustix::io::Errno;
use sessile_store::os::{Lock, Mode, Os, OsFile, Process as Running, Stat};

pub use self::process::{CallKind, Gate, Tear, is_death};
use self::process::{Process, Verdict, death};
pub use self::schedule::Schedule;
pub use self::world::{Snapshot, SnapshotEntry, World};
use crate::SplitMix;

/// A process on a simulated machine.
#[derive(Clone)]
pub struct SimOs {
    machine: Arc<Mutex<Machine>>,
    process: u64,
}

struct Machine {
    world: World,
    processes: BTreeMap<u64, Process>,
}

impl Default for SimOs {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SimOs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimOs").field("process", &self.process).finish_non_exhaustive()
    }
}

/// Machines and processes.
impl SimOs {
    /// Creates a machine with an empty root directory, and process 1000 on it.
    pub fn new() -> Self {
        Self::on(World::new(), 1000, "sim".to_owned())
    }

    fn on(world: World, pid: u32, host: String) -> Self {
        let machine = Machine { world, processes: BTreeMap::from([(1, Process::new(pid, host))]) };
        Self { machine: Arc::new(Mutex::new(machine)), process: 1 }
    }

    /// Starts another process on the same machine. It may reuse the number of a dead one.
    #[must_use]
    pub fn process(&self, pid: u32) -> Self {
        let mut machine = self.machine();
        let process = machine.processes.len() as u64 + 1;
        let host = machine.process(self.process).host.clone();
        machine.processes.insert(process, Process::new(pid, host));
        Self { machine: Arc::clone(&self.machine), process }
    }

    /// Sets the process number and host of this process.
    pub fn set_whoami(&self, pid: u32, host: &str) {
        self.plan(|process| (process.pid, process.host) = (pid, host.to_owned()));
    }

    /// Kills this process: its locks are released, its calls fail, its writes stay in the page cache.
    pub fn kill(&self) {
        self.machine().kill(self.process);
    }

    /// Whether this process died of [`crash_at`](Self::crash_at).
    pub fn crashed(&self) -> bool {
        self.plan(|process| process.has_crashed)
    }

    /// Returns the machine after power loss and reboot, with one new process. This machine is unchanged, so other seeds
    /// can be tried.
    ///
    /// The seed decides which of a file's changes since its last sync survive: none, all, a prefix in time (the last
    /// one perhaps in part), or some as NUL bytes only. Each change of names survives or not, but changes of the same
    /// name keep their order, and a rename is atomic.
    #[must_use]
    pub fn power_loss(&self, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut for_names = SplitMix::new(random.next_u64());
        self.successor(|world| {
            world.rebooted(
                |names| names.after_power_loss(&mut for_names),
                |content| content.after_power_loss(&mut random),
            )
        })
    }

    /// Returns the machine after an orderly reboot, with one new process. This machine is unchanged.
    #[must_use]
    pub fn reboot(&self) -> Self {
        self.successor(|world| world.rebooted(Clone::clone, Clone::clone))
    }

    /// Returns a copy of the machine, including the page cache, with one new process and no open files.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.successor(World::copied)
    }

    fn successor(&self, world: impl FnOnce(&World) -> World) -> Self {
        let machine = self.machine();
        let process = machine.process(self.process);
        Self::on(world(&machine.world), process.pid, process.host.clone())
    }
}

/// Faults.
impl SimOs {
    /// Returns the calls of this process so far, such as `append s.jsonl 120`.
    pub fn calls(&self) -> Vec<String> {
        self.plan(|process| process.calls.clone())
    }

    /// Clears the list of calls.
    pub fn clear_calls(&self) {
        self.plan(|process| process.calls.clear());
    }

    /// Makes the `n`-th call from now fail without any effect.
    pub fn fail_call(&self, n: u64, errno: Errno) {
        self.plan(|process| process.plan_failure(n, errno));
    }

    /// If the `n`-th call from now is a write, makes it write only `written` bytes, and the next write fail.
    pub fn fail_call_short(&self, n: u64, errno: Errno, written: usize) {
        self.plan(|process| process.plan_short(n, errno, written));
    }

    /// Makes all calls of some kinds fail from the `n`-th on, until [`heal`](Self::heal).
    pub fn fail_from(&self, n: u64, errno: Errno, concerns: impl Fn(CallKind) -> bool + Send + 'static) {
        self.plan(|process| process.plan_lasting(n, errno, Box::new(concerns)));
    }

    /// Cancels every planned failure and crash. Dead processes stay dead.
    pub fn heal(&self) {
        self.plan(Process::heal);
    }

    /// Makes this process die in the `n`-th call from now; `tear` decides how much of the call is done.
    pub fn crash_at(&self, n: u64, tear: Tear) {
        self.plan(|process| process.plan_crash(n, tear));
    }

    /// Changes the machine just before the `n`-th call from now.
    pub fn on_call(&self, n: u64, act: impl FnOnce(&mut World) + Send + 'static) {
        self.interleave(n, |os| os.change(act));
    }

    /// Makes every call of this process, and every end of a wait, pass through a gate.
    pub fn set_gate(&self, gate: Gate) {
        self.plan(|process| process.gate = Some(gate));
    }

    fn pass_gate(&self, has_waited: bool) {
        if let Some(gate) = self.plan(|process| process.gate.clone()) {
            gate(has_waited);
        }
    }

    /// Runs something just before the `n`-th call from now, such as whole operations of another process.
    pub fn interleave(&self, n: u64, run: impl FnOnce(&Self) + Send + 'static) {
        self.plan(|process| process.plan_hook(n, Box::new(run)));
    }
}

/// The machine around the process; see [`World`].
impl SimOs {
    /// Changes the machine.
    pub fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.machine().world)
    }

    /// See [`World::make_directories`].
    pub fn make_directories(&self, path: impl AsRef<Path>) {
        self.change(|world| world.make_directories(path.as_ref()));
    }

    /// See [`World::make_link`].
    pub fn make_link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        self.change(|world| world.make_link(path.as_ref(), target.as_ref()));
    }

    /// See [`World::make_special`].
    pub fn make_special(&self, path: impl AsRef<Path>) {
        self.change(|world| world.make_special(path.as_ref()));
    }

    /// See [`World::set_own`].
    pub fn set_own(&self, path: impl AsRef<Path>, is_own: bool) {
        self.change(|world| world.set_own(path.as_ref(), is_own));
    }

    /// See [`World::settle`].
    pub fn settle(&self) {
        self.change(World::settle);
    }

    /// See [`World::mount`].
    pub fn mount(&self, path: impl AsRef<Path>) {
        self.change(|world| world.mount(path.as_ref()));
    }

    /// See [`World::set_capacity`].
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.change(|world| world.set_capacity(bytes));
    }

    /// See [`World::set_shared`].
    pub fn set_shared(&self, is_shared: bool) {
        self.change(|world| world.set_shared(is_shared));
    }

    /// See [`World::set_lock_error`].
    pub fn set_lock_error(&self, error: Option<Errno>) {
        self.change(|world| world.set_lock_error(error));
    }

    /// See [`World::advance`].
    pub fn advance(&self, ms: i64) {
        self.change(|world| world.advance(ms));
    }

    /// See [`World::set_running`].
    pub fn set_running(&self, running: Vec<Running>) {
        self.change(|world| world.set_running(running));
    }

    /// See [`World::step_clock`].
    pub fn step_clock(&self, ms: i64) {
        self.change(|world| world.step_clock(ms));
    }

    /// See [`World::foreign_append`].
    pub fn foreign_append(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.change(|world| world.foreign_append(path.as_ref(), bytes.as_ref()));
    }

    /// See [`World::foreign_rewrite`].
    pub fn foreign_rewrite(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.change(|world| world.foreign_rewrite(path.as_ref(), bytes.as_ref()));
    }

    /// See [`World::foreign_replace`].
    pub fn foreign_replace(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.change(|world| world.foreign_replace(path.as_ref(), bytes.as_ref()));
    }

    /// See [`World::foreign_truncate`].
    pub fn foreign_truncate(&self, path: impl AsRef<Path>, length: u64) {
        self.change(|world| world.foreign_truncate(path.as_ref(), length));
    }

    /// See [`World::foreign_remove`].
    pub fn foreign_remove(&self, path: impl AsRef<Path>) {
        self.change(|world| world.foreign_remove(path.as_ref()));
    }

    /// See [`World::read_file`].
    pub fn read_file(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.change(|world| world.read_file(path.as_ref()))
    }

    /// See [`World::snapshot`].
    pub fn snapshot(&self) -> Snapshot {
        self.change(|world| world.snapshot())
    }
}

/// The implementation of calls.
impl SimOs {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        // A test that panicked inside has already reported it.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan<T>(&self, act: impl FnOnce(&mut Process) -> T) -> T {
        act(self.machine().process_mut(self.process))
    }

    fn call<T>(&self, kind: CallKind, what: &str, act: impl FnOnce(&mut World) -> Result<T, Errno>) -> io::Result<T> {
        self.call_with(kind, what, 0, |world, _| act(world))
    }

    /// Performs one call, which may be a write of `length` bytes: `act` gets the number of bytes to write.
    fn call_with<T>(
        &self,
        kind: CallKind,
        what: &str,
        length: usize,
        act: impl FnOnce(&mut World, usize) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let number = self.begin_call(what)?;
        let mut machine = self.machine();
        let process = machine.process_mut(self.process);
        if !process.is_alive {
            // A hook just before this call killed the process.
            return Err(death());
        }
        match process.judge(number, kind, length) {
            Verdict::Do(length) => Ok(act(&mut machine.world, length)?),
            Verdict::Fail(errno) => Err(errno.into()),
            Verdict::Die { length, is_done } => {
                if is_done {
                    drop(act(&mut machine.world, length));
                }
                machine.process_mut(self.process).has_crashed = true;
                machine.kill(self.process);
                Err(death())
            }
        }
    }

    /// Counts and records a call, and runs the hooks planned just before it, with the machine unlocked.
    fn begin_call(&self, what: &str) -> io::Result<u64> {
        self.pass_gate(false);
        let (number, hooks) = self.plan(|process| {
            if !process.is_alive {
                return Err(death());
            }
            process.calls.push(what.to_owned());
            Ok(process.begin())
        })?;
        for hook in hooks {
            hook(self);
        }
        Ok(number)
    }
}

impl Machine {
    fn process(&self, process: u64) -> &Process {
        &self.processes[&process]
    }

    fn process_mut(&mut self, process: u64) -> &mut Process {
        self.processes.get_mut(&process).unwrap()
    }

    fn kill(&mut self, process: u64) {
        self.process_mut(process).is_alive = false;
        self.world.close_all(process);
    }
}

impl Os for SimOs {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        let name = name_of(path);
        let what = format!("open {name} {mode:?}");
        let handle = self.call(CallKind::Open, &what, |world| world.open(self.process, path, mode))?;
        Ok(Box::new(SimFile { os: self.clone(), handle, name }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.call(CallKind::Stat, &on("stat", path), |world| world.stat(path, true))
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        self.call(CallKind::LinkStat, &on("link_stat", path), |world| world.stat(path, false))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("rename {} {}", name_of(from), name_of(to));
        self.call(CallKind::Rename, &what, |world| world.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("rename_new {} {}", name_of(from), name_of(to));
        self.call(CallKind::Rename, &what, |world| world.rename_new(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("link {} {}", name_of(from), name_of(to));
        self.call(CallKind::Link, &what, |world| world.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(CallKind::Remove, &on("remove", path), |world| world.remove(path))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.call(CallKind::MakeDirectory, &on("make_directory", path), |world| world.make_directory(path))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.call(CallKind::RemoveDirectory, &on("remove_directory", path), |world| world.remove_directory(path))
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let what = format!("set_mode {} {mode:o}", name_of(path));
        self.call(CallKind::SetMode, &what, |world| world.set_mode(path, mode))
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.call(CallKind::Touch, &on("touch", path), |world| world.touch(path))
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.call(CallKind::Touch, &on("set_modified", path), |world| world.set_modified(path, modified_ms))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.call(CallKind::SyncDirectory, &on("sync_directory", path), |world| world.sync_directory(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.call(CallKind::List, &on("list", path), |world| world.list(path))
    }

    fn is_shared(&self, path: &Path) -> io::Result<bool> {
        self.call(CallKind::IsShared, &on("is_shared", path), |world| world.is_shared(path))
    }

    fn now_ms(&self) -> i64 {
        self.change(|world| world.now_ms())
    }

    fn boot_ms(&self) -> i64 {
        self.change(|world| world.boot_ms())
    }

    fn boot_id(&self) -> u32 {
        self.change(|world| world.boot_id())
    }

    fn wait(&self, duration: Duration) {
        self.advance(i64::try_from(duration.as_millis()).unwrap());
        self.pass_gate(true);
    }

    fn processes(&self) -> Vec<Running> {
        self.change(|world| world.running())
    }

    fn whoami(&self) -> (u32, String) {
        self.plan(|process| (process.pid, process.host.clone()))
    }

    fn has_threads(&self) -> bool {
        false
    }
}

/// A file that a simulated process has open.
#[derive(Debug)]
struct SimFile {
    os: SimOs,
    handle: u64,
    name: String,
}

impl SimFile {
    fn call<T>(
        &self,
        kind: CallKind,
        verb: &str,
        act: impl FnOnce(&mut World, u64) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let what = format!("{verb} {}", self.name);
        self.os.call(kind, &what, |world| act(world, self.handle))
    }

    fn sync(&self, kind: CallKind, verb: &str) -> io::Result<()> {
        let synced = self.call(kind, verb, World::sync_handle);
        if synced.as_ref().is_err_and(|error| Errno::from_io_error(error) == Some(Errno::IO)) {
            self.os.change(|world| world.lose(self.handle));
        }
        synced
    }
}

impl OsFile for SimFile {
    fn stat(&self) -> io::Result<Stat> {
        self.call(CallKind::FileStat, "file_stat", |world, handle| world.stat_handle(handle))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let what = format!("read_at {} {} {offset}", self.name, buffer.len());
        self.os.call(CallKind::ReadAt, &what, |world| world.read_at(self.handle, buffer, offset))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let what = format!("append {} {}", self.name, bytes.len());
        self.os.call_with(CallKind::Append, &what, bytes.len(), |world, n| world.append(self.handle, &bytes[..n]))
    }

    fn position(&self) -> io::Result<u64> {
        self.call(CallKind::Position, "position", |world, handle| world.position(handle))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let what = format!("write_at {} {} {offset}", self.name, bytes.len());
        let write = |world: &mut World, n: usize| world.write_at(self.handle, &bytes[..n], offset);
        self.os.call_with(CallKind::WriteAt, &what, bytes.len(), write)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let what = format!("set_length {} {length}", self.name);
        self.os.call(CallKind::SetLength, &what, |world| world.set_length(self.handle, length))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync(CallKind::SyncData, "sync_data")
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync(CallKind::SyncAll, "sync_all")
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        let what = format!("reserve {} {length} {offset}", self.name);
        self.os.call(CallKind::Reserve, &what, |world| world.reserve(self.handle, offset, length))
    }

    fn free_space(&self) -> io::Result<u64> {
        self.call(CallKind::FreeSpace, "free_space", |world, _| Ok(world.free_space()))
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let what = format!("try_lock {} {lock:?}", self.name);
        self.os.call(CallKind::TryLock, &what, |world| world.try_lock(self.handle, lock))
    }

    fn unlock(&self) -> io::Result<()> {
        self.call(CallKind::Unlock, "unlock", World::unlock)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.os.change(|world| world.close(self.handle));
    }
}

fn on(verb: &str, path: &Path) -> String {
    format!("{verb} {}", name_of(path))
}

/// Returns the last part of a path, for the list of calls.
fn name_of(path: &Path) -> String {
    path.file_name().map_or("/".to_owned(), |name| name.to_string_lossy().into_owned())
}
