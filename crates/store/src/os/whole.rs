//! Calls that go on until everything is done: the system may do less than asked, and may be interrupted.

use std::io;

use super::OsFile;

/// Reads once, whatever interrupts. Returns how much that was; nothing only at the end of the file.
pub(crate) fn read_some(file: &dyn OsFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Reads until the buffer is full or the file ends. Returns how much that was.
pub fn read_fully(file: &dyn OsFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < buffer.len() {
        match read_some(file, &mut buffer[n_read..], offset + n_read as u64)? {
            0 => break,
            n_more => n_read += n_more,
        }
    }
    Ok(n_read)
}

/// Whether these are zeros and nothing else, as in a hole. Asked of all that is read, so the ends are looked at first.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // Folded block by block, which the compiler turns into vector instructions: holes are long.
    let is_zero_block = |block: &[u8]| block.iter().fold(0, |all, byte| all | byte) == 0;
    bytes.first() == Some(&0) && bytes.last() == Some(&0) && bytes.chunks(4096).all(is_zero_block)
}

/// The bytes at an offset, fewer where the file ends. Fails if there is no memory for so many.
pub fn read_upto(file: &dyn OsFile, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    // A length comes from a file or from what is kept about one, so it may be anything.
    bytes.try_reserve_exact(length).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
    bytes.resize(length, 0);
    let n_read = read_fully(file, &mut bytes, offset)?;
    bytes.truncate(n_read);
    Ok(bytes)
}

/// Writes everything at an offset.
pub(crate) fn write_fully(file: &dyn OsFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    fully(bytes, |rest, n_written| file.write_at(rest, offset + n_written as u64))
}

/// Writes everything behind the end of a file that nobody else writes to.
pub fn append_fully(file: &dyn OsFile, bytes: &[u8]) -> io::Result<()> {
    fully(bytes, |rest, _| file.append(rest))
}

fn fully(bytes: &[u8], mut write: impl FnMut(&[u8], usize) -> io::Result<usize>) -> io::Result<()> {
    let mut n_written = 0;
    while n_written < bytes.len() {
        match write(&bytes[n_written..], n_written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n_more) => n_written += n_more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
