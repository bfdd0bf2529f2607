//! Rules of inboxes: their entries, what is unread, and the badge.

use crate::accounts::inbox::{self, EntryId};
use crate::keys::{self, families};
use crate::store_rules::claims::{counter_fault, whole};
use crate::store_rules::{Claims, Form, Location, Mend, Source, Subject, claims, form, is, rules};
use crate::values::UserId;
use tidings_keyspace::read;

rules! { pub(crate) RULES:
    "the badge of a user is the number of unread entries of the inbox" => USER: claims(badge);
    "an entry of an inbox is about something that exists, or about a tweet" =>
        USER_INBOX: form(Form::Member(is::<EntryId>), "entries of an inbox");
        USER_INBOX: claims(entry);
    "what is unread is in the inbox" =>
        USER_UNREAD: form(Form::Member(is::<EntryId>), "entries of an inbox");
        USER_UNREAD: claims(unread);
}

fn badge(subject: &Subject, claims: &mut Claims) {
    let (Some(_), Some(id)) = (subject.field("id"), subject.id::<UserId>()) else { return };
    let (key, found) = (subject.key.clone(), subject.value("replies").unwrap_or(0));
    let counts = [keys::user_unread(id), keys::user_inbox(id)].map(read::sorted_count);
    claims.of("replies").add(counts, move |[unread, all]| {
        // Lamer News counts replies without an inbox.
        if unread == 0 && all == 0 { None } else { counter_fault(&key, "replies", found, whole(unread)) }
    });
}

/// The place of what an entry is about; `None` if it may be deleted.
fn about(user: UserId, entry: EntryId) -> Option<Location> {
    Some(match entry {
        EntryId::Reply(address) | EntryId::Mention(address) => {
            Location::Field(keys::thread(address.news), address.comment.to_string())
        }
        EntryId::Tweet(_) => return None,
        EntryId::Follow(id) => Location::Key(keys::user(id)),
        EntryId::Moderation(number) => Location::Field(keys::user_messages(user), number.to_string()),
        EntryId::Answer(address) => {
            Location::Field(keys::message_texts(address.thread), address.message.to_string())
        }
    })
}

fn entry(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(about) = subject.member_id().and_then(|entry| about(user, entry)) else { return };
    let (key, member, mut batch) = (keys::user_unread(user), member.to_owned(), subject.removal());
    let reads = (about.is_there(), read::score(&key, &member));
    claims.expects("entries about what exists", reads, move |(is_there, unread)| {
        if is_there {
            return None;
        }
        inbox::forget(&mut batch, user, &member, unread.is_some());
        let mend = Mend::write(batch, "remove the entry, from the unread ones too");
        Some((format!("the entry {member}, which is about nothing"), mend))
    });
    // Removing an unread entry also lowers the badge of this user.
    claims.besides(Source::existence(keys::user(user)));
}

fn unread(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, score))) = (subject.id::<UserId>(), subject.member()) else { return };
    // Earlier versions wrote other names, and kept unread entries only.
    if member.parse::<EntryId>().is_ok_and(|entry| entry.to_string() == member) {
        claims.listed(keys::user_inbox(user), member, score);
    }
}
