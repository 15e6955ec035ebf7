//! Files that an agent has compressed with Zstandard, read as if they were not.
//!
//! The decoder goes forwards only. A read before what it still has starts again at the beginning. That is rare, because an
//! import reads a source nearly in its order; a file that needs it too often is refused.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use sessile_core::line::Line;
use sessile_store::os::{Lock, Mode, Os, OsFile, Stat};
use sessile_store::{LineReader, StoreError};

/// The maximum length of the content of a file.
const MAX_CONTENT: u64 = 4 << 30;

/// How often as much as the maximum length may be made of a file, with what is made again.
const MAX_TIMES: u64 = 4;

/// The maximum memory that a file can ask for: what the standard says that every decoder should have.
const MAX_WINDOW: u64 = 8 << 20;

/// How much of the content is kept for reads that go back.
const KEPT: usize = 4 << 20;

/// Whether a file is compressed, by its name.
pub(super) fn is_packed(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("zst"))
}

/// Opens a file of an agent for reading, as the content if it is compressed.
pub(super) fn open(os: &dyn Os, path: &Path) -> io::Result<Box<dyn OsFile>> {
    let file = os.open(path, Mode::Read)?;
    Ok(if is_packed(path) { Box::new(Content::of(file, MAX_CONTENT)) } else { file })
}

/// Calls `on_line` for each line of a file of an agent until it returns false.
pub(super) fn read_head(os: &dyn Os, path: &Path, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), StoreError> {
    let file = open(os, path).map_err(|source| StoreError::io_at("open", path, source))?;
    LineReader::default().read(file.as_ref(), path, 0, on_line).map(drop)
}

/// What is wrong with a compressed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Some of its content can be read.
    Damaged(&'static str),
    /// None of it is used.
    Refused(&'static str),
}

impl Fault {
    /// What is wrong with a file whose content could not be read; `None` for other errors.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(reason) => out.write_str(reason),
            Self::Refused(reason) => write!(out, "{reason}; `zstd -d` can write a file that can be imported"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

/// The content of a compressed file.
#[derive(Debug)]
struct Content(Mutex<State>);

impl Content {
    fn of(file: Box<dyn OsFile>, max_content: u64) -> Self {
        Self(Mutex::new(State::new(file.into(), max_content)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    source: BufReader<Compressed>,
    decoder: FrameDecoder,
    stage: Stage,
    /// The last part of the content that was made.
    recent: Vec<u8>,
    /// Where it begins.
    start: u64,
    /// How much was made in all.
    work: u64,
    max_content: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before a frame, or at the end.
    Between,
    InFrame,
    AtEnd,
    /// The rest cannot be read.
    Failed(Fault),
}

impl State {
    fn new(file: Arc<dyn OsFile>, max_content: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        let source = BufReader::with_capacity(64 << 10, Compressed { file, offset: 0 });
        Self { source, decoder, stage: Stage::Between, recent: Vec::new(), start: 0, work: 0, max_content }
    }

    fn end(&self) -> u64 {
        self.start + self.recent.len() as u64
    }

    fn restart(&mut self) {
        let file = Arc::clone(&self.source.get_ref().file);
        *self = Self { work: self.work, ..Self::new(file, self.max_content) };
    }

    fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.start {
            self.restart();
        }
        while offset >= self.end() && self.stage != Stage::AtEnd {
            if let Stage::Failed(fault) = self.stage {
                return Err(fault.into());
            }
            self.stage = match self.advance() {
                Ok(stage) => stage,
                Err(error) => self.fail(error)?,
            };
        }
        let from = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let found = self.recent.get(from..).unwrap_or_default();
        let n_read = found.len().min(buffer.len());
        buffer[..n_read].copy_from_slice(&found[..n_read]);
        Ok(n_read)
    }

    /// What to do after an error.
    fn fail(&mut self, error: io::Error) -> io::Result<Stage> {
        let Some(fault) = Fault::of(&error) else {
            // The decoder has lost its place.
            self.restart();
            return Err(error);
        };
        if self.stage == Stage::InFrame && matches!(fault, Fault::Damaged(_)) {
            // The decoder keeps a window of what it has made until its frame ends, so it gets an empty last block and
            // a checksum.
            let end: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
            if self.decoder.decode_blocks(end, BlockDecodingStrategy::UptoBlocks(1)).is_ok() {
                self.decoder.collect_to_writer(&mut self.recent)?;
            }
        }
        Ok(Stage::Failed(fault))
    }

    /// Makes the next part of the content.
    fn advance(&mut self) -> io::Result<Stage> {
        if self.stage == Stage::Between {
            return self.begin_frame();
        }
        let is_last = self
            .decoder
            .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(|error| failure(&error))?;
        if self.recent.len() >= 2 * KEPT {
            let n_dropped = self.recent.len() - KEPT;
            self.recent.drain(..n_dropped);
            self.start += n_dropped as u64;
        }
        let n_before = self.recent.len();
        self.decoder.collect_to_writer(&mut self.recent)?;
        self.work += (self.recent.len() - n_before) as u64;
        if self.end() > self.max_content {
            return Err(Fault::Refused("its content is larger than 4 GiB").into());
        }
        if self.work > self.max_content.saturating_mul(MAX_TIMES) {
            return Err(Fault::Refused("its lines are too far away from those that belong to them").into());
        }
        if !is_last {
            return Ok(Stage::InFrame);
        }
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(Fault::Damaged("the compressed data does not have its checksum").into());
        }
        Ok(Stage::Between)
    }

    fn begin_frame(&mut self) -> io::Result<Stage> {
        if self.source.fill_buf()?.is_empty() {
            let is_empty = self.source.get_ref().offset == 0;
            return if is_empty { Err(TORN.into()) } else { Ok(Stage::AtEnd) };
        }
        match self.decoder.reset(&mut self.source) {
            Ok(()) if self.decoder.content_size() > self.max_content => {
                Err(Fault::Refused("its content is larger than 4 GiB").into())
            }
            Ok(()) => Ok(Stage::InFrame),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                if skipped == u64::from(length) { Ok(Stage::Between) } else { Err(TORN.into()) }
            }
            Err(error) => Err(failure(&error)),
        }
    }
}

/// A file that ends too early.
const TORN: Fault = Fault::Damaged("the compressed data ends too early");

impl fmt::Debug for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("State").field("stage", &self.stage).field("end", &self.end()).finish_non_exhaustive()
    }
}

/// The error of a decoder: one of the file, or a fault.
fn failure(error: &FrameDecoderError) -> io::Error {
    if let FrameDecoderError::WindowSizeTooBig { .. } = error {
        return Fault::Refused("decompressing it needs more than 8 MiB of memory").into();
    }
    if let FrameDecoderError::DictNotProvided { .. } = error {
        return Fault::Refused("it needs a dictionary").into();
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(read) = at.downcast_ref::<io::Error>() {
            return match read.kind() {
                io::ErrorKind::UnexpectedEof => TORN.into(),
                kind => io::Error::new(kind, read.to_string()),
            };
        }
        cause = at.source();
    }
    Fault::Damaged("the compressed data is damaged").into()
}

/// A file as a stream.
#[derive(Debug)]
struct Compressed {
    file: Arc<dyn OsFile>,
    offset: u64,
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read_at(buffer, self.offset)?;
        self.offset += n_read as u64;
        Ok(n_read)
    }
}

fn read_only<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl OsFile for Content {
    /// The length is not known before everything was read.
    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat { length: u64::MAX, ..self.state().source.get_ref().file.stat()? })
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.state().read(buffer, offset)
    }

    fn append(&self, _bytes: &[u8]) -> io::Result<usize> {
        read_only()
    }

    fn position(&self) -> io::Result<u64> {
        read_only()
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        read_only()
    }

    fn set_length(&self, _length: u64) -> io::Result<()> {
        read_only()
    }

    fn sync_data(&self) -> io::Result<()> {
        read_only()
    }

    fn sync_all(&self) -> io::Result<()> {
        read_only()
    }

    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        read_only()
    }

    fn free_space(&self) -> io::Result<u64> {
        read_only()
    }

    fn try_lock(&self, _lock: Lock) -> io::Result<bool> {
        read_only()
    }

    fn unlock(&self) -> io::Result<()> {
        read_only()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use sessile_store::os::{MemoryOs, append_fully, read_upto};

    use super::*;

    /// Text that is hardly compressible, so that it takes many blocks.
    fn text(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b' ' + u8::try_from(state >> 58).unwrap()
        };
        (0..length).map(|_| next()).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn file(bytes: &[u8]) -> Box<dyn OsFile> {
        let (os, path) = (MemoryOs::new(), PathBuf::from("/f.jsonl.zst"));
        append_fully(os.open(&path, Mode::New).unwrap().as_ref(), bytes).unwrap();
        os.open(&path, Mode::Read).unwrap()
    }

    fn content(bytes: &[u8], max: u64) -> Content {
        Content::of(file(bytes), max)
    }

    fn fault(read: io::Result<Vec<u8>>) -> Fault {
        Fault::of(&read.unwrap_err()).unwrap()
    }

    #[test]
    fn all_frames_are_read_in_any_order() {
        let text = text(12 << 20);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
        let (first, second) = text.split_at(7 << 20);
        let content = content(&[packed(first), skipped.clone(), packed(second), skipped].concat(), MAX_CONTENT);
        let all = read_upto(&content, 0, 13 << 20).unwrap();
        assert!(all == text);
        for offset in [11 << 20, 9 << 20, 0, 6 << 20, (7 << 20) - 5] {
            let read = read_upto(&content, offset, 1000).unwrap();
            let offset = usize::try_from(offset).unwrap();
            assert!(read == text[offset..offset + 1000], "{offset}");
        }
        assert_eq!(read_upto(&content, 12 << 20, 10).unwrap(), b"");
        assert!(content.state().recent.capacity() < 4 * KEPT, "memory is bounded");
    }

    #[test]
    fn what_is_before_the_damage_is_read() {
        let text = text(2 << 20);
        let whole = packed(&text);
        let torn = content(&whole[..whole.len() / 2], MAX_CONTENT);
        assert_eq!(fault(read_upto(&torn, 0, 3 << 20)), TORN);
        let length = torn.state().end();
        assert!(length > 500_000 && length < 2 << 20, "{length}");
        let read = read_upto(&torn, 0, length).unwrap();
        assert!(read == text[..read.len()]);
        // A window that reaches over the end of what there is fails again, and what is before can still be read.
        assert_eq!(fault(read_upto(&torn, length - 10, 20)), TORN);
        assert_eq!(read_upto(&torn, 10, 10).unwrap(), text[10..20]);

        assert_eq!(fault(read_upto(&content(b"", MAX_CONTENT), 0, 1)), TORN);
        assert!(matches!(fault(read_upto(&content(b"{\"type\":1}", MAX_CONTENT), 0, 1)), Fault::Damaged(_)));
        let after = content(&[&packed(b"a line\n")[..], b"rubbish"].concat(), MAX_CONTENT);
        assert_eq!(read_upto(&after, 0, 7).unwrap(), b"a line\n");
        assert!(matches!(fault(read_upto(&after, 0, 8)), Fault::Damaged(_)));
    }

    #[test]
    fn a_wrong_checksum_is_noticed() {
        let mut bytes = packed(b"a line\n");
        *bytes.last_mut().unwrap() ^= 1;
        let read = fault(read_upto(&content(&bytes, MAX_CONTENT), 0, 8));
        assert_eq!(read, Fault::Damaged("the compressed data does not have its checksum"));
    }

    #[test]
    fn a_file_that_asks_for_too_much_is_refused() {
        let bomb = packed(&vec![b'\n'; 3 << 20]);
        assert!(bomb.len() < 1000, "{}", bomb.len());
        let refused = Fault::Refused("its content is larger than 4 GiB");
        assert_eq!(fault(read_upto(&content(&bomb, 1 << 20), 0, 3 << 20)), refused);
        // A frame that declares 8 GiB, and one that needs a window of 2 GiB.
        let declared = [0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x00, 0, 0, 0, 0, 2, 0, 0, 0];
        assert!(matches!(fault(read_upto(&content(&declared, MAX_CONTENT), 0, 1)), Fault::Refused(_)));
        let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0];
        let too_wide = Fault::Refused("decompressing it needs more than 8 MiB of memory");
        assert_eq!(fault(read_upto(&content(&window, MAX_CONTENT), 0, 1)), too_wide);
        // Going back again and again.
        let far = content(&packed(&text(12 << 20)), 12 << 20);
        let mut back_and_forth = (0..20).map(|_| {
            read_upto(&far, 11 << 20, 1)?;
            read_upto(&far, 0, 1)
        });
        let stopped = back_and_forth.find_map(Result::err).map(|error| Fault::of(&error));
        assert!(matches!(stopped, Some(Some(Fault::Refused(_)))), "{stopped:?}");
    }

    #[test]
    fn no_change_of_a_byte_makes_the_decoder_panic() {
        let whole = packed(&[text(3000), vec![b'a'; 3000], b"abcdefgh".repeat(100)].concat());
        for at in 0..whole.len() {
            for bit in [1, 16, 128] {
                let mut changed = whole.clone();
                changed[at] ^= bit;
                let content = content(&changed, MAX_CONTENT);
                let read = read_upto(&content, 0, 1 << 20);
                assert!(read.is_ok() || Fault::of(&read.unwrap_err()).is_some(), "{at} {bit}");
            }
        }
    }
}
