//! The measures against a raid, on the page of the review queue: stopping sign-ups, and holding the posts of young
//! accounts. Both have an end, and lines in the log.

use crate::error::sentence;
use crate::markup::frame::Frame;
use crate::markup::moderation_tools::{reason_field, thing_fields};
use maud::{Markup, html};
use tidings_domain::values::words::span;
use tidings_domain::values::{Action, SitePart, Thing, day};

/// The durations that are offered, in hours.
const DURATIONS: [u64; 3] = [1, 24, 168];
/// The ages below which an account is young that are offered, in hours.
const AGES: [u64; 4] = [1, 24, 72, 168];

/// The section of the page.
pub fn section(frame: &Frame<'_>) -> Markup {
    html! {
        section #raid {
            h2 { "During a raid" }
            p.hint {
                "For when many accounts arrive at once. Each measure ends by itself, is in the "
                a href="/moderations" { "moderation log" } ", and can be undone there or here."
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
                p.notice { (sentence(&stopped.signups_stopped())) }
                (form(frame, &thing, (Action::ResumeSignups, "Allow sign-ups"), &html! {}))
            }
            None => (form(frame, &thing, (Action::StopSignups, "Stop sign-ups"), &html! {
                (choice("Stop sign-ups for", "hours", &DURATIONS))
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
                @let until = held.restriction.until.map(|until| format!(" until {}", day::to_the_minute(until)));
                @let until = until.unwrap_or_default();
                p.notice {
                    (sentence(&format!(
                        "posts of accounts younger than {age} wait for approval{until}: {}", held.restriction.reason
                    )))
                }
                (form(frame, &thing, (Action::UnholdYoung, "Stop holding posts"), &html! {}))
            }
            None => (form(frame, &thing, (Action::HoldYoung, "Hold posts"), &html! {
                (choice("Hold posts of accounts younger than", "age", &AGES))
                (choice("For", "hours", &DURATIONS))
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
            (reason_field("Reason (public)", ""))
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
