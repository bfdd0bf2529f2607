//! Tweets: how one is shown, its own page, deleting it.

use crate::App;
use crate::error::{RequestError, Result};
use crate::features::moderation::acting::moderates_instead;
use crate::limits::TWEET_CACHE_BYTES;
use crate::markup::addresses::{news_address, profile_address, tweet_address};
use crate::markup::autolink::linked;
use crate::markup::dates::ago;
use crate::markup::fragments::{
    ContentPlaceholder, Fragment, LinkTarget, PartKey, Slots, placeholders, written,
};
use crate::markup::head::{PageKind, shortened};
use crate::markup::moderation_tools::{is_moderator, menu_link};
use crate::markup::parts::{age_as, deleted_user, more_link, number, title_link};
use crate::markup::withheld::{Kind, insider_notice, show_link, stand_in, unlisted_note};
use crate::markup::{Frame, Member, Page, PageHead};
use crate::request::{PathOf, SignedForm};
use crate::settings::SiteSettings;
use axum::response::Redirect;
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::accounts::inbox::OnPage;
use tidings_domain::accounts::seen::{Seen, ShownIn, Viewed};
use tidings_domain::sites::Score;
use tidings_domain::timelines::lines::{TweetLine, TweetSummary};
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::timelines::tweets::{self};
use tidings_domain::values::{Cursor, Deed, Thing, Timestamp, TweetId};
use tidings_domain::{News, Refusal, Tweet, User};
use tidings_language::t;
use tidings_text::stored_text::StoredText;

/// The second in which a tweet was posted.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn posted_at(summary: &TweetSummary) -> Timestamp {
    // The cast saturates.
    Timestamp(summary.tweet.created_at as u64)
}

/// A person's name as a link to the profile: the full name, if there is one,
/// and the username.
pub fn person_link(username: &str, fullname: &str) -> Markup {
    let shown = if fullname.is_empty() { username } else { fullname };
    html! {
        a.author href=(profile_address(username, "")) {
            bdi.fullname { (shown) } " " span.handle { "@" (username) }
        }
    }
}

/// A list of tweets.
pub fn tweet_list(frame: &Frame<'_>, lines: &[Seen<TweetLine>]) -> impl Render {
    placeholders! {
        enum TweetItemPart {
            Id,
            Tweet,
        }
    }
    static LIST: LazyLock<Fragment<ContentPlaceholder>> = LazyLock::new(|| {
        Fragment::new(|slots| html! { ol.tweets role="list" { (slots.at(ContentPlaceholder::Content)) } })
    });
    static ITEM: LazyLock<Fragment<TweetItemPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            html! { li.tweet #{ "tweet-" (slots.at(TweetItemPart::Id)) } data-item { (slots.at(TweetItemPart::Tweet)) } }
        })
    });
    written(move |html| {
        LIST.fill(html, |ContentPlaceholder::Content, html| {
            for line in lines {
                ITEM.fill(html, |placeholder, html| match placeholder {
                    TweetItemPart::Id => line.tweet.id.0.render_to(html),
                    TweetItemPart::Tweet => tweet(frame, line).render_to(html),
                });
            }
        });
    })
}

/// The link to the rest of a list by time.
pub fn older(base: &str, next: Option<Cursor>) -> Markup {
    more_link(next.map(|next| format!("{base}?before={next}")))
}

/// The note on a page of a timeline about the tweets that its reader does not see, and the link to
/// the rest.
pub fn rest_of_timeline(frame: &Frame<'_>, base: &str, page: &TweetPage) -> Markup {
    let address = |next| frame.here.keeping_hidden(format!("{base}?before={next}"));
    html! {
        (unlisted_note(frame, page.unlisted, Kind::Post))
        (more_link(page.next.map(address)))
    }
}

placeholders! {
    /// The parts of a tweet that depend on the viewer or the time.
    enum TweetPlaceholder {
        Age,
        Links,
    }
}

tidings_domain::cache_kind! {
    /// The markup of tweets.
    struct TweetFragments: PartKey => Fragment<TweetPlaceholder>, "tweet_fragments", TWEET_CACHE_BYTES,
        |_, fragment| fragment.size();
}

fn tweet(frame: &Frame<'_>, line: &Seen<TweetLine>) -> impl Render {
    let tweet = &line.tweet;
    let is_author = frame.viewer.is_some_and(|viewer| viewer.id == tweet.user_id);
    let may_delete = frame.viewer.is_some_and(|viewer| tweet.may_delete(viewer).is_ok());
    let is_usual = frame.viewer.is_some() && !is_author && !may_delete && !is_moderator(frame);
    let fill = move |placeholder, html: &mut String| match placeholder {
        TweetPlaceholder::Age => ago(frame.now, posted_at(line)).render_to(html),
        TweetPlaceholder::Links => {
            if frame.viewer.is_some() && !is_author {
                flag_link(tweet).render_to(html);
            }
            if may_delete {
                html! { " · " a href={ "/deltweet/" (tweet.id) } { (t!("delete")) } }.render_to(html);
            }
            menu_link(frame, &Thing::Tweet(tweet.id), tweet.user_id).render_to(html);
        }
    };
    written(move |html| {
        let site = &frame.settings.site;
        // The cache has what visitors see.
        let fragment = Seen::by_visitors(&**line, ShownIn::List).and_then(|seen| {
            frame.derived::<TweetFragments, _>(&line.summary, 0, |_, links| {
                Fragment::new(|slots| tweet_markup(seen, (site, links), slots))
            })
        });
        match fragment {
            Some(fragment) if is_usual => fragment.fill_usual(html, fill),
            Some(fragment) => fragment.fill(html, fill),
            None => tweet_markup(line.by_ref(), (site, frame.link_target()), &Slots::filled_by(&fill))
                .render_to(html),
        }
    })
}

/// The link with which members flag the tweet of another. An announcement is flagged as the story.
fn flag_link(tweet: &Tweet) -> Markup {
    html! {
        @if tweet.news_id.is_none() && tweet.state().is_open() {
            " · " a href={ "/flag/tweet/" (tweet.id) } rel="nofollow" { (t!("verb" => "flag")) }
        }
    }
}

/// The markup of a tweet that is the same for all viewers, with the links of most members.
fn tweet_markup(
    line: Seen<&TweetLine>,
    (site, links): (&SiteSettings, LinkTarget),
    slots: &Slots<'_, TweetPlaceholder>,
) -> Markup {
    let TweetSummary { tweet, username, fullname, news, .. } = &*line.summary;
    let age = slots.at(TweetPlaceholder::Age);
    html! {
        div.meta {
            @match username {
                Some(username) => { (person_link(username, fullname)) }
                None => { span.author { (deleted_user()) } }
            }
            " · "
            a href=(tweet_address(tweet.id)) data-open { (age_as(posted_at(&line), age)) }
            (slots.usually(TweetPlaceholder::Links, flag_link(tweet)))
        }
        @match news {
            Some(news) => { (announcement(links, news)) }
            None => { div.text dir="auto" { (text((site, links), line)) } }
        }
    }
}

/// The story that a tweet announces, in place of its text.
fn announcement(links: LinkTarget, news: &News) -> Markup {
    html! {
        div.announced {
            // Without the badge of the site, which would cost a round trip.
            div dir="auto" { (title_link(links, news, Score::NoScore)) }
            a href=(news_address(news.id)) {
                (t!("discuss")) @if news.comments > 0 { " (" (number(news.comments)) ")" }
            }
        }
    }
}

/// The text with its links, and with the names of users as links to them.
fn text((site, links): (&SiteSettings, LinkTarget), line: Seen<&TweetLine>) -> Markup {
    let text = site.with_moved_links(line.text());
    linked(StoredText::Post(&text), links, |name| {
        line.mentions.username(name).map(|username| profile_address(username, ""))
    })
}

/// GET /tweet/:id.
pub async fn show(PathOf(id): PathOf<TweetId>, Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let view = reading::tweet(&mut visit, id).await?;
    if let Viewed::Whole(_) = view {
        visit.note_seen(|_| [OnPage::Tweet(id)]).await?;
    }
    let line = view.line().ok_or(RequestError::NotFound)?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let author = line.username.as_deref().unwrap_or(deleted_user());
    let heading = t!("Post by {author}", author).to_string();
    let withheld =
        line.tweet.withheld.as_ref().or_else(|| line.news.as_ref().and_then(|news| news.withheld.as_ref()));
    let content = html! {
        h1.hidden { (heading) }
        @match &view {
            Viewed::Whole(line) => {
                (insider_notice(&frame, line.tweet.user_id, withheld))
                article.tweet.alone { (tweet(&frame, line)) }
            }
            Viewed::Line(_, why) => {
                p.gone { (stand_in(*why, withheld, Kind::Post)) (show_link(&frame, *why, "")) }
            }
            Viewed::Nothing => {}
        }
        // Others have it below the text.
        @if view.as_whole().is_none() { (menu_link(&frame, &Thing::Tweet(id), line.tweet.user_id)) }
        @if let Some(username) = &line.username {
            p { a.action href=(profile_address(username, "")) { (t!("More posts by {author}", author = username)) } }
        }
    };
    let text = view.as_whole().map(|line| shortened(line.text())).unwrap_or_default();
    let head = PageHead::of(tweet_address(id)).about(PageKind::Article, text);
    Ok(frame.page_with(&heading, &head, &content))
}

/// GET /deltweet/:id: asks for confirmation.
pub async fn delete_form(
    PathOf(id): PathOf<TweetId>,
    Page { app, mut visit, user, here }: Page<Member>,
) -> Result<Markup> {
    let line = reading::tweet(&mut visit, id).await?.whole().ok_or(Refusal::NotYourTweet)?;
    line.tweet.may_delete(&user)?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { (t!("Delete this post?")) }
        article.tweet.alone { (tweet(&frame, &line)) }
        p.hint { (t!("It will disappear from all timelines, and its text is deleted.")) }
        form.form method="post" action={ "/deltweet/" (id) } {
            (frame.signed_fields())
            button.button.grave { (t!("Delete")) }
        }
        p { a.action href=(tweet_address(id)) { (t!("Keep this post")) } }
    };
    Ok(frame.page(t!("Delete this post"), &content))
}

/// POST /deltweet/:id: apisecret.
pub async fn delete(PathOf(id): PathOf<TweetId>, app: App, form: SignedForm<()>) -> Result<Redirect> {
    delete_tweet(&app, &form.user, id).await?;
    Ok(Redirect::to("/home"))
}

/// Deletes a tweet, for both the form and the API.
pub(crate) async fn delete_tweet(app: &App, user: &User, id: TweetId) -> Result<()> {
    if moderates_instead(app, user, Thing::Tweet(id), || Ok(Deed::Remove)).await? {
        return Ok(());
    }
    Ok(user.once(&app.site, tweets::delete_tweet(&app.site, user, id)).await?)
}
