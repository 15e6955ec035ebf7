//! The files that pages refer to, by names with a hash of their content.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::hex::hex;
use crate::page::{SERVED_SCRIPT, STYLE};

/// A file that pages refer to.
pub(crate) struct Asset {
    /// Its path in URLs.
    pub(crate) path: String,
    /// Its media type.
    pub(crate) kind: &'static str,
    /// Its content.
    pub(crate) content: &'static str,
}

impl Asset {
    fn new(name: &str, extension: &str, kind: &'static str, content: &'static str) -> Self {
        let hash = hex(Sha256::digest(content).get(..8).unwrap_or_default());
        Self { path: format!("/assets/{name}-{hash}.{extension}"), kind, content }
    }
}

/// The style of every page.
pub(crate) static STYLE_ASSET: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style", "css", "text/css; charset=utf-8", STYLE));

/// The script of the list and of the search.
pub(crate) static HOME_ASSET: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("home", "js", "text/javascript; charset=utf-8", HOME_SCRIPT));

/// The block keeps names that both scripts have apart.
const HOME_SCRIPT: &str = concat!(
    include_str!("../../assets/session/status.js"),
    include_str!("../../assets/home.js"),
    "{\n",
    include_str!("../../assets/session/tools.js"),
    include_str!("../../assets/session/change.js"),
    include_str!("../../assets/rows.js"),
    "}\nroot.classList.add(\"ready\");\n",
);

/// The script of a session.
pub(crate) static SESSION_ASSET: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("session", "js", "text/javascript; charset=utf-8", SERVED_SCRIPT));

/// Finds a file by its path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    [&STYLE_ASSET, &HOME_ASSET, &SESSION_ASSET].into_iter().map(|asset| &**asset).find(|asset| asset.path == path)
}
