//! The one way in which moderators act: an effect and its line in the log, in one batch.

use super::log::UNDONE_BY;
use super::row::ActedRow;
use super::{Case, Line, ModerationRequest, batches, changes, effect_of, log};
use crate::accounts::{Holder, Message};
use crate::audit::{AUDIT, COMMAND_LINE};
use crate::contributions::erasing::place_of;
use crate::contributions::{Contribution, author_of, excerpt};
use crate::review::WaitingRows;
use crate::values::{
    Action, ActionFacts, Deed, InputError, ModerationId, Moment, Reason, Thing, UserId, decapitalized,
};
use crate::{CountedAction, Decision, Refusal, Result, Role, Site, User, keys};
use tidings_keyspace::read;
use tidings_language::{Phrase, t};

/// Does what a moderator asks for. Returns the number of the line in the log.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`]; [`InputError::Empty`] without a reason where one is needed;
/// [`Refusal::ActionDoesNotApply`]; [`Refusal::RowChanged`]; the refusals of the action; or the
/// store's.
pub async fn moderate(
    site: &Site,
    now: Moment,
    moderator: &User,
    request: &ModerationRequest,
) -> Result<ModerationId> {
    act(site, now, moderator, request, None).await
}

/// Does to a post of another what an administrator asks for with a call that knows no moderation, such
/// as `POST /api/delnews`. Returns the number of the line in the log; `None` if the user is no
/// administrator, or the post is their own or does not exist. Rounds: 1, and those of [`moderate`]; none
/// for others.
///
/// # Errors
/// Those of [`moderate`].
pub async fn moderate_as_administrator(
    site: &Site,
    now: Moment,
    user: &User,
    (thing, deed): (&Thing, Deed),
) -> Result<Option<ModerationId>> {
    if user.role() < Role::Administrator {
        return Ok(None);
    }
    let author = author_of(site, thing).await?;
    if author.is_none_or(|author| author == user.id) {
        return Ok(None);
    }
    let reason = Reason::parse(t!("by an administrator"))?;
    let request = ModerationRequest::new(deed, thing.clone(), reason);
    user.once(site, moderate(site, now, user, &request)).await.map(Some)
}

/// Undoes an action, by an action with a line of its own. Returns the number of that line.
///
/// # Errors
/// [`Refusal::NoSuchModeration`], [`Refusal::UndoneAlready`], [`Refusal::CannotBeUndone`],
/// [`Refusal::ChangedSince`] if what it changed has changed again, and those of [`moderate`]. Of a batch, all parts are
/// undone that can be; it is refused if none can.
pub async fn undo(
    site: &Site,
    now: Moment,
    moderator: &User,
    (id, reason, anonymous): (ModerationId, &Reason, bool),
) -> Result<ModerationId> {
    moderator.demand_may_moderate(now)?;
    let line = log::read_line(site, id).await?;
    if let Some(by) = line.undone_by {
        return Err(Refusal::UndoneAlready(by).into());
    }
    if line.parts.is_empty() {
        undo_line((site, now), moderator, &line, (reason, anonymous)).await
    } else {
        batches::undo((site, now), moderator, &line, (reason, anonymous)).await
    }
}

/// Undoes a line that is no batch and was read.
pub(super) async fn undo_line(
    (site, now): (&Site, Moment),
    moderator: &User,
    line: &Line,
    (reason, anonymous): (&Reason, bool),
) -> Result<ModerationId> {
    if let Some(by) = line.undone_by {
        return Err(Refusal::UndoneAlready(by).into());
    }
    let deed = line.inverse().ok_or(Refusal::CannotBeUndone)?;
    let request =
        ModerationRequest { deed, thing: line.thing.clone(), reason: reason.clone(), anonymous, seen: None };
    act(site, now, moderator, &request, Some(line)).await
}

/// One batch: the effect, the line, the message to the person whom it concerns, and the mark on
/// the line that it ends. All moderators compete for the number of the next line.
async fn act(
    site: &Site,
    now: Moment,
    moderator: &User,
    request: &ModerationRequest,
    undoes: Option<&Line>,
) -> Result<ModerationId> {
    moderator.demand_may_moderate(now)?;
    let ModerationRequest { deed, thing, reason, anonymous, .. } = request;
    if reason.is_empty() && !deed.action().facts().needs_no_reason {
        return Err(InputError::Empty { field: "reason" }.into());
    }
    let repeatable = moderator.request.as_ref();
    let acted = site.act(keys::MODERATION_COUNT, || async {
        let (id, moderator, holder) = read_start(site, now, moderator.id).await?;
        moderator.demand_may_moderate(now)?;
        if deed.action().facts().is_of_administrators {
            moderator.require_admin()?;
        }
        let row = ActedRow::read(site, request).await?;
        let case = Case {
            site,
            now,
            moderator: &moderator,
            id,
            deed,
            thing,
            reason,
            anonymous: *anonymous,
            undoes,
            row: &row,
        };
        let still = match undoes {
            Some(line) => Some(changes::demand_standing((site, now.timestamp()), line).await?),
            None => None,
        };
        let effect = effect_of(&case).await?;
        let mut batch = effect.batch;
        if let Some(still) = still {
            still(&mut batch);
        }
        // Of two administrators who take each other's role, one is too late.
        holder.check(&mut batch);
        let ends = undoes.map(|line| line.id).or(effect.ends);
        if let Some(ended) = ends.filter(|_| !case.may_end_all()) {
            case.demand_may_end(&log::read_line(site, ended).await?).await?;
        }
        let row_before = row.write(&mut batch, &case, ends).await?;
        if let Some(ended) = ends {
            batch.field_absent(keys::moderation(ended), UNDONE_BY);
            batch.set_field(keys::moderation(ended), UNDONE_BY, id.to_string());
        }
        let facts = deed.action().facts();
        let subject = row.subject().filter(|_| !facts.is_private);
        let concerns = effect.concerns.or_else(|| subject.map(Contribution::author));
        let text = effect.message.or_else(|| sentence_about(&case, subject?));
        if let (Some(person), Some(text)) = (concerns, text) {
            let text = with_answer(site, (deed, thing, id), &text);
            let text = format!("{}{}", headline(&case, subject), text.trim_start());
            Message::read(site, person).await?.write(&mut batch, now, &text);
        }
        let reason = match effect.reason {
            _ if facts.is_private => String::new(),
            Some(reason) => reason,
            None => reason.to_string(),
        };
        let line = Line {
            anonymous: *anonymous,
            undoes: ends,
            until: effect.until,
            count: effect.count,
            in_progress: effect.in_progress,
            concerns,
            before: effect.before,
            changed: effect.changed,
            row: row_before,
            ..Line::new(id, (now.timestamp(), moderator.id), (deed.action(), thing.clone(), reason))
        };
        line.write(&mut batch);
        let decision = Decision::commit(batch, (id, effect.then));
        match thing {
            // The answer to a new rule or ban has its number.
            Thing::Rule(rule) if undoes.is_none() && deed.action() == Action::Rule => {
                decision.once(repeatable, &(*rule, id))
            }
            Thing::Origin(ban) if undoes.is_none() && deed.action() == Action::Bar => {
                decision.once(repeatable, &(*ban, id))
            }
            _ => decision.once(repeatable, &id),
        }
    });
    let (id, then) = acted.await?;
    site.of::<WaitingRows>().forget();
    then.into_iter().for_each(|begin| begin(site));
    site.count(CountedAction::Moderation);
    let through = site.is_for_command.then_some(COMMAND_LINE);
    let (by, action, thing) = (&*moderator.username, deed.action().to_string(), thing.to_string());
    tracing::info!(target: AUDIT, by, through, action, thing, line = id.0, "moderated");
    Ok(id)
}

/// The message to an author about an action on what they have written, if the declaration of the action tells them.
fn sentence_about(case: &Case<'_>, subject: &Contribution) -> Option<String> {
    let ActionFacts { told, about, .. } = case.deed.action().facts();
    told(case.thing)?;
    let reason = case.reason.as_str();
    let Some(about) = about(case.thing) else { return Some(reason.to_owned()) };
    let words = match subject {
        Contribution::Story(story) => story.title.clone(),
        Contribution::Comment(stored) => excerpt(&stored.comment.body),
        Contribution::Tweet(tweet) => excerpt(&tweet.text),
        Contribution::Profile(_) => String::new(),
    };
    let place = place_of(case.thing);
    let sentence = Phrase::new(about).with("title", &words).with("excerpt", &words).with("place", place);
    Some(match reason {
        "" => sentence.to_string(),
        reason => t!("{sentence}: {reason}", sentence, reason).to_string(),
    })
}

/// The first line of a message: what happened, after the title of the story that it is about, and an empty line. The inbox names
/// the story of a comment, if it is there then.
fn headline(case: &Case<'_>, subject: Option<&Contribution>) -> String {
    let Some(told) = (case.deed.action().facts().told)(case.thing) else { return String::new() };
    let title = match subject {
        Some(Contribution::Story(story)) => Some(&story.title),
        _ => None,
    };
    // The message about an erasure names nothing of it.
    let title = title.filter(|_| !matches!(case.deed, Deed::Erase(_)));
    match title {
        Some(title) => format!("{}\n\n", t!("“{title}”: {event}", title, event = decapitalized(told))),
        None => format!("{told}\n\n"),
    }
}

/// The message to a person about an action: also where to appeal, if the action takes something from them, or
/// else where to write to the moderators about it.
fn with_answer(site: &Site, (deed, thing, line): (&Deed, &Thing, ModerationId), text: &str) -> String {
    if matches!(thing, Thing::Message(_)) {
        return text.to_owned();
    }
    let more = if deed.action().can_be_appealed(thing) {
        t!("You can appeal against this: {address}", address = format!("{}/appeal/{line}", site.address))
    } else {
        let address = format!("{}/moderators?moderation_id={line}", site.address);
        t!("You can answer: {address}", address)
    };
    format!("{text}\n\n{more}")
}

/// Reads what each attempt begins with: the number of the next line, and the acting moderator as they are now, also for
/// checks of the batch. Rounds: 1.
async fn read_start(site: &Site, now: Moment, moderator: UserId) -> Result<(ModerationId, User, Holder)> {
    let (line, hash) = site.store.fetch((log::next_id(), read::hash(keys::user(moderator)))).await?;
    let moderator = User::from_hash(&hash).ok_or(Refusal::SessionEnded)?;
    let moderator = moderator.acting(&site.rules, now.timestamp());
    let holder = Holder::of(moderator.id, &hash);
    Ok((line, moderator, holder))
}
