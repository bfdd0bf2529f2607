//! The second step of a login: what somebody shows after the right password.

use crate::accounts::login::{self, Attempt};
use crate::accounts::two_factor::codes::TypedCode;
use crate::accounts::two_factor::relying_party::{self, RelyingParty};
use crate::accounts::two_factor::stored::{self, StoredFactors};
use crate::accounts::users::OIDC_IDENTITY;
use crate::accounts::{LoginMethod, TWO_FACTOR, sealed};
use crate::values::{ProviderIdentity, SECOND_STEP_SECONDS, Timestamp, UserId, never_logged};
use crate::{Error, Refusal, Result, Site, audit, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, CheckId};
use webauthn_rs::prelude::PublicKeyCredential;
use webauthn_rs_proto::UserVerificationPolicy;

/// A second factor as somebody shows it. Never logged.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// The text that was typed as a code of the authenticator app, or as a recovery code.
    Code(&'a str),
    /// The answer of the browser after a passkey was used, as JSON.
    Passkey(&'a str, &'a RelyingParty),
}

never_logged!(Answer<'_>);

/// A second factor that was right, or none was needed. The batch of the login uses it up.
pub(crate) enum Proof {
    /// The account has no second factor.
    NotNeeded,
    /// The code of a time step, and the step that was stored.
    Totp { before: Option<String>, step: u64 },
    /// The field of a recovery code, as it is stored.
    Recovery((String, String)),
    /// The use of a passkey, as the second step.
    Passkey(PasskeyUse),
    /// The use of a passkey, without a password.
    PasskeyAlone(PasskeyUse),
    /// A login through a provider, which takes the place of a password and of a second factor.
    Provider(ProviderIdentity),
    /// The link that the operator made, which takes the place of both, with the token that is good once.
    Link(String),
}

/// The use of a passkey.
pub(crate) struct PasskeyUse {
    id: String,
    before: String,
    after: String,
    challenge: Vec<u8>,
}

impl Proof {
    /// How the session that it opens was logged in to.
    pub(crate) const fn method(&self) -> LoginMethod {
        match self {
            Self::NotNeeded => LoginMethod::Password,
            Self::Totp { .. } => LoginMethod::Totp,
            Self::Recovery(_) => LoginMethod::RecoveryCode,
            Self::Passkey(_) => LoginMethod::PasswordAndPasskey,
            Self::PasskeyAlone(_) => LoginMethod::Passkey,
            Self::Provider(_) => LoginMethod::Provider,
            Self::Link(_) => LoginMethod::Link,
        }
    }

    /// Uses it up in a batch, which fails if it has been used meanwhile. Returns the check that
    /// fails if it was used before, so that trying again does not help.
    pub(crate) fn write(&self, batch: &mut Batch, user_id: UserId) -> Option<CheckId> {
        match self {
            // Fails if a second factor was added meanwhile.
            Self::NotNeeded => _ = batch.field_absent(keys::user(user_id), TWO_FACTOR),
            Self::Totp { before, step } => {
                stored::note_step(batch, user_id, (before.as_deref(), *step));
                batch.delete(keys::wrong_codes(user_id));
            }
            Self::Recovery(field) => stored::use_recovery_code(batch, user_id, field),
            Self::Passkey(used) | Self::PasskeyAlone(used) => return Some(used.write(batch, user_id)),
            // Fails if the account was disconnected meanwhile.
            Self::Provider(identity) => {
                batch.field_equals(keys::user(user_id), OIDC_IDENTITY, identity.as_str());
            }
            Self::Link(token) => return Some(sealed::use_up(batch, token)),
        }
        None
    }
}

impl PasskeyUse {
    /// Checks a use of one of the passkeys of an account.
    pub(crate) async fn check(
        (site, now): (&Site, Timestamp),
        factors: &StoredFactors,
        (used, party): (&PublicKeyCredential, &RelyingParty),
        verification: UserVerificationPolicy,
    ) -> Result<Self> {
        let id = stored::passkey_id(used.get_credential_id());
        let before = factors.passkey_text(&id).ok_or(Refusal::PasskeyRefused)?.to_owned();
        let mut passkey = factors.passkey(&id).ok_or(Refusal::PasskeyRefused)?;
        let wanted = (&passkey.passkey, verification);
        let (challenge, key) = party.check_use((site, now), used, wanted).await?;
        passkey.used = Some(now.0);
        passkey.passkey = key;
        Ok(Self { id, before, after: stored::passkey_json(&passkey)?, challenge })
    }

    fn write(&self, batch: &mut Batch, user_id: UserId) -> CheckId {
        stored::note_passkey(batch, user_id, &self.id, (&self.before, &self.after));
        // A challenge is accepted once, for as long as it is accepted at all.
        let challenge = keys::used_challenge(&self.challenge);
        let unused = batch.key_absent(&challenge);
        batch.set_expiring(challenge, user_id.to_string(), Duration::from_secs(SECOND_STEP_SECONDS + 1));
        unused
    }
}

/// Checks the second factor that somebody shows for an account. A wrong one counts as a failed
/// login. Rounds: 1; for a code of the app 2 more, and what a failed login costs.
///
/// # Errors
/// [`Refusal::WrongCode`], [`Refusal::PasskeyRefused`], [`Refusal::LoginExpired`],
/// [`Refusal::TooManyFailedLogins`], or the store's.
pub(crate) async fn check(
    (site, now): (&Site, Timestamp),
    user_id: UserId,
    attempt: &Attempt<'_>,
    answer: Answer<'_>,
) -> Result<Proof> {
    let factors = StoredFactors::read(site, user_id).await?;
    let checked = match answer {
        Answer::Code(typed) => check_code((site, now), &factors, typed).await,
        Answer::Passkey(credential, party) => check_passkey((site, now), &factors, (credential, party)).await,
    };
    if let Err(Error::Refused(Refusal::WrongCode | Refusal::PasskeyRefused)) = &checked {
        audit::login_failed(Some(attempt.username), attempt.address, "wrong second factor");
        login::count_failure(site, Some(user_id), attempt).await?;
    }
    checked
}

async fn check_code((site, now): (&Site, Timestamp), factors: &StoredFactors, typed: &str) -> Result<Proof> {
    match TypedCode::parse(typed) {
        Some(TypedCode::Totp(code)) => {
            let secret = factors.totp().ok_or(Refusal::WrongCode)?;
            // Counted before it is compared, so that many addresses at once get no more tries.
            login::count_code(site, factors.user_id).await?;
            let step = secret.step_of(&code, now.0).filter(|step| factors.is_unused(*step));
            let before = factors.totp_step().map(str::to_owned);
            Ok(Proof::Totp { before, step: step.ok_or(Refusal::WrongCode)? })
        }
        Some(TypedCode::Recovery(code)) => {
            Ok(Proof::Recovery(factors.recovery_field(&code).ok_or(Refusal::WrongCode)?))
        }
        None => Err(Refusal::WrongCode.into()),
    }
}

async fn check_passkey(
    (site, now): (&Site, Timestamp),
    factors: &StoredFactors,
    (credential, party): (&str, &RelyingParty),
) -> Result<Proof> {
    let used = relying_party::parse_use(credential)?;
    let verification = UserVerificationPolicy::Preferred;
    PasskeyUse::check((site, now), factors, (&used, party), verification).await.map(Proof::Passkey)
}
