//! Notices of matters that need a person: first on the page of administrators, each with the action to take.

use crate::App;
use maud::{Markup, html};
use tidings_domain::accounts::users::User;
use tidings_domain::administration::Backlog;
use tidings_domain::jobs::JobStatus;
use tidings_domain::report::{BackgroundCheck, BackupReport, BackupState, VoteRingReport};
use tidings_domain::supervision::panics;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day;
use tidings_domain::values::words::{age, counted, wait};
use tidings_keyspace::StoreHealth;

/// Seconds after which a job or a mail that waits should be done.
const LATE_SECONDS: u64 = 15 * 60;

/// The facts behind the notices.
pub struct Facts {
    pub now: Timestamp,
    /// Whether the viewer has an e-mail address.
    pub has_email: bool,
    pub waiting: Backlog,
    pub jobs: JobStatus,
    pub health: StoreHealth,
    /// Requests of the last 24 hours that failed.
    pub errors: u64,
    /// Panics since the start: mistakes in the program.
    pub panics: u64,
    pub sends_mail: bool,
    pub vote_rings: usize,
    pub backup: BackupState,
}

impl Facts {
    /// The facts: those that were already read, and the current state of the server.
    pub async fn of(app: &App, viewer: &User, read: (Backlog, JobStatus), errors: u64) -> Self {
        let rings = app.site.of::<BackgroundCheck<VoteRingReport>>().last();
        let groups = |report: &VoteRingReport| report.groups.len();
        Self {
            now: app.now(),
            has_email: !viewer.email.is_empty(),
            waiting: read.0,
            jobs: read.1,
            health: app.site.store.health().await,
            errors,
            panics: panics::count(),
            sends_mail: app.site.sends_mail,
            vote_rings: rings.map_or(0, |last| groups(&last.1)),
            backup: app.site.of::<BackupReport>().state(),
        }
    }
}

/// Something that needs a person.
struct Notice {
    /// Whether people notice it, or it will be worse soon.
    is_urgent: bool,
    text: Markup,
}

fn urgent(text: Markup) -> Option<Notice> {
    Some(Notice { is_urgent: true, text })
}

fn plain(text: Markup) -> Option<Notice> {
    Some(Notice { is_urgent: false, text })
}

/// The notices of matters that need a person, the urgent ones first.
pub fn attention(facts: &Facts) -> Markup {
    let found = [
        store(facts),
        failed_backup(facts),
        panicked(facts),
        failed(facts),
        late_jobs(facts),
        late_mails(facts),
        signup_burst(facts),
        reviews(facts),
        vote_rings(facts),
        address(facts),
        no_mail(facts),
        no_backup(facts),
    ];
    let mut notices: Vec<Notice> = found.into_iter().flatten().collect();
    notices.sort_by_key(|notice| !notice.is_urgent);
    html! {
        h2 #attention { "Needs your attention" }
        @if notices.is_empty() {
            p.hint { "Nothing at the moment." }
        } @else {
            ul.attention {
                @for notice in &notices {
                    li.urgent[notice.is_urgent] {
                        @if notice.is_urgent { strong { "Urgent: " } }
                        (notice.text)
                    }
                }
            }
        }
    }
}

fn store(facts: &Facts) -> Option<Notice> {
    match &facts.health {
        StoreHealth::Works => None,
        StoreHealth::ReadOnly(cause) => urgent(html! {
            "The site is read only: " (cause) ". People can still read, but get an error when they write. \
             Free some disk space, or see the log; the site recovers by itself."
        }),
        StoreHealth::Unavailable(cause) => urgent(html! {
            "The store cannot be reached: " (cause) ". See the server's log."
        }),
    }
}

fn failed_backup(facts: &Facts) -> Option<Notice> {
    let (at, why) = facts.backup.last_failure.as_ref()?;
    urgent(html! {
        "The backup of " (day::to_the_minute(*at)) " failed: " (why) ". "
        @match facts.backup.last_success {
            Some(good) => { "The last good one is from " (day::to_the_minute(good)) ". " }
            None => { "There is no good backup. " }
        }
        "Check " code { "backup.folder" } " and the free space on its disk."
    })
}

fn no_backup(facts: &Facts) -> Option<Notice> {
    if facts.backup.is_on {
        return None;
    }
    plain(html! {
        "Automatic backups are off. Set " code { "backup.folder" } ", or run " code { "tidings backup" }
        " once a day."
    })
}

fn panicked(facts: &Facts) -> Option<Notice> {
    (facts.panics > 0).then(|| Notice {
        is_urgent: true,
        text: html! {
            (counted(facts.panics, "panic", "panics")) " on this server since it started. These are bugs: \
             please report them, with the log lines that say “a panic”."
        },
    })
}

fn failed(facts: &Facts) -> Option<Notice> {
    let errors = facts.errors;
    (errors > 0).then(|| Notice {
        is_urgent: false,
        text: html! {
            (counted(errors, "request", "requests")) " failed in the last 24 hours (5xx). The log gives the \
             cause of each, with the request number shown on its error page."
        },
    })
}

fn late_jobs(facts: &Facts) -> Option<Notice> {
    let oldest = facts.jobs.oldest?.timestamp();
    let waited = facts.now.seconds_since(oldest);
    (waited >= LATE_SECONDS).then(|| Notice {
        is_urgent: true,
        text: html! {
            (counted(facts.jobs.waiting, "background job is waiting", "background jobs are waiting"))
            ", the oldest for " (age(waited)) ". The log says why: look for “background job”."
        },
    })
}

fn late_mails(facts: &Facts) -> Option<Notice> {
    // An attempt puts off when a mail is due, not when it was written.
    let late = facts.now.seconds_since(facts.waiting.mails.oldest?);
    (late >= LATE_SECONDS && facts.sends_mail).then(|| Notice {
        is_urgent: true,
        text: html! {
            (counted(facts.waiting.mails.waiting, "e-mail is waiting", "e-mails are waiting"))
            " to be sent, the oldest for " (age(late)) ". " code { "tidings mail test ADDRESS" }
            " shows what is wrong with " code { "mail.relay" } "."
        },
    })
}

fn signup_burst(facts: &Facts) -> Option<Notice> {
    let seconds = facts.waiting.signup_burst_seconds?;
    urgent(html! {
        "Too many accounts were created, so new ones need your approval. This ends in " (wait(seconds)) ". \
         They are in the "
        a href="/moderate" { "review queue" } ". " code { "limits.signup_burst" } " sets the limit."
    })
}

fn reviews(facts: &Facts) -> Option<Notice> {
    let waiting = facts.waiting.reviews;
    (waiting > 0).then(|| Notice {
        is_urgent: false,
        text: html! {
            (counted(waiting, "item needs", "items need"))
            " review: flags, held posts, applications or appeals. "
            a href="/moderate" { "Open the review queue" } "."
        },
    })
}

fn vote_rings(facts: &Facts) -> Option<Notice> {
    (facts.vote_rings > 0).then(|| Notice {
        is_urgent: false,
        text: html! {
            (counted(facts.vote_rings as u64, "group of accounts votes", "groups of accounts vote"))
            " for each other far more often than chance would explain. "
            a href="/moderate/votes" { "Review them" } "."
        },
    })
}

fn address(facts: &Facts) -> Option<Notice> {
    if facts.has_email {
        return None;
    }
    plain(html! {
        "Your account has no e-mail address, so you can't reset a lost password or be warned about changes \
         to it. " a href="/settings/mail" { "Add one" } "."
    })
}

fn no_mail(facts: &Facts) -> Option<Notice> {
    if facts.sends_mail {
        return None;
    }
    plain(html! {
        "This site doesn't send mail, so nobody can reset a password. Set " code { "mail.relay" } "."
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::accounts::outbox::MailStatus;
    use tidings_domain::values::clock::Moment;

    const NOW: Timestamp = Timestamp(1_800_000_000);

    fn shown(change: impl FnOnce(&mut Facts)) -> String {
        let mut facts = Facts {
            now: NOW,
            has_email: true,
            waiting: Backlog::default(),
            jobs: JobStatus::default(),
            health: StoreHealth::Works,
            errors: 0,
            panics: 0,
            sends_mail: true,
            vote_rings: 0,
            backup: BackupState { is_on: true, ..BackupState::default() },
        };
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
        let before = |seconds| Timestamp(NOW.0 - seconds);
        let old = before(3_600);
        let late = Moment::from_timestamp(old);
        let queue = |reviews| Backlog { reviews, ..Backlog::default() };
        for (html, parts) in [
            (
                shown(|facts| facts.health = StoreHealth::ReadOnly("the disk is full".into())),
                ["Urgent", "the disk is full"],
            ),
            (shown(|facts| facts.health = StoreHealth::Unavailable("gone".into())), ["Urgent", "gone"]),
            (
                shown(|facts| facts.backup.last_failure = Some((old, "no room".into()))),
                ["Urgent", "failed: no room"],
            ),
            (shown(|facts| facts.backup.is_on = false), ["Automatic backups are off", "backup.folder"]),
            (shown(|facts| facts.panics = 2), ["Urgent", "2 panics"]),
            (shown(|facts| facts.errors = 3), ["3 requests", "The log"]),
            (
                shown(|facts| {
                    facts.jobs = JobStatus { waiting: 4, oldest: Some(late), ..JobStatus::default() }
                }),
                ["4 background jobs are waiting", "1 hour"],
            ),
            (
                shown(|facts| {
                    facts.waiting =
                        Backlog { mails: MailStatus { waiting: 5, oldest: Some(old) }, ..queue(0) }
                }),
                ["5 e-mails are waiting", "mail.relay"],
            ),
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
    fn the_urgent_comes_first_and_what_is_not_late_is_left_out() {
        let recent = Moment::from_timestamp(Timestamp(NOW.0 - 60));
        let html = shown(|facts| {
            facts.waiting.reviews = 1;
            facts.panics = 1;
            facts.jobs = JobStatus { waiting: 4, oldest: Some(recent), ..JobStatus::default() };
            // The clock was set back.
            facts.waiting.mails.oldest = Some(Timestamp(NOW.0 + 86_400));
        });
        assert!(html.find("1 panic") < html.find("1 item"), "{html}");
        assert_eq!(html.matches("<li").count(), 2, "{html}");
    }
}
