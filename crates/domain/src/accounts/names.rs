//! Which usernames are taken: those that exist, and those that look like them.
//!
//! `username.folded:<name>` finds a user by how the name looks. It is written with each new
//! account. Accounts from before, and those that Lamer News creates on the same Redis, get
//! theirs in the order of their ids: all at the start of a server, and some before each
//! sign-up. `usernames.folded` says how far that is. Because this visits each account once, it
//! also adds what accounts of earlier versions lack.

use crate::accounts::users::{DEACTIVATED, DELETED_USERNAME};
use crate::key_walk::KeyWalk;
use crate::passwords::lacks_salt;
use crate::values::{
    FOLDING_CHUNK, FOLDING_CHUNKS_OF_ONE_ACTION, FullName, UserId, lookalikes, random_token,
};
use crate::{Advance, Decision, Refusal, Result, Site, User, fields, keys};
use std::collections::{BTreeMap, HashSet};
use tidings_keyspace::{Batch, Fetch, read};

/// Accounts before the ones to fold that are looked at again: Lamer News draws an id some
/// moments before it writes the account.
const FOLDING_OVERLAP: u64 = 16;

/// Gives the accounts that lack one their entry in the index of names, in chunks. Of two old
/// accounts whose names look alike, the older one gets it. Returns whether all have theirs.
/// Accounts of earlier versions also get the fields that Lamer News needs. Rounds: 3 if there is
/// nothing to do; else 3 and a commit for each chunk.
pub async fn fold_usernames(site: &Site, chunks: u64) -> Result<bool> {
    fold_chunks(site, chunks, &|_, _| {}).await
}

/// The same, saying after each chunk how far it is.
pub(crate) async fn fold_chunks(site: &Site, chunks: u64, advance: Advance<'_>) -> Result<bool> {
    for _ in 0..chunks {
        let Folded { last, count } = fold_chunk(site).await?;
        advance(last, count);
        if last == count {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far the index of names is.
struct Folded {
    /// The last account that was looked at.
    last: u64,
    /// The number of accounts.
    count: u64,
}

/// Folds the next chunk.
async fn fold_chunk(site: &Site) -> Result<Folded> {
    site.act(keys::USERNAMES_FOLDED, || async {
        let reads = (read::string(keys::USERNAMES_FOLDED), fields::counter(keys::USERS_COUNT));
        let (folded, count) = site.store.fetch(reads).await?;
        let from: u64 =
            fields::read_string(folded.as_deref(), || keys::USERNAMES_FOLDED.to_owned()).unwrap_or(0);
        if count == 0 {
            return Ok(Decision::Done(Folded { last: 0, count }));
        }
        let last = count.min(from + FOLDING_CHUNK);
        let first = from.saturating_sub(FOLDING_OVERLAP) + 1;
        let mut batch = complete(site, first, last).await?;
        if from >= count && batch.writes().is_empty() {
            return Ok(Decision::Done(Folded { last, count }));
        }
        batch.string_unchanged(keys::USERNAMES_FOLDED, folded);
        batch.set(keys::USERNAMES_FOLDED, last.max(from).to_string());
        Ok(Decision::commit(batch, Folded { last, count }))
    })
    .await
}

/// A batch that adds what the accounts with these ids lack: entries in the index of names, and fields. Lamer News, which
/// may run on the same Redis, cannot show a user without a name, nor refuse a login without a salt.
async fn complete(site: &Site, first: u64, last: u64) -> Result<Batch> {
    const FIELDS: [&str; 4] = ["username", DEACTIVATED, "password", "salt"];
    let ids = (first..=last).map(UserId);
    let users: Vec<_> = ids.clone().map(|id| read::fields(keys::user(id), FIELDS)).collect();
    let users = ids.zip(site.store.fetch(users).await?);
    let (mut batch, mut entries) = (Batch::new(), Vec::new());
    for (id, [name, deactivated, password, salt]) in users {
        let user = keys::user(id);
        if name.is_none() && deactivated.is_some() {
            batch.field_absent(&user, "username");
            batch.set_field(&user, "username", DELETED_USERNAME);
        }
        let is_account = name.is_some() || deactivated.is_some();
        if is_account && lacks_salt(password.as_deref(), salt.as_deref()) {
            batch.field_absent(&user, "salt");
            batch.set_field(user, "salt", random_token()?);
        }
        if let (Some(name), None) = (name, deactivated) {
            let key = keys::username_folded(&name);
            entries.push(read::string(&key).map(move |holder| (holder, key, id)));
        }
    }
    let mut seen = HashSet::new();
    for (holder, key, id) in site.store.fetch(entries).await? {
        if holder.is_none() && seen.insert(key.clone()) {
            batch.key_absent(&key);
            batch.set(key, id.to_string());
        }
    }
    Ok(batch)
}

/// Gives the names that were folded by an earlier version their entries anew, also those of
/// deactivated accounts. Of names that look alike only now, both stay, and the older account gets
/// the entry. The earlier entries stay too, so that the earlier version could still use them; nothing
/// here reads them.
pub(crate) async fn fold_anew(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        let stale = keys.into_iter().filter_map(|key| {
            let anew = keys::username_folded(keys::name_of_folded(&key)?);
            (anew != key).then_some((key, anew))
        });
        let stale: Vec<(String, String)> = stale.collect();
        if !stale.is_empty() {
            site.act(keys::USERNAMES_FOLDED, || fold_some_anew(site, &stale)).await?;
        }
    }
    Ok(())
}

/// [`fold_anew`] of some entries: each with its earlier key and the new one. Rounds: 1.
async fn fold_some_anew(site: &Site, stale: &[(String, String)]) -> Result<Decision<()>> {
    let reads: Vec<_> = stale.iter().map(|(key, anew)| [read::string(key), read::string(anew)]).collect();
    let stored = site.store.fetch(reads).await?;
    let number = |text: Option<&String>| text.and_then(|text| text.parse::<UserId>().ok());
    let mut entries: BTreeMap<&String, (Option<String>, Option<UserId>)> = BTreeMap::new();
    for ((_, anew), [earlier, stored]) in stale.iter().zip(stored) {
        let known = number(stored.as_ref());
        let (_, oldest) = entries.entry(anew).or_insert((stored, known));
        *oldest = [*oldest, number(earlier.as_ref())].into_iter().flatten().min();
    }
    let mut batch = Batch::new();
    for (key, (stored, oldest)) in entries {
        let Some(oldest) = oldest.filter(|oldest| stored.as_deref() != Some(&*oldest.to_string())) else {
            continue;
        };
        batch.string_unchanged(key, stored);
        batch.set(key, oldest.to_string());
    }
    Ok(Decision::commit(batch, ()))
}

/// Refuses a full name that looks like the username of another user, or like a reserved one. Rounds: 1 with at most
/// 98 keys, and what [`fold_usernames`] takes.
///
/// # Errors
/// [`Refusal::FullNameConfusable`], [`Refusal::FullNameReserved`], or the store's.
pub(crate) async fn refuse_confusable(site: &Site, user: &User, fullname: &FullName) -> Result<()> {
    let candidates = lookalikes::usernames_that_look_like(fullname.as_str());
    if candidates.is_empty() {
        return Ok(());
    }
    let reserved = &site.rules.accounts.reserved_names;
    let is_own = |name: &String| lookalikes::folded(name) == lookalikes::folded(&user.username);
    Refusal::FullNameReserved.when(candidates.iter().any(|name| reserved.cover(name) && !is_own(name)))?;
    fold_usernames(site, FOLDING_CHUNKS_OF_ONE_ACTION).await?;
    let names = candidates.iter().flat_map(|name| [keys::username_to_id(name), keys::username_folded(name)]);
    let holders = site.store.fetch(names.map(read::string).collect::<Vec<_>>()).await?;
    let own = user.id.to_string();
    let is_other = holders.into_iter().flatten().any(|id| id != own);
    if is_other { Err(Refusal::FullNameConfusable.into()) } else { Ok(()) }
}
