//! Files, clocks and processes on Unix.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileTimes, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::{FileKind, Identity, Lock, Mode, OsFile, Stat};

#[cfg(target_vendor = "apple")]
pub(super) use super::super::apple::is_shared;
#[cfg(target_vendor = "apple")]
use super::super::apple::sync;
pub(super) use std::fs::{canonicalize as real_path, remove_file as remove, rename};

/// The error for a name that is a link where none is allowed.
pub(crate) const IS_LINK: i32 = Errno::LOOP.raw_os_error();
/// The error for a name that is a directory.
pub(crate) const IS_DIRECTORY: i32 = Errno::ISDIR.raw_os_error();
/// The error for a socket, or a device without a driver.
pub(crate) const IS_DEVICE: i32 = Errno::NXIO.raw_os_error();

/// Renames a file atomically to a name that must be free.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        // The errors of a kernel or a file system that does not know the flag.
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
        errno => errno.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn open(path: &Path, mode: Mode) -> io::Result<RealFile> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe must not wait for its writer, and a terminal must not become our controlling terminal.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if mode != Mode::Read {
        flags |= OFlags::NOFOLLOW;
    }
    match mode {
        Mode::Read => {}
        Mode::Append => drop(options.append(true)),
        Mode::New => drop(options.append(true).create_new(true).mode(0o600)),
        Mode::Sidecar => drop(options.write(true).create(true).truncate(false).mode(0o600)),
    }
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if mode == Mode::New {
        // The umask may have removed even the owner's rights.
        file.set_permissions(Permissions::from_mode(0o600))?;
    } else {
        refuse_odd(&file)?;
    }
    Ok(RealFile(file))
}

pub(super) fn stat(path: &Path) -> io::Result<Stat> {
    fs::metadata(path).map(|metadata| stat_of(&metadata))
}

pub(super) fn link_stat(path: &Path) -> io::Result<Stat> {
    fs::symlink_metadata(path).map(|metadata| stat_of(&metadata))
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    // The umask may have removed even the owner's rights.
    fs::set_permissions(path, Permissions::from_mode(0o700)).inspect_err(|_| drop(fs::remove_dir(path)))
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

pub(super) fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    File::open(path)?.set_times(FileTimes::new().set_modified(time))
}

pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    sync(&File::open(path)?, File::sync_all)
}

pub(super) fn list_stats(path: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<(PathBuf, Option<Stat>)>> {
    let look = |entry: fs::DirEntry| {
        is_wanted(&entry.file_name()).then_some(())?;
        // Looked up relative to the open directory, not from the root; links are not followed.
        let metadata = entry.metadata().ok();
        let path = entry.path();
        let stat = metadata.and_then(|found| if found.is_symlink() { stat(&path).ok() } else { Some(stat_of(&found)) });
        Some((path, stat))
    };
    Ok(fs::read_dir(path)?.filter_map(|entry| entry.ok().and_then(look)).collect())
}

pub(super) fn boot_ms() -> i64 {
    let time = rustix::time::clock_gettime(BOOT_CLOCK);
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    let (seconds, nanoseconds) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
}

pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // A process of another user cannot be signalled, but it exists.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

pub(super) fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Refuses files that store no content, like a socket: pipes, devices, and files that the kernel generates.
///
/// Reading these may block forever, never end, or have side effects. `/dev/null` counts as an empty file.
fn refuse_odd(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    let kind = found.file_type();
    let is_null = || fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
    let is_odd = if kind.is_char_device() {
        !is_null()
    } else {
        // Reading a directory fails anyway, with a specific error.
        !kind.is_dir() && (!kind.is_file() || (found.blocks() == 0 && is_made_up(file)?))
    };
    if is_odd { Err(Errno::NXIO.into()) } else { Ok(()) }
}

/// A file of the real operating system.
#[derive(Debug)]
pub(super) struct RealFile(File);

impl OsFile for RealFile {
    fn stat(&self) -> io::Result<Stat> {
        self.0.metadata().map(|metadata| stat_of(&metadata))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        use std::os::fd::AsRawFd;
        // This seek moves the file position, which an append needs to find unchanged. So a second handle is used.
        let Ok(other) = File::open(format!("/proc/self/fd/{}", self.0.as_raw_fd())) else { return Ok(Some(offset)) };
        match rustix::fs::seek(&other, rustix::fs::SeekFrom::Data(offset)) {
            Ok(data) => Ok(Some(data.max(offset))),
            Err(Errno::NXIO) => Ok(None),
            // Not every file system supports this.
            Err(_) => Ok(Some(offset)),
        }
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn append_from(&self, source: &dyn OsFile, range: std::ops::Range<u64>) -> io::Result<u64> {
        use rustix::fs::{copy_file_range, fcntl_getfl, fcntl_setfl};
        let Some(source) = source.descriptor() else { return Ok(0) };
        let flags = fcntl_getfl(&self.0)?;
        // The system refuses this for a file that is open for appending.
        fcntl_setfl(&self.0, flags - OFlags::APPEND)?;
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let (mut from, mut to) = (range.start, self.0.metadata()?.len());
        let copied = copy_file_range(source, Some(&mut from), &self.0, Some(&mut to), length);
        fcntl_setfl(&self.0, flags)?;
        match copied {
            Ok(n_copied) => Ok(n_copied as u64),
            // Two file systems, or one that does not support it.
            Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    fn position(&self) -> io::Result<u64> {
        (&self.0).stream_position()
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        sync(&self.0, File::sync_data)
    }

    fn sync_all(&self) -> io::Result<()> {
        sync(&self.0, File::sync_all)
    }

    #[cfg(target_vendor = "apple")]
    fn sync_reaches_disk(&self) -> bool {
        super::super::apple::sync_reaches_disk(&self.0)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::KEEP_SIZE, offset, length) {
            // Not every file system supports this. Where it does not, the write itself reports a full disk.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn free_space(&self) -> io::Result<u64> {
        let disk = rustix::fs::fstatvfs(&self.0)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let tried = match lock {
            Lock::Shared => self.0.try_lock_shared(),
            Lock::Exclusive => self.0.try_lock(),
        };
        match tried {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }
}

#[cfg(not(target_vendor = "apple"))]
fn sync(file: &File, sync: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    sync(file)
}

fn stat_of(metadata: &Metadata) -> Stat {
    let kind = if metadata.is_file() {
        FileKind::Regular
    } else if metadata.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    };
    Stat {
        kind,
        identity: Identity { device: metadata.dev(), inode: metadata.ino() },
        length: metadata.len(),
        modified_ms: metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000,
        changed_ns: metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec()),
        n_links: metadata.nlink(),
        mode: metadata.mode() & 0o7777,
        is_own: metadata.uid() == own_user(),
        is_roots: metadata.uid() == 0,
    }
}

/// Returns the effective user of this process. Cached, because every append reads metadata.
fn own_user() -> u32 {
    static USER: OnceLock<u32> = OnceLock::new();
    *USER.get_or_init(|| rustix::process::geteuid().as_raw())
}

pub(super) fn outlive_file_size_limit() -> io::Result<()> {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(drop)
}

/// A clock that cannot be set. On Linux and macOS it also counts the time in which the machine is suspended.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// Returns the number of this boot. Cached, because it does not change while this process lives.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(clippy::disallowed_methods, reason = "the only way to read this from the system")]
pub(super) fn boot_id() -> u32 {
    static BOOT: OnceLock<u32> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // Zero means unknown, so no boot has that number.
        if text.is_empty() { 0 } else { crc32fast::hash(&text).max(1) }
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn boot_id() -> u32 {
    0
}

/// File systems in which other machines, or a program in between, take part in a write.
#[cfg(target_os = "linux")]
const SHARED_FILE_SYSTEMS: [u64; 10] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB2
    0x6573_5546, // FUSE, sshfs among others
    0x0102_1997, // 9P
    0x00C3_6400, // Ceph
    0x5346_414F, // AFS
    0x0BD0_0BD0, // Lustre
    0x7461_636F, // OCFS2
];

/// File systems whose files the kernel generates: their lengths mean nothing, and reading may block.
#[cfg(target_os = "linux")]
const MADE_UP_FILE_SYSTEMS: [u64; 9] = [
    0x9FA0,      // proc
    0x6265_6572, // sys
    0x6462_6720, // debug
    0x7472_6163, // trace
    0x0027_E0EB, // cgroup
    0x6367_7270, // cgroup2
    0x7363_6673, // security
    0x6265_6570, // config
    0xCAFE_4A11, // bpf
];

#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> io::Result<bool> {
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "an identifier, not a quantity")]
    let kind = u64::from(rustix::fs::fstatfs(file)?.f_type as u32);
    Ok(MADE_UP_FILE_SYSTEMS.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "fails on other systems")]
fn is_made_up(_file: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(target_os = "linux")]
pub(super) fn is_shared(path: &Path) -> io::Result<bool> {
    // The type is signed or unsigned, wider or narrower, depending on the machine; the low half is the number.
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "an identifier, not a quantity")]
    let kind = u64::from(rustix::fs::statfs(path)?.f_type as u32);
    Ok(SHARED_FILE_SYSTEMS.contains(&kind))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn is_shared(_path: &Path) -> io::Result<bool> {
    Ok(false)
}
