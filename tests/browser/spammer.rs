//! A day with a spammer: 200 posts, one flag, one removal of all of them, one appeal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::{Client, PASSWORD, ok, refused};
use crate::server::{Engine, Server};

/// A word of every post of the spammer, and of nothing else.
const WORD: &str = "watches";
/// All that the spammer posts.
const POSTS: u64 = 200;
/// How long a removal of all posts may take.
const SOON: Duration = Duration::from_secs(5);

/// Where a reader comes across posts.
const PAGES: &str = "/ /latest/0 /best /best/new /everyone /home /inbox /news/1 /@mallory \
    /usernews/mallory/0 /usercomments/mallory/0 /site/spam.example/stories/0 /rss /atom /best/atom \
    /best/new/atom /@mallory/feed /comments/atom /news/1/json /site/spam.example/atom /user/mallory/json \
    /api/getnews/latest/0/32 /api/getcomments/1 /api/articles/time/1 /api/timeline/home \
    /api/timeline/everyone /api/timeline/user/mallory /api/inbox?count=100";

/// The people of the site, and the spammer's session.
struct Community {
    server: Server,
    administrator: Client,
    moderator: Client,
    reader: Client,
}

impl Community {
    async fn new() -> Self {
        let server = Server::start(Engine::Memory, &[]).await;
        let administrator = server.register("alice").await;
        let [moderator, bob, reader] = ["mod", "bob", "carol"].map(|name| server.member(name));
        let (moderator, bob, reader) = (moderator.await, bob.await, reader.await);
        ok(administrator.moderate("make_moderator", ("user", "mod"), &[("reason", "helps")]).await);
        bob.submit_text("A story", "to talk about").await;
        bob.comment(1, "Ask @carol about it").await;
        Self { server, administrator, moderator, reader }
    }

    /// Waits until nothing is left to do in the background.
    async fn settle(&self, browser: &Browser) {
        let done = async || self.server.sorted("timeline:jobs").await.is_empty();
        browser.wait_until("all jobs are done", done).await;
    }

    /// The last line of the log.
    async fn last_line(&self) -> Value {
        ok(self.reader.api_get("/api/moderations?count=1").await)["entries"][0].clone()
    }

    /// Waits until the last action is done; returns its line.
    async fn wait_for_the_last_action(&self) -> Value {
        let start = Instant::now();
        loop {
            let line = self.last_line().await;
            if line["in_progress"] != json!(true) {
                println!("{} posts after {:?}", line["count"], start.elapsed());
                return line;
            }
            assert!(start.elapsed() < SOON, "{line}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How often the word of the spammer is on each page, and the counts that readers see.
    async fn what_readers_see(&self) -> BTreeMap<String, u64> {
        let mut seen = BTreeMap::new();
        for (name, client) in [("carol", &self.reader), ("visitor", &self.server.visitor())] {
            // Looking so reads nothing of the inbox.
            let client = client.clone().with_header("sec-purpose", "prefetch");
            for page in PAGES.split(' ') {
                let body = client.get(page).await.body;
                let found = String::from_utf8_lossy(&body).matches(WORD).count();
                seen.insert(format!("{page} for {name}"), u64::try_from(found).unwrap());
            }
        }
        let inbox = ok(self.reader.api_get("/api/inbox?unread=1&count=100").await);
        let unread = inbox["entries"].as_array().unwrap().len();
        seen.insert("unread entries".to_owned(), u64::try_from(unread).unwrap());
        seen.insert("badge".to_owned(), inbox["unread"].as_u64().unwrap());
        let stories = ok(self.reader.api_get("/api/getnews/latest/0/1").await)["count"].as_u64();
        seen.insert("stories".to_owned(), stories.unwrap());
        let comments = self.server.number("news:1", "comments").await;
        seen.insert("comments on the story".to_owned(), u64::try_from(comments).unwrap());
        seen
    }
}

/// Lets a spammer type one post of each kind.
async fn type_posts(browser: &Browser) {
    browser.go("/submit").await;
    browser.fill("Title", "The best watches").await;
    browser.fill("URL", "https://spam.example/typed").await;
    browser.press("Submit").await;
    browser.arrive("/news/2").await;
    browser.go("/news/1").await;
    browser.fill("Your comment", "Buy watches, @carol").await;
    browser.click("form:has(#comment) button:not([name])").await;
    browser.wait_for("#comment-2").await;
    browser.go("/home").await;
    browser.fill("Your post", "Cheap watches for @carol").await;
    browser.press("Add post").await;
    browser.wait_for_text(".tweet .text", "Cheap watches for @carol").await;
}

/// Posts the rest: stories, comments, replies to a reader's comment, and tweets, with mentions.
async fn post_the_rest(server: &Server, spammer: &Client, reader: &Client) {
    let parent = reader.comment(1, "I know nothing about it").await;
    for number in 3..POSTS {
        let text = format!("watches {number} for @carol");
        match number % 4 {
            0 => {
                let url = format!("https://spam.example/{number}");
                spammer.submit_link(&format!("Fine watches {number}"), &url).await;
            }
            1 => {
                spammer.comment(1, &text).await;
            }
            2 => {
                spammer.reply(1, parent, &text).await;
            }
            _ => {
                spammer.tweet(&text).await;
            }
        }
        server.advance(1);
    }
}

/// Flags the story that is shown as spam.
async fn flag_as_spam(browser: &Browser) {
    browser.enter("main a[href='/flag/story/2']").await;
    // The form opens below the story.
    browser.click("main .in-place [name=reason][value=spam]").await;
    browser.press("Flag this story").await;
    browser.wait_for_text(".lead [role=status]", "A moderator will look at it.").await;
    browser.enter("main a[href='/flag/story/2']").await;
    browser.wait_for(".notice form[action='/unflag']").await;
}

/// Goes from the queue to the person behind the row, and removes all that the person has posted.
async fn remove_all_posts(browser: &Browser) {
    browser.go("/").await;
    browser.click(".menu.own summary").await;
    browser.click(".site-header a[href='/moderate']").await;
    browser.wait_for("#row-story-2 .flag-count").await;
    browser.click("#row-story-2 .review-author a.author").await;
    browser.arrive("/@mallory").await;
    browser.click(".moderation-tools > summary").await;
    let own = ".moderation-form:has([name=boxes])";
    browser.click("details:has(> .moderation-form [name=boxes]) > summary").await;
    browser.wait_for("[name=boxes] ~ label [name=posts]:checked").await;
    browser.click(&format!("{own} [name=reason]")).await;
    browser.type_text("nothing but advertising").await;
    browser.click(&format!("{own} button[value=remove_all]")).await;
    browser.wait_for(".notice.undo").await;
}

#[tokio::test]
async fn a_day_with_a_spammer() {
    let community = Community::new().await;
    let Community { server, administrator, moderator, reader } = &community;
    let browser = Browser::open(server).await;
    browser.go("/register").await;
    browser.fill("Username", "mallory").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Sign up").await;
    browser.wait_until_logged_in("mallory").await;
    reader.follow("mallory").await;
    let spammer = server.visitor().log_in("mallory", PASSWORD).await;
    let before = community.what_readers_see().await;

    type_posts(&browser).await;
    post_the_rest(server, &spammer, reader).await;
    community.settle(&browser).await;
    let spammed = community.what_readers_see().await;
    for page in PAGES.split(' ') {
        let shown = ["carol", "visitor"].map(|name| spammed[&format!("{page} for {name}")]);
        assert!(shown.iter().any(|found| *found > 0), "{page}");
    }

    let readers_browser = Browser::open_as(server, reader).await;
    readers_browser.go("/news/2").await;
    flag_as_spam(&readers_browser).await;
    let moderators_browser = Browser::open_as(server, moderator).await;
    remove_all_posts(&moderators_browser).await;
    let line = community.wait_for_the_last_action().await;
    assert_eq!((&line["action"], &line["count"]), (&json!("remove_all"), &json!(POSTS)), "{line}");
    community.settle(&browser).await;

    // The reader's own comment is what is left of the day.
    let mut clean = before;
    *clean.get_mut("comments on the story").unwrap() += 1;
    assert_eq!(community.what_readers_see().await, clean);
    readers_browser.go("/home").await;
    readers_browser.wait_for(".empty").await;
    assert!(readers_browser.text(".badge").await.starts_with('1'), "what bob has written");
    readers_browser.go("/news/2").await;
    assert!(!readers_browser.text("body").await.contains(WORD));
    moderators_browser.go("/moderate").await;
    moderators_browser.wait_for_text(".empty", "Nothing to review. Well done.").await;

    let address = format!("/appeal/{}", line["id"]);
    browser.go("/inbox").await;
    browser.click(".inbox a.entry-row[href*='kind=moderation']").await;
    browser.wait_for(&format!(".entry-message a[href$='{address}']")).await;
    browser.go(&address).await;
    browser.fill("What should we reconsider, and why?", "I collect them").await;
    browser.press("Send appeal").await;
    browser.wait_for_text("h2", "Your appeal").await;
    let id = line["id"].to_string();
    refused(moderator.moderate("approve", ("appeal", &id), &[("reason", "mine")]).await);
    let administrators_browser = Browser::open_as(server, administrator).await;
    administrators_browser.go("/moderate").await;
    administrators_browser.click(&format!("#row-appeal-{id} [data-yes]")).await;
    administrators_browser.wait_for(".notice.undo").await;
    community.wait_for_the_last_action().await;
    community.settle(&browser).await;
    assert_eq!(community.what_readers_see().await, spammed);
    browser.reload().await;
    assert!(browser.text("main").await.contains("It was granted."));
    readers_browser.go("/news/2").await;
    readers_browser.wait_for_text("h1 a", "The best watches").await;
}

#[tokio::test]
async fn a_moderator_acts_where_a_comment_stands_and_stays_on_the_page() {
    let Community { server, moderator, .. } = &Community::new().await;
    let browser = Browser::open_as(server, moderator).await;
    browser.go("/comments").await;
    browser.click("main .comment a[data-menu]").await;
    browser.wait_for("main .comment .moderation-menu button[value=remove]").await;
    assert!(browser.has_focus(".moderation-menu [name=reason]").await);
    // The link closes it again.
    browser.click("main .comment a[data-menu]").await;
    browser.wait_until_gone(".moderation-menu").await;
    browser.click("main .comment a[data-menu]").await;
    browser.wait_for(".moderation-menu [name=reason]").await;
    browser.type_text("nothing to say").await;
    browser.click(".moderation-menu button[value=remove]").await;
    browser.wait_for(".notice.undo").await;
    assert_eq!(browser.address().await.split('?').next(), Some("/comments"));
}
