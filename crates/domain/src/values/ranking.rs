//! Score and rank of news: functions of numbers, explained in `docs/ranking.md`.

use crate::values::{RankingRules, Timestamp};

/// The score of an item: votes up minus votes down, plus a logarithmic bonus
/// once many have voted. Votes are halved one side at a time, as whole
/// numbers, before they count towards the bonus (the rule of Lamer News).
pub fn score(up: i64, down: i64, rules: &RankingRules) -> f64 {
    let balance = up.saturating_sub(down) as f64;
    let halves = up / 2 + down / 2;
    if halves > rules.log_start {
        balance + rules.log_factor * ((halves - rules.log_start) as f64).ln()
    } else {
        balance
    }
}

/// The rank of an item: its score, sinking with its age. Items over the age
/// limit rank below all others, the oldest last.
pub fn rank(score: f64, posted: Timestamp, now: Timestamp, rules: &RankingRules) -> f64 {
    let age = now.seconds_since(posted);
    if rules.age_limit_seconds > 0 && age > rules.age_limit_seconds {
        return -(age as f64);
    }
    let weight = (age.saturating_add(rules.age_padding_seconds).max(1) as f64).powf(rules.age_exponent);
    score * rules.scale / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= right.abs() * 1e-12
    }

    #[test]
    fn the_score_is_up_minus_down_until_many_vote() {
        let rules = RankingRules::default();
        for (up, down, expected) in
            [(1, 0, 1.0), (0, 0, 0.0), (3, 5, -2.0), (20, 0, 20.0), (21, 0, 21.0), (11, 11, 0.0)]
        {
            assert!(close(score(up, down, &rules), expected), "{up} up, {down} down");
        }
        assert!(close(score(22, 0, &rules), 22.0 + 2.0 * 1f64.ln()));
        assert!(close(score(30, 0, &rules), 30.0 + 2.0 * 5f64.ln()));
        // 13/2 + 13/2 in whole numbers is 12, not 13.
        assert!(close(score(13, 13, &rules), 2.0 * 2f64.ln()));
    }

    #[test]
    fn the_rank_sinks_with_age_and_falls_below_zero_past_the_limit() {
        let rules = RankingRules::default();
        let posted = Timestamp(1_000_000);
        let fresh = rank(5.0, posted, posted, &rules);
        assert!(close(fresh, 5.0 * 1_000_000.0 / 28_800f64.powf(1.1)));
        assert!(rank(5.0, posted, Timestamp(1_003_600), &rules) < fresh);
        let limit = Timestamp(1_000_000 + 2_592_000);
        assert!(rank(5.0, posted, limit, &rules) > 0.0);
        assert!(close(rank(5.0, posted, Timestamp(limit.0 + 1), &rules), -2_592_001.0));
    }

    #[test]
    fn an_item_from_the_future_counts_as_new() {
        let rules = RankingRules::default();
        assert!(close(
            rank(1.0, Timestamp(2_000), Timestamp(1_000), &rules),
            rank(1.0, Timestamp(1_000), Timestamp(1_000), &rules)
        ));
    }
}
