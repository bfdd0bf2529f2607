//! Rules of users, of their names, sessions and invitations.

pub(crate) mod inbox;
pub(crate) mod mails;
pub(crate) mod of_users;
pub(crate) mod second_factors;

use crate::accounts::users::{DEACTIVATED, INVITED_BY, UNTRUSTED_KARMA};
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{
    Claims, Fault, Mend, count_in, field_in, fields, hash_in, score, score_in, text_in,
};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::ids::UserId;
use crate::values::lookalikes;
use crate::values::removed_by::{REMOVED, RemovedBy};
use crate::values::session_token::SessionHash;
use tidings_keyspace::{Batch, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::USER, "a user has its form", form),
    Rule::claims(&families::USER, "the name of a user leads to the user", names),
    Rule::claims(&families::USERNAME_TO_ID, "a name leads to the user who has it", name),
    Rule::claims(&families::USERNAME_FOLDED, "a name for the eye leads to a user", folded),
    Rule::claims(&families::SESSION, "a session is in the list of its user", session),
    Rule::claims(&families::AUTH, "a session of Lamer News has a user", refers_to_user),
    Rule::claims(&families::USER, INVITED, invited),
    Rule::claims(&families::INVITES_BY, INVITED, invites),
    Rule::claims(&families::INVITES_BY, INVITED, root),
    Rule::claims(&families::INVITES_ROOTS, INVITED, invites_root),
    Rule::claims(&families::INVITES_CODE, "an invitation is in the list of who made it", invitation),
    Rule::claims(&families::USER, DIGESTS, digests),
    Rule::claims(&families::DIGEST_DAILY, DIGESTS, digest),
    Rule::claims(&families::DIGEST_WEEKLY, DIGESTS, digest),
];

const INVITED: &str =
    "who was invited is in the list of who invited them, and the tree begins with those who were not";
const DIGESTS: &str = "who gets a digest is in the list of those who get one";

fn form(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    claims.own_id();
    if hash.get("username").is_none() && hash.get(DEACTIVATED).is_none() {
        claims.of("username").malformed("no field username", "a field username");
    }
    for field in ["ctime", "karma", "replies", UNTRUSTED_KARMA, DEACTIVATED] {
        if let Some(value) = hash.get(field).filter(|value| value.parse::<i64>().is_err()) {
            claims
                .of(field)
                .malformed(format!("{field} {value:?}"), format_args!("{field} as a whole number"));
        }
    }
    match hash.get(REMOVED).map(str::parse::<RemovedBy>) {
        None => {}
        Some(Ok(removed)) => {
            let mend = Mend::Person("restore the line from a backup; lines of the log are never removed");
            let what = format!("a profile removed by the line {}", removed.line);
            claims.of(REMOVED).refers(what, keys::moderation(removed.line), mend);
        }
        Some(Err(_)) => claims.of(REMOVED).malformed("no line in removed", "the number of a line"),
    }
}

fn names(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    // An account that does not count keeps its name, but no longer says which it is.
    if hash.get(DEACTIVATED).is_some() {
        return;
    }
    let Some(username) = hash.get("username") else { return };
    let write = |index: &str| {
        let mut batch = Batch::new();
        batch.key_absent(index);
        batch.field_equals(&subject.key, "username", username);
        batch.field_absent(&subject.key, DEACTIVATED);
        batch.set(index, id.to_string());
        Mend::write(batch, "write the id of the user")
    };
    let index = keys::username_to_id(username);
    let mend = write(&index);
    claims.add(vec![Read::String(index.clone())], move |answers| {
        let (found, mend) = match text_in(answers, 0) {
            None => ("nothing".to_owned(), mend.clone()),
            Some(stored) if stored == id.to_string() => return None,
            Some(stored) => {
                let advice = "two users have one name: rename one of them, or correct the key by hand";
                (format!("the user {stored}"), Mend::Person(advice))
            }
        };
        Some(Fault { key: index.clone(), found, expected: format!("the user {id}"), mend })
    });
    let folded = keys::username_folded(username);
    let mend = write(&folded);
    let reads = vec![Read::String(folded.clone()), Read::String(keys::USERNAMES_FOLDED.to_owned())];
    claims.add(reads, move |answers| {
        // Names of other programs are folded later, some of them again.
        let up_to = text_in(answers, 1).and_then(|up_to| up_to.parse::<u64>().ok()).unwrap_or(0);
        let is_right = text_in(answers, 0).is_some() || id.0 > up_to;
        (!is_right).then(|| Fault {
            key: folded.clone(),
            found: "nothing".to_owned(),
            expected: format!("the user {id}, or one whose name looks the same"),
            mend: mend.clone(),
        })
    });
}

fn name(subject: &Subject, claims: &mut Claims) {
    let Some(id) = claims.text::<UserId>("the id of a user") else { return };
    let name = subject.part().to_owned();
    let reads = vec![fields(keys::user(id), ["id", "username", DEACTIVATED])];
    claims.expects(format!("a user with the name {name}"), reads, move |answers| {
        let username = field_in(answers, 0, 1);
        if field_in(answers, 0, 2).is_some()
            || username.is_some_and(|username| username.to_lowercase() == name)
        {
            return None;
        }
        let found = if field_in(answers, 0, 0).is_none() {
            format!("the user {id}, who does not exist")
        } else {
            format!("the user {id} with the name {:?}", username.unwrap_or_default())
        };
        Some((found, Mend::Person("restore the user from a backup, or delete the key to free the name")))
    });
}

fn folded(subject: &Subject, claims: &mut Claims) {
    let Some(id) = claims.text::<UserId>("the id of a user") else { return };
    let name = subject.part().to_owned();
    if lookalikes::folded(&name) != name {
        // An entry of an earlier version, which nothing reads.
        return;
    }
    let mend = Mend::write(subject.deletion(), "delete the key");
    let reads = vec![fields(keys::user(id), ["id", "username", DEACTIVATED])];
    claims.expects("a user whose name looks like this", reads, move |answers| {
        let is_right = field_in(answers, 0, 2).is_some()
            || field_in(answers, 0, 1).is_some_and(|username| lookalikes::folded(username) == name);
        (!is_right).then(|| (format!("the user {id}, whose name does not look like this"), mend.clone()))
    });
}

/// The user in the field `user_id`, which must be there.
fn owner(subject: &Subject, claims: &mut Claims) -> Option<UserId> {
    let owner = subject.hash()?.get("user_id").and_then(|id| id.parse().ok());
    if owner.is_none() {
        claims.malformed("no user_id", "the id of a user");
    }
    owner
}

/// The time in a field, or 0.
fn time_in(subject: &Subject, field: &str) -> f64 {
    subject.hash().and_then(|hash| hash.get(field)?.parse().ok()).unwrap_or(0.0)
}

fn session(subject: &Subject, claims: &mut Claims) {
    let Some(id) = owner(subject, claims) else { return };
    let mut batch = Batch::new();
    batch.field_equals(&subject.key, "user_id", id.to_string());
    batch.delete(&subject.key);
    claims.refers(format!("the user {id}"), keys::user(id), Mend::write(batch, "end the session"));
    if SessionHash::parse(subject.part()).is_none() {
        return claims.malformed("no hash of a token", "a hash of 64 hexadecimal digits");
    }
    let mut guard = Batch::new();
    guard.key_present(&subject.key);
    guard.key_present(keys::user(id));
    let since = time_in(subject, "since");
    claims.listed(keys::user_sessions(id), subject.part(), (None, since), &guard);
}

fn refers_to_user(subject: &Subject, claims: &mut Claims) {
    if let Some(id) = claims.text::<UserId>("the id of a user") {
        let mend = Mend::write(subject.deletion(), "end the session");
        claims.refers(format!("the user {id}"), keys::user(id), mend);
    }
}

fn invited(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    let Some(by) = hash.get(INVITED_BY) else { return };
    let Ok(inviter) = by.parse::<UserId>() else {
        return claims.of(INVITED_BY).malformed(format!("{INVITED_BY} {by:?}"), "the id of a user");
    };
    let mend = Mend::Person("restore the user from a backup, or delete the field");
    let what = format!("an invitation by the user {inviter}");
    claims.of(INVITED_BY).refers(what, keys::user(inviter), mend);
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, INVITED_BY, by);
    let time = time_in(subject, "ctime");
    claims.of(INVITED_BY).listed(keys::invites_by(inviter), id, (None, time), &guard);
}

fn invites(subject: &Subject, claims: &mut Claims) {
    let Some(by) = subject.id::<UserId>() else { return };
    let Some(id) = claims.member::<UserId>("ids of users") else { return };
    let reads = vec![fields(keys::user(id), ["id", INVITED_BY])];
    claims.belongs("people whom the user invited", reads, move |answers, batch| {
        let stored = field_in(answers, 0, 1);
        batch.field_unchanged(keys::user(id), INVITED_BY, stored);
        let is_right = stored.is_some_and(|stored| stored == by.to_string());
        (!is_right).then(|| format!("the user {id}, whom this user did not invite"))
    });
}

/// The tree begins with each person who has invited somebody and was not invited.
fn root(subject: &Subject, claims: &mut Claims) {
    let (Some(by), SubjectItem::Whole) = (subject.id::<UserId>(), &subject.item) else { return };
    let user = keys::user(by);
    let reads = vec![fields(user.clone(), ["id", INVITED_BY, "ctime"]), score(keys::INVITES_ROOTS, by)];
    claims.add(reads, move |answers| {
        let is_root = field_in(answers, 0, 0).is_some() && field_in(answers, 0, 1).is_none();
        if !is_root || score_in(answers, 1).is_some() {
            return None;
        }
        let time = field_in(answers, 0, 2).and_then(|time| time.parse().ok()).unwrap_or(0.0);
        let mut batch = Batch::new();
        batch.field_absent(&user, INVITED_BY);
        batch.sorted_add(keys::INVITES_ROOTS, by.to_string(), time);
        Some(Fault {
            key: keys::INVITES_ROOTS.to_owned(),
            found: format!("no member {by}"),
            expected: format!("the member {by}"),
            mend: Mend::write(batch, "add the member with its score"),
        })
    });
}

fn invites_root(_: &Subject, claims: &mut Claims) {
    let Some(id) = claims.member::<UserId>("ids of users") else { return };
    let list = keys::invites_by(id);
    let reads = vec![fields(keys::user(id), [INVITED_BY]), Read::SortedCount(list.clone())];
    claims.belongs("people who invited somebody and were not invited", reads, move |answers, batch| {
        let was_invited = field_in(answers, 0, 0).is_some();
        if !was_invited {
            batch.key_absent(&list);
        }
        let is_root = !was_invited && count_in(answers, 1) > 0;
        (!is_root).then(|| format!("the user {id}, with whom no tree begins"))
    });
}

fn invitation(subject: &Subject, claims: &mut Claims) {
    let Some(id) = owner(subject, claims) else { return };
    let mend = Mend::Person("restore the user from a backup, or delete the key; it also expires");
    claims.refers(format!("an invitation by the user {id}"), keys::user(id), mend);
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "user_id", id.to_string());
    claims.listed(keys::invites_open(id), subject.part(), (None, time_in(subject, "time")), &guard);
}

/// The lists of digests, with what users who are in them have chosen.
const DIGEST_LISTS: [(&str, &str); 2] = [(keys::DIGEST_DAILY, "daily"), (keys::DIGEST_WEEKLY, "weekly")];

fn digests(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    let chosen = hash.get("digest");
    for (list, digest) in DIGEST_LISTS {
        if chosen == Some(digest) && hash.get(DEACTIVATED).is_none() {
            let mut guard = Batch::new();
            guard.field_equals(&subject.key, "digest", digest);
            let now = subject.now.timestamp().as_score();
            claims.of("digest").listed(list.to_owned(), id, (None, now), &guard);
        }
    }
}

fn digest(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let Some((_, wanted)) = DIGEST_LISTS.into_iter().find(|(list, _)| *list == subject.key) else { return };
    let (found, user) = (format!("the member {member}"), member.parse::<UserId>().ok());
    let reads = user.map(|user| Read::Hash(keys::user(user))).into_iter().collect();
    claims.belongs(format!("users with the digest {wanted}"), reads, move |answers, batch| {
        let chosen = hash_in(answers, 0).and_then(|hash| hash.get("digest"));
        if let Some(user) = user {
            batch.field_unchanged(keys::user(user), "digest", chosen);
        }
        (chosen != Some(wanted)).then(|| found.clone())
    });
}
