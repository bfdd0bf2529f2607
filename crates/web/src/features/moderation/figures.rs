//! The review queue and the decisions of moderators in numbers.

use super::log::moderator_name;
use crate::error::Result;
use crate::markup::parts::{Column, age, number, table};
use crate::markup::{Frame, Moderator, Page};
use maud::{Markup, html};
use tidings_domain::moderation::figures::{self, QueueFigures};
use tidings_domain::values::{FIGURES_DAYS, FIGURES_LINES};
use tidings_language::spans::span;
use tidings_language::{n, t};

/// GET /moderate/figures.
pub async fn page(Page { app, mut visit, here, .. }: Page<Moderator>) -> Result<Markup> {
    let QueueFigures { waiting, oldest, median_seconds, deeds, is_cut } =
        figures::figures(&mut visit).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        dl.facts {
            div { dt { a href="/moderate" { (t!("items" => "waiting")) } } dd { (number(waiting)) } }
            @if let Some(oldest) = oldest { div { dt { (t!("the oldest, since")) } dd { (age(&frame, oldest)) } } }
            @if let Some(median) = median_seconds { div { dt { (t!("median time to decision")) } dd { @if median < 60 { (t!("under a minute")) } @else { (span(median)) } } } }
        }
        h2 { (n!(FIGURES_DAYS, "The last {count} day", "The last {count} days")) }
        @if deeds.is_empty() { p.empty { (t!("Nothing was decided.")) } } @else {
            @let [moderator, action] = [t!("column" => "moderator"), t!("column" => "action")].map(Column::Words);
            @let columns = [moderator, action, Column::Numbers(t!("column" => "times"))];
            (table(t!("Decisions"), &columns, &html! {
                @for (moderator, action, count) in &deeds {
                    tr { td { (moderator_name(moderator)) } td { (action.words()) } td.number { (number(*count)) } }
                }
            }))
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
    Ok(frame.headed(t!("Moderation statistics"), &content))
}
