//! How a program was built.

use sessile::json::Json;

use super::{object, put_list, put_string};

/// What is known about the build of a program.
#[derive(Clone, Copy, Debug)]
pub struct BuildFacts<'f> {
    /// The version of the package.
    pub version: &'f str,
    /// The commit of the sources; `None` if it is not known.
    pub commit: Option<&'f str>,
    /// The target triple.
    pub target: &'f str,
    /// The profile of the build.
    pub profile: &'f str,
    /// The features that were enabled.
    pub features: &'f [&'f str],
    /// The compiler, as it prints its version.
    pub compiler: &'f str,
    /// The newest version of session files that the program writes.
    pub session_version: u32,
}

/// What `sessile --version --json` prints: `{version, commit?, target, profile, features, compiler, sessionVersion}`.
pub fn build(facts: &BuildFacts<'_>) -> Json {
    object(|out| {
        out.string("version", facts.version);
        put_string(out, "commit", facts.commit);
        out.string("target", facts.target).string("profile", facts.profile);
        put_list(out, "features", facts.features.iter().map(|feature| Json::string(feature)));
        out.string("compiler", facts.compiler).integer("sessionVersion", i64::from(facts.session_version));
    })
}
