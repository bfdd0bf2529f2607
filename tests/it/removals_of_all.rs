//! All posts of a person that moderators remove at once, and put back: each once, whatever is killed.

use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::accounts::signup::add_account;
use tidings_domain::comments::posting::{CommentDraft, post_comment};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::submissions::{Submission, submit_news};
use tidings_domain::timelines::tweets::post_tweet;
use tidings_domain::values::{Body, Moment, RateRules, Rules, TweetText, Username};
use tidings_domain::{Site, Visit};
use tidings_keyspace as keyspace;

use crate::client::{Client, has_members, ok, refused_saying};
use crate::consistency::{self, Dump};
use crate::deliveries::has_jobs;
use crate::program::{Program, open_again};
use crate::redis_server::RedisServer;
use crate::removals::{act, assert_same, badge, differences, people, state, undo};
use crate::rolling::secret_of;
use crate::server::{Server, actor, dump, each_engine, in_memory};

/// Lets a spammer post: stories that tweets announce, comments with mentions, replies, and tweets
/// with mentions.
async fn spam(server: &Server, spammer: &Client, (story, count): (u64, usize)) {
    for number in 0..count / 4 {
        let text = format!("spam {number} for @carol");
        spammer.submit_link(&format!("Spam {number}"), &format!("https://spam.example/{number}")).await;
        let comment = spammer.comment(story, &text).await;
        spammer.reply(story, comment.min(2), &text).await;
        spammer.tweet(&text).await;
        server.advance(1);
    }
}

#[each_engine("one of its kind", &[("limits.mentions_per_day", "0")])]
async fn all_posts_of_a_person_go_in_one_line_and_come_back(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    bob.follow("dave").await;
    let story = bob.submit_text("A story", "text").await;
    carol.comment(story, "a comment").await;
    bob.comment(story, "another").await;
    dave.comment(story, "of last month, for @carol").await;
    let old = dave.tweet("of last month").await;
    server.advance(30 * 86_400);
    server.finish_jobs().await;
    // Her first visit after a month earns karma.
    badge(&alice).await;
    let unread = badge(&carol).await;
    spam(&server, &dave, (story, 200)).await;
    dave.reply(story, 1, "a reply").await;
    bob.comment(story, "not his").await;
    server.finish_jobs().await;
    let before = state(&server).await;
    // The inbox of bob has one of his own besides, and 201 of dave's.
    let line = act(&alice, "remove_all", ("user", "dave")).await;
    let start = Instant::now();
    server.finish_jobs().await;
    println!("201 posts removed in {:?}", start.elapsed());
    let entry = bob.log("?count=1").await.remove(0);
    has_members(&entry, json!({"count": 201, "action": "remove_all"}));
    assert_eq!(entry.get("in_progress"), None, "{entry}");
    assert_eq!(badge(&carol).await, unread);
    // The tweet that announces his own story, and the one of last month.
    assert_eq!(server.ids("global_timeline").await, [1, old]);
    assert_eq!(server.ids("news.cron").await, [story]);
    assert!(server.sorted("host.news:spam.example").await.is_empty());
    assert_eq!(server.number(&format!("news:{story}"), "comments").await, 4);
    assert_eq!(differences(&server).await, 0);
    // Something that comes back by itself is not restored twice.
    let one = format!("{story}-4");
    act(&alice, "restore", ("comment", &one)).await;
    let restored = act(&alice, "restore", ("user", "dave")).await;
    server.finish_jobs().await;
    assert_eq!(bob.log("?action=remove_all").await[0]["undone_by"], restored);
    assert_eq!(bob.log("?count=1").await[0]["count"], 200);
    assert_same(&state(&server).await, &before);
    assert_eq!(differences(&server).await, 0);
    refused_saying(alice.undo(line).await, "already been undone");
    refused_saying(alice.undo(restored).await, "can't be undone");
    assert!(server.sorted(&format!("moderation:{line}:posts")).await.is_empty());
}

#[in_memory]
async fn a_removal_of_all_can_be_undone_before_it_is_done(server: Server) {
    let [alice, bob, _, dave] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    spam(&server, &dave, (story, 40)).await;
    let before = state(&server).await;
    let line = act(&alice, "remove_all", ("user", "dave")).await;
    undo(&alice, line).await;
    server.finish_jobs().await;
    assert_same(&state(&server).await, &before);
    let log = bob.log("?count=2").await;
    assert!(log.iter().all(|entry| entry["in_progress"].is_null()), "{log:?}");
    // The latest removal that is in force is the one that a restore is about.
    let first = act(&alice, "remove_all", ("user", "dave")).await;
    server.finish_jobs().await;
    spam(&server, &dave, (story, 2)).await;
    let between = state(&server).await;
    act(&alice, "remove_all", ("user", "dave")).await;
    act(&alice, "restore", ("user", "dave")).await;
    server.finish_jobs().await;
    assert_same(&state(&server).await, &between);
    undo(&alice, first).await;
    server.finish_jobs().await;
    assert!(server.sorted(&format!("moderation:{first}:posts")).await.is_empty());
    let gone = server.dump().await.into_keys().filter(|key| key.starts_with("withdrawn:")).count();
    assert_eq!(gone, 0);
}

/// A store on which a person has posted much, some of it for a victim; an administrator is the first
/// account, the spammer the second.
async fn prepare(store: &keyspace::Store) {
    let rules = Rules { rates: RateRules::off(), ..Rules::default() };
    let site = Arc::new(Site::new(store.clone(), rules, PasswordWorker::new(1, 1_000)));
    let now = Moment::now(&keyspace::EngineClock::System);
    let mut users = Vec::new();
    for name in ["alice", "mallory", "victim"] {
        let id = add_account(&site, now.timestamp(), &Username::parse(name).unwrap()).await.unwrap();
        let mut batch = keyspace::Batch::new();
        batch.set(format!("auth:{}", secret_of(id.0)), id.to_string());
        let secrets = [("auth", secret_of(id.0)), ("apisecret", secret_of(id.0))];
        batch.set_fields(format!("user:{id}"), secrets);
        if id.0 == 1 {
            batch.set_field("user:1", "flags", "a");
        }
        store.commit(batch).await.unwrap();
        let mut visit = Visit::new(site.clone(), now.timestamp(), Some(&secret_of(id.0)));
        users.push(visit.viewer().await.unwrap().unwrap().clone());
    }
    let [alice, mallory, _] = &users[..] else { panic!("three accounts") };
    let submission = Submission::parse("A story", "", "text").unwrap();
    let story = submit_news(&site, now, actor(alice), &submission).await.unwrap().id();
    for number in 0..POSTS / 2 {
        let text = format!("spam {number} for @victim");
        let tweet = TweetText::parse(&text).unwrap();
        post_tweet(&site, now, actor(mallory), &tweet).await.unwrap();
        let comment = Body::parse_comment(&text).unwrap();
        let draft = CommentDraft { news: story, parent: None, body: &comment, speaks_as_moderator: None };
        post_comment(&site, now.timestamp(), actor(mallory), draft).await.unwrap();
    }
}

const POSTS: u64 = 240;
/// Milliseconds after which a server is killed.
const KILLED_AFTER: [u64; 4] = [30, 90, 150, 60];

/// A session of the administrator.
fn administrator(program: &Program) -> Client {
    program.visitor().with_secrets(Some(&secret_of(1)), Some(&secret_of(1)))
}

/// Waits until the first line of the log is no longer in progress; answers its count.
async fn wait_for_the_count(client: &Client) -> u64 {
    tidings_testing::until_ok(async || {
        let log = ok(client.api_get("/api/moderations?count=1").await);
        let line = &log["entries"][0];
        if line["in_progress"] == json!(true) { Err(log) } else { Ok(line["count"].as_u64().unwrap()) }
    })
    .await
}

/// The keys that the removal changes: the posts, and the lists that they are in.
fn posts_of(dump: &Dump) -> Dump {
    let is_about = |key: &str| {
        ["tweet:", "thread:", "global_timeline", "withdrawn:"].iter().any(|prefix| key.starts_with(prefix))
            || ["user_timeline", "home_timeline", "mentions"].iter().any(|list| key.ends_with(list))
            || key == "user:3:inbox"
            || key == "user:3:unread"
    };
    dump.iter().filter(|(key, _)| is_about(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_in_the_middle_removes_and_restores_each_post_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    let store = open_again(&path).await;
    prepare(&store).await;
    let before = dump(&store).await;
    store.close().await;
    drop(store);
    for action in ["remove_all", "restore"] {
        let mut program = Program::start(&url);
        act(&administrator(&program), action, ("user", "mallory")).await;
        let mut interrupted = 0;
        for after in KILLED_AFTER {
            // Not synchronisation: a moment of its own for every kill.
            tokio::time::sleep(Duration::from_millis(after)).await;
            program.kill();
            let store = open_again(&path).await;
            interrupted += usize::from(has_jobs(&store).await);
            store.close().await;
            program = Program::start(&url);
        }
        assert!(interrupted > 0, "no kill hit {action}");
        assert_eq!(wait_for_the_count(&administrator(&program)).await, POSTS, "{action}");
        program.kill();
        let store = open_again(&path).await;
        let after = dump(&store).await;
        let badge = consistency::hash(&after, "user:3")["replies"].clone();
        store.close().await;
        if action == "restore" {
            assert_same(&posts_of(&after), &posts_of(&before));
            assert_eq!(badge, consistency::hash(&before, "user:3")["replies"]);
        } else {
            // The entries stay.
            assert_eq!(badge, consistency::hash(&before, "user:3")["replies"]);
            let tweets = |(member, _): &(String, f64)| member.starts_with("tweet:");
            let Some(keyspace::Value::SortedSet(unseen)) = after.get("unseen:2") else { panic!("no tweet") };
            assert_eq!(unseen.iter().filter(|entry| tweets(entry)).count() as u64, POSTS / 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_remove_each_post_once_and_one_takes_over_from_a_dead_one() {
    let redis = RedisServer::start();
    let store = keyspace::Store::open(&redis.url(), &keyspace::StoreOptions::default()).await.unwrap();
    prepare(&store).await;
    let before = dump(&store).await;
    let survivor = Program::start(&redis.url());
    let mut interrupted = 0;
    for action in ["remove_all", "restore"] {
        let mut program = Program::start(&redis.url());
        act(&administrator(&program), action, ("user", "mallory")).await;
        // Not synchronisation: it is killed in the middle.
        tokio::time::sleep(Duration::from_millis(60)).await;
        program.kill();
        interrupted += usize::from(has_jobs(&store).await);
        assert_eq!(wait_for_the_count(&administrator(&survivor)).await, POSTS, "{action}");
    }
    assert!(interrupted > 0, "no kill hit an action");
    let after = dump(&store).await;
    assert_same(&posts_of(&after), &posts_of(&before));
}
