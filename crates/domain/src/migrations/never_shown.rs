//! Marks what was taken away before readers saw it, and before that left a mark. The record of a removal says whether the
//! post waited for approval before. A rejection has no such record, but a line of the log.

use super::withdrawn::{Withdrawn, thing_of};
use crate::key_walk::{KeyWalk, first_parts};
use crate::keys::{self, families};
use crate::report::Advance;
use crate::values::{Action, Thing, UNSEEN, WITHHELD, Withheld};
use crate::{Comment, News, Result, Site, Tweet};
use tidings_keyspace::{Batch, Fetch, read};

/// Goes over all keys. Rounds: 4 for each 1,000 keys, and 2 for each post that is marked.
pub(super) async fn mark_all(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        let removed: Vec<Thing> = keys.iter().filter_map(|key| thing_of(key)).collect();
        let waited = |record: &Option<Withdrawn>| {
            record
                .as_ref()
                .and_then(|record| record.removed.earlier.as_ref())
                .is_some_and(|earlier| earlier.is_held() || earlier.is_unreadable())
        };
        mark(site, with_record(site, removed, waited).await?).await?;
        let lines = first_parts(&keys, &families::MODERATION).filter_map(|id| id.parse().ok());
        let lines = lines.map(|id| read::fields(keys::moderation(id), ["action", "kind", "target"]));
        let lines = site.store.fetch(lines.collect::<Vec<_>>().or_absent()).await?;
        let rejected = lines.into_iter().filter_map(|[action, kind, target]| {
            let is_rejection = action? == Action::Reject.to_string();
            Thing::parse(&kind?, &target?).ok().filter(|_| is_rejection)
        });
        mark(site, with_record(site, rejected.collect(), Option::is_none).await?).await?;
    }
    Ok(())
}

/// Those of some things whose record of a removal is so. Rounds: 1.
async fn with_record(
    site: &Site,
    things: Vec<Thing>,
    is_so: impl Fn(&Option<Withdrawn>) -> bool,
) -> Result<Vec<Thing>> {
    let records: Vec<_> = things.iter().map(|thing| Withdrawn::of(thing).or_absent()).collect();
    let records = site.store.fetch(records).await?;
    Ok(things.into_iter().zip(records).filter(|(_, record)| is_so(record)).map(|(thing, _)| thing).collect())
}

/// Marks those of some posts that are removed. Rounds: 2 for each.
async fn mark(site: &Site, things: Vec<Thing>) -> Result<()> {
    for thing in &things {
        mark_one(site, thing).await?;
    }
    Ok(())
}

/// Does nothing if the post has changed meanwhile.
async fn mark_one(site: &Site, thing: &Thing) -> Result<()> {
    let is_removed = |state: &Option<Withheld>| state.as_ref().is_some_and(Withheld::is_removed);
    let mut batch = Batch::new();
    match thing {
        Thing::Story(id) => {
            if let Some(news) =
                site.store.fetch(News::by_id(*id)).await?.filter(|news| is_removed(&news.withheld))
            {
                news.check_state(&mut batch);
                batch.set_field(keys::news(*id), UNSEEN, "1");
            }
        }
        Thing::Comment(address) => {
            if let Some(stored) = site.store.fetch(Comment::as_read(*address)).await?
                && is_removed(&stored.withheld)
            {
                let mut comment = Comment::clone(&stored);
                comment.unseen = true;
                stored.rewrite(&mut batch, &comment);
            }
        }
        Thing::Tweet(id) => {
            if let Some(tweet) =
                site.store.fetch(Tweet::by_id(*id)).await?.filter(|tweet| is_removed(&tweet.withheld))
            {
                let state = tweet.withheld.map(|state| state.to_string());
                batch.field_unchanged(keys::tweet(*id), WITHHELD, state);
                batch.set_field(keys::tweet(*id), UNSEEN, "1");
            }
        }
        _ => {}
    }
    if !batch.writes().is_empty() {
        site.apply(batch).await?;
    }
    Ok(())
}
