//! `cargo xtask dist`: what users install, with the same bytes at every build.
//!
//! For each target there is an archive with the program, its manual pages, completions and licences, and on Linux a
//! Debian package. Nothing in them depends on the time, the place or the user of the build: times are those of the commit,
//! paths are mapped, owners and modes are fixed, and names are sorted.

mod archive;
mod debian;
mod licences;

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::{Failure, TaskResult, node, tools};

/// A platform.
struct Target {
    triple: &'static str,
    /// The system that can link for it, besides itself.
    linked_on: &'static str,
    /// The compiler and linker for C code, and the Debian package that has it. On the system itself, the usual one.
    compiler: Option<(&'static str, &'static str)>,
    /// The name of its processor in Debian packages, if it has one.
    debian: Option<&'static str>,
}

/// A new platform is a row. The standard libraries of Linux are those of musl, linked statically, so that the programs need
/// no library of the system.
const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        linked_on: "linux",
        compiler: Some(("musl-gcc", "musl-tools")),
        debian: Some("amd64"),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        linked_on: "linux",
        compiler: Some(("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")),
        debian: Some("arm64"),
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        linked_on: "linux",
        compiler: Some(("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")),
        debian: None,
    },
    Target { triple: "aarch64-apple-darwin", linked_on: "macos", compiler: None, debian: None },
    Target { triple: "x86_64-apple-darwin", linked_on: "macos", compiler: None, debian: None },
];

/// What is built without `--target`.
const DEFAULT: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// What to do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    targets: Vec<String>,
    /// Build once more, from a clean checkout elsewhere, and compare the bytes.
    is_compared: bool,
}

impl Options {
    fn read(args: &[String]) -> TaskResult<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match (arg.as_str(), args.as_slice().first()) {
                ("--target", Some(triple)) => {
                    find(triple)?;
                    options.targets.push(triple.clone());
                    args.next();
                }
                ("--compare", _) => options.is_compared = true,
                _ => return Err(Failure(format!("takes --target TRIPLE and --compare, got `{arg}`"))),
            }
        }
        if options.targets.is_empty() {
            options.targets = DEFAULT.map(str::to_owned).to_vec();
        }
        Ok(options)
    }
}

fn find(triple: &str) -> TaskResult<&'static Target> {
    TARGETS.iter().find(|target| target.triple == triple).ok_or_else(|| {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
        Failure(format!("no target {triple}; there are {}", known.join(", ")))
    })
}

impl Target {
    fn program(&self) -> &'static str {
        if self.triple.contains("windows") { "sessile.exe" } else { "sessile" }
    }

    /// Whether this machine can run its programs.
    fn runs_here(&self) -> bool {
        self.triple.starts_with(std::env::consts::ARCH) && self.triple.contains(std::env::consts::OS)
    }
}

/// The sources and their facts.
struct Release {
    root: PathBuf,
    /// Where archives and intermediate results go.
    output: PathBuf,
    version: String,
    commit: String,
    /// The time of the commit, in seconds since 1970.
    time: String,
}

pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    let options = Options::read(args)?;
    let output = node::target_dir(root).join("dist");
    let release = Release::read(root, output)?;
    if options.is_compared && release.commit.ends_with(MODIFIED) {
        return Err(Failure("--compare builds the last commit again; commit your changes first".to_owned()));
    }
    let sums = release.build(&options.targets)?;
    if options.is_compared {
        compare(&release, &options.targets, &sums)?;
    }
    print!("{sums}");
    println!("{}", release.output.display());
    Ok(())
}

/// The end of the commit of a checkout with changes.
const MODIFIED: &str = "-modified";

impl Release {
    fn read(root: &Path, output: PathBuf) -> TaskResult<Self> {
        let git = |args: &[&str]| command::program("git").dir(root).args(args).output();
        let mut commit = git(&["rev-parse", "HEAD"])?;
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            println!("the checkout has changes that are not committed: the archives are not those of a release");
            commit.push_str(MODIFIED);
        }
        let version = version(&crate::manifest(root)?)?;
        Ok(Self { root: root.to_path_buf(), output, version, commit, time: git(&["log", "-1", "--format=%ct"])? })
    }

    /// Builds everything for these targets, and returns the checksums.
    fn build(&self, triples: &[String]) -> TaskResult<String> {
        fs::create_dir_all(&self.output).map_err(|error| failed("create", &self.output, &error))?;
        let mut names = Vec::new();
        let documents = self.documents()?;
        for triple in triples {
            let target = find(triple)?;
            let Some(program) = self.compile(target)? else { continue };
            let tree = self.stage(target, &program, &documents)?;
            names.push(archive::write(&self.output, &tree, &self.time, target.triple.contains("windows"))?);
            if let Some(processor) = target.debian {
                let package = debian::write(self, processor, &tree)?;
                debian::test(self, &package, target.runs_here())?;
                names.push(package);
            }
        }
        names.sort();
        let sums = command::program("sha256sum").dir(&self.output).args(&names).output()? + "\n";
        write(&self.output.join("SHA256SUMS"), &sums)?;
        Ok(sums)
    }

    /// Compiles the program for a target. Returns `None`, with a message, if this machine cannot.
    fn compile(&self, target: &Target) -> TaskResult<Option<PathBuf>> {
        if target.linked_on != std::env::consts::OS {
            println!("SKIPPED {}: it is linked on {} only", target.triple, target.linked_on);
            return Ok(None);
        }
        if !has_standard_library(&self.root, target.triple)? {
            println!("SKIPPED {0}: no standard library; `rustup target add {0}` installs it", target.triple);
            return Ok(None);
        }
        let build = self.output.join("build");
        let mut cargo = command::cargo(&self.root)
            .args(["build", "--release", "--locked", "--package", "sessile-cli", "--target", target.triple])
            .args(["--target-dir".as_ref(), build.as_os_str()])
            .env("SESSILE_COMMIT", &self.commit)
            .env("SOURCE_DATE_EPOCH", &self.time)
            .without_env("CARGO_ENCODED_RUSTFLAGS");
        if let Some((compiler, packages)) = target.compiler {
            let packages: Vec<&str> = packages.split(' ').collect();
            tools::require_packages(&format!("{compiler} is needed"), &packages, || tools::is_on_path(compiler))?;
            let name = target.triple.replace('-', "_");
            cargo = cargo.env(&format!("CC_{name}"), compiler);
            // musl-gcc would mix its start files with those of Rust's own musl.
            if compiler != "musl-gcc" {
                cargo = cargo.env(&format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), compiler);
            }
        }
        let maps = self.path_maps(&build)?;
        let flags: Vec<String> = maps.iter().map(|map| format!("--remap-path-prefix={map}")).collect();
        let c_flags: Vec<String> = maps.iter().map(|map| format!("-ffile-prefix-map={map}")).collect();
        cargo.env("RUSTFLAGS", flags.join(" ")).env("CFLAGS", c_flags.join(" ")).run()?;
        Ok(Some(build.join(target.triple).join("release").join(target.program())))
    }

    /// Returns what the paths of this machine are called in programs. Of several that fit, compilers take the last.
    fn path_maps(&self, build: &Path) -> TaskResult<Vec<String>> {
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let sysroot = command::program("rustc").dir(&self.root).args(["--print", "sysroot"]).output()?;
        let mut maps = vec![format!("{}=/rust", sysroot), format!("{}=/sessile", self.root.display())];
        maps.extend(cargo_home.map(|home| format!("{}=/cargo", home.display())));
        maps.push(format!("{}=/build", build.display()));
        Ok(maps)
    }

    /// Writes manual pages and completions with a program for this machine, and returns their folder.
    fn documents(&self) -> TaskResult<PathBuf> {
        let native = TARGETS.iter().find(|target| target.runs_here());
        let native = native.ok_or_else(|| Failure("there is no target for this machine".to_owned()))?;
        let program = self.compile(native)?.ok_or_else(|| Failure("cannot build for this machine".to_owned()))?;
        let documents = self.output.join("documents");
        recreate(&documents)?;
        // An own home, so that no setting of the user has an effect.
        let sessile = |args: &[&str]| {
            command::program(&program).dir(&documents).args(args).env("HOME", &documents).env("NO_COLOR", "1")
        };
        sessile(&["man", "--dir", "man1"]).output()?;
        for (shell, name) in COMPLETIONS {
            write(&documents.join(name), &(sessile(&["completions", shell]).output()? + "\n"))?;
        }
        licences::write(&self.root, native.triple, &documents.join("THIRD-PARTY.md"))?;
        Ok(documents)
    }

    /// Puts the files of an archive into a folder of the archive's name.
    fn stage(&self, target: &Target, program: &Path, documents: &Path) -> TaskResult<PathBuf> {
        let tree = self.output.join("trees").join(format!("sessile-{}-{}", self.version, target.triple));
        recreate(&tree)?;
        copy(program, &tree.join(target.program()))?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
            copy(&self.root.join(name), &tree.join(name))?;
        }
        copy(&documents.join("THIRD-PARTY.md"), &tree.join("THIRD-PARTY.md"))?;
        for (_, name) in COMPLETIONS {
            copy(&documents.join(name), &tree.join("completions").join(name))?;
        }
        for page in files_of(&documents.join("man1"))? {
            copy(&page, &tree.join("man/man1").join(page.file_name().unwrap_or_default()))?;
        }
        Ok(tree)
    }
}

/// The shells, and the names under which they look for completions.
const COMPLETIONS: [(&str, &str); 4] =
    [("bash", "sessile.bash"), ("zsh", "_sessile"), ("fish", "sessile.fish"), ("powershell", "_sessile.ps1")];

/// Builds the same commit elsewhere, and fails if any byte differs.
fn compare(release: &Release, triples: &[String], sums: &str) -> TaskResult {
    // Of another length, so that a path that is not mapped moves what follows it.
    let elsewhere = std::env::temp_dir().join(format!("sessile-dist-again-{}", std::process::id()));
    let git = |args: &[&str]| command::program("git").dir(&release.root).args(args);
    let place = elsewhere.to_string_lossy().into_owned();
    git(&["worktree", "add", "--quiet", "--detach", &place, "HEAD"]).run()?;
    let again = Release::read(&elsewhere, elsewhere.join("out")).and_then(|again| again.build(triples));
    git(&["worktree", "remove", "--force", &place]).run()?;
    let again = again?;
    if again == sums {
        println!("a second build, from a fresh checkout in another folder, has the same bytes");
        return Ok(());
    }
    Err(Failure(format!("the second build differs:\n{sums}\n{again}")))
}

/// Whether the compiler has the standard library of a target.
fn has_standard_library(root: &Path, triple: &str) -> TaskResult<bool> {
    let place = command::program("rustc").dir(root).args(["--print", "target-libdir", "--target", triple]).output()?;
    Ok(files_of(Path::new(&place)).is_ok_and(|files| !files.is_empty()))
}

/// Returns the version of the workspace.
fn version(manifest: &str) -> TaskResult<String> {
    let (_, package) = manifest.split_once("[workspace.package]").unwrap_or_default();
    let line = package.lines().find_map(|line| line.strip_prefix("version = "));
    line.map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| Failure("Cargo.toml has no version of the workspace".to_owned()))
}

/// Returns the files of a folder, sorted.
fn files_of(folder: &Path) -> TaskResult<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    Ok(files)
}

fn recreate(folder: &Path) -> TaskResult {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed("remove", folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))
}

fn copy(from: &Path, to: &Path) -> TaskResult {
    let parent = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(parent).and_then(|()| fs::copy(from, to));
    copied.map(drop).map_err(|error| failed("copy", from, &error))
}

fn write(path: &Path, text: &str) -> TaskResult {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).and_then(|()| fs::write(path, text)).map_err(|error| failed("write", path, &error))
}

fn read(path: &Path) -> TaskResult<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot {what} {}: {error}", path.display()))
}

/// A tool with the environment that makes its output the same everywhere.
fn reproducible(name: &str) -> Task {
    command::program(name).env("LC_ALL", "C").env("TZ", "UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let read = |words: &str| Options::read(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(Options::read(&[]).unwrap().targets, DEFAULT);
        let windows = read("--target x86_64-pc-windows-gnu --compare").unwrap();
        assert_eq!((windows.targets, windows.is_compared), (vec!["x86_64-pc-windows-gnu".to_owned()], true));
        assert!(read("--target pdp-11").unwrap_err().0.contains("there are x86_64-unknown-linux-musl"));
        assert!(read("--target").is_err());
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(version("[x]\nversion = \"9\"\n[workspace.package]\nversion = \"1.2.3\"\n").unwrap(), "1.2.3");
        assert!(version("[package]\nversion = \"1\"\n").is_err());
        assert_eq!(version(include_str!("../../Cargo.toml")).unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
