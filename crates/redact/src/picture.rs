//! Texts inside pictures, and the picture that stands for a removed one.

use std::io::Read;
use std::sync::LazyLock;

use regex::Regex;
use sessile_core::format::picture::{is_base64, raster_type};

use crate::encoding::base64;
use crate::homes::Change;

/// A PNG of one pixel, in base64.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// The type of [`PIXEL`].
pub(crate) const PIXEL_TYPE: &str = "image/png";

/// The length from which base64 counts as a file of an unknown format. Shorter data is text.
const MIN_UNKNOWN: usize = 256;

/// The texts in a picture's data. `None` if the data is not a picture in base64, but text.
///
/// These are the text chunks of a PNG, and the comments and metadata of a JPEG. Of other files it is every run of eight
/// or more printable characters.
pub(crate) fn texts_in(data: &str) -> Option<Vec<String>> {
    let is_file = raster_type(data).is_some() || (data.len() >= MIN_UNKNOWN && is_base64(data));
    is_file.then(|| {
        let bytes = base64::decode_start(data);
        png_texts(&bytes).or_else(|| jpeg_texts(&bytes)).unwrap_or_else(|| printable(&bytes))
    })
}

static DATA_URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+").unwrap_or_else(|error| unreachable!("{error}"))
});

/// The pictures in a text, with what stands for them: the whole text in base64, or addresses that hold their data.
pub(crate) fn pictures_in(text: &str) -> Vec<Change> {
    if raster_type(text).is_some() {
        return if text == PIXEL { Vec::new() } else { vec![(0..text.len(), PIXEL.to_owned())] };
    }
    if !text.contains("data:image/") {
        return Vec::new();
    }
    let pixel = format!("data:{PIXEL_TYPE};base64,{PIXEL}");
    let found = DATA_URL.find_iter(text).filter(|found| found.as_str() != pixel);
    found.map(|found| (found.range(), pixel.clone())).collect()
}

fn big(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| (number << 8) | usize::from(*byte))
}

/// The texts of all chunks that hold no pixels.
fn png_texts(bytes: &[u8]) -> Option<Vec<String>> {
    let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let mut texts = Vec::new();
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        let (chunk, tail) = tail.split_at(big(&head[..4]).min(tail.len()));
        if !matches!(&head[4..], b"IDAT" | b"fdAT" | b"PLTE") {
            texts.extend(text_of(chunk));
        }
        if matches!(&head[4..], b"zTXt" | b"iTXt") {
            texts.extend(inflated(chunk).iter().flat_map(|text| text_of(text)));
        }
        rest = tail.get(4..).unwrap_or_default();
        if &head[4..] == b"IEND" {
            break;
        }
    }
    // What a program put after the last chunk.
    texts.extend(printable(rest));
    Some(texts)
}

/// The length up to which a compressed text is read.
const MAX_INFLATED: u64 = 4 << 20;

/// What may be a compressed text in a chunk: it begins with this byte, after a zero byte.
fn inflated(chunk: &[u8]) -> Vec<Vec<u8>> {
    let starts = chunk.windows(2).enumerate().filter(|(_, pair)| *pair == [0, 0x78]).map(|(at, _)| at + 1);
    let inflate = |at: usize| {
        let mut text = Vec::new();
        // What comes before an error counts.
        let mut decoder = flate2::read::ZlibDecoder::new(&chunk[at..]).take(MAX_INFLATED);
        let _n_read: Option<usize> = decoder.read_to_end(&mut text).ok();
        text
    };
    starts.take(4).map(inflate).collect()
}

/// The texts of comments and metadata.
fn jpeg_texts(bytes: &[u8]) -> Option<Vec<String>> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    let mut texts = Vec::new();
    loop {
        match rest {
            [0xff, 0xff, ..] => rest = &rest[1..],
            // The pixels begin.
            [0xff, 0xda, ..] => break,
            [0xff, marker, high, low, tail @ ..] => {
                let (segment, next) = tail.split_at(big(&[*high, *low]).saturating_sub(2).min(tail.len()));
                if matches!(marker, 0xe0..=0xef | 0xfe) {
                    texts.extend(text_of(segment));
                }
                rest = next;
            }
            _ => break,
        }
    }
    // Pixels are compressed, so a long printable run is a text that follows them.
    texts.extend(printable(rest));
    Some(texts)
}

/// A chunk's text in both widths. Parts are separated by zero bytes.
fn text_of(chunk: &[u8]) -> Vec<String> {
    let narrow = String::from_utf8_lossy(chunk).replace('\0', "\n");
    let wide: Vec<u8> = chunk.iter().copied().filter(|byte| *byte != 0).collect();
    vec![narrow, String::from_utf8_lossy(&wide).into_owned()]
}

fn printable(bytes: &[u8]) -> Vec<String> {
    let runs = bytes.split(|byte| !matches!(byte, b' '..=b'~'));
    runs.filter(|run| run.len() >= 8).map(|run| String::from_utf8_lossy(run).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let word = big(&[chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)]);
            let digits = [18, 12, 6, 0].map(|shift| char::from(DIGITS[(word >> shift) & 63]));
            text.extend(&digits[..=chunk.len()]);
            text.push_str(&"=".repeat(3 - chunk.len()));
        }
        text
    }

    #[track_caller]
    fn has_text(bytes: &[u8]) {
        let texts = texts_in(&base64(bytes)).unwrap();
        assert!(texts.iter().any(|text| text.contains("a secret text")), "{texts:?}");
    }

    #[test]
    fn texts_of_pictures_are_found() {
        let pixel = base64::decode_start(PIXEL);
        assert_eq!(base64(&pixel), PIXEL);
        let (start, end) = pixel.split_at(33);
        has_text(&[start, b"\0\0\0\x15tEXtComment\0a secret text", b"crc.", end].concat());
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"a secret text, a secret text").unwrap();
        let packed = encoder.finish().unwrap();
        for (kind, start) in [("zTXt", &b"Comment\0\0"[..]), ("iTXt", b"Comment\0\x01\0en\0\0")] {
            let length = u32::try_from(start.len() + packed.len()).unwrap().to_be_bytes();
            let chunk = [&length[..], kind.as_bytes(), start, &packed, b"crc."].concat();
            has_text(&[&pixel[..33], &chunk, &pixel[33..]].concat());
        }
        has_text(&[&pixel[..], b"\0a secret text"].concat());
        has_text(b"\xff\xd8\xff\xe1\0\x11\0\0a secret text\xff\xda\0\x02x");
        has_text(b"\xff\xd8\xff\xda\0\x02x\xffa secret text\xff\xd9");
        has_text(b"GIF89a\0\0\0\x21\xfe\x0da secret text\0");
        has_text(&[&b"BM\0a secret text\0"[..], &[1; 300]].concat());
        has_text(b"\xff\xd8\xff\xfe\0\x1ca\0 \0s\0e\0c\0r\0e\0t\0 \0t\0e\0x\0t\0");
    }

    #[test]
    fn pictures_in_texts_are_found() {
        assert_eq!(pictures_in("/9j/AAAA"), [(0..8, PIXEL.to_owned())]);
        assert_eq!(pictures_in(PIXEL), []);
        let found = pictures_in("x data:image/svg+xml;base64,AAAA) y");
        assert_eq!(found[0].0, 2..32);
        assert_eq!(pictures_in(&found[0].1), []);
        assert_eq!(pictures_in("no picture"), []);
    }

    #[test]
    fn torn_pictures_are_read_as_far_as_they_go() {
        for cut in 0..PIXEL.len() {
            texts_in(PIXEL.get(..cut).unwrap());
        }
        assert_eq!(texts_in("not base64"), None);
        assert_eq!(texts_in("base64"), None);
        assert_eq!(texts_in("/9j/////4QAA"), Some(vec![String::new(), String::new()]));
    }
}
