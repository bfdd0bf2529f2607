//! The page that lists the feeds, and the same for feed readers in OPML 2.0.

use super::writers::escaped;
use super::{headers, private_headers};
use crate::App;
use crate::error::{RequestError, Result};
use crate::features::inbox::page::feed_of;
use crate::limits::{FEED_FOLLOWED, FEED_TOPICS, PAGE_BYTES};
use crate::markup::addresses::{TOPICS, login_to};
use crate::markup::feed_links::{Written, with_key};
use crate::markup::parts::{ButtonForm, SMALL_BUTTON};
use crate::markup::{FeedFormat, FeedKind, Frame, Member, Page, PageHead};
use crate::request::{LocalPath, Sender, SignedFields};
use crate::settings::SiteSettings;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::reading_key::{self, ReadingKey};
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::articles::topics;
use tidings_domain::timelines::follows::{Side, people};
use tidings_domain::values::{Topic, TopicChoice, Window};
use tidings_domain::{User, Visit};
use tidings_language::{m, t};

/// The lists of feeds in OPML.
const OPML: &str = "/feeds.opml";
/// The same of what one follows.
const FOLLOWING: &str = "/feeds/following.opml";
const OPML_TYPE: &str = "text/x-opml; charset=utf-8";

/// GET /feeds.
pub async fn page(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(shown(&frame, None))
}

/// POST /feeds/key: key (`new` or `off`), apisecret. On a site that only members read, a member gets a new key for their
/// programs, or none. The page with the addresses that have the new key shows it this once.
pub async fn change_key(app: App, SignedFields { user, fields, .. }: SignedFields) -> Result<Response> {
    if !app.site.is_for_members() {
        return Err(RequestError::NotFound);
    }
    match fields.required("key")? {
        "new" => {
            let key = reading_key::replace(&app.site, user.id).await?;
            let here = LocalPath::parse("/feeds");
            Ok(shown(&Frame::for_user(&app, &here, &user), Some(&key)).into_response())
        }
        "off" => {
            reading_key::withdraw(&app.site, user.id).await?;
            Ok(Redirect::to("/feeds#key").into_response())
        }
        _ => Err(RequestError::field("key", m!("it must be new or off"))),
    }
}

/// The page, with the addresses for programs that have a key.
fn shown(frame: &Frame<'_>, key: Option<&ReadingKey>) -> Markup {
    let opml = with_key(OPML.to_owned(), key);
    let code = |text: &str| html! { code { (text) } };
    let content = html! {
        div.prose {
            h1 { (t!("Feeds")) }
            (key_section(frame, key))
            p {
                (t!(
                    "Every list of this site is a feed, too. Open one in a feed reader to read what is new there. Feed readers also find the feed of a page by its address."
                ))
            }
            h2 { (t!("The whole site")) }
            (list(FeedKind::of_site().map(|kind| (words(&kind), kind)), key))
            p {
                (t!(
                    "{link} (OPML), for most feed readers.",
                    link = html! { a href=(opml) type=(OPML_TYPE) { (t!("All of these and the topics as one file")) } },
                ))
            }
            h2 { (t!("Parts of the site")) }
            ul {
                li {
                    (t!(
                        "{topics}: add {atom} to the address of a topic or of several, such as {best} for the best and {new} for new stories.",
                        topics = html! { a href=(TOPICS) { (t!("Topics")) } },
                        atom = code("/atom"),
                        best = code("/topic/rust/atom"),
                        new = code("/topic/rust/new/atom"),
                    ))
                }
                li { (t!("A story: the comments on it are at an address such as {address}.", address = code("/news/7/atom"))) }
                li {
                    @let (all, stories) = (code("/user/alice/atom"), code("/user/alice/stories/atom"));
                    @let comments = code("/user/alice/comments/atom");
                    @if frame.rules.features.timelines {
                        (t!(
                            "A person: {all} is everything that alice writes, {stories} and {comments} are parts of that, and her posts are at {posts}.",
                            all,
                            stories,
                            comments,
                            posts = code("/@alice/feed"),
                        ))
                    } @else {
                        (t!(
                            "A person: {all} is everything that alice writes, {stories} and {comments} are parts of that.",
                            all,
                            stories,
                            comments,
                        ))
                    }
                }
                li { (t!("A site that stories link to: {address}.", address = code("/site/example.com/atom"))) }
                @if frame.settings.search.is_on {
                    li {
                        (t!(
                            "A {search}: {address} has the stories that it finds, the newest first.",
                            search = html! { a href="/search" { (t!("noun" => "search")) } },
                            address = code("/search.atom?q=rust"),
                        ))
                    }
                }
            }
            p {
                @let (json, atom) = (code("json"), code("atom"));
                @if frame.rules.features.timelines {
                    (t!(
                        "Each is also available as a JSON Feed: with {json} in place of {atom}, or with {json_part} after {feed}.",
                        json,
                        atom,
                        json_part = code("/json"),
                        feed = code("feed"),
                    ))
                } @else {
                    (t!("Each is also available as a JSON Feed: with {json} in place of {atom}.", json, atom))
                }
            }
            h2 { (t!("For you")) }
            (own(frame, key))
        }
    };
    // That of the newest stories is in the head of each page.
    let feeds = FeedKind::of_site().filter(|kind| *kind != FeedKind::LATEST);
    frame.page_with(t!("Feeds"), &PageHead::of("/feeds").feeds(feeds), &content)
}

/// The name of a feed of the site on the page.
fn words(kind: &FeedKind) -> String {
    match kind {
        FeedKind::Stories(list) => list.facts().title.to_owned(),
        FeedKind::Articles(..) => t!("The best stories").to_owned(),
        FeedKind::Comments => t!("New comments").to_owned(),
        other => other.heading(),
    }
}

/// The key for programs on a site that only members read, with the buttons that change it.
fn key_section(frame: &Frame<'_>, key: Option<&ReadingKey>) -> Markup {
    let Some(viewer) = frame.viewer.filter(|_| frame.is_for_members()) else {
        return html! {};
    };
    let button = |change: &str, name: &str| {
        let fields = [("key", change)];
        ButtonForm { class: "", action: "/feeds/key", fields: &fields, button: SMALL_BUTTON }
            .render(frame, name)
    };
    let has_key = key.is_some() || viewer.has_reading_key();
    html! {
        h2 #key { (t!("Your key")) }
        @if let Some(key) = key {
            p.notice role="status" {
                (t!(
                    "Your key is {key}. It is in the addresses below. Copy them to your feed reader now: the key isn’t shown again.",
                    key = html! { code { (key.expose()) } },
                ))
            }
        }
        p {
            (t!(
                "Only members can read this site. Feed readers and other programs cannot log in, so they need a key: it lets them read as you, and change nothing. Keep it to yourself."
            ))
        }
        div.buttons {
            @if has_key {
                (button("new", t!("Replace the key")))
                (button("off", t!("Withdraw the key")))
            } @else {
                (button("new", t!("Create a key")))
            }
        }
        @if has_key { p.hint { (t!("A new key replaces this one, which will stop working.")) } }
    }
}

/// Feeds with their names.
fn list(feeds: impl Iterator<Item = (String, FeedKind)>, key: Option<&ReadingKey>) -> Markup {
    html! {
        ul {
            @for (name, kind) in feeds {
                @let link = html! { a href=(kind.page()) { (name) } };
                li { (t!("{name}: {value}", name = link, value = kind.links(key))) }
            }
        }
    }
}

/// The feeds of the viewer.
fn own(frame: &Frame<'_>, key: Option<&ReadingKey>) -> Markup {
    let Some(viewer) = frame.viewer else {
        let link = html! { a href=(login_to(None, "/feeds")) { (t!("Log in")) } };
        return html! { p { (t!("{link} to see your own feeds.", link)) } };
    };
    let own = FeedKind::of_person(&viewer.username, frame.rules.features.timelines);
    html! {
        (list(own.into_iter().map(|kind| (kind.heading(), kind)), key))
        p { a href=(with_key(FOLLOWING.to_owned(), key)) type=(OPML_TYPE) { (t!("The topics and people you follow as one file")) } " (OPML)." }
        p {
            @match feed_of(viewer) {
                Some(inbox) => (t!(
                    "Your {inbox}, at a private address: {feeds}",
                    inbox = html! { a href="/inbox#feed" { (t!("inbox")) } },
                    feeds = inbox.links(None),
                )),
                None => (t!(
                    "{inbox} can be a feed at a private address.",
                    inbox = html! { a href="/inbox#feed" { (t!("Your inbox")) } },
                )),
            }
        }
    }
}

/// GET /feeds.opml: the feeds of the site and of the largest topics. Rounds: 2.
pub async fn opml(app: App, Sender { key, .. }: Sender) -> Result<impl IntoResponse> {
    let mut visit = app.visitor();
    let topics = topics::overview(&mut visit, FEED_TOPICS).await?.topics;
    let brand = app.brand_for(&mut visit).await;
    let topics: Vec<FeedKind> = topics.into_iter().map(|line| newest_in(line.topic)).collect();
    let groups = [(t!("The whole site"), FeedKind::of_site().collect()), (t!("Topics"), topics)];
    Ok((headers(OPML_TYPE), document((&brand.site, key.as_ref()), &brand.site.name, &groups)))
}

/// GET /feeds/following.opml: the topics and people that the viewer follows. Rounds: 5.
pub async fn following(
    Page { app, mut visit, user, .. }: Page<Member>,
    Sender { key, .. }: Sender,
) -> Result<impl IntoResponse> {
    let reader = visit.reader().await?;
    let topics = reader.iter().flat_map(|reader| reader.followed.iter().cloned()).take(FEED_FOLLOWED);
    let topics: Vec<FeedKind> = topics.map(newest_in).collect();
    let has_people = app.site.rules.features.timelines;
    let followed = if has_people { followed_by(&mut visit, &user).await? } else { Vec::new() };
    let brand = app.brand_for(&mut visit).await;
    let title = t!("Followed by {name} - {site}", name = &user.username, site = &brand.site.name).to_string();
    let groups = [(t!("Topics"), topics), (t!("People"), followed)];
    let document = document((&brand.site, key.as_ref()), &title, &groups);
    Ok((private_headers(OPML_TYPE), document))
}

async fn followed_by(visit: &mut Visit, user: &User) -> Result<Vec<FeedKind>> {
    let window = Window::newest(FEED_FOLLOWED);
    let page = people(visit, &user.username, Side::Followings, &window).await?;
    let feed = |name: String| FeedKind::Person(Written::All, name);
    Ok(page.people.into_iter().map(|person| feed(person.username)).collect())
}

fn newest_in(topic: Topic) -> FeedKind {
    FeedKind::Articles(Some(TopicChoice::from(topic)), ArticleOrder::Time)
}

/// A document with groups of feeds. Feeds that do not fit are left out from the end.
fn document(
    site: (&SiteSettings, Option<&ReadingKey>),
    title: &str,
    groups: &[(&str, Vec<FeedKind>)],
) -> String {
    let mut room = PAGE_BYTES - 4 * 1_024;
    let mut outlines = |kinds: &[FeedKind]| {
        let mut outlines = String::new();
        for kind in kinds {
            let outline = outline(site, kind);
            let Some(left) = room.checked_sub(outline.len()) else { break };
            room = left;
            outlines.push_str(&outline);
        }
        outlines
    };
    let mut body = String::new();
    for (name, kinds) in groups {
        body.push_str(&format!("<outline text=\"{}\">\n{}</outline>\n", escaped(name), outlines(kinds)));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n<head><title>{}</title></head>\n\
         <body>\n{body}</body>\n</opml>\n",
        escaped(title)
    )
}

fn outline((site, key): (&SiteSettings, Option<&ReadingKey>), kind: &FeedKind) -> String {
    let title = match kind {
        FeedKind::Person(_, name) => name.clone(),
        other => other.title(site),
    };
    // Readers know feeds of any format by this type.
    format!(
        "<outline type=\"rss\" text=\"{title}\" title=\"{title}\" xmlUrl=\"{}\" htmlUrl=\"{}\"/>\n",
        escaped(&site.link(&kind.address_with(FeedFormat::Atom, key))),
        escaped(&site.link(&kind.page())),
        title = escaped(&title),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;

    #[test]
    fn a_list_of_feeds_is_escaped_and_bounded() {
        let mut site = settings().site;
        site.name = "A \"<b>\" & c\u{0}".to_owned();
        let person = |number: usize| FeedKind::Person(Written::All, format!("<{}>{number}", "ü".repeat(100)));
        let people: Vec<FeedKind> = (0..FEED_FOLLOWED).map(person).collect();
        let document = document(
            (&site, None),
            &site.name,
            &[("The whole site", FeedKind::of_site().collect()), ("People", people)],
        );
        assert!(document.len() <= PAGE_BYTES, "{}", document.len());
        for part in [
            "<title>A &quot;&lt;b&gt;&quot; &amp; c</title>",
            "text=\"Best - A &quot;&lt;b&gt;&quot; &amp; c\"",
            "xmlUrl=\"http://localhost:8080/atom\" htmlUrl=\"http://localhost:8080/\"/>",
        ] {
            assert!(document.contains(part), "{part} in {document}");
        }
    }
}
