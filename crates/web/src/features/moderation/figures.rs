//! The review queue and the decisions of moderators in numbers.

use super::log::moderator_name;
use crate::error::RequestError;
use crate::markup::frame::Frame;
use crate::markup::page::{Moderator, Page};
use crate::markup::parts::{age, number};
use maud::{Markup, html};
use tidings_domain::moderation::figures::{self, QueueFigures};
use tidings_domain::values::words::{grouped, span};
use tidings_domain::values::{FIGURES_DAYS, FIGURES_LINES};

/// GET /moderate/figures.
pub async fn page(Page { app, mut visit, here, .. }: Page<Moderator>) -> Result<Markup, RequestError> {
    let QueueFigures { waiting, oldest, median_seconds, deeds, is_cut } =
        figures::figures(&mut visit).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { "Moderation statistics" }
        dl.facts {
            div { dt { a href="/moderate" { "waiting" } } dd { (number(waiting)) } }
            @if let Some(oldest) = oldest { div { dt { "the oldest, since" } dd { (age(&frame, oldest)) } } }
            @if let Some(median) = median_seconds { div { dt { "median time to decision" } dd { @if median < 60 { "under a minute" } @else { (span(median)) } } } }
        }
        h2 { "The last " (FIGURES_DAYS) " days" }
        @if deeds.is_empty() { p.empty { "Nothing was decided." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Decisions" {
                table {
                    thead { tr { th scope="col" { "moderator" } th scope="col" { "action" } th.number scope="col" { "times" } } }
                    tbody {
                        @for (moderator, action, count) in &deeds {
                            tr { td { (moderator_name(moderator)) } td { (action.words()) } td.number { (number(*count)) } }
                        }
                    }
                }
            }
        }
        @if is_cut { p.hint { "Only the newest " (grouped(FIGURES_LINES as u64)) " entries of the moderation log are counted." } }
        p { a.action href="/moderations" { "Moderation log" } }
    };
    Ok(frame.page("Moderation statistics", &content))
}
