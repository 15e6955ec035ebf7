//! Calls of Windows that the standard library does not offer.
//!
//! This is the only module of the crate that may use `unsafe`, for one purpose: to call functions of Windows. Each
//! passes handles of files that stay open during the call, and pointers to values that live longer than it.
#![expect(unsafe_code, reason = "the functions of Windows are foreign")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::{from_mut, null_mut};

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_ACCESS_DENIED, ERROR_LOCK_VIOLATION, ERROR_NOT_LOCKED, GetLastError, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_STANDARD_INFO, FILE_TYPE_DISK, FileBasicInfo, FileStandardInfo,
    GetDiskFreeSpaceExW, GetDriveTypeW, GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType,
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, MoveFileExW, UnlockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::SystemInformation::GetTickCount64;
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject};
use windows_sys::Win32::System::WindowsProgramming::DRIVE_REMOTE;

/// Where the byte is that stands for a file: far after the end of every file. So a lock keeps no program from reading
/// or writing, though locks are mandatory here.
const LOCKED_BYTE: u64 = 0x7fff_ffff_ffff_0000;

/// What is known of an open file.
pub(super) struct Information {
    pub(super) attributes: u32,
    pub(super) device: u64,
    pub(super) index: u64,
    pub(super) length: u64,
    pub(super) n_links: u64,
    /// Whether it was removed, although it is still open.
    pub(super) is_removed: bool,
    /// When it was last written, in units of 100 ns since 1601.
    pub(super) written: i64,
    /// When anything about it last changed, in the same units.
    pub(super) changed: i64,
}

/// Returns what is known of an open file.
pub(super) fn information(file: &File) -> io::Result<Information> {
    let handle = file.as_raw_handle();
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: `found` is of the type that the function fills.
    succeeded(unsafe { GetFileInformationByHandle(handle, &raw mut found) })?;
    let (mut times, mut standard) = (FILE_BASIC_INFO::default(), FILE_STANDARD_INFO::default());
    let more = |class, to: *mut c_void, length: usize| {
        let length = u32::try_from(length).map_err(io::Error::other)?;
        // SAFETY: `to` points to a value of the type that belongs to the class, and `length` is its size.
        succeeded(unsafe { GetFileInformationByHandleEx(handle, class, to, length) })
    };
    more(FileBasicInfo, from_mut(&mut times).cast(), size_of::<FILE_BASIC_INFO>())?;
    more(FileStandardInfo, from_mut(&mut standard).cast(), size_of::<FILE_STANDARD_INFO>())?;
    let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    Ok(Information {
        attributes: found.dwFileAttributes,
        device: u64::from(found.dwVolumeSerialNumber),
        index: joined(found.nFileIndexHigh, found.nFileIndexLow),
        length: joined(found.nFileSizeHigh, found.nFileSizeLow),
        n_links: u64::from(found.nNumberOfLinks),
        is_removed: standard.DeletePending,
        written: times.LastWriteTime,
        changed: times.ChangeTime,
    })
}

/// Whether an open file is on a disk, not a pipe or a device.
pub(super) fn is_on_disk(file: &File) -> bool {
    // SAFETY: the handle is valid.
    unsafe { GetFileType(file.as_raw_handle()) == FILE_TYPE_DISK }
}

/// Locks a file for this handle if it is free. The handle must not hold a lock.
pub(super) fn try_lock(file: &File, is_exclusive: bool) -> io::Result<bool> {
    let flags = LOCKFILE_FAIL_IMMEDIATELY | if is_exclusive { LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let mut place = locked_byte();
    // SAFETY: the handle is open for synchronous access, so the call does not use `place` after it returns.
    match succeeded(unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut place) }) {
        Ok(()) => Ok(true),
        Err(error) if has_code(&error, ERROR_LOCK_VIOLATION) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Releases the lock of this handle.
pub(super) fn unlock(file: &File) -> io::Result<()> {
    let mut place = locked_byte();
    // SAFETY: the handle is open for synchronous access, so the call does not use `place` after it returns.
    match succeeded(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) }) {
        Err(error) if has_code(&error, ERROR_NOT_LOCKED) => Ok(()),
        unlocked => unlocked,
    }
}

fn locked_byte() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    let [high, low] = [LOCKED_BYTE >> 32, LOCKED_BYTE & u64::from(u32::MAX)];
    // Both halves fit.
    place.Anonymous.Anonymous.OffsetHigh = u32::try_from(high).unwrap_or_default();
    place.Anonymous.Anonymous.Offset = u32::try_from(low).unwrap_or_default();
    place
}

/// Renames a file to a name that must be free, on the same disk.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both names end with a zero.
    succeeded(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) })
}

/// Returns how many bytes the user can still write to the disk of a directory.
pub(super) fn free_space(directory: &Path) -> io::Result<u64> {
    let directory = wide(directory)?;
    let mut free = 0;
    // SAFETY: the name ends with a zero, and the function accepts null pointers for what is not wanted.
    succeeded(unsafe { GetDiskFreeSpaceExW(directory.as_ptr(), &raw mut free, null_mut(), null_mut()) })?;
    Ok(free)
}

/// Whether a drive, such as `C:\`, belongs to another machine.
pub(super) fn is_remote(drive: &Path) -> io::Result<bool> {
    let drive = wide(drive)?;
    // SAFETY: the name ends with a zero.
    Ok(unsafe { GetDriveTypeW(drive.as_ptr()) } == DRIVE_REMOTE)
}

/// Returns the milliseconds since the machine started, including the time in which it slept.
pub(super) fn ticks() -> u64 {
    // SAFETY: the function has no conditions.
    unsafe { GetTickCount64() }
}

/// Whether a process is running, as far as can be determined.
pub(super) fn is_running(pid: u32) -> bool {
    // SAFETY: the handle is used only if it is valid, and closed once.
    unsafe {
        let process = OpenProcess(PROCESS_SYNCHRONIZE, 0, pid);
        if process.is_null() {
            // A process of another user exists, too.
            return GetLastError() == ERROR_ACCESS_DENIED;
        }
        let is_running = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
        CloseHandle(process);
        is_running
    }
}

/// Converts a path to the form that the system takes. Longer paths than usual need the prefix `\\?\`.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
    const USUAL: usize = 240;
    let path = std::path::absolute(path)?;
    let mut units: Vec<u16> = path.as_os_str().encode_wide().collect();
    if units.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let starts = |start: &str| start.encode_utf16().eq(units.iter().copied().take(start.len()));
    if units.len() > USUAL && !starts(r"\\?\") {
        let (prefix, n_dropped) = if starts(r"\\") { (r"\\?\UNC\", 2) } else { (r"\\?\", 0) };
        units.splice(..n_dropped, prefix.encode_utf16());
    }
    units.push(0);
    Ok(units)
}

fn succeeded(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn has_code(error: &io::Error, code: u32) -> bool {
    error.raw_os_error().map(i32::cast_unsigned) == Some(code)
}
