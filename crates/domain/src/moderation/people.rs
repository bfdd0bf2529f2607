//! What is done to a person: silence, posts that wait, roles.

use super::effect::{Case, Effect};
use crate::accounts::users::{MODERATOR_FLAG, User};
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::values::clock::Timestamp;
use crate::values::day;
use crate::values::moderation::Hours;
use crate::values::restriction::{Restriction, RestrictionKind};
use tidings_keyspace::{Hash, Query};

/// A person as stored.
pub(super) struct Person {
    pub(super) user: User,
    pub(super) hash: Hash,
}

impl Person {
    /// The field of a restriction as it is stored.
    fn stored(&self, kind: RestrictionKind) -> Option<&str> {
        self.hash.get(kind.field())
    }
}

/// The person with a name, whom the moderator may moderate. Rounds: 2.
pub(super) async fn read_person(case: &Case<'_>, name: &str) -> Result<Person, Error> {
    let mut query = Query::new();
    let id = query.string(keys::username_to_id(name));
    let id = case.site.store.query(query).await?.take(id);
    let id = fields::read_string(id.as_deref(), || keys::username_to_id(name));
    let mut query = Query::new();
    let hash = query.hash(keys::user(id.ok_or(Refusal::NoSuchUser)?));
    let hash = case.site.store.query(query).await?.take(hash);
    let user = User::from_hash(&hash).ok_or(Refusal::NoSuchUser)?;
    case.demand_power_over(&user)?;
    Ok(Person { user, hash })
}

/// Restricts a person. A restriction of the same kind is replaced.
pub(super) async fn restrict(
    case: &Case<'_>,
    name: &str,
    kind: RestrictionKind,
    hours: Hours,
) -> Result<Effect, Error> {
    let person = read_person(case, name).await?;
    // The undo of a lift restores what was lifted.
    let earlier = case.undoes.and_then(|line| line.before.as_deref()?.parse::<Restriction>().ok());
    let now = case.now.timestamp();
    let end = match (earlier, hours) {
        (Some(earlier), _) => earlier.until,
        (None, hours) => hours.map(|hours| Timestamp(now.0 + hours * 3_600)),
    };
    let restriction = Restriction { until: end, moderation: case.id, reason: case.reason.as_str().into() };
    let (key, before) = (keys::user(person.user.id), person.stored(kind).map(str::to_owned));
    let mut effect = Effect { concerns: Some(person.user.id), until: end, ..Effect::default() };
    effect.batch.field_unchanged(&key, kind.field(), before.as_deref());
    effect.batch.set_field(key, kind.field(), restriction.to_string());
    let lasts = end.map_or_else(
        || "until a moderator lifts it".to_owned(),
        |end| format!("until {}", day::to_the_minute(end)),
    );
    effect.message = match kind {
        RestrictionKind::Silence => Some(format!(
            "A moderator has silenced you {lasts}: you can read and vote, and nothing else. {}",
            case.reason
        )),
        RestrictionKind::Hold => {
            Some(format!("What you post waits for a moderator's approval, {lasts}. {}", case.reason))
        }
        RestrictionKind::Ban | RestrictionKind::Discount => None,
    };
    effect.before = before;
    Ok(effect)
}

/// Lifts a restriction.
pub(super) async fn lift(case: &Case<'_>, name: &str, kind: RestrictionKind) -> Result<Effect, Error> {
    let person = read_person(case, name).await?;
    let in_force = person.user.restrictions.in_force(kind, case.now.timestamp());
    let restriction = in_force.ok_or(Refusal::NothingToModerate("no such restriction is in force"))?;
    let key = keys::user(person.user.id);
    let mut effect = Effect { concerns: Some(person.user.id), ..Effect::default() };
    effect.batch.field_unchanged(&key, kind.field(), person.stored(kind));
    effect.batch.delete_field(key, kind.field());
    effect.ends = Some(restriction.moderation);
    effect.before = person.stored(kind).map(str::to_owned);
    Ok(effect)
}

/// Makes a person a moderator, or no longer one.
pub(super) async fn set_moderator(case: &Case<'_>, name: &str, makes: bool) -> Result<Effect, Error> {
    case.demand_administrator()?;
    let person = read_person(case, name).await?;
    if person.user.flags.moderator == makes {
        let is = if makes { "this person is a moderator already" } else { "this person is no moderator" };
        return Err(Refusal::NothingToModerate(is).into());
    }
    let old = person.hash.get("flags").unwrap_or_default();
    let new = if makes { format!("{old}{MODERATOR_FLAG}") } else { old.replace(MODERATOR_FLAG, "") };
    let key = keys::user(person.user.id);
    let mut effect = Effect { concerns: Some(person.user.id), ..Effect::default() };
    effect.batch.field_unchanged(&key, "flags", person.hash.get("flags"));
    effect.batch.set_field(key, "flags", new);
    let now = if makes { "You are a moderator now." } else { "You are no longer a moderator." };
    effect.message = Some(format!("{now} {}", case.reason));
    Ok(effect)
}
