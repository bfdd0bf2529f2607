//! Lists of articles: the best, the newest, those of topics.

use super::layout::Frame;
use super::parts::{OUTSIDE, age, empty_but, page_links};
use super::topics::{admin_forms, choice_address};
use super::vote_buttons::{NO_BUTTONS, karma_prices, karma_warning};
use crate::App;
use crate::error::RequestError;
use crate::form::{Fields, Form, FromFields};
use crate::local_path::LocalPath;
use crate::pages::parts::{Standing, news_item};
use crate::path::PathOf;
use axum::extract::State;
use maud::{Markup, html};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::article::{Article, open_for};
use tidings_domain::articles::lists::{self, ArticleOrder, ArticlePage, PageNumber};
use tidings_domain::values::topic::TopicChoice;
use tidings_domain::values::urls::NewsUrl;
use tidings_keyspace::Within;

/// One page of a list of articles.
struct ArticlesPage<'a> {
    /// The topics; `None` for all articles.
    topics: Option<&'a TopicChoice>,
    order: ArticleOrder,
    number: PageNumber,
    page: &'a ArticlePage,
}

impl ArticlesPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let heading = match (self.topics, self.order) {
            (None, ArticleOrder::Score) => "Best".to_owned(),
            (None, ArticleOrder::Time) => "Newest stories".to_owned(),
            (Some(topics), ArticleOrder::Score) => format!("Best in {}", described(topics)),
            (Some(topics), ArticleOrder::Time) => format!("Newest in {}", described(topics)),
        };
        let here = list_address(self.topics, self.order);
        let content = html! {
            // Only for screen readers if the navigation and the tabs show the same text.
            h1.hidden[self.topics.is_none()] { (heading) }
            (self.orders())
            @if self.page.lines.is_empty() {
                @if self.number == PageNumber::FIRST {
                    (empty_but("No stories here yet.", ("/submit", "Submit a story")))
                } @else {
                    (empty_but("No more stories.", (&list_address(self.topics, self.order), "Go to the first page")))
                }
            } @else {
                (karma_warning(frame))
                ol.news role="list" {
                    @for (number, article) in (self.number.start() + 1..).zip(&self.page.lines) {
                        @let standing = Standing {
                            votes: article.article.votes,
                            is_open: open_for(article.article.time, frame.now).is_some(),
                        };
                        @match &article.line {
                            Some(line) => { (news_item(frame, number, line, Some(standing))) }
                            None => { (foreign_item(frame, number, &article.article, standing)) }
                        }
                    }
                }
                (karma_prices(frame))
            }
            (page_links(&here, self.number, self.page.total))
            @if let Some(topic) = self.topics.and_then(TopicChoice::single) {
                (admin_forms(frame, topic))
            }
        };
        let title = format!("{heading} - {}", frame.site().name);
        let feed = html! {
            link rel="alternate" type="application/atom+xml" title=(title)
                href=(feed_address(self.topics, self.order));
        };
        frame.page_with(&heading, &feed, &content)
    }

    /// The links to the two orders of the list.
    fn orders(&self) -> Markup {
        let order = |order, name: &str| {
            let current = (order == self.order).then_some("page");
            html! { li { a href=(list_address(self.topics, order)) aria-current=[current] { (name) } } }
        };
        html! {
            nav.tabs aria-label="Order" {
                ul {
                    (order(ArticleOrder::Score, "best"))
                    (order(ArticleOrder::Time, "newest"))
                    li { a href="/topics" { "topics" } }
                    li { a href=(feed_address(self.topics, self.order)) { "feed" } }
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
                div.meta { (standing) " " (age(frame, article.time)) }
            }
        }
    }
}

/// The names of topics for a heading.
#[must_use]
pub fn described(topics: &TopicChoice) -> String {
    let between = if topics.within() == Within::All { " and " } else { " or " };
    topics.topics().iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// The address of a list.
#[must_use]
pub fn list_address(topics: Option<&TopicChoice>, order: ArticleOrder) -> String {
    let base = topics.map_or_else(|| "/best".to_owned(), choice_address);
    match order {
        ArticleOrder::Score => base,
        ArticleOrder::Time => format!("{base}/new"),
    }
}

/// The address of a list's feed.
#[must_use]
pub fn feed_address(topics: Option<&TopicChoice>, order: ArticleOrder) -> String {
    format!("{}/atom", list_address(topics, order))
}

/// The requested page of a list.
pub struct PageNumberQuery {
    /// The number of the page; by default the first.
    pub page: PageNumber,
}

impl FromFields for PageNumberQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let page = match fields.get("page") {
            Some(page) => page.parse().map_err(|_| RequestError::NotFound)?,
            None => PageNumber::FIRST,
        };
        Ok(Self { page })
    }
}

/// GET /best?page=N.
pub async fn best(
    app: State<App>,
    visit: Visit,
    here: LocalPath,
    query: Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(app, visit, here, query, None, ArticleOrder::Score).await
}

/// GET /best/new?page=N.
pub async fn newest(
    app: State<App>,
    visit: Visit,
    here: LocalPath,
    query: Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(app, visit, here, query, None, ArticleOrder::Time).await
}

/// GET /topic/:name?page=N.
pub async fn best_of_topics(
    PathOf(topics): PathOf<TopicChoice>,
    app: State<App>,
    visit: Visit,
    here: LocalPath,
    query: Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(app, visit, here, query, Some(topics), ArticleOrder::Score).await
}

/// GET /topic/:name/new?page=N.
pub async fn newest_of_topics(
    PathOf(topics): PathOf<TopicChoice>,
    app: State<App>,
    visit: Visit,
    here: LocalPath,
    query: Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(app, visit, here, query, Some(topics), ArticleOrder::Time).await
}

async fn show(
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
    Form(query): Form<PageNumberQuery>,
    topics: Option<TopicChoice>,
    order: ArticleOrder,
) -> Result<Markup, RequestError> {
    let PageNumberQuery { page: number } = query;
    let page = match &topics {
        Some(topics) => lists::of_topics(&mut visit, topics, order, number).await?,
        None => lists::all(&mut visit, order, number).await?,
    };
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(ArticlesPage { topics: topics.as_ref(), order, number, page: &page }.render(&frame))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOW, framed, line, news, user};
    use super::*;
    use tidings_domain::articles::lists::ArticleLine;
    use tidings_domain::values::ids::NewsId;

    fn page(total: u64) -> ArticlePage {
        let article = Article {
            title: "t".to_owned(),
            link: "http://a.com/".to_owned(),
            poster: "user:1".to_owned(),
            time: NOW,
            votes: 7,
        };
        let line = line(news("<t>", "http://a.com/", false), None);
        let score = article.score();
        ArticlePage { lines: vec![ArticleLine { id: NewsId(5), line: Some(line), score, article }], total }
    }

    #[test]
    fn an_article_without_a_story_is_a_link_without_buttons() {
        let mut page = page(1);
        for (link, shown) in [
            (
                "http://a.com/x y",
                r#"<a href="http://a.com/x%20y" rel="nofollow ugc noopener" data-open>t</a> <span class="host">a.com</span>"#,
            ),
            ("javascript:alert(1)", r#"<h2 dir="auto">t</h2>"#),
        ] {
            page.lines[0].line = None;
            page.lines[0].article.link = link.to_owned();
            let list = ArticlesPage {
                topics: None,
                order: ArticleOrder::Score,
                number: PageNumber::FIRST,
                page: &page,
            };
            let html = framed(None, |frame| list.render(frame)).into_string();
            assert!(html.contains(shown) && html.contains("7</span> votes"), "{html}");
            assert!(!html.contains("javascript:") && !html.contains("Vote up"), "{html}");
        }
    }

    #[test]
    fn a_list_shows_the_votes_that_count_and_a_link_to_the_next_page() {
        let page = page(30);
        let list =
            ArticlesPage { topics: None, order: ArticleOrder::Score, number: PageNumber::FIRST, page: &page };
        let html = framed(None, |frame| list.render(frame)).into_string();
        for part in [
            r#"<h1 class="hidden">Best</h1>"#,
            r#"<span data-count="up">7</span> votes"#,
            r#"href="/best?page=2" rel="next""#,
            r#"<link rel="alternate" type="application/atom+xml" title="Best - Tidings" href="/best/atom">"#,
            "&lt;t&gt;",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{html}");
    }

    #[test]
    fn administrators_see_the_forms_of_a_topic() {
        let (page, topics) = (page(1), "rust".parse().unwrap());
        let list = ArticlesPage {
            topics: Some(&topics),
            order: ArticleOrder::Time,
            number: PageNumber::FIRST,
            page: &page,
        };
        for (flags, expected) in [("", false), ("a", true)] {
            let viewer = user("2", "bob", flags);
            let html = framed(Some(&viewer), |frame| list.render(frame)).into_string();
            assert_eq!(html.contains(r#"action="/renametopic""#), expected, "{html}");
            assert!(html.contains(">Newest in rust</h1>") && html.contains(r#"href="/topic/rust/new/atom""#));
        }
    }

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
