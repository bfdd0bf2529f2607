//! Flags go with what they are about, with the people who flagged, and their notes with an erasure.

use super::of_thing::{REJECTED, UPHELD};
use crate::values::{Flag, Thing, UserId};
use crate::{Result, Site, keys, review};
use tidings_keyspace::{Batch, read};

/// Adds to a batch that a person's flag of a thing has no note. Rounds: 1.
pub(crate) async fn erase_note(site: &Site, batch: &mut Batch, thing: &Thing, person: UserId) -> Result<()> {
    let (key, field) = (keys::flags(thing), person.to_string());
    let stored = site.store.fetch(read::field(&key, &field)).await?;
    let flag = stored.as_ref().and_then(|stored| stored.parse::<Flag>().ok());
    if let (Some(stored), Some(flag)) = (stored, flag.filter(|flag| !flag.note.is_empty())) {
        batch.field_equals(&key, &field, stored);
        batch.set_field(&key, field, Flag { note: "".into(), ..flag }.to_string());
    }
    Ok(())
}

/// Adds to a batch that the flags of a post have no notes, and that none waits. Rounds: 1.
pub(crate) async fn erase(site: &Site, batch: &mut Batch, thing: &Thing) -> Result<()> {
    let key = keys::flags(thing);
    let flags = site.store.fetch(read::hash(&key)).await?;
    for (person, stored) in flags.0 {
        match stored.parse::<Flag>() {
            // It cannot be decided any more.
            Ok(flag) if flag.waits() => {
                batch.delete_field(&key, &person);
                if let Ok(person) = person.parse() {
                    batch.sorted_remove(keys::user_flags(person), thing.key());
                }
            }
            Ok(flag) if !flag.note.is_empty() => {
                batch.field_equals(&key, &person, stored);
                batch.set_field(&key, person, Flag { note: "".into(), ..flag }.to_string());
            }
            Ok(_) => {}
            Err(_) => batch.delete_field(&key, person),
        }
    }
    Ok(())
}

/// Deletes the flags of something, and their traces with the people who flagged. Rounds: 2.
pub(crate) async fn forget(site: &Site, thing: &Thing) -> Result<()> {
    let (flags, key) = (keys::flags(thing), thing.key());
    let flaggers = site.store.fetch(read::hash(&flags)).await?;
    let mut batch = Batch::new();
    for flagger in flaggers.0.iter().filter_map(|(flagger, _)| flagger.parse().ok()) {
        batch.sorted_remove(keys::user_flags(flagger), &key);
        for outcome in [UPHELD, REJECTED] {
            batch.sorted_remove(keys::user_flag_outcomes(flagger), format!("{outcome}{key}"));
        }
    }
    review::settle(&mut batch, thing);
    batch.delete(flags);
    site.store.commit(batch).await?;
    Ok(())
}

/// Adds to a batch that nobody knows any more what somebody has flagged. The flags stay.
pub(crate) fn forget_person(batch: &mut Batch, person: UserId) {
    batch.delete(keys::user_flags(person));
    batch.delete(keys::user_flag_outcomes(person));
}
