//! What an engine costs those who build the product: time, size, dependencies.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use nix::sys::resource::UsageWho;

use crate::Failure;
use crate::figures::{cpu_ms, short};

/// Builds this program with no engine and with each engine alone, from nothing, and prints a table.
pub fn cost(folder: &Path) -> Result<(), Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    println!("| engine | build s | processor s | program in MB | packages |\n|---|---|---|---|---|");
    for engine in ["", "ours", "tantivy", "fts5"] {
        let target = folder.join(format!("cost-{engine}"));
        if target.exists() {
            std::fs::remove_dir_all(&target)?;
        }
        let mut build = Command::new("cargo");
        build.current_dir(here).args(["build", "--release", "--locked", "--quiet", "--no-default-features"]);
        build.args(["--features", engine]).arg("--target-dir").arg(&target);
        let (start, before) = (Instant::now(), cpu_ms(UsageWho::RUSAGE_CHILDREN)?);
        if !build.status()?.success() {
            return Err(format!("cannot build with `{engine}`").into());
        }
        let (wall, cpu) = (start.elapsed().as_secs_f64(), (cpu_ms(UsageWho::RUSAGE_CHILDREN)? - before) / 1e3);
        let size = target.join("release/text-index").metadata()?.len() as f64 / 1e6;
        let mut tree = Command::new("cargo");
        tree.current_dir(here).args(["tree", "--locked", "--no-default-features", "--edges", "normal,build"]);
        let tree = tree.args(["--prefix", "none", "--format", "{p}", "--features", engine]).output()?;
        let text = String::from_utf8_lossy(&tree.stdout).into_owned();
        let packages: HashSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        let name = if engine.is_empty() { "none" } else { engine };
        println!("| {name} | {} | {} | {} | {} |", short(wall), short(cpu), short(size), packages.len());
        std::fs::remove_dir_all(&target)?;
    }
    Ok(())
}
