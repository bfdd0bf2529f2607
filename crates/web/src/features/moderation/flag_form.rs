//! Flags, and which part of the review queue is asked for.

use super::form::thing;
use crate::error::RequestError;
use crate::request::form::{Fields, FromFields};
use crate::request::{paging, values};
use tidings_domain::Error;
use tidings_domain::moderation::queue::QueueCursor;
use tidings_domain::values::flag::{FlagNote, FlagReason};
use tidings_domain::values::moderation::Thing;
use utoipa::{IntoParams, ToSchema};

/// A flag on a thing.
#[derive(ToSchema)]
pub struct FlagForm {
    /// The kind of thing.
    #[schema(value_type = values::FlaggedKind)]
    pub kind: &'static str,
    /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
    #[schema(value_type = values::ThingId)]
    pub id: Thing,
    /// Why. Each kind has reasons of its own.
    #[schema(value_type = values::FlagReason)]
    pub reason: FlagReason,
    /// For moderators. A duplicate's is the number or the link of the other story.
    #[schema(value_type = values::FlagNote, required = false)]
    pub note: FlagNote,
}

impl FromFields for FlagForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let id = flagged_thing(fields)?;
        let expected = "it must be spam, offtopic, unkind, broken, duplicate or harmful";
        let reason = fields.parsed("reason", expected)?;
        let note = FlagNote::parse(fields.text("note")).map_err(Error::from)?;
        Ok(Self { kind: id.kind(), id, reason, note })
    }
}

/// The thing whose flag the caller takes back.
#[derive(ToSchema)]
pub struct UnflagForm {
    /// The kind of thing.
    #[schema(value_type = values::FlaggedKind)]
    pub kind: &'static str,
    /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
    #[schema(value_type = values::ThingId)]
    pub id: Thing,
}

impl FromFields for UnflagForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let id = flagged_thing(fields)?;
        Ok(Self { kind: id.kind(), id })
    }
}

/// The thing in the fields `kind` and `id`, of a kind that can be flagged.
fn flagged_thing(fields: &Fields) -> Result<Thing, RequestError> {
    let thing = thing(fields)?;
    if FlagReason::of(&thing).is_empty() {
        return Err(RequestError::field("kind", "it must be story, comment, tweet or user"));
    }
    Ok(thing)
}

/// The part of the review queue that is asked for.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct QueueQuery {
    /// The maximum number of rows; 50 by default.
    #[param(value_type = values::PageSize, required = false)]
    pub count: usize,
    /// Only rows after this one.
    #[param(value_type = values::QueueCursor, required = false)]
    pub before: Option<QueueCursor>,
}

impl FromFields for QueueQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self {
            count: paging::count(fields)?,
            before: fields.parsed_optional("before", "it must be the value of next in another answer")?,
        })
    }
}
