//! The log of moderation: `moderation:log` and `moderation:<id>`. Lines are only added; the line
//! of an action that was undone says by which other line.

mod shown;

pub use self::shown::{LogEntry, LogPage, LogWindow, ShownModerator, entry, just_written, page};
pub(super) use self::shown::{moderators_of, since};

use super::group_roles::SIGN_IN_SERVICE;
use super::remove_all::POSTS;
use super::{ChangedFact, changes};
use crate::action::Logging;
use crate::fields::{self, StoredFields};
use crate::review::QueuePlace;
use crate::values::{
    Action, CommentAddress, Deed, Malformed, ModerationId, SitePart, Thing, Timestamp, Undo, UserId,
    Withheld, read_text, shown,
};
use crate::{Refusal, Result, Site, hooks, keys};
use tidings_keyspace::{Batch, Fetch, Hash, Order, read};

/// Stands for the name of somebody who has left long ago. No name has a blank.
pub(super) const FORMER: &str = "a former member";
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

shown!(SettledRow: |row| format_args!("{}:{}:{}", row.place.weight, row.place.since, u8::from(row.is_hidden)));

read_text!(SettledRow or Malformed: |stored| {
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
    /// The line of an action, without what only some actions have.
    pub(super) fn new(
        id: ModerationId,
        (time, moderator): (Timestamp, UserId),
        (action, thing, reason): (Action, Thing, String),
    ) -> Self {
        Self {
            id,
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
        }
    }

    /// The line with a number, if it exists.
    pub(super) fn by_id(id: ModerationId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::moderation(id)).map(move |hash| Self::from_hash(id, &hash))
    }

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
            moderator: match fields.text("moderator")? {
                "0" => SIGN_IN_SERVICE,
                _ => fields.read("moderator")?,
            },
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
        let last = self.id.0 - 1;
        batch.string_unchanged(keys::MODERATION_COUNT, (last > 0).then(|| last.to_string()));
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
            hooks::write(batch, &hooks::Event::Decision(self.id));
        }
        batch.sorted_add(keys::MODERATION_LOG, self.id.to_string(), self.id.0 as f64);
    }
}

/// Adds the line of a moderator who speaks as such in a comment. Rounds: 1. Errors: those of the store.
pub fn write_speaking<'a>(
    site: &'a Site,
    batch: &'a mut Batch,
    (time, moderator): (Timestamp, UserId),
    comment: CommentAddress,
) -> Logging<'a> {
    let speaks = (Action::Speak, Thing::Comment(comment), String::new());
    Box::pin(write_line(site, batch, (time, moderator), speaks))
}

/// Adds the line of an administrator who has changed a part of the site in this way. Rounds: 1. Errors: those of the store.
pub fn write_site_change<'a>(
    site: &'a Site,
    batch: &'a mut Batch,
    by: (Timestamp, UserId),
    (action, part, what): (Action, SitePart, String),
) -> Logging<'a> {
    Box::pin(write_line(site, batch, by, (action, Thing::Site(part), what)))
}

/// Adds the line of something that is written by its own wing and that nobody undoes here.
async fn write_line(
    site: &Site,
    batch: &mut Batch,
    (time, moderator): (Timestamp, UserId),
    (action, thing, reason): (Action, Thing, String),
) -> Result<()> {
    let id = site.store.fetch(next_id()).await?;
    Line::new(id, (time, moderator), (action, thing, reason)).write(batch);
    Ok(())
}

/// Lines that [`lines_after`] reads.
const LINES: u64 = 200;

/// Some lines after one, and the last of them. Rounds: 2.
pub(super) async fn lines_after(site: &Site, after: u64) -> Result<(Vec<Line>, Option<ModerationId>)> {
    let scores = (after as f64 + 1.0, f64::INFINITY);
    let ids = read::sorted_by_score(keys::MODERATION_LOG, Order::Ascending, scores, LINES);
    let ids = site.store.fetch(ids).await?;
    let ids: Vec<ModerationId> = fields::members(ids, keys::MODERATION_LOG, |(id, _)| id.parse().ok());
    let Some(last) = ids.last().copied() else { return Ok((Vec::new(), None)) };
    let lines = site.store.fetch(ids.into_iter().map(Line::by_id).collect::<Vec<_>>()).await?;
    Ok((lines.into_iter().flatten().collect(), Some(last)))
}

/// The number of the next line.
pub(super) fn next_id() -> impl Fetch<Value = ModerationId> {
    fields::counter(keys::MODERATION_COUNT).map(|last| ModerationId(last + 1))
}

/// A line by its number. Rounds: 1.
pub(super) async fn read_line(site: &Site, id: ModerationId) -> Result<Line> {
    Ok(site.store.fetch(Line::by_id(id)).await?.ok_or(Refusal::NoSuchModeration)?)
}
