//! The cost of votes: free votes up, and the prices of Lamer News where the settings or the store say so.

use std::process::{Command, Stdio};

use tidings_keyspace::{Batch, Store, StoreOptions};

use crate::client::Client;
use crate::program::{Program, serve_existing_command, succeed};
use crate::server::{Server, in_memory};

const FREE: [(&str, &str); 2] = [("karma.economy", "free"), ("karma.visit_seconds", "0")];

/// A site with free votes up: alice with a story and a comment, bob and carol.
async fn community(server: &Server) -> [Client; 3] {
    let clients = server.people(["alice", "bob", "carol"]).await;
    let story = clients[0].submit_link("A story", "https://example.com/").await;
    let comment = clients[0].comment(story, "A comment").await;
    assert_eq!((story, comment), (1, 1));
    clients
}

async fn vote(client: &Client, on: &str, vote: &str) -> Result<(), String> {
    let (call, field) =
        if on.contains('-') { ("votecomment", "comment_id") } else { ("votenews", "news_id") };
    let answer = client.api_post(&format!("/api/{call}"), &[(field, on), ("vote_type", vote)]).await;
    if answer["status"] == "ok" { Ok(()) } else { Err(answer["error"].as_str().unwrap().to_owned()) }
}

#[in_memory(&FREE)]
async fn votes_up_are_free_and_give_karma_and_a_vote_down_costs_1_and_needs_30_except_of_moderators(
    server: Server,
) {
    let [alice, bob, carol] = &community(&server).await;
    let before = server.karma(alice).await;
    server.set_karma(bob, -3).await;
    for on in ["1", "1-1"] {
        vote(bob, on, "up").await.unwrap();
        assert_eq!((server.karma(alice).await, server.karma(bob).await), (before + 1, -3), "{on}");
        vote(bob, on, "none").await.unwrap();
        assert_eq!((server.karma(alice).await, server.karma(bob).await), (before, -3), "{on}");
    }
    // Votes taken back are exactly as if they had not been cast.
    for on in ["1", "1-1"] {
        server.set_karma(bob, 29).await;
        let refused = vote(bob, on, "down").await.unwrap_err();
        assert!(refused.contains("30 karma"), "{refused}");
        server.set_karma(bob, 30).await;
        vote(bob, on, "down").await.unwrap();
        assert_eq!((server.karma(alice).await, server.karma(bob).await), (before, 29), "{on}");
        vote(bob, on, "none").await.unwrap();
        assert_eq!((server.karma(alice).await, server.karma(bob).await), (before, 30), "{on}");
    }
    // Moderators need no karma and never fall below zero.
    server.set_field(&format!("user:{}", carol.user_id), "flags", "m").await;
    for (karma, left) in [(0, 0), (1, 0)] {
        for on in ["1", "1-1"] {
            server.set_karma(carol, karma).await;
            vote(carol, on, "down").await.unwrap();
            assert_eq!(server.karma(carol).await, left, "{on}");
            vote(carol, on, "none").await.unwrap();
            assert_eq!(server.karma(carol).await, karma, "{on}");
        }
    }
}

#[tokio::test]
async fn a_vote_is_taken_back_as_it_was_in_the_economy_of_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("site.redb").display());
    let lamer = Server::at(&url, &[("karma.economy", "lamer"), ("karma.visit_seconds", "0")]).await;
    let [alice, bob, carol] = &community(&lamer).await;
    lamer.set_karma(bob, 50).await;
    vote(bob, "1", "down").await.unwrap();
    vote(carol, "1-1", "up").await.unwrap();
    let (of_alice, of_carol) = (lamer.karma(alice).await, lamer.karma(carol).await);
    assert_eq!(lamer.karma(bob).await, 44);
    let users = [bob.user_id, carol.user_id];
    lamer.stop().await;
    let free = Server::at(&url, &FREE).await;
    let [bob, carol] = [free.client_of(users[0]).await, free.client_of(users[1]).await];
    vote(&bob, "1", "none").await.unwrap();
    vote(&carol, "1-1", "none").await.unwrap();
    assert_eq!(free.karma(&bob).await, 50);
    assert_eq!((free.karma(alice).await, free.karma(&carol).await), (of_alice, of_carol));
}

/// The origin and the value that `tidings config` prints for a setting.
fn printed(store: &str, variables: &[(&str, &str)], name: &str) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["config", "--store", store]).envs(variables.iter().copied()).stdin(Stdio::null());
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let (section, name) = name.split_once('.').unwrap_or(("karma", name));
    let lines: Vec<&str> = text[text.find(&format!("\n[{section}]")).unwrap()..].lines().collect();
    let place = lines.iter().position(|line| line.starts_with(&format!("{name} = "))).unwrap();
    let origin = lines[place - 1].rsplit_once('(').unwrap().1.trim_end_matches(')');
    (origin.to_owned(), lines[place].to_owned())
}

#[tokio::test]
async fn a_site_from_before_keeps_its_prices_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [old, copied, new] =
        ["old", "copied", "new"].map(|name| format!("redb:{}", folder.path().join(name).display()));
    let store = Store::open(&old, &StoreOptions::default()).await.unwrap();
    let mut batch = Batch::new();
    batch.set("layout:version", "3");
    batch.set("users.count", "1");
    batch.set_field("site", "name", "Gazette");
    store.commit(batch).await.unwrap();
    store.close().await;
    let program = Program::start_command(serve_existing_command(&old, &[]));
    program.wait_for_log("votes still cost karma on this site");
    let of_store = ("the key site of the store".to_owned(), "economy = \"lamer\"".to_owned());
    let of_economy = |line: &str| ("default of karma.economy".to_owned(), line.to_owned());
    assert_eq!(printed(&old, &[], "economy"), of_store);
    let stored_name = ("the key site of the store".to_owned(), "name = \"Gazette\"".to_owned());
    assert_eq!(printed(&old, &[], "site.name"), stored_name);
    program.stop();
    assert_eq!(printed(&old, &[], "site.name"), stored_name);
    let given = printed(&old, &[("TIDINGS_SITE__NAME", "Given")], "site.name");
    assert_eq!(given.1, "name = \"Given\"");
    assert_eq!(printed(&old, &[], "economy"), of_store);
    assert_eq!(printed(&old, &[], "upvote_cost"), of_economy("upvote_cost = 1"));
    let free = ("TIDINGS_KARMA__ECONOMY", "free");
    assert_eq!(printed(&old, &[free], "economy").1, "economy = \"free\"");
    assert_eq!(printed(&old, &[free], "upvote_cost").1, "upvote_cost = 0");
    succeed(&["copy", &old, &copied]);
    assert_eq!(printed(&copied, &[], "economy"), of_store);
    Program::start(&new).stop();
    assert_eq!(printed(&new, &[], "economy"), ("default".to_owned(), "economy = \"free\"".to_owned()));
}
