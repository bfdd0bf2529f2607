//! Setting up second factors and removing them.

use crate::accounts::account::{CurrentPassword, Owner, confirm_current_password};
use crate::accounts::two_factor::codes::{self, TotpSecret, TypedCode};
use crate::accounts::two_factor::second_step::{self, Answer};
use crate::accounts::two_factor::signing_key::signing_key;
use crate::accounts::two_factor::stored::{self, StoredFactors};
use crate::accounts::{Attempt, Notice, SecondFactors, TWO_FACTOR};
use crate::audit::{self, AUDIT, COMMAND_LINE};
use crate::values::{NEW_TOTP_SECONDS, Timestamp, UserId, never_logged};
use crate::{Decision, KeptAnswer, Refusal, Result, Site, User, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// A new secret for an authenticator app, until a code confirms it. Never logged.
pub struct NewTotp {
    /// The secret in base 32.
    pub secret: String,
    /// The address from which an app takes it, for a QR code.
    pub uri: String,
}

impl KeptAnswer for NewTotp {
    fn to_text(&self) -> String {
        (self.secret.clone(), self.uri.clone()).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        <(String, String)>::from_text(text).map(|(secret, uri)| Self { secret, uri })
    }
}

never_logged!(NewTotp);

impl NewTotp {
    fn of(secret: &TotpSecret, user: &User, site_name: &str) -> Result<Self> {
        Ok(Self { secret: secret.base32(), uri: secret.uri(site_name, &user.username)? })
    }
}

/// The second factors of an account, for its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoFactorState {
    /// The kinds of second factors.
    pub factors: SecondFactors,
    /// Recovery codes that have not been used.
    pub recovery_codes: usize,
    /// The passkeys, the oldest first.
    pub passkeys: Vec<PasskeyFacts>,
}

/// A passkey, for its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyFacts {
    /// The id, to remove it.
    pub id: String,
    /// The name that the owner gave it.
    pub name: String,
    /// When it was added.
    pub since: Timestamp,
    /// When it was last used to log in, if ever.
    pub used: Option<Timestamp>,
}

/// Reads the second factors of an account. Rounds: 1.
pub async fn state(site: &Site, user: &User) -> Result<TwoFactorState> {
    let factors = StoredFactors::read(site, user.id).await?;
    let passkeys = factors.passkeys().into_iter().map(|(id, passkey)| PasskeyFacts {
        id,
        name: passkey.name,
        since: Timestamp(passkey.since),
        used: passkey.used.map(Timestamp),
    });
    let (kinds, recovery_codes) = (factors.kinds(), factors.recovery_count());
    Ok(TwoFactorState { factors: kinds, recovery_codes, passkeys: passkeys.collect() })
}

/// Draws a secret for an authenticator app. It counts once a code confirms it.
///
/// # Errors
/// [`Refusal::TotpOn`], those of a wrong password, [`Refusal::SessionEnded`], or the store's.
pub async fn begin_totp(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &CurrentPassword,
    site_name: &str,
) -> Result<NewTotp> {
    let user = owner.user;
    let confirmed = confirm_current_password((site, now), owner, password).await?;
    Refusal::TotpOn.when(user.second_factors.totp)?;
    // The logins of the account will need it.
    signing_key(site).await?;
    let secret = TotpSecret::random()?;
    let mut batch = Batch::new();
    owner.session.key.check(&mut batch, user.id);
    batch.field_equals(keys::user(user.id), "password", &confirmed);
    let life = Duration::from_secs(NEW_TOTP_SECONDS);
    batch.set_expiring(keys::user_new_totp(user.id), secret.base32(), life);
    site.apply(batch).await?.or(Refusal::SessionEnded)?;
    NewTotp::of(&secret, user, site_name)
}

/// The secret that waits for a code; `None` without one. Rounds: 1.
pub async fn new_totp(site: &Site, user: &User, site_name: &str) -> Result<Option<NewTotp>> {
    let secret = site.store.fetch(read::string(keys::user_new_totp(user.id))).await?;
    let secret = secret.as_deref().and_then(TotpSecret::parse);
    secret.map(|secret| NewTotp::of(&secret, user, site_name)).transpose()
}

/// Sets the authenticator app whose code this is, and tells the owner by mail. Returns new recovery codes, which replace
/// older ones. The code may still be used for a login: nothing was protected before it.
///
/// # Errors
/// [`Refusal::WrongCode`], [`Refusal::SetupExpired`], [`Refusal::TotpOn`],
/// [`Refusal::SessionEnded`], or the store's.
pub async fn confirm_totp(site: &Site, now: Timestamp, owner: Owner<'_>, code: &str) -> Result<Vec<String>> {
    let user_id = owner.user.id;
    let pending = keys::user_new_totp(user_id);
    site.act(&keys::user_two_factor(user_id), || async {
        let reads = (StoredFactors::of_user(user_id), read::string(&pending));
        let (factors, text) = site.store.fetch(reads).await?;
        Refusal::TotpOn.when(factors.kinds().totp)?;
        let text = text.ok_or(Refusal::SetupExpired)?;
        let secret = TotpSecret::parse(&text).ok_or(Refusal::SetupExpired)?;
        let Some(TypedCode::Totp(typed)) = TypedCode::parse(code) else {
            return Err(Refusal::WrongCode.into());
        };
        secret.step_of(&typed, now.0).ok_or(Refusal::WrongCode)?;
        let codes = codes::new_recovery_codes()?;
        let mut change = factors.change(owner, None);
        change.batch().string_equals(&pending, &text);
        change.batch().delete(&pending);
        change.set_totp(&secret);
        change.tell((site, now), Notice::TotpAdded);
        change.replace_recovery(now, &codes);
        Ok(change.commit(codes))
    })
    .await
}

/// Removes the authenticator app, and tells the owner by mail. Without a passkey, the recovery codes go with it.
///
/// # Errors
/// [`Refusal::TotpOff`], those of a wrong password, [`Refusal::WrongCode`],
/// [`Refusal::TooManyFailedLogins`], [`Refusal::SessionEnded`], or the store's.
pub async fn end_totp(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &CurrentPassword,
    code: &str,
) -> Result<()> {
    let user = owner.user;
    let confirmed = confirm_current_password((site, now), owner, password).await?;
    let address = owner.device.address;
    let attempt = Attempt { username: &user.username, password: "", address, now: None };
    Refusal::TotpOff.when(!user.second_factors.totp)?;
    let proof = second_step::check((site, now), user.id, &attempt, Answer::Code(code)).await?;
    // One attempt: the code was checked against the factors as they were.
    site.act_without_turns(1, || async {
        let factors = StoredFactors::read(site, user.id).await?;
        let mut change = factors.change(owner, Some(&confirmed));
        proof.write(change.batch(), user.id);
        change.remove_totp();
        change.tell((site, now), Notice::TotpRemoved);
        Ok(change.commit(()))
    })
    .await
}

/// Replaces the recovery codes by ten new ones, and tells the owner by mail.
///
/// # Errors
/// [`Refusal::NoSecondFactor`], those of a wrong password, [`Refusal::SessionEnded`], or the
/// store's.
pub async fn renew_recovery_codes(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &CurrentPassword,
) -> Result<Vec<String>> {
    let user_id = owner.user.id;
    let confirmed = confirm_current_password((site, now), owner, password).await?;
    site.act(&keys::user_two_factor(user_id), || async {
        let factors = StoredFactors::read(site, user_id).await?;
        Refusal::NoSecondFactor.when(!factors.kinds().any())?;
        let codes = codes::new_recovery_codes()?;
        let mut change = factors.change(owner, Some(&confirmed));
        change.replace_recovery(now, &codes);
        change.tell((site, now), Notice::RecoveryCodesReplaced);
        Ok(change.commit(codes))
    })
    .await
}

/// Removes all second factors of an account, for the operator. Returns whether there were any.
pub async fn remove_all(site: &Site, user_id: UserId) -> Result<bool> {
    let key = keys::user(user_id);
    let removed = site.act(&key, || async {
        let had = site.store.fetch(read::field(&key, TWO_FACTOR)).await?;
        let mut batch = Batch::new();
        batch.field_unchanged(&key, TWO_FACTOR, had.as_ref());
        stored::remove_all(&mut batch, user_id);
        Ok(Decision::commit(batch, had.is_some()))
    });
    let had_any = removed.await?;
    if had_any {
        let (by, account) = (COMMAND_LINE, audit::name_of(site, user_id).await);
        tracing::info!(target: AUDIT, by, account, user = user_id.0, "removed the second factors");
    }
    Ok(had_any)
}
