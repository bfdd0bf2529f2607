//! Comments: writing, voting, reading a thread.

use super::Status;
use crate::error::RequestError;
use crate::forms::comments::{CommentForm, CommentVoteForm};
use crate::forms::news::VoteType;
use crate::openapi::{FORM, values};
use crate::path::PathOf;
use crate::viewer::{ClientAddress, SignedForm};
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tidings_domain::Error;
use tidings_domain::accounts::actor::Actor;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::threads::{self, Thread};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::{CommentId, NewsId, UserId};
use utoipa::ToSchema;

/// The outcome of writing, editing or deleting a comment.
#[derive(Serialize, ToSchema)]
#[schema(as = CommentPosted)]
pub struct CommentPostedResponse {
    status: Status,
    /// What was done.
    op: CommentChange,
    /// The comment.
    #[schema(value_type = u64)]
    comment_id: CommentId,
    /// The comment that it replies to; -1 for none.
    #[schema(value_type = i64)]
    parent_id: ParentId,
    /// The story.
    #[schema(value_type = u64)]
    news_id: NewsId,
}

/// What was done to a comment.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommentChange {
    /// The comment was written.
    Insert,
    /// The comment was edited.
    Update,
    /// The comment was deleted.
    Delete,
}

/// The id of a comment, or -1 for none.
#[derive(Serialize)]
#[serde(untagged)]
enum ParentId {
    Comment(CommentId),
    None(i8),
}

/// A comment that was voted on.
#[derive(Serialize, ToSchema)]
#[schema(as = CommentVoted)]
pub struct CommentVotedResponse {
    status: Status,
    /// The comment, as in the request.
    #[schema(value_type = values::CommentAddress)]
    comment_id: String,
}

/// The comments of a story.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a thread may be too deep for a serializer, which is recursive")]
#[schema(as = CommentTree)]
pub struct CommentTreeResponse {
    status: Status,
    comments: Vec<CommentEntry<'static>>,
}

/// A comment with its replies.
#[derive(Serialize, ToSchema)]
#[schema(as = Comment)]
struct CommentEntry<'a> {
    /// The id, unique within the story.
    #[schema(value_type = u64)]
    id: CommentId,
    /// The time of writing.
    #[schema(value_type = u64)]
    ctime: Timestamp,
    /// The author; null if the account no longer exists.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    username: Option<&'a str>,
    /// The number of votes up.
    up: usize,
    /// The number of votes down.
    down: usize,
    /// The caller's own vote; null if there is none.
    #[schema(required = true)]
    voted: Option<VoteType>,
    /// The text; missing in a deleted comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::StoredComment, required = false)]
    body: Option<&'a str>,
    /// True for a deleted comment, which is listed because of its replies; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    deleted: Option<bool>,
    /// The replies.
    #[schema(value_type = Vec<CommentEntry<'static>>, no_recursion)]
    // Always empty here: `tree` writes the replies one by one.
    replies: [(); 0],
}

/// Write, edit or delete a comment.
#[utoipa::path(
    post,
    path = "/api/postcomment",
    request_body(content = inline(CommentForm), content_type = FORM),
    responses((status = 200, body = CommentPostedResponse)),
    security(("session" = [])),
)]
pub async fn post(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SignedForm { user, form }: SignedForm<CommentForm>,
) -> Result<Json<CommentPostedResponse>, RequestError> {
    let posted = actions::post_or_edit(&app, Actor { user: &user, address }, &form).await?;
    Ok(Json(CommentPostedResponse {
        status: Status::Ok,
        op: posted.op,
        comment_id: posted.address.comment,
        parent_id: posted.parent.map_or(ParentId::None(-1), ParentId::Comment),
        news_id: posted.address.news,
    }))
}

/// Vote on a comment.
#[utoipa::path(
    post,
    path = "/api/votecomment",
    request_body(content = inline(CommentVoteForm), content_type = FORM),
    responses((status = 200, body = CommentVotedResponse)),
    security(("session" = [])),
)]
pub async fn vote(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    SignedForm { user, form }: SignedForm<CommentVoteForm>,
) -> Result<Json<CommentVotedResponse>, RequestError> {
    actions::vote_comment(&app, Actor { user: &user, address }, &form).await?;
    Ok(Json(CommentVotedResponse { status: Status::Ok, comment_id: form.comment_id.to_string() }))
}

/// Get the comments of a story as a tree.
#[utoipa::path(
    get,
    path = "/api/getcomments/{news_id}",
    params(("news_id" = inline(values::Id), Path)),
    responses((status = 200, body = CommentTreeResponse)),
)]
pub async fn thread(PathOf(id): PathOf<NewsId>, mut visit: Visit) -> Result<Response, RequestError> {
    let thread = threads::get(&mut visit, id).await?;
    let body = format!(r#"{{"status":"ok","comments":{}}}"#, tree(&thread, visit.viewer_id())?);
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// The comments as nested JSON. Written without recursion, because a deep thread could
/// overflow the stack.
fn tree(thread: &Thread, viewer: Option<UserId>) -> Result<String, Error> {
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
        let written = serde_json::to_string(&CommentEntry {
            id: comment.id,
            ctime: comment.ctime,
            username: line.username.as_deref(),
            up: comment.up.len(),
            down: comment.down.len(),
            voted: viewer.and_then(|viewer| comment.vote_of(viewer)).map(VoteType::from),
            body: (!comment.deleted).then_some(&comment.body),
            deleted: comment.deleted.then_some(true),
            replies: [],
        })
        .map_err(|error| Error::Internal(error.to_string()))?;
        // The array of replies stays open for the comments that follow.
        json.push_str(written.strip_suffix("]}").unwrap_or(&written));
        open += 1;
    }
    for _ in 0..open {
        json.push_str("]}");
    }
    json.push(']');
    Ok(json)
}
