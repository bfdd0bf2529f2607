//! The profile of a user: what everyone sees, and whether the viewer follows them.

use crate::accounts::CacheResult;
use crate::accounts::invitations::tree;
use crate::cache::{MEBIBYTE, Shared};
use crate::values::UserId;
use crate::{Refusal, Result, User, Visit, keys};
use std::ops::Deref;
use std::sync::Arc;
use tidings_keyspace::{Fetch, Reads, Tracked, read};

crate::cache_kind! {
    /// Profiles as everyone sees them, by the key of the name.
    struct Profiles: String => ProfileFacts, "profiles", MEBIBYTE,
        |key, facts| key.len() + size_of::<ProfileFacts>() + facts.user.size();
}

/// A user's page.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The facts that everyone sees.
    facts: Shared<ProfileFacts>,
    /// Whether the viewer follows the user.
    pub followed: bool,
}

impl Deref for Profile {
    type Target = ProfileFacts;

    fn deref(&self) -> &ProfileFacts {
        &self.facts
    }
}

/// The facts about a user that everyone sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileFacts {
    /// The user. The e-mail address is for avatars and the owner only.
    pub user: Arc<User>,
    /// The name of who invited the user; `None` if nobody did, or for a deactivated account.
    pub inviter: Option<String>,
    /// How many people the user has invited.
    pub invited: u64,
    /// Stories that others see among those of the user.
    pub posted: u64,
    /// Comments that others see among those of the user.
    pub comments: u64,
    /// Tweets that are not deleted.
    pub tweets: u64,
    /// Number of followers.
    pub followers: u64,
    /// Number of people whom the user follows.
    pub followings: u64,
}

impl ProfileFacts {
    /// The profile for a viewer who follows the user, or does not.
    pub fn followed(self, followed: bool) -> Profile {
        Profile { facts: self.into(), followed }
    }
}

/// The profile of the user with a name.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's. Rounds: 2, and 1 for the name of who invited them.
pub async fn profile(visit: &mut Visit, username: &str) -> Result<Profile> {
    let site = visit.site_too();
    let name = keys::username_to_id(username);
    let flight = match visit.look_up(site.caches.of::<Profiles>(), &name).await? {
        CacheResult::Hit(facts) => {
            visit.identify().await?;
            let followed = is_followed(visit, facts.user.id);
            let followed = visit.fetch(followed).await?;
            return Ok(Profile { facts, followed });
        }
        CacheResult::Miss(flight) => flight,
    };
    let mut reads = Reads::default();
    let id = visit.fetch(read::string(&name).tracked()).await?.collect_into(&mut reads);
    let id: UserId = id.and_then(|id| id.parse().ok()).ok_or(Refusal::NoSuchUser)?;
    let counts = [
        keys::user_posted(id),
        keys::user_comments(id),
        keys::user_gone_stories(id),
        keys::user_gone_comments(id),
        keys::user_timeline(id),
        keys::followers(id),
        keys::followings(id),
        keys::invites_by(id),
    ];
    let shown = (read::hash(keys::user(id)), counts.map(read::sorted_count)).tracked();
    let (shown, followed) = visit.fetch((shown, is_followed(visit, id))).await?;
    let (user, counts) = shown.collect_into(&mut reads);
    let [posted, comments, gone_stories, gone_comments, tweets, followers, followings, invited] = counts;
    let (posted, comments) = (posted.saturating_sub(gone_stories), comments.saturating_sub(gone_comments));
    let user = User::from_hash(&user).ok_or(Refusal::NoSuchUser)?;
    let inviter = tree::inviter_of(visit, &user, &mut reads).await?;
    let user = user.into();
    let facts = ProfileFacts { user, inviter, invited, posted, comments, tweets, followers, followings };
    let facts = flight.finish(visit.view(), Tracked::new(facts, reads), None);
    Ok(Profile { facts, followed })
}

/// Whether the viewer follows a user.
fn is_followed(visit: &Visit, id: UserId) -> impl Fetch<Value = bool> + use<> {
    let viewer = visit.viewer_id();
    let since = viewer.map(|viewer| read::score(keys::followers(id), viewer.to_string()).or_absent());
    Fetch::map(since, |since| since.flatten().is_some())
}
