//! Strict parsing of JSON bodies, for the calls that do not take forms.

use crate::App;
use crate::error::{Malformed, RequestError, Result};
use crate::limits::{
    BODY_BYTES, BODY_LEAST_BYTES, BODY_START, FIRST_BODY_BYTES, REQUEST_BYTES, SHORT_BODY_BYTES,
};
use crate::request::form::parse;
use crate::route::{BodySize, Route};
use crate::server::answer_memory::BodyMemory;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;
use tidings_domain::Error;
use tidings_domain::values::{Hostname, VoterId};
use tidings_language::m;
use tokio::time::{Instant, timeout_at};

/// A JSON body, whatever its content type: browser extensions send
/// `text/plain`, which needs no preflight.
pub struct Json(pub Value);

impl FromRequest<App> for Json {
    type Rejection = RequestError;

    async fn from_request(request: Request, _: &App) -> Result<Self> {
        let body = read_body(request).await?;
        let json = serde_json::from_slice(&body);
        json.map(Self).map_err(|error| Malformed::NotJson(error.to_string()).into())
    }
}

/// The bytes that the body of a request may have behind its head.
fn body_limit(request: &Request) -> usize {
    let fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let address = request.uri().path_and_query().map_or(0, |address| address.as_str().len());
    let most = match Route::of(request.extensions()).body {
        BodySize::Long => BODY_BYTES,
        BodySize::Short => SHORT_BODY_BYTES,
    };
    REQUEST_BYTES.saturating_sub(2 * (fields + address)).min(most)
}

/// Reads a body of at most [`BODY_BYTES`] or [`SHORT_BODY_BYTES`], by the route, and of less behind a
/// long head. If `Content-Length` is larger, the body is not read at all. Chunks are copied together
/// as they arrive: each chunk alone would take far more memory than its bytes. The memory grows with
/// what has arrived, counts in that of all answers, and is given back if the body is too slow.
pub async fn read_body(request: Request) -> Result<Vec<u8>> {
    let limit = body_limit(&request);
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(RequestError::TooLarge);
    }
    let most = length.unwrap_or(limit);
    let mut counted = request.extensions().get::<BodyMemory>().map(BodyMemory::begin);
    let mut body = Vec::with_capacity(most.min(FIRST_BODY_BYTES));
    let mut chunks = request.into_body().into_data_stream();
    let began = Instant::now();
    loop {
        let patience = BODY_START + Duration::from_secs((body.len() / BODY_LEAST_BYTES) as u64);
        let next = timeout_at(began + patience, chunks.next()).await.map_err(|_| RequestError::TooSlow)?;
        let Some(chunk) = next else { return Ok(body) };
        let chunk = chunk.map_err(|_| Malformed::Unreadable)?;
        let needed = body.len() + chunk.len();
        if needed > limit {
            return Err(RequestError::TooLarge);
        }
        if body.capacity() < needed {
            let larger = needed.max(2 * body.capacity()).min(most.max(needed));
            if let Some(counted) = &mut counted {
                counted.grow(larger);
            }
            body.reserve_exact(larger - body.len());
        }
        body.extend_from_slice(&chunk);
    }
}

/// A required member of a JSON object.
pub fn member<'a>(json: &'a Value, name: &'static str) -> Result<&'a Value> {
    json.get(name).ok_or(RequestError::missing(name))
}

/// A required member that is a string.
pub fn text<'a>(json: &'a Value, name: &'static str) -> Result<&'a str> {
    member(json, name)?.as_str().ok_or(RequestError::field(name, m!("it must be a string")))
}

/// A required member that is the UUID of a voter.
pub fn voter(json: &Value, name: &'static str) -> Result<VoterId> {
    parse(text(json, name)?, name, m!("it must be a UUID"))
}

/// A whole number, also when it is written with decimals, as in `1.0`.
pub fn whole_number(value: &Value) -> Option<i64> {
    // The text of a float without a fraction has no decimals.
    value.as_i64().or_else(|| value.as_f64()?.to_string().parse().ok())
}

/// Parses the name of a site.
pub fn hostname(text: &str) -> Result<Hostname> {
    Hostname::parse(text).map_err(|error| Error::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_with_and_without_decimals() {
        for (json, number) in [
            ("1", Some(1)),
            ("-1", Some(-1)),
            ("1.0", Some(1)),
            ("-1.00", Some(-1)),
            ("0.0", Some(0)),
            ("-0.0", Some(0)),
            ("1e0", Some(1)),
            ("0.5", None),
            ("1.0000001", None),
            ("1e300", None),
            ("\"1\"", None),
            ("null", None),
            ("true", None),
        ] {
            assert_eq!(whole_number(&serde_json::from_str(json).unwrap()), number, "{json}");
        }
    }
}
