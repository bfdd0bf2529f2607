//! The targets of the vote forms. They do what the API does and redirect to the button.

use crate::App;
use crate::actions;
use crate::error::RequestError;
use crate::forms::Next;
use crate::forms::comments::CommentVoteForm;
use crate::forms::news::NewsVoteForm;
use crate::viewer::{ClientAddress, SignedForm};
use axum::extract::State;
use axum::response::Redirect;
use tidings_domain::accounts::actor::Actor;

/// POST /votenews: news_id, vote_type, apisecret, next.
pub async fn news(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SignedForm { user, form: (form, back) }: SignedForm<(NewsVoteForm, Next)>,
) -> Result<Redirect, RequestError> {
    actions::vote_news(&app, Actor { user: &user, address }, &form).await?;
    Ok(Redirect::to(back.next.as_str()))
}

/// POST /votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret, next.
pub async fn comment(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SignedForm { user, form: (form, back) }: SignedForm<(CommentVoteForm, Next)>,
) -> Result<Redirect, RequestError> {
    actions::vote_comment(&app, Actor { user: &user, address }, &form).await?;
    Ok(Redirect::to(back.next.as_str()))
}
