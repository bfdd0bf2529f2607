//! Lists for administrators who look into votes on sites that seem wrong.

use super::CastVote;
use super::cast_vote::votes_on;
use super::tally::whole;
use super::voting::is_banned;
use crate::values::{AUDIT_LINES, Day, Hostname, MAX_VOTER_VOTES, TOP_VOTERS, Timestamp, VoterId};
use crate::{Refusal, Result, Site, User, keys};
use tidings_keyspace::{COUNTER_LIMIT, Fetch, Order, read};

/// A voter, as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterDetails {
    /// The voter.
    pub id: VoterId,
    /// When it voted first.
    pub created_at: String,
    /// Whether it must not vote.
    pub is_banned: bool,
    /// The votes that it has cast, counted or not.
    pub count: u64,
}

/// A voter's details, for an administrator. Rounds: 1.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], [`Refusal::NoSuchVoter`], or the store's.
pub async fn voter_details(site: &Site, viewer: &User, voter: VoterId) -> Result<VoterDetails> {
    viewer.require_admin()?;
    let reads = (read::hash(keys::voter(voter)), read::sorted_count(keys::voter_votes(voter)));
    let (hash, count) = site.store.fetch(reads).await?;
    Refusal::NoSuchVoter.when(hash.is_empty())?;
    Ok(VoterDetails {
        id: voter,
        created_at: hash.get("created_at").unwrap_or_default().to_owned(),
        is_banned: is_banned(&hash),
        count,
    })
}

/// A vote of a voter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterVote {
    /// The site.
    pub host: Hostname,
    /// The vote.
    pub vote: CastVote,
}

/// A voter's votes from `from` on and before `to`, the latest first, for an
/// administrator; [`MAX_VOTER_VOTES`] at most. Rounds: 2.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], or the store's.
pub async fn voter_votes(
    site: &Site,
    viewer: &User,
    voter: VoterId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<VoterVote>> {
    viewer.require_admin()?;
    // Times are whole seconds: before `to` is until the second before it.
    let scores = (from.as_score(), to.as_score() - 1.0);
    let reads = read::sorted_by_score(keys::voter_votes(voter), Order::Descending, scores, MAX_VOTER_VOTES);
    let hosts = site.store.fetch(reads).await?;
    let hosts: Vec<Hostname> = hosts.iter().filter_map(|(host, _)| Hostname::parse(host).ok()).collect();
    let votes = site.store.fetch(votes_on(&hosts, voter).or_absent()).await?;
    let votes = hosts.into_iter().zip(votes);
    Ok(votes.filter_map(|(host, vote)| Some(VoterVote { host, vote: vote? })).collect())
}

/// A voter's activity on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyVoter {
    /// The voter.
    pub id: VoterId,
    /// Its votes of the day.
    pub count: i64,
    /// Their sum.
    pub sum: i64,
}

/// The voters with the most votes of a day, for an administrator;
/// [`TOP_VOTERS`] at most. Rounds: 2.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], or the store's.
pub async fn top_voters(site: &Site, viewer: &User, day: Day) -> Result<Vec<DailyVoter>> {
    viewer.require_admin()?;
    let most = super::tally::score(COUNTER_LIMIT);
    let counts =
        read::sorted_by_score(keys::day_voters_count(day), Order::Descending, (1.0, most), TOP_VOTERS);
    let counts = site.store.fetch(counts).await?;
    let reads = read::scores(keys::day_voters_sum(day), counts.iter().map(|(voter, _)| voter.as_str()));
    let sums = site.store.fetch(reads).await?;
    let voters = counts.into_iter().zip(sums).filter_map(|((voter, count), sum)| {
        Some(DailyVoter { id: voter.parse().ok()?, count: whole(Some(count)), sum: whole(sum) })
    });
    Ok(voters.collect())
}

/// A line of the administrators' log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// When, as `2023-02-02T09:36:03Z`.
    pub time: String,
    /// The administrator's name then.
    pub by: String,
    /// `ban`, `unban` or `settings`.
    pub what: String,
    /// The voter, or the changed settings.
    pub about: String,
}

/// The last actions of administrators on votes, the latest first; [`AUDIT_LINES`] at most.
/// Rounds: 1.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], or the store's.
pub async fn audit_lines(site: &Site, viewer: &User) -> Result<Vec<AuditLine>> {
    viewer.require_admin()?;
    let lines =
        site.store.fetch(read::sorted_range(keys::SITES_AUDIT, Order::Descending, 0, AUDIT_LINES)).await?;
    Ok(lines.iter().filter_map(|(line, _)| audit_line(line)).collect())
}

fn audit_line(json: &str) -> Option<AuditLine> {
    let line: serde_json::Value = serde_json::from_str(json).ok()?;
    let members = line.as_object()?;
    let text = |name: &str| members.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let known = ["time", "by", "what", "id"];
    let about: Vec<String> = members
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()))
        .map(|(name, value)| match value.as_str() {
            Some(text) => text.to_owned(),
            None => format!("{name} = {value}"),
        })
        .collect();
    Some(AuditLine { time: text("time"), by: text("by"), what: text("what"), about: about.join(", ") })
}
