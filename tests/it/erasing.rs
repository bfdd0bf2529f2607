//! Erasing for good: nothing of a text is left anywhere, and what it was among stays.

use serde_json::json;
use std::fs::File;
use std::path::Path;
use tidings::backup::disk::SystemDisk;
use tidings::backup::reader::BackupReader;
use tidings::backup::take;
use tidings_domain::moderation::retention;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::commands::{Place, start, visitor};
use crate::moderation::undo;
use crate::night::text_of;
use crate::pages::page;
use crate::program::Program;
use crate::server::{Server, each_engine};

/// A word that only what is to be erased has.
const WORD: &str = "quizzaciously";

const SEARCH: [(&str, &str); 1] = [("search.enabled", "true")];

async fn erase(administrator: &Client, kind: &str, id: &str) -> u64 {
    let fields = [("action", "erase"), ("kind", kind), ("id", id), ("reason", "asked for"), ("confirm", id)];
    ok(administrator.api_post("/api/moderate", &fields).await)["moderation_id"].as_u64().unwrap()
}

async fn act(moderator: &Client, action: &str, (kind, id): (&str, &str), more: &[(&str, &str)]) -> u64 {
    let fields = [&[("action", action), ("kind", kind), ("id", id), ("reason", "why")], more].concat();
    ok(moderator.api_post("/api/moderate", &fields).await)["moderation_id"].as_u64().unwrap()
}

/// Bob with a password, which leaving takes.
async fn registered(server: &Server) -> Client {
    let mut bob = server.register("bob").await;
    bob.user_id = server.string("username.to.id:bob").await.unwrap().parse().unwrap();
    bob
}

/// Every key of the store that has the word.
async fn keys_with(server: &Server, word: &str) -> Vec<String> {
    let dump = server.dump().await;
    let found = dump.into_iter().map(|(key, value)| format!("{key} {value:?}"));
    found.filter(|entry| entry.to_lowercase().contains(word)).collect()
}

/// Whether a backup has the word.
fn backup_has(path: &Path, word: &str) -> bool {
    let mut reader = BackupReader::open(File::open(path).unwrap()).unwrap();
    let mut has = false;
    while let Some(record) = reader.next_record().unwrap() {
        has |= format!("{record:?}").to_lowercase().contains(word);
    }
    has
}

/// Posts of Bob with the word in every field that people can fill, and a history.
struct Written {
    story: String,
    comment: String,
    tweet: String,
}

impl Written {
    async fn by(server: &Server, [alice, bob, carol]: [&Client; 3]) -> Self {
        carol.follow("bob").await;
        let story = bob.submit_link(&format!("A {WORD} title"), &format!("https://{WORD}.example/a")).await;
        ok(bob.edit(story, &format!("Another {WORD}"), &format!("https://{WORD}.example/b"), "").await);
        let story_id = story.to_string();
        let title = format!("Edited {WORD}");
        let url = format!("https://example.com/{WORD}");
        act(alice, "edit", ("story", &story_id), &[("title", &title), ("url", &url)]).await;
        let comment = bob.comment(story, &format!("@carol {WORD} comment")).await;
        ok(bob.edit_comment(story, comment, &format!("@carol @alice {WORD} again")).await);
        carol.reply(story, comment, "a reply").await;
        let comment_id = format!("{story}-{comment}");
        act(alice, "edit", ("comment", &comment_id), &[("text", &format!("@carol {WORD} edited"))]).await;
        let tweet = bob.tweet(&format!("@carol {WORD} post")).await.to_string();
        server.finish_jobs().await;
        let posts = [("story", &*story_id), ("comment", &*comment_id), ("tweet", &*tweet)];
        for post in posts {
            let note = format!("it says {WORD}");
            let flag = [("kind", post.0), ("id", post.1), ("reason", "harmful"), ("note", &*note)];
            ok(carol.api_post("/api/flag", &flag).await);
            let line = act(alice, "remove", post, &[]).await.to_string();
            let appeal = [("moderation_id", &*line), ("text", &*format!("I only said {WORD}"))];
            ok(bob.api_post("/api/appeal", &appeal).await);
            act(alice, "restore", post, &[]).await;
        }
        server.finish_jobs().await;
        Self { story: story_id, comment: comment_id, tweet }
    }

    /// Addresses that show them, or would.
    fn addresses(&self) -> Vec<String> {
        let Self { story, comment, tweet } = self;
        let comment_path = comment.replace('-', "/");
        [
            "/",
            "/latest/0",
            "/best",
            "/comments",
            "/everyone",
            "/home",
            "/@bob",
            "/inbox",
            "/moderations",
            "/moderate",
            "/sites",
            "/admin",
            "/saved",
            "/upvoted",
            "/past",
            "/site/example.com/stories/0",
            "/rss",
            "/comments/atom",
            "/@bob/feed",
            "/sitemap.xml",
            "/api/getnews/latest/0/30",
            "/api/inbox",
            "/api/moderations",
            "/api/moderate/queue",
            "/api/export",
            "/api/timeline/home",
            "/v0/newstories.json",
            "/v0/item/1.json",
            "/v0/item/2.json",
            "/v0/item/3.json",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([
            format!("/news/{story}"),
            format!("/news/{story}?at=1"),
            format!("/comment/{comment_path}"),
            format!("/tweet/{tweet}"),
            format!("/api/getcomments/{story}"),
            format!("/news/{story}/feed"),
        ])
        .collect()
    }
}

#[tokio::test]
async fn nothing_of_what_is_erased_is_left_in_any_key_or_answer() {
    each_engine(&SEARCH, async |server| {
        let alice = server.register("alice").await;
        let [bob, carol] = [server.member("bob").await, server.member("carol").await];
        for member in [&bob, &carol] {
            server.set_karma(member, 100).await;
        }
        let written = Written::by(&server, [&alice, &bob, &carol]).await;
        let visitor = server.visitor();
        assert!(!keys_with(&server, WORD).await.is_empty());
        assert!(text_of(&visitor.get(&format!("/news/{}", written.story)).await).contains(WORD));

        // Not without a second confirmation, which names what would go; and only by administrators.
        let fields =
            [("action", "erase"), ("kind", "story"), ("id", &*written.story), ("reason", "asked for")];
        let named = refused(alice.api_post("/api/moderate", &fields).await);
        assert!(named.contains(&format!("Edited {WORD}")) && named.contains("can't be undone"), "{named}");
        let confirmed = [&fields[..], &[("confirm", &*written.story)]].concat();
        assert!(refused(carol.api_post("/api/moderate", &confirmed).await).contains("moderators"));
        server.set_field(&format!("user:{}", carol.user_id), "flags", "m").await;
        let only = refused(carol.api_post("/api/moderate", &confirmed).await);
        assert!(only.contains("administrators"), "{only}");

        let line = erase(&alice, "comment", &written.comment).await;
        erase(&alice, "story", &written.story).await;
        erase(&alice, "tweet", &written.tweet).await;
        server.finish_jobs().await;

        assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
        for client in [&alice, &bob, &carol, &visitor] {
            for address in written.addresses() {
                let answer = text_of(&client.get(&address).await);
                assert!(!answer.to_lowercase().contains(WORD), "{address}: {answer}");
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        take::to_file(server.store(), SystemDisk, path.clone(), Box::new(|_, _| {})).await.unwrap();
        assert!(!backup_has(&path, WORD));

        // The place holds the thread, and the log has the reason.
        let thread = text_of(&visitor.get(&format!("/news/{}", written.story)).await);
        assert!(thread.contains("[erased]") && thread.contains("a reply"), "{thread}");
        let log = ok(visitor.api_get("/api/moderations").await);
        assert_eq!(log["entries"][2]["action"], json!("erase"), "{log}");
        assert_eq!(log["entries"][2]["reason"], json!("asked for"), "{log}");
        assert!(refused(undo(&alice, line).await).contains("can't be undone"));
        assert!(refused(alice.api_post("/api/moderate", &confirmed).await).contains("already been erased"));
        crate::search::finds(&alice, &format!("q={WORD}"), &[]).await;
        crate::store_check::demand_clean(&server).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_withheld_can_be_erased_too() {
    each_engine(&[], async |server| {
        let alice = server.register("alice").await;
        let bob = server.member("bob").await;
        server.set_karma(&bob, 100).await;
        let mut stories = Vec::new();
        for number in 0..5 {
            let url = format!("https://{WORD}{number}.example/");
            stories.push(bob.submit_link(&format!("{WORD} {number}"), &url).await.to_string());
        }
        let target = bob.submit_text("A target", "text").await.to_string();
        act(&alice, "remove", ("story", &stories[0]), &[]).await;
        act(&alice, "merge", ("story", &stories[1]), &[("into", &target)]).await;
        ok(bob.delete(stories[2].parse().unwrap()).await);
        let comment = bob.comment(stories[3].parse().unwrap(), &format!("{WORD} removed")).await;
        let deleted = bob.comment(stories[3].parse().unwrap(), &format!("{WORD} deleted")).await;
        let [comment, gone] = [comment, deleted].map(|id| format!("{}-{id}", stories[3]));
        act(&alice, "remove", ("comment", &comment), &[]).await;
        ok(bob.edit_comment(stories[3].parse().unwrap(), deleted, "").await);
        act(&alice, "hold", ("user", "bob"), &[]).await;
        let held = bob.submit_text(&format!("{WORD} held"), &format!("{WORD} text")).await.to_string();
        for id in stories.iter().chain([&held]) {
            erase(&alice, "story", id).await;
        }
        for id in [&comment, &gone] {
            erase(&alice, "comment", id).await;
        }
        server.finish_jobs().await;
        assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
        crate::store_check::demand_clean(&server).await;
        // The page of an erasure is there for administrators.
        let story = alice.submit_text("Not yet", "text").await;
        let address = format!("/moderate/erase/story/{story}");
        assert_eq!(bob.get(&address).await.status, 403);
        let form = page(&alice, &address).await.form("/moderate");
        let answer = form.with("reason", "asked for").send(&alice).await;
        assert!(answer.status.is_redirection(), "{answer:?}");
        assert!(text_of(&server.visitor().get(&format!("/news/{story}")).await).contains("[erased]"));
    })
    .await;
}

#[tokio::test]
async fn who_leaves_can_have_everything_erased() {
    each_engine(&[], async |server| {
        let alice = server.register("alice").await;
        let [bob, carol] = [registered(&server).await, server.member("carol").await];
        for member in [&bob, &carol] {
            server.set_karma(member, 100).await;
        }
        let written = Written::by(&server, [&alice, &bob, &carol]).await;
        let other = carol.submit_text("Of another", "text").await;
        let on_other = bob.comment(other, &format!("{WORD} there")).await;
        let removed = bob.tweet(&format!("{WORD} removed")).await.to_string();
        act(&alice, "remove", ("tweet", &removed), &[]).await;
        act(&alice, "hold", ("user", "bob"), &[]).await;
        bob.submit_text(&format!("{WORD} held"), &format!("{WORD} text")).await;
        let leaving = [("password", PASSWORD), ("writings", "erase")];
        assert!(bob.post("/settings/deactivate", &leaving).await.status.is_redirection());
        server.finish_jobs().await;
        assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
        let thread = text_of(&server.visitor().get(&format!("/news/{}", written.story)).await);
        assert!(thread.contains("[erased]") && thread.contains("a reply"), "{thread}");
        assert_eq!(carol.thread(other).await.len(), 0, "{on_other}");
        crate::store_check::demand_clean(&server).await;
    })
    .await;
}

#[tokio::test]
async fn what_moderators_removed_and_names_in_the_log_are_kept_for_a_year() {
    each_engine(&[], async |server| {
        let alice = server.register("alice").await;
        let bob = registered(&server).await;
        server.set_karma(&bob, 100).await;
        let removed = bob.submit_text(&format!("{WORD} removed"), "text").await.to_string();
        let restored = bob.submit_text("restored", "text").await.to_string();
        for id in [&removed, &restored] {
            act(&alice, "remove", ("story", id), &[]).await;
        }
        act(&alice, "restore", ("story", &restored), &[]).await;
        let carol = server.member("carol").await;
        server.set_karma(&carol, 100).await;
        ok(carol.api_post("/api/flag", &[("kind", "user"), ("id", "bob"), ("reason", "spam")]).await);
        act(&alice, "warn", ("user", "bob"), &[]).await;
        assert!(bob.post("/settings/deactivate", &[("password", PASSWORD)]).await.status.is_redirection());
        server.finish_jobs().await;
        let sweep = async || retention::sweep(&server.app.site, server.app.moment()).await.unwrap();
        server.advance(364 * 86_400);
        assert!(sweep().await);
        assert!(!sweep().await);
        assert!(!keys_with(&server, WORD).await.is_empty());
        assert_eq!(server.sorted("user:3:flag_outcomes").await.len(), 1);
        assert!(server.dump().await.contains_key("flags:user:bob"));
        server.advance(2 * 86_400);
        assert!(sweep().await);
        server.finish_jobs().await;
        assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
        assert_eq!(server.field(&format!("news:{restored}"), "title").await.as_deref(), Some("restored"));
        let log = ok(server.visitor().api_get("/api/moderations").await);
        assert_eq!(log["entries"][0]["target"], json!("a former member"), "{log}");
        let dump = server.dump().await;
        let of_flags = ["flags:user:bob", "user:3:flags", "user:3:flag_outcomes"];
        assert!(of_flags.iter().all(|key| !dump.contains_key(*key)), "{dump:?}");
        crate::store_check::demand_clean(&server).await;
    })
    .await;
}

/// Whether a file in a folder has the word.
fn files_with(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, word));
        } else if path.is_file()
            && std::fs::read(&path).unwrap().windows(word.len()).any(|at| at == word.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn after_compaction_no_file_has_what_was_erased_and_old_backups_can_be_copied_without_it() {
    let place = Place::embedded();
    let settings = [("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"), ("TIDINGS_SEARCH__ENABLED", "true")];
    let program = Program::start_with(&place.url, &settings);
    let bob = visitor(&program).register("bob").await;
    place.run(&["user", "promote", "bob"]).good();
    let story = bob.submit_text(&format!("A {WORD} title"), &format!("{WORD} text")).await.to_string();
    crate::search::finds(&bob, &format!("q={WORD}"), &[&format!("A {WORD} title")]).await;
    let path = |name: &str| place.folder.path().join(name).to_str().unwrap().to_owned();
    let (old, copy) = (path("old.backup"), path("copy.backup"));
    place.run(&["backup", &old]).good();
    let moderate = ["moderate", "erase", "story", &story, "--as", "bob", "--reason", "asked for"];
    assert!(place.run(&moderate).failed(1).contains(WORD));
    place.run(&[&moderate[..], &["--confirm", &story]].concat()).good();
    crate::search::finds(&bob, &format!("q={WORD}"), &[]).await;
    let erased = place.run(&["erase", "--from-backup", &old, &format!("story:{story}"), &copy]).good();
    assert!(erased.contains("copy.backup"), "{erased}");
    assert!(backup_has(Path::new(&old), WORD) && !backup_has(Path::new(&copy), WORD));
    place.run(&["check", "backup", &copy]).good();
    for name in [&old, &copy] {
        std::fs::remove_file(name).unwrap();
    }
    assert!(!files_with(place.folder.path(), WORD).is_empty());
    // Beside the server, and without it.
    assert!(place.run_with(&["compact"], "", &settings).good().contains("nothing of what was deleted"));
    assert_eq!(files_with(place.folder.path(), WORD), Vec::<String>::new());
    bob.submit_text("Written afterwards", "text").await;
    program.stop();
    place.run_with(&["compact"], "", &settings).good();
    let again = start(&place);
    assert!(text_of(&visitor(&again).get("/latest").await).contains("Written afterwards"));
    again.stop();
    place.run(&["check", "store"]).good();
}
