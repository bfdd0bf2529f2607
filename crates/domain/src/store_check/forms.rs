//! Rules of forms: what a text, a field or a member looks like, where nothing else follows from it.

use crate::accounts::inbox::{EntryId, UNTIL};
use crate::accounts::recent_votes::VotedOn;
use crate::changes::Findable;
use crate::hub;
use crate::keys;
use crate::keys::families::{self, Family};
use crate::queue::StoredLease;
use crate::store_rules::claims::{Claims, Mend};
use crate::store_rules::subject::Subject;
use crate::store_rules::{Check, Rule};
use crate::values::identity::TagOrigin;
use crate::values::ids::{NewsId, UserId};
use crate::values::limits::MAX_TOPIC_SENTENCE;
use crate::values::topic::Topic;

/// Whether a text has its form: a string, a member, or a field and its value.
enum Form {
    Text(fn(&str) -> bool),
    Member(fn(&str) -> bool),
    Field(fn(&str, &str) -> bool),
}

macro_rules! forms {
    ($($family:ident = $form:expr, $expected:literal;)*) => {
        /// The forms, with how they are called.
        const FORMS: &[(&Family, Form, &str)] = &[$((&families::$family, $form, $expected)),*];

        pub(super) static RULES: &[Rule] = &[
            $(rule(&families::$family),)*
            Rule::claims(&families::SITE, "the logo that the site names is stored", logo),
        ];
    };
}

forms! {
    CONFIRM_EMAIL = Form::Text(is_user_and_digest), "the id of a user and 16 hexadecimal digits";
    QUEUE_LEASES = Form::Field(|_, held| held.parse::<StoredLease>().is_ok()), "who works on what, and until when";
    HUB_FEEDS = Form::Field(|feed, place| feed.starts_with('/') && is_number(place)), "addresses of feeds with places";
    HUB_LOST = Form::Member(|member| member.parse::<Findable>().is_ok()), "things that feeds have lost";
    HUB_STATE = Form::Field(|field, value| hub::FIELDS.contains(&field) && is_number(value)), "a place and times";
    ERASED_LAST = Form::Text(is_number), "a whole number";
    LAYOUT_VERSION = Form::Text(is_number), "a whole number";
    NETWORK = Form::Member(is_user), "ids of users";
    NETWORKS_SECRET = Form::Text(is_secret), "40 hexadecimal digits";
    STORE_NUMBER = Form::Text(is_secret), "40 hexadecimal digits";
    ORIGIN_BANS_COUNT = Form::Text(is_number), "a whole number";
    ORIGIN_BANS_STOPPED = Form::Field(|ban, stopped| is_number(ban) && is_number(stopped)), "bans with whole numbers";
    PASSKEY_USED = Form::Text(is_user), "the id of a user";
    PASSWORD_RESET = Form::Text(is_user_and_digest), "the id of a user and 16 hexadecimal digits";
    RETENTION = Form::Field(|_, value| is_number(value)), "whole numbers";
    REVIEW_REMINDED = Form::Text(is_number), "a whole number";
    SETTINGS = Form::Field(|_, value| is_number(value)), "whole numbers";
    SIGNING_KEY = Form::Text(is_secret), "40 hexadecimal digits";
    SITE_TAG = Form::Text(|text| text.parse::<TagOrigin>().is_ok()), "a host and a date";
    SITES_AUDIT = Form::Member(is_json), "JSON objects";
    STATISTICS_DAY = Form::Field(|_, value| is_number(value)), "whole numbers";
    STATISTICS_HOUR = Form::Field(|_, value| is_number(value)), "whole numbers";
    TOPIC_SENTENCES = Form::Field(|topic, text| is_topic(topic) && text.chars().count() <= MAX_TOPIC_SENTENCE),
        "topics with a sentence of at most 200 characters";
    TOPIC_MOVES = Form::Field(|from, to| is_topic(from) && is_topic(to)), "topics";
    USERNAMES_FOLDED = Form::Text(is_number), "a whole number";
    USER_BLOCKS = Form::Field(|user, time| is_user(user) && is_number(time)), "ids of users with times";
    USER_MARKED_READ = Form::Field(is_marked), "entries of an inbox with times";
    USER_MUTES = Form::Field(|what, time| is_muted(what) && is_number(time)),
        "people, sites and words, each with a time";
    USER_RECENT_VOTES = Form::Field(|on, json| on.parse::<VotedOn>().is_ok() && is_json(json)),
        "votes as JSON";
    USER_TOPICS_FOLLOWED = Form::Member(is_topic), "topics";
    USER_TOPICS_MUTED = Form::Member(is_topic), "topics";
    USER_VISITS = Form::Field(is_visit), "ids of stories with five numbers";
}

const fn rule(of: &'static Family) -> Rule {
    Rule { of, sentence: "a value has its form", check: Check::Claims(form) }
}

fn form(subject: &Subject, claims: &mut Claims) {
    let Some((_, form, expected)) = FORMS.iter().find(|(family, ..)| *family == subject.family) else {
        return;
    };
    match form {
        Form::Text(has_form) => {
            if let Some(text) = subject.text().filter(|text| !has_form(text)) {
                // It may be a secret, as those with this form are.
                let found = format!("a text of {} bytes without this form", text.len());
                claims.malformed(found, expected);
            }
        }
        Form::Member(has_form) => {
            if let Some((member, _)) = subject.member().filter(|(member, _)| !has_form(member)) {
                claims.malformed(format_args!("the member {member:?}"), expected);
            }
        }
        Form::Field(has_form) => {
            for (field, value) in subject.fields().filter(|(field, value)| !has_form(field, value)) {
                claims.of(field).malformed(format_args!("the field {field:?} with {value:?}"), expected);
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

fn is_user(text: &str) -> bool {
    text.parse::<UserId>().is_ok()
}

fn is_topic(text: &str) -> bool {
    Topic::parse("topic", text).is_ok()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_secret(text: &str) -> bool {
    is_hex(text, 40)
}

fn is_user_and_digest(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(user, digest)| is_user(user) && is_hex(digest, 16))
}

fn is_muted(what: &str) -> bool {
    what.split_once(':').is_some_and(|(kind, what)| match kind {
        "user" => is_user(what),
        "domain" | "word" => !what.is_empty(),
        _ => false,
    })
}

fn is_marked(entry: &str, time: &str) -> bool {
    let is_entry = |text: &str| text.parse::<EntryId>().is_ok();
    if entry == UNTIL { is_entry(time) } else { is_entry(entry) && time.parse::<f64>().is_ok() }
}

fn is_visit(news: &str, mark: &str) -> bool {
    news.parse::<NewsId>().is_ok() && mark.split(' ').count() == 5 && mark.split(' ').all(is_number)
}

fn logo(subject: &Subject, claims: &mut Claims) {
    if subject.hash().is_some_and(|hash| hash.get("logo").is_some()) {
        let mend = Mend::Person("choose the logo again at /admin/site");
        claims.of("logo").refers("the logo", keys::SITE_LOGO.to_owned(), mend);
    }
}
