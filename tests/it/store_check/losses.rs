//! A repair does not take a loss for the right state, and many differences cost few rounds.

use std::time::Duration;

use serde_json::{Value, json};
use tidings_domain::store_check::{Outcome, Part};

use super::{demand_clean, everything, left, report};
use crate::community::Community;
use crate::server::{Server, each_engine, in_memory};

#[each_engine("check")]
async fn a_repair_never_changes_a_counter_to_match_a_loss(server: Server) {
    let Community { server, .. } = everything(server).await;
    let lost = "news.up:1 news.down:2 thread:comment:1 user:2:followers user:1:followings \
        user:3:followings";
    server.write(|batch| lost.split(' ').for_each(|key| batch.delete(key))).await;
    // Home timelines follow from who is followed, and are made anew, which counts as a change of whom one follows.
    let is_home = |key: &str| key.ends_with(":home_timeline");
    let dump = async || {
        let mut dump = server.dump().await;
        dump.retain(|key, _| !is_home(key));
        for value in dump.values_mut() {
            if let tidings_keyspace::Value::Hash(fields) = value {
                fields.retain(|(field, _)| field != "followings_version");
            }
        }
        dump
    };
    let before = dump().await;
    for _ in 0..2 {
        let found = report(&server, true).await;
        for difference in found.differences.iter().filter(|difference| !is_home(&difference.key)) {
            assert_eq!(difference.outcome, Outcome::Person, "{difference:?}");
        }
        for key in ["news.up:1", "news.down:2", "thread:comment:1", "users.by_followers"] {
            assert!(found.differences.iter().any(|difference| difference.key == key), "{key}");
        }
        assert_eq!(dump().await, before);
    }
}

#[each_engine("check")]
async fn a_comment_voted_on_both_ways_keeps_the_vote_up_and_blocks_nothing(server: Server) {
    let Community { server, .. } = everything(server).await;
    let read = async || {
        let json = server.field("thread:comment:1", "1").await.unwrap();
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let right = read().await;
    let mut both = right.clone();
    both["down"] = json!([3, 4, 4]);
    server.set_field("thread:comment:1", "1", &both.to_string()).await;
    server.write(|batch| batch.increment_field("news:1", "comments", 5)).await;
    let found = report(&server, true).await;
    assert!(left(&found).is_empty(), "{:#?}", found.differences);
    assert_eq!((&read().await["up"], &read().await["down"]), (&right["up"], &json!([4])));
    demand_clean(&server).await;
}

#[each_engine("check")]
async fn voters_that_are_known_a_little_longer_than_their_week_are_no_difference(server: Server) {
    let Community { server, .. } = everything(server).await;
    let week = 7 * 86_400;
    // A batch that waited some minutes for the store.
    server.write(|batch| batch.expire("voted:1", Duration::from_secs(week + 300))).await;
    demand_clean(&server).await;
    server.write(|batch| batch.expire("voted:1", Duration::from_secs(week + 7_200))).await;
    let check = async |repair| {
        let (site, now) = (&server.app.site, server.app.moment());
        tidings_domain::store_check::check(site, Part::Whole, now, repair, |_| {}).await.unwrap()
    };
    assert_eq!(check(true).await.totals.mended, 1);
    assert_eq!(check(true).await.totals.all(), 0, "a second repair finds nothing");
}

/// The rounds of a check.
async fn rounds(server: &Server, repair: bool) -> (u64, u64) {
    let before = server.store().rounds();
    let found = report(server, repair).await;
    (server.store().rounds() - before, found.totals.all())
}

#[in_memory]
async fn many_differences_are_looked_at_in_few_rounds(server: Server) {
    let author = server.member("alice").await;
    for number in 0..300 {
        author.submit_text(&format!("Story {number}"), "text").await;
    }
    demand_clean(&server).await;
    let (without, _) = rounds(&server, false).await;
    let damage = |batch: &mut tidings_keyspace::Batch| {
        for id in 1..=300_u64 {
            batch.delete(format!("article:{id}"));
            batch.delete(format!("voted:{id}"));
            batch.sorted_remove("news.top", id.to_string());
            batch.increment_field(format!("news:{id}"), "up", 1);
        }
        batch.delete("time:");
        batch.delete("score:");
    };
    server.write(damage).await;
    let (looking, differences) = rounds(&server, false).await;
    assert!(differences >= 900, "{differences}");
    assert!(looking <= without + 60, "{looking} rounds, and {without} without a difference");
    let (mending, differences) = rounds(&server, true).await;
    // Each difference is one batch; the walks are four.
    assert!(mending <= 4 * without + 200 + differences, "{mending} rounds for {differences} differences");
    demand_clean(&server).await;
}
