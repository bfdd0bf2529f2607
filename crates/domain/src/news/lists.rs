//! Lists of news: top, latest, saved, hidden, posted, of a host; single items; a random item.
//!
//! Top, latest and those of a host are without what the viewer has hidden or muted; see
//! [`listing`]. Saved and hidden stories are all listed, whatever is muted. Of the stories of a
//! user, the user and moderators also see those that are removed or wait for approval.

use super::lines::{self, ListedItem, NewsLine, NewsSummary};
use super::listing;
use crate::accounts::{CacheResult, SharedVisit, ShownIn};
use crate::cache::{MEBIBYTE, Shared};
use crate::news::item::{DEL, Direction};
use crate::news::ranks::{self, RankEntry, RankWindow};
use crate::values::{Hostname, NewsId, UserId, WITHHELD, limits};
use crate::{Refusal, Result, Visit, fields, keys};
use tidings_keyspace::{Fetch, Order, Reads, Tracked, read};

crate::cache_kind! {
    /// Pages of lists, by the key of the list, the start and the number of items.
    struct SharedPages: (String, u64, u64) => SharedPage, "lists", 2 * MEBIBYTE,
        |(list, ..), page| list.len() + page.size();
}

/// One page of a list, the same for all viewers.
#[derive(Debug)]
struct SharedPage {
    summaries: Vec<Shared<NewsSummary>>,
    total: u64,
}

impl SharedPage {
    fn size(&self) -> usize {
        self.summaries.iter().map(|summary| summary.size()).sum()
    }
}

/// One page of a list of news, with the viewer's own votes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewsPage {
    /// The lines, in order.
    pub lines: Vec<NewsLine>,
    /// The items in the whole list.
    pub total: u64,
    /// How many items of the page the viewer has hidden or muted. They are not among the lines,
    /// unless the visit asked for them.
    pub unlisted: usize,
}

impl NewsPage {
    /// A page of what its viewer has chosen, whatever is muted.
    fn chosen(visit: &Visit, mut lines: Vec<NewsLine>, total: u64) -> Self {
        listing::keep(visit, &mut lines, |line| Some(line), ShownIn::Chosen);
        Self { lines, total, unlisted: 0 }
    }

    /// A page without what its viewer does not want listed.
    fn listed(visit: &Visit, mut lines: Vec<NewsLine>, total: u64) -> Self {
        let unlisted = listing::keep(visit, &mut lines, |line| Some(line), ShownIn::List);
        Self { lines, total, unlisted }
    }
}

/// The items of one page, in order, before their names and scores are read.
#[derive(Default)]
pub(super) struct FoundItems {
    pub(super) items: Vec<ListedItem>,
    pub(super) total: u64,
    /// The reads that found them, without those of the items themselves.
    pub(super) reads: Reads,
}

/// Reads one page of a sorted set of news ids, newest or highest first, and how
/// many there are in all. Rounds: 1.
async fn read_places(
    visit: &mut SharedVisit<'_>,
    (key, start, count): (&str, u64, u64),
    reads: &mut Reads,
) -> Result<(Vec<RankEntry>, u64)> {
    let places = read::sorted_range(key, Order::Descending, start, count);
    let page = (places, read::sorted_count(key)).tracked();
    let (places, total) = visit.fetch(page).await?.collect_into(reads);
    Ok((fields::members(places, key, |(id, score)| Some((id.parse().ok()?, score))), total))
}

fn ids(places: &[RankEntry]) -> Vec<NewsId> {
    places.iter().map(|(id, _)| *id).collect()
}

/// Reads one page of what the viewer has chosen: a sorted set of news ids, newest first.
/// Rounds: 3.
async fn read_chosen(visit: &mut Visit, key: &str, start: u64, count: u64) -> Result<NewsPage> {
    let FoundItems { items, total, .. } = find_page(&mut visit.shared(), key, start, count).await?;
    let lines = lines::complete(visit, items).await?;
    Ok(NewsPage::chosen(visit, lines, total))
}

/// Finds the items of one page of a sorted set of news ids. Rounds: 2.
async fn find_page(visit: &mut SharedVisit<'_>, key: &str, start: u64, count: u64) -> Result<FoundItems> {
    let mut reads = Reads::default();
    let (places, total) = read_places(visit, (key, start, count), &mut reads).await?;
    let items = lines::find(visit, &ids(&places), &mut reads).await?;
    Ok(FoundItems { items, total, reads })
}

/// A page that is the same for all viewers, cached or made of the items that `find` finds,
/// with what is the viewer's and without what the viewer does not want listed. Rounds: those
/// of `find` and 1; for a cached page at most those of [`lines::own`].
pub(super) async fn shared_page(
    visit: &mut Visit,
    (key, start, count): (&str, u64, u64),
    find: impl AsyncFnOnce(&mut SharedVisit<'_>) -> Result<FoundItems>,
) -> Result<NewsPage> {
    let (site, now) = (visit.site_too(), visit.now());
    let list = (key.to_owned(), start, count);
    let (page, own) = match visit.look_up(site.caches.of::<SharedPages>(), &list).await? {
        CacheResult::Hit(page) => {
            let ids = page.summaries.iter().map(|summary| summary.news.id);
            let own = lines::own(visit, ids).await?;
            (page, own)
        }
        CacheResult::Miss(flight) => {
            let FoundItems { items, total, mut reads } = find(&mut visit.shared()).await?;
            let (summaries, own) = lines::complete_shared(visit, items).await?;
            summaries.iter().for_each(|summary| _ = summary.collect_into(&mut reads));
            let page = Tracked::new(SharedPage { summaries, total }, reads);
            (flight.finish(visit.view(), page, Some(now)), own)
        }
    };
    Ok(NewsPage::listed(visit, lines::mark(page.summaries.iter().cloned(), own), page.total))
}

/// The items with the highest ranks. Rounds: 3. At most once in five seconds a reader
/// also stores the ranks that have become stale. That takes one more round, and another
/// two if items that were not read may now be on the page.
///
/// Ranks sink with time, so the stored order is a little old. The stored order decides
/// which items are on a page; the current ranks decide their order there. So between two
/// refreshes every item is on exactly one page. Only votes and refreshes move items from
/// page to page.
pub async fn top(visit: &mut Visit, start: u64, count: u64) -> Result<NewsPage> {
    shared_page(visit, (keys::NEWS_TOP, start, count), async |visit| find_top(visit, start, count).await)
        .await
}

async fn find_top(visit: &mut SharedVisit<'_>, start: u64, count: u64) -> Result<FoundItems> {
    let now = visit.now();
    let mut reads = Reads::default();
    let refreshes = ranks::is_due(visit.site(), now, start);
    let read = if refreshes { count.saturating_add(limits::TOP_READ_AHEAD) } else { count };
    let (places, total) = read_places(visit, (keys::NEWS_TOP, start, read), &mut reads).await?;
    let mut items = lines::find(visit, &ids(&places), &mut reads).await?;
    if refreshes {
        let shown = usize::try_from(count).unwrap_or(usize::MAX);
        let window =
            RankWindow { start, shown, entries: places, is_last: start.saturating_add(read) >= total };
        let news = items.iter().map(ListedItem::news).filter(|news| news.state().is_listed());
        match ranks::refresh(visit.site(), now, &window, news).await {
            Some(page) => items.retain(|item| page.contains(&item.news().id)),
            None => {
                let (places, _) = read_places(visit, (keys::NEWS_TOP, start, count), &mut reads).await?;
                items = lines::find(visit, &ids(&places), &mut reads).await?;
            }
        }
    }
    let rules = &visit.site().rules.ranking;
    let ranked = items.into_iter().filter(|item| item.news().state().is_listed());
    let mut ranked: Vec<(f64, ListedItem)> =
        ranked.map(|item| (item.news().rank(now, rules), item)).collect();
    ranked.sort_by(|(left, left_item), (right, right_item)| {
        right.total_cmp(left).then(right_item.news().id.cmp(&left_item.news().id))
    });
    let items = ranked.into_iter().map(|(_, item)| item).collect();
    Ok(FoundItems { items, total, reads })
}

/// The items of a list that is the same for all viewers, the highest score first. Rounds: 3.
pub async fn stored(visit: &mut Visit, key: &str, start: u64, count: u64) -> Result<NewsPage> {
    shared_page(visit, (key, start, count), async |visit| find_page(visit, key, start, count).await).await
}

/// The items that a user saved, the latest first. Rounds: 3.
pub async fn saved(visit: &mut Visit, user: UserId, start: u64, count: u64) -> Result<NewsPage> {
    read_chosen(visit, &keys::user_saved(user), start, count).await
}

/// The items that the viewer voted up, the latest vote first. Rounds: 3. The stored list also has
/// what was only saved, so a page may have fewer lines.
pub async fn upvoted(visit: &mut Visit, viewer: UserId, start: u64, count: u64) -> Result<NewsPage> {
    let mut page = read_chosen(visit, &keys::user_upvoted(viewer), start, count).await?;
    page.lines.retain(|line| line.my_vote == Some(Direction::Up));
    Ok(page)
}

/// The items that a user has hidden, the latest first. Rounds: 3.
pub async fn hidden(visit: &mut Visit, user: UserId, start: u64, count: u64) -> Result<NewsPage> {
    read_chosen(visit, &keys::user_hidden(user), start, count).await
}

/// The title of an item that the viewer has hidden and that is not deleted, to tell that it is.
/// Rounds: at most 3.
pub async fn hidden_title(visit: &mut Visit, id: NewsId) -> Result<Option<String>> {
    if !visit.reader().await?.is_some_and(|reader| reader.has_hidden(id)) {
        return Ok(None);
    }
    let found = lines::find_one(&mut visit.shared(), id).await?;
    let news = found.as_ref().map(ListedItem::news).filter(|news| news.state().is_listed());
    Ok(news.map(|news| news.title.clone()))
}

/// The items that a user posted, latest first. Rounds: 3.
pub async fn posted(visit: &mut Visit, user: UserId, start: u64, count: u64) -> Result<NewsPage> {
    let key = keys::user_posted(user);
    let FoundItems { items, total, .. } = find_page(&mut visit.shared(), &key, start, count).await?;
    let mut lines = lines::complete(visit, items).await?;
    let unlisted = listing::keep(visit, &mut lines, |line| Some(line), ShownIn::Posted);
    Ok(NewsPage { lines, total, unlisted })
}

/// The items that link to a site, with or without `www.`, the latest first. Rounds: 3.
pub async fn from_host(visit: &mut Visit, host: &Hostname, start: u64, count: u64) -> Result<NewsPage> {
    let ((), page) = of_host(visit, host, (start, count), read::known(())).await?;
    Ok(page)
}

/// The items that link to a site, with or without `www.`, from a place on, the latest first. The first round also
/// fetches something else. Reads the ids before that place too, of at most
/// [`limits::MAX_SITE_STORIES`]. Rounds: 3.
pub(crate) async fn of_host<F: Fetch>(
    visit: &mut Visit,
    host: &Hostname,
    (start, count): (u64, u64),
    also: F,
) -> Result<(F::Value, NewsPage)> {
    let forms = [Some(host.clone()), host.other_form()].into_iter().flatten();
    let lists = forms.map(|form| keys::host_news(&form));
    let part = merged(lists, (start, count), |id| id.parse().ok());
    let ((ids, total), taken) = visit.fetch((part, also)).await?;
    let items = lines::find(&mut visit.shared(), &ids, &mut Reads::default()).await?;
    let lines = lines::complete(visit, items).await?;
    Ok((taken, NewsPage::listed(visit, lines, total)))
}

/// A part of several sorted sets of stories that are read as one, the highest score first, of equal ones the greater member;
/// and how many members they have, at most [`limits::MAX_SITE_STORIES`]. `story` is that of a member. Reads what is before that
/// part, too.
pub(super) fn merged(
    lists: impl Iterator<Item = String>,
    (start, count): (u64, u64),
    story: impl Fn(&str) -> Option<NewsId> + Send,
) -> impl Fetch<Value = (Vec<NewsId>, u64)> {
    let end = start.saturating_add(count).min(limits::MAX_SITE_STORIES);
    let read = |list: String| {
        let members = read::sorted_range(&list, Order::Descending, 0, end);
        (read::sorted_count(&list), members).map(move |(count, members)| (count, members, list))
    };
    lists.map(read).collect::<Vec<_>>().map(move |lists| {
        let (mut total, mut found) = (0_u64, Vec::new());
        for (of_list, members, list) in lists {
            total = total.saturating_add(of_list);
            found.extend(fields::members(members, &list, |(member, score)| {
                Some((score, story(&member)?, member))
            }));
        }
        found.sort_by(|(score, _, member), (of_other, _, other)| {
            of_other.total_cmp(score).then_with(|| other.cmp(member))
        });
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let ids = found.into_iter().map(|(_, id, _)| id).take(place(end)).skip(place(start)).collect();
        (ids, total.min(limits::MAX_SITE_STORIES))
    })
}

/// Some items, in this order, without what the viewer does not see in lists. Rounds: 2.
pub async fn chosen(visit: &mut Visit, ids: &[NewsId]) -> Result<Vec<NewsLine>> {
    let mut items = lines::find(&mut visit.shared(), ids, &mut Reads::default()).await?;
    items.retain(|item| item.news().state().is_listed());
    let lines = lines::complete(visit, items).await?;
    Ok(NewsPage::listed(visit, lines, 0).lines)
}

/// One item as listed. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchNews`], or the store's.
pub async fn get(visit: &mut Visit, id: NewsId) -> Result<NewsLine> {
    let item = lines::find_one(&mut visit.shared(), id).await?;
    Ok(lines::complete(visit, item.into_iter().collect())
        .await?
        .into_iter()
        .next()
        .ok_or(Refusal::NoSuchNews)?)
}

/// A random item; `None` on an empty site. `dice` is any random number. It draws a few of
/// all ids, since some items are deleted or missing; if none of the drawn items is listed,
/// the latest item is the answer. Rounds: 2.
pub async fn random(visit: &mut Visit, dice: u64) -> Result<Option<NewsId>> {
    let count = visit.fetch(read::string(keys::NEWS_COUNT)).await?;
    let count = count.and_then(|count| count.parse::<u64>().ok()).filter(|count| *count > 0);
    let Some(count) = count else { return Ok(None) };
    let mut drawn = dice;
    let draws: Vec<_> = (0..limits::RANDOM_DRAWS)
        .map(|_| {
            let id = NewsId(drawn % count + 1);
            // The next number of a linear congruential generator (Knuth's MMIX).
            drawn =
                drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 1;
            read::fields(keys::news(id), ["id", DEL, WITHHELD]).or_absent().map(move |fields| (id, fields))
        })
        .collect();
    let latest = read::sorted_range(keys::NEWS_CRON, Order::Descending, 0, 1);
    let (draws, latest) = visit.fetch((draws, latest)).await?;
    let listed =
        draws.into_iter().find_map(|(id, fields)| matches!(fields, [Some(_), None, None]).then_some(id));
    Ok(listed.or_else(|| latest.first().and_then(|(id, _)| id.parse().ok())))
}
