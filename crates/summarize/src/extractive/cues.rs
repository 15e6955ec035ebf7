//! Words that indicate the purpose of a sentence, in the languages people use with agents.
//!
//! They only add weight. A summary relies on the speakers, their order and what tools did, which does not depend on the
//! language.

/// A list of words and phrases in lower case.
pub(super) type Cues = &'static [&'static str];

/// The speaker sets a rule.
#[rustfmt::skip]
pub(super) const RULE: Cues = &[
    "don't", "dont", "do not", "never", "always", "must", "mustn't", "only", "make sure", "shouldn't", "avoid",
    "no longer", "at most", "at least", "important", "i prefer", "stick to", "not allowed",
    "nicht", "nie", "niemals", "immer", "muss", "müssen", "nur", "ohne", "wichtig", "darf", "keine", "keinen",
    "jamais", "toujours", "doit", "doivent", "il faut", "uniquement", "seulement", "n'utilise", "évite", "éviter",
    "nunca", "siempre", "debe", "deben", "solamente", "evita", "hay que", "asegúrate",
    "sempre", "deve", "devem", "somente", "apenas", "evite", "devono", "bisogna", "mai",
    "никогда", "всегда", "должен", "должна", "должно", "должны", "только", "нельзя", "обязательно",
    "ないで", "必ず", "禁止", "べき", "常に", "絶対", "のみ",
    "不要", "必须", "必須", "务必", "務必", "禁止", "总是", "總是", "只能", "绝不",
    "하지 마", "반드시", "항상", "금지", "절대", "해야 합니다", "해야 해",
];

/// The speaker states a wish.
#[rustfmt::skip]
pub(super) const WISH: Cues = &[
    "should", "prefer", "want", "keep", "without", "instead", "rather", "needs to", "has to", "would like", "please use",
    "soll", "sollte", "sollen", "bitte", "lieber", "statt", "stattdessen", "möchte", "will",
    "préfère", "plutôt", "sans", "voudrais", "je veux", "au lieu",
    "prefiero", "sin", "quiero", "en lugar de", "mejor", "prefiro", "sem", "quero", "em vez de",
    "preferisco", "senza", "voglio", "invece di",
    "лучше", "без", "хочу", "нужно", "вместо",
    "てください", "してほしい", "欲しい", "だけ", "代わりに",
    "应该", "應該", "希望", "需要", "最好", "改用",
    "말고", "대신", "원해", "주세요",
];

/// The speaker changes direction. Matched only at the start of a message.
#[rustfmt::skip]
pub(super) const TURN: Cues = &[
    "no", "nope", "actually", "wait", "instead", "rather", "not like that", "stop", "undo", "revert", "different idea",
    "nein", "doch", "lieber", "stattdessen", "eigentlich", "halt", "non", "plutôt", "en fait", "attends",
    "mejor", "en realidad", "espera", "não", "na verdade", "aspetta", "invece", "нет", "лучше", "стой", "подожди",
    "いや", "やっぱり", "違う", "待って", "不", "不对", "不對", "其实", "其實", "等等", "算了", "아니", "잠깐", "사실",
];

/// The speaker gives a reason or a decision.
#[rustfmt::skip]
pub(super) const REASON: Cues = &[
    "root cause", "the problem is", "the issue is", "the fix is", "the cause", "decided", "decision", "because", "so that",
    "turns out", "approach", "trade-off", "found it", "instead of", "chose", "that leaves", "the solution",
    "ursache", "weil", "entschieden", "entscheidung", "lösung", "stattdessen", "damit",
    "parce que", "la cause", "décidé", "décision", "solution", "au lieu de",
    "porque", "la causa", "decidido", "decisión", "solución", "en lugar de",
    "a causa", "decidi", "decisão", "solução", "perché", "deciso", "decisione", "soluzione", "invece di",
    "потому что", "причина", "решил", "решили", "решение", "вместо",
    "原因", "ため", "代わりに", "決め", "方針", "理由",
    "因为", "因為", "决定", "決定", "改为", "改為", "改成", "方案",
    "원인", "때문", "대신", "결정", "해결",
];

/// Something remains to be done.
#[rustfmt::skip]
pub(super) const OPEN: Cues = &[
    "next", "todo", "to do", "remaining", "still need", "still needs", "left to do", "not yet", "follow-up", "outstanding",
    "nächste", "nächster", "nächstes", "offen", "noch zu", "noch nicht", "prochaine", "prochain", "reste", "pas encore",
    "siguiente", "pendiente", "falta", "todavía", "próximo", "próxima", "pendente", "ainda", "prossimo", "manca", "ancora",
    "дальше", "осталось", "следующий", "ещё не", "еще не",
    "次に", "次は", "残り", "まだ", "今後", "接下来", "下一步", "还需要", "尚未", "还没", "다음", "남은", "아직",
];

/// The words of messages that only agree.
#[rustfmt::skip]
const AGREEING: Cues = &[
    "yes", "yep", "yeah", "yup", "ok", "okay", "k", "sure", "do", "it", "go", "ahead", "on", "sounds", "good", "great",
    "perfect", "fine", "nice", "please", "continue", "proceed", "lgtm", "thanks", "thank", "you", "cool", "right",
    "correct", "exactly", "agreed", "alright", "wow", "yo", "hi", "hello", "that", "looks", "this", "is", "so", "then",
    "ja", "genau", "gut", "mach", "das", "weiter", "bitte", "danke", "passt", "super", "oui", "d", "accord", "merci",
    "vas", "y", "sí", "si", "vale", "gracias", "bien", "sim", "certo", "obrigado", "va", "bene", "grazie", "perfetto",
    "да", "хорошо", "давай", "спасибо", "отлично", "はい", "うん", "お願いします", "いいね", "ありがとう", "了解",
    "好", "好的", "可以", "是的", "继续", "繼續", "谢谢", "謝謝", "네", "예", "좋아", "좋아요", "계속", "감사합니다",
];

/// The number of cues in a sentence.
pub(super) fn count(sentence: &str, cues: Cues) -> usize {
    let lower = sentence.to_lowercase().replace('’', "'");
    cues.iter().filter(|cue| has(&lower, cue)).count()
}

/// Whether a lower-case text contains a cue: as whole words, or anywhere if its script has no spaces.
fn has(lower: &str, cue: &str) -> bool {
    let is_word = |next: Option<char>| next.is_some_and(|it| it.is_alphanumeric() && !is_spaceless(it));
    let mut from = 0;
    while let Some(found) = lower.get(from..).and_then(|rest| rest.find(cue)) {
        let (start, end) = (from + found, from + found + cue.len());
        let before = lower.get(..start).and_then(|text| text.chars().next_back());
        let after = lower.get(end..).and_then(|text| text.chars().next());
        if cue.starts_with(is_spaceless) || (!is_word(before) && !is_word(after)) {
            return true;
        }
        from = end;
    }
    false
}

/// Whether a character belongs to a script without spaces between words.
fn is_spaceless(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a message begins with a change of direction.
pub(super) fn turns(message: &str) -> bool {
    let lower: String = message.trim_start().chars().take(24).flat_map(char::to_lowercase).collect();
    TURN.iter().any(|cue| {
        lower.strip_prefix(cue).is_some_and(|rest| {
            let next = rest.chars().next();
            cue.starts_with(is_spaceless) || next.is_none_or(|it| matches!(it, ',' | '.' | '!' | ':' | '-' | '…' | ' '))
        })
    })
}

/// Whether a message only agrees or greets.
pub(super) fn agrees(message: &str) -> bool {
    let lower = message.to_lowercase();
    let mut words = lower.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.clone().count() <= 8 && words.all(|word| AGREEING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_are_whole_words() {
        for (sentence, cues, expected) in [
            ("Never touch main.", RULE, 1),
            ("nevertheless it works", RULE, 0),
            ("DON’T do that", RULE, 1),
            ("Bitte nicht die Tests ändern", RULE, 1),
            ("テストは変更しないでください", RULE, 1),
            ("不要修改测试", RULE, 1),
            ("테스트는 절대 바꾸지 마", RULE, 1),
            ("никогда не трогай main", RULE, 1),
            ("原因は夏時間です", REASON, 1),
            ("", RULE, 0),
        ] {
            assert_eq!(count(sentence, cues), expected, "{sentence}");
        }
    }

    #[test]
    fn agreement_is_not_a_request() {
        assert!(["ok", "Yes, do it!", "はい", "да, хорошо", "jesus"].map(agrees) == [true, true, true, true, false]);
        assert!(!agrees("yes but in UTC") && !agrees("") && !agrees("?!"));
    }

    #[test]
    fn a_change_of_direction_is_recognised_by_the_first_words() {
        for message in
            ["no, that's horrible", "Actually, revert that", "いや、違う", "Nein.", "Different idea: keep UTC"]
        {
            assert!(turns(message), "{message}");
        }
        assert!(!turns("note the file") && !turns("I said no") && !turns("nothing"));
    }
}
