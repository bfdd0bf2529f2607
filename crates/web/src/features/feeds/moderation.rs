//! The Atom feed of the moderation log.

use super::{ATOM, Xml, headers, moment};
use crate::App;
use crate::error::RequestError;
use crate::features::moderation::log::{moderator_name, summary};
use crate::limits::LOG_ENTRIES;
use crate::settings::SiteSettings;
use axum::extract::State;
use axum::response::IntoResponse;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::log::{self, LogEntry, LogWindow};
use tidings_domain::values::clock::Timestamp;

/// GET /moderations/atom: the newest lines, as everybody sees them.
pub async fn log_feed(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let window = LogWindow { count: LOG_ENTRIES, ..LogWindow::default() };
    let entries = log::page(&mut visit, &window).await?.entries;
    let brand = app.brand_for(&mut visit).await;
    Ok((headers(ATOM), document(&brand.site, &entries)))
}

fn document(site: &SiteSettings, entries: &[LogEntry]) -> String {
    let mut xml = Xml::new();
    let (page, own) = (site.link("/moderations"), site.link("/moderations/atom"));
    let updated = entries.first().map_or_else(Timestamp::default, |entry| entry.time);
    xml.begin_atom((&format!("{}: moderation log", site.name), &page), updated, &page, Some(&own));
    xml.items(entries, |xml, entry| {
        let time = moment(entry.time).to_string();
        let line = format!("{page}?before={}#line-{}", entry.id.0.saturating_add(1), entry.id);
        xml.raw("\n<entry>");
        xml.element("title", &summary(entry));
        xml.element("id", &format!("{page}#line-{}", entry.id));
        xml.element("published", &time);
        xml.element("updated", &time);
        xml.raw("<author>");
        xml.element("name", moderator_name(&entry.moderator));
        xml.raw("</author>");
        xml.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", &line)]);
        xml.element("content", &entry.reason);
        xml.raw("</entry>");
    });
    xml.raw("\n</feed>\n");
    xml.0
}
