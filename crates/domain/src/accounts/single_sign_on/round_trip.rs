//! The way to a provider and back.
//!
//! The site stores nothing meanwhile. A cookie has a secret of the browser. The state is signed together with that secret,
//! so it is good in this browser alone, and says what the browser wanted. The nonce and the code verifier follow from the
//! two, so that each login has its own, in as many tabs as the person likes.

use crate::accounts::sealed;
use crate::accounts::two_factor::signing_key::signing_key;
use crate::values::{Purpose, Timestamp, UserId, never_logged, random_token};
use crate::{Error, Refusal, Result, Site};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

/// Why somebody goes to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errand {
    /// To log in, or to sign up.
    LogIn,
    /// To connect the account of this user.
    Connect(#[serde(deserialize_with = "user_id")] UserId),
    /// To confirm something as this user.
    Confirm(#[serde(deserialize_with = "user_id")] UserId),
}

/// An id as it is written: a number.
fn user_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UserId, D::Error> {
    u64::deserialize(deserializer).map(UserId)
}

/// Why somebody goes to the provider, and where they go afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journey {
    /// Why.
    pub errand: Errand,
    /// The path of the page that they go to afterwards.
    pub next: String,
    /// The time at which they went.
    pub began: u64,
    /// Tells two journeys apart.
    id: String,
}

impl Journey {
    /// A journey that begins.
    ///
    /// # Errors
    /// When there is no random number.
    pub fn new(errand: Errand, next: &str, now: Timestamp) -> Result<Self> {
        Ok(Self { errand, next: next.to_owned(), began: now.0, id: random_token()? })
    }
}

/// The values that go along on the way. Never logged.
pub struct RoundTrip {
    /// The value of the cookie, with the secret of the browser.
    pub cookie: String,
    /// The parameter `state`.
    pub state: String,
    /// The parameter `nonce`.
    pub nonce: String,
    /// The code verifier (RFC 7636).
    pub verifier: String,
}

never_logged!(RoundTrip);

impl RoundTrip {
    /// The parameter `code_challenge`, by the method S256.
    pub fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

/// Begins a journey in the browser with a cookie of an earlier one, if it has one. Rounds: none once this server knows its
/// key.
///
/// # Errors
/// The store's.
pub async fn begin(
    (site, now): (&Site, Timestamp),
    cookie: Option<&str>,
    journey: &Journey,
) -> Result<RoundTrip> {
    let secret = match cookie {
        Some(cookie) => sealed::open((site, now), Purpose::OidcBrowser, (cookie, "")).await.ok(),
        None => None,
    };
    let secret = secret.map_or_else(random_token, Ok)?;
    let cookie = sealed::seal((site, now), Purpose::OidcBrowser, (&secret, "")).await?;
    let journey = serde_json::to_string(journey).map_err(|error| Error::Internal(error.to_string()))?;
    let state = sealed::seal((site, now), Purpose::OidcState, (&journey, &secret)).await?;
    round_trip(site, cookie, state, &secret).await
}

/// The journey that a browser comes back from.
///
/// # Errors
/// [`Refusal::LoginExpired`] if it began more than ten minutes ago or in another browser, or the store's.
pub async fn end(
    (site, now): (&Site, Timestamp),
    cookie: Option<&str>,
    state: &str,
) -> Result<(Journey, RoundTrip)> {
    let cookie = cookie.ok_or(Refusal::LoginExpired)?;
    let secret = sealed::open((site, now), Purpose::OidcBrowser, (cookie, "")).await?;
    let journey = sealed::open((site, now), Purpose::OidcState, (state, &secret)).await?;
    let journey = serde_json::from_str(&journey).map_err(|_| Refusal::LoginExpired)?;
    Ok((journey, round_trip(site, cookie.to_owned(), state.to_owned(), &secret).await?))
}

async fn round_trip(site: &Site, cookie: String, state: String, secret: &str) -> Result<RoundTrip> {
    let key = signing_key(site).await?;
    let derived = |purpose| {
        let signature = key.sign(purpose, &[state.as_bytes(), secret.as_bytes()]);
        BASE64_URL_SAFE_NO_PAD.encode(signature)
    };
    let (nonce, verifier) = (derived(Purpose::OidcNonce), derived(Purpose::OidcVerifier));
    Ok(RoundTrip { cookie, state, nonce, verifier })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_tab_of_a_browser_comes_back_and_no_other_browser() {
        let site = Site::in_memory().await;
        let now = Timestamp(1_000_000);
        let journey = |next: &str| Journey::new(Errand::Confirm(UserId(17)), next, now).unwrap();
        let one = begin((&site, now), None, &journey("/a")).await.unwrap();
        let other = begin((&site, now), Some(&one.cookie), &journey("/b")).await.unwrap();
        let stranger = begin((&site, now), None, &journey("/c")).await.unwrap();
        assert!(one.nonce != other.nonce && one.verifier != other.verifier && one.nonce != one.verifier);
        assert_eq!(one.verifier.len(), 43);
        for (trip, next) in [(&one, "/a"), (&other, "/b")] {
            let (journey, back) = end((&site, now), Some(&other.cookie), &trip.state).await.unwrap();
            assert_eq!((&*journey.next, &back.nonce, &back.verifier), (next, &trip.nonce, &trip.verifier));
            for cookie in [None, Some(&*stranger.cookie), Some("")] {
                assert!(end((&site, now), cookie, &trip.state).await.is_err());
            }
        }
        assert!(end((&site, Timestamp(now.0 + 601)), Some(&one.cookie), &one.state).await.is_err());
    }
}
