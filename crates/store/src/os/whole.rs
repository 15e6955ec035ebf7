//! Calls that repeat until everything is done: the system may do less than requested, and may be interrupted.

use std::io;

use super::OsFile;

/// Reads once, and retries if interrupted. Returns the number of bytes; 0 only at the end of the file.
pub(crate) fn read_some(file: &dyn OsFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
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

/// Whether all bytes are zero, as in a hole. Called for all data that is read, so it checks the ends first.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // Folded block by block, which the compiler vectorises: holes are long.
    let is_zero_block = |block: &[u8]| block.iter().fold(0, |all, byte| all | byte) == 0;
    bytes.first() == Some(&0) && bytes.last() == Some(&0) && bytes.chunks(4096).all(is_zero_block)
}

/// Reads the bytes at an offset; fewer if the file ends. Fails if there is not enough memory.
pub fn read_upto(file: &dyn OsFile, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    // The length comes from a file or from stored data, so it may be any value.
    bytes.try_reserve_exact(length).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
    bytes.resize(length, 0);
    let n_read = read_fully(file, &mut bytes, offset)?;
    bytes.truncate(n_read);
    Ok(bytes)
}

/// Writes all bytes at an offset.
pub(crate) fn write_fully(file: &dyn OsFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    until_written(bytes, |rest, n_written| file.write_at(rest, offset + n_written as u64))
}

/// Appends all bytes to a file that no other process writes to.
pub fn append_fully(file: &dyn OsFile, bytes: &[u8]) -> io::Result<()> {
    until_written(bytes, |rest, _| file.append(rest))
}

fn until_written(bytes: &[u8], mut write: impl FnMut(&[u8], usize) -> io::Result<usize>) -> io::Result<()> {
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
