//! Actions on a person: silence, posts that wait, bans, warnings, roles.

use super::{Case, ChangedFact, Effect, bans};
use crate::accounts::roles;
use crate::accounts::users::MODERATOR_FLAG;
use crate::contributions::person_named;
use crate::values::{Hours, Reason, Restriction, RestrictionKind, day};
use crate::{NothingToDo, Refusal, Result, User, keys};
use std::fmt::Display;
use tidings_keyspace::Hash;
use tidings_language::{p, t};

/// A person as stored.
pub(super) struct StoredPerson {
    pub(super) user: User,
    pub(super) hash: Hash,
}

impl StoredPerson {
    /// The field of a restriction as it is stored.
    fn stored(&self, kind: RestrictionKind) -> Option<&str> {
        self.hash.get(kind.field())
    }
}

/// The person with a name, whom the moderator may moderate. Rounds: 2.
pub(super) async fn read_person(case: &Case<'_>, name: &str) -> Result<StoredPerson> {
    let (user, hash) = person_named(case.site, name).await?;
    case.demand_power_over(&user)?;
    Ok(StoredPerson { user, hash })
}

/// The kind of restriction that the action puts on a person, or lifts.
fn kind_of(case: &Case<'_>) -> Result<RestrictionKind, Refusal> {
    case.deed.action().facts().restriction.ok_or_else(|| case.does_not_apply())
}

/// The restriction that an undo brings back.
fn earlier(case: &Case<'_>, kind: RestrictionKind) -> Option<Restriction> {
    case.undoes?.changed_from(kind.field())??.parse().ok()
}

/// Restricts a person. A restriction of the same kind is replaced. A ban also ends the sessions.
pub(super) async fn restrict(case: &Case<'_>, name: &str, hours: Hours) -> Result<Effect> {
    let (kind, person) = (kind_of(case)?, read_person(case, name).await?);
    // The undo of a lift restores what was lifted.
    let restriction = match earlier(case, kind) {
        Some(earlier) => Restriction { moderation: case.id, ..earlier },
        None => case.restriction(hours),
    };
    let mut effect = Effect { until: restriction.until, ..Effect::default() };
    effect.message = Some(message_about(kind, &restriction));
    replace(case, &mut effect, &person, kind, Some(&restriction));
    if kind == RestrictionKind::Ban {
        bans::end_sessions(case.site, &mut effect.batch, person.user.id).await?;
    }
    Ok(effect)
}

/// The message to a person about a restriction.
fn message_about(kind: RestrictionKind, restriction: &Restriction) -> String {
    let what = match (kind, restriction.until.map(day::to_the_minute)) {
        (RestrictionKind::Silence, Some(time)) => {
            p!("A moderator has silenced you until {time}: you can only read and vote.", time)
        }
        (RestrictionKind::Silence, None) => {
            p!("A moderator has silenced you until further notice: you can only read and vote.")
        }
        (RestrictionKind::Hold, Some(time)) => {
            p!("Your posts need a moderator's approval until {time}.", time)
        }
        (RestrictionKind::Hold, None) => p!("Your posts need a moderator's approval until further notice."),
        (RestrictionKind::Ban, Some(time)) => p!("A moderator has banned you until {time}.", time),
        (RestrictionKind::Ban, None) => p!("A moderator has banned you until further notice."),
        (RestrictionKind::Discount, Some(time)) => p!("Your votes do not count until {time}.", time),
        (RestrictionKind::Discount, None) => p!("Your votes do not count until further notice."),
    };
    format!("{what} {}", restriction.reason)
}

/// The message to a person that a restriction is over before its time.
fn lifted(kind: RestrictionKind) -> &'static str {
    match kind {
        RestrictionKind::Silence => t!("A moderator has lifted your silence: you can post again."),
        RestrictionKind::Hold => t!("Your posts no longer need a moderator's approval."),
        RestrictionKind::Ban => t!("A moderator has lifted your ban."),
        RestrictionKind::Discount => t!("Your votes count again."),
    }
}

/// Adds to an effect that a restriction is replaced, unless it has changed since it was read;
/// `None` ends it.
fn replace(
    case: &Case<'_>,
    effect: &mut Effect,
    person: &StoredPerson,
    kind: RestrictionKind,
    restriction: Option<&Restriction>,
) {
    let key = keys::user(person.user.id);
    effect.batch.field_unchanged(&key, "flags", person.hash.get("flags"));
    let after = restriction.map(Restriction::to_string);
    effect.change(key, kind.field(), (person.stored(kind), after.as_deref()));
    if matches!(kind, RestrictionKind::Ban | RestrictionKind::Discount) {
        bans::follow_with_votes(case, effect, &person.user, (kind, restriction));
    }
}

/// Lifts a restriction. If that undoes one which had replaced another, the other is back.
pub(super) async fn lift(case: &Case<'_>, name: &str) -> Result<Effect> {
    let (kind, person) = (kind_of(case)?, read_person(case, name).await?);
    let now = case.now.timestamp();
    let in_force = person.user.restrictions.in_force(kind, now);
    let restriction = in_force.ok_or(Refusal::NothingToModerate(NothingToDo::NoSuchRestriction))?;
    let replaced = earlier(case, kind).filter(|replaced| replaced.is_in_force(now));
    let message = match &replaced {
        Some(replaced) => message_about(kind, replaced),
        None => told(lifted(kind), case.reason),
    };
    let ends = Some(restriction.moderation);
    let mut effect = Effect { ends, message: Some(message), ..Effect::default() };
    replace(case, &mut effect, &person, kind, replaced.as_ref());
    Ok(effect)
}

/// Warns a person: a message in the inbox.
pub(super) async fn warn(case: &Case<'_>, name: &str) -> Result<Effect> {
    read_person(case, name).await?;
    let message = t!("A moderator has warned you: {reason}", reason = case.reason.as_str());
    Ok(Effect { message: Some(message.to_string()), ..Effect::default() })
}

/// Makes a person a moderator, or no longer one.
pub(super) async fn set_moderator(case: &Case<'_>, name: &str, makes: bool) -> Result<Effect> {
    let person = read_person(case, name).await?;
    let flags = person.hash.get("flags").unwrap_or_default();
    let is_moderator = flags.contains(MODERATOR_FLAG);
    if is_moderator == makes {
        let is = if makes { NothingToDo::ModeratorAlready } else { NothingToDo::NotAModerator };
        return Err(Refusal::NothingToModerate(is).into());
    }
    let new = if makes { format!("{flags}{MODERATOR_FLAG}") } else { flags.replace(MODERATOR_FLAG, "") };
    let key = keys::user(person.user.id);
    let mut effect = Effect::default();
    effect.batch.field_unchanged(&key, "flags", person.hash.get("flags"));
    roles::write_role_password(&mut effect.batch, person.user.id, [flags, &new]);
    effect.changed.push(ChangedFact::of_letter(&key, "flags", MODERATOR_FLAG, makes));
    effect.batch.set_field(key, "flags", new);
    let now = if makes { t!("You are now a moderator.") } else { t!("You are no longer a moderator.") };
    effect.tells(told(now, case.reason));
    Ok(effect)
}

/// A sentence for a person, with the reason that a moderator gave.
pub(super) fn told(what: impl Display, reason: &Reason) -> String {
    if reason.is_empty() { what.to_string() } else { format!("{what} {reason}") }
}
