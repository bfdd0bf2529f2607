//! Rules of what belongs to one user: that the user exists, and what their choices and lists name.

use crate::accounts::users::OIDC_IDENTITY;
use crate::keys::{self, families};
use crate::store_rules::{
    Claims, Form, Mend, NameIn, Person, Rule, Subject, USER, claims, form, refers, rules,
};
use crate::values::{InvitationCode, SessionHash, UserId};
use std::sync::LazyLock;
use tidings_keyspace::read;

/// The rule that a key which belongs to a user, by its form, belongs to one who exists.
pub(crate) static OWNED: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let sentence = "what belongs to a user belongs to one who exists";
    let advice = Person("restore the user from a backup, or delete the key");
    let check = refers(NameIn::Part, "the user", USER, advice);
    let owned = families::ALL.iter().copied().filter(|family| family.is_owned_by_user());
    owned.map(|of| Rule { of, sentence, check }).collect()
});

rules! { pub(crate) RULES:
    "the list of a user's sessions has only sessions of that user" => USER_SESSIONS: claims(listed_session);
    "the list of a user's unused invitations has only invitations of that user" =>
        INVITES_OPEN: claims(listed_invitation);
    "nobody follows a topic that they have muted" => USER_TOPICS_MUTED: claims(muted_topic);
    "whom a user has blocked are users who do not follow them" =>
        USER_BLOCKS: refers(NameIn::Fields(&[]), "the user", USER,
            Person("restore the user from a backup, or delete the field"));
        USER_BLOCKS: claims(blocked);
    "no message of a moderator has a number above the last that was drawn" =>
        USER_MESSAGES: form(Form::Drawn("last"), "numbers");
    "an identity at a provider is that of its user" => OIDC_IDENTITY: claims(connected);
    "the number of people whom mentions notified is counted" =>
        USER_NOTIFIED: form(Form::Counts("count", &[]), "numbers");
    "the first administrator is a user" =>
        FIRST_ADMINISTRATOR: refers(NameIn::Text, "the user", USER,
            Person("restore the user from a backup, or set the key to an administrator's id"));
}

/// Claims that what a member names belongs to the user, if it is still there: it may have expired.
fn listed_of_user(subject: &Subject, claims: &mut Claims, key: String, what: &'static str) {
    let Some(user) = subject.id::<UserId>() else { return };
    let expected = format!("only those of the user {user}");
    claims.belongs(expected, read::field(&key, "user_id"), move |owner, batch| {
        let owner = owner?;
        batch.field_equals(key, "user_id", &owner);
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

/// Claims that the user whom an identity names is connected to it. Nobody can log in with one that is wrong.
fn connected(subject: &Subject, claims: &mut Claims) {
    let Some(id) = claims.text::<UserId>("the id of a user") else { return };
    let identity = subject.part().to_owned();
    let field = read::field(keys::user(id), OIDC_IDENTITY);
    claims.expects("the identity of its user", field, move |field| {
        let is_same = field.is_some_and(|field| field == identity);
        let mend = Mend::Person("delete the key; the person can connect the account again");
        (!is_same).then(|| (format!("the user {id}, who is not connected to it"), mend))
    });
}

fn muted_topic(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((topic, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (followed, topic) = (read::score(keys::topics_followed(user), topic), topic.to_owned());
    claims.expects("topics that the user does not follow", followed, move |followed| {
        let mend = Mend::Person("remove the topic from one of the two lists of the user");
        followed.map(|_| (format!("the topic {topic}, which the user also follows"), mend))
    });
}

fn blocked(subject: &Subject, claims: &mut Claims) {
    let Some(user) = subject.id::<UserId>() else { return };
    for (other, _) in subject.fields() {
        let (follower, found) =
            (read::score(keys::followers(user), other), format!("the user {other}, who follows this user"));
        claims.of(other).expects("users who do not follow", follower, move |follower| {
            let mend = Mend::Person("delete the field; the user can block the other again");
            follower.map(|_| (found, mend))
        });
    }
}
