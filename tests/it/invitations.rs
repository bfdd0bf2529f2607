//! Invitations: who has how many, what they do, and the tree of who invited whom.

use std::time::Duration;

use reqwest::StatusCode;
use tidings_domain::accounts::invitations::invited_by;
use tidings_domain::values::UserId;
use tidings_keyspace::Expiry;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::concurrency::at_once;
use crate::consistency;
use crate::pages::{error_message, page, redirects_saying, redirects_to};
use crate::server::{Batch, Engine, Server, Settings, each_engine, in_memory};
use crate::signups::sign_up;
use crate::smtp_server::SmtpServer;

const DAY: u64 = 86_400;
const BY_INVITATION: (&str, &str) = ("accounts.signup", "invite");

/// The code of a new invitation.
pub async fn invite(client: &Client) -> String {
    ok(client.api_post("/api/invite", &[]).await)["invitation"].as_str().unwrap().to_owned()
}

/// Signs up with an invitation.
async fn join(server: &Server, username: &str, code: &str) -> Client {
    ok(sign_up(&server.visitor(), username, &[("invitation", code)]).await);
    let id = server.string(&format!("username.to.id:{username}")).await.unwrap();
    server.client_of(id.parse().unwrap()).await
}

/// A site by invitation with alice, the administrator, and bob, a member.
async fn site(engine: Engine, settings: Settings<'_>) -> (Server, Client, Client) {
    let settings: Vec<(&str, &str)> = [BY_INVITATION].into_iter().chain(settings.iter().copied()).collect();
    let server = Server::start(engine, &settings).await;
    let alice = server.administrator("alice").await;
    let bob = server.member("bob").await;
    (server, alice, bob)
}

#[tokio::test]
async fn an_invitation_is_a_link_that_works_once() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, _, bob) = site(engine, &[("site.url", "https://news.example.com")]).await;
        let made = ok(bob.api_post("/api/invite", &[]).await);
        let code = made["invitation"].as_str().unwrap();
        assert_eq!(made["url"], format!("https://news.example.com/register?invitation={code}"));
        let before = server.dump().await;
        for wrong in ["x", &"0".repeat(40), &code[1..]] {
            let error = refused(sign_up(&server.visitor(), "carol", &[("invitation", wrong)]).await);
            assert!(error.starts_with("This invitation is no longer valid."), "{wrong}: {error}");
        }
        assert_eq!(server.dump().await, before);
        join(&server, "carol", code).await;
        let error = refused(sign_up(&server.visitor(), "dave", &[("invitation", code)]).await);
        assert!(error.starts_with("This invitation is no longer valid."), "{error}");
        assert_eq!(server.field("user:3", "invited_by").await.as_deref(), Some("2"));
        assert_eq!(server.ids("invites:by:2").await, [3]);
        assert!(server.sorted("invites:open:2").await.is_empty());
        consistency::check_site(&server).await;
    }
}

#[tokio::test]
async fn banning_somebody_offers_to_look_at_whom_they_invited() {
    const OFFERS: [&str; 2] = ["See who they invited", "Check the 1 person they invited"];
    let (server, alice, bob) = site(Engine::Memory, &[]).await;
    join(&server, "carol", &invite(&bob).await).await;
    assert!(!page(&alice, "/@bob").await.content().contains(OFFERS[1]));
    let answer = alice.answer_to("/moderate?kind=user&id=bob&action=ban&reason=Spam&next=/moderate").await;
    let address = redirects_to(&answer);
    assert_eq!(address, "/moderate?moderated=1");
    for (address, offer) in [address, "/@bob"].into_iter().zip(OFFERS) {
        let page = page(&alice, address).await;
        assert!(page.content().contains(offer), "{}", page.content());
        assert!(page.links_to("/@bob/invited"), "{address}");
    }
}

#[each_engine("races", &[BY_INVITATION])]
async fn of_concurrent_uses_of_one_invitation_one_succeeds(server: Server) {
    let alice = server.register("alice").await;
    let code = invite(&alice).await;
    let answers = at_once((0..6).map(|number| {
        let (visitor, name, code) = (server.visitor(), format!("person-{number}"), code.clone());
        async move { sign_up(&visitor, &name, &[("invitation", &code)]).await }
    }))
    .await;
    let done = answers.iter().filter(|answer| answer["status"] == "ok").count();
    assert_eq!(done, 1, "{answers:?}");
    consistency::check_site(&server).await;
}

#[tokio::test]
async fn an_account_of_30_days_has_five_invitations() {
    let (server, _, bob) = site(Engine::Memory, &[]).await;
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(invite(&bob).await);
    }
    let error = refused(bob.api_post("/api/invite", &[]).await);
    assert_eq!(error, "You have used all of your 5 invitations.");
    // One that was used is spent; one that was withdrawn is not.
    join(&server, "carol", &codes[0]).await;
    refused(bob.api_post("/api/invite", &[]).await);
    let withdrawn = [("invitation", &*codes[1])];
    let answer = bob.post("/settings/invitations/withdraw", &withdrawn).await;
    redirects_saying(&answer, "/settings/invitations", "invitation_withdrawn");
    refused(sign_up(&server.visitor(), "dave", &withdrawn).await);
    invite(&bob).await;
    refused(bob.api_post("/api/invite", &[]).await);
    // Nobody else can withdraw one.
    let carol = server.client_of(3).await;
    let answer = carol.post("/settings/invitations/withdraw", &[("invitation", &codes[2])]).await;
    error_message(&answer, StatusCode::NOT_FOUND);
    join(&server, "dave", &codes[2]).await;
    consistency::check_site(&server).await;
}

#[each_engine("races", &[BY_INVITATION])]
async fn concurrent_invitations_are_not_more_than_allowed(server: Server) {
    server.administrator("alice").await;
    let bob = server.member("bob").await;
    let answers = at_once((0..12).map(|_| {
        let bob = bob.clone();
        async move { bob.api_post("/api/invite", &[]).await }
    }))
    .await;
    assert_eq!(answers.iter().filter(|answer| answer["status"] == "ok").count(), 5, "{answers:?}");
    assert_eq!(server.sorted("invites:open:2").await.len(), 5);
}

#[in_memory(&[("trust.days", "7")])]
async fn a_new_account_invites_nobody_and_who_looks_after_the_site_anybody(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    for _ in 0..7 {
        invite(&alice).await;
    }
    // A moderator too.
    let carol = server.moderator("carol").await;
    for _ in 0..7 {
        invite(&carol).await;
    }
    server.advance(7 * DAY - 1);
    let error = refused(bob.api_post("/api/invite", &[]).await);
    assert_eq!(error, "You can invite people from 22 Jan 2027, 08:00 UTC on.");
    server.advance(1);
    invite(&bob).await;
}

#[tokio::test]
async fn the_operator_says_how_many_invitations_there_are() {
    let (_server, alice, bob) = site(Engine::Memory, &[("accounts.invitations", "0")]).await;
    let error = refused(bob.api_post("/api/invite", &[]).await);
    assert_eq!(error, "Only moderators and administrators can invite people to this site.");
    invite(&alice).await;
    let (_server, _, bob) = site(Engine::Memory, &[("accounts.invitations", "1")]).await;
    invite(&bob).await;
    assert_eq!(refused(bob.api_post("/api/invite", &[]).await), "You have used all of your 1 invitation.");
    let shown = page(&bob, "/settings/invitations").await;
    assert!(shown.content().contains("You have used all of your 1 invitation."), "{}", shown.content());
    assert!(!shown.content().contains("Make an invitation"), "{}", shown.content());
}

#[tokio::test]
async fn nobody_has_more_than_200_unused_invitations_and_those_of_somebody_who_is_banned_are_void() {
    let (server, alice, bob) = site(Engine::Memory, &[]).await;
    let now = f64::from(u32::try_from(server.now()).unwrap());
    let mut batch = Batch::new();
    for number in 0..200 {
        batch.sorted_add("invites:open:1", format!("{number:040x}"), now);
    }
    server.commit(batch).await;
    let error = refused(alice.api_post("/api/invite", &[]).await);
    assert!(error.starts_with("You have 200 unused invitations"), "{error}");
    let code = invite(&bob).await;
    let until = server.now() + 60;
    server.set_field("user:2", "banned", &format!("{until}:1:spam")).await;
    refused(sign_up(&server.visitor(), "carol", &[("invitation", &code)]).await);
    server.advance(60);
    join(&server, "carol", &code).await;
}

#[tokio::test]
async fn an_invitation_expires_after_30_days() {
    let (server, _, bob) = site(Engine::Memory, &[]).await;
    let code = invite(&bob).await;
    let expiry = Expiry::In(Duration::from_secs(30 * DAY));
    assert_eq!(server.expiry(&format!("invites:code:{code}")).await, expiry);
    server.advance(DAY);
    let later = invite(&bob).await;
    server.advance(29 * DAY);
    refused(sign_up(&server.visitor(), "carol", &[("invitation", &code)]).await);
    // It is no longer counted, and the next one removes it from the list.
    for _ in 0..4 {
        invite(&bob).await;
    }
    assert_eq!(server.sorted("invites:open:2").await.len(), 5);
    join(&server, "carol", &later).await;
}

#[tokio::test]
async fn the_invitations_of_somebody_who_has_left_are_void() {
    let (server, alice, _) = site(Engine::Memory, &[]).await;
    let carol = join(&server, "carol", &invite(&alice).await).await;
    server.set_field("user:3", "flags", "a").await;
    let code = invite(&carol).await;
    let left = carol.post("/settings/deactivate", &[("password", PASSWORD)]).await;
    assert_eq!(page(&server.visitor(), redirects_to(&left)).await.heading(), "Deleted accounts");
    refused(sign_up(&server.visitor(), "dave", &[("invitation", &code)]).await);
    server.finish_jobs().await;
    assert!(page(&alice, "/settings/invitations").await.content().contains("[deleted user]"));
    assert!(server.dump().await.keys().all(|key| !key.contains(&code) && key != "invites:open:3"));
    crate::store_check::demand_clean(&server).await;
}

#[tokio::test]
async fn an_invitation_is_mailed_with_its_link() {
    let mut relay = SmtpServer::start().await;
    let settings = [("mail.relay", &*relay.relay()), ("site.url", "https://news.example.com")];
    let (server, alice, bob) = site(Engine::Memory, &settings).await;
    let made = ok(bob.api_post("/api/invite", &[("email", "carol@example.org")]).await);
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["carol@example.org"]);
    assert_eq!(mail.header("Subject"), Some("bob invites you to Tidings"));
    assert!(mail.text().lines().any(|line| line == made["url"]), "{}", mail.text());
    // The page shows the address to bob only.
    let shown = page(&bob, "/settings/invitations").await;
    assert!(shown.content().contains("valid for 30 days, for carol@example.org"), "{}", shown.content());
    assert!(!page(&alice, "/settings/invitations").await.content().contains("carol"));
    // Nobody floods addresses by withdrawing and inviting again.
    for _ in 0..20 {
        alice.api_post("/api/invite", &[("email", "dave@example.org")]).await;
    }
    let error = refused(alice.api_post("/api/invite", &[("email", "dave@example.org")]).await);
    assert!(error.starts_with("You have mailed too many invitations today."), "{error}");
    invite(&alice).await;
    server.advance(DAY);
    ok(alice.api_post("/api/invite", &[("email", "dave@example.org")]).await);
}

#[tokio::test]
async fn the_page_makes_lists_and_withdraws_invitations() {
    let (server, _, bob) = site(Engine::Memory, &[]).await;
    let form = page(&bob, "/settings/invitations").await.form("/settings/invitations");
    let made = form.send(&bob).await;
    let shown = page(&bob, redirects_saying(&made, "/settings/invitations", "invitation_made")).await;
    assert!(shown.content().contains("Here is your invitation."));
    assert!(shown.content().contains("You have 4 invitations left."), "{}", shown.content());
    let (code, _) = server.sorted("invites:open:2").await.remove(0);
    assert!(shown.content().contains(&format!("/register?invitation={code}")));
    assert!(shown.forms().iter().any(|form| form.action == "/settings/invitations/withdraw"));
    // A visitor who opens the link sees who invites.
    let register = page(&server.visitor(), &format!("/register?invitation={code}")).await;
    assert!(register.content().contains("bob invites you."), "{}", register.content());
    let form = register.form("/register").with("username", "carol").with("password", PASSWORD);
    assert_eq!(redirects_to(&form.send(&server.visitor()).await), "/welcome");
    let shown = page(&bob, "/settings/invitations").await;
    assert!(shown.content().contains("People who joined") && shown.links_to("/@carol"));
    // A used link says so, and asks for another one.
    let register = page(&server.visitor(), &format!("/register?invitation={code}")).await;
    assert!(register.alert().unwrap().contains("no longer valid"));
}

#[tokio::test]
async fn the_tree_shows_who_invited_whom_and_so_does_the_profile() {
    let (server, alice, bob) = site(Engine::Memory, &[]).await;
    let carol = join(&server, "carol", &invite(&bob).await).await;
    server.set_field("user:3", "flags", "a").await;
    join(&server, "dave", &invite(&carol).await).await;
    join(&server, "erin", &invite(&alice).await).await;
    let visitor = server.visitor();
    let tree = page(&visitor, "/people/tree").await;
    let names = ["alice", "erin", "bob", "carol", "dave"];
    let places = names.map(|name| tree.content().find(name).unwrap_or_else(|| panic!("{name}")));
    assert!(places.is_sorted(), "{}", tree.content());
    assert_eq!(tree.find("ul", &[("class", "tree")]).len(), 4);
    assert!(tree.links_to("/@dave"));
    let of_bob = page(&visitor, "/@bob/invited").await;
    assert!(of_bob.content().contains("dave") && !of_bob.content().contains("erin"));
    let profile = page(&visitor, "/@carol").await;
    assert!(profile.links_to("/@bob") && profile.links_to("/@carol/invited"));
    assert!(profile.content().contains("invited by"), "{}", profile.content());
    assert!(!page(&visitor, "/@alice").await.content().contains("invited by"));
    let invited = invited_by(&server.app.site, UserId(2)).await.unwrap();
    assert_eq!(invited.iter().map(|it| it.username.as_deref()).collect::<Vec<_>>(), [Some("carol")]);
    consistency::check_site(&server).await;
}

#[in_memory]
async fn a_large_tree_takes_a_few_rounds_and_has_pages(server: Server) {
    let people = server.members(60).await;
    // Everybody invites the next but one: deep, wide at the top, and more than a page.
    let below = [(2, 50), (50, 51), (51, 52), (52, 53)];
    let pairs: Vec<(u64, u64)> = (2..=41).map(|id| (1, id)).chain(below).collect();
    let mut batch = Batch::new();
    for (by, to) in pairs {
        batch.sorted_add(format!("invites:by:{by}"), to.to_string(), 1.0);
        batch.set_field(format!("user:{to}"), "invited_by", by.to_string());
    }
    for id in (1..=1).chain(54..=60) {
        batch.sorted_add("invites:roots", id.to_string(), 1.0);
    }
    for id in 100..130 {
        // Accounts that are gone.
        batch.sorted_add("invites:roots", id.to_string(), 2.0);
    }
    // One more than is shown.
    for id in 200..=220 {
        batch.sorted_add("invites:by:54", id.to_string(), 3.0);
    }
    server.commit(batch).await;
    let visitor = server.visitor();
    let first = page(&visitor, "/people/tree").await;
    for (name, more) in [("member-0", "and 20 people more"), ("member-53", "and 1 person more")] {
        assert_eq!(first.one("a", &[("href", &format!("/@{name}/invited"))]).text(), more);
    }
    assert!(first.links_to("/people/tree/25"));
    assert!(first.content().contains("[deleted user]"));
    // The fourth level says how many are below it.
    assert!(first.content().contains("invited 1 person"));
    let more = page(&visitor, "/@member-0/invited").await;
    assert!(more.links_to("/@member-0/invited/25"), "{}", more.content());
    for (path, most) in [("/people/tree", 5), ("/people/tree/25", 5), ("/@member-0/invited", 8)] {
        let rounds = server.cold_rounds_of(&people[1], path).await;
        assert!((1..=most + 2).contains(&rounds), "{path}: {rounds}");
    }
}
