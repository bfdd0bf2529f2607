//! Notes on people: moderators read them on the profile, the log says only that there is one.
//!
//! Keys: `user:<id>:notes`.

use super::changes::PRESENT;
use super::{Case, ChangedFact, Effect, FactPart, read_person};
use crate::accounts::People;
use crate::values::{AsText, MAX_NOTES, Malformed, ModerationId, Timestamp, UserId, record_text};
use crate::{NothingToDo, Refusal, Result, Visit, keys};
use tidings_keyspace::read;

/// A note as it is stored: `<time>:<user id>:<text>`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredNote {
    time: Timestamp,
    moderator: UserId,
    text: String,
}

record_text!(StoredNote or Malformed: {time} ":" {moderator} ":" {text AsText});

/// A note on a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The line of the log that says that there is a note. Undoing it deletes the note.
    pub id: ModerationId,
    /// When it was written.
    pub time: Timestamp,
    /// The moderator who wrote it; `None` after a deactivation.
    pub moderator: Option<String>,
    /// The text.
    pub text: String,
}

/// Adds a note.
pub(super) async fn add(case: &Case<'_>, name: &str) -> Result<Effect> {
    let person = read_person(case, name).await?.user.id;
    let key = keys::user_notes(person);
    let notes = case.site.store.fetch(read::hash(&key)).await?;
    Refusal::TooManyNotes { limit: MAX_NOTES }.when(notes.0.len() >= MAX_NOTES)?;
    let (time, moderator) = (case.now.timestamp(), case.moderator.id);
    let note = StoredNote { time, moderator, text: case.reason.to_string() };
    // The person is not told, so the line does not concern them.
    let mut effect = Effect::default();
    let place = (case.id.to_string(), FactPart::Presence);
    effect.changed.push(ChangedFact::of_part(&*key, place, (None, Some(PRESENT))));
    effect.batch.set_field(key, case.id.to_string(), note.to_string());
    Ok(effect)
}

/// Deletes a note: only as the undo of its line.
pub(super) async fn delete(case: &Case<'_>, name: &str) -> Result<Effect> {
    let line = case.undoes.ok_or(Refusal::NothingToModerate(NothingToDo::NoteUnnamed))?;
    let person = read_person(case, name).await?.user.id;
    let mut effect = Effect::default();
    effect.batch.delete_field(keys::user_notes(person), line.id.to_string());
    Ok(effect)
}

/// The notes on a person, the newest first, for moderators; none for others. Rounds: 2, none for
/// others.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], or the store's.
pub async fn notes_on(visit: &mut Visit, person: UserId) -> Result<Vec<Note>> {
    visit.demand_moderator().await?;
    let key = keys::user_notes(person);
    let stored = visit.fetch(read::hash(&key)).await?;
    let mut notes: Vec<(ModerationId, StoredNote)> = Vec::new();
    for (id, note) in stored.0 {
        match (id.parse(), note.parse()) {
            (Ok(id), Ok(note)) => notes.push((id, note)),
            _ => crate::fields::report(&key, Some(&id)),
        }
    }
    notes.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
    let people = People::of(notes.iter().map(|(_, note)| note.moderator));
    let people = visit.fetch_if_needed(people).await?;
    let named = |(id, StoredNote { time, moderator, text })| {
        let moderator = people.get(moderator).map(|names| names.username.clone());
        Note { id, time, moderator, text }
    };
    Ok(notes.into_iter().map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_stored_and_read_back() {
        for stored in ["1800000000:2:likes to argue: a lot", "1:2:"] {
            assert_eq!(stored.parse::<StoredNote>().map(|note| note.to_string()), Ok(stored.to_owned()));
        }
        for stored in ["", "1", "1:2", "x:2:a", "1:0:a"] {
            assert_eq!(stored.parse::<StoredNote>(), Err(Malformed), "{stored}");
        }
    }
}
