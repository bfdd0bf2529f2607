//! The actions that a moderator can do to a post where it stands.

use super::demand_power;
use crate::values::{Action, ActionSubject, Closed, Moment, Thing};
use crate::{Contribution, Error, Refusal, Result, Role, User, Visit};

/// The actions on a post, and its content as an edit changes it.
#[derive(Debug, Default)]
pub struct PostMenu {
    /// The actions, as they are declared.
    pub actions: Vec<Action>,
    /// The title and the topics of a story.
    pub title: Option<[String; 2]>,
    /// The address that a story leads to.
    pub url: Option<String>,
    /// The text of a comment, or of a story without an address.
    pub text: Option<String>,
}

/// The menu of a moderator for a post. Nobody has one for their own posts and those of a higher role, except that
/// administrators erase any. Rounds: at most 3.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], the refusal for a missing item, or the store's.
pub async fn of_post(visit: &mut Visit, moderator: &User, thing: &Thing) -> Result<PostMenu> {
    moderator.demand_may_moderate(Moment::from_timestamp(visit.now()))?;
    let is_administrator = moderator.role() == Role::Administrator;
    let only_erasure = || PostMenu {
        actions: if is_administrator { vec![Action::Erase] } else { Vec::new() },
        ..PostMenu::default()
    };
    let post = match Contribution::read(visit.site(), thing).await {
        Ok(post) => post,
        Err(Error::Refused(Refusal::Closed(_, Closed::Deleted))) => return Ok(only_erasure()),
        Err(error) => return Err(error),
    };
    let author = visit.site().store.fetch(User::by_id(post.author())).await?;
    if author.is_some_and(|author| demand_power(moderator, &author).is_err()) {
        return Ok(only_erasure());
    }
    let mut menu = PostMenu::default();
    let (mut is_locked, mut is_pinned) = (false, false);
    match &post {
        Contribution::Story(story) => {
            is_locked = story.locked.is_some();
            let identity = visit.identity().await;
            is_pinned = identity
                .announcement
                .as_ref()
                .is_some_and(|made| made.pinned(visit.now()).contains(&story.id));
            menu.title = Some([story.title.clone(), story.topics.typed()]);
            menu.url = story.link().map(|_| story.url.clone());
            menu.text = story.text().map(str::to_owned);
        }
        Contribution::Comment(stored) => menu.text = Some(stored.comment.body.clone()),
        Contribution::Tweet(_) => {}
        Contribution::Profile(_) => return Err(Refusal::CannotBeFlagged(thing.clone()).into()),
    }
    let subject =
        ActionSubject { state: post.state(), is_locked, is_pinned, is_moderator: false, in_force: &[] };
    menu.actions = Action::fitting(&subject, is_administrator);
    Ok(menu)
}
