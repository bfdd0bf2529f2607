//! The review queue and the decisions of moderators in numbers.

use super::log::moderator_name;
use crate::error::RequestError;
use crate::markup::frame::Frame;
use crate::markup::page::{Moderator, Page};
use crate::markup::parts::{age, number};
use maud::{Markup, html};
use tidings_domain::moderation::figures::{self, QueueFigures};
use tidings_domain::values::{FIGURES_DAYS, FIGURES_LINES};
use tidings_language::spans::span;
use tidings_language::{n, t};

/// GET /moderate/figures.
pub async fn page(Page { app, mut visit, here, .. }: Page<Moderator>) -> Result<Markup, RequestError> {
    let QueueFigures { waiting, oldest, median_seconds, deeds, is_cut } =
        figures::figures(&mut visit).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { (t!("Moderation statistics")) }
        dl.facts {
            div { dt { a href="/moderate" { (t!("items" => "waiting")) } } dd { (number(waiting)) } }
            @if let Some(oldest) = oldest { div { dt { (t!("the oldest, since")) } dd { (age(&frame, oldest)) } } }
            @if let Some(median) = median_seconds { div { dt { (t!("median time to decision")) } dd { @if median < 60 { (t!("under a minute")) } @else { (span(median)) } } } }
        }
        h2 { (n!(FIGURES_DAYS, "The last {count} day", "The last {count} days")) }
        @if deeds.is_empty() { p.empty { (t!("Nothing was decided.")) } } @else {
            div.scroll tabindex="0" role="region" aria-label=(t!("Decisions")) {
                table {
                    thead { tr { th scope="col" { (t!("column" => "moderator")) } th scope="col" { (t!("column" => "action")) } th.number scope="col" { (t!("column" => "times")) } } }
                    tbody {
                        @for (moderator, action, count) in &deeds {
                            tr { td { (moderator_name(moderator)) } td { (action.words()) } td.number { (number(*count)) } }
                        }
                    }
                }
            }
        }
        @if is_cut { p.hint {
            (n!(
                FIGURES_LINES,
                "Only the newest {count} entry of the moderation log is counted.",
                "Only the newest {count} entries of the moderation log are counted.",
            ))
        } }
        p { a.action href="/moderations" { (t!("Moderation log")) } }
    };
    Ok(frame.page(t!("Moderation statistics"), &content))
}
