//! The reputation of sites: votes of accounts, histories, leaderboards, the
//! lookup that does not tell what is looked up, and what administrators need.

use super::ok;
use crate::error::Failure;
use crate::form::Fields;
use crate::json::{self, hostname};
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape};
use crate::path::PathOf;
use crate::viewer::{ClientAddress, SignedForm, SignedIn};
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::sites::{self, Board, Score, Span};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day::Day;
use tidings_domain::values::day::written;
use tidings_domain::values::hostname::{HashPrefix, Hostname};
use tidings_domain::values::limits::{MAX_HISTORY_DAYS, MAX_LINKS, MAX_VOTER_VOTES, TOP_VOTERS};
use tidings_domain::values::voter_id::VoterId;

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Post,
        path: "/api/sites/vote",
        summary: "Votes on a site, changes the vote, or takes it back with 0.",
        needs: Needs::Secret,
        inputs: &[Input::form("link", Shape::Host), Input::form("vote", Shape::Choice(&["1", "-1", "0"]))],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/sites/own",
        summary: "A voter's own votes on some sites.",
        needs: Needs::Nothing,
        inputs: &[
            Input::json("user_id", Shape::Uuid),
            Input::json("links", Shape::List(&Shape::Host, MOST_LINKS)),
        ],
        answer: Answer::Ours(&[(
            "votes",
            Shape::List(
                &Shape::Object(&[
                    ("link", Shape::Host, true),
                    ("vote", Shape::Whole(-1, 1), true),
                    ("time", Shape::OrNull(&Shape::Time), true),
                ]),
                MOST_LINKS,
            ),
        )]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/history/{host}",
        summary: "The votes of the last days on a site.",
        needs: Needs::Nothing,
        inputs: &[Input::path("host", Shape::Host), Input::query("days", Shape::Whole(1, 365)).optional()],
        answer: Answer::Ours(&[
            ("link", Shape::Host),
            ("score", SCORE),
            ("sum", Shape::Number),
            ("count", Shape::Number),
            (
                "days",
                Shape::List(
                    &Shape::Object(&[
                        ("day", Shape::Date, true),
                        ("sum", Shape::Number, true),
                        ("count", Shape::Number, true),
                    ]),
                    MAX_HISTORY_DAYS,
                ),
            ),
        ]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/leaderboard/{list}/{span}",
        summary: "The best, worst, controversial or most voted sites.",
        needs: Needs::Nothing,
        inputs: &[
            Input::path("list", Shape::Choice(&["best", "worst", "controversial", "voted"])),
            Input::path("span", Shape::Choice(&["day", "week", "month", "all"])),
        ],
        answer: Answer::Ours(&[(
            "sites",
            Shape::List(
                &Shape::Object(&[
                    ("link", Shape::Host, true),
                    ("score", SCORE, true),
                    ("sum", Shape::Number, true),
                    ("count", Shape::Number, true),
                ]),
                20,
            ),
        )]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/prefix/{hex}",
        summary: "The scores of all sites whose SHA-256 begins so.",
        needs: Needs::Nothing,
        inputs: &[Input::path("hex", Shape::Pattern("^[0-9A-Fa-f]{4,8}$", "a379"))],
        answer: Answer::Kept(&[("sites", Shape::List(&SCORED, 1_000_000))]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/admin/voter/{uuid}",
        summary: "A voter's details, for administrators.",
        needs: Needs::Session,
        inputs: &[Input::path("uuid", Shape::Uuid)],
        answer: Answer::Ours(&[(
            "voter",
            Shape::Object(&[
                ("user_id", Shape::Uuid, true),
                ("created_at", Shape::Time, true),
                ("is_banned", Shape::Flag, true),
                ("count", Shape::Number, true),
            ]),
        )]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/admin/voter/{uuid}/votes",
        summary: "A voter's votes within a time, for administrators.",
        needs: Needs::Session,
        inputs: &[
            Input::path("uuid", Shape::Uuid),
            Input::query("from", Shape::Time).optional(),
            Input::query("to", Shape::Time).optional(),
        ],
        answer: Answer::Ours(&[(
            "votes",
            Shape::List(
                &Shape::Object(&[
                    ("link", Shape::Host, true),
                    ("vote", Shape::Whole(-1, 1), true),
                    ("time", Shape::Time, true),
                ]),
                MAX_VOTER_VOTES,
            ),
        )]),
    },
    Call {
        method: Method::Get,
        path: "/api/sites/admin/top_voters/{date}",
        summary: "Who voted most on a day, for administrators.",
        needs: Needs::Session,
        inputs: &[Input::path("date", Shape::Date)],
        answer: Answer::Ours(&[(
            "voters",
            Shape::List(
                &Shape::Object(&[
                    ("user_id", Shape::Uuid, true),
                    ("count", Shape::Number, true),
                    ("sum", Shape::Number, true),
                ]),
                TOP_VOTERS,
            ),
        )]),
    },
    Call {
        method: Method::Post,
        path: "/api/sites/admin/ban",
        summary: "Bans a voter, for administrators.",
        needs: Needs::Secret,
        inputs: &[Input::form("user_id", Shape::Uuid)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/sites/admin/unban",
        summary: "Lifts a ban, for administrators.",
        needs: Needs::Secret,
        inputs: &[Input::form("user_id", Shape::Uuid)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/sites/admin/settings",
        summary: "Changes the settings of votes on sites, for administrators.",
        needs: Needs::Secret,
        inputs: &[
            Input::form("voting_is_disabled", Shape::Choice(&["1", "0"])).optional(),
            Input::form("maximum_votes_per_user_per_day", Shape::Whole(0, 1_000_000)).optional(),
        ],
        answer: Answer::Ours(&[]),
    },
];

const MOST_LINKS: u64 = MAX_LINKS as u64;
/// A score by its name.
pub(crate) const SCORE: Shape = Shape::Choice(&["Good", "Bad", "Controversial", "NoScore"]);
/// A site with its score.
pub(crate) const SCORED: Shape = Shape::Object(&[("link", Shape::Host, true), ("score", SCORE, true)]);

/// Days of a history, where nobody says how many.
const DAYS: u64 = 30;
/// How long a lookup by prefix may be kept: scores change slowly.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// POST /api/sites/vote: link, vote (1, -1 or 0), apisecret.
pub async fn vote(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    form: SignedForm,
) -> Result<Json<Value>, Failure> {
    actions::vote_site(&app, address, &form).await?;
    Ok(ok([]))
}

/// POST /api/sites/own: JSON with user_id and links, 1 to 100 hosts.
pub async fn own(State(app): State<App>, json::Json(body): json::Json) -> Result<Json<Value>, Failure> {
    const LINKS: Failure =
        Failure::Field { name: "links", expected: "it must be an array of 1 to 100 hosts" };
    let voter = json::voter(&body, "user_id")?;
    let links = json::member(&body, "links")?.as_array().ok_or(LINKS)?;
    if links.is_empty() || links.len() > MAX_LINKS {
        return Err(LINKS);
    }
    let hosts: Vec<Hostname> =
        links.iter().map(|link| hostname(link.as_str().ok_or(LINKS)?)).collect::<Result<_, _>>()?;
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let votes = sites::own_votes(&mut visit, voter, &hosts).await?;
    let votes = hosts.iter().zip(votes).map(|(host, vote)| {
        json!({
            "link": host.as_str(),
            "vote": vote.map_or(0, |vote| vote.verdict.value()),
            "time": vote.map(|vote| written(vote.time)),
        })
    });
    Ok(ok([("votes", votes.collect())]))
}

/// GET /api/sites/history/:host: days, 1 to 365.
pub async fn history(
    PathOf(host): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    const EXPECTED: Failure =
        Failure::Field { name: "days", expected: "it must be a whole number from 1 to 365" };
    let host = hostname(&host)?;
    let days = match fields.get("days") {
        None => DAYS,
        Some(text) => {
            text.parse().ok().filter(|days| (1..=MAX_HISTORY_DAYS).contains(days)).ok_or(EXPECTED)?
        }
    };
    let history = sites::history(&mut visit, &host, days).await?;
    let voted = history.days.iter().filter(|day| day.totals.count > 0);
    let days = voted
        .map(|day| json!({"day": day.day.to_string(), "sum": day.totals.sum, "count": day.totals.count}));
    Ok(ok([
        ("link", host.as_str().into()),
        ("score", Score::of(history.totals).name().into()),
        ("sum", history.totals.sum.into()),
        ("count", history.totals.count.into()),
        ("days", days.collect()),
    ]))
}

/// GET /api/sites/leaderboard/:list/:span.
pub async fn leaderboard(
    PathOf((list, span)): PathOf<(String, String)>,
    mut visit: Visit,
) -> Result<Json<Value>, Failure> {
    let board: Board = list.parse().map_err(|_| Failure::Field {
        name: "list",
        expected: "it must be best, worst, controversial or voted",
    })?;
    let span: Span = span
        .parse()
        .map_err(|_| Failure::Field { name: "span", expected: "it must be day, week, month or all" })?;
    let lines = sites::leaderboard(&mut visit, board, span).await?;
    let sites = lines.iter().map(|line| {
        json!({
            "link": line.host.as_str(),
            "score": line.score.name(),
            "sum": line.totals.sum,
            "count": line.totals.count,
        })
    });
    Ok(ok([("sites", sites.collect())]))
}

/// GET /api/sites/prefix/:hex: 4 to 8 hexadecimal digits of SHA-256 of a host.
pub async fn prefix(
    State(app): State<App>,
    PathOf(prefix): PathOf<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let prefix: HashPrefix = prefix
        .parse()
        .map_err(|_| Failure::Field { name: "hex", expected: "it must be 4 to 8 hexadecimal digits" })?;
    // The same for everybody: no session is looked for.
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let scores = sites::scores_by_prefix(&mut visit, &prefix).await?;
    let sites = scores.iter().map(|(host, score)| json!({"link": host.as_str(), "score": score.name()}));
    let answer = ok([("sites", sites.collect())]);
    let digest = hex::encode(Sha256::digest(answer.0.to_string()));
    // Weak: compressed or not, it is the same answer.
    let tag = format!("W/\"{}\"", digest.get(..16).unwrap_or(&digest));
    let caching = [
        (header::CACHE_CONTROL, KEPT),
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("W/\"0\""))),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    Ok(if is_known(&headers, &tag) {
        (StatusCode::NOT_MODIFIED, caching).into_response()
    } else {
        (caching, answer).into_response()
    })
}

/// Whether the client has this version, by its `If-None-Match`.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

/// GET /api/sites/admin/voter/:uuid.
pub async fn voter(
    State(app): State<App>,
    PathOf(voter): PathOf<String>,
    SignedIn { user, .. }: SignedIn,
) -> Result<Json<Value>, Failure> {
    let details = sites::voter_details(&app.site, &user, voter_id(&voter)?).await?;
    let voter = json!({
        "user_id": details.id.to_string(),
        "created_at": details.created_at,
        "is_banned": details.is_banned,
        "count": details.count,
    });
    Ok(ok([("voter", voter)]))
}

/// GET /api/sites/admin/voter/:uuid/votes: from (included), to (excluded).
pub async fn voter_votes(
    State(app): State<App>,
    PathOf(voter): PathOf<String>,
    SignedIn { user, .. }: SignedIn,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    let from = actions::moment(&fields, "from")?.unwrap_or_default();
    let to = actions::moment(&fields, "to")?.unwrap_or(Timestamp(u64::MAX));
    let votes = sites::voter_votes(&app.site, &user, voter_id(&voter)?, from, to).await?;
    let votes = votes.iter().map(|vote| {
        json!({
            "link": vote.host.as_str(),
            "vote": vote.vote.verdict.value(),
            "time": written(vote.vote.time),
        })
    });
    Ok(ok([("votes", votes.collect())]))
}

/// GET /api/sites/admin/top_voters/:date.
pub async fn top_voters(
    State(app): State<App>,
    PathOf(date): PathOf<String>,
    SignedIn { user, .. }: SignedIn,
) -> Result<Json<Value>, Failure> {
    let day: Day = date
        .parse()
        .map_err(|_| Failure::Field { name: "date", expected: "it must be a date like 2023-02-02" })?;
    let voters = sites::top_voters(&app.site, &user, day).await?;
    let voters = voters
        .iter()
        .map(|voter| json!({"user_id": voter.id.to_string(), "count": voter.count, "sum": voter.sum}));
    Ok(ok([("voters", voters.collect())]))
}

/// POST /api/sites/admin/ban: user_id, apisecret.
pub async fn ban(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::ban_voter(&app, form, true).await?;
    Ok(ok([]))
}

/// POST /api/sites/admin/unban: user_id, apisecret.
pub async fn unban(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::ban_voter(&app, form, false).await?;
    Ok(ok([]))
}

/// POST /api/sites/admin/settings: voting_is_disabled,
/// maximum_votes_per_user_per_day, apisecret. What does not come stays.
pub async fn settings(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::change_voting_settings(&app, &form).await?;
    Ok(ok([]))
}

fn voter_id(text: &str) -> Result<VoterId, Failure> {
    text.parse().map_err(|_| Failure::Field { name: "user_id", expected: "it must be a UUID" })
}
