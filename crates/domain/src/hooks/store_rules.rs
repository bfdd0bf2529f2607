//! Rules of webhooks, and of what waits for them.

use crate::hooks::{Event, HookMessage};
use crate::keys::{self, families};
use crate::store_rules::{Form, Location, NameIn, Noun, Remove, form, is, refers, rules};
use crate::values::{Hook, HookId, HookResult};

rules! { pub(crate) RULES:
    "a webhook can be read" =>
        HOOKS: form(Form::SecretField(|id, json| {
            is::<HookId>(id) && Hook::from_json(json).is_some()
        }), "webhooks");
    "an event says what has happened" =>
        HOOK_EVENTS: form(Form::MemberOrGone(is::<Event>), "events");
    "a message says what has happened, and waits for a webhook that exists" =>
        HOOK_OUTBOX: form(Form::MemberOrGone(is::<HookMessage>), "messages");
        HOOK_OUTBOX: refers(NameIn::Part, "messages to the webhook", HOOK, Remove);
    "a result can be read, and is of a webhook that exists" =>
        HOOK_RESULTS: form(Form::MemberOrGone(|member| HookResult::from_json(member).is_some()), "results");
        HOOK_RESULTS: refers(NameIn::Part, "results of the webhook", HOOK, Remove);
}

const HOOK: Noun = Noun("webhooks", |_, id| Some(Location::Field(keys::HOOKS.to_owned(), id.to_owned())));
