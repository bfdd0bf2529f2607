//! Second factors, for pages and calls. Passkeys need a browser, so they have pages only.

use crate::App;
use crate::error::RequestError;
use crate::request::answers::{DONE, DoneResponse, answer};
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{Fields, form, text};
use crate::request::viewer::SignedFields;
use axum::Json;
use tidings_domain::Refusal;
use tidings_domain::accounts::account::{CurrentPassword, Owner};
use tidings_domain::accounts::two_factor::RelyingParty;
use tidings_domain::accounts::two_factor::passkeys::{self, NewPasskey};
use tidings_domain::accounts::two_factor::setup::{self, NewTotp};

fn current_password(fields: &Fields, name: &'static str) -> Result<CurrentPassword, RequestError> {
    Ok(CurrentPassword(Some(text(fields, name)?)))
}

form! {
    /// The beginning of the setup of an authenticator app.
    #[cfg_attr(test, schema(as = NewTotpRequest))]
    pub struct NewTotpForm {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
    }
}

form! {
    /// The end of the setup of an authenticator app.
    #[cfg_attr(test, schema(as = ConfirmedTotp))]
    pub struct ConfirmedTotpForm {
        /// A code that the app shows.
        pub code: String = text, values::TotpCode;
    }
}

form! {
    /// The removal of an authenticator app.
    #[cfg_attr(test, schema(as = EndedTotp))]
    pub struct EndedTotpForm {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
        /// A code that the app shows, or a recovery code.
        pub code: String = text, values::LoginCode;
    }
}

/// Whether passkeys work at the address of the site: it must have a host name.
pub fn has_passkeys(app: &App) -> bool {
    RelyingParty::new(&app.site.address, "").is_some()
}

/// The site as passkeys know it.
///
/// # Errors
/// [`Refusal::PasskeysUnavailable`].
pub async fn relying_party(app: &App) -> Result<RelyingParty, RequestError> {
    let brand = app.brand().await;
    Ok(RelyingParty::new(&app.site.address, &brand.site.name).ok_or(Refusal::PasskeysUnavailable)?)
}

/// The owner of the account, as the form was signed.
pub(crate) fn owner(form: &SignedFields) -> Result<Owner<'_>, RequestError> {
    Ok(Owner { user: &form.user, session: form.session()?, device: &form.device })
}

/// Draws a secret for an authenticator app.
pub(super) async fn begin_totp(app: &App, form: &SignedFields) -> Result<NewTotp, RequestError> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let brand = app.brand().await;
    let owner = owner(form)?;
    let begin = setup::begin_totp((&app.site, app.now()), owner, &current_password, &brand.site.name);
    Ok(form.user.once(&app.site, begin).await?)
}

/// Sets the authenticator app whose code was typed. Returns recovery codes.
pub(super) async fn confirm_totp(app: &App, form: &SignedFields) -> Result<Vec<String>, RequestError> {
    let ConfirmedTotpForm { code } = form.fields.read()?;
    Ok(setup::confirm_totp(&app.site, app.now(), owner(form)?, &code).await?)
}

/// Removes the authenticator app.
pub(super) async fn end_totp(app: &App, form: &SignedFields) -> Result<(), RequestError> {
    let EndedTotpForm { current_password, code } = form.fields.read()?;
    let owner = owner(form)?;
    let ending = setup::end_totp((&app.site, app.now()), owner, &current_password, &code);
    Ok(form.user.once(&app.site, ending).await?)
}

/// Replaces the recovery codes.
pub(super) async fn renew_recovery_codes(
    app: &App,
    form: &SignedFields,
) -> Result<Vec<String>, RequestError> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let at = (&*app.site, app.now());
    Ok(setup::renew_recovery_codes(at, owner(form)?, &current_password).await?)
}

/// Begins to add a passkey. Returns the options with which the browser makes it, as JSON.
pub(super) async fn begin_passkey(app: &App, form: &SignedFields) -> Result<String, RequestError> {
    form.fields.required("name")?;
    let NewTotpForm { current_password } = form.fields.read()?;
    let party = relying_party(app).await?;
    Ok(passkeys::begin((&app.site, app.now()), owner(form)?, &current_password, &party).await?)
}

/// Adds a passkey. Returns recovery codes if it is the first second factor.
pub(super) async fn add_passkey(app: &App, form: &SignedFields) -> Result<Option<Vec<String>>, RequestError> {
    let new =
        NewPasskey { name: form.fields.required("name")?, credential: form.fields.required("passkey")? };
    let party = relying_party(app).await?;
    Ok(passkeys::add((&app.site, app.now()), owner(form)?, &new, &party).await?)
}

/// Removes a passkey.
pub(super) async fn remove_passkey(app: &App, form: &SignedFields) -> Result<(), RequestError> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let id = form.fields.required("passkey")?;
    let owner = owner(form)?;
    let removing = passkeys::remove((&app.site, app.now()), owner, &current_password, id);
    Ok(form.user.once(&app.site, removing).await?)
}

answer! {
    /// A new secret for an authenticator app.
    pub struct NewTotpResponse as NewTotp from (new: NewTotp) {
        status;
        /// The secret in base 32, to type into an app.
        secret: String = new.secret, values::TotpSecret;
        /// The same as an address, for a QR code.
        uri: String = new.uri, values::TotpAddress;
    }
}

answer! {
    /// Recovery codes, each of which takes the place of a code once.
    pub struct RecoveryCodesResponse as RecoveryCodes from (codes: Vec<String>) {
        status;
        /// The codes. They are shown once and stored as hashes.
        recovery_codes: Vec<String> = codes, Vec<values::RecoveryCode>;
    }
}

/// POST /api/totp/begin.
pub async fn begin(app: App, form: SignedFields) -> Result<Json<NewTotpResponse>, RequestError> {
    Ok(Json(begin_totp(&app, &form).await?.into()))
}

/// POST /api/totp/confirm.
pub async fn confirm(app: App, form: SignedFields) -> Result<Json<RecoveryCodesResponse>, RequestError> {
    Ok(Json(confirm_totp(&app, &form).await?.into()))
}

/// POST /api/totp/end.
pub async fn end(app: App, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    end_totp(&app, &form).await?;
    Ok(Json(DONE))
}
