//! The comments of a user on any story, and the newest of the whole site.

use super::outline::{OneComment, ThreadLine};
use crate::accounts::{Collapsed, Perspective, Reader, Seen, ShownIn, UserNames, Viewed, Visible};
use crate::values::{CommentAddress, CommentId, ItemNumber, NewsId, PostState, UserId};
use crate::{Comment, Item, News, Result, Visit, items, keys};
use std::collections::HashMap;
use std::sync::Arc;
use tidings_keyspace::{Fetch, Order, read};

/// One comment of a user, and the item that it is on.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or withheld from the viewer, or its hash is
    /// gone.
    pub title: Option<String>,
    /// Whether its thread is open: the viewer may see the item, and its thread is not locked.
    pub is_open: bool,
    comment: Comment,
    username: Arc<str>,
}

/// Its title is there only if the viewer may see it, whatever the comment is.
impl Visible for UserComment {
    fn state(&self) -> PostState<'_> {
        self.comment.state()
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        self.comment.unwanted_by(reader, place)
    }
}

impl OneComment for UserComment {
    fn as_line(&self) -> ThreadLine<'_> {
        ThreadLine { comment: &self.comment, depth: 0, username: Some(&self.username) }
    }
}

/// One page of a user's comments.
#[derive(Debug, PartialEq)]
pub struct UserComments {
    /// The comments, newest first; without deleted ones, and those that the viewer does not see.
    pub comments: Vec<Seen<UserComment>>,
    /// How many comments of the page the viewer does not see, because they are muted or flags
    /// have hidden them.
    pub unlisted: usize,
    /// The comments in the whole list, deleted ones included.
    pub total: u64,
}

/// The title of an item, if it is there and somebody may see it: it is neither deleted nor withheld from them. A removed one's
/// title is shown to nobody else, whether readers have seen it or not. And whether its thread is open then.
pub(crate) fn title_of(perspective: Perspective<'_>, news: Option<&News>) -> (Option<String>, bool) {
    let seen = news.filter(|news| perspective.sees(&news.state(), ShownIn::Page));
    (seen.map(|news| news.title.clone()), seen.is_some_and(|news| !news.has_lock))
}

/// A user's comments, newest first. Rounds: 2.
pub async fn of_user(
    visit: &mut Visit,
    user: UserId,
    username: &str,
    start: u64,
    count: u64,
) -> Result<UserComments> {
    visit.want_reader();
    let (addresses, total) = read_addresses(visit, user, start, count).await?;
    let read = |address: &CommentAddress| (News::listed_by_id(address.news), Comment::at(*address));
    let reads: Vec<_> = addresses.iter().map(read).collect();
    let read = visit.fetch(reads.or_absent()).await?;
    visit.reader().await?;
    let perspective = visit.perspective();
    let username: Arc<str> = username.into();
    let (mut comments, mut unlisted) = (Vec::with_capacity(read.len()), 0);
    for (address, (news, comment)) in addresses.into_iter().zip(read) {
        let (title, is_open) = title_of(perspective, news.as_ref());
        let Some(comment) = comment.filter(|comment| !comment.deleted) else { continue };
        let username = username.clone();
        let comment = UserComment { news_id: address.news, title, is_open, comment, username };
        match perspective.view(comment, ShownIn::Posted) {
            Viewed::Whole(comment) => comments.push(comment),
            Viewed::Line(..) => unlisted += 1,
            Viewed::Nothing => {}
        }
    }
    Ok(UserComments { comments, unlisted, total })
}

/// The story or comment with an item number, if there is one. Rounds: 1.
pub async fn item(visit: &mut Visit, number: ItemNumber) -> Result<Option<Item>> {
    visit.fetch(items::with_number(number)).await
}

/// A comment in the list of the whole site.
#[derive(Debug, PartialEq)]
pub struct SiteComment {
    /// The story.
    pub news: News,
    comment: Comment,
    username: Option<Arc<str>>,
    /// The beginning of the first line of the comment that it replies to, if there is one that the viewer may read.
    pub parent: Option<(CommentId, String)>,
}

impl Visible for SiteComment {
    fn state(&self) -> PostState<'_> {
        self.comment.state()
    }

    fn state_of_story(&self) -> Option<PostState<'_>> {
        Some(self.news.state())
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        self.comment.unwanted_by(reader, place).or_else(|| self.news.unwanted_by(reader, place))
    }
}

impl OneComment for SiteComment {
    fn as_line(&self) -> ThreadLine<'_> {
        ThreadLine { comment: &self.comment, depth: 0, username: self.username.as_deref() }
    }
}

impl SiteComment {
    /// Its address.
    pub const fn address(&self) -> CommentAddress {
        self.at(self.comment.id)
    }

    /// The address of a comment in the same thread.
    const fn at(&self, comment: CommentId) -> CommentAddress {
        CommentAddress { news: self.news.id, comment }
    }
}

/// A part of the comments of the whole site.
#[derive(Debug, PartialEq)]
pub struct SiteComments {
    /// The comments that the viewer sees, the newest first, with their item numbers.
    pub comments: Vec<(ItemNumber, Seen<SiteComment>)>,
    /// The number below which the list goes on; `None` at its end.
    pub next: Option<ItemNumber>,
}

/// The characters of a comment that a reply to it repeats in the list.
const PARENT_CHARACTERS: usize = 80;
/// Items that are looked through for the comments of one part. Most items are comments.
const ITEMS_OF_PART: u64 = 120;

/// The newest comments of the site below an item number, at most `count`: without those that are deleted,
/// withheld, hidden or muted, and those on stories that the viewer does not see in lists. Rounds: 3.
pub async fn newest(visit: &mut Visit, before: Option<ItemNumber>, count: usize) -> Result<SiteComments> {
    let items = visit.fetch(items::below(before, ITEMS_OF_PART)).await?;
    let is_last = u64::try_from(items.len()).is_ok_and(|found| found < ITEMS_OF_PART);
    let end = items.last().map(|(_, number)| *number).filter(|_| !is_last);
    let (addresses, numbers): (Vec<_>, Vec<_>) = items
        .into_iter()
        .filter_map(|(item, number)| match item {
            Item::Comment(address) => Some((address, number)),
            Item::Story(_) => None,
        })
        .unzip();
    let (comments, is_cut) = chosen(visit, &addresses, count).await?;
    let numbers: HashMap<CommentAddress, ItemNumber> = addresses.into_iter().zip(numbers).collect();
    let number = |comment: Seen<SiteComment>| Some((*numbers.get(&comment.address())?, comment));
    let comments: Vec<_> = comments.into_iter().filter_map(number).collect();
    let next = if is_cut { comments.last().map(|(number, _)| *number) } else { end };
    Ok(SiteComments { comments, next })
}

/// The first `count` of some comments that the viewer sees, in this order, and whether there are more: without
/// those that are deleted, withheld, hidden or muted, and those on stories that the viewer does not see in lists.
/// Rounds: 2.
pub async fn chosen(
    visit: &mut Visit,
    addresses: &[CommentAddress],
    count: usize,
) -> Result<(Vec<Seen<SiteComment>>, bool)> {
    visit.want_reader();
    let comment = |address: &CommentAddress| (Comment::at(*address), News::by_id(address.news)).or_absent();
    let found = visit.fetch(addresses.iter().map(comment).collect::<Vec<_>>()).await?;
    visit.reader().await?;
    let perspective = visit.perspective();
    let mut shown = Vec::new();
    let mut is_cut = false;
    for (comment, news) in found {
        let (Some(comment), Some(news)) = (comment, news) else { continue };
        let comment = SiteComment { news, comment, username: None, parent: None };
        let Some(comment) = perspective.see(comment, ShownIn::List) else { continue };
        if shown.len() == count {
            is_cut = true;
            break;
        }
        shown.push(comment);
    }
    let parents = shown.iter().filter_map(|one| Some(one.at(one.comment.parent_id?)));
    let parents: Vec<_> = parents.map(|address| Comment::at(address).or_absent()).collect();
    let names = UserNames::of(&visit.shared(), shown.iter().map(|one| one.comment.user_id).collect());
    let (names, parents) = visit.fetch((names, parents)).await?;
    let perspective = visit.perspective();
    let line = |parent: Comment| Some((parent.address(), first_line(perspective, &parent)?));
    let lines: HashMap<CommentAddress, String> = parents.into_iter().flatten().filter_map(line).collect();
    for one in &mut shown {
        let parent = one.comment.parent_id.and_then(|id| Some((id, lines.get(&one.at(id))?.clone())));
        let one = one.filled();
        (one.parent, one.username) = (parent, names.get(one.comment.user_id));
    }
    Ok((shown, is_cut))
}

/// The beginning of the first line of a comment, if somebody may read it.
fn first_line(perspective: Perspective<'_>, comment: &Comment) -> Option<String> {
    let seen = perspective.see(comment, ShownIn::List)?;
    let line = seen.line().body().lines().next()?;
    Some(match line.char_indices().nth(PARENT_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    })
}

async fn read_addresses(
    visit: &mut Visit,
    user: UserId,
    start: u64,
    count: u64,
) -> Result<(Vec<CommentAddress>, u64)> {
    let key = keys::user_comments(user);
    let (list, total) = visit
        .fetch((read::sorted_range(&key, Order::Descending, start, count), read::sorted_count(&key)))
        .await?;
    let addresses = list.into_iter().filter_map(|(address, _)| address.parse().ok()).collect();
    Ok((addresses, total))
}
