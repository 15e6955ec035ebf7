//! Properties of a picture, read from its first bytes.

use crate::message::ImageBlock;

/// The properties of a picture that are known without decoding it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The MIME type from its block, such as `image/png`.
    pub mime_type: String,
    /// Width and height in pixels, if the bytes contain them.
    pub size: Option<(u32, u32)>,
    /// The number of bytes.
    pub bytes: u64,
}

impl Picture {
    /// Examines an image block.
    pub fn new(block: ImageBlock<'_>) -> Self {
        let data = block.data().unwrap_or_default();
        let text = data.trim_end_matches('=').as_bytes();
        Self {
            mime_type: block.mime_type().unwrap_or_default(),
            size: dimensions(&decoded(text)),
            bytes: text.len() as u64 * 3 / 4,
        }
    }
}

/// The type of a raster image that browsers draw, from the first characters of its base64 text. Never the type that the
/// file claims; `None` for any other content, such as SVG, and for text that is not base64.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::format::picture::raster_type;
///
/// assert_eq!(raster_type("/9j/4AAQSkZJRg=="), Some("image/jpeg"));
/// assert_eq!(raster_type("PHN2Zy8+"), None);
/// ```
pub fn raster_type(base64: &str) -> Option<&'static str> {
    let types = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGODdh", "image/gif"),
        ("R0lGODlh", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    let (_, name) = types.iter().find(|(start, _)| base64.starts_with(start))?;
    is_base64(base64).then_some(*name)
}

/// The length of base64 text that is decoded. A photograph may have long metadata before its size.
const MAX_DECODED: usize = 128 << 10;

/// Whether a text is base64 only, so that it can be passed to a terminal.
pub fn is_base64(text: &str) -> bool {
    !text.is_empty() && text.trim_end_matches('=').bytes().all(|byte| digit(byte).is_some())
}

/// The bytes of a picture in base64, with padding.
///
/// ```
/// # use sessile_core as sessile;
/// assert_eq!(sessile::format::picture::base64_of(b"pi!?"), "cGkhPw==");
/// ```
pub fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The first bytes of a base64 text, up to the first invalid character.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut n_bits = 0;
    for digit in text.iter().take(MAX_DECODED).map_while(|byte| digit(*byte)) {
        bits = (bits << 6) | digit;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits).to_be_bytes()[3]);
        }
    }
    bytes
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// The width and height of a PNG, GIF, JPEG or WebP picture.
fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    png(bytes).or_else(|| gif(bytes)).or_else(|| webp(bytes)).or_else(|| jpeg(bytes))
}

fn big(bytes: &[u8], at: usize, n_bytes: usize) -> Option<u32> {
    let number = bytes.get(at..at + n_bytes)?.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    Some(number)
}

fn little(bytes: &[u8], at: usize, n_bytes: usize) -> Option<u32> {
    let number = bytes.get(at..at + n_bytes)?.iter().rev().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    Some(number)
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n").then_some(())?;
    Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.starts_with(b"GIF8").then_some(())?;
    Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

/// A WebP file has one of three headers.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")).then_some(())?;
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// The size is in a frame header, after segments that each state their length.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.starts_with(b"\xff\xd8").then_some(())?;
    let mut at = 2;
    loop {
        let marker = bytes.get(at..at + 2)?;
        match marker {
            // Padding.
            [0xff, 0xff] => at += 1,
            [0xff, 0xc4 | 0xc8 | 0xcc] => at += 2 + big(bytes, at + 2, 2)? as usize,
            [0xff, 0xc0..=0xcf] => return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?)),
            [0xff, _] => at += 2 + big(bytes, at + 2, 2)? as usize,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn picture_of(mime_type: &str, data: &str) -> Picture {
        let block = Json::parse(format!(r#"{{"type":"image","mimeType":"{mime_type}","data":"{data}"}}"#)).unwrap();
        Picture::new(ImageBlock::new(block.raw()))
    }

    #[test]
    fn picture_dimensions_are_read() {
        let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
        assert_eq!(
            picture_of("image/png", dot),
            Picture { mime_type: "image/png".into(), size: Some((1, 1)), bytes: 68 }
        );
        assert_eq!(picture_of("image/gif", "R0lGODlhAgADAIAAAA").size, Some((2, 3)));
        let jpeg = [&b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc4\x00\x02\xff\xff\xc2\x00\x0b\x08"[..], &[1, 2, 3, 4]].concat();
        assert_eq!(dimensions(&jpeg), Some((0x0304, 0x0102)));
        let webp = |kind: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP", kind, b"\0\0\0\0", rest].concat();
        assert_eq!(dimensions(&webp(b"VP8X", &[0, 0, 0, 0, 4, 0, 0, 9, 0, 0])), Some((5, 10)));
        assert_eq!(dimensions(&webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 4, 0, 9, 0])), Some((4, 9)));
        assert_eq!(dimensions(&webp(b"VP8L", &[0x2f, 3, 0x40, 0, 0])), Some((4, 2)));
    }

    #[test]
    fn other_data_has_no_dimensions() {
        for data in ["", "!!!!", "aGVsbG8", "/9j/", "/9j/wAAAAA", "iVBORw0KGgo"] {
            assert_eq!(picture_of("x", data).size, None, "{data}");
        }
        assert!(is_base64("aGVsbG8=") && !is_base64("a\u{1b}") && !is_base64(""));
        for cut in 0..200 {
            // The function terminates on any input.
            dimensions(&vec![0xff; cut]);
        }
    }
}
