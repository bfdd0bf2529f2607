//! Extractors for the sender of a request: the session, signed forms, the client address.

use super::address::{client_address, is_from_this_machine};
use super::cookies::{self, Prolonged};
use super::form::{FORM_PAGE, Fields, Form, FromFields, SentFields, ShownAgain};
use super::json;
use crate::App;
use crate::error::{Malformed, RequestError};
use crate::route::Route;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, header};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tidings_domain::accounts::account::Owner;
use tidings_domain::accounts::reading_key::ReadingKey;
use tidings_domain::accounts::session_store::{Device, VisitSession};
use tidings_domain::repeats::NamedRequest;
use tidings_domain::values::RequestName;
use tidings_domain::values::rates::subscriber;
use tidings_domain::{Actor, User, Visit, inbox};
use tidings_language::m;

/// An extension of requests for the head of a response, which are answered like GET.
#[derive(Clone, Copy)]
pub struct OnlyHead;

impl FromRequestParts<App> for Visit {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        let mut visit = Sender::of(app, &parts.headers, &parts.extensions).visit(app);
        visit.only_acts = parts.method == Method::POST && Route::of(&parts.extensions).is_call();
        visit.opens_page = opens_page(parts);
        inbox::show_badge(&mut visit);
        if let Some(Prolonged(prolonged)) = parts.extensions.get() {
            visit.prolonged = prolonged.clone();
        }
        Ok(visit)
    }
}

/// The sender of a request, by the key of a member, if it was let in with one, else by its session.
#[derive(Clone)]
pub struct Sender {
    /// The key.
    pub key: Option<ReadingKey>,
    token: Option<String>,
}

impl Sender {
    /// That of a request.
    pub fn of(app: &App, headers: &HeaderMap, extensions: &Extensions) -> Self {
        Self { key: extensions.get().cloned(), token: cookies::session_token(app, headers) }
    }

    /// A visit of the sender, which begins now.
    pub fn visit(&self, app: &App) -> Visit {
        let (site, now) = (app.site.clone(), app.now());
        match &self.key {
            Some(key) => Visit::by_key(site, now, key.clone()),
            None => Visit::new(site, now, self.token.as_deref()),
        }
    }
}

impl FromRequestParts<App> for Sender {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        Ok(Self::of(app, &parts.headers, &parts.extensions))
    }
}

/// Whether somebody opens a page: not a call, not only its head, and not before anybody wants to see it.
fn opens_page(parts: &Parts) -> bool {
    let is_prefetch = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("prefetch"));
    let is_early = ["sec-purpose", "purpose", "x-moz"]
        .iter()
        .any(|name| parts.headers.get(*name).is_some_and(is_prefetch));
    let is_read = parts.method == Method::GET && parts.extensions.get::<OnlyHead>().is_none();
    // A form that was refused changes nothing.
    let is_again = parts.extensions.get::<ShownAgain>().is_some();
    is_read && !is_early && !is_again && !Route::of(&parts.extensions).is_call()
}

/// A form sent by a user who is logged in, from a page of their own session.
pub struct SignedForm<T> {
    /// The user.
    pub user: User,
    /// The form that was sent.
    pub form: T,
}

impl<T: FromFields> FromRequest<App> for SignedForm<T> {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self, RequestError> {
        let SignedFields { user, fields, .. } = SignedFields::from_request(request, app).await?;
        Ok(Self { user, form: fields.read()? })
    }
}

/// Like [`SignedForm`], with the fields as they were typed, so that a page can show them again
/// after an error.
pub struct SignedFields {
    /// The visit.
    pub visit: Visit,
    /// The user.
    pub user: User,
    /// The fields that were sent.
    pub fields: Fields,
    /// The sender of the request.
    pub device: Device,
}

impl SignedFields {
    /// The user, for an action of the domain.
    pub const fn actor(&self) -> Actor<'_> {
        Actor { user: &self.user, address: self.device.address }
    }
}

impl FromRequest<App> for SignedFields {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self, RequestError> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, app).await?;
        let call = Call::from_request_parts(&mut parts, app).await?;
        let fields = Fields::from_request(Request::from_parts(parts, body), app).await?;
        Self::sign(visit, fields, &call).await
    }
}

impl SignedFields {
    /// The fields that were sent in a session, if they carry the secret of the session.
    ///
    /// # Errors
    /// [`RequestError::LoginRequired`], [`RequestError::WrongSecret`], [`RequestError::Field`] for
    /// a wrong name of the request, or the store's.
    pub async fn sign(mut visit: Visit, fields: Fields, call: &Call) -> Result<Self, RequestError> {
        let mut user = visit.viewer().await?.cloned().ok_or(RequestError::LoginRequired)?;
        // The page that shows the form again needs them; see `Frame::for_user`.
        visit.identity().await;
        visit.learn_waiting_rows().await;
        demand_secret(&visit, &user, fields.text("apisecret"))?;
        if let Some(name) = request_name(&fields)? {
            let request = NamedRequest::new(user.id, name, &call.path, &call.contents(&fields));
            let request = if call.acts_once { request } else { request.setting_a_state() };
            user.request = Some(request.clone());
            visit.name_request(request);
        }
        Ok(Self { visit, user, fields, device: call.device.clone() })
    }

    /// Says that the request sets a state, although others to the same address act once.
    pub fn set_a_state(&mut self) {
        self.user.request = self.user.request.take().map(NamedRequest::setting_a_state);
    }

    /// The session of the visit.
    ///
    /// # Errors
    /// [`RequestError::LoginRequired`], which cannot happen: there is a user.
    pub fn session(&self) -> Result<&VisitSession, RequestError> {
        self.visit.session().ok_or(RequestError::LoginRequired)
    }

    /// The owner of the account that the form changes.
    ///
    /// # Errors
    /// As [`SignedFields::session`].
    pub fn owner(&self) -> Result<Owner<'_>, RequestError> {
        Ok(Owner { user: &self.user, session: self.session()?, device: &self.device })
    }
}

impl<T: FromFields> FromRequest<App> for Form<T> {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self, RequestError> {
        Ok(Self(Fields::from_request(request, app).await?.read()?))
    }
}

impl FromRequest<App> for Fields {
    type Rejection = RequestError;

    /// The body of a POST, and where buttons name in their address what they act on, its query string; only the
    /// query string of anything else.
    async fn from_request(request: Request, _: &App) -> Result<Self, RequestError> {
        if request.method() != Method::POST {
            return Ok(Self::parse(request.uri().query().unwrap_or_default().as_bytes())?);
        }
        if !is_form(request.headers()) {
            return Err(Malformed::NotAForm.into());
        }
        let is_named = Route::of(request.extensions()).is_named_in_address;
        let sent = request.extensions().get::<SentFields>().cloned();
        let name = request.uri().query().filter(|_| is_named).map(str::to_owned);
        let body = json::read_body(request).await?;
        let fields = match name {
            Some(name) => Self::parse(&[name.as_bytes(), &body[..]].join(&b'&'))?,
            None => Self::parse(&body)?,
        };
        sent.into_iter().for_each(|sent| sent.keep(&fields));
        Ok(fields)
    }
}

/// Whether the body is a form. An empty POST may have no content type.
fn is_form(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let content_type = content_type.to_str().unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Refuses a form without the secret of the user's session, or the one that it had before.
pub fn demand_secret(visit: &Visit, user: &User, given: &str) -> Result<(), RequestError> {
    let is_former = visit.session().is_some_and(|session| session.former_secret.matches(given));
    if user.apisecret.matches(given) || is_former { Ok(()) } else { Err(RequestError::WrongSecret) }
}

/// Fields that say nothing about what is asked for.
const NOT_CONTENTS: [&str; 3] = ["apisecret", "request", FORM_PAGE];
/// Fields whose values must not be found out by guessing from what the store holds.
pub const SECRETS: [&str; 4] = ["password", "current_password", "code", "secret"];

/// Where a form was sent, by what, and in which session.
pub struct Call {
    path: String,
    /// Its sender.
    pub device: Device,
    /// The token of the session, if it has one.
    pub session_token: Option<String>,
    /// Whether a request with a name is not done again, whatever has changed since.
    acts_once: bool,
}

impl Call {
    /// The fields that tell a request from others of the same name. With a secret among them, its hash
    /// would let whoever has the store guess the secret; so it then also depends on the token of
    /// the session, which the store does not hold.
    fn contents<'a>(&'a self, fields: &'a Fields) -> Vec<(&'a str, &'a str)> {
        let mut contents: Vec<_> = fields.iter().filter(|(name, _)| !NOT_CONTENTS.contains(name)).collect();
        if contents.iter().any(|(name, value)| SECRETS.contains(name) && !value.is_empty()) {
            contents.push(("session", self.session_token.as_deref().unwrap_or_default()));
        }
        contents
    }
}

impl FromRequestParts<App> for Call {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        let session_token = cookies::session_token(app, &parts.headers);
        let device = Device::from_request_parts(parts, app).await?;
        let path = parts.uri.path().to_owned();
        let acts_once = Route::of(&parts.extensions).acts_once;
        Ok(Self { path, device, session_token, acts_once })
    }
}

/// The name that a form gives its request, so that it can be sent again.
fn request_name(fields: &Fields) -> Result<Option<RequestName>, RequestError> {
    let named = |text| {
        RequestName::parse(text).ok_or(RequestError::field("request", m!("it must have 1 to 64 characters")))
    };
    fields.get("request").map(named).transpose()
}

/// The address that a request comes from, seen through trusted proxies; for IPv6 its
/// network, see [`subscriber`].
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<App> for ClientAddress {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        Ok(Self(subscriber_of(app, peer_of(&parts.extensions), &parts.headers)))
    }
}

/// The other end of the connection that a request came on.
pub fn peer_of(extensions: &Extensions) -> IpAddr {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip())
}

/// Whether a request comes from the machine that the site runs on; see [`is_from_this_machine`].
pub struct IsLocal(pub bool);

impl FromRequestParts<App> for IsLocal {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        Ok(Self(is_from_this_machine(
            peer_of(&parts.extensions),
            &parts.headers,
            &app.settings.trusted_proxies,
        )))
    }
}

/// As [`ClientAddress`], for code that is no handler.
pub fn subscriber_of(app: &App, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let forwarded = headers.get_all("x-forwarded-for").iter();
    subscriber(client_address(peer, forwarded, &app.settings.trusted_proxies))
}

/// The sender of a request: its address and its program.
impl FromRequestParts<App> for Device {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, RequestError> {
        let ClientAddress(address) = ClientAddress::from_request_parts(parts, app).await?;
        let IsLocal(is_local) = IsLocal::from_request_parts(parts, app).await?;
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        Ok(Self::new(agent.unwrap_or_default(), address).being_local(is_local))
    }
}
