//! Followers, followings, suggestions, and the follow buttons.

use super::form::FollowForm;
use super::home::{Tab, tabs};
use super::tweets::{older, person_link};
use crate::error::{RequestError, Result, unknown_name};
use crate::features::action::{Action, ActionEntry};
use crate::limits::SUGGESTIONS;
use crate::markup::addresses::profile_address;
use crate::markup::parts::{empty_but, no_more};
use crate::markup::{Frame, Page};
use crate::request::{AtName, Fields, Form, FromFields, LocalPath, PageQuery, PathOf};
use crate::route::{LoginReason, SHORT, Wing};
use futures_util::TryFutureExt;
use maud::{Markup, html};
use tidings_domain::accounts::inbox::OnPage;
use tidings_domain::accounts::users::User;
use tidings_domain::timelines::follows::{self, Person, Side};
use tidings_domain::timelines::suggestions::{self, Suggestion};
use tidings_language::{Argument, Phrase, m, n, t};

/// The button that follows or unfollows a user; nothing for the viewer's own account. It
/// redirects to `next`. In a list, its label includes the username.
pub fn follow_button(frame: &Frame<'_>, person: &Person, next: &str, among_others: bool) -> Markup {
    let (action, label) =
        if person.followed { ("/unfollow", t!("Unfollow")) } else { ("/follow", t!("Follow")) };
    let whom = html! { @if among_others { span.hidden { " " (person.username) } } };
    html! {
        @match frame.viewer {
            Some(viewer) if viewer.id == person.id => {}
            Some(_) => {
                form.follow method="post" action=(action) {
                    input type="hidden" name="username" value=(person.username);
                    (frame.signed_fields())
                    input type="hidden" name="next" value=(next);
                    button.button.small.quiet[person.followed] { (label) (whom) }
                }
            }
            None => {
                form.follow action="/login" {
                    input type="hidden" name="next" value=(next);
                    input type="hidden" name="reason" value=(LoginReason::Follow.name());
                    button.button.small { (t!("Follow")) (whom) }
                }
            }
        }
    }
}

/// One person in a list, with a remark about them.
fn person_item(frame: &Frame<'_>, person: &Person, about: Option<Phrase<'_>>) -> Markup {
    let anchor = format!("person-{}", person.id);
    html! {
        li.person #(anchor) data-item {
            div {
                (person_link(&person.username, &person.fullname))
                @if let Some(about) = about { p.hint { (about) } }
            }
            (follow_button(frame, person, &format!("{}#{anchor}", frame.way_back), true))
        }
    }
}

/// The reason for a suggestion.
fn reason(suggestion: &Suggestion) -> Phrase<'static> {
    match suggestion.followed_by_friends {
        0 => n!(suggestion.followers, "{count} follower", "{count} followers"),
        friends => {
            n!(friends, "followed by {count} person you follow", "followed by {count} people you follow")
        }
    }
}

/// A few suggestions next to other content; nothing if there are none.
pub fn who_to_follow(frame: &Frame<'_>, suggestions: &[Suggestion]) -> Markup {
    html! {
        @if !suggestions.is_empty() {
            aside.beside aria-labelledby="people-to-follow" {
                h2 #people-to-follow { (t!("People to follow")) }
                ol.people role="list" {
                    @for suggestion in suggestions {
                        (person_item(frame, &suggestion.person, Some(reason(suggestion))))
                    }
                }
                p { a.action href="/suggestions" { (t!("More people")) } }
            }
        }
    }
}

/// GET /suggestions.
pub async fn suggestions(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let suggestions = suggestions::suggestions(&mut visit, SUGGESTIONS).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    if frame.viewer.is_none() {
        return Err(RequestError::LoginRequired);
    }
    let content = html! {
        h1.hidden { (t!("People to follow")) }
        (tabs(&frame, Tab::Suggestions))
        @if suggestions.is_empty() {
            @let link = html! { a href="/everyone" { (t!("See everyone’s posts")) } };
            p.empty { (t!("There is nobody left to suggest. {link}.", link)) }
        }
        ol.people role="list" {
            @for suggestion in &suggestions {
                (person_item(&frame, &suggestion.person, Some(reason(suggestion))))
            }
        }
    };
    Ok(frame.page(t!("People to follow"), &content))
}

/// GET /@:name/followers and /@:name/followings.
pub async fn people_of(
    side: Side,
    PathOf(AtName(name)): PathOf<AtName>,
    Page { app, mut visit, here, .. }: Page,
    Form(query): Form<PageQuery>,
) -> Result<Markup> {
    let page = follows::people(&mut visit, &name, side, &query.into()).await?;
    if side == Side::Followers {
        let is_own = |viewer: &User| viewer.username.eq_ignore_ascii_case(&name);
        visit.note_seen(|viewer| is_own(viewer).then_some(OnPage::Followers)).await?;
    }
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let profile = profile_address(&name, "");
    let (empty, base) = match side {
        Side::Followers => (
            (
                t!("No followers yet. People follow you when they like your posts."),
                ("/home", t!("Go to your posts")),
            ),
            profile_address(&name, "/followers"),
        ),
        Side::Followings => (
            (t!("Not following anyone yet."), ("/suggestions", t!("Find people to follow"))),
            profile_address(&name, "/followings"),
        ),
    };
    let content = html! {
        h1 { (people_heading(side, html! { a href=(profile) { (name) } })) }
        @if page.people.is_empty() && here.parameter("before").is_some() {
            (no_more(t!("No more people."), &base))
        } @else if page.count == 0 {
            (empty_but(empty.0, empty.1))
        } @else {
            p.hint { (n!(page.count, "{count} person", "{count} people")) }
        }
        ol.people role="list" {
            @for person in &page.people { (person_item(&frame, person, None)) }
        }
        (older(&base, page.next))
    };
    Ok(frame.page(&people_heading(side, &name).to_string(), &content))
}

/// The heading of a list of people, with the name of whom it belongs to.
fn people_heading<'a>(side: Side, name: impl Into<Argument<'a>>) -> Phrase<'a> {
    match side {
        Side::Followers => t!("Followers of {name}", name),
        Side::Followings => t!("Followed by {name}", name),
    }
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::setting("/follow", m!("Follow a person."), |app, by, form: &FollowForm| {
            Box::pin(follows::follow(&app.site, app.moment(), by, &form.username).map_err(unknown_name))
        })
        .then(SHORT.of(Wing::Timelines).asking(LoginReason::Follow), page_of_button),
        Action::setting("/unfollow", m!("Unfollow a person."), |app, by, form: &FollowForm| {
            Box::pin(follows::unfollow(&app.site, app.moment(), by, &form.username).map_err(unknown_name))
        })
        .then(SHORT.of(Wing::Timelines).asking(LoginReason::Follow), page_of_button),
    ]
}

/// The page of the button; the profile of the user, if the form does not name the page.
struct Back(Option<LocalPath>);

impl FromFields for Back {
    fn from_fields(fields: &Fields) -> Result<Self> {
        Ok(Self(fields.filled("next").map(LocalPath::parse)))
    }
}

fn page_of_button(form: &FollowForm, Back(next): Back) -> String {
    next.map_or_else(|| profile_address(&form.username, ""), |next| next.to_string())
}
