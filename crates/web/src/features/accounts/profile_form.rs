//! The form of earlier versions on `/user/<name>`, the fields that the settings have too, and saving both.

use super::form::whole_profile_change;
use crate::App;
use crate::error::RequestError;
use crate::features::sessions::two_factor::owner;
use crate::markup::fields::Field;
use crate::markup::frame::Frame;
use crate::request::cookies;
use crate::request::viewer::SignedFields;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use tidings_domain::accounts::account::{self, ProfileChange};
use tidings_domain::accounts::session_store::Session;
use tidings_domain::values::limits::{PASSWORD_MIN, STAFF_PASSWORD_MIN};

/// The form.
pub(super) struct ProfileEditor<'a> {
    pub about: &'a str,
    pub email: &'a str,
}

impl ProfileEditor<'_> {
    /// The form.
    pub(super) fn render(&self, frame: &Frame<'_>) -> Markup {
        let password =
            new_password_field("Leave empty to keep your password. A new one ends all your other sessions.");
        html! {
            form.form method="post" action="/profile" {
                (frame.signed_fields())
                (frame.form_page())
                (Field::new("about", "About you").value(self.about).text_area())
                div.group role="group" aria-labelledby="credentials" {
                    h2 #credentials { "E-mail address and password" }
                    (email_field(frame, self.email))
                    (password.password())
                    (current_password_field("Needed only to change your e-mail address or your password."))
                }
                button.button { "Save" }
            }
        }
    }
}

pub(super) fn email_field(frame: &Frame<'_>, email: &str) -> Markup {
    let hint = html! {
        "Never shown. Used to send you mail"
        @if frame.settings.gravatars { " and to get your picture from gravatar.com, which reveals a hash of it" }
        "."
    };
    let email = Field::new("email", "E-mail address").value(email).hint(hint);
    email.with("inputmode", "email").with("autocomplete", "email").exact().input()
}

/// The field for a new password. The hint begins with how long it must be.
pub(super) fn new_password_field(hint: &str) -> Field<'static> {
    let field = Field::new("password", "New password").with("autocomplete", "new-password");
    field.hint(html! {
        "At least " (PASSWORD_MIN) " characters, or " (STAFF_PASSWORD_MIN)
        " for moderators and administrators. " (hint)
    })
}

/// The field for the current password; without a hint, it is required.
pub(super) fn current_password_field(hint: &str) -> Markup {
    let field = Field::new("current_password", "Current password").with("autocomplete", "current-password");
    let field = if hint.is_empty() { field.required() } else { field.hint(html! { (hint) }) };
    field.password()
}

/// A response that sets the cookie of a new session, if there is one.
pub(super) fn with_session(app: &App, session: Option<Session>, response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    if let Some(session) = session {
        response
            .headers_mut()
            .insert(header::SET_COOKIE, cookies::session_cookie(app, session.auth.expose()));
    }
    response
}

/// Changes a profile, for the form and for the API. Returns the new session after a change of the
/// password. A repeat returns none: the store holds no session tokens.
pub(super) async fn save_profile(app: &App, form: &SignedFields) -> Result<Option<Session>, RequestError> {
    change_profile(app, form, || whole_profile_change(&form.fields)).await
}

/// Changes a profile with what `read` reads of the form. Returns what [`save_profile`] does.
pub(super) async fn change_profile(
    app: &App,
    form: &SignedFields,
    read: impl FnOnce() -> Result<ProfileChange, RequestError>,
) -> Result<Option<Session>, RequestError> {
    let mut session = None;
    let saving = async {
        let change = read()?;
        session = account::update_profile(&app.site, app.now(), owner(form)?, &change).await?;
        Ok::<_, RequestError>(())
    };
    form.user.once(&app.site, saving).await?;
    Ok(session)
}
