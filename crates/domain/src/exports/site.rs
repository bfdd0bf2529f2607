//! Everything of a site that is public, as the lines of an archive: people who have posted, stories and comments in the
//! order of their numbers, the sentences of topics, and the votes on sites.
//!
//! The export has only what a visitor without a session sees. It is read in parts, so the memory that an
//! export takes does not grow with the site. Each part is read at its own time; what is posted after the
//! beginning is left out.

use crate::accounts::{Collapsed, Sight};
use crate::comments::outline::ThreadLines;
use crate::comments::threads::{self, Thread};
use crate::imports::lines::ArchivedVotes;
use crate::numbered::{
    self, ItemContent, ItemState, NumberedComment, NumberedItem, NumberedPerson, NumberedStory,
};
use crate::sites::VoteTotals;
use crate::values::{
    CommentAddress, CommentId, CommentOrder, EXPORT_CHUNK, Hostname, ItemNumber, NewsId, Timestamp, Topics,
    UserId, Withheld,
};
use crate::{Error, Item, Refusal, Result, Site, User, Visit, fields, items, keys};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use strum::{EnumIter, IntoStaticStr};
use tidings_keyspace::{Order, read};

/// The version of the form of an export.
pub const FORMAT: u64 = 1;
/// The file of an export that says what it is.
pub const ABOUT: &str = "about.json";

/// A part of an export, in the order in which they are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum SiteSection {
    /// People who have posted.
    #[strum(serialize = "users.jsonl")]
    People,
    /// Stories and comments.
    #[strum(serialize = "items.jsonl")]
    Items,
    /// The sentences of topics.
    #[strum(serialize = "topics.jsonl")]
    Topics,
    /// The votes on sites.
    #[strum(serialize = "sites.jsonl")]
    Sites,
}

impl SiteSection {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        self.into()
    }
}

/// Something that is exported.
#[derive(Debug)]
pub enum Exported {
    /// A person.
    Person(NumberedPerson),
    /// A story or a comment, without its kids.
    Item(ExportedItem),
    /// A topic with its sentence.
    Topic(String, String),
    /// The votes on a site.
    Site(Hostname, ArchivedVotes),
}

/// A story or a comment.
#[derive(Debug)]
pub struct ExportedItem {
    /// The item as visitors see it.
    pub item: NumberedItem,
    /// The text as it was typed, if visitors see it.
    pub source_text: Option<String>,
    /// The topics of a story.
    pub topics: Topics,
    /// The votes, if visitors see the item.
    pub votes: Option<ArchivedVotes>,
}

/// An export of a site.
pub struct SiteExport {
    site: Arc<Site>,
    now: Timestamp,
    /// The highest number of an item at the beginning.
    highest: u64,
    /// How much of a section was read: the last number of an item or a person, or the places of sites.
    read: u64,
}

impl SiteExport {
    /// Begins an export. Rounds: 1.
    pub async fn begin(site: Arc<Site>, now: Timestamp) -> Result<Self> {
        let highest = site.store.fetch(fields::counter(keys::ITEMS_COUNT)).await?;
        Ok(Self { site, now, highest, read: 0 })
    }

    /// The highest number of an item that is exported.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// The last number of an item, or of a person, that was looked at.
    pub const fn position(&self) -> u64 {
        self.read
    }

    /// Begins a section.
    pub const fn begin_section(&mut self) {
        self.read = 0;
    }

    /// The next part of a section, which may be empty; `None` at its end. Rounds: at most 4 for each story that the
    /// items are on, and 2.
    pub async fn next(&mut self, section: SiteSection) -> Result<Option<Vec<Exported>>> {
        match section {
            SiteSection::People => self.people().await,
            SiteSection::Items => self.items().await,
            SiteSection::Topics => self.topics().await,
            SiteSection::Sites => self.sites().await,
        }
    }

    async fn people(&mut self) -> Result<Option<Vec<Exported>>> {
        let count = self.site.store.fetch(fields::counter(keys::USERS_COUNT)).await?;
        if self.read >= count {
            return Ok(None);
        }
        let last = count.min(self.read + EXPORT_CHUNK);
        let ids: Vec<UserId> = (self.read + 1..=last).map(UserId).collect();
        self.read = last;
        let reads = ids.into_iter().map(|id| {
            (User::by_id(id), [keys::user_posted(id), keys::user_comments(id)].map(read::sorted_count))
        });
        let found = self.site.store.fetch(reads.collect::<Vec<_>>()).await?;
        let person = |(user, [posted, comments]): (Option<User>, [u64; 2])| {
            // People who only read are left out: their accounts are private.
            let user = user.filter(|_| posted + comments > 0)?;
            Some(Exported::Person(NumberedPerson::new(user, self.now, Vec::new())))
        };
        Ok(Some(found.into_iter().filter_map(person).collect()))
    }

    async fn items(&mut self) -> Result<Option<Vec<Exported>>> {
        let chunk =
            self.site.store.fetch(items::between((self.read + 1, self.highest), EXPORT_CHUNK)).await?;
        let Some((_, last)) = chunk.last() else { return Ok(None) };
        self.read = last.0;
        let mut wanted: HashMap<NewsId, HashSet<CommentId>> = HashMap::new();
        for (item, _) in &chunk {
            match item {
                Item::Story(news) => _ = wanted.entry(*news).or_default(),
                Item::Comment(address) => _ = wanted.entry(address.news).or_default().insert(address.comment),
            }
        }
        let mut visit = Visit::new(self.site.clone(), self.now, None);
        let mut seen: HashMap<Item, (Option<Item>, ExportedItem)> = HashMap::new();
        for (news, comments) in wanted {
            let positions = |lines: &ThreadLines| {
                let places = lines.places().iter().enumerate();
                let wanted = places.filter(|(_, place)| comments.contains(&place.id));
                wanted.map(|(position, _)| position).collect()
            };
            match threads::get(&mut visit, news, CommentOrder::Score.into(), positions).await {
                Ok(thread) => of_thread(&thread, &comments, &mut seen),
                Err(Error::Refused(Refusal::NoSuchNews)) => {}
                Err(error) => return Err(error),
            }
        }
        let parents = seen.values().filter_map(|(parent, _)| *parent);
        let numbers = numbered::numbers(&mut visit, parents.collect::<HashSet<_>>()).await?;
        let exported = chunk.into_iter().filter_map(|(item, number)| {
            let (parent, mut exported) = seen.remove(&item)?;
            exported.item.number = number;
            if let ItemContent::Comment(comment) = &mut exported.item.content {
                comment.parent = Some(*numbers.get(&parent?)?);
            }
            Some(Exported::Item(exported))
        });
        Ok(Some(exported.collect()))
    }

    async fn topics(&mut self) -> Result<Option<Vec<Exported>>> {
        if self.read > 0 {
            return Ok(None);
        }
        self.read = 1;
        let sentences = self.site.store.fetch(read::hash(keys::TOPIC_SENTENCES)).await?;
        Ok(Some(sentences.0.into_iter().map(|(topic, sentence)| Exported::Topic(topic, sentence)).collect()))
    }

    async fn sites(&mut self) -> Result<Option<Vec<Exported>>> {
        if !self.site.rules.features.sites {
            return Ok(None);
        }
        let counts = read::sorted_range(keys::LINKS_COUNT, Order::Ascending, self.read, EXPORT_CHUNK);
        let counts = self.site.store.fetch(counts).await?;
        if counts.is_empty() {
            return Ok(None);
        }
        self.read += EXPORT_CHUNK;
        let hosts = counts.iter().map(|(host, _)| host.clone());
        let sums = self.site.store.fetch(read::scores(keys::LINKS_SUM, hosts)).await?;
        let site = |((host, count), sum): ((String, f64), Option<f64>)| {
            let totals = VoteTotals { sum: whole(sum?), count: whole(count) };
            let votes = ArchivedVotes { up: totals.good(), down: totals.bad() };
            Some(Exported::Site(Hostname::parse(&host).ok()?, votes))
        };
        Ok(Some(counts.into_iter().zip(sums).filter_map(site).collect()))
    }
}

/// The score of a sorted set of counters.
#[allow(clippy::cast_possible_truncation)]
const fn whole(score: f64) -> i64 {
    score as i64
}

/// Adds a story and some of its comments as visitors see them, each with the item that it replies to.
fn of_thread(
    thread: &Thread,
    wanted: &HashSet<CommentId>,
    seen: &mut HashMap<Item, (Option<Item>, ExportedItem)>,
) {
    let line = &thread.news;
    let news = line.news.id;
    // The comments of a merged story are shown with the other one.
    let story = line.news.withheld.as_ref().and_then(Withheld::merged_into).unwrap_or(news);
    let state = ItemState::of_story(thread);
    let is_shown = state == ItemState::Shown;
    let content = ItemContent::Story(NumberedStory::of(&line.summary));
    let [up, down] = line.news.votes();
    let exported = ExportedItem {
        item: NumberedItem { number: ItemNumber(0), state, kids: Vec::new(), content },
        source_text: line.news.text().filter(|text| is_shown && !text.is_empty()).map(str::to_owned),
        topics: if is_shown { line.news.topics.clone() } else { Topics::default() },
        votes: is_shown.then_some(ArchivedVotes { up, down }),
    };
    seen.insert(Item::Story(news), (None, exported));
    let lines = &thread.lines;
    for position in lines.told() {
        let Some(place) = lines.places().get(position).filter(|place| wanted.contains(&place.id)) else {
            continue;
        };
        let Some(line) = thread.line(position) else { continue };
        let state = match place.sight {
            Sight::Shown => ItemState::Shown,
            Sight::Collapsed(Collapsed::Flagged) => ItemState::Hidden,
            Sight::Collapsed(_) | Sight::LeftOut => ItemState::Gone,
        };
        let is_shown = state == ItemState::Shown;
        let [up, down] = line.comment.votes();
        let parent = match place.parent {
            Some(comment) => Item::Comment(CommentAddress { news, comment }),
            None => Item::Story(story),
        };
        let content = NumberedComment::of(&line, state, None);
        let source_text = is_shown.then(|| content.body.clone());
        let content = ItemContent::Comment(content);
        let exported = ExportedItem {
            item: NumberedItem { number: ItemNumber(0), state, kids: Vec::new(), content },
            source_text,
            topics: Topics::default(),
            votes: is_shown.then_some(ArchivedVotes { up, down }),
        };
        seen.insert(Item::Comment(CommentAddress { news, comment: place.id }), (Some(parent), exported));
    }
}
