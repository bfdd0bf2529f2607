//! The page that explains the site and how it ranks stories.

use crate::error::Result;
use crate::features::accounts::register::ways_in;
use crate::markup::addresses::{FEEDS, LEAVE};
use crate::markup::markdown::markdown;
use crate::markup::parts::{Column, table};
use crate::markup::{Frame, Page};
use maud::{Markup, html};
use tidings_domain::articles::article::{OPEN_SECONDS, VOTE_SCORE};
use tidings_domain::keys::kept::{CLASSES, Class};
use tidings_domain::values::{LimitRules, MAX_PINNED, ModerationRules, RankingRules, Rules, SESSION_SECONDS};
use tidings_language::numbers::number;
use tidings_language::spans::{every, span};
use tidings_language::{p, t};
use tidings_search::asking::{AGE_HALF_DAYS, AGE_WEIGHT, VOTES_WEIGHT, WEIGHTS};

const SECONDS_A_DAY: u64 = 86_400;

/// GET /about.
pub async fn about(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let (site, brand) = (frame.site(), &frame.brand);
    let is_shut = frame.is_shut();
    let head = html! {
        h1 { (t!("About {site}", site = &site.name)) }
        @if !site.description.is_empty() { p { (as_sentence(&site.description)) } }
        @if is_shut { p { (t!("Only members can read this site.")) } }
        @if !brand.about.is_empty() && !is_shut { (site_text(&brand.about, &frame)) }
        @if !brand.rules.is_empty() {
            h2 #rules { (t!("Rules")) }
            (site_text(&brand.rules, &frame))
        }
    };
    let contact = html! {
        @if !site.contact.is_empty() {
            h2 { (t!("Contact")) }
            p {
                (t!(
                    "Write to {contact}.",
                    contact = html! { a href=(contact_link(&site.contact)) { (site.contact) } }
                ))
            }
        }
    };
    if is_shut {
        return Ok(frame.page(t!("About"), &html! { div.prose { (head) (contact) } }));
    }
    let key = |key: &str| html! { kbd { (key) } };
    let content = html! {
        div.prose {
            (head)
            @if !brand.about.is_empty() || !brand.rules.is_empty() { h2 { (t!("How it works")) } }
            p {
                (if frame.is_for_members() { t!("Members can read.") } else { t!("Anyone can read.") })
                " "
                (t!(
                    "With an account you can submit links and texts, vote them up and down, and discuss them. Votes \
                     and time decide what is at the top, below up to {most} stories that administrators can pin \
                     there: {ranking}.",
                    most = MAX_PINNED,
                    ranking = html! { a href="/ranking" { (t!("how the ranking works")) } }
                ))
            }
            @if frame.rules.features.timelines {
                @let posts = html! { a href="/everyone" { (t!("everyone’s posts")) } };
                p {
                    (t!("You can also follow people and read their posts and stories in one place."))
                    " "
                    (if frame.is_for_members() {
                        t!("Members can read {posts}.", posts)
                    } else {
                        t!("Anyone can read {posts}.", posts)
                    })
                }
            }
            h2 { (t!("How to get an account")) }
            p {
                (ways_in(&frame)) " "
                (t!(
                    "Everyone can see {tree}. New accounts can do less until they are {trusted}.",
                    tree = html! { a href="/people/tree" { (t!("who invited whom")) } },
                    trusted = html! { a href="/about/trust" { (t!("trusted")) } }
                ))
            }
            (contact)
            h2 { (t!("Feeds")) }
            p {
                (t!(
                    "Every list here is also a feed for any feed reader: new stories, comments, topics, \
                     people, sites and searches. {all_feeds}.",
                    all_feeds = html! { a href=(FEEDS) { (t!("All feeds")) } }
                ))
            }
            h2 { (t!("Keyboard shortcuts")) }
            p {
                (t!(
                    "{j} and {k} go to the next and previous story, comment or post, {enter} opens it, {a} and \
                     {z} vote it up and down, {question_mark} lists all of them. The shortcuts need JavaScript; \
                     everything else works without it.",
                    j = key("j"),
                    k = key("k"),
                    enter = key("Enter"),
                    a = key("a"),
                    z = key("z"),
                    question_mark = key("?")
                ))
            }
            (privacy(&app.site.rules))
        }
    };
    Ok(frame.page(t!("About"), &content))
}

/// The address of a contact: a page, or a mail address.
pub fn contact_link(contact: &str) -> String {
    if contact.contains("://") { contact.to_owned() } else { format!("mailto:{contact}") }
}

/// The data that is stored about people, and who sees it.
fn privacy(rules: &Rules) -> Markup {
    html! {
        h2 #privacy { (t!("What we store about you")) }
        p {
            (t!(
                "We store your username, a hash of your password (not the password itself), what you write, \
                 how you vote, whom you follow, what you have saved, hidden, muted, blocked or flagged, and how \
                 far you have read discussions. We store an e-mail address only if you enter one. If somebody \
                 invited you, we store who; if you applied for your account, what you wrote. One \
                 cookie keeps you logged in, and another remembers what kind of results you last searched for. \
                 Drafts you have not sent stay in your browser."
            ))
        }
        p {
            (t!(
                "If you set up two-step login, we store the secret that your authenticator app shares with the \
                 site, the public keys and names of your passkeys, and hashes of your recovery codes. Your \
                 fingerprint or PIN never leaves your device."
            ))
        }
        p {
            (t!(
                "When you are logged in, you can {export} and {delete}.",
                export = html! { a href="/api/export" { (t!("export all your data")) } },
                delete = html! { a href=(LEAVE) { (t!("delete your account")) } }
            ))
        }
        (retention(rules))
        (addresses(&rules.moderation))
        (moderation())
    }
}

/// How long what is stored about people is kept.
fn retention(rules: &Rules) -> Markup {
    html! {
        h2 #retention { (t!("How long we keep it")) }
        ul {
            @for Class { name, kept, .. } in CLASSES { li { (t!("{name}: {value}.", name = name.text(), value = kept.on(rules))) } }
        }
    }
}

/// Which network addresses are kept, for how long, and who sees them.
fn addresses(rules: &ModerationRules) -> Markup {
    let days = rules.keep_addresses_days;
    html! {
        h2 { (t!("Network addresses")) }
        ul {
            @if days > 0 {
                li {
                    (t!(
                        "When you sign up, or write a story, a comment or a post, we keep your network address \
                         for {span} and then forget it. Administrators can see it. Moderators see a tag for your \
                         network, which does not reveal the address, and who else has the same tag.",
                        span = span(days * SECONDS_A_DAY)
                    ))
                }
            } @else {
                li { (t!("We don’t store your IP address with your posts.")) }
            }
            li {
                (t!(
                    "Each of your sessions keeps the address you logged in from. Only you can see it, under \
                     {sessions}. A session is forgotten when you log out, or {span} after your last visit.",
                    sessions = html! { a href="/settings/sessions" { (t!("sessions")) } },
                    span = span(SESSION_SECONDS)
                ))
            }
            li {
                (t!(
                    "When you vote on a site, we keep the network you voted from, but not the address, for as \
                     long as we keep the vote. We show it to nobody."
                ))
            }
            li {
                (t!(
                    "To prevent abuse, we count sign-ups, failed logins, posts and votes from each address and \
                     network for up to a day."
                ))
            }
        }
    }
}

/// The data that moderation keeps, and who sees it.
fn moderation() -> Markup {
    html! {
        h2 { (t!("Moderation")) }
        ul {
            li {
                (t!(
                    "Everything moderators do is in the public {log}: what they did, to what or whom, when and why. \
                     It stays there. Removed texts, e-mail addresses and network addresses are not in it.",
                    log = html! { a href="/moderations" { (t!("moderation log")) } }
                ))
            }
            li {
                (t!(
                    "Content that moderators remove or hold for approval is kept, and can be put back. Only \
                     its author and moderators can see it. What administrators erase is gone."
                ))
            }
            li {
                (t!(
                    "If you flag something, moderators read the reason and your note. Only moderators can see who \
                     flagged what. The more often moderators agree with your flags, the more they count."
                ))
            }
            li {
                (t!(
                    "Moderators can write notes about people that only moderators can read. If you appeal \
                     against a decision, moderators read your appeal. You can {write}; only you and they can read \
                     that, and it is deleted with your account.",
                    write = html! { a href="/moderators" { (t!("write to them")) } }
                ))
            }
            li { (t!("Moderators can search the votes for accounts that vote for each other all the time.")) }
        }
    }
}

/// A text of the site's administrators.
pub(super) fn site_text(text: &str, frame: &Frame<'_>) -> Markup {
    html! { div.text.formatted dir="auto" { (markdown(text, frame.link_target())) } }
}

/// The description of the site with a full stop.
pub(super) fn as_sentence(description: &str) -> String {
    let stop = if description.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{description}{stop}")
}

/// The settings in use.
fn settings(rules: &Rules) -> Markup {
    let Rules { ranking, karma, limits, .. } = rules;
    let rows: [(&str, String); 22] = [
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
        ("karma.comment_upvote_transfer", karma.comment_upvote_transfer.to_string()),
        ("karma.comment_downvote_minimum", karma.comment_downvote_minimum.to_string()),
        ("karma.comment_downvote_cost", karma.comment_downvote_cost.to_string()),
        ("karma.new_topic_minimum", karma.new_topic_minimum.to_string()),
        ("limits.submission_seconds", limits.submission_seconds.to_string()),
        ("limits.repost_seconds", limits.repost_seconds.to_string()),
        ("limits.news_edit_seconds", limits.news_edit_seconds.to_string()),
        ("limits.comment_edit_seconds", limits.comment_edit_seconds.to_string()),
    ];
    let columns = [Column::Words(t!("setting")), Column::Numbers(t!("value"))];
    let rows = html! { @for (name, value) in rows { tr { td { code { (name) } } td.number { (value) } } } };
    table(t!("Settings"), &columns, &rows)
}

fn ranking(rules: &RankingRules) -> Markup {
    html! {
        h2 { (t!("Score")) }
        code.formula { (t!("score = up − down")) }
        p {
            (t!(
                "Stories with many votes get a bonus. Let {v} be half the upvotes plus half the downvotes, each \
                 rounded down. If {v} is over {start}:",
                v = html! { code { "v" } },
                start = rules.log_start
            ))
        }
        code.formula {
            (t!(
                "score = up − down + {factor} × ln(v − {start})",
                factor = rules.log_factor.to_string(),
                start = rules.log_start
            ))
        }
        h2 { (t!("Rank")) }
        code.formula {
            (t!(
                "rank = score × {scale} ÷ (age + {padding}){exponent}",
                scale = decimal(rules.scale),
                padding = rules.age_padding_seconds,
                exponent = html! { sup { (rules.age_exponent) } }
            ))
        }
        p {
            (t!(
                "The age is in seconds. Adding {span} keeps new stories from shooting up at the first vote. The \
                 higher the exponent, the faster stories sink.",
                span = span(rules.age_padding_seconds)
            ))
            @if rules.age_limit_seconds > 0 {
                " "
                (t!(
                    "Stories older than {span} rank below all others, the oldest last.",
                    span = span(rules.age_limit_seconds)
                ))
            }
        }
    }
}

/// The other ranking, whose numbers are fixed.
fn best() -> Markup {
    html! {
        h2 { (t!("heading" => "Best")) }
        p {
            (t!(
                "The list of the {best} stories and those of {topics} follow a simpler rule:",
                best = html! { a href="/best" { (t!("stories" => "best")) } },
                topics = html! { a href="/topics" { (t!("topics")) } }
            ))
        }
        code.formula { (t!("score = time of posting + {score} × votes", score = VOTE_SCORE)) }
        p {
            (t!(
                "The time is in seconds since 1970. An upvote is worth {score} seconds, so {upvotes} of them keep a \
                 story up for one more day. Votes count for {span}; after that the score is fixed. The author's own \
                 vote counts; downvotes do not. A story never sinks by itself: newer ones rise past it.",
                score = VOTE_SCORE,
                upvotes = 86_400 / VOTE_SCORE,
                span = span(OPEN_SECONDS)
            ))
        }
        h2 { (t!("By votes alone")) }
        p {
            (t!(
                "The tabs beside {now} list the stories of the last 24 hours, 7 days, 30 days and 365 days, and all \
                 stories, by votes up less votes down. The {best} and {random} have pages of their own.",
                now = html! { a href="/" { (t!("tab" => "Now")) } },
                best = html! { a href="/past" { (t!("best of each day and month")) } },
                random = html! { a href="/random" { (t!("a random story")) } }
            ))
        }
    }
}

/// The order of search results, whose numbers are fixed.
fn search() -> Markup {
    let [title, title_stem, place, text, text_stem] = WEIGHTS.map(|weight| weight.to_string());
    html! {
        h2 #search { (t!("noun" => "Search")) }
        p {
            (t!("Results of a search whose titles have every word come first. Otherwise, the order is by relevance:"))
        }
        code.formula {
            (t!(
                "relevance = text × (1 + {votes} × ln(1 + votes)) × (1 − {age} × (1 − 2{exponent}))",
                votes = VOTES_WEIGHT.to_string(),
                age = AGE_WEIGHT.to_string(),
                exponent = html! { sup { (t!("−days ÷ {half}", half = AGE_HALF_DAYS.to_string())) } }
            ))
        }
        p {
            (t!(
                "The text factor (BM25) counts rare words more than common ones. A word counts {title} in the title, \
                 {place} in the host and topics, and {text} in the text; another form of it counts {title_stem} and \
                 {text_stem}.",
                title,
                place,
                text,
                title_stem,
                text_stem
            ))
        }
    }
}

fn limits(rules: &LimitRules) -> Markup {
    html! {
        h2 { (t!("Time limits")) }
        ul {
            @if rules.submission_seconds > 0 {
                li { (t!("You can submit one story {how_often}.", how_often = every(rules.submission_seconds))) }
            }
            @if rules.repost_seconds > 0 {
                li {
                    (t!(
                        "Submitting a link again within {span} leads to the earlier story.",
                        span = span(rules.repost_seconds)
                    ))
                }
            }
            li {
                (match rules.news_edit_seconds {
                    0 => p!("You can edit or delete your stories at any time."),
                    most => t!("You can edit or delete your stories for {span}.", span = span(most)),
                })
            }
            li {
                (match rules.comment_edit_seconds {
                    0 => p!("You can edit or delete your comments at any time."),
                    most => t!("You can edit or delete your comments for {span}.", span = span(most)),
                })
            }
        }
    }
}

/// A number with thousands separators before its decimal point.
fn decimal(value: f64) -> String {
    let text = value.to_string();
    let (whole, fraction) = text.find('.').map_or((text.as_str(), ""), |point| text.split_at(point));
    whole.parse().map_or(text.clone(), |whole: i64| format!("{}{fraction}", number(whole)))
}

/// How stories are scored and ranked and what karma does, with the settings in use.
fn ranking_shown(frame: &Frame<'_>, rules: &Rules) -> Markup {
    let content = html! {
        div.prose {
            p {
                (t!(
                    "Two things decide the place of a story on the front page: its votes and its age. It makes no \
                     difference who submitted it. Administrators can pin up to {most} stories above all others for a \
                     time; they are marked, and the {log} says who pinned them. These are the rules, with the numbers \
                     that this site uses.",
                    most = MAX_PINNED,
                    log = html! { a href="/moderations" { (t!("moderation log")) } }
                ))
            }
            (ranking(&rules.ranking))
            (best())
            @if frame.settings.search.is_on { (search()) }
            (limits(&rules.limits))
        }
        h2 { (t!("Settings")) }
        (settings(rules))
    };
    frame.headed(t!("How the ranking works"), &content)
}

/// GET /ranking.
pub async fn ranking_page(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    Ok(ranking_shown(&Frame::of(&app, &mut visit, &here).await?, &app.site.rules))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::framed;

    #[test]
    fn decimals_are_grouped_before_the_point() {
        for (value, text) in [(1_000_000.0, "1,000,000"), (0.001, "0.001"), (1_234.5, "1,234.5"), (2.0, "2")]
        {
            assert_eq!(decimal(value), text);
        }
    }

    #[test]
    fn the_page_shows_the_constants_in_use() {
        let mut rules = Rules::default();
        rules.ranking.age_exponent = 1.375;
        rules.karma.downvote_minimum = 4_711;
        rules.limits.comment_edit_seconds = 0;
        let html = framed(None, |frame| ranking_shown(frame, &rules)).into_string();
        for part in ["<sup>1.375</sup>", "4711", "8 hours", "at any time", "432 × votes", "7 days"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
