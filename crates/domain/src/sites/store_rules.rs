//! Rules of votes on sites: every figure follows from the stored votes of voters that are not
//! banned.

use super::BAN_FIELDS;
use super::cast_vote::{CastVote, TracedVote, VoteOrigin};
use super::tally::{NetworkVotes, Tally, score, whole as as_whole};
use super::twice::{FIGURES, StoredNames, TWICE, WrongFigure};
use crate::keys::{self, families};
use crate::store_rules::claims::{counter_fault, number, score_fault, whole};
use crate::store_rules::{
    Claims, Fault, Form, Found, Location, Mend, NameIn, Noun, Person, Remove, RemoveAny, Source, Subject,
    VOTER, claims, form, is, refers, rounds, rules,
};
use crate::values::{Day, Hostname, Timestamp, UserId, VoterId};
use crate::{Result, Site};
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use tidings_keyspace::{Batch, Fetch, Hash, Order, Write, read};

rules! { pub(crate) RULES:
    "the figures of a site are those of its votes" => LINK_VOTES: claims(figures);
    "a vote on a site is in the list of its voter, who exists" =>
        LINK_VOTES: form(Form::SecretField(is_vote), "votes by voters");
        LINK_VOTES: refers(NameIn::Fields(&[]), "the voter", VOTER,
            Person("restore the voter from a backup, or delete its vote and run the repair"));
        LINK_VOTES: claims(voters);
    "a person who has voted on both names of a site counts once" => LINK_VOTES: claims(twice);
    "lists and figures of sites are of sites with votes" =>
        LINK: form(Form::MayHave(&["sum_of_votes", "count_of_votes"], is::<i64>), "a whole number");
        LINK: refers(NameIn::Part, "figures of {}, a site without votes", VOTES, Remove).of_leftovers();
        LINK: claims(figures_twice).of_leftovers();
        LINK_TWICE: refers(NameIn::Part, "votes on both names of {}, a site without votes", VOTES_OF_WWW,
            Remove).of_leftovers();
        LINK_ORIGINS: form(Form::Field(|_, origin| is::<VoteOrigin>(origin)), "networks");
        LINK_ORIGINS: refers(NameIn::Fields(&[]), "the voter {}, who has not voted on the site",
            VOTE_OF_VOTER, Remove).of_leftovers();
        LINK_NETWORKS: refers(NameIn::Part, "networks of {}, a site without votes", VOTES,
            Remove).of_leftovers();
        LINKS_SUM, LINKS_COUNT: refers(NameIn::Figure, "the site {}, which has no votes", VOTES,
            Remove).of_leftovers();
        PREFIX: refers(NameIn::Member, "the site {}, which has no votes", VOTES, Remove).of_leftovers();
    "the figures of a day are those of its votes" =>
        DAY_LINKS_SUM, DAY_LINKS_COUNT: claims(day_of_host);
        DAY_VOTERS_COUNT: form(Form::Member(is::<VoterId>), "voters");
        DAY_VOTERS_COUNT: claims(day_count_of_voter);
        DAY_VOTERS_COUNT, DAY_VOTERS_SUM: rounds(day_sum);
    "a voter's list has the voter's votes" =>
        VOTER_VOTES: refers(NameIn::Member, "the site {}, on which the voter has not voted", VOTE_ON_SITE,
            Remove);
        VOTER_VOTES: claims(day_of_vote);
    "a voter that belongs to an account is that account's voter" =>
        VOTER: form(Form::MayHave(&["user_id"], is::<i64>), "the id of a user");
        VOTER: claims(voter);
    "voters in the list of unfinished bans have one" =>
        SITES_UNFINISHED: refers(NameIn::Member, "the voter {}, without an unfinished ban", UNFINISHED_BAN,
            RemoveAny);
    "the sites that were new to a voter on a day are those with its vote, and are counted" =>
        VOTER_NEW: form(Form::Has(&["day"], is::<Day>), "a day");
        VOTER_NEW: refers(NameIn::Part, "sites of the voter", VOTER,
            Person("restore the voter from a backup, or delete the key"));
        VOTER_NEW: refers(NameIn::Fields(&["day", "count"]), "the site {}, without a vote", VOTE_ON_SITE,
            Remove);
        VOTER_NEW: form(Form::Counts("count", &["day"]), "a number");
}

fn votes_on(host: &str) -> Option<String> {
    Some(keys::link_votes(&Hostname::parse(host).ok()?))
}

/// The votes on sites.
const VOTES: Noun = Noun("names of sites", |_, host| Some(votes_on(host)?.into()));
/// The votes on the names of sites with `www.`, by those without.
const VOTES_OF_WWW: Noun = Noun("names of sites without www.", |_, host| {
    let [bare, www] = Hostname::parse(host).ok()?.forms()?;
    (bare.as_str() == host).then(|| keys::link_votes(&www).into())
});
/// The votes of the voter to whom the key belongs, by site.
const VOTE_ON_SITE: Noun =
    Noun("names of sites", |subject, host| Some(Location::Field(votes_on(host)?, subject.part().to_owned())));
/// The votes on the site to which the key belongs, by voter.
const VOTE_OF_VOTER: Noun =
    Noun("voters", |subject, voter| Some(Location::Field(votes_on(subject.part())?, voter.to_owned())));
/// Bans that move the votes of a voter.
const UNFINISHED_BAN: Noun = Noun("voters", |_, voter| {
    let [_, moving, _] = BAN_FIELDS;
    Some(Location::Field(keys::voter(voter.parse().ok()?), moving.to_owned()))
});

/// Whether the votes of a voter count; `None` while they are being removed or restored.
fn counts(voter: VoterId) -> impl Fetch<Value = Option<bool>, Asked: 'static> + use<> {
    read::fields(keys::voter(voter), BAN_FIELDS).map(|[banned, moving, moved]| {
        let is_out = banned.as_deref() == Some("1") || moved.is_some_and(|moved| moved != "0");
        moving.is_none().then_some(!is_out)
    })
}

fn is_vote(voter: &str, vote: &str) -> bool {
    is::<VoterId>(voter) && is::<CastVote>(vote)
}

/// The votes in a hash. Others are reported themselves.
fn votes_in(hash: &Hash) -> Vec<(VoterId, CastVote)> {
    hash.0.iter().filter_map(|(voter, vote)| Some((voter.parse().ok()?, vote.parse().ok()?))).collect()
}

/// The figures that votes on one site make, by key and field or member: what counting them would write.
fn figures_of(
    host: &Hostname,
    votes: impl Iterator<Item = (VoterId, TracedVote)>,
) -> BTreeMap<(String, String), i64> {
    let (mut tally, mut batch) = (Tally::default(), Batch::new());
    votes.for_each(|(voter, vote)| tally.add(host, voter, vote));
    tally.write(&mut batch, &NetworkVotes::default());
    let mut figures = BTreeMap::new();
    for write in batch.writes() {
        match write {
            Write::IncrementField(key, field, by) => _ = figures.insert((key.clone(), field.clone()), *by),
            Write::SortedIncrement(key, member, by) => {
                figures.insert((key.clone(), member.clone()), as_whole(Some(*by)));
            }
            Write::SetFields(key, fields) => {
                let numbers =
                    fields.iter().filter_map(|(field, number)| Some((field.clone(), number.parse().ok()?)));
                figures.extend(numbers.map(|(field, number)| ((key.clone(), field), number)));
            }
            _ => {}
        }
    }
    figures
}

fn figures(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Ok(host)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    let votes = votes_in(hash);
    if votes.len() < hash.0.len() {
        return;
    }
    let days: BTreeSet<Day> = votes.iter().map(|(_, vote)| Day::of(vote.time)).collect();
    let of_days = days.into_iter().flat_map(|day| [keys::day_links_sum(day), keys::day_links_count(day)]);
    let lists: Vec<String> =
        [keys::LINKS_SUM, keys::LINKS_COUNT].map(str::to_owned).into_iter().chain(of_days).collect();
    let (link, networks, prefix) =
        (keys::link(&host), keys::link_networks(&host), keys::prefix(&host.hash()));
    let reads = (
        [&link, &networks, &keys::link_origins(&host)].map(read::hash),
        lists.iter().map(|list| read::score(list, host.as_str())).collect::<Vec<_>>(),
        read::has_member(&prefix, host.as_str()),
        votes.iter().map(|(voter, _)| counts(*voter)).collect::<Vec<_>>(),
    );
    claims.add(reads, move |([of_link, of_networks, origins], scores, is_known, are_counted)| {
        let Some(are_counted) = are_counted.into_iter().collect::<Option<Vec<bool>>>() else {
            return Vec::new();
        };
        let counted = votes.into_iter().zip(are_counted).filter(|(_, is_counted)| *is_counted);
        let traced = |((voter, vote), _): ((VoterId, CastVote), bool)| {
            let origin = origins.get(&voter.to_string()).and_then(|origin| origin.parse().ok());
            (voter, TracedVote { vote, origin })
        };
        let expected = figures_of(&host, counted.map(traced));
        let figure = |key: &str, part: &str| *expected.get(&(key.to_owned(), part.to_owned())).unwrap_or(&0);
        let all = expected.keys().filter(|(key, _)| *key == networks).map(|(_, network)| network);
        let all: BTreeSet<&String> = all.chain(of_networks.0.iter().map(|(network, _)| network)).collect();
        let of_site = FIGURES.into_iter().map(|field| (&link, &of_link, field));
        let fields =
            of_site.chain(all.into_iter().map(|network| (&networks, &of_networks, network.as_str())));
        let mut faults: Vec<Fault> = fields
            .filter_map(|(key, hash, field)| {
                counter_fault(key, field, number(hash, field).unwrap_or(0), figure(key, field))
            })
            .collect();
        for (list, found) in lists.iter().zip(scores) {
            faults.extend(score_fault(list, host.as_str(), found, score(figure(list, host.as_str()))));
        }
        if figure(keys::LINKS_COUNT, host.as_str()) > 0 && !is_known {
            let mut batch = Batch::new();
            batch.key_present(keys::link_votes(&host));
            batch.add_member(&prefix, host.as_str());
            let mend = Mend::write(batch, "add the member");
            faults.push(Fault::lacks(prefix, host, mend));
        }
        faults
    });
}

/// By the votes on the name with `www.`: without any, nothing is counted twice.
fn twice(subject: &Subject, claims: &mut Claims) {
    let (Some(votes), Ok(www)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    let Some([bare, _]) = www.forms().filter(|[_, name]| *name == www) else { return };
    let of = |host: &Hostname| {
        [keys::link_votes(host), keys::link_origins(host), keys::link_networks(host)].map(read::hash)
    };
    let voters =
        votes_in(votes).into_iter().map(|(voter, _)| counts(voter).map(move |counts| (voter, counts)));
    let reads = (
        [of(&bare), of(&www)],
        [keys::link(&bare), keys::link_twice(&bare)].map(read::hash),
        voters.collect::<Vec<_>>(),
    );
    claims.add(reads, move |(names, [link, twice], voters)| {
        let names = names.each_ref().map(|hashes| hashes.each_ref().map(Some));
        let stored = StoredNames { names, link: Some(&link), twice: Some(&twice) };
        let voters: BTreeMap<VoterId, Option<bool>> = voters.into_iter().collect();
        let mut counted = Vec::new();
        for (voter, votes) in stored.on_both(&bare) {
            match voters.get(&voter).copied().flatten() {
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

fn voters(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Ok(host)) = (subject.hash(), Hostname::parse(subject.part())) else { return };
    for (voter, vote) in votes_in(hash) {
        claims.of(voter).scored(keys::voter_votes(voter), &host, vote.time.as_score());
    }
}

/// Without votes on the other name of a site, nothing is counted twice.
fn figures_twice(subject: &Subject, claims: &mut Claims) {
    let twice = TWICE.into_iter().filter(|field| subject.field(field).is_some_and(|number| number != "0"));
    let fields: Vec<&str> = twice.collect();
    let www = Hostname::parse(subject.part()).ok().and_then(|host| host.forms());
    if let (Some(first), Some([_, www])) = (fields.first(), www) {
        let (mut batch, at) = (Batch::new(), Location::Key(keys::link_votes(&www)));
        fields.iter().for_each(|field| batch.delete_field(&subject.key, *field));
        at.demand_absent(&mut batch);
        let mend = Mend::write(batch, "delete the fields");
        claims.is_there(format!("{first} without votes on {www}"), at, mend);
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
    let (Some(day), Some(votes)) = (day_of(subject), votes_on(member)) else {
        return claims.malformed(format_args!("the member {member:?}"), "names of sites");
    };
    let (of, member) = (subject.of.clone(), member.to_owned());
    claims.add(read::hash(votes), move |votes| {
        let is_of_day = votes_in(&votes).iter().any(|(_, vote)| Day::of(vote.time) == day);
        if is_of_day { None } else { score_fault(&of.key, &member, Some(figure), 0.0) }
    });
}

/// The votes of a day in the list of a voter, whether they count, and the sum and the number of those that do.
type DayOfVoter = (Option<bool>, Vec<(String, f64)>, [Option<f64>; 2]);

fn day_of_voter(voter: VoterId, day: Day) -> impl Fetch<Value = DayOfVoter, Asked: 'static> + use<> {
    let times = (day.start().as_score(), day.next().start().as_score().next_down());
    let votes = read::sorted_by_score(keys::voter_votes(voter), Order::Ascending, times, u64::from(u32::MAX));
    let lists = [keys::day_voters_sum(day), keys::day_voters_count(day)];
    (counts(voter), votes, lists.map(|list| read::score(list, voter.to_string())))
}

fn day_count_of_voter(subject: &Subject, claims: &mut Claims) {
    let (Some((member, figure)), Some(day)) = (subject.member(), day_of(subject)) else { return };
    let Some(voter) = subject.member_id::<VoterId>() else { return };
    let (of, member) = (subject.of.clone(), member.to_owned());
    claims.add(day_of_voter(voter, day), move |(is_counted, votes, _)| {
        let count = if is_counted? { whole(votes.len()) } else { 0 };
        score_fault(&of.key, &member, Some(figure), score(count))
    });
}

/// The sum of a voter on a day. One with a count is checked with the count, and not again.
fn day_sum<'a>(site: &'a Site, subject: &'a Subject) -> BoxFuture<'a, Result<Option<Found>>> {
    Box::pin(async move {
        let (Some(voter), Some(day)) = (subject.member_id::<VoterId>(), day_of(subject)) else {
            return Ok(None);
        };
        let of_day = site.store.fetch(day_of_voter(voter, day).or_absent().large()).await?;
        let (Some(is_counted), votes, [stored, count]) = of_day else { return Ok(None) };
        if *subject.family == families::DAY_VOTERS_SUM && count.is_some() {
            return Ok(None);
        }
        let hashes: Vec<String> = votes.iter().filter_map(|(host, _)| votes_on(host)).collect();
        let cast = hashes.iter().map(|hash| read::field(hash, voter.to_string()).or_absent());
        let cast = site.store.fetch(cast.collect::<Vec<_>>().large()).await?;
        // A vote that is missing is reported for itself.
        let verdict = |vote: Option<String>| Some(vote?.parse::<CastVote>().ok()?.verdict.value());
        let Some(sum) = cast.into_iter().map(verdict).sum::<Option<i64>>() else { return Ok(None) };
        let (list, expected) = (keys::day_voters_sum(day), if is_counted { sum } else { 0 });
        let fault = score_fault(&list, &voter.to_string(), stored, score(expected));
        let rests_on = hashes.into_iter().map(|hash| Source::part(hash, voter));
        let bans = BAN_FIELDS.map(|field| Source::part(keys::voter(voter), field));
        let rests_on = rests_on.chain(bans).chain([Source::all(keys::voter_votes(voter))]).collect();
        Ok(fault.map(|fault| Found { part: Some(voter.to_string()), ..Found::of(fault, rests_on) }))
    })
}

/// A vote is counted on its day. The exact number follows from the voter's votes of the day.
fn day_of_vote(subject: &Subject, claims: &mut Claims) {
    let (Some(voter), Some((host, time))) = (subject.id::<VoterId>(), subject.member()) else { return };
    let (Some(votes), name) = (votes_on(host), voter.to_string()) else { return };
    let list = keys::day_voters_count(Day::of(Timestamp::from_score(time)));
    let reads = (read::field(votes, &name), counts(voter), read::score(&list, &name));
    claims.add(reads, move |(vote, is_counted, found)| {
        let is_missing = vote.is_some() && is_counted == Some(true) && found.unwrap_or(0.0) == 0.0;
        if is_missing { score_fault(&list, &name, found, 1.0) } else { None }
    });
}

fn voter(subject: &Subject, claims: &mut Claims) {
    let Some(user) = subject.value::<UserId>("user_id") else { return };
    let id = subject.part().to_owned();
    let field = read::field(keys::user(user), "voter");
    claims.of("user_id").expects(format!("a user whose voter is {id}"), field, move |found| {
        let advice = "correct one of the two fields by hand, or restore the user from a backup";
        let other = Some(found.unwrap_or_default()).filter(|found| *found != id)?;
        Some((format!("the user {user}, whose voter is {other:?}"), Mend::Person(advice)))
    });
}
