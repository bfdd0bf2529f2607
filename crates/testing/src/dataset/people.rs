//! The people: accounts with sessions, and what each has posted, saved and said.

use super::plan::{AGE_SECONDS, Plan, Size};
use super::random::Random;
use super::sites;
use super::words;
use super::writer::{Writer, hash};
use std::fmt::Write;
use tidings_domain::keys;
use tidings_domain::values::UserId;
use tidings_keyspace::Value;

/// Enough to vote as often as anybody wants to measure.
const KARMA: u64 = 1_000_000;
/// A hash that no password has: nobody logs in with one here.
const PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$\
                        9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";

/// The name of a user.
pub fn username(id: u64) -> String {
    format!("{}{id}", words::noun(&mut Random::of("username", id)))
}

/// The session token of a user, 40 hex digits.
pub fn auth(id: u64) -> String {
    secret("auth", id)
}

/// The secret in the forms of a user.
pub fn apisecret(id: u64) -> String {
    secret("apisecret", id)
}

fn secret(kind: &str, id: u64) -> String {
    let mut random = Random::of(kind, id);
    let mut secret = String::new();
    for _ in 0..3 {
        write!(secret, "{:016x}", random.next_number()).unwrap();
    }
    secret.truncate(40);
    secret
}

/// The lists of users, which are collected while news and comments are written. Each
/// list is in the order in which things were found.
pub struct Lists {
    /// Items voted up, with the time.
    pub saved: Vec<Vec<(u64, u64)>>,
    /// Items posted, with the time.
    pub posted: Vec<Vec<(u64, u64)>>,
    /// Comments: item, comment, time.
    pub comments: Vec<Vec<(u64, u64, u64)>>,
}

impl Lists {
    pub fn new(plan: &Plan) -> Self {
        let users = plan.size.users as usize + 1;
        Self {
            saved: vec![Vec::new(); users],
            posted: vec![Vec::new(); users],
            comments: vec![Vec::new(); users],
        }
    }
}

pub async fn write(writer: &mut Writer<'_>, plan: &Plan, mut lists: Lists) {
    for count in [keys::USERS_COUNT, keys::USERNAMES_FOLDED] {
        writer.write(count, Value::String(plan.size.users.to_string())).await;
    }
    for id in 1..=plan.size.users {
        write_account(writer, plan, id).await;
        let (user, at) = (UserId(id), id as usize);
        let sorted = |list: &[(u64, u64)]| {
            Value::SortedSet(list.iter().map(|(news, time)| (news.to_string(), *time as f64)).collect())
        };
        let saved = std::mem::take(&mut lists.saved[at]);
        if !saved.is_empty() {
            writer.write(keys::user_upvoted(user), sorted(&saved)).await;
        }
        if !lists.posted[at].is_empty() {
            writer.write(keys::user_posted(user), sorted(&lists.posted[at])).await;
        }
        let comments = std::mem::take(&mut lists.comments[at]);
        if !comments.is_empty() {
            let members = comments
                .into_iter()
                .map(|(news, comment, time)| (format!("{news}-{comment}"), time as f64))
                .collect();
            writer.write(keys::user_comments(user), Value::SortedSet(members)).await;
        }
    }
}

async fn write_account(writer: &mut Writer<'_>, plan: &Plan, id: u64) {
    let Size { users, .. } = plan.size;
    let mut random = Random::of("account", id);
    let (name, now) = (username(id), plan.now.0);
    let about_length = 20 + random.below(200);
    let about = if random.chance(40) { words::body(&mut random, about_length) } else { String::new() };
    let mut fields = vec![
        ("id", id.to_string()),
        ("username", name.clone()),
        ("password", PASSWORD.to_owned()),
        ("ctime", (now - AGE_SECONDS - (users - id)).to_string()),
        ("karma", KARMA.to_string()),
        ("about", about),
        ("email", String::new()),
        ("auth", auth(id)),
        ("apisecret", apisecret(id)),
        ("flags", if id == 1 { "a".to_owned() } else { String::new() }),
        ("karma_incr_time", now.to_string()),
        ("seen_time", now.to_string()),
        ("replies", random.below(4).to_string()),
    ];
    if let Some(voter) = sites::voter_of_user(&plan.size, id) {
        fields.push(("voter", voter.to_string()));
    }
    writer.write(keys::user(UserId(id)), hash(fields)).await;
    writer.write(keys::username_to_id(&name), Value::String(id.to_string())).await;
    writer.write(keys::username_folded(&name), Value::String(id.to_string())).await;
    writer.write(keys::auth(&auth(id)), Value::String(id.to_string())).await;
}
