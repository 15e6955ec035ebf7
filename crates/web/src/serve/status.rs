//! The dot that shows the status of a session.

use maud::{Markup, html};
use sessile::status::{Activity, Status};
use sessile::time::Timestamp;

/// What a status means, for readers.
fn words(status: Status) -> &'static str {
    match status {
        Status::Working => "Working",
        Status::Waiting => "Waiting for you",
        Status::Quiet => "Busy, nothing written for a while",
        Status::Stopped => "Stopped before the end",
    }
}

/// The status now, and those that follow, as `[[word, milliseconds, meaning], …]`. The script only follows it, so that
/// the rules are in one place.
pub(crate) fn course(activity: Activity, now: Timestamp) -> String {
    let steps = activity.course(now);
    let step = |(wait, status): &(std::time::Duration, Status)| {
        format!("[\"{}\",{},\"{}\"]", status.word(), wait.as_millis(), words(*status))
    };
    format!("[{}]", steps.iter().map(step).collect::<Vec<_>>().join(","))
}

/// A dot for the status of a session.
pub(crate) fn dot(activity: Activity, now: Timestamp) -> Markup {
    let status = activity.status(now);
    html! {
        span.dot role="img" aria-label=(words(status)) title=(words(status)) data-status=(status.word()) data-course=(course(activity, now)) {}
    }
}
