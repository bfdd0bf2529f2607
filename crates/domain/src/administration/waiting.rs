//! What waits for somebody: read for the page of administrators.

use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::clock::Timestamp;
use tidings_keyspace::{Expiry, Order, read};

/// What waits for somebody, or does not go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Rows of the review queue: flags, held posts, applications and appeals.
    pub reviews: u64,
    /// Mails that wait to be sent.
    pub mails: u64,
    /// When the first of them was due.
    pub mail_due: Option<Timestamp>,
    /// Seconds for which new accounts still wait for approval, because too many were created.
    pub signup_burst_seconds: Option<u64>,
}

/// Reads what waits. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn waiting(visit: &mut Visit) -> Result<Waiting, Error> {
    let (reviews, mails, first, paused) = visit
        .fetch((
            read::sorted_count(keys::REVIEW_QUEUE),
            read::sorted_count(keys::MAIL_OUTBOX),
            read::sorted_range(keys::MAIL_OUTBOX, Order::Ascending, 0, 1),
            read::expiry(keys::SIGNUP_PAUSED),
        ))
        .await?;
    Ok(Waiting {
        reviews,
        mails,
        mail_due: first.first().map(|(_, due)| Timestamp::from_score(*due)),
        signup_burst_seconds: match paused {
            Expiry::In(time) => Some(time.as_secs().max(1)),
            Expiry::Absent | Expiry::Never => None,
        },
    })
}
