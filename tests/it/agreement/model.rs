//! The truth about the site of a walk: who wrote which word, and who may read it. It follows from the steps, and
//! knows nothing of keys, lists and caches.

use std::collections::{BTreeMap, BTreeSet};

/// A word that nothing else on the site has, by its number.
pub type Word = usize;

/// A person, by the order of joining.
pub type Person = usize;

/// The number of the step that has made something.
pub type Made = usize;

/// The letters of words: none of them ends a form of an English word.
const LETTERS: &[u8; 16] = b"bcdfghjklmnprtvw";

/// The beginning and the end of all words, which nothing else on a page has.
const START: &str = "zq";
const END: u8 = b'x';
const LENGTH: usize = 7;

/// The text of a word.
pub fn text_of(word: Word) -> String {
    let letter = |shift: usize| char::from(LETTERS[word >> shift & 15]);
    format!("{START}{}{}{}{}{}", letter(12), letter(8), letter(4), letter(0), char::from(END))
}

/// The words in an answer, as often as they are there.
pub fn words_in(answer: &[u8]) -> Vec<Word> {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let found = text.match_indices(START).filter_map(|(at, _)| {
        let letters = text.as_bytes().get(at + START.len()..at + LENGTH)?;
        let places = letters[..4].iter().map(|letter| LETTERS.iter().position(|known| known == letter));
        let word = places.into_iter().try_fold(0, |word, place| Some(word << 4 | place?))?;
        (letters[4] == END).then_some(word)
    });
    found.collect()
}

/// The kinds of things that people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Story,
    Comment,
    Tweet,
    Profile,
}

/// The part of a thing, or of moderation, that a word is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Title,
    Url,
    Text,
    Name,
    /// The reason of a line of the log.
    Reason,
    /// The reason of a decision about which only moderators know, and what else is theirs alone.
    Staff,
    /// The note of a flag.
    Note,
    /// A message to moderators or an appeal.
    Message,
}

/// The state of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Open,
    Flagged,
    Held,
    Rejected,
    Removed,
    Merged,
    Deleted,
    Erased,
}

/// A story, comment, tweet or profile.
#[derive(Debug, Clone)]
pub struct Thing {
    pub kind: Kind,
    /// As calls about moderation name it.
    pub id: String,
    pub author: Person,
    /// The story of a comment.
    pub story: Option<Made>,
    pub state: State,
    /// The state that a removal or a merge ends with.
    pub before: State,
    /// The story into which this one is merged.
    pub into: Option<Made>,
    pub words: BTreeMap<Place, Word>,
    pub host: Option<usize>,
    pub topic: Option<String>,
    /// The person whom the text mentions, and has told so.
    pub mentions: Option<Person>,
}

impl Thing {
    /// Something new that everybody sees.
    pub fn new(kind: Kind, id: String, author: Person, words: BTreeMap<Place, Word>) -> Self {
        Self {
            kind,
            id,
            author,
            story: None,
            state: State::Open,
            before: State::Open,
            into: None,
            words,
            host: None,
            topic: None,
            mentions: None,
        }
    }

    /// It is erased; while it is merged, its page goes on naming it.
    pub fn erase(&mut self) {
        self.words.clear();
        match self.state {
            State::Merged => self.before = State::Erased,
            _ => self.state = State::Erased,
        }
    }

    /// It comes back as it was, unless it was erased.
    pub fn return_to(&mut self, (state, before): (State, State), into: Option<Made>) {
        if self.before != State::Erased {
            (self.state, self.before) = (state, before);
        } else if self.state == State::Merged {
            self.state = State::Erased;
        }
        self.into = into;
    }

    pub fn number(&self) -> u64 {
        self.id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

/// The origin of a word.
#[derive(Debug, Clone)]
pub struct Source {
    pub place: Place,
    pub by: Person,
    /// The thing that it is in.
    pub thing: Option<Made>,
}

/// Somebody on the site.
#[derive(Debug, Clone, Default)]
pub struct Member {
    pub name: String,
    pub is_staff: bool,
    pub is_banned: bool,
    pub has_left: bool,
}

/// A line of the log.
#[derive(Debug, Clone)]
pub struct Line {
    pub id: u64,
    pub action: &'static str,
    pub about: Made,
    /// The thing before the action.
    pub before: Option<Thing>,
    pub is_undone: bool,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Model {
    pub people: Vec<Member>,
    pub things: BTreeMap<Made, Thing>,
    pub sources: Vec<Source>,
    pub lines: BTreeMap<Made, Line>,
    /// The names of those who have applied and are not accepted.
    pub applicants: BTreeMap<Made, String>,
    /// The names of topics.
    pub topics: Vec<String>,
    /// The lines with an appeal that waits.
    pub appeals: Vec<Made>,
    /// The mutes: by a person, of another.
    pub mutes: BTreeSet<(Person, Person)>,
    pub blocks: BTreeSet<(Person, Person)>,
    /// The stories that a person hides.
    pub hidden: BTreeSet<(Person, Made)>,
}

impl Model {
    pub fn new(topics: usize) -> Self {
        Self { topics: (0..topics).map(|number| format!("subject{number}")).collect(), ..Self::default() }
    }

    /// A new word.
    pub fn word(&mut self, place: Place, by: Person, thing: Option<Made>) -> Word {
        self.sources.push(Source { place, by, thing });
        self.sources.len() - 1
    }

    /// Whether a word is what a thing says now.
    pub fn is_current(&self, word: Word) -> bool {
        let source = &self.sources[word];
        let thing = source.thing.and_then(|made| self.things.get(&made));
        thing.is_some_and(|thing| thing.words.get(&source.place) == Some(&word))
    }

    /// Whether somebody decides about a thing or has written it.
    pub fn is_insider(&self, viewer: Option<Person>, thing: &Thing) -> bool {
        viewer.is_some_and(|viewer| viewer == thing.author || self.people[viewer].is_staff)
    }

    /// The story that a thread is shown with.
    pub fn shown_with(&self, story: Made) -> &Thing {
        let thing = &self.things[&story];
        match thing.into {
            Some(into) if thing.state == State::Merged => self.shown_with(into),
            _ => thing,
        }
    }

    /// Whether a thing itself may be read.
    fn is_readable(&self, viewer: Option<Person>, thing: &Thing) -> bool {
        match thing.state {
            // The page of the other story names what was merged into it.
            State::Open | State::Merged => true,
            State::Flagged | State::Held | State::Rejected | State::Removed => self.is_insider(viewer, thing),
            State::Deleted | State::Erased => false,
        }
    }

    /// Whether somebody may read a thing anywhere.
    pub fn may_read(&self, viewer: Option<Person>, thing: &Thing) -> bool {
        let is_hidden = thing.kind == Kind::Profile
            && (self.people[thing.author].is_banned && !self.is_insider(viewer, thing)
                || self.people[thing.author].has_left);
        if is_hidden || !self.is_readable(viewer, thing) {
            return false;
        }
        let Some(story) = thing.story else { return true };
        let story = self.shown_with(story);
        // Comments stay when their story is gone, unless nobody was ever shown it.
        !matches!(story.state, State::Held | State::Rejected)
            || self.is_readable(viewer, story)
            || self.is_insider(viewer, thing)
    }

    /// Whether somebody may be sent a word.
    pub fn may_see(&self, viewer: Option<Person>, word: Word) -> bool {
        let source = &self.sources[word];
        let is_staff = viewer.is_some_and(|viewer| self.people[viewer].is_staff);
        match source.place {
            Place::Reason => true,
            Place::Staff | Place::Note => is_staff,
            Place::Message => is_staff || viewer == Some(source.by),
            Place::Title | Place::Url | Place::Text | Place::Name => {
                let Some(thing) = source.thing.and_then(|made| self.things.get(&made)) else { return false };
                // Messages tell people what of theirs a decision is about.
                if viewer == Some(source.by) && thing.state != State::Erased {
                    return true;
                }
                // A flagged thing waits for moderators, and the log names the things that it is about.
                if is_staff && thing.state == State::Deleted {
                    return true;
                }
                self.is_current(word)
                    && (self.may_read(viewer, thing) || self.is_name_of_flagged(thing, source.place))
            }
        }
    }

    /// Flags against a profile hide its text alone.
    pub fn is_name_of_flagged(&self, thing: &Thing, place: Place) -> bool {
        let author = &self.people[thing.author];
        place == Place::Name && thing.state == State::Flagged && !author.is_banned && !author.has_left
    }

    /// Whether lists show a thing to somebody.
    pub fn is_listed(&self, viewer: Option<Person>, thing: &Thing) -> bool {
        let is_open = |thing: &Thing| match thing.state {
            State::Open => true,
            State::Flagged => self.is_insider(viewer, thing),
            State::Held
            | State::Rejected
            | State::Removed
            | State::Merged
            | State::Deleted
            | State::Erased => false,
        };
        is_open(thing)
            && match thing.story {
                // The comments of a merged story are on the page of the other alone.
                Some(story) => is_open(&self.things[&story]),
                None => true,
            }
    }

    /// The comments that count for a story, on the pages of the story itself.
    pub fn count_of(&self, story: Made) -> usize {
        let counts = |thing: &&Thing| {
            thing.story == Some(story) && matches!(thing.state, State::Open | State::Flagged)
        };
        self.things.values().filter(counts).count()
    }

    /// Things of a kind, with the steps that have made them.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (Made, &Thing)> {
        self.things.iter().filter(move |(_, thing)| thing.kind == kind).map(|(made, thing)| (*made, thing))
    }

    /// A word in other words.
    pub fn describe(&self, word: Word) -> String {
        let source = &self.sources[word];
        let Some(thing) = source.thing.and_then(|made| self.things.get(&made)) else {
            return format!("{:?}", source.place);
        };
        let age = if self.is_current(word) { "" } else { "former " };
        let author = &self.people[thing.author];
        let of = match (author.is_banned, author.has_left) {
            (_, true) => " of one who has left",
            (true, _) => " of one who is banned",
            _ => "",
        };
        let story = thing.story.map_or(String::new(), |story| {
            let story = &self.things[&story];
            let into = story.into.map_or(String::new(), |_| {
                format!(" into {:?}", self.shown_with(thing.story.unwrap_or_default()).state)
            });
            format!(" on a story that is {:?}{into}", story.state)
        });
        format!("{age}{:?} of {:?} that is {:?}{of}{story}", source.place, thing.kind, thing.state)
    }
}
