//! Secrets in the conversation: a scan on request, findings above their entries, and the way from one to the next.

use super::Reader;
use super::job::{ReaderJob, SCAN};
use crate::paint::Line;
use crate::screen::{Effects, Lane};
use crate::secrets::{SecretsParts, SecretsScreen};

impl SecretsScreen for Reader {
    const SCAN: Lane = SCAN;

    fn scan_job() -> ReaderJob {
        ReaderJob::ScanSecrets
    }

    fn secrets_parts(&mut self) -> SecretsParts<'_> {
        let Self { secrets, status, keymap, now, .. } = self;
        SecretsParts { secrets, status, keymap, now: *now }
    }

    fn go_to_secret(&mut self, is_down: bool) -> Effects<Self> {
        // Near the end, the last one may not be at the top.
        let (at, n_rows) = (self.current_secret.unwrap_or(self.top.0), self.rows.len());
        let first = usize::from(self.current_secret.is_some());
        let order = first..n_rows + first;
        let mut order = order.map(|step| if is_down { at + step } else { at + n_rows - step % n_rows } % n_rows);
        let Some(item) = order.find(|item| self.secrets.has(self.rows[*item])) else {
            let text = self.secrets.out_of_reach("on other branches");
            self.secrets_parts().show(text);
            return Vec::new();
        };
        let effects = self.move_to((item, 0));
        self.current_secret = Some(item);
        let text = self.secrets.place(self.rows[item]);
        self.secrets_parts().show(text);
        effects
    }
}

impl Reader {
    /// Returns the findings of an entry, which stand above its lines.
    pub(super) fn details(&self, item: usize) -> Vec<Line> {
        let width = self.area().width.into();
        self.rows.get(item).map(|row| self.secrets.details(*row, width)).unwrap_or_default()
    }

    pub(super) fn n_details(&self, item: usize) -> usize {
        self.rows.get(item).map_or(0, |row| self.secrets.n_details(*row))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::job::ReaderBackend;
    use super::*;
    use crate::driver::Driver;
    use crate::keymap::Keymap;
    use crate::secrets::Scanned;
    use crate::testing::{SECRET_PART, planted};

    fn reader(skips: fn(&ReaderJob) -> bool) -> (tempfile::TempDir, Driver<Reader>) {
        let dir = tempfile::tempdir().unwrap();
        let (sessions, path) = planted(dir.path());
        let driver = Driver::new(Reader::new(Arc::new(Keymap::default())), ReaderBackend::new(sessions, path), skips);
        (dir, driver)
    }

    fn foot(driver: &Driver<Reader>) -> String {
        driver.lines().pop().unwrap_or_default()
    }

    #[test]
    fn findings_stand_above_their_entries() {
        let (_dir, mut driver) = reader(|_| false);
        assert!(!driver.lines().join("\n").contains("[secret]"), "nothing is scanned before the user asks");
        driver.press("g s");
        let shown = driver.lines();
        let at = shown.iter().position(|line| line.starts_with("[secret] certain groq-key gsk_…(52)")).unwrap();
        assert!(shown[at + 1].starts_with("[secret] certain"), "two values: {shown:#?}");
        assert!(!shown[at].contains(SECRET_PART) && !shown[at + 1].contains(SECRET_PART));
        assert!(shown.join("\n").contains("first gsk_"), "{shown:#?}");
        assert!(foot(&driver).contains("secret 1/3: certain groq-key"), "{}", foot(&driver));
        driver.press("s");
        assert!(foot(&driver).contains("secret 3/3: "), "the second one is on another branch: {}", foot(&driver));
        driver.press("s");
        assert!(foot(&driver).contains("secret 1/3: "), "{}", foot(&driver));
        driver.press("shift+s");
        assert!(foot(&driver).contains("secret 3/3: "), "{}", foot(&driver));
    }

    #[test]
    fn a_small_screen_reaches_each_entry() {
        let (_dir, mut driver) = reader(|_| false);
        driver.resize(40, 6).press("g s");
        assert!(driver.lines()[1].starts_with("[secret] certain"), "{:#?}", driver.lines());
        driver.press("j j");
        assert!(driver.lines()[1].contains("first") || driver.lines()[2].contains("first"), "{:#?}", driver.lines());
    }

    #[test]
    fn a_scan_can_be_stopped_and_an_empty_result_is_not_a_proof() {
        let (_dir, mut driver) = reader(|job| matches!(job, ReaderJob::ScanSecrets));
        driver.press("s");
        assert!(foot(&driver).contains("Looking for secrets … escape stops"), "{}", foot(&driver));
        driver.press("escape");
        assert!(driver.outcome.is_none() && foot(&driver).contains("Stopped"), "{}", foot(&driver));
        driver.press("s");
        let found = std::sync::Arc::default();
        driver.send(crate::screen::Event::Job(super::super::job::ReaderEvent::Scanned(Scanned::Found(found))));
        assert!(foot(&driver).contains("No secrets found; this is not a proof"), "{}", foot(&driver));
    }
}
