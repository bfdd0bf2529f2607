//! Rules of articles and topics.

use crate::News;
use crate::articles::article::{Article, StoredArticle};
use crate::articles::repair::{self, ItemWithArticle};
use crate::keys::{self, families};
use crate::store_rules::claims::score_fault;
use crate::store_rules::{
    Claims, Fault, Mend, NameIn, Noun, Remove, Subject, SubjectItem, claims, refers, rules,
};
use crate::values::{NewsId, Topic};
use tidings_keyspace::{Batch, Expiry, read};

rules! { pub(crate) RULES:
    "a story that is shown has its article, with its title, link and votes, in its lists and topics" =>
        NEWS: claims(article);
    "an article has a story that is not deleted, or is a whole article of another program" =>
        ARTICLE_OF: claims(of_story);
    "lists of articles have only articles of stories that are shown" =>
        ARTICLES_BY_TIME, ARTICLES_BY_SCORE: claims(listed);
    "votes on an article are on one that exists" =>
        VOTED: refers(NameIn::Part, "votes on the article", ARTICLE, Remove);
    "a topic has only articles whose stories name it" => GROUP: claims(listed);
    "a topic keeps a place only for articles of stories that are withheld and name it" =>
        GROUP_WITHHELD: claims(listed);
    "a topic is listed with the number of its articles" =>
        GROUP: claims(group);
        TOPICS: claims(topic);
}

/// Articles, by the ids of their stories.
const ARTICLE: Noun = Noun("ids of stories", |_, id| Some(keys::article(id.parse().ok()?).into()));

fn article(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let Some(news) = News::from_hash(hash).filter(|news| news.state().is_listed()) else { return };
    let (id, site) = (news.id, subject.site.clone());
    claims.add(ItemWithArticle::of(news, hash, site.now.timestamp()), move |state| {
        let (found, expected) = state.difference(&site.address)?;
        Some(Fault { key: keys::article(id), found, expected, mend: Mend::Article(id) })
    });
}

/// Checks only whether an article may exist. Its content is checked with its story.
fn of_story(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    let is_article = Article::from_hash(id, hash).is_some();
    claims.expects("an article of a story", read::hash(keys::news(id)), move |story| {
        if story.is_empty() {
            let advice = "delete the key, or complete the article with the program that posted it";
            let found = "an article without a story that lacks fields";
            return (!is_article).then(|| (found.to_owned(), Mend::Person(advice)));
        }
        News::from_hash(&story).filter(|news| news.deleted).map(|news| {
            let mut batch = Batch::new();
            news.check_state(&mut batch);
            repair::delete(&mut batch, id);
            (format!("an article of the story {id}, which is deleted"), Mend::write(batch, "delete it"))
        })
    });
}

/// Claims that a member of a list or of a topic is an article that belongs there; otherwise it is removed.
fn listed(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let is_of_topic = !subject.parts.is_empty();
    let expected = if is_of_topic { "articles of the topic" } else { "articles of stories that are shown" };
    let Some(id) = keys::news_of_article(member) else { return claims.unreadable(expected) };
    let is_of_withheld = *subject.family == families::GROUP_WITHHELD;
    let (of, member, key) = (subject.of.clone(), member.to_owned(), keys::news(id));
    let reads = (read::hash(&key), read::hash(keys::article(id)), read::expiry(keys::TOPIC_MOVES));
    claims.belongs(expected, reads, move |(story, article, moves), batch| {
        let news = News::from_hash(&story);
        let is_right = match &news {
            Some(news) => !news.deleted && StoredArticle::is_in(news, &of.key),
            // Another program has posted it without a story.
            None => story.is_empty() && !is_of_withheld && Article::from_hash(id, &article).is_some(),
        };
        // While a topic is being moved, its stories change one after the other.
        if is_right || is_of_topic && moves != Expiry::Absent {
            return None;
        }
        if story.is_empty() {
            batch.key_absent(key);
        } else {
            for field in ["del", "withheld", "topics"] {
                batch.field_unchanged(&key, field, story.get(field));
            }
        }
        if !is_of_topic && news.is_none_or(|news| news.deleted) {
            repair::delete(batch, id);
        }
        Some(format!("the member {member}, which does not belong here"))
    });
}

/// Claims that a topic is listed with the number of members of its group.
fn number_of_articles(claims: &mut Claims, name: &str) {
    let Ok(topic) = Topic::parse("topic", name) else {
        let found = format!("the member {name:?}");
        return claims.fault(Fault::new(keys::TOPICS, found, "names of topics", Mend::BY_HAND));
    };
    let reads = (read::member_count(keys::group(&topic)), read::score(keys::TOPICS, topic.as_str()));
    claims.add(reads, move |(count, stored)| score_fault(keys::TOPICS, topic.as_str(), stored, count as f64));
}

fn group(subject: &Subject, claims: &mut Claims) {
    if subject.item == SubjectItem::Whole {
        number_of_articles(claims, subject.part());
    }
}

fn topic(subject: &Subject, claims: &mut Claims) {
    if let Some((topic, _)) = subject.member() {
        number_of_articles(claims, topic);
    }
}
