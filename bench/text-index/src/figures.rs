//! Times, memory and ratios.

use std::fs;
use std::path::Path;

use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::Failure;

/// Returns the value below which this part of the sorted values lies.
pub fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let place = ((values.len() as f64 - 1.0) * part).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// The processor time of this process in milliseconds, with that of its threads.
pub fn cpu_ms(who: UsageWho) -> Result<f64, Failure> {
    let usage = getrusage(who)?;
    let ms = |time: nix::sys::time::TimeVal| {
        use nix::sys::time::TimeValLike;
        time.num_microseconds() as f64 / 1e3
    };
    Ok(ms(Usage::user_time(&usage)) + ms(usage.system_time()))
}

/// The most memory that this process ever had, in megabytes.
pub fn peak_mb() -> Result<f64, Failure> {
    Ok(getrusage(UsageWho::RUSAGE_SELF)?.max_rss() as f64 / 1e3)
}

/// The size of all files below a folder.
pub fn size_of(folder: &Path) -> Result<u64, Failure> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        size += if meta.is_dir() { size_of(&entry.path())? } else { meta.len() };
    }
    Ok(size)
}

/// All files below a folder, in order.
pub fn files_of(folder: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_of(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for file in files_of(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::copy(file, target)?;
    }
    Ok(())
}

/// A number with as many digits as it needs.
pub fn short(value: f64) -> String {
    match value {
        value if value.is_nan() => "–".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A generator of numbers that gives the same ones in each run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound.max(1)
    }
}
