//! The log of moderation: `moderation:log` and `moderation:<id>`. Lines are only added; the line
//! of an action that was undone says by which other line.

use super::changes::{self, ChangedFact};
use super::keep::DELETED;
use super::remove_all::POSTS;
use crate::accounts::people::{People, id_of};
use crate::accounts::users::{Role, User};
use crate::accounts::visit::Visit;
use crate::action::Logging;
use crate::comments::comment::StoredComment;
use crate::error::{Error, Refusal};
use crate::fields::{self, StoredFields};
use crate::hooks::{self, Event};
use crate::keys;
use crate::news::item::News;
use crate::review::QueuePlace;
use crate::site::Site;
use crate::timelines::tweets::Tweet;
use crate::values::actions::{Action, Deed, Undo};
use crate::values::clock::Timestamp;
use crate::values::ids::{CommentAddress, ModerationId, UserId};
use crate::values::limits::{LOG_LINES_SCANNED, LOG_PARTS, NOTICE_SECONDS};
use crate::values::moderation::{SitePart, Thing};
use crate::values::text_forms::{read_text, shown};
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, Boxed, Fetch, Hash, Order, read};

/// Stands for the name of somebody who has left long ago. No name has a blank.
pub(super) const FORMER: &str = "a former member";
/// Stands for the name of an applicant who was not accepted. No name has a blank.
const APPLICANT: &str = "an applicant";
/// Lines that are read in one round.
const CHUNK: u64 = 200;
/// The field with a note for the undo.
const BEFORE: &str = "before";
/// The field with the facts that the action changed.
pub(super) const CHANGED: &str = "changed";
/// The field that says by which line an action was undone.
pub(super) const UNDONE_BY: &str = "undone_by";
/// The field with the number of posts that an action was about.
pub(super) const COUNT: &str = "count";
/// The field of the line of a batch with the lines of its parts, with blanks between them.
pub(super) const PARTS: &str = "parts";
/// The field with the line of the batch that a line is a part of.
pub(super) const PART_OF: &str = "part_of";
/// The field that says that a job is doing the rest of the action.
pub(super) const IN_PROGRESS: &str = "in_progress";

/// A row before an action settled it, `<weight>:<since>:<is hidden>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SettledRow {
    /// Its place.
    pub(super) place: QueuePlace,
    /// Whether flags had hidden the thing.
    pub(super) is_hidden: bool,
}

/// The text is not a settled row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotARow;

shown!(SettledRow: |row| format_args!("{}:{}:{}", row.place.weight, row.place.since, u8::from(row.is_hidden)));

read_text!(SettledRow or NotARow: |stored| {
    let numbers: Result<Vec<u64>, _> = stored.split(':').map(str::parse).collect();
    match *numbers.ok()? {
        [weight, since, is_hidden @ (0 | 1)] => {
            let place = QueuePlace { weight, since: Timestamp(since) };
            Some(Self { place, is_hidden: is_hidden == 1 })
        }
        _ => None,
    }
});

/// A line as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) id: ModerationId,
    pub(super) time: Timestamp,
    pub(super) moderator: UserId,
    pub(super) anonymous: bool,
    pub(super) action: Action,
    pub(super) thing: Thing,
    /// Empty if there is none, and for a note.
    pub(super) reason: String,
    /// The line that this action undid.
    pub(super) undoes: Option<ModerationId>,
    /// The line by which it was undone.
    pub(super) undone_by: Option<ModerationId>,
    /// When it ends by itself.
    pub(super) until: Option<Timestamp>,
    /// How many posts it was about, if it says so.
    pub(super) count: Option<u64>,
    /// Whether a job is doing the rest of it.
    pub(super) in_progress: bool,
    /// The person whom it concerns: who is moderated, or the author of what is.
    pub(super) concerns: Option<UserId>,
    /// A note for its undo, beside the facts. Never shown.
    pub(super) before: Option<String>,
    /// The facts that it changed. Never shown.
    pub(super) changed: Vec<ChangedFact>,
    /// The row of the review queue that it settled.
    pub(super) row: Option<SettledRow>,
    /// The lines of its parts, if it is the line of a batch.
    pub(super) parts: Vec<ModerationId>,
    /// The line of the batch that it is a part of.
    pub(super) part_of: Option<ModerationId>,
}

/// The numbers in the field [`PARTS`].
pub(super) fn parts_in(stored: &str) -> Option<Vec<ModerationId>> {
    stored.split_whitespace().map(|id| id.parse().ok()).collect()
}

impl Line {
    pub(super) fn from_hash(id: ModerationId, hash: &Hash) -> Option<Self> {
        let fields = StoredFields::new(hash, || keys::moderation(id));
        let text = |field: &str| fields.text(field).map(str::to_owned);
        let stored = fields.text(CHANGED);
        let changed: Option<Vec<ChangedFact>> = stored.and_then(|json| serde_json::from_str(json).ok());
        if changed.is_none() && stored.is_some() {
            fields::report(&keys::moderation(id), Some(CHANGED));
        }
        let mut line = Self {
            id,
            time: Timestamp(fields.read("time")?),
            moderator: fields.read("moderator")?,
            anonymous: fields.text("anonymous") == Some("1"),
            action: Action::named(fields.text("action")?)?,
            thing: Thing::parse(fields.text("kind")?, fields.text("target")?).ok()?,
            reason: text("reason").unwrap_or_default(),
            undoes: fields.read("undoes"),
            undone_by: fields.read(UNDONE_BY),
            until: fields.read("until").map(Timestamp),
            count: fields.read(COUNT),
            in_progress: text(IN_PROGRESS).is_some(),
            concerns: fields.read("concerns"),
            before: text(BEFORE),
            changed: changed.unwrap_or_default().into_iter().map(ChangedFact::at_its_place).collect(),
            row: fields.read("row"),
            parts: fields.text(PARTS).and_then(parts_in).unwrap_or_default(),
            part_of: fields.read(PART_OF),
        };
        if stored.is_none() {
            line.changed = changes::of_older_line(&line);
        }
        Some(line)
    }

    /// The value that a field had before the action; `None` if the action did not change it.
    pub(super) fn changed_from(&self, field: &str) -> Option<Option<&str>> {
        self.changed.iter().find(|change| change.field() == field).map(ChangedFact::before)
    }

    /// Why its thing was withheld before the action.
    pub(super) fn state_before(&self) -> Option<Withheld> {
        let states = self.changed.iter().filter(|change| change.is_of_state());
        states.filter_map(ChangedFact::before).find_map(|state| state.parse().ok())
    }

    /// Adds to a batch that the line of an edit does not keep the texts before it. Returns whether it kept any.
    pub(super) fn forget_texts(&self, batch: &mut Batch) -> bool {
        let keeps = self.action == Action::Edit && (self.before.is_some() || !self.changed.is_empty());
        if keeps {
            batch.delete_field(keys::moderation(self.id), BEFORE);
            batch.delete_field(keys::moderation(self.id), CHANGED);
        }
        keeps
    }

    /// The action that undoes the one of this line. The line has the facts that it needs, such as an
    /// earlier title.
    pub(super) fn inverse(&self) -> Option<Deed> {
        let has_facts = !self.changed.is_empty();
        match self.action.facts().undo {
            Undo::Never => None,
            // It would have to remove the same posts again, and nobody knows any more which they were.
            Undo::Deed(_) if self.action == Action::Restore && self.before.as_deref() == Some(POSTS) => None,
            Undo::Deed(_) if self.action == Action::Edit && !has_facts => None,
            Undo::Deed(inverse) => inverse(&self.thing),
            // All that such an action did is in the facts.
            Undo::Facts(action) => has_facts.then_some(Deed::PutBack(action)),
        }
    }

    /// Adds the line to the batch of its action. The batch fails if another line has got the
    /// number meanwhile.
    pub(super) fn write(&self, batch: &mut Batch) {
        let key = keys::moderation(self.id);
        batch.key_absent(&key);
        match self.id.0 {
            1 => _ = batch.key_absent(keys::MODERATION_COUNT),
            number => _ = batch.string_equals(keys::MODERATION_COUNT, (number - 1).to_string()),
        }
        batch.set(keys::MODERATION_COUNT, self.id.to_string());
        let mut fields = vec![
            ("id", self.id.to_string()),
            ("time", self.time.to_string()),
            ("moderator", self.moderator.to_string()),
            ("action", self.action.to_string()),
            ("kind", self.thing.kind().to_owned()),
            ("target", self.thing.id()),
        ];
        let shown = |number: Option<u64>| number.map(|number| number.to_string());
        let optional = [
            ("reason", (!self.reason.is_empty()).then(|| self.reason.clone())),
            ("anonymous", self.anonymous.then(|| "1".to_owned())),
            ("undoes", shown(self.undoes.map(|id| id.0))),
            ("until", shown(self.until.map(|until| until.0))),
            (COUNT, shown(self.count)),
            (IN_PROGRESS, self.in_progress.then(|| "1".to_owned())),
            ("concerns", shown(self.concerns.map(|user| user.0))),
            (BEFORE, self.before.clone()),
            // Facts can be written as JSON.
            (
                CHANGED,
                (!self.changed.is_empty()).then(|| serde_json::to_string(&self.changed).unwrap_or_default()),
            ),
            ("row", self.row.map(|row| row.to_string())),
            (
                PARTS,
                (!self.parts.is_empty())
                    .then(|| self.parts.iter().map(ModerationId::to_string).collect::<Vec<_>>().join(" ")),
            ),
        ];
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        batch.set_fields(key, fields);
        // Webhooks are not told of themselves, and of a batch with its parts.
        if self.action != Action::SetHooks && self.parts.is_empty() {
            hooks::write(batch, &Event::Decision(self.id));
        }
        batch.sorted_add(keys::MODERATION_LOG, self.id.to_string(), self.id.0 as f64);
    }
}

/// Adds the line of a moderator who speaks as such in a comment. Rounds: 1. Fails when the store does.
pub fn write_speaking<'a>(
    site: &'a Site,
    batch: &'a mut Batch,
    (time, moderator): (Timestamp, UserId),
    comment: CommentAddress,
) -> Logging<'a> {
    Box::pin(write_line(
        site,
        batch,
        (time, moderator),
        (Action::Speak, Thing::Comment(comment), String::new()),
    ))
}

/// Adds the line of an administrator who has changed a webhook in this way. Rounds: 1. Fails when the store does.
pub fn write_hook_change<'a>(
    site: &'a Site,
    batch: &'a mut Batch,
    by: (Timestamp, UserId),
    what: String,
) -> Logging<'a> {
    Box::pin(write_line(site, batch, by, (Action::SetHooks, Thing::Site(SitePart::Hooks), what)))
}

/// Adds the line of something that is written by its own wing and that nobody undoes here.
async fn write_line(
    site: &Site,
    batch: &mut Batch,
    (time, moderator): (Timestamp, UserId),
    (action, thing, reason): (Action, Thing, String),
) -> Result<(), Error> {
    let last = site.store.fetch(read::string(keys::MODERATION_COUNT)).await?;
    let line = Line {
        id: next_id(last.as_deref()),
        time,
        moderator,
        anonymous: false,
        action,
        thing,
        reason,
        undoes: None,
        undone_by: None,
        until: None,
        count: None,
        in_progress: false,
        concerns: None,
        before: None,
        changed: Vec::new(),
        row: None,
        parts: Vec::new(),
        part_of: None,
    };
    line.write(batch);
    Ok(())
}

/// Lines that [`lines_after`] reads.
const LINES: u64 = 200;

/// Some lines after one, and the last of them. Rounds: 2.
pub(super) async fn lines_after(site: &Site, after: u64) -> Result<(Vec<Line>, Option<ModerationId>), Error> {
    let scores = (after as f64 + 1.0, f64::INFINITY);
    let ids = read::sorted_by_score(keys::MODERATION_LOG, Order::Ascending, scores, LINES);
    let ids = site.store.fetch(ids).await?;
    let ids: Vec<ModerationId> = fields::members(ids, keys::MODERATION_LOG, |(id, _)| id.parse().ok());
    let Some(last) = ids.last().copied() else { return Ok((Vec::new(), None)) };
    let hashes: Vec<_> = ids.iter().map(|id| read::hash(keys::moderation(*id))).collect();
    let lines = ids.into_iter().zip(site.store.fetch(hashes).await?);
    Ok((lines.filter_map(|(id, hash)| Line::from_hash(id, &hash)).collect(), Some(last)))
}

/// The number of the next line, from the stored number of the last one.
pub(super) fn next_id(last: Option<&str>) -> ModerationId {
    let last: u64 = fields::read_string(last, || keys::MODERATION_COUNT.to_owned()).unwrap_or(0);
    ModerationId(last + 1)
}

/// A line of the log as a viewer may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    /// Its number.
    pub id: ModerationId,
    /// When.
    pub time: Timestamp,
    /// The moderator, as the viewer may know them.
    pub moderator: ShownModerator,
    /// The action.
    pub action: Action,
    /// The thing that it was done to.
    pub thing: Thing,
    /// The title of the story, or of the one that a comment is on. Readers see it while the story is shown.
    pub title: Option<String>,
    /// The author of the thing. Readers see it while the thing is shown.
    pub author: Option<String>,
    /// Why; may be empty.
    pub reason: String,
    /// The line that this action undid.
    pub undoes: Option<ModerationId>,
    /// The line by which it was undone.
    pub undone_by: Option<ModerationId>,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// Whether the viewer could undo it now.
    pub can_be_undone: bool,
    /// How many posts it was about, if it says so.
    pub count: Option<u64>,
    /// Whether a job is still at it: the count grows.
    pub in_progress: bool,
    /// How many lines it has as its parts, if it is the line of a batch.
    pub parts: Option<u64>,
    /// The line of the batch that it is a part of.
    pub part_of: Option<ModerationId>,
}

/// The moderator of an action, as a viewer may know them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownModerator {
    /// A person, by name.
    Named(String),
    /// A person whose account is deactivated.
    Left,
    /// A moderator who chose not to be named.
    Unnamed,
}

/// Which lines are wanted: the newest first.
#[derive(Debug, Clone, Default)]
pub struct LogWindow {
    /// Only lines before this one.
    pub before: Option<ModerationId>,
    /// The most lines.
    pub count: usize,
    /// Only actions of this person, as far as the viewer may know.
    pub moderator: Option<String>,
    /// Only actions on this kind of thing.
    pub kind: Option<&'static str>,
    /// Only this action.
    pub action: Option<Action>,
    /// Only actions that concern this person. The log says that to moderators alone.
    pub concerns: Option<UserId>,
    /// The same by name.
    pub person: Option<String>,
    /// Only the parts of this batch.
    pub part_of: Option<ModerationId>,
}

impl LogWindow {
    /// Whether it asks for parts, and not for batches.
    const fn asks_for_parts(&self) -> bool {
        self.kind.is_some() || self.action.is_some() || self.concerns.is_some() || self.person.is_some()
    }
}

/// A part of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPage {
    /// The lines.
    pub entries: Vec<LogEntry>,
    /// Where the next part begins; `None` at the end. With a filter a part can be shorter than
    /// asked for, even empty, before the end.
    pub next: Option<ModerationId>,
}

/// How a viewer of the log sees people.
#[derive(Debug, Clone, Copy)]
struct Sees {
    /// Whether they see the names of moderators who chose not to be named.
    unnamed_moderators: bool,
    /// Whether they see applicants who were not accepted, and things that readers no longer see.
    what_is_hidden: bool,
}

impl Sees {
    async fn of(visit: &mut Visit) -> Result<Self, Error> {
        let role = visit.viewer().await?.map_or(Role::Member, User::role);
        Ok(Self { unnamed_moderators: role == Role::Administrator, what_is_hidden: role >= Role::Moderator })
    }
}

/// The thing that a line is about, as a viewer may know it. Refused applicants must not be named for ever,
/// so readers see the name of an applicant only as long as the acceptance stands.
fn shown_thing(line: &Line, sees: Sees) -> Thing {
    let is_accepted = line.action == Action::Approve && line.undone_by.is_none();
    match &line.thing {
        Thing::Application(_) if !is_accepted && !sees.what_is_hidden => Thing::Application(APPLICANT.into()),
        thing => thing.clone(),
    }
}

/// A part of the log. Rounds: 4, 5 with batches; with a filter, or with parts of batches in between, at most 14.
///
/// # Errors
/// [`Refusal::NoSuchUser`] for an unknown person, [`Refusal::ModeratorsOnly`] for others who ask about a person,
/// [`Refusal::NoSuchModeration`] for an unknown batch, or the store's.
pub async fn page(visit: &mut Visit, window: &LogWindow) -> Result<LogPage, Error> {
    let sees = Sees::of(visit).await?;
    if let Some(batch) = window.part_of {
        return parts_page(visit, window, (batch, sees)).await;
    }
    let moderator = match &window.moderator {
        Some(name) => Some(id_of(visit, name).await?),
        None => None,
    };
    let person = match &window.person {
        Some(_) if !sees.what_is_hidden => return Err(Refusal::ModeratorsOnly.into()),
        Some(name) => Some(id_of(visit, name).await?),
        None => window.concerns,
    };
    let is_wanted = |line: &Line| {
        let is_batch = !line.parts.is_empty();
        (if window.asks_for_parts() { !is_batch } else { line.part_of.is_none() })
            && moderator.is_none_or(|id| line.moderator == id && (sees.unnamed_moderators || !line.anonymous))
            && window.kind.is_none_or(|kind| line.thing.kind() == kind)
            && window.action.is_none_or(|action| line.action == action)
            && person.is_none_or(|person| line.concerns == Some(person))
    };
    let (mut found, mut scanned, mut next) = (Vec::new(), 0, None);
    let mut before = window.before;
    while found.len() < window.count && scanned < LOG_LINES_SCANNED {
        let (lines, is_more) = read_chunk(visit, before).await?;
        next = None;
        let chunk = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            scanned += 1;
            before = Some(line.id);
            if is_wanted(&line) {
                found.push(line);
            }
            if is_more || index + 1 < chunk {
                next = before;
            } else {
                next = None;
            }
            if found.len() == window.count {
                break;
            }
        }
        if next.is_none() {
            break;
        }
    }
    Ok(LogPage { entries: show(visit, found, sees).await?, next })
}

/// The parts of a batch, the newest first. Rounds: 5.
async fn parts_page(
    visit: &mut Visit,
    window: &LogWindow,
    (batch, sees): (ModerationId, Sees),
) -> Result<LogPage, Error> {
    let hash = visit.fetch(read::hash(keys::moderation(batch))).await?;
    let batch = Line::from_hash(batch, &hash).ok_or(Refusal::NoSuchModeration)?;
    let mut ids = batch.parts;
    ids.retain(|id| window.before.is_none_or(|before| *id < before));
    ids.sort_unstable_by(|left, right| right.cmp(left));
    let is_more = ids.len() > window.count;
    ids.truncate(window.count);
    let next = ids.last().copied().filter(|_| is_more);
    let lines = lines_of(visit, &ids).await?;
    Ok(LogPage { entries: show(visit, lines, sees).await?, next })
}

/// The newest lines since a time, at most so many. Rounds: 2 for each 200 of them.
pub(super) async fn since(visit: &mut Visit, time: Timestamp, most: usize) -> Result<Vec<Line>, Error> {
    let (mut found, mut before) = (Vec::new(), None);
    while found.len() < most {
        let (lines, is_more) = read_chunk(visit, before).await?;
        before = lines.last().map(|line| line.id);
        let wanted = lines.len();
        found.extend(lines.into_iter().take_while(|line| line.time >= time));
        if !is_more || found.last().map(|line| line.id) != before || wanted == 0 {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}

/// The actions of some lines, with their moderators, as the viewer may know them. Rounds: at most 4.
pub(super) async fn moderators_of(
    visit: &mut Visit,
    lines: Vec<Line>,
) -> Result<Vec<(ShownModerator, Action)>, Error> {
    let sees = Sees::of(visit).await?;
    let entries = show(visit, lines, sees).await?;
    Ok(entries.into_iter().map(|entry| (entry.moderator, entry.action)).collect())
}

/// Some lines before one, and whether there are more. Rounds: 2.
async fn read_chunk(visit: &mut Visit, before: Option<ModerationId>) -> Result<(Vec<Line>, bool), Error> {
    let highest = before.map_or(f64::INFINITY, |before| before.0 as f64 - 1.0);
    let scores = (f64::NEG_INFINITY, highest);
    let ids = visit
        .fetch(read::sorted_by_score(keys::MODERATION_LOG, Order::Descending, scores, CHUNK + 1))
        .await?;
    let mut ids: Vec<ModerationId> = fields::members(ids, keys::MODERATION_LOG, |(id, _)| id.parse().ok());
    let is_more = ids.len() as u64 > CHUNK;
    ids.truncate(usize::try_from(CHUNK).unwrap_or(usize::MAX));
    Ok((lines_of(visit, &ids).await?, is_more))
}

/// Lines by their numbers. Rounds: 1, none for no lines.
async fn lines_of(visit: &mut Visit, ids: &[ModerationId]) -> Result<Vec<Line>, Error> {
    let hashes = ids.iter().map(|id| read::hash(keys::moderation(*id)).or_absent()).collect::<Vec<_>>();
    let hashes = visit.fetch_if_needed(hashes).await?;
    let lines = ids.iter().zip(hashes).filter_map(|(id, hash)| {
        let line = Line::from_hash(*id, &hash);
        if line.is_none() {
            fields::report(&keys::moderation(*id), None);
        }
        line
    });
    Ok(lines.collect())
}

/// The subject of a line: the title of the story, and the author, each only if the viewer may see it.
#[derive(Debug, Clone, Default)]
struct LineSubject {
    title: Option<String>,
    author: Option<UserId>,
    /// Whether it is a post that is no longer there.
    is_missing: bool,
}

impl LineSubject {
    fn gone() -> Self {
        Self { is_missing: true, ..Self::default() }
    }

    /// The subject of a line.
    fn of(thing: &Thing, sees: Sees) -> Boxed<'static, Self> {
        let shown = move |is_shown: bool| is_shown || sees.what_is_hidden;
        let of_story = move |news: News| {
            let is_shown = shown(news.state().is_public());
            let is_missing = news.deleted;
            Self {
                title: is_shown.then_some(news.title),
                author: is_shown.then_some(news.user_id),
                is_missing,
            }
        };
        match thing {
            Thing::Story(id) => {
                let fields = read::hash_fields(keys::news(*id), News::FIELDS).or_absent();
                fields.map(move |fields| News::from_fields(fields).map_or_else(Self::gone, of_story)).boxed()
            }
            Thing::Comment(address) => {
                let stored = StoredComment::at(*address).or_absent().map(move |stored| {
                    let Ok(StoredComment { comment, news, .. }) = stored else { return Self::gone() };
                    let is_shown = shown(comment.state().is_public());
                    let (author, is_missing) = (is_shown.then_some(comment.user_id), comment.deleted);
                    Self { author, is_missing, ..of_story(news) }
                });
                stored.boxed()
            }
            Thing::Tweet(id) => {
                let tweet = Tweet::by_id(*id).or_absent().map(move |tweet| {
                    let is_missing = tweet.is_none();
                    let tweet = tweet.filter(|tweet| shown(tweet.state().is_public()));
                    Self { title: None, author: tweet.map(|tweet| tweet.user_id), is_missing }
                });
                tweet.boxed()
            }
            Thing::User(_)
            | Thing::Application(_)
            | Thing::Appeal(_)
            | Thing::Message(_)
            | Thing::Rule(_)
            | Thing::Origin(_)
            | Thing::Site(_) => read::known(Self::default()).boxed(),
        }
    }
}

/// The lines as the viewer may see them: with names and titles. Rounds: 2; 3 for moderators, 4 with batches.
async fn show(visit: &mut Visit, lines: Vec<Line>, sees: Sees) -> Result<Vec<LogEntry>, Error> {
    let subjects = lines.iter().map(|line| LineSubject::of(&line.thing, sees)).collect::<Vec<_>>();
    let subjects = visit.fetch_if_needed(subjects).await?;
    let authors = subjects.iter().filter_map(|subject| subject.author);
    let people = visit.fetch(People::of(lines.iter().map(|line| line.moderator).chain(authors))).await?;
    // Of what is gone, only a decision about its flags can be undone.
    let is_there = |(line, subject): &(&Line, &LineSubject)| {
        !subject.is_missing || line.before.as_deref() == Some(DELETED)
    };
    // A batch can be undone while one of its parts can.
    let open = lines.iter().filter(|line| line.undone_by.is_none() && sees.what_is_hidden);
    let parts: Vec<ModerationId> = open.flat_map(|line| line.parts.iter().copied()).take(LOG_PARTS).collect();
    let parts = lines_of(visit, &parts).await?;
    let there = lines.iter().zip(&subjects).filter(is_there).map(|(line, _)| line);
    let there: Vec<&Line> = there.filter(|line| line.parts.is_empty()).chain(&parts).collect();
    let undoable = changes::undoable(visit, &there).await?;
    let entry = |(line, subject): (Line, LineSubject)| {
        let moderator = match people.get(line.moderator) {
            _ if line.anonymous && !sees.unnamed_moderators => ShownModerator::Unnamed,
            Some(names) => ShownModerator::Named(names.username.clone()),
            None => ShownModerator::Left,
        };
        let LineSubject { title, author, .. } = subject;
        let author = author.and_then(|id| people.get(id)).map(|names| names.username.clone());
        let is_open = line.undone_by.is_none();
        let can_be_undone =
            undoable.contains(&line.id) || is_open && line.parts.iter().any(|part| undoable.contains(part));
        let thing = shown_thing(&line, sees);
        let parts = (!line.parts.is_empty()).then_some(line.parts.len() as u64);
        let Line { id, time, action, reason, undoes, undone_by, until, count, in_progress, part_of, .. } =
            line;
        LogEntry {
            can_be_undone,
            id,
            time,
            moderator,
            action,
            thing,
            title,
            author,
            reason,
            undoes,
            undone_by,
            until,
            count,
            in_progress,
            parts,
            part_of,
        }
    };
    Ok(lines.into_iter().zip(subjects).map(entry).collect())
}

/// A line by its number, as the viewer may see it. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchModeration`], or the store's.
pub async fn entry(visit: &mut Visit, id: ModerationId) -> Result<LogEntry, Error> {
    let line = read_line(&visit.site_too(), id).await?;
    let sees = Sees::of(visit).await?;
    show(visit, vec![line], sees).await?.pop().ok_or_else(|| Refusal::NoSuchModeration.into())
}

/// The line that the viewer wrote with an action that has just been done, by its number; `None` for the number of
/// any other line. Rounds: 4.
///
/// # Errors
/// The store's.
pub async fn just_written(visit: &mut Visit, id: ModerationId) -> Result<Option<LogEntry>, Error> {
    let Some(viewer) = visit.know_viewer().await?.filter(|viewer| viewer.role() >= Role::Moderator) else {
        return Ok(None);
    };
    let (viewer, now) = (viewer.id, visit.now());
    let hash = visit.fetch(read::hash(keys::moderation(id))).await?;
    let is_recent = |line: &Line| line.time <= now && now.seconds_since(line.time) < NOTICE_SECONDS;
    let line = Line::from_hash(id, &hash).filter(|line| line.moderator == viewer && is_recent(line));
    let Some(line) = line else { return Ok(None) };
    let sees = Sees::of(visit).await?;
    Ok(show(visit, vec![line], sees).await?.pop())
}

/// A line by its number. Rounds: 1.
pub(super) async fn read_line(site: &crate::site::Site, id: ModerationId) -> Result<Line, Error> {
    let hash = site.store.fetch(read::hash(keys::moderation(id))).await?;
    Ok(Line::from_hash(id, &hash).ok_or(Refusal::NoSuchModeration)?)
}
