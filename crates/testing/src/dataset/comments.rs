//! The threads.

use super::people::Lists;
use super::plan::{Item, LONG_THREAD_DEPTH, Plan, active_user};
use super::random::Random;
use super::words;
use super::writer::Writer;
use tidings_domain::keys;
use tidings_domain::values::NewsId;
use tidings_keyspace::Value;

/// Levels of usual threads.
const DEPTH: u64 = 8;
/// Comments come within this time.
const TALKING_SECONDS: u64 = 4 * 86_400;
/// Out of a hundred comments so many answer the item.
const ANSWER_ITEM: u64 = 35;
const SHORTEST: u64 = 20;
const LONGEST: u64 = 1_200;

pub async fn write(writer: &mut Writer<'_>, plan: &Plan, lists: &mut Lists) {
    for (id, item) in (1..).zip(&plan.items).filter(|(_, item)| item.comments > 0) {
        let depth = if id == plan.long_thread() { LONG_THREAD_DEPTH } else { DEPTH };
        let thread = thread(plan, lists, id, item, depth);
        writer.write(keys::thread(NewsId(id)), Value::Hash(thread)).await;
    }
}

/// Writes the item numbers of all stories and comments, in the order of their times.
pub async fn write_numbers(writer: &mut Writer<'_>, plan: &Plan, lists: &Lists) {
    let stories = (1..).zip(&plan.items).map(|(id, item)| (item.ctime, format!("news:{id}")));
    let comment = |(news, number, ctime): &(u64, u64, u64)| (*ctime, format!("comment:{news}:{number}"));
    let comments = lists.comments.iter().flatten().map(comment);
    let mut items: Vec<(u64, String)> = stories.chain(comments).collect();
    items.sort();
    writer.write(keys::ITEMS_COUNT, Value::String(items.len().to_string())).await;
    let numbered = (1..).zip(items).map(|(number, (_, member))| (member, f64::from(number)));
    writer.write(keys::ITEMS, Value::SortedSet(numbered.collect())).await;
}

/// The fields of the long thread.
pub fn long_thread(plan: &Plan) -> Vec<(String, String)> {
    let id = plan.long_thread();
    let item = &plan.items[id as usize - 1];
    thread(plan, &mut Lists::new(plan), id, item, LONG_THREAD_DEPTH)
}

fn thread(plan: &Plan, lists: &mut Lists, id: u64, item: &Item, depth: u64) -> Vec<(String, String)> {
    let mut random = Random::of("thread", id);
    let time = (plan.now.0 - item.ctime).min(TALKING_SECONDS);
    let mut fields = vec![("nextid".to_owned(), item.comments.to_string())];
    let mut depths: Vec<u64> = Vec::new();
    for number in 1..=item.comments {
        let parent = parent(&mut random, &depths, depth, id == plan.long_thread());
        depths.push(parent.map_or(1, |parent| depths[parent as usize - 1] + 1));
        let author = active_user(&mut random, &plan.size);
        let ctime = item.ctime + time * number / (item.comments + 1);
        fields.push((number.to_string(), comment(plan, &mut random, author, parent, ctime)));
        lists.comments[author as usize].push((id, number, ctime));
    }
    fields
}

/// Picks the parent of a comment: the item, or an earlier comment that is not too deep.
fn parent(random: &mut Random, depths: &[u64], deepest: u64, is_long: bool) -> Option<u64> {
    let before = depths.len() as u64;
    if is_long && before < deepest {
        // The long thread begins with one line down to the last level.
        return (before > 0).then_some(before);
    }
    if before == 0 || random.chance(ANSWER_ITEM) {
        return None;
    }
    let answered = before - random.skewed(before, 1.5);
    (depths[answered as usize - 1] < deepest).then_some(answered)
}

/// A comment as it is stored.
fn comment(plan: &Plan, random: &mut Random, author: u64, parent: Option<u64>, ctime: u64) -> String {
    let length = SHORTEST + random.skewed(LONGEST - SHORTEST, 3.0);
    let body = serde_json::to_string(&words::body(random, length)).unwrap();
    let (mut up, mut down) = (vec![author], Vec::new());
    for _ in 0..random.skewed(6, 1.5) {
        let voter = active_user(random, &plan.size);
        if !up.contains(&voter) && !down.contains(&voter) {
            if random.chance(15) { down.push(voter) } else { up.push(voter) }
        }
    }
    let parent = parent.map_or_else(|| "-1".to_owned(), |parent| parent.to_string());
    let score = up.len() as i64 - down.len() as i64;
    let list = |voters: &[u64]| voters.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"body":{body},"ctime":{ctime},"user_id":{author},"parent_id":{parent},"score":{score},"up":[{}],"down":[{}]}}"#,
        list(&up),
        list(&down)
    )
}
