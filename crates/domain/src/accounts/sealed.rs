//! Short texts that the site signs and a browser carries, such as the state of a login through a provider. They hold for
//! ten minutes, for one purpose, and for what they are bound to.
//!
//! Keys: `used:token:<hash>`.

use crate::accounts::two_factor::signing_key::{signing_key, signing_key_for_strangers};
use crate::values::{Purpose, SIGN_ON_SECONDS, SigningKey, Timestamp};
use crate::{Refusal, Result, Site, keys};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::time::Duration;
use subtle::ConstantTimeEq;
use tidings_keyspace::{Batch, CheckId};

/// Signs a text. Rounds: none once this server knows its key.
pub(crate) async fn seal(
    (site, now): (&Site, Timestamp),
    purpose: Purpose,
    (text, bound_to): (&str, &str),
) -> Result<String> {
    let text = BASE64_URL_SAFE_NO_PAD.encode(text);
    let signature = sign(signing_key(site).await?, purpose, (now, &text, bound_to));
    Ok(format!("{now}.{text}.{}", hex::encode(signature)))
}

/// The text that was signed. Rounds: none once this server knows its key; else 1.
///
/// # Errors
/// [`Refusal::LoginExpired`] if it is too old, bound to something else, or not signed by this site; or the store's.
pub(crate) async fn open(
    (site, now): (&Site, Timestamp),
    purpose: Purpose,
    (sealed, bound_to): (&str, &str),
) -> Result<String> {
    // Anybody may send a text, and nothing is stored for it.
    let key = signing_key_for_strangers(site).await?;
    Ok(read(&key, now, purpose, (sealed, bound_to)).ok_or(Refusal::LoginExpired)?)
}

fn read(
    key: &SigningKey,
    now: Timestamp,
    purpose: Purpose,
    (sealed, bound_to): (&str, &str),
) -> Option<String> {
    let mut parts = sealed.splitn(3, '.');
    let (made, text, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let made = Timestamp(made.parse().ok()?);
    let expected = sign(key, purpose, (made, text, bound_to));
    let is_signed = bool::from(expected.ct_eq(&*hex::decode(signature).ok()?));
    let is_recent = made <= now && now.seconds_since(made) <= SIGN_ON_SECONDS;
    let text = BASE64_URL_SAFE_NO_PAD.decode(text).ok().filter(|_| is_signed && is_recent)?;
    String::from_utf8(text).ok()
}

fn sign(key: &SigningKey, purpose: Purpose, (made, text, bound_to): (Timestamp, &str, &str)) -> [u8; 32] {
    key.sign(purpose, &[made.to_string().as_bytes(), text.as_bytes(), bound_to.as_bytes()])
}

/// Notes in a batch that a token was used, which fails if it was used before. It must hold for ten minutes at most.
pub(crate) fn use_up(batch: &mut Batch, token: &str) -> CheckId {
    let key = keys::used_token(&hex::encode(Sha256::digest(token)));
    let unused = batch.key_absent(&key);
    batch.set_expiring(key, "1", Duration::from_secs(SIGN_ON_SECONDS + 60));
    unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_holds_for_ten_minutes_its_purpose_and_what_it_is_bound_to() {
        let key = SigningKey::random().unwrap();
        let (made, text) = (Timestamp(1_000), BASE64_URL_SAFE_NO_PAD.encode("a.b"));
        let signature = sign(&key, Purpose::OidcState, (made, &text, "alice"));
        let sealed = format!("{made}.{text}.{}", hex::encode(signature));
        let open = |seconds, purpose, sealed: &str, bound_to| {
            read(&key, Timestamp(seconds), purpose, (sealed, bound_to))
        };
        assert_eq!(open(1_600, Purpose::OidcState, &sealed, "alice").as_deref(), Some("a.b"));
        for (seconds, purpose, sealed, bound_to) in [
            (1_601, Purpose::OidcState, &*sealed, "alice"),
            (999, Purpose::OidcState, &sealed, "alice"),
            (1_600, Purpose::OidcLogin, &sealed, "alice"),
            (1_600, Purpose::OidcState, &sealed, "bob"),
            (1_600, Purpose::OidcState, &sealed.replacen('1', "2", 1), "alice"),
            (1_600, Purpose::OidcState, &sealed[..sealed.len() - 2], "alice"),
            (1_600, Purpose::OidcState, "1000", "alice"),
            (1_600, Purpose::OidcState, "", "alice"),
        ] {
            assert_eq!(open(seconds, purpose, sealed, bound_to), None, "{seconds} {sealed} {bound_to}");
        }
    }
}
