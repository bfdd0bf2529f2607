//! Rules of moderation: the log, the review queue, flags, appeals and what was withdrawn.

use crate::Comment;
use crate::accounts::MessageThread;
use crate::flags::LEFT_HIDDEN;
use crate::keys::{self, families};
use crate::moderation::changes::ChangedFact;
use crate::moderation::log::{CHANGED, PART_OF, PARTS, parts_in};
use crate::review::QueuePlace;
use crate::store_rules::claims::LOST_LINE;
use crate::store_rules::{
    Claims, Fault, Form, LINE, Location, Mend, NameIn, Noun, Person, Remove, RemoveAny, Subject, claims,
    form, is, refers, rules,
};
use crate::values::{
    Flag, MessageThreadId, ModerationId, OriginBan, OriginBanId, Restriction, RestrictionKind, StoredMessage,
    Thing, Timestamp, UserId, WITHHELD, Withheld,
};
use tidings_keyspace::{Batch, Fetch, read};

rules! { pub(crate) RULES:
    "the lines of the moderation log are listed, and have no gaps" =>
        MODERATION: form(Form::Has(&["time", "moderator"], is::<i64>), "a whole number");
        MODERATION: form(Form::Has(&["action"], |_| true), "the name of an action");
        MODERATION: form(Form::MayHave(&[CHANGED], |json| serde_json::from_str::<Vec<ChangedFact>>(json).is_ok()),
            "a list of facts as JSON");
        MODERATION: form(Form::MayHave(&[PARTS], |parts| parts_in(parts).is_some()), "the numbers of lines");
        MODERATION: claims(line);
        MODERATION_LOG: refers(NameIn::Member, "the line", LINE, Person(LOST_LINE));
    "a row of the review queue is about something that waits" => REVIEW_QUEUE: claims(row);
    "an application that waits is in the review queue" => USER: claims(application);
    "an appeal is against a line of the log, and is in the review queue while it waits" =>
        APPEAL: refers(NameIn::Part, "an appeal against the line", LINE, Person(LOST_LINE));
        APPEAL: claims(appeal);
    "a thread of messages is listed, and in the review queue while its member waits" =>
        MESSAGES: claims(message_thread);
        MESSAGES_TEXTS: refers(NameIn::Part, "the thread", THREAD, Person(TEXTS));
        MESSAGES_TEXTS: form(Form::SecretField(|id, message| {
            is::<ModerationId>(id) && is::<StoredMessage>(message)
        }), "messages by number");
        MESSAGES_ALL, USER_MESSAGE_THREADS:
            refers(NameIn::Member, "the thread", THREAD, Remove);
    "flags that wait have their weight and a row in the review queue" => FLAGS: claims(flags);
    "what a user has flagged has the user's flag" =>
        USER_FLAGS: refers(NameIn::Member, "the member {}, which the user has not flagged", FLAG, RemoveAny);
    "the outcome of a flag is that of a line of the log" =>
        USER_FLAG_OUTCOMES: form(Form::Member(|member| {
            member.strip_prefix(['+', '-']).is_some_and(is::<Thing>)
        }), "+ or - and a thing, with the number of a line");
        USER_FLAG_OUTCOMES: refers(NameIn::Score, "the outcome of a flag by the line", LINE,
            Person("restore the line from a backup, or remove the member"));
    "notes and removed posts belong to a line of the moderation log" =>
        USER_NOTES: refers(NameIn::Fields(&[]), "a note of the line", LINE, Person(LOST_LINE));
        MODERATION_POSTS: form(Form::Member(is::<Thing>), "posts");
        MODERATION_POSTS: refers(NameIn::Part, "the line", LINE, Person(LOST_LINE));
    "a ban that ends by itself is in the list of those that do, and no other" =>
        BANS_ENDING: claims(ending);
        USER: claims(bans);
    "a rule for new posts has its form" =>
        RULES: form(Form::SecretField(|id, json| is::<UserId>(id) && is_rule(json)), "a rule as JSON");
    "a ban of a network or an e-mail domain has its form" =>
        ORIGIN_BANS: form(Form::SecretField(|id, json| {
            id.parse::<OriginBanId>().is_ok_and(|id| OriginBan::from_json(id, json).is_some())
        }), "a ban as JSON");
}

const TEXTS: &str = "restore the thread and its messages from a backup, or delete both";

/// Threads of messages.
const THREAD: Noun = Noun("numbers of threads", |_, id| Some(keys::message_thread(id.parse().ok()?).into()));
/// The flags of the user to whom the key belongs, by what is flagged.
const FLAG: Noun = Noun("things that the user has flagged", |subject, thing| {
    Some(Location::Field(keys::flags(&thing.parse().ok()?), subject.part().to_owned()))
});

fn line(subject: &Subject, claims: &mut Claims) {
    let (Some(_), Some(id)) = (subject.hash(), subject.id::<ModerationId>()) else { return };
    subject.field(PARTS).and_then(parts_in).into_iter().for_each(|parts| part_claims(claims, id, parts));
    claims.scored(keys::MODERATION_LOG, id, id.0 as f64);
    if id.0 > 1 {
        let before = ModerationId(id.0 - 1);
        let what = format!("line {id} after line {before}");
        claims.refers(what, keys::moderation(before), Mend::Person(LOST_LINE));
    }
}

/// The parts of a batch name it.
fn part_claims(claims: &mut Claims, batch: ModerationId, parts: Vec<ModerationId>) {
    let named = parts.iter().map(|part| read::field(keys::moderation(*part), PART_OF)).collect::<Vec<_>>();
    claims.of(PARTS).expects("lines that name this line as their batch", named, move |named| {
        let is_other = |(_, named): &(_, Option<String>)| named.as_deref() != Some(&*batch.to_string());
        let (part, named) = parts.into_iter().zip(named).find(is_other)?;
        let mut write = Batch::new();
        write.key_present(keys::moderation(part));
        write.field_unchanged(keys::moderation(part), PART_OF, named);
        write.set_field(keys::moderation(part), PART_OF, batch.to_string());
        Some((format!("the part {part}, which does not"), Mend::write(write, "name it in the part")))
    });
}

/// Whether a thing itself waits for a moderator, besides its flags.
fn waits_itself(thing: &Thing) -> impl Fetch<Value = bool, Asked: 'static> + use<> {
    let is_held = |state: Option<String>| state.is_some_and(|state| state.starts_with("held:"));
    match thing {
        Thing::Story(id) => read::field(keys::news(*id), WITHHELD).map(is_held).boxed(),
        Thing::Tweet(id) => read::field(keys::tweet(*id), WITHHELD).map(is_held).boxed(),
        Thing::Comment(address) => {
            let is_held = |state: Withheld| state.is_held();
            Comment::at(*address)
                .map(move |comment| comment.and_then(|comment| comment.withheld).is_some_and(is_held))
                .boxed()
        }
        // The account says whether its application waits.
        Thing::Application(name) => read::string(keys::username_to_id(name)).map(|id| id.is_some()).boxed(),
        Thing::Appeal(id) => read::fields(keys::appeal(*id), ["decided_by", "user_id"])
            .map(|[decided_by, user]| decided_by.is_none() && user.is_some())
            .boxed(),
        Thing::Message(id) => {
            Location::Field(keys::message_thread(*id), "waiting".to_owned()).is_there().boxed()
        }
        Thing::User(_) | Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => read::known(false).boxed(),
    }
}

fn row(subject: &Subject, claims: &mut Claims) {
    let Some((member, place)) = subject.member() else { return };
    let mut removal = subject.removal();
    let Some(thing) = member.parse::<Thing>().ok().filter(|_| QueuePlace::from_score(place).is_some()) else {
        let found = format!("the row {member:?} with the score {place}");
        return claims.wrong(found, "rows about something", Mend::write(removal, "remove the row"));
    };
    removal.sorted_member_present(&subject.key, member);
    let member = member.to_owned();
    let reads = (waits_itself(&thing), read::hash(keys::flags(&thing)));
    claims.expects("rows about what waits", reads, move |(waits, flags)| {
        // A thing that flags have hidden waits even if the flags were taken back.
        let waits = waits
            || flags.0.iter().any(|(field, flag)| {
                field == "waiting" || flag.parse::<Flag>().is_ok_and(|flag| flag.waits())
            });
        let found = || {
            (format!("the row {member}, about nothing that waits"), Mend::write(removal, "remove the row"))
        };
        (!waits).then(found)
    });
}

/// Claims that something which waits is in the review queue. Its real time is lost if it is added again.
fn queued(subject: &Subject, claims: &mut Claims, thing: &Thing, weight: u64, since: Option<u64>) {
    let place = place_now(subject, weight, since.unwrap_or(0));
    claims.listed(keys::REVIEW_QUEUE, thing.key(), place.as_score());
}

fn place_now(subject: &Subject, weight: u64, since: u64) -> QueuePlace {
    QueuePlace { weight, since: Timestamp(since).min(subject.site.now.timestamp()) }
}

fn application(subject: &Subject, claims: &mut Claims) {
    if let (Some("1"), Some(name)) = (subject.field("pending"), subject.field("username")) {
        let thing = Thing::Application(name.into());
        queued(subject, claims.of("pending"), &thing, QueuePlace::ORDINARY, subject.value("applied"));
    }
}

fn appeal(subject: &Subject, claims: &mut Claims) {
    if let (Some(_), Some(id), None) = (subject.hash(), subject.id(), subject.field("decided_by")) {
        let since = subject.value("time");
        queued(subject, claims.of("decided_by"), &Thing::Appeal(id), QueuePlace::ORDINARY, since);
    }
}

fn message_thread(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<MessageThreadId>()) else { return };
    let Some(thread) = MessageThread::from_hash(id, hash) else {
        return claims.malformed("a hash that is none", "a thread of messages");
    };
    for list in [keys::MESSAGES_ALL.to_owned(), keys::user_message_threads(thread.user_id)] {
        claims.of("count").listed(list, id, thread.changed.as_score());
    }
    claims.refers(format_args!("the messages of {id}"), keys::message_texts(id), Mend::Person(TEXTS));
    if let Some(since) = thread.waiting {
        queued(subject, claims.of("waiting"), &Thing::Message(id), QueuePlace::ORDINARY, Some(since.0));
    }
}

fn flags(subject: &Subject, claims: &mut Claims) {
    let (Some(_), Some(thing)) = (subject.hash(), subject.part().parse::<Thing>().ok()) else { return };
    let (mut weight, mut waiting, mut since) = (0_u64, 0, 0);
    for (field, stored) in subject.fields().filter(|(field, _)| *field != "waiting") {
        match (field.parse::<UserId>(), stored.parse::<Flag>()) {
            (Ok(_), Ok(flag)) if flag.waits() => {
                weight = weight.saturating_add(flag.weight.0);
                since = since.max(flag.time.0);
                waiting += 1;
            }
            (Ok(_), Ok(_)) => {}
            _ => claims.malformed(format_args!("the field {field:?}"), "flags of users"),
        }
    }
    let (key, stored) = (&subject.key, subject.field("waiting"));
    let mut batch = Batch::new();
    batch.field_unchanged(key, "waiting", stored);
    claims.rest_on(batch.clone());
    let noted = stored.and_then(|stored| stored.split_once(':')?.0.parse::<u64>().ok());
    match (waiting, noted) {
        (0, Some(LEFT_HIDDEN)) => {
            queued(subject, claims, &thing, LEFT_HIDDEN, Some(subject.site.now.timestamp().0));
        }
        (0, _) => {
            if let Some(stored) = stored {
                batch.delete_field(key, "waiting");
                let mend = Mend::write(batch, "delete the field waiting");
                claims.wrong(format_args!("waiting {stored:?}"), "no field waiting", mend);
            }
        }
        (_, noted) if noted == Some(weight) => queued(subject, claims, &thing, weight, Some(since)),
        // A moderator's undo puts the earlier weight back with the flags, so the two are the same.
        _ => {
            let score = place_now(subject, weight, since).as_score();
            let Some(place) = QueuePlace::from_score(score) else { return };
            batch.set_field(key, "waiting", format!("{weight}:{}", place.since));
            batch.sorted_add(keys::REVIEW_QUEUE, thing.key(), score);
            let mend = Mend::write(batch, "write the weight and the row of the queue");
            let found = format!("waiting {:?}", stored.unwrap_or_default());
            claims.wrong(found, format_args!("a weight of {weight}"), mend);
        }
    }
}

/// The fields of a user with what may end by itself.
const ENDING: [&str; 2] = [RestrictionKind::Ban.field(), RestrictionKind::Discount.field()];

/// When the first of two restrictions ends, if one does.
fn first_end(stored: [Option<&str>; 2]) -> Option<Timestamp> {
    let ends = stored.into_iter().flatten().filter_map(|text| text.parse::<Restriction>().ok()?.until);
    ends.min()
}

fn ending(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let (member, user) =
        (member.to_owned(), member.parse().ok().map(|id| read::fields(keys::user(id), ENDING)));
    claims.belongs("users with a ban that ends", user, move |user, _| {
        let end = user.and_then(|[ban, discount]| first_end([ban.as_deref(), discount.as_deref()]));
        end.is_none().then(|| format!("the user {member}, for whom nothing ends by itself"))
    });
}

fn bans(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.id::<UserId>() else { return };
    let mut batch = Batch::new();
    // A restriction that has ended stays in the fields, and leaves the list.
    let now = subject.site.now.timestamp();
    let in_force = ENDING.map(|field| {
        batch.field_unchanged(&subject.key, field, subject.field(field));
        let is_in_force = |text: &&str| text.parse::<Restriction>().is_ok_and(|ban| ban.is_in_force(now));
        subject.field(field).filter(is_in_force)
    });
    let Some(end) = first_end(in_force) else { return };
    batch.sorted_add(keys::BANS_ENDING, id.to_string(), end.as_score());
    claims.add(read::score(keys::BANS_ENDING, id.to_string()), move |found| {
        let found = found.map(Timestamp::from_score);
        let at = |time| format!("the member {id} at {time}");
        let mend = Mend::write(batch, "add the member with its score");
        let is_right = found.is_some_and(|found| found <= end);
        let found = found.map_or_else(|| format!("no member {id}"), at);
        (!is_right).then(|| Fault::new(keys::BANS_ENDING, found, at(end), mend))
    });
}

fn is_rule(json: &str) -> bool {
    let rule = serde_json::from_str::<serde_json::Value>(json);
    rule.is_ok_and(|rule| ["what", "pattern", "effect"].iter().all(|name| rule.get(*name).is_some()))
}
