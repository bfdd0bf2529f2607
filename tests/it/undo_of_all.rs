//! Every action of moderators that can be undone: acting and undoing leaves what it is about as it was, and an undo
//! after another line has changed the same is refused, and says by which. It is offered exactly where it works.

use std::collections::BTreeSet;

use tidings_domain::values::Action;

use crate::client::{Client, line_of, ok, refused, refused_saying};
use crate::pages::page;
use crate::server::{Engine, Server, in_memory};

/// An action, with what comes before it, and what changes the same afterwards. An action of moderators is written as
/// `silence user bob hours=5`, another call as for [`Client::call`].
struct Case {
    /// The key of the hash that the action changes, and the fields that are compared; all of them if there are none.
    about: &'static str,
    /// Empty if nothing comes before.
    before: &'static str,
    act: &'static str,
    /// The call that changes the same later, and a part of the refusal to undo the action then.
    later: Option<(&'static str, &'static str)>,
}

const fn case(about: &'static str, act: &'static str) -> Case {
    Case { about, before: "", act, later: None }
}

impl Case {
    /// Something comes before it.
    const fn after(self, before: &'static str) -> Self {
        Self { before, ..self }
    }

    /// A later call changes the same, so an undo is refused.
    const fn changed_by(self, later: &'static str) -> Self {
        Self { later: Some((later, "has changed since: see entry")), ..self }
    }

    /// A later call undoes it by itself.
    const fn undone_by(self, later: &'static str) -> Self {
        Self { later: Some((later, "already been undone: see entry")), ..self }
    }

    /// The name of the action.
    fn action(&self) -> &'static str {
        match self.act.split(['?', ' ']).next().unwrap() {
            "/api/moderate/rule" => "rule",
            "/api/moderate/unrule" => "unrule",
            "/api/moderate/bans" => "bar",
            "/api/moderate/unban" => "unbar",
            "/api/moderate/reasons" => "set_reasons",
            "/api/admin/announcement" => "announce",
            action => action,
        }
    }
}

const RULE: &str = "/api/moderate/rule?what=domain&pattern=spam.example&effect=refuse&reason=It is spam.";
const UNRULE: &str = "/api/moderate/unrule?rule_id=1&reason=over";
const BAN_OF_DOMAIN: &str =
    "/api/moderate/bans?what=domain&value=spam.example&scope=both&reason=spam&hours=9";
const LIFT: &str = "/api/moderate/unban?ban_id=1&reason=over";
const STOP: &str = "stop_signups site signups hours=5";
const RESUME: &str = "resume_signups site signups";
const HOLD_YOUNG: &str = "hold_young site young_posts hours=5&age=24";
const UNHOLD_YOUNG: &str = "unhold_young site young_posts";
const ANNOUNCED: &str = "/api/admin/announcement?text=The first&hours=9";

/// An action on a person that is lifted by another.
macro_rules! restriction {
    ($set:literal, $lift:literal, $field:literal) => {{
        const LONGER: &str = concat!($set, " user bob hours=7");
        const SET: &str = concat!($set, " user bob hours=5");
        [
            case(concat!("user:3 ", $field), SET).changed_by(LONGER),
            case("user:3", concat!($lift, " user bob")).after(SET).changed_by(LONGER),
        ]
    }};
}

fn cases() -> Vec<Case> {
    let restrictions = [
        restriction!("silence", "unsilence", "silenced"),
        restriction!("hold", "unhold", "held"),
        restriction!("ban", "unban", "banned"),
        restriction!("discount", "recount", "discounted"),
    ];
    let others = [
        case("site signups_stopped", STOP).changed_by(RESUME),
        case("site signups_stopped", RESUME).after(STOP).changed_by(STOP),
        case("site young_held", HOLD_YOUNG).changed_by(UNHOLD_YOUNG),
        case("site young_held", UNHOLD_YOUNG).after(HOLD_YOUNG).changed_by(HOLD_YOUNG),
        case("user:3 flags", "make_moderator user bob").changed_by("unmake_moderator user bob"),
        case("user:3 flags", "unmake_moderator user bob")
            .after("make_moderator user bob")
            .changed_by("make_moderator user bob"),
        case("news:1 STORY", "lock story 1").undone_by("unlock story 1"),
        case("news:1 title", "unlock story 1").after("lock story 1").changed_by("lock story 1"),
        case("news:1 STORY", "edit story 1 title=A better title&topics=")
            .changed_by("edit story 1 title=Another&topics="),
        case("thread:1 1", "edit comment 1-1 text=kinder words")
            .changed_by("edit comment 1-1 text=other words"),
        case("news:1 STORY", "remove story 1").undone_by("restore story 1"),
        case("news:1 title del", "restore story 1").after("remove story 1").changed_by("remove story 1"),
        case("news:1 STORY", "merge story 1 into=2").undone_by("split story 1"),
        case("news:2 STORY", "keep story 2").changed_by("remove story 2"),
        case("news:3 title", "approve story 3").changed_by("remove story 3"),
        case("news:3 STORY", "reject story 3"),
        case("user:3:notes", "note user bob"),
        case("rules:all", RULE).changed_by(UNRULE),
        case("rules:all", UNRULE).after(RULE),
        case("bans:origins", BAN_OF_DOMAIN).changed_by(LIFT),
        case("bans:origins", LIFT).after(BAN_OF_DOMAIN),
        case("site", "pin story 1 days=3").after(ANNOUNCED).changed_by(ANNOUNCED),
        case("site", "unpin story 1").after("pin story 1").changed_by(ANNOUNCED),
        case("site", "/api/admin/announcement?text=The second")
            .after(ANNOUNCED)
            .changed_by("/api/admin/announcement?text=The third"),
        case("site", "/api/moderate/reasons?title=Politics&text=Not here.")
            .changed_by("/api/moderate/reasons?reason_id=7&title=Politics&text=No."),
        case("site", "/api/moderate/reasons?reason_id=2&remove=1"),
    ];
    restrictions.into_iter().flatten().chain(others).collect()
}

/// A site where everything can be done: a story with a comment, one that readers have flagged, one that waits.
async fn site(engine: Engine) -> (Server, Client, Client) {
    let server = Server::start(engine, &[]).await;
    let alice = server.register("alice").await;
    let moderator = server.moderator("mod").await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    bob.submit_link("A story", "http://example.com/1").await;
    bob.comment(1, "some words").await;
    bob.submit_text("A flagged one", "text").await;
    ok(carol.call("/api/flag?kind=story&id=2&reason=spam&note=").await);
    ok(alice.moderate("hold", ("user", "carol"), &[]).await);
    ok(carol.submit("A story that waits", "", "text").await);
    (server, alice, moderator)
}

/// Does an action, and answers its line of the log.
async fn line_after(client: &Client, act: &str) -> u64 {
    let mut words = act.splitn(4, ' ');
    let [action, kind, id, fields] = std::array::from_fn(|_| words.next().unwrap_or_default());
    let call = format!("/api/moderate?action={action}&kind={kind}&id={id}&reason=a reason&{fields}");
    let call = if act.starts_with('/') { act } else { &call };
    line_of(client.call(call).await)
}

/// The fields of a hash that a case compares.
async fn state(server: &Server, about: &str) -> Vec<(String, String)> {
    const STORY: &str = "title url topics edited locked withheld del merged";
    let (key, fields) = about.split_once(' ').unwrap_or((about, ""));
    let fields = if fields == "STORY" { STORY } else { fields };
    let volatile =
        ["apisecret", "auth", "replies", "inbox", "unread", "silenced", "held", "banned", "discounted"];
    let hash = server.hash(key).await.into_iter();
    let is_compared = |field: &str| match fields {
        "" => !volatile.contains(&field) && !field.starts_with("credentials"),
        fields => fields.split(' ').any(|compared| compared == field),
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
            if !before.is_empty() {
                line_after(&alice, before).await;
            }
            server.finish_jobs().await;
            let first = state(&server, about).await;
            let line = line_after(&alice, act).await;
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
            if !before.is_empty() {
                line_after(&alice, before).await;
            }
            let line = line_after(&alice, act).await;
            let other = line_after(&alice, later).await;
            server.finish_jobs().await;
            let key = about.split(' ').next().unwrap();
            let changed = state(&server, key).await;
            assert!(!offers(&alice, line).await, "{action} {act:?}");
            let why = refused(alice.undo(line).await);
            assert!(why.contains(expected) && why.contains(&format!("entry {other} ")), "{action}: {why}");
            assert_eq!(state(&server, key).await, changed, "{action}");
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
async fn what_has_ended_or_is_no_business_of_the_reader_is_not_offered(server: Server) {
    let alice = server.register("alice").await;
    let [_, bob] = server.people(["mod", "bob"]).await;
    let silence = "silence user bob hours=1";
    let line = line_after(&alice, silence).await;
    server.advance(3_600);
    assert!(!offers(&alice, line).await);
    refused_saying(alice.undo(line).await, "already ended");
    let again = line_after(&alice, silence).await;
    assert!(offers(&alice, again).await && !offers(&bob, again).await);
    let lifted = line_after(&alice, "unsilence user bob").await;
    assert!(offers(&alice, lifted).await && !offers(&alice, again).await);
    server.advance(3_600);
    assert!(!offers(&alice, lifted).await);
    refused_saying(alice.undo(lifted).await, "would already have ended");
    let warning = line_after(&alice, "warn user bob").await;
    assert!(!offers(&alice, warning).await);
}
