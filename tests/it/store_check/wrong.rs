//! Values that only a person can correct: nothing that follows from one is mended, and the rest is.

use tidings_domain::store_check::{Difference, Outcome, StoreReport};
use tidings_keyspace::Batch;

use super::{everything, left, report};
use crate::community::Community;
use crate::server::{Server, each_engine};

/// Damage with a cause: what is done, the key that is called wrong, and keys that differ because
/// of it.
type Caused = (&'static str, fn(&mut Batch), &'static str, &'static [&'static str]);

const CAUSED: &[Caused] = &[
    (
        "a story of another author, who does not exist",
        |b| b.set_field("news:2", "user_id", "999"),
        "news:2",
        &["article:2", "user.posted:999", "user.posted:2"],
    ),
    (
        "such a story without its article, which has voters",
        |b| {
            b.set_field("news:2", "user_id", "999");
            b.delete("article:2");
        },
        "news:2",
        &["article:2", "voted:2"],
    ),
    (
        "a tweet of another author, who does not exist",
        |b| b.set_field("tweet:2", "user_id", "999"),
        "tweet:2",
        &["user:999:user_timeline", "user:2:user_timeline", "user:1:home_timeline"],
    ),
    (
        "a vote of nobody, which is not counted",
        |b| b.sorted_add("news.up:1", "77", 1.0),
        "news.up:1",
        &["news:1", "article:1"],
    ),
    (
        "a vote on a site by no voter",
        |b| {
            let vote = "+1 2027-01-15T08:00:00Z";
            b.set_field("link:example.com:votes", "beda0000-0822-4342-0990-b92d94d9489a", vote);
        },
        "link:example.com:votes",
        &["link:example.com", "links:sum", "links:count", "day:2027-01-15:links:count"],
    ),
    (
        "flags of which one cannot be read",
        |b| b.set_field("flags:story:2", "3", "x"),
        "flags:story:2",
        &["flags:story:2"],
    ),
];

/// The differences of a report at a key.
fn at<'a>(report: &'a StoreReport, key: &str) -> Vec<&'a Difference> {
    report.differences.iter().filter(|difference| difference.key == key).collect()
}

async fn demand_hands_off(server: &Server, (what, damage, cause, follow): &Caused) {
    server.write(damage).await;
    let before = server.dump().await;
    for repair in [false, true, true] {
        let found = report(server, repair).await;
        assert!(!at(&found, cause).is_empty(), "{what}: {:#?}", found.differences);
        for difference in &found.differences {
            assert_eq!(difference.outcome, Outcome::Person, "{what}: {difference:#?}");
        }
        for key in *follow {
            let advice = format!("needs a person: correct {cause} first");
            let is_there = at(&found, key).iter().any(|difference| difference.repair() == advice);
            assert!(is_there, "{what}: nothing says {advice:?} of {key}: {:#?}", found.differences);
        }
        assert_eq!(server.dump().await, before, "{what}: repair {repair}");
    }
}

#[each_engine("check")]
async fn nothing_that_follows_from_a_wrong_value_is_mended(server: Server) {
    let Community { server, .. } = everything(server).await;
    server.write(|batch| batch.set("site.logo", "AAAA")).await;
    let before = super::entries(&server).await;
    for caused in CAUSED {
        demand_hands_off(&server, caused).await;
        super::put_back(&server, server.dump().await, &before).await;
    }
    super::demand_clean(&server).await;
}

#[each_engine("check")]
async fn what_does_not_follow_from_a_wrong_value_is_mended_and_the_totals_add_up(server: Server) {
    let Community { server, .. } = everything(server).await;
    let damage = |batch: &mut Batch| {
        batch.set_field("news:2", "user_id", "999");
        batch.sorted_remove("news.cron", "1");
        batch.increment_field("news:1", "up", 3);
        // The counter of votes does not follow from the author.
        batch.increment_field("news:2", "down", 5);
    };
    server.write(damage).await;
    let looked = report(&server, false).await;
    let outcomes = |report: &StoreReport, outcome| {
        report.differences.iter().filter(|difference| difference.outcome == outcome).count()
    };
    let (mendable, person) = (outcomes(&looked, Outcome::Mendable), outcomes(&looked, Outcome::Person));
    assert!(mendable >= 3 && person >= 4, "{:#?}", looked.differences);
    assert_eq!(mendable + person, looked.differences.len());

    let mended = report(&server, true).await;
    assert_eq!(outcomes(&mended, Outcome::Mended), mendable, "{:#?}", mended.differences);
    assert_eq!(outcomes(&mended, Outcome::Person), person, "{:#?}", mended.differences);
    assert_eq!(mended.differences.len(), looked.differences.len());
    if server.redis.is_none() {
        // On Redis the report leaves some out.
        assert_eq!(mended.totals.all(), mended.totals.mended + mended.totals.person);
        assert_eq!(mended.totals.person, u64::try_from(person).unwrap());
    }
    assert_eq!(server.number("news:1", "up").await, looked_up(&server, "news.up:1").await);
    assert_eq!(server.number("news:2", "down").await, looked_up(&server, "news.down:2").await);

    // The second run finds only what needs a person, without and with a repair.
    for repair in [false, true] {
        let again = report(&server, repair).await;
        assert_eq!(again.differences.len(), person, "{:#?}", again.differences);
        assert_eq!(left(&again), left(&mended));
    }
    // Once the value is corrected, nothing is left.
    server.set_field("news:2", "user_id", "2").await;
    super::demand_clean(&server).await;
}

/// The members of a list of voters.
async fn looked_up(server: &Server, key: &str) -> i64 {
    i64::try_from(server.sorted(key).await.len()).unwrap()
}
