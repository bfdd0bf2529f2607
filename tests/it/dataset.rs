//! The site that benches measure is one that the site itself could have
//! written: its checks find nothing, and all figures are what they count.

use std::collections::BTreeSet;

use crate::bench_dataset::{self, LONG_THREAD_DEPTH, Plan, Size, people};
use crate::client::ok;
use crate::consistency;
use crate::server::{Engine, Server, each_engine, in_memory};

#[each_engine("check")]
async fn the_dataset_of_the_benches_is_a_valid_site(server: Server) {
    let plan = Plan::new(Size::small(), server.app.now());
    bench_dataset::write(server.store(), &plan).await;
    consistency::check_site(&server).await;
}

#[in_memory]
async fn the_dataset_of_the_benches_has_one_thread_that_is_long_and_deep_and_newcomers_may_vote(
    server: Server,
) {
    let plan = Plan::new(Size::small(), server.app.now());
    bench_dataset::write(server.store(), &plan).await;
    let dump = server.dump().await;
    let thread = consistency::hash(&dump, &format!("thread:comment:{}", plan.long_thread()));
    assert_eq!(thread.len() as u64, plan.size.long_thread + 1, "and nextid");
    let depth = |mut comment: String| {
        let mut depth = 0;
        while comment != "-1" {
            depth += 1;
            let stored: serde_json::Value = serde_json::from_str(&thread[&comment]).unwrap();
            comment = stored["parent_id"].to_string();
        }
        depth
    };
    let deepest = thread.keys().filter(|field| *field != "nextid").map(|field| depth(field.clone())).max();
    assert_eq!(deepest, Some(LONG_THREAD_DEPTH));
    let mut newcomer = server.visitor();
    let user = plan.size.users;
    newcomer.auth = Some(people::auth(user));
    newcomer.apisecret = Some(people::apisecret(user));
    for id in 1..=plan.size.news {
        ok(newcomer.vote(id, "up").await);
    }
}

#[tokio::test]
async fn the_dataset_of_the_benches_is_the_same_every_time() {
    let mut dumps = Vec::new();
    for _ in 0..2 {
        let server = Server::start(Engine::Memory, &[]).await;
        bench_dataset::write(server.store(), &Plan::new(Size::small(), server.app.now())).await;
        dumps.push(server.dump().await);
    }
    assert_eq!(dumps[0], dumps[1]);
    let tokens: BTreeSet<String> = (1..=100).map(people::auth).collect();
    assert_eq!(tokens.len(), 100, "everybody has a session of their own");
}
