//! Work that waits for somebody, read for the page of administrators.

use crate::accounts::outbox::MailStatus;
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use tidings_keyspace::{Expiry, read};

/// Work that waits for somebody, or that is held up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Rows of the review queue: flags, held posts, applications and appeals.
    pub reviews: u64,
    /// Mails that wait to be sent.
    pub mails: MailStatus,
    /// Seconds for which new accounts still wait for approval, because too many were created.
    pub signup_burst_seconds: Option<u64>,
}

/// Reads what waits. Rounds: 1.
pub async fn waiting(visit: &mut Visit) -> Result<Backlog, Error> {
    let paused = read::expiry(keys::SIGNUP_PAUSED);
    let reads = (read::sorted_count(keys::REVIEW_QUEUE), MailStatus::read(), paused);
    let (reviews, mails, paused) = visit.fetch(reads).await?;
    let signup_burst_seconds = match paused {
        Expiry::In(time) => Some(time.as_secs().max(1)),
        Expiry::Absent | Expiry::Never => None,
    };
    Ok(Backlog { reviews, mails, signup_burst_seconds })
}
