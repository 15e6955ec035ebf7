//! Encodes numbers and strings as bytes.

/// Appends a number, seven bits per byte, the lowest first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends bytes with a length prefix.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes values. Every method returns none where the bytes do not fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Bytes<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns how many bytes have been read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        self.at += 1;
        if first < 0x80 { Some(u64::from(first)) } else { self.number_from(first) }
    }

    /// Reads the rest of a number of several bytes.
    #[inline(never)]
    fn number_from(&mut self, first: u8) -> Option<u64> {
        let second = *self.bytes.get(self.at)?;
        if second < 0x80 {
            self.at += 1;
            return Some(u64::from(first & 0x7f) | u64::from(second) << 7);
        }
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    #[inline]
    pub(crate) fn small(&mut self) -> Option<u32> {
        self.number().and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }

    /// Reads a number of four bytes.
    pub(crate) fn fixed(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Skips this many numbers.
    #[inline]
    pub(crate) fn skip(&mut self, n_numbers: u32) -> Option<()> {
        let mut left = n_numbers;
        // A number ends with a byte below 0x80, so at most eight numbers end in eight bytes. While at least eight are
        // left, skip eight bytes at a time.
        while left >= 8
            && let Some(eight) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>)
        {
            left -= (!u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080).count_ones();
            self.at += 8;
        }
        while left > 0 {
            left -= u32::from(*self.bytes.get(self.at)? < 0x80);
            self.at += 1;
        }
        Some(())
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.count()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put(&mut bytes, number);
        }
        put_bytes(&mut bytes, b"text");
        let mut read = Bytes::new(&bytes);
        for number in numbers {
            assert_eq!(read.number(), Some(number));
        }
        assert_eq!(read.bytes(), Some(b"text".as_slice()));
        assert!(read.is_empty() && read.number().is_none());
        let mut skipped = Bytes::new(&bytes);
        skipped.skip(5).unwrap();
        assert_eq!(skipped.small(), Some(u32::MAX));
        assert_eq!(Bytes::new(&[0xff; 20]).number(), None);
    }
}
