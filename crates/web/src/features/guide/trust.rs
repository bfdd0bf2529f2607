//! When accounts are trusted, and what that changes.

use crate::error::RequestError;
use crate::markup::frame::Frame;
use crate::markup::page::Page;
use maud::{Markup, html};
use tidings_domain::accounts::trust;
use tidings_domain::values::words::{counted, grouped_signed};
use tidings_domain::values::{MAX_LINKS_OF_NEW, Rules, TrustRules};

/// GET /about/trust.
pub async fn page(Page { app, mut visit, here, .. }: Page) -> Result<Markup, RequestError> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        div.prose {
            h1 { "Trust" }
            p { (rule(&frame.rules.trust)) }
            @if frame.viewer.is_some() { p { strong { (own(&frame)) } } }
            (differences(frame.rules))
            p {
                "Moderators and administrators are always trusted. There are no other levels, and only \
                 this rule decides. Once you are trusted, you stay trusted, even if you spend karma on votes."
            }
        }
    };
    Ok(frame.page("Trust", &content))
}

/// When accounts are trusted, in a sentence.
fn rule(rules: &TrustRules) -> String {
    let age = (rules.days > 0).then(|| format!("is {} old", counted(rules.days, "day", "days")));
    let karma = (rules.karma > 0).then(|| format!("has {} karma", grouped_signed(rules.karma)));
    let parts: Vec<String> = age.into_iter().chain(karma).collect();
    if parts.is_empty() {
        return "All accounts are trusted here from the start.".to_owned();
    }
    format!("An account is trusted once it {}.", parts.join(" and "))
}

/// Whether the viewer is trusted.
fn own(frame: &Frame<'_>) -> String {
    match frame.viewer.and_then(|viewer| trust::lacking(&frame.rules.trust, frame.now, viewer)) {
        None => "You are trusted.".to_owned(),
        Some(lacking) => format!("You will be trusted {lacking}."),
    }
}

/// The differences before an account is trusted.
fn differences(rules: &Rules) -> Markup {
    html! {
        p { "Until then:" }
        ul {
            li { "the limits of how much you can write and vote in a short time are lower;" }
            li { "your comments and the texts of your stories can have at most " (MAX_LINKS_OF_NEW) " links;" }
            li { "you can’t create topics;" }
            @if rules.accounts.invitations > 0 { li { "you can’t invite people;" } }
            li { "your flags count half." }
        }
    }
}
