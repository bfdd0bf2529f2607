//! Mending faults, many at the same time.

use super::claims::{Fault, Mend};
use super::{MANY_AT_ONCE, articles, readable, timelines};
use crate::accounts::session_store;
use crate::error::Error;
use crate::items::{self, Item as SiteItem};
use crate::site::{Applied, Site};
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::HashSet;
use tidings_keyspace::{Batch, Check as BatchCheck, Write};

/// Batches of repairs that are committed at the same time.
const MENDS_AT_ONCE: usize = 8;
/// Repairs in one batch.
const MENDS_IN_ONE: usize = 50;

/// Mends some faults; returns for each of them whether it could be.
pub(super) async fn mend_faults(site: &Site, now: Moment, faults: &[&Fault]) -> Result<Vec<bool>, Error> {
    mend_articles(site, now, faults).await?;
    number_items(site, faults).await?;
    let applied: Vec<Vec<bool>> = stream::iter(groups_of(faults))
        .map(|group| mend_together(site, now, group))
        .buffered(MENDS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(applied.concat())
}

/// Gives items their numbers, many at a time.
async fn number_items(site: &Site, faults: &[&Fault]) -> Result<(), Error> {
    let item = |fault: &&Fault| if let Mend::Number(item) = fault.mend { Some(item) } else { None };
    let items: Vec<SiteItem> = faults.iter().filter_map(item).collect();
    readable(items::number_missing(site, &items).await).map(|_| ())
}

/// Makes articles anew, many at a time.
async fn mend_articles(site: &Site, now: Moment, faults: &[&Fault]) -> Result<(), Error> {
    let id = |fault: &&Fault| if let Mend::Article(id) = fault.mend { Some(id) } else { None };
    let ids: Vec<NewsId> = faults.iter().filter_map(id).collect();
    for ids in ids.chunks(MANY_AT_ONCE) {
        if readable(articles::mend(site, now, ids).await)?.is_none() {
            for id in ids {
                readable(articles::mend(site, now, std::slice::from_ref(id)).await)?;
            }
        }
    }
    Ok(())
}

/// Mends some faults in one batch, or one by one if that is rejected; whether each could be.
async fn mend_together(site: &Site, now: Moment, group: Vec<&Fault>) -> Result<Vec<bool>, Error> {
    if group.len() > 1 {
        let mut all = Batch::new();
        for batch in group.iter().filter_map(|fault| batch_of(fault)) {
            batch.checks().iter().for_each(|check| _ = all.check(check.clone()));
            batch.writes().iter().for_each(|write| all.write(write.clone()));
        }
        if let Ok(Applied::Yes(_)) = site.apply(all).await {
            return Ok(vec![true; group.len()]);
        }
    }
    let mut applied = Vec::with_capacity(group.len());
    for fault in group {
        applied.push(mend(site, now, fault).await?);
    }
    Ok(applied)
}

/// Mends one fault; whether it could be.
async fn mend(site: &Site, now: Moment, fault: &Fault) -> Result<bool, Error> {
    let mended = match &fault.mend {
        Mend::Write(batch, _) => {
            site.apply((**batch).clone()).await.map(|applied| matches!(applied, Applied::Yes(_)))
        }
        // With the others; whether it is right is looked at again.
        Mend::Article(_) | Mend::Number(_) => Ok(true),
        Mend::Home(id) => timelines::mend(site, now, *id).await,
        Mend::Sessions(id) => session_store::end_surplus(site, *id).await.map(|()| true),
        Mend::Person(_) => Ok(false),
    };
    Ok(readable(mended)?.unwrap_or(false))
}

/// The batch that mends a fault, if it is one.
fn batch_of(fault: &Fault) -> Option<&Batch> {
    if let Mend::Write(batch, _) = &fault.mend { Some(batch) } else { None }
}

/// The faults in groups that are mended together. The batches of a group have no key in common.
fn groups_of<'a>(faults: &[&'a Fault]) -> Vec<Vec<&'a Fault>> {
    let mut groups: Vec<Vec<&Fault>> = Vec::new();
    let mut taken: HashSet<&str> = HashSet::new();
    for fault in faults.iter().copied() {
        let Some(batch) = batch_of(fault) else {
            groups.push(vec![fault]);
            continue;
        };
        let keys = batch.checks().iter().map(BatchCheck::key).chain(batch.writes().iter().map(Write::key));
        let keys: HashSet<&str> = keys.collect();
        match groups.last_mut() {
            Some(group)
                if group.len() < MENDS_IN_ONE
                    && group.iter().all(|other| batch_of(other).is_some())
                    && taken.is_disjoint(&keys) =>
            {
                group.push(fault);
            }
            _ => {
                groups.push(vec![fault]);
                taken.clear();
            }
        }
        taken.extend(keys);
    }
    groups
}
