//! Rules that new posts are checked with.

use super::form::{reason, switch};
use crate::error::RequestError;
use crate::request::form::{Fields, FromFields, form, parsed, valid};
use crate::request::values;
use tidings_domain::Refusal;
use tidings_domain::moderation::rules::NewRule;
use tidings_domain::values::ids::RuleId;
use tidings_domain::values::moderation::Reason;
use tidings_domain::values::post_rule::{Pattern, RuleEffect, RuleKind};
use utoipa::ToSchema;

/// A rule to add or to try.
#[derive(ToSchema)]
pub struct RuleForm {
    /// The kind of the pattern.
    #[schema(value_type = values::RuleKind)]
    pub what: RuleKind,
    /// The pattern that the rule looks for.
    #[schema(value_type = values::Pattern)]
    pub pattern: Pattern,
    /// The effect on posts that match the pattern.
    #[schema(value_type = values::RuleEffect)]
    pub effect: RuleEffect,
    /// Why. Authors of refused posts read it.
    #[schema(value_type = values::Reason)]
    pub reason: Reason,
    /// `1` to add nothing, and to see what the rule would have caught.
    #[schema(value_type = values::Switch, required = false)]
    pub dry_run: bool,
}

impl FromFields for RuleForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let what = fields.parsed("what", "it must be domain, url, phrase or regex")?;
        let pattern = Pattern::parse(what, fields.required("pattern")?).map_err(Refusal::Pattern)?;
        let effect = fields.parsed("effect", "it must be refuse or hold")?;
        fields.required("reason")?;
        Ok(Self { what, pattern, effect, reason: reason(fields)?, dry_run: switch(fields, "dry_run")? })
    }
}

impl From<RuleForm> for NewRule {
    fn from(RuleForm { pattern, effect, reason, .. }: RuleForm) -> Self {
        Self { pattern, effect, reason }
    }
}

form! {
    /// A rule to lift.
    pub struct LiftForm {
        /// The rule.
        pub rule_id: RuleId = parsed("it must be the number of a rule"), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
    }
}
