//! The calls that help to write a story: the title of the page, and an earlier story with the
//! same URL.

use crate::App;
use crate::error::Result;
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, valid};
use crate::request::{Form, SignedFields, Status, answer};
use axum::Json;
use tidings_domain::submissions::preparing;
use tidings_domain::values::urls::completed;
use tidings_domain::values::{NewsId, NewsUrl};

form! {
    /// A page whose title is wanted.
    pub struct FetchTitleForm {
        /// The address of the page.
        pub url: NewsUrl = valid(NewsUrl::parse), values::Url;
    }

    /// A URL that somebody is about to submit.
    pub struct DuplicateQuery {
        /// The URL, with or without `https://`.
        pub url: NewsUrl = valid(|url: &str| NewsUrl::parse(&completed(url))), values::Url;
    }
}

answer! {
    /// The title of a page.
    pub struct TitleResponse as FetchedTitle {
        status;
        /// The title, cut to the length that titles of stories may have.
        title: String, values::Title;
    }
}

/// POST /api/fetchtitle.
pub async fn fetch_title(app: App, form: SignedFields) -> Result<Json<TitleResponse>> {
    let page: FetchTitleForm = form.fields.read()?;
    let title = super::sending::fetch_title(&app, form.actor(), &page.url).await?;
    Ok(Json(TitleResponse { status: Status::Ok, title: title.to_string() }))
}

answer! {
    /// The story that a URL leads to when it is submitted.
    pub struct DuplicateResponse as Duplicate {
        status;
        /// The URL as a form stores it.
        url: String, values::Url;
        /// The story; missing if the URL would make a new one.
        news_id?: NewsId, u64;
        /// Its title.
        title?: String, values::StoredTitle;
        /// When it was submitted, in Unix seconds.
        ctime?: u64;
    }
}

/// GET /api/duplicate.
pub async fn duplicate(app: App, Form(query): Form<DuplicateQuery>) -> Result<Json<DuplicateResponse>> {
    let earlier = preparing::find_duplicate(&app.site, &query.url).await?;
    let ctime = earlier.as_ref().map(|news| news.ctime.0);
    let (news_id, title) = earlier.map(|news| (news.id, news.title)).unzip();
    Ok(Json(DuplicateResponse { status: Status::Ok, url: query.url.to_string(), news_id, title, ctime }))
}
