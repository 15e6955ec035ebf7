use sessile::{NewSession, SessionManager, draft};
fn main() {
    let dir = tempfile::tempdir_in("target").unwrap();
    let mut s = SessionManager::create("/proj", Some(dir.path()), NewSession::default()).unwrap();
    let m: sessile::json::Json = draft::AssistantMessage::new("acme", "acme-1", "x".repeat(2048).as_str(), 1).into();
    for _ in 0..3000 {
        s.append_message(m.clone()).unwrap();
    }
}
