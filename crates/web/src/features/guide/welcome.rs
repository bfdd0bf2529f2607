//! The page for somebody who has just signed up; for administrators, with the steps that are left
//! on a new site.

use super::about::{as_sentence, site_text};
use crate::App;
use crate::error::Result;
use crate::features::accounts::confirm_email::reminder;
use crate::features::accounts::first_administrator;
use crate::features::accounts::form::welcome_token;
use crate::features::accounts::register::ways_in;
use crate::features::accounts::settings::email_request;
use crate::markup::{Frame, Page};
use crate::request::{Fields, LocalPath, Next};
use axum::http::{HeaderMap, header};
use maud::{Markup, Render, html};
use tidings_domain::Visit;
use tidings_domain::administration::{self, FirstSteps};
use tidings_domain::values::SiteMarks;
use tidings_language::t;

/// The name of a site that nobody has named.
const UNNAMED: &str = "Tidings";

/// The steps that are left on a new site, which was asked for by this host.
fn checklist(frame: &Frame<'_>, steps: FirstSteps, host: &str) -> Markup {
    let name = &frame.site().name;
    let address = frame.settings.site.link("/");
    let is_address_right = is_of_host(&address, host);
    html! {
        section.checklist aria-labelledby="set-up" {
            h2 #set-up { (t!("You are the administrator")) }
            p { (t!("You run this site. Here are the first steps.")) }
            ol role="list" {
                (step(name != UNNAMED, t!("Name"), &t!(
                    "The site is called {name}. {change}.",
                    name = html! { strong { (name) } },
                    change = html! { a href="/admin/site" { (t!("Change its name, colour, logo and texts")) } }
                )))
                (step(is_address_right, t!("Address"), &html! {
                    (t!("Links in mail and feeds begin with {address}.", address = html! { code { (address) } })) " "
                    @if is_address_right { (t!("That's the address you are using.")) } @else {
                        (t!(
                            "You are using {host}. If people use that address, set {setting} in the configuration, \
                             or {variable} in the environment, and restart the server.",
                            host = html! { code { (host) } },
                            setting = html! { code { "site.url" } },
                            variable = html! { code { "TIDINGS_SITE__URL" } }
                        ))
                    }
                }))
                (step(true, t!("Signing up"), &html! {
                    (ways_in(frame)) " " a href="/admin/site" { (t!("More about it")) }
                }))
                (step(steps.has_topics, t!("First topics"), &t!(
                    "Topics appear when someone uses them: type some when you {submit}. As an administrator, you \
                     don't need karma to create them. {see}.",
                    submit = html! { a href="/submit" { (t!("submit a story")) } },
                    see = html! { a href="/topics" { (t!("See the topics")) } }
                )))
                (step(steps.has_stories, t!("First story"), &t!(
                    "{submit}, so that visitors find something to read.",
                    submit = html! { a href="/submit" { (t!("Submit the first story")) } }
                )))
                (step(steps.has_members, t!("First members"), &t!(
                    "Send people the address of the site. They sign up at {page}.",
                    page = html! { a href="/register" { (t!("the sign-up page")) } }
                )))
            }
        }
    }
}

/// One step of the checklist.
fn step(is_done: bool, title: &str, text: &impl Render) -> Markup {
    html! {
        li.done[is_done] {
            h3 { span.hidden { (if is_done { t!("Done:") } else { t!("To do:") }) " " } (title) }
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
        h2 { (t!("On this site")) }
        ul {
            li {
                (t!(
                    "{stories} are links and texts that members submit. Votes raise a story; time lowers it.",
                    stories = html! { a href="/" { (t!("Stories")) } }
                ))
            }
            @if features.timelines {
                li {
                    (t!(
                        "{posts} are short messages to your followers.",
                        posts = html! { a href="/everyone" { (t!("Posts")) } }
                    ))
                }
            }
            li {
                (t!(
                    "{topics} say what a story is about. You can follow or mute them.",
                    topics = html! { a href="/topics" { (t!("Topics")) } }
                ))
            }
            @if features.sites {
                li {
                    (t!(
                        "{sites} have a reputation that people vote on.",
                        sites = html! { a href="/sites" { (t!("Sites")) } }
                    ))
                    " "
                    (match frame.rules.sites.marks {
                        SiteMarks::Distrusted => t!("“Distrusted site” beside a title warns of one that many distrust."),
                        SiteMarks::All => t!("It stands beside the titles of stories."),
                        SiteMarks::None => t!("Each has a page with it."),
                    })
                }
            }
        }
    }
}

fn karma() -> Markup {
    html! {
        h2 { (t!("How karma works")) }
        p {
            (t!(
                "The number beside your name is your karma. It grows when others vote up what you write and \
                 when you visit."
            ))
        }
    }
}

fn now(frame: &Frame<'_>) -> Markup {
    html! {
        h2 { (t!("Next steps")) }
        ul {
            @if frame.viewer.is_none() {
                li { (t!("{sign_up} first", sign_up = html! { a href="/register" { (t!("Sign up")) } })) }
            }
            li {
                (t!(
                    "{read} and vote for a good one",
                    read = html! { a href="/latest/0" { (t!("Read the new stories")) } }
                ))
            }
            li {
                (t!(
                    "{submit}: a link you found, or a text",
                    submit = html! { a href="/submit" { (t!("Submit a story")) } }
                ))
            }
            @if frame.rules.features.timelines {
                li {
                    (t!(
                        "{find} and {write}",
                        find = html! { a href="/suggestions" { (t!("Find people to follow")) } },
                        write = html! { a href="/home" { (t!("write a first post")) } }
                    ))
                }
            }
            li { a href="/topics" { (t!("Look at the topics")) } }
            li {
                (t!(
                    "{say} and choose your settings",
                    say = html! { a href="/settings" { (t!("Say something about yourself")) } }
                ))
            }
        }
    }
}

/// GET /welcome: next, token. With the token of the link in the server's log, the page leads to
/// the role of the administrator.
pub async fn welcome(
    Page { app, visit, here, .. }: Page,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Markup> {
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
            h1 { (t!("Welcome to {site}", site = &site.name)) }
            (reminder(frame))
            @if has_mail { (email_request(frame)) }
            @if next.as_str() != "/" { p { a.action href=(next) { (t!("Back to what you were reading")) } } }
            @if !site.description.is_empty() { p { (as_sentence(&site.description)) } }
            @if frame.viewer.is_some_and(|viewer| viewer.is_administrator()) { (checklist(frame, steps, host)) }
            @if !frame.brand.about.is_empty() { (site_text(&frame.brand.about, frame)) }
            @if !frame.brand.rules.is_empty() {
                p { (t!("Please read the {rules}.", rules = html! { a href="/about#rules" { (t!("rules")) } })) }
            }
            (things(frame))
            (karma())
            (now(frame))
        }
    };
    frame.page(t!("Welcome"), &content)
}

async fn greet(
    app: &App,
    mut visit: Visit,
    (here, next): (&LocalPath, &LocalPath),
    headers: &HeaderMap,
) -> Result<Markup> {
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

    fn page(steps: FirstSteps, host: &str) -> String {
        let alice = user("1", "alice", "a");
        let next = LocalPath::parse("/news/1");
        framed(Some(&alice), |frame| super::shown(frame, &next, steps, (host, false))).into_string()
    }

    #[test]
    fn an_administrator_sees_what_is_done() {
        let done = |html: &str| html.matches("<li class=\"done\"").count();
        let html = page(FirstSteps::default(), "news.example.com");
        assert!(html.contains("You are the administrator") && html.contains("TIDINGS_SITE__URL"), "{html}");
        assert_eq!(done(&html), 1);
        let steps = FirstSteps { has_stories: true, has_topics: true, has_members: true };
        let html = page(steps, "LOCALHOST:8080");
        // All but the name.
        assert_eq!(done(&html), 5);
        assert!(html.contains("That's the address you are using."), "{html}");
    }
}
