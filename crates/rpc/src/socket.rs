//! A Unix socket for several clients.

use std::fs::{self, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sessile::threads;

use crate::engine::Engine;
use crate::envelope::connection_refusal;
use crate::failure::{Code, Failure};

/// How many clients may be connected at once.
const MAX_CLIENTS: usize = 256;

/// The first and the longest pause after a client could not be accepted, as at the limit on open files.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The prefix of the directories in which sockets are created.
const TEMP_DIR_PREFIX: &str = ".sessile-socket-";

/// A directory for creating a socket exists for less than this, unless its process was killed.
const MAX_TEMP_DIR_AGE: Duration = Duration::from_mins(1);

/// A socket in the file system that only its owner can connect to.
pub struct Socket {
    listener: Arc<UnixListener>,
    path: PathBuf,
    /// The socket's inode, so that another process's socket is not removed at the end.
    inode: u64,
}

impl Socket {
    /// Creates the socket. A stale socket, at which no process listens, is replaced; anything else at the path is
    /// refused.
    ///
    /// It is created under another name and moved into place once no other user can connect to it.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "the path exists and is not a socket"));
            }
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    return Err(io::Error::new(ErrorKind::AddrInUse, "another process is already listening there"));
                }
            },
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_stale_temp_dirs(directory);
        // In its own directory, which other users cannot enter, the socket is never open to them. The directory's
        // name is random, because in a container every start has the same process id.
        let temp_dir = directory.join(format!("{TEMP_DIR_PREFIX}{:016x}", RandomState::new().build_hasher().finish()));
        fs::create_dir(&temp_dir)?;
        let result = bind_in(&temp_dir, path);
        drop(fs::remove_dir_all(&temp_dir));
        let (listener, inode) = result?;
        Ok(Self { listener: Arc::new(listener), path: path.to_path_buf(), inode })
    }

    /// Accepts clients on separate threads, until the process exits. Fails if there is no thread to accept them on.
    ///
    /// A client that cannot be served gets the reason, and the other clients are still served.
    pub fn serve(&self, engine: &Arc<Engine>) -> io::Result<()> {
        let (listener, engine) = (Arc::clone(&self.listener), Arc::clone(engine));
        let accept = move || {
            let mut pause = PAUSES.0;
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // At the limit on open files, the client stays in the queue and the next attempt fails immediately,
                    // too.
                    thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                    continue;
                };
                pause = PAUSES.0;
                serve_client(&engine, stream);
            }
        };
        threads::spawn("accept", accept).map(drop)
    }

    /// Removes the socket, unless another one is at its path by now.
    pub fn close(&self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Serves a client on its own thread, or sends it the reason why it is not served.
fn serve_client(engine: &Arc<Engine>, stream: UnixStream) {
    if engine.n_clients() >= MAX_CLIENTS {
        return refuse(&stream, &Failure::new(Code::Io, format!("too many clients: the limit is {MAX_CLIENTS}")));
    }
    let reader = match stream.try_clone() {
        Ok(reader) => reader,
        Err(error) => return refuse(&stream, &Failure::new(Code::Io, format!("cannot serve a client: {error}"))),
    };
    let (engine, stream) = (Arc::clone(engine), Arc::new(stream));
    let writer = Arc::clone(&stream);
    let started = threads::spawn("client", move || {
        engine.serve(reader, SharedStream(writer));
    });
    if let Err(error) = started {
        refuse(&stream, &Failure::no_thread(&error));
    }
}

/// Tells a client why it is not served, without blocking.
fn refuse(stream: &UnixStream, failure: &Failure) {
    let mut line = connection_refusal(failure).into_bytes();
    line.push(b'\n');
    let mut writer = stream;
    drop(stream.set_nonblocking(true).and_then(|()| writer.write_all(&line)));
}

/// A stream that is kept until a thread serves it.
struct SharedStream(Arc<UnixStream>);

impl Write for SharedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_ref().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_ref().flush()
    }
}

/// Removes directories that killed processes left while creating their sockets, if no process listens in them.
fn remove_stale_temp_dirs(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_temp_dir =
        |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMP_DIR_PREFIX));
    for temp_dir in entries.filter_map(Result::ok).filter(is_temp_dir).map(|entry| entry.path()) {
        let Ok(metadata) = fs::symlink_metadata(&temp_dir) else { continue };
        let is_old = metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MAX_TEMP_DIR_AGE));
        if !metadata.is_dir() || !is_old {
            continue;
        }
        let socket = temp_dir.join("s");
        let is_socket = fs::symlink_metadata(&socket).is_ok_and(|metadata| metadata.file_type().is_socket());
        if is_socket && UnixStream::connect(&socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            drop(fs::remove_file(&socket));
        }
        // Only if it is empty: other content is not ours.
        drop(fs::remove_dir(&temp_dir));
    }
}

fn bind_in(temp_dir: &Path, path: &Path) -> io::Result<(UnixListener, u64)> {
    fs::set_permissions(temp_dir, Permissions::from_mode(0o700))?;
    let socket = temp_dir.join("s");
    let listener = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
    let inode = fs::symlink_metadata(&socket)?.ino();
    fs::rename(&socket, path)?;
    Ok((listener, inode))
}
