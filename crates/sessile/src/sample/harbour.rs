//! The sessions of a harbour's website.

use super::stage::{Played, Stage, call};

/// A conversation in several scripts, with wide and combined characters.
pub(super) fn translation(mut stage: Stage) -> Played {
    stage.session.append_session_info("多言語対応 🌊 トップページ")?;
    stage.user(1, "トップページを日本語・한국어・Français に翻訳してください。見出しは「今日の潮汐」です 🙏")?;
    stage.calls(
        6,
        "まず現在の見出しを確認します。",
        call(
            "read",
            r#"{"path":"content/見出し.toml"}"#,
            "title = \"Today's tides\"\nhigh = \"High water\"\nlow = \"Low water\"\n",
        ),
    )?;
    stage.answer(
        9,
        "できました 🎉\n\n- 日本語: 今日の潮汐、満潮、干潮\n- 한국어: 오늘의 조석, 만조, 간조\n- Français : Marées du jour, pleine mer, basse mer\n\n「満潮」は全角二文字なので、表の幅に注意してください ⚠️",
    )?;
    let thanks = stage
        .user(45, "Merci ! Et en arabe : «المد والجزر اليوم» ? Le drapeau 🇫🇷 et l’équipe 👩‍💻👨🏽‍🔧 restent-ils alignés ?")?;
    stage.session.append_label_change(&thanks, Some("質問 ❓"))?;
    stage.answer(7, "نعم: المد والجزر اليوم. The flag takes two columns; the team is shown as single people where fonts lack the joined form.")
}

/// Another project continues after the tide bug was fixed.
pub(super) fn widget(mut stage: Stage) -> Played {
    stage.session.append_session_info("Tide widget for the landing page")?;
    stage.user(12, "We want the corrected times on the landing page. What should the widget ask for?")?;
    stage.answer(
        8,
        "Ask for UTC and let the browser convert: `GET /tides?station=brest&day=2025-11-11` with times such as `2025-11-11T09:58Z`. Then the page can never repeat the mistake.",
    )
}
