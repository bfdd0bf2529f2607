//! Votes on stories and comments. A browser comes back to the button.

use super::form::NewsVoteForm;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry, SentForm};
use crate::features::comments::calls::CommentVotedResponse;
use crate::features::comments::form::CommentVoteForm;
use crate::features::comments::thread::address_of;
use crate::markup::addresses::news_address;
use crate::request::form::Next;
use axum::response::Redirect;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};
use tidings_domain::{Error, votes};

/// Votes on stories.
#[must_use]
pub fn actions_on_news() -> Vec<ActionEntry> {
    vec![
        Action::setting("/votenews", "Vote on a story.", |app, by, form: &NewsVoteForm| {
            Box::pin(async move {
                match form.vote_type.direction() {
                    Some(direction) => {
                        votes::vote_news(&app.site, app.now(), by, form.news_id, direction).await
                    }
                    None => votes::take_back_news_vote(&app.site, app.now(), by, form.news_id).await,
                }
            })
        })
        .back(),
    ]
}

/// Votes on comments.
#[must_use]
pub fn actions_on_comments() -> Vec<ActionEntry> {
    vec![
        Action::setting("/votecomment", "Vote on a comment.", |app, by, form: &CommentVoteForm| {
            Box::pin(async move {
                let (site, now, address) = (&app.site, app.now(), form.comment_id);
                match form.vote_type.direction() {
                    Some(direction) => votes::vote_comment(site, now, by, address, direction).await?,
                    None => votes::take_back_comment_vote(site, now, by, address).await?,
                }
                Ok::<_, Error>(address)
            })
        })
        .answering(async |_, comment| Ok(CommentVotedResponse::new(comment)))
        .page(comment_in_thread),
    ]
}

/// Redirects to the comment. The vote may have moved it to another page of its thread.
async fn comment_in_thread(
    SentForm { mut form, .. }: SentForm,
    voted: Result<(CommentVoteForm, CommentAddress), RequestError>,
) -> Result<Redirect, RequestError> {
    let (_, comment) = voted?;
    let Next { next } = form.fields.read()?;
    Ok(Redirect::to(&match branch_of(next.path(), comment.news) {
        Some(root) => address_of(&mut form.visit, comment, root).await,
        None => next.to_string(),
    }))
}

/// The branch of a thread that the pages of an address show; `None` for other pages.
fn branch_of(path: &str, news: NewsId) -> Option<Option<CommentId>> {
    if path == news_address(news) {
        return Some(None);
    }
    let comment = path.strip_prefix("/comment/")?.strip_prefix(&news.to_string())?.strip_prefix('/')?;
    comment.parse().ok().map(Some)
}
