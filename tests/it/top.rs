//! The pages of the top news: every item is on exactly one of them.

use std::collections::BTreeSet;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use proptest::{collection, option, prop_oneof};
use tidings_domain::values::{RankingRules, Timestamp, ranking};

use crate::client::{ids, ok};
use crate::server::{Batch, Server, each_engine, in_memory};

/// Items on the front page.
const FRONT: usize = 30;

/// An item as it is written into a store, and the rank that is stored with it.
struct Item {
    id: u64,
    posted: u64,
    up: i64,
    stored_rank: f64,
}

impl Item {
    fn rank(&self, now: u64) -> f64 {
        let rules = RankingRules::default();
        ranking::rank(ranking::score(self.up, 0, &rules), Timestamp(self.posted), Timestamp(now), &rules)
    }

    /// The same item with the rank that it had when it was posted.
    fn ranked_when_posted(mut self) -> Self {
        self.stored_rank = self.rank(self.posted);
        self
    }
}

async fn write(server: &Server, items: &[Item]) {
    let mut batch = Batch::new();
    for item in items {
        let key = format!("news:{}", item.id);
        let (id, posted, up) = (item.id.to_string(), item.posted.to_string(), item.up.to_string());
        let rank = item.stored_rank.to_string();
        let fields = [
            ("id", id.as_str()),
            ("title", "An item"),
            ("url", "text://x"),
            ("user_id", "1"),
            ("ctime", &posted),
            ("up", &up),
            ("down", "0"),
            ("rank", &rank),
        ];
        batch.set_fields(key, fields);
        batch.sorted_add("news.top", item.id.to_string(), item.stored_rank);
    }
    server.commit(batch).await;
}

/// The ids on a page, in order, and how many items there are in all.
async fn page(server: &Server, start: usize, count: usize) -> (Vec<u64>, usize) {
    let answer = ok(server.visitor().api_get(&format!("/api/getnews/top/{start}/{count}")).await);
    (ids(&answer["news"]), usize::try_from(answer["count"].as_u64().unwrap()).unwrap())
}

/// Reads one page after the other: all items must be there, each of them once.
async fn check_pages(server: &Server, size: usize, expected: usize) {
    let mut seen = Vec::new();
    let mut start = 0;
    loop {
        let (ids, total) = page(server, start, size).await;
        assert_eq!(total, expected);
        if ids.is_empty() {
            break;
        }
        assert_eq!(ids.len(), size.min(expected - start), "pages of {size}, from {start} on");
        seen.extend(ids);
        start += size;
    }
    let distinct: BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!((seen.len(), distinct.len()), (expected, expected), "pages of {size}");
}

#[in_memory]
async fn items_that_are_seconds_old_are_on_one_page_each(server: Server) {
    let members = server.members(6).await;
    for member in &members {
        server.set_karma(member, 1_000).await;
    }
    for number in 0..120 {
        let id = members[0].submit_text(&format!("Number {number}"), "text").await;
        for voter in &members[1..1 + number % 5] {
            ok(voter.vote(id, "up").await);
        }
        if number % 4 == 0 {
            server.advance(1);
        }
    }
    for seconds in [0, 1, 4, 5, 30, 600] {
        server.advance(seconds);
        for size in [30, 32, 7] {
            check_pages(&server, size, 120).await;
        }
    }
}

#[each_engine("one of its kind")]
async fn every_item_is_on_one_page_whatever_its_rank_and_the_rank_that_is_stored(server: Server) {
    let age = prop_oneof![0..60_u64, 0..3_000_000_u64];
    let items = collection::vec((age, -5..40_i64, option::of(-10.0..400.0)), 300);
    let passes = collection::vec((1..=32_usize, 0..20_000_u64), 12);
    let drawn = (items, passes).new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let items: Vec<Item> = (1..)
        .zip(drawn.0)
        .map(|(id, (age, up, stored_rank))| {
            let posted = server.now() - age;
            let item = Item { id, posted, up, stored_rank: 0.0 }.ranked_when_posted();
            Item { stored_rank: stored_rank.unwrap_or(item.stored_rank), ..item }
        })
        .collect();
    write(&server, &items).await;
    for (size, seconds) in drawn.1 {
        check_pages(&server, size, items.len()).await;
        server.advance(seconds);
    }
}

#[in_memory]
async fn the_front_page_finds_the_highest_ranks_in_some_refreshes(server: Server) {
    // Stored when they were posted, ranks differ by nothing but votes.
    let items: Vec<Item> = (1..=404)
        .map(|id| Item {
            id,
            posted: server.now() + id * 97 % 86_400,
            up: i64::try_from(id % 3 + 1).unwrap(),
            stored_rank: 0.0,
        })
        .map(Item::ranked_when_posted)
        .collect();
    write(&server, &items).await;
    server.advance(86_400);
    for _ in 0..10 {
        page(&server, 0, FRONT).await;
        server.advance(5);
    }
    let (shown, _) = page(&server, 0, FRONT).await;
    let rank = |id: &u64| items[usize::try_from(*id).unwrap() - 1].rank(server.now());
    let lowest_shown = shown.iter().map(rank).fold(f64::INFINITY, f64::min);
    let hidden = items.iter().filter(|item| !shown.contains(&item.id));
    let highest_hidden = hidden.map(|item| item.rank(server.now())).fold(0.0, f64::max);
    assert!(lowest_shown >= highest_hidden * 0.999, "{lowest_shown} {highest_hidden}");
    assert!(shown.is_sorted_by(|left, right| rank(left) >= rank(right)));
}

#[in_memory]
async fn an_item_below_the_page_that_ranks_higher_now_is_on_it_after_the_next_refresh(server: Server) {
    // The last was posted last and ranks highest, but is stored as the lowest.
    let now = server.now();
    let mut items: Vec<Item> = (1..=8)
        .map(|id| Item { id, posted: now - 100 + id, up: 1, stored_rank: 0.0 }.ranked_when_posted())
        .collect();
    items[7].stored_rank *= 0.999_95;
    write(&server, &items).await;
    // The first reader refreshes.
    assert_eq!(page(&server, 0, 3).await.0, [8, 7, 6]);
    assert_eq!(page(&server, 3, 5).await.0, [5, 4, 3, 2, 1]);
}

#[in_memory]
async fn deleted_items_leave_the_pages_and_the_total(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..20 {
        alice.submit_text(&format!("Number {number}"), "text").await;
    }
    for id in [3, 4, 11] {
        ok(alice.delete(id).await);
    }
    check_pages(&server, 5, 17).await;
}

#[in_memory]
async fn a_refresh_that_lets_in_what_was_not_read_costs_two_rounds_more(server: Server) {
    // More than one refresh reads, all alike: what is refreshed sinks below the others.
    let items: Vec<Item> = (1..=150)
        .map(|id| Item { id, posted: server.now(), up: 1, stored_rank: 0.0 }.ranked_when_posted())
        .collect();
    write(&server, &items).await;
    let rounds = async || {
        server.clear_caches().await;
        let before = server.store().rounds();
        let (shown, _) = page(&server, 0, FRONT).await;
        (server.store().rounds() - before, shown)
    };
    let (usual, first) = rounds().await;
    assert_eq!(usual, 4);
    server.advance(3_600);
    let (refreshing, shown) = rounds().await;
    assert_eq!(refreshing, 4 + 1 + 2);
    assert!(shown.iter().all(|id| !first.contains(id)), "{shown:?}");
    assert_eq!(rounds().await, (usual, shown));
}
