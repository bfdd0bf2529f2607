//! The targets of the vote forms. They do what the API does and redirect to the button.

use super::parts::news_address;
use super::thread::address_of;
use crate::App;
use crate::actions;
use crate::error::RequestError;
use crate::forms::Next;
use crate::forms::comments::CommentVoteForm;
use crate::forms::news::NewsVoteForm;
use crate::viewer::{ClientAddress, SignedFields, SignedForm};
use axum::extract::State;
use axum::response::Redirect;
use tidings_domain::accounts::actor::Actor;
use tidings_domain::values::ids::{CommentId, NewsId};

/// POST /votenews: news_id, vote_type, apisecret, next.
pub async fn news(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SignedForm { user, form: (form, back) }: SignedForm<(NewsVoteForm, Next)>,
) -> Result<Redirect, RequestError> {
    actions::vote_news(&app, Actor { user: &user, address }, &form).await?;
    Ok(Redirect::to(back.next.as_str()))
}

/// POST /votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret, next. The vote
/// may have moved the comment to another page of its thread.
pub async fn comment(
    State(app): State<App>,
    SignedFields { mut visit, user, fields, address }: SignedFields,
) -> Result<Redirect, RequestError> {
    let (form, back): (CommentVoteForm, Next) = fields.read()?;
    let comment = actions::vote_comment(&app, Actor { user: &user, address }, &form).await?;
    Ok(Redirect::to(&match branch_of(back.next.path(), comment.news) {
        Some(root) => address_of(&mut visit, comment, root).await,
        None => back.next.to_string(),
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
