//! Batches: one action on several people is one line of the log, with a line for each part.
//!
//! The line of the batch is written after its parts, and names them. Undoing it undoes each part with the function that
//! undoes a single line, and is a batch itself. If a batch fails half-way, its lines are parts of nothing, and a repeat
//! does the rest.

use super::act::undo_line;
use super::log::{PART_OF, UNDONE_BY};
use super::{Line, log};
use crate::values::{Action, ModerationId, Moment, Reason, SitePart, Thing, Timestamp};
use crate::{Decision, Error, KeptAnswer, Refusal, Result, Site, User, keys};
use tidings_keyspace::Batch;

/// The line of a batch that is to be written.
pub(super) struct NewBatch<'a> {
    pub(super) action: Action,
    /// On how many people.
    pub(super) people: u64,
    pub(super) reason: &'a str,
    pub(super) anonymous: bool,
    pub(super) until: Option<Timestamp>,
    /// The lines of its parts, at least one.
    pub(super) parts: &'a [ModerationId],
    /// The batch that it undoes.
    pub(super) undoes: Option<ModerationId>,
}

impl NewBatch<'_> {
    /// Writes the line, and names it in each part. Returns its number. The request of the moderator is answered with
    /// what `answer` makes of the number.
    pub(super) async fn write<A: KeptAnswer>(
        &self,
        (site, now): (&Site, Moment),
        moderator: &User,
        answer: impl Fn(ModerationId) -> A,
    ) -> Result<ModerationId> {
        let (now, moderator_id, request) = (now.timestamp(), moderator.id, moderator.request.as_ref());
        let answer = &answer;
        site.act(keys::MODERATION_COUNT, || async move {
            let id = site.store.fetch(log::next_id()).await?;
            let about = (self.action, Thing::Site(SitePart::People), self.reason.to_owned());
            let line = Line {
                anonymous: self.anonymous,
                undoes: self.undoes,
                until: self.until,
                count: Some(self.people),
                parts: self.parts.to_vec(),
                ..Line::new(id, (now, moderator_id), about)
            };
            let mut batch = Batch::new();
            line.write(&mut batch);
            let mut name_in = |id: ModerationId, field: &str| {
                batch.field_absent(keys::moderation(id), field);
                batch.set_field(keys::moderation(id), field, line.id.to_string());
            };
            self.parts.iter().for_each(|part| name_in(*part, PART_OF));
            if let Some(undone) = self.undoes {
                name_in(undone, UNDONE_BY);
            }
            let decision = Decision::commit(batch, line.id);
            decision.once(request, &answer(line.id))
        })
        .await
    }
}

/// Undoes the parts of a batch that can be undone, the last one first. Returns the number of the line of the undo.
/// Rounds: those of an undo for each part.
pub(super) async fn undo(
    (site, now): (&Site, Moment),
    moderator: &User,
    batch: &Line,
    (reason, anonymous): (&Reason, bool),
) -> Result<ModerationId> {
    let mut part_of_request = moderator.clone();
    let request = part_of_request.request.take();
    let (mut done, mut refusal, mut people) = (Vec::new(), None, Vec::new());
    for id in batch.parts.iter().rev() {
        let line = log::read_line(site, *id).await?;
        part_of_request.request = request.as_ref().map(|all| all.part(&id.to_string()));
        let user = &part_of_request;
        let undoing = undo_line((site, now), user, &line, (reason, anonymous));
        match user.once(site, undoing).await {
            Ok(undone) => {
                done.push((undone, line.inverse().map(|deed| deed.action())));
                if !people.contains(&line.thing) {
                    people.push(line.thing);
                }
            }
            Err(Error::Refused(refused)) => refusal = refusal.or(Some(refused)),
            Err(error) => return Err(error),
        }
    }
    // The first part, such as a ban, was undone last, and gives the batch its name.
    let Some((_, action)) = done.last() else {
        return Err(refusal.unwrap_or(Refusal::CannotBeUndone).into());
    };
    let action = action.unwrap_or(batch.action);
    let is_private = matches!(action, Action::Note | Action::Unnote);
    let lines: Vec<ModerationId> = done.iter().map(|(id, _)| *id).collect();
    let undo = NewBatch {
        action,
        people: people.len() as u64,
        reason: if is_private { "" } else { reason.as_str() },
        anonymous,
        until: None,
        parts: &lines,
        undoes: Some(batch.id),
    };
    undo.write((site, now), moderator, |id| id).await
}
