//! Accounts of people from other sites. Nobody can log in to them until the operator sets a password.

use crate::accounts::names;
use crate::accounts::users::{DEACTIVATED, DELETED_USERNAME, UNTRUSTED_KARMA};
use crate::draws::{Draw, Sequence};
use crate::imports::archive::Archive;
use crate::imports::lines::ArchivedPerson;
use crate::news::item::SOURCE;
use crate::values::{
    Body, FullName, ImportSource, ImportedName, Timestamp, UserId, Username, lookalikes, random_token,
};
use crate::{Error, Result, Site, fields, keys};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Fetch, read};

/// Finds or creates the accounts of people from another site, given their names there and
/// usernames for them. A username that is taken, or looks like one, gets a number.
///
/// # Errors
/// [`Error::Busy`] when another import runs at the same time, or the store's.
pub async fn import_accounts(
    site: &Site,
    now: Timestamp,
    people: &[(String, Username)],
) -> Result<HashMap<String, UserId>> {
    let people: Vec<WantedAccount<'_>> = people
        .iter()
        .map(|(source, name)| WantedAccount { source: source.clone(), name: name.as_str(), created: now })
        .collect();
    Ok(find_or_create(site, &people, Alike::Numbered).await?.found)
}

/// An account that is wanted.
struct WantedAccount<'a> {
    /// The identifier of the person.
    source: String,
    /// The name.
    name: &'a str,
    /// When it was created.
    created: Timestamp,
}

/// Whether a name that only looks like a taken one gets a number, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alike {
    Numbered,
    Taken,
}

struct Accounts {
    /// All of them, by their sources.
    found: HashMap<String, UserId>,
    /// Those that were created, with their names.
    created: Vec<(String, String)>,
}

async fn find_or_create(site: &Site, people: &[WantedAccount<'_>], alike: Alike) -> Result<Accounts> {
    let mut found = known(site, people.iter().map(|person| person.source.as_str())).await?;
    let missing: Vec<&WantedAccount<'_>> =
        people.iter().filter(|person| !found.contains_key(&person.source)).collect();
    if missing.is_empty() {
        return Ok(Accounts { found, created: Vec::new() });
    }
    names::fold_usernames(site, u64::MAX).await?;
    let names = free_names(site, &missing, alike).await?;
    let count = u64::try_from(missing.len()).unwrap_or(u64::MAX);
    let [first] = Draw::new([(Sequence::People, count)]).apart(site).await?;
    let (mut batch, mut created) = (Batch::new(), Vec::new());
    for (id, (person, name)) in (first..).map(UserId).zip(missing.iter().zip(names)) {
        note(&mut batch, &person.source, id);
        let index = keys::username_to_id(&name.name);
        batch.key_absent(&index);
        batch.set(index, id.to_string());
        if !name.looks_taken {
            let index = keys::username_folded(&name.name);
            batch.key_absent(&index);
            batch.set(index, id.to_string());
        }
        write_account(&mut batch, site, (id, &name.name), person.created)?;
        created.push((person.source.clone(), name.name));
        found.insert(person.source.clone(), id);
    }
    site.apply(batch).await?.or(Error::Busy)?;
    Ok(Accounts { found, created })
}

/// The accounts of people who were imported before. Rounds: 1.
async fn known<'a>(site: &Site, sources: impl Iterator<Item = &'a str>) -> Result<HashMap<String, UserId>> {
    let sources: Vec<&str> = sources.collect();
    if sources.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = site.store.fetch(read::hash_fields(keys::IMPORTED_ACCOUNTS, sources.iter().copied())).await?;
    let id = |(source, id): (&&str, Option<String>)| {
        let id = fields::read(id.as_deref(), || keys::IMPORTED_ACCOUNTS.to_owned(), source)?;
        Some(((*source).to_owned(), id))
    };
    Ok(sources.iter().zip(ids).filter_map(id).collect())
}

/// Notes who was imported.
fn note(batch: &mut Batch, source: &str, id: UserId) {
    batch.field_absent(keys::IMPORTED_ACCOUNTS, source);
    batch.set_field(keys::IMPORTED_ACCOUNTS, source, id.to_string());
}

fn write_account(
    batch: &mut Batch,
    site: &Site,
    (id, name): (UserId, &str),
    created: Timestamp,
) -> Result<()> {
    batch.key_absent(keys::user(id));
    batch.set_fields(
        keys::user(id),
        [
            ("id", id.to_string()),
            ("username", name.to_owned()),
            ("password", String::new()),
            // For Lamer News, which cannot refuse a login without one.
            ("salt", random_token()?),
            ("ctime", created.to_string()),
            ("karma", site.rules.karma.initial.to_string()),
            ("about", String::new()),
            ("email", String::new()),
            ("auth", String::new()),
            ("apisecret", String::new()),
            ("flags", String::new()),
            ("karma_incr_time", created.to_string()),
        ],
    );
    Ok(())
}

/// A name that nobody has.
#[derive(Clone)]
struct FreeName {
    name: String,
    /// Whether somebody has one that looks like it.
    looks_taken: bool,
}

/// A free name for each person: the username, if necessary with a number.
async fn free_names(site: &Site, people: &[&WantedAccount<'_>], alike: Alike) -> Result<Vec<FreeName>> {
    let [mut given, mut given_alike]: [HashSet<String>; 2] = Default::default();
    let mut names: Vec<Option<FreeName>> = vec![None; people.len()];
    for number in 1_u64.. {
        let tries: Vec<_> = people
            .iter()
            .zip(&names)
            .enumerate()
            .filter(|(_, (_, name))| name.is_none())
            .map(|(position, (person, _))| {
                let name =
                    if number == 1 { person.name.to_owned() } else { format!("{}-{number}", person.name) };
                let keys = [keys::username_to_id(&name), keys::username_folded(&name)];
                Fetch::map(keys.map(read::string), move |taken| (position, name, taken))
            })
            .collect();
        if tries.is_empty() {
            break;
        }
        for (position, name, taken) in site.store.fetch(tries).await? {
            let [is_taken, looks_taken] = taken.map(|taken| taken.is_some());
            let (folded, lower) = (lookalikes::folded(&name), name.to_lowercase());
            let looks_taken = looks_taken || given_alike.contains(&folded);
            let is_refused = looks_taken && alike == Alike::Numbered;
            if !is_taken && !is_refused && given.insert(lower) {
                given_alike.insert(folded);
                names[position] = Some(FreeName { name, looks_taken });
            }
        }
    }
    Ok(names.into_iter().flatten().collect())
}

/// The identifier of a person of a site; without a name, of all who have left it.
fn source_of(source: &ImportSource, name: Option<&ImportedName>) -> String {
    format!("{source}/{}", name.map_or("", ImportedName::as_str))
}

/// The people of an archive.
pub(super) struct ArchivePeople {
    /// Their accounts, by name; of somebody who has left, by none.
    pub(super) accounts: HashMap<Option<ImportedName>, UserId>,
    /// Those who got another name: theirs and the one here.
    pub(super) renamed: Vec<[String; 2]>,
}

/// Finds or creates the accounts of people of a site. Each keeps the name, unless somebody has it here, in capitals or
/// small letters. Rounds: 1, and some if there are new people.
///
/// # Errors
/// [`Error::Busy`] when another import runs at the same time, or the store's.
pub(super) async fn people_of_archive(
    site: &Site,
    source: &ImportSource,
    people: &HashMap<Option<ImportedName>, Timestamp>,
) -> Result<ArchivePeople> {
    let mut wanted: Vec<WantedAccount<'_>> = people
        .iter()
        .filter_map(|(name, created)| {
            let name = name.as_ref()?;
            let source = source_of(source, Some(name));
            Some(WantedAccount { source, name: name.as_str(), created: *created })
        })
        .collect();
    // In an order that does not change, so that a repeat gives everybody the same name.
    wanted.sort_by(|one, other| (one.created, one.name).cmp(&(other.created, other.name)));
    let Accounts { found, created } = find_or_create(site, &wanted, Alike::Taken).await?;
    let mut accounts: HashMap<Option<ImportedName>, UserId> = HashMap::new();
    for name in people.keys() {
        let source = source_of(source, name.as_ref());
        if let Some(id) = found.get(&source) {
            accounts.insert(name.clone(), *id);
        } else if let (None, Some(time)) = (name, people.get(&None)) {
            accounts.insert(None, account_of_the_left(site, &source, *time).await?);
        }
    }
    let name_there = |source: &str| source.split_once('/').map_or("", |(_, name)| name).to_owned();
    let renamed = created.into_iter().map(|(source, name)| [name_there(&source), name]);
    Ok(ArchivePeople { accounts, renamed: renamed.filter(|[there, here]| there != here).collect() })
}

/// The account of all who have left a site: a deactivated one.
async fn account_of_the_left(site: &Site, source: &str, time: Timestamp) -> Result<UserId> {
    if let Some(id) = known(site, std::iter::once(source)).await?.remove(source) {
        return Ok(id);
    }
    let [id] = Draw::new([(Sequence::People, 1)]).apart(site).await?.map(UserId);
    let mut batch = Batch::new();
    note(&mut batch, source, id);
    write_account(&mut batch, site, (id, DELETED_USERNAME), time)?;
    batch.set_field(keys::user(id), DEACTIVATED, time.to_string());
    site.apply(batch).await?.or(Error::Busy)?;
    Ok(id)
}

/// Gives new accounts what their owners said about themselves, their karma and their age there, each once. Unless the
/// archive is trusted with it, the karma does not count for trust. Returns how many got it. Rounds: 2, none without
/// people.
///
/// # Errors
/// [`Error::Busy`] when one of them has just changed, or the store's.
pub(super) async fn write_profiles(
    site: &Site,
    archive: &Archive,
    people: &[(UserId, &ArchivedPerson)],
) -> Result<u64> {
    const FIELDS: [&str; 3] = [SOURCE, "password", "about"];
    let stored = people.iter().map(|(id, _)| read::hash_fields(keys::user(*id), FIELDS)).collect::<Vec<_>>();
    let stored = site.store.fetch(stored).await?;
    let (mut batch, mut written) = (Batch::new(), HashSet::new());
    for ((id, person), stored) in people.iter().zip(stored) {
        let [profile, password, about] = fields::each(stored);
        // Somebody uses the account, or it has a profile.
        let is_new = profile.is_none() && [&password, &about].into_iter().flatten().all(String::is_empty);
        if !is_new || !written.insert(*id) {
            continue;
        }
        let key = keys::user(*id);
        batch.field_absent(&key, SOURCE);
        batch.field_unchanged(&key, "password", password.as_ref());
        batch.field_unchanged(&key, "about", about.as_ref());
        batch.set_field(&key, SOURCE, format!("{}:{}", archive.source, person.name.as_str()));
        batch.set_field(&key, "ctime", person.created.to_string());
        if let Some(about) = &person.about {
            batch.set_field(&key, "about", Body::as_str(about));
        }
        if let Some(name) = &person.fullname {
            batch.set_field(&key, "fullname", FullName::as_str(name));
        }
        // Votes here may have changed it.
        if let Some(karma) = person.karma {
            let more = karma.saturating_sub(site.rules.karma.initial);
            batch.increment_field(&key, "karma", more);
            if !archive.trusts_karma && more > 0 {
                batch.set_field(&key, UNTRUSTED_KARMA, more.to_string());
            }
        }
    }
    let count = u64::try_from(written.len()).unwrap_or(u64::MAX);
    if count == 0 {
        return Ok(0);
    }
    site.apply(batch).await?.or(Error::Busy)?;
    Ok(count)
}
