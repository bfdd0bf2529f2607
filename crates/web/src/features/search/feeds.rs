//! A search as a feed, newest first, and its description for browsers.

use super::page::{SearchQuery, Wanted};
use super::searching::{NoResults, find};
use crate::App;
use crate::error::RequestError;
use crate::features::feeds::{ATOM, AtomFeed, headers};
use crate::markup::addresses::news_address;
use crate::markup::parts::moment;
use crate::request::form::Form;
use crate::request::viewer::ClientAddress;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use maud::{Escaper, html};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::found::Finding;
use tidings_domain::news::lines::NewsLine;
use tidings_search::asking::Sort;

/// The stories of a search, newest first, as visitors see them.
async fn stories(app: &App, query: &SearchQuery, from: IpAddr) -> Result<Vec<NewsLine>, RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let query = SearchQuery { wanted: Wanted::Stories, sort: Sort::New, ..query.clone() };
    let results = match find(app, &mut visit, &query.asked(from)).await {
        Ok(results) => results,
        Err(NoResults::TooLong(_)) => return Err(RequestError::Field { name: "q", expected: TOO_LONG }),
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let lines = results.found.into_iter().filter_map(|(_, finding)| match finding {
        Finding::Story(line) => Some(*line),
        _ => None,
    });
    Ok(lines.collect())
}

const TOO_LONG: &str = "it must have at most 200 characters and 16 terms";

/// GET /search.atom.
pub async fn atom(
    State(app): State<App>,
    ClientAddress(from): ClientAddress,
    Form(query): Form<SearchQuery>,
) -> Result<impl IntoResponse, RequestError> {
    let lines = stories(&app, &query, from).await?;
    let brand = app.brand().await;
    let feed = AtomFeed {
        title: &format!("{}: {}", brand.site.name, query.typed),
        page: &query.address("/search"),
        own: &query.address("/search.atom"),
        subtitle: "",
    };
    Ok((headers(ATOM), feed.document(&brand.site, &lines)))
}

/// GET /search.json: the same as a JSON Feed (version 1.1).
pub async fn json(
    State(app): State<App>,
    ClientAddress(from): ClientAddress,
    Form(query): Form<SearchQuery>,
) -> Result<impl IntoResponse, RequestError> {
    let lines = stories(&app, &query, from).await?;
    let brand = app.brand().await;
    let item = |line: &NewsLine| -> Value {
        let thread = brand.site.link(&news_address(line.news.id));
        json!({
            "id": thread,
            "url": thread,
            "external_url": line.news.link_address(),
            "title": line.news.title,
            "content_text": line.news.text().unwrap_or_default(),
            "date_published": moment(line.news.ctime).to_string(),
        })
    };
    let feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": format!("{}: {}", brand.site.name, query.typed),
        "home_page_url": brand.site.link(&query.address("/search")),
        "feed_url": brand.site.link(&query.address("/search.json")),
        "items": lines.iter().map(item).collect::<Vec<_>>(),
    });
    Ok(([(header::CONTENT_TYPE, "application/feed+json")], Json(feed).into_response().into_body()))
}

/// GET /opensearch.xml.
pub async fn description(State(app): State<App>) -> impl IntoResponse {
    let brand = app.brand().await;
    let site = &brand.site;
    let mut name = String::new();
    write!(Escaper::new(&mut name), "{}", site.name).ok();
    let page = html! { (site.link("/search")) }.into_string();
    let suggestions = html! { (site.link("/api/search/suggest")) }.into_string();
    let document = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{name}</ShortName>
<Description>Search {name}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{page}?q={{searchTerms}}"/>
<Url type="application/x-suggestions+json" template="{suggestions}?q={{searchTerms}}"/>
</OpenSearchDescription>
"#
    );
    (headers("application/opensearchdescription+xml"), document)
}
