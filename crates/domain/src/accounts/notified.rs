//! The people whom the mentions of an author have notified today, in tweets and comments. An
//! author's mentions notify only so many people in a day (UTC): further ones are text, and so are
//! those who have blocked the author.

use crate::accounts::Avoidance;
use crate::values::{Day, Moment, UserId};
use crate::{Result, Site, fields, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// The field that counts the people; the others are their ids.
const COUNT: &str = "count";
/// How long the hash of a day is kept: longer than the day.
const KEPT: Duration = Duration::from_secs(2 * 86_400);

/// The people whom a new text notifies.
pub(crate) struct Notified {
    /// The people.
    pub(crate) people: Vec<UserId>,
    key: String,
    /// Those of them who are the first time today, and the count before, as stored.
    new: Vec<UserId>,
    count: Option<String>,
    total: u64,
}

impl Notified {
    /// Chooses from the people whom a text mentions, in their order. Rounds: 1, none without
    /// people.
    pub(crate) async fn choose(
        site: &Site,
        now: Moment,
        author: UserId,
        mentioned: &[UserId],
    ) -> Result<Self> {
        let most = site.rules.limits.mentions_per_day;
        let key = keys::user_notified(author, Day::of(now.timestamp()));
        let mut chosen = Self { people: Vec::new(), key, new: Vec::new(), count: None, total: 0 };
        if mentioned.is_empty() {
            return Ok(chosen);
        }
        let ids = mentioned.iter().map(ToString::to_string);
        let known = read::hash_fields(&chosen.key, [COUNT.to_owned()].into_iter().chain(ids));
        let avoidances: Vec<_> = mentioned.iter().map(|person| Avoidance::of(*person, author)).collect();
        let (known, avoidances) = site.store.fetch((known, avoidances)).await?;
        let mut known = known.into_iter();
        chosen.count = known.next().flatten();
        chosen.total = fields::count(chosen.count.as_deref(), || chosen.key.clone(), COUNT);
        for ((person, known), avoidance) in mentioned.iter().zip(known).zip(avoidances) {
            if avoidance.blocks {
                continue;
            }
            if known.is_none() && most > 0 {
                if chosen.total >= most {
                    continue;
                }
                chosen.total += 1;
                chosen.new.push(*person);
            }
            chosen.people.push(*person);
        }
        Ok(chosen)
    }

    /// Adds the new people to a batch, which is rejected if the author has notified others
    /// meanwhile.
    pub(crate) fn write(&self, batch: &mut Batch) {
        if self.new.is_empty() {
            return;
        }
        batch.field_unchanged(&self.key, COUNT, self.count.as_deref());
        batch.set_fields(&self.key, self.new.iter().map(|person| (person.to_string(), "1")));
        batch.set_field(&self.key, COUNT, self.total.to_string());
        batch.expire(&self.key, KEPT);
    }
}
