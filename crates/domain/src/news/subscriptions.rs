//! Subscriptions to threads: whose inboxes get all comments on a story, and who wants none.
//!
//! `user:<id>:subscriptions` has the stories to which a user has subscribed, and
//! `user:<id>:unsubscribed` those that the user has left: no reply in them is told, not even
//! one to the user's own comments. `news.subscribers:<id>` has everyone who has ever
//! subscribed to a story. People who have left stay in it, so that the deletion of a comment
//! finds all inboxes that the comment may be in.

use crate::cache::MEBIBYTE;
use crate::values::{MAX_SUBSCRIPTIONS, Moment, NewsId, UserId};
use crate::{Decision, News, Refusal, Result, Site, User, Visit, fields, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

crate::cache_kind! {
    /// The stories to which viewers have subscribed, and those that they have left.
    struct Subscriptions: UserId => [Box<[NewsId]>; 2], "subscriptions", MEBIBYTE,
        |_, lists| lists.iter().map(|list| size_of_val(&**list)).sum();
}

/// A viewer's choice for a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subscription {
    /// Nothing: the author of the story is told of all comments, others of replies to theirs.
    #[default]
    Unset,
    /// The viewer is told of all comments.
    Subscribed,
    /// The viewer is told of no comment.
    Left,
}

/// The two lists of a user.
fn lists_of(user: UserId) -> [String; 2] {
    [keys::user_subscriptions(user), keys::user_unsubscribed(user)]
}

/// Subscribes to the comments on a story. Doing so again changes nothing. A user with [`MAX_SUBSCRIPTIONS`] loses the
/// oldest one. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchNews`], those of [`PostState::demand_open`](crate::values::withheld::PostState::demand_open),
/// [`Refusal::SessionEnded`] when the account has been deactivated meanwhile, or the store's.
pub async fn subscribe(site: &Site, now: Moment, user: &User, news: NewsId) -> Result<()> {
    choose(site, now, user, (news, true)).await
}

/// Leaves a thread: the user is told of no more comments in it, not even of replies to their own story and comments.
/// Doing so again changes nothing. Rounds: 2.
///
/// # Errors
/// As [`subscribe`], but the thread of a story that is closed or gone can be left.
pub async fn unsubscribe(site: &Site, now: Moment, user: &User, news: NewsId) -> Result<()> {
    choose(site, now, user, (news, false)).await
}

async fn choose(site: &Site, now: Moment, user: &User, (news, wanted): (NewsId, bool)) -> Result<()> {
    let [subscribed, left] = lists_of(user.id);
    let (joined, parted) = if wanted { (&subscribed, &left) } else { (&left, &subscribed) };
    let (subscribers, member) = (keys::news_subscribers(news), user.id.to_string());
    site.act(&keys::user(user.id), || async {
        let reads = (News::by_id(news), read::score(&subscribers, &member), List::of(joined, news));
        let (item, known, list) = site.store.fetch(reads).await?;
        let item = item.filter(|item| item.state().is_known_to(user)).ok_or(Refusal::NoSuchNews)?;
        if wanted {
            item.state().demand_open(user)?;
        }
        if list.has_it {
            return Decision::Done(()).once(user.request.as_ref(), &());
        }
        let mut batch = Batch::new();
        batch.sorted_member_absent(joined, news.to_string());
        batch.sorted_add(joined, news.to_string(), now.as_score());
        batch.sorted_remove(parted, news.to_string());
        // The place among the subscribers stays: a job may be on its way through them.
        if wanted && known.is_none() {
            batch.sorted_member_absent(&subscribers, &member);
            batch.sorted_add(&subscribers, &member, now.as_score());
        }
        if let Some(oldest) = list.leaving {
            batch.sorted_remove(joined, oldest.to_string());
            batch.sorted_remove(keys::news_subscribers(oldest), &member);
        }
        user.decide(batch, (), &())
    })
    .await
}

/// A list of a user that is about to get longer.
struct List {
    has_it: bool,
    /// The story that leaves the list if it is full.
    leaving: Option<NewsId>,
}

impl List {
    /// A list to which a story is to be added.
    fn of(list: &str, news: NewsId) -> impl Fetch<Value = Self> + use<> {
        let reads = (
            read::score(list, news.to_string()),
            read::sorted_count(list),
            read::sorted_range(list, Order::Ascending, 0, 1),
        );
        reads.map(|(place, count, oldest)| {
            let oldest = oldest.into_iter().next().filter(|_| count >= MAX_SUBSCRIPTIONS);
            let leaving = oldest.and_then(|(member, _)| member.parse().ok());
            Self { has_it: place.is_some(), leaving }
        })
    }
}

/// Adds to a batch that a deactivated account is subscribed to nothing. Rounds: 1.
pub(crate) async fn forget_all(site: &Site, batch: &mut Batch, user: UserId) -> Result<()> {
    let lists = lists_of(user);
    let reads =
        lists.clone().map(|list| read::sorted_range(list, Order::Descending, 0, MAX_SUBSCRIPTIONS + 1));
    for (list, members) in lists.into_iter().zip(site.store.fetch(reads).await?) {
        for news in news_in(members, &list) {
            batch.sorted_remove(keys::news_subscribers(news), user.to_string());
        }
        batch.delete(list);
    }
    Ok(())
}

fn news_in(members: Vec<(String, f64)>, list: &str) -> Vec<NewsId> {
    fields::members(members, list, |(member, _)| member.parse().ok())
}

/// The choice for a thread of the viewer, who must be identified already.
pub(crate) fn of_viewer(visit: &Visit, news: NewsId) -> impl Fetch<Value = Subscription> + use<> {
    let lists = |viewer: &UserId| {
        let list = |key: String| {
            let list = read::sorted_range(&key, Order::Descending, 0, MAX_SUBSCRIPTIONS + 1);
            list.map(move |members| news_in(members, &key).into())
        };
        lists_of(*viewer).map(list).tracked()
    };
    let chosen =
        |viewer| visit.cached::<Subscriptions, _>(viewer, lists).map(move |lists| choice(&lists, news));
    Fetch::map(visit.viewer_id().map(chosen), |chosen| chosen.unwrap_or(Subscription::Unset))
}

fn choice([subscribed, left]: &[Box<[NewsId]>; 2], news: NewsId) -> Subscription {
    if left.contains(&news) {
        Subscription::Left
    } else if subscribed.contains(&news) {
        Subscription::Subscribed
    } else {
        Subscription::Unset
    }
}
