//! The administration page, in three tabs: what needs a person and the last hours, the last days, and this
//! server.

mod attention;
mod figures;

use super::admin::attention::{Facts, attention};
use super::admin::figures::{Row, Unit, charts};
use super::changes::VERSION;
use crate::App;
use crate::error::Result;
use crate::features::action::begin_long;
use crate::limits::ADMIN_STORIES;
use crate::markup::dates;
use crate::markup::parts::{Column, age, author, number, tab, title_link, wide_table};
use crate::markup::{Administrator, Frame, Notice, Page};
use crate::request::{Fields, SignedForm};
use crate::server::figures as app_figures;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::accounts::users::User;
use tidings_domain::administration::{self, Queues};
use tidings_domain::cache::CacheStatus;
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::{lists, ranks};
use tidings_domain::statistics::{self, Chronicle, SiteCounts};
use tidings_domain::values::Economy;
use tidings_language::numbers::decimal;
use tidings_language::{Message, m, n, p, spans, t};

/// The administration page.
struct AdminPage<'a> {
    facts: Facts,
    chronicle: &'a Chronicle,
    counts: SiteCounts,
    /// The current figures of this server.
    uptime_seconds: u64,
    requests_per_second: f64,
    p99_milliseconds: u64,
    caches: &'a [CacheStatus],
    /// The state of the search index.
    search: Markup,
    top: &'a [NewsLine],
    tab: Tab,
}

/// A part of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Today,
    Month,
    Server,
}

impl Tab {
    const ALL: [(Self, &str, &Message); 3] = [
        (Self::Today, "/admin", m!("Today")),
        (Self::Month, "/admin?tab=month", m!("30 days")),
        (Self::Server, "/admin?tab=server", m!("Server")),
    ];
}

impl AdminPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            nav.tabs aria-label=(t!("Administration")) {
                ul {
                    @for (part, address, name) in Tab::ALL { (tab(address, name.text(), part == self.tab)) }
                }
            }
            @match self.tab {
                Tab::Today => (self.today(frame)),
                Tab::Month => (charts(&self.days(), Unit::Day)),
                Tab::Server => (self.server(frame)),
            }
        };
        frame.headed(t!("Administration"), &content)
    }

    /// The matters that need a person, and the last hours.
    fn today(&self, frame: &Frame<'_>) -> Markup {
        html! {
            (attention(&self.facts))
            @if frame.rules.karma.economy == Economy::LamerOfStore {
                p.hint {
                    (t!(
                        "Votes cost karma here, because this site was set up before upvotes became free. To make them \
                         free, set {free} and reload the settings. The value {lamer} keeps the prices and hides this \
                         message.",
                        free = html! { code { "karma.economy = \"free\"" } },
                        lamer = html! { code { "\"lamer\"" } }
                    ))
                }
            }
            ul.admin-links {
                li { a.action href="/moderate" { (t!("Review queue")) } }
                li { a.action href="/people" { (t!("People")) } }
                li { a.action href="/admin/hooks" { (t!("Webhooks")) } }
                li { a.action href="/admin/site" { (t!("Site settings: name, colours, sign-up, readers, texts")) } }
                @if frame.rules.features.sites { li { a.action href="/admin/sites" { (t!("Votes on sites")) } } }
            }
            h2 { (t!("The last 24 hours")) }
            (charts(&self.hours(), Unit::Hour))
        }
    }

    /// The site and this server in numbers.
    fn server(&self, frame: &Frame<'_>) -> Markup {
        html! {
            (self.facts_in_numbers())
            h2 { (t!("The front page in numbers")) }
            (self.table(frame))
            form.form method="post" action="/admin/recompute" {
                (frame.signed_fields())
                p.hint {
                    (t!(
                        "Ranks follow votes and time automatically. After you change the ranking settings, this \
                         updates all stories at once."
                    ))
                }
                button.button { (t!("Recompute all ranks")) }
            }
            h2 { (t!("Caches")) }
            (cache_table(self.caches))
            (self.search)
        }
    }

    fn hours(&self) -> Vec<Row<'_>> {
        let hours = self.chronicle.hours.iter();
        hours.map(|(hour, figures)| Row { time: hour.on_the_clock(), figures }).collect()
    }

    fn days(&self) -> Vec<Row<'_>> {
        let days = self.chronicle.days.iter();
        days.map(|(day, figures)| Row { time: dates::day(*day), figures }).collect()
    }

    fn facts_in_numbers(&self) -> Markup {
        let Queues { jobs, mails, messages, feeds } = &self.facts.queues;
        html! {
            dl.facts {
                div { dt { (t!("users")) } dd { (number(self.counts.users)) } }
                div { dt { (t!("stories submitted")) } dd { (number(self.counts.news)) } }
                div { dt { (t!("stories listed")) } dd { (number(self.counts.listed)) } }
                div { dt { (t!("version")) } dd { a href="/admin/changes" { (VERSION) } } }
                div { dt { (t!("this server has been up for")) } dd { (spans::age(self.uptime_seconds)) } }
                div { dt { (t!("requests a second, in the last minute")) } dd { (decimal(self.requests_per_second, 1)) } }
                div { dt { (t!("99% of them answered within")) } dd { (t!("{time} ms", time = self.p99_milliseconds)) } }
                div { dt { (t!("jobs waiting")) } dd { (number(jobs.waiting.count)) } }
                div { dt { (t!("mails waiting")) } dd { (number(mails.count)) } }
                div { dt { (t!("messages to webhooks waiting")) } dd { (number(*messages)) } }
                div { dt { (t!("feeds waiting for the hub")) } dd { (number(*feeds)) } }
                div { dt { (t!("jobs done by this server")) } dd { (number(jobs.finished)) } }
                @if jobs.finished > 0 {
                    div { dt { (t!("the last job took")) } dd { (t!("{time} ms", time = jobs.last_milliseconds)) } }
                }
            }
        }
    }

    fn table(&self, frame: &Frame<'_>) -> Markup {
        let rules = &frame.rules.ranking;
        let numbers = [t!("id"), t!("rank"), t!("score"), t!("votes" => "up"), t!("votes" => "down")];
        let numbers = numbers.map(Column::Numbers);
        let words = [t!("age"), t!("author"), t!("title")].map(Column::Words);
        let columns: Vec<Column<'_>> = numbers.into_iter().chain(words).collect();
        let rows = html! {
            @for line in self.top {
                @let NewsSummary { news, username, site_score } = &**line;
                tr {
                    td.number { (news.id) }
                    td.number { (decimal(news.rank(frame.now, rules), 4)) }
                    td.number { (decimal(news.score(rules), 2)) }
                    td.number { (number(news.votes()[0])) }
                    td.number { (number(news.votes()[1])) }
                    td { (age(frame, news.ctime)) }
                    td { (author(username.as_deref())) }
                    td.headline { (title_link(frame.link_target(), news, *site_score)) }
                }
            }
        };
        wide_table(t!("The front page in numbers"), &columns, &rows)
    }
}

/// The search index of this server; nothing if search is off.
fn search_state(app: &App) -> Markup {
    html! {
        @if app.settings.search.is_on {
            h2 { (t!("noun" => "Search")) }
            p {
                @match app.search.get() {
                    None => (t!("The search index cannot be used. The log says why.")),
                    Some(searching) => {
                        @let state = searching.state();
                        (n!(
                            state.documents,
                            "{count} documents, {size} KiB.",
                            "{count} documents, {size} KiB.",
                            size = state.bytes / 1_024
                        ))
                        " "
                        (match state.made {
                            Some(part) => t!("A new index is {part}% done.", part = decimal(part * 100.0, 0)),
                            None if state.behind_seconds < 5 => p!("Up to date."),
                            None => n!(
                                state.behind_seconds,
                                "Behind by {count} second. The log says why.",
                                "Behind by {count} seconds. The log says why."
                            ),
                        })
                    }
                }
            }
        }
    }
}

/// The name of a cache in words: pages call tweets posts.
fn cache_name(name: &str) -> String {
    name.replace("tweet", "post").replace('_', " ")
}

/// How well each cache works.
fn cache_table(caches: &[CacheStatus]) -> Markup {
    let columns = [
        Column::Words(t!("cache")),
        Column::Numbers(t!("hits")),
        Column::Numbers(t!("misses")),
        Column::Numbers(t!("entries")),
        Column::Numbers(t!("KiB used")),
        Column::Numbers(t!("KiB at most")),
    ];
    let rows = html! {
        @for cache in caches {
            tr {
                td { code { (cache_name(cache.name)) } }
                td.number { (number(cache.hits)) }
                td.number { (number(cache.misses)) }
                td.number { (number(cache.entries)) }
                td.number { (number(cache.bytes / 1_024)) }
                td.number { (number(cache.capacity_bytes / 1_024)) }
            }
        }
    };
    wide_table(t!("Caches"), &columns, &rows)
}

/// GET /admin: tab.
pub async fn admin(
    Page { app, mut visit, user, here }: Page<Administrator>,
    fields: Fields,
) -> Result<Markup> {
    app_figures::note(&app);
    let counts = statistics::counts(&mut visit).await?;
    let waiting = administration::waiting(&mut visit).await?;
    let chronicle = statistics::chronicle(&mut visit).await?;
    let queues = Queues::read(&app.site, &app.site.store).await?;
    let top = lists::top(&mut visit, 0, ADMIN_STORIES).await?.lines;
    let caches = app.site.caches.status();
    let errors = chronicle.last_day().answered.errors;
    let facts = Facts::of(&app, &user, (waiting, queues), errors).await;
    let page = AdminPage {
        facts,
        chronicle: &chronicle,
        counts,
        uptime_seconds: app.traffic.uptime().as_secs(),
        requests_per_second: app.traffic.requests_per_second(),
        p99_milliseconds: u64::try_from(app.traffic.p99().as_millis()).unwrap_or(u64::MAX),
        caches: &caches,
        search: search_state(&app),
        top: &top,
        tab: match fields.text("tab") {
            "month" => Tab::Month,
            "server" => Tab::Server,
            _ => Tab::Today,
        },
    };
    Ok(page.render(&Frame::of(&app, &mut visit, &here).await?))
}

/// POST /admin/recompute: apisecret. On a large site it continues after the response.
pub async fn recompute(app: App, form: SignedForm<()>) -> Result<Redirect> {
    let recomputed = form.user.once(&app.site, start_recomputing(&app, form.user.clone())).await?;
    let (notice, stored) = recomputed.map_or((Notice::Recomputing, 0), |stored| (Notice::Recomputed, stored));
    Ok(notice.redirect_with(stored, &app, &form.user, "/admin?tab=server"))
}

/// Recomputes all ranks. Returns how many; `None` while it is still running.
async fn start_recomputing(app: &App, user: User) -> Result<Option<u64>> {
    let (site, now) = (app.site.clone(), app.now());
    begin_long(async move {
        let recomputed = ranks::recompute_ranks(&site, now, &user).await;
        match &recomputed {
            Ok(stored) => tracing::info!(stored, "ranks recomputed"),
            Err(Error::Refused(_)) => {}
            Err(error) => tracing::warn!(%error, "ranks not recomputed"),
        }
        recomputed
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{assert_has, framed, line, news, user};
    use tidings_domain::administration::Backlog;
    use tidings_domain::jobs::JobStatus;
    use tidings_domain::queue::LaneFigures;

    #[test]
    fn the_page_counts_and_shows_score_and_rank() {
        let admin = user("1", "alice", "a");
        let top = [line(news("<b>", "http://a.com/", false), None)];
        let mut page = AdminPage {
            facts: Facts {
                has_email: true,
                waiting: Backlog { reviews: 3, ..Backlog::default() },
                queues: Queues {
                    jobs: JobStatus { finished: 7, last_milliseconds: 15, ..JobStatus::default() },
                    mails: LaneFigures { count: 23, oldest: None },
                    messages: 24,
                    feeds: 25,
                },
                sends_mail: true,
                ..Facts::default()
            },
            chronicle: &Chronicle::default(),
            uptime_seconds: 7_200,
            requests_per_second: 1.25,
            p99_milliseconds: 1_234,
            caches: &[CacheStatus {
                name: "story_fragments",
                entries: 3,
                bytes: 2_048,
                capacity_bytes: 2_097_152,
                hits: 12_345,
                misses: 67,
            }],
            search: html! {},
            counts: SiteCounts { users: 12, news: 345, listed: 340 },
            top: &top,
            tab: Tab::Server,
        };
        let html = framed(Some(&admin), |frame| page.render(frame)).into_string();
        assert_has(
            &html,
            &[
                "<dd>12</dd>",
                "<dd>345</dd>",
                "<dd>23</dd>",
                "<dd>24</dd>",
                "<dd>25</dd>",
                "<dd>15 ms</dd>",
                "<dd>1,234 ms</dd>",
                "<dd>2 hours</dd>",
                "2.00",
                "<td><code>story fragments</code></td>",
                "12,345",
                r#"action="/admin/recompute""#,
                "&lt;b&gt;",
            ],
        );
        // The matters that need a person come first.
        page.tab = Tab::Today;
        let html = framed(Some(&admin), |frame| page.render(frame)).into_string();
        assert!(html.find("3 items need") < html.find("The last 24 hours"), "{html}");
    }
}
