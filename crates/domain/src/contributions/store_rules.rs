//! Rules of what was taken away with something that a moderator has removed, so that it can be put
//! back.

use crate::articles::article::Placed;
use crate::comments::comment::Comment;
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Fault, Mend, field_in, fields, is_absent, score, score_in};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::submissions::url_guards::UrlGuards;
use crate::unseen;
use crate::values::ids::{ModerationId, NewsId, UserId};
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld, is_deleted};
use tidings_keyspace::Read;

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(
        &families::USER_UNSEEN,
        "the list of a user's unseen posts has only posts of that user that wait, were rejected or were removed",
        unseen,
    ),
    Rule::claims(
        &families::WITHDRAWN,
        "what was taken away with something removed has its form and a line of the log",
        form,
    ),
    Rule::claims(&families::WITHDRAWN, RECORDS, is_removed),
    Rule::claims(&families::NEWS, RECORDS, story),
];

const RECORDS: &str = "what moderators have removed, and nothing else, has a record of what was taken away";
const LOST: Mend = Mend::Person(
    "restore the record from a backup before a moderator puts the post back; it then comes back as it was",
);
const LOST_THREAD: Mend = Mend::Person("restore the thread from a backup, or remove the member");
const LEFT_BEHIND: Mend = Mend::Person("delete the key, unless the post is to be withheld again");

fn form(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    match hash.get("moderation").and_then(|line| line.parse::<ModerationId>().ok()) {
        Some(line) => {
            let mend = Mend::Person("restore the line from a backup; lines of the log are never removed");
            let what = format!("a removal by the line {line}");
            claims.of("moderation").refers(what, keys::moderation(line), mend);
        }
        None => claims.of("moderation").malformed("no line in moderation", "the number of a line"),
    }
    for (field, value) in &hash.0 {
        let has_form = match field.as_str() {
            "earlier" => value.parse::<Withheld>().is_ok(),
            "article" => value.parse::<Placed>().is_ok(),
            "guards" => value.parse::<UrlGuards>().is_ok(),
            _ => true,
        };
        if !has_form {
            let expected = format!("{field} as docs/data-layout.md says");
            claims.of(field).malformed(format_args!("{field} {value:?}"), expected);
        }
    }
}

/// Whether moderators have removed or merged something, by why it is withheld.
const fn is_withdrawn(state: Option<&Withheld>) -> bool {
    matches!(state, Some(Withheld::Removed(_) | Withheld::Merged(_)))
}

fn is_removed(subject: &Subject, claims: &mut Claims) {
    let (SubjectItem::Whole, Some(thing)) = (&subject.item, subject.part().parse::<Thing>().ok()) else {
        return;
    };
    let read = match &thing {
        Thing::Story(id) => fields(keys::news(*id), [WITHHELD, "del"]),
        Thing::User(id) => match id.parse::<UserId>() {
            Ok(id) => {
                let mend = Mend::Person("restore the user from a backup, or delete the key");
                return claims.refers(format!("the user {id}"), keys::user(id), mend);
            }
            Err(_) => return claims.malformed("no number of a user", "the number of a user"),
        },
        _ => return claims.malformed("a thing that has no record of its removal", "a story or a user"),
    };
    claims.expects("records of what moderators have removed", vec![read], move |answers| {
        let first = field_in(answers, 0, 0);
        let is_right =
            is_withdrawn(first.map(Withheld::stored).as_ref()) || field_in(answers, 0, 1).is_some();
        (!is_right).then(|| (format!("a record of {thing}, which is not removed"), LEFT_BEHIND))
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

fn unseen(subject: &Subject, claims: &mut Claims) {
    let expected = "posts of the user that wait, were rejected or were removed";
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (member, removal) = (member.to_owned(), subject.removal());
    let thing = member.parse();
    let (key, field) = match &thing {
        Ok(Thing::Story(id)) => (keys::news(*id), WITHHELD.to_owned()),
        Ok(Thing::Tweet(id)) => (keys::tweet(*id), WITHHELD.to_owned()),
        Ok(Thing::Comment(address)) => (keys::thread(address.news), address.comment.to_string()),
        _ => return claims.unreadable(expected),
    };
    let reads = vec![fields(key.clone(), [&field, "user_id"]), Read::Expiry(key.clone())];
    claims.expects(expected, reads, move |answers| {
        let stored = field_in(answers, 0, 0);
        let (author, state) = if let Ok(Thing::Comment(address)) = &thing {
            // No action deletes a thread: it was lost.
            if is_absent(answers, 1) {
                return Some((format!("the member {member}, whose thread does not exist"), LOST_THREAD));
            }
            let comment = stored.map(|json| Comment::from_field(address.news, &field, json));
            // A comment that cannot be read is reported itself.
            let comment = if comment == Some(None) { return None } else { comment.flatten() };
            comment.map_or((None, None), |comment| (Some(comment.user_id), comment.withheld))
        } else {
            let author = field_in(answers, 0, 1).and_then(|author| author.parse().ok());
            (author, stored.map(Withheld::stored))
        };
        if let Some(Withheld::Unreadable(_)) = state {
            return None;
        }
        let mut batch = removal.clone();
        batch.field_unchanged(&key, &field, stored);
        let is_right = author == Some(user) && unseen::may_have(state.as_ref());
        let found = || format!("the member {member}, which does not belong here");
        (!is_right).then(|| (found(), Mend::write(batch, "remove the member")))
    });
}

fn story(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    let state = hash.get(WITHHELD).map(Withheld::stored);
    if let Some(author) = hash.get("user_id").and_then(|id| id.parse::<UserId>().ok())
        && !is_deleted(hash.get("del").is_some(), state.as_ref())
        && is_withdrawn(state.as_ref())
    {
        has_record(claims, &Thing::Story(id), (keys::user_posted(author), id.to_string()));
    }
}
