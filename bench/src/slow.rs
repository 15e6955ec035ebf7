//! The real file system with slow syncs.

use std::sync::Arc;
use std::time::Duration;

use sessile::os::{Layer, Layered, Os};

/// A disk whose syncs take this much longer.
#[derive(Debug)]
struct SlowSync(Duration);

impl Layer for SlowSync {
    fn before_sync(&self) {
        std::thread::sleep(self.0);
    }
}

/// Returns the real operating system, with syncs that take this much longer.
///
/// The duration of a sync differs between disks by a factor of a hundred, and the benefit of sharing one depends on it.
/// This makes the difference visible on any machine: everything is real except the waiting.
pub fn slow_disk(sync: Duration) -> Arc<dyn Os> {
    Arc::new(Layered::new(Arc::new(SlowSync(sync))))
}
