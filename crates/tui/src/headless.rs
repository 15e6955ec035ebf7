//! The tree of a session without a terminal, for measurements.
//!
//! Jobs run on the caller's thread, so that the same keys always do the same work.

use std::path::PathBuf;
use std::sync::Arc;

use sessile::Sessions;
use sessile::tree::Filter;

use crate::driver::Driver;
use crate::keymap::Keymap;
use crate::tree::Tree;
use crate::tree::backend::TreeBackend;

/// The tree screen of a session.
pub struct TreeScreen(Driver<Tree>);

impl TreeScreen {
    /// Opens a session and shows its tree, on a screen of 130 × 40 cells.
    pub fn open(sessions: Sessions, path: PathBuf) -> Self {
        let tree = Tree::new(Arc::new(Keymap::default()), Filter::Default, true, 0);
        let mut driver = Driver::new(tree, TreeBackend::new(sessions, path, None), |_| false);
        driver.resize(130, 40);
        Self(driver)
    }

    /// Presses keys by their names, which spaces separate.
    pub fn press(&mut self, keys: &str) {
        self.0.press(keys);
    }

    /// Draws the screen and returns its rows.
    pub fn draw(&self) -> Vec<String> {
        self.0.lines()
    }
}
