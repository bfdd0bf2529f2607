//! Comments: writing, voting, reading a thread.

use super::news::vote_name;
use super::{id_or_none, ok, vote_type};
use crate::domain::ids::{CommentAddress, CommentId, NewsId};
use crate::domain::text::Body;
use crate::domain::threads::{self, Thread};
use crate::domain::visit::Visit;
use crate::domain::{Error, comments, votes};
use crate::web::App;
use crate::web::api::news::news_id;
use crate::web::error::Failure;
use crate::web::path::PathOf;
use crate::web::viewer::SignedForm;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// What a posted comment form did.
pub(in crate::web) struct Posted {
    op: &'static str,
    /// The comment that was written, changed or deleted.
    pub address: CommentAddress,
    parent: Option<CommentId>,
}

/// POST /api/postcomment: news_id, comment_id (-1 = new), parent_id, comment, apisecret.
pub async fn post(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let posted = post_or_edit(&app, &form).await?;
    Ok(ok([
        ("op", posted.op.into()),
        ("comment_id", posted.address.comment.0.into()),
        ("parent_id", posted.parent.map_or_else(|| Value::from(-1), |parent| parent.0.into())),
        ("news_id", posted.address.news.0.into()),
    ]))
}

/// What both faces of the comment form do: a new comment, an edit, or with an
/// empty text a deletion.
pub(in crate::web) async fn post_or_edit(app: &App, form: &SignedForm) -> Result<Posted, Failure> {
    let SignedForm { user, fields, .. } = form;
    let news = news_id(fields)?;
    let edited: Option<CommentId> = id_or_none(fields, "comment_id")?;
    let text = fields.required("comment")?;
    let Some(comment) = edited else {
        let parent: Option<CommentId> = id_or_none(fields, "parent_id")?;
        let body = Body::parse_comment(text).map_err(Error::from)?;
        let address = comments::post_comment(&app.site, app.now(), user, news, parent, &body).await?;
        return Ok(Posted { op: "insert", address, parent });
    };
    let address = CommentAddress { news, comment };
    if text.trim().is_empty() {
        let deleted = comments::delete_comment(&app.site, app.now(), user, address).await?;
        return Ok(Posted { op: "delete", address, parent: deleted.parent_id });
    }
    let body = Body::parse_comment(text).map_err(Error::from)?;
    let changed = comments::edit_comment(&app.site, app.now(), user, address, &body).await?;
    Ok(Posted { op: "update", address, parent: changed.parent_id })
}

/// POST /api/votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret.
pub async fn vote(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let address = cast_vote(&app, &form).await?;
    Ok(ok([("comment_id", address.to_string().into())]))
}

/// What both faces of the vote do.
pub(in crate::web) async fn cast_vote(app: &App, form: &SignedForm) -> Result<CommentAddress, Failure> {
    let address = form.fields.parsed("comment_id", "it must be two numbers, <news id>-<comment id>")?;
    let direction = vote_type(&form.fields)?;
    votes::vote_comment(&app.site, form.user.id, address, direction).await?;
    Ok(address)
}

/// GET /api/getcomments/:news_id.
pub async fn thread(PathOf(id): PathOf<NewsId>, mut visit: Visit) -> Result<Response, Failure> {
    let thread = threads::get(&mut visit, id).await?;
    let body = format!(r#"{{"status":"ok","comments":{}}}"#, tree(&thread));
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// The comments as nested JSON. Written without recursion, since a thread may
/// be deeper than a stack.
fn tree(thread: &Thread) -> String {
    let mut json = String::from("[");
    let mut open = 0_usize;
    for (index, line) in thread.lines.iter().enumerate() {
        // Close the comments that this one is not below.
        for _ in line.depth..open {
            json.push_str("]}");
        }
        open = open.min(line.depth);
        if index > 0 && !json.ends_with('[') {
            json.push(',');
        }
        let comment = &line.comment;
        let mut members = json!({
            "id": comment.id.0,
            "ctime": comment.ctime,
            "username": line.username,
            "up": comment.up.len(),
            "down": comment.down.len(),
            "voted": line.my_vote.map(vote_name),
        });
        if comment.deleted {
            members["deleted"] = true.into();
        } else {
            members["body"] = comment.body.as_str().into();
        }
        let members = members.to_string();
        json.push_str(members.strip_suffix('}').unwrap_or(&members));
        json.push_str(r#","replies":["#);
        open += 1;
    }
    for _ in 0..open {
        json.push_str("]}");
    }
    json.push(']');
    json
}
