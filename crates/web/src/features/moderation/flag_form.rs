//! Flags, and which part of the review queue is asked for.

use super::form::thing;
use crate::error::RequestError;
use crate::request::form::{Fields, form, optional, parsed};
use crate::request::{paging, values};
use tidings_domain::Error;
use tidings_domain::moderation::queue::QueueCursor;
use tidings_domain::values::flag::{FlagNote, FlagReason};
use tidings_domain::values::moderation::Thing;

form! {
    /// A flag on a thing.
    pub struct FlagForm {
        /// The kind of thing.
        pub kind: &'static str = flagged_kind, values::FlaggedKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        pub id: Thing = flagged_thing, values::ThingId;
        /// Why. Each kind has reasons of its own.
        pub reason: FlagReason = parsed("it must be spam, offtopic, unkind, broken, duplicate or harmful"), values::FlagReason;
        /// For moderators. A duplicate's is the number or the link of the other story.
        pub note: FlagNote = |fields: &Fields, name| Ok(FlagNote::parse(fields.text(name)).map_err(Error::from)?), values::FlagNote, required = false;
    }
}

form! {
    /// The thing whose flag the caller takes back.
    pub struct UnflagForm {
        /// The kind of thing.
        pub kind: &'static str = flagged_kind, values::FlaggedKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        pub id: Thing = flagged_thing, values::ThingId;
    }
}

/// The thing in the fields `kind` and `id`, of a kind that can be flagged.
fn flagged_thing(fields: &Fields, _: &str) -> Result<Thing, RequestError> {
    let thing = thing(fields)?;
    if FlagReason::of(&thing).is_empty() {
        return Err(RequestError::field("kind", "it must be story, comment, tweet or user"));
    }
    Ok(thing)
}

fn flagged_kind(fields: &Fields, name: &str) -> Result<&'static str, RequestError> {
    Ok(flagged_thing(fields, name)?.kind())
}

form! {
    /// The part of the review queue that is asked for.
    #[derive(Debug)]
    pub query QueueQuery {
        /// The maximum number of rows; 50 by default.
        pub count: usize = paging::count, values::PageSize, required = false;
        /// Only rows after this one.
        pub before: Option<QueueCursor> = optional(parsed("it must be the value of next in another answer")), values::QueueCursor, required = false;
    }
}
