//! Encodes numbers and texts as bytes, and decodes them.
//!
//! Callers have verified a checksum before, so data that does not fit is a bug, not an attack. It still never causes
//! more than a `None`.

use sessile_core::json::JsText;

/// Writes values one after another.
#[derive(Debug, Default)]
pub struct Writer(
    /// What was written.
    pub Vec<u8>,
);

impl Writer {
    /// Writes a byte.
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Writes a number, seven bits per byte: most are small.
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// Writes a number in eight bytes.
    pub fn signed(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Writes a number in eight bytes.
    pub fn float(&mut self, value: f64) {
        self.0.extend(value.to_bits().to_le_bytes());
    }

    /// Writes bytes after their number.
    pub fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Writes whether there is a value, and the value.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads values in the order in which they were written.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// Reads from the first byte on.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take(&mut self, n_bytes: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(n_bytes)?)?;
        self.at += n_bytes;
        Some(taken)
    }

    /// Reads this many bytes.
    pub fn array<const N: usize>(&mut self) -> Option<&'b [u8; N]> {
        self.take(N)?.first_chunk()
    }

    /// Reads a byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| *byte)
    }

    /// Reads a [number](Writer::number).
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a [number](Writer::number) that fits into memory.
    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Reads a [signed](Writer::signed) number.
    pub fn signed(&mut self) -> Option<i64> {
        self.array().map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// Reads a [float](Writer::float).
    pub fn float(&mut self) -> Option<f64> {
        self.array().map(|bytes| f64::from_bits(u64::from_le_bytes(*bytes)))
    }

    /// Reads [bytes](Writer::bytes).
    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// Reads [bytes](Writer::bytes) that must be UTF-8.
    pub fn string(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// Reads [bytes](Writer::bytes) of a text.
    pub fn text(&mut self) -> Option<JsText<'static>> {
        self.bytes().map(|bytes| JsText::from_wtf8(bytes.to_vec()))
    }

    /// Reads an [option](Writer::option). The outer `None` means invalid bytes, the inner one an absent value.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut writer = Writer::default();
            writer.number(value);
            let mut reader = Reader::new(&writer.0);
            assert_eq!(reader.number(), Some(value));
            assert!(reader.is_at_end());
            assert_eq!(Reader::new(&writer.0[..writer.0.len() - 1]).number(), None);
        }
        assert_eq!(Reader::new(&[0xff; 20]).number(), None);
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        assert_eq!(Reader::new(&[5, b'a']).bytes(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).bytes(), None);
        assert_eq!(Reader::new(&[2, 0xff, 0xff]).string(), None);
    }
}
