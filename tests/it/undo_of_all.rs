//! Every action of moderators that can be undone: acting and undoing leaves what it is about as it was, and an undo
//! after another line has changed the same is refused, and says by which. It is offered exactly where it works.

use std::collections::BTreeSet;

use serde_json::Value;
use tidings_domain::values::actions::Action;

use crate::client::{Client, ok, refused};
use crate::moderation::undo;
use crate::pages::page;
use crate::server::{Engine, Server, each_engine};

/// A call with its fields.
type Call = (&'static str, &'static [(&'static str, &'static str)]);

/// An action, with what comes before it, and what changes the same afterwards.
struct Case {
    action: &'static str,
    /// The hash that the action changes, with the fields that are compared; all of them if there are none.
    about: (&'static str, &'static [&'static str]),
    before: &'static [Call],
    act: Call,
    /// The call that changes the same later, and a part of the refusal to undo the action then.
    later: Option<(Call, &'static str)>,
}

const MODERATE: &str = "/api/moderate";
const BOB: (&str, &str) = ("id", "bob");
const STORY: (&str, &str) = ("id", "1");
const LATER: &str = "has changed since: see line";

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

/// An action on a person that is lifted by another.
macro_rules! restriction {
    ($set:literal, $lift:literal, $field:literal) => {
        [
            Case {
                action: $set,
                about: ("user:3", &[$field]),
                before: &[],
                act: on!($set, "user", BOB, ("hours", "5")),
                later: Some((on!($set, "user", BOB, ("hours", "7")), LATER)),
            },
            Case {
                action: $lift,
                about: ("user:3", &[]),
                before: &[on!($set, "user", BOB, ("hours", "5"))],
                act: on!($lift, "user", BOB),
                later: Some((on!($set, "user", BOB, ("hours", "7")), LATER)),
            },
        ]
    };
}

fn cases() -> Vec<Case> {
    let story: &[&str] = &["title", "url", "topics", "edited", "locked", "withheld", "del", "merged"];
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
        cases.push(Case { action: set.1[0].1, about, before: &[], act: set, later: Some((lift, LATER)) });
        cases.push(Case { action: lift.1[0].1, about, before, act: lift, later: Some((set, LATER)) });
    }
    cases.extend([
        Case {
            action: "make_moderator",
            about: ("user:3", &["flags"]),
            before: &[],
            act: on!("make_moderator", "user", BOB),
            later: Some((on!("unmake_moderator", "user", BOB), LATER)),
        },
        Case {
            action: "unmake_moderator",
            about: ("user:3", &["flags"]),
            before: &[on!("make_moderator", "user", BOB)],
            act: on!("unmake_moderator", "user", BOB),
            later: Some((on!("make_moderator", "user", BOB), LATER)),
        },
        Case {
            action: "lock",
            about: ("news:1", story),
            before: &[],
            act: on!("lock", "story", STORY),
            later: Some((on!("unlock", "story", STORY), "already been undone: see line")),
        },
        Case {
            action: "unlock",
            about: ("news:1", &["title"]),
            before: &[on!("lock", "story", STORY)],
            act: on!("unlock", "story", STORY),
            later: Some((on!("lock", "story", STORY), LATER)),
        },
        Case {
            action: "edit",
            about: ("news:1", story),
            before: &[],
            act: on!("edit", "story", STORY, ("title", "A better title"), ("topics", "")),
            later: Some((on!("edit", "story", STORY, ("title", "Another"), ("topics", "")), LATER)),
        },
        Case {
            action: "edit",
            about: ("thread:1", &["1"]),
            before: &[],
            act: on!("edit", "comment", ("id", "1-1"), ("text", "kinder words")),
            later: Some((on!("edit", "comment", ("id", "1-1"), ("text", "other words")), LATER)),
        },
        Case {
            action: "remove",
            about: ("news:1", story),
            before: &[],
            act: on!("remove", "story", STORY),
            later: Some((on!("restore", "story", STORY), "already been undone: see line")),
        },
        Case {
            action: "restore",
            about: ("news:1", &["title", "del"]),
            before: &[on!("remove", "story", STORY)],
            act: on!("restore", "story", STORY),
            later: Some((on!("remove", "story", STORY), LATER)),
        },
        Case {
            action: "merge",
            about: ("news:1", story),
            before: &[],
            act: on!("merge", "story", STORY, ("into", "2")),
            later: Some((on!("split", "story", STORY), "already been undone: see line")),
        },
        Case {
            action: "keep",
            about: ("news:2", story),
            before: &[],
            act: on!("keep", "story", ("id", "2")),
            later: Some((on!("remove", "story", ("id", "2")), LATER)),
        },
        Case {
            action: "approve",
            about: ("news:3", &["title"]),
            before: &[],
            act: on!("approve", "story", ("id", "3")),
            later: Some((on!("remove", "story", ("id", "3")), LATER)),
        },
        Case {
            action: "reject",
            about: ("news:3", story),
            before: &[],
            act: on!("reject", "story", ("id", "3")),
            later: None,
        },
        Case {
            action: "note",
            about: ("user:3:notes", &[]),
            before: &[],
            act: on!("note", "user", BOB),
            later: None,
        },
        Case {
            action: "rule",
            about: ("rules:all", &[]),
            before: &[],
            act: RULE,
            later: Some((("/api/moderate/unrule", &[("rule_id", "1"), ("reason", "over")]), LATER)),
        },
        Case {
            action: "unrule",
            about: ("rules:all", &[]),
            before: &[RULE],
            act: ("/api/moderate/unrule", &[("rule_id", "1"), ("reason", "over")]),
            later: None,
        },
        Case {
            action: "bar",
            about: ("bans:origins", &[]),
            before: &[],
            act: BAN_OF_DOMAIN,
            later: Some((LIFT, LATER)),
        },
        Case {
            action: "unbar",
            about: ("bans:origins", &[]),
            before: &[BAN_OF_DOMAIN],
            act: LIFT,
            later: None,
        },
        Case {
            action: "announce",
            about: ("site", &[]),
            before: &[("/api/admin/announcement", &[("text", "The first"), ("hours", "9")])],
            act: ("/api/admin/announcement", &[("text", "The second")]),
            later: Some((("/api/admin/announcement", &[("text", "The third")]), LATER)),
        },
        Case {
            action: "set_reasons",
            about: ("site", &[]),
            before: &[],
            act: ("/api/moderate/reasons", &[("title", "Politics"), ("text", "Not here.")]),
            later: Some((
                ("/api/moderate/reasons", &[("reason_id", "7"), ("title", "Politics"), ("text", "No.")]),
                LATER,
            )),
        },
        Case {
            action: "set_reasons",
            about: ("site", &[]),
            before: &[],
            act: ("/api/moderate/reasons", &[("reason_id", "2"), ("remove", "1")]),
            later: None,
        },
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
        for Case { action, about, before, act, later } in cases().into_iter().step_by(step) {
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
            let why = refused(undo(&moderator, line).await);
            assert!(why.contains("dministrator"), "{action}: {why}");
            server.finish_jobs().await;
            ok(undo(&alice, line).await);
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
            let why = refused(undo(&alice, line).await);
            assert!(why.contains(expected) && why.contains(&format!("line {other} ")), "{action}: {why}");
            assert_eq!(state(&server, (about.0, &[])).await, changed, "{action}");
        }
    }
}

#[test]
fn every_action_that_can_be_undone_is_tried() {
    let tried: BTreeSet<&str> = cases().iter().map(|case| case.action).collect();
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
        // Jobs, and rows of other kinds: see `removals_of_all.rs` and `messages.rs`.
        "remove_all",
        "close",
    ];
    for action in Action::ALL {
        let name = action.name();
        assert!(tried.contains(name) != has_none.contains(&name), "{name}");
    }
}

#[each_engine]
async fn what_has_ended_is_not_offered(server: Server) {
    let alice = server.register("alice").await;
    server.member("mod").await;
    server.member("bob").await;
    let silence: Call = on!("silence", "user", BOB, ("hours", "1"));
    let line = line_of(&alice, silence).await;
    server.advance(3_600);
    assert!(!offers(&alice, line).await);
    assert!(refused(undo(&alice, line).await).contains("already ended"));
    let again = line_of(&alice, silence).await;
    assert!(offers(&alice, again).await);
    let lifted = line_of(&alice, on!("unsilence", "user", BOB)).await;
    assert!(offers(&alice, lifted).await && !offers(&alice, again).await);
    server.advance(3_600);
    assert!(!offers(&alice, lifted).await);
    assert!(refused(undo(&alice, lifted).await).contains("would already have ended"));
}
