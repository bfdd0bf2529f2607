//! The effects of changing the announcement, the pinned stories and the saved reasons, and of the measures against a
//! raid.

use super::changes::reason_json;
use super::{Case, ChangedFact, Effect, FactPart};
use crate::identity::{ANNOUNCEMENT, REASONS, SIGNUPS_STOPPED, YOUNG_HELD};
use crate::values::{
    Announcement, MAX_PINNED, MAX_SAVED_REASONS, NewsId, ReasonChange, Restriction, SavedReason,
    SavedReasons, Timestamp, YoungHold,
};
use crate::{News, NothingToDo, Refusal, Result, keys};
use tidings_keyspace::{Fetch, read};
use tidings_language::t;

/// The effect of another announcement and other pinned stories.
/// `seen` is when the one was made that the administrator has seen.
pub(super) async fn announce(
    case: &Case<'_>,
    announcement: &Announcement,
    seen: Option<Timestamp>,
) -> Result<Effect> {
    let pinned = announcement.stories().iter().map(|id| News::by_id(*id).or_absent()).collect::<Vec<_>>();
    let (stories, [before]) =
        case.site.store.fetch((pinned, read::fields(keys::SITE, [ANNOUNCEMENT]))).await?;
    let is_shown = |news: &Option<News>| news.as_ref().is_some_and(|news| news.state().is_listed());
    Refusal::NoSuchNews.when(!stories.iter().all(is_shown))?;
    let last = before.as_deref().and_then(Announcement::from_json);
    let last_made = last.as_ref().map_or_else(Timestamp::default, |last| last.made);
    Refusal::RowChanged.when(seen.is_some_and(|seen| seen != last_made))?;
    let mut announcement = announcement.clone();
    if last.is_some() {
        announcement.made = announcement.made.max(Timestamp(last_made.0 + 1));
    }
    Ok(announced(before.as_deref(), &announcement))
}

fn announced(before: Option<&str>, announcement: &Announcement) -> Effect {
    let mut effect = Effect::default();
    let is_any = !announcement.text().is_empty() || !announcement.stories().is_empty();
    let after = is_any.then(|| announcement.to_json());
    effect.change(keys::SITE, ANNOUNCEMENT, (before, after.as_deref()));
    effect
}

/// The effect of pinning a story for so many days, or of unpinning it. The line above every page stays. Stories that are
/// pinned together end together.
pub(super) async fn pin(case: &Case<'_>, id: NewsId, days: Option<u64>) -> Result<Effect> {
    let (news, [before]) =
        case.site.store.fetch((News::by_id(id), read::fields(keys::SITE, [ANNOUNCEMENT]))).await?;
    let now = case.now.timestamp();
    let last = before.as_deref().and_then(Announcement::from_json).unwrap_or_default();
    let mut stories = last.pinned(now).to_vec();
    let is_pinned = stories.contains(&id);
    stories.retain(|story| *story != id);
    let until = match days {
        None if !is_pinned => return Err(Refusal::NothingToModerate(NothingToDo::NotPinned).into()),
        None => last.pinned_until,
        Some(_) if !news.is_some_and(|news| news.state().is_listed()) => {
            return Err(Refusal::NoSuchNews.into());
        }
        Some(_) if stories.len() >= MAX_PINNED => {
            return Err(Refusal::NothingToModerate(NothingToDo::TooManyPinned).into());
        }
        Some(days) => {
            stories.push(id);
            Some(now.after_hours(days.saturating_mul(24)))
        }
    };
    let effect = announced(before.as_deref(), &last.with_pinned(stories, until));
    Ok(Effect { until: until.filter(|_| days.is_some()), ..effect })
}

/// The effect of a change of the reasons, on those that there are now.
pub(super) async fn set_reasons(case: &Case<'_>, change: &ReasonChange) -> Result<Effect> {
    let [stored] = case.site.store.fetch(read::fields(keys::SITE, [REASONS])).await?;
    let present = stored.as_deref().and_then(SavedReasons::from_json).unwrap_or_default();
    let title_of = |id: u64| {
        let reason = present.all().iter().find(|reason| reason.id == id);
        reason.map(|reason| reason.title.clone()).ok_or(Refusal::NoSuchSavedReason)
    };
    let (id, reasons, what) = match change {
        ReasonChange::Add(reason) => {
            let id = present.next_id();
            (
                id,
                present.with(SavedReason { id, ..reason.clone() }),
                t!("added: {title}", title = &reason.title).to_string(),
            )
        }
        ReasonChange::Replace(reason) => (
            reason.id,
            present.with(reason.clone()),
            t!("changed: {title}", title = title_of(reason.id)?).to_string(),
        ),
        ReasonChange::Remove(id) => {
            (*id, present.without(*id), t!("removed: {title}", title = title_of(*id)?).to_string())
        }
    };
    Refusal::TooManySavedReasons { limit: MAX_SAVED_REASONS }
        .when(reasons.all().len() > MAX_SAVED_REASONS)?;
    let mut effect = Effect { reason: Some(what), ..Effect::default() };
    effect.batch.field_unchanged(keys::SITE, REASONS, stored.as_deref());
    if reasons == SavedReasons::default() {
        effect.batch.delete_field(keys::SITE, REASONS);
    } else {
        effect.batch.set_field(keys::SITE, REASONS, reasons.to_json());
    }
    let [was, is] = [&present, &reasons].map(|reasons| reason_json(reasons, id));
    let part = (REASONS, FactPart::Reason(id));
    effect.changed.push(ChangedFact::of_part(keys::SITE, part, (was.as_deref(), is.as_deref())));
    Ok(effect)
}

/// The effect of stopping sign-ups for some hours.
pub(super) async fn stop_signups(case: &Case<'_>, hours: u64) -> Result<Effect> {
    let restriction = case.restriction(Some(hours));
    take_measure(case, SIGNUPS_STOPPED, (restriction.until, &restriction.to_string())).await
}

/// The effect of holding the posts of accounts below an age for some hours.
pub(super) async fn hold_young(case: &Case<'_>, (age, hours): (u64, u64)) -> Result<Effect> {
    let hold = YoungHold { age, restriction: case.restriction(Some(hours)) };
    take_measure(case, YOUNG_HELD, (hold.restriction.until, &hold.to_string())).await
}

async fn take_measure(
    case: &Case<'_>,
    field: &'static str,
    (until, after): (Option<Timestamp>, &str),
) -> Result<Effect> {
    let [before] = case.site.store.fetch(read::fields(keys::SITE, [field])).await?;
    let mut effect = Effect { until, ..Effect::default() };
    effect.change(keys::SITE, field, (before.as_deref(), Some(after)));
    Ok(effect)
}

/// The effect of ending such a measure before its time.
pub(super) async fn end_measure(case: &Case<'_>, field: &'static str) -> Result<Effect> {
    let [before] = case.site.store.fetch(read::fields(keys::SITE, [field])).await?;
    let until = before.as_deref().and_then(|before| end_of_measure(field, before));
    if until.is_none_or(|until| until <= case.now.timestamp()) {
        return Err(Refusal::NothingToModerate(NothingToDo::NotInForce).into());
    }
    let mut effect = Effect::default();
    effect.change(keys::SITE, field, (before.as_deref(), None));
    Ok(effect)
}

/// When a measure in a field of the site ends; `None` for other fields.
pub(super) fn end_of_measure(field: &str, value: &str) -> Option<Timestamp> {
    match field {
        SIGNUPS_STOPPED => value.parse::<Restriction>().ok()?.until,
        YOUNG_HELD => value.parse::<YoungHold>().ok()?.restriction.until,
        _ => None,
    }
}
