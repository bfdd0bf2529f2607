//! The mails that people subscribe to: entries of their inbox, and digests. Plain text. Texts by
//! strangers are repeated so that mail programs make no links of them.

use super::rows::{description, destination};
use crate::mail::Letter;
use crate::markup::addresses::{MAIL_SETTINGS, news_address};
use crate::settings::SiteSettings;
use std::fmt::Write;
use tidings_domain::User;
use tidings_domain::accounts::outbox::{MailKind, WaitingMail};
use tidings_domain::digests::{DigestOf, DigestStory};
use tidings_domain::inbox::InboxEntry;
use tidings_domain::moderation::appeals::AppealAnswer;
use tidings_domain::values::text::printable_lines;
use tidings_domain::values::{Digest, MAX_DAILY_MAILS, MAX_MAILED_TEXT, ModerationId};
use tidings_language::lists::enumerated;
use tidings_language::{n, p, t};

/// Where somebody unsubscribes with a token.
pub fn unsubscribe_address(token: &str) -> String {
    format!("/unsubscribe/{token}")
}

/// The subject and the text of the answer to an appeal.
pub fn appeal_answer(site: &SiteSettings, id: ModerationId, answer: &AppealAnswer) -> (String, String) {
    let (id, site_name) = (id.to_string(), &site.name);
    let outcome = if answer.granted {
        t!(
            "Your appeal against entry {id} of the moderation log of {site} was granted. The decision has been undone.",
            id,
            site = site_name,
        )
    } else {
        t!(
            "Your appeal against entry {id} of the moderation log of {site} was rejected.",
            id,
            site = site_name,
        )
    };
    let reason =
        if answer.reason.is_empty() { String::new() } else { format!("{}\n\n", quoted(&answer.reason)) };
    let body = format!(
        "{}\n\n{outcome}\n\n{reason}{}\n",
        t!("Hello {name},", name = &answer.to.username),
        site.link("/moderations")
    );
    (t!("Your appeal at {site}", site = site_name).into(), with_note(body))
}

/// The subject and the text of an answer of the moderators to somebody who cannot log in.
pub fn moderators_answer(site: &SiteSettings, member: &User, text: &str) -> (String, String) {
    let body = format!(
        "{}\n\n{}\n\n{}\n\n{}\n",
        t!("Hello {name},", name = &member.username),
        t!("The moderators of {site} have looked at what you wrote to them:", site = &site.name),
        quoted(text),
        t!("To write again, log in: {address}", address = site.link("/login"))
    );
    (t!("Your message to the moderators of {site}", site = &site.name).into(), with_note(body))
}

/// An entry of an inbox to mail.
pub struct EntryLetter {
    /// To whom.
    pub user: User,
    /// The entry.
    pub entry: InboxEntry,
}

impl EntryLetter {
    /// The mail about the entry.
    pub fn letter(&self, site: &SiteSettings, mail: &WaitingMail, unsubscribe: String) -> Letter {
        let what = unlinked(&description(&self.entry));
        let text = self.entry.text().map(quoted).unwrap_or_default();
        let read = destination(&self.entry).map_or_else(
            || t!("Your inbox: {address}", address = site.link("/inbox")),
            |address| t!("Read it and reply: {address}", address = site.link(&address)),
        );
        let thread = self.entry.place.id.comment();
        let thread = thread.map(|address| message_id(site, &format!("story.{}", address.news)));
        let subscribed = Subscribed { site, mail, kind: MailKind::Replies, user: &self.user, unsubscribe };
        let (subject, text) = (format!("{what} ({})", site.name), format!("{what}:\n\n{text}\n\n{read}\n"));
        Letter { thread, ..subscribed.letter(subject, text) }
    }

    /// The mail that says that there is more.
    pub fn more(&self, site: &SiteSettings, mail: &WaitingMail, unsubscribe: String) -> Letter {
        let text = format!(
            "{}\n\n{}\n\n{}\n",
            n!(
                MAX_DAILY_MAILS,
                "We've sent you {count} e-mail since yesterday. There is more in your inbox:",
                "We've sent you {count} e-mails since yesterday. There is more in your inbox:",
            ),
            site.link("/inbox?kind=unread"),
            t!("We won't send any more for a few hours.")
        );
        let subject = t!("There is more in your inbox ({site})", site = &site.name).into();
        Subscribed { site, mail, kind: MailKind::Replies, user: &self.user, unsubscribe }
            .letter(subject, text)
    }
}

/// A mail of a kind that somebody has subscribed to.
struct Subscribed<'a> {
    site: &'a SiteSettings,
    mail: &'a WaitingMail,
    kind: MailKind,
    user: &'a User,
    /// The address to unsubscribe.
    unsubscribe: String,
}

impl Subscribed<'_> {
    /// The mail with a subject and a text.
    fn letter(self, subject: String, text: String) -> Letter {
        let body = with_note(text) + &self.foot();
        let message_id = message_id(self.site, &self.mail.to_string());
        let (to, unsubscribe) = (self.user.email.clone(), self.unsubscribe);
        Letter { to, subject, body, unsubscribe, message_id, thread: None }
    }

    /// Why somebody gets the mail, and how to switch it off.
    fn foot(&self) -> String {
        let (site, name) = (&self.site.name, &self.user.username);
        let why = match self.kind {
            MailKind::Replies => t!(
                "You get this because you asked for mail about replies, mentions and messages from moderators at {site}, as {name}.",
                site,
                name,
            ),
            MailKind::Digest => t!(
                "You get this because you asked for digests of the best stories at {site}, as {name}.",
                site,
                name,
            ),
        };
        format!(
            "\n-- \n{why}\n{}\n{}\n",
            t!("Unsubscribe: {address}", address = &self.unsubscribe),
            t!("All settings: {address}", address = self.site.link(MAIL_SETTINGS))
        )
    }
}

/// The text of a comment, tweet or message, without links; the beginning of a long one.
fn quoted(text: &str) -> String {
    let text = printable_lines(text).into_owned();
    match text.char_indices().nth(MAX_MAILED_TEXT) {
        None => unlinked(&text),
        Some((end, _)) => format!("{}…", unlinked(text.get(..end).unwrap_or_default())),
    }
}

/// The mail, which says once that [`unlinked`] has changed links in it, if it has.
fn with_note(mut body: String) -> String {
    if ["[.]", "[:]", "[@]", r"[\]"].iter().any(|bracketed| body.contains(bracketed)) {
        body.push_str(&format!("\n{}\n", t!("(Links that people typed are shown but not active.)")));
    }
    body
}

/// A text of which no mail program makes links: `https://news.example` becomes
/// `https[:]//news[.]example`. The characters that an address needs are put in brackets: the colon
/// of a scheme, the last dots of a name, the `@` of a mail address, the backslashes of a path on a
/// server.
pub fn unlinked(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    for (at, character) in text.char_indices() {
        let after = text.get(at + character.len_utf8()..).unwrap_or_default();
        let is_part = |other: Option<char>| other.is_some_and(char::is_alphanumeric);
        let is_of_link = match character {
            ':' => {
                is_part(before) && (after.starts_with("//") || is_scheme(text.get(..at).unwrap_or_default()))
            }
            '@' => is_part(after.chars().next()),
            '.' if is_in_number(text, at) => false,
            // Browsers take the full stops of other scripts for dots.
            '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => is_part(before) && begins_with_label(after),
            '\\' => after.starts_with('\\'),
            _ => false,
        };
        if is_of_link {
            shown.extend(['[', character, ']']);
        } else {
            shown.push(character);
        }
        before = Some(character);
    }
    shown
}

/// Whether a dot is in the middle of a number, such as 1.95 or the version 4.0.2. Four numbers are an
/// address.
fn is_in_number(text: &str, at: usize) -> bool {
    let is_of_number = |character: char| character.is_ascii_digit() || character == '.';
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
    let start = before.trim_end_matches(is_of_number).len();
    let end = at + 1 + after.len() - after.trim_start_matches(is_of_number).len();
    let number = text.get(start..end).unwrap_or_default().trim_end_matches('.');
    let is_alone =
        !text.get(end..).unwrap_or_default().starts_with(|next: char| next.is_alphanumeric() || next == '-');
    is_alone && !number.starts_with('.') && number.matches('.').count() < 3
}

/// Whether a text ends with the name of a scheme that programs open without slashes.
fn is_scheme(text: &str) -> bool {
    let word = text.rsplit(|character: char| !character.is_ascii_alphanumeric()).next().unwrap_or_default();
    ["mailto", "tel", "sms", "javascript", "data", "file", "news", "xmpp", "sip", "magnet"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a text begins as what may follow a dot in the name of a host: at least two letters or
/// digits, or one digit, so that "e.g." and the end of a sentence stay as they are.
fn begins_with_label(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next().filter(|character| character.is_alphanumeric());
    first.is_some_and(|first| first.is_ascii_digit() || characters.next().is_some_and(char::is_alphanumeric))
}

/// The id of a message, made of the name of what it is about.
fn message_id(site: &SiteSettings, name: &str) -> String {
    format!("<{}@{}>", name.replace(':', "."), site.url.host_str().unwrap_or("localhost"))
}

/// The mail with a digest.
pub fn digest(site: &SiteSettings, mail: &WaitingMail, digest: &DigestOf, unsubscribe: String) -> Letter {
    let subject = match digest.user.preferences.digest {
        Digest::Weekly => t!("The best stories this week ({site})", site = &site.name),
        Digest::Daily | Digest::Off => t!("The best stories today ({site})", site = &site.name),
    };
    let mut body = format!("{}\n", t!("Hello {name},", name = &digest.user.username));
    let of_topics = if digest.is_of_topics {
        t!("The best new stories in your topics")
    } else {
        t!("The best new stories")
    };
    for (heading, stories) in [(of_topics, &digest.best), (t!("From people you follow"), &digest.followed)] {
        if !stories.is_empty() {
            write!(body, "\n{heading}\n").ok();
            stories.iter().for_each(|story| write_story(&mut body, site, story));
        }
    }
    Subscribed { site, mail, kind: MailKind::Digest, user: &digest.user, unsubscribe }
        .letter(subject.into(), body)
}

fn write_story(body: &mut String, site: &SiteSettings, DigestStory { news, author }: &DigestStory) {
    let host = news.link().map(|link| format!(" ({})", link.host)).unwrap_or_default();
    let votes = n!(news.votes()[0].unsigned_abs(), "{count} vote", "{count} votes");
    let comments = n!(news.comments, "{count} comment", "{count} comments");
    let by = author.as_deref().map(|author| p!("by {author}", author = unlinked(author)));
    write!(
        body,
        "\n* {}\n  {}\n  {}\n",
        unlinked(&format!("{}{host}", news.title)),
        enumerated([votes, comments].into_iter().chain(by)),
        site.link(&news_address(news.id))
    )
    .ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mail_program_makes_a_link_of_what_a_stranger_has_written() {
        for (text, shown) in [
            ("See https://evil.example/a?b.c", "See https[:]//evil[.]example/a?b.c"),
            ("HTTP://1.2.3.4 and 10.20.30.40", "HTTP[:]//1[.]2[.]3[.]4 and 10[.]20[.]30[.]40"),
            ("Rust 1.95 and 4.10.21, see 3.14.", "Rust 1.95 and 4.10.21, see 3.14."),
            ("1.2com.example 1.23.io", "1[.]2com[.]example 1[.]23[.]io"),
            ("www.evil.example", "www[.]evil[.]example"),
            ("write to bob@evil.example", "write to bob[@]evil[.]example"),
            ("mailto:bob", "mailto[:]bob"),
            ("bücher.example", "bücher[.]example"),
            ("evil。example", "evil[。]example"),
            (r"\\server\share", r"[\]\server\share"),
            (
                "It is 12:30, e.g. 1.5 times.\n.\nNote: <b>*@* the end</b>",
                "It is 12:30, e.g. 1.5 times.\n.\nNote: <b>*@* the end</b>",
            ),
        ] {
            assert_eq!(unlinked(text), shown);
        }
    }
}
