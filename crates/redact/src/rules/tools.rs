//! Formats that belong to no service in particular.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "jwt",
        "JSON Web Token",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,6000}\.[A-Za-z0-9_-]{20,1400}",
    )
    .checksum(check::jwt)
    .long(),
    Rule::new(
        "jwe",
        "encrypted JSON Web Token",
        &["eyJ"],
        concat!(
            r"eyJ[A-Za-z0-9_-]{16,2000}\.[A-Za-z0-9_-]{0,800}\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-",
            r"9_-]{16,6000}\.[A-Za-z0-9_-]{22}"
        ),
    )
    .check(check::jose_header)
    .long(),
    Rule::new(
        "wallet-extended-key",
        "extended private key of a wallet",
        &["xprv", "yprv", "zprv", "tprv"],
        r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{107}",
    )
    .checksum(check::base58_key),
];
