//! Checks messages that the user provides as JSON.

use sessile::date::Timestamp;
use sessile::format::head::Role;
use sessile::json::{Edit, Json, Raw, Shape};

use crate::failure::Failure;

/// Checks that a message can be appended: it has a role that pi knows and the fields that pi requires. Adds the time.
pub(super) fn checked(message: Raw<'_>, takes_any_role: bool, now: Timestamp) -> Result<Json, Failure> {
    let role = Role::of(message.get("role"));
    match role {
        Role::None => return Err(Failure::NotAMessage),
        // `hookMessage` is the old name of `custom`.
        Role::Other | Role::HookMessage if !takes_any_role => {
            let role = message.get("role").and_then(Raw::as_string).unwrap_or_default();
            return Err(Failure::UnknownRole { role });
        }
        _ => {}
    }
    let has_content = message.get("content").is_some_and(|it| matches!(it.shape(), Shape::String | Shape::Array));
    if matches!(role, Role::User | Role::Assistant | Role::ToolResult | Role::Custom) && !has_content {
        let role = role.word().unwrap_or_default();
        return Err(Failure::Incomplete { role, missing: "content, a string or an array of blocks" });
    }
    if message.get("timestamp").is_some() {
        return Ok(message.to_json());
    }
    let now = Json::parse(now.as_ms().to_string()).map_err(|source| Failure::NotJson { source })?;
    Ok(message.edited(&[Edit::Set("timestamp", now.raw())]))
}
