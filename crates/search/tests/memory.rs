//! The memory of the dearest searches. It grows with their words and not with the documents, except for words with a
//! star; docs/security.md says by how much.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};
use tidings_search::asking::Question;
use tidings_search::index::{Document, Index, Kind, Language, Progress};
use tidings_search::language::Search;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const NOW: i64 = 1_800_000_000;
const DOCUMENTS: usize = 3_000;
/// As many as a search can have.
const WORDS: &str = "reading writing voting running testing building linking posting asking finding merging sorting \
                     cutting counting ranking talking";
const MOST: usize = 1024 * 1024;

/// Every document has every word, so every search reads every field.
fn index() -> Index {
    let letters: String = ('a'..='z').map(|letter| format!("{letter} ")).collect();
    let kinds = [Kind::Story, Kind::Comment, Kind::Post, Kind::Person, Kind::Site];
    let index = Index::open(None, Some(Language::English)).unwrap();
    for number in 0..DOCUMENTS {
        let document = Document {
            id: number.to_string(),
            kind: kinds[number % kinds.len()],
            author: Some(1),
            title: format!("{letters}{WORDS}"),
            body: format!("{letters}{WORDS} {number}"),
            url: Some(format!("example.com/{}", WORDS.replace(' ', "/"))),
            host: Some("example.com".to_owned()),
            time: NOW,
            votes: 1,
            ..Document::default()
        };
        index.put(&document).unwrap();
    }
    index.commit(Progress::default()).unwrap();
    index.merge_all().unwrap();
    index
}

#[test]
fn the_dearest_searches_hold_less_than_a_mebibyte() {
    let index = index();
    let pairs = "a-b c-d e-f g-h i-j k-l m-n o-p q-r s-t u-v w-x";
    let searches = [
        WORDS.to_owned(),
        WORDS.replace(' ', " OR "),
        format!("-{}", WORDS.replace(' ', " -")),
        format!("\"{}\"", pairs.replace('-', " ")),
        format!("\"{}\"", pairs.replace(' ', "\" \"").replace('-', " ")),
        pairs.to_owned(),
        // The most words that are looked for in both ways.
        pairs[..6 * 4].to_owned(),
        WORDS.split(' ').map(|word| format!("{}* ", &word[..3])).collect(),
    ];
    // The first search makes what the library needs once.
    held_by(&index, "warm");
    for typed in searches {
        let held = held_by(&index, &typed);
        assert!(held < MOST, "{held} bytes: {typed}");
    }
}

/// The bytes that a search holds at most, as the program asks.
fn held_by(index: &Index, typed: &str) -> usize {
    let search = Search::parse(typed, NOW).unwrap();
    let question = Question::of(&search, NOW, Instant::now() + Duration::from_secs(600));
    let _profiler = dhat::Profiler::builder().testing().build();
    index.view.find(&question).unwrap();
    dhat::HeapStats::get().max_bytes
}
