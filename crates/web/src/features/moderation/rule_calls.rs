//! Rules that new posts are checked with.

use super::rule_form::RuleForm;
use super::rules::add_rule;
use crate::App;
use crate::error::RequestError;
use crate::limits::LONG_ACTION_WAIT;
use crate::request::answers::Status;
use crate::request::description::FORM;
use crate::request::values;
use crate::request::viewer::SignedForm;
use axum::Json;
use serde::Serialize;
use tidings_domain::moderation::rules::{self, DryRun, RuleMatch};
use tidings_domain::values::ids::{ModerationId, RuleId};
use utoipa::ToSchema;

/// The outcome of adding a rule, or of trying it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = RuleOutcome)]
pub enum RuleResponse {
    /// The rule was added.
    Added(RuleAddedResponse),
    /// The rule was tried.
    Tried(DryRunResponse),
}

/// A rule was added.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleAdded)]
pub struct RuleAddedResponse {
    status: Status,
    /// The rule.
    #[schema(value_type = u64)]
    rule_id: RuleId,
    /// The line in the log.
    #[schema(value_type = u64)]
    moderation_id: ModerationId,
}

/// The posts of the last 30 days that a rule would have caught.
#[derive(Serialize, ToSchema)]
#[schema(as = DryRun)]
pub struct DryRunResponse {
    status: Status,
    /// How many posts.
    count: u64,
    /// The first 100 of them.
    matches: Vec<MatchedThing>,
    /// False if there were too many posts to look at all of them in time.
    finished: bool,
}

/// A post that a rule would have caught.
#[derive(Serialize, ToSchema)]
pub struct MatchedThing {
    /// The kind of thing.
    #[schema(value_type = values::ThingKind)]
    kind: &'static str,
    /// Which.
    #[schema(value_type = values::ThingId)]
    id: String,
}

impl From<&RuleMatch> for MatchedThing {
    fn from(RuleMatch { thing, .. }: &RuleMatch) -> Self {
        Self { kind: thing.kind(), id: thing.id() }
    }
}

impl From<DryRun> for DryRunResponse {
    fn from(DryRun { count, matches, finished }: DryRun) -> Self {
        Self {
            status: Status::Ok,
            count,
            matches: matches.iter().map(MatchedThing::from).collect(),
            finished,
        }
    }
}

/// Add a rule that new posts are checked with, or try it (moderators only).
#[utoipa::path(
    post,
    path = "/api/moderate/rule",
    request_body(content = inline(RuleForm), content_type = FORM),
    responses((status = 200, body = RuleResponse)),
    security(("session" = [])),
)]
pub async fn add(
    app: App,
    SignedForm { user, form }: SignedForm<RuleForm>,
) -> Result<Json<RuleResponse>, RequestError> {
    let is_trial = form.dry_run;
    let rule = form.into();
    if is_trial {
        let found = rules::dry_run(&app.site, app.moment(), &user, (&rule, LONG_ACTION_WAIT)).await?;
        return Ok(Json(RuleResponse::Tried(found.into())));
    }
    let (rule_id, moderation_id) = add_rule(&app, &user, &rule).await?;
    Ok(Json(RuleResponse::Added(RuleAddedResponse { status: Status::Ok, rule_id, moderation_id })))
}
