//! Comments as stored, and what exists because of them.
//!
//! All comments of an item are one hash, `thread:comment:<news id>`, with the comments as
//! JSON by id. So a thread is one read.

use crate::accounts::{Collapsed, Reader, ShownIn, Visible};
use crate::draws::NEXT_ID;
use crate::news::item::{Direction, IMPORTED_VOTES, SOURCE};
use crate::post_state::{Moderated, StateFields};
use crate::records::{AsRead, Fields, RecordEntries, Stored};
use crate::values::{
    Body, CommentAddress, CommentId, ImportedVotes, NewsId, PostKind, PostState, REMOVED, RemovedBy, Thing,
    Timestamp, UNSEEN, UserId, VoteState, WITHHELD, Withheld, is_deleted,
};
use crate::{News, Refusal, Result, Role, Site, User, fields, keys};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::str::FromStr;
use tidings_keyspace::{Fetch, read};
use tidings_text::stored_text::StoredText;

/// The member that says as what the author speaks, and what it says.
const SPEAKS_AS: &str = "as";
const MODERATOR: &str = "moderator";
/// The stored parent of a comment on the item itself.
const NO_PARENT: i64 = -1;

/// A comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comment {
    /// The story under which it is.
    pub news: NewsId,
    /// The comment's number in its thread.
    pub id: CommentId,
    /// The text; must not be shown when deleted.
    pub(crate) body: String,
    /// When it was written.
    pub ctime: Timestamp,
    /// When its text was last edited, if it was.
    pub edited_at: Option<Timestamp>,
    /// Its author.
    pub user_id: UserId,
    /// The comment that it replies to; `None` for a comment on the item itself.
    pub parent_id: Option<CommentId>,
    /// The users who voted it up.
    pub up: Vec<u64>,
    /// The users who voted it down.
    pub down: Vec<u64>,
    /// The votes of the site that it was imported from, which count besides.
    pub imported_votes: ImportedVotes,
    /// Where it was imported from, as `<source>:<id there>`.
    pub(crate) source: Option<Box<str>>,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<Withheld>,
    /// Whether it was taken away before readers saw it.
    pub unseen: bool,
    /// The decision that removed it, unless it was rejected.
    pub(crate) removed: Option<Box<RemovedBy>>,
    /// Whether its author, a moderator, speaks as such.
    pub speaks_as_moderator: bool,
    /// Fields of other programs, which are preserved.
    extra: Map<String, Value>,
}

/// A comment exactly as we write it, for fast parsing. Any other form is read field by
/// field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsWritten {
    body: String,
    ctime: u64,
    user_id: i64,
    #[serde(default)]
    parent_id: Option<i64>,
    #[serde(default, rename = "score")]
    _score: IgnoredAny,
    #[serde(default)]
    up: Vec<u64>,
    #[serde(default)]
    down: Vec<u64>,
    #[serde(default)]
    del: i64,
    #[serde(default)]
    withheld: Option<Withheld>,
    #[serde(default, rename = "as")]
    speaks_as: Option<Speaker>,
    #[serde(default)]
    imported_votes: ImportedVotes,
    #[serde(default)]
    source: Option<Box<str>>,
    #[serde(default)]
    edited_at: Option<u64>,
    #[serde(default)]
    unseen: u64,
    #[serde(default)]
    removed: Option<Box<RemovedBy>>,
}

/// As what the author of a comment speaks.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    Moderator,
}

/// A number. In databases of the original some are written as strings; we
/// write numbers.
fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        Value::Bool(flag) => Some(i64::from(*flag)),
        _ => None,
    }
}

/// The member of a comment with the time of its last edit.
const EDITED_AT: &str = "edited_at";

/// The voters in a list; none if the value is not a list.
fn voters(value: &Value) -> Vec<u64> {
    let voters = value.as_array().into_iter().flatten();
    voters.filter_map(number).filter_map(|voter| u64::try_from(voter).ok()).collect()
}

/// A comment in another form, as we would write it, and what it has besides. What cannot be read is left out.
fn rewritten(json: &str) -> Option<(AsWritten, Map<String, Value>)> {
    let stored: Map<String, Value> = serde_json::from_str(json).ok()?;
    let (mut ours, mut extra) = (Map::new(), Map::new());
    for (name, value) in stored {
        let value = match (name.as_str(), value) {
            // Derived from the votes.
            ("score", _) | (WITHHELD, Value::Null) => None,
            ("ctime", time) => number(&time).map(|time| time.max(0).into()),
            ("user_id" | "parent_id" | "del", value) => number(&value).map(Value::from),
            ("up" | "down", votes) => Some(voters(&votes).into()),
            (WITHHELD, damaged) if !damaged.is_string() => Some(damaged.to_string().into()),
            (UNSEEN, _) => Some(1.into()),
            (IMPORTED_VOTES, votes) => Some(votes).filter(is_text_of::<ImportedVotes>),
            (REMOVED, removed) => Some(removed).filter(is_text_of::<RemovedBy>),
            (SOURCE, source) => Some(source).filter(Value::is_string),
            ("body" | WITHHELD, text) => Some(text),
            (EDITED_AT, time) if time.is_u64() => Some(time),
            (SPEAKS_AS, speaker) if speaker == MODERATOR => Some(speaker),
            (_, other) => {
                extra.insert(name, other);
                continue;
            }
        };
        ours.extend(value.map(|value| (name, value)));
    }
    Some((serde_json::from_value(Value::Object(ours)).ok()?, extra))
}

/// Whether a value is the text of a `T`.
fn is_text_of<T: FromStr>(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<T>().is_ok())
}

/// Which of the two lists of votes of a stored comment cannot be read whole. An absent one is empty.
pub(crate) fn unreadable_votes(json: &str) -> Vec<&'static str> {
    let stored: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let is_voter = |voter: &Value| number(voter).is_some_and(|voter| voter >= 0);
    let is_list = |votes: &Value| votes.as_array().is_some_and(|votes| votes.iter().all(is_voter));
    let mut lists = vec!["up", "down"];
    lists.retain(|list| stored.get(*list).is_some_and(|votes| !is_list(votes)));
    lists
}

impl Visible for Comment {
    fn state(&self) -> PostState<'_> {
        Self::state(self)
    }

    fn unwanted_by(&self, reader: &Reader, _: ShownIn) -> Option<Collapsed> {
        reader.mutes_post(self.user_id, &self.body)
    }
}

impl Comment {
    /// The approximate bytes of its text and votes.
    pub(crate) fn size(&self) -> usize {
        let withheld = self.withheld.as_ref().map_or(0, Withheld::size);
        self.body.len() + size_of_val(&*self.up) + size_of_val(&*self.down) + withheld
    }

    /// A new comment, voted up by its author.
    pub(crate) fn new(
        (address, parent): (CommentAddress, Option<CommentId>),
        author: UserId,
        body: &Body,
        now: Timestamp,
    ) -> Self {
        let body = body.as_str().to_owned();
        Self { body, deleted: false, ..Self::deleted_place((address, parent), author, now) }
    }

    /// The place of a comment that is gone, with the replies to it.
    pub(crate) fn deleted_place(
        (CommentAddress { news, comment: id }, parent_id): (CommentAddress, Option<CommentId>),
        author: UserId,
        now: Timestamp,
    ) -> Self {
        Self {
            news,
            id,
            ctime: now,
            user_id: author,
            parent_id,
            up: vec![author.0],
            deleted: true,
            ..Self::default()
        }
    }

    /// Reads a comment; `None` when the field is not an id (such as `nextid`) or the value
    /// is not a comment.
    pub fn from_field(news: NewsId, field: &str, json: &str) -> Option<Self> {
        Self::from_json(CommentAddress { news, comment: field.parse().ok()? }, json)
    }

    /// The comments of a story that can be read.
    pub(crate) fn of_story(news: NewsId) -> impl Fetch<Value = Vec<Self>> {
        read::hash(keys::thread(news)).or_absent().map(move |thread| {
            thread.0.iter().filter_map(|(field, json)| Self::from_field(news, field, json)).collect()
        })
    }

    /// A story with its comments, as far as they can be read.
    pub(crate) fn with_story(news: NewsId) -> impl Fetch<Value = (Option<News>, Vec<Self>)> {
        (News::by_id(news).or_absent(), Self::of_story(news))
    }

    /// The comment at an address, if it exists.
    pub(crate) fn at(address: CommentAddress) -> impl Fetch<Value = Option<Self>> {
        Self::as_read(address).map(|found| found.map(AsRead::into_record))
    }

    /// The same, as it is stored.
    pub(crate) fn as_read(
        CommentAddress { news, comment }: CommentAddress,
    ) -> impl Fetch<Value = Option<AsRead<Self>>> {
        let field = comment.to_string();
        read::field(keys::thread(news), &field).map(move |json| Self::of_stored(news, field, json?))
    }

    /// A comment as it is stored in a field of an item's thread.
    pub(crate) fn of_stored(news: NewsId, field: String, json: String) -> Option<AsRead<Self>> {
        let comment = Self::read(news, &field, &json)?;
        Some(AsRead::new(comment, vec![(field, Some(json))]))
    }

    /// Where it is.
    pub const fn address(&self) -> CommentAddress {
        CommentAddress { news: self.news, comment: self.id }
    }

    /// Reads a field of an item's thread; a comment that cannot be read is logged.
    pub(crate) fn read(news: NewsId, field: &str, json: &str) -> Option<Self> {
        let comment = Self::from_field(news, field, json);
        match &comment {
            None if field != NEXT_ID => fields::report(&keys::thread(news), Some(field)),
            None => {}
            Some(comment) if comment.withheld.as_ref().is_some_and(Withheld::is_unreadable) => {
                fields::report_state(&format!("{}, comment {field}", keys::thread(news)));
            }
            Some(_) => {}
        }
        comment
    }

    fn from_json(CommentAddress { news, comment: id }: CommentAddress, json: &str) -> Option<Self> {
        let written = serde_json::from_str(json).ok().map(|written| (written, Map::new()));
        let (stored, extra): (AsWritten, _) = written.or_else(|| rewritten(json))?;
        Some(Self {
            news,
            id,
            body: stored.body,
            ctime: Timestamp(stored.ctime),
            edited_at: stored.edited_at.map(Timestamp),
            user_id: UserId::try_from(stored.user_id).ok()?,
            parent_id: CommentId::try_from(stored.parent_id.unwrap_or(NO_PARENT)).ok(),
            up: stored.up,
            down: stored.down,
            imported_votes: stored.imported_votes,
            source: stored.source,
            deleted: is_deleted(stored.del != 0, stored.withheld.as_ref()),
            withheld: stored.withheld,
            unseen: stored.unseen != 0,
            removed: stored.removed,
            speaks_as_moderator: stored.speaks_as.is_some(),
            extra,
        })
    }

    /// Its text, as pages show it.
    pub(crate) const fn stored_text(&self) -> StoredText<'_> {
        StoredText::Formatted(self.body.as_str())
    }

    /// The comment as it is stored.
    pub(crate) fn to_json(&self) -> String {
        // Lamer News shows what has no `del`.
        let has_del = self.deleted || self.withheld.as_ref().is_some_and(Withheld::has_del);
        let parent = self.parent_id.map_or_else(|| NO_PARENT.into(), |parent| parent.0.into());
        let fields: [(&str, Option<Value>); 15] = [
            ("body", Some(self.body.as_str().into())),
            ("ctime", Some(self.ctime.0.into())),
            ("user_id", Some(self.user_id.0.into())),
            ("parent_id", Some(parent)),
            ("score", Some(self.score().into())),
            ("up", Some(self.up.as_slice().into())),
            ("down", Some(self.down.as_slice().into())),
            ("del", has_del.then(|| 1.into())),
            (WITHHELD, self.withheld.as_ref().map(|withheld| withheld.to_string().into())),
            (UNSEEN, self.unseen.then(|| 1.into())),
            (REMOVED, self.removed.as_ref().map(|removed| removed.to_string().into())),
            (EDITED_AT, self.edited_at.map(|time| time.0.into())),
            (SPEAKS_AS, self.speaks_as_moderator.then(|| MODERATOR.into())),
            (
                IMPORTED_VOTES,
                (!self.imported_votes.is_none()).then(|| self.imported_votes.to_string().into()),
            ),
            (SOURCE, self.source.as_deref().map(Value::from)),
        ];
        let stored = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut stored: Map<String, Value> = stored.collect();
        stored.extend(self.extra.clone());
        Value::Object(stored).to_string()
    }

    /// Its state.
    pub fn state(&self) -> PostState<'_> {
        let (withheld, unseen) = (self.withheld.as_ref(), self.unseen);
        PostState { kind: PostKind::Comment, author: self.user_id, withheld, deleted: self.deleted, unseen }
    }

    /// When its text was last changed.
    pub fn updated(&self) -> Timestamp {
        self.edited_at.unwrap_or_default().max(self.ctime)
    }

    /// Replaces the text. Returns the former one.
    pub(crate) fn edit(&mut self, body: String, now: Timestamp) -> String {
        self.edited_at = Some(now);
        std::mem::replace(&mut self.body, body)
    }

    /// Whether it was erased.
    pub fn is_erased(&self) -> bool {
        self.withheld.as_ref().is_some_and(Withheld::is_erased)
    }

    /// Whether it was ever in the lists: it does not wait for approval, and did not when it was taken away.
    pub(crate) fn was_shown(&self) -> bool {
        !self.unseen && !self.withheld.as_ref().is_some_and(Withheld::is_held)
    }

    /// Leaves nothing but its place, its author, its time and its votes.
    pub(crate) fn erase(&mut self) {
        self.body = String::new();
        self.source = None;
        self.deleted = true;
        self.withhold(Some(Withheld::Erased));
        self.removed = None;
        self.extra = Map::new();
    }

    /// The votes up and down that are shown and ranked: those here and those of the site that it was
    /// imported from.
    pub fn votes(&self) -> [i64; 2] {
        let count = |votes: &[u64]| i64::try_from(votes.len()).unwrap_or(i64::MAX);
        self.imported_votes.and(count(&self.up), count(&self.down))
    }

    /// Votes up minus votes down.
    pub fn score(&self) -> i64 {
        let [up, down] = self.votes();
        up.saturating_sub(down)
    }

    /// A user's vote.
    pub fn vote_of(&self, user: UserId) -> Option<Direction> {
        if self.up.contains(&user.0) {
            Some(Direction::Up)
        } else if self.down.contains(&user.0) {
            Some(Direction::Down)
        } else {
            None
        }
    }

    /// The users who have voted in a direction.
    pub(crate) fn voters(&self, direction: Direction) -> &[u64] {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Puts a user's vote back at its place among the others, as far as they are still there.
    pub(crate) fn put_vote_back(&mut self, voter: UserId, direction: Direction, place: usize) {
        let voters = match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        };
        voters.insert(place.min(voters.len()), voter.0);
    }

    /// The votes as a voter sees them.
    pub(crate) fn votes_for(&self, voter: UserId) -> VoteState {
        let [up, down] = [&self.up, &self.down].map(|votes| i64::try_from(votes.len()).unwrap_or(i64::MAX));
        VoteState { is_up: self.vote_of(voter).map(|vote| vote == Direction::Up), up, down }
    }

    /// Adds a user's vote.
    pub(crate) fn vote(&mut self, voter: UserId, direction: Direction) -> Result<(), Refusal> {
        if self.vote_of(voter).is_some() {
            return Err(Refusal::VotedAlready(Some(self.votes_for(voter))));
        }
        match direction {
            Direction::Up => self.up.push(voter.0),
            Direction::Down => self.down.push(voter.0),
        }
        Ok(())
    }

    /// Removes a user's vote.
    pub(crate) fn take_back_vote(&mut self, voter: UserId) {
        [&mut self.up, &mut self.down].into_iter().for_each(|votes| votes.retain(|id| *id != voter.0));
    }

    /// Whether `viewer` may edit it now.
    ///
    /// # Errors
    /// The refusal that says why not.
    pub fn may_edit(&self, viewer: &User, now: Timestamp, window_seconds: u64) -> Result<(), Refusal> {
        self.state().demand_known(viewer)?;
        Refusal::NotYourComment.when(viewer.id != self.user_id)?;
        self.state().demand_editable(viewer)?;
        if window_seconds > 0 && now.seconds_since(self.ctime) > window_seconds {
            return Err(Refusal::TooLateToChange { window_seconds });
        }
        Ok(())
    }

    /// Whether `viewer` may delete it now; administrators may delete their own at any time.
    ///
    /// # Errors
    /// The refusal that says why not.
    pub fn may_delete(&self, viewer: &User, now: Timestamp, window_seconds: u64) -> Result<(), Refusal> {
        let is_unbounded = viewer.role() == Role::Administrator;
        self.may_edit(viewer, now, if is_unbounded { 0 } else { window_seconds })
    }
}

/// A comment as it was read, with its story.
#[derive(Debug, Clone)]
pub(crate) struct StoredComment {
    pub(crate) comment: AsRead<Comment>,
    /// Its story.
    pub(crate) news: News,
}

impl StoredComment {
    /// The comment at an address, unless it or its item does not exist.
    pub(crate) fn at(address: CommentAddress) -> impl Fetch<Value = Result<Self, Refusal>> {
        (News::by_id(address.news), Comment::as_read(address)).map(|(item, comment)| {
            let item = item.ok_or(Refusal::NoSuchNews)?;
            // People who may not see the story do not learn that it exists.
            let missing = if item.state().is_secret() { Refusal::NoSuchNews } else { Refusal::NoSuchComment };
            Ok(Self { comment: comment.ok_or(missing)?, news: item })
        })
    }
}

/// Reads one comment and the state of its item. Rounds: 1.
pub(crate) async fn read_stored(site: &Site, address: CommentAddress) -> Result<StoredComment> {
    Ok(site.store.fetch(StoredComment::at(address)).await??)
}

impl Moderated for Comment {
    fn state_fields(&mut self) -> StateFields<'_> {
        StateFields { withheld: &mut self.withheld, unseen: &mut self.unseen, removed: &mut self.removed }
    }
}

impl Stored for Comment {
    const IS_WHOLE_HASH: bool = false;

    fn key(&self) -> String {
        keys::thread(self.news)
    }

    fn fields(&self) -> Fields {
        vec![(self.id.to_string(), Some(self.to_json()))]
    }

    fn entries(&self, entries: &mut RecordEntries) {
        let (address, author, time) = (self.address(), self.user_id, self.ctime.as_score());
        if self.was_shown() {
            entries.listed(keys::user_comments(author), address, time);
            if !self.state().is_listed() {
                entries.listed(keys::user_gone_comments(author), address, time);
            }
        } else if !self.is_erased() {
            entries.listed(keys::user_unseen(author), Thing::Comment(address).key(), time);
        }
        if self.state().is_counted() {
            entries.counted(keys::news(self.news), "comments");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_of_the_original_survives_reading_and_writing() {
        let json = r#"{"score":0,"body":"Hi","parent_id":-1,"user_id":"7","ctime":1323269000,"up":[7,"8"],"mood":"fine"}"#;
        let comment = Comment::from_field(NewsId(3), "15", json).unwrap();
        assert_eq!((comment.id, comment.user_id, comment.parent_id), (CommentId(15), UserId(7), None));
        assert_eq!(
            (comment.up.as_slice(), comment.down.as_slice(), comment.deleted),
            ([7, 8].as_slice(), [].as_slice(), false)
        );
        let again = Comment::from_field(NewsId(3), "15", &comment.to_json()).unwrap();
        assert_eq!(again, comment);
        assert!(comment.to_json().contains(r#""mood":"fine""#));
        assert!(comment.to_json().contains(r#""score":2"#));
    }

    #[test]
    fn the_state_of_a_withheld_comment_survives_reading_and_writing() {
        let unreadable = || Some(Withheld::Unreadable("damaged".into()));
        for (json, state, deleted) in [
            (r#""withheld":"removed:spam","del":1"#, Some(Withheld::Removed("spam".into())), false),
            (r#""withheld":"held:first","mood":"fine""#, Some(Withheld::Held("first".into())), false),
            (r#""withheld":"flagged:","del":1"#, Some(Withheld::Flagged), true),
            (r#""withheld":"damaged""#, unreadable(), false),
            (r#""withheld":"damaged","mood":"fine""#, unreadable(), false),
        ] {
            let json = format!(
                r#"{{"body":"b","ctime":1,"user_id":1,"parent_id":-1,"score":1,"up":[1],"down":[],{json}}}"#
            );
            let comment = Comment::from_field(NewsId(3), "1", &json).unwrap();
            assert_eq!(comment.withheld, state, "{json}");
            assert_eq!(comment.deleted, deleted, "{json}");
            let again = comment.to_json();
            let [json, again]: [Value; 2] = [&json, &again].map(|json| serde_json::from_str(json).unwrap());
            assert_eq!(again, json);
        }
    }

    #[test]
    fn votes_that_are_not_a_list_count_as_none() {
        let json = r#"{"body":"b","parent_id":-1,"user_id":1,"ctime":1,"up":null,"down":"x"}"#;
        let comment = Comment::from_field(NewsId(3), "1", json).unwrap();
        assert_eq!((comment.up.len(), comment.down.len()), (0, 0));
    }

    #[test]
    fn what_is_not_a_comment_is_skipped() {
        for (field, json) in [
            ("nextid", "15"),
            ("1", "15"),
            ("1", "{}"),
            ("1", ""),
            ("1", "not json"),
            ("x", r#"{"body":"b"}"#),
        ] {
            assert_eq!(Comment::from_field(NewsId(3), field, json), None, "{field} {json}");
        }
    }

    #[test]
    fn a_user_votes_once_in_one_direction() {
        let json = r#"{"body":"b","parent_id":-1,"user_id":1,"ctime":1,"up":[1]}"#;
        let mut comment = Comment::from_field(NewsId(3), "1", json).unwrap();
        let state = |up, down, is_up| Refusal::VotedAlready(Some(VoteState { is_up: Some(is_up), up, down }));
        assert_eq!(comment.vote(UserId(1), Direction::Down), Err(state(1, 0, true)));
        assert_eq!(comment.vote(UserId(2), Direction::Down), Ok(()));
        assert_eq!(comment.vote(UserId(2), Direction::Up), Err(state(1, 1, false)));
        assert_eq!(comment.score(), 0);
    }
}
