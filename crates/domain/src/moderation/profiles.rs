//! Removing what people say about themselves, and putting it back.

use super::removals::ended_by;
use super::{Case, ChangedFact, Effect, StoredPerson, read_person, remove_all};
use crate::accounts::users::{REMOVED_TEXTS, forget_removed};
use crate::moderation::log::Line;
use crate::values::{Action, ModerationId, REMOVED, RemovedBy, Withheld};
use crate::{NothingToDo, Refusal, Result, keys};
use tidings_language::t;

/// Blanks the text about a person and the full name. Moderators can put them back.
pub(super) async fn remove(case: &Case<'_>, name: &str) -> Result<Effect> {
    let person = read_person(case, name).await?;
    let key = keys::user(person.user.id);
    let mut effect = Effect::default();
    let stored = |(field, kept)| Some((field, kept, person.hash.get(field).filter(|text| !text.is_empty())?));
    let texts: Vec<_> = REMOVED_TEXTS.into_iter().filter_map(stored).collect();
    Refusal::NothingToModerate(NothingToDo::NoTextOfProfile).when(texts.is_empty())?;
    Refusal::NothingToModerate(NothingToDo::EarlierTextRemoved).when(person.hash.get(REMOVED).is_some())?;
    for (field, kept, text) in texts {
        effect.batch.field_equals(&key, field, text);
        effect.batch.set_fields(&key, [(field, ""), (kept, text)]);
    }
    // The text that was flagged is gone.
    let earlier = person.user.withheld.clone().filter(Withheld::is_flagged);
    if earlier.is_some() {
        person.user.write_state(&mut effect.batch, None);
    }
    effect.batch.field_absent(&key, REMOVED);
    effect.batch.set_field(&key, REMOVED, RemovedBy { line: case.id, earlier }.to_string());
    effect.changed.extend(ChangedFact::of_removal(case.thing, Some(person.user.id), case.id));
    let reason = case.reason.as_str();
    effect.tells(t!("A moderator has removed the text of your profile: {reason}", reason));
    Ok(effect)
}

/// Puts back what was removed of a person last: the text of the profile, or the posts of some days.
pub(super) async fn restore(case: &Case<'_>, name: &str) -> Result<Effect> {
    let person = read_person(case, name).await?;
    let removed: Option<RemovedBy> = person.hash.get(REMOVED).and_then(|removed| removed.parse().ok());
    let removed_posts = remove_all::not_undone(&person.hash);
    let posts = match case.undoes {
        Some(Line { action: Action::RemoveAll, id, .. }) => Some(*id),
        Some(_) => None,
        None => removed_posts
            .last()
            .copied()
            .filter(|posts| removed.as_ref().is_none_or(|removed| removed.line < *posts)),
    };
    match (posts, removed) {
        (Some(line), _) => remove_all::restore(case, &person, line),
        (None, Some(removed)) => restore_texts(case, &person, removed).await,
        (None, None) => Err(Refusal::NothingToModerate(NothingToDo::NothingToRestore).into()),
    }
}

/// Puts back the text of a profile, except where the person has written another since.
async fn restore_texts(case: &Case<'_>, person: &StoredPerson, removed: RemovedBy) -> Result<Effect> {
    let key = keys::user(person.user.id);
    let ends = ended_by(case, removed.line).await?.or(Some(removed.line));
    let mut effect = Effect { ends, ..Effect::default() };
    for (field, kept) in REMOVED_TEXTS {
        let is_blank = person.hash.get(field).is_none_or(str::is_empty);
        if let Some(text) = person.hash.get(kept).filter(|_| is_blank) {
            effect.change(&key, field, (person.hash.get(field), Some(text)));
        }
    }
    if removed.earlier.is_some() && person.user.withheld.is_none() {
        person.user.write_state(&mut effect.batch, removed.earlier.as_ref());
    }
    effect.batch.field_unchanged(&key, REMOVED, person.hash.get(REMOVED));
    forget_removed(&mut effect.batch, person.user.id);
    let reason = case.reason.as_str();
    effect.tells(t!("The text of your profile has been restored: {reason}", reason));
    Ok(effect)
}

/// The numbers of lines, as the hash of a user stores them.
pub(super) fn lines_of(stored: &str) -> Vec<ModerationId> {
    stored.split(' ').filter_map(|id| id.parse().ok()).collect()
}
