//! What administrators see and do.

use super::layout::Frame;
use super::parts::{age, author, title_link};
use crate::App;
use crate::error::Failure;
use crate::form::{Fields, Form, FromFields};
use crate::local_path::LocalPath;
use crate::viewer::{SignedForm, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use std::time::Duration;
use tidings_domain::Error;
use tidings_domain::Refusal;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::news::lists;
use tidings_domain::news::ranks;
use tidings_domain::statistics::{self, Counts};
use tidings_domain::timelines::deliveries::{self, DeliveryStatus};

/// Items in the debug view.
const TOP: u64 = 30;

/// How long the answer waits for a recomputation.
const RECOMPUTE_PATIENCE: Duration = Duration::from_secs(5);

/// What became of a recomputation.
enum Recomputed {
    /// It is done, for so many items.
    Items(u64),
    /// It goes on.
    Later,
}

/// The page of administrators.
struct AdminPage<'a> {
    counts: Counts,
    deliveries: DeliveryStatus,
    top: &'a [NewsLine],
    /// What became of a recomputation that was just asked for.
    recomputed: Option<Recomputed>,
}

impl AdminPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Administration" }
            @if let Some(recomputed) = &self.recomputed {
                p.notice role="status" {
                    @match recomputed {
                        Recomputed::Items(items) => { "Score and rank of " (items) " items are recomputed." }
                        Recomputed::Later => { "Score and rank are being recomputed; the log tells when all are." }
                    }
                }
            }
            dl.facts {
                div { dt { "users" } dd { (self.counts.users) } }
                div { dt { "news submitted" } dd { (self.counts.news) } }
                div { dt { "news listed" } dd { (self.counts.listed) } }
                div { dt { "jobs waiting" } dd { (self.deliveries.waiting) } }
                div { dt { "jobs done by this server" } dd { (self.deliveries.finished) } }
                @if self.deliveries.finished > 0 {
                    div { dt { "the last one took" } dd { (self.deliveries.last_milliseconds) " ms" } }
                }
            }
            form.form method="post" action="/admin/recompute" {
                (frame.secret_field())
                p.hint {
                    "Ranks follow votes and time by themselves. After a change of the ranking's constants this \
                     brings every item up to date at once."
                }
                button.button { "Recompute all ranks" }
            }
            p { a.action href="/admin/sites" { "Votes on sites" } }
            h2 { "The front page in numbers" }
            (self.table(frame))
        };
        frame.page("Administration", &content)
    }

    fn table(&self, frame: &Frame<'_>) -> Markup {
        let rules = &frame.rules.ranking;
        html! {
            div.scroll tabindex="0" role="region" aria-label="The front page in numbers" {
                table {
                    thead {
                        tr {
                            th.number scope="col" { "id" }
                            th.number scope="col" { "rank" }
                            th.number scope="col" { "score" }
                            th.number scope="col" { "up" }
                            th.number scope="col" { "down" }
                            th scope="col" { "age" }
                            th scope="col" { "author" }
                            th scope="col" { "title" }
                        }
                    }
                    tbody {
                        @for NewsLine { news, username, site_score, .. } in self.top {
                            tr {
                                td.number { (news.id) }
                                td.number { (format!("{:.4}", news.rank(frame.now, rules))) }
                                td.number { (format!("{:.2}", news.score(rules))) }
                                td.number { (news.up) }
                                td.number { (news.down) }
                                td { (age(frame, news.ctime)) }
                                td { (author(username.as_deref())) }
                                td { (title_link(frame, news, *site_score)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The query of the page for administrators.
pub struct AdminQuery {
    /// The outcome of recomputing the ranks, if the page follows that.
    recomputed: Option<Recomputed>,
}

impl FromFields for AdminQuery {
    fn from_fields(fields: &Fields) -> Result<Self, Failure> {
        let recomputed = match fields.text("recomputed") {
            "later" => Some(Recomputed::Later),
            items => items.parse().ok().map(Recomputed::Items),
        };
        Ok(Self { recomputed })
    }
}

/// GET /admin.
pub async fn admin(
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
    Form(query): Form<AdminQuery>,
) -> Result<Markup, Failure> {
    if !user.flags.admin {
        return Err(Refusal::AdministratorsOnly.into());
    }
    let counts = statistics::counts(&mut visit).await?;
    let deliveries = deliveries::status(&app.site).await?;
    let top = lists::top(&mut visit, 0, TOP).await?.lines;
    let page = AdminPage { counts, deliveries, top: &top, recomputed: query.recomputed };
    Ok(page.render(&Frame::for_user(&app, &here, &user)))
}

/// POST /admin/recompute: apisecret. On a large site it goes on after the answer.
pub async fn recompute(State(app): State<App>, form: SignedForm<()>) -> Result<Redirect, Failure> {
    let (site, now) = (app.site.clone(), app.now());
    let recomputing = tokio::spawn(async move {
        let recomputed = ranks::recompute_ranks(&site, now, &form.user).await;
        match &recomputed {
            Ok(stored) => tracing::info!(stored, "ranks recomputed"),
            Err(Error::Refused(_)) => {}
            Err(error) => tracing::warn!(%error, "ranks not recomputed"),
        }
        recomputed
    });
    Ok(Redirect::to(&match tokio::time::timeout(RECOMPUTE_PATIENCE, recomputing).await {
        Ok(Ok(recomputed)) => format!("/admin?recomputed={}", recomputed?),
        Ok(Err(_)) => return Err(Failure::Panic),
        Err(_) => "/admin?recomputed=later".to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, line, news, user};
    use super::*;

    #[test]
    fn the_page_counts_and_shows_score_and_rank() {
        let admin = user("1", "alice", "a");
        let top = [line(news("<b>", "http://a.com/", false), None)];
        let page = AdminPage {
            deliveries: DeliveryStatus { waiting: 2, finished: 7, last_milliseconds: 15 },
            counts: Counts { users: 12, news: 345, listed: 340 },
            top: &top,
            recomputed: Some(Recomputed::Items(340)),
        };
        let html = framed(Some(&admin), |frame| page.render(frame)).into_string();
        for part in [
            "<dd>12</dd>",
            "<dd>345</dd>",
            "<dd>15 ms</dd>",
            "340 items",
            "2.00",
            r#"action="/admin/recompute""#,
            "&lt;b&gt;",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
