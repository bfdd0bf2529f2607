//! What the site is, and how it ranks.

use super::layout::Frame;
use crate::App;
use crate::error::Failure;
use crate::local_path::LocalPath;
use axum::extract::State;
use maud::{Markup, html};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::article::{OPEN_SECONDS, VOTE_SCORE};
use tidings_domain::values::rules::{KarmaRules, LimitRules, RankingRules, Rules};

/// GET /about.
pub async fn about(State(app): State<App>, mut visit: Visit, here: LocalPath) -> Result<Markup, Failure> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let site = &app.settings.site;
    let content = html! {
        div.prose {
            h1 { "About " (site.name) }
            @if !site.description.is_empty() { p { (site.description) "." } }
            p {
                "Everybody may read here. With an account you submit links and texts, vote them up and down, \
                 and discuss them. What is on top is decided by these votes and by time alone: "
                a href="/ranking" { "how the ranking works" } "."
            }
            p {
                "You can also follow people: what they tweet and submit is on your home page. "
                a href="/everyone" { "Everyone's tweets" } " are for everybody to read."
            }
            h2 { "Reading elsewhere" }
            p {
                "The latest news come as " a href="/rss" { "RSS" } " and as " a href="/atom" { "Atom" }
                ", for any feed reader. So do the tweets of each person: a reader finds the feed at the "
                "address of the profile."
            }
            h2 { "With the keyboard" }
            p {
                kbd { "j" } " and " kbd { "k" } " go to the next and the previous item, "
                kbd { "Enter" } " opens it, " kbd { "a" } " and " kbd { "z" } " vote it up and down, "
                kbd { "?" } " shows this list. Everything works without JavaScript too, but these keys do not."
            }
            h2 { "What is kept about you" }
            p {
                "Your name, your password as a hash that does not lead back to it, what you write, and how you \
                 vote and whom you follow. An e-mail address only when you give one. There is one cookie: your session, once you \
                 are logged in."
            }
        }
    };
    Ok(frame.page("About", &content))
}

/// How news are scored and ranked and what karma does, with the constants in use.
struct RankingPage<'a> {
    rules: &'a Rules,
}

impl RankingPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "How the ranking works" }
            div.prose {
                p {
                    "Two things decide where an item stands on the front page: its votes and its age. \
                     Nobody moves items by hand, and who you are makes no difference. \
                     These are the rules, with the numbers in use right now."
                }
                (ranking(&self.rules.ranking))
                (best())
                (karma(&self.rules.karma))
                (limits(&self.rules.limits))
            }
            h2 { "The constants" }
            (self.table())
        };
        frame.page("How the ranking works", &content)
    }

    fn table(&self) -> Markup {
        let Rules { ranking, karma, limits, .. } = self.rules;
        let rows: [(&str, String); 19] = [
            ("ranking.log_start", ranking.log_start.to_string()),
            ("ranking.log_factor", ranking.log_factor.to_string()),
            ("ranking.age_padding_seconds", ranking.age_padding_seconds.to_string()),
            ("ranking.age_exponent", ranking.age_exponent.to_string()),
            ("ranking.age_limit_seconds", ranking.age_limit_seconds.to_string()),
            ("ranking.scale", ranking.scale.to_string()),
            ("karma.initial", karma.initial.to_string()),
            ("karma.visit_increment", karma.visit_increment.to_string()),
            ("karma.visit_seconds", karma.visit_seconds.to_string()),
            ("karma.upvote_minimum", karma.upvote_minimum.to_string()),
            ("karma.upvote_cost", karma.upvote_cost.to_string()),
            ("karma.upvote_transfer", karma.upvote_transfer.to_string()),
            ("karma.downvote_minimum", karma.downvote_minimum.to_string()),
            ("karma.downvote_cost", karma.downvote_cost.to_string()),
            ("karma.new_topic_minimum", karma.new_topic_minimum.to_string()),
            ("limits.submission_seconds", limits.submission_seconds.to_string()),
            ("limits.repost_seconds", limits.repost_seconds.to_string()),
            ("limits.news_edit_seconds", limits.news_edit_seconds.to_string()),
            ("limits.comment_edit_seconds", limits.comment_edit_seconds.to_string()),
        ];
        html! {
            div.scroll tabindex="0" role="region" aria-label="The constants" {
                table {
                    thead { tr { th scope="col" { "setting" } th.number scope="col" { "value" } } }
                    tbody {
                        @for (name, value) in rows {
                            tr { td { code { (name) } } td.number { (value) } }
                        }
                    }
                }
            }
        }
    }
}

fn ranking(rules: &RankingRules) -> Markup {
    html! {
        h2 { "Score" }
        code.formula { "score = up − down" }
        p {
            "Once many have voted a bonus is added. Half of the votes up plus half of the votes down, each in "
            "whole numbers, are " code { "v" } "; when " code { "v" } " is over " (rules.log_start) ":"
        }
        code.formula {
            "score = up − down + " (rules.log_factor) " × ln(v − " (rules.log_start) ")"
        }
        h2 { "Rank" }
        code.formula {
            "rank = score × " (rules.scale) " ÷ (age + " (rules.age_padding_seconds) ")"
            sup { (rules.age_exponent) }
        }
        p {
            "The age is in seconds. The " (duration(rules.age_padding_seconds))
            " added to it keep new items from shooting up at the first vote. The higher the exponent, "
            "the faster items sink."
            @if rules.age_limit_seconds > 0 {
                " An item older than " (duration(rules.age_limit_seconds))
                " ranks below all others, the oldest last."
            }
        }
    }
}

/// The other ranking, whose constants are fixed.
fn best() -> Markup {
    html! {
        h2 { "Best" }
        p {
            "The lists " a href="/best" { "best" } " and those of " a href="/topics" { "topics" }
            " follow another, simpler rule:"
        }
        code.formula { "score = time of posting + " (VOTE_SCORE) " × votes" }
        p {
            "The time is in seconds since 1970. A vote up is worth " (VOTE_SCORE) " seconds, so "
            (86_400 / VOTE_SCORE) " of them keep an item up for one more day. Votes count for "
            (duration(OPEN_SECONDS)) "; after that the score is fixed. The author's own vote counts, votes down "
            "do not. An item never sinks by itself: newer ones rise past it."
        }
    }
}

fn karma(rules: &KarmaRules) -> Markup {
    html! {
        h2 { "Karma" }
        ul {
            li { "A new account begins with " (rules.initial) "." }
            @if rules.visit_increment > 0 && rules.visit_seconds > 0 {
                li { "Visiting earns " (rules.visit_increment) ", at most once every " (duration(rules.visit_seconds)) "." }
            }
            li {
                "A vote up needs " (rules.upvote_minimum.max(rules.upvote_cost)) ", costs you "
                (rules.upvote_cost) " and gives the author " (rules.upvote_transfer) "."
            }
            li {
                "A vote down needs " (rules.downvote_minimum.max(rules.downvote_cost)) " and costs you "
                (rules.downvote_cost) "."
            }
            li { "Votes on your own items and on comments cost nothing." }
            li { "A topic that does not exist yet needs " (rules.new_topic_minimum) " of who names it first." }
        }
    }
}

fn limits(rules: &LimitRules) -> Markup {
    html! {
        h2 { "Time limits" }
        ul {
            @if rules.submission_seconds > 0 {
                li { "You may submit one item every " (duration(rules.submission_seconds)) "." }
            }
            @if rules.repost_seconds > 0 {
                li { "A link submitted again within " (duration(rules.repost_seconds)) " leads to the earlier item." }
            }
            li { "You may change or delete your items " (window(rules.news_edit_seconds)) "." }
            li { "You may change or delete your comments " (window(rules.comment_edit_seconds)) "." }
        }
    }
}

fn window(seconds: u64) -> String {
    if seconds == 0 { "at any time".to_owned() } else { format!("for {}", duration(seconds)) }
}

/// A span of time in the largest unit that divides it.
fn duration(seconds: u64) -> String {
    let (size, unit) = [(86_400, "day"), (3_600, "hour"), (60, "minute")]
        .into_iter()
        .find(|(size, _)| seconds >= *size && seconds.is_multiple_of(*size))
        .unwrap_or((1, "second"));
    super::parts::counted(seconds / size, unit, &format!("{unit}s"))
}

/// GET /ranking.
pub async fn ranking_page(
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, Failure> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(RankingPage { rules: &app.site.rules }.render(&frame))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::framed;
    use super::*;

    #[test]
    fn spans_are_told_in_the_largest_unit_that_divides_them() {
        for (seconds, text) in [
            (28_800, "8 hours"),
            (2_592_000, "30 days"),
            (90, "90 seconds"),
            (60, "1 minute"),
            (0, "0 seconds"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn the_page_shows_the_constants_in_use() {
        let mut rules = Rules::default();
        rules.ranking.age_exponent = 1.375;
        rules.karma.downvote_minimum = 4_711;
        rules.limits.comment_edit_seconds = 0;
        let html = framed(None, |frame| RankingPage { rules: &rules }.render(frame)).into_string();
        for part in
            ["<sup>1.375</sup>", "4711", "8 hours", "at any time", "ranking.scale", "432 × votes", "7 days"]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
