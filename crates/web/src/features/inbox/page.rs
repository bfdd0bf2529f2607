//! The inbox: its page and its calls, its feed's address, and the buttons that subscribe to a thread.

use super::rows::{Row, row};
use crate::features::action::{Action, ActionEntry};
use crate::features::stories::form::NewsIdForm;
use crate::limits::{API_ENTRY_BYTES, API_LIST_BYTES, INBOX_ENTRIES};
use crate::markup::parts::{ButtonForm, SMALL_BUTTON, fitting, more_link, tabs};
use crate::markup::{FeedFormat, FeedKind, Frame, Member, Page, PageHead};
use crate::request::form::{form, optional, parse, parsed};
use crate::request::local_path::add_parameter;
use crate::request::paging::count;
use crate::request::{Fields, Form, FromFields, Next, SignedFields, answer};
use crate::route::SHORT;
use crate::{App, RequestError, Result};
use axum::Json;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::User;
use tidings_domain::accounts::inbox::{EntryId, InboxCursor, Kind, Marking, OnPage, feed, undo_marking};
use tidings_domain::inbox::{self, InboxEntry, InboxEvent, InboxPage, InboxWindow};
use tidings_domain::news::subscriptions;
use tidings_domain::values::size;
use tidings_language::{Message, m, n, t};

form! {
    /// The part of the inbox that a call of the API asks for.
    #[derive(Debug)]
    pub struct InboxQuery {
        /// The maximum number of entries; 50 by default.
        pub count: usize = count, values::PageSize, required = false;
        /// Only older entries than this.
        pub before: Option<InboxCursor> = optional(parsed(CURSOR)), values::InboxCursor, required = false;
    }

    /// Entries of the inbox to mark as read.
    pub struct ReadInboxForm {
        /// The entry, or `all`.
        pub id: Marking = marked, values::EntryChoice;
        /// With `all`: the id of the newest entry that was shown. Newer entries stay unread.
        pub until: Option<EntryId> = optional(parsed(ENTRY)), values::EntryId, required = false;
    }
}

/// The entries that a page of the inbox shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything.
    #[default]
    All,
    /// Unread entries.
    Unread,
    /// Entries of one kind.
    Kind(Kind),
}

impl Filter {
    /// The filters of the page.
    pub const SHOWN: [Self; 5] = [
        Self::All,
        Self::Unread,
        Self::Kind(Kind::Reply),
        Self::Kind(Kind::Mention),
        Self::Kind(Kind::Follow),
    ];

    /// The value of the parameter `kind`; `None` for everything.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Unread => Some("unread"),
            Self::Kind(kind) => Some(kind.name()),
        }
    }
}

/// The part of the inbox that a page shows.
pub struct InboxPageQuery {
    /// The entries that it shows.
    pub filter: Filter,
    /// Only older entries than this.
    pub before: Option<InboxCursor>,
    /// Up to which entry everything was just marked as read.
    pub marked: Option<EntryId>,
}

impl FromFields for InboxPageQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let filter = match fields.filled("kind") {
            None => Filter::All,
            Some("unread") => Filter::Unread,
            Some(name) => Filter::Kind(parse(
                name,
                "kind",
                m!("it must be unread, reply, mention, follow or moderation"),
            )?),
        };
        let marked = fields.parsed_optional("marked", ENTRY)?;
        Ok(Self { filter, before: fields.parsed_optional("before", CURSOR)?, marked })
    }
}

/// The error message for a field that is not the id of an entry.
pub(super) const ENTRY: &Message = m!("it must be the id of an entry");

const CURSOR: &Message = m!("it must be a cursor like 1401267618-reply:12-3");

impl ReadInboxForm {
    /// The entries to mark.
    pub fn marking(&self) -> Marking {
        self.until.map_or(self.id, Marking::Until)
    }
}

/// The entry to mark as read, or all. The field `all` with the value 1 means the same as the id `all`.
fn marked(fields: &Fields, name: &'static str) -> Result<Marking> {
    let until: Option<EntryId> = fields.parsed_optional("until", ENTRY)?;
    let id = match (fields.get(name), fields.get("all")) {
        (Some("all"), _) | (None, Some("1")) => Marking::All,
        (None, Some(_)) => return Err(RequestError::field("all", m!("it must be 1"))),
        (_, _) => Marking::One(fields.parsed(name, m!("it must be the id of an entry, or all"))?),
    };
    RequestError::field("until", m!("it goes with all, not with an entry"))
        .when(until.is_some() && id != Marking::All)?;
    Ok(id)
}

/// The part of the inbox that was asked for.
fn shown(frame: &Frame<'_>, viewer: &User, (page, query): (&InboxPage, &InboxPageQuery)) -> Markup {
    let InboxPageQuery { filter, before, marked } = *query;
    let unread = frame.viewer.map_or(0, |viewer| viewer.replies);
    let back = filter_address(filter, before);
    let content = html! {
        h1 { (t!("Inbox")) }
        (filters(filter))
        @if let Some(marked) = marked { (marked_line(frame, marked, &back)) }
        @if unread > 0 {
            form.inbox-tools method="post" action="/readinbox" {
                (frame.signed_fields())
                input type="hidden" name="id" value="all";
                @if let Some(newest) = page.newest {
                    input type="hidden" name="until" value=(newest);
                    input type="hidden" name="next" value=(marked_address(&back, newest));
                } @else {
                    input type="hidden" name="next" value=(back);
                }
                p { (n!(unread, "{count} unread", "{count} unread")) }
                button.button.small.quiet { (t!("Mark all as read")) }
            }
        }
        @if page.entries.is_empty() { p.empty { (nothing(viewer, query)) } }
        ol.inbox role="list" {
            @for entries in Row::of(frame, &page.entries) {
                (row(frame, &entries, (&back, filter == Filter::Kind(Kind::Moderation))))
            }
        }
        (more_link(page.next.map(|next| filter_address(filter, Some(next)))))
        (feed_section(frame, viewer))
    };
    frame.page_with(t!("Inbox"), &PageHead::default().feeds(feed_of(viewer)), &content)
}

/// The text of an empty list.
fn nothing(viewer: &User, query: &InboxPageQuery) -> Markup {
    html! {
        @match query.filter {
            _ if query.before.is_some() => (t!("There is nothing older.")),
            Filter::Unread => (t!("You have read everything.")),
            Filter::All => (t!(
                "Replies to your stories and comments, mentions of your name (@{name}) and new followers appear here. To get all comments on a story, subscribe on its page. {link}.",
                name = &viewer.username,
                link = html! { a href="/latest/0" { (t!("Find a story to discuss")) } },
            )),
            Filter::Kind(Kind::Reply) => (t!(
                "Comments on your stories, replies to your comments, and comments on stories you subscribe to appear here."
            )),
            Filter::Kind(Kind::Mention) => (t!(
                "Comments and posts that mention you as @{name} appear here.",
                name = &viewer.username,
            )),
            Filter::Kind(Kind::Follow) => (t!("New followers appear here.")),
            Filter::Kind(Kind::Moderation) => (t!("Messages from moderators appear here.")),
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
    let fields = [("until", &*until.to_string()), ("next", back)];
    let undo = ButtonForm { class: "inline", action: "/inbox/undo", fields: &fields, button: "button small" };
    html! {
        div.notice.undo role="status" {
            span { (t!("Everything is marked as read.")) }
            (undo.render(frame, t!("Undo")))
        }
    }
}

fn filters(here: Filter) -> Markup {
    let name = |filter| match filter {
        Filter::All => t!("tab" => "All"),
        Filter::Unread => t!("tab" => "Unread"),
        Filter::Kind(Kind::Reply) => t!("Replies"),
        Filter::Kind(Kind::Mention) => t!("Mentions"),
        Filter::Kind(Kind::Follow) => t!("Followers"),
        Filter::Kind(Kind::Moderation) => t!("Moderators"),
    };
    let shown = Filter::SHOWN.into_iter().chain((!Filter::SHOWN.contains(&here)).then_some(here));
    tabs(t!("Inbox"), shown.map(|filter| (filter_address(filter, None), name(filter), filter == here)))
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
        let fields = [("feed", feed)];
        ButtonForm { class: "", action: "/inbox/feed", fields: &fields, button: SMALL_BUTTON }
            .render(frame, name)
    };
    html! {
        div.inbox-feed {
            h2 #feed { (t!("Feed")) }
            @match feed_of(viewer) {
                Some(feed) => {
                    @let address = feed.address(FeedFormat::Atom);
                    p { (t!("Read your inbox in a feed reader. Keep this address to yourself: it works without logging in.")) }
                    p { a.feed-address href=(address) rel="nofollow" { (frame.settings.site.link(&address)) } }
                    div.buttons {
                        (button("new", t!("New address")))
                        (button("off", t!("Turn off the feed")))
                    }
                    p.hint { (t!("A new address replaces this one, which will stop working. For a JSON Feed, add {json}.", json = html! { code { "/json" } })) }
                }
                None => {
                    p { (t!("Read your inbox in a feed reader, at a private address that works without logging in.")) }
                    (button("new", t!("Create the feed")))
                }
            }
        }
    }
}

/// GET /inbox?kind=K&before=B.
pub async fn show(mut page: Page<Member>, Form(query): Form<InboxPageQuery>) -> Result<Markup> {
    let kind = match query.filter {
        Filter::Kind(kind) => Some(kind),
        Filter::All | Filter::Unread => None,
    };
    let unread = query.filter == Filter::Unread;
    let window = InboxWindow { before: query.before, kind, unread, count: INBOX_ENTRIES };
    let part = inbox::page(&mut page.visit, page.user.id, &window).await?;
    if query.filter == Filter::Kind(Kind::Moderation) {
        // This page shows the messages whole.
        let message_of = |entry: &InboxEntry| match entry.place.id {
            EntryId::Moderation(number) => Some(OnPage::Message(number)),
            _ => None,
        };
        page.visit.note_seen(|_| part.entries.iter().filter_map(message_of)).await?;
    }
    Ok(shown(&Frame::of(&page.app, &mut page.visit, &page.here).await?, &page.user, (&part, &query)))
}

/// POST /inbox/undo: until, next, apisecret. Entries that were marked as read together are unread again.
pub async fn undo(app: App, SignedFields { user, fields, .. }: SignedFields) -> Result<Redirect> {
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
pub async fn change_feed(app: App, SignedFields { user, fields, .. }: SignedFields) -> Result<Redirect> {
    let has_feed = match fields.required("feed")? {
        "new" => true,
        "off" => false,
        _ => return Err(RequestError::field("feed", m!("it must be new or off"))),
    };
    user.once(&app.site, feed::change_address(&app.site, user.id, has_feed)).await?;
    Ok(Redirect::to("/inbox#feed"))
}

/// The actions on the inbox and on subscriptions.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::setting(
            "/readinbox",
            m!("Mark entries of the inbox as read."),
            |app, by, form: &ReadInboxForm| Box::pin(inbox::mark_read(&app.site, by.user, form.marking())),
        )
        .back(SHORT),
        Action::setting(
            "/subscribe",
            m!("Subscribe to the comments on a story."),
            |app, by, form: &NewsIdForm| {
                Box::pin(subscriptions::subscribe(&app.site, app.moment(), by.user, form.news_id))
            },
        )
        .back(SHORT),
        Action::setting("/unsubscribe", m!("Leave the thread of a story."), |app, by, form: &NewsIdForm| {
            Box::pin(subscriptions::unsubscribe(&app.site, app.moment(), by.user, form.news_id))
        })
        .back(SHORT),
    ]
}

answer! {
    /// A part of the inbox, newest first.
    pub struct InboxResponse as Inbox from (part: (&[InboxEntry], u64, Option<InboxCursor>)) {
        status;
        entries: Vec<EntryResponse> = part.0.iter().map(EntryResponse::from).collect();
        /// The number of unread entries in the whole inbox.
        unread: u64 = part.1;
        /// The value of `before` for the next part; null at the end.
        next: Option<String> = part.2.map(|next| next.to_string()), Option<values::InboxCursor>;
    }

    /// An entry of the inbox.
    struct EntryResponse as InboxEntry from (entry: &InboxEntry) {
        /// The id of the entry.
        id: String = entry.place.id.to_string(), values::EntryId;
        /// Why it is in the inbox.
        kind: &'static str = entry.place.id.kind().name(), values::EntryKind;
        /// The person who did it; missing for a moderator who is not named and after a deactivation.
        username?: String = entry.username.as_deref().map(str::to_owned), values::StoredUsername;
        /// When, in Unix seconds.
        time: u64 = entry.time().0;
        /// Whether it is read.
        read: bool = entry.read;
        /// The story that the comment is on; otherwise missing.
        news_id?: u64 = entry.place.id.comment().map(|address| address.news.0);
        /// The comment; otherwise missing.
        comment_id?: u64 = entry.place.id.comment().map(|address| address.comment.0);
        /// The tweet; otherwise missing.
        tweet_id?: u64 = match entry.event {
            InboxEvent::Tweet { id, .. } => Some(id.0),
            _ => None,
        };
        /// The text of the comment, the tweet or the message; missing for a follow.
        text?: String = entry.text().map(str::to_owned), values::EntryText;
    }
}

/// GET /api/inbox.
pub async fn list(mut page: Page<Member>, Form(query): Form<InboxQuery>) -> Result<Json<InboxResponse>> {
    let window = InboxWindow { before: query.before, ..InboxWindow::newest(query.count) };
    let InboxPage { entries, mut next, .. } = inbox::page(&mut page.visit, page.user.id, &window).await?;
    page.visit.learn_badge().await;
    let unread = page.visit.viewer().await?.map_or(0, |viewer| viewer.replies);
    let cost = |entry: &InboxEntry| API_ENTRY_BYTES + entry.text().map_or(0, size::json_bytes);
    let fits = fitting(&entries, API_LIST_BYTES, cost);
    let shown = entries.get(..fits).unwrap_or_default();
    if fits < entries.len() {
        next = shown.last().map(|entry| entry.place);
    }
    Ok(Json((shown, unread, next).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marking(form: &str) -> Result<Marking> {
        Ok(Fields::parse(form.as_bytes()).unwrap().read::<ReadInboxForm>()?.marking())
    }

    #[test]
    fn all_or_one_entry_is_marked() {
        for all in ["id=all", "all=1", "id=all&all=1"] {
            assert_eq!(marking(all).unwrap(), Marking::All, "{all}");
        }
        assert_eq!(marking("id=reply:1-2").unwrap(), Marking::One("reply:1-2".parse().unwrap()));
        for until in ["id=all&until=reply:1-2", "all=1&until=reply:1-2"] {
            assert_eq!(marking(until).unwrap(), Marking::Until("reply:1-2".parse().unwrap()), "{until}");
        }
        for (wrong, field) in [
            ("", "id"),
            ("id=", "id"),
            ("id=1", "id"),
            ("all=", "all"),
            ("all=0", "all"),
            ("id=all&until=x", "until"),
            ("id=reply:1-2&until=reply:1-3", "until"),
            ("until=reply:1-3", "id"),
        ] {
            let message = marking(wrong).unwrap_err().message_for_program();
            assert!(message.starts_with(&format!("The field {field} is wrong")), "{wrong}: {message}");
        }
    }
}
