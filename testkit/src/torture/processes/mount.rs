//! File systems for the bench: small, full, read-only, or about to lose power.

use std::path::{Path, PathBuf};

use super::Skipped;
use super::child::tool;

/// A mounted file system; dropping it unmounts it.
pub(crate) struct Mount {
    pub(crate) root: PathBuf,
    image: Option<PathBuf>,
    is_mounted: bool,
}

/// Fails unless this process may mount.
pub(super) fn require_root() -> Result<(), Skipped> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Skipped("needs root".to_owned())) }
}

impl Mount {
    /// Mounts a file system in memory of this size.
    pub(super) fn tmpfs(root: &Path, size: &str) -> Result<Self, Skipped> {
        require_root()?;
        std::fs::create_dir_all(root).unwrap();
        let options = format!("size={size},mode=0755");
        tool("mount", &[&"-t", &"tmpfs", &"-o", &options, &"tmpfs", &root]).map_err(Skipped)?;
        Ok(Self { root: root.to_path_buf(), image: None, is_mounted: true })
    }

    /// Creates a file system of this kind in a file, and mounts it.
    pub(crate) fn image(root: &Path, kind: &str, megabytes: u64, options: &[&str]) -> Result<Self, Skipped> {
        require_root()?;
        std::fs::create_dir_all(root).unwrap();
        let image = root.with_extension("img");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(megabytes << 20).unwrap();
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"-q"];
        args.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        args.push(&image);
        tool(&format!("mkfs.{kind}"), &args).map_err(Skipped)?;
        let mut mount = Self { root: root.to_path_buf(), image: Some(image), is_mounted: false };
        mount.mount().map_err(Skipped)?;
        Ok(mount)
    }

    fn mount(&mut self) -> Result<(), String> {
        let Some(image) = &self.image else { return Ok(()) };
        tool("mount", &[&"-o", &"loop", image, &self.root])?;
        self.is_mounted = true;
        Ok(())
    }

    pub(super) fn remount(&self, how: &str) -> Result<(), String> {
        tool("mount", &[&"-o", &format!("remount,{how}"), &self.root])
    }

    /// From now on nothing more reaches the disk, not even the part of the journal in memory.
    pub(super) fn cut_power(&self) -> Result<(), String> {
        tool("xfs_io", &[&"-x", &"-c", &"shutdown", &self.root])
    }

    /// Unmounts the file system and mounts it again, which replays its journal.
    pub(super) fn restart(&mut self) -> Result<(), String> {
        self.unmount()?;
        self.mount()
    }

    /// Unmounts with retries, because a process that was just killed may keep it busy for a while.
    fn unmount(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        for _ in 0..100 {
            result = tool("umount", &[&self.root]);
            if result.is_ok() {
                self.is_mounted = false;
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        result
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_mounted && self.unmount().is_err() {
            drop(tool("umount", &[&"-l", &self.root]));
        }
    }
}
