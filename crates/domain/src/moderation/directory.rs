//! The directory of accounts, for moderators: finding people, and acting on several of them at once.
//!
//! The search index finds them by what applies to them ([`crate::texts`]). Here is what a row shows, and what can be
//! found without an index.

use super::batches::NewBatch;
use super::{ModerationRequest, demand_power, moderate};
use crate::accounts::people::{People, ids_of};
use crate::accounts::users::{DEACTIVATED, INVITED_BY};
use crate::accounts::{origins, trust};
use crate::flags::decided_flags;
use crate::texts::AccountTags;
use crate::values::{
    Action, DIRECTORY_ROWS, Day, Deed, ModerationId, Moment, NEIGHBOUR_DAYS, NetworkTag, Reason,
    RestrictionKind, Thing, Timestamp, TrustRules, UserId, named,
};
use crate::{Error, KeptAnswer, Refusal, Result, Role, Site, User, Visit, fields, keys};
use strum::{EnumString, IntoStaticStr, VariantArray};
use tidings_keyspace::{Fetch, Hash, Order, read};

/// Accounts that a command reads in one round.
const ACCOUNTS_AT_ONCE: usize = 500;

/// A state of an account that one can look for. The first one that is true is the state of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum AccountState {
    /// The person has left.
    Deactivated,
    /// Cannot log in.
    Banned,
    /// Can only read and vote.
    Silenced,
    /// Posts wait for approval.
    Held,
    /// A moderator or an administrator.
    Staff,
    /// Not trusted yet.
    New,
}

named!(AccountState);

impl AccountState {
    /// Whether it is true of an account; `None` stands for one that was deactivated.
    fn is_of(self, user: Option<&User>, rules: &TrustRules, now: Timestamp) -> bool {
        let Some(user) = user else { return self == Self::Deactivated };
        let restricted = |kind| user.restrictions.in_force(kind, now).is_some();
        match self {
            Self::Deactivated => false,
            Self::Banned => restricted(RestrictionKind::Ban),
            Self::Silenced => restricted(RestrictionKind::Silence),
            Self::Held => restricted(RestrictionKind::Hold),
            Self::Staff => user.given_role() > Role::Member,
            Self::New => trust::lacking(rules, now, user).is_some(),
        }
    }
}

/// The filters of a row besides a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowFilter {
    /// The state.
    pub state: Option<AccountState>,
    /// The inviter.
    pub invited_by: Option<UserId>,
    /// The account was made then or later.
    pub since: Option<Timestamp>,
}

impl RowFilter {
    fn admits(
        &self,
        rules: &TrustRules,
        now: Timestamp,
        (id, user, hash): (UserId, Option<&User>, &Hash),
    ) -> bool {
        let (inviter, created) = beginning_of(id, hash);
        self.state.is_none_or(|state| state.is_of(user, rules, now))
            && self.invited_by.is_none_or(|wanted| inviter == Some(wanted))
            && self.since.is_none_or(|since| created >= since)
    }
}

/// The inviter of a person, and when the account was made; also after a deactivation.
fn beginning_of(id: UserId, hash: &Hash) -> (Option<UserId>, Timestamp) {
    let inviter = fields::read(hash.get(INVITED_BY), || keys::user(id), INVITED_BY);
    let ctime = fields::read(hash.get("ctime"), || keys::user(id), "ctime");
    (inviter, ctime.map_or_else(Timestamp::default, Timestamp))
}

/// An account as moderators see it in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// Its number.
    pub id: UserId,
    /// The name; `None` after a deactivation.
    pub username: Option<String>,
    /// The e-mail address; only for administrators.
    pub email: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// The inviter; `None` also after a deactivation.
    pub invited_by: Option<String>,
    /// The karma.
    pub karma: i64,
    /// How many stories the person has posted.
    pub stories: u64,
    /// How many comments the person has written.
    pub comments: u64,
    /// How many of the person's last flags a moderator has found right.
    pub flags_upheld: u64,
    /// The state; `None` if nothing is to be said.
    pub state: Option<AccountState>,
    /// The day of the last visit.
    pub last_seen: Option<Day>,
    /// The tag of the network of the last post, if there was one in the last 30 days.
    pub network: Option<NetworkTag>,
}

/// Refuses a viewer who does not moderate, and returns the role. Rounds: 2, none if the viewer is known.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], [`Refusal::RoleNeedsTwoFactor`], or the store's.
pub async fn demand(visit: &mut Visit) -> Result<Role> {
    visit.demand_moderator().await?;
    Ok(visit.recognise().await?.map_or(Role::Member, User::role))
}

/// The numbers of the newest accounts below a number. Rounds: 1.
pub async fn newest(site: &Site, before: Option<UserId>, count: usize) -> Result<Vec<UserId>> {
    let last = site.store.fetch(fields::counter(keys::USERS_COUNT)).await?;
    let last = before.map_or(last, |UserId(before)| before.saturating_sub(1).min(last));
    Ok((1..=last).rev().take(count).map(UserId).collect())
}

/// The numbers of those who have posted from a network in the last 30 days, the newest accounts first. Rounds: 1.
pub async fn of_network(site: &Site, now: Timestamp, tag: &NetworkTag) -> Result<Vec<UserId>> {
    let days: Vec<Day> = Day::of(now).last(network_days(site)).collect();
    let mut people = origins::people_of(site, std::slice::from_ref(tag), &days).await?;
    people.reverse();
    Ok(people)
}

fn network_days(site: &Site) -> u64 {
    site.rules.moderation.keep_addresses_days.min(NEIGHBOUR_DAYS)
}

/// The rows of at most [`DIRECTORY_ROWS`] accounts, in their order, without those that the filter does not admit: an
/// index may be some seconds behind, and a restriction may have ended. Rounds: 2, and those of [`demand`].
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], or the store's.
pub async fn rows(visit: &mut Visit, ids: &[UserId], filter: RowFilter) -> Result<Vec<AccountRow>> {
    let shows_addresses = demand(visit).await? == Role::Administrator;
    rows_with(&visit.site_too(), visit.now(), ids, (filter, shows_addresses)).await
}

/// The same for a command, which an operator may always run, and with e-mail addresses.
pub async fn rows_for_command(site: &Site, now: Timestamp, ids: &[UserId]) -> Result<Vec<AccountRow>> {
    rows_with(site, now, ids, (RowFilter::default(), true)).await
}

async fn rows_with(
    site: &Site,
    now: Timestamp,
    ids: &[UserId],
    (filter, shows_addresses): (RowFilter, bool),
) -> Result<Vec<AccountRow>> {
    let secret = origins::network_secret(site).await?;
    let days: Vec<Day> = Day::of(now).last(network_days(site)).rev().collect();
    let row = |id: UserId| {
        let counts = [keys::user_posted(id), keys::user_comments(id)].map(read::sorted_count);
        let last = |day: &Day| read::sorted_range(keys::user_addresses(id, *day), Order::Descending, 0, 1);
        let addresses: Vec<_> = days.iter().map(last).collect();
        (counts, decided_flags(id), addresses, read::hash(keys::user(id)))
    };
    let ids = ids.iter().copied().take(DIRECTORY_ROWS);
    let rows = site.store.fetch(ids.clone().map(row).collect::<Vec<_>>()).await?;
    let mut found = Vec::new();
    for (id, ([stories, comments], (flags_upheld, _), used, hash)) in ids.zip(rows) {
        let address = used.iter().flatten().find_map(|(address, _)| address.parse().ok());
        let user = User::from_hash(&hash);
        if user.is_none() && hash.get(DEACTIVATED).is_none() {
            continue;
        }
        let is = |state: AccountState| state.is_of(user.as_ref(), &site.rules.trust, now);
        if !filter.admits(&site.rules.trust, now, (id, user.as_ref(), &hash)) {
            continue;
        }
        let (inviter, created) = beginning_of(id, &hash);
        let row = AccountRow {
            id,
            username: user.as_ref().map(|user| user.username.clone()),
            email: user.as_ref().filter(|_| shows_addresses).map(|user| user.email.clone()),
            created,
            invited_by: None,
            karma: user.as_ref().map_or(0, |user| user.karma),
            stories,
            comments,
            flags_upheld,
            state: AccountState::VARIANTS.iter().copied().find(|state| is(*state)),
            last_seen: user.as_ref().and_then(|user| user.seen_time).map(Day::of),
            network: address.map(|address| NetworkTag::of_address(address, secret)),
        };
        found.push((row, inviter));
    }
    let inviters = site.store.fetch(People::of(found.iter().filter_map(|(_, inviter)| *inviter))).await?;
    let named = found.into_iter().map(|(row, inviter)| {
        let invited_by = inviter.and_then(|inviter| Some(inviters.get(inviter)?.username.clone()));
        AccountRow { invited_by, ..row }
    });
    Ok(named.collect())
}

/// The numbers of all accounts that match, the newest first, with karma and last visit to sort by; for a command,
/// which has no index. `beginning` is as in [`AccountTags`]. Rounds: 1, and 1 for each 500 accounts.
pub async fn all_matching(
    site: &Site,
    now: Timestamp,
    (beginning, filter, among): (&str, RowFilter, Option<&[UserId]>),
) -> Result<Vec<(UserId, i64, Option<Timestamp>)>> {
    let beginning = beginning.to_lowercase();
    let beginnings = [format!("name:{beginning}"), format!("email:{beginning}")];
    let is_wanted = |user: Option<&User>| {
        let has = |tag: &String| beginnings.iter().any(|beginning| tag.starts_with(beginning));
        beginning.is_empty() || user.is_some_and(|user| AccountTags::of(user, now).tags.iter().any(has))
    };
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let ids = newest(site, before, ACCOUNTS_AT_ONCE).await?;
        let Some(last) = ids.last() else { return Ok(found) };
        before = Some(*last);
        let ids = ids.iter().copied().filter(|id| among.is_none_or(|among| among.contains(id)));
        let reads = ids.map(|id| read::hash(keys::user(id)).or_absent().map(move |hash| (id, hash)));
        for (id, hash) in site.store.fetch(reads.collect::<Vec<_>>()).await? {
            let user = User::from_hash(&hash);
            let is_there = user.is_some() || hash.get(DEACTIVATED).is_some();
            let known = (id, user.as_ref(), &hash);
            if is_there && filter.admits(&site.rules.trust, now, known) && is_wanted(user.as_ref()) {
                let (karma, seen) = user.map_or((0, None), |user| (user.karma, user.seen_time));
                found.push((id, karma, seen));
            }
        }
    }
}

/// The lines of what was done to several people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneForAll {
    /// The line of the log that stands for all: that of the batch, or the only one. `None` if nothing was to be done.
    pub line: Option<ModerationId>,
    /// The line of each deed.
    pub parts: Vec<ModerationId>,
}

impl KeptAnswer for DoneForAll {
    fn to_text(&self) -> String {
        (self.line, self.parts.clone()).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (line, parts) = KeptAnswer::from_text(text)?;
        Some(Self { line, parts })
    }
}

/// Does the same to several people: one line in the log, with a line for each deed. Before
/// the first deed it is sure that everybody is there and of no higher role. Rounds: 2, and those of [`moderate`] for
/// each deed.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::OwnThing`], [`Refusal::HigherRole`], those of [`moderate`], or the store's.
pub async fn act_on_all(
    visit: &mut Visit,
    now: Moment,
    (names, deeds, reason): (&[String], &[Deed], &Reason),
) -> Result<DoneForAll> {
    let site = visit.site_too();
    let moderator = visit.recognise().await?.ok_or(Refusal::ModeratorsOnly)?.clone();
    moderator.demand_may_moderate(now)?;
    let ids = ids_of(visit, names).await?;
    Refusal::NoSuchUser.when(names.iter().any(|name| !ids.contains_key(name)))?;
    let people = names.iter().filter_map(|name| ids.get(name)).map(|id| User::by_id(*id));
    for person in site.store.fetch(people.collect::<Vec<_>>()).await? {
        let person = person.ok_or(Refusal::NoSuchUser)?;
        demand_power(&moderator, &person)?;
    }
    let mut user = moderator.clone();
    let request = user.request.take();
    let mut parts = Vec::new();
    for name in names {
        for deed in deeds {
            let thing = Thing::User(name.as_str().into());
            // Each deed is noted by itself. So a repeat after a failure half-way does what was not done.
            user.request = request.as_ref().map(|all| all.part(&format!("{thing} {}", deed.action())));
            let asked = ModerationRequest::new(deed.clone(), thing, reason.clone());
            match user.once(&site, moderate(&site, now, &user, &asked)).await {
                Ok(line) => parts.push(line),
                // Such as a person who has posted nothing.
                Err(Error::Refused(Refusal::NothingToModerate(_))) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let [_, _, ..] = parts.as_slice() else { return Ok(DoneForAll { line: parts.first().copied(), parts }) };
    let first = deeds.first();
    let hours = match first {
        Some(Deed::Ban(hours) | Deed::Silence(hours)) => *hours,
        _ => None,
    };
    let batch = NewBatch {
        action: first.map_or(Action::Note, Deed::action),
        people: names.len() as u64,
        // A note is for moderators alone.
        reason: if matches!(first, Some(Deed::Note)) { "" } else { reason.as_str() },
        anonymous: false,
        until: hours.map(|hours| now.timestamp().after_hours(hours)),
        parts: &parts,
        undoes: None,
    };
    let done = |line| DoneForAll { line: Some(line), parts: parts.clone() };
    Ok(done(batch.write((&site, now), &moderator, done).await?))
}
