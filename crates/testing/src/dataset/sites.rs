//! Votes on web sites, and all that they add up to.

use super::plan::{AGE_SECONDS, Plan, Size};
use super::random::{Random, shares};
use super::words;
use super::writer::{Writer, hash};
use std::collections::{BTreeMap, HashSet};
use tidings_domain::keys;
use tidings_domain::sites::{CastVote, Verdict, VoteTotals};
use tidings_domain::values::day::written;
use tidings_domain::values::{Day, Hostname, Timestamp, UserId, VoterId};
use tidings_keyspace::Value;

/// One user out of so many votes on sites with the account.
const USERS_WITH_VOTER: u64 = 5;

/// The name of a host; the first are those that most news link to.
pub fn host(number: u64) -> String {
    let mut random = Random::of("host", number);
    let domain = ["com", "org", "net", "io", "example"][random.below(5) as usize];
    let www = if random.chance(30) { "www." } else { "" };
    format!("{www}{}{number}.{domain}", words::noun(&mut random))
}

/// The name of the host's site: pages of others redirect to it.
pub fn site(number: u64) -> String {
    host(number).trim_start_matches("www.").to_owned()
}

fn voter(number: u64) -> VoterId {
    let mut random = Random::of("voter", number);
    let mut bytes = [0; 16];
    for half in bytes.chunks_mut(8) {
        half.copy_from_slice(&random.next_number().to_le_bytes());
    }
    VoterId::from_bytes(bytes)
}

/// The voter that an account has, if it has one.
pub fn voter_of_user(size: &Size, user: u64) -> Option<VoterId> {
    (user <= size.users / USERS_WITH_VOTER).then(|| voter(user))
}

/// Adds a vote to what there is.
fn add(totals: &mut VoteTotals, vote: CastVote) {
    totals.sum += vote.verdict.value();
    totals.count += 1;
}

/// Totals by day and by voter or site.
type Figures<Key> = BTreeMap<Day, BTreeMap<Key, VoteTotals>>;

pub async fn write(writer: &mut Writer<'_>, plan: &Plan) {
    let size = &plan.size;
    let most = size.voters() * 8 / 10;
    let votes = shares(size.site_votes, size.sites, 30.0, 0.8, [1, most]);
    let mut overall: BTreeMap<String, VoteTotals> = BTreeMap::new();
    let mut hosts_of_days = Figures::<String>::new();
    let mut voters_of_days = Figures::<String>::new();
    let mut of_voters: BTreeMap<u64, Vec<(String, Timestamp)>> = BTreeMap::new();
    let mut shelves: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, votes) in (0..size.sites).zip(votes) {
        let name = Hostname::parse(&host(number)).unwrap();
        let mut totals = VoteTotals::default();
        let mut stored = Vec::new();
        for (by, vote) in votes_on(plan, number, votes) {
            let (day, id) = (Day::of(vote.time), voter(by).to_string());
            add(&mut totals, vote);
            add(hosts_of_days.entry(day).or_default().entry(name.to_string()).or_default(), vote);
            add(voters_of_days.entry(day).or_default().entry(id.clone()).or_default(), vote);
            of_voters.entry(by).or_default().push((name.to_string(), vote.time));
            stored.push((id, vote.to_string()));
        }
        let fields = [("sum_of_votes", totals.sum.to_string()), ("count_of_votes", totals.count.to_string())];
        writer.write(keys::link(&name), hash(fields)).await;
        writer.write(keys::link_votes(&name), Value::Hash(stored)).await;
        shelves.entry(keys::prefix(&name.hash())).or_default().push(name.to_string());
        overall.insert(name.to_string(), totals);
    }
    write_figures(writer, [keys::LINKS_SUM.to_owned(), keys::LINKS_COUNT.to_owned()], overall).await;
    for (day, figures) in hosts_of_days {
        write_figures(writer, [keys::day_links_sum(day), keys::day_links_count(day)], figures).await;
    }
    for (day, figures) in voters_of_days {
        write_figures(writer, [keys::day_voters_sum(day), keys::day_voters_count(day)], figures).await;
    }
    for (shelf, hosts) in shelves {
        writer.write(shelf, Value::Set(hosts)).await;
    }
    write_voters(writer, plan, of_voters).await;
}

/// The votes on one site, with their voters.
fn votes_on(plan: &Plan, site: u64, count: u64) -> Vec<(u64, CastVote)> {
    let mut random = Random::of("site votes", site);
    // Most sites are liked, some are not, and about some people differ.
    let liked_by = [90, 90, 90, 85, 70, 50, 20][random.below(7) as usize];
    let mut seen = HashSet::new();
    let mut votes = Vec::new();
    while (votes.len() as u64) < count {
        let by = 1 + random.below(plan.size.voters());
        if !seen.insert(by) {
            continue;
        }
        let verdict = if random.chance(liked_by) { Verdict::Good } else { Verdict::Bad };
        let time = Timestamp(plan.now.0 - 1 - random.below(AGE_SECONDS));
        votes.push((by, CastVote { verdict, time }));
    }
    votes
}

async fn write_figures(writer: &mut Writer<'_>, keys: [String; 2], figures: BTreeMap<String, VoteTotals>) {
    let [sum, count] = keys;
    let sums = figures.iter().map(|(member, totals)| (member.clone(), totals.sum as f64));
    writer.write(sum, Value::SortedSet(sums.collect())).await;
    let counts = figures.iter().map(|(member, totals)| (member.clone(), totals.count as f64));
    writer.write(count, Value::SortedSet(counts.collect())).await;
}

async fn write_voters(
    writer: &mut Writer<'_>,
    plan: &Plan,
    mut of_voters: BTreeMap<u64, Vec<(String, Timestamp)>>,
) {
    for number in 1..=plan.size.voters() {
        let votes = of_voters.remove(&number).unwrap_or_default();
        let first = votes.iter().map(|(_, time)| *time).min().unwrap_or(plan.now);
        let id = voter(number);
        let mut fields = vec![("created_at", written(first)), ("is_banned", "0".to_owned())];
        if voter_of_user(&plan.size, number) == Some(id) {
            fields.push(("user_id", UserId(number).to_string()));
        }
        writer.write(keys::voter(id), hash(fields)).await;
        if !votes.is_empty() {
            let members = votes.into_iter().map(|(host, time)| (host, time.as_score())).collect();
            writer.write(keys::voter_votes(id), Value::SortedSet(members)).await;
        }
    }
}
