//! Making room in the context: what to cut, summarizers, and compactions that were written.

pub use sessile_core::compaction::*;

pub use crate::manager::{
    CompactOptions, Compacted, Compaction, CompactionPlan, CompactionRecord, CompactionReport, ContextUsage,
    FinishedCompaction, ModelLimits, PlannedCompaction, SuppliedCompaction, UsageNote,
};
