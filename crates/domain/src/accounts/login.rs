//! Checking a password that somebody types, and slowing down guessers.
//!
//! Failures are counted for the address, for the pair of account and address, and for the account.
//! The counter of the account refuses nobody, because a stranger must not be able to lock its owner
//! out. But after 20 failures within an hour, a client from a network that has never logged in to it
//! waits in the slow lane (`user:<id>:networks` has the others). An account that many addresses
//! try is logged, and its owner is told by mail.
//!
//! A counter is a token bucket (`rates::counted`).

use crate::accounts::origins;
use crate::accounts::users::id_of;
use crate::action::act_on;
use crate::passwords::{Comparison, HashingSource, StoredPassword, Turn, Verification};
use crate::rates::counted::{Counted, Limit, Limited};
use crate::values::{
    ClientNetworks, FAILED_ADDRESSES, FAILED_ADDRESSES_SECONDS, KNOWN_NETWORKS, KNOWN_NETWORKS_SECONDS,
    LONGEST_STORED_USERNAME, MAX_OWNERS_TO_TELL, Moment, NetworkTag, RatedAction, Timestamp, TypedName,
    UserId,
};
use crate::{Decision, Error, Refusal, Result, Site, User, audit, fields, keys, rates};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tidings_keyspace::{Batch, Hash, Order, Store, read};

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
    pub(crate) async fn new_hash(&self, site: &Site, password: &str) -> Result<Option<String>> {
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
pub(crate) async fn verify(site: &Site, attempt: &Attempt<'_>) -> Result<Verified> {
    let turn = site.passwords.turn(HashingSource::Address(attempt.address)).await?;
    let counters = counters_of(site, attempt).await?;
    let (user, is_suspect) = find_unless_slowed_down(site, attempt, &counters).await?;
    let stored = user.as_ref().map(stored_password);
    let failure = Failure::new(site, user.as_ref().and_then(id_of), attempt, counters);
    let (passwords, held) = (site.passwords.clone(), turn.clone());
    let comparison = Comparison {
        stored: stored.clone(),
        legacy_salt: site.rules.accounts.legacy_salt.clone(),
        password: attempt.password.to_owned(),
        is_suspect,
    };
    let checked: Result<(Verification, bool)> = tokio::spawn(async move {
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
pub(crate) async fn turn(site: &Site, address: IpAddr) -> Result<Arc<Turn>> {
    Ok(site.passwords.turn(HashingSource::Address(address)).await?)
}

/// Refuses an attempt if too many logins have failed recently. Rounds: 1, and none if failed logins are not
/// limited.
///
/// # Errors
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn refuse_if_slowed_down(site: &Site, attempt: &Attempt<'_>) -> Result<()> {
    let counters = counters_of(site, attempt).await?;
    if counters.is_empty() {
        return Ok(());
    }
    let counted: Vec<_> = counters.into_iter().map(Limit::counted).collect();
    refuse_to_wait(site, attempt, &site.store.fetch(counted).await?)
}

/// Counts a failed second step of a login to an account, or a failed login to nobody's account, even if
/// the client does not wait for the answer.
pub(crate) async fn count_failure(site: &Site, user_id: Option<UserId>, attempt: &Attempt<'_>) -> Result<()> {
    let failure = Failure::new(site, user_id, attempt, counters_of(site, attempt).await?);
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
    let mut attacked = site.of::<Attacked>().0.lock();
    if attacked.len() < MAX_OWNERS_TO_TELL {
        attacked.push(id);
    }
}

/// Counts a code for an account, before it is known whether it is right. This is the one limit
/// of an account, whatever addresses the codes come from: six digits can be guessed. Only who
/// knows the password gets here; recovery codes and passkeys are not limited by it. It takes no
/// turn: the login that it is part of may have one. Rounds: 2.
///
/// # Errors
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn count_code(site: &Site, user_id: UserId) -> Result<()> {
    let refusal = |seconds| Refusal::TooManyFailedLogins { seconds };
    let limit = Limited::WrongCodes(user_id).limit(&site.rules);
    act_on(&site.store, COUNTING_ATTEMPTS, || limit.count(&site.store, refusal)).await
}

/// Refuses an attempt while one of its counters says so.
fn refuse_to_wait(site: &Site, attempt: &Attempt<'_>, counted: &[Counted]) -> Result<()> {
    let Some(longest) =
        counted.iter().max_by_key(|counted| counted.wait()).filter(|longest| longest.is_reached())
    else {
        return Ok(());
    };
    if let Some(now) = attempt.now {
        let now = Moment::from_timestamp(now);
        rates::note_refusal(site, now, RatedAction::FailedLogin, attempt.address, None);
    }
    Ok(longest.demand(|seconds| Refusal::TooManyFailedLogins { seconds })?)
}

/// Accounts whose owners are to be told that many addresses try to log in to them.
#[derive(Default)]
struct Attacked(Mutex<Vec<UserId>>);

crate::process_state::process_state!(Attacked);

impl Site {
    /// Takes the accounts whose owners are to be told that many addresses try to log in.
    pub fn take_attacked(&self) -> Vec<UserId> {
        std::mem::take(&mut *self.of::<Attacked>().0.lock())
    }
}

/// The owner of an account that many addresses have tried, to be told by mail; `None` without
/// an e-mail address. Rounds: 1.
pub async fn owner_to_tell(site: &Site, id: UserId) -> Result<Option<User>> {
    let user = site.store.fetch(User::by_id(id)).await?;
    Ok(user.filter(|user| user.notice_address().is_some()))
}

pub(crate) fn stored_password(user: &Hash) -> StoredPassword {
    StoredPassword {
        hash: user.get("password").unwrap_or_default().to_owned(),
        salt: user.get("salt").filter(|salt| !salt.is_empty()).map(str::to_owned),
        trimmed: user.get(TRIMMED) == Some("1"),
    }
}

/// The counters of an attempt; none if failed logins are not limited. A text that cannot be a
/// username counts for the address only. No key has the name itself. Rounds: none, except once for
/// each server.
async fn counters_of(site: &Site, attempt: &Attempt<'_>) -> Result<Vec<Limit>> {
    let (rates, address) = (&site.rules.rates, attempt.address);
    let mut counters = Vec::new();
    if rates.failed_login_per_address.is_off() {
        return Ok(Vec::new());
    }
    let networks = ClientNetworks::of(address);
    if !rates.exempt.contain(address) {
        counters.extend(networks.iter().map(Limited::FailedLogins));
    }
    let name = attempt.username.trim_ascii();
    if name.chars().count() <= LONGEST_STORED_USERNAME && !name.chars().any(char::is_control) {
        let name = TypedName::of(name, origins::network_secret(site).await?);
        let pair = |network| Limited::FailedLoginsOfPair(network, name.clone());
        counters.extend(networks.iter().map(pair));
    }
    Ok(counters.iter().map(|counter| counter.limit(&site.rules)).collect())
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

/// Reads the user with a name, unless too many logins have failed recently. Returns also whether
/// the attempt is suspect: logins have failed from there, or many to this account, which nobody
/// from there has logged in to.
async fn find_unless_slowed_down(
    site: &Site,
    attempt: &Attempt<'_>,
    counters: &[Limit],
) -> Result<(Option<Hash>, bool)> {
    let names = [attempt.username, attempt.username.trim_ascii()].map(keys::username_to_id);
    let counted: Vec<_> = counters.iter().cloned().map(Limit::counted).collect();
    let ([typed, trimmed], counted) = site.store.fetch((names.clone().map(read::string), counted)).await?;
    let is_suspect = counted.iter().any(Counted::is_begun);
    refuse_to_wait(site, attempt, &counted)?;
    // Names have no blanks at their ends, except perhaps old imported ones. So these are
    // ignored for everybody, as in Lamer News.
    let id = typed.or(trimmed);
    let id = fields::read_string::<UserId>(id.as_deref(), || names[1].clone());
    // An unknown user costs the same reads.
    let account = id.unwrap_or(UserId(1));
    let network = origins::tag_of(site, attempt.address).await?;
    let guesses = Limited::FailedLoginsOfAccount(account).counted(&site.rules);
    let last = read::score(keys::user_networks(account), network.as_str());
    let (user, guesses, last) = site.store.fetch((read::hash(keys::user(account)), guesses, last)).await?;
    let is_suspect = is_suspect || guesses.is_reached() && !is_known(last, attempt.now);
    Ok(((id.is_some() && !user.is_empty()).then_some(user), is_suspect))
}

/// A login that may fail.
struct Failure {
    store: Store,
    user_id: Option<UserId>,
    address: IpAddr,
    now: Option<Timestamp>,
    counters: Vec<Limit>,
    of_account: Limit,
    told: Limit,
}

impl Failure {
    fn new(site: &Site, user_id: Option<UserId>, attempt: &Attempt<'_>, counters: Vec<Limit>) -> Self {
        // An unknown user costs the same reads.
        let counted_for = user_id.unwrap_or(UserId(1));
        Self {
            store: site.store.clone(),
            user_id,
            address: attempt.address,
            now: attempt.now,
            counters,
            of_account: Limited::FailedLoginsOfAccount(counted_for).limit(&site.rules),
            told: Limited::OwnerTold(counted_for).limit(&site.rules),
        }
    }

    /// Counts the failed login. Returns whether it is the one that makes its account one
    /// that many addresses try.
    async fn count(&self) -> Result<bool> {
        if self.counters.is_empty() {
            return Ok(false);
        }
        act_on(&self.store, COUNTING_ATTEMPTS, || self.decide()).await
    }

    async fn decide(&self) -> Result<Decision<bool>> {
        let addresses_key = keys::failed_login_addresses(self.user_id.unwrap_or(UserId(1)));
        let reads = (
            self.counters.iter().cloned().map(Limit::counted).collect::<Vec<_>>(),
            read::sorted_range(&addresses_key, Order::Descending, 0, FAILED_ADDRESSES as u64),
            self.told.clone().counted(),
            self.of_account.clone().counted(),
        );
        let (counted, others, told, guesses) = self.store.fetch(reads).await?;
        let mut batch = Batch::new();
        counted.iter().for_each(|counted| counted.add(&mut batch));
        let Some(now) = self.now.filter(|_| self.user_id.is_some()) else {
            return Ok(Decision::commit(batch, false));
        };
        guesses.used_up_at_most().add(&mut batch);
        let address = self.address.to_string();
        batch.sorted_add(&addresses_key, &address, now.as_score());
        batch.sorted_trim(&addresses_key, FAILED_ADDRESSES as u64);
        batch.expire(&addresses_key, Duration::from_secs(FAILED_ADDRESSES_SECONDS));
        let hour_ago = now.as_score() - Timestamp(FAILED_ADDRESSES_SECONDS).as_score();
        let recent = others.iter().filter(|(other, time)| *other != address && *time > hour_ago);
        let is_attack = recent.count() + 1 >= FAILED_ADDRESSES && !told.is_reached();
        if is_attack {
            told.add(&mut batch);
        }
        Ok(Decision::commit(batch, is_attack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::signup::add_account_with_password;
    use crate::values::{Network, NewPassword, Username};

    #[tokio::test]
    async fn after_twenty_guesses_whoever_comes_from_a_network_without_a_login_waits_in_the_slow_lane() {
        const NOW: Timestamp = Timestamp(1_800_000_000);
        let site = Site::in_memory().await;
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
}
