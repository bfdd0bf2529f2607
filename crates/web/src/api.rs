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
    /// Done.
    #[serde(rename = "ok")]
    Ok,
}

/// An answer that it is done, with nothing else to tell.
#[derive(Serialize, ToSchema)]
pub struct Done {
    status: Status,
}

/// It is done.
const DONE: Done = Done { status: Status::Ok };
