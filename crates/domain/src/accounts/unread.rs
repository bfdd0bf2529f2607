//! What a user has not seen yet: replies to comments, and tweets with mentions. The badge
//! (the field `replies` of the user) counts them.
//!
//! The sorted set `user:<id>:unread` names them, so that what is deleted before it is seen is
//! counted no more, and what has been seen is not counted off. It holds the latest
//! [`MENTIONS_SIZE`]. Lamer News knows the counter only; what it counts is not in the set.

use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::{CommentAddress, TweetId, UserId};
use crate::values::limits::MENTIONS_SIZE;
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Query};

/// The field of a user with the badge.
const BADGE: &str = "replies";

/// The member for a tweet in the set of what is unread.
pub(crate) fn tweet(id: TweetId) -> String {
    keys::tweet(id)
}

/// The member for a comment in the set of what is unread.
pub(crate) fn comment(address: CommentAddress) -> String {
    address.to_string()
}

/// Adds to a batch that there is something new for a user.
pub(crate) fn add(batch: &mut Batch, user: UserId, member: String, score: f64) {
    let unread = keys::user_unread(user);
    batch.increment_field(keys::user(user), BADGE, 1);
    batch.sorted_add(&unread, member, score);
    batch.sorted_trim(unread, MENTIONS_SIZE);
}

/// Adds to a batch that a user has seen everything, if the badge is still `badge`. Otherwise
/// the batch is rejected: something has arrived meanwhile.
pub(crate) fn see_all(batch: &mut Batch, user: UserId, badge: u64) {
    let key = keys::user(user);
    batch.field_equals(&key, BADGE, badge.to_string());
    batch.set_field(&key, BADGE, "0");
    batch.delete(keys::user_unread(user));
}

/// What deleting some tweets or comments takes off the badges of users.
#[derive(Default)]
pub(crate) struct Forgetting(Vec<Forgotten>);

/// What a user will not see any more.
struct Forgotten {
    user: UserId,
    members: Vec<String>,
    /// What the badge loses. Less than there are members if another program has reset it.
    count: i64,
}

impl Forgetting {
    /// Reads which of these are unread. Rounds: 1, none without any.
    pub(crate) async fn read(
        site: &Site,
        deleted: impl IntoIterator<Item = (UserId, String)>,
    ) -> Result<Self, Error> {
        let mut by_user: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
        for (user, member) in deleted {
            by_user.entry(user).or_default().push(member);
        }
        if by_user.is_empty() {
            return Ok(Self::default());
        }
        let mut query = Query::new();
        let reads: Vec<_> = by_user
            .into_iter()
            .map(|(user, members)| {
                let scores = query.scores(keys::user_unread(user), members.iter().cloned());
                (user, members, scores, query.hash_fields(keys::user(user), [BADGE]))
            })
            .collect();
        let mut answers = site.store.query(query).await?;
        let mut forgotten = Vec::new();
        for (user, members, scores, badge) in reads {
            let scores = answers.take(scores);
            let unread = members.into_iter().zip(scores).filter(|(_, score)| score.is_some());
            let members: Vec<String> = unread.map(|(member, _)| member).collect();
            let badge = fields::only(answers.take(badge));
            let badge = fields::count(badge.as_deref(), || keys::user(user), BADGE);
            let count = i64::try_from(badge.min(members.len() as u64)).unwrap_or(0);
            forgotten.push(Forgotten { user, members, count });
        }
        Ok(Self(forgotten))
    }

    /// Adds it to the batch of the deletion, which is rejected if somebody has seen any of
    /// it meanwhile.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for Forgotten { user, members, count } in &self.0 {
            for member in members {
                batch.sorted_member_present(keys::user_unread(*user), member);
                batch.sorted_remove(keys::user_unread(*user), member);
            }
            if *count > 0 {
                batch.field_at_least(keys::user(*user), BADGE, *count);
                batch.increment_field(keys::user(*user), BADGE, -count);
            }
        }
    }
}
