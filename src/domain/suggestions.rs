//! Whom to follow: friends of friends first, then who is followed most.

use super::error::Error;
use super::follows::Person;
use super::ids::UserId;
use super::keys;
use super::users::read_people;
use super::visit::Visit;
use crate::keyspace::{Order, Query};
use std::collections::HashMap;

/// Of how many of the people whom one follows their followings are looked at.
const FRIENDS: u64 = 20;
/// How many followings of each.
const OF_EACH: u64 = 20;
/// How many of the most followed users are looked at beyond those that one
/// follows already.
const MOST_FOLLOWED: u64 = 30;
/// The first accounts of a site are suggested while hardly anybody follows.
const FIRST_ACCOUNTS: u64 = 20;

/// Somebody to follow, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// Who.
    pub person: Person,
    /// How many of the people whom one follows, follow them.
    pub followed_by_friends: u64,
    /// How many follow them altogether.
    pub followers: u64,
}

impl Suggestion {
    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.person.username.len() + self.person.fullname.len()
    }
}

/// People to follow for whoever visits, never those who are followed already;
/// none for somebody who is not logged in. Rounds: 3, and those that find out
/// who visits.
///
/// # Errors
/// When the store fails.
pub async fn suggestions(visit: &mut Visit, count: usize) -> Result<Vec<Suggestion>, Error> {
    let Some(viewer) = visit.viewer().await?.map(|viewer| viewer.id) else {
        return Ok(Vec::new());
    };
    let site = visit.site_too();
    if let Some(people) = site.kept.suggestions.get(visit, &(viewer, count)) {
        return Ok(people);
    }
    let (people, footprint) = site.store.footprint(read(visit, viewer, count)).await;
    let people = people?;
    site.kept.suggestions.put(visit, (viewer, count), people.clone(), footprint, None);
    Ok(people)
}

async fn read(visit: &mut Visit, viewer: UserId, count: usize) -> Result<Vec<Suggestion>, Error> {
    let mut query = Query::new();
    let friends = query.sorted_range(keys::followings(viewer), Order::Descending, 0, FRIENDS);
    let followings = query.sorted_count(keys::followings(viewer));
    let mut answers = visit.run(query).await?;
    let friends = ids(answers.take(friends));
    let followings = answers.take(followings);

    let mut query = Query::new();
    let of_friends: Vec<_> = friends
        .iter()
        .map(|friend| query.sorted_range(keys::followings(*friend), Order::Descending, 0, OF_EACH))
        .collect();
    // One more for the viewer.
    let enough = MOST_FOLLOWED.saturating_add(followings.min(MOST_FOLLOWED)).saturating_add(1);
    let most_followed = query.sorted_range(keys::MOST_FOLLOWED, Order::Descending, 0, enough);
    let mut answers = visit.run(query).await?;
    let mut by_friends: HashMap<UserId, u64> = HashMap::new();
    for followed in of_friends.into_iter().flat_map(|handle| ids(answers.take(handle))) {
        *by_friends.entry(followed).or_default() += 1;
    }
    let mut candidates: Vec<UserId> = by_friends.keys().copied().collect();
    candidates.extend(ids(answers.take(most_followed)));
    candidates.extend((1..=FIRST_ACCOUNTS).map(UserId));
    candidates.retain(|candidate| *candidate != viewer);
    candidates.sort_unstable();
    candidates.dedup();

    let mut query = Query::new();
    let people = read_people(&mut query, candidates.iter().copied());
    let followed = query.scores(keys::followings(viewer), candidates.iter().map(ToString::to_string));
    let followers: Vec<_> =
        candidates.iter().map(|candidate| query.sorted_count(keys::followers(*candidate))).collect();
    let mut answers = visit.run(query).await?;
    let mut people = people.take(&mut answers);
    let followed = answers.take(followed);
    let mut suggestions: Vec<Suggestion> = candidates
        .into_iter()
        .zip(followed)
        .zip(followers)
        .map(|((id, since), followers)| (id, since, answers.take(followers)))
        .filter(|(_, since, _)| since.is_none())
        .filter_map(|(id, _, followers)| {
            let (username, fullname) = people.remove(&id)?;
            Some(Suggestion {
                person: Person { id, username, fullname, followed: false },
                followed_by_friends: by_friends.get(&id).copied().unwrap_or(0),
                followers,
            })
        })
        .collect();
    suggestions.sort_by_key(|suggestion| {
        let Suggestion { person, followed_by_friends, followers } = suggestion;
        (std::cmp::Reverse((*followed_by_friends, *followers)), person.id)
    });
    suggestions.truncate(count);
    Ok(suggestions)
}

fn ids(members: Vec<(String, f64)>) -> Vec<UserId> {
    members.into_iter().filter_map(|(member, _)| member.parse().ok()).collect()
}
