//! When accounts are trusted, and what that changes.

use crate::error::Result;
use crate::error::refusals::trusted;
use crate::markup::{Frame, Page};
use maud::{Markup, html};
use tidings_domain::accounts::trust;
use tidings_domain::values::{MAX_LINKS_OF_NEW, Rules, TrustRules};
use tidings_language::{Phrase, n, p, t};

/// GET /about/trust.
pub async fn page(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        div.prose {
            h1 { (t!("Trust")) }
            p { (rule(&frame.rules.trust)) }
            @if frame.viewer.is_some() { p { strong { (own(&frame)) } } }
            (differences(frame.rules))
            p {
                (t!(
                    "Moderators and administrators are always trusted. There are no other levels, and only \
                     this rule decides. Once you are trusted, you stay trusted, even if you spend karma on votes."
                ))
            }
        }
    };
    Ok(frame.page(t!("Trust"), &content))
}

/// When accounts are trusted, in a sentence.
fn rule(rules: &TrustRules) -> Phrase<'static> {
    let &TrustRules { days, karma, .. } = rules;
    match (days > 0, karma > 0) {
        (false, false) => p!("All accounts are trusted here from the start."),
        (false, true) => t!("An account is trusted once it has {karma} karma.", karma),
        (true, false) => n!(
            days,
            "An account is trusted once it is {count} day old.",
            "An account is trusted once it is {count} days old."
        ),
        (true, true) => n!(
            days,
            "An account is trusted once it is {count} day old and has {karma} karma.",
            "An account is trusted once it is {count} days old and has {karma} karma.",
            karma
        ),
    }
}

/// Whether the viewer is trusted.
fn own(frame: &Frame<'_>) -> Phrase<'static> {
    match frame.viewer.and_then(|viewer| trust::lacking(&frame.rules.trust, frame.now, viewer)) {
        None => p!("You are trusted."),
        Some(lacking) => trusted(lacking),
    }
}

/// The differences before an account is trusted.
fn differences(rules: &Rules) -> Markup {
    html! {
        p { (t!("Until then:")) }
        ul {
            li { (t!("the limits of how much you can write and vote in a short time are lower;")) }
            li {
                (t!(
                    "your comments and the texts of your stories can have at most {most} links;",
                    most = MAX_LINKS_OF_NEW
                ))
            }
            li { (t!("you can’t create topics;")) }
            @if rules.accounts.invitations > 0 { li { (t!("you can’t invite people;")) } }
            li { (t!("your flags count half.")) }
        }
    }
}
