//! The floors of home timelines, `timeline:floors`: the score down to which each is complete.

use crate::keys;
use crate::values::UserId;
use tidings_keyspace::Batch;

/// The floor of a timeline that is being made.
pub(crate) const ABOVE_ALL: f64 = f64::MAX;

/// Raises the score down to which a reader's home timeline is complete.
pub(crate) fn raise_floor(batch: &mut Batch, reader: UserId, floor: f64) {
    batch.sorted_raise(keys::HOME_FLOORS, reader.to_string(), floor);
}

/// Sets the score down to which a reader's home timeline is complete.
pub(crate) fn set_floor(batch: &mut Batch, reader: UserId, floor: Option<f64>) {
    match floor {
        Some(floor) => batch.sorted_add(keys::HOME_FLOORS, reader.to_string(), floor),
        None => batch.sorted_remove(keys::HOME_FLOORS, reader.to_string()),
    }
}
