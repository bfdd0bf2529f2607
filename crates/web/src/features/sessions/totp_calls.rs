//! Second factors: authenticator apps. Passkeys need a browser, so they have pages only.

use super::two_factor::{self, ConfirmedTotpForm, EndedTotpForm, NewTotpForm};
use crate::App;
use crate::error::RequestError;
use crate::request::answers::{DONE, DoneResponse, Status};
use crate::request::description::FORM;
use crate::request::values;
use crate::request::viewer::SignedFields;
use axum::Json;
use serde::Serialize;
use tidings_domain::accounts::two_factor::setup::NewTotp;
use utoipa::ToSchema;

/// A new secret for an authenticator app.
#[derive(Serialize, ToSchema)]
#[schema(as = NewTotp)]
pub struct NewTotpResponse {
    status: Status,
    /// The secret in base 32, to type into an app.
    #[schema(value_type = values::TotpSecret)]
    secret: String,
    /// The same as an address, for a QR code.
    #[schema(value_type = values::TotpAddress)]
    uri: String,
}

/// Recovery codes, each of which takes the place of a code once.
#[derive(Serialize, ToSchema)]
#[schema(as = RecoveryCodes)]
pub struct RecoveryCodesResponse {
    status: Status,
    /// The codes. They are shown once and stored as hashes.
    #[schema(value_type = Vec<values::RecoveryCode>)]
    recovery_codes: Vec<String>,
}

/// Begin to set up an authenticator app.
///
/// The secret counts once a code confirms it, within 15 minutes.
#[utoipa::path(
    post,
    path = "/api/totp/begin",
    request_body(content = inline(NewTotpForm), content_type = FORM),
    responses((status = 200, body = NewTotpResponse)),
    security(("session" = [])),
)]
pub async fn begin(app: App, form: SignedFields) -> Result<Json<NewTotpResponse>, RequestError> {
    let NewTotp { secret, uri } = two_factor::begin_totp(&app, &form).await?;
    Ok(Json(NewTotpResponse { status: Status::Ok, secret, uri }))
}

/// Confirm an authenticator app with a code. From now on a login needs one.
#[utoipa::path(
    post,
    path = "/api/totp/confirm",
    request_body(content = inline(ConfirmedTotpForm), content_type = FORM),
    responses((status = 200, body = RecoveryCodesResponse)),
    security(("session" = [])),
)]
pub async fn confirm(app: App, form: SignedFields) -> Result<Json<RecoveryCodesResponse>, RequestError> {
    let recovery_codes = two_factor::confirm_totp(&app, &form).await?;
    Ok(Json(RecoveryCodesResponse { status: Status::Ok, recovery_codes }))
}

/// Remove the authenticator app.
#[utoipa::path(
    post,
    path = "/api/totp/end",
    request_body(content = inline(EndedTotpForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security(("session" = [])),
)]
pub async fn end(app: App, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    two_factor::end_totp(&app, &form).await?;
    Ok(Json(DONE))
}
