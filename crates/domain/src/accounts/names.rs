//! Which usernames are taken: those that exist, and those that look like them.
//!
//! `username.folded:<name>` finds a user by how the name looks. It is written with each new
//! account. Accounts from before, and those that Lamer News creates on the same Redis, get
//! theirs in the order of their ids: all at the start of a server, and some before each
//! sign-up. `usernames.folded` says how far that is.

use crate::accounts::users::DEACTIVATED;
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use crate::values::limits::{FOLDING_CHUNK, FOLDING_CHUNKS_OF_ONE_ACTION};
use crate::values::lookalikes;
use crate::values::text::FullName;
use std::collections::HashSet;
use tidings_keyspace::{Batch, Query};

/// Accounts before the ones to fold that are looked at again: Lamer News draws an id some
/// moments before it writes the account.
const FOLDING_OVERLAP: u64 = 16;

/// Gives the accounts that lack one their entry in the index of names, in chunks. Of two
/// old accounts whose names look alike, the older one gets it. Returns whether all have
/// theirs. Rounds: 3 if there is nothing to do; else 3 and a commit for each chunk.
///
/// # Errors
/// When the store fails.
pub async fn fold_usernames(site: &Site, chunks: u64) -> Result<bool, Error> {
    for _ in 0..chunks {
        if fold_chunk(site).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Folds the next chunk. Returns whether it was the last.
async fn fold_chunk(site: &Site) -> Result<bool, Error> {
    site.act(keys::USERNAMES_FOLDED, || async {
        let mut query = Query::new();
        let (folded, count) = (query.string(keys::USERNAMES_FOLDED), query.string(keys::USERS_COUNT));
        let mut answers = site.store.query(query).await?;
        let (folded, count) = (answers.take(folded), answers.take(count));
        let number = |text: Option<&str>, key: &str| -> u64 {
            fields::read_string(text, || key.to_owned()).unwrap_or(0)
        };
        let from = number(folded.as_deref(), keys::USERNAMES_FOLDED);
        let count = number(count.as_deref(), keys::USERS_COUNT);
        if count == 0 {
            return Ok(Decision::Done(true));
        }
        let last = count.min(from + FOLDING_CHUNK);
        let entries = missing(site, from.saturating_sub(FOLDING_OVERLAP) + 1, last).await?;
        if from >= count && entries.is_empty() {
            return Ok(Decision::Done(true));
        }
        let mut batch = Batch::new();
        match folded {
            Some(folded) => batch.string_equals(keys::USERNAMES_FOLDED, folded),
            None => batch.key_absent(keys::USERNAMES_FOLDED),
        };
        batch.set(keys::USERNAMES_FOLDED, last.max(from).to_string());
        for (key, id) in entries {
            batch.key_absent(&key);
            batch.set(key, id.to_string());
        }
        Ok(Decision::commit(batch, last == count))
    })
    .await
}

/// The entries that the accounts with these ids lack.
async fn missing(site: &Site, first: u64, last: u64) -> Result<Vec<(String, UserId)>, Error> {
    let mut query = Query::new();
    let names: Vec<_> = (first..=last)
        .map(UserId)
        .map(|id| (id, query.hash_fields(keys::user(id), ["username", DEACTIVATED])))
        .collect();
    let mut answers = site.store.query(query).await?;
    let mut entries = Vec::new();
    let mut query = Query::new();
    for (id, name) in names {
        if let [Some(name), None] = fields::each(answers.take(name)) {
            let key = keys::username_folded(&name);
            entries.push((query.string(&key), key, id));
        }
    }
    let mut answers = site.store.query(query).await?;
    let mut seen = HashSet::new();
    let is_missing = |entry: &(_, String, _)| entry.0 && seen.insert(entry.1.clone());
    let entries = entries.into_iter().map(|(read, key, id)| (answers.take(read).is_none(), key, id));
    Ok(entries.filter(is_missing).map(|(_, key, id)| (key, id)).collect())
}

/// Refuses a full name that looks like the username of another user. Rounds: at most 2, and
/// what [`fold_usernames`] takes.
///
/// # Errors
/// [`Refusal::FullNameConfusable`], or the store's.
pub(crate) async fn refuse_confusable(site: &Site, own: UserId, fullname: &FullName) -> Result<(), Error> {
    let candidates = lookalikes::usernames_that_look_like(fullname.as_str());
    if candidates.is_empty() {
        return Ok(());
    }
    fold_usernames(site, FOLDING_CHUNKS_OF_ONE_ACTION).await?;
    let mut query = Query::new();
    let reads: Vec<_> = candidates.iter().map(|name| query.string(keys::username_of_folded(name))).collect();
    let mut answers = site.store.query(query).await?;
    let own = own.to_string();
    let is_other = reads.into_iter().any(|read| answers.take(read).is_some_and(|id| id != own));
    if is_other { Err(Refusal::FullNameConfusable.into()) } else { Ok(()) }
}
