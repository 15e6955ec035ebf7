//! Copies of logs that killed processes have left.

use crate::world::World;

/// The directory for copies of logs in the state directory.
pub(crate) const DIRECTORY: &str = "remote-copies";

/// Copies that are as old as this belong to no process any more.
pub(crate) const LEFTOVER_MS: i64 = 60 * 60 * 1000;

/// Removes the copies that processes left when they were killed, if they have at least this age.
pub(crate) fn remove_leftovers(world: &World, age_ms: i64) {
    let Some(directory) = &world.operations_dir else { return };
    let os = world.os();
    for path in os.list(&directory.join(DIRECTORY)).unwrap_or_default() {
        if os.link_stat(&path).is_ok_and(|stat| stat.modified_ms + age_ms <= os.now_ms()) {
            // The next synchronization tries again.
            drop(os.remove(&path));
        }
    }
}
