//! Rules of what belongs to one user: that the user exists, and what their choices and lists name.

use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Mend, field_in, fields, score, score_in};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::ids::UserId;
use crate::values::session_token::SessionHash;
use crate::values::signup::InvitationCode;
use std::sync::LazyLock;

/// The rule that a key which belongs to a user, by its form, belongs to one who exists.
pub(crate) static OWNED: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let owned = families::ALL.iter().copied().filter(|family| family.is_owned_by_user());
    owned.map(|family| Rule::claims(family, OWNED_BY_USER, of_user)).collect()
});

const OWNED_BY_USER: &str = "what belongs to a user belongs to one who exists";

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(
        &families::USER_SESSIONS,
        "the list of a user's sessions has only sessions of that user",
        listed_session,
    ),
    Rule::claims(
        &families::INVITES_OPEN,
        "the list of a user's unused invitations has only invitations of that user",
        listed_invitation,
    ),
    Rule::claims(&families::USER_TOPICS_MUTED, "nobody follows a topic that they have muted", muted_topic),
    Rule::claims(&families::USER_BLOCKS, "whom a user has blocked are users who do not follow them", blocked),
    Rule::claims(
        &families::USER_MESSAGES,
        "no message of a moderator has a number above the last that was drawn",
        message_numbers,
    ),
    Rule::claims(
        &families::USER_NOTIFIED,
        "the number of people whom mentions notified is counted",
        notified,
    ),
    Rule::claims(&families::FIRST_ADMINISTRATOR, "the first administrator is a user", first_administrator),
];

fn of_user(subject: &Subject, claims: &mut Claims) {
    if let (SubjectItem::Whole, Some(id)) = (&subject.item, subject.id::<UserId>()) {
        let mend = Mend::Person("restore the user from a backup, or delete the key");
        claims.refers(format!("the user {id}"), keys::user(id), mend);
    }
}

/// Claims that what a member names belongs to the user, if it is still there: it may have expired.
fn listed_of_user(subject: &Subject, claims: &mut Claims, target: String, what: &'static str) {
    let Some(user) = subject.id::<UserId>() else { return };
    let reads = vec![fields(target.clone(), ["user_id"])];
    claims.belongs(format!("only those of the user {user}"), reads, move |answers, batch| {
        let owner = field_in(answers, 0, 0)?;
        batch.field_equals(&target, "user_id", owner);
        (owner != user.to_string()).then(|| format!("{what} of the user {owner}"))
    });
}

fn listed_session(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    match SessionHash::parse(member) {
        Some(hash) => listed_of_user(subject, claims, keys::session(&hash), "a session"),
        None => claims.malformed("a member that is no hash of a token", "hashes of tokens"),
    }
}

fn listed_invitation(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    match InvitationCode::parse(member) {
        Some(code) => listed_of_user(subject, claims, keys::invitation(&code), "an invitation"),
        None => claims.malformed("a member that is no code", "codes of invitations"),
    }
}

fn muted_topic(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((topic, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (topic, reads) = (topic.to_owned(), vec![score(keys::topics_followed(user), topic)]);
    claims.expects("topics that the user does not follow", reads, move |answers| {
        let mend = Mend::Person("remove the topic from one of the two lists of the user");
        score_in(answers, 0).map(|_| (format!("the topic {topic}, which the user also follows"), mend))
    });
}

fn blocked(subject: &Subject, claims: &mut Claims) {
    let Some(user) = subject.id::<UserId>() else { return };
    for (field, _) in subject.fields() {
        let Ok(other) = field.parse::<UserId>() else { continue };
        let mend = Mend::Person("restore the user from a backup, or delete the field");
        claims.of(field).refers(format!("the user {other}"), keys::user(other), mend);
        let reads = vec![score(keys::followers(user), other)];
        claims.of(field).expects("users who do not follow", reads, move |answers| {
            let mend = Mend::Person("delete the field; the user can block the other again");
            score_in(answers, 0).map(|_| (format!("the user {other}, who follows this user"), mend))
        });
    }
}

fn message_numbers(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let highest = hash.0.iter().filter_map(|(field, _)| field.parse::<i64>().ok()).max().unwrap_or(0);
    match hash.get("last").map_or(Ok(0), str::parse::<i64>) {
        Ok(last) => claims.of("last").counts("last", last, highest.max(last)),
        Err(_) => claims.of("last").malformed("last, which is no number", "a number in last"),
    }
}

fn notified(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let people = hash.0.iter().filter(|(field, _)| field != "count").count();
    let people = i64::try_from(people).unwrap_or(i64::MAX);
    match hash.get("count").map_or(Ok(0), str::parse::<i64>) {
        Ok(count) => claims.counts("count", count, people),
        Err(_) => claims.of("count").malformed("count, which is no number", "a number in count"),
    }
}

fn first_administrator(_: &Subject, claims: &mut Claims) {
    if let Some(id) = claims.text::<UserId>("the id of a user") {
        let mend = Mend::Person("restore the user from a backup, or set the key to an administrator's id");
        claims.refers(format!("the user {id}"), keys::user(id), mend);
    }
}
