//! Finding accounts, for moderators: by tags and numbers instead of words, and with those that readers do not find.

use crate::asking::{any_text, exactly, range};
use crate::index::{IndexError, Kind, View};
use crate::prefix::PrefixQuery;
use std::ops::Bound;
use strum::{EnumString, IntoStaticStr, VariantArray};
use tantivy::Order;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Occur};

/// An order of accounts; the highest come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum AccountOrder {
    /// The newest first.
    #[default]
    Age,
    /// The highest karma first.
    Karma,
    /// Those who were last there first.
    Activity,
}

impl AccountOrder {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    const fn column(self) -> &'static str {
        match self {
            Self::Age => "number",
            Self::Karma => "karma",
            Self::Activity => "seen",
        }
    }
}

/// A question about accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountQuestion {
    /// The only documents to find; `None` for all.
    pub ids: Option<Vec<String>>,
    /// Tags that an account must have.
    pub all: Vec<String>,
    /// Tags that it must not have.
    pub none: Vec<String>,
    /// A tag must begin like one of these; empty = no matter.
    pub beginnings: Vec<String>,
    /// It was made at this time or later, in Unix seconds.
    pub since: Option<i64>,
    /// It was made after this time, or has less than this karma.
    pub young: Option<(i64, i64)>,
    /// The order.
    pub order: AccountOrder,
    /// How many accounts to skip, and how many to find.
    pub page: (usize, usize),
}

/// The accounts of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundAccounts {
    /// The ids of their documents.
    pub ids: Vec<String>,
    /// How many there are on all pages.
    pub total: usize,
}

impl View {
    /// Finds accounts. Looks at one number of each account that matches.
    ///
    /// # Errors
    /// When the library fails.
    pub fn accounts(&self, question: &AccountQuestion) -> Result<FoundAccounts, IndexError> {
        let searcher = self.reader.searcher();
        let (skipped, count) = question.page;
        let best = TopDocs::with_limit(count.max(1)).and_offset(skipped);
        let best = best.order_by_fast_field::<i64>(question.order.column(), Order::Desc);
        let (best, total) = searcher.search(&self.accounts_query(question), &(best, Count))?;
        let ids = best.into_iter().map(|(_, address)| self.id_of(&searcher, address));
        Ok(FoundAccounts { ids: ids.collect::<Result<_, _>>()?, total })
    }

    fn accounts_query(&self, question: &AccountQuestion) -> BooleanQuery {
        let fields = &self.fields;
        let mut clauses = vec![(Occur::Must, exactly(fields.kind, Kind::Person.name()))];
        clauses.extend(question.all.iter().map(|tag| (Occur::Must, exactly(fields.tags, tag))));
        clauses.extend(question.ids.iter().map(|ids| (Occur::Must, any_text(fields.id, ids))));
        if !question.none.is_empty() {
            clauses.push((Occur::MustNot, any_text(fields.tags, &question.none)));
        }
        if !question.beginnings.is_empty() {
            let any = question.beginnings.iter().map(|beginning| PrefixQuery::of(fields.tags, beginning));
            clauses.push((Occur::Must, Box::new(BooleanQuery::union(any.collect()))));
        }
        clauses.extend(question.since.map(|since| (Occur::Must, range(fields.time, since..))));
        if let Some((time, karma)) = question.young {
            let after = (Bound::Excluded(time), Bound::Unbounded);
            let either = vec![range(fields.time, after), range(fields.karma, ..karma)];
            clauses.push((Occur::Must, Box::new(BooleanQuery::union(either))));
        }
        BooleanQuery::new(clauses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Account, Document, Index, Progress};

    fn person(number: u64, tags: &[&str], (karma, seen): (i64, i64)) -> Document {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Document {
            id: format!("user:{number}"),
            kind: Kind::Person,
            author: Some(number),
            time: i64::try_from(number).unwrap() * 100,
            account: Some(Account {
                tags,
                number: i64::try_from(number).unwrap(),
                is_hidden: number == 3,
                karma,
                seen,
                ends: (number == 3).then_some(500),
            }),
            ..Document::default()
        }
    }

    #[test]
    fn accounts_are_found_by_tags_and_numbers() {
        let index = Index::open(None, None).unwrap();
        for document in [
            person(1, &["name:alice", "staff"], (50, 9)),
            person(2, &["name:alina", "invited_by:1"], (5, 7)),
            person(3, &["name:bob", "banned", "invited_by:1"], (-3, 8)),
            Document { kind: Kind::Story, account: None, ..person(4, &[], (0, 0)) },
        ] {
            index.put(&document).unwrap();
        }
        index.commit(Progress::default()).unwrap();
        let whole = AccountQuestion { page: (0, 10), ..AccountQuestion::default() };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (question, found) in [
            (whole.clone(), &[3, 2, 1][..]),
            (AccountQuestion { order: AccountOrder::Karma, ..whole.clone() }, &[1, 2, 3]),
            (AccountQuestion { order: AccountOrder::Activity, ..whole.clone() }, &[1, 3, 2]),
            (AccountQuestion { page: (1, 1), ..whole.clone() }, &[2]),
            (AccountQuestion { beginnings: texts(&["name:ali"]), ..whole.clone() }, &[2, 1]),
            (AccountQuestion { beginnings: texts(&["name:ali", "name:b"]), ..whole.clone() }, &[3, 2, 1]),
            (AccountQuestion { all: texts(&["banned"]), ..whole.clone() }, &[3]),
            (
                AccountQuestion { all: texts(&["invited_by:1"]), none: texts(&["banned"]), ..whole.clone() },
                &[2],
            ),
            (AccountQuestion { ids: Some(texts(&["user:1", "user:4"])), ..whole.clone() }, &[1]),
            (AccountQuestion { since: Some(200), ..whole.clone() }, &[3, 2]),
            (AccountQuestion { young: Some((250, 10)), ..whole.clone() }, &[3, 2]),
            (AccountQuestion { young: Some((250, 0)), none: texts(&["staff"]), ..whole.clone() }, &[3]),
        ] {
            let ids: Vec<String> = found.iter().map(|number| format!("user:{number}")).collect();
            assert_eq!(index.view.accounts(&question).unwrap().ids, ids, "{question:?}");
        }
        assert_eq!(index.ended(499).unwrap(), [""; 0]);
        assert_eq!(index.ended(500).unwrap(), ["user:3"]);
        assert_eq!(index.view.accounts(&AccountQuestion { page: (0, 1), ..whole }).unwrap().total, 3);
    }
}
