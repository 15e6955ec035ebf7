//! The names of the user and the host, which copies from level `paths` on replace.

use std::path::Path;

use sessile_redact::{Level, NameKind, Names, TooManyNames, is_common_name};
use sessile_store::os::Os;
use sessile_store::read_whole;

use crate::environment::Environment;

/// The names to replace at a level: the user's own words, and those of this machine.
pub(super) fn names(
    environment: &dyn Environment,
    os: &dyn Os,
    level: Level,
    also: &[String],
) -> Result<Names, TooManyNames> {
    let mut names = Names::new();
    for word in also {
        names.add_word(NameKind::Word, word)?;
    }
    if level < Level::Paths {
        return Ok(names);
    }
    let mut add = |kind, name: &str| {
        if is_common_name(name) { Ok(()) } else { names.add_word(kind, name) }
    };
    for variable in ["USER", "LOGNAME", "USERNAME"] {
        add(NameKind::User, environment.variable(variable).unwrap_or_default().trim())?;
    }
    let home = environment.home();
    add(NameKind::User, &home.file_name().unwrap_or_default().to_string_lossy())?;
    let saved = read_whole(os, Path::new("/etc/hostname"), 256).unwrap_or_default();
    let saved = String::from_utf8_lossy(&saved).into_owned();
    for variable in ["HOSTNAME", "HOST", "COMPUTERNAME"] {
        add(NameKind::Host, environment.variable(variable).unwrap_or_default().trim())?;
    }
    add(NameKind::Host, saved.trim())?;
    Ok(names)
}
