//! Rules of what belongs to one user: that the user exists, and what their choices and lists name.

use super::claims::{Claims, Fault, Mend, field_in, fields, score, score_in};
use super::subject::{Item, Subject};
use super::{Check, Rule};
use crate::keys::{self, families};
use crate::values::ids::UserId;
use crate::values::session_token::SessionHash;
use crate::values::signup::InvitationCode;
use tidings_keyspace::Batch;

pub(super) static RULES: &[Rule] = &[
    of_user_rule(&families::INVITES_BY),
    of_user_rule(&families::INVITES_OPEN),
    of_user_rule(&families::USER_BLOCKS),
    of_user_rule(&families::USER_COMMENTS),
    of_user_rule(&families::USER_FLAG_OUTCOMES),
    of_user_rule(&families::USER_FLAGS),
    of_user_rule(&families::USER_FOLLOWERS),
    of_user_rule(&families::USER_FOLLOWINGS),
    of_user_rule(&families::USER_HIDDEN),
    of_user_rule(&families::USER_HOME_TIMELINE),
    of_user_rule(&families::USER_INBOX),
    of_user_rule(&families::USER_MENTIONS),
    of_user_rule(&families::USER_MESSAGES),
    of_user_rule(&families::USER_MESSAGE_THREADS),
    of_user_rule(&families::USER_MUTES),
    of_user_rule(&families::USER_NETWORKS),
    of_user_rule(&families::USER_POSTED),
    of_user_rule(&families::USER_SAVED),
    of_user_rule(&families::USER_SESSIONS),
    of_user_rule(&families::USER_SUBSCRIPTIONS),
    of_user_rule(&families::USER_TOPICS_FOLLOWED),
    of_user_rule(&families::USER_TOPICS_MUTED),
    of_user_rule(&families::USER_TWO_FACTOR),
    of_user_rule(&families::USER_UNREAD),
    of_user_rule(&families::USER_UPVOTED),
    of_user_rule(&families::USER_UNSUBSCRIBED),
    of_user_rule(&families::USER_USER_TIMELINE),
    of_user_rule(&families::USER_VISITS),
    Rule {
        of: &families::USER_SESSIONS,
        sentence: "the list of a user's sessions has only sessions of that user",
        check: Check::Claims(listed_session),
    },
    Rule {
        of: &families::INVITES_OPEN,
        sentence: "the list of a user's unused invitations has only invitations of that user",
        check: Check::Claims(listed_invitation),
    },
    Rule {
        of: &families::USER_TOPICS_MUTED,
        sentence: "nobody follows a topic that they have muted",
        check: Check::Claims(muted_topic),
    },
    Rule {
        of: &families::USER_BLOCKS,
        sentence: "whom a user has blocked are users who do not follow them",
        check: Check::Claims(blocked),
    },
    Rule {
        of: &families::USER_MESSAGES,
        sentence: "no message of a moderator has a number above the last that was drawn",
        check: Check::Claims(message_numbers),
    },
    Rule {
        of: &families::USER_NOTIFIED,
        sentence: "the number of people whom mentions notified is counted",
        check: Check::Claims(notified),
    },
    Rule {
        of: &families::FIRST_ADMINISTRATOR,
        sentence: "the first administrator is a user",
        check: Check::Claims(first_administrator),
    },
];

const fn of_user_rule(of: &'static families::Family) -> Rule {
    Rule { of, sentence: "what belongs to a user belongs to one who exists", check: Check::Claims(of_user) }
}

fn of_user(subject: &Subject, claims: &mut Claims) {
    if subject.item == Item::Whole
        && let Some(id) = subject.id::<UserId>()
    {
        let mend = Mend::Person("restore the user from a backup, or delete the key");
        claims.refers(&subject.key, format!("the user {id}"), keys::user(id), mend);
    }
}

/// Claims that what a member names belongs to the user, if it is still there: it may have expired.
fn listed_of_user(subject: &Subject, claims: &mut Claims, target: String, what: &'static str) {
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    claims.add(vec![fields(target.clone(), ["user_id"])], move |answers| {
        let owner = field_in(answers, 0, 0)?;
        let mut batch = Batch::new();
        batch.field_equals(&target, "user_id", owner);
        batch.sorted_remove(&key, &member);
        (owner != user.to_string()).then(|| Fault {
            key: key.clone(),
            found: format!("{what} of the user {owner}"),
            expected: format!("only those of the user {user}"),
            mend: Mend::write(batch, "remove the member"),
        })
    });
}

fn listed_session(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    match SessionHash::parse(member) {
        Some(hash) => listed_of_user(subject, claims, keys::session(&hash), "a session"),
        None => claims.malformed(&subject.key, "a member that is no hash of a token", "hashes of tokens"),
    }
}

fn listed_invitation(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    match InvitationCode::parse(member) {
        Some(code) => listed_of_user(subject, claims, keys::invitation(&code), "an invitation"),
        None => claims.malformed(&subject.key, "a member that is no code", "codes of invitations"),
    }
}

fn muted_topic(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((topic, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (key, topic) = (subject.key.clone(), topic.to_owned());
    claims.add(vec![score(keys::topics_followed(user), &topic)], move |answers| {
        score_in(answers, 0).map(|_| Fault {
            key: key.clone(),
            found: format!("the topic {topic}, which the user also follows"),
            expected: "topics that the user does not follow".to_owned(),
            mend: Mend::Person("remove the topic from one of the two lists of the user"),
        })
    });
}

fn blocked(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some(hash)) = (subject.id::<UserId>(), subject.hash()) else { return };
    for (field, _) in &hash.0 {
        let Ok(other) = field.parse::<UserId>() else { continue };
        let mend = Mend::Person("restore the user from a backup, or delete the field");
        claims.of(field).refers(&subject.key, format!("the user {other}"), keys::user(other), mend);
        let key = subject.key.clone();
        claims.of(field).add(vec![score(keys::followers(user), other)], move |answers| {
            score_in(answers, 0).map(|_| Fault {
                key: key.clone(),
                found: format!("the user {other}, who follows this user"),
                expected: "users who do not follow".to_owned(),
                mend: Mend::Person("delete the field; the user can block the other again"),
            })
        });
    }
}

fn message_numbers(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let highest = hash.0.iter().filter_map(|(field, _)| field.parse::<i64>().ok()).max().unwrap_or(0);
    let last = hash.get("last").map_or(Ok(0), str::parse::<i64>);
    match last {
        Ok(last) if last < highest => {
            if let Some(fault) = super::claims::counter_fault(&subject.key, "last", last, highest) {
                claims.of("last").wrong(fault);
            }
        }
        Ok(_) => {}
        Err(_) => claims.of("last").malformed(&subject.key, "last, which is no number", "a number in last"),
    }
}

fn notified(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let people = hash.0.iter().filter(|(field, _)| field != "count").count();
    let people = i64::try_from(people).unwrap_or(i64::MAX);
    match hash.get("count").map_or(Ok(0), str::parse::<i64>) {
        Ok(count) => {
            if let Some(fault) = super::claims::counter_fault(&subject.key, "count", count, people) {
                claims.wrong(fault);
            }
        }
        Err(_) => {
            claims.of("count").malformed(&subject.key, "count, which is no number", "a number in count")
        }
    }
}

fn first_administrator(subject: &Subject, claims: &mut Claims) {
    let Some(text) = subject.text() else { return };
    match text.parse::<UserId>() {
        Ok(id) => {
            let mend =
                Mend::Person("restore the user from a backup, or set the key to an administrator's id");
            claims.refers(&subject.key, format!("the user {id}"), keys::user(id), mend);
        }
        Err(_) => claims.malformed(&subject.key, format!("{text:?}"), "the id of a user"),
    }
}
