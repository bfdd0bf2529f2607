//! Logging in: the password, the second factor if the account has one, and the session.
//!
//! A page asks for the two in two steps. The second step gets the result of the first as a ticket
//! that the site has signed: whose password was right, when, and from which address. So the
//! password is not sent back to the browser, and nothing is stored.

use crate::accounts::login::{self, Attempt};
use crate::accounts::session_store::{self, Device, Session};
use crate::accounts::single_sign_on::{self, ProviderLogin};
use crate::accounts::two_factor::second_step::{self, Proof};
use crate::accounts::two_factor::signing_key::signing_key;
use crate::accounts::two_factor::stored::StoredFactors;
use crate::accounts::users::id_of;
use crate::accounts::{Answer, RelyingParty, SecondFactors, TWO_FACTOR, roles, sessions};
use crate::values::{Purpose, Timestamp, UserId, is_recent, never_logged};
use crate::{AUDIT, Decision, Error, Refusal, Result, Role, Site, User, counts, keys};
use std::net::IpAddr;
use subtle::ConstantTimeEq;
use tidings_keyspace::{Hash, read};

/// Attempts at a login while the account changes.
const LOGIN_ATTEMPTS: usize = 4;

/// The name, password and code that somebody types to log in.
pub struct Credentials<'a> {
    /// The name; any text.
    pub username: &'a str,
    /// The password; any text.
    pub password: &'a str,
    /// A code of the authenticator app, or a recovery code, if they gave one.
    pub code: Option<&'a str>,
}

/// The result of a right password.
#[derive(Debug)]
pub enum LogIn {
    /// The user is logged in.
    Done(Session),
    /// The account has a second factor.
    SecondStep(SecondStep),
}

impl LogIn {
    /// The session of a login that takes no second step.
    ///
    /// # Errors
    /// [`Refusal::CodeRequired`].
    pub fn done(self) -> Result<Session, Refusal> {
        match self {
            Self::Done(session) => Ok(session),
            Self::SecondStep(_) => Err(Refusal::CodeRequired),
        }
    }
}

/// The result of the first step of a login, for the second.
pub struct SecondStep {
    /// Proves the first step; a secret.
    pub ticket: String,
    /// The kinds of second factors that the account has.
    pub factors: SecondFactors,
    /// The name of the account.
    pub username: String,
    user_id: UserId,
}

never_logged!(SecondStep);

/// The user who comes in, with the proof of the second factor.
pub(crate) struct LoginGrant {
    /// The user as stored.
    pub(crate) user: Hash,
    /// The hash that replaces the stored one.
    pub(crate) upgraded: Option<String>,
    /// The second factor.
    pub(crate) proof: Proof,
}

/// Somebody who has shown enough for one step.
pub(crate) enum Entered {
    /// Enough for a session.
    Session(LoginGrant),
    /// Enough for the second step.
    SecondStep(SecondStep),
}

/// Checks a password, and the code if the account has a second factor, and opens a session. The
/// user's other sessions stay, except for the oldest when there are more than 20. A password
/// stored in an older form is replaced by a current hash.
///
/// # Errors
/// Those of `login::verify`: [`Refusal::WrongCredentials`] for an unknown user or a wrong
/// password, after the same time; [`Refusal::TooManyFailedLogins`], even for the right
/// password; [`Refusal::WrongCode`]; or the store's.
pub async fn log_in(site: &Site, now: Timestamp, typed: &Credentials<'_>, device: &Device) -> Result<LogIn> {
    demand_passwords(site)?;
    open(site, now, device, || async {
        let Credentials { username, password, code } = *typed;
        let attempt = Attempt { username, password, address: device.address, now: Some(now) };
        let verified = login::verify(site, &attempt).await?;
        roles::note_password(site, &verified.user, password).await?;
        let Some(proof) = prove((site, now), &verified.user, &attempt, code).await? else {
            let step = SecondStep::new(site, now, &verified.user, device.address).await?;
            return Ok(Entered::SecondStep(step));
        };
        let upgraded = verified.new_hash(site, password).await?;
        Ok(Entered::Session(LoginGrant { user: verified.user, upgraded, proof }))
    })
    .await
}

/// Refuses every way to log in that does not go through the provider, where that is the only one.
pub(crate) fn demand_passwords(site: &Site) -> Result<(), Refusal> {
    if site.rules.oidc.only { Err(Refusal::PasswordsAreOff) } else { Ok(()) }
}

/// The second factor of somebody whose password was right, in the same step; `None` if the account has one and there
/// is no code.
async fn prove(
    (site, now): (&Site, Timestamp),
    user: &Hash,
    attempt: &Attempt<'_>,
    code: Option<&str>,
) -> Result<Option<Proof>> {
    if !SecondFactors::read(user.get(TWO_FACTOR)).any() {
        return Ok(Some(Proof::NotNeeded));
    }
    let Some(code) = code.filter(|code| !code.is_empty()) else { return Ok(None) };
    let user_id = id_of(user).ok_or(Refusal::WrongCredentials)?;
    second_step::check((site, now), user_id, attempt, Answer::Code(code)).await.map(Some)
}

/// Somebody who acts without a session, because they are banned, and has shown what a login takes.
pub(crate) struct Identified {
    /// The user.
    pub(crate) user: User,
    /// The second factor, which the batch of the action uses up.
    pub(crate) proof: Proof,
}

/// Checks what a login takes, for one action without a session. A wrong password or code counts as a failed login.
///
/// # Errors
/// Those of [`log_in`], and [`Refusal::CodeRequired`] if the account has a second factor and there is no code.
pub(crate) async fn identify(
    (site, now): (&Site, Timestamp),
    typed: &Credentials<'_>,
    address: IpAddr,
) -> Result<Identified> {
    let Credentials { username, password, code } = *typed;
    if let Ok(login) = ProviderLogin::open(site, now, password).await {
        return identify_by_provider(site, username, login).await;
    }
    let attempt = Attempt { username, password, address, now: Some(now) };
    let verified = login::verify(site, &attempt).await?;
    let user = User::from_hash(&verified.user).ok_or(Refusal::WrongCredentials)?;
    let proof = prove((site, now), &verified.user, &attempt, code).await?;
    Ok(Identified { user, proof: proof.ok_or(Refusal::CodeRequired)? })
}

/// The same for somebody whom the provider knows, with a ticket instead of a password.
async fn identify_by_provider(site: &Site, username: &str, login: ProviderLogin) -> Result<Identified> {
    let id = single_sign_on::connected(site, &login.identity).await?.ok_or(Refusal::WrongCredentials)?;
    let user = site.store.fetch(User::by_id(id)).await?;
    let user = user.filter(|user| user.username.eq_ignore_ascii_case(username));
    Ok(Identified { user: user.ok_or(Refusal::WrongCredentials)?, proof: Proof::Provider(login.identity) })
}

/// The second step of a login.
///
/// # Errors
/// [`Refusal::LoginExpired`] if the first was too long ago, at another address or for another
/// password; [`Refusal::WrongCode`], [`Refusal::PasskeyRefused`],
/// [`Refusal::TooManyFailedLogins`], [`Refusal::TooManyAtOnce`], or the store's.
pub async fn finish(
    (site, now): (&Site, Timestamp),
    ticket: &str,
    answer: Answer<'_>,
    device: &Device,
) -> Result<Session> {
    // Codes of one address are checked one after the other, as passwords are.
    let _turn = login::turn(site, device.address).await?;
    let opened = open(site, now, device, || async {
        let (user, user_id) = read_ticket((site, now), ticket, device.address).await?;
        let username = user.get("username").unwrap_or_default();
        let attempt = Attempt { username, password: "", address: device.address, now: Some(now) };
        login::refuse_if_slowed_down(site, &attempt).await?;
        let proof = second_step::check((site, now), user_id, &attempt, answer).await?;
        Ok(Entered::Session(LoginGrant { user, upgraded: None, proof }))
    });
    Ok(opened.await?.done()?)
}

/// The second step again, for somebody whose code was wrong. Rounds: 1.
///
/// # Errors
/// [`Refusal::LoginExpired`], or the store's.
pub async fn second_step(site: &Site, now: Timestamp, ticket: &str, address: IpAddr) -> Result<SecondStep> {
    let (user, user_id) = read_ticket((site, now), ticket, address).await?;
    let factors = SecondFactors::read(user.get(TWO_FACTOR));
    Ok(SecondStep { ticket: ticket.to_owned(), factors, username: name_of(&user), user_id })
}

/// The options that a browser needs to use a passkey as the second step, as JSON; `None` if the
/// account has no passkey. Rounds: 1.
pub async fn passkey_options(
    site: &Site,
    now: Timestamp,
    step: &SecondStep,
    party: &RelyingParty,
) -> Result<Option<String>> {
    if !step.factors.passkeys {
        return Ok(None);
    }
    let factors = StoredFactors::read(site, step.user_id).await?;
    party.authentication_options(site, now, Some(&factors)).await.map(Some)
}

/// Opens a session for whoever enters, unless the account changes all the time.
pub(crate) async fn open<A>(
    site: &Site,
    now: Timestamp,
    device: &Device,
    enter: impl Fn() -> A,
) -> Result<LogIn>
where
    A: Future<Output = Result<Entered>>,
{
    // A conflict means that the account has changed meanwhile, for example by another
    // first login of an imported user.
    let entered = site.act_without_turns(LOGIN_ATTEMPTS, || async {
        match enter().await? {
            Entered::Session(entry) => sessions::open_session(site, now, &entry, device).await,
            Entered::SecondStep(step) => Ok(Decision::Done((LogIn::SecondStep(step), None))),
        }
    });
    let entered = entered.await;
    counts::count_login(&entered, |(entered, _)| matches!(entered, LogIn::SecondStep(_)));
    let (entered, user) = entered?;
    if let Some(user) = user {
        note_staff(&user, device.address);
    }
    if let LogIn::Done(session) = &entered
        && let Err(error) = session_store::end_surplus(site, session.user_id).await
    {
        // The session is open. The next login tries again.
        tracing::warn!(user = %session.user_id, %error, "surplus sessions not ended");
    }
    Ok(entered)
}

/// Logs that somebody came in who can do more than others.
fn note_staff(user: &User, address: IpAddr) {
    let role = match user.given_role() {
        Role::Administrator => "administrator",
        Role::Moderator => "moderator",
        Role::Member => return,
    };
    tracing::info!(target: AUDIT, account = user.username, role, %address, "staff logged in");
}

fn name_of(user: &Hash) -> String {
    user.get("username").unwrap_or_default().to_owned()
}

impl SecondStep {
    /// The second step of a login to an account with a second factor.
    pub(crate) async fn new(site: &Site, now: Timestamp, user: &Hash, address: IpAddr) -> Result<Self> {
        let user_id = id_of(user).ok_or(Refusal::WrongCredentials)?;
        let signature = sign(site, (user_id, now), (address, user)).await?;
        let factors = SecondFactors::read(user.get(TWO_FACTOR));
        let ticket = format!("{user_id}.{now}.{}", hex::encode(signature));
        Ok(Self { ticket, factors, username: name_of(user), user_id })
    }
}

/// Signs a ticket. The signed data ends with the stored password hash, so a ticket is valid only for
/// the password that was typed.
async fn sign(
    site: &Site,
    (user_id, made): (UserId, Timestamp),
    (address, user): (IpAddr, &Hash),
) -> Result<[u8; 32]> {
    let texts = [user_id.to_string(), made.to_string(), address.to_string()];
    let password = user.get("password").unwrap_or_default();
    let [user_id, made, address] = texts.each_ref().map(String::as_bytes);
    let key = signing_key(site).await?;
    Ok(key.sign(Purpose::Password, &[user_id, made, address, password.as_bytes()]))
}

/// The user whose password was right, as stored now.
async fn read_ticket(
    (site, now): (&Site, Timestamp),
    ticket: &str,
    address: IpAddr,
) -> Result<(Hash, UserId)> {
    let expired = || Error::from(Refusal::LoginExpired);
    let mut parts = ticket.splitn(3, '.');
    let mut part = || parts.next().unwrap_or_default();
    let (user_id, made, signature) = (part(), part(), part());
    let user_id: UserId = user_id.parse().map_err(|_| expired())?;
    let made = Timestamp(made.parse().map_err(|_| expired())?);
    let signature = hex::decode(signature).map_err(|_| expired())?;
    if !is_recent(made, now) {
        return Err(expired());
    }
    let user = site.store.fetch(read::hash(keys::user(user_id))).await?;
    let expected = sign(site, (user_id, made), (address, &user)).await?;
    let has_factor = SecondFactors::read(user.get(TWO_FACTOR)).any();
    if bool::from(expected.ct_eq(&signature)) && has_factor { Ok((user, user_id)) } else { Err(expired()) }
}
