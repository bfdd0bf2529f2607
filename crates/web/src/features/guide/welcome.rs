//! The page for somebody who has just signed up; for administrators, with the steps that are left
//! on a new site.

use super::about::{as_sentence, site_text};
use crate::App;
use crate::error::RequestError;
use crate::features::accounts::confirm_email::reminder;
use crate::features::accounts::first_administrator;
use crate::features::accounts::form::welcome_token;
use crate::features::accounts::register::ways_in;
use crate::features::accounts::settings::email_request;
use crate::markup::frame::Frame;
use crate::markup::page::Page;
use crate::request::form::{Fields, Next};
use crate::request::local_path::LocalPath;
use axum::http::{HeaderMap, header};
use maud::{Markup, html};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::administration::{self, FirstSteps};
use tidings_domain::values::SiteMarks;

/// The name of a site that nobody has named.
const UNNAMED: &str = "Tidings";

/// The steps that are left on a new site, which was asked for by this host.
fn checklist(frame: &Frame<'_>, steps: FirstSteps, host: &str) -> Markup {
    let name = &frame.site().name;
    let address = frame.settings.site.link("/");
    let is_address_right = is_of_host(&address, host);
    html! {
        section.checklist aria-labelledby="set-up" {
            h2 #set-up { "You are the administrator" }
            p { "You run this site. Here are the first steps." }
            ol role="list" {
                (step(name != UNNAMED, "Name", &html! {
                    "The site is called " strong { (name) } ". " a href="/admin/site" { "Change its name, colour, logo and texts" } "."
                }))
                (step(is_address_right, "Address", &html! {
                    "Links in mail and feeds begin with " code { (address) } ". "
                    @if is_address_right { "That's the address you are using." } @else {
                        "You are using " code { (host) } ". If people use that address, set "
                        code { "site.url" } " in the configuration, or " code { "TIDINGS_SITE__URL" }
                        " in the environment, and restart the server."
                    }
                }))
                (step(true, "Signing up", &html! {
                    (ways_in(frame)) " " a href="/admin/site" { "More about it" } "."
                }))
                (step(steps.has_topics, "First topics", &html! {
                    "Topics appear when someone uses them: type some when you "
                    a href="/submit" { "submit a story" }
                    ". As an administrator, you don't need karma to create them. "
                    a href="/topics" { "See the topics" } "."
                }))
                (step(steps.has_stories, "First story", &html! {
                    a href="/submit" { "Submit the first story" } ", so that visitors find something to read."
                }))
                (step(steps.has_members, "First members", &html! {
                    "Send people the address of the site. They sign up at " a href="/register" { "the sign-up page" } "."
                }))
            }
        }
    }
}

/// One step of the checklist.
fn step(is_done: bool, title: &str, text: &Markup) -> Markup {
    html! {
        li.done[is_done] {
            h3 { span.hidden { @if is_done { "Done: " } @else { "To do: " } } (title) }
            p { (text) }
        }
    }
}

/// Whether an address is of the host that a browser has asked for.
fn is_of_host(address: &str, host: &str) -> bool {
    let authority = address.split("://").nth(1).and_then(|rest| rest.split('/').next());
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The things that the site consists of, each in a sentence.
fn things(frame: &Frame<'_>) -> Markup {
    let features = &frame.rules.features;
    html! {
        h2 { "On this site" }
        ul {
            li { a href="/" { "Stories" } " are links and texts that members submit. Votes raise a story; time lowers it." }
            @if features.timelines { li { a href="/everyone" { "Posts" } " are short messages to your followers." } }
            li { a href="/topics" { "Topics" } " say what a story is about. You can follow or mute them." }
            @if features.sites {
                li {
                    a href="/sites" { "Sites" } " have a reputation that people vote on. "
                    @match frame.rules.sites.marks {
                        SiteMarks::Distrusted => "“Distrusted site” beside a title warns of one that many distrust.",
                        SiteMarks::All => "It stands beside the titles of stories.",
                        SiteMarks::None => "Each has a page with it.",
                    }
                }
            }
        }
    }
}

fn karma() -> Markup {
    html! {
        h2 { "How karma works" }
        p {
            "The number beside your name is your karma. It grows when others vote up what you write and \
             when you visit."
        }
    }
}

fn now(frame: &Frame<'_>) -> Markup {
    html! {
        h2 { "Next steps" }
        ul {
            @if frame.viewer.is_none() { li { a href="/register" { "Sign up" } " first" } }
            li { a href="/latest/0" { "Read the new stories" } " and vote for a good one" }
            li { a href="/submit" { "Submit a story" } ": a link you found, or a text" }
            @if frame.rules.features.timelines {
                li { a href="/suggestions" { "Find people to follow" } " and " a href="/home" { "write a first post" } }
            }
            li { a href="/topics" { "Look at the topics" } }
            li { a href="/settings" { "Say something about yourself" } " and choose your settings" }
        }
    }
}

/// GET /welcome: next, token. With the token of the link in the server's log, the page leads to
/// the role of the administrator.
pub async fn welcome(
    Page { app, visit, here, .. }: Page,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Markup, RequestError> {
    let Next { next } = fields.read()?;
    match welcome_token(&fields)? {
        Some(token) => first_administrator::show(&app, visit, &here, &token).await,
        None => greet(&app, visit, (&here, &next), &headers).await,
    }
}

/// The page for somebody who came from `next`; for administrators with the steps that are left on a new site, which was asked
/// for by this host. `has_mail` says whether the site sends mail.
fn shown(frame: &Frame<'_>, next: &LocalPath, steps: FirstSteps, (host, has_mail): (&str, bool)) -> Markup {
    let site = frame.site();
    let content = html! {
        div.prose {
            h1 { "Welcome to " (site.name) }
            (reminder(frame))
            @if has_mail { (email_request(frame)) }
            @if next.as_str() != "/" { p { a.action href=(next) { "Back to what you were reading" } } }
            @if !site.description.is_empty() { p { (as_sentence(&site.description)) } }
            @if frame.viewer.is_some_and(|viewer| viewer.is_administrator()) { (checklist(frame, steps, host)) }
            @if !frame.brand.about.is_empty() { (site_text(&frame.brand.about, frame)) }
            @if !frame.brand.rules.is_empty() {
                p { "Please read the " a href="/about#rules" { "rules" } "." }
            }
            (things(frame))
            (karma())
            (now(frame))
        }
    };
    frame.page("Welcome", &content)
}

async fn greet(
    app: &App,
    mut visit: Visit,
    (here, next): (&LocalPath, &LocalPath),
    headers: &HeaderMap,
) -> Result<Markup, RequestError> {
    let is_admin = visit.recognise().await?.is_some_and(|viewer| viewer.is_administrator());
    let steps = if is_admin { administration::first_steps(&mut visit).await? } else { FirstSteps::default() };
    let frame = Frame::of(app, &mut visit, here).await?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    Ok(shown(&frame, next, steps, (host, app.mailer.is_some())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};

    fn page(flags: &str, steps: FirstSteps, host: &str) -> String {
        let alice = user("1", "alice", flags);
        let next = LocalPath::parse("/news/1");
        framed(Some(&alice), |frame| super::shown(frame, &next, steps, (host, false))).into_string()
    }

    #[test]
    fn a_newcomer_is_told_what_karma_is_and_led_back() {
        let html = page("", FirstSteps::default(), "localhost:8080");
        for part in [
            "Welcome to Tidings",
            "It grows when others vote up what you write",
            r#"href="/news/1""#,
            "Back to what you were reading",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("administrator") && !html.contains("/admin/site"), "{html}");
    }

    #[test]
    fn an_administrator_sees_what_is_done() {
        let done = |html: &str| html.matches("<li class=\"done\"").count();
        let html = page("a", FirstSteps::default(), "news.example.com");
        assert!(html.contains("You are the administrator") && html.contains("TIDINGS_SITE__URL"), "{html}");
        assert_eq!(done(&html), 1);
        let steps = FirstSteps { has_stories: true, has_topics: true, has_members: true };
        let html = page("a", steps, "LOCALHOST:8080");
        // All but the name.
        assert_eq!(done(&html), 5);
        assert!(html.contains("That's the address you are using."), "{html}");
    }
}
