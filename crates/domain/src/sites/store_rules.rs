//! Rules of votes on sites: every figure follows from the stored votes of voters that are not
//! banned.

pub(crate) mod new_sites;

use crate::error::Error;
use crate::keys::{self, families};
use crate::site::Site;
use crate::sites::twice::{StoredNames, TWICE, WrongFigure};
use crate::sites::{BAN_FIELDS, CastVote, network_of_origin};
use crate::store_rules::Rule;
use crate::store_rules::claims::{
    Claims, Fault, Found, Mend, bool_in, counter_fault, field_in, fields, hash_in, is_absent, number, score,
    score_fault, score_in,
};
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::clock::{Moment, Timestamp};
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::ids::UserId;
use crate::values::voter_id::VoterId;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use tidings_keyspace::{Answer, Batch, Fetch, Hash, Order, Read, read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::LINK_VOTES, "the figures of a site are those of its votes", figures),
    Rule::claims(&families::LINK_VOTES, "a vote on a site is in the list of its voter, who exists", voters),
    Rule::claims(&families::LINK_VOTES, "a person who has voted on both names of a site counts once", twice),
    Rule::leftovers(&families::LINK, VOTED, link),
    Rule::leftovers(&families::LINK_TWICE, VOTED, leftover_of_both),
    Rule::leftovers(&families::LINK_ORIGINS, VOTED, origins),
    Rule::leftovers(&families::LINK_NETWORKS, VOTED, networks),
    Rule::leftovers(&families::LINKS_SUM, VOTED, host_with_votes),
    Rule::leftovers(&families::LINKS_COUNT, VOTED, host_with_votes),
    Rule::leftovers(&families::PREFIX, VOTED, host_with_votes),
    Rule::claims(&families::DAY_LINKS_SUM, DAYS, day_of_host),
    Rule::claims(&families::DAY_LINKS_COUNT, DAYS, day_of_host),
    Rule::claims(&families::DAY_VOTERS_COUNT, DAYS, day_count_of_voter),
    Rule::rounds(&families::DAY_VOTERS_COUNT, DAYS, day_sums),
    Rule::rounds(&families::DAY_VOTERS_SUM, DAYS, day_sums),
    Rule::claims(&families::VOTER_VOTES, "a voter's list has the voter's votes", vote),
    Rule::claims(&families::VOTER, "a voter that belongs to an account is that account's voter", voter),
    Rule::claims(&families::SITES_UNFINISHED, "voters in the list of unfinished bans have one", unfinished),
];

const VOTED: &str = "lists and figures of sites are of sites with votes";
const DAYS: &str = "the figures of a day are those of its votes";

/// Whether the votes of a voter count, by the fields about bans; `None` while they are being
/// removed or restored.
fn counts(answers: &[Answer], position: usize) -> Option<bool> {
    let [banned, moving, moved] = [0, 1, 2].map(|field| field_in(answers, position, field));
    if moving.is_some() {
        return None;
    }
    let is_out = banned == Some("1") || moved.is_some_and(|moved| moved != "0");
    Some(!is_out)
}

fn ban_read(voter: VoterId) -> Read {
    fields(keys::voter(voter), BAN_FIELDS)
}

/// The votes in a hash, and the fields that are none.
fn votes_in(hash: &Hash) -> (Vec<(VoterId, CastVote)>, Vec<&str>) {
    let (mut votes, mut others) = (Vec::new(), Vec::new());
    for (field, text) in &hash.0 {
        match (field.parse(), text.parse()) {
            (Ok(voter), Ok(vote)) => votes.push((voter, vote)),
            _ => others.push(field.as_str()),
        }
    }
    (votes, others)
}

/// Sums and counts.
#[derive(Default)]
struct VoteFigures {
    sum: i64,
    count: i64,
}

const fn as_score(figure: i64) -> f64 {
    figure as f64
}

fn figures(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Ok(host)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    let (votes, others) = votes_in(hash);
    if !others.is_empty() {
        return;
    }
    let days: BTreeSet<Day> = votes.iter().map(|(_, vote)| Day::of(vote.time)).collect();
    let mut reads = vec![
        Read::Hash(keys::link(&host)),
        score(keys::LINKS_SUM, &host),
        score(keys::LINKS_COUNT, &host),
        Read::Hash(keys::link_origins(&host)),
        Read::Hash(keys::link_networks(&host)),
        Read::HasMember(keys::prefix(&host.hash()), host.to_string()),
    ];
    let first_day = reads.len();
    reads.extend(days.iter().flat_map(|day| {
        [keys::day_links_sum(*day), keys::day_links_count(*day)].map(|list| score(list, &host))
    }));
    let first_voter = reads.len();
    reads.extend(votes.iter().map(|(voter, _)| ban_read(*voter)));
    claims.add_all(reads, move |answers| {
        let is_counted: Option<Vec<bool>> =
            (0..votes.len()).map(|place| counts(answers, first_voter + place)).collect();
        let Some(is_counted) = is_counted else { return Vec::new() };
        let counted: Vec<&(VoterId, CastVote)> = votes
            .iter()
            .zip(is_counted)
            .filter_map(|(vote, is_counted)| is_counted.then_some(vote))
            .collect();
        let mut all = VoteFigures::default();
        let mut of_days: BTreeMap<Day, VoteFigures> =
            days.iter().map(|day| (*day, VoteFigures::default())).collect();
        for (_, vote) in &counted {
            for figures in [&mut all, of_days.entry(Day::of(vote.time)).or_default()] {
                figures.sum += vote.verdict.value();
                figures.count += 1;
            }
        }
        let name = host.to_string();
        let mut faults = totals(&host, &all, &counted, answers);
        faults.extend(score_fault(keys::LINKS_SUM, &name, score_in(answers, 1), as_score(all.sum)));
        faults.extend(score_fault(keys::LINKS_COUNT, &name, score_in(answers, 2), as_score(all.count)));
        for (place, (day, figures)) in of_days.iter().enumerate() {
            let at = first_day + 2 * place;
            let lists =
                [(keys::day_links_sum(*day), figures.sum), (keys::day_links_count(*day), figures.count)];
            for (offset, (list, expected)) in lists.into_iter().enumerate() {
                let found = score_in(answers, at + offset);
                faults.extend(score_fault(&list, &name, found, as_score(expected)));
            }
        }
        if !counted.is_empty() && !bool_in(answers, 5) {
            let list = keys::prefix(&host.hash());
            let mut batch = Batch::new();
            batch.key_present(keys::link_votes(&host));
            batch.add_member(&list, &name);
            let mend = Mend::write(batch, "add the member");
            let (found, expected) = (format!("no member {name}"), format!("the member {name}"));
            faults.push(Fault { key: list, found, expected, mend });
        }
        faults
    });
}

/// The faults of the totals of a site and of its networks. The first answer is the totals, the
/// fourth the origins and the fifth the networks.
fn totals(
    host: &Hostname,
    all: &VoteFigures,
    counted: &[&(VoterId, CastVote)],
    answers: &[Answer],
) -> Vec<Fault> {
    let mut networks: BTreeMap<String, i64> = BTreeMap::new();
    let (mut same_network, mut of_accounts) = (0, 0);
    for (voter, _) in counted {
        let origin = hash_in(answers, 3).and_then(|origins| origins.get(&voter.to_string()));
        let Some((network, is_account)) = origin.and_then(network_of_origin) else { continue };
        let votes = networks.entry(network).or_default();
        same_network += i64::from(*votes > 0);
        of_accounts += i64::from(is_account);
        *votes += 1;
    }
    let stored = |field| hash_in(answers, 0).and_then(|hash| number(hash, field)).unwrap_or(0);
    let key = keys::link(host);
    let mut faults: Vec<Fault> = [
        ("sum_of_votes", all.sum),
        ("count_of_votes", all.count),
        ("same_network_votes", same_network),
        ("account_votes", of_accounts),
    ]
    .into_iter()
    .filter_map(|(field, expected)| counter_fault(&key, field, stored(field), expected))
    .collect();
    let list = keys::link_networks(host);
    let noted = hash_in(answers, 4);
    for (field, _) in noted.into_iter().flat_map(|noted| &noted.0) {
        networks.entry(field.clone()).or_default();
    }
    for (network, expected) in networks {
        let found = noted.and_then(|noted| number(noted, &network)).unwrap_or(0);
        if found == expected {
            continue;
        }
        let mut batch = Batch::new();
        batch.increment_field(&list, &network, expected - found);
        let mend = Mend::write(batch, format!("change the field {network} to {expected}"));
        let (found, expected) = (format!("{network} {found}"), format!("{network} {expected}"));
        faults.push(Fault { key: list.clone(), found, expected, mend });
    }
    faults
}

/// By the votes on the name with `www.`: without any, nothing is counted twice.
fn twice(subject: &Subject, claims: &mut Claims) {
    let (Some(votes), Ok(www)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    let Some([bare, _]) = www.forms().filter(|[_, name]| *name == www) else { return };
    let of = |host: &Hostname| {
        [keys::link_votes(host), keys::link_origins(host), keys::link_networks(host)].map(Read::Hash)
    };
    let mut reads = Vec::from(of(&bare));
    reads.extend(of(&www));
    reads.extend([keys::link(&bare), keys::link_twice(&bare)].map(Read::Hash));
    let first_voter = reads.len();
    let voters = votes_in(votes).0.into_iter().map(|(voter, _)| voter);
    let places: BTreeMap<VoterId, usize> = voters.zip(first_voter..).collect();
    let mut bans: Vec<(&VoterId, &usize)> = places.iter().collect();
    bans.sort_by_key(|(_, place)| **place);
    reads.extend(bans.into_iter().map(|(voter, _)| ban_read(*voter)));
    claims.add_all(reads, move |answers| {
        let hash = |place| hash_in(answers, place);
        let names = [[hash(0), hash(1), hash(2)], [hash(3), hash(4), hash(5)]];
        let stored = StoredNames { names, link: hash(6), twice: hash(7) };
        let mut counted = Vec::new();
        for (voter, votes) in stored.on_both(&bare) {
            match places.get(&voter).and_then(|place| counts(answers, *place)) {
                Some(true) => counted.push(votes),
                Some(false) => {}
                // Its votes are being removed or restored.
                None => return Vec::new(),
            }
        }
        let differences = stored.differences(&bare, &counted).into_iter();
        let fault =
            |WrongFigure { key, field, found, expected }| counter_fault(&key, &field, found, expected);
        differences.filter_map(fault).collect()
    });
}

/// Claims that a site has votes on both names; otherwise there is nothing to count twice.
fn leftover_of_both(subject: &Subject, claims: &mut Claims) {
    let Ok(host) = Hostname::parse(subject.part()) else { return };
    match host.forms() {
        Some([bare, www]) if bare == host => of_host_with_votes(subject, claims, &www, "votes on both names"),
        _ => claims.malformed(format_args!("the name {host}"), "names of sites without www."),
    }
}

fn voters(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Ok(host)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    let (votes, others) = votes_in(hash);
    for field in others {
        claims.of(field).malformed(format_args!("the field {field:?}"), "votes by voters");
    }
    for (voter, vote) in votes {
        let mend = Mend::Person("restore the voter from a backup, or delete its vote and run the repair");
        claims.of(voter).refers(format!("the voter {voter}"), keys::voter(voter), mend);
        let mut guard = Batch::new();
        guard.field_equals(&subject.key, voter.to_string(), vote.to_string());
        let time = vote.time.as_score();
        claims.of(voter).listed(keys::voter_votes(voter), &host, (Some(time), time), &guard);
    }
}

/// Claims that a host has votes; otherwise the batch, which fails if it has, mends that.
fn has_votes(claims: &mut Claims, host: &Hostname, found: String, (mut batch, words): (Batch, &str)) {
    let votes = keys::link_votes(host);
    batch.key_absent(&votes);
    let mend = Mend::write(batch, words);
    claims.expects("sites with votes", vec![Read::Expiry(votes)], move |answers| {
        is_absent(answers, 0).then(|| (found.clone(), mend.clone()))
    });
}

/// Claims that the site of a key has votes; otherwise the key, which is `what` of it, is deleted.
fn of_host_with_votes(subject: &Subject, claims: &mut Claims, host: &Hostname, what: &str) {
    let mut batch = Batch::new();
    batch.delete(&subject.key);
    has_votes(claims, host, format!("{what} of a site without votes"), (batch, "delete the key"));
}

fn link(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Ok(host)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    for field in ["sum_of_votes", "count_of_votes"] {
        if hash.get(field).is_some_and(|value| value.parse::<i64>().is_err()) {
            claims.of(field).malformed(format_args!("no number in {field}"), "whole numbers");
        }
    }
    of_host_with_votes(subject, claims, &host, "figures");
    let twice = TWICE.iter().filter(|field| hash.get(field).is_some_and(|number| number != "0"));
    if let (Some(first), Some([_, www])) = (twice.clone().next(), host.forms()) {
        let mut batch = Batch::new();
        twice.for_each(|field| batch.delete_field(&subject.key, *field));
        let found = format!("{first} without votes on {www}");
        has_votes(claims, &www, found, (batch, "delete the fields"));
    }
}

fn origins(subject: &Subject, claims: &mut Claims) {
    let Ok(host) = Hostname::parse(subject.part()) else { return };
    for (voter, origin) in subject.fields() {
        if network_of_origin(origin).is_none() {
            claims.of(voter).malformed(format_args!("the origin {origin:?}"), "networks");
        }
        let (voter, votes) = (voter.to_owned(), keys::link_votes(&host));
        let mut batch = Batch::new();
        batch.field_absent(&votes, &voter);
        batch.delete_field(&subject.key, &voter);
        let (reads, mend) = (vec![fields(votes, [&voter])], Mend::write(batch, "delete the field"));
        claims.of(&voter).expects("voters with a vote on the site", reads, move |answers| {
            let found = || (format!("the voter {voter}, who has not voted on the site"), mend.clone());
            field_in(answers, 0, 0).is_none().then(found)
        });
    }
}

/// How many votes of each network count is checked with the site's votes.
fn networks(subject: &Subject, claims: &mut Claims) {
    if let (SubjectItem::Whole, Ok(host)) = (&subject.item, Hostname::parse(subject.part())) {
        of_host_with_votes(subject, claims, &host, "networks");
    }
}

/// Claims that a member is a site with votes.
fn host_with_votes(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    // A figure of 0 counts as absent.
    if matches!(subject.item, SubjectItem::Scored(_, 0.0)) {
        return;
    }
    match Hostname::parse(member) {
        Ok(host) => {
            let found = format!("the site {member}, which has no votes");
            has_votes(claims, &host, found, (subject.removal(), "remove the member"));
        }
        Err(_) => claims.malformed(format_args!("the member {member:?}"), "names of sites"),
    }
}

/// The day in a key.
fn day_of(subject: &Subject) -> Option<Day> {
    subject.part().parse().ok()
}

/// A site that had votes on a day must still have some of that day. How many is checked with the
/// site's votes.
fn day_of_host(subject: &Subject, claims: &mut Claims) {
    let Some((member, figure)) = subject.member().filter(|(_, figure)| *figure != 0.0) else { return };
    let (Some(day), Ok(host)) = (day_of(subject), Hostname::parse(member)) else {
        return claims.malformed(format_args!("the member {member:?}"), "names of sites");
    };
    let (key, member) = (subject.key.clone(), member.to_owned());
    claims.add(vec![Read::Hash(keys::link_votes(&host))], move |answers| {
        let votes = hash_in(answers, 0).map(|hash| votes_in(hash).0).unwrap_or_default();
        if votes.iter().any(|(_, vote)| Day::of(vote.time) == day) {
            return None;
        }
        score_fault(&key, &member, Some(figure), 0.0)
    });
}

/// The scores of the votes of a day in the list of a voter.
fn votes_of_day(voter: VoterId, day: Day) -> Read {
    Read::SortedByScore {
        key: keys::voter_votes(voter),
        order: Order::Ascending,
        least: day.start().as_score(),
        most: day.next().start().as_score().next_down(),
        count: u64::from(u32::MAX),
    }
}

fn day_count_of_voter(subject: &Subject, claims: &mut Claims) {
    let (Some((member, figure)), Some(day)) = (subject.member(), day_of(subject)) else { return };
    let Some(voter) = claims.member::<VoterId>("voters") else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    claims.add(vec![ban_read(voter), votes_of_day(voter, day)], move |answers| {
        let count = match answers.get(1) {
            Some(Answer::Scored(votes)) => votes.len(),
            _ => return None,
        };
        let count = if counts(answers, 0)? { i64::try_from(count).unwrap_or(i64::MAX) } else { 0 };
        score_fault(&key, &member, Some(figure), as_score(count))
    });
}

/// The sum of the votes of a voter on a day, as it is stored, with what it must equal.
struct DaySum {
    voter: VoterId,
    /// The list that has the sum.
    list: String,
    stored: Option<f64>,
    is_counted: bool,
    /// The votes of the day, each with the hash that has it.
    votes: Vec<(String, Option<String>)>,
}

impl DaySum {
    fn check(self) -> Option<Found> {
        let Self { voter, list, stored, is_counted, votes: cast } = self;
        let mut rests_on = vec![Source::of(&ban_read(voter)), Source::all(keys::voter_votes(voter))];
        let mut sum = 0;
        for (hash, vote) in cast {
            rests_on.push(Source::part(hash, voter));
            // A vote that is missing is reported for itself.
            let vote: CastVote = vote?.parse().ok()?;
            sum += vote.verdict.value();
        }
        let expected = if is_counted { sum } else { 0 };
        let fault = score_fault(&list, &voter.to_string(), stored, as_score(expected))?;
        Some(Found { part: Some(voter.to_string()), ..Found::of(fault, rests_on) })
    }
}

/// The sums of voters on days. One with a count is checked with the count, and not again.
fn day_sums<'a>(
    site: &'a Site,
    _: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    Box::pin(async move {
        let asked = subjects.iter().map(|subject| Some((subject.member_id::<VoterId>()?, day_of(subject)?)));
        let asked: Vec<Option<(VoterId, Day)>> = asked.collect();
        let reads = |(voter, day): &(VoterId, Day)| {
            let [sum, count] =
                [keys::day_voters_sum(*day), keys::day_voters_count(*day)].map(|list| score(&list, voter));
            [ban_read(*voter), votes_of_day(*voter, *day), sum, count].map(read::any)
        };
        let reads = asked.iter().map(|asked| asked.as_ref().map(reads)).collect::<Vec<_>>();
        let answers = site.store.fetch(reads.or_absent().large()).await?;
        let each = subjects.iter().zip(asked).zip(answers);
        let sums = each.map(|((subject, asked), answers)| day_sum(subject, asked?, &answers?));
        let sums = sums.collect::<Vec<_>>();
        let sums = site.store.fetch(sums.large()).await?;
        Ok(sums.into_iter().map(|sum| sum?.check()).collect())
    })
}

/// The sum of a voter on a day, by the answers about it; `None` if it is checked with the count.
fn day_sum(
    subject: &Subject,
    (voter, day): (VoterId, Day),
    answers: &[Answer],
) -> Option<impl Fetch<Value = DaySum> + use<>> {
    if *subject.family == families::DAY_VOTERS_SUM && score_in(answers, 3).is_some() {
        return None;
    }
    let (is_counted, Some(Answer::Scored(votes))) = (counts(answers, 0)?, answers.get(1)) else {
        return None;
    };
    let hosts = votes.iter().filter_map(|(host, _)| Hostname::parse(host).ok());
    let cast = hosts.map(|host| {
        let votes = keys::link_votes(&host);
        read::field(&votes, voter.to_string()).or_absent().map(move |vote| (votes, vote))
    });
    let (list, stored) = (keys::day_voters_sum(day), score_in(answers, 2));
    let sum = move |votes| DaySum { voter, list, stored, is_counted, votes };
    Some(cast.collect::<Vec<_>>().map(sum))
}

fn vote(subject: &Subject, claims: &mut Claims) {
    let (Some(voter), Some((member, time))) = (subject.id::<VoterId>(), subject.member()) else { return };
    let Ok(host) = Hostname::parse(member) else {
        return claims.malformed(format_args!("the member {member:?}"), "names of sites");
    };
    let (member, votes) = (member.to_owned(), keys::link_votes(&host));
    let (key, removal) = (subject.key.clone(), subject.removal());
    let list = keys::day_voters_count(Day::of(Timestamp::from_score(time)));
    let reads = vec![fields(votes.clone(), [&voter.to_string()]), ban_read(voter), score(&list, voter)];
    claims.add(reads, move |answers| {
        if field_in(answers, 0, 0).is_none() {
            let mut batch = removal.clone();
            batch.field_absent(&votes, voter.to_string());
            return Some(Fault {
                key: key.clone(),
                found: format!("the site {member}, on which the voter has not voted"),
                expected: "sites with a vote of the voter".to_owned(),
                mend: Mend::write(batch, "remove the member"),
            });
        }
        let found = score_in(answers, 2);
        let is_missing = counts(answers, 1) == Some(true) && found.unwrap_or(0.0) == 0.0;
        // The exact number follows from the voter's votes of the day.
        if is_missing { score_fault(&list, &voter.to_string(), found, 1.0) } else { None }
    });
}

fn voter(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<VoterId>()) else { return };
    let Some(user) = hash.get("user_id") else { return };
    let Ok(user) = user.parse::<UserId>() else {
        return claims.of("user_id").malformed(format_args!("user_id {user:?}"), "the id of a user");
    };
    let reads = vec![fields(keys::user(user), ["voter"])];
    claims.of("user_id").expects(format!("a user whose voter is {id}"), reads, move |answers| {
        let found = field_in(answers, 0, 0);
        let mend = Mend::Person("correct one of the two fields by hand, or restore the user from a backup");
        (found != Some(id.to_string().as_str()))
            .then(|| (format!("the user {user}, whose voter is {:?}", found.unwrap_or_default()), mend))
    });
}

fn unfinished(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let (member, reads) = (member.to_owned(), member.parse::<VoterId>().ok().map(ban_read));
    claims.belongs("voters with an unfinished ban", reads.into_iter().collect(), move |answers, _| {
        field_in(answers, 0, 1).is_none().then(|| format!("the voter {member}, without an unfinished ban"))
    });
}
