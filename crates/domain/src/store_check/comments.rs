//! Rules of comments.

use super::claims::{Claims, Fault, Mend, counter_fault, field_in, fields};
use super::subject::Subject;
use super::wrong::Source;
use super::{Check, Rule};
use crate::comments::comment::{Comment, NEXT_ID};
use crate::keys::{self, families};
use crate::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use crate::values::withheld::Withheld;
use std::collections::HashSet;
use tidings_keyspace::{Batch, Hash};

pub(super) static RULES: &[Rule] = &[
    Rule {
        of: &families::THREAD_COMMENT,
        sentence: "a comment has its form, an author, a story and the comment that it replies to",
        check: Check::Claims(form),
    },
    Rule {
        of: &families::THREAD_COMMENT,
        sentence: "a story counts the comments that are neither deleted nor withheld",
        check: Check::Claims(counted),
    },
    Rule {
        of: &families::THREAD_COMMENT,
        sentence: "no comment has a number above the last that was drawn",
        check: Check::Claims(drawn),
    },
    Rule {
        of: &families::THREAD_COMMENT,
        sentence: "a comment is in the list of its author",
        check: Check::Claims(listed),
    },
    Rule {
        of: &families::USER_COMMENTS,
        sentence: "the list of a user's comments has only comments of that user",
        check: Check::Claims(of_user),
    },
];

/// The comments of a thread, and the fields that are none or whose state cannot be read.
fn comments_of(hash: &Hash) -> (Vec<Comment>, Vec<&str>) {
    let (mut comments, mut others) = (Vec::new(), Vec::new());
    for (field, json) in hash.0.iter().filter(|(field, _)| field != NEXT_ID) {
        match Comment::from_field(field, json) {
            Some(comment) => {
                if let Some(Withheld::Unreadable(_)) = comment.withheld {
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
    let (comments, others) = comments_of(hash);
    for field in others {
        claims.of(field).malformed(
            &subject.key,
            format!("the field {field:?}"),
            "a comment as docs/data-layout.md says",
        );
    }
    let mend = Mend::Person("restore the story from a backup, or delete the thread");
    claims.refers(&subject.key, format!("comments on the story {news}"), keys::news(news), mend);
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let mut authors = HashSet::new();
    for comment in &comments {
        let id = comment.id;
        if let Some(parent) = comment.parent_id.filter(|parent| !ids.contains(parent)) {
            claims.of(id).malformed(
                &subject.key,
                format!("comment {id} replies to {parent}, which does not exist"),
                "an existing comment, or -1",
            );
        }
        let voters: HashSet<u64> = comment.up.iter().chain(&comment.down).copied().collect();
        if voters.len() < comment.up.len() + comment.down.len() {
            claims.of(id).malformed(
                &subject.key,
                format!("comment {id} with two votes of a user"),
                "one vote of each user",
            );
        }
        if authors.insert(comment.user_id) {
            let author = comment.user_id;
            let mend = Mend::Person("restore the user from a backup, or delete the comments");
            let what = format!("comments of the user {author}");
            claims.of(id).refers(&subject.key, what, keys::user(author), mend);
        }
    }
}

fn counted(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    let (comments, others) = comments_of(hash);
    if !others.is_empty() {
        return;
    }
    let shown = comments.iter().filter(|comment| !comment.is_gone()).count();
    let expected = i64::try_from(shown).unwrap_or(i64::MAX);
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
    if found < highest
        && let Some(fault) = counter_fault(&subject.key, NEXT_ID, found, highest)
    {
        claims.wrong(fault);
    }
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for comment in comments_of(hash).0 {
        let address = CommentAddress { news, comment: comment.id };
        let time = comment.ctime.as_score();
        let list = keys::user_comments(comment.user_id);
        claims.of(comment.id).listed(list, address, (Some(time), time), &Batch::new());
        claims.besides(Source::existence(keys::user(comment.user_id)));
    }
}

fn of_user(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let address = member.parse::<CommentAddress>().ok();
    let mut batch = Batch::new();
    batch.sorted_remove(&key, &member);
    let Some(address) = address else {
        let mend = Mend::write(batch, "remove the member");
        let found = format!("the member {member:?}");
        return claims.wrong(Fault { key, found, expected: "comments of the user".to_owned(), mend });
    };
    let thread = keys::thread(address.news);
    let field = address.comment.to_string();
    batch.field_absent(&thread, &field);
    let reads = vec![tidings_keyspace::Read::HashFields(thread, vec![field])];
    claims.add(reads, move |answers| {
        let stored = field_in(answers, 0, 0);
        let comment = stored.and_then(|json| Comment::from_field(&address.comment.to_string(), json));
        let (found, mend) = match (stored, comment) {
            (None, _) => {
                let found = format!("the comment {address}, which does not exist");
                (found, Mend::write(batch.clone(), "remove the member"))
            }
            (_, Some(comment)) if comment.user_id != user => {
                let mut batch = Batch::new();
                batch.sorted_remove(&key, address.to_string());
                let found = format!("the comment {address} of the user {}", comment.user_id);
                (found, Mend::write(batch, "remove the member"))
            }
            _ => return None,
        };
        Some(Fault { key: key.clone(), found, expected: "comments of the user".to_owned(), mend })
    });
}
