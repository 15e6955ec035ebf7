//! Titles.

use sessile::json::{Json, ObjectWriter};
use sessile::title::{TitleOutcome, Titled};

/// What became of some sessions, as one operation.
pub fn titled(titled: &[Titled], operation: Option<&str>, dry_run: bool) -> Json {
    let sessions: Vec<Json> = titled.iter().map(session).collect();
    let mut json = ObjectWriter::new();
    if dry_run {
        json.bool("dryRun", true);
    }
    if let Some(operation) = operation {
        json.string("operation", operation);
    }
    json.array("sessions", sessions.iter().map(Json::raw)).finish()
}

fn session(titled: &Titled) -> Json {
    let mut json = ObjectWriter::new();
    json.string("path", &titled.path.to_string_lossy()).string("id", titled.id.as_str());
    json.string("outcome", word(&titled.outcome));
    if let Some(before) = &titled.before {
        json.string("before", before);
    }
    match &titled.outcome {
        TitleOutcome::Titled { name, by } => {
            json.string("name", name).string("by", by.word());
        }
        TitleOutcome::Restored { name: Some(name) } => {
            json.string("name", name);
        }
        _ => {}
    }
    if let Some(reason) = &titled.model_failure {
        json.string("modelFailure", reason);
    }
    json.finish()
}

fn word(outcome: &TitleOutcome) -> &'static str {
    match outcome {
        TitleOutcome::Titled { .. } => "titled",
        TitleOutcome::Restored { .. } => "restored",
        TitleOutcome::OfUser => "named",
        TitleOutcome::Same => "same",
        TitleOutcome::TooEarly => "tooEarly",
    }
}
