//! Comments: writing, voting, reading a thread.

use super::form::{CommentForm, PreviewForm};
use super::thread_part::sort_field;
use super::writing::post_or_edit;
use crate::App;
use crate::error::RequestError;
use crate::features::stories::form::VoteType;
use crate::limits::API_COMMENTS;
use crate::markup::markdown::formatted;
use crate::markup::page::Page;
use crate::markup::parts::DELETED_USER;
use crate::request::answers::{Status, is_false};
use crate::request::description::FORM;
use crate::request::form::{Fields, Form, FromFields};
use crate::request::path::PathOf;
use crate::request::viewer::SignedFields;
use crate::request::{paging, values};
use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::ops::Range;
use tidings_domain::Error;
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::accounts::seen::{Seen, Viewed};
use tidings_domain::comments::lists::SiteComment;
use tidings_domain::comments::outline::{PartBounds, ThreadLine, ThreadLines};
use tidings_domain::comments::posting;
use tidings_domain::comments::threads::{self, NewComments, Thread};
use tidings_domain::news::item::News;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use tidings_domain::values::limits::MAX_API_COMMENTS;
use tidings_domain::values::preferences::CommentOrder;
use tidings_domain::values::size;
use tidings_domain::values::text::Body;
use tidings_domain::values::withheld::Withheld;
use utoipa::{IntoParams, ToSchema};

/// The outcome of writing, editing or deleting a comment.
#[derive(Serialize, ToSchema)]
#[schema(as = CommentPosted)]
pub struct CommentPostedResponse {
    status: Status,
    /// The change.
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
    /// True if it waits for a moderator; otherwise missing.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    held: bool,
}

/// A change of a comment.
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

impl From<posting::CommentChange> for CommentChange {
    fn from(change: posting::CommentChange) -> Self {
        match change {
            posting::CommentChange::Insert => Self::Insert,
            posting::CommentChange::Update => Self::Update,
            posting::CommentChange::Delete => Self::Delete,
        }
    }
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

impl CommentVotedResponse {
    /// The answer after a vote on a comment.
    #[must_use]
    pub fn new(comment: CommentAddress) -> Self {
        Self { status: Status::Ok, comment_id: comment.to_string() }
    }
}

/// The comments of a story.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a thread may be too deep for a serializer, which is recursive")]
#[schema(as = CommentTree)]
pub struct CommentTreeResponse {
    status: Status,
    comments: Vec<CommentEntry<'static>>,
    /// The value of `after` for the next part; null at the end.
    #[schema(value_type = Option<values::CommentCursor>, required = true)]
    next: Option<String>,
    /// The stories that were merged into this one; missing if there are none. Each keeps its own
    /// comments, which this call gets by the number of that story.
    #[schema(value_type = Vec<u64>, required = false)]
    merged: Option<Vec<NewsId>>,
    /// The story that this one was merged into; missing if it was not.
    #[schema(value_type = u64, required = false)]
    merged_into: Option<NewsId>,
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
    /// The author; `[deleted user]` if the account no longer exists.
    #[schema(value_type = values::StoredUsername)]
    username: &'a str,
    /// The number of votes up.
    up: i64,
    /// The number of votes down.
    down: i64,
    /// The caller's own vote; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = VoteType, required = false)]
    voted: Option<VoteType>,
    /// True for a comment of somebody else that is new since the caller's last visit of a page
    /// of the thread; otherwise missing. This call is no visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    new: Option<bool>,
    /// The text; empty in a comment that is deleted or not shown.
    #[schema(value_type = values::StoredComment)]
    body: &'a str,
    /// The text as HTML, as pages show it; empty in a comment that is deleted or not shown.
    #[schema(value_type = values::FormattedText)]
    html: String,
    /// True for a deleted comment, which is listed because of its replies; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    deleted: Option<bool>,
    /// The original's name of `deleted`: 1 for a deleted comment, otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u8, required = false)]
    del: Option<u8>,
    /// Why the text is missing, although the comment is not deleted: the reason of the moderator
    /// who removed it, `flagged` while readers' flags hide it, or `held` while it waits for
    /// approval; otherwise missing. The author and moderators also get the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::WithheldReason, required = false)]
    removed: Option<&'a str>,
    /// True for a comment that the caller has muted, or whose author is muted or blocked;
    /// otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    muted: Option<bool>,
    /// As what its author speaks; missing for somebody who speaks as a member.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::Speaker, required = false)]
    speaks_as: Option<&'static str>,
    /// The comment that this one replies to, if that is in an earlier part of the thread;
    /// otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    parent_id: Option<CommentId>,
    /// The replies.
    #[schema(value_type = Vec<CommentEntry<'static>>, no_recursion)]
    // Always empty here: `tree` writes the replies one by one.
    replies: [(); 0],
}

/// A comment that a search has found.
#[derive(Serialize, ToSchema)]
pub struct FoundComment {
    /// The id, unique within the story.
    #[schema(value_type = u64)]
    id: CommentId,
    /// The story.
    #[schema(value_type = u64)]
    news_id: NewsId,
    /// The title of the story.
    #[schema(value_type = values::StoredTitle)]
    story_title: String,
    /// The time of writing.
    #[schema(value_type = u64)]
    ctime: Timestamp,
    /// The author; `[deleted user]` if the account no longer exists.
    #[schema(value_type = values::StoredUsername)]
    username: String,
    /// The number of votes up.
    up: i64,
    /// The number of votes down.
    down: i64,
    /// The text.
    #[schema(value_type = values::StoredComment)]
    body: String,
    /// The text as HTML, as pages show it.
    #[schema(value_type = values::FormattedText)]
    html: String,
}

impl FoundComment {
    /// A comment with its story.
    #[must_use]
    pub fn of(found: &Seen<SiteComment>) -> Self {
        let line = found.line();
        let ThreadLine { comment, username, .. } = *line;
        let [up, down] = comment.votes();
        Self {
            id: comment.id,
            news_id: found.news.id,
            story_title: found.news.title.clone(),
            ctime: comment.ctime,
            username: username.unwrap_or(DELETED_USER).to_owned(),
            up,
            down,
            body: size::shown(line.body()).to_owned(),
            html: formatted(line.body()),
        }
    }
}

/// Write, edit or delete a comment.
#[utoipa::path(
    post,
    path = "/api/postcomment",
    request_body(content = inline(CommentForm), content_type = FORM),
    responses((status = 200, body = CommentPostedResponse)),
    security(("session" = [])),
)]
pub async fn post(app: App, form: SignedFields) -> Result<Json<CommentPostedResponse>, RequestError> {
    let posted = post_or_edit(&app, form.actor(), &form.fields.read()?).await?;
    Ok(Json(CommentPostedResponse {
        status: Status::Ok,
        op: posted.change.into(),
        comment_id: posted.address.comment,
        parent_id: posted.parent.map_or(ParentId::None(-1), ParentId::Comment),
        news_id: posted.address.news,
        held: posted.waits,
    }))
}

/// A text as HTML.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub struct PreviewResponse {
    status: Status,
    /// The text as pages will show it.
    #[schema(value_type = values::FormattedText)]
    html: String,
}

/// See a comment or the text of a story as HTML before it is sent. Nothing is stored.
#[utoipa::path(
    post,
    path = "/api/preview",
    request_body(content = inline(PreviewForm), content_type = FORM),
    responses((status = 200, body = PreviewResponse)),
)]
pub async fn preview(Form(form): Form<PreviewForm>) -> Result<Json<PreviewResponse>, RequestError> {
    let html = if form.text.trim().is_empty() {
        String::new()
    } else {
        formatted(Body::parse_text(&form.text).map_err(Error::from)?.as_str())
    };
    Ok(Json(PreviewResponse { status: Status::Ok, html }))
}

/// The part of a thread to return.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ThreadPartQuery {
    /// Only comments after this one, in the order of the thread: the `next` of an earlier
    /// response.
    #[param(value_type = values::CommentCursor, required = false)]
    after: Option<CommentId>,
    /// The maximum number of comments; 500 by default. There may be fewer, because a response
    /// has at most 2 MiB.
    #[param(value_type = values::CommentCount, required = false)]
    count: usize,
    /// The order of comments that reply to the same: by score, by default.
    #[param(value_type = values::CommentOrder, required = false)]
    sort: CommentOrder,
}

/// The error message for an invalid field `after`.
const AFTER: &str = "it must be the value of next in an earlier answer, and its comment must still exist";

impl FromFields for ThreadPartQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let count = paging::count_up_to(MAX_API_COMMENTS, fields, "it must be a whole number from 1 to 500")?;
        let count = count.unwrap_or(MAX_API_COMMENTS);
        let after = fields.parsed_optional("after", AFTER)?;
        Ok(Self { after, count, sort: sort_field(fields)?.unwrap_or_default() })
    }
}

impl ThreadPartQuery {
    /// The positions of the comments. `None` if the comment before them is not there.
    fn part(&self, lines: &ThreadLines) -> Option<Range<usize>> {
        lines.part(self.after, PartBounds { comments: self.count, ..API_COMMENTS })
    }
}

/// Get the comments of a story as a tree.
///
/// A long thread comes in parts. In a later part, comments whose parent was in an earlier one
/// are at the top level.
#[utoipa::path(
    get,
    path = "/api/getcomments/{news_id}",
    params(("news_id" = inline(values::Id), Path), ThreadPartQuery),
    responses((status = 200, body = CommentTreeResponse)),
)]
pub async fn thread(
    PathOf(id): PathOf<NewsId>,
    Page { mut visit, .. }: Page,
    Form(query): Form<ThreadPartQuery>,
) -> Result<Response, RequestError> {
    let wanted = |lines: &ThreadLines| query.part(lines).unwrap_or_default().collect();
    let thread = threads::get(&mut visit, id, query.sort.into(), wanted).await?;
    let lines = thread.outline();
    let part = query.part(lines).ok_or(RequestError::field("after", AFTER))?;
    let last = part.clone().last().filter(|_| part.end < lines.places().len());
    let next = last.and_then(|last| lines.places().get(last)).map(|place| place.id.to_string());
    let next = serde_json::to_string(&next).map_err(|error| Error::Internal(error.to_string()))?;
    let new = thread.new_on_first_page(visit.now());
    let comments = tree(&thread, part, (visit.viewer_id(), new))?;
    let merges = merges(&thread.news.news);
    let body = format!(r#"{{"status":"ok","comments":{comments},"next":{next}{merges}}}"#);
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// The fields of a thread about merged stories, as the last ones of an object.
fn merges(news: &News) -> String {
    let merged: Vec<String> = news.merged.0.iter().map(ToString::to_string).collect();
    let mut fields = String::new();
    if !merged.is_empty() {
        fields.push_str(&format!(r#","merged":[{}]"#, merged.join(",")));
    }
    if let Some(into) = news.withheld.as_ref().and_then(Withheld::merged_into) {
        fields.push_str(&format!(r#","merged_into":{into}"#));
    }
    fields
}

/// The comments of a part as nested JSON. Written without recursion, because a deep thread
/// could overflow the stack.
fn tree(
    thread: &Thread,
    part: Range<usize>,
    (viewer, new): (Option<UserId>, Option<NewComments>),
) -> Result<String, Error> {
    let mut json = String::from("[");
    // The depths of the comments whose replies are being written.
    let mut open: Vec<usize> = Vec::new();
    for position in part {
        let Some(place) = thread.outline().places().get(position) else { continue };
        let (line, seen) = match thread.view(position) {
            Viewed::Whole(line) => (*line, Ok(line)),
            Viewed::Line(line, why) => (line, Err(why)),
            // Nothing is below it.
            Viewed::Nothing => continue,
        };
        while open.last().is_some_and(|depth| *depth >= line.depth) {
            open.pop();
            json.push_str("]}");
        }
        if !json.ends_with('[') {
            json.push(',');
        }
        let parent_id = place.parent.filter(|_| open.is_empty());
        let is_new = new.is_some_and(|new| new.has(place));
        let written = serde_json::to_string(&CommentEntry::new((line, seen), parent_id, (viewer, is_new)))
            .map_err(|error| Error::Internal(error.to_string()))?;
        // The array of replies stays open for the comments that follow.
        json.push_str(written.strip_suffix("]}").unwrap_or(&written));
        open.push(line.depth);
    }
    for _ in open {
        json.push_str("]}");
    }
    json.push(']');
    Ok(json)
}

/// Stands for the author of a comment that the caller has muted. No username has brackets.
const MUTED_USER: &str = "[muted user]";

/// Why a comment is withheld, for programs.
fn reason(withheld: &Withheld, why: Option<Collapsed>) -> &str {
    // Also what was rejected, for those who never saw it.
    if why == Some(Collapsed::Held) {
        return "held";
    }
    withheld.reason().filter(|_| withheld.is_removed()).unwrap_or(withheld.word())
}

impl<'a> CommentEntry<'a> {
    fn new(
        (line, seen): (ThreadLine<'a>, Result<Seen<ThreadLine<'a>>, Collapsed>),
        parent_id: Option<CommentId>,
        (viewer, is_new): (Option<UserId>, bool),
    ) -> Self {
        let ThreadLine { comment, username, .. } = line;
        let (seen, why) = (seen.as_ref().ok(), seen.as_ref().err().copied());
        let [up, down] = comment.votes();
        let is_muted = matches!(why, Some(Collapsed::MutedPerson | Collapsed::MutedWord));
        let username = if is_muted { Some(MUTED_USER) } else { username };
        Self {
            id: comment.id,
            ctime: comment.ctime,
            username: username.unwrap_or(DELETED_USER),
            up,
            down,
            voted: viewer.and_then(|viewer| comment.vote_of(viewer)).map(VoteType::from),
            new: is_new.then_some(true),
            body: seen.map(|line| size::shown(line.body())).unwrap_or_default(),
            html: seen.map(|line| formatted(line.body())).unwrap_or_default(),
            deleted: comment.deleted.then_some(true),
            del: comment.deleted.then_some(1),
            removed: comment.withheld.as_ref().filter(|_| !comment.deleted).map(|state| reason(state, why)),
            muted: is_muted.then_some(true),
            speaks_as: comment.speaks_as_moderator.then_some("moderator"),
            parent_id,
            replies: [],
        }
    }
}
