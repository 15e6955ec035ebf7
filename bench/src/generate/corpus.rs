//! The named files and stores, generated once and reused.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::needle::Needle;
use super::pool::Pools;
use super::random::Random;
use super::session::{Session, Subject, Written};
use super::shape::{HEAVY, LIGHT, Profile, SMALL, TEXT_ONLY, USUAL};
use super::store::{self, EPOCH_MS, Size};
use super::tree;

/// Changed whenever the same arguments would give other bytes, so that old files are not reused.
const REVISION: u32 = 1;

/// All names.
pub const NAMES: [&str; 11] = [
    "small",
    "tree",
    "tree-million",
    "long-5k",
    "long-50k",
    "v1",
    "giant-128",
    "giant-128-text",
    "store-s",
    "store-l",
    "giant-1800",
];

/// The settings of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The seed of the contents.
    pub seed: u64,
    /// The size factor.
    pub scale: f64,
    /// The parent folder of the working directories of generated sessions.
    pub projects: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self { seed: 1, scale: 1.0, projects: "/proj".to_owned() }
    }
}

/// Why something could not be generated.
#[derive(Debug)]
pub enum CorpusError {
    /// Unknown name.
    Unknown(String),
    /// A write failed.
    Io(PathBuf, io::Error),
}

impl std::fmt::Display for CorpusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "nothing is called `{name}`; there are {}", NAMES.join(", ")),
            Self::Io(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for CorpusError {}

/// A file or store to generate.
#[derive(Clone, Debug)]
pub struct CorpusSpec {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Session { bytes: u64, version: u32, profile: Profile },
    Tree { entries: u64, branches: u64, compactions: u64 },
    ShortTree { entries: u64 },
    Store(Size),
}

impl CorpusSpec {
    /// Returns what a name stands for, at a scale.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of files"
    )]
    pub fn named(name: &str, scale: f64) -> Option<Self> {
        let times = |number: u64| ((number as f64 * scale) as u64).max(1);
        let count = |number: u64| times(number) as usize;
        let session = |bytes, version, profile| Kind::Session { bytes: times(bytes), version, profile };
        // One branch, with the last compaction at 96 % of it, as in real sessions that went on for months.
        let long = |entries| Kind::Tree { entries, branches: 0, compactions: 24 };
        let kind = match name {
            "small" => session(2_000_000, 3, SMALL),
            "tree" => Kind::Tree { entries: times(50_000).max(500), branches: times(200).max(2), compactions: 10 },
            "tree-million" => Kind::ShortTree { entries: times(1_000_000).max(500) },
            "long-5k" => long(times(5_000).max(500)),
            "long-50k" => long(times(50_000).max(500)),
            "v1" => session(50_000_000, 1, USUAL),
            "giant-128" => session(128_000_000, 3, HEAVY),
            "giant-128-text" => session(128_000_000, 3, TEXT_ONLY),
            "giant-1800" => session(1_800_000_000, 3, HEAVY),
            "store-s" => {
                Kind::Store(Size { sessions: count(200).max(10), bytes: times(100_000_000), projects: count(20) })
            }
            "store-l" => {
                Kind::Store(Size { sessions: count(5_000).max(10), bytes: times(1_000_000_000), projects: count(100) })
            }
            _ => return None,
        };
        Some(Self { name: name.to_owned(), kind })
    }

    /// Returns a session of text alone, of any size.
    pub fn session(name: &str, bytes: u64) -> Self {
        Self { name: name.to_owned(), kind: Kind::Session { bytes, version: 3, profile: TEXT_ONLY } }
    }

    /// Returns a tree of any size; one in 250 entries is a branch point.
    pub fn tree(name: &str, entries: u64) -> Self {
        Self { name: name.to_owned(), kind: Kind::Tree { entries, branches: (entries / 250).max(2), compactions: 10 } }
    }

    /// Returns a store of any size, with 50 sessions per project.
    pub fn store(name: &str, sessions: usize, bytes: u64) -> Self {
        let projects = sessions.div_ceil(50);
        Self { name: name.to_owned(), kind: Kind::Store(Size { sessions, bytes, projects }) }
    }
}

/// A generated file or store.
#[derive(Clone, Debug)]
pub struct Made {
    /// The session, or the agent folder whose `sessions` hold the store.
    pub path: PathBuf,
    /// Bytes of all sessions.
    pub bytes: u64,
    /// Lines of all sessions.
    pub lines: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The project with the first session.
    pub cwd: String,
    /// The folder with the sessions of that project.
    pub cwd_folder: PathBuf,
    /// The sessions in which the word was planted.
    pub with_word: Vec<PathBuf>,
    /// The sessions in which the phrase was planted.
    pub with_phrase: Vec<PathBuf>,
}

/// A folder of generated sessions.
#[derive(Debug)]
pub struct Corpus {
    dir: PathBuf,
    plan: Plan,
    pools: OnceLock<Pools>,
}

impl Corpus {
    /// Creates a corpus in a folder, which need not exist yet.
    pub fn new(dir: impl Into<PathBuf>, plan: Plan) -> Self {
        Self { dir: dir.into(), plan, pools: OnceLock::new() }
    }

    /// Generates what a name stands for, unless it already exists.
    pub fn make_named(&self, name: &str) -> Result<Made, CorpusError> {
        let spec = CorpusSpec::named(name, self.plan.scale).ok_or_else(|| CorpusError::Unknown(name.to_owned()))?;
        self.make(&spec)
    }

    /// Generates a file or store, unless it already exists.
    pub fn make(&self, spec: &CorpusSpec) -> Result<Made, CorpusError> {
        let manifest = self.dir.join(format!("{}.manifest.json", spec.name));
        let stamp = json!({
            "revision": REVISION, "seed": self.plan.seed, "projects": self.plan.projects,
            "what": format!("{:?}", spec.kind),
        });
        if let Some(made) = self.find(&manifest, &stamp) {
            return Ok(made);
        }
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |error| CorpusError::Io(path, error)
        };
        fs::create_dir_all(&self.dir).map_err(failed(&self.dir))?;
        let pools = self.pools.get_or_init(|| Pools::new(self.plan.seed));
        let mut manifest_json = if let Kind::Store(size) = spec.kind {
            let path = self.dir.join(&spec.name);
            if path.exists() {
                fs::remove_dir_all(&path).map_err(failed(&path))?;
            }
            self.store(&spec.name, &path, size, pools).map_err(failed(&path))?
        } else {
            let path = self.dir.join(format!("{}.jsonl", spec.name));
            self.session(spec, &path, pools).map_err(failed(&path))?
        };
        manifest_json["stamp"] = stamp.clone();
        let text = format!("{manifest_json:#}\n");
        File::create(&manifest).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed(&manifest))?;
        self.find(&manifest, &stamp).ok_or_else(|| failed(&manifest)(io::ErrorKind::InvalidData.into()))
    }

    /// Returns the result of an earlier run, if it matches.
    fn find(&self, manifest: &Path, stamp: &Value) -> Option<Made> {
        let manifest_json: Value = serde_json::from_reader(File::open(manifest).ok()?).ok()?;
        let path = |value: &Value| value.as_str().map(|path| self.dir.join(path));
        let paths = |value: &Value| value.as_array().map(|list| list.iter().filter_map(path).collect());
        (manifest_json["stamp"] == *stamp).then_some(())?;
        Some(Made {
            path: path(&manifest_json["path"])?,
            bytes: manifest_json["bytes"].as_u64()?,
            lines: manifest_json["lines"].as_u64()?,
            sessions: manifest_json["sessions"].as_u64()?,
            cwd: manifest_json["cwd"].as_str()?.to_owned(),
            cwd_folder: path(&manifest_json["cwdFolder"])?,
            with_word: paths(&manifest_json["withWord"])?,
            with_phrase: paths(&manifest_json["withPhrase"])?,
        })
    }

    fn session(&self, spec: &CorpusSpec, path: &Path, pools: &Pools) -> io::Result<Value> {
        let (version, profile) = match spec.kind {
            Kind::Session { version, profile, .. } => (version, profile),
            Kind::Tree { .. } | Kind::ShortTree { .. } | Kind::Store(_) => (3, LIGHT),
        };
        let cwd = format!("/proj/{}", spec.name);
        let subject = Subject { cwd: &cwd, start_ms: EPOCH_MS, version, profile, has_system: version > 1 };
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let random = Random::new(self.plan.seed, &spec.name, 0);
        let mut session = Session::begin(&mut file, random, pools, subject)?;
        match spec.kind {
            Kind::Tree { entries, branches, compactions } => tree::grow(&mut session, entries, branches, compactions)?,
            Kind::ShortTree { entries } => tree::grow_short(&mut session, entries)?,
            Kind::Session { bytes, .. } => session.fill(bytes, Some(Needle::Word))?,
            Kind::Store(_) => {}
        }
        let written = session.written.clone();
        file.flush()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(manifest_json(&name, 1, &written, &cwd, ""))
    }

    fn store(&self, name: &str, path: &Path, size: Size, pools: &Pools) -> io::Result<Value> {
        let filed = store::write(&path.join("sessions"), self.plan.seed, name, size, &self.plan.projects, pools)?;
        let mut total = Written::default();
        for one in &filed {
            total.bytes += one.written.bytes;
            total.lines += one.written.lines;
            total.messages += one.written.messages;
            total.compactions += one.written.compactions;
        }
        let relative = |path: &Path| path.strip_prefix(&self.dir).unwrap_or(path).to_string_lossy().into_owned();
        let with = |needle| filed.iter().filter(move |one| one.needle == Some(needle));
        let cwd = filed.first().map(|one| one.cwd.as_str()).unwrap_or_default();
        let folder = format!("{name}/sessions/{}", store::folder(cwd));
        let mut manifest_json = manifest_json(name, filed.len(), &total, cwd, &folder);
        manifest_json["withWord"] = with(Needle::Word).map(|one| relative(&one.path)).collect();
        manifest_json["withPhrase"] = with(Needle::Phrase).map(|one| relative(&one.path)).collect();
        Ok(manifest_json)
    }
}

fn manifest_json(path: &str, sessions: usize, written: &Written, cwd: &str, cwd_folder: &str) -> Value {
    json!({
        "path": path, "sessions": sessions, "bytes": written.bytes, "lines": written.lines,
        "messages": written.messages, "compactions": written.compactions,
        "cwd": cwd, "cwdFolder": cwd_folder, "withWord": [], "withPhrase": [],
    })
}
