//! The review queue: items for review, with the buttons to decide, and for programs.

use super::flagging::reason_name;
use super::person_tools::{SPANS, USUAL_SPAN, options, so_far};
use super::raid;
use crate::limits::{QUEUE_RINGS, QUEUE_ROWS};
use crate::markup::addresses::address_of_thing;
use crate::markup::dates::to_the_minute;
use crate::markup::moderation_tools::{REASONS, thing_fields, thing_name};
use crate::markup::parts::{ButtonForm, DELETED_USER, OUTSIDE, age, author, more_link, number};
use crate::markup::{Frame, Member, Moderator, Page};
use crate::request::form::{form, optional, parsed};
use crate::request::{Form, SignedForm, answer, paging};
use crate::{App, RequestError, Result};
use axum::Json;
use axum::response::Redirect;
use maud::{Markup, Render, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::moderation::queue::{self, QueueCursor, QueuePage, Row, RowAuthor, Why};
use tidings_domain::report::{BackgroundCheck, VoteRing, VoteRingReport};
use tidings_domain::values::{Action, FlagReason, MAX_REASON, Thing, Weight};
use tidings_domain::{Role, User, vote_rings};
use tidings_language::lists::enumerated;
use tidings_language::numbers::decimal;
use tidings_language::spans::wait;
use tidings_language::{Message, m, n, t};

/// The keys of the page with their actions; the script defines them.
const KEYS: [(&str, &Message); 7] = [
    ("j", m!("key" => "next")),
    ("y", m!("key" => "keep or approve")),
    ("r", m!("key" => "remove or reject")),
    ("w", m!("key" => "warn")),
    ("s", m!("key" => "silence")),
    ("b", m!("key" => "ban")),
    ("d", m!("key" => "ban the site")),
];

/// GET /moderate: before.
pub async fn page(mut page: Page<Moderator>, Form(query): Form<QueueQuery>) -> Result<Markup> {
    let part = queue::page(&mut page.visit, query.before.as_ref(), QUEUE_ROWS).await?;
    let frame = Frame::of(&page.app, &mut page.visit, &page.here).await?;
    let is_first = query.before.is_none();
    let rings = if is_first {
        rings(&frame, page.app.site.of())
    } else {
        html! {}
    };
    Ok(render(&frame, &page.user, (&part, is_first), &rings))
}

/// POST /moderate/votes: apisecret. The search goes on after the response.
pub async fn look_for_rings(app: App, SignedForm { user, form: () }: SignedForm<()>) -> Result<Redirect> {
    let starting = async { Ok::<_, RequestError>(vote_rings::start(&app.site, app.now(), &user)?) };
    user.once(&app.site, starting).await?;
    Ok(Redirect::to("/moderate#votes"))
}

fn render(frame: &Frame<'_>, viewer: &User, (page, is_first): (&QueuePage, bool), rings: &Markup) -> Markup {
    let content = html! {
        p.hint {
            (t!(
                "Items that readers flagged or that need a decision, most urgent first. Every decision is in the {log}. Nearly all can be undone there.",
                log = html! { a href="/moderations" { (t!("moderation log")) } },
            ))
        }
        p.review-keys data-keys hidden {
            @for (key, meaning) in KEYS { span { kbd { (key) } " " (meaning.text()) } " " }
        }
        @if page.rows.is_empty() {
            p.empty { @if is_first { (t!("Nothing to review. Well done.")) } @else { (t!("Nothing else to review.")) } }
        }
        ol.review role="list" data-queue {
            @for row in &page.rows { (review_row(frame, viewer, row)) }
        }
        (more_link(page.next.as_ref().map(|next| {
            format!("/moderate?before={}", utf8_percent_encode(&next.to_string(), NON_ALPHANUMERIC))
        })))
        p { a.action href="/messages" { (t!("Messages")) } }
        p { a.action href="/moderate/rules" { (t!("Rules for new content")) } }
        p { a.action href="/moderate/reasons" { (t!("Saved reasons")) } }
        p { a.action href="/people" { (t!("People")) } }
        p { a.action href="/moderate/figures" { (t!("Moderation statistics")) } }
        @if frame.viewer.is_some_and(|viewer| viewer.is_administrator()) {
            p { a.action href="/moderate/bans" { (t!("Banned networks and domains")) } }
        }
        @if is_first { (raid::section(frame)) }
        (rings)
    };
    frame.headed(t!("Review queue"), &content)
}

/// The results of the last search for vote rings, and a button that starts one.
fn rings(frame: &Frame<'_>, check: &BackgroundCheck<VoteRingReport>) -> Markup {
    let last = check.last();
    html! {
        section.vote-rings #votes {
            h2 { (t!("Vote rings")) }
            p.hint {
                (t!("Accounts that vote for each other far more often than chance would explain. What to do about them is up to you."))
            }
            @if check.is_running() {
                p role="status" { (t!("A search is running. Reload the page in a minute.")) }
            } @else {
                (ButtonForm { class: "inline", action: "/moderate/votes", fields: &[], button: "button small" }.render(frame, t!("Look for vote rings")))
            }
            @if let Some((began, report)) = last.as_deref() {
                p.hint {
                    (t!(
                        "Searched {age}: {votes} on {stories}.",
                        age = age(frame, *began),
                        votes = n!(report.votes, "{count} vote", "{count} votes"),
                        stories = n!(report.stories, "{count} story", "{count} stories"),
                    ))
                }
                @if report.groups.is_empty() { p { (t!("No suspicious voting groups found.")) } }
                ol.log role="list" {
                    @for ring in report.groups.iter().take(QUEUE_RINGS) { li { (vote_ring(ring)) } }
                }
            }
        }
    }
}

fn vote_ring(ring: &VoteRing) -> Markup {
    let votes = n!(
        ring.shared_votes,
        "{count} vote for each other, where chance would give {expected}",
        "{count} votes for each other, where chance would give {expected}",
        expected = decimal(ring.expected_votes, 1),
    );
    let time = |seconds| t!("median time between them: {time}", time = wait(seconds)).to_string();
    let network = ring.same_network.then(|| t!("from the same network").to_owned());
    let more = ring.median_seconds.map(time).into_iter().chain(network);
    html! {
        p {
            @for name in &ring.accounts { (author(Some(name))) " " }
        }
        p.hint {
            (more.fold(votes, |first, second| t!("{first}; {second}", first, second)))
        }
    }
}

/// Whether the viewer may decide: nobody does so about their own things or those of a higher role.
fn may_decide(viewer: &User, author: Option<&RowAuthor>) -> bool {
    author.is_none_or(|author| author.id != viewer.id && author.role <= viewer.role())
}

fn review_row(frame: &Frame<'_>, viewer: &User, row: &Row) -> Markup {
    let author = row.author.as_ref();
    html! {
        li #{ "row-" (row.thing.kind()) "-" (row.thing.id()) } data-item {
            p.review-head {
                span.tag { (why(row)) } " "
                a href=(address_of_thing(&row.thing)) dir="auto" data-open { (row_name(row)) }
                @if row.is_hidden { " " span.tag { (t!("tag" => "hidden")) } }
                @if row.is_deleted { " " span.tag { (t!("tag" => "deleted by its author")) } }
                @for (reason, count) in &row.flags {
                    " " span.flag-count { (reason_name(*reason)) " " span { "× " (number(*count)) } }
                }
                " " span.entry-age { (age(frame, row.hidden_since.unwrap_or(row.since))) }
            }
            @if let Some((action, thing)) = &row.decision {
                p {
                    (t!(
                        "Decision: {action}, {thing}",
                        action = html! { strong { (action) } },
                        thing = html! { a href=(address_of_thing(thing)) { (thing_name(thing)) } },
                    ))
                }
            }
            @if let Some(parent) = &row.parent { p.hint { (t!("In reply to: “{parent}”", parent = html! { bdi { (parent) } })) } }
            @if let Some(url) = &row.url {
                p { a href=(url) rel=(OUTSIDE) { (url) } }
            } @else if row.text.is_empty() {
                p.hint { (t!("(no text)")) }
            } @else {
                div.review-text dir="auto" { (own_text(row)) }
            }
            @if row.is_hidden {
                p.hint {
                    @let (weight, most) = (hundredths(row.weight), frame.rules.moderation.hide_at);
                    @if let Some(since) = row.hidden_since {
                        (t!("Hidden from readers since {time}: flag weight {weight} of {most}.", time = to_the_minute(since), weight, most))
                    } @else {
                        (t!("Hidden from readers: flag weight {weight} of {most}.", weight, most))
                    }
                }
            }
            @if !row.flaggers.is_empty() {
                p.hint { (t!("Flagged by {people}.", people = flaggers(row))) }
            }
            @if let Some(reason) = row.held_because.as_ref().filter(|reason| !reason.is_empty()) {
                p.hint { (t!("Held because: {reason}", reason = html! { bdi { (reason) } })) }
            }
            @if !row.notes.is_empty() {
                ul.review-notes { @for note in &row.notes { li dir="auto" { (note) } } }
            }
            (history(frame, author))
            @if may_decide(viewer, author) {
                (decide(frame, row))
                @if let Some(author) = author.filter(|_| row.why != Why::Application) {
                    (about_author(frame, row, author))
                }
            } @else {
                p.hint { (t!("Another moderator must decide this.")) }
            }
        }
    }
}

/// The first people who flagged a row.
fn flaggers(row: &Row) -> Markup {
    let flaggers = row.flaggers.iter().map(|(name, reason, weight)| {
        let (reason, weight) = (reason_name(*reason), hundredths(*weight));
        t!("{name} ({reason}, weight {weight})", name = author(Some(name)), reason, weight)
    });
    enumerated(flaggers).render()
}

fn why(row: &Row) -> &'static str {
    match row.why {
        Why::Flagged => t!("tag" => "flagged"),
        Why::Held => t!("tag" => "awaiting approval"),
        Why::Application => t!("tag" => "application"),
        Why::Appeal => t!("tag" => "appeal"),
        Why::Message => t!("tag" => "message"),
    }
}

/// The weight of flags, in decimals.
fn hundredths(Weight(hundredths): Weight) -> String {
    decimal(hundredths as f64 / 100.0, 2)
}

/// The name of the thing in a row, with the title of its story.
fn row_name(row: &Row) -> String {
    match (&row.thing, &row.title) {
        (Thing::Story(_), Some(title)) => title.clone(),
        (Thing::Comment(address), Some(title)) => {
            t!("comment {number} on “{title}”", number = address.comment.to_string(), title).into()
        }
        (thing, _) => thing_name(thing),
    }
}

/// The text of a row; for a story without the title.
fn own_text(row: &Row) -> &str {
    let title = row.title.as_deref().filter(|_| matches!(row.thing, Thing::Story(_)));
    title.and_then(|title| row.text.strip_prefix(title)).unwrap_or(&row.text).trim_start()
}

/// The person behind a row, in one line.
fn history(frame: &Frame<'_>, person: Option<&RowAuthor>) -> Markup {
    html! {
        p.review-author {
            @match person {
                None => (DELETED_USER),
                Some(RowAuthor { username, ctime, karma, posted, comments, tweets, role, .. }) => {
                    @let name = author(Some(username));
                    (t!(
                        "by {author}, joined {age}, {figures}",
                        author = html! {
                            @match role {
                                Role::Administrator => (t!("{name} (administrator)", name)),
                                Role::Moderator => (t!("{name} (moderator)", name)),
                                Role::Member => (name),
                            }
                        },
                        age = age(frame, *ctime),
                        figures = so_far(*karma, [*posted, *comments, *tweets]),
                    ))
                }
            }
        }
    }
}

/// The fields that all forms of a row have.
fn row_fields(frame: &Frame<'_>, row: &Row, thing: &Thing) -> Markup {
    html! {
        (thing_fields(frame, thing))
        input type="hidden" name="since" value=(row.since.0);
        @if *thing != row.thing { input type="hidden" name="row" value=(row.thing); }
        input type="hidden" name="next" value=(frame.way_back);
    }
}

fn reason_field(id: &str, value: &str) -> Markup {
    html! {
        label for=(id) { (t!("Reason")) }
        input id=(id) name="reason" value=(value) maxlength=(MAX_REASON) list=(REASONS) required;
    }
}

/// The buttons that decide about the thing itself. Enter in the field does the first one. The page of a thread of messages
/// has the form for the answer.
fn decide(frame: &Frame<'_>, row: &Row) -> Markup {
    let id = format!("reason-{}-{}", row.thing.kind(), row.thing.id());
    let (no, yes) = match row.why {
        Why::Message => (Action::Close, None),
        Why::Flagged => (Action::Remove, Some(Action::Keep)),
        _ => (Action::Reject, Some(Action::Approve)),
    };
    let suggested = row.flags.first().map_or("", |(reason, _)| reason_name(*reason));
    html! {
        @if yes.is_none() { p { a.button.small href=(address_of_thing(&row.thing)) data-yes { (t!("button" => "Answer")) } } }
        form.review-form method="post" action="/moderate" {
            (row_fields(frame, row, &row.thing))
            (reason_field(&id, suggested))
            button.button.small.grave name="action" value=(no) data-no { (no.button()) }
            @if let Some(yes) = yes {
                button.button.small name="action" value=(yes) formnovalidate data-yes { (yes.button()) }
            }
        }
    }
}

/// The actions on the person behind a row.
fn about_author(frame: &Frame<'_>, row: &Row, author: &RowAuthor) -> Markup {
    let thing = Thing::User(author.username.as_str().into());
    let id = format!("author-{}-{}", row.thing.kind(), row.thing.id());
    html! {
        details.review-more {
            summary { (t!("Warn, silence or ban {name}", name = &author.username)) }
            form.review-form method="post" action="/moderate" {
                (row_fields(frame, row, &thing))
                (reason_field(&id, ""))
                label for={ (id) "-hours" } { (t!("For how long (silence and ban)")) }
                select id={ (id) "-hours" } name="hours" {
                    (options(&SPANS, USUAL_SPAN))
                }
                button.button.small name="action" value="warn" data-warn { (t!("button" => "Warn")) }
                button.button.small name="action" value="silence" data-silence { (t!("button" => "Silence")) }
                button.button.small.grave name="action" value="ban" data-ban { (t!("button" => "Ban")) }
            }
            @if let Some(host) = &row.host {
                // The page that it leads to shows first what the rule would have caught.
                @let reason = row.flags.first().map_or(t!("unwanted"), |(reason, _)| reason_name(*reason));
                form.review-form method="post" action="/moderate/rules" {
                    (frame.signed_fields())
                    input type="hidden" name="what" value="domain";
                    input type="hidden" name="pattern" value=(host);
                    input type="hidden" name="effect" value="refuse";
                    input type="hidden" name="reason" value=(reason);
                    button.button.small name="dry_run" value="1" data-domain { (t!("Ban {host}...", host = host.to_string())) }
                }
            }
        }
    }
}

form! {
    /// The part of the review queue that is asked for.
    #[derive(Debug)]
    pub struct QueueQuery {
        /// The maximum number of rows; 50 by default.
        pub count: usize = paging::count, values::PageSize, required = false;
        /// Only rows after this one.
        pub before: Option<QueueCursor> = optional(parsed(m!("it must be the value of next in another answer"))), values::QueueCursor, required = false;
    }
}

answer! {
    /// A part of the review queue, the worst first.
    pub struct QueueResponse as ReviewQueue from (page: QueuePage) {
        status;
        items: Vec<QueueItem> = page.rows.into_iter().map(QueueItem::from).collect();
        /// The value of `before` for the next part; null at the end.
        next: Option<String> = page.next.map(|next| next.to_string()), Option<values::QueueCursor>;
    }

    /// Something that waits for a moderator.
    pub struct QueueItem as ReviewItem from (row: Row) {
        /// The kind of thing.
        kind: &'static str = row.thing.kind(), values::ThingKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username; for an appeal, the line of
        /// the log.
        id: String = row.thing.id(), values::ThingId;
        /// Its content as plain text; for a long text only the beginning.
        text: String = row.text, values::QueueText;
        /// The author, or the person who applies or appeals; null after a deactivation.
        author: Option<String> = row.author.map(|author| author.username), Option<values::StoredUsername>;
        /// When it last changed, in Unix seconds.
        since: u64 = row.since.0;
        /// Why it waits.
        why: &'static str = row.why.name(), values::ReviewCause;
        /// True for what its author has deleted since it was flagged; otherwise missing.
        deleted?: bool = row.is_deleted.then_some(true);
        /// The readers' reasons, the most frequent first; empty for what is not flagged.
        flags: Vec<FlagCount> = row.flags.into_iter().map(FlagCount::from).collect();
    }

    /// How many readers gave a reason.
    struct FlagCount from (given: (FlagReason, u64)) {
        /// The reason.
        reason: &'static str = given.0.name(), values::FlagReason;
        /// How many flags give it.
        count: u64 = given.1;
    }
}

/// GET /api/moderate/queue.
pub async fn list(mut page: Page<Member>, Form(query): Form<QueueQuery>) -> Result<Json<QueueResponse>> {
    Ok(Json(queue::page(&mut page.visit, query.before.as_ref(), query.count).await?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PAGE_BYTES;
    use crate::markup::test_support::{NOW, framed, user};
    use strum::IntoEnumIterator;
    use tidings_domain::values::{
        FlagReason, Hostname, LONGEST_STORED_USERNAME, MAX_FLAG_NOTE, MAX_REASON, MAX_TITLE, QUEUE_FLAGS,
        QUEUE_NOTES, QUEUE_TEXT, UserId,
    };

    fn row(author: u64, role: Role) -> Row {
        let longest = |count: usize| "\"".repeat(count);
        Row {
            thing: Thing::User(longest(LONGEST_STORED_USERNAME).into()),
            text: longest(QUEUE_TEXT),
            title: Some(longest(MAX_TITLE)),
            url: None,
            parent: Some(longest(80)),
            host: Some(Hostname::parse("a.example.com").unwrap()),
            author: Some(RowAuthor {
                id: UserId(author),
                username: longest(LONGEST_STORED_USERNAME),
                role,
                ctime: NOW,
                karma: -1_000_000,
                posted: 1,
                comments: 2,
                tweets: 3,
            }),
            since: NOW,
            why: Why::Flagged,
            held_because: Some(longest(MAX_REASON)),
            flags: FlagReason::iter().map(|reason| (reason, 200)).collect(),
            flaggers: vec![
                (longest(LONGEST_STORED_USERNAME), FlagReason::Offtopic, Weight::ONE);
                QUEUE_FLAGS
            ],
            weight: Weight(12_345),
            notes: vec![longest(MAX_FLAG_NOTE); QUEUE_NOTES],
            is_hidden: true,
            hidden_since: Some(NOW),
            is_deleted: true,
            decision: None,
        }
    }

    #[test]
    fn a_full_page_of_the_longest_rows_is_bounded() {
        let moderator = user("1", "mod", "m");
        let page = QueuePage { rows: vec![row(2, Role::Member); QUEUE_ROWS], next: None };
        let html = framed(Some(&moderator), |frame| render(frame, &moderator, (&page, true), &html! {}))
            .into_string();
        assert!(html.len() <= PAGE_BYTES, "{}", html.len());
        assert!(html.contains("data-yes") && !html.contains(" style="));
    }

    #[test]
    fn nobody_has_buttons_for_their_own_things_or_those_of_a_higher_role() {
        let moderator = user("1", "mod", "m");
        for (author, role, may) in [
            (1, Role::Moderator, false),
            (2, Role::Administrator, false),
            (2, Role::Moderator, true),
            (2, Role::Member, true),
        ] {
            let row = row(author, role);
            let html = framed(Some(&moderator), |frame| review_row(frame, &moderator, &row)).into_string();
            assert_eq!(html.contains("data-yes"), may, "{author} {role:?}");
            assert_eq!(html.contains("Another moderator must decide this"), !may);
        }
    }
}
