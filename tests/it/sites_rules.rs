//! The rules of votes on sites, against a model that knows nothing of keys:
//! random votes, days, bans and settings; and crowds at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tidings_domain::news::site_page::site_page;
use tidings_domain::sites::{self, SettingsChange, SiteVote, Verdict};
use tidings_domain::values::{Day, Hostname, VoterId};
use tidings_domain::{Error, Refusal, User, Visit};
use tidings_keyspace::Value;

use crate::client::Client;
use crate::concurrency::at_once;
use crate::consistency;
use crate::server::{Batch, Engine, Server, each_engine};

const HOSTS: usize = 6;
const VOTERS: u8 = 5;
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const NETWORKS: u8 = 4;
/// The limits that random events meet often.
const LIMITS: [(&str, &str); 2] =
    [("limits.site_votes_per_network", "2"), ("limits.site_score_networks", "3")];
const VOTES_PER_NETWORK: u64 = 2;
const SCORE_NETWORKS: u64 = 3;

/// The addresses from which people vote: several of each network.
fn address(network: u8, of_network: u8) -> IpAddr {
    if network < NETWORKS / 2 {
        Ipv4Addr::new(192, 0, network, of_network).into()
    } else {
        Ipv6Addr::new(0x2001, 0xdb8, network.into(), of_network.into(), 0, 0, 0, 1).into()
    }
}

/// The hosts of sites with an even number, without `www.` and with it.
fn host(number: usize) -> Hostname {
    let www = if number % 2 == 1 { "www." } else { "" };
    Hostname::parse(&format!("{www}site{}.example", number / 2 * 2)).unwrap()
}

fn voter(number: u8) -> VoterId {
    VoterId::from_bytes([number; 16])
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Event {
    Vote { voter: u8, host: usize, value: i64, network: u8, of_network: u8 },
    Ban(u8),
    Unban(u8),
    Pass(u64),
    Settings(bool, u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => vote_event(),
        2 => (0..VOTERS).prop_map(Event::Ban),
        2 => (0..VOTERS).prop_map(Event::Unban),
        3 => prop_oneof![Just(1_u64), 1_000..200_000_u64].prop_map(Event::Pass),
        1 => (prop::bool::weighted(0.3), 1..5_u64).prop_map(|(off, most)| Event::Settings(off, most)),
    ]
}

fn vote_event() -> impl Strategy<Value = Event> {
    // Few hosts have many of the votes, so that they get to the limits of networks.
    let host = prop_oneof![0..2_usize, 0..HOSTS];
    let parts = (0..VOTERS, host, -1_i64..=1, 0..NETWORKS, any::<u8>());
    parts.prop_map(|(voter, host, value, network, of_network)| Event::Vote {
        voter,
        host,
        value,
        network,
        of_network,
    })
}

/// A vote as the rules see it.
#[derive(Clone, Copy)]
struct ModelVote {
    value: i64,
    time: u64,
    /// The day of the first vote.
    first: u64,
    network: u8,
}

/// The state that the rules demand, without a store.
#[derive(Default)]
struct Model {
    now: u64,
    /// By voter and host.
    votes: BTreeMap<(u8, usize), ModelVote>,
    /// The voters whom networks have brought to hosts, with the times.
    brought: BTreeMap<(u8, usize), BTreeMap<u8, u64>>,
    known: BTreeMap<u8, bool>,
    disabled: bool,
    maximum: u64,
}

impl Model {
    fn vote(&mut self, voter: u8, host: usize, value: i64, network: u8) -> Result<(), Refusal> {
        let (now, day) = (self.now, self.now / 86_400);
        if self.known.get(&voter) == Some(&true) {
            return Err(Refusal::VoterBanned);
        }
        if self.disabled {
            return Err(Refusal::VotingDisabled);
        }
        let old = self.votes.get(&(voter, host)).copied();
        if value == 0 {
            if let Some(withdrawn) = self.votes.remove(&(voter, host)) {
                self.brought.entry((withdrawn.network, host)).or_default().remove(&voter);
            }
            return Ok(());
        }
        let new_today = self.votes.iter().filter(|((by, _), vote)| *by == voter && vote.first == day).count();
        if old.is_none() && new_today as u64 >= self.maximum {
            return Err(Refusal::TooManyVotes { maximum: self.maximum });
        }
        if old.is_none_or(|old| old.network != network) {
            let brought = self.brought.entry((network, host)).or_default();
            brought.retain(|_, time| now - *time < 86_400);
            if !brought.contains_key(&voter) && brought.len() as u64 >= VOTES_PER_NETWORK {
                return Err(Refusal::TooManyVotesFromNetwork { maximum: VOTES_PER_NETWORK });
            }
            brought.insert(voter, now);
        }
        self.known.entry(voter).or_insert(false);
        let first = old.map_or(day, |old| old.first);
        self.votes.insert((voter, host), ModelVote { value, time: now, first, network });
        Ok(())
    }

    /// Sum and count of each host, without banned voters.
    fn totals(&self, day: Option<u64>) -> BTreeMap<usize, (i64, i64)> {
        let mut totals = BTreeMap::new();
        for ((voter, host), vote) in &self.votes {
            if !self.known[voter] && day.is_none_or(|day| vote.time / 86_400 == day) {
                let entry: &mut (i64, i64) = totals.entry(*host).or_default();
                *entry = (entry.0 + vote.value, entry.1 + 1);
            }
        }
        totals
    }

    /// The counted votes on a site with two hosts, from this one on: those of a person are one, the newer one.
    fn of_site(&self, bare: usize) -> Vec<ModelVote> {
        let mut newest: BTreeMap<u8, ModelVote> = BTreeMap::new();
        for ((voter, host), vote) in &self.votes {
            let is_older = newest.get(voter).is_some_and(|newer| newer.time > vote.time);
            if host / 2 == bare / 2 && !self.known[voter] && !is_older {
                newest.insert(*voter, *vote);
            }
        }
        newest.into_values().collect()
    }

    /// How many networks the votes on a host are of, without banned voters.
    fn networks(&self, host: usize) -> u64 {
        let votes = self.votes.iter().filter(|((voter, on), _)| *on == host && !self.known[voter]);
        votes.map(|(_, vote)| vote.network).collect::<BTreeSet<_>>().len() as u64
    }
}

async fn user(server: &Server, client: &Client) -> User {
    let mut visit = Visit::new(server.app.site.clone(), server.app.now(), client.auth.as_deref());
    visit.viewer().await.unwrap().unwrap().clone()
}

fn refusal(outcome: Result<(), Error>) -> Result<(), Refusal> {
    outcome.map_err(|error| match error {
        Error::Refused(refusal) => refusal,
        other => panic!("{other}"),
    })
}

/// Lets events happen to the site and to the model, and compares all along.
async fn check_events(server: &Server, admin: &User, events: &[Event]) {
    let site = &server.app.site;
    let mut model = Model { now: server.now(), maximum: 10, ..Model::default() };
    for event in events {
        let now = server.app.now();
        match *event {
            Event::Vote { voter: by, host: on, value, network, of_network } => {
                let verdict = match value {
                    1 => Some(Verdict::Good),
                    -1 => Some(Verdict::Bad),
                    _ => None,
                };
                let ballot = SiteVote { host: host(on), verdict };
                let voted = sites::vote(site, now, address(network, of_network), voter(by), &ballot).await;
                assert_eq!(refusal(voted), model.vote(by, on, value, network), "{event:?}");
            }
            Event::Ban(by) => {
                let banned = refusal(sites::ban(site, now, admin, voter(by)).await);
                let known = model.known.get_mut(&by).map(|banned| *banned = true);
                assert_eq!(banned, known.ok_or(Refusal::NoSuchVoter), "{event:?}");
            }
            Event::Unban(by) => {
                let lifted = refusal(sites::unban(site, now, admin, voter(by)).await);
                let known = model.known.get_mut(&by).map(|banned| *banned = false);
                assert_eq!(lifted, known.ok_or(Refusal::NoSuchVoter), "{event:?}");
            }
            Event::Pass(seconds) => {
                server.advance(seconds);
                model.now += seconds;
            }
            Event::Settings(disabled, maximum) => {
                let change = SettingsChange { is_disabled: Some(disabled), maximum: Some(maximum) };
                sites::change_settings(site, now, admin, change).await.unwrap();
                (model.disabled, model.maximum) = (disabled, maximum);
            }
        }
    }
    let dump = server.dump().await;
    consistency::check(&dump);
    compare(server, &model).await;
    for ((by, on), ModelVote { value, time, .. }) in &model.votes {
        let votes = consistency::hash(&dump, &format!("link:{}:votes", host(*on)));
        let expected = format!("{value:+} {}", jiff::Timestamp::from_second(time.cast_signed()).unwrap());
        assert_eq!(votes.get(&voter(*by).to_string()), Some(&expected));
    }
    let stored: usize = dump
        .keys()
        .filter(|key| key.starts_with("link:") && key.ends_with(":votes"))
        .map(|key| consistency::hash(&dump, key).len())
        .sum();
    assert_eq!(stored, model.votes.len());
}

/// Sums and counts of all hosts, of all time and of every day, as people read them.
async fn compare(server: &Server, model: &Model) {
    let today = model.now / 86_400;
    let mut visit = Visit::new(server.app.site.clone(), server.app.now(), None);
    let totals = model.totals(None);
    let of_days: Vec<_> = (today - 29..=today).map(|day| model.totals(Some(day))).collect();
    for number in 0..HOSTS {
        let history = sites::history(&mut visit, &host(number), 30).await.unwrap();
        let figures = (history.votes.totals.sum, history.votes.totals.count);
        assert_eq!(figures, totals.get(&number).copied().unwrap_or_default(), "host {number}");
        assert_eq!(history.votes.networks, model.networks(number), "networks of host {number}");
        assert_eq!(history.shortage.is_some(), model.networks(number) < SCORE_NETWORKS, "host {number}");
        for (day, expected) in history.days.iter().zip(&of_days) {
            let figures = (day.totals.sum, day.totals.count);
            let expected = expected.get(&number).copied().unwrap_or_default();
            assert_eq!(figures, expected, "{number} on {}", day.day);
        }
    }
    compare_pages(&mut visit, model).await;
    let board = sites::leaderboard(&mut visit, sites::Board::Voted, sites::Span::All).await.unwrap();
    let mut counts: Vec<i64> = totals.values().map(|(_, count)| *count).filter(|count| *count > 0).collect();
    counts.sort_by(|left, right| right.cmp(left));
    assert_eq!(board.iter().map(|line| line.totals.count).collect::<Vec<_>>(), counts);
}

/// The same of sites on pages, where both names are one.
async fn compare_pages(visit: &mut Visit, model: &Model) {
    let today = model.now / 86_400;
    let figures = |votes: &[ModelVote]| {
        (votes.iter().map(|vote| vote.value).sum(), i64::try_from(votes.len()).unwrap())
    };
    for bare in (0..HOSTS).step_by(2) {
        let votes = model.of_site(bare);
        let history = site_page(visit, &host(bare), 30, 1).await.unwrap().history;
        let totals = |totals: sites::VoteTotals| -> (i64, i64) { (totals.sum, totals.count) };
        assert_eq!(totals(history.votes.totals), figures(&votes), "site {bare}");
        let networks: BTreeSet<u8> = votes.iter().map(|vote| vote.network).collect();
        assert_eq!(history.votes.networks, networks.len() as u64, "networks of site {bare}");
        for (day, number) in history.days.iter().zip(today - 29..) {
            let of_day: Vec<_> = votes.iter().filter(|vote| vote.time / 86_400 == number).copied().collect();
            assert_eq!(totals(day.totals), figures(&of_day), "site {bare} on {}", day.day);
        }
    }
    for (span, days) in [(sites::Span::All, u64::MAX), (sites::Span::Month, 29), (sites::Span::Day, 0)] {
        let board = sites::leaderboard_of_sites(visit, sites::Board::Voted, span).await.unwrap();
        let expected = (0..HOSTS).step_by(2).filter_map(|bare| {
            let mut votes = model.of_site(bare);
            votes.retain(|vote| vote.time / 86_400 >= today.saturating_sub(days));
            (!votes.is_empty()).then(|| (host(bare), figures(&votes)))
        });
        let expected: BTreeMap<Hostname, (i64, i64)> = expected.collect();
        let found = board.into_iter().map(|line| (line.host, (line.totals.sum, line.totals.count)));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{span:?}");
    }
}

/// An earlier version did not count the votes of people on both names of a site, and something may damage the figures:
/// a migration and a repair make them anew.
async fn count_twice_anew(server: &Server) {
    let before = server.dump().await;
    let names = (0..HOSTS).step_by(2).map(|bare| host(bare).to_string());
    let names: Vec<String> = names.filter(|name| before.contains_key(&format!("link:{name}"))).collect();
    let mut batch = Batch::new();
    batch.set("layout:version", "9");
    for name in &names {
        batch.delete(format!("link:{name}:twice"));
        for figure in ["sum_of", "count_of", "same_network", "account"] {
            batch.delete_field(format!("link:{name}"), format!("twice_{figure}_votes"));
        }
    }
    server.commit(batch).await;
    server.migrate().await;
    consistency::check(&server.dump().await);
    let mut batch = Batch::new();
    for name in &names {
        batch.increment_field(format!("link:{name}"), "twice_count_of_votes", 3);
        batch.increment_field(format!("link:{name}:twice"), "192.0.0.0/24", 2);
    }
    server.commit(batch).await;
    let found = crate::store_check::report(server, true).await;
    assert_eq!(found.differences.is_empty(), names.is_empty());
    consistency::check_site(server).await;
}

async fn check_random_events(engine: Engine, cases: u64) {
    for seed in 0..cases {
        let server = Server::start(engine, &LIMITS).await;
        let admin = server.administrator("admin").await;
        let admin = user(&server, &admin).await;
        let mut bytes = [0_u8; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let events = prop::collection::vec(event(), 20..120).new_tree(&mut runner).unwrap().current();
        println!("seed {seed}: {events:?}");
        check_events(&server, &admin, &events).await;
        if seed % 4 == 0 {
            count_twice_anew(&server).await;
        }
    }
}

#[tokio::test]
async fn random_votes_days_and_bans_give_what_the_rules_say() {
    check_random_events(Engine::Memory, 60).await;
}

#[tokio::test]
async fn random_votes_days_and_bans_give_what_the_rules_say_on_redis() {
    check_random_events(Engine::Redis, 6).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_votes_changes_and_takes_back_leaves_exact_figures(server: Server) {
    let tasks = (0..64_u8).map(|number| {
        let (site, now) = (server.app.site.clone(), server.app.now());
        async move {
            // Half of them share a voter with another.
            let voter = voter(number / 2 * 2);
            for step in 0..24_usize {
                let verdict = match (step * 7 + usize::from(number)) % 3 {
                    0 => Some(Verdict::Good),
                    1 => Some(Verdict::Bad),
                    _ => None,
                };
                let ballot = SiteVote { host: host((step + usize::from(number)) % 3), verdict };
                // The votes of a shared voter move between networks.
                let from = address(number % NETWORKS, number);
                let voted = sites::vote(&site, now, from, voter, &ballot).await;
                assert_eq!(refusal(voted), Ok(()));
            }
        }
    });
    at_once(tasks).await;
    consistency::check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_voter_in_many_places_at_once_gets_the_daily_maximum_and_no_more(server: Server) {
    let day = Day::of(server.app.now());
    let tasks = (0..64_usize).map(|number| {
        let (site, now) = (server.app.site.clone(), server.app.now());
        async move {
            let ballot = SiteVote { host: host(number), verdict: Some(Verdict::Good) };
            refusal(sites::vote(&site, now, ADDRESS, voter(1), &ballot).await)
        }
    });
    let outcomes = at_once(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 10);
    for outcome in outcomes.into_iter().filter(Result::is_err) {
        assert_eq!(outcome, Err(Refusal::TooManyVotes { maximum: 10 }));
    }
    let dump = server.dump().await;
    consistency::check(&dump);
    let counted = Value::SortedSet(vec![(voter(1).to_string(), 10.0)]);
    assert_eq!(dump[&format!("day:{day}:voters:count")], counted);
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bans_and_votes_at_the_same_time_leave_exact_figures(server: Server) {
    let client = server.administrator("admin").await;
    let admin = user(&server, &client).await;
    let change = SettingsChange { maximum: Some(1_000), ..SettingsChange::default() };
    sites::change_settings(&server.app.site, server.app.now(), &admin, change).await.unwrap();
    let tasks = (0..32_u8).map(|number| {
        let (site, now, admin) = (server.app.site.clone(), server.app.now(), admin.clone());
        async move {
            for step in 0..20_usize {
                let by = voter(number % 4);
                let outcome = match (usize::from(number) + step) % 16 {
                    0 => sites::ban(&site, now, &admin, by).await,
                    8 => sites::unban(&site, now, &admin, by).await,
                    other => {
                        let verdict = Some(if other % 2 == 0 { Verdict::Good } else { Verdict::Bad });
                        let ballot = SiteVote { host: host(step * 5 + other), verdict };
                        let from = address(number % NETWORKS, number);
                        sites::vote(&site, now, from, by, &ballot).await
                    }
                };
                let outcome = refusal(outcome);
                let expected = [Ok(()), Err(Refusal::VoterBanned), Err(Refusal::NoSuchVoter)];
                assert!(expected.contains(&outcome), "{outcome:?}");
            }
        }
    });
    at_once(tasks).await;
    consistency::check_site(&server).await;
    for number in 0..4 {
        sites::unban(&server.app.site, server.app.now(), &admin, voter(number)).await.unwrap();
    }
    let dump = server.dump().await;
    consistency::check(&dump);
    assert!(!dump.contains_key("sites:unfinished"));
    let banned = dump.keys().filter(|key| is_banned(&dump, key)).count();
    assert_eq!(banned, 0);
}

fn is_banned(dump: &consistency::Dump, key: &str) -> bool {
    let Value::Hash(fields) = &dump[key] else { return false };
    key.starts_with("voter:") && fields.contains(&("is_banned".to_owned(), "1".to_owned()))
}
