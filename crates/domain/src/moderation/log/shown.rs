//! The log as a viewer may see it: pages of lines with names and titles.

use super::{Line, read_line};
use crate::accounts::people::{People, id_of};
use crate::comments::comment::StoredComment;
use crate::moderation::changes;
use crate::moderation::group_roles::SIGN_IN_SERVICE;
use crate::moderation::keep::DELETED;
use crate::values::{
    Action, LOG_LINES_SCANNED, LOG_PARTS, ModerationId, NOTICE_SECONDS, NewsId, PostState, Thing, Timestamp,
    UserId,
};
use crate::{News, Refusal, Result, Role, Tweet, User, Visit, fields, keys};
use std::collections::HashMap;
use tidings_keyspace::{Boxed, Fetch, Order, read};

/// Stands for the name of an applicant who was not accepted. No name has a blank.
const APPLICANT: &str = "an applicant";
/// Lines that are read in one round.
const CHUNK: u64 = 200;

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
    /// The story that a merge was into, with the title if the viewer may see it.
    pub into: Option<(NewsId, Option<String>)>,
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
    /// The provider through which people log in, by whose groups they have roles.
    SignInService,
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
    async fn of(visit: &mut Visit) -> Result<Self> {
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
pub async fn page(visit: &mut Visit, window: &LogWindow) -> Result<LogPage> {
    let sees = Sees::of(visit).await?;
    if let Some(batch) = window.part_of {
        return parts_page(visit, window, batch).await;
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
            next = before.filter(|_| is_more || index + 1 < chunk);
            if found.len() == window.count {
                break;
            }
        }
        if next.is_none() {
            break;
        }
    }
    Ok(LogPage { entries: show(visit, found).await?, next })
}

/// The parts of a batch, the newest first. Rounds: 5.
async fn parts_page(visit: &mut Visit, window: &LogWindow, batch: ModerationId) -> Result<LogPage> {
    let batch = visit.fetch(Line::by_id(batch)).await?.ok_or(Refusal::NoSuchModeration)?;
    let mut ids = batch.parts;
    ids.retain(|id| window.before.is_none_or(|before| *id < before));
    ids.sort_unstable_by(|left, right| right.cmp(left));
    let is_more = ids.len() > window.count;
    ids.truncate(window.count);
    let next = ids.last().copied().filter(|_| is_more);
    let lines = lines_of(visit, &ids).await?;
    Ok(LogPage { entries: show(visit, lines).await?, next })
}

/// The newest lines since a time, at most so many. Rounds: 2 for each 200 of them.
pub(in crate::moderation) async fn since(
    visit: &mut Visit,
    time: Timestamp,
    most: usize,
) -> Result<Vec<Line>> {
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
pub(in crate::moderation) async fn moderators_of(
    visit: &mut Visit,
    lines: Vec<Line>,
) -> Result<Vec<(ShownModerator, Action)>> {
    let entries = show(visit, lines).await?;
    Ok(entries.into_iter().map(|entry| (entry.moderator, entry.action)).collect())
}

/// Some lines before one, and whether there are more. Rounds: 2.
async fn read_chunk(visit: &mut Visit, before: Option<ModerationId>) -> Result<(Vec<Line>, bool)> {
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
async fn lines_of(visit: &mut Visit, ids: &[ModerationId]) -> Result<Vec<Line>> {
    let lines = ids.iter().map(|id| Line::by_id(*id).or_absent()).collect::<Vec<_>>();
    let lines = visit.fetch_if_needed(lines).await?;
    let lines = ids.iter().zip(lines).filter_map(|(id, line)| {
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
    /// The subject of a line.
    fn of(thing: &Thing, sees: Sees) -> Boxed<'static, Self> {
        let shown = move |state: PostState<'_>| sees.what_is_hidden || state.is_public();
        let of = move |story: Option<&News>, post: PostState<'_>| Self {
            title: story.filter(|story| shown(story.state())).map(|story| story.title.clone()),
            author: shown(post).then_some(post.author),
            is_missing: post.deleted,
        };
        let of_story = move |story: News| of(Some(&story), story.state());
        let of_comment = move |stored: StoredComment| of(Some(&stored.news), stored.comment.state());
        let of_tweet = move |tweet: Tweet| of(None, tweet.state());
        let found = match thing {
            Thing::Story(id) => News::by_id(*id).map(move |found| found.map(of_story)).boxed(),
            Thing::Comment(address) => {
                StoredComment::at(*address).map(move |found| found.ok().map(of_comment)).boxed()
            }
            Thing::Tweet(id) => Tweet::by_id(*id).map(move |found| found.map(of_tweet)).boxed(),
            _ => read::known(Some(Self::default())).boxed(),
        };
        let missing = || Self { is_missing: true, ..Self::default() };
        found.or_absent().map(move |found| found.unwrap_or_else(missing)).boxed()
    }
}

/// The story that a merge was into.
fn merged_into(line: &Line) -> Option<NewsId> {
    line.before.as_deref().filter(|_| line.action == Action::Merge)?.parse().ok()
}

/// The lines as the viewer may see them: with names and titles. Rounds: 2; 3 for moderators, 4 with batches.
async fn show(visit: &mut Visit, lines: Vec<Line>) -> Result<Vec<LogEntry>> {
    let sees = Sees::of(visit).await?;
    let subjects = lines.iter().map(|line| LineSubject::of(&line.thing, sees)).collect::<Vec<_>>();
    let targets: Vec<_> = lines.iter().filter_map(merged_into).collect();
    let titles = targets.iter().map(|id| LineSubject::of(&Thing::Story(*id), sees)).collect::<Vec<_>>();
    let (subjects, titles) = visit.fetch_if_needed((subjects, titles)).await?;
    let targets: HashMap<_, _> =
        targets.into_iter().zip(titles.into_iter().map(|story| story.title)).collect();
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
            _ if line.moderator == SIGN_IN_SERVICE => ShownModerator::SignInService,
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
        let into = merged_into(&line).map(|id| (id, targets.get(&id).cloned().flatten()));
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
            into,
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
pub async fn entry(visit: &mut Visit, id: ModerationId) -> Result<LogEntry> {
    let line = read_line(&visit.site_too(), id).await?;
    show(visit, vec![line]).await?.pop().ok_or_else(|| Refusal::NoSuchModeration.into())
}

/// The line that the viewer wrote with an action that has just been done, by its number; `None` for the number of
/// any other line. Rounds: 4.
///
/// # Errors
/// The store's.
pub async fn just_written(visit: &mut Visit, id: ModerationId) -> Result<Option<LogEntry>> {
    let Some(viewer) = visit.recognise().await?.filter(|viewer| viewer.role() >= Role::Moderator) else {
        return Ok(None);
    };
    let (viewer, now) = (viewer.id, visit.now());
    let line = visit.fetch(Line::by_id(id)).await?;
    let is_recent = |line: &Line| line.time <= now && now.seconds_since(line.time) < NOTICE_SECONDS;
    let line = line.filter(|line| line.moderator == viewer && is_recent(line));
    let Some(line) = line else { return Ok(None) };
    Ok(show(visit, vec![line]).await?.pop())
}
