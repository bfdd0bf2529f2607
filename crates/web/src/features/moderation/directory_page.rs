//! The page of the directory of accounts.

use super::acting;
use super::directory::{BOX, DirectoryForm, DirectoryPart, DirectoryQuery, act, find};
use crate::App;
use crate::error::Result;
use crate::markup::dates::date;
use crate::markup::moderation_tools::REASONS;
use crate::markup::parts::{DELETED_USER, age, author, more_link, number};
use crate::markup::{Field, Frame, Moderator, Page};
use crate::request::{Form, Next, SignedFields};
use axum::response::Redirect;
use maud::{Markup, html};
use strum::VariantArray;
use tidings_domain::moderation::directory::{AccountRow, AccountState};
use tidings_domain::values::Action;
use tidings_language::{n, t};
use tidings_search::accounts::AccountOrder;
use url::form_urlencoded::Serializer;

/// The address of the page.
pub const ADDRESS: &str = "/people";

/// The actions on several people at once.
const ACTIONS: [Action; 3] = [Action::Ban, Action::Silence, Action::Note];

/// GET /people: count, before, q, state, network, invited_by, since, sort.
pub async fn page(
    Page { app, mut visit, here, .. }: Page<Moderator>,
    Form(query): Form<DirectoryQuery>,
) -> Result<Markup> {
    let part = find(&app, &mut visit, &query).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        @if part.total.is_none() {
            p.hint { (t!("Without search, this page finds whole usernames only, and shows the newest accounts first.")) }
        }
        (filters(&query, &part))
        @if part.rows.is_empty() { p.empty { (t!("Nobody matches.")) } } @else {
            @if let Some(total) = part.total { p.hint { (n!(total, "{count} account", "{count} accounts")) } }
            form method="post" action=(ADDRESS) {
                (frame.signed_fields())
                input type="hidden" name="next" value=(address(&query, query.before, false));
                p {
                    @if query.all {
                        a href=(address(&query, query.before, false)) { (t!("Select nobody")) }
                    } @else {
                        (t!("{all}, except moderators and administrators", all = html! {
                            a href=(address(&query, query.before, true)) { (t!("Select all on this page")) }
                        }))
                    }
                }
                (table(&frame, &part, query.all))
                (tools())
            }
        }
        (more_link(part.next.map(|next| address(&query, Some(next), false))))
    };
    Ok(frame.headed(t!("People"), &content))
}

/// The address of a part of what is asked for.
fn address(query: &DirectoryQuery, before: Option<u64>, all: bool) -> String {
    let since = query.since.map(|day| day.to_string()).unwrap_or_default();
    let network = query.network.as_ref().map(ToString::to_string).unwrap_or_default();
    let fields = [
        ("q", &*query.q),
        ("state", query.state.map(AccountState::name).unwrap_or_default()),
        ("network", &network),
        ("invited_by", &query.invited_by),
        ("since", &since),
        ("sort", query.sort.name()),
        ("before", &before.map(|before| before.to_string()).unwrap_or_default()),
        ("all", if all { "1" } else { "" }),
    ];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    format!("{ADDRESS}?{}", Serializer::new(String::new()).extend_pairs(given).finish())
}

fn order_words(order: AccountOrder) -> &'static str {
    match order {
        AccountOrder::Age => t!("order" => "new"),
        AccountOrder::Karma => t!("order" => "karma"),
        AccountOrder::Activity => t!("order" => "last visit"),
    }
}

fn state_words(state: AccountState) -> &'static str {
    match state {
        AccountState::New => t!("person" => "new"),
        AccountState::Silenced => t!("person" => "silenced"),
        AccountState::Banned => t!("person" => "banned"),
        AccountState::Held => t!("person" => "held"),
        AccountState::Deactivated => t!("person" => "deactivated"),
        AccountState::Staff => t!("person" => "staff"),
    }
}

fn filters(query: &DirectoryQuery, part: &DirectoryPart) -> Markup {
    let since = query.since.map(|day| day.to_string()).unwrap_or_default();
    let network = query.network.as_ref().map(ToString::to_string).unwrap_or_default();
    html! {
        form.log-filters action=(ADDRESS) {
            label { @if part.shows_addresses { (t!("Name or e-mail address")) } @else { (t!("Name")) }
                input type="search" name="q" value=(query.q) autocapitalize="none";
            }
            @if part.total.is_some() {
                label { (t!("State"))
                    select name="state" {
                        option value="" { (t!("state" => "all")) }
                        @for state in AccountState::VARIANTS {
                            option value=(state.name()) selected[query.state == Some(*state)] { (state_words(*state)) }
                        }
                    }
                }
                label { (t!("Invited by"))
                    input type="text" name="invited_by" value=(query.invited_by) autocapitalize="none";
                }
                label { (t!("Joined since"))
                    input type="date" name="since" value=(since);
                }
            }
            label { (t!("Network"))
                input type="text" name="network" value=(network) autocapitalize="none" maxlength="12";
            }
            @if part.total.is_some() {
                label { (t!("Sort by"))
                    select name="sort" {
                        @for order in AccountOrder::VARIANTS {
                            option value=(order.name()) selected[query.sort == *order] { (order_words(*order)) }
                        }
                    }
                }
            }
            button.button.small { (t!("button" => "Show")) }
        }
    }
}

fn table(frame: &Frame<'_>, part: &DirectoryPart, all: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(t!("People")) {
            table.directory {
                thead { tr {
                    th scope="col" { (t!("column" => "name")) }
                    @if part.shows_addresses { th scope="col" { (t!("column" => "e-mail")) } }
                    th scope="col" { (t!("column" => "state")) }
                    th scope="col" { (t!("column" => "joined")) }
                    th scope="col" { (t!("column" => "invited by")) }
                    th.number scope="col" { (t!("column" => "karma")) }
                    th.number scope="col" { (t!("column" => "stories")) }
                    th.number scope="col" { (t!("column" => "comments")) }
                    th.number scope="col" title=(t!("flags upheld")) { (t!("column" => "flags")) }
                    th scope="col" { (t!("column" => "last seen")) }
                    th scope="col" { (t!("column" => "network")) }
                } }
                tbody { @for person in &part.rows { (row(frame, person, (part.shows_addresses, all))) } }
            }
        }
    }
}

fn row(frame: &Frame<'_>, person: &AccountRow, (shows_addresses, all): (bool, bool)) -> Markup {
    let is_chosen = all && person.state != Some(AccountState::Staff);
    html! {
        tr {
            th scope="row" {
                @match &person.username {
                    Some(name) => {
                        div.choice {
                            input type="checkbox" name={ (BOX) (person.id) } value=(name) aria-label=(t!("Select {name}", name)) checked[is_chosen];
                            (author(Some(name)))
                        }
                    }
                    None => { (DELETED_USER) " " (person.id) }
                }
            }
            @if shows_addresses { td { (person.email.as_deref().unwrap_or_default()) } }
            td { (person.state.map(state_words).unwrap_or_default()) }
            td { (age(frame, person.created)) }
            td { @if let Some(inviter) = &person.invited_by { (author(Some(inviter))) } }
            td.number { (number(person.karma)) }
            td.number { (number(person.stories)) }
            td.number { (number(person.comments)) }
            td.number { (number(person.flags_upheld)) }
            td { @if let Some(day) = person.last_seen { (date(day.start())) } }
            td {
                @if let Some(tag) = &person.network {
                    a href={ (ADDRESS) "?network=" (tag) } rel="nofollow" { code { (tag) } }
                }
            }
        }
    }
}

/// The actions on the selected people.
fn tools() -> Markup {
    let reason = Field::new("reason", t!("Reason (public), or the note")).with("list", REASONS).required();
    let hours = Field::new("hours", t!("Hours")).with("inputmode", "numeric");
    let hours = hours.hint(html! {
        (t!("Hours for which a ban or a silence lasts. 0 or empty: until it is lifted."))
    });
    html! {
        div.form.narrow {
            h2 { (t!("Apply to the selected people")) }
            (reason.input())
            (hours.input())
            label.choice {
                input type="checkbox" name="remove" value="1";
                span { (t!("With a ban, also remove all that they have posted")) }
            }
            div.buttons {
                @for action in ACTIONS {
                    button.button name="action" value=(action.name()) { (action.button()) } " "
                }
            }
        }
    }
}

/// POST /people: usernames or boxes, action, reason, hours, remove, next, apisecret.
pub async fn change(app: App, mut form: SignedFields) -> Result<Redirect> {
    let (asked, back) = form.fields.read::<(DirectoryForm, Next)>()?;
    let done = act(&app, (&mut form.visit, &form.user), &asked).await?;
    let back = back.next.to_string();
    Ok(done.line.map_or_else(|| Redirect::to(&back), |line| acting::done(back.clone(), line)))
}
