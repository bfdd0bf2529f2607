//! The settings of an account, on four pages, and the form of earlier versions on `/user/<name>`. The form of each page saves
//! its fields and no others.

use super::confirm_email::{reminder, state_of_mail};
use super::form::{profile_change, whole_profile_change};
use crate::features::sessions::connection::{proof, provider_name};
use crate::features::sessions::second_factors::whose_password;
use crate::markup::addresses::{
    ACCOUNT_SETTINGS, LEAVE, MAIL_SETTINGS, MUTES, READING_SETTINGS, SETTINGS, SIGN_IN_SERVICE_SETTINGS,
    profile_address,
};
use crate::markup::fields::select;
use crate::markup::parts::tabs;
use crate::markup::{Field, Frame, Member, Notice, Page};
use crate::request::{DONE, LocalPath, SignedFields, cookies};
use crate::{App, RequestError, Result};
use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, Render, html};
use tidings_domain::User;
use tidings_domain::accounts::account::{self, ProfileChange};
use tidings_domain::accounts::session_store::Session;
use tidings_domain::values::{
    Choice, CommentOrder, Digest, MAX_FULL_NAME, PASSWORD_MIN, Preferences, STAFF_PASSWORD_MIN, Shortcuts,
    TextSize, Theme,
};
use tidings_language::{Message, Phrase, m, n, t};

/// The form of earlier versions.
pub(super) fn profile_editor(frame: &Frame<'_>, user: &User) -> Markup {
    let password =
        new_password_field(t!("Leave empty to keep your password. A new one ends all your other sessions."));
    html! {
        form.form method="post" action="/profile" {
            (frame.signed_fields())
            (frame.form_page())
            (Field::new("about", t!("About you")).value(&user.about).text_area())
            div.group role="group" aria-labelledby="credentials" {
                h2 #credentials { (t!("E-mail address and password")) }
                (email_field(frame, user.typed_email()))
                (password.password())
                (current_password_field(frame, t!("Needed only to change your e-mail address or your password.")))
            }
            button.button { (t!("Save")) }
        }
    }
}

/// Asks a member who has no e-mail address for one, until they have entered it or put the question away.
pub fn email_request(frame: &Frame<'_>) -> Markup {
    let asked = frame.viewer.filter(|viewer| viewer.typed_email().is_empty() && !viewer.preferences.no_email);
    html! {
        @if asked.is_some_and(|viewer| !viewer.unconfirmed || !frame.rules.accounts.confirm_email) {
            section.notice aria-labelledby="email-heading" {
                h2 #email-heading { (t!("Do you want to add an e-mail address?")) }
                form.form.narrow method="post" action=(MAIL_SETTINGS) {
                    (frame.signed_fields())
                    input type="hidden" name="next" value="/welcome";
                    (Field::new("email", t!("E-mail address")).hint(t!("To reset your password; never shown.")).with("inputmode", "email")
                        .with("autocomplete", "email").required().exact().input())
                    (current_password_field(frame, ""))
                    button.button { (t!("Add the address")) }
                }
                form method="post" action=(MAIL_SETTINGS) {
                    (frame.signed_fields())
                    input type="hidden" name="next" value="/welcome";
                    button.button.quiet.small name="no_email" value="1" { (t!("Don't ask again")) }
                }
            }
        }
    }
}

pub(super) fn email_field(frame: &Frame<'_>, email: &str) -> Markup {
    let hint = if frame.settings.gravatars {
        t!(
            "Never shown. Used to send you mail and to get your picture from gravatar.com, which reveals a hash of it."
        )
    } else {
        t!("Never shown. Used to send you mail.")
    };
    let email = Field::new("email", t!("E-mail address")).value(email).hint(hint);
    email.with("inputmode", "email").with("autocomplete", "email").exact().input()
}

/// The field for a new password. The hint begins with how long it must be.
pub(super) fn new_password_field(hint: &str) -> Field<'static> {
    let field = Field::new("password", t!("New password")).with("autocomplete", "new-password");
    field.hint(html! {
        (n!(
            PASSWORD_MIN,
            "At least {count} character, or {staff} for moderators and administrators.",
            "At least {count} characters, or {staff} for moderators and administrators.",
            staff = STAFF_PASSWORD_MIN,
        ))
        @if !hint.is_empty() { " " (hint) }
    })
}

/// The field for the current password; without a hint, it is required.
pub(super) fn current_password_field(frame: &Frame<'_>, hint: &str) -> Markup {
    let field =
        Field::new("current_password", t!("Current password")).with("autocomplete", "current-password");
    proof(frame, if hint.is_empty() { field.required() } else { field.hint(hint) })
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
pub(super) async fn save_profile(app: &App, form: &SignedFields) -> Result<Option<Session>> {
    change_profile(app, form, || whole_profile_change(&form.fields)).await
}

/// Changes a profile with what `read` reads of the form. Returns what [`save_profile`] does.
pub(super) async fn change_profile(
    app: &App,
    form: &SignedFields,
    read: impl FnOnce() -> Result<ProfileChange>,
) -> Result<Option<Session>> {
    let mut session = None;
    let saving = async {
        let change = read()?;
        session = account::update_profile(&app.site, app.now(), form.owner()?, &change).await?;
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
    const ALL: [(Self, &'static str, &'static Message); 4] = [
        (Self::Profile, SETTINGS, m!("tab" => "Profile")),
        (Self::Reading, READING_SETTINGS, m!("tab" => "Reading")),
        (Self::Mail, MAIL_SETTINGS, m!("tab" => "Mail")),
        (Self::Account, ACCOUNT_SETTINGS, m!("tab" => "Account")),
    ];

    /// The page with its address, for a request to one of these addresses.
    fn at(here: &LocalPath) -> (Self, &'static str) {
        let [(profile, address, _), others @ ..] = Self::ALL;
        let found = others.into_iter().find(|(_, address, _)| *address == here.path());
        found.map_or((profile, address), |(page, address, _)| (page, address))
    }

    fn title(self) -> &'static str {
        match self {
            Self::Profile => t!("Profile settings"),
            Self::Reading => t!("Reading settings"),
            Self::Mail => t!("Mail settings"),
            Self::Account => t!("Account settings"),
        }
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
    let (here, address) = Tab::at(frame.here);
    let button = match here {
        Tab::Account if user.has_password => t!("Change password"),
        Tab::Account => t!("Set password"),
        _ => t!("Save"),
    };
    let content = html! {
        h1 { (t!("Settings")) }
        (tabs(t!("Settings"), Tab::ALL.map(|(tab, address, name)| (address, name.text(), tab == here))))
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
            Tab::Profile => p { a.action href=(profile_address(&user.username, "")) { (t!("Your profile")) } },
            Tab::Reading => {
                h2 { (t!("Muted and blocked")) }
                p {
                    (you_can(MUTES, t!("mute people, sites, topics and words, and block people")))
                }
            }
            Tab::Mail => {}
            Tab::Account => (more_of_account(frame)),
        }
    };
    frame.page(here.title(), &content)
}

/// The sentence about something else that a member can do, with its address.
fn you_can(address: &str, act: impl Render) -> Phrase<'static> {
    t!("You can {act}.", act = html! { a href=(address) { (act) } })
}

fn profile_fields(frame: &Frame<'_>, user: &User) -> Markup {
    let hint = html! {
        (t!("Shown next to your username.")) " "
        (n!(MAX_FULL_NAME, "Optional, up to {count} character.", "Optional, up to {count} characters."))
    };
    let fullname = Field::new("fullname", t!("Full name")).value(&user.fullname).hint(hint);
    html! {
        (fullname.with("autocomplete", "name").input())
        (Field::new("about", t!("About you")).value(&user.about).text_area())
        @if frame.rules.features.timelines {
            (choice("tweet_news", user.tweet_news, t!("Show stories I submit in my followers' timelines")))
        }
        @if frame.settings.gravatars {
            (choice("gravatar", user.gravatar, t!("Show my picture from gravatar.com")))
        }
    }
}

fn mail_fields(frame: &Frame<'_>, user: &User, has_mail: bool) -> Markup {
    let preferences = user.preferences;
    html! {
        (email_field(frame, user.typed_email()))
        (current_password_field(frame, t!("Needed only to change your e-mail address.")))
        @if has_mail {
            (choice("mail_replies", preferences.mail_replies, t!("Mail me replies, mentions and messages from moderators")))
            (select("digest", t!("Digest of the best stories"), preferences.digest.name(), &[
                (Digest::Off.name(), t!("digest" => "Off")),
                (Digest::Daily.name(), t!("Every day")),
                (Digest::Weekly.name(), t!("Every week, on Monday")),
            ]))
            p.hint {
                (t!("A digest has the best new stories in the topics you follow, or on the whole site if \
                     you follow none, and stories by people you follow."))
            }
        } @else {
            p.hint { (t!("This site doesn't send mail.")) }
        }
    }
}

fn password_fields(frame: &Frame<'_>) -> Markup {
    html! {
        (whose_password(frame))
        (new_password_field(t!("A new password ends all your other sessions.")).required().password())
        (current_password_field(frame, ""))
    }
}

fn reading_fields(preferences: Preferences) -> Markup {
    html! {
        (select("theme", t!("Colours"), preferences.theme.name(), &[
            (Theme::Device.name(), t!("As on my device")),
            (Theme::Light.name(), t!("colours" => "Light")),
            (Theme::Dark.name(), t!("colours" => "Dark")),
        ]))
        (select("text_size", t!("Text size"), preferences.text_size.name(), &[
            (TextSize::Normal.name(), t!("text size" => "Normal")),
            (TextSize::Large.name(), t!("text size" => "Large")),
            (TextSize::Larger.name(), t!("text size" => "Larger")),
        ]))
        (select("sort_comments", t!("Order of comments"), preferences.sort_comments.name(), &[
            (CommentOrder::Score.name(), t!("order" => "Best")),
            (CommentOrder::Newest.name(), t!("order" => "New")),
            (CommentOrder::Oldest.name(), t!("order" => "Old")),
        ]))
        (choice("show_hidden", preferences.show_hidden, t!("Show items hidden by flags")))
        (select("shortcuts", t!("Keyboard shortcuts"), preferences.shortcuts.name(), &[
            (Shortcuts::On.name(), t!("Single keys, such as j and k")),
            (Shortcuts::Modifier.name(), t!("Only together with the Alt key")),
            (Shortcuts::Off.name(), t!("shortcuts" => "Off")),
        ]))
    }
}

fn more_of_account(frame: &Frame<'_>) -> Markup {
    html! {
        @if frame.settings.oidc.is_some() {
            h2 { (t!("Sign-in service")) }
            p { (you_can(SIGN_IN_SERVICE_SETTINGS, t!("log in with {provider}", provider = provider_name(frame)))) }
        }
        h2 { (t!("Two-step login")) }
        p { (you_can("/settings/two-factor", t!("set up an authenticator app or a passkey"))) }
        h2 { (t!("Sessions")) }
        p {
            (t!("You can {see}, and log out there.",
                see = html! { a href="/settings/sessions" { (t!("see where you are logged in")) } }))
        }
        h2 { (t!("Invitations")) }
        p {
            (t!("You can {invite} to this site.",
                invite = html! { a href="/settings/invitations" { (t!("invite people")) } }))
        }
        h2 { (t!("Your data")) }
        p {
            (t!("You can {export}: a zip file with a page for you and the same data for programs.",
                export = html! { a href="/api/export" { (t!("export all your data")) } }))
        }
        h2 { (t!("Delete your account")) }
        p {
            (t!("You can {leave}. The page says what is deleted and what is kept.",
                leave = html! { a href=(LEAVE) { (t!("leave this site")) } }))
        }
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
pub async fn settings(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let has_mail = app.mailer.is_some();
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &user, has_mail))
}

/// GET /.well-known/change-password: where password managers find the form.
pub async fn change_password() -> Redirect {
    Redirect::to("/settings/account#password")
}

/// POST to the same addresses: the fields of the page (a missing one keeps its value), apisecret; `next` where the form is on
/// another page.
pub async fn change(app: App, here: LocalPath, form: SignedFields) -> Result<Response> {
    let (tab, address) = Tab::at(&here);
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
pub async fn update_profile(app: App, form: SignedFields) -> Result<Response> {
    let session = save_profile(&app, &form).await?;
    Ok(with_session(&app, session, Json(DONE)))
}
