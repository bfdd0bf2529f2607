//! Rules of articles and topics.

use crate::articles::article::Article;
use crate::articles::repair::{self, ArticleOwner};
use crate::error::Error;
use crate::keys::{self, families};
use crate::news::item::News;
use crate::site::Site;
use crate::store_rules::Rule;
use crate::store_rules::claims::{
    Claims, Fault, Found, Mend, count_in, hash_in, is_absent, score, score_fault, score_in,
};
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::topic::Topic;
use futures_util::future::BoxFuture;
use tidings_keyspace::{Answer, Batch, Hash, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::rounds(
        &families::NEWS,
        "a story that is shown has its article, with its title, link and votes, in its lists and topics",
        articles,
    ),
    Rule::claims(
        &families::ARTICLE_OF,
        "an article has a story that is not deleted, or is a whole article of another program",
        of_story,
    ),
    Rule::claims(&families::ARTICLES_BY_TIME, LISTED, listed),
    Rule::claims(&families::ARTICLES_BY_SCORE, LISTED, listed),
    Rule::claims(&families::VOTED, "votes on an article are on one that exists", voted),
    Rule::claims(&families::GROUP, "a topic has only articles whose stories name it", grouped),
    Rule::claims(
        &families::GROUP_WITHHELD,
        "a topic keeps a place only for articles of stories that are withheld and name it",
        withheld,
    ),
    Rule::claims(&families::GROUP, COUNTED, group),
    Rule::claims(&families::TOPICS, COUNTED, topic),
];

const LISTED: &str = "lists of articles have only articles of stories that are shown";
const COUNTED: &str = "a topic is listed with the number of its articles";

fn articles<'a>(
    site: &'a Site,
    now: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    Box::pin(async move {
        let shown = subjects.iter().map(|subject| {
            let is_shown = News::from_hash(subject.hash()?).is_some_and(|news| news.state().is_listed());
            subject.id::<NewsId>().filter(|_| is_shown)
        });
        let ids: Vec<Option<NewsId>> = shown.collect();
        let asked: Vec<NewsId> = ids.iter().copied().flatten().collect();
        let mut differences = repair::differences(site, now.timestamp(), &asked).await?;
        let found = ids.into_iter().map(|id| {
            let id = id?;
            let (found, expected) = differences.remove(&id)?;
            let fault = Fault { key: keys::article(id), found, expected, mend: Mend::Article(id) };
            let rests_on = [keys::news(id), keys::news_up(id), keys::article(id), keys::voted(id)];
            Some(Found::of(fault, rests_on.map(Source::all).into()))
        });
        Ok(found.collect())
    })
}

/// The reads of what an article belongs to.
fn owner_reads(id: NewsId) -> Vec<Read> {
    vec![Read::Hash(keys::news(id)), Read::Hash(keys::article(id))]
}

fn owner_in(id: NewsId, answers: &[Answer]) -> ArticleOwner {
    let none = Hash::default();
    ArticleOwner::of(id, hash_in(answers, 0).unwrap_or(&none), hash_in(answers, 1).unwrap_or(&none))
}

/// Adds the checks that a story is as it was read.
fn guard(batch: &mut Batch, id: NewsId, answers: &[Answer]) {
    match hash_in(answers, 0) {
        None => _ = batch.key_absent(keys::news(id)),
        Some(hash) => {
            for field in ["del", "withheld", "topics"] {
                batch.field_unchanged(keys::news(id), field, hash.get(field));
            }
        }
    }
}

/// Checks only whether an article may exist. Its content is checked with its story.
fn of_story(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    let (key, is_article) = (subject.key.clone(), Article::from_hash(id, hash).is_some());
    claims.expects("an article of a story", vec![Read::Hash(keys::news(id))], move |answers| {
        let Some(story) = hash_in(answers, 0) else {
            let advice = "delete the key, or complete the article with the program that posted it";
            let found = "an article without a story that lacks fields";
            return (!is_article).then(|| (found.to_owned(), Mend::Person(advice)));
        };
        News::from_hash(story).filter(|news| news.deleted).map(|_| {
            let mut batch = Batch::new();
            batch.field_unchanged(keys::news(id), "del", story.get("del"));
            batch.delete(&key);
            batch.delete(keys::voted(id));
            (format!("an article of the story {id}, which is deleted"), Mend::write(batch, "delete it"))
        })
    });
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let Some(id) = keys::news_of_article(member) else {
        return claims.unreadable("articles of stories that are shown");
    };
    let member = member.to_owned();
    claims.belongs("articles of stories that are shown", owner_reads(id), move |answers, batch| {
        let owner = owner_in(id, answers);
        if let ArticleOwner::Shown(_) | ArticleOwner::OtherProgram = owner {
            return None;
        }
        guard(batch, id, answers);
        if let ArticleOwner::Nobody = owner {
            batch.delete(keys::article(id));
            batch.delete(keys::voted(id));
        }
        Some(format!("the member {member}, whose story is not shown"))
    });
}

fn voted(subject: &Subject, claims: &mut Claims) {
    let (SubjectItem::Whole, Some(id)) = (&subject.item, subject.id::<NewsId>()) else { return };
    let mut batch = Batch::new();
    batch.key_absent(keys::article(id));
    batch.delete(&subject.key);
    let mend = Mend::write(batch, "delete the key");
    claims.refers(format!("votes on the article {id}"), keys::article(id), mend);
}

/// Claims that a member of a group of a topic is an article that belongs there; otherwise it is
/// removed.
fn in_group(subject: &Subject, claims: &mut Claims, is_withheld: bool) {
    let Some((member, _)) = subject.member() else { return };
    let Ok(topic) = Topic::parse("topic", subject.part()) else { return };
    let (member, id) = (member.to_owned(), keys::news_of_article(member));
    let mut reads = id.map(owner_reads).unwrap_or_default();
    let moves = reads.len();
    reads.push(Read::Expiry(keys::TOPIC_MOVES.to_owned()));
    claims.belongs("articles of the topic", reads, move |answers, batch| {
        let is_right = id.is_some_and(|id| match owner_in(id, answers) {
            ArticleOwner::Shown(news) => !is_withheld && news.topics.contains(&topic),
            ArticleOwner::Withheld(news) => is_withheld && news.topics.contains(&topic),
            ArticleOwner::OtherProgram => !is_withheld,
            ArticleOwner::Nobody => false,
        });
        // While a topic is being moved, its stories change one after the other.
        if is_right || !is_absent(answers, moves) {
            return None;
        }
        if let Some(id) = id {
            guard(batch, id, answers);
        }
        Some(format!("the member {member}, which does not belong to the topic"))
    });
}

fn grouped(subject: &Subject, claims: &mut Claims) {
    in_group(subject, claims, false);
}

fn withheld(subject: &Subject, claims: &mut Claims) {
    in_group(subject, claims, true);
}

/// Claims that a topic is listed with the number of members of its group.
fn number_of_articles(claims: &mut Claims, name: &str) {
    let Ok(topic) = Topic::parse("topic", name) else {
        let (found, expected) = (format!("the member {name:?}"), "names of topics".to_owned());
        return claims.fault(Fault { key: keys::TOPICS.to_owned(), found, expected, mend: Mend::BY_HAND });
    };
    let reads = vec![Read::MemberCount(keys::group(&topic)), score(keys::TOPICS, topic.as_str())];
    claims.add(reads, move |answers| {
        let expected = count_in(answers, 0) as f64;
        score_fault(keys::TOPICS, topic.as_str(), score_in(answers, 1), expected)
    });
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
