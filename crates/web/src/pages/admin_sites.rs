//! Votes on sites, for administrators: disabling voting, the daily limit, who
//! votes how, and bans.

use super::layout::Frame;
use super::parts::{number, site_address};
use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::forms::sites::{PeriodQuery, VoterForm, VotingSettingsForm};
use crate::local_path::LocalPath;
use crate::viewer::{SignedForm, SignedIn};
use crate::{App, actions};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::Refusal;
use tidings_domain::sites::{self, AuditLine, DailyVoter, VoterDetails, VoterVote, VotingSettings};
use tidings_domain::values::day::Day;
use tidings_domain::values::day::written;
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
    /// Whether there is no such voter.
    is_unknown: bool,
    day: Day,
    voters: &'a [DailyVoter],
    audit: &'a [AuditLine],
    /// Whether a ban that was just requested is still updating votes.
    is_updating: bool,
}

impl AdminSitesPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Votes on sites" }
            @if self.is_updating {
                p.notice role="status" { "The votes are still being updated. Reload this page to see the progress." }
            }
            (self.settings(frame))
            h2 #voter { "Look up a voter" }
            (self.search())
            @if self.is_unknown { p.alert role="alert" { "There is no such voter." } }
            @if let Some(found) = self.found { (found.render(frame)) }
            h2 { "Who voted most on " (self.day) }
            (self.top_voters())
            h2 { "Actions of administrators" }
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
        html! {
            form.form method="post" action="/admin/sites/settings" {
                (frame.secret_field())
                input type="hidden" name="voting_is_disabled" value=(value);
                p.hint { (state) }
                button.button.grave[!self.settings.is_disabled] { (action) }
            }
            form.form.narrow method="post" action="/admin/sites/settings" {
                (frame.secret_field())
                div {
                    label for="maximum" { "Votes on new sites per voter and day" }
                    input #maximum type="number" name="maximum_votes_per_user_per_day" min="0" max="1000000"
                        required value=(self.settings.maximum);
                }
                button.button { "Save" }
            }
        }
    }

    fn search(&self) -> Markup {
        let [uuid, from, to] = self.lookup;
        html! {
            form.form.narrow action="/admin/sites#voter" {
                div {
                    label for="uuid" { "UUID" }
                    input #uuid name="voter" value=(uuid) required autocomplete="off" spellcheck="false";
                }
                div {
                    label for="from" { "Votes from" }
                    input #from name="from" value=(from) placeholder="2026-11-21T00:00:00Z" autocomplete="off";
                }
                div {
                    label for="to" { "Votes before" }
                    input #to name="to" value=(to) placeholder="2026-11-22T00:00:00Z" autocomplete="off";
                    p.hint { "In UTC, as in the examples. Leave both empty to see all votes." }
                }
                button.button { "Look up" }
            }
        }
    }

    fn top_voters(&self) -> Markup {
        html! {
            form.form.narrow action="/admin/sites" {
                div {
                    label for="day" { "Day" }
                    input #day type="date" name="day" value=(self.day) required;
                }
                button.button { "Show" }
            }
            @if self.voters.is_empty() {
                p.empty { "Nobody voted on that day." }
            } @else {
                div.scroll.wide tabindex="0" role="region" aria-label="Who voted most" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "voter" }
                                th.number scope="col" { "votes" }
                                th.number scope="col" { "sum" }
                            }
                        }
                        tbody {
                            @for voter in self.voters {
                                tr {
                                    td { (voter_link(voter.id)) }
                                    td.number { (number(voter.count)) }
                                    td.number { (format!("{:+}", voter.sum)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn audit(&self) -> Markup {
        html! {
            @if self.audit.is_empty() {
                p.empty { "Nothing yet." }
            } @else {
                div.scroll.wide tabindex="0" role="region" aria-label="Actions of administrators" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "time" }
                                th scope="col" { "who" }
                                th scope="col" { "what" }
                                th scope="col" { "about" }
                            }
                        }
                        tbody {
                            @for line in self.audit {
                                tr {
                                    td { (line.time) }
                                    td { (line.by) }
                                    td { (line.what) }
                                    td { (line.about) }
                                }
                            }
                        }
                    }
                }
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
                (frame.secret_field())
                input type="hidden" name="user_id" value=(self.details.id);
                p.hint {
                    @if self.details.is_banned {
                        "The voter's votes will count again, and the voter can vote."
                    } @else {
                        "The voter's votes will no longer count, and the voter can't vote. You can undo this."
                    }
                }
                button.button.grave[!self.details.is_banned] { (text) }
            }
            @if !self.votes.is_empty() {
                div.scroll.wide tabindex="0" role="region" aria-label="The voter's votes" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "time" }
                                th scope="col" { "site" }
                                th.number scope="col" { "vote" }
                            }
                        }
                        tbody {
                            @for VoterVote { host, vote } in &self.votes {
                                tr {
                                    td { (written(vote.time)) }
                                    td { a href=(site_address(host)) { (host) } }
                                    td.number { (format!("{:+}", vote.verdict.value())) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn voter_link(voter: VoterId) -> Markup {
    html! { a href={ "/admin/sites?voter=" (voter) "#voter" } { code { (voter) } } }
}

/// The query of the page.
struct AdminSitesQuery {
    /// The day whose most active voters are shown; today when it is missing.
    day: Option<Day>,
    /// The period whose votes of a voter are shown.
    period: PeriodQuery,
    /// The voter to show.
    voter: Option<VoterId>,
    /// Whether a ban was just begun or lifted, and the move of votes continues.
    is_updating: bool,
}

impl FromFields for AdminSitesQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        const DAY: RequestError =
            RequestError::Field { name: "day", expected: "it must be a date like 2023-02-02" };
        let day = match fields.text("day") {
            "" => None,
            text => Some(text.parse().map_err(|_| DAY)?),
        };
        let period = fields.read()?;
        let voter = match fields.text("voter") {
            "" => None,
            _ => Some(fields.parsed("voter", "it must be a UUID")?),
        };
        Ok(Self { day, period, voter, is_updating: fields.get("goes_on").is_some() })
    }
}

/// GET /admin/sites: voter, from, to; day.
pub async fn page(
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
    fields: Fields,
) -> Result<Markup, RequestError> {
    let audit = sites::audit_lines(&app.site, &user).await?;
    let settings = sites::voting_settings(&mut visit).await?;
    let query: AdminSitesQuery = fields.read()?;
    let day = query.day.unwrap_or_else(|| Day::of(app.now()));
    let voters = sites::top_voters(&app.site, &user, day).await?;
    let PeriodQuery { from, to } = query.period;
    let (mut found, mut is_unknown) = (None, false);
    if let Some(voter) = query.voter {
        match sites::voter_details(&app.site, &user, voter).await {
            Ok(details) => {
                let votes = sites::voter_votes(&app.site, &user, voter, from, to).await?;
                found = Some(FoundVoter { details, votes });
            }
            Err(Error::Refused(Refusal::NoSuchVoter)) => is_unknown = true,
            Err(error) => return Err(error.into()),
        }
    }
    let page = AdminSitesPage {
        settings,
        lookup: [fields.text("voter"), fields.text("from"), fields.text("to")],
        found: found.as_ref(),
        is_unknown,
        day,
        voters: &voters,
        audit: &audit,
        is_updating: query.is_updating,
    };
    Ok(page.render(&Frame::for_user(&app, &here, &user)))
}

/// POST /admin/sites/ban: user_id, apisecret.
pub async fn ban(State(app): State<App>, form: SignedForm<VoterForm>) -> Result<Redirect, RequestError> {
    move_votes(&app, form, true).await
}

/// POST /admin/sites/unban: user_id, apisecret.
pub async fn unban(State(app): State<App>, form: SignedForm<VoterForm>) -> Result<Redirect, RequestError> {
    move_votes(&app, form, false).await
}

async fn move_votes(
    app: &App,
    SignedForm { user, form }: SignedForm<VoterForm>,
    is_ban: bool,
) -> Result<Redirect, RequestError> {
    let is_done = actions::ban_voter(app, user, &form, is_ban).await?;
    let voter = form.user_id;
    let updating = if is_done { "" } else { "&goes_on=1" };
    Ok(Redirect::to(&format!("/admin/sites?voter={voter}{updating}#voter")))
}

/// POST /admin/sites/settings: voting_is_disabled,
/// maximum_votes_per_user_per_day, apisecret.
pub async fn change_settings(
    State(app): State<App>,
    SignedForm { user, form }: SignedForm<VotingSettingsForm>,
) -> Result<Redirect, RequestError> {
    actions::change_voting_settings(&app, &user, form).await?;
    Ok(Redirect::to("/admin/sites"))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, user};
    use super::*;
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
                is_unknown: false,
                day: "2026-11-21".parse().unwrap(),
                voters: &[DailyVoter { id, count: 3, sum: -3 }],
                audit: &[],
                is_updating: false,
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
