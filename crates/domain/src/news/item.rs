//! A news item as stored: the hash `news:<id>`.

use crate::fields::{self, StoredFields};
use crate::news::{by_votes, past};
use crate::post_state::{Moderated, StateFields};
use crate::records::{Fields, RecordEntries, Stored};
use crate::values::{
    Age, AsText, Hostname, ImportedVotes, ModerationId, NewsId, NewsUrl, NotAnId, OnOneLine, PostKind,
    PostState, REMOVED, RankingRules, RemovedBy, Thing, Timestamp, Topics, TweetId, UNSEEN, UserId, WITHHELD,
    Withheld, is_deleted, list_text, printable, ranking, record_text,
};
use crate::{Refusal, Role, User, keys};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use tidings_keyspace::{Batch, Fetch, Hash, read};
use tidings_language::lists::list;
use tidings_language::t;
use tidings_text::words::{self, Token};

/// The title of a story that was erased.
pub(crate) const ERASED: &str = "[erased]";
/// The prefix of the stored URL of a text item.
pub const TEXT_SCHEME: &str = "text://";

/// Where an item links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The host of its URL.
    pub host: String,
    /// The host as a site, if it is one that can be voted on.
    pub site: Option<Hostname>,
    /// The address for a link, where it differs from the stored URL.
    safe_address: Option<Box<str>>,
}

impl Link {
    /// Where a stored URL links to; `None` if it is not an http(s) URL.
    fn of(url: &str) -> Option<Self> {
        let parsed = NewsUrl::parse_imported(url).ok()?;
        let (host, address) = (parsed.host(), parsed.address());
        let safe_address = (address != url).then(|| address.into());
        Some(Self { site: Hostname::parse(&host).ok(), host, safe_address })
    }
}

/// The field of a story that was deleted, or that a moderator has removed.
pub(crate) const DEL: &str = "del";
/// The field of a story whose thread is locked, as `<moderation>:<reason>`.
pub(crate) const LOCKED: &str = "locked";
/// The field of a story that moderators have edited, as `<moderation>:<what>:<reason>`.
pub(crate) const EDITED: &str = "edited";
/// The field of a story with the time of its last edit.
pub(crate) const EDITED_AT: &str = "edited_at";
/// The field of a story with its votes on the site that it was imported from.
pub(crate) const IMPORTED_VOTES: &str = "imported_votes";
/// The field of a story, a comment or a person with where it was imported from, as `<source>:<id there>`.
pub(crate) const SOURCE: &str = "source";
/// The field of a story with the numbers of those that were merged into it.
pub(crate) const MERGED: &str = "merged";

/// The fields that decide whether and where lists have an item, and whether its thread is open: all but its URL or text.
const LISTED_FIELDS: [&str; 12] = [
    "id",
    "title",
    "user_id",
    "ctime",
    "up",
    "down",
    IMPORTED_VOTES,
    DEL,
    WITHHELD,
    UNSEEN,
    LOCKED,
    "topics",
];

/// The lock of a thread: everybody reads, nobody writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The line of the log that says who locked it.
    pub moderation: ModerationId,
    /// Why.
    pub reason: Box<str>,
}

record_text!(Lock or NotAnId: {moderation} ":" {reason OnOneLine});

/// The note on a story that a moderator has edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditNote {
    /// The line of the log that says who edited it.
    pub moderation: ModerationId,
    /// The parts that were changed, such as "title and topics".
    pub what: Box<str>,
    /// Why.
    pub reason: Box<str>,
}

impl EditNote {
    /// The parts that were changed, in the language of the site.
    pub fn in_words(&self) -> String {
        parts_in_words(&self.what)
    }
}

/// The parts of a story in a note, in the language of the site.
pub(crate) fn parts_in_words(what: &str) -> String {
    let parts = what.split(" and ").map(|part| match part {
        "title" => t!("part of a story" => "title"),
        "topics" => t!("part of a story" => "topics"),
        "URL" => t!("part of a story" => "URL"),
        "text" => t!("part of a story" => "text"),
        other => other,
    });
    list(&parts.map(str::to_owned).collect::<Vec<_>>())
}

record_text!(EditNote or NotAnId: {moderation} ":" {what AsText} ":" {reason OnOneLine});

/// The stories that were merged into one, the first one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergedStories(pub Vec<NewsId>);

list_text!(MergedStories or NotAnId: " " split(" "));

/// A news item.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    /// The item's number.
    pub id: NewsId,
    /// The title, plain text that can be in any document.
    pub title: String,
    /// The URL as it was sent, or `text://` and the text.
    pub url: String,
    /// Its author.
    pub user_id: UserId,
    /// When it was posted.
    pub ctime: Timestamp,
    /// When its title, topics, URL or text was last edited, if it was.
    pub edited_at: Option<Timestamp>,
    /// Votes up.
    pub up: i64,
    /// Votes down.
    pub down: i64,
    /// The votes of the site that it was imported from, which count besides.
    pub imported_votes: ImportedVotes,
    /// Comments that are not deleted.
    pub comments: u64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<Withheld>,
    /// Whether it was taken away before readers saw it.
    pub unseen: bool,
    /// The decision that removed it or merged it into another, unless it was rejected.
    pub(crate) removed: Option<Box<RemovedBy>>,
    /// The field `del` as stored.
    stored_del: Option<String>,
    /// The lock of its thread, if a moderator has locked it.
    pub locked: Option<Lock>,
    /// Whether its thread has a lock, also one that cannot be read.
    pub(crate) has_lock: bool,
    /// The note about a moderator's edit, if there was one.
    pub edited: Option<EditNote>,
    /// The stories that were merged into it.
    pub merged: MergedStories,
    /// The tweet that announced it to the author's followers.
    pub tweet_id: Option<TweetId>,
    /// Its topics.
    pub topics: Topics,
    /// The field `topics` as stored.
    pub(crate) stored_topics: Option<String>,
    /// Where it links to; parsed on first use.
    link: OnceLock<Option<Link>>,
    /// The tokens of the title; split on first use.
    title_tokens: OnceLock<Box<[Token]>>,
    /// Where it was imported from.
    pub(crate) source: Option<Box<str>>,
    /// Score and rank as stored.
    pub(crate) stored_score: Option<f64>,
    pub(crate) stored_rank: Option<f64>,
    /// Its age when it was ranked anew: the list by votes that it comes into.
    age: Option<Age>,
    /// The votes up and down as stored, for the refresh of ranks.
    stored_votes: [Option<String>; 2],
    /// Only [`LISTED_FIELDS`] were read, which do not say all that follows from it.
    is_partial: bool,
}

impl News {
    /// Reads an item; `None` when the hash is absent or not a news item.
    pub fn from_hash(hash: &Hash) -> Option<Self> {
        let id: NewsId = StoredFields::new(hash, || "a news item".to_owned()).read("id")?;
        let key = move || keys::news(id);
        let fields = StoredFields::new(hash, key);
        let text = |field| fields.text(field).map(str::to_owned);
        let withheld = fields::withheld(fields.text(WITHHELD), key);
        Some(Self {
            id,
            title: printable(text("title").unwrap_or_default()),
            url: text("url").unwrap_or_default(),
            user_id: fields.read("user_id")?,
            ctime: Timestamp(fields.read("ctime").unwrap_or(0)),
            edited_at: fields.read(EDITED_AT),
            up: fields.read("up").unwrap_or(0),
            down: fields.read("down").unwrap_or(0),
            imported_votes: fields.read(IMPORTED_VOTES).unwrap_or_default(),
            comments: fields.count("comments"),
            deleted: is_deleted(fields.text(DEL).is_some(), withheld.as_ref()),
            withheld,
            unseen: fields.text(UNSEEN).is_some(),
            removed: fields.read(REMOVED).map(Box::new),
            stored_del: text(DEL),
            locked: fields.read(LOCKED),
            has_lock: fields.text(LOCKED).is_some(),
            edited: fields.read(EDITED),
            merged: fields.read(MERGED).unwrap_or_default(),
            tweet_id: fields.read("tweet_id"),
            topics: fields.text("topics").map(Topics::from_stored).unwrap_or_default(),
            stored_topics: text("topics"),
            link: OnceLock::new(),
            title_tokens: OnceLock::new(),
            source: fields.text(SOURCE).map(Box::from),
            stored_score: fields.read("score"),
            stored_rank: fields.read("rank"),
            age: None,
            stored_votes: ["up", "down"].map(text),
            is_partial: false,
        })
    }

    /// A new item, with the vote of its author. `url` is as it is stored.
    pub(crate) fn new(
        id: NewsId,
        user_id: UserId,
        (title, url): (&str, String),
        topics: Topics,
        ctime: Timestamp,
    ) -> Self {
        Self { id, title: title.to_owned(), url, user_id, ctime, up: 1, topics, ..Self::default() }
    }

    /// Gives it another title and another URL or text, as it is stored.
    pub(crate) fn edit(&mut self, title: &str, url: &str) {
        (self.title, self.url) = (title.to_owned(), url.to_owned());
        (self.link, self.title_tokens) = (OnceLock::new(), OnceLock::new());
    }

    /// Leaves nothing but its place, its author, its time and its votes. One that was merged into another stays so, for the
    /// comments in that thread, and is erased when it is split off.
    pub(crate) fn erase(&mut self) {
        self.edit(ERASED, TEXT_SCHEME);
        (self.topics, self.edited, self.source) = (Topics::default(), None, None);
        match (&self.withheld, &mut self.removed) {
            (Some(state), Some(merged)) if state.is_merged() && !self.deleted => {
                merged.earlier = Some(Withheld::Erased);
            }
            _ => {
                self.deleted = true;
                self.withhold(Some(Withheld::Erased));
                self.removed = None;
            }
        }
    }

    /// Gives it the score and the rank of now.
    pub(crate) fn rank_anew(&mut self, now: Timestamp, rules: &RankingRules) {
        self.stored_score = Some(self.score(rules));
        self.stored_rank = Some(self.rank(now, rules));
        self.age = Some(Age::of(self.ctime, now));
    }

    /// The item with a number, if it exists, without its URL or text. One that cannot be read counts as absent.
    pub(crate) fn listed_by_id(id: NewsId) -> impl Fetch<Value = Option<Self>> {
        read::hash_fields(keys::news(id), LISTED_FIELDS).or_absent().map(|fields| {
            let names = LISTED_FIELDS.into_iter().map(str::to_owned);
            let found = names.zip(fields).filter_map(|(name, value)| Some((name, value?)));
            Some(Self { is_partial: true, ..Self::from_hash(&Hash(found.collect()))? })
        })
    }

    /// The item with a number, if it exists.
    pub(crate) fn by_id(id: NewsId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::news(id)).map(|hash| Self::from_hash(&hash))
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            // The tokens of the title take about twice its bytes.
            + 3 * self.title.len()
            + self.url.len()
            + self.withheld.as_ref().map_or(0, Withheld::size)
            + self.locked.as_ref().map_or(0, |lock| lock.reason.len())
            + self.edited.as_ref().map_or(0, |note| note.what.len() + note.reason.len())
            + size_of_val(&*self.merged.0)
    }

    /// Its state.
    pub fn state(&self) -> PostState<'_> {
        let (withheld, unseen) = (self.withheld.as_ref(), self.unseen);
        PostState { kind: PostKind::Story, author: self.user_id, withheld, deleted: self.deleted, unseen }
    }

    /// When it was last changed.
    pub fn updated(&self) -> Timestamp {
        self.edited_at.unwrap_or_default().max(self.ctime)
    }

    /// Whether it was erased.
    pub fn is_erased(&self) -> bool {
        let merged = self.removed.as_ref().and_then(|merged| merged.earlier.as_ref());
        [self.withheld.as_ref(), merged].into_iter().flatten().any(Withheld::is_erased)
    }

    /// Whether it was ever in the lists: it does not wait for approval, and did not when it was taken away.
    pub(crate) fn was_shown(&self) -> bool {
        !self.unseen && !self.withheld.as_ref().is_some_and(Withheld::is_held)
    }

    /// Refuses to write into the thread of the item while it is locked.
    ///
    /// # Errors
    /// [`Refusal::ThreadLocked`].
    pub fn refuse_if_locked(&self) -> Result<(), Refusal> {
        match &self.locked {
            Some(lock) => Err(Refusal::ThreadLocked { reason: lock.reason.clone() }),
            None => Ok(()),
        }
    }

    /// Makes a batch fail if the thread of the item has been locked since it was read.
    pub(crate) fn check_not_locked(&self, batch: &mut Batch) {
        batch.field_absent(keys::news(self.id), LOCKED);
    }

    /// Makes a batch fail if the item has been deleted, removed or put back since it was read.
    pub(crate) fn check_state(&self, batch: &mut Batch) {
        let key = keys::news(self.id);
        batch.key_present(&key);
        batch.field_unchanged(&key, DEL, self.stored_del.as_deref());
        batch.field_unchanged(key, WITHHELD, self.withheld.as_ref().map(ToString::to_string));
    }

    /// Makes a batch fail if anybody has voted on the item since it was read.
    pub(crate) fn check_votes(&self, batch: &mut Batch) {
        for (field, count) in ["up", "down"].into_iter().zip(&self.stored_votes) {
            batch.field_unchanged(keys::news(self.id), field, count.as_deref());
        }
    }

    /// The set of those who have voted on the item in a direction.
    pub(crate) fn voters_key(&self, direction: Direction) -> String {
        match direction {
            Direction::Up => keys::news_up(self.id),
            Direction::Down => keys::news_down(self.id),
        }
    }

    /// The tokens of its title, to be searched for muted words.
    pub fn title_tokens(&self) -> &[Token] {
        self.title_tokens.get_or_init(|| words::tokens(&self.title).into())
    }

    /// The text of a text item.
    pub fn text(&self) -> Option<&str> {
        self.url.strip_prefix(TEXT_SCHEME)
    }

    /// Where the item links to: an http(s) URL; `None` for a text item.
    pub fn link(&self) -> Option<&Link> {
        self.link.get_or_init(|| Link::of(&self.url)).as_ref()
    }

    /// The address of the link, safe in `href`; `None` for a text item.
    pub fn link_address(&self) -> Option<&str> {
        self.link().map(|link| link.safe_address.as_deref().unwrap_or(&self.url))
    }

    /// The site that the item links to, if it is one that can be voted on.
    pub fn site(&self) -> Option<&Hostname> {
        self.link()?.site.as_ref()
    }

    /// The votes up and down that are shown and ranked: those here and those of the site that it was
    /// imported from.
    pub const fn votes(&self) -> [i64; 2] {
        self.imported_votes.and(self.up, self.down)
    }

    /// Votes up less votes down.
    pub const fn points(&self) -> i64 {
        let [up, down] = self.votes();
        up.saturating_sub(down)
    }

    /// The score now.
    pub fn score(&self, rules: &RankingRules) -> f64 {
        self.score_with([0, 0], rules)
    }

    /// The score with more votes up and down, or fewer.
    pub(crate) fn score_with(&self, [up, down]: [i64; 2], rules: &RankingRules) -> f64 {
        let votes = self.votes();
        ranking::score(votes[0].saturating_add(up), votes[1].saturating_add(down), rules)
    }

    /// The rank now.
    pub fn rank(&self, now: Timestamp, rules: &RankingRules) -> f64 {
        ranking::rank(self.score(rules), self.ctime, now, rules)
    }

    /// Whether `viewer` may edit and delete it now: its author. Administrators may change their own at any
    /// time; what they do to others' stories is moderation.
    ///
    /// # Errors
    /// The refusal that says why not.
    pub fn may_change(&self, viewer: &User, now: Timestamp, window_seconds: u64) -> Result<(), Refusal> {
        self.state().demand_editable(viewer)?;
        Refusal::NotYourNews.when(viewer.id != self.user_id)?;
        if viewer.role() == Role::Administrator {
            return Ok(());
        }
        if window_seconds > 0 && now.seconds_since(self.ctime) > window_seconds {
            return Err(Refusal::TooLateToChange { window_seconds });
        }
        Ok(())
    }
}

impl Moderated for News {
    fn state_fields(&mut self) -> StateFields<'_> {
        StateFields { withheld: &mut self.withheld, unseen: &mut self.unseen, removed: &mut self.removed }
    }
}

impl Stored for News {
    const IS_WHOLE_HASH: bool = true;

    fn key(&self) -> String {
        keys::news(self.id)
    }

    fn fields(&self) -> Fields {
        debug_assert!(!self.is_partial, "a change of what was read in part");
        // Lamer News, which knows no other state, shows what has no `del`.
        let has_del = self.deleted || self.withheld.as_ref().is_some_and(Withheld::has_del);
        [
            ("id", Some(self.id.to_string())),
            ("title", Some(self.title.clone())),
            ("url", Some(self.url.clone())),
            ("user_id", Some(self.user_id.to_string())),
            ("ctime", Some(self.ctime.to_string())),
            ("up", Some(self.up.to_string())),
            ("down", Some(self.down.to_string())),
            ("score", self.stored_score.as_ref().map(ToString::to_string)),
            ("rank", self.stored_rank.as_ref().map(ToString::to_string)),
            (IMPORTED_VOTES, (!self.imported_votes.is_none()).then(|| self.imported_votes.to_string())),
            (DEL, has_del.then(|| "1".to_owned())),
            (WITHHELD, self.withheld.as_ref().map(ToString::to_string)),
            (UNSEEN, self.unseen.then(|| "1".to_owned())),
            (REMOVED, self.removed.as_ref().map(ToString::to_string)),
            (LOCKED, self.locked.as_ref().map(ToString::to_string)),
            (EDITED, self.edited.as_ref().map(ToString::to_string)),
            (EDITED_AT, self.edited_at.as_ref().map(ToString::to_string)),
            (MERGED, (!self.merged.0.is_empty()).then(|| self.merged.to_string())),
            ("tweet_id", self.tweet_id.as_ref().map(ToString::to_string)),
            ("topics", (!self.topics.is_empty()).then(|| self.topics.stored())),
            (SOURCE, self.source.as_deref().map(str::to_owned)),
        ]
        .map(|(field, value)| (field.to_owned(), value))
        .into()
    }

    fn decides(field: &str) -> bool {
        ["url", "ctime", DEL, WITHHELD, UNSEEN, "topics"].contains(&field)
    }

    fn entries(&self, entries: &mut RecordEntries) {
        debug_assert!(!self.is_partial, "entries of what was read in part");
        let (id, author, time) = (self.id, self.user_id, self.ctime.as_score());
        if self.was_shown() {
            entries.listed(keys::user_posted(author), id, time);
            // That its author has deleted it, the list tells everybody.
            if !self.state().is_listed() && self.withheld.is_some() {
                entries.listed(keys::user_gone_stories(author), id, time);
            }
        } else if !self.is_erased() {
            entries.listed(keys::user_unseen(author), Thing::Story(id).key(), time);
        }
        if !self.state().is_listed() {
            return;
        }
        entries.listed(keys::NEWS_CRON, id, time);
        if let Some(host) = self.site() {
            entries.listed(keys::host_news(host), id, time);
        }
        entries.ranked(keys::NEWS_TOP, id, self.stored_rank.unwrap_or_default());
        for (list, member) in past::places(id, self.ctime) {
            entries.ranked_if_stored(list, member, self.stored_score.unwrap_or_default());
        }
        for (age, list, member) in by_votes::places(id, self.ctime) {
            match self.age {
                Some(own) if own == age => entries.ranked(list, member, self.points() as f64),
                _ => entries.possible(list, member),
            }
        }
    }
}

/// A vote up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Up.
    Up,
    /// Down.
    Down,
}

/// The vote of a user on an item, with when it was cast.
pub(crate) fn vote_of(id: NewsId, voter: UserId) -> impl Fetch<Value = Option<(Direction, f64)>> {
    let lists = [keys::news_up(id), keys::news_down(id)];
    Fetch::map(lists.map(|list| read::score(list, voter.to_string())), |[up, down]| {
        up.map(|time| (Direction::Up, time)).or_else(|| Some((Direction::Down, down?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_in_a_note_are_a_list() {
        for (stored, shown) in [
            ("text", "text"),
            ("title and topics", "title and topics"),
            ("title and topics and URL", "title, topics and URL"),
        ] {
            assert_eq!(parts_in_words(stored), shown);
        }
    }
}
