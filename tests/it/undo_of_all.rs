//! Every action of moderators that can be undone: acting and undoing leaves what it is about as it was, and an undo
//! after another line has changed the same is refused, and says by which. It is offered exactly where it works.

use std::collections::BTreeSet;

use serde_json::Value;
use tidings_domain::values::Action;

use crate::client::{Client, ok, refused};
use crate::pages::page;
use crate::server::{Engine, Server, in_memory};

/// A call with its fields.
type Call = (&'static str, &'static [(&'static str, &'static str)]);

/// An action, with what comes before it, and what changes the same afterwards.
struct Case {
    /// The hash that the action changes, with the fields that are compared; all of them if there are none.
    about: (&'static str, &'static [&'static str]),
    before: &'static [Call],
    act: Call,
    /// The call that changes the same later, and a part of the refusal to undo the action then.
    later: Option<(Call, &'static str)>,
}

const fn case(about: (&'static str, &'static [&'static str]), before: &'static [Call], act: Call) -> Case {
    Case { about, before, act, later: None }
}

impl Case {
    /// A later call changes the same, so an undo is refused.
    const fn changed_by(self, later: Call) -> Self {
        Self { later: Some((later, "has changed since: see entry")), ..self }
    }

    /// A later call undoes it by itself.
    const fn undone_by(self, later: Call) -> Self {
        Self { later: Some((later, "already been undone: see entry")), ..self }
    }

    /// The name of the action.
    fn action(&self) -> &'static str {
        match self.act.0 {
            "/api/moderate/rule" => "rule",
            "/api/moderate/unrule" => "unrule",
            "/api/moderate/bans" => "bar",
            "/api/moderate/unban" => "unbar",
            "/api/moderate/reasons" => "set_reasons",
            "/api/admin/announcement" => "announce",
            _ => self.act.1[0].1,
        }
    }
}

const MODERATE: &str = "/api/moderate";
const BOB: (&str, &str) = ("id", "bob");
const STORY: (&str, &str) = ("id", "1");

macro_rules! on {
    ($action:literal, $kind:literal, $id:expr $(, $more:expr)*) => {
        (MODERATE, &[("action", $action), ("kind", $kind), $id, ("reason", "a reason") $(, $more)*])
    };
}

const RULE: Call = (
    "/api/moderate/rule",
    &[("what", "domain"), ("pattern", "spam.example"), ("effect", "refuse"), ("reason", "It is spam.")],
);
const BAN_OF_DOMAIN: Call = (
    "/api/moderate/bans",
    &[("what", "domain"), ("value", "spam.example"), ("scope", "both"), ("reason", "spam"), ("hours", "9")],
);
const LIFT: Call = ("/api/moderate/unban", &[("ban_id", "1"), ("reason", "over")]);

const STOP: Call = on!("stop_signups", "site", ("id", "signups"), ("hours", "5"));
const RESUME: Call = on!("resume_signups", "site", ("id", "signups"));
const HOLD_YOUNG: Call = on!("hold_young", "site", ("id", "young_posts"), ("hours", "5"), ("age", "24"));
const UNHOLD_YOUNG: Call = on!("unhold_young", "site", ("id", "young_posts"));

const UNRULE: Call = ("/api/moderate/unrule", &[("rule_id", "1"), ("reason", "over")]);

const ANNOUNCED: Call = ("/api/admin/announcement", &[("text", "The first"), ("hours", "9")]);

/// An announcement with a text.
macro_rules! announce {
    ($text:literal) => {
        ("/api/admin/announcement", &[("text", $text)])
    };
}

/// An action on a person that is lifted by another.
macro_rules! restriction {
    ($set:literal, $lift:literal, $field:literal) => {
        [
            case(("user:3", &[$field]), &[], on!($set, "user", BOB, ("hours", "5"))).changed_by(on!(
                $set,
                "user",
                BOB,
                ("hours", "7")
            )),
            case(("user:3", &[]), &[on!($set, "user", BOB, ("hours", "5"))], on!($lift, "user", BOB))
                .changed_by(on!($set, "user", BOB, ("hours", "7"))),
        ]
    };
}

fn cases() -> Vec<Case> {
    const FIELDS: &[&str] = &["title", "url", "topics", "edited", "locked", "withheld", "del", "merged"];
    let (story, flagged, waiting) = (("news:1", FIELDS), ("news:2", FIELDS), ("news:3", FIELDS));
    let (flags, comment): ((_, &[&str]), (_, &[&str])) = (("user:3", &["flags"]), ("thread:1", &["1"]));
    let mut cases: Vec<Case> = [
        restriction!("silence", "unsilence", "silenced"),
        restriction!("hold", "unhold", "held"),
        restriction!("ban", "unban", "banned"),
        restriction!("discount", "recount", "discounted"),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (set, lift, before, field) in [
        (STOP, RESUME, &[STOP], &["signups_stopped"]),
        (HOLD_YOUNG, UNHOLD_YOUNG, &[HOLD_YOUNG], &["young_held"]),
    ] {
        let about: (_, &[&str]) = ("site", field);
        cases.push(case(about, &[], set).changed_by(lift));
        cases.push(case(about, before, lift).changed_by(set));
    }
    cases.extend([
        case(flags, &[], on!("make_moderator", "user", BOB)).changed_by(on!("unmake_moderator", "user", BOB)),
        case(flags, &[on!("make_moderator", "user", BOB)], on!("unmake_moderator", "user", BOB))
            .changed_by(on!("make_moderator", "user", BOB)),
        case(story, &[], on!("lock", "story", STORY)).undone_by(on!("unlock", "story", STORY)),
        case(("news:1", &["title"]), &[on!("lock", "story", STORY)], on!("unlock", "story", STORY))
            .changed_by(on!("lock", "story", STORY)),
        case(story, &[], on!("edit", "story", STORY, ("title", "A better title"), ("topics", "")))
            .changed_by(on!("edit", "story", STORY, ("title", "Another"), ("topics", ""))),
        case(comment, &[], on!("edit", "comment", ("id", "1-1"), ("text", "kinder words"))).changed_by(on!(
            "edit",
            "comment",
            ("id", "1-1"),
            ("text", "other words")
        )),
        case(story, &[], on!("remove", "story", STORY)).undone_by(on!("restore", "story", STORY)),
        case(("news:1", &["title", "del"]), &[on!("remove", "story", STORY)], on!("restore", "story", STORY))
            .changed_by(on!("remove", "story", STORY)),
        case(story, &[], on!("merge", "story", STORY, ("into", "2"))).undone_by(on!("split", "story", STORY)),
        case(flagged, &[], on!("keep", "story", ("id", "2"))).changed_by(on!("remove", "story", ("id", "2"))),
        case(("news:3", &["title"]), &[], on!("approve", "story", ("id", "3"))).changed_by(on!(
            "remove",
            "story",
            ("id", "3")
        )),
        case(waiting, &[], on!("reject", "story", ("id", "3"))),
        case(("user:3:notes", &[]), &[], on!("note", "user", BOB)),
        case(("rules:all", &[]), &[], RULE).changed_by(UNRULE),
        case(("rules:all", &[]), &[RULE], UNRULE),
        case(("bans:origins", &[]), &[], BAN_OF_DOMAIN).changed_by(LIFT),
        case(("bans:origins", &[]), &[BAN_OF_DOMAIN], LIFT),
        case(("site", &[]), &[ANNOUNCED], on!("pin", "story", STORY, ("days", "3"))).changed_by(ANNOUNCED),
        case(("site", &[]), &[on!("pin", "story", STORY)], on!("unpin", "story", STORY))
            .changed_by(ANNOUNCED),
        case(("site", &[]), &[ANNOUNCED], announce!("The second")).changed_by(announce!("The third")),
        case(("site", &[]), &[], ("/api/moderate/reasons", &[("title", "Politics"), ("text", "Not here.")]))
            .changed_by((
                "/api/moderate/reasons",
                &[("reason_id", "7"), ("title", "Politics"), ("text", "No.")],
            )),
        case(("site", &[]), &[], ("/api/moderate/reasons", &[("reason_id", "2"), ("remove", "1")])),
    ]);
    cases
}

/// A site where everything can be done: a story with a comment, one that readers have flagged, one that waits.
async fn site(engine: Engine) -> (Server, Client, Client) {
    let server = Server::start(engine, &[]).await;
    let alice = server.register("alice").await;
    let moderator = server.member("mod").await;
    server.set_field("user:2", "flags", "m").await;
    let (bob, carol) = (server.member("bob").await, server.member("carol").await);
    bob.submit_link("A story", "http://example.com/1").await;
    bob.comment(1, "some words").await;
    bob.submit_text("A flagged one", "text").await;
    let flag = [("kind", "story"), ("id", "2"), ("reason", "spam"), ("note", "")];
    ok(carol.api_post("/api/flag", &flag).await);
    let hold = [("action", "hold"), ("kind", "user"), ("id", "carol"), ("reason", "r")];
    ok(alice.api_post(MODERATE, &hold).await);
    ok(carol.submit("A story that waits", "", "text").await);
    (server, alice, moderator)
}

async fn line_of(client: &Client, (path, fields): Call) -> u64 {
    let answer = ok(client.api_post(path, fields).await);
    server_line(&answer)
}

fn server_line(answer: &Value) -> u64 {
    answer["moderation_id"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

/// The fields of a hash that a case compares.
async fn state(server: &Server, (key, fields): (&str, &[&str])) -> Vec<(String, String)> {
    let volatile =
        ["apisecret", "auth", "replies", "inbox", "unread", "silenced", "held", "banned", "discounted"];
    let hash = server.hash(key).await.into_iter();
    let is_compared = |field: &str| match fields {
        [] => !volatile.contains(&field) && !field.starts_with("credentials"),
        fields => fields.contains(&field),
    };
    let is_compared = |(field, value): &(String, String)| !value.is_empty() && is_compared(field);
    let mut compared: Vec<_> = hash.filter(is_compared).collect();
    compared.sort();
    compared
}

/// Whether the log offers to undo a line, on its page and in its call.
async fn offers(by: &Client, line: u64) -> bool {
    let log = page(by, "/moderations").await;
    let id = line.to_string();
    let on_page = log
        .forms()
        .iter()
        .any(|form| form.action == "/moderate/undo" && form.value("moderation_id") == Some(&*id));
    let call = ok(by.api_get("/api/moderations").await);
    let entry = call["entries"].as_array().unwrap().iter().find(|entry| entry["id"] == line).cloned();
    let in_call = entry.is_some_and(|entry| entry["can_be_undone"] == true);
    assert_eq!(on_page, in_call, "line {line}");
    on_page
}

#[tokio::test]
async fn an_undo_is_exact_or_refused_by_the_line_that_came_later() {
    for (engine, step) in [(Engine::Memory, 1), (Engine::Redis, 6)] {
        for case in cases().into_iter().step_by(step) {
            let (action, Case { about, before, act, later }) = (case.action(), case);
            let (server, alice, moderator) = site(engine).await;
            for call in before {
                line_of(&alice, *call).await;
            }
            server.finish_jobs().await;
            let first = state(&server, about).await;
            let line = line_of(&alice, act).await;
            assert!(offers(&alice, line).await, "{action}");
            // Only administrators undo what an administrator has decided.
            assert!(!offers(&moderator, line).await, "{action}");
            let why = refused(moderator.undo(line).await);
            assert!(why.contains("dministrator"), "{action}: {why}");
            server.finish_jobs().await;
            ok(alice.undo(line).await);
            server.finish_jobs().await;
            assert_eq!(state(&server, about).await, first, "{action} {act:?}");
            assert!(!offers(&alice, line).await, "{action}: it was undone");
            crate::store_check::demand_clean(&server).await;

            let Some((later, expected)) = later else { continue };
            let (server, alice, _) = site(engine).await;
            for call in before {
                line_of(&alice, *call).await;
            }
            let line = line_of(&alice, act).await;
            let other = line_of(&alice, later).await;
            server.finish_jobs().await;
            let changed = state(&server, (about.0, &[])).await;
            assert!(!offers(&alice, line).await, "{action} {act:?}");
            let why = refused(alice.undo(line).await);
            assert!(why.contains(expected) && why.contains(&format!("entry {other} ")), "{action}: {why}");
            assert_eq!(state(&server, (about.0, &[])).await, changed, "{action}");
        }
    }
}

#[test]
fn every_action_that_can_be_undone_is_tried() {
    let tried: BTreeSet<&str> = cases().iter().map(Case::action).collect();
    let has_none = [
        // Actions that cannot be undone, or that only undo.
        "erase",
        "split",
        "warn",
        "unnote",
        "reopen",
        "speak",
        "answer",
        "set_hooks",
        "set_readers",
        // Roles by the groups at a provider, which the next login would give or take again.
        "make_administrator",
        "unmake_administrator",
        // Jobs, and rows of other kinds: see `removals_of_all.rs` and `messages.rs`.
        "remove_all",
        "close",
    ];
    for action in Action::ALL {
        let name = action.name();
        assert!(tried.contains(name) != has_none.contains(&name), "{name}");
    }
}

#[in_memory]
async fn what_has_ended_is_not_offered(server: Server) {
    let alice = server.register("alice").await;
    server.member("mod").await;
    server.member("bob").await;
    let silence: Call = on!("silence", "user", BOB, ("hours", "1"));
    let line = line_of(&alice, silence).await;
    server.advance(3_600);
    assert!(!offers(&alice, line).await);
    assert!(refused(alice.undo(line).await).contains("already ended"));
    let again = line_of(&alice, silence).await;
    assert!(offers(&alice, again).await);
    let lifted = line_of(&alice, on!("unsilence", "user", BOB)).await;
    assert!(offers(&alice, lifted).await && !offers(&alice, again).await);
    server.advance(3_600);
    assert!(!offers(&alice, lifted).await);
    assert!(refused(alice.undo(lifted).await).contains("would already have ended"));
}
