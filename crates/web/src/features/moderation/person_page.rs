//! The page of a person for moderators: everything they need to decide, on one screen.

use super::appeals::decision_link;
use super::flagging::reason_name;
use super::log::moderator_name;
use super::messages::state_name;
use super::person_tools::{PersonFile, form};
use crate::error::{RequestError, unknown_name};
use crate::markup::addresses::{address_of_thing, message_thread_address, profile_address};
use crate::markup::frame::Frame;
use crate::markup::moderation_tools::{may_moderate, sentence, target, thing_name};
use crate::markup::page::{Moderator, Page};
use crate::markup::parts::{age, number};
use crate::request::path::PathOf;
use maud::{Markup, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::profiles::{self, ProfileFacts};
use tidings_domain::moderation::log::LogEntry;
use tidings_domain::moderation::messages::reading;
use tidings_domain::moderation::overview::{self, FlagCounts, LatestPost};
use tidings_domain::values::LOG_LINES_SCANNED;
use tidings_domain::values::words::counted;
use url::form_urlencoded::Serializer;

/// GET /moderate/person/:name.
pub async fn page(
    PathOf(name): PathOf<String>,
    Page { app, mut visit, user, here }: Page<Moderator>,
) -> Result<Markup, RequestError> {
    let person = profiles::profile(&mut visit, &name).await.map_err(unknown_name)?;
    let file = PersonFile::read(&mut visit, &person).await?.ok_or(Refusal::ModeratorsOnly)?;
    let who = (person.user.id, person.user.username.as_str());
    let overview = overview::overview(&mut visit, who).await?;
    let threads = reading::of_member(&mut visit, &user, person.user.id).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let username = &person.user.username;
    let heading = format!("Moderator notes on {username}");
    let content = html! {
        h1 { (heading) }
        p { a.action href=(profile_address(username, "")) { "Profile" } }
        (file.facts(&frame, &person))
        (invitations(&person, &overview.invited))
        h2 { "Decisions" }
        p.hint { "Among the last " (number(LOG_LINES_SCANNED)) " entries of the moderation log." }
        @if overview.decisions.is_empty() { p.empty { "None." } }
        @else { p { a.action href={ "/moderations?" (Serializer::new(String::new()).append_pair("person", username).finish()) } { "All of them, in the moderation log" } } }
        ol.log role="list" { @for entry in &overview.decisions { li data-item { (decision(&frame, entry)) } } }
        h2 { "Flags" }
        p {
            @match [overview.flags.upheld, overview.flags.rejected] {
                [0, 0] => "No decided flags yet",
                [upheld, rejected] => {
                    "The last flags by " (username) " that were decided: " (number(upheld)) " upheld, " (number(rejected)) " rejected"
                }
            }
            ". On the profile: "
            (flags(&overview.profile_flags)) "."
        }
        @if !overview.flags.latest.is_empty() {
            ul.log role="list" {
                @for (thing, time) in &overview.flags.latest {
                    li { "flagged " a href=(address_of_thing(thing)) { (thing_name(thing)) } " " (age(&frame, *time)) }
                }
            }
        }
        h2 { "Latest posts and comments" }
        @if overview.posts.is_empty() { p.empty { "None." } }
        ol.log role="list" { @for post in &overview.posts { li data-item { (latest(&frame, post)) } } }
        @if !threads.is_empty() {
            h2 { "Messages" }
            ul.log role="list" {
                @for thread in &threads {
                    li {
                        a href=(message_thread_address(thread.id)) { "Thread " (thread.id) }
                        " " span.tag { (state_name(thread.state)) } " " (age(&frame, thread.changed))
                    }
                }
            }
        }
        @if may_moderate(&frame, person.user.id) { (form(&frame, &person)) }
    };
    Ok(frame.page(&heading, &content))
}

/// The person's inviter, and the people that the person invited.
fn invitations(person: &ProfileFacts, invited: &[String]) -> Markup {
    html! {
        p {
            @match &person.inviter {
                Some(inviter) => { "Invited by " a.author href=(profile_address(inviter, "")) { (inviter) } ". " },
                None => "Signed up without an invitation. ",
            }
            @if person.invited > 0 {
                "Invited " (counted(person.invited, "person", "people")) ": "
                @for (index, name) in invited.iter().enumerate() {
                    @if index > 0 { ", " }
                    a.author href=(profile_address(name, "")) { (name) }
                }
                @if person.invited > invited.len() as u64 {
                    ", " a href=(profile_address(&person.user.username, "/invited")) { "all" }
                }
                "."
            }
        }
    }
}

fn decision(frame: &Frame<'_>, entry: &LogEntry) -> Markup {
    html! {
        p {
            (sentence(entry.action, Some(&html! { (moderator_name(&entry.moderator)) }), &target(entry)))
            " (" (decision_link(entry.id)) @if entry.undone_by.is_some() { ", undone" } ") "
            span.entry-age { (age(frame, entry.time)) }
        }
        @if !entry.reason.is_empty() { p.log-reason dir="auto" { (entry.reason) } }
    }
}

fn latest(frame: &Frame<'_>, post: &LatestPost) -> Markup {
    html! {
        p {
            span.tag { (thing_name(&post.thing)) } " "
            // A deleted post may have no page.
            @if post.is_deleted { bdi { (post.text) } }
            @else { a href=(address_of_thing(&post.thing)) dir="auto" data-open { (post.text) } }
            @if let Some(withheld) = &post.withheld { " " span.tag { (withheld.tag()) } }
            @if post.is_deleted { " " span.tag { "deleted" } }
            @if post.flags.all > 0 { " " span.flag-count { (flags(&post.flags)) } }
            " " span.entry-age { (age(frame, post.time)) }
        }
    }
}

/// How many flags there are, and the reasons of those that wait.
fn flags(counts: &FlagCounts) -> Markup {
    html! {
        (counted(counts.all, "flag", "flags"))
        @for (index, (reason, count)) in counts.waiting.iter().enumerate() {
            @if index == 0 { ", waiting: " } @else { ", " }
            (reason_name(*reason)) " × " (number(*count))
        }
    }
}
