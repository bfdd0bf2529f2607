//! The measures against a raid, on the page of the review queue: stopping sign-ups, and holding the posts of young
//! accounts. Both have an end, and lines in the log.

use crate::error::{refusals, sentence};
use crate::markup::Frame;
use crate::markup::dates::to_the_minute;
use crate::markup::moderation_tools::{reason_field, thing_fields};
use maud::{Markup, html};
use tidings_domain::values::{Action, SitePart, Thing};
use tidings_language::spans::span;
use tidings_language::t;

/// The durations that are offered, in hours.
const DURATIONS: [u64; 3] = [1, 24, 168];
/// The ages below which an account is young that are offered, in hours.
const AGES: [u64; 4] = [1, 24, 72, 168];

/// The section of the page.
pub fn section(frame: &Frame<'_>) -> Markup {
    html! {
        section #raid {
            h2 { (t!("During a raid")) }
            p.hint {
                (t!(
                    "For when many accounts arrive at once. Each measure ends by itself, is in the {log}, and can be undone there or here.",
                    log = html! { a href="/moderations" { (t!("moderation log")) } },
                ))
            }
            (signups(frame))
            (young_posts(frame))
        }
    }
}

fn signups(frame: &Frame<'_>) -> Markup {
    let thing = Thing::Site(SitePart::Signups);
    html! {
        @match frame.brand.signups_stopped(frame.now) {
            Some(stopped) => {
                p.notice { (refusals::signups_stopped(stopped)) }
                (form(frame, &thing, (Action::ResumeSignups, t!("button" => "Allow sign-ups")), &html! {}))
            }
            None => (form(frame, &thing, (Action::StopSignups, t!("button" => "Stop sign-ups")), &html! {
                (choice(t!("Stop sign-ups for"), "hours", &DURATIONS))
            })),
        }
    }
}

fn young_posts(frame: &Frame<'_>) -> Markup {
    let thing = Thing::Site(SitePart::YoungPosts);
    html! {
        @match frame.brand.young_held(frame.now) {
            Some(held) => {
                @let age = span(held.age.saturating_mul(3_600));
                @let reason = &held.restriction.reason;
                @let held = match held.restriction.until.map(to_the_minute) {
                    Some(time) => t!("Posts of accounts younger than {age} wait for approval until {time}: {reason}", age, time, reason),
                    None => t!("Posts of accounts younger than {age} wait for approval: {reason}", age, reason),
                };
                p.notice { (sentence(&held.to_string())) }
                (form(frame, &thing, (Action::UnholdYoung, t!("button" => "Stop holding posts")), &html! {}))
            }
            None => (form(frame, &thing, (Action::HoldYoung, t!("button" => "Hold posts")), &html! {
                (choice(t!("Hold posts of accounts younger than"), "age", &AGES))
                (choice(t!("duration" => "For"), "hours", &DURATIONS))
            })),
        }
    }
}

fn form(frame: &Frame<'_>, thing: &Thing, (action, words): (Action, &str), fields: &Markup) -> Markup {
    html! {
        form.log-filters method="post" action="/moderate" {
            (thing_fields(frame, thing))
            input type="hidden" name="next" value=(frame.way_back);
            (fields)
            (reason_field(t!("Reason (public)"), ""))
            button.button.small name="action" value=(action) { (words) }
        }
    }
}

fn choice(label: &str, name: &str, hours: &[u64]) -> Markup {
    html! {
        label { (label)
            select name=(name) {
                @for hours in hours { option value=(hours) selected[*hours == 24] { (span(hours.saturating_mul(3_600))) } }
            }
        }
    }
}
