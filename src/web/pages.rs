//! The pages, one file per family. A page is a struct of plain values and the
//! function that renders it.

pub mod password_reset;

use crate::config;
use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The address of the login page, which leads back to `back` afterwards.
#[must_use]
pub fn login_address(back: &str) -> String {
    format!("/login?next={}", utf8_percent_encode(back, NON_ALPHANUMERIC))
}

/// The page for a request that was not answered as asked. Needs nothing of
/// the store: it may be away.
#[must_use]
pub fn error_page(site: &config::Site, status: StatusCode, message: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { title { (status) " - " (site.name) } }
            body { h1 { (status) } p { (message) } }
        }
    }
}
