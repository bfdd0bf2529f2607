//! Any text as a search, asked of a small index, and as a title that is like others.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tidings_search::asker::Asker;
use tidings_search::asking::{Question, Sort};
use tidings_search::index::{Audience, Document, Index, Kind, Language, Progress};
use tidings_search::language::{MAX_CHARACTERS, MAX_TERMS, Search};

const NOW: i64 = 1_800_000_000;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let index = Index::open(None, Some(Language::English)).unwrap();
    let titles =
        ["Rust and C++", "Ask: which .NET book?", "node.js fs::read_to_string", "Crème brûlée à la carte"];
    for (number, title) in (1..).zip(titles) {
        let document = Document {
            id: format!("news:{number}"),
            kind: Kind::Story,
            author: Some(1),
            story_author: None,
            story: Some(number),
            title: title.to_owned(),
            body: "Some words, and others again. Words!".to_owned(),
            url: Some("https://blog.example.org/a".to_owned()),
            host: Some("blog.example.org".to_owned()),
            topics: vec!["rust".to_owned()],
            time: NOW,
            votes: 7,
            comments: 2,
            audience: Audience::default(),
            account: None,
        };
        index.put(&document).unwrap();
    }
    index.commit(Progress::default()).unwrap();
    index
});

fuzz_target!(|typed: &str| {
    let Ok(search) = Search::parse(typed, NOW) else {
        assert!(typed.chars().count() > MAX_CHARACTERS.min(MAX_TERMS), "{typed:?}");
        return;
    };
    assert!(search.terms().count() <= MAX_TERMS, "{typed:?}");
    for ignored in &search.ignored {
        assert!(typed.contains(ignored.part.trim_end()), "{typed:?} has no {:?}", ignored.part);
    }
    let question = Question {
        search: &search,
        kind: None,
        sort: Sort::Relevance,
        page: (0, 10),
        now: NOW,
        until: Instant::now() + Duration::from_secs(60),
        authors: &HashMap::from([("alice".to_owned(), 1)]),
        urls: &HashMap::new(),
        asker: &Asker::default(),
    };
    let found = INDEX.view.find(&question).unwrap();
    assert_eq!(found.hits.len() as u64, found.total, "{typed:?}");
    INDEX.view.like(typed, &question).unwrap();
    let mut matcher = INDEX.view.matcher(&search);
    if let Some(excerpt) = matcher.excerpt(typed) {
        for mark in excerpt.marks {
            assert!(!excerpt.text[mark].is_empty());
        }
    }
});
