//! Changing the settings of an account, and deactivating it.

use super::confirm_email::{LinkSent, reminder, state_of_mail};
use super::form::{PasswordForm, ProfileForm, Saved};
use crate::App;
use crate::error::RequestError;
use crate::markup::addresses::{MUTES, profile_address};
use crate::markup::fields::{Field, RefusedForm, summary};
use crate::markup::frame::Frame;
use crate::request::cookies;
use crate::request::form::{Fields, Form};
use crate::request::local_path::LocalPath;
use crate::request::viewer::{ClientAddress, ClientDevice, SignedFields, SignedForm, SignedIn};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::account::{self, Owner};
use tidings_domain::accounts::session_store::{Device, Session};
use tidings_domain::accounts::users::User;
use tidings_domain::deactivation;
use tidings_domain::values::limits::{MAX_FULL_NAME, PASSWORD_MIN, STAFF_PASSWORD_MIN};
use tidings_domain::values::preferences::{Choice, CommentOrder, Digest, Preferences, Shortcuts};

/// The fields of the form that people type into.
pub(super) const PROFILE_FIELDS: [&str; 5] = ["fullname", "about", "email", "password", "current_password"];

/// The form of a profile, as it is stored or as it was typed.
pub(super) struct ProfileEditor<'a> {
    pub about: &'a str,
    pub email: &'a str,
    /// The fields that only the settings page has.
    pub more: Option<MoreSettings<'a>>,
}

/// The settings that are missing in the form of the old profile page.
pub(super) struct MoreSettings<'a> {
    pub fullname: &'a str,
    pub tweet_news: bool,
    pub gravatar: bool,
    pub preferences: Preferences,
    /// Whether the site sends mail.
    pub has_mail: bool,
}

impl<'a> ProfileEditor<'a> {
    /// All settings of a user.
    fn of(app: &App, user: &'a User) -> Self {
        Self::on_site(user, app.mailer.is_some())
    }

    fn on_site(user: &'a User, has_mail: bool) -> Self {
        let more = MoreSettings {
            fullname: &user.fullname,
            tweet_news: user.tweet_news,
            gravatar: user.gravatar,
            preferences: user.preferences,
            has_mail,
        };
        Self { about: &user.about, email: user.typed_email(), more: Some(more) }
    }

    /// All settings as they were typed.
    fn typed(app: &App, fields: &'a Fields) -> Self {
        let is_on = |field| fields.text(field) == "1";
        let more = MoreSettings {
            fullname: fields.text("fullname"),
            tweet_news: is_on("tweet_news"),
            gravatar: is_on("gravatar"),
            preferences: Preferences::read(|field| fields.get(field)),
            has_mail: app.mailer.is_some(),
        };
        Self { about: fields.text("about"), email: fields.text("email"), more: Some(more) }
    }

    /// The form, without a message that is about none of its fields.
    pub(super) fn render(&self, frame: &Frame<'_>, refused: Option<&RefusedForm>) -> Markup {
        let action = if self.more.is_some() { "/settings" } else { "/profile" };
        html! {
            form.form method="post" action=(action) {
                (frame.signed_fields())
                @if let Some(more) = &self.more { (full_name_field(more.fullname, refused)) }
                (Field::new("about", "About you").value(self.about).text_area(refused))
                @if let Some(more) = &self.more {
                    (choice("tweet_news", more.tweet_news, "Announce the stories I submit to my followers"))
                    @if frame.settings.gravatars {
                        (choice("gravatar", more.gravatar, "Show my picture from gravatar.com"))
                    }
                    (preference_fields(more.preferences))
                    @if more.has_mail { (self.mail_fields(more.preferences)) }
                }
                div.group role="group" aria-labelledby="credentials" {
                    h2 #credentials { "E-mail address and password" }
                    (self.email_field(frame, refused))
                    (password_fields(refused))
                }
                button.button { "Save" }
            }
        }
    }

    fn mail_fields(&self, preferences: Preferences) -> Markup {
        html! {
            div.group role="group" aria-labelledby="mail" {
                h2 #mail { "Mail" }
                @if self.email.is_empty() {
                    p.hint { "To get mail, also enter your e-mail address below." }
                }
                (choice("mail_replies", preferences.mail_replies, "Mail me replies, mentions and messages from moderators"))
                (select("digest", "Digest of the best stories", preferences.digest, &[
                    (Digest::Off, "Off"),
                    (Digest::Daily, "Every day"),
                    (Digest::Weekly, "Every week, on Monday"),
                ]))
                p.hint {
                    "A digest has the best new stories of the topics you follow, or of the whole site if you follow none, \
                     and stories of people you follow."
                }
            }
        }
    }

    fn email_field(&self, frame: &Frame<'_>, refused: Option<&RefusedForm>) -> Markup {
        let hint = html! {
            "Never shown. Used to send you mail"
            @if frame.settings.gravatars { " and to get your picture from gravatar.com, which reveals a hash of it" }
            "."
        };
        let email = Field::new("email", "E-mail address").value(self.email).hint(hint);
        email.with("inputmode", "email").with("autocomplete", "email").exact().input(refused)
    }
}

fn preference_fields(preferences: Preferences) -> Markup {
    html! {
        div.group role="group" aria-labelledby="reading" {
            h2 #reading { "Reading" }
            (select("sort_comments", "Order of comments", preferences.sort_comments, &[
                (CommentOrder::Score, "Best first"),
                (CommentOrder::Newest, "Newest first"),
                (CommentOrder::Oldest, "Oldest first"),
            ]))
            (choice("show_hidden", preferences.show_hidden, "Show what readers' flags have hidden"))
            (select("shortcuts", "Keyboard shortcuts", preferences.shortcuts, &[
                (Shortcuts::On, "Single keys, such as j and k"),
                (Shortcuts::Modifier, "Only together with the Alt key"),
                (Shortcuts::Off, "Off"),
            ]))
        }
    }
}

/// A list to choose one of several from.
fn select<C: Choice>(name: &str, label: &str, chosen: C, choices: &[(C, &str)]) -> Markup {
    html! {
        div {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (choice, text) in choices {
                    option value=(choice.name()) selected[*choice == chosen] { (text) }
                }
            }
        }
    }
}

fn password_fields(refused: Option<&RefusedForm>) -> Markup {
    let new = Field::new("password", "New password").with("autocomplete", "new-password");
    let new = new.hint(html! {
        "Leave empty to keep your password. At least " (PASSWORD_MIN) " characters, or " (STAFF_PASSWORD_MIN)
        " for moderators and administrators. A new password ends all your other sessions."
    });
    let current = Field::new("current_password", "Current password").with("autocomplete", "current-password");
    let current = current.hint(html! { "Needed only to change your e-mail address or your password." });
    html! {
        (new.password(refused))
        (current.password(refused))
    }
}

fn full_name_field(fullname: &str, refused: Option<&RefusedForm>) -> Markup {
    let hint = html! { "Shown next to your username. Optional, up to " (MAX_FULL_NAME) " characters." };
    let field = Field::new("fullname", "Full name").value(fullname).hint(hint);
    field.with("autocomplete", "name").input(refused)
}

/// A box to check.
fn choice(name: &str, checked: bool, label: &str) -> Markup {
    html! {
        div {
            // Browsers do not send an unchecked box: this field says that there is one.
            input type="hidden" name={ (name) "_shown" } value="1";
            label.choice for=(name) {
                input id=(name) name=(name) type="checkbox" value="1" checked[checked];
                span { (label) }
            }
        }
    }
}

/// The page of settings.
struct SettingsPage<'a> {
    form: ProfileEditor<'a>,
    username: &'a str,
    refused: Option<&'a RefusedForm>,
    saved: bool,
    /// Whether the link that confirms the address has just been sent again.
    sent: bool,
}

impl SettingsPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Settings" }
            (summary(self.refused))
            @if self.saved { p.notice role="status" { "Your settings have been saved." } }
            (reminder(frame, self.sent))
            @if self.form.more.as_ref().is_some_and(|more| more.has_mail) { (state_of_mail(frame, self.sent)) }
            (self.form.render(frame, self.refused))
            p { a.action href=(profile_address(self.username, "")) { "Your profile" } }
            h2 { "Two-step login" }
            p { "You can " a href="/settings/two-factor" { "set up an authenticator app or a passkey" } "." }
            h2 { "Muted and blocked" }
            p {
                "You can " a href=(MUTES) { "mute people, sites, topics and words, and block people" } "."
            }
            h2 { "Sessions" }
            p { "You can " a href="/settings/sessions" { "see where you are logged in" } ", and log out there." }
            h2 { "Invitations" }
            p { "You can " a href="/settings/invitations" { "invite people" } " to this site." }
            h2 { "Your data" }
            p {
                "You can " a href="/api/export" { "export everything of your own" }
                ": a zip file with a page for you and the same data for programs."
            }
            h2 { "Leaving" }
            p { "You can " a href="/settings/deactivate" { "deactivate your account" } "." }
        };
        frame.page("Settings", &content)
    }
}

/// GET /settings: saved, sent.
pub async fn settings(
    State(app): State<App>,
    SignedIn { user, .. }: SignedIn,
    here: LocalPath,
    Form((Saved { saved }, LinkSent(sent))): Form<(Saved, LinkSent)>,
) -> Result<Markup, RequestError> {
    let form = ProfileEditor::of(&app, &user);
    let page = SettingsPage { form, username: &user.username, refused: None, saved, sent };
    Ok(page.render(&Frame::for_user(&app, &here, &user)))
}

/// GET /.well-known/change-password: where password managers find the form.
pub async fn change_password() -> Redirect {
    Redirect::to("/settings#password")
}

/// Saves the form and redirects to the page that confirms it.
pub(super) async fn save(
    app: &App,
    form: &SignedFields,
    device: &Device,
    saved: &str,
) -> Result<Response, RequestError> {
    let session = save_profile(app, form, device).await?;
    let mut response = Redirect::to(saved).into_response();
    if let Some(session) = session {
        response
            .headers_mut()
            .insert(header::SET_COOKIE, cookies::session_cookie(app, session.auth.expose()));
    }
    Ok(response)
}

/// POST /settings: fullname, about, email, password (may be empty), current_password (may be
/// empty if e-mail and password stay), tweet_news, tweet_news_shown, gravatar,
/// gravatar_shown, shortcuts, digest, mail_replies, mail_replies_shown, sort_comments, show_hidden,
/// show_hidden_shown, apisecret.
pub async fn change(
    State(app): State<App>,
    ClientDevice(device): ClientDevice,
    here: LocalPath,
    form: SignedFields,
) -> Result<Response, RequestError> {
    match save(&app, &form, &device, "/settings?saved").await {
        Ok(response) => Ok(response),
        Err(failure) => {
            let refused = RefusedForm::from_failure(failure)?.beside(&PROFILE_FIELDS);
            let page = SettingsPage {
                form: ProfileEditor::typed(&app, &form.fields),
                username: &form.user.username,
                refused: Some(&refused),
                saved: false,
                sent: false,
            };
            Ok(refused.response(page.render(&Frame::for_user(&app, &here, &form.user))))
        }
    }
}

/// The page that asks for confirmation before an account is deactivated.
fn deactivate_page(frame: &Frame<'_>, refused: Option<&RefusedForm>) -> Markup {
    let password = Field::new("password", "Your password").with("autocomplete", "current-password");
    let content = html! {
        h1 { "Deactivate your account?" }
        (summary(refused))
        div.prose {
            p { "This cannot be undone:" }
            ul {
                li { "Your posts are deleted. You no longer follow anyone, and nobody follows you." }
                li { "Your stories and comments stay, without your name." }
                li { "Your profile disappears, you can't log in again, and nobody can take your username." }
            }
        }
        form.form.narrow method="post" action="/settings/deactivate" {
            (frame.signed_fields())
            @if let Some(viewer) = frame.viewer {
                // Tells a password manager whose password it is.
                input type="text" name="username" value=(viewer.username) autocomplete="username" hidden;
            }
            (password.required().password(refused))
            button.button.grave { "Deactivate my account" }
        }
        p { a.action href="/settings" { "Keep my account" } }
    };
    frame.page("Deactivate your account", &content)
}

/// GET /settings/deactivate: asks for confirmation.
pub async fn deactivate_form(
    State(app): State<App>,
    SignedIn { user, .. }: SignedIn,
    here: LocalPath,
) -> Markup {
    deactivate_page(&Frame::for_user(&app, &here, &user), None)
}

/// POST /settings/deactivate: password, apisecret.
pub async fn deactivate(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    here: LocalPath,
    SignedForm { user, form }: SignedForm<PasswordForm>,
) -> Result<Response, RequestError> {
    match deactivation::deactivate(&app.site, app.moment(), &user, &form.password, address).await {
        Ok(()) => {
            let cookie = [(header::SET_COOKIE, cookies::no_session_cookie(&app))];
            Ok((cookie, Redirect::to("/")).into_response())
        }
        Err(error) => {
            let refused = RefusedForm::from_failure(error.into())?.beside(&["password"]);
            let frame = Frame::for_user(&app, &here, &user);
            Ok(refused.response(deactivate_page(&frame, Some(&refused))))
        }
    }
}

/// Changes a profile, for both the forms and the API. Returns the new session after a change of the
/// password. A repeat returns none: the store holds no session tokens.
pub(crate) async fn save_profile(
    app: &App,
    form: &SignedFields,
    device: &Device,
) -> Result<Option<Session>, RequestError> {
    let mut session = None;
    let saving = async {
        session = change_profile(app, form, device).await?;
        Ok::<_, RequestError>(())
    };
    form.user.once(&app.site, saving).await?;
    Ok(session)
}

async fn change_profile(
    app: &App,
    form: &SignedFields,
    device: &Device,
) -> Result<Option<Session>, RequestError> {
    let change = form.fields.read::<ProfileForm>()?.into();
    let (user, session) = (&form.user, form.session()?);
    let owner = Owner { user, session, device };
    Ok(account::update_profile(&app.site, app.now(), owner, &change).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::fields::test_support::refused;
    use crate::markup::test_support::{framed, user};

    #[test]
    fn a_refused_form_keeps_what_was_typed() {
        let alice = user("1", "alice", "");
        let more = MoreSettings {
            fullname: "\"><b>",
            tweet_news: false,
            gravatar: false,
            preferences: Preferences::default(),
            has_mail: false,
        };
        let form = ProfileEditor { about: "</textarea>", email: "typed email", more: Some(more) };
        let refused = refused("no", Some("fullname"));
        let page =
            SettingsPage { form, username: "alice", refused: Some(&refused), saved: false, sent: false };
        let html = framed(Some(&alice), |frame| page.render(frame)).into_string();
        for part in [
            r#"name="fullname" value="&quot;&gt;&lt;b&gt;""#,
            "&lt;/textarea&gt;</textarea>",
            r#"value="typed email""#,
            r#"role="alert">no<"#,
            r#"action="/settings""#,
            r#"name="apisecret" value=""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains(" checked"), "{html}");
    }

    #[test]
    fn a_site_without_mail_offers_none_and_an_account_without_an_address_is_told() {
        let mut alice = user("1", "alice", "");
        let form = |user: &User, has_mail| {
            framed(Some(user), |frame| ProfileEditor::on_site(user, has_mail).render(frame, None))
                .into_string()
        };
        let has_fields = |html: &str| html.contains("mail_replies") && html.contains(r#"name="digest""#);
        assert!(!form(&alice, false).contains("mail_replies") && !form(&alice, false).contains("digest"));
        assert!(has_fields(&form(&alice, true)) && form(&alice, true).contains("To get mail"));
        "a@b.example".clone_into(&mut alice.email);
        assert!(has_fields(&form(&alice, true)) && !form(&alice, true).contains("To get mail"));
    }

    #[test]
    fn boxes_are_checked_by_default() {
        let alice = user("1", "alice", "");
        let html = framed(Some(&alice), |frame| ProfileEditor::on_site(&alice, true).render(frame, None))
            .into_string();
        for name in ["tweet_news", "gravatar"] {
            assert!(html.contains(&format!(r#"name="{name}" type="checkbox" value="1" checked"#)), "{html}");
        }
    }
}
