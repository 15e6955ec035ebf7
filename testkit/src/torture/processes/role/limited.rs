//! Roles of processes with limits of their own.

use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use sessile::{SessionError, Sessions};

use super::{AckPipe, message, open, program, write_options};

/// Appends while files cannot grow, and again once they can.
pub(super) fn append_beyond_limit(path: &Path) {
    let mut acks = AckPipe::new();
    let mut session = open(path, write_options("buffered")).unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(8192), maximum }).unwrap();
    for _ in 0..20 {
        let full = match session.append_message(message(2000)) {
            Err(SessionError::Store(error)) => error.is_disk_full(),
            result => {
                acks.report(result);
                continue;
            }
        };
        acks.write_line(if full { "!full" } else { "!some other error" });
    }
    setrlimit(Resource::Fsize, Rlimit { current: maximum, maximum }).unwrap();
    acks.report(session.append_message(message(2000)));
}

/// Lists more sessions than it may open files.
pub(super) fn list(directory: &Path) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(32), maximum: Some(32) }).unwrap();
    let listed = Sessions::default().with_session_dir(directory).list_all();
    AckPipe::new().report(listed.map(|sessions| sessions.len()));
}

/// Creates every kind of file under a umask.
pub(super) fn create_under_umask(directory: &Path, mask: &str) {
    umask(Mode::from_raw_mode(u32::from_str_radix(mask, 8).unwrap()));
    program(directory);
}
