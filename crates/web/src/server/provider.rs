//! The OpenID provider through which people log in: what is known of it, and the questions to it.
//!
//! A worker reads the provider's description and keys at the start and every hour, and each minute while that fails. So a
//! provider that is away, or a setting that is wrong, stops nothing but this way to log in. Everything asked of it takes at
//! most five seconds and 64 KiB.

mod asking;
mod signatures;
mod tokens;

use self::asking::{Answer, AskError, get, request_for, send};
use self::tokens::{LEEWAY_SECONDS, Parties, TokenError};
use crate::App;
use crate::error::ProviderError;
use crate::limits::{PROVIDER_QUESTIONS, PROVIDER_RENEWED_EVERY};
use crate::server::conditions::SIGN_IN_SERVICE;
use crate::settings::OidcSettings;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use jiff::fmt::rfc2822;
use jsonwebtoken::jwk::JwkSet;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::accounts::single_sign_on::ProviderLogin;
use tidings_domain::accounts::single_sign_on::round_trip::{Errand, Journey, RoundTrip};
use tidings_domain::values::ProviderIdentity;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use url::{Url, form_urlencoded};

/// The path to which the provider sends people back.
pub const CALLBACK: &str = "/oidc/callback";
/// The type of a form.
const FORM: &str = "application/x-www-form-urlencoded";
/// How often the settings are compared with those in use.
const SETTINGS_EVERY: Duration = Duration::from_secs(1);
/// A secret is one line.
const MOST_SECRET_BYTES: u64 = 4_096;

/// The description of the provider (OpenID Connect Discovery 1.0).
#[derive(Debug, Clone, Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    userinfo_endpoint: Option<Url>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// A provider that is known.
struct Known {
    settings: OidcSettings,
    description: Description,
    secret: String,
    keys: Mutex<(JwkSet, Instant)>,
}

/// The provider, as far as this server knows it.
pub struct Provider {
    known: Mutex<Option<Arc<Known>>>,
    /// Questions that may be under way at the same time.
    places: Semaphore,
    /// Whether it has refused this site since the last look at it.
    has_refused: AtomicBool,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            places: Semaphore::new(PROVIDER_QUESTIONS),
            has_refused: AtomicBool::new(false),
        }
    }
}

impl Provider {
    /// Whether people can log in through it.
    pub fn is_known(&self) -> bool {
        self.known.lock().is_some()
    }

    fn get(&self) -> Result<Arc<Known>, ProviderError> {
        self.known.lock().clone().ok_or(ProviderError::Away)
    }
}

/// Why the provider is not known. For the operator.
#[derive(Debug, thiserror::Error)]
enum SetupError {
    #[error("oidc.client_secret_file cannot be read: {0}")]
    Secret(std::io::Error),
    #[error("{url} of the issuer: {cause}")]
    Asked { url: &'static str, cause: AskError },
    #[error("its issuer is {0}; set oidc.issuer to that if it is the right one")]
    OtherIssuer(String),
    #[error("it has no keys for RS256, ES256 or EdDSA")]
    NoKeys,
    #[error("oidc.client_secret_file does not hold the secret of oidc.client_id")]
    WrongSecret,
    #[error("it does not know oidc.client_id or the redirect address {0}; register both there")]
    WrongAddress(String),
    #[error("its clock and that of this server differ by {0} seconds")]
    Clock(u64),
}

/// Learns what the provider is, and tells the operator if that fails or if something is wrong with the settings. New
/// settings count at once, and a provider that has refused this site is looked at again.
pub async fn watch(app: &App) {
    loop {
        let settings = app.settings.oidc.clone();
        let (pause, looked) = (look(app, settings.as_ref()).await, Instant::now());
        let least = settings.as_ref().map_or(PROVIDER_RENEWED_EVERY, |settings| settings.retry_every);
        let changed = async {
            let is_settled = || {
                let is_refused =
                    app.provider.has_refused.load(Ordering::Relaxed) && looked.elapsed() >= least;
                app.settings.oidc == settings && !is_refused
            };
            while is_settled() {
                sleep(SETTINGS_EVERY).await;
            }
        };
        timeout(pause, changed).await.ok();
    }
}

/// Looks at the provider once. Returns when to look again.
async fn look(app: &App, settings: Option<&OidcSettings>) -> Duration {
    app.provider.has_refused.store(false, Ordering::Relaxed);
    let Some(settings) = settings else {
        *app.provider.known.lock() = None;
        app.health.tell(SIGN_IN_SERVICE, None);
        return PROVIDER_RENEWED_EVERY;
    };
    let fault = match learn(app, settings).await {
        Ok((known, skew)) => {
            let fault = match skew {
                0..=LEEWAY_SECONDS => try_out(app, &known).await.err(),
                skew => Some(SetupError::Clock(skew)),
            };
            *app.provider.known.lock() = Some(Arc::new(known));
            fault
        }
        Err(error) => {
            // It stays known: a provider that is away for a while has the same keys afterwards.
            app.provider.known.lock().take_if(|known| known.settings != *settings);
            Some(error)
        }
    };
    let pause = if fault.is_some() { settings.retry_every } else { PROVIDER_RENEWED_EVERY };
    app.health.tell(SIGN_IN_SERVICE, fault.map(|fault| fault.to_string()));
    pause
}

/// Reads the secret, the description and the keys, and by how many seconds the clock of the provider differs.
async fn learn(app: &App, settings: &OidcSettings) -> Result<(Known, u64), SetupError> {
    const WELL_KNOWN: &str = ".well-known/openid-configuration";
    let asked = |url| move |cause| SetupError::Asked { url, cause };
    let secret = read_secret(settings).map_err(SetupError::Secret)?;
    let mut url = settings.issuer.clone();
    url.set_path(&format!("{}/{WELL_KNOWN}", url.path().trim_end_matches('/')));
    let answer = get(app, settings, &url).await.map_err(asked(WELL_KNOWN))?;
    let description: Description = answer.json().map_err(asked(WELL_KNOWN))?;
    if description.issuer.trim_end_matches('/') != settings.issuer.as_str().trim_end_matches('/') {
        return Err(SetupError::OtherIssuer(description.issuer));
    }
    let keys = get(app, settings, &description.jwks_uri).await.map_err(asked("jwks_uri"))?;
    let keys: JwkSet = keys.json().map_err(asked("jwks_uri"))?;
    if !keys.keys.iter().any(tokens::is_usable) {
        return Err(SetupError::NoKeys);
    }
    let keys = Mutex::new((keys, Instant::now()));
    Ok((Known { settings: settings.clone(), description, secret, keys }, skew_of(app, &answer.headers)))
}

fn read_secret(settings: &OidcSettings) -> std::io::Result<String> {
    use std::io::Read;
    let mut secret = String::new();
    std::fs::File::open(&settings.client_secret_file)?.take(MOST_SECRET_BYTES).read_to_string(&mut secret)?;
    Ok(secret.trim().to_owned())
}

/// The seconds between the clock of the provider and that of this server.
fn skew_of(app: &App, headers: &HeaderMap) -> u64 {
    let date = headers.get(header::DATE).and_then(|date| rfc2822::parse(date.to_str().ok()?).ok());
    let now = i64::try_from(app.now().0).unwrap_or(i64::MAX);
    date.map_or(0, |date| date.timestamp().as_second().abs_diff(now))
}

/// Asks the provider whether it knows this site, without anybody who logs in: it answers a wrong code with
/// `invalid_grant` if id and secret are right, and sends back a browser that is not to see any page.
async fn try_out(app: &App, known: &Known) -> Result<(), SetupError> {
    let fields = [("grant_type", "authorization_code"), ("code", "-"), ("code_verifier", "-")];
    if let Ok(answer) = ask_for_token(app, known, &fields).await
        && is_client_refused(&answer)
    {
        return Err(SetupError::WrongSecret);
    }
    let callback = app.settings.site.link(CALLBACK);
    let mut url = authorization(known, &callback, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    url.query_pairs_mut().extend_pairs([
        ("scope", "openid"),
        ("prompt", "none"),
        ("state", "-"),
        ("nonce", "-"),
    ]);
    match get(app, &known.settings, &url).await {
        Ok(answer) if answer.status.is_client_error() => Err(SetupError::WrongAddress(callback)),
        _ => Ok(()),
    }
}

/// The address that asks for a code, without what differs between those who ask.
fn authorization(known: &Known, callback: &str, challenge: &str) -> Url {
    let mut url = known.description.authorization_endpoint.clone();
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", &known.settings.client_id),
        ("redirect_uri", callback),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
    ]);
    url
}

/// Whether the answer for a token is that the id or the secret of this site is wrong (RFC 6749, 5.2).
fn is_client_refused(answer: &Answer) -> bool {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    let refused = serde_json::from_slice::<Refused>(&answer.body);
    refused.is_ok_and(|refused| matches!(&*refused.error, "invalid_client" | "unauthorized_client"))
}

/// The address at the provider to which somebody goes.
///
/// # Errors
/// [`ProviderError::Away`].
pub fn destination(app: &App, journey: &Journey, trip: &RoundTrip) -> Result<Url, ProviderError> {
    let known = app.provider.get()?;
    let mut url = authorization(&known, &app.settings.site.link(CALLBACK), &trip.challenge());
    let own = [("scope", &known.settings.scopes), ("state", &trip.state), ("nonce", &trip.nonce)];
    url.query_pairs_mut().extend_pairs(own);
    if matches!(journey.errand, Errand::Confirm(_)) {
        url.query_pairs_mut().extend_pairs([("prompt", "login"), ("max_age", "0")]);
    }
    Ok(url)
}

/// Refuses an answer that names another issuer (RFC 9207).
///
/// # Errors
/// [`ProviderError::Wrong`] or [`ProviderError::Away`].
pub fn demand_issuer(app: &App, named: Option<&str>) -> Result<(), ProviderError> {
    let known = app.provider.get()?;
    let is_same = named.is_none_or(|issuer| issuer == known.description.issuer);
    if is_same { Ok(()) } else { Err(ProviderError::Wrong) }
}

/// The answer to a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

/// The person for whom the provider gave this code.
///
/// # Errors
/// All but [`ProviderError::Cancelled`].
pub async fn redeem(
    app: &App,
    code: &str,
    (journey, trip): (&Journey, &RoundTrip),
) -> Result<ProviderLogin, ProviderError> {
    let known = app.provider.get()?;
    let fields = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", &trip.verifier)];
    let answer = ask_for_token(app, &known, &fields).await.map_err(|error| noted(&error))?;
    if is_client_refused(&answer) {
        app.provider.has_refused.store(true, Ordering::Relaxed);
        return Err(ProviderError::SiteRefused);
    }
    if answer.status.is_client_error() {
        // The code was used, or is too old.
        return Err(ProviderError::Wrong);
    }
    let tokens: Tokens = answer.json().map_err(|error| noted(&error))?;
    let claims = with_keys(app, &known, |keys| {
        tokens::read_id_token((keys, app.now()), parties(&known), (&tokens.id_token, &trip.nonce))
    });
    let claims = claims.await?;
    if matches!(journey.errand, Errand::Confirm(_)) {
        let is_anew = claims.auth_time.is_some_and(|at| at + LEEWAY_SECONDS as f64 >= journey.began as f64);
        if !is_anew {
            return Err(ProviderError::NotAnew);
        }
    }
    let has_second_factor = claims.has_second_factor();
    let mut about = claims.rest;
    let groups_claim = &*known.settings.groups_claim;
    let wanted = ["preferred_username", "email", "email_verified", groups_claim];
    if let (Some(url), Some(token)) = (&known.description.userinfo_endpoint, &tokens.access_token)
        && wanted.iter().any(|claim| !about.contains_key(*claim))
    {
        about.extend(user_info(app, &known, (url, token), &claims.sub).await?);
    }
    let text = |name: &str| about.get(name).and_then(Value::as_str).map(str::to_owned);
    let groups: Vec<String> = about.get(groups_claim).map(texts_of).unwrap_or_default();
    Ok(ProviderLogin {
        identity: ProviderIdentity::new(&known.description.issuer, &claims.sub),
        username: text("preferred_username").unwrap_or_default(),
        email: text("email"),
        // Some providers send a text.
        is_email_verified: about.get("email_verified").is_some_and(|is| *is == true || *is == "true"),
        has_second_factor,
        role: ProviderLogin::role_of(&app.site.rules.oidc, &groups),
    })
}

/// The texts of a list, or one text.
fn texts_of(value: &Value) -> Vec<String> {
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The claims about the person that are not in the token. It must be the same person.
async fn user_info(
    app: &App,
    known: &Known,
    (url, token): (&Url, &str),
    subject: &str,
) -> Result<Map<String, Value>, ProviderError> {
    let bearer = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ProviderError::Wrong)?;
    let request = request_for(app, Method::GET, url).header(header::AUTHORIZATION, bearer);
    let answer = send(app, &known.settings, url, (request, Body::empty())).await;
    let mut about: Map<String, Value> =
        answer.and_then(|answer| answer.json()).map_err(|error| noted(&error))?;
    if about.remove("sub").as_ref().and_then(Value::as_str) != Some(subject) {
        return Err(ProviderError::Wrong);
    }
    Ok(about)
}

/// The person whose sessions end by a token of the provider, and the name of the token, which is good once.
///
/// # Errors
/// [`ProviderError::Wrong`] or [`ProviderError::Away`].
pub async fn read_logout(app: &App, token: &str) -> Result<(ProviderIdentity, String), ProviderError> {
    let known = app.provider.get()?;
    let read = |keys: &JwkSet| tokens::read_logout_token((keys, app.now()), parties(&known), token);
    let (subject, id) = with_keys(app, &known, read).await?;
    let issuer = &known.description.issuer;
    Ok((ProviderIdentity::new(issuer, &subject), format!("{issuer} {id}")))
}

fn parties(known: &Known) -> Parties<'_> {
    Parties { issuer: &known.description.issuer, client_id: &known.settings.client_id }
}

/// Reads a token with the keys that are known, and again with those of now if its key is not among them: at most once a
/// minute.
async fn with_keys<T>(
    app: &App,
    known: &Known,
    read: impl Fn(&JwkSet) -> Result<T, TokenError>,
) -> Result<T, ProviderError> {
    let keys = || known.keys.lock();
    let mut outcome = read(&keys().0);
    let is_due = matches!(outcome, Err(TokenError::UnknownKey)) && {
        let mut keys = keys();
        let is_due = keys.1.elapsed() >= known.settings.keys_every;
        if is_due {
            keys.1 = Instant::now();
        }
        is_due
    };
    if is_due {
        let fetched = get(app, &known.settings, &known.description.jwks_uri).await;
        let fetched: JwkSet = fetched.and_then(|answer| answer.json()).map_err(|error| noted(&error))?;
        outcome = read(&fetched);
        keys().0 = fetched;
    }
    outcome.map_err(|error| {
        tracing::warn!(%error, "a token of the sign-in service was refused");
        match error {
            TokenError::Time => ProviderError::Clock,
            TokenError::UnknownKey | TokenError::Wrong => ProviderError::Wrong,
        }
    })
}

/// Logs why the provider has not answered.
fn noted(error: &AskError) -> ProviderError {
    tracing::warn!(%error, "the sign-in service has not answered");
    ProviderError::Away
}

async fn ask_for_token(app: &App, known: &Known, fields: &[(&str, &str)]) -> Result<Answer, AskError> {
    let (id, secret) = (&*known.settings.client_id, &*known.secret);
    let callback = app.settings.site.link(CALLBACK);
    let mut fields = fields.to_vec();
    fields.push(("redirect_uri", &callback));
    let url = &known.description.token_endpoint;
    let mut request = request_for(app, Method::POST, url).header(header::CONTENT_TYPE, FORM);
    // Without a word about it, Basic is meant.
    let methods = &known.description.token_endpoint_auth_methods_supported;
    if methods.is_empty() || methods.iter().any(|method| method == "client_secret_basic") {
        let escaped = [id, secret].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string());
        request = request.header(header::AUTHORIZATION, format!("Basic {}", base64_of(&escaped.join(":"))));
    } else {
        fields.extend([("client_id", id), ("client_secret", secret)]);
    }
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    send(app, &known.settings, url, (request, Body::from(body))).await
}

fn base64_of(text: &str) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(text)
}
