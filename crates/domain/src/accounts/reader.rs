//! A reader's choices of what to see and not to see: stories hidden and saved, topics followed,
//! mutes, blocks; and how they see posts that moderators and flags withhold.
//!
//! Everything that shows what people wrote asks a [`Perspective`], whose one function decides
//! (`accounts::seen`): lists of stories, threads, timelines, inboxes. A cached value is the same
//! for all readers; it is filtered for each reader after it was cached, so that everything keeps
//! its page and a page may be shorter than others.
//!
//! All of it is one small value per reader, cached until one of the keys that it was read from
//! is written. [`Visit`] reads it along with a round of the page, so it costs no round of its
//! own, and no read per story or comment.

use crate::accounts::mutes::read_mute;
use crate::accounts::users::{ROLE_PASSWORD, SHORT_PASSWORD};
use crate::accounts::{Flags, SecondFactors, TWO_FACTOR};
use crate::cache::{MEBIBYTE, Shared};
use crate::values::{
    Domains, Hostname, MARKED_SAVED, MAX_FOLLOWED_TOPICS, MAX_HIDDEN, MAX_MUTED_TOPICS, MuteKind, NewsId,
    Phrases, Restriction, RestrictionKind, Rules, SHOW_HIDDEN, Timestamp, Topic, UserId,
};
use crate::{Role, Visit, fields, keys};
use tidings_keyspace::{Fetch, Hash, KnownOr, Order, read};

crate::cache_kind! {
    /// Readers.
    struct Readers: UserId => Reader, "readers", 4 * MEBIBYTE, |_, reader| reader.size();
}

/// A reader's choices.
#[derive(Debug, Default)]
pub struct Reader {
    /// The account.
    pub id: UserId,
    /// The name, in lower case.
    pub(crate) name: Box<str>,
    /// Whether the reader moderates, and so sees what is withheld from others.
    pub is_moderator: bool,
    /// The facts that this depends on, besides the rules.
    role: RoleFacts,
    /// Whether the reader has chosen to see what flags have hidden.
    pub shows_flagged: bool,
    /// Whether anything in the inbox is unread, or was marked as read at once and can become unread again. If
    /// not, no page changes the inbox.
    pub has_unread: bool,
    /// The hidden stories, by number.
    hidden: Box<[NewsId]>,
    /// The newest saved stories, by number.
    saved: Box<[NewsId]>,
    /// The followed topics, the latest first.
    pub followed: Box<[Topic]>,
    /// The muted topics, the latest first.
    pub muted_topics: Box<[Topic]>,
    /// The muted people, by number.
    muted_people: Box<[UserId]>,
    /// The blocked people, by number.
    blocked: Box<[UserId]>,
    /// The muted sites.
    domains: Domains,
    /// The muted words and phrases.
    words: Phrases,
}

/// The facts that the role of a reader depends on, besides the rules.
#[derive(Debug, Default)]
struct RoleFacts {
    flags: Flags,
    second_factors: SecondFactors,
    has_short_password: bool,
    ban: Option<Restriction>,
}

impl RoleFacts {
    /// Whether somebody moderates at a time.
    fn moderates(&self, rules: &Rules, now: Timestamp) -> bool {
        let is_banned = self.ban.as_ref().is_some_and(|ban| ban.is_in_force(now));
        let is_barred = self.has_short_password || is_banned;
        Role::counting(self.flags.given_role, self.second_factors, is_barred, rules) >= Role::Moderator
    }
}

impl Reader {
    /// Somebody who has chosen nothing yet.
    pub fn new(id: UserId) -> Self {
        Self { id, ..Self::default() }
    }

    /// The same with the mutes of a stored hash, and the blocks of another one.
    fn with_mutes(mut self, mutes: &Hash, blocks: &Hash) -> Self {
        let values = |wanted: MuteKind| {
            let known = mutes.0.iter().filter_map(|(field, _)| read_mute(field));
            known.filter(move |(kind, _)| *kind == wanted).map(|(_, value)| value)
        };
        let (mutes_key, blocks_key) = (keys::user_mutes(self.id), keys::user_blocks(self.id));
        self.muted_people = sorted(fields::members(values(MuteKind::User), &mutes_key, |id| id.parse().ok()));
        self.blocked = sorted(fields::members(blocks.0.iter(), &blocks_key, |(id, _)| id.parse().ok()));
        self.domains = Domains::new(values(MuteKind::Domain));
        self.words = Phrases::new(values(MuteKind::Word));
        self
    }

    /// Whether the reader has hidden a story.
    pub fn has_hidden(&self, id: NewsId) -> bool {
        self.hidden.binary_search(&id).is_ok()
    }

    /// Whether a story is among the newest that the reader has saved.
    pub fn has_saved(&self, id: NewsId) -> bool {
        self.saved.binary_search(&id).is_ok()
    }

    /// Whether the reader has muted a person.
    pub fn has_muted(&self, person: UserId) -> bool {
        self.muted_people.binary_search(&person).is_ok()
    }

    /// Whether the reader has blocked a person.
    pub fn has_blocked(&self, person: UserId) -> bool {
        self.blocked.binary_search(&person).is_ok()
    }

    /// The people whom the reader does not want to read.
    pub fn avoided(&self) -> impl Iterator<Item = UserId> {
        self.muted_people.iter().chain(&self.blocked).copied()
    }

    /// The stories that the reader has hidden.
    pub fn hidden(&self) -> impl Iterator<Item = NewsId> {
        self.hidden.iter().copied()
    }

    /// Whether the reader does not want to read a person, muted or blocked.
    pub fn avoids(&self, person: UserId) -> bool {
        self.has_muted(person) || self.has_blocked(person)
    }

    /// Why the reader does not want to read what a person wrote, if so.
    pub(crate) fn mutes_post(&self, author: UserId, text: &str) -> Option<Collapsed> {
        if self.avoids(author) {
            Some(Collapsed::MutedPerson)
        } else {
            self.words.are_in(text).then_some(Collapsed::MutedWord)
        }
    }

    /// Whether the reader has muted a topic.
    pub fn has_muted_topic(&self, topic: &Topic) -> bool {
        self.muted_topics.contains(topic)
    }

    /// Whether the reader has muted any site.
    pub fn has_muted_sites(&self) -> bool {
        !self.domains.is_empty()
    }

    /// Whether the reader has muted a site, or one that it is a subdomain of.
    pub fn has_muted_site(&self, site: &Hostname) -> bool {
        self.domains.cover(site)
    }

    /// The muted words and phrases.
    pub const fn words(&self) -> &Phrases {
        &self.words
    }

    /// The approximate size in bytes.
    fn size(&self) -> usize {
        let topics: usize =
            self.followed.iter().chain(&self.muted_topics).map(|topic| topic.as_str().len()).sum();
        size_of::<Self>()
            + size_of_val(&*self.hidden)
            + size_of_val(&*self.saved)
            + size_of_val(&*self.followed)
            + size_of_val(&*self.muted_topics)
            + size_of_val(&*self.muted_people)
            + size_of_val(&*self.blocked)
            + topics
            + self.domains.size()
            + self.words.size()
    }
}

/// The same numbers, to be found quickly.
fn sorted<T: Ord>(mut ids: Vec<T>) -> Box<[T]> {
    ids.sort_unstable();
    ids.into_boxed_slice()
}

/// How somebody sees what a person wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    #[default]
    Shown,
    /// A line in its place, which says why.
    Collapsed(Collapsed),
    /// Nothing at all.
    LeftOut,
}

impl Sight {
    /// Whether all of it is shown.
    pub fn is_shown(self) -> bool {
        self == Self::Shown
    }
}

/// Why there is only a line in place of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collapsed {
    /// A moderator has removed it. The state has the reason.
    Removed,
    /// It waits for approval, and something below it is shown.
    Held,
    /// Readers' flags have hidden it until a moderator looks at it.
    Flagged,
    /// The reader has muted or blocked its author.
    MutedPerson,
    /// It has a word that the reader has muted.
    MutedWord,
    /// It is a story, or is about one, that the reader has hidden, or of a site or a topic that they have muted.
    Unwanted,
    /// It is deleted or erased.
    Deleted,
}

/// The viewer: a reader or a visitor, and whether the page was asked to show hidden things.
#[derive(Debug, Clone, Copy, Default)]
pub struct Perspective<'a> {
    /// The reader; `None` for a visitor.
    pub reader: Option<&'a Reader>,
    /// Whether the reader has asked this page for what is hidden and muted.
    pub shows_all: bool,
}

impl Perspective<'_> {
    /// Whether somebody is the author, or moderates: they see what is withheld from others.
    pub fn is_insider(self, author: UserId) -> bool {
        self.reader.is_some_and(|reader| reader.id == author || reader.is_moderator)
    }

    /// The reader whose mutes count here: nobody's, if the page was asked to show all.
    pub fn muting(&self) -> Option<&Reader> {
        self.reader.filter(|_| !self.shows_all)
    }
}

impl Reader {
    /// The choices of a user who need not be the viewer. They are read if they are not cached.
    pub(crate) fn of(visit: &Visit, id: UserId) -> impl Fetch<Value = Shared<Self>> + use<> {
        match Self::cached(visit, id) {
            Some(reader) => KnownOr::Known(reader),
            None => KnownOr::Read(Self::read(visit, id)),
        }
    }

    /// The choices of a user, if they are cached. They are read again when the user's role has
    /// begun or ceased to count since, by the clock or by a reload of the settings.
    pub(crate) fn cached(visit: &Visit, id: UserId) -> Option<Shared<Self>> {
        let reader = visit.site().caches.of::<Readers>().get(visit.view(), &id)?;
        let moderates = reader.role.moderates(&visit.site().rules, visit.now());
        (moderates == reader.is_moderator).then_some(reader)
    }

    /// The choices of a user, which are cached from now on.
    pub(crate) fn read(visit: &Visit, id: UserId) -> impl Fetch<Value = Shared<Self>> + use<> {
        let stories = |key: String, most| {
            let list = read::sorted_range(&key, Order::Descending, 0, most);
            list.map(move |list| sorted::<NewsId>(fields::members(list, &key, |(id, _)| id.parse().ok())))
        };
        let topics = |key: String, most| {
            let list = read::sorted_range(&key, Order::Descending, 0, most);
            list.map(move |list| {
                let topics = fields::members(list, &key, |(name, _)| Topic::parse("topic", &name).ok());
                topics.into_boxed_slice()
            })
        };
        let chosen = (
            stories(keys::user_hidden(id), MAX_HIDDEN),
            stories(keys::user_saved(id), MARKED_SAVED),
            topics(keys::topics_followed(id), MAX_FOLLOWED_TOPICS),
            topics(keys::topics_muted(id), MAX_MUTED_TOPICS),
        );
        let avoided = (read::hash(keys::user_mutes(id)), read::hash(keys::user_blocks(id)));
        let ban = RestrictionKind::Ban.field();
        let account = ["flags", TWO_FACTOR, ban, SHOW_HIDDEN, ROLE_PASSWORD, "username"];
        let account = read::fields(keys::user(id), account);
        // How many entries of the inbox are unread, and how many were marked as read at once.
        let unread =
            (read::sorted_count(keys::user_unread(id)), read::field_count(keys::user_marked_read(id)));
        let (site, now, keep) = (visit.site_too(), visit.now(), visit.keeper::<Readers>());
        (chosen, avoided, account, unread).or_absent().tracked().apart().map(move |read| {
            let reader = read.map(|(chosen, (mutes, blocks), account, (unread, marked))| {
                let [flags, factors, ban, shows_flagged, password, name] = account;
                let role = RoleFacts {
                    flags: Flags::parse(flags.as_deref().unwrap_or_default()),
                    second_factors: SecondFactors::read(factors.as_deref()),
                    has_short_password: password.as_deref() == Some(SHORT_PASSWORD),
                    ban: fields::read(ban.as_deref(), || keys::user(id), RestrictionKind::Ban.field()),
                };
                let is_moderator = role.moderates(&site.rules, now);
                let shows_flagged = shows_flagged.as_deref() == Some("1");
                let has_unread = unread > 0 || marked > 0;
                let name = name.unwrap_or_default().to_lowercase().into();
                let base = Self { name, is_moderator, role, shows_flagged, has_unread, ..Self::new(id) };
                let (hidden, saved, followed, muted_topics) = chosen;
                let chosen = Self { hidden, saved, followed, muted_topics, ..base };
                chosen.with_mutes(&mutes, &blocks)
            });
            keep(id, reader)
        })
    }
}

/// Readers for the tests of other modules.
#[cfg(test)]
pub(crate) mod test_support {
    use super::*;

    /// A reader with these mutes, as `<what>:<value>`, and blocks.
    pub(crate) fn reader(id: u64, mutes: &[&str], blocks: &[&str]) -> Reader {
        let hash = |fields: &[&str]| {
            Hash(fields.iter().map(|field| ((*field).to_owned(), "1".to_owned())).collect())
        };
        Reader::new(UserId(id)).with_mutes(&hash(mutes), &hash(blocks))
    }

    /// A reader who has hidden and saved these stories, and muted these topics.
    pub(crate) fn marking(hidden: &[u64], saved: &[u64], topics: &[&str]) -> Reader {
        let ids = |ids: &[u64]| ids.iter().map(|id| NewsId(*id)).collect();
        let topics = topics.iter().filter_map(|topic| Topic::parse("topic", topic).ok()).collect();
        Reader { hidden: ids(hidden), saved: ids(saved), muted_topics: topics, ..Reader::new(UserId(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::test_support::reader;
    use super::*;
    use crate::accounts::seen::{ShownIn, Visible};
    use crate::values::{PostKind, PostState, Withheld};

    const AUTHOR: UserId = UserId(7);

    fn sight(reader: Option<&Reader>, shows_all: bool, withheld: Option<&Withheld>) -> Sight {
        struct Post<'a>(PostState<'a>);

        impl Visible for Post<'_> {
            fn state(&self) -> PostState<'_> {
                self.0
            }

            fn unwanted_by(&self, reader: &Reader, _: ShownIn) -> Option<Collapsed> {
                reader.mutes_post(AUTHOR, "Some words")
            }
        }

        let state =
            PostState { kind: PostKind::Tweet, author: AUTHOR, withheld, deleted: false, unseen: false };
        Perspective { reader, shows_all }.sight(&Post(state), ShownIn::Thread { has_replies: false })
    }

    #[test]
    fn mutes_collapse_unless_the_page_was_asked_for_all() {
        for (mutes, blocks, seen) in [
            (&["user:7"][..], &[][..], Sight::Collapsed(Collapsed::MutedPerson)),
            (&[], &["7"], Sight::Collapsed(Collapsed::MutedPerson)),
            (&["word:words"], &[], Sight::Collapsed(Collapsed::MutedWord)),
            (&["user:8", "word:other", "domain:some.words", "user:x"], &["9"], Sight::Shown),
        ] {
            let reader = reader(1, mutes, blocks);
            assert_eq!(sight(Some(&reader), false, None), seen, "{mutes:?}");
            assert_eq!(sight(Some(&reader), true, None), Sight::Shown, "{mutes:?}");
        }
        assert_eq!(sight(None, false, None), Sight::Shown);
    }

    #[test]
    fn what_is_withheld_is_seen_by_its_author_and_by_moderators() {
        let [removed, held] = [Withheld::Removed("spam".into()), Withheld::Held("first".into())];
        let flagged = Withheld::Flagged;
        let (author, other) = (Reader::new(AUTHOR), Reader::new(UserId(1)));
        let moderator = Reader { is_moderator: true, ..Reader::new(UserId(2)) };
        let curious = Reader { shows_flagged: true, ..Reader::new(UserId(3)) };
        let all = [&removed, &held, &flagged];
        let outside =
            [Sight::Collapsed(Collapsed::Removed), Sight::LeftOut, Sight::Collapsed(Collapsed::Flagged)];
        let seen =
            |reader: Option<&Reader>, shows_all| all.map(|state| sight(reader, shows_all, Some(state)));
        assert_eq!(seen(Some(&author), false), [Sight::Shown; 3]);
        assert_eq!(seen(Some(&moderator), false), [Sight::Shown; 3]);
        assert_eq!(seen(Some(&other), false), outside);
        assert_eq!(seen(None, false), outside);
        assert_eq!(seen(None, true), outside, "a visitor has chosen nothing");
        let with_flagged = [outside[0], outside[1], Sight::Shown];
        assert_eq!(seen(Some(&curious), false), with_flagged);
        assert_eq!(seen(Some(&other), true), with_flagged);
    }
}
