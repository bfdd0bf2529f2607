//! The cost of an answer: a small constant number of rounds to the store.

use serde_json::json;
use tidings_web::server::figures;
use tidings_web::site_lists::SiteList;

use crate::client::{Client, ok};
use crate::server::{Server, each_engine, in_memory};

const MOST_ROUNDS: u64 = 3;

/// The rounds that a request takes that changes nothing. The background looks
/// for work now and then, which only adds: the least of some counts.
async fn least_rounds(server: &Server, client: &Client, path: &str) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..5 {
        least = least.min(server.cold_rounds_of(client, path).await);
    }
    least
}

/// The rounds of a request, logged in and out: few, and the same number.
async fn check_rounds(server: &Server, member: &Client, path: &str) -> u64 {
    let anonymous = server.cold_rounds_of(&server.visitor(), path).await;
    let logged_in = server.cold_rounds_of(member, path).await;
    // Their number of stories is without those that flags have hidden, which the review queue tells.
    let most = MOST_ROUNDS + u64::from(path.starts_with("/api/getnews/"));
    assert!((1..=most).contains(&anonymous), "{path}: {anonymous}");
    assert!((1..=most).contains(&logged_in), "{path}: {logged_in} when logged in");
    logged_in
}

#[each_engine("rounds")]
async fn lists_of_1_and_of_100_news_take_the_same_few_rounds(server: Server) {
    let users = server.members(10).await;
    users[0].submit_text("The only one", "text").await;
    let lists = "/ /latest/0 /top/0 /best /best/new /rss /top/json /site/example.com/atom /best/atom \
        /moderations/atom /moderations /comments /api/articles/score/1";
    let of_all = SiteList::names().map(|sort| format!("/api/getnews/{sort}/0/30"));
    let lists: Vec<String> = lists.split(' ').map(str::to_owned).chain(of_all).collect();
    let mut few = Vec::new();
    for list in &lists {
        few.push(check_rounds(&server, &users[1], list).await);
    }
    for number in 1..100 {
        users[number % 10].submit_text(&format!("Number {number}"), "text").await;
    }
    for (list, few) in lists.iter().zip(few) {
        assert_eq!(check_rounds(&server, &users[1], list).await, few, "{list}");
    }
}

#[each_engine("rounds")]
async fn items_and_their_lists_take_the_same_few_rounds_however_many_comments_they_have(server: Server) {
    let users = server.members(10).await;
    users[0].submit_text("A story", "text").await;
    users[1].comment(1, "A comment").await;
    let reads = [
        ("/v0/item/1.json", 4),
        ("/v0/item/2.json", 4),
        ("/v0/item/999.json", 2),
        ("/v0/maxitem.json", 2),
        ("/v0/topstories.json", 2),
        ("/v0/newstories.json", 2),
        ("/v0/beststories.json", 2),
        ("/v0/askstories.json", 2),
        ("/v0/jobstories.json", 0),
        ("/v0/updates.json", 2),
        ("/v0/user/member-1.json", 3),
        ("/api/v1/items/1", 4),
        ("/api/v1/items/2", 4),
        ("/api/v1/users/member-1", 3),
    ];
    let check = async || {
        for (path, most) in reads {
            let rounds = least_rounds(&server, &server.visitor(), path).await;
            assert!(rounds <= most, "{path}: {rounds}");
            // A repeated request within the second costs nothing, once the writes before it are known.
            let kept = server.least_rounds_during(async || server.visitor().text(path).await).await;
            // It reads more comments of one thread than are remembered of a hash on Redis.
            let is_read_again = path == "/v0/updates.json" && server.store().is_shared();
            assert!(kept == 0 || is_read_again, "{path}: {kept}");
        }
    };
    check().await;
    for number in 0..200 {
        users[number % 10].comment(1, &format!("Comment {number}")).await;
        users[number % 10].reply(1, 1, &format!("Reply {number}")).await;
        if number % 4 == 0 {
            users[number % 10].submit_text(&format!("Number {number}"), "text").await;
        }
    }
    check().await;
}

#[each_engine("rounds")]
async fn timelines_of_1_and_of_120_tweets_take_the_same_few_rounds(server: Server) {
    let members = server.members(30).await;
    let reader = &members[0];
    reader.tweet("The only one").await;
    members[1].tweet("Another").await;
    reader.follow("member-1").await;
    let pages = [
        ("/home", 8),
        ("/everyone", 3),
        ("/@member-1", 5),
        ("/user/member-1", 5),
        ("/@member-1/followers", 3),
        ("/suggestions", 5),
        ("/tweet/1", 2),
        ("/api/timeline/home", 5),
        ("/api/timeline/everyone", 3),
        ("/api/timeline/user/member-1", 5),
        ("/api/followers/member-1", 3),
    ];
    for (path, expected) in pages {
        assert_eq!(least_rounds(&server, reader, path).await, expected, "{path}");
    }
    for member in &members[1..] {
        for number in 0..4 {
            server.advance(1);
            member.tweet(&format!("Number {number}")).await;
        }
        if member.username != "member-1" {
            member.follow("member-1").await;
        }
        reader.follow(&member.username).await;
    }
    for (path, expected) in pages {
        assert_eq!(least_rounds(&server, reader, path).await, expected, "{path}");
    }
}

#[each_engine("rounds")]
async fn the_administration_page_takes_the_same_few_rounds_however_much_there_is(server: Server) {
    let alice = server.register("alice").await;
    let members = server.members(20).await;
    alice.submit_text("The only one", "text").await;
    assert_eq!(least_rounds(&server, &alice, "/admin").await, 9);
    for number in 0..100 {
        server.advance(1_200);
        let member = &members[number % members.len()];
        let news = member.submit_text(&format!("Number {number}"), "text").await;
        member.tweet(&format!("Number {number}")).await;
        alice.comment(news, "A comment").await;
        figures::keep(&server.app).await;
    }
    assert_eq!(least_rounds(&server, &alice, "/admin").await, 9);
}

#[each_engine("rounds")]
async fn lists_of_topics_take_a_round_more_for_each_that_is_built_and_one_once_a_minute(server: Server) {
    let users = server.members(2).await;
    server.set_karma(&users[0], 100).await;
    users[0].submit_on("rust,go", "The only one").await;
    let lists = ["/topic/rust", "/topic/go+rust/new", "/topic/go,rust/atom", "/api/topic/go/score/1"];
    for (path, built) in lists.into_iter().zip([1, 2, 1, 0]) {
        let more = if built == 0 { 0 } else { built + 1 };
        assert_eq!(server.cold_rounds_of(&users[1], path).await, 3 + more, "{path}");
        assert_eq!(check_rounds(&server, &users[1], path).await, 3, "{path}");
    }
    for number in 0..60 {
        users[0].submit_on("rust,go", &format!("Number {number}")).await;
    }
    for path in lists {
        assert_eq!(check_rounds(&server, &users[1], path).await, 3, "{path}");
    }
}

#[each_engine("rounds")]
async fn threads_of_1_and_of_500_comments_12_deep_take_the_same_few_rounds(server: Server) {
    let users = server.members(20).await;
    let short = users[0].submit_text("Short", "text").await;
    let long = users[0].submit_text("Long", "text").await;
    users[1].comment(short, "The only one").await;
    let fields = (1..=500_u64).map(|id| {
        // Eleven of twelve comments answer the one before.
        let parent = if id % 12 == 1 { -1 } else { i64::try_from(id).unwrap() - 1 };
        let author = id % 20 + 1;
        let comment =
            json!({"body": "x", "ctime": id, "user_id": author, "parent_id": parent, "up": [author]});
        (id.to_string(), comment.to_string())
    });
    let fields: Vec<_> = fields.collect();
    server.write(|batch| batch.set_fields(format!("thread:comment:{long}"), fields)).await;

    for face in ["/news", "/api/getcomments"] {
        let few = check_rounds(&server, &users[2], &format!("{face}/{short}")).await;
        assert_eq!(check_rounds(&server, &users[2], &format!("{face}/{long}")).await, few);
    }
    let votes = |count| {
        let asked = (0..count).map(|number| format!("{long}-{}", number % 500 + 1));
        format!("/api/votes?of={short},{}", asked.collect::<Vec<_>>().join(","))
    };
    let few = least_rounds(&server, &users[2], &votes(1)).await;
    assert_eq!(least_rounds(&server, &users[2], &votes(299)).await, few);
    let told = users[2].api_get(&votes(299)).await;
    assert!(few <= MOST_ROUNDS && told["votes"].as_array().unwrap().len() == 300, "{few}: {told}");

    let path = format!("/api/getcomments/{long}");
    let text = users[2].text(&path).await;
    assert_eq!(text.matches(r#""username":"member-"#).count(), 500);
}

#[in_memory]
async fn storing_stale_ranks_costs_one_reader_in_5_seconds_one_round_more(server: Server) {
    let users = server.members(2).await;
    for number in 0..50 {
        users[0].submit_text(&format!("Number {number}"), "text").await;
    }
    let path = "/api/getnews/top/0/30";
    let fresh = server.cold_rounds_of(&users[1], path).await;
    for _ in 0..3 {
        server.advance(3_600);
        assert_eq!(server.cold_rounds_of(&users[1], path).await, fresh + 1);
        assert_eq!(server.cold_rounds_of(&users[1], path).await, fresh);
        server.advance(4);
        assert_eq!(server.cold_rounds_of(&server.visitor(), path).await, fresh);
    }
}

#[in_memory]
async fn actions_take_few_rounds_however_much_there_is(server: Server) {
    let users = server.members(3).await;
    // The first post of a server reads the secret of the tags of networks.
    users[0].tweet("Hello").await;
    let mut costs = Vec::new();
    for number in 0..60 {
        // With empty caches: one round reads the rules for posts, and one the bans of networks.
        server.clear_caches().await;
        let mut news = 0;
        let submitting = async { news = users[0].submit_text(&format!("Number {number}"), "text").await };
        let submitted = server.rounds_during(submitting).await;
        server.set_karma(&users[1], 10).await;
        server.clear_caches().await;
        let voted = server.rounds_during(async { ok(users[1].vote(news, "up").await) }).await;
        server.clear_caches().await;
        let commented = server.rounds_during(users[2].comment(1, "Another")).await;
        costs.push([submitted, voted, commented]);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
    assert!(costs[0].iter().all(|rounds| *rounds <= 8), "{:?}", costs[0]);
}

#[each_engine("rounds")]
async fn what_readers_have_hidden_costs_their_pages_nothing(server: Server) {
    let users = server.members(3).await;
    server.set_karma(&users[0], 100).await;
    for number in 0..40 {
        users[0].submit_on("rust", &format!("Number {number}")).await;
    }
    for number in 1..=20 {
        ok(users[1].call(&format!("/api/hide?news_id={number}")).await);
        ok(users[1].call(&format!("/api/save?news_id={number}")).await);
    }
    ok(users[1].call("/api/followtopic?topic=rust").await);
    // 200 mutes, among them some of everything.
    let words = (0..100).map(|number| (format!("word:nothing {number}"), "1"));
    let sites = (0..50).map(|number| (format!("domain:site{number}.example"), "1"));
    let people = (1_000..1_050).map(|id: u64| (format!("user:{id}"), "1"));
    let mutes: Vec<_> = words.chain(sites).chain(people).collect();
    server.write(|batch| batch.set_fields(format!("user:{}:mutes", users[1].user_id), mutes)).await;
    users[2].comment(1, "A comment").await;
    users[2].tweet("A tweet").await;
    for path in
        ["/news/1", "/everyone", "/@member-2", "/usercomments/member-2/0", "/api/getcomments/1", "/inbox"]
    {
        let muting = least_rounds(&server, &users[1], path).await;
        assert_eq!(muting, least_rounds(&server, &users[2], path).await, "{path}");
    }
    let month = "/past/2027-01";
    let paths = "/ /top/30 /top/week /top/all/30 /latest/0 /best /topic/rust /api/past/2027-01/0/30";
    for path in paths.split(' ').chain([month]) {
        // The lists of topics and months are built once.
        server.cold_rounds_of(&users[2], path).await;
        let muting = least_rounds(&server, &users[1], path).await;
        assert_eq!(muting, least_rounds(&server, &users[2], path).await, "{path}");
        assert!(least_rounds(&server, &server.visitor(), path).await <= MOST_ROUNDS + 1, "{path}");
    }
    server.rounds_of(&users[1], "/").await;
    assert!(server.rounds_of(&users[1], "/").await <= u64::from(server.store().is_shared()));
    let followed = least_rounds(&server, &users[1], "/topics/followed").await;
    assert!(followed <= 8, "{followed}");
}

#[each_engine("rounds")]
async fn an_action_with_a_name_for_the_request_takes_no_round_more_and_a_repeat_takes_one(server: Server) {
    let users = server.members(2).await;
    users[0].submit_text("A text", "text").await;
    // The first post of a server reads the secret of the tags of networks.
    users[1].tweet("Hello").await;
    let cost = async |request: &[(&str, &str)], text: &str| {
        let comment = [("news_id", "1"), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", text)];
        let answering = async {
            ok(users[1].api_post("/api/postcomment", &[&comment, request].concat()).await);
        };
        server.rounds_during(answering).await
    };
    cost(&[], "The first, which fills caches").await;
    // The background adds rounds now and then.
    let mut least = [u64::MAX; 3];
    for number in 0..5 {
        let request = number.to_string();
        let named = [("request", &*request)];
        least[0] = least[0].min(cost(&[], "Without a name").await);
        least[1] = least[1].min(cost(&named, "With one").await);
        least[2] = least[2].min(cost(&named, "With one").await);
    }
    assert_eq!(least[0], least[1]);
    // On a shared store, the session and the user are read too.
    assert!((1..=3).contains(&least[2]), "{least:?}");
}
