//! The queries, chosen by how often words occur in a sample of the sessions.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sessile_core::search::token::{TokenKind, Tokenizer};

use crate::Failure;
use crate::corpus::read_documents;
use crate::engine::Query;

/// The kinds of queries, each with its queries.
pub type Queries = Vec<(String, Vec<Query>)>;

/// The number of queries of each kind.
const EACH: usize = 20;

/// How many entries are sampled.
const SAMPLE: usize = 20_000;

/// Chooses the queries. The same sessions give the same ones.
pub fn choose(files: &[PathBuf]) -> Result<Queries, Failure> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut phrases: Vec<Vec<String>> = Vec::new();
    let mut tokenizer = Tokenizer::default();
    let mut n_documents = 0;
    // Every n-th session, so that the sample covers the store.
    for file in files.iter().step_by(files.len() / 100 + 1) {
        read_documents(file, 0, 0, &mut |document| {
            n_documents += 1;
            let mut seen: HashSet<String> = HashSet::new();
            for text in &document.texts {
                let mut words = Vec::new();
                tokenizer.run(text, |token| {
                    if token.kind == TokenKind::Word {
                        words.push(String::from_utf8_lossy(token.term).into_owned());
                    }
                    true
                });
                if words.len() > 40 && n_documents % 97 == 0 {
                    phrases.push(words[20..22 + n_documents % 3].to_vec());
                }
                seen.extend(words);
            }
            for word in seen {
                *counts.entry(word).or_default() += 1;
            }
            Ok(())
        })?;
        if n_documents > SAMPLE {
            break;
        }
    }
    let is_plain = |word: &&String| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut words: Vec<&String> = counts.keys().filter(is_plain).collect();
    words.sort_by(|one, other| counts[*other].cmp(&counts[*one]).then(one.cmp(other)));
    let spread = |words: &[&String]| -> Vec<String> {
        words.iter().step_by((words.len() / EACH).max(1)).take(EACH).map(|word| (*word).clone()).collect()
    };
    let n_words = words.len();
    let common: Vec<String> = words.iter().take(EACH).map(|word| (*word).clone()).collect();
    let medium = spread(&words[n_words / 100..n_words / 10]);
    let rare = spread(&words[n_words * 3 / 4..]);
    let pairs = common.iter().zip(&medium).map(|(one, other)| Query::All(vec![one.clone(), other.clone()]));
    let prefixes = medium.iter().map(|word| Query::Prefix(word.chars().take(4).collect()));
    phrases.dedup();
    let nothing = (0..EACH).map(|number| Query::Word(format!("zqxj{number}wv")));
    let step = (phrases.len() / EACH).max(1);
    Ok(vec![
        ("common word".to_owned(), common.iter().cloned().map(Query::Word).collect()),
        ("medium word".to_owned(), medium.iter().cloned().map(Query::Word).collect()),
        ("rare word".to_owned(), rare.into_iter().map(Query::Word).collect()),
        ("two words".to_owned(), pairs.collect()),
        ("phrase".to_owned(), phrases.into_iter().step_by(step).take(EACH).map(Query::Phrase).collect()),
        ("prefix of 4".to_owned(), prefixes.collect()),
        ("no hit".to_owned(), nothing.collect()),
    ])
}
