//! The description of the search for browsers.

use super::suggesting::SUGGESTED;
use crate::App;
use crate::features::feeds::headers;
use axum::response::IntoResponse;
use maud::html;
use tidings_language::t;

/// GET /opensearch.xml.
pub async fn description(app: App) -> impl IntoResponse {
    let brand = app.brand().await;
    let site = &brand.site;
    let name = html! { (site.name) }.into_string();
    let about = html! { (t!("Search {site}", site = &site.name)) }.into_string();
    let page = html! { (site.link("/search")) }.into_string();
    let suggestions = html! { (site.link("/api/search/suggest")) }.into_string();
    let document = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{name}</ShortName>
<Description>{about}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{page}?q={{searchTerms}}"/>
<Url type="{SUGGESTED}" template="{suggestions}?q={{searchTerms}}"/>
</OpenSearchDescription>
"#
    );
    (headers("application/opensearchdescription+xml"), document)
}
