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

use axum::Json;
use serde_json::{Map, Value};

/// An answer that all is well, with further members.
fn ok<const N: usize>(members: [(&str, Value); N]) -> Json<Value> {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), Value::from("ok"));
    answer.extend(members.map(|(name, value)| (name.to_owned(), value)));
    Json(Value::Object(answer))
}
