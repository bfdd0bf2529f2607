//! Passkeys of an account: adding and removing them, and logging in with one alone.

use crate::accounts::account::{CurrentPassword, Owner, confirm_current_password};
use crate::accounts::log_in::{self, Entered, LoginGrant};
use crate::accounts::two_factor::codes;
use crate::accounts::two_factor::relying_party::{self, RelyingParty};
use crate::accounts::two_factor::second_step::{PasskeyUse, Proof};
use crate::accounts::two_factor::stored::{self, Passkey, StoredFactors};
use crate::accounts::{Device, Notice, Session, login};
use crate::values::{MAX_PASSKEY_NAME, MAX_PASSKEYS, Timestamp, printable_lines};
use crate::{Error, Refusal, Result, Site, User, audit, keys};
use tidings_keyspace::read;
use webauthn_rs_proto::UserVerificationPolicy;

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
) -> Result<String> {
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
) -> Result<Option<Vec<String>>> {
    let user_id = owner.user.id;
    let passkey = party.check_new((site, now), user_id, new.credential).await?;
    let id = stored::passkey_id(&passkey.credential_id);
    let passkey = Passkey { name: name_of(new.name), since: now.0, used: None, passkey };
    site.act(&keys::user_two_factor(user_id), || async {
        let factors = StoredFactors::read(site, user_id).await?;
        refuse_too_many(&factors)?;
        Refusal::PasskeyKnown.when(factors.passkey_text(&id).is_some())?;
        let codes = if factors.kinds().any() { None } else { Some(codes::new_recovery_codes()?) };
        let mut change = factors.change(owner, None);
        change.add_passkey(&id, &passkey)?;
        change.tell((site, now), Notice::PasskeyAdded);
        if let Some(codes) = &codes {
            change.replace_recovery(now, codes);
        }
        Ok(change.commit(codes))
    })
    .await
}

fn refuse_too_many(factors: &StoredFactors) -> Result<()> {
    Refusal::TooManyPasskeys { limit: MAX_PASSKEYS as u64 }.when(factors.passkey_count() >= MAX_PASSKEYS)?;
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
) -> Result<()> {
    let user_id = owner.user.id;
    let confirmed = confirm_current_password((site, now), owner, password).await?;
    site.act(&keys::user_two_factor(user_id), || async {
        let factors = StoredFactors::read(site, user_id).await?;
        factors.passkey_text(id).ok_or(Refusal::NoSuchPasskey)?;
        let mut change = factors.change(owner, Some(&confirmed));
        change.remove_passkey(id);
        change.tell((site, now), Notice::PasskeyRemoved);
        Ok(change.commit(()))
    })
    .await
}

/// The options that a browser needs to log in with a passkey alone, as JSON. Stores nothing.
/// Rounds: none, but for the first time of this server.
pub async fn log_in_options(site: &Site, now: Timestamp, party: &RelyingParty) -> Result<String> {
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
) -> Result<Session> {
    let address = device.address;
    let _turn = login::turn(site, address).await?;
    let attempt = login::Attempt { username: "", password: "", address, now: Some(now) };
    login::refuse_if_slowed_down(site, &attempt).await?;
    let entered = log_in::open(site, now, device, || async {
        Ok(Entered::Session(check_alone((site, now), credential, party).await?))
    });
    let entered = entered.await;
    if let Err(Error::Refused(Refusal::PasskeyRefused)) = &entered {
        audit::login_failed(None, address, "passkey refused");
        login::count_failure(site, None, &attempt).await?;
    }
    Ok(entered?.done()?)
}

async fn check_alone(
    (site, now): (&Site, Timestamp),
    credential: &str,
    party: &RelyingParty,
) -> Result<LoginGrant> {
    log_in::demand_passwords(site)?;
    let used = relying_party::parse_use(credential)?;
    let user_id = relying_party::user_of(&used).ok_or(Refusal::PasskeyRefused)?;
    let reads = (read::hash(keys::user(user_id)), StoredFactors::of_user(user_id));
    let (user, factors) = site.store.fetch(reads).await?;
    // A deactivated account is nobody's.
    User::from_hash(&user).ok_or(Refusal::PasskeyRefused)?;
    // The passkey takes the place of the password too.
    let verification = UserVerificationPolicy::Required;
    let used = PasskeyUse::check((site, now), &factors, (&used, party), verification).await?;
    Ok(LoginGrant { user, upgraded: None, proof: Proof::PasskeyAlone(used) })
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
