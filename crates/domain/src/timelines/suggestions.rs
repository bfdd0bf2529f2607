//! Suggestions of people to follow: friends of friends first, then the most followed users.

use crate::accounts::{CacheResult, People};
use crate::cache::MEBIBYTE;
use crate::timelines::follows::Person;
use crate::values::{
    SUGGESTION_CANDIDATES, SUGGESTION_FIRST_ACCOUNTS, SUGGESTION_FOLLOWINGS, SUGGESTION_FRIENDS,
    SUGGESTION_KNOWN, SUGGESTION_MOST_FOLLOWED, Timestamp, UserId,
};
use crate::{Result, Visit, keys};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Fetch, Order, Tracked, read};

crate::cache_kind! {
    /// Suggestions by the viewer and their number.
    struct Suggestions: (UserId, usize) => Vec<Suggestion>, "suggestions", 2 * MEBIBYTE,
        |_, people| people.iter().map(Suggestion::size).sum();
}

/// A user to follow, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The user.
    pub person: Person,
    /// How many of the people whom the viewer follows also follow the user.
    pub followed_by_friends: u64,
    /// Number of followers.
    pub followers: u64,
}

impl Suggestion {
    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.person.username.len() + self.person.fullname.len()
    }
}

/// People whom the viewer may want to follow: they do not follow, mute or block them yet; none for
/// a visitor who is not logged in. Rounds: 3, and those that identify the viewer.
pub async fn suggestions(visit: &mut Visit, count: usize) -> Result<Vec<Suggestion>> {
    visit.want_reader();
    let mut people = all(visit, count).await?;
    if let Some(reader) = visit.reader().await? {
        people.retain(|suggestion| !reader.avoids(suggestion.person.id));
    }
    Ok(people)
}

/// The same with people whom the viewer has muted or blocked.
async fn all(visit: &mut Visit, count: usize) -> Result<Vec<Suggestion>> {
    let Some(viewer) = visit.viewer().await?.map(|viewer| viewer.id) else { return Ok(Vec::new()) };
    let site = visit.site_too();
    let flight = match visit.look_up(site.caches.of::<Suggestions>(), &(viewer, count)).await? {
        CacheResult::Hit(people) => return Ok((*people).clone()),
        CacheResult::Miss(flight) => flight,
    };
    let (people, reads) = site.store.record_reads(read(visit, viewer, count)).await;
    let (people, second) = people?;
    Ok((*flight.finish(visit.view(), Tracked::recorded(people, &reads), second)).clone())
}

/// The people, and the second for which their names are valid, if they depend on the time.
async fn read(visit: &mut Visit, user: UserId, count: usize) -> Result<(Vec<Suggestion>, Option<Timestamp>)> {
    let SuggestionPool { people: candidates, by_friends } = candidates(visit, user, count).await?;
    let people = People::of(candidates.iter().copied());
    let followed = read::scores(keys::followings(user), candidates.iter().map(ToString::to_string));
    let followers = candidates.iter().map(|candidate| read::sorted_count(keys::followers(*candidate)));
    let reads = (people, followed, followers.collect::<Vec<_>>()).or_absent();
    let (mut people, followed, followers) = visit.fetch(reads).await?;
    let (now, mut second) = (visit.now(), None);
    let mut suggestions: Vec<Suggestion> = candidates
        .into_iter()
        .zip(followed)
        .zip(followers)
        .filter(|((_, since), _)| since.is_none())
        .filter_map(|((id, _), followers)| {
            let names = people.remove(id)?;
            second = second.or(names.second(now));
            let (username, fullname) = names.at(now);
            Some(Suggestion {
                person: Person { id, username, fullname, followed: false },
                followed_by_friends: by_friends.get(&id).copied().unwrap_or(0),
                followers,
            })
        })
        .collect();
    suggestions.sort_by_key(|suggestion| {
        let Suggestion { person, followed_by_friends, followers } = suggestion;
        (Reverse((*followed_by_friends, *followers)), person.id)
    });
    suggestions.truncate(count);
    Ok((suggestions, second))
}

/// People who may be suggested.
struct SuggestionPool {
    /// The likeliest first.
    people: Vec<UserId>,
    /// How many of the people whom the viewer follows also follow each candidate.
    by_friends: HashMap<UserId, u64>,
}

/// Finds candidates among friends of friends, the most followed users, and the first
/// accounts. Rounds: 2.
async fn candidates(visit: &mut Visit, viewer: UserId, count: usize) -> Result<SuggestionPool> {
    let newest = |key, most| read::sorted_range(key, Order::Descending, 0, most);
    let list = keys::followings(viewer);
    let followings = read::sorted_count(&list);
    let (known, followings) = visit.fetch((newest(list, SUGGESTION_KNOWN), followings).or_absent()).await?;
    let known: Vec<UserId> = scored(known).map(|(id, _)| id).collect();

    let friends = known.iter().take(SUGGESTION_FRIENDS);
    let of_friends = friends.map(|friend| newest(keys::followings(*friend), SUGGESTION_FOLLOWINGS));
    // One more for the viewer.
    let enough =
        SUGGESTION_MOST_FOLLOWED.saturating_add(followings.min(SUGGESTION_MOST_FOLLOWED)).saturating_add(1);
    let most_followed = newest(keys::MOST_FOLLOWED.to_owned(), enough);
    let reads = (of_friends.collect::<Vec<_>>(), most_followed).or_absent();
    let (of_friends, most_followed) = visit.fetch(reads).await?;
    let mut by_friends: HashMap<UserId, u64> = HashMap::new();
    for (followed, _) in of_friends.into_iter().flat_map(scored) {
        *by_friends.entry(followed).or_default() += 1;
    }
    let followers: HashMap<UserId, f64> = scored(most_followed).collect();

    let first = (1..=SUGGESTION_FIRST_ACCOUNTS).map(UserId);
    let mut people: HashSet<UserId> =
        by_friends.keys().chain(followers.keys()).copied().chain(first).collect();
    for known in known.iter().chain([&viewer]) {
        people.remove(known);
    }
    let mut people: Vec<UserId> = people.into_iter().collect();
    people.sort_unstable_by(|one, other| {
        let followers = |id| followers.get(id).copied().unwrap_or(0.0);
        let by_friends = by_friends.get(other).cmp(&by_friends.get(one));
        by_friends.then(followers(other).total_cmp(&followers(one))).then(one.cmp(other))
    });
    if followings <= SUGGESTION_KNOWN {
        people.truncate(count.saturating_add(SUGGESTION_CANDIDATES));
    }
    Ok(SuggestionPool { people, by_friends })
}

/// Users with their scores.
fn scored(members: Vec<(String, f64)>) -> impl Iterator<Item = (UserId, f64)> {
    members.into_iter().filter_map(|(member, score)| Some((member.parse().ok()?, score)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use crate::values::Timestamp;
    use std::sync::Arc;
    use tidings_keyspace::{Batch, Store};

    const VIEWER: UserId = UserId(1);

    /// The suggestions to user 1 of a site with 1,200 users, where each user in `follows`
    /// follows the others of a list.
    async fn suggested(follows: &[(u64, Vec<u64>)], count: usize) -> Vec<(u64, u64, u64)> {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        for id in 1..=1_200 {
            batch.set_field(keys::user(UserId(id)), "username", format!("user{id}"));
        }
        for (user, followed) in follows {
            for (second, other) in (1_u32..).zip(followed) {
                let [user, other] = [UserId(*user), UserId(*other)];
                batch.sorted_add(keys::followings(user), other.to_string(), f64::from(second));
                batch.sorted_add(keys::followers(other), user.to_string(), f64::from(second));
                batch.sorted_increment(keys::MOST_FOLLOWED, other.to_string(), 1.0);
            }
        }
        store.commit(batch).await.unwrap();
        let site = Arc::new(Site::on(store));
        let mut visit = Visit::new(site, Timestamp(1_000), None);
        let suggestions = read(&mut visit, VIEWER, count).await.unwrap();
        let figures = |one: &Suggestion| (one.person.id.0, one.followed_by_friends, one.followers);
        suggestions.0.iter().map(figures).collect()
    }

    #[tokio::test]
    async fn candidates_whom_most_friends_follow_come_first() {
        // Users 2 and 3 are the friends, and both follow user 23.
        let follows = [(1, vec![2, 3]), (2, (4..=23).collect()), (3, vec![23, 2]), (4, vec![250, 22])];
        assert_eq!(suggested(&follows, 3).await, [(23, 2, 2), (22, 1, 2), (4, 1, 1)]);
    }

    #[tokio::test]
    async fn users_who_are_followed_already_are_not_suggested() {
        let all: Vec<u64> = (2..=300).collect();
        let follows: Vec<(u64, Vec<u64>)> = (1..=20).map(|user| (user, all.clone())).collect();
        assert_eq!(suggested(&follows, 3).await, []);
        // Also when the viewer follows more people than are read.
        let follows = [(1, (2..=1_101).collect()), (1_101, vec![1_150, 2])];
        assert_eq!(suggested(&follows, 3).await, [(1_150, 1, 1)]);
    }

    #[tokio::test]
    async fn followed_users_are_not_suggested_at_1_000_followings_nor_at_1_001() {
        for followings in [999, 1_000, 1_001] {
            let last = followings + 1;
            // A new user, and the one who was followed first.
            let follows = [(1, (2..=last).collect()), (last, vec![1_150, 2])];
            assert_eq!(suggested(&follows, 3).await, [(1_150, 1, 1)], "{followings}");
        }
    }

    #[tokio::test]
    async fn the_first_accounts_are_suggested_while_few_people_follow() {
        assert_eq!(suggested(&[], 3).await, [(2, 0, 0), (3, 0, 0), (4, 0, 0)]);
    }
}
