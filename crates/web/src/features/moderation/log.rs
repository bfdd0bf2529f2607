//! The public log of moderation.

use super::form::LogQuery;
use crate::error::Result;
use crate::markup::addresses::profile_address;
use crate::markup::dates::to_the_minute;
use crate::markup::moderation_tools::{is_moderator, line_link, target, target_name, undo_form};
use crate::markup::parts::{DELETED_USER, age, more_link};
use crate::markup::{FeedFormat, FeedKind, Frame, Page, PageHead};
use crate::request::{Form, answer};
use axum::Json;
use maud::{Markup, html};
use tidings_domain::Visit;
use tidings_domain::moderation::log::{self, LogEntry, LogPage, LogWindow, ShownModerator};
use tidings_domain::values::{Action, LONGEST_NAMED_USERNAME, ModerationId, Thing};
use tidings_language::{n, t};
use url::form_urlencoded::Serializer;

/// GET /moderations: count, before, moderator, kind, action, person, part_of.
pub async fn page(Page { app, mut visit, here, .. }: Page, Form(query): Form<LogQuery>) -> Result<Markup> {
    let window: LogWindow = query.into();
    let page = log::page(&mut visit, &window).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { (t!("Moderation log")) }
        p.hint {
            (t!("Everything moderators do is listed here, with the reason. Nothing is ever removed from this list."))
            " " a href=(FeedKind::Log.address(FeedFormat::Atom)) { (t!("Feed")) }
        }
        @if let Some(batch) = window.part_of {
            p {
                (t!("The parts of {entry}.", entry = line_link(batch, "")))
                " " a href="/moderations" { (t!("The whole log")) }
            }
        } @else {
            (filters(&frame, &window))
        }
        @if page.entries.is_empty() {
            p.empty {
                @if page.next.is_some() { (t!("Nothing in this part of the log matches.")) }
                @else if window.before.is_some() { (t!("There is nothing older.")) }
                @else { (t!("No moderator actions yet.")) }
            }
        }
        ol.log.dated role="list" {
            @for entry in &page.entries { (line(&frame, entry)) }
        }
        (more_link(page.next.map(|next| address(&window, Some(next)))))
    };
    Ok(frame.page_with(t!("Moderation log"), &PageHead::default().feeds([FeedKind::Log]), &content))
}

/// The address of a part of the log.
fn address(window: &LogWindow, before: Option<ModerationId>) -> String {
    let filters = [
        ("moderator", window.moderator.clone()),
        ("kind", window.kind.map(str::to_owned)),
        ("action", window.action.map(|action| action.to_string())),
        ("person", window.person.clone()),
        ("part_of", window.part_of.map(|batch| batch.to_string())),
        ("before", before.map(|before| before.to_string())),
    ];
    let given = filters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    format!("/moderations?{}", Serializer::new(String::new()).extend_pairs(given).finish())
}

fn filters(frame: &Frame<'_>, window: &LogWindow) -> Markup {
    let name = |label: &str, name: &str, value: Option<&str>| {
        html! {
            label { (label)
                input type="text" name=(name) value=(value.unwrap_or_default()) maxlength=(LONGEST_NAMED_USERNAME) autocapitalize="none";
            }
        }
    };
    html! {
        form.log-filters action="/moderations" {
            label { (t!("Kind"))
                select name="kind" {
                    option value="" { (t!("everything")) }
                    @for kind in Thing::KINDS {
                        option value=(kind) selected[window.kind == Some(kind)] { (kind_words(kind)) }
                    }
                }
            }
            label { (t!("Action"))
                select name="action" {
                    option value="" { (t!("actions" => "all")) }
                    @for action in Action::ALL {
                        option value=(action.name()) selected[window.action == Some(*action)] { (action.words()) }
                    }
                }
            }
            (name(t!("Moderator"), "moderator", window.moderator.as_deref()))
            @if is_moderator(frame) { (name(t!("person" => "About"), "person", window.person.as_deref())) }
            button.button.small { (t!("button" => "Show")) }
        }
    }
}

/// A kind of thing, as pages call it.
fn kind_words(kind: &str) -> &str {
    match kind {
        "story" => t!("kind" => "story"),
        "comment" => t!("kind" => "comment"),
        "tweet" => t!("kind" => "post"),
        "user" => t!("kind" => "person"),
        "application" => t!("kind" => "application"),
        "appeal" => t!("kind" => "appeal"),
        "message" => t!("kind" => "message"),
        "rule" => t!("kind" => "rule"),
        "origin" => t!("kind" => "network or domain"),
        "site" => t!("kind" => "the whole site"),
        kind => kind,
    }
}

/// The name in calls for the provider, by whose groups people have roles.
const SIGN_IN_SERVICE: &str = "sign-in service";

/// The name in calls for a moderator who chose not to be named.
const UNNAMED: &str = "a moderator";

/// The name of the moderator that everybody may know.
pub fn moderator_name(moderator: &ShownModerator) -> &str {
    match moderator {
        ShownModerator::Named(name) => name,
        ShownModerator::Unnamed => t!("a moderator"),
        ShownModerator::Left => DELETED_USER,
        ShownModerator::SignInService => t!("sign-in service"),
    }
}

/// The kind of something, in words.
fn noun(thing: &Thing) -> &'static str {
    match thing {
        Thing::Story(_) => t!("noun" => "story"),
        Thing::Comment(_) => t!("noun" => "comment"),
        Thing::Tweet(_) => t!("noun" => "post"),
        Thing::User(_) => t!("noun" => "profile"),
        Thing::Application(_) => t!("noun" => "application"),
        Thing::Appeal(_) => t!("noun" => "appeal"),
        Thing::Message(_) => t!("noun" => "message"),
        Thing::Rule(_) => t!("noun" => "rule"),
        Thing::Origin(_) => t!("noun" => "ban"),
        Thing::Site(_) => t!("noun" => "site"),
    }
}

/// A line in a few plain words, for the feed.
pub fn summary(entry: &LogEntry) -> String {
    let what = match (&entry.thing, &entry.title) {
        (Thing::Story(_), Some(title)) => t!("story “{title}”", title).into(),
        (Thing::User(name), _) => name.to_string(),
        (Thing::Application(name), _) => t!("the application of {name}", name).into(),
        (Thing::Site(_), _) => target_name(entry),
        (thing, _) => t!("{kind} {id}", kind = noun(thing), id = thing.id()).into(),
    };
    let what = match &entry.author {
        Some(author) => t!("{thing} by {author}", thing = what, author).into(),
        None => what,
    };
    let moderator = moderator_name(&entry.moderator);
    entry.action.sentence(Some(moderator), what).into()
}

fn line(frame: &Frame<'_>, entry: &LogEntry) -> Markup {
    let moderator = html! {
        @match &entry.moderator {
            ShownModerator::Named(name) => a.author href=(profile_address(name, "")) { (name) },
            other => (moderator_name(other)),
        }
    };
    html! {
        li #{ "line-" (entry.id) } data-item {
            p.entry-age { (age(frame, entry.time)) }
            p {
                span.log-number { (entry.id) } " "
                (entry.action.sentence(Some(&moderator), target(entry)))
                @if let Some(parts) = entry.parts {
                    " (" a href={ "/moderations?part_of=" (entry.id) } { (n!(parts, "{count} entry", "{count} entries")) } ")"
                } @else if let Some(count) = entry.count {
                    " (" (n!(count, "{count} item", "{count} items")) ")"
                }
                @if entry.in_progress { " " span.tag { (t!("tag" => "in progress")) } }
                @if let Some(until) = entry.until { " " (t!("until {time}", time = to_the_minute(until))) }
            }
            @if !entry.reason.is_empty() {
                p.log-reason dir="auto" {
                    (entry.reason)
                    @let saved = frame.brand.reasons.with_text(&entry.reason);
                    @if let Some(rule) = saved.map(|saved| &saved.rule).filter(|rule| !rule.is_empty()) {
                        " (" a href="/about#rules" { (rule) } ")"
                    }
                }
            }
            @if let Some(undone) = entry.undoes { p.hint { (t!("This undid {entry}.", entry = line_link(undone, ""))) } }
            @if let Some(batch) = entry.part_of { p.hint { (t!("A part of {entry}.", entry = line_link(batch, ""))) } }
            @if let Some(by) = entry.undone_by { p.hint { (t!("Undone by {entry}.", entry = line_link(by, ""))) } }
            @if entry.can_be_undone {
                details.undo { summary { (t!("button" => "Undo")) span.hidden { " " (t!("entry {id}", id = entry.id.to_string())) } } (undo_form(frame, entry.id)) }
            }
        }
    }
}

answer! {
    /// A part of the moderation log, newest first.
    pub struct LogResponse as ModerationLog from (page: LogPage) {
        status;
        entries: Vec<LogLine> = page.entries.into_iter().map(LogLine::from).collect();
        /// The value of `before` for the next part; null at the end. With a filter a part can be
        /// shorter than asked for before the end.
        next: Option<u64> = page.next.map(|next| next.0);
    }

    /// A line of the moderation log.
    pub struct LogLine as ModerationLine from (entry: LogEntry) {
        id: u64 = entry.id.0;
        /// When, in Unix seconds.
        time: u64 = entry.time.0;
        /// The moderator: a username, or `a moderator` for one who chose not to be named; null after a
        /// deactivation.
        moderator: Option<String> = match entry.moderator {
            ShownModerator::Named(name) => Some(name),
            ShownModerator::Unnamed => Some(UNNAMED.to_owned()),
            ShownModerator::SignInService => Some(SIGN_IN_SERVICE.to_owned()),
            ShownModerator::Left => None,
        }, Option<values::StoredUsername>;
        /// The action.
        action: &'static str = entry.action.name(), values::ModerationAction;
        /// The kind of thing.
        kind: &'static str = entry.thing.kind(), values::ThingKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        target: String = entry.thing.id(), values::ThingId;
        /// Why; may be empty.
        reason: String = entry.reason, values::Reason;
        /// The line by which it was undone; null if it was not.
        undone_by: Option<u64> = entry.undone_by.map(|line| line.0);
        /// True if the caller moderates and could undo it now; otherwise missing.
        can_be_undone?: bool = entry.can_be_undone.then_some(true);
        /// The line that it undid; otherwise missing.
        undoes?: u64 = entry.undoes.map(|line| line.0);
        /// When it ends by itself, in Unix seconds; missing if it does not.
        until?: u64 = entry.until.map(|until| until.0);
        /// How many posts, or for a batch how many people, it was about; missing for a single one.
        count?: u64 = entry.count, Option<u64>;
        /// True while the count still grows; otherwise missing.
        in_progress?: bool = entry.in_progress.then_some(true);
        /// How many lines it has as its parts, if it is a batch; otherwise missing.
        parts?: u64 = entry.parts, Option<u64>;
        /// The batch that it is a part of; otherwise missing.
        part_of?: u64 = entry.part_of.map(|line| line.0);
    }
}

/// GET /api/moderations.
pub async fn call(mut visit: Visit, Form(query): Form<LogQuery>) -> Result<Json<LogResponse>> {
    Ok(Json(log::page(&mut visit, &query.into()).await?.into()))
}
