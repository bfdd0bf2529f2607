//! Names of topics, and choices of several.

use super::limits::{MAX_TOPICS, TOPIC_MAX, TOPIC_MIN};
use super::text::{InputError, refuse_longer, refuse_shorter};
use crate::values::text_forms::{read_text, shown};
use serde_with::DeserializeFromStr;
use tidings_keyspace::Within;

/// The name of a topic: 2 to 30 letters from a to z, digits and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic(String);

impl Topic {
    /// Trims and checks a name that was typed into `field`.
    ///
    /// # Errors
    /// When its length or a character of it is not allowed.
    pub fn parse(field: &'static str, input: &str) -> Result<Self, InputError> {
        let name = input.trim();
        if name.is_empty() {
            return Err(InputError::Empty { field });
        }
        if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            let shown = name.chars().take(TOPIC_MAX + 1).collect();
            return Err(InputError::TopicCharacter { field, shown });
        }
        refuse_shorter(field, name, TOPIC_MIN)?;
        refuse_longer(field, name, TOPIC_MAX)?;
        Ok(Self(name.to_owned()))
    }
}

text_values!(Topic);

/// The topics of one story: up to [`MAX_TOPICS`], all different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics(Vec<Topic>);

impl Topics {
    /// Parses names separated by commas, from the field `topics`. Repeated names count
    /// once, and empty ones are ignored.
    ///
    /// # Errors
    /// When one of the names is not allowed, or there are too many.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "topics";
        let mut topics = Self::default();
        for name in input.split(',').filter(|name| !name.trim().is_empty()) {
            topics.add(Topic::parse(FIELD, name)?);
            if topics.0.len() > MAX_TOPICS {
                return Err(InputError::TooManyTopics { field: FIELD, most: MAX_TOPICS });
            }
        }
        Ok(topics)
    }

    /// Parses the stored text and skips invalid names.
    pub fn from_stored(text: &str) -> Self {
        let mut topics = Self::default();
        for topic in text.split(',').filter_map(|name| Topic::parse("topics", name).ok()) {
            if topics.0.len() < MAX_TOPICS {
                topics.add(topic);
            }
        }
        topics
    }

    fn add(&mut self, topic: Topic) {
        if !self.0.contains(&topic) {
            self.0.push(topic);
        }
    }

    /// The topics, in the order in which they were given.
    pub fn iter(&self) -> std::slice::Iter<'_, Topic> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a topic is among them.
    pub fn contains(&self, topic: &Topic) -> bool {
        self.0.contains(topic)
    }

    /// Those that are not among others.
    pub fn without(&self, others: &Self) -> Self {
        Self(self.iter().filter(|topic| !others.contains(topic)).cloned().collect())
    }

    /// The same with one topic in the place of another; once, if it was there.
    pub fn with_replaced(&self, from: &Topic, to: &Topic) -> Self {
        let mut replaced = Self::default();
        for topic in &self.0 {
            replaced.add(if topic == from { to.clone() } else { topic.clone() });
        }
        replaced
    }

    /// The same without a topic that is among them, or with one that is not.
    pub fn with_toggled(&self, topic: &Topic) -> Self {
        let mut topics = self.without(&Self(vec![topic.clone()]));
        if !self.contains(topic) {
            topics.add(topic.clone());
        }
        topics
    }

    /// The names as a person edits them, separated by commas and spaces.
    pub fn typed(&self) -> String {
        joined(&self.0, ", ")
    }

    /// The value of the field `topics`.
    pub fn stored(&self) -> String {
        joined(&self.0, ",")
    }
}

impl<'a> IntoIterator for &'a Topics {
    type Item = &'a Topic;
    type IntoIter = std::slice::Iter<'a, Topic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn joined(topics: &[Topic], between: &str) -> String {
    topics.iter().map(Topic::as_str).collect::<Vec<_>>().join(between)
}

/// The topics of a list of articles: one topic, all of several (`rust+databases`),
/// or any of several (`rust,go`).
///
/// The same topics in another order are the same.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct TopicChoice {
    topics: Vec<Topic>,
    within: Within,
}

/// The text is not a choice of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a topic, or several joined by + or by commas")]
pub struct NotAChoice;

read_text!(TopicChoice or NotAChoice: |text| {
    let (separator, within) = match (text.contains('+'), text.contains(',')) {
        (true, true) => return None,
        (false, true) => (',', Within::Any),
        (_, false) => ('+', Within::All),
    };
    let topic = |name| Topic::parse("topic", name).ok().filter(|topic| topic.as_str() == name);
    Self::of(text.split(separator).map(topic).collect::<Option<_>>()?, within)
});

shown!(TopicChoice: |choice| joined(&choice.topics, if choice.within == Within::All { "+" } else { "," }));

impl From<Topic> for TopicChoice {
    fn from(topic: Topic) -> Self {
        Self { topics: vec![topic], within: Within::All }
    }
}

impl TopicChoice {
    /// Some topics; `None` for none, and for more than a list may have.
    pub fn of(mut topics: Vec<Topic>, within: Within) -> Option<Self> {
        topics.sort_unstable();
        topics.dedup();
        if topics.is_empty() || topics.len() > MAX_TOPICS {
            return None;
        }
        let within = if topics.len() == 1 { Within::All } else { within };
        Some(Self { topics, within })
    }

    /// The same topics and another one; `None` if that is too many.
    pub fn with(&self, other: &Topic, within: Within) -> Option<Self> {
        Self::of(self.topics.iter().chain([other]).cloned().collect(), within)
    }

    /// The other topics; `None` if there are none.
    pub fn without(&self, topic: &Topic) -> Option<Self> {
        Self::of(self.topics.iter().filter(|known| *known != topic).cloned().collect(), self.within)
    }

    /// The topics, by name.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// How many of the topics an article must be in.
    pub const fn within(&self) -> Within {
        self.within
    }

    /// Whether something with these topics is in the list.
    pub fn has(&self, topics: &Topics) -> bool {
        match self.within {
            Within::All => self.topics.iter().all(|topic| topics.contains(topic)),
            Within::Any => self.topics.iter().any(|topic| topics.contains(topic)),
        }
    }

    /// The topic, if it is only one.
    pub fn single(&self) -> Option<&Topic> {
        match self.topics.as_slice() {
            [topic] => Some(topic),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_toggled_and_the_others_keep_their_order() {
        let (topics, rust) = (Topics::parse("go,rust,web").unwrap(), Topic::parse("topic", "rust").unwrap());
        assert_eq!(topics.with_toggled(&rust).typed(), "go, web");
        assert_eq!(topics.with_toggled(&rust).with_toggled(&rust).typed(), "go, web, rust");
    }

    #[test]
    fn topics_are_few_different_names() {
        for (input, stored) in [
            ("", ""),
            (" , ", ""),
            ("rust", "rust"),
            (" rust , c-3 ,", "rust,c-3"),
            ("go,rust,go", "go,rust"),
            ("aa,bb,cc,dd,ee,aa", "aa,bb,cc,dd,ee"),
            ("abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnopqrstuvwxyz0123"),
        ] {
            assert_eq!(
                Topics::parse(input).map(|topics| topics.stored()),
                Ok(stored.to_owned()),
                "{input:?}"
            );
        }
        for (input, error) in [
            ("a", InputError::TooShort { field: "topics", least: 2 }),
            ("rust,c", InputError::TooShort { field: "topics", least: 2 }),
            ("abcdefghijklmnopqrstuvwxyz01234", InputError::TooLong { field: "topics", most: 30 }),
            ("Rust", InputError::TopicCharacter { field: "topics", shown: "Rust".to_owned() }),
            ("rust,c++", InputError::TopicCharacter { field: "topics", shown: "c++".to_owned() }),
            ("a b", InputError::TopicCharacter { field: "topics", shown: "a b".to_owned() }),
            ("é1", InputError::TopicCharacter { field: "topics", shown: "é1".to_owned() }),
            ("aa,bb,cc,dd,ee,ff", InputError::TooManyTopics { field: "topics", most: 5 }),
        ] {
            assert_eq!(Topics::parse(input).unwrap_err(), error);
        }
    }

    #[test]
    fn stored_topics_are_read_whatever_they_are() {
        assert_eq!(Topics::from_stored("rust,,X,go,rust").stored(), "rust,go");
    }

    #[test]
    fn one_topic_replaces_another_once() {
        let topic = |name| Topic::parse("topic", name).unwrap();
        let topics = Topics::parse("aa,bb,cc").unwrap();
        for (from, to, expected) in
            [("bb", "dd", "aa,dd,cc"), ("bb", "cc", "aa,cc"), ("xx", "dd", "aa,bb,cc")]
        {
            assert_eq!(topics.with_replaced(&topic(from), &topic(to)).stored(), expected);
        }
    }

    #[test]
    fn a_choice_grows_and_shrinks() {
        let choice = |text: &str| text.parse::<TopicChoice>().unwrap();
        let topic = |name| Topic::parse("topic", name).unwrap();
        let both = choice("rust").with(&topic("go"), Within::Any).unwrap();
        assert_eq!(both, choice("go,rust"));
        assert_eq!(both.with(&topic("c3"), Within::All), Some(choice("c3+go+rust")));
        assert_eq!(both.without(&topic("go")), Some(choice("rust")));
        assert_eq!(choice("rust").without(&topic("rust")), None);
        assert_eq!(choice("aa,bb,cc,dd,ee").with(&topic("ff"), Within::Any), None);
    }

    #[test]
    fn a_choice_is_the_same_in_any_order() {
        for (text, shown, count) in [
            ("rust", "rust", 1),
            ("rust+databases", "databases+rust", 2),
            ("rust,go", "go,rust", 2),
            ("go,go", "go", 1),
            ("go,go,rust", "go,rust", 2),
        ] {
            let choice: TopicChoice = text.parse().unwrap();
            assert_eq!((choice.to_string().as_str(), choice.topics().len()), (shown, count));
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for text in
            ["", "+", "a", "rust+", ",rust", "rust+go,c3", "Rust", "rust go", " rust", "aa+bb+cc+dd+ee+ff"]
        {
            assert_eq!(text.parse::<TopicChoice>(), Err(NotAChoice), "{text:?}");
        }
    }
}
