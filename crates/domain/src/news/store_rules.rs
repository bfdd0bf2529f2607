//! Rules of stories, of their lists, and of the votes on them.

use crate::keys::{self, families};
use crate::news::item::{IMPORTED_VOTES, News};
use crate::store_rules::Rule;
use crate::store_rules::claims::{
    Claims, Fault, Mend, count_in, counter_fault, field_in, fields, score, score_in,
};
use crate::store_rules::entries;
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::ids::{NewsId, UserId};
use crate::values::imported::ImportedVotes;
use crate::values::removed_by::REMOVED;
use crate::values::withheld::{UNSEEN, WITHHELD, Withheld};
use crate::values::words::counted;
use tidings_keyspace::{Batch, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::NEWS, "a story has an author and its form", form),
    Rule::claims(
        &families::NEWS,
        "a story is in the lists that follow from it, and names the line that removed it",
        lists,
    ),
    Rule::claims(
        &families::NEWS,
        "the counters up and down of a story are the numbers of its voters, with its author",
        votes,
    ),
    Rule::claims(&families::NEWS_TOP, "the list of stories by rank has only stories that are shown", listed),
    Rule::claims(&families::NEWS_CRON, "the list of stories by time has only stories that are shown", listed),
    Rule::claims(
        &families::HOST_NEWS,
        "the list of the stories of a site has only stories that link there",
        listed,
    ),
    Rule::claims(
        &families::USER_POSTED,
        "the list of a user's stories has only stories of that user that were shown",
        listed,
    ),
    Rule::claims(&families::NEWS_UP, VOTED, voted),
    Rule::claims(&families::NEWS_DOWN, VOTED, voted),
    Rule::claims(
        &families::NEWS_DISCOUNTED,
        "a vote that does not count is not among those that do",
        discounted,
    ),
    Rule::claims(&families::USER_UPVOTED, STORIES, chosen),
    Rule::claims(&families::USER_SAVED, STORIES, chosen),
    Rule::claims(&families::USER_HIDDEN, STORIES, chosen),
    Rule::claims(&families::USER_SUBSCRIPTIONS, STORIES, chosen),
    Rule::claims(&families::USER_UNSUBSCRIBED, STORIES, chosen),
    Rule::claims(&families::USER_SUBSCRIPTIONS, "a story knows who has subscribed to it", subscribed),
    Rule::claims(&families::NEWS_SUBSCRIBERS, "those who have subscribed are users", subscriber),
    Rule::claims(&families::URL, "a link that was posted lately leads to its story", posted_url),
];

const VOTED: &str = "a vote is on a story that exists, by a user who exists, in one direction";
const STORIES: &str = "what a user has voted up, saved, hidden or subscribed to are stories";

/// The story that a hash is, and a batch that fails if it changes its state.
fn story(subject: &Subject) -> Option<(News, Batch)> {
    let news = News::from_hash(subject.hash()?)?;
    let mut guard = Batch::new();
    news.check_state(&mut guard);
    guard.field_unchanged(&subject.key, "del", subject.hash()?.get("del"));
    Some((news, guard))
}

fn form(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    claims.own_id();
    for field in ["title", "url"] {
        if hash.get(field).is_none() {
            claims.of(field).malformed(format_args!("no field {field}"), format_args!("a field {field}"));
        }
    }
    for field in ["user_id", "ctime", "up", "down"] {
        if hash.get(field).is_none_or(|value| value.parse::<i64>().is_err()) {
            let found = format!("{field} {:?}", hash.get(field).unwrap_or_default());
            claims.of(field).malformed(found, format_args!("{field} as a whole number"));
        }
    }
    if let Some(votes) = hash.get(IMPORTED_VOTES).filter(|votes| votes.parse::<ImportedVotes>().is_err()) {
        let found = format!("{IMPORTED_VOTES} {votes:?}");
        claims.of(IMPORTED_VOTES).malformed(found, "votes up and down as whole numbers");
    }
    claims.of(WITHHELD).state(hash.get(WITHHELD));
    if let Some(author) = hash.get("user_id").and_then(|id| id.parse::<UserId>().ok()) {
        let mend = Mend::Person("restore the user from a backup, or delete the story");
        claims.of("user_id").refers(format!("the author {author}"), keys::user(author), mend);
    }
}

fn lists(subject: &Subject, claims: &mut Claims) {
    let Some((news, mut guard)) = story(subject) else { return };
    let state = news.withheld.as_ref();
    let removal = news.removed.as_deref();
    claims.of(REMOVED).removal("the story", (removal, state), news.unseen);
    guard.field_unchanged(&subject.key, UNSEEN, subject.hash().and_then(|hash| hash.get(UNSEEN)));
    guard.field_equals(&subject.key, "url", &news.url);
    // A state that cannot be read says nothing, and an erased post may never have been shown.
    if news.is_erased() || state.is_some_and(Withheld::is_unreadable) {
        return;
    }
    entries::demand(claims, None, &news, &guard);
    if news.state().is_listed() {
        claims.listed(keys::NEWS_TOP.to_owned(), news.id, (news.stored_rank, 0.0), &guard);
    }
    if !news.was_shown() {
        claims.not_listed(keys::user_posted(news.user_id), news.id, "the story was never shown", &guard);
    }
}

fn votes(subject: &Subject, claims: &mut Claims) {
    let Some((news, _)) = story(subject) else { return };
    let (key, author, found) = (subject.key.clone(), news.user_id, [news.up, news.down]);
    let (ups, downs) = (keys::news_up(news.id), keys::news_down(news.id));
    // A state that cannot be read says nothing about the counter, and an erased story may never have been shown.
    if news.is_erased() || news.withheld.as_ref().is_some_and(Withheld::is_unreadable) {
        return;
    }
    if !news.was_shown() {
        // It has its author's vote in the counter alone.
        return claims.of("up").add(Vec::new(), move |_| counter_fault(&key, "up", found[0], 1));
    }
    let up_key = key.clone();
    let reads = vec![Read::SortedCount(ups.clone()), score(&ups, author)];
    claims.of("up").add(reads, move |answers| {
        let count = count_in(answers, 0);
        if score_in(answers, 1).is_some() {
            return counter_fault(&up_key, "up", found[0], count);
        }
        Some(Fault {
            key: ups.clone(),
            found: format!("{count} voters without the author {author}"),
            expected: "the author among those who voted up".to_owned(),
            mend: Mend::Person(
                "restore the key from a backup; if it is lost, add the author to it and run the repair",
            ),
        })
    });
    claims.of("down").add(vec![Read::SortedCount(downs.clone())], move |answers| {
        let count = count_in(answers, 0);
        if count > 0 || found[1] <= 0 {
            return counter_fault(&key, "down", found[1], count);
        }
        Some(Fault {
            key: downs.clone(),
            found: "nobody".to_owned(),
            expected: counted(found[1].unsigned_abs(), "voter", "voters"),
            mend: Mend::Person("restore the key from a backup; if it is lost, set down of the story to 0"),
        })
    });
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let story = subject.member_id::<NewsId>().map(|id| (keys::news(id), News::from_hash));
    entries::is_entry(subject, claims, "stories that belong there", story);
}

fn voted(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.id::<NewsId>() else { return };
    if subject.item == SubjectItem::Whole {
        let mend = Mend::Person("delete the key, if the story is not to be restored from a backup");
        return claims.refers(format!("votes on the story {id}"), keys::news(id), mend);
    }
    let Some(user) = claims.member::<UserId>("ids of users") else { return };
    let mend = Mend::Person("restore the user from a backup, or remove the member and run the repair");
    claims.refers(format!("a vote of the user {user}"), keys::user(user), mend);
    if *subject.family == families::NEWS_UP {
        let key = subject.key.clone();
        let downs = keys::news_down(id);
        claims.add(vec![score(&downs, user), fields(keys::news(id), ["id"])], move |answers| {
            score_in(answers, 0)?;
            let mut batch = Batch::new();
            batch.sorted_member_present(&key, user.to_string());
            batch.sorted_member_present(&downs, user.to_string());
            batch.sorted_remove(&downs, user.to_string());
            if field_in(answers, 1, 0).is_some() {
                batch.increment_field(keys::news(id), "down", -1);
            }
            Some(Fault {
                key: downs.clone(),
                found: format!("the user {user}, who has also voted up"),
                expected: "one vote of each user".to_owned(),
                mend: Mend::write(batch, "remove the vote down"),
            })
        });
        claims.besides(Source::existence(keys::news(id)));
    }
}

fn discounted(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.id::<NewsId>() else { return };
    for (user, json) in subject.fields() {
        let votes: Option<serde_json::Value> = serde_json::from_str(json).ok();
        let Some(votes) = votes.filter(|_| user.parse::<UserId>().is_ok()) else {
            claims.malformed(format_args!("the field {user:?}"), "a user's votes as JSON");
            continue;
        };
        if votes.get("story").is_some() {
            let user = user.to_owned();
            let reads = [keys::news_up(id), keys::news_down(id)].map(|list| score(list, &user));
            claims.expects("a vote that does not count", reads.into(), move |answers| {
                let counts = [0, 1].iter().any(|list| score_in(answers, *list).is_some());
                let mend = Mend::Person("remove the user from the list of voters and run the repair");
                counts.then(|| (format!("a vote of the user {user} that also counts"), mend))
            });
        }
    }
}

fn chosen(_: &Subject, claims: &mut Claims) {
    if let Some(id) = claims.member::<NewsId>("ids of stories") {
        let mend = Mend::Person("remove the member, if the story is not to be restored from a backup");
        claims.refers(format!("the story {id}"), keys::news(id), mend);
    }
}

fn subscribed(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((_, score))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(id) = subject.member_id::<NewsId>() else { return };
    let mut guard = Batch::new();
    guard.sorted_member_present(&subject.key, id.to_string());
    claims.listed(keys::news_subscribers(id), user, (None, score), &guard);
}

fn subscriber(_: &Subject, claims: &mut Claims) {
    if let Some(user) = claims.member::<UserId>("ids of users") {
        let mend = Mend::Person("restore the user from a backup, or remove the member");
        claims.refers(format!("the user {user}"), keys::user(user), mend);
    }
}

fn posted_url(subject: &Subject, claims: &mut Claims) {
    let Some(id) = claims.text::<NewsId>("the id of a story") else { return };
    let mend = Mend::write(subject.deletion(), "delete the key");
    claims.expects("a story", vec![fields(keys::news(id), ["id"])], move |answers| {
        let found = || (format!("the story {id}, which does not exist"), mend.clone());
        field_in(answers, 0, 0).is_none().then(found)
    });
}
