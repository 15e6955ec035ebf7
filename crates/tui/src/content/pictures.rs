//! The pictures of an entry.

use sessile::entry::{Entry, Payload};
use sessile::format::picture::Picture;
use sessile::message::{Block, Content};
use sessile_display::picture::picture_text;

/// A picture that a terminal may be able to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drawable {
    pub(crate) mime_type: String,
    /// Base64 data; not validated.
    pub(crate) data: String,
    /// A description for the user.
    pub(crate) description: String,
}

/// Returns the pictures of an entry in order.
pub(crate) fn entry_pictures(entry: &Entry) -> Vec<Drawable> {
    let content = match entry.payload() {
        Payload::Message(message) => message.message().map(sessile::message::Message::content),
        Payload::CustomMessage(custom) => Some(custom.content()),
        Payload::ThinkingLevelChange(_)
        | Payload::ModelChange(_)
        | Payload::Usage(_)
        | Payload::Compaction(_)
        | Payload::BranchSummary(_)
        | Payload::Custom(_)
        | Payload::ContextEdit(_)
        | Payload::Label(_)
        | Payload::SessionInfo(_)
        | Payload::Unknown(_) => None,
    };
    let Some(Content::Blocks(blocks)) = content else { return Vec::new() };
    let images = blocks.iter().filter_map(|block| match block {
        Block::Image(image) => Some(*image),
        _ => None,
    });
    let drawable = |image: sessile::message::ImageBlock<'_>| Drawable {
        mime_type: image.mime_type().unwrap_or_default(),
        data: image.data().unwrap_or_default(),
        description: picture_text(&Picture::new(image)),
    };
    images.map(drawable).collect()
}
