//! Rules of item numbers.

use crate::comments::store_rules::comments_of;
use crate::items::Item as SiteItem;
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Fault, Mend, field_in, fields, score, score_in, text_in};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::values::ids::NewsId;
use tidings_keyspace::{Answer, Batch, Order, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::NEWS, "a story has an item number", story),
    Rule::claims(&families::THREAD_COMMENT, "a comment has an item number", comments),
    Rule::claims(&families::ITEMS, "an item number is that of a story or a comment that exists", exists),
    Rule::claims(&families::ITEMS, "no two items have one number", alone),
    Rule::claims(&families::ITEMS, "no item number is above the last that was drawn", drawn),
];

fn story(subject: &Subject, claims: &mut Claims) {
    if let (Some(id), Some(_)) = (subject.id::<NewsId>(), subject.hash()) {
        numbered(claims.of("id"), SiteItem::Story(id));
    }
}

fn comments(subject: &Subject, claims: &mut Claims) {
    let (Some(news), Some(hash)) = (subject.id::<NewsId>(), subject.hash()) else { return };
    for comment in comments_of(news, hash).0 {
        let address = comment.address();
        numbered(claims.of(comment.id), SiteItem::Comment(address));
    }
}

/// Claims that a story or a comment has an item number.
fn numbered(claims: &mut Claims, item: SiteItem) {
    let member = item.to_string();
    claims.add(vec![score(keys::ITEMS, item)], move |answers| {
        score_in(answers, 0).is_none().then(|| Fault {
            key: keys::ITEMS.to_owned(),
            found: format!("no member {member}"),
            expected: format!("the member {member} with its number"),
            mend: Mend::Number(item),
        })
    });
    claims.place_at(keys::ITEMS.to_owned(), item);
}

fn exists(_: &Subject, claims: &mut Claims) {
    let Some(item) = claims.member::<SiteItem>("a story or a comment") else { return };
    let (key, field) = match item {
        SiteItem::Story(id) => (keys::news(id), "id".to_owned()),
        SiteItem::Comment(address) => (keys::thread(address.news), address.comment.to_string()),
    };
    let read = fields(key.clone(), [&field]);
    claims.expects(format!("a value in {key}"), vec![read], move |answers| {
        let mend = Mend::Person("restore it from a backup; a number without its item does no harm");
        let found = || (format!("the number of {item}, which does not exist"), mend);
        field_in(answers, 0, 0).is_none().then(found)
    });
}

/// Claims that no other item has the number of this one.
fn alone(subject: &Subject, claims: &mut Claims) {
    let Some((member, number)) = subject.member() else { return };
    let Ok(item) = member.parse::<SiteItem>() else { return };
    let (key, order) = (keys::ITEMS.to_owned(), Order::Ascending);
    let (least, most) = (number, number);
    let same = Read::SortedByScore { key, order, least, most, count: 2 };
    let member = member.to_owned();
    claims.expects("a number of its own", vec![same], move |answers| {
        let Some(Answer::Scored(same)) = answers.first() else { return None };
        let (other, _) = same.iter().find(|(other, _)| *other != member)?;
        Some((
            format!("the member {member} with the number {number}, which {other} has too"),
            Mend::NumberAnew(item),
        ))
    });
}

fn drawn(subject: &Subject, claims: &mut Claims) {
    if !matches!(subject.item, SubjectItem::Whole) {
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
        match text_in(answers, 1) {
            Some(stored) => batch.string_equals(keys::ITEMS_COUNT, stored),
            None => batch.key_absent(keys::ITEMS_COUNT),
        };
        batch.increment(keys::ITEMS_COUNT, highest.saturating_sub(found));
        (found < highest).then(|| Fault {
            key: keys::ITEMS_COUNT.to_owned(),
            found: found.to_string(),
            expected: format!("{highest} or more"),
            mend: Mend::write(batch, format!("raise the counter to {highest}")),
        })
    });
}
