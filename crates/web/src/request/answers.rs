//! The responses of calls: that they are done, or why they failed.

use super::values;
use serde::Serialize;
use tidings_domain::values::vote_state::VoteState;
use utoipa::ToSchema;

/// The status of a successful call.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub enum Status {
    /// The call succeeded.
    #[serde(rename = "ok")]
    Ok,
}

/// The response of a successful call that returns nothing else.
#[derive(Serialize, ToSchema)]
#[schema(as = Done)]
pub struct DoneResponse {
    status: Status,
}

/// The answer of such a call.
pub const DONE: DoneResponse = DoneResponse { status: Status::Ok };

/// Declares an answer of a call, or a part of one, with all that is to be known of each member: its name, its type, where it
/// comes from, and its schema in the OpenAPI document, where the type does not tell it. A member with a `?` is missing
/// where there is nothing to say.
macro_rules! answer {
    ($(#[$about:meta])* $vis:vis struct $name:ident $(as $schema:ident)? from ($source:ident: $from:ty) { $($members:tt)+ }) => {
        $crate::request::answers::answer! {
            @members { $(#[$about])* $vis $name [$($schema)?] $source $from } [] [] $($members)+
        }
    };
    (@members $head:tt [$($declared:tt)*] [$($set:tt)*] status; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head
            [$($declared)* status: $crate::request::answers::Status,]
            [$($set)* status: $crate::request::answers::Status::Ok,]
            $($rest)*
        }
    };
    (@members $head:tt [$($declared:tt)*] [$($set:tt)*]
        $(#[$doc:meta])* $member:ident: $type:ty = $value:expr $(, $schema:ty)?; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head
            [$($declared)* $(#[$doc])* #[schema($(value_type = $schema,)? required = true)] $member: $type,]
            [$($set)* $member: $value,]
            $($rest)*
        }
    };
    (@members $head:tt $declared:tt $set:tt $(#[$doc:meta])* $member:ident?: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head $declared $set $(#[$doc])* $member?: $type = $value, $type; $($rest)*
        }
    };
    (@members $head:tt [$($declared:tt)*] [$($set:tt)*]
        $(#[$doc:meta])* $member:ident?: $type:ty = $value:expr, $schema:ty; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head
            [
                $($declared)*
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schema(value_type = $schema, required = false)]
                $member: Option<$type>,
            ]
            [$($set)* $member: $value,]
            $($rest)*
        }
    };
    (@members { $(#[$about:meta])* $vis:vis $name:ident [$($schema:ident)?] $source:ident $from:ty }
        [$($declared:tt)*] [$($set:tt)*]) => {
        #[derive(serde::Serialize, utoipa::ToSchema)]
        $(#[schema(as = $schema)])?
        $(#[$about])*
        $vis struct $name { $($declared)* }

        impl From<$from> for $name {
            fn from($source: $from) -> Self {
                Self { $($set)* }
            }
        }
    };
}

pub(crate) use answer;

/// Whether a member of a response that is there only when it is true is left out.
pub const fn is_false(value: &bool) -> bool {
    !*value
}

/// A failure: `{"status": "err", ...}`.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorResponse {
    /// That it failed.
    pub status: ErrorStatus,
    /// A sentence to show to a person.
    #[schema(value_type = values::Message)]
    pub error: String,
    /// True if a login needs a code besides the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    pub code_required: Option<bool>,
    /// The votes as they are, if a vote was refused because of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub votes: Option<VotesResponse>,
}

/// The votes on a story or a comment.
#[derive(Serialize, ToSchema)]
#[schema(as = ItemVotes)]
pub struct VotesResponse {
    /// The caller's vote: `up`, `down` or `none`.
    #[schema(value_type = values::VoteOfCaller)]
    voted: &'static str,
    up: i64,
    down: i64,
}

/// The votes on a story or a comment that were asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = ItemVotesOn)]
pub struct VotesOnResponse {
    /// The number of the story; `7-3` for comment 3 of story 7.
    #[schema(value_type = values::VotedOnId)]
    of: String,
    /// The caller's vote: `up`, `down` or `none`.
    #[schema(value_type = values::VoteOfCaller)]
    voted: &'static str,
    up: i64,
    down: i64,
}

impl VotesOnResponse {
    /// The votes on this.
    #[must_use]
    pub fn new(of: String, state: VoteState) -> Self {
        let VotesResponse { voted, up, down } = state.into();
        Self { of, voted, up, down }
    }
}

impl From<VoteState> for VotesResponse {
    fn from(VoteState { is_up, up, down }: VoteState) -> Self {
        let voted = is_up.map_or("none", |is_up| if is_up { "up" } else { "down" });
        Self { voted, up, down }
    }
}

/// The status of a failure.
#[derive(Serialize, ToSchema)]
pub enum ErrorStatus {
    /// The call has failed.
    #[serde(rename = "err")]
    Err,
}
