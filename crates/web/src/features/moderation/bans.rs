//! Bans of networks and e-mail domains: the list, making one after a trial, lifting one.

use super::ban_form::{BanForm, LiftBanForm};
use super::calls::ModeratedResponse;
use crate::App;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry};
use crate::markup::fields::{Field, RefusedForm, choice, summary};
use crate::markup::frame::Frame;
use crate::markup::moderation_tools::{REASONS, reason_field};
use crate::request::form::Fields;
use crate::request::local_path::LocalPath;
use crate::request::viewer::{SignedFields, SignedIn};
use crate::route::LONG;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use strum::IntoEnumIterator;
use tidings_domain::accounts::users::User;
use tidings_domain::moderation::origins::{self, ListedBan, NewOriginBan};
use tidings_domain::values::day;
use tidings_domain::values::ids::{ModerationId, OriginBanId};
use tidings_domain::values::origin_ban::{BanScope, OriginKind};
use tidings_domain::values::words::{counted, grouped};

/// The address of the page.
pub const ADDRESS: &str = "/moderate/bans";

/// The page.
struct BansPage<'a> {
    bans: &'a [ListedBan],
    /// The fields as they were typed.
    typed: &'a Fields,
    refused: Option<&'a RefusedForm>,
    /// How many people the ban that was tried would stop, if that can be counted.
    tried: Option<Option<u64>>,
}

impl BansPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Banned networks and domains" }
            p {
                "Nobody can sign up, or post, from a banned network or with an e-mail address of a banned \
                 domain. Moderators and administrators can. Everyone can see in the "
                a href="/moderations?kind=origin" { "moderation log" } " when and why, but not which."
            }
            (summary(self.refused))
            (self.form(frame))
            h2 { "Bans" }
            @if self.bans.is_empty() { p.empty { "Nothing is banned." } }
            ol.log role="list" {
                @for ban in self.bans { (ban_item(frame, ban)) }
            }
        };
        frame.page("Banned networks and domains", &content)
    }

    fn form(&self, frame: &Frame<'_>) -> Markup {
        let value = Field::new("value", "Network or domain").typed(self.typed).exact().required();
        let value = value.with("autocomplete", "off").hint(html! {
            "A network such as 192.0.2.0/24 or 2001:db8:1::/48, an address, or a domain such as example.com."
        });
        let reason = Field::new("reason", "Reason").typed(self.typed).with("list", REASONS).required();
        let reason = reason.hint(html! { "Shown to those whom the ban stops, and in the moderation log." });
        let hours = Field::new("hours", "Hours").typed(self.typed).with("inputmode", "numeric");
        let hours = hours.hint(html! { "Until it ends by itself; 0 or empty until it is lifted." });
        let kinds = OriginKind::iter().map(|kind| (kind.name(), kind_words(kind)));
        let scopes = BanScope::iter().map(|scope| (scope.name(), scope_words(scope)));
        html! {
            form.form.narrow method="post" action=(ADDRESS) {
                (frame.signed_fields())
                (choice("what", "What it is", kinds, self.typed.text("what")))
                (value.input(self.refused))
                (choice("scope", "What they can't do", scopes, self.typed.text("scope")))
                (reason.input(self.refused))
                (hours.input(self.refused))
                @if let Some(stopped) = self.tried { (outcome(stopped)) }
                div.buttons {
                    button.button name="dry_run" value="1" { "Try it first" }
                    " "
                    button.button.quiet name="dry_run" value="0" { "Ban" }
                }
            }
        }
    }
}

const fn kind_words(kind: OriginKind) -> &'static str {
    match kind {
        OriginKind::Network => "a network",
        OriginKind::Domain => "a domain of e-mail addresses",
    }
}

const fn scope_words(scope: BanScope) -> &'static str {
    match scope {
        BanScope::Signup => "sign up",
        BanScope::Post => "post",
        BanScope::Both => "sign up and post",
    }
}

/// The number of members that the ban would stop.
fn outcome(stopped: Option<u64>) -> Markup {
    html! {
        p.notice role="status" {
            @match stopped {
                Some(count) => { "This ban stops " (counted(count, "member", "members")) " who were active in the last week." }
                None => "How many members this ban stops can't be counted.",
            }
        }
    }
}

fn ban_item(frame: &Frame<'_>, ListedBan { ban, stopped }: &ListedBan) -> Markup {
    html! {
        li {
            p {
                span.log-number { (ban.id) } " " code { (ban.origin) } " can't "
                strong { (scope_words(ban.scope)) }
                @if let Some(until) = ban.until { " until " (day::to_the_minute(until)) }
                ". Stopped so far: " (grouped(*stopped)) "."
            }
            p.log-reason dir="auto" { (ban.reason) }
            form.log-filters method="post" action={ (ADDRESS) "/lift" } {
                (frame.signed_fields())
                input type="hidden" name="ban_id" value=(ban.id);
                (reason_field("Reason", ""))
                button.button.small.quiet { "Lift" span.hidden { " ban " (ban.id) } }
            }
        }
    }
}

/// GET /moderate/bans.
pub async fn page(app: App, SignedIn { user, here, .. }: SignedIn) -> Result<Markup, RequestError> {
    show(&app, &user, &here, (&Fields::default(), None, None)).await
}

async fn show(
    app: &App,
    user: &User,
    here: &LocalPath,
    (typed, refused, tried): (&Fields, Option<&RefusedForm>, Option<Option<u64>>),
) -> Result<Markup, RequestError> {
    let bans = origins::all(&app.site, app.now(), user).await?;
    let page = BansPage { bans: &bans, typed, refused, tried };
    Ok(page.render(&Frame::for_user(app, here, user)))
}

/// POST /moderate/bans: what, value, scope, reason, hours, dry_run, apisecret.
pub async fn change(app: App, here: LocalPath, form: SignedFields) -> Result<Response, RequestError> {
    let typed = &form.fields;
    match act(&app, &form).await {
        Ok(None) => Ok(Redirect::to(ADDRESS).into_response()),
        Ok(tried) => Ok(show(&app, &form.user, &here, (typed, None, tried)).await?.into_response()),
        Err(failure) => {
            let refused = RefusedForm::from_failure(failure)?.beside(&["value", "reason", "hours"]);
            let page = show(&app, &form.user, &here, (typed, Some(&refused), None)).await?;
            Ok(refused.response(page))
        }
    }
}

/// Tries or makes the ban.
async fn act(app: &App, form: &SignedFields) -> Result<Option<Option<u64>>, RequestError> {
    let ban: BanForm = form.fields.read()?;
    if ban.dry_run {
        return Ok(Some(origins::stops(&app.site, app.now(), &form.user, &ban.value).await?));
    }
    add_ban(app, &form.user, &ban.into()).await?;
    Ok(None)
}

/// Bans a network or a domain, for both the form and the API.
pub(crate) async fn add_ban(
    app: &App,
    user: &User,
    ban: &NewOriginBan,
) -> Result<(OriginBanId, ModerationId), RequestError> {
    Ok(user.once(&app.site, origins::add(&app.site, app.moment(), user, ban)).await?)
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/moderate/bans/lift",
            "Lift a ban of a network or a domain (administrators only).",
            |app, by, form: &LiftBanForm| {
                Box::pin(origins::remove(&app.site, app.moment(), by.user, (form.ban_id, &form.reason)))
            },
        )
        .called("/api/moderate/unban")
        .answering(async |_, id| Ok(ModeratedResponse::from(id)))
        .form_page(ADDRESS)
        .then(LONG, |_, ()| ADDRESS.to_owned()),
    ]
}
