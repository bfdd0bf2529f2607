//! How each feed reads a page of its entries: as a visitor, whoever asks.

use super::answer;
use super::feed::{Author, Discussion, Entry, Feed, FeedSite, Item, Text};
use crate::App;
use crate::error::{RequestError, Result};
use crate::features::inbox::rows::{description, destination};
use crate::features::moderation::log::{moderator_name, summary};
use crate::features::timelines::tweets::posted_at;
use crate::features::topics::articles::ArticlesPath;
use crate::limits::{
    FEED_PERSON_ENTRIES, FEED_STORIES, FEED_TITLE_CHARACTERS, FEED_TWEETS, INBOX_ENTRIES, LOG_ENTRIES,
    MAX_START, SITE_COMMENTS,
};
use crate::markup::addresses::line_address;
use crate::markup::feed_links::Written;
use crate::markup::{FeedFormat, FeedKind};
use crate::request::{AtName, Fields, Form, FromFields, PathOf};
use crate::site_lists::SiteList;
use axum::extract::{FromRequest, Request};
use axum::response::Response;
use std::cmp::Reverse;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use tidings_domain::Refusal;
use tidings_domain::accounts::inbox::{InboxCursor, Kind, feed as inbox_feed};
use tidings_domain::accounts::profiles;
use tidings_domain::accounts::seen::{Seen, ShownIn};
use tidings_domain::accounts::users::User;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::lists::{self as articles, ArticleOrder, ArticlePart};
use tidings_domain::comments::outline::{ThreadLine, ThreadLines};
use tidings_domain::comments::{lists as comment_lists, threads};
use tidings_domain::inbox::{InboxEntry, InboxWindow};
use tidings_domain::moderation::log::{self, LogEntry, LogWindow};
use tidings_domain::news::lines::NewsLine;
use tidings_domain::news::lists::{self as news_lists, NewsPage};
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading;
use tidings_domain::values::{
    ARTICLES_PER_PAGE, CommentAddress, CommentId, CommentOrder, Cursor, Hostname, ItemNumber, ModerationId,
    NewsId, NewsUrl, Window,
};
use tidings_language::{Message, m, t};

/// The error message for an invalid parameter of a page.
const FROM_NEXT: &Message = m!("it must be as in the link to the next page of the feed");

/// The part of a feed that a page has.
pub trait FeedPart: FromFields + Send {
    /// The query string of this part; empty for the first.
    fn here(&self) -> String;
}

/// The part of a list of stories that a page has.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListPart {
    /// The entries before it.
    start: u64,
}

impl FromFields for ListPart {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let start: u64 = fields.parsed_optional("start", FROM_NEXT)?.unwrap_or_default();
        if start > MAX_START {
            return Err(RequestError::field("start", FROM_NEXT));
        }
        Ok(Self { start })
    }
}

impl FeedPart for ListPart {
    fn here(&self) -> String {
        if self.start == 0 { String::new() } else { format!("?start={}", self.start) }
    }
}

impl ListPart {
    /// The query string of the next part, in a list of `total` entries of which a page has `count`.
    fn next(self, count: u64, total: u64) -> Option<String> {
        let start = self.start.saturating_add(count);
        (start < total && start <= MAX_START).then(|| Self { start }.here())
    }
}

/// The part of a list by time that a page has: what is older than this.
#[derive(Debug, Clone, Copy)]
pub struct Before<T>(Option<T>);

impl<T: FromStr> FromFields for Before<T> {
    fn from_fields(fields: &Fields) -> Result<Self> {
        Ok(Self(fields.parsed_optional("before", FROM_NEXT)?))
    }
}

impl<T: FromStr + Display + Send> FeedPart for Before<T> {
    fn here(&self) -> String {
        self.0.as_ref().map(before).unwrap_or_default()
    }
}

/// The query string of what is older than this.
fn before(place: impl Display) -> String {
    format!("?before={place}")
}

/// A request for a part of a feed.
pub struct Asked<P> {
    pub(super) app: App,
    format: FeedFormat,
    pub(super) visit: Visit,
    pub(super) part: P,
}

/// The format of a feed is the end of its address.
impl<P: FeedPart> FromRequest<App> for Asked<P> {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let ends = |format: &FeedFormat| request.uri().path().ends_with(<&str>::from(format));
        let format = [FeedFormat::Json, FeedFormat::Rss].into_iter().find(ends).unwrap_or(FeedFormat::Atom);
        let Form(part) = Form::from_request(request, app).await?;
        Ok(Self { app: app.clone(), format, visit: app.visitor(), part })
    }
}

impl<P: FeedPart> Asked<P> {
    /// The answer with a feed, to which `fill` adds the entries and the next part. Call it after the page's own reads.
    pub(super) async fn answer(
        mut self,
        kind: FeedKind,
        fill: impl FnOnce(&FeedSite, &mut Feed) + Send,
    ) -> Result<Response> {
        let site = FeedSite::of(&self.app, &mut self.visit).await?;
        let mut feed = Feed::new(&site, kind);
        feed.here = self.part.here();
        fill(&site, &mut feed);
        Ok(answer(&self.app, &site, self.format, &feed))
    }
}

impl Asked<ListPart> {
    /// The answer with a list of stories.
    async fn stories(self, kind: FeedKind, page: NewsPage) -> Result<Response> {
        let next = self.part.next(FEED_STORIES, page.total);
        let fill = |site: &FeedSite, feed: &mut Feed| {
            let lines = page.lines.iter().filter_map(|line| Seen::by_visitors(line, ShownIn::List));
            feed.entries = lines.map(|line| story_entry(site, &line)).collect();
            feed.subtitle.clone_from(&site.description);
            feed.next = next;
        };
        self.answer(kind, fill).await
    }
}

/// The story of a line.
pub(super) fn story_entry(site: &FeedSite, line: &Seen<&NewsLine>) -> Entry {
    let news = &line.news;
    let item = Item::Story(news.id);
    let page = item.page(site);
    Entry {
        link: NewsUrl::parse_imported(&news.url).ok().map(|url| url.ascii()),
        discussion: Some(Discussion { page: page.clone(), comments: Some(news.comments) }),
        author: Some(Author::of(site, line.username.as_deref())),
        topics: news.topics.iter().map(ToString::to_string).collect(),
        text: news.text().map(|text| Text::marked(site, text)),
        updated: news.updated(),
        ..Entry::new(item.id(site), news.title.clone(), page, news.ctime)
    }
}

/// A comment on a story with this title, if a visitor may know it.
fn comment_entry(
    site: &FeedSite,
    (news, title): (NewsId, Option<&str>),
    line: &Seen<ThreadLine<'_>>,
    replies: Option<u64>,
) -> Entry {
    let comment = line.comment;
    let item = Item::Comment(CommentAddress { news, comment: comment.id });
    let page = item.page(site);
    let author = Author::of(site, line.username);
    let title = title.unwrap_or(t!("[deleted story]"));
    let title = t!("{author} on {title}", author = &author.name, title).into();
    let above = match comment.parent_id {
        Some(comment) => Item::Comment(CommentAddress { news, comment }),
        None => Item::Story(news),
    };
    Entry {
        discussion: Some(Discussion { page: page.clone(), comments: replies }),
        in_reply_to: Some((above.id(site), above.page(site))),
        author: Some(author),
        text: Some(Text::marked(site, line.body())),
        updated: comment.updated(),
        ..Entry::new(item.id(site), title, page, comment.ctime)
    }
}

/// A post.
pub(super) fn post_entry(site: &FeedSite, line: &Seen<&TweetLine>) -> Entry {
    let item = Item::Post(line.tweet.id);
    let time = posted_at(line);
    let story = line.news.as_ref().map(|news| (Item::Story(news.id).page(site), news.comments));
    Entry {
        related: story.as_ref().map(|(page, _)| page.clone()),
        discussion: story.map(|(page, comments)| Discussion { page, comments: Some(comments) }),
        text: Some(Text::Plain(site.with_moved_links(line.text()).into_owned())),
        ..Entry::new(item.id(site), title_of(line.text()), item.page(site), time)
    }
}

/// The title of a post's entry: its first line, shortened.
fn title_of(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(FEED_TITLE_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// GET the feed of a list of all stories. Rounds: as its page.
pub async fn of_all(list: SiteList, mut asked: Asked<ListPart>) -> Result<Response> {
    let page = list.read(&mut asked.visit, asked.part.start, FEED_STORIES).await?;
    asked.stories(FeedKind::Stories(list), page).await
}

/// GET /site/:host/atom, /site/:host/json. Rounds: 4.
pub async fn of_site(PathOf(host): PathOf<String>, mut asked: Asked<ListPart>) -> Result<Response> {
    let host = Hostname::parse(&host).map_err(|_| RequestError::NotFound)?;
    let page = news_lists::from_host(&mut asked.visit, &host, asked.part.start, FEED_STORIES).await?;
    asked.stories(FeedKind::Site(host), page).await
}

/// GET /best and /topic/:topics, with /atom or /json; with /new before that, the newest. Articles without a story have
/// no thread that an entry could lead to, and are left out. Rounds: 3, or as the page of the topics.
pub async fn of_articles(
    order: ArticleOrder,
    PathOf(ArticlesPath { topics }): PathOf<ArticlesPath>,
    mut asked: Asked<ListPart>,
) -> Result<Response> {
    let wanted = ArticlePart { start: asked.part.start, count: ARTICLES_PER_PAGE };
    let page = match &topics {
        Some(topics) => articles::of_topics(&mut asked.visit, topics, order, wanted).await?,
        None => articles::all(&mut asked.visit, order, wanted).await?,
    };
    let next = asked.part.next(ARTICLES_PER_PAGE, page.total);
    let fill = |site: &FeedSite, feed: &mut Feed| {
        let lines =
            page.lines.iter().filter_map(|article| Seen::by_visitors(article.line.as_ref()?, ShownIn::List));
        feed.entries = lines.map(|line| story_entry(site, &line)).collect();
        feed.subtitle = match page.about.sentences.as_slice() {
            [sentence] if !sentence.is_empty() => sentence.clone(),
            _ => site.description.clone(),
        };
        feed.next = next;
    };
    asked.answer(FeedKind::Articles(topics, order), fill).await
}

/// GET /comments/atom, /comments/json. Rounds: 3.
pub async fn comments(mut asked: Asked<Before<ItemNumber>>) -> Result<Response> {
    let page = comment_lists::newest(&mut asked.visit, asked.part.0, SITE_COMMENTS).await?;
    let fill = |site: &FeedSite, feed: &mut Feed| {
        let comments = page.comments.iter();
        feed.entries = comments.map(|(_, comment)| site_comment(site, &comment.by_ref())).collect();
        feed.next = page.next.map(before);
    };
    asked.answer(FeedKind::Comments, fill).await
}

/// A comment in a list of the whole site.
pub(super) fn site_comment(site: &FeedSite, comment: &Seen<&comment_lists::SiteComment>) -> Entry {
    let news = &comment.news;
    comment_entry(site, (news.id, Some(news.title.as_str())), &comment.line(), None)
}

/// GET /news/:id/atom, /news/:id/json: the comments on a story, the newest first. Rounds: 3.
pub async fn of_story(PathOf(id): PathOf<NewsId>, mut asked: Asked<Before<CommentId>>) -> Result<Response> {
    let older = asked.part.0;
    let wanted = |lines: &ThreadLines| newest_of(lines, older).0;
    let thread = threads::get(&mut asked.visit, id, CommentOrder::Score.into(), wanted).await?;
    let news = &thread.news.news;
    // Its title would be in each entry.
    if Seen::by_visitors(&thread.news, ShownIn::List).is_none() {
        return Err(Refusal::NoSuchNews.into());
    }
    let lines = thread.outline();
    let (shown, is_more) = newest_of(lines, older);
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.began = news.ctime;
        for position in &shown {
            let Some(line) = thread.line(*position).and_then(|line| Seen::by_visitors(line, ShownIn::List))
            else {
                continue;
            };
            let replies = u64::try_from(lines.told_below(Some(*position)).len()).ok();
            let story = (id, Some(news.title.as_str()));
            feed.entries.push(comment_entry(site, story, &line, replies));
        }
        let last = shown.last().and_then(|position| lines.places().get(*position)).map(|place| place.id);
        feed.next = last.filter(|_| is_more).map(before);
    };
    asked.answer(FeedKind::Story(id, news.title.clone()), fill).await
}

/// The positions of the newest comments of a thread that a visitor sees, and whether there are more.
fn newest_of(lines: &ThreadLines, older: Option<CommentId>) -> (Vec<usize>, bool) {
    let places = lines.places().iter().enumerate();
    let seen = places.filter(|(_, place)| place.sight.is_shown());
    let mut seen: Vec<(CommentId, usize)> = seen
        .map(|(position, place)| (place.id, position))
        .filter(|(id, _)| older.is_none_or(|older| *id < older))
        .collect();
    seen.sort_unstable_by_key(|(id, _)| Reverse(*id));
    let is_more = seen.len() > SITE_COMMENTS;
    (seen.into_iter().take(SITE_COMMENTS).map(|(_, position)| position).collect(), is_more)
}

/// The person with a name. A banned person's page is empty, and so there is no feed of it.
async fn person(visit: &mut Visit, name: &str, has_page: bool) -> Result<Arc<User>> {
    let profile = profiles::profile(visit, name).await?;
    if has_page && profile.user.ban(visit.now()).is_some() {
        return Err(RequestError::NotFound);
    }
    Ok(profile.user.clone())
}

/// GET /user/:name/stories/atom, /user/:name/stories/json. Rounds: 6.
pub async fn stories_of(PathOf(name): PathOf<String>, mut asked: Asked<ListPart>) -> Result<Response> {
    let user = person(&mut asked.visit, &name, false).await?;
    let page = news_lists::posted(&mut asked.visit, user.id, asked.part.start, FEED_STORIES).await?;
    asked.stories(FeedKind::Person(Written::Stories, user.username.clone()), page).await
}

/// GET /user/:name/comments/atom, /user/:name/comments/json. Rounds: 5.
pub async fn comments_of(PathOf(name): PathOf<String>, mut asked: Asked<ListPart>) -> Result<Response> {
    let (visit, start) = (&mut asked.visit, asked.part.start);
    let user = person(visit, &name, false).await?;
    let page = comment_lists::of_user(visit, user.id, &user.username, start, FEED_STORIES).await?;
    let next = asked.part.next(FEED_STORIES, page.total);
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.began = user.ctime;
        feed.entries = page.comments.iter().map(|comment| user_comment(site, comment)).collect();
        feed.next = next;
    };
    asked.answer(FeedKind::Person(Written::Comments, user.username.clone()), fill).await
}

fn user_comment(site: &FeedSite, comment: &Seen<comment_lists::UserComment>) -> Entry {
    comment_entry(site, (comment.news_id, comment.title.as_deref()), &comment.line(), None)
}

/// GET /@:name/feed, /@:name/feed/json: the posts of a person. Rounds: 7.
pub async fn posts_of(
    PathOf(AtName(name)): PathOf<AtName>,
    mut asked: Asked<Before<Cursor>>,
) -> Result<Response> {
    let user = person(&mut asked.visit, &name, true).await?;
    let window = Window { before: asked.part.0, ..Window::newest(FEED_TWEETS) };
    let page = reading::of_user(&mut asked.visit, user.id, &window).await?;
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.author = Some(Author::of(site, Some(&user.username)));
        feed.began = user.ctime;
        feed.entries = page.lines.iter().map(|line| post_entry(site, &line.by_ref())).collect();
        feed.next = page.next.map(before);
    };
    asked.answer(FeedKind::Person(Written::Posts, user.username.clone()), fill).await
}

/// The part of everything that a person has written: as many stories, comments and posts each.
pub struct PersonPart {
    part: ListPart,
    /// Only posts older than this.
    before: Option<Cursor>,
}

impl FromFields for PersonPart {
    fn from_fields(fields: &Fields) -> Result<Self> {
        Ok(Self { part: fields.read()?, before: fields.read::<Before<Cursor>>()?.0 })
    }
}

impl PersonPart {
    /// Whether posts are on this page. After the last of them, the other lists may go on.
    const fn has_posts(&self) -> bool {
        self.part.start == 0 || self.before.is_some()
    }
}

impl FeedPart for PersonPart {
    fn here(&self) -> String {
        match self.before {
            Some(before) => format!("?start={}&before={before}", self.part.start),
            None => self.part.here(),
        }
    }
}

/// GET /user/:name/atom, /user/:name/json: the stories, comments and posts of a person. Rounds: 12.
pub async fn all_of(PathOf(name): PathOf<String>, mut asked: Asked<PersonPart>) -> Result<Response> {
    const COUNT: u64 = FEED_PERSON_ENTRIES;
    let (visit, part) = (&mut asked.visit, &asked.part);
    let user = person(visit, &name, true).await?;
    let start = part.part.start;
    let stories = news_lists::posted(visit, user.id, start, COUNT).await?;
    let comments = comment_lists::of_user(visit, user.id, &user.username, start, COUNT).await?;
    let posts = if asked.app.site.rules.features.timelines && part.has_posts() {
        let window =
            Window { before: part.before, ..Window::newest(usize::try_from(COUNT).unwrap_or(usize::MAX)) };
        reading::of_user(visit, user.id, &window).await?
    } else {
        reading::TweetPage::default()
    };
    let has_more = part.part.next(COUNT, stories.total.max(comments.total)).is_some();
    let next = (has_more || posts.next.is_some()).then(|| {
        let part = ListPart { start: start.saturating_add(COUNT) };
        PersonPart { part, before: posts.next }.here()
    });
    let fill = |site: &FeedSite, feed: &mut Feed| {
        let lines = stories.lines.iter().filter_map(|line| Seen::by_visitors(line, ShownIn::List));
        feed.entries = lines.map(|line| story_entry(site, &line)).collect();
        feed.entries.extend(comments.comments.iter().map(|comment| user_comment(site, comment)));
        // The stories that posts announce are there already.
        let posted = posts.lines.iter().filter(|line| line.tweet.news_id.is_none());
        feed.entries.extend(posted.map(|line| post_entry(site, &line.by_ref())));
        feed.entries.sort_by_key(|entry| Reverse(entry.published));
        feed.author = Some(Author::of(site, Some(&user.username)));
        feed.began = user.ctime;
        feed.next = next;
    };
    asked.answer(FeedKind::Person(Written::All, user.username.clone()), fill).await
}

/// GET /moderations/atom, /moderations/json: the log as everybody sees it. Rounds: as the page.
pub async fn moderation_log(mut asked: Asked<Before<ModerationId>>) -> Result<Response> {
    let window = LogWindow { before: asked.part.0, count: LOG_ENTRIES, ..LogWindow::default() };
    let page = log::page(&mut asked.visit, &window).await?;
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.entries = page.entries.iter().map(|entry| log_entry(site, entry)).collect();
        feed.next = page.next.map(before);
    };
    asked.answer(FeedKind::Log, fill).await
}

fn log_entry(site: &FeedSite, entry: &LogEntry) -> Entry {
    let line = site.link(&line_address(entry.id));
    Entry {
        author: Some(Author::unlinked(moderator_name(&entry.moderator))),
        text: Some(Text::Plain(entry.reason.clone())),
        ..Entry::new(site.id(format_args!("log/{}", entry.id)), summary(entry), line, entry.time)
    }
}

/// GET /inbox/feed/:secret, /inbox/feed/:secret/json: the inbox of whoever has this address. Rounds: 4.
pub async fn inbox(
    PathOf(secret): PathOf<String>,
    mut asked: Asked<Before<InboxCursor>>,
) -> Result<Response> {
    let owner = inbox_feed::owner_of(&mut asked.visit, &secret).await?.ok_or(RequestError::NotFound)?;
    let window = InboxWindow { before: asked.part.0, ..InboxWindow::newest(INBOX_ENTRIES) };
    let page = tidings_domain::inbox::page(&mut asked.visit, owner.id, &window).await?;
    let kind = FeedKind::Inbox { owner: owner.id, name: owner.username.clone(), secret };
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.began = owner.ctime;
        feed.entries = page.entries.iter().map(|entry| inbox_entry(site, &owner, entry)).collect();
        feed.next = page.next.map(before);
    };
    asked.answer(kind, fill).await
}

fn inbox_entry(site: &FeedSite, owner: &User, entry: &InboxEntry) -> Entry {
    let inbox = site.link("/inbox");
    let author = if entry.place.id.kind() == Kind::Moderation {
        Author::unlinked(&site.name)
    } else {
        Author::of(site, entry.username.as_deref())
    };
    let text = |text: &str| match entry.place.id.comment() {
        Some(_) => Text::marked(site, text),
        None => Text::Plain(text.to_owned()),
    };
    let page = destination(entry).map_or_else(|| inbox.clone(), |address| site.link(&address));
    Entry {
        author: Some(author),
        text: entry.text().map(text),
        discussion: entry.place.id.comment().map(|_| Discussion { page: page.clone(), comments: None }),
        ..Entry::new(
            site.id(format_args!("inbox/{}/{}", owner.id, entry.place.id)),
            description(entry),
            page,
            entry.time(),
        )
    }
}
