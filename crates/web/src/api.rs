//! The JSON API: forms in, `{"status": "ok", ...}` out.
//!
//! `docs/api.md` describes every call. [`super::error`] makes the responses of failed
//! calls, with HTTP 200 if a rule of the site refused the call.

pub mod accounts;
pub mod articles;
pub mod comments;
pub mod export;
pub mod flags;
pub mod inbox;
pub mod moderation;
pub mod mutes;
pub mod news;
pub mod rules;
pub mod sessions;
pub mod sites;
pub mod submitting;
pub mod timelines;
pub mod two_factor;

use super::markdown::markdown;
use super::pages::fragments::LinkTarget;
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
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A comment or the text of a story as HTML.
fn formatted(text: &str) -> String {
    markdown(text, LinkTarget::Same).into_string()
}
