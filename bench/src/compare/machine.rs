//! Describes the machine without identifying its owner.

use std::fs::read_to_string;

/// Returns processor, cores, memory, file system and operating system, as far as they are known.
#[expect(clippy::disallowed_methods, reason = "not part of the product")]
pub(super) fn describe() -> String {
    let cpu = read_to_string("/proc/cpuinfo").ok();
    let cpu = cpu.as_deref().and_then(|text| value(text, "model name")).unwrap_or("unknown processor").to_owned();
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = read_to_string("/proc/meminfo").ok();
    let memory_kb = memory.as_deref().and_then(|text| value(text, "MemTotal")?.split(' ').next()?.parse().ok());
    let memory_kb: f64 = memory_kb.unwrap_or_default();
    let system = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // Only major and minor: the rest is the patch level and the build.
    let system: Vec<&str> = system.trim().split(['.', '-']).take(2).collect();
    format!("{n_cores} cores ({cpu}), {:.1} GiB of memory, Linux {}", memory_kb / 1024.0 / 1024.0, system.join("."))
}

fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}
