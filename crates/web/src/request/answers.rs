//! The responses of calls: that they are done, or why they failed.

use serde::Serialize;
use tidings_domain::values::VoteState;

/// The content type of JSON.
pub const JSON: &str = "application/json";

/// Declares answers of calls, and parts of them, with all that is to be known of each member: its name, its type, where it
/// comes from, if the answer is made `from` something, and its schema in the OpenAPI document, where the type does not
/// tell it. A member with a `?` is missing where there is nothing to say.
macro_rules! answer {
    ($($(#[$about:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)? $(as $schema:ident)?
        $(from ($source:ident: $from:ty))? { $($members:tt)* })+) => {
        #[cfg(test)]
        #[allow(unused_imports)]
        use $crate::request::description::schemas::*;

        $($crate::request::answers::answer! {
            @members
            { $(#[$about])* $(#[cfg_attr(test, schema(as = $schema))])? $vis struct $name $(<$life>)? } { $name $($source $from)? } [] []
            $($members)*
        })+
    };
    (@members $head:tt $made:tt [$($declared:tt)*] [$($set:tt)*] status; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head $made
            [$($declared)* status: $crate::request::answers::Status,]
            [$($set)* status: $crate::request::answers::Status::Ok,]
            $($rest)*
        }
    };
    (@members $head:tt $made:tt [$($declared:tt)*] [$($set:tt)*]
        $(#[$doc:meta])* $shown:vis $member:ident: $type:ty $(= $value:expr)? $(, $schema:ty)?; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head $made
            [$($declared)* $(#[$doc])* #[cfg_attr(test, schema($(value_type = $schema,)? required = true))] $shown $member: $type,]
            [$($set)* $($member: $value,)?]
            $($rest)*
        }
    };
    (@members $head:tt $made:tt [$($declared:tt)*] [$($set:tt)*]
        $(#[$doc:meta])* $shown:vis $member:ident?: $type:ty $(= $value:expr)?, $schema:ty; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head $made
            [
                $($declared)*
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[cfg_attr(test, schema(value_type = $schema, required = false))]
                $shown $member: Option<$type>,
            ]
            [$($set)* $($member: $value,)?]
            $($rest)*
        }
    };
    (@members $head:tt $made:tt $declared:tt $set:tt
        $(#[$doc:meta])* $shown:vis $member:ident?: $type:ty $(= $value:expr)?; $($rest:tt)*) => {
        $crate::request::answers::answer! {
            @members $head $made $declared $set $(#[$doc])* $shown $member?: $type $(= $value)?, $type; $($rest)*
        }
    };
    (@members { $($head:tt)* } { $name:ident } [$($declared:tt)*] $set:tt) => {
        #[derive(serde::Serialize)]
        #[cfg_attr(test, derive(utoipa::ToSchema))]
        $($head)* { $($declared)* }
    };
    (@members $head:tt { $name:ident $source:ident $from:ty } $declared:tt [$($set:tt)*]) => {
        $crate::request::answers::answer! { @members $head { $name } $declared [] }

        impl From<$from> for $name {
            fn from($source: $from) -> Self {
                Self { $($set)* }
            }
        }
    };
}

pub(crate) use answer;

/// The status of a successful call.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub enum Status {
    /// The call succeeded.
    #[serde(rename = "ok")]
    Ok,
}

answer! {
    /// The response of a successful call that returns nothing else.
    pub struct DoneResponse as Done {
        status;
    }

    /// A failure: `{"status": "err", ...}`.
    pub struct ErrorResponse as Error {
        /// That it failed.
        pub status: ErrorStatus;
        /// A sentence in English, whatever the language of the site is.
        pub error: String, values::Message;
        /// A sentence to show to a person, in the language of the site.
        pub message: String, values::Message;
        /// The page that explains the failure, if there is one.
        pub about?: &'static str;
        /// True if a login needs a code besides the password.
        pub code_required?: bool;
        /// The votes as they are, if a vote was refused because of them.
        pub votes?: VotesResponse;
    }

    /// The votes on a story or a comment.
    pub struct VotesResponse as ItemVotes from (state: VoteState) {
        /// The caller's vote: `up`, `down` or `none`.
        voted: &'static str = voted(state), values::VoteOfCaller;
        up: i64 = state.up;
        down: i64 = state.down;
    }
}

/// The answer of a call that returns nothing else.
pub const DONE: DoneResponse = DoneResponse { status: Status::Ok };

impl ErrorResponse {
    /// A failure about which there is nothing else to say.
    pub const fn of(error: String, message: String) -> Self {
        Self { status: ErrorStatus::Err, error, message, about: None, code_required: None, votes: None }
    }
}

/// The vote of the caller.
pub fn voted(state: VoteState) -> &'static str {
    state.is_up.map_or("none", |is_up| if is_up { "up" } else { "down" })
}

/// The status of a failure.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub enum ErrorStatus {
    /// The call has failed.
    #[serde(rename = "err")]
    Err,
}
