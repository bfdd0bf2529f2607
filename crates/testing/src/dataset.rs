//! The site that benches measure: thousands of people, news, threads, tweets
//! and votes, the same every time (but for the time that it is now).
//!
//! It is written in bulk, and is what the site itself would have written: the
//! commands that check a store find nothing in it.
#![allow(
    // The numbers here are far within what any of these types holds.
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub mod comments;
mod news;
pub mod people;
mod plan;
pub mod random;
mod sites;
mod tweets;
pub mod words;
mod writer;

pub use news::TOPICS;
pub use plan::{LONG_THREAD_DEPTH, Plan, Size};
pub use random::Random;
pub use sites::{host, site};

use tidings_domain::keys;
use tidings_domain::migrations::LAYOUT_VERSION;
use tidings_keyspace::{Store, Value};
use writer::Writer;

/// Writes the whole site into an empty store.
pub async fn write(store: &Store, plan: &Plan) {
    let mut writer = Writer::new(store, plan);
    // Otherwise the first server that opens the store would migrate it, with a backup first.
    writer.write(keys::LAYOUT_VERSION, Value::String(LAYOUT_VERSION.to_string())).await;
    let mut lists = people::Lists::new(plan);
    news::write(&mut writer, plan, &mut lists).await;
    comments::write(&mut writer, plan, &mut lists).await;
    comments::write_numbers(&mut writer, plan, &lists).await;
    people::write(&mut writer, plan, lists).await;
    tweets::write(&mut writer, plan).await;
    sites::write(&mut writer, plan).await;
    writer.finish().await;
}
