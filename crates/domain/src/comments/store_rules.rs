//! Rules of comments.

use crate::Comment;
use crate::comments::comment;
use crate::draws::NEXT_ID;
use crate::keys::{self, families};
use crate::news::discounted::DiscountedVotes;
use crate::records::{AsRead, RecordEntries};
use crate::store_rules::claims::counter_fault;
use crate::store_rules::entries::{ListedMember, demand};
use crate::store_rules::{Claims, Fault, Form, Mend, Subject, claims, form, rules};
use crate::values::{CommentAddress, CommentId, NewsId, Withheld};
use std::collections::HashSet;
use std::ops::Deref;
use tidings_keyspace::{Batch, Expiry, read};

rules! { pub(crate) RULES:
    "a comment has its form, an author, a story and the comment that it replies to" =>
        THREAD_COMMENT: claims(well_formed);
    "a comment has one vote of each user" => THREAD_COMMENT: claims(voted_once);
    "a comment has its votes, among them its author's" => THREAD_COMMENT: claims(votes);
    "a story with comments has its thread" => NEWS: claims(has_thread);
    "a story counts the comments that are neither deleted nor withheld" => THREAD_COMMENT: claims(counted);
    "no comment has a number above the last that was drawn" => THREAD_COMMENT: form(Form::Drawn(NEXT_ID), "");
    "a comment is in the list of its author, or in that of unseen posts if it was never shown, and names what removed it" =>
        THREAD_COMMENT: claims(listed);
}

const LOST: Mend = Mend::Person(
    "restore the thread from a backup; if it is lost, set comments of the story to 0 and remove its comments from the lists of their authors",
);

/// The comments of a thread, and the fields that are none or whose state cannot be read.
pub(crate) fn comments_of(thread: &Subject) -> (Vec<AsRead<Comment>>, Vec<&str>) {
    let (mut comments, mut others) = (Vec::new(), Vec::new());
    let Some(news) = thread.id::<NewsId>() else { return (comments, others) };
    for (field, json) in thread.fields().filter(|(field, _)| *field != NEXT_ID) {
        let comment = Comment::of_stored(news, field.to_owned(), json.to_owned());
        if comment.as_ref().is_none_or(|comment| is_unreadable(comment)) {
            others.push(field);
        }
        comments.extend(comment);
    }
    (comments, others)
}

fn is_unreadable(comment: &Comment) -> bool {
    comment.withheld.as_ref().is_some_and(Withheld::is_unreadable)
}

fn well_formed(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(_)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    let (comments, others) = comments_of(subject);
    for field in others {
        let expected = "a comment as docs/data-layout.md says";
        claims.of(field).malformed(format_args!("the field {field:?}"), expected);
    }
    let mend = Mend::Person("restore the story from a backup, or delete the thread");
    claims.refers(format_args!("comments on the story {news}"), keys::news(news), mend);
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
            claims.of(id).refers(format_args!("comments of the user {author}"), keys::user(author), mend);
        }
    }
}

/// Authors have voted up by writing, so a comment without that vote has lost votes.
fn votes(subject: &Subject, claims: &mut Claims) {
    for comment in comments_of(subject).0 {
        let (id, author, news) = (comment.id, comment.user_id, comment.news);
        let json = subject.field(&id.to_string()).unwrap_or_default();
        for list in comment::unreadable_votes(json) {
            let found = format!("comment {id} with votes {list} that cannot be read");
            claims.of(id).malformed(found, format_args!("a list of users in {list}"));
        }
        if comment.up.contains(&author.0) {
            continue;
        }
        let discounted = read::field(keys::news_discounted(news), author.to_string());
        claims.of(id).expects("the author among those who voted up", discounted, move |discounted| {
            // Or moderators have taken it out.
            let votes = DiscountedVotes::read(news, author, discounted.as_deref());
            let found = || (format!("comment {id} without the vote of its author {author}"), LOST_VOTES);
            (!votes.comments.contains_key(&id.0)).then(found)
        });
    }
}

const LOST_VOTES: Mend =
    Mend::Person("restore the comment from a backup; if its votes are lost, add the author to its list up");

/// Lamer News takes votes up and down of one person. The vote up counts.
fn voted_once(subject: &Subject, claims: &mut Claims) {
    for comment in comments_of(subject).0 {
        let (mut settled, mut voters) = (comment.deref().clone(), HashSet::new());
        settled.up.retain(|voter| voters.insert(*voter));
        settled.down.retain(|voter| voters.insert(*voter));
        if voters.len() == comment.up.len() + comment.down.len() {
            continue;
        }
        let (mut batch, id) = (Batch::new(), comment.id);
        comment.rewrite(&mut batch, &settled);
        let words = "keep one vote of each user, and that is the vote up if there is one";
        let found = format!("comment {id} with two votes of a user");
        claims.of(id).wrong(found, "one vote of each user", Mend::write(batch, words));
    }
}

fn counted(subject: &Subject, claims: &mut Claims) {
    let (comments, others) = comments_of(subject);
    let (Some(news), Some(_), true) = (subject.id::<NewsId>(), subject.hash(), others.is_empty()) else {
        return;
    };
    let key = keys::news(news);
    let expected = RecordEntries::of(comments.iter().map(Deref::deref)).count(&key, "comments");
    claims.add(read::fields(&key, ["id", "comments"]), move |[id, count]| {
        id?;
        let found = count.and_then(|count| count.parse().ok()).unwrap_or(0);
        counter_fault(&key, "comments", found, expected)
    });
}

fn listed(subject: &Subject, claims: &mut Claims) {
    for comment in comments_of(subject).0 {
        let field = comment.id.to_string();
        let removed = comment.removed.as_deref();
        claims.of(&field).removal(format_args!("comment {field}"), removed, comment.state());
        // An erased post may never have been shown.
        if !comment.is_erased() {
            demand(claims, Some(&field), &comment);
        }
    }
}

/// A thread that is gone was lost: stories do not begin again to count.
fn has_thread(subject: &Subject, claims: &mut Claims) {
    let count = subject.value::<i64>("comments").filter(|count| *count > 0);
    let (Some(news), Some(count)) = (subject.id::<NewsId>(), count) else { return };
    let key = keys::thread(news);
    claims.of("comments").add(read::expiry(&key), move |thread| {
        let expected = format!("{count} comments or more");
        (thread == Expiry::Absent).then(|| Fault::new(key, "nothing", expected, LOST))
    });
}

/// Claims that a member of a list is an entry of a comment; otherwise it is removed.
pub(crate) fn is_entry(
    subject: &Subject,
    claims: &mut Claims,
    expected: &'static str,
    address: CommentAddress,
) {
    let (list, mut batch) = (ListedMember::of(subject), subject.removal());
    let (thread, field) = (keys::thread(address.news), address.comment.to_string());
    let reads = (read::field(&thread, &field), read::expiry(&thread));
    claims.expects(expected, reads, move |(json, expiry)| {
        let found = match json {
            // No action deletes a thread: it was lost.
            None if expiry == Expiry::Absent => {
                return Some((format!("the comment {address}, whose thread does not exist"), LOST));
            }
            None => {
                batch.field_absent(&thread, &field);
                format!("the comment {address}, which does not exist")
            }
            Some(json) => {
                let comment = Comment::of_stored(address.news, field, json)?;
                list.stray(&comment, !is_unreadable(&comment), &mut batch)?
            }
        };
        Some((found, Mend::write(batch, "remove the member")))
    });
}
