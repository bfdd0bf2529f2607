//! Muting people, sites and words, the list of all that a user has muted and blocked, and whether people want to hear of
//! somebody.
//!
//! Muted topics are a list of their own (`articles::topic_choices`), because earlier versions
//! have stored them so; the list of mutes shows them with the others.

use crate::accounts::UserNames;
use crate::accounts::mentioned::user_named;
use crate::values::{
    Hostname, MAX_MUTED_TOPICS, MAX_MUTES, Moment, MuteKind, MutedWord, RatedAction, Timestamp, UserId,
};
use crate::{Actor, Decision, Refusal, Result, Site, Visit, fields, keys};
use std::fmt::Display;
use tidings_keyspace::{Batch, Fetch, Order, read};

/// The field of a hash of mutes for a value.
fn mute_field(kind: MuteKind, value: impl Display) -> String {
    format!("{}:{value}", kind.name())
}

/// The kind and the value of a field of a hash of mutes.
pub(crate) fn read_mute(field: &str) -> Option<(MuteKind, &str)> {
    let (kind, value) = field.split_once(':')?;
    Some((kind.parse().ok()?, value))
}

/// How somebody stands to another person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Avoidance {
    /// Whether they have muted the person.
    pub(crate) mutes: bool,
    /// Whether they have blocked the person.
    pub(crate) blocks: bool,
}

impl Avoidance {
    /// How `user` stands to `person`.
    pub(crate) fn of(user: UserId, person: UserId) -> impl Fetch<Value = Self> {
        let mutes = read::field(keys::user_mutes(user), mute_field(MuteKind::User, person));
        let blocks = read::field(keys::user_blocks(user), person.to_string());
        (mutes, blocks).map(|(mutes, blocks)| Self { mutes: mutes.is_some(), blocks: blocks.is_some() })
    }
}

/// A thing that a user can mute here. Topics are muted by `articles::topic_choices`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutable {
    /// The person with this name.
    User(String),
    /// A site with its subdomains.
    Domain(Hostname),
    /// A word or phrase.
    Word(MutedWord),
}

impl Mutable {
    /// Its field in the hash of mutes. Rounds: 2 for a person, none for others.
    async fn field(&self, site: &Site, user: UserId) -> Result<String> {
        Ok(match self {
            Self::User(name) => {
                let person = user_named(site, name).await?;
                Refusal::MutingOneself.when(person == user)?;
                mute_field(MuteKind::User, person)
            }
            Self::Domain(host) => mute_field(MuteKind::Domain, host),
            Self::Word(word) => mute_field(MuteKind::Word, word),
        })
    }
}

/// Mutes something. Twice is as once. Rounds: 2; 4 for a person.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::MutingOneself`], [`Refusal::TooManyMutes`],
/// [`Refusal::SessionEnded`], [`Refusal::TooManyRequests`], or the store's.
pub async fn mute(site: &Site, now: Moment, user: Actor<'_>, what: &Mutable) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let key = keys::user_mutes(user.id);
    let field = what.field(site, user.id).await?;
    site.act(&key, || async {
        let muted = site.store.fetch(read::hash(&key)).await?;
        if muted.get(&field).is_some() {
            return Decision::Done(()).once(user.request.as_ref(), &());
        }
        Refusal::TooManyMutes { limit: MAX_MUTES as u64 }.when(muted.0.len() >= MAX_MUTES)?;
        let mut batch = Batch::new();
        batch.field_absent(&key, &field);
        batch.set_field(&key, &field, now.timestamp().to_string());
        user.decide(batch, (), &())
    })
    .await
}

/// Ends muting something. Does nothing for what is not muted. Rounds: 1; 3 for a person.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::MutingOneself`], [`Refusal::TooManyRequests`], or the
/// store's.
pub async fn unmute(site: &Site, now: Moment, user: Actor<'_>, what: &Mutable) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let field = what.field(site, user.id).await?;
    let mut batch = Batch::new();
    batch.delete_field(keys::user_mutes(user.id), field);
    user.commit(site, batch).await
}

/// Something that a user has muted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mute {
    /// The kind.
    pub kind: MuteKind,
    /// The name of the person or topic, the site, or the word.
    pub value: String,
    /// When it was muted.
    pub since: Timestamp,
}

/// Somebody whom a user has blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The name.
    pub username: String,
    /// When the person was blocked.
    pub since: Timestamp,
}

/// All that a user has muted and blocked, the latest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Avoided {
    /// The muted people, sites, words and topics.
    pub mutes: Vec<Mute>,
    /// The blocked people.
    pub blocks: Vec<Block>,
}

/// The sites, and the words and phrases, that a user has muted. Rounds: 1.
pub async fn muted_sites_and_words(visit: &mut Visit, user: UserId) -> Result<(Vec<String>, Vec<String>)> {
    let mutes = visit.fetch(read::hash(keys::user_mutes(user)).or_absent()).await?;
    let of_kind = |wanted: MuteKind| {
        let known = mutes.0.iter().filter_map(|(field, _)| read_mute(field));
        known.filter(|(kind, _)| *kind == wanted).map(|(_, value)| value.to_owned()).collect()
    };
    Ok((of_kind(MuteKind::Domain), of_kind(MuteKind::Word)))
}

/// All that a user has muted and blocked, the latest first. Accounts that were deactivated
/// since are left out. Rounds: 2.
pub async fn avoided(visit: &mut Visit, user: UserId) -> Result<Avoided> {
    let (mutes_key, blocks_key) = (keys::user_mutes(user), keys::user_blocks(user));
    let topics = read::sorted_range(keys::topics_muted(user), Order::Descending, 0, MAX_MUTED_TOPICS);
    let reads = (read::hash(&mutes_key), read::hash(&blocks_key), topics);
    let (mutes, blocks, topics) = visit.fetch(reads).await?;
    let time = |stored: &str| stored.parse().map_or_else(|_| Timestamp::default(), Timestamp);
    let mute = |(field, since): (String, String)| {
        let (kind, value) = read_mute(&field).filter(|(kind, _)| *kind != MuteKind::Topic)?;
        Some(Mute { kind, value: value.to_owned(), since: time(&since) })
    };
    let mut mutes = fields::members(mutes.0, &mutes_key, mute);
    let block = |(id, since): (String, String)| Some((id.parse::<UserId>().ok()?, time(&since)));
    let blocks = fields::members(blocks.0, &blocks_key, block);

    let id_of = |mute: &Mute| (mute.kind == MuteKind::User).then(|| mute.value.parse::<UserId>().ok())?;
    let people = mutes.iter().filter_map(id_of).chain(blocks.iter().map(|(id, _)| *id));
    let names = UserNames::of(&visit.shared(), people.collect());
    let names = visit.fetch_if_needed(names).await?;
    mutes.retain_mut(|mute| {
        if mute.kind == MuteKind::User {
            let Some(name) = id_of(mute).and_then(|id| names.get(id)) else { return false };
            mute.value = name.to_string();
        }
        true
    });
    mutes.extend(topics.into_iter().map(|(value, since)| Mute {
        kind: MuteKind::Topic,
        value,
        since: Timestamp::from_score(since),
    }));
    let block =
        |(id, since): (UserId, Timestamp)| Some(Block { username: names.get(id)?.to_string(), since });
    let mut blocks: Vec<Block> = blocks.into_iter().filter_map(block).collect();
    mutes.sort_by(|one, other| other.since.cmp(&one.since).then_with(|| one.value.cmp(&other.value)));
    blocks.sort_by(|one, other| other.since.cmp(&one.since).then_with(|| one.username.cmp(&other.username)));
    Ok(Avoided { mutes, blocks })
}
