//! The administration page.

use super::layout::Frame;
use super::parts::{age, author, counted, number, title_link};
use crate::App;
use crate::error::RequestError;
use crate::form::{Fields, Form, FromFields};
use crate::limits::{ADMIN_STORIES, LONG_ACTION_WAIT};
use crate::local_path::LocalPath;
use crate::panics;
use crate::viewer::{SignedForm, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::cache::CacheStatus;
use tidings_domain::jobs::{self, JobStatus};
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::lists;
use tidings_domain::news::ranks;
use tidings_domain::statistics::{self, SiteCounts};

/// The outcome of a recomputation.
enum Recomputed {
    /// It is done, for this many stories.
    Items(u64),
    /// It is still running.
    Later,
}

/// The administration page.
struct AdminPage<'a> {
    counts: SiteCounts,
    jobs: JobStatus,
    caches: &'a [CacheStatus],
    /// Panics since the start: mistakes in the program.
    panics: u64,
    top: &'a [NewsLine],
    /// The outcome of a recomputation that was just requested.
    recomputed: Option<Recomputed>,
}

impl AdminPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Administration" }
            @if let Some(recomputed) = &self.recomputed {
                p.notice role="status" {
                    @match recomputed {
                        Recomputed::Items(items) => { "Recomputed " (counted(*items, "story", "stories")) "." }
                        Recomputed::Later => { "Recomputing all stories. The log will say when it is done." }
                    }
                }
            }
            dl.facts {
                div { dt { "users" } dd { (number(self.counts.users)) } }
                div { dt { "stories submitted" } dd { (number(self.counts.news)) } }
                div { dt { "stories listed" } dd { (number(self.counts.listed)) } }
                @if self.panics > 0 {
                    div { dt { "panics of this server; see its log" } dd { (number(self.panics)) } }
                }
                div { dt { "jobs waiting" } dd { (number(self.jobs.waiting)) } }
                div { dt { "jobs done by this server" } dd { (number(self.jobs.finished)) } }
                @if self.jobs.finished > 0 {
                    div { dt { "the last job took" } dd { (number(self.jobs.last_milliseconds)) " ms" } }
                }
            }
            form.form method="post" action="/admin/recompute" {
                (frame.secret_field())
                p.hint {
                    "Ranks follow votes and time automatically. After you change the ranking settings, this \
                     updates all stories at once."
                }
                button.button { "Recompute all ranks" }
            }
            p { a.action href="/admin/site" { "Name, colours, logo and texts of this site" } }
            p { a.action href="/admin/sites" { "Votes on sites" } }
            h2 { "The front page in numbers" }
            (self.table(frame))
            h2 { "Caches" }
            (cache_table(self.caches))
        };
        frame.page("Administration", &content)
    }

    fn table(&self, frame: &Frame<'_>) -> Markup {
        let rules = &frame.rules.ranking;
        html! {
            div.scroll.wide tabindex="0" role="region" aria-label="The front page in numbers" {
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
                        @for line in self.top {
                            @let NewsSummary { news, username, site_score } = &**line;
                            tr {
                                td.number { (news.id) }
                                td.number { (format!("{:.4}", news.rank(frame.now, rules))) }
                                td.number { (format!("{:.2}", news.score(rules))) }
                                td.number { (number(news.up)) }
                                td.number { (number(news.down)) }
                                td { (age(frame, news.ctime)) }
                                td { (author(username.as_deref())) }
                                td.headline { (title_link(frame.link_target(), news, *site_score)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How well each cache works.
fn cache_table(caches: &[CacheStatus]) -> Markup {
    html! {
        div.scroll.wide tabindex="0" role="region" aria-label="Caches" {
            table {
                thead {
                    tr {
                        th scope="col" { "cache" }
                        th.number scope="col" { "hits" }
                        th.number scope="col" { "misses" }
                        th.number scope="col" { "entries" }
                        th.number scope="col" { "KiB used" }
                        th.number scope="col" { "KiB at most" }
                    }
                }
                tbody {
                    @for cache in caches {
                        tr {
                            td { (cache.name.replace('_', " ")) }
                            td.number { (number(cache.hits)) }
                            td.number { (number(cache.misses)) }
                            td.number { (number(cache.entries)) }
                            td.number { (number(cache.bytes / 1_024)) }
                            td.number { (number(cache.capacity_bytes / 1_024)) }
                        }
                    }
                }
            }
        }
    }
}

/// The query of the administration page.
pub struct AdminQuery {
    /// The outcome of a recomputation that was just requested.
    recomputed: Option<Recomputed>,
}

impl FromFields for AdminQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
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
) -> Result<Markup, RequestError> {
    user.require_admin()?;
    let counts = statistics::counts(&mut visit).await?;
    let jobs = jobs::status(&app.site).await?;
    let top = lists::top(&mut visit, 0, ADMIN_STORIES).await?.lines;
    let caches = app.site.caches.status();
    let (panics, recomputed) = (panics::count(), query.recomputed);
    let page = AdminPage { counts, jobs, caches: &caches, panics, top: &top, recomputed };
    Ok(page.render(&Frame::for_user(&app, &here, &user)))
}

/// POST /admin/recompute: apisecret. On a large site it continues after the response.
pub async fn recompute(State(app): State<App>, form: SignedForm<()>) -> Result<Redirect, RequestError> {
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
    Ok(Redirect::to(&match tokio::time::timeout(LONG_ACTION_WAIT, recomputing).await {
        Ok(Ok(recomputed)) => format!("/admin?recomputed={}", recomputed?),
        Ok(Err(_)) => return Err(RequestError::Panic),
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
            panics: 0,
            jobs: JobStatus { waiting: 2, finished: 7, last_milliseconds: 15 },
            caches: &[CacheStatus {
                name: "story_fragments",
                entries: 3,
                bytes: 2_048,
                capacity_bytes: 2_097_152,
                hits: 12_345,
                misses: 67,
            }],
            counts: SiteCounts { users: 12, news: 345, listed: 340 },
            top: &top,
            recomputed: Some(Recomputed::Items(15_020)),
        };
        let html = framed(Some(&admin), |frame| page.render(frame)).into_string();
        for part in [
            "<dd>12</dd>",
            "<dd>345</dd>",
            "<dd>15 ms</dd>",
            "Recomputed 15,020 stories.",
            "2.00",
            "<td>story fragments</td>",
            "12,345",
            r#"action="/admin/recompute""#,
            "&lt;b&gt;",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
