//! Counts the instructions of every path: gungraun runs the program `counts` under callgrind.

#[path = "../src/names.rs"]
mod names;

use gungraun::{
    Bench, BinaryBenchmark, BinaryBenchmarkConfig, BinaryBenchmarkGroup, Callgrind, Command, EntryPoint,
    binary_benchmark_group, main,
};

/// Adds a benchmark for each path. The variables come from `cargo xtask bench counts`.
fn add_paths(group: &mut BinaryBenchmarkGroup) {
    let folder = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let (fixtures, work) = (folder("COUNTS_FIXTURES"), folder("COUNTS_WORK"));
    for name in names::NAMES {
        let command = Command::new(env!("CARGO_BIN_EXE_counts")).args(["run", name, &fixtures, &work]).build();
        let id = name.replace('-', "_");
        let mut benchmark = BinaryBenchmark::new(id.as_str());
        benchmark.bench(Bench::new("run").command(command));
        group.binary_benchmark(benchmark);
    }
}

binary_benchmark_group!(name = paths, benchmarks = |group: &mut BinaryBenchmarkGroup| add_paths(group));

// The region that `measure` runs, and all of every thread: callgrind toggles each thread on its own.
main!(
    config = BinaryBenchmarkConfig::default().tool(
        Callgrind::with_args(["--cache-sim=no", "--toggle-collect=*thread_start*"])
            .entry_point(EntryPoint::Custom("*measured_region*".to_owned()))
    ),
    binary_benchmark_groups = paths
);
