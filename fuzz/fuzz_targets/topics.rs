//! Any text as topics in a form, in an address, in the store or in an imported file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_domain::imports::{imported_topics, mend_encoding};
use tidings_domain::values::{Topic, TopicChoice, Topics};

const MAX_TOPICS: usize = 5;

fuzz_target!(|text: &str| {
    if let Ok(topic) = Topic::parse("topic", text) {
        check_name(topic.as_str());
    }
    let read = Topics::parse(text).ok();
    for topics in read.iter().chain([&Topics::from_stored(text), &imported_topics(text)]) {
        let names: Vec<&str> = topics.iter().map(Topic::as_str).collect();
        assert!(names.len() <= MAX_TOPICS, "{names:?}");
        names.iter().for_each(|name| check_name(name));
        assert_eq!(&Topics::from_stored(&topics.stored()), topics, "stored and read");
    }
    if let Ok(choice) = text.parse::<TopicChoice>() {
        let shown = choice.to_string();
        assert_eq!(shown.parse::<TopicChoice>(), Ok(choice), "{shown:?}");
        assert!(shown.split(['+', ',']).count() <= MAX_TOPICS, "{shown:?}");
    }
    // A file that was encoded twice is read as if it had been encoded once.
    assert!(mend_encoding(text).len() <= text.len(), "a repaired text is longer");
});

fn check_name(name: &str) {
    assert!((2..=30).contains(&name.len()), "{name:?}");
    assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')), "{name:?}");
}
