//! Bans of networks and e-mail domains: the list, making one after a trial, lifting one.

use super::acting::ModeratedResponse;
use super::form::{hours, switch};
use super::kept_list::KeptList;
use crate::features::action::{Action, ActionEntry};
use crate::markup::dates::to_the_minute;
use crate::markup::fields::choice;
use crate::markup::moderation_tools::REASONS;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::form::{form, parsed, valid};
use crate::request::{Fields, LocalPath, SignedFields, SignedForm, answer};
use crate::route::LONG;
use crate::{App, Result};
use axum::Json;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, Render, html};
use serde::Serialize;
use strum::IntoEnumIterator;
use tidings_domain::Refusal;
use tidings_domain::moderation::origins::{self, ListedBan, NewOriginBan};
use tidings_domain::moderation::{ModerationRequest, moderate};
use tidings_domain::values::{
    BanScope, BannedOrigin, Deed, Hours, ModerationId, OriginBanId, OriginKind, Reason, Thing,
};
use tidings_language::{Message, m, n, t};

form! {
    /// A network or a domain to ban, or to try.
    pub struct BanForm {
        /// The kind of the value.
        pub what: OriginKind = parsed(KIND), values::OriginKind;
        /// The network, such as `192.0.2.0/24`, at most a /16 of IPv4 or a /32 of IPv6; or the domain.
        pub value: BannedOrigin = origin, values::Origin;
        /// The actions that are forbidden to people from there.
        pub scope: BanScope = parsed(m!("it must be signup, post or both")), values::BanScope;
        /// Why. The people affected read it.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// For how long.
        pub hours: Hours = hours, values::Hours, required = false;
        /// `1` to ban nothing, and to learn how many members the ban would stop.
        pub dry_run: bool = switch, values::Switch, required = false;
    }

    /// A ban to lift.
    pub struct LiftBanForm {
        /// The ban.
        pub ban_id: OriginBanId = parsed(m!("it must be the number of a ban")), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
    }
}

const KIND: &Message = m!("it must be network or domain");

fn origin(fields: &Fields, name: &'static str) -> Result<BannedOrigin> {
    Ok(BannedOrigin::parse(fields.parsed("what", KIND)?, fields.required(name)?).map_err(Refusal::from)?)
}

impl From<BanForm> for NewOriginBan {
    fn from(BanForm { value, scope, reason, hours, .. }: BanForm) -> Self {
        Self { origin: value, scope, reason, hours }
    }
}

answer! {
    /// The bans of networks and e-mail domains, by number.
    pub struct BansResponse as OriginBans from (bans: Vec<ListedBan>) {
        status;
        bans: Vec<BanEntry> = bans.into_iter().map(BanEntry::from).collect();
    }

    /// A ban of a network or an e-mail domain.
    pub struct BanEntry as OriginBan from (listed: ListedBan) {
        /// Its number.
        ban_id: u64 = listed.ban.id.0;
        /// The kind of the value.
        what: &'static str = listed.ban.origin.kind().name(), values::OriginKind;
        /// The network or the domain.
        value: String = listed.ban.origin.to_string();
        /// The actions that are forbidden to people from there.
        scope: &'static str = listed.ban.scope.name(), values::BanScope;
        /// Why.
        reason: String = listed.ban.reason.to_string();
        /// When it ends, in Unix seconds; null if it does not end by itself.
        until: Option<u64> = listed.ban.until.map(|until| until.0);
        /// The sign-ups and posts that it has stopped.
        stopped: u64 = listed.stopped;
    }

    /// A network or a domain was banned.
    pub struct BanAddedResponse as OriginBanAdded from (added: (OriginBanId, ModerationId)) {
        status;
        /// The ban.
        ban_id: u64 = added.0.0;
        /// The line in the log.
        moderation_id: u64 = added.1.0;
    }

    /// The number of members that a ban would stop.
    pub struct BanTriedResponse as OriginBanTried from (stops: Option<u64>) {
        status;
        /// The members who were active in the last week and whom the ban would stop; null if that cannot be counted.
        stops: Option<u64> = stops;
    }
}

/// The outcome of a ban, or of a trial.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(untagged)]
#[cfg_attr(test, schema(as = OriginBanOutcome))]
pub enum BanResponse {
    /// It is banned.
    Added(BanAddedResponse),
    /// It was tried.
    Tried(BanTriedResponse),
}

/// GET /api/moderate/bans.
pub async fn list(Page { app, user, .. }: Page<Member>) -> Result<Json<BansResponse>> {
    Ok(Json(origins::all(&app.site, app.now(), &user).await?.into()))
}

/// POST /api/moderate/bans.
pub async fn add(app: App, SignedForm { user, form }: SignedForm<BanForm>) -> Result<Json<BanResponse>> {
    if form.dry_run {
        let stops = origins::stops(&app.site, app.now(), &user, &form.value).await?;
        return Ok(Json(BanResponse::Tried(stops.into())));
    }
    let ban = form.into();
    let adding = origins::add(&app.site, app.moment(), &user, &ban);
    Ok(Json(BanResponse::Added(user.once(&app.site, adding).await?.into())))
}

/// The address of the page.
pub const ADDRESS: &str = "/moderate/bans";

/// The page, with the fields of a trial and how many people the ban would stop, if that can be counted.
fn show(bans: &[ListedBan], frame: &Frame<'_>, tried: Option<(&Fields, Option<u64>)>) -> Markup {
    let value = Field::new("value", t!("Network or domain")).exact().required().with("autocomplete", "off");
    let value = value.hint(t!(
        "A network such as 192.0.2.0/24 or 2001:db8:1::/48, an address, or a domain such as example.com."
    ));
    let reason = Field::new("reason", t!("Reason")).with("list", REASONS).required();
    let reason = reason.hint(t!("Shown to the people affected, and in the moderation log."));
    let hours = Field::new("hours", t!("Hours")).with("inputmode", "numeric");
    let hours = hours.hint(t!("Hours until it ends. 0 or empty: until it is lifted."));
    let kinds = OriginKind::iter().map(|kind| (kind.name(), kind_words(kind)));
    let scopes = BanScope::iter().map(|scope| (scope.name(), scope_words(scope)));
    let list = KeptList {
        address: ADDRESS,
        heading: t!("Banned networks and domains"),
        about: html! {
            (t!(
                "Nobody can sign up, or post, from a banned network or with an e-mail address of a banned domain. Moderators and administrators can. The {log} shows when and why, but not the address.",
                log = html! { a href="/moderations?kind=origin" { (t!("log")) } },
            ))
        },
        fields: html! {
            (choice("what", t!("Type"), kinds, ""))
            (value.input())
            (choice("scope", t!("Blocked actions"), scopes, ""))
            (reason.input())
            (hours.input())
            @if let Some((_, stopped)) = tried { (outcome(stopped)) }
        },
        add: t!("button" => "Ban"),
        listed: t!("Bans"),
        none: t!("Nothing is banned."),
        noun: "ban",
        one: |id| t!("ban {id}", id),
        entries: bans.iter().map(|ban| (ban.ban.id.0, ban_line(ban), ban.ban.reason.as_str())).collect(),
    };
    list.render(frame, tried.map(|(fields, _)| fields))
}

fn kind_words(kind: OriginKind) -> &'static str {
    match kind {
        OriginKind::Network => t!("a network"),
        OriginKind::Domain => t!("a domain of e-mail addresses"),
    }
}

fn scope_words(scope: BanScope) -> &'static str {
    match scope {
        BanScope::Signup => t!("can't" => "sign up"),
        BanScope::Post => t!("can't" => "post"),
        BanScope::Both => t!("can't" => "sign up and post"),
    }
}

/// The number of members that the ban would stop.
fn outcome(stopped: Option<u64>) -> Markup {
    html! {
        p.notice role="status" {
            @match stopped {
                Some(count) => (n!(
                    count,
                    "This ban stops {count} member who were active in the last week.",
                    "This ban stops {count} members who were active in the last week.",
                )),
                None => (t!("The members whom this ban stops can't be counted.")),
            }
        }
    }
}

fn ban_line(ListedBan { ban, stopped }: &ListedBan) -> Markup {
    let origin = html! { code { (ban.origin) } };
    let what = html! { strong { (scope_words(ban.scope)) } };
    let stopped = *stopped;
    let line = match ban.until.map(to_the_minute) {
        Some(time) => {
            t!("{origin} can't {what} until {time}. Stopped so far: {stopped}.", origin, what, time, stopped)
        }
        None => t!("{origin} can't {what}. Stopped so far: {stopped}.", origin, what, stopped),
    };
    line.render()
}

/// GET /moderate/bans.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let bans = origins::all(&app.site, app.now(), &user).await?;
    Ok(show(&bans, &Frame::of(&app, &mut visit, &here).await?, None))
}

/// POST /moderate/bans: what, value, scope, reason, hours, dry_run, apisecret.
pub async fn change(app: App, here: LocalPath, form: SignedFields) -> Result<Response> {
    let ban: BanForm = form.fields.read()?;
    if ban.dry_run {
        let stopped = origins::stops(&app.site, app.now(), &form.user, &ban.value).await?;
        let bans = origins::all(&app.site, app.now(), &form.user).await?;
        let frame = Frame::for_user(&app, &here, &form.user);
        return Ok(show(&bans, &frame, Some((&form.fields, stopped))).into_response());
    }
    form.user.once(&app.site, origins::add(&app.site, app.moment(), &form.user, &ban.into())).await?;
    Ok(Redirect::to(ADDRESS).into_response())
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/moderate/bans/lift",
            m!("Lift a ban of a network or a domain (administrators only)."),
            |app, by, form: &LiftBanForm| {
                Box::pin(async move {
                    let thing = Thing::Origin(form.ban_id);
                    let request = ModerationRequest::new(Deed::Unbar, thing, form.reason.clone());
                    moderate(&app.site, app.moment(), by.user, &request).await
                })
            },
        )
        .called("/api/moderate/unban")
        .answering(async |_, id| Ok(ModeratedResponse::from(id)))
        .form_page(ADDRESS)
        .then(LONG, |_, ()| ADDRESS.to_owned()),
    ]
}
