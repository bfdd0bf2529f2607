//! Checking a password that somebody types, and slowing down guessers.
//!
//! Failures are counted for the address, for the pair of account and address, and for the account.
//! The counter of the account refuses nobody, because a stranger must not be able to lock its owner
//! out. But after 20 failures within an hour, a client from a network that has never logged in to it
//! waits in the slow lane (`user:<id>:networks` has the others). An account that many addresses
//! try is logged, and its owner is told by mail.
//!
//! A counter is a token bucket in one expiring key: the time until it expires is the time
//! until the bucket is full again. So the servers of one store share it, and it needs no clock
//! but the store's.

use crate::accounts::origins;
use crate::accounts::users::User;
use crate::action::{Decision, act_on};
use crate::audit;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::{Comparison, HashingSource, StoredPassword, Turn, Verification};
use crate::process_state::process_state;
use crate::rates;
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::UserId;
use crate::values::limits::{
    FAILED_ADDRESSES, FAILED_ADDRESSES_SECONDS, GUESSES_OF_ACCOUNT, GUESSES_SECONDS, KNOWN_NETWORKS,
    KNOWN_NETWORKS_SECONDS, LONGEST_STORED_USERNAME, MAX_FAILED_LOGINS_OF_PAIR, MAX_OWNERS_TO_TELL,
    MAX_WRONG_CODES, OWNER_TOLD_SECONDS, WRONG_CODES_SECONDS,
};
use crate::values::network::{ClientNetworks, NetworkTag};
use crate::values::rates::Rate;
use crate::values::secrets::TypedName;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, Hash, Order, Store, read};

/// The field of a user that says that the hash of the password is of what is left without
/// the blanks around it: `1`, or absent.
pub(crate) const TRIMMED: &str = "password_trimmed";
/// Attempts to count a failed login while other servers count theirs.
const COUNTING_ATTEMPTS: usize = 24;
/// Failed logins to one account after which strangers wait in the slow lane.
const GUESSES: Rate = Rate::new(GUESSES_OF_ACCOUNT, GUESSES_SECONDS);

/// Name and password as somebody typed them.
pub(crate) struct Attempt<'a> {
    /// The name; any text.
    pub(crate) username: &'a str,
    /// The password; any text.
    pub(crate) password: &'a str,
    /// Where it comes from.
    pub(crate) address: IpAddr,
    /// The time. `None` for a user who is logged in already: a wrong password then says
    /// nothing about strangers.
    pub(crate) now: Option<Timestamp>,
}

/// A user who typed the right password.
pub(crate) struct Verified {
    /// The user as stored.
    pub(crate) user: Hash,
    /// The stored password at the time of the comparison.
    pub(crate) stored: StoredPassword,
    verification: Verification,
    turn: Arc<Turn>,
}

impl Verified {
    /// A current hash in place of one of an older form; `None` if none is needed. It is of
    /// what counts of the password ([`StoredPassword::counting`]).
    ///
    /// # Errors
    /// [`Error::Busy`] when too many passwords are being checked.
    pub(crate) async fn new_hash(&self, site: &Site, password: &str) -> Result<Option<String>, Error> {
        match self.verification {
            Verification::RightButOld => {
                let password = self.stored.counting(password).to_owned();
                Ok(Some(site.passwords.hash_again(self.turn.clone(), password).await?))
            }
            _ => Ok(None),
        }
    }
}

/// Finds the user with a name, without the blanks around it, and compares the password. A wrong one
/// is counted, even if the client does not wait for the answer. An unknown user costs the same
/// rounds and the same time. Rounds: 2, and for a wrong password 1 and a commit.
///
/// # Errors
/// [`Refusal::WrongCredentials`] for an unknown user or a wrong password;
/// [`Refusal::TooManyFailedLogins`], even for the right password; [`Refusal::TooManyAtOnce`]
/// when too many logins from this address wait; [`Error::Busy`] when too many of all do; or
/// the store's.
pub(crate) async fn verify(site: &Site, attempt: &Attempt<'_>) -> Result<Verified, Error> {
    let turn = site.passwords.turn(HashingSource::Address(attempt.address)).await?;
    let counters = counters_of(site, attempt).await?;
    let (user, is_suspect) = find_unless_slowed_down(site, attempt, &counters).await?;
    let stored = user.as_ref().map(stored_password);
    let failure = Failure {
        store: site.store.clone(),
        user_id: user.as_ref().and_then(id_of),
        address: attempt.address,
        now: attempt.now,
        counters,
    };
    let (passwords, held) = (site.passwords.clone(), turn.clone());
    let comparison = Comparison {
        stored: stored.clone(),
        legacy_salt: site.rules.accounts.legacy_salt.clone(),
        password: attempt.password.to_owned(),
        is_suspect,
    };
    let checked: Result<(Verification, bool), Error> = tokio::spawn(async move {
        let verification = passwords.verify(held, comparison).await?;
        let is_attack = verification == Verification::Wrong && failure.count().await?;
        Ok((verification, is_attack))
    })
    .await
    .map_err(|error| Error::Internal(error.to_string()))?;
    let (verification, is_attack) = checked?;
    if is_attack && let Some(id) = user.as_ref().and_then(id_of) {
        report_attack(site, id);
    }
    match (user, stored) {
        (Some(user), Some(stored)) if verification != Verification::Wrong => {
            Ok(Verified { user, stored, verification, turn })
        }
        (user, _) => {
            let account = user.as_ref().and_then(|user| user.get("username"));
            audit::login_failed(account, attempt.address, "wrong password");
            Err(Refusal::WrongCredentials.into())
        }
    }
}

/// The turn of an address: its attempts are checked one after the other.
///
/// # Errors
/// [`Refusal::TooManyAtOnce`] when too many of the address wait.
pub(crate) async fn turn(site: &Site, address: IpAddr) -> Result<Arc<Turn>, Error> {
    Ok(site.passwords.turn(HashingSource::Address(address)).await?)
}

/// Refuses an attempt if too many logins have failed recently. Rounds: 1, and none if failed logins are not
/// limited.
///
/// # Errors
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn refuse_if_slowed_down(site: &Site, attempt: &Attempt<'_>) -> Result<(), Error> {
    let counters = counters_of(site, attempt).await?;
    if counters.is_empty() {
        return Ok(());
    }
    let counted: Vec<_> = counters.iter().map(Counted::of).collect();
    let counted = site.store.fetch(counted).await?;
    refuse_to_wait(site, attempt, (&counters, &counted))
}

/// Counts a failed second step of a login to an account, or a failed login to nobody's account, even if
/// the client does not wait for the answer.
pub(crate) async fn count_failure(
    site: &Site,
    user_id: Option<UserId>,
    attempt: &Attempt<'_>,
) -> Result<(), Error> {
    let failure = Failure {
        store: site.store.clone(),
        user_id,
        address: attempt.address,
        now: attempt.now,
        counters: counters_of(site, attempt).await?,
    };
    let counting = tokio::spawn(async move { failure.count().await });
    if counting.await.map_err(|error| Error::Internal(error.to_string()))??
        && let Some(id) = user_id
    {
        report_attack(site, id);
    }
    Ok(())
}

fn report_attack(site: &Site, id: UserId) {
    tracing::warn!(user = %id, addresses = FAILED_ADDRESSES, "logins to this account failed from many addresses within an hour");
    let mut attacked = site.of::<Attacked>().0.lock().unwrap_or_else(PoisonError::into_inner);
    if attacked.len() < MAX_OWNERS_TO_TELL {
        attacked.push(id);
    }
}

/// Counts a code for an account, before it is known whether it is right. This is the one limit
/// of an account, whatever addresses the codes come from: six digits can be guessed. Only who
/// knows the password gets here; recovery codes and passkeys are not limited by it. Rounds: 2.
///
/// # Errors
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn count_code(site: &Site, user_id: UserId) -> Result<(), Error> {
    let rate = Rate::new(MAX_WRONG_CODES, WRONG_CODES_SECONDS);
    let counter = Counter { key: keys::wrong_codes(user_id), rate };
    act_on(&site.store, COUNTING_ATTEMPTS, || async {
        let counted = site.store.fetch(Counted::of(&counter)).await?;
        let wait = counted.wait(rate);
        if !wait.is_zero() {
            return Err(
                Refusal::TooManyFailedLogins { seconds: fields::seconds_left(Expiry::In(wait)) }.into()
            );
        }
        let mut batch = Batch::new();
        count_one_more(&mut batch, &counter, &counted);
        Ok(Decision::commit(batch, ()))
    })
    .await
}

/// Counts one more failure in a batch.
fn count_one_more(batch: &mut Batch, Counter { key, rate }: &Counter, counted: &Counted) {
    let count = match &counted.count {
        Some(count) => {
            batch.string_equals(key, count);
            count.parse::<u64>().unwrap_or(0).saturating_add(1)
        }
        None => {
            batch.key_absent(key);
            1
        }
    };
    batch.set_expiring(key, count.to_string(), counted.after_one_more(*rate));
}

/// Refuses an attempt while one of its counters says so.
fn refuse_to_wait(
    site: &Site,
    attempt: &Attempt<'_>,
    (counters, counted): (&[Counter], &[Counted]),
) -> Result<(), Error> {
    let waits = counters.iter().zip(counted).map(|(counter, counted)| counted.wait(counter.rate));
    let Some(wait) = waits.max().filter(|wait| !wait.is_zero()) else {
        return Ok(());
    };
    if let Some(now) = attempt.now {
        rates::report_failed_logins(site, Moment::from_timestamp(now), attempt.address);
    }
    Err(Refusal::TooManyFailedLogins { seconds: fields::seconds_left(Expiry::In(wait)) }.into())
}

/// Accounts whose owners are to be told that many addresses try to log in to them.
#[derive(Default)]
struct Attacked(Mutex<Vec<UserId>>);

process_state!(Attacked);

impl Site {
    /// Takes the accounts whose owners are to be told that many addresses try to log in.
    pub fn take_attacked(&self) -> Vec<UserId> {
        std::mem::take(&mut *self.of::<Attacked>().0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The owner of an account that many addresses have tried, to be told by mail; `None` without
/// an e-mail address. Rounds: 1.
pub async fn owner_to_tell(site: &Site, id: UserId) -> Result<Option<User>, Error> {
    let user = site.store.fetch(User::by_id(id)).await?;
    Ok(user.filter(|user| user.notice_address().is_some()))
}

fn id_of(user: &Hash) -> Option<UserId> {
    fields::read(user.get("id"), || "a user".to_owned(), "id")
}

pub(crate) fn stored_password(user: &Hash) -> StoredPassword {
    StoredPassword {
        hash: user.get("password").unwrap_or_default().to_owned(),
        salt: user.get("salt").filter(|salt| !salt.is_empty()).map(str::to_owned),
        trimmed: user.get(TRIMMED) == Some("1"),
    }
}

/// A token bucket for failed logins.
struct Counter {
    key: String,
    rate: Rate,
}

/// The counters of an attempt; none if failed logins are not limited. A text that cannot be a
/// username counts for the address only. No key has the name itself. Rounds: none, except once for
/// each server.
async fn counters_of(site: &Site, attempt: &Attempt<'_>) -> Result<Vec<Counter>, Error> {
    let (rates, address) = (&site.rules.rates, attempt.address);
    let rate = rates.failed_login_per_address;
    let mut counters = Vec::new();
    if rate.is_off() {
        return Ok(counters);
    }
    let networks = ClientNetworks::of(address);
    if !rates.exempt.contain(address) {
        counters.extend(networks.iter().map(|network| Counter {
            key: keys::failed_logins_of_network(network),
            rate: rate.times(network.factor()),
        }));
    }
    let name = attempt.username.trim_ascii();
    if name.chars().count() <= LONGEST_STORED_USERNAME && !name.chars().any(char::is_control) {
        let name = TypedName::of(name, origins::network_secret(site).await?);
        counters.extend(networks.iter().map(|network| Counter {
            key: keys::failed_logins_of_pair(network, &name),
            rate: pair_rate(rate).times(network.factor()),
        }));
    }
    Ok(counters)
}

/// The counter of all failed logins to an account. It refuses nobody.
fn counter_of_account(id: UserId) -> Counter {
    Counter { key: keys::failed_logins_of_account(id), rate: GUESSES }
}

/// Adds to the batch of a login that its network has logged in.
pub(crate) fn write_network(batch: &mut Batch, now: Timestamp, id: UserId, network: &NetworkTag) {
    let key = keys::user_networks(id);
    batch.sorted_add(&key, network.as_str(), now.as_score());
    batch.sorted_trim(&key, KNOWN_NETWORKS);
    batch.expire(key, Duration::from_secs(KNOWN_NETWORKS_SECONDS));
}

/// Whether somebody at this time has logged in from a network lately, by its score.
fn is_known(last: Option<f64>, now: Option<Timestamp>) -> bool {
    let oldest = now.map_or(0.0, |now| now.as_score() - Timestamp(KNOWN_NETWORKS_SECONDS).as_score());
    last.is_some_and(|last| last > oldest)
}

/// How often logins to one account may fail from one address.
fn pair_rate(of_address: Rate) -> Rate {
    let count = of_address.count().min(MAX_FAILED_LOGINS_OF_PAIR);
    Rate::new(count, u32::try_from(of_address.period().as_secs()).unwrap_or(u32::MAX))
}

/// A counter as it is stored.
struct Counted {
    /// The failures counted since the bucket was full.
    count: Option<String>,
    /// When the bucket is full again.
    full_in: Duration,
}

impl Counted {
    fn of(counter: &Counter) -> impl Fetch<Value = Self> + use<> {
        let reads = (read::string(&counter.key), read::expiry(&counter.key));
        reads.map(|(count, expiry)| {
            let full_in = match expiry {
                Expiry::In(left) if count.is_some() => left,
                _ => Duration::ZERO,
            };
            Self { count, full_in }
        })
    }

    /// When the bucket is full again after one more failure.
    fn after_one_more(&self, rate: Rate) -> Duration {
        self.full_in + rate.period() / rate.count().max(1)
    }

    /// The same of a counter that refuses nobody: it is never more than used up.
    fn at_most(self, rate: Rate) -> Self {
        let most = rate.period() - rate.period() / rate.count().max(1);
        Self { full_in: self.full_in.min(most), ..self }
    }

    /// How long the next attempt has to wait; zero if it need not.
    fn wait(&self, rate: Rate) -> Duration {
        self.after_one_more(rate).saturating_sub(rate.period())
    }
}

/// Reads the user with a name, unless too many logins have failed recently. Returns also whether
/// the attempt is suspect: logins have failed from there, or many to this account, which nobody
/// from there has logged in to.
async fn find_unless_slowed_down(
    site: &Site,
    attempt: &Attempt<'_>,
    counters: &[Counter],
) -> Result<(Option<Hash>, bool), Error> {
    let names = [attempt.username, attempt.username.trim_ascii()].map(keys::username_to_id);
    let counted: Vec<_> = counters.iter().map(Counted::of).collect();
    let ([typed, trimmed], counted) = site.store.fetch((names.clone().map(read::string), counted)).await?;
    let is_suspect = counted.iter().any(|counted| !counted.full_in.is_zero());
    refuse_to_wait(site, attempt, (counters, &counted))?;
    // Names have no blanks at their ends, except perhaps old imported ones. So these are
    // ignored for everybody, as in Lamer News.
    let id = typed.or(trimmed);
    let id = fields::read_string::<UserId>(id.as_deref(), || names[1].clone());
    // An unknown user costs the same reads.
    let account = id.unwrap_or(UserId(1));
    let network = origins::tag_of(site, attempt.address).await?;
    let guesses = Counted::of(&counter_of_account(account));
    let last = read::score(keys::user_networks(account), network.as_str());
    let (user, guesses, last) = site.store.fetch((read::hash(keys::user(account)), guesses, last)).await?;
    let is_guessed = !guesses.wait(GUESSES).is_zero();
    let is_suspect = is_suspect || is_guessed && !is_known(last, attempt.now);
    Ok(((id.is_some() && !user.is_empty()).then_some(user), is_suspect))
}

/// A login that may fail.
struct Failure {
    store: Store,
    user_id: Option<UserId>,
    address: IpAddr,
    now: Option<Timestamp>,
    counters: Vec<Counter>,
}

impl Failure {
    /// Counts the failed login. Returns whether it is the one that makes its account one
    /// that many addresses try.
    async fn count(&self) -> Result<bool, Error> {
        if self.counters.is_empty() {
            return Ok(false);
        }
        act_on(&self.store, COUNTING_ATTEMPTS, || async {
            let (batch, is_attack) = self.batch().await?;
            Ok(Decision::commit(batch, is_attack))
        })
        .await
    }

    async fn batch(&self) -> Result<(Batch, bool), Error> {
        // An unknown user costs the same reads.
        let user_id = self.user_id.unwrap_or(UserId(1));
        let (addresses_key, told_key) = (keys::failed_login_addresses(user_id), keys::owner_told(user_id));
        let of_account = counter_of_account(user_id);
        let reads = (
            self.counters.iter().map(Counted::of).collect::<Vec<_>>(),
            read::sorted_range(&addresses_key, Order::Descending, 0, FAILED_ADDRESSES as u64),
            read::string(&told_key),
            Counted::of(&of_account),
        );
        let (counted, others, told, guesses) = self.store.fetch(reads).await?;
        let mut batch = Batch::new();
        for (counter, counted) in self.counters.iter().zip(&counted) {
            count_one_more(&mut batch, counter, counted);
        }
        let guesses = guesses.at_most(GUESSES);
        let Some(now) = self.now.filter(|_| self.user_id.is_some()) else {
            return Ok((batch, false));
        };
        count_one_more(&mut batch, &of_account, &guesses);
        let address = self.address.to_string();
        batch.sorted_add(&addresses_key, &address, now.as_score());
        batch.sorted_trim(&addresses_key, FAILED_ADDRESSES as u64);
        batch.expire(&addresses_key, Duration::from_secs(FAILED_ADDRESSES_SECONDS));
        let hour_ago = now.as_score() - Timestamp(FAILED_ADDRESSES_SECONDS).as_score();
        let recent = others.iter().filter(|(other, time)| *other != address && *time > hour_ago);
        let is_attack = recent.count() + 1 >= FAILED_ADDRESSES && told.is_none();
        if is_attack {
            batch.key_absent(&told_key);
            batch.set_expiring(&told_key, now.to_string(), Duration::from_secs(OWNER_TOLD_SECONDS));
        }
        Ok((batch, is_attack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::signup::add_account_with_password;
    use crate::passwords::PasswordWorker;
    use crate::values::network::Network;
    use crate::values::rules::Rules;
    use crate::values::text::{NewPassword, Username};

    #[tokio::test]
    async fn after_twenty_guesses_whoever_comes_from_a_network_without_a_login_waits_in_the_slow_lane() {
        const NOW: Timestamp = Timestamp(1_800_000_000);
        let store = Store::in_memory().await.unwrap();
        let site = Site::new(store, Rules::default(), PasswordWorker::default());
        let (name, password) = ("alice", "correct horse battery");
        let username = Username::parse(name).unwrap();
        let id = add_account_with_password(&site, NOW, &username, &NewPassword::parse(password).unwrap())
            .await
            .unwrap()
            .user_id;
        let attempt = |address: &str, now| Attempt {
            username: name,
            password: "a guess",
            address: address.parse().unwrap(),
            now: Some(now),
        };
        let (home, elsewhere) = ("192.0.2.1", "198.51.100.1");
        let mut batch = Batch::new();
        let tag = origins::tag_of(&site, home.parse().unwrap()).await.unwrap();
        write_network(&mut batch, NOW, id, &tag);
        site.apply(batch).await.unwrap();
        let is_suspect = async |address: &str, now| {
            let attempt = attempt(address, now);
            find_unless_slowed_down(&site, &attempt, &[]).await.unwrap().1
        };
        for number in 0..40 {
            assert_eq!(is_suspect(elsewhere, NOW).await, number >= 20, "{number}");
            assert!(!is_suspect(home, NOW).await, "{number}");
            let guess = attempt(&format!("203.0.{number}.1"), NOW);
            count_failure(&site, Some(id), &guess).await.unwrap();
        }
        let neighbour = "192.0.2.99";
        assert_eq!(Network::of(neighbour.parse().unwrap()), Network::of(home.parse().unwrap()));
        assert!(!is_suspect(neighbour, NOW).await);
        let later = Timestamp(NOW.0 + KNOWN_NETWORKS_SECONDS);
        assert!(is_suspect(home, later).await, "60 days after the login");
        // Nobody is refused: the owner logs in from anywhere.
        let owner = Attempt { password, ..attempt(elsewhere, NOW) };
        assert_eq!(id_of(&verify(&site, &owner).await.unwrap().user), Some(id));
    }

    fn counted(full_in: u64) -> Counted {
        Counted { count: Some("1".to_owned()), full_in: Duration::from_secs(full_in) }
    }

    #[test]
    fn a_bucket_takes_its_burst_and_then_one_at_a_time() {
        let rate = Rate::new(10, 600);
        for (full_in, wait) in [(0, 0), (539, 0), (540, 0), (541, 1), (600, 60)] {
            assert_eq!(counted(full_in).wait(rate), Duration::from_secs(wait), "full in {full_in} s");
        }
        assert_eq!(counted(540).after_one_more(rate), Duration::from_secs(600));
    }

    #[test]
    fn a_counter_that_refuses_nobody_is_used_up_as_long_as_guesses_go_on() {
        let rate = Rate::new(20, 3_600);
        let mut full_in = Duration::ZERO;
        for number in 1..100 {
            full_in = Counted { full_in, ..counted(0) }.at_most(rate).after_one_more(rate);
            let is_used_up = !Counted { full_in, ..counted(0) }.wait(rate).is_zero();
            assert_eq!(is_used_up, number >= 20, "{number}");
        }
        assert_eq!(full_in, rate.period());
    }

    #[test]
    fn a_pair_is_allowed_ten_failures_or_as_many_as_the_address() {
        for (of_address, of_pair) in
            [("30/10m", "10/10m"), ("10/1m", "10/1m"), ("9/1h", "9/1h"), ("1/1s", "1/1s")]
        {
            assert_eq!(pair_rate(of_address.parse().unwrap()), of_pair.parse().unwrap());
        }
    }
}
