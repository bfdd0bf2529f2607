//! Passkeys of an account: adding and removing them, and logging in with one alone.

use crate::accounts::account::{CurrentPassword, Owner, confirm_current_password};
use crate::accounts::log_in::{self, Entered, LogIn, LoginGrant};
use crate::accounts::login;
use crate::accounts::notices::Notice;
use crate::accounts::session_store::{Device, Session};
use crate::accounts::two_factor::codes;
use crate::accounts::two_factor::relying_party::{self, RelyingParty, UserVerification};
use crate::accounts::two_factor::second_step::{PasskeyUse, Proof};
use crate::accounts::two_factor::stored::{self, Passkey, StoredFactors, check_password};
use crate::accounts::users::User;
use crate::values::text::printable_lines;
use crate::values::{MAX_PASSKEY_NAME, MAX_PASSKEYS, Timestamp};
use crate::{Decision, Error, Refusal, Site, audit, keys};
use tidings_keyspace::read;

/// The default name of a passkey.
const UNNAMED: &str = "Passkey";

/// A name for a passkey: what can be shown of what was typed.
fn name_of(typed: &str) -> String {
    let name: String = printable_lines(typed).split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = name.chars().take(MAX_PASSKEY_NAME).collect();
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

/// The first step of adding a passkey: what the browser needs, as JSON.
///
/// # Errors
/// Those of a wrong password, [`Refusal::TooManyPasskeys`], or the store's.
pub async fn begin(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &CurrentPassword,
    party: &RelyingParty,
) -> Result<String, Error> {
    confirm_current_password((site, now), owner, password).await?;
    let factors = StoredFactors::read(site, owner.user.id).await?;
    refuse_too_many(&factors)?;
    let user = (owner.user.id, owner.user.username.as_str());
    party.registration_options((site, now), user, &factors).await
}

/// A passkey to be added.
pub struct NewPasskey<'a> {
    /// The name that the owner gives it; any text.
    pub name: &'a str,
    /// The answer of the browser, as JSON.
    pub credential: &'a str,
}

/// Adds a passkey, and tells the owner by mail. Returns recovery codes if it is the first second factor of the account.
///
/// # Errors
/// [`Refusal::PasskeyRefused`], [`Refusal::SetupExpired`], [`Refusal::TooManyPasskeys`],
/// [`Refusal::PasskeyKnown`], [`Refusal::SessionEnded`], or the store's.
pub async fn add(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    new: &NewPasskey<'_>,
    party: &RelyingParty,
) -> Result<Option<Vec<String>>, Error> {
    let user_id = owner.user.id;
    let passkey = party.check_new((site, now), user_id, new.credential).await?;
    let id = stored::passkey_id(&passkey.credential_id);
    let passkey = Passkey { name: name_of(new.name), since: now.0, used: None, passkey };
    site.act(&keys::user_two_factor(user_id), || async {
        let factors = StoredFactors::read(site, user_id).await?;
        refuse_too_many(&factors)?;
        if factors.passkey_text(&id).is_some() {
            return Err(Refusal::PasskeyKnown.into());
        }
        let codes = if factors.kinds().any() { None } else { Some(codes::new_recovery_codes()?) };
        let mut change = factors.change();
        let still = owner.session.key.check(change.batch(), user_id);
        change.add_passkey(&id, &passkey)?;
        change.tell((site, now), owner.user, Notice::PasskeyAdded);
        if let Some(codes) = &codes {
            change.replace_recovery(now, factors.recovery_fields(), codes);
        }
        Ok(Decision::commit(change.finish(), codes).if_rejected_by(still, Err(stored::ended())))
    })
    .await
}

fn refuse_too_many(factors: &StoredFactors) -> Result<(), Error> {
    if factors.passkey_count() >= MAX_PASSKEYS {
        return Err(Refusal::TooManyPasskeys { limit: MAX_PASSKEYS as u64 }.into());
    }
    Ok(())
}

/// Removes a passkey, and tells the owner by mail. Without another second factor, the recovery codes go with it.
///
/// # Errors
/// [`Refusal::NoSuchPasskey`], those of a wrong password, [`Refusal::SessionEnded`], or the
/// store's.
pub async fn remove(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &CurrentPassword,
    id: &str,
) -> Result<(), Error> {
    let user_id = owner.user.id;
    let confirmed = confirm_current_password((site, now), owner, password).await?;
    site.act(&keys::user_two_factor(user_id), || async {
        let factors = StoredFactors::read(site, user_id).await?;
        factors.passkey_text(id).ok_or(Refusal::NoSuchPasskey)?;
        let mut change = factors.change();
        let still = owner.session.key.check(change.batch(), user_id);
        let same_password = check_password(change.batch(), user_id, &confirmed);
        change.remove_passkey(id, factors.passkey_count());
        change.tell((site, now), owner.user, Notice::PasskeyRemoved);
        let decided = Decision::commit(change.finish(), ());
        Ok(decided
            .if_rejected_by(still, Err(stored::ended()))
            .if_rejected_by(same_password, Err(stored::ended())))
    })
    .await
}

/// The options that a browser needs to log in with a passkey alone, as JSON. Stores nothing.
/// Rounds: none, but for the first time of this server.
pub async fn log_in_options(site: &Site, now: Timestamp, party: &RelyingParty) -> Result<String, Error> {
    party.authentication_options(site, now, None).await
}

/// Logs in with a passkey alone. It must have shown that it is its owner who uses it, with a PIN or
/// a finger. A wrong answer counts as a failed login of the address. Rounds: 2, and those of
/// opening a session.
///
/// # Errors
/// [`Refusal::PasskeyRefused`], [`Refusal::LoginExpired`], [`Refusal::TooManyFailedLogins`],
/// [`Refusal::TooManyAtOnce`], or the store's.
pub async fn log_in(
    (site, now): (&Site, Timestamp),
    credential: &str,
    party: &RelyingParty,
    device: &Device,
) -> Result<Session, Error> {
    let address = device.address;
    let _turn = login::turn(site, address).await?;
    let attempt = login::Attempt { username: "", password: "", address, now: Some(now) };
    login::refuse_if_slowed_down(site, &attempt).await?;
    let entered = log_in::open(site, now, device, || async {
        Ok(Entered::Session(check_alone((site, now), credential, party).await?))
    });
    match entered.await {
        Ok(LogIn::Done(session)) => Ok(session),
        // A passkey is all that it takes.
        Ok(LogIn::SecondStep(_)) => Err(Refusal::CodeRequired.into()),
        Err(error) => {
            if matches!(error, Error::Refused(Refusal::PasskeyRefused)) {
                audit::login_failed(None, address, "passkey refused");
                login::count_failure(site, None, &attempt).await?;
            }
            Err(error)
        }
    }
}

async fn check_alone(
    (site, now): (&Site, Timestamp),
    credential: &str,
    party: &RelyingParty,
) -> Result<LoginGrant, Error> {
    log_in::demand_passwords(site)?;
    let credential = relying_party::parse_use(credential)?;
    let user_id = relying_party::user_of(&credential).ok_or(Refusal::PasskeyRefused)?;
    let id = stored::passkey_id(credential.get_credential_id());
    let reads = (read::hash(keys::user(user_id)), StoredFactors::of_user(user_id));
    let (user, factors) = site.store.fetch(reads).await?;
    // A deactivated account is nobody's.
    User::from_hash(&user).ok_or(Refusal::PasskeyRefused)?;
    let before = factors.passkey_text(&id).ok_or(Refusal::PasskeyRefused)?.to_owned();
    let passkey = factors.passkey(&id).ok_or(Refusal::PasskeyRefused)?;
    let wanted = (&passkey.passkey, UserVerification::Required);
    let used = party.check_use((site, now), &credential, wanted).await?;
    let proof = Proof::PasskeyAlone(PasskeyUse::new(now, (id, before), passkey, used)?);
    Ok(LoginGrant { user, upgraded: None, proof })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line() {
        for (typed, name) in [
            ("My phone", "My phone"),
            ("  My \n phone ", "My phone"),
            ("", "Passkey"),
            (" \u{7} ", "Passkey"),
        ] {
            assert_eq!(name_of(typed), name);
        }
        assert_eq!(name_of(&"é".repeat(1_000)).chars().count(), MAX_PASSKEY_NAME);
    }
}
