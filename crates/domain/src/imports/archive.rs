//! Importing an archive of another site, some lines at a time: stories, threads, people and votes on sites.
//!
//! `imported:<source>` has the number there of each item that was imported, with its number here. It is written in
//! the batch of the item, so that an import can be stopped at any time and run again, and nothing is imported twice.

use super::lines::{ArchiveLine, ArchivedComment, ArchivedPerson, ArchivedStory, ArchivedVotes, Missing};
use super::people::{self, ArchivePeople};
use super::{ImportedLink, ImportedStory, write_link};
use crate::articles::topics;
use crate::draws::{Draw, NEXT_ID, Sequence};
use crate::news::item::LOCKED;
use crate::sites::{Listed, StartingVoters};
use crate::values::{
    Body, CommentAddress, CommentId, Hostname, ImportSource, ImportedName, ImportedVotes, ItemNumber,
    MAX_COMMENTS_PER_THREAD, NewsId, Timestamp, Topics, UserId, grouped,
};
use crate::{Comment, Error, Item, News, Result, Site, fields, items, keys, records};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, read};

/// Lines that one batch has at most.
pub const LINES_AT_ONCE: usize = 250;

/// A line with its number in the file.
#[derive(Debug, Clone)]
pub struct NumberedLine {
    /// The number, from 1.
    pub line: u64,
    /// The content.
    pub content: ArchiveLine,
}

/// The outcome for some lines.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Imported {
    /// New stories.
    pub stories: u64,
    /// New comments.
    pub comments: u64,
    /// Accounts that got a profile.
    pub people: u64,
    /// Sites that got votes.
    pub sites: u64,
    /// Topics that got a sentence.
    pub topics: u64,
    /// Items, sites and topics that were there before.
    pub known: u64,
    /// Places of comments that were deleted or hidden there, among new ones.
    pub places: u64,
    /// Items that were deleted there.
    pub deleted: u64,
    /// Items that were hidden there.
    pub dead: u64,
    /// Polls and their choices.
    pub polls: u64,
    /// Lines that say `null`.
    pub absent: u64,
    /// Lines that are refused: their number, and why.
    pub refused: Vec<(u64, String)>,
    /// Comments whose parent is not there, as positions among the lines.
    pub orphans: Vec<usize>,
    /// People who got another name: theirs there and the one here.
    pub renamed: Vec<[String; 2]>,
}

impl Imported {
    /// Counts what is missing there.
    fn count_missing(&mut self, missing: Missing) {
        let count = match missing {
            Missing::Item => &mut self.absent,
            Missing::Deleted => &mut self.deleted,
            Missing::Dead => &mut self.dead,
            Missing::Poll => &mut self.polls,
        };
        *count += 1;
    }
}

/// Where lines come from.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The site.
    pub source: ImportSource,
    /// Whether the karma that people have there counts for trust here.
    pub trusts_karma: bool,
}

/// Imports some lines, at most [`LINES_AT_ONCE`], in their order. Items that are there already stay as they are. A
/// comment whose parent neither is there nor comes before it is left out and named in
/// [`orphans`](Imported::orphans). Nobody is told of anything, and no karma is paid. Rounds: at most 8, 4 more if
/// there are new people, and 3 for each site with votes.
///
/// # Errors
/// [`Error::Busy`] when another import of the same items runs at the same time, or something that they depend on has
/// just changed; or the store's. Then no item of these lines was imported.
pub async fn import_lines(
    site: &Site,
    now: Timestamp,
    archive: &Archive,
    lines: &[NumberedLine],
) -> Result<Imported> {
    let source = &archive.source;
    let mut imported = Imported::default();
    let mut plan = Plan::read(site, source, lines).await?;
    let mut persons: Vec<&ArchivedPerson> = Vec::new();
    let mut sites: Vec<(&Hostname, ArchivedVotes)> = Vec::new();
    let mut sentences = Vec::new();
    for (position, NumberedLine { line, content }) in lines.iter().enumerate() {
        match content {
            ArchiveLine::Story(story) => plan.add_story(story, &mut imported),
            ArchiveLine::Comment(comment) => plan.add_comment((position, *line), comment, &mut imported),
            ArchiveLine::Person(person) => persons.push(person),
            ArchiveLine::Topic(topic, sentence) => sentences.push((topic, sentence)),
            ArchiveLine::SiteVotes(host, votes) => sites.push((host, *votes)),
            ArchiveLine::Nothing(missing) => imported.count_missing(*missing),
        }
    }
    let mut wanted = plan.people();
    for person in &persons {
        wanted.insert(Some(person.name.clone()), person.created);
    }
    let ArchivePeople { accounts, renamed } = people::people_of_archive(site, source, &wanted).await?;
    imported.renamed = renamed;
    plan.write(site, now, source, &accounts).await?;
    let profiles: Vec<(UserId, &ArchivedPerson)> = persons
        .into_iter()
        .filter_map(|person| Some((*accounts.get(&Some(person.name.clone()))?, person)))
        .collect();
    imported.people = people::write_profiles(site, archive, &profiles).await?;
    for (topic, sentence) in sentences {
        let is_new = topics::add_sentence(site, topic.as_str(), sentence.as_str()).await?;
        *(if is_new { &mut imported.topics } else { &mut imported.known }) += 1;
    }
    for (host, votes) in sites {
        let is_new = write_site_votes(site, now, host, votes).await?;
        *(if is_new { &mut imported.sites } else { &mut imported.known }) += 1;
    }
    Ok(imported)
}

/// Whether items from a source are those of this site itself, of which it has some, and none that were imported. Rounds:
/// at most 1.
pub async fn is_own_export(site: &Site, source: &ImportSource) -> Result<bool> {
    if source_of_site(site).as_ref() != Some(source) {
        return Ok(false);
    }
    let reads = (read::string(keys::ITEMS_COUNT), read::sorted_count(keys::imported(source)));
    let (items, imported) = site.store.fetch(reads).await?;
    Ok(items.is_some() && imported == 0)
}

/// The source name of this site's items elsewhere: its host. `None` if that is no name of a source.
pub fn source_of_site(site: &Site) -> Option<ImportSource> {
    url::Url::parse(&site.address).ok()?.host_str()?.parse().ok()
}

/// Gives a site that nobody has voted on the votes of generated voters. Returns whether nobody had.
async fn write_site_votes(
    site: &Site,
    now: Timestamp,
    host: &Hostname,
    votes: ArchivedVotes,
) -> Result<bool> {
    if site.store.fetch(read::field(keys::link(host), "count_of_votes")).await?.is_some() {
        return Ok(false);
    }
    let [good, bad] = [votes.up, votes.down].map(|count| u64::try_from(count).unwrap_or(0));
    let listed = Listed { host: host.clone(), good, bad };
    let voters = StartingVoters::prepare(site, now, std::slice::from_ref(&listed)).await?;
    Ok(voters.import(site, now, &listed).await? > 0)
}

/// The story of a new comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StoryPlace {
    /// One that was there before.
    Old(NewsId),
    /// A new one, by its position among them.
    New(usize),
}

/// The item that a new comment replies to.
#[derive(Debug, Clone, Copy)]
enum Parent {
    Story,
    Old(CommentId),
    /// A new comment, by its position among those of the same story.
    New(usize),
}

/// An item that a comment may reply to.
#[derive(Debug, Clone, Copy)]
struct ParentItem {
    story: StoryPlace,
    comment: Parent,
}

/// The thread of an old story.
struct OldThread {
    news: News,
    /// The highest number of a comment that was drawn.
    drawn: u64,
}

impl OldThread {
    /// Why nobody can write in it, if nobody can.
    const fn closed(&self) -> Option<&'static str> {
        let News { deleted, withheld, locked, .. } = &self.news;
        match (deleted, withheld, locked) {
            (true, ..) => Some("its story was deleted here"),
            (_, Some(_), _) => Some("its story is withheld or merged here"),
            (.., Some(_)) => Some("its thread is locked here"),
            (false, None, None) => None,
        }
    }
}

/// A new comment.
struct NewComment<'a> {
    /// Its number there; `None` for the text of a story with a link, which is the first comment here.
    number: Option<u64>,
    parent: Parent,
    by: &'a Option<ImportedName>,
    /// `None` for the place of one that is gone.
    body: Option<&'a Body>,
    posted: Timestamp,
    votes: ImportedVotes,
}

/// A new item, in the order of the lines.
enum NewItem {
    Story(usize),
    Comment(StoryPlace, usize),
}

/// The items to write for some lines.
struct Plan<'a> {
    /// Items that were there before, by their numbers there.
    known: HashMap<u64, ItemNumber>,
    /// The items that comments may reply to, by the numbers there.
    places: HashMap<u64, ParentItem>,
    old: HashMap<NewsId, OldThread>,
    stories: Vec<&'a ArchivedStory>,
    /// The new comments of each story.
    threads: HashMap<StoryPlace, Vec<NewComment<'a>>>,
    items: Vec<NewItem>,
    /// Numbers there that were seen among the lines.
    seen: HashSet<u64>,
}

impl<'a> Plan<'a> {
    /// Reads what the lines depend on. Rounds: at most 3.
    async fn read(site: &Site, source: &ImportSource, lines: &[NumberedLine]) -> Result<Self> {
        let numbers: HashSet<u64> = lines
            .iter()
            .flat_map(|line| match &line.content {
                ArchiveLine::Story(story) => vec![story.number],
                ArchiveLine::Comment(comment) => vec![comment.number, comment.parent],
                _ => Vec::new(),
            })
            .collect();
        let known = site.store.fetch(items::imported(source, numbers.into_iter().collect())).await?;
        let parents: HashSet<u64> = lines
            .iter()
            .filter_map(|line| match &line.content {
                ArchiveLine::Comment(comment) if !known.contains_key(&comment.number) => Some(comment.parent),
                _ => None,
            })
            .collect();
        let parents: Vec<(u64, ItemNumber)> =
            parents.into_iter().filter_map(|there| Some((there, *known.get(&there)?))).collect();
        let found = parents.iter().map(|(_, here)| items::with_number(*here)).collect::<Vec<_>>();
        let found = if parents.is_empty() { Vec::new() } else { site.store.fetch(found).await? };
        let mut places = HashMap::new();
        let mut stories: HashSet<NewsId> = HashSet::new();
        for ((there, _), item) in parents.iter().zip(found) {
            let (news, comment) = match item {
                Some(Item::Story(news)) => (news, Parent::Story),
                Some(Item::Comment(CommentAddress { news, comment })) => (news, Parent::Old(comment)),
                None => continue,
            };
            stories.insert(news);
            places.insert(*there, ParentItem { story: StoryPlace::Old(news), comment });
        }
        let stories: Vec<NewsId> = stories.into_iter().collect();
        let reads: Vec<_> =
            stories.iter().map(|id| (News::by_id(*id), read::field(keys::thread(*id), NEXT_ID))).collect();
        let read = if stories.is_empty() { Vec::new() } else { site.store.fetch(reads).await? };
        let old = stories.into_iter().zip(read).filter_map(|(id, (news, drawn))| {
            let drawn = fields::read(drawn.as_deref(), || keys::thread(id), NEXT_ID).unwrap_or(0);
            Some((id, OldThread { news: news?, drawn }))
        });
        Ok(Self {
            known,
            places,
            old: old.collect(),
            stories: Vec::new(),
            threads: HashMap::new(),
            items: Vec::new(),
            seen: HashSet::new(),
        })
    }

    /// Whether an item is new.
    fn is_new(&mut self, number: u64, imported: &mut Imported) -> bool {
        let is_new = !self.known.contains_key(&number) && self.seen.insert(number);
        imported.known += u64::from(!is_new);
        is_new
    }

    fn add_story(&mut self, story: &'a ArchivedStory, imported: &mut Imported) {
        if !self.is_new(story.number, imported) {
            return;
        }
        let place = self.stories.len();
        self.places
            .insert(story.number, ParentItem { story: StoryPlace::New(place), comment: Parent::Story });
        self.stories.push(story);
        self.items.push(NewItem::Story(place));
        let ArchivedStory { by, content: ImportedStory { url, text, posted, .. }, .. } = story;
        if let (Some(_), Some(text)) = (url, text) {
            let (parent, votes) = (Parent::Story, ImportedVotes::default());
            let first = NewComment { number: None, parent, by, body: Some(text), posted: *posted, votes };
            self.threads.entry(StoryPlace::New(place)).or_default().push(first);
            self.items.push(NewItem::Comment(StoryPlace::New(place), 0));
        }
        imported.stories += 1;
    }

    fn add_comment(
        &mut self,
        (position, line): (usize, u64),
        comment: &'a ArchivedComment,
        imported: &mut Imported,
    ) {
        if self.known.contains_key(&comment.number) || self.seen.contains(&comment.number) {
            imported.known += 1;
            return;
        }
        let Some(ParentItem { story, comment: parent }) = self.places.get(&comment.parent).copied() else {
            imported.orphans.push(position);
            return;
        };
        let (drawn, closed) = match story {
            StoryPlace::Old(id) => match self.old.get(&id) {
                Some(old) => (old.drawn, old.closed()),
                None => {
                    imported.refused.push((line, "its story is not there any more".to_owned()));
                    return;
                }
            },
            StoryPlace::New(_) => (0, None),
        };
        if let Some(closed) = closed {
            imported.refused.push((line, closed.to_owned()));
            return;
        }
        let thread = self.threads.entry(story).or_default();
        let place = thread.len();
        if drawn + u64::try_from(place).unwrap_or(u64::MAX) >= MAX_COMMENTS_PER_THREAD {
            let most = grouped(MAX_COMMENTS_PER_THREAD);
            imported.refused.push((line, format!("its thread has {most} comments, which is the most")));
            return;
        }
        self.seen.insert(comment.number);
        let ArchivedComment { number, by, body, posted, votes, .. } = comment;
        let (number, body) = (Some(*number), body.as_ref().ok());
        thread.push(NewComment { number, parent, by, body, posted: *posted, votes: *votes });
        self.places.insert(comment.number, ParentItem { story, comment: Parent::New(place) });
        self.items.push(NewItem::Comment(story, place));
        match comment.body {
            Ok(_) => imported.comments += 1,
            Err(missing) => {
                imported.places += 1;
                imported.count_missing(missing);
            }
        }
    }

    /// Those who wrote new items, each with the time of the first one.
    fn people(&self) -> HashMap<Option<ImportedName>, Timestamp> {
        let mut people: HashMap<Option<ImportedName>, Timestamp> = HashMap::new();
        let mut add = |name: &Option<ImportedName>, posted: Timestamp| {
            let first = people.entry(name.clone()).or_insert(posted);
            *first = posted.min(*first);
        };
        self.stories.iter().for_each(|story| add(&story.by, story.content.posted));
        self.threads.values().flatten().for_each(|comment| add(comment.by, comment.posted));
        people
    }

    /// Writes the items in one batch. Rounds: at most 3.
    async fn write(
        &self,
        site: &Site,
        now: Timestamp,
        source: &ImportSource,
        accounts: &HashMap<Option<ImportedName>, UserId>,
    ) -> Result<()> {
        if self.items.is_empty() {
            return Ok(());
        }
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let (stories, items) = (count(self.stories.len()), count(self.items.len()));
        let draw = Draw::new([(Sequence::Stories, stories), (Sequence::Items, items)]);
        let [first_story, first_item] = draw.apart(site).await?;
        let first_comments = self.draw_comments(site).await?;
        let author = |by: &Option<ImportedName>| {
            let missing = || Error::Internal("an author without an account".to_owned());
            accounts.get(by).copied().ok_or_else(missing)
        };
        let story_id = |story: StoryPlace| match story {
            StoryPlace::Old(id) => id,
            StoryPlace::New(place) => NewsId(first_story.saturating_add(count(place))),
        };
        // The number of the first new comment of a story.
        let first_of = |story: StoryPlace| match story {
            StoryPlace::Old(id) => first_comments.get(&id).copied().unwrap_or(1),
            StoryPlace::New(_) => 1,
        };
        let (mut batch, mut comments) = (Batch::new(), Vec::new());
        for (number, item) in (first_item..).map(ItemNumber).zip(&self.items) {
            match item {
                NewItem::Story(place) => {
                    let Some(story) = self.stories.get(*place) else { continue };
                    let id = story_id(StoryPlace::New(*place));
                    batch.key_absent(keys::news(id));
                    batch.key_absent(keys::article(id));
                    items::write(&mut batch, Item::Story(id), number);
                    let ArchivedStory { number: number_there, by, .. } = story;
                    items::write_imported(&mut batch, source, *number_there, number);
                    let link = ImportedLink {
                        story: content_of(site, story),
                        author: author(by)?,
                        voters: Vec::new(),
                        source: Some(format!("{source}:{number_there}")),
                    };
                    write_link(&mut batch, site, now, id, &link);
                }
                NewItem::Comment(story, place) => {
                    let thread = self.threads.get(story);
                    let Some(new) = thread.and_then(|thread| thread.get(*place)) else { continue };
                    let id = |place: usize| CommentId(first_of(*story).saturating_add(count(place)));
                    let parent = match new.parent {
                        Parent::Story => None,
                        Parent::Old(parent) => Some(parent),
                        Parent::New(place) => Some(id(place)),
                    };
                    let (news, id, by) = (story_id(*story), id(*place), author(new.by)?);
                    let place = (CommentAddress { news, comment: id }, parent);
                    let mut comment = match new.body {
                        Some(body) => Comment::new(place, by, body, new.posted),
                        None => Comment::deleted_place(place, by, new.posted),
                    };
                    comment.imported_votes = new.votes;
                    items::write(&mut batch, Item::Comment(comment.address()), number);
                    if let Some(number_there) = new.number {
                        comment.source = Some(format!("{source}:{number_there}").into());
                        items::write_imported(&mut batch, source, number_there, number);
                    }
                    comments.push(comment);
                }
            }
        }
        records::add(&mut batch, &comments);
        for story in (0..self.stories.len()).map(StoryPlace::New) {
            if let Some(thread) = self.threads.get(&story) {
                batch.set_field(keys::thread(story_id(story)), NEXT_ID, thread.len().to_string());
            }
        }
        for (id, OldThread { news, .. }) in &self.old {
            if self.threads.get(&StoryPlace::Old(*id)).is_some_and(|thread| !thread.is_empty()) {
                news.check_state(&mut batch);
                batch.field_absent(keys::news(*id), LOCKED);
            }
        }
        site.apply(batch).await?.or(Error::Busy).map(drop)
    }

    /// Draws numbers for the new comments of old stories. Returns the first of each. Rounds: 1, none without any.
    async fn draw_comments(&self, site: &Site) -> Result<HashMap<NewsId, u64>> {
        let mut batch = Batch::new();
        let mut counts = Vec::new();
        for (story, thread) in &self.threads {
            if let StoryPlace::Old(id) = story
                && !thread.is_empty()
            {
                let count = i64::try_from(thread.len()).unwrap_or(i64::MAX);
                batch.increment_field(keys::thread(*id), NEXT_ID, count);
                counts.push((*id, count));
            }
        }
        if counts.is_empty() {
            return Ok(HashMap::new());
        }
        let drawn = site.store.commit(batch).await?;
        let first = |(id, count): (NewsId, i64)| {
            let key = keys::thread(id);
            let last = drawn.field(&key, NEXT_ID).unwrap_or_default();
            let first = u64::try_from(last.saturating_sub(count).saturating_add(1));
            let first = first.map_err(|_| Error::Internal(format!("{NEXT_ID} of {key} is {last}")))?;
            Ok((id, first))
        };
        counts.into_iter().map(first).collect()
    }
}

/// The content of a story to write: a job has its topic, and the text of a link is its first comment.
fn content_of(site: &Site, story: &ArchivedStory) -> ImportedStory {
    let mut content = story.content.clone();
    content.text = content.text.filter(|_| content.url.is_none());
    let jobs = site.rules.hacker_news.jobs_topic.0.as_ref();
    if let Some(jobs) = jobs.filter(|jobs| story.is_job && !content.topics.contains(jobs)) {
        let all = content.topics.iter().map(ToString::to_string).chain([jobs.to_string()]);
        content.topics = Topics::from_stored(&all.collect::<Vec<_>>().join(","));
    }
    content
}
