//! Rules of comments.

use crate::comments::comment::{self, Comment};
use crate::draws::NEXT_ID;
use crate::keys::{self, families};
use crate::news::discounted::DiscountedVotes;
use crate::records::RecordEntries;
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Fault, Mend, counter_fault, field_in, fields, is_absent, number};
use crate::store_rules::entries::{self, ListedMember};
use crate::store_rules::subject::Subject;
use crate::values::ids::{CommentAddress, CommentId, NewsId};
use crate::values::withheld::Withheld;
use std::collections::HashSet;
use tidings_keyspace::{Batch, Hash, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(
        &families::THREAD_COMMENT,
        "a comment has its form, an author, a story and the comment that it replies to",
        form,
    ),
    Rule::claims(&families::THREAD_COMMENT, "a comment has one vote of each user", voted_once),
    Rule::claims(&families::THREAD_COMMENT, "a comment has its votes, among them its author's", votes),
    Rule::claims(&families::NEWS, "a story with comments has its thread", has_thread),
    Rule::claims(
        &families::THREAD_COMMENT,
        "a story counts the comments that are neither deleted nor withheld",
        counted,
    ),
    Rule::claims(&families::THREAD_COMMENT, "no comment has a number above the last that was drawn", drawn),
    Rule::claims(
        &families::THREAD_COMMENT,
        "a comment is in the list of its author, or in that of unseen posts if it was never shown, and names what removed it",
        listed,
    ),
    Rule::claims(
        &families::USER_COMMENTS,
        "the list of a user's comments has only comments of that user",
        of_user,
    ),
];

const LOST: Mend = Mend::Person(
    "restore the thread from a backup; if it is lost, set comments of the story to 0 and remove its comments from the lists of their authors",
);

/// The comments of a thread, and the fields that are none or whose state cannot be read.
pub(crate) fn comments_of(news: NewsId, hash: &Hash) -> (Vec<Comment>, Vec<&str>) {
    let (mut comments, mut others) = (Vec::new(), Vec::new());
    for (field, json) in hash.0.iter().filter(|(field, _)| field != NEXT_ID) {
        match Comment::from_field(news, field, json) {
            Some(comment) => {
                if comment.withheld.as_ref().is_some_and(Withheld::is_unreadable) {
                    others.push(field.as_str());
                }
                comments.push(comment);
            }
            None => others.push(field.as_str()),
        }
    }
    (comments, others)
}

fn form(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    let (comments, others) = comments_of(news, hash);
    for field in others {
        let expected = "a comment as docs/data-layout.md says";
        claims.of(field).malformed(format_args!("the field {field:?}"), expected);
    }
    let mend = Mend::Person("restore the story from a backup, or delete the thread");
    claims.refers(format!("comments on the story {news}"), keys::news(news), mend);
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let mut authors = HashSet::new();
    for comment in &comments {
        let (id, author) = (comment.id, comment.user_id);
        if let Some(parent) = comment.parent_id.filter(|parent| !ids.contains(parent)) {
            let found = format!("comment {id} replies to {parent}, which does not exist");
            claims.of(id).malformed(found, "an existing comment, or -1");
        }
        if authors.insert(author) {
            let mend = Mend::Person("restore the user from a backup, or delete the comments");
            claims.of(id).refers(format!("comments of the user {author}"), keys::user(author), mend);
        }
    }
}

/// Authors have voted up by writing, so a comment without that vote has lost votes.
fn votes(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for (field, json) in hash.0.iter().filter(|(field, _)| field != NEXT_ID) {
        let Some(comment) = Comment::from_field(news, field, json) else { continue };
        let (id, author) = (comment.id, comment.user_id);
        for list in comment::unreadable_votes(json) {
            let found = format!("comment {id} with votes {list} that cannot be read");
            claims.of(id).malformed(found, format_args!("a list of users in {list}"));
        }
        if comment.up.contains(&author.0) {
            continue;
        }
        let (key, found) =
            (subject.key.clone(), format!("comment {id} without the vote of its author {author}"));
        let reads = vec![fields(keys::news_discounted(news), [&author.to_string()])];
        claims.of(id).add(reads, move |answers| {
            // Or moderators have taken it out.
            let votes = DiscountedVotes::read(news, author, field_in(answers, 0, 0));
            (!votes.comments.contains_key(&id.0)).then(|| Fault {
                key: key.clone(),
                found: found.clone(),
                expected: "the author among those who voted up".to_owned(),
                mend: LOST_VOTES,
            })
        });
    }
}

const LOST_VOTES: Mend =
    Mend::Person("restore the comment from a backup; if its votes are lost, add the author to its list up");

/// Lamer News takes votes up and down of one person. The vote up counts.
fn voted_once(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for comment in comments_of(news, hash).0 {
        let id = comment.id;
        let (mut settled, mut voters) = (comment.clone(), HashSet::new());
        settled.up.retain(|voter| voters.insert(*voter));
        settled.down.retain(|voter| voters.insert(*voter));
        if voters.len() == comment.up.len() + comment.down.len() {
            continue;
        }
        let mut batch = Batch::new();
        let field = id.to_string();
        batch.field_unchanged(&subject.key, &field, hash.get(&field));
        batch.set_field(&subject.key, field, settled.to_json());
        let words = "keep one vote of each user, and that is the vote up if there is one";
        claims.of(id).wrong(
            format_args!("comment {id} with two votes of a user"),
            "one vote of each user",
            Mend::write(batch, words),
        );
    }
}

fn counted(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    let (comments, others) = comments_of(news, hash);
    if !others.is_empty() {
        return;
    }
    let expected = RecordEntries::of(&comments).count(&keys::news(news), "comments");
    claims.add(vec![fields(keys::news(news), ["id", "comments"])], move |answers| {
        field_in(answers, 0, 0)?;
        let found = field_in(answers, 0, 1).and_then(|count| count.parse().ok()).unwrap_or(0);
        counter_fault(&keys::news(news), "comments", found, expected)
    });
}

fn drawn(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let highest = hash.0.iter().filter_map(|(field, _)| field.parse::<CommentId>().ok()).map(|id| id.0).max();
    let highest = i64::try_from(highest.unwrap_or(0)).unwrap_or(i64::MAX);
    let found = hash.get(NEXT_ID).and_then(|id| id.parse().ok()).unwrap_or(0);
    claims.counts(NEXT_ID, found, highest.max(found));
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for comment in comments_of(news, hash).0 {
        let mut guard = Batch::new();
        let field = comment.id.to_string();
        guard.field_unchanged(&subject.key, &field, hash.get(&field));
        let what = format!("comment {field}");
        let removal = (comment.removed.as_deref(), comment.withheld.as_ref());
        claims.of(&field).removal(what, removal, !comment.was_shown());
        // An erased post may never have been shown.
        if comment.is_erased() {
            continue;
        }
        entries::demand(claims, Some(&field), &comment, &guard);
        if !comment.was_shown() {
            let (list, why) = (keys::user_comments(comment.user_id), "the comment was never shown");
            claims.of(&field).not_listed(list, comment.address(), why, &guard);
        }
    }
}

/// A thread that is gone was lost: stories do not begin again to count.
fn has_thread(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    let count = number(hash, "comments").unwrap_or(0);
    if count <= 0 {
        return;
    }
    let thread = keys::thread(news);
    claims.of("comments").add(vec![Read::Expiry(thread.clone())], move |answers| {
        is_absent(answers, 0).then(|| Fault {
            key: thread.clone(),
            found: "nothing".to_owned(),
            expected: format!("{count} comments or more"),
            mend: LOST,
        })
    });
}

fn of_user(subject: &Subject, claims: &mut Claims) {
    is_entry(subject, claims, "comments of the user", subject.member_id());
}

/// Claims that a member of a list is an entry of a comment; otherwise it is removed.
pub(crate) fn is_entry(
    subject: &Subject,
    claims: &mut Claims,
    expected: &'static str,
    comment: Option<CommentAddress>,
) {
    let Some(address) = comment else { return claims.unreadable(expected) };
    let (list, removal) = (ListedMember::of(subject), subject.removal());
    let (thread, field) = (keys::thread(address.news), address.comment.to_string());
    let reads = vec![fields(thread.clone(), [&field]), Read::Expiry(thread.clone())];
    claims.expects(expected, reads, move |answers| {
        let mut batch = removal.clone();
        let found = match field_in(answers, 0, 0) {
            // No action deletes a thread: it was lost.
            None if is_absent(answers, 1) => {
                let found = format!("the comment {address}, whose thread does not exist");
                return Some((found, LOST));
            }
            None => {
                batch.field_absent(&thread, &field);
                format!("the comment {address}, which does not exist")
            }
            Some(json) => {
                let comment = Comment::of_stored(address.news, field.clone(), json.to_owned())?;
                let is_readable = !comment.withheld.as_ref().is_some_and(Withheld::is_unreadable);
                list.stray(&comment, is_readable, &mut batch)?
            }
        };
        Some((found, Mend::write(batch, "remove the member")))
    });
}
