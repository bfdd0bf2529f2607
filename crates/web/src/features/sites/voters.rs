//! Votes on sites, for administrators: disabling voting, the daily limit, who
//! votes how, and bans.

use super::form::{PeriodQuery, VoterForm, VotingSettingsForm};
use crate::App;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry, SentForm, begin_long};
use crate::markup::addresses::site_address;
use crate::markup::fields::{Field, RefusedForm, summary};
use crate::markup::frame::Frame;
use crate::markup::notices::Notice;
use crate::markup::parts::{Column, number, wide_table};
use crate::request::form::Fields;
use crate::request::local_path::LocalPath;
use crate::request::viewer::{SignedFields, SignedIn};
use crate::route::{SHORT, Wing};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::accounts::users::User;
use tidings_domain::sites::{self, AuditLine, DailyVoter, VoterDetails, VoterVote, VotingSettings};
use tidings_domain::values::day::{Day, written};
use tidings_domain::values::voter_id::VoterId;

/// The voter that was looked up.
struct FoundVoter {
    details: VoterDetails,
    votes: Vec<VoterVote>,
}

/// The page.
struct AdminSitesPage<'a> {
    settings: VotingSettings,
    /// The typed fields of the lookup: UUID, from, to.
    lookup: [&'a str; 3],
    found: Option<&'a FoundVoter>,
    /// Why the lookup, or the change of the limit, was refused.
    refused: Option<&'a RefusedForm>,
    /// The limit that was typed; the stored one if there is none.
    typed_maximum: Option<&'a str>,
    day: Day,
    voters: &'a [DailyVoter],
    audit: &'a [AuditLine],
}

impl AdminSitesPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Votes on sites" }
            (summary(self.refused))
            (self.settings(frame))
            h2 { "Look up a voter" }
            (self.search())
            @if let Some(found) = self.found { (found.render(frame)) }
            h2 { "Who voted most on " (self.day.in_words()) }
            (self.top_voters())
            h2 { "Administrator actions" }
            (self.audit())
        };
        frame.page("Votes on sites", &content)
    }

    fn settings(&self, frame: &Frame<'_>) -> Markup {
        let (state, action, value) = if self.settings.is_disabled {
            ("Voting on sites is currently disabled.", "Enable voting", "0")
        } else {
            ("Voting on sites is enabled.", "Disable voting", "1")
        };
        let maximum = self.typed_maximum.map_or_else(|| self.settings.maximum.to_string(), str::to_owned);
        let maximum = Field::new(MAXIMUM, "Votes on new sites per voter per day").value(&maximum);
        let maximum = maximum.with("type", "number").with("autocomplete", "off");
        html! {
            form.form method="post" action="/admin/sites/settings" {
                (frame.signed_fields())
                input type="hidden" name="voting_is_disabled" value=(value);
                p.hint { (state) }
                button.button.grave[!self.settings.is_disabled] { (action) }
            }
            form.form.narrow method="post" action="/admin/sites/settings" {
                (frame.signed_fields())
                (maximum.with("min", "0").with("max", "1000000").required().input(self.refused))
                button.button { "Save" }
            }
        }
    }

    fn search(&self) -> Markup {
        let [uuid, from, to] = self.lookup;
        let field = |name, label, value| Field::new(name, label).value(value).with("autocomplete", "off");
        let time = |name, label, value, example| field(name, label, value).with("placeholder", example);
        let before = time("to", "Votes before", to, "2026-11-22T00:00:00Z");
        let before = before.hint(html! { "In UTC, as in the examples. Leave both empty to see all votes." });
        html! {
            form.form.narrow action="/admin/sites#voter" {
                (field("voter", "UUID", uuid).required().exact().input(self.refused))
                (time("from", "Votes from", from, "2026-11-21T00:00:00Z").input(self.refused))
                (before.input(self.refused))
                button.button { "Look up" }
            }
        }
    }

    fn top_voters(&self) -> Markup {
        let day = self.day.to_string();
        let day = Field::new("day", "Day").value(&day);
        html! {
            form.form.narrow action="/admin/sites" {
                (day.with("type", "date").required().input(self.refused))
                button.button { "Show" }
            }
            @if self.voters.is_empty() {
                p.empty { "Nobody voted on that day." }
            } @else {
                @let columns = [Column::Words("voter"), Column::Numbers("votes"), Column::Numbers("sum")];
                (wide_table("Who voted most", &columns, &html! {
                    @for voter in self.voters {
                        tr {
                            td { (voter_link(voter.id)) }
                            td.number { (number(voter.count)) }
                            td.number { (format!("{:+}", voter.sum)) }
                        }
                    }
                }))
            }
        }
    }

    fn audit(&self) -> Markup {
        html! {
            @if self.audit.is_empty() {
                p.empty { "Nothing yet." }
            } @else {
                @let columns = ["time", "who", "what", "about"].map(Column::Words);
                (wide_table("Administrator actions", &columns, &html! {
                    @for line in self.audit {
                        tr {
                            td { (line.time) }
                            td { (line.by) }
                            td { (line.what) }
                            td { (line.about) }
                        }
                    }
                }))
            }
        }
    }
}

impl FoundVoter {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let (action, text) = if self.details.is_banned {
            ("/admin/sites/unban", "Lift the ban")
        } else {
            ("/admin/sites/ban", "Ban this voter")
        };
        html! {
            dl.facts {
                div { dt { "first vote" } dd { (self.details.created_at) } }
                div { dt { "votes" } dd { (number(self.details.count)) } }
                div { dt { "banned" } dd { @if self.details.is_banned { "yes" } @else { "no" } } }
            }
            form.form method="post" action=(action) {
                (frame.signed_fields())
                input type="hidden" name="user_id" value=(self.details.id);
                p.hint {
                    @if self.details.is_banned {
                        "The voter's votes will count again, and the voter can vote again."
                    } @else {
                        "The voter's votes will no longer count, and the voter can't vote. You can undo this."
                    }
                }
                button.button.grave[!self.details.is_banned] { (text) }
            }
            @if !self.votes.is_empty() {
                @let columns = [Column::Words("time"), Column::Words("site"), Column::Numbers("vote")];
                (wide_table("The voter's votes", &columns, &html! {
                    @for VoterVote { host, vote } in &self.votes {
                        tr {
                            td { (written(vote.time)) }
                            td { a href=(site_address(host)) { (host) } }
                            td.number { (format!("{:+}", vote.verdict.value())) }
                        }
                    }
                }))
            }
        }
    }
}

fn voter_link(voter: VoterId) -> Markup {
    html! { a href={ "/admin/sites?voter=" (voter) "#voter" } { code { (voter) } } }
}

/// The fields of the forms of the page that people type into.
const FIELDS: [&str; 5] = ["voter", "from", "to", "day", MAXIMUM];

/// The field for the daily limit.
const MAXIMUM: &str = "maximum_votes_per_user_per_day";

/// Splits what may be refused into the value and why there is none.
fn or_refused<T>(
    result: Result<Option<T>, RequestError>,
) -> Result<(Option<T>, Option<RefusedForm>), RequestError> {
    match result {
        Ok(value) => Ok((value, None)),
        Err(failure) => Ok((None, Some(RefusedForm::from_failure(failure)?.beside(&FIELDS)))),
    }
}

/// GET /admin/sites: voter, from, to; day.
pub async fn page(app: App, signed_in: SignedIn, fields: Fields) -> Result<Response, RequestError> {
    let (found, refused) = or_refused(find_voter(&app, &signed_in.user, &fields).await)?;
    show(&app, signed_in, (&fields, found.as_ref(), refused)).await
}

/// The voter that a query asks for, if it asks for one.
async fn find_voter(app: &App, user: &User, fields: &Fields) -> Result<Option<FoundVoter>, RequestError> {
    let period: PeriodQuery = fields.read()?;
    let voter = match fields.text("voter") {
        "" => return Ok(None),
        _ => fields.parsed("voter", "it must be a UUID")?,
    };
    let details = sites::voter_details(&app.site, user, voter).await?;
    let votes = sites::voter_votes(&app.site, user, voter, period.from, period.to).await?;
    Ok(Some(FoundVoter { details, votes }))
}

/// The page with the fields of a lookup or of a change, what was found, and why it was refused.
async fn show(
    app: &App,
    SignedIn { mut visit, user, here }: SignedIn,
    (fields, found, refused): (&Fields, Option<&FoundVoter>, Option<RefusedForm>),
) -> Result<Response, RequestError> {
    let audit = sites::audit_lines(&app.site, &user).await?;
    let settings = sites::voting_settings(&mut visit).await?;
    let day = match fields.text("day") {
        "" => Ok(None),
        _ => fields.parsed("day", "it must be a date like 2023-02-02").map(Some),
    };
    let (day, wrong_day) = or_refused(day)?;
    let refused = refused.or(wrong_day);
    let day = day.unwrap_or_else(|| Day::of(app.now()));
    let voters = sites::top_voters(&app.site, &user, day).await?;
    let page = AdminSitesPage {
        settings,
        lookup: [fields.text("voter"), fields.text("from"), fields.text("to")],
        found,
        refused: refused.as_ref(),
        typed_maximum: fields.get(MAXIMUM),
        day,
        voters: &voters,
        audit: &audit,
    };
    let page = page.render(&Frame::for_user(app, &here, &user));
    Ok(refused.map_or_else(|| page.clone().into_response(), |refused| refused.response(page.clone())))
}

/// The actions of administrators on votes on sites.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/admin/sites/ban",
            "Ban a voter (administrators only).",
            |app, by, form: &VoterForm| Box::pin(ban_voter(app, by.user, form.user_id, true)),
        )
        .called("/api/sites/admin/ban")
        .page(SHORT.of(Wing::Sites), async |sent, banned| banned.map(|banned| page_of_voter(&sent, &banned))),
        Action::once(
            "/admin/sites/unban",
            "Lift a ban (administrators only).",
            |app, by, form: &VoterForm| Box::pin(ban_voter(app, by.user, form.user_id, false)),
        )
        .called("/api/sites/admin/unban")
        .page(SHORT.of(Wing::Sites), async |sent, unbanned| {
            unbanned.map(|unbanned| page_of_voter(&sent, &unbanned))
        }),
        Action::once(
            "/admin/sites/settings",
            "Change the settings for votes on sites (administrators only).",
            |app, by, form: &VotingSettingsForm| {
                Box::pin(sites::change_settings(&app.site, app.now(), by.user, form.into()))
            },
        )
        .called("/api/sites/admin/settings")
        .page(SHORT.of(Wing::Sites), answer_to_settings),
    ]
}

/// Redirects to the voter, and says whether the votes are still being updated.
fn page_of_voter(sent: &SentForm, (form, is_done): &(VoterForm, bool)) -> Redirect {
    let page = format!("/admin/sites?voter={}#voter", form.user_id);
    if *is_done {
        Redirect::to(&page)
    } else {
        Notice::UpdatingVotes.redirect(&sent.app, &sent.form.user, &page)
    }
}

/// Redirects to the page, or shows it with what was refused.
async fn answer_to_settings(
    SentForm { app, form }: SentForm,
    changed: Result<(VotingSettingsForm, ()), RequestError>,
) -> Result<Response, RequestError> {
    let Err(failure) = changed else {
        return Ok(Redirect::to("/admin/sites").into_response());
    };
    let refused = RefusedForm::from_failure(failure)?.beside(&FIELDS);
    let SignedFields { visit, user, fields, .. } = form;
    let here = LocalPath::parse("/admin/sites/settings");
    show(&app, SignedIn { visit, user, here }, (&fields, None, Some(refused))).await
}

/// Bans a voter or lifts the ban. Returns whether all votes have been updated; if not, the update continues
/// after the response.
async fn ban_voter(app: &App, user: &User, voter: VoterId, is_ban: bool) -> Result<bool, RequestError> {
    let (site, now, user) = (app.site.clone(), app.now(), user.clone());
    let done = begin_long(async move {
        let result = if is_ban {
            sites::ban(&site, now, &user, voter).await
        } else {
            sites::unban(&site, now, &user, voter).await
        };
        if let Err(error @ (Error::Store(_) | Error::Busy | Error::Internal(_))) = &result {
            tracing::warn!(%error, "ban interrupted; repeat it or restart the server to continue");
        }
        result
    });
    Ok(done.await?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};
    use tidings_domain::sites::{CastVote, Verdict};
    use tidings_domain::values::clock::Timestamp;
    use tidings_domain::values::hostname::Hostname;

    #[test]
    fn the_page_shows_a_voter_and_the_possible_action() {
        let admin = user("1", "alice", "a");
        let id: VoterId = "beda0000-0822-4342-0990-b92d94d9489a".parse().unwrap();
        let vote = CastVote { verdict: Verdict::Bad, time: Timestamp(1_675_330_563) };
        let found = |is_banned| FoundVoter {
            details: VoterDetails { id, created_at: "2023-02-02T09:36:03Z".to_owned(), is_banned, count: 7 },
            votes: vec![VoterVote { host: Hostname::parse("a.com").unwrap(), vote }],
        };
        for (is_banned, can) in [(true, "/admin/sites/unban"), (false, "/admin/sites/ban")] {
            let page = AdminSitesPage {
                settings: VotingSettings { is_disabled: is_banned, maximum: 4711 },
                lookup: ["<x>", "", ""],
                found: Some(&found(is_banned)),
                refused: None,
                typed_maximum: None,
                day: "2026-11-21".parse().unwrap(),
                voters: &[DailyVoter { id, count: 3, sum: -3 }],
                audit: &[],
            };
            let html = framed(Some(&admin), |frame| page.render(frame)).into_string();
            let switch = format!(r#"name="voting_is_disabled" value="{}""#, u8::from(!is_banned));
            for part in
                [&format!("action=\"{can}\""), "4711", "&lt;x&gt;", "/site/a.com", "-3", "-1", &switch]
            {
                assert!(html.contains(part), "{part} in {html}");
            }
        }
    }
}
