//! What a server answers to each login.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::ROLES;
use crate::servers::TestStore;

pub(super) fn lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().map(|line| line.split('|').map(str::to_owned).collect())
}

/// Runs statements as a login, each in a transaction of its own that is undone. Returns their codes, or `ok` and the first
/// value.
fn outcomes(store: &TestStore, login: &str, statements: &[String]) -> Vec<String> {
    let mut block = "do $do$ declare value text; statement text; begin\n".to_owned();
    for statement in statements {
        let into = if statement.starts_with("select md5") { " into value" } else { "" };
        writeln!(
            block,
            "begin execute $q${statement}$q${into}; raise exception using errcode = 'ZZZ00', message = coalesce(value, ''); \
             exception when others then raise notice '%|%', sqlstate, sqlerrm; end;"
        )
        .unwrap();
    }
    block.push_str("end $do$");
    let told = store.refusals(login, &[block]);
    let outcome = |line: &str| {
        let (code, message) = line.strip_prefix("NOTICE:  ")?.split_once('|')?;
        Some(if code == "ZZZ00" { format!("ok{message}") } else { code.to_owned() })
    };
    let outcomes: Vec<String> = told.lines().filter_map(outcome).collect();
    assert_eq!(outcomes.len(), statements.len(), "{login}: {told}");
    outcomes
}

/// The word for what a function or a statement that writes did.
pub(super) fn word(outcome: &str) -> String {
    match outcome {
        _ if outcome.starts_with("ok") => "yes".to_owned(),
        "SES01" | "SES08" => "hidden".to_owned(),
        "SES02" => "not a member".to_owned(),
        "SES06" => "refused".to_owned(),
        "42501" => "denied".to_owned(),
        other => format!("error {other}"),
    }
}

pub(super) fn rows_of(table: &str, condition: &str) -> String {
    format!(
        "select md5(coalesce(string_agg(t::text, ' ' order by t::text), '')) from sessile.{table} as t where {condition}"
    )
}

/// Rows of a table with a cell for each role, those with the same cells as one row.
pub(super) fn grouped(cells: &[(String, Vec<String>)]) -> Vec<String> {
    let mut groups: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for (name, outcomes) in cells {
        groups.entry(outcomes).or_default().push(name);
    }
    let row =
        |(outcomes, names): (&[String], Vec<&str>)| format!("| {} | {} |", names.join(", "), outcomes.join(" | "));
    let mut rows: Vec<String> = groups.into_iter().map(row).collect();
    rows.sort();
    rows
}

/// Asks each login for each statement, and makes cells of the answers.
pub(super) fn ask(
    store: &TestStore,
    named: &[(String, String)],
    word: impl Fn(&str, &str, &str) -> String,
) -> Vec<(String, Vec<String>)> {
    let statements: Vec<String> = named.iter().map(|(_, statement)| statement.clone()).collect();
    let by_role: Vec<Vec<String>> = ROLES.iter().map(|(_, login)| outcomes(store, login, &statements)).collect();
    let cells = |index: usize, name: &str| {
        let of_role = |((_, login), outcomes): (&(&str, &str), &Vec<String>)| word(name, login, &outcomes[index]);
        ROLES.iter().zip(&by_role).map(of_role).collect()
    };
    named.iter().enumerate().map(|(index, (name, _))| (name.clone(), cells(index, name))).collect()
}
