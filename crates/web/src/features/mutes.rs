//! Muting and blocking: the list in the settings, the buttons elsewhere, and the targets of both.

use crate::error::{RequestError, Result, unknown_name};
use crate::features::action::{Action, ActionEntry, SentForm};
use crate::markup::addresses::{MUTES, READING_SETTINGS, profile_address, topic_link};
use crate::markup::fields::select;
use crate::markup::parts::{age, small_form};
use crate::markup::{Field, Frame, Member, Notice, Page};
use crate::request::form::{form, parsed};
use crate::request::{Fields, Next, answer};
use crate::route::SHORT;
use axum::Json;
use axum::response::Redirect;
use futures_util::TryFutureExt;
use maud::{Markup, Render, html};
use tidings_domain::accounts::mutes::{self, Avoided, Block, Mutable, Mute};
use tidings_domain::accounts::reader::Reader;
use tidings_domain::articles::topic_choices::{self, Stance};
use tidings_domain::timelines::blocks;
use tidings_domain::values::mutes::muted_domain;
use tidings_domain::values::{Hostname, MAX_MUTED_WORD, MuteKind, MutedWord, Topic};
use tidings_domain::{Error, User};
use tidings_language::{Message, m, t};

/// The target of a mute.
pub enum MuteTarget {
    /// A topic, which must exist.
    Topic(Topic),
    /// A person, a site or a word.
    Other(Mutable),
}

form! {
    /// Something to mute or unmute.
    pub struct MuteForm as Mute {
        /// The kind of thing.
        pub what: MuteKind = parsed(KIND), values::MuteKind;
        /// A username, the name of a site (which covers its subdomains), a topic, or a word or
        /// phrase. Case does not matter.
        pub value: MuteTarget = target, values::MuteValue;
    }

    /// Somebody to block or unblock.
    pub struct BlockForm as Block {
        // Imported accounts may have names that are not valid for new accounts.
        /// The username. Case does not matter.
        pub username: String = username, values::Username;
    }
}

const KIND: &Message = m!("it must be user, domain, topic or word");

fn target(fields: &Fields, name: &'static str) -> Result<MuteTarget> {
    let typed = fields.required(name)?;
    let not_a_site = |_| RequestError::field(name, m!("it must be the name of a site, such as example.com"));
    Ok(match fields.parsed("what", KIND)? {
        MuteKind::Topic => MuteTarget::Topic(Topic::parse(name, typed).map_err(Error::from)?),
        MuteKind::User => MuteTarget::Other(Mutable::User(username(fields, name)?)),
        MuteKind::Domain => MuteTarget::Other(Mutable::Domain(muted_domain(typed).map_err(not_a_site)?)),
        MuteKind::Word => MuteTarget::Other(Mutable::Word(MutedWord::parse(typed).map_err(Error::from)?)),
    })
}

/// A username as people type it: with or without an `@`.
fn username(fields: &Fields, name: &'static str) -> Result<String> {
    let typed = fields.required(name)?.trim();
    Ok(typed.strip_prefix('@').unwrap_or(typed).to_owned())
}

/// The name of each kind.
const KINDS: [(MuteKind, &Message); 4] = [
    (MuteKind::User, m!("Person")),
    (MuteKind::Domain, m!("web site" => "Site")),
    (MuteKind::Topic, m!("Topic")),
    (MuteKind::Word, m!("Word or phrase")),
];

/// A form with one button that mutes or unmutes something, and comes back.
fn mute_button(
    frame: &Frame<'_>,
    (kind, value): (MuteKind, &str),
    is_muted: bool,
    label: impl Render,
) -> Markup {
    let action = if is_muted { "/unmute" } else { "/mute" };
    small_form(frame, action, &[("what", kind.name()), ("value", value)], label)
}

/// A form with one button that blocks or unblocks somebody, and comes back.
fn block_button(frame: &Frame<'_>, username: &str, is_blocked: bool, label: impl Render) -> Markup {
    let action = if is_blocked { "/unblock" } else { "/block" };
    small_form(frame, action, &[("username", username)], label)
}

/// The note that unblocking does not restore a follow.
const NO_FOLLOW_BACK: &Message =
    m!("If they followed you before, they have to follow you again after you unblock them.");

/// The buttons that mute and block a person, on their profile.
pub fn person_forms(frame: &Frame<'_>, person: &User, reader: &Reader) -> Markup {
    let (is_muted, is_blocked) = (reader.has_muted(person.id), reader.has_blocked(person.id));
    let mute = if is_muted { t!("Unmute") } else { t!("Mute") };
    let block = if is_blocked { t!("Unblock") } else { t!("verb" => "Block") };
    html! {
        div.stance {
            (mute_button(frame, (MuteKind::User, &person.username), is_muted, mute))
            (block_button(frame, &person.username, is_blocked, block))
        }
    }
}

/// Says that the reader has blocked or muted the person whose page it is.
pub fn person_notes(person: &User, reader: &Reader) -> Markup {
    html! {
        @if reader.has_blocked(person.id) {
            p.hint {
                (t!(
                    "You have blocked this person: you don't see what they write, and they can't follow you, reply to \
                     you or notify you."
                ))
                " " (NO_FOLLOW_BACK.text())
            }
        } @else if reader.has_muted(person.id) {
            p.hint {
                (t!("You have muted this person: you don't see what they write."))
                " " a href=(MUTES) { (t!("Everything you have muted")) }
            }
        }
    }
}

/// The button that mutes a site, on its page.
pub fn site_form(frame: &Frame<'_>, host: &Hostname, reader: &Reader) -> Markup {
    let is_muted = reader.has_muted_site(host);
    let label = if is_muted { t!("Unmute this site") } else { t!("Mute this site") };
    html! {
        div.stance { (mute_button(frame, (MuteKind::Domain, host.as_str()), is_muted, label)) }
        @if is_muted {
            p.hint {
                (t!("You have muted this site or its parent site: its stories are hidden in your lists."))
                " " a href=(MUTES) { (t!("Everything you have muted")) }
            }
        }
    }
}

/// The list, with forms that add to it.
fn shown(frame: &Frame<'_>, Avoided { mutes, blocks }: &Avoided) -> Markup {
    let content = html! {
        p.hint {
            (t!("What you mute does not appear in your lists, threads, timelines and inbox. Only you can see this."))
        }
        (mute_form(frame))
        @if mutes.is_empty() { p.empty { (t!("You haven’t muted anything.")) } } @else {
            ul.mutes role="list" { @for mute in mutes { (mute_row(frame, mute)) } }
        }
        h2 #blocked { (t!("Blocked people")) }
        p.hint {
            (t!("People you block can't follow you, reply to you or notify you, and you don't see what they write."))
        }
        (block_form(frame))
        @if blocks.is_empty() { p.empty { (t!("You haven’t blocked anyone.")) } } @else {
            ul.mutes role="list" { @for block in blocks { (block_row(frame, block)) } }
            p.hint { (NO_FOLLOW_BACK.text()) }
        }
        p { a.action href=(READING_SETTINGS) { (t!("Reading settings")) } }
    };
    frame.headed(t!("Muted and blocked"), &content)
}

fn mute_form(frame: &Frame<'_>) -> Markup {
    let hint = html! {
        (t!(
            "A username; a site such as example.com, with its subdomains; a topic; or a word or phrase of up to \
             {most} characters.",
            most = MAX_MUTED_WORD
        ))
    };
    let value = Field::new("value", t!("Person, site, topic or word")).hint(hint);
    html! {
        form.form.narrow method="post" action="/mute" {
            (frame.signed_fields())
            input type="hidden" name="next" value=(MUTES);
            (select("what", t!("Kind"), "", &KINDS.map(|(kind, name)| (kind.name(), name.text()))))
            (value.with("autocomplete", "off").exact().required().input())
            button.button { (t!("Mute")) }
        }
    }
}

fn block_form(frame: &Frame<'_>) -> Markup {
    let field = Field::new("username", t!("Username"));
    html! {
        form.form.narrow method="post" action="/block" {
            (frame.signed_fields())
            input type="hidden" name="next" value={ (MUTES) "#blocked" };
            (field.with("autocomplete", "off").exact().required().input())
            button.button { (t!("verb" => "Block")) }
        }
    }
}

fn mute_row(frame: &Frame<'_>, mute: &Mute) -> Markup {
    let kind = KINDS.iter().find(|(kind, _)| *kind == mute.kind).map_or("", |(_, name)| name.text());
    let label = html! { (t!("Unmute")) span.hidden { " " (mute.value) } };
    html! {
        li {
            span.kind { (kind) }
            span.value dir="auto" {
                @match mute.kind {
                    MuteKind::User => a href=(profile_address(&mute.value, "")) { (mute.value) },
                    MuteKind::Domain => a href={ "/site/" (mute.value) } { (mute.value) },
                    MuteKind::Topic => @if let Ok(topic) = Topic::parse("topic", &mute.value) { (topic_link(&topic)) },
                    MuteKind::Word => (mute.value),
                }
            }
            span.since { (age(frame, mute.since)) }
            (mute_button(frame, (mute.kind, &mute.value), true, label))
        }
    }
}

fn block_row(frame: &Frame<'_>, block: &Block) -> Markup {
    let label = html! { (t!("Unblock")) span.hidden { " " (block.username) } };
    html! {
        li {
            span.kind { (t!("Person")) }
            span.value { a href=(profile_address(&block.username, "")) { (block.username) } }
            span.since { (age(frame, block.since)) }
            (block_button(frame, &block.username, true, label))
        }
    }
}

/// GET /settings/mutes.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let avoided = mutes::avoided(&mut visit, user.id).await?;
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &avoided))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        muting("/mute", m!("Mute this."), Muting::Begins)
            .described("Mute a person, a site, a topic or a word.")
            .back(SHORT),
        muting("/unmute", m!("Unmute this."), Muting::Ends)
            .described("Unmute a person, a site, a topic or a word.")
            .back(SHORT),
        Action::setting("/block", m!("Block a person."), |app, by, form: &BlockForm| {
            Box::pin(blocks::block(&app.site, app.moment(), by, &form.username).map_err(unknown_name))
        })
        .back(SHORT),
        Action::setting("/unblock", UNBLOCK, |app, by, form: &BlockForm| {
            Box::pin(blocks::unblock(&app.site, app.moment(), by, &form.username).map_err(unknown_name))
        })
        .page(SHORT, async |SentForm { app, form }, _, ()| {
            let Next { next } = form.fields.read()?;
            let is_list = next.as_str().starts_with(MUTES);
            let to_list = || Notice::Unblocked.redirect(&app, &form.user, MUTES);
            Ok::<_, RequestError>(if is_list { to_list() } else { Redirect::to(next.as_str()) })
        }),
    ]
}

/// Whether something is muted from now on, or no longer.
#[derive(Clone, Copy)]
enum Muting {
    Begins,
    Ends,
}

/// The action that mutes something, or unmutes it.
fn muting(
    path: &'static str,
    summary: &'static Message,
    muting: Muting,
) -> Action<MuteForm, (), RequestError> {
    Action::setting(path, summary, move |app, by, form: &MuteForm| {
        let (site, now) = (&app.site, app.moment());
        Box::pin(async move {
            match (muting, &form.value) {
                (Muting::Begins, MuteTarget::Topic(topic)) => {
                    topic_choices::choose(site, now, by, Stance::Muted, topic).await
                }
                (Muting::Ends, MuteTarget::Topic(topic)) => {
                    topic_choices::leave(site, now, by, Stance::Muted, topic).await
                }
                (Muting::Begins, MuteTarget::Other(what)) => mutes::mute(site, now, by, what).await,
                (Muting::Ends, MuteTarget::Other(what)) => mutes::unmute(site, now, by, what).await,
            }
            .map_err(unknown_name)
        })
    })
    .answering(what_is_left)
}

/// The description of the call to unblock.
const UNBLOCK: &Message = m!("Unblock a person. Whether they followed the caller before does not come back.");

/// The answer of the calls to mute and to unmute.
async fn what_is_left(mut sent: SentForm, (): ()) -> Result<MutesResponse> {
    Ok(mutes::avoided(&mut sent.form.visit, sent.form.user.id).await?.into())
}

answer! {
    /// The mutes and blocks of the caller, the latest first.
    pub struct MutesResponse as Mutes from (avoided: Avoided) {
        status;
        /// At most 500 people, sites and words, and 100 topics.
        mutes: Vec<MuteEntry> = avoided.mutes.into_iter().map(MuteEntry::from).collect();
        /// The blocked people; at most 500.
        blocks: Vec<BlockEntry> = avoided.blocks.into_iter().map(BlockEntry::from).collect();
    }

    /// Something muted.
    struct MuteEntry from (mute: Mute) {
        /// The kind of thing.
        what: &'static str = mute.kind.name(), values::MuteKind;
        /// The username, the site, the topic, or the word or phrase.
        value: String = mute.value, values::StoredMute;
        /// When it was muted.
        since: u64 = mute.since.0;
    }

    /// Somebody blocked.
    struct BlockEntry from (block: Block) {
        username: String = block.username, values::StoredUsername;
        /// When the person was blocked.
        since: u64 = block.since.0;
    }
}

/// GET /api/mutes.
pub async fn list(Page { mut visit, user, .. }: Page<Member>) -> Result<Json<MutesResponse>> {
    Ok(Json(mutes::avoided(&mut visit, user.id).await?.into()))
}
