//! The review queue as moderators read it: what waits, the worst first, with what they need to
//! decide.

use crate::accounts::message_threads::{MessageThread, message_at};
use crate::accounts::people::{People, holder};
use crate::contributions::{Contribution, excerpt, shortened, text_of_profile};
use crate::flags::ThingFlags;
use crate::moderation::appeals::Appeal;
use crate::moderation::log::Line;
use crate::review::QueuePlace;
use crate::values::{
    Action, Flag, FlagReason, Hostname, Malformed, MessageAddress, QUEUE_TIES, StoredMessage, Thing,
    Timestamp, UserId, Weight, Withheld, codec_of, named, record_text,
};
use crate::{Comment, Result, Role, User, Visit, fields, keys};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use strum::IntoStaticStr;
use tidings_keyspace::{Boxed, Fetch, Hash, Order, read};
use tidings_language::t;

/// A place in the queue, written `<score>-<kind>:<id>`. A part of the queue begins after one.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueCursor {
    score: f64,
    thing: Thing,
}

impl QueueCursor {
    /// The order of rows, the worst first: by score, then by the bytes of the member, both from
    /// the highest down.
    fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| other.thing.key().cmp(&self.thing.key()))
    }
}

codec_of! {
    /// The score of a place in the queue, as digits.
    QueueScore for f64: |score| *score,
        |text| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|score| is_plain && QueuePlace::from_score(*score).is_some())
        }
}

record_text!(QueueCursor or Malformed: {score QueueScore} "-" {thing});

/// Why something waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Why {
    /// Readers have flagged it.
    Flagged,
    /// It waits for approval.
    Held,
    /// Somebody asks for an account.
    Application,
    /// Somebody appeals against a decision.
    Appeal,
    /// Somebody has written to the moderators.
    Message,
}

named!(Why);

/// The person behind a row: who wrote it, or who applies, appeals or writes to the moderators.
#[derive(Debug, Clone, PartialEq)]
pub struct RowAuthor {
    /// The account.
    pub id: UserId,
    /// The name.
    pub username: String,
    /// The role.
    pub role: Role,
    /// When the account was created.
    pub ctime: Timestamp,
    /// Karma.
    pub karma: i64,
    /// Stories posted.
    pub posted: u64,
    /// Comments written.
    pub comments: u64,
    /// Tweets that are not deleted.
    pub tweets: u64,
}

/// A row of the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The thing that waits.
    pub thing: Thing,
    /// Its content as plain text; for a long text its beginning.
    pub text: String,
    /// The title of the story, or of the one that a comment is on.
    pub title: Option<String>,
    /// The URL of a story.
    pub url: Option<String>,
    /// The beginning of the comment that a comment answers.
    pub parent: Option<String>,
    /// The site that it links to.
    pub host: Option<Hostname>,
    /// Its author; `None` if the account is gone.
    pub author: Option<RowAuthor>,
    /// When the row last changed.
    pub since: Timestamp,
    /// Why it waits.
    pub why: Why,
    /// Why it is held.
    pub held_because: Option<String>,
    /// The reasons of the readers who flagged it.
    pub flags: Vec<(FlagReason, u64)>,
    /// The first of these readers, with the reason and the weight of their flags.
    pub flaggers: Vec<(String, FlagReason, Weight)>,
    /// The weight of all flags that wait, in hundredths.
    pub weight: Weight,
    /// The notes on these flags.
    pub notes: Vec<String>,
    /// Whether flags have hidden it.
    pub is_hidden: bool,
    /// Since when, as far as the flags that wait tell.
    pub hidden_since: Option<Timestamp>,
    /// Whether its author has deleted it since it was flagged.
    pub is_deleted: bool,
    /// For an appeal, or a message about a decision: what was decided, and about what.
    pub decision: Option<(Action, Thing)>,
}

/// A part of the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuePage {
    /// The rows, the worst first.
    pub rows: Vec<Row>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<QueueCursor>,
}

/// A part of the queue: at most `count` rows after `before`. Rows without anything to decide are left
/// out; what was flagged and then deleted has one. Rounds: 3, besides those of the viewer.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`](crate::Refusal::ModeratorsOnly), [`Refusal::RoleNeedsTwoFactor`](crate::Refusal::RoleNeedsTwoFactor), or the store's.
pub async fn page(visit: &mut Visit, before: Option<&QueueCursor>, count: usize) -> Result<QueuePage> {
    visit.demand_moderator().await?;
    let highest = before.map_or(f64::INFINITY, |before| before.score);
    let most = count as u64 + QUEUE_TIES + 1;
    let scores = (f64::NEG_INFINITY, highest);
    let rows = read::sorted_by_score(keys::REVIEW_QUEUE, Order::Descending, scores, most);
    let rows = visit.fetch(rows).await?;
    let mut places: Vec<QueueCursor> = fields::members(rows, keys::REVIEW_QUEUE, |(member, score)| {
        QueuePlace::from_score(score)?;
        Some(QueueCursor { score, thing: member.parse().ok()? })
    });
    places.retain(|place| before.is_none_or(|before| place.order(before).is_gt()));
    let is_more = places.len() > count;
    places.truncate(count);
    let next = if is_more { places.last().cloned() } else { None };
    let rows = read_rows(visit, places.into_iter().map(|place| place.thing)).await?;
    Ok(QueuePage { rows, next })
}

/// The row of a thing, if it has one; for somebody whose decision came too late. Rounds: 2.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`](crate::Refusal::ModeratorsOnly), [`Refusal::RoleNeedsTwoFactor`](crate::Refusal::RoleNeedsTwoFactor), or the store's.
pub async fn row_of(visit: &mut Visit, thing: &Thing) -> Result<Option<Row>> {
    visit.demand_moderator().await?;
    Ok(read_rows(visit, [thing.clone()]).await?.pop())
}

/// The subject of a row, with the person behind it.
enum RowContent {
    Post(Box<Contribution>),
    Person(UserId),
    Appeal {
        text: String,
        by: UserId,
        line: Option<Box<Line>>,
    },
    Messages(MessageThread),
    /// It was deleted, and nothing is left of it.
    Nothing,
}

impl RowContent {
    /// The content of a thing; `None` for what has no row, and for nobody.
    fn of(thing: &Thing) -> Boxed<'static, Option<Self>> {
        match thing {
            Thing::Story(_) | Thing::Comment(_) | Thing::Tweet(_) => {
                let post = |post: Result<_, _>| post.map_or(Self::Nothing, |post| Self::Post(Box::new(post)));
                Contribution::of_post(thing).or_absent().map(move |found| Some(post(found))).boxed()
            }
            Thing::User(name) | Thing::Application(name) => {
                holder(name).or_absent().map(|id| id.map(Self::Person)).boxed()
            }
            Thing::Appeal(id) => {
                let appeal = |(appeal, line): (Option<Appeal>, Option<Line>)| {
                    let Appeal { text, user_id: by, .. } = appeal?;
                    Some(Self::Appeal { text, by, line: line.map(Box::new) })
                };
                (Appeal::against(*id), Line::by_id(*id)).or_absent().map(appeal).boxed()
            }
            Thing::Message(id) => {
                let thread = MessageThread::by_id(*id).or_absent();
                thread.map(|thread| thread.map(Self::Messages)).boxed()
            }
            Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => read::known(None).boxed(),
        }
    }

    fn person(&self) -> Option<UserId> {
        match self {
            Self::Post(post) => Some(post.author()),
            Self::Person(id) | Self::Appeal { by: id, .. } => Some(*id),
            Self::Messages(thread) => Some(thread.user_id),
            Self::Nothing => None,
        }
    }

    /// Whether its author has deleted it; a profile is deleted with its account.
    fn is_deleted(&self, thing: &Thing, person: Option<&User>) -> bool {
        match self {
            Self::Post(post) => post.state().deleted,
            Self::Nothing => true,
            Self::Person(_) => matches!(thing, Thing::User(_)) && person.is_none(),
            Self::Appeal { .. } | Self::Messages(_) => false,
        }
    }

    fn withheld<'a>(&'a self, person: Option<&'a User>) -> Option<&'a Withheld> {
        match self {
            Self::Post(post) => post.withheld(),
            Self::Person(_) => person?.withheld.as_ref(),
            Self::Appeal { .. } | Self::Messages(_) | Self::Nothing => None,
        }
    }
}

/// The person behind a row.
struct RowPerson {
    /// `None` for an account that is gone, and for one that was not approved yet.
    user: Option<User>,
    hash: Hash,
    counts: [u64; 3],
}

impl RowPerson {
    fn of(id: UserId) -> impl Fetch<Value = Self> {
        let counts = [keys::user_posted(id), keys::user_comments(id), keys::user_timeline(id)];
        (read::hash(keys::user(id)), counts.map(read::sorted_count)).or_absent().map(|(hash, counts)| Self {
            user: User::from_hash(&hash),
            hash,
            counts,
        })
    }

    /// Whether the account waits without an application.
    fn was_held(&self) -> bool {
        self.hash.get("application").is_none_or(str::is_empty)
    }

    /// The person for a row. Of an application, the account does not count yet.
    fn author(&self, is_application: bool) -> Option<RowAuthor> {
        let [posted, comments, tweets] = self.counts;
        let applicant = if is_application { User::or_applicant(&self.hash) } else { None };
        let user = self.user.as_ref().or(applicant.as_ref())?;
        let karma = self.user.as_ref().map_or(0, |user| user.karma);
        let (id, username, role, ctime) = (user.id, user.username.clone(), user.given_role(), user.ctime);
        Some(RowAuthor { id, username, role, ctime, karma, posted, comments, tweets })
    }
}

/// The rows of some things, without those that are gone or have none. Rounds: 2.
async fn read_rows(visit: &mut Visit, things: impl IntoIterator<Item = Thing>) -> Result<Vec<Row>> {
    let read = |thing: Thing| {
        let reads = (ThingFlags::on(thing.clone()), RowContent::of(&thing));
        reads.map(move |(flags, found)| Some((thing, flags, found?)))
    };
    let found = visit.fetch_if_needed(things.into_iter().map(read).collect::<Vec<_>>()).await?;
    let found: Vec<(Thing, ThingFlags, RowContent)> = found.into_iter().flatten().collect();
    let people: BTreeSet<UserId> = found.iter().filter_map(|(_, _, found)| found.person()).collect();
    let people = people.into_iter().map(|id| RowPerson::of(id).map(move |person| (id, person)));
    let contexts = found.iter().map(|(_, _, found)| Context::of(found)).collect::<Vec<_>>();
    let flaggers = found.iter().flat_map(|(_, flags, _)| flags.earliest()).map(|(person, _)| person);
    let reads = (people.collect::<Vec<_>>(), contexts, People::of(flaggers));
    let (people, contexts, flaggers) = visit.fetch_if_needed(reads).await?;
    let people: BTreeMap<UserId, RowPerson> = people.into_iter().collect();
    let hide_at = visit.site().rules.moderation.hide_at;
    let rows = found.into_iter().zip(contexts).filter_map(|(found, context)| {
        let person = found.2.person().and_then(|id| people.get(&id));
        let named =
            |(id, flag): (UserId, Flag)| Some((flaggers.get(id)?.username.clone(), flag.reason, flag.weight));
        let named = found.1.earliest().into_iter().filter_map(named).collect();
        let heavy_since = found.1.heavy_since(hide_at);
        let Context { parent, message, line } = context;
        let parent = parent.filter(|parent| !parent.deleted).map(|parent| excerpt(&parent.body));
        let row = row(found, person)?;
        let text = message.map_or(row.text, |message| shortened(message.text));
        let decision = line.map(|line| (line.action, line.thing)).or(row.decision);
        let hidden_since = heavy_since.filter(|_| row.is_hidden);
        Some(Row { parent, flaggers: named, text, decision, hidden_since, ..row })
    });
    Ok(rows.collect())
}

/// The values that are read for a row once its subject is known.
struct Context {
    /// The comment that a comment answers.
    parent: Option<Comment>,
    /// The last message of a thread.
    message: Option<StoredMessage>,
    /// The decision that it is about.
    line: Option<Line>,
}

impl Context {
    fn of(found: &RowContent) -> impl Fetch<Value = Self> + use<> {
        let answered = match found {
            RowContent::Post(post) => post.answered(),
            _ => None,
        };
        let thread = if let RowContent::Messages(thread) = found { Some(thread) } else { None };
        let last = thread.map(|thread| MessageAddress { thread: thread.id, message: thread.count });
        let line = thread.and_then(|thread| thread.about).map(Line::by_id);
        let reads = (answered.map(Comment::at), last.map(message_at), line).or_absent();
        reads.map(|(parent, message, line)| Self {
            parent: parent.flatten(),
            message: message.flatten(),
            line: line.flatten(),
        })
    }
}

/// A row, without what is read for it besides; `None` if it has no place in the queue, or nothing is left to
/// decide.
fn row((thing, flags, found): (Thing, ThingFlags, RowContent), person: Option<&RowPerson>) -> Option<Row> {
    let place = flags.place()?;
    let is_application = matches!(thing, Thing::Application(_));
    let author = person.and_then(|person| person.author(is_application));
    let user = person.and_then(|person| person.user.as_ref());
    let state = found.withheld(user);
    let is_deleted = found.is_deleted(&thing, user);
    let why = match (&thing, state) {
        _ if is_deleted => Why::Flagged,
        (Thing::Application(_), _) => Why::Application,
        (Thing::Appeal(_), _) => Why::Appeal,
        (Thing::Message(_), _) => Why::Message,
        (_, Some(state)) if state.is_held() => Why::Held,
        (_, Some(state)) if !state.is_open() => return None,
        (_, _) => Why::Flagged,
    };
    let held_because = match why {
        Why::Held => state.and_then(Withheld::reason).map(str::to_owned),
        // Somebody waits who was not asked for an application.
        _ if is_application && person.is_some_and(RowPerson::was_held) => {
            Some(t!("many accounts were created at the same time").to_owned())
        }
        _ => None,
    };
    let is_hidden = state.is_some_and(Withheld::is_flagged);
    let (mut host, mut decision, mut title, mut url) = (None, None, None, None);
    let text = match found {
        RowContent::Post(post) => {
            match &*post {
                Contribution::Story(news) => {
                    host = news.site().cloned();
                    url = news.link().is_some().then(|| news.url.clone());
                    title = Some(news.title.clone());
                }
                Contribution::Comment(stored) => title = Some(stored.news.title.clone()),
                Contribution::Tweet(_) | Contribution::Profile(_) => {}
            }
            post.text()
        }
        RowContent::Person(_) if is_application => {
            person.and_then(|person| person.hash.get("application")).unwrap_or_default().to_owned()
        }
        RowContent::Person(_) => user.map(text_of_profile).unwrap_or_default(),
        RowContent::Nothing | RowContent::Messages(_) => String::new(),
        RowContent::Appeal { text, line, .. } => {
            decision = line.map(|line| (line.action, line.thing));
            text
        }
    };
    let thing = match (thing, &author) {
        // As it is written, not as it is found.
        (Thing::User(_), Some(author)) => Thing::User(author.username.as_str().into()),
        (Thing::Application(_), Some(author)) => Thing::Application(author.username.as_str().into()),
        (thing, _) => thing,
    };
    Some(Row {
        thing,
        text: shortened(text),
        title,
        url,
        parent: None,
        host,
        author,
        since: place.since,
        why,
        held_because,
        flags: flags.reasons(),
        flaggers: Vec::new(),
        weight: Weight(flags.weight()),
        notes: flags.notes(),
        is_hidden,
        hidden_since: None,
        is_deleted,
        decision,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_queue_is_written_and_read() {
        let score = QueuePlace { weight: 120, since: Timestamp(1_700_000_000) }.as_score();
        for member in ["story:7", "comment:7-3", "application:a-b", "user:al ice"] {
            let text = format!("{score}-{member}");
            assert_eq!(text.parse::<QueueCursor>().unwrap().to_string(), text);
        }
        for text in ["", "-", "7", "7-story:7", "1e30-story:7", "inf-story:7", &format!("{score}-site:a")] {
            assert_eq!(text.parse::<QueueCursor>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn rows_are_ordered_from_the_worst_down() {
        let cursor = |weight, since, thing: &str| QueueCursor {
            score: QueuePlace { weight, since: Timestamp(since) }.as_score(),
            thing: thing.parse().unwrap(),
        };
        let ordered = [
            cursor(300, 9, "tweet:1"),
            cursor(100, 5, "tweet:1"),
            cursor(100, 5, "story:1"),
            cursor(100, 6, "user:a"),
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0].order(&pair[1]).is_lt(), "{pair:?}");
        }
    }
}
