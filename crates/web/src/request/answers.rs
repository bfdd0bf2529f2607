//! The responses of calls: that they are done, or why they failed.

use super::values;
use serde::Serialize;
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
}

/// The status of a failure.
#[derive(Serialize, ToSchema)]
pub enum ErrorStatus {
    /// The call has failed.
    #[serde(rename = "err")]
    Err,
}
