//! What is not a secret: code, hashes, ids, placeholders, lock files.

use crate::corpus::{Random, make};
use sessile_redact::{Origin, ScanOptions, Scanner, Tier};

fn find(text: &str) -> Vec<(String, Tier, String)> {
    let scanner = Scanner::new(&ScanOptions::default()).unwrap();
    let found = scanner.find(text, Origin::Ordinary);
    found.iter().map(|f| (f.rule.to_string(), f.tier, f.secret.expose().to_owned())).collect()
}

#[test]
fn texts_without_secrets() {
    let mut random = Random::new(3);
    let hex = |n: usize, random: &mut Random| make(&format!("<h{n}>"), random);
    let lock = format!(
        "[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nchecksum = \"{}\"\n\n\"integrity\": \"sha512-{}==\",\n\"resolved\": \"https://r.test/a/-/a-1.tgz#{}\"\n",
        hex(64, &mut random),
        make("<b86>", &mut random),
        hex(40, &mut random)
    );
    let ids = format!(
        "commit {}\nAuthor: A\nid: {}\n\"entryId\": \"{}\"\nsha256:{}\nindex {}..{} 100644\nmd5 {}\n",
        hex(40, &mut random),
        make("<U>", &mut random),
        make("<U>", &mut random),
        hex(64, &mut random),
        hex(7, &mut random),
        hex(7, &mut random),
        hex(32, &mut random)
    );
    for text in [
        lock.as_str(),
        ids.as_str(),
        "API_KEY=your_api_key_here\nTOKEN=<token>\nSECRET=${SECRET}\nPASSWORD=changeme\nKEY=xxxxxxxxxxxxxxxxxxxx\nAUTH_TOKEN=$GITHUB_TOKEN\n",
        "let token = parser.next_token()?;\nlet secret_key = config.secret_key.clone();\nif password == other_password2 {}\nfn api_key(&self) -> &str { &self.api_key }\n",
        "const MAX_TOKENS: usize = 4096;\npub const ERROR_PASSWORD: u32 = 0x8007_0056;\nprimary_key = user_id_2\ncache_key: \"users:v2:list\"\n",
        "const token = await getToken({ scope: 'read' });\nconst { apiKey, secretKey } = process.env;\nheaders: { Authorization: `Bearer ${token}` }\n",
        "password: String,\npub token: Option<Token>,\napi_key: &'a str,\nsecret: Vec<u8>,\n",
        "The password must have 12 characters. Pass the token in the header. Keys are rotated.\n",
        "https://user@host.test/path http://localhost:8080/a@b ssh://git@host.test:22/x.git https://example.test/a:b@c\n",
        "mkdir -p /tmp/a && docker run -p 8080:80 image && curl -u $USER:$PASS https://x.test\n",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are in every manual\n",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n",
        "SGVsbG8sIHRoaXMgaXMganVzdCBhIHNlbnRlbmNlIGluIGJhc2U2NC4=\n48656c6c6f2c2074686973206973206a757374206120746578742e\n",
        "password [REDACTED:secret-assignment:1f3a9c2e] token=[REDACTED:github-token:1f3a9c2e]\n",
        "task-runner disk_usage sk-learn pk_column test_should_parse_the_whole_file_and_keep_going live_reload_enabled\n",
        "SECRET_KEY_REF: my-secret-name\nsecretName: database-credentials\ntokenUrl: https://x.test/token\npasswordField: user-password\n",
    ] {
        assert_eq!(find(text), [], "{text}");
    }
}

/// Random values under names that are not those of secrets are never certain.
#[test]
fn random_values_are_not_certain() {
    let mut random = Random::new(12);
    let mut text = String::new();
    for template in [
        "<h32>", "<h40>", "<h64>", "<w20>", "<w32>", "<w40>", "<w64>", "<b44>", "<b88>", "<u43>", "<U>", "<d16>",
        "<A26>", "<a32>",
    ] {
        for _ in 0..300 {
            text.extend(["value ", &make(template, &mut random), " next\n"]);
        }
    }
    let certain: Vec<_> = find(&text).into_iter().filter(|(_, tier, _)| *tier == Tier::Certain).collect();
    assert_eq!(certain, []);
}

/// Files in base64, as sessions have them, hold every short anchor somewhere.
#[test]
fn files_in_base64_have_no_certain_keys() {
    let mut random = Random::new(21);
    let mut text = String::new();
    for _ in 0..200 {
        text.extend([make("<b20000>", &mut random).as_str(), "\n", &make("<u2000>", &mut random), "\n"]);
    }
    let certain: Vec<_> = find(&text).into_iter().filter(|(_, tier, _)| *tier == Tier::Certain).collect();
    assert_eq!(certain, []);
}
