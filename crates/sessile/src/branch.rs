//! Branches of a session: going back, forking, and what was left.

pub use crate::manager::{
    BranchSummary, FinishedNavigation, ForkLinks, ForkMessage, ForkPosition, Forked, LeftBranch, NavigateOptions,
    Navigated, NavigationPlan, TreeNode,
};
