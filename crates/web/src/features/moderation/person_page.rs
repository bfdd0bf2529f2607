//! The page of a person for moderators: everything they need to decide, on one screen.

use super::appeals::decision_link;
use super::flagging::reason_name;
use super::log::moderator_name;
use super::messages::state_name;
use super::person_tools::{PersonFile, form};
use crate::error::{Result, unknown_name};
use crate::markup::addresses::{address_of_thing, message_thread_address, profile_address};
use crate::markup::moderation_tools::{may_moderate, target, thing_name};
use crate::markup::parts::{age, author, number};
use crate::markup::{Frame, Moderator, Page};
use crate::request::PathOf;
use maud::{Markup, Render, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::profiles::{self, ProfileFacts};
use tidings_domain::moderation::log::LogEntry;
use tidings_domain::moderation::messages::reading;
use tidings_domain::moderation::overview::{self, FlagCounts, LatestPost};
use tidings_domain::values::LOG_LINES_SCANNED;
use tidings_language::lists::enumerated;
use tidings_language::{n, t};
use url::form_urlencoded::Serializer;

/// GET /moderate/person/:name.
pub async fn page(PathOf(name): PathOf<String>, mut page: Page<Moderator>) -> Result<Markup> {
    let person = profiles::profile(&mut page.visit, &name).await.map_err(unknown_name)?;
    let file = PersonFile::read(&mut page.visit, &person).await?.ok_or(Refusal::ModeratorsOnly)?;
    let who = (person.user.id, person.user.username.as_str());
    let overview = overview::overview(&mut page.visit, who).await?;
    let threads = reading::of_member(&mut page.visit, &page.user, person.user.id).await?;
    let frame = page.frame().await?;
    let username = &person.user.username;
    let heading = t!("Moderator notes on {username}", username).to_string();
    let content = html! {
        p { a.action href=(profile_address(username, "")) { (t!("Profile")) } }
        (file.facts(&frame, &person))
        (invitations(&person, &overview.invited))
        h2 { (t!("Decisions")) }
        p.hint {
            (n!(
                LOG_LINES_SCANNED,
                "Among the last {count} entry of the moderation log.",
                "Among the last {count} entries of the moderation log.",
            ))
        }
        @if overview.decisions.is_empty() { p.empty { (t!("decisions" => "None.")) } }
        @else { p { a.action href={ "/moderations?" (Serializer::new(String::new()).append_pair("person", username).finish()) } { (t!("All of them, in the moderation log")) } } }
        ol.log role="list" { @for entry in &overview.decisions { li data-item { (decision(&frame, entry)) } } }
        h2 { (t!("heading" => "Flags")) }
        p {
            @match [overview.flags.upheld, overview.flags.rejected] {
                [0, 0] => (t!("No decided flags yet. On the profile: {flags}.", flags = flags(&overview.profile_flags))),
                [upheld, rejected] => (t!(
                    "The last flags by {username} that were decided: {upheld} upheld, {rejected} rejected. On the profile: {flags}.",
                    username,
                    upheld,
                    rejected,
                    flags = flags(&overview.profile_flags),
                )),
            }
        }
        @if !overview.flags.latest.is_empty() {
            ul.log role="list" {
                @for (thing, time) in &overview.flags.latest {
                    li {
                        (t!(
                            "flagged {thing} {age}",
                            thing = html! { a href=(address_of_thing(thing)) { (thing_name(thing)) } },
                            age = age(&frame, *time),
                        ))
                    }
                }
            }
        }
        h2 { (t!("Latest posts and comments")) }
        @if overview.posts.is_empty() { p.empty { (t!("posts" => "None.")) } }
        ol.log role="list" { @for post in &overview.posts { li data-item { (latest(&frame, post)) } } }
        @if !threads.is_empty() {
            h2 { (t!("Messages")) }
            ul.log role="list" {
                @for thread in &threads {
                    li {
                        a href=(message_thread_address(thread.id)) { (t!("Thread {id}", id = thread.id.to_string())) }
                        " " span.tag { (state_name(thread.state)) } " " (age(&frame, thread.changed))
                    }
                }
            }
        }
        @if may_moderate(&frame, person.user.id) { (form(&frame, &person)) }
    };
    Ok(frame.headed(&heading, &content))
}

/// The person's inviter, and the people that the person invited.
fn invitations(person: &ProfileFacts, invited: &[String]) -> Markup {
    html! {
        p {
            @match &person.inviter {
                Some(inviter) => (t!("Invited by {inviter}.", inviter = author(Some(inviter)))),
                None => (t!("Signed up without an invitation.")),
            }
            " "
            @if person.invited > 0 {
                @let all = profile_address(&person.user.username, "/invited");
                @let all = html! { a href=(all) { (t!("people" => "all")) } };
                @let people = invited.iter().map(|name| author(Some(name)));
                @let people = people.chain((person.invited > invited.len() as u64).then_some(all));
                (n!(
                    person.invited,
                    "Invited {count} person: {people}.",
                    "Invited {count} people: {people}.",
                    people = enumerated(people)
                ))
            }
        }
    }
}

fn decision(frame: &Frame<'_>, entry: &LogEntry) -> Markup {
    html! {
        p {
            (entry.action.sentence(Some(&html! { (moderator_name(&entry.moderator)) }), target(entry)))
            " ("
            @if entry.undone_by.is_some() { (t!("{entry}, undone", entry = decision_link(entry.id))) }
            @else { (decision_link(entry.id)) }
            ") "
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
            @if post.is_deleted { " " span.tag { (t!("tag" => "deleted")) } }
            @if post.flags.all > 0 { " " span.flag-count { (flags(&post.flags)) } }
            " " span.entry-age { (age(frame, post.time)) }
        }
    }
}

/// How many flags there are, and the reasons of those that wait.
fn flags(counts: &FlagCounts) -> Markup {
    let all = n!(counts.all, "{count} flag", "{count} flags");
    let reasons = counts.waiting.iter();
    let reasons = reasons.map(|(reason, count)| html! { (reason_name(*reason)) " × " (number(*count)) });
    if counts.waiting.is_empty() {
        all.render()
    } else {
        t!("{flags}, waiting: {reasons}", flags = all, reasons = enumerated(reasons)).render()
    }
}
