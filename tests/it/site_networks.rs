//! The role of networks in votes on sites: how many votes one of them may bring, and how
//! many of them a score needs. Hosts that cannot have votes, and names with `www.`.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::StatusCode;
use serde_json::json;
use sha2::{Digest, Sha256};
use tidings_domain::sites::{self, Listed, SiteVote, StartingVoters, Verdict};
use tidings_domain::values::{Hostname, VoterId};
use tidings_domain::{Error, Refusal};
use tidings_keyspace::{Batch, Expiry};

use crate::client::{Client, HttpResponse, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::consistency;
use crate::html::Page;
use crate::pages::page;
use crate::redis_server::RedisServer;
use crate::server::{Server, each_engine, in_memory};
use crate::sites::{body, code, encoded, post_text, score, uuid, vote};

const PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.1");
const VOTES: (&str, &str) = ("limits.site_votes_per_network", "3");
const NETWORKS: (&str, &str) = ("limits.site_score_networks", "3");

/// A vote from an address.
async fn vote_from(client: &Client, address: &str, link: &str, value: i64, voter: usize) -> HttpResponse {
    vote(&client.clone().forwarded_for(address), link, value, &uuid(voter)).await
}

async fn accepts(client: &Client, address: &str, link: &str, value: i64, voter: usize) {
    let answer = vote_from(client, address, link, value, voter).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{voter} from {address} on {link}: {answer:?}");
}

async fn refuses(client: &Client, address: &str, link: &str, value: i64, voter: usize) {
    let answer = vote_from(client, address, link, value, voter).await;
    assert_eq!(code(&answer, StatusCode::FORBIDDEN), "too_many_votes", "{voter} from {address} on {link}");
    assert!(body(&answer).contains("your network") || body(&answer).contains("Your network"), "{answer:?}");
}

#[in_memory(&[PROXY, VOTES])]
async fn one_network_brings_three_votes_on_a_host_in_24_hours(server: Server) {
    let client = server.visitor();
    for (address, voter) in [("203.0.113.0", 1), ("203.0.113.7", 2), ("203.0.113.255", 3)] {
        accepts(&client, address, "a.com", 1, voter).await;
        server.advance(3_600);
    }
    let before = server.dump().await;
    refuses(&client, "203.0.113.9", "a.com", 1, 4).await;
    refuses(&client, "203.0.113.7", "a.com", -1, 5).await;
    assert_eq!(server.dump().await, before, "a refused vote writes nothing");
    // Other hosts and other networks are free, and so are changes.
    accepts(&client, "203.0.113.9", "b.com", 1, 4).await;
    accepts(&client, "203.0.112.9", "a.com", 1, 4).await;
    accepts(&client, "203.0.113.9", "a.com", -1, 1).await;
    accepts(&client, "203.0.113.9", "a.com", -1, 1).await;
    // A vote that is changed from another network counts there, and here still.
    refuses(&client, "203.0.113.9", "a.com", -1, 4).await;
    accepts(&client, "198.51.100.1", "a.com", 1, 2).await;
    refuses(&client, "203.0.113.9", "a.com", 1, 5).await;
    // A vote that is withdrawn makes room for one.
    accepts(&client, "198.51.100.1", "a.com", 0, 3).await;
    accepts(&client, "203.0.113.9", "a.com", 1, 5).await;
    refuses(&client, "203.0.113.9", "a.com", 1, 6).await;
    consistency::check_site(&server).await;
}

#[each_engine("expiry", &[PROXY, VOTES])]
async fn the_24_hours_of_each_vote_end_by_themselves(server: Server) {
    let client = server.visitor();
    for voter in 1..=3 {
        accepts(&client, "203.0.113.1", "a.com", 1, voter).await;
        server.advance(3_600);
    }
    // The first vote was three hours ago.
    server.advance(86_400 - 3 * 3_600 - 1);
    refuses(&client, "203.0.113.2", "a.com", 1, 4).await;
    server.advance(1);
    accepts(&client, "203.0.113.2", "a.com", 1, 4).await;
    refuses(&client, "203.0.113.2", "a.com", 1, 5).await;
    server.advance(3_600);
    accepts(&client, "203.0.113.2", "a.com", 1, 5).await;
    refuses(&client, "203.0.113.2", "a.com", 1, 6).await;
    // The vote of the first voter is of this network, so that changing it is free.
    accepts(&client, "203.0.113.2", "a.com", -1, 1).await;
    // Withdrawing it frees nothing: it no longer counts.
    accepts(&client, "203.0.113.2", "a.com", 0, 1).await;
    refuses(&client, "203.0.113.2", "a.com", 1, 1).await;
    consistency::check_site(&server).await;
}

#[in_memory(&[PROXY, VOTES])]
async fn what_counts_the_votes_of_a_network_expires(server: Server) {
    let client = server.visitor();
    let key = "limit:site_votes:203.0.113.0/24:a.com";
    accepts(&client, "203.0.113.1", "a.com", 1, 1).await;
    let Expiry::In(left) = server.expiry(key).await else { panic!("{key} does not expire") };
    assert_eq!(left.as_secs(), 86_400);
    server.advance(3_600);
    accepts(&client, "203.0.113.1", "a.com", 1, 2).await;
    server.advance(3_600);
    // Without the second vote it lives as long as the first one counts.
    accepts(&client, "203.0.113.1", "a.com", 0, 2).await;
    let Expiry::In(left) = server.expiry(key).await else { panic!("{key} does not expire") };
    assert_eq!(left.as_secs(), 86_400 - 7_200);
    server.advance(86_400 - 7_200);
    assert_eq!(server.expiry(key).await, Expiry::Absent);
    // A vote that is cast and withdrawn leaves nothing behind.
    accepts(&client, "203.0.113.1", "b.com", 1, 1).await;
    accepts(&client, "203.0.113.1", "b.com", 0, 1).await;
    let keys = server.dump().await.into_keys();
    assert_eq!(keys.filter(|key| key.contains("b.com")).collect::<Vec<_>>(), Vec::<String>::new());
    // A text that cannot be read counts as used up.
    server.write(|batch| batch.set(key, "many")).await;
    refuses(&client, "203.0.113.1", "a.com", 1, 3).await;
}

#[in_memory(&[PROXY, VOTES])]
async fn a_network_is_a_48_of_ipv6(server: Server) {
    let client = server.visitor();
    for (address, voter) in [("2001:db8:1::1", 1), ("2001:db8:1:2::1", 2), ("2001:db8:1:ffff:ffff::", 3)] {
        accepts(&client, address, "a.com", 1, voter).await;
    }
    refuses(&client, "2001:db8:1:8000::1", "a.com", 1, 4).await;
    accepts(&client, "2001:db8:2::1", "a.com", 1, 4).await;
    // An IPv4 address in IPv6 form is of its IPv4 network.
    for voter in 11..=13 {
        accepts(&client, "::ffff:203.0.113.1", "a.com", 1, voter).await;
    }
    refuses(&client, "203.0.113.2", "a.com", 1, 14).await;
    accepts(&client, "::ffff:203.0.114.1", "a.com", 1, 14).await;
    consistency::check_site(&server).await;
}

#[in_memory(&[PROXY, VOTES, ("limits.site_account_votes_per_network", "2")])]
async fn every_way_to_vote_counts_for_the_network_and_accounts_count_apart(server: Server) {
    let visitor = server.visitor().forwarded_for("203.0.113.1");
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let (alice, bob) = (alice.forwarded_for("203.0.113.2"), bob.forwarded_for("203.0.113.3"));
    let carol = carol.forwarded_for("203.0.113.4");
    let deployed = |voter| json!({"link": {"hostname": "a.com"}, "value": 1, "user_id": uuid(voter)});
    assert_eq!(vote(&visitor, "a.com", 1, &uuid(1)).await.status, 204);
    assert_eq!(post_text(&visitor, "/v1/vote", &deployed(2)).await.status, 200);
    for account in [&alice, &carol] {
        ok(account.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "1")]).await);
    }
    accepts(&visitor, "203.0.113.9", "a.com", 1, 3).await;

    refuses(&visitor, "203.0.113.9", "a.com", 1, 4).await;
    let answer = post_text(&visitor, "/v1/vote", &deployed(4)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(body(&answer), r#"{"error":"User has voted too many times today"}"#);
    let limit = "limit of 2 votes on one site in 24 hours";
    refused_saying(bob.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "1")]).await, limit);
    let page = bob.answer_to("/votesite?link=a.com&vote=1&next=/site/a.com").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(body(&page).contains(limit), "{}", body(&page));
    // The account may change its vote, and vote from elsewhere.
    ok(alice.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "-1")]).await);
    let elsewhere = bob.forwarded_for("198.51.100.1");
    ok(elsewhere.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "1")]).await);
    consistency::check_site(&server).await;
}

/// Lets many voters of one network vote on one host at the same time, through these servers
/// in turn. Returns how many succeeded; all others must be refused.
async fn crowd_of_one_network(servers: &[&Server], crowd: u8) -> usize {
    let tasks = (0..crowd).map(|number| {
        let server = servers[usize::from(number) % servers.len()];
        let (site, now) = (server.app.site.clone(), server.app.now());
        async move {
            let address = IpAddr::V4(Ipv4Addr::new(203, 0, 113, number));
            let host = Hostname::parse("a.com").unwrap();
            let ballot = SiteVote { host, verdict: Some(Verdict::Good) };
            sites::vote(&site, now, address, VoterId::from_bytes([number; 16]), &ballot).await
        }
    });
    let outcomes = at_once(tasks).await;
    let succeeded = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    for outcome in outcomes {
        match outcome {
            Ok(()) | Err(Error::Refused(Refusal::TooManyVotesFromNetwork { maximum: 3 })) => {}
            Err(other) => panic!("{other}"),
        }
    }
    succeeded
}

#[each_engine("races", &[VOTES])]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_voters_of_one_network_at_once_exactly_three_succeed(server: Server) {
    assert_eq!(crowd_of_one_network(&[&server], 64).await, 3);
    let dump = server.dump().await;
    consistency::check(&dump);
    assert_eq!(consistency::hash(&dump, "link:a.com:networks")["203.0.113.0/24"], "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_of_one_store_count_the_votes_of_a_network_together() {
    let redis = RedisServer::start();
    let url = redis.url();
    let here = Server::on_redis(redis, &[VOTES]).await;
    let there = Server::beside_with(&url, &here, &[VOTES]).await;
    assert_eq!(crowd_of_one_network(&[&here, &there], 32).await, 3);
    consistency::check(&here.dump().await);
}

/// The score of a host wherever one is shown or returned: they must all agree.
async fn score_everywhere(server: &Server, host: &str) -> String {
    let client = server.visitor();
    let expected = score(&client, host).await;
    let from = json!({"links": [{"hostname": host}]}).to_string();
    let deployed = client.get(&format!("/v1/scores?from={}", encoded(&from))).await.json();
    assert_eq!(deployed[0]["score"], *expected);
    let hash = hex::encode(Sha256::digest(host));
    let prefix = ok(client.api_get(&format!("/api/sites/prefix/{hash:.4}")).await);
    let found = prefix["sites"].as_array().unwrap().iter().find(|site| site["link"] == host);
    assert_eq!(found.map_or("NoScore", |site| site["score"].as_str().unwrap()), expected);
    let history = ok(client.api_get(&format!("/api/sites/history/{host}")).await);
    assert_eq!(history["score"], *expected);
    for span in ["day", "all"] {
        let board = ok(client.api_get(&format!("/api/sites/leaderboard/voted/{span}")).await);
        let site = board["sites"].as_array().unwrap().iter().find(|site| site["link"] == host).unwrap();
        assert_eq!(site["score"], *expected, "{span}");
    }
    let badge = match expected.as_str() {
        "NoScore" => None,
        shown => Some(format!("site: {}", shown.to_lowercase())),
    };
    // The story from this site is the only one.
    for path in ["/latest/0", "/news/1", &format!("/site/{host}"), "/sites/voted/all"] {
        let text = page(&client, path).await.text().to_owned();
        match &badge {
            // Beside a title it has other words.
            Some(badge) => {
                let mark = format!("{} site", badge.trim_start_matches("site: "));
                assert!(text.contains(badge) || text.contains(&mark), "{badge} on {path}");
            }
            None => assert!(!text.contains("site: ") && !text.contains("good site"), "{path} has a badge"),
        }
    }
    expected
}

#[in_memory(&[PROXY, NETWORKS, ("sites.marks", "all")])]
async fn a_score_needs_votes_of_three_networks_wherever_it_is_shown(server: Server) {
    let (admin, client) = (server.administrator("admin").await, server.visitor());
    admin.submit_link("A story", "https://a.com/page").await;
    let page = async || page(&client, "/site/a.com").await.text().to_owned();
    let voted_on = async |networks: &str| {
        let told = page().await;
        let sentence = format!("People on {networks} have voted so far. A score needs votes from 3 networks");
        assert!(told.contains(&sentence), "{told}");
    };
    assert!(!page().await.contains("so far"), "a site without votes has no networks to count");
    for voter in 0..30 {
        accepts(&client, "203.0.113.1", "a.com", 1, voter).await;
    }
    assert_eq!(score_everywhere(&server, "a.com").await, "NoScore");
    voted_on("1 network").await;
    accepts(&client, "2001:db8::1", "a.com", -1, 30).await;
    assert_eq!(score_everywhere(&server, "a.com").await, "NoScore");
    voted_on("2 networks").await;
    accepts(&client, "198.51.100.1", "a.com", -1, 31).await;
    assert_eq!(score_everywhere(&server, "a.com").await, "Good");
    assert!(!page().await.contains("so far"));

    // A ban takes the network out, and its end puts it back.
    let user = uuid(31);
    ok(admin.api_post("/api/sites/admin/ban", &[("user_id", &user)]).await);
    assert_eq!(score_everywhere(&server, "a.com").await, "NoScore");
    consistency::check_site(&server).await;
    ok(admin.api_post("/api/sites/admin/unban", &[("user_id", &user)]).await);
    assert_eq!(score_everywhere(&server, "a.com").await, "Good");
    // So does a change from another network, and so does withdrawing the vote.
    accepts(&client, "203.0.113.1", "a.com", -1, 31).await;
    assert_eq!(score_everywhere(&server, "a.com").await, "NoScore");
    accepts(&client, "198.51.100.1", "a.com", -1, 31).await;
    assert_eq!(score_everywhere(&server, "a.com").await, "Good");
    accepts(&client, "203.0.113.1", "a.com", 0, 31).await;
    assert_eq!(score_everywhere(&server, "a.com").await, "NoScore");
    consistency::check_site(&server).await;
}

#[in_memory(&[NETWORKS])]
async fn votes_of_five_accounts_make_a_score_without_more_networks(server: Server) {
    let client = server.visitor();
    for voter in 0..10 {
        assert_eq!(vote(&client, "a.com", -1, &uuid(voter)).await.status, 204);
    }
    let members = server.members(5).await;
    for (member, expected) in members.iter().zip(["NoScore", "NoScore", "NoScore", "NoScore", "Bad"]) {
        ok(member.call("/api/sites/vote?link=a.com&vote=-1").await);
        assert_eq!(score(&client, "a.com").await, expected);
    }
    ok(members[0].api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "0")]).await);
    assert_eq!(score(&client, "a.com").await, "NoScore");
    consistency::check_site(&server).await;
}

/// Adds a vote as it was stored before networks were.
fn old_vote(batch: &mut Batch, voter: &str) {
    batch.set_field("link:a.com:votes", voter, "+1 2027-01-15T08:00:00Z");
    batch.sorted_add(format!("voter:{voter}:votes"), "a.com", 1_800_000_000.0);
    batch.set_fields(format!("voter:{voter}"), [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
    batch.add_member(format!("prefix:{:.4}", hex::encode(Sha256::digest("a.com"))), "a.com");
    for field in ["sum_of_votes", "count_of_votes"] {
        batch.increment_field("link:a.com", field, 1);
    }
    for key in ["links", "day:2027-01-15:links"] {
        for (figure, member) in [("sum", "a.com"), ("count", "a.com")] {
            batch.sorted_increment(format!("{key}:{figure}"), member, 1.0);
        }
    }
    for figure in ["sum", "count"] {
        batch.sorted_increment(format!("day:2027-01-15:voters:{figure}"), voter, 1.0);
    }
}

#[in_memory(&[PROXY, NETWORKS, VOTES])]
async fn a_vote_that_is_stored_without_a_network_counts_as_one_of_its_own(server: Server) {
    let (admin, client) = (server.administrator("admin").await, server.visitor());
    let voters: Vec<String> = (0..20).map(uuid).collect();
    for voter in &voters {
        server.write(|batch| old_vote(batch, voter)).await;
    }
    consistency::check_site(&server).await;
    assert_eq!(score(&client, "a.com").await, "Good");
    // They change, go, and are banned like others.
    accepts(&client, "203.0.113.1", "a.com", 1, 0).await;
    accepts(&client, "203.0.113.1", "a.com", 0, 1).await;
    ok(admin.api_post("/api/sites/admin/ban", &[("user_id", &voters[2])]).await);
    consistency::check_site(&server).await;
    ok(admin.api_post("/api/sites/admin/unban", &[("user_id", &voters[2])]).await);
    consistency::check_site(&server).await;
    assert_eq!(server.hash("link:a.com:networks").await["203.0.113.0/24"], "1");
}

#[in_memory(&[PROXY, NETWORKS, VOTES])]
async fn initial_votes_need_no_networks(server: Server) {
    let (site, now) = (&server.app.site, server.app.now());
    let host = Hostname::parse("a.com").unwrap();
    let listed = |votes| Listed::of(host.clone(), votes);
    let voters = StartingVoters::prepare(site, now, &[listed(20)]).await.unwrap();
    assert_eq!(voters.import(site, now, &listed(20)).await.unwrap(), 20);
    let client = server.visitor();
    assert_eq!(score(&client, "a.com").await, "Good");
    // Somebody who knows one of these voters votes with it: the import takes that back.
    let known = server.hash("import:voters").await["7"].clone();
    let vote = vote(&client.clone().forwarded_for("203.0.113.1"), "a.com", -1, &known).await;
    assert_eq!(vote.status, StatusCode::NO_CONTENT);
    consistency::check_site(&server).await;
    assert_eq!(voters.import(site, now, &listed(20)).await.unwrap(), 1);
    consistency::check_site(&server).await;
    assert_eq!(voters.import(site, now, &listed(0)).await.unwrap(), 20);
    consistency::check_site(&server).await;
    assert!(!server.dump().await.contains_key("link:a.com:networks"));
}

#[in_memory]
async fn a_host_that_cannot_have_votes_does_not_fail_the_others(server: Server) {
    let (alice, client) = (server.member("alice").await, server.visitor());
    for voter in 0..20 {
        assert_eq!(vote(&client, "good.com", 1, &uuid(voter)).await.status, 204);
    }
    refused_saying(alice.call("/api/sites/vote?link=localhost&vote=1").await, "localhost");
    let hosts =
        "a_b.example.com [::1] [2001:db8::1] xn--a.com localhost 127.0.0.1 -a.com a..com a~b.com a'b.com";
    for odd in hosts.split(' ') {
        let array = json!(["good.com", odd, "good.com"]);
        let line = |link, score| json!({"link": link, "score": score});
        let expected = [line("good.com", "Good"), line(odd, "NoScore"), line("good.com", "Good")];
        for list in [array.to_string(), format!("good.com,{odd},good.com")] {
            let answer = client.get(&format!("/scores?for={}", encoded(&list))).await;
            assert_eq!(answer.json(), json!(expected), "{list}");
        }
        let alone = client.get(&format!("/scores?for={}", encoded(odd))).await.json();
        assert_eq!(alone, json!([{"link": odd, "score": "NoScore"}]));
        let links = json!({"links": [{"hostname": odd}, {"hostname": "good.com"}]}).to_string();
        let answer = client.get(&format!("/v1/scores?from={}", encoded(&links))).await;
        let scores = json!([
            {"link": {"hostname": odd}, "score": "NoScore"},
            {"link": {"hostname": "good.com"}, "score": "Good"},
        ]);
        assert_eq!(answer.json(), scores, "{odd}");

        // Nobody can vote on it, or ask about votes on it.
        assert_eq!(code(&vote(&client, odd, 1, &uuid(1)).await, StatusCode::BAD_REQUEST), "invalid");
        let deployed = json!({"link": {"hostname": odd}, "value": 1, "user_id": uuid(1)});
        assert_eq!(post_text(&client, "/v1/vote", &deployed).await.status, 500);
        refused(alice.api_post("/api/sites/vote", &[("link", odd), ("vote", "1")]).await);
        let own = json!({"user_id": uuid(1), "links": ["good.com", odd]});
        refused(post_text(&client, "/api/sites/own", &own).await.json());
        refused(client.api_get(&format!("/api/sites/history/{}", encoded(odd))).await);
        assert_eq!(client.get(&format!("/site/{}", encoded(odd))).await.status, StatusCode::NOT_FOUND);
    }
    for wrong in ["", "a b.com", "http://a.com", "a.com:80", "a.com/", "[::1", "::1", "a%b.com", "<b>.com"] {
        let list = json!(["good.com", wrong]).to_string();
        let answer = client.get(&format!("/scores?for={}", encoded(&list))).await;
        assert_eq!(code(&answer, StatusCode::BAD_REQUEST), "invalid", "{wrong:?}");
        let links = json!({"links": [{"hostname": "good.com"}, {"hostname": wrong}]}).to_string();
        let answer = client.get(&format!("/v1/scores?from={}", encoded(&links))).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{wrong:?}");
    }
}

#[in_memory]
async fn a_site_with_and_without_www_is_one_on_pages(server: Server) {
    let client = server.visitor();
    for voter in 0..20 {
        assert_eq!(vote(&client, "www.example.com", 1, &uuid(voter)).await.status, 204);
    }
    server.advance(1);
    assert_eq!(vote(&client, "example.com", -1, &uuid(0)).await.status, 204);
    let before = server.store().rounds();
    let shown = page(&client, "/site/example.com").await;
    assert_eq!(server.store().rounds() - before, 1);
    // The first voter has voted on both, and counts with the newer vote.
    assert!(shown.text().contains("good votes19bad votes1sum+18votes20"), "{}", shown.text());
    server.advance(1);
    assert_eq!(vote(&client, "www.example.com", 1, &uuid(0)).await.status, 204);
    // The page and the badge, which are cached for visitors, show a change of either name at once.
    let alice = server.member("alice").await;
    alice.submit_link("From there", "https://example.com/page").await;
    for path in ["/site/example.com", "/sites"] {
        assert!(page(&client, path).await.text().contains("site: good"), "{path}");
    }
    for voter in 0..20 {
        assert_eq!(vote(&client, "example.com", -1, &uuid(voter)).await.status, 204);
    }
    for path in ["/site/example.com", "/latest", "/sites/worst/all", "/sites/worst/day"] {
        let page = page(&client, path).await;
        assert!(page.text().contains("distrusted"), "{path}");
        assert!(!page.text().contains("www.example.com"), "{path}");
    }
    // Programs see each name alone.
    for (name, expected) in [("www.example.com", "Good"), ("example.com", "Bad")] {
        assert_eq!(score(&client, name).await, expected);
    }
    for (from, to) in [
        ("/site/www.example.com", "/site/example.com"),
        ("/site/www.example.com/stories/15", "/site/example.com/stories/15"),
    ] {
        let answer = client.get(from).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.headers["location"], to);
    }
}

#[in_memory]
async fn buttons_of_a_site_vote_on_the_name_with_more_votes_and_take_back_from_both(server: Server) {
    let (client, alice) = (server.visitor(), server.member("alice").await);
    let press = async |vote: &str| {
        let fields = [("link", "a.com"), ("vote", vote), ("next", "/site/a.com")];
        assert_eq!(alice.post("/votesite", &fields).await.status, StatusCode::SEE_OTHER);
        consistency::check_site(&server).await;
        alice.get("/site/a.com").await
    };
    let count = async |name: &str| server.number(&format!("link:{name}"), "count_of_votes").await;
    let pressed = |page: &HttpResponse, vote: &str| {
        body(page).contains(&format!(r#"value="{vote}" aria-pressed="true""#))
    };
    let says = |page: &HttpResponse, text: &str| Page::of(page).text().contains(text);
    // Nobody has voted yet.
    assert!(pressed(&press("1").await, "1"));
    assert_eq!((count("a.com").await, count("www.a.com").await), (1, 0));
    for voter in 0..3 {
        assert_eq!(vote(&client, "www.a.com", 1, &uuid(voter)).await.status, 204);
    }
    server.advance(1);
    let page = press("-1").await;
    assert!(pressed(&page, "-1") && says(&page, "good votes3bad votes1"), "{}", body(&page));
    assert_eq!((count("a.com").await, count("www.a.com").await), (1, 4));
    let page = press("0").await;
    assert!(says(&page, "good votes3bad votes0") && !says(&page, "Take back my vote"), "{}", body(&page));
    assert_eq!((count("a.com").await, count("www.a.com").await), (0, 3));
    // A vote on the name with fewer votes can be taken back alone. Calls go to the name that they say.
    ok(alice.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "1")]).await);
    assert_eq!((count("a.com").await, count("www.a.com").await), (1, 3));
    press("0").await;
    assert_eq!((count("a.com").await, count("www.a.com").await), (0, 3));
}

#[in_memory]
async fn the_stories_of_both_forms_of_a_name_are_one_list_page_by_page(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..40 {
        let www = if number % 3 == 0 { "www." } else { "" };
        alice.submit_link(&format!("Story {number}."), &format!("https://{www}a.com/{number}")).await;
        server.advance(1);
    }
    let mut titles = Vec::new();
    let mut address = Some("/site/a.com".to_owned());
    while let Some(here) = address {
        let page = page(&alice, &here).await;
        titles.extend(page.find("li", &[("class", "item")]).iter().map(|item| item.text().to_owned()));
        assert!(!page.content().contains("www.a.com"), "{here}");
        let next = format!("/site/a.com/stories/{}", titles.len());
        address = page.links_to(&next).then_some(next);
    }
    assert_eq!(titles.len(), 40);
    for (title, number) in titles.iter().zip((0..40).rev()) {
        assert!(title.contains(&format!("Story {number}.")), "{title}");
    }
}

/// The status of a vote of a new voter on a host.
async fn brings(client: &Client, address: &str, link: &str, voter: usize) -> u16 {
    vote_from(client, address, link, 1, voter).await.status.as_u16()
}

#[in_memory(&[PROXY, ("limits.new_voters_per_day", "5")])]
async fn a_48_of_ipv6_brings_four_times_the_new_voters_of_an_address(server: Server) {
    let client = server.visitor();
    let mut brought = 0;
    for voter in 0..30 {
        let address = format!("2001:db8:1:{voter:x}::1");
        brought += u64::from(brings(&client, &address, "a.com", voter).await == 204);
    }
    assert_eq!(brought, 20);
    for voter in 100..110 {
        brought += u64::from(brings(&client, "2001:db8:2:1::1", "a.com", voter).await == 204);
    }
    assert_eq!(brought, 25, "of one /64");
    let answer = vote_from(&client, "2001:db8:1:ff::1", "a.com", 1, 200).await;
    assert_eq!(code(&answer, StatusCode::TOO_MANY_REQUESTS), "too_many_voters");
}

#[in_memory(&[PROXY, ("limits.new_voters_of_site_per_day", "3")])]
async fn the_site_gets_so_many_new_voters_a_day_and_then_only_from_fresh_networks_and_accounts(
    server: Server,
) {
    let client = server.visitor();
    for voter in 0..3 {
        assert_eq!(brings(&client, "203.0.113.1", "a.com", voter).await, 204);
    }
    let answer = vote_from(&client, "203.0.113.2", "a.com", 1, 3).await;
    assert_eq!(code(&answer, StatusCode::TOO_MANY_REQUESTS), "too_many_voters");
    assert!(body(&answer).contains("Too many people have started voting today"), "{answer:?}");
    // A known voter can still vote, and so can the first voter of a network, and an account.
    assert_eq!(brings(&client, "203.0.113.1", "b.com", 0).await, 204);
    assert_eq!(brings(&client, "198.51.100.1", "a.com", 3).await, 204);
    assert_eq!(brings(&client, "198.51.100.2", "a.com", 4).await, 429);
    assert_eq!(brings(&client, "2001:db8:1:1::1", "a.com", 5).await, 204);
    assert_eq!(brings(&client, "2001:db8:1:2::1", "a.com", 6).await, 429);
    let alice = server.member("alice").await.forwarded_for("203.0.113.3");
    ok(alice.api_post("/api/sites/vote", &[("link", "a.com"), ("vote", "1")]).await);
    server.advance(86_400);
    assert_eq!(brings(&client, "203.0.113.2", "a.com", 7).await, 204);
    consistency::check_site(&server).await;
}

#[in_memory(&[PROXY, ("limits.new_hosts_of_site_per_day", "3")])]
async fn the_site_gets_so_many_new_hosts_a_day_and_then_only_from_fresh_networks_and_accounts(
    server: Server,
) {
    let client = server.visitor();
    for link in ["a.com", "b.com", "c.com"] {
        assert_eq!(brings(&client, "203.0.113.1", link, 1).await, 204);
    }
    let answer = vote_from(&client, "203.0.113.2", "d.com", 1, 1).await;
    assert_eq!(code(&answer, StatusCode::TOO_MANY_REQUESTS), "too_many_requests");
    assert!(body(&answer).contains("Too many sites received their first vote today"), "{answer:?}");
    // Hosts that have votes get more.
    assert_eq!(brings(&client, "203.0.113.2", "a.com", 2).await, 204);
    assert_eq!(brings(&client, "198.51.100.1", "d.com", 3).await, 204);
    assert_eq!(brings(&client, "198.51.100.1", "e.com", 3).await, 429);
    assert_eq!(brings(&client, "203.0.113.2", "d.com", 1).await, 204);
    let alice = server.member("alice").await.forwarded_for("203.0.113.3");
    ok(alice.api_post("/api/sites/vote", &[("link", "f.com"), ("vote", "1")]).await);
    server.advance(86_400);
    assert_eq!(brings(&client, "203.0.113.2", "e.com", 1).await, 204);
    consistency::check_site(&server).await;
}
