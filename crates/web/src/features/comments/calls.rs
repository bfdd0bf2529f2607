//! Comments: writing, voting, reading a thread.

use super::form::PreviewForm;
use super::thread_part::sort_field;
use super::writing::post_or_edit;
use crate::limits::API_COMMENTS;
use crate::markup::Page;
use crate::markup::markdown::formatted;
use crate::markup::parts::DELETED_USER;
use crate::request::{Fields, Form, FromFields, PathOf, SignedFields, Status, answer, paging};
use crate::{App, RequestError, Result};
use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::ops::Range;
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::accounts::seen::{Seen, Viewed};
use tidings_domain::comments::lists::SiteComment;
use tidings_domain::comments::outline::{PartBounds, ThreadLine, ThreadLines};
use tidings_domain::comments::posting::{CommentChange, Posted};
use tidings_domain::comments::threads::{self, NewComments, Thread};
use tidings_domain::news::item::Direction;
use tidings_domain::values::{
    Body, CommentAddress, CommentId, CommentOrder, MAX_API_COMMENTS, NewsId, Timestamp, UserId, Withheld,
    size,
};
use tidings_domain::{Error, News};
use tidings_language::{Message, m};

/// The comments of a story.
// Only described: a thread may be too deep for a serializer, which is recursive. `thread` writes it.
#[cfg(test)]
#[allow(dead_code)]
#[derive(utoipa::ToSchema)]
#[schema(as = CommentTree)]
pub struct CommentTreeResponse {
    status: Status,
    comments: Vec<CommentEntry<'static>>,
    /// The value of `after` for the next part; null at the end.
    #[schema(required = true)]
    next: Option<values::CommentCursor>,
    /// The stories that were merged into this one; missing if there are none. Each keeps its own
    /// comments, which this call gets by the number of that story.
    #[schema(value_type = Vec<u64>, required = false)]
    merged: Option<Vec<NewsId>>,
    /// The story that this one was merged into; missing if it was not.
    #[schema(value_type = u64, required = false)]
    merged_into: Option<NewsId>,
}

answer! {
    /// The outcome of writing, editing or deleting a comment.
    pub struct CommentPostedResponse as CommentPosted from (posted: Posted) {
        status;
        /// The change.
        op: CommentChange = posted.change, values::CommentChange;
        /// The comment.
        comment_id: CommentId = posted.address.comment, u64;
        /// The comment that it replies to; -1 for none.
        parent_id: ParentId = posted.parent.map_or(ParentId::None(-1), ParentId::Comment), i64;
        /// The story.
        news_id: NewsId = posted.address.news, u64;
        /// True if it waits for a moderator; otherwise missing.
        held?: bool = posted.waits.then_some(true);
    }

    /// A comment that was voted on.
    pub struct CommentVotedResponse as CommentVoted from (comment: CommentAddress) {
        status;
        /// The comment, as in the request.
        comment_id: String = comment.to_string(), values::CommentAddress;
    }

    /// A comment with its replies.
    struct CommentEntry<'a> as Comment {
        /// The id, unique within the story.
        id: CommentId, u64;
        /// The time of writing.
        ctime: Timestamp, u64;
        /// The author; `[deleted user]` if the account no longer exists.
        username: &'a str, values::StoredUsername;
        /// The number of votes up.
        up: i64;
        /// The number of votes down.
        down: i64;
        /// The caller's own vote; missing if there is none.
        voted?: Direction, values::Vote;
        /// True for a comment of somebody else that is new since the caller's last visit of a page
        /// of the thread; otherwise missing. This call is no visit.
        new?: bool;
        /// The text; empty in a comment that is deleted or not shown.
        body: &'a str, values::StoredComment;
        /// The text as HTML, as pages show it; empty in a comment that is deleted or not shown.
        html: String, values::FormattedText;
        /// True for a deleted comment, which is listed because of its replies; otherwise missing.
        deleted?: bool;
        /// The original's name of `deleted`: 1 for a deleted comment, otherwise missing.
        del?: u8;
        /// Why the text is missing, although the comment is not deleted: the reason of the moderator
        /// who removed it, `flagged` while readers' flags hide it, or `held` while it waits for
        /// approval; otherwise missing. The author and moderators also get the text.
        removed?: &'a str, values::WithheldReason;
        /// True for a comment that the caller has muted, or whose author is muted or blocked;
        /// otherwise missing.
        muted?: bool;
        /// As what its author speaks; missing for somebody who speaks as a member.
        #[serde(rename = "as")]
        speaks_as?: &'static str, values::Speaker;
        /// The comment that this one replies to, if that is in an earlier part of the thread;
        /// otherwise missing.
        parent_id?: CommentId, u64;
        /// The replies.
        // Always empty here: `tree` writes the replies one by one.
        #[cfg_attr(test, schema(no_recursion))]
        replies: [(); 0], Vec<CommentEntry<'static>>;
    }

    /// A comment that a search has found.
    pub struct FoundComment from (found: &Seen<SiteComment>) {
        /// The id, unique within the story.
        id: CommentId = found.line().comment.id, u64;
        /// The story.
        news_id: NewsId = found.news.id, u64;
        /// The title of the story.
        story_title: String = found.news.title.clone(), values::StoredTitle;
        /// The time of writing.
        ctime: Timestamp = found.line().comment.ctime, u64;
        /// The author; `[deleted user]` if the account no longer exists.
        username: String = found.line().username.unwrap_or(DELETED_USER).to_owned(), values::StoredUsername;
        /// The number of votes up.
        up: i64 = found.line().comment.votes()[0];
        /// The number of votes down.
        down: i64 = found.line().comment.votes()[1];
        /// The text.
        body: String = size::shown(found.line().body()).to_owned(), values::StoredComment;
        /// The text as HTML, as pages show it.
        html: String = formatted(found.line().body()), values::FormattedText;
    }

    /// A text as HTML.
    pub struct PreviewResponse as Preview {
        status;
        /// The text as pages will show it.
        html: String, values::FormattedText;
    }
}

/// The id of a comment, or -1 for none.
#[derive(Serialize)]
#[serde(untagged)]
enum ParentId {
    Comment(CommentId),
    None(i8),
}

/// POST /api/postcomment.
pub async fn post(app: App, form: SignedFields) -> Result<Json<CommentPostedResponse>> {
    Ok(Json(post_or_edit(&app, form.actor(), &form.fields.read()?).await?.into()))
}

/// POST /api/preview.
pub async fn preview(Form(form): Form<PreviewForm>) -> Result<Json<PreviewResponse>> {
    let html = if form.text.trim().is_empty() {
        String::new()
    } else {
        formatted(Body::parse_text(&form.text).map_err(Error::from)?.as_str())
    };
    Ok(Json(PreviewResponse { status: Status::Ok, html }))
}

/// The part of a thread to return.
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub struct ThreadPartQuery {
    /// Only comments after this one, in the order of the thread: the `next` of an earlier
    /// response.
    #[cfg_attr(test, param(value_type = values::CommentCursor, required = false))]
    after: Option<CommentId>,
    /// The maximum number of comments; 500 by default. There may be fewer, because a response
    /// has at most 2 MiB.
    #[cfg_attr(test, param(value_type = values::CommentCount, required = false))]
    count: usize,
    /// The order of comments that reply to the same: by score, by default.
    #[cfg_attr(test, param(value_type = values::CommentOrder, required = false))]
    sort: CommentOrder,
}

/// The error message for an invalid field `after`.
const AFTER: &Message =
    m!("it must be the value of next in an earlier answer, and its comment must still exist");

impl FromFields for ThreadPartQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let count =
            paging::count_up_to(MAX_API_COMMENTS, fields, m!("it must be a whole number from 1 to 500"))?;
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

/// GET /api/getcomments/{news_id}.
pub async fn thread(
    PathOf(id): PathOf<NewsId>,
    Page { mut visit, .. }: Page,
    Form(query): Form<ThreadPartQuery>,
) -> Result<Response> {
    let wanted = |lines: &ThreadLines| query.part(lines).unwrap_or_default().collect();
    let thread = threads::get(&mut visit, id, query.sort.into(), wanted).await?;
    let lines = thread.outline();
    let part = query.part(lines).ok_or(RequestError::field("after", AFTER))?;
    let last = part.clone().last().filter(|_| part.end < lines.places().len());
    let next = last.and_then(|last| lines.places().get(last)).map(|place| place.id.to_string());
    let next = serde_json::to_string(&next).map_err(|error| Error::Internal(error.to_string()))?;
    let new = thread.new_comments(visit.now(), true);
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
            voted: viewer.and_then(|viewer| comment.vote_of(viewer)),
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
