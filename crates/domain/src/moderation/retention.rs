//! Erases records that moderation keeps only for a limited time. Once a day a server goes through the log:
//! texts that were removed or replaced long ago are erased, people who left long ago are no longer named,
//! and the flags of these people are deleted.
//!
//! Key: `retention`, with the time of the last run, and the line up to which texts are erased.

use super::log::{FORMER, lines_after};
use super::{Line, traces};
use crate::accounts::users::{self, DEACTIVATED};
use crate::contributions::{Contribution, erasing};
use crate::jobs::Jobs;
use crate::values::{Action, ModerationId, Moment, REMOVED, RemovedBy, Thing, Timestamp, UserId, Withheld};
use crate::{Applied, Decision, Error, Result, Site, fields, flags, keys};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, read};

/// How long after its start, and how often a server looks whether a day has passed.
pub(crate) const EVERY: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(600));
const SECONDS_A_DAY: u64 = 86_400;

/// The field with the time of the last run.
const SWEPT: &str = "swept";
/// The field with the last line whose texts are erased.
const ERASED_TO: &str = "erased_to";

/// Goes through the log, if nobody has for a day. Returns whether it did. Rounds: 1; for a run at most 4 for
/// each 200 lines, 2 for each person whose name is forgotten, and those of the erasures.
///
/// # Errors
/// When the store fails. The next run goes on.
pub async fn sweep(site: &Site, now: Moment) -> Result<bool> {
    let time = now.timestamp();
    let [swept, erased_to] = site.store.fetch(read::fields(keys::RETENTION, [SWEPT, ERASED_TO])).await?;
    let last: u64 = fields::read(swept.as_deref(), || keys::RETENTION.to_owned(), SWEPT).unwrap_or(0);
    if time.0.saturating_sub(last) < SECONDS_A_DAY && last <= time.0 {
        return Ok(false);
    }
    let mut batch = Batch::new();
    batch.field_unchanged(keys::RETENTION, SWEPT, swept.as_deref());
    batch.set_field(keys::RETENTION, SWEPT, time.to_string());
    // Of several servers, one goes through the log.
    if let Applied::No(_) = site.apply(batch).await? {
        return Ok(false);
    }
    let erased_to: u64 =
        fields::read(erased_to.as_deref(), || keys::RETENTION.to_owned(), ERASED_TO).unwrap_or(0);
    let rules = &site.rules.retention;
    erase_removed(site, now, erased_to, before(time, rules.removed_days)).await?;
    forget_names(site, before(time, rules.log_names_days)).await?;
    Ok(true)
}

/// The end of the time of which nothing is kept any more, if it is not kept forever.
fn before(now: Timestamp, days: u64) -> Option<Timestamp> {
    (days > 0).then(|| Timestamp(now.0.saturating_sub(days.saturating_mul(SECONDS_A_DAY))))
}

/// Erases what was removed, rejected or replaced before a time.
async fn erase_removed(site: &Site, now: Moment, mut after: u64, until: Option<Timestamp>) -> Result<()> {
    let Some(until) = until else { return Ok(()) };
    loop {
        let (lines, last) = lines_after(site, after).await?;
        let Some(last) = last else { return Ok(()) };
        let is_end = lines.iter().any(|line| line.time >= until);
        let mut done = after;
        for line in lines.into_iter().take_while(|line| line.time < until) {
            done = line.id.0;
            erase_of_line(site, now, &line).await?;
        }
        after = if is_end { done } else { last.0 };
        note_erased(site, after).await?;
        if is_end {
            return Ok(());
        }
    }
}

/// Notes up to which line texts are erased. Rounds: 1.
async fn note_erased(site: &Site, line: u64) -> Result<()> {
    let batch = Batch::of(|batch| batch.set_field(keys::RETENTION, ERASED_TO, line.to_string()));
    site.store.commit(batch).await?;
    Ok(())
}

/// Erases what a line has removed or replaced, as far as that still stands.
async fn erase_of_line(site: &Site, now: Moment, line: &Line) -> Result<()> {
    match (line.action, &line.thing) {
        (Action::Remove | Action::Reject, post) if post.is_post() => erase_post(site, now, post, line).await,
        (Action::Remove, Thing::User(_)) => forget_profile(site, line).await,
        (Action::RemoveAll, _) => {
            let posts = read::sorted_range(keys::moderation_posts(line.id), Order::Ascending, 0, u64::MAX);
            for (post, _) in site.store.fetch(posts).await? {
                if let Ok(post) = post.parse() {
                    erase_post(site, now, &post, line).await?;
                }
            }
            Ok(())
        }
        _ => {
            let mut batch = Batch::new();
            if line.forget_texts(&mut batch) {
                site.store.commit(batch).await?;
            }
            Ok(())
        }
    }
}

/// Erases a post, if it is removed by a line.
async fn erase_post(site: &Site, now: Moment, thing: &Thing, line: &Line) -> Result<()> {
    let erased = site.act(keys::RETENTION, || async {
        let mut batch = Batch::new();
        let is_of_line = |post: &Contribution| {
            // A rejected post names no line: the one that has rejected it is the one that was not undone.
            let was_rejected = line.action == Action::Reject && line.undone_by.is_none();
            let is_by_line = post.removal().map_or(was_rejected, |removed| removed.line == line.id);
            is_by_line && post.withheld().is_some_and(Withheld::is_removed)
        };
        if !Contribution::find(site, thing).await?.is_some_and(|post| is_of_line(&post)) {
            return Ok(Decision::Done(None));
        }
        let erased = erasing::erase(site, now, thing, &mut batch).await?;
        Ok(Decision::commit(batch, Some(erased)))
    });
    match erased.await {
        Ok(Some(erased)) => {
            site.of::<Jobs>().start_soon(erased.job, now);
            traces::erase(site, now, thing).await
        }
        Ok(None) | Err(Error::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Forgets the text of a profile that a line has removed: it cannot be put back.
async fn forget_profile(site: &Site, line: &Line) -> Result<()> {
    let Some(person) = line.concerns else { return Ok(()) };
    let key = keys::user(person);
    let stored = site.store.fetch(read::field(&key, REMOVED)).await?;
    let removed: Option<RemovedBy> = fields::read(stored.as_deref(), || key.clone(), REMOVED);
    if removed.is_some_and(|removed| removed.line == line.id) {
        let mut batch = Batch::new();
        batch.field_unchanged(&key, REMOVED, stored);
        users::forget_removed(&mut batch, person);
        site.apply(batch).await?;
    }
    Ok(())
}

/// Takes the names of those who left before a time out of the log.
async fn forget_names(site: &Site, until: Option<Timestamp>) -> Result<()> {
    let Some(until) = until else { return Ok(()) };
    let (mut after, mut judged) = (0, HashMap::new());
    loop {
        let (lines, last) = lines_after(site, after).await?;
        let Some(last) = last else { return Ok(()) };
        let named: Vec<(ModerationId, &str)> = lines
            .iter()
            .filter_map(|line| match &line.thing {
                Thing::User(name) | Thing::Application(name) if &**name != FORMER => Some((line.id, &**name)),
                _ => None,
            })
            .collect();
        judge(site, &mut judged, named.iter().map(|(_, name)| *name).collect(), until).await?;
        let left = named.into_iter().filter(|(_, name)| judged.get(&name.to_lowercase()) == Some(&true));
        let (lines, names): (Vec<_>, HashSet<_>) =
            left.map(|(line, name)| (line, name.to_lowercase())).unzip();
        // The flags come first: after an interruption, the names lead to the rest of them.
        for name in names {
            flags::forget(site, &Thing::User(name.into())).await?;
        }
        forget_targets(site, lines).await?;
        after = last.0;
    }
}

/// Takes the names out of some lines. Rounds: 1, none without lines.
async fn forget_targets(site: &Site, lines: Vec<ModerationId>) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::new();
    lines.into_iter().for_each(|line| batch.set_field(keys::moderation(line), "target", FORMER));
    site.store.commit(batch).await?;
    Ok(())
}

/// Finds out which people have left before a time. Rounds: 2, none without new names.
async fn judge(
    site: &Site,
    judged: &mut HashMap<String, bool>,
    names: HashSet<&str>,
    until: Timestamp,
) -> Result<()> {
    let new: HashSet<String> =
        names.into_iter().map(str::to_lowercase).filter(|name| !judged.contains_key(name)).collect();
    if new.is_empty() {
        return Ok(());
    }
    let id = |name: String| {
        let id = read::string(keys::username_to_id(&name));
        id.map(|id| (name, id.and_then(|id| id.parse::<UserId>().ok())))
    };
    let mut left = Vec::new();
    for (name, id) in site.store.fetch(new.into_iter().map(id).collect::<Vec<_>>()).await? {
        match id {
            Some(id) => left.push(read::field(keys::user(id), DEACTIVATED).map(|at| (name, at))),
            None => _ = judged.insert(name, false),
        }
    }
    for (name, at) in site.store.fetch(left).await? {
        let at: Option<u64> = at.and_then(|at| at.parse().ok());
        judged.insert(name, at.is_some_and(|at| at < until.0));
    }
    Ok(())
}
