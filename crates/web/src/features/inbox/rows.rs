//! The rows of the inbox: who has done what, and the beginning of the text, in two lines. The row is the link to
//! what it is about.

use crate::limits::MESSAGE_CHARACTERS;
use crate::markup::addresses::{
    comment_address, message_address as answer_address, profile_address, tweet_address,
};
use crate::markup::autolink::autolink;
use crate::markup::fields::draft_key;
use crate::markup::frame::Frame;
use crate::markup::head::{excerpt, shortened};
use crate::markup::parts::{DELETED_USER, age};
use maud::{Markup, html};
use std::borrow::Cow;
use tidings_domain::accounts::inbox::{EntryId, InboxCursor, Kind};
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::inbox::{InboxEntry, InboxEvent, ReplyTarget};
use tidings_domain::values::CommentAddress;
use tidings_domain::values::words::decapitalized;

/// The followers that a row names before it counts the others.
const NAMED_FOLLOWERS: usize = 3;

/// Entries that are shown as one: one entry, or followers without anything else between them.
pub(super) struct Row<'a>(&'a [InboxEntry]);

impl<'a> Row<'a> {
    /// The rows of a page.
    pub(super) fn of(frame: &Frame<'_>, entries: &'a [InboxEntry]) -> impl Iterator<Item = Self> {
        // Without timelines there is no list of followers to lead to.
        let has_lists = frame.rules.features.timelines;
        let is_follower = |entry: &InboxEntry| entry.event == InboxEvent::Follow && entry.username.is_some();
        let is_one_row = move |one: &InboxEntry, next: &InboxEntry| {
            has_lists && is_follower(one) && is_follower(next) && one.read == next.read
        };
        entries.chunk_by(is_one_row).map(Self)
    }

    /// Where the row leads.
    fn address(&self, frame: &Frame<'_>) -> Option<String> {
        match (self.0, frame.viewer) {
            ([entry], _) => match entry.place.id {
                EntryId::Moderation(_) => Some(message_address(entry.place)),
                _ => destination(entry),
            },
            (_, Some(viewer)) => Some(profile_address(&viewer.username, "/followers")),
            _ => None,
        }
    }
}

/// The page that shows a message of a moderator whole, with those before it.
fn message_address(place: InboxCursor) -> String {
    let before = InboxCursor { time: place.time.floor() + 1.0, ..place };
    format!("/inbox?kind=moderation&before={before}#{}", anchor(place.id))
}

/// A row. `back` is the address of the page, and `is_whole` says whether it shows texts whole.
pub(super) fn row(frame: &Frame<'_>, row: &Row<'_>, (back, is_whole): (&str, bool)) -> Markup {
    let Some(entry) = row.0.first() else { return Markup::default() };
    // An answer leads to its thread.
    let is_whole = is_whole && !matches!(entry.place.id, EntryId::Answer(_));
    let address = row.address(frame).filter(|_| !is_whole);
    let reply = entry.place.id.comment().filter(|_| can_be_answered(entry));
    let tool = match (reply, &address) {
        (Some(comment), _) => Some(("with-reply", reply_form(frame, entry, comment))),
        (None, None) if !entry.read => Some(("with-button", read_form(frame, entry, back))),
        (None, _) => None,
    };
    let class = ["entry"].into_iter().chain((!entry.read).then_some("unread"));
    let class = class.chain(tool.as_ref().map(|(class, _)| *class)).collect::<Vec<_>>().join(" ");
    let lines = html! {
        span.entry-what dir="auto" {
            @if !entry.read { span.hidden { "Unread: " } }
            (headline(row))
        }
        " "
        span.entry-more {
            span.entry-age { (age(frame, entry.time())) }
            @if let Some(text) = entry.text().filter(|_| !is_whole) {
                " " span.excerpt dir="auto" { (first_line(entry, text)) }
            }
        }
    };
    html! {
        li #(anchor(entry.place.id)) class=(class) data-item {
            @match &address {
                Some(address) => a.entry-row href=(address) data-open { (lines) },
                None => div.entry-row { (lines) },
            }
            @if let Some(text) = entry.text().filter(|_| is_whole) {
                (message(frame, headline_of(text).map_or(text, |(_, rest)| rest)))
            }
            @if let Some((_, tool)) = &tool { (tool) }
        }
    }
}

/// The id of the element that shows an entry.
fn anchor(id: EntryId) -> String {
    id.to_string().replace(':', "-")
}

/// The headline of a row: the people and their action.
fn headline(row: &Row<'_>) -> Markup {
    let Row(entries) = row;
    html! {
        @match entries {
            [entry] => {
                @if let Some(name) = actor(entry) { strong { (name) } " " }
                (deed(entry))
                @if let InboxEvent::Comment { title, .. } = &entry.event {
                    " " (title.as_deref().unwrap_or("[deleted story]"))
                }
            }
            followers => { strong { (names(followers)) } " follow you" }
        }
    }
}

/// The names of several followers.
fn names(followers: &[InboxEntry]) -> String {
    let names: Vec<&str> = followers.iter().filter_map(|entry| entry.username.as_deref()).collect();
    let (first, last) = match names.len() {
        count if count > NAMED_FOLLOWERS => {
            let others = count - (NAMED_FOLLOWERS - 1);
            (names.get(..NAMED_FOLLOWERS - 1), format!("{others} others"))
        }
        count => (names.get(..count.saturating_sub(1)), names.last().copied().unwrap_or_default().to_owned()),
    };
    format!("{} and {last}", first.unwrap_or_default().join(", "))
}

/// The person who did it; `None` for moderators who are not named, and for entries that are not shown.
fn actor(entry: &InboxEntry) -> Option<&str> {
    if let InboxEvent::Answer { is_named: true, .. } = &entry.event {
        return Some(entry.username.as_deref().unwrap_or(DELETED_USER));
    }
    let is_named = entry.place.id.kind() != Kind::Moderation && !is_collapsed(entry);
    is_named.then(|| entry.username.as_deref().unwrap_or(DELETED_USER))
}

/// The event in words, up to the title of the story. A message of a moderator begins with what happened.
fn deed(entry: &InboxEntry) -> Cow<'_, str> {
    let words = match (&entry.event, entry.place.id) {
        (InboxEvent::Comment { .. }, EntryId::Mention(_)) => "mentioned you on",
        (InboxEvent::Comment { target: ReplyTarget::OwnComment, .. }, _) => "replied to your comment on",
        (InboxEvent::Comment { target: ReplyTarget::OwnStory, .. }, _) => "commented on your story",
        (InboxEvent::Comment { .. }, _) => "commented on",
        (InboxEvent::Tweet { .. }, _) => "mentioned you in a post",
        (InboxEvent::Follow, _) => "follows you",
        (InboxEvent::Message { text, title }, _) => {
            let headline = headline_of(text).map_or("Message from a moderator", |(headline, _)| headline);
            match title {
                Some(title) => return format!("“{title}”: {}", decapitalized(headline)).into(),
                None => headline,
            }
        }
        (InboxEvent::Answer { is_named: true, .. }, _) => "answered your message to the moderators",
        (InboxEvent::Answer { .. }, _) => "A moderator answered you",
        (InboxEvent::Collapsed(Collapsed::MutedPerson), _) => "Something by someone you muted",
        (InboxEvent::Collapsed(Collapsed::MutedWord), _) => "Something with a word you muted",
        (InboxEvent::Collapsed(Collapsed::Flagged), _) => "Something hidden by readers' flags",
        (
            InboxEvent::Collapsed(
                Collapsed::Removed | Collapsed::Held | Collapsed::Unwanted | Collapsed::Deleted,
            ),
            _,
        ) => "Something that is not shown",
    };
    words.into()
}

/// The first line of a message of a moderator, which says what happened, and the rest.
fn headline_of(text: &str) -> Option<(&str, &str)> {
    text.split_once("\n\n")
}

/// Whether there is only a line for an entry, which does not name anybody.
const fn is_collapsed(entry: &InboxEntry) -> bool {
    matches!(entry.event, InboxEvent::Collapsed(_))
}

/// Whether the entry is about a comment on a story that is still there.
const fn can_be_answered(entry: &InboxEntry) -> bool {
    matches!(entry.event, InboxEvent::Comment { is_open: true, .. })
}

/// An entry in a few words, for the names of buttons and the feed.
pub fn description(entry: &InboxEntry) -> String {
    let title = match &entry.event {
        InboxEvent::Comment { title, .. } => Some(title.as_deref().unwrap_or("[deleted story]")),
        _ => None,
    };
    let deed = deed(entry);
    actor(entry).into_iter().chain([&*deed]).chain(title).collect::<Vec<_>>().join(" ")
}

/// The page of what an entry is about.
pub fn destination(entry: &InboxEntry) -> Option<String> {
    if is_collapsed(entry) {
        return None;
    }
    match entry.place.id {
        EntryId::Reply(address) | EntryId::Mention(address) => Some(comment_address(address)),
        EntryId::Tweet(id) => Some(tweet_address(id)),
        EntryId::Follow(_) => entry.username.as_deref().map(|name| profile_address(name, "")),
        EntryId::Moderation(_) => None,
        EntryId::Answer(address) => Some(answer_address(address)),
    }
}

/// The beginning of a text, without markup.
fn first_line(entry: &InboxEntry, text: &str) -> String {
    match entry.place.id {
        EntryId::Reply(_) | EntryId::Mention(_) => excerpt(text),
        EntryId::Moderation(_) => shortened(headline_of(text).map_or(text, |(_, rest)| rest)),
        EntryId::Tweet(_) | EntryId::Follow(_) | EntryId::Answer(_) => shortened(text),
    }
}

/// A message of a moderator, with a link to the page of the decision.
fn message(frame: &Frame<'_>, text: &str) -> Markup {
    let start = text.char_indices().nth(MESSAGE_CHARACTERS).and_then(|(end, _)| text.get(..end));
    let text = start.map_or(Cow::Borrowed(text), |start| Cow::Owned(format!("{start}…")));
    html! { p.entry-message dir="auto" { (autolink(&text, frame.link_target())) } }
}

/// The form that answers a comment where its entry is. Its text is also the draft of the reply's own page.
fn reply_form(
    frame: &Frame<'_>,
    entry: &InboxEntry,
    CommentAddress { news, comment }: CommentAddress,
) -> Markup {
    let name = actor(entry).unwrap_or(DELETED_USER);
    html! {
        details.entry-tool {
            summary { "reply" span.hidden { " to " (name) } }
            form.form method="post" action="/postcomment" {
                (frame.signed_fields())
                input type="hidden" name="news_id" value=(news);
                input type="hidden" name="comment_id" value="-1";
                input type="hidden" name="parent_id" value=(comment);
                textarea.one-line name="comment" rows="1" required
                    aria-label={ "Reply to " (name) } data-draft=(draft_key(frame, &format!("reply/{news}/{comment}"))) {}
                button.button.small { "Reply" }
            }
        }
    }
}

/// The button for what has no page that would mark it as read.
fn read_form(frame: &Frame<'_>, entry: &InboxEntry, back: &str) -> Markup {
    let id = entry.place.id;
    html! {
        form.entry-tool method="post" action="/readinbox" {
            (frame.signed_fields())
            input type="hidden" name="id" value=(id);
            input type="hidden" name="next" value={ (back) "#" (anchor(id)) };
            button.mark { "mark as read" span.hidden { ": " (description(entry)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::values::UserId;

    fn follower(id: u64, name: &str) -> InboxEntry {
        let place = InboxCursor { time: 1.0, id: EntryId::Follow(UserId(id)) };
        InboxEntry { place, read: false, username: Some(name.into()), event: InboxEvent::Follow }
    }

    #[test]
    fn three_followers_are_named_and_more_are_counted() {
        let all = ["alice", "bob", "carol", "dave", "eve"];
        let followers: Vec<InboxEntry> = (1..).zip(all).map(|(id, name)| follower(id, name)).collect();
        for (count, expected) in [
            (2, "alice and bob"),
            (3, "alice, bob and carol"),
            (4, "alice, bob and 2 others"),
            (5, "alice, bob and 3 others"),
        ] {
            assert_eq!(names(&followers[..count]), expected);
        }
    }
}
