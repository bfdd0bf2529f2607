//! Notices of matters that need a person: first on the page of administrators, each with the action to take.

use crate::App;
use crate::markup::dates::to_the_minute;
use crate::server::conditions::{Condition, Severity};
use crate::server::health::conditions_now;
use maud::{Markup, Render, html};
use tidings_domain::User;
use tidings_domain::administration::{Backlog, Queues};
use tidings_domain::report::{BackgroundCheck, BackupReport, VoteRingReport};
use tidings_domain::supervision::panics;
use tidings_domain::values::day;
use tidings_language::spans::wait;
use tidings_language::{Phrase, n, t};

/// The facts behind the notices.
#[derive(Default)]
pub struct Facts {
    /// Whether the viewer has an e-mail address.
    pub has_email: bool,
    pub waiting: Backlog,
    pub queues: Queues,
    pub conditions: Vec<Condition>,
    /// Requests of the last 24 hours that failed.
    pub errors: u64,
    /// Panics since the start: mistakes in the program.
    pub panics: u64,
    pub sends_mail: bool,
    pub vote_rings: usize,
    pub makes_backups: bool,
}

impl Facts {
    /// The facts: those that were already read, and the current state of the server.
    pub async fn of(app: &App, viewer: &User, read: (Backlog, Queues), errors: u64) -> Self {
        let rings = app.site.of::<BackgroundCheck<VoteRingReport>>().last();
        let groups = |report: &VoteRingReport| report.groups.len();
        Self {
            has_email: !viewer.email.is_empty(),
            waiting: read.0,
            queues: read.1,
            conditions: conditions_now(app).await,
            errors,
            panics: panics::count(),
            sends_mail: app.site.sends_mail,
            vote_rings: rings.map_or(0, |last| groups(&last.1)),
            makes_backups: app.site.of::<BackupReport>().state(app.now()).is_on,
        }
    }
}

/// Something that needs a person, and whether people notice it, or it will be worse soon.
struct Notice {
    is_urgent: bool,
    text: Markup,
}

/// The notices of matters that need a person, the urgent ones first.
pub fn attention(facts: &Facts) -> Markup {
    let found = of_events(facts).into_iter().chain(of_settings(facts));
    let conditions = facts.conditions.iter().map(condition);
    let mut notices: Vec<Notice> = conditions.chain(found.flatten()).collect();
    notices.sort_by_key(|notice| !notice.is_urgent);
    html! {
        h2 #attention { (t!("Needs your attention")) }
        @if notices.is_empty() {
            p.hint { (t!("Nothing at the moment.")) }
        } @else {
            ul.attention {
                @for notice in &notices {
                    li.urgent[notice.is_urgent] {
                        @if notice.is_urgent { strong { (t!("Urgent:")) " " } }
                        (notice.text)
                    }
                }
            }
        }
    }
}

fn condition(condition: &Condition) -> Notice {
    let since = day::parse_moment(&condition.since).map(to_the_minute);
    Notice {
        is_urgent: condition.severity == Severity::Page,
        text: html! {
            (condition.shown)
            @if let Ok(since) = since { " " (t!("Since {time}.", time = since)) }
        },
    }
}

fn urgent_if(needs_person: bool, text: impl FnOnce() -> Phrase<'static>) -> Option<Notice> {
    needs_person.then(|| Notice { is_urgent: true, text: text().render() })
}

fn plain_if(needs_person: bool, text: impl FnOnce() -> Phrase<'static>) -> Option<Notice> {
    needs_person.then(|| Notice { is_urgent: false, text: text().render() })
}

/// Notices of what has happened.
fn of_events(facts: &Facts) -> [Option<Notice>; 5] {
    let burst = facts.waiting.signup_burst_seconds;
    [
        urgent_if(facts.panics > 0, || {
            n!(
                facts.panics,
                "{count} panic on this server since it started. These are bugs: please report them, with the log \
                 lines that say “a panic”.",
                "{count} panics on this server since it started. These are bugs: please report them, with the log \
                 lines that say “a panic”."
            )
        }),
        plain_if(facts.errors > 0, || {
            n!(
                facts.errors,
                "{count} request failed in the last 24 hours (5xx). The log gives the cause of each, with the request \
                 number shown on its error page.",
                "{count} requests failed in the last 24 hours (5xx). The log gives the cause of each, with the request \
                 number shown on its error page."
            )
        }),
        urgent_if(burst.is_some(), || {
            t!(
                "Too many accounts were created, so new ones need your approval. This ends in {wait}. They are in the \
                 {queue}. {setting} sets the limit.",
                wait = wait(burst.unwrap_or_default()),
                queue = html! { a href="/moderate" { (t!("review queue")) } },
                setting = html! { code { "limits.signup_burst" } }
            )
        }),
        plain_if(facts.waiting.reviews > 0, || {
            n!(
                facts.waiting.reviews,
                "{count} item needs review: flags, held posts, applications or appeals. {open_queue}.",
                "{count} items need review: flags, held posts, applications or appeals. {open_queue}.",
                open_queue = html! { a href="/moderate" { (t!("Open the review queue")) } }
            )
        }),
        plain_if(facts.vote_rings > 0, || {
            n!(
                facts.vote_rings,
                "{count} group of accounts votes for each other far more often than chance would explain. {review}.",
                "{count} groups of accounts vote for each other far more often than chance would explain. {review}.",
                review = html! { a href="/moderate/votes" { (t!("Review them")) } }
            )
        }),
    ]
}

/// Notices of what is not set up.
fn of_settings(facts: &Facts) -> [Option<Notice>; 3] {
    [
        plain_if(!facts.has_email, || {
            t!(
                "Your account has no e-mail address, so you can't reset a lost password or be warned about changes \
                 to it. {add_one}.",
                add_one = html! { a href="/settings/mail" { (t!("e-mail address" => "Add one")) } }
            )
        }),
        plain_if(!facts.sends_mail, || {
            t!(
                "This site doesn't send mail, so nobody can reset a password. Set {setting}.",
                setting = html! { code { "mail.relay" } }
            )
        }),
        plain_if(!facts.makes_backups, || {
            t!(
                "Automatic backups are off. Set {setting}, or run {command} once a day.",
                setting = html! { code { "backup.folder" } },
                command = html! { code { "tidings backup" } }
            )
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::conditions::{self, Facts as Known};
    use tidings_domain::values::Timestamp;
    use tidings_keyspace::StoreHealth;

    fn shown(change: impl FnOnce(&mut Facts)) -> String {
        let mut facts = Facts { has_email: true, sends_mail: true, makes_backups: true, ..Facts::default() };
        change(&mut facts);
        attention(&facts).into_string()
    }

    #[test]
    fn without_a_cause_nothing_needs_anybody() {
        let html = shown(|_| {});
        assert!(html.contains("Nothing at the moment.") && !html.contains("<li"), "{html}");
    }

    #[test]
    fn each_cause_is_named_with_what_to_do() {
        let queue = |reviews| Backlog { reviews, ..Backlog::default() };
        let full = StoreHealth::ReadOnly("the disk is <full>".into());
        let conditions = conditions::of(&Known::of_store(Timestamp(1_800_000_000), full));
        for (html, parts) in [
            (
                shown(|facts| facts.conditions = conditions.clone()),
                [
                    "Urgent: </strong>The store is read only; ",
                    "(the disk is &lt;full&gt;). Free some disk space",
                ],
            ),
            (
                shown(|facts| facts.conditions = conditions.clone()),
                ["writes again by itself. Since 15 Jan 2027, 08:00 UTC.", "Urgent"],
            ),
            (shown(|facts| facts.makes_backups = false), ["Automatic backups are off", "backup.folder"]),
            (shown(|facts| facts.panics = 2), ["Urgent", "2 panics"]),
            (shown(|facts| facts.errors = 3), ["3 requests", "The log"]),
            (
                shown(|facts| facts.waiting = Backlog { signup_burst_seconds: Some(1_800), ..queue(0) }),
                ["Urgent", "30 minutes"],
            ),
            (shown(|facts| facts.waiting = queue(1)), ["1 item needs review", r#"href="/moderate""#]),
            (shown(|facts| facts.vote_rings = 1), ["1 group", "/moderate/votes"]),
            (shown(|facts| facts.has_email = false), ["no e-mail address", "/settings/mail"]),
            (shown(|facts| facts.sends_mail = false), ["doesn't send mail", "mail.relay"]),
        ] {
            assert_eq!(html.matches("<li").count(), 1, "{html}");
            for part in parts {
                assert!(html.contains(part), "{part} in {html}");
            }
        }
    }

    #[test]
    fn the_urgent_comes_first() {
        let html = shown(|facts| {
            facts.waiting.reviews = 1;
            facts.panics = 1;
        });
        assert!(html.find("1 panic") < html.find("1 item"), "{html}");
    }
}
