//! Nobody finds what they may not read: every way of withholding, on every address that finds, from the moment
//! of the action and after the index has followed.

use super::{ON, finds};
use crate::client::{Client, PASSWORD, ok};
use crate::removals::act;
use crate::server::{Server, each_engine};

/// The posts for each way: texts with one word that nothing else has.
struct Posted {
    word: String,
    author: Client,
    name: String,
    story: u64,
    comment: u64,
    post: u64,
}

const STORY: &str = "Story";
const COMMENT: &str = "Comment";
const REPLY: &str = "Reply";
const POST: &str = "Post";
const PERSON: &str = "Person";

/// The ways, and what nobody finds afterwards.
const FOR_ALL: [(&str, &[&str]); 12] = [
    ("deleted story", &[STORY, COMMENT, REPLY]),
    ("deleted comment", &[COMMENT]),
    ("deleted post", &[POST]),
    ("removed story", &[STORY, COMMENT, REPLY]),
    ("removed comment", &[COMMENT]),
    ("removed post", &[POST]),
    ("removed profile", &[PERSON]),
    ("all removed", &[STORY, COMMENT, REPLY, POST]),
    ("merged", &[STORY]),
    ("banned", &[PERSON]),
    ("deactivated", &[PERSON]),
    ("held", &[STORY, COMMENT, POST]),
];

/// The ways in which one reader does not find things.
const FOR_ONE: [(&str, &[&str]); 6] = [
    ("muted person", &[STORY, COMMENT, POST, PERSON]),
    ("blocked person", &[STORY, COMMENT, POST, PERSON]),
    ("hidden story", &[STORY, COMMENT, REPLY]),
    ("muted topic", &[STORY, COMMENT, REPLY]),
    ("muted site", &[STORY, COMMENT, REPLY]),
    ("muted word", &[STORY, COMMENT, REPLY, POST, PERSON]),
];

impl Posted {
    async fn new(server: &Server, [alice, bob]: [&Client; 2], way: &str, number: usize) -> Self {
        // Without `l`, which looks like `i`.
        let letter = |number: usize| char::from(b"abcdefghijkmnopqrstuvwxyz"[number]);
        let word = format!("needle{}{}", letter(number), letter(number));
        let name = format!("person{}", letter(number));
        let mut author = server.register(&name).await;
        author.user_id = server.string(&format!("username.to.id:{name}")).await.unwrap().parse().unwrap();
        ok(author.update_profile(&format!("{PERSON} {word}"), "", "").await);
        server.set_karma(&author, 100).await;
        if way == "held" {
            act(alice, "hold", ("user", &name)).await;
        }
        let (title, url) = (format!("{STORY} {word}"), format!("https://{word}.example/"));
        let story = author.submit_link_on(&word, &title, &url).await;
        let comment = if way == "held" {
            ok(author.try_comment(1, None, &format!("{COMMENT} {word}")).await);
            0
        } else {
            bob.comment(story, &format!("{REPLY} {word}")).await;
            author.comment(story, &format!("{COMMENT} {word}")).await
        };
        let post = ok(author.try_tweet(&format!("{POST} {word}")).await)["tweet_id"].as_u64().unwrap();
        Self { word, author, name, story, comment, post }
    }

    /// All that can be found.
    fn texts(&self) -> Vec<(&'static str, String)> {
        [STORY, COMMENT, REPLY, POST, PERSON].map(|what| (what, format!("{what} {}", self.word))).to_vec()
    }

    async fn withhold(&self, server: &Server, [alice, bob]: [&Client; 2], way: &str) {
        let (story, post) = (self.story.to_string(), self.post.to_string());
        let comment = format!("{}-{}", self.story, self.comment);
        match way {
            "held" => {}
            "deleted story" => _ = ok(self.author.delete(self.story).await),
            "deleted comment" => _ = ok(self.author.edit_comment(self.story, self.comment, "").await),
            "deleted post" => _ = ok(self.author.call(&format!("/api/deltweet?tweet_id={post}")).await),
            "removed story" => _ = act(alice, "remove", ("story", &story)).await,
            "removed comment" => _ = act(alice, "remove", ("comment", &comment)).await,
            "removed post" => _ = act(alice, "remove", ("tweet", &post)).await,
            "removed profile" => _ = act(alice, "remove", ("user", &self.name)).await,
            "all removed" => {
                act(alice, "remove_all", ("user", &self.name)).await;
                server.finish_jobs().await;
            }
            "merged" => {
                ok(alice.moderate("merge", ("story", &*story), &[("into", "1"), ("reason", "same")]).await);
            }
            "banned" => _ = act(alice, "ban", ("user", &self.name)).await,
            "deactivated" => {
                let answer = self.author.post("/settings/deactivate", &[("password", PASSWORD)]).await;
                assert_eq!(answer.status, 303, "{answer:?}");
            }
            "muted person" => mute(bob, "user", &self.name).await,
            "blocked person" => _ = ok(bob.api_post("/api/block", &[("username", &*self.name)]).await),
            "hidden story" => _ = ok(bob.call(&format!("/api/hide?news_id={story}")).await),
            "muted topic" => mute(bob, "topic", &self.word).await,
            "muted site" => mute(bob, "domain", &format!("{}.example", self.word)).await,
            "muted word" => mute(bob, "word", &self.word).await,
            other => panic!("{other}"),
        }
    }
}

async fn mute(client: &Client, what: &str, value: &str) {
    ok(client.api_post("/api/mute", &[("what", what), ("value", value)]).await);
}

/// Everything that a search for a word says to somebody, on every address that finds.
async fn said(client: &Client, word: &str, with_feeds: bool) -> String {
    let mut said = String::new();
    let pages = [
        format!("/search?q={word}"),
        format!("/search?q={word}&kind=all"),
        format!("/search?q={word}&kind=comments&sort=votes"),
        format!("/search?q={word}&kind=posts"),
        format!("/search?q={word}&kind=people"),
        format!("/search?q=site:{word}.example"),
        format!("/search?q=topic:{word}"),
        format!("/api/search?q={word}&kind=all"),
        format!("/api/search?q={word}&sort=new"),
        format!("/api/search/suggest?q={word}"),
        format!("/api/search/similar?title=Story+{word}"),
    ];
    // Feeds are the same for everybody.
    let feeds = [format!("/search.atom?q={word}"), format!("/search.json?q={word}")];
    for address in pages.iter().chain(feeds.iter().filter(|_| with_feeds)) {
        let answer = client.get(address).await;
        assert_eq!(answer.status, 200, "{address}: {answer:?}");
        said.push_str(&answer.text());
    }
    said.replace("<mark>", "").replace("</mark>", "")
}

/// Checks what somebody is told after a way of withholding.
async fn check(client: &Client, posted: &Posted, (way, for_all): (&str, bool), withheld: &[&str]) {
    let said = said(client, &posted.word, for_all).await;
    for (what, text) in posted.texts() {
        let is_found = said.contains(&text);
        assert!(!(is_found && withheld.contains(&what)), "{way}: {text} is found: {said}");
    }
}

#[each_engine("change feed", &ON)]
async fn nothing_that_is_withheld_is_found_anywhere_from_the_moment_of_the_action(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    bob.submit_text("The first", "of all").await;
    let visitor = server.visitor();
    let ways = FOR_ALL.iter().map(|way| (way, true)).chain(FOR_ONE.iter().map(|way| (way, false)));
    for (number, ((way, withheld), for_all)) in ways.enumerate() {
        let posted = Posted::new(&server, [&alice, &bob], way, number).await;
        let all: Vec<String> = posted.texts().into_iter().map(|(_, text)| text).collect();
        if *way != "held" {
            let of_kind = |kind: &str| format!("q={}&kind={kind}", posted.word);
            finds(&visitor, &of_kind("stories"), &[&all[0]]).await;
            finds(&visitor, &of_kind("comments"), &[&all[1], &all[2]]).await;
            finds(&visitor, &of_kind("posts"), &[&all[3]]).await;
            finds(&visitor, &of_kind("people"), &[&posted.name]).await;
            assert!(said(&visitor, &posted.word, true).await.contains(&all[0]), "{way}");
        }
        posted.withhold(&server, [&alice, &bob], way).await;
        let reader = if for_all { &visitor } else { &bob };
        check(reader, &posted, (way, for_all), withheld).await;
        // Something that is indexed later says that the index has followed.
        let later = format!("later{}", posted.word);
        alice.submit_text(&format!("Later {later}"), "text").await;
        finds(&visitor, &format!("q={later}"), &[&format!("Later {later}")]).await;
        check(reader, &posted, (way, for_all), withheld).await;
        if !for_all {
            assert!(said(&visitor, &posted.word, true).await.contains(&all[0]), "{way}");
        }
    }
}
