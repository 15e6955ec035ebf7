//! Making room in the context: what to cut, summarizers, and compactions that were written.

pub use sessile_core::compaction::*;

pub use crate::compose::{Compaction, UsageNote};
pub use crate::event::reply::SuppliedCompaction;
pub use crate::manager::{
    CompactOptions, Compacted, CompactionPlan, CompactionRecord, CompactionReport, ContextUsage, FinishedCompaction,
    ModelLimits, PlannedCompaction,
};
