//! Vote rings, as an operator looks for them: the command on both engines, and the search that
//! a moderator starts. The statistics have tests of their own in the domain.

use serde_json::{Value, json};
use tidings_domain::report::{BackgroundCheck, VoteRingReport};
use tidings_domain::{User, vote_rings};
use tidings_keyspace::read;

use crate::bench_dataset::Random;
use crate::client::Client;
use crate::program::{succeed, tidings};
use crate::server::{Batch, Engine, Server, in_memory};

/// Later than the clock of any machine that runs these tests: the command has no other clock.
const BEGIN: u64 = 4_000_000_000;
const RING: [u64; 4] = [31, 32, 33, 34];

/// Stores a story with the votes of some users, which the author's is one of.
async fn store_story(server: &Server, id: u64, author: u64, voters: &[u64]) {
    let posted = BEGIN + id * 600;
    let mut batch = Batch::new();
    let [number, author, time] = [id, author, posted].map(|number| number.to_string());
    let fields = [("id", &number), ("user_id", &author), ("ctime", &time), ("title", &number)];
    batch.set_fields(format!("news:{id}"), fields.map(|(field, value)| (field, value.as_str())));
    batch.sorted_add("news.cron", &number, posted as f64);
    batch.sorted_add(format!("news.up:{id}"), &author, posted as f64);
    for voter in voters {
        batch.sorted_add(format!("news.up:{id}"), voter.to_string(), (posted + 90) as f64);
    }
    server.commit(batch).await;
}

/// A site with 40 members. The first 30 vote for this and that, and four of the others for each
/// other.
async fn site_with_a_ring(server: &Server) -> Vec<Client> {
    let members = server.members(40).await;
    for id in 1..=120_u64 {
        let author = 1 + id % 30;
        let mut random = Random::of("votes", id);
        let voters: Vec<u64> =
            (0..5).map(|_| 1 + random.below(30)).filter(|voter| *voter != author).collect();
        store_story(server, id, author, &voters).await;
    }
    for (author, id) in RING.into_iter().cycle().zip(121..=136) {
        store_story(server, id, author, &RING.map(|voter| if voter == author { 5 } else { voter })).await;
    }
    members
}

#[tokio::test]
async fn the_command_names_the_ring_on_every_engine() {
    let server = Server::start(Engine::Redis, &[]).await;
    site_with_a_ring(&server).await;
    let redis = server.redis.as_ref().unwrap().url();
    // A first command brings the store to the present layout.
    succeed(&["check", "votes", "--store", &redis]);
    let before = server.dump().await;
    let folder = tempfile::tempdir().unwrap();
    let file = format!("redb:{}", folder.path().join("copy.redb").display());
    succeed(&["copy", &redis, &file]);
    for store in [&redis, &file] {
        let output = tidings(&["check", "votes", "--json", "--store", store]).good();
        let report: Value = serde_json::from_str(&output).unwrap();
        let groups = report["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{report}");
        let mut names = Vec::new();
        for member in RING {
            names.push(server.field(&format!("user:{member}"), "username").await.unwrap());
        }
        let group = &groups[0];
        assert_eq!(group["accounts"], json!(names));
        // 16 stories, each with the votes of the other three.
        assert_eq!((&group["shared_votes"], &group["median_seconds"]), (&json!(48), &json!(90)));
        assert_eq!(group["same_network"], false);
        assert!(group["expected_votes"].as_f64().unwrap() < 12.0, "{group}");
        let members: Vec<&String> = group.as_object().unwrap().keys().collect();
        let expected = ["accounts", "shared_votes", "expected_votes", "median_seconds", "same_network"];
        assert_eq!(members, expected);
        assert_eq!(report.as_object().unwrap().len(), 1, "{report}");

        let text = tidings(&["check", "votes", "--store", store]).good();
        assert!(text.contains(&names.join(", ")) && text.contains("Look at the accounts"), "{text}");
    }
    assert_eq!(server.dump().await, before, "the check writes nothing");
}

#[tokio::test]
async fn a_site_without_rings_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("redb:{}", folder.path().join("empty.redb").display());
    succeed(&["user", "add", "alice", "--create", "--store", &file]);
    let report = tidings(&["check", "votes", "--json", "--store", &file]).good();
    assert_eq!(report, "{\"groups\":[]}\n");
    let text = tidings(&["check", "votes", "--store", &file]).good();
    assert!(text.contains("No suspicious voting groups found."), "{text}");
}

/// A user as stored.
async fn user(server: &Server, client: &Client) -> User {
    let user =
        User::from_hash(&server.store().fetch(read::hash(format!("user:{}", client.user_id))).await.unwrap())
            .unwrap();
    user.acting(&server.app.site.rules, server.app.now())
}

#[in_memory]
async fn a_moderator_starts_a_search_whose_result_is_kept(server: Server) {
    let members = site_with_a_ring(&server).await;
    let (site, now) = (&server.app.site, server.app.now());
    let member = user(&server, &members[0]).await;
    assert!(vote_rings::start(site, now, &member).is_err());
    assert!(
        !site.of::<BackgroundCheck<VoteRingReport>>().is_running()
            && site.of::<BackgroundCheck<VoteRingReport>>().last().is_none()
    );

    server.set_field(&format!("user:{}", member.id), "flags", "m").await;
    let moderator = user(&server, &members[0]).await;
    // Their addresses are kept with what they post.
    for client in members.iter().filter(|client| RING[..2].contains(&client.user_id)) {
        client.tweet("A post").await;
    }
    vote_rings::start(site, now, &moderator).unwrap();
    let report = loop {
        match site.of::<BackgroundCheck<VoteRingReport>>().last() {
            Some(report) => break report,
            None => tidings_testing::pause().await,
        }
    };
    assert_eq!(report.0, now);
    assert_eq!(report.1.groups.len(), 1);
    assert_eq!(report.1.groups[0].ids.iter().map(|id| id.0).collect::<Vec<u64>>(), RING);
    assert!(report.1.groups[0].same_network);
    assert_eq!((report.1.stories, report.1.is_cut), (136, false));
}
