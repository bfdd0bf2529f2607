//! Rules of item numbers.

use super::claims::{Claims, Fault, Mend, text_in};
use super::comments::comments_of;
use super::subject::{Item, Subject};
use super::{Check, Rule};
use crate::items::Item as SiteItem;
use crate::keys::{self, families};
use crate::values::ids::{CommentAddress, NewsId};
use tidings_keyspace::{Answer, Batch, Order, Read};

pub(super) static RULES: &[Rule] = &[
    Rule { of: &families::NEWS, sentence: "a story has an item number", check: Check::Claims(story) },
    Rule {
        of: &families::THREAD_COMMENT,
        sentence: "a comment has an item number",
        check: Check::Claims(comments),
    },
    Rule {
        of: &families::ITEMS,
        sentence: "an item number is that of a story or a comment that exists",
        check: Check::Claims(exists),
    },
    Rule {
        of: &families::ITEMS,
        sentence: "no item number is above the last that was drawn",
        check: Check::Claims(drawn),
    },
];

fn story(subject: &Subject, claims: &mut Claims) {
    if let (Some(id), Some(_)) = (subject.id::<NewsId>(), subject.hash()) {
        claims.of("id").numbered(SiteItem::Story(id));
    }
}

fn comments(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for comment in comments_of(hash).0 {
        let address = CommentAddress { news, comment: comment.id };
        claims.of(comment.id).numbered(SiteItem::Comment(address));
    }
}

fn exists(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let key = subject.key.clone();
    let (read, place) = match member.parse::<SiteItem>() {
        Ok(SiteItem::Story(id)) => (Read::HashFields(keys::news(id), vec!["id".to_owned()]), keys::news(id)),
        Ok(SiteItem::Comment(address)) => {
            let (thread, field) = (keys::thread(address.news), address.comment.to_string());
            (Read::HashFields(thread.clone(), vec![field]), thread)
        }
        Err(_) => return claims.malformed(&key, format!("the member {member:?}"), "a story or a comment"),
    };
    let found = format!("the number of {member}, which does not exist");
    claims.add(vec![read], move |answers| {
        let is_there = matches!(answers, [Answer::Texts(texts)] if texts.iter().any(Option::is_some));
        (!is_there).then(|| Fault {
            key: key.clone(),
            found: found.clone(),
            expected: format!("a value in {place}"),
            mend: Mend::Person("restore it from a backup; a number without its item does no harm"),
        })
    });
}

fn drawn(subject: &Subject, claims: &mut Claims) {
    if !matches!(subject.item, Item::Whole) {
        return;
    }
    let key = keys::ITEMS.to_owned();
    let highest = Read::SortedRange { key, order: Order::Descending, offset: 0, count: 1 };
    claims.add(vec![highest, Read::String(keys::ITEMS_COUNT.to_owned())], |answers| {
        let Some(Answer::Scored(highest)) = answers.first() else { return None };
        #[allow(clippy::cast_possible_truncation)]
        let highest = highest.first()?.1 as i64;
        let found = text_in(answers, 1).and_then(|count| count.parse().ok()).unwrap_or(0);
        let mut batch = Batch::new();
        batch.increment(keys::ITEMS_COUNT, highest.saturating_sub(found));
        (found < highest).then(|| Fault {
            key: keys::ITEMS_COUNT.to_owned(),
            found: found.to_string(),
            expected: format!("{highest} or more"),
            mend: Mend::write(batch, format!("raise the counter to {highest}")),
        })
    });
}
