//! Real storages for the tests: `SeaweedFS`, started once per program, and stopped when the program ends, however it ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

pub(crate) const ACCESS_KEY: &str = "test-access";
pub(crate) const SECRET_KEY: &str = "test-secret-key";

/// A storage that the tests of this program share, or that one of them harms.
pub(crate) struct TestStorage {
    dir: PathBuf,
    /// Those of S3, master, volumes and filer. Each has another one, 10,000 higher.
    ports: [u16; 4],
    process: Mutex<Option<Child>>,
    /// Stops the storage and removes its files when this program ends, because its input ends then.
    _guard: Child,
}

impl TestStorage {
    pub(crate) fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("sessile-storage-").tempdir().unwrap().keep();
        let ports = free_ports();
        let script = "cat > /dev/null; kill -KILL $(cat \"$0/pid\") 2> /dev/null; \
                      for i in 1 2 3 4 5 6 7 8 9; do rm -rf \"$0\" && break; sleep 1; done; \
                      for port; do rm -f /tmp/seaweedfs-*-$port.sock; done";
        let mut guard = Command::new("sh");
        guard.arg("-c").arg(script).arg(&dir);
        guard.args(ports.iter().flat_map(|port| [port.to_string(), (port + 10_000).to_string()]));
        let guard = guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let storage = Self { dir, ports, process: Mutex::new(None), _guard: guard };
        storage.up(&[]);
        // The filer makes buckets and objects without keys.
        let has_made = |method, path| {
            move || request(method, ports[3], path).is_some_and(|answer| answer.starts_with("HTTP/1.1 20"))
        };
        wait("the storage makes no bucket", has_made("POST", "/buckets/bucket/"));
        wait("the storage takes no objects", has_made("PUT", "/buckets/bucket/probe"));
        storage
    }

    /// The storage of all tests that do not harm it.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<TestStorage> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts the process, and waits until it answers.
    pub(crate) fn up(&self, options: &[&str]) {
        let data = self.dir.join("data");
        std::fs::create_dir_all(&data).unwrap();
        let [s3, master, volume, filer] = self.ports;
        let mut weed = Command::new(program());
        weed.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-filer", "-s3"])
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=8", "-master.volumeSizeLimitMB=64"])
            .args([format!("-s3.port={s3}"), format!("-master.port={master}"), format!("-volume.port={volume}")])
            .args([format!("-filer.port={filer}"), format!("-dir={}", data.display())])
            .args(options)
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.dir.join("log")).unwrap());
        let child = weed.spawn().unwrap();
        std::fs::write(self.dir.join("pid"), child.id().to_string()).unwrap();
        *self.process.lock().unwrap() = Some(child);
        wait("the storage does not start", || {
            // The process of another program may have taken a port.
            let mut process = self.process.lock().unwrap();
            let has_ended = process.as_mut().unwrap().try_wait().unwrap();
            assert!(has_ended.is_none(), "{}", std::fs::read_to_string(self.dir.join("log")).unwrap());
            request("GET", s3, "/").is_some() && request("GET", filer, "/").is_some()
        });
    }

    /// Ends the process at once.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap().take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Returns its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Returns the number of objects of large lines below a prefix.
    pub(crate) fn n_objects(&self, prefix: &str) -> usize {
        let answer = request("GET", self.ports[3], &format!("/buckets/bucket/{prefix}/sha256/?limit=1000"));
        answer.unwrap().matches("\"FullPath\"").count()
    }
}

/// Sends a request with a short body, and returns the whole answer.
fn request(method: &str, port: u16, path: &str) -> Option<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let head = "host: localhost\r\naccept: application/json\r\ncontent-length: 1\r\nconnection: close";
    socket.write_all(format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\nx").as_bytes()).ok()?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[track_caller]
fn wait(what: &str, mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < Duration::from_mins(2), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns ports that are free, and whose neighbours 10,000 higher are free, too.
fn free_ports() -> [u16; 4] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let start = u16::try_from(std::process::id() % 1000).unwrap() * 8;
    loop {
        let base = 12_000 + (start + NEXT.fetch_add(4, Ordering::SeqCst)) % 9_000;
        let ports = [base, base + 1, base + 2, base + 3];
        if ports.iter().all(|port| is_free(*port) && is_free(port + 10_000)) {
            return ports;
        }
    }
}

/// The program, which the task runner has installed or installs now.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("SESSILE_WEED") {
            return program.into();
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["run", "--quiet", "--package", "xtask", "--", "storage"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "`cargo xtask storage` failed");
        let printed = String::from_utf8(output.stdout).unwrap();
        PathBuf::from(printed.lines().last().unwrap())
    })
}
