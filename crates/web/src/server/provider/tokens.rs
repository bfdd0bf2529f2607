//! Tokens of the provider, checked as OpenID Connect Core 1.0 (3.1.3.7) and Back-Channel Logout 1.0 (2.6) say.

use super::signatures::{ALGORITHMS, install};
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tidings_domain::values::Timestamp;
use tidings_domain::values::secrets::same_secret;

/// The seconds by which two clocks may differ.
pub(super) const LEEWAY_SECONDS: u64 = 60;
/// How old a token for a logout may be.
const LOGOUT_SECONDS: u64 = 300;
/// The event of a token for a logout.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Why a token does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenError {
    /// Its key is not among those of the provider: they may have been replaced.
    #[error("its key is not one of the provider")]
    UnknownKey,
    /// It has expired, or is not good yet: by this server's clock.
    #[error("it has expired, or is of the future: compare the clocks of the two servers")]
    Time,
    /// The issuer, the audience, the nonce or the signature is wrong, or something is missing.
    #[error("it is not for this site, or not well signed")]
    Wrong,
}

/// The claims of an ID token.
#[derive(Debug, Deserialize)]
pub(super) struct IdClaims {
    exp: f64,
    iat: f64,
    nonce: String,
    azp: Option<String>,
    aud: Value,
    /// The person.
    pub(super) sub: String,
    /// When they logged in.
    pub(super) auth_time: Option<f64>,
    /// How they logged in (RFC 8176).
    #[serde(default)]
    amr: Value,
    /// The rest: what the provider says of them.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

impl IdClaims {
    /// Whether the provider says that it has asked for a second factor.
    pub(super) fn has_second_factor(&self) -> bool {
        self.amr.as_array().is_some_and(|methods| methods.iter().any(|method| method == "mfa"))
    }
}

/// The claims of a token for a logout.
#[derive(Debug, Deserialize)]
struct LogoutClaims {
    iat: f64,
    exp: Option<f64>,
    jti: String,
    sub: String,
    nonce: Option<Value>,
    events: Map<String, Value>,
}

/// The party that a token must come from, and the party that it must be for.
#[derive(Clone, Copy)]
pub(super) struct Parties<'a> {
    /// The issuer.
    pub(super) issuer: &'a str,
    /// The id of this site at the issuer.
    pub(super) client_id: &'a str,
}

/// Reads an ID token of a login with this nonce.
pub(super) fn read_id_token(
    (keys, now): (&JwkSet, Timestamp),
    parties: Parties<'_>,
    (token, nonce): (&str, &str),
) -> Result<IdClaims, TokenError> {
    let claims: IdClaims = read(keys, parties, token)?;
    let is_ours = same_secret(&claims.nonce, nonce)
        && claims.azp.as_deref().is_none_or(|party| party == parties.client_id)
        // One for several parties says for which it was made.
        && (claims.azp.is_some() || claims.aud.as_array().is_none_or(|parties| parties.len() == 1));
    if !is_ours || claims.sub.is_empty() || claims.sub.len() > 255 {
        return Err(TokenError::Wrong);
    }
    demand_time(now, claims.iat, Some(claims.exp))?;
    Ok(claims)
}

/// Reads a token for a logout: whose sessions end, and the id of the token, which is good once.
pub(super) fn read_logout_token(
    (keys, now): (&JwkSet, Timestamp),
    parties: Parties<'_>,
    token: &str,
) -> Result<(String, String), TokenError> {
    let claims: LogoutClaims = read(keys, parties, token)?;
    let is_logout = claims.events.get(LOGOUT_EVENT).is_some_and(Value::is_object);
    if !is_logout || claims.nonce.is_some() || claims.sub.is_empty() || claims.jti.is_empty() {
        return Err(TokenError::Wrong);
    }
    demand_time(now, claims.iat, claims.exp)?;
    let age = now.0 as f64 - claims.iat;
    if age > (LOGOUT_SECONDS + LEEWAY_SECONDS) as f64 {
        Err(TokenError::Time)
    } else {
        Ok((claims.sub, claims.jti))
    }
}

/// The claims of a token from the issuer for this site. Its times are for the caller, who knows the clock.
fn read<T: DeserializeOwned>(keys: &JwkSet, parties: Parties<'_>, token: &str) -> Result<T, TokenError> {
    install();
    let header = decode_header(token).map_err(|_| TokenError::Wrong)?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(TokenError::Wrong);
    }
    let mut validation = Validation::new(header.alg);
    validation.validate_exp = false;
    validation.set_issuer(&[parties.issuer]);
    validation.set_audience(&[parties.client_id]);
    validation.set_required_spec_claims(&["iss", "aud"]);
    let signs = |key: &&Jwk| {
        let common = &key.common;
        common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
            && (header.kid.is_none() || common.key_id == header.kid)
    };
    let fitting = keys.keys.iter().filter(signs).filter_map(|key| DecodingKey::from_jwk(key).ok());
    let fitting: Vec<DecodingKey> = fitting.filter(|key| key.family() == header.alg.family()).collect();
    if fitting.is_empty() {
        return Err(TokenError::UnknownKey);
    }
    let mut read = fitting.iter().map(|key| decode::<T>(token, key, &validation));
    read.find_map(Result::ok).map(|data| data.claims).ok_or(TokenError::Wrong)
}

/// Whether a key can sign tokens that are accepted.
pub(super) fn is_usable(key: &Jwk) -> bool {
    DecodingKey::from_jwk(key).is_ok_and(|key| ALGORITHMS.iter().any(|known| known.family() == key.family()))
}

fn demand_time(now: Timestamp, iat: f64, exp: Option<f64>) -> Result<(), TokenError> {
    let (now, leeway) = (now.0 as f64, LEEWAY_SECONDS as f64);
    let is_good = iat <= now + leeway && exp.is_none_or(|exp| now < exp + leeway);
    if is_good { Ok(()) } else { Err(TokenError::Time) }
}
