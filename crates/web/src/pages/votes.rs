//! The targets of the vote forms. They do what the API does and redirect to the button.

use crate::App;
use crate::actions;
use crate::error::RequestError;
use crate::forms::Next;
use crate::forms::comments::CommentVoteForm;
use crate::forms::news::NewsVoteForm;
use crate::viewer::SignedForm;
use axum::extract::State;
use axum::response::Redirect;

/// POST /votenews: news_id, vote_type, apisecret, next.
pub async fn news(
    State(app): State<App>,
    SignedForm { user, form: (form, back) }: SignedForm<(NewsVoteForm, Next)>,
) -> Result<Redirect, RequestError> {
    actions::vote_news(&app, &user, &form).await?;
    Ok(Redirect::to(back.next.as_str()))
}

/// POST /votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret, next.
pub async fn comment(
    State(app): State<App>,
    SignedForm { user, form: (form, back) }: SignedForm<(CommentVoteForm, Next)>,
) -> Result<Redirect, RequestError> {
    actions::vote_comment(&app, &user, &form).await?;
    Ok(Redirect::to(back.next.as_str()))
}
