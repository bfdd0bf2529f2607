//! The JSON faces of the site: forms in, `{"status": "ok", ...}` out.
//!
//! `docs/api.md` describes every call. Errors are answered by
//! [`super::error`], with HTTP 200 where a rule of the site says no.

pub mod accounts;
pub mod articles;
pub mod comments;
pub mod news;
pub mod sites;
pub mod timelines;

use serde::Serialize;
use utoipa::ToSchema;

/// The status of every answer that is not a failure.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub enum Status {
    /// DoneResponse.
    #[serde(rename = "ok")]
    Ok,
}

/// An answer that it is done, with nothing else to tell.
#[derive(Serialize, ToSchema)]
#[schema(as = Done)]
pub struct DoneResponse {
    status: Status,
}

/// It is done.
const DONE: DoneResponse = DoneResponse { status: Status::Ok };
