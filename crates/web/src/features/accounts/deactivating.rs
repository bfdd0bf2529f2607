//! Deactivating an account.

use crate::App;
use crate::error::{RequestError, Result};
use crate::features::sessions::connection::proof;
use crate::features::sessions::second_factors::whose_password;
use crate::markup::addresses::{ACCOUNT_SETTINGS, LEAVE};
use crate::markup::fields::choice;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::SignedFields;
use crate::request::cookies;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use tidings_domain::deactivation::{self, Writings};
use tidings_language::{m, t};

/// GET /settings/deactivate: asks for confirmation.
pub async fn deactivate_form(Page { app, mut visit, here, .. }: Page<Member>) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let password = Field::new("password", t!("Your password")).with("autocomplete", "current-password");
    let writings =
        [("keep", t!("Keep what I wrote, without my name")), ("erase", t!("Erase what I wrote too"))];
    let content = html! {
        div.prose {
            p {
                (t!("This deletes your account. It can't be undone, not even by moderators. You can {export} before.",
                    export = html! { a href="/api/export" { (t!("export all your data")) } }))
            }
            h2 { (t!("heading" => "Deleted")) }
            ul {
                li { (t!("your profile, your password and your e-mail address: you can't log in again")) }
                li { (t!("your posts, your inbox, and what you follow, saved, hid or muted")) }
                li { (t!("your stories and comments too, if you choose that below")) }
            }
            h2 { (t!("heading" => "Kept")) }
            ul {
                li { (t!("your stories and comments otherwise, without your name")) }
                li { (t!("your votes, without your name, and replies of others to you")) }
                li { (t!("your username: nobody else can take it")) }
                li {
                    (t!("what the moderation log says about you, for {period}",
                        period = html! { a href="/about#retention" { (t!("as long as it keeps names")) } }))
                }
            }
        }
        form.form.narrow method="post" action=(LEAVE) {
            (frame.signed_fields())
            (whose_password(&frame))
            (choice("writings", t!("Your stories and comments"), writings.into_iter(), "keep"))
            p.hint { (t!("Erasing takes up to an hour. Replies of others stay.")) }
            (proof(&frame, password.required()))
            button.button.grave { (t!("Delete my account")) }
        }
        p { a.action href=(ACCOUNT_SETTINGS) { (t!("Keep my account")) } }
    };
    Ok(frame.headed(t!("Leave this site"), &content))
}

/// POST /settings/deactivate: password, writings, apisecret.
pub async fn deactivate(app: App, form: SignedFields) -> Result<impl IntoResponse> {
    let writings = match form.fields.text("writings") {
        "" | "keep" => Writings::Keep,
        "erase" => Writings::Erase,
        _ => return Err(RequestError::field("writings", m!("it must be keep or erase"))),
    };
    let password = form.fields.required("password")?;
    deactivation::deactivate(&app.site, app.moment(), form.owner()?, password, writings).await?;
    Ok((cookies::farewell(&app), Redirect::to("/settings/deactivated")))
}

/// GET /settings/deactivated: where a deactivation leads, which has ended the session. Anybody can open it, so it says what
/// is so for everybody.
pub async fn deactivated(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let is_active = frame.viewer.is_some();
    let heading = if is_active { t!("Your account is active") } else { t!("Deleted accounts") };
    let content = html! {
        @if !is_active {
            p {
                (t!("You are logged out. If you have deleted your account, nobody can log in to it any more, and its \
                     profile is gone. Thank you for your time here."))
            }
        }
        p { a.action href="/" { (t!("Go to the front page")) } }
    };
    Ok(frame.headed(heading, &content))
}
