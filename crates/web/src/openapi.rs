//! The description of the whole HTTP API in OpenAPI 3.1, for programs. Tests make it from the code and keep it in the tree, so
//! that the program needs nothing that makes it. Another test compares the calls with the table of routes, and the client of the
//! tests compares all responses with the document.

#[cfg(test)]
pub mod described;

use crate::request::JSON;
use crate::route::Wings;
use crate::server::headers::cacheable;
use crate::{App, router};
use axum::http::Method;
use axum::response::IntoResponse;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::sync::OnceLock;

/// The document as it is in the tree, compressed.
const COMPRESSED: &[u8] = include_bytes!("../assets/openapi.json.gz");

/// Get this document.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/openapi.json",
    responses((status = 200, description = "The document", content_type = "application/json")),
))]
pub async fn document(app: App) -> impl IntoResponse {
    // The set of features that are on cannot change while the program runs, but tests start several sites.
    static TEXTS: [OnceLock<String>; Wings::COMBINATIONS] = [const { OnceLock::new() }; Wings::COMBINATIONS];
    let wings = Wings::of(&app);
    let text = TEXTS.get(wings.number());
    let text = text.map(|text| text.get_or_init(|| description_with(wings).to_string()));
    (cacheable(JSON, "public, max-age=3600"), text.map_or("", String::as_str))
}

/// The description without the calls of what is switched off.
fn description_with(wings: Wings) -> Value {
    let mut description = description();
    if let Some(paths) = description.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| wings.have(router::routes().find(&Method::GET, path).wing));
    }
    description
}

/// The whole description.
pub fn description() -> Value {
    // Tests would notice an empty one.
    serde_json::from_reader(GzDecoder::new(COMPRESSED)).unwrap_or_default()
}
