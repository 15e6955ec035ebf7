//! A Unix socket that several clients connect to.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::engine::Engine;

/// How many clients may be connected at once.
const MAX_CLIENTS: usize = 256;

/// A socket in the file system that only its owner can connect to.
pub struct Socket {
    listener: Arc<UnixListener>,
    path: PathBuf,
    /// Which file it is, so that nobody else's is removed in the end.
    inode: u64,
}

impl Socket {
    /// Makes the socket. A socket that nobody listens at any more is replaced; anything else at its place is refused.
    ///
    /// It is made under another name and moved into place once nobody else can reach it.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "something that is no socket is there"));
            }
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(io::Error::new(ErrorKind::AddrInUse, "somebody listens there already")),
            },
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // In a directory of its own, which nobody else can look into, it is never open to others.
        let hidden = directory.join(format!(".sessile-{}", std::process::id()));
        fs::create_dir(&hidden)?;
        let bound = bind_in(&hidden, path);
        drop(fs::remove_dir_all(&hidden));
        let (listener, inode) = bound?;
        Ok(Self { listener: Arc::new(listener), path: path.to_path_buf(), inode })
    }

    /// Takes clients on threads of their own, until the process ends.
    pub fn serve(&self, engine: &Arc<Engine>) {
        let (listener, engine) = (Arc::clone(&self.listener), Arc::clone(engine));
        thread::spawn(move || {
            for stream in listener.incoming() {
                // Who is gone before being served needs no answer.
                let Ok(stream) = stream else { continue };
                if engine.n_clients() >= MAX_CLIENTS {
                    continue;
                }
                let engine = Arc::clone(&engine);
                thread::spawn(move || {
                    if let Ok(reading) = stream.try_clone() {
                        engine.serve(reading, stream);
                    }
                });
            }
        });
    }

    /// Takes the socket away, unless another one is at its place by now.
    pub fn close(&self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn bind_in(hidden: &Path, path: &Path) -> io::Result<(UnixListener, u64)> {
    fs::set_permissions(hidden, Permissions::from_mode(0o700))?;
    let made = hidden.join("s");
    let listener = UnixListener::bind(&made)?;
    fs::set_permissions(&made, Permissions::from_mode(0o600))?;
    let inode = fs::symlink_metadata(&made)?.ino();
    fs::rename(&made, path)?;
    Ok((listener, inode))
}
