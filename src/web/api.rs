//! The JSON faces of the site: forms in, `{"status": "ok", ...}` out.
//!
//! `docs/api.md` describes every call. Errors are answered by
//! [`super::error`], with HTTP 200 where a rule of the site says no.

pub mod accounts;
pub mod comments;
pub mod news;

use super::error::Failure;
use super::form::Fields;
use crate::domain::news::Direction;
use axum::Json;
use serde_json::{Map, Value};

/// An answer that all is well, with further members.
fn ok<const N: usize>(members: [(&str, Value); N]) -> Json<Value> {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), Value::from("ok"));
    answer.extend(members.map(|(name, value)| (name.to_owned(), value)));
    Json(Value::Object(answer))
}

/// An id, or -1 for none.
pub(super) fn id_or_none<T: std::str::FromStr>(
    fields: &Fields,
    name: &'static str,
) -> Result<Option<T>, Failure> {
    match fields.required(name)? {
        "-1" => Ok(None),
        _ => fields.parsed(name, "it must be a number, or -1 for none").map(Some),
    }
}

/// The field `vote_type`.
pub(super) fn vote_type(fields: &Fields) -> Result<Direction, Failure> {
    match fields.required("vote_type")? {
        "up" => Ok(Direction::Up),
        "down" => Ok(Direction::Down),
        _ => Err(Failure::Field { name: "vote_type", expected: "it must be up or down" }),
    }
}
