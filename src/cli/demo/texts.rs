//! The texts of the demo's people: read from one file, and put together for the story that they are about.

use super::random::Random;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The texts, in sections that begin with `= name`.
const FILE: &str = include_str!("community.txt");
/// Stands for the subject of a story.
const SUBJECT: &str = "{s}";
/// How often a sentence may be in one thread.
const MOST_USES: u64 = 4;

/// All texts.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) people: Vec<&'static str>,
    pub(super) stories: Vec<StoryText>,
    pub(super) posts: Vec<&'static str>,
    /// The texts that moderators remove: two advertisements, two unkind comments.
    pub(super) spam: Vec<&'static str>,
    topics: Vec<Topic>,
    openings: Vec<&'static str>,
    remarks: Vec<&'static str>,
    questions: Vec<&'static str>,
    answers: Vec<&'static str>,
    short: Vec<&'static str>,
    /// Sentences with gaps, and by the name of each gap what fits into it.
    templates: Vec<&'static str>,
    fillings: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A story to submit.
pub(super) struct StoryText {
    /// The place of its topic.
    topic: usize,
    subject: &'static str,
    pub(super) title: &'static str,
    /// The text, if it has no link.
    pub(super) text: Option<&'static str>,
}

#[derive(Default)]
struct Topic {
    name: &'static str,
    hosts: Vec<&'static str>,
    /// Sentences for comments on its stories.
    sentences: Vec<&'static str>,
}

impl Texts {
    /// Reads the file.
    pub(super) fn read() -> Self {
        let (mut texts, mut section) = (Self::default(), "");
        for line in FILE.lines() {
            if let Some(heading) = line.strip_prefix("= topic ") {
                section = "topic";
                let (name, hosts) = heading.split_once(" | ").unwrap_or((heading, ""));
                let hosts = hosts.split(' ').collect();
                texts.topics.push(Topic { name, hosts, sentences: Vec::new() });
            } else if let Some(heading) = line.strip_prefix("= ") {
                section = heading;
            } else {
                texts.add(section, line);
            }
        }
        texts
    }

    fn add(&mut self, section: &'static str, line: &'static str) {
        let parts: Vec<&str> = line.split(" | ").collect();
        match (section, parts.as_slice()) {
            ("topic", [subject, title]) => {
                let topic = self.topics.len().saturating_sub(1);
                self.stories.push(StoryText { topic, subject, title, text: None });
            }
            ("topic", [sentence]) => {
                let sentence = sentence.strip_prefix("- ").unwrap_or(sentence);
                self.topics.last_mut().into_iter().for_each(|topic| topic.sentences.push(sentence));
            }
            ("asks", [topic, subject, title, text]) => {
                let topic = self.topics.iter().position(|known| known.name == *topic).unwrap_or(0);
                self.stories.push(StoryText { topic, subject, title, text: Some(text) });
            }
            ("people", _) => self.people.push(line),
            ("openings", _) => self.openings.push(line),
            ("remarks", _) => self.remarks.push(line),
            ("questions", _) => self.questions.push(line),
            ("answers", _) => self.answers.push(line),
            ("short", _) => self.short.push(line),
            ("posts", _) => self.posts.push(line),
            ("spam", _) => self.spam.push(line),
            ("templates", _) => self.templates.push(line),
            _ => self.fillings.entry(section).or_default().push(line),
        }
    }

    /// The name of the topic of a story.
    pub(super) fn topic(&self, story: &StoryText) -> &'static str {
        self.topics[story.topic].name
    }

    /// All web sites that stories link to.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &'static str> {
        self.topics.iter().flat_map(|topic| topic.hosts.iter().copied())
    }

    /// A link for a story.
    pub(super) fn link(&self, random: &mut Random, story: &StoryText) -> String {
        let host = random.pick(&self.topics[story.topic].hosts).copied().unwrap_or_default();
        let letters = |character: char| if character.is_ascii_alphanumeric() { character } else { ' ' };
        let words: String = story.title.to_lowercase().chars().map(letters).collect();
        format!("https://{host}/{}", words.split_whitespace().collect::<Vec<_>>().join("-"))
    }
}

/// Puts together the comments of one story, none of them twice.
pub(super) struct Composer<'a> {
    texts: &'a Texts,
    story: &'a StoryText,
    written: HashSet<String>,
    /// How often each sentence was used.
    uses: HashMap<&'static str, u64>,
}

impl<'a> Composer<'a> {
    pub(super) fn new(texts: &'a Texts, story: &'a StoryText) -> Self {
        Self { texts, story, written: HashSet::new(), uses: HashMap::new() }
    }

    /// A comment on the story, or an answer to this comment.
    pub(super) fn compose(&mut self, random: &mut Random, answered: Option<&str>) -> String {
        const ATTEMPTS: usize = 20;
        let mut text = String::new();
        for _ in 0..ATTEMPTS {
            text = match answered {
                None => self.opening(random),
                Some(answered) => self.answer(random, answered),
            };
            if self.written.insert(text.clone()) {
                break;
            }
        }
        text
    }

    fn opening(&mut self, random: &mut Random) -> String {
        let Texts { openings, short, questions, .. } = self.texts;
        let (first, more) = (self.one(random, openings), self.several(random, 2));
        match random.below(100) {
            0..8 => self.one(random, short),
            8..25 => first,
            25..45 => more,
            45..60 => format!("{first} {}", self.one(random, questions)),
            60..88 => format!("{first} {more}"),
            _ => format!("{first} {more}\n\n{} {}", self.several(random, 3), self.one(random, questions)),
        }
    }

    fn answer(&mut self, random: &mut Random, answered: &str) -> String {
        let Texts { answers, short, questions, .. } = self.texts;
        let (first, more) = (self.one(random, answers), self.several(random, 1));
        match random.below(100) {
            0..8 => self.one(random, short),
            8..16 => first,
            16..45 => more,
            45..57 => format!("> {}\n\n{more}", quotable(answered)),
            57..68 => format!("{first} {}", self.one(random, questions)),
            68..90 => format!("{first} {more}"),
            _ => format!("{first} {more}\n\n{}", self.several(random, 2)),
        }
    }

    /// One text of a list, about the subject of the story; one with filled gaps if that was there often.
    fn one(&mut self, random: &mut Random, list: &[&'static str]) -> String {
        match random.pick(list) {
            Some(text) if self.has_use(text) => text.replace(SUBJECT, self.story.subject),
            _ => self.filled(random),
        }
    }

    /// Whether a text may be used once more. Notes that it is.
    fn has_use(&mut self, text: &'static str) -> bool {
        let uses = self.uses.entry(text).or_default();
        *uses += 1;
        *uses <= MOST_USES
    }

    /// So many sentences that fit the topic.
    fn several(&mut self, random: &mut Random, count: usize) -> String {
        let texts = self.texts;
        let sentence = |_| match random.below(100) {
            0..45 => self.one(random, &texts.topics[self.story.topic].sentences),
            45..60 => self.one(random, &texts.remarks),
            _ => self.filled(random),
        };
        (0..count).map(sentence).collect::<Vec<_>>().join(" ")
    }

    /// A sentence with its gaps filled.
    fn filled(&self, random: &mut Random) -> String {
        let mut text = self.texts.templates[random.place(self.texts.templates.len())].to_owned();
        for (gap, fillings) in &self.texts.fillings {
            let filling = random.pick(fillings).copied().unwrap_or_default();
            text = text.replace(&format!("{{{gap}}}"), filling);
        }
        let text = text.replace(SUBJECT, self.story.subject);
        let mut letters = text.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }
}

/// The last sentence of a comment that is not a quotation itself.
fn quotable(text: &str) -> &str {
    let line = text.lines().rfind(|line| !line.is_empty() && !line.starts_with('>')).unwrap_or(text);
    line.rsplit_once(". ").map_or(line, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_what_a_community_of_two_months_needs() {
        let texts = Texts::read();
        assert_eq!((texts.stories.len(), texts.people.len(), texts.spam.len()), (300, 37, 4));
        let titles: HashSet<&str> = texts.stories.iter().map(|story| story.title).collect();
        assert_eq!(titles.len(), 300);
        assert!(texts.topics.iter().all(|topic| topic.sentences.len() >= 8 && !topic.hosts.is_empty()));
    }

    #[test]
    fn no_text_of_a_long_thread_is_there_twice_and_none_has_a_gap() {
        let texts = Texts::read();
        let mut composer = Composer::new(&texts, &texts.stories[0]);
        let mut random = Random::new(1);
        let mut comments: Vec<String> = Vec::new();
        for _ in 0..400 {
            let answered = if random.chance(30) { None } else { random.pick(&comments).cloned() };
            comments.push(composer.compose(&mut random, answered.as_deref()));
        }
        assert!(comments.iter().all(|text| !text.contains('{') && !text.is_empty()));
        assert!(comments.iter().collect::<HashSet<_>>().len() >= 390);
    }
}
