//! The notices of pages about what was just done. No sentence comes from an address that somebody else made.

use crate::client::{Client, ok};
use crate::community::{Access, Community, PAGES};
use crate::html::Page;
use crate::moderation::people;
use crate::pages::{page, redirects_saying, redirects_to};
use crate::server::{Engine, Server, in_memory};

/// Parameters that say, or once said, that something was done. The line 1 of the log is alice's.
const CLAIMS: [&str; 2] = [
    "moderated=99&did=remove&to=story&which=1&banned=bob&done=47&saved&sent&unblocked&applied&recomputed=4711\
     &moving=yes&goes_on=1",
    "moderated=1&did=remove&to=story&which=1&banned=bob&done=withdrawn&recomputed=later",
];

/// The notices of the page at an address; none where it leads elsewhere.
async fn said_at(client: &Client, path: &str) -> Vec<String> {
    let answer = client.get(path).await;
    if answer.status.is_redirection() { Vec::new() } else { said(&Page::of(&answer)) }
}

/// The notices of a page.
fn said(page: &Page) -> Vec<String> {
    let said =
        page.find("p", &[("role", "status")]).into_iter().chain(page.find("div", &[("role", "status")]));
    let notices = page
        .find("p", &[("class", "notice")])
        .into_iter()
        .chain(page.find("div", &[("class", "notice undo")]));
    said.chain(notices).map(|element| element.text().to_owned()).collect()
}

async fn shown(client: &Client, path: &str) -> Page {
    Page::of(&client.get(path).await)
}

/// An address with further parameters.
fn with(path: &str, more: &str) -> String {
    format!("{path}{}{more}", if path.contains('?') { '&' } else { '?' })
}

#[tokio::test]
async fn no_page_says_what_nobody_did() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    // A line of another moderator, and a notice of another session.
    server.set_field("user:2", "flags", "m").await;
    ok(alice.moderate("warn", ("user", "bob"), &[("reason", "spam")]).await);
    let form = page(&bob, "/settings/reading").await.form("/settings/reading");
    let answer = form.send(&bob).await;
    let told = redirects_saying(&answer, "/settings/reading", "reading_saved").to_owned();
    let notice = told.split_once('?').unwrap().1.to_owned();
    assert_eq!(said(&shown(&bob, &told).await).concat(), "Your reading settings have been saved.".repeat(2));
    let forged = notice.replace("reading_saved", "password_changed");
    let mut tried = 0;
    for (path, access) in PAGES.iter() {
        let [all, of_another] = CLAIMS;
        let visitor = server.visitor();
        let mut addresses = vec![(&alice, format!("{all}&{notice}"))];
        if *access != Access::Alice {
            let of_bob = format!("{of_another}&{forged}");
            addresses.extend([
                (&bob, of_bob.clone()),
                (&visitor, format!("{all}&{notice}")),
                (&visitor, of_bob),
            ]);
        }
        for (viewer, claims) in addresses {
            let expected = said_at(viewer, path).await;
            assert_eq!(said_at(viewer, &with(path, &claims)).await, expected, "{path} {claims}");
            tried += 1;
        }
    }
    assert!(tried > 250, "{tried}");
}

#[in_memory]
async fn a_line_is_told_to_its_writer_for_ten_minutes(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    let path = format!("/news/{story}");
    let fields =
        [("action", "lock"), ("kind", "story"), ("id", "1"), ("reason", "a quarrel"), ("next", &*path)];
    let answer = moderator.post("/moderate", &fields).await;
    let told = redirects_to(&answer).to_owned();
    assert_eq!(told, format!("{path}?moderated=2"));
    // The words are those of the line, whatever the address says.
    let lying = format!("{told}&did=ban&to=user&which=carol&banned=carol");
    for address in [&told, &lying] {
        let said = said(&page(&moderator, address).await).concat();
        assert!(
            said.contains("Done: locked the thread of “A story” by bob. See entry 2 of the log."),
            "{said}"
        );
        assert!(!said.contains("carol"), "{said}");
    }
    for other in [&alice, &bob, &server.visitor()] {
        assert!(!page(other, &told).await.content().contains("Done: "));
    }
    // Another number is another line, which somebody else wrote.
    assert!(!page(&moderator, &format!("{path}?moderated=1")).await.content().contains("Done: "));
    let undoes = async || {
        let forms = page(&moderator, &told).await.forms();
        forms.iter().any(|form| form.action == "/moderate/undo" && form.value("moderation_id") == Some("2"))
    };
    assert!(undoes().await);
    server.advance(599);
    assert!(undoes().await);
    // It is offered as long as it works.
    ok(alice.undo(2).await);
    assert!(page(&moderator, &told).await.content().contains("Done: ") && !undoes().await);
    server.advance(1);
    assert!(!page(&moderator, &told).await.content().contains("Done: "));
}
