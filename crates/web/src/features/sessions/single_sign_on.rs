//! Logging in through the OpenID provider of the site: the way there, the way back, and the end of its sessions.

use super::connection::connect_page;
use super::login::{WantedPage, enter, refused_page};
use super::second_step::second_step_page;
use crate::App;
use crate::error::{ProviderError, RequestError, Result};
use crate::features::accounts::register::{NewPerson, register_page};
use crate::features::moderation::appeals::{Stranger, banned_page};
use crate::markup::Page;
use crate::request::cookies;
use crate::request::{Fields, LocalPath};
use crate::server::headers::without_secret;
use crate::server::provider;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use tidings_domain::Refusal;
use tidings_domain::accounts::log_in::LogIn;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::single_sign_on::round_trip::{self, Errand, Journey, RoundTrip};
use tidings_domain::accounts::single_sign_on::{self, ProviderLogin, SignedOn};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::group_roles;
use tidings_domain::values::UserId;
use tidings_language::m;

/// The longest address that somebody goes back to afterwards: it is in the address of the provider.
const MOST_NEXT_BYTES: usize = 512;

/// The address that begins a login, or what `errand` says.
pub fn way_there(errand: &str, next: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if !errand.is_empty() {
        query.append_pair("errand", errand);
    }
    format!("/oidc/login?{}", query.append_pair("next", next).finish())
}

/// GET /oidc/login: next, errand (`connect` or `confirm`, of somebody who is logged in; else to log in).
pub async fn begin(
    Page { app, mut visit, here, .. }: Page,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    demand_provider(&app)?;
    let wanted: WantedPage = fields.read()?;
    let errand = match fields.text("errand") {
        "" => Errand::LogIn,
        "connect" => Errand::Connect(viewer(&mut visit).await?),
        "confirm" => Errand::Confirm(viewer(&mut visit).await?),
        _ => return Err(RequestError::field("errand", m!("it must be connect or confirm"))),
    };
    let next = wanted.next.as_str();
    let is_kept = next.len() <= MOST_NEXT_BYTES && without_secret(next).is_none();
    let journey = Journey::new(errand, if is_kept { next } else { "/" }, app.now())?;
    let cookie = cookies::journey(&app, &headers);
    let trip = round_trip::begin((&app.site, app.now()), cookie.as_deref(), &journey).await?;
    match provider::destination(&app, &journey, &trip) {
        Ok(url) => {
            let cookie = [(header::SET_COOKIE, cookies::journey_cookie(&app, &trip.cookie))];
            Ok((cookie, Redirect::to(url.as_str())).into_response())
        }
        Err(failure) => Ok(refused_page(&app, &here, &wanted, &failure.into()).await),
    }
}

async fn viewer(visit: &mut Visit) -> Result<UserId> {
    Ok(visit.viewer().await?.ok_or(RequestError::LoginRequired)?.id)
}

/// Without a provider, none of these addresses is there.
pub(super) fn demand_provider(app: &App) -> Result<()> {
    app.settings.oidc.is_some().then_some(()).ok_or(RequestError::NotFound)
}

/// GET /oidc/callback: code or error, state, iss.
pub async fn come_back(
    Page { app, visit, here, .. }: Page,
    device: Device,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    demand_provider(&app)?;
    let cookie = cookies::journey(&app, &headers);
    let at = (&*app.site, app.now());
    let (journey, trip) = match round_trip::end(at, cookie.as_deref(), fields.text("state")).await {
        Ok(back) => back,
        Err(error) => return Ok(refused_page(&app, &here, &WantedPage::leading_to("/"), &error.into()).await),
    };
    let wanted = WantedPage::leading_to(&journey.next);
    match arrive(&app, visit, &here, (&fields, &journey, &trip), (&device, &wanted)).await {
        Ok(response) => Ok(response),
        Err(failure) if journey.errand == Errand::LogIn => {
            Ok(refused_page(&app, &here, &wanted, &failure).await)
        }
        Err(failure) => Err(failure),
    }
}

/// Does what somebody went to the provider for.
async fn arrive(
    app: &App,
    mut visit: Visit,
    here: &LocalPath,
    (fields, journey, trip): (&Fields, &Journey, &RoundTrip),
    (device, wanted): (&Device, &WantedPage),
) -> Result<Response> {
    let at = (&*app.site, app.now());
    let login = login_of(app, (fields, journey, trip)).await?;
    match journey.errand {
        Errand::LogIn => match group_roles::log_in(at, &login, device).await.map_err(RequestError::from) {
            Err(failure) => match failure.decision() {
                Some(id) => {
                    let (username, ticket) = single_sign_on::of_banned(at, &login).await?;
                    let (username, ticket) = (&*username, Some(&*ticket));
                    let stranger = Stranger { username, has_second_factor: false, ticket };
                    let page = banned_page(app, here, id, stranger).await;
                    Ok((StatusCode::FORBIDDEN, page).into_response())
                }
                None => Err(failure),
            },
            Ok(SignedOn::Known(LogIn::Done(session))) => Ok(enter(app, &session, &journey.next)),
            Ok(SignedOn::Known(LogIn::SecondStep(step))) => {
                Ok(second_step_page(app, here, &step, wanted).await?.into_response())
            }
            Ok(SignedOn::Unknown(ticket)) => {
                let person = NewPerson::of(&login, ticket);
                Ok(register_page(app, visit, here, wanted, person).await?.into_response())
            }
        },
        Errand::Connect(user) => {
            demand_same(&mut visit, user).await?;
            let ticket = single_sign_on::ticket_to_connect(at, &login).await?;
            Ok(connect_page(app, &mut visit, here, (&login, &ticket)).await?.into_response())
        }
        Errand::Confirm(user) => {
            demand_same(&mut visit, user).await?;
            let owner = visit.viewer().await?.cloned().ok_or(RequestError::LoginRequired)?;
            let session = visit.session().ok_or(RequestError::LoginRequired)?;
            single_sign_on::confirm(at, (&owner, session), &login).await?;
            Ok(Redirect::to(&journey.next).into_response())
        }
    }
}

/// Refuses a person who is no longer logged in as the same user.
async fn demand_same(visit: &mut Visit, user: UserId) -> Result<()> {
    if viewer(visit).await? == user { Ok(()) } else { Err(Refusal::OtherIdentity.into()) }
}

/// The person whom the provider sends back.
async fn login_of(
    app: &App,
    (fields, journey, trip): (&Fields, &Journey, &RoundTrip),
) -> Result<ProviderLogin> {
    let failure = match fields.text("error") {
        "" => None,
        "server_error" | "temporarily_unavailable" => Some(ProviderError::Away),
        "invalid_request" | "unauthorized_client" | "invalid_scope" | "unsupported_response_type" => {
            Some(ProviderError::SiteRefused)
        }
        _ => Some(ProviderError::Cancelled),
    };
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    provider::demand_issuer(app, fields.get("iss"))?;
    Ok(provider::redeem(app, fields.text("code"), (journey, trip)).await?)
}

/// POST /oidc/logout: logout_token. The provider sends it when somebody has logged out there.
pub async fn end_sessions(app: App, fields: Fields) -> Result<Response> {
    const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
    demand_provider(&app)?;
    let token = fields.text("logout_token");
    let is_new = match provider::read_logout(&app, token).await {
        Ok((identity, id)) => single_sign_on::end_sessions(&app.site, &identity, &id).await?,
        Err(_) => false,
    };
    let status = if is_new { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    Ok((status, [(header::CACHE_CONTROL, NO_STORE)]).into_response())
}
