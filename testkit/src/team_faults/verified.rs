//! F16: `verify --remote` names the line, on a machine that has the session and on a new one.

use std::fmt::Write;

use sessile::Cancel;

use super::Bench;
use super::client::Client;
use super::outcome::Outcome;

/// What is found: `code line`, in order.
type Found = &'static str;

/// A change, what a machine that has the lines finds, and what a new one finds. Each session has 6 lines after the header,
/// which is line 1.
const CHANGES: [(&str, &str, Found, Found); 12] = [
    (
        "updated",
        "update sessile.line set data = replace(encode(data, 'escape'), 'first', 'forged')::bytea where session = $no and seq = 1",
        "changed 2",
        "changed 2",
    ),
    ("deleted", "delete from sessile.line where session = $no and seq = 4", "missing 5", "missing 5"),
    (
        "closed",
        "delete from sessile.line where session = $no and seq = 3; \
         update sessile.line set seq = seq + 1000 where session = $no and seq > 3; \
         update sessile.line set seq = seq - 1001 where session = $no and seq > 1000",
        "missing 4, missing 7",
        "changed 4, missing 7",
    ),
    (
        "rows",
        "update sessile.line set seq = 100 where session = $no and seq = 3; \
         update sessile.line set seq = 3 where session = $no and seq = 5; \
         update sessile.line set seq = 5 where session = $no and seq = 100",
        "moved 4, moved 6",
        "moved 4, moved 6",
    ),
    (
        "bytes",
        "update sessile.line as l set data = o.data, codec = o.codec from sessile.line as o \
         where l.session = $no and o.session = $no and l.seq + o.seq = 7 and l.seq in (3, 4)",
        "moved 4, moved 5",
        "moved 4, moved 5",
    ),
    (
        "carried",
        "update sessile.line set session = $other, seq = 7 where session = $no and seq = 2",
        "missing 3",
        "missing 3",
    ),
    ("other", "", "extra 8", "extra 8"),
    (
        "noted",
        "update sessile.line set chain = decode(repeat('ab', 16), 'hex') where session = $no and seq = 2",
        "hash 3",
        "hash 3",
    ),
    (
        "claimed",
        "update sessile.session set chain = decode(repeat('ab', 16), 'hex') where no = $no",
        "head 7",
        "head 7",
    ),
    (
        "cut",
        "delete from sessile.line where session = $no and seq = 6; update sessile.session set n = 5, \
         chain = (select chain from sessile.line where session = $no and seq = 5) where no = $no",
        "lost 7",
        "",
    ),
    (
        "forged",
        "do $$ declare c bytea := decode(repeat('00', 16), 'hex'); r record; begin \
         update sessile.line set data = replace(encode(data, 'escape'), 'second', 'forged')::bytea where session = $no and seq = 2; \
         for r in select * from sessile.line where session = $no order by seq loop \
         c := substring(sha256(c || r.data) from 1 for 16); \
         update sessile.line set chain = c where session = $no and seq = r.seq; end loop; \
         update sessile.session set chain = c where no = $no; end $$",
        "forged 3",
        "",
    ),
    ("good", "", "", ""),
];

/// How many lines the sessions in packs have.
const N_PACKED: usize = 130;

pub(super) fn run(bench: &Bench, outcome: &mut Outcome) {
    let packed = ["p-changed", "p-dropped", "p-swapped", "p-broken", "p-gone"];
    let ids: Vec<&str> = CHANGES.iter().map(|(id, ..)| *id).chain(packed).collect();
    let mut clients = bench.clients(1, &[]);
    for id in &ids {
        clients[0].create(id);
        let n_lines = if id.starts_with("p-") { N_PACKED } else { 6 };
        (2..n_lines).for_each(|_| clients[0].append(id).unwrap());
    }
    clients[0].sync().unwrap();
    let user = clients[0].config.user().to_owned();
    let no = |id: &str| {
        bench.cluster().sql(&format!("select no from sessile.session where owner = '{user}' and header_id = '{id}'"))
    };
    let n_packs = bench.cluster().sql(&format!("select count(*) from sessile.pack where session = {}", no(packed[0])));
    outcome.check(n_packs == "1", || format!("{n_packs} packs"));
    let other = no("other");
    for (id, change, ..) in CHANGES.iter().filter(|(_, change, ..)| !change.is_empty()) {
        bench.cluster().sql(&change.replace("$no", &no(id)).replace("$other", &other));
    }
    for (id, change) in packs(&clients[0]) {
        bench.cluster().sql(&change.replace("$no", &no(id)));
    }
    let fresh = bench.client(&clients[0].config.clone());
    let in_packs = [
        ("p-changed", "changed 51", "changed 51"),
        ("p-dropped", "missing 51, missing 131", "changed 51, missing 131"),
        ("p-swapped", "moved 11, moved 21", "moved 11, moved 21"),
        ("p-broken", "unreadable 2", "unreadable 2"),
        ("p-gone", "missing 2", "missing 2"),
    ];
    let expected: Vec<_> = CHANGES.iter().map(|(id, _, here, new)| (*id, *here, *new)).chain(in_packs).collect();
    for (client, is_new) in [(&clients[0], false), (&fresh, true)] {
        let found = findings(client);
        outcome.check(found.len() == expected.len(), || format!("{} logs were verified", found.len()));
        for (id, here, new) in &expected {
            let wanted = if is_new { new } else { here };
            let found = found.iter().find(|(found, _)| found == id).map_or("nothing", |(_, found)| found);
            outcome.check(found == *wanted, || format!("{id}, new machine {is_new}: {found} instead of {wanted}"));
        }
    }
    outcome.fact(format!("{} logs verified", expected.len()));
}

/// Changes of packs: by a new text, and as a whole.
fn packs(client: &Client) -> Vec<(&'static str, String)> {
    let lines =
        |id: &str| -> Vec<String> { String::from_utf8(client.lines(id)).unwrap().lines().map(str::to_owned).collect() };
    let rewritten = |lines: &[String], more: &str| {
        let mut hex = String::new();
        for byte in lines.iter().flat_map(|line| format!("{line}\n").into_bytes()) {
            write!(hex, "{byte:02x}").unwrap();
        }
        format!("update sessile.pack set codec = 0, data = decode('{hex}', 'hex'){more} where session = $no")
    };
    let mut changed = lines("p-changed");
    changed[49] = changed[49].replace("\"user\"", "\"usor\"");
    let mut dropped = lines("p-dropped");
    dropped.remove(49);
    let shorter = ", n = n - 1, chains = substring(chains from 1 for 49 * 16) || substring(chains from 50 * 16 + 1)";
    let mut swapped = lines("p-swapped");
    swapped.swap(9, 19);
    vec![
        ("p-changed", rewritten(&changed, "")),
        ("p-dropped", rewritten(&dropped, shorter)),
        ("p-swapped", rewritten(&swapped, "")),
        ("p-broken", "update sessile.pack set codec = 1, data = '\\x00' where session = $no".to_owned()),
        ("p-gone", "delete from sessile.pack where session = $no".to_owned()),
    ]
}

/// The findings of a machine, by session.
fn findings(client: &Client) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut server = client.connect().unwrap();
    let verified = client.sessions().verify_remote(&mut server, None, &Cancel::default(), &mut |verified| {
        let words = match &verified.report {
            Ok(report) => {
                let word = |it: &sessile::sync::LogFinding| {
                    format!("{} {}", it.code.word(), it.line.map_or(String::new(), |line| line.to_string()))
                };
                report.findings.iter().map(word).collect::<Vec<_>>().join(", ")
            }
            Err(error) => error.to_string(),
        };
        all.push((verified.id.to_owned(), words));
    });
    verified.unwrap();
    all
}
