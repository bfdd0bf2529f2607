//! Protecting the weak password hashes of accounts from an older site.
//!
//! A login replaces the hash of its account. This does what can be done for everybody else:
//! it wraps the digest that is stored in Argon2id ([`crate::passwords`]).

use crate::accounts::users::account_chunks;
use crate::audit::{AUDIT, COMMAND_LINE};
use crate::passwords::is_weak;
use crate::values::{HARDEN_CHUNK, UserId};
use crate::{Decision, Error, Result, Site, fields, keys};
use futures_util::future::try_join_all;
use std::ops::RangeInclusive;
use tidings_keyspace::{Batch, read};

/// Attempts at one chunk of accounts while their owners log in.
const CHUNK_ATTEMPTS: usize = 24;

/// How far the hardening is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hardened {
    /// Accounts that were looked at.
    pub checked: u64,
    /// Accounts whose digest was wrapped.
    pub wrapped: u64,
}

/// The number of accounts that [`harden`] looks at. Rounds: 1.
pub async fn count_accounts(site: &Site) -> Result<u64> {
    Ok(site.store.fetch(fields::counter(keys::USERS_COUNT)).await?)
}

/// Wraps every weak digest that is stored, some accounts in each batch, and reports after
/// each. Other servers may use the store meanwhile. After an interruption, the next call does
/// what is left. Rounds: 1, and for each chunk 1 and a commit.
///
/// # Errors
/// [`Error::Busy`] when the accounts of one chunk change all the time, or the store's.
pub async fn harden(site: &Site, report: impl Fn(Hardened)) -> Result<Hardened> {
    let mut done = Hardened::default();
    for ids in account_chunks(site, HARDEN_CHUNK).await? {
        done.checked = *ids.end();
        done.wrapped += harden_chunk(site, ids).await?;
        report(done);
    }
    if done.wrapped > 0 {
        tracing::info!(target: AUDIT, by = COMMAND_LINE, accounts = done.wrapped, "protected weak passwords");
    }
    Ok(done)
}

/// Wraps the weak digests of the accounts with these ids. Returns their number.
async fn harden_chunk(site: &Site, ids: RangeInclusive<u64>) -> Result<u64> {
    site.act_without_turns(CHUNK_ATTEMPTS, || async {
        let keys: Vec<String> = ids.clone().map(|id| keys::user(UserId(id))).collect();
        let digests = keys.iter().map(|key| read::field(key, "password")).collect::<Vec<_>>();
        let digests = site.store.fetch(digests).await?;
        let weak = keys.into_iter().zip(digests).filter_map(|(key, digest)| {
            let digest = digest.filter(|hash| is_weak(hash))?;
            Some(async move { Ok::<_, Error>((key, site.passwords.wrap(digest.clone()).await?, digest)) })
        });
        let wrapped = try_join_all(weak).await?;
        let count = u64::try_from(wrapped.len()).unwrap_or(u64::MAX);
        if wrapped.is_empty() {
            return Ok(Decision::Done(count));
        }
        let mut batch = Batch::new();
        for (key, hash, digest) in wrapped {
            // Fails if the owner has logged in meanwhile.
            batch.field_equals(&key, "password", digest);
            batch.set_field(&key, "password", hash);
        }
        Ok(Decision::commit(batch, count))
    })
    .await
}
