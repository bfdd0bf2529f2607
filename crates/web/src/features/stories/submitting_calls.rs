//! The calls that help to write a story: the title of the page, and an earlier story with the
//! same URL.

use crate::App;
use crate::error::RequestError;
use crate::request::answers::Status;
use crate::request::description::FORM;
use crate::request::form::{Form, form, valid};
use crate::request::values;
use crate::request::viewer::SignedFields;
use axum::Json;
use serde::Serialize;
use tidings_domain::submissions::preparing;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::urls::{NewsUrl, completed};
use utoipa::ToSchema;

form! {
    /// A page whose title is wanted.
    pub struct FetchTitleForm {
        /// The address of the page.
        pub url: NewsUrl = valid(NewsUrl::parse), values::Url;
    }
}

form! {
    /// A URL that somebody is about to submit.
    pub query DuplicateQuery {
        /// The URL, with or without `https://`.
        pub url: NewsUrl = valid(|url: &str| NewsUrl::parse(&completed(url))), values::Url;
    }
}

/// The title of a page.
#[derive(Serialize, ToSchema)]
#[schema(as = FetchedTitle)]
pub struct TitleResponse {
    status: Status,
    /// The title, cut to the length that titles of stories may have.
    #[schema(value_type = values::Title)]
    title: String,
}

/// Fetch the title of a page.
#[utoipa::path(
    post,
    path = "/api/fetchtitle",
    request_body(content = inline(FetchTitleForm), content_type = FORM),
    responses((status = 200, body = TitleResponse)),
    security(("session" = [])),
)]
pub async fn fetch_title(app: App, form: SignedFields) -> Result<Json<TitleResponse>, RequestError> {
    let page: FetchTitleForm = form.fields.read()?;
    let title = super::sending::fetch_title(&app, form.actor(), &page.url).await?;
    Ok(Json(TitleResponse { status: Status::Ok, title: title.to_string() }))
}

/// The story that a URL leads to when it is submitted.
#[derive(Serialize, ToSchema)]
#[schema(as = Duplicate)]
pub struct DuplicateResponse {
    status: Status,
    /// The URL as a form stores it.
    #[schema(value_type = values::Url)]
    url: String,
    /// The story; missing if the URL would make a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    news_id: Option<NewsId>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::StoredTitle, required = false)]
    title: Option<String>,
}

/// Find the story that a URL leads to when it is submitted.
#[utoipa::path(
    get,
    path = "/api/duplicate",
    params(DuplicateQuery),
    responses((status = 200, body = DuplicateResponse)),
)]
pub async fn duplicate(
    app: App,
    Form(query): Form<DuplicateQuery>,
) -> Result<Json<DuplicateResponse>, RequestError> {
    let earlier = preparing::find_duplicate(&app.site, &query.url).await?;
    let (news_id, title) = earlier.map(|news| (news.id, news.title)).unzip();
    Ok(Json(DuplicateResponse { status: Status::Ok, url: query.url.to_string(), news_id, title }))
}
