//! Batches as the server stores them: many lines as packs, few as they are.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::batch::Batch;
use crate::chain::Chain;
use crate::postgres::codec::{BLOB, Codec, PACK_BYTES};
use crate::postgres::large::ObjectRow;

/// A batch with this many bytes is stored as packs: together, lines take less space and less time.
const MANY_BYTES: u64 = 32 << 10;

/// A batch with this many lines is stored as packs.
const MANY_LINES: usize = 128;

/// The lines of a batch as parallel arrays. An item is a pack, or a line by itself.
#[derive(Debug, Default)]
pub(super) struct Items<'b> {
    /// The number of lines in a pack; 0 for a line.
    pub(super) counts: Vec<i32>,
    /// The chains after the lines of an item, in sequence.
    pub(super) chains: Vec<Vec<u8>>,
    pub(super) codecs: Vec<i16>,
    pub(super) data: Vec<Cow<'b, [u8]>>,
}

impl<'b> Items<'b> {
    /// Encodes a batch. Lines that are longer than a pack stay lines, and so do objects: the rows that name them, by the
    /// index of the line.
    pub(super) fn of(batch: &'b Batch, codec: &mut Codec, objects: &'b HashMap<usize, ObjectRow>) -> Self {
        let mut items = Self::default();
        let is_packed = batch.n_bytes() >= MANY_BYTES || batch.len() >= MANY_LINES;
        let mut pack = OpenPack::default();
        for (index, (line, chain)) in batch.lines().enumerate() {
            let object = objects.get(&index);
            if !is_packed || line.len() >= PACK_BYTES || object.is_some() {
                items.close(&mut pack, codec);
                let stored = match object {
                    Some(object) => (BLOB, object.as_slice().into()),
                    None => codec.encode(line),
                };
                items.push(0, chain.as_bytes().to_vec(), stored);
                continue;
            }
            if pack.text.len() + line.len() >= PACK_BYTES {
                items.close(&mut pack, codec);
            }
            pack.push(line, chain);
        }
        items.close(&mut pack, codec);
        items
    }

    fn close(&mut self, pack: &mut OpenPack, codec: &mut Codec) {
        if pack.n > 0 {
            let (kind, data) = codec.encode(&pack.text);
            let data = Cow::Owned(data.into_owned());
            self.push(pack.n, std::mem::take(&mut pack.chains), (kind, data));
            pack.text.clear();
            pack.n = 0;
        }
    }

    fn push(&mut self, count: i32, chains: Vec<u8>, (codec, data): (i16, Cow<'b, [u8]>)) {
        self.counts.push(count);
        self.chains.push(chains);
        self.codecs.push(codec);
        self.data.push(data);
    }
}

/// Lines that become a pack. A batch has at most 4,096, so a pack has.
#[derive(Default)]
struct OpenPack {
    n: i32,
    text: Vec<u8>,
    chains: Vec<u8>,
}

impl OpenPack {
    fn push(&mut self, line: &[u8], chain: Chain) {
        self.n += 1;
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.chains.extend_from_slice(chain.as_bytes());
    }
}

/// Splits the text of a pack of `n` lines, or says why it cannot be right.
pub(super) fn lines<'t>(text: &'t [u8], n: u32) -> Result<impl Iterator<Item = &'t [u8]>, String> {
    let lines = |text: &'t [u8]| text.split(|byte| *byte == b'\n');
    match text.split_last() {
        Some((b'\n', text)) if lines(text).count() == n as usize => Ok(lines(text)),
        _ => Err(format!("a pack that does not have {n} lines")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Position;

    /// Encodes lines, and returns the number of lines of each item after all have come back.
    fn counts(lines: &[Vec<u8>]) -> Vec<i32> {
        let mut batch = Batch::at(Position::default());
        for line in lines {
            batch.push(line).unwrap();
        }
        let (mut codec, objects) = (Codec::new().unwrap(), HashMap::new());
        let items = Items::of(&batch, &mut codec, &objects);
        let mut back: Vec<Vec<u8>> = Vec::new();
        for (index, count) in items.counts.iter().enumerate() {
            let (kind, data) = (items.codecs[index], &items.data[index]);
            if *count == 0 {
                back.push(codec.decode(kind, data).unwrap().into_owned());
            } else {
                let text = codec.decode_pack(kind, data).unwrap();
                back.extend(super::lines(&text, count.unsigned_abs()).unwrap().map(<[u8]>::to_vec));
            }
            assert_eq!(items.chains[index].len(), 16 * usize::try_from(*count).unwrap().max(1));
        }
        assert!(back == lines);
        let chains: Vec<u8> = batch.lines().flat_map(|(_, chain)| *chain.as_bytes()).collect();
        assert_eq!(items.chains.concat(), chains);
        items.counts
    }

    #[test]
    fn many_lines_become_packs_and_long_lines_stay_lines() {
        let line = |length: usize| vec![b'a'; length];
        assert_eq!(counts(&[]), [0; 0]);
        assert_eq!(counts(&[line(3), line(0)]), [0, 0]);
        assert_eq!(counts(&vec![line(0); 128]), [128]);
        assert_eq!(counts(&[line(20_000), line(20_000), line(1)]), [3]);
        assert_eq!(counts(&[line(PACK_BYTES), line(1), line(2), line(PACK_BYTES - 1)]), [0, 2, 1]);
        assert_eq!(counts(&vec![line(100_000); 5]), [2, 2, 1]);
        assert_eq!(counts(&[line(9), line(PACK_BYTES), line(PACK_BYTES), line(9)]), [1, 0, 0, 1]);
    }

    #[test]
    fn packs_that_cannot_be_right_are_refused() {
        assert!(lines(b"a\nb\n", 2).unwrap().eq([b"a".as_slice(), b"b"]));
        assert!(lines(b"\n\n", 2).unwrap().eq([b"".as_slice(), b""]));
        for (text, n) in [(b"a\nb".as_slice(), 1), (b"a\nb", 2), (b"a\n", 2), (b"a\nb\n", 1), (b"", 0), (b"", 1)] {
            assert!(lines(text, n).is_err(), "{text:?} {n}");
        }
        let mut codec = Codec::new().unwrap();
        let bomb = zstd::bulk::compress(&vec![b'\n'; PACK_BYTES + 1], 3).unwrap();
        assert_eq!(codec.decode_pack(1, &bomb), Err(format!("a compressed pack of {} bytes", PACK_BYTES + 1)));
        assert!(codec.decode_pack(0, &vec![b'a'; PACK_BYTES + 1]).is_err());
        assert!(codec.decode_pack(2, b"a").is_err());
        assert!(codec.decode_pack(1, b"damaged").is_err());
    }
}
