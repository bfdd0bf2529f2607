//! Rules that new posts are checked with.

use super::form::switch;
use crate::error::RequestError;
use crate::request::form::{Fields, form, parsed, valid};
use crate::request::values;
use tidings_domain::Refusal;
use tidings_domain::moderation::rules::NewRule;
use tidings_domain::values::ids::RuleId;
use tidings_domain::values::moderation::Reason;
use tidings_domain::values::post_rule::{Pattern, RuleEffect, RuleKind};

form! {
    /// A rule to add or to try.
    pub struct RuleForm {
        /// The kind of the pattern.
        pub what: RuleKind = parsed(KIND), values::RuleKind;
        /// The pattern that the rule looks for.
        pub pattern: Pattern = pattern, values::Pattern;
        /// The effect on posts that match the pattern.
        pub effect: RuleEffect = parsed("it must be refuse or hold"), values::RuleEffect;
        /// Why. Authors of refused posts read it.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// `1` to add nothing, and to see what the rule would have caught.
        pub dry_run: bool = switch, values::Switch, required = false;
    }
}

const KIND: &str = "it must be domain, url, phrase or regex";

fn pattern(fields: &Fields, name: &'static str) -> Result<Pattern, RequestError> {
    Ok(Pattern::parse(fields.parsed("what", KIND)?, fields.required(name)?).map_err(Refusal::Pattern)?)
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
