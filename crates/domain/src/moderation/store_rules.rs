//! Rules of moderation: the log, the review queue, flags, appeals and what was withdrawn.

use crate::accounts::message_threads::MessageThread;
use crate::flags::LEFT_HIDDEN;
use crate::keys::{self, families};
use crate::moderation::changes::ChangedFact;
use crate::moderation::log::{CHANGED, PART_OF, PARTS, parts_in};
use crate::review::QueuePlace;
use crate::store_rules::Rule;
use crate::store_rules::claims::{
    Claims, Fault, Mend, field_in, fields, hash_in, is_absent, score, score_in, text_in,
};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::clock::Timestamp;
use crate::values::flag::Flag;
use crate::values::ids::{MessageThreadId, ModerationId, OriginBanId, UserId};
use crate::values::message::StoredMessage;
use crate::values::moderation::Thing;
use crate::values::origin_ban::OriginBan;
use crate::values::restriction::{Restriction, RestrictionKind};
use crate::values::withheld::WITHHELD;
use tidings_keyspace::{Answer, Batch, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::MODERATION, LOG, line),
    Rule::claims(&families::MODERATION_LOG, LOG, listed_line),
    Rule::claims(&families::REVIEW_QUEUE, "a row of the review queue is about something that waits", row),
    Rule::claims(&families::USER, "an application that waits is in the review queue", application),
    Rule::claims(
        &families::APPEAL,
        "an appeal is against a line of the log, and is in the review queue while it waits",
        appeal,
    ),
    Rule::claims(&families::MESSAGES, MESSAGES, message_thread),
    Rule::claims(&families::MESSAGES_TEXTS, MESSAGES, message_texts),
    Rule::claims(&families::MESSAGES_ALL, MESSAGES, listed_thread),
    Rule::claims(&families::USER_MESSAGE_THREADS, MESSAGES, listed_thread),
    Rule::claims(&families::FLAGS, "flags that wait have their weight and a row in the review queue", flags),
    Rule::claims(&families::USER_FLAGS, "what a user has flagged has the user's flag", flagged),
    Rule::claims(
        &families::USER_FLAG_OUTCOMES,
        "the outcome of a flag is that of a line of the log",
        outcome,
    ),
    Rule::claims(&families::USER_NOTES, LINES, notes),
    Rule::claims(&families::MODERATION_POSTS, LINES, posts),
    Rule::claims(
        &families::BANS_ENDING,
        "a ban that ends by itself is in the list of those that do, and no other",
        ending,
    ),
    Rule::claims(
        &families::USER,
        "a ban that ends by itself is in the list of those that do, and no other",
        bans,
    ),
    Rule::claims(&families::RULES, "a rule for new posts has its form", rules),
    Rule::claims(&families::ORIGIN_BANS, "a ban of a network or an e-mail domain has its form", origin_bans),
];

const LOG: &str = "the lines of the moderation log are listed, and have no gaps";
const LINES: &str = "notes and removed posts belong to a line of the moderation log";
const MESSAGES: &str = "a thread of messages is listed, and in the review queue while its member waits";
const GAP: Mend = Mend::Person("restore the line from a backup; lines of the log are never removed");

fn line(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<ModerationId>()) else { return };
    for field in ["time", "moderator"] {
        if hash.get(field).is_none_or(|value| value.parse::<u64>().is_err()) {
            let found = format!("no number in {field}");
            claims.of(field).malformed(found, format_args!("a number in {field}"));
        }
    }
    if hash.get("action").is_none() {
        claims.of("action").malformed("no field action", "a field action");
    }
    let is_list = |json: &str| serde_json::from_str::<Vec<ChangedFact>>(json).is_ok();
    if hash.get(CHANGED).is_some_and(|changed| !is_list(changed)) {
        claims.of(CHANGED).malformed("no facts in changed", "a list of facts as JSON");
    }
    match hash.get(PARTS).map(parts_in) {
        Some(None) => claims.of(PARTS).malformed("no numbers in parts", "the numbers of lines"),
        Some(Some(parts)) => part_claims(claims, id, parts),
        None => {}
    }
    let mut guard = Batch::new();
    guard.key_present(&subject.key);
    let place = id.0 as f64;
    claims.listed(keys::MODERATION_LOG.to_owned(), id, (Some(place), place), &guard);
    if id.0 > 1 {
        let before = ModerationId(id.0 - 1);
        claims.refers(format!("line {id} after line {before}"), keys::moderation(before), GAP);
    }
}

/// The parts of a batch name it.
fn part_claims(claims: &mut Claims, batch: ModerationId, parts: Vec<ModerationId>) {
    let reads = parts.iter().map(|part| fields(keys::moderation(*part), [PART_OF])).collect();
    claims.of(PARTS).expects("lines that name this line as their batch", reads, move |answers| {
        let is_other = |at: &usize| field_in(answers, *at, 0) != Some(&*batch.to_string());
        let at = (0..parts.len()).find(is_other)?;
        let mut write = Batch::new();
        let part = parts.get(at)?;
        write.key_present(keys::moderation(*part));
        write.field_unchanged(keys::moderation(*part), PART_OF, field_in(answers, at, 0));
        write.set_field(keys::moderation(*part), PART_OF, batch.to_string());
        Some((format!("the part {part}, which does not"), Mend::write(write, "name it in the part")))
    });
}

fn listed_line(_: &Subject, claims: &mut Claims) {
    if let Some(id) = claims.member::<ModerationId>("numbers of lines") {
        claims.refers(format!("the line {id}"), keys::moderation(id), GAP);
    }
}

/// The reads that show whether a row of the queue has a reason: the thing itself, and its flags.
fn row_reads(thing: &Thing) -> Vec<Read> {
    let own = match thing {
        Thing::Story(id) => fields(keys::news(*id), [WITHHELD]),
        Thing::Comment(address) => fields(keys::thread(address.news), [&address.comment.to_string()]),
        Thing::Tweet(id) => fields(keys::tweet(*id), [WITHHELD]),
        Thing::User(name) | Thing::Application(name) => Read::String(keys::username_to_id(name)),
        Thing::Appeal(id) => fields(keys::appeal(*id), ["decided_by", "user_id"]),
        Thing::Message(id) => fields(keys::message_thread(*id), ["waiting"]),
        Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => Read::Expiry(keys::RULES.to_owned()),
    };
    vec![own, Read::Hash(keys::flags(thing))]
}

/// Whether a thing waits for a moderator, by those reads.
fn waits(thing: &Thing, answers: &[Answer]) -> bool {
    let is_flagged = hash_in(answers, 1).is_some_and(|flags| {
        // A thing that flags have hidden waits even if the flags were taken back.
        flags
            .0
            .iter()
            .any(|(field, flag)| field == "waiting" || flag.parse::<Flag>().is_ok_and(|flag| flag.waits()))
    });
    let is_held = |stored: Option<&str>| stored.is_some_and(|state| state.starts_with("held:"));
    let is_itself = match thing {
        Thing::Story(_) | Thing::Tweet(_) => is_held(field_in(answers, 0, 0)),
        Thing::Comment(_) => field_in(answers, 0, 0).is_some_and(|json| {
            let comment: Option<serde_json::Value> = serde_json::from_str(json).ok();
            comment
                .is_some_and(|comment| is_held(comment.get("withheld").and_then(serde_json::Value::as_str)))
        }),
        // The account says whether its application waits.
        Thing::Application(_) => text_in(answers, 0).is_some(),
        Thing::Appeal(_) => field_in(answers, 0, 0).is_none() && field_in(answers, 0, 1).is_some(),
        Thing::Message(_) => field_in(answers, 0, 0).is_some(),
        Thing::User(_) | Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => false,
    };
    is_flagged || is_itself
}

fn row(subject: &Subject, claims: &mut Claims) {
    let Some((member, place)) = subject.member() else { return };
    let mut removal = subject.removal();
    let Some(thing) = member.parse::<Thing>().ok().filter(|_| QueuePlace::from_score(place).is_some()) else {
        let found = format!("the row {member:?} with the score {place}");
        return claims.wrong(found, "rows about something", Mend::write(removal, "remove the row"));
    };
    removal.sorted_member_present(&subject.key, member);
    let (member, mend) = (member.to_owned(), Mend::write(removal, "remove the row"));
    claims.expects("rows about what waits", row_reads(&thing), move |answers| {
        let found = || (format!("the row {member}, about nothing that waits"), mend.clone());
        (!waits(&thing, answers)).then(found)
    });
}

/// The place of a row that is added again, with its real time lost.
fn place_now(subject: &Subject, weight: u64, since: Timestamp) -> f64 {
    let since = since.min(subject.now.timestamp());
    QueuePlace { weight, since }.as_score()
}

fn application(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let (Some("1"), Some(name)) = (hash.get("pending"), hash.get("username")) else { return };
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "pending", "1");
    let since = hash.get("applied").and_then(|time| time.parse().ok()).unwrap_or(0);
    let place = place_now(subject, QueuePlace::ORDINARY, Timestamp(since));
    let thing = Thing::Application(name.into());
    claims.of("pending").listed(keys::REVIEW_QUEUE.to_owned(), thing.key(), (None, place), &guard);
}

fn appeal(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<ModerationId>()) else { return };
    claims.refers(format!("an appeal against the line {id}"), keys::moderation(id), GAP);
    if hash.get("decided_by").is_some() {
        return;
    }
    let mut guard = Batch::new();
    guard.field_absent(&subject.key, "decided_by");
    let since = hash.get("time").and_then(|time| time.parse().ok()).unwrap_or(0);
    let place = place_now(subject, QueuePlace::ORDINARY, Timestamp(since));
    claims.listed(keys::REVIEW_QUEUE.to_owned(), Thing::Appeal(id).key(), (None, place), &guard);
}

fn message_thread(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<MessageThreadId>()) else { return };
    let Some(thread) = MessageThread::from_hash(id, hash) else {
        return claims.malformed("a hash that is none", "a thread of messages");
    };
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "count", thread.count.to_string());
    let changed = thread.changed.as_score();
    for list in [keys::MESSAGES_ALL.to_owned(), keys::user_message_threads(thread.user_id)] {
        claims.listed(list, id, (None, changed), &guard);
    }
    claims.refers(format!("the messages of {id}"), keys::message_texts(id), TEXTS);
    if let Some(since) = thread.waiting {
        guard.field_equals(&subject.key, "waiting", since.to_string());
        let place = place_now(subject, QueuePlace::ORDINARY, since);
        claims.listed(keys::REVIEW_QUEUE.to_owned(), Thing::Message(id).key(), (None, place), &guard);
    }
}

fn message_texts(subject: &Subject, claims: &mut Claims) {
    let (Some(_), Some(id)) = (subject.hash(), subject.id::<MessageThreadId>()) else { return };
    claims.refers(format!("the thread {id}"), keys::message_thread(id), TEXTS);
    let has_form = |field: &str, message: &str| {
        field.parse::<ModerationId>().is_ok() && message.parse::<StoredMessage>().is_ok()
    };
    claims.each_field(has_form, "messages by number");
}

const TEXTS: Mend = Mend::Person("restore the thread and its messages from a backup, or delete both");

fn listed_thread(_: &Subject, claims: &mut Claims) {
    let Some(id) = claims.member::<MessageThreadId>("numbers of threads") else { return };
    let thread = keys::message_thread(id);
    claims.belongs("threads that exist", vec![Read::Expiry(thread.clone())], move |answers, batch| {
        batch.key_absent(&thread);
        is_absent(answers, 0).then(|| format!("the thread {id}, which does not exist"))
    });
}

fn flags(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(thing)) = (subject.hash(), subject.part().parse::<Thing>().ok()) else { return };
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
    let stored = hash.get("waiting");
    let (key, place) = (&subject.key, place_now(subject, weight, Timestamp(since)));
    let mut batch = Batch::new();
    batch.field_unchanged(key, "waiting", stored);
    let noted = stored.and_then(|stored| stored.split_once(':')?.0.parse::<u64>().ok());
    if waiting == 0 && noted == Some(LEFT_HIDDEN) {
        let place = place_now(subject, LEFT_HIDDEN, subject.now.timestamp());
        return claims.listed(keys::REVIEW_QUEUE.to_owned(), thing.key(), (None, place), &batch);
    }
    if waiting == 0 {
        if let Some(stored) = stored {
            batch.delete_field(key, "waiting");
            let mend = Mend::write(batch, "delete the field waiting");
            claims.wrong(format_args!("waiting {stored:?}"), "no field waiting", mend);
        }
        return;
    }
    // A moderator's undo puts the earlier weight back with the flags, so the two are the same.
    if noted != Some(weight) {
        let Some(new) = QueuePlace::from_score(place) else { return };
        batch.set_field(key, "waiting", format!("{weight}:{}", new.since));
        batch.sorted_add(keys::REVIEW_QUEUE, thing.key(), place);
        let mend = Mend::write(batch, "write the weight and the row of the queue");
        let found = format!("waiting {:?}", stored.unwrap_or_default());
        return claims.wrong(found, format_args!("a weight of {weight}"), mend);
    }
    claims.listed(keys::REVIEW_QUEUE.to_owned(), thing.key(), (None, place), &batch);
}

fn flagged(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (member, list) = (member.to_owned(), member.parse().ok().as_ref().map(keys::flags));
    let reads = list.iter().map(|list| fields(list.clone(), [&user.to_string()])).collect();
    claims.belongs("what the user has flagged", reads, move |answers, batch| {
        if let Some(list) = &list {
            batch.field_absent(list, user.to_string());
        }
        let found = || format!("the member {member}, which the user has not flagged");
        field_in(answers, 0, 0).is_none().then(found)
    });
}

fn outcome(subject: &Subject, claims: &mut Claims) {
    let Some((member, line)) = subject.member() else { return };
    let thing = member.strip_prefix(['+', '-']).and_then(|thing| thing.parse::<Thing>().ok());
    let line = format!("{line}").parse::<ModerationId>();
    let (Some(thing), Ok(line)) = (thing, line) else {
        let expected = "+ or - and a thing, with the number of a line";
        return claims.malformed(format_args!("the member {member:?}"), expected);
    };
    let mend = Mend::Person("restore the line from a backup, or remove the member");
    let what = format!("the outcome of a flag of {thing} by the line {line}");
    claims.refers(what, keys::moderation(line), mend);
}

fn notes(subject: &Subject, claims: &mut Claims) {
    for (field, _) in subject.fields() {
        match field.parse::<ModerationId>() {
            Ok(id) => claims.refers(format!("a note of the line {id}"), keys::moderation(id), GAP),
            Err(_) => claims.malformed(format_args!("the field {field:?}"), "numbers of lines"),
        }
    }
}

fn posts(subject: &Subject, claims: &mut Claims) {
    if let Some((member, _)) = subject.member().filter(|(member, _)| member.parse::<Thing>().is_err()) {
        claims.malformed(format_args!("the member {member:?}"), "posts");
    }
    if let (SubjectItem::Whole, Some(id)) = (&subject.item, subject.id::<ModerationId>()) {
        claims.refers(format!("the line {id}"), keys::moderation(id), GAP);
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
    let user = member.parse::<UserId>().ok();
    let (member, reads) = (member.to_owned(), user.map(|id| fields(keys::user(id), ENDING)));
    claims.belongs("users with a ban that ends", reads.into_iter().collect(), move |answers, _| {
        let end = first_end([field_in(answers, 0, 0), field_in(answers, 0, 1)]);
        end.is_none().then(|| format!("the user {member}, for whom nothing ends by itself"))
    });
}

fn bans(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<UserId>()) else { return };
    let stored = ENDING.map(|field| hash.get(field));
    // A restriction that has ended stays in the fields, and leaves the list.
    let now = subject.now.timestamp();
    let in_force = stored.map(|text| {
        text.filter(|text| text.parse::<Restriction>().is_ok_and(|restriction| restriction.is_in_force(now)))
    });
    let Some(end) = first_end(in_force) else { return };
    let (key, fields) = (subject.key.clone(), stored.map(|text| text.map(str::to_owned)));
    claims.add(vec![score(keys::BANS_ENDING, id)], move |answers| {
        let mut batch = Batch::new();
        for (field, text) in ENDING.into_iter().zip(&fields) {
            batch.field_unchanged(&key, field, text.as_deref());
        }
        batch.sorted_add(keys::BANS_ENDING, id.to_string(), end.as_score());
        let found = score_in(answers, 0).map(Timestamp::from_score);
        found.is_none_or(|found| found > end).then(|| Fault {
            key: keys::BANS_ENDING.to_owned(),
            found: found.map_or_else(|| format!("no member {id}"), |at| format!("the member {id} at {at}")),
            expected: format!("the member {id} at {end}"),
            mend: Mend::write(batch, "add the member with its score"),
        })
    });
}

fn rules(_: &Subject, claims: &mut Claims) {
    let is_rule = |json: &str| {
        serde_json::from_str::<serde_json::Value>(json)
            .is_ok_and(|rule| ["what", "pattern", "effect"].iter().all(|name| rule.get(*name).is_some()))
    };
    claims.each_field(|id, json| id.parse::<UserId>().is_ok() && is_rule(json), "a rule as JSON");
}

fn origin_bans(_: &Subject, claims: &mut Claims) {
    let ban = |id: &str, json: &str| OriginBan::from_json(id.parse::<OriginBanId>().ok()?, json);
    claims.each_field(|id, json| ban(id, json).is_some(), "a ban as JSON");
}
