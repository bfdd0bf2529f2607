//! Removing comments and tweets, and putting them back; editing comments.

use super::case::{Case, Effect};
use super::log;
use crate::accounts::users::User;
use crate::comments::comment::{self, Stored, read_stored};
use crate::comments::withdrawal as comments;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::News;
use crate::timelines::withdrawal as tweets;
use crate::values::ids::{CommentAddress, ModerationId, NewsId, TweetId, UserId};
use crate::values::moderation::Deed;
use crate::values::text::Body;
use crate::values::withheld::Withheld;
use serde::{Deserialize, Serialize};
use tidings_keyspace::read;

/// The characters of a post that a message to its author repeats.
const EXCERPT: usize = 60;

/// Removes a comment: it keeps its place in the thread, with the reason and without its text.
pub(super) async fn remove_comment(case: &Case<'_>, address: CommentAddress) -> Result<Effect, Error> {
    let withdrawal = comments::Withdrawal::read(case.site, address, removed(case)).await?;
    let mut effect = told(case, withdrawal.comment.user_id, "comment", &withdrawal.comment.body).await?;
    withdrawal.write(&mut effect.batch, case.now, case.id);
    effect.starts(withdrawal.job(), case.now);
    Ok(effect)
}

/// Puts a removed comment back.
pub(super) async fn restore_comment(case: &Case<'_>, address: CommentAddress) -> Result<Effect, Error> {
    let back = comments::Return::read(case.site, address).await?;
    refuse_rejected(back.line())?;
    let mut effect = told(case, back.comment.user_id, "comment", &back.comment.body).await?;
    effect.ends = ended_by(case, back.line()).await?;
    back.write(&mut effect.batch, case.now);
    for job in back.jobs() {
        effect.starts(Some(job), case.now);
    }
    Ok(effect)
}

/// Replaces the text of a comment. The line of the log has the former text, for the undo.
pub(super) async fn edit_comment(
    case: &Case<'_>,
    address: CommentAddress,
    text: Option<&Body>,
) -> Result<Effect, Error> {
    let Stored { mut comment, json, .. } = read_stored(case.site, address).await?;
    comment.refuse_if_gone(case.moderator)?;
    let after = match (case.undoes, text) {
        (Some(line), _) => {
            let stored =
                line.before.as_deref().and_then(|stored| serde_json::from_str::<TextEdit>(stored).ok());
            let TextEdit { before, after } = stored.ok_or(Refusal::CannotBeUndone)?;
            if comment.body != after {
                return Err(Refusal::EditedSince.into());
            }
            before
        }
        (None, Some(text)) => text.as_str().to_owned(),
        (None, None) => return Err(case.does_not_apply().into()),
    };
    if comment.body == after {
        return Err(Refusal::NothingToModerate("the comment is like that already").into());
    }
    let mut effect = told(case, comment.user_id, "comment", &comment.body).await?;
    let before = std::mem::replace(&mut comment.body, after.clone());
    // A moderator has looked at it.
    comment.withheld = None;
    comment::write_change(&mut effect.batch, address, &json, &comment);
    // Texts can be written as JSON.
    effect.before = serde_json::to_string(&TextEdit { before, after }).ok();
    Ok(effect)
}

/// What undoing the edit of a text needs.
#[derive(Serialize, Deserialize)]
struct TextEdit {
    before: String,
    after: String,
}

/// Removes a tweet from all timelines.
pub(super) async fn remove_tweet(case: &Case<'_>, id: TweetId) -> Result<Effect, Error> {
    let withdrawal = tweets::Withdrawal::read(case.site, id, removed(case)).await?;
    let mut effect = told(case, withdrawal.tweet.user_id, "tweet", &withdrawal.tweet.text).await?;
    withdrawal.write(&mut effect.batch, case.now, case.id);
    effect.starts(withdrawal.job(), case.now);
    Ok(effect)
}

/// Puts a removed tweet back.
pub(super) async fn restore_tweet(case: &Case<'_>, id: TweetId) -> Result<Effect, Error> {
    let back = tweets::Return::read(case.site, id).await?;
    refuse_rejected(back.line())?;
    let mut effect = told(case, back.tweet.user_id, "tweet", &back.tweet.text).await?;
    if let Some(news) = back.tweet.news_id {
        refuse_without_story(case, news).await?;
    }
    effect.ends = ended_by(case, back.line()).await?;
    back.write(&mut effect.batch, case.site, case.now);
    effect.starts(back.job(case.site), case.now);
    Ok(effect)
}

/// Refuses to put back what was never shown: it was rejected while it waited for approval, so
/// nothing of it was taken away.
fn refuse_rejected(removed_by: Option<ModerationId>) -> Result<(), Refusal> {
    match removed_by {
        Some(_) => Ok(()),
        None => Err(Refusal::NothingToModerate(
            "this was rejected before anybody saw it. Undo the rejection instead",
        )),
    }
}

/// Refuses to put back a tweet that announces a story that is removed itself: it comes back with
/// the story. Rounds: 1.
async fn refuse_without_story(case: &Case<'_>, id: NewsId) -> Result<(), Error> {
    let news =
        News::from_fields(case.site.store.fetch(read::hash_fields(keys::news(id), News::FIELDS)).await?);
    match news {
        Some(news) => Ok(news.refuse_if_gone(case.moderator)?),
        None => Ok(()),
    }
}

/// The state of what is removed.
fn removed(case: &Case<'_>) -> Withheld {
    Withheld::removed(case.reason.as_str())
}

/// The beginning of an effect: who is told, and what. Refuses a moderator who must not act on a
/// post of that author; an account that is gone protects nothing. Rounds: 1.
async fn told(case: &Case<'_>, author: UserId, kind: &str, text: &str) -> Result<Effect, Error> {
    let user = case.site.store.fetch(User::by_id(author)).await?;
    if let Some(user) = user {
        case.demand_power_over(&user)?;
    }
    let (text, reason) = (excerpt(text), case.reason);
    let message = match case.deed {
        Deed::Remove => {
            format!("A moderator has removed your {kind} “{text}”: {reason}")
        }
        Deed::Edit { .. } => format!("A moderator has edited your {kind} “{text}”: {reason}"),
        _ => format!("Your {kind} “{text}”, which was removed, is back: {reason}"),
    };
    Ok(Effect { concerns: Some(author), message: Some(message), ..Effect::default() })
}

/// The beginning of a text, in one line.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// The line that ends if a post comes back: the one that is about this post alone. Rounds: 1, none
/// if it is not known which line removed it.
///
/// # Errors
/// [`Refusal::NothingToModerate`] if it is asked for as the undo of another line.
pub(super) async fn ended_by(
    case: &Case<'_>,
    removed_by: Option<ModerationId>,
) -> Result<Option<ModerationId>, Error> {
    if case.undoes.is_some_and(|line| Some(line.id) != removed_by) {
        return Err(Refusal::NothingToModerate("this was restored and removed again since").into());
    }
    let Some(id) = removed_by else { return Ok(None) };
    match log::read_line(case.site, id).await {
        Ok(line) => {
            if case.undoes.is_none() {
                case.demand_may_end(&line).await?;
            }
            Ok((line.thing == *case.thing && line.undone_by.is_none()).then_some(id))
        }
        Err(Error::Refused(Refusal::NoSuchModeration)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_the_beginning_of_a_post() {
        assert_eq!(excerpt(" Buy\n\nthis  now "), "Buy this now");
        assert_eq!(excerpt(&"ä".repeat(EXCERPT)), "ä".repeat(EXCERPT));
        assert_eq!(excerpt(&"ä".repeat(EXCERPT + 1)), format!("{}…", "ä".repeat(EXCERPT)));
    }
}
