//! Webhooks: the page on which administrators edit them, the calls, and what they are sent.

mod messages;
pub mod sending;

use crate::features::action::{Action, ActionEntry};
use crate::features::moderation::form::switch;
use crate::markup::parts::age;
use crate::markup::{Frame, Member, Page};
use crate::request::form::{filled, form, optional, parsed, valid};
use crate::request::{Fields, answer};
use crate::route::SHORT;
use crate::server::outgoing::{OutgoingError, Ports};
use crate::{App, RequestError, Result};
use axum::Json;
use maud::{Markup, Render, html};
use strum::IntoEnumIterator;
use tidings_domain::administration::hooks::{self, HookChange, ShownHook};
use tidings_domain::hooks::HookMessage;
use tidings_domain::moderation::log::write_site_change;
use tidings_domain::values::hook::parse_kinds;
use tidings_domain::values::{
    Hook, HookAddress, HookFormat, HookId, HookKind, HookResult, HookSecret, MAX_HOOK_ADDRESS, MAX_HOOKS,
    NotAHook, Timestamp,
};
use tidings_domain::{Error, Refusal};
use tidings_language::lists::enumerated;
use tidings_language::{m, n, p, t};

/// The address of the page.
const ADDRESS: &str = "/admin/hooks";

form! {
    /// A webhook to add; with a number, one to change, to remove or to test.
    pub struct HookForm as HookChange, check {
        /// The number of the webhook to change, to remove or to test; missing to add one.
        pub hook_id: Option<HookId> = optional(parsed(m!("it must be the number of a webhook"))), values::Id, required = false;
        /// Where messages are sent: an http or https address with any port, on the public internet. Required to add one.
        pub address: Option<HookAddress> = filled(valid(|text| HookAddress::parse(text).map_err(Refusal::from))), values::HookAddress, required = false;
        /// The secret that signs messages, 8 to 200 characters. Required to add one, except for a chat. Empty to
        /// keep it.
        pub secret: Option<HookSecret> = filled(valid(|text| HookSecret::parse(text).map_err(Refusal::from))), values::HookSecret, required = false;
        /// The events that it hears about. Required to add one.
        pub kinds: Option<Vec<HookKind>> = |fields: &Fields, _| kinds(fields), values::HookKinds, required = false;
        /// How; `full` if it is missing.
        pub format: Option<HookFormat> = optional(parsed(m!("it must be full or chat"))), values::HookFormat, required = false;
        /// `1` to remove it.
        pub remove: bool = switch, values::Switch, required = false;
        /// `1` to send it a message of the kind `test`.
        pub test: bool = switch, values::Switch, required = false;
    }
}

/// The kinds: a list in a call, and a box for each on the page. `None` if the form has neither.
fn kinds(fields: &Fields) -> Result<Option<Vec<HookKind>>> {
    let mut all = fields.get("kinds").map(str::to_owned);
    for name in HookKind::iter().map(HookKind::name).filter(|name| fields.text(name) == "1") {
        all = Some(all.map_or_else(|| name.to_owned(), |all| format!("{all},{name}")));
    }
    Ok(all.map(|all| parse_kinds(&all)).transpose().map_err(Refusal::from)?)
}

impl HookForm {
    fn check(&self, fields: &Fields) -> Result<()> {
        if self.hook_id.is_none() && !self.remove && !self.test {
            fields.required("address")?;
            fields.required("kinds").or_else(|missing| self.kinds.as_ref().map(|_| "").ok_or(missing))?;
            if self.format != Some(HookFormat::Chat) {
                fields.required("secret")?;
            }
        }
        self.change().map(drop)
    }

    fn change(&self) -> Result<HookChange> {
        if self.remove || self.test {
            let hook = self.hook_id.ok_or(RequestError::missing("hook_id"))?;
            return Ok(if self.remove { HookChange::Remove(hook) } else { HookChange::Test(hook) });
        }
        let (address, secret) = (self.address.clone(), self.secret.clone());
        let (kinds, format) = (self.kinds.clone(), self.format);
        if let Some(hook) = self.hook_id {
            return Ok(HookChange::Change { hook, address, secret, kinds, format });
        }
        let secret = secret.map_or_else(|| HookSecret::parse(""), Ok).map_err(Refusal::from)?;
        let hook = Hook {
            address: address.ok_or(RequestError::missing("address"))?,
            secret,
            kinds: kinds.ok_or(RequestError::missing("kinds"))?,
            format: format.unwrap_or(HookFormat::Full),
        };
        hook.check().map_err(Refusal::from)?;
        Ok(HookChange::Add(hook))
    }

    /// Refuses an address that is a private one, whatever a name stands for. A name is looked up for each message.
    fn demand_public(&self, app: &App) -> Result<(), Refusal> {
        let Some(address) = &self.address else { return Ok(()) };
        match app.settings.titles.network.check(address.url(), Ports::Any) {
            Err(OutgoingError::NotPublic) => Err(NotAHook::NotPublic.into()),
            _ => Ok(()),
        }
    }
}

answer! {
    /// The webhooks.
    pub struct HooksResponse as Hooks from (hooks: Vec<ShownHook>) {
        status;
        hooks: Vec<HookEntry> = hooks.into_iter().map(HookEntry::from).collect();
    }

    /// A webhook. Its secret is not shown.
    pub struct HookEntry as Hook from (hook: ShownHook) {
        hook_id: u64 = hook.id.0;
        /// Where messages are sent.
        address: String = hook.address.into(), values::HookAddress;
        /// The events that it hears about.
        kinds: Vec<&'static str> = hook.kinds.into_iter().map(HookKind::name).collect(), Vec<values::HookKind>;
        /// How.
        format: &'static str = hook.format.name(), values::HookFormat;
        /// Whether messages are signed.
        signed: bool = hook.is_signed;
        /// How many messages wait.
        waiting: u64 = hook.waiting;
        /// The last 20 attempts, the newest first.
        results: Vec<HookResultEntry> = hook.results.into_iter().map(HookResultEntry::from).collect();
    }

    /// An attempt to send a webhook a message.
    struct HookResultEntry as HookResult from (result: HookResult) {
        /// When, in Unix seconds.
        time: u64 = result.time;
        /// The id of the message: the same if it is sent again.
        id: String = result.id;
        /// The status of the answer; null if there was none.
        status: Option<u16> = result.status;
        /// The outcome: the status in words, or the error.
        outcome: String = result.outcome;
        /// How long it took.
        milliseconds: u64 = result.milliseconds;
    }

    /// A webhook was added, changed or removed, or gets a test.
    pub struct HookChangedResponse as HookChanged from (hook: HookId) {
        status;
        /// The webhook.
        hook_id: u64 = hook.0;
    }
}

/// GET /api/admin/hooks.
pub async fn list(Page { app, user, .. }: Page<Member>) -> Result<Json<HooksResponse>> {
    Ok(Json(hooks::all(&app.site, &user).await?.into()))
}

/// GET /admin/hooks.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let hooks = hooks::all(&app.site, &user).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        p {
            (t!(
                "Other servers can be told what happens here, such as a chat of your moderators. The manual describes \
                 the messages and how to check their signatures. Servers at private addresses get no messages."
            ))
        }
        @for hook in &hooks { (hook_section(&frame, hook)) }
        @if hooks.len() < MAX_HOOKS {
            h2 { (t!("Add a webhook")) }
            (hook_form(&frame, None))
        }
        p { a.action href="/admin" { (t!("Administration")) } }
    };
    Ok(frame.headed(t!("Webhooks"), &content))
}

fn kind_words(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Story => t!("new stories"),
        HookKind::Comment => t!("new comments"),
        HookKind::Flag => t!("flags"),
        HookKind::Signup => t!("new members"),
        HookKind::Queue => t!("items for review"),
        HookKind::Decision => t!("moderator decisions"),
    }
}

fn format_words(format: HookFormat) -> &'static str {
    match format {
        HookFormat::Full => t!("Full JSON"),
        HookFormat::Chat => t!("One line of text (Slack, Matrix)"),
    }
}

fn hook_section(frame: &Frame<'_>, hook: &ShownHook) -> Markup {
    let host = hook.address.url().host_str().unwrap_or_default();
    let name = t!("Webhook {id} ({host})", id = hook.id.to_string(), host);
    html! {
        section aria-label=(name) {
            h2 { (name) }
            (hook_form(frame, Some(hook)))
            form.log-filters method="post" action=(ADDRESS) {
                (frame.signed_fields())
                input type="hidden" name="hook_id" value=(hook.id);
                button.button.small.quiet name="test" value="1" { (t!("Send a test")) span.hidden { " " (t!("to webhook {id}", id = hook.id.to_string())) } }
            }
            details {
                summary { (t!("Remove this webhook")) }
                p { (t!("Its secret and its waiting messages are deleted, too. This can't be undone.")) }
                form method="post" action=(ADDRESS) {
                    (frame.signed_fields())
                    input type="hidden" name="hook_id" value=(hook.id);
                    button.button.grave name="remove" value="1" { (t!("Remove webhook {id}", id = hook.id.to_string())) }
                }
            }
            (results(frame, hook))
        }
    }
}

/// The form of a hook, or of a new one.
fn hook_form(frame: &Frame<'_>, hook: Option<&ShownHook>) -> Markup {
    let number = hook.map_or("new".to_owned(), |hook| hook.id.to_string());
    let name = hook.map_or(p!("New webhook"), |hook| t!("Webhook {id}", id = hook.id.to_string()));
    let id = |field: &str| format!("{field}-{number}");
    let most = MAX_HOOK_ADDRESS.to_string();
    let address = hook.map_or("", |hook| hook.address.url().as_str());
    let chosen = hook.map_or(HookFormat::Full, |hook| hook.format);
    let secret = match hook {
        Some(hook) if hook.is_signed => t!("It is stored and never shown. Leave this empty to keep it."),
        _ => t!("8 to 200 characters, known to the other server. A chat needs none."),
    };
    html! {
        form.form.narrow method="post" action=(ADDRESS) aria-label=(name) {
            (frame.signed_fields())
            // So that no box is a mistake, and not what stays.
            input type="hidden" name="kinds" value="";
            @if let Some(hook) = hook { input type="hidden" name="hook_id" value=(hook.id); }
            div.field {
                label for=(id("address")) { (t!("Address")) }
                input #(id("address")) name="address" value=(address) required maxlength=(most) inputmode="url"
                    autocomplete="off" autocapitalize="none" spellcheck="false";
            }
            div.field {
                label for=(id("secret")) { (t!("Secret")) }
                input #(id("secret")) name="secret" type="password" autocomplete="new-password"
                    aria-describedby=(id("secret-hint"));
                p.hint #(id("secret-hint")) { (secret) }
            }
            fieldset.choices {
                legend { (t!("Events")) }
                @for kind in HookKind::iter() {
                    label.choice {
                        input type="checkbox" name=(kind.name()) value="1"
                            checked[hook.is_some_and(|hook| hook.kinds.contains(&kind))];
                        " " (kind_words(kind))
                    }
                }
            }
            div.field {
                label for=(id("format")) { (t!("Format")) }
                select #(id("format")) name="format" {
                    @for format in HookFormat::iter() {
                        option value=(format.name()) selected[format == chosen] { (format_words(format)) }
                    }
                }
            }
            button.button { (if hook.is_some() { t!("Save the webhook") } else { t!("Add the webhook") }) }
        }
    }
}

/// The number of waiting messages, and the results of the last ones.
fn results(frame: &Frame<'_>, hook: &ShownHook) -> Markup {
    html! {
        @if hook.waiting > 0 { p { (n!(hook.waiting, "{count} message waits.", "{count} messages wait.")) } }
        @if hook.results.is_empty() {
            p.empty { (t!("No messages yet.")) }
        } @else {
            details {
                summary { (t!("The last messages")) }
                ol.log role="list" {
                    @for result in &hook.results {
                        @let event = result.id.parse::<HookMessage>().map(|message| message.event.to_string());
                        @let event = html! { code { (event.as_deref().unwrap_or(&result.id)) } };
                        @let outcome = html! {
                            @if let Some(status) = result.status { (status) " " }
                            @if result.is_success() { (result.outcome) } @else { strong { (result.outcome) } }
                        };
                        @let time = t!("{time} ms", time = result.milliseconds).render();
                        @let value = enumerated([event, outcome, time]);
                        li { (t!("{name}: {value}", name = age(frame, Timestamp(result.time)), value)) }
                    }
                }
            }
        }
    }
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once("/admin/hooks", m!("Manage the webhooks."), |app, by, form: &HookForm| {
            Box::pin(async move {
                by.user.require_admin().map_err(Error::from)?;
                form.demand_public(app).map_err(Error::from)?;
                let change = form.change()?;
                let changing = hooks::change(&app.site, app.now(), by, (&change, write_site_change));
                changing.await.map_err(RequestError::from)
            })
        })
        .described("Add, change, remove or test a webhook (administrators only).")
        .answering(async |_, hook| Ok(HookChangedResponse::from(hook)))
        .then(SHORT, |_, ()| ADDRESS.to_owned()),
    ]
}
