//! Rules of users, of their names, sessions and invitations.

use super::claims::{Claims, Fault, Mend, field_in, fields, hash_in, text_in};
use super::subject::{Item, Subject};
use super::{Check, Rule};
use crate::accounts::users::{DEACTIVATED, INVITED_BY};
use crate::keys::{self, families};
use crate::values::ids::UserId;
use crate::values::lookalikes;
use crate::values::session_token::SessionHash;
use tidings_keyspace::{Batch, Read};

pub(super) static RULES: &[Rule] = &[
    Rule { of: &families::USER, sentence: "a user has its form", check: Check::Claims(form) },
    Rule {
        of: &families::USER,
        sentence: "the name of a user leads to the user",
        check: Check::Claims(names),
    },
    Rule {
        of: &families::USERNAME_TO_ID,
        sentence: "a name leads to the user who has it",
        check: Check::Claims(name),
    },
    Rule {
        of: &families::USERNAME_FOLDED,
        sentence: "a name for the eye leads to a user",
        check: Check::Claims(folded),
    },
    Rule {
        of: &families::SESSION,
        sentence: "a session is in the list of its user",
        check: Check::Claims(session),
    },
    Rule {
        of: &families::AUTH,
        sentence: "a session of Lamer News has a user",
        check: Check::Claims(refers_to_user),
    },
    Rule { of: &families::USER, sentence: INVITED, check: Check::Claims(invited) },
    Rule { of: &families::INVITES_BY, sentence: INVITED, check: Check::Claims(invites) },
    Rule { of: &families::INVITES_BY, sentence: INVITED, check: Check::Claims(root) },
    Rule { of: &families::INVITES_ROOTS, sentence: INVITED, check: Check::Claims(invites_root) },
    Rule {
        of: &families::INVITES_CODE,
        sentence: "an invitation is in the list of who made it",
        check: Check::Claims(invitation),
    },
    Rule { of: &families::USER, sentence: DIGESTS, check: Check::Claims(digests) },
    Rule { of: &families::DIGEST_DAILY, sentence: DIGESTS, check: Check::Claims(digest) },
    Rule { of: &families::DIGEST_WEEKLY, sentence: DIGESTS, check: Check::Claims(digest) },
];

const INVITED: &str =
    "who was invited is in the list of who invited them, and the tree begins with those who were not";
const DIGESTS: &str = "who gets a digest is in the list of those who get one";

fn form(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let id = subject.part();
    if hash.get("id") != Some(id) {
        let found = format!("id {}", hash.get("id").unwrap_or("absent"));
        claims.of("id").malformed(&subject.key, found, &format!("id {id}"));
    }
    if hash.get("username").is_none() && hash.get(DEACTIVATED).is_none() {
        claims.of("username").malformed(&subject.key, "no field username", "a field username");
    }
    for field in ["ctime", "karma", "replies", DEACTIVATED] {
        if let Some(value) = hash.get(field).filter(|value| value.parse::<i64>().is_err()) {
            claims.of(field).malformed(
                &subject.key,
                format!("{field} {value:?}"),
                &format!("{field} as a whole number"),
            );
        }
    }
}

/// A string must be the id of a user. If it is absent, the batch writes it.
fn leads_here(claims: &mut Claims, (user_key, name): (&str, &str), index: String, exactly: Option<UserId>) {
    let id = user_key.rsplit(':').next().unwrap_or_default().to_owned();
    let mut batch = Batch::new();
    batch.key_absent(&index);
    batch.field_equals(user_key, "username", name);
    batch.field_absent(user_key, DEACTIVATED);
    batch.set(&index, &id);
    claims.add(vec![Read::String(index.clone())], move |answers| {
        let stored = text_in(answers, 0);
        let is_right = stored.is_some_and(|stored| exactly.is_none_or(|id| id.to_string() == stored));
        let mend = match stored {
            None => Mend::write(batch.clone(), "write the id of the user"),
            Some(_) => {
                Mend::Person("two users have one name: rename one of them, or correct the key by hand")
            }
        };
        let found = stored.map_or_else(|| "nothing".to_owned(), |stored| format!("the user {stored}"));
        let expected = format!("the user {id}");
        (!is_right).then(|| Fault { key: index.clone(), found, expected, mend })
    });
}

fn names(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    // An account that does not count keeps its name, but no longer says which it is.
    if hash.get(DEACTIVATED).is_some() {
        return;
    }
    let Some(username) = hash.get("username") else { return };
    leads_here(claims, (&subject.key, username), keys::username_to_id(username), Some(id));
    let (key, name) = (subject.key.clone(), username.to_owned());
    let index = keys::username_folded(username);
    let mut batch = Batch::new();
    batch.key_absent(&index);
    batch.field_equals(&key, "username", &name);
    batch.set(&index, id.to_string());
    let reads = vec![Read::String(index.clone()), Read::String(keys::USERNAMES_FOLDED.to_owned())];
    claims.add(reads, move |answers| {
        // Names of other programs are folded later, some of them again.
        let up_to = text_in(answers, 1).and_then(|up_to| up_to.parse::<u64>().ok()).unwrap_or(0);
        let is_right = text_in(answers, 0).is_some() || id.0 > up_to;
        let mend = Mend::write(batch.clone(), "write the id of the user");
        let expected = format!("the user {id}, or one whose name looks the same");
        (!is_right).then(|| Fault { key: index.clone(), found: "nothing".to_owned(), expected, mend })
    });
}

fn name(subject: &Subject, claims: &mut Claims) {
    let Some(text) = subject.text() else { return };
    let Ok(id) = text.parse::<UserId>() else {
        return claims.malformed(&subject.key, format!("{text:?}"), "the id of a user");
    };
    let (key, name) = (subject.key.clone(), subject.part().to_owned());
    claims.add(vec![fields(keys::user(id), ["id", "username", DEACTIVATED])], move |answers| {
        let username = field_in(answers, 0, 1);
        let is_right = field_in(answers, 0, 2).is_some()
            || username.is_some_and(|username| username.to_lowercase() == name);
        let found = match username {
            _ if field_in(answers, 0, 0).is_none() => format!("the user {id}, who does not exist"),
            username => format!("the user {id} with the name {:?}", username.unwrap_or_default()),
        };
        let mend = Mend::Person("restore the user from a backup, or delete the key to free the name");
        let expected = format!("a user with the name {name}");
        (!is_right).then(|| Fault { key: key.clone(), found, expected, mend })
    });
}

fn folded(subject: &Subject, claims: &mut Claims) {
    let Some(text) = subject.text() else { return };
    let Ok(id) = text.parse::<UserId>() else {
        return claims.malformed(&subject.key, format!("{text:?}"), "the id of a user");
    };
    let (key, name) = (subject.key.clone(), subject.part().to_owned());
    if lookalikes::folded(&name) != name {
        // An entry of an earlier version, which nothing reads.
        return;
    }
    let mut batch = Batch::new();
    batch.string_equals(&key, text);
    batch.delete(&key);
    claims.add(vec![fields(keys::user(id), ["id", "username", DEACTIVATED])], move |answers| {
        let username = field_in(answers, 0, 1);
        let is_right = field_in(answers, 0, 2).is_some()
            || username.is_some_and(|username| lookalikes::folded(username) == name);
        let mend = Mend::write(batch.clone(), "delete the key");
        let found = format!("the user {id}, whose name does not look like this");
        let expected = "a user whose name looks like this".to_owned();
        (!is_right).then(|| Fault { key: key.clone(), found, expected, mend })
    });
}

fn session(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let Some(id) = hash.get("user_id").and_then(|id| id.parse::<UserId>().ok()) else {
        return claims.malformed(&subject.key, "no user_id", "the id of a user");
    };
    let mut batch = Batch::new();
    batch.field_equals(&subject.key, "user_id", id.to_string());
    batch.delete(&subject.key);
    let mend = Mend::write(batch, "end the session");
    claims.refers(&subject.key, format!("the user {id}"), keys::user(id), mend);
    if subject.id::<String>().and_then(|hash| SessionHash::parse(&hash)).is_none() {
        return claims.malformed(&subject.key, "no hash of a token", "a hash of 64 hexadecimal digits");
    }
    let since = hash.get("since").and_then(|since| since.parse().ok()).unwrap_or(0.0);
    let mut guard = Batch::new();
    guard.key_present(&subject.key);
    guard.key_present(keys::user(id));
    claims.listed(keys::user_sessions(id), subject.part(), (None, since), &guard);
}

fn refers_to_user(subject: &Subject, claims: &mut Claims) {
    let Some(text) = subject.text() else { return };
    match text.parse::<UserId>() {
        Ok(id) => {
            let mut batch = Batch::new();
            batch.string_equals(&subject.key, text);
            batch.delete(&subject.key);
            let mend = Mend::write(batch, "end the session");
            claims.refers(&subject.key, format!("the user {id}"), keys::user(id), mend);
        }
        Err(_) => claims.malformed(&subject.key, format!("{text:?}"), "the id of a user"),
    }
}

fn invited(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    let Some(by) = hash.get(INVITED_BY) else { return };
    let Ok(inviter) = by.parse::<UserId>() else {
        return claims.of(INVITED_BY).malformed(
            &subject.key,
            format!("{INVITED_BY} {by:?}"),
            "the id of a user",
        );
    };
    let mend = Mend::Person("restore the user from a backup, or delete the field");
    let what = format!("an invitation by the user {inviter}");
    claims.of(INVITED_BY).refers(&subject.key, what, keys::user(inviter), mend);
    let time = hash.get("ctime").and_then(|time| time.parse().ok()).unwrap_or(0.0);
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, INVITED_BY, by);
    claims.of(INVITED_BY).listed(keys::invites_by(inviter), id, (None, time), &guard);
}

fn invites(subject: &Subject, claims: &mut Claims) {
    let (Some(by), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let Ok(id) = member.parse::<UserId>() else {
        return claims.malformed(&key, format!("the member {member:?}"), "ids of users");
    };
    let mut batch = Batch::new();
    batch.sorted_remove(&key, &member);
    claims.add(vec![fields(keys::user(id), ["id", INVITED_BY])], move |answers| {
        let stored = field_in(answers, 0, 1);
        let is_right = stored.is_some_and(|stored| stored == by.to_string());
        let mut batch = batch.clone();
        batch.field_unchanged(keys::user(id), INVITED_BY, stored);
        let found = format!("the user {id}, whom this user did not invite");
        let mend = Mend::write(batch, "remove the member");
        (!is_right).then(|| Fault {
            key: key.clone(),
            found,
            expected: "people whom the user invited".to_owned(),
            mend,
        })
    });
}

/// Who has invited somebody and was not invited is where the tree begins.
fn root(subject: &Subject, claims: &mut Claims) {
    let (Some(by), Item::Whole) = (subject.id::<UserId>(), &subject.item) else { return };
    let user = keys::user(by);
    let reads = vec![
        fields(user.clone(), ["id", INVITED_BY, "ctime"]),
        super::claims::score(keys::INVITES_ROOTS, by),
    ];
    claims.add(reads, move |answers| {
        let is_root = field_in(answers, 0, 0).is_some() && field_in(answers, 0, 1).is_none();
        if !is_root || super::claims::score_in(answers, 1).is_some() {
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

fn invites_root(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let Ok(id) = member.parse::<UserId>() else {
        return claims.malformed(&key, format!("the member {member:?}"), "ids of users");
    };
    let list = keys::invites_by(id);
    let reads = vec![fields(keys::user(id), [INVITED_BY]), Read::SortedCount(list.clone())];
    claims.add(reads, move |answers| {
        let was_invited = field_in(answers, 0, 0).is_some();
        let is_right = !was_invited && super::claims::count_in(answers, 1) > 0;
        let mut batch = Batch::new();
        if !was_invited {
            batch.key_absent(&list);
        }
        batch.sorted_remove(&key, &member);
        let mend = Mend::write(batch, "remove the member");
        let found = format!("the user {id}, with whom no tree begins");
        let expected = "people who invited somebody and were not invited".to_owned();
        (!is_right).then(|| Fault { key: key.clone(), found, expected, mend })
    });
}

fn invitation(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let Some(id) = hash.get("user_id").and_then(|id| id.parse::<UserId>().ok()) else {
        return claims.malformed(&subject.key, "no user_id", "the id of a user");
    };
    let mend = Mend::Person("restore the user from a backup, or delete the key; it also expires");
    claims.refers(&subject.key, format!("an invitation by the user {id}"), keys::user(id), mend);
    let time = hash.get("time").and_then(|time| time.parse().ok()).unwrap_or(0.0);
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "user_id", id.to_string());
    claims.listed(keys::invites_open(id), subject.part(), (None, time), &guard);
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
    let (key, member) = (subject.key.clone(), member.to_owned());
    let Some((_, wanted)) = DIGEST_LISTS.into_iter().find(|(list, _)| *list == key) else { return };
    let mut batch = Batch::new();
    batch.sorted_remove(&key, &member);
    let user = member.parse::<UserId>().ok();
    let reads = user.map(|user| Read::Hash(keys::user(user))).into_iter().collect();
    claims.add(reads, move |answers| {
        let chosen = hash_in(answers, 0).and_then(|hash| hash.get("digest"));
        let is_right = chosen == Some(wanted);
        let mut batch = batch.clone();
        if let Some(user) = user {
            batch.field_unchanged(keys::user(user), "digest", chosen);
        }
        let mend = Mend::write(batch, "remove the member");
        let expected = format!("users with the digest {wanted}");
        (!is_right).then(|| Fault { key: key.clone(), found: format!("the member {member}"), expected, mend })
    });
}
