//! The rows of the inbox: who has done what, and the beginning of the text, in two lines. The row is the link to
//! what it is about.

use crate::limits::MESSAGE_CHARACTERS;
use crate::markup::Frame;
use crate::markup::addresses::{
    comment_address, message_address as answer_address, profile_address, tweet_address,
};
use crate::markup::autolink::autolink;
use crate::markup::fields::draft_key;
use crate::markup::head::{excerpt, shortened};
use crate::markup::parts::{ButtonForm, age, deleted_user, label_of};
use maud::{Markup, html};
use std::borrow::Cow;
use tidings_domain::accounts::inbox::{EntryId, InboxCursor};
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::inbox::{InboxEntry, InboxEvent, ReplyTarget};
use tidings_domain::values::CommentAddress;
use tidings_domain::values::words::decapitalized;
use tidings_language::lists::{enumerated, list};
use tidings_language::{Argument, Phrase, n, p, t};

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
    // The story of the comment is still there.
    let can_be_answered = matches!(entry.event, InboxEvent::Comment { is_open: true, .. });
    let reply = entry.place.id.comment().filter(|_| can_be_answered);
    let tool = match (reply, &address) {
        (Some(comment), _) => Some(("with-reply", reply_form(frame, entry, comment))),
        (None, None) if !entry.read => Some(("with-button", read_form(frame, entry, back))),
        (None, _) => None,
    };
    let class = ["entry"].into_iter().chain((!entry.read).then_some("unread"));
    let class = class.chain(tool.as_ref().map(|(class, _)| *class)).collect::<Vec<_>>().join(" ");
    let lines = html! {
        span.entry-what dir="auto" {
            @if !entry.read { span.hidden { (t!("Unread:")) " " } }
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
            [entry] => (deed(entry, html! { strong { (actor(entry)) } })),
            followers => (followed_by(followers)),
        }
    }
}

/// "bob, carol and 2 others follow you".
fn followed_by(followers: &[InboxEntry]) -> Phrase<'static> {
    let mut names: Vec<String> =
        followers.iter().filter_map(|entry| Some(entry.username.as_deref()?.to_owned())).collect();
    let named = if names.len() > NAMED_FOLLOWERS { NAMED_FOLLOWERS - 1 } else { names.len() };
    let others = names.split_off(named).len();
    match others {
        0 => p!("{names} follow you", names = html! { strong { (list(&names)) } }),
        others => n!(
            others,
            "{names} and {count} other follow you",
            "{names} and {count} others follow you",
            names = html! { strong { (enumerated(&names)) } }
        ),
    }
}

/// The person who did it.
fn actor(entry: &InboxEntry) -> &str {
    entry.username.as_deref().unwrap_or(deleted_user())
}

/// The event in words. Moderators who are not named and entries that are not shown are without the name of the person.
/// A message of a moderator begins with what happened.
fn deed<'a>(entry: &'a InboxEntry, name: impl Into<Argument<'a>>) -> Phrase<'a> {
    match &entry.event {
        InboxEvent::Comment { title, target, .. } => {
            let title = title.as_deref().unwrap_or(t!("[deleted story]"));
            match (entry.place.id, target) {
                (EntryId::Mention(_), _) => p!("{name} mentioned you on {title}", name, title),
                (_, ReplyTarget::OwnComment) => {
                    p!("{name} replied to your comment on {title}", name, title)
                }
                (_, ReplyTarget::OwnStory) => p!("{name} commented on your story {title}", name, title),
                _ => p!("{name} commented on {title}", name, title),
            }
        }
        InboxEvent::Tweet { .. } => p!("{name} mentioned you in a post", name),
        InboxEvent::Follow => p!("{name} follows you", name),
        InboxEvent::Message { text, title } => {
            let headline = headline_of(text).map_or(t!("Message from a moderator"), |(headline, _)| headline);
            match title {
                Some(title) => p!("“{title}”: {headline}", title, headline = decapitalized(headline)),
                None => p!("{headline}", headline),
            }
        }
        InboxEvent::Answer { is_named: true, .. } => {
            p!("{name} answered your message to the moderators", name)
        }
        InboxEvent::Answer { .. } => p!("A moderator answered you"),
        InboxEvent::Collapsed(Collapsed::MutedPerson) => p!("Something by someone you muted"),
        InboxEvent::Collapsed(Collapsed::MutedWord) => p!("Something with a word you muted"),
        InboxEvent::Collapsed(Collapsed::Flagged) => p!("Something hidden by readers' flags"),
        InboxEvent::Collapsed(
            Collapsed::Removed | Collapsed::Held | Collapsed::Unwanted | Collapsed::Deleted,
        ) => p!("Something that is not shown"),
    }
}

/// The first line of a message of a moderator, which says what happened, and the rest.
fn headline_of(text: &str) -> Option<(&str, &str)> {
    text.split_once("\n\n")
}

/// An entry in a few words, for the names of buttons and the feed.
pub fn description(entry: &InboxEntry) -> String {
    deed(entry, actor(entry)).into()
}

/// The page of what an entry is about.
pub fn destination(entry: &InboxEntry) -> Option<String> {
    // There is only a line for it, which does not name anybody.
    if matches!(entry.event, InboxEvent::Collapsed(_)) {
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
    let name = actor(entry);
    html! {
        details.entry-tool {
            summary { (t!("verb" => "reply")) span.hidden { " " (t!("reply" => "to {name}", name)) } }
            form.form method="post" action="/postcomment" {
                (frame.signed_fields())
                input type="hidden" name="news_id" value=(news);
                input type="hidden" name="comment_id" value="-1";
                input type="hidden" name="parent_id" value=(comment);
                textarea.one-line name="comment" rows="1" required
                    aria-label=(t!("Reply to {name}", name)) data-draft=(draft_key(frame, &format!("reply/{news}/{comment}"))) {}
                button.button.small { (t!("button" => "Reply")) }
            }
        }
    }
}

/// The button for what has no page that would mark it as read.
fn read_form(frame: &Frame<'_>, entry: &InboxEntry, back: &str) -> Markup {
    let id = entry.place.id;
    let fields = [("id", &*id.to_string()), ("next", &format!("{back}#{}", anchor(id)))];
    let form = ButtonForm { class: "entry-tool", action: "/readinbox", fields: &fields, button: "mark" };
    form.render(frame, label_of(t!("mark as read"), description(entry)))
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
            (2, "<strong>alice and bob</strong> follow you"),
            (3, "<strong>alice, bob and carol</strong> follow you"),
            (4, "<strong>alice, bob</strong> and 2 others follow you"),
            (5, "<strong>alice, bob</strong> and 3 others follow you"),
        ] {
            assert_eq!(followed_by(&followers[..count]).to_string(), expected);
        }
    }
}
