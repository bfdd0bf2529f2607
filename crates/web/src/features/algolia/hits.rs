//! The hits of a search.

use super::highlights::Highlighter;
use super::items::{item_at, replied_to};
use super::query::{HitsQuery, Tag};
use crate::features::hacker_news::text::text_html;
use crate::limits::HIT_COMMENTS;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use tidings_domain::accounts::seen::Seen;
use tidings_domain::comments::lists::SiteComment;
use tidings_domain::comments::merged;
use tidings_domain::comments::outline::{PartBounds, ThreadLines};
use tidings_domain::found::Finding;
use tidings_domain::items::Item;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::numbered::lists::StoryKind;
use tidings_domain::values::{HackerNewsRules, ItemNumber, NewsId, Timestamp};
use tidings_domain::{Error, News, Visit, numbered};

/// A story or a comment that was found.
pub(super) enum FoundItem {
    Story(Seen<NewsLine>),
    Comment(Box<Seen<SiteComment>>),
}

impl FoundItem {
    pub(super) fn of(finding: Finding) -> Option<Self> {
        match finding {
            Finding::Story(line) => Some(Self::Story(line)),
            Finding::Comment(comment) => Some(Self::Comment(comment)),
            Finding::Tweet(_) | Finding::Person(_) | Finding::Site(_) => None,
        }
    }

    fn item(&self) -> Item {
        match self {
            Self::Story(line) => Item::Story(line.news.id),
            Self::Comment(comment) => Item::Comment(comment.address()),
        }
    }

    fn story(&self) -> &News {
        match self {
            Self::Story(line) => &line.news,
            Self::Comment(comment) => &comment.news,
        }
    }

    /// The item that a comment replies to.
    fn parent(&self) -> Option<Item> {
        let Self::Comment(comment) = self else { return None };
        Some(replied_to(comment.news.id, comment.line().comment.parent_id))
    }

    fn author(&self) -> Option<&str> {
        match self {
            Self::Story(line) => line.username.as_deref(),
            Self::Comment(comment) => comment.line().username,
        }
    }
}

/// The data in hits that the found items do not have themselves.
pub(super) struct Around {
    numbers: HashMap<Item, ItemNumber>,
    /// The replies to each; `None` for those whose threads were not read.
    replies: HashMap<Item, Vec<Item>>,
    /// The stories of the first page.
    front_page: HashSet<NewsId>,
}

impl Around {
    /// Reads it. `with_replies` says whether anybody wants to know the replies. Rounds: at most 3.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn read(
        visit: &mut Visit,
        found: &[FoundItem],
        front_page: &[NewsId],
        with_replies: bool,
    ) -> Result<Self, Error> {
        let mut threads: Vec<NewsId> = Vec::new();
        let mut comments = 0;
        for story in found.iter().map(FoundItem::story) {
            let all = comments + story.comments;
            if with_replies && all <= HIT_COMMENTS && !threads.contains(&story.id) {
                comments = all;
                threads.push(story.id);
            }
        }
        const NO_TEXTS: PartBounds = PartBounds { comments: 0, bytes: 0, comment_bytes: 0, names: 0, ids: 0 };
        let threads = merged::of_stories(visit, &threads, NO_TEXTS).await?;
        let lines: HashMap<NewsId, &ThreadLines> =
            threads.iter().map(|thread| (thread.news.news.id, &*thread.lines)).collect();
        let replies = found.iter().filter_map(|found| {
            let lines = lines.get(&found.story().id)?;
            let position = match found {
                FoundItem::Story(_) => None,
                FoundItem::Comment(comment) => Some(lines.position(comment.line().comment.id)?),
            };
            let replies = lines.told_below(position).into_iter();
            Some((found.item(), replies.filter_map(|reply| item_at(lines, reply)).collect()))
        });
        let replies: HashMap<Item, Vec<Item>> = replies.collect();
        let named = found.iter().flat_map(|found| {
            [Some(found.item()), Some(Item::Story(found.story().id)), found.parent()].into_iter().flatten()
        });
        let items: HashSet<Item> = named.chain(replies.values().flatten().copied()).collect();
        let numbers = numbered::numbers(visit, items).await?;
        Ok(Self { numbers, replies, front_page: front_page.iter().copied().collect() })
    }

    fn number(&self, item: Item) -> Option<u64> {
        self.numbers.get(&item).map(|number| number.0)
    }
}

/// The tags of what was found.
pub(super) fn tags(found: &FoundItem, around: &Around, rules: &HackerNewsRules) -> Vec<Tag> {
    let news = found.story();
    let is_story = matches!(found, FoundItem::Story(_));
    let author = found.author().map(|name| Tag::Author(name.to_owned()));
    let story = around.numbers.get(&Item::Story(news.id)).map(|number| Tag::OfStory(*number));
    let kind = StoryKind::of(rules, news).filter(|_| is_story).map(Tag::Kind);
    let first = (is_story && around.front_page.contains(&news.id)).then_some(Tag::FrontPage);
    let of_all = if is_story { Tag::Story } else { Tag::Comment };
    [Some(of_all), author, story, kind, first].into_iter().flatten().collect()
}

/// The hit of what was found; `None` for something without a number.
pub(super) fn hit(
    found: &FoundItem,
    tags: &[Tag],
    around: &Around,
    query: &HitsQuery,
    highlighter: &mut Highlighter,
) -> Option<Value> {
    let number = around.number(found.item())?;
    let news = found.story();
    let mut hit = Map::new();
    let mut marked = Map::new();
    let mut put = |name: &str, value: Value| drop(hit.insert(name.to_owned(), value));
    let mut mark = |name: &str, value: Value| drop(marked.insert(name.to_owned(), value));
    // The names of what a comment has of its story.
    let (time, [title, url]) = match found {
        FoundItem::Story(line) => (line.news.ctime, ["title", "url"]),
        FoundItem::Comment(comment) => (comment.line().comment.ctime, ["story_title", "story_url"]),
    };
    let address = news.link_address();
    if let Some(author) = found.author() {
        put("author", author.into());
        mark("author", highlighter.plain(author));
    }
    mark(title, highlighter.plain(&news.title));
    if let Some(address) = address {
        mark(url, highlighter.plain(address));
    }
    if let Some(replies) = around.replies.get(&found.item()) {
        put("children", replies.iter().filter_map(|reply| around.number(*reply)).collect());
    }
    put("created_at", date(time).into());
    put("created_at_i", time.0.into());
    match found {
        FoundItem::Story(_) => {
            put("num_comments", news.comments.into());
            put("points", news.points().into());
            if let Some(text) = news.text().filter(|text| !text.is_empty()) {
                let text = text_html(text);
                mark("story_text", highlighter.html(&text));
                put("story_text", text.into());
            }
        }
        FoundItem::Comment(comment) => {
            let text = text_html(comment.line().body());
            mark("comment_text", highlighter.html(&text));
            put("comment_text", text.into());
            put("parent_id", found.parent().and_then(|parent| around.number(parent)).into());
        }
    }
    put("story_id", around.number(Item::Story(news.id)).into());
    put(title, news.title.as_str().into());
    if let Some(address) = address {
        put(url, address.into());
    }
    put("updated_at", date(time).into());
    put("_tags", tags.iter().map(Tag::to_string).collect());
    if let Some(names) = &query.retrieved {
        hit.retain(|name, _| names.contains(name));
    }
    hit.insert("objectID".to_owned(), number.to_string().into());
    if let Some(names) = &query.highlighted {
        marked.retain(|name, _| names.contains(name));
    }
    if !marked.is_empty() {
        hit.insert("_highlightResult".to_owned(), Value::Object(marked));
    }
    hit.sort_keys();
    Some(Value::Object(hit))
}

/// A time as it is written there, such as `2026-01-02T03:04:05Z`.
pub(super) fn date(time: Timestamp) -> String {
    crate::markup::dates::moment(time).to_string()
}

/// An empty page of hits, or a full one.
pub(super) fn answer(
    query: &HitsQuery,
    params: &str,
    hits: &[String],
    (total, is_exact): (u64, bool),
    milliseconds: u128,
) -> String {
    let most = total.min(u64::try_from(crate::limits::MOST_HITS).unwrap_or(u64::MAX));
    let pages = match u64::try_from(query.hits) {
        Ok(hits) if hits > 0 => most.div_ceil(hits),
        _ => 0,
    };
    let rest = json!({
        "hitsPerPage": query.hits, "nbHits": total, "nbPages": pages, "page": query.page,
        "params": params, "processingTimeMS": u64::try_from(milliseconds).unwrap_or(u64::MAX),
        "query": query.query,
    });
    let rest = rest.to_string();
    let rest = rest.strip_prefix('{').unwrap_or(&rest);
    format!(r#"{{"exhaustiveNbHits":{is_exact},"hits":[{}],{rest}"#, hits.join(","))
}
