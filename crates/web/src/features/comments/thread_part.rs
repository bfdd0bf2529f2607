//! Which comments of a thread a page shows, and the addresses of pages and comments.
//!
//! `/news/7?page=2` is a page of the whole thread. `/news/7?at=12` is the page that shows comment 12, with the
//! comments above it. Comments that are too deep for the pages of the whole thread are on the pages of a
//! branch, whose addresses name one of its comments: `/news/7?at=12&page=2`.

use crate::error::{RequestError, Result};
use crate::limits::THREAD_PAGE;
use crate::markup::addresses::news_address;
use crate::request::{Fields, FromFields};
use tidings_domain::articles::lists::PageNumber;
use tidings_domain::comments::outline::{ThreadLines, ThreadPages};
use tidings_domain::comments::threads::Arrangement;
use tidings_domain::values::{Choice, CommentId, CommentOrder, NewsId};
use tidings_language::m;

/// The order of the comments on a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sorting {
    /// The order.
    pub order: CommentOrder,
    /// Whether the address asks for it: then the links of the page do too. Otherwise it is the
    /// viewer's own.
    pub is_asked: bool,
}

/// A comment with all comments below it, of which the pages of the whole thread do not show any but
/// the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The comment.
    pub root: CommentId,
    /// The first reply to it, which addresses name.
    reply: CommentId,
}

/// A page of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPart {
    /// The story.
    pub news: NewsId,
    /// The branch that is shown; `None` for the whole thread.
    pub branch: Option<Branch>,
    /// The number of the page, from 1 on.
    pub number: u64,
    /// The order of the comments.
    pub sorting: Sorting,
}

impl ThreadPart {
    /// The pages of the same thread or branch. `None` if there is no such comment.
    pub fn pages(self, lines: &ThreadLines) -> Option<ThreadPages<'_>> {
        lines.pages(self.branch.map(|branch| branch.root), THREAD_PAGE)
    }

    /// The positions of the comments on the page; none if there is no such page.
    pub fn shown(self, lines: &ThreadLines) -> Vec<usize> {
        self.pages(lines).and_then(|pages| pages.shown(self.number)).unwrap_or_default()
    }

    /// The address of a page of the same thread or branch.
    pub fn address(self, number: u64) -> String {
        let at = self.branch.map(|branch| branch.reply);
        let number = (number > 1 || at.is_some()).then_some(number);
        self.with_parameters(at, number)
    }

    /// The address of a comment of the same story, in its thread.
    pub fn address_of(self, comment: CommentId) -> String {
        format!("{}#comment-{comment}", self.with_parameters(Some(comment), None))
    }

    fn with_parameters(self, at: Option<CommentId>, number: Option<u64>) -> String {
        let mut address = news_address(self.news);
        let sort = self.sorting.is_asked.then(|| self.sorting.order.name().to_owned());
        let parameters = [
            ("at", at.map(|at| at.to_string())),
            ("page", number.map(|number| number.to_string())),
            ("sort", sort),
        ];
        let mut separator = "?";
        for (name, value) in parameters {
            if let Some(value) = value {
                address.extend([separator, name, "=", &value]);
                separator = "&";
            }
        }
        address
    }

    /// The address of the first page in another order.
    pub fn sorted_address(self, order: CommentOrder) -> String {
        Self { sorting: Sorting { order, is_asked: true }, ..self }.address(1)
    }

    /// The address for search engines: without the order.
    pub fn canonical_address(self) -> String {
        Self { sorting: Sorting::default(), ..self }.address(self.number)
    }
}

/// Where the author of a new comment finds it first among its siblings.
pub fn address_of_posted(news: NewsId, comment: CommentId) -> String {
    format!("{}?posted={comment}#comment-{comment}", news_address(news))
}

/// The page of a thread that an address asks for.
#[derive(Debug, Clone, Copy)]
pub struct ThreadQuery {
    /// The comment that the page shows.
    pub at: Option<CommentId>,
    /// Whether the viewer has just posted it.
    pub is_posted: bool,
    /// The number of the page.
    pub page: Option<PageNumber>,
    /// The order.
    pub sort: Option<CommentOrder>,
}

impl FromFields for ThreadQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let comment = |name| {
            let unknown = RequestError::field(name, m!("it must be the number of a comment"));
            fields.get(name).map(|id| id.parse::<CommentId>().map_err(|_| unknown)).transpose()
        };
        let (at, posted) = (comment("at")?, comment("posted")?);
        let page = fields.get("page").map(|page| page.parse().map_err(|_| RequestError::NotFound));
        Ok(Self {
            at: posted.or(at),
            is_posted: posted.is_some(),
            page: page.transpose()?,
            sort: sort_field(fields)?,
        })
    }
}

impl ThreadQuery {
    /// How the thread is arranged.
    pub fn arrangement(&self) -> Arrangement {
        Arrangement { order: self.sort, posted: self.at.filter(|_| self.is_posted) }
    }

    /// The page of a thread whose comments are in this order. `None` if there is no such comment.
    pub fn part(&self, lines: &ThreadLines, order: CommentOrder) -> Option<ThreadPart> {
        let sorting = Sorting { order, is_asked: self.sort.is_some() };
        let mut part = ThreadPart { news: lines.news(), branch: None, number: 1, sorting };
        let position = match self.at {
            Some(at) => Some(lines.position(at)?),
            None => None,
        };
        if let Some(root) = position.and_then(|position| lines.branch_of(position)) {
            let [root, reply, ..] = lines.places().get(root..)? else { return None };
            part.branch = Some(Branch { root: root.id, reply: reply.id });
        }
        part.number = match (self.page, position) {
            (Some(page), _) => page.get(),
            (None, Some(position)) => part.pages(lines)?.page_of(position)? as u64,
            (None, None) => 1,
        };
        Some(part)
    }
}

/// The field `sort`, the order of comments.
///
/// # Errors
/// A failure that names the field if there is no such order.
pub fn sort_field(fields: &Fields) -> Result<Option<CommentOrder>> {
    let unknown = RequestError::field("sort", m!("it must be score, newest or oldest"));
    fields.get("sort").map(|name| CommentOrder::parse(name).ok_or(unknown)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_the_order_that_its_address_asks_for() {
        let part = |is_asked, branch: Option<u64>| {
            let sorting = Sorting { order: CommentOrder::Newest, is_asked };
            let branch = branch.map(|root| Branch { root: CommentId(root), reply: CommentId(root + 1) });
            ThreadPart { news: NewsId(5), branch, number: 1, sorting }
        };
        assert_eq!(part(false, None).address(1), "/news/5");
        assert_eq!(part(false, None).address(2), "/news/5?page=2");
        assert_eq!(part(true, None).address(1), "/news/5?sort=newest");
        assert_eq!(part(false, Some(7)).address(1), "/news/5?at=8&page=1");
        assert_eq!(part(true, Some(7)).address(3), "/news/5?at=8&page=3&sort=newest");
        assert_eq!(part(true, Some(7)).address_of(CommentId(9)), "/news/5?at=9&sort=newest#comment-9");
    }
}
