//! Appeals: the person whom a decision concerns writes once, and another moderator than the first
//! answers.
//!
//! Keys: `appeal:<moderation id>`.

use super::changes::{demand_standing, has_ended};
use super::log::UNDONE_BY;
use super::{Case, Effect, Line, effect_of, log, told};
use crate::accounts::log_in::{self, Credentials, Identified};
use crate::accounts::roles;
use crate::accounts::two_factor::second_step::Proof;
use crate::fields::StoredFields;
use crate::values::{Action, AppealText, ModerationId, Moment, Thing, Timestamp, UserId};
use crate::{NothingToDo, Refusal, Result, Role, Site, User, Visit, keys, review};
use std::net::IpAddr;
use tidings_keyspace::{Batch, Fetch, Hash, read};
use tidings_language::t;

/// The field with the line that decided about an appeal.
const DECIDED_BY: &str = "decided_by";
/// The field that says whether it was granted.
const GRANTED: &str = "granted";

/// An appeal as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appeal {
    /// The person who appeals.
    pub user_id: UserId,
    /// When.
    pub time: Timestamp,
    /// The text.
    pub text: String,
    /// The line that decided about it; `None` while it waits.
    pub decided_by: Option<ModerationId>,
    /// Whether it was granted.
    pub granted: bool,
}

impl Appeal {
    /// The appeal against the decision of a line, if there is one.
    pub(super) fn against(id: ModerationId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::appeal(id)).map(move |hash| Self::from_hash(id, &hash))
    }

    /// Reads an appeal; `None` when there is none.
    fn from_hash(id: ModerationId, hash: &Hash) -> Option<Self> {
        if hash.is_empty() {
            return None;
        }
        let fields = StoredFields::new(hash, || keys::appeal(id));
        Some(Self {
            user_id: fields.read("user_id")?,
            time: Timestamp(fields.read("time")?),
            text: fields.text("text").unwrap_or_default().to_owned(),
            decided_by: fields.read(DECIDED_BY),
            granted: fields.text(GRANTED) == Some("1"),
        })
    }
}

/// Appeals against a decision. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchModeration`], [`Refusal::NotYourDecision`], [`Refusal::UndoneAlready`],
/// [`Refusal::NothingToModerate`] when it has ended by itself, [`Refusal::AppealedAlready`]; or
/// the store's.
pub async fn appeal(
    site: &Site,
    now: Moment,
    appellant: &User,
    id: ModerationId,
    text: &AppealText,
) -> Result<()> {
    write(site, now, (appellant, None), (id, text)).await
}

/// Writes an appeal. The proof of somebody without a session is used up in the same batch.
async fn write(
    site: &Site,
    now: Moment,
    (appellant, proof): (&User, Option<&Proof>),
    (id, text): (ModerationId, &AppealText),
) -> Result<()> {
    let key = keys::appeal(id);
    site.act(&key, || async {
        let line = log::read_line(site, id).await?;
        demand_appealable(&line, appellant.id, now.timestamp())?;
        let mut batch = Batch::new();
        let first = batch.key_absent(&key);
        batch.field_absent(keys::moderation(id), UNDONE_BY);
        let fields = [
            ("user_id", appellant.id.to_string()),
            ("time", now.timestamp().to_string()),
            ("text", text.as_str().to_owned()),
        ];
        batch.set_fields(&key, fields);
        review::enqueue(&mut batch, &Thing::Appeal(id), now.timestamp());
        if let Some(proof) = proof {
            proof.write(&mut batch, appellant.id);
        }
        let decision = appellant.decide(batch, (), &())?;
        Ok(decision.if_rejected_by(first, Err(Refusal::AppealedAlready.into())))
    })
    .await
}

/// The same for somebody who cannot log in, with what a login takes: the password, and a code if the account has a
/// second factor. A wrong one counts as a failed login.
///
/// # Errors
/// As [`appeal`], those of a login, and [`Refusal::CodeRequired`].
pub async fn appeal_without_session(
    site: &Site,
    now: Moment,
    (typed, address): (&Credentials<'_>, IpAddr),
    (id, text): (ModerationId, &AppealText),
) -> Result<()> {
    let Identified { user, proof } = log_in::identify((site, now.timestamp()), typed, address).await?;
    write(site, now, (&user, Some(&proof)), (id, text)).await
}

/// Whether somebody can appeal against a decision.
fn demand_appealable(line: &Line, appellant: UserId, now: Timestamp) -> Result<(), Refusal> {
    if line.concerns != Some(appellant) || !line.action.can_be_appealed(&line.thing) {
        return Err(Refusal::NotYourDecision);
    }
    if let Some(by) = line.undone_by {
        return Err(Refusal::UndoneAlready(by));
    }
    Refusal::NothingToModerate(NothingToDo::Ended).when(line.until.is_some_and(|until| until <= now))?;
    Ok(())
}

/// A decision for the person whom it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionFacts {
    /// The line of the log.
    pub id: ModerationId,
    /// When.
    pub time: Timestamp,
    /// The action.
    pub action: Action,
    /// The thing that it was done to.
    pub thing: Thing,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// The appeal against it, if there is one.
    pub appeal: Option<Appeal>,
    /// Why one cannot appeal against it, if there is no appeal.
    pub refusal: Option<Refusal>,
}

/// A decision about the viewer. Rounds: 1.
///
/// # Errors
/// [`Refusal::NoSuchModeration`]; [`Refusal::NotYourDecision`] for a decision about somebody else;
/// or the store's.
pub async fn decision_about(visit: &mut Visit, viewer: UserId, id: ModerationId) -> Result<DecisionFacts> {
    let (line, appeal) = visit.fetch((Line::by_id(id), Appeal::against(id))).await?;
    let line = line.ok_or(Refusal::NoSuchModeration)?;
    Refusal::NotYourDecision.when(line.concerns != Some(viewer))?;
    let refusal = demand_appealable(&line, viewer, visit.now()).err();
    let Line { time, action, thing, reason, until, .. } = line;
    Ok(DecisionFacts { id, time, action, thing, reason, until, appeal, refusal })
}

/// The decision that an appeal which waits is against, and who appeals.
struct OpenAppeal {
    decision: Line,
    appellant: User,
}

/// Reads an appeal that waits, and refuses who must not decide about it. Rounds: 2, and more if
/// an administrator decides about an appeal against their own decision.
async fn read_waiting(case: &Case<'_>, id: ModerationId) -> Result<OpenAppeal> {
    let (appeal, line) = case.site.store.fetch((Appeal::against(id), Line::by_id(id))).await?;
    let (appeal, decision) = appeal.zip(line).ok_or(Refusal::NoSuchAppeal)?;
    if let Some(by) = appeal.decided_by {
        return Err(Refusal::AppealDecided(by).into());
    }
    let appellant = case.site.store.fetch(User::by_id(appeal.user_id)).await?;
    let appellant = appellant.ok_or(Refusal::NoSuchUser)?;
    case.demand_power_over(&appellant)?;
    if decision.moderator == case.moderator.id {
        demand_alone(case, &appellant).await?;
    }
    Ok(OpenAppeal { decision, appellant })
}

/// Refuses a moderator who decides about an appeal against their own decision, unless it is an
/// administrator and nobody else could.
async fn demand_alone(case: &Case<'_>, appellant: &User) -> Result<()> {
    let is_administrator = case.moderator.is_administrator();
    let role = appellant.given_role().max(Role::Moderator);
    let others = [case.moderator.id, appellant.id];
    if !is_administrator
        || roles::somebody_else(case.site, case.now.timestamp(), role, &others).await?.is_some()
    {
        return Err(Refusal::AppealAgainstOneself.into());
    }
    Ok(())
}

/// Marks an appeal as decided in the batch of an effect, and tells who has appealed.
fn close(case: &Case<'_>, effect: &mut Effect, (id, waiting): (ModerationId, &OpenAppeal), granted: bool) {
    let key = keys::appeal(id);
    effect.batch.set_field(&key, GRANTED, u8::from(granted).to_string());
    // Its line is about the appeal: undoing that must not undo the decision twice.
    (effect.before, effect.changed) = (None, Vec::new());
    effect.change(key, DECIDED_BY, (None, Some(&case.id.to_string())));
    review::settle(&mut effect.batch, &Thing::Appeal(id));
    effect.concerns = Some(waiting.appellant.id);
    let id = id.to_string();
    let what = if granted {
        t!(
            "Your appeal against entry {id} of the moderation log was granted: the decision has been undone.",
            id
        )
    } else {
        t!("Your appeal against entry {id} of the moderation log was rejected.", id)
    };
    effect.tells(told(what, case.reason));
}

/// Grants an appeal: undoes the decision, in the same batch.
pub(super) async fn grant(case: &Case<'_>, id: ModerationId) -> Result<Effect> {
    let waiting = read_waiting(case, id).await?;
    let decision = &waiting.decision;
    let now = case.now.timestamp();
    let mut effect = if decision.undone_by.is_some() || has_ended(decision, now) {
        // Nothing is left to undo: a moderator has lifted it, or it has ended.
        Effect::default()
    } else {
        let deed = decision.inverse().ok_or(Refusal::CannotBeUndone)?;
        let still = demand_standing((case.site, now), decision).await?;
        let inner = Case { deed: &deed, thing: &decision.thing, undoes: Some(decision), ..*case };
        let mut effect = Box::pin(effect_of(&inner)).await?;
        still(&mut effect.batch);
        effect.ends = Some(id);
        effect
    };
    close(case, &mut effect, (id, &waiting), true);
    Ok(effect)
}

/// Rejects an appeal: the decision stays.
pub(super) async fn reject(case: &Case<'_>, id: ModerationId) -> Result<Effect> {
    let waiting = read_waiting(case, id).await?;
    let mut effect = Effect::default();
    close(case, &mut effect, (id, &waiting), false);
    Ok(effect)
}

/// Undoes the rejection of an appeal: it waits again. A granted one is not taken back: the
/// decision can be made anew.
pub(super) async fn reopen(case: &Case<'_>, id: ModerationId) -> Result<Effect> {
    let key = keys::appeal(id);
    let appeal = case.site.store.fetch(Appeal::against(id)).await?.ok_or(Refusal::NoSuchAppeal)?;
    let decided_by = appeal.decided_by.ok_or(Refusal::NothingToModerate(NothingToDo::AppealWaits))?;
    Refusal::CannotBeUndone.when(appeal.granted || case.undoes.is_none_or(|line| line.id != decided_by))?;
    let appellant = case.site.store.fetch(User::by_id(appeal.user_id)).await?;
    case.demand_power_over(&appellant.ok_or(Refusal::NoSuchUser)?)?;
    let mut effect = Effect { concerns: Some(appeal.user_id), ..Effect::default() };
    effect.batch.field_equals(&key, DECIDED_BY, decided_by.to_string());
    effect.batch.delete_field(&key, DECIDED_BY);
    effect.batch.delete_field(&key, GRANTED);
    review::enqueue(&mut effect.batch, &Thing::Appeal(id), appeal.time);
    effect.tells(told(t!("Your appeal will be reviewed again."), case.reason));
    Ok(effect)
}

/// The answer to an appeal, for a mail to who has appealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppealAnswer {
    /// The person who has appealed.
    pub to: User,
    /// Whether the appeal was granted.
    pub granted: bool,
    /// Why.
    pub reason: String,
}

/// The answer to an appeal that was just decided; `None` if it waits, or if who has appealed has
/// no address or gets the message in the inbox by mail anyway. Rounds: 2.
pub async fn answer_to_mail(site: &Site, id: ModerationId) -> Result<Option<AppealAnswer>> {
    let Some(appeal) = site.store.fetch(Appeal::against(id)).await? else { return Ok(None) };
    let Some(line) = appeal.decided_by else { return Ok(None) };
    let (to, decided) = site.store.fetch((User::by_id(appeal.user_id), Line::by_id(line))).await?;
    let reason = decided.map(|line| line.reason).unwrap_or_default();
    let to = to.filter(|user| user.notice_address().is_some() && !user.gets_replies_by_mail());
    Ok(to.map(|to| AppealAnswer { to, granted: appeal.granted, reason }))
}
