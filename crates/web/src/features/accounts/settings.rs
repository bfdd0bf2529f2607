//! The settings of an account, on four pages, and the form of earlier versions on `/user/<name>`. The form of each page saves
//! its fields and no others.

use super::confirm_email::{reminder, state_of_mail};
use super::form::{profile_change, whole_profile_change};
use super::register::WHY_EMAIL;
use crate::App;
use crate::error::RequestError;
use crate::features::sessions::connection::{proof, provider_name};
use crate::features::sessions::second_factors::whose_password;
use crate::features::sessions::two_factor::owner;
use crate::markup::addresses::{
    ACCOUNT_SETTINGS, LEAVE, MAIL_SETTINGS, MUTES, READING_SETTINGS, SETTINGS, SIGN_IN_SERVICE_SETTINGS,
    profile_address,
};
use crate::markup::fields::{Field, select};
use crate::markup::frame::Frame;
use crate::markup::notices::Notice;
use crate::markup::page::{Member, Page};
use crate::markup::parts::tab;
use crate::request::answers::DONE;
use crate::request::cookies;
use crate::request::local_path::LocalPath;
use crate::request::viewer::SignedFields;
use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::account::{self, ProfileChange};
use tidings_domain::accounts::session_store::Session;
use tidings_domain::accounts::users::User;
use tidings_domain::values::{
    Choice, CommentOrder, Digest, MAX_FULL_NAME, PASSWORD_MIN, Preferences, STAFF_PASSWORD_MIN, Shortcuts,
    TextSize, Theme,
};

/// The form of earlier versions.
pub(super) fn profile_editor(frame: &Frame<'_>, user: &User) -> Markup {
    let password =
        new_password_field("Leave empty to keep your password. A new one ends all your other sessions.");
    html! {
        form.form method="post" action="/profile" {
            (frame.signed_fields())
            (frame.form_page())
            (Field::new("about", "About you").value(&user.about).text_area())
            div.group role="group" aria-labelledby="credentials" {
                h2 #credentials { "E-mail address and password" }
                (email_field(frame, user.typed_email()))
                (password.password())
                (current_password_field(frame, "Needed only to change your e-mail address or your password."))
            }
            button.button { "Save" }
        }
    }
}

/// Asks a member who has no e-mail address for one, until they have entered it or put the question away.
pub fn email_request(frame: &Frame<'_>) -> Markup {
    let asked = frame.viewer.filter(|viewer| viewer.typed_email().is_empty() && !viewer.preferences.no_email);
    html! {
        @if asked.is_some_and(|viewer| !viewer.unconfirmed || !frame.rules.accounts.confirm_email) {
            section.notice aria-labelledby="email-heading" {
                h2 #email-heading { "Do you want to add an e-mail address?" }
                form.form.narrow method="post" action=(MAIL_SETTINGS) {
                    (frame.signed_fields())
                    input type="hidden" name="next" value="/welcome";
                    (Field::new("email", "E-mail address").hint(html! { (WHY_EMAIL) }).with("inputmode", "email")
                        .with("autocomplete", "email").required().exact().input())
                    (current_password_field(frame, ""))
                    button.button { "Add the address" }
                }
                form method="post" action=(MAIL_SETTINGS) {
                    (frame.signed_fields())
                    input type="hidden" name="next" value="/welcome";
                    button.button.quiet.small name="no_email" value="1" { "Don't ask again" }
                }
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
        " for moderators and administrators." @if !hint.is_empty() { " " (hint) }
    })
}

/// The field for the current password; without a hint, it is required.
pub(super) fn current_password_field(frame: &Frame<'_>, hint: &str) -> Markup {
    let field = Field::new("current_password", "Current password").with("autocomplete", "current-password");
    proof(frame, if hint.is_empty() { field.required() } else { field.hint(html! { (hint) }) })
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

/// A page of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Profile,
    Reading,
    Mail,
    Account,
}

impl Tab {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Profile, SETTINGS, "Profile"),
        (Self::Reading, READING_SETTINGS, "Reading"),
        (Self::Mail, MAIL_SETTINGS, "Mail"),
        (Self::Account, ACCOUNT_SETTINGS, "Account"),
    ];

    /// The page with its address and its name, for a request to one of these addresses.
    fn at(here: &LocalPath) -> (Self, &'static str, &'static str) {
        let [profile, others @ ..] = Self::ALL;
        others.into_iter().find(|(_, address, _)| *address == here.path()).unwrap_or(profile)
    }

    /// The fields that its form saves.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Profile => {
                &["fullname", "about", "tweet_news", "tweet_news_shown", "gravatar", "gravatar_shown"]
            }
            Self::Reading => {
                &["theme", "text_size", "sort_comments", "show_hidden", "show_hidden_shown", "shortcuts"]
            }
            Self::Mail => {
                &["email", "current_password", "mail_replies", "mail_replies_shown", "digest", "no_email"]
            }
            Self::Account => &["password", "current_password"],
        }
    }

    /// The notice after its form was saved.
    const fn saved(self) -> Notice {
        match self {
            Self::Profile => Notice::ProfileSaved,
            Self::Reading => Notice::ReadingSaved,
            Self::Mail => Notice::MailSaved,
            Self::Account => Notice::PasswordChanged,
        }
    }
}

/// A page of settings with its form. `has_mail` says whether the site sends mail.
fn shown(frame: &Frame<'_>, user: &User, has_mail: bool) -> Markup {
    let (here, address, name) = Tab::at(frame.here);
    let button = match here {
        Tab::Account if user.has_password => "Change password",
        Tab::Account => "Set password",
        _ => "Save",
    };
    let content = html! {
        h1 { "Settings" }
        nav.tabs aria-label="Settings" {
            ul {
                @for (page, address, name) in Tab::ALL { (tab(address, name, page == here)) }
            }
        }
        (reminder(frame))
        @if here == Tab::Mail && has_mail { (state_of_mail(frame)) }
        @if here != Tab::Account || !frame.rules.oidc.only {
        form.form method="post" action=(address) {
            (frame.signed_fields())
            @match here {
                Tab::Profile => (profile_fields(frame, user)),
                Tab::Reading => (reading_fields(user.preferences)),
                Tab::Mail => (mail_fields(frame, user, has_mail)),
                Tab::Account => (password_fields(frame)),
            }
            button.button { (button) }
        }
        }
        @match here {
            Tab::Profile => p { a.action href=(profile_address(&user.username, "")) { "Your profile" } },
            Tab::Reading => {
                h2 { "Muted and blocked" }
                p { "You can " a href=(MUTES) { "mute people, sites, topics and words, and block people" } "." }
            }
            Tab::Mail => {}
            Tab::Account => (more_of_account(frame)),
        }
    };
    frame.page(&format!("{name} settings"), &content)
}

fn profile_fields(frame: &Frame<'_>, user: &User) -> Markup {
    let hint = html! { "Shown next to your username. Optional, up to " (MAX_FULL_NAME) " characters." };
    let fullname = Field::new("fullname", "Full name").value(&user.fullname).hint(hint);
    html! {
        (fullname.with("autocomplete", "name").input())
        (Field::new("about", "About you").value(&user.about).text_area())
        @if frame.rules.features.timelines {
            (choice("tweet_news", user.tweet_news, "Show stories I submit in my followers' timelines"))
        }
        @if frame.settings.gravatars {
            (choice("gravatar", user.gravatar, "Show my picture from gravatar.com"))
        }
    }
}

fn mail_fields(frame: &Frame<'_>, user: &User, has_mail: bool) -> Markup {
    let preferences = user.preferences;
    html! {
        (email_field(frame, user.typed_email()))
        (current_password_field(frame, "Needed only to change your e-mail address."))
        @if has_mail {
            (choice("mail_replies", preferences.mail_replies, "Mail me replies, mentions and messages from moderators"))
            (select("digest", "Digest of the best stories", preferences.digest.name(), &[
                (Digest::Off.name(), "Off"),
                (Digest::Daily.name(), "Every day"),
                (Digest::Weekly.name(), "Every week, on Monday"),
            ]))
            p.hint {
                "A digest has the best new stories in the topics you follow, or on the whole site if \
                 you follow none, and stories by people you follow."
            }
        } @else {
            p.hint { "This site doesn't send mail." }
        }
    }
}

fn password_fields(frame: &Frame<'_>) -> Markup {
    html! {
        (whose_password(frame))
        (new_password_field("A new password ends all your other sessions.").required().password())
        (current_password_field(frame, ""))
    }
}

fn reading_fields(preferences: Preferences) -> Markup {
    html! {
        (select("theme", "Colours", preferences.theme.name(), &[
            (Theme::Device.name(), "As on my device"),
            (Theme::Light.name(), "Light"),
            (Theme::Dark.name(), "Dark"),
        ]))
        (select("text_size", "Text size", preferences.text_size.name(), &[
            (TextSize::Normal.name(), "Normal"),
            (TextSize::Large.name(), "Large"),
            (TextSize::Larger.name(), "Larger"),
        ]))
        (select("sort_comments", "Order of comments", preferences.sort_comments.name(), &[
            (CommentOrder::Score.name(), "Best"),
            (CommentOrder::Newest.name(), "New"),
            (CommentOrder::Oldest.name(), "Old"),
        ]))
        (choice("show_hidden", preferences.show_hidden, "Show items hidden by flags"))
        (select("shortcuts", "Keyboard shortcuts", preferences.shortcuts.name(), &[
            (Shortcuts::On.name(), "Single keys, such as j and k"),
            (Shortcuts::Modifier.name(), "Only together with the Alt key"),
            (Shortcuts::Off.name(), "Off"),
        ]))
    }
}

fn more_of_account(frame: &Frame<'_>) -> Markup {
    html! {
        @if frame.settings.oidc.is_some() {
            h2 { "Sign-in service" }
            p { "You can " a href=(SIGN_IN_SERVICE_SETTINGS) { "log in with " (provider_name(frame)) } "." }
        }
        h2 { "Two-step login" }
        p { "You can " a href="/settings/two-factor" { "set up an authenticator app or a passkey" } "." }
        h2 { "Sessions" }
        p { "You can " a href="/settings/sessions" { "see where you are logged in" } ", and log out there." }
        h2 { "Invitations" }
        p { "You can " a href="/settings/invitations" { "invite people" } " to this site." }
        h2 { "Your data" }
        p {
            "You can " a href="/api/export" { "export all your data" }
            ": a zip file with a page for you and the same data for programs."
        }
        h2 { "Delete your account" }
        p { "You can " a href=(LEAVE) { "leave this site" } ". The page says what is deleted and what is kept." }
    }
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

/// GET /settings, /settings/reading, /settings/mail, /settings/account.
pub async fn settings(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup, RequestError> {
    let has_mail = app.mailer.is_some();
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &user, has_mail))
}

/// GET /.well-known/change-password: where password managers find the form.
pub async fn change_password() -> Redirect {
    Redirect::to("/settings/account#password")
}

/// POST to the same addresses: the fields of the page (a missing one keeps its value), apisecret; `next` where the form is on
/// another page.
pub async fn change(app: App, here: LocalPath, form: SignedFields) -> Result<Response, RequestError> {
    let (tab, address, _) = Tab::at(&here);
    let next = form.fields.get("next").map(LocalPath::parse);
    let own = form.fields.only(tab.fields());
    let read = || {
        if tab == Tab::Account {
            own.required("password")?;
        }
        profile_change(&own)
    };
    let session = change_profile(&app, &form, read).await?;
    let saved = tab
        .saved()
        .redirect_anew(&app, form.user.id, next.as_ref().map_or(address, LocalPath::as_str))
        .await?;
    Ok(with_session(&app, session, saved))
}

/// POST /api/updateprofile.
pub async fn update_profile(app: App, form: SignedFields) -> Result<Response, RequestError> {
    let session = save_profile(&app, &form).await?;
    Ok(with_session(&app, session, Json(DONE)))
}
