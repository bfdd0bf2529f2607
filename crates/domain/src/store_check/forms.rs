//! Rules of forms: what a text, a field or a member looks like, where nothing else follows from it.

use crate::accounts::VotedOn;
use crate::accounts::inbox::{EntryId, UNTIL};
use crate::changes::Findable;
use crate::hub;
use crate::keys::{self, families};
use crate::marks::ThreadMark;
use crate::queue::StoredLease;
use crate::store_rules::forms::Form::{Field, Member, Text};
use crate::store_rules::{NameIn, Noun, Person, form, is, refers, rules};
use crate::values::{MAX_TOPIC_SENTENCE, NewsId, TagOrigin, Topic, UserId};

rules! { pub(super) RULES:
    "a value has its form" =>
        CONFIRM_EMAIL, PASSWORD_RESET:
            form(Text(is_user_and_digest), "the id of a user and 16 hexadecimal digits");
        QUEUE_LEASES:
            form(Field(|_, held| is::<StoredLease>(held)), "who works on what, and until when");
        HUB_FEEDS:
            form(Field(|feed, at| feed.starts_with('/') && is::<u64>(at)), "addresses of feeds with places");
        HUB_LOST: form(Member(is::<Findable>), "things that feeds have lost");
        HUB_STATE:
            form(Field(|field, at| hub::FIELDS.contains(&field) && is::<u64>(at)), "a place and times");
        ERASED_LAST, LAYOUT_VERSION, ORIGIN_BANS_COUNT, REVIEW_REMINDED, USERNAMES_FOLDED:
            form(Text(is::<u64>), "a whole number");
        NETWORK: form(Member(is::<UserId>), "ids of users");
        NETWORKS_SECRET, STORE_NUMBER, SIGNING_KEY: form(Text(is_secret), "40 hexadecimal digits");
        ORIGIN_BANS_STOPPED:
            form(Field(|ban, stopped| is::<u64>(ban) && is::<u64>(stopped)), "bans with whole numbers");
        PASSKEY_USED: form(Text(is::<UserId>), "the id of a user");
        USED_TOKEN: form(Text(|text| text == "1"), "1");
        RETENTION, SETTINGS, STATISTICS_DAY, STATISTICS_HOUR:
            form(Field(|_, value| is::<u64>(value)), "whole numbers");
        SITE_TAG: form(Text(is::<TagOrigin>), "a host and a date");
        SITES_AUDIT: form(Member(is_json), "JSON objects");
        TOPIC_SENTENCES: form(Field(|topic, text| is_topic(topic) && text.chars().count() <= MAX_TOPIC_SENTENCE),
            "topics with a sentence of at most 200 characters");
        TOPIC_MOVES: form(Field(|from, to| is_topic(from) && is_topic(to)), "topics");
        USER_BLOCKS: form(Field(|_, time| is::<u64>(time)), "ids of users with times");
        USER_MARKED_READ: form(Field(is_marked), "entries of an inbox with times");
        USER_MUTES: form(Field(|what, time| is_muted(what) && is::<u64>(time)),
            "people, sites and words, each with a time");
        USER_RECENT_VOTES:
            form(Field(|on, json| is::<VotedOn>(on) && is_json(json)), "votes as JSON");
        USER_TOPICS_FOLLOWED, USER_TOPICS_MUTED: form(Member(is_topic), "topics");
        USER_VISITS: form(Field(is_visit), "ids of stories with five numbers");
    "the logo that the site names is stored" =>
        SITE: refers(NameIn::Field("logo"), "the logo", LOGO, Person("choose the logo again at /admin/site"));
}

const LOGO: Noun = Noun("logos", |_, _| Some(keys::SITE_LOGO.to_owned().into()));

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
    text.split_once(' ').is_some_and(|(user, digest)| is::<UserId>(user) && is_hex(digest, 16))
}

fn is_muted(what: &str) -> bool {
    what.split_once(':').is_some_and(|(kind, what)| match kind {
        "user" => is::<UserId>(what),
        "domain" | "word" => !what.is_empty(),
        _ => false,
    })
}

fn is_marked(entry: &str, time: &str) -> bool {
    if entry == UNTIL { is::<EntryId>(time) } else { is::<EntryId>(entry) && is::<f64>(time) }
}

fn is_visit(news: &str, mark: &str) -> bool {
    is::<NewsId>(news) && is::<ThreadMark>(mark)
}
