//! Rules of users, of their names, sessions, invitations and mails.

pub(crate) mod inbox;
pub(crate) mod of_users;
pub(crate) mod second_factors;

use crate::accounts::WaitingMail;
use crate::accounts::users::{DEACTIVATED, INVITED_BY, UNTRUSTED_KARMA};
use crate::keys::{self, families};
use crate::store_rules::claims::LOST_LINE;
use crate::store_rules::{
    Claims, Fault, Form, LINE, Location, Mend, NameIn, Noun, Person, Remove, RemoveAs, Subject, SubjectItem,
    USER, claims, form, is, refers, rules,
};
use crate::values::{REMOVED, RemovedBy, SessionHash, UserId, lookalikes};
use tidings_keyspace::{Batch, read};

rules! { pub(crate) RULES:
    "a user has its form" =>
        USER: form(Form::OwnId, "");
        USER: claims(well_formed);
        USER: form(Form::MayHave(&["ctime", "karma", "replies", UNTRUSTED_KARMA, DEACTIVATED], is::<i64>), "a whole number");
        USER: refers(NameIn::Field(REMOVED), "a profile removed by the line", REMOVAL,
            Person(LOST_LINE));
    "the name of a user leads to the user" => USER: claims(names);
    "a name leads to the user who has it" => USERNAME_TO_ID: claims(name);
    "a name for the eye leads to a user" => USERNAME_FOLDED: claims(folded);
    "a session is in the list of its user" =>
        SESSION: form(Form::Has(&["user_id"], is::<i64>), "the id of a user");
        SESSION: refers(NameIn::Field("user_id"), "the user", USER, RemoveAs("end the session"));
        SESSION: claims(session);
    "a session of Lamer News has a user" =>
        AUTH: refers(NameIn::Text, "the user", USER, RemoveAs("end the session"));
    "who was invited is in the list of who invited them, and the tree begins with those who were not" =>
        USER: refers(NameIn::Field(INVITED_BY), "an invitation by the user", USER,
            Person("restore the user from a backup, or delete the field"));
        USER: claims(invited);
        INVITES_BY, INVITES_ROOTS: form(Form::Member(is::<UserId>), "ids of users");
        INVITES_BY: claims(invites);
        INVITES_BY: claims(root);
        INVITES_ROOTS: claims(invites_root);
    "an invitation is in the list of who made it" =>
        INVITES_CODE: form(Form::Has(&["user_id"], is::<i64>), "the id of a user");
        INVITES_CODE: refers(NameIn::Field("user_id"), "an invitation by the user", USER,
            Person("restore the user from a backup, or delete the key; it also expires"));
        INVITES_CODE: claims(invitation);
    "who gets a digest is in the list of those who get one" =>
        USER: claims(digests);
        DIGEST_DAILY, DIGEST_WEEKLY: form(Form::MemberOrGone(is::<UserId>), "ids of users");
        DIGEST_DAILY, DIGEST_WEEKLY: claims(digest);
    "a mail that waits says to whom and about what it is" =>
        MAIL_OUTBOX: form(Form::MemberOrGone(is::<WaitingMail>), "mails");
        MAIL_OUTBOX: claims(mail);
    "what was written waits to be sent" =>
        MAIL_WRITTEN: refers(NameIn::Member, "the mail {}, which does not wait", MAIL, Remove);
}

/// The line that removed something.
const REMOVAL: Noun = Noun("the number of a line", |subject, removed| {
    let Noun(_, line) = LINE;
    line(subject, &removed.parse::<RemovedBy>().ok()?.line.to_string())
});
/// Mails that wait.
const MAIL: Noun =
    Noun("mails", |_, mail| Some(Location::Member(keys::MAIL_OUTBOX.to_owned(), mail.to_owned())));

fn well_formed(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    if hash.get("username").is_none() && hash.get(DEACTIVATED).is_none() {
        claims.of("username").malformed("no field username", "a field username");
    }
}

fn names(subject: &Subject, claims: &mut Claims) {
    let (Some(id), Some(username)) = (subject.id::<UserId>(), subject.field("username")) else { return };
    // An account that does not count keeps its name, but no longer says which it is.
    if subject.field(DEACTIVATED).is_some() {
        return;
    }
    let write = |index: &str| {
        let mut batch = Batch::new();
        batch.key_absent(index);
        batch.field_equals(&subject.key, "username", username);
        batch.field_absent(&subject.key, DEACTIVATED);
        batch.set(index, id.to_string());
        Mend::write(batch, "write the id of the user")
    };
    let key = keys::username_to_id(username);
    let mend = write(&key);
    claims.add(read::string(&key), move |stored| {
        let (found, mend) = match stored {
            None => ("nothing".to_owned(), mend),
            Some(stored) if stored == id.to_string() => return None,
            Some(stored) => {
                let advice = "two users have one name: rename one of them, or correct the key by hand";
                (format!("the user {stored}"), Mend::Person(advice))
            }
        };
        Some(Fault::new(key, found, format_args!("the user {id}"), mend))
    });
    let key = keys::username_folded(username);
    let mend = write(&key);
    claims.add((read::string(&key), read::string(keys::USERNAMES_FOLDED)), move |(stored, up_to)| {
        // Names of other programs are folded later, some of them again.
        let up_to = up_to.and_then(|up_to| up_to.parse::<u64>().ok()).unwrap_or(0);
        let expected = format!("the user {id}, or one whose name looks the same");
        let fault = Fault::new(key, "nothing", expected, mend);
        (stored.is_none() && id.0 <= up_to).then_some(fault)
    });
}

fn name(subject: &Subject, claims: &mut Claims) {
    let Some(id) = claims.text::<UserId>("the id of a user") else { return };
    let name = subject.part().to_owned();
    let user = read::fields(keys::user(id), ["id", "username", DEACTIVATED]);
    claims.expects(format!("a user with the name {name}"), user, move |[stored, username, left]| {
        if left.is_some() || username.as_ref().is_some_and(|username| username.to_lowercase() == name) {
            return None;
        }
        let found = match stored {
            None => format!("the user {id}, who does not exist"),
            Some(_) => format!("the user {id} with the name {:?}", username.unwrap_or_default()),
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
    let mend = Mend::write(subject.removal(), "delete the key");
    let user = read::fields(keys::user(id), ["username", DEACTIVATED]);
    claims.expects("a user whose name looks like this", user, move |[username, left]| {
        let is_right =
            left.is_some() || username.is_some_and(|username| lookalikes::folded(&username) == name);
        (!is_right).then(|| (format!("the user {id}, whose name does not look like this"), mend))
    });
}

fn session(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.value("user_id") else { return };
    if SessionHash::parse(subject.part()).is_none() {
        return claims.malformed("no hash of a token", "a hash of 64 hexadecimal digits");
    }
    let since = subject.value("since").unwrap_or(0.0);
    claims.of("user_id").listed(keys::user_sessions(id), subject.part(), since);
}

fn invited(subject: &Subject, claims: &mut Claims) {
    if let (Some(id), Some(by)) = (subject.id::<UserId>(), subject.value(INVITED_BY)) {
        claims.of(INVITED_BY).listed(keys::invites_by(by), id, subject.value("ctime").unwrap_or(0.0));
    }
}

fn invites(subject: &Subject, claims: &mut Claims) {
    let (Some(by), Some(id)) = (subject.id::<UserId>(), subject.member_id::<UserId>()) else { return };
    let key = keys::user(id);
    claims.belongs("people whom the user invited", read::field(&key, INVITED_BY), move |stored, batch| {
        batch.field_unchanged(key, INVITED_BY, stored.as_deref());
        let is_right = stored.is_some_and(|stored| stored == by.to_string());
        (!is_right).then(|| format!("the user {id}, whom this user did not invite"))
    });
}

/// The tree begins with each person who has invited somebody and was not invited.
fn root(subject: &Subject, claims: &mut Claims) {
    let (Some(by), SubjectItem::Whole) = (subject.id::<UserId>(), &subject.item) else { return };
    let user = keys::user(by);
    let reads =
        (read::fields(&user, ["id", INVITED_BY, "ctime"]), read::score(keys::INVITES_ROOTS, by.to_string()));
    claims.add(reads, move |([id, invited_by, time], place)| {
        let mut batch = Batch::new();
        batch.field_absent(&user, INVITED_BY);
        let time = time.and_then(|time| time.parse().ok()).unwrap_or(0.0);
        batch.sorted_add(keys::INVITES_ROOTS, by.to_string(), time);
        let mend = Mend::write(batch, "add the member with its score");
        let is_root = id.is_some() && invited_by.is_none();
        (is_root && place.is_none()).then(|| Fault::lacks(keys::INVITES_ROOTS, by, mend))
    });
}

fn invites_root(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.member_id::<UserId>() else { return };
    let list = keys::invites_by(id);
    let reads = (read::field(keys::user(id), INVITED_BY), read::sorted_count(&list));
    claims.belongs("people who invited somebody and were not invited", reads, move |(by, invited), batch| {
        if by.is_none() {
            batch.key_absent(&list);
        }
        (by.is_some() || invited == 0).then(|| format!("the user {id}, with whom no tree begins"))
    });
}

fn invitation(subject: &Subject, claims: &mut Claims) {
    if let Some(id) = subject.value("user_id") {
        let time = subject.value("time").unwrap_or(0.0);
        claims.of("user_id").listed(keys::invites_open(id), subject.part(), time);
    }
}

/// The lists of digests, with what users who are in them have chosen.
const DIGEST_LISTS: [(&str, &str); 2] = [(keys::DIGEST_DAILY, "daily"), (keys::DIGEST_WEEKLY, "weekly")];

fn digests(subject: &Subject, claims: &mut Claims) {
    let (Some(chosen), Some(id)) = (subject.field("digest"), subject.id::<UserId>()) else { return };
    let list = DIGEST_LISTS.into_iter().find(|(_, digest)| *digest == chosen);
    if let Some((list, _)) = list.filter(|_| subject.field(DEACTIVATED).is_none()) {
        claims.of("digest").listed(list, id, subject.site.now.timestamp().as_score());
    }
}

fn digest(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.member_id::<UserId>() else { return };
    let Some((_, wanted)) = DIGEST_LISTS.into_iter().find(|(list, _)| *list == subject.key) else { return };
    let (key, expected) = (keys::user(id), format!("users with the digest {wanted}"));
    claims.belongs(expected, read::field(&key, "digest"), move |chosen, batch| {
        batch.field_unchanged(key, "digest", chosen.as_deref());
        (chosen.as_deref() != Some(wanted)).then(|| format!("the member {id}"))
    });
}

fn mail(subject: &Subject, claims: &mut Claims) {
    if let Some((member, _)) = subject.member().filter(|(member, _)| is::<WaitingMail>(member)) {
        claims.listed(keys::MAIL_WRITTEN, member, subject.site.now.as_score());
    }
}
