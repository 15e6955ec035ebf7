//! Branches of a session: going back, forking, and what was left.

pub use crate::compose::BranchSummary;
pub use crate::event::payload::ForkPosition;
pub use crate::host::ForkedSession;
pub use crate::manager::{
    FinishedNavigation, ForkLinks, ForkMessage, Forked, LeftBranch, NavigateOptions, Navigated, NavigationPlan,
    TreeNode,
};
