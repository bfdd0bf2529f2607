//! The tree of invitations: of all members, and of those below one of them.

use crate::error::{RequestError, Result};
use crate::markup::addresses::profile_address;
use crate::markup::parts::{age, deleted_user, empty_but, no_more, paging};
use crate::markup::{Frame, Page};
use crate::request::{AtName, ListPath, PathOf, Start};
use maud::{Markup, html};
use serde::Deserialize;
use tidings_domain::accounts::invitations::tree::{self, Branch, BranchPage, TreePage};
use tidings_domain::values::{TREE_PAGE, Timestamp};
use tidings_language::{Message, m, n, t};

static HEADING: &Message = m!("Who invited whom");

/// People with those whom they invited below them.
fn branches(frame: &Frame<'_>, people: &[Branch]) -> Markup {
    html! {
        ul.tree role="list" { @for person in people { li { (branch_item(frame, person)) } } }
    }
}

fn branch_item(frame: &Frame<'_>, person: &Branch) -> Markup {
    let hidden = person.invited.saturating_sub(person.branches.len() as u64);
    html! {
        (person_with_age(frame, person.username.as_deref(), person.since))
        @if !person.branches.is_empty() { (branches(frame, &person.branches)) }
        @if hidden > 0 {
            @let others = if person.branches.is_empty() {
                n!(hidden, "invited {count} person", "invited {count} people")
            } else {
                n!(hidden, "and {count} person more", "and {count} people more")
            };
            p.hint {
                @match &person.username {
                    Some(username) => a href=(profile_address(username, "/invited")) { (others) },
                    None => (others),
                }
            }
        }
    }
}

/// A person, and when they joined.
pub(super) fn person_with_age(frame: &Frame<'_>, username: Option<&str>, since: Timestamp) -> Markup {
    html! {
        @match username {
            Some(username) => a href=(profile_address(username, "")) { (username) },
            None => (deleted_user()),
        }
        " " span.hint { (t!("joined {time}", time = age(frame, since))) }
    }
}

/// The people of a page, and the links to the pages before and after it.
fn people(frame: &Frame<'_>, page: &TreePage, (address, start): (&str, u64)) -> Markup {
    html! {
        @if page.branches.is_empty() { (no_more(t!("No more people."), address)) }
        (branches(frame, &page.branches))
        (paging(&|start| format!("{address}/{start}"), start, (TREE_PAGE, TREE_PAGE), page.total))
    }
}

fn tree_page(frame: &Frame<'_>, page: &TreePage, start: u64) -> Markup {
    let content = html! {
        p.hint { (t!("Each member stands below the one who invited them.")) }
        @if page.total == 0 {
            (empty_but(t!("Nobody has invited anyone yet."), ("/settings/invitations", t!("Invite someone"))))
        } @else {
            (people(frame, page, ("/people/tree", start)))
        }
    };
    frame.headed(HEADING.text(), &content)
}

/// GET /people/tree and /people/tree/:start.
pub async fn tree(PathOf(ListPath { start }): PathOf<ListPath>, mut page: Page) -> Result<Markup> {
    let part = tree::tree(&mut page.visit, start.0).await?;
    Ok(tree_page(&page.frame().await?, &part, start.0))
}

/// The address of those whom somebody has invited.
#[derive(Deserialize)]
pub struct BranchPath {
    at_name: AtName,
    #[serde(default)]
    start: Start,
}

/// GET /@:name/invited and /@:name/invited/:start.
pub async fn branch(
    PathOf(BranchPath { at_name: AtName(name), start: Start(start) }): PathOf<BranchPath>,
    Page { app, mut visit, here, .. }: Page,
) -> Result<Markup> {
    let BranchPage { username, inviter, page } = tree::branch(&mut visit, &name, start).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 {
            (t!("Invited by {username}", username = html! { a href=(profile_address(&username, "")) { (username) } }))
        }
        @if let Some(inviter) = inviter {
            p.hint {
                (t!("{username} was invited by {inviter}.", username = &username,
                    inviter = html! { a href=(profile_address(&inviter, "/invited")) { (inviter) } }))
            }
        }
        @if page.total == 0 {
            (empty_but(t!("Nobody yet."), ("/people/tree", t!("See who invited whom"))))
        } @else {
            p.hint { (n!(page.total, "{count} person", "{count} people")) }
            (people(&frame, &page, (&profile_address(&username, "/invited"), start)))
            p { a.action href="/people/tree" { (HEADING.text()) } }
        }
    };
    Ok(frame.page(&t!("Invited by {username}", username = &username).to_string(), &content))
}

/// Rejects methods other than GET at the address of somebody's tree.
pub async fn other_method(PathOf(_): PathOf<BranchPath>) -> RequestError {
    RequestError::MethodNotAllowed
}
