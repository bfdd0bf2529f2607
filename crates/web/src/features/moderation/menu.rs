//! The menu of moderators for a post: everything that they can do to it. The script opens it where the post stands.

use super::erasing;
use crate::error::RequestError;
use crate::markup::addresses::address_of_thing;
use crate::markup::frame::Frame;
use crate::markup::moderation_tools::{ActionForms, field, thing_name};
use crate::markup::page::{Moderator, Page};
use crate::markup::parts::date;
use crate::request::path::PathOf;
use maud::{Markup, html};
use tidings_domain::moderation::menu::{self, PostMenu};
use tidings_domain::values::{Action, MAX_TITLE, Thing};

/// For how many days a story is pinned, unless one says otherwise.
pub(super) const PINNED_DAYS: u64 = 7;

/// GET /moderate/menu/{kind}/{id}.
pub async fn page(
    PathOf((kind, id)): PathOf<(String, String)>,
    Page { app, mut visit, user, here }: Page<Moderator>,
) -> Result<Markup, RequestError> {
    let thing = Thing::parse(&kind, &id).map_err(|_| RequestError::NotFound)?;
    let menu = menu::of_post(&mut visit, &user, &thing).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let name = thing_name(&thing);
    let address = address_of_thing(&thing);
    let actions: Vec<Action> =
        menu.actions.iter().copied().filter(|action| *action != Action::Erase).collect();
    let forms = ActionForms {
        actions: &actions,
        own: &|action| fields(&frame, (&menu, &thing), action),
        common: html! {},
        next: &address,
    };
    let content = html! {
        h1 { "Moderate " a href=(address) { (name) } }
        div.moderation-menu role="group" aria-label={ "Moderate " (name) } {
            (forms.render(&frame, &thing))
            @if menu.actions.contains(&Action::Erase) {
                p { a href=(erasing::address(&thing)) rel="nofollow" { (Action::Erase.facts().button) } }
            }
            @if menu.actions.is_empty() { p.empty { "You can't moderate this." } }
        }
    };
    Ok(frame.page(&format!("Moderate {name}"), &content))
}

/// The fields of an action that has a form of its own.
fn fields(frame: &Frame<'_>, (menu, thing): (&PostMenu, &Thing), action: Action) -> Option<Markup> {
    match action {
        Action::Edit => Some(html! {
            @if let Some([title, topics]) = &menu.title {
                label {
                    span { "Title" }
                    input type="text" name="title" value=(title) maxlength=(MAX_TITLE);
                }
                (field("Topics", ("topics", topics), None))
            }
            @if let Some(url) = &menu.url {
                label { span { "URL" } input type="url" name="url" value=(url); }
            } @else if let (Some(text), Thing::Story(_) | Thing::Comment(_)) = (&menu.text, thing) {
                label { span { "Text" } textarea name="text" rows="6" { (text) } }
            }
        }),
        Action::Merge => Some(html! {
            label {
                span { "Other story" }
                input type="text" name="into" autocapitalize="none" spellcheck="false" required;
                span.hint { "Its number or address. Comments move there and readers are redirected." }
            }
        }),
        Action::Pin => Some(days_to_pin(frame)),
        _ => None,
    }
}

/// The field with the days for which a story is pinned. If another one is pinned, both end together: by default, when that one does.
fn days_to_pin(frame: &Frame<'_>) -> Markup {
    let announcement = &frame.brand.announcement;
    let other = announcement.pinned(frame.now).first();
    let end = announcement.pinned_until.filter(|_| other.is_some());
    let days = end.map_or(PINNED_DAYS, |end| end.seconds_since(frame.now).div_ceil(86_400));
    html! {
        label {
            span { "Days" }
            input type="number" name="days" value=(days) min="1" max="3650" required;
            @if let Some(other) = other {
                span.hint {
                    "Story " (other.0) " is pinned " @if let Some(end) = end { "until " (date(end)) } @else { "without an end" }
                    ". These days will count for both."
                }
            }
        }
    }
}
