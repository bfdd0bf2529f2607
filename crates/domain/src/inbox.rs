//! The inbox as its owner sees it: entries with the texts and names of what they are about.
//!
//! An entry stays when what it is about is removed or deleted, or when the follower has left, and it is shown again when
//! that comes back. An entry that cannot be seen is neither listed, nor counted, nor marked as read with others.
//!
//! It has no keys of its own: [`crate::accounts::inbox`] stores the entries.

use crate::accounts::inbox::{
    self, Entry, EntryId, InboxCursor, Kind, Marking, NewestUnread, entries_of, message,
};
use crate::accounts::mentioned::names_in;
use crate::accounts::message_threads::message_at;
use crate::accounts::visit::COUNTED_UNREAD;
use crate::accounts::{Collapsed, Perspective, Reader, Seen, ShownIn, UserNames, Viewed};
use crate::cache::MEBIBYTE;
use crate::comments::lists::title_of;
use crate::contributions::story_of_comment_in;
use crate::values::{
    CommentAddress, MessageAddress, NewsId, StoredMessage, Timestamp, TweetId, UserId, size,
};
use crate::{Comment, News, Result, Site, Tweet, User, Visit, keys};
use std::collections::HashSet;
use std::sync::Arc;
use tidings_keyspace::{Boxed, Fetch, read};

/// Which part of an inbox is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InboxWindow {
    /// Only entries after this one on the way down.
    pub before: Option<InboxCursor>,
    /// Only entries of this kind.
    pub kind: Option<Kind>,
    /// Only unread entries.
    pub unread: bool,
    /// The most entries.
    pub count: usize,
}

impl InboxWindow {
    /// The newest entries.
    pub const fn newest(count: usize) -> Self {
        Self { before: None, kind: None, unread: false, count }
    }

    fn has(&self, entry: &Entry) -> bool {
        self.before.is_none_or(|before| entry.place.order(&before).is_lt())
            && self.kind.is_none_or(|kind| entry.place.id.kind() == kind)
            && !(self.unread && entry.read)
    }
}

/// A part of an inbox.
#[derive(Debug, Default, PartialEq)]
pub struct InboxPage {
    /// The entries, newest first.
    pub entries: Vec<InboxEntry>,
    /// The value of [`InboxWindow::before`] for the rest; `None` at the end.
    pub next: Option<InboxCursor>,
    /// The newest entry of the whole inbox.
    pub newest: Option<EntryId>,
}

/// An entry of an inbox.
#[derive(Debug, PartialEq)]
pub struct InboxEntry {
    /// Its subject and its time.
    pub place: InboxCursor,
    /// Whether it is read.
    pub read: bool,
    /// The name of the user who caused it; `None` for a moderator and for a deactivated account.
    pub username: Option<Arc<str>>,
    /// The event.
    pub event: InboxEvent,
}

impl InboxEntry {
    /// The second in which it happened.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_score(self.place.time)
    }

    /// The text of the comment, tweet or message; `None` for a follow.
    pub fn text(&self) -> Option<&str> {
        match &self.event {
            InboxEvent::Comment { text, .. }
            | InboxEvent::Tweet { text, .. }
            | InboxEvent::Message { text, .. } => Some(size::shown(text)),
            InboxEvent::Answer { text, .. } => Some(size::shown_message(text)),
            InboxEvent::Follow | InboxEvent::Collapsed(_) => None,
        }
    }
}

/// The event that an entry reports.
#[derive(Debug, PartialEq, Eq)]
pub enum InboxEvent {
    /// A comment.
    Comment {
        /// The text.
        text: String,
        /// The title of the story; `None` when it is deleted.
        title: Option<String>,
        /// Whether the thread is open for answers.
        is_open: bool,
        /// The target of the reply, from the user's point of view.
        target: ReplyTarget,
    },
    /// A tweet that mentions the user.
    Tweet {
        /// The tweet.
        id: TweetId,
        /// The text.
        text: String,
    },
    /// Somebody follows the user.
    Follow,
    /// A message of a moderator.
    Message {
        /// The text.
        text: String,
        /// The title of the story, if it is about a comment; `None` if the user does not see it now.
        title: Option<String>,
    },
    /// An answer of the moderators. Its author has no name if they answered as the moderators.
    Answer {
        /// Where it is.
        address: MessageAddress,
        /// Whether a moderator answered by name.
        is_named: bool,
        /// The text.
        text: String,
    },
    /// Something unread that the user does not see, such as a comment of somebody who was muted
    /// since. It stays until it is read, because the badge counts it.
    Collapsed(Collapsed),
}

/// The target of a reply, from the point of view of the owner of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyTarget {
    /// A comment of the user's.
    OwnComment,
    /// A story of the user's.
    OwnStory,
    /// A thread to which the user has subscribed, or that mentions the user.
    Thread,
}

/// A part of a user's inbox. If something of it cannot be seen, older entries fill the page. Rounds: 3, and 2 for each
/// of at most three refills.
pub async fn page(visit: &mut Visit, user: UserId, window: &InboxWindow) -> Result<InboxPage> {
    let reader = Reader::of(visit, user);
    let (entries, reader) = visit.fetch((entries_of(user), reader)).await?;
    let newest = entries.first().map(|entry| entry.place.id);
    let mut left = entries.into_iter().filter(|entry| window.has(entry)).peekable();
    let mut page = InboxPage { entries: Vec::new(), next: None, newest };
    for _ in 0..=REFILLS {
        let some: Vec<Entry> = left.by_ref().take(window.count - page.entries.len()).collect();
        page.next = some.last().filter(|_| left.peek().is_some()).map(|entry| entry.place);
        page.entries.extend(with_subjects(visit, &reader, some).await?);
        if page.entries.len() >= window.count || left.peek().is_none() {
            break;
        }
    }
    Ok(page)
}

/// How often a page is filled up.
const REFILLS: usize = 3;

crate::cache_kind! {
    /// How many of the newest unread entries of a user are about what they can see.
    struct SeenUnread: UserId => u64, "seen_unread", MEBIBYTE, |_, _| 0;
}

/// The viewer is shown the badge: it counts only what they can see of the newest unread entries.
pub const fn show_badge(visit: &mut Visit) {
    visit.read_badge = Some(seen_unread);
}

/// How many of the newest unread entries of the viewer are about what they can see.
fn seen_unread(visit: &Visit, viewer: &User) -> Boxed<'static, u64> {
    if let Some(seen) = visit.site().caches.of::<SeenUnread>().get(visit.view(), &viewer.id) {
        return read::known(*seen).boxed();
    }
    let (owner, unread, keep) = (InboxOwner::of(viewer), viewer.unread.clone(), visit.keeper::<SeenUnread>());
    let subject = |entry: &EntryId| EntrySubject::of_entry(owner.clone(), Perspective::default(), *entry);
    let subjects = unread.entries.iter().map(subject).collect::<Vec<_>>();
    let reads = (subjects, NewestUnread::of(owner.id, COUNTED_UNREAD)).or_absent().tracked().apart();
    let counted = reads.map(move |found| {
        // Something may have been delivered since the viewer was read.
        let is_current = found.peek().1 == unread;
        let seen = found.map(|(subjects, _)| subjects.iter().flatten().count() as u64);
        if is_current { *keep(owner.id, seen) } else { *seen.peek() }
    });
    counted.boxed()
}

/// Marks entries of an inbox as read. Of many, those that the user cannot see stay unread. Rounds: 2, and 2 to mark many.
///
/// # Errors
/// Those of the store.
pub async fn mark_read(site: &Site, user: &User, marking: Marking) -> Result<()> {
    let mut hidden = HashSet::new();
    if !matches!(marking, Marking::One(_)) {
        let owner = InboxOwner::of(user);
        let NewestUnread { entries, .. } = site.store.fetch(NewestUnread::of(user.id, u64::MAX)).await?;
        let subjects =
            entries.iter().map(|entry| EntrySubject::of_entry(owner.clone(), Perspective::default(), *entry));
        let subjects = site.store.fetch(subjects.collect::<Vec<_>>()).await?;
        hidden.extend(
            entries.iter().zip(subjects).filter(|(_, subject)| subject.is_none()).map(|(entry, _)| *entry),
        );
    }
    inbox::mark_read(site, user, marking, &hidden).await
}

/// An entry to mail, and to whom. `None` if it is read, gone or muted, or the user wants no mail or has
/// no e-mail address. Rounds: 3.
pub async fn to_mail(visit: &mut Visit, user: UserId, entry: EntryId) -> Result<Option<(User, InboxEntry)>> {
    let unread = read::score(keys::user_unread(user), entry.to_string());
    let reads = (User::by_id(user), unread, Reader::of(visit, user));
    let (account, unread, reader) = visit.fetch(reads).await?;
    let Some(time) = unread else { return Ok(None) };
    let wants = |user: &User| user.gets_replies_by_mail();
    let Some(account) = account.filter(wants) else { return Ok(None) };
    let entry = Entry { place: InboxCursor { time, id: entry }, read: false };
    let mut entries = with_subjects(visit, &reader, vec![entry]).await?;
    entries.retain(|entry| !matches!(entry.event, InboxEvent::Collapsed(_)));
    Ok(entries.pop().map(|entry| (account, entry)))
}

/// Entries with the texts and names of what they are about, as their owner sees them. Rounds: 2.
async fn with_subjects(visit: &mut Visit, reader: &Reader, entries: Vec<Entry>) -> Result<Vec<InboxEntry>> {
    let (user, perspective) = (reader.id, Perspective { reader: Some(reader), shows_all: false });
    let owner = InboxOwner { id: user, name: reader.name.to_string() };
    let subject = |entry: &Entry| EntrySubject::of_entry(owner.clone(), perspective, entry.place.id);
    let found = visit.fetch(entries.iter().map(subject).collect::<Vec<_>>()).await?;
    // A collapsed entry is there until it is read.
    let subjects: Vec<(Entry, EntrySubject)> = entries
        .into_iter()
        .zip(found)
        .filter_map(|(entry, subject)| Some((entry, subject?)))
        .filter(|(entry, subject)| !(entry.read && matches!(subject.event, InboxEvent::Collapsed(_))))
        .collect();

    let actors = subjects.iter().filter_map(|(_, subject)| subject.actor);
    let names = UserNames::of(&visit.shared(), actors.collect());
    let around = |(_, EntrySubject { parent, story, .. }): &(Entry, EntrySubject)| {
        (parent.map(|parent| Comment::at(parent).or_absent()), story.map(News::listed_by_id))
    };
    let around = subjects.iter().map(around).collect::<Vec<_>>();
    let (names, around) = visit.fetch((names, around)).await?;
    let entries = subjects.into_iter().zip(around).map(|((entry, subject), (parent, story))| {
        let is_to_own = parent.flatten().is_some_and(|parent| parent.user_id == user);
        let mut event = subject.event;
        match &mut event {
            InboxEvent::Comment { target, .. } if is_to_own => *target = ReplyTarget::OwnComment,
            InboxEvent::Message { title, .. } => {
                *title = title_of(perspective, story.flatten().as_ref()).0;
            }
            _ => {}
        }
        let username = subject.actor.and_then(|actor| names.get(actor));
        InboxEntry { place: entry.place, read: entry.read, username, event }
    });
    Ok(entries.collect())
}

/// The owner of an inbox.
#[derive(Clone)]
struct InboxOwner {
    id: UserId,
    /// In lower case.
    name: String,
}

impl InboxOwner {
    fn of(user: &User) -> Self {
        Self { id: user.id, name: user.username.to_lowercase() }
    }
}

/// The subject of an entry, as the owner of the inbox sees it.
struct EntrySubject {
    /// The event, before what is around it is read: the comment above, and the story that a message is about.
    event: InboxEvent,
    /// The user who caused it.
    actor: Option<UserId>,
    /// The comment that a comment replies to.
    parent: Option<CommentAddress>,
    /// The story of the comment that a message is about.
    story: Option<NewsId>,
}

impl From<InboxEvent> for EntrySubject {
    fn from(event: InboxEvent) -> Self {
        Self { event, actor: None, parent: None, story: None }
    }
}

impl EntrySubject {
    /// The subject of an entry; `None` if the owner of the inbox cannot see it now.
    fn of_entry<'a>(
        InboxOwner { id: user, name }: InboxOwner,
        perspective: Perspective<'a>,
        entry: EntryId,
    ) -> Boxed<'a, Option<Self>> {
        match entry {
            EntryId::Reply(address) | EntryId::Mention(address) => {
                let is_mention = matches!(entry, EntryId::Mention(_));
                let reads = (News::listed_by_id(address.news), Comment::at(address)).or_absent();
                let found = move |(story, comment): (Option<News>, Option<Comment>)| {
                    // An edit may have taken the mention away.
                    let comment = comment
                        .filter(|comment| !is_mention || names_in(comment.stored_text()).contains(&name))?;
                    Self::of(perspective.view(comment, ShownIn::List), |comment| {
                        let is_own = story.as_ref().is_some_and(|story| story.user_id == user);
                        let target = if is_own { ReplyTarget::OwnStory } else { ReplyTarget::Thread };
                        let (title, is_open) = title_of(perspective, story.as_ref());
                        let text = comment.line().body().to_owned();
                        let parent = comment.parent_id.map(|comment| CommentAddress { comment, ..address });
                        let event = InboxEvent::Comment { text, title, is_open, target };
                        Self { actor: Some(comment.user_id), parent, ..event.into() }
                    })
                };
                reads.map(found).boxed()
            }
            EntryId::Tweet(id) => {
                let found = move |tweet: Option<Tweet>| {
                    Self::of(perspective.view(tweet?, ShownIn::List), |tweet| {
                        let event = InboxEvent::Tweet { id, text: tweet.text.clone() };
                        Self { actor: Some(tweet.user_id), ..event.into() }
                    })
                };
                Tweet::by_id(id).or_absent().map(found).boxed()
            }
            EntryId::Follow(id) => {
                let is_muted = perspective.muting().is_some_and(|reader| reader.avoids(id));
                let follow = if is_muted {
                    Self::from(InboxEvent::Collapsed(Collapsed::MutedPerson))
                } else {
                    Self { actor: Some(id), ..InboxEvent::Follow.into() }
                };
                let since = read::score(keys::followers(user), id.to_string()).or_absent();
                since.map(|since| since.map(|_| follow)).boxed()
            }
            EntryId::Moderation(number) => {
                let found = |text: String| Self {
                    story: story_of_comment_in(&text),
                    ..InboxEvent::Message { text, title: None }.into()
                };
                message(user, number).or_absent().map(move |text| text.map(found)).boxed()
            }
            EntryId::Answer(address) => {
                let found = move |StoredMessage { from, anonymous, text, .. }| {
                    let event = InboxEvent::Answer { address, is_named: !anonymous, text };
                    Self { actor: (!anonymous).then_some(from), ..event.into() }
                };
                message_at(address).or_absent().map(move |message| message.map(found)).boxed()
            }
        }
    }

    /// The subject made of something that the owner of the inbox sees; a line if they see a line.
    fn of<T>(view: Viewed<T>, subject: impl FnOnce(Seen<T>) -> Self) -> Option<Self> {
        match view {
            Viewed::Whole(seen) => Some(subject(seen)),
            Viewed::Line(_, why) => Some(InboxEvent::Collapsed(why).into()),
            Viewed::Nothing => None,
        }
    }
}
