//! Rules of what was taken away with something that a moderator has removed, so that it can be put
//! back.

use crate::comments::comment::Comment;
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Mend, field_in, fields, is_absent};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::unseen;
use crate::values::ids::{ModerationId, UserId};
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
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
    Rule::claims(&families::WITHDRAWN, "removed texts are those of the profile of a user", of_profile),
];

const LOST_THREAD: Mend = Mend::Person("restore the thread from a backup, or remove the member");

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
}

fn of_profile(subject: &Subject, claims: &mut Claims) {
    let (SubjectItem::Whole, Some(thing)) = (&subject.item, subject.part().parse::<Thing>().ok()) else {
        return;
    };
    let Thing::User(id) = &thing else {
        return claims.malformed("a thing that has no record of its removal", "a user");
    };
    match id.parse::<UserId>() {
        Ok(id) => {
            let mend = Mend::Person("restore the user from a backup, or delete the key");
            claims.refers(format!("the user {id}"), keys::user(id), mend);
        }
        Err(_) => claims.malformed("no number of a user", "the number of a user"),
    }
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
