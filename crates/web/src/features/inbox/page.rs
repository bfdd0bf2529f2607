//! The inbox, its feed's address, and the buttons that subscribe to a thread.

use super::form::{ENTRY, Filter, InboxPageQuery, ReadInboxForm};
use super::rows::{Row, row};
use crate::App;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry};
use crate::features::stories::form::NewsIdForm;
use crate::markup::feed_links::{FeedFormat, FeedKind};
use crate::markup::frame::Frame;
use crate::markup::head::PageHead;
use crate::markup::page::{Member, Page};
use crate::markup::parts::{more_link, number, tab};
use crate::request::form::{Form, Next};
use crate::request::local_path::add_parameter;
use crate::request::viewer::SignedFields;
use crate::route::SHORT;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::inbox::{EntryId, InboxCursor, Kind, OnPage, feed, undo_marking};
use tidings_domain::accounts::users::User;
use tidings_domain::inbox::{self, InboxEntry};
use tidings_domain::news::subscriptions;

/// A page of the inbox.
struct InboxPage<'a> {
    entries: &'a [InboxEntry],
    /// The newest entry of the whole inbox, when the page was made.
    newest: Option<EntryId>,
    filter: Filter,
    next: Option<InboxCursor>,
    /// Where this part begins; `None` for the newest.
    before: Option<InboxCursor>,
    /// Up to which entry everything was just marked as read.
    marked: Option<EntryId>,
    viewer: &'a User,
}

impl InboxPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let unread = frame.viewer.map_or(0, |viewer| viewer.replies);
        let back = filter_address(self.filter, self.before);
        let content = html! {
            h1 { "Inbox" }
            (filters(self.filter))
            @if let Some(marked) = self.marked { (marked_line(frame, marked, &back)) }
            @if unread > 0 {
                form.inbox-tools method="post" action="/readinbox" {
                    (frame.signed_fields())
                    input type="hidden" name="id" value="all";
                    @if let Some(newest) = self.newest {
                        input type="hidden" name="until" value=(newest);
                        input type="hidden" name="next" value=(marked_address(&back, newest));
                    } @else {
                        input type="hidden" name="next" value=(back);
                    }
                    p { (number(unread)) " unread" }
                    button.button.small.quiet { "Mark all as read" }
                }
            }
            @if self.entries.is_empty() { (self.nothing()) }
            ol.inbox role="list" {
                @for entries in Row::of(frame, self.entries) {
                    (row(frame, &entries, (&back, self.filter == Filter::Kind(Kind::Moderation))))
                }
            }
            (more_link(self.next.map(|next| filter_address(self.filter, Some(next)))))
            (feed_section(frame, self.viewer))
        };
        frame.page_with("Inbox", &PageHead::default().feeds(feed_of(self.viewer)), &content)
    }

    /// The text of an empty list.
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
                        "Comments on your stories, replies to your comments, and comments on stories you \
                         subscribe to appear here."
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

fn filter_address(filter: Filter, before: Option<InboxCursor>) -> String {
    let kind = filter.name().map(|name| format!("kind={name}"));
    let before = before.map(|before| format!("before={before}"));
    let parameters: Vec<String> = [kind, before].into_iter().flatten().collect();
    if parameters.is_empty() { "/inbox".to_owned() } else { format!("/inbox?{}", parameters.join("&")) }
}

/// The address of a page that says that everything up to an entry was marked as read.
fn marked_address(back: &str, until: EntryId) -> String {
    let mut address = back.to_owned();
    add_parameter(&mut address, "marked", &until.to_string());
    address
}

/// The line that says that everything was marked as read, with the button that undoes it.
fn marked_line(frame: &Frame<'_>, until: EntryId, back: &str) -> Markup {
    html! {
        div.notice.undo role="status" {
            span { "Everything is marked as read." }
            form.inline method="post" action="/inbox/undo" {
                (frame.signed_fields())
                input type="hidden" name="until" value=(until);
                input type="hidden" name="next" value=(back);
                button.button.small { "Undo" }
            }
        }
    }
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
                @for filter in Filter::SHOWN.into_iter().chain((!Filter::SHOWN.contains(&here)).then_some(here)) {
                    (tab(&filter_address(filter, None), name(filter), filter == here))
                }
            }
        }
    }
}

/// The feed of the inbox, if the viewer has made one.
pub fn feed_of(viewer: &User) -> Option<FeedKind> {
    feed::secret_of(viewer).map(|secret| FeedKind::Inbox {
        owner: viewer.id,
        name: viewer.username.clone(),
        secret,
    })
}

/// The private addresses of the feed, with the buttons that change them.
fn feed_section(frame: &Frame<'_>, viewer: &User) -> Markup {
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
            @match feed_of(viewer) {
                Some(feed) => {
                    @let address = feed.address(FeedFormat::Atom);
                    p { "Read your inbox in a feed reader. Keep this address to yourself: it works without logging in." }
                    p { a.feed-address href=(address) rel="nofollow" { (frame.settings.site.link(&address)) } }
                    div.buttons {
                        (button("new", "New address"))
                        (button("off", "Turn off the feed"))
                    }
                    p.hint { "A new address replaces this one, which will stop working. For a JSON Feed, add " code { "/json" } "." }
                }
                None => {
                    p { "Read your inbox in a feed reader, at a private address that works without logging in." }
                    (button("new", "Create the feed"))
                }
            }
        }
    }
}

/// GET /inbox?kind=K&before=B.
pub async fn show(
    Page { app, mut visit, user, here }: Page<Member>,
    Form(query): Form<InboxPageQuery>,
) -> Result<Markup, RequestError> {
    let page = inbox::page(&mut visit, user.id, &(&query).into()).await?;
    if query.filter == Filter::Kind(Kind::Moderation) {
        // This page shows the messages whole.
        visit.note_seen(|_| page.entries.iter().filter_map(message_of)).await?;
    }
    let page = InboxPage {
        entries: &page.entries,
        newest: page.newest,
        filter: query.filter,
        next: page.next,
        before: query.before,
        marked: query.marked,
        viewer: &user,
    };
    Ok(page.render(&Frame::of(&app, &mut visit, &here).await?))
}

fn message_of(entry: &InboxEntry) -> Option<OnPage> {
    match entry.place.id {
        EntryId::Moderation(number) => Some(OnPage::Message(number)),
        _ => None,
    }
}

/// POST /inbox/undo: until, next, apisecret. Entries that were marked as read together are unread again.
pub async fn undo(
    app: App,
    SignedFields { user, fields, .. }: SignedFields,
) -> Result<Redirect, RequestError> {
    let until = fields.parsed("until", ENTRY)?;
    let Next { next } = fields.read()?;
    user.once(&app.site, undo_marking(&app.site, &user, until)).await?;
    Ok(Redirect::to(next.as_str()))
}

/// GET /replies: the page that the inbox has replaced.
pub async fn replies() -> Redirect {
    Redirect::permanent("/inbox")
}

/// POST /inbox/feed: feed (`new` or `off`), apisecret. The inbox gets a new private address for its feed, or none.
pub async fn change_feed(
    app: App,
    SignedFields { user, fields, .. }: SignedFields,
) -> Result<Redirect, RequestError> {
    let has_feed = match fields.required("feed")? {
        "new" => true,
        "off" => false,
        _ => return Err(RequestError::field("feed", "it must be new or off")),
    };
    user.once(&app.site, feed::change_address(&app.site, user.id, has_feed)).await?;
    Ok(Redirect::to("/inbox#feed"))
}

/// The actions on the inbox and on subscriptions.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::setting(
            "/readinbox",
            "Mark entries of the inbox as read.",
            |app, by, form: &ReadInboxForm| Box::pin(inbox::mark_read(&app.site, by.user, form.marking())),
        )
        .back(SHORT),
        Action::setting(
            "/subscribe",
            "Subscribe to the comments on a story.",
            |app, by, form: &NewsIdForm| {
                Box::pin(subscriptions::subscribe(&app.site, app.moment(), by.user, form.news_id))
            },
        )
        .back(SHORT),
        Action::setting("/unsubscribe", "Leave the thread of a story.", |app, by, form: &NewsIdForm| {
            Box::pin(subscriptions::unsubscribe(&app.site, app.moment(), by.user, form.news_id))
        })
        .back(SHORT),
    ]
}
