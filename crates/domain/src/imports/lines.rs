//! Lines of an archive of Hacker News: a JSON object each, in the shape of its API.
//!
//! A line is an item, a person, or `null`. An export of this site has two more kinds, `topic` and `site`, and more
//! members: the text as it was typed, topics, and votes up and down.

use crate::imports::ImportedStory;
use crate::values::{
    Body, FullName, Hostname, ImportedName, ImportedVotes, InputError, ItemNumber, MAX_IMPORTED_COUNT,
    MAX_IMPORTED_TEXT_BYTES, MAX_IMPORTED_TITLE, NewsUrl, NotAName, Timestamp, Topic, TopicSentence, Topics,
    UrlError, decoded, grouped, is_unfit_for_line, markdown_of_html, text_of_html,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

/// Above this, numbers are not exact as scores: 2^53.
const MAX_NUMBER: u64 = 1 << 53;

/// A line of an archive.
#[derive(Debug, Clone)]
pub enum ArchiveLine {
    /// A story.
    Story(ArchivedStory),
    /// A comment, or the place of one that is gone.
    Comment(ArchivedComment),
    /// A person.
    Person(ArchivedPerson),
    /// A topic with its sentence.
    Topic(Topic, TopicSentence),
    /// The votes on a site.
    SiteVotes(Hostname, ArchivedVotes),
    /// Nothing that can be imported, and no mistake.
    Nothing(Missing),
}

/// A kind of item that an archive does not have, or that this site does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// `null`: there is no such item.
    Item,
    /// The item was deleted.
    Deleted,
    /// The item was hidden.
    Dead,
    /// A poll, or a choice of one.
    Poll,
}

/// A story.
#[derive(Debug, Clone)]
pub struct ArchivedStory {
    /// The number there.
    pub number: u64,
    /// The author; `None` for somebody who has left.
    pub by: Option<ImportedName>,
    /// Its content.
    pub content: ImportedStory,
    /// Whether it offers work.
    pub is_job: bool,
}

/// A comment.
#[derive(Debug, Clone)]
pub struct ArchivedComment {
    /// The number there.
    pub number: u64,
    /// The number of what it replies to.
    pub parent: u64,
    /// The author; `None` for somebody who has left, and for a comment that is gone.
    pub by: Option<ImportedName>,
    /// The text, or why there is none: then only its place is kept, for the replies.
    pub body: Result<Body, Missing>,
    /// When.
    pub posted: Timestamp,
    /// The votes there.
    pub votes: ImportedVotes,
}

/// A person.
#[derive(Debug, Clone)]
pub struct ArchivedPerson {
    /// The name there.
    pub name: ImportedName,
    /// When the account was created.
    pub created: Timestamp,
    /// The karma there.
    pub karma: Option<i64>,
    /// The text of the profile.
    pub about: Option<Body>,
    /// The name that is shown beside the username.
    pub fullname: Option<FullName>,
}

/// Votes up and down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedVotes {
    /// Votes up.
    #[serde(deserialize_with = "whole")]
    pub up: i64,
    /// Votes down.
    #[serde(deserialize_with = "whole")]
    pub down: i64,
}

/// Why a line is refused. The operator sees the message after the number of the line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or another shape.
    #[error("it is no item of Hacker News: {0}")]
    Shape(String),
    /// The number is 0 or too large.
    #[error("{0} is no number of an item")]
    Number(u64),
    /// A member is missing.
    #[error("it has no {0:?}")]
    Absent(&'static str),
    /// A number of votes or karma is out of range.
    #[error("its {0} {1} is not between -{most} and {most}", most = MAX_IMPORTED_COUNT)]
    Range(&'static str, i64),
    /// The time is after the present.
    #[error("its time {0} is in the future")]
    Future(i64),
    /// The time is before 1970.
    #[error("its time {0} is before 1970")]
    Past(i64),
    /// The type is none that is known.
    #[error("its type {0:?} is unknown")]
    Type(String),
    /// A person's name.
    #[error("its author {0:?} cannot be imported: {1}")]
    Name(String, NotAName),
    /// The title or another line of text is too long.
    #[error("its {0} has more than {1} characters")]
    TooLong(&'static str, usize),
    /// The text is too large.
    #[error("its {0} has more than {most} bytes", most = grouped(MAX_IMPORTED_TEXT_BYTES as u64))]
    TooLarge(&'static str),
    /// A control character, or one that turns the direction of a line.
    #[error("its {0} has a control character (U+{1:04X})")]
    Control(&'static str, u32),
    /// Nothing visible.
    #[error("its {0} is empty")]
    Empty(&'static str),
    /// The link.
    #[error("its link cannot be imported")]
    Link(#[source] UrlError),
    /// Something else that people type.
    #[error(transparent)]
    Input(InputError),
    /// Not a host.
    #[error("{0:?} is no site")]
    Site(String),
}

/// A line as it is written, also in answers of the API. Other members are skipped.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WrittenLine {
    /// The text of a profile as HTML, or the sentence of a topic.
    pub about: Option<String>,
    /// The author's name.
    pub by: Option<String>,
    /// When an account was made, in Unix seconds.
    pub created: Option<WholeNumber>,
    /// Whether flags have hidden an item.
    pub dead: Option<bool>,
    /// Whether an item is deleted or removed.
    pub deleted: Option<bool>,
    /// All comments of a story.
    #[serde(skip_deserializing)]
    pub descendants: Option<u64>,
    /// The number of an item, the name of a person or a topic, or a site.
    pub id: Id,
    /// The karma of a person.
    pub karma: Option<WholeNumber>,
    /// The comments directly below an item, in reading order.
    #[serde(skip_deserializing)]
    pub kids: Option<Vec<ItemNumber>>,
    /// The item that a comment replies to.
    pub parent: Option<WholeNumber>,
    /// Votes up minus votes down, of a story.
    pub score: Option<WholeNumber>,
    /// The newest stories and comments of a person.
    #[serde(skip_deserializing)]
    pub submitted: Option<Vec<ItemNumber>>,
    /// The text as HTML.
    pub text: Option<String>,
    /// The time of posting, in Unix seconds.
    pub time: Option<WholeNumber>,
    /// The title.
    pub title: Option<String>,
    /// The kind of an item, or of another line.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The link.
    pub url: Option<String>,
    /// The text as it was typed.
    pub source_text: Option<String>,
    /// The full name of a person.
    pub fullname: Option<String>,
    /// The topics of a story.
    pub topics: Option<Vec<String>>,
    /// The votes on an item or a site.
    pub votes: Option<ArchivedVotes>,
}

/// The subject of a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An item.
    Number(WholeNumber),
    /// Something else.
    Name(String),
}

impl Default for Id {
    fn default() -> Self {
        Self::Number(WholeNumber(0))
    }
}

/// A whole number. Some programs write it with decimals: `1700000000.0`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WholeNumber(pub i64);

impl From<u64> for WholeNumber {
    fn from(number: u64) -> Self {
        Self(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'de> Deserialize<'de> for WholeNumber {
    #[allow(clippy::cast_possible_truncation)]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_NUMBER as f64);
        let whole = number.as_i64().or(float.map(|float| float as i64));
        whole.map(Self).ok_or_else(|| D::Error::custom(format!("{number} is no whole number")))
    }
}

/// Reads a number as [`WholeNumber`].
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    WholeNumber::deserialize(deserializer).map(|WholeNumber(number)| number)
}

impl ArchiveLine {
    /// Reads a line; `now` is the latest time that it may have.
    ///
    /// # Errors
    /// The sentence that says why it is refused.
    pub fn parse(line: &[u8], now: Timestamp) -> Result<Self, LineError> {
        let written: Option<WrittenLine> =
            serde_json::from_slice(line).map_err(|error| LineError::Shape(error.to_string()))?;
        let Some(written) = written else { return Ok(Self::Nothing(Missing::Item)) };
        match (&written.id, written.kind.as_deref()) {
            (Id::Name(host), Some("site")) => {
                let host = Hostname::parse(host).map_err(|_| LineError::Site(host.clone()))?;
                let ArchivedVotes { up, down } = written.votes.ok_or(LineError::Absent("votes"))?;
                let (up, down) = (count("votes", up)?, count("votes", down)?);
                Ok(Self::SiteVotes(host, ArchivedVotes { up, down }))
            }
            (Id::Name(topic), Some("topic")) => {
                let topic = Topic::parse("topic", topic).map_err(LineError::Input)?;
                let about =
                    TopicSentence::parse(&written.about.unwrap_or_default()).map_err(LineError::Input)?;
                Ok(Self::Topic(topic, about.ok_or(LineError::Absent("about"))?))
            }
            (Id::Name(name), _) => person(name, &written, now).map(Self::Person),
            (Id::Number(number), _) => {
                let number = u64::try_from(number.0).unwrap_or(0);
                if number == 0 || number > MAX_NUMBER {
                    return Err(LineError::Number(number));
                }
                item(number, written, now)
            }
        }
    }
}

fn item(number: u64, written: WrittenLine, now: Timestamp) -> Result<ArchiveLine, LineError> {
    let gone = match &written {
        WrittenLine { deleted: Some(true), .. } => Some(Missing::Deleted),
        WrittenLine { dead: Some(true), .. } => Some(Missing::Dead),
        _ => None,
    };
    match (written.kind.as_deref(), gone) {
        (Some("poll" | "pollopt"), _) => Ok(ArchiveLine::Nothing(Missing::Poll)),
        (Some("comment"), Some(gone)) => match (parent(&written), written.time) {
            (Some(parent), Some(time)) => Ok(ArchiveLine::Comment(ArchivedComment {
                number,
                parent,
                by: None,
                body: Err(gone),
                posted: moment(Some(time), "time", now)?,
                votes: ImportedVotes::default(),
            })),
            _ => Ok(ArchiveLine::Nothing(gone)),
        },
        (_, Some(gone)) => Ok(ArchiveLine::Nothing(gone)),
        (Some("comment"), None) => comment(number, written, now).map(ArchiveLine::Comment),
        (Some("story" | "job"), None) => story(number, written, now).map(ArchiveLine::Story),
        (Some(other), None) => Err(LineError::Type(other.chars().take(40).collect())),
        (None, None) => Err(LineError::Absent("type")),
    }
}

fn story(number: u64, written: WrittenLine, now: Timestamp) -> Result<ArchivedStory, LineError> {
    // Titles of Hacker News have entities, as its texts have. Exports of this site have titles as they were typed.
    let is_own = written.votes.is_some() || written.topics.is_some() || written.source_text.is_some();
    let title = written.title.as_deref().map(|title| match is_own {
        true => title.to_owned(),
        false => decoded(title),
    });
    let title = title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let title = title.ok_or(LineError::Absent("title"))?;
    if let Some(found) = title.chars().find(|c| is_unfit_for_line(*c)) {
        return Err(LineError::Control("title", u32::from(found)));
    }
    if title.chars().count() > MAX_IMPORTED_TITLE {
        return Err(LineError::TooLong("title", MAX_IMPORTED_TITLE));
    }
    let url = written.url.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let content = ImportedStory {
        title: title.to_owned(),
        url: url.map(NewsUrl::parse_listed).transpose().map_err(LineError::Link)?,
        text: text(&written)?,
        posted: moment(written.time, "time", now)?,
        votes: votes(&written)?,
        topics: Topics::from_stored(&written.topics.as_deref().unwrap_or_default().join(",")),
    };
    Ok(ArchivedStory {
        number,
        by: name(written.by.as_deref())?,
        content,
        is_job: written.kind.as_deref() == Some("job"),
    })
}

fn comment(number: u64, written: WrittenLine, now: Timestamp) -> Result<ArchivedComment, LineError> {
    Ok(ArchivedComment {
        number,
        parent: parent(&written).ok_or(LineError::Absent("parent"))?,
        by: name(written.by.as_deref())?,
        body: Ok(text(&written)?.ok_or(LineError::Empty("text"))?),
        posted: moment(written.time, "time", now)?,
        votes: votes(&written)?,
    })
}

fn person(name_there: &str, written: &WrittenLine, now: Timestamp) -> Result<ArchivedPerson, LineError> {
    let about = match (&written.source_text, &written.about) {
        (Some(typed), _) => Some(typed.clone()),
        (None, Some(html)) => Some(text_of_html(checked("about", html)?)),
        (None, None) => None,
    };
    let fullname = written.fullname.as_deref().map(FullName::parse).transpose();
    Ok(ArchivedPerson {
        name: name_there.parse().map_err(|error| LineError::Name(shortened(name_there), error))?,
        created: moment(written.created, "created", now)?,
        karma: written.karma.map(|WholeNumber(karma)| count("karma", karma)).transpose()?,
        about: about.map(|about| body("about", &about)).transpose()?.flatten(),
        fullname: fullname.map_err(LineError::Input)?.filter(|name| !name.as_str().is_empty()),
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn name(by: Option<&str>) -> Result<Option<ImportedName>, LineError> {
    let parse = |by: &str| by.parse().map_err(|error| LineError::Name(shortened(by), error));
    by.map(parse).transpose()
}

fn parent(written: &WrittenLine) -> Option<u64> {
    written.parent.and_then(|WholeNumber(parent)| u64::try_from(parent).ok())
}

fn moment(time: Option<WholeNumber>, member: &'static str, now: Timestamp) -> Result<Timestamp, LineError> {
    let WholeNumber(time) = time.ok_or(LineError::Absent(member))?;
    let moment = u64::try_from(time).map_err(|_| LineError::Past(time))?;
    if moment > now.0 { Err(LineError::Future(time)) } else { Ok(Timestamp(moment)) }
}

/// A number of votes or karma that no counter is too small for.
fn count(what: &'static str, number: i64) -> Result<i64, LineError> {
    let range = -MAX_IMPORTED_COUNT..=MAX_IMPORTED_COUNT;
    if range.contains(&number) { Ok(number) } else { Err(LineError::Range(what, number)) }
}

fn votes(written: &WrittenLine) -> Result<ImportedVotes, LineError> {
    Ok(match (written.votes, written.score) {
        (Some(ArchivedVotes { up, down }), _) => {
            ImportedVotes::besides_own(count("votes", up)?, count("votes", down)?)
        }
        (None, Some(WholeNumber(score))) => ImportedVotes::of_score(count("score", score)?),
        (None, None) => ImportedVotes::default(),
    })
}

/// The text: as it was typed here, or else from HTML. `None` if nothing of it can be seen.
fn text(written: &WrittenLine) -> Result<Option<Body>, LineError> {
    match (&written.source_text, &written.text) {
        (Some(typed), _) => body("text", typed),
        (None, Some(html)) => body("text", &markdown_of_html(checked("text", html)?)),
        (None, None) => Ok(None),
    }
}

fn checked<'a>(what: &'static str, html: &'a str) -> Result<&'a str, LineError> {
    // Entities and tags take room, too.
    if html.len() > 4 * MAX_IMPORTED_TEXT_BYTES { Err(LineError::TooLarge(what)) } else { Ok(html) }
}

fn body(what: &'static str, text: &str) -> Result<Option<Body>, LineError> {
    match Body::parse_imported(text) {
        Ok(body) => Ok(Some(body)),
        Err(InputError::Empty { .. }) => Ok(None),
        Err(InputError::Control { code, .. }) => Err(LineError::Control(what, code)),
        Err(_) => Err(LineError::TooLarge(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000);

    fn parse(line: &str) -> Result<ArchiveLine, LineError> {
        ArchiveLine::parse(line.as_bytes(), NOW)
    }

    #[test]
    fn items_of_the_documentation_are_read() {
        let story = r#"{"by":"dhouston","descendants":71,"id":8863,"kids":[8952],"score":111,"time":1175714200,
            "title":"My YC app: Dropbox","type":"story","url":"http://www.getdropbox.com/u/2/screencast.html"}"#;
        let ArchiveLine::Story(story) = parse(story).unwrap() else { panic!() };
        assert_eq!(
            (story.number, story.content.posted, story.content.votes.up),
            (8863, Timestamp(1_175_714_200), 110)
        );
        assert_eq!(
            (story.content.title.as_str(), story.by.unwrap().as_str()),
            ("My YC app: Dropbox", "dhouston")
        );
        let comment = r#"{"by":"norvig","id":2921983,"kids":[2922097],"parent":2921506,
            "text":"Aw shucks, guys ... you make me <i>blush</i>.<p>It&#x27;s","time":1314211127,"type":"comment"}"#;
        let ArchiveLine::Comment(comment) = parse(comment).unwrap() else { panic!() };
        assert_eq!((comment.number, comment.parent), (2_921_983, 2_921_506));
        assert_eq!(comment.body.unwrap().as_str(), "Aw shucks, guys ... you make me *blush*.\n\nIt's");
        let person = r#"{"about":"This is a test &amp; <i>more</i>","created":1173923446,"delay":0,"id":"jl","karma":2937,"submitted":[8265435]}"#;
        let ArchiveLine::Person(person) = parse(person).unwrap() else { panic!() };
        assert_eq!((person.name.as_str(), person.karma), ("jl", Some(2937)));
        assert_eq!(person.about.unwrap().as_str(), "This is a test & more");
    }

    #[test]
    fn numbers_may_have_decimals_and_titles_have_entities() {
        let line = r#"{"id":7.0,"type":"story","title":"A &lt;T&gt; &amp;amp; B&#x27;s","by":"x","time":1700000000.0,"score":5.0}"#;
        let ArchiveLine::Story(story) = parse(line).unwrap() else { panic!() };
        assert_eq!(
            (story.number, story.content.posted, story.content.votes.up),
            (7, Timestamp(1_700_000_000), 4)
        );
        assert_eq!(story.content.title, "A <T> &amp; B's");
        // An export of this site has it as it was typed.
        let own =
            r#"{"id":7,"type":"story","title":"A &lt;T&gt;","by":"x","time":1,"votes":{"up":2.0,"down":0}}"#;
        let ArchiveLine::Story(story) = parse(own).unwrap() else { panic!() };
        assert_eq!(story.content.title, "A &lt;T&gt;");
        for wrong in ["1.5", "1e300", "-1.0", "\"1\""] {
            let line = format!(r#"{{"id":7,"type":"story","title":"t","by":"x","time":{wrong}}}"#);
            assert!(parse(&line).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_gone_is_no_mistake_and_a_comment_keeps_its_place() {
        for (line, missing) in [
            ("null", Missing::Item),
            (r#"{"id":1,"type":"story","deleted":true,"time":1}"#, Missing::Deleted),
            (r#"{"id":1,"type":"story","dead":true,"by":"x","title":"t","time":1}"#, Missing::Dead),
            (r#"{"id":1,"type":"poll","title":"t","time":1}"#, Missing::Poll),
            (r#"{"id":1,"type":"pollopt","text":"t","time":1}"#, Missing::Poll),
            (r#"{"id":1,"deleted":true}"#, Missing::Deleted),
        ] {
            assert!(matches!(parse(line), Ok(ArchiveLine::Nothing(found)) if found == missing), "{line}");
        }
        let gone = parse(r#"{"id":2,"type":"comment","parent":1,"deleted":true,"time":5}"#).unwrap();
        assert!(matches!(gone, ArchiveLine::Comment(ArchivedComment { body: Err(Missing::Deleted), .. })));
    }

    #[test]
    fn what_nobody_could_have_posted_is_refused_with_a_sentence() {
        let long = "x".repeat(301);
        let large = "x".repeat(65_537);
        let story = |members: &str| format!(r#"{{"id":1,"type":"story","time":1,{members}}}"#);
        for (line, sentence) in [
            ("{", "it is no item of Hacker News"),
            ("[]", "it is no item of Hacker News"),
            (&format!("{}{}", "[".repeat(300), "]".repeat(300)), "it is no item of Hacker News"),
            (r#"{"id":0,"type":"story"}"#, "0 is no number"),
            (r#"{"id":1,"type":"opinion"}"#, "its type \"opinion\" is unknown"),
            (r#"{"id":1}"#, "it has no \"type\""),
            (r#"{"id":1,"type":"story","time":1}"#, "it has no \"title\""),
            (r#"{"id":1,"type":"story","title":"t"}"#, "it has no \"time\""),
            (r#"{"id":1,"type":"story","title":"t","time":1800000001}"#, "in the future"),
            (r#"{"id":1,"type":"story","title":"t","time":-1}"#, "before 1970"),
            (&story(r#""title":"a\u0007b""#), "its title has a control character (U+0007)"),
            (&story(r#""title":"t","text":"a\u0000""#), "its text has a control character"),
            (&story(&format!(r#""title":"{long}""#)), "more than 300 characters"),
            (&story(&format!(r#""title":"t","text":"{large}""#)), "more than 65,536 bytes"),
            (&story(r#""title":"t","url":"ftp://x""#), "its link cannot be imported"),
            (&story(r#""title":"t","by":"mary jane""#), "its author \"mary jane\""),
            (r#"{"id":1,"type":"comment","text":"t","time":1}"#, "it has no \"parent\""),
            (r#"{"id":1,"type":"comment","text":"<p>","parent":2,"time":1}"#, "its text is empty"),
            (r#"{"id":"a b","created":1}"#, "a name has 1 to 32"),
            (r#"{"id":"ab"}"#, "it has no \"created\""),
            (r#"{"id":"a_b","type":"site","votes":{"up":1,"down":0}}"#, "is no site"),
        ] {
            let error = parse(line).expect_err(line).to_string();
            assert!(error.contains(sentence), "{line}: {error}");
        }
    }
}
