//! What waits for somebody: read for the page of administrators.

use crate::accounts::outbox::{MailStatus, MailStatusRead};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use tidings_keyspace::{Expiry, Query};

/// What waits for somebody, or does not go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Rows of the review queue: flags, held posts, applications and appeals.
    pub reviews: u64,
    /// Mails that wait to be sent.
    pub mails: MailStatus,
    /// Seconds for which new accounts still wait for approval, because too many were created.
    pub signup_burst_seconds: Option<u64>,
}

/// Reads what waits. Rounds: 1.
pub async fn waiting(visit: &mut Visit) -> Result<Waiting, Error> {
    let mut query = Query::new();
    let reviews = query.sorted_count(keys::REVIEW_QUEUE);
    let mails = MailStatusRead::ask(&mut query);
    let paused = query.expiry(keys::SIGNUP_PAUSED);
    let mut answers = visit.run(query).await?;
    Ok(Waiting {
        reviews: answers.take(reviews),
        mails: mails.take(&mut answers),
        signup_burst_seconds: match answers.take(paused) {
            Expiry::In(time) => Some(time.as_secs().max(1)),
            Expiry::Absent | Expiry::Never => None,
        },
    })
}
