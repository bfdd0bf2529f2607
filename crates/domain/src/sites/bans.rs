//! Banning a voter, and lifting a ban.
//!
//! A ban refuses further votes at once, and then takes the voter's votes out of all sums
//! and counts, some at a time. Each batch also stores how many votes are out (`ban_moved`,
//! counted from the voter's earliest vote) and the direction (`ban_moving`). Meanwhile
//! these votes cannot change, so their order is stable; once they may, the next ban has another
//! number (`ban_number`), and a step of an earlier one is refused. After a crash, or in another
//! request, the ban continues exactly there. Lifting a ban works the same way back; the
//! voter may vote again when all votes count again.
//!
//! A voter is banned by an administrator of the sites, or with its account, or both
//! (`ban_cause`). Each of the two ends by itself; the votes come back with the last.

use super::cast_vote::{StoredVote, TracedVote, set_known};
use super::settings::note;
use super::tally::{NetworkVotes, Tally};
use super::voting::{IS_BANNED, a_voter, is_banned};
use crate::values::{BAN_CHUNK, Hostname, Timestamp, VoterId, named};
use crate::{AUDIT, Applied, Decision, Error, NothingToDo, Refusal, Result, Site, User, fields, keys};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr};
use tidings_keyspace::{Batch, Hash, Order, read};

/// The direction in which the votes of a voter move: out of the totals, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum BanDirection {
    Out,
    Back,
}

named!(BanDirection);

impl BanDirection {
    /// That of a voter, if votes are being moved.
    fn of(voter: &Hash) -> Option<Self> {
        voter.get(MOVING)?.parse().ok()
    }
}

/// Why a voter is banned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BanCause {
    /// An administrator has banned the voter.
    Sites,
    /// Its account is banned.
    Account,
}

/// The causes of a ban. Without any, there is none, or it is being lifted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Causes {
    sites: bool,
    account: bool,
}

impl Causes {
    /// Those of a voter. A ban without the field is from an administrator.
    fn of(voter: &Hash) -> Self {
        let is_lifted = BanDirection::of(voter) == Some(BanDirection::Back);
        if !is_banned(voter) || is_lifted {
            return Self::default();
        }
        match voter.get(CAUSE) {
            None => Self { sites: true, account: false },
            Some(cause) => Self { sites: cause != WITH_ACCOUNT, account: true },
        }
    }

    const fn with(self, cause: BanCause, is_cause: bool) -> Self {
        match cause {
            BanCause::Sites => Self { sites: is_cause, ..self },
            BanCause::Account => Self { account: is_cause, ..self },
        }
    }

    const fn stored(self) -> Option<&'static str> {
        match self {
            Self { account: false, .. } => None,
            Self { sites: false, .. } => Some(WITH_ACCOUNT),
            Self { sites: true, .. } => Some(WITH_ACCOUNT_AND_ALONE),
        }
    }

    const fn direction(self) -> BanDirection {
        if self.sites || self.account { BanDirection::Out } else { BanDirection::Back }
    }
}

/// The field of a voter that says why it is banned, if its account is.
const CAUSE: &str = "ban_cause";
const WITH_ACCOUNT: &str = "account";
const WITH_ACCOUNT_AND_ALONE: &str = "both";

/// The fields of a voter with the progress of a ban.
const MOVING: &str = "ban_moving";
const MOVED: &str = "ban_moved";
/// The field of a voter that counts how often its votes began to move.
const NUMBER: &str = "ban_number";
/// The fields of a voter that say whether its votes count: whether it is banned, whether votes are
/// being removed or restored, and how many are removed.
pub(crate) const BAN_FIELDS: [&str; 3] = [IS_BANNED, MOVING, MOVED];

/// Bans a voter: refuses further votes, and removes existing votes from the totals.
/// Rounds: 2, and 5 for each hundred votes.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], [`Refusal::NoSuchVoter`], or the store's.
/// After an error of the store [`finish_bans`], or the same call, goes on.
pub async fn ban(site: &Site, now: Timestamp, viewer: &User, voter: VoterId) -> Result<()> {
    set_ban(site, now, viewer, voter, true).await
}

/// Lifts a ban: the votes count again, and the voter may vote, unless its account is banned. Rounds as [`ban`].
///
/// # Errors
/// As [`ban`], and [`Refusal::NothingToModerate`] for a voter that is banned only with its account.
pub async fn unban(site: &Site, now: Timestamp, viewer: &User, voter: VoterId) -> Result<()> {
    set_ban(site, now, viewer, voter, false).await
}

async fn set_ban(site: &Site, now: Timestamp, by: &User, voter: VoterId, is_banned: bool) -> Result<()> {
    by.require_admin()?;
    begin(site, Some((now, by)), voter, (BanCause::Sites, is_banned)).await?;
    let done = if is_banned { "banned a voter on sites" } else { "lifted the ban of a voter on sites" };
    tracing::info!(target: AUDIT, by = by.username, %voter, "{done}");
    finish(site, voter).await
}

/// Bans the voter of an account with the account, or ends that. A ban by an administrator of
/// the sites stays. Rounds as [`ban`].
pub(crate) async fn set_account_ban(site: &Site, voter: VoterId, is_banned: bool) -> Result<()> {
    match begin(site, None, voter, (BanCause::Account, is_banned)).await {
        Ok(()) | Err(Error::Refused(Refusal::NoSuchVoter)) => finish(site, voter).await,
        Err(error) => Err(error),
    }
}

/// Finishes all bans and lifted bans that were interrupted. Returns their number.
pub async fn finish_bans(site: &Site) -> Result<usize> {
    let unfinished = site.store.fetch(read::members(keys::SITES_UNFINISHED)).await?;
    let voters: Vec<VoterId> = unfinished.iter().filter_map(|voter| voter.parse().ok()).collect();
    for voter in &voters {
        finish(site, *voter).await?;
    }
    Ok(voters.len())
}

/// Adds a cause of a ban or takes it away, and sets the direction if that changes whether the
/// votes count. An administrator's action is noted.
async fn begin(
    site: &Site,
    by: Option<(Timestamp, &User)>,
    voter: VoterId,
    (cause, is_cause): (BanCause, bool),
) -> Result<()> {
    let key = keys::voter(voter);
    site.act(&key, || async {
        let (hash, count) =
            site.store.fetch((read::hash(&key), read::sorted_count(keys::voter_votes(voter)))).await?;
        Refusal::NoSuchVoter.when(hash.is_empty())?;
        let old = Causes::of(&hash);
        if cause == BanCause::Sites && !is_cause && old == (Causes { sites: false, account: true }) {
            return Err(Refusal::NothingToModerate(NothingToDo::BannedWithAccount).into());
        }
        let new = old.with(cause, is_cause);
        let direction = new.direction();
        let moving = BanDirection::of(&hash);
        let is_done = moving.is_none()
            && match direction {
                BanDirection::Out => is_banned(&hash) && moved(&hash) >= count,
                BanDirection::Back => !is_banned(&hash) && moved(&hash) == 0,
            };
        let moves = !is_done && moving != Some(direction);
        if new == old && !moves {
            return Ok(Decision::Done(()));
        }
        let mut batch = Batch::new();
        for field in [IS_BANNED, MOVING, MOVED, CAUSE] {
            batch.field_unchanged(&key, field, hash.get(field));
        }
        match new.stored() {
            Some(cause) => batch.set_field(&key, CAUSE, cause),
            None => batch.delete_field(&key, CAUSE),
        }
        if moves {
            let moved = moved(&hash).to_string();
            let fields = [(IS_BANNED, "1"), (MOVING, direction.name()), (MOVED, moved.as_str())];
            batch.set_fields(&key, fields);
            batch.increment_field(&key, NUMBER, 1);
            batch.add_member(keys::SITES_UNFINISHED, voter.to_string());
        }
        if let Some((now, viewer)) = by {
            let what = if is_cause { "ban" } else { "unban" };
            note(&mut batch, now, viewer, what, [("user_id", Value::from(voter.to_string()))].into_iter())?;
        }
        Ok(Decision::commit(batch, ()))
    })
    .await
}

fn moved(voter: &Hash) -> u64 {
    fields::read(voter.get(MOVED), a_voter, MOVED).unwrap_or(0)
}

/// Moves votes until none is left to move. Another request may do the same.
async fn finish(site: &Site, voter: VoterId) -> Result<()> {
    while step(site, voter).await? {}
    Ok(())
}

/// Moves the next votes. Returns whether there may be more.
async fn step(site: &Site, voter: VoterId) -> Result<bool> {
    let Some((batch, is_end)) = next_step(site, voter).await? else { return Ok(false) };
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(!is_end),
        // Another request did this step or changed the direction: continue from there.
        Applied::No(_) => Ok(true),
    }
}

/// The batch that moves the next votes, and whether it is the last; `None` if no votes are to be moved.
async fn next_step(site: &Site, voter: VoterId) -> Result<Option<(Batch, bool)>> {
    let key = keys::voter(voter);
    let hash = site.store.fetch(read::hash(&key)).await?;
    let Some(direction) = BanDirection::of(&hash) else { return Ok(None) };
    let moved = moved(&hash);
    let (offset, count) = match direction {
        BanDirection::Out => (moved, BAN_CHUNK),
        BanDirection::Back => (moved.saturating_sub(BAN_CHUNK), moved.min(BAN_CHUNK)),
    };
    let ReadVotes { passed, votes, kept } = read_votes(site, voter, offset, count).await?;
    let mut batch = Batch::new();
    batch.field_equals(&key, MOVING, direction.name());
    batch.field_unchanged(&key, MOVED, hash.get(MOVED));
    batch.field_unchanged(&key, NUMBER, hash.get(NUMBER));
    let mut tally = Tally::default();
    kept.iter().for_each(|(host, vote)| tally.keep(host, voter, *vote));
    for (host, vote) in &votes {
        match direction {
            BanDirection::Out => tally.undo(host, voter, *vote),
            BanDirection::Back => {
                tally.add(host, voter, *vote);
                set_known(&mut batch, host, true);
            }
        }
    }
    let networks = tally.read_networks(site, NetworkVotes::default()).await?;
    tally.write(&mut batch, &networks);
    match direction {
        BanDirection::Out => batch.set_field(&key, MOVED, (moved + passed).to_string()),
        BanDirection::Back => batch.set_field(&key, MOVED, offset.to_string()),
    }
    let is_end = match direction {
        BanDirection::Out => passed < BAN_CHUNK,
        BanDirection::Back => offset == 0,
    };
    if is_end {
        batch.delete_field(&key, MOVING);
        batch.remove_member(keys::SITES_UNFINISHED, voter.to_string());
        if direction == BanDirection::Back {
            batch.delete_field(&key, MOVED);
            batch.set_field(&key, IS_BANNED, "0");
        }
    }
    Ok(Some((batch, is_end)))
}

/// Some votes of a voter, the earliest first.
#[derive(Default)]
struct ReadVotes {
    /// Their number.
    passed: u64,
    /// Those that can be read.
    votes: Vec<(Hostname, TracedVote)>,
    /// Later votes on the other names of these sites, with `www.` or without. They count before the step and after
    /// it, earlier ones do not.
    kept: Vec<(Hostname, TracedVote)>,
}

async fn read_votes(site: &Site, voter: VoterId, offset: u64, count: u64) -> Result<ReadVotes> {
    if count == 0 {
        return Ok(ReadVotes::default());
    }
    let reads = read::sorted_range(keys::voter_votes(voter), Order::Ascending, offset, count);
    let hosts = site.store.fetch(reads).await?;
    let passed = u64::try_from(hosts.len()).unwrap_or(u64::MAX);
    let last = hosts.last().cloned();
    let hosts: Vec<Hostname> = hosts.iter().filter_map(|(host, _)| Hostname::parse(host).ok()).collect();
    let others = hosts.iter().filter_map(Hostname::other_form).filter(|other| !hosts.contains(other));
    let others: Vec<Hostname> = others.collect();
    let on = |hosts: &[Hostname]| hosts.iter().map(|host| StoredVote::on(host, &[voter])).collect::<Vec<_>>();
    let (votes, kept) = site.store.fetch((on(&hosts), on(&others))).await?;
    let read = |(host, votes): (Hostname, Vec<StoredVote>)| {
        let vote = votes.first()?.read(&host)?;
        Some((host, vote))
    };
    let is_later = |(host, vote): &(Hostname, TracedVote)| {
        let place = (vote.vote.time.as_score(), host.as_str());
        last.as_ref().is_some_and(|(host, time)| place > (*time, host.as_str()))
    };
    Ok(ReadVotes {
        passed,
        votes: hosts.into_iter().zip(votes).filter_map(read).collect(),
        kept: others.into_iter().zip(kept).filter_map(read).filter(is_later).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Visit;
    use crate::sites::{self, SiteVote, Verdict, VoteTotals};
    use crate::values::Rules;
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1_800_000_000);

    /// The first 100 of 150 sites also have votes on their names with `www.`, in another step of a ban.
    fn host(number: u64) -> Hostname {
        let name = match number.checked_sub(150) {
            None => format!("site{number}.example"),
            Some(number) => format!("www.site{number}.example"),
        };
        Hostname::parse(&name).unwrap()
    }

    fn administrator() -> User {
        let fields = [("id", "1"), ("username", "alice"), ("flags", "a")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        User::from_hash(&Hash(fields.to_vec())).unwrap().acting(&Rules::default(), NOW)
    }

    /// A site with a voter of 250 votes: more than two steps take.
    async fn site_with_votes() -> (Arc<Site>, VoterId) {
        let site = Arc::new(Site::in_memory().await);
        let change = sites::SettingsChange { maximum: Some(1_000), ..Default::default() };
        sites::change_settings(&site, NOW, &administrator(), change).await.unwrap();
        let voter = VoterId::from_bytes([7; 16]);
        for number in 0..250 {
            let ballot = SiteVote { host: host(number), verdict: Some(Verdict::Good) };
            let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
            sites::vote(&site, Timestamp(NOW.0 + number), address, voter, &ballot).await.unwrap();
        }
        (site, voter)
    }

    /// How many of the voter's votes count: on hosts, and on sites, where votes on both names are one.
    async fn counted_twice(site: &Arc<Site>) -> (usize, i64) {
        let sites: Vec<_> = (0..150).map(|number| sites::SiteVotes::of_site(&host(number))).collect();
        let of_sites = site.store.fetch(sites).await.unwrap().into_iter().map(|votes| votes.totals.count);
        let of_sites = of_sites.inspect(|count| assert!((0..=1).contains(count), "{count}")).sum();
        (counted(site).await, of_sites)
    }

    async fn counted(site: &Arc<Site>) -> usize {
        let mut visit = Visit::new(site.clone(), NOW, None);
        let mut counted = 0;
        for number in 0..250 {
            let totals = sites::history(&mut visit, &host(number), 1).await.unwrap().votes.totals;
            counted += usize::from(totals == VoteTotals { sum: 1, count: 1 });
        }
        counted
    }

    /// The same store, as after a restart.
    fn restarted(site: &Site) -> Arc<Site> {
        Arc::new(Site::on(site.store.clone()))
    }

    #[tokio::test]
    async fn an_interrupted_ban_continues_where_it_stopped() {
        let (site, voter) = site_with_votes().await;
        begin(&site, Some((NOW, &administrator())), voter, (BanCause::Sites, true)).await.unwrap();
        assert!(step(&site, voter).await.unwrap());
        assert_eq!(counted_twice(&site).await, (150, 150));
        let site = restarted(&site);
        assert_eq!(finish_bans(&site).await.unwrap(), 1);
        assert_eq!(counted_twice(&site).await, (0, 0));
        assert_eq!(finish_bans(&site).await.unwrap(), 0);

        begin(&site, Some((NOW, &administrator())), voter, (BanCause::Sites, false)).await.unwrap();
        assert!(step(&site, voter).await.unwrap());
        assert_eq!(counted_twice(&site).await, (100, 100));
        let site = restarted(&site);
        assert_eq!(finish_bans(&site).await.unwrap(), 1);
        assert_eq!(counted_twice(&site).await, (250, 150));
    }

    #[tokio::test]
    async fn a_ban_that_is_lifted_half_way_is_undone_from_there() {
        let (site, voter) = site_with_votes().await;
        begin(&site, Some((NOW, &administrator())), voter, (BanCause::Sites, true)).await.unwrap();
        step(&site, voter).await.unwrap();
        step(&site, voter).await.unwrap();
        assert_eq!(counted_twice(&site).await, (50, 50));
        unban(&site, NOW, &administrator(), voter).await.unwrap();
        assert_eq!(counted_twice(&site).await, (250, 150));
        ban(&site, NOW, &administrator(), voter).await.unwrap();
        assert_eq!(counted(&site).await, 0);
    }

    #[tokio::test]
    async fn a_step_of_an_earlier_ban_is_refused() {
        let (site, voter) = site_with_votes().await;
        begin(&site, Some((NOW, &administrator())), voter, (BanCause::Sites, true)).await.unwrap();
        let (late, _) = next_step(&site, voter).await.unwrap().unwrap();
        finish(&site, voter).await.unwrap();
        unban(&site, NOW, &administrator(), voter).await.unwrap();
        let ballot = SiteVote { host: host(0), verdict: Some(Verdict::Bad) };
        sites::vote(&site, Timestamp(NOW.0 + 300), IpAddr::V4(Ipv4Addr::LOCALHOST), voter, &ballot)
            .await
            .unwrap();
        begin(&site, Some((NOW, &administrator())), voter, (BanCause::Sites, true)).await.unwrap();
        assert!(matches!(site.apply(late).await.unwrap(), Applied::No(_)));
    }

    #[tokio::test]
    async fn a_ban_with_the_account_and_one_by_an_administrator_end_apart() {
        let (site, voter) = site_with_votes().await;
        set_account_ban(&site, voter, true).await.unwrap();
        assert_eq!(counted(&site).await, 0);
        let refused = unban(&site, NOW, &administrator(), voter).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::NothingToModerate(_)))));
        ban(&site, NOW, &administrator(), voter).await.unwrap();
        set_account_ban(&site, voter, false).await.unwrap();
        assert_eq!(counted(&site).await, 0);
        set_account_ban(&site, voter, true).await.unwrap();
        unban(&site, NOW, &administrator(), voter).await.unwrap();
        assert_eq!(counted(&site).await, 0);
        set_account_ban(&site, voter, false).await.unwrap();
        assert_eq!(counted(&site).await, 250);
        // A voter that has never voted has nothing to lose.
        set_account_ban(&site, VoterId::from_bytes([8; 16]), true).await.unwrap();
    }

    #[tokio::test]
    async fn an_interrupted_ban_with_the_account_is_lifted_from_where_it_is() {
        let (site, voter) = site_with_votes().await;
        begin(&site, None, voter, (BanCause::Account, true)).await.unwrap();
        step(&site, voter).await.unwrap();
        set_account_ban(&site, voter, false).await.unwrap();
        assert_eq!(counted(&site).await, 250);
    }
}
