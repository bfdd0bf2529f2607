//! Removing what people say about themselves, and putting it back.

use super::case::{Case, Effect};
use super::changes::ChangedFact;
use super::people::{StoredPerson, read_person};
use super::removals::ended_by;
use super::remove_all;
use crate::accounts::inbox::Withdrawn;
use crate::accounts::users::User;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::moderation::log::Line;
use crate::values::actions::Action;
use crate::values::ids::{ModerationId, UserId};
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::Batch;

/// The fields of a user that are removed. The record of the removal has them under these names.
const TEXTS: [&str; 2] = ["about", "fullname"];

/// The name of a person's record. A record is found by the number, which never changes.
fn thing(user: UserId) -> Thing {
    Thing::User(user.to_string().into())
}

/// Blanks the text about a person and the full name. Moderators can put them back.
pub(super) async fn remove(case: &Case<'_>, name: &str) -> Result<Effect, Error> {
    let person = read_person(case, name).await?;
    let key = keys::user(person.user.id);
    let mut effect = Effect { concerns: Some(person.user.id), ..Effect::default() };
    let texts: Vec<(&'static str, &str)> = TEXTS
        .into_iter()
        .filter_map(|field| Some((field, person.hash.get(field).filter(|text| !text.is_empty())?)))
        .collect();
    if texts.is_empty() {
        return Err(Refusal::NothingToModerate("this profile has no text").into());
    }
    if case.site.store.fetch(Withdrawn::of(thing(person.user.id))).await?.is_some() {
        let why = "an earlier text of this profile has been removed. Restore it first";
        return Err(Refusal::NothingToModerate(why).into());
    }
    for (field, text) in &texts {
        effect.batch.field_equals(&key, *field, *text);
        effect.batch.set_field(&key, *field, "");
    }
    effect.batch.key_absent(keys::withdrawn(&thing(person.user.id)));
    effect.changed.push(ChangedFact::of_removal(&thing(person.user.id), case.id));
    let stored = texts.iter().map(|(field, text)| (*field, (*text).to_owned()));
    Withdrawn::write(&mut effect.batch, &thing(person.user.id), (case.id, None), stored);
    if person.user.withheld == Some(Withheld::Flagged) {
        // The text that was flagged is gone.
        write_state(&mut effect.batch, &person.user, None);
    }
    effect.message = Some(format!("A moderator has removed the text of your profile: {}", case.reason));
    Ok(effect)
}

/// Puts back what was removed of a person last: the text of the profile, or the posts of some days.
pub(super) async fn restore(case: &Case<'_>, name: &str) -> Result<Effect, Error> {
    let person = read_person(case, name).await?;
    let record = case.site.store.fetch(Withdrawn::of(thing(person.user.id))).await?;
    let removed_posts = remove_all::not_undone(&person.hash);
    let posts = match case.undoes {
        Some(Line { action: Action::RemoveAll, id, .. }) => Some(*id),
        Some(_) => None,
        None => removed_posts
            .last()
            .copied()
            .filter(|posts| record.as_ref().is_none_or(|record| record.line < *posts)),
    };
    match (posts, record) {
        (Some(line), _) => remove_all::restore(case, &person, line),
        (None, Some(record)) => restore_texts(case, &person, &record).await,
        (None, None) => Err(Refusal::NothingToModerate("there is nothing to restore for this person").into()),
    }
}

/// Puts back the text of a profile, except where the person has written another since.
async fn restore_texts(case: &Case<'_>, person: &StoredPerson, record: &Withdrawn) -> Result<Effect, Error> {
    let key = keys::user(person.user.id);
    let mut effect = Effect { concerns: Some(person.user.id), ..Effect::default() };
    effect.ends = ended_by(case, record.line).await?.or(Some(record.line));
    for field in TEXTS {
        let is_blank = person.hash.get(field).is_none_or(str::is_empty);
        if let Some(text) = record.rest::<String>(field).filter(|_| is_blank) {
            effect.change(&key, field, (person.hash.get(field), Some(&text)));
        }
    }
    let state = case.state_of_kept(person.user.withheld.as_ref());
    if state != person.user.withheld {
        write_state(&mut effect.batch, &person.user, state);
    }
    record.forget(&mut effect.batch);
    effect.message = Some(format!("The text of your profile has been restored: {}", case.reason));
    Ok(effect)
}

fn write_state(batch: &mut Batch, person: &User, state: Option<Withheld>) {
    let key = keys::user(person.id);
    batch.field_unchanged(&key, WITHHELD, person.withheld.as_ref().map(ToString::to_string));
    match state {
        Some(state) => batch.set_field(key, WITHHELD, state.to_string()),
        None => batch.delete_field(key, WITHHELD),
    }
}

/// The numbers of lines, as the hash of a user stores them.
pub(super) fn lines_of(stored: &str) -> Vec<ModerationId> {
    stored.split(' ').filter_map(|id| id.parse().ok()).collect()
}
