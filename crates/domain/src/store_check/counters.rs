//! Counters that draw ids: none may be below an id that is in use.

use crate::keys;
use crate::keys::families::{self, Family};
use crate::store_rules::claims::{Fault, Found, Mend};
use crate::store_rules::source::Source;
use crate::store_rules::subject::Subject;
use crate::values::UserId;
use crate::{Result, Site};
use std::collections::BTreeMap;
use tidings_keyspace::{Answer, Batch, Fetch, read};

/// The condition that must hold for counters.
pub(super) const SENTENCE: &str = "a counter of ids is not below an id that is in use";

/// The families whose keys have ids, with the counters that draw them.
static DRAWN: [(&Family, &[&str]); 10] = [
    (&families::USER, &[keys::USERS_COUNT]),
    (&families::NEWS, &[keys::NEWS_COUNT, keys::ARTICLE_COUNT]),
    (&families::ARTICLE_OF, &[keys::ARTICLE_COUNT]),
    (&families::TWEET, &[keys::TWEET_IDS]),
    (&families::MODERATION, &[keys::MODERATION_COUNT]),
    (&families::MESSAGES, &[keys::MESSAGES_COUNT]),
    (&families::RULES, &[keys::RULES_COUNT]),
    (&families::ORIGIN_BANS, &[keys::ORIGIN_BANS_COUNT]),
    (&families::HOOKS, &[keys::HOOKS_COUNT]),
    (&families::ITEMS, &[keys::ITEMS_COUNT]),
];

/// The highest ids that a walk has seen, with the keys that have them, by the counters that draw
/// them.
#[derive(Default)]
pub(super) struct Highest(BTreeMap<&'static str, (u64, String)>);

impl Highest {
    /// Notes the ids in a key.
    pub(super) fn note(&mut self, subject: &Subject, value: &Answer) {
        let Some((_, counters)) = DRAWN.iter().find(|(family, _)| *family == subject.family) else { return };
        // Rules, bans and webhooks are the fields of one key, and items have their numbers as scores.
        let fields = || match value {
            Answer::Hash(hash) => hash.0.iter().filter_map(|(id, _)| id.parse().ok()).max(),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Answer::Scored(numbers) => numbers.last().map(|(_, number)| *number as u64),
            _ => None,
        };
        let highest = subject.id::<UserId>().map(|id| id.0).or_else(fields);
        for counter in *counters {
            let known = self.0.entry(counter).or_default();
            if let Some(highest) = highest.filter(|highest| *highest > known.0) {
                *known = (highest, subject.key.clone());
            }
        }
    }

    /// The counters that are too low. They never fall, so they are read once, at the end. The
    /// counter of articles may be absent in a database of Lamer News, and is raised when a server
    /// starts.
    pub(super) async fn faults(self, site: &Site) -> Result<Vec<Found>> {
        let counter =
            |(key, highest)| read::string(key).or_absent().map(move |stored| (key, highest, stored));
        let counters = self.0.into_iter().map(counter).collect::<Vec<_>>();
        let mut faults = Vec::new();
        for (key, (highest, holder), stored) in site.store.fetch(counters).await? {
            let found = stored.as_deref().map_or(Ok(0), str::parse::<i64>);
            let expected = i64::try_from(highest).unwrap_or(i64::MAX);
            let is_articles_of_lamer_news = key == keys::ARTICLE_COUNT && stored.is_none();
            let mend = match found {
                Ok(found) if found >= expected || is_articles_of_lamer_news => continue,
                Ok(found) => {
                    let mut batch = Batch::new();
                    batch.string_unchanged(key, stored.as_ref());
                    batch.increment(key, expected - found);
                    Mend::write(batch, format!("raise the counter to {expected}"))
                }
                Err(_) => Mend::Person("set the counter by hand to the highest id in use"),
            };
            let found = stored.as_deref().unwrap_or("nothing");
            let fault = Fault::new(key, found, format_args!("{expected} or more"), mend);
            // The id of a key is in a field of it, or is the name of one.
            let rests_on = ["id".to_owned(), highest.to_string()].map(|part| Source::part(&holder, part));
            faults.push(Found::of(fault, rests_on.into()));
        }
        Ok(faults)
    }
}
