//! What goes wrong: full disks, clocks that jump, processes that are stopped.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate, syncfs};
use rustix::process::{Pid, Signal, kill_process};

use super::Soak;
use crate::SplitMix;

/// Whether the disk is full, and when it last was.
#[derive(Default)]
pub(super) struct DiskState {
    is_full: bool,
    ended: Option<Instant>,
}

impl Soak {
    /// Whether the disk was full at some time since then.
    pub(super) fn was_full(&self, since: Instant) -> bool {
        let disk = self.disk.lock().unwrap();
        disk.is_full || disk.ended.is_some_and(|ended| ended >= since)
    }
}

/// Fills the disk for a few seconds, again and again.
pub(super) fn full_disk(soak: &Soak, mut random: SplitMix) {
    if !soak.home.has_own_disk() {
        return;
    }
    let filler = soak.home.root.with_file_name("filler");
    while !soak.is_over() {
        soak.sleep(Duration::from_secs(20 + random.below(40) as u64));
        soak.disk.lock().unwrap().is_full = true;
        let file = File::create(&filler);
        if let Ok(file) = &file {
            fill(file);
            soak.count("full disks", 1);
        }
        soak.rest(&mut random, 4000);
        drop(file);
        drop(fs::remove_file(&filler));
        // ext4 gives freed blocks to other files only after its next commit.
        drop(File::open(&soak.home.root).map(syncfs));
        *soak.disk.lock().unwrap() = DiskState { is_full: false, ended: Some(Instant::now()) };
    }
}

/// Takes all space that is left, without writing.
fn fill(file: &File) {
    let (mut at, mut step) = (0, 1_u64 << 30);
    while step >= 512 {
        match fallocate(file, FallocateFlags::empty(), at, step) {
            Ok(()) => at += step,
            Err(_) => step /= 2,
        }
    }
}

/// Moves the clock of some processes, by seconds or by years.
pub(super) fn clock(soak: &Soak, mut random: SplitMix) {
    const JUMPS: [i64; 7] = [1, 60, 3600, 86_400, 2_592_000, 31_536_000, 315_360_000];
    if !soak.home.can_shift_clocks() {
        return;
    }
    while !soak.is_over() {
        soak.sleep(Duration::from_secs(3 + random.below(20) as u64));
        let jump = random.pick(&JUMPS);
        let seconds = match random.below(3) {
            0 => 0,
            1 => jump,
            _ => -jump,
        };
        soak.home.set_clock(seconds);
        soak.count("clock jumps", 1);
    }
}

/// Stops a process for a moment, and continues it.
pub(super) fn pauses(soak: &Soak, mut random: SplitMix) {
    while !soak.is_over() {
        soak.sleep(Duration::from_secs(2 + random.below(8) as u64));
        let living: Vec<u32> = soak.living.lock().unwrap().values().copied().collect();
        if living.is_empty() {
            continue;
        }
        let id = living[random.below(living.len())];
        let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { continue };
        if kill_process(id, Signal::STOP).is_ok() {
            soak.count("stopped processes", 1);
            std::thread::sleep(Duration::from_millis(100 + random.below(2500) as u64));
            // It may have been killed meanwhile.
            let _ = kill_process(id, Signal::CONT);
        }
    }
}
