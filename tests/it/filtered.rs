//! Nobody is sent what they must not see: what moderators have removed, what waits for approval,
//! what flags have hidden, and what the reader has muted or blocked. Every address of the site
//! is read, cached or not, by visitors, readers, authors and moderators.
//!
//! Each thing has a word of its own in its title or text, which is searched for in every answer.

use crate::client::{Client, has_members, ok, refused_saying};
use crate::community::Community;
use crate::hacker_news::withhold_comment;
use crate::live::Events;
use crate::page_server::{PageServer, Reply};
use crate::server::{Batch, Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;
use crate::two_viewers::addresses;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use strum::IntoEnumIterator;
use tidings_domain::exports::site::{SiteExport, SiteSection};
use tidings_domain::values::Withheld as State;
use tidings_keyspace::Notice;
use tidings_web::features::hacker_news::archive;
use tidings_web::settings::Settings;

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
        let story = author.submit_link_on("links", &title, &url).await;
        let comment = author.comment(1, &format!("Comment {word} for @rita")).await;
        let tweet = author.tweet(&format!("Tweet {word} for @rita")).await;
        Self { word, story, comment, tweet }
    }

    /// Stores why they are withheld, as the actions of moderators do.
    async fn withhold(&self, server: &Server, state: &str) {
        server.set_field(&format!("news:{}", self.story), "withheld", state).await;
        server.set_field(&format!("tweet:{}", self.tweet), "withheld", state).await;
        withhold_comment(server, 1, self.comment, state).await;
    }

    /// Their own pages, and those of their author.
    fn own_pages(&self, author: &str) -> Vec<String> {
        let Self { story, comment, tweet, .. } = self;
        split(&format!(
            "/news/{story} /api/getcomments/{story} /news/1?at={comment} /reply/1/{comment} /tweet/{tweet} \
             /@{author} /@{author}/feed /@{author}/feed/json /news/{story}/atom /user/{author}/atom \
             /user/{author}/stories/json /user/{author}/comments/atom /usernews/{author}/0 \
             /usercomments/{author}/0 /api/timeline/user/{author} /v0/user/{author}.json"
        ))
    }
}

/// Addresses with spaces between them.
fn split(addresses: &str) -> Vec<String> {
    addresses.split(' ').map(str::to_owned).collect()
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
    /// The words of stories in each state that there is, on which somebody else has commented.
    stated: Vec<String>,
    addresses: BTreeSet<String>,
}

impl Withheld {
    async fn new() -> Self {
        // Tweets of people with followers are read from their own timelines, at once.
        let community = Community::new(Engine::Memory, &[("timelines.pull_limit", "0")]).await;
        let server = &community.server;
        let [dave, mutey, blocky, rita] = server.people(["dave", "mutey", "blocky", "rita"]).await;
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
        let mut stated = Vec::new();
        for state in State::EXAMPLES {
            let word = format!("qstate{}", State::stored(state).word());
            let story =
                dave.submit_link(&format!("Story {word}"), &format!("http://example.com/{word}")).await;
            mutey.comment(story, "A comment by somebody else").await;
            server.set_field(&format!("news:{story}"), "withheld", state).await;
            stated.push(word);
        }
        let highest = server.visitor().get("/v0/maxitem.json").await.json().as_u64().unwrap();
        for mute in
            ["user&value=mutey", "word&value=qword", "word&value=comment qsite", "word&value=tweet qsite"]
        {
            ok(rita.call(&format!("/api/mute?what={mute}")).await);
        }
        ok(rita.call("/api/mute?what=domain&value=muted.example").await);
        ok(rita.call("/api/block?username=blocky").await);
        rita.post("/inbox/feed", &[("feed", "new")]).await;
        let secret = server.field(&format!("user:{}", rita.user_id), "inbox_feed").await.unwrap();
        let mut addresses = addresses();
        addresses.insert(format!("/inbox/feed/{}-{secret}", rita.user_id));
        for things in [&open, &removed, &held, &flagged] {
            addresses.extend(things.own_pages("dave"));
        }
        addresses.extend(muted[0].own_pages("mutey"));
        addresses.extend(muted[1].own_pages("blocky"));
        // The stories in each state and the comments on them, by number.
        for number in (1..=highest).rev().take(2 * stated.len()) {
            addresses.extend([format!("/v0/item/{number}.json"), format!("/api/v1/items/{number}")]);
        }
        let muted = muted.into_iter().chain([site]).collect();
        Self { community, dave, rita, open, removed, held, flagged, muted, stated, addresses }
    }

    /// The words that somebody is sent anywhere, with the addresses. Cached and not.
    async fn found(&self, client: &Client, words: &[&str]) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for is_cached in [false, true] {
            for address in &self.addresses {
                if !is_cached {
                    self.community.server.clear_caches().await;
                }
                let text = client.any_text(address).await;
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

/// The addresses, with spaces between them, are among those at which a word was found.
fn check_found(found: &BTreeSet<(String, String)>, word: &str, addresses: &str) {
    for address in addresses.split(' ') {
        assert!(found.contains(&(word.to_owned(), address.to_owned())), "{word} {address}");
    }
}

#[tokio::test]
async fn only_authors_and_moderators_are_sent_what_is_withheld_on_its_page_and_in_no_list() {
    let site = Withheld::new().await;
    let visitor = site.community.server.visitor();
    let hidden = words(&[&site.removed, &site.held, &site.flagged]);
    let hidden: Vec<&str> = hidden.into_iter().chain(site.stated.iter().map(String::as_str)).collect();
    let mut found = site.found(&visitor, &hidden).await;
    // The title of a merged story stands beside the comments on it.
    found.retain(|(word, address)| word != "qstatemerged" || !address.contains("mutey"));
    assert_eq!(found, BTreeSet::new());
    let found = site.found(&visitor, &[site.open.word]).await;
    let addresses = "/ /latest /best /topic/links /news/1 /everyone /rss /@dave /usercomments/dave/0";
    check_found(&found, site.open.word, addresses);
    for (things, status) in [(&site.removed, [410, 200]), (&site.held, [404; 2]), (&site.flagged, [200; 2])] {
        assert_eq!(visitor.get(&format!("/news/{}", things.story)).await.status, status[0]);
        assert_eq!(visitor.get(&format!("/tweet/{}", things.tweet)).await.status, status[1]);
    }
    let page = visitor.any_text(&format!("/news/{}", site.removed.story)).await;
    assert!(page.contains("removed by a moderator: the reason"), "{page}");
    let sitemap = visitor.text("/sitemap/1").await;
    let is_in = |things: &Things| sitemap.contains(&format!("/news/{}<", things.story));
    assert!(is_in(&site.open) && !is_in(&site.removed) && !is_in(&site.held) && !is_in(&site.flagged));
    // Its author and moderators find it on its own page.
    let server = &site.community.server;
    let moderator = server.moderator("moderator").await;
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
                let text = client.any_text(&address).await.replace('\'', "&#39;");
                assert!(text.contains(things.word) && text.contains(words), "{address}: {text}");
            }
        }
        for list in
            ["/", "/latest", "/best", "/topic/links", "/everyone", "/site/example.com", "/past/2027-01"]
        {
            let text = client.text(list).await;
            for things in [&site.removed, &site.held] {
                assert!(!text.contains(things.word), "{list} {}", things.word);
            }
        }
        assert!(client.text("/latest").await.contains(site.flagged.word));
        let posted = client.text("/usernews/dave/0").await;
        assert!(posted.contains(site.removed.word) && posted.contains(site.held.word));
    }
}

#[tokio::test]
async fn a_reader_is_sent_what_is_muted_or_flagged_only_on_demand_whatever_others_have_read() {
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
    let addresses = "/ /latest /best /topic/links /news/1 /home /everyone /inbox /api/getcomments/1";
    check_found(&open, site.open.word, addresses);
    let others = site.found(&visitor, &muted).await;
    for word in &muted {
        check_found(&others, word, "/latest /news/1 /everyone");
    }
    // The reader can ask for what is muted.
    for address in ["/latest/0?hidden=1", "/news/1?hidden=1", "/home?hidden=1", "/api/getcomments/1?hidden=1"]
    {
        let text = rita.text(address).await;
        assert!(muted.iter().all(|word| text.contains(word)), "{address}: {text}");
        assert!(!text.contains(site.removed.word) && !text.contains(site.held.word), "{address}");
    }
    // Or choose to be shown what flags have hidden.
    let word = site.flagged.word;
    let places = ["/latest", "/news/1", "/everyone", "/api/getcomments/1", "/usernews/dave/0", "/home"];
    for address in places {
        assert!(!rita.text(address).await.contains(word), "{address}");
    }
    ok(rita.call("/api/updateprofile?about=&email=&show_hidden=1").await);
    for address in places {
        let text = rita.text(address).await;
        assert!(text.contains(word) && !text.contains(site.removed.word), "{address}");
    }
    ok(rita.api_post("/api/updateprofile", &[("about", ""), ("email", ""), ("show_hidden", "0")]).await);
    assert!(!rita.text("/latest").await.contains(word));
}

#[tokio::test]
async fn what_is_gone_cannot_be_voted_on_answered_or_edited_and_comments_keep_their_place_without_a_text() {
    let site = Withheld::new().await;
    site.community.server.set_karma(&site.rita, 100).await;
    let (rita, dave) = (&site.rita, &site.dave);
    let removed = "A moderator has removed this";
    refused_saying(rita.vote(site.removed.story, "up").await, removed);
    refused_saying(rita.try_comment(site.removed.story, None, "Hello").await, removed);
    refused_saying(rita.try_comment(1, Some(site.removed.comment), "Hello").await, removed);
    refused_saying(rita.vote_comment(1, site.removed.comment, "up").await, removed);
    refused_saying(dave.edit_comment(1, site.removed.comment, "Other words").await, removed);
    refused_saying(dave.edit(site.removed.story, "Other", "http://example.com/other", "").await, removed);
    refused_saying(rita.vote(site.held.story, "up").await, "no such story");
    refused_saying(dave.vote(site.held.story, "up").await, "approval");
    ok(rita.vote(site.flagged.story, "up").await);
    let visitor = site.community.server.visitor();
    let reply = site.community.alice.reply(1, site.open.comment, "A reply below").await;
    site.community.server.set_field("news:1", "comments", "9").await;
    let thread = visitor.thread(1).await;
    let entry = |id: u64| thread.iter().find(|comment| comment["id"] == id).cloned();
    let removed = entry(site.removed.comment).unwrap();
    has_members(&removed, serde_json::json!({"removed": "the reason", "body": "", "html": ""}));
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
    has_members(muted, serde_json::json!({"muted": true, "body": "", "username": "[muted user]"}));
}

/// Something that is gone, in one of the ways in which things go. Each text has a word to ask for and one that nobody
/// may be told: pages repeat what was asked for.
pub(crate) struct Gone {
    pub(crate) way: &'static str,
    story: u64,
    comment: u64,
    tweet: u64,
    /// Its author.
    pub(crate) author: Client,
}

pub(crate) fn told(way: &str) -> String {
    format!("{way}told")
}

/// A site on which everything has happened to somebody's story, comment and tweet.
pub(crate) struct GoneSite {
    pub(crate) community: Community,
    pub(crate) rita: Client,
    pub(crate) gone: Vec<Gone>,
    /// The words of profiles that nobody may be told.
    profiles: Vec<String>,
    pub(crate) addresses: BTreeSet<String>,
}

/// Why a moderator did something. Of a removal, readers see it.
fn reason_of(action: &str) -> &'static str {
    if action == "reject" { "neverwhy" } else { "why" }
}

/// The settings of such a site.
pub(crate) const GONE_SETTINGS: [(&str, &str); 2] =
    [("timelines.pull_limit", "0"), ("search.enabled", "true")];

const AUTHOR_DID: [&str; 1] = ["wayauthor"];
const HELD: [&str; 4] = ["wayheld", "waydropped", "wayrejected", "waydenied"];

impl GoneSite {
    async fn new() -> Self {
        Self::on(Server::start(Engine::Memory, &GONE_SETTINGS).await, async |_, _| {}).await
    }

    /// The same on a server. `prepare` gets the community and rita before anything is written that goes.
    pub(crate) async fn on(server: Server, prepare: impl AsyncFnOnce(&Community, &Client)) -> Self {
        let community = Community::on(server).await;
        let server = &community.server;
        let alice = &community.alice;
        let [dave, heidi, ben, lea, erin, rita] = [
            server.member("dave").await,
            server.member("heidi").await,
            server.member("ben").await,
            server.register("lea").await,
            server.register("erin").await,
            server.member("rita").await,
        ];
        let fay = server.member("fay").await;
        for name in ["dave", "heidi", "ben", "lea", "erin", "fay"] {
            rita.follow(name).await;
        }
        prepare(&community, &rita).await;
        let act = async |action: &str, kind: &str, id: &str, more: &[(&str, &str)]| {
            let more = [&[("reason", reason_of(action))], more].concat();
            ok(alice.moderate(action, (kind, id), &more).await)
        };
        act("hold", "user", "heidi", &[]).await;
        let mut gone = Vec::new();
        let ways = ["wayauthor", "wayremoved", "wayflagged", "wayerased", "waymerged"];
        let by_others = ways.iter().map(|way| (*way, &dave)).chain([("wayleft", &erin)]);
        for (way, author) in by_others.chain(HELD.map(|way| (way, &heidi))) {
            let (title, url) =
                (format!("{way} {}", told(way)), format!("http://{}.example/{way}", told(way)));
            let story = author.submit_link_on("links", &title, &url).await;
            let comment = author.comment(1, &format!("Comment {title} for @rita")).await;
            // Comments on what is gone do not name it. What is merged has its comments elsewhere.
            if !HELD.contains(&way) && way != "waymerged" {
                alice.comment(story, "Below a story").await;
            }
            let tweet = author.tweet(&format!("Tweet {title} for @rita")).await;
            server.finish_jobs().await;
            let things = [
                ("story", story.to_string()),
                ("comment", format!("1-{comment}")),
                ("tweet", tweet.to_string()),
            ];
            match way {
                "wayauthor" | "waydropped" => {
                    ok(author.delete(story).await);
                    ok(author.edit_comment(1, comment, "").await);
                    ok(author.call(&format!("/api/deltweet?tweet_id={tweet}")).await);
                }
                "wayremoved" | "wayrejected" | "wayerased" | "waydenied" => {
                    for (kind, id) in &things {
                        match way {
                            "wayerased" => act("erase", kind, id, &[("confirm", id)]).await,
                            "wayrejected" => act("reject", kind, id, &[]).await,
                            _ => act("remove", kind, id, &[]).await,
                        };
                    }
                }
                "wayflagged" => {
                    let things = Things { word: way, story, comment, tweet };
                    things.withhold(server, "flagged:").await;
                }
                "waymerged" => {
                    act("merge", "story", &things[0].1, &[("into", "2")]).await;
                    act("remove", "comment", &things[1].1, &[]).await;
                    act("remove", "tweet", &things[2].1, &[]).await;
                }
                _ => {}
            }
            gone.push(Gone { way, story, comment, tweet, author: author.clone() });
        }
        // A profile that is gone: its owner is banned, has left, or flags have hidden it.
        let mut profiles = Vec::new();
        let owners = [(&ben, "ben"), (&fay, "fay"), (&lea, "lea"), (&erin, "erin"), (&dave, "dave")];
        for (author, name) in owners {
            let [about, fullname] = ["about", "full"].map(|part| format!("{part}{name}told"));
            ok(author.call(&format!("/api/updateprofile?about={about}&fullname={fullname}&email=")).await);
            author.comment(1, "A comment that stays for @rita").await;
            author.tweet("A post that stays").await;
            profiles.push(about);
            // Flags hide the text alone.
            profiles.extend((name != "dave").then_some(fullname));
        }
        act("ban", "user", "ben", &[]).await;
        act("ban", "user", "fay", &[("hours", "1000")]).await;
        let key = |client: &Client| format!("user:{}", client.user_id);
        server.set_field(&key(&dave), "withheld", "flagged:").await;
        for (author, writings) in [(&lea, "keep"), (&erin, "erase")] {
            let left = [("password", crate::client::PASSWORD), ("writings", writings), ("confirm", "1")];
            author.post("/settings/deactivate", &left).await;
        }
        server.finish_jobs().await;
        assert!(server.hash("user:6").await.contains_key("deactivated"), "{:?}", server.hash("user:6").await);

        rita.post("/inbox/feed", &[("feed", "new")]).await;
        let secret = server.field(&key(&rita), "inbox_feed").await.unwrap();
        let mut addresses = addresses();
        addresses.insert(format!("/inbox/feed/{}-{secret}", rita.user_id));
        addresses.insert("/v0/maxitem.json".to_owned());
        let highest: u64 = server.string("items.count").await.unwrap().parse().unwrap();
        for number in 1..=highest {
            addresses.insert(format!("/v0/item/{number}.json"));
            addresses.insert(format!("/api/v1/items/{number}"));
        }
        addresses.insert("/@rita/followings".to_owned());
        for name in ["dave", "heidi", "ben", "fay", "lea", "erin"] {
            let own = Things { word: "", story: 1, comment: 1, tweet: 1 }.own_pages(name);
            addresses.extend(own);
            let others = format!("/user/{name} /user/{name}/json /flag/user/{name} /api/v1/users/{name}");
            addresses.extend(split(&others));
        }
        for Gone { way, story, comment, .. } in &gone {
            addresses.extend(
                Things { word: way, story: *story, comment: *comment, tweet: *story }.own_pages("dave"),
            );
            let words = told(way);
            addresses.extend(split(&format!(
                "/flag/story/{story} /flag/comment/1-{comment} /flag/tweet/{story} /api/getnews/{story} \
                 /api/duplicate?url=http%3A%2F%2F{words}.example%2F{way} /search?q={way}&kind=all \
                 /search?q={way}&kind=comments /search.atom?q={way} /api/search?q={way}&kind=all \
                 /api/v1/search?query={way} /api/v1/search_by_date?query={way}"
            )));
        }
        Self { community, rita, gone, profiles, addresses }
    }

    /// What nobody may be told.
    fn words(&self) -> Vec<String> {
        self.gone.iter().map(|gone| told(gone.way)).chain(self.profiles.clone()).collect()
    }
}

/// Everything that an export of the site has.
pub(crate) async fn exported(server: &Server) -> String {
    let mut export = SiteExport::begin(server.app.site.clone(), server.app.now()).await.unwrap();
    let mut lines = String::new();
    for section in SiteSection::iter() {
        export.begin_section();
        while let Some(part) = export.next(section).await.unwrap() {
            part.into_iter().for_each(|exported| lines.push_str(&archive::line(exported).unwrap()));
        }
    }
    lines
}

#[tokio::test]
async fn whatever_is_gone_is_gone_from_every_address_feed_call_and_export_and_leaves_no_trace() {
    let site = GoneSite::new().await;
    let server = &site.community.server;
    let visitor = server.visitor();
    let words = site.words();
    let mut wrong = BTreeSet::new();
    for (name, reader) in [("visitor", &visitor), ("rita", &site.rita)] {
        for address in &site.addresses {
            let text = reader.any_text(address).await;
            for word in words.iter().filter(|word| text.contains(&***word)) {
                // A list that was asked for what is hidden has what flags have hidden, and the page of a story names those
                // that were merged into it. One answer repeats the address that it was asked about.
                let is_asked_for = address.contains("hidden=1") && name == "rita"
                    || address == "/news/2" && *word == told("waymerged")
                    || address.contains("/api/duplicate") && !text.contains("title");
                if !is_asked_for {
                    wrong.insert(format!("{name} {address} {word}"));
                }
            }
        }
    }
    let export = exported(server).await;
    assert!(export.contains("A comment that stays"));
    wrong.extend(words.iter().filter(|word| export.contains(&***word)).map(|word| format!("export {word}")));
    assert!(wrong.is_empty(), "{wrong:#?}");
    leaves_no_trace(&site).await;
}

#[tokio::test]
async fn webhooks_are_told_nothing_of_what_is_gone_and_never_what_readers_never_saw() {
    let status = Arc::new(AtomicU16::new(503));
    let answered = status.clone();
    let receiver =
        PageServer::start(move |_| Reply::with(&format!("{} X", answered.load(Relaxed)), "x: y", b"")).await;
    let network = receiver.network();
    let adjust = |settings: &mut Settings| settings.titles.network = network;
    let server = Server::start_adjusted_on(Engine::Memory, &GONE_SETTINGS, adjust).await;
    let site = GoneSite::on(server, async |community, _| {
        let kinds = "story,comment,flag,signup,queue,decision";
        let address = receiver.url("/");
        let fields = format!("address={address}&secret=correct horse battery&kinds={kinds}&format=full");
        ok(community.alice.call(&format!("/api/admin/hooks?{fields}")).await);
    })
    .await;
    let server = &site.community.server;
    // Messages from before wait for another attempt.
    let before = receiver.requests().len();
    status.store(204, Relaxed);
    tidings_testing::until(async || server.sorted("hooks:events").await.is_empty()).await;
    server.advance(3_600);
    tidings_testing::until(async || server.sorted("hooks:outbox:1").await.is_empty()).await;
    let requests = receiver.requests();
    let mut wrong = BTreeSet::new();
    for (number, request) in requests.iter().enumerate() {
        let is_wrong = |way: &str| number >= before || HELD.contains(&way);
        let words = site.gone.iter().filter(|gone| is_wrong(gone.way)).map(|gone| told(gone.way));
        let profiles = site.profiles.iter().filter(|_| number >= before).cloned();
        wrong.extend(words.chain(profiles).filter(|word| request.contains(word)).map(|word| (number, word)));
    }
    assert!(wrong.is_empty(), "{wrong:?} of {before} before: {requests:#?}");
    assert!(requests[before..].iter().any(|request| request.contains("A comment that stays")));
}

#[tokio::test]
async fn mails_have_nothing_of_what_is_gone() {
    let mut relay = SmtpServer::start().await;
    relay.refuse(true);
    let address = relay.relay();
    let mail = [("mail.relay", &*address), ("mail.from", "news@example.com")];
    let mail = [&GONE_SETTINGS[..], &mail, &[("site.url", "https://news.example.com")]].concat();
    let site = GoneSite::on(Server::start(Engine::Memory, &mail).await, async |community, rita| {
        let wanted = [("mail_replies", "1"), ("digest", "daily")];
        crate::mails::prefer(&community.server, rita, &wanted).await;
    })
    .await;
    let (server, id) = (&site.community.server, site.rita.user_id);
    // As if everything were still in the inbox, and waited to be mailed.
    let mut batch = Batch::new();
    for Gone { comment, tweet, .. } in &site.gone {
        for entry in [format!("mention:1-{comment}"), format!("mention:tweet:{tweet}")] {
            let mail = format!("replies:{id}:{entry}");
            for (key, member) in [
                (format!("user:{id}:inbox"), &entry),
                (format!("user:{id}:unread"), &entry),
                ("mail:outbox".to_owned(), &mail),
                ("mail:written".to_owned(), &mail),
            ] {
                batch.sorted_add(key, member, server.now() as f64);
            }
        }
    }
    server.commit(batch).await;
    relay.refuse(false);
    // To the morning of the next day, when digests are due.
    server.advance(22 * 3_600);
    crate::mails::send_all(server).await;
    let mut mails = Vec::new();
    while relay.waiting() > 0 {
        mails.push(relay.next_message().await.text());
    }
    let words = site.words();
    for mail in &mails {
        assert!(!words.iter().any(|word| mail.contains(&**word)), "{mail}");
    }
    let has = |text: &str| mails.iter().any(|mail| mail.contains(text));
    assert!(has("A comment that stays") && has("A link"), "{mails:#?}");
}

#[in_memory(&GONE_SETTINGS)]
async fn streams_are_told_nothing_of_what_is_gone(server: Server) {
    let mut channel = server.store().subscribe("tweets");
    let site = GoneSite::on(server, async |_, _| {}).await;
    // A page that was opened before all of it hears of what is there.
    let home = ok(site.rita.api_get("/api/timeline/home").await);
    let seen = home["tweets"].as_array().unwrap().len() as u64;
    let mut events = Events::open(&site.rita, "/home/events?since=1-1").await;
    assert!(seen > 0, "{home}");
    assert_eq!(events.count().await, seen, "{home}");
    let last = site.community.alice.tweet("The last").await;
    let mut announced = BTreeSet::new();
    while !announced.contains(&last) {
        if let Some(Notice::Message(message)) = channel.next().await {
            let (_, id) = message.rsplit_once('-').unwrap();
            announced.insert(id.parse::<u64>().unwrap());
        }
    }
    for gone in site.gone.iter().filter(|gone| HELD.contains(&gone.way)) {
        assert!(!announced.contains(&gone.tweet), "{}", gone.way);
    }
}

#[in_memory(&[("timelines.pull_limit", "0")])]
async fn a_full_name_stands_beside_posts_unless_its_owner_is_banned(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    ok(bob.call("/api/updateprofile?about=&fullname=Robert van Dijk&email=").await);
    bob.tweet("A post").await;
    alice.follow("bob").await;
    server.finish_jobs().await;
    let all = ["/everyone", "/@bob", "/@alice/followings", "/suggestions", "/api/timeline/everyone"];
    let shown = async |reader: &Client| {
        let mut shown = BTreeSet::new();
        for address in all {
            // Twice, for what is cached.
            for _ in 0..2 {
                if reader.text(address).await.contains("van Dijk") {
                    shown.insert(address);
                }
            }
        }
        shown
    };
    let carol = server.member("carol").await;
    assert_eq!(shown(&carol).await, BTreeSet::from(all));
    ok(alice.moderate("ban", ("user", "bob"), &[("reason", "why"), ("hours", "2")]).await);
    assert_eq!(shown(&carol).await, BTreeSet::new());
    server.advance(3 * 3_600);
    assert_eq!(shown(&carol).await, BTreeSet::from(all));
}

#[tokio::test]
async fn what_was_rejected_before_there_were_marks_leaves_no_trace_after_the_migration() {
    let site = GoneSite::new().await;
    let server = &site.community.server;
    let before = server.dump().await;
    let mut batch = Batch::new();
    for gone in &site.gone {
        batch.delete_field(format!("news:{}", gone.story), "unseen");
        batch.delete_field(format!("tweet:{}", gone.tweet), "unseen");
    }
    batch.set("layout:version", "8");
    server.commit(batch).await;
    for gone in &site.gone {
        // A removal was a record of its own.
        let (thread, field) = ("thread:comment:1", gone.comment.to_string());
        let mut comment: Value = serde_json::from_str(&server.field(thread, &field).await.unwrap()).unwrap();
        let members = comment.as_object_mut().unwrap();
        members.remove("unseen");
        let (story, tweet) = (format!("news:{}", gone.story), format!("tweet:{}", gone.tweet));
        let removals = [
            (format!("story:{}", gone.story), server.field(&story, "removed").await.map(Value::from)),
            (format!("comment:1-{}", gone.comment), members.remove("removed")),
            (tweet.clone(), server.field(&tweet, "removed").await.map(Value::from)),
        ];
        let mut batch = Batch::new();
        batch.set_field(thread, &field, comment.to_string());
        batch.delete_field(story, "removed");
        batch.delete_field(tweet, "removed");
        for (thing, removed) in removals {
            let Some(removed) = removed else { continue };
            let removed = removed.as_str().unwrap();
            let (line, earlier) = removed.split_once(' ').unwrap_or((removed, ""));
            batch.set_field(format!("withdrawn:{thing}"), "moderation", line);
            if !earlier.is_empty() {
                batch.set_field(format!("withdrawn:{thing}"), "earlier", earlier);
            }
        }
        server.commit(batch).await;
    }
    assert_ne!(server.dump().await["thread:comment:1"], before["thread:comment:1"]);
    server.migrate().await;
    server.clear_caches().await;
    assert_eq!(server.dump().await["thread:comment:1"], before["thread:comment:1"]);
    leaves_no_trace(&site).await;
}

/// What readers never saw leaves no trace for strangers.
async fn leaves_no_trace(site: &GoneSite) {
    let server = &site.community.server;
    let visitor = server.visitor();
    let items = server.sorted("items").await;
    let shown = async |item: &str| {
        let (_, number) = items.iter().find(|(member, _)| member == item).unwrap();
        visitor.get(&format!("/v0/item/{number}.json")).await.json()
    };
    for gone in site.gone.iter().filter(|gone| HELD.contains(&gone.way)) {
        for reader in [&visitor, &site.rita] {
            let post = format!("/tweet/{}", gone.tweet);
            for address in [format!("/news/{}", gone.story), format!("/news/{}/atom", gone.story), post] {
                assert_eq!(reader.get(&address).await.status, 404, "{} {address}", gone.way);
            }
            let thread = reader.thread(1).await;
            assert!(thread.iter().all(|comment| comment["id"] != gone.comment), "{} {thread:?}", gone.way);
            for address in
                ["/news/1", "/api/getcomments/1", &format!("/news/1?at={}", gone.comment), "/comments"]
            {
                let text = reader.any_text(address).await;
                let traces = [format!("comment-{}\"", gone.comment), "neverwhy".to_owned()];
                assert!(!traces.iter().any(|trace| text.contains(trace)), "{} {address} {text}", gone.way);
            }
        }
        for item in [format!("news:{}", gone.story), format!("comment:1:{}", gone.comment)] {
            assert_eq!(shown(&item).await, Value::Null, "{} {item}", gone.way);
        }
    }
    // Others say that they are gone.
    for way in AUTHOR_DID {
        let gone = site.gone.iter().find(|gone| gone.way == way).unwrap();
        assert_eq!(shown(&format!("news:{}", gone.story)).await["deleted"], true);
    }
}

#[in_memory]
async fn the_highest_number_is_that_of_the_last_item_that_a_visitor_can_see(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    let highest = async || server.visitor().get("/v0/maxitem.json").await.json().as_u64().unwrap();
    assert_eq!(highest().await, 0);
    let story = bob.submit_text("A story", "text").await;
    assert_eq!(highest().await, 1);
    let moderate = async |action: &str, kind: &str, id: &str| {
        ok(alice.moderate(action, (kind, id), &[("reason", "why")]).await);
    };
    moderate("hold", "user", "bob").await;
    let mut held = Vec::new();
    for number in 0..7 {
        held.push(bob.comment(story, &format!("Comment {number}")).await);
    }
    assert_eq!(highest().await, 1);
    moderate("reject", "comment", &format!("{story}-{}", held[6])).await;
    ok(bob.edit_comment(story, held[5], "").await);
    assert_eq!(highest().await, 1);
    moderate("approve", "comment", &format!("{story}-{}", held[2])).await;
    assert_eq!(highest().await, 4);
    alice.comment(story, "Another").await;
    assert_eq!(highest().await, 9);
}
