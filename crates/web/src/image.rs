//! Pictures in messages.

use sessile::format::picture::{Picture, raster_type};
use sessile::message::ImageBlock;
use sessile_display::measure::size_words;

/// What a page says about a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    /// The type of the bytes, if they are a raster image that browsers draw. Never the type that the file claims.
    pub(crate) raster_type: Option<&'static str>,
    /// Width and height in pixels.
    pub(crate) size: Option<(u32, u32)>,
    claimed_type: String,
    n_bytes: u64,
}

impl ImageFacts {
    pub(crate) fn new(block: ImageBlock<'_>) -> Self {
        let picture = Picture::new(block);
        let data = block.data().unwrap_or_default();
        Self {
            raster_type: raster_type(&data).filter(|_| picture.size.is_some()),
            size: picture.size,
            claimed_type: picture.mime_type,
            n_bytes: picture.bytes,
        }
    }

    /// The facts in a few words.
    pub(crate) fn text(&self) -> String {
        let kind = self.raster_type.unwrap_or(&self.claimed_type);
        let kind: String = kind.chars().filter(char::is_ascii_graphic).take(40).collect();
        let size = self.size.map(|(width, height)| format!(", {width}×{height}")).unwrap_or_default();
        format!("Image: {}{size}, {}", if kind.is_empty() { "unknown type" } else { &kind }, size_words(self.n_bytes))
    }
}

/// The type and the bytes of a picture that browsers draw.
#[cfg(feature = "serve")]
pub(crate) fn raster_bytes(block: ImageBlock<'_>) -> Option<(&'static str, Vec<u8>)> {
    let data = block.data()?;
    let kind = raster_type(&data)?;
    Some((kind, crate::pack::base64_bytes(&data)))
}

#[cfg(test)]
mod tests {
    use sessile::json::Raw;

    use super::*;

    fn facts(block: &str) -> ImageFacts {
        ImageFacts::new(ImageBlock::new(Raw::parse(block.as_bytes()).unwrap()))
    }

    #[test]
    fn only_raster_bytes_are_shown_whatever_the_file_claims() {
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAC0lEQVR4nGNgQAcAABIAAeRVj9gAAAAASUVORK5CYII=";
        let image = facts(&format!(r#"{{"type":"image","mimeType":"image/svg+xml","data":"{png}"}}"#));
        assert_eq!((image.raster_type, image.size), (Some("image/png"), Some((2, 3))));
        assert_eq!(image.text(), "Image: image/png, 2×3, 68 B");
        let svg = facts(r#"{"type":"image","mimeType":"image/png","data":"PHN2ZyB4bWxucz0i"}"#);
        assert_eq!((svg.raster_type, svg.text().as_str()), (None, "Image: image/png, 12 B"));
        for odd in [r#"{"type":"image"}"#, r#"{"data":7}"#, r#"{"data":"iVBORw0KGgo\"><script>"}"#] {
            assert_eq!(facts(odd).raster_type, None, "{odd}");
        }
    }
}
