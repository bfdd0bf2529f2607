//! The pages that say why a request failed.

use super::frame::Frame;
use super::layout::bare_page;
use crate::App;
use crate::server::request_id;
use axum::http::StatusCode;
use maud::{Markup, html};

/// The failure: its status, and whether a form that reached its handler was sent.
#[derive(Debug, Clone, Copy)]
pub struct Failing {
    /// The status.
    pub status: StatusCode,
    /// Whether a form was sent, whose target is there.
    pub was_sent: bool,
}

/// The page for a request that failed, with the navigation of its viewer.
pub fn error_page(frame: &Frame<'_>, failing: Failing, message: &str) -> Markup {
    let heading = error_heading(failing);
    frame.page(heading, &error_content(heading, failing.status, message))
}

/// The page for a request that failed. It needs nothing from the store, which may
/// be unavailable.
pub fn bare_error_page(app: &App, failing: Failing, message: &str) -> Markup {
    let heading = error_heading(failing);
    let content = error_content(heading, failing.status, message);
    bare_page(&app.known_brand(), &app.site.rules.features, heading, &content)
}

fn error_heading(Failing { status, was_sent }: Failing) -> &'static str {
    match status {
        // A form was sent that cannot do anything any more, such as a vote on a story that is gone.
        StatusCode::NOT_FOUND if was_sent => "That didn't work",
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
        let failing = Failing { status: StatusCode::NOT_FOUND, was_sent: false };
        let page = test_support::framed(None, |frame| error_page(frame, failing, "<script>"));
        let page = page.into_string();
        assert!(page.contains("&lt;script&gt;") && page.contains(r#"role="alert""#), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
}
