//! Lines as the server stores them.

use std::borrow::Cow;

use zstd::bulk::{Compressor, Decompressor};

use crate::batch::MAX_LINE;

/// The maximum length of the text of a pack.
pub(super) const PACK_BYTES: usize = 256 << 10;

/// Lines up to this length are stored as they are.
const SMALL: usize = 1024;

/// The level of compression. It was measured: higher levels take much more time for little less space.
const LEVEL: i32 = 3;

/// As it is.
const RAW: i16 = 0;

/// Compressed by zstd, as one frame that declares its length.
const ZSTD: i16 = 1;

/// An object in the storage for large lines: its hash and the length of the line.
pub(super) const BLOB: i16 = 2;

/// What a frame of zstd starts with.
const ZSTD_START: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Writes and reads stored lines. It keeps its buffers.
pub(super) struct Codec {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
}

impl Codec {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { compressor: Compressor::new(LEVEL)?, decompressor: Decompressor::new()? })
    }

    /// Returns the codec and the bytes to store for a line, or for the text of a pack.
    pub(super) fn encode<'l>(&mut self, line: &'l [u8]) -> (i16, Cow<'l, [u8]>) {
        if line.len() > SMALL
            && let Ok(smaller) = self.compressor.compress(line)
            && smaller.len() < line.len()
        {
            return (ZSTD, smaller.into());
        }
        (RAW, line.into())
    }

    /// Returns the line for stored bytes, or why they cannot be right. It never makes more than a line can have.
    pub(super) fn decode<'d>(&mut self, codec: i16, data: &'d [u8]) -> Result<Cow<'d, [u8]>, String> {
        let line = match codec {
            RAW if data.len() > MAX_LINE => return Err(format!("a line of {} bytes", data.len())),
            RAW => Cow::Borrowed(data),
            ZSTD => self.decompress(data, MAX_LINE, "line")?.into(),
            _ => return Err(format!("a line with the unknown codec {codec}")),
        };
        if line.contains(&b'\n') {
            return Err("a line that contains a newline".to_owned());
        }
        Ok(line)
    }

    /// Returns the line in the body of an object that was made by [`encode`](Self::encode), if it has a length.
    ///
    /// The body does not say how it is stored, so `is_right` decides whether it is the line.
    pub(super) fn decode_object(
        &mut self,
        body: Vec<u8>,
        length: usize,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let is_right = |line: &[u8]| line.len() == length && !line.contains(&b'\n') && is_right(line);
        if body.starts_with(&ZSTD_START)
            && let Ok(line) = self.decompress(&body, MAX_LINE, "line")
            && is_right(&line)
        {
            return Some(line);
        }
        is_right(&body).then_some(body)
    }

    /// Returns the text of a stored pack, or why it cannot be right. It never makes more than a pack can have.
    pub(super) fn decode_pack<'d>(&mut self, codec: i16, data: &'d [u8]) -> Result<Cow<'d, [u8]>, String> {
        match codec {
            RAW if data.len() > PACK_BYTES => Err(format!("a pack of {} bytes", data.len())),
            RAW => Ok(Cow::Borrowed(data)),
            ZSTD => Ok(self.decompress(data, PACK_BYTES, "pack")?.into()),
            _ => Err(format!("a pack with the unknown codec {codec}")),
        }
    }

    fn decompress(&mut self, data: &[u8], longest: usize, what: &str) -> Result<Vec<u8>, String> {
        let declared = zstd::zstd_safe::get_frame_content_size(data)
            .map_err(|_unreadable| format!("a compressed {what} that is damaged"))?;
        let Some(declared) = declared else { return Err(format!("a compressed {what} without its length")) };
        let length = usize::try_from(declared).ok().filter(|length| *length <= longest);
        let Some(length) = length else { return Err(format!("a compressed {what} of {declared} bytes")) };
        let text = self.decompressor.decompress(data, length);
        let text = text.map_err(|_damaged| format!("a compressed {what} that is damaged"))?;
        if text.len() == length { Ok(text) } else { Err(format!("a compressed {what} with a wrong length")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(line: &[u8]) -> i16 {
        let mut codec = Codec::new().unwrap();
        let (kind, data) = codec.encode(line);
        let data = data.into_owned();
        assert!(data.len() <= line.len());
        assert!(codec.decode(kind, &data).unwrap() == line);
        kind
    }

    #[test]
    fn long_lines_are_compressed_if_it_pays() {
        assert_eq!(round_trip(b""), RAW);
        assert_eq!(round_trip(&[b'a'; SMALL]), RAW);
        assert_eq!(round_trip(&[b'a'; SMALL + 1]), ZSTD);
        assert_eq!(round_trip(&vec![b'a'; MAX_LINE]), ZSTD);
        let mut state = 1_u64;
        let noise = std::iter::from_fn(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(state.to_be_bytes()[0])
        });
        assert_eq!(round_trip(&noise.filter(|byte| *byte != b'\n').take(5000).collect::<Vec<_>>()), RAW);
    }

    #[test]
    fn objects_are_lines_or_compressed_lines() {
        let mut codec = Codec::new().unwrap();
        let line = vec![b'a'; 5000];
        let compressed = codec.encode(&line).1.into_owned();
        let is_line = |bytes: &[u8]| bytes == line;
        assert_eq!(codec.decode_object(compressed.clone(), 5000, is_line), Some(line.clone()));
        assert_eq!(codec.decode_object(line.clone(), 5000, is_line), Some(line.clone()));
        assert_eq!(codec.decode_object(compressed.clone(), 4999, is_line), None);
        assert_eq!(codec.decode_object(compressed[..10].to_vec(), 5000, is_line), None);
        // A line that only looks like a frame.
        let odd = [ZSTD_START.as_slice(), b"x"].concat();
        assert_eq!(codec.decode_object(odd.clone(), 5, |bytes| bytes == odd), Some(odd.clone()));
        assert_eq!(codec.decode_object(compressed, 5000, |_| false), None);
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        let mut codec = Codec::new().unwrap();
        let bomb = zstd::bulk::compress(&vec![0; MAX_LINE + 1], 3).unwrap();
        assert!(bomb.len() < 10_000);
        assert_eq!(codec.decode(ZSTD, &bomb), Err(format!("a compressed line of {} bytes", MAX_LINE + 1)));
        // Two frames: the first declares little.
        let small = zstd::bulk::compress(&[b'a'; 2000], 3).unwrap();
        let two = [small.as_slice(), &bomb].concat();
        assert_eq!(codec.decode(ZSTD, &two), Err("a compressed line that is damaged".to_owned()));
        for cut in 0..small.len() {
            assert!(codec.decode(ZSTD, &small[..cut]).is_err(), "{cut}");
        }
        let undeclared = zstd::stream::encode_all([b'a'; 2000].as_slice(), 3).unwrap();
        assert_eq!(codec.decode(ZSTD, &undeclared), Err("a compressed line without its length".to_owned()));
        assert!(codec.decode(ZSTD, b"not zstd").is_err());
        assert!(codec.decode(RAW, b"a\nb").is_err());
        assert!(codec.decode(BLOB, b"a").is_err());
        assert!(codec.decode(-1, b"a").is_err());
    }
}
