//! Mending faults, many at the same time.

use super::readable;
use crate::accounts::{inbox, session_store};
use crate::articles::repair;
use crate::items::{self, Item as SiteItem};
use crate::store_rules::claims::{Fault, Mend};
use crate::timelines::check::HomeCheck;
use crate::values::{Moment, NewsId};
use crate::{Applied, Result, Site};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Articles that are read together.
const MANY_AT_ONCE: usize = 200;
/// Repairs that are committed at the same time. The engine takes what waits together.
const MENDS_AT_ONCE: usize = 32;

/// Mends some faults; returns for each of them whether it could be.
pub(super) async fn mend_faults(site: &Site, now: Moment, faults: &[&Fault]) -> Result<Vec<bool>> {
    mend_articles(site, now, faults).await?;
    number_items(site, faults).await?;
    stream::iter(faults).map(|fault| mend(site, now, fault)).buffered(MENDS_AT_ONCE).try_collect().await
}

/// Gives items their numbers, many at a time.
async fn number_items(site: &Site, faults: &[&Fault]) -> Result<()> {
    let item = |fault: &&Fault| if let Mend::Number(item) = fault.mend { Some(item) } else { None };
    let items: Vec<SiteItem> = faults.iter().filter_map(item).collect();
    readable(items::number_missing(site, &items).await)?;
    // One after the other, because each changes the counter.
    for fault in faults {
        if let Mend::NumberAnew(item) = fault.mend {
            readable(items::number_shared(site, item).await)?;
        }
    }
    Ok(())
}

/// Makes articles anew, many at a time.
async fn mend_articles(site: &Site, now: Moment, faults: &[&Fault]) -> Result<()> {
    let id = |fault: &&Fault| if let Mend::Article(id) = fault.mend { Some(id) } else { None };
    let ids: Vec<NewsId> = faults.iter().filter_map(id).collect();
    for ids in ids.chunks(MANY_AT_ONCE) {
        if readable(repair::mend(site, now.timestamp(), ids).await)?.is_none() {
            for id in ids {
                readable(repair::mend(site, now.timestamp(), std::slice::from_ref(id)).await)?;
            }
        }
    }
    Ok(())
}

/// Mends one fault; whether it could be.
async fn mend(site: &Site, now: Moment, fault: &Fault) -> Result<bool> {
    let mended = match &fault.mend {
        Mend::Write(batch, _) => {
            site.apply((**batch).clone()).await.map(|applied| matches!(applied, Applied::Yes(_)))
        }
        // With the others; whether it is right is looked at again.
        Mend::Article(_) | Mend::Number(_) | Mend::NumberAnew(_) => Ok(true),
        Mend::Home(id) => match HomeCheck::begin(site, now).await {
            Ok(check) => check.repair_home(*id).await,
            Err(error) => Err(error),
        },
        Mend::Sessions(id) => session_store::end_surplus(site, *id).await.map(|()| true),
        Mend::Inbox(id) => inbox::end_surplus(site, *id).await.map(|()| true),
        Mend::Person(_) => Ok(false),
    };
    Ok(readable(mended)?.unwrap_or(false))
}
