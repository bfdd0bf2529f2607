//! Voting on a site: casting, changing and withdrawing a vote.

use super::bans;
use super::cast_vote::{StoredVote, TracedVote, VoteOrigin, delete_vote, set_known, votes_on};
use super::network_quota::NetworkQuota;
use super::newcomers::{New, Newcomers};
use super::settings::StoredSettings;
use super::tally::{COUNT as COUNT_OF_VOTES, NetworkVotes, Tally};
use super::twice;
use super::{CastVote, Verdict};
use crate::repeats::NamedRequest;
use crate::values::{Day, Hostname, Moment, Network, RatedAction, Timestamp, VoterId, written};
use crate::{Actor, CountedAction, Decision, Error, Refusal, Result, Site, User, fields, keys, rates};
use std::net::IpAddr;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// A vote to cast.
#[derive(Debug, Clone)]
pub struct SiteVote {
    /// The site.
    pub host: Hostname,
    /// The vote; `None` withdraws an earlier one.
    pub verdict: Option<Verdict>,
}

/// Casts, changes or withdraws a vote on a site. Rounds: 2, one more for a vote that came
/// from another network before, also on the other name of the site (with `www.` or without), and one more when
/// the last vote on a site was withdrawn.
///
/// An unknown voter is created, and a host gets its first vote, unless the address or the whole
/// site has reached its limit (`newcomers`). Only votes on
/// hosts that are new to the voter count towards the daily maximum; withdrawing such a vote
/// on the same day does not count it any more.
///
/// One network may bring only so many votes on a host in 24 hours, voters with accounts apart. A
/// vote counts for the network that it is cast from. Changing it from there does not count
/// again, and withdrawing it makes room for another.
///
/// # Errors
/// In this order [`Refusal::TooManyRequests`], [`Refusal::VoterBanned`],
/// [`Refusal::VotingDisabled`], [`Refusal::TooManyVotes`],
/// [`Refusal::TooManyVotesFromNetwork`], [`Refusal::TooManyVoters`],
/// [`Refusal::TooManyVotersOfSite`], [`Refusal::TooManyHostsOfSite`]; or the store's.
pub async fn vote(
    site: &Site,
    now: Timestamp,
    address: IpAddr,
    voter: VoterId,
    ballot: &SiteVote,
) -> Result<()> {
    rates::spend(site, Moment::from_timestamp(now), RatedAction::Vote, address).await?;
    let action = Action { site, now, address, voter, ballot, user: None, request: None };
    action.run().await
}

/// The same for the voter of an account. The first vote creates the voter and takes one more
/// round. The first vote after a ban of the account first puts the earlier votes back, if that
/// has not been done yet.
///
/// # Errors
/// As [`vote`], and [`Refusal::VotesDiscounted`].
pub async fn vote_as(site: &Site, now: Timestamp, actor: Actor<'_>, ballot: &SiteVote) -> Result<()> {
    actor.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    actor.demand_votes_count(now)?;
    vote_of_account(site, now, (actor, actor.user.request.as_ref()), ballot).await
}

/// The same for a vote on a page, where both names of a site, with `www.` and without, are one site. The vote goes to the
/// name with more votes; a vote that is withdrawn is withdrawn from both. Rounds: 1 more, and 2 for the second name.
///
/// # Errors
/// As [`vote_as`].
pub async fn vote_on_page(site: &Site, now: Timestamp, actor: Actor<'_>, ballot: &SiteVote) -> Result<()> {
    let Some(names) = ballot.host.forms() else { return vote_as(site, now, actor, ballot).await };
    let counts = names.each_ref().map(|host| read::fields(keys::link(host), [COUNT_OF_VOTES]));
    let mine = actor.user.voter.map(|voter| votes_on(&names, voter));
    let (counts, mine) = site.store.fetch((counts, mine)).await?;
    let [bare, www] = names;
    let [of_bare, of_www] =
        counts.map(|[count]| count.and_then(|count| count.parse::<i64>().ok()).unwrap_or(0));
    let [my_bare, my_www] = mine.and_then(|votes| votes.try_into().ok()).unwrap_or([None; 2]);
    let of = |host| SiteVote { host, ..ballot.clone() };
    match (ballot.verdict, my_bare, my_www) {
        (None, Some(_), Some(_)) => {
            vote_as(site, now, actor, &of(bare)).await?;
            // The name of the request stands with the first.
            vote_of_account(site, now, (actor, None), &of(www)).await
        }
        (None, Some(_), None) => vote_as(site, now, actor, &of(bare)).await,
        (None, None, Some(_)) => vote_as(site, now, actor, &of(www)).await,
        _ => vote_as(site, now, actor, &of(if of_www > of_bare { www } else { bare })).await,
    }
}

async fn vote_of_account(
    site: &Site,
    now: Timestamp,
    (Actor { user, address }, request): (Actor<'_>, Option<&NamedRequest>),
    ballot: &SiteVote,
) -> Result<()> {
    let voter = match user.voter {
        Some(voter) => voter,
        None => bind_voter(site, user).await?,
    };
    let action = Action { site, now, address, voter, ballot, user: Some(user), request };
    let voted = action.run().await;
    if !matches!(voted, Err(Error::Refused(Refusal::VoterBanned))) {
        return voted;
    }
    // A user who gets here is not banned, and their votes count. If the voter is banned with the account,
    // that ban has just ended, and no worker has put its votes back yet.
    bans::set_account_ban(site, voter, false).await?;
    action.run().await
}

/// Gives an account its voter.
async fn bind_voter(site: &Site, user: &User) -> Result<VoterId> {
    let key = keys::user(user.id);
    let bound = site.act(&key, || async {
        let voter = VoterId::random()?;
        let mut batch = Batch::new();
        batch.key_present(&key);
        let unbound = batch.field_absent(&key, VOTER);
        batch.set_field(&key, VOTER, voter.to_string());
        Ok(Decision::commit(batch, Some(voter)).if_rejected_by(unbound, Ok(None)))
    });
    if let Some(voter) = bound.await? {
        return Ok(voter);
    }
    // Another request of the same user was first.
    let stored = site.store.fetch(read::field(&key, VOTER)).await?;
    fields::read(stored.as_deref(), || key.clone(), VOTER).ok_or(Error::Busy)
}

/// The field of a user that binds the account to its voter.
const VOTER: &str = "voter";

/// One vote and its context.
struct Action<'a> {
    site: &'a Site,
    now: Timestamp,
    address: IpAddr,
    voter: VoterId,
    ballot: &'a SiteVote,
    user: Option<&'a User>,
    request: Option<&'a NamedRequest>,
}

/// The stored values that a vote depends on.
struct Before {
    voter: Hash,
    is_disabled: Option<String>,
    maximum: u64,
    /// The vote on this host, as stored.
    stored: StoredVote,
    /// The same, read.
    vote: Option<TracedVote>,
    /// The vote on the other name of the site, with `www.` or without.
    other: Option<(Hostname, StoredVote)>,
    new: NewHosts,
    newcomers: Newcomers,
    /// Whether anyone has voted on this host.
    is_known_host: bool,
    /// The votes on this host from the network of the address, and from that of the vote.
    networks: NetworkVotes,
    /// The quota that the new vote counts against, or the one that a withdrawn vote frees;
    /// `None` if there is no limit.
    quota: Option<NetworkQuota>,
}

impl Before {
    fn vote_on_other(&self) -> Option<TracedVote> {
        self.other.as_ref().and_then(|(host, stored)| stored.read(host))
    }
}

impl Action<'_> {
    async fn run(&self) -> Result<()> {
        // Voters compete for their own votes, for the last new voter of their address, and
        // for the votes of their network.
        let home = self.network().to_string();
        let voted = self.site.act_counting(&home, || async {
            let before = self.read().await?;
            let decision = match self.decide(&before)? {
                Some((batch, undone)) => Decision::commit(batch, undone),
                None => Decision::Done(None),
            };
            decision.once(self.request, &())
        });
        let (undone, committed) = voted.await?;
        if let Some(undone) = undone
            && committed.field(&keys::link(&self.ballot.host), COUNT_OF_VOTES) == Some(0)
        {
            forget_host(self.site, &self.ballot.host, Some(Day::of(undone.time))).await?;
        }
        if self.ballot.verdict.is_some() {
            self.site.count(CountedAction::SiteVote);
        }
        Ok(())
    }

    const fn network(&self) -> Network {
        Network::of(self.address)
    }

    async fn read(&self) -> Result<Before> {
        let host = &self.ballot.host;
        // The voter is known only when both are read.
        let quotas = [false, true].map(|is_account| self.quota(self.network(), is_account));
        let of_voter = (read::hash(keys::voter(self.voter)), read::hash(keys::voter_new(self.voter)));
        let other = host.other_form();
        let of_host = (
            StoredVote::on(host, &[self.voter]),
            other.as_ref().map(|other| StoredVote::on(other, &[self.voter])),
            read::field(keys::link(host), COUNT_OF_VOTES),
            NetworkVotes::of(host, self.network()),
        );
        let newcomers = Newcomers::of(&self.site.rules, self.address);
        let reads = (StoredSettings::read(), of_voter, of_host, newcomers, quotas);
        let (settings, (voter, new), (mut votes, of_other, count, networks), newcomers, quotas) =
            self.site.store.fetch(reads).await?;
        let stored = votes.pop().unwrap_or_default();
        let mut before = Before {
            voter,
            maximum: settings.maximum(),
            is_disabled: settings.is_disabled,
            vote: stored.read(host),
            stored,
            other: other.zip(of_other.and_then(|mut votes| votes.pop())),
            new: NewHosts(new),
            newcomers,
            is_known_host: count.is_some_and(|count| count != "0"),
            networks,
            quota: None,
        };
        let [of_voters, of_accounts] = quotas;
        before.quota = if self.is_account(&before) { of_accounts } else { of_voters };
        self.read_networks_of_votes(&mut before).await?;
        Ok(before)
    }

    /// Reads what depends on the networks that the votes on this host and on the other name came from. Rounds: 1, none
    /// if they came from this one.
    async fn read_networks_of_votes(&self, before: &mut Before) -> Result<()> {
        let elsewhere = |vote: Option<TracedVote>| {
            vote.and_then(|vote| vote.network()).filter(|network| *network != self.network())
        };
        let (of_vote, of_other) = (elsewhere(before.vote), elsewhere(before.vote_on_other()));
        let networks = [of_vote, of_other].into_iter().flatten();
        let votes = networks.map(|network| NetworkVotes::of(&self.ballot.host, network)).collect::<Vec<_>>();
        let is_account = self.is_account(before);
        let withdrawn = of_vote.filter(|_| self.ballot.verdict.is_none());
        let quota = withdrawn.map(|network| self.quota(network, is_account));
        let (votes, quota) = self.site.store.fetch((votes, quota)).await?;
        votes.into_iter().for_each(|votes| before.networks.learn(votes));
        if let Some(quota) = quota.flatten() {
            before.quota = Some(quota);
        }
        Ok(())
    }

    /// The votes that one network may bring, by voters of this kind; 0 = any number.
    fn most_of_network(&self, is_account: bool) -> u64 {
        let limits = &self.site.rules.limits;
        if is_account { limits.site_account_votes_per_network } else { limits.site_votes_per_network }
    }

    fn quota(&self, network: Network, is_account: bool) -> impl Fetch<Value = Option<NetworkQuota>> + use<> {
        let is_limited = self.most_of_network(is_account) > 0;
        is_limited.then(|| NetworkQuota::of((network, is_account), &self.ballot.host, self.now))
    }

    /// The batch, and the vote that it withdraws; `None` if there is nothing to do.
    fn decide(&self, before: &Before) -> Result<Option<(Batch, Option<CastVote>)>> {
        let today = Day::of(self.now);
        let old = before.vote;
        let new = self.ballot.verdict.map(|verdict| self.new_vote(before, verdict));
        let is_new_host = old.is_none() && new.is_some();
        Refusal::VoterBanned.when(is_banned(&before.voter))?;
        Refusal::VotingDisabled.when(super::settings::is_true(before.is_disabled.as_deref()))?;
        if is_new_host && before.new.count_on(today) >= before.maximum {
            return Err(Refusal::TooManyVotes { maximum: before.maximum }.into());
        }
        if old == new {
            return Ok(None);
        }
        let mut batch = Batch::new();
        self.check_unchanged(&mut batch, before);
        self.count_for_network(&mut batch, before)?;
        let new_things = New {
            voter: before.voter.is_empty(),
            host: new.is_some() && !before.is_known_host,
            is_account: self.is_account(before),
        };
        before.newcomers.write(&mut batch, new_things)?;
        if new_things.voter {
            self.create_voter(&mut batch);
        }
        let mut tally = Tally::default();
        if let Some(((other, _), vote)) = before.other.as_ref().zip(before.vote_on_other()) {
            tally.keep(other, self.voter, vote);
        }
        if let Some(old) = old {
            tally.undo(&self.ballot.host, self.voter, old);
        }
        if let Some(new) = new {
            tally.add(&self.ballot.host, self.voter, new);
        }
        tally.write(&mut batch, &before.networks);
        match new {
            Some(vote) => vote.write(&mut batch, &self.ballot.host, self.voter),
            None => delete_vote(&mut batch, &self.ballot.host, self.voter),
        }
        if is_new_host {
            before.new.add(&mut batch, self.voter, today, &self.ballot.host);
        } else if new.is_none() {
            before.new.free(&mut batch, self.voter, &self.ballot.host);
        }
        Ok(Some((batch, old.filter(|_| new.is_none()).map(|old| old.vote))))
    }

    fn new_vote(&self, before: &Before, verdict: Verdict) -> TracedVote {
        let origin = VoteOrigin { network: self.network(), is_account: self.is_account(before) };
        TracedVote { vote: CastVote { verdict, time: self.now }, origin: Some(origin) }
    }

    fn is_account(&self, before: &Before) -> bool {
        self.user.is_some() || before.voter.get(USER_ID).is_some()
    }

    /// Counts a vote that is new to its network, and frees the place of one that is withdrawn.
    fn count_for_network(&self, batch: &mut Batch, before: &Before) -> Result<(), Refusal> {
        let Some(quota) = &before.quota else { return Ok(()) };
        let maximum = self.most_of_network(self.is_account(before));
        if self.ballot.verdict.is_none() {
            quota.free(batch, self.voter, self.now);
        } else if before.vote.and_then(|vote| vote.network()) != Some(self.network()) {
            Refusal::TooManyVotesFromNetwork { maximum }.when(quota.is_used_up(self.voter, maximum))?;
            quota.add(batch, self.voter, self.now);
        }
        Ok(())
    }

    /// Checks that what the decision depends on has not changed.
    fn check_unchanged(&self, batch: &mut Batch, before: &Before) {
        before.stored.check_unchanged(batch, &self.ballot.host, self.voter);
        if let Some((other, stored)) = &before.other {
            stored.check_unchanged(batch, other, self.voter);
        }
        batch.field_unchanged(keys::SETTINGS, super::settings::DISABLED, before.is_disabled.as_deref());
        let voter = keys::voter(self.voter);
        if before.voter.is_empty() {
            batch.key_absent(voter);
        } else {
            batch.field_unchanged(&voter, IS_BANNED, before.voter.get(IS_BANNED));
        }
    }

    fn create_voter(&self, batch: &mut Batch) {
        write_voter(batch, self.voter, self.now);
        if let Some(user) = self.user {
            batch.set_field(keys::voter(self.voter), USER_ID, user.id.to_string());
        }
    }
}

/// Removes a host without votes, so that voting and withdrawing leaves nothing behind. `day` is that
/// of the last vote, if there was one.
/// Nothing depends on it: totals of 0 are not shown anywhere. Rounds: 1.
pub(super) async fn forget_host(site: &Site, host: &Hostname, day: Option<Day>) -> Result<()> {
    let mut batch = Batch::new();
    batch.field_equals(keys::link(host), COUNT_OF_VOTES, "0");
    batch.delete(keys::link(host));
    twice::forget(&mut batch, host);
    set_known(&mut batch, host, false);
    let of_day = day.into_iter().flat_map(|day| [keys::day_links_sum(day), keys::day_links_count(day)]);
    for key in [keys::LINKS_SUM.to_owned(), keys::LINKS_COUNT.to_owned()].into_iter().chain(of_day) {
        batch.sorted_remove(key, host.as_str());
    }
    // If someone has voted on the host meanwhile, it stays.
    site.apply(batch).await.map(drop)
}

/// The field of a voter that says whether it is banned.
pub(super) const IS_BANNED: &str = "is_banned";

/// The field of a voter with the account that it belongs to.
const USER_ID: &str = "user_id";

/// Whether a voter is banned.
pub(super) fn is_banned(voter: &Hash) -> bool {
    super::settings::is_true(voter.get(IS_BANNED))
}

/// The name of a voter's keys in the log: the keys hold the UUID, which is a secret.
pub(super) fn a_voter() -> String {
    "a voter".to_owned()
}

/// Adds a new voter to a batch.
pub(super) fn write_voter(batch: &mut Batch, voter: VoterId, now: Timestamp) {
    batch.set_fields(keys::voter(voter), [("created_at", written(now).as_str()), (IS_BANNED, "0")]);
}

/// The hosts that a voter voted on for the first time, on the last day with such a vote. The
/// daily maximum counts them.
struct NewHosts(Hash);

/// The fields beside the hosts, which all have a dot in their names.
const DAY: &str = "day";
const COUNT: &str = "count";

impl NewHosts {
    fn is_of(&self, day: Day) -> bool {
        self.0.get(DAY).is_some_and(|stored| stored == day.to_string())
    }

    fn count(&self) -> u64 {
        fields::read(self.0.get(COUNT), a_voter, COUNT).unwrap_or(0)
    }

    fn count_on(&self, day: Day) -> u64 {
        if self.is_of(day) { self.count() } else { 0 }
    }

    /// Counts a host, unless another request has counted one meanwhile.
    fn add(&self, batch: &mut Batch, voter: VoterId, today: Day, host: &Hostname) {
        let key = keys::voter_new(voter);
        batch.field_unchanged(&key, DAY, self.0.get(DAY));
        batch.field_unchanged(&key, COUNT, self.0.get(COUNT));
        if !self.is_of(today) {
            batch.delete(&key);
            batch.set_field(&key, DAY, today.to_string());
        }
        let count = self.count_on(today) + 1;
        batch.set_fields(&key, [(COUNT, count.to_string().as_str()), (host.as_str(), "1")]);
    }

    /// No longer counts a host, if it was counted.
    fn free(&self, batch: &mut Batch, voter: VoterId, host: &Hostname) {
        if self.0.get(host.as_str()).is_none() {
            return;
        }
        let key = keys::voter_new(voter);
        batch.field_unchanged(&key, DAY, self.0.get(DAY));
        batch.field_unchanged(&key, COUNT, self.0.get(COUNT));
        match self.count() {
            0 | 1 => batch.delete(key),
            count => {
                batch.set_field(&key, COUNT, (count - 1).to_string());
                batch.delete_field(key, host.as_str());
            }
        }
    }
}
