//! Rules of what was taken away with something that a moderator has removed, so that it can be put
//! back.

use super::claims::{Claims, Fault, Mend, field_in, fields, score, score_in};
use super::moderation::is_absent;
use super::subject::{Item, Subject};
use super::{Check, Rule};
use crate::accounts::inbox::{Taken, TakenEntry};
use crate::articles::article::Placed;
use crate::comments::comment::Comment;
use crate::keys::{self, families};
use crate::submissions::url_guards::UrlGuards;
use crate::timelines::withdrawal::Mentions;
use crate::values::ids::{CommentAddress, ModerationId, NewsId, UserId};
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld, is_deleted};
use tidings_keyspace::{Answer, Read};

pub(super) static RULES: &[Rule] = &[
    Rule {
        of: &families::WITHDRAWN,
        sentence: "what was taken away with something removed has its form and a line of the log",
        check: Check::Claims(form),
    },
    Rule { of: &families::WITHDRAWN, sentence: RECORDS, check: Check::Claims(is_removed) },
    Rule { of: &families::NEWS, sentence: RECORDS, check: Check::Claims(story) },
    Rule { of: &families::THREAD_COMMENT, sentence: RECORDS, check: Check::Claims(comments) },
    Rule {
        of: &families::WITHDRAWN_COMMENT_SUBSCRIBERS,
        sentence: "entries that a removed comment took from subscribers have their form and its record",
        check: Check::Claims(of_subscribers),
    },
];

const RECORDS: &str = "what moderators have removed, and nothing else, has a record of what was taken away";
const LOST: Mend = Mend::Person(
    "restore the record from a backup before a moderator puts the post back; it then comes back as it was",
);
const LEFT_BEHIND: Mend = Mend::Person("delete the key, unless the post is to be withheld again");

/// Whether something that is removed was never shown: moderators rejected it, or removed it while it
/// waited for approval. A rejection takes nothing away and leaves no record.
pub(super) struct NeverShown {
    record: String,
}

impl NeverShown {
    /// About a story, a comment or a tweet that is removed.
    pub(super) fn of(thing: &Thing) -> Self {
        Self { record: keys::withdrawn(thing) }
    }

    /// The reads that tell.
    pub(super) fn reads(&self) -> [Read; 1] {
        [fields(self.record.clone(), ["moderation", "earlier"])]
    }

    /// Whether it holds, by the answers from `position` on. `is_listed` says whether a list of its
    /// author has it, which never loses what was shown.
    pub(super) fn holds(&self, answers: &[Answer], position: usize, is_listed: bool) -> bool {
        let earlier = field_in(answers, position, 1).and_then(|earlier| earlier.parse().ok());
        match field_in(answers, position, 0) {
            Some(_) => matches!(earlier, Some(Withheld::Held(_))),
            None => !is_listed,
        }
    }
}

fn thing_of(subject: &Subject) -> Option<Thing> {
    let (kind, id) = subject.part().split_once(':')?;
    Thing::parse(kind, id).ok()
}

fn form(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let key = &subject.key;
    match hash.get("moderation").and_then(|line| line.parse::<ModerationId>().ok()) {
        Some(line) => {
            let mend = Mend::Person("restore the line from a backup; lines of the log are never removed");
            let what = format!("a removal by the line {line}");
            claims.of("moderation").refers(key, what, keys::moderation(line), mend);
        }
        None => claims.of("moderation").malformed(key, "no line in moderation", "the number of a line"),
    }
    for (field, value) in &hash.0 {
        let has_form = match field.as_str() {
            "earlier" => value.parse::<Withheld>().is_ok(),
            "entries" => value.parse::<Taken>().is_ok(),
            "article" => value.parse::<Placed>().is_ok(),
            "guards" => value.parse::<UrlGuards>().is_ok(),
            "mentions" => value.parse::<Mentions>().is_ok(),
            "counted" | "large" => value == "1",
            _ => true,
        };
        if !has_form {
            let expected = format!("{field} as docs/data-layout.md says");
            claims.of(field).malformed(key, format!("{field} {value:?}"), &expected);
        }
    }
}

/// Whether a state is one of moderators, who have removed or merged it.
fn was_withdrawn(state: Option<&str>) -> bool {
    let state = state.and_then(|state| state.parse().ok());
    matches!(state, Some(Withheld::Removed(_) | Withheld::Merged(_)))
}

/// Whether moderators have removed a comment.
fn is_withdrawn(comment: &Comment) -> bool {
    matches!(comment.withheld, Some(Withheld::Removed(_) | Withheld::Merged(_)))
}

fn is_removed(subject: &Subject, claims: &mut Claims) {
    let (Item::Whole, Some(thing)) = (&subject.item, thing_of(subject)) else { return };
    let key = subject.key.clone();
    let read = match &thing {
        Thing::Story(id) => fields(keys::news(*id), [WITHHELD, "del"]),
        Thing::Tweet(id) => fields(keys::tweet(*id), [WITHHELD]),
        Thing::Comment(address) => {
            Read::HashFields(keys::thread(address.news), vec![address.comment.to_string()])
        }
        Thing::User(id) => match id.parse::<UserId>() {
            Ok(id) => {
                let mend = Mend::Person("restore the user from a backup, or delete the key");
                return claims.refers(&key, format!("the user {id}"), keys::user(id), mend);
            }
            Err(_) => return claims.malformed(&key, "no number of a user", "the number of a user"),
        },
        _ => return claims.malformed(&key, "a thing that cannot be removed", "a post or a user"),
    };
    claims.add(vec![read], move |answers| {
        let first = field_in(answers, 0, 0);
        let is_right = match &thing {
            // Deleting a comment deletes the record.
            Thing::Comment(address) => first
                .and_then(|json| Comment::from_field(&address.comment.to_string(), json))
                .is_some_and(|comment| is_withdrawn(&comment)),
            _ => was_withdrawn(first) || field_in(answers, 0, 1).is_some(),
        };
        (!is_right).then(|| Fault {
            key: key.clone(),
            found: format!("a record of {thing}, which is not removed"),
            expected: "records of what moderators have removed".to_owned(),
            mend: LEFT_BEHIND,
        })
    });
}

/// Claims that something that moderators have removed has its record, if it was ever shown: then it
/// is in a list of its author.
fn has_record(claims: &mut Claims, thing: &Thing, (list, member): (String, String)) {
    let target = keys::withdrawn(thing);
    let what = format!("nothing at the removal of {thing}");
    claims.add(vec![Read::Expiry(target.clone()), score(list, member)], move |answers| {
        (is_absent(answers, 0) && score_in(answers, 1).is_some()).then(|| Fault {
            key: target.clone(),
            found: what.clone(),
            expected: "a record of what was taken away".to_owned(),
            mend: LOST,
        })
    });
}

fn story(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    let state = hash.get(WITHHELD).map(Withheld::stored);
    if let Some(author) = hash.get("user_id").and_then(|id| id.parse::<UserId>().ok())
        && !is_deleted(hash.get("del").is_some(), state.as_ref())
        && was_withdrawn(hash.get(WITHHELD))
    {
        has_record(claims, &Thing::Story(id), (keys::user_posted(author), id.to_string()));
    }
}

fn comments(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(news)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    for (field, json) in &hash.0 {
        let comment = Comment::from_field(field, json);
        if let Some(comment) = comment.filter(|comment| !comment.deleted && is_withdrawn(comment)) {
            let address = CommentAddress { news, comment: comment.id };
            let list = (keys::user_comments(comment.user_id), address.to_string());
            has_record(claims, &Thing::Comment(address), list);
        }
    }
}

/// The entries go back in a job after the record is deleted.
fn of_subscribers(subject: &Subject, claims: &mut Claims) {
    let Ok(address) = subject.part().parse::<CommentAddress>() else {
        return claims.malformed(&subject.key, "no number of a comment", "the number of a comment");
    };
    if let Some((member, _)) = subject.member() {
        if member.parse::<TakenEntry>().is_err() {
            claims.malformed(&subject.key, format!("the member {member:?}"), "entries that were taken away");
        }
        return;
    }
    let key = subject.key.clone();
    let record = keys::withdrawn(&Thing::Comment(address));
    let job = keys::timeline_job(&format!("return:{address}"));
    claims.add(vec![Read::Expiry(record), Read::Expiry(job)], move |answers| {
        let are_absent = is_absent(answers, 0) && is_absent(answers, 1);
        are_absent.then(|| Fault {
            key: key.clone(),
            found: format!("entries about the comment {address}, which is not removed"),
            expected: "entries about a removed comment".to_owned(),
            mend: LEFT_BEHIND,
        })
    });
}
