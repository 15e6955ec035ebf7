//! Failures that all summarizers share.

use sessile_core::compaction::SummaryFailure;

/// Returns the failure for a setting that is missing or unusable.
pub(crate) fn not_configured(what: &str) -> SummaryFailure {
    SummaryFailure::NotConfigured { what: what.to_owned() }
}
