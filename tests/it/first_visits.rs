//! First visits: why to log in, where signing up leads to, the first steps of an administrator,
//! and error pages that keep the navigation.

use crate::client::{Client, PASSWORD};
use crate::html::Page;
use crate::pages::{error_message, page, redirects_saying, redirects_to};
use crate::server::{Server, each_engine, in_memory};
use reqwest::StatusCode;
use reqwest::header::SET_COOKIE;

/// Signs up with the form at an address; returns where that leads to, and the session.
pub async fn sign_up(server: &Server, path: &str, username: &str) -> (String, Client) {
    let visitor = server.visitor();
    let form = page(&visitor, path).await.form("/register");
    let answer = form.with("username", username).with("password", PASSWORD).send(&visitor).await;
    let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
    let token = cookie.split_once('=').unwrap().1.split(';').next().unwrap();
    (redirects_to(&answer).to_owned(), visitor.with_secrets(Some(token), None))
}

#[in_memory]
async fn signing_up_leads_to_the_welcome_page_or_on_with_what_one_wanted(server: Server) {
    for (number, (path, next)) in [
        ("/register", "/welcome"),
        ("/register?next=%2F", "/welcome"),
        ("/register?next=%2Fnews%2F1", "/welcome?next=%2Fnews%2F1"),
        ("/register?next=%2Fnews%2F1%23news-1&reason=vote", "/news/1#news-1"),
        ("/register?next=%2Fsubmit", "/submit"),
        ("/register?next=%2Fnews%2F1&reason=nonsense", "/welcome?next=%2Fnews%2F1"),
        ("/register?next=%2F%2Fevil.example", "/welcome"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(sign_up(&server, path, &format!("member-{number}")).await.0, next, "{path}");
    }
}

#[in_memory]
async fn newcomers_are_told_how_it_works(server: Server) {
    server.member("alice").await;
    let (next, bob) = sign_up(&server, "/register?next=%2Fabout", "bob").await;
    let welcome = page(&bob, &next).await;
    let text = welcome.content();
    assert!(text.contains("It grows when others vote up what you write"), "{text}");
    for link in
        ["/about", "/", "/latest/0", "/topics", "/sites", "/submit", "/suggestions", "/settings", "/ranking"]
    {
        assert!(welcome.links_to(link), "{link}");
    }
    assert!(!text.contains("administrator"), "{text}");
    // Strangers may read it too, and are invited.
    assert!(page(&server.visitor(), "/welcome").await.content().contains("Sign up"));
}

#[in_memory]
async fn the_first_administrator_is_led_through_the_first_steps(server: Server) {
    let (next, alice) = sign_up(&server, "/register", "alice").await;
    let done = async || {
        let welcome = page(&alice, &next).await;
        assert!(welcome.content().contains("You are the administrator"));
        let steps = welcome.find("li", &[("class", "done")]);
        steps.iter().map(|step| step.text().split(':').nth(1).unwrap().trim().to_owned()).collect::<Vec<_>>()
    };
    let begins = |steps: &[String], expected: &[&str]| {
        assert_eq!(steps.len(), expected.len(), "{steps:?}");
        for (step, expected) in steps.iter().zip(expected) {
            assert!(step.starts_with(expected), "{steps:?}");
        }
    };
    // The site of the tests is elsewhere than its setting says.
    begins(&done().await, &["Signing up"]);
    let form = page(&alice, "/admin/site").await.form("/admin/site").with("name", "Gazette");
    redirects_saying(&form.send(&alice).await, "/admin/site", "site_saved");
    begins(&done().await, &["Name", "Signing up"]);
    let submit = page(&alice, "/submit").await.form("/submit");
    let submit = submit.with("title", "First").with("text", "text").with("topics", "birds");
    redirects_to(&submit.send(&alice).await);
    begins(&done().await, &["Name", "Signing up", "First topics", "First story"]);
    server.register("bob").await;
    begins(&done().await, &["Name", "Signing up", "First topics", "First story", "First members"]);
}

#[in_memory]
async fn the_login_page_says_why_and_keeps_it_for_signing_up(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    let visitor = server.visitor();
    for (path, wish) in [
        ("/login?next=%2Flatest%2F0%23news%2D1&reason=vote", "Log in to vote."),
        ("/login?next=%2F&reason=save", "Log in to save stories."),
        ("/login?next=%2F&reason=hide", "Log in to hide stories."),
        ("/login?next=%2F&reason=follow", "Log in to follow people and topics."),
        ("/login?next=%2F&reason=comment", "Log in to comment."),
    ] {
        let login = page(&visitor, path).await;
        assert!(login.content().contains(wish), "{path}: {}", login.content());
        assert!(login.links_to(&path.replacen("/login", "/register", 1)), "{path}");
    }
    // Nothing that somebody writes into a link appears on the page.
    for path in ["/login?reason=win+a+prize", "/login?reason=%3Cb%3E", "/login?reason="] {
        assert!(page(&visitor, path).await.find("p", &[("class", "notice")]).is_empty(), "{path}");
    }
    let submit = redirects_to(&visitor.get("/submit?t=A").await).to_owned();
    assert_eq!(submit, "/login?next=%2Fsubmit%3Ft%3DA&reason=submit");
    assert!(page(&visitor, &submit).await.content().contains("Log in to submit a story."));
    // The vote buttons of a visitor lead there too, and a wrong password keeps the reason.
    let vote = page(&visitor, "/latest/0").await.forms().into_iter().find(|form| form.action == "/login");
    let vote = vote.unwrap();
    assert_eq!((vote.buttons("next"), vote.value("reason")), (vec!["/vote/story/1"], Some("vote")));
    let follow = page(&visitor, "/@alice").await.forms().into_iter().find(|form| form.action == "/login");
    assert_eq!(follow.unwrap().value("reason"), Some("follow"));
    let refused = page(&visitor, "/login?next=%2F&reason=vote").await.form("/login");
    let refused = refused.with("username", "alice").with("password", "wrong horse").send(&visitor).await;
    assert!(Page::of(&refused).content().contains("Log in to vote."));
    assert!(page(&visitor, "/news/1").await.links_to("/login?next=%2Fnews%2F1%23comment&reason=comment"));
}

#[in_memory]
async fn what_a_visitor_wanted_is_done_after_the_login_and_one_question(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("A story", "text").await;
    alice.comment(1, "A comment").await;
    let thread = page(&server.visitor(), "/news/1").await;
    let buttons = thread.form("/login");
    let wishes = buttons.buttons("next");
    let expected = [
        ("/vote/story/1", "Vote for “A story” now?", "/votenews", "/news/1"),
        ("/vote/comment/1-1", "Vote for the comment by alice now?", "/votecomment", "/news/1?at=1#comment-1"),
    ];
    assert_eq!(wishes.len(), expected.len());
    for (next, (address, question, action, back)) in wishes.into_iter().zip(expected) {
        assert_eq!(next, address);
        let asked = page(&bob, next).await;
        assert_eq!(asked.one("h1", &[]).text(), question);
        assert!(asked.links_to(back), "{next}");
        // The page alone votes for nobody.
        let vote = asked.form(action);
        assert_eq!(vote.value("vote_type"), Some("up"));
        assert!(redirects_to(&vote.send(&bob).await).starts_with(back));
        // There is nothing to ask any more; neither is there about one's own.
        for voter in [&bob, &alice] {
            assert_eq!(redirects_to(&voter.get(next).await), back);
        }
    }
    assert_eq!(server.number("news:1", "up").await, 2);
    assert_eq!(bob.thread(1).await[0]["up"], 2);
    for path in ["/vote/story/9", "/vote/comment/1-9", "/vote/tweet/1", "/vote/user/alice", "/vote/x/1"] {
        error_message(&bob.get(path).await, StatusCode::NOT_FOUND);
    }
    // A reply and a story lead to their forms.
    for (path, form) in [("/reply/1/1", "/postcomment"), ("/submit?t=A", "/submit")] {
        let login = redirects_to(&server.visitor().get(path).await).to_owned();
        let login = page(&server.visitor(), &login).await.form("/login");
        assert_eq!(login.value("next"), Some(path));
        page(&bob, path).await.form(form);
    }
}

#[in_memory]
async fn error_pages_keep_the_navigation_and_the_viewer(server: Server) {
    let (alice, visitor) = (server.member("alice").await, server.visitor());
    for path in ["/nothing", "/news/999", "/delnews/999"] {
        let answer = alice.get(path).await;
        error_message(&answer, StatusCode::NOT_FOUND);
        let navigation = Page::of(&answer).one("nav", &[("aria-label", "Main")]).text().to_owned();
        for part in ["Following", "Submit", "Sites", "alice", "Log out"] {
            assert!(navigation.contains(part), "{path}: {navigation}");
        }
    }
    let answer = visitor.get("/nothing").await;
    error_message(&answer, StatusCode::NOT_FOUND);
    let missing = Page::of(&answer);
    assert!(missing.links_to("/login?next=%2Fnothing") && missing.links_to("/register"));
    // The button on the page works.
    let log_out = Page::of(&alice.get("/nothing").await).form("/logout");
    assert_eq!(redirects_to(&log_out.send(&alice).await), "/");
    // A session that has ended is none.
    let answer = alice.get("/nothing").await;
    error_message(&answer, StatusCode::NOT_FOUND);
    assert!(Page::of(&answer).links_to("/register"));
}

#[each_engine("rounds")]
async fn missing_pages_cost_strangers_no_round_and_members_no_more_than_their_session(server: Server) {
    let alice = server.member("alice").await;
    let rounds = async |client: &Client, clear: bool| {
        let ask = async || {
            if clear {
                server.clear_caches().await;
            }
            error_message(&client.get("/no/such/page").await, StatusCode::NOT_FOUND);
        };
        server.least_rounds_during(ask).await
    };
    assert_eq!(rounds(&server.visitor(), true).await, 0);
    assert!(rounds(&alice, true).await <= 3);
    if server.redis.is_none() {
        assert_eq!(rounds(&alice, false).await, 0);
    }
}

#[in_memory]
async fn empty_lists_say_what_comes_there_and_lead_to_the_first_step(server: Server) {
    let alice = server.member("alice").await;
    for (path, step) in [
        ("/", "/submit"),
        ("/latest/0", "/submit"),
        ("/best", "/submit"),
        ("/topics", "/submit"),
        ("/saved", "/latest/0"),
        ("/upvoted", "/latest/0"),
        ("/usernews/alice/0", "/submit"),
        ("/usercomments/alice/0", "/latest/0"),
        ("/everyone", "/home"),
        ("/home", "/suggestions"),
        ("/@alice/followers", "/home"),
        ("/@alice/followings", "/suggestions"),
        ("/site/example.com", "/submit"),
        ("/inbox", "/latest/0"),
        ("/@alice", "/settings"),
        ("/@alice?show=posts", "/home"),
    ] {
        let shown = page(&alice, path).await;
        let hints =
            [shown.find("p", &[("class", "empty")]), shown.find("div", &[("class", "empty")])].concat();
        assert!(!hints.is_empty(), "{path}: {}", shown.content());
        assert!(shown.links_to(step), "{path} leads to {step}");
    }
}
