//! How much one account and one network address may do: token buckets, of which `rates_of` is the table. `counted` has
//! the limits that are counted from a first time on.
//!
//! Each rated action of an account, and of an address, has a bucket. An IPv6 address has two,
//! one of its /64 and one of its /48 ([`ClientNetworks`]). Rates that protect data
//! hold for all servers of a site together, so on a store that servers share the buckets are
//! in the store, under keys that expire (`rate:...`). On the embedded store they are in
//! memory, as those of reads always are.
//!
//! A refusal costs no token. A token is taken before the action decides, so an action that is
//! refused for another reason (a second vote, too little karma) costs one too: otherwise
//! such requests would have no limit.

mod bucket;
pub(crate) mod counted;
mod local;
mod stored;

use self::local::LocalBuckets;
use crate::values::{
    ClientNetworks, CountedNetwork, EXPORTS_PER_ACCOUNT, EXPORTS_PER_ADDRESS, Lacking, MAX_RATED_SOURCES,
    Moment, POSTS_PER_ADDRESS, Rate, RateRules, RatedAction, UserId,
};
use crate::{Refusal, Result, Site, counts};
use quick_cache::sync::Cache;
use std::net::IpAddr;
use std::time::Duration;

/// The source of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RequestSource {
    Account(UserId),
    Network(CountedNetwork),
}

/// A bucket that a request takes a token from.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    action: RatedAction,
    source: RequestSource,
    rate: Rate,
}

/// A bucket had no token.
#[derive(Debug)]
struct Spent {
    bucket: Bucket,
    wait: Duration,
}

/// The account that an action is counted for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RatedAccount {
    /// The account.
    pub(crate) id: UserId,
    /// The conditions of trust that it does not meet. If there are any, it has only a share of the rates.
    pub(crate) lacking: Option<Lacking>,
}

/// The state that a server keeps about the rates of its site.
#[derive(Default)]
pub(crate) struct Buckets {
    /// Of everything else.
    data: LocalBuckets,
    /// Of reads: apart, so that a flood of reads does not push the others out.
    reads: LocalBuckets,
    reports: Reports,
}

crate::process_state::process_state!(Buckets);

/// The minute in which each source was last reported. Bounded like the buckets.
struct Reports(Cache<(RatedAction, RequestSource), u64>);

impl Default for Reports {
    fn default() -> Self {
        Self(Cache::new(MAX_RATED_SOURCES))
    }
}

impl Reports {
    /// Whether a source has not been reported in this minute. Reports it.
    fn is_first(&self, action: RatedAction, source: RequestSource, now: Moment) -> bool {
        let (key, minute) = ((action, source), now.timestamp().0 / 60);
        let is_first = self.0.get(&key) != Some(minute);
        if is_first {
            self.0.insert(key, minute);
        }
        is_first
    }
}

/// Takes a token for an action from an address.
///
/// # Errors
/// [`Refusal::TooManyRequests`], or the store's. Rounds: 2 on a shared store.
pub async fn spend(site: &Site, now: Moment, action: RatedAction, address: IpAddr) -> Result<()> {
    spend_for(site, now, action, None, address).await
}

/// Takes a token for an action from the account and from the address.
pub(crate) async fn spend_for(
    site: &Site,
    now: Moment,
    action: RatedAction,
    account: Option<RatedAccount>,
    address: IpAddr,
) -> Result<()> {
    let rules = &site.rules.rates;
    let buckets = buckets_of(rules, action, account, address);
    if buckets.is_empty() {
        return Ok(());
    }
    let taken = if site.store.is_shared() {
        stored::take(site, now, &buckets).await?
    } else {
        site.of::<Buckets>().data.take(now, &buckets)
    };
    Ok(taken.map_err(|spent| refusal(site, now, &spent, account))?)
}

/// Whether there is a token for an action from the account and from the address, which is taken
/// later. Rounds: 1 on a shared store.
///
/// # Errors
/// [`Refusal::TooManyRequests`], or the store's.
pub(crate) async fn look_for(
    site: &Site,
    now: Moment,
    action: RatedAction,
    account: RatedAccount,
    address: IpAddr,
) -> Result<()> {
    let buckets = buckets_of(&site.rules.rates, action, Some(account), address);
    let found = if site.store.is_shared() {
        stored::look(site, now, &buckets).await?
    } else {
        site.of::<Buckets>().data.look(now, &buckets)
    };
    Ok(found.map_err(|spent| refusal(site, now, &spent, Some(account)))?)
}

/// The buckets that an action takes a token from.
fn buckets_of(
    rules: &RateRules,
    action: RatedAction,
    account: Option<RatedAccount>,
    address: IpAddr,
) -> Vec<Bucket> {
    let of_account = account.and_then(|account| bucket_of_account(rules, action, account));
    of_account.into_iter().chain(buckets_of_address(rules, action, address)).collect()
}

/// Takes a token for a read, and another if the answer is large. Knows this server only.
///
/// # Errors
/// [`Refusal::TooManyRequests`].
pub fn spend_read(site: &Site, now: Moment, address: IpAddr, is_large: bool) -> Result<(), Refusal> {
    let buckets = |action| buckets_of_address(&site.rules.rates, action, address);
    let large = is_large.then(|| buckets(RatedAction::LargeRead));
    take_here(site, now, large.into_iter().flatten().chain(buckets(RatedAction::Read)))
}

/// Takes a token for a search. Knows this server only.
///
/// # Errors
/// [`Refusal::TooManyRequests`].
pub fn spend_search(
    site: &Site,
    now: Moment,
    account: Option<UserId>,
    address: IpAddr,
) -> Result<(), Refusal> {
    let account = account.map(|id| RatedAccount { id, lacking: None });
    take_here(site, now, buckets_of(&site.rules.rates, RatedAction::Search, account, address).into_iter())
}

/// Takes further tokens for a read whose answer turned out to be so large, whether or not they are
/// there: what is missing is owed. Knows this server only.
pub fn charge_read(site: &Site, now: Moment, address: IpAddr, is_large: bool, tokens: u32) {
    let action = if is_large { RatedAction::LargeRead } else { RatedAction::Read };
    for bucket in buckets_of_address(&site.rules.rates, action, address) {
        site.of::<Buckets>().reads.charge(now, &bucket, tokens);
    }
}

/// Takes a token for a POST request, whatever it asks for. Knows this server only.
///
/// # Errors
/// [`Refusal::TooManyRequests`].
pub fn spend_post(site: &Site, now: Moment, address: IpAddr) -> Result<(), Refusal> {
    take_here(site, now, buckets_of_address(&site.rules.rates, RatedAction::Post, address))
}

/// Takes a token from each of some buckets of requests, or from none.
fn take_here(site: &Site, now: Moment, mut buckets: impl Iterator<Item = Bucket>) -> Result<(), Refusal> {
    let reads = &site.of::<Buckets>().reads;
    // Most requests take one token. That allocates nothing.
    let taken = match (buckets.next(), buckets.next()) {
        (None, _) => Ok(()),
        (Some(bucket), None) => reads.take_one(now, &bucket),
        (Some(first), Some(second)) => {
            let all: Vec<Bucket> = [first, second].into_iter().chain(buckets).collect();
            reads.take(now, &all)
        }
    };
    taken.map_err(|spent| refusal(site, now, &spent, None))
}

/// The table of rated actions: how often each may be done by one account, and from one address.
fn rates_of(rules: &RateRules, action: RatedAction) -> (Rate, Rate) {
    // A site that does not count reads does not count these.
    let with_reads = |rate| if rules.read_per_address.is_off() { Rate::OFF } else { rate };
    match action {
        RatedAction::Comment => (rules.comment_per_account, rules.comment_per_address),
        RatedAction::Tweet => (rules.tweet_per_account, rules.tweet_per_address),
        RatedAction::Vote => (rules.vote_per_account, rules.vote_per_address),
        RatedAction::Follow => (rules.follow_per_account, rules.follow_per_address),
        RatedAction::Flag => (rules.flag_per_account, rules.flag_per_address),
        RatedAction::Reset => (Rate::OFF, rules.reset_per_address),
        RatedAction::FetchTitle => (rules.fetch_title_per_account, rules.fetch_title_per_address),
        RatedAction::Export => (with_reads(EXPORTS_PER_ACCOUNT), with_reads(EXPORTS_PER_ADDRESS)),
        RatedAction::Search => (rules.search_per_account, rules.search_per_address),
        RatedAction::Read => (Rate::OFF, rules.read_per_address),
        RatedAction::LargeRead => (Rate::OFF, rules.large_per_address),
        RatedAction::Post => (Rate::OFF, with_reads(POSTS_PER_ADDRESS)),
        // These are counted elsewhere: in `counted`, and where streams are opened.
        RatedAction::FailedLogin | RatedAction::Stream => (Rate::OFF, Rate::OFF),
    }
}

/// The bucket of an account; `None` if the action has no rate per account.
fn bucket_of_account(rules: &RateRules, action: RatedAction, account: RatedAccount) -> Option<Bucket> {
    let (rate, _) = rates_of(rules, action);
    // An export is of no use to spammers.
    let has_less = account.lacking.is_some() && action != RatedAction::Export;
    let rate = if has_less { rate.share(rules.new_account_share) } else { rate };
    (!rate.is_off()).then_some(Bucket { action, source: RequestSource::Account(account.id), rate })
}

/// The buckets of an address, the narrowest network first; none if it is exempt or the action
/// has no rate.
fn buckets_of_address(
    rules: &RateRules,
    action: RatedAction,
    address: IpAddr,
) -> impl Iterator<Item = Bucket> {
    let (_, rate) = rates_of(rules, action);
    let is_counted = !rate.is_off() && !rules.exempt.contain(address);
    let networks = is_counted.then(|| ClientNetworks::of(address).iter());
    networks.into_iter().flatten().map(move |network| {
        let rate = rate.times(network.factor());
        Bucket { action, source: RequestSource::Network(network), rate }
    })
}

/// The refusal for a bucket without tokens; logs it once a minute for each source.
fn refusal(site: &Site, now: Moment, spent: &Spent, account: Option<RatedAccount>) -> Refusal {
    let Bucket { action, source, .. } = spent.bucket;
    counts::count_rate_limited(action);
    report(site, now, action, source);
    let seconds = spent.wait.as_secs() + u64::from(spent.wait.subsec_nanos() > 0);
    let by_address = matches!(source, RequestSource::Network(_));
    let lacking = account.and_then(|account| account.lacking);
    let lacking = lacking.filter(|_| !by_address && action != RatedAction::Export);
    Refusal::TooManyRequests { action, by_address, seconds: seconds.max(1), lacking }
}

/// Logs that a source is over a limit, once a minute for each.
fn report(site: &Site, now: Moment, action: RatedAction, source: RequestSource) {
    if !site.of::<Buckets>().reports.is_first(action, source, now) {
        return;
    }
    let action = action.name();
    match source {
        RequestSource::Account(account) => tracing::warn!(action, %account, "an account is over its rate"),
        RequestSource::Network(address) => tracing::warn!(action, %address, "an address is over its rate"),
    }
}

/// Counts that an account, or an address without one, is over a limit that is kept elsewhere. Logs it once a minute for each.
pub fn note_refusal(site: &Site, now: Moment, action: RatedAction, address: IpAddr, account: Option<UserId>) {
    counts::count_rate_limited(action);
    let network = || RequestSource::Network(ClientNetworks::of(address).narrowest());
    report(site, now, action, account.map_or_else(network, RequestSource::Account));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::fields::log::logged;
    use crate::passwords::PasswordWorker;
    use crate::values::Rules;
    use std::net::Ipv4Addr;
    use tidings_keyspace::Store;

    const NOW: u64 = 1_800_000_000_000;
    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    #[tokio::test]
    async fn an_address_has_1200_posts_a_minute_unless_reads_are_not_counted() {
        for (rates, limit) in [(RateRules::default(), Some(1_200)), (RateRules::off(), None)] {
            let rules = Rules { rates, ..Rules::default() };
            let site = Site::new(Store::in_memory().await.unwrap(), rules, PasswordWorker::default());
            let refused = (0..2_000).find(|_| spend_post(&site, Moment(NOW), ADDRESS).is_err());
            assert_eq!(refused, limit);
        }
    }

    #[tokio::test]
    async fn a_48_has_four_times_the_reads_and_posts_of_one_64() {
        let rates = RateRules {
            read_per_address: Rate::new(3, 86_400),
            large_per_address: Rate::new(2, 86_400),
            ..RateRules::off()
        };
        let rules = Rules { rates, ..Rules::default() };
        let site = Site::new(Store::in_memory().await.unwrap(), rules, PasswordWorker::default());
        let address = |network: u32| format!("2001:db8:1:{network:x}::1").parse::<IpAddr>().unwrap();
        let read = |address, is_large| spend_read(&site, Moment(NOW), address, is_large).is_ok();
        let taken = |is_large| (0..100).filter(|network| read(address(*network), is_large)).count();
        assert_eq!(taken(true), 2 * 4);
        assert_eq!(taken(false), 3 * 4 - 2 * 4);
        assert!(read("2001:db8:2::1".parse().unwrap(), true), "another /48");
        let posts = (0..10_000).filter(|network| spend_post(&site, Moment(NOW), address(*network)).is_ok());
        assert_eq!(posts.count(), 1_200 * 4);
    }

    #[tokio::test]
    async fn a_source_that_is_over_its_rate_is_logged_once_a_minute() {
        let rates = RateRules { read_per_address: Rate::new(1, 86_400), ..RateRules::off() };
        let rules = Rules { rates, ..Rules::default() };
        let site = Site::new(Store::in_memory().await.unwrap(), rules, PasswordWorker::default());
        let lines = |at: u64, address: IpAddr| {
            let log = logged(|| {
                for _ in 0..5 {
                    spend_read(&site, Moment(NOW + at), address, false).ok();
                }
            });
            assert!(log.is_empty() || log.contains("action=\"read\""), "{log}");
            log.matches(&format!("address={address}")).count()
        };
        assert_eq!(lines(0, ADDRESS), 1);
        assert_eq!(lines(59_999, ADDRESS), 0);
        assert_eq!(lines(60_000, ADDRESS), 1);
        assert_eq!(lines(60_000, IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))), 1);
    }

    #[tokio::test]
    async fn password_resets_have_a_rate_per_address() {
        let rates = RateRules { reset_per_address: Rate::new(2, 600), ..RateRules::off() };
        let rules = Rules { rates, ..Rules::default() };
        let site = Site::new(Store::in_memory().await.unwrap(), rules, PasswordWorker::default());
        let action = RatedAction::Reset;
        for _ in 0..2 {
            spend(&site, Moment(NOW), action, ADDRESS).await.unwrap();
        }
        let refused = spend(&site, Moment(NOW), action, ADDRESS).await;
        let expected = Refusal::TooManyRequests { action, by_address: true, seconds: 300, lacking: None };
        assert!(matches!(&refused, Err(Error::Refused(refusal)) if *refusal == expected), "{refused:?}");
    }
}
