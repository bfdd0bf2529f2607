//! The pages that say why a request failed.

use super::frame::Frame;
use super::layout::bare_page;
use crate::App;
use crate::server::request_id;
use axum::http::StatusCode;
use maud::{Markup, html};

/// The page for a request that failed, with the navigation of its viewer.
#[must_use]
pub fn error_page(frame: &Frame<'_>, status: StatusCode, message: &str) -> Markup {
    let heading = error_heading(status);
    frame.page(heading, &error_content(heading, status, message))
}

/// The page for a request that failed. It needs nothing from the store, which may
/// be unavailable.
#[must_use]
pub fn bare_error_page(app: &App, status: StatusCode, message: &str) -> Markup {
    let heading = error_heading(status);
    let content = error_content(heading, status, message);
    bare_page(&app.known_brand(), &app.site.rules.features, heading, &content)
}

fn error_heading(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Page not found",
        StatusCode::FORBIDDEN | StatusCode::CONFLICT => "You can't do that",
        StatusCode::TOO_MANY_REQUESTS => "Please wait",
        StatusCode::SERVICE_UNAVAILABLE => "Back in a moment",
        _ if status.is_client_error() => "That didn't work",
        _ => "Something went wrong",
    }
}

fn error_content(heading: &str, status: StatusCode, message: &str) -> Markup {
    html! {
        h1 { (heading) }
        p.trouble role="alert" { (message) }
        p { a.action href="/" { "Go to the front page" } }
        p.hint {
            "Error " (status.as_u16())
            // With this id, an administrator finds the lines in the log.
            @if let Some(id) = request_id::current() { " · Request " code { (id) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support;

    #[test]
    fn the_error_page_escapes_its_message() {
        let page = test_support::framed(None, |frame| error_page(frame, StatusCode::NOT_FOUND, "<script>"));
        let page = page.into_string();
        assert!(page.contains("&lt;script&gt;") && page.contains(r#"role="alert""#), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
}
