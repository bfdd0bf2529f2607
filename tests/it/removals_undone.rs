//! Random actions of moderators, and undos, next to a site on which nobody moderates: after undoing
//! everything, both stores are the same.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tidings_keyspace as keyspace;

use crate::client::{Client, ok};
use crate::removals::{act, assert_same, differences, state, try_act, undo};
use crate::server::{Engine, Server};

/// A possible step; its numbers choose among the existing people and posts.
#[derive(Debug, Clone)]
enum Step {
    Comment(usize, usize),
    Reply(usize, usize),
    Tweet(usize, usize),
    Follow(usize, usize),
    Read(usize),
    Vote(usize, usize),
    /// Only in the world with moderation.
    Remove(usize),
    Undo(usize),
    RemoveAll(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let any = || 0..64_usize;
    prop_oneof![
        3 => (any(), any()).prop_map(|(who, whom)| Step::Comment(who, whom)),
        3 => (any(), any()).prop_map(|(who, what)| Step::Reply(who, what)),
        4 => (any(), any()).prop_map(|(who, whom)| Step::Tweet(who, whom)),
        2 => (any(), any()).prop_map(|(who, whom)| Step::Follow(who, whom)),
        2 => any().prop_map(Step::Read),
        2 => (any(), any()).prop_map(|(who, what)| Step::Vote(who, what)),
        6 => any().prop_map(Step::Remove),
        4 => any().prop_map(Step::Undo),
        1 => any().prop_map(Step::RemoveAll),
    ]
}

/// Two sites with the same accounts. Moderators act in the first one only.
struct Twins {
    servers: [Server; 2],
    members: [Vec<Client>; 2],
    moderator: Client,
    comments: Vec<String>,
    tweets: Vec<String>,
    /// The lines that are not undone, with what each removed; nothing for all posts of somebody.
    lines: Vec<(u64, Option<String>)>,
}

const NAMES: [&str; 4] = ["bob", "carol", "dave", "erin"];

impl Twins {
    async fn new(engine: fn() -> Engine) -> Self {
        let servers = [Server::start(engine(), &[]).await, Server::start(engine(), &[]).await];
        let mut members = [Vec::new(), Vec::new()];
        let moderator = servers[0].register("alice").await;
        servers[1].register("alice").await;
        for (server, members) in servers.iter().zip(&mut members) {
            for name in NAMES {
                members.push(server.member(name).await);
            }
            members[0].submit_text("A story", "text").await;
        }
        let (comments, tweets, lines) = (Vec::new(), Vec::new(), Vec::new());
        Self { servers, members, moderator, comments, tweets, lines }
    }

    /// Whether something is removed, so that people cannot do the same in both worlds.
    fn is_removed(&self, thing: &str) -> bool {
        self.lines.iter().any(|(_, removed)| removed.as_deref().is_none_or(|removed| removed == thing))
    }

    async fn take(&mut self, step: &Step) {
        for server in &self.servers {
            server.advance(2);
        }
        match *step {
            Step::Comment(who, whom) => {
                let text = format!("for @{}", NAMES[whom % NAMES.len()]);
                let id = self.members[0][who % NAMES.len()].comment(1, &text).await;
                assert_eq!(self.members[1][who % NAMES.len()].comment(1, &text).await, id);
                self.comments.push(id.to_string());
            }
            Step::Reply(who, what) if !self.comments.is_empty() => {
                let parent = &self.comments[what % self.comments.len()];
                if self.is_removed(&format!("comment:1-{parent}")) {
                    return;
                }
                let parent = parent.parse().unwrap();
                let id = self.members[0][who % NAMES.len()].reply(1, parent, "a reply").await;
                assert_eq!(self.members[1][who % NAMES.len()].reply(1, parent, "a reply").await, id);
                self.comments.push(id.to_string());
            }
            Step::Tweet(who, whom) => {
                let text = format!("for @{}", NAMES[whom % NAMES.len()]);
                let id = self.members[0][who % NAMES.len()].tweet(&text).await;
                assert_eq!(self.members[1][who % NAMES.len()].tweet(&text).await, id);
                self.tweets.push(id.to_string());
            }
            Step::Follow(who, whom) if who % NAMES.len() != whom % NAMES.len() => {
                for members in &self.members {
                    members[who % NAMES.len()].follow(NAMES[whom % NAMES.len()]).await;
                }
            }
            // While a post is removed, nobody reads: it would be unread when it comes back.
            Step::Read(who) if self.lines.is_empty() => {
                for members in &self.members {
                    ok(members[who % NAMES.len()].api_post("/api/readinbox", &[("id", "all")]).await);
                }
            }
            Step::Vote(who, what) if !self.comments.is_empty() => {
                let id = &self.comments[what % self.comments.len()];
                if self.is_removed(&format!("comment:1-{id}")) {
                    return;
                }
                let id = id.parse().unwrap();
                let mut answers = Vec::new();
                for members in &self.members {
                    answers.push(members[who % NAMES.len()].vote_comment(1, id, "up").await);
                }
                assert_eq!(answers[0]["status"], answers[1]["status"]);
            }
            Step::Remove(what) => {
                let comments = self.comments.iter().map(|id| ("comment", format!("1-{id}")));
                let things: Vec<_> =
                    comments.chain(self.tweets.iter().map(|id| ("tweet", id.clone()))).collect();
                let Some((kind, id)) = things.get(what % things.len().max(1)) else { return };
                let answer = try_act(&self.moderator, "remove", (kind, id)).await;
                let name = format!("{kind}:{id}");
                if answer["status"] == "ok" {
                    self.lines.push((answer["moderation_id"].as_u64().unwrap(), Some(name)));
                } else {
                    assert!(self.is_removed(&name), "{name}: {answer}");
                }
            }
            Step::RemoveAll(who) => {
                let line = act(&self.moderator, "remove_all", ("user", NAMES[who % NAMES.len()])).await;
                self.servers[0].finish_jobs().await;
                self.lines.push((line, None));
            }
            Step::Undo(what) if !self.lines.is_empty() => {
                let (line, _) = self.lines.remove(what % self.lines.len());
                undo(&self.moderator, line).await;
            }
            _ => {}
        }
    }

    async fn check(&mut self) {
        while let Some((line, _)) = self.lines.pop() {
            undo(&self.moderator, line).await;
        }
        for server in &self.servers {
            server.finish_jobs().await;
            assert_eq!(differences(server).await, 0);
        }
        let [mut found, mut expected] = [state(&self.servers[0]).await, state(&self.servers[1]).await];
        for dump in [&mut found, &mut expected] {
            // Secrets differ, and with them the tags of networks.
            let is_tagged = |key: &str| key.starts_with("user:") && key.ends_with(":networks");
            dump.retain(|key, _| !key.starts_with("auth:") && !key.starts_with("network") && !is_tagged(key));
            for value in dump.values_mut() {
                if let keyspace::Value::Hash(fields) = value {
                    fields
                        .retain(|(field, _)| !["auth", "apisecret", "password", "salt"].contains(&&**field));
                }
            }
        }
        assert_same(&found, &expected);
    }
}

/// Random actions and undos; afterwards the store is as if nobody had moderated.
fn random_moderation(cases: usize, engine: fn() -> Engine) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::deterministic();
    let steps = prop::collection::vec(step(), 10..60);
    for case in 0..cases {
        let steps = steps.new_tree(&mut runner).unwrap().current();
        println!("case {case}: {steps:?}");
        runtime.block_on(async {
            let mut twins = Twins::new(engine).await;
            for step in &steps {
                twins.take(step).await;
            }
            twins.check().await;
        });
    }
}

#[test]
fn after_undoing_everything_nothing_has_happened_on_the_embedded_engine() {
    random_moderation(12, || Engine::Memory);
}

#[test]
fn after_undoing_everything_nothing_has_happened_on_redis() {
    random_moderation(4, || Engine::Redis);
}
