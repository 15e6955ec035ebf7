//! The real file system on a disk that takes its time.

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

/// The real operating system, whose syncs take so much longer.
///
/// Disks differ by a factor of a hundred in how long a sync takes, and what
/// sharing one is worth depends on that. This makes the difference visible on
/// any machine: everything is real but the waiting.
pub fn slow_disk(sync: Duration) -> Arc<dyn Os> {
    Arc::new(Layered::new(Arc::new(SlowSync(sync))))
}
