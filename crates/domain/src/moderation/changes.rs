//! The facts that an action changed. Its line stores each with the value before and what tells the value after it
//! again. So an undo never overwrites what came later, and is offered only where it can work.

use super::keep::DELETED;
use super::{Case, Effect, Line, log, origin_changes, rule_changes, site_changes};
use crate::accounts::Flags;
use crate::accounts::applications::REJECTED;
use crate::accounts::message_threads::CLOSED_BY;
use crate::accounts::users::DEACTIVATED;
use crate::error::ModeratedFact;
use crate::identity::{ANNOUNCEMENT, SIGNUPS_STOPPED, YOUNG_HELD};
use crate::news::item::{EDITED, LOCKED, Lock};
use crate::values::{
    Action, LOG_LINES_SCANNED, ModerationId, OriginBan, REMOVED, RemovedBy, Restriction, RestrictionKind,
    SavedReason, SavedReasons, Thing, Timestamp, UserId, WITHHELD, Withheld,
};
use crate::{NothingToDo, Refusal, Result, Role, Site, User, Visit, keys};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Fetch, read};

/// Hexadecimal digits that tell a value again: 128 bits.
const DIGEST_DIGITS: usize = 32;

/// The value of [`FactPart::Presence`].
pub(super) const PRESENT: &str = "1";

/// A part of a field that is a fact of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FactPart {
    /// A letter of a text.
    Letter(char),
    /// A text of a JSON object.
    Member(String),
    /// One of the saved reasons, by its number.
    Reason(u64),
    /// That there is anything.
    Presence,
    /// The line that removed a post.
    RemovedBy,
    /// Why a post or a profile is withheld. That flags hide it is no decision, and counts as nothing.
    State,
    /// The same of a comment.
    CommentState,
}

/// A fact that an action changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangedFact {
    key: String,
    field: String,
    /// The part of the field, if it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<FactPart>,
    /// The value before; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The digest that tells the value after it again; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl ChangedFact {
    /// A change of a field. An empty value is none.
    pub(super) fn of_field(
        key: impl Into<String>,
        field: impl Into<String>,
        (before, after): (Option<&str>, Option<&str>),
    ) -> Self {
        let before = before.filter(|before| !before.is_empty()).map(str::to_owned);
        Self { key: key.into(), field: field.into(), part: None, before, after: digest(after) }
    }

    /// A change of a part of a field. The values are those of the part.
    pub(super) fn of_part(
        key: impl Into<String>,
        (field, part): (impl Into<String>, FactPart),
        values: (Option<&str>, Option<&str>),
    ) -> Self {
        Self { part: Some(part), ..Self::of_field(key, field, values) }
    }

    /// That a letter of a field was set, or taken away.
    pub(super) fn of_letter(key: &str, field: &str, letter: char, is_set: bool) -> Self {
        let text = letter.to_string();
        let [before, after] = [!is_set, is_set].map(|is_there| is_there.then_some(&*text));
        Self::of_part(key, (field, FactPart::Letter(letter)), (before, after))
    }

    /// A change of why something is withheld. A person is known by the number.
    pub(super) fn of_state(
        thing: &Thing,
        person: Option<UserId>,
        (before, after): (Option<&Withheld>, Option<&Withheld>),
    ) -> Option<Self> {
        let (key, comment) = record_of(thing, person)?;
        let part = if comment.is_some() { FactPart::CommentState } else { FactPart::State };
        let field = comment.unwrap_or_else(|| WITHHELD.to_owned());
        let [before, after] = [before, after].map(|state| state.map(Withheld::to_string));
        let after = after.filter(|state| !is_flagged(state));
        Some(Self::of_part(key, (field, part), (before.as_deref(), after.as_deref())))
    }

    /// That a line has removed something. A person is known by the number.
    pub(super) fn of_removal(thing: &Thing, person: Option<UserId>, line: ModerationId) -> Option<Self> {
        let (key, comment) = record_of(thing, person)?;
        let field = comment.unwrap_or_else(|| REMOVED.to_owned());
        Some(Self::of_part(key, (field, FactPart::RemovedBy), (None, Some(&line.to_string()))))
    }

    /// The same fact where it is now: removals had records of their own up to layout 13.
    pub(super) fn at_its_place(self) -> Self {
        let thing = self.key.strip_prefix(keys::OLD_WITHDRAWN).and_then(|thing| thing.parse::<Thing>().ok());
        let place =
            thing.and_then(|thing| Self::of_removal(&thing, thing.id().parse().ok(), ModerationId(0)));
        match place {
            Some(Self { key, field, part, .. }) => Self { key, field, part, ..self },
            None => self,
        }
    }

    /// The field of the hash.
    pub(super) fn field(&self) -> &str {
        &self.field
    }

    /// Whether it is why something is withheld.
    pub(super) const fn is_of_state(&self) -> bool {
        matches!(self.part, Some(FactPart::State | FactPart::CommentState))
    }

    /// The value before; `None` if there was none.
    pub(super) fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Reads the field of the hash.
    fn read(&self) -> impl Fetch<Value = Option<String>> + use<> {
        read::field(&*self.key, &*self.field)
    }

    /// The value of the fact in a field.
    fn value(&self, field: Option<&str>) -> Option<String> {
        let member = |name: &str| {
            let object: serde_json::Value = serde_json::from_str(field?).ok()?;
            object.get(name)?.as_str().map(str::to_owned)
        };
        let value = match &self.part {
            None => field.map(str::to_owned),
            Some(FactPart::Presence) => field.map(|_| PRESENT.to_owned()),
            Some(FactPart::RemovedBy) => {
                let removed = member(REMOVED).or_else(|| field.map(str::to_owned));
                removed.and_then(|removed| removed.parse::<RemovedBy>().ok()).map(|by| by.line.to_string())
            }
            Some(FactPart::Letter(letter)) => field?.contains(*letter).then(|| letter.to_string()),
            Some(FactPart::Member(name)) => member(name),
            Some(FactPart::Reason(id)) => reason_json(&reasons_of(field), *id),
            Some(FactPart::State) => field.filter(|state| !is_flagged(state)).map(str::to_owned),
            Some(FactPart::CommentState) => member(WITHHELD).filter(|state| !is_flagged(state)),
        };
        value.filter(|value| !value.is_empty())
    }

    /// Whether the value is still the one that the action left.
    fn stands(&self, field: Option<&str>) -> bool {
        digest(self.value(field).as_deref()) == self.after
    }

    /// The whole field once the value before is back.
    fn restored(&self, field: Option<&str>) -> Option<String> {
        match self.part {
            Some(FactPart::Reason(id)) => {
                let reasons = reasons_of(field);
                let reason = self.before().and_then(|json| serde_json::from_str::<SavedReason>(json).ok());
                let reasons = reason.map_or_else(|| reasons.without(id), |reason| reasons.with(reason));
                (reasons != SavedReasons::default()).then(|| reasons.to_json())
            }
            _ => self.before.clone(),
        }
    }

    fn is_at_place_of(&self, other: &Self) -> bool {
        (&self.key, &self.field, &self.part) == (&other.key, &other.field, &other.part)
    }

    /// Its name in a refusal.
    fn what(&self) -> ModeratedFact {
        match (&self.part, &*self.field) {
            (Some(FactPart::Letter(_)), _) => ModeratedFact::Role,
            (Some(FactPart::Member(_)), _) => ModeratedFact::Text,
            (Some(FactPart::Reason(_)), _) => ModeratedFact::SavedReason,
            (_, "title") => ModeratedFact::Title,
            (_, "topics") => ModeratedFact::Topics,
            (_, "url") => ModeratedFact::UrlOrText,
            (_, EDITED) => ModeratedFact::EditNote,
            (_, LOCKED) => ModeratedFact::Lock,
            (_, ANNOUNCEMENT) => ModeratedFact::Announcement,
            (_, SIGNUPS_STOPPED) => ModeratedFact::Signups,
            (_, YOUNG_HELD) => ModeratedFact::YoungPosts,
            (_, REJECTED | DEACTIVATED) => ModeratedFact::Application,
            (_, CLOSED_BY) => ModeratedFact::Messages,
            _ if self.key == keys::RULES => ModeratedFact::Rule,
            _ if self.key == keys::ORIGIN_BANS => ModeratedFact::OriginBan,
            (_, field) => match RestrictionKind::ALL.into_iter().find(|kind| kind.field() == field) {
                Some(RestrictionKind::Ban) => ModeratedFact::Ban,
                Some(RestrictionKind::Silence) => ModeratedFact::Silence,
                Some(RestrictionKind::Hold) => ModeratedFact::Hold,
                Some(RestrictionKind::Discount) => ModeratedFact::Votes,
                None => ModeratedFact::Other,
            },
        }
    }

    /// When a value ends by itself, if it does.
    fn end_of(&self, value: &str) -> Option<Timestamp> {
        if self.key == keys::ORIGIN_BANS {
            return OriginBan::from_json(self.field.parse().ok()?, value)?.until;
        }
        if self.key == keys::SITE {
            return site_changes::end_of_measure(&self.field, value);
        }
        let is_restriction = RestrictionKind::ALL.iter().any(|kind| kind.field() == self.field);
        value.parse::<Restriction>().ok().filter(|_| is_restriction)?.until
    }

    /// Whether the value that an undo would put back has ended.
    fn has_ended(&self, now: Timestamp) -> bool {
        let end = self.before().filter(|_| self.after.is_none()).and_then(|before| self.end_of(before));
        end.is_some_and(|end| end <= now)
    }
}

/// The hash of a post or a person, who is known by the number, and the field of it that a comment is.
fn record_of(thing: &Thing, person: Option<UserId>) -> Option<(String, Option<String>)> {
    Some(match thing {
        Thing::Story(id) => (keys::news(*id), None),
        Thing::Comment(at) => (keys::thread(at.news), Some(at.comment.to_string())),
        Thing::Tweet(id) => (keys::tweet(*id), None),
        Thing::User(_) => (keys::user(person?), None),
        _ => return None,
    })
}

fn digest(value: Option<&str>) -> Option<String> {
    let mut digest = hex::encode(Sha256::digest(value.filter(|value| !value.is_empty())?));
    digest.truncate(DIGEST_DIGITS);
    Some(digest)
}

fn is_flagged(state: &str) -> bool {
    Withheld::stored(state).is_flagged()
}

fn reasons_of(field: Option<&str>) -> SavedReasons {
    field.and_then(SavedReasons::from_json).unwrap_or_default()
}

/// One of some reasons as JSON.
pub(super) fn reason_json(reasons: &SavedReasons, id: u64) -> Option<String> {
    serde_json::to_string(reasons.all().iter().find(|reason| reason.id == id)?).ok()
}

/// The facts of a line that was written before lines had them, as far as they follow from the rest of it.
pub(super) fn of_older_line(line: &Line) -> Vec<ChangedFact> {
    let before = line.before.as_deref();
    let change = match (&line.action, &line.thing) {
        // Nothing was taken away: its author had deleted it.
        (Action::Remove, _) if before == Some(DELETED) => None,
        (Action::Remove | Action::Merge, post) if post.is_post() => {
            ChangedFact::of_removal(post, line.concerns, line.id)
        }
        (Action::Lock, Thing::Story(id)) => {
            let lock = Lock { moderation: line.id, reason: line.reason.as_str().into() };
            Some(ChangedFact::of_field(keys::news(*id), LOCKED, (None, Some(&lock.to_string()))))
        }
        (Action::Unrule, Thing::Rule(id)) => {
            Some(ChangedFact::of_field(keys::RULES, id.to_string(), (before, None)))
        }
        (Action::Unbar, Thing::Origin(id)) => {
            Some(ChangedFact::of_field(keys::ORIGIN_BANS, id.to_string(), (before, None)))
        }
        _ => of_older_restriction(line, before),
    };
    change.into_iter().collect()
}

fn of_older_restriction(line: &Line, before: Option<&str>) -> Option<ChangedFact> {
    let kind = line.action.facts().restriction?;
    // An action that takes something from somebody puts it on.
    let is_lifted = !line.action.facts().can_be_appealed;
    let after = Restriction { until: line.until, moderation: line.id, reason: line.reason.as_str().into() };
    let after = (!is_lifted).then(|| after.to_string());
    Some(ChangedFact::of_field(keys::user(line.concerns?), kind.field(), (before, after.as_deref())))
}

impl Effect {
    /// Changes a field of a hash, unless it has changed since it was read, and notes that in the line.
    pub(super) fn change(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        (before, after): (Option<&str>, Option<&str>),
    ) {
        let (key, field) = (key.into(), field.into());
        write(&mut self.batch, (&key, &field), (before, after));
        self.changed.push(ChangedFact::of_field(key, field, (before, after)));
    }
}

fn write(batch: &mut Batch, (key, field): (&str, &str), (before, after): (Option<&str>, Option<&str>)) {
    batch.field_unchanged(key, field, before);
    match after {
        Some(after) => batch.set_field(key, field, after),
        None => batch.delete_field(key, field),
    }
}

/// Puts back what a line changed, where that is all that its action did.
pub(super) async fn put_back(case: &Case<'_>) -> Result<Effect> {
    let line = case.undoes.filter(|line| !line.changed.is_empty()).ok_or(Refusal::CannotBeUndone)?;
    let fields = line.changed.iter().map(ChangedFact::read).collect::<Vec<_>>();
    let fields = case.site.store.fetch(fields.or_absent()).await?;
    let mut effect = Effect { concerns: line.concerns, ..Effect::default() };
    for (change, field) in line.changed.iter().zip(fields) {
        let back = change.restored(field.as_deref());
        if let Some(back) = &back {
            effect.until = effect.until.or(change.end_of(back));
            match &*change.key {
                keys::RULES => rule_changes::demand_admissible(case, &change.field, back).await?,
                keys::ORIGIN_BANS => {
                    origin_changes::demand_admissible(case, &mut effect.batch, (&change.field, back)).await?;
                }
                _ => {}
            }
        }
        write(&mut effect.batch, (&change.key, &change.field), (field.as_deref(), back.as_deref()));
        let value = change.value(field.as_deref());
        effect.changed.push(ChangedFact { before: value, after: digest(change.before()), ..change.clone() });
    }
    Ok(effect)
}

/// Refuses to undo a line whose facts have changed since, and says by which line. Adds to the batch of the undo
/// that they still stand. Rounds: 1; for a refusal at most 12.
pub(super) async fn demand_standing(
    (site, now): (&Site, Timestamp),
    line: &Line,
) -> Result<impl FnOnce(&mut Batch) + Send + use<>> {
    let fields: Vec<_> = line.changed.iter().map(ChangedFact::read).collect();
    let fields = site.store.fetch(fields.or_absent()).await?;
    for (change, field) in line.changed.iter().zip(&fields) {
        if !change.stands(field.as_deref()) {
            let by = changed_by(site, line, change).await?;
            return Err(Refusal::ChangedSince { what: change.what(), by }.into());
        }
        Refusal::NothingToModerate(NothingToDo::WouldHaveEnded).when(change.has_ended(now))?;
    }
    Refusal::NothingToModerate(NothingToDo::Ended).when(has_ended(line, now))?;
    // A comment is one field with its votes, which the effect itself checks, as it does who removed a tweet.
    let whole: Vec<(String, String, Option<String>)> = line
        .changed
        .iter()
        .zip(fields)
        .filter(|(change, _)| {
            !matches!(change.part, Some(FactPart::Member(_) | FactPart::CommentState | FactPart::RemovedBy))
        })
        .map(|(change, field)| (change.key.clone(), change.field.clone(), field))
        .collect();
    Ok(move |batch: &mut Batch| {
        for (key, field, value) in whole {
            batch.field_unchanged(key, field, value);
        }
    })
}

/// Whether the decision of a line has ended by itself.
pub(super) fn has_ended(line: &Line, now: Timestamp) -> bool {
    line.until.is_some_and(|until| until <= now)
}

/// The last line that changed a fact after another, among the next [`LOG_LINES_SCANNED`]. Rounds: at most 11.
async fn changed_by(site: &Site, line: &Line, change: &ChangedFact) -> Result<Option<ModerationId>> {
    if change.is_of_state() {
        // A job may have removed it, whose line is about its author.
        if let Some(removal) = ChangedFact::of_removal(&line.thing, line.concerns, line.id) {
            let by = site.store.fetch(removal.read().or_absent()).await?;
            let by: Option<ModerationId> = removal.value(by.as_deref()).and_then(|by| by.parse().ok());
            if let Some(by) = by.filter(|by| *by > line.id) {
                return Ok(Some(by));
            }
        }
    }
    let (mut same_place, mut same_thing) = (None, None);
    let (mut after, mut scanned) = (line.id.0, 0);
    while scanned < LOG_LINES_SCANNED {
        let (lines, last) = log::lines_after(site, after).await?;
        let Some(last) = last else { break };
        for later in &lines {
            if later.changed.iter().any(|other| other.is_at_place_of(change)) {
                same_place = Some(later.id);
            } else if later.thing.key() == line.thing.key() && !later.changed.is_empty() {
                same_thing = Some(later.id);
            }
        }
        (after, scanned) = (last.0, scanned + lines.len().max(1) as u64);
    }
    Ok(same_place.or(same_thing))
}

/// The lines that the viewer could undo now, of some that are about something that is still there. Rounds: 1, none
/// for those who do not moderate.
pub(super) async fn undoable(visit: &mut Visit, lines: &[&Line]) -> Result<HashSet<ModerationId>> {
    let Some(viewer) = visit.recognise().await?.filter(|viewer| viewer.role() >= Role::Moderator) else {
        return Ok(HashSet::new());
    };
    let (viewer, now) = (viewer.clone(), visit.now());
    let open = |line: &&&Line| line.undone_by.is_none() && line.inverse().is_some() && !has_ended(line, now);
    let open: Vec<&Line> = lines.iter().filter(open).copied().collect();
    if open.is_empty() {
        return Ok(HashSet::new());
    }
    let changes = |line: &&Line| line.changed.iter().map(ChangedFact::read).collect::<Vec<_>>().or_absent();
    let people = open.iter().flat_map(|line| line.concerns.into_iter().chain([line.moderator]));
    let people: HashSet<UserId> = people.collect();
    let role = |id: &UserId| {
        let (id, fields) = (*id, read::fields(keys::user(*id), ["flags", DEACTIVATED]).or_absent());
        fields.map(move |[flags, left]: [Option<String>; 2]| {
            let role = Flags::parse(&flags.unwrap_or_default()).given_role;
            (id, left.is_none().then_some(role))
        })
    };
    let reads = (open.iter().map(changes).collect::<Vec<_>>(), people.iter().map(role).collect::<Vec<_>>());
    let (fields, roles) = visit.fetch(reads).await?;
    let roles: Roles = roles.into_iter().collect();
    let stand = open.into_iter().zip(fields).filter(|(line, fields)| {
        let mut changes = line.changed.iter().zip(fields);
        changes.all(|(change, field)| change.stands(field.as_deref()) && !change.has_ended(now))
            && may_undo(&viewer, line, &roles)
    });
    Ok(stand.map(|(line, _)| line.id).collect())
}

/// The roles that people were given; `None` for those who have left.
type Roles = HashMap<UserId, Option<Role>>;

/// Whether somebody's role lets them undo a line about what is still there.
fn may_undo(viewer: &User, line: &Line, roles: &Roles) -> bool {
    let known = |id| roles.get(&id).copied().flatten();
    let role_of = |id| known(id).unwrap_or_default();
    if matches!(line.thing, Thing::User(_)) && line.concerns.is_some_and(|person| known(person).is_none()) {
        return false;
    }
    let is_own = match &line.thing {
        Thing::User(name) => name.eq_ignore_ascii_case(&viewer.username),
        _ => line.concerns == Some(viewer.id),
    };
    if is_own || line.concerns.is_some_and(|person| role_of(person) > viewer.role()) {
        return false;
    }
    let is_higher = line.moderator != viewer.id && role_of(line.moderator) == Role::Administrator;
    viewer.role() == Role::Administrator || !(is_higher || line.action.facts().is_of_administrators)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stands_until_its_value_is_another() {
        let whole = ChangedFact::of_field("news:7", "title", (Some("a"), Some("b")));
        assert!(whole.stands(Some("b")) && !whole.stands(Some("a")) && !whole.stands(None));
        let none = ChangedFact::of_field("news:7", "topics", (Some("a"), None));
        assert!(none.stands(None) && none.stands(Some("")) && !none.stands(Some("a")));
        let letter = ChangedFact::of_part("user:2", ("flags", FactPart::Letter('m')), (None, Some("m")));
        assert!(letter.stands(Some("km")) && !letter.stands(Some("k")));
        let text =
            ChangedFact::of_part("thread:1", ("1", FactPart::Member("body".into())), (Some("a"), Some("b")));
        assert!(text.stands(Some(r#"{"body":"b","up":[1]}"#)) && !text.stands(Some(r#"{"body":"a"}"#)));
    }

    #[test]
    fn flags_are_no_decision() {
        let thing = Thing::Story(crate::values::ids::NewsId(7));
        let kept = ChangedFact::of_state(&thing, None, (Some(&Withheld::Flagged), None)).unwrap();
        assert!(kept.stands(None) && kept.stands(Some("flagged:")) && !kept.stands(Some("removed:x")));
        assert_eq!(kept.before(), Some("flagged:"));
    }

    #[test]
    fn a_change_is_stored_without_the_value_after_it() {
        let change = ChangedFact::of_field("site", "announcement", (Some("a"), Some("a secret")));
        let json = serde_json::to_string(&change).unwrap();
        assert!(!json.contains("secret"), "{json}");
        assert_eq!(serde_json::from_str::<ChangedFact>(&json).unwrap(), change);
    }

    #[test]
    fn what_would_have_ended_is_not_put_back() {
        let lifted = ChangedFact::of_field("user:2", "silenced", (Some("100:7:spam"), None));
        assert!(!lifted.has_ended(Timestamp(99)) && lifted.has_ended(Timestamp(100)));
        let other = ChangedFact::of_field("news:2", "title", (Some("100:7:spam"), None));
        assert!(!other.has_ended(Timestamp(100)));
    }
}
