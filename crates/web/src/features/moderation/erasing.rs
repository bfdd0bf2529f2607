//! The page on which an administrator confirms that a post is erased.

use crate::error::refusals::erasure;
use crate::error::{RequestError, Result};
use crate::markup::addresses::address_of_thing;
use crate::markup::moderation_tools::{anonymous_box, reason_field, thing_fields};
use crate::markup::{Frame, Member, Page};
use crate::request::PathOf;
use maud::{Markup, html};
use tidings_domain::moderation::erasing;
use tidings_domain::values::{Action, Thing};
use tidings_language::t;

/// The address of the page about a post.
pub fn address(thing: &Thing) -> String {
    format!("/moderate/erase/{}/{}", thing.kind(), thing.id())
}

/// GET /moderate/erase/{kind}/{id}.
pub async fn page(
    PathOf((kind, id)): PathOf<(String, String)>,
    Page { app, mut visit, user, here }: Page<Member>,
) -> Result<Markup> {
    let thing = Thing::parse(&kind, &id).map_err(|_| RequestError::NotFound)?;
    let loss = erasing::loss(&app.site, &user, &thing).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { (t!("Erase for good?")) }
        div.prose {
            p dir="auto" { (t!("{erasure} You can't undo this.", erasure = erasure(&loss))) }
            p {
                (t!("It leaves every page, feed, inbox, waiting mail, list, search and new backup at once. The moderation log says who did it and why, so don't repeat in the reason what is to be forgotten."))
            }
            ul {
                li {
                    (t!(
                        "The files of the store and of the search index may hold old bytes for a day, or until you run {command}. On Redis, the manual has the command.",
                        command = html! { code { "tidings compact" } },
                    ))
                }
                li {
                    (t!(
                        "Old backups still have it. {command} writes a copy without it; the thing is {thing}.",
                        command = html! { code { "tidings erase --from-backup FILE THING OUT" } },
                        thing = html! { code { (thing) } },
                    ))
                }
                li { (t!("Other sites and readers of feeds may have copies.")) }
            }
        }
        form.form.narrow method="post" action="/moderate" {
            (thing_fields(&frame, &thing))
            (frame.form_page())
            input type="hidden" name="confirm" value=(thing.id());
            @let next = if let Thing::Tweet(_) = thing { "/moderations".to_owned() } else { address_of_thing(&thing) };
            input type="hidden" name="next" value=(next);
            (reason_field(t!("Reason (public)"), ""))
            (anonymous_box())
            input type="hidden" name="action" value=(Action::Erase.name());
            button.button.grave { (t!("button" => "Erase it")) }
        }
        p { a.action href=(address_of_thing(&thing)) { (t!("Keep it")) } }
    };
    Ok(frame.page(t!("Erase a post"), &content))
}
