//! The soak: a store that many programs use for hours.
//!
//! `cargo xtask soak [--minutes N] [--seed N] [--every SECONDS] [--only ACTOR,…] [--json]`
#![expect(clippy::print_stderr, reason = "a command-line program")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use sessile_testkit::soak::{Plan, run};

const USAGE: &str = "usage: soak [--minutes N] [--seed N] [--every SECONDS] [--only ACTOR,…] [--sessile PROGRAM] \
                     [--package DIR] [--output DIR] [--disk MEGABYTES] [--json]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(plan) = parse(&args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if !plan.sessile.is_file() {
        eprintln!("soak: there is no {}; `cargo xtask soak` builds it", plan.sessile.display());
        return ExitCode::from(2);
    }
    if run(&plan) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(args: &[String]) -> Option<Plan> {
    let seconds = |text: &String, unit: f64| {
        let number: f64 = text.parse().ok()?;
        (number > 0.0).then(|| Duration::try_from_secs_f64(number * unit).ok())?
    };
    let mut plan = Plan {
        duration: Duration::from_mins(10),
        interval: Duration::from_secs(5),
        seed: 1,
        sessile: std::env::current_exe().ok()?.with_file_name("sessile"),
        package: None,
        output: PathBuf::from("target/soak"),
        disk_megabytes: 1024,
        only: Vec::new(),
        is_json: false,
    };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        match name.as_str() {
            "--minutes" => plan.duration = seconds(args.next()?, 60.0)?,
            "--every" => plan.interval = seconds(args.next()?, 1.0)?,
            "--seed" => plan.seed = args.next()?.parse().ok()?,
            "--only" => plan.only = args.next()?.split(',').map(str::to_owned).collect(),
            "--sessile" => plan.sessile = std::path::absolute(args.next()?).ok()?,
            "--package" => plan.package = Some(std::path::absolute(args.next()?).ok()?),
            "--output" => plan.output = args.next()?.into(),
            "--disk" => plan.disk_megabytes = args.next()?.parse().ok()?,
            "--json" => plan.is_json = true,
            _ => return None,
        }
    }
    Some(plan)
}
