//! The number of users and news, and what happens on the site over time.
//!
//! Keys: `statistics:hour:<hour>` and `statistics:day:<date>`.

mod kept;

pub use kept::{Chronicle, chronicle, keep, note};

use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::fields;
use crate::keys;
use tidings_keyspace::Query;

/// The number of users and news.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteCounts {
    /// Accounts created: the highest id drawn.
    pub users: u64,
    /// News submitted, deleted ones included: the highest id drawn.
    pub news: u64,
    /// News that are listed: not deleted.
    pub listed: u64,
}

/// Counts users and news. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn counts(visit: &mut Visit) -> Result<SiteCounts, Error> {
    let mut query = Query::new();
    let users = query.string(keys::USERS_COUNT);
    let news = query.string(keys::NEWS_COUNT);
    let listed = query.sorted_count(keys::NEWS_CRON);
    let mut answers = visit.run(query).await?;
    let number = |text: Option<String>, key: &str| {
        fields::read_string(text.as_deref(), || key.to_owned()).unwrap_or(0)
    };
    Ok(SiteCounts {
        users: number(answers.take(users), keys::USERS_COUNT),
        news: number(answers.take(news), keys::NEWS_COUNT),
        listed: answers.take(listed),
    })
}
