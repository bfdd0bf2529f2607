//! Buckets in a store that several servers share.

use super::bucket::{self, FullAt};
use super::{Bucket, RequestSource, Spent};
use crate::values::Moment;
use crate::{Decision, Result, Site, fields, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// Takes a token from each of the buckets, or from none. A bucket that is full again has
/// expired. Rounds: 2.
///
/// # Errors
/// When the store fails; the inner result says whether there were tokens.
pub(super) async fn take(site: &Site, now: Moment, buckets: &[Bucket]) -> Result<Result<(), Spent>> {
    let keys: Vec<String> = buckets.iter().map(key_of).collect();
    // The last is the widest network, for which most requests compete.
    let home = keys.last().map_or("", String::as_str);
    site.act(home, || async {
        let stored = site.store.fetch(keys.iter().map(read::string).collect::<Vec<_>>()).await?;
        let mut batch = Batch::new();
        for ((bucket, key), stored) in buckets.iter().zip(&keys).zip(stored) {
            let full_at: FullAt = fields::read_string(stored.as_deref(), || key.clone()).unwrap_or(0);
            let after = match bucket::take(bucket.rate, full_at, now) {
                Ok(after) => after,
                Err(wait) => return Ok(Decision::Done(Err(Spent { bucket: *bucket, wait }))),
            };
            batch.string_unchanged(key, stored);
            batch.set_expiring(key, after.to_string(), time_until_full(after, now));
        }
        Ok(Decision::commit(batch, Ok(())))
    })
    .await
}

/// Whether there is a token in each of the buckets. Rounds: 1, none without any.
///
/// # Errors
/// When the store fails; the inner result says whether there are tokens.
pub(super) async fn look(site: &Site, now: Moment, buckets: &[Bucket]) -> Result<Result<(), Spent>> {
    let stored: Vec<_> = buckets.iter().map(|bucket| read::string(key_of(bucket))).collect();
    for (bucket, stored) in buckets.iter().zip(site.store.fetch(stored).await?) {
        let full_at: FullAt = fields::read_string(stored.as_deref(), || key_of(bucket)).unwrap_or(0);
        if let Err(wait) = bucket::take(bucket.rate, full_at, now) {
            return Ok(Err(Spent { bucket: *bucket, wait }));
        }
    }
    Ok(Ok(()))
}

fn key_of(bucket: &Bucket) -> String {
    match bucket.source {
        RequestSource::Account(id) => keys::rate_of_account(bucket.action, id),
        RequestSource::Network(network) => keys::rate_of_network(bucket.action, network),
    }
}

/// In whole milliseconds, rounded up; at least one.
fn time_until_full(full_at: FullAt, now: Moment) -> Duration {
    Duration::from_millis(full_at.div_ceil(1_000_000).saturating_sub(now.0).max(1))
}
