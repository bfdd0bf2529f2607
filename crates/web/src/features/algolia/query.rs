//! The parameters of a search, and the search that they make.

use crate::error::{RequestError, Result};
use crate::limits::{HIT_CHARACTERS, HIT_FILTERS, HIT_WORDS, MOST_HITS, PAGE_HITS};
use crate::request::form::{filled, parsed};
use crate::request::{Fields, FromFields};
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use tidings_domain::items::Item;
use tidings_domain::numbered::lists::StoryKind;
use tidings_domain::values::{HackerNewsRules, ItemNumber, NewsId};
use tidings_language::{Message, m};
use tidings_search::index::Kind;
use tidings_search::language::StoryKind as FoundKind;
use tidings_search::language::{Bounds, MIN_PREFIX, Search, Term, What};
use tidings_text::words::asked;

/// The parameters of a search.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub struct HitsQuery {
    /// The words, at most 512 characters, of which the first 10 words count.
    #[cfg_attr(test, param(required = false, max_length = 512))]
    pub query: String,
    #[cfg_attr(test, param(ignore))]
    words: Vec<Term>,
    /// `story`, `comment`, `job`, `ask_hn`, `show_hn`, `front_page`, `author_NAME` or `story_N`. All must be
    /// there; of those in parentheses, one.
    #[cfg_attr(test, param(value_type = String, required = false))]
    pub tags: Vec<Vec<Tag>>,
    /// Conditions on `created_at_i`, `points` and `num_comments`, with commas between them or as a JSON array. All must
    /// hold; of those in an array within it, one.
    #[cfg_attr(test, param(value_type = String, required = false, rename = "numericFilters"))]
    filters: Vec<Vec<(Attribute, Bounds)>>,
    /// The page, from 0.
    #[cfg_attr(test, param(value_type = u64, required = false))]
    pub page: usize,
    /// The hits on a page, 20 by default, at most 1,000.
    #[cfg_attr(test, param(value_type = u64, required = false, rename = "hitsPerPage"))]
    pub hits: usize,
    /// The names of the attributes to return; `None` for all.
    #[cfg_attr(test, param(ignore))]
    pub retrieved: Option<Vec<String>>,
    /// The names of the attributes in which words are marked; `None` for all.
    #[cfg_attr(test, param(ignore))]
    pub highlighted: Option<Vec<String>>,
}

/// A tag of a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// Stories.
    Story,
    /// Comments.
    Comment,
    /// Stories of a kind.
    Kind(StoryKind),
    /// Stories of the first page.
    FrontPage,
    /// Stories and comments of a person.
    Author(String),
    /// A story and its comments.
    OfStory(ItemNumber),
    /// No hit has it.
    Other,
}

/// The tags that have a name alone.
static NAMED: [(&str, Tag); 6] = [
    ("story", Tag::Story),
    ("comment", Tag::Comment),
    ("job", Tag::Kind(StoryKind::Job)),
    ("ask_hn", Tag::Kind(StoryKind::Ask)),
    ("show_hn", Tag::Kind(StoryKind::Show)),
    ("front_page", Tag::FrontPage),
];

impl Tag {
    fn parse(tag: &str) -> Self {
        let named = NAMED.iter().find(|(name, _)| *name == tag).map(|(_, named)| named.clone());
        named.unwrap_or_else(|| match (tag.strip_prefix("author_"), tag.strip_prefix("story_")) {
            (Some(name), _) => Self::Author(name.to_owned()),
            (_, Some(number)) => number.parse().map_or(Self::Other, Self::OfStory),
            _ => Self::Other,
        })
    }

    /// Whether a search for this tag finds a hit that has the other one.
    fn finds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Author(name), Self::Author(author)) => author.eq_ignore_ascii_case(name),
            _ => self == other && *self != Self::Other,
        }
    }

    /// Whether only stories have it.
    const fn is_of_stories(&self) -> bool {
        matches!(self, Self::Story | Self::Kind(_) | Self::FrontPage)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Author(name) => write!(formatter, "author_{name}"),
            Self::OfStory(number) => write!(formatter, "story_{number}"),
            tag => NAMED
                .iter()
                .filter(|(_, named)| named == tag)
                .try_for_each(|(name, _)| formatter.write_str(name)),
        }
    }
}

/// A number of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attribute {
    Time,
    Points,
    Comments,
}

/// Where words are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Titles,
    Addresses,
    Authors,
}

impl FromFields for HitsQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let query = fields.text("query").to_owned();
        if query.chars().count() > HIT_CHARACTERS {
            return Err(RequestError::field("query", m!("it must have at most 512 characters")));
        }
        let tags = tags(fields.text("tags")).ok_or(RequestError::field("tags", TAGS))?;
        let filters = filters(fields.text("numericFilters"));
        let filters = filters.ok_or(RequestError::field("numericFilters", NUMERIC_FILTERS))?;
        let is_advanced = fields.text("advancedSyntax") == "true";
        let place = place(fields.text("restrictSearchableAttributes"));
        let number = |name, default: usize, expected| {
            filled(parsed(expected))(fields, name).map(|number| number.unwrap_or(default))
        };
        Ok(Self {
            words: terms(&query, is_advanced, place),
            query,
            tags,
            filters,
            page: number("page", 0, m!("it must be the number of a page, from 0"))?,
            hits: number("hitsPerPage", PAGE_HITS, m!("it must be a whole number"))?.min(MOST_HITS),
            retrieved: names(fields.get("attributesToRetrieve")),
            highlighted: names(fields.get("attributesToHighlight")),
        })
    }
}

const TAGS: &Message =
    m!("it must be tags with commas between them, at most 16, of which parentheses join some");
const NUMERIC_FILTERS: &Message = m!(
    "it must be conditions with commas between them or a JSON array of them, at most 16, such as created_at_i>1700000000, points>=10 or num_comments!=5"
);

/// The names in a list; `None` for all.
fn names(list: Option<&str>) -> Option<Vec<String>> {
    let names: Vec<String> =
        list?.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if names.iter().any(|name| name == "*") { None } else { Some(names) }
}

/// Tags with commas between them; of those in parentheses, one is enough, and parentheses within them say
/// nothing more. `None` if there are too many, or parentheses without others.
fn tags(text: &str) -> Option<Vec<Vec<Tag>>> {
    let mut groups = vec![Vec::new()];
    let mut depth = 0_usize;
    let add = |groups: &mut Vec<Vec<Tag>>, tag: &str| {
        if let (false, Some(group)) = (tag.is_empty(), groups.last_mut()) {
            group.push(Tag::parse(tag));
        }
    };
    let mut rest = text;
    while let Some(end) = rest.find(['(', ')', ',']) {
        let (tag, after) = (rest[..end].trim(), &rest[end + 1..]);
        add(&mut groups, tag);
        match rest.as_bytes()[end] {
            // A tag is not called.
            b'(' if !tag.is_empty() => return None,
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => groups.push(Vec::new()),
            _ => {}
        }
        if rest.as_bytes()[end] == b')'
            && !after.trim_start().is_empty()
            && !after.trim_start().starts_with([')', ','])
        {
            return None;
        }
        rest = after;
    }
    add(&mut groups, rest.trim());
    groups.retain(|group| !group.is_empty());
    (depth == 0 && groups.iter().map(Vec::len).sum::<usize>() <= HIT_FILTERS).then_some(groups)
}

/// Conditions with commas between them, or in a JSON array; of those in an array within it, one is enough. `None` if
/// one of them is none, or there are too many.
fn filters(text: &str) -> Option<Vec<Vec<(Attribute, Bounds)>>> {
    let conditions: Vec<Vec<String>> = if text.trim_start().starts_with('[') {
        let groups: Vec<FilterGroup> = serde_json::from_str(text).ok()?;
        groups.into_iter().map(FilterGroup::conditions).collect()
    } else {
        let conditions = text.split(',').map(str::trim).filter(|condition| !condition.is_empty());
        conditions.map(|condition| vec![condition.to_owned()]).collect()
    };
    if conditions.iter().map(Vec::len).sum::<usize>() > HIT_FILTERS || conditions.iter().any(Vec::is_empty) {
        return None;
    }
    let group = |conditions: Vec<String>| {
        let read: Vec<Vec<_>> =
            conditions.iter().map(|condition| filter(condition)).collect::<Option<_>>()?;
        Some(read.into_iter().flatten().collect())
    };
    conditions.into_iter().map(group).collect()
}

/// An element of the JSON array of conditions.
#[derive(Deserialize)]
#[serde(untagged)]
enum FilterGroup {
    One(String),
    Any(Vec<String>),
}

impl FilterGroup {
    fn conditions(self) -> Vec<String> {
        match self {
            Self::One(condition) => vec![condition],
            Self::Any(conditions) => conditions,
        }
    }
}

/// A condition as the bounds of which one must hold. Only whole numbers are compared with it.
fn filter(condition: &str) -> Option<Vec<(Attribute, Bounds)>> {
    let (name, rest) = condition.split_at(condition.find(['<', '=', '>', '!'])?);
    let attribute = match name.trim() {
        "created_at_i" => Attribute::Time,
        "points" => Attribute::Points,
        "num_comments" => Attribute::Comments,
        _ => return None,
    };
    let after = |operator: &str| number(rest.strip_prefix(operator)?.trim());
    // The number itself if it is whole; otherwise the whole numbers below and above it.
    let bounds = if let Some((below, _)) = after("<=") {
        vec![Bounds::until(below)]
    } else if let Some((_, above)) = after(">=") {
        vec![Bounds::from(above)]
    } else if let Some((_, above)) = after("<") {
        vec![Bounds::until(above.checked_sub(1)?)]
    } else if let Some((below, _)) = after(">") {
        vec![Bounds::from(below.checked_add(1)?)]
    } else if let Some((below, above)) = after("!=") {
        let (least, most) =
            if below == above { (above.checked_add(1)?, below.checked_sub(1)?) } else { (above, below) };
        vec![Bounds::until(most), Bounds::from(least)]
    } else {
        let (below, above) = after("=")?;
        // Nothing is equal to a number that is not whole.
        vec![Bounds { least: above, most: below }]
    };
    Some(bounds.into_iter().map(|bounds| (attribute, bounds)).collect())
}

/// The whole numbers next to a number, below and above: twice itself if it is whole.
#[allow(clippy::cast_possible_truncation)]
fn number(text: &str) -> Option<(i64, i64)> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some((whole, whole));
    }
    let number: f64 = text.parse().ok()?;
    (number.abs() <= MOST_EXACT).then_some((number.floor() as i64, number.ceil() as i64))
}

/// Above this, not every whole number is a float: 2^53.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

fn place(attributes: &str) -> Place {
    let mut names = attributes.split(',').map(str::trim).filter(|name| !name.is_empty());
    match (names.next(), names.next()) {
        (Some("title"), None) => Place::Titles,
        (Some("url"), None) => Place::Addresses,
        (Some("author"), None) => Place::Authors,
        _ => Place::Anywhere,
    }
}

/// The terms of a query: all of its words must match, the last one as the beginning of a word too.
fn terms(query: &str, is_advanced: bool, place: Place) -> Vec<Term> {
    let trimmed = query.trim();
    match place {
        _ if trimmed.is_empty() => return Vec::new(),
        Place::Addresses if trimmed.contains("://") => return vec![Term::of(What::Url(trimmed.to_owned()))],
        Place::Addresses if trimmed.contains('.') && !trimmed.contains(char::is_whitespace) => {
            let host = trimmed.to_lowercase();
            return vec![Term::of(What::Site(host.strip_prefix("www.").unwrap_or(&host).to_owned()))];
        }
        Place::Authors => return vec![Term::of(What::By(trimmed.to_owned()))],
        _ => {}
    }
    let in_place = |words: Vec<String>| match place {
        Place::Titles => What::Title(words),
        _ => What::Words(words),
    };
    let mut terms = Vec::new();
    let parts = if is_advanced { advanced_parts(trimmed) } else { vec![Part::plain(trimmed)] };
    for Part { text, is_phrase, is_excluded } in parts {
        let words = asked(text);
        if is_phrase {
            let what =
                if place == Place::Titles { What::Title(words.clone()) } else { What::Phrase(words.clone()) };
            if !words.is_empty() {
                terms.push(Term { is_excluded, ..Term::of(what) });
            }
        } else {
            terms
                .extend(words.into_iter().map(|word| Term { is_excluded, ..Term::of(in_place(vec![word])) }));
        }
    }
    terms.truncate(HIT_WORDS);
    terms
}

/// A part of a query.
struct Part<'a> {
    text: &'a str,
    is_phrase: bool,
    is_excluded: bool,
}

impl<'a> Part<'a> {
    const fn plain(text: &'a str) -> Self {
        Self { text, is_phrase: false, is_excluded: false }
    }
}

/// The parts of a query in which quotation marks join words and a minus excludes them.
fn advanced_parts(query: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (is_excluded, text) = match rest.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, rest),
        };
        let quoted = text.strip_prefix('"').and_then(|text| text.split_once('"'));
        let (text, is_phrase, after) = match quoted {
            Some((phrase, after)) => (phrase, true, after),
            None => {
                let (word, after) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
                (word, false, after)
            }
        };
        parts.push(Part { text, is_phrase, is_excluded });
        rest = after.trim_start();
    }
    parts
}

/// The current meaning of the tags of a search.
pub struct Known<'a> {
    /// Which stories are of a kind.
    pub rules: &'a HackerNewsRules,
    /// The stories of the first page.
    pub front_page: &'a [NewsId],
    /// The stories that tags name.
    pub stories: &'a HashMap<ItemNumber, NewsId>,
}

impl HitsQuery {
    /// The numbers of stories that its tags name.
    pub fn stories(&self) -> Vec<ItemNumber> {
        let numbers = self.tags.iter().flatten().filter_map(|tag| match tag {
            Tag::OfStory(number) => Some(*number),
            _ => None,
        });
        numbers.collect()
    }

    /// Whether a hit with these tags matches: it needs a tag of each group of the query.
    pub fn fits(&self, tags: &[Tag]) -> bool {
        self.tags.iter().all(|group| group.iter().any(|tag| tags.iter().any(|own| tag.finds(own))))
    }

    /// The places of the hits of its page among all.
    pub fn places(&self) -> Range<usize> {
        let start = self.page.saturating_mul(self.hits).min(MOST_HITS);
        start..start.saturating_add(self.hits).min(MOST_HITS)
    }

    /// Whether it looks for words.
    pub const fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// The words that it looks for, in lower case.
    pub fn looked_for(&self) -> Vec<String> {
        let words = self.words.iter().filter(|term| !term.is_excluded).flat_map(|term| term.words());
        words.cloned().collect()
    }

    /// The only kind of hits that it has, if there is one.
    pub fn kind(&self) -> Option<Kind> {
        let is_all = |of: fn(&Tag) -> bool| self.tags.iter().any(|group| group.iter().all(of));
        let counts = |(attribute, _): &(Attribute, Bounds)| *attribute != Attribute::Time;
        if is_all(Tag::is_of_stories) || self.filters.iter().any(|group| group.iter().all(counts)) {
            Some(Kind::Story)
        } else if is_all(|tag| *tag == Tag::Comment) {
            Some(Kind::Comment)
        } else {
            None
        }
    }

    /// The search.
    pub fn search(&self, known: &Known<'_>) -> Search {
        let mut groups: Vec<Vec<Term>> =
            vec![vec![Term::of(What::Of(Kind::Story)), Term::of(What::Of(Kind::Comment))]];
        for (number, term) in self.words.iter().enumerate() {
            let mut group = vec![term.clone()];
            if number + 1 == self.words.len()
                && !term.is_excluded
                && let What::Words(words) = &term.what
                && let [word] = &words[..]
                && word.chars().count() >= MIN_PREFIX
            {
                group.push(Term::of(What::Prefix(word.clone())));
            }
            groups.push(group);
        }
        groups.extend(self.tags.iter().map(|group| group.iter().flat_map(|tag| known.terms(tag)).collect()));
        let term = |(attribute, bounds): &(Attribute, Bounds)| {
            Term::of(match attribute {
                Attribute::Time => What::Time(*bounds),
                Attribute::Points => What::Votes(*bounds),
                Attribute::Comments => What::Comments(*bounds),
            })
        };
        groups.extend(self.filters.iter().map(|group| group.iter().map(term).collect()));
        Search { groups, ignored: Vec::new() }
    }
}

impl Known<'_> {
    /// The terms of a tag: at least one. They may find more than has the tag.
    fn terms(&self, tag: &Tag) -> Vec<Term> {
        let nothing = || What::Ids(Vec::new());
        let begins = |kind: FoundKind, prefixes: &[String]| -> Vec<What> {
            let of_prefix = |prefix: &String| match asked(prefix) {
                words if words.first().is_some_and(|first| first == kind.name()) => What::Is(kind),
                words if words.is_empty() => What::Of(Kind::Story),
                words => What::Title(words),
            };
            if prefixes.is_empty() { vec![nothing()] } else { prefixes.iter().map(of_prefix).collect() }
        };
        let terms = match tag {
            Tag::Story => vec![What::Of(Kind::Story)],
            Tag::Comment => vec![What::Of(Kind::Comment)],
            Tag::Kind(StoryKind::Ask) => begins(FoundKind::Ask, self.rules.ask_prefixes.prefixes()),
            Tag::Kind(StoryKind::Show) => begins(FoundKind::Show, self.rules.show_prefixes.prefixes()),
            Tag::Kind(StoryKind::Job) => match &self.rules.jobs_topic.0 {
                Some(topic) => vec![What::Topic(topic.to_string())],
                None => vec![nothing()],
            },
            Tag::FrontPage => {
                vec![What::Ids(self.front_page.iter().map(|id| Item::Story(*id).to_string()).collect())]
            }
            Tag::Author(name) => vec![What::By(name.clone())],
            Tag::OfStory(number) => match self.stories.get(number) {
                Some(id) => vec![What::In(id.0)],
                None => vec![nothing()],
            },
            Tag::Other => vec![nothing()],
        };
        terms.into_iter().map(Term::of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_joined_by_commas_and_parentheses() {
        use Tag::{Comment, Story};
        assert_eq!(tags("").unwrap(), Vec::<Vec<Tag>>::new());
        assert_eq!(tags("story").unwrap(), [vec![Story]]);
        assert_eq!(
            tags("author_pg,(story,poll), (comment)").unwrap(),
            [vec![Tag::Author("pg".to_owned())], vec![Story, Tag::Other], vec![Comment]]
        );
        assert_eq!(tags("story_17,story_x").unwrap(), [vec![Tag::OfStory(ItemNumber(17))], vec![Tag::Other]]);
        assert_eq!(tags("((story,comment),poll)").unwrap(), [vec![Story, Comment, Tag::Other]]);
        for wrong in ["(story", "a(story)", "(story)comment", "story)", &"story,".repeat(17)] {
            assert_eq!(tags(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn filters_compare_numbers() {
        let all = filters("created_at_i>10, points<=5,num_comments = 3,points>=-1,points<2").unwrap();
        let bounds = |groups: Vec<Vec<(Attribute, Bounds)>>| -> Vec<Vec<(i64, i64)>> {
            let group = |group: Vec<(Attribute, Bounds)>| {
                group.into_iter().map(|(_, bounds)| (bounds.least, bounds.most)).collect()
            };
            groups.into_iter().map(group).collect()
        };
        let (least, most) = (i64::MIN, i64::MAX);
        assert_eq!(
            bounds(all),
            [vec![(11, most)], vec![(least, 5)], vec![(3, 3)], vec![(-1, most)], vec![(least, 1)]]
        );
        for (text, expected) in [
            ("created_at_i>1661122800.0", vec![vec![(1_661_122_801, most)]]),
            ("points>1.5,points<1.5", vec![vec![(2, most)], vec![(least, 1)]]),
            ("points>=1.5,points<=1.5", vec![vec![(2, most)], vec![(least, 1)]]),
            ("points=1.5", vec![vec![(2, 1)]]),
            ("points!=3", vec![vec![(least, 2), (4, most)]]),
            ("points != 1.5", vec![vec![(least, 1), (2, most)]]),
            (
                r#"["points>1", ["points=2", "num_comments<3"]]"#,
                vec![vec![(2, most)], vec![(2, 2), (least, 2)]],
            ),
            ("[]", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(bounds(filters(text).unwrap()), expected, "{text}");
        }
        let many = format!("[{}\"points>1\"]", "\"points>1\",".repeat(16));
        let invalid = "points|points>|votes>3|points>x|points==3|>3|points>NaN|points>inf|[1]|[[]]|\
            [\"points\"";
        for wrong in invalid.split('|').chain([&*many]) {
            assert_eq!(filters(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn quotes_and_minus_count_in_the_advanced_syntax_alone() {
        let read = |query: &str, is_advanced| -> Vec<(bool, What)> {
            terms(query, is_advanced, Place::Anywhere)
                .into_iter()
                .map(|term| (term.is_excluded, term.what))
                .collect()
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            read("\"Two words\" -third", true),
            [(false, What::Phrase(words(&["two", "words"]))), (true, What::Words(words(&["third"])))]
        );
        let plain = read("\"Two words\" -third", false);
        assert_eq!(plain.iter().filter(|(is_excluded, _)| !is_excluded).count(), 3);
    }
}
