//! Votes on sites, for administrators: disabling voting, the daily limit, who
//! votes how, and bans.

use super::form::{PeriodQuery, VoterForm, VotingSettingsForm};
use crate::App;
use crate::error::Result;
use crate::features::action::{Action, ActionEntry, SentForm, begin_long};
use crate::markup::addresses::site_address;
use crate::markup::parts::{Column, number, wide_table};
use crate::markup::refilled::Sent;
use crate::markup::{Field, Frame, Member, Notice, Page, dates};
use crate::request::Fields;
use crate::route::{SHORT, Wing};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::sites::{self, AuditLine, DailyVoter, VoterDetails, VoterVote, VotingSettings};
use tidings_domain::values::day::written;
use tidings_domain::values::{Day, VoterId};
use tidings_domain::{Error, User};
use tidings_language::{m, t};

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
    day: Day,
    voters: &'a [DailyVoter],
    audit: &'a [AuditLine],
}

impl AdminSitesPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            (self.settings(frame))
            h2 { (t!("Look up a voter")) }
            (self.search())
            @if let Some(found) = self.found { (found.render(frame)) }
            h2 { (t!("Most active voters on {day}", day = dates::day(self.day))) }
            (self.top_voters())
            h2 { (t!("Administrator actions")) }
            (self.audit())
        };
        frame.headed(t!("Votes on sites"), &content)
    }

    fn settings(&self, frame: &Frame<'_>) -> Markup {
        let (state, action, value) = if self.settings.is_disabled {
            (t!("Voting on sites is currently disabled."), t!("Enable voting"), "0")
        } else {
            (t!("Voting on sites is enabled."), t!("Disable voting"), "1")
        };
        let maximum = self.settings.maximum.to_string();
        let maximum = Field::new(MAXIMUM, t!("Votes on new sites per voter per day")).value(&maximum);
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
                (maximum.with("min", "0").with("max", "1000000").required().input())
                button.button { (t!("Save")) }
            }
        }
    }

    fn search(&self) -> Markup {
        let [uuid, from, to] = self.lookup;
        let field = |name, label, value| Field::new(name, label).value(value).with("autocomplete", "off");
        let time = |name, label, value, example| field(name, label, value).with("placeholder", example);
        let before = time("to", t!("Votes before"), to, "2026-11-22T00:00:00Z");
        let before =
            before.hint(html! { (t!("In UTC, as in the examples. Leave both empty to see all votes.")) });
        html! {
            form.form.narrow action="/admin/sites#voter" {
                (field("voter", "UUID", uuid).required().exact().input())
                (time("from", t!("Votes from"), from, "2026-11-21T00:00:00Z").input())
                (before.input())
                button.button { (t!("Look up")) }
            }
        }
    }

    fn top_voters(&self) -> Markup {
        let day = self.day.to_string();
        let day = Field::new("day", t!("Day")).value(&day);
        html! {
            form.form.narrow action="/admin/sites" {
                (day.with("type", "date").required().input())
                button.button { (t!("button" => "Show")) }
            }
            @if self.voters.is_empty() {
                p.empty { (t!("Nobody voted on that day.")) }
            } @else {
                @let columns = [Column::Words(t!("voter")), Column::Numbers(t!("votes")), Column::Numbers(t!("sum"))];
                (wide_table(t!("Most active voters"), &columns, &html! {
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
                p.empty { (t!("Nothing yet.")) }
            } @else {
                @let columns = [t!("time"), t!("who"), t!("what"), t!("heading" => "about")].map(Column::Words);
                (wide_table(t!("Administrator actions"), &columns, &html! {
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
            ("/admin/sites/unban", t!("Lift the ban"))
        } else {
            ("/admin/sites/ban", t!("Ban this voter"))
        };
        html! {
            dl.facts {
                div { dt { (t!("first vote")) } dd { (self.details.created_at) } }
                div { dt { (t!("votes")) } dd { (number(self.details.count)) } }
                div { dt { (t!("banned")) } dd { (if self.details.is_banned { t!("yes") } else { t!("no") }) } }
            }
            form.form method="post" action=(action) {
                (frame.signed_fields())
                input type="hidden" name="user_id" value=(self.details.id);
                p.hint {
                    @if self.details.is_banned {
                        (t!("The voter's votes will count again, and the voter can vote again."))
                    } @else {
                        (t!("The voter's votes will no longer count, and the voter can't vote. You can undo this."))
                    }
                }
                button.button.grave[!self.details.is_banned] { (text) }
            }
            @if !self.votes.is_empty() {
                @let columns = [Column::Words(t!("time")), Column::Words(t!("site")), Column::Numbers(t!("noun" => "vote"))];
                (wide_table(t!("The voter's votes"), &columns, &html! {
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

/// The address of the page.
const ADDRESS: &str = "/admin/sites";

/// The field for the daily limit.
const MAXIMUM: &str = "maximum_votes_per_user_per_day";

/// GET /admin/sites: voter, from, to; day.
pub async fn page(mut page: Page<Member>, fields: Fields) -> Result<Response> {
    match find(&page.app, &page.user, &fields).await {
        Ok((found, day)) => Ok(show(&mut page, (&fields, found.as_ref(), day)).await?.into_response()),
        Err(failure) => {
            let today = Day::of(page.app.now());
            let page = show(&mut page, (&Fields::default(), None, today)).await?;
            Sent { is_post: false, action: ADDRESS, fields: &fields }.page(&page, failure)
        }
    }
}

/// The voter that a query asks for, if it asks for one, and the day.
async fn find(app: &App, user: &User, fields: &Fields) -> Result<(Option<FoundVoter>, Day)> {
    let period: PeriodQuery = fields.read()?;
    let day = match fields.text("day") {
        "" => Day::of(app.now()),
        _ => fields.parsed("day", m!("it must be a date like 2023-02-02"))?,
    };
    if fields.text("voter").is_empty() {
        return Ok((None, day));
    }
    let voter = fields.parsed("voter", m!("it must be a UUID"))?;
    let details = sites::voter_details(&app.site, user, voter).await?;
    let votes = sites::voter_votes(&app.site, user, voter, period.from, period.to).await?;
    Ok((Some(FoundVoter { details, votes }), day))
}

/// The page with the fields of a lookup and what was found.
async fn show(
    Page { app, visit, user, here }: &mut Page<Member>,
    (fields, found, day): (&Fields, Option<&FoundVoter>, Day),
) -> Result<Markup> {
    let audit = sites::audit_lines(&app.site, user).await?;
    let settings = sites::voting_settings(visit).await?;
    let voters = sites::top_voters(&app.site, user, day).await?;
    let lookup = [fields.text("voter"), fields.text("from"), fields.text("to")];
    let page = AdminSitesPage { settings, lookup, found, day, voters: &voters, audit: &audit };
    Ok(page.render(&Frame::of(app, visit, here).await?))
}

/// The actions of administrators on votes on sites.
pub fn actions() -> Vec<ActionEntry> {
    let action = |path, call, summary, change| {
        Action::once(path, summary, move |app, by, form: &VoterForm| {
            Box::pin(change_ban(app, by.user, form.user_id, change))
        })
        .called(call)
        .page(SHORT.of(Wing::Sites), async |sent, form, is_done| Ok(page_of_voter(&sent, &form, is_done)))
    };
    let (ban, lift) = (m!("Ban a voter (administrators only)."), m!("Lift a ban (administrators only)."));
    vec![
        action("/admin/sites/ban", "/api/sites/admin/ban", ban, Ban::Begins),
        action("/admin/sites/unban", "/api/sites/admin/unban", lift, Ban::Ends),
        Action::once(
            "/admin/sites/settings",
            m!("Change the settings for votes on sites (administrators only)."),
            |app, by, form: &VotingSettingsForm| {
                Box::pin(sites::change_settings(&app.site, app.now(), by.user, form.into()))
            },
        )
        .called("/api/sites/admin/settings")
        .form_page(ADDRESS)
        .then(SHORT.of(Wing::Sites), |_, ()| ADDRESS.to_owned()),
    ]
}

/// Redirects to the voter, and says whether the votes are still being updated.
fn page_of_voter(sent: &SentForm, form: &VoterForm, is_done: bool) -> Redirect {
    let page = format!("{ADDRESS}?voter={}#voter", form.user_id);
    if is_done {
        Redirect::to(&page)
    } else {
        Notice::UpdatingVotes.redirect(&sent.app, &sent.form.user, &page)
    }
}

/// Whether a voter is banned from now on, or no longer.
#[derive(Clone, Copy)]
enum Ban {
    Begins,
    Ends,
}

/// Bans a voter or lifts the ban. Returns whether all votes have been updated; if not, the update continues
/// after the response.
async fn change_ban(app: &App, user: &User, voter: VoterId, change: Ban) -> Result<bool> {
    let (site, now, user) = (app.site.clone(), app.now(), user.clone());
    let done = begin_long(async move {
        let result = match change {
            Ban::Begins => sites::ban(&site, now, &user, voter).await,
            Ban::Ends => sites::unban(&site, now, &user, voter).await,
        };
        if let Err(error @ (Error::Store(_) | Error::Busy | Error::Internal(_))) = &result {
            tracing::warn!(%error, "ban interrupted; repeat it or restart the server to continue");
        }
        result
    });
    Ok(done.await?.is_some())
}
