//! Flags: readers ask moderators to look at a story, a comment, a tweet or a profile.
//!
//! A flag is no vote, and its author is told to nobody but moderators. Each flag weighs by how
//! often the person's earlier flags were upheld, and half before the person is trusted. A thing with
//! enough flags is hidden until a moderator looks at it: a state of the thing itself
//! (`Withheld::Flagged`), which the reading side filters for each reader. From the first flag on, the
//! thing has a row in the review queue.
//!
//! Keys: `flags:<thing>`, `user:<id>:flags` and `user:<id>:flag_outcomes`. Moderators' actions
//! decide flags (`ThingFlags::decide`), and their undo takes that back (`ThingFlags::reopen`).

mod erasing;
mod of_thing;

pub(crate) use erasing::{erase, erase_note, forget, forget_person};
pub(crate) use of_thing::{LEFT_HIDDEN, ThingFlags};

use crate::accounts::trust;
use crate::review::WaitingRows;
use crate::values::{
    DECIDED_FLAGS, Flag, FlagNote, FlagReason, MAX_FLAGS, Moment, NewsId, NewsUrl, RatedAction, Thing,
    UserId, Weight, Withheld,
};
use crate::{Actor, Contribution, CountedAction, Decision, News, Refusal, Result, Site, User, Visit, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// The reason and the note of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flagging {
    /// Why.
    pub reason: FlagReason,
    /// For moderators. A duplicate's is the link or the number of the other story.
    pub note: FlagNote,
}

/// Flags something. Rounds: at most 4.
///
/// # Errors
/// [`Refusal::TooManyRequests`]; [`Refusal::ReasonDoesNotFit`];
/// [`Refusal::DuplicateOfWhat`]; those of things that are not there; [`Refusal::OwnFlag`];
/// [`Refusal::FlaggedAlready`]; [`Refusal::FlaggedEnough`]; or the store's.
pub async fn flag(
    site: &Site,
    now: Moment,
    actor: Actor<'_>,
    (thing, flagging): (&Thing, &Flagging),
) -> Result<()> {
    actor.spend(site, now, RatedAction::Flag).await?;
    let now = now.timestamp();
    actor.user.demand_may_post(now)?;
    let rules = &site.rules.moderation;
    if !FlagReason::of(thing).contains(&flagging.reason) {
        return Err(Refusal::ReasonDoesNotFit { reason: flagging.reason, thing: thing.clone() }.into());
    }
    if flagging.reason == FlagReason::Duplicate {
        demand_other_story(site, actor.user, thing, &flagging.note).await?;
    }
    let home = keys::flags(thing);
    let flagged = site.act(&home, || async {
        let subject = Contribution::read(site, thing).await?;
        subject.demand_shown()?;
        Refusal::OwnFlag.when(subject.author() == actor.id)?;
        let reads = (ThingFlags::on(thing.clone()), weight_of_next(actor.id));
        let (mut flags, weight) = site.store.fetch(reads).await?;
        let weight = if trust::is_trusted(site, now, actor.user) { weight } else { weight.half() };
        Refusal::FlaggedAlready.when(flags.of(actor.id).is_some())?;
        Refusal::FlaggedEnough.when(flags.count() >= MAX_FLAGS)?;
        let Flagging { reason, note } = flagging;
        let flag = Flag { reason: *reason, time: now, weight, decided: None, note: note.as_str().into() };
        let mut batch = Batch::new();
        flags.add(&mut batch, (actor.id, flag), now);
        batch.sorted_add(keys::user_flags(actor.id), thing.key(), now.as_score());
        let hides = rules.hide_at > 0 && flags.weight() >= rules.hide_at * Weight::ONE.0;
        if hides && subject.withheld().is_none() {
            subject.withhold(&mut batch, site, now, Some(Withheld::Flagged));
        }
        actor.decide(batch, (), &())
    });
    flagged.await?;
    site.count(CountedAction::Flag);
    site.of::<WaitingRows>().forget();
    Ok(())
}

/// Takes a flag back. A thing that flags have hidden stays hidden, and in the review queue, until a
/// moderator looks at it. Rounds: at most 4.
///
/// # Errors
/// [`Refusal::TooManyRequests`], [`Refusal::NoSuchFlag`], [`Refusal::FlagDecided`], or the
/// store's.
pub async fn unflag(site: &Site, now: Moment, actor: Actor<'_>, thing: &Thing) -> Result<()> {
    actor.spend(site, now, RatedAction::Flag).await?;
    let now = now.timestamp();
    let home = keys::flags(thing);
    let unflagged = site.act(&home, || async {
        let mut flags = site.store.fetch(ThingFlags::on(thing.clone())).await?;
        let flag = flags.of(actor.id).ok_or(Refusal::NoSuchFlag)?;
        Refusal::FlagDecided.when(!flag.waits())?;
        let subject = Contribution::find(site, thing).await?;
        let mut batch = Batch::new();
        let is_hidden =
            subject.as_ref().is_some_and(|subject| subject.withheld().is_some_and(Withheld::is_flagged));
        flags.remove(&mut batch, actor.id, now, is_hidden);
        batch.sorted_remove(keys::user_flags(actor.id), thing.key());
        Decision::commit(batch, ()).once(actor.request.as_ref(), &())
    });
    unflagged.await?;
    site.of::<WaitingRows>().forget();
    Ok(())
}

/// How often each reason is given by the flags of a thing that no moderator has decided yet, the most frequent first.
/// Rounds: 1.
pub async fn waiting(site: &Site, thing: &Thing) -> Result<Vec<(FlagReason, u64)>> {
    Ok(site.store.fetch(ThingFlags::on(thing.clone())).await?.reasons())
}

/// The facts for a viewer who wants to flag something. Rounds: at most 4.
pub struct FlagFacts {
    /// The text of the thing, for the page that asks for the reason; `None` if the viewer does not see it.
    pub text: Option<String>,
    /// The viewer's flag, if there is one.
    pub own: Option<Flag>,
    /// Why the viewer cannot flag it.
    pub refusal: Option<Refusal>,
}

/// Reads the facts for a viewer who wants to flag something. Rounds: at most 4.
///
/// # Errors
/// Those of things that are not there, or the store's.
pub async fn facts(visit: &mut Visit, thing: &Thing) -> Result<FlagFacts> {
    let site = visit.site_too();
    let subject = Contribution::read(&site, thing).await?;
    subject.demand_shown()?;
    let announced = match &subject {
        Contribution::Tweet(tweet) => tweet.news_id,
        _ => None,
    };
    let (flags, announced) = visit.fetch((ThingFlags::on(thing.clone()), announced.map(News::by_id))).await?;
    let viewer = visit.viewer().await?;
    let own = viewer.and_then(|viewer| flags.of(viewer.id)).cloned();
    let refusal = viewer.and_then(|viewer| {
        let is_own = subject.author() == viewer.id;
        is_own.then_some(Refusal::OwnFlag)
    });
    visit.reader().await?;
    let perspective = visit.perspective();
    // A post that announces a story has its title.
    let is_seen = announced.flatten().is_none_or(|news| perspective.may_act_on(&news));
    let text = subject.text_for(perspective, visit.now()).filter(|_| is_seen);
    Ok(FlagFacts { text, own, refusal })
}

/// Refuses a duplicate of nothing, of itself, or of a story that is not there. Rounds: at most 1.
async fn demand_other_story(site: &Site, person: &User, thing: &Thing, note: &FlagNote) -> Result<()> {
    let Some(other) = other_story(note.as_str()) else {
        // A link to somewhere else is as good: moderators can follow it.
        return NewsUrl::parse(note.as_str()).map(|_| ()).map_err(|_| Refusal::DuplicateOfWhat.into());
    };
    Refusal::DuplicateOfWhat.when(*thing == Thing::Story(other))?;
    let news = site.store.fetch(News::by_id(other)).await?;
    match news {
        Some(news) if !news.deleted && news.state().is_known_to(person) => Ok(()),
        _ => Err(Refusal::DuplicateOfWhat.into()),
    }
}

/// The story that a number, or a link to its page, names.
fn other_story(note: &str) -> Option<NewsId> {
    if let Ok(id) = note.trim_start_matches('#').parse() {
        return Some(id);
    }
    let (_, after) = note.split_once("/news/")?;
    after.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// How much the next flag of a person weighs, by how earlier ones were decided.
fn weight_of_next(person: UserId) -> impl Fetch<Value = Weight> {
    decided_flags(person).map(|(upheld, rejected)| Weight::by_history(upheld, rejected))
}

/// How many of a person's last flags moderators have upheld, and how many rejected.
pub(crate) fn decided_flags(person: UserId) -> impl Fetch<Value = (u64, u64)> {
    let outcomes = keys::user_flag_outcomes(person);
    read::sorted_range(outcomes, Order::Descending, 0, DECIDED_FLAGS).map(|outcomes| {
        let count = |sign| outcomes.iter().filter(|(member, _)| member.starts_with(sign)).count() as u64;
        (count(of_thing::UPHELD), count(of_thing::REJECTED))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_names_the_other_story() {
        for (note, story) in [
            ("7", Some(7)),
            ("#7", Some(7)),
            ("https://example.com/news/12", Some(12)),
            ("/news/12?page=2#comment-3", Some(12)),
            ("https://example.com/", None),
            ("the other one", None),
            ("/news/", None),
            ("0", None),
        ] {
            assert_eq!(other_story(note), story.map(NewsId), "{note}");
        }
    }
}
