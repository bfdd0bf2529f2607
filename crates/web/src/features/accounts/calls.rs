//! Accounts and sessions.

use super::form::{Credentials, ProfileForm, Registration, ResetRequest};
use super::password_reset::send_reset_link;
use super::register::open_account;
use super::settings::{save_profile, with_session};
use crate::App;
use crate::error::RequestError;
use crate::markup::addresses::invitation_address;
use crate::request::answers::{DONE, DoneResponse, ErrorResponse, answer};
use crate::request::description::FORM;
use crate::request::form::Form;
use crate::request::values;
use crate::request::viewer::{ClientAddress, SignedFields};
use axum::Json;
use axum::response::Response;
use tidings_domain::Refusal;
use tidings_domain::accounts::log_in::LogIn;
use tidings_domain::accounts::session_store::{Device, Session};
use tidings_domain::accounts::sessions;
use tidings_domain::accounts::signup::SignedUp;
use tidings_domain::values::signup::InvitationCode;

answer! {
    /// The secrets of a session.
    pub struct SecretsResponse as Secrets from (session: Session) {
        status;
        /// The session token. Send it as the cookie `auth`.
        auth: String = session.auth.expose().to_owned(), values::Secret;
        /// The secret that every POST of the session must send as the field `apisecret`.
        apisecret: String = session.apisecret, values::Secret;
    }
}

answer! {
    /// A new account: the secrets of its session, or that its application waits.
    pub struct NewAccountResponse as NewAccount from (new: SignedUp) {
        status;
        /// The session token. Send it as the cookie `auth`. Missing while the application waits.
        auth?: String = new.session.as_ref().map(|session| session.auth.expose().to_owned()), Option<values::Secret>;
        /// The secret that every POST of the session must send as the field `apisecret`. Missing
        /// while the application waits.
        apisecret?: String = new.session.as_ref().map(|session| session.apisecret.clone()), Option<values::Secret>;
        /// Whether a moderator must accept the application before the user can log in; missing
        /// otherwise.
        pending?: bool = new.session.is_none().then_some(true), Option<bool>;
    }
}

/// Create an account and log in, or apply for an account.
#[utoipa::path(
    post,
    path = "/api/create_account",
    request_body(content = inline(Registration), content_type = FORM),
    responses((status = 200, body = NewAccountResponse)),
)]
pub async fn create_account(
    app: App,
    device: Device,
    Form(form): Form<Registration>,
) -> Result<Json<NewAccountResponse>, RequestError> {
    Ok(Json(open_account(&app, &form, &device).await?.into()))
}

answer! {
    /// An invitation.
    pub struct InvitationResponse as NewInvitation from (made: (&App, &InvitationCode)) {
        status;
        /// The code. It can be used once.
        invitation: String = made.1.expose().to_owned(), values::Invitation;
        /// The address at which the person who is invited signs up.
        url: String = made.0.settings.site.link(&invitation_address(made.1)), values::Address;
    }
}

/// Log in.
///
/// An account with a second factor also needs `code`. Without it, and after the right password, the
/// response has HTTP status 401 and `code_required`.
#[utoipa::path(
    post,
    path = "/api/login",
    request_body(content = inline(Credentials), content_type = FORM),
    responses(
        (status = 200, body = SecretsResponse),
        (status = 401, description = "The login needs a code besides the password", body = ErrorResponse),
    ),
)]
pub async fn log_in(
    app: App,
    device: Device,
    Form(form): Form<Credentials>,
) -> Result<Json<SecretsResponse>, RequestError> {
    match crate::features::sessions::login::begin(&app, &form, &device).await? {
        LogIn::Done(session) => Ok(Json(session.into())),
        LogIn::SecondStep(_) => Err(Refusal::CodeRequired.into()),
    }
}

/// Log in. Prefer POST, which keeps the password out of logs.
#[utoipa::path(
    get,
    path = "/api/login",
    params(Credentials),
    responses(
        (status = 200, body = SecretsResponse),
        (status = 401, description = "The login needs a code besides the password", body = ErrorResponse),
    ),
)]
pub async fn log_in_by_get(
    app: App,
    device: Device,
    query: Form<Credentials>,
) -> Result<Json<SecretsResponse>, RequestError> {
    log_in(app, device, query).await
}

/// Log out: end this session.
#[utoipa::path(
    post,
    path = "/api/logout",
    responses((status = 200, body = DoneResponse)),
)]
pub async fn log_out(app: App, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    sessions::log_out(&app.site, form.session()?).await?;
    Ok(Json(DONE))
}

/// Request a mail with a link to set a new password.
#[utoipa::path(
    post,
    path = "/api/reset-password",
    request_body(content = inline(ResetRequest), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
)]
pub async fn reset_password(
    app: App,
    ClientAddress(address): ClientAddress,
    Form(form): Form<ResetRequest>,
) -> Result<Json<DoneResponse>, RequestError> {
    send_reset_link(&app, form, address).await?;
    Ok(Json(DONE))
}

/// Request a mail with a link to set a new password. Prefer POST.
#[utoipa::path(
    get,
    path = "/api/reset-password",
    params(ResetRequest),
    responses((status = 200, body = DoneResponse)),
)]
pub async fn reset_password_by_get(
    app: App,
    address: ClientAddress,
    query: Form<ResetRequest>,
) -> Result<Json<DoneResponse>, RequestError> {
    reset_password(app, address, query).await
}

/// Change the profile, the e-mail address and the password.
///
/// A change of the password or of the e-mail address needs the current password. A change of
/// the password ends all sessions, and the response sets the cookie of a new one.
#[utoipa::path(
    post,
    path = "/api/updateprofile",
    request_body(content = inline(ProfileForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
)]
pub async fn update_profile(app: App, form: SignedFields) -> Result<Response, RequestError> {
    let session = save_profile(&app, &form).await?;
    Ok(with_session(&app, session, Json(DONE)))
}
