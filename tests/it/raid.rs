//! Under a raid: a moderator stops sign-ups, has the posts of young accounts wait, and bans many at once, each with one
//! line of the log and one undo.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, has_members, line_of, ok, refused, refused_saying};
use crate::html::{Form, Page};
use crate::pages::{page, redirects_to};
use crate::server::{Server, in_memory};
use crate::signups::{invitation, sign_up};
use crate::store_check::demand_clean;

/// An administrator, a moderator, and some members.
async fn site(server: &Server, members: &[&str]) -> [Client; 2] {
    let staff = [server.register("alice").await, server.moderator("mod").await];
    for name in members {
        server.member(name).await;
    }
    staff
}

/// The form of the page of the review queue with a button.
async fn form_with(client: &Client, button: &str) -> Form {
    let forms = page(client, "/moderate").await.forms();
    forms.into_iter().find(|form| form.has_button(button)).unwrap_or_else(|| panic!("no button {button}"))
}

/// Sends such a form. Returns the page that it leads to, and its line of the log.
async fn press(client: &Client, button: &str, fields: &[(&str, &str)]) -> (Page, u64) {
    let form = form_with(client, button).await.pressing(button).with("reason", "a raid");
    let form = fields.iter().fold(form, |form, (name, value)| form.with(name, value));
    let next = redirects_to(&form.send(client).await).to_owned();
    let line = next.split("moderated=").nth(1).and_then(|rest| rest.split('#').next()).unwrap();
    (page(client, &next).await, line.parse().unwrap())
}

/// The lines of the log that match, the newest first, as `<id> <action> <target>`.
async fn log(client: &Client, query: &str) -> Vec<String> {
    let line = |entry: &Value| {
        format!("{} {} {}", entry["id"], entry["action"].as_str().unwrap(), entry["target"].as_str().unwrap())
    };
    client.log(&format!("?{query}")).await.iter().map(line).collect()
}

async fn offers(client: &Client, line: u64) -> bool {
    client.log("").await.iter().any(|entry| entry["id"] == line && entry["can_be_undone"] == true)
}

#[in_memory]
async fn a_moderator_stops_sign_ups_for_a_time(server: Server) {
    let [alice, moderator] = site(&server, &["bob"]).await;
    let code = invitation(&alice).await;
    let visitor = server.visitor();
    let form = page(&visitor, "/register").await.form("/register");
    let form = form.with("username", "raider").with("password", PASSWORD);
    let (shown, line) = press(&moderator, "stop_signups", &[("hours", "1")]).await;
    assert!(shown.content().contains("Done: stopped sign-ups"), "{}", shown.content());
    assert!(offers(&moderator, line).await);

    let said = "oderators have stopped sign-ups until ";
    let invited = format!("/register?invitation={code}");
    for path in ["/register", &invited, "/about"] {
        let shown = page(&visitor, path).await;
        assert!(shown.content().contains(said) && shown.content().contains(": a raid"), "{path}");
        assert!(!shown.forms().iter().any(|form| form.action == "/register"), "{path}");
    }
    assert!(page(&visitor, &invited).await.content().contains("Your invitation can be used afterwards"));
    assert!(page(&alice, "/settings/invitations").await.content().contains(said));
    let sent = form.clone().send(&visitor).await;
    assert_eq!(sent.status, StatusCode::FORBIDDEN);
    assert!(Page::of(&sent).content().contains(said));
    for more in [&[][..], &[("invitation", &*code)]] {
        refused_saying(sign_up(&visitor, "raider", more).await, said);
    }
    // A member cannot, and it has an end.
    let stop = async |by: &Client, hours| {
        by.moderate("stop_signups", ("site", "signups"), &[("hours", hours)]).await
    };
    refused(stop(&server.client_of(3).await, "1").await);
    for hours in ["0", "169"] {
        refused_saying(stop(&moderator, hours).await, "hours");
    }
    demand_clean(&server).await;

    server.advance(3_600);
    assert!(!offers(&moderator, line).await);
    assert_eq!(form.send(&visitor).await.status, StatusCode::SEE_OTHER);
    assert!(!page(&visitor, "/about").await.content().contains(said));

    // It is ended before its time with a button, or with the undo of its line.
    press(&moderator, "stop_signups", &[("hours", "24")]).await;
    press(&moderator, "resume_signups", &[]).await;
    ok(sign_up(&visitor, "carol", &[("invitation", &code)]).await);
    let (_, line) = press(&moderator, "stop_signups", &[("hours", "24")]).await;
    refused(sign_up(&visitor, "dave", &[]).await);
    ok(moderator.undo(line).await);
    assert_eq!(server.field("site", "signups_stopped").await, None);
    let lines = log(&visitor, "kind=site").await;
    let expected = ["5 resume_signups signups", "4 stop_signups signups", "3 resume_signups signups"];
    assert_eq!(lines[..3], expected);
    demand_clean(&server).await;
}

#[in_memory]
async fn posts_of_young_accounts_wait_for_a_time(server: Server) {
    let [alice, moderator] = site(&server, &["old"]).await;
    server.advance(86_400);
    let young = server.member("young").await;
    let old = server.client_of(3).await;
    let held = |answer: Value| ok(answer)["held"] == true;
    press(&moderator, "hold_young", &[("age", "24"), ("hours", "1")]).await;
    for (client, waits) in [(&young, true), (&old, false), (&moderator, false), (&alice, false)] {
        assert_eq!(held(client.submit("A story", "", "text").await), waits);
        assert_eq!(held(client.try_tweet("A post").await), waits);
    }
    let shown = page(&moderator, "/moderate").await;
    assert!(shown.content().contains("Posts of accounts younger than 1 day wait for approval until "));
    assert!(shown.content().contains("Held because: a raid"));
    server.advance(3_600);
    assert!(!held(young.submit("Another story", "", "text").await));

    let (_, line) = press(&moderator, "hold_young", &[("age", "72"), ("hours", "24")]).await;
    assert!(held(young.submit("A third story", "", "text").await));
    ok(moderator.undo(line).await);
    assert!(!held(young.submit("A fourth story", "", "text").await));
    press(&moderator, "hold_young", &[("age", "72"), ("hours", "24")]).await;
    // The account grows old enough meanwhile.
    server.advance(2 * 86_400 - 3_600);
    press(&moderator, "hold_young", &[("age", "24"), ("hours", "1")]).await;
    assert!(!held(young.submit("A fifth story", "", "text").await));
    press(&moderator, "unhold_young", &[]).await;
    assert_eq!(server.field("site", "young_held").await, None);
    demand_clean(&server).await;
}

#[in_memory]
async fn a_batch_is_one_line_with_one_undo(server: Server) {
    let [alice, moderator] = site(&server, &["r1", "r2", "r3", "friend"]).await;
    let story = server.client_of(3).await.submit_text("Spam", "text").await;
    // All are chosen, and boxes stay changeable.
    let chosen = page(&moderator, "/people?all=1").await;
    assert!(page(&moderator, "/people").await.links_to("/people?sort=age&all=1"));
    let form = chosen.forms().into_iter().find(|form| form.is_post && form.action == "/people").unwrap();
    let is_chosen = |number: u64| form.value(&format!("person.{number}")).is_some();
    assert_eq!((1..=6).filter(|number| is_chosen(*number)).collect::<Vec<_>>(), [3, 4, 5, 6]);
    let form = form.without("person.6").pressing("ban").with("reason", "a raid").ticking("remove");
    let next = redirects_to(&form.send(&moderator).await).to_owned();
    let shown = page(&moderator, &next).await;
    assert!(shown.content().contains("Done: banned 3 people"), "{}", shown.content());
    server.finish_jobs().await;
    let banned = async |id: u64| server.field(&format!("user:{id}"), "banned").await.is_some();
    assert!(banned(3).await && banned(5).await && !banned(6).await);
    assert_eq!(server.visitor().get(&format!("/news/{story}")).await.status, 410);

    // One line, with its parts.
    let lines = log(&server.visitor(), "").await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let batch: u64 = lines[0].split(' ').next().unwrap().parse().unwrap();
    assert_eq!(lines[0], format!("{batch} ban people"));
    let parts = log(&server.visitor(), &format!("part_of={batch}")).await;
    assert!(parts.contains(&"1 ban r3".to_owned()) && parts.len() >= 4, "{parts:?}");
    let public = page(&server.visitor(), "/moderations").await;
    assert!(public.content().contains("banned 3 people"));
    assert!(public.links_to(&format!("/moderations?part_of={batch}")));
    assert!(page(&server.visitor(), &format!("/moderations?part_of={batch}")).await.content().contains("r2"));
    // By person, for moderators.
    let of_person = log(&moderator, "person=R3").await;
    assert!(of_person.iter().all(|line| line.ends_with(" r3")) && !of_person.is_empty(), "{of_person:?}");
    assert!(page(&moderator, "/moderations?person=r3").await.content().contains("A part of"));
    assert_eq!(server.visitor().get("/moderations?person=r3").await.status, StatusCode::FORBIDDEN);
    refused(server.visitor().api_get("/api/moderations?person=r3").await);
    refused(moderator.api_get("/api/moderations?person=nobody").await);
    demand_clean(&server).await;

    // One undo for all that still stands.
    ok(alice.moderate("ban", ("user", "r2"), &[("reason", "x")]).await);
    assert!(offers(&moderator, batch).await);
    let undone = line_of(moderator.undo(batch).await);
    server.finish_jobs().await;
    assert!(!banned(3).await && banned(4).await && !banned(5).await);
    assert_eq!(server.visitor().get(&format!("/news/{story}")).await.status, 200);
    assert!(!offers(&moderator, batch).await);
    refused_saying(moderator.undo(batch).await, &format!("entry {undone}"));
    let lines = log(&moderator, "").await;
    assert_eq!((lines.len(), &lines[0]), (3, &format!("{undone} unban people")), "{lines:?}");
    // A person reads that the ban is over.
    let inbox = page(&server.client_of(3).await, "/inbox").await;
    assert!(inbox.content().contains("A moderator has lifted your ban."), "{}", inbox.content());
    demand_clean(&server).await;

    // The undo can be undone as well.
    ok(moderator.undo(undone).await);
    assert!(banned(3).await && banned(5).await);
    demand_clean(&server).await;
}

#[in_memory]
async fn a_single_action_is_no_batch(server: Server) {
    let [_, moderator] = site(&server, &["bob", "carl"]).await;
    let act = async |names: &str| {
        ok(moderator
            .call(&format!("/api/moderate/people?usernames={names}&action=note&reason=a secret note"))
            .await)
    };
    has_members(&act("bob").await, json!({"moderation_id": 1, "moderation_ids": [1]}));
    has_members(&act("bob,carl").await, json!({"moderation_id": 4, "moderation_ids": [2, 3]}));
    assert!(!page(&server.visitor(), "/moderations").await.content().contains("a secret note"));
    ok(moderator.undo(4).await);
    assert_eq!(server.hash("user:4:notes").await.len(), 0);
    assert_eq!(server.hash("user:3:notes").await.len(), 1);
    demand_clean(&server).await;
}
