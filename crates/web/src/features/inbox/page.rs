//! The inbox, its feed's address, and the buttons that subscribe to a thread.

use super::form::{FeedForm, Filter, InboxPageQuery, ReadInboxForm};
use crate::App;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry};
use crate::features::stories::form::NewsIdForm;
use crate::limits::{EXCERPT_CHARACTERS, MESSAGE_CHARACTERS};
use crate::markup::addresses::{comment_address, news_address, profile_address, tweet_address};
use crate::markup::autolink::autolink;
use crate::markup::frame::Frame;
use crate::markup::markdown::markdown;
use crate::markup::parts::{DELETED_USER, age, number};
use crate::request::form::Form;
use crate::request::local_path::LocalPath;
use crate::request::viewer::{SignedForm, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use std::borrow::Cow;
use tidings_domain::accounts::inbox::{Cursor, EntryId, Kind, feed, mark_read};
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::accounts::users::User;
use tidings_domain::comments::threads::Thread;
use tidings_domain::inbox::{self, InboxEntry, InboxEvent, ReplyTarget};
use tidings_domain::news::subscriptions::{self, Subscription};

/// A page of the inbox.
struct InboxPage<'a> {
    entries: &'a [InboxEntry],
    /// The newest entry of the whole inbox, when the page was made.
    newest: Option<EntryId>,
    filter: Filter,
    next: Option<Cursor>,
    /// Where this part begins; `None` for the newest.
    before: Option<Cursor>,
    viewer: &'a User,
}

impl InboxPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let unread = self.viewer.replies;
        let back = filter_address(self.filter, self.before);
        let content = html! {
            h1 { "Inbox" }
            (filters(self.filter))
            @if unread > 0 {
                form.inbox-tools method="post" action="/readinbox" {
                    (frame.signed_fields())
                    input type="hidden" name="id" value="all";
                    @if let Some(newest) = self.newest { input type="hidden" name="until" value=(newest); }
                    input type="hidden" name="next" value=(back);
                    p { (number(unread)) " unread" }
                    button.button.small.quiet { "Mark all as read" }
                }
            }
            @if self.entries.is_empty() { (self.nothing()) }
            ol.inbox role="list" {
                @for entry in self.entries { (entry_item(frame, entry, &back)) }
            }
            @if let Some(next) = self.next {
                nav.more aria-label="Pages" {
                    a href=(filter_address(self.filter, Some(next))) rel="next" { "more" }
                }
            }
            (feed_section(frame, self.viewer))
        };
        frame.page("Inbox", &content)
    }

    /// What an empty list says.
    fn nothing(&self) -> Markup {
        html! {
            @match self.filter {
                _ if self.before.is_some() => p.empty { "There is nothing older." },
                Filter::Unread => p.empty { "You have read everything." },
                Filter::All => {
                    p.empty {
                        "Replies to your stories and comments, mentions of your name (@" (self.viewer.username)
                        ") and new followers appear here. To get all comments on a story, subscribe on its page. "
                        a href="/latest/0" { "Find a story to discuss" } "."
                    }
                }
                Filter::Kind(Kind::Reply) => {
                    p.empty {
                        "Comments on your stories, replies to your comments, and comments on stories to which \
                         you subscribe appear here."
                    }
                }
                Filter::Kind(Kind::Mention) => {
                    p.empty { "Comments and posts that mention you as @" (self.viewer.username) " appear here." }
                }
                Filter::Kind(Kind::Follow) => p.empty { "New followers appear here." },
                Filter::Kind(Kind::Moderation) => p.empty { "Messages from moderators appear here." },
            }
        }
    }
}

fn filter_address(filter: Filter, before: Option<Cursor>) -> String {
    let kind = filter.name().map(|name| format!("kind={name}"));
    let before = before.map(|before| format!("before={before}"));
    let parameters: Vec<String> = [kind, before].into_iter().flatten().collect();
    if parameters.is_empty() { "/inbox".to_owned() } else { format!("/inbox?{}", parameters.join("&")) }
}

fn filters(here: Filter) -> Markup {
    let name = |filter| match filter {
        Filter::All => "All",
        Filter::Unread => "Unread",
        Filter::Kind(Kind::Reply) => "Replies",
        Filter::Kind(Kind::Mention) => "Mentions",
        Filter::Kind(Kind::Follow) => "Followers",
        Filter::Kind(Kind::Moderation) => "Moderators",
    };
    html! {
        nav.tabs aria-label="Inbox" {
            ul {
                @for filter in Filter::SHOWN {
                    li {
                        a href=(filter_address(filter, None)) aria-current=[(filter == here).then_some("page")] {
                            (name(filter))
                        }
                    }
                }
            }
        }
    }
}

fn entry_item(frame: &Frame<'_>, entry: &InboxEntry, back: &str) -> Markup {
    let id = entry.place.id;
    html! {
        li #(anchor(id)) class=(if entry.read { "entry" } else { "entry unread" }) data-item {
            p.entry-head {
                @if !entry.read { strong.unread-mark { "Unread" } " " }
                (headline(entry))
                " " span.entry-age { (age(frame, entry.time())) }
            }
            @if let Some(text) = entry.text() { (excerpt(frame, entry, text)) }
            div.entry-tools {
                @if let Some((address, name)) = destination(entry) { a.action href=(address) { (name) } }
                @if !entry.read {
                    form method="post" action="/readinbox" {
                        (frame.signed_fields())
                        input type="hidden" name="id" value=(id);
                        input type="hidden" name="next" value={ (back) "#" (anchor(id)) };
                        button.button.small.quiet {
                            "Mark as read" span.hidden { ": " (description(entry)) }
                        }
                    }
                }
            }
        }
    }
}

/// The id of the element that shows an entry.
fn anchor(id: EntryId) -> String {
    id.to_string().replace(':', "-")
}

/// Who has done what, with links.
fn headline(entry: &InboxEntry) -> Markup {
    html! {
        @if entry.place.id.kind() != Kind::Moderation && !is_collapsed(entry) {
            @match entry.username.as_deref() {
                Some(name) => a.author href=(profile_address(name, "")) { (name) },
                None => span.author { (DELETED_USER) },
            }
            " "
        }
        (deed(entry))
        @if let (Some(address), InboxEvent::Comment { title, .. }) = (entry.place.id.comment(), &entry.event) {
            " " a href=(news_address(address.news)) dir="auto" {
                (title.as_deref().unwrap_or("[deleted story]"))
            }
        }
    }
}

/// What has happened, as far as the title of the story.
const fn deed(entry: &InboxEntry) -> &'static str {
    match (&entry.event, entry.place.id) {
        (InboxEvent::Comment { .. }, EntryId::Mention(_)) => "mentioned you on",
        (InboxEvent::Comment { target: ReplyTarget::OwnComment, .. }, _) => "replied to your comment on",
        (InboxEvent::Comment { target: ReplyTarget::OwnStory, .. }, _) => "commented on your story",
        (InboxEvent::Comment { .. }, _) => "commented on",
        (InboxEvent::Tweet { .. }, _) => "mentioned you in a post",
        (InboxEvent::Follow, _) => "follows you",
        (InboxEvent::Message { .. }, _) => "Message from a moderator",
        (InboxEvent::Collapsed(Collapsed::MutedPerson), _) => "Something by somebody you muted",
        (InboxEvent::Collapsed(Collapsed::MutedWord), _) => "Something with a word you muted",
        (InboxEvent::Collapsed(Collapsed::Flagged), _) => "Something hidden by readers' flags",
        (InboxEvent::Collapsed(Collapsed::Removed | Collapsed::Held), _) => "Something that is not shown",
    }
}

/// Whether there is only a line for an entry, which does not name anybody.
const fn is_collapsed(entry: &InboxEntry) -> bool {
    matches!(entry.event, InboxEvent::Collapsed(_))
}

/// An entry in a few words, for the names of buttons and the feed.
#[must_use]
pub fn description(entry: &InboxEntry) -> String {
    let mut words = Vec::new();
    if entry.place.id.kind() != Kind::Moderation && !is_collapsed(entry) {
        words.push(entry.username.as_deref().unwrap_or(DELETED_USER));
    }
    words.push(deed(entry));
    if let InboxEvent::Comment { title, .. } = &entry.event {
        words.push(title.as_deref().unwrap_or("[deleted story]"));
    }
    words.join(" ")
}

/// Where an entry leads, and the text of the link.
#[must_use]
pub fn destination(entry: &InboxEntry) -> Option<(String, &'static str)> {
    if is_collapsed(entry) {
        return None;
    }
    match entry.place.id {
        EntryId::Reply(address) | EntryId::Mention(address) => {
            Some((format!("{}#comment-{}", comment_address(address), address.comment), "Go to the comment"))
        }
        EntryId::Tweet(id) => Some((tweet_address(id), "Go to the post")),
        EntryId::Follow(_) => {
            entry.username.as_deref().map(|name| (profile_address(name, ""), "Go to the profile"))
        }
        EntryId::Moderation(_) => None,
    }
}

/// The beginning of a text: of a comment with its markup.
fn excerpt(frame: &Frame<'_>, entry: &InboxEntry, text: &str) -> Markup {
    let is_message = matches!(entry.place.id, EntryId::Moderation(_));
    let most = if is_message { MESSAGE_CHARACTERS } else { EXCERPT_CHARACTERS };
    let start = text.char_indices().nth(most).and_then(|(end, _)| text.get(..end));
    let text = start.map_or(Cow::Borrowed(text), |start| Cow::Owned(format!("{start}…")));
    match entry.place.id {
        EntryId::Reply(_) | EntryId::Mention(_) => {
            html! { div.excerpt.text.formatted dir="auto" { (markdown(&text, frame.link_target())) } }
        }
        // With a link to the page of the decision.
        EntryId::Moderation(_) => {
            html! { p.excerpt.plain dir="auto" { (autolink(&text, frame.link_target())) } }
        }
        EntryId::Tweet(_) | EntryId::Follow(_) => html! { p.excerpt.plain dir="auto" { (text) } },
    }
}

/// The private address of the feed, with the buttons that change it.
fn feed_section(frame: &Frame<'_>, viewer: &User) -> Markup {
    let secret = feed::secret_of(viewer);
    let button = |feed: &str, name: &str| {
        html! {
            form method="post" action="/inbox/feed" {
                (frame.signed_fields())
                input type="hidden" name="feed" value=(feed);
                button.button.small.quiet { (name) }
            }
        }
    };
    html! {
        div.inbox-feed {
            h2 #feed { "Feed" }
            @match secret {
                Some(secret) => {
                    p { "Read your inbox in a feed reader. Keep this address to yourself: it works without logging in." }
                    p { a.feed-address href=(feed_address(&secret)) rel="nofollow" { (frame.settings.site.link(&feed_address(&secret))) } }
                    div.entry-tools {
                        (button("new", "New address"))
                        (button("off", "Turn off the feed"))
                    }
                    p.hint { "A new address replaces this one, which then no longer works." }
                }
                None => {
                    p { "Read your inbox in a feed reader, at a private address that works without logging in." }
                    (button("new", "Create the feed"))
                }
            }
        }
    }
}

/// The address of a feed.
#[must_use]
pub fn feed_address(secret: &str) -> String {
    format!("/inbox/feed/{secret}")
}

/// The button that subscribes to a thread or leaves it, on the page of the story.
#[must_use]
pub fn subscription_button(frame: &Frame<'_>, thread: &Thread) -> Markup {
    let news = &thread.news.news;
    let is_told = match thread.subscription {
        Subscription::Subscribed => true,
        Subscription::Left => false,
        Subscription::Unset => frame.viewer.is_some_and(|viewer| viewer.id == news.user_id),
    };
    let (action, name, rest) = if is_told {
        ("/unsubscribe", "Unsubscribe from comments", " on this story")
    } else {
        ("/subscribe", "Subscribe to comments", " on this story")
    };
    html! {
        @if frame.viewer.is_some() && !news.is_gone() {
            form.subscription method="post" action=(action) {
                (frame.signed_fields())
                input type="hidden" name="news_id" value=(news.id);
                input type="hidden" name="next" value=(frame.way_back);
                button.button.small.quiet { (name) span.hidden { (rest) } }
            }
        }
    }
}

/// GET /inbox?kind=K&before=B.
pub async fn show(
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
    Form(query): Form<InboxPageQuery>,
) -> Result<Markup, RequestError> {
    let page = inbox::page(&mut visit, user.id, &(&query).into()).await?;
    let page = InboxPage {
        entries: &page.entries,
        newest: page.newest,
        filter: query.filter,
        next: page.next,
        before: query.before,
        viewer: &user,
    };
    Ok(page.render(&Frame::for_user(&app, &here, &user)))
}

/// GET /replies: the page that the inbox has replaced.
pub async fn replies() -> Redirect {
    Redirect::permanent("/inbox")
}

/// POST /inbox/feed: feed (`new` or `off`), apisecret.
pub async fn change_feed(
    State(app): State<App>,
    SignedForm { user, form }: SignedForm<FeedForm>,
) -> Result<Redirect, RequestError> {
    user.once(&app.site, feed::change_address(&app.site, user.id, form.has_feed)).await?;
    Ok(Redirect::to("/inbox#feed"))
}

/// The actions on the inbox and on subscriptions.
#[must_use]
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::setting(
            "/readinbox",
            "Mark entries of the inbox as read.",
            |app, by, form: &ReadInboxForm| Box::pin(mark_read(&app.site, by.user, form.marking())),
        )
        .back(),
        Action::setting(
            "/subscribe",
            "Subscribe to the comments on a story.",
            |app, by, form: &NewsIdForm| {
                Box::pin(subscriptions::subscribe(&app.site, app.moment(), by.user, form.news_id))
            },
        )
        .back(),
        Action::setting("/unsubscribe", "Leave the thread of a story.", |app, by, form: &NewsIdForm| {
            Box::pin(subscriptions::unsubscribe(&app.site, app.moment(), by.user, form.news_id))
        })
        .back(),
    ]
}
