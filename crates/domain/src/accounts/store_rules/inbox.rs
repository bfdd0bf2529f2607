//! Rules of inboxes: their entries, what is unread, and the badge.

use crate::accounts::inbox::{EntryId, forget_messages};
use crate::error::Error;
use crate::keys::{self, families};
use crate::site::Site;
use crate::store_rules::claims::{
    Claims, Fault, Found, Mend, count_in, counter_fault, number, score, score_in,
};
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::store_rules::{CHECKS_AT_ONCE, Rule};
use crate::values::clock::Moment;
use crate::values::ids::UserId;
use crate::values::limits::{INBOX_OVERFLOW, INBOX_SIZE};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use tidings_keyspace::{Answer, Batch, Expiry, Order, Read, read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::USER, "the badge of a user is the number of unread entries of the inbox", badge),
    Rule::claims(
        &families::USER_INBOX,
        "an entry of an inbox is about something that exists, or about a tweet",
        entry,
    ),
    Rule::claims(&families::USER_UNREAD, "what is unread is in the inbox", unread),
    Rule::rounds(&families::USER_INBOX, "an inbox is not longer than it may be", lengths),
];

fn badge(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    if hash.get("id").is_none() {
        return;
    }
    let found = number(hash, "replies").unwrap_or(0);
    let key = subject.key.clone();
    let reads = vec![Read::SortedCount(keys::user_unread(id)), Read::SortedCount(keys::user_inbox(id))];
    claims.of("replies").add(reads, move |answers| {
        let (unread, all) = (count_in(answers, 0), count_in(answers, 1));
        // Lamer News counts replies without an inbox.
        if unread == 0 && all == 0 {
            return None;
        }
        counter_fault(&key, "replies", found, unread)
    });
}

/// The read that shows whether what an entry is about exists; `None` if that may be deleted.
fn about(user: UserId, entry: EntryId) -> Option<Read> {
    let field = |key: String, field: String| Read::HashFields(key, vec![field]);
    Some(match entry {
        EntryId::Reply(address) | EntryId::Mention(address) => {
            field(keys::thread(address.news), address.comment.to_string())
        }
        EntryId::Tweet(_) => return None,
        EntryId::Follow(id) => Read::Expiry(keys::user(id)),
        EntryId::Moderation(number) => field(keys::user_messages(user), number.to_string()),
        EntryId::Answer(address) => field(keys::message_texts(address.thread), address.message.to_string()),
    })
}

fn is_there(answer: &Answer) -> bool {
    match answer {
        Answer::Expiry(expiry) => *expiry != Expiry::Absent,
        Answer::Texts(texts) => texts.iter().any(Option::is_some),
        _ => true,
    }
}

fn entry(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(entry) = claims.member::<EntryId>("entries of an inbox") else { return };
    let Some(about) = about(user, entry) else { return };
    let (unread, member, removal) = (keys::user_unread(user), member.to_owned(), subject.removal());
    let reads = vec![about, score(&unread, &member)];
    claims.expects("entries about what exists", reads, move |answers| {
        if answers.first().is_none_or(is_there) {
            return None;
        }
        let mut batch = removal.clone();
        if score_in(answers, 1).is_some() {
            batch.sorted_member_present(&unread, &member);
            batch.sorted_remove(&unread, &member);
            batch.lower_field(keys::user(user), "replies", 1);
        } else {
            batch.sorted_member_absent(&unread, &member);
        }
        let mend = Mend::write(batch, "remove the entry, from the unread ones too");
        Some((format!("the entry {member}, which is about nothing"), mend))
    });
    // Removing an unread entry also lowers the badge of this user.
    claims.besides(Source::existence(keys::user(user)));
}

fn unread(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, score))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(entry) = claims.member::<EntryId>("entries of an inbox") else { return };
    // Earlier versions wrote other names, and kept unread entries only.
    if entry.to_string() != member {
        return;
    }
    let mut guard = Batch::new();
    guard.sorted_member_present(&subject.key, member);
    claims.listed(keys::user_inbox(user), member, (None, score), &guard);
}

/// People who write to one inbox at the same time make it a little longer, until the next entry.
fn lengths<'a>(
    site: &'a Site,
    _: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    let found = stream::iter(subjects).map(|subject| inbox_length(site, subject));
    Box::pin(found.buffered(CHECKS_AT_ONCE).try_collect())
}

async fn inbox_length(site: &Site, subject: &Subject) -> Result<Option<Found>, Error> {
    let (SubjectItem::Whole, Some(user)) = (&subject.item, subject.id::<UserId>()) else { return Ok(None) };
    let (inbox, unread) = (&subject.key, keys::user_unread(user));
    let (count, oldest) = site
        .store
        .fetch((
            read::sorted_count(inbox),
            read::sorted_range(inbox, Order::Descending, INBOX_SIZE, u64::MAX),
        ))
        .await?;
    if count <= INBOX_SIZE + INBOX_OVERFLOW {
        return Ok(None);
    }
    let members: Vec<String> = oldest.into_iter().map(|(member, _)| member).collect();
    let scores = site.store.fetch(read::scores(&unread, members.clone())).await?;
    let mut batch = Batch::new();
    for (member, score) in members.iter().zip(scores) {
        batch.sorted_remove(inbox, member);
        if score.is_some() {
            batch.sorted_member_present(&unread, member);
            batch.sorted_remove(&unread, member);
            batch.lower_field(keys::user(user), "replies", 1);
        } else {
            batch.sorted_member_absent(&unread, member);
        }
    }
    forget_messages(&mut batch, user, &members);
    let mend = Mend::write(batch, "remove the oldest entries");
    let fault = Fault::too_long(inbox.clone(), count, INBOX_SIZE, mend);
    Ok(Some(Found::of(
        fault,
        vec![Source::all(inbox), Source::all(unread), Source::existence(keys::user(user))],
    )))
}
