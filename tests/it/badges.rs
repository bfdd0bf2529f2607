//! The badge of what a user has not seen: it counts what is there, whatever is posted,
//! deleted and read, and whoever does it at the same time.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::client::{Client, ok};
use crate::concurrency::at_once;
use crate::pages::page;
use crate::server::{Engine, Server, each_engine, in_memory};

/// The number of unread entries of an inbox.
pub async fn badge(user: &Client) -> i64 {
    ok(user.api_get("/api/inbox?count=1").await)["unread"].as_i64().unwrap()
}

/// The unread entries that a user is shown.
async fn unread(user: &Client) -> BTreeSet<String> {
    let answer = ok(user.api_get("/api/inbox?count=100").await);
    let entries = answer["entries"].as_array().unwrap().iter().filter(|entry| entry["read"] == false);
    entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

async fn read_all(user: &Client) -> serde_json::Value {
    user.call("/api/readinbox?id=all").await
}

async fn delete_tweet(author: &Client, id: u64) {
    ok(author.api_post("/api/deltweet", &[("tweet_id", &id.to_string())]).await);
}

#[in_memory]
async fn what_is_deleted_before_it_is_seen_is_counted_no_more(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let comment = alice.comment(news, "a comment").await;
    let tweets = [bob.tweet("hello @alice").await, bob.tweet("@alice and @ALICE").await];
    let replies = [bob.reply(news, comment, "one").await, bob.reply(news, comment, "two").await];
    assert_eq!(badge(&alice).await, 4);
    delete_tweet(&bob, tweets[0]).await;
    ok(bob.edit_comment(1, replies[0], "").await);
    ok(bob.edit_comment(1, replies[0], "").await);
    assert_eq!(badge(&alice).await, 2);
    // Looking changes nothing.
    for path in ["/inbox", "/api/inbox"] {
        assert!(alice.get(path).await.status.is_success());
    }
    assert_eq!(badge(&alice).await, 2);
    ok(read_all(&alice).await);
    assert_eq!(badge(&alice).await, 0);
    // These have been seen.
    delete_tweet(&bob, tweets[1]).await;
    bob.tweet("@alice again").await;
    ok(bob.edit_comment(1, replies[1], "").await);
    assert_eq!(badge(&alice).await, 1);
}

#[each_engine("other versions")]
async fn a_badge_that_another_program_has_reset_does_not_fall_below_zero(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let tweet = bob.tweet("hello @alice").await;
    server.set_field(&format!("user:{}", alice.user_id), "replies", "0").await;
    ok(alice.api_post("/api/readinbox", &[("id", &format!("mention:tweet:{tweet}"))]).await);
    assert_eq!(server.number(&format!("user:{}", alice.user_id), "replies").await, 0);
}

#[in_memory]
async fn the_mentions_of_a_deactivated_account_are_counted_no_more(server: Server) {
    let (alice, bob) = (server.member("alice").await, server.register("bob").await);
    for number in 0..200 {
        bob.tweet(&format!("hello @alice {number}")).await;
    }
    assert_eq!(badge(&alice).await, 200);
    crate::inbox::deactivate(&bob).await;
    assert_eq!(badge(&alice).await, 0);
}

#[in_memory(&[("limits.mentions_per_day", "3")])]
async fn mentions_notify_so_many_people_a_day(server: Server) {
    let author = server.member("author").await;
    let members = server.members(5).await;
    let [a, b, c, d, e] = &members[..] else { unreachable!() };
    author.tweet("@member-0 @member-1 @author").await;
    // People who have been notified today are notified again.
    author.tweet("@member-1 @member-0 @member-2 @member-3").await;
    let last = author.tweet("@member-4 @member-2").await;
    let badges = async || {
        let mut badges = Vec::new();
        for member in [a, b, c, d, e] {
            badges.push(badge(member).await);
        }
        badges
    };
    assert_eq!(badges().await, [2, 2, 2, 0, 0]);
    assert_eq!(server.ids(&format!("user:{}:mentions", e.user_id)).await, Vec::<u64>::new());
    delete_tweet(&author, last).await;
    assert_eq!(badges().await, [2, 2, 1, 0, 0]);
    // The limit is the author's.
    a.tweet("@member-4").await;
    server.advance(86_400);
    author.tweet("@member-4").await;
    assert_eq!(badges().await, [2, 2, 1, 0, 2]);
}

#[each_engine("races", &[("limits.mentions_per_day", "5")])]
async fn concurrent_mentions_notify_no_more_people(server: Server) {
    let author = server.member("author").await;
    let members = server.members(12).await;
    at_once((0..12).map(|number| {
        let author = author.clone();
        async move { author.tweet(&format!("@member-{number}")).await }
    }))
    .await;
    let mut notified = 0;
    for member in &members {
        notified += badge(member).await;
    }
    assert_eq!(notified, 5);
}

#[each_engine("races")]
async fn posts_deletions_and_looks_at_the_same_time_leave_an_exact_badge(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let comment = alice.comment(news, "a comment").await;
    at_once((0..24).map(|number| {
        let (alice, bob) = (alice.clone(), bob.clone());
        async move {
            let tweet = bob.tweet("@alice").await;
            let reply = bob.reply(news, comment, "a reply").await;
            if number % 4 == 0 {
                ok(read_all(&alice).await);
            }
            delete_tweet(&bob, tweet).await;
            ok(bob.edit_comment(1, reply, "").await);
        }
    }))
    .await;
    assert_eq!((badge(&alice).await, unread(&alice).await.len()), (0, 0));
    // Entries that cannot be seen are not marked.
    let counted = server.number("user:1", "replies").await;
    ok(read_all(&alice).await);
    assert_eq!(server.number("user:1", "replies").await, counted);
    let stored = server.sorted("user:1:unread").await.len();
    assert_eq!(i64::try_from(stored).unwrap(), counted);
}

#[derive(Debug, Clone)]
enum Step {
    /// The author tweets at a reader.
    Mention(usize),
    /// The author answers the comment of a reader.
    Reply(usize),
    /// The author comments on the story, and mentions a reader.
    Comment(usize),
    DeleteTweet(prop::sample::Index),
    DeleteComment(prop::sample::Index),
    Follow(usize),
    Unfollow(usize),
    Subscribe(usize),
    Unsubscribe(usize),
    /// The reader marks one entry as read.
    ReadOne(usize, prop::sample::Index),
    ReadAll(usize),
    Look(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let reader = || 0..2_usize;
    prop_oneof![
        4 => reader().prop_map(Step::Mention),
        4 => reader().prop_map(Step::Reply),
        4 => reader().prop_map(Step::Comment),
        3 => any::<prop::sample::Index>().prop_map(Step::DeleteTweet),
        4 => any::<prop::sample::Index>().prop_map(Step::DeleteComment),
        1 => reader().prop_map(Step::Follow),
        1 => reader().prop_map(Step::Unfollow),
        2 => reader().prop_map(Step::Subscribe),
        2 => reader().prop_map(Step::Unsubscribe),
        2 => (reader(), any::<prop::sample::Index>()).prop_map(|(reader, index)| Step::ReadOne(reader, index)),
        1 => reader().prop_map(Step::ReadAll),
        1 => reader().prop_map(Step::Look),
    ]
}

/// A reader's unread entries, and the state that decides which entries are added.
#[derive(Default)]
struct Reader {
    unread: BTreeSet<String>,
    is_subscribed: bool,
    has_left: bool,
    /// The author has followed the reader before: the reader is not told again.
    was_followed: bool,
    /// The entry about that is unread, and the author does not follow now.
    has_hidden_follow: bool,
}

impl Reader {
    /// A comment of the author, which answers the reader or mentions the reader, or neither.
    fn hear(&mut self, comment: u64, is_answered: bool, is_mentioned: bool) {
        if !self.has_left && (is_answered || self.is_subscribed) {
            self.unread.insert(format!("reply:1-{comment}"));
        } else if is_mentioned {
            self.unread.insert(format!("mention:1-{comment}"));
        }
    }
}

/// The author and two readers, each with a comment.
struct Cast {
    server: Server,
    author: Client,
    readers: Vec<Client>,
    comments: [u64; 2],
    written: (Vec<u64>, Vec<u64>),
    expected: [Reader; 2],
}

impl Cast {
    async fn new() -> Self {
        let server = Server::start(Engine::Memory, &[]).await;
        let author = server.member("author").await;
        let readers = server.members(2).await;
        let news = author.submit_text("A story", "text").await;
        let comments = [readers[0].comment(news, "one").await, readers[1].comment(news, "two").await];
        Self { server, author, readers, comments, written: Default::default(), expected: Default::default() }
    }

    async fn take(&mut self, step: &Step) {
        let (author, expected) = (&self.author, &mut self.expected);
        let (tweets, comments) = &mut self.written;
        match step {
            Step::Mention(reader) => {
                let id = author.tweet(&format!("hello @member-{reader}")).await;
                tweets.push(id);
                expected[*reader].unread.insert(format!("mention:tweet:{id}"));
            }
            Step::Reply(reader) | Step::Comment(reader) => {
                let is_reply = matches!(step, Step::Reply(_));
                let id = match is_reply {
                    true => author.reply(1, self.comments[*reader], "a reply").await,
                    false => author.comment(1, &format!("hello @member-{reader}")).await,
                };
                comments.push(id);
                for (other, one) in expected.iter_mut().enumerate() {
                    let is_it = other == *reader;
                    one.hear(id, is_reply && is_it, !is_reply && is_it);
                }
            }
            Step::DeleteTweet(index) if !tweets.is_empty() => {
                let id = tweets.swap_remove(index.index(tweets.len()));
                delete_tweet(author, id).await;
                expected.iter_mut().for_each(|one| _ = one.unread.remove(&format!("mention:tweet:{id}")));
            }
            Step::DeleteComment(index) if !comments.is_empty() => {
                let id = comments.swap_remove(index.index(comments.len()));
                ok(author.edit_comment(1, id, "").await);
                expected
                    .iter_mut()
                    .for_each(|one| one.unread.retain(|entry| !entry.ends_with(&format!(":1-{id}"))));
            }
            Step::DeleteTweet(_) | Step::DeleteComment(_) => {}
            Step::Follow(reader) => {
                author.follow(&format!("member-{reader}")).await;
                let one = &mut expected[*reader];
                let is_told = !std::mem::replace(&mut one.was_followed, true);
                // An unread entry is shown again.
                if is_told || std::mem::take(&mut one.has_hidden_follow) {
                    one.unread.insert(format!("follow:{}", author.user_id));
                }
            }
            Step::Unfollow(reader) => {
                let name = format!("member-{reader}");
                ok(author.api_post("/api/unfollow", &[("username", &name)]).await);
                let was_unread = expected[*reader].unread.remove(&format!("follow:{}", author.user_id));
                expected[*reader].has_hidden_follow |= was_unread;
            }
            _ => self.read(step).await,
        }
    }

    /// Takes a step of the readers.
    async fn read(&mut self, step: &Step) {
        match step {
            Step::Subscribe(reader) | Step::Unsubscribe(reader) => {
                let is_subscribed = matches!(step, Step::Subscribe(_));
                let path = if is_subscribed { "/api/subscribe" } else { "/api/unsubscribe" };
                ok(self.readers[*reader].api_post(path, &[("news_id", "1")]).await);
                let one = &mut self.expected[*reader];
                (one.is_subscribed, one.has_left) = (is_subscribed, !is_subscribed);
            }
            Step::ReadOne(reader, index) => {
                let unread = &mut self.expected[*reader].unread;
                let entry =
                    (!unread.is_empty()).then(|| unread.iter().nth(index.index(unread.len())).unwrap());
                let entry = entry.cloned().unwrap_or_else(|| "reply:1-999".to_owned());
                unread.remove(&entry);
                ok(self.readers[*reader].api_post("/api/readinbox", &[("id", &entry)]).await);
            }
            Step::ReadAll(reader) => {
                ok(read_all(&self.readers[*reader]).await);
                self.expected[*reader].unread.clear();
            }
            Step::Look(reader) => _ = self.readers[*reader].get("/inbox").await,
            _ => {}
        }
    }
}

/// Checks the badges and what is unread after each step.
async fn check(steps: &[Step]) {
    let mut cast = Cast::new().await;
    for step in steps {
        cast.take(step).await;
        for (reader, expected) in cast.readers.iter().zip(&cast.expected) {
            assert_eq!(unread(reader).await, expected.unread, "{steps:?}");
            let count = i64::try_from(expected.unread.len()).unwrap();
            assert_eq!(badge(reader).await, count, "{steps:?}");
            let stored = cast.server.sorted(&format!("user:{}:unread", reader.user_id)).await.len();
            let counted = cast.server.number(&format!("user:{}", reader.user_id), "replies").await;
            assert_eq!(i64::try_from(stored).unwrap(), counted, "{steps:?}");
        }
    }
}

#[test]
fn the_badge_counts_what_is_there_and_not_read() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(step(), 1..60);
    TestRunner::new(config)
        .run(&steps, |steps| {
            runtime.block_on(check(&steps));
            Ok(())
        })
        .unwrap();
}

#[in_memory]
async fn what_lamer_news_counts_is_no_badge_over_an_empty_inbox(server: Server) {
    let alice = server.member("alice").await;
    server.set_field("user:1", "replies", "3").await;
    let shown = page(&alice, "/inbox").await;
    assert!(shown.find("span", &[("class", "badge")]).is_empty(), "{}", shown.text());
    assert_eq!(ok(alice.api_get("/api/inbox").await)["unread"], 0);
}
