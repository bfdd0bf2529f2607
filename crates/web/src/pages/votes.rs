//! The forms that vote. They do what the API does and lead back to the button.

use crate::App;
use crate::actions;
use crate::error::Failure;
use crate::local_path::LocalPath;
use crate::viewer::SignedForm;
use axum::extract::State;
use axum::response::Redirect;

/// POST /votenews: news_id, vote_type, apisecret, next.
pub async fn news(State(app): State<App>, form: SignedForm) -> Result<Redirect, Failure> {
    let next = LocalPath::parse(form.fields.text("next"));
    actions::vote_news(&app, &form).await?;
    Ok(Redirect::to(next.as_str()))
}

/// POST /votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret, next.
pub async fn comment(State(app): State<App>, form: SignedForm) -> Result<Redirect, Failure> {
    let next = LocalPath::parse(form.fields.text("next"));
    actions::vote_comment(&app, &form).await?;
    Ok(Redirect::to(next.as_str()))
}
