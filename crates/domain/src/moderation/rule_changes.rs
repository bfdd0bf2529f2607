//! The effects of adding and lifting a rule.

use super::{Case, Effect};
use crate::post_rules::PostRules;
use crate::values::{MAX_RULES, Pattern, PatternError, PostRule, RuleEffect, RuleId};
use crate::{Error, Refusal, Result, keys};
use tidings_keyspace::read;

/// The effect of adding a rule.
pub(super) async fn add(
    case: &Case<'_>,
    id: RuleId,
    (pattern, effect): (&Pattern, RuleEffect),
) -> Result<Effect> {
    let rule = PostRule { id, pattern: pattern.clone(), effect, reason: case.reason.clone() };
    let json = rule.to_json();
    demand_room_for(case, rule).await?;
    let mut result = Effect::default();
    result.change(keys::RULES, id.to_string(), (None, Some(&json)));
    Ok(result)
}

/// Refuses a rule that cannot come back, because others have taken its room.
pub(super) async fn demand_admissible(case: &Case<'_>, id: &str, json: &str) -> Result<()> {
    let rule = id.parse().ok().and_then(|id| PostRule::from_json(id, json));
    demand_room_for(case, rule.ok_or(Refusal::CannotBeUndone)?).await
}

/// Refuses a rule too many. Rounds: 1.
async fn demand_room_for(case: &Case<'_>, rule: PostRule) -> Result<()> {
    let rules = case.site.store.fetch(read::hash(keys::RULES)).await?;
    Refusal::TooManyRules { limit: MAX_RULES }.when(rules.0.len() >= MAX_RULES)?;
    demand_compilable(rules.0, &rule).await
}

/// Refuses a rule that does not fit into the bound on all of them together.
async fn demand_compilable(stored: Vec<(String, String)>, new: &PostRule) -> Result<()> {
    let known = stored.into_iter().filter_map(|(id, json)| PostRule::from_json(id.parse().ok()?, &json));
    let rules: Vec<PostRule> = known.chain([new.clone()]).collect();
    let fits = tokio::task::spawn_blocking(|| PostRules::new(rules).is_complete()).await;
    if fits.map_err(|error| Error::Internal(error.to_string()))? {
        return Ok(());
    }
    Err(Refusal::Pattern(PatternError::TooLargeTogether).into())
}

/// The effect of lifting a rule.
pub(super) async fn lift(case: &Case<'_>, id: RuleId) -> Result<Effect> {
    let stored =
        case.site.store.fetch(read::field(keys::RULES, id.to_string())).await?.ok_or(Refusal::NoSuchRule)?;
    let mut effect = Effect::default();
    effect.change(keys::RULES, id.to_string(), (Some(&stored), None));
    Ok(effect)
}
