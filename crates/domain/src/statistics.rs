//! The number of users and news, and what happens on the site over time.
//!
//! Keys: `statistics:hour:<hour>` and `statistics:day:<date>`.

mod kept;

pub use kept::{Chronicle, chronicle, keep, note};

use crate::{Result, Visit, fields, keys};
use tidings_keyspace::read;

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
pub async fn counts(visit: &mut Visit) -> Result<SiteCounts> {
    let [users, news] = [keys::USERS_COUNT, keys::NEWS_COUNT].map(fields::counter);
    let (users, news, listed) = visit.fetch((users, news, read::sorted_count(keys::NEWS_CRON))).await?;
    Ok(SiteCounts { users, news, listed })
}
