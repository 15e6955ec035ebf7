//! Keys of every kind, made from a seed. No whole key is in this source, so that scanners of code hosts stay quiet.

/// A small generator of random numbers, so that each run makes the same keys.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick(&mut self, alphabet: &[u8]) -> char {
        let index = (self.next() >> 11) % alphabet.len() as u64;
        char::from(alphabet[usize::try_from(index).unwrap()])
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

fn alphabet(class: char) -> Vec<u8> {
    match class {
        'w' => [DIGITS, UPPER, LOWER].concat(),
        'h' => "0123456789abcdef".to_owned(),
        'd' => DIGITS.to_owned(),
        'a' => [DIGITS, LOWER].concat(),
        'A' => [DIGITS, UPPER].concat(),
        'l' => [UPPER, LOWER].concat(),
        'b' => [DIGITS, UPPER, LOWER, "+/"].concat(),
        'u' => [DIGITS, UPPER, LOWER, "-_"].concat(),
        '2' => [UPPER, "234567"].concat(),
        '5' => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".to_owned(),
        _ => panic!("{class} is not an alphabet"),
    }
    .into_bytes()
}

/// Makes a key of a template: `<w36>` is 36 characters of the alphabet `w`, `<U>` is a UUID.
pub(crate) fn make(template: &str, random: &mut Random) -> String {
    match template {
        "GITHUB" => return with_crc("ghp_", random),
        "NPM" => return with_crc("npm_", random),
        "JWT" => return jwt(random),
        "DISCORD" => {
            let id = make("1<d17>", random);
            return format!("{}.{}", encode(id.as_bytes()), make("<u6>.<w38>", random));
        }
        "AGE" => return age(random),
        "GLSA" => {
            let body = format!("glsa_{}", make("<w32>", random));
            return format!("{body}_{:08x}", crc32fast::hash(body.as_bytes()).swap_bytes());
        }
        _ => {}
    }
    let mut key = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('<') {
        key.push_str(literal);
        let (class, after) = after.split_once('>').unwrap();
        rest = after;
        if class == "U" {
            key.push_str(&make("<h8>-<h4>-<h4>-<h4>-<h12>", random));
            continue;
        }
        let letters = alphabet(class.chars().next().unwrap());
        let length: usize = class[1..].parse().unwrap();
        // A key ends with a letter or a digit: at its end, other signs could be those of the text.
        let plain: Vec<u8> = letters.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        key.extend((0..length).map(|at| random.pick(if at == 0 || at + 1 == length { &plain } else { &letters })));
    }
    key + rest
}

fn with_crc(prefix: &str, random: &mut Random) -> String {
    let body = make("<w30>", random);
    let mut sum = u64::from(crc32fast::hash(body.as_bytes()));
    let mut digits = Vec::new();
    for _ in 0..6 {
        digits.push(alphabet('w')[usize::try_from(sum % 62).unwrap()]);
        sum /= 62;
    }
    digits.reverse();
    format!("{prefix}{body}{}", String::from_utf8(digits).unwrap())
}

fn jwt(random: &mut Random) -> String {
    let header = encode(br#"{"alg":"HS256","typ":"JWT"}"#);
    let payload = encode(format!("{{\"sub\":\"{}\",\"iat\":1700000000}}", make("<w12>", random)).as_bytes());
    format!("{header}.{payload}.{}", make("<u43>", random))
}

fn age(random: &mut Random) -> String {
    const BECH32: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let prefix = "age-secret-key-";
    let data: Vec<u32> = (0..52).map(|_| u32::try_from(random.next() >> 40 & 31).unwrap()).collect();
    let expanded =
        prefix.bytes().map(|b| u32::from(b >> 5)).chain([0]).chain(prefix.bytes().map(|b| u32::from(b & 31)));
    let sum = expanded.chain(data.clone()).chain([0; 6]).fold(1_u32, |sum, value| {
        let top = sum >> 25;
        (0..5).filter(|bit| top >> bit & 1 == 1).fold((sum & 0x01ff_ffff) << 5 ^ value, |sum, bit| sum ^ GENERATOR[bit])
    }) ^ 1;
    let check = (0..6).map(|at| sum >> (5 * (5 - at)) & 31);
    let letters = data.into_iter().chain(check).map(|value| char::from(BECH32[value as usize]));
    format!("{prefix}1{}", letters.collect::<String>()).to_ascii_uppercase()
}

/// Base64 with the alphabet of URLs, without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    encode_with(bytes, &[UPPER, LOWER, DIGITS, "-_"].concat())
}

/// Base64 with the usual alphabet, without padding.
pub(crate) fn encode_plain(bytes: &[u8]) -> String {
    encode_with(bytes, &[UPPER, LOWER, DIGITS, "+/"].concat())
}

fn encode_with(bytes: &[u8], alphabet: &str) -> String {
    let bits: Vec<u8> = bytes.iter().flat_map(|b| (0..8).rev().map(move |at| b >> at & 1)).collect();
    let digits = bits.chunks(6).map(|six| (0..6).fold(0, |value, at| value << 1 | six.get(at).copied().unwrap_or(0)));
    digits.map(|value| char::from(alphabet.as_bytes()[usize::from(value)])).collect()
}

/// Every kind of key: the rule that must find it, and a template. `~` cuts prefixes so that no scanner takes them
/// for keys; `\~` is the sign itself.
pub(crate) fn kinds() -> Vec<(&'static str, String)> {
    include_str!("kinds.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (rule, template) = line.split_once(' ').unwrap();
            (rule, template.trim().replace("\\~", "\0").replace('~', "").replace('\0', "~"))
        })
        .collect()
}
