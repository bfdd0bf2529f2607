//! Editing comments.

use super::{Case, ChangedFact, Effect, FactPart};
use crate::comments::notify::CommentNotice;
use crate::contributions::erasing::place_of;
use crate::contributions::{Contribution, excerpt};
use crate::post_state::Moderated;
use crate::values::{Body, Timestamp};
use crate::{Comment, NothingToDo, Refusal, Result, keys, records};
use tidings_language::t;
use tidings_text::stored_text::StoredText;

/// Replaces the text of a comment. Inboxes follow its mentions, as they do when its author edits it. The line of
/// the log has the former text, for the undo.
pub(super) async fn edit(case: &Case<'_>, text: Option<&Body>) -> Result<Effect> {
    let contribution = case.contribution().await?;
    let Contribution::Comment(stored) = contribution else { return Err(case.does_not_apply().into()) };
    let before = stored.comment;
    let mut comment = Comment::clone(&before);
    let address = comment.address();
    comment.state().demand_open(case.moderator)?;
    let edited_before = comment.edited_at;
    let (after, edited_at) = match (case.undoes, text) {
        (Some(line), _) => {
            let earlier = line.changed_from(&address.comment.to_string());
            let earlier = earlier.flatten().ok_or(Refusal::CannotBeUndone)?.to_owned();
            // A later edit has another time.
            let is_of_line = edited_before == Some(line.time);
            let edited = line.before.as_deref().and_then(|time| time.parse().ok()).map(Timestamp);
            (earlier, if is_of_line { edited } else { edited_before })
        }
        (None, Some(text)) => (text.as_str().to_owned(), Some(case.now.timestamp())),
        (None, None) => return Err(case.does_not_apply().into()),
    };
    Refusal::NothingToModerate(NothingToDo::SameText).when(comment.body == after)?;
    let message = t!(
        "A moderator has edited your comment “{excerpt}” {place}: {reason}",
        excerpt = excerpt(&comment.body),
        place = place_of(case.thing),
        reason = case.reason.as_str(),
    );
    let mut effect = Effect { message: Some(message.to_string()), ..Effect::default() };
    let texts = [comment.stored_text(), StoredText::Formatted(&after)];
    let announced = CommentNotice::of_edit(case.site, case.now, (address, comment.user_id), texts).await?;
    announced.write(&mut effect.batch);
    comment.body.clone_from(&after);
    comment.edited_at = edited_at;
    comment.withhold(case.state_of_kept(before.withheld.as_ref()));
    records::change(&mut effect.batch, &before, &comment);
    // When it had been edited before that.
    effect.before = edited_before.map(|time| time.to_string());
    let place = (address.comment.to_string(), FactPart::Member("body".to_owned()));
    effect.changed.push(ChangedFact::of_part(
        keys::thread(address.news),
        place,
        (Some(&before.body), Some(&after)),
    ));
    Ok(effect)
}
