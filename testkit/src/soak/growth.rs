//! Judges whether a series of samples grows without bound.

/// What counts as growth in a series.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// The growth that is always allowed, in the unit of the series: noise of an allocator, a cached connection.
    pub floor: f64,
    /// The growth that is allowed relative to the early level.
    pub share: f64,
}

/// The judgement of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The median of the first third, after warming up.
    pub early: f64,
    /// The median of the last third.
    pub late: f64,
    /// Growth per hour: the slope of the least-squares line, after warming up.
    pub per_hour: f64,
    /// The outcome.
    pub verdict: Verdict,
}

/// Whether a series grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not, or it has stopped growing.
    Bounded,
    /// It grew by more than allowed, and was still growing at the end.
    Unbounded,
    /// There are too few samples.
    Unknown,
}

/// The part of a run that is ignored: programs start, caches fill.
const WARM_UP: f64 = 0.25;
/// A series is not judged with fewer samples than this in each third.
const MIN_SAMPLES: usize = 4;
/// A series that grew in its second half by less than this share of the growth in its first half is settling. A straight
/// line has 1.
const SETTLING: f64 = 0.6;

/// Judges samples of `(seconds, value)`, oldest first. `allowed` is the growth of what the series may follow: 1 for
/// nothing, 2 for a store that has doubled.
pub fn judge(samples: &[(f64, f64)], tolerance: Tolerance, allowed: f64) -> Growth {
    let begin = samples.first().map_or(0.0, |(at, _)| *at);
    let end = samples.last().map_or(0.0, |(at, _)| *at);
    let warm = begin + (end - begin) * WARM_UP;
    let samples: Vec<(f64, f64)> = samples.iter().filter(|(at, _)| *at >= warm).copied().collect();
    let third = |n: usize| {
        let (from, to) = (samples.len() * n / 3, samples.len() * (n + 1) / 3);
        median(samples[from..to].iter().map(|(_, value)| *value).collect())
    };
    let (early, middle, late) = (third(0), third(1), third(2));
    let per_hour = slope(&samples) * 3600.0;
    let limit = early * allowed.max(1.0) * (1.0 + tolerance.share) + tolerance.floor;
    let is_settling = late - middle < SETTLING * (middle - early);
    let verdict = if samples.len() < 3 * MIN_SAMPLES {
        Verdict::Unknown
    } else if late > limit && !is_settling {
        Verdict::Unbounded
    } else {
        Verdict::Bounded
    };
    Growth { early, late, per_hour, verdict }
}

/// Returns the median, or zero if there is none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the slope of the least-squares line.
#[expect(clippy::cast_precision_loss, reason = "a count of samples")]
fn slope(samples: &[(f64, f64)]) -> f64 {
    let n = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / n;
    let (at, value) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let along: f64 = samples.iter().map(|sample| (sample.0 - at) * (sample.1 - value)).sum();
    let spread: f64 = samples.iter().map(|sample| (sample.0 - at).powi(2)).sum();
    if spread > 0.0 { along / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix;

    const MEMORY: Tolerance = Tolerance { floor: 4.0, share: 0.2 };

    /// Returns a series of an hour with a sample every ten seconds and noise of ±1.
    fn series(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut random = SplitMix::new(7);
        (0..360_u32)
            .map(|n| {
                let at = f64::from(n) * 10.0;
                (at, value(at) + f64::from(u32::try_from(random.below(2000)).unwrap()) / 1000.0 - 1.0)
            })
            .collect()
    }

    fn verdict(value: impl Fn(f64) -> f64) -> Verdict {
        judge(&series(value), MEMORY, 1.0).verdict
    }

    #[test]
    fn leaks_are_found() {
        assert_eq!(verdict(|at| 20.0 + at / 100.0), Verdict::Unbounded, "36 MB an hour");
        assert_eq!(verdict(|at| 5.0 + at / 300.0), Verdict::Unbounded, "12 MB an hour");
        assert_eq!(verdict(|at| 20.0 + (at / 600.0).floor() * 5.0), Verdict::Unbounded, "in steps");
        assert_eq!(verdict(|at| 20.0 + (at / 1000.0).powi(2) * 3.0), Verdict::Unbounded, "faster and faster");
        let saw = |at: f64| 20.0 + at / 100.0 + (at % 300.0) / 60.0;
        assert_eq!(verdict(saw), Verdict::Unbounded, "with a cache that is emptied now and then");
    }

    #[test]
    fn flat_and_settling_series_pass() {
        assert_eq!(verdict(|_| 20.0), Verdict::Bounded);
        assert_eq!(verdict(|at| 20.0 + 30.0 * (1.0 - (-at / 600.0).exp())), Verdict::Bounded, "a cache that fills");
        assert_eq!(verdict(|at| if at < 600.0 { 5.0 } else { 50.0 }), Verdict::Bounded, "warming up");
        assert_eq!(verdict(|at| 20.0 + (at % 600.0) / 60.0), Verdict::Bounded, "a saw");
        assert_eq!(verdict(|at| 20.0 + at / 3600.0), Verdict::Bounded, "below the tolerance");
        assert_eq!(verdict(|at| 80.0 - at / 100.0), Verdict::Bounded, "shrinking");
    }

    #[test]
    fn a_series_may_grow_with_what_it_follows() {
        let grown = series(|at| 20.0 + at / 100.0);
        assert_eq!(judge(&grown, MEMORY, 2.5).verdict, Verdict::Bounded);
        assert_eq!(judge(&grown, MEMORY, 0.1).verdict, Verdict::Unbounded, "a shrinking store excuses nothing");
    }

    #[test]
    fn few_samples_are_not_judged() {
        assert_eq!(judge(&series(|at| at)[..10], MEMORY, 1.0).verdict, Verdict::Unknown);
        assert_eq!(judge(&[], MEMORY, 1.0).verdict, Verdict::Unknown);
    }

    #[test]
    fn the_slope_is_per_hour() {
        let growth = judge(&series(|at| 20.0 + at / 100.0), MEMORY, 1.0);
        assert!((growth.per_hour - 36.0).abs() < 1.0, "{growth:?}");
        assert!(growth.early < growth.late, "{growth:?}");
    }
}
