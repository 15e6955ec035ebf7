//! Takes sessions out of the index, with every word that they brought.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use sessile_index::Caches;
use sessile_store::StoreError;

use crate::TextIndex;
use crate::manifest::{Interned, KIND, Manifest, NAME};
use crate::merge::{Unmerged, merge};
use crate::segment::{Segment, SegmentInfo};
use crate::upkeep::{LOCK, lock};
use crate::worker::new_name;

impl TextIndex {
    /// Removes sessions from the index, for good; false if another process changes the index now.
    ///
    /// Segments that hold documents of these sessions, of earlier versions of any session, or of deleted ones are
    /// written again without them. Files that the manifest does not name are removed.
    pub fn forget_sessions(caches: &Caches, is_meant: &dyn Fn(&Path) -> bool) -> Result<bool, StoreError> {
        let os = caches.os().as_ref();
        let directory = caches.root().join(KIND.directory);
        match os.stat(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            there => there.map_err(StoreError::io("access", &directory))?,
        };
        let Some(lock) = lock(caches)? else { return Ok(false) };
        let mut manifest = Manifest::read(caches);
        manifest.retain(|index, manifest| !is_meant(&manifest.path_at(index)));
        while let Some(lost) = rewrite_segments(caches, &mut manifest)? {
            // A damaged segment: its sessions are read again.
            let lost: HashSet<u32> = lost.runs.iter().map(|run| run.session).collect();
            manifest.retain(|index, manifest| !lost.contains(&manifest.records[index].number));
        }
        let manifest = compacted(&manifest);
        if !manifest.records.is_empty() || !manifest.segments.is_empty() {
            manifest.write(caches)?;
        } else {
            remove(caches, &caches.path(KIND, NAME))?;
        }
        let named: HashSet<PathBuf> = (manifest.segments.iter().map(|segment| segment.name.as_str()))
            .chain([LOCK, NAME])
            .map(|name| caches.path(KIND, name))
            .collect();
        let there = os.list(&directory).map_err(StoreError::io("list", &directory))?;
        for path in there.into_iter().filter(|path| !named.contains(path)) {
            remove(caches, &path)?;
        }
        caches.sync(KIND)?;
        drop(lock);
        Ok(true)
    }
}

fn remove(caches: &Caches, path: &Path) -> Result<(), StoreError> {
    match caches.os().remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(StoreError::io("remove", path)),
    }
}

/// Replaces each segment that has documents of unknown sessions by one without them. Returns a segment that is
/// damaged, and takes it out.
fn rewrite_segments(caches: &Caches, manifest: &mut Manifest) -> Result<Option<SegmentInfo>, StoreError> {
    let known: HashSet<u32> = manifest.records.iter().map(|record| record.number).collect();
    let os = caches.os().as_ref();
    let mut index = 0;
    while let Some(info) = manifest.segments.get(index) {
        if info.runs.iter().all(|run| known.contains(&run.session)) {
            index += 1;
            continue;
        }
        let name = new_name(caches);
        let path = caches.path(KIND, &name);
        let merged = match Segment::open(os, &caches.path(KIND, &info.name), info) {
            Ok(segment) => merge(os, &[segment], &|session| known.contains(&session), &path, name),
            Err(_) => Err(Unmerged::Corrupt(0)),
        };
        match merged {
            Ok(Some(smaller)) => manifest.segments[index] = smaller,
            Ok(None) => drop(manifest.segments.remove(index)),
            Err(Unmerged::Corrupt(_)) => return Ok(Some(manifest.segments.remove(index))),
            Err(Unmerged::Store(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns the manifest without the names, ids and directories of sessions that it no longer has.
fn compacted(manifest: &Manifest) -> Manifest {
    let mut compact = Manifest::default();
    compact.next_number = manifest.next_number;
    compact.segments.clone_from(&manifest.segments);
    let mut interned = Interned::default();
    for known in (0..manifest.records.len()).filter_map(|index| manifest.known(index)) {
        compact.put(None, &known, &mut interned);
    }
    compact.sort();
    compact
}
