//! The effects of changing the announcement, the pinned stories and the saved reasons.

use super::case::{Case, Effect};
use crate::error::{Error, Refusal};
use crate::identity::{ANNOUNCEMENT, REASONS};
use crate::keys;
use crate::news::item::News;
use crate::values::announcement::Announcement;
use crate::values::clock::Timestamp;
use crate::values::saved_reason::SavedReasons;
use tidings_keyspace::{Fetch, read};

/// The effect of another announcement and other pinned stories.
pub(super) async fn announce(case: &Case<'_>, announcement: &Announcement) -> Result<Effect, Error> {
    case.demand_administrator()?;
    let pinned = announcement.stories().iter().map(|id| News::by_id(*id).or_absent()).collect::<Vec<_>>();
    let (stories, [before]) =
        case.site.store.fetch((pinned, read::fields(keys::SITE, [ANNOUNCEMENT]))).await?;
    let is_shown = |news: &Option<News>| news.as_ref().is_some_and(|news| !news.is_gone());
    if case.undoes.is_none() && !stories.iter().all(is_shown) {
        return Err(Refusal::NoSuchNews.into());
    }
    let mut effect = Effect::default();
    effect.batch.field_unchanged(keys::SITE, ANNOUNCEMENT, before.as_deref());
    if *announcement == Announcement::default() {
        effect.batch.delete_field(keys::SITE, ANNOUNCEMENT);
    } else {
        let last = before.as_deref().and_then(Announcement::from_json).filter(|_| case.undoes.is_none());
        let mut announcement = announcement.clone();
        if let Some(last) = last {
            announcement.made = announcement.made.max(Timestamp(last.made.0 + 1));
        }
        effect.batch.set_field(keys::SITE, ANNOUNCEMENT, announcement.to_json());
    }
    effect.before = before;
    Ok(effect)
}

/// The effect of other reasons.
pub(super) async fn set_reasons(case: &Case<'_>, reasons: &SavedReasons) -> Result<Effect, Error> {
    let [before] = case.site.store.fetch(read::fields(keys::SITE, [REASONS])).await?;
    let mut effect = Effect::default();
    effect.batch.field_unchanged(keys::SITE, REASONS, before.as_deref());
    if *reasons == SavedReasons::default() {
        effect.batch.delete_field(keys::SITE, REASONS);
    } else {
        effect.batch.set_field(keys::SITE, REASONS, reasons.to_json());
    }
    effect.before = before;
    Ok(effect)
}
