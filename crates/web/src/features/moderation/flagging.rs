//! Flagging a story, a comment, a tweet or a profile: the page that asks for the reason, which
//! also takes the flag back.

use super::form::thing;
use crate::error::{RequestError, Result, refusals, unknown_name};
use crate::features::action::{Action, ActionEntry};
use crate::markup::addresses::address_of_thing;
use crate::markup::moderation_tools::thing_fields;
use crate::markup::parts::age;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::form::{form, parsed};
use crate::request::{Fields, PathOf};
use crate::route::{LONG, LoginReason, SHORT};
use futures_util::TryFutureExt;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::Error;
use tidings_domain::flags::{self, Flagging};
use tidings_domain::values::{Flag, FlagNote, FlagReason, Thing};
use tidings_language::{m, t};

form! {
    /// A flag on a thing.
    pub struct FlagForm {
        /// The kind of thing.
        pub kind: &'static str = flagged_kind, values::FlaggedKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        pub id: Thing = flagged_thing, values::ThingId;
        /// Why. Each kind has reasons of its own.
        pub reason: FlagReason = parsed(m!("it must be spam, offtopic, unkind, broken, duplicate or harmful")), values::FlagReason;
        /// For moderators. A duplicate's is the number or the link of the other story.
        pub note: FlagNote = |fields: &Fields, name| Ok(FlagNote::parse(fields.text(name)).map_err(Error::from)?), values::FlagNote, required = false;
    }

    /// The thing whose flag the caller takes back.
    pub struct UnflagForm {
        /// The kind of thing.
        pub kind: &'static str = flagged_kind, values::FlaggedKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        pub id: Thing = flagged_thing, values::ThingId;
    }
}

/// The thing in the fields `kind` and `id`, of a kind that can be flagged.
fn flagged_thing(fields: &Fields, _: &str) -> Result<Thing> {
    let thing = thing(fields)?;
    RequestError::field("kind", m!("it must be story, comment, tweet or user"))
        .when(FlagReason::of(&thing).is_empty())?;
    Ok(thing)
}

fn flagged_kind(fields: &Fields, name: &str) -> Result<&'static str> {
    Ok(flagged_thing(fields, name)?.kind())
}

/// The address of the page that asks why to flag something.
pub fn flag_address(thing: &Thing) -> String {
    format!("/flag/{}/{}", thing.kind(), utf8_percent_encode(&thing.id(), NON_ALPHANUMERIC))
}

/// The meaning of a reason, for people.
pub fn meaning(reason: FlagReason) -> &'static str {
    match reason {
        FlagReason::Spam => t!("Spam: advertising, or posted again and again"),
        FlagReason::Offtopic => t!("Off-topic: it does not belong here"),
        FlagReason::Unkind => t!("Unkind: it attacks someone"),
        FlagReason::Broken => t!("Broken link: the page is gone or cannot be read"),
        FlagReason::Duplicate => t!("Duplicate: another story covers the same thing"),
        FlagReason::Harmful => t!("Harmful: threats, private data, or a dangerous site"),
    }
}

/// The short name of a reason, for people.
pub fn reason_name(reason: FlagReason) -> &'static str {
    match reason {
        FlagReason::Spam => t!("flag" => "spam"),
        FlagReason::Offtopic => t!("flag" => "off-topic"),
        FlagReason::Unkind => t!("flag" => "unkind"),
        FlagReason::Broken => t!("flag" => "broken link"),
        FlagReason::Duplicate => t!("flag" => "duplicate"),
        FlagReason::Harmful => t!("flag" => "harmful"),
    }
}

/// The words for flagging a thing, and for going back to it.
fn words(thing: &Thing) -> [&'static str; 2] {
    match thing {
        Thing::Story(_) => [t!("Flag this story"), t!("Back to the story")],
        Thing::Comment(_) => [t!("Flag this comment"), t!("Back to the comment")],
        Thing::Tweet(_) => [t!("Flag this post"), t!("Back to the post")],
        _ => [t!("Flag this profile"), t!("Back to the profile")],
    }
}

/// The viewer's flag, and the button that takes it back while it waits.
fn flagged(frame: &Frame<'_>, thing: &Thing, flag: &Flag) -> Markup {
    let reason = html! { strong { (reason_name(flag.reason)) } };
    let age = age(frame, flag.time);
    let flagged = match thing {
        Thing::Story(_) => t!("You flagged this story as {reason} {age}.", reason, age),
        Thing::Comment(_) => t!("You flagged this comment as {reason} {age}.", reason, age),
        Thing::Tweet(_) => t!("You flagged this post as {reason} {age}.", reason, age),
        _ => t!("You flagged this profile as {reason} {age}.", reason, age),
    };
    html! {
        div.notice role="status" {
            p {
                (flagged) " "
                @if flag.waits() { (t!("A moderator will look at it.")) }
                @else { (t!("A moderator has looked at it.")) }
            }
            @if flag.waits() {
                form.inline method="post" action="/unflag" {
                    (thing_fields(frame, thing))
                    button.button.small { (t!("Take the flag back")) }
                }
            }
        }
    }
}

fn form(frame: &Frame<'_>, thing: &Thing) -> Markup {
    let reasons = FlagReason::of(thing);
    let has_duplicate = reasons.contains(&FlagReason::Duplicate);
    let hint = if has_duplicate {
        t!("For a duplicate, enter the number or the link of the other story.")
    } else {
        t!("Anything that helps moderators decide.")
    };
    html! {
        // The script opens it below the thing.
        form.form method="post" action="/flag" data-flag="/api/flag" {
            (thing_fields(frame, thing))
            (frame.form_page())
            p {
                (t!("A flag asks a moderator to look. It is not a vote and costs nothing. Only moderators see it."))
            }
            fieldset.choices {
                legend { (t!("Why?")) }
                @for reason in reasons {
                    label.choice {
                        input type="radio" name="reason" value=(reason) required;
                        " " (meaning(*reason))
                    }
                }
            }
            (Field::new("note", t!("Note for moderators (optional)")).with("maxlength", "200").hint(hint).input())
            div.buttons { button.button { (words(thing)[0]) } }
        }
    }
}

/// GET /flag/:kind/:id: asks for the reason.
pub async fn show(PathOf((kind, id)): PathOf<(String, String)>, mut page: Page<Member>) -> Result<Markup> {
    let thing = Thing::parse(&kind, &id).map_err(|_| RequestError::NotFound)?;
    RequestError::NotFound.when(FlagReason::of(&thing).is_empty())?;
    let facts = flags::facts(&mut page.visit, &thing).await?;
    let frame = page.frame().await?;
    let [heading, back] = words(&thing);
    let content = html! {
        @match &facts.text {
            Some(text) => blockquote.flagged-text dir="auto" { (text) },
            None => p.gone { (t!("[this is not shown]")) },
        }
        @match (&facts.own, &facts.refusal) {
            (Some(flag), _) => (flagged(&frame, &thing, flag)),
            (None, Some(refusal)) => p.notice { (refusals::refusal(refusal)) },
            (None, None) => (form(&frame, &thing)),
        }
        p { a.action href=(address_of_thing(&thing)) { (back) } }
    };
    Ok(frame.headed(heading, &content))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/flag",
            m!("Flag something for moderators: a story, a comment, a post or a person."),
            |app, by, form: &FlagForm| {
                Box::pin(async move {
                    let flagging = Flagging { reason: form.reason, note: form.note.clone() };
                    flags::flag(&app.site, app.moment(), by, (&form.id, &flagging))
                        .await
                        .map_err(unknown_name)
                })
            },
        )
        .then(LONG.asking(LoginReason::Flag), |form, ()| flag_address(&form.id)),
        Action::once("/unflag", m!("Take a flag back."), |app, by, form: &UnflagForm| {
            Box::pin(flags::unflag(&app.site, app.moment(), by, &form.id).map_err(unknown_name))
        })
        .then(SHORT.asking(LoginReason::Flag), |form, ()| address_of_thing(&form.id)),
    ]
}
