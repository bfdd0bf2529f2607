//! Erasing for good: nothing of a text is left anywhere, and what it was among stays.

use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use tidings::backup::reader::BackupReader;
use tidings::backup::take;
use tidings_domain::moderation::retention;

use crate::client::{Client, PASSWORD, has_members, line_of, ok, refused, refused_saying};
use crate::commands::{Place, start};
use crate::pages::page;
use crate::program::Program;
use crate::server::{Batch, Server, each_engine, in_memory};
use crate::two_viewers;

/// A word that only what is to be erased has.
const WORD: &str = "quizzaciously";

const SEARCH: [(&str, &str); 1] = [("search.enabled", "true")];

async fn erase(administrator: &Client, kind: &str, id: &str) -> u64 {
    act(administrator, "erase", (kind, id), &[("reason", "asked for"), ("confirm", id)]).await
}

async fn act(moderator: &Client, action: &str, (kind, id): (&str, &str), more: &[(&str, &str)]) -> u64 {
    line_of(moderator.moderate(action, (kind, id), more).await)
}

/// Bob with a password, which leaving takes.
async fn registered(server: &Server) -> Client {
    let mut bob = server.register("bob").await;
    bob.user_id = server.string("username.to.id:bob").await.unwrap().parse().unwrap();
    bob
}

/// Asserts that neither a backup nor an answer to somebody has the word.
async fn assert_nowhere(server: &Server, clients: &[&Client], addresses: &BTreeSet<String>) {
    for client in clients {
        for address in addresses {
            let answer = client.any_text(address).await;
            assert!(!answer.to_lowercase().contains(WORD), "{address}: {answer}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backup");
    take::to_file(server.store(), path.clone(), Box::new(|_, _| {})).await.unwrap();
    assert!(!backup_has(&path, WORD));
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
    while let Some(record) = reader.next_part().unwrap() {
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
            let flagged = format!("kind={}&id={}&reason=harmful&note=it says {WORD}", post.0, post.1);
            ok(carol.call(&format!("/api/flag?{flagged}")).await);
            let line = act(alice, "remove", post, &[]).await;
            ok(bob.call(&format!("/api/appeal?moderation_id={line}&text=I only said {WORD}")).await);
            act(alice, "restore", post, &[]).await;
        }
        server.finish_jobs().await;
        Self { story: story_id, comment: comment_id, tweet }
    }

    /// Every address of the site, with those that show them, or would.
    fn addresses(&self) -> BTreeSet<String> {
        let Self { story, comment, tweet } = self;
        let comment_path = comment.replace('-', "/");
        let own = format!(
            "/news/{story} /news/{story}?at=1 /comment/{comment_path} /tweet/{tweet} /api/getcomments/{story} \
             /news/{story}/feed /@bob /@bob/feed /v0/item/2.json /v0/item/3.json"
        );
        two_viewers::addresses().into_iter().chain(own.split(' ').map(str::to_owned)).collect()
    }
}

#[each_engine("keys", &SEARCH)]
async fn nothing_of_what_is_erased_is_left_in_any_key_or_answer(server: Server) {
    let alice = server.register("alice").await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    for member in [&bob, &carol] {
        server.set_karma(member, 100).await;
    }
    let written = Written::by(&server, [&alice, &bob, &carol]).await;
    let visitor = server.visitor();
    assert!(!keys_with(&server, WORD).await.is_empty());
    assert!(visitor.text(&format!("/news/{}", written.story)).await.contains(WORD));

    // Not without a second confirmation, which names what would go; and only by administrators.
    let fields = [("action", "erase"), ("kind", "story"), ("id", &*written.story), ("reason", "asked for")];
    let named = refused(alice.api_post("/api/moderate", &fields).await);
    assert!(named.contains(&format!("Edited {WORD}")) && named.contains("can't be undone"), "{named}");
    let confirmed = [&fields[..], &[("confirm", &*written.story)]].concat();
    refused_saying(carol.api_post("/api/moderate", &confirmed).await, "moderators");
    server.set_field(&format!("user:{}", carol.user_id), "flags", "m").await;
    refused_saying(carol.api_post("/api/moderate", &confirmed).await, "administrators");

    let line = erase(&alice, "comment", &written.comment).await;
    erase(&alice, "story", &written.story).await;
    erase(&alice, "tweet", &written.tweet).await;
    server.finish_jobs().await;

    assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
    assert_nowhere(&server, &[&alice, &bob, &carol, &visitor], &written.addresses()).await;

    // The place holds the thread, and the log has the reason.
    let thread = visitor.text(&format!("/news/{}", written.story)).await;
    assert!(thread.contains("[erased]") && thread.contains("a reply"), "{thread}");
    has_members(&visitor.log("").await[2], json!({"action": "erase", "reason": "asked for"}));
    refused_saying(alice.undo(line).await, "can't be undone");
    refused_saying(alice.api_post("/api/moderate", &confirmed).await, "already been erased");
    crate::search::finds(&alice, &format!("q={WORD}"), &[]).await;
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn what_is_withheld_can_be_erased_too(server: Server) {
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
    assert!(server.visitor().text(&format!("/news/{story}")).await.contains("[erased]"));
}

#[in_memory]
async fn who_leaves_can_have_everything_erased(server: Server) {
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
    let thread = server.visitor().text(&format!("/news/{}", written.story)).await;
    assert!(thread.contains("[erased]") && thread.contains("a reply"), "{thread}");
    assert_eq!(carol.thread(other).await.len(), 0, "{on_other}");
    crate::store_check::demand_clean(&server).await;
}

/// Bob and Carol on a site where moderators accept accounts. Bob's application has the word.
async fn accepted(server: &Server, alice: &Client) -> [Client; 2] {
    let mut clients = Vec::new();
    for name in ["bob", "carol"] {
        let application = format!("{WORD}application");
        let text = if name == "bob" { &*application } else { "please" };
        ok(crate::signups::sign_up(&server.visitor(), name, &[("application", text)]).await);
        act(alice, "approve", ("application", name), &[]).await;
        let mut client = server.visitor().log_in(name, PASSWORD).await;
        let id = server.string(&format!("username.to.id:{name}")).await.unwrap();
        client.user_id = id.parse().unwrap();
        server.set_karma(&client, 1_000).await;
        clients.push(client);
    }
    clients.try_into().unwrap_or_else(|_| unreachable!())
}

/// Bob writes in every way, each time with a word that begins with [`WORD`] and names the way.
async fn write_in_every_way(server: &Server, [alice, bob, carol]: [&Client; 3]) {
    Written::by(server, [alice, bob, carol]).await;
    let of_carol = carol.submit_text("Of another", "text").await;
    let texts = |way: &str| [format!("{WORD}{way} title"), format!("{WORD}{way} text")];
    let post = async |way: &str| {
        let [title, text] = texts(way);
        let url = format!("https://{WORD}{way}.example/");
        let story = ok(bob.submit(&title, &url, &text).await)["news_id"].to_string();
        let comment = bob.comment(of_carol, &text).await;
        let tweet = bob.tweet(&text).await.to_string();
        [("story", story), ("comment", format!("{of_carol}-{comment}")), ("tweet", tweet)]
    };
    let delete = async |(kind, id): &(&str, String)| match *kind {
        "story" => ok(bob.delete(id.parse().unwrap()).await),
        "tweet" => ok(bob.call(&format!("/api/deltweet?tweet_id={id}")).await),
        _ => {
            let (_, comment) = id.split_once('-').unwrap();
            ok(bob.edit_comment(of_carol, comment.parse().unwrap(), "").await)
        }
    };
    // Posts that readers have seen.
    for thing in post("removed").await {
        act(alice, "remove", (thing.0, &thing.1), &[]).await;
    }
    for thing in post("deleted").await {
        delete(&thing).await;
    }
    let [(_, merged), ..] = post("merged").await;
    act(alice, "merge", ("story", &merged), &[("into", &of_carol.to_string())]).await;
    // Posts that no reader has seen.
    let hold = act(alice, "hold", ("user", "bob"), &[]).await;
    ok(bob.call(&format!("/api/appeal?moderation_id={hold}&text={WORD}appeal")).await);
    post("held").await;
    for thing in post("heldanddeleted").await {
        delete(&thing).await;
    }
    for thing in post("rejected").await {
        act(alice, "reject", (thing.0, &thing.1), &[]).await;
    }
    for thing in post("heldandremoved").await {
        act(alice, "remove", (thing.0, &thing.1), &[]).await;
    }
    for (number, thing) in (0..).zip(post("rejectedtwice").await) {
        let line = act(alice, "reject", (thing.0, &thing.1), &[]).await;
        ok(alice.undo(line).await);
        if number == 0 {
            act(alice, "approve", (thing.0, &thing.1), &[]).await;
        }
    }
    act(alice, "unhold", ("user", "bob"), &[]).await;
    // Texts that are no posts.
    let flagged = carol.submit_text("To be flagged", "text").await.to_string();
    let story = of_carol.to_string();
    for (id, note) in [(&*story, "flagwaits"), (&*flagged, "flagdecided")] {
        ok(bob.call(&format!("/api/flag?kind=story&id={id}&reason=spam&note={WORD}{note}")).await);
    }
    act(alice, "keep", ("story", &flagged), &[]).await;
    let flagged = "/api/flag?kind=user&id=bob&reason=spam";
    ok(carol.call(&format!("{flagged}&note={WORD}flagged his profile")).await);
    ok(bob.api_post("/api/messages", &[("text", &format!("{WORD}message"))]).await);
    act(alice, "note", ("user", "bob"), &[("reason", &format!("{WORD}note on him"))]).await;
    act(alice, "warn", ("user", "bob"), &[]).await;
    for about in ["removedprofile", "profile"] {
        let [text, name] = [format!("{WORD}{about}"), format!("{WORD}{about} name")];
        ok(bob.call(&format!("/api/updateprofile?about={text}&fullname={name}&email=&password=")).await);
        if about == "removedprofile" {
            act(alice, "remove", ("user", "bob"), &[]).await;
        }
    }
    server.finish_jobs().await;
}

/// The words that the store has, by the ways in which they were written.
async fn ways_left(server: &Server) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in server.dump().await {
        let text = format!("{key} {value:?}").to_lowercase();
        for (at, _) in text.match_indices(WORD) {
            let word: String = text[at..].chars().take_while(char::is_ascii_alphanumeric).collect();
            found.push(format!("{word} in {key}"));
        }
    }
    found.sort();
    found.dedup();
    found
}

const APPLY: [(&str, &str); 2] = [("accounts.signup", "apply"), ("search.enabled", "true")];

#[in_memory(&APPLY)]
async fn everything_that_somebody_wrote_in_any_way_is_erased_when_they_leave(server: Server) {
    let alice = server.register("alice").await;
    let [bob, carol] = accepted(&server, &alice).await;
    write_in_every_way(&server, [&alice, &bob, &carol]).await;
    let ways = ways_left(&server).await.join(" ");
    let expected = "application removed deleted merged held heldanddeleted rejected heldandremoved rejectedtwice \
        flagwaits flagdecided flagged message note appeal removedprofile profile";
    for way in expected.split(' ') {
        assert!(ways.contains(&format!("{WORD}{way} in")), "{way}: {ways}");
    }
    crate::store_check::demand_clean(&server).await;
    let (story, comment, tweet) = ("1".to_owned(), "1-1".to_owned(), "1".to_owned());
    let addresses = Written { story, comment, tweet }.addresses();
    let leaving = [("password", PASSWORD), ("writings", "erase")];
    assert!(bob.post("/settings/deactivate", &leaving).await.status.is_redirection());
    server.finish_jobs().await;
    assert_eq!(ways_left(&server).await, Vec::<String>::new());
    assert!(!server.dump().await.contains_key("unseen:2"));
    assert_nowhere(&server, &[&alice, &carol, &server.visitor()], &addresses).await;
    for kind in ["stories", "comments", "posts", "people"] {
        crate::search::finds(&alice, &format!("q={WORD}*&kind={kind}"), &[]).await;
    }
    crate::store_check::demand_clean(&server).await;
}

#[each_engine("other versions", &APPLY)]
async fn a_store_of_before_gets_the_lists_that_an_erasure_reads(server: Server) {
    let alice = server.register("alice").await;
    let [bob, carol] = accepted(&server, &alice).await;
    write_in_every_way(&server, [&alice, &bob, &carol]).await;
    assert!(bob.is_logged_in().await && carol.is_logged_in().await);
    let mut before = server.dump().await;
    // Of somebody who has left.
    let mut batch = Batch::new();
    let fields = [("id", "9"), ("username", "[deleted user]"), ("deactivated", "5")];
    batch.set_fields("user:9", fields);
    batch.set_fields("withdrawn:user:9", [("moderation", "1"), ("about", WORD)]);
    let code = format!("invites:code:{}", "0".repeat(40));
    batch.set_fields(code, [("user_id", "9"), ("time", "5")]);
    let is_new = |key: &&String| key.starts_with("unseen:") || key.ends_with(":flags");
    before.keys().filter(is_new).for_each(|key| batch.delete(key));
    batch.set("layout:version", "6");
    server.commit(batch).await;
    server.migrate().await;
    server.finish_jobs().await;
    let mut after = server.dump().await;
    for dump in [&mut before, &mut after] {
        dump.retain(|key, _| !["layout:version", "user:9", "changes"].contains(&&**key));
    }
    let [before, after] = [before, after].map(|dump| format!("{dump:#?}"));
    assert_eq!(before, after);
}

#[in_memory]
async fn who_leaves_and_keeps_the_posts_leaves_no_removed_profile_and_no_waiting_tweet(server: Server) {
    let alice = server.register("alice").await;
    let bob = registered(&server).await;
    ok(bob.update_profile(&format!("{WORD} about"), "", "").await);
    act(&alice, "remove", ("user", "bob"), &[]).await;
    act(&alice, "hold", ("user", "bob"), &[]).await;
    let tweet = bob.tweet(&format!("{WORD} post")).await.to_string();
    let story = bob.submit_text("waits", "text").await.to_string();
    assert!(bob.post("/settings/deactivate", &[("password", PASSWORD)]).await.status.is_redirection());
    refused(alice.moderate("approve", ("tweet", &tweet), &[]).await);
    server.finish_jobs().await;
    assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
    crate::store_check::demand_clean(&server).await;
    // Stories and comments stay, and can be approved.
    act(&alice, "approve", ("story", &story), &[]).await;
    assert_eq!(server.visitor().get(&format!("/news/{story}")).await.status, 200);
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn nothing_is_approved_while_its_author_has_it_erased(server: Server) {
    let alice = server.register("alice").await;
    let bob = registered(&server).await;
    let target = alice.submit_text("A target", "text").await;
    act(&alice, "hold", ("user", "bob"), &[]).await;
    let story = bob.submit_text(&format!("{WORD} story"), "text").await.to_string();
    let comment = format!("{target}-{}", bob.comment(target, &format!("{WORD} comment")).await);
    let tweet = bob.tweet(&format!("{WORD} post")).await.to_string();
    // As if the job had not begun.
    let job = format!("erase_all:{}", bob.user_id);
    server.write(|batch| batch.set_field(format!("timeline:job:{job}"), "step", "1")).await;
    for (kind, id) in [("story", &story), ("comment", &comment), ("tweet", &tweet)] {
        refused_saying(alice.moderate("approve", (kind, id), &[]).await, "has left");
    }
    server.write(|batch| batch.delete(format!("timeline:job:{job}"))).await;
    act(&alice, "approve", ("comment", &comment), &[]).await;
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn a_rejection_that_was_undone_erases_nothing(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    act(&alice, "hold", ("user", "bob"), &[]).await;
    let story = bob.submit_text(&format!("{WORD} title"), "text").await.to_string();
    let other = bob.submit_text(&format!("{WORD} other"), "text").await.to_string();
    let line = act(&alice, "reject", ("story", &story), &[]).await;
    ok(alice.undo(line).await);
    // A removal that was undone is none either.
    let line = act(&alice, "remove", ("story", &other), &[]).await;
    ok(alice.undo(line).await);
    server.advance(300 * 86_400);
    let alice = server.client_of(1).await;
    for id in [&story, &other] {
        act(&alice, "reject", ("story", id), &[]).await;
    }
    let sweep = async || retention::sweep(&server.app.site, server.app.moment()).await.unwrap();
    server.advance(100 * 86_400);
    assert!(sweep().await);
    server.finish_jobs().await;
    for id in [&story, &other] {
        let title = server.field(&format!("news:{id}"), "title").await.unwrap();
        assert!(title.contains(WORD), "{title}");
    }
    server.advance(266 * 86_400);
    assert!(sweep().await);
    server.finish_jobs().await;
    assert_eq!(keys_with(&server, WORD).await, Vec::<String>::new());
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn what_moderators_removed_and_names_in_the_log_are_kept_for_a_year(server: Server) {
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
    assert_eq!(server.visitor().log("").await[0]["target"], "a former member");
    let dump = server.dump().await;
    let of_flags = ["flags:user:bob", "user:3:flags", "user:3:flag_outcomes"];
    assert!(of_flags.iter().all(|key| !dump.contains_key(*key)), "{dump:?}");
    crate::store_check::demand_clean(&server).await;
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
    let bob = program.visitor().register("bob").await;
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
    // Somebody leaves, and takes everything along.
    let dave = program.visitor().register("dave").await;
    dave.submit_text(&format!("{WORD} left"), &format!("{WORD} text")).await;
    crate::search::finds(&bob, &format!("q={WORD}"), &[&format!("{WORD} left")]).await;
    let leaving = [("password", PASSWORD), ("writings", "erase")];
    assert!(dave.post("/settings/deactivate", &leaving).await.status.is_redirection());
    crate::search::finds(&bob, &format!("q={WORD}"), &[]).await;
    let erased = place.run(&["erase", "--from-backup", &old, &format!("story:{story}"), &copy]).good();
    assert!(erased.contains("copy.backup"), "{erased}");
    assert!(backup_has(Path::new(&old), WORD) && !backup_has(Path::new(&copy), WORD));
    place.run(&["check", "backup", &copy]).good();
    for name in [&old, &copy] {
        std::fs::remove_file(name).unwrap();
    }
    assert!(!files_with(place.folder.path(), WORD).is_empty());
    place.run(&["export", "site", &path("site.zip")]).good();
    let exported = crate::export::unpacked(&std::fs::read(path("site.zip")).unwrap());
    assert!(exported.iter().all(|(_, text)| !text.contains(WORD)), "{exported:?}");
    // Beside the server, and without it.
    assert!(place.run_with(&["compact"], "", &settings).good().contains("no deleted data any more"));
    assert_eq!(files_with(place.folder.path(), WORD), Vec::<String>::new());
    bob.submit_text("Written afterwards", "text").await;
    program.stop();
    place.run_with(&["compact"], "", &settings).good();
    let again = start(&place);
    assert!(again.visitor().text("/latest").await.contains("Written afterwards"));
    again.stop();
    place.run(&["check", "store"]).good();
}
