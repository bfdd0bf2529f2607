//! Digests: the best new stories, chosen for one reader.
//!
//! It has no keys of its own: [`crate::accounts::outbox`] knows who gets a digest, and when.
//! Every digest chooses from the newest stories, which are read once for many readers.

use crate::accounts::{DigestsDue, Perspective, Reader, Seen, ShownIn, UserNames};
use crate::values::{
    DIGEST_CANDIDATES, DIGEST_FOLLOWED_STORIES, DIGEST_MAX_AGE_SECONDS, DIGEST_STORIES, Day, Digest, NewsId,
    Timestamp, UserId,
};
use crate::{News, Result, Site, User, Visit, fields, keys};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Fetch, Order, read};

/// Stories that are read in one round.
const CHUNK: usize = 500;
const SECONDS_A_DAY: u64 = 86_400;

/// When digests became due the last time: every day at a full hour (UTC), and every Monday.
pub fn last_due(now: Timestamp, hour: u64) -> DigestsDue {
    let begun = Timestamp(now.0.saturating_sub(hour * 3_600));
    let day = Day::of(begun);
    let at_hour = |day: Day| Timestamp(day.start().0 + hour * 3_600);
    // The first day of 1970 was a Thursday.
    let since_monday = (day.start().0 / SECONDS_A_DAY + 3) % 7;
    let monday = Day::of(Timestamp(day.start().0.saturating_sub(since_monday * SECONDS_A_DAY)));
    DigestsDue { daily: at_hour(day), weekly: at_hour(monday) }
}

/// The stories that digests choose from, the best first.
pub struct Candidates(Vec<News>);

/// Reads what digests choose from: at most 2,000 stories of the last 8 days. Rounds: at most 5.
pub async fn candidates(site: &Site, now: Timestamp) -> Result<Candidates> {
    let oldest = Timestamp(now.0.saturating_sub(DIGEST_MAX_AGE_SECONDS)).as_score();
    let scores = (oldest, f64::INFINITY);
    let newest = read::sorted_by_score(keys::NEWS_CRON, Order::Descending, scores, DIGEST_CANDIDATES);
    let newest = site.store.fetch(newest).await?;
    let newest: Vec<NewsId> = fields::members(newest, keys::NEWS_CRON, |(id, _)| id.parse().ok());
    let mut stories = Vec::with_capacity(newest.len());
    for ids in newest.chunks(CHUNK) {
        let found: Vec<_> = ids.iter().copied().map(News::by_id).collect();
        stories.extend(site.store.fetch(found.or_absent()).await?.into_iter().flatten());
    }
    let ranking = &site.rules.ranking;
    stories.sort_by(|one, other| {
        other.score(ranking).total_cmp(&one.score(ranking)).then(other.id.cmp(&one.id))
    });
    Ok(Candidates(stories))
}

/// A digest for one reader.
pub struct DigestOf {
    /// The reader.
    pub user: User,
    /// Whether the best stories are those of topics that the reader follows.
    pub is_of_topics: bool,
    /// The best stories; at most 10.
    pub best: Vec<DigestStory>,
    /// Further stories of people whom the reader follows; at most 5.
    pub followed: Vec<DigestStory>,
}

/// A story of a digest.
pub struct DigestStory {
    /// The story, as the reader of the digest sees it.
    pub news: Seen<News>,
    /// Its author; `None` for a deactivated account.
    pub author: Option<Arc<str>>,
}

/// The digest of a user, with what is new since a time. `None` if there is nothing new, or the
/// user wants no digest or has no confirmed e-mail address. Rounds: at most 2.
pub async fn of_user(
    visit: &mut Visit,
    candidates: &Candidates,
    user: UserId,
    since: Timestamp,
) -> Result<Option<DigestOf>> {
    let new: Vec<&News> =
        candidates.0.iter().filter(|news| news.ctime >= since && news.user_id != user).collect();
    let authors: BTreeSet<UserId> = new.iter().map(|news| news.user_id).collect();
    let followed = read::scores(keys::followings(user), authors.iter().map(ToString::to_string));
    let reads = (User::by_id(user), Reader::of(visit, user), followed.or_absent());
    let (account, reader, followed) = visit.fetch(reads).await?;
    let is_followed = followed.into_iter().map(|score| score.is_some());
    let followed: HashSet<UserId> =
        authors.into_iter().zip(is_followed).filter_map(|(author, is)| is.then_some(author)).collect();
    let wants = |user: &User| user.preferences.digest != Digest::Off && user.letter_address().is_some();
    let Some(user) = account.filter(wants) else { return Ok(None) };
    let (best, others) = choose(&reader, &followed, &new);
    if best.is_empty() && others.is_empty() {
        return Ok(None);
    }
    let names = UserNames::of(&visit.shared(), best.iter().chain(&others).map(|news| news.user_id).collect());
    let names = visit.fetch_if_needed(names).await?;
    let stories = |chosen: Vec<Seen<&News>>| -> Vec<DigestStory> {
        let story = |news: Seen<&News>| DigestStory { author: names.get(news.user_id), news: news.cloned() };
        chosen.into_iter().map(story).collect()
    };
    let is_of_topics = !reader.followed.is_empty();
    Ok(Some(DigestOf { user, is_of_topics, best: stories(best), followed: stories(others) }))
}

/// The best of the new stories for a reader, and further ones of people whom they follow.
fn choose<'a>(
    reader: &Reader,
    followed: &HashSet<UserId>,
    new: &[&'a News],
) -> (Vec<Seen<&'a News>>, Vec<Seen<&'a News>>) {
    let perspective = Perspective { reader: Some(reader), shows_all: false };
    let listed = || new.iter().filter_map(|news| perspective.see(*news, ShownIn::List));
    let is_of_topic = |news: &News| {
        reader.followed.is_empty() || news.topics.iter().any(|topic| reader.followed.contains(topic))
    };
    let best: Vec<Seen<&News>> = listed().filter(|news| is_of_topic(news)).take(DIGEST_STORIES).collect();
    let is_new = |news: &Seen<&News>| best.iter().all(|other| other.id != news.id);
    let others = listed().filter(|news| followed.contains(&news.user_id)).filter(is_new);
    let others = others.take(DIGEST_FOLLOWED_STORIES).collect();
    (best, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_due_at_the_hour_and_on_mondays() {
        // 1970-01-05 was a Monday.
        let at = |day: u64, hour: u64| Timestamp(day * SECONDS_A_DAY + hour * 3_600);
        for (now, daily, weekly) in [
            (at(4, 6), at(4, 6), at(4, 6)),
            (Timestamp(at(11, 6).0 - 1), at(10, 6), at(4, 6)),
            (at(11, 6), at(11, 6), at(11, 6)),
            (at(13, 23), at(13, 6), at(11, 6)),
        ] {
            let due = last_due(now, 6);
            assert_eq!((due.daily, due.weekly), (daily, weekly), "{now:?}");
        }
    }
}
