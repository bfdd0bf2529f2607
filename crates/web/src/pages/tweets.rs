//! Tweets: how one is shown, its own page, deleting it.

use super::layout::Frame;
use super::parts::{OUTSIDE, age_as, ago, news_address, title_link};
use super::profile_address;
use super::template::{HOLE, Template, filled, written};
use crate::App;
use crate::error::Failure;
use crate::local_path::LocalPath;
use crate::path::PathOf;
use crate::viewer::{SignedForm, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::item::News;
use tidings_domain::sites::Score;
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading;
use tidings_domain::timelines::tweets;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::cursor::Cursor;
use tidings_domain::values::ids::TweetId;
use tidings_domain::values::mentions::{Piece, pieces};

/// The address of a tweet.
#[must_use]
pub fn tweet_address(id: TweetId) -> String {
    format!("/tweet/{id}")
}

/// The second in which a tweet was posted.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn posted_at(line: &TweetLine) -> Timestamp {
    // What is out of range saturates.
    Timestamp(line.tweet.created_at as u64)
}

/// A person's name as a link to the profile: the full name, if there is one,
/// and the username.
#[must_use]
pub fn person_link(username: &str, fullname: &str) -> Markup {
    let shown = if fullname.is_empty() { username } else { fullname };
    html! {
        a.author href=(profile_address(username, "")) {
            bdi.fullname { (shown) } " " span.handle { "@" (username) }
        }
    }
}

/// Tweets one below the other.
pub fn tweet_list(frame: &Frame<'_>, lines: &[TweetLine]) -> impl Render {
    static LIST: LazyLock<Template<1>> =
        LazyLock::new(|| Template::new(html! { ol.tweets role="list" { (HOLE) } }));
    static ITEM: LazyLock<Template<2>> =
        LazyLock::new(|| Template::new(html! { li.tweet #{ "tweet-" (HOLE) } data-item { (HOLE) } }));
    written(move |html| {
        let items = written(|html| {
            for line in lines {
                ITEM.filled([&line.tweet.id.0, &tweet(frame, line)]).render_to(html);
            }
        });
        LIST.filled([&items]).render_to(html);
    })
}

/// The link to the rest of a list by time.
#[must_use]
pub fn older(base: &str, next: Option<Cursor>) -> Markup {
    html! {
        @if let Some(next) = next {
            nav.more aria-label="Pages" { a href={ (base) "?before=" (next) } rel="next" { "more" } }
        }
    }
}

fn tweet(frame: &Frame<'_>, line: &TweetLine) -> impl Render {
    let tweet = &line.tweet;
    let may_delete = frame.viewer.is_some_and(|viewer| tweet.may_delete(viewer).is_ok());
    written(move |html| {
        let age = ago(frame.now.seconds_since(posted_at(line)));
        let delete = written(|html| {
            if may_delete {
                html! { " " a href={ "/deltweet/" (tweet.id) } { "delete" } }.render_to(html);
            }
        });
        let itself = |[age, delete]: [&dyn Render; 2]| tweet_itself(frame, line, age, delete);
        filled(frame, &line.shown, [&age, &delete], itself).render_to(html);
    })
}

/// What everybody sees of a tweet alike, with its age and what the viewer may do
/// with it.
fn tweet_itself(frame: &Frame<'_>, line: &TweetLine, age: &dyn Render, delete: &dyn Render) -> Markup {
    let TweetLine { tweet, username, fullname, news, .. } = line;
    html! {
        div.meta {
            (person_link(username, fullname)) " "
            a href=(tweet_address(tweet.id)) data-open { (age_as(posted_at(line), age)) }
            (delete)
        }
        @match news {
            Some(news) => { (announcement(frame, news)) }
            None => { div.text dir="auto" { (text(frame, line)) } }
        }
    }
}

/// The item that a tweet announces, in place of its text.
fn announcement(frame: &Frame<'_>, news: &News) -> Markup {
    html! {
        div.announced {
            // The badge of the site is on the item's own page: here it would cost a round.
            div dir="auto" { (title_link(frame, news, Score::NoScore)) }
            a href=(news_address(news.id)) {
                "discuss" @if news.comments > 0 { " (" (news.comments) ")" }
            }
        }
    }
}

/// The text with its links, and with the names of users as links to them.
fn text(frame: &Frame<'_>, line: &TweetLine) -> Markup {
    let target = frame.new_windows().then_some("_blank");
    html! {
        @for piece in pieces(&line.tweet.text) {
            @match piece {
                Piece::Text(text) => { (text) }
                Piece::Link(url) => { a href=(url) rel=(OUTSIDE) target=[target] { (url) } }
                Piece::Mention(name) => {
                    @match line.mentions.username(name) {
                        Some(username) => { a href=(profile_address(username, "")) { "@" (name) } }
                        None => { "@" (name) }
                    }
                }
            }
        }
    }
}

/// GET /tweet/:id.
pub async fn show(
    PathOf(id): PathOf<TweetId>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, Failure> {
    let line = reading::tweet(&mut visit, id).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let heading = format!("A tweet by {}", line.username);
    let content = html! {
        h1.hidden { (heading) }
        article.tweet.alone { (tweet(&frame, &line)) }
        p { a.action href=(profile_address(&line.username, "")) { "More by " (line.username) } }
    };
    Ok(frame.page(&heading, &content))
}

/// GET /deltweet/:id: asks again.
pub async fn delete_form(
    PathOf(id): PathOf<TweetId>,
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
) -> Result<Markup, Failure> {
    let line = reading::tweet(&mut visit, id).await?;
    line.tweet.may_delete(&user)?;
    let frame = Frame::for_user(&app, &here, &user);
    let content = html! {
        h1 { "Delete this tweet?" }
        article.tweet.alone { (tweet(&frame, &line)) }
        p.hint { "It leaves all timelines for good." }
        form.form method="post" action={ "/deltweet/" (id) } {
            (frame.secret_field())
            button.button.grave { "Delete" }
        }
        p { a.action href=(tweet_address(id)) { "Keep it" } }
    };
    Ok(frame.page("Delete", &content))
}

/// POST /deltweet/:id: apisecret.
pub async fn delete(
    PathOf(id): PathOf<TweetId>,
    State(app): State<App>,
    form: SignedForm<()>,
) -> Result<Redirect, Failure> {
    tweets::delete_tweet(&app.site, app.moment(), &form.user, id).await?;
    Ok(Redirect::to("/home"))
}
