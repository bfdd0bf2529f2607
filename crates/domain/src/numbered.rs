//! Stories, comments and people as programs read them that know one sequence of item numbers, such as those
//! made for Hacker News. All of it is what a visitor without a session sees.
//!
//! It has no keys of its own. [`lists`] has the lists of numbers.

pub mod lists;
pub(crate) mod store_rules;

use crate::accounts::people::holder;
use crate::accounts::{Collapsed, Perspective, ProfileTexts, Seen, ShownIn, Sight, UserNames};
use crate::changes::Findable;
use crate::comments::outline::{ThreadLine, ThreadLines};
use crate::comments::threads::{self, Thread};
use crate::contributions::unless_refused;
use crate::news::lines::NewsSummary;
use crate::values::{
    CommentAddress, CommentId, CommentOrder, ITEM_UPDATES, ItemNumber, NewsId, SUBMITTED_ITEMS, Timestamp,
    UNKNOWN_ITEMS, UserId,
};
use crate::{Comment, Item, News, Result, User, Visit, items, keys};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Fetch, Order, read};

/// A story or a comment with its number.
#[derive(Debug, Clone)]
pub struct NumberedItem {
    /// Its number.
    pub number: ItemNumber,
    /// Whether readers see it.
    pub state: ItemState,
    /// The comments directly below it, in reading order.
    pub kids: Vec<ItemNumber>,
    /// Its content.
    pub content: ItemContent,
}

/// Whether readers see an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// They do.
    Shown,
    /// Flags have hidden it until a moderator looks at it.
    Hidden,
    /// It is in no list: it was deleted, removed, or merged into another story.
    Gone,
}

/// The content of an item.
#[derive(Debug, Clone)]
pub enum ItemContent {
    /// A story.
    Story(NumberedStory),
    /// A comment.
    Comment(NumberedComment),
}

/// A story, as far as visitors see it.
#[derive(Debug, Clone)]
pub struct NumberedStory {
    /// When it was posted.
    pub ctime: Timestamp,
    /// The author's name; `None` for a deactivated account.
    pub username: Option<Arc<str>>,
    /// How many comments it has.
    pub comments: u64,
    /// Votes up minus votes down.
    pub points: i64,
    /// Its title, link and text; `None` unless readers see it.
    pub seen: Option<Seen<NewsSummary>>,
}

impl NumberedStory {
    /// A story with its author's name.
    pub(crate) fn of(summary: &NewsSummary) -> Self {
        let NewsSummary { news, username, .. } = summary;
        Self {
            ctime: news.ctime,
            username: username.clone(),
            comments: news.comments,
            points: news.points(),
            seen: Seen::by_visitors(summary.clone(), ShownIn::Page),
        }
    }
}

impl ItemState {
    /// That of the story of a thread. A story that is in no list is gone for those who know numbers alone.
    pub(crate) fn of_story(thread: &Thread) -> Self {
        match thread.news.marks.sight {
            _ if !thread.news.news.state().is_listed() => Self::Gone,
            Sight::Shown => Self::Shown,
            _ => Self::Hidden,
        }
    }
}

/// A comment with the number of what it replies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedComment {
    /// The comment or the story that it replies to; `None` if that has no number yet.
    pub parent: Option<ItemNumber>,
    /// When it was written.
    pub ctime: Timestamp,
    /// The author's name; `None` for a deactivated account, and for a comment that is gone.
    pub username: Option<Arc<str>>,
    /// The text; empty unless readers see it.
    pub body: String,
}

impl NumberedComment {
    /// A comment in this state.
    pub(crate) fn of(line: &ThreadLine<'_>, state: ItemState, parent: Option<ItemNumber>) -> Self {
        let body =
            Seen::by_visitors(*line, ShownIn::List).map(|line| line.body().to_owned()).unwrap_or_default();
        let username = line.username.filter(|_| state != ItemState::Gone).map(Arc::from);
        Self { parent, ctime: line.comment.ctime, username, body }
    }
}

/// The story or the comment with a number; `None` if there is none, or if it waits for approval. Rounds: at
/// most 4, whatever the number of its comments.
pub async fn item(visit: &mut Visit, number: ItemNumber) -> Result<Option<NumberedItem>> {
    let wanted = |lines: &ThreadLines, comment: Option<CommentId>| {
        comment.and_then(|id| lines.position(id)).into_iter().collect()
    };
    match thread_of(visit, number, wanted).await? {
        None => Ok(None),
        Some((thread, None)) => story(visit, number, &thread).await.map(Some),
        Some((thread, Some(id))) => numbered_comment(visit, number, &thread, id).await,
    }
}

/// The thread that has a number: that of a story, or that of a comment, with this comment. `None` if nothing has the number, or if
/// the story waits for approval. All programs that ask by number ask here. Rounds: at most 3.
pub async fn thread_of(
    visit: &mut Visit,
    number: ItemNumber,
    wanted: impl Fn(&ThreadLines, Option<CommentId>) -> Vec<usize>,
) -> Result<Option<(Thread, Option<CommentId>)>> {
    let (news, comment) = match with_number(visit, number).await? {
        Some(Item::Story(news)) => (news, None),
        Some(Item::Comment(CommentAddress { news, comment })) => (news, Some(comment)),
        None => return Ok(None),
    };
    let wanted = |lines: &ThreadLines| wanted(lines, comment);
    let thread = unless_refused(threads::get(visit, news, CommentOrder::Score.into(), wanted).await)?;
    Ok(thread.map(|thread| (thread, comment)))
}

/// The item with a number. An item keeps its number, so only the absence of an item can change. Rounds: 1,
/// and 1 more without an item.
async fn with_number(visit: &mut Visit, number: ItemNumber) -> Result<Option<Item>> {
    match visit.fetch(items::with_number(number).apart()).await? {
        Some(item) => Ok(Some(item)),
        None => visit.fetch(items::with_number(number)).await,
    }
}

async fn story(visit: &mut Visit, number: ItemNumber, thread: &Thread) -> Result<NumberedItem> {
    let kids = kids(thread, None);
    let numbers = numbers(visit, kids.iter().copied()).await?;
    let kids = kids.iter().filter_map(|kid| numbers.get(kid).copied()).collect();
    let content = ItemContent::Story(NumberedStory::of(&thread.news.summary));
    Ok(NumberedItem { number, state: ItemState::of_story(thread), kids, content })
}

async fn numbered_comment(
    visit: &mut Visit,
    number: ItemNumber,
    thread: &Thread,
    id: CommentId,
) -> Result<Option<NumberedItem>> {
    let lines = &thread.lines;
    let position = lines.position(id);
    let place = position.and_then(|position| lines.places().get(position));
    let (state, parent) = match (place, lines.deleted(id)) {
        (Some(place), _) => match place.sight {
            Sight::LeftOut => return Ok(None),
            Sight::Collapsed(Collapsed::Removed | Collapsed::Deleted) => (ItemState::Gone, place.parent),
            Sight::Shown => (ItemState::Shown, place.parent),
            Sight::Collapsed(_) => (ItemState::Hidden, place.parent),
        },
        (None, Some(deleted)) => (ItemState::Gone, deleted.parent),
        (None, None) => return Ok(None),
    };
    let news = lines.news();
    let parent = match parent {
        Some(comment) => Item::Comment(CommentAddress { news, comment }),
        None => Item::Story(news),
    };
    let kids = if position.is_some() { kids(thread, position) } else { Vec::new() };
    let numbers = numbers(visit, kids.iter().copied().chain([parent])).await?;
    let parent = numbers.get(&parent).copied();
    let content = match (position.and_then(|position| thread.line(position)), lines.deleted(id)) {
        (Some(line), _) => NumberedComment::of(&line, state, parent),
        (None, Some(deleted)) => {
            NumberedComment { parent, ctime: deleted.ctime, username: None, body: String::new() }
        }
        // It has just disappeared.
        (None, None) => return Ok(None),
    };
    let content = ItemContent::Comment(content);
    let kids = kids.iter().filter_map(|kid| numbers.get(kid).copied()).collect();
    Ok(Some(NumberedItem { number, state, kids, content }))
}

/// The comments directly below a position, or below the story, of which visitors are told.
fn kids(thread: &Thread, position: Option<usize>) -> Vec<Item> {
    let lines = &thread.lines;
    let kid = |position: usize| {
        let place = lines.places().get(position)?;
        Some(Item::Comment(CommentAddress { news: lines.news(), comment: place.id }))
    };
    lines.told_below(position).into_iter().filter_map(kid).collect()
}

/// The numbers of some items; without those that have none yet. Values made of them do not depend on the
/// list of numbers, because numbers do not change. Rounds: 1; none without items.
pub async fn numbers(
    visit: &mut Visit,
    items: impl IntoIterator<Item = Item>,
) -> Result<HashMap<Item, ItemNumber>> {
    visit.fetch_if_needed(items::numbers_of(items.into_iter().collect()).apart()).await
}

/// The stories with some numbers, by the number. Rounds: 1; none without numbers.
pub async fn stories(visit: &mut Visit, numbers: &[ItemNumber]) -> Result<HashMap<ItemNumber, NewsId>> {
    let found = numbers.iter().map(|number| items::with_number(*number)).collect::<Vec<_>>();
    let found = visit.fetch_if_needed(found).await?;
    let story = |(number, item): (&ItemNumber, Option<Item>)| match item {
        Some(Item::Story(id)) => Some((*number, id)),
        Some(Item::Comment(_)) | None => None,
    };
    Ok(numbers.iter().zip(found).filter_map(story).collect())
}

/// The highest number of an item that visitors may know of; 0 if there is none. Of what waits for approval, the newest
/// [`UNKNOWN_ITEMS`] are passed over. Rounds: 2, and 2 more if very much waits.
pub async fn highest(visit: &mut Visit) -> Result<u64> {
    let mut below = None;
    for count in [FIRST_LOOK, UNKNOWN_ITEMS - FIRST_LOOK] {
        let items = visit.fetch(items::below(below, count)).await?;
        let secret: Vec<_> = items.iter().map(|(item, _)| is_secret(*item)).collect();
        let secret = visit.fetch_if_needed(secret).await?;
        let known = items.iter().zip(secret).find(|(_, is_secret)| !is_secret);
        if let Some(((_, number), _)) = known {
            return Ok(number.0);
        }
        below = items.last().map(|(_, number)| *number);
        if below.is_none() {
            return Ok(0);
        }
    }
    Ok(below.map_or(0, |number| number.0.saturating_sub(1)))
}

/// The newest items that are looked at first for one that visitors may know of. Values remember as many fields of a hash.
const FIRST_LOOK: u64 = 4;

/// A person with the numbers of what they posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedPerson {
    /// Their name.
    pub username: String,
    /// When the account was made.
    pub ctime: Timestamp,
    /// Their karma.
    pub karma: i64,
    /// Their full name; empty if readers do not see it.
    pub fullname: String,
    /// Their text about themselves; empty if readers do not see it.
    pub about: String,
    /// Their newest stories and comments, at most [`SUBMITTED_ITEMS`], the newest first. Nobody sees those of
    /// a person who is banned.
    pub submitted: Vec<ItemNumber>,
}

impl NumberedPerson {
    /// A person as visitors see them.
    pub(crate) fn new(user: User, now: Timestamp, submitted: Vec<ItemNumber>) -> Self {
        let ProfileTexts { fullname, about } = Perspective::default().profile_of(&user, now);
        let (fullname, about) = (fullname.to_owned(), about.to_owned());
        Self { ctime: user.ctime, karma: user.karma, username: user.username, fullname, about, submitted }
    }
}

/// The person with exactly this name; `None` if there is nobody. Rounds: at most 3.
pub async fn person(visit: &mut Visit, name: &str) -> Result<Option<NumberedPerson>> {
    let Some(id) = visit.fetch(holder(name)).await? else { return Ok(None) };
    let newest = |key| read::sorted_range(key, Order::Descending, 0, SUBMITTED_ITEMS);
    let (user, posted, comments) = visit
        .fetch((User::by_id(id), newest(keys::user_posted(id)), newest(keys::user_comments(id))))
        .await?;
    // Names of people are the same in capitals and in small letters here, and are not there.
    let Some(user) = user.filter(|user| user.username == name) else { return Ok(None) };
    if user.ban(visit.now()).is_some() {
        return Ok(Some(NumberedPerson::new(user, visit.now(), Vec::new())));
    }
    let stories = posted.iter().filter_map(|(id, _)| Some(Item::Story(id.parse().ok()?)));
    let comments = comments.iter().filter_map(|(address, _)| Some(Item::Comment(address.parse().ok()?)));
    let mut submitted: Vec<ItemNumber> =
        numbers(visit, stories.chain(comments)).await?.into_values().collect();
    submitted.sort_unstable_by(|one, other| other.cmp(one));
    submitted.truncate(usize::try_from(SUBMITTED_ITEMS).unwrap_or(usize::MAX));
    Ok(Some(NumberedPerson::new(user, visit.now(), submitted)))
}

/// The latest changes: the numbers of stories and comments, and the names of people, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Updates {
    /// The numbers of stories and comments, also of deleted and removed ones.
    pub items: Vec<ItemNumber>,
    /// The names of people who have posted a story or a comment.
    #[serde(rename = "profiles")]
    pub people: Vec<String>,
}

/// The last [`ITEM_UPDATES`] changes, as far as they concern stories, comments and people, without what waits
/// for approval. Votes are no changes. Rounds: 2.
pub async fn updates(visit: &mut Visit) -> Result<Updates> {
    let changed = visit
        .fetch(read::sorted_range(keys::CHANGES, Order::Descending, 0, ITEM_UPDATES))
        .await?
        .into_iter()
        .filter_map(|(member, _)| member.parse().ok());
    let changed: Vec<Findable> = changed.collect();
    let mut items: Vec<Item> = Vec::new();
    let mut people: Vec<UserId> = Vec::new();
    for change in &changed {
        match change {
            Findable::Story(id) => items.push(Item::Story(*id)),
            Findable::Comment(address) => items.push(Item::Comment(*address)),
            Findable::Person(id) => people.push(*id),
            Findable::Tweet(_) | Findable::Site(_) => {}
        }
    }
    let secret = items.iter().copied().map(is_secret).collect::<Vec<_>>();
    let numbers = items::numbers_of(items.clone()).apart();
    let names = UserNames::of(&visit.shared(), people.iter().copied().collect());
    // People who have posted nothing are not named: reading is private.
    let posts = |id: &UserId| {
        let lists = [keys::user_posted(*id), keys::user_comments(*id)].map(read::sorted_count);
        lists.or_absent().map(|counts| counts.iter().sum::<u64>())
    };
    let posts = people.iter().map(posts).collect::<Vec<_>>();
    let (secret, numbers, names, posts) = visit.fetch_if_needed((secret, numbers, names, posts)).await?;
    let people = people.iter().zip(posts).filter(|(_, posts)| *posts > 0).map(|(id, _)| id);
    let known = items.iter().zip(secret).filter(|(_, is_secret)| !is_secret);
    Ok(Updates {
        items: known.filter_map(|(item, _)| numbers.get(item).copied()).collect(),
        people: people.filter_map(|id| Some(names.get(*id)?.to_string())).collect(),
    })
}

/// Those of some items of which visitors may not know: they wait for approval, were taken away before readers saw them, or
/// cannot be read. Rounds: 1; none without items.
pub async fn secret(visit: &mut Visit, items: &[Item]) -> Result<HashSet<Item>> {
    let secret = items.iter().copied().map(is_secret).collect::<Vec<_>>();
    let secret = visit.fetch_if_needed(secret).await?;
    Ok(items.iter().zip(secret).filter(|(_, is_secret)| *is_secret).map(|(item, _)| *item).collect())
}

/// Whether visitors may not know of an item, because it or its story waits for approval or cannot be read.
fn is_secret(item: Item) -> impl Fetch<Value = bool> {
    let (news, comment) = match item {
        Item::Story(news) => (news, None),
        Item::Comment(address) => (address.news, Some(address)),
    };
    let comment = comment.map(|address| Comment::at(address).or_absent());
    (News::listed_by_id(news), comment).map(|(news, comment)| {
        let hides = |comment: Option<Comment>| comment.is_none_or(|comment| comment.state().is_secret());
        news.is_none_or(|news| news.state().is_secret()) || comment.is_some_and(hides)
    })
}
