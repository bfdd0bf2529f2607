//! The menu of moderators for a post: everything that they can do to it. The script opens it where the post stands.

use super::erasing;
use crate::error::{RequestError, Result};
use crate::markup::addresses::address_of_thing;
use crate::markup::dates::date;
use crate::markup::moderation_tools::{ActionForms, field, thing_name};
use crate::markup::{Frame, Moderator, Page};
use crate::request::PathOf;
use maud::{Markup, html};
use tidings_domain::moderation::menu::{self, PostMenu};
use tidings_domain::values::{Action, MAX_TITLE, Thing};
use tidings_language::t;

/// For how many days a story is pinned, unless one says otherwise.
pub(super) const PINNED_DAYS: u64 = 7;

/// GET /moderate/menu/{kind}/{id}.
pub async fn page(
    PathOf((kind, id)): PathOf<(String, String)>,
    Page { app, mut visit, user, here }: Page<Moderator>,
) -> Result<Markup> {
    let thing = Thing::parse(&kind, &id).map_err(|_| RequestError::NotFound)?;
    let menu = menu::of_post(&mut visit, &user, &thing).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let name = thing_name(&thing);
    let title = t!("Moderate {thing}", thing = &name).to_string();
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
        h1 { (t!("Moderate {thing}", thing = html! { a href=(address) { (name) } })) }
        div.moderation-menu role="group" aria-label=(title) {
            (forms.render(&frame, &thing))
            @if menu.actions.contains(&Action::Erase) {
                p { a href=(erasing::address(&thing)) rel="nofollow" { (Action::Erase.button()) } }
            }
            @if menu.actions.is_empty() { p.empty { (t!("You can't moderate this.")) } }
        }
    };
    Ok(frame.page(&title, &content))
}

/// The fields of an action that has a form of its own.
fn fields(frame: &Frame<'_>, (menu, thing): (&PostMenu, &Thing), action: Action) -> Option<Markup> {
    match action {
        Action::Edit => Some(html! {
            @if let Some([title, topics]) = &menu.title {
                label {
                    span { (t!("Title")) }
                    input type="text" name="title" value=(title) maxlength=(MAX_TITLE);
                }
                (field(t!("Topics"), ("topics", topics), None))
            }
            @if let Some(url) = &menu.url {
                label { span { (t!("URL")) } input type="url" name="url" value=(url); }
            } @else if let (Some(text), Thing::Story(_) | Thing::Comment(_)) = (&menu.text, thing) {
                label { span { (t!("Text")) } textarea name="text" rows="6" { (text) } }
            }
        }),
        Action::Merge => Some(html! {
            label {
                span { (t!("Other story")) }
                input type="text" name="into" autocapitalize="none" spellcheck="false" required;
                span.hint { (t!("Its number or address. Comments move there and readers are redirected.")) }
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
            span { (t!("Days")) }
            input type="number" name="days" value=(days) min="1" max="3650" required;
            @if let Some(other) = other {
                span.hint {
                    @let id = other.to_string();
                    @if let Some(end) = end {
                        (t!("Story {id} is pinned until {day}. These days will count for both.", id, day = html! { (date(end)) }))
                    } @else {
                        (t!("Story {id} is pinned without an end. These days will count for both.", id))
                    }
                }
            }
        }
    }
}
