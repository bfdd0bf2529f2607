//! Single sign-on: accounts that are connected to an identity at an OpenID provider.
//!
//! An account is connected by a person who has shown at the provider that they have the identity, and who either makes the
//! account with it or is logged in to it. An e-mail address connects nothing: a provider may let people choose any.
//!
//! Keys: `oidc:identity:<hash>`, and the field `oidc_identity` of a user. The two agree.

pub mod round_trip;

use crate::accounts::log_in::{self, Entered, LogIn, LoginGrant, SecondStep};
use crate::accounts::session_store::{self, Device, Session, VisitSession};
use crate::accounts::two_factor::second_step::Proof;
use crate::accounts::users::{DEACTIVATED, OIDC_IDENTITY};
use crate::accounts::{GivenRole, Owner, SecondFactors, TWO_FACTOR, confirmation, sealed, sessions};
use crate::values::{
    Email, NameList, OidcRules, ProviderIdentity, Purpose, SecondStepAt, Timestamp, UserId, never_logged,
};
use crate::{Applied, Error, Refusal, Result, Site, User, fields, keys};
use serde::{Deserialize, Serialize};
use tidings_keyspace::{Batch, Fetch, read};

/// A person as a provider knows them. Its texts are never logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderLogin {
    /// Their identity there.
    pub identity: ProviderIdentity,
    /// The name that they prefer; any text.
    pub username: String,
    /// Their e-mail address; any text.
    pub email: Option<String>,
    /// Whether the provider has verified that it is theirs.
    pub is_email_verified: bool,
    /// Whether it has asked them for a second factor.
    pub has_second_factor: bool,
    /// The role of their groups.
    pub role: Option<GivenRole>,
}

never_logged!(ProviderLogin);

impl ProviderLogin {
    /// The role of somebody who is in these groups: the highest.
    pub fn role_of(rules: &OidcRules, groups: &[String]) -> Option<GivenRole> {
        let is_in = |names: &NameList| groups.iter().any(|group| names.has(group));
        if is_in(&rules.administrators) {
            Some(GivenRole::Administrator)
        } else {
            is_in(&rules.moderators).then_some(GivenRole::Moderator)
        }
    }

    /// The address, if the provider has verified it and it is one here too.
    pub fn verified_email(&self) -> Option<Email> {
        self.email.as_deref().filter(|_| self.is_email_verified).and_then(|email| Email::parse(email).ok())
    }

    /// Refuses people whom the rules keep out. They hold at each login.
    pub(crate) fn demand_allowed(&self, rules: &OidcRules) -> Result<(), Refusal> {
        let address = self.verified_email();
        Refusal::DomainNotAllowed.when(!rules.allows(address.as_ref().map(Email::as_str)))
    }

    /// The same as a text that only this site can make, which a browser keeps for ten minutes while its owner chooses a
    /// username or confirms something.
    async fn seal(&self, site: &Site, now: Timestamp) -> Result<String> {
        let json = serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()))?;
        sealed::seal((site, now), Purpose::OidcLogin, (&json, "")).await
    }

    /// A login that was sealed.
    ///
    /// # Errors
    /// [`Refusal::LoginExpired`], or the store's.
    pub async fn open(site: &Site, now: Timestamp, ticket: &str) -> Result<Self> {
        let json = sealed::open((site, now), Purpose::OidcLogin, (ticket, "")).await?;
        Ok(serde_json::from_str(&json).map_err(|_| Refusal::LoginExpired)?)
    }
}

/// The outcome for somebody who comes back from a provider.
#[derive(Debug)]
pub enum SignedOn {
    /// An account is connected to the identity.
    Known(LogIn),
    /// No account is connected to the identity: the ticket makes or connects one.
    Unknown(String),
}

/// The account that is connected to an identity. Rounds: 1, and 1 more if there is one.
pub async fn connected(site: &Site, identity: &ProviderIdentity) -> Result<Option<UserId>> {
    let id = site.store.fetch(holder(identity)).await?;
    let Some(id) = id else { return Ok(None) };
    let field = site.store.fetch(read::field(keys::user(id), OIDC_IDENTITY)).await?;
    Ok(field.filter(|field| field == identity.as_str()).map(|_| id))
}

/// The name of the account of somebody who cannot log in because they are banned, and a ticket that stands for its password
/// in an appeal.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn of_banned((site, now): (&Site, Timestamp), login: &ProviderLogin) -> Result<(String, String)> {
    let id = connected(site, &login.identity).await?.ok_or(Refusal::NoSuchUser)?;
    let name = site.store.fetch(read::field(keys::user(id), "username")).await?;
    Ok((name.ok_or(Refusal::NoSuchUser)?, login.seal(site, now).await?))
}

/// The account that an identity names.
pub(crate) fn holder(identity: &ProviderIdentity) -> impl Fetch<Value = Option<UserId>> {
    fields::string(keys::oidc_identity(identity))
}

/// Logs in somebody who has come back from the provider.
///
/// # Errors
/// [`Refusal::DomainNotAllowed`]; [`Refusal::Banned`] and what else keeps the account from logging in; or the store's.
pub async fn log_in(
    (site, now): (&Site, Timestamp),
    login: &ProviderLogin,
    device: &Device,
) -> Result<SignedOn> {
    let rules = &site.rules.oidc;
    login.demand_allowed(rules)?;
    let Some(id) = connected(site, &login.identity).await? else {
        return Ok(SignedOn::Unknown(login.seal(site, now).await?));
    };
    if let Some(email) = login.verified_email() {
        confirmation::take_verified(site, id, &email).await?;
    }
    let is_enough = login.has_second_factor || rules.mfa == SecondStepAt::Provider;
    let entered = log_in::open(site, now, device, || async {
        let user = site.store.fetch(read::hash(keys::user(id))).await?;
        if !is_enough && SecondFactors::read(user.get(TWO_FACTOR)).any() {
            return Ok(Entered::SecondStep(SecondStep::new(site, now, &user, device.address).await?));
        }
        let proof = Proof::Provider(login.identity.clone());
        Ok(Entered::Session(LoginGrant { user, upgraded: None, proof }))
    });
    entered.await.map(SignedOn::Known)
}

/// The ticket of a login with which its owner connects an account.
///
/// # Errors
/// [`Refusal::DomainNotAllowed`]; [`Refusal::IdentityConnected`] if an account is connected to the identity; or the store's.
pub async fn ticket_to_connect((site, now): (&Site, Timestamp), login: &ProviderLogin) -> Result<String> {
    login.demand_allowed(&site.rules.oidc)?;
    match connected(site, &login.identity).await? {
        Some(_) => Err(Refusal::IdentityConnected.into()),
        None => login.seal(site, now).await,
    }
}

/// Connects the account of somebody who is logged in to the identity of a ticket, in place of the one before.
///
/// # Errors
/// [`Refusal::LoginExpired`], [`Refusal::IdentityConnected`], [`Refusal::SessionEnded`], or the store's.
pub async fn connect((site, now): (&Site, Timestamp), owner: Owner<'_>, ticket: &str) -> Result<()> {
    let login = ProviderLogin::open(site, now, ticket).await?;
    login.demand_allowed(&site.rules.oidc)?;
    let mut batch = Batch::new();
    let still = owner.session.key.check(&mut batch, owner.user.id);
    forget(&mut batch, owner.user);
    let free = batch.key_absent(keys::oidc_identity(&login.identity));
    write(&mut batch, owner.user.id, &login.identity);
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(()),
        Applied::No(check) if check == still => Err(Refusal::SessionEnded.into()),
        Applied::No(check) if check == free => Err(Refusal::IdentityConnected.into()),
        Applied::No(_) => Err(Error::Busy),
    }
}

/// Disconnects the account of somebody who is logged in, while they can log in in another way.
///
/// # Errors
/// [`Refusal::LastWayToLogIn`], [`Refusal::SessionEnded`], or the store's.
pub async fn disconnect(site: &Site, owner: Owner<'_>) -> Result<()> {
    Refusal::LastWayToLogIn.when(!owner.user.can_log_in_without_provider(site))?;
    let key = keys::user(owner.user.id);
    let mut batch = Batch::new();
    let still = owner.session.key.check(&mut batch, owner.user.id);
    forget(&mut batch, owner.user);
    // The other way must still be there.
    batch.field_unchanged(&key, TWO_FACTOR, site.store.fetch(read::field(&key, TWO_FACTOR)).await?);
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(()),
        Applied::No(check) if check == still => Err(Refusal::SessionEnded.into()),
        Applied::No(_) => Err(Error::Busy),
    }
}

/// Adds to a batch that a user is connected to an identity. The caller checks that nobody else is.
pub(crate) fn write(batch: &mut Batch, id: UserId, identity: &ProviderIdentity) {
    batch.field_absent(keys::user(id), DEACTIVATED);
    batch.set(keys::oidc_identity(identity), id.to_string());
    batch.set_field(keys::user(id), OIDC_IDENTITY, identity.as_str());
}

/// Adds to a batch that a user is connected to nothing. It fails if that has changed meanwhile.
pub(crate) fn forget(batch: &mut Batch, user: &User) {
    let key = keys::user(user.id);
    batch.field_unchanged(&key, OIDC_IDENTITY, user.identity.as_ref().map(ProviderIdentity::as_str));
    if let Some(identity) = &user.identity {
        batch.delete(keys::oidc_identity(identity));
        batch.delete_field(&key, OIDC_IDENTITY);
    }
}

impl User {
    /// Whether they could log in if they were not connected to a provider.
    pub fn can_log_in_without_provider(&self, site: &Site) -> bool {
        !site.rules.oidc.only && (self.has_password || self.second_factors.passkeys)
    }
}

/// Notes that the owner of a session has logged in anew, as the identity of the account: for ten minutes that stands for
/// the password that the account does not have.
///
/// # Errors
/// [`Refusal::OtherIdentity`], [`Refusal::SessionEnded`], or the store's.
pub async fn confirm(
    (site, now): (&Site, Timestamp),
    (user, session): (&User, &VisitSession),
    login: &ProviderLogin,
) -> Result<()> {
    Refusal::OtherIdentity.when(user.identity.as_ref() != Some(&login.identity))?;
    let mut batch = Batch::new();
    session_store::write_confirmed(&mut batch, now, session);
    site.apply(batch).await?.or(Refusal::SessionEnded)?;
    Ok(())
}

/// Ends all sessions of the account of an identity, because its provider has asked for it with a token that is good once.
/// An identity without an account has none. Returns whether the token was not used before.
pub async fn end_sessions(site: &Site, identity: &ProviderIdentity, token: &str) -> Result<bool> {
    let Some(id) = connected(site, identity).await? else {
        let mut batch = Batch::new();
        sealed::use_up(&mut batch, token);
        return Ok(matches!(site.apply(batch).await?, Applied::Yes(_)));
    };
    let session = Session::new(id)?;
    sessions::end_all_sessions(site, &session, None, |batch| vec![sealed::use_up(batch, token)]).await
}
