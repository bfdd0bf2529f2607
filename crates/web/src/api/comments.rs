//! Comments: writing, voting, reading a thread.

use super::news::{ID, ID_OR_NONE, VOTE, vote_name};
use super::ok;
use crate::error::Failure;
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape};
use crate::path::PathOf;
use crate::viewer::SignedForm;
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::threads::{self, Thread};
use tidings_domain::values::ids::{NewsId, UserId};

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Post,
        path: "/api/postcomment",
        summary: "Writes, edits or deletes a comment.",
        needs: Needs::Secret,
        inputs: &[
            Input::form("news_id", ID),
            Input::form("comment_id", ID_OR_NONE),
            Input::form("parent_id", ID_OR_NONE).optional(),
            Input::form("comment", Shape::Text { least: 0, most: 4_096 }),
        ],
        answer: Answer::Ours(&[
            ("op", Shape::Choice(&["insert", "update", "delete"])),
            ("comment_id", Shape::Number),
            ("parent_id", Shape::Number),
            ("news_id", Shape::Number),
        ]),
    },
    Call {
        method: Method::Post,
        path: "/api/votecomment",
        summary: "Votes on a comment.",
        needs: Needs::Secret,
        inputs: &[Input::form("comment_id", ADDRESS), Input::form("vote_type", VOTE)],
        answer: Answer::Ours(&[("comment_id", ADDRESS)]),
    },
    Call {
        method: Method::Get,
        path: "/api/getcomments/{news_id}",
        summary: "The comments of an item, as a tree.",
        needs: Needs::Nothing,
        inputs: &[Input::path("news_id", ID)],
        answer: Answer::Ours(&[("comments", Shape::List(&Shape::Comment, 2_000))]),
    },
];

const ADDRESS: Shape = Shape::Pattern("^[1-9][0-9]{0,14}-[1-9][0-9]{0,14}$", "1-1");

/// POST /api/postcomment: news_id, comment_id (-1 = new), parent_id, comment, apisecret.
pub async fn post(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let posted = actions::post_or_edit(&app, &form).await?;
    Ok(ok([
        ("op", posted.op.into()),
        ("comment_id", posted.address.comment.0.into()),
        ("parent_id", posted.parent.map_or_else(|| Value::from(-1), |parent| parent.0.into())),
        ("news_id", posted.address.news.0.into()),
    ]))
}

/// POST /api/votecomment: comment_id as `<news>-<comment>`, vote_type, apisecret.
pub async fn vote(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let address = actions::vote_comment(&app, &form).await?;
    Ok(ok([("comment_id", address.to_string().into())]))
}

/// GET /api/getcomments/:news_id.
pub async fn thread(PathOf(id): PathOf<NewsId>, mut visit: Visit) -> Result<Response, Failure> {
    let thread = threads::get(&mut visit, id).await?;
    let body = format!(r#"{{"status":"ok","comments":{}}}"#, tree(&thread, visit.viewer_id()));
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// The comments as nested JSON. Written without recursion, since a thread may
/// be deeper than a stack.
fn tree(thread: &Thread, viewer: Option<UserId>) -> String {
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
            "username": line.username.as_deref(),
            "up": comment.up.len(),
            "down": comment.down.len(),
            "voted": viewer.and_then(|viewer| comment.vote_of(viewer)).map(vote_name),
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
