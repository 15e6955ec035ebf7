//! Secrets in the tree: a scan on request, and the way from one to the next.

use super::Tree;
use super::job::{SCAN, TreeJob};
use crate::keymap::Action;
use crate::screen::{Effects, Lane};
use crate::secrets::{SecretsParts, SecretsScreen};

impl SecretsScreen for Tree {
    const SCAN: Lane = SCAN;

    fn scan_job() -> TreeJob {
        TreeJob::ScanSecrets
    }

    fn secrets_parts(&mut self) -> SecretsParts<'_> {
        let Self { secrets, status, keymap, now, .. } = self;
        SecretsParts { secrets, status, keymap, now: *now }
    }

    fn go_to_secret(&mut self, is_down: bool) -> Effects<Self> {
        let (from, n_rows) = (self.selected, self.drawing.len());
        let mut order = (1..=n_rows).map(|step| if is_down { from + step } else { from + n_rows - step } % n_rows);
        let Some(row) = order.find(|row| self.has_secret(*row)) else {
            let all = self.keymap.key_name(Action::FilterAll);
            let text = self.secrets.out_of_reach(&format!("that the tree hides ({all} shows all)"));
            self.secrets_parts().show(text);
            return Vec::new();
        };
        let effects = self.move_to(self.folds.position(row));
        self.content_top = 0;
        let text = self.selected_entry().map(|entry| self.secrets.place(entry)).unwrap_or_default();
        self.secrets_parts().show(text);
        effects
    }
}

impl Tree {
    fn has_secret(&self, row: usize) -> bool {
        let entry = self.model.as_ref().and_then(|model| model.rows.get(self.drawing.node(row)));
        entry.is_some_and(|entry| self.secrets.has(*entry))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use sessile::tree::Filter;

    use super::super::backend::TreeBackend;
    use super::*;
    use crate::driver::Driver;
    use crate::keymap::Keymap;
    use crate::screen::Effect;
    use crate::testing::{SECRET_PART, planted};

    fn tree(dir: &Path, skips: fn(&TreeJob) -> bool) -> Driver<Tree> {
        let (sessions, path) = planted(dir);
        let tree = Tree::new(Arc::new(Keymap::default()), Filter::Default, true, 0);
        let mut driver = Driver::new(tree, TreeBackend::new(sessions, path, None), skips);
        driver.resize(160, 30);
        driver
    }

    fn selected(driver: &Driver<Tree>) -> String {
        driver.lines().into_iter().find(|line| line.starts_with('›')).unwrap_or_default()
    }

    #[test]
    fn a_key_scans_marks_entries_and_goes_from_one_to_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = tree(dir.path(), |_| false);
        assert!(!driver.lines().join("\n").contains("[secret]"), "nothing is scanned before the user asks");
        driver.press("alt+home alt+k");
        assert!(selected(&driver).contains("[secret] user: first"), "{:#?}", driver.lines());
        let shown = driver.lines();
        assert_eq!(shown.iter().filter(|line| line.contains("[secret] user:")).count(), 2, "{shown:#?}");
        let details: Vec<&String> = shown.iter().filter(|line| line.contains("[secret] certain")).collect();
        assert_eq!(details.len(), 2, "{shown:#?}");
        for detail in details {
            let detail = detail.split("[secret] certain").last().unwrap();
            assert!(detail.contains("groq-key gsk_…(52)  /message/content"), "{detail}");
            assert!(!detail.contains(SECRET_PART), "{detail}");
        }
        assert!(shown[1].starts_with("secret 1/3: certain groq-key gsk_…(52) and 1 more"), "{}", shown[1]);
        driver.press("alt+k");
        assert!(selected(&driver).contains("another way"), "{:#?}", driver.lines());
        assert!(driver.lines()[1].starts_with("secret 2/3: "), "{:#?}", driver.lines());
        driver.press("alt+k");
        assert!(selected(&driver).contains("first"), "the last is followed by the first");
        driver.press("shift+alt+k");
        assert!(selected(&driver).contains("another way"), "and backwards");
        // Another filter shows the third one.
        driver.press("ctrl+a alt+k alt+k");
        assert!(driver.lines()[1].starts_with("secret 3/3: "), "{:#?}", driver.lines());
    }

    #[test]
    fn entries_that_the_filter_hides_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = tree(dir.path(), |_| false);
        driver.press("the_end alt+k");
        assert!(
            driver.lines()[1].starts_with("4 findings: in 3 entries that the tree hides (ctrl+a shows all)"),
            "{:#?}",
            driver.lines()
        );
    }

    #[test]
    fn a_change_of_the_session_makes_the_next_request_scan_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = tree(dir.path(), |_| false);
        driver.press("alt+k");
        let mut session = driver.backend.sessions.open(&driver.backend.path).unwrap();
        session.append_user_message(format!("new gsk_9{SECRET_PART}Q1aE5uV0iZoXtB7nMyPqRsT").as_str()).unwrap();
        drop(session);
        driver.press("alt+k");
        assert!(driver.lines()[1].contains("/3: "), "{:#?}", driver.lines());
        driver.perform(vec![Effect::Run(TreeJob::Load)]);
        driver.press("alt+k");
        assert!(driver.lines()[1].contains("/4: "), "{:#?}", driver.lines());
    }

    #[test]
    fn a_scan_runs_beside_the_screen_and_can_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = tree(dir.path(), |job| matches!(job, TreeJob::ScanSecrets));
        driver.press("alt+k");
        assert!(driver.lines()[1].starts_with("Looking for secrets … escape stops"), "{:#?}", driver.lines());
        let before = selected(&driver);
        driver.press("up");
        assert_ne!(selected(&driver), before);
        driver.press("escape");
        assert!(driver.lines()[1].starts_with("Stopped looking for secrets"), "{:#?}", driver.lines());
        assert!(driver.outcome.is_none() && !driver.screen.secrets.is_scanning());
        driver.press("escape");
        assert!(driver.outcome.is_some());
    }

    #[test]
    fn a_scan_that_fails_is_not_a_clean_result() {
        let dir = tempfile::tempdir().unwrap();
        let mut driver = tree(dir.path(), |_| false);
        std::fs::remove_file(&driver.backend.path).unwrap();
        driver.press("alt+k");
        assert!(driver.lines()[1].starts_with("Not scanned for secrets: "), "{:#?}", driver.lines());
        assert!(!driver.screen.secrets.is_scanning());
    }
}
