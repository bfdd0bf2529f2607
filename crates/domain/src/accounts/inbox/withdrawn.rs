//! The data that was taken away with a contribution that a moderator has removed, so that it can be put
//! back exactly: the hash `withdrawn:<kind>:<id>`, which exists as long as the contribution is removed.
//! Each kind of contribution removes itself and returns in its own way, in one batch each.

use crate::fields::StoredFields;
use crate::keys;
use crate::values::ids::ModerationId;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use std::str::FromStr;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The field with the line of the log that says who removed the post.
pub(crate) const WITHDRAWN_BY: &str = "moderation";
/// The field with why the post was withheld before, if it was.
const EARLIER: &str = "earlier";

/// The record of a contribution that is removed.
#[derive(Debug, Clone)]
pub(crate) struct Withdrawn {
    thing: Thing,
    /// The line of the log that says who removed it.
    pub(crate) line: ModerationId,
    /// Why it was withheld before, if it was.
    pub(crate) earlier: Option<Withheld>,
    /// The whole record, with the further fields that the kind of post remembers.
    rest: Hash,
}

impl Withdrawn {
    /// Adds a record to the batch that removes a post; `rest` has the further fields that its kind remembers.
    pub(crate) fn write(
        batch: &mut Batch,
        thing: &Thing,
        (line, earlier): (ModerationId, Option<&Withheld>),
        rest: impl IntoIterator<Item = (&'static str, String)>,
    ) {
        let key = keys::withdrawn(thing);
        let mut fields = vec![(WITHDRAWN_BY, line.to_string())];
        fields.extend(earlier.map(|earlier| (EARLIER, earlier.to_string())));
        fields.extend(rest);
        // An earlier removal has left a record behind, if another program took the state away.
        batch.delete(&key);
        batch.set_fields(key, fields);
    }

    /// The record of a post, if there is one.
    pub(crate) fn of(thing: Thing) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::withdrawn(&thing)).map(move |rest| {
            let fields = StoredFields::new(&rest, || keys::withdrawn(&thing));
            let (line, earlier) = (fields.read(WITHDRAWN_BY)?, fields.read(EARLIER));
            Some(Self { thing, line, earlier, rest })
        })
    }

    /// A field that the kind of post remembers; `None` if it is absent or cannot be read.
    pub(crate) fn rest<T: FromStr>(&self, field: &str) -> Option<T> {
        StoredFields::new(&self.rest, || keys::withdrawn(&self.thing)).read(field)
    }

    /// Adds to the batch that restores the post that the record is deleted. The batch is rejected
    /// if the post has been restored or removed again meanwhile.
    pub(crate) fn forget(&self, batch: &mut Batch) {
        let key = keys::withdrawn(&self.thing);
        batch.field_equals(&key, WITHDRAWN_BY, self.line.to_string());
        batch.delete(key);
    }
}
