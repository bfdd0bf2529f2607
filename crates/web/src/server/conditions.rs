//! The list of conditions that an operator should know of: each with what it means and what to do.
//!
//! `/health/ready`, `tidings status`, `/admin`, the metric `tidings_condition`, the alerts of `packaging/`, the table in
//! `docs/operating.md` and the lines of the log are made from [`KINDS`]. A new condition is one entry there. Only `/admin`
//! speaks the language of the site.

use crate::error::capitalized;
use crate::limits::{
    FEW_CONNECTIONS, LATE_SECONDS, LEAST_DISK_BYTES, LEAST_DISK_MEBIBYTES, SLOW_COMMIT,
    TOLERATED_CLOCK_SECONDS,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use strum::Display;
use tidings_domain::administration::Queues;
use tidings_domain::queue::LaneFigures;
use tidings_domain::report::BackupState;
use tidings_domain::values::{Timestamp, day};
use tidings_keyspace::{StoreHealth, StoreSigns};
use tidings_language::numbers::decimal;
use tidings_language::spans::age;
use tidings_language::{Message, Phrase, m, n, p, t};

/// How often the log says that a condition lasts.
pub const TOLD_EVERY: Duration = Duration::from_secs(3_600);

/// Whether to wake somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// People notice it, or data is in danger.
    Page,
    /// It can wait until morning.
    Ticket,
}

/// A kind of condition. The texts are parts of sentences: they begin in lower case and have no full stop at the end.
pub struct Kind {
    /// Its name for programs.
    pub name: &'static str,
    /// Whether to wake somebody.
    pub severity: Severity,
    /// A description of the fault. It says nothing of accounts, addresses and folders, because strangers may read it.
    pub meaning: &'static Message,
    /// Advice for the operator.
    pub what_to_do: &'static Message,
    /// The line of the log when it is over.
    pub end: &'static str,
    /// Whether it is there, in more words.
    found: fn(&Facts) -> Option<Detail>,
}

/// More about a condition, in English and in the language of the site.
struct Detail {
    english: String,
    shown: String,
}

impl From<Phrase<'_>> for Detail {
    fn from(phrase: Phrase<'_>) -> Self {
        Self { english: phrase.in_english(), shown: phrase.to_string() }
    }
}

/// The report of a part of the program on itself, in English.
impl From<&String> for Detail {
    fn from(cause: &String) -> Self {
        Self { english: cause.clone(), shown: cause.clone() }
    }
}

/// The facts about a server by which the conditions are decided.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The time now.
    pub now: Timestamp,
    /// Whether the store works.
    pub store: StoreHealth,
    /// Other signs of trouble in the store.
    pub signs: StoreSigns,
    /// The room on the disk of an embedded store, if it is known.
    pub free_bytes: Option<u64>,
    /// The latest time that this server knows of.
    pub latest: Timestamp,
    /// The jobs and the mails that wait, as of some seconds ago.
    pub queues: Queues,
    /// The backups.
    pub backup: BackupState,
    /// How many connections there can be.
    pub connections: usize,
    /// Faults that parts of the server have told of themselves, by the names of conditions.
    pub told: BTreeMap<&'static str, String>,
}

impl Facts {
    /// The facts about a store alone.
    pub fn of_store(now: Timestamp, store: StoreHealth) -> Self {
        Self {
            now,
            store,
            signs: StoreSigns::default(),
            free_bytes: None,
            latest: now,
            queues: Queues::default(),
            backup: BackupState::default(),
            connections: usize::MAX,
            told: BTreeMap::new(),
        }
    }

    fn told(&self, name: &str) -> Option<Detail> {
        self.told.get(name).map(Detail::from)
    }
}

/// The name of the condition that the login through a provider tells of itself.
pub const SIGN_IN_SERVICE: &str = "sign_in_service_failing";
/// The name of the condition that a search index tells of itself.
pub const SEARCH: &str = "search_failing";
/// The name of the condition that the socket for commands tells of itself.
pub const CONTROL: &str = "control_socket_missing";
const BACKUP_FAILED: &str = "backup_failed";
/// The conditions whose details may name folders, so that strangers do not get them.
const PRIVATE: [&str; 4] = [SIGN_IN_SERVICE, SEARCH, CONTROL, BACKUP_FAILED];

/// Every kind of condition, the most urgent first.
pub static KINDS: [Kind; 15] = [
    Kind {
        name: "store_unavailable",
        severity: Severity::Page,
        meaning: m!("the store cannot be reached; the site answers 503 until it is back"),
        what_to_do: m!("check the disk or Redis; the site comes back by itself"),
        end: "the store is back",
        found: |facts| match &facts.store {
            StoreHealth::Unavailable(cause) => Some(cause.into()),
            _ => None,
        },
    },
    Kind {
        name: "store_read_only",
        severity: Severity::Page,
        meaning: m!("the store is read only; writes get a 503 until it can be written again"),
        what_to_do: m!("free some disk space, or check the disk or Redis; the site writes again by itself"),
        end: "the store can be written again",
        found: |facts| match &facts.store {
            StoreHealth::ReadOnly(cause) => Some(cause.into()),
            _ => None,
        },
    },
    Kind {
        name: "commits_slow",
        severity: Severity::Page,
        meaning: m!("writes take long or are not confirmed in time; some people get a 503 when they post"),
        what_to_do: m!("check the disk (iostat -x 1, dmesg) or Redis (SLOWLOG GET)"),
        end: "writes are fast again",
        found: slow_commits,
    },
    Kind {
        name: "layout_changed",
        severity: Severity::Page,
        meaning: m!(
            "another version of the program has changed the layout of the store; this server writes nothing"
        ),
        what_to_do: m!("run the newer version here too, or restore a backup"),
        end: "the store has the layout of this version again",
        found: |facts| facts.signs.changed_guard.as_ref().map(Detail::from),
    },
    Kind {
        name: "redis_evicts",
        severity: Severity::Page,
        meaning: m!("Redis deletes data of the site when its memory is full"),
        what_to_do: m!("set maxmemory-policy of Redis to noeviction"),
        end: "Redis deletes no data any more",
        found: |facts| {
            let policy = facts.signs.evicts.as_ref()?;
            Some(t!("maxmemory-policy is {policy}", policy).into())
        },
    },
    Kind {
        name: "disk_low",
        severity: Severity::Ticket,
        meaning: m!("the store's disk is nearly full"),
        what_to_do: m!("free some disk space; on a full disk, nothing can be posted"),
        end: "the store's disk has free space again",
        found: |facts| {
            let free = facts.free_bytes.filter(|free| *free < LEAST_DISK_BYTES)? / (1024 * 1024);
            Some(t!("{free} MiB are free, less than {least} MiB", free, least = LEAST_DISK_MEBIBYTES).into())
        },
    },
    Kind {
        name: "clock_set_back",
        severity: Severity::Ticket,
        meaning: m!("the system's clock is behind the last write of the store"),
        what_to_do: m!(
            "correct the clock (timedatectl); if it is right and was ahead before, wait until it has caught up"
        ),
        end: "the system's clock is right again",
        found: |facts| {
            let behind = facts.signs.clock_is_behind.max(facts.latest.0.saturating_sub(facts.now.0));
            (behind > TOLERATED_CLOCK_SECONDS).then(|| t!("behind by {age}", age = age(behind)).into())
        },
    },
    Kind {
        name: SIGN_IN_SERVICE,
        severity: Severity::Page,
        meaning: m!("people cannot log in through the sign-in service"),
        what_to_do: m!(
            "compare the settings oidc.* and site.url with those of the provider; the server asks again each minute, \
                     and tidings user login-link NAME lets an administrator in"
        ),
        end: "people can log in through the sign-in service again",
        found: |facts| facts.told(SIGN_IN_SERVICE),
    },
    Kind {
        name: SEARCH,
        severity: Severity::Ticket,
        meaning: m!("the search index is not up to date"),
        what_to_do: m!(
            "check the free space and the permissions of search.folder; the index catches up by itself, \
                     or run tidings search rebuild"
        ),
        end: "the search index is up to date again",
        found: |facts| facts.told(SEARCH),
    },
    Kind {
        name: "jobs_late",
        severity: Severity::Ticket,
        meaning: m!("background jobs are not done"),
        what_to_do: m!("look for \"background job\" in the log"),
        end: "background jobs are done again",
        found: |facts| {
            let waiting = facts.queues.jobs.waiting;
            late(facts, waiting, n!(waiting.count, "{count} job is waiting", "{count} jobs are waiting"))
        },
    },
    Kind {
        name: "mails_late",
        severity: Severity::Ticket,
        meaning: m!("mails are not sent"),
        what_to_do: m!(
            "run tidings mail test ADDRESS, which says what is wrong with mail.relay; the mails are sent within an hour after you correct it"
        ),
        end: "mails are sent again",
        found: |facts| {
            // An attempt puts off when a mail is due, not when it was written.
            let waiting = facts.queues.mails;
            late(facts, waiting, n!(waiting.count, "{count} mail is waiting", "{count} mails are waiting"))
        },
    },
    Kind {
        name: BACKUP_FAILED,
        severity: Severity::Ticket,
        meaning: m!("the last backup failed"),
        what_to_do: m!("check backup.folder, the free space on its disk, and backup.after"),
        end: "a backup was made again",
        found: |facts| {
            let (at, why) = facts.backup.last_failure.as_ref()?;
            let time = day::to_the_minute(*at);
            let detail = match facts.backup.last_success.map(day::to_the_minute) {
                Some(good) => t!("{time}: {why}; the last good one is from {good}", time, why, good),
                None => t!("{time}: {why}; there is no good one", time, why),
            };
            Some(detail.into())
        },
    },
    Kind {
        name: "backup_late",
        severity: Severity::Ticket,
        meaning: m!("the last good backup is older than twice backup.every"),
        what_to_do: m!("look for \"backup\" in the log; run tidings backup FILE meanwhile"),
        end: "there is a new backup",
        found: |facts| {
            let state = &facts.backup;
            let since = state.last_success.or(state.on_since)?;
            let is_late = state.is_on && facts.now.seconds_since(since) > 2 * state.every.as_secs();
            let detail = match state.last_success.map(day::to_the_minute) {
                Some(time) => t!("it is from {time}", time),
                None => p!("backup" => "there is none"),
            };
            is_late.then(|| detail.into())
        },
    },
    Kind {
        name: CONTROL,
        severity: Severity::Ticket,
        meaning: m!("commands such as tidings status cannot reach this server"),
        what_to_do: m!(
            "check the free space and the permissions of the socket's folder, or name another path in server.control; the server \
                     tries again by itself"
        ),
        end: "commands can reach this server again",
        found: |facts| facts.told(CONTROL),
    },
    Kind {
        name: "few_files",
        severity: Severity::Ticket,
        meaning: m!("the limit of open files allows few connections"),
        what_to_do: m!("raise the limit of open files (LimitNOFILE= of the unit, ulimit -n), and restart"),
        end: "the server may open more files",
        found: |facts| {
            let connections = facts.connections;
            (connections < FEW_CONNECTIONS)
                .then(|| n!(connections, "{count} connection at once", "{count} connections at once").into())
        },
    },
];

fn slow_commits(facts: &Facts) -> Option<Detail> {
    let commits = facts.signs.commits;
    let is_slow = commits.count > 1 && commits.average() >= SLOW_COMMIT;
    (commits.unconfirmed > 0 || is_slow).then(|| {
        t!(
            "within a minute, {writes} took {average} seconds on average and {slowest} at most; {unconfirmed}",
            writes = n!(commits.count, "{count} write", "{count} writes"),
            average = decimal(commits.average().as_secs_f64(), 1),
            slowest = decimal(commits.slowest.as_secs_f64(), 1),
            unconfirmed = n!(
                commits.unconfirmed,
                "{count} was not confirmed in time",
                "{count} were not confirmed in time"
            )
        )
        .into()
    })
}

/// A condition that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The name of its kind.
    pub name: Cow<'static, str>,
    /// Whether to wake somebody.
    pub severity: Severity,
    /// Since when, as `2026-11-22T03:00:00Z`.
    pub since: String,
    /// A description of the fault.
    pub meaning: Cow<'static, str>,
    /// Advice for the operator.
    pub what_to_do: Cow<'static, str>,
    /// More about it. Strangers get it empty if it may name folders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// All of it as sentences in the language of the site; empty where a program has read it.
    #[serde(skip)]
    pub shown: String,
}

impl Condition {
    /// Takes out the part that is not for strangers.
    pub fn for_strangers(&mut self) {
        if PRIVATE.contains(&&*self.name) {
            self.detail.clear();
        }
    }

    /// The fault, its detail and the advice, as sentences in English.
    pub fn sentences(&self) -> String {
        sentences([&self.meaning, &self.what_to_do], &self.detail).in_english()
    }
}

/// A fault and the advice, with the detail if it is not empty.
fn sentences<'a>(texts: [&str; 2], detail: &'a str) -> Phrase<'a> {
    let [meaning, what_to_do] = texts.map(capitalized);
    if detail.is_empty() {
        t!("{meaning}. {what_to_do}.", meaning, what_to_do)
    } else {
        t!("{meaning} ({detail}). {what_to_do}.", meaning, detail, what_to_do)
    }
}

/// The conditions that are there by what is known of a store alone, for a command without a server.
pub fn of(facts: &Facts) -> Vec<Condition> {
    KINDS.iter().filter_map(|kind| Some(kind.begun(facts.now, (kind.found)(facts)?))).collect()
}

/// A condition that was there when the facts were last looked at.
struct Present {
    kind: &'static Kind,
    condition: Condition,
    began: Instant,
    told: Instant,
}

/// The conditions that are there, in the order of [`KINDS`].
#[derive(Default)]
pub struct Conditions(Vec<Present>);

/// A message for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Begins,
    Lasts,
    /// After so many seconds.
    Ends(u64),
}

impl Conditions {
    /// Whether one is there that keeps the store from being used.
    pub fn has_loss(&self) -> bool {
        self.0.iter().any(|present| present.kind.name.starts_with("store_"))
    }

    /// Takes in what is known, and tells the log what has changed. Returns the conditions that are there.
    pub fn learn(&mut self, facts: &Facts, at: Instant) -> Vec<Condition> {
        for (kind, detail, news) in self.compare(facts, at) {
            tell(kind, &detail, news);
        }
        self.0.iter().map(|present| present.condition.clone()).collect()
    }

    fn compare(&mut self, facts: &Facts, at: Instant) -> Vec<(&'static Kind, String, News)> {
        let (mut before, mut news) = (std::mem::take(&mut self.0), Vec::new());
        // The end of one condition is told before the beginning of another.
        before.retain(|present| {
            let lasts = (present.kind.found)(facts).is_some();
            if !lasts {
                let seconds = at.saturating_duration_since(present.began).as_secs();
                news.push((present.kind, present.condition.detail.clone(), News::Ends(seconds)));
            }
            lasts
        });
        for kind in &KINDS {
            let Some(detail) = (kind.found)(facts) else { continue };
            let known = before.iter().position(|present| present.kind.name == kind.name);
            let present = match known.map(|place| before.swap_remove(place)) {
                Some(mut present) => {
                    // The cause of a lost connection changes all the time; that of a read-only store says what to do.
                    let has_new_cause =
                        kind.name == "store_read_only" && present.condition.detail != detail.english;
                    if has_new_cause || at.saturating_duration_since(present.told) >= TOLD_EVERY {
                        present.told = at;
                        news.push((kind, detail.english.clone(), News::Lasts));
                    }
                    let since = present.condition.since;
                    present.condition = Condition { since, ..kind.begun(facts.now, detail) };
                    present
                }
                None => {
                    news.push((kind, detail.english.clone(), News::Begins));
                    Present { kind, condition: kind.begun(facts.now, detail), began: at, told: at }
                }
            };
            self.0.push(present);
        }
        news
    }
}

impl Kind {
    /// A condition of this kind that begins.
    fn begun(&'static self, now: Timestamp, detail: Detail) -> Condition {
        Condition {
            name: self.name.into(),
            severity: self.severity,
            since: day::written(now),
            meaning: self.meaning.english.into(),
            what_to_do: self.what_to_do.english.into(),
            shown: sentences([self.meaning.text(), self.what_to_do.text()], &detail.shown).to_string(),
            detail: detail.english,
        }
    }
}

/// Says in the log that a condition begins, lasts or ends. Nothing else of the program does.
fn tell(kind: &Kind, cause: &str, news: News) {
    let Kind { name, severity, end, .. } = kind;
    let [meaning, what_to_do] = [kind.meaning, kind.what_to_do].map(|text| text.english);
    match (news, severity) {
        (News::Begins, Severity::Page) => {
            tracing::error!(target: TARGET, cause, condition = name, what_to_do, "{meaning}");
        }
        (News::Begins, Severity::Ticket) => {
            tracing::warn!(target: TARGET, cause, condition = name, what_to_do, "{meaning}");
        }
        (News::Lasts, _) => {
            tracing::warn!(target: TARGET, cause, condition = name, what_to_do, "still: {meaning}")
        }
        (News::Ends(seconds), _) => tracing::info!(target: TARGET, seconds, condition = name, "{end}"),
    }
}

/// A sentence about a lane of the queue, if its oldest part has waited for long.
fn late(facts: &Facts, lane: LaneFigures, waiting: Phrase<'_>) -> Option<Detail> {
    let late = lane.oldest_seconds(facts.now);
    (late >= LATE_SECONDS).then(|| t!("{waiting}, the oldest for {age}", waiting, age = age(late)).into())
}

/// The part of the program that lines of the log about conditions name.
const TARGET: &str = "tidings_web::server::health";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tidings_domain::values::Moment;
    use tidings_keyspace::CommitTimes;

    const NOW: Timestamp = Timestamp(1_800_000_000);

    fn good() -> Facts {
        Facts::of_store(NOW, StoreHealth::Works)
    }

    /// Facts under which a condition, and no other, is there.
    fn bad(name: &str) -> Facts {
        let old = Timestamp(NOW.0 - 3_600);
        let waiting = |count| LaneFigures { count, oldest: Some(Moment::from_timestamp(old)) };
        let mut facts = good();
        match name {
            "store_unavailable" => facts.store = StoreHealth::Unavailable("refused".into()),
            "store_read_only" => facts.store = StoreHealth::ReadOnly("the disk is full".into()),
            "commits_slow" => {
                let slow = Duration::from_secs(2);
                facts.signs.commits =
                    CommitTimes { count: 3, total: 3 * slow, slowest: slow, unconfirmed: 1 };
            }
            "layout_changed" => facts.signs.changed_guard = Some("changed from 8 to 9".into()),
            "redis_evicts" => facts.signs.evicts = Some("allkeys-lru".into()),
            "disk_low" => facts.free_bytes = Some(12 << 20),
            "clock_set_back" => facts.latest = Timestamp(NOW.0 + 86_400),
            "jobs_late" => facts.queues.jobs.waiting = waiting(4),
            "mails_late" => facts.queues.mails = waiting(5),
            "backup_failed" => facts.backup.last_failure = Some((old, "no room".into())),
            "backup_late" => {
                facts.backup.is_on = true;
                facts.backup.every = Duration::from_secs(60);
                facts.backup.last_success = Some(old);
            }
            "few_files" => facts.connections = 1,
            told => {
                let kind = KINDS.iter().find(|kind| kind.name == told).unwrap();
                facts.told.insert(kind.name, "no room".into());
            }
        }
        facts
    }

    #[test]
    fn each_condition_comes_and_goes_and_is_told_at_both_ends_and_once_an_hour() {
        let start = Instant::now();
        for kind in &KINDS {
            let mut conditions = Conditions::default();
            let mut news = |facts: &Facts, seconds| {
                let at = start + Duration::from_secs(seconds);
                let news = conditions.compare(facts, at);
                assert!(news.iter().all(|(found, ..)| found.name == kind.name), "{}", kind.name);
                let shown: Vec<String> =
                    conditions.learn(facts, at).iter().map(|c| c.name.to_string()).collect();
                (news.into_iter().map(|(.., news)| news).collect::<Vec<_>>(), shown)
            };
            let (good, bad) = (good(), bad(kind.name));
            assert_eq!(news(&good, 0), (vec![], vec![]), "{}", kind.name);
            let there = vec![kind.name.to_owned()];
            assert_eq!(news(&bad, 2), (vec![News::Begins], there.clone()));
            assert_eq!(news(&bad, 3_601), (vec![], there.clone()));
            assert_eq!(news(&bad, 3_602), (vec![News::Lasts], there.clone()));
            assert_eq!(news(&bad, 3_604), (vec![], there));
            assert_eq!(news(&good, 3_700), (vec![News::Ends(3_698)], vec![]), "{}", kind.name);
        }
    }

    #[test]
    fn a_condition_says_since_when_and_how_many() {
        for (name, part) in [
            (
                "commits_slow",
                "3 writes took 2.0 seconds on average and 2.0 at most; 1 was not confirmed in time",
            ),
            ("jobs_late", "4 jobs are waiting, the oldest for 1 hour"),
            ("mails_late", "5 mails are waiting"),
            ("clock_set_back", "behind by 1 day"),
            ("disk_low", "12 MiB are free, less than 64 MiB"),
            ("few_files", "1 connection at once"),
        ] {
            let [condition] =
                <[Condition; 1]>::try_from(Conditions::default().learn(&bad(name), Instant::now())).unwrap();
            assert!(condition.detail.contains(part), "{}", condition.detail);
            assert_eq!(condition.since, day::written(NOW));
        }
        // Slow writes are one without any that is not confirmed, and the other way round.
        for (slow, unconfirmed) in [(true, 0), (false, 1)] {
            let mut facts = bad("commits_slow");
            facts.signs.commits.unconfirmed = unconfirmed;
            facts.signs.commits.total *= u32::from(slow);
            assert_eq!(Conditions::default().learn(&facts, Instant::now()).len(), 1, "{slow}");
        }
    }

    #[test]
    fn a_new_cause_of_a_read_only_store_is_told_at_once() {
        let (mut conditions, now) = (Conditions::default(), Instant::now());
        let read_only = |cause: &str| Facts { store: StoreHealth::ReadOnly(cause.into()), ..good() };
        let away = |cause: &str| Facts { store: StoreHealth::Unavailable(cause.into()), ..good() };
        let mut news =
            |facts: &Facts| conditions.compare(facts, now).into_iter().map(|(.., news)| news).collect();
        for (facts, expected) in [
            (away("reset"), vec![News::Begins]),
            (away("refused"), vec![]),
            (read_only("full"), vec![News::Ends(0), News::Begins]),
            (read_only("broken"), vec![News::Lasts]),
            (good(), vec![News::Ends(0)]),
        ] {
            let told: Vec<News> = news(&facts);
            assert_eq!(told, expected, "{:?}", facts.store);
        }
    }

    #[test]
    fn names_differ_and_texts_are_parts_of_sentences() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        for Kind { name, meaning, what_to_do, end, .. } in &KINDS {
            for text in [meaning.english, what_to_do.english, end] {
                assert!(!text.ends_with('.') && !text.contains('|'), "{name}: {text}");
            }
        }
    }
}
