//! The directory of accounts on a site of a million: `/people` and what it asks the index.

use super::NOW;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::moderation::directory::{RowFilter, rows};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{Rules, Timestamp, UserId};
use tidings_domain::{Site, Visit};
use tidings_keyspace::{Batch, Store, StoreOptions, count_rounds};
use tidings_search::accounts::{AccountOrder, AccountQuestion};
use tidings_web::features::search::following;
use tidings_web::features::search::searching::Searching;
use tidings_web::settings::SearchSettings;

const ACCOUNTS: u64 = 1_000_000;
/// Accounts that are written in one batch.
const AT_ONCE: u64 = 5_000;
/// How often each question is asked.
const TIMES: u32 = 20;
/// The session of the administrator.
const SESSION: &str = "0123456789abcdef0123456789abcdef01234567";

/// Prints how long the index takes, how long the rows take, and their rounds.
pub async fn measure(folder: &Path) {
    let url = format!("redb:{}/accounts.redb", folder.display());
    let options = StoreOptions { create: true, ..StoreOptions::default() };
    let store = Store::open(&url, &options).await.unwrap();
    fill(&store).await;
    let site = Arc::new(Site::new(store, Rules::default(), PasswordWorker::default()));
    let settings =
        SearchSettings { is_on: true, folder: Some(folder.join("accounts")), ..SearchSettings::default() };
    let searching = Searching::open(&settings).unwrap();
    let began = Instant::now();
    following::make(&site, &searching, Timestamp(NOW as u64)).await.unwrap();
    println!("\n{ACCOUNTS} accounts, indexed in {:.0} s", began.elapsed().as_secs_f64());
    println!("{:<34} {:>9} {:>9} {:>7}", "/people", "index", "rows", "rounds");
    let whole = AccountQuestion { page: (0, 50), ..AccountQuestion::default() };
    let begins = |text: &str| AccountQuestion { beginnings: vec![text.to_owned()], ..whole.clone() };
    for (name, question) in [
        ("the newest", whole.clone()),
        (
            "row 10,000 by karma",
            AccountQuestion { order: AccountOrder::Karma, page: (9_950, 50), ..whole.clone() },
        ),
        ("a name", begins("name:person123456")),
        ("a tenth, by activity", AccountQuestion { order: AccountOrder::Activity, ..begins("name:person1") }),
        ("banned", AccountQuestion { all: vec!["banned".to_owned()], ..whole.clone() }),
    ] {
        let (mut of_index, mut of_rows, mut rounds) = (Duration::ZERO, Duration::ZERO, 0);
        for _ in 0..TIMES {
            let began = Instant::now();
            let found = searching.index.view.accounts(&question).unwrap();
            of_index += began.elapsed();
            let ids = found.ids.iter().filter_map(|id| id.strip_prefix("user:")?.parse().ok());
            let ids: Vec<UserId> = ids.collect();
            let mut visit = Visit::new(site.clone(), Timestamp(NOW as u64), Some(SESSION));
            let began = Instant::now();
            let (shown, counted) = count_rounds(rows(&mut visit, &ids, RowFilter::default())).await;
            assert_eq!(shown.unwrap().len(), ids.len());
            of_rows += began.elapsed();
            rounds = rounds.max(counted);
        }
        let milliseconds = |time: Duration| format!("{:.2} ms", (time / TIMES).as_secs_f64() * 1_000.0);
        println!("{name:<34} {:>9} {:>9} {rounds:>7}", milliseconds(of_index), milliseconds(of_rows));
    }
}

/// Accounts as the program stores them, as far as the directory reads them. The first is the administrator's.
async fn fill(store: &Store) {
    for first in (1..=ACCOUNTS).step_by(AT_ONCE as usize) {
        let mut batch = Batch::new();
        for id in first..(first + AT_ONCE).min(ACCOUNTS + 1) {
            let key = format!("user:{id}");
            let fields = [
                ("id", id.to_string()),
                ("username", format!("person{id}")),
                ("ctime", (NOW as u64 - 2 * (ACCOUNTS - id)).to_string()),
                ("karma", (id * 7_919 % 1_000).to_string()),
                ("email", format!("person{id}@mail{}.example", id % 50)),
                ("seen_time", (NOW as u64 - id * 104_729 % 31_536_000).to_string()),
            ];
            fields.iter().for_each(|(field, value)| batch.set_field(&key, *field, value));
            if id == 1 {
                batch.set_field(&key, "flags", "a");
                batch.set_field(&key, "auth", SESSION);
                batch.set(format!("auth:{SESSION}"), "1");
            } else {
                batch.set_field(&key, "invited_by", (id / 10 + 1).to_string());
            }
            if id % 1_000 == 7 {
                batch.set_field(&key, "banned", format!("0:{id}:spam"));
            }
        }
        batch.set("users.count", (first + AT_ONCE - 1).min(ACCOUNTS).to_string());
        store.commit(batch).await.unwrap();
    }
}
