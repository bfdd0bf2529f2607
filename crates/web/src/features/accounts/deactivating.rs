//! Deactivating an account.

use crate::App;
use crate::error::RequestError;
use crate::features::sessions::connection::proof;
use crate::features::sessions::second_factors::whose_password;
use crate::features::sessions::two_factor::owner;
use crate::markup::addresses::{ACCOUNT_SETTINGS, LEAVE};
use crate::markup::fields::{Field, choice};
use crate::markup::frame::Frame;
use crate::markup::page::{Member, Page};
use crate::request::cookies;
use crate::request::viewer::SignedFields;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use tidings_domain::deactivation::{self, Writings};

const HEADING: &str = "Leave this site";

/// The choices for stories and comments: to keep them, or to erase them.
const WRITINGS: [(&str, &str); 2] =
    [("keep", "Keep what I wrote, without my name"), ("erase", "Erase what I wrote too")];

/// GET /settings/deactivate: asks for confirmation.
pub async fn deactivate_form(
    Page { app, mut visit, here, .. }: Page<Member>,
) -> Result<Markup, RequestError> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let password = Field::new("password", "Your password").with("autocomplete", "current-password");
    let content = html! {
        h1 { (HEADING) }
        div.prose {
            p {
                "This deletes your account. It can't be undone, not even by moderators. You can "
                a href="/api/export" { "export all your data" } " before."
            }
            h2 { "Deleted" }
            ul {
                li { "your profile, your password and your e-mail address: you can't log in again" }
                li { "your posts, your inbox, and what you follow, saved, hid or muted" }
                li { "your stories and comments too, if you choose that below" }
            }
            h2 { "Kept" }
            ul {
                li { "your stories and comments otherwise, without your name" }
                li { "your votes, without your name, and replies of others to you" }
                li { "your username: nobody else can take it" }
                li { "what the moderation log says about you, for " a href="/about#retention" { "as long as it keeps names" } }
            }
        }
        form.form.narrow method="post" action=(LEAVE) {
            (frame.signed_fields())
            (whose_password(&frame))
            (choice("writings", "Your stories and comments", WRITINGS.into_iter(), "keep"))
            p.hint { "Erasing takes up to an hour. Replies of others stay." }
            (proof(&frame, password.required()))
            button.button.grave { "Delete my account" }
        }
        p { a.action href=(ACCOUNT_SETTINGS) { "Keep my account" } }
    };
    Ok(frame.page(HEADING, &content))
}

/// POST /settings/deactivate: password, writings, apisecret.
pub async fn deactivate(app: App, form: SignedFields) -> Result<impl IntoResponse, RequestError> {
    let writings = match form.fields.text("writings") {
        "" | "keep" => Writings::Keep,
        "erase" => Writings::Erase,
        _ => return Err(RequestError::field("writings", "it must be keep or erase")),
    };
    let password = form.fields.required("password")?;
    deactivation::deactivate(&app.site, app.moment(), owner(&form)?, password, writings).await?;
    Ok((cookies::farewell(&app), Redirect::to("/settings/deactivated")))
}

/// GET /settings/deactivated: where a deactivation leads, which has ended the session. Anybody can open it, so it says what
/// is so for everybody.
pub async fn deactivated(Page { app, mut visit, here, .. }: Page) -> Result<Markup, RequestError> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let is_active = frame.viewer.is_some();
    let heading = if is_active { "Your account is active" } else { "Deleted accounts" };
    let content = html! {
        h1 { (heading) }
        @if !is_active {
            p {
                "You are logged out. If you have deleted your account, nobody can log in to it any more, and its \
                 profile is gone. Thank you for your time here."
            }
        }
        p { a.action href="/" { "Go to the front page" } }
    };
    Ok(frame.page(heading, &content))
}
