//! Limits that are counted in the store, also where one server has it alone: each is one key that expires. The table of
//! them is below.
//!
//! The servers of one store share them, and they need no clock but the store's. A count that cannot be read is over its
//! limit until it expires.

use crate::values::{
    CountedNetwork, FOLLOW_NOTICE_SECONDS, GUESSES_OF_ACCOUNT, GUESSES_SECONDS, LimitRules,
    MAX_DAILY_CONFIRMATIONS, MAX_DAILY_INVITATION_MAILS, MAX_DAILY_MAILS, MAX_DAILY_NOTICES,
    MAX_FAILED_LOGINS_OF_PAIR, MAX_WRONG_CODES, MESSAGES_A_DAY, NETWORK_SIGNUPS_SECONDS, Network,
    OWNER_TOLD_SECONDS, Rules, SIGNUP_BURST_SECONDS, TypedName, UserId, WRONG_CODES_SECONDS,
};
use crate::{Decision, Refusal, Result, Site, fields, keys};
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, Store, read};

const DAY: u64 = 86_400;

/// Declares limits: what is counted, per whom, under which key, how many there may be, in how many seconds, and how a count
/// ends. None in no time is no limit.
macro_rules! limits {
    (|$limits:ident, $logins:ident| $(
        $(#[doc = $what:literal])+
        $What:ident $(($($whom:ident: $Whom:ty),+))? = $key:expr, $most:expr, $seconds:expr, $ends:ident;
    )+) => {
        /// Something of which only so much may be done in a time.
        #[derive(Debug, Clone)]
        pub(crate) enum Limited {
            $($(#[doc = $what])+ $What $(($($Whom),+))?,)+
        }

        impl Limited {
            /// The limit that the rules set.
            pub(crate) fn limit(&self, rules: &Rules) -> Limit {
                let ($limits, $logins) = (&rules.limits, &rules.rates.failed_login_per_address);
                let (key, most, seconds, ends): (String, u64, u64, Ends) = match self {
                    $(Self::$What $(($($whom),+))? => ($key.into(), $most, $seconds, Ends::$ends),)+
                };
                Limit { key, most, period: Duration::from_secs(seconds), ends }
            }
        }
    };
}

limits! { |limits, logins|
    /// Accounts that an address creates.
    SignupsOfAddress(address: IpAddr) =
        keys::create_user_limit(*address), 1, limits.account_creation_seconds, Together;
    /// Accounts that a network creates. They are also counted where only a burst of sign-ups is limited.
    SignupsOfNetwork(network: Network) =
        keys::network_signups(*network), signups_of_network(limits), NETWORK_SIGNUPS_SECONDS, Together;
    /// Accounts without an invitation; after the last of them, new ones wait for approval.
    SignupBurst = keys::SIGNUP_BURST, limits.signup_burst, SIGNUP_BURST_SECONDS, Together;
    /// That new accounts wait for approval.
    SignupPause = keys::SIGNUP_PAUSED, limits.signup_burst.min(1), SIGNUP_BURST_SECONDS, Together;
    /// Stories of somebody.
    Stories(user: UserId) = keys::submitted_recently(*user), 1, limits.submission_seconds, Together;
    /// That the first user is told that the second follows them.
    FollowNotices(followed: UserId, follower: UserId) =
        keys::follow_notice(*followed, *follower), 1, FOLLOW_NOTICE_SECONDS, Together;
    /// Invitations that are mailed for somebody.
    InvitationMails(user: UserId) = keys::invitation_mails(*user), MAX_DAILY_INVITATION_MAILS, DAY, Together;
    /// Links to confirm an address that are mailed to somebody.
    ConfirmationMails(user: UserId) = keys::confirmation_mails(*user), MAX_DAILY_CONFIRMATIONS, DAY, Together;
    /// Mails to somebody about changes of the account.
    AccountNotices(user: UserId) = keys::account_notices(*user), MAX_DAILY_NOTICES, DAY, Together;
    /// Entries of the inbox that are mailed to somebody. One more says that there is more.
    MailedEntries(user: UserId) = keys::mailed_entries(*user), MAX_DAILY_MAILS + 1, DAY, Together;
    /// Messages of somebody to the moderators.
    Messages(user: UserId) = keys::messages_written(*user), MESSAGES_A_DAY, DAY, Together;
    /// Voters on sites that an address brings.
    NewVoters(network: CountedNetwork) = keys::new_voters(*network),
        limits.new_voters_per_day.saturating_mul(network.factor().into()), DAY, Together;
    /// Voters on sites that everybody brings.
    NewVotersOfSite = keys::NEW_VOTERS_OF_SITE, limits.new_voters_of_site_per_day, DAY, Together;
    /// Sites with a first vote.
    NewHostsOfSite = keys::NEW_HOSTS_OF_SITE, limits.new_hosts_of_site_per_day, DAY, Together;
    /// Logins that fail from an address.
    FailedLogins(network: CountedNetwork) = keys::failed_logins_of_network(*network),
        logins.times(network.factor()).count().into(), logins.period().as_secs(), Evenly;
    /// Logins that fail from an address with this name.
    FailedLoginsOfPair(network: CountedNetwork, name: TypedName) = keys::failed_logins_of_pair(*network, name),
        u64::from(logins.count().min(MAX_FAILED_LOGINS_OF_PAIR) * network.factor()), logins.period().as_secs(), Evenly;
    /// Logins that fail to an account. Nobody is refused because of them.
    FailedLoginsOfAccount(user: UserId) =
        keys::failed_logins_of_account(*user), GUESSES_OF_ACCOUNT, GUESSES_SECONDS, Evenly;
    /// Codes of an authenticator app that are tried for an account.
    WrongCodes(user: UserId) = keys::wrong_codes(*user), MAX_WRONG_CODES, WRONG_CODES_SECONDS, Evenly;
    /// That the owner of an account is told about failed logins.
    OwnerTold(user: UserId) = keys::owner_told(*user), 1, OWNER_TOLD_SECONDS, Together;
}

fn signups_of_network(limits: &LimitRules) -> u64 {
    if limits.signups_per_network == 0 && limits.signup_burst > 0 {
        u64::MAX
    } else {
        limits.signups_per_network
    }
}

/// How a count ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// All at once, so long after the first.
    Together,
    /// One by one, as a token bucket refills: the key expires when all of them have ended.
    Evenly,
}

/// The limit of a key.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    key: String,
    most: u64,
    period: Duration,
    ends: Ends,
}

impl Limited {
    /// How many of them are counted. Rounds: 1, with others.
    pub(crate) fn counted(&self, rules: &Rules) -> impl Fetch<Value = Counted> + use<> {
        self.limit(rules).counted()
    }

    /// Counts one more. If the limit is reached, it is refused; the refusal gets the seconds until then. Rounds: 2.
    pub(crate) async fn count(&self, site: &Site, refusal: impl Fn(u64) -> Refusal) -> Result<()> {
        let limit = self.limit(&site.rules);
        site.act(&limit.key, || limit.count(&site.store, &refusal)).await
    }
}

impl Limit {
    /// One attempt to count one more. If the limit is reached, it is refused. Rounds: 1.
    pub(crate) async fn count(
        &self,
        store: &Store,
        refusal: impl FnOnce(u64) -> Refusal,
    ) -> Result<Decision<()>> {
        let counted = store.fetch(self.clone().counted()).await?;
        counted.demand(refusal)?;
        let mut batch = Batch::new();
        counted.add(&mut batch);
        Ok(Decision::commit(batch, ()))
    }

    /// How many are counted. Rounds: 1, with others.
    pub(crate) fn counted(self) -> impl Fetch<Value = Counted> + use<> {
        let reads = (read::string(&self.key), read::expiry(&self.key));
        reads.map(move |(stored, expiry)| Counted { limit: self, stored, expiry })
    }

    /// Adds to a batch that there is one less. The batch is rejected if the count has ended.
    pub(crate) fn take_back(&self, batch: &mut Batch) {
        batch.key_present(&self.key);
        batch.increment(&self.key, -1);
    }

    const fn is_off(&self) -> bool {
        self.most == 0 || self.period.is_zero()
    }

    /// How long it takes until one of a bucket has ended.
    fn step(&self) -> Duration {
        self.period / u32::try_from(self.most).unwrap_or(u32::MAX).max(1)
    }
}

/// A limit, and how many are counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    limit: Limit,
    stored: Option<String>,
    expiry: Expiry,
}

impl Counted {
    /// How many are counted.
    pub(crate) fn number(&self) -> u64 {
        let Some(stored) = self.stored.as_deref() else { return 0 };
        fields::read_string(Some(stored), || self.limit.key.clone()).unwrap_or(u64::MAX)
    }

    /// When nothing is counted any more.
    fn left(&self) -> Duration {
        match self.expiry {
            Expiry::In(left) if self.stored.is_some() => left,
            _ => Duration::ZERO,
        }
    }

    /// Whether something is counted.
    pub(crate) const fn is_begun(&self) -> bool {
        self.stored.is_some()
    }

    /// How long one more has to wait; `None` if it need not.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let wait = match self.limit.ends {
            _ if self.limit.is_off() => return None,
            Ends::Together => return (self.number() >= self.limit.most).then(|| self.left()),
            Ends::Evenly => (self.left() + self.limit.step()).saturating_sub(self.limit.period),
        };
        (!wait.is_zero()).then_some(wait)
    }

    /// Whether there is no limit.
    pub(crate) const fn is_off(&self) -> bool {
        self.limit.is_off()
    }

    /// Whether the limit is reached with one more.
    pub(crate) fn is_last(&self) -> bool {
        self.number().saturating_add(1) >= self.limit.most
    }

    /// Whether the limit is reached.
    pub(crate) fn is_reached(&self) -> bool {
        self.wait().is_some()
    }

    /// Refuses one more if the limit is reached; the refusal gets the seconds until then.
    pub(crate) fn demand(&self, refusal: impl FnOnce(u64) -> Refusal) -> Result<(), Refusal> {
        match self.wait() {
            Some(wait) => Err(refusal(fields::seconds_left(Expiry::In(wait)))),
            None => Ok(()),
        }
    }

    /// The same of a bucket that refuses nobody: it is never more than used up.
    pub(crate) fn used_up_at_most(self) -> Self {
        let most = self.limit.period.saturating_sub(self.limit.step());
        Self { expiry: Expiry::In(self.left().min(most)), ..self }
    }

    /// Adds to a batch that there is one more, unless the count has changed meanwhile. Does nothing without a limit.
    pub(crate) fn add(&self, batch: &mut Batch) {
        if self.limit.is_off() {
            return;
        }
        self.guard(batch);
        let Limit { key, ends, period, .. } = &self.limit;
        match (ends, self.is_begun()) {
            (Ends::Together, true) => batch.increment(key, 1),
            (Ends::Together, false) => batch.set_expiring(key, "1", *period),
            (Ends::Evenly, _) => {
                let number = self.number().saturating_add(1).to_string();
                batch.set_expiring(key, number, self.left() + self.limit.step());
            }
        }
    }

    /// The same without a check of the number: all would compete for it, and a few too many do no harm.
    pub(crate) fn add_roughly(&self, batch: &mut Batch) {
        if self.is_begun() {
            batch.key_present(&self.limit.key);
            batch.increment(&self.limit.key, 1);
        } else {
            self.add(batch);
        }
    }

    /// Adds the check that the count is the same.
    pub(crate) fn guard(&self, batch: &mut Batch) {
        batch.string_unchanged(&self.limit.key, self.stored.as_ref());
    }

    /// Adds to a batch that nothing is counted any more.
    pub(crate) fn end(&self, batch: &mut Batch) {
        batch.delete(&self.limit.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::RateRules;

    fn bucket(most: u64, seconds: u64, left: u64) -> Counted {
        let limit =
            Limit { key: String::new(), most, period: Duration::from_secs(seconds), ends: Ends::Evenly };
        Counted { limit, stored: Some("1".to_owned()), expiry: Expiry::In(Duration::from_secs(left)) }
    }

    #[test]
    fn a_bucket_takes_its_burst_and_then_one_at_a_time() {
        for (left, wait) in [(0, None), (539, None), (540, None), (541, Some(1)), (600, Some(60))] {
            let expected = wait.map(Duration::from_secs);
            assert_eq!(bucket(10, 600, left).wait(), expected, "all have ended in {left} s");
        }
    }

    #[test]
    fn a_bucket_that_refuses_nobody_is_used_up_as_long_as_guesses_go_on() {
        let mut left = 0;
        for number in 1..100 {
            let before = bucket(20, 3_600, left).used_up_at_most();
            left = (before.left() + before.limit.step()).as_secs();
            assert_eq!(bucket(20, 3_600, left).is_reached(), number >= 20, "{number}");
        }
        assert_eq!(left, 3_600);
    }

    #[test]
    fn a_count_is_reached_until_its_first_one_ends_and_one_that_cannot_be_read_is() {
        for (most, stored, is_reached) in [
            (2, None, false),
            (2, Some("1"), false),
            (2, Some("2"), true),
            (2, Some("x"), true),
            (0, Some("9"), false),
        ] {
            let limit = Limit { ends: Ends::Together, ..bucket(most, 60, 0).limit };
            let expiry = Expiry::In(Duration::from_secs(7));
            let counted = Counted { limit, stored: stored.map(str::to_owned), expiry };
            assert_eq!(counted.is_reached(), is_reached, "{stored:?} of {most}");
            let refusal = counted.demand(|seconds| Refusal::SubmittedRecently { seconds });
            assert_eq!(refusal.is_err(), is_reached);
            if let Err(refusal) = refusal {
                assert_eq!(refusal, Refusal::SubmittedRecently { seconds: 7 });
            }
        }
    }

    #[test]
    fn a_pair_is_allowed_ten_failures_or_as_many_as_the_address() {
        let network = CountedNetwork::Subscriber("192.0.2.1".parse().unwrap());
        for (of_address, of_pair) in
            [("30/10m", (10, 600)), ("10/1m", (10, 60)), ("9/1h", (9, 3_600)), ("0", (0, 0))]
        {
            let rates =
                RateRules { failed_login_per_address: of_address.parse().unwrap(), ..RateRules::off() };
            let rules = Rules { rates, ..Rules::default() };
            let limit = Limited::FailedLoginsOfPair(network, TypedName::of("alice", "")).limit(&rules);
            assert_eq!((limit.most, limit.period.as_secs()), of_pair);
        }
    }
}
