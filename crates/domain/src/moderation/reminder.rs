//! Reminds moderators of what waits long in the review queue.
//!
//! Key: `review:reminded`, when they were reminded last. Rows that waited then cause no further reminder.

use crate::accounts::staff;
use crate::values::{Moment, Timestamp};
use crate::{Applied, Result, Role, Site, fields, keys, review};
use std::time::Duration;
use tidings_keyspace::{Batch, read};
use tidings_language::n;
use tidings_language::spans::span;

/// How long after its start, and how often a server looks whether something has waited for long.
pub(crate) const EVERY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(60));

/// Reminds all moderators, if something has waited for `moderation.remind_after` and did not wait
/// already when they were reminded last. Returns whether it did. Rounds: 2; for a reminder, those of
/// [`staff::tell`].
pub async fn remind(site: &Site, now: Moment) -> Result<bool> {
    let after = site.rules.moderation.remind_after.0;
    if after == 0 {
        return Ok(false);
    }
    let waiting = review::waiting(site).await?;
    let time = now.timestamp();
    let reminded = site.store.fetch(read::string(keys::REVIEW_REMINDED)).await?;
    let last: Option<u64> = fields::read_string(reminded.as_deref(), || keys::REVIEW_REMINDED.to_owned());
    // A row that was waiting then silences only itself.
    let is_new = |since: &Timestamp| last.is_none_or(|last| since.0 > last);
    let is_long = |since: &Timestamp| time.seconds_since(*since) >= after;
    let Some(oldest) = waiting.since.iter().copied().filter(is_long).min() else { return Ok(false) };
    if !waiting.since.iter().any(|since| is_long(since) && is_new(since)) {
        return Ok(false);
    }
    let mut batch = Batch::new();
    batch.string_unchanged(keys::REVIEW_REMINDED, reminded);
    batch.set(keys::REVIEW_REMINDED, time.to_string());
    // Of several servers, one reminds.
    if let Applied::No(_) = site.apply(batch).await? {
        return Ok(false);
    }
    let text = n!(
        waiting.rows,
        "{count} thing waits in the review queue, the oldest for {time}: {address}",
        "{count} things wait in the review queue, the oldest for {time}: {address}",
        time = span(time.seconds_since(oldest)),
        address = format!("{}/moderate", site.address),
    );
    staff::tell(site, now, Role::Moderator, &text.to_string()).await?;
    Ok(true)
}
