//! After each action of a moderator and its undo, a check finds nothing, and a repair writes nothing. The walk
//! `agreement` says the same after random actions.

use serde_json::Value;

use super::{demand_clean, report};
use crate::client::{Client, line_of, ok};
use crate::server::{Server, each_engine};

/// A site with an administrator, a moderator, and people who post.
struct Site {
    server: Server,
    alice: Client,
    bob: Client,
    readers: [Client; 2],
}

/// The target of an action: its kind and its id.
type Thing = (&'static str, String);

impl Site {
    async fn on(server: Server) -> Self {
        let alice = server.register("alice").await;
        server.member("mod").await;
        let [bob, carol, dave] = server.people(["bob", "carol", "dave"]).await;
        for client in [&bob, &carol, &dave] {
            server.set_karma(client, 1_000).await;
        }
        for (follower, followed) in [(&carol, "bob"), (&dave, "bob"), (&bob, "carol")] {
            follower.follow(followed).await;
        }
        let site = Self { server, alice, bob, readers: [carol, dave] };
        ok(site.act("make_moderator", &("user", "mod".to_owned()), &[]).await);
        site
    }

    /// The answer to an action of the administrator.
    async fn act(&self, action: &str, (kind, id): &Thing, more: &[(&str, &str)]) -> Value {
        self.alice.moderate(action, (kind, id), more).await
    }

    /// The same; answers the line.
    async fn line_of(&self, action: &str, thing: &Thing) -> u64 {
        line_of(self.act(action, thing, &[]).await)
    }

    async fn flag(&self, thing: &Thing) {
        for reader in &self.readers {
            reader.call(&format!("/api/flag?kind={}&id={}&reason=spam&note=", thing.0, thing.1)).await;
        }
    }

    /// A story on a topic with votes, a comment that mentions somebody, and such a tweet.
    async fn posts(&self, name: &str) -> [Thing; 3] {
        let url = format!("http://{name}.example/{name}");
        let story = self.bob.submit_link_on("links,web", name, &url).await;
        let [carol, dave] = &self.readers;
        carol.vote(story, "up").await;
        dave.vote(story, "down").await;
        carol.api_post("/api/subscribe", &[("news_id", &story.to_string())]).await;
        let posted = self.bob.try_comment(1, None, "for @dave").await;
        // The first comment of the story, if the first story is gone.
        let is_posted = posted["status"] == "ok";
        let comment = if is_posted { format!("1-{}", posted["comment_id"]) } else { format!("{story}-1") };
        let tweet = ok(self.bob.try_tweet("for @carol").await)["tweet_id"].to_string();
        [("story", story.to_string()), ("comment", comment), ("tweet", tweet)]
    }

    async fn delete(&self, (kind, id): &Thing) -> Value {
        match *kind {
            "story" => self.bob.delete(id.parse().unwrap()).await,
            "comment" => {
                let (story, comment) = id.split_once('-').unwrap();
                self.bob.edit_comment(story.parse().unwrap(), comment.parse().unwrap(), "").await
            }
            _ => self.bob.call(&format!("/api/deltweet?tweet_id={id}")).await,
        }
    }

    /// Demands that there is no difference, and that a repair writes not one key.
    async fn demand_untouched(&self, what: &str) {
        println!("{what}");
        self.server.finish_jobs().await;
        demand_clean(&self.server).await;
        // A worker gives the lease of its last job back.
        let dump = async || {
            let mut dump = self.server.dump().await;
            dump.retain(|key, _| !key.contains("lease"));
            dump
        };
        let before = dump().await;
        let found = report(&self.server, true).await;
        assert!(found.differences.is_empty(), "{what}: {:#?}", found.differences);
        let after = dump().await;
        let changed: Vec<_> = after.iter().filter(|(key, value)| before.get(*key) != Some(*value)).collect();
        assert!(changed.is_empty() && before.len() == after.len(), "{what}: {changed:?}");
        crate::consistency::check_site(&self.server).await;
    }

    /// Does something and undoes it, and checks after both.
    async fn there_and_back(&self, action: &str, thing: &Thing, more: &[(&str, &str)]) {
        let line = line_of(self.act(action, thing, more).await);
        self.demand_untouched(&format!("{action} {thing:?}")).await;
        ok(self.alice.undo(line).await);
        self.demand_untouched(&format!("{action} {thing:?} undone")).await;
    }
}

async fn flagged_posts_and_people(site: &Site) {
    let bob = ("user", "bob".to_owned());
    let posts = site.posts("flagged").await;
    ok(site.bob.update_profile("A profile", "", "").await);
    for thing in posts.iter().chain([&bob]) {
        site.flag(thing).await;
        site.there_and_back("remove", thing, &[]).await;
        site.there_and_back("keep", thing, &[]).await;
    }
    let story = &posts[0];
    let edit = [("title", "Edited"), ("topics", "rust"), ("url", "http://edited.example/")];
    site.there_and_back("edit", story, &edit).await;
    site.there_and_back("lock", story, &[]).await;
    site.there_and_back("merge", story, &[("into", "1")]).await;
    for (action, more) in [
        ("silence", [("hours", "1")]),
        ("hold", [("hours", "0")]),
        ("ban", [("hours", "2")]),
        ("ban", [("hours", "0")]),
        ("discount", [("hours", "0")]),
        ("note", [("hours", "0")]),
        ("make_moderator", [("hours", "0")]),
        ("remove_all", [("days", "7")]),
    ] {
        site.there_and_back(action, &bob, &more).await;
    }
    ok(site.act("warn", &bob, &[]).await);
    site.demand_untouched("a warning").await;
}

async fn held_posts(site: &Site) {
    let bob = ("user", "bob".to_owned());
    for by_rule in [false, true] {
        let line = if by_rule {
            line_of(site.alice.call("/api/moderate/rule?what=phrase&pattern=rule&effect=hold&reason=r").await)
        } else {
            site.line_of("hold", &bob).await
        };
        let name = if by_rule { "rule" } else { "held" };
        for (number, thing) in site.posts(name).await.iter().enumerate() {
            site.demand_untouched(&format!("{thing:?} of {name}")).await;
            if by_rule && number > 0 {
                continue;
            }
            site.there_and_back("reject", thing, &[]).await;
            site.there_and_back("remove", thing, &[]).await;
            site.there_and_back("approve", thing, &[]).await;
        }
        for thing in site.posts(&format!("{name}-gone")).await {
            site.delete(&thing).await;
            site.demand_untouched(&format!("{thing:?} of {name} deleted")).await;
        }
        if !by_rule {
            for thing in site.posts("rejected").await {
                ok(site.act("reject", &thing, &[]).await);
                site.delete(&thing).await;
                site.demand_untouched(&format!("{thing:?} rejected and deleted")).await;
            }
        }
        ok(site.alice.undo(line).await);
        site.demand_untouched(&format!("the end of {name}")).await;
    }
}

async fn deleted_posts_and_appeals(site: &Site) {
    for (name, action) in [("flags", "keep"), ("right", "remove")] {
        for thing in site.posts(name).await {
            site.flag(&thing).await;
            ok(site.delete(&thing).await);
            site.demand_untouched(&format!("{thing:?} flagged and deleted")).await;
            site.there_and_back(action, &thing, &[]).await;
            ok(site.act(action, &thing, &[]).await);
            site.demand_untouched(&format!("{thing:?} decided")).await;
        }
    }
    for thing in site.posts("removed").await {
        ok(site.act("remove", &thing, &[]).await);
        site.delete(&thing).await;
        site.demand_untouched(&format!("{thing:?} removed and deleted")).await;
    }
    // Somebody else answers appeals.
    let moderator = site.server.client_of(2).await;
    for (name, decision) in [("denied", "reject"), ("granted", "approve")] {
        let [story, ..] = site.posts(name).await;
        let line = site.line_of("remove", &story).await.to_string();
        ok(site.bob.call(&format!("/api/appeal?moderation_id={line}&text=Please look again")).await);
        site.demand_untouched("an appeal").await;
        let answer = moderator.moderate(decision, ("appeal", &line), &[]).await;
        let answered = line_of(answer);
        site.demand_untouched(&format!("an appeal: {decision}")).await;
        site.alice.undo(answered).await;
        site.demand_untouched(&format!("an appeal: {decision}, undone")).await;
    }
}

#[each_engine("check")]
async fn after_each_action_of_a_moderator_and_its_undo_a_check_finds_nothing(server: Server) {
    let mut site = Site::on(server).await;
    site.posts("merged-into").await;
    flagged_posts_and_people(&site).await;
    // The bans ended the sessions.
    site.bob = site.server.client_of(site.bob.user_id).await;
    held_posts(&site).await;
    deleted_posts_and_appeals(&site).await;
}
