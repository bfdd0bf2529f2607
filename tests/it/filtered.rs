//! Nobody is sent what they must not see: what moderators have removed, what waits for approval,
//! what flags have hidden, and what the reader has muted or blocked. Every address of the site
//! is read, cached or not, by visitors, readers, authors and moderators.
//!
//! Each thing has a word of its own in its title or text, which is searched for in every answer.

use crate::client::{Client, ok};
use crate::community::Community;
use crate::server::{Engine, Server};
use crate::two_viewers::addresses;
use std::collections::BTreeSet;

/// The things that somebody has written: a story, a comment on story 1 and a tweet, all with one word.
struct Things {
    word: &'static str,
    story: u64,
    comment: u64,
    tweet: u64,
}

impl Things {
    /// Writes them. The story links to a site, and both mention the reader.
    async fn by(author: &Client, word: &'static str, host: &str) -> Self {
        let (title, url) = (format!("Story {word}"), format!("http://{host}/{word}"));
        let fields = [("news_id", "-1"), ("title", &title), ("url", &url), ("text", ""), ("topics", "links")];
        let story = ok(author.api_post("/api/submit", &fields).await)["news_id"].as_u64().unwrap();
        let comment = author.comment(1, &format!("Comment {word} for @rita")).await;
        let tweet = author.tweet(&format!("Tweet {word} for @rita")).await;
        Self { word, story, comment, tweet }
    }

    /// Stores why they are withheld, as the actions of moderators do.
    async fn withhold(&self, server: &Server, state: &str) {
        server.set_field(&format!("news:{}", self.story), "withheld", state).await;
        server.set_field(&format!("tweet:{}", self.tweet), "withheld", state).await;
        let (thread, field) = ("thread:comment:1", self.comment.to_string());
        let json = server.field(thread, &field).await.unwrap();
        let mut comment: serde_json::Value = serde_json::from_str(&json).unwrap();
        comment["withheld"] = state.into();
        server.set_field(thread, &field, &comment.to_string()).await;
    }

    /// Their own pages, and those of their author.
    fn own_pages(&self, author: &str) -> Vec<String> {
        let Self { story, comment, tweet, .. } = self;
        vec![
            format!("/news/{story}"),
            format!("/api/getcomments/{story}"),
            format!("/news/1?at={comment}"),
            format!("/reply/1/{comment}"),
            format!("/tweet/{tweet}"),
            format!("/@{author}"),
            format!("/@{author}/feed"),
            format!("/@{author}/feed/json"),
            format!("/news/{story}/atom"),
            format!("/user/{author}/atom"),
            format!("/user/{author}/stories/json"),
            format!("/user/{author}/comments/atom"),
            format!("/usernews/{author}/0"),
            format!("/usercomments/{author}/0"),
            format!("/api/timeline/user/{author}"),
            format!("/v0/user/{author}.json"),
        ]
    }
}

/// A site with things that not everybody may see, and rita, who has muted some of them.
struct Withheld {
    community: Community,
    dave: Client,
    rita: Client,
    open: Things,
    removed: Things,
    held: Things,
    flagged: Things,
    muted: Vec<Things>,
    addresses: BTreeSet<String>,
}

impl Withheld {
    async fn new() -> Self {
        // Tweets of people with followers are read from their own timelines, at once.
        let community = Community::new(Engine::Memory, &[("timelines.pull_limit", "0")]).await;
        let server = &community.server;
        let [dave, mutey, blocky, rita] =
            ["dave", "mutey", "blocky", "rita"].map(async |name| server.member(name).await);
        let (dave, mutey, blocky, rita) = (dave.await, mutey.await, blocky.await, rita.await);
        for name in ["dave", "mutey", "blocky"] {
            rita.follow(name).await;
        }
        let open = Things::by(&dave, "qopen", "example.com").await;
        let removed = Things::by(&dave, "qremoved", "example.com").await;
        let held = Things::by(&dave, "qheld", "example.com").await;
        let flagged = Things::by(&dave, "qflagged", "example.com").await;
        let muted = vec![
            Things::by(&mutey, "qperson", "example.com").await,
            Things::by(&blocky, "qblocked", "example.com").await,
            Things::by(&dave, "qword", "example.com").await,
        ];
        // Only the story of this one is on the site.
        let site = Things::by(&dave, "qsite", "sub.muted.example").await;
        removed.withhold(server, "removed:the reason").await;
        held.withhold(server, "held:the reason").await;
        flagged.withhold(server, "flagged:").await;
        for (what, value) in [("user", "mutey"), ("word", "qword"), ("word", "comment qsite")] {
            ok(rita.api_post("/api/mute", &[("what", what), ("value", value)]).await);
        }
        for (what, value) in [("word", "tweet qsite"), ("domain", "muted.example")] {
            ok(rita.api_post("/api/mute", &[("what", what), ("value", value)]).await);
        }
        ok(rita.api_post("/api/block", &[("username", "blocky")]).await);
        rita.post("/inbox/feed", &[("feed", "new")]).await;
        let secret = server.field(&format!("user:{}", rita.user_id), "inbox_feed").await.unwrap();
        let mut addresses = addresses();
        addresses.insert(format!("/inbox/feed/{}-{secret}", rita.user_id));
        for things in [&open, &removed, &held, &flagged] {
            addresses.extend(things.own_pages("dave"));
        }
        addresses.extend(muted[0].own_pages("mutey"));
        addresses.extend(muted[1].own_pages("blocky"));
        let muted = muted.into_iter().chain([site]).collect();
        Self { community, dave, rita, open, removed, held, flagged, muted, addresses }
    }

    /// The text that somebody is sent at an address.
    async fn text(client: &Client, address: &str) -> String {
        String::from_utf8_lossy(&client.get(address).await.body).into_owned()
    }

    /// The words that somebody is sent anywhere, with the addresses. Cached and not.
    async fn found(&self, client: &Client, words: &[&str]) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for is_cached in [false, true] {
            for address in &self.addresses {
                if !is_cached {
                    self.community.server.clear_caches().await;
                }
                let text = Self::text(client, address).await;
                for word in words.iter().filter(|word| text.contains(**word)) {
                    found.insert(((*word).to_owned(), address.clone()));
                }
            }
        }
        found
    }
}

fn words(things: &[&Things]) -> Vec<&'static str> {
    things.iter().map(|things| things.word).collect()
}

#[tokio::test]
async fn visitors_are_sent_nothing_that_is_withheld_and_everything_else() {
    let site = Withheld::new().await;
    let visitor = site.community.server.visitor();
    let hidden = words(&[&site.removed, &site.held, &site.flagged]);
    assert_eq!(site.found(&visitor, &hidden).await, BTreeSet::new());
    let found = site.found(&visitor, &[site.open.word]).await;
    for address in [
        "/",
        "/latest",
        "/best",
        "/topic/links",
        "/news/1",
        "/everyone",
        "/rss",
        "/@dave",
        "/usercomments/dave/0",
    ] {
        assert!(found.contains(&(site.open.word.to_owned(), address.to_owned())), "{address}");
    }
    for (things, status) in [(&site.removed, [410, 200]), (&site.held, [404; 2]), (&site.flagged, [200; 2])] {
        assert_eq!(visitor.get(&format!("/news/{}", things.story)).await.status, status[0]);
        assert_eq!(visitor.get(&format!("/tweet/{}", things.tweet)).await.status, status[1]);
    }
    let page = Withheld::text(&visitor, &format!("/news/{}", site.removed.story)).await;
    assert!(page.contains("removed by a moderator: the reason"), "{page}");
    let sitemap = Withheld::text(&visitor, "/sitemap/1").await;
    let is_in = |things: &Things| sitemap.contains(&format!("/news/{}<", things.story));
    assert!(is_in(&site.open) && !is_in(&site.removed) && !is_in(&site.held) && !is_in(&site.flagged));
}

#[tokio::test]
async fn a_reader_is_sent_nothing_muted_or_withheld_whatever_others_have_read() {
    let site = Withheld::new().await;
    let (visitor, rita) = (site.community.server.visitor(), &site.rita);
    // Others have filled the caches.
    for address in &site.addresses {
        visitor.get(address).await;
    }
    let withheld = words(&[&site.removed, &site.held, &site.flagged]);
    let mut found = site.found(rita, &withheld).await;
    // A list that was asked for what is hidden has what flags have hidden.
    found.retain(|(word, address)| word != site.flagged.word || !address.contains("hidden=1"));
    assert_eq!(found, BTreeSet::new());
    let muted = words(&site.muted.iter().collect::<Vec<_>>());
    // A story or tweet that is muted can still be opened; the list of mutes says what is muted.
    let is_chosen = |address: &str| {
        address.contains("/mutes")
            || address.contains("/settings/mutes")
            || site.muted.iter().any(|things| {
                let own = [format!("/news/{}", things.story), format!("/tweet/{}", things.tweet)];
                own.contains(&address.to_owned())
            })
            || address.contains("hidden=1")
            // Public feeds, and the answers to programs of other sites, are the same for everyone.
            || address.starts_with("/v0/") || address.starts_with("/api/v1/")
            || ["/feed", "/rss", "/atom", "/json"].iter().any(|feed| address.ends_with(feed))
    };
    let found = site.found(rita, &muted).await;
    let wrong: Vec<_> = found.iter().filter(|(_, address)| !is_chosen(address)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    // And what is not muted is there, as is everything for others.
    let open = site.found(rita, &[site.open.word]).await;
    for address in [
        "/",
        "/latest",
        "/best",
        "/topic/links",
        "/news/1",
        "/home",
        "/everyone",
        "/inbox",
        "/api/getcomments/1",
    ] {
        assert!(open.contains(&(site.open.word.to_owned(), address.to_owned())), "{address}");
    }
    let others = site.found(&visitor, &muted).await;
    for things in &site.muted {
        for address in ["/latest", "/news/1", "/everyone"] {
            assert!(
                others.contains(&(things.word.to_owned(), address.to_owned())),
                "{} {address}",
                things.word
            );
        }
    }
    // The reader can ask for what is muted.
    for address in ["/latest/0?hidden=1", "/news/1?hidden=1", "/home?hidden=1", "/api/getcomments/1?hidden=1"]
    {
        let text = Withheld::text(rita, address).await;
        assert!(muted.iter().all(|word| text.contains(word)), "{address}: {text}");
        assert!(!text.contains(site.removed.word) && !text.contains(site.held.word), "{address}");
    }
}

#[tokio::test]
async fn authors_and_moderators_find_what_is_withheld_on_its_page_but_in_no_list() {
    let site = Withheld::new().await;
    let server = &site.community.server;
    let moderator = server.member("moderator").await;
    server.set_field(&format!("user:{}", moderator.user_id), "flags", "m").await;
    for client in [&site.dave, &site.community.alice, &moderator] {
        for (things, words) in [
            (&site.removed, "removed by a moderator: the reason"),
            (&site.held, "waiting for a moderator&#39;s approval: the reason"),
            (&site.flagged, "until a moderator reviews it"),
        ] {
            for address in [
                format!("/news/{}", things.story),
                format!("/news/1?at={}", things.comment),
                format!("/tweet/{}", things.tweet),
            ] {
                let text = Withheld::text(client, &address).await.replace('\'', "&#39;");
                assert!(text.contains(things.word) && text.contains(words), "{address}: {text}");
            }
        }
        for list in
            ["/", "/latest", "/best", "/topic/links", "/everyone", "/site/example.com", "/past/2027-01"]
        {
            let text = Withheld::text(client, list).await;
            for things in [&site.removed, &site.held] {
                assert!(!text.contains(things.word), "{list} {}", things.word);
            }
        }
        assert!(Withheld::text(client, "/latest").await.contains(site.flagged.word));
        let posted = Withheld::text(client, "/usernews/dave/0").await;
        assert!(posted.contains(site.removed.word) && posted.contains(site.held.word));
    }
}

#[tokio::test]
async fn readers_who_show_hidden_see_what_flags_have_hidden() {
    let site = Withheld::new().await;
    let rita = &site.rita;
    let word = site.flagged.word;
    let places = ["/latest", "/news/1", "/everyone", "/api/getcomments/1", "/usernews/dave/0", "/home"];
    for address in places {
        assert!(!Withheld::text(rita, address).await.contains(word), "{address}");
    }
    let fields = [("about", ""), ("email", ""), ("show_hidden", "1")];
    ok(rita.api_post("/api/updateprofile", &fields).await);
    for address in places {
        let text = Withheld::text(rita, address).await;
        assert!(text.contains(word) && !text.contains(site.removed.word), "{address}");
    }
    ok(rita.api_post("/api/updateprofile", &[("about", ""), ("email", ""), ("show_hidden", "0")]).await);
    assert!(!Withheld::text(rita, "/latest").await.contains(word));
}

#[tokio::test]
async fn withheld_comments_keep_their_place_for_programs_without_a_text() {
    let site = Withheld::new().await;
    let visitor = site.community.server.visitor();
    let reply = site.community.alice.reply(1, site.open.comment, "A reply below").await;
    site.community.server.set_field("news:1", "comments", "9").await;
    let thread = visitor.thread(1).await;
    let entry = |id: u64| thread.iter().find(|comment| comment["id"] == id).cloned();
    let removed = entry(site.removed.comment).unwrap();
    assert_eq!(
        (&removed["removed"], &removed["body"], &removed["html"]),
        (&"the reason".into(), &"".into(), &"".into())
    );
    assert_eq!(entry(site.flagged.comment).unwrap()["removed"], "flagged");
    assert_eq!(entry(site.held.comment), None);
    assert_eq!(entry(site.open.comment).unwrap()["replies"][0]["id"], reply);
    // A comment that waits for approval keeps its place in the thread if somebody has answered.
    site.open.withhold(&site.community.server, "held:").await;
    let thread = visitor.thread(1).await;
    let held = thread.iter().find(|comment| comment["id"] == site.open.comment).unwrap();
    assert_eq!((&held["removed"], &held["body"]), (&"held".into(), &"".into()));
    assert_eq!(held["replies"][0]["body"], "A reply below");
    // Muted comments name nobody.
    let thread = site.rita.thread(1).await;
    let muted = thread.iter().find(|comment| comment["id"] == site.muted[0].comment).unwrap();
    assert_eq!(
        (&muted["muted"], &muted["body"], &muted["username"]),
        (&true.into(), &"".into(), &"[muted user]".into())
    );
}

#[tokio::test]
async fn what_is_gone_cannot_be_voted_on_answered_or_edited() {
    let site = Withheld::new().await;
    site.community.server.set_karma(&site.rita, 100).await;
    let refused = |answer: serde_json::Value| crate::client::refused(answer);
    let (rita, dave) = (&site.rita, &site.dave);
    let removed = "A moderator has removed this";
    assert!(refused(rita.vote(site.removed.story, "up").await).contains(removed));
    assert!(refused(rita.try_comment(site.removed.story, None, "Hello").await).contains(removed));
    assert!(refused(rita.try_comment(1, Some(site.removed.comment), "Hello").await).contains(removed));
    assert!(refused(rita.vote_comment(1, site.removed.comment, "up").await).contains(removed));
    assert!(refused(dave.edit_comment(1, site.removed.comment, "Other words").await).contains(removed));
    assert!(
        refused(dave.edit(site.removed.story, "Other", "http://example.com/other", "").await)
            .contains(removed)
    );
    assert!(refused(rita.vote(site.held.story, "up").await).contains("no such story"));
    assert!(refused(dave.vote(site.held.story, "up").await).contains("approval"));
    ok(rita.vote(site.flagged.story, "up").await);
}
