//! Checking a password that somebody types, and slowing down who guesses.
//!
//! What fails is counted for the address, and for the pair of account and address. Nothing is
//! counted for the account alone: a stranger must not be able to lock its owner out. An
//! account that many addresses try is logged, and its owner is told by mail.
//!
//! A counter is a token bucket in one expiring key: the time until it expires is the time
//! until the bucket is full again. So the servers of one store share it, and it needs no clock
//! but the store's.

use crate::accounts::account::seconds_left;
use crate::accounts::users::User;
use crate::action::{Decision, act_on};
use crate::audit;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::{Comparison, Source, StoredPassword, Turn, Verification};
use crate::rates;
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::UserId;
use crate::values::limits::{
    FAILED_ADDRESSES, FAILED_ADDRESSES_SECONDS, LONGEST_STORED_USERNAME, MAX_FAILED_LOGINS_OF_PAIR,
    MAX_WRONG_CODES, OWNER_TOLD_SECONDS, WRONG_CODES_SECONDS,
};
use crate::values::rates::Rate;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tidings_keyspace::{Answers, Batch, Expiry, Handle, Hash, Order, Query, Store};

/// The field of a user that says that the hash of the password is of what is left without
/// the blanks around it: `1`, or absent.
pub(crate) const TRIMMED: &str = "password_trimmed";
/// Attempts to count a failed login while other servers count theirs.
const COUNTING_ATTEMPTS: usize = 24;

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
    /// What was stored when the password was compared.
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
    let turn = site.passwords.turn(Source::Address(attempt.address)).await?;
    let counters = counters_of(site, attempt);
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
    Ok(site.passwords.turn(Source::Address(address)).await?)
}

/// Refuses an attempt if too many logins have failed recently. Rounds: 1, and none if failed logins are not
/// limited.
///
/// # Errors
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn refuse_if_slowed_down(site: &Site, attempt: &Attempt<'_>) -> Result<(), Error> {
    let counters = counters_of(site, attempt);
    if counters.is_empty() {
        return Ok(());
    }
    let mut query = Query::new();
    let reads: Vec<CounterRead> =
        counters.iter().map(|counter| CounterRead::ask(&mut query, counter)).collect();
    let mut answers = site.store.query(query).await?;
    let counted: Vec<Counted> = reads.into_iter().map(|read| read.take(&mut answers)).collect();
    refuse_to_wait(site, attempt, (&counters, &counted))
}

/// Counts a failed second step of a login to an account, even if the client does not wait for the
/// answer.
///
/// # Errors
/// When the store fails.
pub(crate) async fn count_failure(site: &Site, user_id: UserId, attempt: &Attempt<'_>) -> Result<(), Error> {
    count_failed(site, Some(user_id), attempt).await
}

/// Counts a failed login to nobody's account.
///
/// # Errors
/// When the store fails.
pub(crate) async fn count_failure_of_address(site: &Site, attempt: &Attempt<'_>) -> Result<(), Error> {
    count_failed(site, None, attempt).await
}

async fn count_failed(site: &Site, user_id: Option<UserId>, attempt: &Attempt<'_>) -> Result<(), Error> {
    let failure = Failure {
        store: site.store.clone(),
        user_id,
        address: attempt.address,
        now: attempt.now,
        counters: counters_of(site, attempt),
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
    site.note_attacked(id);
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
        let mut query = Query::new();
        let read = CounterRead::ask(&mut query, &counter);
        let counted = read.take(&mut site.store.query(query).await?);
        let wait = counted.wait(rate);
        if !wait.is_zero() {
            return Err(Refusal::TooManyFailedLogins { seconds: seconds_left(Expiry::In(wait)) }.into());
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
    Err(Refusal::TooManyFailedLogins { seconds: seconds_left(Expiry::In(wait)) }.into())
}

/// The owner of an account that many addresses have tried, to be told by mail; `None` without
/// an e-mail address. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn owner_to_tell(site: &Site, id: UserId) -> Result<Option<User>, Error> {
    let mut query = Query::new();
    let user = query.hash(keys::user(id));
    let user = User::from_hash(&site.store.query(query).await?.take(user));
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
/// username counts for the address only: it must not become a key.
fn counters_of(site: &Site, attempt: &Attempt<'_>) -> Vec<Counter> {
    let (rates, address) = (&site.rules.rates, attempt.address);
    let rate = rates.failed_login_per_address;
    let mut counters = Vec::new();
    if rate.is_off() {
        return counters;
    }
    if !rates.exempt.contain(address) {
        counters.push(Counter { key: keys::failed_logins_of_address(address), rate });
    }
    let name = attempt.username.trim_ascii();
    if name.chars().count() <= LONGEST_STORED_USERNAME && !name.chars().any(char::is_control) {
        counters.push(Counter { key: keys::failed_logins_of_pair(address, name), rate: pair_rate(rate) });
    }
    counters
}

/// How often logins to one account may fail from one address.
fn pair_rate(of_address: Rate) -> Rate {
    let count = of_address.count().min(MAX_FAILED_LOGINS_OF_PAIR);
    Rate::new(count, u32::try_from(of_address.period().as_secs()).unwrap_or(u32::MAX))
}

/// A pending read of a counter.
struct CounterRead(Handle<Option<String>>, Handle<Expiry>);

impl CounterRead {
    fn ask(query: &mut Query, counter: &Counter) -> Self {
        Self(query.string(&counter.key), query.expiry(&counter.key))
    }

    fn take(self, answers: &mut Answers) -> Counted {
        let count = answers.take(self.0);
        let full_in = match answers.take(self.1) {
            Expiry::In(left) if count.is_some() => left,
            _ => Duration::ZERO,
        };
        Counted { count, full_in }
    }
}

/// A counter as it is stored.
struct Counted {
    /// The failures counted since the bucket was full.
    count: Option<String>,
    /// When the bucket is full again.
    full_in: Duration,
}

impl Counted {
    /// When the bucket is full again after one more failure.
    fn after_one_more(&self, rate: Rate) -> Duration {
        self.full_in + rate.period() / rate.count().max(1)
    }

    /// How long the next attempt has to wait; zero if it need not.
    fn wait(&self, rate: Rate) -> Duration {
        self.after_one_more(rate).saturating_sub(rate.period())
    }
}

/// Reads the user with a name, unless too many logins have failed recently. Returns also
/// whether any has.
async fn find_unless_slowed_down(
    site: &Site,
    attempt: &Attempt<'_>,
    counters: &[Counter],
) -> Result<(Option<Hash>, bool), Error> {
    let mut query = Query::new();
    let names = [attempt.username, attempt.username.trim_ascii()].map(keys::username_to_id);
    let ids = names.clone().map(|name| query.string(name));
    let reads: Vec<CounterRead> =
        counters.iter().map(|counter| CounterRead::ask(&mut query, counter)).collect();
    let mut answers = site.store.query(query).await?;
    let counted: Vec<Counted> = reads.into_iter().map(|read| read.take(&mut answers)).collect();
    let is_suspect = counted.iter().any(|counted| !counted.full_in.is_zero());
    refuse_to_wait(site, attempt, (counters, &counted))?;
    // Names have no blanks at their ends, except perhaps old imported ones. So these are
    // ignored for everybody, as in Lamer News.
    let [typed, trimmed] = ids.map(|id| answers.take(id));
    let id = typed.or(trimmed);
    let id = fields::read_string::<UserId>(id.as_deref(), || names[1].clone());
    let mut query = Query::new();
    // An unknown user costs the same reads.
    let user = query.hash(keys::user(id.unwrap_or(UserId(1))));
    let user = site.store.query(query).await?.take(user);
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
        let mut query = Query::new();
        let reads: Vec<CounterRead> =
            self.counters.iter().map(|counter| CounterRead::ask(&mut query, counter)).collect();
        let others = query.sorted_range(&addresses_key, Order::Descending, 0, FAILED_ADDRESSES as u64);
        let told = query.string(&told_key);
        let mut answers = self.store.query(query).await?;
        let mut batch = Batch::new();
        for (counter, read) in self.counters.iter().zip(reads) {
            count_one_more(&mut batch, counter, &read.take(&mut answers));
        }
        let (others, told) = (answers.take(others), answers.take(told));
        let Some(now) = self.now.filter(|_| self.user_id.is_some()) else {
            return Ok((batch, false));
        };
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
    fn a_pair_is_allowed_ten_failures_or_as_many_as_the_address() {
        for (of_address, of_pair) in
            [("30/10m", "10/10m"), ("10/1m", "10/1m"), ("9/1h", "9/1h"), ("1/1s", "1/1s")]
        {
            assert_eq!(pair_rate(of_address.parse().unwrap()), of_pair.parse().unwrap());
        }
    }
}
