//! Rules of articles and topics.

use super::claims::{Claims, Fault, Found, Mend, count_in, hash_in, score, score_fault, score_in};
use super::subject::{Item, Subject};
use super::wrong::Source;
use super::{Check, Rule};
use crate::articles::article::Article;
use crate::articles::repair;
use crate::error::Error;
use crate::keys::{self, families};
use crate::news::item::News;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::topic::Topic;
use futures_util::future::BoxFuture;
use tidings_keyspace::{Batch, Read};

pub(super) static RULES: &[Rule] = &[
    Rule {
        of: &families::NEWS,
        sentence: "a story that is shown has its article, with its title, link and votes, in its lists and topics",
        check: Check::Many(articles),
    },
    Rule {
        of: &families::ARTICLE_OF,
        sentence: "an article has a story that is not deleted, or is a whole article of another program",
        check: Check::Claims(of_story),
    },
    Rule { of: &families::ARTICLES_BY_TIME, sentence: LISTED, check: Check::Claims(listed) },
    Rule { of: &families::ARTICLES_BY_SCORE, sentence: LISTED, check: Check::Claims(listed) },
    Rule {
        of: &families::VOTED,
        sentence: "votes on an article are on one that exists",
        check: Check::Claims(voted),
    },
    Rule {
        of: &families::GROUP,
        sentence: "a topic has only articles whose stories name it",
        check: Check::Claims(grouped),
    },
    Rule {
        of: &families::GROUP_WITHHELD,
        sentence: "a topic keeps a place only for articles of stories that are withheld and name it",
        check: Check::Claims(withheld),
    },
    Rule { of: &families::GROUP, sentence: COUNTED, check: Check::Claims(group) },
    Rule { of: &families::TOPICS, sentence: COUNTED, check: Check::Claims(topic) },
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
            let is_shown = News::from_hash(subject.hash()?).is_some_and(|news| !news.is_gone());
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

/// Makes articles what they should be.
pub(super) async fn mend(site: &Site, now: Moment, ids: &[NewsId]) -> Result<(), Error> {
    repair::mend(site, now.timestamp(), ids).await
}

/// What an article belongs to, by its story and its hash.
enum Owner {
    Shown(Box<News>),
    Withheld(Box<News>),
    OtherProgram,
    Nobody,
}

/// The reads of what an article belongs to.
fn owner_reads(id: NewsId) -> Vec<Read> {
    vec![Read::Hash(keys::news(id)), Read::Hash(keys::article(id))]
}

fn owner_in(id: NewsId, answers: &[tidings_keyspace::Answer]) -> Owner {
    let stored = hash_in(answers, 0);
    match stored.and_then(News::from_hash) {
        Some(news) if news.deleted => Owner::Nobody,
        Some(news) if news.is_unlisted() => Owner::Withheld(Box::new(news)),
        Some(news) => Owner::Shown(Box::new(news)),
        None => {
            let article = hash_in(answers, 1).and_then(|hash| Article::from_hash(id, hash));
            if stored.is_none() && article.is_some() { Owner::OtherProgram } else { Owner::Nobody }
        }
    }
}

/// Adds the checks that a story is as it was read.
fn guard(batch: &mut Batch, id: NewsId, answers: &[tidings_keyspace::Answer]) {
    match hash_in(answers, 0) {
        None => _ = batch.key_absent(keys::news(id)),
        Some(hash) => {
            for field in ["del", "withheld", "topics"] {
                batch.field_unchanged(keys::news(id), field, hash.get(field));
            }
        }
    }
}

/// What an article should have is checked with its story.
fn of_story(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<NewsId>()) else { return };
    let (key, is_article) = (subject.key.clone(), Article::from_hash(id, hash).is_some());
    claims.add(vec![Read::Hash(keys::news(id))], move |answers| {
        let story = hash_in(answers, 0);
        let (found, mend) = match story.map(|hash| (hash, News::from_hash(hash))) {
            None if !is_article => {
                let advice = "delete the key, or complete the article with the program that posted it";
                ("an article without a story that lacks fields".to_owned(), Mend::Person(advice))
            }
            Some((hash, Some(news))) if news.deleted => {
                let mut batch = Batch::new();
                batch.field_unchanged(keys::news(id), "del", hash.get("del"));
                batch.delete(&key);
                batch.delete(keys::voted(id));
                (format!("an article of the story {id}, which is deleted"), Mend::write(batch, "delete it"))
            }
            _ => return None,
        };
        Some(Fault { key: key.clone(), found, expected: "an article of a story".to_owned(), mend })
    });
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let id = keys::news_of_article(&member);
    claims.add(id.map(owner_reads).unwrap_or_default(), move |answers| {
        let mut batch = Batch::new();
        let found = match id.map(|id| (id, owner_in(id, answers))) {
            Some((_, Owner::Shown(_) | Owner::OtherProgram)) => return None,
            Some((id, owner)) => {
                guard(&mut batch, id, answers);
                if let Owner::Nobody = owner {
                    batch.delete(keys::article(id));
                    batch.delete(keys::voted(id));
                }
                format!("the member {member}, whose story is not shown")
            }
            None => format!("the member {member:?}"),
        };
        batch.sorted_remove(&key, &member);
        let mend = Mend::write(batch, "remove the member");
        Some(Fault {
            key: key.clone(),
            found,
            expected: "articles of stories that are shown".to_owned(),
            mend,
        })
    });
}

fn voted(subject: &Subject, claims: &mut Claims) {
    let (Item::Whole, Some(id)) = (&subject.item, subject.id::<NewsId>()) else { return };
    let mut batch = Batch::new();
    batch.key_absent(keys::article(id));
    batch.delete(&subject.key);
    let mend = Mend::write(batch, "delete the key");
    claims.refers(&subject.key, format!("votes on the article {id}"), keys::article(id), mend);
}

/// Claims that a member of a group of a topic is an article that belongs there; otherwise it is
/// removed.
fn in_group(subject: &Subject, claims: &mut Claims, is_withheld: bool) {
    let Some((member, _)) = subject.member() else { return };
    let Ok(topic) = Topic::parse("topic", subject.part()) else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let id = keys::news_of_article(&member);
    let mut reads = id.map(owner_reads).unwrap_or_default();
    reads.push(Read::Expiry(keys::TOPIC_MOVES.to_owned()));
    claims.add(reads, move |answers| {
        // While a topic is being moved, its stories change one after the other.
        let moves = matches!(answers.last(), Some(tidings_keyspace::Answer::Expiry(expiry)) if *expiry != tidings_keyspace::Expiry::Absent);
        let is_right = id.is_some_and(|id| match owner_in(id, answers) {
            Owner::Shown(news) => !is_withheld && news.topics.contains(&topic),
            Owner::Withheld(news) => is_withheld && news.topics.contains(&topic),
            Owner::OtherProgram => !is_withheld,
            Owner::Nobody => false,
        });
        if is_right || moves {
            return None;
        }
        let mut batch = Batch::new();
        if let Some(id) = id {
            guard(&mut batch, id, answers);
        }
        batch.remove_member(&key, &member);
        let mend = Mend::write(batch, "remove the member");
        let found = format!("the member {member}, which does not belong to the topic");
        Some(Fault { key: key.clone(), found, expected: "articles of the topic".to_owned(), mend })
    });
}

fn grouped(subject: &Subject, claims: &mut Claims) {
    in_group(subject, claims, false);
}

fn withheld(subject: &Subject, claims: &mut Claims) {
    in_group(subject, claims, true);
}

/// Claims that a topic is listed with the number of members of its group.
fn number_of_articles(claims: &mut Claims, topic: &str) {
    let Ok(topic) = Topic::parse("topic", topic) else {
        return claims.malformed(keys::TOPICS, format!("the member {topic:?}"), "names of topics");
    };
    let reads = vec![Read::MemberCount(keys::group(&topic)), score(keys::TOPICS, topic.as_str())];
    claims.add(reads, move |answers| {
        #[allow(clippy::cast_precision_loss)]
        let expected = count_in(answers, 0) as f64;
        score_fault(keys::TOPICS, topic.as_str(), score_in(answers, 1), expected)
    });
}

fn group(subject: &Subject, claims: &mut Claims) {
    if subject.item == Item::Whole {
        number_of_articles(claims, subject.part());
    }
}

fn topic(subject: &Subject, claims: &mut Claims) {
    if let Some((topic, _)) = subject.member() {
        number_of_articles(claims, topic);
    }
}
