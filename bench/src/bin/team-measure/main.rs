//! Measures a team's store beside bare PostgreSQL on the same server: `team-measure DIRECTORY [--small] [--write-docs DIR]`.
//!
//! It starts a server with fsync on in a new directory, and stops it at the end. Pushes, lists, searches and follows go
//! through the program `sessile`, as users run it, appends and pulls through the library. The bare figures come from
//! `pgbench` and `psql`, with the same lines.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints results")]
#![expect(clippy::unwrap_used, reason = "a benchmark panics on failure")]
#![expect(clippy::disallowed_methods, clippy::cast_precision_loss, reason = "not part of the product")]

mod appends;
mod bare;
mod machine;
mod pulls;
mod report;
mod stores;

use std::path::PathBuf;

use sessile::sync::remote::local_server::{self, Options};
use sessile_bench::generate::{Corpus, Plan};

use bare::Bare;
use report::Report;

fn main() {
    let mut folder = PathBuf::from("target");
    let (mut is_small, mut docs) = (false, None);
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--small") => is_small = true,
            Some("--write-docs") => docs = args.next().map(PathBuf::from),
            Some(option) if option.starts_with('-') => {
                println!("usage: team-measure DIRECTORY [--small] [--write-docs DIR]");
                std::process::exit(2);
            }
            _ => folder = arg.into(),
        }
    }
    let corpus = folder.join("bench-corpus");
    let name = if is_small { "store-s" } else { "store-l" };
    let made = Corpus::new(&corpus, Plan::default()).make_named(name).unwrap();
    let dir = tempfile::Builder::new().prefix("team-measure-").tempdir_in(&folder).unwrap();
    // As root, the server runs as another user, which must reach its directory.
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    let dir_path = std::path::absolute(dir.path()).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let server = dir_path.join("server");
    let running = local_server::up(&server, &Options { path: path.clone(), ..Options::default() }).unwrap();
    running.migrate().unwrap();
    let bare = Bare::new(&running);
    let mut report = Report::new(is_small);
    appends::measure(&running.member("writer").unwrap(), &bare, &dir_path, &mut report);
    let store = stores::Store::read(&corpus.join(name), made.bytes);
    store.measure(&running, &bare, &dir_path, &mut report);
    local_server::down(&server, &path).unwrap();
    print!("{report}");
    if let Some(docs) = docs {
        report.write(&docs.join("team.md"));
    }
}
