//! Which stories ask, show something, or offer a job: the operator names how their titles begin, and a topic.

use super::topic::Topic;
use crate::values::text_forms::shown;

/// Words with which titles begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitlePrefixes {
    text: String,
    prefixes: Vec<String>,
}

impl TitlePrefixes {
    /// Words with commas between them.
    pub fn parse(text: &str) -> Self {
        let prefixes = text.split(',').map(str::trim).filter(|prefix| !prefix.is_empty());
        Self { text: text.to_owned(), prefixes: prefixes.map(str::to_lowercase).collect() }
    }

    /// The words, in lower case.
    pub fn prefixes(&self) -> &[String] {
        &self.prefixes
    }

    /// Whether a title begins with one of them, as whole words, in capitals or not.
    pub fn begin(&self, title: &str) -> bool {
        let title = title.trim_start().to_lowercase();
        let begins = |prefix: &String| {
            let rest = title.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| {
                prefix.ends_with(|last: char| !last.is_alphanumeric())
                    || !rest.starts_with(char::is_alphanumeric)
            })
        };
        self.prefixes.iter().any(begins)
    }
}

shown!(TitlePrefixes: |prefixes| prefixes.text);

/// The topic of stories that offer a job; `None` if there is no such topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobsTopic(pub Option<Topic>);

impl JobsTopic {
    /// A topic, or nothing; `None` for a text that is neither.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(Self(None))
        } else {
            Topic::parse("topic", text).ok().map(|topic| Self(Some(topic)))
        }
    }
}

shown!(JobsTopic: |topic| topic.0.as_ref().map_or("", Topic::as_str));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_begins_with_whole_words() {
        let prefixes = TitlePrefixes::parse("Ask, Tell HN:, ");
        for title in ["Ask HN: why?", "ask: why?", "Ask", " Ask why", "TELL HN:this"] {
            assert!(prefixes.begin(title), "{title}");
        }
        for title in ["", "Asking", "I ask", "Tell HN this", "Tell"] {
            assert!(!prefixes.begin(title), "{title}");
        }
        assert!(!TitlePrefixes::parse("").begin("Ask"));
    }

    #[test]
    fn the_topic_of_jobs_is_a_topic_or_nothing() {
        assert_eq!(JobsTopic::parse(""), Some(JobsTopic(None)));
        assert_eq!(JobsTopic::parse("jobs").map(|topic| topic.to_string()).as_deref(), Some("jobs"));
        assert_eq!(JobsTopic::parse("Not a topic"), None);
    }
}
