//! Timelines as people and programs see them: pages, forms, feed and API.

use reqwest::StatusCode;
use roxmltree::Document;
use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, has_members, ids, line_of, ok, refused, refused_saying};
use crate::html::Page;
use crate::pages::{error_message, page, redirects_saying, redirects_to, shown};
use crate::server::{Engine, Server, each_engine, in_memory};

/// The texts of the tweets on a page, in their order.
fn tweets(page: &Page) -> Vec<String> {
    page.find("li", &[("class", "tweet")]).iter().map(|tweet| tweet.text().to_owned()).collect()
}

/// The numbers of the tweets on a page, in their order.
fn tweet_ids(page: &Page) -> Vec<u64> {
    let id = |text: &str| text.strip_prefix("tweet-").unwrap().parse().unwrap();
    page.find("li", &[("class", "tweet")]).iter().map(|tweet| id(tweet.attribute("id").unwrap())).collect()
}

/// The form that follows or unfollows a user, which must be there.
#[track_caller]
fn follow_form(page: &Page, username: &str) -> crate::html::Form {
    let follows = |action: &str| ["/follow", "/unfollow"].contains(&action);
    let forms = page.forms().into_iter();
    let mut forms = forms.filter(|form| form.value("username") == Some(username) && follows(&form.action));
    let form = forms.next().unwrap_or_else(|| panic!("a form about {username}"));
    assert!(forms.next().is_none(), "one form about {username}");
    form
}

/// Where a page leads for what is older.
fn next_of(page: &Page) -> Option<String> {
    page.find("a", &[("rel", "next")]).first().map(|link| link.attribute("href").unwrap().to_owned())
}

#[in_memory]
async fn home_shows_authors_links_and_mentions_of_existing_users(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    ok(bob.call("/api/updateprofile?about=&email=&fullname=Bob <B.>").await);
    let text = "see https://example.com/x, @ALICE and @nobody\nmail@bob <b>";
    let tweet = bob.tweet(text).await;
    alice.follow("bob").await;

    let home = page(&alice, "/home").await;
    let shown = home.one("li", &[("id", &format!("tweet-{tweet}"))]).text();
    for part in ["Bob <B.>", "@bob", "just now", text] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("delete"), "{shown}");
    home.one("a", &[("href", "https://example.com/x"), ("rel", "nofollow ugc noopener")]);
    assert!(home.find("a", &[("href", "/@alice")]).iter().any(|link| link.text() == "@ALICE"));
    assert!(!home.links_to("/@nobody"));
    assert!(home.links_to("/@bob") && home.links_to(&format!("/tweet/{tweet}")));
    assert!(page(&bob, "/home").await.links_to(&format!("/deltweet/{tweet}")));
}

#[in_memory]
async fn a_new_user_sees_suggestions_and_can_tweet_at_once(server: Server) {
    let alice = server.member("alice").await;
    let home = page(&alice, "/home").await;
    assert!(home.one("div", &[("class", "empty")]).text().contains("the people you follow"));
    assert!(home.links_to("/suggestions") && home.links_to("/everyone"));
    let sent = home.form("/tweet").with("text", "Hello\r\nthere").send(&alice).await;
    assert_eq!(redirects_to(&sent), "/home");
    let home = page(&alice, "/home").await;
    assert!(home.find("div", &[("class", "empty")]).is_empty());
    assert!(tweets(&home)[0].ends_with("Hello\nthere"), "{:?}", tweets(&home));
    let navigation = page(&server.visitor(), "/").await;
    assert!(!navigation.links_to("/home") && navigation.links_to("/everyone"));
}

#[in_memory]
async fn a_refused_tweet_comes_back_with_its_text_and_the_reason(server: Server) {
    let alice = server.member("alice").await;
    let form = page(&alice, "/home").await.form("/tweet");
    let long = format!("{}</textarea>", "🦀".repeat(270));
    for (text, reason) in
        [(long.as_str(), "Your post is too long (280 characters at most)."), (" \n ", "Write a post.")]
    {
        let answer = form.clone().with("text", text).send(&alice).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let back = Page::of(&answer);
        assert_eq!(back.alert(), Some(reason));
        assert_eq!(back.form("/tweet").value("text"), Some(text));
        assert!(tweets(&back).is_empty());
    }
    // An emoji of several parts is one character.
    let most = "👩‍🚀".repeat(200);
    assert_eq!(redirects_to(&form.clone().with("text", &most).send(&alice).await), "/home");
    assert_eq!(tweets(&page(&alice, "/home").await).len(), 1);
    error_message(&form.without("text").send(&alice).await, StatusCode::BAD_REQUEST);
}

#[in_memory]
async fn the_button_on_a_profile_follows_and_unfollows_and_counts(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    bob.tweet("One").await;
    let anonymous = page(&server.visitor(), "/@bob").await;
    let form = anonymous.form("/login");
    assert_eq!((form.value("next"), form.is_post), (Some("/@bob"), false));

    for (action, follow, followers) in
        [("/follow", true, "1"), ("/unfollow", false, "0"), ("/follow", true, "1")]
    {
        let form = follow_form(&page(&alice, "/@bob").await, "bob");
        assert_eq!(form.action, action);
        assert_eq!(redirects_to(&form.send(&alice).await), "/@bob");
        let profile = page(&alice, "/@bob").await;
        assert_eq!(profile.one("a", &[("href", "/@bob/followers")]).text(), followers);
        let followings = page(&alice, "/@alice").await;
        assert_eq!(followings.one("a", &[("href", "/@alice/followings")]).text(), followers);
        assert_eq!(tweets(&page(&alice, "/home").await).len(), usize::from(follow));
    }
    // Twice is once.
    let again = alice.post("/follow", &[("username", "BOB"), ("next", "//evil.example/")]).await;
    assert_eq!(redirects_to(&again), "/");
    let again = alice.post("/follow", &[("username", "bob")]).await;
    assert_eq!(redirects_to(&again), "/@bob");
    assert_eq!(page(&alice, "/@bob").await.one("a", &[("href", "/@bob/followers")]).text(), "1");
    assert!(page(&alice, "/@alice").await.forms().iter().all(|form| form.action == "/logout"));
}

#[in_memory]
async fn users_cannot_follow_themselves_or_unknown_names(server: Server) {
    let [alice, _bob] = server.people(["alice", "bob"]).await;
    let before = server.dump().await;
    for action in ["follow", "unfollow"] {
        for name in ["nobody", "", "*", "\u{0}", "alice/bob"] {
            let fields = [("username", name)];
            assert_eq!(
                error_message(&alice.post(&format!("/{action}"), &fields).await, StatusCode::NOT_FOUND),
                "There is no user with this name."
            );
            let answer = alice.post(&format!("/api/{action}"), &fields).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{action} {name:?}");
            assert_eq!(refused(answer.json()), "There is no user with this name.");
        }
        let answer = alice.api_post(&format!("/api/{action}"), &[]).await;
        assert_eq!(refused(answer), "The field username is wrong: it is missing.");
    }
    let oneself = [("username", "Alice")];
    assert_eq!(refused(alice.api_post("/api/follow", &oneself).await), "You can't follow yourself.");
    error_message(&alice.post("/follow", &oneself).await, StatusCode::FORBIDDEN);
    assert_eq!(server.dump().await, before);
}

#[in_memory(&[("web.gravatars", "false")])]
async fn a_profile_is_one_page_at_two_addresses(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    ok(bob.call("/api/updateprofile?about=I read.&email=&fullname=Bob B.").await);
    bob.tweet("A tweet").await;
    for path in ["/@bob", "/@BOB", "/user/bob", "/user/Bob"] {
        for client in [&server.visitor(), &alice] {
            let profile = page(client, path).await;
            assert_eq!(profile.heading(), "Bob B.");
            profile.one("link", &[("rel", "canonical"), ("href", "http://localhost:8080/@bob")]);
            profile.one("link", &[("rel", "alternate"), ("href", "/@bob/feed")]);
            let content = profile.content();
            // The first view with anything.
            for part in ["@bob", "A tweet", "Stories 0", "Comments 0", "Posts 1"] {
                assert!(content.contains(part), "{part} in {content}");
            }
            for link in ["/@bob/followers", "/@bob/followings"] {
                assert!(profile.links_to(link), "{link} at {path}");
            }
            let about = page(client, &format!("{path}?show=about")).await;
            assert!(about.content().contains("I read.") && !about.content().contains("A tweet"));
            let [posts, itself] =
                ["posts", "about"].map(|show| about.links_to(&format!("{path}?show={show}")));
            assert!(posts && !itself);
        }
    }
    // The owner changes things in one place; the old address keeps its old form.
    let own = page(&bob, "/@bob").await;
    assert!(own.links_to("/settings"));
    assert!(own.forms().iter().all(|form| form.action != "/profile"));
    let form = page(&bob, "/user/bob").await.form("/profile").with("about", "I write.");
    redirects_saying(&form.send(&bob).await, "/user/bob", "profile_saved");
    let kept = page(&bob, "/@bob?show=about").await;
    assert_eq!((kept.heading(), kept.content().contains("I write.")), ("Bob B.", true));
}

#[in_memory]
async fn a_profile_shows_the_newest_ten_of_one_kind(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for number in 1..=11 {
        bob.submit_text(&format!("Story {number}"), "text").await;
    }
    bob.tweet("A tweet").await;
    bob.comment(11, "A comment").await;
    for (view, shown, all) in [
        ("", "Story 11", Some("/usernews/bob/0")),
        ("?show=stories", "Story 2", Some("/usernews/bob/0")),
        ("?show=comments", "A comment", Some("/usercomments/bob/0")),
        ("?show=posts", "A tweet", None),
    ] {
        let profile = page(&alice, &format!("/@bob{view}")).await;
        let content = profile.content();
        assert!(content.contains(shown) && content.contains("Stories 11"), "{view}: {content}");
        assert!(!content.contains("Story 1 "), "{view}: {content}");
        for list in ["/usernews/bob/0", "/usercomments/bob/0"] {
            assert_eq!(profile.links_to(list), all == Some(list), "{view}");
        }
        // What one can do about the person is the same everywhere.
        for form in ["/follow", "/mute", "/block"] {
            assert!(profile.forms().iter().any(|found| found.action == form), "{form} on {view}");
        }
    }
    error_message(&alice.get("/@bob?show=everything").await, StatusCode::BAD_REQUEST);
}

#[in_memory]
async fn the_numbers_on_a_profile_leave_out_what_others_do_not_see(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let [own, other] = [bob.submit_text("A story", "text").await, alice.submit_text("Another", "text").await];
    let comment = bob.comment(other, "One").await;
    bob.comment(other, "Two").await;
    let tabs = async || {
        let profile = page(&server.visitor(), "/@bob").await;
        let tabs = profile.one("nav", &[("class", "tabs")]).text().to_owned();
        let current = profile.find("a", &[("aria-current", "page")]);
        (tabs, current.last().unwrap().text().to_owned())
    };
    assert_eq!(tabs().await, ("Stories 1Comments 2Posts 1About".to_owned(), "Stories 1".to_owned()));
    let removal = line_of(alice.moderate("remove", ("story", &own.to_string()), &[]).await);
    ok(bob.edit_comment(other, comment, "").await);
    // What is first has something.
    let gone = ("Stories 0Comments 1Posts 0About".to_owned(), "Comments 1".to_owned());
    assert_eq!(tabs().await, gone);
    // So it is on a site of an earlier version.
    let [stories, comments] = ["stories", "comments"].map(|kind| format!("user:2:gone_{kind}"));
    let before = (server.sorted(&stories).await, server.sorted(&comments).await);
    server
        .write(|batch| {
            batch.delete(&*stories);
            batch.delete(&*comments);
            batch.set("layout:version", "15");
        })
        .await;
    assert_ne!(tabs().await, gone);
    server.migrate().await;
    assert_eq!((server.sorted(&stories).await, server.sorted(&comments).await), before);
    assert_eq!(tabs().await, gone);
    ok(alice.undo(removal).await);
    assert_eq!(tabs().await.1, "Stories 1");
}

#[in_memory]
async fn one_segment_of_an_address_is_a_person_only_with_an_at(server: Server) {
    let [alice, _bob] = server.people(["alice", "bob"]).await;
    let paths = "/alice /@nobody /@ /@%FF /@al%20ice /%40 /nothing /alice/followers /alice/feed /@nobody/feed \
        /@nobody/followers /@nobody/followings /@alice/nothing /tweet/0 /tweet/999 /tweet/x \
        /deltweet/999";
    for path in paths.split(' ') {
        error_message(&alice.get(path).await, StatusCode::NOT_FOUND);
    }
    page(&alice, "/%40alice").await;
    // `pages` asks every address for a wrong method.
    for path in ["/nothing", "/alice", "/alice/feed"] {
        error_message(&alice.post(path, &[]).await, StatusCode::NOT_FOUND);
    }
}

/// The addresses of a list's pages, from its first on, each with its tweets.
async fn walk(client: &Client, path: &str) -> Vec<Vec<u64>> {
    let mut next = Some(path.to_owned());
    let mut found = Vec::new();
    while let Some(path) = next {
        let page = page(client, &path).await;
        found.push(tweet_ids(&page));
        next = next_of(&page);
    }
    found
}

#[each_engine("one of its kind")]
async fn pages_go_on_where_the_last_ended_whatever_is_written_meanwhile(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for number in 0..120 {
        alice.tweet(&format!("Number {number}")).await;
        // Many have the same time.
        if number % 30 == 29 {
            server.advance(1);
        }
    }
    bob.follow("alice").await;
    let newest_first: Vec<u64> = (1..=120).rev().collect();
    for path in ["/home", "/everyone", "/@alice"] {
        let pages = walk(&bob, path).await;
        let lengths = pages.iter().map(Vec::len).collect::<Vec<_>>();
        let expected: &[usize] = if path == "/@alice" { &[10, 50, 50, 10] } else { &[50, 50, 20] };
        assert_eq!(lengths, expected, "{path}");
        assert_eq!(pages.concat(), newest_first, "{path}");
    }
    let next = next_of(&page(&bob, "/home").await).unwrap();
    bob.tweet("In between").await;
    assert_eq!(tweet_ids(&page(&bob, &next).await), newest_first[50..100]);
    // Only the newest page has the form and hears of news.
    assert!(page(&bob, &next).await.forms().iter().all(|form| form.action != "/tweet"));
    for bad in ["", "x", "1", "1-0", "-1-1", "1e5-1", "NaN-1"] {
        for path in ["/home", "/everyone", "/@alice", "/user/alice", "/@alice/followers"] {
            let answer = bob.get(&format!("{path}?before={bad}")).await;
            let told = error_message(&answer, StatusCode::BAD_REQUEST);
            assert_eq!(told, "Go to the first page.", "{path} {bad}");
        }
    }
}

#[in_memory]
async fn followers_are_listed_from_the_latest_with_a_button_for_each(server: Server) {
    let alice = server.member("alice").await;
    let members = server.members(51).await;
    assert!(page(&alice, "/@alice/followers").await.content().contains("No followers yet."));
    for member in &members {
        server.advance(1);
        member.follow("alice").await;
    }
    alice.follow("member-50").await;
    let first = page(&alice, "/@alice/followers").await;
    assert!(first.content().contains("51 people"));
    let people = first.find("li", &[("class", "person")]);
    assert_eq!(people.len(), 50);
    assert!(people[0].text().contains("member-50") && people[49].text().contains("member-1"));
    assert_eq!(follow_form(&first, "member-50").action, "/unfollow");
    let form = follow_form(&first, "member-7");
    assert_eq!(form.action, "/follow");
    assert!(redirects_to(&form.send(&alice).await).starts_with("/@alice/followers#person-"));
    let last = page(&alice, &next_of(&first).unwrap()).await;
    assert_eq!(last.find("li", &[("class", "person")]).len(), 1);
    assert!(last.links_to("/@member-0") && next_of(&last).is_none());
    let followings = page(&server.visitor(), "/@alice/followings").await;
    assert_eq!(followings.find("li", &[("class", "person")]).len(), 2);
}

#[in_memory]
async fn suggestions_are_people_whom_one_does_not_follow_yet(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let members = server.members(4).await;
    for member in &members[1..] {
        member.follow("member-0").await;
    }
    bob.follow("member-1").await;
    alice.follow("bob").await;
    for path in ["/home", "/suggestions"] {
        let suggested = page(&alice, path).await;
        assert_eq!(follow_form(&suggested, "member-0").action, "/follow");
        let forms = suggested.forms();
        let names: Vec<&str> = forms.iter().filter_map(|form| form.value("username")).collect();
        assert!(!names.contains(&"alice") && !names.contains(&"bob"), "{names:?}");
    }
    let at_home = page(&alice, "/home").await;
    assert!(at_home.find("li", &[("class", "person")]).len() <= 3);
    let form = follow_form(&page(&alice, "/suggestions").await, "member-0");
    assert!(redirects_to(&form.send(&alice).await).starts_with("/suggestions#"));
    let left = page(&alice, "/suggestions").await;
    assert!(left.forms().iter().all(|form| form.value("username") != Some("member-0")));
}

#[in_memory]
async fn a_tweet_has_a_page_until_its_author_deletes_it(server: Server) {
    let admin = server.administrator("admin").await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let tweet = alice.tweet("A passing thought").await;
    let (address, deletion) = (format!("/tweet/{tweet}"), format!("/deltweet/{tweet}"));
    for client in [&server.visitor(), &bob, &admin] {
        let alone = page(client, &address).await;
        assert!(alone.content().contains("A passing thought"));
        assert!(!alone.links_to(&deletion));
    }
    error_message(&bob.get(&deletion).await, StatusCode::FORBIDDEN);
    assert!(page(&alice, &address).await.links_to(&deletion));
    let asked = page(&alice, &deletion).await;
    assert!(asked.content().contains("A passing thought") && asked.links_to(&address));
    assert_eq!(redirects_to(&asked.form(&deletion).send(&alice).await), "/home");
    error_message(&alice.get(&address).await, StatusCode::NOT_FOUND);
    error_message(&alice.post(&deletion, &[]).await, StatusCode::NOT_FOUND);
    for path in ["/home", "/everyone", "/@alice"] {
        assert!(!page(&alice, path).await.content().contains("A passing thought"), "{path}");
    }
}

#[in_memory]
async fn an_announcing_tweet_links_to_the_story_and_its_discussion(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_link("A <title>", "http://www.example.com/x").await;
    let text = alice.submit_text("A text", "Some text").await;
    bob.comment(news, "A comment").await;
    let profile = page(&bob, "/@alice?show=posts").await;
    let announced = tweets(&profile);
    assert_eq!(announced.len(), 2);
    assert!(announced[1].contains("A <title>") && announced[1].contains("example.com"));
    assert!(announced[1].contains("discuss (1)"));
    profile.one("a", &[("href", "http://www.example.com/x"), ("rel", "nofollow ugc noopener")]);
    assert!(profile.links_to(&format!("/news/{news}")));
    assert_eq!(profile.find("a", &[("href", &format!("/news/{text}"))]).len(), 2);
    // Users can switch that off.
    let form = page(&alice, "/settings").await.form("/settings");
    assert_eq!(form.value("tweet_news"), Some("1"));
    redirects_saying(&form.without("tweet_news").send(&alice).await, "/settings", "profile_saved");
    alice.submit_text("Quietly", "Some text").await;
    assert_eq!(tweets(&page(&bob, "/@alice?show=posts").await).len(), 2);
    assert_eq!(page(&alice, "/settings").await.form("/settings").value("tweet_news"), None);
}

#[in_memory]
async fn an_account_is_deactivated_with_its_password_only(server: Server) {
    let alice = server.register("alice").await;
    // The last administrator could not leave.
    server.set_field("user:1", "flags", "").await;
    let bob = server.member("bob").await;
    let news = alice.submit_text("It stays", "text").await;
    let tweet = alice.tweet("It goes").await;
    bob.follow("alice").await;
    assert!(page(&alice, "/settings/account").await.links_to("/settings/deactivate"));
    let form = page(&alice, "/settings/deactivate").await.form("/settings/deactivate");
    let answer = form.clone().with("password", "wrong password").send(&alice).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    let back = Page::of(&answer);
    assert!(back.alert().is_some_and(|reason| reason.contains("password")), "{:?}", back.alert());
    assert!(alice.is_logged_in().await);

    let gone = form.with("password", PASSWORD).send(&alice).await;
    assert_eq!(redirects_to(&gone), "/settings/deactivated");
    assert!(gone.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert!(!alice.is_logged_in().await);
    for path in ["/@alice", "/user/alice", "/@alice/followers", "/@alice/feed", &format!("/tweet/{tweet}")] {
        error_message(&bob.get(path).await, StatusCode::NOT_FOUND);
    }
    for path in ["/home", "/everyone"] {
        assert!(!page(&bob, path).await.content().contains("It goes"), "{path}");
    }
    assert_eq!(page(&bob, "/@bob").await.one("a", &[("href", "/@bob/followings")]).text(), "0");
    let thread = page(&bob, &format!("/news/{news}")).await;
    assert!(thread.content().contains("It stays") && thread.content().contains("[deleted user]"));
    let refusal = server.visitor().try_log_in("alice", PASSWORD).await;
    assert_eq!(refused(refusal), "Wrong username or password.");
    let taken = [("username", "Alice"), ("password", PASSWORD)];
    refused_saying(server.visitor().api_post("/api/create_account", &taken).await, "taken");
}

#[in_memory]
async fn mentions_are_counted_and_in_the_inbox(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    assert!(page(&alice, "/inbox").await.content().contains("appear here."));
    bob.tweet("Hello @Alice, hello @alice, mail@alice").await;
    bob.tweet("mail@alice").await;
    let badge = page(&alice, "/").await.one("span", &[("class", "badge")]).text().to_owned();
    assert_eq!(badge, "1 unread");
    let inbox = page(&alice, "/inbox").await;
    assert!(inbox.content().contains("mentioned you in a post") && inbox.content().contains("Hello @Alice"));
    assert_eq!(inbox.find("li", &[("class", "entry unread")]).len(), 1);
    assert!(page(&bob, "/inbox").await.find("li", &[("class", "entry unread")]).is_empty());
}

#[tokio::test]
async fn a_user_has_a_feed_of_tweets() {
    let settings = [("site.url", "https://news.example.com")];
    let server = Server::start(Engine::Memory, &settings).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    bob.tweet("Not hers").await;
    let news = alice.submit_link("A <title>", "http://example.com/").await;
    server.advance(60);
    let long = format!("{}\nsecond & <last> line", "x".repeat(100));
    let tweet = alice.tweet(&long).await;
    let answer = server.visitor().get("/@ALICE/feed").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "application/atom+xml; charset=utf-8");
    assert_eq!(answer.headers["cache-control"], "public, max-age=60");
    let xml = answer.text();
    let document = Document::parse(&xml).unwrap();
    let text = |node: roxmltree::Node<'_, '_>, name: &str| {
        let found = node.children().find(|child| child.tag_name().name() == name);
        found.and_then(|child| child.text()).unwrap_or_default().to_owned()
    };
    let feed = document.root_element();
    assert_eq!(text(feed, "id"), "tag:news.example.com,2027-01-15:feed/@alice/feed");
    assert_eq!(text(feed, "updated"), "2027-01-15T08:01:00Z");
    let entries: Vec<_> = feed.children().filter(|child| child.tag_name().name() == "entry").collect();
    assert_eq!(entries.len(), 2);
    assert_eq!(text(entries[0], "id"), format!("tag:news.example.com,2027-01-15:post/{tweet}"));
    assert_eq!(text(entries[0], "title"), format!("{}…", "x".repeat(80)));
    assert_eq!(text(entries[0], "content"), long);
    assert_eq!(text(entries[1], "title"), "A <title>");
    assert!(xml.contains(&format!("https://news.example.com/news/{news}")));
}

#[in_memory]
async fn timelines_in_the_api_have_the_documented_members(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    ok(alice.call("/api/updateprofile?about=&email=&fullname=Alice A.&tweet_news=1").await);
    let news = alice.submit_text("A title", "text").await;
    server.advance(5);
    let tweet = alice.tweet("Hello").await;
    bob.follow("alice").await;
    let now = server.now();
    for path in ["home", "everyone", "user/ALICE"] {
        let answer = ok(bob.api_get(&format!("/api/timeline/{path}")).await);
        let cursor = format!("{now}-{tweet}");
        let expected = json!({
            "id": tweet, "text": "Hello", "created_at": now as f64, "username": "alice", "fullname": "Alice A.",
            "cursor": cursor,
        });
        assert_eq!(answer["tweets"][0], expected, "{path}");
        has_members(&answer["tweets"][1], json!({"text": "A title", "news_id": news}));
        assert_eq!((answer["tweets"].as_array().unwrap().len(), &answer["next"]), (2, &Value::Null));

        let first = ok(bob.api_get(&format!("/api/timeline/{path}?count=1")).await);
        assert_eq!(first["next"], cursor, "{path}");
        let second = ok(bob.api_get(&format!("/api/timeline/{path}?count=1&before={cursor}")).await);
        assert_eq!((&second["tweets"][0]["news_id"], &second["next"]), (&json!(news), &Value::Null));
        let since = second["tweets"][0]["cursor"].as_str().unwrap();
        let newer = ok(bob.api_get(&format!("/api/timeline/{path}?since={since}")).await);
        assert_eq!(ids(&newer["tweets"]), [tweet]);
        for query in ["count=0", "count=101", "count=x", "before=x", "since=1"] {
            let field = query.split('=').next().unwrap();
            let answer = bob.api_get(&format!("/api/timeline/{path}?{query}")).await;
            assert!(refused(answer).starts_with(&format!("The field {field} is wrong")), "{query}");
        }
    }
    let anonymous = server.visitor().api_get("/api/timeline/home").await;
    assert_eq!(refused(anonymous), "You must be logged in.");
}

#[in_memory]
async fn people_in_the_api_are_counted_and_paged(server: Server) {
    let members = server.members(3).await;
    for member in &members[1..] {
        server.advance(1);
        member.follow("member-0").await;
    }
    let answer = ok(members[0].api_get("/api/followers/Member-0?count=1").await);
    assert_eq!(answer["count"], 2);
    assert_eq!(answer["users"], json!([{"username": "member-2", "fullname": ""}]));
    let next = answer["next"].as_str().unwrap();
    let rest = ok(server.visitor().api_get(&format!("/api/followers/member-0?before={next}")).await);
    assert_eq!(rest["users"], json!([{"username": "member-1", "fullname": ""}]));
    assert_eq!((&rest["count"], &rest["next"]), (&json!(2), &Value::Null));
    let followings = ok(server.visitor().api_get("/api/followings/member-1").await);
    assert_eq!((&followings["count"], &followings["users"][0]["username"]), (&json!(1), &json!("member-0")));
    refused_saying(members[0].api_get("/api/followers/member-0?count=1000").await, "count");
}

#[in_memory]
async fn an_unknown_username_is_a_404_in_the_api(server: Server) {
    let alice = server.member("alice").await;
    for list in ["timeline/user", "followers", "followings"] {
        ok(alice.api_get(&format!("/api/{list}/ALICE")).await);
        for name in ["nobody", "a", "*", "%00", "%C3%A9"] {
            for client in [&alice, &server.visitor()] {
                let answer = client.get(&format!("/api/{list}/{name}")).await;
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{list} {name}");
                assert_eq!(refused(answer.json()), "There is no user with this name.");
            }
        }
    }
    // Which page is wanted is read before anybody looks for the name.
    refused_saying(alice.api_get("/api/followers/nobody?count=0").await, "count");
}

#[in_memory]
async fn actions_in_the_api_refuse_as_the_pages_do(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let tweet = alice.tweet("Hello").await.to_string();
    assert_eq!(refused(alice.try_tweet("").await), "Write a post.");
    let long = alice.try_tweet(&"x".repeat(281)).await;
    assert_eq!(refused(long), "Your post is too long (280 characters at most).");
    let other = bob.api_post("/api/deltweet", &[("tweet_id", &tweet)]).await;
    assert_eq!(refused(other), "Only the author can delete this post.");
    for (id, reason) in [
        ("999", "There is no such post."),
        ("x", "The field tweet_id is wrong: it must be the number of a tweet."),
        ("01", "The field tweet_id is wrong: it must be the number of a tweet."),
    ] {
        assert_eq!(refused(alice.api_post("/api/deltweet", &[("tweet_id", id)]).await), reason);
    }
    ok(alice.api_post("/api/deltweet", &[("tweet_id", &tweet)]).await);
    let anonymous = server.visitor().api_post("/api/tweet", &[("text", "x")]).await;
    assert_eq!(refused(anonymous), "You must be logged in.");
    assert_eq!(shown(&alice.get("/everyone").await).find("li", &[("class", "tweet")]).len(), 0);
}
