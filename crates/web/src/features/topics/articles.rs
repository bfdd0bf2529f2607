//! Lists of articles: the best, the newest, those of topics.

use super::list::{admin_forms, combinations, followed_topics, sentences, stance_forms};
use crate::error::{RequestError, Result};
use crate::features::stories::item::{Standing, news_item};
use crate::features::stories::marks::JustHidden;
use crate::limits::PAGE_ROWS;
use crate::markup::addresses::{FOLLOWED, TOPICS, in_order, list_address};
use crate::markup::page::Audience;
use crate::markup::parts::{OUTSIDE, age, empty_but, no_more, page_links, search_within, tab};
use crate::markup::vote_buttons::NO_BUTTONS;
use crate::markup::withheld::{Kind, unlisted_note};
use crate::markup::{FeedFormat, FeedKind, Frame, Member, Page, PageHead};
use crate::request::{Fields, Form, FromFields, PathOf};
use maud::{Markup, html};
use serde::Deserialize;
use tidings_domain::accounts::reader::Reader;
use tidings_domain::articles::article::{Article, open_for};
use tidings_domain::articles::lists::{self, ArticleOrder, ArticlePage, PageNumber};
use tidings_domain::values::{NewsUrl, TopicChoice};
use tidings_language::t;

/// Which articles a list has.
#[derive(Debug, Clone)]
enum ArticleList {
    /// All of them.
    All,
    /// Those of some topics.
    Topics(TopicChoice),
    /// Those of the topics that the viewer follows.
    Followed,
}

/// One page of a list of articles.
struct ArticlesPage<'a> {
    list: ArticleList,
    order: ArticleOrder,
    number: PageNumber,
    page: &'a ArticlePage,
    /// The viewer's choices, for a page about topics.
    reader: Option<&'a Reader>,
    just_hidden: Option<&'a JustHidden>,
}

impl ArticlesPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let heading = self.heading();
        let here = self.address(self.order);
        let content = html! {
            // Only for screen readers if the navigation and the tabs show the same text.
            h1.hidden[matches!(self.list, ArticleList::All)] { (heading) }
            (self.about(frame))
            (self.orders())
            @if let Some(hidden) = self.just_hidden { (hidden.render(frame)) }
            @if self.page.lines.is_empty() {
                (self.nothing())
            } @else {
                ol.news role="list" {
                    @for (number, article) in (self.number.of(PAGE_ROWS).start + 1..).zip(&self.page.lines) {
                        @let standing = Standing {
                            votes: article.article.votes,
                            is_open: open_for(article.article.time, frame.now).is_some(),
                        };
                        @match &article.line {
                            Some(line) => { (news_item(frame, Some(number), line, Some(standing))) }
                            None => { (foreign_item(frame, number, &article.article, standing)) }
                        }
                    }
                }
            }
            (unlisted_note(frame, self.page.unlisted, Kind::Story))
            (page_links(&here, self.number, self.page.total, frame.here.shows_hidden()))
            @if let ArticleList::Topics(topics) = &self.list {
                @if let Some(topic) = topics.single() {
                    @let label = t!("Search stories about {topic}", topic = topic.as_str()).to_string();
                    (search_within(frame, &label, ("stories", &format!("topic:{topic}"))))
                    (admin_forms(frame, topic, self.page.about.sentences.first().map_or("", String::as_str)))
                }
                (combinations(topics, &self.page.about.others, self.order))
            }
        };
        let head = PageHead::of(self.canonical()).feeds(self.feed());
        frame.page_with(&heading, &head, &content)
    }

    fn heading(&self) -> String {
        match (self.feed(), self.order) {
            (Some(feed), _) => feed.heading(),
            (None, ArticleOrder::Score) => t!("Best in your topics").into(),
            (None, ArticleOrder::Time) => t!("New in your topics").into(),
        }
    }

    fn address(&self, order: ArticleOrder) -> String {
        match &self.list {
            ArticleList::All => list_address(None, order),
            ArticleList::Topics(topics) => list_address(Some(topics), order),
            ArticleList::Followed => in_order(FOLLOWED, order),
        }
    }

    /// The one address of the page.
    fn canonical(&self) -> String {
        let first = self.address(self.order);
        if self.number == PageNumber::FIRST { first } else { format!("{first}?page={}", self.number.get()) }
    }

    /// The feed of the list. A personal list has none.
    fn feed(&self) -> Option<FeedKind> {
        match &self.list {
            ArticleList::All => Some(FeedKind::Articles(None, self.order)),
            ArticleList::Topics(topics) => Some(FeedKind::Articles(Some(topics.clone()), self.order)),
            ArticleList::Followed => None,
        }
    }

    /// The part of the page about its topics.
    fn about(&self, frame: &Frame<'_>) -> Markup {
        match &self.list {
            ArticleList::All => html! {},
            ArticleList::Topics(topics) => html! {
                (sentences(topics, &self.page.about.sentences))
                @if let (Some(topic), Some(reader)) = (topics.single(), self.reader) {
                    (stance_forms(frame, topic, reader))
                }
            },
            ArticleList::Followed => followed_topics(self.reader),
        }
    }

    /// The text of an empty list, and the first step if there is one.
    fn nothing(&self) -> Markup {
        let first_page = self.address(self.order);
        match &self.list {
            _ if self.page.unlisted > 0 => {
                html! { p.empty { (t!("All stories on this page are hidden or in topics you have muted.")) } }
            }
            _ if self.number != PageNumber::FIRST => no_more(t!("No more stories."), &first_page),
            ArticleList::Followed => empty_but(
                t!("Stories with the topics you follow appear here."),
                (TOPICS, t!("Choose topics to follow")),
            ),
            ArticleList::All | ArticleList::Topics(_) => {
                empty_but(t!("No stories here yet."), ("/submit", t!("Submit a story")))
            }
        }
    }

    /// The links to the two orders of the list.
    fn orders(&self) -> Markup {
        let order = |order, name: &str| tab(&self.address(order), name, order == self.order);
        html! {
            nav.tabs aria-label=(t!("noun" => "Order")) {
                ul {
                    (order(ArticleOrder::Score, t!("order" => "Best")))
                    (order(ArticleOrder::Time, t!("order" => "New")))
                    li { a href=(TOPICS) { (t!("Topics")) } }
                    @if matches!(self.list, ArticleList::All) { li { a href="/past" { (t!("tab" => "Past")) } } }
                    @if let Some(feed) = self.feed() {
                        li { a href=(feed.address(FeedFormat::Atom)) { (t!("Feed")) } }
                    }
                }
            }
        }
    }
}

/// An article that another program has posted, without a story: it has no thread, and nobody
/// can vote on it here.
fn foreign_item(frame: &Frame<'_>, number: u64, article: &Article, standing: Standing) -> Markup {
    let url = NewsUrl::parse_imported(&article.link).ok();
    html! {
        li.item {
            span.rank aria-hidden="true" { (number) }
            (NO_BUTTONS)
            div.story {
                h2 dir="auto" {
                    @if let Some(url) = &url {
                        a href=(url.address()) rel=(OUTSIDE) target=[frame.link_target().attribute()] data-open {
                            (article.title)
                        }
                        " " span.host { (url.host()) }
                    } @else {
                        (article.title)
                    }
                }
                div.meta { (standing) " · " (age(frame, article.time)) }
            }
        }
    }
}

/// The requested page of a list.
pub struct PageNumberQuery {
    /// The number of the page; by default the first.
    pub page: PageNumber,
}

impl FromFields for PageNumberQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let page = match fields.get("page") {
            Some(page) => page.parse().map_err(|_| RequestError::NotFound)?,
            None => PageNumber::FIRST,
        };
        Ok(Self { page })
    }
}

/// The address of a list of articles: those of some topics, or all.
#[derive(Deserialize)]
pub struct ArticlesPath {
    /// The topics.
    #[serde(default)]
    pub topics: Option<TopicChoice>,
}

/// GET /best and /topic/:topics; with /new after it, the newest: page.
pub async fn of_topics(
    order: ArticleOrder,
    PathOf(ArticlesPath { topics }): PathOf<ArticlesPath>,
    page: Page,
    query: Form<PageNumberQuery>,
) -> Result<Markup> {
    show(page, query, topics.map_or(ArticleList::All, ArticleList::Topics), order).await
}

/// GET /topics/followed and /topics/followed/new: page.
pub async fn of_followed(
    order: ArticleOrder,
    page: Page<Member>,
    query: Form<PageNumberQuery>,
) -> Result<Markup> {
    show(page, query, ArticleList::Followed, order).await
}

async fn show<R: Audience>(
    Page { app, mut visit, here, .. }: Page<R>,
    Form(PageNumberQuery { page: number }): Form<PageNumberQuery>,
    list: ArticleList,
    order: ArticleOrder,
) -> Result<Markup> {
    let rows = number.of(PAGE_ROWS);
    let page = match &list {
        ArticleList::All => lists::all(&mut visit, order, rows).await?,
        ArticleList::Topics(topics) => lists::of_topics(&mut visit, topics, order, rows).await?,
        ArticleList::Followed => lists::of_followed(&mut visit, order, rows).await?.unwrap_or_default(),
    };
    let has_choices = match &list {
        ArticleList::All => false,
        ArticleList::Topics(topics) => topics.single().is_some(),
        ArticleList::Followed => true,
    };
    let reader = if has_choices { visit.reader().await? } else { None };
    let just_hidden = JustHidden::read(&mut visit, &here).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let page = ArticlesPage {
        list,
        order,
        number,
        page: &page,
        reader: reader.as_deref(),
        just_hidden: just_hidden.as_ref(),
    };
    Ok(page.render(&frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::addresses::described;

    #[test]
    fn addresses_contain_the_topics_unencoded() {
        for (text, address, words) in [
            ("rust", "/topic/rust", "rust"),
            ("rust+c-3", "/topic/c-3+rust", "c-3 and rust"),
            ("go,rust", "/topic/go,rust", "go or rust"),
        ] {
            let topics: TopicChoice = text.parse().unwrap();
            assert_eq!(list_address(Some(&topics), ArticleOrder::Score), address);
            assert_eq!(described(&topics), words);
        }
    }
}
