//! The pages that say why a request failed.

use super::frame::Frame;
use super::layout::bare_page;
use super::parts::about_trust;
use crate::App;
use crate::server::request_id;
use axum::http::StatusCode;
use maud::{Markup, html};
use std::borrow::Cow;
use tidings_language::{Message, t};

/// The failure, as its page needs to know it.
#[derive(Debug, Clone, Copy)]
pub struct Failing<'a> {
    /// The status.
    pub status: StatusCode,
    /// The form that was sent, if its target is there: what it does, as far as that is declared, such as "Follow a
    /// person."
    pub sent: Option<Option<&'static Message>>,
    /// The page without its query, if its query is damaged.
    pub damaged: Option<&'a str>,
    /// Whether the page about trust explains it.
    pub is_about_trust: bool,
}

/// The page for a request that failed, with the navigation of its viewer.
pub fn error_page(frame: &Frame<'_>, failing: Failing<'_>, message: &str) -> Markup {
    let heading = error_heading(failing);
    frame.page(&heading, &error_content(&heading, failing, message))
}

/// The page for a request that failed. It needs nothing from the store, which may
/// be unavailable.
pub fn bare_error_page(app: &App, failing: Failing<'_>, message: &str) -> Markup {
    let heading = error_heading(failing);
    let content = error_content(&heading, failing, message);
    bare_page(&app.known_brand(), &heading, &content)
}

fn error_heading(Failing { status, sent, damaged, .. }: Failing<'_>) -> Cow<'static, str> {
    match (status, sent) {
        (StatusCode::NOT_FOUND, None) => t!("Page not found").into(),
        (StatusCode::TOO_MANY_REQUESTS, _) => t!("Please wait").into(),
        (StatusCode::SERVICE_UNAVAILABLE, _) => t!("Back in a moment").into(),
        (_, Some(Some(summary))) if status.is_client_error() => {
            t!("Couldn't {action}", action = wish(summary)).into()
        }
        (StatusCode::FORBIDDEN | StatusCode::CONFLICT, _) => t!("You can't do that").into(),
        (_, Some(_)) if status.is_client_error() => t!("This form was refused").into(),
        _ if damaged.is_some() => t!("This link is damaged").into(),
        _ if status.is_client_error() => t!("This request was refused").into(),
        _ => t!("Something went wrong").into(),
    }
}

/// The summary of an action within a sentence: without the people who can do it, and without more about it.
fn wish(summary: &'static Message) -> String {
    let text = summary.text();
    let end = text.find([':', '(', '.', ',', '。', '（']).unwrap_or(text.len());
    let words = text.get(..end).unwrap_or(text).trim_end();
    // In some languages a noun begins with a capital letter.
    if text != summary.english {
        return words.to_owned();
    }
    let first = words.chars().next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(words.chars().skip(1)).collect()
}

fn error_content(heading: &str, failing: Failing<'_>, message: &str) -> Markup {
    html! {
        h1 { (heading) }
        @if let Some(page) = failing.damaged {
            p.trouble role="alert" { (t!("{step}.", step = html! { a href=(page) { (t!("Go to the first page")) } })) }
        } @else {
            p.trouble role="alert" { (message) @if failing.is_about_trust { " " (about_trust()) } }
        }
        p { a.action href="/" { (t!("Go to the front page")) } }
        p.hint {
            (t!("Error {number}", number = failing.status.as_u16()))
            // With this id, an administrator finds the lines in the log.
            @if let Some(id) = request_id::current() {
                " · " (t!("noun" => "Request {id}", id = html! { code { (id) } }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_language::m;

    #[test]
    fn the_heading_names_what_failed() {
        let heading = |status, sent, damaged| {
            error_heading(Failing { status, sent, damaged, is_about_trust: false }).into_owned()
        };
        let follow = Some(Some(m!("Follow a person.")));
        assert_eq!(heading(StatusCode::NOT_FOUND, follow, None), "Couldn't follow a person");
        let lift = Some(Some(m!("Lift a ban (administrators only).")));
        assert_eq!(heading(StatusCode::FORBIDDEN, lift, None), "Couldn't lift a ban");
        assert_eq!(heading(StatusCode::BAD_REQUEST, Some(None), None), "This form was refused");
        assert_eq!(heading(StatusCode::BAD_REQUEST, None, Some("/latest")), "This link is damaged");
        assert_eq!(heading(StatusCode::INTERNAL_SERVER_ERROR, follow, None), "Something went wrong");
    }
}
