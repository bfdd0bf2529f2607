//! Rules of stories, of their lists, and of the votes on them.

use crate::News;
use crate::keys::{self, families};
use crate::news::by_votes;
use crate::news::item::IMPORTED_VOTES;
use crate::records::AsRead;
use crate::store_rules::claims::{counter_fault, whole};
use crate::store_rules::entries::demand;
use crate::store_rules::{
    Claims, Fault, Form, Mend, NameIn, Person, Remove, STATE, STORY, Source, Subject, USER, claims, form, is,
    refers, rules,
};
use crate::values::{Age, ImportedVotes, NewsId, REMOVED, UserId, WITHHELD, Withheld, words};
use tidings_keyspace::{Batch, read};

rules! { pub(crate) RULES:
    "a story has an author and its form" =>
        NEWS: form(Form::OwnId, "");
        NEWS: form(Form::MayHave(&[WITHHELD], is::<Withheld>), STATE);
        NEWS: form(Form::Has(&["title", "url"], |_| true), "a text");
        NEWS: form(Form::Has(&["user_id", "ctime", "up", "down"], is::<i64>), "a whole number");
        NEWS: form(Form::MayHave(&[IMPORTED_VOTES], is::<ImportedVotes>),
            "votes up and down as whole numbers");
        NEWS: refers(NameIn::Field("user_id"), "the author", USER,
            Person("restore the user from a backup, or delete the story"));
    "a story is in the lists that follow from it, and names the line that removed it" => NEWS: claims(lists);
    "the counters up and down of a story are the numbers of its voters, with its author" => NEWS: claims(votes);
    "a story is in one of the lists by votes, with its votes" => NEWS: claims(by_votes);
    "a vote is on a story that exists, by a user who exists, in one direction" =>
        NEWS_UP, NEWS_DOWN: refers(NameIn::Part, "votes on the story", STORY,
            Person("delete the key, if the story is not to be restored from a backup"));
        NEWS_UP, NEWS_DOWN: refers(NameIn::Member, "a vote of the user", USER,
            Person("restore the user from a backup, or remove the member and run the repair"));
        NEWS_UP: claims(voted_once);
    "a vote that does not count is not among those that do" => NEWS_DISCOUNTED: claims(discounted);
    "what a user has voted up, saved, hidden or subscribed to are stories" =>
        USER_UPVOTED, USER_SAVED, USER_HIDDEN, USER_SUBSCRIPTIONS, USER_UNSUBSCRIBED:
            refers(NameIn::Member, "the story", STORY,
                Person("remove the member, if the story is not to be restored from a backup"));
    "a story knows who has subscribed to it" => USER_SUBSCRIPTIONS: claims(subscribed);
    "those who have subscribed are users" =>
        NEWS_SUBSCRIBERS: refers(NameIn::Member, "the user", USER,
            Person("restore the user from a backup, or remove the member"));
    "a link that was posted lately leads to its story" =>
        URL: refers(NameIn::Text, "the story", STORY, Remove);
}

/// The story that a hash is, if its state can be read. An unreadable one says nothing, and an erased post may never have
/// been shown.
fn story(subject: &Subject) -> Option<AsRead<News>> {
    let hash = subject.hash()?;
    let news = News::from_hash(hash)?;
    let is_unreadable = news.withheld.as_ref().is_some_and(Withheld::is_unreadable);
    (!is_unreadable && !news.is_erased()).then(|| AsRead::of_hash(news, hash))
}

fn lists(subject: &Subject, claims: &mut Claims) {
    if let Some(news) = subject.hash().and_then(News::from_hash) {
        claims.of(REMOVED).removal("the story", news.removed.as_deref(), news.state());
    }
    let Some(news) = story(subject) else { return };
    demand(claims, None, &news);
    match news.stored_rank {
        _ if !news.state().is_listed() => {}
        Some(rank) => claims.scored(keys::NEWS_TOP, news.id, rank),
        None => claims.listed(keys::NEWS_TOP, news.id, 0.0),
    }
}

fn votes(subject: &Subject, claims: &mut Claims) {
    let Some(news) = story(subject) else { return };
    let (of_news, author, [up, down]) = (subject.of.clone(), news.user_id, [news.up, news.down]);
    if !news.was_shown() {
        // It has its author's vote in the counter alone.
        return claims.of("up").counts("up", up, 1);
    }
    let key = keys::news_up(news.id);
    let reads = (read::sorted_count(&key), read::score(&key, author.to_string()));
    claims.of("up").add(reads, move |(count, own)| {
        if own.is_some() {
            return counter_fault(&of_news.key, "up", up, whole(count));
        }
        let advice = "restore the key from a backup; if it is lost, add the author to it and run the repair";
        let found = format!("{count} voters without the author {author}");
        Some(Fault::new(key, found, "the author among those who voted up", Mend::Person(advice)))
    });
    let (of_news, key) = (subject.of.clone(), keys::news_down(news.id));
    claims.of("down").add(read::sorted_count(&key), move |count| {
        if count > 0 || down <= 0 {
            return counter_fault(&of_news.key, "down", down, whole(count));
        }
        let advice = "restore the key from a backup; if it is lost, set down of the story to 0";
        let expected = words::counted(down.unsigned_abs(), "voter", "voters");
        Some(Fault::new(key, "nobody", expected, Mend::Person(advice)))
    });
}

fn by_votes(subject: &Subject, claims: &mut Claims) {
    let Some(news) = story(subject).filter(|news| news.state().is_listed()) else { return };
    let points = news.points() as f64;
    let places = || by_votes::places(news.id, news.ctime);
    let scores: Vec<_> = places().map(|(_, list, member)| read::score(list, member)).collect();
    let voters = [keys::news_up(news.id), keys::news_down(news.id)].map(read::sorted_count);
    let (mut batch, youngest) = (Batch::new(), keys::news_by_votes(Age::Day));
    news.unchanged(&mut batch);
    for (age, list, member) in places() {
        match age {
            // As time passes, it moves on to the list of its age.
            Age::Day => batch.sorted_add(list, member, points),
            _ => batch.sorted_remove(list, member),
        }
    }
    let counters = [news.up, news.down];
    claims.add((scores, voters), move |(scores, voters)| {
        let scores: Vec<f64> = scores.into_iter().flatten().collect();
        // Counters that are wrong are mended by themselves.
        let is_right = scores == [points] || scores.len() == 1 && voters.map(whole) != counters;
        let found = format!("the scores {scores:?} in the lists by votes");
        let mend = Mend::write(batch, "add it to the youngest list");
        (!is_right).then(|| Fault::new(youngest, found, format_args!("one of {points}"), mend))
    });
}

fn voted_once(subject: &Subject, claims: &mut Claims) {
    let (Some(id), Some(user)) = (subject.id::<NewsId>(), subject.member_id::<UserId>()) else { return };
    let (ups, key, voter) = (subject.key.clone(), keys::news_down(id), user.to_string());
    let reads = (read::score(&key, &voter), read::field(keys::news(id), "id"));
    claims.add(reads, move |(down, story)| {
        down?;
        let mut batch = Batch::new();
        batch.sorted_member_present(ups, &voter);
        batch.sorted_member_present(&key, &voter);
        batch.sorted_remove(&key, voter);
        if story.is_some() {
            batch.increment_field(keys::news(id), "down", -1);
        }
        let found = format!("the user {user}, who has also voted up");
        Some(Fault::new(key, found, "one vote of each user", Mend::write(batch, "remove the vote down")))
    });
    claims.besides(Source::existence(keys::news(id)));
}

fn discounted(subject: &Subject, claims: &mut Claims) {
    let Some(id) = subject.id::<NewsId>() else { return };
    for (user, json) in subject.fields() {
        let votes: Option<serde_json::Value> = serde_json::from_str(json).ok();
        let Some(votes) = votes.filter(|_| is::<UserId>(user)) else {
            claims.malformed(format_args!("the field {user:?}"), "a user's votes as JSON");
            continue;
        };
        if votes.get("story").is_some() {
            let found = format!("a vote of the user {user} that also counts");
            let counted = [keys::news_up(id), keys::news_down(id)].map(|list| read::score(list, user));
            claims.expects("a vote that does not count", counted, move |counted| {
                let mend = Mend::Person("remove the user from the list of voters and run the repair");
                counted.iter().any(Option::is_some).then_some((found, mend))
            });
        }
    }
}

fn subscribed(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((_, score))) = (subject.id::<UserId>(), subject.member()) else { return };
    if let Some(id) = subject.member_id::<NewsId>() {
        claims.listed(keys::news_subscribers(id), user, score);
    }
}
