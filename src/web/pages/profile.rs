//! A user's page, and the form in which its owner changes it.

use super::Refused;
use super::layout::Frame;
use super::parts::{age, alert, counted};
use super::user_address;
use crate::domain::accounts;
use crate::domain::limits::PASSWORD_MIN;
use crate::domain::users::{self, Profile, User};
use crate::domain::visit::Visit;
use crate::web::App;
use crate::web::actions::profile_change;
use crate::web::autolink::autolink;
use crate::web::cookies;
use crate::web::error::Failure;
use crate::web::form::Fields;
use crate::web::identicon::{gravatar_url, identicon};
use crate::web::local_path::LocalPath;
use crate::web::path::PathOf;
use crate::web::viewer::SignedForm;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, PreEscaped, html};

/// The side of the avatar, in CSS pixels.
const AVATAR: u32 = 64;

/// A user's page.
struct ProfilePage<'a> {
    profile: &'a Profile,
    /// What the owner has typed, when it was refused.
    typed: Option<(&'a str, &'a str)>,
    message: Option<&'a str>,
    saved: bool,
}

impl ProfilePage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let user = &self.profile.user;
        let is_own = frame.viewer.is_some_and(|viewer| viewer.id == user.id);
        let content = html! {
            (alert(self.message))
            @if is_own && self.saved { p.notice role="status" { "Your profile is saved." } }
            div.profile {
                (avatar(user, frame.config.web.gravatars))
                h1 { (user.username) }
            }
            (self.facts(frame, is_own))
            @if !user.about.is_empty() {
                div.text dir="auto" { (autolink(&user.about, frame.new_windows())) }
            }
            @if is_own { (self.form(frame)) }
        };
        frame.page(&user.username, &content)
    }

    fn facts(&self, frame: &Frame<'_>, is_own: bool) -> Markup {
        let Profile { user, posted, comments } = self.profile;
        html! {
            dl.facts {
                div { dt { "karma" } dd { (user.karma) } }
                div { dt { "joined" } dd { (age(frame, user.ctime)) } }
                div {
                    dt { "submitted" }
                    dd {
                        a href=(user_address("usernews", &user.username, "/0")) {
                            (counted(*posted, "item", "items"))
                        }
                    }
                }
                div {
                    dt { "written" }
                    dd {
                        a href=(user_address("usercomments", &user.username, "/0")) {
                            (counted(*comments, "comment", "comments"))
                        }
                    }
                }
                @if is_own { div { dt { "saved" } dd { a href="/saved/0" { "your list" } } } }
                @if user.flags.admin { div { dt { "role" } dd { "administrator" } } }
            }
        }
    }

    fn form(&self, frame: &Frame<'_>) -> Markup {
        let user = &self.profile.user;
        let (about, email) = self.typed.unwrap_or((&user.about, &user.email));
        html! {
            h2 { "Your profile" }
            form.form method="post" action="/profile" {
                (frame.secret_field())
                div {
                    label for="about" { "About you" }
                    textarea #about name="about" { "\n" (about) }
                }
                div {
                    label for="email" { "E-mail address" }
                    input #email name="email" value=(email) inputmode="email" autocomplete="email"
                        autocapitalize="none" spellcheck="false" aria-describedby="email-hint";
                    p.hint #email-hint {
                        "Never shown. For a forgotten password"
                        @if frame.config.web.gravatars { ", and for your picture at gravatar.com" }
                        "."
                    }
                }
                div {
                    label for="password" { "New password" }
                    input #password name="password" type="password" autocomplete="new-password"
                        aria-describedby="password-hint";
                    p.hint #password-hint {
                        "Empty keeps the one you have. At least " (PASSWORD_MIN)
                        " characters; a new one ends your sessions in other browsers."
                    }
                }
                button.button { "Save" }
            }
        }
    }
}

/// The user's picture; the name stands beside it.
fn avatar(user: &User, gravatars: bool) -> Markup {
    html! {
        @if gravatars && !user.email.is_empty() {
            img src=(gravatar_url(&user.email, AVATAR * 2)) alt="" width=(AVATAR) height=(AVATAR)
                referrerpolicy="no-referrer";
        } @else {
            (PreEscaped(identicon(&user.username, AVATAR)))
        }
    }
}

/// GET /user/:name.
pub async fn profile(
    PathOf(name): PathOf<String>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
    fields: Fields,
) -> Result<Markup, Failure> {
    let profile = users::profile(&mut visit, &name).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let saved = fields.get("saved").is_some();
    Ok(ProfilePage { profile: &profile, typed: None, message: None, saved }.render(&frame))
}

/// POST /profile: about, email, password (may be empty), apisecret.
pub async fn change(
    State(app): State<App>,
    here: LocalPath,
    mut form: SignedForm,
) -> Result<Response, Failure> {
    match try_change(&app, &form).await {
        Ok(answer) => Ok(answer),
        Err(failure) => {
            let refused = Refused::from_failure(failure)?;
            let profile = users::profile(&mut form.visit, &form.user.username).await?;
            let page = ProfilePage {
                profile: &profile,
                typed: Some((form.fields.text("about"), form.fields.text("email"))),
                message: Some(&refused.message),
                saved: false,
            };
            Ok(refused.answer(page.render(&Frame::for_user(&app, &here, &form.user))))
        }
    }
}

async fn try_change(app: &App, form: &SignedForm) -> Result<Response, Failure> {
    let change = profile_change(&form.fields)?;
    let session = accounts::update_profile(&app.site, &form.user, &change).await?;
    let mut answer = Redirect::to(&user_address("user", &form.user.username, "?saved")).into_response();
    if let Some(session) = session {
        answer.headers_mut().insert(header::SET_COOKIE, cookies::session_cookie(app, &session.auth));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, user};
    use super::*;

    fn page(viewer: Option<&User>, message: Option<&str>) -> String {
        let mut owner = user("1", "al<ice", "");
        owner.about = "<script> http://a.com/".to_owned();
        owner.email = "alice@secret.example".to_owned();
        let profile = Profile { user: owner, posted: 1, comments: 2 };
        let typed = message.map(|_| ("typed <about>", "typed email"));
        let page = ProfilePage { profile: &profile, typed, message, saved: true };
        framed(viewer, |frame| page.render(frame)).into_string()
    }

    #[test]
    fn everybody_sees_the_profile_but_not_the_address() {
        let bob = user("2", "bob", "");
        for viewer in [None, Some(&bob)] {
            let html = page(viewer, None);
            for part in [
                "al&lt;ice",
                "&lt;script&gt;",
                "1 item",
                "2 comments",
                "/usernews/al%3Cice/0",
                "gravatar.com",
            ] {
                assert!(html.contains(part), "{part} in {html}");
            }
            for part in ["secret.example", "<script>", "action=\"/profile\"", "saved"] {
                assert!(!html.contains(part), "{part} in {html}");
            }
        }
    }

    #[test]
    fn the_owner_has_a_form_that_comes_back_as_typed() {
        let owner = user("1", "al<ice", "");
        assert!(page(Some(&owner), None).contains(r#"value="alice@secret.example""#));
        let html = page(Some(&owner), Some("no"));
        for part in ["typed &lt;about&gt;", r#"value="typed email""#, r#"role="alert">no<"#] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn without_gravatars_or_address_the_picture_is_drawn_here() {
        let mut owner = user("1", "alice", "");
        assert!(avatar(&owner, true).into_string().starts_with("<svg"));
        owner.email = "a@b.c".to_owned();
        assert!(avatar(&owner, true).into_string().contains("gravatar.com"));
        assert!(avatar(&owner, false).into_string().starts_with("<svg"));
    }
}
