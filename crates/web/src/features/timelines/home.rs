//! The timelines: the tweets of the people a user follows, and everyone's.

use super::calls::TweetedResponse;
use super::form::TweetForm;
use super::people::who_to_follow;
use super::tweets::{rest_of_timeline, tweet_list};
use crate::error::{RequestError, Result};
use crate::features::action::{Action, ActionEntry};
use crate::limits::HOME_SUGGESTIONS;
use crate::markup::addresses::tweet_address;
use crate::markup::fields::draft_key;
use crate::markup::parts::{empty_page, no_more, tab};
use crate::markup::{Field, Frame, Page};
use crate::request::{Form, PageQuery};
use crate::route::{LONG, LoginReason, Wing};
use axum::response::Redirect;
use maud::{Markup, Render, html};
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::timelines::suggestions::{self, Suggestion};
use tidings_domain::timelines::tweets;
use tidings_domain::values::{MAX_TWEET, Window};
use tidings_language::{m, n, t};

/// The pages about following.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The tweets of the people the viewer follows.
    Home,
    /// All tweets.
    Everyone,
    /// People to follow.
    Suggestions,
}

/// The links between these pages, for viewers who are logged in.
pub fn tabs(frame: &Frame<'_>, here: Tab) -> Markup {
    let tabs = [
        (Tab::Home, "/home", t!("tab" => "Following")),
        (Tab::Everyone, "/everyone", t!("tab" => "Everyone")),
        (Tab::Suggestions, "/suggestions", t!("People to follow")),
    ];
    html! {
        @if frame.viewer.is_some() {
            nav.tabs aria-label=(t!("Timelines")) {
                ul {
                    @for (page, address, name) in tabs { (tab(address, name, page == here)) }
                }
            }
        }
    }
}

/// The home timeline of the viewer. The newest part has the form and reports new tweets.
/// With fewer posts, a reader may wonder where those of the people they follow are.
const FEW_POSTS: usize = 10;

fn home_page(frame: &Frame<'_>, page: &TweetPage, is_first: bool, suggestions: &[Suggestion]) -> Markup {
    // The address that reports tweets newer than the newest on the page.
    let events = match page.lines.first() {
        Some(newest) => format!("/home/events?since={}", newest.cursor),
        None => "/home/events".to_owned(),
    };
    let content = html! {
        h1.hidden { (t!("tab" => "Following")) }
        (tabs(frame, Tab::Home))
        div.with-beside {
            div {
                @if is_first {
                    (form(frame))
                    div.live aria-live="polite" data-live=(events) {}
                }
                @if page.lines.is_empty() && page.unlisted > 0 {
                    p.empty { (t!("You have muted all posts on this page.")) }
                } @else if page.lines.is_empty() {
                    (nothing(is_first))
                } @else {
                    (tweet_list(frame, &page.lines))
                    @if is_first && page.lines.len() < FEW_POSTS {
                        p.hint {
                            (t!("Here are the posts of people you follow, and the stories they submit after you follow them."))
                        }
                    }
                }
                (rest_of_timeline(frame, "/home", page))
            }
            (who_to_follow(frame, suggestions))
        }
    };
    frame.page(t!("tab" => "Following"), &content)
}

fn form(frame: &Frame<'_>) -> Markup {
    let limit = MAX_TWEET.to_string();
    let hint = n!(
        MAX_TWEET,
        "Up to {count} character. Use @name to mention someone.",
        "Up to {count} characters. Use @name to mention someone.",
    )
    .render();
    let text = Field::new("text", t!("Your post")).hint(hint);
    let draft = draft_key(frame, "tweet");
    let text = text.with("data-limit", &limit).with("data-draft", &draft).required();
    html! {
        form.form.compose method="post" action="/tweet" {
            (frame.signed_fields())
            (text.text_area())
            // The script adds how many characters are left.
            div.send { button.button { (t!("Add post")) } }
        }
    }
}

/// The text for an empty timeline.
fn nothing(is_first: bool) -> Markup {
    html! {
        @if is_first {
            div.empty {
                p { (t!("Your posts and those of the people you follow appear here.")) }
                @let people = html! { a href="/suggestions" { (t!("people to follow")) } };
                @let posts = html! { a href="/everyone" { (t!("everyone’s posts")) } };
                p { (t!("Find {people} or read {posts}.", people, posts)) }
            }
        } @else {
            (no_more(t!("No more posts."), "/home"))
        }
    }
}
/// GET /home: before, a cursor.
pub async fn home(Page { app, mut visit, here, .. }: Page, Form(query): Form<PageQuery>) -> Result<Markup> {
    if !visit.has_token() {
        return Err(RequestError::LoginRequired);
    }
    let window: Window = query.into();
    let page = reading::home(&mut visit, &window).await?.ok_or(RequestError::LoginRequired)?;
    let is_first = window.before.is_none();
    let suggestions =
        if is_first { suggestions::suggestions(&mut visit, HOME_SUGGESTIONS).await? } else { Vec::new() };
    let frame = Frame::of(&app, &mut visit, &here).await?;
    if frame.viewer.is_none() {
        return Err(RequestError::LoginRequired);
    }
    Ok(home_page(&frame, &page, is_first, &suggestions))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once("/tweet", m!("action" => "Write a post."), |app, by, form: &TweetForm| {
            Box::pin(tweets::post_tweet(&app.site, app.moment(), by, &form.text))
        })
        .answering(async |_, tweet| Ok(TweetedResponse::from(tweet)))
        .form_page("/home")
        // A tweet that waits is in no timeline yet.
        .page(LONG.of(Wing::Timelines).asking(LoginReason::Tweet), async |_, _, tweet| {
            let posted = if tweet.waits { tweet_address(tweet.id) } else { "/home".to_owned() };
            Ok::<_, RequestError>(Redirect::to(&posted))
        }),
    ]
}

/// GET /everyone: before, a cursor.
pub async fn everyone(
    Page { app, mut visit, here, .. }: Page,
    Form(query): Form<PageQuery>,
) -> Result<Markup> {
    let later = query.before.as_ref().map(|_| (t!("No more posts."), "/everyone"));
    let page = reading::everyone(&mut visit, &query.into()).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1.hidden[frame.viewer.is_some()] { (t!("Everyone’s posts")) }
        (tabs(&frame, Tab::Everyone))
        @if page.lines.is_empty() && page.unlisted == 0 {
            (empty_page(later, t!("No posts here yet."), ("/home", t!("Write the first one"))))
        }
        (tweet_list(&frame, &page.lines))
        (rest_of_timeline(&frame, "/everyone", &page))
    };
    Ok(frame.page(t!("Everyone’s posts"), &content))
}
